//! A model card: Markdown that says what a model is, what it has learnt from, and how good it is.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::model::Model;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::metrics::{difference, probability};
use crate::{json_file, output};

/// The measures that a card shows, if the report has them.
const SHOWN: [&str; 7] = ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map", "recall@100", "queries_without_answer"];

/// A report of `evaluate --json`.
#[derive(Deserialize)]
pub(super) struct Evaluated {
    queries: u64,
    systems: Vec<ReportedSystem>,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct ReportedSystem {
    name: String,
    #[serde(flatten)]
    measures: Map<String, Value>,
}

#[derive(Deserialize)]
struct Test {
    a: String,
    b: String,
    metric: String,
    difference: f64,
    holm: f64,
}

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<Evaluated> {
    let report: Evaluated = json_file::report(path)?;
    ensure!(!report.systems.is_empty(), "{}: expected systems, found none", output::path(path));
    Ok(report)
}

/// The card of the model in `file`. `settings` are the lines of its training.
pub(super) fn card(file: &Path, model: &Model, settings: &[(String, String)], evaluated: Option<&Evaluated>) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let training = model.training();
    let log = &training.log;
    let towers = match model.shared_towers() {
        true => "one tower for queries and titles",
        false => "a tower for queries and one for titles",
    };
    let mut text = format!(
        "---\nlibrary_name: clickvec\npipeline_tag: sentence-similarity\ntags: [search, click-log, sentence-similarity]\n---\n\n\
         # {}\n\nVectors of a search engine's queries and titles, learned from its own click log with clickvec {}. Short texts \
         go in, {} numbers come out, of length 1: the dot product of a query's and a title's vector is their score.\n\n\
         | | |\n| --- | --- |\n",
        cell(&name),
        cell(&training.version),
        model.dimension()
    );
    let words = model.dictionary().words().len();
    let features = match words {
        0 => format!("{} letter trigrams", output::count(model.dictionary().trigrams().len() as u64)),
        words => format!(
            "{} letter trigrams, {} whole words",
            output::count(model.dictionary().trigrams().len() as u64),
            output::count(words as u64)
        ),
    };
    for (name, value) in [
        ("encoder", format!("{}, {towers}", model.encoder_config())),
        ("features", features),
        ("weights", output::count(model.parameters())),
        ("fingerprint", format!("`{}`", model.fingerprint())),
    ] {
        let _ = writeln!(text, "| {name} | {} |", cell(&value));
    }
    text.push_str("\n## What it has learnt from\n\n| | |\n| --- | --- |\n");
    // Words are those of all pairs that were read.
    let average = |words: u64| match log.pairs + log.held_out {
        0 => String::new(),
        pairs => format!("{:.1} words on average", words as f64 / pairs as f64),
    };
    let titles = &log.titles;
    for (name, number, more) in [
        (
            "clicked pairs",
            log.pairs,
            format!("queries of {}, titles of {}", average(log.query_words), average(log.title_words)),
        ),
        ("titles, clicked or not", titles.titles, String::new()),
        ("pairs of held-out queries, not learnt", log.held_out, String::new()),
        ("pairs with a rare query", log.rare, "their own trigrams are not in the model".to_owned()),
        ("broken lines, left out", log.skipped + titles.skipped, String::new()),
        ("pairs and titles without a word, left out", log.without_words + titles.without_words, String::new()),
    ] {
        if number > 0 {
            let more = if more.is_empty() { more } else { format!(" ({more})") };
            let _ = writeln!(text, "| {name} | {}{more} |", output::count(number));
        }
    }
    let _ = writeln!(text, "| fingerprint of the data | `{}` |", cell(&training.log_fingerprint));
    let others =
        [("init", &training.init), ("teacher", &training.teacher), ("validation", &training.validation_fingerprint)];
    for (name, fingerprint) in others {
        if let Some(fingerprint) = fingerprint {
            let _ = writeln!(text, "| fingerprint of the {name} | `{}` |", cell(fingerprint));
        }
    }
    text.push_str("\n## How good it is\n\n");
    match evaluated {
        None => text.push_str(
            "No evaluation was given with this card. `clickvec evaluate` compares the model with BM25 on judged titles, and \
             `clickvec inspect --card --evaluated` puts its report here.\n",
        ),
        Some(evaluated) => text.push_str(&evaluation(evaluated)),
    }
    text.push_str(
        "\n## Limits\n\nIt knows what users of one search engine clicked: their words, their language, and what that engine \
         showed them. Words none of whose letter trigrams it has seen have no vector, and neither long texts nor other \
         languages were tried. Compare it with BM25 on your own judged titles before you rely on it.\n\n\
         ## Settings\n\n| | |\n| --- | --- |\n",
    );
    for (name, value) in settings {
        let _ = writeln!(text, "| {} | {} |", cell(name), cell(value));
    }
    text
}

/// The systems and tests of a report.
impl Evaluated {
    /// What to say if no system has the name that `evaluate` gives a model in this file.
    pub(super) fn lacks(&self, file: &Path) -> Option<String> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let has = self.systems.iter().any(|system| system.name == name);
        (!has).then(|| {
            let names: Vec<_> = self.systems.iter().map(|system| output::printable(&system.name)).collect();
            let name = output::printable(&name);
            format!("the report of --evaluated has {}, and no `{name}`; is it about another model?", names.join(", "))
        })
    }
}

pub(super) fn evaluation(evaluated: &Evaluated) -> String {
    let mut text = format!("Means over {}:\n\n", output::counted(evaluated.queries, "judged query"));
    let measures = |system: &ReportedSystem| -> Vec<&str> {
        SHOWN.into_iter().filter(|&name| system.measures.get(name).is_some_and(Value::is_number)).collect()
    };
    let shown = evaluated.systems.first().map(measures).unwrap_or_default();
    let _ = writeln!(text, "| system | {} |\n| --- |{}", shown.join(" | "), " ---: |".repeat(shown.len()));
    for system in &evaluated.systems {
        let cells = shown.iter().map(|&name| system.measures.get(name).and_then(Value::as_f64));
        let cells = cells.map(|mean| mean.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.3}")));
        let _ = writeln!(text, "| {} | {} |", cell(&system.name), cells.collect::<Vec<_>>().join(" | "));
    }
    let decisive = evaluated.tests.iter().filter(|test| test.metric == "ndcg@10");
    for (number, test) in decisive.enumerate() {
        let before = if number == 0 { "\nPaired t-tests on NDCG@10, corrected for their number:\n\n" } else { "" };
        let (difference, p) = (difference(test.difference), probability(test.holm));
        let _ = writeln!(text, "{before}- {} − {}: {difference}, p {p}", cell(&test.a), cell(&test.b));
    }
    text
}

/// A text in a cell of a table, where it can neither end the cell nor begin markup.
fn cell(text: &str) -> String {
    let text = output::printable(text).into_owned();
    text.chars().fold(String::new(), |mut cell, c| {
        if matches!(c, '|' | '<' | '[' | '*' | '_' | '\\') {
            cell.push('\\');
        }
        cell.push(c);
        cell
    })
}
