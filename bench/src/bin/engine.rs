//! How fast an index opens and answers, how many of the best titles its lists find, and what searches feel of compaction.
//!
//! cargo run --release -p clickvec-bench --bin engine -- INDEX QUERIES.txt [--count N] [--depth N] [--filter CONDITION]...
//!     [--exact] [--compact]
//!
//! `bench/make_titles.py` makes the titles, `clickvec index` the index. Times are of one thread, inside the process, once it has
//! answered each query: those that passed, and those of the processor, which other programs change less.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use clickvec_index::{Filter, Index, Mode, Part, Request, Timings, compact};

#[derive(Parser)]
struct Args {
    /// The index.
    index: PathBuf,
    /// Queries, one a line.
    queries: PathBuf,
    /// The number of queries, spread over the file.
    #[arg(long, default_value_t = 2000)]
    count: usize,
    /// A condition that titles must meet; may be repeated.
    #[arg(long)]
    filter: Vec<Filter>,
    /// The number of titles that each part finds for a fused search.
    #[arg(long)]
    depth: Option<usize>,
    /// Compare with an exact search of all vectors.
    #[arg(long)]
    exact: bool,
    /// Compact the index, and measure searches meanwhile.
    #[arg(long)]
    compact: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let text = std::fs::read_to_string(&args.queries).context("queries")?;
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!all.is_empty(), "expected queries, found none");
    let queries: Vec<&str> = (0..args.count).map(|n| all[n * all.len() / args.count.max(1)]).collect();

    let began = Instant::now();
    let engine = Index::open(&args.index)?;
    let opened = began.elapsed();
    engine.search(&Request::new(queries[0], Mode::Fused))?;
    println!("open {}  with the first answer {}", shown(opened), shown(began.elapsed()));
    println!("{}", serde_json::to_string(engine.facts())?);
    // Maps the pages of the files, as a service has after a while.
    queries.iter().try_for_each(|query| engine.search(&Request::new(*query, Mode::Fused)).map(drop))?;
    for mode in engine.modes() {
        let mut times = Times::default();
        queries.iter().try_for_each(|query| times.search(&engine, query, mode, &args))?;
        println!("{mode:8} {times}");
        println!("{:8} p50 of each step: {}", "", times.steps());
    }
    if args.exact {
        let (mut found, mut wanted) = (0, 0);
        for query in &queries {
            let exact = engine.search(&Request::new(*query, Part::Vectors).exactly())?.hits;
            let hits = engine.search(&Request::new(*query, Part::Vectors))?.hits;
            // What scores as much as the last of the best is as good.
            let Some(last) = exact.last().map(|hit| hit.score) else { continue };
            wanted += exact.len();
            found += hits.iter().filter(|hit| hit.score >= last).count();
        }
        println!("recall@10 {:.4} of {} queries", found as f64 / wanted.max(1) as f64, queries.len());
    }
    if args.compact {
        let done = AtomicBool::new(false);
        let compaction = || {
            let compacted = compact(&args.index);
            done.store(true, Ordering::Relaxed);
            compacted
        };
        std::thread::scope(|scope| -> Result<()> {
            let began = Instant::now();
            let compaction = scope.spawn(compaction);
            let mut times = Times::default();
            for query in queries.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                times.search(&engine, query, Mode::Fused, &args)?;
            }
            let compacted = compaction.join().expect("it does not panic")?;
            println!(
                "{:8} {times}  while {} segments became one in {}",
                Mode::Fused,
                compacted.segments,
                shown(began.elapsed())
            );
            Ok(())
        })?;
    }
    Ok(())
}

/// The times of searches: passed, and on the processor; and those of their steps.
#[derive(Default)]
struct Times([Vec<Duration>; 2], Vec<Timings>);

impl Times {
    fn search(&mut self, engine: &Index, query: &str, mode: Mode, args: &Args) -> Result<()> {
        let mut request = Request::new(query, mode).with_filters(args.filter.clone());
        request.depth = args.depth;
        let (began, used) = (Instant::now(), processor());
        let answer = engine.search(&request)?;
        self.0[0].push(began.elapsed());
        self.0[1].push(processor() - used);
        self.1.push(answer.timings);
        Ok(())
    }

    /// Returns the median of each step, which is not that of any one search.
    fn steps(&self) -> String {
        let median = |step: &dyn Fn(&Timings) -> Duration| {
            let mut times: Vec<Duration> = self.1.iter().map(step).collect();
            times.sort_unstable();
            shown(times.get(times.len() / 2).copied().unwrap_or_default())
        };
        let mut steps =
            vec![format!("encode {}", median(&|of| of.encode)), format!("filter {}", median(&|of| of.filter))];
        let part = |part: Part| format!("{part} {}", median(&|of| of.parts.get(part).copied().unwrap_or_default()));
        steps.extend(Part::ALL.map(part));
        steps.extend([format!("fuse {}", median(&|of| of.fuse)), format!("total {}", median(&|of| of.total))]);
        steps.join("  ")
    }
}

impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, times) in ["passed", "  processor"].iter().zip(&self.0) {
            let mut times = times.clone();
            times.sort_unstable();
            let at = |share: f64| shown(times[((times.len().max(1) - 1) as f64 * share) as usize]);
            write!(f, "{name} p50 {}  p90 {}  p99 {}  most {}", at(0.5), at(0.9), at(0.99), at(1.0))?;
        }
        write!(f, "  {} searches", self.0[0].len())
    }
}

/// The processor time of this thread.
fn processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn shown(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
