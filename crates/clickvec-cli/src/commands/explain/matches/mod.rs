//! `clickvec explain match`: why a title matches a query.

mod page;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Evidence, Explainer, Keywords, Match, SharedUnit, TextView, Word, WordPair, WordShares};
use clickvec::internals::tables::{Line, TableReader};
use clickvec::tables::{Skipped, TITLE};
use serde::Serialize;

use super::json::JsonText;
use super::{Form, KeywordFlags, Models, NamedModel};
use crate::answer::Answer;
use crate::{input, output};

/// Show why a title matches a query: what each word and each cell adds to the score, and the keywords of both texts.
///
/// Several models are shown side by side, next to a human grade if there is one.
///
/// The score is the cosine of the two vectors, and the shares of the cells sum to it. A word has two shares. `along` is
/// how far the vector moves towards the other text while the word is read: these sum to the score and depend on the
/// order of the words. `without` is how much the score falls when the word is removed: these do not sum to the score.
#[derive(clap::Args)]
#[command(override_usage = "clickvec explain match [OPTIONS] MODEL QUERY TITLE\n       \
    clickvec explain match [OPTIONS] MODEL --judged FILE\n       \
    clickvec explain match [OPTIONS] MODEL --pairs FILE")]
pub(super) struct Args {
    #[command(flatten)]
    models: Models,

    /// The query.
    #[arg(value_name = "QUERY", requires = "title")]
    query: Option<String>,

    /// The title.
    #[arg(value_name = "TITLE")]
    title: Option<String>,

    /// Explain the pairs of a table of judged titles, with the columns query, title and grade.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "pairs"])]
    judged: Option<PathBuf>,

    /// Explain the pairs of a table with the columns query and title.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pairs: Option<PathBuf>,

    /// A human grade of the pair, 0 to 10, to show next to the scores; with `--judged` it comes from the file.
    #[arg(long, value_name = "GRADE", requires = "query", value_parser = clap::value_parser!(u8).range(0..=10))]
    grade: Option<u8>,

    /// How many pairs of a file to explain; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "query")]
    limit: usize,

    /// How many cells to show, those with the largest shares.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    /// With `--json`: also print the states at every word.
    #[arg(long, requires = "json")]
    states: bool,

    #[command(flatten)]
    keywords: KeywordFlags,

    #[command(flatten)]
    form: Form,
}

/// A query and a title, with a human grade if there is one.
struct Pair {
    query: String,
    title: String,
    grade: Option<u8>,
}

/// A pair as one model sees it.
struct Seen {
    found: Match,
    keywords: [Option<Keywords>; 2],
}

#[derive(Serialize)]
struct JsonPair<'a> {
    query: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<u8>,
    threshold: f32,
    models: Vec<JsonMatch<'a>>,
}

/// A match as one model sees it.
#[derive(Serialize)]
struct JsonMatch<'a> {
    model: &'a str,
    encoder: String,
    score: f32,
    query: JsonText<'a>,
    title: JsonText<'a>,
    /// What each dimension of the vectors adds to the score.
    units: &'a [f64],
    shared: &'a [SharedUnit],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    maximum: &'a [SharedUnit],
    /// The pairs of words that make the texts match; their shares sum to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<WordPair>,
}

/// Explains the pairs.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.judged).chain(&args.pairs))?;
    let models = args.models.load()?;
    let pairs = args.pairs()?;
    let options = args.keywords.options();
    let look = |model: &NamedModel, pair: &Pair| -> Seen {
        let found = Explainer::new(&model.model).explain(&pair.query, &pair.title);
        let keywords = [found.query.keywords(&options), found.title.keywords(&options)];
        Seen { found, keywords }
    };
    let mut out = output::stdout();
    let mut explained = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let seen: Vec<Seen> = models.iter().map(|model| look(model, pair)).collect();
        if args.form.json {
            let line = JsonPair {
                query: &pair.query,
                title: &pair.title,
                grade: pair.grade,
                threshold: options.threshold,
                models: models.iter().zip(&seen).map(|(model, seen)| args.json(model, seen)).collect(),
            };
            output::json_line(&mut out, &line)?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            output::written(write!(out, "{gap}{}", text::pair(pair, &models, &seen, args.top)))?;
        }
        if args.form.html.is_some() {
            explained.push(seen);
        }
    }
    if !args.form.json {
        output::written(write!(out, "\n{}", text::legend(&models, &options)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page(&pairs, &models, &explained, args.top, &options))?;
    Ok(Answer::Done)
}

impl Args {
    fn json<'a>(&self, model: &'a NamedModel, seen: &'a Seen) -> JsonMatch<'a> {
        let [query, title] = seen.sides().map(|half| {
            let text = JsonText::new(half.view, half.keywords, Some(half.shares));
            if self.states { text.with_states(half.view) } else { text }
        });
        let most = |units: &'a [SharedUnit]| &units[..self.top.min(units.len())];
        JsonMatch {
            model: &model.name,
            encoder: model.model.encoder_config().to_string(),
            score: seen.found.score,
            query,
            title,
            units: &seen.found.units,
            shared: most(&seen.found.shared),
            maximum: most(&seen.found.maximum),
            pairs: seen.found.word_pairs(),
        }
    }

    /// The pairs to explain.
    fn pairs(&self) -> Result<Vec<Pair>> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let pairs: Vec<Pair> = match (&self.query, &self.title, &self.judged, &self.pairs) {
            (Some(query), Some(title), None, None) => {
                vec![Pair { query: query.clone(), title: title.clone(), grade: self.grade }]
            }
            (None, None, Some(judged), None) => {
                let judgments = input::judgments(judged, TITLE)?;
                let pairs = judgments.queries.iter().flat_map(|query| {
                    let pair = |title: &clickvec_eval::JudgedTitle| Pair {
                        query: query.text.clone(),
                        title: title.text.clone(),
                        grade: Some(title.grade),
                    };
                    query.titles.iter().map(pair).collect::<Vec<_>>()
                });
                pairs.take(limit).collect()
            }
            (None, None, None, Some(path)) => {
                let mut rows = TableReader::open(path)?;
                let (query, title) = (rows.require("query")?, rows.require(TITLE)?);
                let (mut pairs, mut skipped) = (Vec::new(), Skipped::default());
                while pairs.len() < limit
                    && let Some(line) = rows.next()?
                {
                    match line {
                        Line::Whole(row) => pairs.push(Pair {
                            query: row.get(query).unwrap_or_default().to_owned(),
                            title: row.get(title).unwrap_or_default().to_owned(),
                            grade: None,
                        }),
                        Line::Broken { line, fault } => skipped.add(line, fault),
                    }
                }
                input::note_skipped(path, &skipped);
                ensure!(!pairs.is_empty(), "{}: expected pairs below the header, found none", path.display());
                pairs
            }
            _ => bail!(
                "expected a query and a title, or `--judged FILE`, or `--pairs FILE`, found none of them; see \
                 `clickvec explain match --help`"
            ),
        };
        Ok(pairs)
    }
}

impl Seen {
    /// The units with a positive product, largest first; for a CLSM, its max-pooling units.
    fn shared(&self, top: usize) -> Vec<&SharedUnit> {
        let units = if self.found.maximum.is_empty() { &self.found.shared } else { &self.found.maximum };
        units.iter().filter(|unit| unit.product > 0.0).take(top).collect()
    }

    /// Whether [`Seen::shared`] gives max-pooling units.
    fn is_maximum(&self) -> bool {
        !self.found.maximum.is_empty()
    }

    /// The query and the title, each with its shares and keywords.
    fn sides(&self) -> [Half<'_>; 2] {
        let [query, title] = &self.keywords;
        [
            Half { name: "query", view: &self.found.query, shares: &self.found.query_words, keywords: query.as_ref() },
            Half { name: "title", view: &self.found.title, shares: &self.found.title_words, keywords: title.as_ref() },
        ]
    }
}

/// One text of a pair as a model sees it.
#[derive(Clone, Copy)]
struct Half<'a> {
    name: &'static str,
    view: &'a TextView,
    shares: &'a WordShares,
    /// `None` for a model that reads bags of words.
    keywords: Option<&'a Keywords>,
}

impl Half<'_> {
    fn is_keyword(&self, place: usize) -> bool {
        self.keywords.is_some_and(|keywords| keywords.is_keyword[place])
    }

    fn has_gates(&self) -> bool {
        self.keywords.is_some_and(|keywords| !keywords.input_gate.is_empty())
    }

    /// The count of a word: `7`, or `7/-` for a bidirectional model; empty for bags of words.
    fn cells(&self, place: usize) -> String {
        match self.keywords.map(|keywords| &keywords.evidence) {
            Some(Evidence::Changes(directions)) => {
                let count = |counts: &clickvec::explain::DirectionCounts| {
                    counts.assigned[place].as_ref().map_or("-".to_owned(), |cells| cells.len().to_string())
                };
                directions.iter().map(count).collect::<Vec<_>>().join("/")
            }
            Some(Evidence::Winners(winners)) => {
                winners.iter().filter(|winner| winner.word == place).count().to_string()
            }
            None => String::new(),
        }
    }

    /// What [`Half::cells`] counts.
    fn cells_title(&self, model: &NamedModel) -> String {
        match self.keywords.map(|keywords| &keywords.evidence) {
            Some(Evidence::Winners(_)) => "units won".to_owned(),
            _ => format!("{}s", model.state()),
        }
    }

    fn gate(&self, place: usize) -> String {
        let gate = self.keywords.and_then(|keywords| keywords.input_gate.get(place));
        gate.map_or(String::new(), |gate| format!("{gate:.2}"))
    }
}

/// Why the shares mean nothing, if that is so.
fn nothing(found: &Match) -> Option<String> {
    [("query", &found.query), ("title", &found.title)].into_iter().find_map(|(side, view)| {
        if view.words.is_empty() {
            Some(format!("the {side} has no words, so its vector and the score are zero"))
        } else if view.words.iter().all(|word| !word.known) {
            Some(format!("the model knows none of the {side}'s words, so the score means nothing"))
        } else {
            None
        }
    })
}

/// A note for each text that is longer than the model reads.
fn beyond(found: &Match) -> impl Iterator<Item = String> {
    [("query", &found.query), ("title", &found.title)].into_iter().filter_map(|(side, view)| {
        let tail = view.words.last().filter(|word| word.parts > 1);
        match (tail, view.cut) {
            (Some(tail), _) => {
                let parts = output::count(tail.parts as u64);
                Some(format!("the model reads the last {parts} words of the {side} as one word"))
            }
            (None, 0) => None,
            (None, cut) => {
                let read = output::count(view.words.len() as u64);
                let cut = output::count(cut as u64);
                Some(format!("the model reads only the first {read} words of the {side}; it ignores {cut} more"))
            }
        }
    })
}

/// The pairs of words that add most to the score, at most so many, largest share first: `chicago 0.42`, `hotels ↔ rooms
/// 0.12`. Shares of the same two words at different positions are added up.
pub(in super::super) fn pairs_of_words(found: &Match, most: usize) -> Vec<String> {
    let mut shares: Vec<(&Word, &Word, f64)> = Vec::new();
    for pair in found.word_pairs() {
        let (asked, said) = (&found.query.words[pair.query_word], &found.title.words[pair.title_word]);
        // What the model does not know is no reason.
        if !(asked.known && said.known) {
            continue;
        }
        match shares.iter_mut().find(|(query, title, _)| *query == asked && *title == said) {
            Some((_, _, share)) => *share += pair.share,
            None => shares.push((asked, said, pair.share)),
        }
    }
    shares.sort_by(|a, b| b.2.total_cmp(&a.2));
    let shown = shares.into_iter().filter(|(_, _, share)| *share >= 0.005).take(most);
    let named = shown.map(|(query, title, share)| {
        if query == title {
            format!("{} {share:.2}", query.shown())
        } else {
            format!("{} ↔ {} {share:.2}", query.shown(), title.shown())
        }
    });
    named.collect()
}

/// The words of a text as several models read it, each with its place in what each model read. Models may read different
/// numbers of words, and some of them a merged tail.
fn rows<'a>(halves: &[Half<'a>]) -> Vec<(&'a Word, Vec<Option<usize>>)> {
    let alone = |half: &Half<'_>| half.view.words.iter().take_while(|word| word.parts == 1).count();
    let Some(longest) = halves.iter().max_by_key(|half| alone(half)) else { return Vec::new() };
    let place_in = |place: usize| halves.iter().map(|half| (place < alone(half)).then_some(place)).collect();
    let mut rows: Vec<(&Word, Vec<Option<usize>>)> =
        longest.view.words[..alone(longest)].iter().enumerate().map(|(place, word)| (word, place_in(place))).collect();
    for half in halves {
        let tails = half.view.words.iter().filter(|word| word.parts > 1);
        for tail in tails {
            if rows.iter().all(|(word, _)| *word != tail) {
                let places = halves.iter().map(|half| half.view.words.iter().position(|word| word == tail)).collect();
                rows.push((tail, places));
            }
        }
    }
    rows
}

fn word_at(view: &TextView, place: Option<usize>) -> String {
    place.and_then(|place| view.words.get(place)).map_or(String::new(), |word| word.shown().into_owned())
}
