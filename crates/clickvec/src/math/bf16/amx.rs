//! Products of tiles: AMX.

use super::super::gemm::{Job, Start};
use super::{Packed, Row, WIDE, ZERO};
use std::arch::asm;
use std::mem::MaybeUninit;

static ZEROS: [Row; WIDE] = [ZERO; WIDE];

/// Returns whether there is AMX with bf16, and the system lets this process use it.
pub(super) fn is_usable() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: the caller found xgetbv enabled.
        unsafe { _xgetbv(0) }
    }
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    const TILE_STATES: u64 = 0b11 << 17;
    const OSXSAVE: u32 = 1 << 27;
    const REQUEST_PERMISSION: libc::c_int = 0x1023;
    const TILE_DATA: libc::c_ulong = 18;
    // SAFETY: `enabled` needs xgetbv, which OSXSAVE says is enabled. The system call takes two numbers and touches no
    // memory of this process.
    unsafe {
        __cpuid_count(7, 0).edx & BF16_AND_TILE == BF16_AND_TILE
            && __cpuid(1).ecx & OSXSAVE != 0
            && enabled() & TILE_STATES == TILE_STATES
            && libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0
    }
}

/// # Safety
/// The job's pointers are good for its sizes, `left` and `right` are its packed factors, and the processor has AMX, whose use
/// is permitted.
pub(super) unsafe fn product(job: &Job, left: &[Row], right: &Packed) {
    // SAFETY: the caller's contract; configurations name no row or column beyond m and n.
    unsafe {
        let (tall, wide) = (job.m / 16, job.n / 16);
        for (rows, columns) in [(16, 16), (job.m % 16, 16), (16, job.n % 16), (job.m % 16, job.n % 16)] {
            let strips = if rows == 16 { 0..tall } else { tall..tall + usize::from(rows > 0) };
            let tiles = if columns == 16 { 0..wide } else { wide..wide + usize::from(columns > 0) };
            if strips.is_empty() || tiles.is_empty() {
                continue;
            }
            configure(rows, columns);
            for first in tiles.clone().step_by(WIDE) {
                let count = WIDE.min(tiles.end - first);
                for strip in strips.clone() {
                    panel(job, left, &right.rows, strip, first, (rows, columns, count));
                }
            }
        }
        asm!("tilerelease", options(nostack));
    }
}

/// Computes rows of C from 16·strip and columns from 16·first: `count` tiles of `rows` × `columns`. Six sums, one tile of A
/// and one of B fill all eight registers.
#[inline(always)]
unsafe fn panel(
    job: &Job,
    left: &[Row],
    right: &[Row],
    strip: usize,
    first: usize,
    (rows, columns, count): (usize, usize, usize),
) {
    let steps = job.k.div_ceil(32);
    let a = left[strip * steps * 16..].as_ptr();
    let b = right[first * steps * 16..].as_ptr();
    let mut added = MaybeUninit::<[Row; 16 * WIDE]>::uninit();
    // SAFETY: as `product`.
    unsafe {
        let c = job.c.add(strip * 16 * job.c_stride + first * 16);
        let (start, stride) = match job.start {
            Start::Zero => (ZEROS.as_ptr().cast::<f32>(), 0),
            Start::Product => (c.cast_const(), job.c_stride),
            Start::Rows { data, stride, of } => {
                let width = (count - 1) * 16 + columns;
                for i in 0..rows {
                    let row = data.add(*of.add(strip * 16 + i) as usize * stride + first * 16);
                    let into = added.as_mut_ptr().cast::<Row>().add(i * WIDE).cast::<f32>();
                    std::ptr::copy_nonoverlapping(row, into, width);
                }
                (added.as_ptr().cast(), WIDE * 16)
            }
        };
        // Sums are in tmm0 …, A in tmm6, B in tmm7. Sums begin with the values at `start`.
        macro_rules! tiles {
            ($($tile:literal)*) => {
                asm!(
                    $(concat!("tileloadd tmm", $tile, ", [{start} + {from}*1 + 64*", $tile, "]"),)*
                    "2:",
                    "tileloadd tmm6, [{a} + {line}*1]",
                    $(
                        concat!("tileloadd tmm7, [{b} + {line}*1 + 1024*", $tile, "]"),
                        concat!("tdpbf16ps tmm", $tile, ", tmm6, tmm7"),
                    )*
                    "add {a}, 1024",
                    "add {b}, {panel}",
                    "dec {steps}",
                    "jnz 2b",
                    $(concat!("tilestored [{c} + {to}*1 + 64*", $tile, "], tmm", $tile),)*
                    start = in(reg) start, from = in(reg) stride * 4,
                    a = inout(reg) a => _, b = inout(reg) b => _, line = in(reg) 64usize,
                    panel = in(reg) count * 1024, steps = inout(reg) steps => _,
                    c = in(reg) c, to = in(reg) job.c_stride * 4,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                )
            };
        }
        match count {
            1 => tiles!(0),
            2 => tiles!(0 1),
            3 => tiles!(0 1 2),
            4 => tiles!(0 1 2 3),
            5 => tiles!(0 1 2 3 4),
            _ => tiles!(0 1 2 3 4 5),
        }
    }
}

/// Sets the size of sums to `rows` × `columns`, until tilerelease.
unsafe fn configure(rows: usize, columns: usize) {
    #[repr(C, align(64))]
    struct Configuration {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
    }
    let (r, wide) = (rows as u8, 4 * columns as u16);
    let mut to = Configuration { palette: 1, start_row: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
    to.bytes[..8].copy_from_slice(&[wide, wide, wide, wide, wide, wide, 64, wide]);
    to.rows[..8].copy_from_slice(&[r, r, r, r, r, r, r, 16]);
    // SAFETY: 64 bytes as palette 1 has them; nothing else in this program uses tiles.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const to, options(nostack, readonly)) };
}
