//! Features of judged titles for learning to rank.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;

use clickvec::internals::text::words;
use clickvec_eval::TestSetFiles;
use clickvec_eval::ranker::{self, Corpus, Neural, Ranker};
use clickvec_index::Index;
use clickvec_tables::Result;
use clickvec_tables::files::PendingFolder;
use clickvec_tables::shown::printable;
use minijinja::context;

use super::template::{Each, Template};
use crate::{Watcher, test_set};

/// What each number is, in order.
pub(super) const FEATURES: [&str; 8] = [
    "cosine of the model's vectors",
    "BM25",
    "cosine of letter trigrams",
    "words of the query",
    "words of the title",
    "words of the query that the title has",
    "share of the query's words that the title has",
    "whether the title has the query's words in order",
];

/// Writes the files of a form that are made of judged queries, and returns the number of judged titles.
pub(super) fn write(
    template: &Template,
    folder: &PendingFolder,
    index: &Index,
    judged: &Path,
    watch: &dyn Watcher,
) -> Result<u64> {
    let set = test_set::read(&TestSetFiles { judged, topics: None, titles: None, field: index.field() }, watch)?;
    let (mut corpus, mut ids) = (Corpus::default(), HashMap::new());
    index.for_each_title(|title| {
        corpus.add_title(&title.title)?;
        // Judged titles without ids are known by their texts.
        if !set.title_ids {
            ids.entry(title.title).or_insert(title.id);
        }
        Ok(())
    })?;
    let model = Neural::new("model".to_owned(), index.model());
    let (bm25, trigrams) = (ranker::train("bm25", &corpus)?, ranker::train("trigram", &corpus)?);
    let mut files = Vec::new();
    for file in template.files.iter().filter(|file| file.each == Each::Query) {
        files.push((file, folder.create(&file.name)?));
    }
    let mut rows = 0;
    for (number, query) in (1u64..).zip(&set.judgments.queries) {
        let texts: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        let scores = [&model as &dyn Ranker, &*bm25, &*trigrams].map(|ranker| ranker.score(&query.text, &texts));
        let query_words = words(&query.text);
        let mut titles = Vec::with_capacity(texts.len());
        for (number, title) in query.titles.iter().enumerate() {
            let [model, bm25, trigrams] = [0, 1, 2].map(|ranker: usize| scores[ranker][number].to_string());
            let [a, b, c, d, e] = counts(&query_words, &words(&title.text)).map(|count| count.to_string());
            titles.push(context! {
                id => printable(ids.get(&title.text).unwrap_or(&title.id)).into_owned(),
                title => title.text.as_str(),
                grade => title.grade.to_string(),
                // Texts, so that numbers keep their shortest form.
                features => vec![model, bm25, trigrams, a, b, c, d, e],
            });
        }
        rows += titles.len() as u64;
        let id = printable(&query.id).into_owned();
        let context = context! { query => context! { number => number, id, text => query.text.as_str(), titles } };
        for (file, out) in &mut files {
            let text = template.render(file, context.clone())?;
            out.write_all(text.as_bytes()).map_err(|source| folder.failed(source))?;
        }
    }
    for (_, out) in &mut files {
        out.flush().map_err(|source| folder.failed(source))?;
    }
    Ok(rows)
}

/// Computes the features that are counted.
fn counts(query: &[String], title: &[String]) -> [f64; 5] {
    let known: HashSet<&str> = title.iter().map(String::as_str).collect();
    let matched = query.iter().filter(|word| known.contains(word.as_str())).count() as f64;
    let share = matched / query.len().max(1) as f64;
    let in_order = !query.is_empty() && title.windows(query.len()).any(|words| words == query);
    [query.len() as f64, title.len() as f64, matched, share, f64::from(u8::from(in_order))]
}
