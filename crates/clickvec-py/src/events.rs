//! Events of training with the names that `clickvec train --json` gives them.

use std::time::{Duration, Instant};

use clickvec::tables::Skipped;
use clickvec::train::Event;
use clickvec_eval::Metrics;
use serde_json::{Value, json};

/// The shortest time between two events of progress.
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// Lets few enough events of progress through that telling them costs nothing.
pub(crate) struct Pace {
    told: Instant,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace { told: Instant::now() }
    }

    /// The event for Python; `None` if it is progress and some was told just now.
    pub(crate) fn event(&mut self, event: &Event) -> Option<Value> {
        let progress = match event {
            Event::Reading { pairs } => json!({"event": "reading", "pairs": pairs}),
            Event::Minibatch { section, epoch, epochs, of_pairs, minibatch, minibatches, pairs: _, loss } => json!({
                "event": "minibatch",
                "section": section,
                "epoch": epoch,
                "epochs": epochs,
                "of_pairs": of_pairs,
                "minibatch": minibatch,
                "minibatches": minibatches,
                "loss": loss,
            }),
            other => return told(other),
        };
        if self.told.elapsed() < TOLD_EVERY {
            return None;
        }
        self.told = Instant::now();
        Some(progress)
    }
}

fn told(event: &Event) -> Option<Value> {
    Some(match event {
        Event::Log { statistics, skipped, skipped_titles, trigrams, words, parameters } => json!({
            "event": "log",
            "pairs": statistics.pairs,
            "skipped": statistics.skipped,
            "without_words": statistics.without_words,
            "cut": statistics.cut,
            "not_clicked": statistics.not_clicked,
            "rare": statistics.rare,
            "trigrams": trigrams,
            "words": words,
            "parameters": parameters,
            "titles": statistics.titles.titles,
            "broken": lines(skipped),
            "broken_titles": skipped_titles.iter().flat_map(lines).collect::<Vec<_>>(),
            "skipped_titles": skipped_titles.iter().map(|skipped| skipped.count).sum::<u64>(),
        }),
        Event::Teacher(coverage) => json!({
            "event": "teacher",
            "vectors": coverage.vectors,
            "dimension": coverage.dimension,
            "queries": coverage.queries,
            "known_queries": coverage.known_queries,
            "unused": coverage.unused,
            "repeated": coverage.repeated,
            "titles": coverage.titles,
            "known_titles": coverage.known_titles,
        }),
        Event::TeacherScores(coverage) => json!({
            "event": "teacher_scores",
            "scores": coverage.scores,
            "known": coverage.known,
            "repeated": coverage.repeated,
            "queries": coverage.queries,
            "alone": coverage.alone,
            "skipped": coverage.skipped.iter().map(|skipped| skipped.count).sum::<u64>(),
        }),
        Event::Start(start) => json!({
            "event": "start",
            "titles": start.as_ref().map(|start| start.titles),
            "explained": start.as_ref().map(|start| start.explained),
            "seconds": start.as_ref().map(|start| start.seconds),
        }),
        Event::HeldOut(held_out) => json!({
            "event": "held_out",
            "queries": held_out.queries.len(),
            "of_queries": held_out.of_queries,
            "pairs": held_out.pairs,
            "titles": held_out.titles.len(),
            "of_titles": held_out.of_titles,
            "graded": held_out.graded,
        }),
        Event::Resumed { section, epoch, minibatch } => {
            json!({"event": "resumed", "section": section, "epoch": epoch, "minibatch": minibatch})
        }
        Event::Epoch(report) => json!({
            "event": "epoch",
            "section": report.section,
            "epoch": report.epoch,
            "epochs": report.epochs,
            "loss": report.loss,
            "pairs_per_second": report.pairs_per_second,
            "seconds": report.seconds,
            "without_negatives": report.without_negatives,
            "kept": report.kept,
            "validation": report.validation.as_ref().filter(|score| !score.figures.is_empty()).map(|score| {
                score.figures.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>()
            }),
            "score": report.validation.as_ref().map(|score| score.value),
            "variance": report.variance,
            "teacher": report.agreement.map(|agreement| json!({
                "spearman": agreement.spearman,
                "overlap_of_10": agreement.overlap,
                "queries": agreement.queries,
                "titles": agreement.titles,
            })),
        }),
        Event::StoppedEarly { epoch, best, schedule_cut } => {
            json!({"event": "stopped", "epoch": epoch, "best": best, "schedule_cut": schedule_cut})
        }
        _ => return None,
    })
}

/// The first broken lines, each with what is wrong.
fn lines(skipped: &Skipped) -> Vec<String> {
    skipped.first.iter().map(|line| format!("line {}: {}", line.line, line.reason)).collect()
}

/// Metrics by their names.
pub(crate) fn metrics(of: &Metrics) -> Value {
    Value::Object(of.iter().map(|(metric, value)| (metric.to_string(), json!(value))).collect())
}
