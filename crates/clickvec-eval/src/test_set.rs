//! Test sets in any form: a table of judged titles, TREC qrels with topics and titles, or a BEIR folder.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::judgments::{JudgedQuery, JudgedTitle, Judgments, read_judged, require_grade};
use super::topics::{Topic, read_topics};
use super::trec::{Qrel, Seen, qrel_grade, read_qrels};
use clickvec_tables::shown::{listed, shortened};
use clickvec_tables::table::{Format, Options, Record, RowFault, SHOWN_SKIPPED_LINES, Table, has_quotes, plain_name};
use clickvec_tables::titles::{CORPUS, TitleReader, Titles, beir_file, not_beir, repeated_id};
use clickvec_tables::{Error, ErrorKind, Result, files};

/// The queries of a BEIR folder.
const QUERIES: &str = "queries.jsonl";
/// The judgments of a BEIR folder, with a file for each split.
const QRELS: &str = "qrels";
/// The split on which systems are compared.
const TEST: &str = "test.tsv";
/// How many names of files a message shows.
const SHOWN_NAMES: usize = 10;
/// Other usual names of the column `title_id`.
const IDS: [&str; 5] = ["titleid", "docid", "documentid", "itemid", "productid"];
/// The columns of BEIR judgments.
const BEIR_COLUMNS: [&str; 3] = ["query-id", "corpus-id", "score"];

/// The files of a test set.
#[derive(Debug, Clone)]
pub struct TestSetFiles<'a> {
    /// A table of judged titles, TREC qrels, a BEIR folder, or a file of judgments in one.
    pub judged: &'a Path,
    /// The texts of the queries, for TREC qrels.
    pub topics: Option<&'a Path>,
    /// The texts of the titles, for TREC qrels; other forms include them. A table without `title_id` takes ids from here,
    /// unless it is a pipe.
    pub titles: Option<Titles>,
    /// The column or member with the texts of titles.
    pub field: &'a str,
}

/// A test set, with counts of what was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSet {
    /// The test set.
    pub judgments: Judgments,
    /// The form of its files.
    pub form: Form,
    /// Whether titles have ids of their own. Otherwise they are numbered and matched by text.
    pub title_ids: bool,
    /// Judged queries that were left out because they have no text.
    pub queries_without_text: Ids,
    /// Judged titles that were left out because they have no text.
    pub titles_without_text: Ids,
    /// Queries that were left out because they have no title left.
    pub queries_without_titles: Ids,
    /// Queries without judgments.
    pub queries_without_judgments: Ids,
    /// The number of titles without a title text in a BEIR corpus, which are judged by their body text.
    pub untitled: u64,
    /// The number of negative grades, which are read as 0.
    pub negative_grades: u64,
}

/// The form of a test set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A table of judged titles.
    Table,
    /// TREC qrels, topics and titles.
    Trec,
    /// TREC qrels alone, whose queries and titles have ids but no texts.
    Qrels,
    /// A BEIR folder.
    Beir {
        /// The judgments.
        qrels: PathBuf,
        /// The collection that the judged titles belong to.
        corpus: PathBuf,
    },
}

/// The number of some ids, and the first few of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    /// The number of ids.
    pub count: u64,
    /// The first few, shortened.
    pub first: Vec<String>,
}

impl Ids {
    pub(super) fn add(&mut self, id: &str) {
        self.count += 1;
        if self.first.len() < SHOWN_SKIPPED_LINES {
            self.first.push(shortened(id));
        }
    }
}

/// The files that [`read_test_set`] will read, as far as their names tell.
pub fn files_of_test_set(files: &TestSetFiles<'_>) -> Vec<PathBuf> {
    let folder = if files.judged.is_dir() {
        Some(files.judged.to_owned())
    } else {
        folder_of_qrels(files.judged).filter(|folder| beir_file(folder, QUERIES).is_ok())
    };
    let judged = match (&folder, files.judged.is_dir()) {
        (Some(folder), true) => qrels_of_folder(folder).unwrap_or_else(|_| files.judged.to_owned()),
        _ => files.judged.to_owned(),
    };
    let in_folder = folder.iter().flat_map(|folder| [QUERIES, CORPUS].map(|name| beir_file(folder, name).ok()));
    let titles = files.topics.and(files.titles.as_ref()).map(|titles| titles.path.clone());
    let beside = files.topics.map(Path::to_owned).into_iter().chain(titles);
    std::iter::once(judged).chain(in_folder.flatten()).chain(beside).collect()
}

/// The test set in some files. A folder, or the first line of the file `judged`, tells the form:
///
/// - a header with `query`: a table with the columns `query`, `field` and `grade`, and optionally `query_id` and
///   `title_id`; without it, titles have the ids of the titles with the same texts in `titles`;
/// - four fields whose last is a whole number (or anything, if topics are given): TREC qrels, with the queries from
///   topics in any form and the titles in any form that [`clickvec::tables::read_titles`] reads;
/// - a header with `query-id` and `corpus-id`: judgments of the BEIR folder above the file's folder. Given the BEIR folder
///   itself, this reads `qrels/test.tsv`, or the only file in `qrels`.
///
/// Negative grades of the last two forms are read as 0. Only the judged titles of a collection are kept in memory.
///
/// # Errors
///
/// Those of [`files::open`]; [`ErrorKind::Io`] if reading fails; [`ErrorKind::Malformed`] at the first broken line or topic of any
/// file, for an id of two queries or judged titles, and for files that have another form; [`ErrorKind::Setting`] for files that are
/// missing.
pub fn read_test_set(files: &TestSetFiles<'_>) -> Result<TestSet> {
    if files.judged.is_dir() {
        let qrels = qrels_of_folder(files.judged)?;
        let table = Table::open(&qrels, &Options::default())?;
        return beir(files, files.judged, qrels, table);
    }
    let path = files.judged;
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    test_set_of(files, &first, reader)
}

/// Reads a test set for systems that need no texts, which are runs: as [`read_test_set`] does, but TREC qrels may come without
/// topics and titles. Then the text of each query is its id, and titles have no texts.
///
/// # Errors
///
/// Those of [`read_test_set`].
pub fn read_test_set_for_runs(files: &TestSetFiles<'_>) -> Result<TestSet> {
    let path = files.judged;
    if path.is_dir() || files.topics.is_some() || files.titles.is_some() {
        return read_test_set(files);
    }
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    if !matches!(kind(&first, false), FirstLine::Trec) {
        return test_set_of(files, &first, reader);
    }
    let mut judgments = Judgments::default();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut negative_grades = 0;
    for qrel in read_qrels(reader, path)? {
        let grade = qrel.grade_from_0();
        negative_grades += u64::from(qrel.grade < 0);
        let Qrel { query_id, title_id, .. } = qrel;
        let query = *positions.entry(query_id).or_insert_with_key(|id| {
            judgments.queries.push(JudgedQuery { id: id.clone(), text: id.clone(), titles: Vec::new() });
            judgments.queries.len() - 1
        });
        judgments.queries[query].titles.push(JudgedTitle { id: title_id, text: String::new(), grade });
    }
    Ok(TestSet { negative_grades, ..TestSet::new(Form::Qrels, judgments) })
}

/// The test set in an opened file, whose first line was looked at.
pub(super) fn test_set_of(files: &TestSetFiles<'_>, first: &str, reader: Box<dyn BufRead + Send>) -> Result<TestSet> {
    let path = files.judged;
    match kind(first, files.topics.is_some()) {
        FirstLine::Table => table(files, reader),
        FirstLine::Trec => trec(files, reader),
        FirstLine::Beir => {
            let table = Table::read(path, reader, &Options::default())?;
            let folder = folder_of_qrels(path).ok_or_else(|| not_beir(path, QUERIES))?;
            beir(files, &folder, path.to_owned(), table)
        }
    }
}

enum FirstLine {
    Table,
    Trec,
    Beir,
}

fn kind(first: &str, topics: bool) -> FirstLine {
    let has = |name: &str| first.split('\t').any(|column| column.trim().eq_ignore_ascii_case(name));
    let is_qrel = || matches!(first.split_ascii_whitespace().collect::<Vec<_>>()[..], [_, _, _, last] if last.parse::<i64>().is_ok());
    if has(BEIR_COLUMNS[0]) && has(BEIR_COLUMNS[1]) {
        FirstLine::Beir
    } else if !has("query") && (topics || is_qrel()) {
        FirstLine::Trec
    } else {
        FirstLine::Table
    }
}

/// The folder above the one that a file is in.
fn folder_of_qrels(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    Some(match (folder.file_name(), folder.parent()) {
        (Some(_), Some(above)) if !above.as_os_str().is_empty() => above.to_owned(),
        (Some(_), _) => PathBuf::from("."),
        (None, _) => folder.join(".."),
    })
}

/// `qrels/test.tsv` of a BEIR folder, or the only file in `qrels`.
fn qrels_of_folder(folder: &Path) -> Result<PathBuf> {
    let qrels = folder.join(QRELS);
    if !qrels.is_dir() {
        return Err(not_beir(folder, "qrels/test.tsv"));
    }
    if let Ok(test) = beir_file(&qrels, TEST) {
        return Ok(test);
    }
    let failed = |source| Error::io(&qrels, "read", source);
    let entries = std::fs::read_dir(&qrels).map_err(failed)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_table = |path: &PathBuf| path.is_file() && name(path).contains(".tsv");
    let mut found: Vec<PathBuf> = paths.into_iter().filter(is_table).collect();
    found.sort();
    match &found[..] {
        [] => Err(not_beir(folder, "qrels/test.tsv")),
        [one] => Ok(one.clone()),
        several => {
            let found: Vec<String> = several.iter().map(name).collect();
            let found = listed(&found, SHOWN_NAMES);
            let error = Error::expected(ErrorKind::Malformed, "`test.tsv`, or one file of judgments", found);
            Err(error.help("name one of them instead of the folder").at(&qrels))
        }
    }
}

/// An error if topics are given that would not be read: naming them must be a mistake.
fn refuse_topics(files: &TestSetFiles<'_>, form: &str) -> Result<()> {
    if files.topics.is_none() {
        return Ok(());
    }
    let found = format!("{form}, which has the texts of its queries");
    let error = Error::expected(ErrorKind::Setting, "a file of topics with TREC qrels only", found);
    Err(error.help("leave the topics out").at(files.judged))
}

fn table(files: &TestSetFiles<'_>, reader: Box<dyn BufRead + Send>) -> Result<TestSet> {
    refuse_topics(files, "a table")?;
    let table = if !files::is_stream(files.judged) && has_quotes(files.judged)? {
        let form = Options { format: Some(Format::Csv), delimiter: Some(b'\t'), ..Options::default() };
        Table::open(files.judged, &form)?
    } else {
        Table::read(files.judged, reader, &Options::default())?
    };
    if !table.has(files.field)
        && let Some(id) = table.names().iter().find(|name| IDS.contains(&&*plain_name(name))).cloned()
    {
        return by_id(files, table, &id);
    }
    let title_ids = table.has("title_id");
    let mut judgments = read_judged(table, files.field)?;
    // A pipe can be read only once, and others need its titles more.
    if let (false, Some(titles)) =
        (title_ids, files.titles.as_ref().filter(|titles| !files::is_stream(&titles.path) && titles.path.exists()))
    {
        take_ids(titles, files.field, &mut judgments)?;
    }
    Ok(TestSet { title_ids, ..TestSet::new(Form::Table, judgments) })
}

/// The test set in a table of queries, ids of titles and grades, as Quepid exports it; the texts come from the titles.
fn by_id(files: &TestSetFiles<'_>, mut table: Table, id: &str) -> Result<TestSet> {
    let Some(titles) = &files.titles else {
        let expected = "the texts of the titles, of which this table has only the ids";
        let error = Error::expected(ErrorKind::Setting, expected, "none").at(files.judged);
        return Err(error.help("name a file of titles"));
    };
    let columns = [table.require("query"), table.require(id), require_grade(&mut table)];
    let [query, id, grade] = columns;
    let [query, id, grade] = [query?, id?, grade?];
    let (mut seen, mut qrels, mut topics) = (Seen::default(), Vec::new(), Vec::new());
    let (mut known, mut record) = (HashSet::new(), Record::default());
    while table.next_row(&mut record)? {
        let [query, id, grade] = [query, id, grade].map(|column| record.get(column).unwrap_or_default().trim());
        if query.is_empty() && id.is_empty() && grade.is_empty() {
            continue;
        }
        let qrel = || -> Result<Qrel, RowFault> {
            let grade = qrel_grade(grade.strip_suffix(".0").unwrap_or(grade))?;
            Ok(Qrel { query_id: query.to_owned(), title_id: id.to_owned(), grade })
        };
        let qrel = seen.add(query, id).and_then(|()| qrel());
        qrels.push(qrel.map_err(|fault| fault.at_line(table.path(), record.line))?);
        if known.insert(query.to_owned()) {
            topics.push(Topic { id: query.to_owned(), text: query.to_owned() });
        }
    }
    joined(Form::Table, qrels, topics, titles, files.field)
}

/// Gives each judged title the id of the first title with the same text: so the documents of a run, which have the ids of a
/// collection, are found. A title that the collection lacks gets an id that no collection has.
fn take_ids(titles: &Titles, field: &str, judgments: &mut Judgments) -> Result<()> {
    let texts = judgments.queries.iter().flat_map(|query| &query.titles).map(|title| title.text.clone());
    let mut ids: HashMap<String, Option<String>> = texts.map(|text| (text, None)).collect();
    let mut reader = TitleReader::open(titles, field, &[])?;
    while let Some(found) = reader.next()? {
        // Broken rows are reported where all titles are needed.
        if let Ok((id, text)) = found.title
            && let Some(wanted) = ids.get_mut(text)
        {
            wanted.get_or_insert_with(|| id.to_owned());
        }
    }
    for title in judgments.queries.iter_mut().flat_map(|query| &mut query.titles) {
        match ids.get(&title.text) {
            Some(Some(id)) => title.id.clone_from(id),
            _ => title.id = format!("not-in-the-collection-{}", title.id),
        }
    }
    Ok(())
}

fn trec(files: &TestSetFiles<'_>, reader: Box<dyn BufRead + Send>) -> Result<TestSet> {
    let missing = |texts: &str, file: &str| {
        let expected = format!("the texts of the {texts}, which TREC qrels do not have");
        let error = Error::expected(ErrorKind::Setting, expected, "none");
        error
            .help(format!("name a file of {file}, or make a BEIR folder of them; see docs/reference/tables.md"))
            .at(files.judged)
    };
    let topics = files.topics.ok_or_else(|| missing("queries", "topics"))?;
    let titles = files.titles.as_ref().ok_or_else(|| missing("titles", "titles"))?;
    let qrels = read_qrels(reader, files.judged)?;
    joined(Form::Trec, qrels, read_topics(topics)?, titles, files.field)
}

fn beir(files: &TestSetFiles<'_>, folder: &Path, qrels: PathBuf, table: Table) -> Result<TestSet> {
    refuse_topics(files, "a BEIR folder")?;
    let queries = beir_file(folder, QUERIES)?;
    let corpus = beir_file(folder, CORPUS)?;
    let judged = beir_qrels(table)?;
    joined(
        Form::Beir { qrels, corpus: corpus.clone() },
        judged,
        read_topics(&queries)?,
        &Titles::from(&corpus),
        files.field,
    )
}

fn beir_qrels(mut table: Table) -> Result<Vec<Qrel>> {
    let [query, title, grade] = BEIR_COLUMNS.map(|name| table.require(name));
    let [query, title, grade] = [query?, title?, grade?];
    let path = table.path().to_owned();
    let (mut seen, mut qrels, mut record) = (Seen::default(), Vec::new(), Record::default());
    while table.next_row(&mut record)? {
        let [query, title, grade] = [query, title, grade].map(|column| record.get(column).unwrap_or_default());
        let mut qrel = || -> Result<Qrel, RowFault> {
            seen.add(query, title)?;
            Ok(Qrel { query_id: query.to_owned(), title_id: title.to_owned(), grade: qrel_grade(grade.trim())? })
        };
        qrels.push(qrel().map_err(|fault| fault.at_line(&path, record.line))?);
    }
    Ok(qrels)
}

/// The text of a judged title, and its position.
#[derive(Default)]
struct Text {
    text: Option<String>,
    line: u64,
}

/// Adds the texts to qrels.
fn joined(form: Form, qrels: Vec<Qrel>, topics: Vec<Topic>, titles: &Titles, field: &str) -> Result<TestSet> {
    let mut set = TestSet::new(form, Judgments::default());
    let mut texts: HashMap<&str, Text> = qrels.iter().map(|qrel| (qrel.title_id.as_str(), Text::default())).collect();
    set.untitled = read_texts(titles, field, &mut texts)?;
    set.negative_grades = qrels.iter().filter(|qrel| qrel.grade < 0).count() as u64;

    let mut queries: HashMap<&str, &Topic> = topics.iter().map(|topic| (topic.id.as_str(), topic)).collect();
    // The places of queries in the order of first appearance; `None` for a query without text.
    let mut positions: HashMap<&str, Option<usize>> = HashMap::new();
    let mut told: HashSet<&str> = HashSet::new();
    for qrel in &qrels {
        let Qrel { query_id, title_id, .. } = qrel;
        let position = *positions.entry(query_id).or_insert_with(|| match queries.remove(query_id.as_str()) {
            None => {
                set.queries_without_text.add(query_id);
                None
            }
            Some(topic) => {
                set.judgments.queries.push(JudgedQuery {
                    id: topic.id.clone(),
                    text: topic.text.clone(),
                    titles: Vec::new(),
                });
                Some(set.judgments.queries.len() - 1)
            }
        });
        match (position, texts.get(title_id.as_str()).and_then(|title| title.text.clone())) {
            (Some(position), Some(text)) => {
                let title = JudgedTitle { id: title_id.clone(), text, grade: qrel.grade_from_0() };
                set.judgments.queries[position].titles.push(title);
            }
            (_, None) if told.insert(title_id) => set.titles_without_text.add(title_id),
            _ => {}
        }
    }
    for topic in topics.iter().filter(|topic| queries.contains_key(topic.id.as_str())) {
        set.queries_without_judgments.add(&topic.id);
    }
    set.judgments.queries.retain(|query| {
        let has_titles = !query.titles.is_empty();
        if !has_titles {
            set.queries_without_titles.add(&query.id);
        }
        has_titles
    });
    Ok(set)
}

/// Fills in the texts of these ids. Returns the number of those that have no title text.
fn read_texts(titles: &Titles, field: &str, texts: &mut HashMap<&str, Text>) -> Result<u64> {
    let mut reader = TitleReader::open(titles, field, &[])?;
    let path = reader.path().to_owned();
    let mut untitled = 0;
    while let Some(found) = reader.next()? {
        let line = found.line;
        // A broken row could be that of a judged title, and a test set that silently lost one would give other results.
        let (id, text) = found.title.map_err(|fault| fault.at_line(&path, line))?;
        if let Some(wanted) = texts.get_mut(id) {
            if wanted.text.is_some() {
                return Err(repeated_id(id, wanted.line).at_line(&path, line));
            }
            *wanted = Text { text: Some(text.to_owned()), line };
            untitled += u64::from(found.untitled);
        }
    }
    Ok(untitled)
}

impl TestSet {
    /// Checks that the test set of the file `path` has a query.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Empty`].
    pub fn check_not_empty(&self, path: &Path) -> Result<()> {
        if !self.judgments.queries.is_empty() {
            return Ok(());
        }
        let expected = match self.form {
            Form::Table => "judged titles below the header",
            Form::Qrels => "lines `query 0 title grade`",
            Form::Trec | Form::Beir { .. } => "judged titles whose texts are there",
        };
        let error = Error::expected(ErrorKind::Empty, expected, "none");
        Err(error.help("see docs/reference/tables.md").at(path))
    }

    fn new(form: Form, judgments: Judgments) -> TestSet {
        TestSet {
            judgments,
            form,
            title_ids: true,
            queries_without_text: Ids::default(),
            titles_without_text: Ids::default(),
            queries_without_titles: Ids::default(),
            queries_without_judgments: Ids::default(),
            untitled: 0,
            negative_grades: 0,
        }
    }
}

#[cfg(test)]
mod tests;
