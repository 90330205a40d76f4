//! The queries of a sheet: lines of text, or a table such as a click log, each once; and a sample of them.

use std::collections::HashMap;

use std::path::Path;

use anyhow::{Result, bail, ensure};

use clickvec_tables::files;
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{Next, Record, RowFault, Skipped, is_header};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::open_table;
use crate::{input, output};

/// The column with the ids of queries in TREC runs.
const QUERY_ID: &str = "query_id";
/// The column with the number of clicks.
const COUNT: &str = "count";
/// The most clicks of a row, as for `prepare`.
const MAX_COUNT: f64 = 1e12;

/// A query that titles are found for.
#[derive(Debug)]
pub(super) struct PoolQuery {
    pub(super) text: String,
    /// Its clicks, or how often it is there.
    clicks: u64,
    /// Its ids in runs: the column `query_id` of a table, or the numbers of its lines.
    pub(super) ids: Vec<String>,
}

/// The queries of a file in its order. Counts are read only if they are to be used: `with_counts`.
pub(super) fn read(path: &Path, with_counts: bool) -> Result<Vec<PoolQuery>> {
    let mut queries = Queries::default();
    if is_table(path)? {
        read_table(path, with_counts, &mut queries)?;
    } else {
        for (number, line) in (1u64..).zip(input::Lines::open(path)?) {
            let line = line?;
            if number == 1
                && let Some(names) = header(&line)
            {
                let names: Vec<_> = names.iter().map(|name| format!("`{}`", output::printable(name))).collect();
                bail!(
                    "{}: expected queries, one a line, or a table with the column query, found a table with {}; rename its \
                     column of queries",
                    output::input(path),
                    names.join(", ")
                );
            }
            queries.add(&line, 1, Some(number.to_string()));
        }
    }
    ensure!(!queries.all.is_empty(), "{}: expected queries, found none", output::input(path));
    Ok(queries.all)
}

/// The queries of a table's rows.
fn read_table(path: &Path, with_counts: bool, queries: &mut Queries) -> Result<()> {
    let mut table = open_table(path)?;
    let query = table.require("query")?;
    let count = if with_counts { table.column(COUNT)? } else { None };
    let id = table.column(QUERY_ID)?;
    let mut record = Record::default();
    let (mut rows, mut skipped) = (0u64, Skipped::default());
    loop {
        let fault = match table.next(&mut record)? {
            Next::End => break,
            Next::Header => continue,
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
    input::note_skipped(path, &skipped);
    input::refuse_mostly_broken(path, "queries", rows, skipped.count)
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
            self.all.push(PoolQuery { text: text.clone(), clicks: 0, ids: Vec::new() });
            self.all.len() - 1
        });
        let query = &mut self.all[position];
        query.clicks = query.clicks.saturating_add(clicks);
        query.ids.extend(id);
    }
}

/// The columns of a table that begins with this line; `None` if the line is a query.
fn header(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.split('\t').map(|name| name.trim().to_owned()).collect();
    (names.len() > 1 && is_header(&names)).then_some(names)
}

/// Whether the queries are in a table: its header has a column called query.
fn is_table(path: &Path) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let name = path.to_string_lossy().to_lowercase();
    let first = files::first_line(files::open(path)?, path)?.0;
    let names = first.trim();
    let has_query =
        names.split(['\t', ',', ';']).any(|name| name.trim().trim_matches('"').eq_ignore_ascii_case("query"));
    Ok(names.starts_with('{')
        || (has_query && (names.contains(['\t', ',', ';']) || name.contains(".tsv") || name.contains(".csv"))))
}

/// Those of the queries that are judged, in the order of the file. What is drawn depends on nothing but the queries, their
/// clicks and the seed.
pub(super) fn sampled(queries: Vec<PoolQuery>, sample: Option<u32>, seed: u64) -> Vec<PoolQuery> {
    // Efraimidis and Spirakis 2006: the largest u^(1/w) are a sample with weights w, without replacement.
    let key = |query: &PoolQuery| {
        let hash = xxh3_64_with_seed(query.text.as_bytes(), seed) >> 11;
        let uniform = (hash as f64 + 0.5) / (1u64 << 53) as f64;
        uniform.ln() / query.clicks.max(1) as f64
    };
    let mut order: Vec<(usize, PoolQuery)> = queries.into_iter().enumerate().collect();
    order.sort_by(|(a, first), (b, second)| key(second).total_cmp(&key(first)).then(a.cmp(b)));
    order.truncate(sample.map_or(order.len(), |sample| sample as usize));
    order.sort_unstable_by_key(|&(position, _)| position);
    order.into_iter().map(|(_, query)| query).collect()
}
