//! The page to search with: files that are part of the program.

use crate::call::Answer;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct File {
    kind: &'static str,
    text: &'static str,
}

pub(crate) static INDEX: File = File { kind: "text/html; charset=utf-8", text: include_str!("../../page/index.html") };
pub(crate) static STYLE: File = File { kind: "text/css; charset=utf-8", text: include_str!("../../page/page.css") };
pub(crate) static SCRIPT: File =
    File { kind: "text/javascript; charset=utf-8", text: include_str!("../../page/page.js") };
pub(crate) static EXPLAIN: File =
    File { kind: "text/javascript; charset=utf-8", text: include_str!("../../page/explain.js") };

/// Nothing from other hosts, nothing inside the page, and the page inside no other.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn answer(file: &File) -> Answer {
    let headers = vec![("content-security-policy", POLICY.to_owned()), ("cache-control", "no-cache".to_owned())];
    Answer { headers, ..Answer::of(file.kind, file.text) }
}
