//! The grades of first titles: for one system, and for two systems on the same queries.

use clickvec_eval::JudgedTitle;
use serde::Serialize;

/// The least number of grades that are shown: 0 to 4, as in the papers.
const LEAST_GRADES: usize = 5;

/// Numbers of queries by the grade of their first title. Titles that tie for the first place share the query.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct FirstGrades {
    /// By system and grade.
    of: Vec<Vec<f64>>,
    /// By system `a`; then by system `b`, starting at `a`, at index `b - a`; then by the grade in `a` and the grade in
    /// `b`.
    cross: Vec<Vec<Vec<Vec<f64>>>>,
}

impl FirstGrades {
    /// Counts of no queries, with grades from 0 to at least `best`.
    pub(super) fn new(systems: usize, best: u8) -> FirstGrades {
        let grades = LEAST_GRADES.max(usize::from(best) + 1);
        let cross = (0..systems).map(|a| vec![vec![vec![0.0; grades]; grades]; systems - a]).collect();
        FirstGrades { of: vec![vec![0.0; grades]; systems], cross }
    }

    /// Returns the number of grades.
    fn grades(&self) -> usize {
        self.of.first().map_or(LEAST_GRADES, Vec::len)
    }

    /// Counts a query. `ranks` has the ranks of its titles for each system.
    pub(super) fn add(&mut self, titles: &[JudgedTitle], ranks: &[Vec<u32>]) {
        let grades = self.grades();
        let shares: Vec<Vec<f64>> = ranks.iter().map(|ranks| shares(titles, ranks, grades)).collect();
        for (a, grade_a) in shares.iter().enumerate() {
            self.of[a].iter_mut().zip(grade_a).for_each(|(sum, share)| *sum += share);
            for (cross, grade_b) in self.cross[a].iter_mut().zip(&shares[a..]) {
                for (row, share) in cross.iter_mut().zip(grade_a) {
                    row.iter_mut().zip(grade_b).for_each(|(cell, other)| *cell += share * other);
                }
            }
        }
    }

    /// Numbers of queries by the grade in system `a`, then in system `b`: bad, fair, and good or better as one, as in table 7
    /// of Shen et al. 2014. `None` if the grades are finer than 0 to 4, which have names.
    pub(super) fn as_in_the_paper(&self, a: usize, b: usize) -> Option<[[f64; 3]; 3]> {
        if self.grades() != LEAST_GRADES {
            return None;
        }
        let cross = &self.cross[a.min(b)][a.max(b) - a.min(b)];
        let mut merged = [[0.0; 3]; 3];
        for (first, row) in cross.iter().enumerate() {
            for (second, count) in row.iter().enumerate() {
                let (grade_a, grade_b) = if a <= b { (first, second) } else { (second, first) };
                merged[grade_a.min(2)][grade_b.min(2)] += count;
            }
        }
        Some(merged)
    }

    /// Rounds the grades to the digits that are shown.
    pub(super) fn rounded(mut self, round: impl Fn(f64) -> f64) -> FirstGrades {
        self.of.iter_mut().flatten().for_each(|count| *count = round(*count));
        self.cross.iter_mut().flatten().flatten().flatten().for_each(|count| *count = round(*count));
        self
    }
}

/// Returns the rank of each score as metrics see it: NaN counts as −∞. Equal scores have equal ranks.
pub(super) fn ranks(scores: &[f64]) -> Vec<u32> {
    let score = |position: usize| if scores[position].is_nan() { f64::NEG_INFINITY } else { scores[position] };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    let mut ranks = vec![0; scores.len()];
    for (position, &title) in order.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| order[before]);
        ranks[title] = match before {
            Some(before) if score(before) == score(title) => ranks[before],
            _ => position as u32 + 1,
        };
    }
    ranks
}

fn shares(titles: &[JudgedTitle], ranks: &[u32], grades: usize) -> Vec<f64> {
    let first = || titles.iter().zip(ranks).filter(|(_, rank)| **rank == 1);
    let count = first().count();
    let mut shares = vec![0.0; grades];
    first().for_each(|(title, _)| shares[usize::from(title.grade)] += 1.0 / count as f64);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_made_table() {
        let titles = |grades: &[u8]| -> Vec<JudgedTitle> {
            let title = |&grade| JudgedTitle { id: String::new(), text: String::new(), grade };
            grades.iter().map(title).collect()
        };
        let mut grades = FirstGrades::new(2, 4);
        // In the first case both find the perfect title. In the second, one finds a good title and the other a bad
        // one. In the third, two of three titles tie for the first system: half perfect, half fair.
        grades.add(&titles(&[0, 4]), &[vec![2, 1], vec![2, 1]]);
        grades.add(&titles(&[2, 0, 1]), &[vec![1, 2, 3], vec![3, 1, 2]]);
        grades.add(&titles(&[1, 4, 3]), &[vec![1, 1, 3], vec![2, 3, 1]]);
        assert_eq!(grades.of, [[0.0, 0.5, 1.0, 0.0, 1.5], [1.0, 0.0, 0.0, 1.0, 1.0]]);
        let mut cross = [[0.0; 5]; 5];
        (cross[4][4], cross[2][0], cross[1][3], cross[4][3]) = (1.0, 1.0, 0.5, 0.5);
        assert_eq!(grades.cross[0][1], cross);
        // Good, excellent and perfect as one; the other way round rows become columns.
        assert_eq!(grades.as_in_the_paper(0, 1), Some([[0.0; 3], [0.0, 0.0, 0.5], [1.0, 0.0, 1.5]]));
        assert_eq!(grades.as_in_the_paper(1, 0), Some([[0.0, 0.0, 1.0], [0.0; 3], [0.0, 0.5, 1.5]]));
        // A system compared with itself also shares ties.
        let mut alone = [[0.0; 5]; 5];
        (alone[4][4], alone[2][2], alone[1][1], alone[1][4], alone[4][1]) = (1.25, 1.0, 0.25, 0.25, 0.25);
        assert_eq!(grades.cross[0][0], alone);
        assert_eq!((grades.cross[1].len(), grades.cross[1][0][0][0]), (1, 1.0));
        // Rows and columns sum to the counts of the single systems.
        for grade in 0..5 {
            let (row, column) = (cross[grade].iter().sum::<f64>(), cross.iter().map(|row| row[grade]).sum::<f64>());
            assert_eq!((row, column), (grades.of[0][grade], grades.of[1][grade]));
        }
    }

    #[test]
    fn grades_above_4_have_their_own_place() {
        let title = JudgedTitle { id: String::new(), text: String::new(), grade: 9 };
        let mut grades = FirstGrades::new(1, 9);
        grades.add(&[title], &[vec![1]]);
        assert_eq!((grades.of[0].len(), grades.of[0][9], grades.cross[0][0][9][9]), (10, 1.0, 1.0));
        assert_eq!(grades.as_in_the_paper(0, 0), None, "grades without names");
    }

    #[test]
    fn equal_scores_have_equal_ranks_and_a_nan_comes_last() {
        assert_eq!(ranks(&[0.5, 2.0, 0.5, f64::NAN, -1.0, 0.9999999, 0.9999998]), [4, 1, 4, 7, 6, 2, 3]);
        assert_eq!(ranks(&[f64::NEG_INFINITY, f64::NAN]), [1, 1]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn a_query_without_titles_counts_nowhere() {
        let mut grades = FirstGrades::new(1, 4);
        grades.add(&[], &[vec![]]);
        assert_eq!(grades, FirstGrades::new(1, 4));
    }
}
