//! The lexical part of a segment: BM25 over the postings of tantivy, with clickvec's terms as its tokens.
//!
//! It has one field and one segment of tantivy's, written by one thread, so that the number of a document is the
//! position of its title. Nothing is stored in it but the terms.

mod directory;
mod files;
mod score;
mod tokenizer;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use clickvec::index::Hit;
use clickvec::internals::text::{Analysis, terms};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::schema::{Field, FieldType, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{Index, IndexReader, ReloadPolicy, Score, Searcher, SegmentReader, TantivyDocument, TantivyError, Term};

use crate::bm25::Bm25;
use directory::ReadOnly;
use tokenizer::WordTokenizer;

const FIELD: &str = "title";
/// What tantivy may take for a segment that it writes. It is only a hint: a segment is never cut.
const WRITER_BYTES: usize = 512 << 20;

/// The lexical part of a segment.
pub(crate) struct Words {
    searcher: Searcher,
    // The searcher's files live as long as this.
    _reader: IndexReader,
    field: Field,
    analysis: Analysis,
}

/// The statistics of all segments together, so that each scores as if it had all titles.
pub(crate) struct Statistics<'a> {
    segments: Vec<&'a Words>,
    bm25: Bm25,
    pub(crate) titles: u64,
    /// The number of terms of all titles.
    pub(crate) tokens: u64,
}

impl<'a> Statistics<'a> {
    pub(crate) fn new(segments: Vec<&'a Words>, bm25: Bm25) -> Result<Statistics<'a>, TantivyError> {
        let titles = segments.iter().map(|words| words.len()).sum();
        let tokens = segments.iter().map(|words| words.tokens()).sum::<Result<u64, _>>()?;
        Ok(Statistics { segments, bm25, titles, tokens })
    }

    /// Returns the number of titles that have a term.
    pub(crate) fn titles_with(&self, term: &str) -> Result<u64, TantivyError> {
        self.segments.iter().map(|words| words.titles_with(term)).sum()
    }
}

/// Reads from a lexical index. tantivy panics on some damaged files: checksums find those first, and this turns what happens to a
/// file that is exchanged later into an error.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, TantivyError>) -> Result<T, TantivyError> {
    let caught = catch_unwind(AssertUnwindSafe(read));
    caught.unwrap_or_else(|_| Err(TantivyError::InternalError("reading it failed".to_owned())))
}

impl Words {
    /// Makes the lexical part of some titles in memory. Their words are compared as they are.
    pub(crate) fn in_memory<'t>(titles: impl Iterator<Item = &'t str>) -> Result<Words, TantivyError> {
        Words::of(write(RamDirectory::create(), titles, Analysis::EXACT)?)
    }

    /// Opens the lexical part in a folder, which is not written to.
    pub(crate) fn open(folder: &Path) -> Result<Words, TantivyError> {
        let mut index = Index::open(ReadOnly::new(folder)?)?;
        index.set_tokenizers(tokenizers());
        let words = Words::of(index)?;
        // Some of what is damaged is noticed only when it is first looked at.
        words.tokens()?;
        Ok(words)
    }

    fn of(index: Index) -> Result<Words, TantivyError> {
        let field = index.schema().get_field(FIELD)?;
        let analysis = analysis_in(&index, field)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Words { searcher: reader.searcher(), _reader: reader, field, analysis })
    }

    /// The number of titles.
    pub(crate) fn len(&self) -> u64 {
        self.searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// What was done to the words of its titles.
    pub(crate) fn analysis(&self) -> Analysis {
        self.analysis
    }

    /// The terms of a query.
    pub(crate) fn terms(&self, query: &str) -> Vec<String> {
        terms(query, self.analysis)
    }

    /// The number of terms of all titles.
    pub(crate) fn tokens(&self) -> Result<u64, TantivyError> {
        let of_segment = |segment: &SegmentReader| Ok(segment.inverted_index(self.field)?.total_num_tokens());
        self.searcher.segment_readers().iter().map(of_segment).sum()
    }

    /// The number of titles that have a term.
    pub(crate) fn titles_with(&self, term: &str) -> Result<u64, TantivyError> {
        self.searcher.doc_freq(&self.term(term))
    }

    /// The best `k` titles that are allowed, in the order of [`Hit::best_first`]. `terms` has the query's terms, with
    /// repetitions.
    pub(crate) fn search(
        &self,
        terms: &[String],
        k: usize,
        statistics: &Statistics<'_>,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<Hit>, TantivyError> {
        let [segment] = self.searcher.segment_readers() else { return Ok(Vec::new()) };
        let k = k.min(segment.max_doc() as usize);
        if k == 0 {
            return Ok(Vec::new());
        }
        let Statistics { bm25, titles, tokens, .. } = *statistics;
        let inverted = segment.inverted_index(self.field)?;
        let mut found = Vec::new();
        // A term that is repeated is looked up once and multiplied: a query may be thousands of times the same word.
        for (term, count) in counted(terms) {
            let Some(postings) = inverted.read_postings(&self.term(term), IndexRecordOption::WithFreqs)? else {
                continue;
            };
            let weight = score::weight(bm25, statistics.titles_with(term)?, titles) * count as Score;
            found.push(score::Term { postings, weight });
        }
        let lengths = segment.get_fieldnorms_reader(self.field)?;
        Ok(score::best(found, &score::Norms::new(bm25, tokens, titles), &lengths, k, allowed))
    }

    fn term(&self, term: &str) -> Term {
        Term::from_field_text(self.field, term)
    }
}

/// The distinct terms in order of appearance, and how often there is each.
fn counted(terms: &[String]) -> Vec<(&String, u32)> {
    let mut counted: Vec<(&String, u32)> = Vec::new();
    let mut place_of: HashMap<&String, usize> = HashMap::new();
    for term in terms {
        match place_of.entry(term) {
            Entry::Occupied(place) => counted[*place.get()].1 += 1,
            Entry::Vacant(place) => {
                place.insert(counted.len());
                counted.push((term, 1));
            }
        }
    }
    counted
}

/// Writes the lexical part of titles into an empty folder, and returns the names of its files.
pub(crate) fn write_to<'t>(
    folder: &Path,
    titles: impl Iterator<Item = &'t str>,
    analysis: Analysis,
) -> Result<Vec<String>, TantivyError> {
    write(MmapDirectory::open(folder)?, titles, analysis)?;
    Ok(files::settle(folder)?)
}

fn write<'t>(
    directory: impl Directory,
    titles: impl Iterator<Item = &'t str>,
    analysis: Analysis,
) -> Result<Index, TantivyError> {
    let mut schema = Schema::builder();
    let indexing =
        TextFieldIndexing::default().set_tokenizer(name(analysis)).set_index_option(IndexRecordOption::WithFreqs);
    let field = schema.add_text_field(FIELD, TextOptions::default().set_indexing_options(indexing));
    let index = Index::builder().schema(schema.build()).tokenizers(tokenizers());
    let directory: Box<dyn Directory> = Box::new(directory);
    let mut writer = index.single_segment_index_writer::<TantivyDocument>(directory, WRITER_BYTES)?;
    for title in titles {
        let mut document = TantivyDocument::default();
        document.add_text(field, title);
        writer.add_document(document)?;
    }
    writer.finalize()
}

fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::new();
    for analysis in Analysis::ALL {
        tokenizers.register(name(analysis), TextAnalyzer::from(WordTokenizer::new(analysis)));
    }
    tokenizers
}

/// The name in tantivy's schema of the tokenizer that analyses words in this way.
fn name(analysis: Analysis) -> &'static str {
    match analysis {
        Analysis { stem: false, split: false } => "clickvec",
        Analysis { stem: true, split: false } => "clickvec-stem",
        Analysis { stem: false, split: true } => "clickvec-split",
        Analysis { stem: true, split: true } => "clickvec-stem-split",
    }
}

/// What was done to the words of an index, as its schema says.
fn analysis_in(index: &Index, field: Field) -> Result<Analysis, TantivyError> {
    let schema = index.schema();
    let found = match schema.get_field_entry(field).field_type() {
        FieldType::Str(options) => options.get_indexing_options().map_or("none", TextFieldIndexing::tokenizer),
        _ => "none",
    };
    let analysis = Analysis::ALL.into_iter().find(|&analysis| name(analysis) == found);
    analysis.ok_or_else(|| TantivyError::SchemaError(format!("expected a tokenizer of clickvec, found `{found}`")))
}
