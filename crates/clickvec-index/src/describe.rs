//! The description of an opened index.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Result;
use crate::facts::{Facts, ModelFacts};
use crate::finders::finder;
use crate::manifests::Manifests;
use crate::open::{Index, bytes};
use crate::part::Part;

/// The parts of an index on disk and their files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexFiles {
    /// The kind of each part, by name.
    pub parts: BTreeMap<String, String>,
    /// The length of each file in bytes, by name.
    pub files: BTreeMap<String, u64>,
}

impl Index {
    /// Returns the facts of the index.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| facts(self))
    }

    /// Returns the parts and the files of the index on disk, as its manifests name them.
    ///
    /// # Errors
    ///
    /// Those of [`Index::open`], if the index is no longer there.
    pub fn files(&self) -> Result<IndexFiles> {
        let manifests = Manifests::read(&self.path)?;
        let first = &manifests.own;
        let parts = first.parts().iter().map(|(name, part)| (name.clone(), part.kind.clone())).collect();
        let mut files: BTreeMap<String, u64> = first.files().map(|(name, file)| (name.clone(), file.bytes)).collect();
        for folder in manifests.into_segments()?.iter().filter(|folder| folder.path() != self.path) {
            let inside = folder.path().strip_prefix(&self.path).unwrap_or(folder.path()).to_string_lossy();
            files.extend(folder.files().map(|(name, file)| (format!("{inside}/{name}"), file.bytes)));
        }
        Ok(IndexFiles { parts, files })
    }
}

fn facts(index: &Index) -> Facts {
    let Index { written, fusion, segments, .. } = index;
    let model = &index.model.model;
    let deleted = index.deleted_titles() as u64;
    let is_in = |part: &Part| finder(*part).is_in(fusion);
    Facts {
        titles: index.all_titles() as u64 - deleted,
        without_vector: written.without_vector,
        deleted,
        segments: segments.len(),
        fingerprint: written.fingerprint.clone(),
        version: written.version.clone(),
        made: written.made,
        bytes: bytes(segments, |_| true),
        model: ModelFacts {
            fingerprint: model.fingerprint().to_owned(),
            made: written.model_made,
            encoder: model.encoder_config().kind().to_owned(),
            dimension: model.dimension(),
        },
        parts: Part::ALL.into_iter().filter(is_in).map(|part| (part, finder(part).facts(fusion, segments))).collect(),
        fusion: fusion.facts(),
        fields: segments[0].segment.fields.0.iter().map(|column| column.facts()).collect(),
    }
}
