//! Memory for numbers: it begins at a cache line, and large tables lie in huge pages.
#![allow(unsafe_code, reason = "advice on memory takes a raw address")]

use bytemuck::{Pod, Zeroable};

/// What a processor reads at once. A vector register has as many bytes: a load that begins elsewhere
/// touches two lines.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
struct Line([f32; LANES]);

const LANES: usize = 16;

/// Numbers side by side, the first of them at the beginning of a cache line.
#[derive(Clone, Default)]
pub struct Buffer {
    lines: Vec<Line>,
    length: usize,
}

impl Buffer {
    /// So many zeros.
    pub fn zeros(length: usize) -> Buffer {
        let mut buffer = Buffer::default();
        buffer.resize(length);
        buffer
    }

    /// Empty, with room for so many numbers.
    pub fn with_capacity(length: usize) -> Buffer {
        let mut buffer = Buffer::default();
        buffer.reserve_anew(length.div_ceil(LANES));
        buffer.lines.clear();
        buffer
    }

    /// Makes the buffer this long; it keeps the numbers it has, and those behind them may be any.
    pub fn grow(&mut self, length: usize) {
        let lines = length.div_ceil(LANES);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line::zeroed());
        }
        self.length = length;
    }

    fn reserve_anew(&mut self, lines: usize) {
        // Zeros that the system hands out as they are first touched: nobody writes them.
        self.lines = bytemuck::zeroed_vec(lines);
        advise_huge_pages(&self.lines);
    }

    /// Makes the buffer this long, keeping its memory; the numbers in it may be any.
    pub fn resize(&mut self, length: usize) {
        let lines = length.div_ceil(LANES);
        if lines > self.lines.capacity() {
            // What is in it need not be moved.
            self.reserve_anew(lines);
        }
        self.grow(length);
    }
}

impl std::ops::Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.length]
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.length]
    }
}

impl AsRef<[f32]> for Buffer {
    fn as_ref(&self) -> &[f32] {
        self
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self[..] == other[..]
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(f)
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(numbers: Vec<f32>) -> Buffer {
        let mut buffer = Buffer::zeros(numbers.len());
        buffer.copy_from_slice(&numbers);
        buffer
    }
}

/// Asks for huge pages under memory that nothing was written to yet. Rows of a table are read in no
/// order, and each 4 KiB page of them would cost a walk through the page table.
fn advise_huge_pages(memory: &Vec<Line>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const LARGE: usize = 8 << 20;
        let bytes = memory.capacity() * size_of::<Line>();
        if bytes < LARGE {
            return;
        }
        let start = memory.as_ptr() as usize;
        let first = start.next_multiple_of(PAGE);
        let length = (start + bytes - first) / PAGE * PAGE;
        // SAFETY: whole pages inside one live allocation. The advice does not change what they hold, and
        // a refusal leaves them as they are.
        unsafe { libc::madvise(first as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_at_a_line_at_every_length() {
        let mut buffer = Buffer::default();
        for length in [0, 1, 16, 17, 5000, 3, 3 << 20] {
            buffer.resize(length);
            assert_eq!(buffer.len(), length);
            assert_eq!(buffer.as_ptr() as usize % 64, 0);
            buffer.fill(1.0);
        }
        let mut growing = Buffer::with_capacity(4);
        for i in 0..100 {
            growing.grow(i + 1);
            growing[i] = i as f32;
        }
        assert!(growing.iter().enumerate().all(|(i, &x)| x == i as f32));
        assert_eq!(Buffer::zeros(1000)[..], [0.0; 1000]);
        assert_eq!(Buffer::from(vec![1.0, 2.0])[..], [1.0, 2.0]);
        assert_ne!(Buffer::from(vec![1.0]), Buffer::from(vec![1.0, 0.0]));
    }
}
