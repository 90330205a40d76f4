//! Making lists of similar vectors: k-means on a sample, then each vector goes to the nearest centre and to a second one.

use clickvec::index::FlatIndex;
use clickvec::internals::index::Codes;
use clickvec::internals::math::gemm::{Left, gemm_into};
use clickvec::internals::math::vector::dot;
use clickvec_tables::Stop;
use rayon::prelude::*;

/// The number of vectors of the sample for each list.
const SAMPLE_OF_LIST: usize = 40;
const ROUNDS: usize = 6;
/// The number of lists is this many times √n. A search compares the query with all centres, which costs as much as some thousand
/// vectors; smaller lists have fewer vectors that are far from it.
const LISTS_OF_ROOT: f64 = 4.0;
/// The number of vectors that are compared with the centres at once.
const ROWS_AT_ONCE: usize = 256;
/// The penalty of a second list for lying in the direction in which the vector differs from its first: a query that misses the
/// first for this reason would miss the second as well (λ of Sun et al., "SOAR: improved indexing for approximate
/// nearest neighbor search", 2023, equation 5).
const SPREAD: f32 = 4.0;

/// Lists of vectors.
pub(super) struct Clusters {
    /// [lists, dimension], of unit length.
    pub(super) centroids: Vec<f32>,
    /// The first list of each vector.
    pub(super) first: Members,
    /// The second list of each vector; `None` if there is only one list.
    pub(super) second: Option<Members>,
}

/// The rows of codes in the order of the lists.
pub(super) struct Members {
    /// The position of the vector in each row, with [`Codes::NOTHING`] up to the end of a list's last block.
    pub(super) rows: Vec<u32>,
    /// The first block of each list, and the end of the last one.
    pub(super) blocks: Vec<u32>,
}

/// Puts vectors into about 4·√n lists. The result depends on the vectors alone.
pub(super) fn cluster(flat: &FlatIndex) -> Clusters {
    let (d, n) = (flat.dimension(), flat.len());
    let lists = ((LISTS_OF_ROOT * (n as f64).sqrt()) as usize).min(n / 16).max(1);
    let sample: Vec<u32> = {
        let count = n.min(lists * SAMPLE_OF_LIST);
        (0..count).map(|number| (number as u128 * n as u128 / count as u128) as u32).collect()
    };
    let vector = |position: u32| flat.vector(position).unwrap_or(&[]);
    let gathered: Vec<f32> = sample.iter().flat_map(|&position| vector(position).iter().copied()).collect();
    let first = (0..lists).flat_map(|list| vector(sample[list * sample.len() / lists]).iter().copied());
    let mut centroids: Vec<f32> = first.collect();
    for _ in 0..ROUNDS {
        let nearest = for_each_row(&gathered, d, &centroids, |_, products| nearest(products));
        let mut sums = vec![0.0f64; lists * d];
        for (vector, &list) in gathered.chunks_exact(d).zip(&nearest) {
            let sum = &mut sums[list as usize * d..][..d];
            sum.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        for (sum, centroid) in sums.chunks_exact(d).zip(centroids.chunks_exact_mut(d)) {
            let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
            // A list that lost all its vectors keeps its centre.
            if length > 0.0 {
                centroid.iter_mut().zip(sum).for_each(|(x, sum)| *x = (sum / length) as f32);
            }
        }
    }
    // [lists, lists], the products of all centres.
    let among: Vec<Vec<f32>> = for_each_row(&centroids, d, &centroids, |_, products| products.to_vec());
    let both = for_each_row(flat.vectors(), d, &centroids, |vector, products| {
        let first = nearest(products);
        (first, second(dot(vector, vector), products, first, &among[first as usize]))
    });
    let (first, second): (Vec<u32>, Vec<u32>) = both.into_iter().unzip();
    let second = (lists > 1).then(|| Members::new(&second, lists));
    Clusters { first: Members::new(&first, lists), second, centroids }
}

impl Members {
    /// Collects the members of each list from the list of each vector.
    fn new(list_of: &[u32], lists: usize) -> Members {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); lists];
        (0..).zip(list_of).for_each(|(position, &list)| members[list as usize].push(position));
        let (mut rows, mut blocks) = (Vec::with_capacity(list_of.len() + lists * Codes::BLOCK), vec![0]);
        for list in members {
            rows.extend(list);
            rows.resize(rows.len().next_multiple_of(Codes::BLOCK), Codes::NOTHING);
            blocks.push((rows.len() / Codes::BLOCK) as u32);
        }
        Members { rows, blocks }
    }
}

/// Returns the nearest centre, from the products of a vector with all.
fn nearest(products: &[f32]) -> u32 {
    let better =
        |best: (u32, f32), (list, &product): (u32, &f32)| if product > best.1 { (list, product) } else { best };
    (0..).zip(products).fold((0, f32::NEG_INFINITY), better).0
}

/// Returns a second centre for a vector v whose first is c, from v·v and the products of v and of c with all centres: the one
/// with the least ‖v − c′‖² + λ·(r·(v − c′))², where r is the direction of v − c.
fn second(square: f32, products: &[f32], first: u32, first_products: &[f32]) -> u32 {
    let near = products[first as usize];
    // ‖v − c‖², where c has unit length.
    let weight = SPREAD / (square - 2.0 * near + 1.0).max(f32::EPSILON);
    let loss =
        |(&product, &between): (&f32, &f32)| weight * (square - near - product + between).powi(2) - 2.0 * product;
    let losses = (0..).zip(products.iter().zip(first_products).map(loss));
    let better = |best: (u32, f32), (list, loss): (u32, f32)| {
        if loss < best.1 && list != first { (list, loss) } else { best }
    };
    losses.fold((first, f32::INFINITY), better).0
}

/// Calls `choose` with each vector, [n, d], and its dot products with all centres, and returns the results. Unwinds soon after the
/// work is told to stop.
fn for_each_row<T: Send>(
    vectors: &[f32],
    d: usize,
    centroids: &[f32],
    choose: impl Fn(&[f32], &[f32]) -> T + Sync,
) -> Vec<T> {
    let lists = centroids.len() / d;
    // [d, lists]
    let mut columns = vec![0.0; centroids.len()];
    for (list, centroid) in centroids.chunks_exact(d).enumerate() {
        (0..d).for_each(|i| columns[i * lists + list] = centroid[i]);
    }
    let stop = Stop::of_thread();
    let choose_rows = |vectors: &[f32]| -> Vec<T> {
        stop.unwind_if_set();
        let rows = vectors.len() / d;
        let mut products = vec![0.0; rows * lists];
        gemm_into((rows, lists, d), Left::rows(vectors, d), (&columns[..], lists), (&mut products, lists));
        vectors
            .chunks_exact(d)
            .zip(products.chunks_exact(lists))
            .map(|(vector, products)| choose(vector, products))
            .collect()
    };
    vectors.par_chunks(ROWS_AT_ONCE * d).flat_map_iter(choose_rows).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn comparing_with_centres_stops_at_the_next_rows() {
        static FLAG: AtomicBool = AtomicBool::new(false);
        let (vectors, compared) = (vec![1.0; 100 * ROWS_AT_ONCE], AtomicUsize::new(0));
        let choose = |_: &[f32], _: &[f32]| {
            compared.fetch_add(1, Ordering::Relaxed);
            FLAG.store(true, Ordering::Relaxed);
        };
        let all = AssertUnwindSafe(|| for_each_row(&vectors, 1, &[1.0], choose));
        let unwound = Stop::new(&FLAG).during(|| catch_unwind(all)).unwrap_err();
        assert!(unwound.is::<clickvec_tables::Error>());
        assert!(compared.into_inner() <= rayon::current_num_threads() * ROWS_AT_ONCE);
    }

    #[test]
    fn every_vector_is_in_two_lists() {
        let (d, n) = (8, 3000);
        let numbers: Vec<f32> = (0..n * d).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        let flat = FlatIndex::new(d, numbers).unwrap();
        let clusters = cluster(&flat);
        let second = clusters.second.as_ref().unwrap();
        for Members { rows, blocks } in [&clusters.first, second] {
            assert_eq!(blocks.len(), clusters.centroids.len() / d + 1);
            assert_eq!(rows.len(), *blocks.last().unwrap() as usize * Codes::BLOCK);
            let mut found: Vec<u32> = rows.iter().copied().filter(|&row| row != Codes::NOTHING).collect();
            found.sort_unstable();
            assert_eq!(found, (0..n as u32).collect::<Vec<_>>());
        }
        let list_of = |members: &Members, position: u32| {
            let row = members.rows.iter().position(|&row| row == position).unwrap();
            members.blocks.partition_point(|&block| block as usize <= row / Codes::BLOCK) - 1
        };
        for position in (0..n as u32).step_by(37) {
            let (first, other) = (list_of(&clusters.first, position), list_of(second, position));
            assert_ne!(first, other);
            // The definition, in double precision.
            let double = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
            let vector = double(flat.vector(position).unwrap());
            let off = |list: usize| -> Vec<f64> {
                let centre = double(&clusters.centroids[list * d..][..d]);
                vector.iter().zip(&centre).map(|(x, y)| x - y).collect()
            };
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let rest = off(first);
            let loss = |list: usize| {
                let off = off(list);
                product(&off, &off) + f64::from(SPREAD) * product(&rest, &off).powi(2) / product(&rest, &rest)
            };
            let least =
                (0..second.blocks.len() - 1).filter(|&list| list != first).map(loss).fold(f64::INFINITY, f64::min);
            assert!(loss(other) <= least + 1e-5, "{position}: {} {least}", loss(other));
        }
        assert_eq!(cluster(&flat).second.unwrap().rows, second.rows);
    }
}
