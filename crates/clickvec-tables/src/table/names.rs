//! The names of columns.

use crate::shown::{CR_ALONE, listed, looks_like_name};

/// How many names of a header a message shows.
pub(super) const SHOWN_NAMES: usize = 20;

/// Names of columns with a blank.
const NAMES_OF_TWO_WORDS: [&str; 8] =
    ["query text", "doc id", "search term", "search query", "query id", "item id", "product id", "product title"];
/// Words that occur in names of columns. They tell a header from a first row.
const PARTS_OF_NAMES: [&str; 48] = [
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
    "rating",
    "suchanfrage",
    "suchbegriff",
    "titel",
    "artikel",
    "produkt",
    "klicks",
    "datum",
    "requête",
    "titre",
    "clics",
    "consulta",
    "título",
    "查询",
    "搜索词",
    "标题",
    "点击",
    "商品",
];

/// The usual names of a column that says whether a title was clicked.
pub const CLICKED: [&str; 9] =
    ["clicked", "isclick", "isclicked", "click", "wasclicked", "hasclick", "hasclicked", "clickflag", "clickedflag"];

/// The usual names of a column of counts of clicks.
pub const CLICKS: [&str; 13] = [
    "count",
    "clicks",
    "clickcount",
    "clickscount",
    "countclicks",
    "numclicks",
    "numberofclicks",
    "nclicks",
    "nbclicks",
    "totalclicks",
    "sumclicks",
    "klicks",
    "clics",
];

/// Names of columns that may count clicks, or something else.
const NUMBERS: [&str; 31] = [
    "n",
    "cnt",
    "num",
    "freq",
    "frequency",
    "total",
    "times",
    "hits",
    "views",
    "impressions",
    "shows",
    "purchases",
    "conversions",
    "orders",
    "sales",
    "transactions",
    "carts",
    "addtocarts",
    "interactions",
    "occurrences",
    "number",
    "events",
    "searches",
    "search",
    "visits",
    "sessions",
    "users",
    "qty",
    "quantity",
    "impr",
    "pageviews",
];
/// What names of counts begin and end with.
const COUNTS: [&str; 9] = ["count", "cnt", "total", "number", "num", "nb", "sum", "unique", "anzahl"];
/// Words for a click, which names of other counts have.
const CLICK_STEMS: [&str; 6] = ["click", "klick", "clic", "clk", "点击", "クリック"];
/// What names of shares of clicks end with.
const RATES: [&str; 5] = ["ctr", "rate", "ratio", "share", "percent"];
/// What other names with a word for a click end with.
const NO_COUNTS: [&str; 8] = ["id", "url", "time", "timestamp", "date", "at", "position", "rank"];

/// Names of columns that say what a user did.
const EVENTS: [&str; 9] = [
    "action",
    "actionname",
    "actiontype",
    "event",
    "eventname",
    "eventtype",
    "eventaction",
    "interaction",
    "interactiontype",
];

/// The usual names of a column of grades.
pub const GRADES: [&str; 19] = [
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
    "judgmentvalue",
    "judgementvalue",
    "judgmentrating",
    "judgementrating",
    "label",
    "relevancyscore",
    "escilabel",
    "gain",
    "rel",
];

/// Names of columns that may have grades, or other scores.
const SCORES: [&str; 8] = ["score", "scores", "stars", "vote", "votes", "preference", "annotation", "annotations"];

/// What a column says, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// Whether a title was clicked.
    Clicked,
    /// How often it was clicked.
    Clicks,
    /// How often something happened.
    Number,
    /// The share of clicks in what was shown.
    Rate,
    /// What a user did.
    Event,
    /// How good a title is.
    Grade,
    /// Perhaps that, or a score of another kind.
    Score,
}

/// Returns what a column says, if its name tells.
pub(super) fn says(name: &str) -> Option<Says> {
    let plain = last_plain(name);
    let is_in = |names: &[&str]| names.contains(&&*plain);
    match () {
        () if says_clicked(name) => Some(Says::Clicked),
        () if is_in(&CLICKS) => Some(Says::Clicks),
        () if is_rate(&plain) => Some(Says::Rate),
        () if counts(&plain) => Some(Says::Number),
        () if is_in(&EVENTS) => Some(Says::Event),
        () if says_grade(name) => Some(Says::Grade),
        () if is_in(&SCORES) => Some(Says::Score),
        () => None,
    }
}

/// Returns whether a name is that of what may be counts of clicks.
fn counts(plain: &str) -> bool {
    let begin = COUNTS.into_iter().find_map(|word| plain.strip_prefix(word)).unwrap_or(plain);
    let bare = COUNTS.into_iter().find_map(|word| begin.strip_suffix(word)).unwrap_or(begin);
    let is_number = |name: &str| NUMBERS.contains(&name);
    let is_counted = bare.len() < plain.len() && (bare.is_empty() || is_number(bare) || is_number(&format!("{bare}s")));
    let is_of_clicks = CLICK_STEMS.into_iter().any(|stem| plain.contains(stem));
    is_number(plain) || is_counted || (is_of_clicks && !NO_COUNTS.into_iter().any(|end| plain.ends_with(end)))
}

/// Returns whether a name is that of a share of clicks.
fn is_rate(plain: &str) -> bool {
    let is_of_clicks = CLICK_STEMS.into_iter().chain(["ctr"]).any(|stem| plain.contains(stem));
    is_of_clicks && RATES.into_iter().any(|end| plain.ends_with(end))
}

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
    // Quepid has a column for each judge.
    GRADES.contains(&&*last_plain(name))
        || name.trim().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("judge "))
}

/// Returns whether the name of a column suggests that it counts clicks.
pub fn says_clicks(name: &str) -> bool {
    says(name) == Some(Says::Clicks)
}

/// Returns whether these are names of columns, and not the first row of a log without a header.
pub fn is_header(names: &[String]) -> bool {
    let known = |name: &String| {
        let name = name.to_lowercase();
        name.split(|c: char| !c.is_alphanumeric()).any(|part| PARTS_OF_NAMES.contains(&part))
    };
    let looks_like_name = |name: &str| {
        let name = name.trim();
        looks_like_name(name)
            || PARTS_OF_NAMES.contains(&&*name.to_lowercase())
            || NAMES_OF_TWO_WORDS.contains(&&*name.to_lowercase())
    };
    // With two names for sure, others may be empty or have spaces, brackets and letters of any script.
    let sure = names.iter().filter(|name| looks_like_name(name) && known(name)).count();
    sure > 1 || (sure > 0 && names.iter().all(|name| looks_like_name(name)))
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
