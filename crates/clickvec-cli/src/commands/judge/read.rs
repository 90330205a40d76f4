//! Filled sheets: judged titles, and how far their judges agree.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec_eval::{Disagreement, kappa};
use clickvec_tables::files;
use clickvec_tables::table::{Next, Record};
use serde::Serialize;

use super::{GRADE, HEADER, Row, open_table};
use crate::answer::Answer;
use crate::outputs::Kind;
use crate::test_set::BEST_OF_SHEET;
use crate::{input, output, outputs};

/// Turn filled sheets into judged titles for `evaluate --judged`.
///
/// Rows without a grade are left out. Give the sheets of several judges together: where they grade the same titles, Cohen's
/// κ says how far they agree, and a title gets the mean of its grades, rounded; halves are rounded down.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The filled sheets, as TSV, or as CSV from a spreadsheet.
    #[arg(value_name = "SHEET", required = true)]
    sheets: Vec<PathBuf>,

    /// Where to write the judged titles: a table with the columns query, title_id, title and grade.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The grades of one sheet.
struct Sheet {
    grades: HashMap<(String, String), u8>,
    rows: Vec<Row>,
    without_grade: u64,
}

/// How two judges agree.
#[derive(Serialize)]
struct Agreement {
    sheets: [String; 2],
    titles: usize,
    same: usize,
    kappa: Option<f64>,
    weighted_kappa: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    output: String,
    queries: usize,
    titles: usize,
    without_grade: u64,
    /// The queries of which no title has a grade.
    queries_without_grade: usize,
    grades: BTreeMap<u8, usize>,
    agreement: Vec<Agreement>,
}

/// Reads, compares and writes.
pub(super) fn run(args: &Args) -> Result<Answer> {
    outputs::check([&args.output], &args.sheets)?;
    outputs::refuse_other(&args.output, Kind::Table(HEADER))?;
    input::refuse_repeated(&args.sheets, "judge's sheet")?;
    let sheets = args.sheets.iter().map(|path| read(path)).collect::<Result<Vec<Sheet>>>()?;
    let mut grades_of_titles: HashMap<(&str, &str), Vec<u8>> = HashMap::new();
    let mut order: Vec<&Row> = Vec::new();
    for row in sheets.iter().flat_map(|sheet| &sheet.rows) {
        if grades_of_titles.contains_key(&(row.query.as_str(), row.id.as_str())) {
            continue;
        }
        let key = (row.query.clone(), row.id.clone());
        let grades: Vec<u8> = sheets.iter().filter_map(|sheet| sheet.grades.get(&key)).copied().collect();
        if !grades.is_empty() {
            grades_of_titles.insert((&row.query, &row.id), grades);
            order.push(row);
        }
    }
    ensure!(
        !order.is_empty(),
        "expected grades from 0 to {BEST_OF_SHEET} in the column `grade`, found none; fill in the sheet first"
    );
    let mut counts = BTreeMap::new();
    files::write_atomically(&args.output, |out| {
        let failed = |source| Error::io(&args.output, "write", source);
        out.write_all(HEADER.as_bytes()).map_err(failed)?;
        for Row { query, id, title } in &order {
            let grade = mean(&grades_of_titles[&(query.as_str(), id.as_str())]);
            *counts.entry(grade).or_default() += 1;
            writeln!(out, "{query}\t{id}\t{title}\t{grade}").map_err(failed)?;
        }
        Ok::<(), Error>(())
    })?;
    let mut queries: Vec<&str> = order.iter().map(|row| row.query.as_str()).collect();
    queries.sort_unstable();
    queries.dedup();
    let mut all_queries: Vec<&str> =
        sheets.iter().flat_map(|sheet| &sheet.rows).map(|row| row.query.as_str()).collect();
    all_queries.sort_unstable();
    all_queries.dedup();
    let report = Report {
        output: args.output.to_string_lossy().into_owned(),
        queries: queries.len(),
        titles: order.len(),
        without_grade: sheets.iter().map(|sheet| sheet.without_grade).sum(),
        queries_without_grade: all_queries.len() - queries.len(),
        grades: counts,
        agreement: agreement(&args.sheets, &sheets),
    };
    if args.json {
        output::json_lines([&report])?;
    } else {
        say(args, &report);
    }
    Ok(Answer::Done)
}

/// The number of rows of a sheet.
#[cfg(fuzzing)]
pub(crate) fn rows(path: &Path) -> Result<usize> {
    read(path).map(|sheet| sheet.rows.len())
}

/// Reads one sheet. An invalid grade is an error: judging again costs more than mending a cell.
fn read(path: &Path) -> Result<Sheet> {
    let mut table = open_table(path)?;
    let [query, id, title, grade] = ["query", "title_id", "title", GRADE].map(|name| table.require(name));
    let [query, id, title, grade] = [query?, id?, title?, grade?];
    let mut sheet = Sheet { grades: HashMap::new(), rows: Vec::new(), without_grade: 0 };
    let mut record = Record::default();
    // Where each title was graded first.
    let mut lines: HashMap<(String, String), u64> = HashMap::new();
    loop {
        let line = |line: u64| format!("{}:{line}", output::path(path));
        match table.next(&mut record)? {
            Next::End => break,
            Next::Header => {}
            Next::Broken(fault) => anyhow::bail!("{}: {fault}", line(record.line)),
            Next::Row => {
                let field = |column| record.get(column).unwrap_or_default().trim().replace(['\t', '\n', '\r'], " ");
                let row = Row { query: field(query), id: field(id), title: field(title) };
                ensure!(
                    !row.query.is_empty() && !row.id.is_empty(),
                    "{}: expected a query and a title_id, found nothing",
                    line(record.line)
                );
                match field(grade).as_str() {
                    "" => sheet.without_grade += 1,
                    text => {
                        let grade = text
                            .strip_suffix(".0")
                            .unwrap_or(text)
                            .parse::<u8>()
                            .ok()
                            .filter(|&grade| grade <= BEST_OF_SHEET);
                        let Some(grade) = grade else {
                            anyhow::bail!(
                                "{}: expected a grade from 0 to {BEST_OF_SHEET} or nothing, found `{}`",
                                line(record.line),
                                output::printable(text)
                            );
                        };
                        let key = (row.query.clone(), row.id.clone());
                        if let Some(first) = sheet.grades.insert(key.clone(), grade).filter(|first| *first != grade) {
                            anyhow::bail!(
                                "{}: expected grade {first} as in line {} for title `{}` of query `{}`, found {grade}; keep one",
                                line(record.line),
                                lines[&key],
                                output::printable(&row.id),
                                output::printable(&row.query)
                            );
                        }
                        lines.entry(key).or_insert(record.line);
                    }
                }
                sheet.rows.push(row);
            }
        }
    }
    Ok(sheet)
}

/// The mean of grades, rounded, a half towards the lower grade.
fn mean(grades: &[u8]) -> u8 {
    let sum: u32 = grades.iter().map(|&grade| u32::from(grade)).sum();
    let n = grades.len() as u32;
    // ⌈sum / n − ½⌉
    ((2 * sum + n - 1) / (2 * n)) as u8
}

/// The agreement of each two sheets that grade the same titles.
fn agreement(paths: &[PathBuf], sheets: &[Sheet]) -> Vec<Agreement> {
    let mut all = Vec::new();
    for (first, a) in sheets.iter().enumerate() {
        for (second, b) in sheets.iter().enumerate().skip(first + 1) {
            let both: Vec<(u8, u8)> =
                a.grades.iter().filter_map(|(key, &grade)| Some((grade, *b.grades.get(key)?))).collect();
            if both.is_empty() {
                continue;
            }
            all.push(Agreement {
                sheets: [first, second].map(|sheet| paths[sheet].to_string_lossy().into_owned()),
                titles: both.len(),
                same: both.iter().filter(|(a, b)| a == b).count(),
                kappa: kappa(&both, Disagreement::Any),
                weighted_kappa: kappa(&both, Disagreement::Squared),
            });
        }
    }
    all
}

fn say(args: &Args, report: &Report) {
    output::note(format_args!(
        "{}: written; {}, {}",
        output::path(&args.output),
        output::counted(report.queries as u64, "query"),
        output::counted(report.titles as u64, "judged title")
    ));
    let grades: Vec<String> =
        report.grades.iter().map(|(grade, count)| format!("{grade}: {}", output::count(*count as u64))).collect();
    output::note(format_args!("titles of each grade: {}", grades.join(", ")));
    if report.without_grade > 0 {
        let queries = match report.queries_without_grade as u64 {
            0 => String::new(),
            queries => format!(", all those of {}", output::counted(queries, "query")),
        };
        output::note(format_args!(
            "left out {} without a grade{queries}",
            output::counted(report.without_grade, "row")
        ));
    }
    for Agreement { sheets, titles, same, kappa, weighted_kappa } in &report.agreement {
        let [a, b] = [0, 1].map(|sheet| output::printable(&sheets[sheet]));
        let of = |kappa: &Option<f64>| kappa.map_or("not defined".to_owned(), |kappa| format!("{kappa:.2}"));
        output::note(format_args!(
            "{a} and {b}: the same grade for {} of {} that both judged; κ {}, with squared weights {}",
            output::count(*same as u64),
            output::counted(*titles as u64, "title"),
            of(kappa),
            of(weighted_kappa)
        ));
    }
    output::note(format_args!(
        "next: clickvec evaluate bm25 MODEL --full --judged {} --titles TITLES",
        output::path(&args.output)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_goes_to_the_lower_grade() {
        let means = [&[3][..], &[3, 4], &[0, 4], &[1, 1, 2], &[1, 2, 2], &[4, 4, 4, 3]].map(mean);
        assert_eq!(means, [3, 3, 2, 1, 2, 4]);
    }
}
