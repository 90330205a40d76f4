//! Products of rounded factors agree with their naive twin, with any instructions.

use super::super::gemm::{Left, Rows, gemm, gemm_into, gemm_onto};
use super::*;

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Runs a test with all instructions that this machine has, and with those of AVX512-BF16 emulated if it has AVX-512.
fn with_all_instructions(test: impl Fn()) {
    let mut all = Vec::new();
    if Level::detect() == Level::Avx512 {
        all.push(Instructions::Emulated);
        // A processor that has AMX has AVX512-BF16 too.
        match Instructions::detect() {
            Ok(Instructions::Dots) => all.push(Instructions::Dots),
            Ok(best) => all.extend([Instructions::Dots, best]),
            Err(_) => {}
        }
    }
    for instructions in all {
        CHOSEN.set(Some(instructions));
        test();
        CHOSEN.set(None);
    }
}

#[test]
fn rounds_to_even() {
    for (x, rounded) in [(1.0, 1.0), (1.0 + 1.0 / 256.0, 1.0), (1.0 + 3.0 / 256.0, 1.015625), (-0.3, -77.0 / 256.0)] {
        assert_eq!(round(x), rounded);
    }
    assert!(round(f32::NAN).is_nan() && round(f32::from_bits(0x7fff_ffff)).is_nan());
    assert_eq!(round(f32::MAX), f32::INFINITY);
}

/// Both round the factors in the same way and sum k products in f32 in another order, so they differ by at most k
/// roundings.
#[test]
fn agrees_with_the_naive_twin_at_every_size() {
    let agrees = |m: usize, n: usize, k: usize| {
        for transposed in [false, true] {
            let (a, b) = (numbers(m * k, 1), numbers(k * (n + 2), 2));
            let left = if transposed { Left::transposed(&a, m) } else { Left::rows(&a, k) };
            let mut fast = numbers(m * (n + 1), 3);
            let mut naive = fast.clone();
            gemm((m, n, k), left, Precision::Bf16.right(&b, n + 2), (&mut fast, n + 1));
            gemm_bf16_naive((m, n, k), left, (&b, n + 2), (&mut naive, n + 1));
            for (x, y) in fast.iter().zip(&naive) {
                assert!((x - y).abs() <= 1e-7 * (k as f32 + 2.0), "{m}×{n}×{k}: {x} against {y}");
            }
        }
    };
    with_all_instructions(|| {
        for &m in &[1usize, 2, 15, 16, 17, 33, 96] {
            for &n in &[1usize, 15, 16, 17, 48, 96, 97, 112, 200] {
                for &k in &[1usize, 2, 7, 16, 31, 32, 33, 96] {
                    if m * n * k <= 100_000 {
                        agrees(m, n, k);
                    }
                }
            }
        }
        // Those of the networks in blocks of 128 texts.
        for (m, n, k) in [(128, 288, 96), (128, 96, 288), (128, 288, 288), (96, 288, 128), (1, 288, 288)] {
            agrees(m, n, k);
        }
    });
}

#[test]
fn begins_where_it_is_told_and_a_row_does_not_depend_on_others() {
    with_all_instructions(|| {
        for (m, n, k) in [(1, 5, 3), (19, 50, 33), (45, 288, 96)] {
            let (a, b, d) = (numbers(m * k, 1), numbers(k * n, 2), numbers(4 * (n + 3), 3));
            let of: Vec<u32> = (0..m as u32).map(|i| i * 7 % 4).collect();
            let mut memory = Packed::default();
            let right = Precision::Bf16.prepare((k, n), &b, &mut memory);
            let (mut into, mut onto) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
            gemm_into((m, n, k), Left::rows(&a, k), right, (&mut into, n));
            gemm_onto(
                (m, n, k),
                Left::rows(&a, k),
                right,
                Rows { data: &d, stride: n + 3, of: &of, ahead: 0 },
                (&mut onto, n),
            );
            let mut naive: Vec<f32> = of.iter().flat_map(|&row| &d[row as usize * (n + 3)..][..n]).copied().collect();
            gemm_bf16_naive((m, n, k), Left::rows(&a, k), (&b, n), (&mut naive, n));
            assert!(onto.iter().zip(&naive).all(|(x, y)| (x - y).abs() <= 1e-7 * (k as f32 + 2.0)), "{m}×{n}×{k}");
            for i in 0..m {
                let mut one = vec![f32::NAN; n];
                gemm_into((1, n, k), Left::rows(&a[i * k..], k), Precision::Bf16.right(&b, n), (&mut one, n));
                assert_eq!(one, into[i * n..][..n], "row {i}");
            }
        }
    });
}

#[test]
fn what_is_no_number_stays_none() {
    with_all_instructions(|| {
        let (mut a, b, mut c) = (vec![1.0; 20 * 40], vec![1.0; 40 * 3], vec![0.0; 20 * 3]);
        (a[17 * 40 + 5], a[18 * 40]) = (f32::from_bits(0x7fff_ffff), f32::INFINITY);
        gemm((20, 3, 40), Left::rows(&a, 40), Precision::Bf16.right(&b, 3), (&mut c, 3));
        assert!(c[17 * 3].is_nan() && c[18 * 3] == f32::INFINITY);
        assert!((0..17).chain([19]).all(|i| c[i * 3..][..3] == [40.0; 3]));
    });
}

#[test]
fn a_level_below_avx512_has_no_rounded_products() {
    assert_eq!(Precision::F32.missing(), None);
    if Level::detect() < Level::Avx512 {
        assert!(Precision::Bf16.missing().is_some());
    }
    let names = [(Instructions::Dots, Some("bf16")), (Instructions::Emulated, None)];
    for (instructions, name) in names {
        CHOSEN.set(Some(instructions));
        assert_eq!((Precision::Bf16.instructions(), Precision::F32.instructions()), (name, None));
    }
    CHOSEN.set(None);
}

#[test]
#[should_panic(expected = "another right factor")]
fn a_packed_factor_of_other_sizes_is_refused() {
    gemm((2, 2, 1), Left::rows(&[1.0, 1.0], 1), Right::Packed(&Packed::default()), (&mut [0.0; 4], 2));
}
