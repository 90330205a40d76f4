//! From a request to its answer: who may ask, the body, the route, and what is written down about it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, Version};

use crate::call::{Answer, Call, read};
use crate::fault::{Fault, FaultKind, quoted};
use crate::hosts::name_of;
use crate::metrics::Shed;
use crate::places::Place;
use crate::routes::{self, Access, Route};
use crate::service::{Asker, Service};
use crate::tokens::Tokens;

/// A client's own name for a request is kept up to this length.
const REQUEST_ID: usize = 64;
/// How long a browser may remember what it may ask from another origin, in seconds.
const PREFLIGHT: &str = "600";

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// Answers a request, whatever it is.
pub(crate) async fn respond(
    service: Arc<Service>,
    peer: IpAddr,
    place: &Place,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let id = request_id(&parts.headers);
    let client = client(&service, peer, &parts.headers);
    let origin = parts.headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).map(str::to_owned);
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let is_allowed = origin.as_deref().is_some_and(|origin| service.origins.iter().any(|allowed| allowed == origin));
    let mut name = "none";
    let found = match host(&parts) {
        Ok(host) => routes::find(&path, &method).map(|route| (host, route)),
        Err(fault) => Err(fault),
    };
    let is_preflight = method == Method::OPTIONS && is_allowed;
    let answer = match found {
        Err(fault) if is_preflight && fault.kind != FaultKind::BadRequest => Ok(preflight()),
        Err(fault) => Err(fault),
        Ok((host, route)) => {
            name = route.path;
            let asker = Asker { client: &client, started };
            let admitted = admit(&service, route, place, host.as_deref()).await;
            let call = Call {
                method: method.clone(),
                query: parts.uri.query().map(str::to_owned),
                host,
                headers: parts.headers,
                body: Bytes::new(),
                started,
            };
            match admitted {
                Ok(()) => answer(&service, route, call, body, &asker, origin.as_deref()).await,
                Err(fault) => Err(fault),
            }
        }
    };
    let fault = answer.as_ref().err().cloned();
    let answer = answer.unwrap_or_else(|fault| Answer::from(&fault));
    let took = started.elapsed();
    service.metrics.answered(name, answer.status, took);
    for &(stage, time) in &answer.stages {
        service.metrics.stage(stage, time);
    }
    let message = fault.as_ref().filter(|fault| fault.kind.status() >= 500 || service.log_queries).map(Fault::message);
    service.log.event(
        "request",
        [
            ("id", id.as_str().into()),
            ("client", client.as_str().into()),
            ("method", method.as_str().into()),
            ("route", name.into()),
            ("status", answer.status.into()),
            ("seconds", took.as_secs_f64().into()),
            ("texts", Some(answer.texts).filter(|&texts| texts > 0).into()),
            ("index", answer.index.as_deref().into()),
            ("generation", answer.generation.into()),
            ("fault", fault.as_ref().map(Fault::code).into()),
            ("message", message.into()),
            ("query", answer.query.as_deref().into()),
        ],
    );
    let is_last = service.is_stopping() || place.is_spare();
    response(answer, &id, took, origin.filter(|_| is_allowed), is_last)
}

/// The name that a request was sent to, as HTTP has it (RFC 9112, 3.2): that of an address that is given in whole, and otherwise
/// the header Host. There must be one such header, and only programs that speak HTTP/1.0 may leave it out.
fn host(parts: &Parts) -> Result<Option<String>, Fault> {
    let mut headers = parts.headers.get_all(HOST).iter();
    let (header, second) = (headers.next(), headers.next());
    let fault = |found: String| Err(Fault::new(FaultKind::BadRequest, "one header Host", found));
    if second.is_some() {
        return fault(parts.headers.get_all(HOST).iter().count().to_string());
    }
    let Some(header) = header else {
        let whole = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        return if parts.version < Version::HTTP_11 { Ok(whole) } else { fault("none".to_owned()) };
    };
    match (parts.uri.authority(), header.to_str()) {
        (Some(authority), _) => Ok(Some(authority.as_str().to_owned())),
        (None, Ok(host)) => Ok(Some(host.to_owned())),
        (None, Err(_)) => fault(quoted(&String::from_utf8_lossy(header.as_bytes()))),
    }
}

/// Refuses what was sent to a name that is not the service's, and waits for a place unless only health is asked for.
async fn admit(service: &Service, route: &Route, place: &Place, host: Option<&str>) -> Result<(), Fault> {
    // A program that speaks HTTP/1.0 may name none; a browser always does.
    let host = host.filter(|_| !route.is_health());
    if let Some(host) = host.filter(|host| !service.hosts.has(host)) {
        let expected = "a Host that is localhost, a number, or a name that the service was told";
        return Err(Fault::new(FaultKind::Forbidden, expected, quoted(host)));
    }
    if route.is_probe() {
        return Ok(());
    }
    place.admit().await.inspect_err(|_| service.metrics.shed(Shed::Place))
}

/// Checks who asks, reads the body, and has the route answer.
async fn answer(
    service: &Arc<Service>,
    route: &'static Route,
    call: Call,
    body: Incoming,
    asker: &Asker<'_>,
    origin: Option<&str>,
) -> Result<Answer, Fault> {
    may_use(service, route, &call.headers)?;
    if call.method == Method::POST {
        is_own_page(service, origin, call.host.as_deref())?;
    }
    let body = match call.method {
        Method::POST => read(body, &call.headers, &service.limits, call.started).await?,
        _ => Bytes::new(),
    };
    let call = Call { body, ..call };
    routes::answer(service, route, &call, asker).await
}

/// Refuses whoever lacks a token for a route.
fn may_use(service: &Service, route: &Route, headers: &HeaderMap) -> Result<(), Fault> {
    let token = headers.get(AUTHORIZATION).and_then(|header| {
        let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let has = |tokens: &Tokens| token.as_deref().is_some_and(|token| tokens.has(token));
    let unauthorized = || {
        let found = if token.is_some() { "an unknown one" } else { "none" };
        Err(Fault::new(FaultKind::Unauthorized, "a known token in the header Authorization: Bearer", found))
    };
    match (route.access, &service.search_tokens, &service.admin_tokens) {
        (Access::Open, ..) | (Access::Search, None, _) => Ok(()),
        (Access::Search, Some(search), admin) => {
            if has(search) || admin.as_ref().is_some_and(has) {
                Ok(())
            } else {
                unauthorized()
            }
        }
        (Access::Admin, _, Some(admin)) => {
            if has(admin) {
                Ok(())
            } else {
                unauthorized()
            }
        }
        (Access::Admin, _, None) => {
            let fault = Fault::new(FaultKind::Forbidden, "a service with tokens for administration", "one without");
            let advice = &service.advice.admin_tokens;
            Err(fault.help(format!("{advice}; a new index in the folder is noticed all the same")))
        }
    }
}

/// Refuses what the page of another site posts through a browser. A proxy may pass on the host without its port.
fn is_own_page(service: &Service, origin: Option<&str>, host: Option<&str>) -> Result<(), Fault> {
    let Some(origin) = origin else { return Ok(()) };
    let own = origin.split_once("://").map(|(_, own)| own);
    let is_own = own.zip(host).is_some_and(|(own, host)| own == host || name_of(own) == host);
    if is_own || service.origins.iter().any(|allowed| allowed == origin) {
        return Ok(());
    }
    Err(Fault::new(FaultKind::Forbidden, "a page of this service or of an allowed origin", quoted(origin)))
}

/// The name of a request: the client's own, if it is one that a log can hold, or a number.
fn request_id(headers: &HeaderMap) -> String {
    let is_plain = |id: &&str| {
        !id.is_empty()
            && id.len() <= REQUEST_ID
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    match headers.get("x-request-id").and_then(|id| id.to_str().ok()).filter(is_plain) {
        Some(id) => id.to_owned(),
        None => format!("{:x}-{:x}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)),
    }
}

/// Who asks: the address of the connection, or what the proxy in front says.
fn client(service: &Service, peer: IpAddr, headers: &HeaderMap) -> String {
    let said = headers.get_all("x-forwarded-for").iter().next_back().and_then(|said| said.to_str().ok());
    let last = said.and_then(|said| said.rsplit(',').next()).and_then(|last| last.trim().parse::<IpAddr>().ok());
    last.filter(|_| service.forwarded).unwrap_or(peer).to_string()
}

fn preflight() -> Answer {
    let headers = vec![
        ("access-control-allow-methods", "GET, POST".to_owned()),
        ("access-control-allow-headers", "authorization, content-type, x-request-id".to_owned()),
        ("access-control-max-age", PREFLIGHT.to_owned()),
    ];
    Answer { status: 204, headers, ..Answer::of("text/plain", "") }
}

fn response(answer: Answer, id: &str, took: Duration, origin: Option<String>, is_last: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).expect("a status of a fault");
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("content-type", answer.content_type);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cache-control", "no-store");
    set("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    set("x-request-id", id);
    if !answer.stages.is_empty() {
        let total = [("total", took)];
        let stages = answer.stages.iter().chain(&total);
        let stages = stages.map(|(name, time)| format!("{name};dur={:.3}", time.as_secs_f64() * 1e3));
        set("server-timing", &stages.collect::<Vec<_>>().join(", "));
    }
    if let Some(origin) = &origin {
        set("access-control-allow-origin", origin);
        set("access-control-expose-headers", "retry-after, server-timing, x-request-id");
    }
    set("vary", "origin");
    if is_last {
        set("connection", "close");
    }
    for (name, value) in &answer.headers {
        set(name, value);
    }
    response
}
