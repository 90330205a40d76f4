//! Rows that are fusions of other rows.

use std::time::Instant;

use xxhash_rust::xxh3::Xxh3;

use super::maker::{Maker, Points, named};
use super::{Judged, Point, Row, TrainingFacts};
use crate::error::{Error, PlanFault, Result};
use crate::eval::{Judgments, Scores, fit_fusion, fuse_scores};
use crate::ranker::{FittedWeights, FusionMethod};

impl Maker<'_> {
    /// For each fold, fuses the members' scores on that fold, with the method and the weights that are best on the
    /// other folds.
    pub(super) fn fusion(&mut self, members: &[usize], methods: &[FusionMethod], rows: &[Row]) -> Result<Points> {
        let mut judged: Vec<&Judged> = Vec::with_capacity(members.len());
        for &member in members {
            match &rows[member].outcome {
                Ok(row) => judged.push(row),
                Err(_) => {
                    return Err(Error::Plan(PlanFault::MissingMember { name: rows[member].name.clone() }));
                }
            }
        }
        let mut points = Vec::with_capacity(self.folds.count());
        for fold in 0..self.folds.count() {
            let of: Vec<&Scores> = judged.iter().map(|row| &row.points[row.chosen[fold]].scores).collect();
            let key = self.fusion_key(fold, members, methods, rows, &of)?;
            if let Some(point) = self.cache.get(&key, self.judgments) {
                points.push(point);
                continue;
            }
            let began = Instant::now();
            let queries: Vec<usize> =
                (0..self.judgments.queries.len()).filter(|&query| self.folds.chooses(query, fold)).collect();
            let chosen = Judgments {
                queries: queries.iter().map(|&query| self.judgments.queries[query].clone()).collect(),
                duplicates: 0,
            };
            let of_chosen: Vec<Scores> =
                of.iter().map(|scores| queries.iter().map(|&query| scores[query].clone()).collect()).collect();
            let of_chosen: Vec<&Scores> = of_chosen.iter().collect();
            let fitted = methods.iter().map(|&method| (method, fit_fusion(&of_chosen, &chosen, method, &self.options)));
            // Of equals, the first.
            let better = |best: (FusionMethod, FittedWeights), other: (FusionMethod, FittedWeights)| {
                if other.1.objective > best.1.objective { other } else { best }
            };
            let Some((method, FittedWeights { weights, .. })) = fitted.reduce(better) else {
                unreachable!("a method or more")
            };
            let scores = fuse_scores(&of, &weights, method);
            let named =
                members.iter().zip(&weights).map(|(&member, weight)| format!("{}={weight:.2}", rows[member].name));
            let point = Point {
                parameters: format!("{}: {}", method_name(method), named.collect::<Vec<_>>().join(", ")),
                scores,
                training: TrainingFacts { seconds: began.elapsed().as_secs_f64(), ..TrainingFacts::default() },
                score_seconds: 0.0,
                bytes: 0,
            };
            self.cache.put(&key, &point)?;
            points.push(point);
        }
        Ok(Points { points, by_fold: true })
    }

    /// The name of what depends on the members' scores and how they are combined.
    fn fusion_key(
        &mut self,
        fold: usize,
        members: &[usize],
        methods: &[FusionMethod],
        rows: &[Row],
        scores: &[&Scores],
    ) -> Result<String> {
        let mut parts = vec!["fusion".to_owned(), self.data().field.clone(), format!("{methods:?}")];
        parts.push(format!("fold {fold} of {}, seed {}", self.folds.count(), self.plan.seed));
        for (&member, scores) in members.iter().zip(scores) {
            let mut hash = Xxh3::new();
            scores.iter().flatten().for_each(|score| hash.update(&score.to_bits().to_le_bytes()));
            parts.push(format!("{} {:032x}", rows[member].name, hash.digest128()));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let judged = self.data().judged_files();
        let key = self.cache.key(&named("judged", &judged).collect::<Vec<_>>(), &parts)?;
        Ok(format!("{key}-scores"))
    }
}

fn method_name(method: FusionMethod) -> &'static str {
    match method {
        FusionMethod::MinMax => "min-max",
        FusionMethod::ZScore => "z-score",
        FusionMethod::ReciprocalRank { .. } => "reciprocal rank",
    }
}
