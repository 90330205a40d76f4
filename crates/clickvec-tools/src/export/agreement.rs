//! How far the search of another system agrees with the index, computed here as the documentation of that system describes it.

use clickvec::internals::text::words;
use clickvec::tables::Title;
use clickvec_index::{Analysis, Bm25, Fusion, FusionMethod, Index, Mode, Part, Request, TitleMatch};
use clickvec_tables::Result;

/// The queries, of two or three words each.
const QUERIES: usize = 200;
/// The most titles that are searched.
const TITLES: usize = 50_000;
/// The titles that each part finds.
const DEPTH: usize = 100;
/// The titles that are compared.
const FIRST: usize = 10;
/// The parameters of BM25 in Lucene, which both systems use.
const LUCENE: Bm25 = Bm25 { k1: 1.2, b: 0.75 };

/// Returns a number of queries made of titles, and the share of the index's first ten titles for them that a fusion of words as they are
/// and of vectors has among its own; `None` for an index with other parts.
pub(super) fn agreement(index: &Index, method: FusionMethod, words: f64, vectors: f64) -> Result<Option<(usize, f64)>> {
    if index.fusion().weights.iter().any(|(part, _)| !matches!(part, Part::Vectors | Part::Words)) {
        return Ok(None);
    }
    let titles: Vec<Title> =
        index.sample(TITLES)?.into_iter().map(|title| Title { id: title.id, title: title.title }).collect();
    let theirs = Fusion {
        method,
        weights: [(Part::Vectors, vectors), (Part::Words, words)].into(),
        bm25: LUCENE,
        analysis: Analysis::EXACT,
        title_match: TitleMatch::default(),
        custom: true,
        ..Fusion::default()
    };
    let queries = queries(&titles);
    let search = |fusion: Fusion, change: &dyn Fn(Request) -> Request| -> Result<Vec<Vec<String>>> {
        let index = Index::in_memory_with(index.model(), titles.clone(), fusion)?;
        let request =
            |query: &String| change(Request::new(query.as_str(), Mode::Fused).with_k(FIRST).with_min_confidence(0.0));
        let answers = index.search_all(&queries.iter().map(request).collect::<Vec<_>>())?;
        Ok(answers.into_iter().map(|answer| answer.hits.into_iter().map(|hit| hit.id).collect()).collect())
    };
    let own = search(index.fusion().clone(), &|request| request)?;
    let found = search(theirs, &|request| request.with_depth(DEPTH).as_typed())?;
    let both = own.iter().zip(&found).map(|(own, found)| own.iter().filter(|id| found.contains(id)).count());
    let all: usize = own.iter().map(Vec::len).sum();
    Ok((all > 0).then(|| (queries.len(), both.sum::<usize>() as f64 / all as f64)))
}

/// Makes queries of two or three words from titles that are spread over all.
fn queries(titles: &[Title]) -> Vec<String> {
    let count = QUERIES.min(titles.len());
    let query = |number: usize| {
        let words = words(&titles[number * titles.len() / count].title);
        let first = number % words.len().max(1);
        words.iter().cycle().skip(first).take((2 + number % 2).min(words.len())).cloned().collect::<Vec<_>>().join(" ")
    };
    (0..count).map(query).filter(|query| !query.is_empty()).collect()
}
