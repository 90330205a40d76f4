//! The last step of an index: words, lists and everything else that follows from its titles and vectors.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{BuiltIndex, Fusion, Index, IndexBuilder, VectorFormat, looks_like_index};

use crate::output;

/// The largest number of ids to show of titles that a catalogue lacks.
const SHOWN: usize = 3;

/// How an index is finished.
pub(super) struct Finish<'m> {
    model: &'m Model,
    fusion: Fusion,
    /// How words are to be compared, if somebody said so.
    words: Option<Analysis>,
    format: VectorFormat,
}

impl<'m> Finish<'m> {
    /// For an index with this model.
    pub(super) fn new(
        model: &'m Model,
        fusion: Option<&Path>,
        words: Option<Analysis>,
        vectors: Option<VectorFormat>,
    ) -> Result<Finish<'m>> {
        let mut fusion = fusion_of(fusion, model.fingerprint())?;
        if let Some(analysis) = words {
            fusion.analysis = analysis;
        }
        Ok(Finish { model, fusion, words, format: vectors.unwrap_or_default() })
    }

    /// Says what the new index lacks of the one at `output`.
    pub(super) fn note_what_is_lost(&self, output: &Path) -> Result<()> {
        note_what_is_lost(output, fusion_at(output)?, &self.fusion, self.words);
        Ok(())
    }

    pub(super) fn finish(self, builder: IndexBuilder) -> Result<BuiltIndex> {
        let step = crate::progress::step("indexing words and vectors");
        let built = clickvec_index::finish(builder, self.model, &self.fusion, self.format)?;
        step.finish_and_clear();
        Ok(built)
    }
}

/// What an index keeps when it is made again with another model.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// The column that the texts come from; none if there is no index yet.
    pub(crate) field: Option<String>,
    /// The stored fields.
    pub(crate) fields: Vec<String>,
    fusion: Fusion,
    format: VectorFormat,
}

/// The titles of an index that a catalogue lacks: added to the index after the catalogue was written, or no longer sold.
#[derive(Debug, Default)]
pub(crate) struct Unlisted {
    /// How many there are.
    pub(crate) count: u64,
    /// Whether the index has no other title.
    pub(crate) is_all: bool,
    /// The ids of the first few.
    pub(crate) first: Vec<String>,
    /// All of them with their stored values, if they are to be kept.
    pub(crate) titles: Vec<(Title, Vec<String>)>,
}

impl Unlisted {
    /// Checks that no file of the index at `path` is damaged, if there is one: titles that are kept would come out with a checksum
    /// that says they are sound.
    pub(crate) fn check(path: &Path) -> Result<()> {
        if looks_like_index(path) {
            Index::open(path)?.check()?;
        }
        Ok(())
    }

    /// The titles of the index at `path` that have none of the ids `listed`; none if there is no index yet.
    pub(crate) fn of(path: &Path, listed: &HashSet<String>, is_kept: bool) -> Result<Unlisted> {
        let mut unlisted = Unlisted::default();
        if !looks_like_index(path) {
            return Ok(unlisted);
        }
        let index = Index::open(path)?;
        if is_kept {
            index.check()?;
        }
        let mut all = 0;
        index.for_each_title(|mut title| {
            all += 1;
            if listed.contains(&title.id) {
                return Ok(());
            }
            unlisted.count += 1;
            if unlisted.first.len() < SHOWN {
                unlisted.first.push(title.id.clone());
            }
            if is_kept {
                let values = index.stored_fields().iter().map(|name| title.fields.remove(name).unwrap_or_default());
                let values = values.collect();
                unlisted.titles.push((Title { id: title.id, title: title.title }, values));
            }
            Ok(())
        })?;
        unlisted.is_all = all > 0 && unlisted.count == all;
        Ok(unlisted)
    }
}

impl Kept {
    /// What the index at `path` keeps; nothing if there is none yet. That weights were fitted with another model is told.
    pub(crate) fn of(path: &Path) -> Result<Kept> {
        let kept = Kept::read(path)?;
        if kept.fusion.fitted {
            output::note(format_args!(
                "{}: the fitted weights of its fusion stay, though they were fitted with the old model",
                output::path(path)
            ));
        }
        Ok(kept)
    }

    /// What the index at `path` keeps; nothing if there is none yet.
    pub(crate) fn read(path: &Path) -> Result<Kept> {
        if !looks_like_index(path) {
            return Ok(Kept::default());
        }
        let before = Index::open(path)?;
        if let Some(shard) = before.shard() {
            anyhow::bail!(
                "{}: expected an index of all titles, found shard {shard}, which would get the titles of the others too; join the \
                 shards first (`clickvec index --join`)",
                output::path(path)
            );
        }
        let (fields, format) = (before.stored_fields().to_vec(), before.vector_format());
        let fusion = before.fusion().clone();
        Ok(Kept { field: Some(before.field().to_owned()), fields, fusion, format })
    }

    pub(crate) fn finish(&self, builder: IndexBuilder, model: &Model) -> Result<BuiltIndex> {
        let step = crate::progress::step("indexing words and vectors");
        let built = clickvec_index::finish(builder, model, &self.fusion, self.format)?;
        step.finish_and_clear();
        Ok(built)
    }
}

/// Returns the fusion of the index that is to be replaced, if there is one.
fn fusion_at(path: &Path) -> Result<Option<Fusion>> {
    looks_like_index(path).then(|| Ok(Index::open(path)?.fusion().clone())).transpose()
}

/// Says what the new index lacks of the one that it replaces, unless `words` were given.
fn note_what_is_lost(output: &Path, before: Option<Fusion>, now: &Fusion, words: Option<Analysis>) {
    let (Some(before), replaced) = (before, output::path(output)) else { return };
    if before.fitted && !now.fitted {
        output::note(format_args!(
            "warning: {replaced}: the index that is replaced has a fitted fusion, and the new one has none; `--fusion FUSION` gives \
             it one"
        ));
    } else if words.is_none() && before.analysis != now.analysis && now.analysis == Analysis::EXACT {
        let how = before.analysis;
        output::note(format_args!(
            "warning: {replaced}: the index that is replaced compares words by `{how}`, and the new one compares them as they are; \
             `--words {how}`, or a fusion whose `bm25` does so, keeps that"
        ));
    }
}

/// Joins indexes.
pub(super) fn join(
    indexes: &[PathBuf],
    output: &Path,
    fusion: Option<&Path>,
    words: Option<Analysis>,
    vectors: Option<VectorFormat>,
) -> Result<BuiltIndex> {
    let fusion = match (fusion, indexes.first()) {
        (Some(fusion), Some(first)) => Some(fusion_of(Some(fusion), Index::open(first)?.model().fingerprint())?),
        _ => None,
    };
    if words.is_some() {
        for index in indexes {
            anyhow::ensure!(
                !Index::open(index)?.fusion().fitted,
                "{}: expected an index without a fitted fusion with `--words`, found one with; its weights were fitted for the way \
                 in which it compares words. Leave `--words` out, or give another fusion (`--fusion`)",
                output::path(index)
            );
        }
    }
    let before = fusion_at(output)?;
    let joined = clickvec_index::join(indexes, output, fusion.as_ref(), words, vectors)?;
    note_what_is_lost(output, before, Index::open(output)?.fusion(), words);
    Ok(joined)
}

fn fusion_of(path: Option<&Path>, model: &str) -> Result<Fusion> {
    let Some(path) = path else { return Ok(Fusion::default()) };
    super::fusion::refuse_no_file(path)?;
    Ok(Fusion::read(path, model)?)
}
