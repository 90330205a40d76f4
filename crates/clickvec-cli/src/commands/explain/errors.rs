//! `clickvec explain errors`: a model's worst queries against BM25, by what is hard about them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::eval::{CorpusFiles, Judgments, Metric, read_corpus, score};
use clickvec::explain::{Difficulty, Outcome, outcomes};
use clickvec::ranker::{Neural, Ranker, RankerSpec, Resources, System};
use clickvec::tables::TITLE;
use maud::{Markup, html};
use serde::Serialize;

use super::{Form, OneModel, page};
use crate::answer::Answer;
use crate::{input, output, table};

/// The metric by which a query is good or bad.
const METRIC: Metric = Metric::Ndcg10;

/// Show in which queries a model is behind BM25, grouped by what makes them hard, with examples.
///
/// A query may belong to several groups: unseen word (in no title and no clicked query), misspelt (one letter from a
/// known word), long (six words or more), number, sense (the bad title on top shares a word with a good one), other.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// Judged titles: a table with the columns query, title and grade.
    #[arg(long, value_name = "FILE")]
    judged: PathBuf,

    /// The collection, for BM25 and for the words that are known [default: the judged titles].
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    /// The click log, whose words are known too.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// How many examples to show for each group.
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,

    #[command(flatten)]
    form: Form,
}

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

    fn mean(&self, value: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / self.outcomes.len().max(1) as f64
    }
}

#[derive(Serialize)]
struct Line<'a> {
    query: &'a str,
    difficulties: Vec<&'static str>,
    model: f64,
    bm25: f64,
    first: JsonTitle<'a>,
    best: JsonTitle<'a>,
}

#[derive(Serialize)]
struct JsonTitle<'a> {
    title: &'a str,
    grade: u8,
}

/// Shows the groups.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain([&args.judged]).chain(&args.titles).chain(&args.clicks))?;
    let judgments = input::judgments(&args.judged, TITLE)?;
    let files = CorpusFiles { titles: args.titles.as_deref(), clicks: args.clicks.as_deref(), field: TITLE };
    let read = read_corpus(&files, &[&judgments])?;
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        input::note_skipped(path, skipped);
    }
    let bm25 = bm25(&read.corpus)?;
    let named = args.model.load()?;
    let name = named.name.clone();
    let model = Neural::new(named.name, named.model);
    let found = outcomes(
        &judgments,
        &score(&model, &judgments),
        &score(bm25.as_ref(), &judgments),
        METRIC,
        &read.corpus.known_words(),
    );
    let mut out = output::stdout();
    if args.form.json {
        for outcome in &found {
            output::json_line(&mut out, &json(outcome, &judgments))?;
        }
    } else {
        output::written(write!(out, "{}", shown(&name, &groups(&found), &judgments, args.examples)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&name, &groups(&found), &judgments, args.examples))?;
    Ok(Answer::Done)
}

/// BM25 over a collection.
pub(super) fn bm25(corpus: &clickvec::ranker::Corpus) -> Result<Box<dyn Ranker>> {
    let spec: RankerSpec = "bm25".parse().map_err(clickvec::Error::from)?;
    let system = System::named(&spec.name).map_err(clickvec::Error::from)?;
    let values = system.values(&spec).map_err(clickvec::Error::from)?;
    let resources = Resources { corpus, contiguous: None, load: None, vectors: None };
    Ok(system.train(&values, &resources, &mut |_| ())?)
}

fn groups(found: &[Outcome]) -> Vec<Group<'_>> {
    let group = |difficulty| Group {
        difficulty,
        outcomes: found.iter().filter(|outcome| outcome.difficulties.contains(&difficulty)).collect(),
    };
    Difficulty::ALL.map(group).into_iter().filter(|group| !group.outcomes.is_empty()).collect()
}

fn json<'a>(outcome: &Outcome, judgments: &'a Judgments) -> Line<'a> {
    let query = &judgments.queries[outcome.query];
    let title = |place: usize| JsonTitle { title: &query.titles[place].text, grade: query.titles[place].grade };
    Line {
        query: &query.text,
        difficulties: outcome.difficulties.iter().map(|difficulty| difficulty.name()).collect(),
        model: outcome.model,
        bm25: outcome.other,
        first: title(outcome.first),
        best: title(outcome.best),
    }
}

fn shown(name: &str, groups: &[Group<'_>], judgments: &Judgments, examples: usize) -> String {
    let mut rows = table::plain();
    rows.set_header(["queries that are", "number", name, "bm25", "behind bm25"]);
    for group in groups {
        rows.add_row([
            group.difficulty.name().to_owned(),
            output::count(group.outcomes.len() as u64),
            format!("{:.3}", group.mean(|outcome| outcome.model)),
            format!("{:.3}", group.mean(|outcome| outcome.other)),
            output::count(group.behind() as u64),
        ]);
    }
    table::align_right(&mut rows, 1..5);
    let mut text = format!(
        "{}\n\nMean {}; a query may be in several groups.\n",
        table::show(&mut rows),
        METRIC.name().to_uppercase()
    );
    for group in groups {
        let worst = group.outcomes.iter().filter(|outcome| outcome.model < outcome.other).take(examples);
        for (place, outcome) in worst.enumerate() {
            if place == 0 {
                let _ = writeln!(text, "\n{}", group.difficulty.name());
            }
            let query = &judgments.queries[outcome.query];
            let (first, best) = (&query.titles[outcome.first], &query.titles[outcome.best]);
            let _ = writeln!(
                text,
                "  {}  ({:.2}, bm25 {:.2})\n    first  grade {}  {}\n    best   grade {}  {}",
                output::printable(&query.text),
                outcome.model,
                outcome.other,
                first.grade,
                output::printable(&first.text),
                best.grade,
                output::printable(&best.text)
            );
        }
    }
    text
}

fn page_of(name: &str, groups: &[Group<'_>], judgments: &Judgments, examples: usize) -> Markup {
    let body = html! {
        div.wide {
            table {
                tr { th { "queries that are" } th.n { "number" } th.n { (name) } th.n { "bm25" } th.n { "behind bm25" } }
                @for group in groups {
                    tr {
                        td { (group.difficulty.name()) }
                        td.n { (group.outcomes.len()) }
                        td.n { (format!("{:.3}", group.mean(|outcome| outcome.model))) }
                        td.n { (format!("{:.3}", group.mean(|outcome| outcome.other))) }
                        td.n { (group.behind()) }
                    }
                }
            }
        }
        p.soft { "Mean " (METRIC.name().to_uppercase()) "; a query may be in several groups." }
        @for group in groups {
            h2 { (group.difficulty.name()) }
            @for outcome in group.outcomes.iter().filter(|outcome| outcome.model < outcome.other).take(examples) {
                @let query = &judgments.queries[outcome.query];
                p {
                    b.text { (query.text) } " " span.soft { (format!("{:.2}, bm25 {:.2}", outcome.model, outcome.other)) }
                    @for (what, place) in [("first", outcome.first), ("best", outcome.best)] {
                        br; (what) ", grade " (query.titles[place].grade) ": " span.text { (query.titles[place].text) }
                    }
                }
            }
            @if group.behind() == 0 { p.soft { "The model is behind BM25 in none of them." } }
        }
    };
    page::page(&format!("Where {name} is behind BM25"), false, body)
}
