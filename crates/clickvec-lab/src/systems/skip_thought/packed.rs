//! Texts of different lengths, packed so that all are read step by step together.

/// Word numbers, step by step, longest text first. The texts that still have words at a step come first, so a step is
/// a few complete rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Packed {
    /// The text at each position, longest first; equal lengths keep their order.
    pub(super) order: Vec<u32>,
    /// The number of texts that have a word at each step.
    pub(super) alive: Vec<usize>,
    /// The words of all steps.
    pub(super) words: Vec<u32>,
}

impl Packed {
    /// Packs texts of these lengths; `word(i, t)` is word t of text i.
    pub(super) fn new(lengths: &[usize], word: impl Fn(usize, usize) -> u32) -> Packed {
        let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
        order.sort_by_key(|&text| std::cmp::Reverse(lengths[text as usize]));
        let steps = order.first().map_or(0, |&longest| lengths[longest as usize]);
        let (mut alive, mut words) = (Vec::with_capacity(steps), Vec::with_capacity(lengths.iter().sum()));
        let mut texts = order.len();
        for step in 0..steps {
            while lengths[order[texts - 1] as usize] <= step {
                texts -= 1;
            }
            alive.push(texts);
            words.extend(order[..texts].iter().map(|&text| word(text as usize, step)));
        }
        Packed { order, alive, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_texts_come_first_and_steps_lie_side_by_side() {
        let texts: [&[u32]; 4] = [&[1], &[2, 3, 4], &[], &[5]];
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let packed = Packed::new(&lengths, |text, step| texts[text][step]);
        assert_eq!(packed.order, [1, 0, 3, 2]);
        assert_eq!(packed.alive, [3, 1, 1]);
        assert_eq!(packed.words, [2, 1, 5, 3, 4]);
        assert_eq!(Packed::new(&[], |_, _| 0), Packed::default());
        assert!(Packed::new(&[0], |_, _| 0).alive.is_empty());
    }
}
