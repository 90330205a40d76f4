//! Judgments of people who search: a table of query, title and grade, which `evaluate` takes.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clickvec_tables::files::{Claim, write_bytes_atomically};
use clickvec_tables::table::{Format, Options, Record, Table, Width, shown_names};
use clickvec_tables::{Error, ErrorKind};

use crate::error::{Result, refuse_special};
use crate::fault::quoted;

const COLUMNS: [&str; 4] = ["query", "title_id", "title", "grade"];
const HELP: &str = "name a file that the service alone writes, or a new one";
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
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => Vec::new(),
            Ok(file) => read_rows(file, path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::io(path, "read", source)),
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
        let found = changed.iter().position(|row| row.query == query && row.id == id);
        match (found, grade) {
            (Some(row), Some(grade)) => changed[row] = Row { query, id, title, grade },
            (Some(row), None) => drop(changed.remove(row)),
            (None, Some(grade)) => changed.push(Row { query, id, title, grade }),
            (None, None) => return Ok(rows.len()),
        }
        let mut text = COLUMNS.join("\t") + "\n";
        for Row { query, id, title, grade } in &changed {
            text += &format!("{query}\t{id}\t{title}\t{grade}\n");
        }
        write_bytes_atomically(&self.path, text.as_bytes())?;
        *rows = changed;
        Ok(rows.len())
    }
}

/// Reads the rows of a table, which may be empty.
fn read_rows(file: File, path: &Path) -> Result<Vec<Row>, Error> {
    let (format, width) = (Some(Format::Tsv), Width::Header);
    let mut table =
        Table::read(path, Box::new(BufReader::new(file)), &Options { format, width, ..Options::default() })?;
    if !table.names().iter().map(String::as_str).eq(COLUMNS) {
        let expected = format!("the columns {} and no other", COLUMNS.join(", "));
        return Err(fault(expected, shown_names(table.names())).at_line(path, 1));
    }
    for column in COLUMNS {
        table.require(column)?;
    }
    let (mut rows, mut record) = (Vec::new(), Record::default());
    while table.next_row(&mut record).map_err(|error| error.help(HELP))? {
        let [query, id, title, grade] = [0, 1, 2, 3].map(|column| record.get(column).unwrap_or_default());
        let Some(grade) = grade.parse().ok().filter(|grade| *grade <= UP) else {
            return Err(fault("a grade from 0 to 4".to_owned(), quoted(grade)).at_line(path, record.line));
        };
        rows.push(Row { query: query.to_owned(), id: id.to_owned(), title: title.to_owned(), grade });
    }
    Ok(rows)
}

fn fault(expected: String, found: String) -> Error {
    Error::expected(ErrorKind::Malformed, expected, found).help(HELP)
}

/// Returns a text without what a table cannot hold, and without spaces that say nothing.
fn plain(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clickvec_tables::table::MAX_LINE_BYTES;

    use super::*;

    const HEADER: &str = "query\ttitle_id\ttitle\tgrade";

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
        let reopened = Judgments::open(&path).unwrap();
        assert_eq!(reopened.judge("red shoe", "b", "Boot", None).unwrap(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\nred shoe\ta\tShoe in red\t3\n"));
        // The title has another text by now.
        assert_eq!(reopened.judge("shoe", "a", "Red shoe", Some(UP)).unwrap(), 2);
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
        assert!(error.to_string().contains("judged.tsv: expected a header of at most"), "{error}");
    }
}
