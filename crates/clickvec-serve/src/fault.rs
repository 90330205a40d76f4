//! Why a request was not answered: one form for every status.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use clickvec_tables::shown::cut;
use clickvec_tables::{Error, ErrorKind};
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

/// A request that was not answered. The place of the error is the field that is wrong.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) error: Error,
    pub(crate) retry_after: Option<Duration>,
}

#[derive(Serialize)]
struct Refusal<'a> {
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
        let error = Error::expected(ErrorKind::Setting, expected.into(), found.into());
        Fault { kind, error, retry_after: None }
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

    /// Creates the fault of a request that was not done in time.
    pub(crate) fn late() -> Fault {
        let fault = Fault::new(Kind::LATE, "to answer within the limit `request`", "that it takes longer");
        fault.help("ask for fewer texts or titles at once")
    }

    /// Creates the fault of something that the disk refused.
    pub(crate) fn not_written(what: &str, error: &dyn std::fmt::Display) -> Fault {
        let fault = Fault::new(Kind::UNAVAILABLE, format!("to write the {what} to the disk"), error.to_string());
        fault.help("nothing was recorded; try again")
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Fault {
        Fault { error: self.error.help(help.into()), ..self }
    }

    pub(crate) fn param(self, param: impl Into<String>) -> Fault {
        Fault { error: self.error.within(param.into()), ..self }
    }

    /// Sets the time after which the client may try again.
    pub(crate) fn after(self, wait: Duration) -> Fault {
        Fault { retry_after: Some(wait), ..self.help("try again after the time that Retry-After says") }
    }

    pub(crate) fn code(&self) -> &'static str {
        self.kind.1
    }

    pub(crate) fn message(&self) -> String {
        self.error.message()
    }

    fn json(&self) -> Vec<u8> {
        let error = Details {
            message: self.message(),
            r#type: self.kind.family(),
            code: self.code(),
            param: self.error.named_place(),
            expected: self.error.what_was_expected().unwrap_or_default(),
            found: self.error.what_was_found().unwrap_or_default(),
            help: self.error.what_helps().unwrap_or_default(),
        };
        serde_json::to_vec(&Refusal { error }).expect("strings are JSON")
    }
}

/// Converts an error of an index for a client.
impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let kind = match (error.kind(), error.named_place()) {
            (ErrorKind::Interrupted, _) => return Fault::late(),
            (ErrorKind::Setting, Some("id")) => Kind::NOT_FOUND,
            (ErrorKind::Setting, Some(_)) => Kind::UNPROCESSABLE,
            _ => return Fault::internal(&error),
        };
        Fault { kind, error, retry_after: None }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        Fault::internal(&error)
    }
}

impl From<tokio::task::JoinError> for Fault {
    fn from(_: tokio::task::JoinError) -> Fault {
        Fault::internal(&"a fault in the program")
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.status()).expect("a status of the list above");
        let mut response = (status, json_response(self.json())).into_response();
        let headers = response.headers_mut();
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs_f64().ceil().max(1.0) as u64));
        }
        if self.kind == Kind::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // For the log.
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Returns an answer of text that is JSON already.
pub(crate) fn json_response(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// At most this many characters of a client's text are sent back.
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
