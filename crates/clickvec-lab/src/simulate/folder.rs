//! A simulation as a folder of files, which appears complete or not at all.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::days::{Days, SESSIONS};
use super::judged::{Judged, judge};
use super::market::Market;
use super::users::ClickModel;
use super::{Fewer, SimulateConfig, Summary};
use clickvec::tables::Title;
use clickvec_tables::files::{self, Claim};
use clickvec_tables::{Error, Result};

/// The version of the format, `format` in the truth.
const FORMAT: u32 = 1;
const KIND: &str = "simulation";
const TRUTH: &str = "truth.json";
/// The limit of a truth, which usually has a few thousand bytes.
const MAX_TRUTH_BYTES: u64 = 1 << 20;
const BUFFER_BYTES: usize = 256 * 1024;
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
/// files.
///
/// # Errors
///
/// That of [`files::check_replaceable_folder`].
pub fn check_output(path: &Path) -> Result<()> {
    files::check_replaceable_folder(path, "a simulation", |path| {
        let truth = path.join(TRUTH);
        let mut bytes = Vec::new();
        files::open_plain(&truth).ok()?.take(MAX_TRUTH_BYTES + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > MAX_TRUTH_BYTES {
            return None;
        }
        let known: Known = serde_json::from_slice(&bytes).ok()?;
        let names = known.files.into_iter().chain([TRUTH.to_owned()]);
        (known.kind == KIND).then(|| names.collect())
    })
}

/// A writer of the files of a folder.
struct Writer<'a> {
    /// Where the folder will be.
    output: &'a Path,
    /// Where it is now.
    folder: &'a Path,
    files: Vec<String>,
}

impl Writer<'_> {
    fn open(&mut self, name: &str) -> Result<BufWriter<File>> {
        self.files.push(name.to_owned());
        let file = File::create_new(self.folder.join(name)).map_err(|source| self.failed(source))?;
        Ok(BufWriter::with_capacity(BUFFER_BYTES, file))
    }

    fn close(&self, file: BufWriter<File>) -> Result<()> {
        let file = file.into_inner().map_err(|error| self.failed(error.into_error()))?;
        file.sync_all().map_err(|source| self.failed(source))
    }

    fn file(&mut self, name: &str, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let mut file = self.open(name)?;
        write(&mut file).map_err(|source| self.failed(source))?;
        self.close(file)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::io(self.output, "write", source)
    }
}

/// Writes everything.
pub(super) fn write<M: Market>(
    config: &SimulateConfig,
    market: &M,
    output: &Path,
    on_pairs: &mut dyn FnMut(u64),
) -> Result<Summary> {
    let target = files::resolved(output);
    check_output(&target)?;
    let _claim = Claim::new(&target)?;
    files::remove_abandoned(&target);
    let failed = |source| Error::io(output, "write", source);
    let temporary = files::TemporaryFolder::new(&target).map_err(failed)?;
    let mut writer = Writer { output, folder: temporary.path(), files: Vec::new() };

    let (judged, validation) = judge(config, market);
    let held_out: HashSet<String> = judged.iter().chain(&validation).map(|judged| judged.query.clone()).collect();
    let model = ClickModel::new(config.position_bias, config.click_noise);
    let days = Days { config, market, model: &model, held_out: &held_out };
    let mut summary = write_log(&mut writer, &days, on_pairs)?;

    writer.file("titles.tsv", |file| {
        writeln!(file, "id\ttitle")?;
        market.titles().iter().try_for_each(|title| writeln!(file, "{}\t{}", title.id, title.title))
    })?;
    summary.titles = market.titles().len() as u64;
    // A table with nothing below its header would be an error for readers.
    if !validation.is_empty() {
        summary.validation = write_judged(&mut writer, "validation.tsv", market, validation.iter())?;
    }
    if !judged.is_empty() {
        summary.judged = write_judged(&mut writer, "judged.tsv", market, judged.iter())?;
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
        write_judged(&mut writer, &format!("judged-{}.tsv", kind.name()), market, same_kind)?;
    }
    let truth = Truth {
        format: FORMAT,
        kind: KIND,
        version: env!("CARGO_PKG_VERSION"),
        config,
        model: &model,
        summary: &summary,
        files: writer.files.clone(),
    };
    writer.file(TRUTH, |file| {
        serde_json::to_writer_pretty(&mut *file, &truth)?;
        writeln!(file)
    })?;
    // Much may have happened since the first check.
    check_output(&target)?;
    temporary.publish(&target).map_err(failed)?;
    Ok(summary)
}

/// Writes the clicks, and the log if requested, several days at once: one on each thread.
fn write_log<M: Market>(writer: &mut Writer<'_>, days: &Days<'_, M>, on_pairs: &mut dyn FnMut(u64)) -> Result<Summary> {
    let config = days.config;
    let mut clicks = writer.open("clicks.tsv")?;
    let mut log = if config.impressions { Some(writer.open("log.tsv")?) } else { None };
    writeln!(clicks, "query\ttitle\tcount").map_err(|source| writer.failed(source))?;
    if let Some(log) = &mut log {
        writeln!(log, "query\ttitle\tid\tposition\tclicked\tuser\tsession\ttime\tgrade")
            .map_err(|source| writer.failed(source))?;
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
            clicks.write_all(day.clicks.as_bytes()).map_err(|source| writer.failed(source))?;
            if let Some(log) = &mut log {
                log.write_all(day.log.as_bytes()).map_err(|source| writer.failed(source))?;
            }
            sum.pairs += day.summary.pairs;
            sum.clicks += day.summary.clicks;
            sum.relevant_clicks += day.summary.relevant_clicks;
            sum.impressions += day.summary.impressions;
            sum.misspelt += day.summary.misspelt;
            sum.days += 1;
            on_pairs(sum.pairs);
            check_enough(&sum, config.pairs)?;
        }
    }
    writer.close(clicks)?;
    log.map_or(Ok(()), |log| writer.close(log))?;
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
    Err(clickvec_tables::Error::expected(clickvec_tables::ErrorKind::Empty, expected, found).help(help))
}

/// Writes judged queries and returns their rows.
fn write_judged<'a, M: Market>(
    writer: &mut Writer<'_>,
    name: &str,
    market: &M,
    judged: impl Iterator<Item = &'a Judged<M::Intent>>,
) -> Result<u64>
where
    M::Intent: 'a,
{
    let mut rows = 0;
    writer.file(name, |file| {
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
