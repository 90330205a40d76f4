//! `clickvec prepare`: from raw logs to counted pairs.

mod args;
mod page;
mod report;

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clickvec::files;
use clickvec_logs::Split;
use clickvec_logs::time::Time;

pub(crate) use args::Args;

use super::Answer;
use crate::{input, output, progress};

/// How often the count of rows is redrawn at most.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);

/// Reads, counts, writes, reports.
pub(crate) fn run(args: Args) -> Result<Answer> {
    check(&args)?;
    let config = args.config()?;
    let started = Instant::now();
    let bar = progress::counter("reading", "rows");
    let mut drawn = Instant::now();
    let report = clickvec_logs::prepare(&config, &mut |rows| {
        if drawn.elapsed() >= REDRAWN_EVERY {
            bar.set_position(rows);
            drawn = Instant::now();
        }
    });
    bar.finish_and_clear();
    let report = report?;
    if let Some(path) = &args.report {
        files::write_bytes_atomically(path, page::page(&args, &report).as_bytes())?;
    }
    if args.json {
        let mut out = output::stdout();
        output::json_line(
            &mut out,
            &report::Object { output: &args.output, validation: args.validation(), report: &report },
        )?;
        output::written(out.flush())?;
    } else {
        output::note(report::text(&args, &report, started.elapsed()).trim_end());
    }
    Ok(Answer::Done)
}

/// What flags cannot say by themselves.
fn check(args: &Args) -> Result<()> {
    let read = args.logs.iter().chain(&args.titles).chain(&args.queries);
    let written: Vec<_> = [Some(&args.output), args.validation(), args.report.as_ref()].into_iter().flatten().collect();
    for (place, path) in written.iter().enumerate() {
        input::refuse_overwriting(path, read.clone())?;
        ensure!(
            !written[..place].contains(path),
            "expected a file of its own for each output, found `{}` twice",
            path.display()
        );
    }
    if args.validation().is_some() && args.split()? == Split::None {
        bail!(
            "`--validation FILE` needs `--validation-after DATE` or `--validation-part PART`, which say what goes into it"
        );
    }
    if args.validation().is_none() && args.split()? != Split::None {
        bail!("`--validation-after` and `--validation-part` need `--validation FILE`, where the rows go");
    }
    Ok(())
}

/// A time, as `--validation-after` has it.
fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| "expected a date or a time, as in 2024-05-17 or 2024-05-17T08:30:00Z".to_owned())
}
