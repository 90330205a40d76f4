//! `clickvec inspect`: what files are, what is in them, whether they are whole, and what to do next.

mod columns;
mod facts;
mod index;
mod kind;
mod model;
mod next;
mod own;
mod ranker;
mod table;

pub(super) use table::{has_rare, looks_judged, looks_raw};

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::tables::titles_file;
use clickvec_eval::ranker::FileKind;
use clickvec_index::looks_like_index;
use clickvec_tables::files;
use clickvec_tables::table::is_tensors;
use serde::Serialize;
use serde_json::Value;

use self::columns::Meaning;
use self::facts::Facts;
use self::kind::InputKind;
use crate::answer::Answer;
use crate::output;

/// Say what files are, what is in them, whether they are whole, and which command comes next.
///
/// Reads logs, click logs, judged titles, titles, TREC's and BEIR's files, models, rankers, fusions and indexes; of an index, every
/// byte. Give a log together with its titles, and the proposed command uses both. The exit status is 1 if a file is not recognised,
/// has faults or is damaged.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The files, and folders of indexes.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Print one JSON object for each file.
    #[arg(long)]
    json: bool,
}

/// What was found out about a file.
struct Found {
    path: PathBuf,
    kind: InputKind,
    /// What a table is written as, such as `csv`.
    format: Option<&'static str>,
    names: Vec<String>,
    meanings: Vec<(Meaning, String)>,
    rows: u64,
    /// Whether there are more rows than were read.
    has_more: bool,
    faults: u64,
    /// The first faults, each with its line.
    first: Vec<(u64, String)>,
    /// What is in a model, a ranker or an index.
    details: Option<Facts>,
}

/// Looks at all files, then says what to do with them together.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for path in &args.files {
        match look(path) {
            Ok(file) => found.push(file),
            Err(error) => unread.push(error),
        }
    }
    let mut out = output::stdout();
    for (place, file) in found.iter().enumerate() {
        let next = next::command(place, &found);
        if args.json {
            output::json_line(&mut out, &json(file, next.as_deref()))?;
        } else {
            output::written(write!(out, "{}", text(file, next.as_deref())))?;
        }
    }
    output::written(out.flush())?;
    // What could be read has been shown; the last of the others ends the command.
    if let Some(last) = unread.pop() {
        for error in unread {
            output::note(format_args!("error: {error}"));
        }
        return Err(last);
    }
    let is_well = found.iter().all(|file| file.kind != InputKind::Unknown && file.faults == 0);
    Ok(if is_well { Answer::Done } else { Answer::No })
}

fn look(path: &Path) -> Result<Found> {
    let mut found = Found {
        path: path.to_owned(),
        kind: InputKind::Unknown,
        format: None,
        names: Vec::new(),
        meanings: Vec::new(),
        rows: 0,
        has_more: false,
        faults: 0,
        first: Vec::new(),
        details: None,
    };
    if files::is_stream(path) {
        let is_device = files::Found::is_device(path);
        let what = if is_device { "a device; name another" } else { "a pipe; write it to a file first" };
        bail!("{}: expected a file, because it is read more than once, found {what}", output::input(path));
    }
    if path.is_dir() {
        if looks_like_index(path) {
            found.kind = InputKind::Index;
            index::look(&mut found)?;
        } else if titles_file(path).is_ok() {
            found.kind = InputKind::Beir;
        }
    } else if is_tensors(&files::first_bytes::<9>(path)?) {
        (found.kind, found.details) = match FileKind::of(path) {
            Ok(FileKind::Ranker) => (InputKind::Ranker, Some(ranker::ranker(path)?)),
            Ok(FileKind::Fusion) => (InputKind::Fusion, Some(ranker::fusion(path)?)),
            // Anything else has its own error.
            _ => (InputKind::Model, Some(model::facts(path)?)),
        };
    } else {
        table::look(&mut found)?;
    }
    Ok(found)
}

/// Shows to people what was found.
fn text(found: &Found, next: Option<&str>) -> String {
    let mut text = format!("{}: {}", output::path(&found.path), found.kind.text());
    match &found.details {
        Some(details) => {
            let _ = write!(text, "\n\n{}\n", details.text().trim_end());
        }
        None => text.push_str(&table::text(found)),
    }
    if let Some(next) = next {
        let _ = writeln!(text, "  next: {next}");
    }
    text
}

/// A file as JSON.
#[derive(Serialize)]
struct JsonFile<'a> {
    #[serde(serialize_with = "output::json_path")]
    file: &'a Path,
    kind: &'static str,
    #[serde(flatten)]
    contents: JsonContents<'a>,
    next: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum JsonContents<'a> {
    Table(JsonTable<'a>),
    Facts(&'a Facts),
}

#[derive(Serialize)]
struct JsonTable<'a> {
    preset: Option<&'static str>,
    format: Option<&'static str>,
    columns: serde_json::Map<String, Value>,
    rows: u64,
    has_more: bool,
    faults: u64,
    first_faults: Vec<JsonFault<'a>>,
}

#[derive(Serialize)]
struct JsonFault<'a> {
    line: u64,
    fault: &'a str,
}

fn json<'a>(found: &'a Found, next: Option<&'a str>) -> JsonFile<'a> {
    let columns = found.meanings.iter().map(|(meaning, name)| (meaning.name().to_owned(), name.clone().into()));
    let contents = match &found.details {
        Some(details) => JsonContents::Facts(details),
        None => JsonContents::Table(JsonTable {
            preset: if let InputKind::Preset(name) = found.kind { Some(name) } else { None },
            format: found.format,
            columns: columns.collect(),
            rows: found.rows,
            has_more: found.has_more,
            faults: found.faults,
            first_faults: found.first.iter().map(|(line, fault)| JsonFault { line: *line, fault }).collect(),
        }),
    };
    JsonFile { file: &found.path, kind: found.kind.key(), contents, next }
}
