//! Fusions of the lists that all systems on the command line found.

use std::path::Path;

use anyhow::Result;
use clickvec::eval::{FullEvaluation, FullJudge, equal_search_weights, fit_search_fusion};
use clickvec::index::Hit;
use clickvec::ranker::{FUSED_DEPTH, FusionMethod, fuse_hits};

use super::super::fusion::{Fused, MethodFlag, Weights, fitted, without_member};
use super::super::keeping::Keeping;
use super::super::systems::{Entry, file_of};
use super::super::{Args, trec};
use super::{Lists, Search};
use crate::output;

/// The number of queries whose lists are fused at once.
const QUERIES_AT_ONCE: usize = 256;

/// A member of the fusions.
struct Member {
    name: String,
    /// Its file in the folder of `--save-rankers`.
    file: String,
    lists: Lists,
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
    pub(super) fn new(args: &'a Args, keeping: Option<Keeping<'a>>, weights: Weights) -> Fusions<'a> {
        Fusions { methods: &args.fusion, weights, keeping, members: Vec::new(), missing: None }
    }

    /// Whether the fusions need the lists of this system.
    pub(super) fn wants(&self, system: &Entry) -> bool {
        !self.methods.is_empty() && !system.is_fusion()
    }

    /// Adds a member with the lists that it found. If fusions are saved, copies the member to their folder.
    pub(super) fn add(&mut self, system: &Entry, lists: Lists) -> Result<()> {
        if self.wants(system) {
            let file = file_of(&system.name);
            if let (Some(keeping), Some(from)) = (&self.keeping, system.file()) {
                keeping.copy(&system.name, from)?;
            }
            self.members.push(Member { name: system.name.clone(), file, lists });
        }
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

    /// Evaluates every fusion, and saves it or writes it as a run if asked to.
    pub(super) fn judged(&self, search: &Search<'_>, runs: Option<&Path>) -> Result<Vec<(FullEvaluation, Fused)>> {
        if self.missing.is_some() {
            self.keeping.iter().for_each(Keeping::note_waiting);
            return Ok(Vec::new());
        }
        if !self.methods.is_empty() {
            self.note_alike();
        }
        let weights = self.methods.iter().map(|flag| self.weights(&flag.name(), flag.method(), search));
        let weights = weights.collect::<Result<Vec<_>>>()?;
        // All at once: the members of one may be those of another.
        if let Some(keeping) = &self.keeping {
            let files: Vec<&str> = self.members.iter().map(|member| member.file.as_str()).collect();
            keeping.fusions(self.methods.iter().map(|flag| (flag.name(), flag.method())).zip(&weights), &files)?;
        }
        self.methods.iter().zip(weights).map(|(flag, weights)| self.fused(flag, weights, search, runs)).collect()
    }

    /// Says so if two members find the same, as a model and an index that was made with it do.
    fn note_alike(&self) {
        for (place, b) in self.members.iter().enumerate() {
            if let Some(a) = self.members[..place].iter().find(|a| a.lists.judged == b.lists.judged) {
                let [a, b] = [a, b].map(|member| output::printable(&member.name));
                output::note(format_args!(
                    "warning: {a} and {b} find the same for every query; is it one model twice? A fusion gains nothing by the second"
                ));
            }
        }
    }

    fn fused(
        &self,
        flag: &MethodFlag,
        weights: Vec<f64>,
        search: &Search<'_>,
        runs: Option<&Path>,
    ) -> Result<(FullEvaluation, Fused)> {
        let (method, name) = (flag.method(), flag.name());
        let mut judge = FullJudge::new(&search.set.titles, search.measures, &search.options);
        let mut run = runs.map(|folder| trec::RunWriter::new(folder, &name)).transpose()?;
        for (chunk, queries) in search.set.queries.chunks(QUERIES_AT_ONCE).enumerate() {
            let of_query = |number: usize| -> Vec<Hit> {
                let lists: Vec<&[Hit]> =
                    self.members.iter().map(|member| member.lists.judged[number].as_slice()).collect();
                let mut fused = fuse_hits(&lists, &weights, method, FUSED_DEPTH);
                fused.truncate(search.depth);
                fused
            };
            let first = chunk * QUERIES_AT_ONCE;
            let lists: Vec<Vec<Hit>> = (first..first + queries.len()).map(of_query).collect();
            judge.add(queries, &lists);
            if let Some(run) = &mut run {
                run.add(queries, &lists, &search.set.titles)?;
            }
        }
        if let Some(run) = run {
            run.finish()?;
        }
        let fitted_on = self.weights.fitted_on().map(|judgments| judgments.queries.len());
        let members = self.members.iter().zip(weights).map(|(member, weight)| (member.name.clone(), weight)).collect();
        Ok((judge.finish(&name), Fused { name, method: flag.value(), members, fitted_on }))
    }

    fn weights(&self, name: &str, method: FusionMethod, search: &Search<'_>) -> Result<Vec<f64>> {
        Ok(match &self.weights {
            Weights::Equal => {
                let lists: Vec<&[Vec<Hit>]> = self.members.iter().map(|member| &member.lists.judged[..]).collect();
                equal_search_weights(&lists, method)
            }
            Weights::Given(weights) => weights.clone(),
            Weights::Fitted { .. } => {
                let lists: Vec<&[Vec<Hit>]> = self.members.iter().map(|member| &member.lists.others[..]).collect();
                let options = &search.options;
                fitted(name, |watch| fit_search_fusion(&lists, search.others, (method, FUSED_DEPTH), options, watch))?
            }
        })
    }
}
