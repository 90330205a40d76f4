//! How fast this machine is at what training needs: products of the LSTM's shapes, and memory.
//!
//!     cargo run --release -p clickvec-bench --features gemm --bin roofline [-- --json] [--threads N]
//!
//! Prints Markdown tables (or one JSON object). Products of `clickvec::internals::math::gemm` are compared with the `gemm` crate
//! (left out without the feature), also with more threads, each on its own matrices. Bytes are read, written, copied,
//! and read row by row in random order, from arrays that fit the second-level cache and from larger ones. The figures
//! are medians of alternating runs. Leave the machine alone meanwhile. `CLICKVEC_LEVEL` lowers the level of our own
//! products only.
#![allow(unsafe_code, reason = "the crate beside which we measure takes pointers; reading needs the widest vectors")]

use clickvec::internals::math::gemm::{Left, gemm_into};
use clickvec::internals::math::{Buffer, Level};
use clickvec_bench::median;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The rows and columns of the result, the length of the sums, and whether the left factor is transposed: the
/// recurrent product of an LSTM with 96 cells over 64 … 1,024 texts, the backward pass, the weights' gradient, the recurrent
/// product of an RNN with 288 units, and one query.
const SHAPES: [(usize, usize, usize, bool); 8] = [
    (64, 288, 96, false),
    (128, 288, 96, false),
    (1024, 288, 96, false),
    (128, 96, 288, false),
    (1024, 96, 288, false),
    (96, 288, 512, true),
    (128, 288, 288, false),
    (1, 288, 96, false),
];
const MIB: usize = 1 << 20;
/// Sizes of arrays in MiB: one that fits the second-level cache, one as large as a model, and one larger than any
/// cache.
const ARRAYS: [usize; 3] = [1, 256, 1024];
/// The number of values in a row of the LSTM's input table.
const ROW: usize = 288;
/// The number of measurements of each kind, and the duration of one.
const RUNS: usize = 5;
const RUN: Duration = Duration::from_millis(40);
/// The number of times that both kinds of product are measured.
const TURNS: usize = 3;

fn main() -> Result<(), String> {
    let mut threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let mut as_json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.len()) {
            ("--json", _) => as_json = true,
            ("--threads", 1..) => {
                let value = arguments.next().unwrap_or_default();
                threads = value.parse().ok().filter(|n| *n > 0).ok_or(format!("expected threads, found `{value}`"))?;
            }
            (other, _) => return Err(format!("expected `--json` or `--threads N`, found `{other}`")),
        }
    }
    let counts = if threads > 1 { vec![1, threads] } else { vec![1] };
    let products: Vec<Product> = SHAPES.into_iter().map(|shape| product(shape, &counts)).collect();
    let peaks: Vec<f64> = counts.iter().map(|&count| fused_multiply_adds(count)).collect();
    let memory = memory(&counts);
    if as_json {
        println!("{}", json(&counts, &products, &peaks, &memory))
    } else {
        print!("{}", markdown(&counts, &products, &peaks, &memory))
    }
    Ok(())
}

/// GFLOP/s at one shape.
struct Product {
    shape: (usize, usize, usize, bool),
    /// The rate of clickvec, for each number of threads.
    own: Vec<f64>,
    /// The rate of the `gemm` crate with one thread, if it was compiled in.
    library: Option<f64>,
}

/// GB/s over one array in each thread.
struct Memory {
    mib: usize,
    threads: usize,
    /// Read, written, copied (counting both), and read in random rows.
    rates: [f64; 4],
}

impl Product {
    fn name(&self) -> String {
        let (m, n, k, transposed) = self.shape;
        format!("{m}×{n}×{k}{}", if transposed { ", left transposed" } else { "" })
    }
}

/// Runs `work`, made by `make` in each thread, for `RUN`, `RUNS` times. Returns what all threads did together in units
/// a second, where a call of `work` does `units`.
fn rate<W: FnMut()>(threads: usize, units: f64, make: impl Fn() -> W + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let measure = || {
        let mut work = make();
        work();
        let start = Instant::now();
        work();
        // The same number of calls in every run, so that no clock is read between calls.
        let calls = (RUN.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-9)).clamp(1.0, 1e7) as usize;
        let runs = (0..RUNS).map(|_| {
            barrier.wait();
            let start = Instant::now();
            for _ in 0..calls {
                work();
            }
            calls as f64 * units / start.elapsed().as_secs_f64()
        });
        runs.collect::<Vec<f64>>()
    };
    let each: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(measure)).collect();
        handles.into_iter().map(|handle| handle.join().expect("a measurement")).collect()
    });
    let mut sums: Vec<f64> = (0..RUNS).map(|run| each.iter().map(|runs| runs[run]).sum()).collect();
    median(&mut sums)
}

fn product(shape: (usize, usize, usize, bool), counts: &[usize]) -> Product {
    let (m, n, k, transposed) = shape;
    let flops = (2 * m * n * k) as f64 / 1e9;
    let own = |threads| {
        rate(threads, flops, || {
            let (a, b, mut c) = matrices(m, n, k);
            move || {
                let left = if transposed { Left::transposed(&a, m) } else { Left::rows(&a, k) };
                gemm_into((m, n, k), left, (&b, n), (black_box(&mut c), n));
            }
        })
    };
    // Alternate, because the processor's clock may drift.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        ours.push(own(1));
        #[cfg(feature = "gemm")]
        theirs.push(rate(1, flops, || {
            let (a, b, mut c) = matrices(m, n, k);
            move || by_library((m, n, k), transposed, &a, &b, black_box(&mut c))
        }));
    }
    let library = (!theirs.is_empty()).then(|| median(&mut theirs));
    let more = counts[1..].iter().map(|&threads| own(threads));
    Product { shape, own: std::iter::once(median(&mut ours)).chain(more).collect(), library }
}

fn matrices(m: usize, n: usize, k: usize) -> (Buffer, Buffer, Buffer) {
    let numbers = |count: usize| (0..count).map(|i| (i % 97) as f32 / 97.0 - 0.5).collect::<Vec<f32>>();
    (numbers(m * k).into(), numbers(k * n).into(), Buffer::zeros(m * n))
}

#[cfg(feature = "gemm")]
fn by_library((m, n, k): (usize, usize, usize), transposed: bool, a: &[f32], b: &[f32], c: &mut [f32]) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    let (row, column) = if transposed { (1, m as isize) } else { (k as isize, 1) };
    // SAFETY: the strides reach the m × k, k × n and m × n numbers of the slices, as asserted, and no further.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            column,
            row,
            b.as_ptr(),
            1,
            n as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}

/// GFLOP/s of fused multiply-adds that stay in registers, which no product can exceed.
fn fused_multiply_adds(threads: usize) -> f64 {
    const TIMES: usize = 10_000;
    // 16 vectors of the widest kind available.
    let flops = (2 * 16 * 16 * TIMES) as f64 / 1e9;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was found.
        return rate(threads, flops, || || unsafe { chains_avx512(TIMES) });
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features were found. Eight vectors at a time: there are 16 registers.
        return rate(threads, flops / 4.0, || || unsafe { chains_avx2(TIMES) });
    }
    rate(threads, flops / 8.0, || || chains::<32>(TIMES))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn chains_avx512(times: usize) {
    chains::<256>(times);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn chains_avx2(times: usize) {
    chains::<64>(times);
}

#[inline(always)]
fn chains<const N: usize>(times: usize) {
    let (factor, addend) = (black_box(0.999f32), black_box(0.001f32));
    let mut sums = [0.5f32; N];
    for _ in 0..times {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, addend);
        }
    }
    black_box(&sums);
}

fn memory(counts: &[usize]) -> Vec<Memory> {
    let mut all = Vec::new();
    for mib in ARRAYS {
        for &threads in counts {
            let numbers = mib * MIB / 4;
            let gigabytes = (numbers * 4) as f64 / 1e9;
            let read = rate(threads, gigabytes, || {
                let array = vec![1u32; numbers];
                move || {
                    black_box(sum(black_box(&array)));
                }
            });
            let written = rate(threads, gigabytes, || {
                let mut array = vec![1u32; numbers];
                let mut value = 1;
                move || {
                    value += 1;
                    black_box(&mut array).fill(value);
                }
            });
            let copied = rate(threads, gigabytes, || {
                let (from, mut to) = (vec![1u32; numbers / 2], vec![2u32; numbers / 2]);
                move || black_box(&mut to).copy_from_slice(black_box(&from))
            });
            let rows = numbers / ROW;
            let gathered = rate(threads, (rows * ROW * 4) as f64 / 1e9, || {
                let array = vec![1u32; numbers];
                let order = shuffled(rows);
                move || {
                    let row = |&row: &u32| sum(&array[row as usize * ROW..][..ROW]);
                    black_box(black_box(&order).iter().map(row).fold(0, u32::wrapping_add));
                }
            });
            all.push(Memory { mib, threads, rates: [read, written, copied, gathered] });
        }
    }
    all
}

fn shuffled(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut state = 1u64;
    for i in (1..count).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    order
}

fn sum(array: &[u32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was found.
        return unsafe { sum_avx512(array) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was found.
        return unsafe { sum_avx2(array) };
    }
    sum_body(array)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sum_avx512(array: &[u32]) -> u32 {
    sum_body(array)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(array: &[u32]) -> u32 {
    sum_body(array)
}

/// Integers may be summed in any order, so the compiler uses all available vectors.
#[inline(always)]
fn sum_body(array: &[u32]) -> u32 {
    array.iter().fold(0, |sum, &x| sum.wrapping_add(x))
}

fn markdown(counts: &[usize], products: &[Product], peaks: &[f64], memory: &[Memory]) -> String {
    let mut out = format!("clickvec's level: {}\n\n", Level::current().name());
    let more: String = counts[1..].iter().map(|threads| format!(" clickvec, {threads} threads |")).collect();
    let _ = writeln!(out, "| product, GFLOP/s | clickvec | `gemm` 0.19 | ratio |{more}");
    let _ = writeln!(out, "| --- | ---: | ---: | ---: |{}", " ---: |".repeat(counts.len() - 1));
    for product in products {
        let more: String = product.own[1..].iter().map(|rate| format!(" {rate:.0} |")).collect();
        let own = product.own[0];
        let beside = product.library.map_or("– | –".to_owned(), |rate| format!("{rate:.0} | {:.2}", own / rate));
        let _ = writeln!(out, "| {} | {own:.0} | {beside} |{more}", product.name());
    }
    let more: String = peaks[1..].iter().map(|rate| format!(" {rate:.0} |")).collect();
    let _ = writeln!(out, "| fused multiply-adds in registers | {:.0} | | |{more}", peaks[0]);
    let _ = writeln!(out, "\n| array a thread | threads | read, GB/s | written | copied, both ways | rows of {ROW} |");
    let _ = writeln!(out, "| ---: | ---: | ---: | ---: | ---: | ---: |");
    for Memory { mib, threads, rates: [read, written, copied, rows] } in memory {
        let _ = writeln!(out, "| {mib} MiB | {threads} | {read:.1} | {written:.1} | {copied:.1} | {rows:.1} |");
    }
    out
}

fn json(counts: &[usize], products: &[Product], peaks: &[f64], memory: &[Memory]) -> String {
    let products: Vec<String> = products
        .iter()
        .map(|p| {
            let library = p.library.map_or("null".to_owned(), |rate| format!("{rate:.2}"));
            format!(r#"{{"shape":"{}","own":{:.2?},"gemm":{library}}}"#, p.name(), p.own)
        })
        .collect();
    let memory: Vec<String> = memory
        .iter()
        .map(|m| {
            let [read, written, copied, rows] = m.rates;
            format!(
                r#"{{"mib":{},"threads":{},"read":{read:.2},"written":{written:.2},"copied":{copied:.2},"rows":{rows:.2}}}"#,
                m.mib, m.threads
            )
        })
        .collect();
    format!(
        r#"{{"level":"{}","threads":{counts:?},"products":[{}],"fused_multiply_adds":{peaks:.2?},"memory":[{}]}}"#,
        Level::current().name(),
        products.join(","),
        memory.join(",")
    )
}
