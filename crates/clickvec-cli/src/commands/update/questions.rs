//! The queries on which the old and the new model are compared.

use anyhow::{Result, ensure};
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec::train::TrainConfig;
use clickvec_eval::update::{LEAST_QUERIES, Survey};
use clickvec_eval::{Collection, SearchQuery, TestSet, TestSetFiles};

use super::Args;
use crate::{output, test_set};

/// The queries on which the two models are compared.
pub(super) struct Questions {
    pub(super) newest: Vec<SearchQuery>,
    pub(super) earlier: Vec<SearchQuery>,
    pub(super) judged: Vec<SearchQuery>,
}

/// Whether neither the old model nor any that it began with has learnt the held-out queries.
pub(super) fn has_left_out(args: &Args, old: &Model) -> bool {
    old.training().left_out.is_some_and(|share| share >= args.held_out)
}

/// The queries of the newest day that decide instead of all of them, because the old model may have learnt the others:
/// none if it has not, or if there are too few.
pub(super) fn unseen(args: &Args, old: &Model, survey: &Survey, newest: &[SearchQuery]) -> Vec<SearchQuery> {
    if has_left_out(args, old) || survey.recurring.is_empty() {
        return Vec::new();
    }
    let unseen: Vec<SearchQuery> =
        newest.iter().filter(|query| !survey.recurring.contains(&query.id)).cloned().collect();
    if unseen.len() < LEAST_QUERIES {
        let few = output::count(unseen.len() as u64);
        output::note(format_args!(
            "the old model may have learnt held-out queries, because it goes back to one of `train`, and only {few} of the newest \
             day's are on no earlier day; so the test favours the old model"
        ));
        return Vec::new();
    }
    unseen
}

/// The collection and the queries of the comparison. An error if there are too few queries.
pub(super) fn questions(
    args: &Args,
    config: &TrainConfig,
    survey: &Survey,
    titles: Vec<Title>,
) -> Result<(Collection, Questions)> {
    let judged = match &args.judged {
        None => None,
        Some(judged) => {
            let files = TestSetFiles {
                judged,
                topics: None,
                titles: Some(args.title_columns.of(&args.titles)),
                field: &config.field,
            };
            Some(test_set::read(&files)?)
        }
    };
    // Match by text, so that titles with the same text count as one.
    let mut set = Collection::new(&survey.newest, false, titles)?;
    let mut questions = Questions {
        newest: std::mem::take(&mut set.queries),
        earlier: set.others(&survey.earlier, false)?,
        judged: Vec::new(),
    };
    if let (Some(TestSet { judgments, .. }), Some(path)) = (judged, &args.judged) {
        let before = (set.missing.count, set.judged);
        questions.judged = set.others(&judgments, false)?;
        let (missing, judged) = (set.missing.count - before.0, set.judged - before.1);
        ensure!(missing < judged, "{}: expected judged titles whose texts are in --titles, found none", path.display());
    }
    if let (1..LEAST_QUERIES, Some(path)) = (questions.judged.len(), &args.judged) {
        output::note(format_args!(
            "{}: {}, too few to decide; {LEAST_QUERIES} are needed",
            path.display(),
            output::counted(questions.judged.len() as u64, "query")
        ));
    }
    let held_out = questions.newest.len();
    if held_out < LEAST_QUERIES && questions.judged.len() >= LEAST_QUERIES {
        output::note(format_args!(
            "the newest day has {} with clicked titles, too few to compare models by: the judged titles alone decide",
            output::counted(held_out as u64, "held-out query")
        ));
    }
    ensure!(
        held_out >= LEAST_QUERIES || questions.judged.len() >= LEAST_QUERIES,
        "expected at least {LEAST_QUERIES} queries to compare the models on, found {held_out} held-out queries of the newest \
         day with clicked titles in {}; the old model stays; join the clicks of some days in one file, or give a larger \
         `--held-out` or `--judged FILE`",
        args.titles.display()
    );
    Ok((set, questions))
}
