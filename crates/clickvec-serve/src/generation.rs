//! The generations of a named index: the one that answers, and the one before it.
//!
//! A generation is what belongs together: the model, its vectors, the words and the titles. It never changes. A reload opens
//! a new one, tests it and puts it in place in one step; requests that run keep the one they began with.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use clickvec_engine::{Document, Engine, Hit, Mode, Request};

use crate::error::{Error, Result};

/// Among so many titles a canary must be found.
const CANARY_TOP: usize = 10;
/// A new index is asked for so many of its own titles. Each is a long query, which reads much of an index: with a vague query to
/// find twenty of them, asked in every mode, they took most of the time to the first answer, and nearly all that of a reload.
const OWN_TITLES: usize = 3;

/// A query and a title that a new generation must find among the first ten, by vectors and words together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The query.
    pub query: String,
    /// The id of the title.
    pub id: String,
}

/// One generation of an index.
pub(crate) struct Generation {
    /// Counted from 1 since the service started.
    pub(crate) number: u64,
    /// When it was opened.
    pub(crate) opened: String,
    pub(crate) engine: Engine,
    /// Whether all its files were read and found to be as they were written.
    is_checked: bool,
}

/// The generation that answers, and the one before it.
pub(crate) struct Pair {
    pub(crate) current: Arc<Generation>,
    pub(crate) previous: Option<Arc<Generation>>,
}

/// A named index.
pub(crate) struct Slot {
    pub(crate) name: String,
    path: PathBuf,
    canaries: Arc<[Canary]>,
    pair: ArcSwap<Pair>,
    /// The number of the last generation that was opened; held while one is.
    opened: Mutex<u64>,
}

/// The result of a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// The new generation answers.
    Swapped,
    /// The folder still has what answers.
    Unchanged,
}

impl Slot {
    /// Opens an index for the first time. Its files are not all read: that would be most of the time to the first answer.
    pub(crate) fn open(name: &str, path: &Path, canaries: Arc<[Canary]>) -> Result<Slot> {
        let engine = Engine::open(path)?;
        test(path, &engine, &canaries)?;
        let pair = Pair { current: Arc::new(Generation::new(1, engine, false)), previous: None };
        Ok(Slot {
            name: name.to_owned(),
            path: path.to_owned(),
            canaries,
            pair: ArcSwap::from_pointee(pair),
            opened: Mutex::new(1),
        })
    }

    /// The generations now.
    pub(crate) fn pair(&self) -> Arc<Pair> {
        self.pair.load_full()
    }

    /// The generation that answers.
    pub(crate) fn current(&self) -> Arc<Generation> {
        Arc::clone(&self.pair.load().current)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what is in the folder now, reads all of it that was not read before, tests it, and lets it answer. Otherwise
    /// everything stays.
    pub(crate) fn reload(&self) -> Result<Reloaded> {
        // Two reloads at once would keep the wrong one as the one before.
        let mut opened = self.opened.lock().expect("no holder panics");
        // What has not changed is shared with the generation that answers.
        let before = self.current();
        let Some(engine) = before.engine.reopened()? else { return Ok(Reloaded::Unchanged) };
        engine.check_after(before.is_checked.then_some(&before.engine))?;
        test(&self.path, &engine, &self.canaries)?;
        *opened += 1;
        let current = Arc::new(Generation::new(*opened, engine, true));
        let previous = Some(before);
        self.pair.store(Arc::new(Pair { current, previous }));
        Ok(Reloaded::Swapped)
    }

    /// Lets the generation before answer again; the one that answered is kept in its place.
    pub(crate) fn roll_back(&self) -> Result<()> {
        let _held = self.opened.lock().expect("no holder panics");
        let pair = self.pair();
        let Some(previous) = &pair.previous else { return Err(Error::NoPrevious { name: self.name.clone() }) };
        let pair = Pair { current: Arc::clone(previous), previous: Some(Arc::clone(&pair.current)) };
        self.pair.store(Arc::new(pair));
        Ok(())
    }
}

impl Generation {
    fn new(number: u64, engine: Engine, is_checked: bool) -> Generation {
        Generation { number, opened: crate::log::now(), engine, is_checked }
    }

    /// By vectors and words, or by vectors if the index has no words.
    pub(crate) fn usual_mode(&self) -> Mode {
        if self.engine.facts().words.is_some() { Mode::Both } else { Mode::Vectors }
    }
}

/// Asks an index for titles that it has and for those that it must find.
fn test(path: &Path, engine: &Engine, canaries: &[Canary]) -> Result<()> {
    let fault = |found: String| Error::SelfTest { path: path.to_owned(), found };
    let facts = engine.facts();
    if facts.titles == 0 {
        return Err(fault("no title".to_owned()));
    }
    // Read now: a later generation in the same folder would have another file in its place.
    let model = engine.model()?.fingerprint();
    if model != facts.model.fingerprint {
        return Err(fault(format!(
            "another model ({model}) than the one of its vectors ({})",
            facts.model.fingerprint
        )));
    }
    let mode = if facts.words.is_some() { Mode::Both } else { Mode::Vectors };
    for Document { title, .. } in engine.sample(OWN_TITLES)? {
        // Each part has its own share in a hit. The title itself, or one like it, is high in both lists.
        let answer = engine.search(&Request::new(title, mode).with_k(CANARY_TOP))?;
        let found = |is_in: fn(&Hit) -> bool| answer.hits.iter().any(is_in);
        if answer.query.has_vector && !found(|hit| hit.vectors.is_some()) {
            return Err(fault("nothing by vectors for one of its own titles".to_owned()));
        }
        if mode == Mode::Both && !answer.query.words.is_empty() && !found(|hit| hit.words.is_some()) {
            return Err(fault("nothing by words for one of its own titles".to_owned()));
        }
        if found(|hit| !hit.score.is_finite()) {
            return Err(fault("a score that is no number".to_owned()));
        }
    }
    for Canary { query, id } in canaries {
        let answer = engine.search(&Request::new(query.as_str(), mode).with_k(CANARY_TOP))?;
        if !answer.hits.iter().any(|hit| hit.id == *id) {
            let first = answer.hits.first().map_or("no title".to_owned(), |hit| format!("`{}` first", hit.id));
            return Err(Error::Canary { query: query.clone(), id: id.clone(), top: CANARY_TOP, found: first });
        }
    }
    Ok(())
}
