//! `clickvec prepare`: from raw logs to counted pairs.

mod args;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clickvec_logs::paths::is_standard_output;
use clickvec_logs::{Report, shown};
use clickvec_tables::files;
use serde::Serialize;

pub(crate) use args::{Args, ColumnsOption};

use crate::answer::Answer;
use crate::output_files::Kind;
use crate::{console, output_files, progress};

/// The shortest time between two updates of the count of rows.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);

/// The report as JSON.
#[derive(Serialize)]
struct Object<'a> {
    #[serde(serialize_with = "console::json_path")]
    output: &'a Path,
    #[serde(flatten)]
    report: &'a Report,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<Answer> {
    check(&args)?;
    let config = args.config()?;
    let started = Instant::now();
    let bar = progress::counter("reading", "rows");
    let mut drawn = Instant::now();
    let report = clickvec_logs::prepare(&config, &mut std::io::stdout(), &mut |rows| {
        if drawn.elapsed() >= REDRAWN_EVERY {
            bar.set_position(rows);
            drawn = Instant::now();
        }
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let report = report?;
    let naming = |setting: &str| format!("--{}", setting.replace('_', "-"));
    let shown = shown::shown(&config, &report, started.elapsed(), &naming);
    if let Some(path) = &args.report {
        files::write_bytes_atomically(path, shown::page(&shown).as_bytes())
            .with_context(|| format!("{} is written, its report is not", console::path(&args.output)))?;
    }
    if args.json {
        let warnings = shown::warnings(&config, &report, &naming);
        warnings.iter().for_each(|warning| console::note(format_args!("warning: {warning}")));
        console::json_lines([Object { output: &args.output, report: &report }])?;
    } else {
        console::note(shown.to_text().trim_end());
    }
    Ok(if shown::lost_most(&config, &report, &naming).is_none() { Answer::Done } else { Answer::No })
}

/// Checks what the library does not know of: the page, and standard output.
fn check(args: &Args) -> Result<()> {
    let outputs = [Some(&args.output), args.report.as_ref()].into_iter().flatten();
    let (printed, written): (Vec<_>, Vec<_>) = outputs.partition(|path| is_standard_output(path));
    ensure!(printed.len() < 2, "expected a file of its own for each output, found standard output twice");
    ensure!(
        !args.json || printed.is_empty(),
        "`--json` prints to standard output, where a table goes as well; name a file for it"
    );
    output_files::check(written, args.logs.iter().chain(&args.titles).chain(&args.queries))?;
    args.report.as_ref().map_or(Ok(()), |path| Ok(output_files::refuse_other(path, Kind::Page)?))
}
