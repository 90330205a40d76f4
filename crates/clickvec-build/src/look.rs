//! The examination of the files: their kinds, their columns, and whether they fit together.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec::tables::{TITLE, Titles};
use clickvec_logs::columns::Role;
use clickvec_logs::guess::{self, GuessedColumns, Header, Kind, has};
use clickvec_logs::preset::Preset;
use clickvec_logs::tables::Options;
use clickvec_tables::shown::{listed, shown};
use clickvec_tables::titles::ID;
use clickvec_tables::{Error, ErrorKind, Result};

use crate::looked::{Join, LogFacts, Looked, TitleFacts};
use crate::sample::Sample;
use crate::vocabulary::Vocabulary;
use crate::{Build, estimate};

/// The most names of columns in a message.
const NAMES: usize = 20;

/// The reading of the files, after they have been examined.
pub(crate) struct Reading {
    pub(crate) looked: Looked,
    pub(crate) titles: Titles,
    pub(crate) options: Options,
    pub(crate) preset: Option<Preset>,
    /// The log, if it is counted already and counting it again would lose some of it.
    pub(crate) counted: Option<PathBuf>,
}

/// Examines the files of a build.
///
/// # Errors
///
/// Those of reading them; they are no logs, or no titles, or do not belong together.
pub(crate) fn look(build: &Build<'_>, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Reading> {
    let header = titles_header(build)?;
    let mut titles = build.titles.clone();
    if let Some(Header { kind: Kind::Titles, columns, .. }) = &header {
        let other = |role, usual| columns.other_name(role, usual).map(str::to_owned);
        titles.id = titles.id.or_else(|| other(Role::Item, ID));
        titles.text = titles.text.or_else(|| other(Role::Title, TITLE));
    }
    let vocabulary = Vocabulary::read(&titles, go_on)?;
    let mut options = build.table.clone();
    let mut preset = build.preset;
    let mut logs = Vec::new();
    let mut counted = None;
    for path in build.logs {
        let (kind, names, columns) = log_kind(path, build, header.as_ref())?;
        if let Kind::Preset(name) = kind {
            preset = preset.or_else(|| Preset::from_name(name));
        }
        if kind == Kind::Clicks && ["weight", "rare"].iter().any(|name| has(&names, name)) {
            counted = Some(path.clone());
        }
        if preset.is_none() {
            name_columns(&mut options, &columns);
        }
        logs.push(LogFacts { path: path.clone(), kind: kind.text(), columns });
    }
    if let Some(counted) = counted.as_ref().filter(|_| build.logs.len() > 1) {
        let error =
            Error::expected(ErrorKind::Setting, "one log if its pairs are weighted or marked as rare", "several");
        return Err(error.help("prepare all of them together").at(counted));
    }
    let facts = TitleFacts {
        path: titles.path.clone(),
        titles: vocabulary.titles,
        id: titles.id.clone(),
        text: titles.text.clone(),
    };
    let mut looked = Looked { logs, titles: facts, join: Join::None, seconds: 0.0 };
    let mut rows = 0;
    if let Some(first) = build.logs.first() {
        let mut read = options.clone();
        if let Some(preset) = preset {
            preset.log(&mut read)?;
        }
        let sample = Sample::read(build.logs, &read, &vocabulary, go_on)?;
        let name = |role| read.columns.get(role).unwrap_or_default().to_owned();
        looked.join = sample.join(first, &titles.path, &vocabulary, &name(Role::Title), &name(Role::Item))?;
        if let Join::Ids { column } = &looked.join
            && preset.is_none()
        {
            options.columns.name(Role::Item, column.clone());
        }
        rows = estimate::rows(build.logs, &sample);
    }
    looked.seconds = estimate::seconds(build, vocabulary.titles, rows)?;
    Ok(Reading { looked, titles, options, preset, counted })
}

/// Returns the header of the titles, which must not be those of a log.
fn titles_header(build: &Build<'_>) -> Result<Option<Header>> {
    let header = guess::header(&build.titles.path);
    let Some(Header { kind: Kind::Log | Kind::Clicks | Kind::Preset(_), .. }) = &header else { return Ok(header) };
    if build.titles.text.is_some() {
        return Ok(header);
    }
    let found = "a log: it has a column of queries";
    let error = Error::expected(ErrorKind::Mismatch, "titles with their ids", found).at(&build.titles.path);
    let is_titles = |path: &PathBuf| guess::header(path).is_some_and(|header| header.kind == Kind::Titles);
    Err(if build.logs.iter().any(is_titles) {
        error.help("the log and the titles are swapped: exchange them")
    } else {
        error.help("name the table of all titles, or the column of the texts")
    })
}

/// Returns the kind of a log, and its columns.
fn log_kind(path: &Path, build: &Build<'_>, titles: Option<&Header>) -> Result<(Kind, Vec<String>, GuessedColumns)> {
    if build.preset.is_some() || build.table.header.is_some() {
        return Ok((Kind::Log, Vec::new(), GuessedColumns::default()));
    }
    let Some(Header { kind, names, columns, .. }) = guess::header(path) else {
        // A missing file has an error of its own.
        let line = guess::first_line(path)?;
        if let Some(kind @ Kind::Preset(_)) = guess::by_first_line(&line) {
            return Ok((kind, Vec::new(), GuessedColumns::default()));
        }
        let error =
            Error::expected(ErrorKind::Malformed, "a log with the names of its columns in the first line", "none");
        return Err(error.help("name all columns in order, as in `query,title,-`").at(path));
    };
    let named = |role| build.table.columns.is_named(role);
    let expected = "a log: a column of queries, with one of titles or of items";
    let refuse = |found: String, help: &'static str| {
        Err(Error::expected(ErrorKind::Mismatch, expected, found).help(help).at(path))
    };
    match kind {
        _ if named(Role::Query) && (named(Role::Title) || named(Role::Item)) => Ok((kind, names, columns)),
        Kind::Judged | Kind::Sheet if has(&names, "grade") => {
            refuse("judged titles: the column `grade`".to_owned(), "judged titles test an index; name the clicks")
        }
        Kind::Titles | Kind::Corpus => {
            let is_swapped = titles.is_some_and(|titles| matches!(titles.kind, Kind::Log | Kind::Clicks));
            let help = if is_swapped {
                "the log and the titles are swapped: exchange them"
            } else {
                "name the log, or leave it out to learn from the titles alone"
            };
            refuse("titles".to_owned(), help)
        }
        Kind::Log | Kind::Clicks | Kind::Preset(_) | Kind::Judged => Ok((kind, names, columns)),
        _ if named(Role::Query) || named(Role::Title) || named(Role::Item) => Ok((kind, names, columns)),
        _ => refuse(
            format!("the columns {}", shown(Path::new(&listed(&names, NAMES)))),
            "name them, as in `query=search_term,item=sku`",
        ),
    }
}

/// Names the columns whose role was guessed and that have another name than usual.
fn name_columns(options: &mut Options, guessed: &GuessedColumns) {
    for role in Role::ALL.into_iter().filter(|&role| role != guess::GRADE) {
        if let Some(name) = guessed.other_name(role, role.name()).filter(|_| !options.columns.is_named(role)) {
            options.columns.name(role, name);
        }
    }
}
