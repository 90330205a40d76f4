//! Memory for numbers: it begins at a cache line, and large buffers use huge pages.

use std::fmt;
use std::panic::panic_any;

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;

use clickvec_tables::memory::NoRoom;

/// A cache line, which is also as long as the longest vector register. A load that does not begin at a line touches
/// two.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
struct Line([f32; LANES]);

const LANES: usize = 16;

/// From this many bytes on, memory consists of the system's own pages, which are zero and cost nothing until they are
/// touched.
const LARGE: usize = 8 << 20;

/// The payload of the panic when the system has no memory for a [`Buffer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size of the buffer in bytes.
    pub bytes: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NoRoom { what: "a table of numbers", bytes: Some(self.bytes as u64) }.fmt(f)
    }
}

/// Numbers in memory that begins at a cache line.
#[derive(Default)]
pub struct Buffer {
    memory: Memory,
    length: usize,
}

enum Memory {
    Heap(Vec<Line>),
    Pages(MmapMut),
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::Heap(Vec::new())
    }
}

impl Memory {
    fn zeros(lines: usize) -> Memory {
        match lines.checked_mul(size_of::<Line>()) {
            Some(bytes) if bytes >= LARGE => {
                // Like a `Vec`, this cannot go on without memory. Large sizes from outside are checked before (`memory`).
                let pages = MmapMut::map_anon(bytes).unwrap_or_else(|_| panic_any(OutOfMemory { bytes }));
                advise_huge_pages(&pages);
                Memory::Pages(pages)
            }
            _ => Memory::Heap(vec![Line::zeroed(); lines]),
        }
    }

    fn numbers(&self) -> &[f32] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice(lines),
            Memory::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice_mut(lines),
            Memory::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

impl Buffer {
    /// Creates a buffer of zeros.
    pub fn zeros(length: usize) -> Buffer {
        Buffer { memory: Memory::zeros(length.div_ceil(LANES)), length }
    }

    /// Creates an empty buffer with room for `length` numbers.
    pub fn with_capacity(length: usize) -> Buffer {
        Buffer { length: 0, ..Buffer::zeros(length) }
    }

    /// Makes the buffer this long. It keeps its numbers, and those after them may be anything.
    pub fn grow(&mut self, length: usize) {
        let room = self.memory.numbers().len();
        if length > room {
            let mut memory = Memory::zeros(length.max(2 * room).div_ceil(LANES));
            memory.numbers_mut()[..self.length].copy_from_slice(self);
            self.memory = memory;
        }
        self.length = length;
    }

    /// Makes the buffer this long and reuses its memory. The numbers in it may be anything.
    pub fn resize(&mut self, length: usize) {
        if length > self.memory.numbers().len() {
            // The contents need not be moved. Minibatches differ a little, so leave room for a larger one, which costs
            // nothing until it is used.
            self.memory = Memory::default();
            self.memory = Memory::zeros((length + length / 4).div_ceil(LANES));
        }
        self.length = length;
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        let mut copy = Buffer::zeros(self.length);
        copy.copy_from_slice(self);
        copy
    }
}

impl std::ops::Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory.numbers()[..self.length]
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory.numbers_mut()[..self.length]
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

/// Asks for huge pages, which must happen before anything is written. Rows of a table are read in no particular order,
/// and with 4 KiB pages each read would cost a walk through the page table. Systems without huge pages use small ones.
fn advise_huge_pages(pages: &MmapMut) {
    #[cfg(target_os = "linux")]
    let _ = pages.advise(memmap2::Advice::HugePage);
    #[cfg(not(target_os = "linux"))]
    let _ = pages;
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Buffer {
        fn grown(mut self, length: usize) -> Buffer {
            self.grow(length);
            self
        }
    }

    #[test]
    fn memory_that_is_not_there_is_told_by_a_payload_of_its_own() {
        for make in [|| Buffer::zeros(1 << 58), || Buffer::from(vec![1.0]).grown(1 << 58)] {
            let panic = std::panic::catch_unwind(make).unwrap_err();
            let lacking = panic.downcast_ref::<OutOfMemory>().unwrap();
            assert_eq!(lacking.bytes, 1 << 60);
            let told = "expected 1,099,511,627,776 MiB of memory for a table of numbers, found less; ask for less";
            assert_eq!(lacking.to_string(), told);
        }
    }

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
        let mut large = Buffer::from(vec![2.0; 3 << 20]);
        assert_eq!(large.clone(), large);
        large.grow(7 << 20);
        assert!(large[..3 << 20].iter().all(|&x| x == 2.0));
    }
}
