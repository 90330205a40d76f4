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
use crate::{console, input, progress};

/// How long another process may take that changes the index: compacting ten million titles takes about as long.
const LONGEST: Duration = Duration::from_secs(600);
/// How often it is tried whether the other process is done.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

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
    let index = &args.target;
    let mut report = Report { index, updated: None, compacted: None };
    if args.add.is_some() || args.delete.is_some() {
        let updated = updated(args)?;
        // Said before anything is compacted: the update is durable, whatever becomes of that.
        if !args.json {
            tell_update(index, &updated);
        }
        report.compacted = if args.compact { None } else { compact_if_overdue(index, &updated) };
        report.updated = Some(updated);
    }
    if args.compact {
        report.compacted = Some(compacted(index)?);
    }
    report.tell(args)
}

/// Clears away what updates of an index left behind, if it is too much.
pub(super) fn compact_if_overdue(index: &Path, updated: &Updated) -> Option<Compacted> {
    if !updated.is_compaction_overdue {
        return None;
    }
    // The update is what the user wanted, and it is done.
    compacted(index).map_err(|error| console::note(format_args!("not compacted: {error:#}"))).ok()
}

impl Report<'_> {
    fn tell(&self, args: &Args) -> Result<Answer> {
        if args.json {
            console::json_lines([self])?;
        } else if let Some(Compacted { titles, cleared, segments, fingerprint, .. }) = &self.compacted {
            let (titles, cleared) = (console::counted(*titles, "title"), console::counted(*cleared, "old title"));
            let (segments, index) = (console::counted(*segments as u64, "segment"), console::path(self.index));
            console::note(format_args!(
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

fn tell_update(index: &Path, updated: &Updated) {
    let index = console::path(index);
    input::note_without_vector(updated.without_vector, updated.without_words);
    if updated.missing > 0 {
        let missing = console::counted(updated.missing, "id");
        let more = updated.missing - updated.missing_ids.len() as u64;
        let more = if more > 0 { format!(" and {} more", console::count(more)) } else { String::new() };
        let named = listed(&updated.missing_ids, Updated::MISSING_IDS);
        console::note(format_args!("{missing} to delete that the index does not have: {named}{more}"));
    }
    let Updated { added, replaced, deleted, titles, fingerprint, .. } = updated;
    let [added, replaced, deleted] = [added, replaced, deleted].map(|number| console::count(*number));
    let titles = console::counted(*titles, "title");
    console::note(format_args!(
        "{index}: updated; {added} added, {replaced} replaced, {deleted} deleted; {titles}, fingerprint {fingerprint}"
    ));
    if updated.is_worth_compacting && !updated.is_compaction_overdue {
        console::note(format_args!(
            "{index}: updates have left much behind, which makes searches slower; `clickvec update {index} --compact` clears it away"
        ));
    }
}

/// Waits for its turn if another process changes the index.
pub(super) fn in_turn<T>(index: &Path, change: impl Fn() -> clickvec_index::Result<T>) -> Result<T> {
    let begun = Instant::now();
    let mut was_told = false;
    loop {
        match change() {
            Err(error) if error.kind() == ErrorKind::Busy && begun.elapsed() < LONGEST => {
                if !std::mem::replace(&mut was_told, true) {
                    console::note(format_args!(
                        "{}: waiting for another process that changes it",
                        console::path(index)
                    ));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            other => return Ok(other?),
        }
    }
}

fn updated(args: &Args) -> Result<Updated> {
    let mut updater = in_turn(&args.target, || Updater::open(&args.target))?;
    if let Some(path) = &args.delete {
        delete(path, &mut updater)?;
    }
    if let Some(path) = &args.add {
        let fields = updater.before().stored_fields().to_vec();
        let field = updater.before().field().to_owned();
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
            console::path(path),
            shortened(&id)
        );
        updater.delete(&id);
    }
    Ok(())
}
