//! What the systems are judged by: judged titles or a collection, read from the files that the options name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::tables::{Title, Titles};
use clickvec::train::Weighting;
use clickvec_eval::ranker::Corpus;
use clickvec_eval::{
    self as eval, Agreement, Collection, CorpusFiles, EvaluateOptions, Form, Judgments, Metric, Overlap, Run, Task,
    TestSet, TestSetFiles,
};
use clickvec_index::Index;
use clickvec_tables::files;

use super::Args;
use super::systems::{Entry, Systems};
use crate::systems::{Loaded, run_error, titles};
use crate::test_set;
use crate::{console, input};

/// What the systems are judged by.
pub(super) struct Test {
    pub(super) judgments: Judgments,
    /// The collection that systems search; `None` if they rank the judged titles.
    collection: Option<Collection>,
    /// The file of the collection.
    titles: Option<Titles>,
    pub(super) metrics: Vec<Metric>,
    pub(super) options: EvaluateOptions,
    /// The largest number of titles that a system finds for a query.
    pub(super) depth: usize,
    /// Whether most of what was judged is there.
    pub(super) is_mostly_there: bool,
    /// Systems that had to be opened for their titles.
    pub(super) opened: Vec<(PathBuf, Loaded)>,
    /// How far other judges agree with the first one.
    pub(super) agreements: Vec<(PathBuf, Agreement)>,
}

impl Test {
    /// Reads what the options name, and reports what it lacks.
    pub(super) fn read(args: &Args, systems: &Systems) -> Result<Test> {
        let files = args.test_set();
        let all_runs = systems.entries.iter().all(Entry::is_run);
        let needs_texts = !all_runs || args.full.is_some() || args.clicks.is_some();
        if systems.entries.iter().any(Entry::is_trained) {
            test_set::refuse_pipe(&files)?;
        }
        let mut set = if needs_texts { test_set::read(&files)? } else { test_set::read_for_runs(&files)? };
        let agreements = fill(&mut set, &files, &args.judged[1..])?;
        let mut test = Test {
            judgments: Judgments::default(),
            collection: None,
            titles: None,
            metrics: args.metrics()?,
            options: args.options(),
            depth: args.full.map_or(usize::MAX, |depth| depth as usize),
            is_mostly_there: test_set::is_mostly_there(files.judged, &set),
            opened: Vec::new(),
            agreements,
        };
        if matches!(set.form, Form::Qrels | Form::Ids) {
            test.read_runs(set.judgments, systems)?;
        } else {
            test.read_collection(set, &files, args, systems)?;
        }
        Ok(test)
    }

    fn read_collection(
        &mut self,
        set: TestSet,
        files: &TestSetFiles<'_>,
        args: &Args,
        systems: &Systems,
    ) -> Result<()> {
        refuse_unknown_ids(&set, args, systems)?;
        self.titles = set.collection(files.titles.clone()).map(|titles| args.title_columns.table(&titles.path));
        if args.full.is_some() {
            let titles = self.titles_to_search(args, systems)?;
            let collection = Collection::new(&set.judgments, set.title_ids, titles)?;
            note_missing(files.judged, &collection, set.title_ids)?;
            self.is_mostly_there &= has_most_titles(files.judged, &collection);
            self.collection = Some(collection);
        }
        self.judgments = set.judgments;
        Ok(())
    }

    /// Reads runs for TREC qrels without texts. As in `trec_eval -c`, a query that a run lacks scores 0, and a title without a
    /// judgment has grade 0.
    fn read_runs(&mut self, judgments: Judgments, systems: &Systems) -> Result<()> {
        let judged = judgments.queries.iter().flat_map(|query| &query.titles);
        let mut titles: BTreeSet<String> = judged.map(|title| title.id.clone()).collect();
        for path in systems.entries.iter().filter(|entry| entry.is_run()).filter_map(|entry| entry.source.path()) {
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
    fn titles_to_search(&mut self, args: &Args, systems: &Systems) -> Result<Vec<Title>> {
        if let Some(titles) = &self.titles {
            ensure!(
                !files::is_stream(&titles.path),
                "{}: expected a file of titles, because they are read more than once, found a pipe; write them to a file first",
                console::input(&titles.path)
            );
            return input::titles(titles, &args.field);
        }
        let Some(path) = systems.entries.iter().find_map(Entry::index) else {
            bail!("expected titles to search, found none; add `--titles FILE`");
        };
        let index = Index::open(path)?;
        let titles = titles(&index)?;
        self.opened.push((path.to_owned(), Loaded::Index(Box::new(index))));
        Ok(titles)
    }

    /// Returns what the systems are judged by.
    pub(super) fn task(&self) -> Task<'_> {
        match &self.collection {
            Some(collection) => collection.task(&collection.queries),
            None => Task::Judged(&self.judgments),
        }
    }

    /// Returns the collection that systems search, unless they rank the judged titles.
    pub(super) fn collection(&self) -> Option<&Collection> {
        self.collection.as_ref()
    }

    /// Returns the collection that is searched with `--full`. Runs that are judged by qrels alone have a collection without texts.
    pub(super) fn searched(&self) -> Option<&Collection> {
        self.collection().filter(|_| self.depth < usize::MAX)
    }

    /// Reads what rankers learn from, and counts the judged queries that are also in the clicks.
    pub(super) fn corpus(&self, args: &Args, systems: &Systems) -> Result<(Corpus, Option<Overlap>)> {
        let is_trained = systems.entries.iter().any(Entry::is_trained);
        let clicks = args.clicks.as_deref();
        if let (true, Some(collection), None) = (is_trained, &self.collection, &self.titles) {
            ensure!(
                clicks.is_none(),
                "expected a file of titles for rankers that learn from clicks, found none; add `--titles FILE`"
            );
            return Ok((Corpus::from_titles(collection.texts())?, None));
        }
        let files = CorpusFiles { titles: self.titles.clone(), clicks, field: &args.field, weighting: Weighting::Log };
        let read = eval::read_learnt(&files, &self.judgments, is_trained)?;
        if self.collection.is_some() {
            read.clicks.iter().for_each(|(path, skipped)| input::note_skipped(path, skipped));
        } else if is_trained {
            input::note_corpus(&read);
        }
        if let (Some(overlap), Some(clicks)) = (&read.overlap, clicks) {
            test_set::note_overlap(&args.judged[0], clicks, overlap);
        }
        Ok((read.corpus, read.overlap))
    }
}

/// Adds the grades of other judges to a test set where it has none.
fn fill(set: &mut TestSet, files: &TestSetFiles<'_>, others: &[PathBuf]) -> Result<Vec<(PathBuf, Agreement)>> {
    let mut agreements = Vec::new();
    for path in others {
        let other = test_set::read(&TestSetFiles { judged: path, ..files.clone() })?;
        for (path, set) in [(files.judged, &*set), (path, &other)] {
            ensure!(
                matches!(set.form, Form::Table | Form::Document) && set.title_ids,
                "{}: expected a table with the column title_id, since there are several judges, found another test set",
                console::path(path)
            );
        }
        agreements.push((path.clone(), set.judgments.fill(&other.judgments)));
    }
    Ok(agreements)
}

/// Refuses a run where the judged titles would have ids from a table of titles that can be read only once.
fn refuse_unknown_ids(set: &TestSet, args: &Args, systems: &Systems) -> Result<()> {
    let pipe = args.titles.as_deref().filter(|titles| files::is_stream(titles));
    if let (Some(titles), false, Form::Table, false) =
        (pipe, !systems.entries.iter().any(Entry::is_run), &set.form, set.title_ids)
    {
        bail!(
            "{}: expected a file of titles, because a run needs the ids of the judged titles and they are looked up in it, \
             found a pipe; write the titles to a file first, or give the judged table a column `title_id`",
            console::input(titles)
        );
    }
    Ok(())
}

/// Reports how many judged titles the collection lacks. An error if it lacks them all.
fn note_missing(path: &Path, set: &Collection, by_id: bool) -> Result<()> {
    let by = if by_id { "ids" } else { "texts" };
    let path = path.display();
    ensure!(
        set.missing.count < set.judged,
        "{path}: expected judged titles that are in the collection, matched by their {by}, found none; \
         is this the collection that was judged?"
    );
    if set.missing.count > 0 {
        let judged = console::counted(set.judged, "judgment");
        console::note(format_args!(
            "{path}: {} of {judged} {} of titles that are not in the collection, matched by their {by}; no system can \
             find them",
            console::count(set.missing.count),
            console::agreeing(set.missing.count, "is", "are")
        ));
    }
    if set.repeated > 0 {
        let repeated = console::counted(set.repeated, "title");
        console::note(format_args!(
            "left out {repeated} of the collection with the same text as another: without ids, judged titles \
             are matched by text"
        ));
    }
    Ok(())
}

/// Returns whether the collection has most of the judged titles, and warns if not.
fn has_most_titles(path: &Path, set: &Collection) -> bool {
    let has_most = 2 * set.missing.count <= set.judged;
    if !has_most {
        console::note(format_args!(
            "warning: {}: the collection lacks most of the judged titles, so the figures say little",
            path.display()
        ));
    }
    has_most
}
