//! The state that all requests share: indexes, workers, figures, files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::Extension;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::answer::{Outgoing, Record, Stage};
use crate::clients::{Caller, Clients};
use crate::config::Config;
use crate::error::Result;
use crate::fault::{Fault, Kind, json_response, quoted};
use crate::generation::{Cause, Files, Generation, Reloaded, Slot};
use crate::hosts::Hosts;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::pins::Pins;
use crate::records::Records;
use crate::suggestions::Suggestions;
use crate::workers::Workers;

/// The value that answers all requests.
pub(crate) struct Service {
    pub(crate) config: Config,
    pub(crate) slots: Vec<Slot>,
    pub(crate) workers: Workers,
    pub(crate) outgoing: Outgoing,
    pub(crate) clients: Clients,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Log,
    pub(crate) records: Option<Records>,
    pub(crate) hosts: Hosts,
    pub(crate) pins: ArcSwap<Pins>,
    pub(crate) suggestions: Suggestions,
    /// The description of all routes, with this service's limits.
    pub(crate) openapi: axum::body::Bytes,
    /// Whether the service stops: it finishes its requests and takes nothing new.
    pub(crate) stopping: AtomicBool,
}

impl Service {
    /// Returns the index with a name, or the first one.
    pub(crate) fn slot(&self, name: Option<&str>) -> Result<&Slot, Fault> {
        let Some(name) = name else { return Ok(&self.slots[0]) };
        self.slots.iter().find(|slot| slot.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.slots.iter().map(|slot| slot.name.as_str()).collect();
            Fault::new(Kind::NOT_FOUND, format!("an index, {}", names.join(" or ")), quoted(name)).param("index")
        })
    }

    /// Returns the requested generation of an index: `current` or `previous`. One with a damaged file answers nothing.
    pub(crate) fn generation(&self, name: Option<&str>, which: Option<&str>) -> Result<Arc<Generation>, Fault> {
        let slot = self.slot(name)?;
        let generation = match which {
            None | Some("current") => slot.current(),
            Some("previous") => slot.pair().previous.clone().ok_or_else(|| {
                Fault::new(Kind::NOT_FOUND, "an earlier generation", "none: nothing was reloaded yet")
                    .param("generation")
            })?,
            Some(other) => {
                return Err(Fault::field("generation", "a generation, current or previous", quoted(other)));
            }
        };
        match generation.files() {
            Files::Damaged(found) => {
                let expected = format!("the files of `{}` as they were written", slot.name);
                let fault = Fault::new(Kind::UNAVAILABLE, expected, found);
                Err(fault.help("put a sound index in its place; the log of the service has more"))
            }
            Files::Unread | Files::Replaced | Files::Sound => Ok(generation),
        }
    }

    /// Refuses unless all indexes can answer.
    pub(crate) fn check_indexes(&self) -> Result<(), Fault> {
        self.slots.iter().try_for_each(|slot| self.generation(Some(&slot.name), None).map(drop))
    }

    /// Takes texts or rows from a client's own share.
    pub(crate) fn take_share(&self, caller: &Caller, texts: usize) -> Result<(), Fault> {
        self.clients.take(&caller.client, texts, Instant::now()).map_err(|wait| {
            self.metrics.shed("client");
            let expected = format!("at most {} texts a second from one client", self.config.limits.client_rate);
            Fault::new(Kind::CLIENT_LIMIT, expected, "more").after(wait)
        })
    }

    /// Takes from a client's own share, then runs work on a worker and answers with its JSON. The work also returns its stages.
    pub(crate) async fn work(
        &self,
        caller: &Caller,
        mut record: Record,
        work: impl FnOnce() -> Result<(Vec<u8>, Vec<Stage>), Fault> + Send + 'static,
    ) -> Result<Response, Fault> {
        self.take_share(caller, record.texts)?;
        let (done, waited) = self.workers.run(record.texts, caller.started, work).await?;
        let (body, stages) = done?;
        record.stages = std::iter::once(("queue", waited)).chain(stages).collect();
        Ok((Extension(record), json_response(body)).into_response())
    }

    /// Reloads an index, and says so in the log and the figures.
    pub(crate) fn reload(&self, slot: &Slot, cause: Cause) -> Result<Reloaded> {
        let started = Instant::now();
        let result = slot.reload(cause);
        let told = result.as_ref().map_or("refused", |reloaded| reloaded.name());
        self.metrics.reloaded(&slot.name, told);
        self.update_metrics(slot);
        let generation = slot.current();
        let event = json!({
            "index": slot.name,
            "result": told,
            "generation": generation.number,
            "fingerprint": generation.index.facts().fingerprint,
            "seconds": started.elapsed().as_secs_f64(),
            "reason": result.as_ref().err().map(ToString::to_string),
        });
        self.log.event("reload", event);
        result
    }

    /// Reads the table of pins anew, and says so in the log. If it cannot be read, the pins before stay.
    pub(crate) fn reload_pins(&self) -> Result<()> {
        let Some(path) = &self.config.pins else { return Ok(()) };
        let result = Pins::read(path).map(|pins| self.pins.store(Arc::new(pins)));
        let reason = result.as_ref().err().map(ToString::to_string);
        self.log.event("pins", json!({"queries": self.pins.load().queries(), "reason": reason}));
        result
    }

    /// Reads all files of an index that was not read as a whole before it answered, and says what came out.
    pub(crate) fn read(&self, slot: &Slot) {
        let started = Instant::now();
        let Some((generation, result)) = slot.read() else { return };
        self.update_metrics(slot);
        let checked = result.as_ref().ok();
        let event = json!({
            "index": slot.name,
            "result": generation.files().name(),
            "generation": generation.number,
            "files": checked.map(|checked| checked.files),
            "bytes": checked.map(|checked| checked.bytes),
            "queries": checked.map(|checked| checked.queries),
            "seconds": started.elapsed().as_secs_f64(),
            "reason": result.as_ref().err().map(ToString::to_string),
        });
        self.log.event("check", event);
    }

    /// Puts the generation before in place again.
    ///
    /// # Errors
    ///
    /// The state found instead of a sound generation.
    pub(crate) fn roll_back(&self, slot: &Slot) -> Result<(), &'static str> {
        slot.roll_back()?;
        self.update_metrics(slot);
        self.log.event("rollback", json!({"index": slot.name, "generation": slot.current().number}));
        Ok(())
    }

    /// Brings the figures of an index up to date.
    pub(crate) fn update_metrics(&self, slot: &Slot) {
        let generation = slot.current();
        let files = generation.files();
        let (is_checked, is_damaged) = (files == Files::Sound, matches!(files, Files::Damaged(_)));
        self.metrics.serves(&slot.name, generation.number, generation.index.facts().titles, is_checked, is_damaged);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Refuses a text that is longer than the limit.
    pub(crate) fn check_text(&self, name: &str, text: &str) -> Result<(), Fault> {
        // No text has more characters than bytes.
        if text.len() <= self.config.limits.text {
            return Ok(());
        }
        let found = text.chars().count();
        if found <= self.config.limits.text {
            return Ok(());
        }
        let expected = format!("a text of at most {} characters", self.config.limits.text);
        Err(Fault::field(name, expected, found.to_string()).help("shorten it"))
    }

    /// Refuses more texts than the limit, none, and texts that are too long.
    pub(crate) fn check_texts(&self, name: &str, texts: &[String]) -> Result<(), Fault> {
        if texts.is_empty() || texts.len() > self.config.limits.batch {
            let expected = format!("1 to {} texts", self.config.limits.batch);
            let help = if texts.is_empty() { "send one" } else { "send several requests" };
            return Err(Fault::field(name, expected, texts.len().to_string()).help(help));
        }
        texts.iter().try_for_each(|text| self.check_text(name, text))
    }
}
