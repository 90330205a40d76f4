//! The largest singular values of a large sparse matrix and their left vectors: block Lanczos (Golub and Underwood,
//! 1977) on M Mᵀ, with each block orthogonal to all earlier ones.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use clickvec::internals::math::eigen::Tridiagonal;
use clickvec::internals::ragged::Ragged;
use clickvec::internals::rng::stream;
use clickvec_tables::memory::{NoRoom, room_for};

/// The number of columns in a block. A product reads the matrix once for all of them.
pub(super) const BLOCK: usize = 8;

/// A row of a block.
type Row = [f64; BLOCK];

/// A tall matrix of [`BLOCK`] columns, each of length 1, or 0 if there is no further direction.
type Block = Vec<Row>;

/// A small matrix.
type Square = [Row; BLOCK];

/// The number of rows that are worth a task.
const ROWS: usize = 512;

/// A singular vector u is accepted when ‖M Mᵀ u − σ² u‖ is at most this part of the largest σ².
const TOLERANCE: f64 = 1e-9;

/// A column whose rest after projection is below this part of its possible length is rounding error.
const DEPENDENT: f64 = 1e-12;

/// A column of which less than this part is left after projecting out all blocks is projected again, because scaling
/// it to length 1 scales up the rounding errors of the first projection.
const SHORT: f64 = 1e-3;

/// A σ² below this part of the largest is 0, since products with M Mᵀ have such errors.
const ZERO: f64 = 1e-13;

/// A sparse matrix, by rows and by columns.
#[derive(Debug, Clone)]
pub(super) struct Sparse {
    /// M.
    rows: Lists,
    /// Mᵀ.
    columns: Lists,
}

/// The columns of each row that are not 0, in order.
#[derive(Debug, Clone, Default)]
struct Lists(Ragged<(u32, f64)>);

impl Lists {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, i: usize) -> &[(u32, f64)] {
        self.0.get(i)
    }

    fn transposed(&self, rows: usize) -> Result<Lists, NoRoom> {
        Ok(Lists(Ragged::sorted("the titles of each word", rows, |each| {
            for (column, entries) in (0..).zip(self.0.iter()) {
                entries.iter().for_each(|&(row, value)| each(row as usize, (column, value)));
            }
        })?))
    }

    /// Returns the product with a block.
    fn times(&self, block: &[Row]) -> Block {
        let row = |i: usize| {
            let mut sum = [0.0; BLOCK];
            for &(column, value) in self.get(i) {
                let row = &block[column as usize];
                (0..BLOCK).for_each(|c| sum[c] += value * row[c]);
            }
            sum
        };
        (0..self.len()).into_par_iter().with_min_len(ROWS).map(row).collect()
    }
}

impl Sparse {
    /// Creates a matrix of `rows` rows from its columns.
    pub(super) fn from_columns(
        rows: usize,
        columns: impl IntoIterator<Item = Vec<(u32, f64)>>,
    ) -> Result<Sparse, NoRoom> {
        let mut lists = Lists::default();
        for column in columns {
            lists.0.push(column);
        }
        Ok(Sparse { rows: lists.transposed(rows)?, columns: lists })
    }

    /// Returns Σ Mᵢⱼ², the sum of all σ².
    pub(super) fn energy(&self) -> f64 {
        self.rows.0.items().iter().map(|(_, value)| value * value).sum()
    }

    fn gram_times(&self, block: &[Row]) -> Block {
        self.rows.times(&self.columns.times(block))
    }
}

/// The largest singular values and their left vectors.
#[derive(Debug, Clone, Default)]
pub(super) struct Singular {
    /// Largest first, all above 0.
    pub(super) values: Vec<f64>,
    /// U, with a row for each row of the matrix and a column for each value.
    pub(super) left: Vec<f64>,
}

/// Checks that there is memory for `count` singular values of a matrix with this many rows.
///
/// # Errors
///
/// [`NoRoom`].
pub(super) fn room(rows: usize, count: usize) -> Result<(), NoRoom> {
    let directions = first_look(count) as u64;
    // The basis and the vectors; the projected matrix, its triangle and the reflections.
    let numbers = (rows as u64)
        .checked_mul(directions + count as u64)
        .and_then(|numbers| numbers.checked_add(3 * directions * directions));
    room_for("singular vectors", numbers.and_then(|numbers| numbers.checked_mul(size_of::<f64>() as u64)))
}

/// Returns the number of directions at which convergence is first checked. Checking is not free, and with fewer directions there
/// is rarely anything to see.
fn first_look(count: usize) -> usize {
    2 * count + 8 * BLOCK
}

/// Computes the `count` largest singular values of `matrix`, or as many as are not 0.
///
/// `watch` gets the number of directions so far, and the part of [`Sparse::energy`] that they cover.
pub(super) fn singular_vectors(matrix: &Sparse, count: usize, watch: &mut dyn FnMut(usize, f64)) -> Singular {
    let rows = matrix.rows.len();
    let energy = matrix.energy();
    if count == 0 || energy == 0.0 {
        return Singular::default();
    }
    let mut random = stream(1, "lsa", 0);
    let mut next: Block = (0..rows).map(|_| std::array::from_fn(|_| random.random_range(-1.0..1.0))).collect();
    orthonormalize(&mut next, (rows as f64).sqrt());
    let mut basis: Vec<Block> = Vec::new();
    // Column j has the products of blocks 0 … j with M Mᵀ times block j.
    let mut projected: Vec<Vec<Square>> = Vec::new();
    let mut captured = 0.0;
    // The length of a product's column, at most the largest σ².
    let mut longest = 0.0f64;
    let mut look_at = first_look(count);
    loop {
        basis.push(next);
        let mut image = matrix.gram_times(&basis[basis.len() - 1]);
        longest = (0..BLOCK).fold(longest, |longest, c| longest.max(length(&image, c)));
        // In exact arithmetic the last two blocks would be enough (three-term recurrence). They leave so little of the
        // others that a single projection on all of them suffices.
        let near = basis.len().saturating_sub(2);
        let local = project(&basis[near..], &mut image);
        let before: Row = std::array::from_fn(|c| length(&image, c));
        let mut column = project(&basis, &mut image);
        column[near..].iter_mut().zip(&local).for_each(|(sum, square)| add(sum, square));
        projected.push(column);
        let own = &projected[basis.len() - 1][basis.len() - 1];
        captured += (0..BLOCK).map(|i| own[i][i].max(0.0)).sum::<f64>();
        let size = basis.len() * BLOCK;
        watch(size, (captured / energy).min(1.0));
        let mut residual = orthonormalize(&mut image, longest);
        fill(&mut image, &residual, &mut random);
        let mut is_complete = false;
        if (0..BLOCK).any(|c| residual[c][c] <= SHORT * before[c]) {
            project(&basis, &mut image);
            residual = times(&orthonormalize(&mut image, 1.0), &residual);
            is_complete = image.iter().all(|row| row.iter().all(|&x| x == 0.0));
        }
        if size >= look_at || is_complete {
            look_at = size + size / 5;
            let tridiagonal = Tridiagonal::new(dense(&projected), size);
            let (values, ends) = tridiagonal.values(BLOCK);
            let tolerance = TOLERANCE * values[0];
            if is_complete || ends[..count.min(size)].iter().all(|end| remains(&residual, end) <= tolerance) {
                return lift(&basis, &values, &tridiagonal.vectors(count));
            }
        }
        next = image;
    }
}

/// Removes the part of `block` that is in the span of `basis`. Returns its coordinates there.
fn project(basis: &[Block], block: &mut Block) -> Vec<Square> {
    let coordinates: Vec<Square> = basis.par_iter().map(|other| products(other, block)).collect();
    block.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, rows)| {
        for (other, square) in basis.iter().zip(&coordinates) {
            for (row, other) in rows.iter_mut().zip(&other[chunk * ROWS..]) {
                for (x, coordinates) in other.iter().zip(square) {
                    (0..BLOCK).for_each(|c| row[c] -= x * coordinates[c]);
                }
            }
        }
    });
    coordinates
}

/// Returns AᵀB.
fn products(a: &[Row], b: &[Row]) -> Square {
    let mut sums = [[0.0; BLOCK]; BLOCK];
    let (a_chunks, b_chunks) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    // Four rows at a time, so that the sums are loaded and stored less often.
    for (a, b) in a_chunks.zip(b_chunks) {
        for (i, sum) in sums.iter_mut().enumerate() {
            for c in 0..BLOCK {
                sum[c] += (a[0][i] * b[0][c] + a[1][i] * b[1][c]) + (a[2][i] * b[2][c] + a[3][i] * b[3][c]);
            }
        }
    }
    for (a, b) in rest {
        for (x, sum) in a.iter().zip(&mut sums) {
            (0..BLOCK).for_each(|c| sum[c] += x * b[c]);
        }
    }
    sums
}

/// Replaces X by Q and returns R, where X = Q R (Gram–Schmidt). A column that depends on earlier ones becomes 0. `scale` limits
/// the length of a column before anything was removed from it.
fn orthonormalize(block: &mut Block, scale: f64) -> Square {
    let mut upper = [[0.0; BLOCK]; BLOCK];
    for c in 0..BLOCK {
        for _ in 0..2 {
            let mut sums = [0.0; BLOCK];
            block.iter().for_each(|row| (0..c).for_each(|i| sums[i] += row[i] * row[c]));
            block.iter_mut().for_each(|row| row[c] -= (0..c).map(|i| sums[i] * row[i]).sum::<f64>());
            (0..c).for_each(|i| upper[i][c] += sums[i]);
        }
        let length = length(block, c);
        let is_there = length > DEPENDENT * scale;
        upper[c][c] = if is_there { length } else { 0.0 };
        block.iter_mut().for_each(|row| row[c] = if is_there { row[c] / length } else { 0.0 });
    }
    upper
}

/// Returns the length of a column.
fn length(block: &[Row], c: usize) -> f64 {
    block.iter().map(|row| row[c] * row[c]).sum::<f64>().sqrt()
}

/// Puts random directions where a block has none. Others may exist that the start did not lead to; if not, a further
/// projection removes them.
fn fill(block: &mut Block, upper: &Square, random: &mut Xoshiro256PlusPlus) {
    for c in (0..BLOCK).filter(|&c| upper[c][c] == 0.0) {
        let scale = (block.len() as f64).sqrt().recip();
        block.iter_mut().for_each(|row| row[c] = scale * random.random_range(-1.0..1.0));
    }
}

/// Returns A B.
fn times(a: &Square, b: &Square) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..BLOCK).map(|k| a[i][k] * b[k][j]).sum()))
}

/// Computes A += B.
fn add(a: &mut Square, b: &Square) {
    a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += b);
}

/// Returns ‖M Mᵀ u − σ² u‖ of the vector with these coordinates in the last block, which is the part outside the basis.
fn remains(residual: &Square, last: &[f64]) -> f64 {
    let outside = |row: &Row| row.iter().zip(last).map(|(x, y)| x * y).sum::<f64>().powi(2);
    residual.iter().map(outside).sum::<f64>().sqrt()
}

/// Returns the projection of M Mᵀ as one matrix.
fn dense(projected: &[Vec<Square>]) -> Vec<f64> {
    let size = projected.len() * BLOCK;
    let mut matrix = vec![0.0; size * size];
    for (j, column) in projected.iter().enumerate() {
        for (i, square) in column.iter().enumerate() {
            for (a, row) in square.iter().enumerate() {
                for (c, &x) in row.iter().enumerate() {
                    // The halves of a diagonal block differ by rounding.
                    let x = if i == j { (x + square[c][a]) / 2.0 } else { x };
                    matrix[(i * BLOCK + a) * size + j * BLOCK + c] = x;
                    matrix[(j * BLOCK + c) * size + i * BLOCK + a] = x;
                }
            }
        }
    }
    matrix
}

/// Converts coordinates in the basis to vectors.
fn lift(basis: &[Block], squares: &[f64], vectors: &[Vec<f64>]) -> Singular {
    let there = squares.iter().zip(vectors).take_while(|(square, _)| **square > ZERO * squares[0]).count();
    let rows = basis[0].len();
    let transposed: Vec<Vec<f64>> =
        (0..basis.len() * BLOCK).map(|i| vectors[..there].iter().map(|vector| vector[i]).collect()).collect();
    let mut left = vec![0.0; rows * there];
    left.par_chunks_mut(64 * there.max(1)).enumerate().for_each(|(chunk, left)| {
        for (block, coordinates) in basis.iter().zip(transposed.chunks_exact(BLOCK)) {
            for (a, coordinates) in coordinates.iter().enumerate() {
                for (sums, row) in left.chunks_exact_mut(there).zip(&block[chunk * 64..]) {
                    sums.iter_mut().zip(coordinates).for_each(|(sum, x)| *sum += row[a] * x);
                }
            }
        }
    });
    Singular { values: squares[..there].iter().map(|square| square.sqrt()).collect(), left }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws sparse columns with larger entries in earlier rows.
    fn random_columns(rows: usize, columns: usize) -> Vec<Vec<(u32, f64)>> {
        let mut random = stream(2, "columns", (rows * columns) as u64);
        let column = |_| {
            let mut column = Vec::new();
            for row in 0..rows as u32 {
                if random.random_range(0..(row + 4)) < 4 {
                    column.push((row, random.random_range(-0.2..1.0)));
                }
            }
            column
        };
        (0..columns).map(column).collect()
    }

    /// Computes the result by a dense method for M Mᵀ.
    fn expected(rows: usize, columns: &[Vec<(u32, f64)>]) -> (Vec<f64>, Vec<f64>) {
        let mut gram = vec![0.0; rows * rows];
        for column in columns {
            for &(i, x) in column {
                column.iter().for_each(|&(j, y)| gram[i as usize * rows + j as usize] += x * y);
            }
        }
        (Tridiagonal::new(gram.clone(), rows).values(0).0, gram)
    }

    fn check(rows: usize, columns: Vec<Vec<(u32, f64)>>, count: usize, there: usize) {
        let (values, gram) = expected(rows, &columns);
        let found = singular_vectors(&Sparse::from_columns(rows, columns).unwrap(), count, &mut |_, _| ());
        assert_eq!((found.values.len(), found.left.len()), (there, rows * there));
        for (i, sigma) in found.values.iter().enumerate() {
            assert!((sigma * sigma - values[i]).abs() < 1e-12 * values[0], "{sigma}² is not {}", values[i]);
            let column = |i: usize| found.left.iter().skip(i).step_by(there);
            for j in 0..=i {
                let product: f64 = column(i).zip(column(j)).map(|(a, b)| a * b).sum();
                assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-11, "{i} {j}: {product}");
            }
            let u: Vec<f64> = column(i).copied().collect();
            let fault = gram
                .chunks_exact(rows)
                .zip(&u)
                .map(|(row, x)| (row.iter().zip(&u).map(|(a, b)| a * b).sum::<f64>() - sigma * sigma * x).powi(2));
            let fault = fault.sum::<f64>().sqrt();
            assert!(fault < 2.0 * TOLERANCE * values[0], "vector {i}: {fault}");
        }
    }

    #[test]
    fn a_dense_method_finds_the_same() {
        check(80, random_columns(80, 140), 20, 20);
        check(140, random_columns(140, 70), 50, 50);
        // All singular values, with fewer rows or columns than one block or a few blocks.
        check(5, random_columns(5, 30), 5, 5);
        check(40, random_columns(40, 90), 40, 40);
        check(30, random_columns(30, 7), 7, 7);
    }

    #[test]
    fn equal_values_are_all_found_and_zeros_left_out() {
        // Each of 60 words is in its own title.
        check(60, (0..60).map(|i| vec![(i, 1.0)]).collect(), 45, 45);
        // Two titles, repeated: rank 2.
        let pair = [vec![(0, 1.0), (1, 2.0)], vec![(3, 1.0)]];
        check(50, (0..100).map(|i| pair[i % 2].clone()).collect(), 10, 2);
        check(3, vec![vec![], vec![], vec![]], 2, 0);
    }

    #[test]
    fn the_basis_has_ever_more_of_the_matrix() {
        let matrix = Sparse::from_columns(200, random_columns(200, 300)).unwrap();
        let mut shares = Vec::new();
        singular_vectors(&matrix, 60, &mut |_, share| shares.push(share));
        assert!(shares.len() > 5 && shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        assert!(*shares.last().unwrap() <= 1.0);
    }
}
