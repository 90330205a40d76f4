//! How the lists of an index are fused: that of the vectors, that of the words and, if a fusion has them, those of the trigrams and
//! of a teacher's vectors.

use std::path::Path;
use std::sync::Arc;

use clickvec::internals::text::Analysis;
use clickvec_eval::internals::{FusionFile, LetterTrigrams, fusion_members};
use clickvec_eval::ranker::{FUSED_DEPTH, FusionMethod, RECIPROCAL_RANK_K};
use serde::{Deserialize, Serialize};

use crate::bm25::Bm25;
use crate::error::{EngineFault, Error, FusionFound, Result};
use crate::facts::{Choices, FusionFacts};
use crate::teacher::Teacher;
use crate::trigrams::Trigrams;

/// The number of titles that each part finds for the fusion of an index for which none was fitted. Lists of 1,000 take three times
/// as long, and are no better on real queries (docs/explanation/defaults.md).
const UNFITTED_DEPTH: usize = 300;

/// Method and weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Fusion {
    /// How scores are made comparable.
    pub method: FusionMethod,
    /// The weight of the vectors. A part with weight 0 takes no part: it finds nothing.
    pub vectors: f64,
    /// The weight of the words.
    pub words: f64,
    /// The trigrams; `None` if they take no part.
    pub trigrams: Option<Trigrams>,
    /// The teacher's vectors; `None` if they take no part.
    pub teacher: Option<Teacher>,
    /// The BM25 of the words.
    pub bm25: Bm25,
    /// What is done to words, in titles and queries, before they are compared.
    pub analysis: Analysis,
    /// Whether somebody gave it, and it is not the one of an index without any.
    pub is_given: bool,
}

/// A [`Fusion`] as an index keeps it. The trigrams and the teacher are in files of their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    method: FusionMethod,
    vectors: f64,
    words: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trigrams: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) teacher: Option<f64>,
    #[serde(default, skip_serializing_if = "is_usual")]
    pub(crate) bm25: Bm25,
    #[serde(default, skip_serializing_if = "is_exact")]
    pub(crate) analysis: Analysis,
    /// The first versions did not say so.
    #[serde(default)]
    given: Option<bool>,
}

fn is_usual(bm25: &Bm25) -> bool {
    *bm25 == Bm25::USUAL
}

fn is_exact(analysis: &Analysis) -> bool {
    *analysis == Analysis::EXACT
}

impl Kept {
    pub(crate) fn of(fusion: &Fusion) -> Kept {
        let Fusion { method, vectors, words, bm25, analysis, is_given, .. } = *fusion;
        let trigrams = fusion.trigrams.as_ref().map(|of| of.weight);
        let teacher = fusion.teacher.as_ref().map(|of| of.weight);
        Kept { method, vectors, words, trigrams, teacher, bm25, analysis, given: Some(is_given) }
    }

    /// What an index has that keeps it.
    pub(crate) fn choices(&self) -> Choices {
        let Kept { method, vectors, words, trigrams, teacher, bm25, analysis, .. } = *self;
        let has_fusion = trigrams.is_some() || teacher.is_some() || self.clone().with(None, None).is_given;
        let depth = if has_fusion { FUSED_DEPTH } else { UNFITTED_DEPTH };
        Choices { has_fusion, fusion: FusionFacts { method, vectors, words, trigrams, teacher, depth }, bm25, analysis }
    }

    /// The fusion, with the trigrams and the teacher that are kept with it.
    pub(crate) fn with(self, ranker: Option<LetterTrigrams>, teacher: Option<Teacher>) -> Fusion {
        let Kept { method, vectors, words, trigrams, bm25, analysis, given, .. } = self;
        let trigrams = trigrams.zip(ranker).map(|(weight, ranker)| Trigrams { weight, ranker: Arc::new(ranker) });
        let mut fusion = Fusion { method, vectors, words, trigrams, teacher, bm25, analysis, is_given: false };
        fusion.is_given = given.unwrap_or_else(|| {
            // What nobody gave was by reciprocal ranks then.
            let method = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
            fusion != Fusion { method, ..Fusion::default() }.analysed(analysis)
        });
        fusion
    }
}

/// Scores from 0 to 1, both with the same weight: the best on real queries of what needs to know nothing of the scores before the
/// first search (docs/explanation/defaults.md).
impl Default for Fusion {
    fn default() -> Fusion {
        let method = FusionMethod::MinMax;
        let (bm25, analysis) = (Bm25::USUAL, Analysis::EXACT);
        let (trigrams, teacher) = (None, None);
        Fusion { method, vectors: 0.5, words: 0.5, trigrams, teacher, bm25, analysis, is_given: false }
    }
}

impl Fusion {
    /// What an index of this fusion has.
    pub fn choices(&self) -> Choices {
        Kept::of(self).choices()
    }

    /// The fusion of an index that is made anew: the same if somebody gave it, and otherwise the present default, because an
    /// earlier version may have had another.
    pub fn renewed(self) -> Fusion {
        if self.is_given { self } else { Fusion::default().analysed(self.analysis) }
    }

    /// The same fusion of words that are analysed in this way.
    pub fn analysed(self, analysis: Analysis) -> Fusion {
        Fusion { analysis, ..self }
    }

    /// The fusion in a file of `evaluate --save-rankers`: of a model and `bm25`, with or without `trigram` and `vectors`. A member whose weight
    /// is 0 takes no part.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if it cannot be read; [`Error::Index`] if it has other members, or another model than the one with
    /// this fingerprint.
    pub fn read(path: &Path, model: &str) -> Result<Fusion> {
        let FusionFile { method, members } = fusion_members(path, &clickvec_eval::ranker::SYSTEMS)?;
        let fault = |fault| Error::index(path, fault);
        let mut fusion = Fusion { method, vectors: 0.0, words: 0.0, is_given: true, ..Fusion::default() };
        let mut seen = [false; 4];
        for member in members {
            let place = match &member.system {
                None if member.fingerprint != model => {
                    let (expected, found) = (model.to_owned(), member.fingerprint);
                    return Err(fault(EngineFault::FusedModel { expected, found }));
                }
                None => 0,
                Some(("bm25", parameters)) => {
                    let value =
                        |name: &str| parameters.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, x)| *x);
                    let (k1, b) = (value("k1"), value("b"));
                    fusion.bm25 = Bm25::new(k1, b).ok_or_else(|| {
                        fault(EngineFault::FusedSystem { found: format!("`bm25` with k1 {k1} and b {b}") })
                    })?;
                    fusion.analysis = Analysis { stem: value("stem") == 1.0, split: value("split") == 1.0 };
                    1
                }
                Some(("trigram", _)) => {
                    if member.weight > 0.0 {
                        let ranker = Arc::new(LetterTrigrams::load(&member.path)?);
                        fusion.trigrams = Some(Trigrams { weight: member.weight, ranker });
                    }
                    2
                }
                Some(("vectors", _)) => {
                    if member.weight > 0.0 {
                        fusion.teacher = Some(Teacher::load(&member.path, member.weight)?);
                    }
                    3
                }
                Some((other, _)) => return Err(fault(EngineFault::FusedSystem { found: (*other).to_owned() })),
            };
            if std::mem::replace(&mut seen[place], true) {
                return Err(fault(EngineFault::FusedSystem {
                    found: ["a second model", "a second bm25", "a second trigram", "a second vectors"][place]
                        .to_owned(),
                }));
            }
            match place {
                0 => fusion.vectors = member.weight,
                1 => fusion.words = member.weight,
                _ => {}
            }
        }
        Ok(fusion)
    }

    /// The weights of the vectors, the words, the trigrams and the teacher.
    pub(crate) fn weights(&self) -> [f64; 4] {
        let trigrams = self.trigrams.as_ref().map_or(0.0, |trigrams| trigrams.weight);
        [self.vectors, self.words, trigrams, self.teacher.as_ref().map_or(0.0, |teacher| teacher.weight)]
    }

    /// The number of titles that each part finds, at least. For fitted weights it is that of the library, so that the index
    /// finds what they were fitted on: what a title is worth depends on the list that it is in.
    pub(crate) fn depth(&self) -> usize {
        if self.is_given { FUSED_DEPTH } else { UNFITTED_DEPTH }
    }

    /// The fusion as messages tell it.
    pub(crate) fn found(&self) -> FusionFound {
        let Fusion { method, vectors, words, ref trigrams, ref teacher, bm25, analysis, is_given } = *self;
        let trigrams = trigrams.as_ref().map(|of| (of.weight, of.ranker.len()));
        let teacher = teacher.as_ref().map(|of| (of.weight, of.ranker.dimension()));
        FusionFound { method, vectors, words, trigrams, teacher, bm25, analysis, is_given }
    }

    pub(crate) fn facts(&self) -> FusionFacts {
        let Fusion { method, vectors, words, ref trigrams, ref teacher, .. } = *self;
        let (trigrams, teacher) = (trigrams.as_ref().map(|of| of.weight), teacher.as_ref().map(|of| of.weight));
        FusionFacts { method, vectors, words, trigrams, teacher, depth: self.depth() }
    }
}
