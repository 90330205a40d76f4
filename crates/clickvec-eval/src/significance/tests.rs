//! Tests compared with closed forms and with scipy.

use super::t_test::two_sided;
use super::*;

fn assert_relative(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "expected {expected:e}, found {found:e}");
}

#[test]
fn p_follows_the_closed_forms() {
    for t in [0.01, 0.5, 1.0, 3.0, 50.0, 1e6, 1e12] {
        let t: f64 = t;
        assert_relative(two_sided(t, 1.0), std::f64::consts::FRAC_2_PI * (1.0 / t).atan(), 1e-10);
        let root = (2.0 + t * t).sqrt();
        assert_relative(two_sided(t, 2.0), 2.0 / (root * (root + t)), 1e-10);
        assert_eq!(two_sided(-t, 2.0), two_sided(t, 2.0));
    }
    assert_eq!(two_sided(0.0, 39.0), 1.0);
}

#[test]
fn p_approaches_the_normal_distribution() {
    // 2 (1 − Φ(t))
    for (t, p) in [(1.0, 0.317_310_507_862_914), (1.959_963_984_540_054, 0.05), (6.0, 1.973_175_290_075_396e-9)] {
        assert_relative(two_sided(t, 1e8), p, 1e-5);
    }
}

#[test]
fn a_hand_computed_test() {
    // Differences 1, 2, 3: mean 2, s = 1, t = 2√3.
    let test = paired_t_test(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
    let t = 2.0 * 3f64.sqrt();
    assert_relative(test.t, t, 1e-14);
    assert_relative(test.p, 2.0 / ((2.0 + t * t).sqrt() * ((2.0 + t * t).sqrt() + t)), 1e-12);
    assert_eq!((test.difference, test.degrees_of_freedom), (2.0, 2.0));
}

#[test]
fn differences_without_scatter_have_the_probability_of_their_signs() {
    let test = |a: &[f64], b: &[f64]| {
        let test = paired_t_test(a, b).unwrap();
        (test.difference, test.t, test.p)
    };
    assert_eq!(test(&[0.1, 0.7, 0.3], &[0.1, 0.7, 0.3]), (0.0, 0.0, 1.0));
    assert_eq!(test(&[0.25; 3], &[0.5; 3]), (-0.25, f64::NEG_INFINITY, 0.25));
    assert_eq!(test(&[0.1; 10], &[0.0; 10]).1, f64::INFINITY);
    assert_eq!(test(&[0.5, 1.0], &[0.0, 0.5]).2, 0.5);
    assert_eq!(test(&[0.0; 6], &[0.5; 6]).2, 1.0 / 32.0);
    // Differences of 0.1 that are rounded differently.
    assert_ne!(0.3 - 0.2, 0.4 - 0.3);
    assert_eq!(test(&[0.3, 0.4], &[0.2, 0.3]).2, 0.5);
    assert_eq!(test(&[], &[]), (0.0, 0.0, 1.0));
    assert_eq!(test(&[1.0], &[0.0]), (1.0, 0.0, 1.0));
}

#[test]
fn few_queries_show_no_more_than_their_signs() {
    let test = |differing: usize, of: usize| {
        let a: Vec<f64> = (0..of).map(|i| if i < differing { 1.0 / (i + 2) as f64 } else { 0.0 }).collect();
        paired_t_test(&a, &vec![0.0; of]).unwrap()
    };
    for differing in 1..10 {
        let test = test(differing, 100);
        assert_eq!(test.evidence(), test.p.max(2.0 / f64::from(1 << differing)), "{differing}");
    }
    assert!(test(5, 100).p < SIGNIFICANT && test(5, 100).evidence() > SIGNIFICANT);
    assert_eq!(test(10, 100).p, test(10, 100).evidence());
    assert_eq!(test(0, 100).evidence(), 1.0);
}

#[test]
fn both_sides_have_the_same_queries() {
    assert!(paired_t_test(&[1.0], &[]).is_err());
}

/// Returns two lists of numbers in [0, 1) without a pattern.
fn lists(n: u32, up: f64) -> (Vec<f64>, Vec<f64>) {
    let fraction = |i: u32, step: u32, first: u32, prime: u32| f64::from((i * step + first) % prime) / f64::from(prime);
    ((0..n).map(|i| fraction(i, 37, 11, 101) + up).collect(), (0..n).map(|i| fraction(i, 53, 29, 97)).collect())
}

/// `scipy.stats.ttest_rel`, scipy 1.17.1.
#[test]
fn t_tests_are_scipys() {
    for (n, up, t, p) in [
        (3, 0.0, -0.147_831_939_561_518_74, 0.896_033_517_962_962_5),
        (3, 0.125, 0.354_588_103_876_570_25, 0.756_796_493_517_571_4),
        (10, 0.0, -0.001_818_210_379_947_969_4, 0.998_588_942_665_665_6),
        (10, 0.125, 0.740_390_418_467_927_4, 0.477_932_748_025_986),
        (40, 0.0, -0.373_228_305_245_516_9, 0.710_999_592_572_958),
        (40, 0.125, 1.412_006_391_800_831, 0.165_877_771_360_185_97),
        (400, 0.0, 0.071_949_531_829_913_69, 0.942_678_122_391_342_1),
        (400, 0.125, 6.293_393_162_347_658, 8.186_389_201_839_788e-10),
    ] {
        let (a, b) = lists(n, up);
        let test = paired_t_test(&a, &b).unwrap();
        assert_relative(test.t, t, 1e-9);
        assert_relative(test.p, p, 1e-9);
    }
}

#[test]
fn holm_by_hand() {
    // The smallest is multiplied by 4 and the next by 3. 2 · 0.03 is 0.06, and the value for 0.04 must not be smaller.
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((found - expected).abs() < 1e-15, "{adjusted:?}");
    }
    assert_eq!(holm(&[0.7, 0.6]), [1.0, 1.0]);
    assert_eq!(holm(&[f64::NAN, 0.25]), [1.0, 0.5]);
    assert_eq!((holm(&[]), holm(&[0.03])), (vec![], vec![0.03]));
}
