//! The lexical part of a segment: BM25 by tantivy, with clickvec's terms as its tokens.
//!
//! It has one field and one segment of tantivy's, written by one thread, so that the number of a document is the
//! position of its title. Nothing is stored in it but the terms.

mod best;
mod directory;
mod files;
mod guard;
mod tokenizer;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use clickvec::index::Hit;
use clickvec::internals::index::Best;
use clickvec::internals::text::{Analysis, terms};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, FieldType, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{
    DocId, DocSet as _, Index, IndexReader, ReloadPolicy, Score, Searcher, TantivyDocument, TantivyError, Term,
};

use crate::bm25::Bm25;
use best::Near;
use directory::ReadOnly;
pub(crate) use guard::guarded;
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
    pub(crate) segments: Vec<&'a Words>,
    pub(crate) bm25: Bm25,
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
        self.searcher.total_num_tokens(self.field)
    }

    /// The number of titles that have a term.
    pub(crate) fn titles_with(&self, term: &str) -> Result<u64, TantivyError> {
        self.searcher.doc_freq(&self.term(term))
    }

    /// The best `k` titles that are allowed, in the order of [`Hit::best_first`]. `terms` has the query's terms, with
    /// repetitions. `is_exact` says that the last bits of scores may not depend on `k`, which takes a little longer.
    pub(crate) fn search(
        &self,
        terms: &[String],
        k: usize,
        is_exact: bool,
        statistics: &Statistics<'_>,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<Hit>, TantivyError> {
        if k == 0 || self.len() == 0 {
            return Ok(Vec::new());
        }
        // A term that is repeated is looked up once and multiplied: a query may be thousands of times the same word.
        let terms = counted(terms);
        let one = |&(term, count): &(&String, u32)| -> Box<dyn Query> {
            let query = TermQuery::new(self.term(term), IndexRecordOption::WithFreqs);
            if count == 1 { Box::new(query) } else { Box::new(BoostQuery::new(Box::new(query), count as Score)) }
        };
        let clause = |term: &(&String, u32)| (Occur::Should, one(term));
        let query = BooleanQuery::new(terms.iter().map(clause).collect());
        let scoring = || EnableScoring::enabled_from_statistics_provider(statistics, &self.searcher);
        let weight = query.weight(scoring())?;
        // Two numbers have one sum.
        if terms.len() <= 2 || !is_exact {
            let mut best = Best::default();
            best.restart(k.min(usize::try_from(self.len()).unwrap_or(usize::MAX)));
            self.each(weight.as_ref(), statistics.bm25, &mut |hit| {
                if let Some(hit) = hit.filter(|hit| allowed(hit.position)) {
                    best.keep(hit);
                }
                best.threshold()
            })?;
            return Ok(best.take());
        }
        // tantivy adds what each term adds to a title in an order that depends on what it has found before, so that the last bits
        // of a score differ from search to search, and with them the order of titles.
        let mut near = Near::new(k, 2.0 * terms.len() as Score * Score::EPSILON);
        self.each(weight.as_ref(), statistics.bm25, &mut |hit| {
            if let Some(hit) = hit.filter(|hit| allowed(hit.position)) {
                near.keep(hit);
            }
            near.threshold()
        })?;
        let weights = terms.iter().map(|term| one(term).weight(scoring())).collect::<Result<Vec<_>, _>>()?;
        let mut hits = near.finish();
        self.add_up(&weights, statistics.bm25, &mut hits)?;
        hits.sort_unstable_by(Hit::best_first);
        hits.truncate(k);
        Ok(hits)
    }

    /// Passes on titles that a query finds, in the order of their positions. `take` returns the score that the next one must
    /// exceed; it is asked with nothing first.
    fn each(
        &self,
        weight: &dyn Weight,
        bm25: Bm25,
        take: &mut dyn FnMut(Option<Hit>) -> Score,
    ) -> Result<(), TantivyError> {
        let (factor, over) = (bm25.factor(), bm25.factor() * bm25.slack());
        let mut first: DocId = 0;
        for segment in self.searcher.segment_readers() {
            let threshold = take(None) / over;
            weight.for_each_pruning(threshold, segment, &mut |document, score| {
                take(Some(Hit { position: first + document, score: score * factor })) / over
            })?;
            first += segment.max_doc();
        }
        Ok(())
    }

    /// The scores of hits, which come in the order of their positions, as sums in the order of the terms.
    fn add_up(&self, weights: &[Box<dyn Weight>], bm25: Bm25, hits: &mut [Hit]) -> Result<(), TantivyError> {
        let factor = f64::from(bm25.factor());
        let mut first: DocId = 0;
        for segment in self.searcher.segment_readers() {
            let end = first + segment.max_doc();
            let from = hits.partition_point(|hit| hit.position < first);
            let to = hits.partition_point(|hit| hit.position < end);
            let here = &mut hits[from..to];
            let mut sums = vec![0.0f64; here.len()];
            for weight in weights {
                let mut scorer = weight.scorer(segment, 1.0)?;
                for (hit, sum) in here.iter().zip(&mut sums) {
                    let document = hit.position - first;
                    if scorer.doc() < document {
                        scorer.seek(document);
                    }
                    if scorer.doc() == document {
                        *sum += f64::from(scorer.score());
                    }
                }
            }
            here.iter_mut().zip(sums).for_each(|(hit, sum)| hit.score = (sum * factor) as Score);
            first = end;
        }
        Ok(())
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

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        let tokens = self.segments.iter().map(|words| words.tokens()).sum::<Result<u64, _>>()?;
        Ok(self.bm25.tokens(tokens))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.segments.iter().map(|words| words.len()).sum())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.segments.iter().map(|words| words.searcher.doc_freq(term)).sum()
    }
}
