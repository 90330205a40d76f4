//! The command that comes next for a file, with the others that were named.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec_logs::columns::Role;
use clickvec_logs::guess::{GRADE, Kind, role_name};
use clickvec_logs::options::{self, Typed};
use clickvec_logs::{Config, prepare};
use clickvec_tables::shown::printable;
use clickvec_tables::{Error, ErrorKind, Result};

use super::table::Table;
use super::{Contents, Found};

/// The prefix of the columns of titles in a command that prepares logs.
const TITLES_PREFIX: &str = "titles.";
/// The rows of a log that are read to try the command at most.
const TRIED_ROWS: u64 = 1_000_000;

/// Returns the command for one of the files, and what it would say of the file if it were run.
pub(super) fn command(found: &Found, all: &[Found]) -> (Option<String>, Result<()>) {
    let titles = all.iter().find(|other| matches!(other.kind, Kind::Titles | Kind::Corpus));
    let prepare = match (found.kind, &found.contents) {
        (Kind::Log, Contents::Table(table)) => Prepare::log(&found.path, table, titles),
        (Kind::Preset(name), _) => {
            // Searches and clicks of one log may be in several files.
            let logs = all.iter().filter(|other| other.kind == found.kind).map(|other| &*other.path).collect();
            let needs_none = matches!(name, "ga4" | "snowplow") && titles.is_none();
            Prepare { logs, preset: Some(name), titles: (!needs_none).then_some(titles), ..Prepare::default() }
        }
        _ => return (other(found, all, titles), Ok(())),
    };
    match prepare.try_out() {
        Ok(is_part) => (Some(prepare.command(is_part)), Ok(())),
        Err(error) => (None, Err(error)),
    }
}

/// Returns the command for a file that is no raw log.
fn other(found: &Found, all: &[Found], titles: Option<&Found>) -> Option<String> {
    // Only clicks and titles may have some.
    let is_refused = match (found.kind, &found.contents) {
        (Kind::Clicks | Kind::Titles | Kind::Corpus, Contents::Table(table)) => table.rows.faults * 2 > table.rows.rows,
        _ => found.faults() > 0,
    };
    if is_refused {
        return None;
    }
    let path = quoted(&found.path);
    let first = |kind: Kind| all.iter().find(|other| other.kind == kind);
    let path_or = |kind, name: &str| first(kind).map_or_else(|| name.to_owned(), |other| quoted(&other.path));
    let (model, index, qrels) =
        (path_or(Kind::Model, "MODEL"), path_or(Kind::Index, "INDEX"), path_or(Kind::Qrels, "QRELS"));
    let topics = path_or(Kind::Topics, "TOPICS");
    let (titles_index, model_file) = (free("titles", "index"), free("model", "safetensors"));
    Some(match (found.kind, &found.contents) {
        (Kind::Clicks, _) => {
            let titles = titles.map_or_else(String::new, |titles| titles_option(Some(titles), ""));
            format!("clickvec train{titles} --clicks {path} --output {model_file}")
        }
        (Kind::Judged, _) => {
            let titles = titles_option(titles, "");
            format!("clickvec evaluate bm25 trigram {model} --judged {path}{titles}")
        }
        (Kind::Sheet, _) => format!("clickvec judge {index} --against bm25 --queries QUERIES --output {path}"),
        (Kind::Queries, _) => format!("clickvec judge {index} --against bm25 --queries {path}"),
        (Kind::Titles | Kind::Corpus, _) if first(Kind::Model).is_none() => {
            let clicks =
                first(Kind::Clicks).map_or_else(String::new, |clicks| format!(" --clicks {}", quoted(&clicks.path)));
            format!("clickvec train{}{clicks} --output {model_file}", titles_option(Some(found), ""))
        }
        (Kind::Titles | Kind::Corpus, _) => {
            format!("clickvec index --model {model}{} --output {titles_index}", titles_option(Some(found), ""))
        }
        (Kind::Qrels, _) => {
            let titles = titles_option(titles, "");
            format!("clickvec evaluate bm25 {model} --judged {path} --topics {topics}{titles}")
        }
        (Kind::Topics, _) => {
            let titles = titles_option(titles, "");
            format!("clickvec evaluate bm25 {model} --judged {qrels} --topics {path}{titles}")
        }
        (Kind::Run, _) => format!("clickvec evaluate {path} --judged {qrels}"),
        (Kind::Model, _) => {
            format!("clickvec index --model {path}{} --output {titles_index}", titles_option(titles, ""))
        }
        (Kind::Index, _) => format!("clickvec search {path} QUERY"),
        (Kind::Beir, _) => format!("clickvec evaluate bm25 {model} --judged {path}"),
        (Kind::Log | Kind::Preset(_) | Kind::Ranker | Kind::Unknown, _) => return None,
    })
}

/// A command that prepares logs.
#[derive(Default)]
struct Prepare<'f> {
    logs: Vec<&'f Path>,
    preset: Option<&'f str>,
    /// Columns with other names, as `role=name`.
    columns: Vec<String>,
    /// The titles, if the log needs some: a file, or one that is not known.
    titles: Option<Option<&'f Found>>,
    private: bool,
}

impl<'f> Prepare<'f> {
    /// Returns the command for a raw log.
    fn log(path: &'f Path, table: &Table, titles: Option<&'f Found>) -> Prepare<'f> {
        let has = |role| table.columns.name(role).is_some();
        // A grade is no column of a log.
        let others = table.columns.iter().filter(|&(role, _)| role != GRADE).filter_map(|(role, _)| {
            let name = table.columns.other_name(role, role_name(role))?;
            Some(format!("{}={name}", role_name(role)))
        });
        let needs_titles = !has(Role::Title) || (has(Role::Item) && titles.is_some());
        Prepare {
            logs: vec![path],
            preset: None,
            columns: others.collect(),
            titles: needs_titles.then_some(titles),
            // Without it, what only one person typed is left out, most queries of a small shop.
            private: has(Role::User),
        }
    }

    /// Returns the command. `is_part`: more files of the log must be named.
    fn command(&self, is_part: bool) -> String {
        let rest = if is_part { " REST_OF_THE_LOG" } else { "" };
        let logs = self.logs.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ");
        let preset = self.preset.map_or_else(String::new, |name| format!(" --preset {name}"));
        let titles = self.titles.map_or_else(String::new, |titles| titles_option(titles, TITLES_PREFIX));
        let private = if self.private { " --private" } else { "" };
        let columns = columns_option(self.columns.iter().cloned());
        let or = match (self.titles, self.preset) {
            (Some(None), None) => "  # if the items are titles: --item-as-title instead of --titles TITLES",
            _ => "",
        };
        format!(
            "clickvec prepare {logs}{rest}{preset}{columns}{titles}{private} --output {}{or}",
            free("clicks", "tsv")
        )
    }

    /// Reads the logs as the command does, up to some million rows, and writes nothing. Titles that are not known are not needed for that.
    /// Returns whether the logs have no click, and others must have them or their searches.
    ///
    /// # Errors
    ///
    /// What the command would say.
    fn try_out(&self) -> Result<bool> {
        let told = |expected: String| Error::new(ErrorKind::Setting, expected);
        let of_titles = self.titles.flatten().map_or_else(Vec::new, |titles| titles_columns(titles, TITLES_PREFIX));
        let columns = [self.columns.join(","), of_titles.join(",")];
        let columns = columns.iter().filter(|names| !names.is_empty()).map(|names| options::columns(names));
        let typed = Typed {
            preset: self.preset.map(options::preset).transpose().map_err(told)?,
            columns: columns.collect::<Result<_, _>>().map_err(told)?,
            titles: self.titles.flatten().map(|titles| titles.path.clone()),
            item_as_title: matches!(self.titles, Some(None)),
            private: self.private,
            ..Typed::default()
        };
        let logs: Vec<PathBuf> = self.logs.iter().map(|&path| path.to_owned()).collect();
        let config = Config { output: "-".into(), ..typed.config(logs, "-".into())? };
        let within = |rows| if rows < TRIED_ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        // The searches of its clicks may be in another file.
        let is_part = |error: &Error| config.preset.is_some() && error.kind() == ErrorKind::Empty;
        match prepare(&config, &mut io::sink(), &mut { within }) {
            Err(error) if is_part(&error) => Ok(true),
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(false),
        }
    }
}

/// Returns a name that no file here has, so that a command that was proposed replaces none.
fn free(stem: &str, extension: &str) -> String {
    let names = (1u32..).map(|number| match number {
        1 => format!("{stem}.{extension}"),
        _ => format!("{stem}-{number}.{extension}"),
    });
    names.into_iter().find(|name| !Path::new(name).exists()).unwrap_or_default()
}

/// Returns the option for titles, and the one for their columns, whose names have this prefix.
fn titles_option(titles: Option<&Found>, prefix: &str) -> String {
    let Some(titles) = titles else { return " --titles TITLES".to_owned() };
    let columns = columns_option(titles_columns(titles, prefix).into_iter());
    format!(" --titles {}{columns}", quoted(&titles.path))
}

/// Returns the columns of a table of titles that have other names.
fn titles_columns(titles: &Found, prefix: &str) -> Vec<String> {
    let other = |(role, usual)| match &titles.contents {
        Contents::Table(table) if titles.kind == Kind::Titles => {
            table.columns.other_name(role, usual).map(|name| format!("{prefix}{usual}={name}"))
        }
        _ => None,
    };
    [(Role::Item, "id"), (Role::Title, "title")].into_iter().filter_map(other).collect()
}

/// Returns the option with these names of columns.
fn columns_option(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!(" --columns {}", shell(&names.join(","))) }
}

fn quoted(path: &Path) -> String {
    shell(&path.to_string_lossy())
}

/// Returns a word as a shell takes it.
pub fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(word).replace('\'', r"'\''"))
}
