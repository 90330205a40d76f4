//! Search with text in and titles out: a model, titles and a source of candidates in one object.

use std::fmt::{self, Debug, Formatter};
use std::path::Path;

use clickvec::Result;
use clickvec::error::{Error, IndexFault};
use clickvec::index::{Candidates, FlatIndex, Hit, Query};
use clickvec::internals::index::ExactIndex;
use clickvec::internals::{Pool, text};
use clickvec::model::{Embedder, Model, QueryModel};
use clickvec::tables::Title;
use clickvec_tables::memory::reserve;

use crate::changes::Changes;
use crate::encode::{Sink, TitleEncoder};
use crate::folder::{self, Folder};
use crate::layout::{About, IndexSummary, OF_INDEX, PARTS, Shard, load_model, load_shard, load_titles, read_vectors};
use crate::table::Titles;

/// A searcher, which finds titles for queries.
///
/// It owns all it needs, and any number of threads may search at the same time. The score of a title is the cosine of
/// its vector and the query's vector. Search is exact, and the same query gets the same bits at any number of threads.
///
/// ```
/// # fn main() -> clickvec_index::Result<()> {
/// use clickvec_index::searcher::{Answer, Searcher};
///
/// # let index = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/index"));
/// let searcher = Searcher::open(index)?;
/// match searcher.search("oak vanity", 3)? {
///     Answer::Found(results) => {
///         for found in &results {
///             println!("{} {:.3} {} {}", found.rank, found.score, found.id, found.title);
///         }
/// #       assert_eq!((results.len(), results[0].rank), (3, 1));
///     }
///     Answer::NoWords => println!("a query needs a word"),
///     Answer::UnknownWords => println!("the model knows none of these words"),
/// }
/// # Ok(())
/// # }
/// ```
pub struct Searcher {
    model: QueryModel,
    embedder: Embedder,
    titles: Titles,
    left_out: u64,
    candidates: Box<dyn Candidates>,
    /// Buffers for query vectors, for several queries at the same time.
    vectors: Pool<Vec<f32>>,
    summary: Option<IndexSummary>,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<'s> {
    /// The titles found, best first. Empty only if there are no titles or none were requested.
    Found(Vec<Found<'s>>),
    /// The query has no words.
    NoWords,
    /// The model knows none of the query's words, not even a part of one.
    UnknownWords,
}

/// A title that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Found<'s> {
    /// The rank, counted from 1.
    pub rank: usize,
    /// The title's id.
    pub id: &'s str,
    /// Its text.
    pub title: &'s str,
    /// The score, which with vectors is the cosine.
    pub score: f32,
    /// The position among the titles that can be found, counted from 0.
    pub position: u32,
}

impl<'s> Answer<'s> {
    /// The titles; empty if nothing was found, for whatever reason.
    pub fn results(&self) -> &[Found<'s>] {
        match self {
            Answer::Found(results) => results,
            Answer::NoWords | Answer::UnknownWords => &[],
        }
    }
}

/// The answers of any candidates among `titles`, a ranker's for example, to many queries: none to a query without a word.
///
/// # Errors
///
/// Those of [`Candidates::search_batch`].
pub fn answers<'s, S: AsRef<str>>(
    candidates: &dyn Candidates,
    titles: &'s [Title],
    queries: &[S],
    k: usize,
) -> Result<Vec<Answer<'s>>> {
    let has_words = |query: &&str| !text::words(query).is_empty();
    let texts: Vec<&str> = queries.iter().map(AsRef::as_ref).collect();
    let asked: Vec<Query<'_>> = texts.iter().copied().filter(has_words).map(|query| Query::new(query, None)).collect();
    let mut hits = candidates.search_batch(&asked, k)?.into_iter();
    let found = |(rank, hit): (usize, Hit)| {
        let Title { id, title } = titles.get(hit.position as usize)?;
        Some(Found { rank, id, title, score: hit.score, position: hit.position })
    };
    let answer = |query: &str| match has_words(&query) {
        true => Answer::Found((1..).zip(hits.next().unwrap_or_default()).filter_map(found).collect()),
        false => Answer::NoWords,
    };
    Ok(texts.into_iter().map(answer).collect())
}

impl Searcher {
    /// The searcher of an index that [`crate::IndexBuilder`] wrote. Nothing in the folder is trusted.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Index`] with one of the [`clickvec::error::IndexFault`]s; [`clickvec::Error::File`] for its model;
    /// [`clickvec::Error::Io`].
    pub fn open(path: &Path) -> Result<Searcher> {
        let Opened { model, titles, vectors, summary } = open(path)?;
        let searcher = Searcher::of(model, titles, vectors, summary.left_out);
        Ok(Searcher { summary: Some(summary), ..searcher })
    }

    /// A searcher of these titles, which it encodes. A title is left out if the model knows none of its words, because
    /// its vector would mean nothing.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Vectors`] if there are too many; [`clickvec::Error::BadTitle`] if an id or a title has a tab or a
    /// line end; [`clickvec::Error::NoMemory`].
    pub fn encode(model: &Model, titles: impl IntoIterator<Item = Title>) -> Result<Searcher> {
        let mut encoder = TitleEncoder::new(model);
        let mut memory = InMemory { titles: Titles::new(), vectors: Vec::new() };
        for title in titles {
            encoder.add(title, String::new(), &mut memory)?;
        }
        encoder.flush(&mut memory)?;
        let vectors = FlatIndex::from_unit(model.dimension(), memory.vectors)?;
        Ok(Searcher::of(model.query_half(), memory.titles, vectors, encoder.left_out()))
    }

    fn of(model: QueryModel, titles: Titles, vectors: FlatIndex, left_out: u64) -> Searcher {
        let embedder = model.embedder();
        let candidates = Box::new(ExactIndex::new(vectors));
        Searcher { model, embedder, titles, left_out, candidates, vectors: Pool::default(), summary: None }
    }

    /// This searcher with another source of candidates, which must have the same titles at the same positions.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Vectors`] if it has another number of titles.
    pub fn with_candidates(self, candidates: Box<dyn Candidates>) -> Result<Searcher> {
        let (expected, found) = (self.titles.len(), candidates.len());
        if found != expected {
            return Err(clickvec::error::VectorFault::RowCount { expected, found }.into());
        }
        Ok(Searcher { candidates, ..self })
    }

    /// The best `k` titles for a query, or all if there are fewer.
    ///
    /// # Errors
    ///
    /// [`clickvec::Error::Vectors`] if the model's numbers are so large that the query's vector has no finite length.
    pub fn search(&self, query: &str, k: usize) -> Result<Answer<'_>> {
        self.vectors.with(Vec::new, |vector| {
            let vector = match Words::of(query, self.embedder.dictionary().knows_a_word(query)) {
                Words::None => return Ok(Answer::NoWords),
                Words::Unknown if self.candidates.needs_vector() => return Ok(Answer::UnknownWords),
                Words::Unknown => None,
                Words::Known => {
                    self.embedder.embed_into(&[query], vector);
                    Some(&vector[..])
                }
            };
            Ok(self.found(&self.candidates.search(&Query::new(query, vector), k)?))
        })
    }

    /// The answers of [`Searcher::search`] to many queries, faster for each, on all threads of the pool.
    ///
    /// # Errors
    ///
    /// Those of [`Searcher::search`].
    pub fn search_batch<S: AsRef<str> + Sync>(&self, queries: &[S], k: usize) -> Result<Vec<Answer<'_>>> {
        if let [query] = queries {
            return Ok(vec![self.search(query.as_ref(), k)?]);
        }
        let texts: Vec<&str> = queries.iter().map(AsRef::as_ref).collect();
        let mut vectors = Vec::new();
        let is_known = self.embedder.embed_known(&texts, &mut vectors);
        let words: Vec<Words> =
            texts.iter().zip(is_known).map(|(query, is_known)| Words::of(query, is_known)).collect();
        let mut vectors = vectors.chunks_exact(self.embedder.dimension());
        let mut asked = Vec::with_capacity(queries.len());
        for (&text, words) in texts.iter().zip(&words) {
            match words {
                Words::Known => asked.push(Query::new(text, vectors.next())),
                Words::Unknown if !self.candidates.needs_vector() => asked.push(Query::new(text, None)),
                Words::Unknown | Words::None => {}
            }
        }
        let mut hits = self.candidates.search_batch(&asked, k)?.into_iter();
        let answer = |words: Words| match words {
            Words::None => Answer::NoWords,
            Words::Unknown if self.candidates.needs_vector() => Answer::UnknownWords,
            Words::Unknown | Words::Known => self.found(&hits.next().unwrap_or_default()),
        };
        Ok(words.into_iter().map(answer).collect())
    }

    /// The number of titles that can be found.
    pub fn len(&self) -> usize {
        self.titles.len()
    }

    /// Whether there are no titles.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of titles that were left out because the model knows none of their words.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The id and the text of the title at a position.
    pub fn title(&self, position: u32) -> Option<(&str, &str)> {
        self.titles.get(position as usize)
    }

    /// The half of the model that embeds queries.
    pub fn model(&self) -> &QueryModel {
        &self.model
    }

    /// The description in the index, if the searcher was opened from one.
    pub fn summary(&self) -> Option<&IndexSummary> {
        self.summary.as_ref()
    }

    fn found(&self, hits: &[Hit]) -> Answer<'_> {
        let found = |(rank, hit): (usize, &Hit)| {
            let (id, title) = self.titles.get(hit.position as usize)?;
            Some(Found { rank, id, title, score: hit.score, position: hit.position })
        };
        Answer::Found((1..).zip(hits).filter_map(found).collect())
    }
}

impl Debug for Searcher {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Searcher");
        out.field("titles", &self.len()).field("model", &self.model.fingerprint()).finish_non_exhaustive()
    }
}

/// Whether the model knows the words of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// There are no words.
    None,
    /// The model knows no trigram of any.
    Unknown,
    /// At least one trigram is known.
    Known,
}

impl Words {
    /// Those of a query in which the model knows a word or not.
    fn of(query: &str, is_known: bool) -> Words {
        match is_known {
            true => Words::Known,
            false if text::words(query).is_empty() => Words::None,
            false => Words::Unknown,
        }
    }
}

/// Titles that were encoded in memory.
struct InMemory {
    titles: Titles,
    vectors: Vec<f32>,
}

impl Sink for InMemory {
    fn take(&mut self, titles: &[Title], _: &[String], vectors: &[f32]) -> Result<()> {
        for Title { id, title } in titles {
            self.titles.push(id, title)?;
        }
        reserve(&mut self.vectors, vectors.len(), "the vectors of titles")?;
        self.vectors.extend_from_slice(vectors);
        Ok(())
    }
}

/// The contents of an index in memory.
pub(crate) struct Opened {
    pub(crate) model: QueryModel,
    pub(crate) titles: Titles,
    pub(crate) vectors: FlatIndex,
    pub(crate) summary: IndexSummary,
}

/// An index and the half of its model that searching needs. Nothing in the folder is trusted.
pub(crate) fn open(path: &Path) -> Result<Opened> {
    folder::read(path, &PARTS, load)
}

fn load(folder: &Folder<About>) -> Result<Opened> {
    let model = load_model(folder)?;
    let changes = Changes::of(folder)?;
    let added = changes.folders(folder, &PARTS)?;
    let (titles, vectors) = match changes == Changes::default() {
        true => (load_titles(folder)?, read_vectors(folder)?),
        false => load_alive(&changes, folder, &added)?,
    };
    let vectors = FlatIndex::from_unit(model.dimension(), vectors).map_err(|error| match error {
        Error::Vectors(fault) => folder.fault(IndexFault::Vectors(fault)),
        other => other,
    })?;
    let summary = summary(folder, &added, titles.len(), load_shard(folder)?);
    Ok(Opened { model, titles, vectors, summary })
}

/// The titles of all segments that are still there, with their vectors.
fn load_alive(changes: &Changes, first: &Folder<About>, added: &[Folder<About>]) -> Result<(Titles, Vec<f32>)> {
    let (mut titles, mut vectors) = (Titles::new(), Vec::new());
    for (segment, folder) in std::iter::once(first).chain(added).enumerate() {
        let (of_segment, numbers) = (load_titles(folder)?, read_vectors(folder)?);
        let rows = numbers.chunks_exact(folder.about().dimension);
        for (position, (is_alive, row)) in changes.alive(segment, of_segment.len()).into_iter().zip(rows).enumerate() {
            if is_alive && let Some((id, title)) = of_segment.get(position) {
                titles.push(id, title)?;
                reserve(&mut vectors, row.len(), OF_INDEX)?;
                vectors.extend_from_slice(row);
            }
        }
    }
    Ok((titles, vectors))
}

fn summary(folder: &Folder<About>, added: &[Folder<About>], titles: usize, shard: Option<Shard>) -> IndexSummary {
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
        titles: titles as u64,
        left_out,
        dimension,
        field,
        shard,
        parts: folder.parts().iter().map(|(name, part)| (name.clone(), part.kind.clone())).collect(),
        files: all,
    }
}
