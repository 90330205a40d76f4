//! The page to search with: files that are part of the program.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;

/// Nothing from other hosts, nothing inside the page, and the page inside no other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) async fn index() -> impl IntoResponse {
    file(HTML, include_str!("../../page/index.html"))
}

pub(super) async fn style() -> impl IntoResponse {
    file(CSS, include_str!("../../page/page.css"))
}

pub(super) async fn script() -> impl IntoResponse {
    file(JAVASCRIPT, include_str!("../../page/page.js"))
}

pub(super) async fn explain() -> impl IntoResponse {
    file(JAVASCRIPT, include_str!("../../page/explain.js"))
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-cache")], text)
}
