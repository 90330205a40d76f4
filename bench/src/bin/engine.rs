//! How fast an index opens and answers, and how many of the best titles its lists find.
//!
//! cargo run --release -p clickvec-bench --bin engine -- INDEX QUERIES.txt [--queries N] [--exact]
//!
//! `bench/make_titles.py` makes the titles, `clickvec index` the index. Times are of one thread, inside the process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use clickvec::search::Searcher;
use clickvec_engine::{Engine, Mode, Request};

#[derive(Parser)]
struct Args {
    /// The index.
    index: PathBuf,
    /// Queries, one a line.
    queries: PathBuf,
    /// The number of queries, spread over the file.
    #[arg(long, default_value_t = 2000)]
    count: usize,
    /// Compare with an exact search of all vectors.
    #[arg(long)]
    exact: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let text = std::fs::read_to_string(&args.queries).context("queries")?;
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!all.is_empty(), "expected queries, found none");
    let queries: Vec<&str> = (0..args.count).map(|n| all[n * all.len() / args.count.max(1)]).collect();

    let began = Instant::now();
    let engine = Engine::open(&args.index)?;
    let opened = began.elapsed();
    engine.search(&Request::new(queries[0], Mode::Both))?;
    println!("open {}  with the first answer {}", shown(opened), shown(began.elapsed()));
    println!("{}", serde_json::to_string(engine.facts())?);
    for mode in Mode::ALL {
        let mut times = Vec::with_capacity(queries.len());
        for query in &queries {
            let began = Instant::now();
            engine.search(&Request::new(*query, mode))?;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| shown(times[((times.len() - 1) as f64 * share) as usize]);
        println!("{mode:8} p50 {}  p90 {}  p99 {}  most {}", at(0.5), at(0.9), at(0.99), at(1.0));
    }
    if args.exact {
        let searcher = Searcher::open(&args.index)?;
        let (mut found, mut wanted) = (0, 0);
        for query in &queries {
            let exact = searcher.search(query, 10)?;
            let hits = engine.search(&Request::new(*query, Mode::Vectors))?.hits;
            // What scores as much as the last of the best is as good.
            let Some(last) = exact.results().last().map(|found| found.score) else { continue };
            wanted += exact.results().len();
            found += hits.iter().filter(|hit| hit.score >= last).count();
        }
        println!("recall@10 {:.4} of {} queries", found as f64 / wanted.max(1) as f64, queries.len());
    }
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
