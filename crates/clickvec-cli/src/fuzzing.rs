//! What the program reads from outside and the library does not, for fuzz targets.

use std::path::Path;

use crate::console;
use clickvec_tools::inputs::Lines;

/// As many lines as `search` takes at once.
const LINES: usize = 256;

/// Reads a table's spec and makes a plan of it.
///
/// # Errors
///
/// What the program would say.
pub fn spec(path: &Path) -> Result<(), String> {
    let plan = clickvec_lab::table::spec::read(path).and_then(|spec| spec.plan());
    plan.map(drop).map_err(|error| console::reason(&error.into()))
}

/// Reads queries that an index must answer.
///
/// # Errors
///
/// What the program would say.
#[cfg(feature = "serve")]
pub fn canaries(path: &Path) -> Result<usize, String> {
    crate::commands::canaries(path).map(|canaries| canaries.len()).map_err(|error| console::reason(&error))
}

/// Reads a sheet of judged titles, and returns the number of its rows.
///
/// # Errors
///
/// What the program would say.
#[cfg(feature = "serve")]
pub fn sheet(path: &Path) -> Result<usize, String> {
    let sheet = clickvec_serve::Sheet::open(path).map_err(|error| console::reason(&error.into()))?;
    Ok(sheet.rows().len())
}

/// Reads texts, one a line, and returns their number and that of the lines that were none.
///
/// # Errors
///
/// What the program would say.
pub fn texts(path: &Path) -> Result<(usize, usize), String> {
    let told = |error: clickvec_tables::Error| console::reason(&error.into());
    let mut lines = Lines::open(path).map_err(told)?;
    let (mut batch, mut texts, mut bad) = (Vec::new(), 0, 0);
    loop {
        match lines.next_batch(LINES, &mut batch) {
            Ok(()) if batch.is_empty() => return Ok((texts, bad)),
            Ok(()) => texts += batch.len(),
            // There may be more lines after it.
            Err(error) if error.kind() == clickvec_tables::ErrorKind::Malformed => bad += 1,
            Err(error) => return Err(told(error)),
        }
    }
}
