//! Faults in the form of one of an index's files.

use clickvec::error::JsonFault;
use clickvec::internals::text::Analysis;

/// A fault in the form of one of an index's files.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormFault {
    /// The file's numbers have another width.
    #[error("expected numbers of {width} bytes, found {found} bytes in all")]
    Width {
        /// The bytes of a number.
        width: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The file is not a table of titles.
    #[error("expected a table with the columns `id` and `title` first, found the line `{found}`")]
    NotTitles {
        /// The first line, shortened.
        found: String,
    },
    /// There are more or fewer titles than the manifest says.
    #[error("expected {expected} titles, as the manifest says, found {found}")]
    Titles {
        /// The number of the manifest.
        expected: u64,
        /// The number in this part.
        found: u64,
    },
    /// The file has not one entry for each title.
    #[error("expected an entry for each of {titles} titles, found {found} bytes")]
    Entries {
        /// The number of titles.
        titles: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// A small file is not the JSON of its part.
    #[error("expected the JSON of this part, found {0}")]
    Json(JsonFault),
    /// The file has not one vector, or the codes of one, for each title.
    #[error("expected {titles} vectors of {dimension} numbers or their codes, found {found} bytes that are neither")]
    Vectors {
        /// The number of titles.
        titles: u64,
        /// The numbers of a vector.
        dimension: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The blocks of the lists, or of their copies, are not in order.
    #[error("expected ascending blocks, found {found} after {before}")]
    Blocks {
        /// A block.
        before: u32,
        /// The block after it.
        found: u32,
    },
    /// The copies are of another number of lists.
    #[error("expected copies of {lists} lists or of none, found those of {found}")]
    Copies {
        /// The number of lists.
        lists: usize,
        /// The number of lists with copies.
        found: usize,
    },
    /// The file has not one centre for each list.
    #[error("expected {lists} centres of {dimension} numbers, found {found} bytes")]
    Centres {
        /// The number of lists.
        lists: usize,
        /// The numbers of a centre.
        dimension: usize,
        /// The bytes of the file.
        found: usize,
    },
    /// The fusion weighs trigrams that the index does not have, or does not weigh those that it has.
    #[error("expected a weight for trigrams in an index with trigrams only, found {}", if *has_weight { "one without them" } else { "trigrams without a weight" })]
    TrigramWeight {
        /// Whether the fusion has the weight.
        has_weight: bool,
    },
    /// The fusion weighs a teacher's vectors that the index does not have, or does not weigh those that it has.
    #[error("expected a weight for a teacher in an index with a teacher only, found {}", if *has_weight { "one without a teacher" } else { "a teacher without a weight" })]
    TeacherWeight {
        /// Whether there is a weight.
        has_weight: bool,
    },
    /// The lists of trigrams do not follow each other from the first entry to the last one.
    #[error("expected ascending places of the trigrams' lists, from 0 to {entries}, found {found}")]
    TrigramLists {
        /// The number of entries in all lists.
        entries: usize,
        /// What is wrong with them.
        found: BadPlaces,
    },
    /// A segment has lists for other trigrams than the index.
    #[error("expected lists for {} trigrams, as in the first segment, found {}", or_none(*expected), or_none(*found))]
    TrigramCount {
        /// The number of trigrams of the index, if it has any.
        expected: Option<usize>,
        /// The number of lists of the segment, if it has any.
        found: Option<usize>,
    },
    /// BM25 is not defined for the parameters of the fusion.
    #[error("expected k1 of 0 or more and b from 0 to 1, found {k1} and {b}")]
    Bm25 {
        /// How slowly repetitions of a word saturate.
        k1: f64,
        /// How much the title's length counts.
        b: f64,
    },
    /// The words of a segment were analysed in another way than the fusion says.
    #[error("expected words analysed by `{expected}`, as the fusion says, found `{found}`")]
    Analysis {
        /// What the fusion says.
        expected: Analysis,
        /// What was done.
        found: Analysis,
    },
    /// The files of a stored field have other sizes.
    #[error(
        "expected {values} values of the field `{field}` and one for each of {titles} titles, found {codes} bytes for the titles, \
         {texts} for the values and {numbers} for their numbers"
    )]
    Field {
        /// The field, shortened.
        field: String,
        /// The number of different values.
        values: u64,
        /// The number of titles.
        titles: usize,
        /// The bytes of the file that says which value each title has.
        codes: usize,
        /// The bytes of the file of values.
        texts: usize,
        /// The bytes of the file of values as numbers.
        numbers: usize,
    },
}

/// Places that lists cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadPlaces {
    /// There are none.
    #[error("none")]
    None,
    /// The first list begins elsewhere.
    #[error("{0} as the first")]
    First(u64),
    /// The last list ends elsewhere.
    #[error("{0} as the last")]
    Last(u64),
    /// A list ends before it begins.
    #[error("{found} after {before}")]
    Descent {
        /// Where it begins.
        before: u64,
        /// Where it ends.
        found: u64,
    },
}

impl BadPlaces {
    /// What is wrong with the places of lists that have so many entries in all.
    pub(crate) fn of(starts: &[u64], entries: usize) -> Option<BadPlaces> {
        let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else { return Some(BadPlaces::None) };
        let descent = starts.windows(2).find(|pair| pair[0] > pair[1]);
        match descent {
            Some(pair) => Some(BadPlaces::Descent { before: pair[0], found: pair[1] }),
            None if first != 0 => Some(BadPlaces::First(first)),
            None if last != entries as u64 => Some(BadPlaces::Last(last)),
            None => None,
        }
    }
}

fn or_none(count: Option<usize>) -> String {
    count.map_or_else(|| "no".to_owned(), |count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_lists_cannot_have_are_told() {
        let told = |starts: &[u64]| BadPlaces::of(starts, 7).map(|found| found.to_string());
        assert_eq!(told(&[0, 3, 3, 7]), None);
        for (starts, found) in
            [(&[][..], "none"), (&[1, 7], "1 as the first"), (&[0, 6], "6 as the last"), (&[0, 5, 4, 7], "4 after 5")]
        {
            assert_eq!(told(starts).as_deref(), Some(found));
        }
    }
}
