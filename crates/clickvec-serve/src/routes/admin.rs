//! `POST /admin/reload` and `/admin/rollback`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::fault::{Fault, Kind};
use crate::generation::{Cause, Reloaded};
use crate::request::Parameters;
use crate::service::Service;

#[derive(Serialize)]
pub(super) struct Changed {
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
pub(super) async fn reload(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Changed>, Fault> {
    change(service, query.as_deref(), |service, number| {
        let slot = &service.slots[number];
        match service.reload(slot, Cause::Requested) {
            Ok(Reloaded::Swapped) => Ok("swapped"),
            Ok(Reloaded::Unchanged | Reloaded::Left) => Ok("unchanged"),
            Err(error) => {
                let fault = Fault::new(
                    Kind::CONFLICT,
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
pub(super) async fn roll_back(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Changed>, Fault> {
    change(service, query.as_deref(), |service, number| {
        let slot = &service.slots[number];
        service
            .roll_back(slot)
            .map(|()| "rolled-back")
            .map_err(|found| Fault::new(Kind::CONFLICT, format!("an earlier generation of `{}`", slot.name), found))
    })
    .await
}

/// Changes indexes on a thread where that delays no request.
async fn change(
    service: Arc<Service>,
    query: Option<&str>,
    change: impl Fn(&Service, usize) -> Result<&'static str, Fault> + Send + 'static,
) -> Result<Json<Changed>, Fault> {
    let name = Parameters::read(query, &["index"], &[])?.text("index");
    let numbers: Vec<usize> = match &name {
        None => (0..service.slots.len()).collect(),
        Some(name) => {
            service.slot(Some(name))?;
            (0..service.slots.len()).filter(|&number| service.slots[number].name == *name).collect()
        }
    };
    let done = tokio::task::spawn_blocking(move || {
        // One that is refused keeps none of the others from being changed.
        let results: Vec<_> = numbers.iter().map(|&number| (number, change(&service, number))).collect();
        let index = |(number, result): (usize, Result<&'static str, Fault>)| {
            let (slot, result) = (&service.slots[number], result?);
            let generation = slot.current();
            let fingerprint = generation.index.facts().fingerprint.clone();
            Ok(Index { name: slot.name.clone(), result, generation: generation.number, fingerprint })
        };
        results.into_iter().map(index).collect::<Result<Vec<_>, Fault>>()
    });
    let indexes = done.await.map_err(|error| Fault::internal(&error))??;
    Ok(Json(Changed { indexes }))
}
