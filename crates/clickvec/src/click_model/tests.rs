//! The fit on simulated logs, whose curve is known.

use super::*;
use crate::rng;
use rand::RngExt;

const CURVE: [f64; 8] = [1.0, 0.62, 0.45, 0.33, 0.26, 0.2, 0.17, 0.14];

type Log = Vec<(u64, Vec<PositionCell>)>;

/// Returns a log of `queries` queries with eight titles each, shown `lists` times. The order follows the attraction with some
/// noise, as in a shop that puts attractive titles on top.
fn simulate(queries: u64, lists: usize, seed: u64) -> Log {
    let mut random = rng::stream(seed, "test", queries << 32 | lists as u64);
    let mut log = Vec::new();
    for query in 0..queries {
        let alpha: Vec<f64> = (0..CURVE.len()).map(|_| random.random::<f64>().powi(2)).collect();
        let mut cells = vec![[(0, 0); CURVE.len()]; CURVE.len()];
        for _ in 0..lists {
            let mut order: Vec<(f64, usize)> =
                alpha.iter().enumerate().map(|(title, alpha)| (alpha + 0.5 * random.random::<f64>(), title)).collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (place, &(_, title)) in order.iter().enumerate() {
                let clicked = random.random::<f64>() < CURVE[place] * alpha[title];
                cells[title][place].0 += 1;
                cells[title][place].1 += u64::from(clicked);
            }
        }
        for title in cells {
            let cells = title.iter().enumerate().filter(|(_, (shown, _))| *shown > 0);
            let cells = cells.map(|(position, &(shown, clicks))| PositionCell { position, shown, clicks });
            log.push((query, cells.collect()));
        }
    }
    log
}

fn fit(log: &Log) -> Option<PositionModel> {
    let replay = |each: &mut dyn FnMut(u64, &[PositionCell])| -> Result<(), ()> {
        log.iter().for_each(|(query, cells)| each(*query, cells));
        Ok(())
    };
    fit_positions(replay).unwrap()
}

/// Returns the error of each place in standard errors.
fn deviations(model: &PositionModel) -> Vec<f64> {
    let places = 1..CURVE.len();
    places.map(|k| (model.examination[k].unwrap() - CURVE[k]) / model.standard_errors[k].unwrap()).collect()
}

#[test]
fn the_true_curve_is_found_however_few_showings_a_pair_has() {
    for (queries, lists) in [(20_000, 2), (4_000, 10), (200, 300)] {
        let model = fit(&simulate(queries, lists, 1)).unwrap();
        let deviations = deviations(&model);
        let largest = deviations.iter().fold(0.0_f64, |largest, z| largest.max(z.abs()));
        assert!(largest < 3.0, "{queries} × {lists}: {deviations:?}");
        let widest = model.standard_errors.iter().flatten().fold(0.0_f64, |widest, &error| widest.max(error));
        assert!(widest < 0.02, "{queries} × {lists}: the test could not fail, {:?}", model.standard_errors);
        assert_eq!((model.reference, model.examination[0]), (0, Some(1.0)));
        assert!(model.log_likelihood.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9 * pair[0].abs()));
        assert!(model.iterations < MAX_ITERATIONS, "{}", model.iterations);
        // The plain click rates of the places are far from θ.
        let rate = |place: usize| model.totals[place].1 as f64 / model.totals[place].0 as f64;
        assert!(rate(7) / rate(0) < 0.5 * CURVE[7]);
    }
}

/// Over many logs, the errors in standard errors must look standard normal: mean 0, variance 1.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn standard_errors_are_as_large_as_the_error() {
    let logs = 60;
    let all: Vec<f64> = (0..logs).flat_map(|seed| deviations(&fit(&simulate(400, 8, seed + 10)).unwrap())).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let square = all.iter().map(|z| z * z).sum::<f64>() / all.len() as f64;
    // The errors within a log depend on each other, so count each log as a single number.
    let error = 1.0 / (logs as f64).sqrt();
    assert!(mean.abs() < 3.0 * error, "{mean}");
    assert!((square - 1.0).abs() < 3.0 * error * 2f64.sqrt(), "{square}");
}

#[test]
fn what_the_log_does_not_say_is_not_made_up() {
    let cell = |position, shown, clicks| PositionCell { position, shown, clicks };
    assert_eq!(fit(&vec![]), None);
    // Every pair is at one place only.
    assert_eq!(fit(&vec![(0, vec![cell(0, 9, 5)]), (0, vec![cell(1, 9, 2)])]), None);
    assert_eq!(fit(&vec![(0, vec![cell(0, 9, 0), cell(1, 9, 0)])]), None);
    // Places 0 and 1 are linked, place 2 is alone, and place 3 has no clicks.
    let log = vec![
        (0, vec![cell(0, 10, 8), cell(1, 10, 4)]),
        (1, vec![cell(2, 5, 5)]),
        (2, vec![cell(0, 4, 2), cell(3, 4, 0)]),
    ];
    let model = fit(&log).unwrap();
    assert_eq!(model.examination[0], Some(1.0));
    assert!((model.examination[1].unwrap() - 0.5).abs() < 1e-6);
    assert_eq!(model.examination[2..], [None, None]);
    assert_eq!(model.totals, [(14, 10), (10, 4), (5, 5), (4, 0)]);
    for (weight, expected) in model.weights(10.0, 0.0).into_iter().zip([1.0, 2.0, 1.0, 1.0]) {
        assert!((weight - expected).abs() < 1e-5);
    }
    assert_eq!(model.weights(1.5, 0.0)[1], 1.5);
    // More clicks than showings count as that many showings.
    let lost = fit(&vec![(0, vec![cell(0, 1, 3), cell(1, 3, 3)])]).unwrap();
    assert!((lost.examination[1].unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn one_query_has_no_standard_error() {
    let cell = |position, shown, clicks| PositionCell { position, shown, clicks };
    let log = vec![(0, vec![cell(0, 10, 8), cell(1, 10, 4)]), (0, vec![cell(0, 9, 3), cell(1, 5, 1)])];
    assert_eq!(fit(&log).unwrap().standard_errors, [Some(0.0), None]);
    let two = vec![log[0].clone(), (1, log[1].1.clone())];
    assert!(fit(&two).unwrap().standard_errors[1].unwrap() > 0.0);
}

#[test]
fn clicks_below_weigh_less_where_titles_there_attract_less() {
    let cell = |position, shown, clicks| PositionCell { position, shown, clicks };
    // The first pair says that place 1 is looked at half as often as place 0. The other pairs put titles with full
    // attraction at place 0, and titles with a quarter of it at place 1. With θ, that makes 8 and 4 clicks of 10, 40
    // of 40, and 5 of 40.
    let log = vec![(0, vec![cell(0, 10, 8), cell(1, 10, 4)]), (1, vec![cell(0, 40, 40)]), (2, vec![cell(1, 40, 5)])];
    let model = fit(&log).unwrap();
    let expected = (9.0 / (50.0 * 0.5)) / (48.0 / 50.0);
    assert!((model.attraction[1].unwrap() - expected).abs() < 1e-6, "{:?}", model.attraction);
    for trust in [0.0, 1.0, 2.0] {
        let weights = model.weights(10.0, trust);
        assert!((weights[1] - 2.0 * expected.powf(trust)).abs() < 1e-5, "{trust}: {weights:?}");
        assert_eq!(weights[0], 1.0);
        // The limit applies to the inverse alone.
        assert!((model.weights(1.5, trust)[1] - 1.5 * expected.powf(trust)).abs() < 1e-5);
    }
    // If titles further down attract more, their clicks do not weigh more.
    let turned = vec![log[0].clone(), (1, vec![cell(0, 40, 5)]), (2, vec![cell(1, 40, 20)])];
    let model = fit(&turned).unwrap();
    assert!(model.attraction[1].unwrap() > 1.5, "{:?}", model.attraction);
    assert!((model.weights(10.0, 2.0)[1] - 2.0).abs() < 1e-5);
}

#[test]
fn a_place_that_cannot_be_compared_gives_no_infinite_weight() {
    let cell = |position, shown, clicks| PositionCell { position, shown, clicks };
    // The first place has clicks, but no pair there was shown elsewhere too. So places 1 and 2 are compared.
    let log = vec![
        (0, vec![cell(0, 9, 5)]),
        (1, vec![cell(0, 4, 0), cell(1, 4, 4), cell(2, 4, 2)]),
        // Place 3 was clicked where place 1 was not, and never lost to it, so its θ would be infinite.
        (2, vec![cell(1, 4, 0), cell(3, 4, 4)]),
        // Places 4 and 5 are linked only through a place without clicks.
        (3, vec![cell(4, 4, 4), cell(6, 4, 0)]),
        (4, vec![cell(5, 4, 4), cell(6, 4, 0)]),
    ];
    let model = fit(&log).unwrap();
    assert_eq!(model.reference, 1);
    assert_eq!(model.examination[1], Some(1.0));
    assert!((model.examination[2].unwrap() - 0.5).abs() < 1e-6);
    for place in [0, 3, 4, 5, 6] {
        assert_eq!((model.examination[place], model.weights(10.0, 2.0)[place]), (None, 1.0), "{place}");
    }
    assert!(model.standard_errors.iter().flatten().all(|error| error.is_finite()));
    // Only a place without clicks links these.
    assert_eq!(fit(&log[3..].to_vec()), None);
}
