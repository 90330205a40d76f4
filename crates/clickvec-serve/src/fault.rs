//! Why a request was not answered: one form for every status.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use clickvec_tables::shown::cut;
use serde::Serialize;

/// The status of a fault, and its name in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(u16, &'static str);

impl Kind {
    pub(crate) const BAD_REQUEST: Kind = Kind(400, "bad_request");
    pub(crate) const UNAUTHORIZED: Kind = Kind(401, "unauthorized");
    pub(crate) const FORBIDDEN: Kind = Kind(403, "forbidden");
    pub(crate) const NOT_FOUND: Kind = Kind(404, "not_found");
    pub(crate) const METHOD_NOT_ALLOWED: Kind = Kind(405, "method_not_allowed");
    pub(crate) const SLOW: Kind = Kind(408, "slow_request");
    pub(crate) const CONFLICT: Kind = Kind(409, "conflict");
    pub(crate) const TOO_LARGE: Kind = Kind(413, "too_large");
    pub(crate) const MEDIA_TYPE: Kind = Kind(415, "media_type");
    pub(crate) const UNPROCESSABLE: Kind = Kind(422, "unprocessable");
    pub(crate) const CLIENT_LIMIT: Kind = Kind(429, "client_limit");
    pub(crate) const INTERNAL: Kind = Kind(500, "internal");
    pub(crate) const OVERLOADED: Kind = Kind(503, "overloaded");
    pub(crate) const UNAVAILABLE: Kind = Kind(503, "unavailable");
    pub(crate) const LATE: Kind = Kind(504, "late");

    pub(crate) fn status(self) -> u16 {
        self.0
    }

    /// Returns the kind as OpenAI's clients know it.
    fn family(self) -> &'static str {
        match self.0 {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }
}

/// A request that was not answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    expected: String,
    found: String,
    /// What the client can do.
    help: Box<str>,
    /// The field that is wrong.
    param: Option<Box<str>>,
    pub(crate) retry_after: Option<Duration>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: Details<'a>,
}

#[derive(Serialize)]
struct Details<'a> {
    message: String,
    r#type: &'a str,
    code: &'a str,
    param: Option<&'a str>,
    expected: &'a str,
    found: &'a str,
    help: &'a str,
}

impl Fault {
    pub(crate) fn new(kind: Kind, expected: impl Into<String>, found: impl Into<String>) -> Fault {
        let (expected, found) = (expected.into(), found.into());
        Fault { kind, expected, found, help: Box::default(), param: None, retry_after: None }
    }

    /// Creates the fault of a field that a request must not have, or not with this value.
    pub(crate) fn field(param: &str, expected: impl Into<String>, found: impl Into<String>) -> Fault {
        Fault::new(Kind::UNPROCESSABLE, expected, found).param(param)
    }

    /// Creates the fault of the library while it answered.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Fault {
        Fault::new(Kind::INTERNAL, "an answer", error.to_string()).help("the log of the service has more")
    }

    /// Creates the fault of a request that cannot be done now.
    pub(crate) fn overloaded(expected: impl Into<String>, found: impl Into<String>, wait: Duration) -> Fault {
        Fault::new(Kind::OVERLOADED, expected, found).after(wait)
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Fault {
        Fault { help: help.into().into(), ..self }
    }

    pub(crate) fn param(self, param: impl Into<String>) -> Fault {
        Fault { param: Some(param.into().into()), ..self }
    }

    /// Sets the time after which the client may try again.
    pub(crate) fn after(self, wait: Duration) -> Fault {
        Fault { retry_after: Some(wait), ..self.help("try again after the time that Retry-After says") }
    }

    pub(crate) fn code(&self) -> &'static str {
        self.kind.1
    }

    pub(crate) fn message(&self) -> String {
        let Fault { expected, found, help, .. } = self;
        let help = if help.is_empty() { String::new() } else { format!("; {help}") };
        format!("expected {expected}, found {found}{help}")
    }

    fn json(&self) -> Vec<u8> {
        let error = Details {
            message: self.message(),
            r#type: self.kind.family(),
            code: self.code(),
            param: self.param.as_deref(),
            expected: &self.expected,
            found: &self.found,
            help: &self.help,
        };
        serde_json::to_vec(&Body { error }).expect("strings are JSON")
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.json().into());
        *response.status_mut() = StatusCode::from_u16(self.kind.status()).expect("a status of the list above");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs_f64().ceil().max(1.0) as u64;
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == Kind::UNAUTHORIZED {
            headers.insert(HeaderName::from_static("www-authenticate"), HeaderValue::from_static("Bearer"));
        }
        // For the log.
        response.extensions_mut().insert(self);
        response
    }
}

/// At most this many characters of what a client sent are sent back.
const ECHOED: usize = 40;

/// Returns a text of a client for a message: shortened, without control characters, in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", cut(text, ECHOED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_what_was_expected_found_and_what_to_do() {
        let fault = Fault::field("texts", "at most 3 texts", "4").help("send two requests");
        let json: serde_json::Value = serde_json::from_slice(&fault.json()).unwrap();
        assert_eq!(json["error"]["message"], "expected at most 3 texts, found 4; send two requests");
        assert_eq!(json["error"]["type"], "invalid_request_error");
        assert_eq!((&json["error"]["param"], fault.kind.status()), (&"texts".into(), 422));
    }

    #[test]
    fn texts_of_clients_are_shortened_and_made_harmless() {
        assert_eq!(quoted("a\u{1b}b"), "`a\u{fffd}b`");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), ECHOED + 3);
    }
}
