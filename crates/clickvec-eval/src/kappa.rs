//! How far two judges agree beyond chance: Cohen's κ.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// The weight of a disagreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disagreement {
    /// Any other grade counts the same.
    Any,
    /// By the square of the distance between the grades: 4 instead of 3 hardly counts, 4 instead of 0 does.
    Squared,
}

impl Disagreement {
    fn weight(self, a: u8, b: u8) -> f64 {
        match self {
            Disagreement::Any => f64::from(u8::from(a != b)),
            Disagreement::Squared => (f64::from(a) - f64::from(b)).powi(2),
        }
    }
}

/// Cohen's κ of two judges, from the grades that each gave the same titles: 1 if they always agree, 0 if they agree as
/// often as their grades would by chance (Cohen 1960; weighted, Cohen 1968). `None` without a title, or if both gave one
/// and the same grade to all, for which chance agrees as well.
pub fn kappa(grades: &[(u8, u8)], disagreement: Disagreement) -> Option<f64> {
    let n = grades.len() as f64;
    let mut counts = [[0.0f64; 256]; 2];
    for &(a, b) in grades {
        counts[0][usize::from(a)] += 1.0;
        counts[1][usize::from(b)] += 1.0;
    }
    let used = |judge: usize| (0..=u8::MAX).filter(move |&grade| counts[judge][usize::from(grade)] > 0.0);
    let by_chance: f64 = used(0)
        .flat_map(|a| used(1).map(move |b| (a, b)))
        .map(|(a, b)| counts[0][usize::from(a)] * counts[1][usize::from(b)] * disagreement.weight(a, b))
        .sum();
    let observed: f64 = grades.iter().map(|&(a, b)| disagreement.weight(a, b)).sum();
    (by_chance > 0.0).then(|| 1.0 - observed * n / by_chance)
}

/// How two judges agree on the titles that both graded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// The number of titles that both graded.
    pub titles: usize,
    /// Those that have the same grade from both.
    pub same: usize,
    /// Cohen's κ, if it is defined.
    pub kappa: Option<f64>,
    /// κ with squared weights.
    pub weighted_kappa: Option<f64>,
}

impl Agreement {
    /// Returns the agreement of two judges, from the grades that each gave the same titles.
    pub fn new(grades: &[(u8, u8)]) -> Agreement {
        Agreement {
            titles: grades.len(),
            same: grades.iter().filter(|(a, b)| a == b).count(),
            kappa: kappa(grades, Disagreement::Any),
            weighted_kappa: kappa(grades, Disagreement::Squared),
        }
    }
}

impl Display for Agreement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Agreement { titles, same, kappa, weighted_kappa } = self;
        if *titles == 0 {
            return f.write_str("no title was judged by both, so how far they agree is not known");
        }
        let shown = |kappa: &Option<f64>| kappa.map_or("not defined".to_owned(), |kappa| format!("{kappa:.2}"));
        let [kappa, weighted] = [kappa, weighted_kappa].map(shown);
        write!(
            f,
            "the same grade for {same} of {titles} titles that both judged; κ {kappa}, with squared weights {weighted}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_judges_of_ten_titles() {
        // Computed by the definition in another program.
        let grades = [(4, 4), (4, 3), (0, 0), (2, 2), (1, 0), (3, 3), (0, 1), (2, 4), (0, 0), (1, 1)];
        let [any, squared] = [Disagreement::Any, Disagreement::Squared].map(|of| kappa(&grades, of).unwrap());
        assert!((any - 0.493_670_886_075_949_33).abs() < 1e-12, "{any}");
        assert!((squared - 0.847_161_572_052_401_7).abs() < 1e-12, "{squared}");
    }

    #[test]
    fn the_ends_of_the_scale() {
        for of in [Disagreement::Any, Disagreement::Squared] {
            assert_eq!(kappa(&[(0, 0), (4, 4)], of), Some(1.0));
            assert_eq!(kappa(&[(0, 4), (4, 0)], of), Some(-1.0));
            // Independent judges agree by chance alone.
            assert_eq!(kappa(&[(0, 0), (0, 4), (4, 0), (4, 4)], of), Some(0.0));
            assert_eq!((kappa(&[], of), kappa(&[(2, 2), (2, 2)], of)), (None, None));
        }
    }
}
