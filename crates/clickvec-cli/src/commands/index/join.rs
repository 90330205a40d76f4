//! Indexes joined into one, and what a new index lacks of the one that it replaces.

use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::internals::text::Analysis;
use clickvec_index::{BuiltIndex, Fusion, Index, looks_like_index};

use super::Args;
use crate::{input, output};

/// Joins indexes.
pub(super) fn join(args: &Args) -> Result<BuiltIndex> {
    let fusion = match (&args.model, args.join.first()) {
        (Some(model), Some(first)) => {
            ensure!(
                input::is_fusion(model),
                "{}: expected a fusion with `--join`, found another file, or none; `evaluate --save-rankers FOLDER` writes fusions, such as FOLDER/fusion_linear.safetensors, and \
                 the indexes to join have their model",
                output::path(model)
            );
            Some(Fusion::read(model, Index::open(first)?.model().fingerprint())?)
        }
        _ => None,
    };
    if args.words.is_some() {
        for index in &args.join {
            ensure!(
                !Index::open(index)?.fusion().custom,
                "{}: expected an index with the default fusion with `--words`, found another fusion; its weights are for the way \
                 in which it compares words. Leave `--words` out, or give another fusion (`--model`)",
                output::path(index)
            );
        }
    }
    let before = replaced(&args.output)?;
    let joined = clickvec_index::join(&args.join, &args.output, fusion.as_ref(), args.words, args.vectors)?;
    note_what_is_lost(&args.output, before, Index::open(&args.output)?.fusion(), args.words);
    Ok(joined)
}

/// Returns the fusion of the index that is to be replaced, if there is one.
pub(super) fn replaced(path: &Path) -> Result<Option<Fusion>> {
    looks_like_index(path).then(|| Ok(Index::open(path)?.fusion().clone())).transpose()
}

/// Says what the new index lacks of the one that it replaces, unless `words` were given.
pub(super) fn note_what_is_lost(output: &Path, before: Option<Fusion>, now: &Fusion, words: Option<Analysis>) {
    let (Some(before), replaced) = (before, output::path(output)) else { return };
    if before.custom && !now.custom {
        output::note(format_args!(
            "warning: {replaced}: the index that is replaced has a fusion of its own, and the new one has the default; `--model FUSION` gives \
             it one"
        ));
    } else if before.teacher.is_some() && now.teacher.is_none() {
        output::note(format_args!(
            "warning: {replaced}: the index that is replaced has a teacher, and the new one has none; `clickvec build --teacher FOLDER` gives \
             it one, and `clickvec update` keeps it"
        ));
    } else if words.is_none() && before.analysis != now.analysis {
        let (how, now) = (before.analysis, now.analysis);
        output::note(format_args!(
            "warning: {replaced}: the index that is replaced compares words by `{how}`, and the new one by `{now}`; \
             `--words {how}`, or a fusion whose `bm25` does so, keeps that"
        ));
    }
}
