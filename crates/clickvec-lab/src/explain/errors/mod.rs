//! Queries on which a model is worse than another system, grouped by what makes them hard.

mod report;

use super::quantity::{Quantity, has_number_or_unit, quantities};
use serde::Serialize;

use clickvec::internals::text::{Interner, WordId, words};
use clickvec_eval::ranker::{self, Corpus, Ranker};
use clickvec_eval::{EvaluateOptions, JudgedTitle, Judgments, Metric, Scores, is_same, judge, score};
use clickvec_tables::Result;

pub use report::error_report;

/// A reason that makes a query hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(into = "&'static str")]
pub enum Difficulty {
    /// A word that occurs in no known text and is not a misspelling of one that does.
    UnseenWord,
    /// A word that occurs in no known text and is one edit away from one that does.
    Misspelt,
    /// Six words or more.
    Long,
    /// A number or a unit: a size, a model, a price.
    Number,
    /// None of these.
    Other,
    /// A word of the query that the best title has, and the bad title that the model ranks first has too: it is too general, or has two
    /// senses. A query is in this group because the model fails, whatever else makes it hard.
    SharedWord,
}

impl Difficulty {
    /// All of them.
    pub const ALL: [Difficulty; 6] = [
        Difficulty::UnseenWord,
        Difficulty::Misspelt,
        Difficulty::Long,
        Difficulty::Number,
        Difficulty::Other,
        Difficulty::SharedWord,
    ];

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Difficulty::UnseenWord => "unseen word",
            Difficulty::Misspelt => "misspelt",
            Difficulty::Long => "long",
            Difficulty::Number => "number or unit",
            Difficulty::Other => "other",
            Difficulty::SharedWord => "shared word",
        }
    }
}

impl From<Difficulty> for &'static str {
    fn from(difficulty: Difficulty) -> &'static str {
        difficulty.name()
    }
}

/// A query of this many words or more is long.
const LONG: usize = 6;
/// Words with fewer letters are never taken for misspellings: too many words are one edit away.
const SPELT: usize = 4;
/// Words with more letters are no words, and looking at each of their neighbours would take long.
const LONGEST_SPELT: usize = 64;
/// The metric by which they are compared.
const METRIC: Metric = Metric::Ndcg(10);
/// The lowest grade of a good title.
const GOOD: u8 = 2;

/// A judged query with the results of a model and of BM25.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome<'a> {
    /// The query.
    pub query: &'a str,
    /// The difficulties; never empty.
    pub difficulties: Vec<Difficulty>,
    /// Its words that occur in no known text and are not misspellings.
    pub unseen: Vec<String>,
    /// Its misspelt words, each with the known word that is one edit away.
    pub misspelt: Vec<Misspelt>,
    /// Its numbers and units.
    pub numbers: Vec<String>,
    /// The metric of the model's ranking.
    pub model: f64,
    /// The metric of BM25's ranking.
    pub bm25: f64,
    /// The title that the model ranks first.
    pub first: GradedTitle<'a>,
    /// The title with the best grade; the first one if there are several.
    pub best: GradedTitle<'a>,
}

/// A misspelt word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Misspelt {
    /// The word.
    pub word: String,
    /// The known word that is one edit away.
    pub known: String,
}

/// A title and its grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GradedTitle<'a> {
    /// The title.
    pub title: &'a str,
    /// The grade.
    pub grade: u8,
}

impl<'a> From<&'a JudgedTitle> for GradedTitle<'a> {
    fn from(title: &'a JudgedTitle) -> GradedTitle<'a> {
        GradedTitle { title: &title.text, grade: title.grade }
    }
}

/// Compares a model with a BM25 that reads words as the model does. Returns all judged queries that have a title, starting with those
/// on which the model is furthest behind. The words of `corpus` are those of all known texts.
///
/// # Errors
///
/// Those of training BM25 on `corpus`.
pub fn outcomes<'a>(judgments: &'a Judgments, corpus: &Corpus, model: &dyn Ranker) -> Result<Vec<Outcome<'a>>> {
    let bm25 = ranker::train("bm25:stem=0,split=0", corpus)?;
    let [model, bm25] = [model, &*bm25].map(|ranker| score(ranker, judgments));
    let vocabulary = &corpus.known_words()?;
    let options = EvaluateOptions::default();
    let values = |scores: &Scores| judge("system", scores, judgments, &options).values(METRIC);
    let (model_values, bm25_values) = (values(&model), values(&bm25));
    let mut outcomes = Vec::new();
    for (number, query) in judgments.queries.iter().enumerate() {
        if query.titles.is_empty() {
            continue;
        }
        // The first of equal ones.
        let largest = |value: &dyn Fn(usize) -> f64| {
            (1..query.titles.len()).fold(0, |best, title| if value(title) > value(best) { title } else { best })
        };
        let first = largest(&|title| model[number][title]);
        let best = largest(&|title| f64::from(query.titles[title].grade));
        let [first, best] = [first, best].map(|title| GradedTitle::from(&query.titles[title]));
        let (unseen, misspelt) = unknown_words(&query.text, vocabulary);
        outcomes.push(Outcome {
            query: &query.text,
            difficulties: difficulties(&query.text, (&unseen, &misspelt), first, best),
            unseen,
            misspelt,
            numbers: numbers(&query.text),
            model: model_values[number],
            bm25: if is_same(model_values[number], bm25_values[number]) {
                model_values[number]
            } else {
                bm25_values[number]
            },
            first,
            best,
        });
    }
    outcomes.sort_by(|a, b| (a.model - a.bm25).total_cmp(&(b.model - b.bm25)));
    Ok(outcomes)
}

/// Returns the numbers and units of a text.
fn numbers(text: &str) -> Vec<String> {
    quantities(text).iter().map(Quantity::to_string).collect()
}

/// Returns the words that no known text has: the unseen ones and the misspelt ones.
fn unknown_words(text: &str, vocabulary: &Interner) -> (Vec<String>, Vec<Misspelt>) {
    let (mut unseen, mut misspelt) = (Vec::new(), Vec::new());
    for word in words(text).into_iter().filter(|word| vocabulary.get(word).is_none()) {
        match correction(&word, vocabulary) {
            Some(known) => misspelt.push(Misspelt { word, known }),
            None => unseen.push(word),
        }
    }
    (unseen, misspelt)
}

fn difficulties(
    text: &str,
    (unseen, misspelt): (&[String], &[Misspelt]),
    first: GradedTitle<'_>,
    best: GradedTitle<'_>,
) -> Vec<Difficulty> {
    let query = words(text);
    let mut found = Vec::new();
    if !unseen.is_empty() {
        found.push(Difficulty::UnseenWord);
    }
    if !misspelt.is_empty() {
        found.push(Difficulty::Misspelt);
    }
    if query.len() >= LONG {
        found.push(Difficulty::Long);
    }
    if has_number_or_unit(text) {
        found.push(Difficulty::Number);
    }
    if found.is_empty() {
        found.push(Difficulty::Other);
    }
    let [first_words, best_words] = [first, best].map(|title| words(title.title));
    let in_both = |word: &String| first_words.contains(word) && best_words.contains(word);
    if first.grade < GOOD && best.grade >= GOOD && query.iter().any(in_both) {
        found.push(Difficulty::SharedWord);
    }
    found
}

/// Returns the known word that is one edit away: one letter inserted, deleted or replaced, or two adjacent letters swapped. If
/// there are several, it is the one with the lowest number: titles are numbered before clicks, which have misspellings
/// of their own. A word with a digit has no correction.
fn correction(word: &str, vocabulary: &Interner) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    if !(SPELT..=LONGEST_SPELT).contains(&letters.len()) || letters.iter().any(|c| c.is_numeric()) {
        return None;
    }
    let mut others: Vec<char> = letters.iter().copied().filter(|c| !c.is_ascii()).collect();
    others.sort_unstable();
    others.dedup();
    let alphabet: Vec<char> = ('a'..='z').chain(others).collect();
    let mut best: Option<WordId> = None;
    let mut edit = |parts: [&[char]; 3]| {
        let known = vocabulary.get(&parts.concat().iter().collect::<String>());
        best = best.into_iter().chain(known).min();
    };
    for at in 0..=letters.len() {
        let (before, after) = letters.split_at(at);
        if let [first, rest @ ..] = after {
            edit([before, &[], rest]);
            alphabet.iter().for_each(|&c| edit([before, &[c], rest]));
            if let [second, rest @ ..] = rest {
                edit([before, &[*second, *first], rest]);
            }
        }
        alphabet.iter().for_each(|&c| edit([before, &[c], after]));
    }
    best.map(|word| vocabulary.word(word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Interner {
        let mut vocabulary = Interner::default();
        for word in ["leather", "couch", "oak", "grün", "hammer", "office", "chair"] {
            vocabulary.intern(word);
        }
        vocabulary
    }

    #[test]
    fn one_edit_makes_a_misspelling() {
        let vocabulary = vocabulary();
        for (word, expected) in [
            ("lether", true),
            ("leatherr", true),
            ("laether", true),
            ("leathar", true),
            ("lethar", false),
            ("elk", false),
            ("grühn", true),
            ("hammer2", false),
            ("zzzzzz", false),
        ] {
            assert_eq!(correction(word, &vocabulary).is_some(), expected, "{word}");
        }
        assert_eq!(correction("lether", &vocabulary).as_deref(), Some("leather"));
        // It is looked up at most so often, however long it is.
        assert_eq!(correction(&"ж".repeat(1_000_000), &vocabulary), None);
    }

    #[test]
    fn queries_are_put_into_their_groups() {
        let vocabulary = vocabulary();
        let title = |title, grade| GradedTitle { title, grade };
        let told = |query: &str, first, best| {
            let (unseen, misspelt) = unknown_words(query, &vocabulary);
            difficulties(query, (&unseen, &misspelt), first, best)
        };
        let (good, bad) = (title("office chair", 4), title("office suite", 0));
        assert_eq!(told("office chair", good, good), [Difficulty::Other]);
        assert_eq!(told("office", bad, good), [Difficulty::Other, Difficulty::SharedWord]);
        assert_eq!(told("lether couch", good, good), [Difficulty::Misspelt]);
        assert_eq!(told("plutonium couch 12", bad, good), [Difficulty::UnseenWord, Difficulty::Number]);
        assert_eq!(told("office chair 3/8 in.", good, good)[1..], [Difficulty::Number]);
        let long = "oak couch oak couch oak couch";
        assert_eq!(told(long, title("a", 0), title("b", 0)), [Difficulty::Long]);
    }
}
