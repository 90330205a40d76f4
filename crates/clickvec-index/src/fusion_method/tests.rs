//! Tests of the methods, with sums of what they make of scores.

use clickvec::internals::rng::stream;
use rand::RngExt as _;

use super::*;

/// The number of titles that each ranker finds, at most.
const DEPTH: usize = 1000;

const METHODS: [FusionMethod; 4] = [
    FusionMethod::Linear,
    FusionMethod::MinMax,
    FusionMethod::ZScore,
    FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
];

/// The sum of the scores of several rankers, each with its weight.
fn fuse(scores: &[&[f64]], weights: &[f64], method: FusionMethod) -> Vec<f64> {
    let mut fused = vec![0.0; scores.first().map_or(0, |scores| scores.len())];
    for (scores, weight) in scores.iter().zip(weights) {
        fused.iter_mut().zip(method.apply(scores)).for_each(|(sum, value)| *sum += weight * value);
    }
    fused
}

/// The lists of several rankers, each with its weight, as one.
fn fuse_hits(lists: &[&[Hit]], weights: &[f64], method: FusionMethod, depth: usize) -> Vec<Hit> {
    let shares = lists.iter().zip(weights).map(|(list, &weight)| fused_shares(list, weight, method, depth));
    sum_shares(&shares.collect::<Vec<_>>())
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "expected {expected}, found {found}");
    }
}

#[test]
fn hand_computed_fusions() {
    let scores: [&[f64]; 2] = [&[3.0, 1.0, 2.0, 5.0], &[-1.0, 0.0, -1.0, -3.0]];
    let linear = fuse(&scores, &[0.25, 0.75], FusionMethod::Linear);
    assert_close(&linear, &[0.25 * 2.0 + 0.75 * 2.0, 0.75 * 3.0, 0.25 + 0.75 * 2.0, 0.25 * 4.0]);
    let min_max = fuse(&scores, &[0.25, 0.75], FusionMethod::MinMax);
    assert_close(&min_max, &[0.25 * 0.5 + 0.5, 0.75, 0.25 * 0.25 + 0.5, 0.25]);
    // The means are 2.75 and −1.25, the variances 8.75 / 4 and 4.75 / 4.
    let z = |position: usize| {
        2.0 * (scores[0][position] - 2.75) / (8.75f64 / 4.0).sqrt()
            + (scores[1][position] + 1.25) / (4.75f64 / 4.0).sqrt()
    };
    assert_close(&fuse(&scores, &[2.0, 1.0], FusionMethod::ZScore), &[z(0), z(1), z(2), z(3)]);
    // Positions 2 and 3 of the second ranker are tied.
    let [r1, r2, r3, r4] = [61.0, 62.0, 63.0, 64.0].map(|rank| 1.0 / rank);
    let tied = (r2 + r3) / 2.0;
    let reciprocal = fuse(&scores, &[1.0, 1.0], FusionMethod::ReciprocalRank { k: 60.0 });
    assert_close(&reciprocal, &[r2 + tied, r4 + r1, r3 + tied, r1 + r4]);
}

#[test]
fn a_word_that_one_title_has_counts() {
    let hit = |position, score| Hit { position, score };
    let by_vectors: Vec<Hit> = (0..DEPTH as u32).map(|position| hit(position, 0.9 - position as f32 * 1e-4)).collect();
    for method in METHODS {
        // The last of many by vectors, and the only one with the word.
        let last = DEPTH as u32 - 1;
        for by_words in [vec![hit(last, 7.5)], vec![hit(last, 7.5), hit(3, 7.4)]] {
            let fused = fuse_hits(&[&by_vectors, &by_words], &[0.2, 0.8], method, DEPTH);
            assert!(fused.iter().position(|hit| hit.position == last).unwrap() < 2, "{method:?}: {:?}", &fused[..3]);
        }
        // A list that goes on says nothing about the rest, so its end counts nothing.
        let shares = fused_shares(&by_vectors, 1.0, FusionMethod::MinMax, DEPTH);
        assert_eq!((shares[0].1, shares[DEPTH - 1].1), (1.0, 0.0));
        // Logarithms of probabilities have no floor.
        let shares = fused_shares(&[hit(0, -1.0), hit(1, -3.0)], 1.0, FusionMethod::MinMax, DEPTH);
        assert_eq!((shares[0].1, shares[1].1), (1.0, 0.0));
    }
}

/// The list goes on, so more titles have the word; but those that do are better than those that do not.
#[test]
fn a_word_that_many_titles_have_alike_counts() {
    let hit = |position, score| Hit { position, score };
    let by_words: Vec<Hit> = (0..DEPTH as u32).map(|position| hit(position, 2.5)).collect();
    let by_vectors = [hit(5000, 0.9), hit(7, 0.8), hit(5001, 0.1)];
    for method in METHODS.into_iter().filter(|method| *method != FusionMethod::ZScore) {
        let alone = fused_shares(&by_words, 0.5, method, DEPTH);
        assert!(alone.iter().all(|&(_, share)| share > 0.0 && share == alone[0].1), "{method:?}");
        let fused = fuse_hits(&[&by_vectors, &by_words], &[0.5, 0.5], method, DEPTH);
        assert_eq!(fused[0].position, 7, "{method:?}: {:?}", &fused[..3]);
    }
    assert!(fused_shares(&by_words, 0.5, FusionMethod::MinMax, DEPTH).iter().all(|&(_, share)| share == 0.5));
    // One that has no range has no deviation.
    assert!(fused_shares(&by_words, 0.5, FusionMethod::ZScore, DEPTH).iter().all(|&(_, share)| share == 0.0));
    // Logarithms of probabilities, and scores of 0, say nothing.
    for score in [-2.5, 0.0] {
        let alike: Vec<Hit> = (0..DEPTH as u32).map(|position| hit(position, score)).collect();
        assert!(fused_shares(&alike, 1.0, FusionMethod::MinMax, DEPTH).iter().all(|&(_, share)| share == 0.0));
    }
}

#[test]
fn a_title_that_a_run_lacks_leaves_the_others_in_their_order() {
    for method in METHODS {
        let run = &[10.0, 9.0, 8.0, f64::NEG_INFINITY];
        let fused = fuse(&[run, &[1.0, 1.1, 1.2, 1.3]], &[0.9, 0.1], method);
        assert!(fused[0] > fused[1] && fused[1] > fused[2], "{method:?}: {fused:?}");
        let alone = fuse(&[run], &[1.0], method);
        assert!(alone[2] >= alone[3], "{method:?}: {alone:?}");
    }
    let lacking = fuse(&[&[10.0, 9.0, 8.0, f64::NEG_INFINITY]], &[1.0], FusionMethod::MinMax);
    assert_close(&lacking, &[1.0, 0.5, 0.0, 0.0]);
}

#[test]
fn a_list_that_was_cut_does_not_say_that_the_rest_is_nothing() {
    let list = [Hit { position: 0, score: 1.0 }, Hit { position: 1, score: 0.75 }];
    for (depth, expected) in [(2, [1.0, 0.0]), (3, [1.0, 0.75])] {
        let shares = fused_shares(&list, 1.0, FusionMethod::MinMax, depth);
        assert_close(&[shares[0].1, shares[1].1], &expected);
    }
}

#[test]
fn what_no_ranker_tells_apart_stays_tied() {
    let scores: [&[f64]; 3] = [&[0.1, 0.3, 0.1, 0.2, 0.1], &[7.0, 7.0, 7.0, 1.0, 7.0], &[-0.0, 0.5, 0.0, 0.0, 0.0]];
    for method in METHODS {
        let fused = fuse(&scores, &[0.3, 0.6, 0.1], method);
        assert!(fused[0] == fused[2] && fused[2] == fused[4], "{method:?}: {fused:?}");
        assert!(fused[1] > fused[0] && fused[0] > fused[3], "{method:?}: {fused:?}");
    }
}

#[test]
fn a_ranker_without_opinion_changes_no_order_and_one_ranker_keeps_its_own() {
    for method in METHODS {
        for constant in [0.0, 0.1, -1e300, f64::NAN, f64::INFINITY] {
            let fused = fuse(&[&[0.1, 0.3, 0.2], &[constant; 3]], &[0.5, 0.5], method);
            assert!(fused[1] > fused[2] && fused[2] > fused[0], "{method:?}: {fused:?}");
            let alone = fuse(&[&[constant; 3]], &[1.0], method);
            assert!(alone[0].is_finite() && alone.iter().all(|&score| score == alone[0]), "{method:?}: {alone:?}");
        }
        let alone = fuse(&[&[-5.0, 2.0, -7.0]], &[1.0], method);
        assert!(alone[1] > alone[0] && alone[0] > alone[2], "{method:?}: {alone:?}");
    }
}

#[test]
fn nothing_is_fused_to_nothing() {
    for method in METHODS {
        assert!(fuse(&[], &[], method).is_empty());
        assert!(fuse(&[&[], &[]], &[0.5, 0.5], method).is_empty());
    }
}

#[test]
fn any_scores_fuse_to_finite_numbers() {
    let lists: [&[f64]; 5] = [
        &[f64::MAX, f64::MIN, 0.0, 1.0],
        &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0],
        &[5e-324, 0.0, -5e-324, 0.0],
        &[1e300, 1e300, -1e300, 1e-300],
        &[1.0, 1.0 + f64::EPSILON, 1.0, 1.0],
    ];
    for method in METHODS {
        for scores in lists {
            let fused = fuse(&[scores, scores], &[0.5, 0.5], method);
            assert!(fused.iter().all(|score| score.is_finite()), "{method:?} {scores:?}: {fused:?}");
            let first = scores.iter().copied().fold(f64::MIN, f64::max);
            let best = fused.iter().copied().fold(f64::MIN, f64::max);
            let position = scores.iter().position(|&score| score == first || score == f64::INFINITY).unwrap();
            assert_eq!(fused[position], best, "{method:?} {scores:?}: {fused:?}");
        }
    }
}

/// One after the other, with loops that are easy to believe.
fn naive_fusion(lists: &[Vec<Hit>], weights: &[f64], method: FusionMethod, titles: usize) -> Vec<(u32, f64)> {
    let mut sums = vec![None; titles];
    for (list, weight) in lists.iter().zip(weights) {
        let scores: Vec<f64> = list.iter().map(|hit| f64::from(hit.score)).collect();
        // One more for the titles that were not found.
        let all: Vec<f64> = scores.iter().copied().chain([0.0]).collect();
        let (n, least) = (all.len() as f64, 0.0);
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = all.iter().sum::<f64>() / n;
        let deviation = (all.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt();
        for (position, hit) in list.iter().enumerate() {
            let tied: Vec<usize> = (0..list.len()).filter(|&other| scores[other] == scores[position]).collect();
            let value = match method {
                FusionMethod::Linear => scores[position] - least,
                FusionMethod::MinMax => (scores[position] - least) / (most - least),
                FusionMethod::ZScore => (scores[position] - mean) / deviation - (least - mean) / deviation,
                FusionMethod::ReciprocalRank { k } => {
                    tied.iter().map(|rank| 1.0 / (k + 1.0 + *rank as f64)).sum::<f64>() / tied.len() as f64
                }
            };
            let sum = sums[hit.position as usize].get_or_insert(0.0);
            *sum += weight * if value.is_nan() { 0.0 } else { value };
        }
    }
    (0..).zip(sums).filter_map(|(position, sum)| Some((position, sum?))).collect()
}

#[test]
fn lists_are_fused_as_by_the_naive_way() {
    let mut rng = stream(7, "lists", 0);
    let titles = 60;
    for round in 0..20 {
        let mut list = |shown: u64| {
            let mut list: Vec<Hit> = (0..titles as u32)
                .filter(|_| rng.random_range(0..10) < shown)
                .map(|position| Hit { position, score: 0.5 })
                .collect();
            list.iter_mut().for_each(|hit| hit.score = rng.random_range(1..9u8).into());
            list.sort_unstable_by(Hit::best_first);
            list
        };
        let lists = vec![list(3), list(7), list(round % 2)];
        let members: Vec<&[Hit]> = lists.iter().map(Vec::as_slice).collect();
        for method in METHODS {
            let alike = lists.iter().any(|list| list.windows(2).all(|pair| pair[0].score == pair[1].score));
            // Where a list tells nothing apart, z-scores do not count those that it lacks.
            if alike && method == FusionMethod::ZScore {
                continue;
            }
            let weights = [0.5, 0.3, 0.2];
            let expected = naive_fusion(&lists, &weights, method, titles);
            let hits = fuse_hits(&members, &weights, method, DEPTH);
            assert_eq!(hits.len(), expected.len(), "{method:?}");
            for hit in &hits {
                let (_, score) = expected[expected.binary_search_by_key(&hit.position, |of| of.0).unwrap()];
                assert!((f64::from(hit.score) - score).abs() < 1e-5, "{method:?} {hit:?} {score}");
            }
        }
    }
}
