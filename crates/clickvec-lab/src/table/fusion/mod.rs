//! Rows that are fusions of other rows.

pub(crate) mod fit;
pub(crate) mod weights;

use std::fmt::Write as _;

use xxhash_rust::xxh3::Xxh3;

use self::fit::{fit_fusion, fused};
use self::weights::FittedWeights;
use super::fault::Fault;
use super::full::{DEPTH, pack, unpack};
use super::maker::{Maker, Points, named};
use super::processor::ProcessorClock;
use super::{Event, Judged, Point, Row, TrainingFacts, Watch};
use clickvec::index::Hit;
use clickvec_eval::{Answers, Judgments, SearchQuery, Task};
use clickvec_index::FusionMethod;
use clickvec_tables::ErrorKind;
use clickvec_tables::Result;

impl Maker<'_> {
    /// For each fold and each seed, fuses the members' scores on that fold, with the method and the weights that are best
    /// on the other folds.
    pub(super) fn fusion(
        &mut self,
        members: &[usize],
        methods: &[FusionMethod],
        rows: &[Row],
        watch: &mut Watch<'_>,
    ) -> Result<Points, Fault> {
        let mut judged: Vec<&Judged> = Vec::with_capacity(members.len());
        for &member in members {
            match &rows[member].outcome {
                Ok(row) => judged.push(row),
                Err(_) => {
                    let message = format!("its member `{}` was left out", rows[member].name);
                    return Err(Fault::Row(clickvec_tables::Error::new(ErrorKind::Empty, message)));
                }
            }
        }
        let seeds = judged.iter().map(|row| row.seeds.len()).max().unwrap_or(1);
        let mut points = Vec::with_capacity(self.folds.count());
        for fold in 0..self.folds.count() {
            let seed_points =
                |seed: usize| -> Vec<&Point> { judged.iter().map(|row| row.point(row.chosen[fold], seed)).collect() };
            let fold_points =
                (0..seeds).map(|seed| self.fused(fold, &seed_points(seed), members, methods, rows, watch));
            points.push(fold_points.collect::<Result<_>>()?);
        }
        Ok(Points { points, by_fold: true })
    }

    /// Fuses one point of each member for a fold.
    fn fused(
        &mut self,
        fold: usize,
        of: &[&Point],
        members: &[usize],
        methods: &[FusionMethod],
        rows: &[Row],
        watch: &mut Watch<'_>,
    ) -> Result<Point> {
        let key = self.fusion_key(fold, members, methods, rows, of)?;
        if let Some(point) = self.finished(&key) {
            return Ok(point);
        }
        let clock = ProcessorClock::start();
        let queries: Vec<usize> =
            (0..self.judgments.queries.len()).filter(|&query| self.folds.chooses(query, fold)).collect();
        let chosen = Judgments {
            queries: queries.iter().map(|&query| self.judgments.queries[query].clone()).collect(),
            ..Judgments::default()
        };
        let members_answers: Vec<Answers> = of
            .iter()
            .map(|point| Answers::Scores(queries.iter().map(|&query| point.scores[query].clone()).collect()))
            .collect();
        let members_answers: Vec<&Answers> = members_answers.iter().collect();
        let mut told = |progress| watch(Event::Step { system: "fusion", progress });
        let task = Task::Judged(&chosen);
        let fit = |method| fit_fusion(task, &members_answers, (method, DEPTH), &self.options, &mut told);
        let (judged_method, FittedWeights { weights: judged_weights, .. }) = best_of(methods, fit)?;
        let shown = |weights: &[f64]| {
            let named =
                members.iter().zip(weights).map(|(&member, weight)| format!("{}={weight:.2}", rows[member].name));
            named.collect::<Vec<_>>().join(", ")
        };
        let mut parameters = format!("{}: {}", method_name(judged_method), shown(&judged_weights));
        let mut found = Vec::new();
        // A search of all titles has weights of its own, fitted to the same queries.
        if let Some(set) = &self.collection {
            let lists: Vec<Vec<Vec<Hit>>> =
                of.iter().map(|point| point.found.iter().map(|hits| unpack(hits)).collect()).collect();
            let members_answers: Vec<Answers> = lists
                .iter()
                .map(|lists| Answers::Lists(queries.iter().map(|&query| lists[query].clone()).collect()))
                .collect();
            let members_answers: Vec<&Answers> = members_answers.iter().collect();
            let search_queries: Vec<SearchQuery> = queries.iter().map(|&query| set.queries[query].clone()).collect();
            let mut told = |progress| watch(Event::Step { system: "fusion of all titles", progress });
            let fit = |method| {
                fit_fusion(set.task(&search_queries), &members_answers, (method, DEPTH), &self.options, &mut told)
            };
            let (method, FittedWeights { weights, .. }) = best_of(methods, fit)?;
            let lists: Vec<Answers> = lists.into_iter().map(Answers::Lists).collect();
            let mut fused = fused(&lists.iter().collect::<Vec<_>>(), &weights, method, DEPTH);
            fused.truncate(DEPTH);
            found = fused.lists().iter().map(|hits| pack(hits)).collect();
            let _ = write!(parameters, "; all titles: {}: {}", method_name(method), shown(&weights));
        }
        let scores: Vec<Answers> = of.iter().map(|point| Answers::Scores(point.scores.clone())).collect();
        let point = Point {
            parameters,
            scores: fused(&scores.iter().collect::<Vec<_>>(), &judged_weights, judged_method, DEPTH).scores().clone(),
            training: TrainingFacts { seconds: clock.seconds(), ..TrainingFacts::default() },
            score_seconds: 0.0,
            bytes: 0,
            weights: None,
            found,
        };
        self.cache.put(&key, &point)?;
        Ok(point)
    }

    /// Returns the name of a result that depends on the members' scores and how they are combined.
    fn fusion_key(
        &mut self,
        fold: usize,
        members: &[usize],
        methods: &[FusionMethod],
        rows: &[Row],
        points: &[&Point],
    ) -> Result<String> {
        let mut parts = vec!["fusion".to_owned(), self.data().field.clone(), format!("{methods:?}")];
        parts.push(format!("fold {fold} of {}, seed {}", self.folds.count(), self.plan.seed));
        for (&member, point) in members.iter().zip(points) {
            let mut hash = Xxh3::new();
            point.scores.iter().flatten().for_each(|score| hash.update(&score.to_bits().to_le_bytes()));
            for hits in &point.found {
                hash.update(&hits.len().to_le_bytes());
                hits.iter().for_each(|(position, score)| hash.update(bytemuck::bytes_of(&[*position, *score])));
            }
            parts.push(format!("{} {:032x}", rows[member].name, hash.digest128()));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let judged = self.data().judged_files();
        self.scores_key(&named("judged", &judged).collect::<Vec<_>>(), &parts)
    }
}

/// Fits each method, and returns the best one with its weights; of equals, the first.
fn best_of(
    methods: &[FusionMethod],
    mut fit: impl FnMut(FusionMethod) -> Result<FittedWeights>,
) -> Result<(FusionMethod, FittedWeights)> {
    let better = |best: (FusionMethod, FittedWeights), other: (FusionMethod, FittedWeights)| {
        if other.1.objective > best.1.objective { other } else { best }
    };
    let fitted: Vec<_> = methods.iter().map(|&method| Ok((method, fit(method)?))).collect::<Result<_>>()?;
    Ok(fitted.into_iter().reduce(better).unwrap_or_else(|| unreachable!("a fusion has a method or more")))
}

/// The name in the table, which is stored in its cache.
fn method_name(method: FusionMethod) -> &'static str {
    match method {
        FusionMethod::Linear => "linear",
        FusionMethod::MinMax => "min-max",
        FusionMethod::ZScore => "z-score",
        FusionMethod::ReciprocalRank { .. } => "reciprocal rank",
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::{Data, Entry, Event, Options, Plan, Source, make};
    use super::*;
    use clickvec::train::Weighting;
    use clickvec_eval::ranker::RankerSpec;

    const JUDGED: &str = "query_id\tquery\titem_id\ttitle\tgrade\n\
        1\tred door\ta\tred door\t3\n1\tred door\tb\tred lamp\t0\n\
        2\tblue lamp\tc\tblue lamp\t2\n2\tblue lamp\td\tblue door\t1\n";

    fn plan(judged: std::path::PathBuf) -> Plan {
        let data = Data {
            judged,
            topics: None,
            clicks: None,
            titles: None,
            field: "title".to_owned(),
            weighting: Weighting::Log,
        };
        let row = |name: &str, source| Entry { name: name.to_owned(), field: None, seeds: None, source };
        let ranker = |name: &str| {
            let points = vec![name.parse::<RankerSpec>().expect("a ranker")];
            row(name, Source::Ranker(points))
        };
        let both = Source::Fusion { members: vec![0, 1], methods: vec![FusionMethod::MinMax] };
        let entries = vec![ranker("bm25"), ranker("trigram"), row("both", both)];
        Plan { data, folds: 2, seed: 1, seeds: 1, full: false, entries }
    }

    #[test]
    fn a_table_can_be_cancelled_while_weights_are_fitted_and_goes_on_from_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let judged = folder.path().join("judged.tsv");
        std::fs::write(&judged, JUDGED).expect("written");
        let cache = folder.path().join("cache");
        let options = Options { cache: &cache, program: &judged };
        let plan = plan(judged.clone());

        let mut steps = Vec::new();
        let cancelled = make(&plan, &options, &mut |event| match event {
            Event::Step { system: "fusion", progress } => {
                steps.push((progress.done, progress.of));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        assert!(cancelled.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted), "{cancelled:?}");
        assert_eq!(steps, [(0, 3)], "it stops at once");

        let mut trained = 0;
        let mut begun = Vec::new();
        let table = make(&plan, &options, &mut |event| {
            match event {
                Event::Row { name, .. } => begun.push(name.to_owned()),
                Event::Step { system, .. } if system != "fusion" => trained += 1,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        let rows = table.expect("a table").rows;
        assert_eq!((begun.join(" "), trained), ("bm25 trigram both".to_owned(), 0), "the rankers were kept");
        assert!(rows.iter().all(|row| row.outcome.is_ok()));
    }
}
