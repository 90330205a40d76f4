//! Rankers: how long training takes, and how many titles are scored in a second.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Parser;
use clickvec::internals::clicks::ClickReader;
use clickvec::tables::{TITLE, read_titles};
use clickvec::train::Weighting;
use clickvec_eval::ranker::{Corpus, Ranker, RankerSpec, Resources, System};
use clickvec_eval::{Judgments, TestSetFiles, read_test_set};
use clickvec_lab::SYSTEMS;
use rustix::time::{ClockId, clock_gettime};

/// The default rankers: every system that learns from titles and clicks alone.
const RANKERS: [&str; 12] =
    ["bm25", "ulm", "mrf", "trigram", "lce", "wtm", "ptm", "lsa", "plsa", "lda", "bltm", "doc2vec"];
/// Scoring is repeated until it has taken this many seconds of processor time.
const LEAST_SECONDS: f64 = 1.0;

/// How long rankers train, and how many judged titles they score in a second.
///
/// Times are processor times, so other programs on the same cores do not count: of all threads together for training,
/// and of the scoring thread for scoring. Wall time is printed too.
#[derive(Parser)]
struct Args {
    /// Columns query, title and grade.
    #[arg(long)]
    judged: PathBuf,

    /// Columns query and title.
    #[arg(long)]
    clicks: PathBuf,

    /// Columns id and title.
    #[arg(long)]
    titles: PathBuf,

    /// Rankers, as in `clickvec lab table --ranker` [default: all that need nothing else].
    #[arg(long = "ranker")]
    rankers: Vec<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let files = TestSetFiles { judged: &args.judged, topics: None, titles: None, field: TITLE };
    let judgments = read_test_set(&files)?.judgments;
    let (corpus, titles, clicks) = corpus(&args, &judgments)?;
    let pairs: usize = judgments.queries.iter().map(|query| query.titles.len()).sum();
    println!(
        "{titles} titles, {clicks} clicked pairs, {} queries with {pairs} judged titles, {} threads\n",
        judgments.queries.len(),
        rayon::current_num_threads()
    );
    println!("| ranker | training, CPU s | passed, s | scored, pairs/s |\n| --- | ---: | ---: | ---: |");
    let named = args.rankers.iter().map(String::as_str);
    let all: Vec<&str> = if args.rankers.is_empty() { RANKERS.to_vec() } else { named.collect() };
    for name in all {
        let spec: RankerSpec = name.parse().with_context(|| format!("`{name}`"))?;
        let system = System::named(&spec.name, &SYSTEMS)?;
        let values = system.values(&spec)?;
        let resources = Resources::from(&corpus);
        let (began, before) = (Instant::now(), processor_seconds(ClockId::ProcessCPUTime));
        let ranker = system.train(&values, &resources, &mut |_| ())?;
        let training = processor_seconds(ClockId::ProcessCPUTime) - before;
        let passed = began.elapsed().as_secs_f64();
        let rate = pairs as f64 / seconds_of_a_pass(ranker.as_ref(), &judgments);
        println!("| `{name}` | {training:.1} | {passed:.1} | {rate:.0} |");
    }
    Ok(())
}

/// What rankers learn from, with the numbers of titles and of clicked pairs.
fn corpus(args: &Args, judgments: &Judgments) -> Result<(Corpus, usize, usize)> {
    let mut corpus = Corpus::default();
    let titles = read_titles(&args.titles, TITLE)?.titles;
    titles.iter().try_for_each(|title| corpus.add_title(&title.title))?;
    let (mut pairs, mut clicks) = (0, ClickReader::open(&args.clicks, TITLE, Weighting::Log)?);
    while let Some(click) = clicks.next()? {
        corpus.add_click(click.query, click.title, click.weight)?;
        pairs += 1;
    }
    judgments.queries.iter().try_for_each(|query| corpus.add_test_query(&query.text))?;
    Ok((corpus, titles.len(), pairs))
}

/// The mean over several passes through all judged titles, after one that fills the caches.
fn seconds_of_a_pass(ranker: &dyn Ranker, judgments: &Judgments) -> f64 {
    let pass = || {
        for query in &judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            black_box(ranker.score(&query.text, &titles));
        }
    };
    pass();
    let before = processor_seconds(ClockId::ThreadCPUTime);
    let mut passes = 0;
    loop {
        pass();
        passes += 1;
        let seconds = processor_seconds(ClockId::ThreadCPUTime) - before;
        if seconds >= LEAST_SECONDS {
            return seconds / f64::from(passes);
        }
    }
}

fn processor_seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
