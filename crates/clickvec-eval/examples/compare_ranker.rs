//! Compares your own ranker with BM25 on judged titles, with a significance test.

use std::collections::HashSet;
use std::path::Path;

use clickvec_eval::ranker::{self, Corpus, Ranker};
use clickvec_eval::{Correction, Metric, TestSetFiles, compare_all, evaluate, read_test_set};

/// The number of the query's words that a title has.
struct SharedWords;

impl Ranker for SharedWords {
    fn name(&self) -> &str {
        "shared words"
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<HashSet<_>>();
        let query = words(query);
        titles.iter().map(|title| words(title).intersection(&query).count() as f64).collect()
    }
}

fn main() -> clickvec::Result<()> {
    let judged = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop/judged.tsv"));
    let files = TestSetFiles { judged, topics: None, titles: None, field: "title" };
    let judgments = read_test_set(&files)?.judgments;
    let titles = judgments.queries.iter().flat_map(|query| &query.titles);
    let bm25 = ranker::train("bm25", &Corpus::from_titles(titles.map(|title| title.text.as_str()))?)?;
    let systems = [&SharedWords as &dyn Ranker, &*bm25].map(|system| evaluate(system, &judgments, &Default::default()));
    for system in &systems {
        println!("{:12}  NDCG@1 {:.3}", system.name, system.mean.get(Metric::Ndcg(1)));
    }
    for compared in compare_all(&systems)?.iter().filter(|compared| compared.metric == Metric::Ndcg(1)) {
        let (test, verdict) = (&compared.test, compared.verdict(Correction::Holm));
        println!("difference {:+.3}, p = {:.4}, {verdict:?}", test.difference, test.p);
    }
    Ok(())
}
