//! PTM: the phrase translation model.

use rayon::prelude::*;

use super::alignment::{Alignment, symmetrize, viterbi};
use super::clicks;
use super::ibm1::{Bitext, Ibm1};
use super::phrases::{LONGEST, PhraseCounts, PhraseTable};
use super::table::Row;
use super::wtm::{ALPHA, ITERATIONS, PRIOR, PRUNE, QueryWord, SELF, Wtm};
use crate::systems::fault::no_clicks;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::RankerState;
use clickvec_eval::internals::WordReader;
use clickvec_eval::ranker::{Parameter, Progress, Resources, System, Values, Watch};
use clickvec_eval::ranker::{Ranker, SystemRanker};
use clickvec_tables::Result;

const WORDS: Parameter = Parameter::count("words", 3, 1, LONGEST as u32, "words of the longest phrase");
const DISCOUNT: Parameter = Parameter::training(
    "discount",
    1.0,
    0.0,
    1e6,
    "how often each title phrase counts as already seen without a translation",
);
const PHRASES: Parameter =
    Parameter::scoring("phrases", 0.5, 0.0, 0.99, "the weight of phrases rather than of their words");

/// The number of pairs whose alignments are in memory at once.
const ALIGNED_AT_ONCE: usize = 1 << 13;

/// The system before training: name, parameters, how to train and restore it.
pub(in crate::systems) const SYSTEM: System = System {
    name: "ptm",
    about: "phrase translation model: aligned phrases of clicked pairs (Gao, He, Nie 2010)",
    parameters: &[ITERATIONS, PRIOR, PRUNE, WORDS, DISCOUNT, ALPHA, SELF, PHRASES],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(Ptm::train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(Ptm::restore(values, state)?)),
};

/// log P(Q|D) = the maximum over segmentations of the query of Σ over its phrases s of log P(s|D). A phrase s has up
/// to 3 words, and
///
/// - P(s|D) = γ min(1, Σ_w P(s|w) n(w, D) / |D|) + (1−γ) P_words(s|D), where γ is the parameter `phrases`;
/// - w runs over the title's phrases of up to 3 words, and n(w, D) counts their positions in the title;
/// - P(s|w) = N(w, s) / (N(w) + discount) counts aligned phrases of clicked pairs;
/// - P_words of one word is that of [`Wtm`]; of more words, it is the product of their P(s|D) as phrases of one word.
///
/// So with γ = 0 it is [`Wtm`], and a title without a translation of a phrase is scored word by word.
#[derive(Debug, Clone)]
pub(crate) struct Ptm {
    wtm: Wtm,
    table: PhraseTable,
    gamma: f64,
}

impl Ptm {
    fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<Ptm> {
        let corpus = resources.corpus;
        let bitext = clicks(corpus);
        if bitext.pairs().next().is_none() {
            return Err(no_clicks(SYSTEM.name));
        }
        let model = |bitext: Bitext<'_>| Ibm1::new(bitext, corpus.vocabulary.len(), values.get(PRIOR.name));
        let (mut forward, mut backward) = (model(bitext)?, model(bitext.reversed())?);
        let of = values.count(ITERATIONS.name) as u64;
        for done in 1..=of {
            let objective = Some(forward.step() + backward.step());
            watch(Progress { done, of, objective });
        }
        let mut counts = PhraseCounts::default();
        let pairs: Vec<_> = bitext.pairs().collect();
        for pairs in pairs.chunks(ALIGNED_AT_ONCE) {
            let align = |&(title, query, _): &(&[WordId], &[WordId], f64)| {
                symmetrize(&viterbi(&forward, title, query), &viterbi(&backward, query, title))
            };
            let alignments: Vec<Alignment> = pairs.par_iter().map(align).collect();
            for (&(title, query, weight), alignment) in pairs.iter().zip(&alignments) {
                counts.add(title, query, alignment, values.count(WORDS.name), weight)?;
            }
        }
        let least = values.get(PRUNE.name);
        let table = counts.table(corpus.vocabulary.len(), values.get(DISCOUNT.name), least)?;
        Ok(Ptm::new(values, Wtm::new(values, corpus, forward.table(least)), table))
    }

    fn new(values: &Values, wtm: Wtm, table: PhraseTable) -> Ptm {
        Ptm { wtm, table, gamma: values.get(PHRASES.name) }
    }

    fn restore(values: &Values, state: &RankerState) -> Result<Ptm, clickvec_tables::Error> {
        let wtm = Wtm::restore(values, state)?;
        let table = PhraseTable::restore(wtm.vocabulary().len(), state)?;
        Ok(Ptm::new(values, wtm, table))
    }

    fn query(&self, words: &[WordId]) -> Query<'_> {
        let phrases = (0..words.len()).map(|start| self.table.translations(&words[start..]));
        Query { words: self.wtm.query(words), phrases: phrases.collect() }
    }

    /// Computes the log probability of the best segmentation, from left to right.
    fn log_likelihood(&self, query: &Query<'_>, title: &[WordId], buffers: &mut Buffers) -> f64 {
        let Buffers { title_phrases, singles, best } = buffers;
        self.table.read_title(title, title_phrases);
        let mixed = |row: Row<'_>, word_probability: f64| {
            let sum: f64 = title_phrases.iter().map(|&source| row.get(source)).sum();
            let phrase_probability = (sum / title.len().max(1) as f64).min(1.0);
            self.gamma * phrase_probability + (1.0 - self.gamma) * word_probability
        };
        let no_phrase = |word_probability: f64| (1.0 - self.gamma) * word_probability;
        let single = |(word, phrases): (&Option<QueryWord<'_>>, &[Option<Row<'_>>; LONGEST])| match word {
            Some(word) => {
                let word_probability = self.wtm.probability(word, title);
                phrases[0].map_or(no_phrase(word_probability), |row| mixed(row, word_probability))
            }
            // A word that is left out.
            None => 1.0,
        };
        singles.clear();
        singles.extend(query.words.iter().zip(&query.phrases).map(single));
        best.clear();
        best.push(0.0);
        for end in 1..=singles.len() {
            let mut log = best[end - 1] + singles[end - 1].ln();
            for length in 2..=LONGEST.min(end) {
                let start = end - length;
                if let Some(row) = query.phrases[start][length - 1] {
                    log = log.max(best[start] + mixed(row, singles[start..end].iter().product()).ln());
                }
            }
            best.push(log);
        }
        best[singles.len()]
    }
}

/// A query prepared for scoring.
struct Query<'a> {
    words: Vec<Option<QueryWord<'a>>>,
    /// For each position and length − 1, the translations to the phrase there.
    phrases: Vec<[Option<Row<'a>>; LONGEST]>,
}

/// Working memory, reused from title to title.
#[derive(Default)]
struct Buffers {
    title_phrases: Vec<u32>,
    /// P(q|D) of each word of the query.
    singles: Vec<f64>,
    /// For each number of words of the query, the log probability of their best segmentation.
    best: Vec<f64>,
}

impl Ranker for Ptm {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let (mut queries, mut reader) = (WordReader::default(), WordReader::default());
        let query = self.query(queries.read(self.wtm.vocabulary(), query));
        let mut buffers = Buffers::default();
        let score = |title: &&str| self.log_likelihood(&query, reader.read(self.wtm.vocabulary(), title), &mut buffers);
        titles.iter().map(score).collect()
    }
}

impl SystemRanker for Ptm {
    fn tune(&mut self, values: &Values) {
        self.wtm.tune(values);
        self.gamma = values.get(PHRASES.name);
    }

    fn state(&self) -> RankerState {
        self.table.state(self.wtm.state())
    }
}
