//! The likely kind of a file.

use serde::Serialize;

use clickvec_tables::table::says_grade;

use super::columns::{GRADE, GuessedColumns, has};
use crate::columns::{Role, is_header};

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "preset", rename_all = "lowercase")]
pub enum Kind {
    /// A raw log, for `prepare`.
    Log,
    /// A log whose form has a preset.
    Preset(&'static str),
    /// Counted pairs, for `train`.
    Clicks,
    /// Judged titles.
    Judged,
    /// A sheet of `judge`, whose titles may lack grades.
    Sheet,
    /// Queries, one a line.
    Queries,
    /// Queries with ids, as qrels need them.
    Topics,
    /// Titles.
    Titles,
    /// A corpus of BEIR.
    Corpus,
    /// TREC qrels.
    Qrels,
    /// A TREC run.
    Run,
    /// A model.
    Model,
    /// A trained ranker.
    Ranker,
    /// An index.
    Index,
    /// A test set of BEIR.
    Beir,
    /// Something else.
    Unknown,
}

impl Kind {
    /// Describes the kind for people.
    pub fn text(self) -> String {
        match self {
            Kind::Log => "a raw click log".to_owned(),
            Kind::Preset(name) => format!("a raw log with the preset `{name}`"),
            Kind::Clicks => "a click log, ready for `train`".to_owned(),
            Kind::Judged => "judged titles".to_owned(),
            Kind::Sheet => "a sheet of `judge` with grades to fill in".to_owned(),
            Kind::Queries => "queries, one a line".to_owned(),
            Kind::Topics => "queries with ids (topics)".to_owned(),
            Kind::Titles => "titles".to_owned(),
            Kind::Corpus => "a corpus of titles in BEIR's form".to_owned(),
            Kind::Qrels => "judgments in TREC's form (qrels)".to_owned(),
            Kind::Run => "a TREC run".to_owned(),
            Kind::Model => "a model".to_owned(),
            Kind::Ranker => "a trained ranker".to_owned(),
            Kind::Index => "an index".to_owned(),
            Kind::Beir => "a test set in BEIR's form".to_owned(),
            Kind::Unknown => "nothing that clickvec knows".to_owned(),
        }
    }
}

/// The columns of the sheets of `judge`.
const SHEET: [&str; 4] = ["query", "title_id", "title", "grade"];

/// Guesses the kind of a table with these columns. `is_tsv`: fields between tabs, as `train` and `evaluate` read them.
pub(super) fn by_columns(names: &[String], columns: &GuessedColumns, is_tsv: bool) -> Kind {
    let has_name = |wanted: &str| has(names, wanted);
    let has = |wanted: Role| columns.name(wanted).is_some();
    let starts = |start: &str| names.iter().any(|name| name.starts_with(start));
    if has_name("AnonID") && has_name("ClickURL") {
        return Kind::Preset("aol");
    }
    if has_name("action_name") || (has_name("user_query") && has_name("query_id")) {
        return Kind::Preset("ubi");
    }
    if has_name("event_name") && (has_name("event_params") || has_name("user_pseudo_id")) {
        return Kind::Preset("ga4");
    }
    if has_name("collector_tstamp") || starts("unstruct_event_com_snowplowanalytics") {
        return Kind::Preset("snowplow");
    }
    if names == SHEET {
        return Kind::Sheet;
    }
    if has_name("_id") && (has_name("text") || has_name("title")) && !has(Role::Query) {
        return Kind::Corpus;
    }
    let is_id = |name: &String| ["query_id", "qid", "id"].iter().any(|id| name.trim().eq_ignore_ascii_case(id));
    if names.len() == 2 && has_name("query") && names.iter().any(is_id) {
        return Kind::Topics;
    }
    let has_grade = has(GRADE) || names.iter().any(|name| says_grade(name));
    // Judgments have no time and no position in a list; a simulated log has grades as well.
    let is_logged = [Role::User, Role::Time, Role::Position, Role::Session].into_iter().any(has);
    match (has(Role::Query), has(Role::Title), has(Role::Item)) {
        (true, true, _) | (true, _, true) if has_grade && !has(Role::Clicked) && !is_logged => Kind::Judged,
        (true, true, false) if is_tsv && has_name("query") && has_name("title") && !is_logged => Kind::Clicks,
        (true, true, _) | (true, _, true) => Kind::Log,
        (false, true, true) => Kind::Titles,
        _ => Kind::Unknown,
    }
}

/// Guesses the kind of lines without a header, by the first: the forms of TREC, logs of presets without a header, and queries.
pub fn by_first_line(line: &str) -> Option<Kind> {
    if line.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    let tabs: Vec<&str> = line.split('\t').collect();
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    if let [id, _, document, url] = tabs[..]
        && is_number(id)
        && document.starts_with('D')
        && url.starts_with("http")
    {
        return Some(Kind::Preset("orcas"));
    }
    if let [id, query] = tabs[..]
        && is_number(id)
        && is_query(query)
    {
        return Some(Kind::Topics);
    }
    if line.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("<top")) {
        return Some(Kind::Topics);
    }
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    match fields[..] {
        [_, "Q0" | "q0", _, _, _, ..] => Some(Kind::Run),
        [_, iteration, _, grade]
            if is_number(grade.trim_end_matches(".0")) && (is_number(iteration) || iteration == "Q0") =>
        {
            Some(Kind::Qrels)
        }
        _ => is_query(line).then_some(Kind::Queries),
    }
}

/// The longest word of a query.
const LONGEST_WORD: usize = 60;

/// Returns whether a line is a query rather than a row, a program or a letter: words, and nothing between columns.
pub fn is_query(line: &str) -> bool {
    let is_plain =
        !line.contains(['\t', ',', ';', '|', '{', '<', '=', '\\', '@', '[']) && !line.chars().any(char::is_control);
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_decimal = |word: &&&str| word.contains('.') && word.parse::<f64>().is_ok();
    // Qrels and runs with a fault, pairs such as `key: value`, rows of numbers, addresses, comments and what is encoded.
    let is_other = matches!(words[..], [_, "0" | "Q0", _, _, ..] | [_, "0" | "Q0", _])
        || words.first().is_some_and(|word| word.ends_with(':') || word.starts_with(['#', '/', '-']))
        || words.iter().filter(is_decimal).count() > 2
        || words.iter().any(|word| {
            ["():", "();", "://", "qid:"].iter().any(|part| word.contains(part)) || word.len() > LONGEST_WORD
        });
    is_plain && !is_other && !is_header(&[line.to_owned()]) && line.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(names: &str, is_tsv: bool) -> Kind {
        let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
        by_columns(&names, &GuessedColumns::guess(&names), is_tsv)
    }

    #[test]
    fn a_table_is_known_by_its_columns() {
        for (names, expected) in [
            ("query title count", Kind::Clicks),
            ("query title count rare", Kind::Clicks),
            ("query title user", Kind::Log),
            ("query sku date", Kind::Log),
            ("query title grade", Kind::Judged),
            ("time user query position id title clicked grade", Kind::Log),
            ("query_id query title_id title relevance", Kind::Judged),
            ("query docid rating", Kind::Judged),
            ("query product_id esci_label", Kind::Judged),
            ("id title", Kind::Titles),
            ("qid query", Kind::Topics),
            ("id query", Kind::Topics),
            ("_id _source.query title", Kind::Log),
            ("sku name price", Kind::Titles),
            ("AnonID Query QueryTime ItemRank ClickURL", Kind::Preset("aol")),
            ("event_name event_params user_pseudo_id", Kind::Preset("ga4")),
            ("colour size", Kind::Unknown),
        ] {
            assert_eq!(kind(names, true), expected, "{names}");
        }
        assert_eq!(kind("query title count", false), Kind::Log, "`train` reads tabs only");
    }

    #[test]
    fn lines_without_a_header_are_known_by_their_fields() {
        assert_eq!(by_first_line("12\t0\td7\t1"), Some(Kind::Qrels));
        assert_eq!(by_first_line("q1 Q0 d7 1 12.5 bm25"), Some(Kind::Run));
        assert_eq!(by_first_line("17\tred shoes\tD12\thttps://a.example"), Some(Kind::Preset("orcas")));
        assert_eq!(by_first_line("q1 Q0 d7 1 12.5 my new run"), Some(Kind::Run));
        assert_eq!(by_first_line("12 0 d7 1.0"), Some(Kind::Qrels));
        assert_eq!(by_first_line("12\tred shoes"), Some(Kind::Topics));
        assert_eq!(by_first_line("<topics>"), Some(Kind::Topics));
        assert_eq!(by_first_line("red shoes"), Some(Kind::Queries));
        assert_eq!(by_first_line("red shoes\tShoes, red"), None);
        for line in [
            "q1 0 d1 1 2025",
            "q1 0 d1 high",
            "# exported 2025",
            "/annex/objects/SHA256E-s123--abc.tsv",
            "hose 0.1 0.2 0.3",
            "key: value",
            "2 qid:1 1:0.5",
            "see https://a.example",
            "x = 5",
            "a@b.example",
        ] {
            assert_eq!(by_first_line(line), None, "{line}");
        }
        for line in [
            "1/2 in. pvc elbow",
            "3.5 x 2.5 board",
            "c++ book",
            "5'x8' rug",
            "l'oréal",
            "grüne schuhe",
            "白い靴",
            "what is 0 d",
        ] {
            assert_eq!(by_first_line(line), Some(Kind::Queries), "{line}");
        }
    }
}
