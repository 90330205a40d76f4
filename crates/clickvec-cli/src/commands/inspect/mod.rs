//! `clickvec inspect`: what files are, what is in them, whether they are whole, and what to do next.

mod facts;
mod index;
mod model;
mod next;
mod ranker;
mod rows;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::tables::titles_file;
use clickvec_eval::ranker::FileKind;
use clickvec_index::looks_like_index;
use clickvec_logs::guess::Kind;
use clickvec_tables::files;
use clickvec_tables::table::is_tensors;
use serde::Serialize;

use self::facts::Facts;
use self::table::Table;
use super::prepare;
use crate::answer::Answer;
use crate::console;

/// Say what files are, what is in them, whether they are whole, and which command comes next.
///
/// Reads logs, click logs, judged titles, titles, TREC's and BEIR's files, models, rankers and indexes; of an index, every
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
#[derive(Serialize)]
struct Found {
    #[serde(rename = "file", serialize_with = "console::json_path")]
    path: PathBuf,
    #[serde(flatten)]
    kind: Kind,
    #[serde(flatten)]
    contents: Contents,
    /// The command that comes next.
    next: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Contents {
    Table(Table),
    Facts(Facts),
}

/// Looks at all files, then says what to do with them together.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for path in args.files {
        match look(&path) {
            Ok((kind, contents)) => found.push(Found { path, kind, contents, next: None }),
            Err(error) => unread.push(error),
        }
    }
    let next: Vec<Option<String>> = found.iter().map(|file| next::command(file, &found)).collect();
    for (file, next) in found.iter_mut().zip(next) {
        let tried = next.as_deref().and_then(next::prepared).map_or(Ok(()), |arguments| prepare::try_out(&arguments));
        match (tried, &mut file.contents) {
            (Ok(()), _) => file.next = next,
            (Err(error), Contents::Table(Table { rows, .. })) if rows.faults == 0 => rows.add(1, error.to_string()),
            (Err(_), _) => {}
        }
    }
    let mut out = console::stdout();
    for file in &found {
        if args.json {
            console::json_line(&mut out, file)?;
        } else {
            console::written(file.write(&mut out))?;
        }
    }
    console::written(out.flush())?;
    // What could be read has been shown; the last of the others ends the command.
    if let Some(last) = unread.pop() {
        for error in unread {
            console::note(format_args!("error: {error}"));
        }
        return Err(last);
    }
    let is_well = found.iter().all(|file| file.kind != Kind::Unknown && file.faults() == 0);
    Ok(if is_well { Answer::Done } else { Answer::No })
}

fn look(path: &Path) -> Result<(Kind, Contents)> {
    if files::is_stream(path) {
        let is_device = files::Found::is_device(path);
        let what = if is_device { "a device; name another" } else { "a pipe; write it to a file first" };
        bail!("{}: expected a file, because it is read more than once, found {what}", console::input(path));
    }
    if path.is_dir() {
        if looks_like_index(path) {
            return Ok((Kind::Index, Contents::Facts(index::facts(path)?)));
        }
        if titles_file(path).is_err() {
            return Ok((Kind::Unknown, Contents::Table(Table::default())));
        }
        let rows = rows::beir(path)?;
        return Ok((Kind::Beir, Contents::Table(Table::with_rows(rows))));
    }
    if is_tensors(&files::first_bytes::<9>(path)?) {
        let (kind, facts) = match FileKind::read(path) {
            Ok(FileKind::Ranker) => (Kind::Ranker, ranker::ranker(path)?),
            // Anything else has its own error.
            _ => (Kind::Model, model::facts(path)?),
        };
        return Ok((kind, Contents::Facts(facts)));
    }
    let (kind, table) = table::look(path)?;
    Ok((kind, Contents::Table(table)))
}

impl Found {
    /// Returns how much is wrong with the file.
    fn faults(&self) -> u64 {
        match &self.contents {
            Contents::Table(table) => table.rows.faults,
            Contents::Facts(facts) => facts.faults,
        }
    }

    /// Shows to people what was found.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let path = console::path(&self.path);
        write!(out, "{path}: {}", self.kind.text())?;
        match &self.contents {
            Contents::Table(table) => table.write(self.kind, path, out)?,
            Contents::Facts(facts) => writeln!(out, "\n\n{}", facts.text().trim_end())?,
        }
        match &self.next {
            Some(next) => writeln!(out, "  next: {next}"),
            None => Ok(()),
        }
    }
}
