//! A matrix of f32, row by row.

/// Rows × columns numbers, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

impl Matrix {
    /// All zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// From numbers that stand row by row.
    ///
    /// # Panics
    /// If `data` does not hold rows × columns numbers.
    pub fn from_vec(rows: usize, columns: usize, data: Vec<f32>) -> Matrix {
        assert_eq!(data.len(), rows * columns, "a {rows} × {columns} matrix");
        Matrix { rows, columns, data }
    }

    /// Makes this a zero matrix of another shape, keeping its memory.
    pub fn reset(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.columns = columns;
        self.data.clear();
        self.data.resize(rows * columns, 0.0);
    }

    /// Makes this a matrix of another shape with any numbers in it, keeping its memory.
    pub fn reshape(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.columns = columns;
        self.data.resize(rows * columns, 0.0);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.columns..][..self.columns]
    }

    /// One row, to write to.
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[row * self.columns..][..self.columns]
    }

    /// All numbers, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All numbers, row by row, to write to.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }
}
