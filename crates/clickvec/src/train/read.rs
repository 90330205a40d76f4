//! The inputs of a run: pairs, titles and teachers.

use std::ops::ControlFlow;

use super::{Event, TrainOptions};
use crate::clicks::{ClickLog, ClickSource, LogConfig, Storage, Teacher};
use crate::model::Model;
use crate::settings::TrainConfig;
use clickvec_tables::Result;

/// Reads the training pairs and the teachers, and reports their contents.
pub(super) fn read(
    config: &TrainConfig,
    clicks: ClickSource<'_>,
    options: &mut TrainOptions<'_>,
    storage: Storage<'_>,
    on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
) -> Result<ControlFlow<(), ClickLog>> {
    let dictionary = options.init.map(Model::dictionary);
    let log_config = LogConfig { settings: config, titles: options.titles, dictionary };
    let progress = &mut |pairs| on_event(&Event::Reading { pairs });
    let ControlFlow::Continue(mut log) = ClickLog::read_watched(clicks, storage, log_config, progress)? else {
        return Ok(ControlFlow::Break(()));
    };
    let rows = log.dictionary().len();
    let towers = if config.shared_towers { 1 } else { 2 };
    let flow = on_event(&Event::Log {
        statistics: log.statistics().clone(),
        skipped: log.skipped().clone(),
        skipped_titles: log.skipped_titles().to_vec(),
        trigrams: log.dictionary().trigrams().len(),
        words: log.dictionary().words().len(),
        parameters: config.encoder.parameters(rows).unwrap_or(u64::MAX).saturating_mul(towers),
    });
    if flow.is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let teachers = std::mem::take(&mut options.teachers);
    let (scores, vectors): (Vec<_>, Vec<_>) = teachers.into_iter().partition(Teacher::has_scores);
    if !vectors.is_empty() {
        let coverage = log.teach(vectors, config.limit(), storage)?;
        if on_event(&Event::Teacher(coverage)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if config.held_out > 0.0 && !log.is_empty() {
        let held_out = log.hold_out(config.held_out, storage)?;
        if held_out.queries.is_empty() {
            options.validation = None;
        }
        if on_event(&Event::HeldOut(held_out)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if !scores.is_empty() {
        let coverage = log.teach_scores(scores, config.limit(), storage)?;
        if on_event(&Event::TeacherScores(coverage)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(log))
}
