//! Indexes joined into one or linked to, and what a new index lacks of the one that it replaces.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::text::Analysis;
use clickvec_index::{BuiltIndex, Fusion, Index, looks_like_index};

use super::Args;
use crate::console;

/// Joins indexes.
pub(super) fn join(args: &Args) -> Result<BuiltIndex> {
    let before = replaced(&args.output);
    let joined = if args.link {
        clickvec_index::link(&args.join, &args.output)?
    } else {
        clickvec_index::join(&args.join, &args.output, |fusion| args.chosen(fusion), args.vectors)?
    };
    note_what_is_lost(&args.output, before, Index::open(&args.output)?.fusion(), args.words);
    Ok(joined)
}

/// Returns the fusion of the index that is to be replaced, if there is one that can be opened.
pub(super) fn replaced(path: &Path) -> Option<Fusion> {
    let index = if looks_like_index(path) { Index::open(path).ok() } else { None };
    index.map(|index| index.fusion().clone())
}

/// Says what the new index lacks of the one that it replaces, unless `words` were given.
pub(super) fn note_what_is_lost(output: &Path, before: Option<Fusion>, now: &Fusion, words: Option<Analysis>) {
    let (Some(before), replaced) = (before, console::path(output)) else { return };
    if before.custom && !now.custom {
        console::note(format_args!(
            "warning: {replaced}: the new index has default weights, unlike the one it replaces; set them with `--weights`"
        ));
    } else if before.teacher.is_some() && now.teacher.is_none() {
        console::note(format_args!(
            "warning: {replaced}: the new index has no teacher, unlike the one it replaces; add one with `clickvec build --teacher FOLDER`, \
             and `clickvec update` keeps it"
        ));
    } else if words.is_none() && before.analysis != now.analysis {
        let (how, now) = (before.analysis, now.analysis);
        console::note(format_args!(
            "warning: {replaced}: the new index analyses words by `{now}`, and the one it replaces by `{how}`; keep that with \
             `--words {how}`"
        ));
    }
}
