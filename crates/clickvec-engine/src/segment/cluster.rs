//! Making lists of similar vectors: k-means on a sample, then each vector goes to the nearest centre.

use clickvec::index::FlatIndex;
use clickvec::internals::index::Codes;
use clickvec::internals::math::gemm::{Left, gemm_into};
use rayon::prelude::*;

/// The number of vectors of the sample for each list.
const SAMPLE_OF_LIST: usize = 40;
const ROUNDS: usize = 6;
/// There are so many times √n lists. A search compares the query with all centres, which costs as much as some thousand
/// vectors; smaller lists have fewer vectors that are far from it.
const LISTS_OF_ROOT: f64 = 4.0;
/// The number of vectors that are compared with the centres at once.
const ROWS_AT_ONCE: usize = 256;

/// Lists of vectors: centres, and the rows of codes in the order of the lists.
pub(super) struct Clusters {
    /// [lists, dimension], of unit length.
    pub(super) centroids: Vec<f32>,
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
        (0..count).map(|place| (place as u128 * n as u128 / count as u128) as u32).collect()
    };
    let vector = |position: u32| flat.vector(position).unwrap_or(&[]);
    let gathered: Vec<f32> = sample.iter().flat_map(|&position| vector(position).iter().copied()).collect();
    let first = (0..lists).flat_map(|list| vector(sample[list * sample.len() / lists]).iter().copied());
    let mut centroids: Vec<f32> = first.collect();
    for _ in 0..ROUNDS {
        let nearest = nearest(&gathered, d, &centroids);
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
    let nearest = nearest(flat.vectors(), d, &centroids);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); lists];
    (0..).zip(&nearest).for_each(|(position, &list)| members[list as usize].push(position));
    let (mut rows, mut blocks) = (Vec::with_capacity(n + lists * Codes::BLOCK), vec![0]);
    for list in members {
        rows.extend(list);
        rows.resize(rows.len().next_multiple_of(Codes::BLOCK), Codes::NOTHING);
        blocks.push((rows.len() / Codes::BLOCK) as u32);
    }
    Clusters { centroids, rows, blocks }
}

/// The nearest centre of each vector, [n, d], by the dot product.
fn nearest(vectors: &[f32], d: usize, centroids: &[f32]) -> Vec<u32> {
    let lists = centroids.len() / d;
    // [d, lists]
    let mut columns = vec![0.0; centroids.len()];
    for (list, centroid) in centroids.chunks_exact(d).enumerate() {
        (0..d).for_each(|i| columns[i * lists + list] = centroid[i]);
    }
    let of_rows = |vectors: &[f32]| -> Vec<u32> {
        let rows = vectors.len() / d;
        let mut products = vec![0.0; rows * lists];
        gemm_into((rows, lists, d), Left::rows(vectors, d), (&columns[..], lists), (&mut products, lists));
        let best = |products: &[f32]| {
            let better =
                |best: (u32, f32), (list, &product): (u32, &f32)| if product > best.1 { (list, product) } else { best };
            (0..).zip(products).fold((0, f32::NEG_INFINITY), better).0
        };
        products.chunks_exact(lists).map(best).collect()
    };
    vectors.par_chunks(ROWS_AT_ONCE * d).flat_map_iter(of_rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_is_in_one_list() {
        let (d, n) = (8, 3000);
        let numbers: Vec<f32> = (0..n * d).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        let flat = FlatIndex::new(d, numbers).unwrap();
        let clusters = cluster(&flat);
        assert_eq!(clusters.blocks.len(), clusters.centroids.len() / d + 1);
        assert_eq!(clusters.rows.len(), *clusters.blocks.last().unwrap() as usize * Codes::BLOCK);
        let mut found: Vec<u32> = clusters.rows.iter().copied().filter(|&row| row != Codes::NOTHING).collect();
        found.sort_unstable();
        assert_eq!(found, (0..n as u32).collect::<Vec<_>>());
        assert_eq!(cluster(&flat).rows, clusters.rows);
    }
}
