//! The comparison of an index with BM25: on queries that were held out, or on judged titles.

use std::collections::HashMap;
use std::path::Path;

use clickvec::internals::clicks::ClickReader;
use clickvec::model::Model;
use clickvec::tables::{TITLE, Title, Titles, read_titles};
use clickvec::train::Weighting;
use clickvec_eval::ranker::{self, Corpus};
use clickvec_eval::{
    Answers, Collection, Contest, Correction, EvaluateOptions, Evaluation, Evidence, HeldOutTest, Metric, TestSetFiles,
    Verdict, read_test_set, search_all,
};
use clickvec_index::{Fusion, Index, IndexBuilder, Teacher, VectorFormat, finish};
use clickvec_tables::{Error, ErrorKind, Result};

use crate::progress::Progress;
use crate::searched::IndexCandidates;
use crate::size::Size;
use crate::{Run, TITLES_AT_ONCE};

/// The name of the index in a comparison.
const INDEX: &str = "the index";
/// The names of the same index with and without the other of a teacher.
const WITH: &str = "the index with the teacher";
const WITHOUT: &str = "the index without the teacher";

/// The rankers that an index is compared with, and their names.
const BASELINES: [(&str, &str); 2] = [("bm25", "BM25"), ("bm25:k1=0.5,stem=1,split=1", "BM25 of stems")];

/// The metrics of judged titles.
const METRICS: [Metric; 6] = [
    Metric::Ndcg(1),
    Metric::Ndcg(3),
    Metric::Ndcg(10),
    Metric::Recall(100),
    Metric::Judged(10),
    Metric::CondensedNdcg(10),
];

/// Returns the files of judged titles.
pub(crate) fn files(judged: &Path) -> TestSetFiles<'_> {
    TestSetFiles { judged, topics: None, titles: None, field: TITLE }
}

/// Compares an index of the titles of a test, made with a model that has not seen its queries, in the folder `scratch`.
///
/// # Errors
///
/// Those of making the index and of searching.
pub(crate) fn held_out(
    test: &HeldOutTest,
    model: &Path,
    scratch: &Path,
    teacher: Option<&Teacher>,
    run: &mut Run<'_, '_>,
) -> Result<Contest> {
    let model = Model::load(model)?;
    let plain = answers(test, &model, &Fusion::for_model(&model), scratch, run)?;
    let Some(teacher) = teacher else { return test.compare(&[(INDEX, &plain)], &BASELINES) };
    let taught = answers(test, &model, &Fusion::for_model(&model).with_teacher(teacher.clone()), scratch, run)?;
    let contest = test.compare(&[(INDEX, &taught), (WITHOUT, &plain)], &BASELINES)?;
    if loses(&contest, WITHOUT) { test.compare(&[(INDEX, &plain), (WITH, &taught)], &BASELINES) } else { Ok(contest) }
}

/// Returns whether the first system of a comparison is shown to be worse than another.
fn loses(contest: &Contest, other: &str) -> bool {
    contest.tests.iter().any(|test| test.b == other && test.verdict(Correction::Holm) == Verdict::Worse)
}

/// Returns whether the teacher is a part of the index that was compared.
pub(crate) fn keeps_teacher(contest: &Contest) -> bool {
    contest.systems.iter().all(|system| system.name != WITH)
}

/// Searches an index of a test's titles.
fn answers(
    test: &HeldOutTest,
    model: &Model,
    fusion: &Fusion,
    scratch: &Path,
    run: &mut Run<'_, '_>,
) -> Result<Answers> {
    let set = test.collection();
    let mut builder = IndexBuilder::new(model, scratch)?;
    let of = set.titles.len() as u64;
    for (position, title) in (0u64..).zip(&set.titles) {
        builder.add(Title { id: position.to_string(), title: title.title.clone() })?;
        if position % TITLES_AT_ONCE == 0 {
            run.tell(Progress::Encoding { texts: position, of })?;
        }
    }
    run.tell(Progress::Writing)?;
    finish(builder, model, fusion, VectorFormat::default())?;
    let index = Index::open(scratch)?;
    let numbered = numbered(set);
    let lists = search_all(
        &IndexCandidates::new(&index, &numbered),
        &set.queries,
        HeldOutTest::DEPTH,
        &mut answered(set, run),
    )?;
    drop(index);
    // Nothing is lost if it stays: it lies in the folder of the build.
    let _ = std::fs::remove_dir_all(scratch);
    Ok(Answers::Lists(lists))
}

/// Returns the collection with the position of each title as its id.
fn numbered(set: &Collection) -> Collection {
    let number = |(position, title): (usize, &Title)| Title { id: position.to_string(), title: title.title.clone() };
    Collection {
        titles: set.titles.iter().enumerate().map(number).collect(),
        queries: Vec::new(),
        known: Vec::new(),
        repeated: 0,
        missing: set.missing.clone(),
        judged: 0,
    }
}

/// Compares an index on judged titles, searching all titles, and with the same index without its teacher, if it is there.
///
/// # Errors
///
/// Those of reading the judged titles and of searching; none of them is among the titles.
pub(crate) fn judged(
    judged: &Path,
    titles: &Titles,
    index: &Path,
    plain: Option<&Path>,
    run: &mut Run<'_, '_>,
) -> Result<Contest> {
    let set = read_test_set(&files(judged))?;
    let collection = Collection::new(&set.judgments, set.title_ids, read_titles(titles, TITLE)?.titles)?;
    if collection.missing.count >= collection.judged {
        let expected = "judged titles that are among the titles";
        return Err(Error::expected(ErrorKind::Mismatch, expected, "none").at(judged));
    }
    let task = collection.task(&collection.queries);
    let depth = HeldOutTest::DEPTH;
    let judge = |name: &str, answers: &Answers| -> Evaluation {
        task.judge(name, answers, &METRICS, &EvaluateOptions::default())
    };
    let search = |index: &Path, run: &mut Run<'_, '_>| -> Result<Answers> {
        let index = Index::open(index)?;
        let done = &mut answered(&collection, run);
        let candidates = IndexCandidates::new(&index, &collection);
        Ok(Answers::Lists(search_all(&candidates, &collection.queries, depth, done)?))
    };
    let mut systems = Vec::new();
    let corpus = Corpus::from_titles(collection.texts())?;
    for (spec, name) in BASELINES {
        let ranker = ranker::train(spec, &corpus)?;
        systems.push(judge(name, &task.answers(&*ranker, depth, &mut answered(&collection, run))?));
    }
    let compare = |indexes: &[(&str, &Answers)]| {
        let indexes = indexes.iter().map(|(name, answers)| judge(name, answers));
        Contest::new(Evidence::Judgments, &indexes.chain(systems.iter().cloned()).collect::<Vec<_>>())
    };
    let found = search(index, run)?;
    let Some(plain) = plain.map(|plain| search(plain, run)).transpose()? else { return compare(&[(INDEX, &found)]) };
    let contest = compare(&[(INDEX, &found), (WITHOUT, &plain)])?;
    if loses(&contest, WITHOUT) { compare(&[(INDEX, &plain), (WITH, &found)]) } else { Ok(contest) }
}

/// Returns a function that reports the number of answered queries. A break is noticed by the next report.
fn answered<'a>(set: &Collection, run: &'a mut Run<'_, '_>) -> impl FnMut(usize) + 'a {
    let of = set.queries.len() as u64;
    move |queries| {
        let _ = run.tell(Progress::Answered { queries: queries as u64, of });
    }
}

/// The query and the title of counted clicks that were clicked most, and how many there are.
pub(crate) struct MostClicked {
    pub(crate) query: Option<String>,
    /// The title, and its share of all clicks.
    pub(crate) title: (String, f64),
    pub(crate) size: Size,
}

/// Reads counted clicks.
///
/// # Errors
///
/// Those of reading them.
pub(crate) fn most_clicked(clicks: &Path, weighting: Weighting) -> Result<MostClicked> {
    let mut reader = ClickReader::open(clicks, TITLE, weighting)?;
    let (mut queries, mut titles) = (HashMap::<String, f64>::new(), HashMap::<String, f64>::new());
    let (mut all, mut pairs) = (0.0, 0);
    while let Some(click) = reader.next()? {
        for (map, text) in [(&mut queries, click.query), (&mut titles, click.title)] {
            match map.get_mut(text) {
                Some(clicks) => *clicks += click.worth,
                None => drop(map.insert(text.to_owned(), click.worth)),
            }
        }
        all += click.worth;
        pairs += 1;
    }
    let size = Size { titles: titles.len() as u64, pairs, queries: queries.len() as u64 };
    // Of those that were clicked alike, the first by its letters.
    let most =
        |map: HashMap<String, f64>| map.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    let (title, clicked) = most(titles).unwrap_or_default();
    let title = (title, clicked / f64::max(all, 1e-9));
    Ok(MostClicked { query: most(queries).map(|(query, _)| query), title, size })
}
