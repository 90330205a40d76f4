//! The cosine of letter-trigram counts weighted by tf · idf. It needs no training, and tolerates many misspellings.

mod lists;

use std::collections::HashMap;
use std::path::Path;

use super::corpus::Corpus;
use super::state::{RankerState, check_range};
use super::stored;
use super::system::{FOLD, Parameter, System, Values};
use super::{Ranker, RankerSpec, SystemRanker};
use crate::ranker::Candidates;
use clickvec::internals::text::{Dictionary, Trigram, WordBuffer, for_each_trigram};
use clickvec::train::{Accents, TextConfig};
use clickvec_tables::{Result, damaged};
use lists::TrigramCandidates;
pub use lists::{TrigramLists, TrigramQuery};

const TF_POWER: Parameter =
    Parameter::scoring("tf_power", 1.0, 0.0, 4.0, "the power of a trigram's count; 0 counts each once");
const IDF_POWER: Parameter =
    Parameter::scoring("idf_power", 1.0, 0.0, 4.0, "the power of its idf; 0 weighs all trigrams alike");

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "trigram",
    about: "cosine of letter trigrams with tf-idf (Salton, Buckley 1988, on the papers' word hashing)",
    parameters: &[TF_POWER, IDF_POWER, FOLD],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, _| Ok(Box::new(LetterTrigrams::train(values, resources.corpus))),
    restore: |values, state| Ok(Box::new(LetterTrigrams::restore(values, state)?)),
};

/// The cosine of the texts' vectors of trigram weights tfᵖ · idfʳ. tf counts a trigram of `#word#` in the text, and
/// idf = 1 + ln((1 + N) / (1 + df)), where df of the collection's N titles have the trigram.
///
/// A trigram that is not in the collection is dropped. If a text has none left, the cosine is 0.
#[derive(Debug, Clone)]
pub struct LetterTrigrams {
    /// How texts become words.
    text: TextConfig,
    dictionary: Dictionary,
    /// The number of titles that have each trigram.
    document_frequency: Vec<u32>,
    documents: u32,
    tf_power: f64,
    idf_power: f64,
    /// idfʳ of each trigram.
    weights: Vec<f64>,
}

impl LetterTrigrams {
    fn train(values: &Values, corpus: &Corpus) -> LetterTrigrams {
        let (text, mut buffer) = (text_config(values), WordBuffer::default());
        // The trigrams of each word, computed once, and for each trigram the last title, counted from 1, that had it.
        let mut numbers: HashMap<Trigram, usize> = HashMap::new();
        let mut counts: Vec<(Trigram, u64)> = Vec::new();
        let mut known: Vec<Option<Vec<usize>>> = vec![None; corpus.vocabulary.len()];
        let mut last: Vec<usize> = Vec::new();
        for (title, words) in (1..).zip(corpus.titles.iter()) {
            for &word in words {
                let trigrams = known[word as usize].get_or_insert_with(|| {
                    let mut found = Vec::new();
                    let mut add = |trigram| {
                        let number = *numbers.entry(trigram).or_insert(counts.len());
                        if number == counts.len() {
                            counts.push((trigram, 0));
                            last.push(0);
                        }
                        found.push(number);
                    };
                    let word = corpus.vocabulary.word(word);
                    text.for_each_word(word, &mut buffer, |word| for_each_trigram(word, &mut add));
                    found
                });
                for &trigram in trigrams.iter() {
                    counts[trigram].1 += u64::from(last[trigram] != title);
                    last[trigram] = title;
                }
            }
        }
        let dictionary = Dictionary::from_counts(counts.iter().copied(), counts.len());
        let frequency = |trigram: &Trigram| counts[numbers[trigram]].1 as u32;
        let document_frequency = dictionary.trigrams().iter().map(frequency).collect();
        LetterTrigrams::new(values, dictionary, document_frequency, corpus.titles.len() as u32)
    }

    /// Learns the trigrams of a collection and their idf, with the default powers, and with accents or without.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Memory`].
    pub fn from_titles<'t>(titles: impl IntoIterator<Item = &'t str>, accents: Accents) -> Result<LetterTrigrams> {
        let values = values_for([(FOLD.name, f64::from(u8::from(accents == Accents::Fold)))]);
        Ok(LetterTrigrams::train(&values, &Corpus::from_titles(titles)?))
    }

    fn new(values: &Values, dictionary: Dictionary, document_frequency: Vec<u32>, documents: u32) -> LetterTrigrams {
        let mut ranker = LetterTrigrams {
            text: text_config(values),
            dictionary,
            document_frequency,
            documents,
            tf_power: 1.0,
            idf_power: 1.0,
            weights: Vec::new(),
        };
        ranker.tune(values);
        ranker
    }

    /// The trained `trigram` in a file.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Io`], or an error if the file is of another system or not valid.
    pub fn load(path: &Path) -> Result<LetterTrigrams> {
        let (system, values, state) = stored::ranker::load_state(path, &[&SYSTEM])?;
        let in_file = |fault: clickvec_tables::Error| fault.at(path);
        if system.name != SYSTEM.name {
            return Err(in_file(damaged::other_kind(SYSTEM.name, system.name)));
        }
        LetterTrigrams::restore(&values, &state).map_err(in_file)
    }

    /// Writes it as the file of a trained `trigram`.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Io`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let fold = f64::from(u8::from(self.text.accents == Accents::Fold));
        let values = values_for([(TF_POWER.name, self.tf_power), (IDF_POWER.name, self.idf_power), (FOLD.name, fold)]);
        SYSTEM.save(path, &values, self)
    }

    /// The number of trigrams.
    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.dictionary.len()
    }

    /// The weight of a trigram that a text has `count` times.
    fn weight(&self, id: u32, count: u32) -> f64 {
        let count = f64::from(count);
        let tf = if self.tf_power == 1.0 || count == 1.0 { count } else { count.powf(self.tf_power) };
        tf * self.weights[id as usize]
    }

    fn restore(values: &Values, state: &RankerState) -> Result<LetterTrigrams, clickvec_tables::Error> {
        let trigrams = state.trigrams("trigrams")?;
        let document_frequency = state.u32s("document_frequency", &[Some(trigrams.len())])?.to_vec();
        let &[documents] = state.u32s("documents", &[Some(1)])? else { unreachable!("the shape was checked") };
        let dictionary = Dictionary::from_trigrams(trigrams)?;
        check_range("document_frequency", &document_frequency, 0.0, f64::from(documents))?;
        Ok(LetterTrigrams::new(values, dictionary, document_frequency, documents))
    }
}

/// Returns the values of a ranker with these parameters.
fn values_for<const N: usize>(parameters: [(&str, f64); N]) -> Values {
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
    let spec = RankerSpec { name: SYSTEM.name.to_owned(), parameters, ..RankerSpec::default() };
    SYSTEM.values(&spec).expect("its own parameters")
}

fn text_config(values: &Values) -> TextConfig {
    let accents = if values.count(FOLD.name) == 1 { Accents::Fold } else { Accents::Keep };
    TextConfig { accents, ..TextConfig::USUAL }
}

/// Whether all texts get the same weights.
impl PartialEq for LetterTrigrams {
    fn eq(&self, other: &LetterTrigrams) -> bool {
        self.text == other.text
            && self.dictionary.trigrams() == other.dictionary.trigrams()
            && self.weights == other.weights
            && self.tf_power == other.tf_power
    }
}

/// The working memory for the trigrams of one text.
struct Vector {
    /// The count of each trigram; all are 0 between two texts.
    counts: Vec<u32>,
    /// The trigrams of the text, in order of appearance.
    present: Vec<u32>,
    words: WordBuffer,
}

impl Vector {
    fn new(trigrams: usize) -> Vector {
        Vector { counts: vec![0; trigrams], present: Vec::new(), words: WordBuffer::default() }
    }

    /// Calls `each` with every trigram of the text, ascending, and how often it is there.
    fn count(&mut self, ranker: &LetterTrigrams, text: &str, mut each: impl FnMut(u32, u32)) {
        let Vector { counts, present, words } = self;
        ranker.text.for_each_word(text, words, |word| {
            for_each_trigram(word, |trigram| {
                let Some(id) = ranker.dictionary.get(trigram) else { return };
                if counts[id as usize] == 0 {
                    present.push(id);
                }
                counts[id as usize] += 1;
            });
        });
        // The order of words does not change the sum.
        present.sort_unstable();
        present.drain(..).for_each(|id| each(id, std::mem::take(&mut counts[id as usize])));
    }

    /// Calls `each` with every trigram of the text and its weight. Returns the length of the vector.
    fn read(&mut self, ranker: &LetterTrigrams, text: &str, mut each: impl FnMut(u32, f64)) -> f64 {
        let mut squares = 0.0;
        self.count(ranker, text, |id, count| {
            let weight = ranker.weight(id, count);
            squares += weight * weight;
            each(id, weight);
        });
        squares.sqrt()
    }
}

impl Ranker for LetterTrigrams {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut vector = Vector::new(self.dictionary.len());
        let mut weights = vec![0.0; self.dictionary.len()];
        let query_length = vector.read(self, query, |id, weight| weights[id as usize] = weight);
        let cosine = |title: &&str| {
            let mut product = 0.0;
            let length = vector.read(self, title, |id, weight| product += weight * weights[id as usize]);
            let lengths = length * query_length;
            if lengths > 0.0 { product / lengths } else { 0.0 }
        };
        titles.iter().map(cosine).collect()
    }

    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        let lists = TrigramLists::new(self, || titles.iter().copied())?;
        Ok(Box::new(TrigramCandidates { ranker: self, lists }))
    }
}

impl SystemRanker for LetterTrigrams {
    fn tune(&mut self, values: &Values) {
        self.tf_power = values.get(TF_POWER.name);
        self.idf_power = values.get(IDF_POWER.name);
        let titles = f64::from(self.documents);
        let idf = |&df: &u32| 1.0 + ((1.0 + titles) / (1.0 + f64::from(df))).ln();
        self.weights = self.document_frequency.iter().map(|df| idf(df).powf(self.idf_power)).collect();
    }

    fn state(&self) -> RankerState {
        RankerState::default()
            .with_trigrams("trigrams", self.dictionary.trigrams())
            .with_u32s("document_frequency", &self.document_frequency)
            .with_u32s("documents", &[self.documents])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::shop::{Shop, ndcg, restored};
    use crate::ranker::state::Numbers;
    use crate::ranker::testing::{assert_close, corpus, is_kept_by_a_file, train};
    use clickvec::internals::rng::stream;
    use rand::seq::SliceRandom as _;

    #[test]
    fn a_hand_computed_collection() {
        // `ab` is #ab ab#, and `aba` is #ab aba ba#. Only ab# is not in both titles.
        let corpus = corpus(&["ab aba", "aba"], &[("abc", "abcd")]);
        let ranker = train("trigram", &corpus);
        let rare = 1.0 + (3.0f64 / 2.0).ln();
        let query = (1.0 + rare * rare).sqrt();
        let expected = [
            1.0,
            // abc and bc# are dropped.
            1.0 / query,
            2.0 / (12.0f64.sqrt() * query),
            (2.0 + rare * rare) / ((4.0 + rare * rare + 1.0 + 1.0).sqrt() * query),
            0.0,
            0.0,
        ];
        assert_close(&ranker.score("AB", &["ab!", "abc", "aba aba", "ab aba", "xyz", ""]), &expected);
        assert_eq!(ranker.score("xyz", &["ab", "xyz", ""]), [0.0, 0.0, 0.0]);
        let powers = train("trigram:tf_power=0.5,idf_power=0", &corpus);
        let expected = (2.0f64.sqrt() + 1.0) / (2.0f64 * (2.0 + 1.0 + 1.0 + 1.0)).sqrt();
        assert_close(&powers.score("ab", &["ab aba", "aba ab"]), &[expected, expected]);
    }

    #[test]
    fn accents_are_folded_where_the_collection_has_them_and_where_the_query_has() {
        let titles = corpus(&["café table", "cafe chair", "Straße"], &[]);
        let found = |spec: &str| {
            let ranker = train(spec, &titles);
            let scores = |query: &str| ranker.score(query, &["café", "cafe"]);
            (scores("café"), scores("cafe"), ranker.score("STRASSE", &["straße"])[0])
        };
        let (accented, plain, sharp) = found("trigram:fold=1");
        assert_eq!((accented, plain, sharp), (vec![1.0, 1.0], vec![1.0, 1.0], 1.0));
        let (accented, _, sharp) = found("trigram");
        assert!(accented[1] < 0.8 && sharp < 0.8, "{accented:?} {sharp}");
        is_kept_by_a_file("trigram:fold=1", &titles);
    }

    #[test]
    fn a_misspelt_word_is_near_the_right_one() {
        let ranker = train("trigram", &corpus(&["refrigerator door", "kitchen cabinet", "lamp"], &[]));
        let scores = ranker.score("refridgerator", &["refrigerator door", "kitchen cabinet", "refrigerator"]);
        assert!(scores[2] > scores[0] && scores[0] > 0.4 && scores[1] < 0.1, "{scores:?}");
    }

    #[test]
    fn poor_collections_give_finite_scores() {
        let corpora: [&[&str]; 4] = [&[], &["", "?"], &["a"], &["北京", "北京", "e\u{301}"]];
        for titles in corpora {
            for spec in ["trigram", "trigram:tf_power=0,idf_power=4", "trigram:tf_power=4"] {
                let ranker = train(spec, &corpus(titles, &[("b", "c")]));
                for query in ["", "a", "a b a", "北", "é", "!"] {
                    let scores = ranker.score(query, &["", "a", "a a a a", "b", "北京", "É", "?"]);
                    assert!(scores.iter().all(|score| (0.0..1.0 + 1e-12).contains(score)), "{titles:?}: {scores:?}");
                }
            }
        }
    }

    #[test]
    fn powers_can_be_changed_and_a_file_keeps_them() {
        let shop = Shop::new();
        let spec = "trigram:tf_power=0.5,idf_power=2";
        is_kept_by_a_file(spec, &corpus(&["red door red", "", "北京 blue lamp"], &[("red door", "red lamp")]));
        let (mut tuned, fresh) = (train("trigram", &shop.corpus), train(spec, &shop.corpus));
        tuned.tune(&SYSTEM.values(&spec.parse().unwrap()).unwrap());
        for query in &shop.judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            assert_eq!(tuned.score(&query.text, &titles), fresh.score(&query.text, &titles));
        }
    }

    #[test]
    fn shuffled_frequencies_rank_worse() {
        let shop = Shop::new();
        let spec = "trigram";
        let ranker = train(spec, &shop.corpus);
        let state = ranker.state();
        let mut frequencies = state.u32s("document_frequency", &[None]).unwrap().to_vec();
        frequencies.shuffle(&mut stream(7, "shuffled frequencies", 0));
        let shuffled = restored(spec, &state.with_u32s("document_frequency", &frequencies));
        let (found, without) = (ndcg(ranker.as_ref(), &shop.judgments), ndcg(shuffled.as_ref(), &shop.judgments));
        assert!(found > without + 0.05, "{found}, shuffled {without}");
    }

    #[test]
    fn a_damaged_state_is_refused() {
        let state = train("trigram", &corpus(&["ab", "lamp"], &[])).state();
        let fault =
            |state: RankerState| LetterTrigrams::restore(&SYSTEM.values(&"trigram".parse().unwrap()).unwrap(), &state);
        assert!(fault(state.clone()).is_ok());
        let trigrams =
            |letters: &[u32]| state.clone().with("trigrams", &[letters.len() / 3, 3], Numbers::U32(letters.to_vec()));
        let bad = [
            state.clone().with_u32s("documents", &[0]),
            state.clone().with_u32s("documents", &[2, 2]),
            state.clone().with_u32s("document_frequency", &[1]),
            trigrams(&[35, 97, 98]),
            trigrams(&[0xD800; 18]),
            trigrams(&[97; 18]),
        ];
        for (i, state) in bad.into_iter().enumerate() {
            assert!(fault(state).is_err(), "{i}");
        }
    }
}
