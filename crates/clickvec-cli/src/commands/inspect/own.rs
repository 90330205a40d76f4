//! Tables of this program's own form, read by what reads them in other commands, so that all agree on every row.

use anyhow::Result;
use clickvec::Error;
use clickvec::internals::clicks::ClickReader;
use clickvec::internals::text::words;
use clickvec::tables::{TITLE, for_each_title};
use clickvec::train::Weighting;
use clickvec_eval::{TestSetFiles, read_test_set};
use clickvec_tables::ErrorKind;

use super::Found;
use super::table::{self, MOST_ROWS, SHOWN_FAULTS};
use crate::progress;

/// Whether a table has columns of all these names.
pub(super) fn has_columns(found: &Found, names: &[&str]) -> bool {
    names.iter().all(|name| found.names.iter().any(|of| of.trim().eq_ignore_ascii_case(name)))
}

/// Reads titles as `index` and `train` do.
pub(super) fn titles(found: &mut Found) -> Result<()> {
    let bar = progress::counter("reading", "rows");
    let read = for_each_title(&found.path, TITLE, |_| {
        bar.inc(1);
        Ok(())
    });
    bar.finish_and_clear();
    let read = match read {
        Err(error) => return told(found, error),
        Ok(read) => read,
    };
    found.rows = read.titles + read.skipped.count;
    found.faults = read.skipped.count;
    found.first = read.skipped.first.iter().map(|line| (line.line, line.reason.to_string())).collect();
    Ok(())
}

/// Reads judged titles as `evaluate` does, which stops at the first fault. Then faults of single fields are looked for in all
/// rows.
pub(super) fn judged(found: &mut Found) -> Result<()> {
    match read_test_set(&TestSetFiles { judged: &found.path, topics: None, titles: None, field: TITLE }) {
        Ok(set) => {
            let rows: usize = set.judgments.queries.iter().map(|query| query.titles.len()).sum();
            found.rows = rows as u64 + set.judgments.duplicates;
            Ok(())
        }
        Err(error) => {
            table::read(found)?;
            if found.faults == 0 { told(found, error) } else { Ok(()) }
        }
    }
}

/// Keeps what is wrong with a table as its only fault; other errors are errors here too.
fn told(found: &mut Found, error: Error) -> Result<()> {
    if !error.kind().is_of_contents() && error.kind() != ErrorKind::Empty {
        return Err(error.into());
    }
    found.faults = 1;
    found.first = vec![(error.line().unwrap_or(1), error.message())];
    Ok(())
}

/// Reads a click log as `train` does, so that the two agree.
pub(super) fn clicks(found: &mut Found) -> Result<()> {
    let mut reader = match ClickReader::open(&found.path, TITLE, Weighting::default()) {
        Ok(reader) => reader,
        Err(error) => return told(found, error),
    };
    let bar = progress::counter("reading", "rows");
    let mut wordless = Vec::new();
    let (mut clicks, mut without_words, mut weigh) = (0u64, 0, 0u64);
    loop {
        found.rows = clicks + reader.skipped().count + reader.not_clicked();
        if found.rows >= MOST_ROWS {
            found.has_more = reader.next()?.is_some();
            break;
        }
        let Some(click) = reader.next()? else { break };
        clicks += 1;
        if words(click.query).is_empty() || words(click.title).is_empty() {
            without_words += 1;
            if wordless.len() < SHOWN_FAULTS {
                wordless.push((
                    click.line,
                    "expected words in the query and in the title, found a side without any".to_owned(),
                ));
            }
        } else if click.weight > 0.0 {
            weigh += 1;
        }
        if clicks.is_multiple_of(1 << 14) {
            bar.set_position(clicks);
        }
    }
    bar.finish_and_clear();
    let skipped = reader.skipped();
    found.rows = clicks + skipped.count + reader.not_clicked();
    found.faults = skipped.count + without_words;
    found.first = skipped.first.iter().map(|line| (line.line, line.reason.to_string())).chain(wordless).collect();
    found.first.sort();
    found.first.truncate(SHOWN_FAULTS);
    if found.faults == 0 && found.rows > 0 && weigh == 0 && !found.has_more {
        found.faults = 1;
        found.first.push((1, "expected a click that weighs something, found none in all rows".to_owned()));
    }
    Ok(())
}
