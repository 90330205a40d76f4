//! Titles added to an index, replaced and deleted; compaction.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clickvec_index::{Compacted, Document, ErrorKind, Updated, Updater};
use clickvec_tables::shown::{listed, shortened};
use serde::Serialize;

use super::Args;
use crate::answer::Answer;
use crate::input::Lines;
use crate::{input, output, progress};

/// How long another process may take that changes the index: compacting ten million titles takes about as long.
const LONGEST: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    index: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<Updated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compacted: Option<Compacted>,
}

/// Adds, replaces and deletes titles.
pub(super) fn update(args: &Args) -> Result<Answer> {
    let updated = updated(args)?;
    // Said before anything is compacted: the update is durable, whatever becomes of that.
    if !args.json {
        tell_update(args, &updated);
    }
    let compacted = compact_if_overdue(&args.output, &updated);
    Report { index: &args.output, updated: Some(updated), compacted }.tell(args)
}

/// Clears away what updates left behind.
pub(super) fn compact(args: &Args) -> Result<Answer> {
    Report { index: &args.output, updated: None, compacted: Some(compacted(&args.output)?) }.tell(args)
}

/// Clears away what updates of an index left behind, if it is too much.
pub(crate) fn compact_if_overdue(index: &Path, updated: &Updated) -> Option<Compacted> {
    if !updated.is_compaction_overdue {
        return None;
    }
    // The update is what the user wanted, and it is done.
    compacted(index).map_err(|error| output::note(format_args!("not compacted: {error:#}"))).ok()
}

impl Report<'_> {
    fn tell(&self, args: &Args) -> Result<Answer> {
        if args.json {
            output::json_lines([self])?;
        } else if let Some(Compacted { titles, cleared, segments, fingerprint, .. }) = &self.compacted {
            let (titles, cleared) = (output::counted(*titles, "title"), output::counted(*cleared, "old title"));
            let (segments, index) = (output::counted(*segments as u64, "segment"), output::path(self.index));
            output::note(format_args!(
                "{index}: compacted; {segments} made one, {cleared} cleared; {titles}, fingerprint {fingerprint}"
            ));
        }
        Ok(Answer::Done)
    }
}

fn compacted(index: &Path) -> Result<Compacted> {
    let step = progress::step("compacting");
    let compacted = in_turn(index, || clickvec_index::compact(index));
    step.finish_and_clear();
    compacted
}

fn tell_update(args: &Args, updated: &Updated) {
    let index = output::path(&args.output);
    input::note_left_out(updated.left_out);
    if updated.lost > 0 {
        let (lost, are) = (output::counted(updated.lost, "title"), output::agreeing(updated.lost, "is", "are"));
        output::note(format_args!(
            "{lost} that the index had {are} no longer found, because the new text is one of these"
        ));
    }
    if updated.missing > 0 {
        let missing = output::counted(updated.missing, "id");
        let more = updated.missing - updated.missing_ids.len() as u64;
        let more = if more > 0 { format!(" and {} more", output::count(more)) } else { String::new() };
        let named = listed(&updated.missing_ids, Updated::MISSING_IDS);
        output::note(format_args!("{missing} to delete that the index does not have: {named}{more}"));
    }
    let Updated { added, replaced, deleted, titles, fingerprint, .. } = updated;
    let [added, replaced, deleted] = [added, replaced, deleted].map(|number| output::count(*number));
    let titles = output::counted(*titles, "title");
    output::note(format_args!(
        "{index}: updated; {added} added, {replaced} replaced, {deleted} deleted; {titles}, fingerprint {fingerprint}"
    ));
    if updated.is_worth_compacting && !updated.is_compaction_overdue {
        output::note(format_args!(
            "{index}: updates have left much behind, which makes searches slower; `clickvec index --join {index} --output {index}` clears \
             it away"
        ));
    }
}

/// Waits for its turn if another process changes the index.
pub(crate) fn in_turn<T>(index: &Path, change: impl Fn() -> clickvec_index::Result<T>) -> Result<T> {
    let begun = Instant::now();
    let mut was_told = false;
    loop {
        match change() {
            Err(error) if error.kind() == ErrorKind::Busy && begun.elapsed() < LONGEST => {
                if !std::mem::replace(&mut was_told, true) {
                    output::note(format_args!("{}: waiting for another process that changes it", output::path(index)));
                }
                std::thread::sleep(LOOK_AGAIN);
            }
            other => return Ok(other?),
        }
    }
}

fn updated(args: &Args) -> Result<Updated> {
    let mut updater = in_turn(&args.output, || Updater::open(&args.output))?;
    if let Some(path) = &args.delete {
        delete(path, &mut updater)?;
    }
    if let Some(path) = &args.update {
        let fields = updater.before().stored_fields().to_vec();
        let field = updater.before().field().to_owned();
        if let Some(named) = &args.field {
            ensure!(
                *named == field,
                "{}: expected texts of the column `{field}`, as the index has them, found `--field {named}`; leave it out, or make \
                 the index anew",
                output::path(&args.output)
            );
        }
        let table = args.title_columns.checked(path, &field)?;
        let bar = progress::counter("encoding", "titles");
        input::each_document(&table, &field, &fields, |title, values| {
            let values = values.iter().map(|value| (*value).to_owned());
            let fields = fields.iter().cloned().zip(values).collect();
            updater.put(&Document { id: title.id, title: title.title, fields })?;
            bar.inc(1);
            Ok(())
        })?;
        bar.finish_and_clear();
    }
    Ok(updater.commit()?)
}

fn delete(path: &Path, updater: &mut Updater) -> Result<()> {
    for (number, id) in (1u64..).zip(Lines::open(path)?) {
        let id = id?;
        if id.trim().is_empty() {
            continue;
        }
        ensure!(
            !id.contains('\t'),
            "{}:{number}: expected an id, found `{}` with a tab; give one id a line",
            output::path(path),
            shortened(&id)
        );
        updater.delete(&id);
    }
    Ok(())
}
