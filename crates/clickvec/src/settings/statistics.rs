//! The figures of a log, which a model records.

use serde::{Deserialize, Serialize};

/// The figures of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LogStatistics {
    /// Pairs to train on.
    pub pairs: u64,
    /// Pairs of queries that are held out, to judge by. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_out: u64,
    /// Scored pairs that were left out because their query has no other scored title. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub alone: u64,
    /// Lines that are not a valid pair: broken, or with a bad weight.
    pub skipped: u64,
    /// Rows that were left out because the title was shown and not clicked. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_clicked: u64,
    /// Pairs whose query is rare: trigrams that only such queries have are not in the dictionary. Omitted if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rare: u64,
    /// Pairs that were left out because the query or the title has no word.
    pub without_words: u64,
    /// Texts of more than `max_words` words: their tail was cut or merged.
    pub cut: u64,
    /// Words of all queries.
    pub query_words: u64,
    /// Words of all titles.
    pub title_words: u64,
    /// Letter trigrams of all queries' words.
    pub query_trigrams: u64,
    /// Letter trigrams of all titles' words.
    pub title_trigrams: u64,
    /// Distinct trigrams, including those that `max_trigrams` leaves out.
    pub distinct_trigrams: u64,
    /// The figures of titles without a click. Omitted if there are none, as in files from before these existed.
    #[serde(default, skip_serializing_if = "TitleStatistics::is_empty")]
    pub titles: TitleStatistics,
}

/// The figures of files of titles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TitleStatistics {
    /// Titles to train on.
    pub titles: u64,
    /// Broken lines.
    pub skipped: u64,
    /// Titles that were left out because they have no word.
    pub without_words: u64,
    /// Words of all titles.
    pub words: u64,
    /// Letter trigrams of all their words.
    pub trigrams: u64,
}

impl LogStatistics {
    /// Returns every figure with its name in messages.
    pub(crate) fn figures(&self) -> [(&'static str, u64); 18] {
        let LogStatistics { pairs, held_out, alone, skipped, not_clicked, rare, without_words, cut, .. } = *self;
        let LogStatistics { query_words, title_words, query_trigrams, title_trigrams, distinct_trigrams, .. } = *self;
        let TitleStatistics { titles, skipped: broken, without_words: wordless, words, trigrams } = self.titles;
        [
            ("pairs", pairs),
            ("titles", titles),
            ("held-out pairs", held_out),
            ("lone scored pairs", alone),
            ("skipped lines", skipped),
            ("rows not clicked", not_clicked),
            ("pairs of rare queries", rare),
            ("pairs without words", without_words),
            ("cut texts", cut),
            ("words of queries", query_words),
            ("words of clicked titles", title_words),
            ("trigrams of queries", query_trigrams),
            ("trigrams of clicked titles", title_trigrams),
            ("distinct trigrams", distinct_trigrams),
            ("skipped lines of titles", broken),
            ("titles without words", wordless),
            ("words of titles", words),
            ("trigrams of titles", trigrams),
        ]
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TitleStatistics {
    fn is_empty(&self) -> bool {
        *self == TitleStatistics::default()
    }
}
