//! A simulation as a folder of files, which appears complete or not at all.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::days::{Days, SESSIONS};
use super::judged::{Judged, judge};
use super::market::Market;
use super::users::ClickModel;
use super::{Fewer, OnPairs, SimulateConfig, Summary};
use clickvec::tables::Title;
use clickvec_tables::files::{PendingFolder, check_replaceable_folder};
use clickvec_tables::json::read_mark;
use clickvec_tables::outputs::refuse_folder_in_index;
use clickvec_tables::shown::shown;
use clickvec_tables::{Error, ErrorKind, Result};

/// The version of the format, `format` in the truth.
const FORMAT: u32 = 1;
const KIND: &str = "simulation";
const TRUTH: &str = "truth.json";
const KIND_OF_FOLDER: &str = "a simulation";
/// After this many days a log with fewer pairs a day would take forever.
const LEAST_PAIRS_A_DAY: u64 = 100;
const DAYS_BEFORE: u64 = 4;

/// The contents of `truth.json`.
#[derive(Serialize)]
struct Truth<'a> {
    format: u32,
    kind: &'static str,
    version: &'static str,
    config: &'a SimulateConfig,
    #[serde(flatten)]
    model: &'a ClickModel,
    summary: &'a Summary,
    files: Vec<String>,
}

/// The fields that every version has.
#[derive(Deserialize)]
struct Known {
    kind: String,
    files: Vec<String>,
}

/// Checks that a simulation may be written to `path`: there is nothing, an empty folder, or a simulation without other
/// files, and neither is it in an index nor are the `titles` in it.
///
/// # Errors
///
/// Those of [`check_replaceable_folder`]; [`ErrorKind::Occupied`].
pub fn check_output(path: &Path, titles: Option<&Path>) -> Result<()> {
    check_replaceable_folder(path, KIND_OF_FOLDER, names)?;
    refuse_folder_in_index(path)?;
    let (Some(titles), Ok(output)) = (titles, path.canonicalize()) else { return Ok(()) };
    if !titles.canonicalize().is_ok_and(|titles| titles.starts_with(output)) {
        return Ok(());
    }
    let found = format!("`{}` in `{}`, which is replaced", shown(titles), shown(path));
    Err(Error::expected(ErrorKind::Occupied, "an output without inputs", found).help("name another folder"))
}

/// Returns the names of the files of a simulation.
fn names(folder: &Path) -> Option<HashSet<String>> {
    let known: Known = read_mark(&folder.join(TRUTH))?;
    (known.kind == KIND).then(|| known.files.into_iter().chain([TRUTH.to_owned()]).collect())
}

/// Writes a file.
fn write_file(
    folder: &PendingFolder,
    name: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<()> {
    let mut file = folder.create(name)?;
    write(&mut file).and_then(|()| file.flush()).map_err(|source| folder.failed(source))
}

/// Writes everything.
pub(super) fn write<M: Market>(
    config: &SimulateConfig,
    market: &M,
    output: &Path,
    on_pairs: &mut OnPairs<'_>,
) -> Result<Summary> {
    let folder = PendingFolder::new(output, KIND_OF_FOLDER, names)?;
    let (judged, validation) = judge(config, market);
    let held_out: HashSet<String> = judged.iter().chain(&validation).map(|judged| judged.query.clone()).collect();
    let model = ClickModel::new(config.position_bias, config.click_noise);
    let days = Days { config, market, model: &model, held_out: &held_out };
    let mut summary = write_log(&folder, &days, on_pairs)?;

    write_file(&folder, "titles.tsv", |file| {
        writeln!(file, "id\ttitle")?;
        market.titles().iter().try_for_each(|title| writeln!(file, "{}\t{}", title.id, title.title))
    })?;
    summary.titles = market.titles().len() as u64;
    // A table with nothing below its header would be an error for readers.
    if !validation.is_empty() {
        summary.validation = write_judged(&folder, "validation.tsv", market, validation.iter())?;
    }
    if !judged.is_empty() {
        summary.judged = write_judged(&folder, "judged.tsv", market, judged.iter())?;
    }
    summary.fewer_validation = (validation.len() < config.validation as usize).then_some(validation.len() as u64);
    for &kind in market.kinds() {
        let same_kind = judged.iter().filter(|judged| judged.kind == kind);
        let found = same_kind.clone().count() as u64;
        if found < u64::from(config.judged) {
            summary.fewer_judged.push(Fewer { kind, found });
        }
        if found == 0 {
            continue;
        }
        write_judged(&folder, &format!("judged-{}.tsv", kind.name()), market, same_kind)?;
    }
    let truth = Truth {
        format: FORMAT,
        kind: KIND,
        version: env!("CARGO_PKG_VERSION"),
        config,
        model: &model,
        summary: &summary,
        files: folder.names()?,
    };
    write_file(&folder, TRUTH, |file| {
        serde_json::to_writer_pretty(&mut *file, &truth)?;
        writeln!(file)
    })?;
    folder.publish()?;
    Ok(summary)
}

/// Writes the clicks, and the log if requested, several days at once: one on each thread.
fn write_log<M: Market>(folder: &PendingFolder, days: &Days<'_, M>, on_pairs: &mut OnPairs<'_>) -> Result<Summary> {
    let config = days.config;
    let mut clicks = folder.create("clicks.tsv")?;
    let mut log = if config.impressions { Some(folder.create("log.tsv")?) } else { None };
    writeln!(clicks, "query\ttitle\tcount").map_err(|source| folder.failed(source))?;
    if let Some(log) = &mut log {
        writeln!(log, "query\ttitle\tid\tposition\tclicked\tuser\tsession\ttime\tgrade")
            .map_err(|source| folder.failed(source))?;
    }
    let mut sum = Summary::default();
    while sum.pairs < config.pairs {
        let left = (config.pairs - sum.pairs).div_ceil(SESSIONS / 2).max(1);
        let at_once = left.min(rayon::current_num_threads() as u64);
        let made: Vec<_> = (0..at_once).into_par_iter().map(|i| days.day(sum.days + i, u64::MAX)).collect();
        for mut day in made {
            let left = config.pairs - sum.pairs;
            if left == 0 {
                break;
            }
            if day.summary.pairs > left {
                day = days.day(sum.days, left);
            }
            clicks.write_all(day.clicks.as_bytes()).map_err(|source| folder.failed(source))?;
            if let Some(log) = &mut log {
                log.write_all(day.log.as_bytes()).map_err(|source| folder.failed(source))?;
            }
            sum.pairs += day.summary.pairs;
            sum.clicks += day.summary.clicks;
            sum.relevant_clicks += day.summary.relevant_clicks;
            sum.impressions += day.summary.impressions;
            sum.misspelt += day.summary.misspelt;
            sum.days += 1;
            if on_pairs(sum.pairs).is_break() {
                return Err(Error::interrupted());
            }
            check_enough(&sum, config.pairs)?;
        }
    }
    for file in log.iter_mut().chain([&mut clicks]) {
        file.flush().map_err(|source| folder.failed(source))?;
    }
    Ok(sum)
}

/// Checks that the log will reach its length in reasonable time.
fn check_enough(sum: &Summary, wanted: u64) -> Result<()> {
    let pairs_a_day = sum.pairs / sum.days.max(1);
    if sum.days < DAYS_BEFORE || sum.pairs >= wanted || pairs_a_day >= LEAST_PAIRS_A_DAY {
        return Ok(());
    }
    let (expected, found, help) = if sum.pairs == 0 {
        let help = "give more titles, or ask for fewer judged and validation queries";
        ("a query that is not judged".to_owned(), "none".to_owned(), help)
    } else {
        let found = format!("so few that a day of the log has {pairs_a_day}");
        (format!("titles for {wanted} pairs"), found, "ask for fewer pairs, or give more titles")
    };
    Err(Error::expected(ErrorKind::Empty, expected, found).help(help))
}

/// Writes judged queries and returns their rows.
fn write_judged<'a, M: Market>(
    folder: &PendingFolder,
    name: &str,
    market: &M,
    judged: impl Iterator<Item = &'a Judged<M::Intent>>,
) -> Result<u64>
where
    M::Intent: 'a,
{
    let mut rows = 0;
    write_file(folder, name, |file| {
        writeln!(file, "query\ttitle\tgrade\tkind\ttitle_id")?;
        for Judged { query, kind, titles, .. } in judged {
            for &(title, grade) in titles {
                let Title { id, title } = &market.titles()[title as usize];
                writeln!(file, "{query}\t{title}\t{grade}\t{}\t{id}", kind.name())?;
                rows += 1;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}
