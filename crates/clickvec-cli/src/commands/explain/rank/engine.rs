//! The ranks of titles by the fusion of an index, as its searches have them.

use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::tables::Title;
use clickvec_index::{Engine, Hit, Mode, Request};

use super::fusion::check_ids;
use super::place::{Source, scale, words_of};
use super::{Args, Part, Placed, Ranked, RankedBy, Share};
use crate::commands::explain::models::name_of;
use crate::output;

/// The titles that are asked for, best first; `None` if the index has no fitted fusion.
pub(super) fn place(args: &Args, index: &Path) -> Result<Option<Option<Ranked>>> {
    if !crate::fused::keeps_fusion(index)? {
        return Ok(None);
    }
    rank(args, &Engine::open(index)?, index).map(Some)
}

fn rank(args: &Args, engine: &Engine, index: &Path) -> Result<Option<Ranked>> {
    let (query, model, facts) = (args.query.as_str(), engine.model()?, engine.facts());
    let depth = facts.fusion.depth.max(args.top);
    // All that any part found.
    let request = Request::new(query, Mode::Both).with_k(depth.saturating_mul(4)).with_depth(depth);
    let hits = engine.search(&request)?.hits;
    if hits.is_empty() {
        return Ok(None);
    }
    let mut parts = vec![(RankedBy::Words, facts.fusion.words), (RankedBy::Vectors, facts.fusion.vectors)];
    parts.extend(facts.fusion.trigrams.map(|weight| (RankedBy::Trigrams, weight)));
    parts.extend(facts.fusion.teacher.map(|weight| (RankedBy::Teacher, weight)));
    // What has no weight takes no part.
    parts.retain(|&(_, weight)| weight > 0.0);
    let share = |hit: &Hit, kind: RankedBy| {
        let found = match kind {
            RankedBy::Words => hit.words,
            RankedBy::Vectors => hit.vectors,
            RankedBy::Trigrams => hit.trigrams,
            RankedBy::Teacher => hit.teacher,
        };
        found.map(|share| Share { score: f64::from(share.score), adds: share.adds.map_or(0.0, f64::from) })
    };
    let method = facts.fusion.method;
    let part = |&(kind, weight): &(RankedBy, f64)| {
        let found: Vec<Share> = hits.iter().filter_map(|hit| share(hit, kind)).collect();
        Part { kind, weight, scale: scale(&found, method) }
    };
    let described = parts.iter().map(part).collect();
    let source = |hit: &Hit| Source {
        rank: hit.rank,
        title: Title { id: hit.id.clone(), title: hit.title.clone() },
        shares: parts.iter().map(|&(kind, _)| share(hit, kind)).collect(),
    };
    let found = hits.iter().map(source);
    let found: Vec<Source> = found.filter(|of| super::place::is_wanted(args, of.rank, &of.title)).collect();
    for id in &args.ids {
        ensure!(
            engine.get(id)?.is_some(),
            "expected ids of titles, found no title with the id `{}`",
            output::printable(id)
        );
    }
    check_ids(args, &found, depth)?;
    let is_known = model.dictionary().knows_a_word(query);
    let words = words_of(model, query);
    let mut titles = Vec::new();
    for Source { rank, title, shares } in found {
        let explanation = engine.explain(query, &title.id)?;
        // Each time that a word is in the query it adds the same.
        let adds = |word: &String| {
            let of = explanation.words.iter().find(|of| of.word == *word);
            of.map_or(0.0, |of| f64::from(of.share) / f64::from(of.in_query.max(1)))
        };
        titles.push(Placed {
            rank,
            title,
            shares,
            bm25: f64::from(explanation.words_score),
            trigrams: explanation.trigrams.map(f64::from),
            teacher: explanation.teacher.map(f64::from),
            lexical: words.iter().map(|word| adds(&word.text)).collect(),
            found: is_known.then_some(explanation.vectors),
        });
    }
    Ok(Some(Ranked {
        query: query.to_owned(),
        words: words.iter().map(|word| word.shown().into_owned()).collect(),
        model: format!("{} ({})", name_of(index), model.encoder_config()),
        titles,
        of: usize::try_from(facts.titles)?,
        parts: described,
        method,
        depth: Some(depth),
    }))
}
