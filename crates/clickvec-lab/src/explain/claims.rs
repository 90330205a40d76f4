//! Tests of two claims of the LSTM paper about keywords: that removing a keyword changes the vector more than removing another
//! word (section V-A2), and that input gates close at the other words (section V-A1).
//!
//! The first is partly true by construction, because keywords are the words that activate the most active cells.

use clickvec::explain::{Evidence, Explainer, KeywordOptions, Keywords, TextView};
use clickvec::internals::math::score::score;
use clickvec::internals::text::ReadWords;
use clickvec::model::Side;
use clickvec_eval::paired_t_test;
use clickvec_report::numbers::{difference, probability};
use clickvec_report::report::{Cell, Column, Report, Table};
use clickvec_tables::shown::{count, counted};
use serde::Serialize;

/// A quantity at keywords compared with other words. Each value is the mean over texts of a mean over words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Contrast {
    /// At keywords.
    pub keywords: f64,
    /// At other words.
    pub others: f64,
    /// The p-value of a paired t-test over the texts.
    pub p: f64,
}

/// The results of the tests on a set of texts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeywordClaims {
    /// Number of texts that are compared: those with a keyword and another word. A word that is read first has no count
    /// and is neither.
    pub texts: usize,
    /// Number of keywords in all texts.
    pub keywords: usize,
    /// Number of other words in all texts.
    pub others: usize,
    /// The change of the vector when a word is removed: 1 − the cosine with the vector of the whole text.
    pub removal: Contrast,
    /// The mean input gate at a word; `None` without gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_gate: Option<Contrast>,
}

/// Tests the claims on `texts`. `None` if the encoder reads bags of words, or if fewer than two texts have a keyword and another
/// word.
pub fn keyword_claims<S: AsRef<str>>(
    explainer: &Explainer<'_>,
    side: Side,
    texts: &[S],
    options: &KeywordOptions,
) -> Option<KeywordClaims> {
    let (mut keywords, mut others) = (0, 0);
    let (mut removal, mut gates) = (Pairs::default(), Pairs::default());
    for view in explainer.texts(side, texts) {
        let found = view.keywords(options)?;
        let [own, rest] = counted_words(&view, &found);
        keywords += own.len();
        others += rest.len();
        if own.is_empty() || rest.is_empty() {
            continue;
        }
        let shorter: Vec<ReadWords<'_>> = (0..view.words.len()).map(|word| view.without(word)).collect();
        let vectors = explainer.unit_vectors(side, &shorter);
        removal.push(&own, &rest, |word| 1.0 - f64::from(score(&view.vector, &vectors[word])));
        if !found.input_gate.is_empty() {
            gates.push(&own, &rest, |word| found.input_gate[word]);
        }
    }
    let texts = removal.keywords.len();
    Some(KeywordClaims { texts, keywords, others, removal: removal.contrast()?, input_gate: gates.contrast() })
}

/// Returns the keywords and the other words. Words that no direction counts are neither.
fn counted_words(view: &TextView, found: &Keywords) -> [Vec<usize>; 2] {
    let counts = &|word: usize| match &found.evidence {
        Evidence::Changes(directions) => directions.iter().any(|counts| counts.assigned[word].is_some()),
        Evidence::Winners(_) => true,
    };
    let words =
        |wanted: bool| (0..view.words.len()).filter(move |&word| counts(word) && found.is_keyword[word] == wanted);
    [words(true).collect(), words(false).collect()]
}

impl KeywordClaims {
    /// Reports the tests on `texts` texts. `state` is the name of a part of the model's state.
    pub fn report(&self, title: &str, texts: usize, state: &str) -> Report {
        let mut report = Report::default();
        report.subject("", title);
        report.paragraph(format!(
            "{} of {} have a keyword and another word and are compared; {} and {} in all texts",
            count(self.texts),
            counted(texts as u64, "text"),
            counted(self.keywords as u64, "keyword"),
            counted(self.others as u64, "other word"),
        ));
        let heads = ["at keywords", "at other words", "difference", "p"].map(Column::number);
        let mut table = Table::new(std::iter::once(Column::text("")).chain(heads));
        let removal = ("change of the vector without it (1 - cosine)", self.removal);
        let gate = self.input_gate.map(|gate| ("mean input gate", gate));
        for (name, Contrast { keywords, others, p }) in std::iter::once(removal).chain(gate) {
            let numbers =
                [format!("{keywords:.3}"), format!("{others:.3}"), difference(keywords - others), probability(p)];
            table.add(std::iter::once(Cell::from(name)).chain(numbers.map(Cell::from)));
        }
        report.table(table);
        report.note(format!(
            "p: paired t-test over the compared texts. Part of the first difference is by construction: keywords are the words\n\
             that activate the most active {state}s."
        ));
        report
    }
}

/// Means at keywords and at other words, a pair for each text.
#[derive(Default)]
struct Pairs {
    keywords: Vec<f64>,
    others: Vec<f64>,
}

impl Pairs {
    fn push(&mut self, keywords: &[usize], others: &[usize], value: impl Fn(usize) -> f64) {
        let mean = |words: &[usize]| words.iter().map(|&word| value(word)).sum::<f64>() / words.len() as f64;
        self.keywords.push(mean(keywords));
        self.others.push(mean(others));
    }

    fn contrast(&self) -> Option<Contrast> {
        if self.keywords.len() < 2 {
            return None;
        }
        let test = paired_t_test(&self.keywords, &self.others).ok()?;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        Some(Contrast { keywords: mean(&self.keywords), others: mean(&self.others), p: test.p })
    }
}
