//! What training says: a bar on a terminal, a line an epoch in a pipe, or JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use clickvec::train::{Event, TrainConfig, Validation};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::commands::inspect::describe;
use crate::{input, output, progress};

/// Says what happens as it happens.
pub(super) struct Reporter {
    clicks: PathBuf,
    epochs: u32,
    json: bool,
    watched: bool,
    bar: Option<ProgressBar>,
    started: Instant,
    /// Epochs that were trained here, not before a resume, and their time.
    trained: (u32, f64),
    /// The first write that failed: training goes on, its model is worth more than its report.
    failed: Option<anyhow::Error>,
}

impl Reporter {
    /// Says what is going to be trained.
    pub(super) fn new(config: &TrainConfig, clicks: &Path, json: bool) -> Reporter {
        if !json {
            output::note(format_args!("training: {}", describe(&config.encoder)));
        }
        Reporter {
            clicks: clicks.to_owned(),
            epochs: config.epochs,
            json,
            watched: progress::is_watched(),
            bar: None,
            started: Instant::now(),
            trained: (0, 0.0),
            failed: None,
        }
    }

    /// Takes one event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Reading { pairs, .. } => self.reading(*pairs),
            Event::Minibatch { epoch, done, of, pairs, loss, .. } => {
                self.minibatch(*epoch, *done, *of, *pairs, *loss);
            }
            other => {
                self.close();
                if self.json {
                    self.say_json(other);
                } else {
                    self.say(other);
                }
            }
        }
    }

    /// Takes the bar away.
    pub(super) fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// The first thing that could not be printed.
    pub(super) fn result(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn reading(&mut self, pairs: u64) {
        if self.watched {
            let bar = self.bar.get_or_insert_with(|| progress::counter("reading", "pairs"));
            bar.set_position(pairs);
        }
    }

    fn minibatch(&mut self, epoch: u32, done: u64, of: u64, pairs: u64, loss: f64) {
        if !self.watched {
            return;
        }
        let epochs = self.epochs;
        let bar = self.bar.get_or_insert_with(|| {
            let length = (pairs as f64 * of as f64 / done.max(1) as f64) as u64;
            progress::bar(length, &format!("epoch {epoch}/{epochs}"), "pairs")
        });
        bar.set_position(pairs);
        if done == of {
            bar.set_length(pairs);
        }
        let mut message = format!(", loss {loss:.4}");
        let (trained, seconds) = self.trained;
        if trained > 0 && epoch < epochs {
            let rest = f64::from(epochs - epoch) * seconds / f64::from(trained);
            let left = bar.eta() + Duration::from_secs_f64(rest);
            let _ = write!(message, ", {} left in all", progress::duration(left));
        }
        bar.set_message(message);
    }

    fn say(&mut self, event: &Event) {
        match event {
            Event::Log { pairs, skipped, words, trigrams, cut_texts, .. } => {
                input::note_skipped(&self.clicks, skipped);
                let [pairs, words, trigrams] = [(*pairs, "pair"), (*words, "distinct word"), (*trigrams, "trigram")]
                    .map(|(number, noun)| output::counted(number, noun));
                output::note(format_args!("{}: {pairs}, {words}, {trigrams}", self.clicks.display()));
                if *cut_texts > 0 {
                    let cut = output::counted(*cut_texts, "text");
                    output::note(format_args!("{cut} cut at --max-words"));
                }
            }
            Event::Resumed { epoch, minibatch } => {
                output::note(format_args!("resumed in epoch {epoch} after {minibatch} of its minibatches"));
            }
            Event::Epoch { epoch, loss, pairs_per_second, seconds, validation } => {
                self.trained = (self.trained.0 + 1, self.trained.1 + seconds);
                let width = self.epochs.to_string().len();
                let mut line = format!(
                    "epoch {epoch:>width$}/{}  loss {loss:.4}  {:>9} pairs/s  {:>9}",
                    self.epochs,
                    progress::rate(*pairs_per_second),
                    progress::duration(Duration::from_secs_f64(seconds.max(0.0))),
                );
                if let Some(Validation { ndcg: [one, three, ten], .. }) = validation {
                    let _ = write!(line, "  NDCG@1/3/10 {one:.3} {three:.3} {ten:.3}");
                }
                output::note(line);
            }
            Event::Stopped { epoch, epochs } => output::note(format_args!(
                "stopped after epoch {epoch} of {epochs}: validation got no better for --patience epochs; \
                 the end of the schedule was not reached"
            )),
            Event::Done { model, fingerprint } => output::note(format_args!(
                "{}: written after {}, fingerprint {fingerprint}",
                model.display(),
                progress::duration(self.started.elapsed()),
            )),
            _ => {}
        }
    }

    fn say_json(&mut self, event: &Event) {
        if let Event::Log { skipped, .. } = event {
            input::note_skipped(&self.clicks, skipped);
        }
        if let Some(line) = JsonEvent::of(event) {
            self.print(&line);
        }
    }

    fn print(&mut self, line: &impl Serialize) {
        if self.failed.is_some() {
            return;
        }
        let mut out = output::stdout();
        let printed = output::json_line(&mut out, line).and_then(|()| output::written(out.flush()));
        self.failed = printed.err();
    }
}

/// What programs read: part of the interface.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum JsonEvent<'a> {
    Log {
        pairs: u64,
        skipped: u64,
        words: u64,
        trigrams: u64,
        cut_texts: u64,
    },
    Resumed {
        epoch: u32,
        minibatch: u64,
    },
    Epoch {
        epoch: u32,
        loss: f64,
        pairs_per_second: f64,
        seconds: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        validation: Option<JsonValidation>,
    },
    Stopped {
        epoch: u32,
        epochs: u32,
    },
    Done {
        model: &'a Path,
        fingerprint: &'a str,
    },
}

#[derive(Serialize)]
struct JsonValidation {
    #[serde(rename = "ndcg@1")]
    ndcg_1: f64,
    #[serde(rename = "ndcg@3")]
    ndcg_3: f64,
    #[serde(rename = "ndcg@10")]
    ndcg_10: f64,
}

impl JsonEvent<'_> {
    fn of(event: &Event) -> Option<JsonEvent<'_>> {
        Some(match event {
            Event::Log { pairs, skipped, words, trigrams, cut_texts, .. } => JsonEvent::Log {
                pairs: *pairs,
                skipped: skipped.count,
                words: *words,
                trigrams: *trigrams,
                cut_texts: *cut_texts,
            },
            &Event::Resumed { epoch, minibatch } => JsonEvent::Resumed { epoch, minibatch },
            &Event::Epoch { epoch, loss, pairs_per_second, seconds, ref validation } => JsonEvent::Epoch {
                epoch,
                loss,
                pairs_per_second,
                seconds,
                validation: validation.as_ref().map(|validation| {
                    let [ndcg_1, ndcg_3, ndcg_10] = validation.ndcg;
                    JsonValidation { ndcg_1, ndcg_3, ndcg_10 }
                }),
            },
            &Event::Stopped { epoch, epochs } => JsonEvent::Stopped { epoch, epochs },
            Event::Done { model, fingerprint } => JsonEvent::Done { model, fingerprint },
            _ => return None,
        })
    }
}
