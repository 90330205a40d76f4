//! A sheet of titles and the grades that people give them: a table of query, title and grade, which `evaluate` takes.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{Claim, write_bytes_atomically};
use clickvec_tables::table::{Format, Options, Record, RowFault, Table, Width, shown_names};
use clickvec_tables::{Error, ErrorKind};

use crate::error::{Result, refuse_special};
use crate::fault::quoted;

const COLUMNS: [&str; 4] = ["query", "title_id", "title", "grade"];
const HELP: &str = "name a sheet that this program wrote, or a new file";
/// The grades of a thumb that points up or down, which are the best and the worst.
pub(crate) const UP: u8 = 4;
pub(crate) const DOWN: u8 = 0;

/// A sheet, in the order in which titles came to it. No other process can write to it meanwhile.
pub struct Sheet {
    path: PathBuf,
    rows: Vec<SheetRow>,
    /// A second process would write the table without the rows of this one.
    _claim: Claim,
}

/// A title to grade for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetRow {
    /// The query.
    pub query: String,
    /// The title's id.
    pub id: String,
    /// The title.
    pub title: String,
    /// The grade from 0 to 4, if the title has one.
    pub grade: Option<u8>,
}

impl SheetRow {
    /// Creates a row without what a table cannot hold.
    pub fn new(query: &str, id: &str, title: &str, grade: Option<u8>) -> SheetRow {
        let [query, id, title] = [query, id, title].map(plain);
        SheetRow { query, id, title, grade }
    }

    fn is_of(&self, other: &SheetRow) -> bool {
        self.query == other.query && self.id == other.id
    }
}

impl Sheet {
    /// Claims the table and reads it, if there is one.
    ///
    /// # Errors
    ///
    /// Another process has it, or the file is another table.
    pub fn open(path: &Path) -> Result<Sheet> {
        refuse_special(path)?;
        let claim = Claim::new(path)?;
        let rows = match File::open(path) {
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => Vec::new(),
            Ok(file) => read_rows(file, path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(Error::io(path, "read", source)),
        };
        Ok(Sheet { path: path.to_owned(), rows, _claim: claim })
    }

    /// Returns all rows.
    pub fn rows(&self) -> &[SheetRow] {
        &self.rows
    }

    /// Returns the number of titles with a grade.
    pub fn graded(&self) -> usize {
        self.rows.iter().filter(|row| row.grade.is_some()).count()
    }

    /// Adds titles, except those that it has for the same query. When this returns, the table is on the disk, whole.
    ///
    /// # Errors
    ///
    /// It cannot be written. Then nothing has changed.
    pub fn add(&mut self, rows: Vec<SheetRow>) -> Result<()> {
        let mut changed = self.rows.clone();
        let known: HashSet<(&str, &str)> = self.rows.iter().map(|row| (&*row.query, &*row.id)).collect();
        changed.extend(rows.into_iter().filter(|row| !known.contains(&(&*row.query, &*row.id))));
        let titles: HashMap<String, String> = changed.iter().map(|row| (row.id.clone(), row.title.clone())).collect();
        changed.iter_mut().for_each(|row| row.title.clone_from(&titles[&row.id]));
        self.replace(changed)
    }

    /// Sets the grade of a title, which is added if it is new. A title that is graded again for a query has the last grade, and
    /// every row of the title has its last text, since `evaluate` refuses two texts of one id. When this returns, the table is on
    /// the disk, whole.
    ///
    /// # Errors
    ///
    /// The grade is above 4, or the table cannot be written. Then nothing has changed.
    pub fn grade(&mut self, row: SheetRow) -> Result<()> {
        if let Some(grade) = row.grade.filter(|grade| *grade > UP) {
            return Err(fault("a grade from 0 to 4".to_owned(), quoted(&grade.to_string())));
        }
        let mut changed = self.rows.clone();
        changed.iter_mut().filter(|other| other.id == row.id).for_each(|other| other.title.clone_from(&row.title));
        match changed.iter_mut().find(|other| other.is_of(&row)) {
            Some(found) => *found = row,
            None => changed.push(row),
        }
        self.replace(changed)
    }

    /// Removes the row of a title, if it has one.
    pub(crate) fn take_back(&mut self, row: &SheetRow) -> Result<()> {
        if !self.rows.iter().any(|other| other.is_of(row)) {
            return Ok(());
        }
        self.replace(self.rows.iter().filter(|other| !other.is_of(row)).cloned().collect())
    }

    fn replace(&mut self, rows: Vec<SheetRow>) -> Result<()> {
        let mut text = COLUMNS.join("\t") + "\n";
        for SheetRow { query, id, title, grade } in &rows {
            let grade = grade.map_or_else(String::new, |grade| grade.to_string());
            text += &format!("{query}\t{id}\t{title}\t{grade}\n");
        }
        create_private(&self.path)?;
        write_bytes_atomically(&self.path, text.as_bytes())?;
        self.rows = rows;
        Ok(())
    }
}

/// Creates a file that only its owner can read, unless it is there: queries are personal.
fn create_private(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::io(path, "write", error)),
        _ => Ok(()),
    }
}

/// Reads the rows of a table, which may be empty.
fn read_rows(file: File, path: &Path) -> Result<Vec<SheetRow>> {
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
    let (mut rows, mut record) = (Vec::<SheetRow>::new(), Record::default());
    let mut lines: HashMap<(String, String), u64> = HashMap::new();
    while table.next_row(&mut record).map_err(|error| error.help(HELP))? {
        let [query, id, title, grade] = [0, 1, 2, 3].map(|column| record.get(column).unwrap_or_default());
        let grade = read_grade(grade).map_err(|fault| fault.at_line(path, record.line))?;
        let row = SheetRow { grade, ..SheetRow::new(query, id, title, None) };
        if let Some(first) = lines.insert((row.query.clone(), row.id.clone()), record.line) {
            let expected = "one row for each title of a query".to_owned();
            return Err(fault(expected, format!("that of line {first} again")).at_line(path, record.line));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Reads a grade, or nothing.
fn read_grade(field: &str) -> Result<Option<u8>, RowFault> {
    // Programs that keep numbers as floats write a grade as 1.0.
    let number = field.trim();
    if number.is_empty() {
        return Ok(None);
    }
    match number.strip_suffix(".0").unwrap_or(number).parse() {
        Ok(grade) if grade <= UP => Ok(Some(grade)),
        _ => Err(RowFault::expected("bad grade", "a grade from 0 to 4 or nothing", quoted(number))),
    }
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

    /// Grades a title, or takes its grade back, as the service does.
    fn judge(sheet: &mut Sheet, query: &str, id: &str, title: &str, grade: Option<u8>) -> usize {
        let row = SheetRow::new(query, id, title, grade);
        if grade.is_some() {
            sheet.grade(row).unwrap()
        } else {
            sheet.take_back(&row).unwrap()
        }
        sheet.graded()
    }

    #[test]
    fn judgments_are_kept_changed_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        let mut sheet = Sheet::open(&path).unwrap();
        assert_eq!(judge(&mut sheet, "red\tshoe", "a", "Shoe\n in red", Some(UP)), 1);
        assert_eq!(judge(&mut sheet, "red shoe", "b", "Boot", Some(DOWN)), 2);
        assert_eq!(judge(&mut sheet, "red shoe", "a", "Shoe in red", Some(3)), 2);
        let Err(second) = Sheet::open(&path) else { panic!("two services would lose each other's rows") };
        assert!(second.to_string().contains("another process writes to this output"), "{second}");
        drop(sheet);
        let mut reopened = Sheet::open(&path).unwrap();
        assert_eq!(judge(&mut reopened, "red shoe", "b", "Boot", None), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\nred shoe\ta\tShoe in red\t3\n"));
        // The title has another text by now.
        assert_eq!(judge(&mut reopened, "shoe", "a", "Red shoe", Some(UP)), 2);
        let expected = format!("{HEADER}\nred shoe\ta\tRed shoe\t3\nshoe\ta\tRed shoe\t4\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn another_table_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        for text in [
            "id\ttitle\n",
            &format!("{HEADER}\na\tb\tc\t1\na\tb\tc\t2\n"),
            "query\ttitle_id\ttitle\tgrade\tkind\n",
            "\u{1b}[2J\n",
            &format!("{HEADER}\na\tb\tc\t9\n"),
            &format!("{HEADER}\na\tb\n"),
        ] {
            std::fs::write(&path, text).unwrap();
            let Err(error) = Sheet::open(&path) else { panic!("{text}") };
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
            assert!(!error.to_string().contains('\u{fffd}') || text.contains('\u{1b}'), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn titles_wait_for_their_grades() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.tsv");
        std::fs::write(&path, format!("{HEADER}\nshoe\ta\tShoe\t3.0\nboot\tx\tOther\t\n")).unwrap();
        let mut sheet = Sheet::open(&path).unwrap();
        let row = |id: &str, title: &str| SheetRow::new("shoe", id, title, None);
        sheet.add(vec![row("a", "Red shoe"), row("b", "Boot")]).unwrap();
        let expected = format!("{HEADER}\nshoe\ta\tShoe\t3\nboot\tx\tOther\t\nshoe\tb\tBoot\t\n");
        assert_eq!((std::fs::read_to_string(&path).unwrap(), sheet.graded()), (expected, 1));
        sheet.grade(row("a", "Shoe")).unwrap();
        assert_eq!((sheet.rows().len(), sheet.graded()), (3, 0));
        let error = sheet.grade(SheetRow { grade: Some(5), ..row("a", "Shoe") }).unwrap_err();
        assert!(error.to_string().starts_with("expected a grade from 0 to 4, found `5`"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn only_its_owner_reads_a_new_sheet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.tsv");
        Sheet::open(&path).unwrap().add(vec![SheetRow::new("a", "b", "c", None)]).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_line_that_is_no_text_or_has_no_end_is_told_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        std::fs::write(&path, [HEADER.as_bytes(), b"\na\t\xff\tc\t4\n"].concat()).unwrap();
        let Err(error) = Sheet::open(&path) else { panic!("it is no text") };
        assert!(
            error.to_string().contains("judged.tsv:2: expected UTF-8, found another byte at position 3"),
            "{error}"
        );
        // A file with a hole: nothing but zeros, and none of them on the disk.
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_LINE_BYTES as u64 + 1).unwrap();
        let Err(error) = Sheet::open(&path) else { panic!("it has no end") };
        assert!(error.to_string().contains("judged.tsv: expected a header of at most"), "{error}");
    }
}
