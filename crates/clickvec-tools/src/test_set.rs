//! Reading a test set in any form (docs/reference/tables.md), and reporting what it lacks.

use std::path::Path;

use clickvec_eval::{self as eval, Form, Ids, JudgedQuery, Overlap, TestSet, TestSetFiles};
use clickvec_tables::shown::{count, counted, first_of, named_counts, printable, shown_input};
use clickvec_tables::{Error, ErrorKind, Result, files};

use crate::Watcher;

/// Reads a test set, which must not be empty, and notes what is missing.
///
/// # Errors
///
/// Those of reading it.
pub fn read(files: &TestSetFiles<'_>, watch: &dyn Watcher) -> Result<TestSet> {
    noted(files, eval::read_test_set(files)?, watch)
}

/// Reads a test set for runs, as [`read`] does, but TREC qrels may come without texts.
///
/// # Errors
///
/// Those of reading it.
pub fn read_for_runs(files: &TestSetFiles<'_>, watch: &dyn Watcher) -> Result<TestSet> {
    noted(files, eval::read_test_set_for_runs(files)?, watch)
}

fn noted(files: &TestSetFiles<'_>, set: TestSet, watch: &dyn Watcher) -> Result<TestSet> {
    note(files, &set, watch);
    set.check_not_empty(files.judged)?;
    Ok(set)
}

/// Notes what is missing in a test set read from `files`.
pub fn note(files: &TestSetFiles<'_>, set: &TestSet, watch: &dyn Watcher) {
    let path = shown_input(files.judged);
    if let Form::Beir { qrels, .. } = &set.form
        && files.judged.is_dir()
    {
        watch.note(format!("{path}: judged by {}", shown_input(qrels)));
    }
    if set.judgments.headers > 0 {
        let headers = counted(set.judgments.headers, "repeated header");
        watch.warn(format!("{path}: left out {headers}"));
    }
    if set.judgments.duplicates > 0 {
        let repeated = counted(set.judgments.duplicates, "line");
        watch.warn(format!("{path}: left out {repeated} that occurred before"));
    }
    if set.judgments.ungraded > 0 {
        let ungraded = counted(set.judgments.ungraded, "row");
        watch.warn(format!("{path}: left out {ungraded} without a grade"));
    }
    let nulls = &set.judgments.null_texts;
    if !nulls.is_empty() {
        let rows = counted(nulls.values().sum(), "row");
        watch.warn(format!("{path}: left out {rows} whose query or title means nothing: {}", named_counts(nulls)));
    }
    note_ids(watch, files.judged, "left out", &set.queries_without_text, "judged query", "without a text");
    note_ids(watch, files.judged, "left out", &set.titles_without_text, "judged title", "without a text");
    note_ids(watch, files.judged, "left out", &set.queries_without_titles, "query", "with no judged title left");
    note_ids(
        watch,
        files.topics.unwrap_or(files.judged),
        "has",
        &set.queries_without_judgments,
        "query",
        "without judgments",
    );
    if set.negative_grades > 0 {
        let grades = counted(set.negative_grades, "negative grade");
        watch.warn(format!("{path}: left out {grades}, because trec_eval treats such titles as unjudged"));
    }
    if set.differing_grades > 0 {
        let titles = counted(set.differing_grades, "title");
        watch.warn(format!("{path}: the judges differ on {titles}; the mean of their grades counts, rounded"));
    }
    note_entities(files.judged, set.judgments.with_entities, watch);
    if set.untitled > 0 {
        let untitled = counted(set.untitled, "judged document");
        watch.note(format!("{path}: {untitled} without a title; the text is used instead"));
    }
    // Judgments may list only what is relevant.
    let alike = set.judgments.queries.iter().filter(|query| has_one_grade(query)).count();
    if alike > 0 {
        let queries = counted(set.judgments.queries.len() as u64, "query");
        watch.note(format!(
            "{path}: the judged titles of {} of {queries} all have the same grade, so every order scores alike",
            count(alike as u64)
        ));
    }
}

/// Notes in how many texts HTML entities were decoded.
pub(crate) fn note_entities(path: &Path, texts: u64, watch: &dyn Watcher) {
    if texts > 0 {
        let texts = counted(texts, "text");
        watch.note(format!("{}: decoded HTML entities in {texts}", shown_input(path)));
    }
}

/// Returns whether most of the judged queries are there; a note if not.
pub(crate) fn is_mostly_there(path: &Path, set: &TestSet, watch: &dyn Watcher) -> bool {
    let there = set.judgments.queries.len() as u64;
    let left_out = set.queries_without_text.count + set.queries_without_titles.count;
    if left_out > there {
        watch.warn(format!(
            "warning: {}: most queries were left out, {} of {}",
            shown_input(path),
            count(left_out),
            count(left_out + there)
        ));
    }
    left_out <= there
}

/// Refuses titles from a pipe if they are read twice: with TREC qrels, and as the collection.
pub(crate) fn refuse_pipe(files: &TestSetFiles<'_>) -> Result<()> {
    let Some(titles) = files.topics.and(files.titles.as_ref()) else { return Ok(()) };
    if files::is_stream(&titles.path) {
        let expected = "a file of titles, since they are read twice";
        let error = Error::expected(ErrorKind::Setting, expected, "a pipe").help("write them to a file first");
        return Err(error.at(&titles.path));
    }
    Ok(())
}

/// Notes how many judged queries are also in the clicks, and names some.
pub fn note_overlap(judged: &Path, clicks: &Path, overlap: &Overlap, watch: &dyn Watcher) {
    overlap.warning(judged, clicks).into_iter().for_each(|warning| watch.warn(warning));
}

fn has_one_grade(query: &JudgedQuery) -> bool {
    query.titles.windows(2).all(|pair| pair[0].grade == pair[1].grade)
}

fn note_ids(watch: &dyn Watcher, path: &Path, what: &str, ids: &Ids, noun: &str, why: &str) {
    let Ids { count, first } = ids;
    if *count == 0 {
        return;
    }
    let first = first_of(first.iter().map(|id| printable(id).into_owned()), *count);
    watch.warn(format!("{}: {what} {} {why}: {first}", shown_input(path), counted(*count, noun)));
}
