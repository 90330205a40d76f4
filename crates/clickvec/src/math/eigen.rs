//! All eigenvalues and some eigenvectors of a symmetric matrix (Golub and Van Loan, "Matrix computations", 4th
//! edition, 8.3): Householder reflections make it tridiagonal, and QR steps with Wilkinson's shift make that diagonal.

use rayon::prelude::*;

/// The number of eigenvector columns that are rotated together.
const PANEL: usize = 64;

/// The number of matrix rows that are worth a task.
const ROWS: usize = 64;

/// A limit that no matrix comes near, since a few steps find an eigenvalue.
const MAX_STEPS: usize = 64;

/// A symmetric matrix A = Q T Qᵀ with a tridiagonal T.
pub struct Tridiagonal {
    /// Q = H₀ H₁ …, where H_k acts on the coordinates from k + 1 on.
    reflections: Vec<Vec<f64>>,
    diagonal: Vec<f64>,
    /// The elements next to the diagonal.
    off: Vec<f64>,
}

impl Tridiagonal {
    /// Creates the tridiagonal form of `matrix`, n × n, row by row.
    pub fn new(mut matrix: Vec<f64>, n: usize) -> Tridiagonal {
        assert_eq!(matrix.len(), n * n);
        let reflections = tridiagonalize(&mut matrix, n);
        let diagonal = (0..n).map(|i| matrix[i * n + i]).collect();
        let off = (1..n).map(|i| matrix[i * n + i - 1]).collect();
        Tridiagonal { reflections, diagonal, off }
    }

    /// Returns the eigenvalues, largest first, and the last `count` coordinates of each eigenvector, which is far cheaper than
    /// whole vectors.
    pub fn values(&self, count: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let n = self.diagonal.len();
        // The columns are Qᵀ times the last unit vectors.
        let mut columns = vec![vec![0.0; n]; count.min(n)];
        for (i, column) in (n - columns.len()..).zip(&mut columns) {
            column[i] = 1.0;
            self.reflections.iter().enumerate().for_each(|(k, v)| reflect(v, &mut column[k + 1..]));
        }
        let width = columns.len().max(1);
        let mut panel = vec![0.0; n * width];
        for (position, column) in columns.iter().enumerate() {
            column.iter().enumerate().for_each(|(i, &x)| panel[i * width + position] = x);
        }
        let mut panels = [panel];
        let (values, order) = self.diagonalize(&mut panels, width);
        let ends = order.iter().map(|i| panels[0][i * width..i * width + columns.len()].to_vec()).collect();
        (values, ends)
    }

    /// Returns the eigenvectors of the `count` largest eigenvalues.
    pub fn vectors(&self, count: usize) -> Vec<Vec<f64>> {
        let n = self.diagonal.len();
        let identity = |panel: usize| {
            let mut rows = vec![0.0; n * PANEL];
            (panel * PANEL..n.min((panel + 1) * PANEL)).for_each(|i| rows[i * PANEL + i % PANEL] = 1.0);
            rows
        };
        let mut panels: Vec<Vec<f64>> = (0..n.div_ceil(PANEL)).map(identity).collect();
        let (_, order) = self.diagonalize(&mut panels, PANEL);
        let vector = |&i: &usize| {
            let row = panels.iter().flat_map(|panel| &panel[i * PANEL..(i + 1) * PANEL]);
            let mut vector: Vec<f64> = row.copied().take(n).collect();
            self.reflections.iter().enumerate().rev().for_each(|(k, v)| reflect(v, &mut vector[k + 1..]));
            vector
        };
        order[..count.min(n)].par_iter().map(vector).collect()
    }

    /// Makes T diagonal, and rotates the rows of `panels`, which are matrices of `width` columns, in the same way.
    /// Returns the eigenvalues, largest first, and the row of each.
    fn diagonalize(&self, panels: &mut [Vec<f64>], width: usize) -> (Vec<f64>, Vec<usize>) {
        let (mut diagonal, mut off) = (self.diagonal.clone(), self.off.clone());
        let n = diagonal.len();
        let norm = diagonal.iter().chain(&off).fold(0.0f64, |most, x| most.max(x.abs()));
        let tiny = f64::EPSILON * norm;
        let mut rotations = Vec::new();
        let (mut last, mut steps) = (n.saturating_sub(1), 0);
        while last > 0 {
            if off[last - 1].abs() <= tiny || steps == MAX_STEPS {
                off[last - 1] = 0.0;
                (last, steps) = (last - 1, 0);
                continue;
            }
            let first = (0..last - 1).rfind(|&i| off[i].abs() <= tiny).map_or(0, |i| i + 1);
            steps += 1;
            rotations.clear();
            qr_step(&mut diagonal, &mut off, first, last, &mut rotations);
            panels.par_iter_mut().for_each(|panel| rotate(panel, width, &rotations));
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]));
        (order.iter().map(|&i| diagonal[i]).collect(), order)
    }
}

/// Sets x ← x − 2 v (vᵀx), for a v of length 1 or 0.
fn reflect(v: &[f64], x: &mut [f64]) {
    let twice = 2.0 * dot(v, x);
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= twice * v);
}

/// Uses eight partial sums, because the compiler may not reorder a sum by itself.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Makes `a` tridiagonal by reflections A ← H A H. Reflection k changes rows and columns from k + 1 on.
fn tridiagonalize(a: &mut [f64], n: usize) -> Vec<Vec<f64>> {
    let mut reflections = Vec::with_capacity(n.saturating_sub(2));
    for k in 0..n.saturating_sub(2) {
        // The part of column k below the diagonal becomes a multiple of the first unit vector.
        let mut v: Vec<f64> = a[k * n + k + 1..(k + 1) * n].to_vec();
        let length = dot(&v, &v).sqrt();
        let target = -length.copysign(v[0]);
        v[0] -= target;
        let scale = dot(&v, &v).sqrt();
        if scale > 0.0 {
            v.iter_mut().for_each(|v| *v /= scale);
        }
        let trailing = &mut a[(k + 1) * n..];
        // A − 2 v pᵀ − 2 p vᵀ + 4 (vᵀp) v vᵀ with p = A v is A − 2 v wᵀ − 2 w vᵀ with w = p − (vᵀp) v.
        let mut w: Vec<f64> =
            trailing.par_chunks_exact(n).with_min_len(ROWS).map(|row| dot(&row[k + 1..], &v)).collect();
        let product = dot(&v, &w);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= product * v);
        trailing.par_chunks_exact_mut(n).with_min_len(ROWS).zip(&v).zip(&w).for_each(|((row, v_row), w_row)| {
            for ((a, v), w) in row[k + 1..].iter_mut().zip(&v).zip(&w) {
                *a -= 2.0 * (v_row * w + w_row * v);
            }
        });
        a[(k + 1) * n + k] = target;
        reflections.push(v);
    }
    reflections
}

/// Makes one implicit QR step on rows `first` to `last`. Records the rotations (k, c, s) of rows k and k + 1.
fn qr_step(d: &mut [f64], off: &mut [f64], first: usize, last: usize, rotations: &mut Vec<(usize, f64, f64)>) {
    // The eigenvalue of the last 2 × 2 block that is closer to its last entry.
    let half = (d[last - 1] - d[last]) / 2.0;
    let coupling = off[last - 1];
    let shift = d[last] - coupling / (half + half.hypot(coupling).copysign(half)) * coupling;
    let (mut x, mut bulge) = (d[first] - shift, off[first]);
    for k in first..last {
        let r = x.hypot(bulge);
        let (c, s) = if r > 0.0 { (x / r, bulge / r) } else { (1.0, 0.0) };
        if k > first {
            off[k - 1] = r;
        }
        let (a, b, e) = (d[k], d[k + 1], off[k]);
        d[k] = c * (c * a + s * e) + s * (c * e + s * b);
        d[k + 1] = s * (s * a - c * e) + c * (c * b - s * e);
        off[k] = c * (c * e - s * a) + s * (c * b - s * e);
        if k + 1 < last {
            bulge = s * off[k + 1];
            off[k + 1] *= c;
            x = off[k];
        }
        rotations.push((k, c, s));
    }
}

fn rotate(panel: &mut [f64], width: usize, rotations: &[(usize, f64, f64)]) {
    for &(k, c, s) in rotations {
        let (upper, lower) = panel[k * width..(k + 2) * width].split_at_mut(width);
        for (x, y) in upper.iter_mut().zip(lower) {
            (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt as _;

    fn check(matrix: &[f64], n: usize) -> Vec<f64> {
        let tridiagonal = Tridiagonal::new(matrix.to_vec(), n);
        let ((values, ends), vectors) = (tridiagonal.values(2), tridiagonal.vectors(n));
        assert_eq!((values.len(), ends.len(), vectors.len()), (n, n, n));
        for (vector, end) in vectors.iter().zip(&ends) {
            // Both come from the same rotations.
            let same = vector[n - end.len()..].iter().zip(end).all(|(x, y)| (x - y).abs() < 1e-13 * n as f64);
            assert!(same && end.len() == n.min(2), "{end:?} of {vector:?}");
        }
        let norm = matrix.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}");
        for (i, vector) in vectors.iter().enumerate() {
            let image = matrix.chunks_exact(n).map(|row| dot(row, vector));
            let fault: f64 = image.zip(vector).map(|(image, x)| (image - values[i] * x).powi(2)).sum();
            assert!(fault.sqrt() < 1e-13 * norm * n as f64, "vector {i} of {n}: {fault}");
            for (j, other) in vectors[..=i].iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(vector, other) - expected).abs() < 1e-13 * n as f64, "vectors {i} and {j} of {n}");
            }
        }
        values
    }

    #[test]
    fn known_eigenvalues() {
        let close = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            found.iter().zip(expected).for_each(|(found, x)| assert!((found - x).abs() < 1e-14, "{found} {x}"));
        };
        close(check(&[3.0], 1), &[3.0]);
        close(check(&[2.0, 1.0, 1.0, 2.0], 2), &[3.0, 1.0]);
        close(check(&[0.0; 9], 3), &[0.0; 3]);
        close(check(&[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -1.0], 3), &[2.0, 1.0, -1.0]);
        // All ones: one eigenvalue is the number of rows, the others are 0.
        let values = check(&[1.0; 25], 5);
        close(values, &[5.0, 0.0, 0.0, 0.0, 0.0]);
        let empty = Tridiagonal::new(Vec::new(), 0);
        assert!(empty.values(3).0.is_empty() && empty.vectors(3).is_empty());
    }

    #[test]
    fn random_matrices_of_all_sizes() {
        for n in [2usize, 3, 4, 7, 30, 64, 65, 130] {
            let mut random = stream(1, "eigen", n as u64);
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    // Some of the entries are 0.
                    let x: f64 = random.random_range(-1.0..1.0);
                    let x = if x > 0.5 { 0.0 } else { x * 10f64.powi((i % 7) as i32 - 3) };
                    (matrix[i * n + j], matrix[j * n + i]) = (x, x);
                }
            }
            let values = check(&matrix, n);
            let trace: f64 = (0..n).map(|i| matrix[i * n + i]).sum();
            let squares: f64 = matrix.iter().map(|x| x * x).sum();
            assert!((values.iter().sum::<f64>() - trace).abs() < 1e-12 * squares.sqrt() * n as f64);
            assert!((values.iter().map(|x| x * x).sum::<f64>() / squares - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn only_as_many_vectors_as_are_asked_for() {
        let matrix = Tridiagonal::new(vec![2.0, 1.0, 1.0, 2.0], 2);
        let count = |count: usize| (matrix.values(count).1[0].len(), matrix.vectors(count).len());
        assert_eq!([0, 1, 2, 5].map(count), [(0, 0), (1, 1), (2, 2), (2, 2)]);
    }
}
