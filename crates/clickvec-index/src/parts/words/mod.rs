//! The lexical part of a segment: BM25 over the postings of tantivy, with clickvec's terms as its tokens.
//!
//! It has one field and one segment of tantivy's, written by one thread, so that the number of a document is the
//! position of its title. Nothing is stored in it but the terms.

mod bm25;
mod directory;
mod files;
mod score;
mod tokenizer;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use clickvec::index::Hit;
use clickvec::internals::text::{Analysis, terms};
use clickvec_tables::Stop;
use clickvec_tables::files::os_error;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::{Field, FieldType, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{DocSet as _, TERMINATED};
use tantivy::{Index as TantivyIndex, IndexReader, ReloadPolicy, Score, Searcher, TantivyDocument, TantivyError, Term};

use crate::error::{Error, Result, malformed};
use crate::folder::Folder;
use crate::titles::TitleLines;
pub use bm25::Bm25;
use directory::ReadOnly;
use tokenizer::WordTokenizer;

/// The folder of its files in that of a segment.
const FOLDER: &str = "words";
const FIELD: &str = "title";
/// The memory for tantivy to write a segment. It is only a hint: a segment is never cut.
const WRITER_BYTES: usize = 512 << 20;

/// The lexical part of a segment.
pub(crate) struct Words {
    /// The path of its files, for messages.
    path: PathBuf,
    searcher: Searcher,
    // The searcher's files live as long as this.
    _reader: IndexReader,
    field: Field,
    analysis: Analysis,
    /// The number of terms of all titles.
    tokens: u64,
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
    pub(crate) fn new(segments: Vec<&'a Words>, bm25: Bm25) -> Statistics<'a> {
        let titles = segments.iter().map(|words| words.len()).sum();
        let tokens = segments.iter().map(|words| words.tokens).sum();
        Statistics { segments, bm25, titles, tokens }
    }

    /// Returns the number of titles that have a term.
    pub(crate) fn titles_with(&self, term: &str) -> Result<u64> {
        self.segments.iter().map(|words| words.titles_with(term)).sum()
    }
}

/// Reads from a lexical index. tantivy panics on some damaged files: checksums find those first, and this turns what happens to a
/// file that is exchanged later into an error.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, TantivyError>) -> Result<T> {
    let caught = catch_unwind(AssertUnwindSafe(read));
    let read = caught.unwrap_or_else(|_| Err(TantivyError::InternalError("reading it failed".to_owned())));
    read.map_err(|error| failed(path, &error))
}

/// Returns an error of tantivy as ours. `path` is the folder of its files.
fn failed(path: &Path, error: &TantivyError) -> Error {
    // A full disk, or too many open files, is no damage.
    let system_error = match error {
        TantivyError::IoError(error) => Some(("read", error, None)),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
            Some(("open", io_error, Some(filepath)))
        }
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            Some(("write", io_error, Some(filepath)))
        }
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
            Some(("open", io_error, None))
        }
        _ => None,
    };
    if let Some((action, error, file)) = system_error
        && let Some(error) = os_error(error)
    {
        let path = file.map_or(path.to_owned(), |file| path.join(file));
        return Error::io(&path, action, error);
    }
    malformed(path, "a lexical index", format!("one that cannot be opened: {error}"))
}

impl Words {
    /// Makes the lexical part of some titles in memory.
    pub(crate) fn in_memory<'t>(titles: impl Iterator<Item = &'t str>, analysis: Analysis) -> Result<Words> {
        let path = Path::new(FOLDER);
        guarded(path, || Words::new(build(RamDirectory::create(), titles, analysis)?, path))
    }

    /// Opens the lexical part of a segment, after comparing the checksums of its files: tantivy panics on some damaged files, and these
    /// are small next to the vectors.
    pub(crate) fn open(folder: &Folder) -> Result<Words> {
        let files = folder.parts().get("words").into_iter().flat_map(|part| part.files.keys());
        files.into_iter().try_for_each(|name| folder.open_file(name)?.finish())?;
        Words::open_in(folder.path())
    }

    /// Opens the lexical part that was just written into the folder of a segment.
    pub(crate) fn open_in(folder: &Path) -> Result<Words> {
        let path = folder.join(FOLDER);
        guarded(&path, || {
            let mut index = TantivyIndex::open(ReadOnly::new(&path)?)?;
            index.set_tokenizers(tokenizers());
            Words::new(index, &path)
        })
    }

    fn new(index: TantivyIndex, path: &Path) -> Result<Words, TantivyError> {
        let field = index.schema().get_field(FIELD)?;
        let analysis = analysis_in(&index, field)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let mut tokens = 0;
        for segment in searcher.segment_readers() {
            tokens += segment.inverted_index(field)?.total_num_tokens();
        }
        Ok(Words { path: path.to_owned(), searcher, _reader: reader, field, analysis, tokens })
    }

    /// Returns the number of titles.
    pub(crate) fn len(&self) -> u64 {
        self.searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum()
    }

    /// Returns the analysis of its titles' words.
    pub(crate) fn analysis(&self) -> Analysis {
        self.analysis
    }

    /// Returns the terms of a query.
    pub(crate) fn terms(&self, query: &str) -> Vec<String> {
        terms(query, self.analysis)
    }

    /// Returns the number of titles that have a term.
    pub(crate) fn titles_with(&self, term: &str) -> Result<u64> {
        guarded(&self.path, || self.searcher.doc_freq(&self.term(term)))
    }

    /// Returns the best `k` titles that are allowed, in the order of [`Hit::best_first`]. `terms` has the query's terms, with
    /// repetitions.
    pub(crate) fn search(
        &self,
        terms: &[String],
        k: usize,
        statistics: &Statistics<'_>,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<Hit>> {
        let k = k.min(self.len() as usize);
        if k == 0 {
            return Ok(Vec::new());
        }
        self.with_postings(terms, statistics, |found, norms, lengths| score::best(found, norms, lengths, k, allowed))
    }

    /// Returns the scores of the titles at these positions, which ascend, as [`Words::search`] finds them; 0 for a title without any of
    /// the terms.
    pub(crate) fn scores(&self, terms: &[String], positions: &[u32], statistics: &Statistics<'_>) -> Result<Vec<f32>> {
        self.with_postings(terms, statistics, |found, norms, lengths| score::scores(found, norms, lengths, positions))
    }

    /// Calls `score` with the postings of the terms, which may be repeated.
    fn with_postings<T: Default>(
        &self,
        terms: &[String],
        statistics: &Statistics<'_>,
        score: impl FnOnce(Vec<score::Term>, &score::Norms, &FieldNormReader) -> T,
    ) -> Result<T> {
        let [segment] = self.searcher.segment_readers() else { return Ok(T::default()) };
        let Statistics { bm25, titles, tokens, .. } = *statistics;
        // A term that is repeated is looked up once and multiplied: a query may be thousands of times the same word.
        let counted = counted(terms);
        let with = counted.iter().map(|(term, _)| statistics.titles_with(term)).collect::<Result<Vec<u64>>>()?;
        guarded(&self.path, || {
            let inverted = segment.inverted_index(self.field)?;
            let mut found = Vec::new();
            for (&(term, count), with) in counted.iter().zip(with) {
                let Some(postings) = inverted.read_postings(&self.term(term), IndexRecordOption::WithFreqs)? else {
                    continue;
                };
                let weight = score::weight(bm25, with, titles) * count as Score;
                found.push(score::Term { postings, weight });
            }
            let lengths = segment.get_fieldnorms_reader(self.field)?;
            Ok(score(found, &score::Norms::new(bm25, tokens, titles), &lengths))
        })
    }

    /// Returns the terms of titles within this many edits of a term. A swap of neighbouring letters is one edit.
    pub(crate) fn similar(&self, term: &str, edits: u8) -> Result<Vec<String>> {
        let [segment] = self.searcher.segment_readers() else { return Ok(Vec::new()) };
        guarded(&self.path, || {
            let automaton = FuzzyTermQuery::new(self.term(term), edits, true).automaton()?;
            let inverted = segment.inverted_index(self.field)?;
            let mut stream = inverted.terms().search(automaton).into_stream()?;
            let mut found = Vec::new();
            while let Some((term, _)) = stream.next() {
                found.extend(std::str::from_utf8(term).map(str::to_owned));
            }
            Ok(found)
        })
    }

    /// Returns the number of titles that have all of these terms.
    pub(crate) fn titles_with_all(&self, terms: &[&String]) -> Result<u64> {
        let [segment] = self.searcher.segment_readers() else { return Ok(0) };
        guarded(&self.path, || {
            let inverted = segment.inverted_index(self.field)?;
            let mut all = Vec::new();
            for term in terms {
                match inverted.read_postings(&self.term(term), IndexRecordOption::Basic)? {
                    Some(postings) => all.push(postings),
                    None => return Ok(0),
                }
            }
            Ok(score::count_all(all))
        })
    }

    /// Returns the position of the first title with a term.
    pub(crate) fn first_with(&self, term: &str) -> Result<Option<u32>> {
        let [segment] = self.searcher.segment_readers() else { return Ok(None) };
        guarded(&self.path, || {
            let postings =
                segment.inverted_index(self.field)?.read_postings(&self.term(term), IndexRecordOption::Basic)?;
            Ok(postings.map(|postings| postings.doc()).filter(|&position| position != TERMINATED))
        })
    }

    fn term(&self, term: &str) -> Term {
        Term::from_field_text(self.field, term)
    }
}

/// Returns the distinct terms in order of appearance, with their numbers of occurrences.
fn counted(terms: &[String]) -> Vec<(&String, u32)> {
    let mut counted: Vec<(&String, u32)> = Vec::new();
    let mut indexes: HashMap<&String, usize> = HashMap::new();
    for term in terms {
        match indexes.entry(term) {
            Entry::Occupied(index) => counted[*index.get()].1 += 1,
            Entry::Vacant(index) => {
                index.insert(counted.len());
                counted.push((term, 1));
            }
        }
    }
    counted
}

/// Writes the lexical part of titles into the folder of a segment, and returns the names of its files there.
pub(crate) fn write(folder: &Path, titles: &TitleLines, analysis: Analysis) -> Result<Vec<String>> {
    let inner = folder.join(FOLDER);
    let unwritten = |source| Error::io(&inner, "write", source);
    fs::create_dir(&inner).map_err(unwritten)?;
    let written = MmapDirectory::open(&inner).map_err(TantivyError::from);
    let written = written.and_then(|directory| build(directory, titles.texts(), analysis));
    written.map_err(|error| match error {
        TantivyError::IoError(error) => {
            unwritten(os_error(&error).unwrap_or_else(|| io::Error::new(error.kind(), error)))
        }
        other => failed(&inner, &other),
    })?;
    let names = files::settle(&inner).map_err(unwritten)?;
    Ok(names.into_iter().map(|name| format!("{FOLDER}/{name}")).collect())
}

fn build<'t>(
    directory: impl Directory,
    titles: impl Iterator<Item = &'t str>,
    analysis: Analysis,
) -> Result<TantivyIndex, TantivyError> {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(&analysis.file_name())
        .set_index_option(IndexRecordOption::WithFreqs);
    let field = schema.add_text_field(FIELD, TextOptions::default().set_indexing_options(indexing));
    let index = TantivyIndex::builder().schema(schema.build()).tokenizers(tokenizers());
    let directory: Box<dyn Directory> = Box::new(directory);
    let mut writer = index.single_segment_index_writer::<TantivyDocument>(directory, WRITER_BYTES)?;
    let stop = Stop::of_thread();
    for title in titles {
        stop.unwind_if_set();
        let mut document = TantivyDocument::default();
        document.add_text(field, title);
        writer.add_document(document)?;
    }
    writer.finalize()
}

fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::new();
    for analysis in Analysis::all() {
        tokenizers.register(&analysis.file_name(), TextAnalyzer::from(WordTokenizer::new(analysis)));
    }
    tokenizers
}

/// Returns the analysis of an index's words, from its schema.
fn analysis_in(index: &TantivyIndex, field: Field) -> Result<Analysis, TantivyError> {
    let schema = index.schema();
    let found = match schema.get_field_entry(field).field_type() {
        FieldType::Str(options) => options.get_indexing_options().map_or("none", TextFieldIndexing::tokenizer),
        _ => "none",
    };
    let analysis = Analysis::all().find(|analysis| analysis.file_name() == found);
    analysis.ok_or_else(|| TantivyError::SchemaError(format!("expected a tokenizer of clickvec, found `{found}`")))
}
