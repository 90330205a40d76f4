//! What a file seems to be.

use super::columns::Meaning;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    /// A raw log, for `prepare`.
    Log,
    /// A log whose form has a preset.
    Preset(&'static str),
    /// Counted pairs, for `train`.
    Clicks,
    /// Judged titles.
    Judged,
    /// A sheet of `judge pool` with titles that have no grade yet.
    Sheet,
    /// Queries, one a line.
    Queries,
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
    /// A fusion of rankers and a model.
    Fusion,
    /// An index.
    Index,
    /// A test set of BEIR.
    Beir,
    /// Something else.
    Unknown,
}

impl InputKind {
    /// What people call it.
    pub(super) fn text(self) -> String {
        match self {
            InputKind::Log => "a raw click log".to_owned(),
            InputKind::Preset(name) => format!("a raw log with the preset `{name}`"),
            InputKind::Clicks => "a click log, ready for `train`".to_owned(),
            InputKind::Judged => "judged titles".to_owned(),
            InputKind::Sheet => "a sheet of `judge pool` with grades to fill in".to_owned(),
            InputKind::Queries => "queries, one a line".to_owned(),
            InputKind::Titles => "titles".to_owned(),
            InputKind::Corpus => "a corpus of titles in BEIR's form".to_owned(),
            InputKind::Qrels => "judgments in TREC's form (qrels)".to_owned(),
            InputKind::Run => "a TREC run".to_owned(),
            InputKind::Model => "a model".to_owned(),
            InputKind::Ranker => "a trained ranker".to_owned(),
            InputKind::Fusion => "a fusion".to_owned(),
            InputKind::Index => "an index".to_owned(),
            InputKind::Beir => "a test set in BEIR's form".to_owned(),
            InputKind::Unknown => "nothing that clickvec knows".to_owned(),
        }
    }

    /// The word for it in JSON.
    pub(super) fn key(self) -> &'static str {
        match self {
            InputKind::Log => "log",
            InputKind::Preset(_) => "preset",
            InputKind::Clicks => "clicks",
            InputKind::Judged => "judged",
            InputKind::Sheet => "sheet",
            InputKind::Queries => "queries",
            InputKind::Titles => "titles",
            InputKind::Corpus => "corpus",
            InputKind::Qrels => "qrels",
            InputKind::Run => "run",
            InputKind::Model => "model",
            InputKind::Ranker => "ranker",
            InputKind::Fusion => "fusion",
            InputKind::Index => "index",
            InputKind::Beir => "beir",
            InputKind::Unknown => "unknown",
        }
    }
}

/// What a table with these columns is. `is_plain`: fields between tabs, as `train` and `evaluate` read them.
pub(super) fn of_columns(names: &[String], found: &[(Meaning, String)], is_plain: bool) -> InputKind {
    let has_name = |wanted: &str| names.iter().any(|name| name.trim().eq_ignore_ascii_case(wanted));
    let has = |wanted: Meaning| found.iter().any(|(meaning, _)| *meaning == wanted);
    let starts = |start: &str| names.iter().any(|name| name.starts_with(start));
    if has_name("AnonID") && has_name("ClickURL") {
        return InputKind::Preset("aol");
    }
    if has_name("action_name") || (has_name("user_query") && has_name("query_id")) {
        return InputKind::Preset("ubi");
    }
    if has_name("event_name") && (has_name("event_params") || has_name("user_pseudo_id")) {
        return InputKind::Preset("ga4");
    }
    if has_name("collector_tstamp") || starts("unstruct_event_com_snowplowanalytics") {
        return InputKind::Preset("snowplow");
    }
    if has_name("_id") && (has_name("text") || has_name("title")) {
        return InputKind::Corpus;
    }
    // Nobody judges at a time or at a place in a list; a simulated log has grades as well.
    let is_logged = [Meaning::User, Meaning::Time, Meaning::Position, Meaning::Session].into_iter().any(has);
    match (has(Meaning::Query), has(Meaning::Title), has(Meaning::Item)) {
        (true, true, _) if has(Meaning::Grade) && !is_logged => InputKind::Judged,
        (true, true, false) if is_plain && has_name("query") && has_name("title") && !is_logged => InputKind::Clicks,
        (true, true, _) | (true, _, true) => InputKind::Log,
        (false, true, true) => InputKind::Titles,
        _ => InputKind::Unknown,
    }
}

/// What lines without a header are: the forms of TREC, and logs of presets without one.
pub(super) fn of_fields(line: &str) -> Option<InputKind> {
    let tabs: Vec<&str> = line.split('\t').collect();
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    if let [id, _, document, url] = tabs[..]
        && is_number(id)
        && document.starts_with('D')
        && url.starts_with("http")
    {
        return Some(InputKind::Preset("orcas"));
    }
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    match fields[..] {
        [_, "Q0" | "q0", _, rank, score, _] if is_number(rank) && score.parse::<f64>().is_ok() => Some(InputKind::Run),
        [_, iteration, _, grade] if is_number(grade) && (is_number(iteration) || iteration == "Q0") => {
            Some(InputKind::Qrels)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::guess;
    use super::*;

    fn kind(names: &str, is_plain: bool) -> InputKind {
        let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
        of_columns(&names, &guess(&names), is_plain)
    }

    #[test]
    fn a_table_is_known_by_its_columns() {
        for (names, expected) in [
            ("query title count", InputKind::Clicks),
            ("query title count rare", InputKind::Clicks),
            ("query title user", InputKind::Log),
            ("query sku date", InputKind::Log),
            ("query title grade", InputKind::Judged),
            ("time user query position id title clicked grade", InputKind::Log),
            ("query_id query title_id title relevance", InputKind::Judged),
            ("id title", InputKind::Titles),
            ("sku name price", InputKind::Titles),
            ("AnonID Query QueryTime ItemRank ClickURL", InputKind::Preset("aol")),
            ("event_name event_params user_pseudo_id", InputKind::Preset("ga4")),
            ("colour size", InputKind::Unknown),
        ] {
            assert_eq!(kind(names, true), expected, "{names}");
        }
        assert_eq!(kind("query title count", false), InputKind::Log, "`train` reads tabs only");
    }

    #[test]
    fn lines_without_a_header_are_known_by_their_fields() {
        assert_eq!(of_fields("12\t0\td7\t1"), Some(InputKind::Qrels));
        assert_eq!(of_fields("q1 Q0 d7 1 12.5 bm25"), Some(InputKind::Run));
        assert_eq!(of_fields("17\tred shoes\tD12\thttps://a.example"), Some(InputKind::Preset("orcas")));
        assert_eq!(of_fields("red shoes\tShoes, red"), None);
    }
}
