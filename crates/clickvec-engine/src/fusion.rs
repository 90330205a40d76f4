//! How the list of the vectors and that of the words are fused, as it is stored in an index.

use std::path::Path;

use clickvec::internals::ranker::{FusionFile, fusion_members};
use clickvec::ranker::{FUSED_DEPTH, FusionMethod, RECIPROCAL_RANK_K};
use serde::{Deserialize, Serialize};

use crate::error::{EngineFault, Error, Result};
use crate::facts::FusionFacts;
use crate::words;

/// The number of titles that each part finds for the fusion of an index for which none was fitted. A title that is further down gets less than a
/// sixth of what the first one gets. Among 53,000 titles 99.6 % of the first ten, and all of the first three, are those of lists
/// of 1,000, at a third of the time.
const RANKS_DEPTH: usize = 300;

/// Method and weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// How scores are made comparable.
    pub method: FusionMethod,
    /// The weight of the vectors.
    pub vectors: f64,
    /// The weight of the words.
    pub words: f64,
    /// k₁ and b of the BM25 with which the weights were fitted, if they are not those of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_at: Option<(f64, f64)>,
}

/// Reciprocal ranks, both with the same weight.
impl Default for Fusion {
    fn default() -> Fusion {
        let method = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
        Fusion { method, vectors: 0.5, words: 0.5, fitted_at: None }
    }
}

impl Fusion {
    /// The fusion in a file of `evaluate --save-rankers`: of a model and `bm25`.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] if it cannot be read; [`Error::Index`] if it has other members, or another model than the one with
    /// this fingerprint.
    pub fn read(path: &Path, model: &str) -> Result<Fusion> {
        let FusionFile { method, members } = fusion_members(path)?;
        let fault = |fault| Error::index(path, fault);
        let mut fusion = Fusion { method, vectors: 0.0, words: 0.0, fitted_at: None };
        let mut seen = [false; 2];
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
                    let at = (value("k1"), value("b"));
                    fusion.fitted_at = (at != (words::K1, words::B)).then_some(at);
                    1
                }
                Some((other, _)) => return Err(fault(EngineFault::FusedSystem { found: (*other).to_owned() })),
            };
            if std::mem::replace(&mut seen[place], true) {
                return Err(fault(EngineFault::FusedSystem {
                    found: ["a second model", "a second bm25"][place].to_owned(),
                }));
            }
            *[&mut fusion.vectors, &mut fusion.words][place] = member.weight;
        }
        Ok(fusion)
    }

    /// The number of titles that each part finds, at least. For fitted weights it is that of the library, so that the index
    /// finds what they were fitted on: what a title is worth depends on the list that it is in.
    pub(crate) fn depth(&self) -> usize {
        if *self == Fusion::default() { RANKS_DEPTH } else { FUSED_DEPTH }
    }

    pub(crate) fn facts(&self) -> FusionFacts {
        let Fusion { method, vectors, words, .. } = *self;
        FusionFacts { method, vectors, words, depth: self.depth() }
    }
}
