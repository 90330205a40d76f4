//! What files are, what is in them, whether they are whole, and what to do next.

mod facts;
mod index;
mod model;
mod next;
mod ranker;
mod rows;
mod table;

use std::path::{Path, PathBuf};

use clickvec::tables::titles_file;
use clickvec_eval::ranker::FileKind;
use clickvec_index::looks_like_index;
use clickvec_logs::guess::Kind;
use clickvec_tables::shown::shown;
use clickvec_tables::table::is_tensors;
use clickvec_tables::{Error, ErrorKind, Result, files};
use serde::{Serialize, Serializer};

use self::facts::Facts;
pub use self::next::shell;
use self::table::Table;
use crate::Watcher;

/// What was found out about a file.
#[derive(Serialize)]
pub struct Found {
    #[serde(rename = "file", serialize_with = "lossy")]
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

/// Writes a path as JSON, which cannot express bytes that are not UTF-8.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Looks at all files, then says what to do with them together. Returns what was found, and the errors of files that could not be
/// read. `naming` returns what a program calls a setting.
pub fn inspect(
    paths: Vec<PathBuf>,
    naming: &dyn Fn(&str) -> Option<String>,
    watch: &dyn Watcher,
) -> (Vec<Found>, Vec<Error>) {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        match look(&path, watch) {
            Ok((kind, contents)) => found.push(Found { path, kind, contents, next: None }),
            Err(error) => unread.push(error),
        }
    }
    let next: Vec<_> = found.iter().map(|file| next::command(file, &found)).collect();
    for (file, (next, tried)) in found.iter_mut().zip(next) {
        match (tried, &mut file.contents) {
            (Ok(()), _) => file.next = next,
            (Err(mut error), Contents::Table(Table { rows, .. })) if rows.faults == 0 => {
                error.name_settings(naming);
                // The fault of another file, such as that of the titles, has its place.
                let is_own = error.path() == Some(&file.path);
                let fault = if is_own { error.message() } else { error.to_string() };
                rows.add(error.line().filter(|_| is_own).unwrap_or(1), fault);
            }
            (Err(_), _) => {}
        }
    }
    (found, unread)
}

fn look(path: &Path, watch: &dyn Watcher) -> Result<(Kind, Contents)> {
    if files::is_stream(path) {
        let is_device = files::Found::is_device(path);
        let (found, help) =
            if is_device { ("a device", "name another") } else { ("a pipe", "write it to a file first") };
        let error = Error::expected(ErrorKind::Setting, "a file, because it is read more than once", found);
        return Err(error.help(help).at(path));
    }
    if path.is_dir() {
        if looks_like_index(path) {
            return Ok((Kind::Index, Contents::Facts(index::facts(path)?)));
        }
        if titles_file(path).is_err() {
            return Ok((Kind::Unknown, Contents::Table(Table::default())));
        }
        return Ok((Kind::Beir, Contents::Table(Table::with_rows(rows::beir(path)?))));
    }
    if is_tensors(&files::first_bytes::<9>(path)?) {
        let (kind, facts) = match FileKind::read(path) {
            Ok(FileKind::Ranker) => (Kind::Ranker, ranker::ranker(path)?),
            // Anything else has its own error.
            _ => (Kind::Model, model::facts(path)?),
        };
        return Ok((kind, Contents::Facts(facts)));
    }
    let (kind, table) = table::look(path, watch)?;
    Ok((kind, Contents::Table(table)))
}

impl Found {
    /// Returns whether the file was recognised and nothing is wrong with it.
    pub fn is_well(&self) -> bool {
        self.kind != Kind::Unknown && self.faults() == 0
    }

    /// Returns how much is wrong with the file.
    fn faults(&self) -> u64 {
        match &self.contents {
            Contents::Table(table) => table.rows.faults,
            Contents::Facts(facts) => facts.faults,
        }
    }

    /// Returns for people what was found.
    pub fn text(&self) -> String {
        let path = shown(&self.path);
        let contents = match &self.contents {
            Contents::Table(table) => table.text(self.kind, &path),
            Contents::Facts(facts) => format!("\n\n{}\n", facts.text().trim_end()),
        };
        let next = self.next.as_ref().map_or_else(String::new, |next| format!("  next: {next}\n"));
        format!("{path}: {}{contents}{next}", self.kind.text())
    }
}
