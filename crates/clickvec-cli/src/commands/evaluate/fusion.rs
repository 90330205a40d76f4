//! Fusions of all systems on the command line, one for each method.

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use clap::ValueEnum;
use clickvec_eval::ranker::{FUSED_DEPTH, FusionMethod, RECIPROCAL_RANK_K};
use clickvec_eval::{Answers, equal_weights, fit_fusion};

use super::Args;
use super::keeping::Keeping;
use super::systems::{Entry, file_of};
use super::test::Test;
use crate::{output, progress};

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

    /// Returns the name of the fusion in the report.
    pub(super) fn name(self) -> String {
        format!("fusion:{}", self.value())
    }
}

/// The source of the weights.
enum Weights {
    Equal,
    Fixed(Vec<f64>),
    /// Fitted on other queries than the judged ones.
    Fitted,
}

/// The answers of a system.
pub(super) struct Found {
    /// To the queries that systems are judged by.
    pub(super) judged: Answers,
    /// To those that weights are fitted on, if there are any.
    pub(super) fitting: Option<Answers>,
}

/// A member of the fusions.
struct Member {
    name: String,
    /// Its file in the folder of `--save-rankers`.
    file: String,
    found: Found,
}

/// A fusion as the report shows it.
pub(super) struct Fused {
    pub(super) name: String,
    /// The method as on the command line.
    pub(super) method: MethodFlag,
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
    keeping: Option<&'a Keeping<'a>>,
    members: Vec<Member>,
    /// The first member that could not be trained.
    missing: Option<String>,
}

impl<'a> Fusions<'a> {
    /// Checks, before any training, that the systems can be fused as requested.
    pub(super) fn new(args: &'a Args, keeping: Option<&'a Keeping<'a>>, systems: &[Entry]) -> Result<Fusions<'a>> {
        let members: Vec<&Entry> = systems.iter().filter(|system| !system.is_fusion()).collect();
        if !args.fusion.is_empty() {
            if members.len() < 2 {
                let found = output::counted(members.len() as u64, "system");
                let besides =
                    if members.len() < systems.len() { " besides fusions, which are not fused again" } else { "" };
                bail!("expected two systems or more to fuse, found {found}{besides}; add `--ranker` or `--model`");
            }
            for fusion in systems.iter().filter(|system| system.is_fusion()) {
                let name = output::printable(&fusion.name);
                output::note(format_args!("{name}: a fusion, which is judged but not fused again"));
            }
        }
        let weights = match (&args.fusion_weights[..], &args.fusion_judged) {
            ([], None) => Weights::Equal,
            (weights, None) => Weights::Fixed(checked(weights, &members)?),
            (_, Some(_)) => Weights::Fitted,
        };
        Ok(Fusions { methods: &args.fusion, weights, keeping, members: Vec::new(), missing: None })
    }

    /// Returns whether the fusions need the answers of this system.
    pub(super) fn wants(&self, system: &Entry) -> bool {
        !self.methods.is_empty() && !system.is_fusion()
    }

    /// Adds a member with its answers. If fusions are saved, copies the member to their folder.
    pub(super) fn add(&mut self, system: &Entry, found: Found) -> Result<()> {
        if let (Some(keeping), Some(from)) = (self.keeping, system.file()) {
            keeping.copy(&system.name, from)?;
        }
        self.members.push(Member { name: system.name.clone(), file: file_of(&system.name), found });
        Ok(())
    }

    /// Records that a system could not be trained, so that no fusion can be made.
    pub(super) fn lacks(&mut self, system: &Entry) {
        self.missing.get_or_insert_with(|| system.name.clone());
    }

    /// Returns each fusion that is left out because a member is missing, and why, and reports it.
    pub(super) fn left_out(&self) -> Vec<(String, String)> {
        let Some(missing) = &self.missing else { return Vec::new() };
        let left_out = |flag: &MethodFlag| {
            let why = format!("{}: its member `{}` was left out", flag.name(), output::printable(missing));
            output::note(format_args!("left out {why}"));
            (flag.name(), why)
        };
        self.methods.iter().map(left_out).collect()
    }

    /// Makes every fusion, with the answers that it gives, and saves it if requested.
    pub(super) fn fused(&self, test: &Test) -> Result<Vec<(Fused, Answers)>> {
        if self.missing.is_some() {
            self.keeping.into_iter().for_each(Keeping::note_waiting);
            return Ok(Vec::new());
        }
        if !self.methods.is_empty() && test.collection().is_some() {
            self.note_alike();
        }
        let weights = self.methods.iter().map(|flag| self.weights(*flag, test)).collect::<Result<Vec<_>>>()?;
        // All at once: the members of one may be those of another.
        if let Some(keeping) = self.keeping {
            let files: Vec<&str> = self.members.iter().map(|member| member.file.as_str()).collect();
            keeping.fusions(self.methods.iter().map(|flag| (flag.name(), flag.method())).zip(&weights), &files)?;
        }
        let judged: Vec<&Answers> = self.members.iter().map(|member| &member.found.judged).collect();
        let fuse = |(&method, weights): (&MethodFlag, Vec<f64>)| {
            let mut answers = Answers::fused(&judged, &weights, method.method(), FUSED_DEPTH);
            answers.truncate(test.depth);
            let members = self.members.iter().map(|member| member.name.clone()).zip(weights).collect();
            let fitted_on = test.fitting().map(|task| task.len());
            (Fused { name: method.name(), method, members, fitted_on }, answers)
        };
        Ok(self.methods.iter().zip(weights).map(fuse).collect())
    }

    /// Warns if two members find the same, as a model and an index that was made with it do.
    fn note_alike(&self) {
        for (place, b) in self.members.iter().enumerate() {
            if let Some(a) = self.members[..place].iter().find(|a| a.found.judged == b.found.judged) {
                let [a, b] = [a, b].map(|member| output::printable(&member.name));
                output::note(format_args!(
                    "warning: {a} and {b} find the same for every query; is it one model twice? A fusion gains nothing by the second"
                ));
            }
        }
    }

    fn weights(&self, flag: MethodFlag, test: &Test) -> Result<Vec<f64>> {
        let method = flag.method();
        match (&self.weights, test.fitting()) {
            (Weights::Fixed(weights), _) => Ok(weights.clone()),
            (Weights::Fitted, Some(task)) => {
                let answers: Vec<&Answers> =
                    self.members.iter().filter_map(|member| member.found.fitting.as_ref()).collect();
                let bar = progress::bar(1, &output::printable(&flag.name()), "steps");
                let fitted = fit_fusion(task, &answers, (method, FUSED_DEPTH), &test.options, &mut |progress| {
                    bar.set_length(progress.of);
                    bar.set_position(progress.done);
                    ControlFlow::Continue(())
                });
                bar.finish_and_clear();
                Ok(fitted?.weights)
            }
            (Weights::Equal | Weights::Fitted, _) => {
                let answers: Vec<&Answers> = self.members.iter().map(|member| &member.found.judged).collect();
                Ok(equal_weights(&answers, method))
            }
        }
    }
}

/// Checks the weights on the command line, and scales them so that their sum is 1.
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
