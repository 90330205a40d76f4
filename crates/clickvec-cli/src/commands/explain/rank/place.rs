//! The ranks of titles by the sum of words and vectors.

use anyhow::{Result, ensure};
use clickvec::explain::{Explainer, Word};
use clickvec::internals::text::{Analysis, words};
use clickvec::model::{Model, Side};
use clickvec::ranker::{Corpus, FusionMethod, Ranker, fuse};
use clickvec::search::{Answer, Searcher};
use clickvec::tables::{TITLE, Title};

use super::super::errors::bm25;
use super::super::models::NamedModel;
use super::fusion::Fused;
use super::{Args, Part, Placed, Ranked, RankedBy, Share};
use crate::{input, output};

/// How much words and vectors count in the sum, unless a fusion says so.
const WEIGHT: f64 = 0.5;

/// A title that is to be explained: its rank and what each part says of it.
pub(super) struct Source {
    pub(super) rank: usize,
    pub(super) title: Title,
    pub(super) shares: Vec<Option<Share>>,
}

/// The rankers whose scores are shown.
pub(super) struct Explained<'a> {
    pub(super) bm25: Option<&'a dyn Ranker>,
    pub(super) trigrams: Option<&'a dyn Ranker>,
    pub(super) teacher: Option<&'a dyn Ranker>,
}

/// The titles that are asked for, best first. `None` if nothing says anything about the query.
pub(super) fn place(args: &Args) -> Result<Option<Ranked>> {
    if let Some(path) = &args.model.model
        && input::is_fusion(path)
    {
        let fused = Fused::load(path)?;
        return fused.rank(args, &titles_of(args)?);
    }
    if let Some(index) = &args.model.index
        && let Some(ranked) = super::engine::place(args, index)?
    {
        return Ok(ranked);
    }
    by_default(args, &args.model.load()?)
}

/// Half the z-score of BM25 and half that of the cosine, over all titles.
fn by_default(args: &Args, named: &NamedModel) -> Result<Option<Ranked>> {
    let (query, method) = (args.query.as_str(), FusionMethod::ZScore);
    let (titles, cosines) = match &args.model.index {
        Some(index) => of_index(&Searcher::open(index)?, query)?,
        None => of_titles(args, &named.model, query)?,
    };
    ensure!(cosines.iter().all(|score| score.is_finite()), "the model's scores are not finite");
    let mut corpus = Corpus::default();
    titles.iter().try_for_each(|title| corpus.add_title(&title.title))?;
    let analysis = match &args.model.index {
        Some(index) => crate::fused::choices(index)?.analysis,
        None => Analysis::EXACT,
    };
    let lexical = bm25(&corpus, analysis)?;
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let by_words = lexical.score(query, &texts);
    if !named.model.dictionary().knows_a_word(query) {
        if by_words.iter().all(|&score| score == 0.0) {
            return Ok(None);
        }
        output::note("the model knows no word of the query, so the order comes from BM25 alone");
    }
    let shares = |scores: &[f64]| -> Vec<Share> {
        let adds = fuse(&[scores], &[WEIGHT], method);
        scores.iter().zip(adds).map(|(&score, adds)| Share { score, adds }).collect()
    };
    let shares = [shares(&by_words), shares(&cosines)];
    let sum = |title: usize| shares[0][title].adds + shares[1][title].adds;
    let mut order: Vec<usize> = (0..titles.len()).collect();
    order.sort_by(|&a, &b| sum(b).total_cmp(&sum(a)).then(a.cmp(&b)));
    let wanted = (1..).zip(order).filter(|&(rank, title)| is_wanted(args, rank, &titles[title]));
    let source = |(rank, title): (usize, usize)| Source {
        rank,
        title: titles[title].clone(),
        shares: shares.iter().map(|of| Some(of[title])).collect(),
    };
    let sources: Vec<Source> = wanted.map(source).collect();
    for id in &args.ids {
        ensure!(
            sources.iter().any(|of| of.title.id == *id),
            "expected ids of titles, found no title with the id `{}`",
            output::printable(id)
        );
    }
    let part = |(kind, shares): (RankedBy, &Vec<Share>)| Part { kind, weight: WEIGHT, scale: scale(shares, method) };
    let scores = Explained { bm25: Some(lexical.as_ref()), trigrams: None, teacher: None };
    let (words, placed) = explained(query, &named.model, sources, &scores);
    Ok(Some(Ranked {
        query: query.to_owned(),
        words,
        model: named.title(),
        titles: placed,
        of: titles.len(),
        parts: [RankedBy::Words, RankedBy::Vectors].into_iter().zip(&shares).map(part).collect(),
        method,
        depth: None,
    }))
}

/// The words of the query as they are shown, and the titles with what the model and the rankers say of them.
pub(super) fn explained(
    query: &str,
    model: &Model,
    sources: Vec<Source>,
    rankers: &Explained<'_>,
) -> (Vec<String>, Vec<Placed>) {
    let (explainer, query_words) = (Explainer::new(model), words_of(model, query));
    let is_known = model.dictionary().knows_a_word(query);
    let placed = |Source { rank, title, shares }: Source| {
        let score = |ranker: &dyn Ranker, query: &str| ranker.score(query, &[&title.title])[0];
        let bm25 = |query: &str| rankers.bm25.map_or(0.0, |bm25| score(bm25, query));
        Placed {
            rank,
            bm25: bm25(query),
            trigrams: rankers.trigrams.map(|trigrams| score(trigrams, query)),
            teacher: rankers.teacher.map(|teacher| score(teacher, query)),
            // BM25 is a sum over the query's words.
            lexical: query_words.iter().map(|word| bm25(&word.text)).collect(),
            found: is_known.then(|| explainer.explain(query, &title.title)),
            title,
            shares,
        }
    };
    let words = query_words.iter().map(|word| word.shown().into_owned()).collect();
    (words, sources.into_iter().map(placed).collect())
}

/// The words of a query as the model reads them, and after them those that it leaves out.
pub(super) fn words_of(model: &Model, query: &str) -> Vec<Word> {
    let view = Explainer::new(model).text(Side::Query, query);
    let left_out = words(query).into_iter().skip(words(query).len() - view.cut);
    let left_out = left_out.map(|text| Word { text, known: false, parts: 1 });
    view.words.into_iter().chain(left_out).collect()
}

pub(super) fn is_wanted(args: &Args, rank: usize, title: &Title) -> bool {
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

fn titles_of(args: &Args) -> Result<Vec<Title>> {
    args.title_columns.titles(args.titles.as_ref().expect("required without an index"), TITLE)
}

/// The titles of a table, encoded by the model, with their cosines.
fn of_titles(args: &Args, model: &Model, query: &str) -> Result<(Vec<Title>, Vec<f64>)> {
    let titles = titles_of(args)?;
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let scores = if model.dictionary().knows_a_word(query) {
        Explainer::new(model).scores(query, &texts)
    } else {
        vec![0.0; titles.len()]
    };
    Ok((titles, scores.into_iter().map(f64::from).collect()))
}

/// What one point of a score adds to the sum, if it is the same for all titles of a list.
pub(super) fn scale(shares: &[Share], method: FusionMethod) -> Option<f64> {
    // A reciprocal rank is not in proportion to the score.
    if matches!(method, FusionMethod::ReciprocalRank { .. }) {
        return None;
    }
    let by_score = |a: &&Share, b: &&Share| a.score.total_cmp(&b.score);
    let (least, most) = (shares.iter().min_by(by_score)?, shares.iter().max_by(by_score)?);
    Some(match most.score > least.score {
        true => (most.adds - least.adds) / (most.score - least.score),
        // A list of one score; titles that were not found have 0.
        false if most.score != 0.0 => most.adds / most.score,
        false => 0.0,
    })
}
