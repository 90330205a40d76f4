//! The generations of a named index: the one that answers, and the one before it.
//!
//! A generation is a set that belongs together: the model, its vectors, the words and the titles. It never changes. A reload
//! opens a new one, tests it and puts it in place in one step; running requests finish with the one they began with.
//!
//! The first generation answers before all its files have been read; they are read afterwards. If one is damaged, it stops
//! answering.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use clickvec_index::{Checked, Document, Error as Fault, Index, Mode, Request};
use clickvec_tables::{Error as Shared, ErrorKind};

use crate::error::Result;
use crate::fault::quoted;

/// A canary must be found among this many titles.
const CANARY_TOP: usize = 10;
/// A new index is searched for this many of its own titles. Each is a long query, which reads much of an index: more of them, in
/// every mode, took most of the time to the first answer and nearly all the time of a reload.
const OWN_TITLES: usize = 3;
/// A file that is not as it was written is read again after this time: the index may be about to be replaced.
const READ_AGAIN: Duration = Duration::from_millis(200);

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
    /// The name of the index.
    pub(crate) name: String,
    /// Counted from 1 since the service started.
    pub(crate) number: u64,
    /// The time when it was opened.
    pub(crate) opened: String,
    pub(crate) index: Index,
    /// The known state of its files.
    files: Mutex<Files>,
}

/// The known state of a generation's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Files {
    /// They have not all been read.
    Unread,
    /// They have not all been read, and the folder has another index by now.
    Replaced,
    /// They are as they were written.
    Sound,
    /// One is not, or the answers are others; the text says what was found, without the folder of the index.
    Damaged(String),
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
    /// Held while a generation is opened.
    history: Mutex<History>,
}

/// The generations of the past.
struct History {
    /// The number of the last generation that was opened.
    opened: u64,
    /// The fingerprint of the index that was rolled back. It may still be in the folder, and is taken again only on request.
    left: Option<String>,
}

/// Why an index is reloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It was requested.
    Requested,
    /// The folder has changed.
    Noticed,
}

/// The result of a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// The new generation answers.
    Swapped,
    /// The folder still has what answers.
    Unchanged,
    /// The folder still has the index that was rolled back.
    Left,
}

impl Reloaded {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reloaded::Swapped => "swapped",
            Reloaded::Unchanged => "unchanged",
            Reloaded::Left => "left",
        }
    }
}

impl Slot {
    /// Opens an index for the first time. Its files are not all read: that would be most of the time to the first answer.
    pub(crate) fn open(name: &str, path: &Path, canaries: Arc<[Canary]>) -> Result<Slot> {
        let open = || {
            let index = Index::open(path)?;
            test(path, &index, &canaries).map(|()| index)
        };
        // A damaged file may show as a fault of another, or of the answers.
        let index = open().or_else(|error| clickvec_index::check_files(path).and(Err(error)))?;
        let pair = Pair { current: Arc::new(Generation::new(name, 1, index, Files::Unread)), previous: None };
        Ok(Slot {
            name: name.to_owned(),
            path: path.to_owned(),
            canaries,
            pair: ArcSwap::from_pointee(pair),
            history: Mutex::new(History { opened: 1, left: None }),
        })
    }

    /// Returns the generations now.
    pub(crate) fn pair(&self) -> Arc<Pair> {
        self.pair.load_full()
    }

    /// Returns the generation that answers.
    pub(crate) fn current(&self) -> Arc<Generation> {
        Arc::clone(&self.pair.load().current)
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the index in the folder, reads all files that were not read before, tests it, and puts it in place. If a step fails,
    /// everything stays.
    pub(crate) fn reload(&self, cause: Cause) -> Result<Reloaded> {
        // Two reloads at once would keep the wrong one as the one before.
        let mut history = self.history.lock().expect("no holder panics");
        let before = self.current();
        let files = before.files();
        let index = match files {
            // It may have been mended, with the same fingerprint.
            Files::Damaged(_) => Index::open(&self.path)?,
            // What has not changed is shared with the generation that answers.
            Files::Unread | Files::Replaced | Files::Sound => match before.index.reopened()? {
                Some(index) => index,
                None => {
                    // It is back, and can be read after all.
                    if files == Files::Replaced {
                        before.index.check()?;
                        before.found(Files::Sound);
                    }
                    return Ok(Reloaded::Unchanged);
                }
            },
        };
        if cause == Cause::Noticed && history.left.as_ref() == Some(&index.facts().fingerprint) {
            return Ok(Reloaded::Left);
        }
        index.check_after((files == Files::Sound).then_some(&before.index))?;
        test(&self.path, &index, &self.canaries)?;
        history.opened += 1;
        history.left = None;
        let current = Arc::new(Generation::new(&self.name, history.opened, index, Files::Sound));
        let previous = Some(before);
        self.pair.store(Arc::new(Pair { current, previous }));
        Ok(Reloaded::Swapped)
    }

    /// Reads all files of the generation that answers on a thread of low priority, and keeps what comes out. `None` if that
    /// was done before.
    pub(crate) fn read(&self) -> Option<(Arc<Generation>, Result<Checked, Fault>)> {
        let generation = self.current();
        if generation.files().are_read() {
            return None;
        }
        let mut result = generation.index.check_in_background();
        if result.as_ref().is_err_and(|fault| !is_replaced(fault)) {
            std::thread::sleep(READ_AGAIN);
            result = generation.index.check_in_background();
        }
        match &result {
            Ok(_) => generation.found(Files::Sound),
            // Whatever has taken its place is read before it answers.
            Err(fault) if is_replaced(fault) => generation.found(Files::Replaced),
            Err(fault) => generation.found(Files::Damaged(told(&generation.index, fault))),
        }
        Some((generation, result))
    }

    /// Puts the generation before in place again; the current one becomes the one before.
    ///
    /// # Errors
    ///
    /// The state found instead of a sound generation.
    pub(crate) fn roll_back(&self) -> Result<(), &'static str> {
        let mut history = self.history.lock().expect("no holder panics");
        let pair = self.pair();
        let Some(previous) = &pair.previous else { return Err("none") };
        if matches!(previous.files(), Files::Damaged(_)) {
            return Err("one with a damaged file");
        }
        let [left, now] = [&pair.current, previous].map(|generation| generation.index.facts().fingerprint.clone());
        // A second rollback means the index that is in the folder.
        history.left = (history.left.as_ref() != Some(&now)).then_some(left);
        let pair = Pair { current: Arc::clone(previous), previous: Some(Arc::clone(&pair.current)) };
        self.pair.store(Arc::new(pair));
        Ok(())
    }
}

impl Generation {
    fn new(name: &str, number: u64, index: Index, files: Files) -> Generation {
        Generation { name: name.to_owned(), number, opened: crate::clock::now(), index, files: Mutex::new(files) }
    }

    /// Returns the known state of its files.
    pub(crate) fn files(&self) -> Files {
        self.files.lock().expect("no holder panics").clone()
    }

    fn found(&self, files: Files) {
        let mut now = self.files.lock().expect("no holder panics");
        // The first result of reading them all stays.
        if !now.are_read() {
            *now = files;
        }
    }
}

impl Files {
    fn are_read(&self) -> bool {
        matches!(self, Files::Sound | Files::Damaged(_))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Files::Unread => "unread",
            Files::Replaced => "replaced",
            Files::Sound => "sound",
            Files::Damaged(_) => "damaged",
        }
    }
}

/// Returns whether the folder has another index by now.
pub(crate) fn is_replaced(fault: &Fault) -> bool {
    fault.kind() == ErrorKind::Busy
}

/// Describes a fault of an index for clients, who need not know where the index is.
fn told(index: &Index, fault: &Fault) -> String {
    let mut folders = std::iter::once(index.path()).chain(index.links().iter().map(PathBuf::as_path));
    let file = fault.path().and_then(|path| folders.find_map(|folder| path.strip_prefix(folder).ok()));
    let file = file.map(|path| path.display().to_string());
    match (fault.kind(), file) {
        (ErrorKind::Damaged, Some(file)) => format!("`{file}` changed or damaged"),
        (ErrorKind::Io, Some(file)) => format!("`{file}`, which cannot be read"),
        // A query that the index keeps with its answers.
        (ErrorKind::Mismatch, Some(file)) if file.is_empty() => "other answers than it keeps".to_owned(),
        _ => fault.message(),
    }
}

/// Asks an index for titles that it has and for those that it must find.
fn test(path: &Path, index: &Index, canaries: &[Canary]) -> Result<()> {
    let fault = |found: String| -> Result<()> {
        let error = Shared::expected(ErrorKind::Damaged, "an index that answers queries", found);
        Err(error.at(path))
    };
    let facts = index.facts();
    if facts.titles == 0 {
        return fault("no title".to_owned());
    }
    // Read now: a later generation in the same folder would have another file in its place.
    let model = index.model().fingerprint();
    if model != facts.model.fingerprint {
        let vectors = &facts.model.fingerprint;
        return fault(format!("another model ({model}) than the one of its vectors ({vectors})"));
    }
    index.prepare(Mode::Fused)?;
    for Document { title, .. } in index.sample(OWN_TITLES)? {
        // Each part has its own share in a hit. What one part finds may be far down in the list of all.
        let request = Request::new(title, Mode::Fused).with_k(4 * CANARY_TOP).with_depth(CANARY_TOP);
        let request = request.with_min_confidence(0.0);
        let answer = index.search(&request)?;
        let is_found = |part| answer.hits.iter().any(|hit| hit.parts.get(part).is_some());
        for part in index.parts(Mode::Fused)? {
            if index.finds_own(part, &request.text) && !is_found(part) {
                return fault(format!("nothing by {part} for one of its own titles"));
            }
        }
        if let Some(hit) = answer.hits.iter().find(|hit| !hit.score.is_finite()) {
            return fault(format!("the score {}", hit.score));
        }
    }
    for Canary { query, id } in canaries {
        let answer = index.search(&Request::new(query.as_str(), Mode::Fused).with_k(CANARY_TOP))?;
        if !answer.hits.iter().any(|hit| hit.id == *id) {
            let found = answer.hits.first().map_or("no title".to_owned(), |hit| format!("{} first", quoted(&hit.id)));
            let expected = format!("{} among the first {CANARY_TOP} titles", quoted(id));
            let error = Shared::expected(ErrorKind::Mismatch, expected, found);
            return Err(error.within(format!("canary {}", quoted(query))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clickvec::model::Model;
    use clickvec::tables::Title;
    use clickvec_index::IndexBuilder;

    use super::*;

    fn write(path: &Path, title: &str) {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen/format-1/lstm.safetensors");
        let model = Model::load(&model).unwrap();
        let mut builder = IndexBuilder::new(&model, path).unwrap();
        builder.add(Title { id: "t1".to_owned(), title: title.to_owned() }).unwrap();
        clickvec_index::finish(builder, &model, &clickvec_index::Fusion::default(), Default::default()).unwrap();
    }

    #[test]
    fn an_index_that_was_replaced_before_it_was_read_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.index");
        write(&path, "Leather sofa");
        let slot = Slot::open("shop", &path, Arc::from([])).unwrap();
        assert_eq!(slot.current().files(), Files::Unread);
        write(&path, "Velvet sofa");
        let (generation, result) = slot.read().unwrap();
        assert!(is_replaced(&result.unwrap_err()));
        assert_eq!(generation.files(), Files::Replaced);
        // It is back, and is read after all.
        write(&path, "Leather sofa");
        assert_eq!(slot.reload(Cause::Requested).unwrap(), Reloaded::Unchanged);
        assert_eq!(slot.current().files(), Files::Sound);
        write(&path, "Velvet sofa");
        assert_eq!(slot.reload(Cause::Requested).unwrap(), Reloaded::Swapped);
        assert_eq!(slot.current().files(), Files::Sound);
    }
}
