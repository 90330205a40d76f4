//! From words to terms: the forms in which rankers of words compare them.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::{WordBuffer, fold_accents, for_each_word};

/// The changes to words before they are compared. By default there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Analysis {
    /// Whether English plurals and singulars have one form, as `sofas` and `sofa`.
    pub stem: bool,
    /// Whether numbers are separated from letters: `12in` is `12` and `in`.
    pub split: bool,
    /// Whether letters lose their accents: `café` is `cafe`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fold: bool,
}

impl Analysis {
    /// Words are compared as they are.
    pub const EXACT: Analysis = Analysis { stem: false, split: false, fold: false };

    /// What indexes do by default: plurals are found, and numbers beside units.
    pub const USUAL: Analysis = Analysis { stem: true, split: true, fold: false };

    /// Returns all ways to analyse words.
    pub fn all() -> impl Iterator<Item = Analysis> {
        (0..8).map(|bits| Analysis { stem: bits & 1 > 0, split: bits & 2 > 0, fold: bits & 4 > 0 })
    }

    /// Returns the names of the changes.
    fn names(self) -> Vec<&'static str> {
        let all = [(self.stem, "stem"), (self.split, "split"), (self.fold, "fold")];
        all.into_iter().filter_map(|(is_made, name)| is_made.then_some(name)).collect()
    }

    /// Returns the name of the analyser in files: `clickvec-stem-split`.
    pub fn file_name(self) -> String {
        ["clickvec"].into_iter().chain(self.names()).collect::<Vec<_>>().join("-")
    }

    /// Calls `term` with the terms of a word, in order: at least one.
    pub fn for_each_term(self, word: &str, mut term: impl FnMut(&str)) {
        let mut form = |part: &str| if self.stem { term(&singular(part)) } else { term(part) };
        if word.is_ascii() {
            return self.for_each_part(word, form);
        }
        let mut folded = String::new();
        if self.fold {
            fold_accents(word, &mut folded);
        }
        // A word of accents alone stays.
        let word = if folded.is_empty() { word } else { &folded };
        // The lower case of İ has a dot of its own, which is not typed.
        let without_dots = word.contains(DOTTED_I).then(|| word.replace(DOTTED_I, "i"));
        self.for_each_part(without_dots.as_deref().unwrap_or(word), &mut form);
    }

    /// Calls `form` with the letters and the numbers of a word, or with the whole word if they stay together.
    fn for_each_part(self, word: &str, mut form: impl FnMut(&str)) {
        if !self.split {
            return form(word);
        }
        let mut start = 0;
        let mut was_number = None;
        for (position, c) in word.char_indices() {
            // A character that is neither, such as a mark, stays with what is before it.
            if !c.is_alphanumeric() {
                continue;
            }
            if was_number.is_some_and(|was| was != c.is_numeric()) {
                form(&word[start..position]);
                start = position;
            }
            was_number = Some(c.is_numeric());
        }
        form(&word[start..]);
    }
}

const DOTTED_I: &str = "i\u{307}";

/// `exact`, or the names of the changes: `stem,split`.
impl Display for Analysis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = self.names();
        f.write_str(&if names.is_empty() { "exact".to_owned() } else { names.join(",") })
    }
}

/// Reads names in any order. Any other name is an error.
impl FromStr for Analysis {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Analysis, &'static str> {
        let mut names: Vec<&str> = text.split(',').map(str::trim).collect();
        names.sort_unstable();
        let is_same = |analysis: &Analysis| {
            let mut own = analysis.names();
            own.sort_unstable();
            own == names
        };
        let analysis = if names == ["exact"] { Some(Analysis::EXACT) } else { Analysis::all().find(is_same) };
        analysis.ok_or("expected exact, or some of stem, split and fold, such as stem,split")
    }
}

/// Calls `term` with each term of `text`, in order.
pub fn for_each_term(text: &str, analysis: Analysis, buffer: &mut WordBuffer, mut term: impl FnMut(&str)) {
    for_each_word(text, buffer, |word| analysis.for_each_term(word, &mut term));
}

/// Returns the terms of `text`, in order.
pub fn terms(text: &str, analysis: Analysis) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, analysis, &mut WordBuffer::default(), |term| terms.push(term.to_owned()));
    terms
}

/// Plurals that the rules do not reach, with their singulars.
const IRREGULAR: [(&str, &str); 26] = [
    ("atlases", "atlas"),
    ("bikinis", "bikini"),
    ("canvases", "canvas"),
    ("children", "child"),
    ("feet", "foot"),
    ("gases", "gas"),
    ("geese", "goose"),
    ("hooves", "hoof"),
    ("kiwis", "kiwi"),
    ("knives", "knife"),
    ("leaves", "leaf"),
    ("lenses", "lens"),
    ("loaves", "loaf"),
    ("men", "man"),
    ("menus", "menu"),
    ("mice", "mouse"),
    ("quizzes", "quiz"),
    ("scarves", "scarf"),
    ("sheaves", "sheaf"),
    ("skis", "ski"),
    ("taxis", "taxi"),
    ("teeth", "tooth"),
    ("thieves", "thief"),
    ("tutus", "tutu"),
    ("wives", "wife"),
    ("women", "woman"),
];

/// Returns a form that the singular and the plural of an English word have in common, by the rules of spelling. It need not
/// be a word: `house` and `houses` give `hous`.
///
/// Like the S stemmer of Harman ("How effective is suffixing?", 1991) it takes off nothing but the plural. Further
/// endings gain nothing on short titles (bench/notes/vectors.md). Indexes and rankers on disk have these forms: another
/// rule needs another name of the tokenizer.
fn singular(word: &str) -> Cow<'_, str> {
    // No rule below changes a word with another ending, and most titles are of such words.
    if !word.ends_with(['e', 'h', 'n', 's', 't']) {
        return word.into();
    }
    let irregular = IRREGULAR.binary_search_by_key(&word, |&(plural, _)| plural);
    let word = irregular.map_or(word, |position| IRREGULAR[position].1);
    let before_s = word.strip_suffix('s').and_then(|stem| Some((stem, stem.chars().next_back()?)));
    let word = match before_s {
        // `lbs` is a plural, `gas` and `bus` are none.
        Some((stem, last)) if stem.chars().nth(1).is_some() && last.is_alphabetic() => {
            let is_short = stem.chars().nth(2).is_none();
            if "siu".contains(last) || (is_short && "aeoy".contains(last)) { word } else { stem }
        }
        _ => word,
    };
    // `boxes` is a `box` and `hoses` are a `hose`: without the e, both are found.
    if word.len() > 3 && ["se", "xe", "ze", "che", "she"].iter().any(|ending| word.ends_with(ending)) {
        return word[..word.len() - 1].into();
    }
    let endings = [("ie", "y"), ("lve", "lf"), ("oe", "o")];
    let replaced = endings.iter().find_map(|(ending, other)| Some((word.strip_suffix(ending)?, other)));
    match replaced {
        // A `fly` and `flies`, but a `tie` and `ties`, a `shoe` and `shoes`.
        Some((stem, ending)) if word.len() > 4 || (*ending == "y" && word.len() > 3) => {
            format!("{stem}{ending}").into()
        }
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::text::words;

    const BOTH: Analysis = Analysis::USUAL;

    #[test]
    fn irregular_plurals_end_as_the_rules_expect() {
        for (plural, singular_form) in IRREGULAR {
            assert_ne!(singular(plural), plural);
            assert_eq!(singular(plural), singular(singular_form));
        }
    }

    #[test]
    fn a_dotted_capital_is_found_without_its_dot() {
        assert_eq!(terms("İSTANBUL Sofas", BOTH), terms("istanbul sofa", BOTH));
    }

    #[test]
    fn plurals_have_the_form_of_their_singulars() {
        // The forms are those of indexes on disk.
        for (forms, form) in [
            ("sofa sofas", "sofa"),
            ("vanity vanities", "vanity"),
            ("fly flies", "fly"),
            ("box boxes", "box"),
            ("hose hoses", "hos"),
            ("house houses", "hous"),
            ("size sizes", "siz"),
            ("brush brushes", "brush"),
            ("bench benches", "bench"),
            ("headache headaches", "headach"),
            ("glass glasses", "glass"),
            ("potato potatoes", "potato"),
            ("shoe shoes", "shoe"),
            ("canoe canoes", "cano"),
            ("cookie cookies", "cooky"),
            ("tie ties", "tie"),
            ("shelf shelves", "shelf"),
            ("valve valves", "valf"),
            ("piece pieces", "piece"),
            ("key keys", "key"),
            ("café cafés", "café"),
            ("lb lbs", "lb"),
            ("tv tvs", "tv"),
            ("lens lenses", "len"),
            ("canvas canvases", "canva"),
            ("leaf leaves", "leaf"),
            ("knife knives", "knife"),
            ("menu menus", "menu"),
            ("woman women", "woman"),
            ("foot feet", "foot"),
            ("mouse mice", "mous"),
        ] {
            assert!(forms.split(' ').all(|word| singular(word) == form), "{forms}: {form}");
        }
        assert!(IRREGULAR.is_sorted());
    }

    #[test]
    fn words_that_only_look_like_plurals_keep_their_s() {
        for word in
            ["gas", "bus", "yes", "glass", "iris", "cactus", "s", "as", "4s", "12s", "és", "é", "", "чашки", "ガス"]
        {
            assert_eq!(singular(word), word);
        }
        // Different words stay different.
        let words = [
            "toe", "to", "bass", "base", "battery", "batter", "lens", "less", "car", "care", "pan", "pane", "dense",
            "den",
        ];
        let forms: std::collections::HashSet<_> = words.iter().map(|word| singular(word)).collect();
        assert_eq!(forms.len(), words.len());
    }

    #[test]
    fn each_analysis_has_a_name() {
        for analysis in Analysis::all() {
            assert_eq!(analysis.to_string().parse(), Ok(analysis));
        }
        assert_eq!(("split,stem".parse(), "stem, split".parse()), (Ok(BOTH), Ok(BOTH)));
        assert_eq!("fold,stem".parse(), Ok(Analysis { stem: true, split: false, fold: true }));
        assert_eq!(BOTH.file_name(), "clickvec-stem-split");
        for bad in ["", "exact,stem", "stem,", "Stem", "stem split", "stem,stem"] {
            assert!(bad.parse::<Analysis>().is_err(), "{bad}");
        }
    }

    #[test]
    fn accents_are_folded_before_anything_else() {
        let all = Analysis { stem: true, split: true, fold: true };
        assert_eq!(terms("Cafés 12è \u{301}", all), ["cafe", "12", "e", "\u{301}"]);
        assert_eq!(terms("Cafés", BOTH), ["café"]);
    }

    #[test]
    fn numbers_are_separated_from_letters() {
        let split = Analysis { split: true, ..Analysis::EXACT };
        assert_eq!(terms("12in 4x8ft M18 2x", split), ["12", "in", "4", "x", "8", "ft", "m", "18", "2", "x"]);
        assert_eq!(terms("12in 4x8ft", Analysis::EXACT), ["12in", "4x8ft"]);
        assert_eq!(terms("100WATTS 60-inches", BOTH), ["100", "watt", "60", "inch"]);
        // A mark stays with its letter, and digits of other scripts are numbers too.
        assert_eq!(terms("5कि ٣x", split), ["5", "कि", "٣", "x"]);
        assert_eq!(terms("Sofas", BOTH), ["sofa"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

        #[test]
        fn terms_are_the_words_cut_and_shortened(text in prop_oneof![any::<String>(), "[a-z0-9éx ]*", "([a-z]{0,3}[aeiosxzlv]{0,2}(es|s)? ){0,9}"]) {
            prop_assert_eq!(terms(&text, Analysis::EXACT), words(&text));
            let split = Analysis { split: true, ..Analysis::EXACT };
            prop_assert_eq!(terms(&text, split).concat(), words(&text).concat());
            for analysis in Analysis::all() {
                for term in terms(&text, analysis) {
                    prop_assert!(!term.is_empty());
                    // To analyse a term again changes at most its form, and cuts nothing.
                    prop_assert_eq!(terms(&term, Analysis { stem: false, ..analysis }).len(), 1, "{}", term);
                }
            }
        }
    }
}
