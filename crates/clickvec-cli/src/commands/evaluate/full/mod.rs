//! `evaluate --full`: every system searches the whole collection for every judged query.

mod fusion;
mod index;
mod report;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::Error;
use clickvec::eval::{
    self, CorpusFiles, EvaluateOptions, FullEvaluation, FullJudge, FullQuery, FullTestSet, Judgments, Measure, Overlap,
    TestSet, TestSetFiles, search_all,
};
use clickvec::index::Hit;
use clickvec::internals::files;
use clickvec::ranker::{Corpus, FUSED_DEPTH, Resources};
use clickvec::tables::Title;
use clickvec_index::searcher::Searcher;

use self::fusion::Fusions;
use self::index::FusedIndex;
use self::index::{Places, fused_titles};
use super::fusion::{Fused, Weights};
use super::judged::check_outputs;
use super::keeping::Keeping;
use super::systems::{self, Entry, Loaded};
use super::{Args, coverage, gate, trec};
use crate::answer::Answer;
use crate::{advice, input, output, progress, test_set};

/// The contents of the report.
struct Results<'a> {
    set: &'a FullTestSet,
    measures: &'a [Measure],
    options: EvaluateOptions,
    depth: usize,
    evaluations: Vec<FullEvaluation>,
    /// The fusions, which are the last of the evaluations.
    fused: Vec<Fused>,
    /// The systems that could not be trained on this data, or read, and why.
    left_out: Vec<(String, String)>,
    /// How much of the test set is also in the click log, if there is one.
    overlap: Option<Overlap>,
}

/// Searches with every system, evaluates what it finds, and prints the report.
pub(super) fn run(files: &TestSetFiles<'_>, args: &Args) -> Result<Answer> {
    let measures = measures(args)?;
    let entries = systems::entries(args)?;
    check_outputs(args, &entries)?;
    let set = test_set::read(files)?;
    let collection = test_set::collection(&set, args.titles.as_deref());
    if let Some(titles) = &collection {
        ensure!(
            !files::is_stream(titles),
            "{}: expected a file of titles, because they are read more than once, found a pipe; write them to a file first",
            output::input(titles)
        );
    }
    // An index that gives the titles is also asked: it is opened once.
    let mut opened = None;
    let titles = match (&collection, args.index.first()) {
        (Some(titles), _) => input::titles(titles, &args.field)?,
        (None, Some(index)) => match fused_titles(index)? {
            Some(titles) => titles,
            None => titles_of(&opened.insert((index.clone(), Box::new(Searcher::open(index)?))).1),
        },
        (None, None) => bail!("expected titles to search, found none; add `--titles FILE`"),
    };
    let (judgments, by_id) = (&set.judgments, set.title_ids);
    if let Some(out) = &args.qrels_out {
        trec::write_qrels(out, judgments)?;
    }
    let weights = Weights::of(args, &entries, judgments)?;
    let mut searched = FullTestSet::new(judgments, by_id, titles)?;
    say_coverage(files.judged, &searched, by_id)?;
    let (missing, judged) = (searched.missing.clone(), searched.judged);
    let others = match &weights {
        Weights::Fitted { others, title_ids } => searched.others(others, *title_ids)?,
        Weights::Equal | Weights::Given(_) => Vec::new(),
    };
    // The report covers only the judged queries, not those that weights are fitted on.
    (searched.missing, searched.judged) = (missing, judged);
    let (corpus, overlap) = match entries.iter().any(Entry::learns) {
        true => corpus(files.judged, args, collection.as_deref(), &searched, judgments, &weights)?,
        false => (Corpus::default(), args.overlap(files.judged, judgments, None)?),
    };
    let resources = Resources { corpus: &corpus, load: args.load.as_deref(), vectors: &[] };
    let search =
        Search { set: &searched, others: &others, measures: &measures, options: args.options(), depth: args.depth() };
    let keeping = Keeping::of(args);
    let mut fusions = Fusions::new(args, keeping.clone(), weights);
    let mut evaluations = Vec::with_capacity(entries.len());
    let mut left_out = Vec::new();
    let runs = args.run_out.as_deref();
    for entry in &entries {
        let system = match opened.take_if(|(path, _)| entry.index() == Some(path)) {
            Some((_, index)) => Ok(Loaded::Index(index)),
            None => entry.ranker(&resources, keeping.as_ref()),
        };
        match system {
            Ok(system) => {
                let (evaluation, found) = search.with(entry, &system, runs, fusions.wants(entry))?;
                evaluations.push(evaluation);
                fusions.add(entry, found)?;
            }
            Err(error) => match error.downcast_ref::<Error>() {
                Some(why @ Error::Learn { .. }) => {
                    fusions.lacks(entry);
                    let why = advice::told(why).to_string();
                    output::note(format_args!("left out {why}"));
                    left_out.push((entry.name.clone(), why));
                }
                _ => return Err(error),
            },
        }
    }
    left_out.extend(fusions.left_out());
    let (of_fusions, fused): (Vec<_>, Vec<_>) = fusions.judged(&search, runs)?.into_iter().unzip();
    evaluations.extend(of_fusions);
    let Search { options, depth, .. } = search;
    let results =
        Results { set: &searched, measures: &measures, options, depth, evaluations, fused, left_out, overlap };
    let tests = eval::compare_full(&results.evaluations, &measures).map_err(Error::from)?;
    report::print(&results, &tests, args)?;
    let first = measures.iter().copied().find(|measure| measure.is_quality()).unwrap_or(Measure::Ndcg(10));
    let holds = gate::holds(args, first, &tests, Some)?;
    let all_there = warn_of_missing(files.judged, &set, &searched);
    Ok(if results.left_out.is_empty() && holds && all_there { Answer::Done } else { Answer::No })
}

/// The measures that are asked for. An error if one of them needs longer lists than `--depth`.
fn measures(args: &Args) -> Result<Vec<Measure>> {
    let measures = match &args.measures[..] {
        [] => Measure::USUAL.to_vec(),
        given => given.to_vec(),
    };
    for (place, measure) in measures.iter().enumerate() {
        ensure!(!measures[..place].contains(measure), "expected each measure once, found `{measure}` again");
        if args.measures.is_empty() {
            continue;
        }
        if let Some(k) = measure.depth().filter(|&k| k as usize > args.depth()) {
            bail!("expected lists of at least {k} titles for `{measure}`, found {}; raise `--depth`", args.depth());
        }
    }
    Ok(measures.into_iter().filter(|measure| measure.depth().is_none_or(|k| k as usize <= args.depth())).collect())
}

/// The titles of an index.
fn titles_of(index: &Searcher) -> Vec<Title> {
    let title = |(id, title): (&str, &str)| Title { id: id.to_owned(), title: title.to_owned() };
    (0..index.len() as u32).filter_map(|position| index.title(position)).map(title).collect()
}

/// The data that rankers learn from. Without a file of titles these are the titles of the index, and then rankers cannot
/// also learn from clicks.
fn corpus(
    judged: &Path,
    args: &Args,
    titles: Option<&Path>,
    searched: &FullTestSet,
    judgments: &Judgments,
    weights: &Weights,
) -> Result<(Corpus, Option<Overlap>)> {
    if titles.is_none() {
        ensure!(
            args.clicks.is_none(),
            "expected a file of titles for rankers that learn from clicks, found none; add `--titles FILE`"
        );
        return Ok((Corpus::of_titles(searched.texts())?, None));
    }
    let files = CorpusFiles { titles, clicks: args.clicks.as_deref(), field: &args.field, weighting: args.weighting() };
    let all: Vec<_> = [judgments].into_iter().chain(weights.fitted_on()).collect();
    let read = eval::read_corpus(&files, &all)?;
    if let Some((path, skipped)) = &read.clicks {
        input::note_skipped(path, skipped);
    }
    let overlap = args.overlap(judged, judgments, Some(&read))?;
    Ok((read.corpus, overlap))
}

/// Says how many judged titles the collection lacks. An error if it lacks them all.
fn say_coverage(path: &Path, set: &FullTestSet, by_id: bool) -> Result<()> {
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

/// Whether most of what was judged could be looked for; a warning if not.
fn warn_of_missing(path: &Path, set: &TestSet, searched: &FullTestSet) -> bool {
    if 2 * searched.missing.count > searched.judged {
        output::note(format_args!(
            "warning: {}: the collection lacks most of the judged titles, so the figures say little",
            path.display()
        ));
        return false;
    }
    test_set::is_mostly_there(path, set)
}

/// The queries that every system searches for, and how deep.
struct Search<'a> {
    set: &'a FullTestSet,
    /// The queries that the weights of fusions are fitted on.
    others: &'a [FullQuery],
    measures: &'a [Measure],
    options: EvaluateOptions,
    depth: usize,
}

/// The lists that a system found, as a member of a fusion.
#[derive(Default)]
struct Lists {
    judged: Vec<Vec<Hit>>,
    others: Vec<Vec<Hit>>,
}

impl Search<'_> {
    /// Searches with one system. Returns its lists only if `keep` says that a fusion needs them.
    fn with(&self, entry: &Entry, system: &Loaded, runs: Option<&Path>, keep: bool) -> Result<(FullEvaluation, Lists)> {
        let name = output::printable(&entry.name);
        let bar = progress::bar(
            (self.set.queries.len() + self.others.len()) as u64,
            &format!("{name}: searching"),
            "queries",
        );
        let mut judge = FullJudge::new(&self.set.titles, self.measures, &self.options);
        let mut lists = Lists::default();
        let mut run = runs.map(|folder| trec::RunWriter::new(folder, &entry.name)).transpose()?;
        // A fusion takes a list of fewer titles for all that there is to find.
        let depth = if keep { self.depth.max(FUSED_DEPTH) } else { self.depth };
        let mut take = |queries: &[FullQuery], mut found: Vec<Vec<Hit>>| -> Result<()> {
            if keep {
                lists.judged.extend_from_slice(&found);
            }
            found.iter_mut().for_each(|list| list.truncate(self.depth));
            judge.add(queries, &found);
            if let Some(run) = &mut run {
                run.add(queries, &found, &self.set.titles)?;
            }
            bar.inc(queries.len() as u64);
            Ok(())
        };
        match system {
            Loaded::Ranker(ranker) => {
                let texts = self.set.texts();
                let queries = self.set.queries.iter().map(|query| query.text.as_str());
                coverage::say(&entry.name, ranker.as_ref(), queries, texts.iter().copied())?;
                let candidates = ranker.candidates(&texts)?;
                search_all(candidates.as_ref(), &self.set.queries, depth, &mut take)?;
                if keep {
                    search_all(candidates.as_ref(), self.others, depth, |queries, found| -> Result<()> {
                        lists.others.extend(found);
                        bar.inc(queries.len() as u64);
                        Ok(())
                    })?;
                }
            }
            Loaded::Fused(engine) => {
                let fused = FusedIndex::new(entry.file_name(), engine, self.set);
                fused.search_all(&self.set.queries, depth, &mut take)?;
                if keep {
                    fused.search_all(self.others, depth, &mut |queries, found| {
                        lists.others.extend(found);
                        bar.inc(queries.len() as u64);
                        Ok(())
                    })?;
                }
            }
            Loaded::Index(index) => {
                let places = Places::new(&entry.file_name(), index, self.set)?;
                search_all(&places, &self.set.queries, depth, &mut take)?;
                if keep {
                    search_all(&places, self.others, depth, |queries, found| -> Result<()> {
                        lists.others.extend(found);
                        bar.inc(queries.len() as u64);
                        Ok(())
                    })?;
                }
            }
            Loaded::Run(run) => {
                let found = run.lists(&self.set.queries, &self.set.titles, depth)?;
                let name = entry.file_name().display().to_string();
                coverage::of_searched_run(&name, &found, self.set.queries.len()).iter().for_each(output::note);
                take(&self.set.queries, found.lists)?;
            }
        }
        bar.finish_and_clear();
        if let Some(run) = run {
            run.finish()?;
        }
        Ok((judge.finish(&entry.name), lists))
    }
}
