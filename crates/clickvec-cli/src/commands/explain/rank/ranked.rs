//! What a search of an index says of its titles, and what each part and each word adds.

use std::borrow::Cow;

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Explainer, Word};
use clickvec::model::{Model, Side};
use clickvec_index::{ByPart, Explanation, FusionMethod, Hit, Index, Mode, Part, Request, Share, TitleMatch, WordGap};
use serde::Serialize;

use super::Args;
use crate::commands::explain::models::name_of;
use crate::console;

/// The number of titles that each part finds where some are named.
const IDS_DEPTH: usize = 1000;

/// Returns what the score of a part is.
pub(super) fn score_name(part: Part) -> String {
    match part {
        Part::Words => "BM25".to_owned(),
        other => format!("the cosine of {other}"),
    }
}

/// A part of the sum.
pub(super) struct Summand {
    pub(super) part: Part,
    weight: f64,
    /// What one point of the score adds to the sum, for titles that this part found; `None` if no such number exists.
    scale: Option<f64>,
}

/// A title with its rank and what its sum is made of, as a line of JSON.
#[derive(Serialize)]
pub(super) struct RankedTitle {
    /// Its rank by the sum, from 1.
    pub(super) rank: usize,
    id: String,
    pub(super) title: String,
    pub(super) sum: f64,
    /// What each part adds; `None` if the part did not find the title. Other parts take no part in the sum.
    adds: ByPart<Option<f64>>,
    /// What re-ranking adds; null if the title was not re-ranked.
    title_match: Option<TitleMatch>,
    /// Its score by each part of the index.
    pub(super) scores: ByPart<f32>,
    pub(super) query: Vec<QueryWord>,
    #[serde(skip)]
    explanation: Explanation,
}

/// A word of the query, and what it adds to the scores of a title.
#[derive(Serialize)]
pub(super) struct QueryWord {
    pub(super) word: String,
    /// What it adds to BM25.
    pub(super) bm25: f64,
    /// See [`WordShares`](clickvec::explain::WordShares). A word that the model does not read adds nothing.
    pub(super) along: f64,
    without: f64,
}

/// The titles that are shown, best first.
pub(super) struct Ranking {
    pub(super) query: String,
    pub(super) model: String,
    /// Not empty.
    pub(super) titles: Vec<RankedTitle>,
    /// The number of titles in the index.
    pub(super) index_size: u64,
    pub(super) summands: Vec<Summand>,
    method: FusionMethod,
    /// The number of titles that each part finds at most.
    depth: usize,
}

/// The difference between two titles in a part of the sum.
pub(super) struct PartGap {
    pub(super) part: Part,
    pub(super) adds: f64,
    /// What each distinct word of the query adds; empty if words have no share of their own in it.
    pub(super) words: Vec<(String, f64)>,
}

impl RankedTitle {
    pub(super) fn is_found_by(&self, part: Part) -> bool {
        self.adds.get(part).is_some_and(Option::is_some)
    }

    /// Returns a word of the query for a reader.
    fn shown<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        let read = self.explanation.vectors.query.words.iter().find(|read| read.text == word);
        read.map_or(Cow::Borrowed(word), Word::shown)
    }

    /// Returns what re-ranking adds to the sum.
    pub(super) fn looked(&self) -> f64 {
        self.title_match.map_or(0.0, |look| f64::from(look.sum()))
    }

    /// Returns what a part adds to the sum; a part that did not find the title adds nothing.
    pub(super) fn added(&self, part: Part) -> f64 {
        self.adds.get(part).copied().flatten().unwrap_or(0.0)
    }
}

impl Ranking {
    /// Returns the titles that the arguments name, as a search of the index ranks them; `None` if it finds nothing.
    pub(super) fn search(args: &Args, index: &Index) -> Result<Option<Ranking>> {
        let (query, model, facts) = (args.query.as_str(), index.model(), index.facts());
        // A title that is asked about may be far from the best.
        let least = if args.ids.is_empty() { 0 } else { IDS_DEPTH };
        let depth = facts.fusion.depth.max(args.top).max(least);
        // All that any part found.
        let request = Request::new(query, Mode::Fused).with_k(depth.saturating_mul(4)).with_depth(depth);
        let request = request.with_min_confidence(0.0).as_typed();
        let hits = index.search(&request)?.hits;
        if hits.is_empty() {
            return Ok(None);
        }
        let method = facts.fusion.method;
        let summand = |part: Part| {
            let found: Vec<Share> = hits.iter().filter_map(|hit| hit.parts.get(part).copied()).collect();
            Summand { part, weight: index.fusion().weight(part), scale: scale(&found, method) }
        };
        let summands: Vec<Summand> = index.parts(Mode::Fused)?.into_iter().map(summand).collect();
        let is_wanted =
            |hit: &&Hit| if args.ids.is_empty() { hit.rank <= args.top } else { args.ids.contains(&hit.id) };
        let found: Vec<&Hit> = hits.iter().filter(is_wanted).collect();
        for id in &args.ids {
            ensure!(
                index.get(id)?.is_some(),
                "expected ids of titles, found no title with the id `{}`",
                console::printable(id)
            );
        }
        if let Some(id) = args.ids.iter().find(|id| found.iter().all(|hit| hit.id != **id)) {
            bail!(
                "expected ids of titles that the search finds for this query, found `{}`, which is not among the {depth} best of any of its parts",
                console::printable(id)
            );
        }
        // If the model knows no word of the query, its vector means nothing, and no search uses it.
        let is_known = model.dictionary().knows_a_word(query);
        let words = words_of(model, query);
        let mut titles = Vec::new();
        for hit in found {
            let explanation = index.explain(query, &hit.id)?;
            let vectors = Some(&explanation.vectors.query_words).filter(|_| is_known);
            let query_word = |(position, word): (usize, &Word)| {
                let share = |shares: &[f64]| shares.get(position).copied().unwrap_or(0.0);
                // Each time that a word is in the query it adds the same.
                let bm25 = explanation.words.iter().find(|share| share.word == word.text);
                QueryWord {
                    word: word.shown().into_owned(),
                    bm25: bm25.map_or(0.0, |share| f64::from(share.share) / f64::from(share.in_query.max(1))),
                    along: vectors.map_or(0.0, |shares| share(&shares.along)),
                    without: vectors.map_or(0.0, |shares| share(&shares.without)),
                }
            };
            let added = |share: &Share| share.adds.map_or(0.0, f64::from);
            let adds = summands.iter().map(|summand| (summand.part, hit.parts.get(summand.part).map(added)));
            titles.push(RankedTitle {
                rank: hit.rank,
                id: hit.id.clone(),
                title: hit.title.clone(),
                sum: f64::from(hit.score),
                adds: adds.collect(),
                title_match: hit.title_match,
                scores: explanation.scores,
                query: words.iter().enumerate().map(query_word).collect(),
                explanation,
            });
        }
        Ok(Some(Ranking {
            query: query.to_owned(),
            model: format!("{} ({})", name_of(&args.index), model.encoder_config()),
            titles,
            index_size: facts.titles,
            summands,
            method,
            depth,
        }))
    }

    /// Returns the words of the query, with what they add to the first title.
    pub(super) fn words(&self) -> &[QueryWord] {
        &self.titles[0].query
    }

    /// Returns the differences between two titles in each part of the sum.
    pub(super) fn gap(&self, above: &RankedTitle, below: &RankedTitle) -> Vec<PartGap> {
        let by_word = above.explanation.gap(&below.explanation).by_word;
        let gap = |&Summand { part, scale, .. }: &Summand| {
            let share: Option<fn(&WordGap<'_>) -> f64> = match part {
                Part::Words => Some(|word| word.words),
                Part::Vectors => Some(|word| word.vectors),
                _ => None,
            };
            let is_found = above.is_found_by(part) && below.is_found_by(part);
            let words = scale.zip(share).filter(|_| is_found).map(|(scale, share)| {
                by_word.iter().map(|word| (above.shown(word.word).into_owned(), share(word) * scale)).collect()
            });
            PartGap { part, adds: above.added(part) - below.added(part), words: words.unwrap_or_default() }
        };
        self.summands.iter().map(gap).collect()
    }

    /// Returns whether titles were re-ranked.
    pub(super) fn has_looks(&self) -> bool {
        self.titles.iter().any(|title| title.title_match.is_some())
    }

    /// Shows a part of the sum; cosines differ little, and reciprocal ranks are small.
    pub(super) fn signed(&self, part: f64) -> String {
        format!("{part:+.*}", self.digits())
    }

    /// Returns the decimals that sums and their parts are shown with.
    pub(super) fn digits(&self) -> usize {
        match self.method {
            FusionMethod::MinMax | FusionMethod::ZScore => 2,
            FusionMethod::Linear => 4,
            FusionMethod::ReciprocalRank { .. } => 5,
        }
    }

    /// Returns what the sum is, in words.
    pub(super) fn meaning(&self) -> String {
        let part = |&Summand { part, weight, .. }: &Summand| {
            let score = score_name(part);
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
        let mut names: Vec<&str> = self.summands.iter().map(|summand| summand.part.name()).collect();
        names.extend(self.has_looks().then_some("title"));
        let parts: Vec<String> = self.summands.iter().map(part).collect();
        let mut text = format!("sum: {}; {}", names.join(" + "), parts.join("; "));
        match self.method {
            FusionMethod::ZScore => {
                text +=
                    "\nz-score: the score minus that of titles that were not found, divided by the standard deviation";
            }
            FusionMethod::MinMax => {}
            FusionMethod::Linear => {
                if self.has_looks() {
                    text += "\ntitle: re-ranking by the query's numbers, neighbouring words and head word in the title";
                }
                return text;
            }
            FusionMethod::ReciprocalRank { k } => {
                text += &format!("\nreciprocal rank: 1 / ({k} + rank), which is not divided among words");
            }
        }
        text += &format!("\neach part adds only to the {} that it finds", console::counted(self.depth as u64, "title"));
        text
    }
}

/// Returns the words of a query as the model reads them, and after them those that it leaves out.
fn words_of(model: &Model, query: &str) -> Vec<Word> {
    let view = Explainer::new(model).text(Side::Query, query);
    let all = model.training().config.text.words(query);
    let left_out = all.iter().skip(all.len() - view.cut).cloned();
    let left_out = left_out.map(|text| Word { text, known: false, parts: 1 });
    view.words.into_iter().chain(left_out).collect()
}

/// Returns what one point of a score adds to the sum, if it is the same for all titles of a list.
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
