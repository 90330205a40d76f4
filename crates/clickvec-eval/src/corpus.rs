//! Reading the titles and clicks that rankers learn from.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::overlap::{OverlapCounter, overlap};
use super::{Judgments, Overlap};
use crate::ranker::Corpus;
use clickvec::internals::clicks::ClickReader;
use clickvec::tables::{Skipped, TitleFile, Titles, read_titles};
use clickvec::train::Weighting;
use clickvec_tables::Result;
use clickvec_tables::{Error, ErrorKind};

/// Where all lines are broken, the first of them are shown.
const SHOWN_BROKEN: usize = 3;

/// The files of a corpus.
#[derive(Debug, Clone, Default)]
pub struct CorpusFiles<'a> {
    /// The collection. Without it, the collection is the distinct titles that were judged or clicked.
    pub titles: Option<Titles>,
    /// The click log.
    pub clicks: Option<&'a Path>,
    /// The column with the texts of titles.
    pub field: &'a str,
    /// How the log's `count` column weights a pair.
    pub weighting: Weighting,
}

/// A corpus, with counts of what was left out.
#[derive(Debug, Default)]
pub struct ReadCorpus {
    /// The corpus.
    pub corpus: Corpus,
    /// The file of titles that was read, and its broken lines.
    pub titles: Option<(PathBuf, Skipped)>,
    /// The number of BEIR documents without a title, whose text is used instead.
    pub untitled: u64,
    /// The click log that was read, and its broken lines.
    pub clicks: Option<(PathBuf, Skipped)>,
    /// The number of titles in the collection.
    pub collection: u64,
    /// How much of the judgments is also in the click log, if there are both.
    pub overlap: Option<Overlap>,
}

/// The corpus of a collection and its clicks. The queries of `judgments` become its test queries.
///
/// # Errors
///
/// Those of [`read_titles`] and [`ClickReader::open`]; [`ErrorKind::Empty`] for a
/// collection without titles; `ErrorKind::Memory`.
pub fn read_corpus(files: &CorpusFiles<'_>, judgments: Option<&Judgments>) -> Result<ReadCorpus> {
    let queries = || judgments.iter().flat_map(|judgments| &judgments.queries);
    let mut read = ReadCorpus::default();
    let corpus = &mut read.corpus;
    let mut distinct: HashSet<String> = HashSet::new();
    match &files.titles {
        Some(titles) => {
            let TitleFile { titles, summary: found } = read_titles(titles, files.field)?;
            if titles.is_empty() {
                let first: String = found.skipped.shown().take(SHOWN_BROKEN).map(|line| format!("; {line}")).collect();
                let none = match found.skipped.count {
                    0 => "none".to_owned(),
                    broken => format!("none ({broken} broken{first})"),
                };
                let error = Error::expected(ErrorKind::Empty, "titles below the header", none);
                return Err(error.help("see docs/reference/tables.md").at(&found.path));
            }
            titles.iter().try_for_each(|title| corpus.add_title(&title.title))?;
            read.collection = titles.len() as u64;
            read.untitled = found.untitled;
            read.titles = Some((found.path, found.skipped));
        }
        None => {
            for title in queries().flat_map(|query| &query.titles) {
                if distinct.insert(title.text.clone()) {
                    corpus.add_title(&title.text)?;
                }
            }
        }
    }
    if let Some(path) = files.clicks {
        let mut reader = ClickReader::open(path, files.field, files.weighting)?;
        let mut counter = judgments.map(OverlapCounter::new);
        while let Some(click) = reader.next()? {
            if let Some(counter) = &mut counter {
                counter.add(click.query, click.title, click.weight);
            }
            corpus.add_click(click.query, click.title, click.weight)?;
            if files.titles.is_none() && !distinct.contains(click.title) {
                distinct.insert(click.title.to_owned());
                corpus.add_title(click.title)?;
            }
        }
        read.overlap = counter.map(OverlapCounter::finish);
        read.clicks = Some((path.to_owned(), reader.skipped().clone()));
    }
    queries().try_for_each(|query| corpus.add_test_query(&query.text))?;
    if files.titles.is_none() {
        read.collection = distinct.len() as u64;
    }
    Ok(read)
}

/// Reads what rankers learn from, if any of them `learns`, and how much of the judgments is also in the click log.
///
/// # Errors
///
/// Those of [`read_corpus`] and [`overlap`].
pub fn read_learnt(files: &CorpusFiles<'_>, judgments: &Judgments, learns: bool) -> Result<ReadCorpus> {
    if learns {
        return read_corpus(files, Some(judgments));
    }
    let overlap = files.clicks.map(|clicks| overlap(judgments, clicks, files.field)).transpose()?;
    Ok(ReadCorpus { overlap, ..ReadCorpus::default() })
}
