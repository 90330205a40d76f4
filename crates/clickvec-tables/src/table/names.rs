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

/// The usual names of a column that says whether a title was clicked.
pub const CLICKED: [&str; 9] =
    ["clicked", "isclick", "isclicked", "click", "wasclicked", "hasclick", "hasclicked", "clickflag", "clickedflag"];

/// The usual names of a column of grades.
pub const GRADES: [&str; 12] = [
    "grade",
    "relevance",
    "relevancegrade",
    "relevancelabel",
    "relevancescore",
    "isrelevant",
    "relevant",
    "rating",
    "judgment",
    "judgement",
    "label",
    "gain",
];

/// Returns a name in small letters and without what separates words.
pub fn plain_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a name as [`plain_name`] does; of a path of members, its last one.
fn last_plain(name: &str) -> String {
    plain_name(name.rsplit('.').next().unwrap_or(name))
}

/// Returns whether the name of a column suggests that it says what was clicked.
pub fn says_clicked(name: &str) -> bool {
    CLICKED.contains(&&*last_plain(name))
}

/// Returns whether the name of a column suggests that it has grades.
pub fn says_grade(name: &str) -> bool {
    GRADES.contains(&&*last_plain(name))
}

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
