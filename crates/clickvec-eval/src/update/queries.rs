//! The queries on which the old and the new model are compared.

use std::path::Path;

use clickvec::Result;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_tables::{Error, ErrorKind};

use super::{LEAST_QUERIES, Notice, Survey};
use crate::{Collection, Judgments, SearchQuery};

/// The queries on which the two models are compared.
pub(super) struct Queries {
    pub(super) newest: Vec<SearchQuery>,
    pub(super) earlier: Vec<SearchQuery>,
    pub(super) judged: Vec<SearchQuery>,
}

/// Returns whether neither the old model nor any that it began with has learnt the held-out queries.
pub(super) fn has_left_out(old: &Model, held_out: f64) -> bool {
    old.training().left_out.is_some_and(|share| share >= held_out)
}

/// Returns the queries of the newest day that decide instead of all of them, because the old model may have learnt the others; none
/// if it has not, or if there are too few.
pub(super) fn unseen(
    old: &Model,
    held_out: f64,
    survey: &Survey,
    newest: &[SearchQuery],
    notice: &mut dyn FnMut(Notice),
) -> Vec<SearchQuery> {
    if has_left_out(old, held_out) || survey.recurring.is_empty() {
        return Vec::new();
    }
    let unseen: Vec<SearchQuery> =
        newest.iter().filter(|query| !survey.recurring.contains(&query.id)).cloned().collect();
    if unseen.len() < LEAST_QUERIES {
        notice(Notice::FewUnseen { queries: unseen.len() });
        return Vec::new();
    }
    unseen
}

/// Returns the collection and the queries of the comparison. `judged` are judged titles with their file.
///
/// # Errors
///
/// There are too few queries.
pub(super) fn queries(
    survey: &Survey,
    titles: Vec<Title>,
    judged: Option<(&Path, &Judgments)>,
    notice: &mut dyn FnMut(Notice),
) -> Result<(Collection, Queries)> {
    // Match by text, so that titles with the same text count as one.
    let mut set = Collection::new(&survey.newest, false, titles)?;
    let mut queries = Queries {
        newest: std::mem::take(&mut set.queries),
        earlier: set.others(&survey.earlier, false)?,
        judged: Vec::new(),
    };
    if let Some((path, judgments)) = judged {
        let before = (set.missing.count, set.judged);
        queries.judged = set.others(judgments, false)?;
        let (missing, all) = (set.missing.count - before.0, set.judged - before.1);
        if missing >= all {
            let expected = "judged titles whose texts are among the titles";
            return Err(Error::expected(ErrorKind::Mismatch, expected, "none").at(path));
        }
        if (1..LEAST_QUERIES).contains(&queries.judged.len()) {
            notice(Notice::FewJudged { queries: queries.judged.len() });
        }
    }
    let held_out = queries.newest.len();
    let is_judged = queries.judged.len() >= LEAST_QUERIES;
    if held_out < LEAST_QUERIES && is_judged {
        notice(Notice::JudgedAlone { held_out });
    }
    if held_out < LEAST_QUERIES && !is_judged {
        let expected = format!("at least {LEAST_QUERIES} queries to compare the models on");
        let found = format!("{held_out} held-out queries of the newest day with clicked titles in the collection");
        let help =
            "the old model stays; join the clicks of some days in one file, hold out more, or name judged titles";
        return Err(Error::expected(ErrorKind::Empty, expected, found).help(help));
    }
    Ok((set, queries))
}
