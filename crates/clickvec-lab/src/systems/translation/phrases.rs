//! Phrases that translate each other, extracted from aligned pairs (Koehn, Och, Marcu, "Statistical phrase-based
//! translation", 2003).

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::alignment::Alignment;
use super::table::{Row, TranslationTable};
use clickvec::internals::ragged::starts;
use clickvec::internals::text::WordId;
use clickvec_eval::internals::UNKNOWN;
use clickvec_eval::internals::{Numbers, RankerState};
use clickvec_tables::damaged;
use clickvec_tables::memory::{NoRoom, bytes_of, reserve, room_for_numbers};

/// The number of words in the longest phrase.
pub(super) const LONGEST: usize = 3;

/// The words in order, followed by [`UNKNOWN`].
pub(super) type Phrase = [WordId; LONGEST];

/// Creates a phrase of 1 to [`LONGEST`] words.
pub(super) fn phrase(words: &[WordId]) -> Phrase {
    std::array::from_fn(|position| words.get(position).copied().unwrap_or(UNKNOWN))
}

/// Finds all pairs of phrases of at most `longest` words with a link between them and none to other words. They may
/// contain words without links anywhere.
pub(super) fn extract(alignment: &Alignment, longest: usize, mut found: impl FnMut(Range<usize>, Range<usize>)) {
    let Alignment { source_spans, target_spans } = alignment;
    for start in 0..source_spans.len() {
        let mut linked: Option<(usize, usize)> = None;
        for end in start + 1..=source_spans.len().min(start + longest) {
            if let Some((first, last)) = source_spans[end - 1] {
                let (low, high) = linked.unwrap_or((first, last));
                linked = Some((low.min(first), high.max(last)));
            }
            let Some((first, last)) = linked else { continue };
            let inside = |&(low, high): &(usize, usize)| start <= low && high < end;
            if last - first >= longest || !target_spans[first..=last].iter().flatten().all(inside) {
                continue;
            }
            // Words without links may be added at both ends.
            let mut low = first;
            loop {
                let mut high = last;
                while high - low < longest {
                    found(low..high + 1, start..end);
                    high += 1;
                    if target_spans.get(high).is_none_or(Option::is_some) {
                        break;
                    }
                }
                if low == 0 || target_spans[low - 1].is_some() || last - (low - 1) >= longest {
                    break;
                }
                low -= 1;
            }
        }
    }
}

/// The counts of pairs of phrases.
#[derive(Debug, Default)]
pub(super) struct PhraseCounts {
    sources: HashMap<Phrase, u32>,
    targets: HashMap<Phrase, u32>,
    /// (target, source, count), in order of appearance.
    seen: Vec<(u32, u32, f64)>,
}

impl PhraseCounts {
    /// Counts the phrases of an aligned pair.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub(super) fn add(
        &mut self,
        source: &[WordId],
        target: &[WordId],
        alignment: &Alignment,
        longest: usize,
        weight: f64,
    ) -> Result<(), NoRoom> {
        let what = "phrases of pairs";
        let (sources, targets) = (source.len() * longest, target.len() * longest);
        // A phrase of the target has at most as many counterparts as there are places and lengths around its links.
        reserve(&mut self.seen, targets * longest * longest, what)?;
        for (phrases, more) in [(&mut self.sources, sources), (&mut self.targets, targets)] {
            phrases.try_reserve(more).map_err(|_| NoRoom { what, bytes: bytes_of::<(Phrase, u32)>(more) })?;
        }
        let number = |phrases: &mut HashMap<Phrase, u32>, words: &[WordId]| {
            let next = phrases.len() as u32;
            *phrases.entry(phrase(words)).or_insert(next)
        };
        extract(alignment, longest, |source_place, target_place| {
            let target = number(&mut self.targets, &target[target_place]);
            let source = number(&mut self.sources, &source[source_place]);
            self.seen.push((target, source, weight));
        });
        Ok(())
    }

    /// Returns P(q|w) = N(w, q) / (N(w) + `discount`) with N(w) = Σ_q N(w, q), without probabilities below `least`. Words are
    /// below `words`.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub(super) fn table(mut self, words: usize, discount: f64, least: f64) -> Result<PhraseTable, NoRoom> {
        // Sorting takes as much again.
        room_for_numbers::<(u32, u32, f64)>("phrases of pairs", &[&[self.seen.len()]])?;
        let (source_phrases, sources) = in_order(&self.sources);
        let (target_phrases, targets) = in_order(&self.targets);
        for (target, source, _) in &mut self.seen {
            (*target, *source) = (targets[*target as usize], sources[*source as usize]);
        }
        // A stable sort, so that sums are always taken in the same order.
        self.seen.par_sort_by_key(|&(target, source, _)| (source, target));
        let mut retained = Vec::new();
        for source in self.seen.chunk_by(|a, b| a.1 == b.1) {
            let total: f64 = source.iter().map(|&(.., count)| count).sum();
            for pair in source.chunk_by(|a, b| a.0 == b.0) {
                let count: f64 = pair.iter().map(|&(.., count)| count).sum();
                // Rounding may leave it slightly above 1.
                let probability = (count / (total + discount)).min(1.0);
                if probability >= least {
                    retained.push((pair[0].0, pair[0].1, probability));
                }
            }
        }
        // Phrases without an entry are dropped.
        let sources = renumber(source_phrases, &mut retained, |entry| &mut entry.1);
        let targets = renumber(target_phrases, &mut retained, |entry| &mut entry.0);
        let table = TranslationTable::new(targets.len(), &retained);
        Ok(PhraseTable { sources: PhraseList::new(sources, words), targets: PhraseList::new(targets, words), table })
    }
}

/// (target, source, probability).
type Entry = (u32, u32, f64);

/// Keeps the phrases that entries have at `position`, in order, and renumbers them in the entries.
fn renumber(phrases: Vec<Phrase>, entries: &mut [Entry], position: fn(&mut Entry) -> &mut u32) -> Vec<Phrase> {
    let mut numbers = vec![None; phrases.len()];
    entries.iter_mut().for_each(|entry| numbers[*position(entry) as usize] = Some(0));
    (0..).zip(numbers.iter_mut().flatten()).for_each(|(next, number)| *number = next);
    for entry in entries {
        let number = position(entry);
        *number = numbers[*number as usize].unwrap_or(0);
    }
    phrases.into_iter().zip(numbers).filter_map(|(phrase, number)| number.map(|_| phrase)).collect()
}

/// Sorts the phrases, and returns the position of each number too.
fn in_order(phrases: &HashMap<Phrase, u32>) -> (Vec<Phrase>, Vec<u32>) {
    let mut sorted: Vec<(Phrase, u32)> = phrases.iter().map(|(&phrase, &number)| (phrase, number)).collect();
    sorted.par_sort_unstable();
    let mut positions = vec![0; sorted.len()];
    (0..).zip(&sorted).for_each(|(position, &(_, number))| positions[number as usize] = position);
    (sorted.into_iter().map(|(phrase, _)| phrase).collect(), positions)
}

/// Distinct phrases in order. The number of a phrase is its position.
#[derive(Debug, Clone, PartialEq)]
struct PhraseList {
    phrases: Vec<Phrase>,
    /// For each word, the start of the phrases that begin with it.
    starts: Vec<u32>,
}

impl PhraseList {
    /// Creates a list of phrases whose words are below `words`.
    fn new(phrases: Vec<Phrase>, words: usize) -> PhraseList {
        let starts = starts(words, phrases.iter().map(|phrase| phrase[0] as usize));
        PhraseList { phrases, starts }
    }

    /// Calls `found` with the length and the number of each phrase that `words` begins with.
    fn prefixes(&self, words: &[WordId], mut found: impl FnMut(usize, u32)) {
        let Some(&first) = words.first().filter(|&&first| first != UNKNOWN) else { return };
        let (start, end) = (self.starts[first as usize], self.starts[first as usize + 1]);
        let beginning = &self.phrases[start as usize..end as usize];
        if beginning.is_empty() {
            return;
        }
        for length in 1..=LONGEST.min(words.len()) {
            // The number of unknown words would end a phrase.
            if words[length - 1] == UNKNOWN {
                return;
            }
            if let Ok(position) = beginning.binary_search(&phrase(&words[..length])) {
                found(length, start + position as u32);
            }
        }
    }

    fn state(&self, name: &str, state: RankerState) -> RankerState {
        state.with(name, &[self.phrases.len(), LONGEST], Numbers::U32(self.phrases.concat()))
    }

    fn restore(name: &str, words: usize, state: &RankerState) -> Result<PhraseList, clickvec_tables::Error> {
        let numbers = state.u32s(name, &[None, Some(LONGEST)])?;
        let phrases: Vec<Phrase> = numbers.chunks_exact(LONGEST).map(phrase).collect();
        let is_phrase = |phrase: &Phrase| {
            let length = phrase.iter().take_while(|&&word| (word as usize) < words).count();
            length > 0 && phrase[length..].iter().all(|&word| word == UNKNOWN)
        };
        if let Some(row) = phrases.iter().position(|phrase| !is_phrase(phrase)) {
            return Err(damaged::content(
                name,
                format!("word numbers below {words}, then only {}", u32::MAX),
                format!("{:?} in row {row}", phrases[row].to_vec()),
            ));
        }
        if let Some(row) = phrases.windows(2).position(|two| two[0] >= two[1]) {
            let [before, found] = [row, row + 1].map(|row| phrases[row].to_vec());
            return Err(damaged::content(name, format!("rows above {before:?} after row {row}"), format!("{found:?}")));
        }
        Ok(PhraseList::new(phrases, words))
    }
}

/// P(q|w) of query phrases q and title phrases w.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PhraseTable {
    sources: PhraseList,
    targets: PhraseList,
    /// The probabilities by the phrases' numbers.
    table: TranslationTable,
}

impl PhraseTable {
    /// Returns, by length − 1, the translations to the phrases that `words` of a query begin with, by number of the title phrase.
    pub(super) fn translations(&self, words: &[WordId]) -> [Option<Row<'_>>; LONGEST] {
        let mut rows = [None; LONGEST];
        self.targets.prefixes(words, |length, target| rows[length - 1] = Some(self.table.row(target)));
        rows
    }

    /// Reads the numbers of all phrases in a title into `phrases`, with repetitions.
    pub(super) fn read_title(&self, title: &[WordId], phrases: &mut Vec<u32>) {
        phrases.clear();
        for start in 0..title.len() {
            self.sources.prefixes(&title[start..], |_, source| phrases.push(source));
        }
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn state(&self, state: RankerState) -> RankerState {
        let state = self.targets.state("phrase_targets", self.sources.state("phrase_sources", state));
        self.table.state("phrase", state)
    }

    /// Restores a table for words below `words`.
    pub(super) fn restore(words: usize, state: &RankerState) -> Result<PhraseTable, clickvec_tables::Error> {
        let sources = PhraseList::restore("phrase_sources", words, state)?;
        let targets = PhraseList::restore("phrase_targets", words, state)?;
        let table = TranslationTable::restore("phrase", targets.phrases.len(), sources.phrases.len(), state)?;
        Ok(PhraseTable { sources, targets, table })
    }
}
