//! The routes: which there are, who may use them, and what answers them.

mod admin;
mod click;
mod embed;
mod explain;
mod facts;
mod openai;
mod page;
mod search;

use std::sync::Arc;

use hyper::Method;

use crate::call::{Answer, Call};
use crate::fault::{Fault, FaultKind};
use crate::service::{Asker, Service};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody.
    Open,
    /// Who has a token for searching, if there are tokens.
    Search,
    /// Who has a token for administration.
    Admin,
}

/// An address and what it does.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) methods: &'static [Method],
    pub(crate) access: Access,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Search,
    Embed,
    Explain,
    Embeddings,
    Models,
    Indexes,
    Click,
    Judge,
    Reload,
    RollBack,
    Live,
    Ready,
    Metrics,
    Description,
    Page(&'static page::File),
}

const GET: &[Method] = &[Method::GET, Method::HEAD];
const POST: &[Method] = &[Method::POST];
const BOTH: &[Method] = &[Method::GET, Method::HEAD, Method::POST];

const fn route(path: &'static str, methods: &'static [Method], access: Access, what: What) -> Route {
    Route { path, methods, access, what }
}

/// All routes.
pub(crate) const ROUTES: &[Route] = &[
    route("/search", BOTH, Access::Search, What::Search),
    route("/embed", POST, Access::Search, What::Embed),
    route("/explain", POST, Access::Search, What::Explain),
    route("/v1/embeddings", POST, Access::Search, What::Embeddings),
    route("/v1/models", GET, Access::Search, What::Models),
    route("/indexes", GET, Access::Search, What::Indexes),
    route("/click", POST, Access::Search, What::Click),
    route("/judge", POST, Access::Search, What::Judge),
    route("/admin/reload", POST, Access::Admin, What::Reload),
    route("/admin/rollback", POST, Access::Admin, What::RollBack),
    route("/health/live", GET, Access::Open, What::Live),
    route("/health/ready", GET, Access::Open, What::Ready),
    route("/metrics", GET, Access::Open, What::Metrics),
    route("/openapi.json", GET, Access::Open, What::Description),
    route("/", GET, Access::Open, What::Page(&page::INDEX)),
    route("/page.css", GET, Access::Open, What::Page(&page::STYLE)),
    route("/page.js", GET, Access::Open, What::Page(&page::SCRIPT)),
    route("/explain.js", GET, Access::Open, What::Page(&page::EXPLAIN)),
];

impl Route {
    /// Whether it says how the service is, which must be known most of all when there is too much to do.
    pub(crate) fn is_probe(&self) -> bool {
        matches!(self.what, What::Live | What::Ready | What::Metrics)
    }

    /// Whether it says whether the service runs, and nothing of what it has.
    pub(crate) fn is_health(&self) -> bool {
        matches!(self.what, What::Live | What::Ready)
    }
}

/// The route of a path, if it has this method.
pub(crate) fn find(path: &str, method: &Method) -> Result<&'static Route, Fault> {
    let Some(route) = ROUTES.iter().find(|route| route.path == path) else {
        let fault = Fault::new(FaultKind::NotFound, "an address of this service", crate::fault::quoted(path));
        return Err(fault.help("/openapi.json lists them"));
    };
    if route.methods.contains(method) {
        return Ok(route);
    }
    let allow: Vec<&str> = route.methods.iter().map(Method::as_str).collect();
    Err(Fault::new(FaultKind::MethodNotAllowed, allow.join(" or "), method.as_str()).allowing(allow.join(", ")))
}

/// Answers a request that may have an answer.
pub(crate) async fn answer(
    service: &Arc<Service>,
    route: &Route,
    call: &Call,
    asker: &Asker<'_>,
) -> Result<Answer, Fault> {
    match route.what {
        What::Search => search::answer(service, call, asker).await,
        What::Embed => embed::answer(service, call, asker).await,
        What::Explain => explain::answer(service, call, asker).await,
        What::Embeddings => openai::embeddings(service, call, asker).await,
        What::Models => Ok(openai::models(service)),
        What::Indexes => Ok(facts::indexes(service)),
        What::Click => click::click(service, call, asker).await,
        What::Judge => click::judge(service, call).await,
        What::Reload => admin::reload(service, call).await,
        What::RollBack => admin::roll_back(service, call).await,
        What::Live => Ok(facts::live()),
        What::Ready => facts::ready(service),
        What::Metrics => Ok(facts::metrics(service)),
        What::Description => Ok(Answer::json(service.openapi.clone())),
        What::Page(file) => Ok(page::answer(file)),
    }
}
