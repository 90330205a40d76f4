//! Tables of titles in any form that `prepare` reads: CSV, JSON lines, Parquet, with columns of any name.
//!
//! The library reads tab-separated tables with the columns `id` and `title`, and BEIR's. Any other form is copied into such
//! a table first, in a file without a name, which vanishes with the process.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::Error;
use clickvec::internals::files;
use clickvec::internals::tables::is_parquet;
use clickvec::tables::{TITLE, Title, titles_file};
use clickvec_logs::columns::{self, Role};
use clickvec_logs::error::TableFault;
use clickvec_logs::tables::{LogTable, Next, Options, Record};
use tempfile::TempPath;

use crate::stored::refuse_repeated;
use crate::{input, output};

/// The broken rows that are shown.
const SHOWN_ROWS: usize = 5;
/// The name of the column of ids that the library reads.
const ID: &str = "id";
/// The bytes of the first line that say which form a file has.
const FIRST_BYTES: usize = 1 << 16;
/// The roles that the columns of texts take in turn: what a log would have in them does not matter here. More columns are read
/// by another reader of the same file.
const TEXTS: [Role; 9] = [
    Role::Title,
    Role::Query,
    Role::Position,
    Role::Session,
    Role::Key,
    Role::Clicked,
    Role::Count,
    Role::Time,
    Role::User,
];

/// The names of columns in tables of titles.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TitleColumns {
    /// The column of --titles with the ids [default: id]. Files in CSV, JSON lines and Parquet (in a program
    /// built with it) are recognised; to read these forms from a pipe, give this option or --title-column.
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// The column of --titles with the texts [default: title, or what --field says].
    #[arg(long, value_name = "NAME")]
    title_column: Option<String>,
}

/// A table of titles that the library can read.
pub(crate) struct ReadableTitles {
    path: PathBuf,
    /// The copy, which stays until nobody reads it any more.
    _copy: Option<(File, Option<TempPath>)>,
}

impl ReadableTitles {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The option `--title-column` of a command without `--field`.
pub(crate) fn without_field(option: clap::Arg) -> clap::Arg {
    option.help("The column of --titles with the texts [default: title]")
}

impl TitleColumns {
    /// The column with the texts that a model encodes: the one that was given, or the one whose texts it learnt from.
    pub(crate) fn field_for(&self, given: Option<&str>, learnt: &str) -> String {
        match (given, &self.title_column) {
            (Some(given), _) => given.to_owned(),
            (None, Some(_)) => TITLE.to_owned(),
            (None, None) => {
                if learnt != TITLE {
                    output::note(format_args!(
                        "texts come from the column `{}`, which the model learnt from; --field names another",
                        output::printable(learnt)
                    ));
                }
                learnt.to_owned()
            }
        }
    }

    /// Refuses a second name for the texts, where only titles are read: `--field` names a column of all tables, and
    /// `--title-column` the one of `--titles` where they call it otherwise.
    pub(crate) fn refuse_field(&self, field: Option<&str>) -> Result<()> {
        if let (Some(field), Some(column)) = (field, &self.title_column) {
            bail!(
                "expected one name for the column with the texts, found `--field {}` and `--title-column {}`; leave one of the two out",
                output::printable(field),
                output::printable(column)
            );
        }
        Ok(())
    }

    /// The option that names a column, if one was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [("--id-column", &self.id_column), ("--title-column", &self.title_column)];
        given.into_iter().find_map(|(flag, name)| name.is_some().then_some(flag))
    }

    /// Refuses names of columns if there are no `titles` that could have them.
    pub(crate) fn need(&self, titles: bool) -> Result<()> {
        match self.given() {
            Some(flag) if !titles => bail!(
                "expected `--titles FILE` with `{flag}`, which names one of its columns, found none; add it, or leave `{flag}` out"
            ),
            _ => Ok(()),
        }
    }

    /// A table with the columns `id` and `field`: the file itself, or a copy in this form.
    pub(crate) fn table(&self, path: &Path, field: &str) -> Result<ReadableTitles> {
        self.table_with(path, field, &[])
    }

    /// [`TitleColumns::table`] with the columns `stored` too.
    pub(crate) fn table_with(&self, path: &Path, field: &str, stored: &[String]) -> Result<ReadableTitles> {
        if let (Some(flag), Some(corpus)) = (self.given(), corpus_of(path)) {
            bail!(
                "{}: expected a file of titles with `{flag}`, found a BEIR collection; give its `{corpus}` and `--id-column _id`, or \
                 leave `{flag}` out",
                output::path(path)
            );
        }
        ensure!(
            !field.eq_ignore_ascii_case(ID),
            "{}: expected a column of texts, found `--field {}`, under which ids are read; leave it out, or name another",
            output::path(path),
            output::printable(field)
        );
        if path.is_dir() || !(self.given().is_some() || is_foreign(path)?) {
            return Ok(ReadableTitles { path: path.to_owned(), _copy: None });
        }
        let (file, copy, temporary) = target()?;
        let mut out = BufWriter::new(file);
        self.copy(path, field, stored, &mut out)?;
        output::name_copy(&copy, path);
        let file = out.into_inner().map_err(|error| Error::io(&copy, "write", error.into_error()))?;
        Ok(ReadableTitles { path: copy, _copy: Some((file, temporary)) })
    }

    /// [`TitleColumns::table`] of each file, and their paths.
    pub(crate) fn tables(&self, paths: &[PathBuf], field: &str) -> Result<(Vec<ReadableTitles>, Vec<PathBuf>)> {
        let tables = paths.iter().map(|path| self.table(path, field)).collect::<Result<Vec<_>>>()?;
        let paths = tables.iter().map(|table| table.path.clone()).collect();
        Ok((tables, paths))
    }

    /// All titles of a file.
    pub(crate) fn titles(&self, path: &Path, field: &str) -> Result<Vec<Title>> {
        input::titles(self.table(path, field)?.path(), field)
    }

    fn copy(&self, path: &Path, field: &str, stored: &[String], out: &mut impl Write) -> Result<()> {
        let text = self.title_column.as_deref().unwrap_or(field);
        refuse_repeated(path, text)?;
        let id = self.id_column.as_deref().unwrap_or(ID);
        // The copy has each name once: a column to store may be that of the ids or of the texts.
        let mut others: Vec<&str> = stored.iter().map(String::as_str).collect();
        for (name, read) in [(ID, id), (field, text)] {
            let all = others.len();
            others.retain(|other| !other.eq_ignore_ascii_case(name));
            ensure!(
                others.len() == all || name == read,
                "{}: expected no column `{}` to store, because `{}` is read under this name; rename the first in the table",
                output::path(path),
                output::printable(name),
                output::printable(read)
            );
        }
        let texts: Vec<&str> = text.split('+').map(str::trim).collect();
        let all: Vec<&str> = texts.iter().copied().chain(others.iter().copied()).collect();
        ensure!(
            all.len() <= TEXTS.len() || path.is_file(),
            "expected at most {} columns to search and to store in what is read through a pipe, found {}; write it to a file first",
            TEXTS.len(),
            all.len()
        );
        let mut table = Wide::open(path, id, &all).map_err(|error| self.told(error, stored))?;
        let written = |result: std::io::Result<()>| result.map_err(|source| Error::io(path, "copy", source));
        let names = [&[ID, field], &others[..]].concat().join("\t");
        written(writeln!(out, "{names}"))?;
        let mut lines: HashMap<Box<str>, u64> = HashMap::new();
        let (mut broken, mut not_utf8, mut shown) = (0u64, 0, Vec::new());
        loop {
            let next = table.next().map_err(|error| self.told(error, stored))?;
            let line = table.line();
            let fault = match next {
                Next::End => break,
                Next::Header | Next::Other => continue,
                Next::Broken(fault) => {
                    not_utf8 += u64::from(fault.is_not_utf8());
                    fault.to_string()
                }
                Next::Row => match table.id().trim() {
                    "" => "expected an id, found nothing".to_owned(),
                    id if id.contains(['\t', '\n', '\r']) => "expected an id in one line without tabs".to_owned(),
                    id => {
                        if let Some(first) = lines.insert(id.into(), line) {
                            let path = output::path(path);
                            bail!(
                                "{path}:{line}: expected a new id, found `{}`, which line {first} has already; ids must be unique",
                                output::printable(id)
                            );
                        }
                        let text: Vec<String> = (0..texts.len())
                            .filter_map(|column| table.text(column))
                            .filter(|text| !text.trim().is_empty())
                            .map(|text| text.replace(['\t', '\n', '\r'], " "))
                            .collect();
                        let mut row = format!("{id}\t{}", text.join(" "));
                        for column in texts.len()..all.len() {
                            row.push('\t');
                            row.push_str(&table.text(column).unwrap_or_default().replace(['\t', '\n', '\r'], " "));
                        }
                        written(writeln!(out, "{row}"))?;
                        continue;
                    }
                },
            };
            broken += 1;
            if shown.len() < SHOWN_ROWS {
                shown.push(format!("  {}:{line}: {fault}", output::path(path)));
            }
        }
        self.say(path, lines.len() as u64, broken, &shown)?;
        input::warn_of_bytes(path, not_utf8);
        Ok(())
    }

    /// Reports rows that were left out; too many, or no titles, are an error.
    fn say(&self, path: &Path, titles: u64, broken: u64, shown: &[String]) -> Result<()> {
        input::note_broken_rows(path, broken, shown);
        ensure!(titles > 0, "{}: expected titles, found none; see docs/reference/tables.md", output::path(path));
        input::refuse_mostly_broken(path, "titles", titles, broken)
    }

    /// An error, and the option that names a missing column.
    fn told(&self, error: clickvec_logs::Error, stored: &[String]) -> anyhow::Error {
        let option = match &error {
            clickvec_logs::Error::Table { fault: TableFault::MissingColumn { column, .. }, .. }
                if stored.contains(column) =>
            {
                "; name the columns to store with `--store`"
            }
            clickvec_logs::Error::Table { fault: TableFault::MissingColumn { role: Role::Item, .. }, .. } => {
                "; name the column of ids with `--id-column`"
            }
            clickvec_logs::Error::Table { fault: TableFault::MissingColumn { .. }, .. } => {
                "; name the column of texts with `--title-column`"
            }
            _ => return error.into(),
        };
        anyhow::anyhow!("{error}{option}")
    }
}

/// The columns of texts in a file, however many there are: for each few of them a reader of its own, all at the same row.
struct Wide {
    readers: Vec<(LogTable, Record)>,
}

impl Wide {
    /// Opens a file with a column of ids and these of texts.
    fn open(path: &Path, id: &str, texts: &[&str]) -> Result<Wide, clickvec_logs::Error> {
        let reader = |texts: &[&str]| -> Result<_, clickvec_logs::Error> {
            let mut options = Options::default();
            columns::ALL.into_iter().for_each(|role| options.columns.leave_out(role));
            options.columns.name(Role::Item, id);
            for (&role, name) in TEXTS.iter().zip(texts) {
                options.columns.name(role, *name);
            }
            Ok((LogTable::open(path, &options)?, Record::default()))
        };
        Ok(Wide { readers: texts.chunks(TEXTS.len()).map(reader).collect::<Result<_, _>>()? })
    }

    /// Reads the next row. What is broken is so for all readers, since that depends on the row's bytes alone.
    fn next(&mut self) -> Result<Next, clickvec_logs::Error> {
        let mut last = Next::End;
        for (table, record) in &mut self.readers {
            last = table.next(record)?;
        }
        Ok(last)
    }

    /// The line of the row.
    fn line(&self) -> u64 {
        self.readers[0].1.line
    }

    /// The id of the row.
    fn id(&self) -> &str {
        self.readers[0].1.get(Role::Item).unwrap_or_default()
    }

    /// The text in a column, counted from 0.
    fn text(&self, column: usize) -> Option<&str> {
        self.readers[column / TEXTS.len()].1.get(TEXTS[column % TEXTS.len()])
    }
}

/// Whether the library cannot read a file but this module can. Pipes are left alone: they cannot be read twice.
fn is_foreign(path: &Path) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut reader = files::open(path)?;
    let mut first = Vec::new();
    while first.len() < FIRST_BYTES && !first.trim_ascii_start().contains(&b'\n') {
        let bytes = reader.fill_buf().map_err(|source| Error::io(path, "read", source))?;
        if bytes.is_empty() {
            break;
        }
        first.extend_from_slice(bytes);
        let read = bytes.len();
        reader.consume(read);
    }
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first).trim_ascii_start();
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let has = |text: &[u8]| line.windows(text.len()).any(|part| part == text);
    Ok(match line.first() {
        _ if is_parquet(line) => true,
        Some(b'{') => !has(b"\"_id\""),
        _ => !has(b"\t") && (has(b",") || has(b";")),
    })
}

/// A file to copy into, without a name where the system lets one be opened again all the same.
fn target() -> Result<(File, PathBuf, Option<TempPath>)> {
    let failed = |source| Error::io(&std::env::temp_dir(), "write a temporary file (TMPDIR) to", source);
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let file = tempfile::tempfile().map_err(failed)?;
        // By the process's id, so that other processes can read it too.
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        if path.is_file() {
            return Ok((file, path, None));
        }
    }
    let (file, temporary) = tempfile::NamedTempFile::new().map_err(failed)?.into_parts();
    Ok((file, temporary.to_path_buf(), Some(temporary)))
}

/// The name of the file with the titles of a folder that is a BEIR collection.
fn corpus_of(folder: &Path) -> Option<String> {
    let file = titles_file(folder).ok().filter(|_| folder.is_dir())?;
    Some(file.file_name()?.to_string_lossy().into_owned())
}
