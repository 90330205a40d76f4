//! Judgments of people who search: a table of query, title and grade, which `evaluate` takes.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clickvec::internals::files::{Claim, write_bytes_atomically};
use clickvec::internals::tables::{FoundLine, Lines, MAX_LINE_BYTES};
use clickvec_tables::{Error, ErrorKind};

use crate::error::{Result, refuse_special};
use crate::fault::quoted;

const HEADER: &str = "query\ttitle_id\ttitle\tgrade";
/// The grades of a thumb that points up or down.
pub(crate) const UP: u8 = 4;
pub(crate) const DOWN: u8 = 0;

/// The table, in the order in which titles were first judged.
pub(crate) struct Judgments {
    path: PathBuf,
    rows: Mutex<Vec<Row>>,
    /// A second service would write the table without the rows of this one.
    _claim: Claim,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    query: String,
    id: String,
    title: String,
    grade: u8,
}

impl Judgments {
    /// Claims the table and reads it, if there is one.
    pub(crate) fn open(path: &Path) -> Result<Judgments> {
        refuse_special(path)?;
        let claim = Claim::new(path)?;
        let rows = match File::open(path) {
            Ok(file) => rows_of(BufReader::new(file), path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::io(path, "read", source).into()),
        };
        Ok(Judgments { path: path.to_owned(), rows: Mutex::new(rows), _claim: claim })
    }

    /// Keeps a grade, or takes it back. A title that is judged again for a query has the last grade, and every row of the title has
    /// its last text, since `evaluate` refuses two texts of one id. When this returns, the table is on the disk, whole. Returns the
    /// number of judgments.
    pub(crate) fn judge(&self, query: &str, id: &str, title: &str, grade: Option<u8>) -> clickvec::Result<usize> {
        let [query, id, title] = [query, id, title].map(plain);
        let mut rows = self.rows.lock().expect("no holder panics");
        let mut changed = rows.clone();
        changed.iter_mut().filter(|row| row.id == id).for_each(|row| row.title.clone_from(&title));
        let place = changed.iter().position(|row| row.query == query && row.id == id);
        match (place, grade) {
            (Some(place), Some(grade)) => changed[place] = Row { query, id, title, grade },
            (Some(place), None) => drop(changed.remove(place)),
            (None, Some(grade)) => changed.push(Row { query, id, title, grade }),
            (None, None) => return Ok(rows.len()),
        }
        let mut text = format!("{HEADER}\n");
        for Row { query, id, title, grade } in &changed {
            text += &format!("{query}\t{id}\t{title}\t{grade}\n");
        }
        write_bytes_atomically(&self.path, text.as_bytes())?;
        *rows = changed;
        Ok(rows.len())
    }
}

/// The rows of a table, which may be empty.
fn rows_of(source: impl BufRead, path: &Path) -> Result<Vec<Row>> {
    let failed = |source| Error::io(path, "read", source);
    let (mut lines, mut line, mut rows) = (Lines::new(source, MAX_LINE_BYTES), Vec::new(), Vec::new());
    loop {
        let found = lines.next(&mut line).map_err(failed)?;
        let row = match found {
            FoundLine::End => return Ok(rows),
            FoundLine::TooLong => {
                Err(fault(format!("a line of at most {MAX_LINE_BYTES} bytes"), "a longer one".to_owned()))
            }
            FoundLine::Whole => match std::str::from_utf8(&line) {
                Ok(text) if lines.number() == 1 => header(text).map(|()| None),
                Ok(text) => row(text).map(Some),
                Err(error) => Err(fault(
                    "UTF-8".to_owned(),
                    format!("another byte at position {} of the line", error.valid_up_to() + 1),
                )),
            },
        };
        rows.extend(row.map_err(|error| error.at_line(path, lines.number()))?);
    }
}

fn header(text: &str) -> Result<(), Error> {
    let expected = || "the columns query, title_id, title, grade and no other".to_owned();
    if text == HEADER { Ok(()) } else { Err(fault(expected(), shown(text))) }
}

fn row(text: &str) -> Result<Row, Error> {
    let [query, id, title, grade] = *text.split('\t').collect::<Vec<_>>() else {
        let found = format!("{}: {}", text.split('\t').count(), shown(text));
        return Err(fault("four fields".to_owned(), found));
    };
    match grade.parse() {
        Ok(grade @ 0..=4) => Ok(Row { query: query.to_owned(), id: id.to_owned(), title: title.to_owned(), grade }),
        _ => Err(fault("a grade from 0 to 4".to_owned(), shown(grade))),
    }
}

fn fault(expected: String, found: String) -> Error {
    let help = "name a file that the service alone writes, or a new one";
    Error::expected(ErrorKind::Malformed, expected, found).help(help)
}

/// A line as messages show it.
fn shown(line: &str) -> String {
    quoted(&line.replace('\t', ", "))
}

/// A text without what a table cannot hold, and without spaces that say nothing.
fn plain(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgments_are_kept_changed_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        let judgments = Judgments::open(&path).unwrap();
        assert_eq!(judgments.judge("red\tshoe", "a", "Shoe\n in red", Some(UP)).unwrap(), 1);
        assert_eq!(judgments.judge("red shoe", "b", "Boot", Some(DOWN)).unwrap(), 2);
        assert_eq!(judgments.judge("red shoe", "a", "Shoe in red", Some(3)).unwrap(), 2);
        let Err(second) = Judgments::open(&path) else { panic!("two services would lose each other's rows") };
        assert!(second.to_string().contains("another process writes to this output"), "{second}");
        drop(judgments);
        let again = Judgments::open(&path).unwrap();
        assert_eq!(again.judge("red shoe", "b", "Boot", None).unwrap(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\nred shoe\ta\tShoe in red\t3\n"));
        // The title has another text by now.
        assert_eq!(again.judge("shoe", "a", "Red shoe", Some(UP)).unwrap(), 2);
        let expected = format!("{HEADER}\nred shoe\ta\tRed shoe\t3\nshoe\ta\tRed shoe\t4\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn another_table_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        for text in [
            "id\ttitle\n",
            "query\ttitle_id\ttitle\tgrade\tkind\n",
            "\u{1b}[2J\n",
            &format!("{HEADER}\na\tb\tc\t9\n"),
            &format!("{HEADER}\na\tb\n"),
        ] {
            std::fs::write(&path, text).unwrap();
            let Err(error) = Judgments::open(&path) else { panic!("{text}") };
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
            assert!(!error.to_string().contains('\u{fffd}') || text.contains('\u{1b}'), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_line_that_is_no_text_or_has_no_end_is_told_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        std::fs::write(&path, [HEADER.as_bytes(), b"\na\t\xff\tc\t4\n"].concat()).unwrap();
        let Err(error) = Judgments::open(&path) else { panic!("it is no text") };
        assert!(
            error.to_string().contains("judged.tsv:2: expected UTF-8, found another byte at position 3"),
            "{error}"
        );
        // A file with a hole: nothing but zeros, and none of them on the disk.
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_LINE_BYTES as u64 + 1).unwrap();
        let Err(error) = Judgments::open(&path) else { panic!("it has no end") };
        assert!(error.to_string().contains("judged.tsv:1: expected a line of at most"), "{error}");
    }
}
