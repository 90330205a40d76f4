//! The events of training as JSON, one object per line. Other programs read them, so their form is part of the
//! interface.

use std::path::Path;

use clickvec::train::{Agreement, EpochReport, Event, ScoreCoverage, Section, TeacherCoverage, TrainConfig, Written};
use serde::Serialize;

use super::held_out::{Counts, Means};
use super::small;
use crate::metrics::Figures;

/// An event as JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum JsonEvent<'a> {
    Log {
        pairs: u64,
        skipped: u64,
        without_words: u64,
        cut: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        not_clicked: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rare: Option<u64>,
        trigrams: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<usize>,
        parameters: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        titles: Option<u64>,
        /// What ranked better on logs of this size.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        advice: Vec<String>,
    },
    Teacher {
        vectors: u64,
        dimension: usize,
        queries: u64,
        known_queries: u64,
        titles: u64,
        known_titles: u64,
        unused: u64,
        repeated: u64,
    },
    #[serde(rename = "teacher_scores")]
    TeacherScores {
        scores: u64,
        known: u64,
        repeated: u64,
        queries: u64,
        alone: u64,
        skipped: u64,
    },
    Start {
        titles: Option<u64>,
        explained: Option<f64>,
        seconds: Option<f64>,
    },
    #[serde(rename = "held_out")]
    HeldOut(Counts),
    Resumed {
        section: Section,
        epoch: u32,
        minibatch: u64,
    },
    Epoch {
        section: Section,
        epoch: u32,
        loss: f64,
        pairs_per_second: f64,
        seconds: f64,
        without_negatives: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        validation: Option<Figures<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        held_out: Option<Means>,
        #[serde(skip_serializing_if = "Option::is_none")]
        teacher: Option<Agreed>,
        #[serde(skip_serializing_if = "Option::is_none")]
        variance: Option<f64>,
    },
    Stopped {
        epoch: u32,
        best: u32,
        schedule_cut: bool,
    },
    Done {
        #[serde(serialize_with = "crate::output::json_path")]
        model: &'a Path,
        fingerprint: &'a str,
        epoch: u32,
    },
    #[serde(rename = "all_clicks")]
    AllClicks {
        epochs: u32,
    },
    Cancelled,
}

/// The agreement of a model with its teacher.
#[derive(Serialize)]
pub(super) struct Agreed {
    spearman: f64,
    overlap_of_10: f64,
    queries: usize,
    titles: usize,
}

impl From<Agreement> for Agreed {
    fn from(agreement: Agreement) -> Agreed {
        let Agreement { spearman, overlap, queries, titles } = agreement;
        Agreed { spearman, overlap_of_10: overlap, queries, titles }
    }
}

impl JsonEvent<'_> {
    /// An event as JSON; `None` for progress within an epoch. `held_out` is what was last measured on held-out queries.
    pub(super) fn of<'e>(event: &'e Event, config: &TrainConfig, held_out: Option<Means>) -> Option<JsonEvent<'e>> {
        Some(match event {
            Event::Log { statistics, trigrams, words, parameters, .. } => JsonEvent::Log {
                pairs: statistics.pairs,
                skipped: statistics.skipped,
                without_words: statistics.without_words,
                cut: statistics.cut,
                not_clicked: Some(statistics.not_clicked).filter(|&rows| rows > 0),
                rare: Some(statistics.rare).filter(|&pairs| pairs > 0),
                trigrams: *trigrams,
                words: Some(*words).filter(|&words| words > 0),
                parameters: *parameters,
                titles: Some(statistics.titles.titles).filter(|&titles| titles > 0),
                advice: small::advice(config, statistics.pairs),
            },
            &Event::Resumed { section, epoch, minibatch } => JsonEvent::Resumed { section, epoch, minibatch },
            Event::Epoch(EpochReport {
                section,
                epoch,
                epochs: _,
                loss,
                pairs_per_second,
                seconds,
                without_negatives,
                validation,
                agreement,
                variance,
                kept: _,
            }) => JsonEvent::Epoch {
                section: *section,
                epoch: *epoch,
                loss: *loss,
                pairs_per_second: *pairs_per_second,
                seconds: *seconds,
                without_negatives: *without_negatives,
                validation: validation
                    .as_ref()
                    .map(|score| Figures(&score.figures))
                    .filter(|figures| !figures.0.is_empty()),
                held_out,
                teacher: agreement.map(Agreed::from),
                variance: *variance,
            },
            Event::HeldOut(held_out) => JsonEvent::HeldOut(Counts::of(held_out)),
            &Event::Teacher(TeacherCoverage {
                queries,
                known_queries,
                titles,
                known_titles,
                dimension,
                vectors,
                unused,
                repeated,
            }) => JsonEvent::Teacher {
                vectors,
                dimension,
                queries,
                known_queries,
                titles,
                known_titles,
                unused,
                repeated,
            },
            Event::TeacherScores(ScoreCoverage { scores, known, repeated, queries, alone, skipped }) => {
                let (scores, known, queries, alone) = (*scores, *known, *queries, *alone);
                let skipped = skipped.iter().map(|skipped| skipped.count).sum();
                JsonEvent::TeacherScores { scores, known, repeated: *repeated, queries, alone, skipped }
            }
            Event::Start(start) => JsonEvent::Start {
                titles: start.map(|start| start.titles),
                explained: start.map(|start| start.explained),
                seconds: start.map(|start| start.seconds),
            },
            &Event::StoppedEarly { epoch, best, schedule_cut } => JsonEvent::Stopped { epoch, best, schedule_cut },
            _ => return None,
        })
    }

    /// The event for a model that was written.
    pub(super) fn done<'a>(model: &'a Path, written: &'a Written) -> JsonEvent<'a> {
        JsonEvent::Done { model, fingerprint: &written.fingerprint, epoch: written.epoch }
    }
}
