//! The steps before and after every route: who may send requests, and the log of them.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderMap, Method, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::answer::Record;
use crate::clients::{Caller, forwarded, name};
use crate::fault::{Fault, Kind, quoted};
use crate::hosts::without_port;
use crate::permits::Permit;
use crate::service::Service;
use crate::tokens::{Hash, Tokens, has};

/// A client's own name for a request is at most this long.
const REQUEST_ID: usize = 64;

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// The connection of a request.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) permit: Arc<Permit>,
}

/// Answers a request, whatever it is: admits it, has the route answer, writes the log and the common headers.
pub(crate) async fn answer(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let Some(Peer { address, permit }) = request.extensions().get::<Peer>().cloned() else {
        return Fault::internal(&"a request without its connection").into_response();
    };
    let headers = request.headers();
    let id = request_id(headers);
    let trace = trace_id(headers);
    let client = client(&service, address, headers);
    let origin = headers.get(ORIGIN).cloned();
    let allowed =
        origin.filter(|origin| service.config.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()));
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    request.extensions_mut().insert(Caller { client: client.clone(), started });
    let checked = check(&service, &request);
    let mut response = match admit(&service, &permit, checked).await {
        Ok(()) if method == Method::OPTIONS && allowed.is_some() => preflight(),
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    let (parts, body) = response.into_parts();
    // It is in memory already.
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    response = match service.outgoing.admit(bytes) {
        Some(body) => Response::from_parts(parts, body),
        None => {
            service.metrics.shed("answers");
            let expected = "room for an answer of this size";
            Fault::overloaded(expected, "too many that clients have not taken yet", started.elapsed()).into_response()
        }
    };
    let took = started.elapsed();
    let status = response.status().as_u16();
    let record = response.extensions_mut().remove::<Record>().unwrap_or_default();
    let fault = response.extensions_mut().remove::<Arc<Fault>>();
    service.metrics.answered(&route, status, took);
    for &(stage, time) in &record.stages {
        service.metrics.stage(stage, time);
    }
    let event = json!({
        "id": id,
        "trace": trace,
        "client": client,
        "method": method.as_str(),
        "route": route,
        "status": status,
        "seconds": took.as_secs_f64(),
        "texts": Some(record.texts).filter(|&texts| texts > 0),
        "index": record.index,
        "generation": record.generation,
        "fault": fault.as_ref().map(|fault| fault.code()),
        "message": fault.filter(|_| status >= 500 || service.config.log_queries).map(|fault| fault.message()),
        "query": record.query,
    });
    service.log.event("request", event);
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.entry(HeaderName::from_static(name)).or_insert(value);
        }
    };
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cache-control", "no-store");
    set("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    set("x-request-id", &id);
    if !record.stages.is_empty() {
        let total = [("total", took)];
        let stages = record.stages.iter().chain(&total);
        let stages = stages.map(|(name, time)| format!("{name};dur={:.3}", time.as_secs_f64() * 1e3));
        set("server-timing", &stages.collect::<Vec<_>>().join(", "));
    }
    if let Some(origin) = allowed.as_ref().and_then(|origin| origin.to_str().ok()) {
        set("access-control-allow-origin", origin);
        set("access-control-expose-headers", "retry-after, server-timing, x-request-id");
    }
    set("vary", "origin");
    if service.is_stopping() || permit.is_spare() {
        set("connection", "close");
    }
    response
}

/// Waits for a permit for a request that is admitted, unless it needs none.
async fn admit(service: &Service, permit: &Permit, checked: Result<bool, Fault>) -> Result<(), Fault> {
    if checked? {
        permit.admit().await.inspect_err(|_| service.metrics.shed("connections"))?;
    }
    Ok(())
}

/// Checks the names of the host and of the page that asks, and returns whether the request needs a permit.
fn check(service: &Service, request: &Request) -> Result<bool, Fault> {
    let host = host(request)?;
    check_encoding(request.headers())?;
    let path = request.uri().path();
    let is_health = path.starts_with("/health/");
    if let Some(host) = host.filter(|host| !is_health && !service.hosts.has(host)) {
        let expected = "a Host that is localhost, a number, or a name that the service was told";
        return Err(Fault::new(Kind::FORBIDDEN, expected, quoted(host)));
    }
    if request.method() == Method::POST {
        check_origin(service, request.headers(), host)?;
    }
    // Health and figures must be known most of all when there is too much to do.
    Ok(!is_health && path != "/metrics")
}

/// Returns the name that a request was sent to (RFC 9112, 3.2): that of an address that is a whole URL, or else the header
/// Host. There must be one such header, and only programs that speak HTTP/1.0 may leave it out.
fn host(request: &Request) -> Result<Option<&str>, Fault> {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let fault = |found: String| Err(Fault::new(Kind::BAD_REQUEST, "one header Host", found));
    let headers: Vec<&HeaderValue> = request.headers().get_all(HOST).iter().collect();
    match (&headers[..], authority) {
        ([], _) if request.version() < Version::HTTP_11 => Ok(authority),
        ([], _) => fault("none".to_owned()),
        ([_], Some(authority)) => Ok(Some(authority)),
        ([header], None) => match header.to_str() {
            Ok(host) => Ok(Some(host)),
            Err(_) => fault(quoted(&String::from_utf8_lossy(header.as_bytes()))),
        },
        (several, _) => fault(several.len().to_string()),
    }
}

/// Refuses a body that was coded before it was sent: nothing here decodes it.
fn check_encoding(headers: &HeaderMap) -> Result<(), Fault> {
    let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    let codings: Vec<&HeaderValue> = headers.get_all(TRANSFER_ENCODING).iter().collect();
    match codings[..] {
        [] => Ok(()),
        [coding] if is_chunked(coding) => Ok(()),
        _ => {
            let found = codings.iter().map(|value| quoted(&String::from_utf8_lossy(value.as_bytes())));
            let found = found.collect::<Vec<_>>().join(", ");
            Err(Fault::new(Kind::BAD_REQUEST, "no Transfer-Encoding but chunked, once", found))
        }
    }
}

/// Refuses posts of another site's page through a browser. A proxy may pass on the host without its port.
fn check_origin(service: &Service, headers: &HeaderMap, host: Option<&str>) -> Result<(), Fault> {
    let Some(origin) = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) else { return Ok(()) };
    let own = origin.split_once("://").map(|(_, own)| own);
    let is_own = own.zip(host).is_some_and(|(own, host)| own == host || without_port(own) == host);
    if is_own || service.config.origins.iter().any(|allowed| allowed == origin) {
        return Ok(());
    }
    Err(Fault::new(Kind::FORBIDDEN, "a page of this service or of an allowed origin", quoted(origin)))
}

/// Lets clients with a token for searching through, or all if there are no such tokens.
pub(crate) async fn may_search(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Fault> {
    let Tokens { search, admin } = &service.config.tokens;
    if !search.is_empty() {
        check_token(request.headers(), &[search, admin])?;
    }
    Ok(next.run(request).await)
}

/// Lets clients with a token for administration through.
pub(crate) async fn may_administrate(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Fault> {
    let admin = &service.config.tokens.admin;
    if admin.is_empty() {
        let fault = Fault::new(Kind::FORBIDDEN, "a service with tokens for administration", "one without");
        return Err(
            fault.help("start it with a file of such tokens; it notices a new index in the folder all the same")
        );
    }
    check_token(request.headers(), &[admin])?;
    Ok(next.run(request).await)
}

fn check_token(headers: &HeaderMap, known: &[&Vec<Hash>]) -> Result<(), Fault> {
    let token = headers.get(AUTHORIZATION).and_then(|header| {
        let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = match token {
        Some(token) if known.iter().any(|known| has(known, token)) => return Ok(()),
        Some(_) => "an unknown one",
        None => "none",
    };
    Err(Fault::new(Kind::UNAUTHORIZED, "a known token in the header Authorization: Bearer", found))
}

/// Returns the client's own name for a request, if a log can hold it, or a number.
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

/// Returns the id of the trace that a request belongs to, of the header traceparent (W3C Trace Context, version 00).
fn trace_id(headers: &HeaderMap) -> Option<String> {
    let header = headers.get("traceparent")?.to_str().ok()?;
    let [version, trace, parent, flags] = header.split('-').collect::<Vec<_>>().try_into().ok()?;
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let is_valid = version == "00" && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    (is_valid && trace.bytes().any(|b| b != b'0')).then(|| trace.to_owned())
}

/// Returns the address of the client: that of the connection, or the one that the proxy in front gives.
fn client(service: &Service, peer: IpAddr, headers: &HeaderMap) -> String {
    let header = headers.get_all("x-forwarded-for").iter().next_back().and_then(|header| header.to_str().ok());
    let last = header.filter(|_| service.config.forwarded).and_then(forwarded);
    name(last.unwrap_or(peer))
}

/// Tells a browser which requests the page of an allowed origin may send.
fn preflight() -> Response {
    let headers = [
        ("content-type", "text/plain"),
        ("access-control-allow-methods", "GET, POST"),
        ("access-control-allow-headers", "authorization, content-type, traceparent, x-request-id"),
        ("access-control-max-age", "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
