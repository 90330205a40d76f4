//! The command that comes next for a file, with the others that were named.

use std::path::Path;

use super::Found;
use super::columns::Meaning;
use super::kind::InputKind;

/// The command for the file at `place`.
pub(super) fn command(place: usize, all: &[Found]) -> Option<String> {
    let found = &all[place];
    let path = quoted(&found.path);
    let of = |kind: InputKind| all.iter().find(|other| other.kind == kind);
    let titles = || all.iter().find(|other| matches!(other.kind, InputKind::Titles | InputKind::Corpus));
    let model = of(InputKind::Model).map_or_else(|| "MODEL".to_owned(), |model| quoted(&model.path));
    Some(match found.kind {
        InputKind::Log => {
            let mut command = format!("clickvec prepare {path}{}", columns(found));
            let has = |meaning| found.meanings.iter().any(|(other, _)| *other == meaning);
            if !has(Meaning::Title) || (has(Meaning::Item) && titles().is_some()) {
                command.push_str(&format!(" {}", titles_option(titles(), "titles.")));
            }
            let or = if has(Meaning::Title) || titles().is_some() {
                ""
            } else {
                "  # if the items are titles: --item-as-title in place of --titles TITLES"
            };
            // Without it, what only one person typed is left out, most queries of a small shop.
            let private = if has(Meaning::User) { " --private" } else { "" };
            format!("{command}{private} --output {}{or}", free("clicks", "tsv"))
        }
        InputKind::Preset(name) => {
            let titles = match name {
                "ga4" | "snowplow" if titles().is_none() => String::new(),
                _ => format!(" {}", titles_option(titles(), "titles.")),
            };
            // Searches and clicks of one log may be in several files.
            let files: Vec<String> =
                all.iter().filter(|other| other.kind == found.kind).map(|of| quoted(&of.path)).collect();
            format!("clickvec prepare {} --preset {name}{titles} --output {}", files.join(" "), free("clicks", "tsv"))
        }
        InputKind::Clicks => {
            let titles = titles().map_or(String::new(), |titles| format!(" {}", titles_option(Some(titles), "")));
            format!("clickvec train{titles} --clicks {path} --output {}", free("model", "safetensors"))
        }
        InputKind::Judged if found.faults > 0 && found.format != Some("tsv") => return None,
        InputKind::Judged => {
            format!("clickvec evaluate bm25 trigram {model} --judged {path} {}", titles_option(titles(), ""))
        }
        InputKind::Sheet => format!("clickvec judge read {path} --output {}", free("judged", "tsv")),
        InputKind::Queries => {
            let index = of(InputKind::Index).map_or_else(|| "INDEX".to_owned(), |index| quoted(&index.path));
            format!("clickvec judge pool {index} --queries {path} --output {}", free("sheet", "tsv"))
        }
        InputKind::Titles | InputKind::Corpus if of(InputKind::Model).is_none() => {
            let clicks =
                of(InputKind::Clicks).map_or(String::new(), |clicks| format!(" --clicks {}", quoted(&clicks.path)));
            format!(
                "clickvec train {}{clicks} --output {}",
                titles_option(Some(found), ""),
                free("model", "safetensors")
            )
        }
        InputKind::Titles | InputKind::Corpus => {
            format!(
                "clickvec index --model {model} {} --output {}",
                titles_option(Some(found), ""),
                free("titles", "index")
            )
        }
        InputKind::Qrels => {
            format!("clickvec evaluate bm25 {model} --judged {path} --topics TOPICS {}", titles_option(titles(), ""))
        }
        InputKind::Run => {
            let qrels = of(InputKind::Qrels).map_or_else(|| "QRELS".to_owned(), |qrels| quoted(&qrels.path));
            format!("clickvec evaluate {path} --judged {qrels}")
        }
        InputKind::Model | InputKind::Fusion => {
            let titles = titles_option(titles(), "");
            format!("clickvec index --model {path} {titles} --output {}", free("titles", "index"))
        }
        InputKind::Index if found.faults > 0 => return None,
        InputKind::Ranker => return None,
        InputKind::Index => format!("clickvec search {path} QUERY"),
        InputKind::Beir => format!("clickvec evaluate bm25 {model} --judged {path}"),
        InputKind::Unknown => return None,
    })
}

/// A name that no file here has: nobody wants to replace one by a command that was proposed.
fn free(stem: &str, extension: &str) -> String {
    let names = (1u32..).map(|number| match number {
        1 => format!("{stem}.{extension}"),
        _ => format!("{stem}-{number}.{extension}"),
    });
    names.into_iter().find(|name| !Path::new(name).exists()).unwrap_or_default()
}

/// The options of `prepare` for columns that have other names than it expects.
fn columns(found: &Found) -> String {
    // A grade is no column of a log.
    let others = found
        .meanings
        .iter()
        .filter(|(meaning, name)| *meaning != Meaning::Grade && !name.trim().eq_ignore_ascii_case(meaning.name()));
    names(others.map(|(meaning, name)| format!("{}={name}", meaning.name())))
}

/// Returns the option with these names of columns.
fn names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!(" --columns {}", shell(&names.join(","))) }
}

/// Returns the option for titles, and the one for their columns, whose names have this prefix.
fn titles_option(titles: Option<&Found>, prefix: &str) -> String {
    let Some(titles) = titles else { return "--titles TITLES".to_owned() };
    let others = [(Meaning::Item, "id"), (Meaning::Title, "title")].into_iter().filter_map(|(meaning, usual)| {
        other_name(titles, meaning, usual).map(|name| format!("{prefix}{usual}={name}"))
    });
    format!("--titles {}{}", quoted(&titles.path), names(others))
}

fn other_name<'a>(found: &'a Found, wanted: Meaning, usual: &str) -> Option<&'a str> {
    let (_, name) = found.meanings.iter().find(|(meaning, _)| *meaning == wanted)?;
    (found.kind == InputKind::Titles && !name.trim().eq_ignore_ascii_case(usual)).then_some(name.as_str())
}

fn quoted(path: &Path) -> String {
    shell(&path.to_string_lossy())
}

/// A word as a shell takes it.
fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", crate::output::printable(word).replace('\'', r"'\''"))
}
