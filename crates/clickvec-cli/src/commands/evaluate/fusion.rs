//! Fusions of all systems on the command line, one for each method.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;
use clickvec::eval::{
    EvaluateOptions, Evaluation, Judgments, Scores, TestSet, TestSetFiles, equal_weights, fit_fusion, fuse_scores,
    judge,
};
use clickvec::ranker::{FitWatch, FittedWeights, FusionMethod, RECIPROCAL_RANK_K};

use super::Args;
use super::keeping::Keeping;
use super::systems::{Entry, Scorer, file_of};
use crate::test_set::{self, query_key};
use crate::{output, progress};

/// With fewer queries than this, the fitted weights are hardly better than equal ones.
const FEW_QUERIES: usize = 20;

/// What is added up, times a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MethodFlag {
    /// Scores as they are.
    Linear,
    /// Scores scaled to the range from 0 to 1.
    #[value(alias = "sum")]
    MinMax,
    /// Scores as standard deviations from their mean.
    ZScore,
    /// Reciprocal ranks: 1 / (60 + rank).
    #[value(alias = "rrf")]
    ReciprocalRank,
}

impl MethodFlag {
    pub(super) fn method(self) -> FusionMethod {
        match self {
            MethodFlag::Linear => FusionMethod::Linear,
            MethodFlag::MinMax => FusionMethod::MinMax,
            MethodFlag::ZScore => FusionMethod::ZScore,
            MethodFlag::ReciprocalRank => FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
        }
    }

    pub(super) fn value(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The name of the fusion in the report.
    pub(super) fn name(self) -> String {
        format!("fusion:{}", self.value())
    }
}

/// The source of the weights.
pub(super) enum Weights {
    Equal,
    Given(Vec<f64>),
    /// Weights fitted on other queries than the judged ones.
    Fitted {
        others: Judgments,
        /// Whether their titles have ids of their own.
        title_ids: bool,
    },
}

impl Weights {
    /// The weights that `args` ask for. Checks, before anything is trained, that the systems can be fused this way.
    pub(super) fn of(args: &Args, entries: &[Entry], judgments: &Judgments) -> Result<Weights> {
        let members: Vec<&Entry> = entries.iter().filter(|entry| !entry.is_fusion()).collect();
        if !args.fusion.is_empty() && members.len() < 2 {
            let found = output::counted(members.len() as u64, "system");
            let besides =
                if members.len() < entries.len() { " besides fusions, which are not fused again" } else { "" };
            bail!("expected two systems or more to fuse, found {found}{besides}; add `--ranker` or `--model`");
        }
        if !args.fusion.is_empty() {
            for fusion in entries.iter().filter(|entry| entry.is_fusion()) {
                let name = output::printable(&fusion.name);
                output::note(format_args!("{name}: a fusion, which is judged but not fused again"));
            }
        }
        Ok(match (&args.fusion_weights[..], &args.fusion_judged) {
            ([], None) => Weights::Equal,
            (given, None) => Weights::Given(checked(given, &members)?),
            (_, Some(path)) => others(path, args, judgments)?,
        })
    }

    /// The queries that the weights are fitted on, if they are fitted.
    pub(super) fn fitted_on(&self) -> Option<&Judgments> {
        match self {
            Weights::Fitted { others, .. } => Some(others),
            Weights::Equal | Weights::Given(_) => None,
        }
    }
}

/// A member of the fusion.
struct Member {
    name: String,
    /// Its file in the folder of `--save-rankers`.
    file: String,
    /// Scores for the judged queries.
    scores: Scores,
    /// Scores for the queries that the weights are fitted on.
    fitting: Scores,
}

/// A fusion as the report shows it.
pub(super) struct Fused {
    pub(super) name: String,
    /// The method as on the command line.
    pub(super) method: String,
    /// Each member with its weight.
    pub(super) members: Vec<(String, f64)>,
    /// The number of queries that the weights were fitted on, if they were fitted.
    pub(super) fitted_on: Option<usize>,
}

/// The requested fusions. Members are added as they become ready.
pub(super) struct Fusions<'a> {
    methods: &'a [MethodFlag],
    weights: Weights,
    /// Where all fusions are saved.
    keeping: Option<Keeping<'a>>,
    members: Vec<Member>,
    /// The first member that could not be trained.
    missing: Option<String>,
}

impl<'a> Fusions<'a> {
    /// Checks before any training that the systems can be fused as requested.
    pub(super) fn new(
        args: &'a Args,
        keeping: Option<Keeping<'a>>,
        entries: &[Entry],
        judgments: &Judgments,
    ) -> Result<Fusions<'a>> {
        let weights = Weights::of(args, entries, judgments)?;
        Ok(Fusions { methods: &args.fusion, weights, keeping, members: Vec::new(), missing: None })
    }

    /// The queries that the weights are fitted on, if they are fitted.
    pub(super) fn fitted_on(&self) -> Option<&Judgments> {
        self.weights.fitted_on()
    }

    /// Adds a member with its scores for all queries. If fusions are saved, copies the member to their folder.
    pub(super) fn add(&mut self, system: &Entry, scorer: &Scorer, scores: Scores) -> Result<()> {
        if self.methods.is_empty() || system.is_fusion() {
            return Ok(());
        }
        let fitting = self.fitted_on().map_or_else(Scores::new, scorer);
        let file = file_of(&system.name);
        if let (Some(keeping), Some(from)) = (&self.keeping, system.file()) {
            keeping.copy(&system.name, from)?;
        }
        self.members.push(Member { name: system.name.clone(), file, scores, fitting });
        Ok(())
    }

    /// Records that a system could not be trained, so that no fusion can be made.
    pub(super) fn lacks(&mut self, system: &Entry) {
        self.missing.get_or_insert_with(|| system.name.clone());
    }

    /// Each fusion that is left out because a member is missing, and why, which is told.
    pub(super) fn left_out(&self) -> Vec<(String, String)> {
        without_member(self.methods, self.missing.as_deref())
    }

    /// Evaluates every fusion, saves it if asked to, and passes its scores to `scored`.
    pub(super) fn judged(
        &self,
        judgments: &Judgments,
        options: &EvaluateOptions,
        mut scored: impl FnMut(&str, &Scores) -> Result<()>,
    ) -> Result<Vec<(Evaluation, Fused)>> {
        if self.missing.is_some() {
            self.keeping.iter().for_each(Keeping::note_waiting);
            return Ok(Vec::new());
        }
        let weights = self.methods.iter().map(|flag| self.weights(&flag.name(), flag.method(), options));
        let weights = weights.collect::<Result<Vec<_>>>()?;
        // All at once: the members of one may be those of another.
        if let Some(keeping) = &self.keeping {
            let files: Vec<&str> = self.members.iter().map(|member| member.file.as_str()).collect();
            keeping.fusions(self.methods.iter().map(|flag| (flag.name(), flag.method())).zip(&weights), &files)?;
        }
        let one = |(flag, weights): (&MethodFlag, Vec<f64>)| {
            let (method, name) = (flag.method(), flag.name());
            let lists: Vec<&Scores> = self.members.iter().map(|member| &member.scores).collect();
            let scores = fuse_scores(&lists, &weights, method);
            let members = || self.members.iter().zip(weights.iter().copied());
            scored(&name, &scores)?;
            let evaluation = judge(&name, &scores, judgments, options);
            let fitted_on = self.fitted_on().map(|judgments| judgments.queries.len());
            let members = members().map(|(member, weight)| (member.name.clone(), weight)).collect();
            Ok((evaluation, Fused { name, method: flag.value(), members, fitted_on }))
        };
        self.methods.iter().zip(weights).map(one).collect()
    }

    fn weights(&self, name: &str, method: FusionMethod, options: &EvaluateOptions) -> Result<Vec<f64>> {
        Ok(match &self.weights {
            Weights::Equal => {
                let lists: Vec<&Scores> = self.members.iter().map(|member| &member.scores).collect();
                equal_weights(&lists, method)
            }
            Weights::Given(weights) => weights.clone(),
            Weights::Fitted { others, .. } => {
                let lists: Vec<&Scores> = self.members.iter().map(|member| &member.fitting).collect();
                fitted(name, |watch| fit_fusion(&lists, others, method, options, watch))?
            }
        })
    }
}

/// The weights that `fit` finds, with a progress bar.
pub(super) fn fitted(
    name: &str,
    fit: impl FnOnce(&mut FitWatch<'_>) -> clickvec::Result<FittedWeights>,
) -> Result<Vec<f64>> {
    let bar = progress::bar(1, &output::printable(name), "steps");
    let fitted = fit(&mut |progress| {
        bar.set_length(progress.of);
        bar.set_position(progress.done);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    Ok(fitted?.weights)
}

/// Each fusion that is left out because the member `missing` could not be trained, and why, which is told.
pub(super) fn without_member(methods: &[MethodFlag], missing: Option<&str>) -> Vec<(String, String)> {
    let Some(missing) = missing else { return Vec::new() };
    let left_out = |flag: &MethodFlag| {
        let why = format!("{}: its member `{}` was left out", flag.name(), output::printable(missing));
        output::note(format_args!("left out {why}"));
        (flag.name(), why)
    };
    methods.iter().map(left_out).collect()
}

/// The weights given on the command line, scaled so that their sum is 1.
fn checked(weights: &[f64], members: &[&Entry]) -> Result<Vec<f64>> {
    if weights.len() != members.len() {
        let names: Vec<_> = members.iter().map(|system| output::printable(&system.name)).collect();
        let names = names.join(", ");
        bail!("expected a weight for each of {names}, in this order, found {}", weights.len());
    }
    if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        bail!("expected weights of 0 or more, found {weight}");
    }
    if weights.iter().all(|&weight| weight == 0.0) {
        bail!("expected a weight above 0, found none");
    }
    // Divide by the largest first, because the sum of large weights may overflow.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
    Ok(weights.iter().map(|weight| weight / largest / sum).collect())
}

/// The queries to fit weights on, without those that the systems are evaluated on.
fn others(path: &Path, args: &Args, judgments: &Judgments) -> Result<Weights> {
    let (topics, titles) = (args.topics.as_deref(), args.titles.as_deref());
    let files = TestSetFiles { judged: path, topics, titles, field: &args.field };
    let TestSet { judgments: mut others, title_ids, .. } = test_set::read(&files)?;
    let judged: HashSet<String> = judgments.queries.iter().map(|query| query_key(&query.text)).collect();
    let before = others.queries.len();
    others.queries.retain(|query| !judged.contains(&query_key(&query.text)));
    if others.queries.is_empty() {
        bail!(
            "{}: expected queries that are not in --judged, found none; weights are fitted on other queries",
            path.display()
        );
    }
    if others.queries.len() < before {
        let left_out = output::counted((before - others.queries.len()) as u64, "query");
        output::note(format_args!("{}: left out {left_out} that --judged has too", path.display()));
    }
    if others.queries.len() < FEW_QUERIES {
        let few = output::counted(others.queries.len() as u64, "query");
        output::note(format_args!(
            "warning: {}: weights fitted on {few} follow chance; judge {FEW_QUERIES} or more, or leave --fusion-judged out",
            path.display()
        ));
    }
    Ok(Weights::Fitted { others, title_ids })
}
