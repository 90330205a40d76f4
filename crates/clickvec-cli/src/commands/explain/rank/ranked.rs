//! What a search of an index says of its titles, and what each part and each word adds.

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Explainer, Match, Word, WordShares};
use clickvec::internals::text::words;
use clickvec::model::{Model, Side};
use clickvec::tables::Title;
use clickvec_eval::ranker::FusionMethod;
use clickvec_index::{Hit, Index, Mode, Request};

use super::Args;
use crate::commands::explain::models::name_of;
use crate::output;

/// What ranks titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RankedBy {
    Words,
    Vectors,
    Trigrams,
    Teacher,
}

impl RankedBy {
    pub(super) fn name(self) -> &'static str {
        match self {
            RankedBy::Words => "words",
            RankedBy::Vectors => "vectors",
            RankedBy::Trigrams => "trigrams",
            RankedBy::Teacher => "teacher",
        }
    }

    /// Whether each word of the query has a share of the score.
    pub(super) fn has_words(self) -> bool {
        matches!(self, RankedBy::Words | RankedBy::Vectors)
    }

    pub(super) fn score(self) -> &'static str {
        match self {
            RankedBy::Words => "BM25",
            RankedBy::Vectors => "the cosine",
            RankedBy::Trigrams => "the cosine of the trigrams",
            RankedBy::Teacher => "the cosine of the teacher's vectors",
        }
    }
}

/// A part of the sum.
pub(super) struct Part {
    pub(super) kind: RankedBy,
    pub(super) weight: f64,
    /// What one point of the score adds to the sum, for titles that this part found; `None` if no such number exists.
    pub(super) scale: Option<f64>,
}

/// What a part says of a title that it found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    pub(super) score: f64,
    /// What it adds to the sum.
    pub(super) adds: f64,
}

/// A title with its rank and what its sum is made of.
pub(super) struct Placed {
    /// Its rank by the sum, from 1.
    pub(super) rank: usize,
    pub(super) title: Title,
    /// What each part adds to the sum; `None` if it did not find the title, which adds nothing.
    pub(super) shares: Vec<Option<Share>>,
    pub(super) bm25: f64,
    /// The cosine of the trigrams, if they are a part.
    pub(super) trigrams: Option<f64>,
    /// The cosine of the teacher's vectors, if they are a part.
    pub(super) teacher: Option<f64>,
    /// What each word of the query adds to BM25.
    pub(super) lexical: Vec<f64>,
    /// `None` if the model knows no word of the query: then its vector means nothing, and no search uses it.
    pub(super) found: Option<Match>,
}

/// The titles that are shown, best first.
pub(super) struct Ranked {
    pub(super) query: String,
    pub(super) words: Vec<String>,
    pub(super) model: String,
    pub(super) titles: Vec<Placed>,
    /// The number of all titles.
    pub(super) of: usize,
    pub(super) parts: Vec<Part>,
    pub(super) method: FusionMethod,
    /// The number of titles that each part finds at most.
    pub(super) depth: usize,
}

impl Placed {
    pub(super) fn adds(&self, part: usize) -> f64 {
        self.shares[part].map_or(0.0, |share| share.adds)
    }

    pub(super) fn sum(&self) -> f64 {
        (0..self.shares.len()).map(|part| self.adds(part)).sum()
    }

    /// What each word of the query adds to the cosine; a word that the model does not read adds nothing.
    pub(super) fn along(&self, place: usize) -> f64 {
        self.share(place, |shares| &shares.along)
    }

    pub(super) fn without(&self, place: usize) -> f64 {
        self.share(place, |shares| &shares.without)
    }

    pub(super) fn share(&self, place: usize, of: impl Fn(&WordShares) -> &Vec<f64>) -> f64 {
        let shares = self.found.as_ref().map(|found| of(&found.query_words));
        shares.and_then(|shares| shares.get(place)).copied().unwrap_or(0.0)
    }

    pub(super) fn cosine(&self) -> f32 {
        self.found.as_ref().map_or(0.0, |found| found.score)
    }
}

/// Why a title ranks above the next one: the differences of their sums' parts.
pub(super) struct Gap<'a> {
    pub(super) above: &'a Placed,
    pub(super) below: &'a Placed,
    pub(super) parts: Vec<GapOfPart>,
}

/// The difference of a part.
pub(super) struct GapOfPart {
    pub(super) kind: RankedBy,
    pub(super) adds: f64,
    /// What each word of the query adds; empty if words have no share of their own in it.
    pub(super) words: Vec<f64>,
}

impl Ranked {
    /// Returns the titles that the arguments name, as a search of the index ranks them; `None` if it finds nothing.
    pub(super) fn by_search(args: &Args, index: &Index) -> Result<Option<Ranked>> {
        let (query, model, facts) = (args.query.as_str(), index.model()?, index.facts());
        let depth = facts.fusion.depth.max(args.top);
        // All that any part found.
        let request = Request::new(query, Mode::Fused).with_k(depth.saturating_mul(4)).with_depth(depth);
        let hits = index.search(&request)?.hits;
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
        let is_wanted =
            |hit: &&Hit| if args.ids.is_empty() { hit.rank <= args.top } else { args.ids.contains(&hit.id) };
        let found: Vec<&Hit> = hits.iter().filter(is_wanted).collect();
        for id in &args.ids {
            ensure!(
                index.get(id)?.is_some(),
                "expected ids of titles, found no title with the id `{}`",
                output::printable(id)
            );
        }
        if let Some(id) = args.ids.iter().find(|id| found.iter().all(|hit| hit.id != **id)) {
            bail!(
                "expected ids of titles that the search finds for this query, found `{}`, which is not among the {depth} best of any of its parts",
                output::printable(id)
            );
        }
        let is_known = model.dictionary().knows_a_word(query);
        let words = words_of(model, query);
        let mut titles = Vec::new();
        for hit in found {
            let explanation = index.explain(query, &hit.id)?;
            // Each time that a word is in the query it adds the same.
            let adds = |word: &String| {
                let of = explanation.words.iter().find(|of| of.word == *word);
                of.map_or(0.0, |of| f64::from(of.share) / f64::from(of.in_query.max(1)))
            };
            titles.push(Placed {
                rank: hit.rank,
                title: Title { id: hit.id.clone(), title: hit.title.clone() },
                shares: parts.iter().map(|&(kind, _)| share(hit, kind)).collect(),
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
            model: format!("{} ({})", name_of(&args.index), model.encoder_config()),
            titles,
            of: usize::try_from(facts.titles)?,
            parts: described,
            method,
            depth,
        }))
    }

    pub(super) fn gaps(&self) -> Vec<Gap<'_>> {
        self.titles.windows(2).map(|pair| self.gap(&pair[0], &pair[1])).collect()
    }

    pub(super) fn gap<'a>(&self, above: &'a Placed, below: &'a Placed) -> Gap<'a> {
        let part = |(place, part): (usize, &Part)| {
            let is_found = above.shares[place].is_some() && below.shares[place].is_some();
            let of_word = |word: usize, scale: f64| match part.kind {
                RankedBy::Words => (above.lexical[word] - below.lexical[word]) * scale,
                _ => (above.along(word) - below.along(word)) * scale,
            };
            let scale = part.scale.filter(|_| is_found && part.kind.has_words());
            let words = scale.map(|scale| (0..self.words.len()).map(|word| of_word(word, scale)).collect());
            GapOfPart { kind: part.kind, adds: above.adds(place) - below.adds(place), words: words.unwrap_or_default() }
        };
        Gap { above, below, parts: self.parts.iter().enumerate().map(part).collect() }
    }

    /// A part of the sum; cosines differ little, and reciprocal ranks are small.
    pub(super) fn signed(&self, part: f64) -> String {
        format!("{part:+.*}", self.digits())
    }

    /// The decimals that sums and their parts are shown with.
    pub(super) fn digits(&self) -> usize {
        match self.method {
            FusionMethod::MinMax | FusionMethod::ZScore => 2,
            FusionMethod::Linear => 4,
            FusionMethod::ReciprocalRank { .. } => 5,
        }
    }

    /// What the sum is, in words.
    pub(super) fn sum_of(&self) -> String {
        let part = |part: &Part| {
            let score = part.kind.score();
            let normalised = match self.method {
                FusionMethod::Linear => score.to_owned(),
                FusionMethod::ZScore => format!("the z-score of {score}"),
                FusionMethod::MinMax => format!("{score} scaled to 0 … 1"),
                FusionMethod::ReciprocalRank { .. } => format!("the reciprocal rank by {score}"),
            };
            match part.weight {
                0.5 => format!("{}: half {normalised}", part.kind.name()),
                weight if self.method == FusionMethod::Linear => {
                    format!("{}: {weight:.4} times {normalised}", part.kind.name())
                }
                weight => format!("{}: {weight:.2} times {normalised}", part.kind.name()),
            }
        };
        let names: Vec<&str> = self.parts.iter().map(|part| part.kind.name()).collect();
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        let mut text = format!("sum: {}; {}", names.join(" + "), parts.join("; "));
        match self.method {
            FusionMethod::ZScore => {
                text +=
                    "\nz-score: the score minus that of titles that were not found, divided by the standard deviation";
            }
            FusionMethod::MinMax => {}
            FusionMethod::Linear => text += "\nscores count from the lowest that each part found",
            FusionMethod::ReciprocalRank { k } => {
                text += &format!("\nreciprocal rank: 1 / ({k} + rank); words have no share of it");
            }
        }
        text += &format!("\neach part adds only to the {} that it finds", output::counted(self.depth as u64, "title"));
        text
    }
}

impl Gap<'_> {
    pub(super) fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.adds).sum()
    }
}

/// The words of a query as the model reads them, and after them those that it leaves out.
fn words_of(model: &Model, query: &str) -> Vec<Word> {
    let view = Explainer::new(model).text(Side::Query, query);
    let left_out = words(query).into_iter().skip(words(query).len() - view.cut);
    let left_out = left_out.map(|text| Word { text, known: false, parts: 1 });
    view.words.into_iter().chain(left_out).collect()
}

/// What one point of a score adds to the sum, if it is the same for all titles of a list.
fn scale(shares: &[Share], method: FusionMethod) -> Option<f64> {
    // A reciprocal rank is not in proportion to the score.
    if matches!(method, FusionMethod::ReciprocalRank { .. }) {
        return None;
    }
    let by_score = |a: &&Share, b: &&Share| a.score.total_cmp(&b.score);
    let (least, most) = (shares.iter().min_by(by_score)?, shares.iter().max_by(by_score)?);
    Some(if most.score > least.score {
        (most.adds - least.adds) / (most.score - least.score)
    } else if most.score != 0.0 {
        // A list of one score; titles that were not found have 0.
        most.adds / most.score
    } else {
        0.0
    })
}
