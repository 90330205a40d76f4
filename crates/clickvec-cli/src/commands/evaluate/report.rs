//! The report of an evaluation: as text, and query by query.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::eval::{Comparison, Correction, EvaluateOptions, Evaluation, Gain, Metric, Ties, beaten};
use clickvec::internals::files;
use clickvec::ranker::{Parameter, Stage};
use clickvec_lab::SYSTEMS;

use super::fusion::{Fused, MethodFlag};
use super::{Results, power};
pub(crate) use crate::metrics::{difference, probability};
use crate::superscripts::{letter, marks};
use crate::{aligned, metrics, output};

/// The largest number of systems for which all tests are listed. Eight systems make 28 pairs.
pub(super) const LISTED_SYSTEMS: usize = 8;
/// The headings of the table.
const COLUMNS: [(Metric, &str); 6] = [
    (Metric::Ndcg1, "NDCG@1"),
    (Metric::Ndcg3, "NDCG@3"),
    (Metric::Ndcg10, "NDCG@10"),
    (Metric::ReciprocalRank, "MRR"),
    (Metric::AveragePrecision, "MAP"),
    (Metric::Precision10, "P@10"),
];

/// The list of all rankers and their parameters.
pub(super) fn rankers() -> String {
    let mut text = String::new();
    for system in SYSTEMS {
        let _ = writeln!(text, "{}: {}", system.name, system.about);
        for Parameter { name, default, least, most, stage, about, .. } in system.parameters {
            let when = if *stage == Stage::Training { "training" } else { "scoring" };
            let _ = writeln!(text, "    {name}={default}  {about} ({least} to {most}; {when})");
        }
    }
    text
}

/// The whole report as text.
pub(super) fn text(
    results: &Results,
    tests: &[Comparison],
    options: &EvaluateOptions,
    expected: Option<f64>,
) -> String {
    let systems = &results.evaluations;
    let mut text = format!("{}\n", systems_table(systems, tests));
    let queries = output::counted(results.queries.len() as u64, "query");
    let ties = match options.ties {
        Ties::Expected => "mean over the orders of ties",
        Ties::Trec => "ties by id, descending",
    };
    let gain = match options.gain {
        Gain::Exponential => "gain 2^grade − 1",
        Gain::Linear => "gain = grade",
    };
    let _ = writeln!(text, "\n{queries}; {gain}; {ties}");
    match systems.first().map_or(0, |system| system.queries_without_relevant) {
        0 => {}
        1 => text.push_str("1 query has no relevant title and scores 0\n"),
        many => drop(writeln!(text, "{} queries have no relevant title and score 0", output::count(many))),
    }
    if systems.len() < 2 {
        return text;
    }
    text.push_str(&fusions_text(&results.fused));
    text.push_str("ᵃ: significantly better than system a (paired t-test over queries, p < 0.05)\n");
    if systems.len() > 2 {
        let pairs = systems.len() * (systems.len() - 1) / 2;
        let _ = writeln!(text, "p is not corrected for the {pairs} pairs of systems; `--json` has corrected values");
    }
    if systems.len() > LISTED_SYSTEMS {
        text.push_str("`--json` has the tests of all pairs of systems\n");
        return text;
    }
    let _ = writeln!(text, "\n{}", tests_table(systems, tests));
    let power = power::text(systems, expected);
    if !power.is_empty() {
        let _ = write!(text, "\n{power}");
    }
    text
}

/// The weights of each fusion.
pub(super) fn fusions_text(fusions: &[Fused]) -> String {
    let mut text = String::new();
    for fused in fusions {
        let fitted = match fused.fitted_on {
            Some(on) => format!(" fitted on {}", output::counted(on as u64, "other query")),
            None => String::new(),
        };
        let _ = writeln!(text, "{}, weights{fitted}:", fused.name);
        for (name, weight) in &fused.members {
            let digits = if fused.method == MethodFlag::Linear.value() { 4 } else { 2 };
            let _ = writeln!(text, "  {weight:.digits$}  {}", output::printable(name));
        }
    }
    text
}

/// One row for each system.
pub(crate) fn systems_table(systems: &[Evaluation], tests: &[Comparison]) -> String {
    let mut table = aligned::plain();
    let heads = ["", "system"].into_iter().chain(COLUMNS.iter().map(|&(_, head)| head));
    table.set_header(heads);
    for (place, system) in systems.iter().enumerate() {
        let mut row = vec![letter(place), output::printable(&system.name).into_owned()];
        row.extend(COLUMNS.map(|(metric, _)| {
            let beaten = beaten(place, metric, systems, tests, Correction::None);
            format!("{:.3}{}", system.mean.get(metric), marks(&beaten))
        }));
        table.add_row(row);
    }
    aligned::show(&mut table)
}

/// One row for each pair of systems, with the difference and its p-value for each metric. The difference is the later
/// system minus the earlier one, as in `table`. Baselines come first, so an improvement is positive.
pub(crate) fn tests_table(systems: &[Evaluation], tests: &[Comparison]) -> String {
    let mut table = aligned::plain();
    table.set_header(["difference", "NDCG@1", "p", "NDCG@3", "p", "NDCG@10", "p"]);
    let label = |name: &str| match systems.iter().position(|system| system.name == name) {
        Some(place) => letter(place),
        None => name.to_owned(),
    };
    for pair in tests.chunk_by(|x, y| (&x.a, &x.b) == (&y.a, &y.b)) {
        let mut row = vec![format!("{} − {}", label(&pair[0].b), label(&pair[0].a))];
        for metric in Metric::NDCG {
            match pair.iter().find(|test| test.metric == metric) {
                Some(Comparison { test, .. }) => row.extend([difference(-test.difference), probability(test.p)]),
                None => row.extend([String::new(), String::new()]),
            }
        }
        table.add_row(row);
    }
    aligned::align_right(&mut table, 1..7);
    aligned::show(&mut table)
}

/// Writes one row for each system and query.
pub(super) fn write_per_query(path: &Path, results: &Results) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    files::write_atomically(path, |file| {
        let keys = Metric::ALL.map(metrics::key).join("\t");
        writeln!(file, "system\tquery_id\tquery\t{keys}").map_err(failed)?;
        for system in &results.evaluations {
            for (judged, text) in system.queries.iter().zip(&results.queries) {
                let name = output::printable(&system.name);
                let values = Metric::ALL.map(|metric| judged.metrics.get(metric).to_string()).join("\t");
                writeln!(file, "{name}\t{}\t{text}\t{values}", judged.id).map_err(failed)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_has_no_sign() {
        assert_eq!([0.0, -0.0, -0.0123, 0.5].map(difference), ["0.000", "0.000", "-0.012", "+0.500"]);
    }

    #[test]
    fn probabilities_are_never_shown_as_zero() {
        assert_eq!((probability(0.00009), probability(0.04996)), ("<0.0001".to_owned(), "0.0500".to_owned()));
    }
}
