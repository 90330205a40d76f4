//! Reading a test set in any form (docs/reference/tables.md), and reporting what it lacks.

use std::path::Path;

use anyhow::{Result, ensure};
use clickvec_eval::{self as eval, Form, Ids, JudgedQuery, Overlap, TestSet, TestSetFiles};
use clickvec_tables::files;

use crate::console;

/// Reads a test set, which must not be empty, and reports on standard error what is missing.
pub(crate) fn read(files: &TestSetFiles<'_>) -> Result<TestSet> {
    reported(files, eval::read_test_set(files)?)
}

/// Reads a test set for runs, as [`read`] does, but TREC qrels may come without texts.
pub(crate) fn read_for_runs(files: &TestSetFiles<'_>) -> Result<TestSet> {
    reported(files, eval::read_test_set_for_runs(files)?)
}

fn reported(files: &TestSetFiles<'_>, set: TestSet) -> Result<TestSet> {
    say(files, &set);
    set.check_not_empty(files.judged)?;
    Ok(set)
}

/// Reports on standard error what is missing in a test set read from `files`.
pub(crate) fn say(files: &TestSetFiles<'_>, set: &TestSet) {
    let path = files.judged.display();
    if let Form::Beir { qrels, .. } = &set.form
        && files.judged.is_dir()
    {
        console::note(format_args!("{path}: judged by {}", qrels.display()));
    }
    if set.judgments.headers > 0 {
        let headers = console::counted(set.judgments.headers, "repeated header");
        console::note(format_args!("{path}: left out {headers}"));
    }
    if set.judgments.duplicates > 0 {
        let repeated = console::counted(set.judgments.duplicates, "line");
        console::note(format_args!("{path}: left out {repeated} that occurred before"));
    }
    if set.judgments.ungraded > 0 {
        let ungraded = console::counted(set.judgments.ungraded, "row");
        console::note(format_args!("{path}: left out {ungraded} without a grade"));
    }
    note_ids(files.judged, "left out", &set.queries_without_text, "judged query", "without a text");
    note_ids(files.judged, "left out", &set.titles_without_text, "judged title", "without a text");
    note_ids(files.judged, "left out", &set.queries_without_titles, "query", "with no judged title left");
    note_ids(files.topics.unwrap_or(files.judged), "has", &set.queries_without_judgments, "query", "without judgments");
    if set.negative_grades > 0 {
        let grades = console::counted(set.negative_grades, "negative grade");
        console::note(format_args!("{path}: left out {grades}, because trec_eval takes such titles as not judged"));
    }
    if set.differing_grades > 0 {
        let titles = console::counted(set.differing_grades, "title");
        console::note(format_args!("{path}: the judges differ on {titles}; the mean of their grades counts, rounded"));
    }
    note_entities(files.judged, set.judgments.with_entities);
    if set.untitled > 0 {
        let untitled = console::counted(set.untitled, "judged document");
        console::note(format_args!("{path}: {untitled} without a title; the text is used instead"));
    }
    // Judgments may list only what is relevant.
    let alike = set.judgments.queries.iter().filter(|query| has_one_grade(query)).count();
    if alike > 0 {
        let queries = console::counted(set.judgments.queries.len() as u64, "query");
        console::note(format_args!(
            "{path}: the judged titles of {} of {queries} all have the same grade, so every order scores alike",
            console::count(alike as u64)
        ));
    }
}

/// Reports in how many texts HTML entities were decoded.
pub(crate) fn note_entities(path: &Path, texts: u64) {
    if texts > 0 {
        let texts = console::counted(texts, "text");
        console::note(format_args!("{}: decoded HTML entities in {texts}", console::input(path)));
    }
}

/// Returns whether most of the judged queries are there; a warning if not.
pub(crate) fn is_mostly_there(path: &Path, set: &TestSet) -> bool {
    let there = set.judgments.queries.len() as u64;
    let left_out = set.queries_without_text.count + set.queries_without_titles.count;
    if left_out > there {
        console::note(format_args!(
            "warning: {}: most queries were left out, {} of {}",
            path.display(),
            console::count(left_out),
            console::count(left_out + there)
        ));
    }
    left_out <= there
}

/// Refuses titles from a pipe if they are read twice: with TREC qrels, and as the collection.
pub(crate) fn refuse_pipe(files: &TestSetFiles<'_>) -> Result<()> {
    let Some(titles) = files.topics.and(files.titles.as_ref()) else { return Ok(()) };
    ensure!(
        !files::is_stream(&titles.path),
        "{}: expected a file of titles, since they are read twice, found a pipe; write them to a file first",
        console::input(&titles.path)
    );
    Ok(())
}

/// Reports how many judged queries are also in the clicks, and names some.
pub(crate) fn note_overlap(judged: &Path, clicks: &Path, overlap: &Overlap) {
    overlap.warning(judged, clicks).into_iter().for_each(console::note);
}

fn has_one_grade(query: &JudgedQuery) -> bool {
    query.titles.windows(2).all(|pair| pair[0].grade == pair[1].grade)
}

fn note_ids(path: &Path, what: &str, ids: &Ids, noun: &str, why: &str) {
    let Ids { count, first } = ids;
    if *count == 0 {
        return;
    }
    let first = console::first_of(first.iter().map(|id| console::printable(id).into_owned()), *count);
    console::note(format_args!("{}: {what} {} {why}: {first}", path.display(), console::counted(*count, noun)));
}
