//! The test set: queries with judged titles.

use std::collections::{BTreeMap, HashMap, HashSet, TryReserveError};
use std::path::{Path, PathBuf};

use super::Agreement;
use clickvec_tables::memory::NoRoom;
use clickvec_tables::shown::{line_or_row, shortened};
use clickvec_tables::table::{Field, MAX_GRADE, Record, RowFault, Table, parse_grade, says_grade};
use clickvec_tables::{Result, decoded, null_text};

/// A test set: queries with their judged titles, in the order of first appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgments {
    /// The queries.
    pub queries: Vec<JudgedQuery>,
    /// The number of rows that were left out because they repeat a query, title and grade.
    pub duplicates: u64,
    /// The number of repeated headers, as in concatenated tables.
    pub headers: u64,
    /// The number of rows that were left out because they have no grade, as a sheet has that is not filled yet.
    pub ungraded: u64,
    /// The number of rows that were left out because their query or title means nothing, such as `null`, by what it says.
    pub null_texts: BTreeMap<&'static str, u64>,
    /// The number of texts whose HTML entities were decoded.
    pub with_entities: u64,
}

/// A query and the titles that were judged for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedQuery {
    /// The query's id; if the rows have none, `q` and a number in the order of appearance.
    pub id: String,
    /// The query.
    pub text: String,
    /// The judged titles, all different.
    pub titles: Vec<JudgedTitle>,
}

/// A title with a grade that says how well it answers the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTitle {
    /// The title's id; if the rows have none, `t` and a number, equal for equal texts.
    pub id: String,
    /// The title.
    pub text: String,
    /// The grade: 0 bad, 1 fair, 2 good, 3 excellent, 4 perfect.
    pub grade: u8,
}

/// A judged pair, which lives as long as the call that gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JudgedRow<'a> {
    /// The line, counted from 1.
    pub(crate) line: u64,
    /// The query.
    pub(crate) query: &'a str,
    /// The query's id, if the table has one.
    pub(crate) query_id: Option<&'a str>,
    /// The title that was judged.
    pub(crate) title: &'a str,
    /// The title's id, if the table has one.
    pub(crate) title_id: Option<&'a str>,
    /// The grade, as it is written.
    pub(crate) grade: &'a str,
}

/// Reads judgments from an open table with the columns `query`, `field` and `grade`, and optionally `query_id` and `title_id`.
///
/// # Errors
///
/// Those of [`Table::require`] and [`Table::next_row`], because a test set that silently lost a line would give other results;
/// [`clickvec_tables::ErrorKind::Malformed`] for a bad grade, an empty id, an id with two texts, or two grades for one title.
pub(super) fn read_judged(mut table: Table, field: &str) -> Result<Judgments> {
    let query = table.require("query")?;
    let title = Field::require(&mut table, field)?;
    let grade = require_grade(&mut table)?;
    let [query_id, title_id] = ["query_id", "title_id"].map(|name| required_if_there(&mut table, name));
    let (query_id, title_id) = (query_id?, title_id?);
    let mut builder = JudgmentsBuilder::new(table.path());
    let (mut record, mut joined) = (Record::default(), String::new());
    while table.next_row(&mut record)? {
        let get = |column| record.get(column).unwrap_or_default();
        // Spreadsheets leave empty rows behind.
        if [query, grade].into_iter().all(|column| get(column).trim().is_empty()) {
            continue;
        }
        if get(grade).trim().is_empty() {
            builder.judgments.ungraded += 1;
            continue;
        }
        let with_entities = &mut builder.judgments.with_entities;
        let query = decoded(get(query), with_entities);
        let title = decoded(title.text(&record, &mut joined), with_entities);
        if let Some(null) = null_text(&query).or_else(|| null_text(&title)) {
            *builder.judgments.null_texts.entry(null).or_default() += 1;
            continue;
        }
        builder.push(JudgedRow {
            line: record.line,
            query: &query,
            query_id: query_id.map(|column| get(column).trim()),
            title: &title,
            title_id: title_id.map(|column| get(column).trim()),
            grade: get(grade),
        })?;
    }
    builder.judgments.headers = table.repeated_headers();
    Ok(builder.finish())
}

/// Selects the column of grades: `grade`, or another usual name of it.
pub(super) fn require_grade(table: &mut Table) -> Result<usize> {
    let other = table.names().iter().find(|name| says_grade(name)).filter(|_| !table.has("grade")).cloned();
    table.require(other.as_deref().unwrap_or("grade"))
}

fn required_if_there(table: &mut Table, name: &str) -> Result<Option<usize>> {
    if table.has(name) { table.require(name).map(Some) } else { Ok(None) }
}

/// A builder of [`Judgments`], which takes row by row.
#[derive(Debug)]
pub(super) struct JudgmentsBuilder {
    path: PathBuf,
    judgments: Judgments,
    /// The position and the first line of each query, by its id or, without one, its text.
    queries: HashMap<String, (usize, u64)>,
    /// A number for each distinct title id or, without one, title text.
    titles: HashMap<String, usize>,
    /// The place in the query and the first line, by (query, title).
    judged: HashMap<(usize, usize), (usize, u64)>,
}

impl JudgmentsBuilder {
    /// A builder of judgments from `path`, which is for messages.
    pub(super) fn new(path: &Path) -> JudgmentsBuilder {
        JudgmentsBuilder {
            path: path.to_owned(),
            judgments: Judgments::default(),
            queries: HashMap::new(),
            titles: HashMap::new(),
            judged: HashMap::new(),
        }
    }

    /// Adds a row. Either all rows have a query id or none does, and likewise for title ids.
    ///
    /// A query and title that occurred before with the same grade are counted and left out.
    ///
    /// # Errors
    ///
    /// [`clickvec_tables::ErrorKind::Malformed`] for a bad grade, an empty id, an id with two texts, or two grades for one title.
    pub(super) fn push(&mut self, row: JudgedRow<'_>) -> Result<()> {
        self.reserve().map_err(|_| NoRoom { what: "judged titles", bytes: None })?;
        self.add(row).map_err(|fault| fault.at_line(&self.path, row.line))
    }

    /// Makes room for one more row.
    fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.queries.try_reserve(1)?;
        self.titles.try_reserve(1)?;
        self.judged.try_reserve(1)?;
        self.judgments.queries.try_reserve(1)
    }

    fn add(&mut self, row: JudgedRow<'_>) -> Result<(), RowFault> {
        let grade = grade(row.grade)?;
        let query = self.query(row)?;
        let title_key = key(row.title_id, row.title, "title_id")?;
        let number = match self.titles.get(title_key) {
            Some(&number) => number,
            None => {
                let number = self.titles.len();
                self.titles.insert(title_key.to_owned(), number);
                number
            }
        };
        let titles = &mut self.judgments.queries[query].titles;
        if let Some(&(position, first_line)) = self.judged.get(&(query, number)) {
            let first = &titles[position];
            same_text("title_id", title_key, &first.text, &line_or_row(&self.path, first_line), row.title)?;
            if first.grade != grade {
                let first_place = line_or_row(&self.path, first_line);
                let expected = format!("grade {} as in {first_place} for the same query and title", first.grade);
                return Err(RowFault::expected("two grades", expected, format!("{grade}; keep one")));
            }
            self.judgments.duplicates += 1;
            return Ok(());
        }
        self.judged.insert((query, number), (titles.len(), row.line));
        let id = row.title_id.map_or_else(|| format!("t{number:07}"), str::to_owned);
        titles.push(JudgedTitle { id, text: row.title.to_owned(), grade });
        Ok(())
    }

    /// The position of the row's query, which is added if it is new.
    fn query(&mut self, row: JudgedRow<'_>) -> Result<usize, RowFault> {
        let key = key(row.query_id, row.query, "query_id")?;
        if let Some(&(query, first_line)) = self.queries.get(key) {
            let first = line_or_row(&self.path, first_line);
            same_text("query_id", key, &self.judgments.queries[query].text, &first, row.query)?;
            return Ok(query);
        }
        let query = self.judgments.queries.len();
        self.queries.insert(key.to_owned(), (query, row.line));
        let id = row.query_id.map_or_else(|| format!("q{query:07}"), str::to_owned);
        self.judgments.queries.push(JudgedQuery { id, text: row.query.to_owned(), titles: Vec::new() });
        Ok(query)
    }

    /// The judgments of all rows.
    pub(super) fn finish(self) -> Judgments {
        self.judgments
    }
}

impl Judgments {
    /// The fingerprint of everything in the test set.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        let mut text = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        for query in &self.queries {
            text(&query.id);
            text(&query.text);
            for title in &query.titles {
                text(&title.id);
                text(&title.text);
                text(&title.grade.to_string());
            }
        }
        hash.digest()
    }

    /// Adds the grades of another judge where there are none, and returns how the two agree on what both graded. Queries are matched
    /// by text and titles by id.
    pub fn fill(&mut self, other: &Judgments) -> Agreement {
        let positions: HashMap<String, usize> =
            self.queries.iter().zip(0..).map(|(query, position)| (query.text.clone(), position)).collect();
        let ids: HashSet<String> = self.queries.iter().map(|query| query.id.clone()).collect();
        let mut both = Vec::new();
        for query in &other.queries {
            let Some(&position) = positions.get(&query.text) else {
                let mut query = query.clone();
                if ids.contains(&query.id) {
                    query.id = format!("q{:07}", self.queries.len());
                }
                self.queries.push(query);
                continue;
            };
            let own = &mut self.queries[position].titles;
            let grades: HashMap<String, u8> = own.iter().map(|title| (title.id.clone(), title.grade)).collect();
            for title in &query.titles {
                match grades.get(&title.id) {
                    Some(&grade) => both.push((grade, title.grade)),
                    None => own.push(title.clone()),
                }
            }
        }
        Agreement::new(&both)
    }

    /// The judgments in `rows` of the file `path`.
    #[cfg(test)]
    pub(crate) fn from_rows<'a>(path: &Path, rows: impl IntoIterator<Item = JudgedRow<'a>>) -> Result<Judgments> {
        let mut builder = JudgmentsBuilder::new(path);
        rows.into_iter().try_for_each(|row| builder.push(row))?;
        Ok(builder.finish())
    }
}

fn key<'a>(id: Option<&'a str>, text: &'a str, column: &'static str) -> Result<&'a str, RowFault> {
    match id {
        Some("") => Err(empty_id(column)),
        Some(id) => Ok(id),
        None => Ok(text),
    }
}

/// Creates the fault of a row whose column of ids is empty.
pub(super) fn empty_id(column: &str) -> RowFault {
    let found = "nothing; fill it in every row, or leave the column out where it is not needed";
    RowFault::expected("no id", format!("an id in column `{column}`"), found)
}

fn same_text(column: &'static str, id: &str, first: &str, first_place: &str, found: &str) -> Result<(), RowFault> {
    if first == found {
        return Ok(());
    }
    let expected = format!("the text of {first_place} for `{}` in column `{column}`", shortened(id));
    let found = format!("`{}`; give each text an id of its own", shortened(found));
    Err(RowFault::expected("two texts", expected, found))
}

/// Returns the grade in a field.
pub(super) fn grade(field: &str) -> Result<u8, RowFault> {
    parse_grade(field, MAX_GRADE).ok_or_else(|| {
        let found = if field.trim().is_empty() {
            "nothing; fill it in, or take the row out".to_owned()
        } else if field.trim().parse::<f64>().is_ok_and(|grade| grade.fract() != 0.0) {
            format!("`{}`; scale fractions and round them first, such as 0.75 of 1 to 3 of 4", shortened(field))
        } else {
            format!("`{}`; see docs/reference/tables.md", shortened(field))
        };
        RowFault::expected("bad grade", format!("a grade, one of the integers 0 to {MAX_GRADE}"), found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(line: u64, query: &'a str, title: &'a str, grade: &'a str) -> JudgedRow<'a> {
        JudgedRow { line, query, query_id: None, title, title_id: None, grade }
    }

    fn named<'a>(line: u64, query: [&'a str; 2], title: [&'a str; 2], grade: &'a str) -> JudgedRow<'a> {
        JudgedRow { query_id: Some(query[0]), title_id: Some(title[0]), ..row(line, query[1], title[1], grade) }
    }

    fn message(rows: &[JudgedRow<'_>]) -> String {
        Judgments::from_rows(Path::new("j.tsv"), rows.iter().copied()).unwrap_err().to_string()
    }

    #[test]
    fn rows_are_grouped_by_query_text() {
        let rows = [row(2, "a", "x", "4"), row(3, "b", "x", "0"), row(4, "a", "y", " 1 "), row(5, "a", "x", "4")];
        let judgments = Judgments::from_rows(Path::new("j.tsv"), rows).unwrap();
        assert_eq!(judgments.duplicates, 1);
        let title = |id: &str, text: &str, grade| JudgedTitle { id: id.into(), text: text.into(), grade };
        assert_eq!(
            judgments.queries,
            [
                JudgedQuery {
                    id: "q0000000".into(),
                    text: "a".into(),
                    titles: vec![title("t0000000", "x", 4), title("t0000001", "y", 1)],
                },
                JudgedQuery { id: "q0000001".into(), text: "b".into(), titles: vec![title("t0000000", "x", 0)] },
            ]
        );
    }

    #[test]
    fn ids_decide_where_there_are_any() {
        let rows = [
            named(2, ["1", "a"], ["7", "x"], "2"),
            named(3, ["2", "a"], ["7", "x"], "3"),
            named(4, ["1", "a"], ["8", "x"], "0"),
        ];
        let judgments = Judgments::from_rows(Path::new("j.tsv"), rows).unwrap();
        let ids: Vec<_> = judgments.queries.iter().map(|query| (query.id.as_str(), query.titles.len())).collect();
        assert_eq!(ids, [("1", 2), ("2", 1)]);
        assert_eq!(judgments.queries[0].titles[1].id, "8");
    }

    #[test]
    fn another_judge_fills_in_what_is_missing() {
        let people = [named(2, ["1", "a"], ["7", "x"], "4"), named(3, ["1", "a"], ["8", "y"], "0")];
        let model = [
            named(2, ["1", "b"], ["7", "x"], "2"),
            named(3, ["2", "a"], ["7", "x"], "3"),
            named(4, ["2", "a"], ["8", "y"], "0"),
            named(5, ["2", "a"], ["9", "z"], "1"),
        ];
        let [mut judgments, other] =
            [&people[..], &model].map(|rows| Judgments::from_rows(Path::new("j.tsv"), rows.iter().copied()).unwrap());
        let agreement = judgments.fill(&other);
        assert_eq!((agreement.titles, agreement.same), (2, 1));
        let grades: Vec<u8> = judgments.queries[0].titles.iter().map(|title| title.grade).collect();
        assert_eq!((grades, judgments.queries[1].id.as_str()), (vec![4, 0, 1], "q0000001"));
    }

    #[test]
    fn a_grade_is_an_integer_from_0_to_10() {
        let nothing = message(&[row(2, "a", "x", "4"), row(3, "a", "y", "")]);
        assert!(
            nothing.starts_with("j.tsv:3: expected a grade, one of the integers 0 to 10, found nothing"),
            "{nothing}"
        );
        for bad in ["11", "100", "-1", "3.5", ".0", "good", "+3", "03", "010", "٣"] {
            let message = message(&[row(2, "a", "x", "4"), row(3, "a", "y", bad)]);
            assert!(
                message.starts_with("j.tsv:3: expected a grade, one of the integers 0 to 10, found `"),
                "{message}"
            );
            assert!(message.contains(&format!("`{bad}`")), "{message}");
        }
        assert_eq!(["0", "4.00", "3.0", " 1.0 ", "10", "10.0"].map(|text| grade(text).unwrap()), [0, 4, 3, 1, 10, 10]);
    }

    #[test]
    fn two_grades_for_one_title_are_an_error() {
        assert_eq!(
            message(&[row(2, "a", "x", "4"), row(9, "a", "x", "3")]),
            "j.tsv:9: expected grade 4 as in line 2 for the same query and title, found 3; keep one"
        );
    }

    #[test]
    fn an_id_with_two_texts_is_an_error() {
        let query = message(&[named(2, ["1", "a"], ["7", "x"], "4"), named(3, ["1", "b"], ["8", "y"], "4")]);
        assert!(
            query.starts_with("j.tsv:3: expected the text of line 2 for `1` in column `query_id`, found `b`;"),
            "{query}"
        );
        let title = message(&[named(2, ["1", "a"], ["7", "x"], "4"), named(3, ["1", "a"], ["7", "y"], "4")]);
        assert!(
            title.starts_with("j.tsv:3: expected the text of line 2 for `7` in column `title_id`, found `y`;"),
            "{title}"
        );
    }

    #[test]
    fn an_empty_id_is_an_error() {
        assert!(message(&[named(2, ["", "a"], ["7", "x"], "4")]).contains("an id in column `query_id`, found nothing"));
        assert!(message(&[named(2, ["1", "a"], ["", "x"], "4")]).contains("an id in column `title_id`, found nothing"));
    }
}
