//! The fusion of the lists of an index's parts.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use clickvec::index::Hit;
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec::train::Accents;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, malformed};
use crate::facts::FusionFacts;
use crate::folder::Folder;
use crate::fusion_method::{FusionMethod, fused_shares, sum_shares};
use crate::part::{ByPart, Part};
use crate::parts::teacher::Teacher;
use crate::parts::trigrams::Trigrams;
use crate::parts::words::Bm25;
use crate::title_match::TitleMatch;

/// The number of titles that each part finds for the default fusion. Longer lists take longer and are no better on real
/// queries (docs/explanation/defaults.md).
const DEFAULT_DEPTH: usize = 50;
/// The least number for a request that counts the values of titles, or that boosts titles further down.
const REORDERED_DEPTH: usize = 300;
/// The same for weights of a user, which may count a part more than the default does.
const CUSTOM_DEPTH: usize = 1000;
/// The cosine that a point of BM25 is worth. Anything from .02 to .03 is as good.
const WORDS_WEIGHT: f64 = 0.025;
/// The same for a model that was trained on titles alone.
const WORDS_WEIGHT_WITHOUT_CLICKS: f64 = 0.05;
/// The weight of a teacher's cosine next to the model's (docs/how-to/teacher.md).
const TEACHER_WEIGHT: f64 = 0.3;
pub(crate) const FUSION_FILE: &str = "fusion.json";

/// Method and weights, and the data of the parts for all segments. Serialized, without the data, which has files of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// The method that makes scores comparable.
    pub method: FusionMethod,
    /// The weight of each part that the index has. A part with weight 0 takes no part in the fusion.
    pub weights: ByPart<f64>,
    /// The trigrams, if they have a weight; `None` as well until the titles that they are learnt from are there.
    #[serde(skip)]
    pub trigrams: Option<Trigrams>,
    /// The teacher's vectors, if they have a weight.
    #[serde(skip)]
    pub teacher: Option<Teacher>,
    /// The BM25 of the words.
    pub bm25: Bm25,
    /// The changes to words, in titles and queries, before they are compared.
    pub analysis: Analysis,
    /// The weights of re-ranking. It adds to sums of scores alone, those of [`FusionMethod::Linear`].
    pub title_match: TitleMatch,
    /// Whether a user chose the weights, instead of the default.
    pub custom: bool,
}

/// The default of [`Fusion::for_model`] for a model that was trained on clicks.
impl Default for Fusion {
    fn default() -> Fusion {
        Fusion {
            method: FusionMethod::Linear,
            weights: [(Part::Vectors, 1.0), (Part::Words, WORDS_WEIGHT)].into(),
            trigrams: None,
            teacher: None,
            bm25: Bm25::TITLES,
            analysis: Analysis::USUAL,
            title_match: TitleMatch::WEIGHTS,
            custom: false,
        }
    }
}

impl Fusion {
    /// Returns the default for the vectors of a model: the cosine plus a small share of the BM25 of stems and numbers, larger if the
    /// model has not learnt from clicks, and re-ranking. Words have accents if the model's have. It was the best on complete
    /// judgments, and needs to know nothing of the scores before the first search (docs/explanation/defaults.md).
    pub fn for_model(model: &Model) -> Fusion {
        let words = if model.training().log.pairs > 0 { WORDS_WEIGHT } else { WORDS_WEIGHT_WITHOUT_CLICKS };
        let fold = model.training().config.text.accents == Accents::Fold;
        let weights = [(Part::Vectors, 1.0), (Part::Words, words)].into();
        Fusion { weights, analysis: Analysis { fold, ..Analysis::USUAL }, ..Fusion::default() }
    }

    /// This fusion with a teacher as a part, which adds a share of its cosine.
    pub fn with_teacher(mut self, teacher: Teacher) -> Fusion {
        self.weights.insert(Part::Teacher, TEACHER_WEIGHT);
        Fusion { teacher: Some(teacher), ..self }
    }

    /// Sets the method and the weights that a user chose. Parts that have no weight here keep theirs; a weight of 0 drops the
    /// trigrams or the teacher. Trigrams are learnt anew from the titles of the index that is made. Re-ranking counts
    /// as much as before in proportion to the vectors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] for weights that are no finite numbers of 0 or more, or are all 0, and for that of a missing teacher.
    pub fn with_weights(mut self, method: FusionMethod, chosen: &ByPart<f64>) -> Result<Fusion> {
        let setting = |expected: &'static str, found: String| Error::expected(ErrorKind::Setting, expected, found);
        for (part, &weight) in chosen.iter() {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(setting("weights of 0 or more", format!("{weight} for {part}")));
            }
            self.weights.insert(part, weight);
        }
        if self.weight(Part::Teacher) > 0.0 && self.teacher.is_none() {
            let error =
                setting("weights of vectors, words and trigrams", "one of a teacher, which there is not".to_owned());
            return Err(error.help("build the index with a transformer as the teacher"));
        }
        let optional = [Part::Trigrams, Part::Teacher];
        let counts = |part: Part, weight: f64| weight > 0.0 || !optional.contains(&part);
        self.weights = self
            .weights
            .iter()
            .map(|(part, &weight)| (part, weight))
            .filter(|&(part, weight)| counts(part, weight))
            .collect();
        if self.weights.iter().all(|(_, &weight)| weight == 0.0) {
            return Err(setting("a weight above 0", "none".to_owned()));
        }
        let title_match = match method {
            FusionMethod::Linear => TitleMatch::WEIGHTS.scaled(self.weight(Part::Vectors) as f32),
            _ => TitleMatch::default(),
        };
        let teacher = self.teacher.filter(|_| self.weights.get(Part::Teacher).is_some());
        Ok(Fusion { method, title_match, teacher, trigrams: None, custom: true, ..self })
    }

    /// Opens the fusion that an index keeps.
    pub(crate) fn open(folder: &Folder) -> Result<Fusion> {
        let path = folder.path().join(FUSION_FILE);
        let fusion: Fusion = folder.json(FUSION_FILE)?;
        let Fusion { weights, bm25, title_match, .. } = &fusion;
        if !title_match.are_weights() {
            return Err(malformed(&path, "weights of 0 or more in title_match", format!("{title_match:?}")));
        }
        if Bm25::new(bm25.k1, bm25.b).is_none() {
            let found = format!("{} and {}", bm25.k1, bm25.b);
            return Err(malformed(&path, "k1 of 0 or more and b from 0 to 1", found));
        }
        for part in Part::ALL {
            let (has_weight, is_there) = (weights.get(part).is_some(), folder.has(part.name()));
            if has_weight != is_there {
                let found = if has_weight { "one without it" } else { "it without a weight" };
                return Err(malformed(&path, format!("a weight for {part} in an index with {part} only"), found));
            }
        }
        let trigrams = weights.get(Part::Trigrams).map(|_| Trigrams::open(folder)).transpose()?;
        let teacher = weights.get(Part::Teacher).map(|_| Teacher::open(folder)).transpose()?;
        Ok(Fusion { trigrams, teacher, ..fusion })
    }

    /// Returns the weight of a part; 0 if the index does not have it.
    pub fn weight(&self, part: Part) -> f64 {
        self.weights.get(part).copied().unwrap_or(0.0)
    }

    /// Returns the least number of titles that each part finds.
    pub(crate) fn depth(&self) -> usize {
        if self.custom { CUSTOM_DEPTH } else { DEFAULT_DEPTH }
    }

    /// Returns the least number of titles that each part finds for a request with boosts or facets.
    pub(crate) fn reordered_depth(&self) -> usize {
        self.depth().max(REORDERED_DEPTH)
    }

    /// Fuses the lists of all parts into one. Also returns the contribution of each entry of each list.
    pub(crate) fn fuse(&self, lists: &ByPart<Vec<Hit>>, depth: usize) -> (Vec<Hit>, ByPart<Vec<(u32, f64)>>) {
        let adds = lists.map(|part, list| {
            let weight = self.weight(part);
            match self.method {
                // Every title of any list has its score by each part, so that the sum is that of the scores as they are.
                FusionMethod::Linear => list.iter().map(|hit| (hit.position, weight * f64::from(hit.score))).collect(),
                _ => fused_shares(list, weight, self.method, depth),
            }
        });
        (sum_shares(&adds.iter().map(|(_, adds)| adds.clone()).collect::<Vec<_>>()), adds)
    }

    pub(crate) fn facts(&self) -> FusionFacts {
        FusionFacts { method: self.method, weights: self.weights, custom: self.custom, depth: self.depth() }
    }

    /// Creates the error of joining an index with this fusion with one that has another. `other` is the path of the latter.
    pub(crate) fn other_than(&self, path: &Path, expected: &Fusion, other: &Path) -> Error {
        let (shown, mut found) = (expected.to_string(), self.to_string());
        if shown == found {
            found += ", with other weights of its trigrams or another teacher";
        }
        let expected = format!("the fusion of `{}`, {shown}", clickvec_tables::shown::shown(other));
        Error::expected(ErrorKind::Mismatch, expected, found)
            .help("join indexes with one fusion, or choose one")
            .at(path)
    }
}

impl Display for Fusion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.method.name())?;
        if let FusionMethod::ReciprocalRank { k } = self.method {
            write!(f, " with k {k}")?;
        }
        let weights: Vec<String> = self.weights.iter().map(|(part, weight)| format!("{part} ({weight})")).collect();
        write!(f, " of {}", weights.join(" and "))?;
        write!(f, " with k1 {} and b {}, analysed by `{}`", self.bm25.k1, self.bm25.b, self.analysis)?;
        f.write_str(if self.custom { "" } else { " (default)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusions_that_differ_are_shown_apart() {
        let weights = [(Part::Vectors, 0.25), (Part::Words, 0.5), (Part::Trigrams, 0.25)].into();
        let one = Fusion { weights, custom: true, ..Fusion::default() };
        let (a, b) = (Path::new("a"), Path::new("b"));
        let shown = "linear of vectors (0.25) and words (0.5) and trigrams (0.25) with k1 0.5 and b 0.4, analysed by `stem,split`";
        let alike = one.other_than(b, &one, a).to_string();
        let more = "with other weights of its trigrams or another teacher; join indexes with one fusion, or choose one";
        assert_eq!(alike, format!("b: expected the fusion of `a`, {shown}, found {shown}, {more}"));
    }
}
