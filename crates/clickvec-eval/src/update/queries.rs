//! The queries on which the old and the new model are compared.

use std::collections::HashSet;
use std::path::Path;

use clickvec::Result;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_tables::{Error, ErrorKind};

use super::{LEAST_QUERIES, Notice, Survey};
use crate::{Collection, JudgedQuery, Judgments, SearchQuery};

/// The queries on which the two models are compared.
pub(super) struct Queries {
    /// The held-out queries of the newest day.
    pub(super) newest: Vec<SearchQuery>,
    /// The newest queries that the old model cannot have learnt.
    pub(super) unlearnt: Vec<SearchQuery>,
    /// The held-out queries of earlier days.
    pub(super) earlier: Vec<SearchQuery>,
    /// The queries with judged titles.
    pub(super) judged: Vec<SearchQuery>,
    /// The most frequent queries of all days.
    pub(super) frequent: Vec<SearchQuery>,
}

/// Returns whether neither the old model nor any that it began with has learnt the held-out queries.
pub(super) fn has_left_out(old: &Model, held_out: f64) -> bool {
    old.training().left_out.is_some_and(|share| share >= held_out)
}

/// Returns the collection and the queries of the comparison. `learnt` are the ids of queries that the old model may have learnt,
/// `judged` are judged titles with their file.
///
/// # Errors
///
/// None of the judged titles is in the collection.
pub(super) fn queries(
    survey: &Survey,
    learnt: &HashSet<String>,
    frequent: Vec<String>,
    titles: Vec<Title>,
    judged: Option<(&Path, &Judgments)>,
    notice: &mut dyn FnMut(Notice),
) -> Result<(Collection, Queries)> {
    // Match by text, so that titles with the same text count as one.
    let mut set = Collection::new(&survey.newest, false, titles)?;
    let newest = std::mem::take(&mut set.queries);
    let unlearnt = newest.iter().filter(|query| !learnt.contains(&query.id)).cloned().collect();
    let frequent = frequent.into_iter().map(|text| JudgedQuery { id: String::new(), text, titles: Vec::new() });
    let frequent = Judgments { queries: frequent.collect(), ..Judgments::default() };
    let mut queries = Queries {
        newest,
        unlearnt,
        earlier: set.others(&survey.earlier, false)?,
        judged: Vec::new(),
        frequent: set.others(&frequent, false)?,
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
    Ok((set, queries))
}
