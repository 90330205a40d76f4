//! What the systems are judged by: judged titles or a collection, read from the files that the options name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clickvec::tables::{Title, Titles};
use clickvec::train::Weighting;
use clickvec_eval::ranker::Corpus;
use clickvec_eval::{
    self as eval, Agreement, Answers, Collection, CorpusFiles, EvaluateOptions, Form, Judgments, Metric, Overlap, Run,
    Task, TestSet, TestSetFiles,
};
use clickvec_index::Index;
use clickvec_tables::shown::{agreeing, count, counted, printable, shown_input};
use clickvec_tables::{Error, ErrorKind, Result, files};

use super::{Entry, coverage};
use crate::systems::{Loaded, run_error, titles};
use crate::{Watcher, inputs, test_set};

/// What systems are judged by, and how.
#[derive(Debug, Clone)]
pub struct Config<'a> {
    /// The judged titles.
    pub files: TestSetFiles<'a>,
    /// Titles that others judged: their grades count where there is none.
    pub others: &'a [PathBuf],
    /// A click log, for rankers that learn from clicks.
    pub clicks: Option<&'a Path>,
    /// How its counts become weights.
    pub weighting: Weighting,
    /// The number of titles to search the whole collection for. Without it, the judged titles are ranked.
    pub full: Option<u32>,
    /// The metrics; without any, the usual ones.
    pub measures: &'a [Metric],
    /// How a ranking is judged.
    pub options: EvaluateOptions,
}

impl Config<'_> {
    /// Returns the metrics of the report. An error if one of them is named twice, or needs longer lists than are searched for.
    fn metrics(&self) -> Result<Vec<Metric>> {
        let reaches = |metric: &Metric| self.full.is_none_or(|depth| metric.depth().is_none_or(|k| k <= depth));
        if self.measures.is_empty() {
            let usual = if self.full.is_some() { &Metric::OF_SEARCH[..] } else { &Metric::OF_JUDGED };
            return Ok(usual.iter().copied().filter(reaches).collect());
        }
        for (at, metric) in self.measures.iter().enumerate() {
            if self.measures[..at].contains(metric) {
                return Err(Error::expected(ErrorKind::Setting, "each metric once", format!("`{metric}` again")));
            }
            if !reaches(metric) {
                let depth = metric.depth().unwrap_or_default();
                let expected = format!("lists of at least {depth} titles for `{metric}`");
                let error = Error::expected(ErrorKind::Setting, expected, self.full.unwrap_or_default().to_string());
                return Err(error.help(format!("set `full` to {depth}")).settings(&["full"]));
            }
        }
        Ok(self.measures.to_vec())
    }
}

/// What the systems are judged by.
pub struct Test {
    /// The judged titles.
    pub judgments: Judgments,
    /// The collection that systems search; `None` if they rank the judged titles.
    collection: Option<Collection>,
    /// The file of the collection.
    titles: Option<Titles>,
    /// The metrics of the report.
    pub metrics: Vec<Metric>,
    /// How a ranking is judged.
    pub options: EvaluateOptions,
    /// The largest number of titles that a system finds for a query.
    pub depth: usize,
    /// Whether most of what was judged is there.
    pub is_mostly_there: bool,
    /// Systems that had to be opened for their titles.
    pub opened: Vec<(PathBuf, Loaded)>,
    /// How far other judges agree with the first one.
    pub agreements: Vec<(PathBuf, Agreement)>,
}

impl Test {
    /// Reads what systems are judged by, and notes what it lacks.
    ///
    /// # Errors
    ///
    /// Those of reading; or the systems cannot be judged by it.
    pub fn read(config: &Config<'_>, entries: &[Entry], watch: &dyn Watcher) -> Result<Test> {
        let files = &config.files;
        let all_runs = entries.iter().all(Entry::is_run);
        let needs_texts = !all_runs || config.full.is_some() || config.clicks.is_some();
        if entries.iter().any(Entry::is_trained) {
            test_set::refuse_pipe(files)?;
        }
        let read = if needs_texts { test_set::read } else { test_set::read_for_runs };
        let mut set = read(files, watch)?;
        let agreements = fill(&mut set, config, watch)?;
        let mut test = Test {
            judgments: Judgments::default(),
            collection: None,
            titles: None,
            metrics: config.metrics()?,
            options: config.options,
            depth: config.full.map_or(usize::MAX, |depth| depth as usize),
            is_mostly_there: test_set::is_mostly_there(files.judged, &set, watch),
            opened: Vec::new(),
            agreements,
        };
        if matches!(set.form, Form::Qrels | Form::Ids) {
            test.read_runs(set.judgments, entries)?;
        } else {
            test.read_collection(set, config, entries, watch)?;
        }
        Ok(test)
    }

    fn read_collection(
        &mut self,
        set: TestSet,
        config: &Config<'_>,
        entries: &[Entry],
        watch: &dyn Watcher,
    ) -> Result<()> {
        let judged = config.files.judged;
        refuse_unknown_ids(&set, config, entries)?;
        self.titles = set.collection(config.files.titles.clone());
        if config.full.is_some() {
            let titles = self.titles_to_search(config, entries, watch)?;
            let collection = Collection::new(&set.judgments, set.title_ids, titles)?;
            note_missing(judged, &collection, set.title_ids, watch)?;
            self.is_mostly_there &= has_most_titles(judged, &collection, watch);
            self.collection = Some(collection);
        }
        self.judgments = set.judgments;
        Ok(())
    }

    /// Reads runs for TREC qrels without texts. As in `trec_eval -c`, a query that a run lacks scores 0, and a title without a
    /// judgment has grade 0.
    fn read_runs(&mut self, judgments: Judgments, entries: &[Entry]) -> Result<()> {
        let judged = judgments.queries.iter().flat_map(|query| &query.titles);
        let mut titles: BTreeSet<String> = judged.map(|title| title.id.clone()).collect();
        for path in entries.iter().filter(|entry| entry.is_run()).filter_map(Entry::path) {
            let run = Run::read(path).map_err(|error| run_error(path, error))?;
            titles.extend(run.titles().map(str::to_owned));
            self.opened.push((path.to_owned(), Loaded::Run(run)));
        }
        let titles = titles.into_iter().map(|id| Title { id, title: String::new() }).collect();
        self.collection = Some(Collection::new(&judgments, true, titles)?);
        self.judgments = judgments;
        Ok(())
    }

    /// Reads the titles to search: those of a file or, without one, of the first index.
    fn titles_to_search(&mut self, config: &Config<'_>, entries: &[Entry], watch: &dyn Watcher) -> Result<Vec<Title>> {
        if let Some(titles) = &self.titles {
            if files::is_stream(&titles.path) {
                let expected = "a file of titles, because they are read more than once";
                let error = Error::expected(ErrorKind::Setting, expected, "a pipe");
                return Err(error.help("write them to a file first").at(&titles.path));
            }
            return inputs::titles(titles, config.files.field, watch);
        }
        let Some(path) = entries.iter().find_map(Entry::index) else {
            let error = Error::expected(ErrorKind::Setting, "titles to search", "none");
            return Err(error.help("add `titles`").settings(&["titles"]));
        };
        let index = Index::open(path)?;
        let titles = titles(&index)?;
        self.opened.push((path.to_owned(), Loaded::Index(Box::new(index))));
        Ok(titles)
    }

    /// Returns what the systems are judged by.
    pub fn task(&self) -> Task<'_> {
        match &self.collection {
            Some(collection) => collection.task(&collection.queries),
            None => Task::Judged(&self.judgments),
        }
    }

    /// Returns the collection that systems search, unless they rank the judged titles.
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_ref()
    }

    /// Returns the collection that is searched. Runs that are judged by qrels alone have a collection without texts.
    pub fn searched(&self) -> Option<&Collection> {
        self.collection().filter(|_| self.depth < usize::MAX)
    }

    /// Reads what rankers learn from, and counts the judged queries that are also in the clicks.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn corpus(
        &self,
        config: &Config<'_>,
        entries: &[Entry],
        watch: &dyn Watcher,
    ) -> Result<(Corpus, Option<Overlap>)> {
        let is_trained = entries.iter().any(Entry::is_trained);
        let clicks = config.clicks;
        if let (true, Some(collection), None) = (is_trained, &self.collection, &self.titles) {
            if clicks.is_some() {
                let expected = "a file of titles for rankers that learn from clicks";
                let error = Error::expected(ErrorKind::Setting, expected, "none");
                return Err(error.help("add `titles`").settings(&["titles"]));
            }
            return Ok((Corpus::from_titles(collection.texts())?, None));
        }
        let field = config.files.field;
        let files = CorpusFiles { titles: self.titles.clone(), clicks, field, weighting: config.weighting };
        let read = eval::read_learnt(&files, &self.judgments, is_trained)?;
        if self.collection.is_some() {
            read.clicks.iter().for_each(|(path, skipped)| inputs::note_skipped(path, skipped, watch));
        } else if is_trained {
            inputs::note_corpus(&read, watch);
        }
        if let (Some(overlap), Some(clicks)) = (&read.overlap, clicks) {
            test_set::note_overlap(config.files.judged, clicks, overlap, watch);
        }
        Ok((read.corpus, read.overlap))
    }

    /// Loads or trains a system and returns its answers, or why it has nothing to learn from, which is a warning. `saved` is the folder
    /// for trained rankers; `opened` has systems that were opened before.
    ///
    /// # Errors
    ///
    /// Those of [`Entry::load`] and [`Test::answers`].
    ///
    /// # Panics
    ///
    /// If the entry has no source.
    pub fn answers_of(
        &self,
        entry: &Entry,
        corpus: &Corpus,
        saved: Option<&Path>,
        opened: &mut Vec<(PathBuf, Loaded)>,
        watch: &dyn Watcher,
    ) -> Result<Result<Answers, String>> {
        let loaded = match entry.load(corpus, saved, opened, watch) {
            Err(why) if entry.is_trained() && why.concerns_data() => {
                watch.warn(format!("left out {why}"));
                return Ok(Err(why.to_string()));
            }
            loaded => loaded?.expect("a system with a source"),
        };
        self.answers(entry, &loaded, watch).map(Ok)
    }

    /// Returns a system's answers to the queries: scores of judged titles, or what it finds in a collection. Notes what it lacks.
    ///
    /// # Errors
    ///
    /// It has other titles, or none of the texts.
    ///
    /// # Panics
    ///
    /// With the error of `watch`, if that stops the work.
    pub fn answers(&self, entry: &Entry, system: &Loaded, watch: &dyn Watcher) -> Result<Answers> {
        let task = self.task();
        if let Loaded::Ranker(ranker) = system {
            coverage::note_missing_vectors(&entry.name, ranker.as_ref(), task, watch)?;
        }
        let (name, queries) = (format!("{}: answering", printable(&entry.name)), task.len() as u64);
        let mut done = |done: usize| watch.progress_or_unwind(&name, "queries", done as u64, queries);
        let (answers, coverage) = system.answers(task, self.collection(), self.depth, &mut done)?;
        if let Some(coverage) = coverage {
            coverage::note_run(entry.path().unwrap_or(Path::new(&entry.name)), &coverage, task, watch);
        }
        Ok(answers)
    }
}

/// Adds the grades of other judges to a test set where it has none.
fn fill(set: &mut TestSet, config: &Config<'_>, watch: &dyn Watcher) -> Result<Vec<(PathBuf, Agreement)>> {
    let (files, mut agreements) = (&config.files, Vec::new());
    for path in config.others {
        let other = test_set::read(&TestSetFiles { judged: path, ..files.clone() }, watch)?;
        for (path, set) in [(files.judged, &*set), (path, &other)] {
            if !matches!(set.form, Form::Table | Form::Document) || !set.title_ids {
                let expected = "a table with the column title_id, since there are several judges";
                return Err(Error::expected(ErrorKind::Mismatch, expected, "another test set").at(path));
            }
        }
        agreements.push((path.clone(), set.judgments.fill(&other.judgments)));
    }
    Ok(agreements)
}

/// Refuses a run where the judged titles would have ids from a table of titles that can be read only once.
fn refuse_unknown_ids(set: &TestSet, config: &Config<'_>, entries: &[Entry]) -> Result<()> {
    let pipe = config.files.titles.as_ref().filter(|titles| files::is_stream(&titles.path));
    if let (Some(titles), true, Form::Table, false) =
        (pipe, entries.iter().any(Entry::is_run), &set.form, set.title_ids)
    {
        let expected =
            "a file of titles, because a run needs the ids of the judged titles and they are looked up in it";
        let help = "write the titles to a file first, or give the judged table a column `title_id`";
        return Err(Error::expected(ErrorKind::Setting, expected, "a pipe").help(help).at(&titles.path));
    }
    Ok(())
}

/// Notes how many judged titles the collection lacks. An error if it lacks them all.
fn note_missing(path: &Path, set: &Collection, by_id: bool, watch: &dyn Watcher) -> Result<()> {
    let by = if by_id { "ids" } else { "texts" };
    if set.missing.count >= set.judged {
        let expected = format!("judged titles that are in the collection, matched by their {by}");
        let error = Error::expected(ErrorKind::Mismatch, expected, "none");
        return Err(error.help("is this the collection that was judged?").at(path));
    }
    let path = shown_input(path);
    if set.missing.count > 0 {
        let judged = counted(set.judged, "judgment");
        watch.warn(format!(
            "{path}: {} of {judged} {} for titles that are not in the collection (matched by their {by}); no system can \
             find them",
            count(set.missing.count),
            agreeing(set.missing.count, "is", "are")
        ));
    }
    if set.repeated > 0 {
        let repeated = counted(set.repeated, "title");
        watch.warn(format!(
            "left out {repeated} of the collection with the same text as another: without ids, judged titles \
             are matched by text"
        ));
    }
    Ok(())
}

/// Returns whether the collection has most of the judged titles, and warns if not.
fn has_most_titles(path: &Path, set: &Collection, watch: &dyn Watcher) -> bool {
    let has_most = 2 * set.missing.count <= set.judged;
    if !has_most {
        watch.warn(format!(
            "warning: {}: the collection lacks most of the judged titles, so the figures say little",
            shown_input(path)
        ));
    }
    has_most
}
