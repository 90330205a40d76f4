//! Grades of clicked titles, from what their clicks weigh.

/// Returns the grades of the titles clicked for one query, from the total weight of each title's clicks. The most clicked title
/// gets 4. Each other title gets the grade from 1 to 4 whose gain, 2^g − 1, is nearest to its share of that weight times 15.
///
/// If the weights correct position bias, so does an NDCG with these grades: a click far down the list, where few people
/// look, counts for more than one on top.
///
/// ```
/// assert_eq!(clickvec::train::click_grades(&[6.0, 1.0, 3.0, 0.4]), [4, 2, 3, 1]);
/// ```
pub fn click_grades(weights: &[f64]) -> Vec<u8> {
    let most = weights.iter().copied().fold(0.0, f64::max);
    let grade = |weight: &f64| {
        let gain = if most > 0.0 { 15.0 * (weight / most) } else { 0.0 };
        // Half-way between the gains 1, 3, 7 and 15.
        1 + [2.0, 5.0, 11.0].iter().filter(|&&least| gain >= least).count() as u8
    };
    weights.iter().map(grade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grade_with_the_nearest_gain() {
        assert_eq!(click_grades(&[]), [0u8; 0]);
        assert_eq!(click_grades(&[0.3]), [4]);
        assert_eq!(click_grades(&[2.0, 2.0]), [4, 4]);
        assert_eq!(click_grades(&[0.0, 0.0]), [1, 1]);
        let weights: Vec<f64> = (0..=150).map(|tenths| f64::from(tenths) / 10.0).collect();
        for (weight, grade) in weights.iter().zip(click_grades(&weights)) {
            let distance = |grade: u8| (f64::from((1u32 << grade) - 1) - weight).abs();
            assert!((1..=4).all(|other| distance(grade) <= distance(other)), "{weight}: {grade}");
        }
        assert_eq!(click_grades(&[f64::MAX, f64::MAX / 2.0]), [4, 3]);
    }
}
