//! The queries on which a model is worse than BM25, for a terminal.

use std::fmt::Write as _;

use clickvec_eval::Judgments;

use super::{Group, METRIC, advice, detail};
use crate::{aligned, output};

/// The groups, then the worst examples of each.
pub(super) fn text(
    name: &str,
    groups: &[Group<'_>],
    judgments: &Judgments,
    examples: usize,
    learnt_titles: bool,
) -> String {
    let mut rows = aligned::plain();
    rows.set_header(["group", "queries", name, "bm25", "difference", "p", "worse than bm25"]);
    for group in groups {
        let (model, other) = (group.mean(|outcome| outcome.model), group.mean(|outcome| outcome.other));
        rows.add_row([
            group.difficulty.name().to_owned(),
            output::count(group.outcomes.len() as u64),
            format!("{model:.3}"),
            format!("{other:.3}"),
            format!("{:+.3}", model - other),
            group.p(),
            output::count(group.behind() as u64),
        ]);
    }
    aligned::align_right(&mut rows, 1..7);
    let mut text = format!(
        "{}\n\nMean {} of each group; a query may be in several groups\n\
         p: paired t-test over the queries of a group, not corrected for the number of groups\n\
         first: the title that the model ranks first; best: the title with the best grade\n",
        aligned::show(&mut rows),
        METRIC.heading()
    );
    if groups.iter().any(Group::is_chosen_by_failure) {
        text.push_str("shared word: queries on which the model's first title is bad, so no p\n");
    }
    for group in groups {
        for (place, outcome) in group.worst(examples).enumerate() {
            if place == 0 {
                let _ =
                    writeln!(text, "\n{}\n  ({})", group.difficulty.name(), advice(group.difficulty, learnt_titles));
            }
            let query = &judgments.queries[outcome.query];
            let (first, best) = (&query.titles[outcome.first], &query.titles[outcome.best]);
            let detail = detail(group.difficulty, outcome, query);
            let _ = writeln!(
                text,
                "\n  {}  ({:.2}, bm25 {:.2})",
                output::printable(&query.text),
                outcome.model,
                outcome.other
            );
            if !detail.is_empty() {
                let _ = writeln!(text, "    {}", output::printable(&detail));
            }
            if first.grade == best.grade {
                let _ = writeln!(
                    text,
                    "    first  grade {}  {}\n    no title is better; the order of the others is worse than bm25's",
                    first.grade,
                    output::printable(&first.text)
                );
                continue;
            }
            let _ = writeln!(
                text,
                "    first  grade {}  {}\n    best   grade {}  {}",
                first.grade,
                output::printable(&first.text),
                best.grade,
                output::printable(&best.text)
            );
        }
    }
    text
}
