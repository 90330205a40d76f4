//! What routes read of a request: JSON bodies and the parameters of addresses.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use clickvec_tables::shown::cut;
use http_body::Body as _;
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::clients::Caller;
use crate::fault::{Fault, Kind, quoted};
use crate::service::Service;

/// A body that is too large is read on and thrown away up to here, so that a client that sends it all sees the answer.
const THROWN_AWAY: u64 = 256 << 20;
/// At most this many characters of a parser's message are sent back.
const MESSAGE: usize = 200;

/// The JSON of a body. Parameters in the address would be ignored, so they are refused.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Service>> for JsonBody<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<JsonBody<T>, Fault> {
        if let Some(pair) = request.uri().query().and_then(|query| query.split('&').find(|pair| !pair.is_empty())) {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            let expected = "everything in the body of a POST, and no parameters in the address";
            return Err(Fault::field(name, expected, quoted(name)));
        }
        let AnyJsonBody(value) = AnyJsonBody::from_request(request, service).await?;
        Ok(JsonBody(value))
    }
}

/// The JSON of a body, whatever the address says.
pub(crate) struct AnyJsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Service>> for AnyJsonBody<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<AnyJsonBody<T>, Fault> {
        let (mut parts, body) = request.into_parts();
        let Caller { started, .. } = Caller::from_request_parts(&mut parts, service).await?;
        let header = |name: HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let media = header(CONTENT_TYPE);
        let is_json =
            |media: &str| media.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json");
        if !media.is_some_and(is_json) {
            let found = media.map_or("none".to_owned(), quoted);
            return Err(Fault::new(Kind::MEDIA_TYPE, "the Content-Type application/json", found));
        }
        if let Some(found) = header(CONTENT_ENCODING).filter(|found| !found.eq_ignore_ascii_case("identity")) {
            return Err(Fault::new(Kind::MEDIA_TYPE, "a body without Content-Encoding", quoted(found)));
        }
        let bytes = read(body, &parts.headers, service, started).await?;
        Ok(AnyJsonBody(Json::from_bytes(&bytes)?.0))
    }
}

impl From<JsonRejection> for Fault {
    fn from(rejection: JsonRejection) -> Fault {
        let found = cut(&rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string), MESSAGE);
        match rejection {
            JsonRejection::JsonDataError(_) => {
                Fault::new(Kind::UNPROCESSABLE, "the fields that /openapi.json lists", found)
            }
            _ => Fault::new(Kind::BAD_REQUEST, "JSON", found),
        }
    }
}

/// Reads a body up to the limits of size and time.
async fn read(mut body: Body, headers: &HeaderMap, service: &Service, started: Instant) -> Result<Bytes, Fault> {
    let limits = &service.limits;
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let large = |found: String| {
        let expected = format!("a body of at most {} bytes", limits.body);
        Fault::new(Kind::TOO_LARGE, expected, found).help("send several requests")
    };
    if let Some(length) = length.filter(|length| *length > THROWN_AWAY) {
        return Err(large(length.to_string()));
    }
    let (mut all, mut size) = (Vec::new(), 0);
    let mut is_large = length.is_some_and(|length| length > limits.body as u64);
    while size <= THROWN_AWAY {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx));
        let data = match tokio::time::timeout_at((started + limits.request).into(), frame).await {
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(None) => break,
            Err(_) if is_large => break,
            Ok(Some(Err(error))) => {
                return Err(Fault::new(Kind::BAD_REQUEST, "a whole body", cut(&error.to_string(), MESSAGE)));
            }
            Err(_) => {
                let expected = format!("the whole request within {} s", limits.request.as_secs_f64());
                let fault = Fault::new(Kind::SLOW, expected, "only a part of it");
                return Err(fault.help("send it faster or in smaller pieces"));
            }
        };
        size += data.len() as u64;
        is_large |= size > limits.body as u64;
        if is_large {
            all = Vec::new();
        } else {
            all.extend_from_slice(&data);
        }
    }
    if is_large {
        return Err(large(length.map_or_else(|| format!("more than {}", limits.body), |length| length.to_string())));
    }
    Ok(all.into())
}

/// A whole number of 0 or more: 10 and 10.0, which JSON does not tell apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WholeNumber(pub(crate) usize);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WholeNumber, D::Error> {
        // Numbers above this are not all whole as floats.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number = serde_json::Number::deserialize(deserializer)?;
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float));
        let whole = number.as_u64().or(float.map(|float| float as u64)).and_then(|whole| usize::try_from(whole).ok());
        let expected = &"a whole number of 0 or more";
        whole.map(WholeNumber).ok_or_else(|| D::Error::invalid_value(Unexpected::Other(&number.to_string()), expected))
    }
}

/// The parameters of an address.
pub(crate) struct Parameters(BTreeMap<String, Vec<String>>);

impl Parameters {
    /// Reads parameters, each at most once except those in `repeated`.
    pub(crate) fn read(query: Option<&str>, known: &[&str], repeated: &[&str]) -> Result<Parameters, Fault> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| {
                let spaced = text.replace('+', " ");
                let decoded = percent_decode_str(&spaced).decode_utf8().map(|text| text.into_owned());
                decoded.map_err(|_| Fault::new(Kind::BAD_REQUEST, "parameters in UTF-8", quoted(text)))
            };
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&name.as_str()) {
                return Err(Fault::field(&name, format!("the parameters {}", known.join(", ")), quoted(&name)));
            }
            let all = values.entry(name.clone()).or_default();
            all.push(value);
            if all.len() > 1 && !repeated.contains(&name.as_str()) {
                return Err(Fault::field(&name, format!("`{name}` once"), "it again"));
            }
        }
        Ok(Parameters(values))
    }

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
    text.parse().map_err(|_| Fault::field(name, format!("{expected} for `{name}`"), quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_known() {
        let read = |query: &str| Parameters::read(Some(query), &["q", "k", "filter"], &["filter"]);
        let mut parameters = read("q=caf%C3%A9+au%2Blait&filter=a=1&filter=b&k=3&").unwrap();
        assert_eq!(parameters.text("q").unwrap(), "café au+lait");
        assert_eq!(parameters.texts("filter"), ["a=1", "b"]);
        assert_eq!(parameters.number("k").unwrap(), Some(3));
        assert_eq!(read("q=%FF").err().unwrap().kind, Kind::BAD_REQUEST);
        for wrong in ["x=1", "q=a&q=b", "%71=a&q=b"] {
            assert_eq!(read(wrong).err().unwrap().kind, Kind::UNPROCESSABLE, "{wrong}");
        }
        for wrong in ["k=-1", "k=", "k=1e3", "k=99999999999999999999999"] {
            assert!(read(wrong).unwrap().number("k").is_err(), "{wrong}");
        }
    }

    #[test]
    fn json_that_is_broken_differs_from_json_of_another_form() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "only read")]
        struct Form {
            query: String,
            k: WholeNumber,
        }
        let fault = |body: &str| Fault::from(Json::<Form>::from_bytes(body.as_bytes()).err().unwrap());
        for (body, expected) in [
            (r#"{"query":5,"k":1}"#, "query: invalid type: integer `5`, expected a string at line 1"),
            (r#"{"query":"a","k":-1}"#, "k: invalid value: -1, expected a whole number of 0 or more"),
            ("{}", "missing field `query`"),
            (r#"{"query":"a","kk":1}"#, "unknown field `kk`, expected `query` or `k`"),
        ] {
            let fault = fault(body);
            assert_eq!(fault.kind, Kind::UNPROCESSABLE);
            let message = fault.message();
            assert!(message.contains(expected) && message.contains("that /openapi.json lists"), "{body}: {message}");
        }
        let deep = format!("{{\"query\":{}", "[".repeat(100_000));
        for body in ["", "{", r#"{"query":"a","k":1} 2"#, r#"{"query":1e999}"#, "{'query':1}"] {
            assert_eq!(fault(body).kind, Kind::BAD_REQUEST, "{body}");
        }
        assert!(fault(&deep).message().len() < 1000);
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        let whole = |text: &str| serde_json::from_str::<WholeNumber>(text).map(|WholeNumber(whole)| whole).ok();
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
}
