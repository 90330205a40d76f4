//! Why a request was not answered: one form for every status.

use std::time::Duration;

use clickvec::internals::error::cut;
use serde::Serialize;

/// The kind of a fault, which decides its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Bytes that are not a request.
    BadRequest,
    /// No token, or a wrong one.
    Unauthorized,
    /// Not for this client.
    Forbidden,
    /// No such route, index, model or title.
    NotFound,
    /// A route that exists with another method.
    MethodNotAllowed,
    /// A body that did not arrive in time.
    Slow,
    /// What was asked for is not there to do.
    Conflict,
    /// A body over the limit.
    TooLarge,
    /// Not JSON.
    MediaType,
    /// JSON that asks for something impossible.
    Unprocessable,
    /// A client's own limit.
    ClientLimit,
    /// A fault of the service.
    Internal,
    /// More work than workers.
    Overloaded,
    /// The service stops, or cannot write.
    Unavailable,
    /// Started, and not done in time.
    Late,
}

impl FaultKind {
    pub(crate) fn status(self) -> u16 {
        match self {
            FaultKind::BadRequest => 400,
            FaultKind::Unauthorized => 401,
            FaultKind::Forbidden => 403,
            FaultKind::NotFound => 404,
            FaultKind::MethodNotAllowed => 405,
            FaultKind::Slow => 408,
            FaultKind::Conflict => 409,
            FaultKind::TooLarge => 413,
            FaultKind::MediaType => 415,
            FaultKind::Unprocessable => 422,
            FaultKind::ClientLimit => 429,
            FaultKind::Internal => 500,
            FaultKind::Overloaded | FaultKind::Unavailable => 503,
            FaultKind::Late => 504,
        }
    }

    fn code(self) -> &'static str {
        match self {
            FaultKind::BadRequest => "bad_request",
            FaultKind::Unauthorized => "unauthorized",
            FaultKind::Forbidden => "forbidden",
            FaultKind::NotFound => "not_found",
            FaultKind::MethodNotAllowed => "method_not_allowed",
            FaultKind::Slow => "slow_request",
            FaultKind::Conflict => "conflict",
            FaultKind::TooLarge => "too_large",
            FaultKind::MediaType => "media_type",
            FaultKind::Unprocessable => "unprocessable",
            FaultKind::ClientLimit => "client_limit",
            FaultKind::Internal => "internal",
            FaultKind::Overloaded => "overloaded",
            FaultKind::Unavailable => "unavailable",
            FaultKind::Late => "late",
        }
    }

    /// The kind as OpenAI's clients know it.
    fn family(self) -> &'static str {
        match self.status() {
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
    pub(crate) kind: FaultKind,
    expected: String,
    found: String,
    /// What to do.
    help: Box<str>,
    /// The field that is wrong.
    param: Option<Box<str>>,
    pub(crate) retry_after: Option<Duration>,
    /// The methods that a route has.
    pub(crate) allow: Option<Box<str>>,
}

/// The body of an answer that says why there is none.
#[derive(Serialize)]
struct Body<'a> {
    error: Told<'a>,
}

#[derive(Serialize)]
struct Told<'a> {
    message: String,
    r#type: &'a str,
    code: &'a str,
    param: Option<&'a str>,
    expected: &'a str,
    found: &'a str,
    help: &'a str,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, expected: impl Into<String>, found: impl Into<String>) -> Fault {
        let (expected, found) = (expected.into(), found.into());
        Fault { kind, expected, found, help: Box::default(), param: None, retry_after: None, allow: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Fault {
        Fault { help: help.into().into(), ..self }
    }

    pub(crate) fn of(self, param: impl Into<String>) -> Fault {
        Fault { param: Some(param.into().into()), ..self }
    }

    pub(crate) fn after(self, wait: Duration) -> Fault {
        Fault { retry_after: Some(wait), ..self }
    }

    pub(crate) fn allowing(self, methods: String) -> Fault {
        Fault { allow: Some(methods.into()), ..self }
    }

    pub(crate) fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// An error of the library while it answered.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Fault {
        Fault::new(FaultKind::Internal, "an answer", error.to_string()).help("the log of the service has more")
    }

    pub(crate) fn message(&self) -> String {
        let Fault { expected, found, help, .. } = self;
        let help = if help.is_empty() { String::new() } else { format!("; {help}") };
        format!("expected {expected}, found {found}{help}")
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let error = Told {
            message: self.message(),
            r#type: self.kind.family(),
            code: self.kind.code(),
            param: self.param.as_deref(),
            expected: &self.expected,
            found: &self.found,
            help: &self.help,
        };
        serde_json::to_vec(&Body { error }).expect("strings are JSON")
    }
}

/// At most this many characters of what a client sent are sent back.
const ECHOED: usize = 40;

/// A text of a client in a message: shortened, without control characters, in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", cut(text, ECHOED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_what_was_expected_found_and_what_to_do() {
        let fault = Fault::new(FaultKind::Unprocessable, "at most 3 texts", "4").help("send two requests").of("texts");
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
