//! An opened index: one generation of model, vectors, words and titles that belong together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use clickvec::index::QuantizedIndex;
use clickvec::model::{Embedder, Model, Side};

use crate::answer::Document;
use crate::bits;
use crate::changes::Changes;
use crate::confidence::Confidence;
use crate::error::{Result, malformed, mismatch, too_many};
use crate::facts::Facts;
use crate::folder::{Folder, MANIFEST, MODEL_FILE};
use crate::fusion::Fusion;
use crate::manifests::Manifests;
use crate::parts::teacher;
use crate::parts::vectors::VectorFormat;
use crate::segment::Segment;
use crate::shard::Shard;
use crate::titles::Line;

/// An index that answers queries.
///
/// It is one *generation*: the model, the vectors, the words and the titles that it has never change, even if the index is
/// updated or replaced on disk. [`Index::reopened`] gives the next one. Any number of threads may ask at the same time.
pub struct Index {
    pub(crate) path: PathBuf,
    pub(crate) written: Written,
    pub(crate) model: Arc<Towers>,
    pub(crate) fusion: Fusion,
    pub(crate) confidence: Confidence,
    pub(crate) segments: Vec<Opened>,
    pub(crate) facts: OnceLock<Facts>,
}

/// A model with an embedder for each of its sides.
pub(crate) struct Towers {
    pub(crate) model: Model,
    pub(crate) queries: Embedder,
    pub(crate) titles: Embedder,
}

impl Towers {
    pub(crate) fn new(model: Model) -> Towers {
        let (queries, titles) = (model.embedder(Side::Query), model.embedder(Side::Title));
        Towers { model, queries, titles }
    }
}

/// The manifests' facts of the index as a whole.
pub(crate) struct Written {
    pub(crate) fingerprint: String,
    pub(crate) version: String,
    /// When it was written, in seconds since 1970.
    pub(crate) made: Option<u64>,
    /// When the model was written, in seconds since 1970.
    pub(crate) model_made: Option<u64>,
    /// The column that the titles' texts come from.
    pub(crate) field: String,
    pub(crate) shard: Option<Shard>,
    /// The indexes that it links to.
    pub(crate) links: Vec<PathBuf>,
    /// The number of titles whose words the model does not know.
    pub(crate) without_vector: u64,
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
}

impl Index {
    /// Opens an index that `clickvec index` wrote. Its files are mapped, so that this takes no time in proportion to the number of
    /// titles; only a teacher's vectors are read, if its fusion has a teacher. [`Index::check`] reads all files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed), [`ErrorKind::Damaged`](crate::ErrorKind::Damaged), [`ErrorKind::Version`](crate::ErrorKind::Version) or [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) for a folder that is not a
    /// whole index; [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn open(path: &Path) -> Result<Index> {
        Index::open_after(path, None)
    }

    pub(crate) fn new(
        path: PathBuf,
        written: Written,
        model: Arc<Towers>,
        fusion: Fusion,
        confidence: Confidence,
        segments: Vec<Opened>,
    ) -> Index {
        Index { path, written, model, fusion, confidence, segments, facts: OnceLock::new() }
    }

    /// Opens the index as it is on disk now; `None` if it is still the same. Unchanged parts are shared with this one.
    ///
    /// # Errors
    ///
    /// Those of [`Index::open`].
    pub fn reopened(&self) -> Result<Option<Index>> {
        if Manifests::read(&self.path)?.fingerprint() == self.written.fingerprint {
            Ok(None)
        } else {
            Index::open_after(&self.path, Some(self)).map(Some)
        }
    }

    /// Opens an index, and shares with another one what both have.
    pub(crate) fn open_after(path: &Path, before: Option<&Index>) -> Result<Index> {
        let (mut manifests, mut is_second_try) = (Manifests::read(path)?, false);
        loop {
            let error = match load(&manifests, before) {
                Ok(index) => return Ok(index),
                Err(error) => error,
            };
            // If it was replaced meanwhile, its files did not fit. It may have been replaced twice, at last by the same.
            match Manifests::read(path) {
                Ok(now) if now.fingerprint() != manifests.fingerprint() => (manifests, is_second_try) = (now, false),
                Ok(now) if !is_second_try => (manifests, is_second_try) = (now, true),
                _ => return Err(error),
            }
        }
    }

    /// Returns the vectors of texts, [texts, dimension], of unit length. The vector of a text without words is zero.
    pub fn embed<S: AsRef<str> + Sync>(&self, texts: &[S], side: Side) -> Vec<f32> {
        match side {
            Side::Query => self.model.queries.embed(texts),
            Side::Title => self.model.titles.embed(texts),
        }
    }

    /// Returns the title with this id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the titles are damaged.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let Some((segment, position)) = self.find(id) else { return Ok(None) };
        self.segments[segment].segment.document(position).map(Some)
    }

    /// Returns the path where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model.model
    }

    /// Returns the fusion of the lists.
    pub fn fusion(&self) -> &Fusion {
        &self.fusion
    }

    /// Returns the format of the vectors' numbers.
    pub fn vector_format(&self) -> VectorFormat {
        self.segments[0].segment.vectors.format
    }

    /// Returns the column that the titles' texts come from.
    pub fn field(&self) -> &str {
        &self.written.field
    }

    /// Returns the shard that it is, if its titles are not the whole collection.
    pub fn shard(&self) -> Option<Shard> {
        self.written.shard
    }

    /// Returns the paths of the indexes that it links to; none if it has titles of its own.
    pub fn links(&self) -> &[PathBuf] {
        &self.written.links
    }

    /// Returns the names of the stored fields.
    pub fn stored_fields(&self) -> &[String] {
        self.segments[0].segment.titles.fields()
    }

    /// Returns whether [`crate::compact`] would make searches faster or the index much smaller.
    pub fn is_worth_compacting(&self) -> bool {
        self.links().is_empty() && is_worth_compacting(self.segments.len(), self.deleted_titles(), self.all_titles())
    }

    /// Returns the number of titles of all segments, including deleted ones.
    pub(crate) fn all_titles(&self) -> usize {
        self.segments.iter().map(|opened| opened.segment.len()).sum()
    }

    /// Returns the number of titles that were replaced or deleted and still take space.
    pub(crate) fn deleted_titles(&self) -> usize {
        self.segments.iter().map(|opened| opened.dead).sum()
    }

    /// Returns the segment and the position of the title with an id.
    pub(crate) fn find(&self, id: &str) -> Option<(usize, u32)> {
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
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the titles are damaged; whatever `each` returns.
    pub fn for_each_title(&self, mut each: impl FnMut(Document) -> Result<()>) -> Result<()> {
        for opened in &self.segments {
            for position in (0..opened.segment.len() as u32).filter(|&position| opened.is_alive(position)) {
                each(opened.segment.document(position)?)?;
            }
        }
        Ok(())
    }

    /// Returns some of the titles, at most `count`, spread over all.
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Malformed`] if the titles are damaged.
    pub fn sample(&self, count: usize) -> Result<Vec<Document>> {
        let all = self.all_titles();
        let (count, mut titles, mut next) = (count.min(all), Vec::new(), 0);
        for number in 0..count {
            let (opened, position) = self.locate(next.max((number as u128 * all as u128 / count as u128) as u32));
            let mut here = position..opened.segment.len() as u32;
            let Some(position) = here.find(|&position| opened.is_alive(position)) else { continue };
            next = opened.first + position + 1;
            titles.push(opened.segment.document(position)?);
        }
        Ok(titles)
    }

    /// Returns the segment of a title, and its position in it.
    pub(crate) fn locate(&self, position: u32) -> (&Opened, u32) {
        let (segment, position) = self.segment_of(position);
        (&self.segments[segment], position)
    }

    /// Returns the number of a title's segment, and its position in it.
    pub(crate) fn segment_of(&self, position: u32) -> (usize, u32) {
        let segment = self.segments.partition_point(|opened| opened.first <= position).saturating_sub(1);
        (segment, position - self.segments[segment].first)
    }

    /// Returns the fusion for another index with titles of this one: a transformer need not encode them a second time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory); [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the titles are damaged.
    pub fn fusion_with_known_titles(&self) -> Result<Fusion> {
        knowing(&self.fusion, std::slice::from_ref(self))
    }

    /// Passes on every title that is not deleted, with its vector by a transformer.
    fn for_each_taught(&self, each: &mut dyn FnMut(&str, &[f32])) -> Result<()> {
        for opened in &self.segments {
            let Some(vectors) = &opened.segment.teacher else { continue };
            let vectors = vectors.index.floats()?;
            for position in (0..opened.segment.len() as u32).filter(|&position| opened.is_alive(position)) {
                each(opened.segment.line(position)?.title, vectors.vector(position).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Passes on the line of every title that is there, in order.
    pub(crate) fn for_each_line(&self, mut each: impl FnMut(Line<'_>) -> Result<()>) -> Result<()> {
        for opened in &self.segments {
            let mut alive = (0..opened.segment.len() as u32).filter(|&position| opened.is_alive(position));
            alive.try_for_each(|position| each(opened.segment.line(position)?))?;
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
    /// Returns the teacher's vectors of the titles.
    pub(crate) fn teacher_vectors(&self) -> Result<&QuantizedIndex> {
        self.segment.teacher.as_ref().map(|vectors| &vectors.index).ok_or_else(teacher::no_vectors)
    }

    /// Returns whether a title is not deleted.
    pub(crate) fn is_alive(&self, position: u32) -> bool {
        self.alive.as_ref().is_none_or(|alive| bits::has(alive, position))
    }
}

/// Returns a fusion for an index with titles of others. If they have the same transformer, it need not encode them a second time.
pub(crate) fn knowing(fusion: &Fusion, indexes: &[Index]) -> Result<Fusion> {
    let Some(teacher) = &fusion.teacher else { return Ok(fusion.clone()) };
    let mut alike = indexes.iter().filter(|index| index.fusion.teacher.as_ref() == Some(teacher));
    let teacher = teacher.knowing(|each| alike.try_for_each(|index| index.for_each_taught(each)))?;
    Ok(Fusion { teacher: Some(teacher), ..fusion.clone() })
}

/// Returns whether an index with this many segments and this many deleted titles should be compacted.
pub(crate) fn is_worth_compacting(segments: usize, dead: usize, all: usize) -> bool {
    segments > 16 || dead * 5 > all
}

/// Returns whether an index with these numbers should have been compacted long ago.
pub(crate) fn is_overdue(segments: usize, dead: usize, all: usize) -> bool {
    segments > 64 || dead * 2 > all
}

fn load(manifests: &Manifests, before: Option<&Index>) -> Result<Index> {
    let (own, indexes) = (&manifests.own, manifests.indexes());
    let about = own.about();
    let model = match before.filter(|before| before.model.model.fingerprint() == about.model) {
        Some(before) => Arc::clone(&before.model),
        None => Arc::new(Towers::new(Model::load(&own.file(MODEL_FILE)?)?)),
    };
    let (found, dimension) = (model.model.fingerprint(), model.model.dimension());
    if (found, dimension) != (&about.model, about.dimension) {
        let expected = format!("the model {}, which made vectors of {} numbers", about.model, about.dimension);
        let error = mismatch(own.path(), expected, format!("{found} with {dimension}"));
        return Err(error.help("rebuild the index"));
    }
    let open = |folder: &Folder| {
        let identity = Segment::identity(folder);
        let known = before.into_iter().flat_map(|before| &before.segments);
        match known.map(|opened| &opened.segment).find(|segment| segment.identity == identity) {
            Some(segment) => Ok(Arc::clone(segment)),
            None => Segment::open(folder).map(Arc::new),
        }
    };
    let (mut segments, mut first, mut without_vector): (Vec<Opened>, u32, u64) = (Vec::new(), 0, 0);
    let mut fusion: Option<Fusion> = None;
    for index in indexes {
        let begin = segments.len();
        let changes = Changes::read(index)?;
        let added = changes.folders(index)?;
        for (folder, deleted) in std::iter::once(index).chain(&added).zip(&changes.deleted) {
            let segment = open(folder)?;
            let len = segment.len();
            let alive = (!deleted.is_empty()).then(|| bits::without(len, deleted));
            segments.push(Opened { segment, first, dead: deleted.len(), alive });
            let next = u32::try_from(len).ok().and_then(|len| first.checked_add(len));
            first = next.ok_or_else(|| too_many(len).at(folder.path()))?;
            without_vector += folder.about().without_vector;
        }
        let here = &segments[begin].segment;
        let found = here.fusion.as_ref().filter(|_| here.confidence.is_some());
        let found = found.ok_or_else(|| malformed(index.path(), "an index with a fusion", "a segment of an update"))?;
        manifests.check_link(index, here, &segments[0].segment)?;
        let fusion = fusion.get_or_insert_with(|| found.clone());
        if found != fusion {
            return Err(found.other_than(index.path(), fusion, indexes[0].path()).help("link the indexes anew"));
        }
        segments[begin..].iter().try_for_each(|opened| opened.segment.check_fits(fusion))?;
    }
    let mut fusion = fusion.expect("at least one index");
    let confidence = if manifests.is_linked() {
        Confidence::open(own)?
    } else {
        segments[0].segment.confidence.expect("checked above")
    };
    // The same teacher is not loaded a second time.
    if let Some(before) = before.filter(|before| before.fusion.teacher == fusion.teacher) {
        fusion.teacher = before.fusion.teacher.clone();
    }
    let modified = |name: &str| {
        let modified = |index: &Folder| {
            let modified = std::fs::metadata(index.path().join(name)).and_then(|metadata| metadata.modified()).ok()?;
            Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs())
        };
        indexes.iter().chain([own]).filter_map(modified).max()
    };
    let written = Written {
        fingerprint: manifests.fingerprint().into_owned(),
        version: own.version().to_owned(),
        made: modified(MANIFEST),
        model_made: modified(MODEL_FILE),
        field: about.field.clone(),
        shard: Shard::read(own)?,
        links: manifests.links(),
        without_vector,
    };
    Ok(Index::new(own.path().to_owned(), written, model, fusion, confidence, segments))
}

/// Returns the bytes of the files with some names, in all segments.
pub(crate) fn bytes(segments: &[Opened], is_wanted: impl Fn(&str) -> bool) -> u64 {
    let files = segments.iter().flat_map(|opened| &opened.segment.files);
    files.filter(|(name, _)| is_wanted(name)).map(|(_, file)| file.bytes).sum()
}
