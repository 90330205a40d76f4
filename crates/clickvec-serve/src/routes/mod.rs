//! The routes, and who may use them.

mod admin;
mod click;
mod explain;
mod facts;
mod openai;
mod page;
mod search;
mod suggest;

pub(crate) use page::POLICY as PAGE_POLICY;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};

use crate::fault::{Fault, Kind, json_response, quoted};
use crate::front;
use crate::service::Service;

/// Returns the service as axum runs it.
pub(crate) fn router(service: &Arc<Service>) -> Router {
    let search = Router::new()
        .route("/search", get(search::by_address).post(search::by_body))
        .route("/suggest", get(suggest::suggest))
        .route("/explain", post(explain::explain))
        .route("/v1/embeddings", post(openai::embeddings))
        .route("/v1/models", get(openai::models))
        .route("/v1/models/{id}", get(openai::model))
        .route("/indexes", get(facts::indexes))
        .route("/click", post(click::click))
        .route("/judge", post(click::judge))
        .route_layer(from_fn_with_state(Arc::clone(service), front::may_search));
    let admin = Router::new()
        .route("/admin/reload", post(admin::reload))
        .route("/admin/rollback", post(admin::roll_back))
        .route_layer(from_fn_with_state(Arc::clone(service), front::may_administrate));
    let page = page::FILES.into_iter().fold(Router::new(), |router, (address, media, text)| {
        router.route(address, get(move || async move { page::file(media, text) }))
    });
    page.route("/health/live", get(facts::live))
        .route("/health/ready", get(facts::ready))
        .route("/metrics", get(facts::metrics))
        .route("/openapi.json", get(description))
        .merge(search)
        .merge(admin)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(Arc::clone(service), front::answer))
        .with_state(Arc::clone(service))
}

async fn description(State(service): State<Arc<Service>>) -> Response {
    json_response(service.openapi.clone())
}

async fn not_found(request: Request) -> Fault {
    let fault = Fault::new(Kind::NOT_FOUND, "an address of this service", quoted(request.uri().path()));
    fault.help("/openapi.json lists them")
}

async fn method_not_allowed(request: Request) -> Fault {
    Fault::new(Kind::METHOD_NOT_ALLOWED, "a method that the header Allow lists", request.method().as_str())
}
