//! An opened index: one generation of model, vectors, words and titles that belong together.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Instant, UNIX_EPOCH};

use clickvec::explain::Explainer;
use clickvec::index::Hit as Place;
use clickvec::internals::text;
use clickvec::model::{Embedder, Model, Side};
use clickvec::ranker::{FUSED_DEPTH, FusionMethod, RECIPROCAL_RANK_K, fuse_hits};
use clickvec::search::{Answer as Found, Searcher};

use crate::answer::{Answer, Comparison, Document, Explanation, Hit, QueryFacts, QueryWord, Share, Timings, WordShare};
use crate::error::{EngineFault, Error, RequestFault, Result};
use crate::facts::{Facts, FusionFacts, ModelFacts, VectorFacts, VectorSearch, WordFacts};
use crate::request::{Mode, Request};
use crate::words::{self, Statistics, Words};

/// The file of the model in an index.
const MODEL_FILE: &str = "model.safetensors";

/// An index that answers queries.
///
/// It is one *generation*: the model, the vectors, the words and the titles that it has never change. Whoever wants to see
/// an update opens the index again. Any number of threads may ask at the same time.
pub struct Engine {
    path: PathBuf,
    searcher: Searcher,
    words: Words,
    positions: HashMap<String, u32>,
    facts: Facts,
    /// The whole model, read when titles are embedded or explained.
    model: OnceLock<Whole>,
}

struct Whole {
    model: Model,
    titles: Embedder,
}

/// What [`Engine::check`] looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// The number of files whose checksums were compared.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The number of queries whose answers were compared with those of the day when the index was made.
    pub queries: usize,
}

impl Engine {
    /// Opens an index that `clickvec index` wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] for a folder that is no index, a model that does not fit, or what the system refuses;
    /// [`Error::Index`] for a part that only this crate reads.
    pub fn open(path: &Path) -> Result<Engine> {
        let searcher = Searcher::open(path)?;
        let titles = || (0..searcher.len() as u32).filter_map(|position| searcher.title(position));
        let words = Words::in_memory(titles().map(|(_, title)| title)).map_err(|error| of_words(path, &error))?;
        let positions = titles().zip(0..).map(|((id, _), position)| (id.to_owned(), position)).collect();
        let facts = facts(path, &searcher, &words)?;
        Ok(Engine { path: path.to_owned(), searcher, words, positions, facts, model: OnceLock::new() })
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// [`Error::Request`] if the request cannot be answered as it is; [`Error::Index`] if a part of the index that was
    /// needed for it is damaged.
    pub fn search(&self, request: &Request) -> Result<Answer> {
        let begin = Instant::now();
        if request.k == 0 {
            return Err(RequestFault::NoTitles.into());
        }
        if let Some(filter) = request.filters.first() {
            return Err(RequestFault::Field { found: filter.field.clone(), known: Vec::new() }.into());
        }
        let mut timings = Timings::default();
        let query = self.query(&request.text)?;
        let wanted = request.k.saturating_add(request.offset).min(self.searcher.len());
        let depth = if request.mode == Mode::Both { wanted.max(FUSED_DEPTH) } else { wanted };
        let [mut by_vectors, mut by_words] = [(); 2].map(|()| Vec::new());
        if request.mode != Mode::Words {
            let began = self.in_time(request)?;
            by_vectors = self.by_vectors(&request.text, depth)?;
            timings.vectors = began.elapsed();
        }
        if request.mode != Mode::Vectors {
            let began = self.in_time(request)?;
            by_words = self.by_words(&request.text, depth)?;
            timings.words = began.elapsed();
        }
        let began = self.in_time(request)?;
        let fused = match request.mode {
            Mode::Vectors => by_vectors.clone(),
            Mode::Words => by_words.clone(),
            Mode::Both => {
                let FusionFacts { method, vectors, words, .. } = self.facts.fusion;
                fuse_hits(&[&by_vectors, &by_words], &[vectors, words], method)
            }
        };
        timings.fuse = began.elapsed();
        let ranks = |list: &[Place]| -> HashMap<u32, Share> {
            (1..).zip(list).map(|(rank, hit)| (hit.position, Share { rank, score: hit.score })).collect()
        };
        let (of_vectors, of_words) = (ranks(&by_vectors), ranks(&by_words));
        let hit = |(rank, place): (usize, &Place)| {
            let (id, title) = self.searcher.title(place.position)?;
            Some(Hit {
                rank,
                id: id.to_owned(),
                title: title.to_owned(),
                fields: BTreeMap::new(),
                score: place.score,
                vectors: of_vectors.get(&place.position).copied(),
                words: of_words.get(&place.position).copied(),
            })
        };
        let hits = (1..).zip(&fused).skip(request.offset).take(request.k).filter_map(hit).collect();
        timings.total = begin.elapsed();
        Ok(Answer { hits, total: self.searcher.len() as u64, query, timings })
    }

    /// The vectors of texts, [texts, dimension], row by row, of unit length. A text without words gives a zero vector.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if the model cannot be read.
    pub fn embed<S: AsRef<str> + Sync>(&self, texts: &[S], side: Side) -> Result<Vec<f32>> {
        match side {
            Side::Query => Ok(self.searcher.model().embedder().embed(texts)),
            Side::Title => Ok(self.whole()?.titles.embed(texts)),
        }
    }

    /// Why the title with this id has its scores for a query.
    ///
    /// # Errors
    ///
    /// [`RequestFault::Id`] if there is no such title; [`Error::Library`] if the model cannot be read.
    pub fn explain(&self, query: &str, id: &str) -> Result<Explanation> {
        let document = self.get(id)?.ok_or_else(|| RequestFault::Id { found: id.to_owned() })?;
        let vectors = Explainer::new(&self.whole()?.model).explain(query, &document.title);
        let words = self.word_shares(query, &document.title)?;
        let words_score = words.iter().map(|word| word.share).sum();
        Ok(Explanation { document, vectors, words, words_score })
    }

    /// Why the title with the id `a` is above that with the id `b`, or below it.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::explain`].
    pub fn compare(&self, query: &str, a: &str, b: &str) -> Result<Comparison> {
        let (a, b) = (self.explain(query, a)?, self.explain(query, b)?);
        let vectors = f64::from(a.vectors.score) - f64::from(b.vectors.score);
        let words = f64::from(a.words_score) - f64::from(b.words_score);
        let units = a.vectors.units.iter().zip(&b.vectors.units).map(|(a, b)| a - b).collect();
        Ok(Comparison { a, b, vectors, words, units })
    }

    /// The title with this id.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] if the titles are damaged.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let title = self.positions.get(id).and_then(|&position| self.searcher.title(position));
        Ok(title.map(|(id, title)| Document { id: id.to_owned(), title: title.to_owned(), fields: BTreeMap::new() }))
    }

    /// Reads every file, compares all checksums, and asks the queries whose answers the index keeps.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] or [`Error::Index`] with the first file that is not as it was written.
    pub fn check(&self) -> Result<Checked> {
        Searcher::open(&self.path)?;
        let files = self.searcher.summary().map_or(0, |summary| summary.files.len());
        Ok(Checked { files, bytes: self.facts.bytes, queries: 0 })
    }

    /// What the index says of itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole model; it is read when it is first asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if it cannot be read.
    pub fn model(&self) -> Result<&Model> {
        Ok(&self.whole()?.model)
    }

    fn whole(&self) -> Result<&Whole> {
        if let Some(whole) = self.model.get() {
            return Ok(whole);
        }
        let model = Model::load(&self.path.join(MODEL_FILE))?;
        let titles = model.embedder(Side::Title);
        Ok(self.model.get_or_init(|| Whole { model, titles }))
    }

    fn in_time(&self, request: &Request) -> Result<Instant> {
        let now = Instant::now();
        match request.deadline {
            Some(deadline) if now >= deadline => Err(RequestFault::Deadline.into()),
            _ => Ok(now),
        }
    }

    fn query(&self, text: &str) -> Result<QueryFacts> {
        let dictionary = self.searcher.model().dictionary();
        let mut facts = QueryFacts { words: Vec::new(), has_vector: dictionary.knows_a_word(text) };
        for word in text::words(text) {
            if facts.words.iter().any(|known| known.text == word) {
                continue;
            }
            let titles = self.words.titles_with(&word).map_err(|error| of_words(&self.path, &error))?;
            let known_to_model = dictionary.knows_a_word(&word);
            facts.words.push(QueryWord { text: word, known_to_model, titles: Some(titles) });
        }
        Ok(facts)
    }

    fn by_vectors(&self, text: &str, k: usize) -> Result<Vec<Place>> {
        match self.searcher.search(text, k)? {
            Found::Found(found) => {
                Ok(found.iter().map(|found| Place { position: found.position, score: found.score }).collect())
            }
            Found::NoWords | Found::UnknownWords => Ok(Vec::new()),
        }
    }

    fn by_words(&self, text: &str, k: usize) -> Result<Vec<Place>> {
        let found = self.words.search(&text::words(text), k, &Statistics(vec![&self.words]), &|_| true);
        found.map_err(|error| of_words(&self.path, &error))
    }

    fn word_shares(&self, query: &str, title: &str) -> Result<Vec<WordShare>> {
        let failed = |error| of_words(&self.path, &error);
        let title = text::words(title);
        let (titles, tokens) = (self.words.len() as f64, self.words.tokens().map_err(failed)? as f64);
        let norm = words::K1 * (1.0 - words::B + words::B * title.len() as f64 * titles / tokens.max(1.0));
        let mut shares: Vec<WordShare> = Vec::new();
        for word in text::words(query) {
            if let Some(share) = shares.iter_mut().find(|share| share.word == word) {
                share.in_query += 1;
                continue;
            }
            let in_title = title.iter().filter(|other| **other == word).count() as u32;
            let titles = self.words.titles_with(&word).map_err(failed)?;
            shares.push(WordShare { word, in_query: 1, in_title, titles, share: 0.0 });
        }
        for share in &mut shares {
            let (with, tf) = (share.titles as f64, f64::from(share.in_title));
            let idf = (1.0 + (titles - with + 0.5) / (with + 0.5)).ln();
            share.share = (f64::from(share.in_query) * idf * (words::K1 + 1.0) * tf / (tf + norm)) as f32;
        }
        Ok(shares)
    }
}

fn of_words(path: &Path, error: &tantivy::TantivyError) -> Error {
    Error::index(path, EngineFault::Words { name: "words".to_owned(), found: error.to_string() })
}

fn facts(path: &Path, searcher: &Searcher, words: &Words) -> Result<Facts> {
    let summary = searcher.summary().expect("an index that was opened says what it is");
    let written = std::fs::metadata(path.join("manifest.json")).and_then(|metadata| metadata.modified()).ok();
    let made = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs());
    let tokens = words.tokens().map_err(|error| of_words(path, &error))?;
    Ok(Facts {
        titles: summary.titles,
        left_out: summary.left_out,
        deleted: 0,
        segments: 1,
        fingerprint: summary.fingerprint.clone(),
        version: summary.version.clone(),
        made,
        bytes: summary.files.values().sum(),
        model: ModelFacts {
            fingerprint: summary.model.clone(),
            encoder: searcher.model().encoder_config().kind().to_owned(),
            dimension: summary.dimension,
        },
        vectors: VectorFacts { search: VectorSearch::Exact, bytes: summary.files["vectors.npy"] },
        words: Some(WordFacts {
            k1: words::K1,
            b: words::B,
            mean_length: tokens as f64 / summary.titles.max(1) as f64,
            bytes: 0,
        }),
        fusion: FusionFacts {
            method: FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
            vectors: 0.5,
            words: 0.5,
            depth: FUSED_DEPTH,
        },
        fields: Vec::new(),
    })
}
