//! What tables are, judged by their first lines and columns, and what is wrong with their rows.

use std::path::Path;

use anyhow::Result;
use clickvec_eval::MAX_GRADE;
use clickvec_logs::columns::{self as log_columns, Role};
use clickvec_logs::tables::{LogTable, Next, Options, Record};
use clickvec_logs::time::Time;
use clickvec_logs::value_fault;
use clickvec_tables::ErrorKind;
use clickvec_tables::files;
use clickvec_tables::table::is_parquet;

use super::columns::{self, Meaning};
use super::kind::{self, InputKind};
use super::{Found, own};
use crate::test_set::BEST_OF_SHEET;
use crate::{output, progress};

/// The rows that are read of each file.
pub(super) const MOST_ROWS: u64 = 1_000_000;
/// The faults that are shown of each file.
pub(super) const SHOWN_FAULTS: usize = 5;
/// The columns of the sheets of `judge pool`.
const SHEET: [&str; 4] = ["query", "title_id", "title", "grade"];

/// Whether a file has the columns of judged titles, among them `grade`, and none that only logs have.
pub(crate) fn looks_judged(path: &Path) -> bool {
    kind_of_header(path).is_some_and(|(kind, names)| {
        let logged = ["grade", "count", "clicks", "weight", "clicked"];
        let has = |wanted: &str| names.iter().any(|name| name.trim().eq_ignore_ascii_case(wanted));
        kind == InputKind::Judged && has(logged[0]) && !logged[1..].iter().any(|name| has(name))
    })
}

/// Whether a file has the marks of rare queries that `prepare --private` writes.
pub(crate) fn has_rare(path: &Path) -> bool {
    let is_rare = |names: Vec<String>| names.iter().any(|name| name.trim().eq_ignore_ascii_case("rare"));
    kind_of_header(path).is_some_and(|(kind, names)| kind == InputKind::Clicks && is_rare(names))
}

/// Whether a file has the columns of a raw log, such as users and times.
pub(crate) fn looks_raw(path: &Path) -> bool {
    // What has no tabs is refused anyway, with advice of its own.
    path.is_file()
        && first_line(path).is_ok_and(|line| line.contains('\t'))
        && kind_of_header(path).is_some_and(|(kind, _)| kind == InputKind::Log)
}

/// What a table seems to be by its header alone, and the names of its columns. A pipe is left alone: it cannot be read twice.
fn kind_of_header(path: &Path) -> Option<(InputKind, Vec<String>)> {
    let line = path.is_file().then(|| first_line(path).ok())??;
    let table = LogTable::open(path, &Options::default()).ok()?;
    let names = table.names().to_vec();
    let kind = kind::of_columns(&names, &columns::guess(&names), line.contains('\t'));
    log_columns::is_header(&names).then_some((kind, names))
}

/// Finds out what kind of table or list of lines a file is, and what is wrong with it.
pub(super) fn look(found: &mut Found) -> Result<()> {
    let path = &found.path.clone();
    let line = first_line(path)?;
    if let Some(kind) =
        Some(&line[..]).filter(|line| !line.contains(char::REPLACEMENT_CHARACTER)).and_then(kind::of_fields)
    {
        found.kind = kind;
        return Ok(());
    }
    if is_query(&line) {
        found.kind = InputKind::Queries;
        return Ok(());
    }
    let format = match line.chars().next() {
        Some('{') => "json",
        _ if is_parquet(line.as_bytes()) => "parquet",
        _ if line.contains('\t') => "tsv",
        _ => "csv",
    };
    let table = match LogTable::open(path, &Options::default()) {
        Ok(table) => table,
        Err(error) if error.kind() != ErrorKind::Io => {
            found.faults = 1;
            found.first.push((1, error.message()));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    found.names = table.names().to_vec();
    let is_named_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    if is_named_tsv && !line.contains('\t') && line.contains([',', ';']) {
        found.faults = 1;
        let fault = "expected tabs between columns, because of the file's name, found a header without any; separate them by tabs, or \
                     name the file .csv if they are separated by commas";
        found.first.push((1, fault.to_owned()));
        return Ok(());
    }
    found.format = Some(format);
    if format != "json" && !log_columns::is_header(&found.names) {
        found.faults = 1;
        found.first.push((1, "expected a header with the names of columns, found a row without one".to_owned()));
        return Ok(());
    }
    found.meanings = columns::guess(&found.names);
    found.kind = kind::of_columns(&found.names, &found.meanings, format == "tsv");
    if found.names == SHEET {
        found.kind = InputKind::Sheet;
    }
    if !matches!(found.kind, InputKind::Unknown | InputKind::Corpus) {
        match found.kind {
            InputKind::Clicks => own::clicks(found)?,
            InputKind::Titles if format == "tsv" && own::has_columns(found, &["id", "title"]) => own::titles(found)?,
            InputKind::Judged if format == "tsv" => own::judged(found)?,
            InputKind::Judged => {
                found.faults = 1;
                let fault = format!(
                    "expected tabs between the columns of judged titles, found {format}; write them as a .tsv file"
                );
                found.first.push((1, fault));
            }
            _ => read(found)?,
        }
        if found.rows == 0 && found.faults == 0 {
            found.faults = 1;
            found.first.push((1, "expected rows below the header, found none".to_owned()));
        }
    }
    Ok(())
}

/// Whether a first line is a query rather than a row: words, and nothing between columns.
fn is_query(line: &str) -> bool {
    let is_plain = !line.contains(['\t', ',', ';', '|', '{', '<', char::REPLACEMENT_CHARACTER])
        && !line.chars().any(char::is_control);
    is_plain && !log_columns::is_header(&[line.to_owned()]) && line.chars().any(char::is_alphabetic)
}

/// The first line that is not blank, unpacked and without blanks around it. Bytes that are not UTF-8 are U+FFFD.
fn first_line(path: &Path) -> Result<String> {
    Ok(files::first_line(files::open(path)?, path)?.0.trim().to_owned())
}

/// Where a field goes while rows are read; grades take the place of keys.
fn role(meaning: Meaning) -> Role {
    match meaning {
        Meaning::Query => Role::Query,
        Meaning::Title => Role::Title,
        Meaning::Item => Role::Item,
        Meaning::Grade => Role::Key,
        Meaning::Clicked => Role::Clicked,
        Meaning::Count => Role::Count,
        Meaning::Position => Role::Position,
        Meaning::Time => Role::Time,
        Meaning::User => Role::User,
        Meaning::Session => Role::Session,
    }
}

/// Reads the rows, and counts what is wrong with them.
pub(super) fn read(found: &mut Found) -> Result<()> {
    let mut options = Options::default();
    log_columns::ALL.into_iter().for_each(|role| options.columns.leave_out(role));
    for (meaning, name) in &found.meanings {
        options.columns.name(role(*meaning), name.as_str());
    }
    let mut table = LogTable::open(&found.path, &options)?;
    let bar = progress::counter("reading", "rows");
    let mut record = Record::default();
    // Rows of a preset's log are of several kinds, and each has some of the fields: only `prepare` knows which.
    let meanings = if let InputKind::Preset(_) = found.kind { Vec::new() } else { found.meanings.clone() };
    let mut ungraded = 0u64;
    loop {
        let fault = match table.next(&mut record)? {
            Next::End => break,
            _ if found.rows == MOST_ROWS => {
                found.has_more = true;
                break;
            }
            Next::Header | Next::Other => continue,
            Next::Broken(fault) => Some(fault.to_string()),
            Next::Row => {
                let field = |meaning| record.get(role(meaning));
                ungraded += u64::from(field(Meaning::Grade).is_none_or(|grade| grade.trim().is_empty()));
                meanings.iter().find_map(|(meaning, name)| fault_of(found.kind, *meaning, name, field(*meaning)))
            }
        };
        found.rows += 1;
        if found.rows.is_multiple_of(1 << 14) {
            bar.set_position(found.rows);
        }
        if let Some(fault) = fault {
            found.faults += 1;
            if found.first.len() < SHOWN_FAULTS {
                found.first.push((record.line, fault));
            }
        }
    }
    bar.finish_and_clear();
    if found.kind == InputKind::Sheet && ungraded == 0 {
        found.kind = InputKind::Judged;
    }
    Ok(())
}

/// What is wrong with a field. Nothing that somebody typed is repeated.
fn fault_of(kind: InputKind, meaning: Meaning, column: &str, field: Option<&str>) -> Option<String> {
    let text = field.unwrap_or_default().trim();
    let column = output::printable(column);
    let expected = |what: &str| Some(format!("expected {what} in column `{column}`, found {}", shown(text)));
    match meaning {
        Meaning::Query | Meaning::Item if text.is_empty() => expected("a text"),
        Meaning::Title if text.is_empty() && kind != InputKind::Log => expected("a text"),
        Meaning::Grade if kind == InputKind::Sheet && text.is_empty() => None,
        Meaning::Grade => {
            let most = if kind == InputKind::Sheet { BEST_OF_SHEET } else { MAX_GRADE };
            let is_grade = |grade: f64| (0.0..=f64::from(most)).contains(&grade) && grade.fract() == 0.0;
            if text.parse().is_ok_and(is_grade) { None } else { expected(&format!("a grade from 0 to {most}")) }
        }
        // As `prepare` reads them.
        Meaning::Count | Meaning::Clicked | Meaning::Time if kind == InputKind::Log => {
            value_fault(role(meaning), &column, field.unwrap_or_default()).map(|fault| fault.to_string())
        }
        Meaning::Count if text.parse::<u64>().is_err() => expected("a whole number"),
        Meaning::Time if !text.is_empty() && Time::parse(text).is_none() => expected("a time"),
        _ => None,
    }
}

/// A short number itself; of any other text only its length.
fn shown(text: &str) -> String {
    match text.chars().count() {
        0 => "nothing".to_owned(),
        1..=8 if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) => format!("`{text}`"),
        length => format!("other text ({length} characters)"),
    }
}

/// Shows a table to people: its columns, rows and faults.
pub(super) fn text(found: &Found) -> String {
    let path = output::path(&found.path);
    let mut text = String::new();
    if let Some(format) = found.format {
        let columns = output::counted(found.names.len() as u64, "column");
        text.push_str(&format!(", {format}, {columns}"));
    }
    if found.rows > 0 {
        let more = if found.has_more { " read, and more" } else { "" };
        text.push_str(&format!(", {}{more}", output::counted(found.rows, "row")));
    }
    text.push('\n');
    let width = found.meanings.iter().map(|(meaning, _)| meaning.name().len()).max().unwrap_or(0);
    for (meaning, name) in &found.meanings {
        text.push_str(&format!("  {:<width$}  column `{}`\n", meaning.name(), output::printable(name)));
    }
    // What only `train` reads.
    let of_clicks = |name: &&String| ["weight", "rare"].iter().any(|known| name.trim().eq_ignore_ascii_case(known));
    for name in found.names.iter().filter(|_| found.kind == InputKind::Clicks).filter(of_clicks) {
        text.push_str(&format!("  {:<width$}  column `{}`\n", name.trim().to_lowercase(), output::printable(name)));
    }
    if found.kind == InputKind::Unknown && !found.names.is_empty() && found.faults == 0 {
        let names: Vec<_> = found.names.iter().take(20).map(|name| format!("`{}`", output::printable(name))).collect();
        text.push_str(&format!("  columns: {}\n", names.join(", ")));
        text.push_str("  expected a column of queries with one of titles or items, or ids with titles\n");
    }
    if found.faults > 0 {
        text.push_str(&format!("  {}:\n", output::counted(found.faults, "fault")));
        for (line, fault) in &found.first {
            text.push_str(&format!("    {path}:{line}: {fault}\n"));
        }
        if found.faults > found.first.len() as u64 {
            text.push_str(&format!("    and {} more\n", output::count(found.faults - found.first.len() as u64)));
        }
    }
    text
}
