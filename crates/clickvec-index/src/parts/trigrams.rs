//! The trigrams of an index: the cosine of letter trigrams, as the ranker `trigram` has it.
//!
//! Idf is that of the titles that the index was made of. An update changes no idf, so that all segments score alike.

use std::sync::Arc;

use clickvec::internals::index::Shared;
use clickvec_eval::internals::{LetterTrigrams, TrigramLists};

use crate::error::{Result, malformed};
use crate::folder::{Folder, FolderWriter};
use crate::titles::TitleLines;

/// The file of the start of each trigram's list.
pub(crate) const STARTS_FILE: &str = "trigrams.starts";
/// The titles of all lists.
const TITLES_FILE: &str = "trigrams.titles";
/// The length of each title's vector.
const LENGTHS_FILE: &str = "trigrams.lengths";
/// The trigrams with their idf, in the first segment.
const WEIGHTS_FILE: &str = "trigrams.safetensors";

/// The trigrams of an index and their idf.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigrams(pub(crate) Arc<LetterTrigrams>);

impl Trigrams {
    /// Opens the trigrams of an index.
    pub(crate) fn open(folder: &Folder) -> Result<Trigrams> {
        Ok(Trigrams(Arc::new(LetterTrigrams::load(&folder.file(WEIGHTS_FILE)?)?)))
    }
}

/// Opens the lists of a segment, if it has any.
pub(crate) fn open_lists(folder: &Folder, titles: usize) -> Result<Option<TrigramLists>> {
    if !folder.has("trigrams") {
        return Ok(None);
    }
    let starts: Shared<u64> = folder.numbers(STARTS_FILE)?;
    let all: Shared<u32> = folder.numbers(TITLES_FILE)?;
    let lengths: Shared<f64> = folder.numbers(LENGTHS_FILE)?;
    if lengths.len() != titles {
        let (expected, found) = (format!("the lengths of {titles} titles"), lengths.len().to_string());
        return Err(malformed(&folder.path().join(LENGTHS_FILE), expected, found));
    }
    let entries = all.len();
    let bad = |found: String| {
        let expected = format!("ascending places of the trigrams' lists, from 0 to {entries}");
        malformed(&folder.path().join(STARTS_FILE), expected, found)
    };
    if let Some(found) = bad_places(&starts, entries) {
        return Err(bad(found));
    }
    TrigramLists::from_parts(starts, all, lengths).map(Some).ok_or_else(|| bad("none".to_owned()))
}

/// Writes the lists of the trigrams and, in the first segment, their weights.
pub(crate) fn write(
    folder: &mut FolderWriter,
    ranker: &LetterTrigrams,
    titles: &TitleLines,
    is_first: bool,
) -> Result<()> {
    let lists = TrigramLists::new(ranker, || titles.texts())?;
    let (starts, all, lengths) = lists.parts();
    folder.write(TITLES_FILE, &[bytemuck::cast_slice(all)])?;
    folder.write(LENGTHS_FILE, &[bytemuck::cast_slice(lengths)])?;
    folder.write(STARTS_FILE, &[bytemuck::cast_slice(starts)])?;
    let mut files = vec![STARTS_FILE, TITLES_FILE, LENGTHS_FILE];
    if is_first {
        ranker.save(&folder.file(WEIGHTS_FILE))?;
        files.push(WEIGHTS_FILE);
    }
    folder.part("trigrams", "lists", &files);
    Ok(())
}

/// Returns the fault of the starts of lists that have this many entries in all.
fn bad_places(starts: &[u64], entries: usize) -> Option<String> {
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else { return Some("none".to_owned()) };
    if let Some(pair) = starts.windows(2).find(|pair| pair[0] > pair[1]) {
        return Some(format!("{} after {}", pair[1], pair[0]));
    }
    if first != 0 {
        return Some(format!("{first} as the first"));
    }
    (last != entries as u64).then(|| format!("{last} as the last"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_lists_cannot_have_are_shown() {
        assert_eq!(bad_places(&[0, 3, 3, 7], 7), None);
        for (starts, found) in
            [(&[][..], "none"), (&[1, 7], "1 as the first"), (&[0, 6], "6 as the last"), (&[0, 5, 4, 7], "4 after 5")]
        {
            assert_eq!(bad_places(starts, 7).as_deref(), Some(found));
        }
    }
}
