//! Queries made from the titles: some are stored with their answers, others determine how many lists a search must compare.

use clickvec::index::{Hit, QuantizedIndex};
use clickvec::internals::index::{Blocks, Scope};
use clickvec::model::{Model, Side};
use serde::{Deserialize, Serialize};

use clickvec_tables::Stop;
use clickvec_tables::shown::shortened;

use crate::error::{Error, ErrorKind, Result};
use crate::parts::vectors::{Reach, Vectors};
use crate::parts::words::{Bm25, Statistics, Words};
use crate::titles::{self, TitleLines};

pub(crate) const CANARIES_FILE: &str = "canaries.json";

/// The number of queries that an index stores.
const KEPT: usize = 8;
/// The number of titles of each answer.
const ANSWERS: usize = 3;
/// The number of queries that determine how many lists to search.
const TUNING: usize = 256;
/// The number of best titles that should be found, and the share of them that is enough. What people type finds more: it is
/// nearer to some titles than words that were picked from a title.
const TUNED_K: usize = 10;
const ENOUGH: f64 = 0.965;
/// The first gap to try, and the factor of each next one.
const GAPS: (f32, f32) = (0.1, 1.12);
/// The largest share of the lists to search, unless that is not enough: then a quarter more are tried at a time.
const MOST: f64 = 0.05;
/// If this share of the queries search as many lists as they may, more lists are allowed instead of a larger gap.
const CAPPED: f64 = 0.25;
/// The most that a score may differ on another processor.
const TOLERANCE: f32 = 1e-3;

/// A query with its answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Canary {
    query: String,
    /// The scores of the best titles by vectors.
    vectors: Vec<f32>,
    /// The scores of the best titles by words.
    words: Vec<f32>,
}

/// Measures the number of lists that a search must compare.
pub(super) fn tune(vectors: &mut Vectors, titles: &TitleLines, model: &Model) -> Result<()> {
    let Some(lists) = &mut vectors.lists else { return Ok(()) };
    let mut queries = titles::queries(&[titles], TUNING);
    queries.retain(|query| model.dictionary().knows_a_word(query));
    let embedded = model.embedder(Side::Query).embed(&queries);
    let index = &vectors.index;
    let all = lists.header.blocks.len() - 1;
    let search = |query: &[f32], blocks: Option<&[Blocks]>| best(index, query, blocks);
    let embedded: Vec<&[f32]> = embedded.chunks_exact(model.dimension()).collect();
    let exact = embedded.iter().map(|query| search(query, None)).collect::<Result<Vec<_>>>()?;
    let (mut searched, mut gap) = (((all as f64 * MOST) as usize).clamp(1, all.max(1)), GAPS.0);
    loop {
        (lists.header.searched, lists.header.gap) = (searched, gap);
        let (mut sum, mut capped) = (0.0, 0);
        for (query, exact) in embedded.iter().zip(&exact) {
            let near = lists.nearest(query, false);
            let found = search(query, Some(&near))?;
            // What scores as much as the last of the best is as good.
            let last = exact.last().map_or(0.0, |hit| hit.score);
            let good = found.iter().filter(|hit| hit.score >= last).count();
            sum += good as f64 / exact.len().max(1) as f64;
            capped += usize::from(near.len() >= searched);
        }
        lists.header.recall = sum / embedded.len().max(1) as f64;
        let is_capped = capped as f64 >= CAPPED * embedded.len() as f64;
        if lists.header.recall >= ENOUGH || (is_capped && searched >= all) {
            return Ok(());
        }
        if is_capped { searched = (searched + searched.div_ceil(4)).min(all) } else { gap *= GAPS.1 }
    }
}

/// Finds the best titles for one of the many queries that measure how many lists to search.
fn best(index: &QuantizedIndex, query: &[f32], blocks: Option<&[Blocks]>) -> Result<Vec<Hit>> {
    Stop::of_thread().check()?;
    let scope = Scope { allowed: None, blocks };
    Ok(index.search_in(query, TUNED_K, &scope, &mut Default::default())?.to_vec())
}

/// Answers the queries that an index stores.
pub(super) fn ask(
    vectors: &Vectors,
    words: &Words,
    bm25: Bm25,
    titles: &TitleLines,
    model: &Model,
) -> Result<Vec<Canary>> {
    titles::queries(&[titles], KEPT).into_iter().map(|query| answer(query, vectors, words, bm25, model)).collect()
}

fn answer(query: String, vectors: &Vectors, words: &Words, bm25: Bm25, model: &Model) -> Result<Canary> {
    let by_vectors = if model.dictionary().knows_a_word(&query) {
        let vector = model.embedder(Side::Query).embed(&[&query]);
        vectors.search(&vector, ANSWERS, Reach::Nearest, None)?
    } else {
        Vec::new()
    };
    let statistics = Statistics::new(vec![words], bm25);
    let by_words = words.search(&words.terms(&query), ANSWERS, &statistics, &|_| true)?;
    let scores = |hits: Vec<Hit>| hits.iter().map(|hit| hit.score).collect();
    Ok(Canary { query, vectors: scores(by_vectors), words: scores(by_words) })
}

/// Repeats the stored queries, and returns their number.
pub(crate) fn check(canaries: &[Canary], segment: &super::Segment, bm25: Bm25, model: &Model) -> Result<usize> {
    for canary in canaries {
        let found = answer(canary.query.clone(), &segment.vectors, &segment.words, bm25, model)?;
        let lists = [(&found.vectors, &canary.vectors), (&found.words, &canary.words)];
        if let Some((index, found, expected)) =
            lists.into_iter().find_map(|(found, expected)| difference(found, expected))
        {
            let shown = |score: Option<f32>| score.map_or_else(|| "none".to_owned(), |score| score.to_string());
            let (query, rank) = (shortened(&canary.query), index + 1);
            let expected = format!(
                "the score {} for hit {rank} of the query `{query}`, as when the index was made",
                shown(expected)
            );
            let error = Error::expected(ErrorKind::Mismatch, expected, shown(found));
            return Err(error.help("this program and the index do not fit").at(&segment.path));
        }
    }
    Ok(canaries.len())
}

/// Returns the first index at which two lists of scores differ, and both scores there.
fn difference(found: &[f32], expected: &[f32]) -> Option<(usize, Option<f32>, Option<f32>)> {
    let scores = |index: usize| (index, found.get(index).copied(), expected.get(index).copied());
    let is_near = |(_, a, b): &(usize, Option<f32>, Option<f32>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(1.0),
        _ => false,
    };
    (0..found.len().max(expected.len())).map(scores).find(|scores| !is_near(scores))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use clickvec::index::FlatIndex;

    use super::*;

    #[test]
    fn measuring_lists_stops_at_the_next_query() {
        static FLAG: AtomicBool = AtomicBool::new(false);
        let index = QuantizedIndex::new(FlatIndex::new(2, vec![1.0, 0.0, 0.0, 1.0]).unwrap());
        Stop::new(&FLAG).during(|| {
            assert_eq!(best(&index, &[1.0, 0.0], None).unwrap()[0].position, 0);
            FLAG.store(true, Ordering::Relaxed);
            let error = best(&index, &[1.0, 0.0], None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted);
        });
    }
}
