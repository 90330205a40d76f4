//! Test sets in any form: a table of judged titles, TREC qrels with topics and titles, a BEIR folder, or a document of another
//! program.

mod document;

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};

pub use document::begins as begins_document;
pub use document::{Judged, JudgmentsForm};

use super::ids::Ids;
use super::judgments::{JudgedQuery, JudgedTitle, Judgments, read_judged, require_grade};
use super::topics::{Topic, TopicCounts, read_topics};
use super::trec::{Qrel, Seen, qrel_grade, read_qrels};
use clickvec_tables::shown::{is_in_memory, listed};
use clickvec_tables::table::{Options, Record, RowFault, Table, Width, has_column, is_parquet, plain_name};
use clickvec_tables::titles::{CORPUS, TitleReader, Titles, beir_file, not_beir, repeated_id};
use clickvec_tables::{Error, ErrorKind, Result, decoded, files};
use document::Document;

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
/// Quepid's name of it.
const QUEPID_ID: &str = "docid";
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
    /// The number of negative grades. As for trec_eval, these titles were not judged.
    pub negative_grades: u64,
    /// The number of titles to which several judges gave different grades, of which the mean counts.
    pub differing_grades: u64,
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
    /// Other judgments alone, whose titles have ids but no texts.
    Ids,
    /// A document of OpenSearch's Search Relevance Workbench or of Quepid.
    Document,
    /// A BEIR folder.
    Beir {
        /// The judgments.
        qrels: PathBuf,
        /// The collection that the judged titles belong to.
        corpus: PathBuf,
    },
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
/// - a JSON document with `judgmentRatings` or `query_doc_pairs`: judgments of OpenSearch's Search Relevance Workbench or a book of
///   Quepid, with the titles from `titles` or, if all are there, from the book.
///
/// As for trec_eval, titles with negative grades were not judged. Only the judged titles of a collection are kept in memory.
///
/// # Errors
///
/// Those of [`files::open`]; [`ErrorKind::Io`] if reading fails; [`ErrorKind::Malformed`] at the first broken line or topic of any
/// file, for an id of two queries or judged titles, and for files that have another form; [`ErrorKind::Setting`] for files that are
/// missing.
pub fn read_test_set(files: &TestSetFiles<'_>) -> Result<TestSet> {
    read(files, true)
}

/// Reads a test set for systems that need no texts, which are runs: as [`read_test_set`] does, but judgments by id may come without
/// topics and titles. Then the text of each query of qrels is its id, and titles have no texts.
///
/// # Errors
///
/// Those of [`read_test_set`].
pub fn read_test_set_for_runs(files: &TestSetFiles<'_>) -> Result<TestSet> {
    read(files, false)
}

fn read(files: &TestSetFiles<'_>, needs_texts: bool) -> Result<TestSet> {
    let path = files.judged;
    if path.is_dir() {
        let qrels = qrels_of_folder(path)?;
        let table = Table::open(&qrels, &Options::default())?;
        return beir(files, path, qrels, table);
    }
    if is_in_memory(path) || is_parquet(&files::first_bytes::<4>(path)?) {
        return judged_table(files, Table::open(path, &Options::default())?, needs_texts);
    }
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    test_set_of(files, &first, reader, needs_texts)
}

/// The test set in an opened file, whose first line was looked at.
pub(super) fn test_set_of(
    files: &TestSetFiles<'_>,
    first: &str,
    reader: Box<dyn BufRead + Send>,
    needs_texts: bool,
) -> Result<TestSet> {
    let path = files.judged;
    match kind(first, files.topics.is_some()) {
        FirstLine::Table => table(files, first, reader, needs_texts),
        FirstLine::Trec => trec(files, reader, needs_texts),
        FirstLine::Document => by_document(files, reader, needs_texts),
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
    Document,
}

fn kind(first: &str, topics: bool) -> FirstLine {
    let has = |name: &str| has_column(first, name);
    let is_qrel = || matches!(first.split_ascii_whitespace().collect::<Vec<_>>()[..], [_, _, _, last] if last.parse::<i64>().is_ok());
    if has(BEIR_COLUMNS[0]) && has(BEIR_COLUMNS[1]) {
        FirstLine::Beir
    } else if begins_document(first) {
        FirstLine::Document
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

fn table(files: &TestSetFiles<'_>, first: &str, reader: Box<dyn BufRead + Send>, needs_texts: bool) -> Result<TestSet> {
    // Quepid writes a query without ratings alone.
    let width = if has_column(first, QUEPID_ID) { Width::Padded } else { Width::default() };
    let table = Table::reopen(files.judged, reader, &Options { width, ..Options::default() })?;
    judged_table(files, table, needs_texts)
}

/// The test set in an open table of judged titles, or of their ids.
fn judged_table(files: &TestSetFiles<'_>, table: Table, needs_texts: bool) -> Result<TestSet> {
    refuse_topics(files, "a table")?;
    if !table.has(files.field)
        && let Some(id) = table.names().iter().find(|name| IDS.contains(&&*plain_name(name))).cloned()
    {
        return by_id(files, table, &id, needs_texts);
    }
    let title_ids = table.has("title_id");
    let mut judgments = read_judged(table, files.field)?;
    // A pipe can be read only once, and others need its titles more.
    let again =
        |titles: &&Titles| is_in_memory(&titles.path) || (!files::is_stream(&titles.path) && titles.path.exists());
    if let (false, Some(titles)) = (title_ids, files.titles.as_ref().filter(again)) {
        take_ids(titles, files.field, &mut judgments)?;
    }
    Ok(TestSet { title_ids, ..TestSet::new(Form::Table, judgments) })
}

/// The test set in a table of queries, ids of titles and grades, as Quepid exports it; the texts come from the titles.
fn by_id(files: &TestSetFiles<'_>, mut table: Table, id: &str, needs_texts: bool) -> Result<TestSet> {
    let texts = texts_by_id(files, needs_texts)?;
    let columns = [table.require("query"), table.require(id), require_grade(&mut table)];
    let [query, id, grade] = columns;
    let [query, id, grade] = [query?, id?, grade?];
    let (mut seen, mut qrels, mut record) = (Seen::default(), Vec::new(), Record::default());
    let (mut ungraded, mut with_entities) = (0, 0);
    while table.next_row(&mut record)? {
        let [query, id, grade] = [query, id, grade].map(|column| record.get(column).unwrap_or_default().trim());
        if grade.is_empty() {
            ungraded += u64::from(!query.is_empty() || !id.is_empty());
            continue;
        }
        let query = decoded(query, &mut with_entities);
        let qrel = || -> Result<Qrel, RowFault> {
            let grade = qrel_grade(grade)?;
            Ok(Qrel { query_id: query.to_string(), title_id: id.to_owned(), grade })
        };
        let qrel = seen.add(&query, id).and_then(|()| qrel());
        qrels.push(qrel.map_err(|fault| fault.at_line(table.path(), record.line))?);
    }
    let topics = topics_of_ids(&qrels);
    let mut set = joined(Form::Table, qrels, topics, texts, files.field)?;
    set.judgments.headers = table.repeated_headers();
    set.judgments.ungraded = ungraded;
    set.judgments.with_entities += with_entities;
    Ok(set)
}

/// The test set in a document of another program.
fn by_document(files: &TestSetFiles<'_>, reader: Box<dyn BufRead + Send>, needs_texts: bool) -> Result<TestSet> {
    refuse_topics(files, "a document")?;
    let Document { qrels, titles, ungraded, differing, with_entities, .. } =
        Document::read(files.judged, reader, files.field)?;
    let has_all = qrels.iter().all(|qrel| titles.contains_key(&qrel.title_id));
    let texts = if files.titles.is_none() && has_all { Texts::Own(titles) } else { texts_by_id(files, needs_texts)? };
    let topics = topics_of_ids(&qrels);
    let mut set = joined(Form::Document, qrels, topics, texts, files.field)?;
    set.differing_grades = differing;
    set.judgments.ungraded = ungraded;
    set.judgments.with_entities += with_entities;
    Ok(set)
}

/// The topics of judgments whose ids of queries are their texts.
fn topics_of_ids(qrels: &[Qrel]) -> Vec<Topic> {
    let mut known = HashSet::new();
    let ids = qrels.iter().map(|qrel| &qrel.query_id).filter(|id| known.insert(*id));
    ids.map(|id| Topic { id: id.clone(), text: id.clone() }).collect()
}

/// Where the texts of titles are.
enum Texts<'a> {
    Titles(&'a Titles),
    /// By id.
    Own(HashMap<String, String>),
    /// Nobody needs them.
    None,
}

/// The texts of titles that judgments have by their ids.
fn texts_by_id<'a>(files: &'a TestSetFiles<'_>, needs_texts: bool) -> Result<Texts<'a>> {
    match &files.titles {
        Some(titles) => Ok(Texts::Titles(titles)),
        None if !needs_texts => Ok(Texts::None),
        None => {
            let expected = "the texts of the titles, of which there are only the ids here";
            let error = Error::expected(ErrorKind::Setting, expected, "none").at(files.judged);
            Err(error.help("name a file of titles"))
        }
    }
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

fn trec(files: &TestSetFiles<'_>, reader: Box<dyn BufRead + Send>, needs_texts: bool) -> Result<TestSet> {
    if !needs_texts && files.topics.is_none() && files.titles.is_none() {
        let qrels = read_qrels(reader, files.judged)?;
        let topics = topics_of_ids(&qrels);
        return joined(Form::Qrels, qrels, topics, Texts::None, files.field);
    }
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
    let mut counts = TopicCounts::default();
    let topics = read_topics(topics, &mut counts)?;
    let mut set = joined(Form::Trec, qrels, topics, Texts::Titles(titles), files.field)?;
    set.judgments.with_entities += counts.with_entities;
    set.judgments.headers += counts.headers;
    Ok(set)
}

fn beir(files: &TestSetFiles<'_>, folder: &Path, qrels: PathBuf, mut table: Table) -> Result<TestSet> {
    refuse_topics(files, "a BEIR folder")?;
    let queries = beir_file(folder, QUERIES)?;
    let corpus = beir_file(folder, CORPUS)?;
    let judged = beir_qrels(&mut table)?;
    let mut counts = TopicCounts::default();
    let topics = read_topics(&queries, &mut counts)?;
    let titles = Titles::from(&corpus);
    let mut set = joined(Form::Beir { qrels, corpus }, judged, topics, Texts::Titles(&titles), files.field)?;
    set.judgments.with_entities += counts.with_entities;
    set.judgments.headers = counts.headers + table.repeated_headers();
    Ok(set)
}

fn beir_qrels(table: &mut Table) -> Result<Vec<Qrel>> {
    let [query, title, grade] = BEIR_COLUMNS.map(|name| table.require(name));
    let [query, title, grade] = [query?, title?, grade?];
    let path = table.path().to_owned();
    let (mut seen, mut qrels, mut record) = (Seen::default(), Vec::new(), Record::default());
    while table.next_row(&mut record)? {
        let [query, title, grade] = [query, title, grade].map(|column| record.get(column).unwrap_or_default().trim());
        let mut qrel = || -> Result<Qrel, RowFault> {
            seen.add(query, title)?;
            Ok(Qrel { query_id: query.to_owned(), title_id: title.to_owned(), grade: qrel_grade(grade)? })
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
fn joined(form: Form, qrels: Vec<Qrel>, topics: Vec<Topic>, titles: Texts<'_>, field: &str) -> Result<TestSet> {
    let form = if matches!(titles, Texts::None) && form != Form::Qrels { Form::Ids } else { form };
    let mut set = TestSet::new(form, Judgments::default());
    let mut texts: HashMap<&str, Text> = qrels.iter().map(|qrel| (qrel.title_id.as_str(), Text::default())).collect();
    match titles {
        Texts::Titles(titles) => read_texts(titles, field, &mut texts, &mut set)?,
        Texts::Own(mut titles) => texts.iter_mut().for_each(|(id, text)| text.text = titles.remove(*id)),
        Texts::None => texts.values_mut().for_each(|text| text.text = Some(String::new())),
    }
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
                if let Ok(grade) = qrel.grade.try_into() {
                    set.judgments.queries[position].titles.push(JudgedTitle { id: title_id.clone(), text, grade });
                }
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
    // Where an id is the query itself, no TREC file could have it.
    for (position, query) in set.judgments.queries.iter_mut().enumerate() {
        if query.id.contains(char::is_whitespace) {
            query.id = format!("q{position:07}");
        }
    }
    Ok(set)
}

/// Fills in the texts of these ids, and counts in `set` those that have no title text or had HTML entities.
fn read_texts(titles: &Titles, field: &str, texts: &mut HashMap<&str, Text>, set: &mut TestSet) -> Result<()> {
    let mut reader = TitleReader::open(titles, field, &[])?;
    let path = reader.path().to_owned();
    while let Some(found) = reader.next()? {
        let line = found.line;
        if found.title.as_ref().is_err_and(RowFault::is_repeated_header) {
            continue;
        }
        // A broken row could be that of a judged title, and a test set that silently lost one would give other results.
        let (id, text) = found.title.map_err(|fault| fault.at_line(&path, line))?;
        if let Some(wanted) = texts.get_mut(id) {
            if wanted.text.is_some() {
                return Err(repeated_id(&path, id, wanted.line, line));
            }
            // Like a title that is not there.
            *wanted = Text { text: found.null.is_none().then(|| text.to_owned()), line };
            set.untitled += u64::from(found.untitled);
            set.judgments.with_entities += u64::from(found.with_entities);
        }
    }
    Ok(())
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
            Form::Trec | Form::Ids | Form::Document | Form::Beir { .. } => "judged titles whose texts are there",
        };
        let error = Error::expected(ErrorKind::Empty, expected, "none");
        Err(error.help("see docs/reference/tables.md").at(path))
    }

    /// Returns the collection of the judged titles: the one that is `named`, or that of a BEIR folder.
    pub fn collection(&self, named: Option<Titles>) -> Option<Titles> {
        named.or_else(|| match &self.form {
            Form::Beir { corpus, .. } => Some(Titles::from(corpus)),
            _ => None,
        })
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
            differing_grades: 0,
        }
    }
}

#[cfg(test)]
mod tests;
