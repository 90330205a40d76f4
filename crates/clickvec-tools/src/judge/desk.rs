//! The desk of the person who grades: what is next, what was graded, and what that shows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use clickvec_eval::{
    Agreement, ConfidenceSequence, EvaluateOptions, Finding, Judged, JudgmentsForm, Metric, Metrics, RankedTitle,
    Scored, Standing,
};
use clickvec_serve::{Sheet, SheetRow, Step};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::pool::{DEPTH, Pool, PooledQuery};
use super::verdict::{Agreed, Verdict};

/// The metric that decides.
const DECIDES: Metric = Metric::Ndcg(DEPTH as u32);

/// What two systems find, and the grades of it.
pub(super) struct Desk {
    pool: Pool,
    sheet: Sheet,
    /// The grades of others, which count where the sheet has none.
    others: Vec<Others>,
    /// The queries that the person cannot judge.
    skipped: HashSet<String>,
}

/// The grades of another judge, such as a language model.
pub(super) struct Others {
    pub(super) file: String,
    pub(super) rows: Vec<SheetRow>,
}

/// A card of the page.
#[derive(Serialize)]
struct Card<'a> {
    id: &'a str,
    title: &'a str,
    fields: BTreeMap<String, String>,
    grade: Option<u8>,
}

/// The grades of each query's titles, by id.
type Grades<'a> = HashMap<&'a str, HashMap<&'a str, u8>>;

fn grades_of(rows: &[SheetRow]) -> Grades<'_> {
    let mut grades = Grades::new();
    for SheetRow { query, id, grade, .. } in rows {
        if let Some(grade) = grade {
            grades.entry(query).or_default().insert(id, *grade);
        }
    }
    grades
}

impl Desk {
    pub(super) fn new(pool: Pool, sheet: Sheet, others: Vec<Others>) -> Desk {
        Desk { pool, sheet, others, skipped: HashSet::new() }
    }

    /// Does what the person did on the page, and returns what it shows next.
    pub(super) fn take(&mut self, step: Step) -> Result<Value> {
        match step {
            Step::Look | Step::Finish => {}
            Step::Skip { query } => drop(self.skipped.insert(query)),
            Step::Grade { query, id, grade } => {
                let row = self.row(&query, &id)?;
                self.sheet.grade(SheetRow { grade, ..row })?;
                self.skipped.remove(&query);
            }
        }
        self.page()
    }

    /// Returns the row of a title that is to be graded.
    fn row(&self, query: &str, id: &str) -> Result<SheetRow> {
        let mut rows = self.pool.queries.iter().flat_map(|query| &query.rows);
        rows.find(|row| row.query == query && row.id == id).cloned().ok_or_else(|| {
            Error::expected(ErrorKind::Setting, "the id of a title for the query", format!("`{}`", shortened(id)))
        })
    }

    /// Returns whether there are enough grades, or nothing is left to grade.
    pub(super) fn is_decided(&self) -> bool {
        let verdict = self.verdict();
        verdict.finding != Finding::Open || verdict.is_complete
    }

    fn grades(&self) -> Grades<'_> {
        let mut grades = grades_of(self.sheet.rows());
        for row in self.others.iter().flat_map(|others| &others.rows) {
            if let Some(grade) = row.grade {
                grades.entry(&row.query).or_default().entry(&row.id).or_insert(grade);
            }
        }
        grades
    }

    /// Returns how far the grades of others agree with those of the sheet.
    fn agreements(&self) -> Vec<Agreed> {
        let own = grades_of(self.sheet.rows());
        let agreed = |others: &Others| {
            let pair = |row: &SheetRow| Some((*own.get(&*row.query)?.get(&*row.id)?, row.grade?));
            let both: Vec<(u8, u8)> = others.rows.iter().filter_map(pair).collect();
            Agreed { file: others.file.clone(), agreement: Agreement::new(&both) }
        };
        self.others.iter().map(agreed).collect()
    }

    /// Measures both systems on the searches up to the next query that is not graded yet. Those of queries that were left out
    /// do not count.
    fn measured(&self, grades: &Grades<'_>) -> Measured {
        let metrics: Vec<Option<[Metrics; 2]>> =
            self.pool.queries.iter().map(|query| query.is_complete(grades).then(|| query.metrics(grades))).collect();
        let reached = metrics.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let end = self.pool.searches.iter().position(|&query| query >= reached);
        let (before, after) = self.pool.searches.split_at(end.unwrap_or(self.pool.searches.len()));
        Measured {
            queries: metrics.iter().flatten().count(),
            searches: before.iter().filter_map(|&query| metrics[query].clone()).collect(),
            reached,
            after: after.to_vec(),
        }
    }

    /// Returns what the page shows: the next query, and how far the grades reach.
    fn page(&self) -> Result<Value> {
        let grades = self.grades();
        let measured = self.measured(&grades);
        let is_next = |query: &&PooledQuery| !query.is_complete(&grades) && !self.skipped.contains(query.text());
        let next = self.pool.queries.iter().find(is_next);
        // What another judge says would lead the person.
        let own = grades_of(self.sheet.rows());
        let card = |row: &SheetRow| {
            let grade = own.get(&*row.query).and_then(|grades| grades.get(&*row.id)).copied();
            Ok(json!(Card { id: &row.id, title: &row.title, fields: self.pool.fields(&row.id)?, grade }))
        };
        let cards = next.map_or(Ok(Vec::new()), |query| query.rows.iter().map(card).collect::<Result<Vec<Value>>>())?;
        let open = cards.iter().filter(|card| card["grade"].is_null()).count();
        let differences = measured.differences();
        let enough = measured.sequence().finding() != Finding::Open;
        let left = ConfidenceSequence::needed(&differences, measured.after.len()).filter(|_| measured.queries >= FEW);
        let is_new = |query: &&usize| **query >= measured.reached;
        let left = left.map(|searches| measured.after[..searches].iter().filter(is_new).collect::<HashSet<_>>().len());
        Ok(json!({
            "query": next.map(PooledQuery::text),
            "titles": cards,
            "open": open,
            "judged": measured.queries,
            "queries": self.pool.queries.len(),
            "left": left,
            "enough": enough,
            "verdict": (enough || next.is_none()).then(|| self.verdict().sentence()),
        }))
    }

    /// Returns the titles of the pool with the grades that they have.
    pub(super) fn rows(&self) -> Vec<SheetRow> {
        let grades = self.grades();
        let grade = |row: &SheetRow| grades.get(&*row.query).and_then(|grades| grades.get(&*row.id)).copied();
        self.pool.rows().into_iter().map(|row| SheetRow { grade: grade(&row), ..row }).collect()
    }

    /// Writes the grades of the sheet in the form of another program.
    pub(super) fn write(&self, form: JudgmentsForm, file: &Path) -> Result<()> {
        let rows = self.sheet.rows().iter();
        let judged =
            rows.filter_map(|SheetRow { query, id, title, grade }| Some(Judged { query, id, title, grade: (*grade)? }));
        form.write(file, &self.pool.names.join(" and "), &judged.collect::<Vec<_>>())
    }

    /// Returns what the grades show.
    pub(super) fn verdict(&self) -> Verdict {
        let measured = self.measured(&self.grades());
        let sequence = measured.sequence();
        let standing = |system: usize| {
            let mean = if measured.searches.is_empty() {
                Metrics::from_iter([(DECIDES, 0.0)])
            } else {
                Metrics::mean(measured.searches.iter().map(|metrics| &metrics[system]))
            };
            Standing { name: self.pool.names[system].clone(), mean }
        };
        Verdict {
            systems: [standing(0), standing(1)],
            difference: sequence.mean,
            interval: sequence.interval,
            queries: measured.queries,
            searches: sequence.queries,
            finding: sequence.finding(),
            is_complete: measured.queries == self.pool.queries.len(),
            agreements: self.agreements(),
        }
    }
}

/// With fewer queries, the number that is left cannot be told.
const FEW: usize = 5;

/// The metrics of both systems for the searches that count.
struct Measured {
    queries: usize,
    searches: Vec<[Metrics; 2]>,
    /// The number of queries up to the last one that is graded.
    reached: usize,
    /// The queries of the searches that come after them.
    after: Vec<usize>,
}

impl Measured {
    fn differences(&self) -> Vec<f64> {
        self.searches.iter().map(|[ours, theirs]| ours.get(DECIDES) - theirs.get(DECIDES)).collect()
    }

    fn sequence(&self) -> ConfidenceSequence {
        ConfidenceSequence::new(&self.differences())
    }
}

impl PooledQuery {
    fn text(&self) -> &str {
        &self.rows[0].query
    }

    fn is_complete(&self, grades: &Grades<'_>) -> bool {
        let grades = grades.get(self.text());
        self.rows.iter().all(|row| grades.is_some_and(|grades| grades.contains_key(&*row.id)))
    }

    /// Returns the metrics of both systems. The ideal order is that of all titles with a grade.
    fn metrics(&self, grades: &Grades<'_>) -> [Metrics; 2] {
        let grades = &grades[self.text()];
        let all: Vec<u8> = grades.values().copied().collect();
        self.found.each_ref().map(|found| {
            let ranked = found.iter().map(|&(row, score)| {
                let id = &*self.rows[row].id;
                let title = Scored { id, score: f64::from(score), grade: grades[id] };
                RankedTitle { title, judged: true }
            });
            Metrics::compute(&ranked.collect::<Vec<_>>(), &all, [DECIDES], &EvaluateOptions::default())
        })
    }
}
