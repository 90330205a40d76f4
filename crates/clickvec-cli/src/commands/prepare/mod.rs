//! `clickvec prepare`: from raw logs to counted pairs.

mod args;
mod report;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clickvec_logs::Split;
use clickvec_logs::paths::is_standard_output;
use clickvec_tables::files;
use maud::html;

pub(crate) use args::{Args, ColumnsOption};

use super::inspect::has_rare;
use crate::answer::Answer;
use crate::outputs::Kind;
use crate::{input, output, outputs, page, progress};

/// The shortest time between two updates of the count of rows.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);

/// The day from which numbers of seconds count.
const EPOCH: &str = "1970-01-01";

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<Answer> {
    check(&args)?;
    if let Some(private) = args.logs.iter().find(|log| has_rare(log)) {
        bail!(
            "{}: expected a raw log, found what `prepare --private` wrote, whose marks of rare queries would be lost; prepare the \
             log again, or leave the column `rare` out",
            output::path(private)
        );
    }
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
    let shown = report::shown(&args, &report, started.elapsed());
    if let Some(path) = &args.report {
        let body = html! { h1 { "What was in the log" } (shown.to_markup()) };
        files::write_bytes_atomically(path, page::page("clickvec prepare", "", &body).as_bytes())
            .with_context(|| format!("{} is written, its report is not", output::path(&args.output)))?;
    }
    if args.json {
        output::json_lines([report::Object {
            output: args.output.to_string_lossy(),
            validation_output: args.validation().map(|path| path.to_string_lossy()),
            report: &report,
        }])?;
    } else {
        output::note(shown.to_text().trim_end());
    }
    let mut answer = Answer::Done;
    if report.days.as_ref().is_some_and(|(first, last)| first == EPOCH && last == EPOCH) {
        output::note(format_args!(
            "warning: all times are on {EPOCH}, since numbers are read as seconds from there; if the column has years alone, \
             or times from another start, what goes by days is wrong"
        ));
    }
    if let Some(loss) = report::most_left_out(&args, &report) {
        output::note(format_args!("warning: {loss}"));
        answer = Answer::No;
    }
    Ok(answer)
}

/// Checks combinations that the parser of flags cannot express.
fn check(args: &Args) -> Result<()> {
    let read = || args.logs.iter().chain(&args.titles).chain(&args.queries);
    let outputs = [
        (Some(&args.output), Kind::Table("query\ttitle\tcount")),
        (args.validation(), Kind::Table("query\ttitle\tgrade\tcount\n")),
        (args.report.as_ref(), Kind::Page),
    ];
    let outputs = outputs.into_iter().filter_map(|(path, kind)| Some((path?, kind)));
    let (printed, written): (Vec<_>, Vec<_>) = outputs.partition(|(path, _)| is_standard_output(path));
    ensure!(printed.len() < 2, "expected a file of its own for each output, found standard output twice");
    ensure!(
        !args.json || printed.is_empty(),
        "`--json` prints to standard output, where a table goes as well; name a file for it"
    );
    outputs::check(written.iter().map(|(path, _)| *path), read())?;
    written.iter().try_for_each(|(path, kind)| outputs::refuse_other(path, *kind))?;
    input::refuse_repeated(&args.logs, "log")?;
    ensure!(
        read().filter(|path| path.as_path() == Path::new("-")).count() < 2,
        "expected standard input, `-`, once, found it several times; name files"
    );
    if args.validation().is_some() && args.split() == Split::None {
        bail!(
            "`--validation FILE` needs `--validation-split`, a date or a share of the queries, which says what goes into it"
        );
    }
    if args.validation().is_none() && args.split() != Split::None {
        bail!("`--validation-split` needs `--validation FILE`, where the rows go");
    }
    Ok(())
}
