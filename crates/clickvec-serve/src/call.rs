//! A request as a route gets it, and the answer that a route gives.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clickvec::error::{JsonFault, JsonProblem};
use clickvec::internals::error::{cut, json_found_in};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer as _, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::fault::{Fault, FaultKind, quoted};
use crate::limits::Limits;

/// A body that is too large is read on and thrown away up to here, so that a client that sends it all sees the answer.
const THROWN_AWAY: u64 = 256 << 20;

/// At most this many characters of a reader's message are sent back.
const TOLD: usize = 200;

/// A request.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// What follows the `?`.
    pub(crate) query: Option<String>,
    /// The name that it was sent to, with its port.
    pub(crate) host: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) started: Instant,
}

/// What is known of an answer besides its bytes.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The stages of the work and their times.
    pub(crate) stages: Vec<(&'static str, Duration)>,
    /// For the log: the texts that were asked for, the index, and its generation.
    pub(crate) texts: usize,
    pub(crate) index: Option<String>,
    pub(crate) generation: Option<u64>,
    /// For the log, if it may have queries.
    pub(crate) query: Option<String>,
}

impl Answer {
    pub(crate) fn json(body: Vec<u8>) -> Answer {
        Answer::of("application/json", body)
    }

    pub(crate) fn of(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer { status: 200, content_type, body: body.into(), ..Answer::default() }
    }
}

impl From<&Fault> for Answer {
    fn from(fault: &Fault) -> Answer {
        let mut headers = Vec::new();
        if let Some(after) = fault.retry_after {
            headers.push(("retry-after", after.as_secs_f64().ceil().max(1.0).to_string()));
        }
        if let Some(allow) = &fault.allow {
            headers.push(("allow", allow.to_string()));
        }
        if fault.kind == FaultKind::Unauthorized {
            headers.push(("www-authenticate", "Bearer".to_owned()));
        }
        Answer { status: fault.kind.status(), headers, ..Answer::json(fault.json()) }
    }
}

/// Reads a body up to the limits of size and time.
pub(crate) async fn read(
    mut body: Incoming,
    headers: &HeaderMap,
    limits: &Limits,
    started: Instant,
) -> Result<Bytes, Fault> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let end = started + limits.request;
    let slow = || {
        let expected = format!("the whole request within {} s", limits.request.as_secs_f64());
        Fault::new(FaultKind::Slow, expected, "only a part of it").help("send it faster or in smaller pieces")
    };
    let large = |found: String| {
        let expected = format!("a body of at most {} bytes", limits.body);
        Fault::new(FaultKind::TooLarge, expected, found).help("send several requests")
    };
    // What would not be read to its end is not waited for either.
    if let Some(length) = length.filter(|length| *length > THROWN_AWAY) {
        return Err(large(length.to_string()));
    }
    let mut all = Vec::new();
    let (mut size, mut is_large) = (0, length.is_some_and(|length| length > limits.body as u64));
    loop {
        let frame = match tokio::time::timeout_at(end.into(), body.frame()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(_) if is_large => break,
            Err(_) => return Err(slow()),
        };
        let broken = |error: hyper::Error| Fault::new(FaultKind::BadRequest, "a whole body", part(&error));
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        size += data.len() as u64;
        is_large |= size > limits.body as u64;
        match is_large {
            true if size > THROWN_AWAY => break,
            true => all = Vec::new(),
            false => all.extend_from_slice(&data),
        }
        if body.is_end_stream() {
            break;
        }
    }
    if is_large {
        return Err(large(length.map_or_else(|| format!("more than {size}"), |length| length.to_string())));
    }
    Ok(all.into())
}

/// What came of a body that is not whole.
fn part(error: &hyper::Error) -> &'static str {
    match error.is_incomplete_message() || error.is_body_write_aborted() || error.is_closed() {
        true => "only a part of it, after which the connection was closed",
        false => "only a part of it, or pieces whose lengths cannot be read",
    }
}

impl Call {
    /// The body as JSON of a known form. What a request says in its address too would be passed over, so it is refused.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        if let Some(pair) = self.query.as_deref().and_then(|query| query.split('&').find(|pair| !pair.is_empty())) {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            let expected = "everything in the body of a POST, and no parameters in the address";
            return Err(Fault::new(FaultKind::Unprocessable, expected, quoted(name)).of(name.to_owned()));
        }
        self.body()
    }

    /// [`Call::json`], whatever the address says.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        let media = self.headers.get(CONTENT_TYPE).map(|media| media.to_str().unwrap_or_default());
        let plain = media.map(|media| media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        if plain.as_deref() != Some("application/json") {
            let found = media.map_or("none".to_owned(), quoted);
            return Err(Fault::new(FaultKind::MediaType, "the Content-Type application/json", found));
        }
        let encoding = self.headers.get(CONTENT_ENCODING).map(|encoding| encoding.to_str().unwrap_or_default());
        if let Some(found) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            return Err(Fault::new(FaultKind::MediaType, "a body without Content-Encoding", quoted(found)));
        }
        let text = std::str::from_utf8(&self.body).map_err(|error| {
            Fault::new(
                FaultKind::BadRequest,
                "JSON in UTF-8",
                format!("the byte 0x{:02x} at {}", self.body[error.valid_up_to()], error.valid_up_to()),
            )
        })?;
        // A list would be taken for the fields in their order.
        if text.trim_start().starts_with('[') {
            return Err(Fault::new(
                FaultKind::Unprocessable,
                "an object with the fields that /openapi.json lists",
                "a list",
            ));
        }
        serde_json::from_str(text).map_err(of_json)
    }

    /// The parameters of the address, each at most once except those in `repeated`.
    pub(crate) fn parameters(&self, known: &[&str], repeated: &[&str]) -> Result<Parameters, Fault> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in self.query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| {
                let spaced = text.replace('+', " ");
                let decoded = percent_decode_str(&spaced).decode_utf8().map(|text| text.into_owned());
                decoded.map_err(|_| Fault::new(FaultKind::BadRequest, "parameters in UTF-8", quoted(text)))
            };
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&name.as_str()) {
                let fault =
                    Fault::new(FaultKind::Unprocessable, format!("the parameters {}", known.join(", ")), quoted(&name));
                return Err(fault.of(name));
            }
            let all = values.entry(name.clone()).or_default();
            all.push(value);
            if all.len() > 1 && !repeated.contains(&name.as_str()) {
                return Err(Fault::new(FaultKind::Unprocessable, format!("`{name}` once"), "it again").of(name));
            }
        }
        Ok(Parameters(values))
    }
}

/// A whole number of 0 or more: 10 and 10.0, which JSON does not tell apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole(pub(crate) usize);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole, D::Error> {
        // Numbers above this are not all whole as floats.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number = serde_json::Number::deserialize(deserializer)?;
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float));
        let whole = number.as_u64().or(float.map(|float| float as u64)).and_then(|whole| usize::try_from(whole).ok());
        let expected = &"a whole number of 0 or more";
        whole.map(Whole).ok_or_else(|| D::Error::invalid_value(Unexpected::Other(&number.to_string()), expected))
    }
}

/// A value with a name, such as a side. What is no text at all is told as where a text is expected.
pub(crate) fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer).and_then(|name| T::deserialize(name.into_deserializer()))
}

/// [`named`], or null.
pub(crate) fn named_or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| T::deserialize(name.into_deserializer())).transpose()
}

/// A body that is not the JSON that was asked for.
fn of_json(error: serde_json::Error) -> Fault {
    let text = error.to_string();
    let fault = JsonFault::from(error);
    if fault.problem != JsonProblem::Form {
        return Fault::new(FaultKind::BadRequest, "JSON", json_found_in("body", &fault));
    }
    let told = text.rsplit_once(" at line ").map_or(&*text, |(told, _)| told);
    let place = format!("in line {}, column {}", fault.line, fault.column);
    of_form(told, &place).help("/openapi.json lists the fields")
}

/// The fault of JSON that has another form. serde says what it expected and found only in its own words.
fn of_form(told: &str, place: &str) -> Fault {
    let fault = |expected: &str, found: &str| {
        Fault::new(FaultKind::Unprocessable, ours(expected), format!("{} {place}", cut(&ours(found), TOLD)))
    };
    let named = |start: &str| told.strip_prefix(start)?.split_once('`').map(|(name, _)| name);
    if let Some(name) = named("missing field `") {
        return fault(&format!("the field `{name}`"), "an object without it").of(name);
    }
    if let Some(name) = named("duplicate field `") {
        return fault(&format!("`{name}` once"), "it again").of(name);
    }
    for (start, what) in [("unknown field `", "the fields"), ("unknown variant `", "one of")] {
        // The name may have any characters, and the list of what is known has none of these words.
        let listed = told.strip_prefix(start).and_then(|told| told.rsplit_once("`, expected "));
        if let Some((name, known)) = listed {
            let known = known.strip_prefix("one of ").unwrap_or(known);
            let found = fault(&format!("{what} {known}"), &quoted(name));
            return if what == "the fields" { found.of(name) } else { found };
        }
    }
    let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|start| told.strip_prefix(start));
    match wrong.and_then(|told| told.rsplit_once(", expected ")) {
        Some((found, expected)) => fault(expected, found),
        None => fault("the fields that /openapi.json lists", "other fields or values"),
    }
}

/// What serde calls a value, as everything else here calls it.
fn ours(value: &str) -> String {
    let starts = [
        ("string \"", "the text \""),
        ("integer `", "the number `"),
        ("floating point `", "the number `"),
        ("boolean `", "`"),
    ];
    if let Some((rest, ours)) = starts.iter().find_map(|(theirs, ours)| Some((value.strip_prefix(theirs)?, ours))) {
        return format!("{ours}{rest}");
    }
    let known = [
        ("a string", "a text"),
        ("a sequence", "a list"),
        ("sequence", "a list"),
        ("map", "an object"),
        ("unit value", "null"),
        ("a boolean", "true or false"),
    ];
    known.iter().find(|(theirs, _)| *theirs == value).map_or(value, |(_, ours)| ours).to_owned()
}

/// The parameters of an address.
pub(crate) struct Parameters(BTreeMap<String, Vec<String>>);

impl Parameters {
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).and_then(|mut values| values.pop())
    }

    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).unwrap_or_default()
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<usize>, Fault> {
        self.text(name).map(|text| parsed(name, &text, "a whole number of 0 or more")).transpose()
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Fault> {
        Ok(self.text(name).map(|text| parsed(name, &text, "true or false")).transpose()?.unwrap_or(false))
    }
}

fn parsed<T: std::str::FromStr>(name: &str, text: &str, expected: &str) -> Result<T, Fault> {
    text.parse()
        .map_err(|_| Fault::new(FaultKind::Unprocessable, format!("{expected} for `{name}`"), quoted(text)).of(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(query: &str, media: &str, body: &[u8]) -> Call {
        let mut headers = HeaderMap::new();
        if !media.is_empty() {
            headers.insert(CONTENT_TYPE, media.parse().unwrap());
        }
        let (query, body) = (Some(query.to_owned()), Bytes::copy_from_slice(body));
        Call { method: Method::POST, query, host: None, headers, body, started: Instant::now() }
    }

    #[test]
    fn parameters_are_decoded_and_known() {
        let read = |query: &str| call(query, "", b"").parameters(&["q", "k", "filter"], &["filter"]);
        let mut parameters = read("q=caf%C3%A9+au%2Blait&filter=a=1&filter=b&k=3&").unwrap();
        assert_eq!(parameters.text("q").unwrap(), "café au+lait");
        assert_eq!(parameters.texts("filter"), ["a=1", "b"]);
        assert_eq!(parameters.number("k").unwrap(), Some(3));
        assert_eq!(read("q=%FF").err().unwrap().kind, FaultKind::BadRequest);
        for wrong in ["x=1", "q=a&q=b", "%71=a&q=b"] {
            assert_eq!(read(wrong).err().unwrap().kind, FaultKind::Unprocessable, "{wrong}");
        }
        for wrong in ["k=-1", "k=", "k=1e3", "k=99999999999999999999999"] {
            assert!(read(wrong).unwrap().number("k").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_of_another_kind_is_told() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "only read")]
        struct Body {
            query: String,
            k: Whole,
        }
        let told = |body: &str| call("", "application/json", body.as_bytes()).json::<Body>().err().unwrap().message();
        let help = "; /openapi.json lists the fields";
        for (body, expected) in [
            (r#"{"query":5,"k":1}"#, "a text, found the number `5` in line 1, column "),
            (r#"{"query":true,"k":1}"#, "a text, found `true` in line 1, column "),
            (r#"{"query":null,"k":1}"#, "a text, found null in line 1, column "),
            (r#"{"query":["a, expected b"],"k":1}"#, "a text, found a list in line 1, column "),
            (r#"{"query":{},"k":1}"#, "a text, found an object in line 1, column "),
            (r#"{"query":"a","k":-1}"#, "a whole number of 0 or more, found -1 in line 1, column "),
            ("{\n}", "the field `query`, found an object without it in line 2, column "),
            (r#"{"query":"a","query":"b"}"#, "`query` once, found it again in line 1, column "),
            (r#"{"query":"a","kk":1}"#, "the fields `query` or `k`, found `kk` in line 1, column "),
        ] {
            let told = told(body);
            assert!(told.starts_with(&format!("expected {expected}")) && told.ends_with(help), "{body}: {told}");
        }
        for (body, found) in [
            ("{", "the end of the body in line 1, column "),
            (r#"{"query":"a","k":1} 2"#, "invalid JSON at line 1, column "),
            (r#"{"query":1e999}"#, "a number beyond ±1.8e308 at line 1, column "),
        ] {
            let told = told(body);
            assert!(told.starts_with(&format!("expected JSON, found {found}")), "{body}: {told}");
        }
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        let whole = |text: &str| serde_json::from_str::<Whole>(text).map(|Whole(whole)| whole).ok();
        let cases = [
            ("10", Some(10)),
            ("10.0", Some(10)),
            ("1e3", Some(1000)),
            ("0", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("1e300", None),
            ("\"1\"", None),
            ("18446744073709551615", Some(usize::MAX)),
        ];
        for (text, expected) in cases {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn bodies_are_json_in_utf_8() {
        type Body = BTreeMap<String, serde_json::Value>;
        let kind = |media: &str, body: &[u8]| call("", media, body).json::<Body>().map_err(|fault| fault.kind);
        for media in ["application/json; charset=utf-8", "Application/JSON"] {
            assert_eq!(kind(media, b" {\"a\": 1} ").unwrap()["a"], 1);
        }
        for media in ["", "text/plain", "application/jsonx"] {
            assert_eq!(kind(media, b"{}"), Err(FaultKind::MediaType));
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        for body in [&b""[..], b"{", b"{\"\xff\":1}", b"{} 2", b"\0", deep.as_bytes()] {
            assert_eq!(kind("application/json", body), Err(FaultKind::BadRequest));
        }
        for body in [&b"[]"[..], b" [1]", b"1", b"null", b"\"a\""] {
            assert_eq!(kind("application/json", body), Err(FaultKind::Unprocessable));
        }
    }
}
