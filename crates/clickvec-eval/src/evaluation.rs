//! The evaluation of several systems on one task, with the tests between them.

use clickvec_tables::Result;
use serde::Serialize;

use super::{Answers, Comparison, EvaluateOptions, Evaluation, Metric, Task, compare_all};

/// The evaluations of several systems on the same queries.
#[derive(Debug, Clone, Default)]
pub struct EvaluationSet {
    /// The systems, in their order.
    pub systems: Vec<Evaluation>,
    /// The systems that cannot learn from this data.
    pub left_out: Vec<LeftOut>,
    /// The tests between all pairs of systems; see [`compare_all`].
    pub tests: Vec<Comparison>,
}

/// A system without an evaluation, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The system's name.
    pub name: String,
    /// What it lacks.
    pub why: String,
}

/// Judges the answers of each system in turn, and tests all differences. `answers` loads or trains a system: it returns the answers to
/// the queries of `task`, or the reason to leave the system out. Only one system is in memory at a time.
///
/// # Errors
///
/// The first error of `answers`.
///
/// # Panics
///
/// If answers are not those to the queries of `task`.
pub fn run<S, E>(
    systems: impl IntoIterator<Item = (String, S)>,
    task: Task<'_>,
    metrics: &[Metric],
    options: &EvaluateOptions,
    mut answers: impl FnMut(&str, S) -> Result<Result<Answers, String>, E>,
) -> Result<EvaluationSet, E> {
    let mut set = EvaluationSet::default();
    for (name, system) in systems {
        match answers(&name, system)? {
            Ok(answers) => set.systems.push(task.judge(&name, &answers, metrics, options)),
            Err(why) => set.left_out.push(LeftOut { name, why }),
        }
    }
    set.tests = compare_all(&set.systems).expect("answers to the same queries");
    Ok(set)
}
