//! `POST /admin/reload` and `/admin/rollback`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::{Fault, Kind};
use crate::generation::{Cause, Reloaded, Slot};
use crate::request::AddressQuery;
use crate::service::Service;

/// The index to change: all, if none is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    index: Option<String>,
}

/// Reloads the index that is named, or all, and the table of pins.
pub(super) async fn reload(
    State(service): State<Arc<Service>>,
    AddressQuery(which): AddressQuery<Which>,
) -> Result<Json<Value>, Fault> {
    service.reload_pins().map_err(|error| {
        let fault = Fault::new(Kind::CONFLICT, "a table of pins that can be read", format!("that {error}"));
        fault.help("the pins before still count, and no index was reloaded")
    })?;
    change(service, which, |service, slot| {
        service.reload(slot, Cause::Requested).map(Reloaded::name).map_err(|error| {
            let expected = format!("an index that can replace `{}`", slot.name);
            Fault::new(Kind::CONFLICT, expected, format!("that {error}")).help("the generation before still answers")
        })
    })
    .await
}

/// Puts the generation before in place again.
pub(super) async fn roll_back(
    State(service): State<Arc<Service>>,
    AddressQuery(which): AddressQuery<Which>,
) -> Result<Json<Value>, Fault> {
    change(service, which, |service, slot| {
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
    Which { index: name }: Which,
    change: impl Fn(&Service, &Slot) -> Result<&'static str, Fault> + Send + 'static,
) -> Result<Json<Value>, Fault> {
    service.slot(name.as_deref())?;
    let done = tokio::task::spawn_blocking(move || {
        let is_named = |slot: &&Slot| name.as_ref().is_none_or(|name| slot.name == *name);
        // One that is refused keeps none of the others from being changed.
        let results: Vec<_> =
            service.slots.iter().filter(is_named).map(|slot| (slot, change(&service, slot))).collect();
        let index = |(slot, result): (&Slot, Result<&'static str, Fault>)| {
            let generation = slot.current();
            let fingerprint = &generation.index.facts().fingerprint;
            let number = generation.number;
            Ok(json!({"name": slot.name, "result": result?, "generation": number, "fingerprint": fingerprint}))
        };
        results.into_iter().map(index).collect::<Result<Vec<_>, Fault>>()
    });
    Ok(Json(json!({"indexes": done.await??})))
}
