//! How fast a click log is read and hashed: `cargo run --release -p clickvec-bench --bin reading -- LOG.tsv [RUNS]`
//!
//! On one thread. The first line is the table alone, without looking at its words; the second is everything that
//! `train` does before its first minibatch.

use std::path::PathBuf;

use clickvec::internals::clicks::{ClickLog, ClickReader, Storage};
use clickvec::tables::TITLE;
use clickvec::train::{ClickSource, TrainConfig, Weighting};
use clickvec_bench::{median, seconds};

#[allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
fn main() -> clickvec::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().expect("expected a click log: reading LOG.tsv [RUNS]"));
    let runs = arguments.next().map_or(5, |runs| runs.to_string_lossy().parse().expect("expected a number of runs"));
    // Sorting is parallel, so limit the threads to count all of its time.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    let beside = std::env::temp_dir();
    let config = TrainConfig { max_trigrams: 1 << 20, ..TrainConfig::default() };

    let (mut table, mut all, mut pairs) = (Vec::new(), Vec::new(), 0);
    for _ in 0..runs {
        table.push(seconds(|| pairs = rows(&path).expect("readable")));
        all.push(seconds(|| {
            drop(ClickLog::read(ClickSource::file(&path), Storage::Folder(&beside), &config).expect("a log"))
        }));
    }
    for (what, times) in [("table", &mut table), ("table, words, trigrams, sorted pairs", &mut all)] {
        let time = median(times);
        println!("{what}: {time:.3} s, {:.0} pairs/s per core", pairs as f64 / time);
    }
    Ok(())
}

/// The number of rows of a table.
fn rows(path: &std::path::Path) -> clickvec::Result<u64> {
    let mut reader = ClickReader::open(path, TITLE, Weighting::Log)?;
    let mut rows = 0;
    while reader.next()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}
