//! Exact search: comparison of the float scan, codes, and batches.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use clickvec::index::{FlatIndex, Hit, QuantizedIndex, SearchScratch};
use clickvec::internals::math::Level;
use clickvec::model::Side;
use clickvec::tables::{TITLE, read_titles};
use clickvec::train::ClickSource;
use clickvec::train::TrainConfig;
use clickvec::train::{Event, TrainOptions, train};
use clickvec_bench::{median, quantile, seconds};
use rustix::time::{ClockId, clock_gettime};

/// The number of queries that one way of searching answers before the next one's turn.
const TURN: usize = 16;
/// The largest batch. Each batch size answers this many queries in a round.
const LARGEST_BATCH: usize = 64;

/// Measures how fast exact search is, and whether it finds what the float scan finds.
///
/// Trains a model on the click log (the program's defaults), embeds titles and queries, and repeats the titles'
/// vectors up to `--vectors`: the first time as they are, and then with Gaussian noise of length `--noise` from a
/// fixed seed. Ways of searching, including batches, take turns in one process and one thread. Processor time is
/// printed as well as wall time, since other programs on the same core do not count in it. Pin the program to a core
/// (taskset -c 1) and leave the machine alone.
#[derive(Parser)]
struct Args {
    /// The click log to train on: columns query and title.
    #[arg(long)]
    clicks: PathBuf,

    /// The titles to search: columns id and title.
    #[arg(long)]
    titles: PathBuf,

    /// The queries, one a line.
    #[arg(long)]
    queries: PathBuf,

    /// The size of the largest index; a tenth and a hundredth of it are measured too.
    #[arg(long, default_value_t = 1_000_000)]
    vectors: usize,

    /// The length of the noise, relative to vectors of length 1.
    #[arg(long, default_value_t = 0.1)]
    noise: f64,

    /// The number of queries for each index, evenly picked.
    #[arg(long, default_value_t = 512)]
    asked: usize,

    /// The number of hits of a query.
    #[arg(long, short, default_value_t = 10)]
    k: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let (titles, queries) = embed(&args)?;
    ensure!(queries.rows() >= LARGEST_BATCH, "expected {LARGEST_BATCH} queries or more, found {}", queries.rows());
    let step = (queries.rows() / args.asked).max(1);
    let picked = queries.numbers.chunks_exact(queries.dimension).step_by(step).take(args.asked);
    let queries = Vectors { dimension: queries.dimension, numbers: picked.flatten().copied().collect() };
    println!(
        "{} titles, {} queries, {} numbers a vector, noise {}, k = {}, {}",
        titles.rows(),
        queries.rows(),
        titles.dimension,
        args.noise,
        args.k,
        Level::current().name()
    );
    for vectors in [args.vectors / 100, args.vectors / 10, args.vectors] {
        measure(repeated(&titles, vectors, args.noise), &queries, args.k)?;
    }
    Ok(())
}

/// Vectors [rows, dimension].
struct Vectors {
    dimension: usize,
    numbers: Vec<f32>,
}

impl Vectors {
    fn rows(&self) -> usize {
        self.numbers.len() / self.dimension
    }
}

/// Embeds titles and queries with a model trained for this. Texts of which it knows no word are left out.
fn embed(args: &Args) -> Result<(Vectors, Vectors)> {
    let go_on = &mut |_: &Event| ControlFlow::Continue(());
    let clicks = ClickSource::file(&args.clicks);
    let outcome = train(&TrainConfig::default(), clicks, TrainOptions::default(), go_on)?;
    let model = outcome.finished().context("nobody breaks off")?;
    let titles: Vec<String> = read_titles(&args.titles, TITLE)?.titles.into_iter().map(|title| title.title).collect();
    let queries = std::fs::read_to_string(&args.queries).with_context(|| args.queries.display().to_string())?;
    let queries: Vec<&str> = queries.lines().collect();
    let dimension = model.dimension();
    let known = |vectors: Vec<f32>| -> Result<Vectors> {
        let known = vectors.chunks_exact(dimension).filter(|vector| vector.iter().any(|&x| x != 0.0));
        let unit = FlatIndex::new(dimension, known.flatten().copied().collect())?;
        Ok(Vectors { dimension, numbers: unit.vectors().to_vec() })
    };
    Ok((known(model.embedder(Side::Title).embed(&titles))?, known(model.embedder(Side::Query).embed(&queries))?))
}

/// `count` vectors: those of the table over and over, with noise after the first time.
fn repeated(table: &Vectors, count: usize, noise: f64) -> Vectors {
    let deviation = noise / (table.dimension as f64).sqrt();
    let mut normal = Normal(1);
    let first = table.numbers.len();
    let number = |(i, &x): (usize, &f32)| if i < first { x } else { x + (deviation * normal.draw()) as f32 };
    let numbers = table.numbers.iter().cycle().take(count * table.dimension).enumerate().map(number).collect();
    Vectors { dimension: table.dimension, numbers }
}

/// Numbers with mean 0 and variance 1: the sum of twelve uniform numbers.
struct Normal(u64);

impl Normal {
    fn draw(&mut self) -> f64 {
        let mut even = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| even()).sum::<f64>() - 6.0
    }
}

/// The processor seconds of this thread.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// From queries [m, dimension] to the hits of each.
type Search<'a> = Box<dyn FnMut(&[f32]) -> Result<Vec<Vec<Hit>>> + 'a>;

/// A way of searching, and the milliseconds of each of its queries.
struct Way<'a> {
    name: String,
    search: Search<'a>,
    /// The number of queries asked at once.
    batch: usize,
    /// The bytes that one question reads at least.
    bytes: usize,
    milliseconds: Vec<f64>,
    /// The same in processor time.
    own_milliseconds: Vec<f64>,
    hits: Vec<Vec<Hit>>,
}

fn measure(vectors: Vectors, queries: &Vectors, k: usize) -> Result<()> {
    let (d, n) = (vectors.dimension, vectors.rows());
    let flat = FlatIndex::new(d, vectors.numbers)?;
    let mut index = None;
    let building = seconds(|| index = Some(QuantizedIndex::new(flat)));
    let index = index.context("an index")?;
    let (floats, codes) = (4 * n * d, n * (d.next_multiple_of(8) / 2 + 4));
    let mut scratches = [SearchScratch::default(), SearchScratch::default()];
    let [first, second] = &mut scratches;
    let flat = index.flat().expect("it was made of floats");
    let way = |name: &str, batch, bytes, search| Way {
        name: name.to_owned(),
        search,
        batch,
        bytes,
        milliseconds: Vec::new(),
        own_milliseconds: Vec::new(),
        hits: Vec::new(),
    };
    let mut ways: Vec<Way<'_>> = vec![
        way("floats", 1, floats, Box::new(|query| Ok(vec![flat.search(query, k, first)?.to_vec()]))),
        way("codes", 1, codes, Box::new(|query| Ok(vec![index.search(query, k, second)?.to_vec()]))),
    ];
    for batch in [8, LARGEST_BATCH] {
        let (products, shared) = (format!("floats, {batch} at once"), format!("codes, {batch} at once"));
        ways.push(way(&products, batch, floats, Box::new(|queries| Ok(flat.search_batch(queries, k)?))));
        ways.push(way(&shared, batch, codes, Box::new(|queries| Ok(index.search_batch(queries, k)?))));
    }
    let mut bandwidth = Vec::new();
    for round in queries.numbers.chunks(LARGEST_BATCH * d) {
        bandwidth.push(
            floats as f64
                / 1e9
                / seconds(|| {
                    black_box(sum(flat.vectors()));
                }),
        );
        for way in &mut ways {
            for turn in round.chunks(TURN.max(way.batch) * d) {
                for questions in turn.chunks(way.batch * d) {
                    let mut hits = Ok(Vec::new());
                    let before = processor_time();
                    let time = seconds(|| hits = (way.search)(questions));
                    // The last batch may be smaller. Its hits count, but not its time.
                    if questions.len() == way.batch * d {
                        way.milliseconds.push(1e3 * time / way.batch as f64);
                        way.own_milliseconds.push(1e3 * (processor_time() - before) / way.batch as f64);
                    }
                    way.hits.append(&mut hits?);
                }
            }
        }
    }
    let read = median(&mut bandwidth);
    println!("\n{n} vectors; codes made in {building:.2} s; memory is read at {read:.1} GB/s");
    println!("{:<20}{:>9}{:>9}{:>9}{:>9}", "", "passing", "ms", "own", "ms");
    println!(
        "{:<20}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}{:>12}",
        "a query", "p50", "p95", "p50", "p95", "faster", "GB/s", "same hits"
    );
    let (slowest, oracle) = (median(&mut ways[0].own_milliseconds.clone()), ways[0].hits.clone());
    for way in &mut ways {
        let same = way.hits.iter().zip(&oracle).filter(|(found, expected)| found == expected).count();
        let [p50, p95] = [0.5, 0.95].map(|share| quantile(&mut way.milliseconds, share));
        let [own50, own95] = [0.5, 0.95].map(|share| quantile(&mut way.own_milliseconds, share));
        let speed = way.bytes as f64 / 1e6 / (own50 * way.batch as f64);
        let (name, faster, same) = (&way.name, slowest / own50, format!("{same}/{}", oracle.len()));
        println!("{name:<20}{p50:>9.3}{p95:>9.3}{own50:>9.3}{own95:>9.3}{faster:>9.1}{speed:>8.1}{same:>12}");
    }
    Ok(())
}

/// Reads every number and does as little as possible with it.
fn sum(numbers: &[f32]) -> u32 {
    // As many partial sums as plain x86-64 keeps in registers.
    let mut sums = [0u32; 32];
    for numbers in numbers.as_chunks::<32>().0 {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum ^= number.to_bits();
        }
    }
    sums.iter().fold(0, |all, &sum| all ^ sum)
}
