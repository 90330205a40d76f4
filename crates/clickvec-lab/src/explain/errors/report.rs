//! The report of the queries on which a model is worse than BM25, grouped by what makes them hard.

use clickvec_eval::{LEAST_DIFFERING, differing_pairs, paired_t_test};
use clickvec_report::numbers::{difference, probability};
use clickvec_report::report::{Cell, Column, Report, Table};
use clickvec_tables::shown::count;

use super::{Difficulty, METRIC, Outcome, numbers};

/// The most examples of a group.
const EXAMPLES: usize = 3;
/// The least difference that two decimals show.
const VISIBLE: f64 = 0.01;

/// A group of queries.
struct Group<'a> {
    difficulty: Difficulty,
    /// The worst first.
    outcomes: Vec<&'a Outcome<'a>>,
}

impl Group<'_> {
    /// Returns the number of queries on which the model is worse.
    fn behind(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.model < outcome.bm25).count()
    }

    /// Returns whether queries are in the group because the model fails, so that a test would say nothing.
    fn is_chosen_by_failure(&self) -> bool {
        self.difficulty == Difficulty::SharedWord
    }

    /// Iterates over the queries on which the model is worse by a difference that can be seen, worst first.
    fn worst(&self) -> impl Iterator<Item = &Outcome<'_>> {
        self.outcomes.iter().copied().filter(|outcome| outcome.bm25 - outcome.model >= VISIBLE).take(EXAMPLES)
    }

    /// Returns the p-value of a paired t-test over the group's queries; empty if too few of them differ, or if they are in the group
    /// because the model fails.
    fn p(&self) -> String {
        if self.is_chosen_by_failure() {
            return String::new();
        }
        let model: Vec<f64> = self.outcomes.iter().map(|outcome| outcome.model).collect();
        let bm25: Vec<f64> = self.outcomes.iter().map(|outcome| outcome.bm25).collect();
        if differing_pairs(&model, &bm25).is_ok_and(|pairs| pairs < LEAST_DIFFERING) {
            return String::new();
        }
        paired_t_test(&model, &bm25).map_or(String::new(), |test| probability(test.p))
    }

    fn mean(&self, value: impl Fn(&Outcome<'_>) -> f64) -> f64 {
        self.outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / self.outcomes.len().max(1) as f64
    }
}

/// Reports the groups, then the worst queries of each. `learnt_titles` says whether the model has learnt from titles too.
pub fn error_report(name: &str, outcomes: &[Outcome<'_>], learnt_titles: bool) -> Report {
    let groups = groups(outcomes);
    let mut report = Report::default();
    let heads = ["queries", name, "bm25", "difference", "p", "worse than bm25"].map(Column::number);
    let mut table = Table::new(std::iter::once(Column::text("group")).chain(heads));
    for group in &groups {
        let (model, bm25) = (group.mean(|outcome| outcome.model), group.mean(|outcome| outcome.bm25));
        let cells = [
            group.difficulty.name().to_owned(),
            count(group.outcomes.len()),
            format!("{model:.3}"),
            format!("{bm25:.3}"),
            difference(model - bm25),
            group.p(),
            count(group.behind()),
        ];
        table.add(cells.map(Cell::from));
    }
    report.table(table);
    report.note(format!("Mean {} of each group; a query may be in several groups", METRIC.heading()));
    report.note("p: paired t-test over the queries of a group, not corrected for the number of groups");
    report
        .note("first: the title that the model ranks first; best: the title with the best grade; each after its grade");
    if groups.iter().any(Group::is_chosen_by_failure) {
        report.note("shared word: queries on which the model's first title is bad, so no p");
    }
    for group in groups.iter().filter(|group| group.worst().next().is_some()) {
        report.heading(2, group.difficulty.name());
        report.paragraph(advice(group.difficulty, learnt_titles));
        for outcome in group.worst() {
            let Outcome { query, model, bm25, first, best, .. } = outcome;
            report.heading(3, format!("{query}  ({model:.2}, bm25 {bm25:.2})"));
            let detail = detail(group.difficulty, outcome);
            if !detail.is_empty() {
                report.line("why", &detail);
            }
            report.line("first", &format!("{}  {}", first.grade, first.title));
            if first.grade == best.grade {
                report.line("best", "no title is better; the order of the others is worse than BM25's");
            } else {
                report.line("best", &format!("{}  {}", best.grade, best.title));
            }
        }
    }
    report
}

fn groups<'a>(found: &'a [Outcome<'a>]) -> Vec<Group<'a>> {
    let group = |difficulty| Group {
        difficulty,
        outcomes: found.iter().filter(|outcome| outcome.difficulties.contains(&difficulty)).collect(),
    };
    Difficulty::ALL.map(group).into_iter().filter(|group| !group.outcomes.is_empty()).collect()
}

/// Returns advice for such queries.
fn advice(difficulty: Difficulty, learnt_titles: bool) -> &'static str {
    match difficulty {
        Difficulty::UnseenWord if learnt_titles => {
            "the model never saw these words: train on a longer log, or on more titles if it did not have the whole catalogue"
        }
        Difficulty::UnseenWord => {
            "the model never saw these words: train on a longer log, or on the titles of the whole catalogue too"
        }
        Difficulty::Misspelt if learnt_titles => {
            "the model has learnt some misspelt words of titles: more epochs of titles teach it more"
        }
        Difficulty::Misspelt => "training on titles too teaches misspelt words",
        Difficulty::Long => "BM25 counts every word: fuse the two, or try more cells",
        Difficulty::Number => "letter trigrams hardly tell 3/8 from 1/2, BM25 does: fuse the two",
        Difficulty::SharedWord => {
            "the bad first title has a word of the query, as the best one has: `explain match` compares the two; clicks teach which is meant"
        }
        Difficulty::Other => "look at the examples with `explain match` and `explain rank`",
    }
}

/// Returns the words or numbers that put a query into its group; empty if there is nothing to add.
fn detail(difficulty: Difficulty, outcome: &Outcome<'_>) -> String {
    match difficulty {
        Difficulty::UnseenWord => outcome.unseen.join(", "),
        Difficulty::Misspelt => {
            let words = outcome.misspelt.iter().map(|pair| format!("{} (did you mean {}?)", pair.word, pair.known));
            words.collect::<Vec<_>>().join(", ")
        }
        Difficulty::Number if !outcome.numbers.is_empty() => {
            let [first, best] = [outcome.first, outcome.best].map(|title| {
                let numbers = numbers(title.title).join(", ");
                if numbers.is_empty() { "no number".to_owned() } else { numbers }
            });
            format!("query: {}; first title: {first}; best title: {best}", outcome.numbers.join(", "))
        }
        Difficulty::Number | Difficulty::Long | Difficulty::SharedWord | Difficulty::Other => String::new(),
    }
}
