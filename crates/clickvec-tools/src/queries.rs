//! The queries that are judged: searches drawn from lines of text, or from a table such as a click log.

use std::collections::HashMap;
use std::path::Path;

use clickvec_tables::shown::{is_in_memory, shortened};
use clickvec_tables::table::{Next, Options, Record, RowFault, Skipped, Table, Width, header, shown_names};
use clickvec_tables::{Error, ErrorKind, Result, files};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Watcher, inputs};

/// The column with the ids of queries in TREC runs.
const QUERY_ID: &str = "query_id";
/// The column with the number of clicks.
const COUNT: &str = "count";
/// The most clicks of a row, as for `prepare`.
const MAX_COUNT: f64 = 1e12;

/// At most so many different queries are judged, and so many searches drawn for that.
const MOST_QUERIES: usize = 300;
const MOST_SEARCHES: u64 = 3_000;
/// Decides which searches are drawn.
const SEED: u64 = 1;

/// A query that titles are found for.
#[derive(Debug)]
pub struct PoolQuery {
    /// Its text.
    pub text: String,
    /// Its clicks, or how often it is there.
    clicks: u64,
    /// Its id in runs: its first one in the column `query_id` of a table, or the number of its first line.
    pub id: Option<String>,
}

/// Reads the queries of a file in its order.
///
/// # Errors
///
/// Those of reading; there is none; the file is another table.
pub fn read(path: &Path, watch: &dyn Watcher) -> Result<Vec<PoolQuery>> {
    let mut queries = Queries::default();
    let options = Options { width: Width::Header, ..Options::default() };
    if is_in_memory(path) {
        read_table(Table::open(path, &options)?, &mut queries, watch)?;
        return queries.finish(path);
    }
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    match header(path, &first) {
        Some(found) if found.has("query") || found.names.is_empty() => {
            read_table(Table::reopen(path, reader, &options)?, &mut queries, watch)?;
        }
        Some(found) if !found.is_ambiguous => {
            let expected = "queries, one a line, or a table with the column query";
            let found = format!("a table with {}", shown_names(&found.names));
            let error = Error::expected(ErrorKind::Malformed, expected, found);
            return Err(error.help("rename its column of queries").at(path));
        }
        _ => {
            for (number, line) in (1u64..).zip(inputs::Lines::read(reader, path)) {
                let line = line?;
                if line.trim().contains('\t') {
                    // Not shown, since people may have typed it.
                    let error = Error::expected(ErrorKind::Malformed, "a query", "a tab in it");
                    return Err(error.help("a table needs a header with the column query").at_line(path, number));
                }
                queries.add(&line, 1, Some(number.to_string()));
            }
        }
    }
    queries.finish(path)
}

/// The queries of a table's rows.
fn read_table(mut table: Table, queries: &mut Queries, watch: &dyn Watcher) -> Result<()> {
    let query = table.require("query")?;
    let count = table.column(COUNT)?;
    let id = table.column(QUERY_ID)?;
    let mut record = Record::default();
    let (mut rows, mut skipped) = (0u64, Skipped::default());
    loop {
        let fault = match table.next(&mut record)? {
            Next::End => break,
            Next::Header => RowFault::repeated_header(),
            Next::Broken(fault) => fault,
            Next::Row => match count.and_then(|count| record.get(count)).map_or(Ok(1), clicks) {
                Ok(count) => {
                    rows += 1;
                    let id = id.and_then(|id| record.get(id)).map(|id| id.trim().to_owned());
                    queries.add(record.get(query).unwrap_or_default(), count, id);
                    continue;
                }
                Err(fault) => fault,
            },
        };
        skipped.add(record.line, fault);
    }
    inputs::note_skipped(table.path(), &skipped, watch);
    inputs::refuse_mostly_broken(table.path(), "queries", rows, skipped.count)
}

/// The number of clicks in a field, or what is wrong with it. An empty one says nothing, so the row counts once.
fn clicks(field: &str) -> Result<u64, RowFault> {
    if field.trim().is_empty() {
        return Ok(1);
    }
    match field.trim().parse::<f64>() {
        Ok(number) if (0.0..=MAX_COUNT).contains(&number) && number.fract() == 0.0 => Ok(number as u64),
        _ => Err(RowFault::expected(
            "count",
            format!("a whole number from 0 to 1,000,000,000,000 in column `{COUNT}`"),
            format!("`{}`", shortened(field)),
        )),
    }
}

/// The queries so far, each once.
#[derive(Default)]
struct Queries {
    all: Vec<PoolQuery>,
    positions: HashMap<String, usize>,
}

impl Queries {
    fn add(&mut self, query: &str, clicks: u64, id: Option<String>) {
        let text = query.trim().replace(['\t', '\n', '\r'], " ");
        if text.is_empty() {
            return;
        }
        let position = *self.positions.entry(text).or_insert_with_key(|text| {
            self.all.push(PoolQuery { text: text.clone(), clicks: 0, id });
            self.all.len() - 1
        });
        let query = &mut self.all[position];
        query.clicks = query.clicks.saturating_add(clicks);
    }

    /// Returns the queries of the file `path`, of which there must be some.
    fn finish(self, path: &Path) -> Result<Vec<PoolQuery>> {
        if self.all.is_empty() {
            return Err(Error::expected(ErrorKind::Empty, "queries", "none").at(path));
        }
        Ok(self.all)
    }
}

/// Searches drawn at random.
pub struct Drawn {
    /// The queries, in the order in which they were first drawn.
    pub queries: Vec<PoolQuery>,
    /// The position of each search's query.
    pub searches: Vec<usize>,
}

/// Draws searches, each independently, until they have 300 different queries, or all. A query with more clicks is
/// drawn more often, as it is typed more often. What is drawn depends on nothing but the queries and their clicks.
pub fn drawn(queries: Vec<PoolQuery>) -> Drawn {
    let mut sum = 0u64;
    let ends: Vec<u64> = queries
        .iter()
        .map(|query| {
            sum = sum.saturating_add(query.clicks.max(1));
            sum
        })
        .collect();
    let wanted = queries.len().min(MOST_QUERIES);
    let mut queries: Vec<Option<PoolQuery>> = queries.into_iter().map(Some).collect();
    let mut drawn = Drawn { queries: Vec::new(), searches: Vec::new() };
    let mut positions = HashMap::new();
    for number in 0..MOST_SEARCHES {
        if drawn.queries.len() == wanted {
            break;
        }
        let hash = xxh3_64_with_seed(&number.to_le_bytes(), SEED);
        let click = ((u128::from(hash) * u128::from(sum)) >> 64) as u64;
        let at = ends.partition_point(|&end| end <= click);
        if let Some(query) = queries[at].take() {
            positions.insert(at, drawn.queries.len());
            drawn.queries.push(query);
        }
        drawn.searches.push(positions[&at]);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(clicks: &[u64]) -> Vec<PoolQuery> {
        clicks.iter().map(|&clicks| PoolQuery { text: clicks.to_string(), clicks, id: None }).collect()
    }

    #[test]
    fn each_search_is_a_click_drawn_at_random() {
        let clicks: Vec<u64> = (1..=1000).collect();
        let Drawn { queries: some, searches } = drawn(queries(&clicks));
        assert_eq!(some.len(), MOST_QUERIES);
        let mean = searches.iter().map(|&query| some[query].clicks as f64).sum::<f64>() / searches.len() as f64;
        // Σ n² / Σ n of 1 to 1000 is 667, and of so many draws the standard error is 13.
        assert!((627.0..707.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_few_queries_are_all_drawn() {
        let Drawn { queries: all, searches } = drawn(queries(&[1, 1, 2, 3]));
        let (last, before) = searches.split_last().unwrap();
        assert!(all.len() == 4 && *last == 3 && !before.contains(last), "{searches:?}");
        let frequent = drawn(queries(&[1_000_000_000_000, 1]));
        assert_eq!((frequent.queries.len(), frequent.searches.len()), (1, MOST_SEARCHES as usize));
    }
}
