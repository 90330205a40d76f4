//! Tests of products of matrices.

use super::*;

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
        })
        .collect()
}

#[test]
fn agrees_with_the_naive_twin_at_every_size() {
    for &m in &[1usize, 2, 3, 5, 8, 9, 17] {
        for &n in &[1usize, 3, 4, 8, 15, 16, 17, 33, 48, 49, 96, 100] {
            for &k in &[1usize, 2, 7, 96] {
                for transposed in [false, true] {
                    let a = numbers(m * k, 1);
                    let b = numbers(k * (n + 2), 2);
                    let left = if transposed { Left::transposed(&a, m) } else { Left::rows(&a, k) };
                    let mut fast = numbers(m * (n + 1), 3);
                    let mut naive = fast.clone();
                    gemm((m, n, k), left, (&b, n + 2), (&mut fast, n + 1));
                    gemm_naive((m, n, k), left, (&b, n + 2), (&mut naive, n + 1));
                    for (x, y) in fast.iter().zip(&naive) {
                        assert!((x - y).abs() < 1e-5 * k as f32, "{m}×{n}×{k}: {x} against {y}");
                    }
                }
            }
        }
    }
}

#[test]
fn gemm_into_forgets_what_was_there() {
    let (m, n, k) = (9, 50, 7);
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (mut added, mut into) = (vec![0.0; m * n], vec![f32::NAN; m * n]);
    gemm((m, n, k), Left::rows(&a, k), (&b, n), (&mut added, n));
    gemm_into((m, n, k), Left::rows(&a, k), (&b, n), (&mut into, n));
    assert_eq!(added, into);
}

#[test]
fn gemm_onto_begins_with_the_rows_it_is_given() {
    for (m, n, k, ahead) in [(1, 5, 3, 0), (9, 50, 7, 5), (13, 96, 4, 13)] {
        let (a, b, d) = (numbers(m * k, 1), numbers(k * n, 2), numbers(4 * (n + 3), 3));
        let of: Vec<u32> = (0..(m + ahead) as u32).map(|i| i * 7 % 4).collect();
        let mut onto = vec![f32::NAN; m * n];
        let rows = Rows { data: &d, stride: n + 3, of: &of, ahead };
        gemm_onto((m, n, k), Left::rows(&a, k), (&b, n), rows, (&mut onto, n));
        let mut naive: Vec<f32> = of[..m].iter().flat_map(|&row| &d[row as usize * (n + 3)..][..n]).copied().collect();
        gemm_naive((m, n, k), Left::rows(&a, k), (&b, n), (&mut naive, n));
        assert!(onto.iter().zip(&naive).all(|(x, y)| (x - y).abs() < 1e-5 * k as f32), "{m}×{n}×{k}");
    }
}

#[test]
#[should_panic(expected = "a row beyond the 2 there are")]
fn a_row_to_add_to_that_is_not_there() {
    let rows = Rows { data: &[0.0; 4], stride: 2, of: &[2], ahead: 0 };
    gemm_onto((1, 2, 1), Left::rows(&[1.0], 1), (&[1.0, 1.0], 2), rows, (&mut [0.0; 2], 2));
}

#[test]
fn sizes_that_wrap_are_refused() {
    let refused = |run: fn()| std::panic::catch_unwind(run).is_err();
    assert!(refused(|| gemm((2, 1, 1), Left::rows(&[1.0; 2], 1), (&[1.0], 1), (&mut [0.0; 4], usize::MAX))));
    assert!(refused(|| gemm((1, 1, 2), Left::rows(&[1.0; 2], 2), (&[1.0; 2], usize::MAX), (&mut [0.0], 1))));
    assert!(refused(|| gemm((2, 1, 1), Left::rows(&[1.0; 2], usize::MAX), (&[1.0], 1), (&mut [0.0; 2], 1))));
    assert!(refused(|| {
        let rows = Rows { data: &[0.0; 2], stride: 2, of: &[0], ahead: usize::MAX };
        gemm_onto((1, 2, 1), Left::rows(&[1.0], 1), (&[1.0, 1.0], 2), rows, (&mut [0.0; 2], 2));
    }));
}

#[test]
fn a_row_does_not_depend_on_the_rows_beside_it() {
    let (m, n, k) = (19, 50, 33);
    let (a, b) = (numbers(m * k, 4), numbers(k * n, 5));
    let mut many = vec![0.0; m * n];
    gemm((m, n, k), Left::rows(&a, k), (&b, n), (&mut many, n));
    for i in 0..m {
        let mut one = vec![0.0; n];
        gemm((1, n, k), Left::rows(&a[i * k..], k), (&b, n), (&mut one, n));
        assert_eq!(one, many[i * n..][..n], "row {i}");
    }
}

#[test]
#[should_panic(expected = "product too short")]
fn a_short_product_is_refused() {
    gemm((2, 2, 1), Left::rows(&[1.0, 1.0], 1), (&[1.0, 1.0], 2), (&mut [0.0; 3], 2));
}
