//! The sheet: what several systems find, each title once, in an order that says nothing.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec::eval::{self, CorpusFiles, Judgments};
use clickvec::internals::files;
use clickvec::ranker::{self, Ranker, RankerSpec, Resources, System};
use clickvec::search;
use clickvec::tables::{TITLE, Title};
use clickvec_logs::columns::{self, Role};
use clickvec_logs::table::{Next, Options, Record, Table};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Row, page};
use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::{input, output, progress};

/// The queries that are asked at once.
const BATCH_QUERIES: usize = 64;

/// Write a sheet of queries with the best titles of all systems.
///
/// Each title is there once, in an order that does not say which system found it, nor where. Fill in the column `grade`
/// with 0 to 4 (0 bad, 1 fair, 2 good, 3 excellent, 4 perfect), or open the page of --html and press the digits; leave out
/// what you cannot judge.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The queries: lines of text, or a table with the column query, and count if --sample is to prefer frequent ones, such
    /// as a click log.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Take so many of the queries: drawn by chance, those with more clicks more often [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,

    /// The titles that are searched: a table with the columns id and title, CSV, JSON lines, or a BEIR corpus.
    #[arg(long, value_name = "FILE")]
    titles: PathBuf,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// A ranker that searches, such as `bm25` or `trigram`; see `evaluate --rankers`. May be repeated.
    #[arg(long, value_name = "RANKER")]
    ranker: Vec<String>,

    /// A model of `train`, or a ranker or fusion of `evaluate --save-rankers`. May be repeated.
    #[arg(long, value_name = "MODEL")]
    model: Vec<PathBuf>,

    /// A click log, for rankers that learn from clicks.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// The titles that each system may put into the sheet for a query.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    depth: u32,

    /// Decides what --sample draws and the order of titles.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Where to write the sheet: a table with the columns query, title_id, title and grade, which is empty.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Also write the sheet as one page to be filled in by keyboard; it saves the filled sheet.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Searches, pools and writes.
pub(super) fn run(args: &Args) -> Result<Answer> {
    ensure!(
        args.ranker.len() + args.model.len() > 0,
        "expected a system that finds titles, found none; add `--ranker bm25` or `--model MODEL`"
    );
    let read = [&args.queries, &args.titles].into_iter().chain(&args.model).chain(&args.clicks);
    for output in [&args.output].into_iter().chain(&args.html) {
        input::refuse_overwriting(output, read.clone())?;
    }
    input::check_outputs([&args.output].into_iter().chain(&args.html))?;
    let queries = sampled(queries(args)?, args);
    let table = args.title_columns.table(&args.titles, TITLE)?;
    let titles = input::titles(table.path(), TITLE)?;
    let mut pool: Vec<HashSet<usize>> = vec![HashSet::new(); queries.len()];
    let (mut systems, mut found) = (Vec::new(), 0);
    for (name, ranker) in rankers(args, table.path())? {
        found += search(&name, ranker.as_ref(), &queries, &titles, args.depth as usize, &mut pool)?;
        systems.push(name);
    }
    let rows = rows(&queries, &titles, &pool, args.seed);
    ensure!(!rows.is_empty(), "expected titles to judge, found none: no system finds anything for these queries");
    write(args, &rows)?;
    let asked = pool.iter().filter(|titles| !titles.is_empty()).count();
    output::note(format_args!(
        "{}: written; {}, {}, which {} found {} times",
        output::path(&args.output),
        output::counted(asked as u64, "query"),
        output::counted(rows.len() as u64, "title"),
        output::counted(systems.len() as u64, "system"),
        output::count(found as u64)
    ));
    if asked < queries.len() {
        let nothing = output::counted((queries.len() - asked) as u64, "query");
        output::note(format_args!("{nothing} left out, for which no system finds a title"));
    }
    let filled = args.html.as_ref().unwrap_or(&args.output);
    output::note(format_args!(
        "next: fill in {}, then `clickvec judge read SHEET --output judged.tsv`",
        output::path(filled)
    ));
    Ok(Answer::Done)
}

/// The queries with the number of their clicks, each once, in the order of the file.
fn queries(args: &Args) -> Result<Vec<(String, u64)>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<(String, u64)> = Vec::new();
    let mut add = |query: &str, clicks: u64| {
        let query = query.trim().replace(['\t', '\n', '\r'], " ");
        if query.is_empty() {
            return;
        }
        let place = *places.entry(query.clone()).or_insert_with(|| {
            all.push((query, 0));
            all.len() - 1
        });
        all[place].1 = all[place].1.saturating_add(clicks);
    };
    if is_table(args)? {
        let mut options = Options::default();
        columns::ALL.into_iter().for_each(|role| options.columns.leave_out(role));
        options.columns.name(Role::Query, "query");
        let has_count = Table::open(&args.queries, &options)?.names().iter().any(|name| name == "count");
        if has_count {
            options.columns.name(Role::Count, "count");
        }
        let mut table = Table::open(&args.queries, &options)?;
        let mut record = Record::default();
        loop {
            match table.next(&mut record)? {
                Next::End => break,
                Next::Row => {
                    let count = record.get(Role::Count).and_then(|count| count.trim().parse().ok());
                    add(record.get(Role::Query).unwrap_or_default(), count.unwrap_or(1));
                }
                _ => {}
            }
        }
    } else {
        let mut lines = input::Lines::open(&args.queries)?;
        let mut batch = Vec::new();
        loop {
            lines.next_batch(1024, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            batch.iter().for_each(|line| add(line, 1));
        }
    }
    ensure!(!all.is_empty(), "{}: expected queries, found none", output::path(&args.queries));
    Ok(all)
}

/// Whether the queries are in a table: its header has a column called query.
fn is_table(args: &Args) -> Result<bool> {
    if !args.queries.is_file() {
        return Ok(false);
    }
    let name = args.queries.to_string_lossy().to_lowercase();
    let mut first = Vec::new();
    let failed = |source| Error::io(&args.queries, "read", source);
    files::open(&args.queries)?.take(1 << 16).read_until(b'\n', &mut first).map_err(failed)?;
    let first = String::from_utf8_lossy(&first);
    let names = first.trim_start_matches('\u{feff}').trim();
    let has_query =
        names.split(['\t', ',', ';']).any(|name| name.trim().trim_matches('"').eq_ignore_ascii_case("query"));
    Ok(names.starts_with('{')
        || (has_query && (names.contains(['\t', ',', ';']) || name.contains(".tsv") || name.contains(".csv"))))
}

/// Those of the queries that are judged, in the order of the file. What is drawn depends on nothing but the queries, their
/// clicks and the seed.
fn sampled(queries: Vec<(String, u64)>, args: &Args) -> Vec<String> {
    let wanted = args.sample.map_or(queries.len(), |sample| sample as usize);
    // Efraimidis and Spirakis 2006: the largest u^(1/w) are a sample with weights w, without replacement.
    let key = |(query, clicks): &(String, u64)| {
        let hash = xxh3_64_with_seed(query.as_bytes(), args.seed) >> 11;
        let uniform = (hash as f64 + 0.5) / (1u64 << 53) as f64;
        uniform.ln() / (*clicks).max(1) as f64
    };
    let mut order: Vec<usize> = (0..queries.len()).collect();
    order.sort_by(|&a, &b| key(&queries[b]).total_cmp(&key(&queries[a])).then(a.cmp(&b)));
    order.truncate(wanted);
    order.sort_unstable();
    order.into_iter().map(|place| queries[place].0.clone()).collect()
}

/// All systems, ready to search, with their names.
fn rankers(args: &Args, titles: &Path) -> Result<Vec<(String, Box<dyn Ranker>)>> {
    let mut rankers: Vec<(String, Box<dyn Ranker>)> = Vec::new();
    if !args.ranker.is_empty() {
        let files = CorpusFiles { titles: Some(titles), clicks: args.clicks.as_deref(), field: TITLE };
        let nothing_judged: [&Judgments; 0] = [];
        let corpus = eval::read_corpus(&files, &nothing_judged)?.corpus;
        let resources = Resources { corpus: &corpus, contiguous: None, load: None, vectors: None };
        for text in &args.ranker {
            let spec: RankerSpec = text.parse().map_err(Error::from)?;
            let system = System::named(&spec.name).map_err(Error::from)?;
            let values = system.values(&spec).map_err(Error::from)?;
            let bar = progress::bar(1, &output::printable(text), "steps");
            let ranker = system.train(&values, &resources, &mut |progress| {
                bar.set_length(progress.of);
                bar.set_position(progress.done);
            })?;
            bar.finish_and_clear();
            rankers.push((spec.to_string(), ranker));
        }
    }
    for path in &args.model {
        rankers.push((path.display().to_string(), ranker::load(path)?));
    }
    Ok(rankers)
}

/// Adds what a system finds. Returns how many titles it found.
fn search(
    name: &str,
    ranker: &dyn Ranker,
    queries: &[String],
    titles: &[Title],
    depth: usize,
    pool: &mut [HashSet<usize>],
) -> Result<usize> {
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let candidates = ranker.candidates(&texts)?;
    let bar = progress::bar(queries.len() as u64, &format!("{}: searching", output::printable(name)), "queries");
    let mut found = 0;
    for (queries, pool) in queries.chunks(BATCH_QUERIES).zip(pool.chunks_mut(BATCH_QUERIES)) {
        for (answer, pool) in search::answers(candidates.as_ref(), titles, queries, depth)?.iter().zip(pool) {
            found += answer.results().len();
            pool.extend(answer.results().iter().map(|title| title.position as usize));
        }
        bar.inc(queries.len() as u64);
    }
    bar.finish_and_clear();
    Ok(found)
}

/// The rows of the sheet: query by query, the titles of each in the order of a hash.
fn rows(queries: &[String], titles: &[Title], pool: &[HashSet<usize>], seed: u64) -> Vec<Row> {
    let of_query = |(query, pool): (&String, &HashSet<usize>)| -> Vec<Row> {
        let mut rows: Vec<Row> = pool
            .iter()
            .map(|&place| Row {
                query: query.clone(),
                id: titles[place].id.clone(),
                title: titles[place].title.clone(),
            })
            .collect();
        rows.sort_by_cached_key(|row| {
            (xxh3_64_with_seed(format!("{query}\t{}", row.id).as_bytes(), seed), row.id.clone())
        });
        rows
    };
    queries.iter().zip(pool).flat_map(of_query).collect()
}

fn write(args: &Args, rows: &[Row]) -> Result<()> {
    files::write_atomically(&args.output, |out| {
        let failed = |source| Error::io(&args.output, "write", source);
        out.write_all(b"query\ttitle_id\ttitle\tgrade\n").map_err(failed)?;
        for Row { query, id, title } in rows {
            writeln!(out, "{query}\t{id}\t{title}\t").map_err(failed)?;
        }
        Ok(())
    })?;
    if let Some(html) = &args.html {
        files::write_bytes_atomically(html, page::page(rows)?.as_bytes())?;
    }
    Ok(())
}
