//! The sheet: what several systems find, each title once, in an order that says nothing.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec::internals::vector_file::texts_path;
use clickvec_tables::files;
use clickvec_tables::table::{Next, Record};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::queries::{self, PoolQuery};
use super::systems::Pool;
use super::{GRADE, HEADER, Row, open_table, page};
use crate::answer::Answer;
use crate::outputs::Kind;
use crate::systems::Source;
use crate::test_set::query_key;
use crate::{output, outputs};

/// Write a sheet of queries with the best titles of an index, found by words, by vectors and by both, and of other systems.
///
/// Each title appears once, in an order that does not reveal which system found it or at which rank. Fill in the column
/// `grade` with 0 to 4 (0 bad, 1 fair, 2 good, 3 excellent, 4 perfect), or open the page of --html and press the digits.
/// Leave out what you cannot judge.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The index of the titles, which `clickvec index` wrote.
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Other systems, as for `evaluate`: models, rankers and fusions in files; rankers such as `bm25`, which learn from the
    /// titles of the index; and TREC runs of other search engines over the same titles, whose query ids are the column
    /// query_id of --queries or, without that column, the numbers of the lines.
    #[arg(value_name = "SYSTEM")]
    systems: Vec<PathBuf>,

    /// The queries: lines of text, or a table with the column query, such as a click log.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Take this many of the queries, at random; queries with more clicks (column count) are more likely [default: all].
    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<u32>)]
    sample: Option<u32>,

    /// Leave out the queries of this file, for example of an earlier sheet. May be repeated.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    leave_out: Vec<PathBuf>,

    /// The titles that each system may put into the sheet for a query.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    depth: u32,

    /// Where to write the sheet: a table with the columns query, title_id, title and grade, which is empty.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Also write the sheet as one page to be filled in by keyboard; it saves the filled sheet.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Decides which queries --sample takes, and the order of titles.
const SEED: u64 = 1;

/// Searches, pools and writes.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let systems = args.systems.iter().map(|system| Source::new(system)).collect::<Result<Vec<_>>>()?;
    let files: Vec<PathBuf> =
        systems.iter().flat_map(Source::files).flat_map(|file| [texts_path(&file), file]).collect();
    let read = [&args.index, &args.queries].into_iter().chain(&args.leave_out).chain(&files);
    outputs::check([&args.output].into_iter().chain(&args.html), read)?;
    refuse_graded(&args.output)?;
    outputs::refuse_other(&args.output, Kind::Table(HEADER))?;
    args.html.as_deref().map_or(Ok(()), |page| outputs::refuse_other(page, Kind::Page))?;
    let mut queries = queries::read(&args.queries, args.sample.is_some())?;
    for path in &args.leave_out {
        let known: HashSet<String> = queries::read(path, false)?.iter().map(|query| query_key(&query.text)).collect();
        queries.retain(|query| !known.contains(&query_key(&query.text)));
    }
    ensure!(
        !queries.is_empty(),
        "{}: expected queries that no file of --leave-out has, found none",
        output::path(&args.queries)
    );
    let queries = queries::sampled(queries, args.sample, SEED);
    let mut pool = Pool::open(&args.index, &queries, args.depth as usize)?;
    pool.add_index()?;
    systems.iter().try_for_each(|system| pool.add(system))?;
    let rows = rows(&queries, &pool);
    ensure!(!rows.is_empty(), "expected titles to judge, found none: no system finds anything for these queries");
    write(args, &rows)?;
    let answered = pool.found.iter().filter(|titles| !titles.is_empty()).count();
    output::note(format_args!(
        "{}: written; {}, {}, which {} found {} times",
        output::path(&args.output),
        output::counted(answered as u64, "query"),
        output::counted(rows.len() as u64, "title"),
        output::counted(pool.systems, "system"),
        output::count(pool.hits)
    ));
    if answered < queries.len() {
        let nothing = output::counted((queries.len() - answered) as u64, "query");
        output::note(format_args!("{nothing} left out, for which no system finds a title"));
    }
    // A second sheet must not lead to the loss of the grades of the first.
    let judged = if Path::new("judged.tsv").exists() { "other-judged.tsv" } else { "judged.tsv" };
    match &args.html {
        Some(page) => output::note(format_args!(
            "next: open {}, grade and save, then `clickvec judge read {} --output {judged}` with the saved file",
            output::path(page),
            output::path(Path::new(&filled(&args.output)))
        )),
        None => output::note(format_args!(
            "next: fill in {sheet}, then `clickvec judge read {sheet} --output {judged}`",
            sheet = output::path(&args.output)
        )),
    }
    Ok(Answer::Done)
}

/// The name under which the page saves a filled sheet: `judged-sheet.tsv` for `sheet.tsv`.
fn filled(sheet: &Path) -> String {
    format!("judged-{}.tsv", sheet.file_stem().unwrap_or_default().to_string_lossy())
}

/// Refuses to replace a sheet with grades, in any form that `judge read` takes.
fn refuse_graded(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    // What is no table with this column is no sheet.
    let Ok(mut table) = open_table(path) else { return Ok(()) };
    let Ok(grade) = table.require(GRADE) else { return Ok(()) };
    let (mut record, mut graded) = (Record::default(), 0);
    loop {
        match table.next(&mut record)? {
            Next::End => break,
            Next::Row => graded += u64::from(record.get(grade).is_some_and(|grade| !grade.trim().is_empty())),
            Next::Header | Next::Broken(_) => {}
        }
    }
    ensure!(
        graded == 0,
        "{}: expected a new sheet, found one with {}, which would be lost; give --output another name, or move the sheet",
        output::path(path),
        output::counted(graded, "grade")
    );
    Ok(())
}

/// Returns the rows of the sheet: query by query, the titles of each in the order of a hash.
fn rows(queries: &[PoolQuery], pool: &Pool<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (query, found) in queries.iter().zip(&pool.found) {
        let row = |&position: &usize| {
            let title = &pool.titles[position];
            Row { query: query.text.clone(), id: title.id.clone(), title: title.title.clone() }
        };
        let mut titles: Vec<Row> = found.iter().map(row).collect();
        titles.sort_by_cached_key(|row| {
            (xxh3_64_with_seed(format!("{}\t{}", row.query, row.id).as_bytes(), SEED), row.id.clone())
        });
        rows.append(&mut titles);
    }
    rows
}

fn write(args: &Args, rows: &[Row]) -> Result<()> {
    files::write_atomically(&args.output, |out| {
        let failed = |source| Error::io(&args.output, "write", source);
        out.write_all(HEADER.as_bytes()).map_err(failed)?;
        for Row { query, id, title } in rows {
            writeln!(out, "{query}\t{id}\t{title}\t").map_err(failed)?;
        }
        Ok::<(), Error>(())
    })?;
    if let Some(html) = &args.html {
        files::write_bytes_atomically(html, page::page(rows, &filled(&args.output))?.as_bytes())?;
    }
    Ok(())
}
