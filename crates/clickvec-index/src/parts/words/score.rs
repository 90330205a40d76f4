//! BM25 over the postings of one segment: the best titles for the terms of a query.

use clickvec::index::Hit;
use clickvec::internals::index::Best;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::{DocId, DocSet as _, Score, TERMINATED};

use super::Bm25;

/// A query of more terms than this is answered term by term, in memory for all titles, because the other way takes time in
/// proportion to terms times titles.
const MANY_TERMS: usize = 64;
/// Bounds of scores are rounded like scores. This makes sure that no title is passed over for the last bit.
const ROUNDING: f64 = 1.0 + 1e-6;

/// Frequencies up to this one are divided by their norms once a search, since nearly all in titles are.
const FEW: usize = 3;

/// The saturation of a term's frequency f in a title, f / (f + n), where n depends on which of the 256 lengths that a segment
/// distinguishes the title has.
pub(super) struct Norms {
    norms: [Score; 256],
    /// [frequency − 1, length]
    few: [[Score; 256]; FEW],
}

impl Norms {
    pub(super) fn new(Bm25 { k1, b }: Bm25, tokens: u64, titles: u64) -> Norms {
        let (k1, b, mean) = (k1 as Score, b as Score, tokens as Score / titles as Score);
        let norm = |id: usize| k1 * (1.0 - b + b * FieldNormReader::id_to_fieldnorm(id as u8) as Score / mean);
        let norms = std::array::from_fn(norm);
        let few = std::array::from_fn(|before| norms.map(|norm| saturation((before + 1) as Score, norm)));
        Norms { norms, few }
    }

    fn saturation(&self, frequency: u32, length: u8) -> Score {
        match self.few.get((frequency as usize).wrapping_sub(1)) {
            Some(few) => few[usize::from(length)],
            None => saturation(frequency as Score, self.norms[usize::from(length)]),
        }
    }
}

fn saturation(frequency: Score, norm: Score) -> Score {
    frequency / (frequency + norm)
}

/// Returns the weight of a term that `with` of `titles` titles have, (k₁ + 1) · idf.
pub(super) fn weight(bm25: Bm25, with: u64, titles: u64) -> Score {
    let x = (titles.saturating_sub(with) as Score + 0.5) / (with as Score + 0.5);
    (1.0 + x).ln() * (1.0 + bm25.k1 as Score)
}

/// A term of a query in a segment.
pub(super) struct Term {
    pub(super) postings: SegmentPostings,
    /// The largest score that it can give a title.
    pub(super) weight: Score,
}

impl Term {
    /// Returns the contribution of the term to the title where its postings are.
    fn score(&self, norms: &Norms, lengths: &FieldNormReader) -> f64 {
        let length = lengths.fieldnorm_id(self.postings.doc());
        f64::from(self.weight * norms.saturation(self.postings.term_freq(), length))
    }
}

/// Returns the best `k` titles that are allowed. What the terms of a title add is summed in the order of the terms, so that a score
/// does not depend on `k` or on what was found before.
pub(super) fn best(
    mut terms: Vec<Term>,
    norms: &Norms,
    lengths: &FieldNormReader,
    k: usize,
    allowed: &dyn Fn(u32) -> bool,
) -> Vec<Hit> {
    let mut best = Best::default();
    best.restart(k);
    if terms.len() > MANY_TERMS {
        term_by_term(&mut terms, norms, lengths, allowed, &mut best);
    } else {
        title_by_title(&mut terms, norms, lengths, allowed, &mut best);
    }
    best.take()
}

/// Returns the scores of the titles at these positions, which ascend, with the sums of [`best`].
pub(super) fn scores(mut terms: Vec<Term>, norms: &Norms, lengths: &FieldNormReader, positions: &[u32]) -> Vec<Score> {
    let mut sums = vec![0.0f64; positions.len()];
    for term in &mut terms {
        for (sum, &position) in sums.iter_mut().zip(positions) {
            if term.postings.doc() < position {
                term.postings.seek(position);
            }
            if term.postings.doc() == position {
                *sum += term.score(norms, lengths);
            }
        }
    }
    sums.into_iter().map(|sum| sum as Score).collect()
}

/// Returns the number of titles that are in all of these postings; 0 of none.
pub(super) fn count_all(mut all: Vec<SegmentPostings>) -> u64 {
    all.sort_by_key(SegmentPostings::doc_freq);
    let Some((rarest, others)) = all.split_first_mut() else { return 0 };
    let mut count = 0;
    while rarest.doc() != TERMINATED {
        let title = rarest.doc();
        let mut has_all = true;
        for postings in &mut *others {
            if postings.doc() < title {
                postings.seek(title);
            }
            has_all &= postings.doc() == title;
        }
        count += u64::from(has_all);
        rarest.advance();
    }
    count
}

fn term_by_term(
    terms: &mut [Term],
    norms: &Norms,
    lengths: &FieldNormReader,
    allowed: &dyn Fn(u32) -> bool,
    best: &mut Best,
) {
    let mut sums = vec![0.0f64; lengths.num_docs() as usize];
    for term in terms {
        while term.postings.doc() != TERMINATED {
            sums[term.postings.doc() as usize] += term.score(norms, lengths);
            term.postings.advance();
        }
    }
    for (position, &sum) in (0..).zip(&sums) {
        if sum > 0.0 && allowed(position) {
            best.keep(Hit { position, score: sum as Score });
        }
    }
}

/// Skips titles that only have terms whose weights together cannot reach the best so far (MaxScore, Turtle and Flood 1995).
fn title_by_title(
    terms: &mut [Term],
    norms: &Norms,
    lengths: &FieldNormReader,
    allowed: &dyn Fn(u32) -> bool,
    best: &mut Best,
) {
    let mut by_weight: Vec<usize> = (0..terms.len()).collect();
    by_weight.sort_by(|&a, &b| terms[a].weight.total_cmp(&terms[b].weight));
    // The most that the first terms of these add together.
    let mut most = vec![0.0f64];
    for &term in &by_weight {
        most.push(most[most.len() - 1] + f64::from(terms[term].weight));
    }
    // The titles come from the terms after the first `passed`.
    let mut passed = 0;
    let mut adds = vec![0.0f64; terms.len()];
    'titles: loop {
        let mut title: DocId = TERMINATED;
        for &term in &by_weight[passed..] {
            title = title.min(terms[term].postings.doc());
        }
        if title == TERMINATED {
            return;
        }
        let is_allowed = allowed(title);
        let mut sum = 0.0;
        for &at in &by_weight[passed..] {
            let term = &mut terms[at];
            adds[at] = 0.0;
            if term.postings.doc() == title {
                if is_allowed {
                    adds[at] = term.score(norms, lengths);
                    sum += adds[at];
                }
                term.postings.advance();
            }
        }
        if !is_allowed {
            continue;
        }
        let threshold = f64::from(best.threshold());
        // The heaviest first: without it, most titles cannot reach the best, and the others need not be looked for.
        for (number, &at) in by_weight[..passed].iter().enumerate().rev() {
            if (sum + most[number + 1]) * ROUNDING < threshold {
                continue 'titles;
            }
            let term = &mut terms[at];
            if term.postings.doc() < title {
                term.postings.seek(title);
            }
            adds[at] = if term.postings.doc() == title { term.score(norms, lengths) } else { 0.0 };
            sum += adds[at];
        }
        let score = adds.iter().sum::<f64>() as Score;
        if !best.keep(Hit { position: title, score }) {
            continue;
        }
        while passed < by_weight.len() && most[passed + 1] * ROUNDING < f64::from(best.threshold()) {
            passed += 1;
        }
    }
}
