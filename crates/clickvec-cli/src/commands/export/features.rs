//! Features of judged titles for learning to rank, in SVMrank's form: `grade qid:N 1:… 2:… # query id, title id`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::eval::TestSetFiles;
use clickvec::internals::files::{Pending, write_bytes_atomically};
use clickvec::internals::text::words;
use clickvec::model::Model;
use clickvec::ranker::{self, Corpus, Neural, Ranker};
use clickvec::tables::Title;

use super::Args;
use super::titles::Counts;
use crate::{input, output, test_set};

/// What each number is, in order.
const FEATURES: [&str; 8] = [
    "cosine of the model's vectors",
    "BM25",
    "cosine of letter trigrams",
    "words of the query",
    "words of the title",
    "words of the query that the title has",
    "share of the query's words that the title has",
    "whether the title has the query's words in order",
];

/// Writes `features.txt`, `groups.txt` (LightGBM's group file: titles a query) and `names.txt`.
pub(super) fn write(args: &Args, model: &Model, titles: &Path, field: &str) -> Result<Counts> {
    let judged = args.judged.as_deref().unwrap_or(Path::new(""));
    let files = TestSetFiles { judged, topics: None, titles: Some(titles), field };
    let set = test_set::read(&files)?;
    let mut corpus = Corpus::default();
    input::each_title(titles, field, |Title { title, .. }| {
        corpus.add_title(&title)?;
        Ok(())
    })?;
    let bm25 = ranker::train("bm25", &corpus)?;
    let trigrams = ranker::train("trigram", &corpus)?;
    let cosine = Neural::new("model".to_owned(), model);
    super::folder::begin(&args.output, &args.to.name())?;
    let path = args.output.join("features.txt");
    let failed = |source| Error::io(&path, "write", source);
    let mut pending = Pending::new(&path)?;
    let (mut groups, mut rows) = (String::new(), 0);
    for (number, query) in (1..).zip(&set.judgments.queries) {
        let texts: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
        let scores =
            [cosine.score(&query.text, &texts), bm25.score(&query.text, &texts), trigrams.score(&query.text, &texts)];
        let of_query = words(&query.text);
        for (place, title) in query.titles.iter().enumerate() {
            let [cosine, bm25, trigrams] = [&scores[0], &scores[1], &scores[2]].map(|scores| scores[place]);
            let counts = counts(&of_query, &words(&title.text));
            let mut line = format!("{} qid:{number} 1:{cosine} 2:{bm25} 3:{trigrams}", title.grade);
            for (feature, count) in (4..).zip(counts) {
                let _ = write!(line, " {feature}:{count}");
            }
            let ids = [&query.id, &title.id].map(|id| output::printable(id).into_owned());
            writeln!(pending.writer(), "{line} # {} {}", ids[0], ids[1]).map_err(failed)?;
            rows += 1;
        }
        let _ = writeln!(groups, "{}", query.titles.len());
    }
    pending.seal()?.publish()?;
    write_bytes_atomically(&args.output.join("groups.txt"), groups.as_bytes())?;
    let names: String = (1..).zip(FEATURES).map(|(number, name)| format!("{number}\t{name}\n")).collect();
    write_bytes_atomically(&args.output.join("names.txt"), names.as_bytes())?;
    Ok(Counts { rows, left_out: 0 })
}

/// The features that are counted.
fn counts(query: &[String], title: &[String]) -> [f64; 5] {
    let of_title: HashSet<&str> = title.iter().map(String::as_str).collect();
    let matched = query.iter().filter(|word| of_title.contains(word.as_str())).count() as f64;
    let share = matched / query.len().max(1) as f64;
    let in_order = !query.is_empty() && title.windows(query.len()).any(|words| words == query);
    [query.len() as f64, title.len() as f64, matched, share, f64::from(u8::from(in_order))]
}
