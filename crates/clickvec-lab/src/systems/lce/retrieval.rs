//! The best titles of a whole collection for a query, found without scoring all of them.

use crate::systems::dependence::{Dependence, Matches, Query};
use clickvec_eval::internals::InvertedLists;

/// The relative amount by which a bound is raised, since it is summed in another order than the scores that it bounds.
const ROUNDING: f64 = 1e-9;

/// The number of occurrences up to which a word's gain is precomputed.
const FREQUENT: u32 = 8;

/// A word of the query, with the titles that have it.
struct List<'a> {
    titles: &'a [u32],
    counts: &'a [u32],
    /// The amounts that one, two, … occurrences add to a score.
    gains: Vec<f64>,
    position: usize,
    /// All titles before this place come before the current title.
    next: usize,
}

impl List<'_> {
    /// Returns the number of occurrences in a title. Titles must come in order.
    fn count(&mut self, title: u32) -> u32 {
        // Search in doubling steps, then by bisection, since the list may be much longer than the leading one.
        let mut step = 1;
        while self.titles.get(self.next + step).is_some_and(|&other| other < title) {
            self.next += step;
            step *= 2;
        }
        let end = self.titles.len().min(self.next + step + 1);
        self.next += self.titles[self.next..end].partition_point(|&other| other < title);
        match self.titles.get(self.next) {
            Some(&other) if other == title => self.counts[self.next],
            _ => 0,
        }
    }

    fn gain(&self, query: &Query, count: u32) -> f64 {
        match self.gains.get(count as usize - 1) {
            Some(&gain) => gain,
            None => query.term_gain(self.position, count),
        }
    }
}

/// Returns the `count` best titles among those with a word of the query, best first, and equal ones in order: exactly the result
/// of scoring all titles.
///
/// The inverted lists are scanned from the shortest to the longest. The score of a title with no word of the earlier
/// lists is bounded, and when this bound no longer reaches the worst of the best titles, the rest is skipped (Turtle
/// and Flood, "Query evaluation: strategies and optimizations", 1995). For other titles the lists tell which words
/// they have. A title is read only if it could be among the best with all pairs of these words.
pub(super) fn best_titles(model: &Dependence, lists: &InvertedLists, query: &Query, count: usize) -> Vec<(f64, u32)> {
    let mut best: Vec<(f64, u32)> = Vec::with_capacity(count + 1);
    if query.is_empty() || count == 0 {
        return best;
    }
    let mut order: Vec<usize> = (0..query.words.len()).collect();
    order.sort_by_key(|&position| lists.get(query.words[position]).len());
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &position)| rank[position] = i);
    let mut lists_by_rank: Vec<List<'_>> = order
        .iter()
        .map(|&position| {
            let word = query.words[position];
            let gains = (1..=lists.most(word).min(FREQUENT)).map(|count| query.term_gain(position, count)).collect();
            List { titles: lists.get(word), counts: lists.counts(word), gains, position, next: 0 }
        })
        .collect();
    // By rank, the lower one first.
    let pairs: Vec<([usize; 2], f64)> = query
        .pair_gains(|word| lists.most(word))
        .into_iter()
        .map(|([a, b], gain)| ([rank[a].min(rank[b]), rank[a].max(rank[b])], gain))
        .collect();
    let gains = most_gains(query, lists, &lists_by_rank, &pairs);
    let rounding = ROUNDING * (1.0 + query.base.abs());
    let mut matches = Matches::default();
    // Whether the title has the word of each rank.
    let mut has = vec![false; order.len()];
    for i in 0..lists_by_rank.len() {
        let (before, rest) = lists_by_rank.split_at_mut(i);
        let Some((list, after)) = rest.split_first_mut() else { break };
        before.iter_mut().chain(&mut *after).for_each(|list| list.next = 0);
        has.fill(false);
        has[i] = true;
        let most = query.base + gains[i] + rounding;
        let mut longest = longest(query, most, &best, count);
        // No title is shorter than one word.
        if longest < 1.0 {
            continue;
        }
        let lengths = lists.lengths(query.words[list.position]);
        for ((&title, &times), &length) in list.titles.iter().zip(list.counts).zip(lengths) {
            // A title with a word of an earlier list was handled there.
            if f64::from(length) > longest || before.iter_mut().any(|list| list.count(title) > 0) {
                continue;
            }
            if let Some(&(worst, _)) = best.get(count - 1) {
                let mut bound = query.base + rounding + list.gain(query, times);
                for (has, list) in has[i + 1..].iter_mut().zip(&mut *after) {
                    let times = list.count(title);
                    *has = times > 0;
                    bound += if *has { list.gain(query, times) } else { 0.0 };
                }
                let gain_of_pairs = pairs.iter().filter(|([a, b], _)| has[*a] && has[*b]);
                bound += gain_of_pairs.map(|(_, gain)| gain).sum::<f64>();
                if bound - query.length_loss(length as usize) < worst {
                    continue;
                }
            }
            query.find(model.titles.get(title as usize), &mut matches);
            let score = query.score(&matches, length as usize);
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

/// Returns, for each rank, the most that features whose words all have this rank or a later one can add to [`Query::base`].
fn most_gains(
    query: &Query,
    lists: &InvertedLists,
    lists_by_rank: &[List<'_>],
    pairs: &[([usize; 2], f64)],
) -> Vec<f64> {
    let alone = |list: &List<'_>| query.term_gain(list.position, lists.most(query.words[list.position]));
    let mut gains: Vec<f64> = lists_by_rank.iter().map(alone).collect();
    pairs.iter().for_each(|([a, _], gain)| gains[*a] += gain);
    for i in (1..gains.len()).rev() {
        gains[i - 1] += gains[i];
    }
    gains
}

/// Returns the largest number of words with which a title can be among the best, if its score without the length is at most
/// `most`.
fn longest(query: &Query, most: f64, best: &[(f64, u32)], count: usize) -> f64 {
    match best.get(count - 1) {
        None => f64::INFINITY,
        Some(&(worst, _)) => query.longest_title(most, worst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::dependence::Weights;
    use crate::systems::lce;
    use crate::systems::shop::Shop;
    use clickvec_eval::internals::WordReader;
    use clickvec_eval::ranker::RankerSpec;

    #[test]
    fn the_best_of_all_titles_are_found() {
        let shop = Shop::new();
        let model = Dependence::new(&shop.corpus).unwrap();
        let lists = InvertedLists::new(&model.titles, model.vocabulary.len()).unwrap();
        let (mut reader, mut matches) = (WordReader::default(), Matches::default());
        for spec in ["lce", "lce:mu=500,lambda_t=0.3,lambda_o=0.3,lambda_u=0.4", "lce:mu=0.01", "lce:lambda_t=0"] {
            let spec: RankerSpec = spec.parse().unwrap();
            let weights = Weights::new(&lce::SYSTEM.values(&spec).unwrap());
            for judged in &shop.judgments.queries {
                // These neighbours exist in titles of the collection.
                for text in [&judged.text, &judged.titles[0].text] {
                    let words = reader.read(&model.vocabulary, text);
                    let query = Query::new(&model, &weights, words, 1.0, &[]);
                    let mut all: Vec<(f64, u32)> = Vec::new();
                    for (number, title) in (0..).zip(model.titles.iter()) {
                        query.find(title, &mut matches);
                        if words.iter().any(|word| title.contains(word)) {
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
