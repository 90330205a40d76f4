//! Compares your own ranker with BM25 on judged titles, with a significance test.

use std::collections::HashSet;

use clickvec::eval::{Correction, JudgedQuery, JudgedTitle, Judgments, Metric, compare_all, evaluate};
use clickvec::ranker::{self, Corpus, Ranker};

/// The share of the query's words that a title has.
struct SharedWords;

impl Ranker for SharedWords {
    fn name(&self) -> &str {
        "shared words"
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<HashSet<_>>();
        let query = words(query);
        titles
            .iter()
            .map(|title| words(title).intersection(&query).count() as f64 / query.len().max(1) as f64)
            .collect()
    }
}

fn main() -> clickvec::Result<()> {
    let titles = ["red oak table", "table lamp, red", "blue sofa", "sofa with two seats", "oak chair", "lamp of oak"];
    let judged = |text: &str, grades: [u8; 6]| JudgedQuery {
        id: text.to_owned(),
        text: text.to_owned(),
        titles: (titles.iter().zip(grades))
            .map(|(title, grade)| JudgedTitle { id: title.to_string(), text: title.to_string(), grade })
            .collect(),
    };
    let queries = vec![
        judged("sofa", [0, 0, 4, 4, 0, 0]),
        judged("red lamp", [1, 4, 0, 0, 0, 1]),
        judged("oak table", [4, 1, 0, 0, 1, 0]),
        judged("chair oak", [1, 0, 0, 0, 4, 0]),
    ];
    let judgments = Judgments { queries, duplicates: 0 };

    let bm25 = ranker::train("bm25", &Corpus::from_iter(titles))?;
    let systems =
        [evaluate(&SharedWords, &judgments, &Default::default()), evaluate(&*bm25, &judgments, &Default::default())];
    for system in &systems {
        println!("{:12}  NDCG@1 {:.3}", system.name, system.mean.get(Metric::Ndcg1));
    }
    for test in compare_all(&systems)? {
        let (difference, p) = (test.test.difference, test.test.p);
        println!(
            "{} − {}, {}: {difference:+.3}, p = {p:.3}, {:?}",
            test.a,
            test.b,
            test.metric.name(),
            test.verdict(Correction::Holm)
        );
    }
    Ok(())
}
