//! What the systems are judged by: judged titles or a collection, read from the files that the options name.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::tables::{Title, Titles};
use clickvec::train::Weighting;
use clickvec_eval::ranker::Corpus;
use clickvec_eval::{
    self as eval, Agreement, Collection, CorpusFiles, EvaluateOptions, Form, Judgments, Metric, Overlap, Run,
    SearchQuery, Task, TestSet, TestSetFiles,
};
use clickvec_index::Index;
use clickvec_tables::files;

use super::Args;
use super::options::FusionOption;
use super::systems::{Entry, Systems};
use crate::systems::{Loaded, run_error, titles};
use crate::test_set::{self, query_key};
use crate::{input, output};

/// With fewer queries than this, fitted weights are hardly better than equal ones.
const FEW_QUERIES: usize = 20;

/// What the systems are judged by.
pub(super) struct Test {
    pub(super) judgments: Judgments,
    /// The collection that systems search; `None` if they rank the judged titles.
    collection: Option<Collection>,
    /// The queries that the weights of fusions are fitted on.
    fitting: Option<Fitting>,
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

struct Fitting {
    judgments: Judgments,
    queries: Vec<SearchQuery>,
}

impl Test {
    /// Reads what the options name, and reports what it lacks.
    pub(super) fn read(args: &Args, systems: &Systems) -> Result<Test> {
        let files = args.test_set();
        let all_runs = systems.entries.iter().all(Entry::is_run);
        let needs_texts = !all_runs || args.full.is_some() || args.clicks.is_some() || !args.fusion.is_empty();
        if systems.entries.iter().any(Entry::is_trained) {
            test_set::refuse_pipe(&files)?;
        }
        let mut set = if needs_texts { test_set::read(&files)? } else { test_set::read_for_runs(&files)? };
        let agreements = fill(&mut set, &files, &args.judged[1..])?;
        let mut test = Test {
            judgments: Judgments::default(),
            collection: None,
            fitting: None,
            titles: None,
            metrics: args.metrics()?,
            options: args.options(),
            depth: args.full.map_or(usize::MAX, |depth| depth as usize),
            is_mostly_there: test_set::is_mostly_there(files.judged, &set),
            opened: Vec::new(),
            agreements,
        };
        if set.form == Form::Qrels {
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
        self.titles = test_set::collection(&set, args.titles.as_deref()).map(|path| args.title_columns.table(&path));
        let mut others = args.fusion.iter().filter_map(FusionOption::file);
        let fitting = others.next().map(|path| {
            if let Some(other) = others.find(|other| *other != path) {
                bail!("expected one file to fit the weights of all fusions on, found `{}` too", other.display());
            }
            other_queries(path, files, &set.judgments)
        });
        let fitting = fitting.transpose()?;
        if args.full.is_some() {
            let titles = self.titles_to_search(args, systems)?;
            let mut collection = Collection::new(&set.judgments, set.title_ids, titles)?;
            note_missing(files.judged, &collection, set.title_ids)?;
            self.is_mostly_there &= has_most_titles(files.judged, &collection);
            let (missing, judged) = (collection.missing.clone(), collection.judged);
            self.fitting = match fitting {
                Some(TestSet { judgments, title_ids, .. }) => {
                    Some(Fitting { queries: collection.others(&judgments, title_ids)?, judgments })
                }
                None => None,
            };
            // The report covers only the judged queries, not those that weights are fitted on.
            (collection.missing, collection.judged) = (missing, judged);
            self.collection = Some(collection);
        } else {
            self.fitting = fitting.map(|set| Fitting { judgments: set.judgments, queries: Vec::new() });
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
                output::input(&titles.path)
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

    /// Returns what the weights of fusions are fitted on.
    pub(super) fn fitting(&self) -> Option<Task<'_>> {
        let Fitting { judgments, queries } = self.fitting.as_ref()?;
        Some(match &self.collection {
            Some(collection) => collection.task(queries),
            None => Task::Judged(judgments),
        })
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
        let mut corpus = Corpus::default();
        let mut overlap = None;
        if is_trained {
            let titles = self.titles.clone();
            let files = CorpusFiles { titles, clicks, field: &args.field, weighting: Weighting::Log };
            let fitting = self.fitting.as_ref().map(|fitting| &fitting.judgments);
            let all: Vec<&Judgments> = [&self.judgments].into_iter().chain(fitting).collect();
            let read = eval::read_corpus(&files, &all)?;
            if self.collection.is_some() {
                read.clicks.iter().for_each(|(path, skipped)| input::note_skipped(path, skipped));
            } else {
                let judged = if all.len() > 1 { "--judged and --fusion" } else { "--judged" };
                input::note_corpus(&read, judged);
            }
            (corpus, overlap) = (read.corpus, read.overlap);
        }
        if let (None, Some(clicks)) = (&overlap, clicks) {
            overlap = Some(eval::overlap(&self.judgments, clicks, &args.field)?);
        }
        if let (Some(overlap), Some(clicks)) = (&overlap, clicks) {
            test_set::note_overlap(&args.judged[0], clicks, overlap);
        }
        Ok((corpus, overlap))
    }
}

/// Adds the grades of other judges to a test set where it has none.
fn fill(set: &mut TestSet, files: &TestSetFiles<'_>, others: &[PathBuf]) -> Result<Vec<(PathBuf, Agreement)>> {
    let mut agreements = Vec::new();
    for path in others {
        let other = test_set::read(&TestSetFiles { judged: path, ..files.clone() })?;
        for (path, set) in [(files.judged, &*set), (path, &other)] {
            ensure!(
                set.form == Form::Table && set.title_ids,
                "{}: expected a table with the column title_id, since there are several judges, found another test set",
                output::path(path)
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
            output::input(titles)
        );
    }
    Ok(())
}

/// Reads the queries to fit weights on, without those that the systems are judged by.
fn other_queries(path: &Path, files: &TestSetFiles<'_>, judgments: &Judgments) -> Result<TestSet> {
    let mut set = test_set::read(&TestSetFiles { judged: path, ..files.clone() })?;
    let others = &mut set.judgments.queries;
    let judged: HashSet<String> = judgments.queries.iter().map(|query| query_key(&query.text)).collect();
    let before = others.len();
    others.retain(|query| !judged.contains(&query_key(&query.text)));
    if others.is_empty() {
        bail!(
            "{}: expected queries that are not in --judged, found none; weights are fitted on other queries",
            path.display()
        );
    }
    if others.len() < before {
        let left_out = output::counted((before - others.len()) as u64, "query");
        output::note(format_args!("{}: left out {left_out} that --judged has too", path.display()));
    }
    if others.len() < FEW_QUERIES {
        let few = output::counted(others.len() as u64, "query");
        output::note(format_args!(
            "warning: {}: weights fitted on {few} follow chance; judge {FEW_QUERIES} or more, or leave the file out",
            path.display()
        ));
    }
    Ok(set)
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
        let judged = output::counted(set.judged, "judgment");
        output::note(format_args!(
            "{path}: {} of {judged} {} of titles that are not in the collection, matched by their {by}; no system can \
             find them",
            output::count(set.missing.count),
            output::agreeing(set.missing.count, "is", "are")
        ));
    }
    if set.repeated > 0 {
        let repeated = output::counted(set.repeated, "title");
        output::note(format_args!(
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
        output::note(format_args!(
            "warning: {}: the collection lacks most of the judged titles, so the figures say little",
            path.display()
        ));
    }
    has_most
}
