//! Where the time of a training step goes, compared with what the machine could do.
//!
//!     cargo run --release -p clickvec-bench --bin profile -- LOG.tsv [--minibatches N] [--json]
//!
//! Trains the LSTM of `--preset paper` (96 cells, minibatches of 1,024) on one thread, part by part. For each part it
//! prints the milliseconds of a minibatch, the least that it could take, and how that is computed: floating-point
//! operations of the recurrent products at the rate that products reach here alone, and bytes of table rows at the
//! rate at which touched rows are read and written here. `bench/parts.py` divides the parts further by sampling this
//! program, and takes its work and rates from `--json`.

use anyhow::Result;
use clap::Parser;
use clickvec::encoder::{EncoderConfig, Peephole};
use clickvec::internals::clicks::{ClickLog, Minibatch, Minibatches, Storage};
use clickvec::internals::encoder::{Gradients, TextStatistics, Trace, initialize};
use clickvec::internals::loss::Loss;
use clickvec::internals::math::Buffer;
use clickvec::internals::math::gemm::{Left, gemm_into};
use clickvec::internals::math::vector::add_scaled;
use clickvec::internals::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
use clickvec::internals::text::batch::Batch;
use clickvec::train::TrainConfig;
use clickvec::train::{ClickSource, Section};
use clickvec_bench::{median, seconds};
use serde_json::json;
use std::path::{Path, PathBuf};

const CELLS: usize = 96;
/// y_g, i and o.
const WIDTH: usize = 3 * CELLS;
const PARTS: [&str; 7] = [
    "plan: pairs, negatives, distinct words, touched rows",
    "drift of the touched rows",
    "forward: projection, products, activations",
    "loss and its gradient",
    "backward: errors, products, gradients gathered",
    "norm",
    "update of the touched rows",
];

/// Where the time of a training step goes, compared with what the machine could do.
#[derive(Parser)]
struct Args {
    /// A click log.
    log: PathBuf,
    /// The number of minibatches to learn.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    minibatches: u64,
    /// Print the work of a minibatch and the machine's rates as one JSON object.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let folder = tempfile::tempdir()?;
    let config = TrainConfig::lstm_dssm();
    let mut log_read = None;
    let reading = seconds(|| {
        log_read = Some(ClickLog::read(ClickSource::file(&args.log), Storage::Folder(folder.path()), &config))
    });
    let log = log_read.expect("was read")?;
    let (step, work) = train(&config, &log, folder.path(), args.minibatches)?;
    let rates = Rates::measure(&work.last_touched);
    if args.json {
        println!("{}", as_json(&step, &work, &rates, reading, log.len()));
    } else {
        println!("{} pairs, {} trigrams; read and hashed in {reading:.2} s\n", log.len(), log.dictionary().len());
        print(&step, &work, &rates);
    }
    Ok(())
}

/// The work of a minibatch, both towers together, on average.
#[derive(Default)]
struct Work {
    words: f64,
    distinct: f64,
    touched: f64,
    /// The rows of the last minibatch's titles.
    last_touched: Vec<u32>,
    /// Rows of the tables' gradients.
    gradients: f64,
    /// The rows of recurrent products: words that are not the first of a text.
    recurrent: f64,
}

impl Work {
    fn add(&mut self, batch: &Batch, share: f64) {
        // No text of a log is empty.
        let texts = batch.texts();
        self.words += batch.rows() as f64 * share;
        self.distinct += batch.distinct_words() as f64 * share;
        self.touched += batch.touched().len() as f64 * share;
        self.recurrent += (batch.rows() - texts) as f64 * share;
    }
}

/// The median seconds of each part.
fn train(config: &TrainConfig, log: &ClickLog, folder: &Path, count: u64) -> Result<([f64; 7], Work)> {
    let minibatches = Minibatches::new(log, Section::Clicks, config.clone(), Storage::Folder(folder))?;
    let EncoderConfig::Lstm(lstm) = &config.encoder else { anyhow::bail!("the preset is an LSTM") };
    assert!(lstm.cells == CELLS && !lstm.forget_gate && lstm.peephole == Peephole::None, "the preset has other gates");
    let mut towers = ["query", "document"].map(|side| {
        let mut encoder = config.encoder.build(log.dictionary().len());
        let statistics = TextStatistics { trigrams_per_word: 6.0, words_per_text: 5.0 };
        initialize(&mut *encoder, &config.encoder, side, statistics, config.init_range, config.forget_bias, 1);
        let settings = OptimizerConfig {
            kind: config.optimizer,
            learning_rate: config.learning_rate,
            clip_norm: config.clip_norm,
            momentum: MomentumSchedule::constant(0.995, 1 << 20),
        };
        let optimizer = Optimizer::new(settings, encoder.tensors_mut());
        (encoder, optimizer, Trace::default(), Gradients::default())
    });
    let mut minibatch = Minibatch::default();
    let mut loss = Loss::default();
    let mut times: [Vec<f64>; 7] = Default::default();
    let mut work = Work::default();
    let per_epoch = minibatches.per_epoch().saturating_sub(1).max(1);
    for step in 0..count {
        let mut part = 0;
        let mut time = |work: &mut dyn FnMut()| {
            times[part].push(seconds(work));
            part += 1;
        };
        time(&mut || minibatches.fill(step / per_epoch, step % per_epoch, &mut minibatch));
        let batches = [&minibatch.queries, &minibatch.titles];
        batches.iter().for_each(|batch| work.add(batch, 1.0 / count as f64));
        time(&mut || {
            for ((encoder, optimizer, ..), batch) in towers.iter_mut().zip(batches) {
                optimizer.prepare(encoder.tensors_mut(), batch.touched());
            }
        });
        time(&mut || {
            for ((encoder, _, trace, _), batch) in towers.iter_mut().zip(batches) {
                encoder.forward(batch, trace);
            }
        });
        let [(.., queries, _), (.., titles, _)] = &towers;
        time(&mut || {
            loss.compute(config.loss.gamma, &queries.embeddings, &titles.embeddings, CELLS, &minibatch.pairs);
        });
        let gradients = [&loss.query_gradient, &loss.title_gradient];
        time(&mut || {
            for (((encoder, _, trace, into), batch), grad) in towers.iter_mut().zip(batches).zip(gradients) {
                encoder.backward(batch, trace, grad, config.bptt, into);
            }
        });
        work.gradients += towers.iter().map(|tower| tower.3.tensors[0].rows() as f64).sum::<f64>() / count as f64;
        let mut norms = [0.0; 2];
        time(&mut || {
            for ((encoder, _, _, gradients), norm) in towers.iter().zip(&mut norms) {
                *norm = Optimizer::norm(encoder.tensors(), gradients);
            }
        });
        time(&mut || {
            for (((encoder, optimizer, _, gradients), batch), norm) in towers.iter_mut().zip(batches).zip(norms) {
                optimizer.apply(encoder.tensors_mut(), batch.touched(), gradients, norm);
            }
        });
    }
    work.last_touched = minibatch.titles.touched().to_vec();
    Ok((times.map(|mut times| median(&mut times)), work))
}

/// FLOP a second of the recurrent product over 128 texts.
fn product_rate() -> f64 {
    let (m, a, b) = (128, Buffer::zeros(128 * CELLS), Buffer::zeros(CELLS * WIDTH));
    let mut c = Buffer::zeros(m * WIDTH);
    let mut run = || {
        let once = |_| gemm_into((m, WIDTH, CELLS), Left::rows(&a, CELLS), (&b[..], WIDTH), (&mut c[..], WIDTH));
        (2 * m * WIDTH * CELLS * 200) as f64 / seconds(|| (0..200).for_each(once))
    };
    median(&mut (0..9).map(|_| run()).collect::<Vec<_>>())
}

/// Bytes a second of touched rows, moved as in an update: read and written, in two tables.
fn row_rate(touched: &[u32]) -> f64 {
    let rows = touched.last().map_or(0, |&row| row as usize + 1);
    let (mut value, mut velocity) = (Buffer::zeros(rows * WIDTH), Buffer::zeros(rows * WIDTH));
    let mut run = || {
        let time = seconds(|| {
            for row in touched.iter().map(|&row| row as usize * WIDTH..(row as usize + 1) * WIDTH) {
                let (value, velocity) = (&mut value[row.clone()], &mut velocity[row]);
                add_scaled(value, 1e-3, velocity);
                add_scaled(velocity, 1e-3, value);
            }
        });
        (4 * touched.len() * WIDTH * 4) as f64 / time
    };
    run();
    median(&mut (0..9).map(|_| run()).collect::<Vec<_>>())
}

/// Bytes a second of states, moved as by activations: read and written, one row after the other.
fn state_rate() -> f64 {
    let mut states = Buffer::zeros(11_000 * (WIDTH + 2 * CELLS));
    let mut run = || {
        let time = seconds(|| states.iter_mut().for_each(|x| *x = 0.9 * *x + 1e-3));
        (2 * states.len() * 4) as f64 / time
    };
    run();
    median(&mut (0..9).map(|_| run()).collect::<Vec<_>>())
}

/// The rates of the machine without other work.
struct Rates {
    /// FLOP a second of products.
    products: f64,
    /// Bytes a second of touched rows.
    rows: f64,
    /// Bytes a second of states.
    states: f64,
}

impl Rates {
    fn measure(touched: &[u32]) -> Rates {
        Rates { products: product_rate(), rows: row_rate(touched), states: state_rate() }
    }
}

fn as_json(step: &[f64; 7], work: &Work, rates: &Rates, reading: f64, pairs: usize) -> serde_json::Value {
    json!({
        "pairs": pairs, "reading_s": reading, "step_s": step.iter().sum::<f64>(),
        "words": work.words, "distinct": work.distinct, "touched": work.touched, "gradients": work.gradients,
        "product_flop": 3.0 * 2.0 * work.recurrent * (CELLS * WIDTH) as f64, "row_bytes": 4 * WIDTH,
        "cell_bytes": 4 * CELLS,
        "flop_per_s": rates.products, "row_bytes_per_s": rates.rows, "state_bytes_per_s": rates.states,
    })
}

fn print(step: &[f64; 7], work: &Work, rates: &Rates) {
    let (flops, bytes) = (rates.products, rates.rows);
    println!(
        "A minibatch of 1,024 pairs: {:.0} words, {:.0} distinct in their tower, {:.0} touched rows of {} bytes.\n\
         Products alone: {:.0} GFLOP/s. Touched rows, read and written: {:.1} GB/s.\n",
        work.words,
        work.distinct,
        work.touched,
        4 * WIDTH,
        flops / 1e9,
        bytes / 1e9
    );
    println!("| part | ms | share | GFLOP of products | MB of rows | at these rates, ms |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let product = 2.0 * work.recurrent * (CELLS * WIDTH) as f64;
    let row = work.touched * (4 * WIDTH) as f64;
    // The backward pass has two products: to the step before, and for the weights' gradient. The forward pass reads
    // value and velocity of the rows; the update reads and writes both.
    let asks =
        [(0.0, 0.0), (0.0, 0.0), (product, 2.0 * row), (0.0, 0.0), (2.0 * product, 0.0), (0.0, 0.0), (0.0, 4.0 * row)];
    let total: f64 = step.iter().sum();
    let line = |name: &str, time: f64, (product, rows): (f64, f64)| {
        let or_none = |x: f64, text: String| if x > 0.0 { text } else { String::new() };
        let least = product / flops + rows / bytes;
        println!(
            "| {name} | {:.2} | {:.0} % | {} | {} | {} |",
            time * 1e3,
            time / total * 100.0,
            or_none(product, format!("{:.2}", product / 1e9)),
            or_none(rows, format!("{:.1}", rows / 1e6)),
            or_none(least, format!("{:.2}", least * 1e3))
        );
    };
    for ((name, &time), &ask) in PARTS.iter().zip(step).zip(&asks) {
        line(name, time, ask);
    }
    line("all", total, (3.0 * product, 6.0 * row));
    println!("\n{:.0} pairs/s, one part after the other", 1024.0 / total);
}
