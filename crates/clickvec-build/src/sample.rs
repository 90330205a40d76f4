//! The first rows of the logs, compared with the titles: whether they belong together, and how.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec::internals::text::words;
use clickvec_logs::columns::Role;
use clickvec_logs::tables::{LogTable, Next, Options, Record};
use clickvec_tables::shown::{count, shortened};
use clickvec_tables::{Error, ErrorKind, Result};

use crate::looked::Join;
use crate::vocabulary::{Vocabulary, looks_like_id};

/// The number of rows of all logs that are examined.
const ROWS: u64 = 50_000;
/// With a smaller share, the ids of a log are those of other titles.
const FEW_IDS: f64 = 0.2;
/// With a smaller share of known words, queries are in another language than the titles.
const FEW_WORDS: f64 = 0.1;
/// With a smaller share of known words, clicked titles are of another vocabulary.
const FEW_TITLE_WORDS: f64 = 0.2;
/// With a larger share of titles that look like ids, nearly all count as ids.
const MOST: f64 = 0.8;
/// Scripts without spaces; their words are not compared.
const WITHOUT_SPACES: std::ops::Range<char> = '\u{0E00}'..'\u{AC00}';

/// A number of texts, and how many of them are known.
#[derive(Default)]
struct Share {
    known: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, known: bool) {
        self.all += 1;
        self.known += u64::from(known);
    }

    fn share(&self) -> f64 {
        self.known as f64 / self.all.max(1) as f64
    }
}

/// The facts of the first rows of the logs.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) rows: u64,
    /// Whether these are all rows.
    pub(crate) is_all: bool,
    /// The bytes read of each row.
    pub(crate) bytes: u64,
    /// Titles that are texts of TITLES, those that are ids there, and those that look like ids of any kind.
    texts: Share,
    ids: Share,
    like_ids: Share,
    /// Items that are ids of TITLES.
    items: Share,
    query_words: Share,
    title_words: Share,
    /// Queries that are titles.
    queries: Share,
    first_title: Option<String>,
    first_item: Option<String>,
    first_query: Option<String>,
}

impl Sample {
    /// Reads the first rows of the logs.
    ///
    /// # Errors
    ///
    /// Those of reading them.
    pub(crate) fn read(
        logs: &[PathBuf],
        options: &Options,
        titles: &Vocabulary,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Sample> {
        let mut sample = Sample { is_all: true, ..Sample::default() };
        let most = ROWS / logs.len().max(1) as u64;
        let mut record = Record::default();
        for path in logs {
            let mut table = LogTable::open(path, options)?;
            let mut rows = 0;
            loop {
                match table.next(&mut record)? {
                    Next::End => break,
                    Next::Row => sample.add(&record, titles),
                    _ => {}
                }
                rows += 1;
                if rows == most {
                    sample.is_all = false;
                    break;
                }
            }
            sample.rows += rows;
            if go_on().is_break() {
                return Err(Error::interrupted());
            }
        }
        Ok(sample)
    }

    fn add(&mut self, record: &Record, titles: &Vocabulary) {
        let field = |role| record.get(role).map(str::trim).filter(|text| !text.is_empty());
        let known_words = |share: &mut Share, words: &[String]| {
            let compared = words.iter().filter(|word| !word.contains(|c| WITHOUT_SPACES.contains(&c)));
            compared.for_each(|word| share.add(titles.has_word(word)));
        };
        if let Some(query) = field(Role::Query) {
            let words = words(query);
            known_words(&mut self.query_words, &words);
            self.queries.add(words.len() > 1 && titles.has_text(&words));
            self.first_query.get_or_insert_with(|| query.to_owned());
            self.bytes += query.len() as u64;
        }
        if let Some(title) = field(Role::Title) {
            let words = words(title);
            known_words(&mut self.title_words, &words);
            self.texts.add(titles.has_text(&words));
            self.ids.add(titles.has_id(title));
            self.like_ids.add(looks_like_id(&words));
            self.first_title.get_or_insert_with(|| title.to_owned());
            self.bytes += title.len() as u64;
        }
        if let Some(item) = field(Role::Item) {
            self.items.add(titles.has_id(item));
            self.first_item.get_or_insert_with(|| item.to_owned());
            self.bytes += item.len() as u64;
        }
    }

    /// Returns the way clicks get their titles, by the names of the log's columns of titles and items.
    ///
    /// # Errors
    ///
    /// The log and the titles do not belong together.
    pub(crate) fn join(&self, log: &Path, table: &Path, titles: &Vocabulary, title: &str, item: &str) -> Result<Join> {
        let [texts, ids, items] = [&self.texts, &self.ids, &self.items].map(Share::share);
        let refuse = |expected: String, found: String, help: &'static str| {
            Err(Error::expected(ErrorKind::Mismatch, expected, found).help(help).at(log))
        };
        let in_titles = |what: &str| format!("among the {what} of {}", table.display());
        let none = |share: &Share, first: &Option<String>| {
            let first = shortened(first.as_deref().unwrap_or_default());
            format!("{} of {}, the first being `{first}`", count(share.known), count(share.all))
        };
        if self.query_words.all == 0 && self.queries.all == 0 {
            return refuse("queries".to_owned(), "none in its first rows".to_owned(), "name their column");
        }
        if texts < FEW_IDS && self.queries.share() > 0.5 {
            let found = none(&self.queries, &self.first_query);
            let expected = "queries in the column of queries".to_owned();
            return refuse(expected, format!("titles: {found}"), "are the columns of queries and titles swapped?");
        }
        let join = if self.items.all > 0 && items >= FEW_IDS && items >= texts {
            Join::Ids { column: item.to_owned() }
        } else if ids >= FEW_IDS && ids > texts {
            Join::Ids { column: title.to_owned() }
        } else if self.texts.all == 0 {
            let expected = format!("ids that are {} ({})", in_titles("ids"), titles.counted());
            let found = none(&self.items, &self.first_item);
            return refuse(expected, found, "name the columns of ids of both, or the log's column of titles");
        } else if self.like_ids.share() > MOST {
            let expected = format!("texts of titles, or ids that are {} ({})", in_titles("ids"), titles.counted());
            let found = none(&self.ids, &self.first_title);
            return refuse(expected, found, "name the log's column of titles, or the titles' column of ids");
        } else {
            Join::Texts
        };
        if join == Join::Texts && self.title_words.all > 0 && self.title_words.share() < FEW_TITLE_WORDS {
            let found = none(&self.title_words, &self.first_title);
            let expected = format!("clicked titles whose words are {}", in_titles("words"));
            return refuse(
                expected,
                format!("{found} (words)"),
                "are these the titles that were searched, in the same language?",
            );
        }
        // Misspelt words are trained on; what shares no word is in another language, or no query.
        if self.query_words.all > 0 && self.query_words.share() < FEW_WORDS {
            let found = none(&self.query_words, &self.first_query);
            let expected = format!("queries whose words are {}", in_titles("words"));
            return refuse(
                expected,
                format!("{found} (words)"),
                "are the titles in the language of the queries, and is this their column?",
            );
        }
        Ok(join)
    }
}
