//! The hot loops one by one, so that their instructions can be counted (bench/instructions.py): cargo run --release -p
//! clickvec-tests --bin kernels -- NAME ROUNDS [--level avx2]
//!
//! Sizes are those of training with 96 cells. A round takes some million instructions, so that neither the preparation
//! nor small differences between two runs matter.

use std::hint::black_box;
use std::ops::Range;

use clap::{Parser, ValueEnum};
use clickvec::encoder::{Bptt, ClsmConfig, DssmConfig, EncoderConfig, InitRange, LstmConfig, RnnConfig};
use clickvec::index::{FlatIndex, QuantizedIndex, SearchScratch};
use clickvec::internals::encoder::{Encoder, Gradients, TextStatistics, Trace, initialize};
use clickvec::internals::loss::{Loss, NegativeRows, Pairs, TitleLists};
use clickvec::internals::math::Level;
use clickvec::internals::math::gemm::{Left, gemm};
use clickvec::internals::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
use clickvec::internals::text::batch::{Batch, WordFeatures};
use clickvec::internals::text::{Dictionary, Feature, WordBuffer, WordId, for_each_trigram, for_each_word};
use clickvec::model::Side;
use clickvec::train::OptimizerKind;

use crate::model::model;
use crate::texts::{Vocabulary, unknown_texts};

#[path = "../model.rs"]
pub mod model;
#[path = "../texts.rs"]
pub mod texts;

const CELLS: usize = 96;
const TEXTS: usize = 64;
const WORDS: usize = 8;
const FEATURES: usize = 4_000;
const TITLE: &str = "Refrigerator Door Handle, Stainless Steel 12-inch replacement for café & bar";

/// Runs one hot loop a number of times.
#[derive(Parser)]
struct Args {
    /// The loop.
    #[arg(value_enum)]
    kernel: Kernel,
    /// The number of rounds.
    rounds: usize,
    /// Use no stronger vector instructions than these.
    #[arg(long)]
    level: Option<Level>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Kernel {
    /// The recurrent product of 64 texts.
    Gemm,
    /// Sums of trigram rows.
    Projection,
    /// The forward pass of the LSTM over 64 texts of 8 words.
    LstmForward,
    /// Both passes of the LSTM.
    LstmBothWays,
    /// Both passes of the bidirectional LSTM over 32 texts.
    BilstmBothWays,
    /// Both passes of the RNN with 288 units over 32 texts of 8 words.
    RnnBothWays,
    /// Both passes of the CLSM with a window of 3 over 32 texts of 8 words.
    ClsmBothWays,
    /// Packing the distinct words of 64 texts, with what the backward pass needs of them.
    Plan,
    /// The update of an LSTM's weights.
    Optimizer,
    /// The same update by Adam.
    Adam,
    /// The loss of 64 pairs with four negatives each.
    Loss,
    /// From a title to trigram counts.
    Hashing,
    /// Embedding queries of known words, one by one.
    KnownQuery,
    /// Embedding queries of words that were never seen.
    UnknownQuery,
    /// Exact search.
    FlatScan,
    /// Exact search by codes.
    CodeScan,
}

fn main() -> clickvec::Result<()> {
    let args = Args::parse();
    if let Some(level) = args.level
        && Level::limit(level) != level
    {
        eprintln!("error: expected a processor with {}, found {}", level.name(), Level::detect().name());
        std::process::exit(2);
    }
    // Stay on one thread; on others the waiting would be counted.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("the first pool");
    let rounds = 0..args.rounds;
    match args.kernel {
        Kernel::Gemm => {
            let (a, b) = (numbers(TEXTS * CELLS), numbers(CELLS * 3 * CELLS));
            let mut c = numbers(TEXTS * 3 * CELLS);
            let sizes = (TEXTS, 3 * CELLS, CELLS);
            rounds.for_each(|_| {
                for _ in 0..5 {
                    gemm(sizes, Left::rows(&a, CELLS), (&b, 3 * CELLS), (&mut c, 3 * CELLS));
                }
            });
            black_box(c);
        }
        Kernel::Projection => {
            // One layer over single words, nearly all of whose work is the sum of the words' rows.
            let mut tower = Tower::new(EncoderConfig::Dssm(DssmConfig { layers: vec![3 * CELLS] }), 1_000, 1);
            rounds.for_each(|_| tower.forward());
        }
        Kernel::LstmForward => {
            let mut tower = Tower::new(lstm(), TEXTS, WORDS);
            rounds.for_each(|_| tower.forward());
        }
        Kernel::LstmBothWays => {
            both_ways(lstm(), TEXTS, rounds);
        }
        Kernel::BilstmBothWays => {
            both_ways(EncoderConfig::Bilstm(LstmConfig { cells: CELLS, ..LstmConfig::default() }), TEXTS / 2, rounds);
        }
        Kernel::RnnBothWays => both_ways(EncoderConfig::Rnn(RnnConfig { hidden: 3 * CELLS }), TEXTS / 2, rounds),
        Kernel::ClsmBothWays => {
            let config = EncoderConfig::Clsm(ClsmConfig {
                window: 3,
                convolution: 3 * CELLS,
                hidden: vec![],
                semantic: CELLS,
                bias: true,
            });
            both_ways(config, TEXTS / 2, rounds);
        }
        Kernel::Plan => {
            let texts: Vec<WordId> = numbers_of_words(TEXTS, WORDS).collect();
            let (words, mut batch) = (Words::new(TEXTS * WORDS), Batch::new());
            rounds.for_each(|_| {
                for _ in 0..20 {
                    batch.fill(texts.chunks_exact(WORDS), &words);
                    batch.plan_rows(FEATURES);
                }
            });
            black_box(batch);
        }
        Kernel::Optimizer | Kernel::Adam => {
            let mut tower = Tower::new(lstm(), TEXTS, WORDS);
            tower.forward();
            tower.backward();
            let config = OptimizerConfig {
                kind: if args.kernel == Kernel::Adam { OptimizerKind::Adam } else { OptimizerKind::Nesterov },
                learning_rate: 1e-6,
                clip_norm: Some(10.0),
                momentum: MomentumSchedule::constant(0.9, 1_000_000),
            };
            let mut optimizer = Optimizer::new(config, tower.encoder.tensors_mut());
            rounds.for_each(|_| {
                let Tower { encoder, batch, gradients, .. } = &mut tower;
                optimizer.prepare(encoder.tensors_mut(), batch.touched());
                let norm = Optimizer::norm(encoder.tensors(), gradients);
                optimizer.apply(encoder.tensors_mut(), batch.touched(), gradients, norm);
            });
        }
        Kernel::Loss => {
            let (queries, titles) = (numbers(TEXTS * CELLS), numbers(TEXTS * CELLS));
            let (count, mut loss) = (TEXTS as u32, Loss::default());
            let mut negatives = TitleLists::default();
            negatives.clear();
            (0..count).for_each(|pair| negatives.push((1..5).map(|step| (pair + 13 * step) % count)));
            let pairs = Pairs {
                positive: (0..count).collect(),
                weight: vec![1.0; TEXTS],
                negatives: NegativeRows::Listed(negatives),
                targets: None,
                margins: None,
                noise: None,
            };
            rounds.for_each(|_| {
                for _ in 0..10 {
                    black_box(loss.compute(10.0, &queries, &titles, CELLS, &pairs));
                }
            });
        }
        Kernel::Hashing => {
            let mut trigrams = Vec::new();
            for_each_word(TITLE, &mut WordBuffer::default(), |word| {
                for_each_trigram(word, |trigram| trigrams.push((trigram, 1)));
            });
            let dictionary = Dictionary::from_counts(trigrams, FEATURES);
            let (mut buffer, mut features) = (WordBuffer::default(), Vec::new());
            rounds.for_each(|_| {
                for _ in 0..100 {
                    for_each_word(TITLE, &mut buffer, |word| dictionary.hash_word(word, &mut features));
                }
            });
        }
        Kernel::KnownQuery | Kernel::UnknownQuery => {
            let vocabulary = Vocabulary::new();
            let model = model(lstm(), &vocabulary, 100)?;
            let (embedder, mut vector) = (model.embedder(Side::Query), Vec::new());
            let known = vocabulary.texts("queries", 50, 3);
            embedder.embed(&known);
            // Only made for the kernel that reads them, since more rounds need more of them and making them is
            // counted.
            let unknown = match args.kernel {
                Kernel::UnknownQuery => unknown_texts(50 * args.rounds, 3),
                _ => Vec::new(),
            };
            rounds.for_each(|round| {
                for query in unknown.get(50 * round..50 * (round + 1)).unwrap_or(&known) {
                    embedder.embed_into(&[query], &mut vector);
                    black_box(&vector);
                }
            });
        }
        Kernel::FlatScan | Kernel::CodeScan => {
            let index = FlatIndex::new(CELLS, numbers(10_000 * CELLS))?;
            let (query, mut scratch) = (numbers(CELLS), SearchScratch::default());
            if args.kernel == Kernel::FlatScan {
                for _ in rounds {
                    black_box(index.search(&query, 10, &mut scratch)?);
                }
            } else {
                let index = QuantizedIndex::new(index);
                for _ in rounds {
                    for _ in 0..5 {
                        black_box(index.search(&query, 10, &mut scratch)?);
                    }
                }
            }
        }
    }
    Ok(())
}

/// An encoder over texts of [`WORDS`], forward and backward.
fn both_ways(config: EncoderConfig, texts: usize, rounds: Range<usize>) {
    let mut tower = Tower::new(config, texts, WORDS);
    // The backward pass uses up what the forward pass computed.
    rounds.for_each(|_| {
        tower.forward();
        tower.backward();
    });
}

fn lstm() -> EncoderConfig {
    EncoderConfig::Lstm(LstmConfig { cells: CELLS, ..LstmConfig::default() })
}

/// Numbers in ±1 without a pattern.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.731).sin()).collect()
}

/// Word w has the trigrams w, 7 w + 1, 49 w + 8, …, eight in all.
struct Words(Vec<Vec<Feature>>);

impl Words {
    fn new(count: usize) -> Words {
        let word = |word: usize| {
            let mut ids = [word % FEATURES; 8];
            for i in 1..ids.len() {
                ids[i] = (7 * ids[i - 1] + 1) % FEATURES;
            }
            ids.sort_unstable();
            ids.iter().map(|&id| Feature { id: id as u32, count: 1 }).collect()
        };
        Words((0..count).map(word).collect())
    }
}

impl WordFeatures for Words {
    fn features(&self, word: WordId) -> &[Feature] {
        &self.0[word as usize]
    }
}

/// Words of texts of equal length; half of the words occur twice.
fn numbers_of_words(texts: usize, words: usize) -> impl Iterator<Item = WordId> {
    (0..texts * words).map(move |place| (place % (texts * words / 2)) as u32)
}

/// An encoder with a batch and the trace of that batch.
struct Tower {
    encoder: Box<dyn Encoder>,
    batch: Batch,
    trace: Trace,
    gradients: Gradients,
    grad: Vec<f32>,
}

impl Tower {
    fn new(config: EncoderConfig, texts: usize, words: usize) -> Tower {
        let mut encoder = config.build(FEATURES);
        let statistics = TextStatistics { trigrams_per_word: 8.0, words_per_text: words as f64 };
        initialize(&mut *encoder, &config, "both", statistics, InitRange::ActiveFan, 0.0, 1);
        let numbers_of_words: Vec<WordId> = numbers_of_words(texts, words).collect();
        let mut batch = Batch::new();
        batch.fill(numbers_of_words.chunks_exact(words), &Words::new(texts * words));
        batch.plan_rows(FEATURES);
        let grad = numbers(texts * encoder.dimension());
        Tower { encoder, batch, trace: Trace::default(), gradients: Gradients::default(), grad }
    }

    fn forward(&mut self) {
        self.encoder.forward(&self.batch, &mut self.trace);
    }

    fn backward(&mut self) {
        self.encoder.backward(&self.batch, &mut self.trace, &self.grad, Bptt::default(), &mut self.gradients);
    }
}
