//! The page to search with: files that are part of the program.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;

/// Nothing but pictures of titles from other hosts, nothing inside the page, and the page inside no other.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: https:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The address of each file, its media type, and its text.
pub(super) const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("../../page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../../page/page.css")),
    ("/cards.js", "text/javascript; charset=utf-8", include_str!("../../page/cards.js")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../page/page.js")),
    ("/explain.js", "text/javascript; charset=utf-8", include_str!("../../page/explain.js")),
];

pub(super) fn file(media: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, media), (CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-cache")], text)
}
