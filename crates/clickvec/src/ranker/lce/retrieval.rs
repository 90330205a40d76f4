//! The best titles of a whole collection for a query, without scoring all of them.

use crate::ranker::dependence::{Dependence, Matches, Query};
use crate::ranker::inverted::InvertedLists;

/// By how much a bound is raised, relative to a score: it is summed in another order than the scores that it bounds.
const ROUNDING: f64 = 1e-9;

/// The `count` titles that score best among those that have a word of the query, best first, equal ones in their order:
/// just what scoring all titles would give.
///
/// The inverted lists are gone through from the shortest to the longest. What a title can gain that has no word of the
/// lists before is bounded, and when this bound no longer reaches the worst of the best, the others are left
/// (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995).
pub(super) fn best_titles(model: &Dependence, lists: &InvertedLists, query: &Query, count: usize) -> Vec<(f64, u32)> {
    let mut best: Vec<(f64, u32)> = Vec::with_capacity(count + 1);
    if query.is_empty() || count == 0 {
        return best;
    }
    let mut order: Vec<usize> = (0..query.words.len()).collect();
    order.sort_by_key(|&place| lists.get(query.words[place]).len());
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &place)| rank[place] = i);
    let gains = query.most_gains(&rank, |word| lists.most(word));
    let rounding = ROUNDING * (1.0 + query.base.abs());
    let mut matches = Matches::default();
    for (i, &place) in order.iter().enumerate() {
        let most = query.base + gains[i] + rounding;
        let mut longest = longest(query, most, &best, count);
        for &title in lists.get(query.words[place]) {
            let words = model.titles.get(title as usize);
            if words.len() as f64 > longest {
                continue;
            }
            query.find(words, &mut matches);
            // With a word of a list before, it was scored there.
            if matches.words().any(|word| rank[word] < i) {
                continue;
            }
            let score = query.score(&matches, words.len());
            let better = |&(other, number): &(f64, u32)| other > score || (other == score && number < title);
            let at = best.partition_point(better);
            if at < count {
                best.insert(at, (score, title));
                best.truncate(count);
                longest = self::longest(query, most, &best, count);
            }
        }
    }
    best
}

/// How many words a title may have to get among the best, if its score without the length is at most `most`.
fn longest(query: &Query, most: f64, best: &[(f64, u32)], count: usize) -> f64 {
    match best.get(count - 1) {
        None => f64::INFINITY,
        Some(&(worst, _)) => query.longest_title(most, worst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::corpus::WordReader;
    use crate::ranker::dependence::Weights;
    use crate::ranker::shop::Shop;
    use crate::ranker::{RankerSpec, lce};

    #[test]
    fn the_best_of_all_titles_are_found() {
        let shop = Shop::new();
        let model = Dependence::new(&shop.corpus);
        let lists = InvertedLists::new(&model.titles, model.vocabulary.len());
        let (mut reader, mut matches) = (WordReader::default(), Matches::default());
        for spec in ["lce", "lce:mu=500,lambda_t=0.3,lambda_o=0.3,lambda_u=0.4", "lce:mu=0.01", "lce:lambda_t=0"] {
            let spec: RankerSpec = spec.parse().unwrap();
            let weights = Weights::new(&lce::SYSTEM.values(&spec).unwrap());
            for judged in &shop.judgments.queries {
                // Titles of the collection have neighbours that are there.
                for text in [&judged.text, &judged.titles[0].text] {
                    let words = reader.read(&model.vocabulary, text);
                    let query = Query::new(&model, &weights, words, 1.0, &[]);
                    let mut all: Vec<(f64, u32)> = Vec::new();
                    for (number, title) in (0..).zip(model.titles.iter()) {
                        query.find(title, &mut matches);
                        if matches.words().next().is_some() {
                            all.push((query.score(&matches, title.len()), number));
                        }
                    }
                    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    if query.is_empty() {
                        all.clear();
                    }
                    for count in [1, 3, 10, 1000] {
                        let found = best_titles(&model, &lists, &query, count);
                        assert_eq!(found, all[..count.min(all.len())], "{text} {count}");
                    }
                    assert!(best_titles(&model, &lists, &query, 0).is_empty());
                }
            }
        }
    }
}
