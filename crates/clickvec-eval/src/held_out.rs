//! Judging a ranker by clicked queries that it has not learnt, compared with rankers that need no training.

use rand::RngExt as _;
use rayon::prelude::*;

use super::{
    Answers, Collection, Contest, EvaluateOptions, Evaluation, Evidence, JudgedQuery, JudgedTitle, Judgments, Metric,
};
use crate::ranker::{self, Corpus, Ranker};
use clickvec::internals::loss::EvenlyDrawn;
use clickvec::internals::rng;
use clickvec::tables::Title;
use clickvec::train::LossKind;
use clickvec::train::{HeldOut, HeldOutQuery};
use clickvec_tables::{Result, Stop};

/// The seed of the negatives of held-out queries: the same for every run, so that their losses can be compared.
const SEED: u64 = 0x686f_6c64_2d6f_7574;

/// The largest number of pairs that share c, the −ln Z of noise-contrastive estimation, as those of a minibatch do.
const CONTRASTED: usize = 1024;

/// The number of queries whose scores are in memory together.
const TOGETHER: usize = 64;

/// A search for held-out queries among all titles. A clicked title is relevant, every other is not; if the
/// log weighs clicks, for example by position, a title whose clicks weigh more has a higher grade.
///
/// So each clicked title is among the best candidates of every system that is compared, its own and the others', and none
/// has an advantage because candidates were chosen by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOutTest {
    set: Collection,
    /// The positions of the titles that were clicked for each query.
    clicked: Vec<Vec<u32>>,
    evidence: Evidence,
}

impl HeldOutTest {
    /// The metrics by which epochs are compared.
    pub const METRICS: [Metric; 4] =
        [Metric::Ndcg(1), Metric::Ndcg(3), Self::DECIDES, Metric::Recall(Self::DEPTH as u32)];
    /// The metric that chooses the best epoch and is tested.
    pub const DECIDES: Metric = Metric::Ndcg(10);
    /// The rankers that it is compared with, as [`ranker::train`] knows them, and their names in a report.
    pub const BASELINES: [(&str, &str); 2] = [("bm25", "BM25"), ("trigram", "letter trigrams")];
    /// The number of titles found for each query.
    pub const DEPTH: usize = 100;

    /// The test of these queries.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn new(held_out: HeldOut) -> Result<HeldOutTest> {
        let judged = |&(title, grade): &(u32, u8)| {
            let text = held_out.titles[title as usize].clone();
            JudgedTitle { id: text.clone(), text, grade }
        };
        // What was shown and not clicked is bad. Without that, what was ever clicked is all that is known of other titles.
        let shown = |&title: &u32| judged(&(title, 0));
        let has_shown = held_out.queries.iter().any(|query| !query.shown.is_empty());
        let evidence = if has_shown { Evidence::Impressions } else { Evidence::Clicks };
        let positions = |query: &HeldOutQuery| query.clicked.iter().map(|&(title, _)| title).collect();
        let clicked = held_out.queries.iter().map(positions).collect();
        let queries = held_out.queries.iter().map(|query| JudgedQuery {
            id: query.text.clone(),
            text: query.text.clone(),
            titles: query.clicked.iter().map(judged).chain(query.shown.iter().map(shown)).collect(),
        });
        let judgments = Judgments { queries: queries.collect(), ..Judgments::default() };
        let known = if has_shown { Vec::new() } else { held_out.was_clicked };
        let titles = held_out.titles.into_iter().map(|title| Title { id: String::new(), title });
        let set = Collection { known, ..Collection::new(&judgments, false, titles.collect())? };
        Ok(HeldOutTest { set, clicked, evidence })
    }

    /// The mean over all held-out pairs of the loss that training lowers, such as ln(1 + Σ e^(−γΔ)) of the softmax, with this
    /// many negatives drawn from the titles, the same for every ranker: the papers chose their settings by such a loss. A title
    /// that was clicked for the query is no negative. `None` if no pair has a negative.
    pub fn loss(&self, ranker: &dyn Ranker, kind: LossKind, gamma: f32, negatives: usize) -> Option<f64> {
        let texts = self.set.texts();
        let scorer = ranker.scorer(&texts);
        let scores = |number: usize| -> Vec<Vec<f64>> {
            let (query, clicked) = (&self.set.queries[number], &self.clicked[number]);
            let mut stream = rng::stream(SEED, "negatives of held-out queries", number as u64);
            let outcome = |&positive: &u32| {
                let drawn = (0..negatives).map(|_| stream.random_range(0..texts.len()) as u32);
                let others = drawn.filter(|title| !clicked.contains(title));
                let titles: Vec<u32> = std::iter::once(positive).chain(others).collect();
                (titles.len() > 1).then(|| scorer(&query.text, &titles))
            };
            clicked.iter().filter_map(outcome).collect()
        };
        let gamma = f64::from(gamma);
        let (mut sum, mut pairs) = (0.0, 0u64);
        let mut contrasted = EvenlyDrawn::default();
        let numbers: Vec<usize> = (0..self.clicked.len()).collect();
        // Not all at once: a query has some thousand scores.
        for numbers in numbers.chunks(TOGETHER) {
            Stop::of_thread().unwind_if_set();
            let by_query: Vec<Vec<Vec<f64>>> = numbers.par_iter().map(|&number| scores(number)).collect();
            for scores in by_query.iter().flatten() {
                match kind {
                    LossKind::Softmax => {
                        let terms = scores[1..].iter().map(|score| (-gamma * (scores[0] - score)).exp());
                        sum += terms.sum::<f64>().ln_1p();
                    }
                    LossKind::Nce => {
                        contrasted.push(gamma * scores[0], scores[1..].iter().map(|score| gamma * score));
                        if contrasted.len() == CONTRASTED {
                            sum += contrasted.take_loss();
                        }
                    }
                }
                pairs += 1;
            }
        }
        sum += contrasted.take_loss();
        (pairs > 0).then(|| sum / pairs as f64)
    }

    /// The evaluation of a ranker.
    ///
    /// # Errors
    /// Those of [`Ranker::candidates`].
    pub fn judge(&self, ranker: &dyn Ranker) -> Result<Evaluation> {
        Ok(self.judge_by(ranker.name(), &self.answers(ranker)?, &Self::METRICS))
    }

    /// The value by which the best epoch is chosen.
    pub fn value(evaluation: &Evaluation) -> f64 {
        evaluation.mean.get(Self::DECIDES)
    }

    /// The titles that are searched, and the queries.
    pub fn collection(&self) -> &Collection {
        &self.set
    }

    /// A ranker compared with others, as [`HeldOutTest::compare`] does.
    ///
    /// # Errors
    /// Those of [`HeldOutTest::compare`].
    pub fn report(&self, ranker: &dyn Ranker, baselines: &[(&str, &str)]) -> Result<Contest> {
        self.compare(&[(ranker.name(), &self.answers(ranker)?)], baselines)
    }

    /// The first of some systems that give these answers, at most [`HeldOutTest::DEPTH`] titles for each query, compared with the
    /// others and with rankers that need no training, each as [`ranker::train`] knows it and with its name. Where not all titles were
    /// clicked, or the log says what was shown, the share of the first ten that were clicked or shown, and NDCG without the others, are
    /// among the metrics.
    ///
    /// # Errors
    /// `ErrorKind::Empty` if the titles are not enough for a ranker; those of [`Ranker::candidates`].
    pub fn compare(&self, systems: &[(&str, &Answers)], baselines: &[(&str, &str)]) -> Result<Contest> {
        let corpus = Corpus::from_titles(self.set.texts())?;
        let answer =
            |(spec, name): &(&str, &str)| Ok(((*name).to_owned(), self.answers(&*ranker::train(spec, &corpus)?)?));
        let others = baselines.iter().map(answer).collect::<Result<Vec<_>>>()?;
        let others = others.iter().map(|(name, answers)| (name.as_str(), answers));
        let is_partial = self.evidence == Evidence::Impressions || self.set.known.iter().any(|known| !known);
        let known = if is_partial { &[Metric::Judged(10), Metric::CondensedNdcg(10)][..] } else { &[] };
        let metrics = [&Self::METRICS[..], known].concat();
        let judge = |(name, answers): (&str, &Answers)| self.judge_by(name, answers, &metrics);
        Contest::new(self.evidence, &systems.iter().copied().chain(others).map(judge).collect::<Vec<_>>())
    }

    fn answers(&self, ranker: &dyn Ranker) -> Result<Answers> {
        self.set.task(&self.set.queries).answers(ranker, Self::DEPTH, &mut |_| ())
    }

    fn judge_by(&self, name: &str, answers: &Answers, metrics: &[Metric]) -> Evaluation {
        self.set.task(&self.set.queries).judge(name, answers, metrics, &EvaluateOptions::default())
    }
}
