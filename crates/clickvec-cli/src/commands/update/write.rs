//! Writing the new model and its index.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::model::Model;
use clickvec::tables::{Title, for_each_document};
use clickvec_index::IndexBuilder;

use super::Args;
use super::replaced::{Replaced, Unlisted};
use crate::interrupt::Interrupt;
use crate::{input, output, progress};

/// Writes the new model, and the index if there is one. Returns false if the user interrupted it before anything was
/// replaced.
///
/// The index comes first, because it has its own copy of the model. If the program is killed between the two, searches
/// already use the new model, and the next update starts from the old one. `known` is the number of titles that the file lacked
/// before the model was trained.
pub(super) fn write(
    args: &Args,
    replaced: Option<&Replaced>,
    known: u64,
    new: &Model,
    target: &Path,
    interrupt: &Interrupt,
) -> Result<bool> {
    if let (Some(index), Some(replaced)) = (&args.index, replaced) {
        let mut builder = IndexBuilder::with_fields(new, index, &replaced.fields)?.with_field(&replaced.field);
        let bar = progress::counter("encoding", "titles");
        let mut listed = HashSet::new();
        // Read the titles again: for the comparison, titles with the same text were merged.
        let mut add = |title: Title, values: &[&str]| {
            bar.inc(1);
            listed.insert(title.id.clone());
            if interrupt.status().is_none() { builder.add_with_fields(title, values) } else { Ok(()) }
        };
        let table = args.title_columns.table(&args.titles);
        for_each_document(&table, &replaced.field, &replaced.fields, &mut add)?;
        // The builder has claimed the index, so no other process changes it from now on; titles may have been added during training.
        ensure!(
            Replaced::read(index)? == *replaced,
            "{}: expected the index as it was when the update began, found one made anew meanwhile with other settings; nothing \
             was replaced; update again",
            output::path(index)
        );
        let unlisted = Unlisted::read(index, &listed, args.keep_titles)?;
        if unlisted.count > known && !args.keep_titles {
            output::note(format_args!(
                "{}: {} that `--titles` lacks came into it meanwhile, and the new index does not have them; `clickvec index \
                 --update` adds them again",
                output::path(index),
                output::counted(unlisted.count - known, "title")
            ));
        }
        for (title, values) in unlisted.titles {
            bar.inc(1);
            builder.add_with_fields(title, &values.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        bar.finish_and_clear();
        if interrupt.status().is_some() {
            return Ok(false);
        }
        let built = replaced.finish(builder, new)?;
        input::note_left_out(built.left_out);
    }
    new.save(target)?;
    Ok(true)
}
