//! The estimate of a build's time from the sizes of its inputs.

use std::path::PathBuf;

use clickvec_tables::Result;
use clickvec_transformer::Transformer;

use crate::Build;
use crate::sample::Sample;
use crate::size::Size;

/// The pairs that a member of 96 cells learns in a second on one core.
const PAIRS_PER_SECOND: f64 = 4_500.0;
/// The titles that it encodes.
const TITLES_PER_SECOND: f64 = 25_000.0;
/// The bytes of a transformer's file times the texts that it encodes in a second: a larger one takes longer.
const TRANSFORMER_BYTES_PER_SECOND: f64 = 9e9;
/// The texts that are encoded for each row of a log, whose queries are shorter than titles.
const TEXTS_PER_ROW: f64 = 0.3;
/// The rows of a log that are counted in a second.
const ROWS_PER_SECOND: f64 = 500_000.0;
/// The bytes of a row besides its texts.
const OTHER_BYTES: u64 = 8;

/// Returns the number of rows of the logs, estimated from their sizes where not all were read.
pub(crate) fn rows(logs: &[PathBuf], sample: &Sample) -> u64 {
    if sample.is_all {
        return sample.rows;
    }
    let bytes: u64 = logs.iter().filter_map(|log| log.metadata().ok()).map(|metadata| metadata.len()).sum();
    let row = sample.bytes / sample.rows.max(1) + OTHER_BYTES;
    (bytes / row).max(sample.rows)
}

/// Returns the seconds that a build takes with these numbers of titles and rows.
///
/// # Errors
///
/// Settings that cannot act.
pub(crate) fn seconds(build: &Build<'_>, titles: u64, rows: u64) -> Result<f64> {
    let size = Size { titles, pairs: rows, queries: 0 };
    let config = build.config(size)?;
    let (titles, rows) = (titles as f64, rows as f64);
    let members = match &config.encoder {
        clickvec::encoder::EncoderConfig::Members(members) => members.members as f64,
        _ => 1.0,
    };
    let title_epochs = config.titles.map_or(0, |titles| titles.epochs);
    let click_epochs = if rows > 0.0 { config.epochs } else { 0 };
    let trainings = if build.fast { 1.0 } else { 2.0 };
    let pairs = titles * f64::from(title_epochs) + rows * f64::from(click_epochs) * trainings;
    let encoded = titles * (f64::from(title_epochs + click_epochs) * f64::from(u8::from(rows > 0.0)) + 2.0);
    let threads = rayon::current_num_threads() as f64;
    let files = build.teachers.iter().filter(|path| path.is_dir()).flat_map(|path| Transformer::files_in(path));
    let bytes: u64 = files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum();
    let taught = (titles + TEXTS_PER_ROW * rows) * bytes as f64 / TRANSFORMER_BYTES_PER_SECOND;
    let per_core = taught + members * (pairs / PAIRS_PER_SECOND + encoded / TITLES_PER_SECOND);
    Ok(per_core / threads + rows / ROWS_PER_SECOND + 2.0)
}
