//! The command that comes next for a file, with the others that were named.

use std::path::Path;

use clickvec_logs::columns::Role;
use clickvec_logs::guess::{GRADE, Kind, role_name};

use super::table::Table;
use super::{Contents, Found};

/// Returns the command for one of the files.
pub(super) fn command(found: &Found, all: &[Found]) -> Option<String> {
    // Only a log, clicks and titles may have some.
    let is_refused = match (found.kind, &found.contents) {
        (Kind::Log | Kind::Preset(_), _) => false,
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
    let titles = all.iter().find(|other| matches!(other.kind, Kind::Titles | Kind::Corpus));
    let (titles_index, model_file) = (free("titles", "index"), free("model", "safetensors"));
    Some(match (found.kind, &found.contents) {
        (Kind::Log, Contents::Table(table)) => prepare(&path, table, titles),
        (Kind::Preset(name), _) => {
            let titles = match name {
                "ga4" | "snowplow" if titles.is_none() => String::new(),
                _ => titles_option(titles, "titles."),
            };
            // Searches and clicks of one log may be in several files.
            let files = all.iter().filter(|other| other.kind == found.kind).map(|other| quoted(&other.path));
            let files = files.collect::<Vec<_>>().join(" ");
            format!("clickvec prepare {files} --preset {name}{titles} --output {}", free("clicks", "tsv"))
        }
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
        (Kind::Log | Kind::Ranker | Kind::Unknown, _) => return None,
    })
}

/// Returns the arguments of a command that prepares logs, to be tried; `None` for another command. Titles that are not known are
/// not needed to read the logs.
pub(super) fn prepared(command: &str) -> Option<Vec<String>> {
    let command = command.strip_prefix("clickvec prepare ")?.split("  # ").next()?;
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in command.replace("--titles TITLES", "--item-as-title").replace(r"'\''", "\u{0}").chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            '\u{0}' => words.last_mut()?.push('\''),
            c => words.last_mut()?.push(c),
        }
    }
    Some(words)
}

/// Returns the command that prepares a raw log.
fn prepare(path: &str, table: &Table, titles: Option<&Found>) -> String {
    let has = |role| table.columns.name(role).is_some();
    // A grade is no column of a log.
    let others = table.columns.iter().filter(|&(role, _)| role != GRADE).filter_map(|(role, _)| {
        let name = table.columns.other_name(role, role_name(role))?;
        Some(format!("{}={name}", role_name(role)))
    });
    let mut command = format!("clickvec prepare {path}{}", columns_option(others));
    if !has(Role::Title) || (has(Role::Item) && titles.is_some()) {
        command += &titles_option(titles, "titles.");
    }
    // Without it, what only one person typed is left out, most queries of a small shop.
    if has(Role::User) {
        command += " --private";
    }
    command += &format!(" --output {}", free("clicks", "tsv"));
    if !has(Role::Title) && titles.is_none() {
        command += "  # if the items are titles: --item-as-title in place of --titles TITLES";
    }
    command
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
    let other = |role, usual| match &titles.contents {
        Contents::Table(table) if titles.kind == Kind::Titles => {
            table.columns.other_name(role, usual).map(|name| format!("{prefix}{usual}={name}"))
        }
        _ => None,
    };
    let others = [other(Role::Item, "id"), other(Role::Title, "title")];
    format!(" --titles {}{}", quoted(&titles.path), columns_option(others.into_iter().flatten()))
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
fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", crate::console::printable(word).replace('\'', r"'\''"))
}
