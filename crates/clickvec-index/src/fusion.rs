//! How the lists of an index's parts are fused.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::Arc;

use clickvec::index::Hit;
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec_eval::internals::{FusionFile as Members, LetterTrigrams, fused_shares, fusion_members, sum_shares};
use clickvec_eval::ranker::{FUSED_DEPTH, FusionMethod, SYSTEMS};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, malformed, mismatch};
use crate::facts::FusionFacts;
use crate::folder::{Folder, FolderWriter};
use crate::part::{ByPart, Part};
use crate::parts::teacher::Teacher;
use crate::parts::trigrams::Trigrams;
use crate::parts::words::Bm25;
use crate::title_match::TitleMatch;

/// The number of titles that each part finds for the default fusion. Lists of 1,000 take three times
/// as long, and are no better on real queries (docs/explanation/defaults.md).
const DEFAULT_DEPTH: usize = 300;
/// What a point of BM25 adds to a cosine. Anything from .02 to .03 is as good.
const WORDS_WEIGHT: f64 = 0.025;
/// The same for a model that has learnt from titles alone.
const WORDS_WEIGHT_WITHOUT_CLICKS: f64 = 0.05;
/// What a teacher's cosine adds to a cosine (docs/how-to/teacher.md).
const TEACHER_WEIGHT: f64 = 0.3;
const FUSION_FILE: &str = "fusion.json";

/// Method and weights, and what the parts need for all segments.
#[derive(Debug, Clone, PartialEq)]
pub struct Fusion {
    /// How scores are made comparable.
    pub method: FusionMethod,
    /// The weight of each part that the index has. A part with weight 0 takes no part in the fusion.
    pub weights: ByPart<f64>,
    /// The trigrams, if they have a weight.
    pub trigrams: Option<Trigrams>,
    /// The teacher's vectors, if they have a weight.
    pub teacher: Option<Teacher>,
    /// The BM25 of the words.
    pub bm25: Bm25,
    /// What is done to words, in titles and queries, before they are compared.
    pub analysis: Analysis,
    /// The weights of the second look at the best titles. It adds to sums of scores alone, those of [`FusionMethod::Linear`].
    pub title_match: TitleMatch,
    /// Whether a user chose it, with weights that were fitted on judged queries or set by hand, instead of the default.
    pub custom: bool,
}

/// A [`Fusion`] as an index keeps it. The trigrams and the teacher have files of their own.
#[derive(Debug, Serialize, Deserialize)]
struct FusionFile {
    method: FusionMethod,
    weights: ByPart<f64>,
    bm25: Bm25,
    analysis: Analysis,
    title_match: TitleMatch,
    custom: bool,
}

/// That of [`Fusion::for_model`] for a model that has learnt from clicks.
impl Default for Fusion {
    fn default() -> Fusion {
        Fusion {
            method: FusionMethod::Linear,
            weights: [(Part::Vectors, 1.0), (Part::Words, WORDS_WEIGHT)].into(),
            trigrams: None,
            teacher: None,
            bm25: Bm25::TITLES,
            analysis: Analysis { stem: true, split: true },
            title_match: TitleMatch::WEIGHTS,
            custom: false,
        }
    }
}

impl Fusion {
    /// Returns the default for the vectors of a model: the cosine plus a small share of the BM25 of stems and numbers, larger if the
    /// model has not learnt from clicks, and a second look at the best titles. It was the best on complete judgments, and needs to know
    /// nothing of the scores before the first search (docs/explanation/defaults.md).
    pub fn for_model(model: &Model) -> Fusion {
        let words = if model.training().log.pairs > 0 { WORDS_WEIGHT } else { WORDS_WEIGHT_WITHOUT_CLICKS };
        Fusion { weights: [(Part::Vectors, 1.0), (Part::Words, words)].into(), ..Fusion::default() }
    }

    /// This fusion with a teacher as a part, which adds a share of its cosine.
    pub fn with_teacher(mut self, teacher: Teacher) -> Fusion {
        self.weights.insert(Part::Teacher, TEACHER_WEIGHT);
        Fusion { teacher: Some(teacher), ..self }
    }

    /// Reads a fusion that `evaluate --save-rankers` wrote: of the model with this fingerprint and `bm25`, with or without `trigram` and
    /// `vectors`. A member whose weight is 0 takes no part.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`] if it has other members, or another model; whatever reading it returns.
    pub fn read(path: &Path, model: &str) -> Result<Fusion> {
        let Members { method, members } = fusion_members(path, &SYSTEMS)?;
        let members_wrong = |found: String| {
            let expected = "a fusion of one model and `bm25`, with `trigram` and `vectors` or without";
            mismatch(path, expected, format!("one with {found}"))
        };
        let weights = [(Part::Vectors, 0.0), (Part::Words, 0.0)].into();
        let (analysis, title_match) = (Analysis::EXACT, TitleMatch::default());
        let mut fusion = Fusion { method, weights, analysis, title_match, custom: true, ..Fusion::default() };
        let mut seen: Vec<Part> = Vec::new();
        for member in members {
            let weight = member.weight;
            let part = match &member.system {
                None if member.fingerprint != model => {
                    let expected = format!("a fusion with the model {model}, which made the vectors");
                    return Err(mismatch(path, expected, format!("one with {}", member.fingerprint)));
                }
                None => Part::Vectors,
                Some(("bm25", parameters)) => {
                    let value =
                        |name: &str| parameters.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, x)| *x);
                    let (k1, b) = (value("k1"), value("b"));
                    let bm25 = Bm25::new(k1, b);
                    fusion.bm25 = bm25.ok_or_else(|| members_wrong(format!("`bm25` with k1 {k1} and b {b}")))?;
                    fusion.analysis = Analysis { stem: value("stem") == 1.0, split: value("split") == 1.0 };
                    Part::Words
                }
                Some(("trigram", _)) => {
                    if weight > 0.0 {
                        fusion.trigrams = Some(Trigrams(Arc::new(LetterTrigrams::load(&member.path)?)));
                    }
                    Part::Trigrams
                }
                Some(("vectors", _)) => {
                    if weight > 0.0 {
                        fusion.teacher = Some(Teacher::load(&member.path)?);
                    }
                    Part::Teacher
                }
                Some((other, _)) => return Err(members_wrong((*other).to_owned())),
            };
            if seen.contains(&part) {
                let name = member.system.as_ref().map_or("model", |(name, _)| *name);
                return Err(members_wrong(format!("a second {name}")));
            }
            seen.push(part);
            if weight > 0.0 || matches!(part, Part::Vectors | Part::Words) {
                fusion.weights.insert(part, weight);
            }
        }
        Ok(fusion)
    }

    /// Opens the fusion that an index keeps.
    pub(crate) fn open(folder: &Folder) -> Result<Fusion> {
        let path = folder.path().join(FUSION_FILE);
        let FusionFile { method, weights, bm25, analysis, title_match, custom } = folder.json(FUSION_FILE)?;
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
        Ok(Fusion { method, weights, trigrams, teacher, bm25, analysis, title_match, custom })
    }

    /// Writes the fusion into the first segment of an index.
    pub(crate) fn write(&self, folder: &mut FolderWriter) -> Result<()> {
        let Fusion { method, weights, bm25, analysis, title_match, custom, .. } = *self;
        folder.json(FUSION_FILE, &FusionFile { method, weights, bm25, analysis, title_match, custom })?;
        folder.part("fusion", "json", &[FUSION_FILE]);
        Ok(())
    }

    /// Returns the weight of a part; 0 if the index does not have it.
    pub fn weight(&self, part: Part) -> f64 {
        self.weights.get(part).copied().unwrap_or(0.0)
    }

    /// Returns the number of titles that each part finds, at least. For a custom fusion it is that of evaluation, so that the index
    /// finds what its weights were fitted on: what a title is worth depends on the list that it is in.
    pub(crate) fn depth(&self) -> usize {
        if self.custom { FUSED_DEPTH } else { DEFAULT_DEPTH }
    }

    /// Returns one list made of those of all parts, and what each entry of theirs adds to it.
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

    /// Creates the error of an index with this fusion that is joined with one that has another. `other` is the path of the latter.
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
        match self.method {
            FusionMethod::Linear => f.write_str("linear")?,
            FusionMethod::MinMax => f.write_str("min-max")?,
            FusionMethod::ZScore => f.write_str("z-score")?,
            FusionMethod::ReciprocalRank { k } => write!(f, "reciprocal-rank with k {k}")?,
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
