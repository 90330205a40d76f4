//! A sheet of titles and the grades that people give them: a table of query, title and grade, which `evaluate` takes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{Claim, open_private, write_bytes_atomically};
use clickvec_tables::table::{
    Format, MAX_LINE_BYTES, Next, Options, Record, RowFault, Table, Width, parse_grade, shown_names,
};
use clickvec_tables::{Error, ErrorKind};
use serde_json::json;

use crate::error::{Result, refuse_special};
use crate::fault::quoted;
use crate::growing::{GrowingFile, end_of_lines, put_aside};
use crate::log::Log;

const COLUMNS: [&str; 4] = ["query", "title_id", "title", "grade"];
/// A line without its end is read up to here.
const LINE_BYTES: u64 = MAX_LINE_BYTES as u64;
/// What the service's log calls what it is told of a table.
const EVENT: &str = "judgments";
const HELP: &str = "name a sheet that this program wrote, or a new file";
/// The grades of a thumb that points up or down, which are the best and the worst.
pub(crate) const UP: u8 = 4;
pub(crate) const DOWN: u8 = 0;

/// A sheet, in the order in which titles came to it. No other process can write to it meanwhile.
///
/// A title that is new is appended to the table; a change of what the table has writes it anew. What another program has done to the
/// table is noticed before each change: rows that it added or changed are taken in, and those that it removed are written anew.
pub struct Sheet {
    path: PathBuf,
    rows: Vec<SheetRow>,
    /// The number of each row, by query and id.
    numbers: HashMap<(String, String), usize>,
    /// The text of each id.
    titles: HashMap<String, String>,
    graded: usize,
    /// The file as this process left or found it, if there is one.
    file: Option<GrowingFile>,
    /// Whether this process wrote it, so that rows can be appended: another may have other forms of grades, or no line end.
    is_own: bool,
    /// Whether lines that cannot be read are put aside; otherwise they are refused.
    mends: bool,
    /// What could not be read of the table when it was opened.
    put_aside: Option<PathBuf>,
    /// The service's log.
    log: Log,
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

    fn key(&self) -> (String, String) {
        (self.query.clone(), self.id.clone())
    }

    fn write(&self, table: &mut String) {
        let SheetRow { query, id, title, grade } = self;
        let grade = grade.map_or_else(String::new, |grade| grade.to_string());
        *table += &format!("{query}\t{id}\t{title}\t{grade}\n");
    }
}

impl Sheet {
    /// Claims the table and reads it, if there is one. A last line that a kill has cut is put aside.
    ///
    /// # Errors
    ///
    /// Another process has it, the file is another table, or a row cannot be read.
    pub fn open(path: &Path) -> Result<Sheet> {
        Sheet::new(path, false, Log::nowhere())
    }

    /// [`Sheet::open`] for a service, which starts with a damaged table too: the file is put aside as it was, the rows that can be read
    /// stay, and the log says so.
    pub(crate) fn open_mended(path: &Path, log: Log) -> Result<Sheet> {
        Sheet::new(path, true, log)
    }

    fn new(path: &Path, mends: bool, log: Log) -> Result<Sheet> {
        refuse_special(path)?;
        let mut sheet = Sheet {
            path: path.to_owned(),
            rows: Vec::new(),
            numbers: HashMap::new(),
            titles: HashMap::new(),
            graded: 0,
            file: None,
            is_own: false,
            mends,
            put_aside: None,
            log,
            _claim: Claim::new(path)?,
        };
        sheet.take_in()?;
        if sheet.put_aside.is_some() {
            sheet.replace(sheet.rows.clone())?;
        }
        Ok(sheet)
    }

    /// Reads the file and takes in its rows: one that this process has too is as the file has it.
    fn take_in(&mut self) -> Result<()> {
        let path = self.path.clone();
        let failed = |source| Error::io(&path, "read", source);
        self.is_own = false;
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(failed)?,
        };
        let size = file.metadata().map_err(failed)?.len();
        let (mut read, mut damage) = (Vec::new(), None);
        if size > 0 {
            // Part of a header is no header of another table.
            let is_part = end_of_lines(&file).map_err(failed)? == 0;
            let (lines, is_cut) = complete_lines(file.try_clone().map_err(failed)?).map_err(failed)?;
            damage = is_cut.then(|| "a last line without its end".to_owned());
            read = read_rows(lines, &path, |error| {
                let is_damage = error.kind() == ErrorKind::Malformed || is_part && error.kind() == ErrorKind::Mismatch;
                if !(self.mends && is_damage) {
                    return Err(error.help(HELP));
                }
                damage.get_or_insert_with(|| error.to_string());
                Ok(())
            })?;
        }
        if let Some(reason) = damage {
            self.put_aside = Some(put_aside(&file, 0, &path, &self.log, EVENT, &reason).map_err(failed)?);
        }
        self.file = Some(GrowingFile { file, size });
        let mut rows = std::mem::take(&mut self.rows);
        for row in read {
            match self.numbers.get(&row.key()) {
                Some(&number) => rows[number] = row,
                None => rows.push(row),
            }
        }
        self.take(rows);
        Ok(())
    }

    /// Takes in what another program has done to the file, and writes it anew with all rows.
    fn follow(&mut self) -> Result<()> {
        let is_changed = match &self.file {
            None => self.path.try_exists(),
            Some(file) => file.is_gone(&self.path).and_then(|is_gone| Ok(is_gone || file.is_changed()?)),
        };
        if is_changed.map_err(|source| Error::io(&self.path, "read", source))? {
            let reason =
                "another program has removed or changed the file; its rows are merged and the table is rewritten";
            self.log.event(EVENT, json!({"reason": reason}));
            self.take_in()?;
            self.replace(self.rows.clone())?;
        }
        Ok(())
    }

    /// Returns the file with what could not be read of the table, if there was such.
    pub fn put_aside(&self) -> Option<&Path> {
        self.put_aside.as_deref()
    }

    /// Returns all rows.
    pub fn rows(&self) -> &[SheetRow] {
        &self.rows
    }

    /// Returns the number of titles with a grade.
    pub fn graded(&self) -> usize {
        self.graded
    }

    /// Adds titles, except those that it has for the same query. When this returns, the table is on the disk, whole.
    ///
    /// # Errors
    ///
    /// It cannot be written. Then nothing has changed.
    pub fn add(&mut self, rows: Vec<SheetRow>) -> Result<()> {
        self.follow()?;
        let mut changed = self.rows.clone();
        changed.extend(rows.into_iter().filter(|row| !self.numbers.contains_key(&row.key())));
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
            return Err(Error::expected(ErrorKind::Malformed, "a grade from 0 to 4", quoted(&grade.to_string())));
        }
        self.follow()?;
        let number = self.numbers.get(&row.key()).copied();
        let has_its_title = self.titles.get(&row.id).is_none_or(|title| *title == row.title);
        match number {
            None if has_its_title => return self.append(row),
            Some(number) if self.is_own && self.rows[number] == row => return Ok(()),
            _ => {}
        }
        let mut changed = self.rows.clone();
        changed.iter_mut().filter(|other| other.id == row.id).for_each(|other| other.title.clone_from(&row.title));
        match number {
            Some(number) => changed[number] = row,
            None => changed.push(row),
        }
        self.replace(changed)
    }

    /// Removes the row of a title, if it has one.
    pub(crate) fn take_back(&mut self, row: &SheetRow) -> Result<()> {
        self.follow()?;
        let Some(&number) = self.numbers.get(&row.key()) else { return Ok(()) };
        let mut changed = self.rows.clone();
        changed.remove(number);
        self.replace(changed)
    }

    /// Appends a row to the table.
    fn append(&mut self, row: SheetRow) -> Result<()> {
        let mut line = String::new();
        row.write(&mut line);
        let file = match &mut self.file {
            Some(file) if self.is_own => file,
            _ => return self.replace([&self.rows[..], &[row]].concat()),
        };
        file.write(line.as_bytes()).map_err(|source| Error::io(&self.path, "write", source))?;
        self.know(row);
        // It may have been deleted meanwhile, and this row with it.
        self.follow()
    }

    fn replace(&mut self, rows: Vec<SheetRow>) -> Result<()> {
        let failed = |source| Error::io(&self.path, "write", source);
        let table = table_of(&rows);
        open_private(&self.path).map_err(failed)?;
        write_bytes_atomically(&self.path, table.as_bytes())?;
        self.file = Some(GrowingFile::open(&self.path, table.len() as u64).map_err(failed)?);
        self.is_own = true;
        self.take(rows);
        Ok(())
    }

    fn take(&mut self, rows: Vec<SheetRow>) {
        (self.rows, self.numbers, self.titles, self.graded) = Default::default();
        rows.into_iter().for_each(|row| self.know(row));
    }

    fn know(&mut self, row: SheetRow) {
        self.numbers.insert(row.key(), self.rows.len());
        self.titles.insert(row.id.clone(), row.title.clone());
        self.graded += usize::from(row.grade.is_some());
        self.rows.push(row);
    }
}

/// Returns the table of some rows.
fn table_of(rows: &[SheetRow]) -> String {
    let mut table = COLUMNS.join("\t") + "\n";
    rows.iter().for_each(|row| row.write(&mut table));
    table
}

/// Returns a reader of a table without a last line that a kill has cut, and whether there is one: it has no end, and not all columns.
fn complete_lines(mut file: File) -> io::Result<(io::Take<File>, bool)> {
    let (length, end) = (file.metadata()?.len(), end_of_lines(&file)?);
    file.seek(SeekFrom::Start(end))?;
    let mut last = Vec::new();
    (&file).take(LINE_BYTES).read_to_end(&mut last)?;
    file.seek(SeekFrom::Start(0))?;
    let is_cut = end > 0 && end < length && last.iter().filter(|&&byte| byte == b'\t').count() + 1 < COLUMNS.len();
    Ok((file.take(if is_cut { end } else { length }), is_cut))
}

/// Reads the rows of a table, which may be empty. `broken` refuses those that cannot be read, or leaves them out, and all of another
/// table. Of two rows of one title for a query, the second counts.
fn read_rows(
    file: impl Read + Send + 'static,
    path: &Path,
    mut broken: impl FnMut(Error) -> Result<()>,
) -> Result<Vec<SheetRow>> {
    let (format, width) = (Some(Format::Tsv), Width::Header);
    let options = Options { format, width, ..Options::default() };
    let table = Table::read(path, Box::new(BufReader::new(file)), &options).and_then(|table| {
        if table.names().iter().map(String::as_str).eq(COLUMNS) {
            return Ok(table);
        }
        // A header with queries belongs to another table, which stays as it is; without one, the first row is taken for the header.
        let is_other = table.names().iter().any(|name| name == COLUMNS[0]);
        let kind = if is_other { ErrorKind::Mismatch } else { ErrorKind::Malformed };
        let expected = format!("the columns {} and no other", COLUMNS.join(", "));
        Err(Error::expected(kind, expected, shown_names(table.names())).at_line(path, 1))
    });
    let mut table = match table {
        Ok(table) => table,
        Err(error) => return broken(error).map(|()| Vec::new()),
    };
    for column in COLUMNS {
        table.require(column)?;
    }
    let (mut rows, mut record) = (Vec::<SheetRow>::new(), Record::default());
    let mut lines: HashMap<(String, String), (u64, usize)> = HashMap::new();
    loop {
        let row = match table.next(&mut record)? {
            Next::End => return Ok(rows),
            Next::Header => continue,
            Next::Broken(fault) => Err(fault),
            Next::Row => read_row(&record),
        };
        let row = match row {
            Ok(row) => row,
            Err(fault) => {
                broken(fault.at_line(path, record.line))?;
                continue;
            }
        };
        match lines.insert(row.key(), (record.line, rows.len())) {
            None => rows.push(row),
            Some((first, number)) => {
                let (expected, found) = ("one row for each title of a query", format!("that of line {first} again"));
                broken(RowFault::expected("repeated row", expected, found).at_line(path, record.line))?;
                lines.insert(row.key(), (record.line, number));
                rows[number] = row;
            }
        }
    }
}

fn read_row(record: &Record) -> Result<SheetRow, RowFault> {
    let [query, id, title, grade] = [0, 1, 2, 3].map(|column| record.get(column).unwrap_or_default());
    Ok(SheetRow { grade: read_grade(grade)?, ..SheetRow::new(query, id, title, None) })
}

/// Reads a grade, or nothing.
fn read_grade(field: &str) -> Result<Option<u8>, RowFault> {
    match parse_grade(field, UP) {
        None if !field.trim().is_empty() => {
            Err(RowFault::expected("bad grade", "a grade from 0 to 4 or nothing", quoted(field.trim())))
        }
        grade => Ok(grade),
    }
}

/// Returns a text without what a table cannot hold, and without spaces that say nothing.
fn plain(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
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
    fn new_judgments_are_appended_and_a_cut_one_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judged.tsv");
        std::fs::write(&path, format!("{HEADER}\nshoe\ta\tShoe\t3.0")).unwrap();
        let mut sheet = Sheet::open(&path).unwrap();
        judge(&mut sheet, "shoe", "b", "Boot", Some(1));
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole, format!("{HEADER}\nshoe\ta\tShoe\t3\nshoe\tb\tBoot\t1\n"));
        let other = File::open(&path).unwrap();
        judge(&mut sheet, "shoe", "c", "Clog", Some(2));
        // The file is the same one: it was not written anew.
        assert_eq!(other.metadata().unwrap().len(), whole.len() as u64 + "shoe\tc\tClog\t2\n".len() as u64);
        drop(sheet);
        std::fs::write(&path, whole.clone() + "shoe\td\tSan").unwrap();
        let mut sheet = Sheet::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(sheet.put_aside().unwrap()).unwrap(), whole.clone() + "shoe\td\tSan");
        assert_eq!(judge(&mut sheet, "shoe", "e", "Slipper", Some(0)), 3);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole + "shoe\te\tSlipper\t0\n");
    }

    /// What programs that rotate files do, and people who tidy up, while the service runs.
    #[cfg(unix)]
    #[test]
    fn what_other_programs_do_to_the_table_loses_no_judgment() {
        let append = |path: &Path, bytes: &[u8]| {
            std::io::Write::write_all(&mut File::options().append(true).open(path).unwrap(), bytes).unwrap();
        };
        let cut = |path: &Path, size| File::options().write(true).open(path).unwrap().set_len(size).unwrap();
        let one = format!("{HEADER}\none\ta\tA\t1\n");
        type Doing<'a> = &'a dyn Fn(&Path);
        let doings: [(Doing, &str, bool); 8] = [
            (&|path| std::fs::remove_file(path).unwrap(), "", false),
            (&|path| std::fs::rename(path, path.with_extension("1")).unwrap(), "", false),
            (&|path| cut(path, 0), "", false),
            (&|path| cut(path, 5), "", true),
            (&|path| cut(path, one.len() as u64 - 3), "", true),
            (&|path| append(path, b"other\tb\tB\t2\n"), "other\tb\tB\t2\n", false),
            (&|path| append(path, b"\0\0\0\nother\tb\tB\t2\n"), "other\tb\tB\t2\n", true),
            (
                &|path| {
                    std::fs::write(path.with_extension("new"), format!("{HEADER}\nother\tb\tB\t2\n")).unwrap();
                    std::fs::rename(path.with_extension("new"), path).unwrap();
                },
                "other\tb\tB\t2\n",
                false,
            ),
        ];
        for (number, (doing, other, is_damaged)) in doings.into_iter().enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("judgments.tsv");
            let mut sheet = Sheet::open_mended(&path, Log::nowhere()).unwrap();
            judge(&mut sheet, "one", "a", "A", Some(1));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), one);
            doing(&path);
            // One that is judged as before is on the disk too.
            judge(&mut sheet, "one", "a", "A", Some(1));
            let then = one.clone() + other;
            assert_eq!(std::fs::read_to_string(&path).unwrap(), then, "{number}");
            judge(&mut sheet, "two", "c", "C", Some(3));
            let then = then + "two\tc\tC\t3\n";
            assert_eq!(std::fs::read_to_string(&path).unwrap(), then, "{number}");
            assert_eq!(sheet.put_aside().is_some(), is_damaged, "{number}");
            drop(sheet);
            assert_eq!(Sheet::open(&path).unwrap().rows().len(), then.lines().count() - 1);
        }
    }

    #[test]
    fn a_service_puts_a_damaged_table_aside_and_starts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judgments.tsv");
        let row = "one\ta\tA\t1\n";
        let damaged = [
            ("\0".repeat(100) + row, ""),
            ("query\tti".to_owned(), ""),
            (format!("{HEADER}\n{row}two\tb"), row),
            (format!("{HEADER}\na\tb\n{row}two\tb\tB\t9\n"), row),
            (format!("{HEADER}\n\0\tb\tB\t2\n{row}"), row),
            (format!("{HEADER}\none\ta\tA\t3\n{row}"), row),
            // Its header was cut off.
            (row.to_owned(), ""),
            ("id\ttitle\n".to_owned(), ""),
        ];
        for (before, rest) in damaged {
            std::fs::write(&path, &before).unwrap();
            let sheet = Sheet::open_mended(&path, Log::nowhere()).unwrap();
            assert_eq!(std::fs::read_to_string(sheet.put_aside().unwrap()).unwrap(), before);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n{rest}"));
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
