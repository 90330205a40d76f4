//! Dot products of 4-bit codes with int8 queries, sixteen rows at a time.
//!
//! A *plane* holds the codes of many rows in blocks of [`ROWS`], each [⌈dimension / 8⌉ groups, 16 rows, 4 bytes]. Of a
//! row's four bytes in group g, byte j has the code of number 8g + j in its low half and that of number 8g + 4 + j in
//! its high half. So the 32-bit lanes of a register are rows. A query's numbers are broadcast to them, four at a time,
//! and nothing is ever summed across lanes.
//!
//! Sums are integers, and up to [`MAX_DIMENSION`] they are too small to overflow or saturate, so every level gives the
//! same.
#![allow(unsafe_code, reason = "kernels over raw pointers; bounds are checked once, at the door")]

#[cfg(target_arch = "x86_64")]
use super::byte_lanes::{Avx2, Avx512, Vnni};
use super::byte_lanes::{ByteLanes, Plain};
use super::level::Level;

/// The number of rows in a block.
pub(crate) const ROWS: usize = 16;
/// The number of a row's values in a group.
pub(crate) const GROUP: usize = 8;
/// 15 · 127 · 2²⁰ < 2³¹, so no sum is longer than this.
pub(crate) const MAX_DIMENSION: usize = 1 << 20;
/// The number of queries that one pass over the codes can serve.
pub(crate) const MAX_PROBES: usize = 8;
const GROUP_BYTES: usize = ROWS * GROUP / 2;

/// Returns the bytes of a block of rows.
pub(crate) fn block_bytes(dimension: usize) -> usize {
    dimension.div_ceil(GROUP) * GROUP_BYTES
}

/// Returns the position of the code of number `i` of row `row` in a block: the byte, and the shift.
pub(crate) fn position(row: usize, i: usize) -> (usize, usize) {
    let (group, i) = (i / GROUP, i % GROUP);
    (group * GROUP_BYTES + 4 * row + i % 4, i / 4 * 4)
}

/// The question of a scan to each row: is scale·(16·Σ code·query + offset) above the threshold?
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe<'a> {
    /// The query in whole groups, with zeros after the last number.
    pub(crate) query: &'a [i8],
    pub(crate) offset: f32,
    pub(crate) threshold: f32,
}

/// Returns the first block, starting at `from`, with a row above the threshold of a probe, and these probes as bits. All
/// probes must have queries of the same length. `scales` has one value for each row.
///
/// # Panics
/// If there are no probes or more than [`MAX_PROBES`], or the slices do not fit together.
pub(crate) fn next_block(plane: &[u8], scales: &[f32], probes: &[Probe<'_>], from: usize) -> Option<(usize, u32)> {
    assert!((1..=MAX_PROBES).contains(&probes.len()), "{} probes", probes.len());
    if probes.len() == 1 {
        return scan_with(Instructions::current(), plane, scales, [probes[0]], from);
    }
    // A kernel for each number of probes would not pay. A missing probe is scanned too, but no row passes it.
    let nobody = Probe { threshold: f32::INFINITY, ..probes[0] };
    let probes: [_; MAX_PROBES] = std::array::from_fn(|q| *probes.get(q).unwrap_or(&nobody));
    scan_with(Instructions::current(), plane, scales, probes, from)
}

/// Returns Σ code·query for each row of one block.
///
/// # Panics
/// If the block and the query have different numbers of groups.
pub(crate) fn block_sums(block: &[u8], query: &[i8]) -> [i32; ROWS] {
    sums_with(Instructions::current(), block, query)
}

/// Returns the naive version of [`block_sums`].
#[cfg(test)]
fn block_sums_naive(block: &[u8], query: &[i8]) -> [i32; ROWS] {
    std::array::from_fn(|row| {
        let product = |(i, &x): (usize, &i8)| {
            let (byte, shift) = position(row, i);
            i32::from(block[byte] >> shift & 15) * i32::from(x)
        };
        query.iter().enumerate().map(product).sum()
    })
}

/// The part of a [`Level`] that matters here, since AVX-512 exists with and without the instruction for this. A value
/// proves that the processor has the instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Instructions {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Vnni,
}

impl Instructions {
    fn current() -> Instructions {
        match Level::current() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if is_x86_feature_detected!("avx512vnni") => Instructions::Vnni,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Instructions::Avx512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Instructions::Avx2,
            _ => Instructions::Plain,
        }
    }
}

fn groups(query: &[i8]) -> usize {
    assert!(query.len().is_multiple_of(GROUP) && query.len() <= MAX_DIMENSION, "a query of {} numbers", query.len());
    query.len() / GROUP
}

fn sums_with(instructions: Instructions, block: &[u8], query: &[i8]) -> [i32; ROWS] {
    let groups = groups(query);
    assert_eq!(block.len(), groups * GROUP_BYTES, "a block of another dimension");
    let (block, query) = (block.as_ptr(), [query.as_ptr()]);
    let [sums] = match instructions {
        // SAFETY: the block and the query have `groups` groups, and the instructions were detected.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Vnni => unsafe { sums_vnni(block, groups, query) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Avx512 => unsafe { sums_avx512(block, groups, query) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Avx2 => unsafe { sums_avx2(block, groups, query) },
        // SAFETY: as above.
        Instructions::Plain => unsafe { sums::<Plain, 1>(block, groups, query) },
    };
    sums
}

fn scan_with<const Q: usize>(
    instructions: Instructions,
    plane: &[u8],
    scales: &[f32],
    probes: [Probe<'_>; Q],
    from: usize,
) -> Option<(usize, u32)> {
    let groups = groups(probes[0].query);
    assert!(probes.iter().all(|probe| probe.query.len() == groups * GROUP), "queries of several dimensions");
    assert!(scales.len().is_multiple_of(ROWS), "{} scales", scales.len());
    assert_eq!(plane.len(), scales.len() / ROWS * groups * GROUP_BYTES, "a plane of another size");
    let scan = Scan { plane: plane.as_ptr(), groups, scales, probes };
    match instructions {
        // SAFETY: the sizes were checked above, and the instructions were detected.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Vnni => unsafe { scan_vnni(scan, from) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Avx512 => unsafe { scan_avx512(scan, from) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Instructions::Avx2 => unsafe { scan_avx2(scan, from) },
        // SAFETY: as above.
        Instructions::Plain => unsafe { scan_blocks::<Plain, Q>(scan, from) },
    }
}

#[derive(Clone, Copy)]
struct Scan<'a, const Q: usize> {
    /// [blocks, groups, 64]
    plane: *const u8,
    groups: usize,
    /// [blocks, 16]
    scales: &'a [f32],
    probes: [Probe<'a>; Q],
}

macro_rules! compiled_for {
    ($features:literal, $lanes:ty, $scan:ident, $sums:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $scan<const Q: usize>(scan: Scan<'_, Q>, from: usize) -> Option<(usize, u32)> {
            // SAFETY: the caller's contract.
            unsafe { scan_blocks::<$lanes, Q>(scan, from) }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $sums<const Q: usize>(block: *const u8, groups: usize, queries: [*const i8; Q]) -> [[i32; ROWS]; Q] {
            // SAFETY: the caller's contract.
            unsafe { sums::<$lanes, Q>(block, groups, queries) }
        }
    };
}

compiled_for!("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma", Vnni, scan_vnni, sums_vnni);
compiled_for!("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma", Avx512, scan_avx512, sums_avx512);
compiled_for!("avx2,fma", Avx2, scan_avx2, sums_avx2);

#[inline(always)]
unsafe fn scan_blocks<L: ByteLanes, const Q: usize>(scan: Scan<'_, Q>, from: usize) -> Option<(usize, u32)> {
    let queries = scan.probes.map(|probe| probe.query.as_ptr());
    for (block, scales) in scan.scales.as_chunks::<ROWS>().0.iter().enumerate().skip(from) {
        // SAFETY: the plane has a block for each 16 scales, as was checked at the door.
        let sums = unsafe { sums::<L, Q>(scan.plane.add(block * scan.groups * GROUP_BYTES), scan.groups, queries) };
        let mut passing = 0;
        for q in 0..Q {
            let Probe { offset, threshold, .. } = scan.probes[q];
            let mut any = false;
            for row in 0..ROWS {
                // Without fused products, so that the same rows pass at every level.
                any |= scales[row] * (16.0 * sums[q][row] as f32 + offset) > threshold;
            }
            passing |= u32::from(any) << q;
        }
        if passing != 0 {
            return Some((block, passing));
        }
    }
    None
}

/// Returns Σ code·query of a block's rows for Q queries. Codes are unpacked once for all queries.
#[inline(always)]
unsafe fn sums<L: ByteLanes, const Q: usize>(
    block: *const u8,
    groups: usize,
    queries: [*const i8; Q],
) -> [[i32; ROWS]; Q] {
    let mut sums = [[0; ROWS]; Q];
    for first in (0..ROWS).step_by(L::ROWS) {
        // SAFETY: the block has `groups` groups of 64 bytes and the queries 8 numbers for each; a register has the
        // bytes of L::ROWS rows, which divide 16.
        unsafe {
            let mut sum = [L::zero(); Q];
            for group in 0..groups {
                let codes = L::load(block.add(group * GROUP_BYTES + 4 * first));
                let (low, high) = (L::low_halves(codes), L::high_halves(codes));
                for q in 0..Q {
                    let query = queries[q].add(group * GROUP);
                    sum[q] = L::add_dots(sum[q], low, L::splat(query));
                    sum[q] = L::add_dots(sum[q], high, L::splat(query.add(4)));
                }
            }
            for q in 0..Q {
                L::store(sums[q].as_mut_ptr().add(first), sum[q]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all that this processor has. Unlike the level of the process, no other test changes it.
    fn detected() -> Vec<Instructions> {
        let mut all = vec![Instructions::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            let level = Level::detect();
            all.extend((level >= Level::Avx2).then_some(Instructions::Avx2));
            all.extend((level >= Level::Avx512).then_some(Instructions::Avx512));
            all.extend(
                (level >= Level::Avx512 && is_x86_feature_detected!("avx512vnni")).then_some(Instructions::Vnni),
            );
        }
        all
    }

    /// Returns a plane of arbitrary codes, and queries from −127 to 127.
    fn example(blocks: usize, dimension: usize, queries: usize) -> (Vec<u8>, Vec<Vec<i8>>) {
        let plane = (0..blocks * block_bytes(dimension)).map(|i| (i * 167 + i / 7) as u8).collect();
        let number = |q: usize, i: usize| if i < dimension { ((i * 71 + q * 29) % 255) as i16 - 127 } else { 0 };
        let query = |q| (0..dimension.next_multiple_of(GROUP)).map(|i| number(q, i) as i8).collect();
        (plane, (0..queries).map(query).collect())
    }

    #[test]
    fn sums_are_those_of_the_naive_twin_with_all_instructions() {
        for dimension in [1, 3, 8, 17, 95, 96, 97, 128, 300] {
            let (block, queries) = example(1, dimension, 3);
            for query in &queries {
                let naive = block_sums_naive(&block, query);
                for instructions in detected() {
                    assert_eq!(sums_with(instructions, &block, query), naive, "{instructions:?}, {dimension}");
                }
            }
        }
    }

    #[test]
    fn the_largest_codes_and_queries_do_not_saturate() {
        for extreme in [-127, 127] {
            let (block, query) = (vec![255; block_bytes(96)], vec![extreme; 96]);
            for instructions in detected() {
                assert_eq!(sums_with(instructions, &block, &query), [96 * 15 * i32::from(extreme); ROWS]);
            }
        }
    }

    #[test]
    fn a_scan_stops_at_the_same_blocks_with_all_instructions() {
        let (blocks, dimension) = (23, 97);
        let (plane, queries) = example(blocks, dimension, MAX_PROBES);
        let scales: Vec<f32> = (0..blocks * ROWS).map(|row| 0.5 + (row % 9) as f32 / 16.0).collect();
        let probes: [Probe<'_>; MAX_PROBES] = std::array::from_fn(|q| {
            // The highest value of a block, which few or no other blocks of this query reach.
            let sums =
                block_sums_naive(&plane[2 * q * block_bytes(dimension)..][..block_bytes(dimension)], &queries[q]);
            let value = |row| scales[2 * q * ROWS + row] * (16.0 * sums[row] as f32 - 3.0);
            let highest = (0..ROWS).map(value).fold(f32::NEG_INFINITY, f32::max);
            Probe { query: &queries[q], offset: -3.0, threshold: highest.next_down() }
        });
        let passes = |block: usize, probe: &Probe<'_>| {
            let bytes = block_bytes(dimension);
            let sums = block_sums_naive(&plane[block * bytes..][..bytes], probe.query);
            (0..ROWS).any(|row| scales[block * ROWS + row] * (16.0 * sums[row] as f32 + probe.offset) > probe.threshold)
        };
        for instructions in detected() {
            let (mut from, mut stops) = (0, 0);
            for block in 0..blocks {
                let expected = (0..).zip(&probes).map(|(q, probe)| u32::from(passes(block, probe)) << q).sum::<u32>();
                if expected != 0 {
                    let found = scan_with(instructions, &plane, &scales, probes, from);
                    assert_eq!(found, Some((block, expected)), "{instructions:?}");
                    from = block + 1;
                    stops += 1;
                }
            }
            assert_eq!(scan_with(instructions, &plane, &scales, probes, from), None);
            assert!(stops >= MAX_PROBES, "{stops} blocks pass");
        }
        assert_eq!(next_block(&plane, &scales, &probes[..3], 0).map(|(_, passing)| passing >> 3), Some(0));
    }

    #[test]
    #[should_panic(expected = "a plane of another size")]
    fn a_short_plane_is_refused() {
        let probe = Probe { query: &[0; 8], offset: 0.0, threshold: 0.0 };
        next_block(&[0; 63], &[0.0; ROWS], &[probe], 0);
    }
}
