//! Searchers: answers to queries, from one thread or many, one by one or in batches.

use super::support::*;
use clickvec::index::{Candidates, Hit, Query};
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec::train::OptimizerKind;
use clickvec::train::TrainConfig;
use clickvec_index::searcher::{Answer, Searcher};

fn searcher() -> Searcher {
    let place = Place::new(&log_rows(120, 1));
    let config = TrainConfig { epochs: 1, ..small(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    let model = Model::load(&place.output()).expect("a model");
    let title = |i: usize| {
        let text = ["red shoe", "garden hose", "blue lamp", "leather", "日本"][i % 5];
        Title { id: format!("t{i}"), title: format!("{text} {}", ["", "shoe", "red lamp"][i / 5 % 3]) }
    };
    Searcher::encode(&model, (0..300).map(title)).expect("encoded")
}

#[test]
fn what_the_words_of_a_query_are() {
    let searcher = searcher();
    assert_eq!(searcher.search("", 3).expect("an answer"), Answer::NoWords);
    assert_eq!(searcher.search(" …?! ", 3).expect("an answer"), Answer::NoWords);
    assert_eq!(searcher.search("日本", 3).expect("an answer"), Answer::UnknownWords);
    assert!(searcher.search("日本", 3).expect("an answer").results().is_empty());
    let Answer::Found(found) = searcher.search("日本 red shoe", 3).expect("an answer") else { panic!("nothing") };
    assert_eq!(found.iter().map(|found| found.rank).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(found.is_sorted_by(|a, b| a.score >= b.score) && found[0].score <= 1.000_001);
    for found in found {
        assert_eq!(searcher.title(found.position), Some((found.id, found.title)));
    }
    assert_eq!(searcher.search("red", 0).expect("an answer"), Answer::Found(Vec::new()));
    assert_eq!(searcher.search("red", 1000).expect("an answer").results().len(), searcher.len());
    // Titles of unknown words only cannot be found.
    assert_eq!((searcher.len(), searcher.left_out()), (280, 20));
}

#[test]
fn one_by_one_together_and_from_many_threads() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    let searcher = searcher();
    shared(&searcher);
    let queries = ["red shoe", "", "hose", "日本", "blue red lamp", "sho", "leather lamps"];
    let expected: Vec<Answer<'_>> = queries.iter().map(|query| searcher.search(query, 5).expect("an answer")).collect();
    assert_eq!(searcher.search_batch(&queries, 5).expect("answers"), expected);
    assert_eq!(searcher.search_batch(&queries[..1], 5).expect("answers"), expected[..1]);
    assert!(searcher.search_batch::<&str>(&[], 5).expect("answers").is_empty());
    // More than the twenty searches after which codes are used.
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..10 {
                    for (query, expected) in queries.iter().zip(&expected) {
                        assert_eq!(searcher.search(query, 5).expect("an answer"), *expected);
                    }
                }
            });
        }
    });
    assert_eq!(searcher.search_batch(&queries, 5).expect("answers"), expected);
}

/// Finds titles by the length of the query, and needs no vector.
struct ByLength(usize);

impl Candidates for ByLength {
    fn len(&self) -> usize {
        self.0
    }

    fn needs_vector(&self) -> bool {
        false
    }

    fn search(&self, query: &Query<'_>, k: usize) -> clickvec::Result<Vec<Hit>> {
        let first = query.text.chars().count() as u32;
        let score = if query.vector.is_some() { 1.0 } else { 0.5 };
        Ok((first..).take(k).map(|position| Hit { position, score }).collect())
    }
}

#[test]
fn something_else_proposes_the_titles() {
    let searcher = searcher();
    let titles = searcher.len();
    let searcher = searcher.with_candidates(Box::new(ByLength(titles))).expect("as many titles");
    let queries = ["red", "", "日本", "hose"];
    let answers = searcher.search_batch(&queries, 2).expect("answers");
    for (query, answer) in queries.iter().zip(&answers) {
        assert_eq!(searcher.search(query, 2).expect("an answer"), *answer);
    }
    let positions = |answer: &Answer<'_>| answer.results().iter().map(|found| found.position).collect::<Vec<_>>();
    assert_eq!(answers[1], Answer::NoWords);
    assert_eq!([0, 2, 3].map(|i| positions(&answers[i])), [[3, 4], [2, 3], [4, 5]]);
    assert_eq!([0, 2].map(|i| answers[i].results()[0].score), [1.0, 0.5]);
    let error = self::searcher().with_candidates(Box::new(ByLength(7))).expect_err("too few").to_string();
    assert!(error.contains('7') && error.contains("280"), "{error}");
}
