//! What tables are, judged by their first lines and columns.

use std::fmt::Write as _;
use std::path::Path;

use clickvec_eval::{begins_document, read_queries};
use clickvec_logs::guess::{self, GuessedColumns, Header, Kind, first_line, has, role_name};
use clickvec_tables::shown::{count, counted, printable};
use clickvec_tables::{ErrorKind, Result};
use serde::Serialize;

use super::rows::{self, Rows};
use crate::Watcher;

/// The names of files that have other lines than queries.
const NOT_QUERIES: [&str; 14] =
    ["py", "rs", "js", "ts", "sh", "sql", "yaml", "yml", "toml", "ini", "md", "html", "css", "log"];
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

/// Finds out what kind of table or list of lines a file is, and what is wrong with it.
pub(super) fn look(path: &Path, watch: &dyn Watcher) -> Result<(Kind, Table)> {
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
        return unknown(None, "expected a table, found features for learning to rank, which an export writes");
    }
    if ["{\"index\":{", "{\"create\":{"].iter().any(|start| line.replace(' ', "").starts_with(start)) {
        return unknown(
            Some("json"),
            "expected one document a line, found a request of `_bulk`; take every second line (sed -n '2~2p')",
        );
    }
    // A log may be one document too.
    if begins_document(&line)
        && let Some(rows) = rows::document(path)?
    {
        return Ok((Kind::Judged, Table { format: Some("json"), rows, ..Table::default() }));
    }
    let is_called =
        |names: &[&str]| path.extension().is_some_and(|end| names.iter().any(|name| end.eq_ignore_ascii_case(name)));
    let kind = match guess::by_first_line(&line) {
        None | Some(Kind::Queries) if is_called(&["qrels", "qrel"]) => Some(Kind::Qrels),
        Some(Kind::Queries) if is_called(&["run", "trec"]) => Some(Kind::Run),
        None if line.starts_with('<') && read_queries(path).is_ok() => Some(Kind::Topics),
        kind => kind,
    };
    if let Some(kind) = kind {
        let rows = rows::lines(path, kind)?;
        // A few odd queries are queries all the same.
        if kind == Kind::Queries && (rows.faults * 5 > rows.rows || is_called(&NOT_QUERIES)) {
            return Ok((Kind::Unknown, Table::default()));
        }
        let rows = if kind == Kind::Queries { Rows { faults: 0, first_faults: Vec::new(), ..rows } } else { rows };
        return Ok((kind, Table { rows, ..Table::default() }));
    }
    let is_named_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    if is_named_tsv && !line.contains('\t') && line.contains([',', ';']) {
        return unknown(
            None,
            "expected tabs between columns, because of the file's name, found a header without any; separate them by tabs, or \
             name the file .csv if they are separated by commas",
        );
    }
    let Header { mut kind, format, is_named, names, columns } = match guess::table(path, &line) {
        Err(error) if error.kind() != ErrorKind::Io => return unknown(None, &error.message()),
        header => header?,
    };
    if !is_named {
        let mut unnamed =
            unknown(Some(format), "expected a header with the names of columns, found a row without one")?;
        unnamed.1.names = names;
        return Ok(unnamed);
    }
    // BEIR's queries have no title, and its corpus has.
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    if kind == Kind::Corpus && !has(&names, "title") && !stem.starts_with("corpus") {
        kind = Kind::Topics;
    }
    let mut rows = match kind {
        Kind::Unknown => Rows::default(),
        Kind::Clicks => rows::clicks(path, watch)?,
        Kind::Titles | Kind::Corpus => rows::titles(path, kind, &columns, watch)?,
        Kind::Judged => rows::judged(path, &columns, watch)?,
        Kind::Topics => rows::lines(path, kind)?,
        _ => rows::fields(path, kind, &columns, watch)?,
    };
    if kind == Kind::Sheet && rows.ungraded == 0 {
        kind = Kind::Judged;
    }
    if kind != Kind::Unknown && rows.rows == 0 && rows.faults == 0 {
        rows.add(1, "expected rows below the header, found none");
    }
    Ok((kind, Table { format: Some(format), columns, rows, names }))
}

impl Table {
    /// Returns what is not one table, with these rows.
    pub(super) fn with_rows(rows: Rows) -> Table {
        Table { rows, ..Table::default() }
    }

    /// Returns for people the columns, rows and faults of the table at `path`.
    pub(super) fn text(&self, kind: Kind, path: &str) -> String {
        let mut text = String::new();
        let Table { format, columns, rows, names } = self;
        if let Some(format) = format {
            let _ = write!(text, ", {format}");
        }
        if !names.is_empty() {
            let _ = write!(text, ", {}", counted(names.len() as u64, "column"));
        }
        if rows.rows > 0 {
            let more = if rows.has_more { " read, and more" } else { "" };
            let _ = write!(text, ", {}{more}", counted(rows.rows, "row"));
        }
        text.push('\n');
        let mut shown: Vec<(String, &str)> =
            columns.iter().map(|(role, name)| (role_name(role).to_owned(), name)).collect();
        let width = shown.iter().map(|(role, _)| role.len()).max().unwrap_or(0);
        if kind == Kind::Clicks {
            // What only `train` reads.
            let names = names.iter().map(|name| (name.trim().to_lowercase(), name.as_str()));
            shown.extend(names.filter(|(name, _)| ["weight", "rare"].contains(&name.as_str())));
        }
        for (role, name) in shown {
            let _ = writeln!(text, "  {role:<width$}  column `{}`", printable(name));
        }
        if kind == Kind::Unknown && !names.is_empty() && rows.faults == 0 {
            let names: Vec<_> = names.iter().take(20).map(|name| format!("`{}`", printable(name))).collect();
            let _ = writeln!(text, "  columns: {}", names.join(", "));
            let _ = writeln!(text, "  expected a column of queries with one of titles or items, or ids with titles");
        }
        if rows.faults > 0 {
            let _ = writeln!(text, "  {}:", counted(rows.faults, "fault"));
            for fault in &rows.first_faults {
                let _ = writeln!(text, "    {path}:{}: {}", fault.line, fault.fault);
            }
            let more = rows.faults - rows.first_faults.len() as u64;
            if more > 0 {
                let _ = writeln!(text, "    and {} more", count(more));
            }
        }
        text
    }
}
