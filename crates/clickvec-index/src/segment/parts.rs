//! The parts of an index that only this crate reads and writes. `docs/reference/formats.md` describes their files.

use crate::folder::PartKind;
use crate::layout::CHANGES;
use crate::layout::{CODES, MODEL, SHARD, TITLES, VECTORS, VECTORS_F16, VECTORS_INT8};

const fn part(name: &'static str, kind: &'static str, first_file: &'static str) -> PartKind {
    PartKind { name, kind, first_file }
}

/// Where each title begins.
pub(crate) const OFFSETS: PartKind = part("offsets", "u64", "titles.offsets");
/// The positions of titles by the hashes of their ids.
pub(crate) const IDS: PartKind = part("ids", "xxh3", "ids.bin");
/// Lists of similar vectors, each vector in two.
pub(crate) const LISTS: PartKind = part("lists", "twice", "lists.json");
/// Lists of similar vectors, each vector in one, as earlier versions write them.
pub(crate) const LISTS_ONCE: PartKind = part("lists", "centroids", "lists.json");
/// The centres of the lists.
pub(crate) const CENTROIDS_FILE: &str = "centroids.f32";
/// The codes of each vector in its second list.
pub(crate) const COPIES_FILE: &str = "copies.bin";
/// The lexical index.
pub(crate) const WORDS: PartKind = part("words", "tantivy", "words/meta.json");
/// The lexical index of terms: words that were analysed.
pub(crate) const TERMS: PartKind = part("words", "tantivy-terms", "words/meta.json");
/// The stored fields as columns.
pub(crate) const FIELDS: PartKind = part("fields", "columns", "fields.json");
/// Queries with their answers.
pub(crate) const CANARIES: PartKind = part("canaries", "json", "canaries.json");
/// How the lists are fused.
pub(crate) const FUSION: PartKind = part("fusion", "json", "fusion.json");
/// How they are fused with a teacher's, which earlier versions would leave out.
pub(crate) const FUSION_WITH_TEACHER: PartKind = part("fusion", "json-teacher", "fusion.json");

/// The inverted lists of the trigrams.
pub(crate) const TRIGRAMS: PartKind = part("trigrams", "lists", "trigrams.starts");
/// The titles of all lists, and the length of each title's vector.
pub(crate) const TRIGRAM_TITLES_FILE: &str = "trigrams.titles";
pub(crate) const TRIGRAM_LENGTHS_FILE: &str = "trigrams.lengths";
/// The trigrams with their idf.
pub(crate) const TRIGRAM_WEIGHTS: PartKind = part("trigram-weights", "ranker", "trigrams.safetensors");

/// The teacher's vectors, and what gives a query one.
pub(crate) const TEACHER: PartKind = part("teacher", "ranker", "teacher.safetensors");

/// All parts that this version can read.
pub(crate) const KNOWN: [PartKind; 21] = [
    MODEL,
    TITLES,
    VECTORS,
    VECTORS_F16,
    VECTORS_INT8,
    SHARD,
    OFFSETS,
    IDS,
    CODES,
    LISTS,
    LISTS_ONCE,
    WORDS,
    TERMS,
    FIELDS,
    CANARIES,
    FUSION,
    FUSION_WITH_TEACHER,
    TRIGRAMS,
    TRIGRAM_WEIGHTS,
    TEACHER,
    CHANGES,
];
