//! Fusions of all systems on the command line, one for each method.

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use clickvec_eval::ranker::{FUSED_DEPTH, FusionMethod};
use clickvec_eval::{Answers, equal_weights, fit_fusion};
use serde::Serialize;

use super::Args;
use super::options::{FusionOption, Weights};
use super::saved::SavedRankers;
use super::systems::{Entry, Systems};
use super::test::Test;
use crate::{output, progress};

/// The answers of a system.
pub(super) struct Found {
    /// To the queries that systems are judged by.
    pub(super) judged: Answers,
    /// To those that weights are fitted on, if there are any.
    pub(super) fitting: Option<Answers>,
}

/// A fusion as the report shows it.
#[derive(Serialize)]
pub(super) struct Fused {
    #[serde(skip)]
    pub(super) name: String,
    pub(super) method: &'static str,
    pub(super) members: Vec<Member>,
    /// The number of queries that the weights were fitted on, if they were fitted.
    pub(super) fitted_on: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) weight: f64,
}

/// A system that is not in the report, and why.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) name: String,
    pub(super) why: String,
}

/// The requested fusions. Members are added as they become ready.
pub(super) struct Fusions<'a> {
    options: &'a [FusionOption],
    /// Where rankers and fusions are saved.
    pub(super) saved: Option<SavedRankers>,
    members: Vec<(String, Found)>,
    /// The first member that could not be trained.
    pub(super) missing: Option<String>,
}

impl<'a> Fusions<'a> {
    /// Checks, before any training, that the systems can be fused as requested.
    pub(super) fn new(args: &Args, systems: &'a Systems) -> Result<Fusions<'a>> {
        let members: Vec<&Entry> = systems.entries.iter().filter(|system| !system.is_fusion()).collect();
        if !systems.fusions.is_empty() {
            if members.len() < 2 {
                let found = output::counted(members.len() as u64, "system");
                let besides = if members.len() < systems.entries.len() {
                    " besides fusions, which are not fused again"
                } else {
                    ""
                };
                bail!("expected two systems or more to fuse, found {found}{besides}; name another");
            }
            for fusion in systems.entries.iter().filter(|system| system.is_fusion()) {
                let name = output::printable(&fusion.name);
                output::note(format_args!("{name}: a fusion, which is judged but not fused again"));
            }
        }
        for fusion in &systems.fusions {
            if let Some(Weights::Fixed(weights)) = &fusion.weights {
                check(weights, &members)?;
            }
        }
        let saved = args.save_rankers.as_deref().map(|folder| SavedRankers::new(folder, &systems.fusions));
        Ok(Fusions { options: &systems.fusions, saved, members: Vec::new(), missing: None })
    }

    /// Returns whether the system is a member.
    pub(super) fn wants(&self, system: &Entry) -> bool {
        !self.options.is_empty() && !system.is_fusion()
    }

    /// Adds a member with its answers. If fusions are saved, copies the member to their folder.
    pub(super) fn add(&mut self, system: &Entry, found: Found) -> Result<()> {
        if let (Some(saved), Some(from)) = (&self.saved, system.file()) {
            saved.copy(&system.name, from)?;
        }
        self.members.push((system.name.clone(), found));
        Ok(())
    }

    /// Returns each fusion that is left out because a member is missing, and reports it.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let Some(missing) = &self.missing else { return Vec::new() };
        let left_out = |fusion: &FusionOption| {
            let name = fusion.name();
            let why = format!("{name}: its member `{}` was left out", output::printable(missing));
            output::note(format_args!("left out {why}"));
            LeftOut { name, why }
        };
        self.options.iter().map(left_out).collect()
    }

    /// Makes every fusion, with the answers that it gives, and saves it if requested.
    pub(super) fn fuse(&self, test: &Test) -> Result<Vec<(Fused, Answers)>> {
        if self.missing.is_some() {
            self.saved.iter().for_each(SavedRankers::note_waiting);
            return Ok(Vec::new());
        }
        if !self.options.is_empty() && test.collection().is_some() {
            self.note_alike();
        }
        let weights = |fusion: &FusionOption| Ok((fusion.method, self.weights(fusion, test)?));
        let fusions = self.options.iter().map(weights).collect::<Result<Vec<_>>>()?;
        // All at once: the members of one may be those of another.
        if let Some(saved) = &self.saved {
            let names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_str()).collect();
            saved.put_fusions(&fusions, &names)?;
        }
        let judged: Vec<&Answers> = self.members.iter().map(|(_, found)| &found.judged).collect();
        let fuse = |(fusion, (method, weights)): (&FusionOption, (FusionMethod, Vec<f64>))| {
            let mut answers = Answers::fused(&judged, &weights, method, FUSED_DEPTH);
            answers.truncate(test.depth);
            let members = self.members.iter().zip(weights);
            let members = members.map(|((name, _), weight)| Member { name: name.clone(), weight }).collect();
            let fitted_on = fusion.file().and(test.fitting()).map(|task| task.len());
            (Fused { name: fusion.name(), method: method.name(), members, fitted_on }, answers)
        };
        Ok(self.options.iter().zip(fusions).map(fuse).collect())
    }

    /// Warns if two members find the same, as a model and an index that was made with it do.
    fn note_alike(&self) {
        for (at, (b, found)) in self.members.iter().enumerate() {
            if let Some((a, _)) = self.members[..at].iter().find(|(_, other)| other.judged == found.judged) {
                let [a, b] = [a, b].map(|name| output::printable(name));
                output::note(format_args!(
                    "warning: {a} and {b} find the same for every query; is it one model twice? A fusion gains nothing by the second"
                ));
            }
        }
    }

    fn weights(&self, fusion: &FusionOption, test: &Test) -> Result<Vec<f64>> {
        let method = fusion.method;
        if let Some(Weights::Fixed(weights)) = &fusion.weights {
            return Ok(scaled(weights));
        }
        let Some(task) = fusion.file().and(test.fitting()) else {
            let answers: Vec<&Answers> = self.members.iter().map(|(_, found)| &found.judged).collect();
            return Ok(equal_weights(&answers, method));
        };
        let answers: Vec<&Answers> = self.members.iter().filter_map(|(_, found)| found.fitting.as_ref()).collect();
        let bar = progress::bar(1, &fusion.name(), "steps");
        let fitted = fit_fusion(task, &answers, (method, FUSED_DEPTH), &test.options, &mut |progress| {
            bar.set_length(progress.of);
            bar.set_position(progress.done);
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        Ok(fitted?.weights)
    }
}

/// Checks the weights on the command line.
fn check(weights: &[f64], members: &[&Entry]) -> Result<()> {
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
    Ok(())
}

/// Returns weights whose sum is 1.
fn scaled(weights: &[f64]) -> Vec<f64> {
    // Divide by the largest first, because the sum of large weights may overflow.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
    weights.iter().map(|weight| weight / largest / sum).collect()
}
