//! `clickvec lab errors`: the queries on which a model is worse than BM25, grouped by what makes them hard.

mod page;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::internals::text::Analysis;
use clickvec::tables::TITLE;
use clickvec_eval::ranker::{self, Neural, Ranker};
use clickvec_eval::{
    CorpusFiles, JudgedQuery, Judgments, LEAST_DIFFERING, Metric, differing_pairs, paired_t_test, read_corpus, score,
};
use clickvec_lab::explain::{Difficulty, Outcome, Quantity, outcomes, quantities};
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::{Form, OneModel};
use crate::metrics::probability;
use crate::titles::{TitleColumns, without_field};
use crate::{input, output};

/// The metric by which the model and BM25 are compared.
const METRIC: Metric = Metric::Ndcg(10);

/// Show the queries on which a model is worse than BM25, grouped by what makes them hard, with examples.
///
/// A query may belong to several groups: unseen word (in no title and no click), misspelt (one edit away from a known
/// word), long (six words or more), number or unit (`3/8 in.`, `120v`, `gallon`), sense (a word of the query is both in
/// a good title and in the bad title that the model ranks first), other.
#[derive(clap::Args)]
#[command(mut_arg("title_column", without_field))]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// Judged titles: a table with the columns query, title and grade.
    #[arg(long, value_name = "FILE")]
    judged: PathBuf,

    /// The whole collection: BM25 takes its statistics from it, and its words count as seen [default: the judged titles].
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// The click log; its words count as seen too.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// How many examples to show for each group.
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,

    #[command(flatten)]
    form: Form,
}

/// The least difference that two decimals show.
const VISIBLE: f64 = 0.01;

/// A group of queries.
struct Group<'a> {
    difficulty: Difficulty,
    /// The worst first.
    outcomes: Vec<&'a Outcome>,
}

impl Group<'_> {
    fn behind(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.model < outcome.other).count()
    }

    /// Whether queries are in the group because the model fails, so that a test would say nothing.
    fn is_chosen_by_failure(&self) -> bool {
        self.difficulty == Difficulty::SharedWord
    }

    /// Those on which the model is worse by a difference that can be seen, worst first.
    fn worst(&self, most: usize) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().copied().filter(|outcome| outcome.other - outcome.model >= VISIBLE).take(most)
    }

    /// The p-value of a paired t-test over the group's queries; empty if too few of them differ, or if they are in the group because
    /// the model fails.
    fn p(&self) -> String {
        if self.is_chosen_by_failure() {
            return String::new();
        }
        let values =
            |value: fn(&Outcome) -> f64| self.outcomes.iter().map(|outcome| value(outcome)).collect::<Vec<_>>();
        let (model, other) = (values(|outcome| outcome.model), values(|outcome| outcome.other));
        if differing_pairs(&model, &other).is_ok_and(|pairs| pairs < LEAST_DIFFERING) {
            return String::new();
        }
        paired_t_test(&model, &other).map_or(String::new(), |test| probability(test.p))
    }

    fn mean(&self, value: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / self.outcomes.len().max(1) as f64
    }
}

#[derive(Serialize)]
struct Line<'a> {
    query: &'a str,
    difficulties: Vec<&'static str>,
    unseen: &'a [String],
    misspelt: Vec<JsonMisspelt<'a>>,
    numbers: Vec<String>,
    model: f64,
    bm25: f64,
    first: JsonTitle<'a>,
    best: JsonTitle<'a>,
}

#[derive(Serialize)]
struct JsonMisspelt<'a> {
    word: &'a str,
    known: &'a str,
}

#[derive(Serialize)]
struct JsonTitle<'a> {
    title: &'a str,
    grade: u8,
}

/// Shows the groups.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.title_columns.need(args.titles.is_some())?;
    args.form.check(args.model.files().chain([&args.judged]).chain(&args.titles).chain(&args.clicks))?;
    let judgments = input::judgments(&args.judged, TITLE)?;
    let titles = args.titles.as_deref().map(|titles| args.title_columns.checked(titles, TITLE)).transpose()?;
    let files = CorpusFiles { titles, clicks: args.clicks.as_deref(), field: TITLE, ..CorpusFiles::default() };
    let read = read_corpus(&files, &[&judgments])?;
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        input::note_skipped(path, skipped);
    }
    let bm25 = bm25(&read.corpus, Analysis::EXACT)?;
    let named = args.model.load()?;
    let name = named.name.clone();
    if let Some(index) = args.model.index() {
        output::note(format_args!(
            "{}: its model is compared by itself, without words and fusion; `evaluate --full --model` measures its searches",
            output::path(index)
        ));
    }
    let learnt_titles = named.model.training().config.titles.is_some();
    let model = Neural::new(named.name, named.model);
    let found = outcomes(
        &judgments,
        &score(&model, &judgments),
        &score(bm25.as_ref(), &judgments),
        METRIC,
        &read.corpus.known_words()?,
    );
    let mut out = output::stdout();
    if args.form.json {
        for outcome in &found {
            output::json_line(&mut out, &json(outcome, &judgments))?;
        }
    } else {
        output::written(write!(
            out,
            "{}",
            text::text(&name, &groups(&found), &judgments, args.examples, learnt_titles)
        ))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page::page(&name, &groups(&found), &judgments, args.examples, learnt_titles))?;
    Ok(Answer::Done)
}

/// BM25 over a collection whose words are analysed in this way.
pub(super) fn bm25(corpus: &clickvec_eval::ranker::Corpus, analysis: Analysis) -> Result<Box<dyn Ranker>> {
    let [stem, split] = [analysis.stem, analysis.split].map(u8::from);
    Ok(ranker::train(&format!("bm25:stem={stem},split={split}"), corpus)?)
}

fn groups(found: &[Outcome]) -> Vec<Group<'_>> {
    let group = |difficulty| Group {
        difficulty,
        outcomes: found.iter().filter(|outcome| outcome.difficulties.contains(&difficulty)).collect(),
    };
    Difficulty::ALL.map(group).into_iter().filter(|group| !group.outcomes.is_empty()).collect()
}

fn json<'a>(outcome: &'a Outcome, judgments: &'a Judgments) -> Line<'a> {
    let query = &judgments.queries[outcome.query];
    let title = |place: usize| JsonTitle { title: &query.titles[place].text, grade: query.titles[place].grade };
    Line {
        query: &query.text,
        difficulties: outcome.difficulties.iter().map(|difficulty| difficulty.name()).collect(),
        unseen: &outcome.unseen,
        misspelt: outcome.misspelt.iter().map(|(word, known)| JsonMisspelt { word, known }).collect(),
        numbers: quantities(&query.text).iter().map(Quantity::to_string).collect(),
        model: outcome.model,
        bm25: outcome.other,
        first: title(outcome.first),
        best: title(outcome.best),
    }
}

/// What may help with such queries. `learnt_titles`: whether the model has learnt from titles.
fn advice(difficulty: Difficulty, learnt_titles: bool) -> &'static str {
    match difficulty {
        Difficulty::UnseenWord if learnt_titles => {
            "the model never saw these words: train on a longer log, or on more titles if it did not have the whole catalogue"
        }
        Difficulty::UnseenWord => {
            "the model never saw these words: train on a longer log, or with `train --titles` on the whole catalogue"
        }
        Difficulty::Misspelt if learnt_titles => {
            "the model has learnt some misspelt words of titles: more epochs of titles (`train --title-epochs`) teach it more"
        }
        Difficulty::Misspelt => "`train --titles` learns from misspelt words too",
        Difficulty::Long => "BM25 counts every word: fuse the two (`evaluate --fusion`), or try more cells",
        Difficulty::Number => "letter trigrams hardly tell 3/8 from 1/2, BM25 does: fuse the two (`evaluate --fusion`)",
        Difficulty::SharedWord => {
            "the bad first title has a word of the query, as the best one has: compare the two with `explain match`; clicks teach which is meant"
        }
        Difficulty::Other => "look at the examples with `explain match` and `explain rank`",
    }
}

/// The words or numbers that put a query into its group; empty if there is nothing to add.
fn detail(difficulty: Difficulty, outcome: &Outcome, query: &JudgedQuery) -> String {
    match difficulty {
        Difficulty::UnseenWord => outcome.unseen.join(", "),
        Difficulty::Misspelt => {
            let pair = |(word, known): &(String, String)| format!("{word} (did you mean {known}?)");
            outcome.misspelt.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
        Difficulty::Number => {
            let of = |text: &str| quantities(text).iter().map(Quantity::to_string).collect::<Vec<_>>().join(", ");
            let (asked, first) = (of(&query.text), of(&query.titles[outcome.first].text));
            let best = of(&query.titles[outcome.best].text);
            let said = |text: String| if text.is_empty() { "no number".to_owned() } else { text };
            if asked.is_empty() {
                String::new()
            } else {
                format!("query: {asked}; first title: {}; best title: {}", said(first), said(best))
            }
        }
        Difficulty::Long | Difficulty::SharedWord | Difficulty::Other => String::new(),
    }
}
