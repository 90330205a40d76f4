//! An opened index: one generation of model, vectors, words and titles that belong together.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use crate::changes::Changes;
use crate::folder::{Folder, MANIFEST};
use crate::layout::IndexSummary;
use crate::layout::Shard;
use crate::layout::{About, CODES, MODEL, MODEL_FILE, load_shard};
use clickvec::error::IndexFault;
use clickvec::explain::Explainer;
use clickvec::model::{Embedder, Model, Side};
use clickvec_eval::internals::TrigramLists;

use crate::answer::{Comparison, Document, Explanation};
use crate::error::{EngineFault, Error, FormFault, RequestFault, Result};
use crate::facts::{Choices, Facts, ModelFacts, VectorFacts, WordFacts};
use crate::format::VectorFormat;
use crate::fusion::Fusion;
use crate::segment::parts::{CENTROIDS_FILE, COPIES_FILE, KNOWN, LISTS, TEACHER, TRIGRAMS, WORDS};
use crate::segment::{Line, Segment};
use crate::teacher::TeacherVectors;

/// An index that answers queries.
///
/// It is one *generation*: the model, the vectors, the words and the titles that it has never change, even if the index is
/// updated or replaced on disk. [`Index::reopened`] gives the next one. Any number of threads may ask at the same time.
pub struct Index {
    pub(crate) path: PathBuf,
    pub(crate) field: String,
    pub(crate) shard: Option<Shard>,
    pub(crate) model: Arc<Both>,
    pub(crate) segments: Vec<Opened>,
    pub(crate) facts: Facts,
}

/// A model with an embedder for each of its sides.
pub(crate) struct Both {
    pub(crate) model: Model,
    pub(crate) queries: Embedder,
    pub(crate) titles: Embedder,
}

impl Both {
    pub(crate) fn new(model: Model) -> Both {
        let (queries, titles) = (model.embedder(Side::Query), model.embedder(Side::Title));
        Both { model, queries, titles }
    }
}

/// A segment of an opened index.
pub(crate) struct Opened {
    pub(crate) segment: Arc<Segment>,
    /// The position of its first title among those of all segments.
    pub(crate) first: u32,
    /// A bit for each title that is still there; `None` if all are.
    pub(crate) alive: Option<Vec<u64>>,
    /// The number of titles that are gone.
    pub(crate) dead: usize,
    /// The teacher's vectors of its titles, for a fusion with a teacher.
    pub(crate) teacher: Arc<TeacherVectors>,
}

impl Index {
    /// An index that `clickvec index` wrote. Its files are mapped, so that this takes no time in proportion to the number of
    /// titles; only a teacher's vectors are read, if its fusion has a teacher. [`Index::check`] reads all files. An index that has
    /// only vectors, as earlier versions and smaller programs write it, is completed in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] for a folder that is not an index, a model that does not fit, or what the system refuses;
    /// [`Error::Index`] for a part that only this crate reads.
    pub fn open(path: &Path) -> Result<Index> {
        Index::open_after(path, None)
    }

    /// The index as it is on disk now; `None` if it is still the same. What has not changed is shared with this one.
    ///
    /// # Errors
    ///
    /// Those of [`Index::open`].
    pub fn reopened(&self) -> Result<Option<Index>> {
        let folder = Folder::<About>::open(&self.path, &KNOWN)?;
        if folder.fingerprint() == self.facts.fingerprint {
            Ok(None)
        } else {
            Index::open_after(&self.path, Some(self)).map(Some)
        }
    }

    fn open_after(path: &Path, before: Option<&Index>) -> Result<Index> {
        let (mut folder, mut is_again) = (Folder::open(path, &KNOWN)?, false);
        loop {
            let error = match load(&folder, before) {
                Ok(index) => return Ok(index),
                Err(error) => error,
            };
            // If it was replaced meanwhile, its files did not fit. It may have been replaced twice, at last by the same.
            match Folder::open(path, &KNOWN) {
                Ok(now) if now.fingerprint() != folder.fingerprint() => (folder, is_again) = (now, false),
                Ok(now) if !is_again => (folder, is_again) = (now, true),
                _ => return Err(error),
            }
        }
    }

    /// What was chosen when the index at `path` was made. That takes less than opening it.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] for a folder that is not an index; [`Error::Index`] if its fusion cannot be read.
    pub fn choices(path: &Path) -> Result<Choices> {
        crate::segment::choices(&Folder::<About>::open(path, &KNOWN)?)
    }

    /// Returns what the manifests of the index on disk say: its parts and its files.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if the index is no longer there.
    pub fn summary(&self) -> Result<IndexSummary> {
        let folder = Folder::<About>::open(&self.path, &KNOWN)?;
        let added = Changes::of(&folder)?.folders(&folder, &KNOWN)?;
        Ok(summary(&folder, &added, self.facts.titles, self.shard))
    }

    /// The vectors of texts, [texts, dimension], row by row, of unit length. A text without words gives a zero vector.
    ///
    /// # Errors
    ///
    /// None now, since the model is read as the index is opened.
    pub fn embed<S: AsRef<str> + Sync>(&self, texts: &[S], side: Side) -> Result<Vec<f32>> {
        Ok(match side {
            Side::Query => self.model.queries.embed(texts),
            Side::Title => self.model.titles.embed(texts),
        })
    }

    /// Why the title with this id has its scores for a query.
    ///
    /// # Errors
    ///
    /// [`RequestFault::Id`] if there is no such title; [`Error::Index`] if the index is damaged.
    pub fn explain(&self, query: &str, id: &str) -> Result<Explanation> {
        let document = self.get(id)?.ok_or_else(|| RequestFault::Id { found: id.to_owned() })?;
        let vectors = Explainer::new(&self.model.model).explain(query, &document.title);
        let words = self.word_shares(query, &document.title)?;
        let words_score = words.iter().map(|word| word.share).sum();
        let trigrams = self.fusion().trigrams.as_ref().map(|trigrams| trigrams.score(query, &document.title));
        let teacher = self.fusion().teacher.as_ref().map(|teacher| teacher.score(query, &document.title));
        Ok(Explanation { document, vectors, words, words_score, trigrams, teacher })
    }

    /// Why the title with the id `a` is above that with the id `b`, or below.
    ///
    /// # Errors
    ///
    /// Those of [`Index::explain`].
    pub fn compare(&self, query: &str, a: &str, b: &str) -> Result<Comparison> {
        let (a, b) = (self.explain(query, a)?, self.explain(query, b)?);
        let vectors = f64::from(a.vectors.score) - f64::from(b.vectors.score);
        let words = f64::from(a.words_score) - f64::from(b.words_score);
        let difference = |(a, b)| f64::from(a) - f64::from(b);
        let (trigrams, teacher) =
            (a.trigrams.zip(b.trigrams).map(difference), a.teacher.zip(b.teacher).map(difference));
        let units = a.vectors.units.iter().zip(&b.vectors.units).map(|(a, b)| a - b).collect();
        Ok(Comparison { a, b, vectors, words, trigrams, teacher, units })
    }

    /// The title with this id.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] if the titles are damaged.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let Some((segment, position)) = self.place(id) else { return Ok(None) };
        let segment = &self.segments[segment].segment;
        segment.line(position)?;
        Ok(segment.titles.document(position))
    }

    /// The facts of the index.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model.
    ///
    /// # Errors
    ///
    /// None now, since it is read as the index is opened.
    pub fn model(&self) -> Result<&Model> {
        Ok(&self.model.model)
    }

    /// The fusion of the lists.
    pub fn fusion(&self) -> &Fusion {
        &self.segments[0].segment.fusion
    }

    /// The form in which the numbers of vectors are kept.
    pub fn vector_format(&self) -> VectorFormat {
        self.facts.vectors.format
    }

    /// The column that the titles' texts come from.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Which shard it is, if its titles are not the whole collection.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// The names of the stored fields.
    pub fn stored_fields(&self) -> &[String] {
        self.segments[0].segment.titles.fields()
    }

    /// Whether [`crate::compact`] would make searches faster or the index much smaller.
    pub fn is_worth_compacting(&self) -> bool {
        is_worth_compacting(self.segments.len(), self.facts.deleted as usize, self.all_titles())
    }

    /// The number of titles of all segments, with those that are gone.
    pub(crate) fn all_titles(&self) -> usize {
        self.segments.iter().map(|opened| opened.segment.len()).sum()
    }

    /// The segment and the position of the title with an id.
    pub(crate) fn place(&self, id: &str) -> Option<(usize, u32)> {
        let mut newest_first = self.segments.iter().enumerate().rev();
        newest_first.find_map(|(number, opened)| {
            let positions = opened.segment.ids.find(id, &opened.segment.titles);
            positions.into_iter().rev().find(|&position| opened.is_alive(position)).map(|position| (number, position))
        })
    }

    /// Passes on every title that can be found, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] if the titles are damaged; whatever `each` returns.
    pub fn for_each_title(&self, mut each: impl FnMut(Document) -> Result<()>) -> Result<()> {
        for opened in &self.segments {
            for position in (0..opened.segment.len() as u32).filter(|&position| opened.is_alive(position)) {
                opened.segment.line(position)?;
                opened.segment.titles.document(position).map_or(Ok(()), &mut each)?;
            }
        }
        Ok(())
    }

    /// Passes on every title that is there with its vector, in order.
    pub(crate) fn for_each_alive(&self, mut each: impl FnMut(Line<'_>, &[f32]) -> Result<()>) -> Result<()> {
        for opened in &self.segments {
            let vectors = opened.segment.vectors.index.floats()?;
            for position in (0..opened.segment.len() as u32).filter(|&position| opened.is_alive(position)) {
                let line = opened.segment.line(position)?;
                each(line, vectors.vector(position).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

impl Opened {
    /// Whether a title is still there.
    pub(crate) fn is_alive(&self, position: u32) -> bool {
        self.alive.as_ref().is_none_or(|alive| bit(alive, position))
    }
}

/// Whether an index with this many segments and this many deleted titles should be compacted.
pub(crate) fn is_worth_compacting(segments: usize, dead: usize, all: usize) -> bool {
    segments > 16 || dead * 5 > all
}

/// Whether that should have been done long ago.
pub(crate) fn is_overdue(segments: usize, dead: usize, all: usize) -> bool {
    segments > 64 || dead * 2 > all
}

/// A bit of a list of bits.
pub(crate) fn bit(bits: &[u64], position: u32) -> bool {
    bits.get(position as usize / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
}

fn load(folder: &Folder<About>, before: Option<&Index>) -> Result<Index> {
    let about = folder.about();
    let model = match before.filter(|before| before.facts.model.fingerprint == about.model) {
        Some(before) => Arc::clone(&before.model),
        None => Arc::new(Both::new(Model::load(&folder.file(&MODEL, MODEL_FILE)?)?)),
    };
    let (found, dimension) = (model.model.fingerprint(), model.model.dimension());
    if found != about.model {
        let fault = IndexFault::OtherModel { expected: about.model.clone(), found: found.to_owned() };
        return Err(folder.fault(fault).into());
    }
    if dimension != about.dimension {
        return Err(folder.fault(IndexFault::Dimension { expected: dimension, found: about.dimension }).into());
    }
    let open = |folder: &Folder<About>| {
        let identity = Segment::identity(folder);
        let known = before.into_iter().flat_map(|before| &before.segments);
        match known.map(|opened| &opened.segment).find(|segment| segment.identity == identity) {
            Some(segment) => Ok(Arc::clone(segment)),
            None => Segment::open(folder).map(Arc::new),
        }
    };
    let changes = Changes::of(folder)?;
    let folders = changes.folders(folder, &KNOWN)?;
    let mut segments: Vec<Opened> = Vec::new();
    let mut first = 0u32;
    for (folder, deleted) in std::iter::once(folder).chain(&folders).zip(&changes.deleted) {
        let segment = open(folder)?;
        let (len, alive) = (segment.len(), alive(segment.len(), deleted));
        segments.push(Opened { segment, first, dead: deleted.len(), alive, teacher: Arc::default() });
        let next = u32::try_from(len).ok().and_then(|len| first.checked_add(len));
        first = next.ok_or(clickvec::error::VectorFault::TooMany { found: len }).map_err(clickvec::Error::from)?;
    }
    let expected = segments[0].segment.fusion.trigrams.as_ref().map(|trigrams| trigrams.ranker.len());
    let lists = |opened: &Opened| opened.segment.trigrams.as_ref().map(TrigramLists::trigrams);
    if let Some(opened) = segments.iter().find(|opened| lists(opened) != expected) {
        let fault = FormFault::TrigramCount { expected, found: lists(opened) };
        let fault = EngineFault::Form { name: TRIGRAMS.first_file.to_owned(), fault };
        return Err(Error::index(&opened.segment.path, fault));
    }
    let expected = segments[0].segment.fusion.analysis;
    if let Some(opened) = segments.iter().find(|opened| opened.segment.words.analysis() != expected) {
        let fault = FormFault::Analysis { expected, found: opened.segment.words.analysis() };
        let fault = EngineFault::Form { name: WORDS.first_file.to_owned(), fault };
        return Err(Error::index(&opened.segment.path, fault));
    }
    // What was made for the same titles by the same teacher is kept.
    let teacher = segments[0].segment.fusion.teacher.as_ref();
    if let Some(before) = before.filter(|before| teacher.is_some() && before.fusion().teacher.as_ref() == teacher) {
        for opened in &mut segments {
            if let Some(old) = before.segments.iter().find(|old| Arc::ptr_eq(&old.segment, &opened.segment)) {
                opened.teacher = Arc::clone(&old.teacher);
            }
        }
    }
    let left_out = std::iter::once(folder).chain(&folders).map(|folder| folder.about().left_out).sum();
    let written = std::fs::metadata(folder.path().join(MANIFEST)).and_then(|metadata| metadata.modified()).ok();
    let made = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs());
    let (fingerprint, version) = (folder.fingerprint().to_owned(), folder.version().to_owned());
    let facts = facts(Written { fingerprint, version, made }, left_out, &model.model, &segments)?;
    let shard = load_shard(folder)?;
    Ok(Index { path: folder.path().to_owned(), field: about.field.clone(), shard, model, segments, facts })
}

fn summary(folder: &Folder<About>, added: &[Folder<About>], titles: u64, shard: Option<Shard>) -> IndexSummary {
    let About { model, dimension, field, .. } = folder.about().clone();
    let files = |folder: &Folder<About>, inside: &str| {
        let files = folder.parts().values().flat_map(|part| &part.files);
        files.map(|(name, file)| (format!("{inside}{name}"), file.bytes)).collect::<Vec<_>>()
    };
    let of_added = added.iter().flat_map(|folder| {
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
        files(folder, &format!("{name}/"))
    });
    let all = files(folder, "").into_iter().chain(of_added).collect();
    let left_out = std::iter::once(folder).chain(added).map(|folder| folder.about().left_out).sum();
    IndexSummary {
        fingerprint: folder.fingerprint().to_owned(),
        version: folder.version().to_owned(),
        model,
        titles,
        left_out,
        dimension,
        field,
        shard,
        parts: folder.parts().iter().map(|(name, part)| (name.clone(), part.kind.clone())).collect(),
        files: all,
    }
}

/// The bits of the titles that are still there.
fn alive(titles: usize, deleted: &[u32]) -> Option<Vec<u64>> {
    if deleted.is_empty() {
        return None;
    }
    let mut bits = vec![u64::MAX; titles.div_ceil(64)];
    for &position in deleted {
        if let Some(word) = bits.get_mut(position as usize / 64) {
            *word &= !(1 << (position % 64));
        }
    }
    Some(bits)
}

/// What a manifest says of the index as a whole.
pub(crate) struct Written {
    pub(crate) fingerprint: String,
    pub(crate) version: String,
    /// When it was written, in seconds since 1970.
    pub(crate) made: Option<u64>,
}

pub(crate) fn facts(written: Written, left_out: u64, model: &Model, segments: &[Opened]) -> Result<Facts> {
    let Written { fingerprint, version, made } = written;
    let all: u64 = segments.iter().map(|opened| opened.segment.len() as u64).sum();
    let deleted: u64 = segments.iter().map(|opened| opened.dead as u64).sum();
    let mut tokens = 0;
    for Opened { segment, .. } in segments {
        tokens += segment.words.tokens().map_err(|error| segment.of_words(&error))?;
    }
    let bytes = |wanted: &dyn Fn(&str) -> bool| {
        let files = segments.iter().flat_map(|opened| &opened.segment.files);
        files.filter(|(name, _)| wanted(name)).map(|(_, file)| file.bytes).sum()
    };
    let first = &segments[0].segment;
    let of_vectors = ["vectors.npy", CODES.first_file, LISTS.first_file, CENTROIDS_FILE, COPIES_FILE];
    Ok(Facts {
        titles: all - deleted,
        left_out,
        deleted,
        segments: segments.len(),
        fingerprint,
        version,
        made,
        bytes: bytes(&|_| true),
        model: ModelFacts {
            fingerprint: model.fingerprint().to_owned(),
            encoder: model.encoder_config().kind().to_owned(),
            dimension: model.dimension(),
        },
        vectors: VectorFacts {
            format: first.vectors.format,
            search: first.vectors.facts(),
            bytes: bytes(&|name| of_vectors.contains(&name)),
        },
        words: Some(WordFacts {
            bm25: first.fusion.bm25,
            analysis: first.words.analysis(),
            mean_length: tokens as f64 / all.max(1) as f64,
            bytes: segments.iter().map(|opened| opened.segment.words_bytes).sum(),
        }),
        trigrams: first.fusion.trigrams.as_ref().map(|of| of.facts(bytes(&|name| name.starts_with("trigrams.")))),
        teacher: first.fusion.teacher.as_ref().map(|of| of.facts(bytes(&|name| name == TEACHER.first_file))),
        fusion: first.fusion.facts(),
        fields: first.fields.0.iter().map(|column| column.facts()).collect(),
    })
}
