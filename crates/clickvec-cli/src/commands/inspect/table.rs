//! What tables are, judged by their first lines and columns.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use clickvec_logs::columns::{Role, is_header};
use clickvec_logs::guess::{self, GuessedColumns, Kind, first_line, has, role_name};
use clickvec_logs::tables::{LogTable, Options};
use clickvec_tables::ErrorKind;
use clickvec_tables::table::is_parquet;
use serde::Serialize;

use super::rows::{self, Rows};
use crate::output;

/// The columns of the sheets of `judge`.
const SHEET: [&str; 4] = ["query", "title_id", "title", "grade"];

/// How a pointer of Git LFS begins.
const LFS_POINTER: &str = "version https://git-lfs.github.com/";

/// What is in a table.
#[derive(Default, Serialize)]
pub(super) struct Table {
    /// What it is written as, such as `csv`.
    pub(super) format: Option<&'static str>,
    pub(super) columns: GuessedColumns,
    #[serde(flatten)]
    pub(super) rows: Rows,
    /// The names of all columns.
    #[serde(skip)]
    names: Vec<String>,
}

/// Returns whether a file has the marks of rare queries that `prepare --private` writes.
pub(crate) fn has_rare(path: &Path) -> bool {
    guess::header(path).is_some_and(|guess::Header { kind, names, .. }| kind == Kind::Clicks && has(&names, "rare"))
}

/// Returns whether a file has the columns of a raw log, such as users and times.
pub(crate) fn looks_raw(path: &Path) -> bool {
    // What has no tabs is refused anyway, with advice of its own.
    path.is_file()
        && first_line(path).is_ok_and(|line| line.contains('\t'))
        && guess::header(path).is_some_and(|header| header.kind == Kind::Log)
}

/// Finds out what kind of table or list of lines a file is, and what is wrong with it.
pub(super) fn look(path: &Path) -> Result<(Kind, Table)> {
    let line = first_line(path)?;
    let unknown = |format, fault: &str| {
        let rows = Rows::with_fault(1, fault);
        Ok((Kind::Unknown, Table { format, rows, ..Table::default() }))
    };
    if line.starts_with(LFS_POINTER) {
        return unknown(None, "expected the file itself, found a pointer of Git LFS to it; fetch it (git lfs pull)");
    }
    let mut fields = line.split_ascii_whitespace();
    if fields.next().is_some_and(|label| label.parse::<f64>().is_ok())
        && fields.next().is_some_and(|id| id.starts_with("qid:"))
    {
        return unknown(
            None,
            "expected a table, found features for learning to rank, which `export --to svmrank` writes",
        );
    }
    let is_named =
        |names: &[&str]| path.extension().is_some_and(|end| names.iter().any(|name| end.eq_ignore_ascii_case(name)));
    let kind = match guess::by_first_line(&line) {
        None | Some(Kind::Queries) if is_named(&["qrels", "qrel"]) => Some(Kind::Qrels),
        Some(Kind::Queries) if is_named(&["run", "trec"]) => Some(Kind::Run),
        kind => kind,
    };
    if let Some(kind) = kind {
        let rows = rows::trec(path, kind)?;
        return Ok((kind, Table { rows, ..Table::default() }));
    }
    let format = match line.chars().next() {
        Some('{') => "json",
        _ if is_parquet(line.as_bytes()) => "parquet",
        _ if line.contains('\t') => "tsv",
        _ => "csv",
    };
    let (names, paths) = match LogTable::open(path, &Options::default()) {
        Ok(table) => (table.names().to_vec(), table.paths()),
        Err(error) if error.kind() != ErrorKind::Io => return unknown(None, &error.message()),
        Err(error) => return Err(error.into()),
    };
    let is_named_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    if is_named_tsv && !line.contains('\t') && line.contains([',', ';']) {
        return unknown(
            None,
            "expected tabs between columns, because of the file's name, found a header without any; separate them by tabs, or \
             name the file .csv if they are separated by commas",
        );
    }
    if format != "json" && !is_header(&names) {
        let mut unnamed =
            unknown(Some(format), "expected a header with the names of columns, found a row without one")?;
        unnamed.1.names = names;
        return Ok(unnamed);
    }
    let columns = GuessedColumns::guess(&paths);
    let mut kind = guess::by_columns(&documents(&names, &paths), &columns, format == "tsv");
    if names == SHEET {
        kind = Kind::Sheet;
    }
    let mut rows = match kind {
        Kind::Unknown | Kind::Corpus => Rows::default(),
        Kind::Clicks => rows::clicks(path)?,
        Kind::Titles => rows::titles(path, &columns)?,
        Kind::Judged if columns.name(Role::Title).is_some() => rows::judged(path, &columns)?,
        _ => rows::fields(path, kind, &columns)?,
    };
    if kind == Kind::Sheet && rows.ungraded == 0 {
        kind = Kind::Judged;
    }
    if !matches!(kind, Kind::Unknown | Kind::Corpus) && rows.rows == 0 && rows.faults == 0 {
        rows.add(1, "expected rows below the header, found none");
    }
    Ok((kind, Table { format: Some(format), columns, rows, names }))
}

/// Returns the names of the columns of documents that a dump has in `_source`, and those of any other table.
fn documents(names: &[String], paths: &[String]) -> Vec<String> {
    let in_source = paths.iter().filter_map(|path| path.strip_prefix("_source.")).filter(|path| !path.contains('.'));
    names.iter().cloned().chain(in_source.map(str::to_owned)).collect()
}

impl Table {
    /// Returns what is not one table, with these rows.
    pub(super) fn with_rows(rows: Rows) -> Table {
        Table { rows, ..Table::default() }
    }

    /// Shows the columns, rows and faults of the table at `path`.
    pub(super) fn write(&self, kind: Kind, path: impl Display, out: &mut impl Write) -> io::Result<()> {
        let Table { format, columns, rows, names } = self;
        if let Some(format) = format {
            write!(out, ", {format}, {}", output::counted(names.len() as u64, "column"))?;
        }
        if rows.rows > 0 {
            let more = if rows.has_more { " read, and more" } else { "" };
            write!(out, ", {}{more}", output::counted(rows.rows, "row"))?;
        }
        writeln!(out)?;
        let mut shown: Vec<(String, &str)> =
            columns.iter().map(|(role, name)| (role_name(role).to_owned(), name)).collect();
        let width = shown.iter().map(|(role, _)| role.len()).max().unwrap_or(0);
        if kind == Kind::Clicks {
            // What only `train` reads.
            let names = names.iter().map(|name| (name.trim().to_lowercase(), name.as_str()));
            shown.extend(names.filter(|(name, _)| ["weight", "rare"].contains(&name.as_str())));
        }
        for (role, name) in shown {
            writeln!(out, "  {role:<width$}  column `{}`", output::printable(name))?;
        }
        if kind == Kind::Unknown && !names.is_empty() && rows.faults == 0 {
            let names: Vec<_> = names.iter().take(20).map(|name| format!("`{}`", output::printable(name))).collect();
            writeln!(out, "  columns: {}", names.join(", "))?;
            writeln!(out, "  expected a column of queries with one of titles or items, or ids with titles")?;
        }
        if rows.faults > 0 {
            writeln!(out, "  {}:", output::counted(rows.faults, "fault"))?;
            for fault in &rows.first_faults {
                writeln!(out, "    {path}:{}: {}", fault.line, fault.fault)?;
            }
            let more = rows.faults - rows.first_faults.len() as u64;
            if more > 0 {
                writeln!(out, "    and {} more", output::count(more))?;
            }
        }
        Ok(())
    }
}
