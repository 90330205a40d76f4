//! Titles added to an index, replaced and deleted; compaction.

use std::path::Path;

use anyhow::Result;
use clickvec_index::{Compacted, Updated};
use clickvec_tables::shown::{listed, shortened};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tools::inputs::{Lines, note_without_vector};
use clickvec_tools::update::{change, compact, compact_if_overdue};
use serde::Serialize;

use super::Args;
use crate::answer::Answer;
use crate::progress::Watch;
use crate::{console, progress};

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "console::json_path")]
    index: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<Updated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compacted: Option<Compacted>,
}

/// Adds, replaces and deletes titles, then compacts the index if that was requested or is overdue.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let (index, watch) = (&args.target, Watch::default());
    let mut report = Report { index, updated: None, compacted: None };
    if args.add.is_some() || args.delete.is_some() {
        let add = args.add.as_ref().map(|path| args.title_columns.checked(path, "")).transpose()?;
        let delete = args.delete.as_ref().map(|path| ids(path)).transpose()?;
        let updated = change(index, add.as_ref(), delete.into_iter().flatten(), &watch)?;
        watch.finish();
        // Said before anything is compacted: the update is durable, whatever becomes of that.
        if !args.json {
            tell_update(index, &updated);
        }
        report.compacted = if args.compact { None } else { compact_if_overdue(index, &updated, &watch) };
        report.updated = Some(updated);
    }
    if args.compact {
        let step = progress::step("compacting");
        report.compacted = Some(compact(index, &watch)?);
        step.finish_and_clear();
    }
    report.tell(args)
}

impl Report<'_> {
    fn tell(&self, args: &Args) -> Result<Answer> {
        if args.json {
            console::json_lines([self])?;
        } else if let Some(Compacted { titles, cleared, segments, fingerprint, .. }) = &self.compacted {
            let (titles, cleared) = (console::counted(*titles, "title"), console::counted(*cleared, "old title"));
            let (segments, index) = (console::counted(*segments as u64, "segment"), console::path(self.index));
            console::note(format_args!(
                "{index}: compacted; merged {segments}, removed {cleared}; {titles}, fingerprint {fingerprint}"
            ));
        }
        Ok(Answer::Done)
    }
}

fn tell_update(index: &Path, updated: &Updated) {
    let index = console::path(index);
    note_without_vector(updated.without_vector, updated.without_words, &Watch::default());
    if updated.missing > 0 {
        let missing = console::counted(updated.missing, "id");
        let more = updated.missing - updated.missing_ids.len() as u64;
        let more = if more > 0 { format!(" and {} more", console::count(more)) } else { String::new() };
        let named = listed(&updated.missing_ids, Updated::MISSING_IDS);
        console::note(format_args!("{missing} to delete not in the index: {named}{more}"));
    }
    let Updated { added, replaced, deleted, titles, fingerprint, .. } = updated;
    let [added, replaced, deleted] = [added, replaced, deleted].map(|number| console::count(*number));
    let titles = console::counted(*titles, "title");
    console::note(format_args!(
        "{index}: updated; {added} added, {replaced} replaced, {deleted} deleted; {titles}, fingerprint {fingerprint}"
    ));
    if updated.is_worth_compacting && !updated.is_compaction_overdue {
        console::note(format_args!(
            "{index}: old titles slow searches down; `clickvec update {index} --compact` removes them"
        ));
    }
}

/// Returns the ids in the lines of a file.
fn ids(path: &Path) -> Result<impl Iterator<Item = clickvec::Result<String>>> {
    let path = path.to_owned();
    let lines = (1u64..).zip(Lines::open(&path)?).map(move |(number, id)| {
        let id = id?;
        if id.contains('\t') {
            let error = Error::expected(ErrorKind::Malformed, "an id", format!("`{}` with a tab", shortened(&id)));
            return Err(error.help("give one id a line").at_line(&path, number));
        }
        Ok(id)
    });
    Ok(lines.filter(|id| id.as_ref().map_or(true, |id| !id.trim().is_empty())))
}
