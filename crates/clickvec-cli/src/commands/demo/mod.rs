//! `clickvec demo`: a tour of the program on an invented search engine.

mod next;
mod page;
mod searches;
mod steps;
mod text;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clickvec_eval::{Comparison, Evaluation};
use clickvec_lab::simulate::SimulateConfig;
use clickvec_tables::files;

use self::next::Next;
use self::searches::Search;
use crate::answer::Answer;
use crate::interrupt::{Interrupt, remove_folder_on_signal};
use crate::{output, outputs, progress};

/// Show everything at work: invent a search engine, learn from its clicks, compare with BM25, and search.
///
/// Needs no data and takes about a minute on two cores. The report is printed and also written as one HTML page.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The page to write; `-` writes it to standard output instead of the report.
    #[arg(long, short, value_name = "PAGE", default_value = "clickvec-demo.html")]
    output: PathBuf,

    /// Keep the log and the models in this folder, to experiment with. The folder must be empty or not exist yet.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    /// How many pairs of a query and a clicked title to learn from.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().pairs, value_parser = crate::numbers::at_least_one::<u64>)]
    pairs: u64,
}

/// The contents of the report.
struct Report {
    pairs: u64,
    titles: u64,
    queries: usize,
    /// The number of judged queries that the epoch was chosen with.
    validation: usize,
    /// BM25, DSSM and LSTM on all judged queries.
    systems: Vec<Evaluation>,
    tests: Vec<Comparison>,
    /// Results for each kind of query.
    kinds: Vec<KindReport>,
    searches: Vec<Search>,
    /// The steps, and the seconds that each took.
    steps: Vec<(String, f64)>,
    seconds: f64,
}

/// The judged queries of a kind.
struct KindReport {
    name: &'static str,
    /// What makes them hard.
    about: &'static str,
    /// One of them.
    example: String,
    queries: usize,
    systems: Vec<Evaluation>,
    tests: Vec<Comparison>,
}

/// Runs the demo.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let to_stdout = args.output == Path::new("-");
    if !to_stdout {
        outputs::check([&args.output], [])?;
        outputs::refuse_other(&args.output, outputs::Kind::Page)?;
    }
    let folder = Folder::new(args.keep.as_deref())?;
    let started = Instant::now();
    output::note("clickvec demo: an invented search engine, and what its clicks teach\n");
    let report = steps::run(&args, folder.path());
    if let Folder::Temporary { interrupt, .. } = &folder {
        interrupt.give_way();
    }
    let mut report = report?;
    report.seconds = started.elapsed().as_secs_f64();
    let next = Next::new(args.keep.as_deref(), &report);
    let page = page::page(&report, &next);
    if to_stdout {
        output::print(page)?;
        return Ok(Answer::Done);
    }
    files::write_bytes_atomically(&args.output, page.as_bytes())?;
    output::note(format_args!("  done in {}\n", progress::duration(started.elapsed())));
    output::print(text::text(&report, &args.output, &next))?;
    Ok(Answer::Done)
}

/// The folder with the log and the models.
enum Folder {
    /// A folder that is removed when the program ends.
    Temporary {
        folder: tempfile::TempDir,
        /// Removes the folder on a signal.
        interrupt: Interrupt,
        /// A lock that tells other runs that the folder is in use.
        _lock: Option<File>,
    },
    Lasting(PathBuf),
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Folder> {
        if let Some(path) = keep {
            outputs::refuse_folder_in_index(path)?;
        }
        let Some(path) = keep else {
            // Remove what earlier demos left behind when they were killed.
            files::remove_abandoned(&std::env::temp_dir().join("demo"));
            let prefix = format!("{}demo-", files::TEMPORARY_PREFIX);
            let folder = tempfile::Builder::new().prefix(&prefix).suffix(files::TEMPORARY_SUFFIX).tempdir();
            let folder = folder.context("cannot make a temporary folder")?;
            // The lock ends with the process. File systems without locks have none.
            let lock = File::open(folder.path()).ok().filter(|file| file.try_lock().is_ok());
            let interrupt = remove_folder_on_signal(folder.path().to_owned())?;
            return Ok(Folder::Temporary { folder, interrupt, _lock: lock });
        };
        let is_free = !path.exists() || path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        let found = if path.is_dir() { "one with files in it" } else { "a file" };
        ensure!(
            is_free,
            "{}: expected an empty folder, or nothing, found {found}; name another folder",
            path.display()
        );
        files::create_folder(path)?;
        Ok(Folder::Lasting(path.to_owned()))
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Temporary { folder, .. } => folder.path(),
            Folder::Lasting(path) => path,
        }
    }
}
