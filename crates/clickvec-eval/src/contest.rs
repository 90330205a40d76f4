//! A system compared with others over all titles: the tests, what they say in words, and how far that can be trusted.

use serde::{Deserialize, Serialize};

use super::significance::{compared, correct};
use super::{Comparison, Correction, Evaluation, Metric, Metrics, Verdict};
use clickvec_tables::Result;

/// The metric that is tested.
const DECIDES: Metric = Metric::Ndcg(10);
/// The share of the first titles that were judged or shown, and the metric without the others.
const JUDGED: Metric = Metric::Judged(10);
const CONDENSED: Metric = Metric::CondensedNdcg(10);
/// With a smaller share of judged titles, those without a judgment decide a comparison.
const ENOUGH_JUDGED: f64 = 0.7;

/// What says which titles are relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Clicks of queries that were held out.
    Clicks,
    /// The same, where the log says what was shown and not clicked.
    Impressions,
    /// Grades.
    Judgments,
}

/// A system compared with others on the same queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contest {
    /// What says which titles are relevant.
    pub evidence: Evidence,
    /// The system, then the others.
    pub systems: Vec<Standing>,
    /// The paired t-tests of NDCG@10 between the system, `a`, and each of the others, corrected for all of them.
    pub tests: Vec<Comparison>,
    /// What the tests say, in a sentence.
    pub conclusion: String,
    /// A warning if titles that were never judged or shown decide how the systems compare.
    pub warning: Option<String>,
}

/// The means of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The system's name.
    pub name: String,
    /// The mean of each metric over the queries.
    #[serde(flatten)]
    pub mean: Metrics,
}

impl Contest {
    /// Compares the first of these systems with each of the others.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Mismatch` if the systems were not judged on the same queries.
    ///
    /// # Panics
    ///
    /// If there is no system, or they were not judged by NDCG@10.
    pub fn new(evidence: Evidence, systems: &[Evaluation]) -> Result<Contest> {
        let (first, others) = systems.split_first().expect("a system");
        let compare = |other| compared(first, other, DECIDES);
        let mut tests = others.iter().map(compare).collect::<Result<Vec<Comparison>>>()?;
        correct(tests.iter_mut());
        let (conclusion, warning) = (conclusion(evidence, &first.name, &tests), unjudged_warning(evidence, systems));
        let standing = |system: &Evaluation| Standing { name: system.name.clone(), mean: system.mean.clone() };
        Ok(Contest { evidence, systems: systems.iter().map(standing).collect(), tests, conclusion, warning })
    }
}

/// Returns what the tests of a system against others say, in a sentence.
fn conclusion(evidence: Evidence, name: &str, tests: &[Comparison]) -> String {
    let others = |wanted: Verdict, joint: &str| {
        let tests = tests.iter().filter(|test| test.verdict(Correction::Holm) == wanted);
        let others = tests.map(|test| format!("than {}", test.b)).collect::<Vec<_>>();
        (!others.is_empty()).then(|| others.join(joint))
    };
    let what = match evidence {
        Evidence::Clicks | Evidence::Impressions => "what users clicked",
        Evidence::Judgments => "good titles",
    };
    let better = others(Verdict::Better, " and ").map(|others| format!("finds {what} better {others}"));
    let has_better = better.is_some();
    let not_shown = others(Verdict::NotShown, " or ").map(|others| {
        let that = if has_better { "be".to_owned() } else { format!("find {what}") };
        format!("is not shown to {that} better {others}")
    });
    let worse = others(Verdict::Worse, " and ").map(|others| format!("finds less of {what} {others}"));
    let is_best = not_shown.is_none() && worse.is_none();
    let said: Vec<String> = [better, not_shown, worse].into_iter().flatten().collect();
    let trust = match (evidence, is_best) {
        (Evidence::Judgments, _) => "",
        (_, true) => {
            ", although clicks favour the engine that showed the titles: users cannot click what they were not shown"
        }
        (_, false) => {
            "; clicks favour the engine that showed the titles, since users cannot click what they were not shown, so only \
             judged titles can tell which is better"
        }
    };
    format!("{name} {}{trust}", said.join(", and "))
}

/// Returns a warning if titles that were never judged or shown decide how these systems compare. Without
/// [`Metric::Judged`] at 10 there is none.
pub fn unjudged_warning(evidence: Evidence, systems: &[Evaluation]) -> Option<String> {
    let share = |system: &Evaluation| system.mean.iter().find(|(metric, _)| *metric == JUDGED).map(|(_, share)| share);
    let shares: Vec<f64> = systems.iter().filter_map(share).collect();
    let least = shares.iter().copied().reduce(f64::min).filter(|&least| least < ENOUGH_JUDGED)?;
    let most = shares.iter().copied().fold(least, f64::max);
    let range = if format!("{least:.2}") == format!("{most:.2}") {
        format!("{least:.2}")
    } else {
        format!("{least:.2} to {most:.2}")
    };
    let (are, others, favoured) = match evidence {
        Evidence::Clicks => ("were ever clicked", "titles that nobody was shown", "the engine that made the log"),
        Evidence::Impressions => {
            ("were shown to users", "titles that they were not shown", "the engine that made the log")
        }
        Evidence::Judgments => ("have a judgment", "titles without one", "the systems whose results were judged"),
    };
    Some(format!(
        "only {range} of the first ten titles {are} ({} leaves the others out):\n\
         {others} count as bad and decide this comparison, in favour of {favoured}",
        CONDENSED.heading()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueryMetrics;

    /// Returns a system with these values of NDCG@10, and this share of judged titles.
    fn system(name: &str, values: impl Fn(usize) -> f64, judged: f64) -> Evaluation {
        let metrics = |value| Metrics::from_iter([(DECIDES, value), (JUDGED, judged)]);
        let queries: Vec<QueryMetrics> =
            (0..100).map(|query| QueryMetrics { id: query.to_string(), metrics: metrics(values(query)) }).collect();
        let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
        Evaluation { name: name.to_owned(), queries, mean, queries_without_relevant: 0, queries_without_titles: 0 }
    }

    fn noisy(level: f64) -> impl Fn(usize) -> f64 {
        move |query| level + (query % 7) as f64 / 50.0
    }

    fn contest(evidence: Evidence, level: f64) -> String {
        let others = [system("BM25", |query| 0.3 + (query % 5) as f64 / 50.0, 0.9)];
        let systems = [system("the index", noisy(level), 0.5)].into_iter().chain(others);
        Contest::new(evidence, &systems.collect::<Vec<_>>()).unwrap().conclusion
    }

    #[test]
    fn clicks_favour_the_engine_that_showed_the_titles() {
        let better = contest(Evidence::Clicks, 0.5);
        assert!(better.starts_with("the index finds what users clicked better than BM25, although clicks favour"));
        let worse = contest(Evidence::Clicks, 0.1);
        assert!(worse.starts_with("the index finds less of what users clicked than BM25; clicks favour"), "{worse}");
        assert_eq!(contest(Evidence::Judgments, 0.1), "the index finds less of good titles than BM25");
    }

    #[test]
    fn a_contest_is_read_as_it_was_written() {
        let systems = [system("a", noisy(0.5), 0.5), system("b", noisy(0.4), 0.9)];
        let contest = Contest::new(Evidence::Clicks, &systems).unwrap();
        let read: Contest = serde_json::from_str(&serde_json::to_string(&contest).unwrap()).unwrap();
        assert_eq!(read.systems, contest.systems);
        assert_eq!((read.conclusion, read.tests[0].holm), (contest.conclusion, contest.tests[0].holm));
    }

    #[test]
    fn few_judged_titles_are_warned_of() {
        let systems = |judged| [system("a", noisy(0.5), judged), system("b", noisy(0.5), 0.9)];
        let warning = unjudged_warning(Evidence::Clicks, &systems(0.4)).unwrap();
        assert!(warning.starts_with("only 0.40 to 0.90 of the first ten titles were ever clicked ("), "{warning}");
        let shown = unjudged_warning(Evidence::Impressions, &systems(0.4)).unwrap();
        assert!(shown.starts_with("only 0.40 to 0.90 of the first ten titles were shown to users ("), "{shown}");
        assert_eq!(unjudged_warning(Evidence::Judgments, &systems(0.8)), None);
    }
}
