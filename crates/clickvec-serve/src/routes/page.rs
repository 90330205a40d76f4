//! The page to search with: files that are part of the program.

use crate::answer::Answer;

/// Nothing from other hosts, nothing inside the page, and the page inside no other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn index() -> Answer {
    file("text/html; charset=utf-8", include_str!("../../page/index.html"))
}

pub(super) async fn style() -> Answer {
    file("text/css; charset=utf-8", include_str!("../../page/page.css"))
}

pub(super) async fn script() -> Answer {
    file("text/javascript; charset=utf-8", include_str!("../../page/page.js"))
}

pub(super) async fn explain() -> Answer {
    file("text/javascript; charset=utf-8", include_str!("../../page/explain.js"))
}

fn file(kind: &'static str, text: &'static str) -> Answer {
    Answer::new(kind, text).header("content-security-policy", POLICY).header("cache-control", "no-cache")
}
