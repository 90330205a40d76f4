//! What a search of an index says of its titles, and what each part and each word adds.

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Explainer, Match, Word, WordShares};
use clickvec::internals::text::words;
use clickvec::model::{Model, Side};
use clickvec::tables::Title;
use clickvec_eval::ranker::FusionMethod;
use clickvec_index::{ByPart, Hit, Index, Mode, Part, Request, Share};

use super::Args;
use crate::commands::explain::models::name_of;
use crate::output;

/// Returns whether each word of the query has a share of a part's score.
fn has_words(part: Part) -> bool {
    matches!(part, Part::Words | Part::Vectors)
}

/// Returns what the score of a part is.
pub(super) fn score_of(part: Part) -> String {
    match part {
        Part::Words => "BM25".to_owned(),
        other => format!("the cosine of {other}"),
    }
}

/// A part of the sum.
pub(super) struct Summand {
    pub(super) part: Part,
    pub(super) weight: f64,
    /// What one point of the score adds to the sum, for titles that this part found; `None` if no such number exists.
    pub(super) scale: Option<f64>,
}

/// A title with its rank and what its sum is made of.
pub(super) struct Placed {
    /// Its rank by the sum, from 1.
    pub(super) rank: usize,
    pub(super) title: Title,
    /// Its place in the list of each part that found it.
    pub(super) shares: ByPart<Share>,
    /// Its score by each part of the index.
    pub(super) scores: ByPart<f32>,
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
    pub(super) parts: Vec<Summand>,
    pub(super) method: FusionMethod,
    /// The number of titles that each part finds at most.
    pub(super) depth: usize,
}

impl Placed {
    /// Returns what a part adds to the sum; a part that did not find the title adds nothing.
    pub(super) fn adds(&self, part: Part) -> f64 {
        self.shares.get(part).and_then(|share| share.adds).map_or(0.0, f64::from)
    }

    pub(super) fn sum(&self) -> f64 {
        Part::ALL.into_iter().map(|part| self.adds(part)).sum()
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
}

/// Why a title ranks above the next one: the differences of their sums' parts.
pub(super) struct Gap<'a> {
    pub(super) above: &'a Placed,
    pub(super) below: &'a Placed,
    pub(super) parts: Vec<GapOfPart>,
}

/// The difference of a part.
pub(super) struct GapOfPart {
    pub(super) part: Part,
    pub(super) adds: f64,
    /// What each word of the query adds; empty if words have no share of their own in it.
    pub(super) words: Vec<f64>,
}

impl Ranked {
    /// Returns the titles that the arguments name, as a search of the index ranks them; `None` if it finds nothing.
    pub(super) fn by_search(args: &Args, index: &Index) -> Result<Option<Ranked>> {
        let (query, model, facts) = (args.query.as_str(), index.model(), index.facts());
        let depth = facts.fusion.depth.max(args.top);
        // All that any part found.
        let request = Request::new(query, Mode::Fused).with_k(depth.saturating_mul(4)).with_depth(depth);
        let hits = index.search(&request)?.hits;
        if hits.is_empty() {
            return Ok(None);
        }
        let method = facts.fusion.method;
        let summand = |part: Part| {
            let found: Vec<Share> = hits.iter().filter_map(|hit| hit.parts.get(part).copied()).collect();
            Summand { part, weight: index.fusion().weight(part), scale: scale(&found, method) }
        };
        let parts = index.parts(Mode::Fused)?.into_iter().map(summand).collect();
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
                shares: hit.parts,
                scores: explanation.scores,
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
            parts,
            method,
            depth,
        }))
    }

    pub(super) fn gaps(&self) -> Vec<Gap<'_>> {
        self.titles.windows(2).map(|pair| self.gap(&pair[0], &pair[1])).collect()
    }

    pub(super) fn gap<'a>(&self, above: &'a Placed, below: &'a Placed) -> Gap<'a> {
        let gap = |&Summand { part, scale, .. }: &Summand| {
            let is_found = above.shares.get(part).is_some() && below.shares.get(part).is_some();
            let of_word = |word: usize, scale: f64| match part {
                Part::Words => (above.lexical[word] - below.lexical[word]) * scale,
                _ => (above.along(word) - below.along(word)) * scale,
            };
            let scale = scale.filter(|_| is_found && has_words(part));
            let words = scale.map(|scale| (0..self.words.len()).map(|word| of_word(word, scale)).collect());
            GapOfPart { part, adds: above.adds(part) - below.adds(part), words: words.unwrap_or_default() }
        };
        Gap { above, below, parts: self.parts.iter().map(gap).collect() }
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
        let part = |&Summand { part, weight, .. }: &Summand| {
            let score = score_of(part);
            let normalised = match self.method {
                FusionMethod::Linear => score,
                FusionMethod::ZScore => format!("the z-score of {score}"),
                FusionMethod::MinMax => format!("{score} scaled to 0 … 1"),
                FusionMethod::ReciprocalRank { .. } => format!("the reciprocal rank by {score}"),
            };
            match weight {
                0.5 => format!("{part}: half {normalised}"),
                weight if self.method == FusionMethod::Linear => {
                    format!("{part}: {weight:.4} times {normalised}")
                }
                weight => format!("{part}: {weight:.2} times {normalised}"),
            }
        };
        let names: Vec<&str> = self.parts.iter().map(|of| of.part.name()).collect();
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
    let adds = |share: &Share| share.adds.map_or(0.0, f64::from);
    let (low, high) = (f64::from(least.score), f64::from(most.score));
    Some(if high > low {
        (adds(most) - adds(least)) / (high - low)
    } else if high != 0.0 {
        // A list of one score; titles that were not found have 0.
        adds(most) / high
    } else {
        0.0
    })
}
