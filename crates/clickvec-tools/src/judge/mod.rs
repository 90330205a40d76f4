//! Which of two systems finds better titles, by the grades of a person.

mod desk;
mod pool;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clickvec::internals::vector_file::texts_path;
use clickvec::tables::TITLE;
use clickvec_eval::{Form, JudgedTitle, JudgmentsForm, TestSetFiles};
use clickvec_serve::{JudgePage, Sheet, SheetRow, Step};
use clickvec_tables::shown::shown;
use clickvec_tables::{Error, ErrorKind, Result, outputs};

use self::desk::{Desk, Others};
use self::pool::Pool;
pub use self::verdict::{Agreed, Verdict};
use crate::systems::Source;
use crate::{Watcher, queries, test_set};

/// The best grade of a sheet; a digit for each is enough.
const BEST: u8 = 4;

/// What is judged, and where the grades go.
pub struct Config<'a> {
    /// The index.
    pub index: &'a Path,
    /// The system to compare it with.
    pub against: Source,
    /// The file that searches are drawn from.
    pub queries: &'a Path,
    /// The sheet of titles and grades; without it, one beside the index.
    pub sheet: Option<&'a Path>,
    /// Titles that others judged, which count where the sheet has no grade.
    pub judged: &'a [PathBuf],
    /// The forms of other programs to write the grades in, with their files.
    pub write: &'a [(JudgmentsForm, PathBuf)],
}

/// A comparison that a person grades.
pub struct Judging {
    sheet: PathBuf,
    write: Vec<(JudgmentsForm, PathBuf)>,
    desk: Arc<Mutex<Desk>>,
    is_finished: Arc<AtomicBool>,
}

impl Judging {
    /// Draws searches, answers them with both systems, and adds what they find to the sheet.
    ///
    /// # Errors
    ///
    /// Those of reading and searching; both systems are the same, or find nothing; an output is an input.
    pub fn new(config: Config<'_>, watch: &dyn Watcher) -> Result<Judging> {
        let Config { index, against, queries, sheet, judged, write } = config;
        let systems = [Source::Index(index.to_owned()), against];
        if systems[0].is_same(&systems[1]) {
            let error = Error::expected(ErrorKind::Setting, "another system to compare with", "the index itself");
            return Err(error.help("name another as `against`").settings(&["against"]));
        }
        let path = sheet.map_or_else(|| beside(index), Path::to_owned);
        let files = systems.iter().flat_map(Source::files).flat_map(|file| [texts_path(&file), file]);
        let read: Vec<PathBuf> = files.chain([queries.to_owned()]).chain(judged.iter().cloned()).collect();
        outputs::check(write.iter().map(|(_, file)| file).chain([&path]), &read)?;
        let mut sheet = Sheet::open(&path)?;
        if let Some(aside) = sheet.put_aside() {
            let (path, aside) = (shown(&path), shown(aside));
            watch.warn(format!("{path}: left out an incomplete last line; {aside} has the original file"));
        }
        let others = judged.iter().map(|path| others(path, watch)).collect::<Result<Vec<Others>>>()?;
        let drawn = queries::drawn(queries::read(queries, watch)?);
        let pool = Pool::new(&systems, drawn, watch)?;
        sheet.add(pool.rows())?;
        let desk = Desk::new(pool, sheet, others);
        let is_finished = Arc::new(AtomicBool::new(desk.is_decided()));
        Ok(Judging { sheet: path, write: write.to_vec(), desk: Arc::new(Mutex::new(desk)), is_finished })
    }

    /// Returns the path of the sheet.
    pub fn sheet(&self) -> &Path {
        &self.sheet
    }

    /// Returns whether there are enough grades, nothing is left to grade, or the person has ended it.
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Relaxed)
    }

    /// Serves the page to grade on until it is dropped. Every grade is stored at once.
    ///
    /// # Errors
    ///
    /// If there is no free port or no thread.
    pub fn page(&self) -> Result<JudgePage> {
        let (desk, finished) = (Arc::clone(&self.desk), Arc::clone(&self.is_finished));
        JudgePage::start(move |step| {
            finished.fetch_or(step == Step::Finish, Ordering::Relaxed);
            locked(&desk).take(step)
        })
    }

    /// Returns the titles of the comparison with their grades so far.
    pub fn rows(&self) -> Vec<SheetRow> {
        locked(&self.desk).rows()
    }

    /// Writes the grades for other programs, and returns what they show.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn finish(&self) -> Result<Verdict> {
        let desk = locked(&self.desk);
        self.write.iter().try_for_each(|(form, file)| desk.write(*form, file))?;
        Ok(desk.verdict())
    }
}

fn locked(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the grades of another judge.
fn others(path: &Path, watch: &dyn Watcher) -> Result<Others> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field: TITLE };
    let set = test_set::read_for_runs(&files, watch)?;
    let mut rows = Vec::new();
    for query in &set.judgments.queries {
        for JudgedTitle { id, text, grade } in &query.titles {
            if !set.title_ids || set.form == Form::Qrels || *grade > BEST {
                let expected = format!("a sheet with the column title_id and grades from 0 to {BEST}");
                let found = "another table of judged titles";
                return Err(Error::expected(ErrorKind::Mismatch, expected, found).at(path));
            }
            rows.push(SheetRow::new(&query.text, id, text, Some(*grade)));
        }
    }
    Ok(Others { file: shown(path), rows })
}

/// Returns the usual sheet of an index, which lies beside it.
fn beside(index: &Path) -> PathBuf {
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    index.with_file_name(format!("{name}.judged.tsv"))
}
