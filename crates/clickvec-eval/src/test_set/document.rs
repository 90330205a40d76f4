//! Judgments of other programs in one document: those of OpenSearch's Search Relevance Workbench, and the books and tables of
//! Quepid.

use std::collections::HashMap;
use std::io::{BufRead, Read as _};
use std::path::Path;
use std::str::FromStr;

use clickvec_tables::named;
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{RowFault, scalar};
use clickvec_tables::{Error, ErrorKind, Result, decoded, files};
use serde_json::{Value, json};

use crate::trec::{Qrel, Seen, qrel_grade};

/// The largest document that is read.
const MAX_BYTES: u64 = 512 << 20;
/// A longer line is not pretty-printed.
const LONG: usize = 1 << 12;
/// The members of OpenSearch's documents with ratings.
const RATINGS: [&str; 2] = ["judgmentRatings", "judgmentScores"];
/// The member of Quepid's books with judgments.
const PAIRS: &str = "query_doc_pairs";

/// Returns whether the first line of a file begins a JSON document of judgments, and no JSON line of a table.
pub fn begins(first: &str) -> bool {
    match serde_json::from_str::<Value>(first.trim()) {
        Ok(whole) => entries(&whole).is_some(),
        // Of a long line only the beginning is here.
        Err(error) => {
            let is_named = || [RATINGS[0], RATINGS[1], PAIRS, "ratings"].iter().any(|name| first.contains(name));
            error.is_eof() && first.trim_start().starts_with(['{', '[']) && (first.len() < LONG || is_named())
        }
    }
}

/// The judgments of a document, whose titles have ids.
#[derive(Default)]
pub(super) struct Document {
    pub(super) qrels: Vec<Qrel>,
    /// The titles in it, by id.
    pub(super) titles: HashMap<String, String>,
    /// The number of pairs without a grade.
    pub(super) ungraded: u64,
    /// The number of pairs to which several judges gave different grades.
    pub(super) differing: u64,
    pub(super) with_entities: u64,
    seen: Seen,
}

impl Document {
    /// Reads a document. `field` is the member of a book's documents that is the title.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Io`; `ErrorKind::Mismatch` for another document; `ErrorKind::Malformed` for one that is cut short, a grade that is
    /// none, and a pair that occurs twice.
    pub(super) fn read(path: &Path, source: impl BufRead, field: &str) -> Result<Document> {
        let mut text = String::new();
        let read = source.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|source| Error::io(path, "read", source))?;
        let other = |kind, found: String| {
            let expected = format!("judgments with `{}` or `{PAIRS}`, or a line of JSON for each", RATINGS[0]);
            Error::expected(kind, expected, found).help("see docs/reference/tables.md").at(path)
        };
        if text.len() as u64 > MAX_BYTES {
            return Err(other(ErrorKind::Malformed, format!("more than {MAX_BYTES} bytes")));
        }
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            let is_named = [RATINGS[0], RATINGS[1], PAIRS].iter().any(|name| text.contains(name));
            let kind = if is_named { ErrorKind::Malformed } else { ErrorKind::Mismatch };
            other(kind, format!("a document that is no JSON ({error})"))
        })?;
        let mut document = Document::default();
        let added = match entries(&value).ok_or_else(|| other(ErrorKind::Mismatch, "another document".to_owned()))? {
            Entries::Ratings(Value::Object(queries)) => {
                queries.iter().try_for_each(|(query, ratings)| document.add_ratings(query, Some(ratings)))
            }
            Entries::Ratings(list) => list.as_array().into_iter().flatten().try_for_each(|entry| {
                document.ungraded += entry["failures"].as_array().map_or(0, |failures| failures.len() as u64);
                document.add_ratings(&text_of(entry, &["query"])?, entry.get("ratings"))
            }),
            Entries::Pairs(pairs) => pairs.iter().try_for_each(|pair| document.add_pair(pair, field)),
        };
        added.map_err(|fault| Error::new(ErrorKind::Malformed, fault.to_string()).at(path))?;
        Ok(document)
    }

    fn add_ratings(&mut self, query: &str, ratings: Option<&Value>) -> Result<(), RowFault> {
        let Some(Value::Array(ratings)) = ratings else {
            let found = format!("none for the query `{}`", shortened(query));
            return Err(RowFault::expected("no ratings", "a list of ratings", found));
        };
        ratings.iter().try_for_each(|rating| {
            let grade = text_of(rating, &["rating", "score"])?;
            self.add(query, &text_of(rating, &["docId", "doc_id"])?, &[grade])
        })
    }

    fn add_pair(&mut self, pair: &Value, field: &str) -> Result<(), RowFault> {
        let (query, id) = (text_of(pair, &["query_text", "query"])?, text_of(pair, &["doc_id"])?);
        let is_open =
            |judgement: &Value| ["unrateable", "judge_later"].iter().any(|why| judgement[*why] == json!(true));
        let judgements = pair["judgements"].as_array().into_iter().flatten().filter(|judgement| !is_open(judgement));
        let grades: Vec<String> = judgements.filter_map(|judgement| scalar(&judgement["rating"])).collect();
        // Quepid writes the fields as text.
        let fields = match &pair["document_fields"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            other => other.clone(),
        };
        if let Some(title) = scalar(&fields[field]).filter(|title| !title.trim().is_empty()) {
            self.titles.insert(id.clone(), decoded(&title, &mut self.with_entities).into_owned());
        }
        self.add(&query, &id, &grades)
    }

    /// Adds a pair with the grades of all its judges, of which the mean counts.
    fn add(&mut self, query: &str, id: &str, grades: &[String]) -> Result<(), RowFault> {
        let [query, id] = [query, id].map(str::trim);
        self.seen.add(query, id)?;
        let bad = |fault: RowFault| {
            RowFault::new("bad grade", format!("{fault} (query `{}`, id `{}`)", shortened(query), shortened(id)))
        };
        let grades = grades.iter().map(|grade| qrel_grade(grade.trim())).collect::<Result<Vec<i16>, RowFault>>();
        let grades = grades.map_err(bad)?;
        let Some(first) = grades.first() else {
            self.ungraded += 1;
            return Ok(());
        };
        self.differing += u64::from(grades.iter().any(|grade| grade != first));
        let (sum, judges) = (grades.iter().map(|&grade| i64::from(grade)).sum::<i64>(), grades.len() as i64);
        let grade = (2 * sum + judges).div_euclid(2 * judges) as i16;
        let query = decoded(query, &mut self.with_entities).into_owned();
        self.qrels.push(Qrel { query_id: query, title_id: id.to_owned(), grade });
        Ok(())
    }
}

/// What of a document has the judgments.
enum Entries<'a> {
    /// OpenSearch's: a list of queries with ratings, or ratings by query.
    Ratings(&'a Value),
    /// Quepid's pairs of query and document.
    Pairs(&'a [Value]),
}

/// Finds the judgments of a request, of an answer to one, or of a list alone.
fn entries(value: &Value) -> Option<Entries<'_>> {
    if let Some(list) = RATINGS.iter().find_map(|name| value.get(name)) {
        return Some(Entries::Ratings(list));
    }
    if let Some(pairs) = value.get(PAIRS).and_then(Value::as_array) {
        return Some(Entries::Pairs(pairs));
    }
    if value.get(0).is_some_and(|first| first.get("ratings").is_some()) {
        return Some(Entries::Ratings(value));
    }
    let hits = value.pointer("/hits/hits").and_then(Value::as_array).filter(|hits| hits.len() == 1);
    value.get("_source").or_else(|| hits?.first()).and_then(entries)
}

/// Returns the first of these members, a text or a number.
fn text_of(object: &Value, names: &[&str]) -> Result<String, RowFault> {
    let text = names.iter().find_map(|name| scalar(&object[*name])).filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| {
        let found = shortened(&object.to_string());
        RowFault::expected("no member", format!("a text or a number as `{}`", names[0]), format!("`{found}`"))
    })
}

named! {
    /// The forms in which other programs take judgments.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum JudgmentsForm {
        /// The request that imports judgments into OpenSearch's Search Relevance Workbench.
        Opensearch = "opensearch",
        /// Quepid's table of ratings.
        Quepid = "quepid",
        /// A book of Quepid.
        QuepidBook = "quepid-book",
    }
}

impl FromStr for JudgmentsForm {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<JudgmentsForm, &'static str> {
        JudgmentsForm::from_name(name).ok_or("expected opensearch, quepid or quepid-book")
    }
}

/// A judged title, to be written.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The query.
    pub query: &'a str,
    /// The title's id.
    pub id: &'a str,
    /// The title.
    pub title: &'a str,
    /// The grade.
    pub grade: u8,
}

impl JudgmentsForm {
    /// Writes judgments under a name to `path`, atomically.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Io`.
    pub fn write(self, path: &Path, name: &str, judged: &[Judged<'_>]) -> Result<()> {
        let bytes = match self {
            JudgmentsForm::Quepid => {
                let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
                let row = |of: &Judged<'_>| format!("{},{},{}\n", quoted(of.query), quoted(of.id), of.grade);
                "query,docid,rating\n".to_owned() + &judged.iter().map(row).collect::<String>()
            }
            JudgmentsForm::QuepidBook => {
                let pair = |of: &Judged<'_>| {
                    let fields = json!({ "title": of.title }).to_string();
                    let judgement = json!({ "rating": f64::from(of.grade), "unrateable": false, "judge_later": false });
                    json!({ "query_text": of.query, "doc_id": of.id, "document_fields": fields, "judgements": [judgement] })
                };
                document(&json!({ "name": name, PAIRS: judged.iter().map(pair).collect::<Vec<_>>() }))
            }
            JudgmentsForm::Opensearch => {
                let (mut queries, mut positions) = (Vec::<Value>::new(), HashMap::new());
                for of in judged {
                    let position = *positions.entry(of.query).or_insert_with(|| {
                        queries.push(json!({ "query": of.query, "ratings": [] }));
                        queries.len() - 1
                    });
                    let rating = json!({ "docId": of.id, "rating": format!("{}.000", of.grade) });
                    queries[position]["ratings"].as_array_mut().expect("a list").push(rating);
                }
                document(&json!({ "name": name, "type": "IMPORT_JUDGMENT", RATINGS[0]: queries }))
            }
        };
        files::write_bytes_atomically(path, bytes.as_bytes())
    }
}

fn document(value: &Value) -> String {
    format!("{value:#}\n")
}
