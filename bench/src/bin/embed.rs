//! Speed of embedding, measured inside the process:
//! cargo run --release -p clickvec-bench --bin embed -- [--cells 96,384] [--json]
//!
//! Models are trained for one epoch on a made-up log and embed titles of 8 words and queries of 3, whose frequencies
//! follow Zipf's law. Titles a second are measured on 200,000 titles, once starting from the text, and once for the
//! encoder alone, with words that are numbered and projected in advance. Queries are embedded and timed one by one on
//! one thread: those of known words after all have been seen once, those of unknown words with each word seen for the
//! first time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use clickvec::encoder::{EncoderConfig, LstmConfig};
use clickvec::internals::encoder::Trace;
use clickvec::internals::math::Buffer;
use clickvec::internals::math::vector::add_scaled;
use clickvec::internals::text::batch::Batch;
use clickvec::internals::text::{Interner, WordId, words};
use clickvec::model::{Model, Side};
use clickvec_bench::model::model;
use clickvec_bench::texts::{Vocabulary, unknown_texts};
use clickvec_bench::{median, quantile, seconds};
use rayon::prelude::*;
use serde_json::json;

const TITLES: usize = 200_000;
const QUERIES: usize = 2_000;
const ROUNDS: usize = 5;
/// The number of titles that the encoder gets at once if their words are already numbered.
const BATCH: usize = 32;

/// Measures the speed of embedding.
#[derive(Parser)]
struct Args {
    /// The sizes of LSTM to measure.
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64, 96, 192, 384])]
    cells: Vec<usize>,
    /// The numbers of threads that embed titles.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Pairs of the log that the models are trained on, which determine the size of the dictionary.
    #[arg(long, default_value_t = 20_000)]
    pairs: usize,
    /// Titles to embed, one a line, instead of made-up ones.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,
    /// Queries of known words, one a line, instead of made-up ones.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Titles a second.
struct Speed {
    threads: usize,
    from_text: f64,
    encoder_alone: f64,
}

/// The microseconds of one query, and what it allocates.
struct QueryTimes {
    p50: f64,
    p99: f64,
    allocations: f64,
}

fn main() -> clickvec::Result<()> {
    let args = Args::parse();
    let vocabulary = Vocabulary::new();
    let titles = args.titles.as_deref().map_or_else(|| vocabulary.texts("titles", TITLES, 8), lines);
    let known = args.queries.as_deref().map_or_else(|| vocabulary.texts("queries", QUERIES, 3), lines);
    let unknown = unknown_texts(QUERIES * ROUNDS, 3);
    for cells in args.cells {
        let config = LstmConfig { cells, ..LstmConfig::default() };
        let model = model(EncoderConfig::Lstm(config), &vocabulary, args.pairs)?;
        let known = known_queries(&model, &known);
        let unknown = unknown_queries(&model, &unknown);
        let mut speeds = Vec::new();
        for &threads in &args.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            speeds.push(pool.install(|| Speed {
                threads,
                from_text: from_text(&model, &titles),
                encoder_alone: encoder_alone(&model, &titles),
            }));
        }
        let print = if args.json { print_json } else { print_table };
        print(cells, &model, &speeds, &known, &unknown);
    }
    Ok(())
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).expect("a file of texts").lines().map(str::to_owned).collect()
}

/// Titles a second: the median of several rounds, after one that makes the buffers.
fn titles_per_second(titles: usize, mut work: impl FnMut()) -> f64 {
    work();
    titles as f64 / median(&mut (0..ROUNDS).map(|_| seconds(&mut work)).collect::<Vec<_>>())
}

fn from_text(model: &Model, titles: &[String]) -> f64 {
    let (embedder, mut vectors) = (model.embedder(Side::Title), Vec::new());
    titles_per_second(titles.len(), || {
        embedder.embed_into(titles, &mut vectors);
        std::hint::black_box(&vectors);
    })
}

/// Measures the encoder alone: words are numbered and projected before the clock starts.
fn encoder_alone(model: &Model, titles: &[String]) -> f64 {
    let encoder = model.encoder(Side::Title);
    let table = &encoder.tensors()[0].value;
    let (mut interner, mut features, mut projected) = (Interner::default(), Vec::new(), Vec::new());
    let mut number = |word: String| {
        let (number, _, new) = interner.intern(&word);
        if new {
            model.dictionary().hash_word(&word, &mut features);
            let start = projected.len();
            projected.resize(start + table.columns(), 0.0);
            for feature in &features {
                add_scaled(&mut projected[start..], feature.count as f32, table.row(feature.id as usize));
            }
        }
        number
    };
    let numbered: Vec<Vec<WordId>> =
        titles.iter().map(|title| words(title).into_iter().map(&mut number).collect()).collect();
    let projected = [Buffer::from(projected)];
    titles_per_second(titles.len(), || {
        numbered.par_chunks(BATCH).for_each_init(Default::default, |(batch, trace): &mut (Batch, Trace), titles| {
            batch.fill_projected(titles.iter().map(Vec::as_slice));
            encoder.forward_projected(batch, &projected, trace);
            std::hint::black_box(&trace.embeddings);
        });
    })
}

/// Measures queries whose words were all seen before.
fn known_queries(model: &Model, queries: &[String]) -> QueryTimes {
    let (embedder, mut vector) = (model.embedder(Side::Query), Vec::new());
    let mut embed = |query: &String| {
        embedder.embed_into(&[query], &mut vector);
        vector.len()
    };
    for query in queries {
        embed(query);
    }
    query_times((0..ROUNDS).flat_map(|_| queries), embed)
}

/// Measures queries whose words were never seen before.
fn unknown_queries(model: &Model, queries: &[String]) -> QueryTimes {
    let (embedder, mut vector) = (model.embedder(Side::Query), Vec::new());
    // The first few queries make the buffers.
    let (first, queries) = queries.split_at(32);
    embedder.embed(first);
    query_times(queries.iter(), |query| {
        embedder.embed_into(&[query], &mut vector);
        vector.len()
    })
}

fn query_times<'a>(queries: impl Iterator<Item = &'a String>, mut embed: impl FnMut(&String) -> usize) -> QueryTimes {
    let (mut times, mut allocations) = (Vec::new(), 0);
    for query in queries {
        let mut time = 0.0;
        let counted = allocation_counter::measure(|| {
            let start = Instant::now();
            std::hint::black_box(embed(query));
            time = start.elapsed().as_secs_f64() * 1e6;
        });
        times.push(time);
        allocations += counted.count_total;
    }
    let queries = times.len() as f64;
    QueryTimes {
        p50: quantile(&mut times, 0.5),
        p99: quantile(&mut times, 0.99),
        allocations: allocations as f64 / queries,
    }
}

fn print_table(cells: usize, model: &Model, speeds: &[Speed], known: &QueryTimes, unknown: &QueryTimes) {
    println!("{cells} cells, {} trigrams", model.dictionary().len());
    for speed in speeds {
        println!(
            "  titles/s, {} thread{}: {:9.0} from text, {:9.0} encoder alone",
            speed.threads,
            if speed.threads == 1 { " " } else { "s" },
            speed.from_text,
            speed.encoder_alone
        );
    }
    for (name, times) in [("known", known), ("unknown", unknown)] {
        println!(
            "  query of 3 {name:7} words: {:6.2} µs median, {:6.2} µs at 99 %, {} allocations",
            times.p50, times.p99, times.allocations
        );
    }
}

fn print_json(cells: usize, model: &Model, speeds: &[Speed], known: &QueryTimes, unknown: &QueryTimes) {
    let query =
        |times: &QueryTimes| json!({ "p50_us": times.p50, "p99_us": times.p99, "allocations": times.allocations });
    let speeds: Vec<_> = speeds
        .iter()
        .map(|speed| {
            json!({
                "threads": speed.threads,
                "titles_per_second": speed.from_text,
                "encoder_alone": speed.encoder_alone,
            })
        })
        .collect();
    let line = json!({
        "cells": cells,
        "trigrams": model.dictionary().len(),
        "speeds": speeds,
        "known": query(known),
        "unknown": query(unknown),
    });
    println!("{line}");
}
