//! Lists of bits, one for each title of a segment.

/// Returns the bits of `len` titles, set for all but those at some positions.
pub(crate) fn without(len: usize, positions: &[u32]) -> Vec<u64> {
    let mut bits = vec![u64::MAX; len.div_ceil(64)];
    for &position in positions {
        if let Some(word) = bits.get_mut(position as usize / 64) {
            *word &= !(1 << (position % 64));
        }
    }
    bits
}

/// Returns whether a bit is set.
pub(crate) fn has(bits: &[u64], position: u32) -> bool {
    bits.get(position as usize / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
}

/// Returns the number of bits that are set among the first `len`.
pub(crate) fn count(bits: &[u64], len: usize) -> u64 {
    let full = len / 64;
    let rest = match (len % 64, bits.get(full)) {
        (0, _) | (_, None) => 0,
        (rest, Some(word)) => u64::from((word & ((1 << rest) - 1)).count_ones()),
    };
    bits.iter().take(full).map(|word| u64::from(word.count_ones())).sum::<u64>() + rest
}

/// Returns the positions of the bits that are set among the first `len`, in ascending order.
pub(crate) fn positions(bits: &[u64], len: usize) -> Vec<u32> {
    let mut positions = Vec::new();
    for (first, &word) in (0..).step_by(64).zip(bits) {
        let mut rest = word;
        while rest != 0 {
            positions.push(first + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
    positions.truncate(positions.partition_point(|&position| (position as usize) < len));
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_end_are_no_titles() {
        let bits = without(130, &[0, 64, 129]);
        let expected: Vec<u32> = (1..64).chain(65..129).collect();
        assert_eq!((positions(&bits, 130), count(&bits, 130)), (expected, 127));
    }
}
