//! Tests of fusions.

use super::*;
use crate::ranker::testing::{assert_close, corpus, train};

const METHODS: [FusionMethod; 4] = [
    FusionMethod::Linear,
    FusionMethod::MinMax,
    FusionMethod::ZScore,
    FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
];

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
    let by_vectors: Vec<Hit> =
        (0..FUSED_DEPTH as u32).map(|position| hit(position, 0.9 - position as f32 * 1e-4)).collect();
    for method in METHODS {
        // The last of many by vectors, and the only one with the word.
        let last = FUSED_DEPTH as u32 - 1;
        for by_words in [vec![hit(last, 7.5)], vec![hit(last, 7.5), hit(3, 7.4)]] {
            let fused = fuse_hits(&[&by_vectors, &by_words], &[0.2, 0.8], method, FUSED_DEPTH);
            assert!(fused.iter().position(|hit| hit.position == last).unwrap() < 2, "{method:?}: {:?}", &fused[..3]);
        }
        // A list that goes on says nothing about the rest, so its end counts nothing.
        let shares = fused_shares(&by_vectors, 1.0, FusionMethod::MinMax, FUSED_DEPTH);
        assert_eq!((shares[0].1, shares[FUSED_DEPTH - 1].1), (1.0, 0.0));
        // Logarithms of probabilities have no floor.
        let shares = fused_shares(&[hit(0, -1.0), hit(1, -3.0)], 1.0, FusionMethod::MinMax, FUSED_DEPTH);
        assert_eq!((shares[0].1, shares[1].1), (1.0, 0.0));
    }
}

/// The list goes on, so more titles have the word; but those that do are better than those that do not.
#[test]
fn a_word_that_many_titles_have_alike_counts() {
    let hit = |position, score| Hit { position, score };
    let by_words: Vec<Hit> = (0..FUSED_DEPTH as u32).map(|position| hit(position, 2.5)).collect();
    let by_vectors = [hit(5000, 0.9), hit(7, 0.8), hit(5001, 0.1)];
    for method in METHODS.into_iter().filter(|method| *method != FusionMethod::ZScore) {
        let alone = fused_shares(&by_words, 0.5, method, FUSED_DEPTH);
        assert!(alone.iter().all(|&(_, share)| share > 0.0 && share == alone[0].1), "{method:?}");
        let fused = fuse_hits(&[&by_vectors, &by_words], &[0.5, 0.5], method, FUSED_DEPTH);
        assert_eq!(fused[0].position, 7, "{method:?}: {:?}", &fused[..3]);
    }
    assert!(fused_shares(&by_words, 0.5, FusionMethod::MinMax, FUSED_DEPTH).iter().all(|&(_, share)| share == 0.5));
    // One that has no range has no deviation.
    assert!(fused_shares(&by_words, 0.5, FusionMethod::ZScore, FUSED_DEPTH).iter().all(|&(_, share)| share == 0.0));
    // Logarithms of probabilities, and scores of 0, say nothing.
    for score in [-2.5, 0.0] {
        let alike: Vec<Hit> = (0..FUSED_DEPTH as u32).map(|position| hit(position, score)).collect();
        assert!(fused_shares(&alike, 1.0, FusionMethod::MinMax, FUSED_DEPTH).iter().all(|&(_, share)| share == 0.0));
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
fn a_ranker_without_weight_takes_no_part() {
    let hit = |position, score| Hit { position, score };
    let lists = [&[hit(0, 3.0), hit(1, 1.0)][..], &[hit(2, 9.0), hit(1, 8.0)]];
    for method in METHODS {
        let fused = fuse_hits(&lists, &[1.0, 0.0], method, FUSED_DEPTH);
        assert_eq!(fused, fuse_hits(&lists[..1], &[1.0], method, FUSED_DEPTH), "{method:?}");
        // A search does not ask it either: no title has the word, and one ranker alone finds nothing.
        let titles = ["red door", "blue lamp"];
        let members = ["bm25", "trigram"].map(|name| -> Arc<dyn Ranker> {
            let ranker: Box<dyn Ranker> = train(name, &corpus(&titles, &[]));
            Arc::from(ranker)
        });
        let fusion = Fusion::new("fused".to_owned(), members.into_iter().zip([1.0, 0.0]).collect(), method);
        let candidates = fusion.candidates(&titles).unwrap();
        assert_eq!(candidates.search("reds", 5).unwrap(), [], "{method:?}");
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
        assert_eq!(Fusion::new("none".to_owned(), Vec::new(), method).score("red", &["a", "b"]), [0.0, 0.0]);
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

#[test]
fn it_is_a_ranker_of_rankers() {
    let corpus = corpus(&["red door", "red", "blue lamp", "a red red lamp"], &[]);
    let titles = ["red door", "red lamp", "lamp", ""];
    let members: Vec<Arc<dyn Ranker>> = ["bm25", "trigram"]
        .map(|spec| -> Arc<dyn Ranker> { Arc::from(train(spec, &corpus) as Box<dyn Ranker>) })
        .into();
    let scores: Vec<Vec<f64>> = members.iter().map(|member| member.score("red lamp", &titles)).collect();
    for method in METHODS {
        let fusion = Fusion::new("both".to_owned(), members.iter().cloned().zip([0.25, 0.75]).collect(), method);
        assert_eq!((fusion.name(), fusion.weights()), ("both", &[0.25, 0.75][..]));
        assert_eq!(fusion.score("red lamp", &titles), fuse(&[&scores[0], &scores[1]], &[0.25, 0.75], method));
    }
}

fn fitted(members: usize, objective: &mut dyn FnMut(&[f64]) -> f64) -> FittedWeights {
    fit_weights(members, objective, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn weights_climb_to_the_top_of_a_hill() {
    let top = [0.5, 0.14, 0.0, 0.36];
    let mut asked: Vec<Vec<f64>> = Vec::new();
    let mut hill = |weights: &[f64]| {
        asked.push(weights.to_vec());
        -weights.iter().zip(top).map(|(weight, top)| (weight - top).powi(2)).sum::<f64>()
    };
    let found = fitted(4, &mut hill);
    let close = found.weights.iter().zip(top).all(|(weight, top)| (weight - top).abs() < 0.02);
    assert!(close, "{found:?}");
    assert_eq!(found, fitted(4, &mut hill));
    let on_simplex = |weights: &Vec<f64>| {
        weights.iter().all(|weight| (0.0..=1.0).contains(weight)) && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12
    };
    assert!(asked.iter().all(on_simplex));
    assert!(asked.len() < 10_000, "{}", asked.len());
}

#[test]
fn weights_are_never_worse_than_equal_ones_or_the_best_alone() {
    // Everything except one corner, or the middle, is worse than no fusion.
    for peak in [[0.0, 0.0, 1.0], [1.0 / 3.0; 3]] {
        let found = fitted(3, &mut |weights| {
            let near = weights.iter().zip(peak).all(|(weight, peak)| (weight - peak).abs() < 1e-9);
            if near { 1.0 } else { -1.0 - weights[0] }
        });
        assert_eq!((found.weights, found.objective), (peak.to_vec(), 1.0));
    }
    // Of equally good weights the first is returned, and NaN is the worst.
    assert_eq!(fitted(2, &mut |_| 5.0).weights, [0.5, 0.5]);
    let found = fitted(2, &mut |weights| if weights[1] < 1.0 { f64::NAN } else { -3.0 });
    assert_eq!(found, FittedWeights { weights: vec![0.0, 1.0], objective: -3.0 });
    assert_eq!(fitted(1, &mut |weights| weights[0]).weights, [1.0]);
    assert!(fitted(0, &mut |_| 0.0).weights.is_empty());
}
