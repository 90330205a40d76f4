//! Word alignment of two texts: the best alignments in both directions, and their combination (Och, Ney, "A systematic
//! comparison of various statistical alignment models", 2003).

use std::collections::{BTreeSet, VecDeque};

use super::ibm1::Ibm1;
use clickvec::internals::text::WordId;

/// Returns the most probable source position of each target word by model 1; `None` if the empty word is more probable.
///
/// Of equally good positions, the one right after the previous word's is taken, otherwise the first.
pub(super) fn viterbi(model: &Ibm1, source: &[WordId], target: &[WordId]) -> Vec<Option<usize>> {
    let mut next = 0;
    let best = |&word: &WordId| {
        let (mut best, mut position) = (model.probability_of_empty(word), None);
        for (i, &other) in source.iter().enumerate() {
            let probability = model.probability(word, other);
            if probability > best || (probability == best && (position.is_none() || i == next)) {
                (best, position) = (probability, Some(i));
            }
        }
        next = position.map_or(next, |position| position + 1);
        position
    };
    target.iter().map(best).collect()
}

/// The first and the last position that a word is linked to.
type Span = Option<(usize, usize)>;

/// Links between the words of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alignment {
    /// For each position in the target, the source positions that it is linked to.
    pub(super) source_spans: Vec<Span>,
    /// For each position in the source, the target positions.
    pub(super) target_spans: Vec<Span>,
}

impl Alignment {
    fn new(sources: usize, targets: usize) -> Alignment {
        Alignment { source_spans: vec![None; targets], target_spans: vec![None; sources] }
    }

    fn link(&mut self, source: usize, target: usize) {
        let widen = |span: &mut Span, position: usize| {
            let (first, last) = span.unwrap_or((position, position));
            *span = Some((first.min(position), last.max(position)));
        };
        widen(&mut self.source_spans[target], source);
        widen(&mut self.target_spans[source], target);
    }
}

/// Merges the alignments of both directions. `source_by_target` has a source position for each target word, and
/// `target_by_source` a target position for each source word.
///
/// Links in both come first. Then links in one are added if they touch an existing link, also at a corner, and one of
/// the two words has no link yet ("grow-diag").
pub(super) fn symmetrize(source_by_target: &[Option<usize>], target_by_source: &[Option<usize>]) -> Alignment {
    let mut alignment = Alignment::new(target_by_source.len(), source_by_target.len());
    let mut links = BTreeSet::new();
    let mut queue = VecDeque::new();
    for (target, &source) in source_by_target.iter().enumerate() {
        if let Some(source) = source.filter(|&source| target_by_source[source] == Some(target)) {
            alignment.link(source, target);
            links.insert((source, target));
            queue.push_back((source, target));
        }
    }
    while let Some((source, target)) = queue.pop_front() {
        for i in source.saturating_sub(1)..(source + 2).min(target_by_source.len()) {
            for j in target.saturating_sub(1)..(target + 2).min(source_by_target.len()) {
                let one_has = source_by_target[j] == Some(i) || target_by_source[i] == Some(j);
                let one_is_free = alignment.target_spans[i].is_none() || alignment.source_spans[j].is_none();
                if one_has && one_is_free && links.insert((i, j)) {
                    alignment.link(i, j);
                    queue.push_back((i, j));
                }
            }
        }
    }
    alignment
}
