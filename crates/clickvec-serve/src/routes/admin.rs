//! `POST /admin/reload` and `/admin/rollback`.

use std::sync::Arc;

use serde::Serialize;

use crate::call::{Answer, Call};
use crate::error::Error;
use crate::fault::{Fault, FaultKind};
use crate::generation::{Cause, Reloaded};
use crate::service::Service;

#[derive(Serialize)]
struct Changed {
    indexes: Vec<Index>,
}

#[derive(Serialize)]
struct Index {
    name: String,
    result: &'static str,
    generation: u64,
    fingerprint: String,
}

/// Reloads the index that is named, or all.
pub(super) async fn reload(service: &Arc<Service>, call: &Call) -> Result<Answer, Fault> {
    change(service, call, |service, place| {
        let slot = &service.slots[place];
        match service.reload(slot, Cause::Asked) {
            Ok(Reloaded::Swapped) => Ok("swapped"),
            Ok(Reloaded::Unchanged | Reloaded::Left) => Ok("unchanged"),
            Err(error) => {
                let fault = Fault::new(
                    FaultKind::Conflict,
                    format!("an index that can take the place of `{}`", slot.name),
                    format!("that {error}"),
                );
                Err(fault.help("the generation before still answers"))
            }
        }
    })
    .await
}

/// Lets the generation before answer again.
pub(super) async fn roll_back(service: &Arc<Service>, call: &Call) -> Result<Answer, Fault> {
    change(service, call, |service, place| {
        let rolled = service.roll_back(&service.slots[place]).map(|()| "rolled-back");
        rolled.map_err(|error| {
            let name = &service.slots[place].name;
            let found = if matches!(error, Error::DamagedPrevious { .. }) { "one with a damaged file" } else { "none" };
            Fault::new(FaultKind::Conflict, format!("an earlier generation of `{name}`"), found)
        })
    })
    .await
}

/// Changes indexes on a thread where that holds nobody up.
async fn change(
    service: &Arc<Service>,
    call: &Call,
    change: impl Fn(&Service, usize) -> Result<&'static str, Fault> + Send + 'static,
) -> Result<Answer, Fault> {
    let name = call.parameters(&["index"], &[])?.text("index");
    let places: Vec<usize> = match &name {
        None => (0..service.slots.len()).collect(),
        Some(name) => {
            service.slot(Some(name))?;
            (0..service.slots.len()).filter(|&place| service.slots[place].name == *name).collect()
        }
    };
    let service = Arc::clone(service);
    let done = tokio::task::spawn_blocking(move || {
        // One that is refused keeps none of the others from being changed.
        let results: Vec<_> = places.iter().map(|&place| (place, change(&service, place))).collect();
        let index = |(place, result): (usize, Result<&'static str, Fault>)| {
            let (slot, result) = (&service.slots[place], result?);
            let generation = slot.current();
            let fingerprint = generation.engine.facts().fingerprint.clone();
            Ok(Index { name: slot.name.clone(), result, generation: generation.number, fingerprint })
        };
        results.into_iter().map(index).collect::<Result<Vec<_>, Fault>>()
    });
    let indexes = done.await.map_err(|error| Fault::internal(&error))??;
    Ok(Answer::json(serde_json::to_vec(&Changed { indexes }).expect("strings are JSON")))
}
