//! Tests of quantised search against the scan of floats.

use proptest::prelude::*;

use super::*;
use crate::index::rows::{floats, halves};

/// Vectors or queries in arbitrary directions.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

fn flat(index: &QuantizedIndex) -> &FlatIndex {
    index.flat().unwrap()
}

/// Returns the positions of hits and the bits of their scores.
fn bits(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.position, hit.score.to_bits())).collect()
}

/// Checks that every way of searching finds the hits of the float scan.
fn check(dimension: usize, vectors: Vec<f32>, queries: &[f32], k: usize) -> std::result::Result<(), TestCaseError> {
    let index = QuantizedIndex::new(FlatIndex::new(dimension, vectors).unwrap());
    let (mut scratch, mut oracle) = (SearchScratch::default(), SearchScratch::default());
    let batches = [index.search_batch(queries, k).unwrap(), flat(&index).search_batch(queries, k).unwrap()];
    prop_assert_eq!(batches[0].len(), queries.len() / dimension);
    for (q, query) in queries.chunks_exact(dimension).enumerate() {
        let expected = bits(flat(&index).search(query, k, &mut oracle).unwrap());
        prop_assert_eq!(expected.len(), k.min(flat(&index).len()));
        prop_assert_eq!(&bits(index.search(query, k, &mut scratch).unwrap()), &expected, "{}", dimension);
        prop_assert_eq!(&bits(&batches[0][q]), &expected);
        prop_assert_eq!(&bits(&batches[1][q]), &expected);
    }
    Ok(())
}

#[test]
fn the_same_as_the_scan_of_floats_in_every_dimension() {
    for dimension in [1, 3, 17, 95, 96, 97, 128, 300] {
        for count in [0, 1, 15, 16, 17, if dimension == 97 { 1000 } else { 200 }] {
            for k in [0, 1, 10, 2000] {
                check(dimension, numbers(count * dimension, 1), &numbers(19 * dimension, 2), k).unwrap();
            }
        }
    }
}

#[test]
fn zeros_duplicates_and_extremes() {
    let d = 24;
    let mut vectors = numbers(500 * d, 3);
    vectors[7 * d..30 * d].fill(0.0);
    vectors.copy_within(40 * d..90 * d, 200 * d);
    vectors.copy_within(40 * d..90 * d, 300 * d);
    vectors[3] = 1e30;
    let mut queries = vectors[40 * d..46 * d].to_vec();
    queries.extend([0.0; 24]);
    queries.extend([1e-40; 24]);
    queries.extend([f32::MIN_POSITIVE; 24]);
    queries.extend([-1e37; 24]);
    for k in [1, 2, 10, 600] {
        check(d, vectors.clone(), &queries, k).unwrap();
        check(d, vectors[40 * d..41 * d].repeat(300), &queries, k).unwrap();
    }
}

/// Vectors that were rounded are searched as exactly as others, in any order of their codes.
#[test]
fn rounded_vectors_are_what_is_searched() {
    for (dimension, count) in [(1, 40), (3, 16), (17, 17), (96, 1000), (97, 300)] {
        let mut vectors = FlatIndex::new(dimension, numbers(count * dimension, 8)).unwrap().vectors().to_vec();
        vectors[5 * dimension..6 * dimension].fill(0.0);
        let backwards: Vec<u32> = (0..count as u32).rev().collect();
        let bits_of = halves(&vectors);
        let from_halves = floats(&bits_of);
        let from_codes = Codes::rounded(dimension, &vectors);
        for rows in [None, Some(backwards)] {
            let codes = Codes::encode(dimension, &from_halves, rows.clone());
            let one = QuantizedIndex::from_halves(dimension, bits_of.clone().into(), codes).unwrap();
            let codes = Codes::alone(dimension, &from_codes, rows);
            let other = QuantizedIndex::from_codes_alone(dimension, count, codes).unwrap();
            for (index, rounded) in [(one, &from_halves), (other, &from_codes)] {
                let kept = index.floats().unwrap();
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6;
                assert!(index.flat().is_none() && kept.vectors().iter().zip(rounded).all(near), "{dimension}");
                let kept = FlatIndex::from_unit(dimension, kept.vectors().to_vec()).unwrap();
                let (mut scratch, mut oracle) = (SearchScratch::default(), SearchScratch::default());
                for query in numbers(9 * dimension, 9).chunks_exact(dimension) {
                    for k in [1, 10, 2 * count] {
                        let mut found = bits(index.search(query, k, &mut scratch).unwrap());
                        let mut expected = bits(kept.search(query, k, &mut oracle).unwrap());
                        // Of equal scores, the order of the codes may decide which is the last.
                        for (position, _) in found.iter_mut().chain(&mut expected) {
                            *position = 0;
                        }
                        assert_eq!(found, expected, "{dimension}");
                    }
                }
            }
        }
        // Rounding what is rounded changes nothing.
        assert_eq!(halves(&from_halves), bits_of);
        let again = Codes::rounded(dimension, &from_codes);
        assert!(again.iter().zip(&from_codes).all(|(a, b)| (a - b).abs() <= 1e-6), "{dimension}");
    }
}

#[test]
fn what_comes_twice_is_found_once() {
    for (dimension, count) in [(3, 17), (33, 500), (96, 1000)] {
        let vectors = FlatIndex::new(dimension, numbers(count * dimension, 8)).unwrap().vectors().to_vec();
        let backwards: Vec<u32> = (0..count as u32).rev().collect();
        let whole = QuantizedIndex::new(FlatIndex::from_unit(dimension, vectors.clone()).unwrap());
        let blocks = whole.blocks();
        // Everything in one of both, in both, and past the end of both.
        let scopes = [(0..blocks, 0..0), (0..0, 0..blocks), (0..blocks, 0..blocks), (0..blocks + 3, 5..usize::MAX)]
            .map(|(own, copies)| [Blocks { own, copies }]);
        let rounded = Codes::rounded(dimension, &vectors);
        let from_codes = Codes::alone(dimension, &rounded, None);
        let alone = QuantizedIndex::from_codes_alone(dimension, count, from_codes).unwrap();
        let copied = [
            whole.clone().with_copies(Codes::encode_high(dimension, &vectors, Some(backwards.clone()))).unwrap(),
            alone.with_copies(Codes::alone(dimension, &rounded, Some(backwards.clone()))).unwrap(),
        ];
        for index in copied {
            let (mut scratch, mut oracle) = (SearchScratch::default(), SearchScratch::default());
            for query in numbers(9 * dimension, 9).chunks_exact(dimension) {
                for k in [1, 10, 2 * count] {
                    let expected = bits(index.search(query, k, &mut oracle).unwrap());
                    for blocks in &scopes {
                        let scope = Scope { allowed: None, blocks: Some(blocks) };
                        let found = bits(index.search_in(query, k, &scope, &mut scratch).unwrap());
                        assert_eq!(found, expected, "{dimension} {scope:?}");
                    }
                }
            }
        }
        // Copies of another form are refused: without positions, of another dimension, without low bits that are needed.
        let high = |rows| Codes::encode_high(dimension, &vectors, rows);
        assert!(whole.clone().with_copies(high(None)).is_err());
        let wider = Codes::encode_high(dimension + 8, &numbers(16 * (dimension + 8), 8), Some(backwards.clone()));
        assert!(whole.clone().with_copies(wider).is_err());
        let alone =
            QuantizedIndex::from_codes_alone(dimension, count, Codes::alone(dimension, &rounded, None)).unwrap();
        assert!(alone.with_copies(high(Some(backwards))).is_err());
        assert!(QuantizedIndex::from_codes(flat(&whole).clone(), high(None)).is_err());
    }
}

#[test]
fn batches_do_not_depend_on_threads() {
    let (d, k) = (33, 10);
    let index = QuantizedIndex::new(FlatIndex::new(d, numbers(5000 * d, 4)).unwrap());
    let queries = numbers(70 * d, 5);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| [index.search_batch(&queries, k).unwrap(), flat(&index).search_batch(&queries, k).unwrap()])
    };
    let one = with(1);
    assert_eq!(one[0], one[1]);
    assert_eq!((one[0].len(), one[0][69].len()), (70, k));
    for threads in [2, 3, 7] {
        assert_eq!(with(threads), one);
    }
}

#[test]
fn few_vectors_are_looked_at_closer() {
    let (d, n) = (96, 20_000);
    let index = QuantizedIndex::new(FlatIndex::new(d, numbers(n * d, 6)).unwrap());
    let query = numbers(d, 7);
    let length = query_length(d, &query).unwrap();
    let mut question = Question::new(&query, length, Errors::new(&index.codes), 10, Vec::new(), Best::default());
    index.scan(&index.codes, 0..index.blocks(), std::slice::from_mut(&mut question));
    // With the best hits known, which blocks would still pass?
    let probe = question.probe();
    let (mut passing, mut from) = (0, 0);
    while let Some((block, _)) = nibbles::next_block(&index.codes.high, &index.codes.scales, &[probe], from) {
        (passing, from) = (passing + 1, block + 1);
    }
    assert!((1..index.blocks() / 4).contains(&passing), "{passing} of {} blocks", index.blocks());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let index = QuantizedIndex::new(FlatIndex::new(2, vec![1.0, 1.0]).unwrap());
    for query in [&[1.0][..], &[f32::NAN, 0.0], &[f32::INFINITY, 0.0], &[f32::MAX, f32::MAX]] {
        let expected = flat(&index).search(query, 1, &mut SearchScratch::default()).unwrap_err().to_string();
        assert_eq!(index.search(query, 1, &mut SearchScratch::default()).unwrap_err().to_string(), expected);
        if query.len() == 2 {
            assert_eq!(index.search_batch(query, 1).unwrap_err().to_string(), expected);
            assert_eq!(flat(&index).search_batch(query, 1).unwrap_err().to_string(), expected);
        }
    }
    let error = index.search_batch(&[1.0; 3], 1).unwrap_err().to_string();
    assert_eq!(error, flat(&index).search_batch(&[1.0; 3], 1).unwrap_err().to_string());
    assert!(error.contains("multiple of the dimension 2"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_as_the_scan_of_floats(
        dimension in 1usize..40,
        // Few distinct values, so that ties are common.
        values in prop::collection::vec(-2i8..=2, 0..1200),
        queries in 1usize..12,
        k in 0usize..40,
    ) {
        let values: Vec<f32> = values.iter().map(|&value| f32::from(value)).collect();
        let whole = values.len() / dimension * dimension;
        let (queries, vectors) = values[..whole].split_at((queries * dimension).min(whole));
        check(dimension, vectors.to_vec(), queries, k)?;
    }
}
