//! Parts of requests that routes read: JSON bodies and the parameters of addresses.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use clickvec_tables::shown::cut;
use http_body::Body as _;
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

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
    let limits = &service.config.limits;
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
                return Err(Fault::new(Kind::BAD_REQUEST, "a complete body", cut(&error.to_string(), MESSAGE)));
            }
            Err(_) => {
                let expected = format!("the complete request within {} s", limits.request.as_secs_f64());
                let fault = Fault::new(Kind::SLOW, expected, "only a part of it");
                return Err(fault.help("send it faster or in smaller pieces"));
            }
        };
        size += data.len() as u64;
        service.outgoing.received(data.len(), all.len() + data.len());
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

/// Reads `null` as a field that is not there, as it is for every optional field.
pub(crate) fn nullable<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}

/// A whole number of 0 or more: 10 and 10.0, which JSON does not tell apart.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WholeNumber(pub(crate) usize);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WholeNumber, D::Error> {
        // Numbers above this are not all whole as floats.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number = serde_json::Number::deserialize(deserializer)?;
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float));
        let integer =
            number.as_u64().or(float.map(|float| float as u64)).and_then(|integer| usize::try_from(integer).ok());
        let expected = &"a whole number of 0 or more";
        integer
            .map(WholeNumber)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Other(&number.to_string()), expected))
    }
}

/// The parameters of an address.
pub(crate) struct AddressQuery<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for AddressQuery<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<AddressQuery<T>, Fault> {
        Ok(AddressQuery(parameters(parts.uri.query().unwrap_or_default())?))
    }
}

/// Parameters that may be repeated. Each is one of the values of a field, whose name is the plural.
const REPEATED: [&str; 3] = ["filter", "boost", "facet"];

/// Reads parameters as the fields of an object, each once but for those that may be repeated. `q` is the `query`.
fn parameters<T: DeserializeOwned>(query: &str) -> Result<T, Fault> {
    let mut fields = serde_json::Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, text) = (decoded(name)?, decoded(text)?);
        if REPEATED.contains(&&*name) {
            let values = fields.entry(format!("{name}s")).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(values) = values.as_array_mut() {
                values.push(text.into());
            }
            continue;
        }
        let value = match name.as_str() {
            "k" | "offset" => parsed::<usize>(&name, &text, "a whole number of 0 or more")?.into(),
            "min_confidence" => {
                // JSON has no NaN, which would come out as null.
                let number = parsed::<serde_json::Number>(&name, &text, "a probability from 0 to 1")?;
                Value::Number(number)
            }
            "as_typed" | "keywords" | "matched" => parsed::<bool>(&name, &text, "true or false")?.into(),
            _ => Value::String(text),
        };
        let field = if name == "q" { "query" } else { &name };
        if fields.insert(field.to_owned(), value).is_some() {
            return Err(Fault::field(field, format!("`{name}` once"), "several"));
        }
    }
    T::deserialize(&Value::Object(fields.clone())).map_err(|error| {
        let found = cut(&error.to_string(), MESSAGE);
        let fault = Fault::new(Kind::UNPROCESSABLE, "the parameters that /openapi.json lists", found);
        // serde names a wrong field in its text alone. It is the one without which the others are right.
        let is_wrong = |name: &&String| {
            let others =
                fields.iter().filter(|(other, _)| other != name).map(|(name, value)| (name.clone(), value.clone()));
            T::deserialize(Value::Object(others.collect())).is_ok()
        };
        match fields.keys().find(is_wrong).map(String::as_str) {
            Some("query") => fault.param("q"),
            Some(name) => {
                fault.param(REPEATED.into_iter().find(|one| name.strip_suffix('s') == Some(one)).unwrap_or(name))
            }
            None => fault,
        }
    })
}

/// Returns a part of an address without its escapes.
fn decoded(text: &str) -> Result<String, Fault> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map(|text| text.into_owned());
    decoded.map_err(|_| Fault::new(Kind::BAD_REQUEST, "parameters in UTF-8", quoted(text)))
}

fn parsed<T: std::str::FromStr>(name: &str, text: &str, expected: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| Fault::field(name, format!("{expected} for `{name}`"), quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_known() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Form {
            query: Option<String>,
            k: Option<WholeNumber>,
            filters: Option<Vec<String>>,
        }
        let read = parameters::<Form>;
        let form = read("q=caf%C3%A9+au%2Blait&filter=a=1&filter=b&k=3&").unwrap();
        assert_eq!((form.query.as_deref(), form.k.map(|WholeNumber(k)| k)), (Some("café au+lait"), Some(3)));
        assert_eq!(form.filters.unwrap(), ["a=1", "b"]);
        assert_eq!(read("q=123").unwrap().query.as_deref(), Some("123"));
        assert_eq!(read("q=%FF").unwrap_err().kind, Kind::BAD_REQUEST);
        let many = "k=99999999999999999999999";
        for wrong in ["x=1", "q=a&q=b", "%71=a&q=b", "k=-1", "k=", "k=1e3", many, "filters=a"] {
            assert_eq!(read(wrong).unwrap_err().kind, Kind::UNPROCESSABLE, "{wrong}");
        }
        for (wrong, name) in [("q=a&x=1", "x"), ("q=a&filters=b", "filter")] {
            assert_eq!(read(wrong).unwrap_err().error.named_place(), Some(name), "{wrong}");
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
        let read = |text: &str| serde_json::from_str::<WholeNumber>(text).map(|WholeNumber(number)| number).ok();
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
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
