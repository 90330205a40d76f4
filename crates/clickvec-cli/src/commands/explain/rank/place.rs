//! The ranks of titles by the sum of words and vectors.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Explainer, Word};
use clickvec::internals::ranker::{FusionMember, fusion_members};
use clickvec::internals::text::words;
use clickvec::model::{Model, Side};
use clickvec::ranker::{self, Corpus, FileKind, FusionMethod, Ranker, fuse};
use clickvec::search::{Answer, Searcher};
use clickvec::tables::{TITLE, Title};

use super::super::errors::bm25;
use super::super::models::{Named, load};
use super::{Args, Placed, Ranked};
use crate::output;

/// How much words and vectors count in the sum, unless a fusion says so.
const WEIGHT: f64 = 0.5;

/// A fusion of BM25 and a model.
struct Fused {
    model: Named,
    bm25: Box<dyn Ranker>,
    method: FusionMethod,
    /// Of words and of vectors.
    weights: [f64; 2],
}

impl Fused {
    /// Reads a fusion's file.
    fn load(path: &Path) -> Result<Fused> {
        let file = fusion_members(path)?;
        let name = |member: &FusionMember| member.system.as_ref().map_or("a model", |(name, _)| name);
        let place = |wanted: &str| file.members.iter().position(|member| name(member) == wanted);
        let (Some(words), Some(vectors), 2) = (place("bm25"), place("a model"), file.members.len()) else {
            let found: Vec<&str> = file.members.iter().map(name).collect();
            bail!(
                "{}: expected a fusion of bm25 and a model, found one of {}; give the model alone",
                path.display(),
                found.join(", ")
            );
        };
        Ok(Fused {
            model: load(&file.members[vectors].path)?,
            bm25: ranker::load(&file.members[words].path)?,
            method: file.method,
            weights: [words, vectors].map(|member| file.members[member].weight),
        })
    }
}

/// The titles that are asked for, best first. `None` if neither words nor vectors say anything about the query.
pub(super) fn place(args: &Args) -> Result<Option<Ranked>> {
    let fused = match &args.model.model {
        Some(path) if path.is_file() && FileKind::of(path).ok() == Some(FileKind::Fusion) => Some(Fused::load(path)?),
        _ => None,
    };
    let (named, lexical, method, weights) = match fused {
        Some(Fused { model, bm25, method, weights }) => (model, Some(bm25), method, weights),
        None => (args.model.load()?, None, FusionMethod::ZScore, [WEIGHT; 2]),
    };
    let query = args.query.as_str();
    let (titles, cosines) = match &args.model.index {
        Some(index) => of_index(&Searcher::open(index)?, query)?,
        None => of_titles(args, &named.model, query)?,
    };
    ensure!(cosines.iter().all(|score| score.is_finite()), "the model's scores are not finite");
    let is_known = named.model.dictionary().knows_a_word(query);
    let lexical = match lexical {
        Some(lexical) => lexical,
        None => {
            let mut corpus = Corpus::default();
            titles.iter().for_each(|title| corpus.add_title(&title.title));
            bm25(&corpus)?
        }
    };
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let by_words = lexical.score(query, &texts);
    if !is_known {
        if by_words.iter().all(|&score| score == 0.0) {
            return Ok(None);
        }
        output::note("the model knows no word of the query, so the order comes from BM25 alone");
    }
    let part = |scores: &[f64], weight: f64| fuse(&[scores], &[weight], method);
    let parts = [part(&by_words, weights[0]), part(&cosines, weights[1])];
    let sum = |title: usize| parts[0][title] + parts[1][title];
    let mut order: Vec<usize> = (0..titles.len()).collect();
    order.sort_by(|&a, &b| sum(b).total_cmp(&sum(a)).then(a.cmp(&b)));
    let wanted: Vec<(usize, usize)> =
        (1..).zip(order).filter(|&(rank, title)| is_wanted(args, rank, &titles[title])).collect();
    for id in &args.ids {
        ensure!(
            wanted.iter().any(|&(_, title)| titles[title].id == *id),
            "expected ids of titles, found no title with the id `{}`",
            output::printable(id)
        );
    }
    let explainer = Explainer::new(&named.model);
    let shown: Vec<&str> = wanted.iter().map(|&(_, title)| texts[title]).collect();
    let query_words = words_of(&explainer, query);
    // BM25 is a sum over the query's words.
    let of_words: Vec<Vec<f64>> = query_words.iter().map(|word| lexical.score(&word.text, &shown)).collect();
    let placed = |(row, &(rank, title)): (usize, &(usize, usize))| Placed {
        rank,
        title: titles[title].clone(),
        parts: [parts[0][title], parts[1][title]],
        bm25: by_words[title],
        lexical: of_words.iter().map(|scores| scores[row]).collect(),
        found: is_known.then(|| explainer.explain(query, texts[title])),
    };
    Ok(Some(Ranked {
        query: query.to_owned(),
        model: named.title(),
        titles: wanted.iter().enumerate().map(placed).collect(),
        of: titles.len(),
        // A reciprocal rank is not in proportion to the score.
        scales: (!matches!(method, FusionMethod::ReciprocalRank { .. }))
            .then(|| [scale(&by_words, &parts[0]), scale(&cosines, &parts[1])]),
        method,
        weights,
        words: query_words.iter().map(|word| word.shown().into_owned()).collect(),
    }))
}

/// The words of a query as the model reads them, and after them those that it leaves out.
fn words_of(explainer: &Explainer<'_>, query: &str) -> Vec<Word> {
    let view = explainer.text(Side::Query, query);
    let left_out = words(query).into_iter().skip(words(query).len() - view.cut);
    let left_out = left_out.map(|text| Word { text, known: false, parts: 1 });
    view.words.into_iter().chain(left_out).collect()
}

fn is_wanted(args: &Args, rank: usize, title: &Title) -> bool {
    if args.ids.is_empty() { rank <= args.top } else { args.ids.contains(&title.id) }
}

/// The titles of an index, with the cosines of its vectors.
fn of_index(searcher: &Searcher, query: &str) -> Result<(Vec<Title>, Vec<f64>)> {
    let title = |position: usize| searcher.title(position as u32);
    let titles: Vec<Title> = (0..searcher.len())
        .filter_map(title)
        .map(|(id, title)| Title { id: id.to_owned(), title: title.to_owned() })
        .collect();
    let mut cosines = vec![0.0; titles.len()];
    if let Answer::Found(found) = searcher.search(query, titles.len())? {
        for found in found {
            cosines[found.position as usize] = f64::from(found.score);
        }
    }
    Ok((titles, cosines))
}

/// The titles of a table, encoded by the model, with their cosines.
fn of_titles(args: &Args, model: &Model, query: &str) -> Result<(Vec<Title>, Vec<f64>)> {
    let path = args.titles.as_ref().expect("required without an index");
    let titles = args.title_columns.titles(path, TITLE)?;
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let scores = if model.dictionary().knows_a_word(query) {
        Explainer::new(model).scores(query, &texts)
    } else {
        vec![0.0; titles.len()]
    };
    Ok((titles, scores.into_iter().map(f64::from).collect()))
}

/// What one point of a score adds to the sum: a part is (score − mean) times this.
fn scale(scores: &[f64], parts: &[f64]) -> f64 {
    let extreme = |best: fn(f64, f64) -> bool| {
        (0..scores.len()).reduce(|a, b| if best(scores[b], scores[a]) { b } else { a }).unwrap_or(0)
    };
    let (most, least) = (extreme(|b, a| b > a), extreme(|b, a| b < a));
    match (scores.get(most), scores.get(least)) {
        (Some(high), Some(low)) if high > low => (parts[most] - parts[least]) / (high - low),
        _ => 0.0,
    }
}
