//! How long explanations take, and how well cells match known topics.
//!
//!     clickvec lab simulate --output log
//!     clickvec train --clicks log/clicks.tsv --validation log/validation.tsv --output lstm.safetensors
//!     cargo run --release -p clickvec-bench --bin explain -- --model lstm.safetensors --judged log/judged.tsv
//!
//! One match: the median over the judged pairs, with keywords. Topics: over so many queries, the judged ones again and
//! again. Loading is left out of both. With a model of the default simulation it also says how much information, in bits,
//! a query's main cell gives on its true topic, compared with shuffled topics.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::rng;
use clickvec::model::{Model, Side};
use clickvec::tables::TITLE;
use clickvec_eval::{TestSetFiles, read_test_set};
use clickvec_lab::explain::Topics;
use clickvec_lab::simulate::{SimulateConfig, true_topics};
use rand::RngExt as _;

#[derive(Parser)]
struct Args {
    /// A model that `clickvec train` wrote.
    #[arg(long)]
    model: PathBuf,
    /// Judged titles.
    #[arg(long)]
    judged: PathBuf,
    /// Queries of the topics.
    #[arg(long, default_value_t = 100_000)]
    queries: usize,
    /// Judged pairs that are explained.
    #[arg(long, default_value_t = 1_000)]
    matches: usize,
    /// Times that topics are shuffled.
    #[arg(long, default_value_t = 1_000)]
    rounds: u64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let model = Model::load(&args.model)?;
    let files = TestSetFiles { judged: &args.judged, topics: None, titles: None, field: TITLE };
    let judgments = read_test_set(&files)?.judgments;
    let explainer = Explainer::new(&model);
    let options = KeywordOptions::default();

    let pairs = judgments.queries.iter().flat_map(|query| query.titles.iter().map(|title| (&query.text, &title.text)));
    let mut times: Vec<f64> = Vec::new();
    for (query, title) in pairs.take(args.matches) {
        let started = Instant::now();
        let found = explainer.explain(query, title);
        std::hint::black_box((found.query.keywords(&options), found.title.keywords(&options), found.word_pairs()));
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{}", model.encoder_config());
    println!(
        "one match: median {:.2} ms, slowest {:.2} ms, of {}",
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );

    let judged: Vec<String> = judgments.queries.iter().map(|query| query.text.clone()).collect();
    let queries: Vec<String> = judged.iter().cycle().take(args.queries).cloned().collect();
    let started = Instant::now();
    let Some(topics) = Topics::new(&explainer, Side::Query, &queries, &options) else {
        println!("topics: this model reads bags of words");
        return Ok(());
    };
    println!("topics over {} queries: {:.2} s", topics.table.len(), started.elapsed().as_secs_f64());

    let asked: Vec<&str> = judged.iter().map(String::as_str).collect();
    let known: Vec<(String, usize)> = asked
        .iter()
        .zip(true_topics(&SimulateConfig::default(), &asked))
        .filter_map(|(query, topic)| Some(((*query).to_owned(), topic?)))
        .collect();
    if known.is_empty() {
        return Ok(());
    }
    let queries: Vec<String> = known.iter().map(|(query, _)| query.clone()).collect();
    let found = Topics::new(&explainer, Side::Query, &queries, &options).expect("states at words");
    let both = found.main_cells().zip(&known).filter_map(|(cell, known)| Some((cell?, known.1)));
    let (cells, mut true_ones): (Vec<usize>, Vec<usize>) = both.unzip();
    let own = information(&cells, &true_ones);
    let mut random = rng::stream(1, "shuffle", 0);
    let by_chance: Vec<f64> = (0..args.rounds)
        .map(|_| {
            (1..true_ones.len()).rev().for_each(|i| true_ones.swap(i, random.random_range(0..=i)));
            information(&cells, &true_ones)
        })
        .collect();
    let as_good = by_chance.iter().filter(|&&bits| bits >= own).count();
    println!(
        "a query's main cell on its true topic: {own:.2} bits; on shuffled topics {:.2}, at most {:.2} (p = {:.4}, {} queries)",
        by_chance.iter().sum::<f64>() / by_chance.len().max(1) as f64,
        by_chance.iter().copied().fold(0.0, f64::max),
        (as_good + 1) as f64 / (by_chance.len() + 1) as f64,
        cells.len()
    );
    Ok(())
}

/// Mutual information of cells and topics, in bits.
fn information(cells: &[usize], topics: &[usize]) -> f64 {
    let all = cells.len() as f64;
    let (mut both, mut of_cell, mut of_topic) = (HashMap::new(), HashMap::new(), HashMap::new());
    for (&cell, &topic) in cells.iter().zip(topics) {
        *both.entry((cell, topic)).or_insert(0.0) += 1.0;
        *of_cell.entry(cell).or_insert(0.0) += 1.0;
        *of_topic.entry(topic).or_insert(0.0) += 1.0;
    }
    let term = |((cell, topic), &count): (&(usize, usize), &f64)| {
        count / all * (count * all / (of_cell[cell] * of_topic[topic])).log2()
    };
    both.iter().map(term).sum()
}
