//! A matrix of f32, row by row.

use super::buffer::Buffer;

/// Rows × columns numbers, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Buffer,
}

impl Matrix {
    /// Creates a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, data: Buffer::zeros(rows * columns) }
    }

    /// Creates a matrix of numbers given row by row.
    ///
    /// # Panics
    /// If `data` does not have rows × columns numbers.
    pub fn from_vec(rows: usize, columns: usize, data: Vec<f32>) -> Matrix {
        assert_eq!(data.len(), rows * columns, "a {rows} × {columns} matrix");
        Matrix { rows, columns, data: data.into() }
    }

    /// Makes this a zero matrix of another shape and reuses its memory.
    pub fn reset(&mut self, rows: usize, columns: usize) {
        self.reshape(rows, columns);
        self.data.fill(0.0);
    }

    /// Makes this a matrix of another shape and reuses its memory. The numbers in it may be anything.
    pub(crate) fn reshape(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.columns = columns;
        self.data.resize(rows * columns);
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.columns..][..self.columns]
    }

    /// Returns a row, to write to.
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[row * self.columns..][..self.columns]
    }

    /// Sets `out` to the transpose, row by row.
    pub(crate) fn transpose_into(&self, out: &mut Buffer) {
        transpose(&self.data, self.columns.max(1), out);
    }

    /// Returns all numbers, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Returns all numbers, row by row, to write to.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }
}

/// The number of rows and columns transposed together, so that their cache lines are used again while still near.
const TILE: usize = 8;

/// Sets `out` to the transpose of a matrix stored row by row, `columns` wide.
pub(crate) fn transpose(data: &[f32], columns: usize, out: &mut Buffer) {
    let rows = data.len() / columns;
    out.resize(data.len());
    let out = &mut out[..];
    for i in (0..rows).step_by(TILE) {
        for j in (0..columns).step_by(TILE) {
            if i + TILE <= rows && j + TILE <= columns {
                let tile: [&[f32; TILE]; TILE] = std::array::from_fn(|k| {
                    data[(i + k) * columns + j..].first_chunk().expect("a whole row of the tile")
                });
                for k in 0..TILE {
                    out[(j + k) * rows + i..][..TILE].copy_from_slice(&tile.map(|row| row[k]));
                }
            } else {
                for i in i..rows.min(i + TILE) {
                    for j in j..columns.min(j + TILE) {
                        out[j * rows + i] = data[i * columns + j];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose() {
        let mut out = Buffer::from(vec![9.0; 9]);
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, &mut out);
        assert_eq!(out[..], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        transpose(&[], 3, &mut out);
        assert!(out.is_empty());
        // Whole tiles and what is left of them.
        for (rows, columns) in [(8, 8), (1, 20), (17, 9), (16, 24), (31, 33)] {
            let data: Vec<f32> = (0..rows * columns).map(|x| x as f32).collect();
            transpose(&data, columns, &mut out);
            for (position, &x) in data.iter().enumerate() {
                assert_eq!(out[position % columns * rows + position / columns], x, "{rows} x {columns}");
            }
        }
    }
}
