//! `clickvec demo`: a tour of the program on an invented search engine.

mod next;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clickvec_lab::demo::{self, Event};
use clickvec_lab::simulate::SimulateConfig;
use clickvec_tables::files::{self, TemporaryFolder};
use indicatif::ProgressBar;

use self::next::next;
use crate::answer::Answer;
use crate::interrupt::{Interrupt, remove_folder_on_signal};
use crate::{console, output_files, progress};

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

    /// The number of pairs of a query and a clicked title to learn from.
    #[arg(long, value_name = "N", default_value_t = SimulateConfig::default().pairs, value_parser = crate::numbers::at_least_one::<u64>)]
    pairs: u64,
}

/// Runs the demo.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let to_stdout = args.output == Path::new("-");
    if !to_stdout {
        output_files::check([&args.output], [])?;
        output_files::refuse_other(&args.output, output_files::Kind::Page)?;
    }
    let folder = Folder::new(args.keep.as_deref())?;
    let started = Instant::now();
    console::note("clickvec demo: an invented search engine, and what its clicks teach\n");
    let mut bar = None;
    let report = demo::run(args.pairs, folder.path(), &mut |event| show(&mut bar, event));
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if let Folder::Temporary { interrupt, .. } = &folder {
        interrupt.give_way();
    }
    let report = report?;
    let time = started.elapsed();
    let next = next(args.keep.as_deref(), &report);
    let page = report.page(time.as_secs_f64(), &next);
    if to_stdout {
        console::print(page)?;
        return Ok(Answer::Done);
    }
    files::write_bytes_atomically(&args.output, page.as_bytes())?;
    console::note(format_args!("  done in {}\n", progress::duration(time)));
    console::print(report.text(&console::path(&args.output), &next))?;
    Ok(Answer::Done)
}

/// Shows a step as a bar, and then how long it took.
fn show(bar: &mut Option<ProgressBar>, event: Event<'_>) {
    match event {
        Event::Begun { step } => *bar = Some(progress::step(step)),
        Event::Progress { done, of } => {
            if let Some(bar) = bar {
                bar.set_length(of);
                bar.set_position(done);
            }
        }
        Event::Ended { step, seconds } => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            console::note(format_args!("  {step:<44}{:>12}", progress::duration(time)));
        }
    }
}

/// The folder with the log and the models.
enum Folder {
    /// A folder that is removed when the program ends.
    Temporary {
        folder: TemporaryFolder,
        /// Removes the folder on a signal.
        interrupt: Interrupt,
    },
    Lasting(PathBuf),
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Folder> {
        if let Some(path) = keep {
            output_files::refuse_folder_in_index(path)?;
        }
        let Some(path) = keep else {
            let folder = TemporaryFolder::new(&std::env::temp_dir().join("demo"))?;
            let interrupt = remove_folder_on_signal(folder.path().to_owned())?;
            return Ok(Folder::Temporary { folder, interrupt });
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
