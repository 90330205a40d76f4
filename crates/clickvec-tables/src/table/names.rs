//! The names of columns.

use crate::shown::{CR_ALONE, listed, looks_like_name};

/// How many names of a header a message shows.
const SHOWN_NAMES: usize = 20;

/// Words that occur in names of columns. They tell a header from a first row.
const PARTS_OF_NAMES: [&str; 30] = [
    "query",
    "title",
    "item",
    "clicked",
    "click",
    "count",
    "position",
    "rank",
    "time",
    "timestamp",
    "date",
    "user",
    "session",
    "id",
    "url",
    "sku",
    "name",
    "term",
    "keyword",
    "search",
    "clicks",
    "docid",
    "product",
    "doc",
    "grade",
    "text",
    "q",
    "relevance",
    "event",
    "day",
];

/// Returns whether these are names of columns, and not the first row of a log without a header.
pub fn is_header(names: &[String]) -> bool {
    let known = |name: &String| {
        let name = name.to_ascii_lowercase();
        name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PARTS_OF_NAMES.contains(&part))
    };
    names.iter().all(|name| looks_like_name(name)) && names.iter().any(known)
}

/// Returns the names of a header for a message. The first line of a log without a header is something that people typed, so it is
/// not shown.
pub fn shown_names(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    if names.iter().any(|name| name.contains('\r')) {
        return format!("a CR within the first line; {CR_ALONE}");
    }
    if !is_header(names) {
        let columns = if names.len() == 1 { "1 column" } else { &format!("{} columns", names.len()) };
        return format!("{columns} whose names are not shown because the first line may not be a header");
    }
    listed(names, SHOWN_NAMES)
}
