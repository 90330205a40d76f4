//! Systems that score judged titles.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::eval::{self, CorpusFiles, Form, TestSet, TestSetFiles};
use clickvec::internals::files;
use clickvec::ranker::{Corpus, Resources};

use super::fusion::Fusions;
use super::keeping::Keeping;
use super::systems::Entry;
use super::{Args, Results, systems, trec};
use crate::{advice, input, output, progress, test_set};

/// Loads or trains each system in turn, evaluates it, and writes the requested files.
pub(super) fn evaluate(files: &TestSetFiles<'_>, args: &Args) -> Result<Results> {
    let entries = systems::entries(args)?;
    let learns = entries.iter().any(Entry::learns);
    if learns {
        test_set::refuse_pipe(files)?;
    }
    check_outputs(args, &entries)?;
    let set = test_set::read(files)?;
    refuse_unknown_ids(&set, args)?;
    let titles = test_set::collection(&set, args.titles.as_deref());
    let is_whole = test_set::is_mostly_there(files.judged, &set);
    let judgments = set.judgments;
    if let Some(out) = &args.qrels_out {
        trec::write_qrels(out, &judgments)?;
    }
    let keeping = Keeping::of(args);
    let mut fusions = Fusions::new(args, keeping.clone(), &entries, &judgments)?;
    let mut runs = args.run_out.as_deref().map(|folder| trec::RunFolder::new(folder, &judgments));
    let (corpus, overlap) = match learns {
        true => {
            let (titles, clicks) = (titles.as_deref(), args.clicks.as_deref());
            let all: Vec<_> = [&judgments].into_iter().chain(fusions.fitted_on()).collect();
            let read = eval::read_corpus(
                &CorpusFiles { titles, clicks, field: &args.field, weighting: args.weighting() },
                &all,
            )?;
            let judged = if all.len() > 1 { "--judged and --fusion-judged" } else { "--judged" };
            input::note_corpus(&read, judged);
            let overlap = args.overlap(files.judged, &judgments, Some(&read))?;
            (read.corpus, overlap)
        }
        false => (Corpus::default(), args.overlap(files.judged, &judgments, None)?),
    };
    let resources = Resources { corpus: &corpus, load: args.load.as_deref(), vectors: &[] };
    let options = args.options();
    let bar = progress::bar(entries.len() as u64, "judging", "systems");
    let mut evaluations = Vec::with_capacity(entries.len());
    let mut left_out = Vec::new();
    for system in &entries {
        // Hold one system at a time: a model with a large dictionary takes much memory.
        match system.load(&resources, keeping.as_ref(), &judgments) {
            Ok(scorer) => {
                let scores = scorer(&judgments);
                evaluations.push(eval::judge(&system.name, &scores, &judgments, &options));
                if let Some(runs) = &mut runs {
                    runs.write(&system.name, &scores)?;
                }
                fusions.add(system, &scorer, scores)?;
            }
            Err(error) => match error.downcast_ref::<Error>() {
                Some(why @ Error::Learn { .. }) => {
                    fusions.lacks(system);
                    let why = advice::told(why).to_string();
                    bar.suspend(|| output::note(format_args!("left out {why}")));
                    left_out.push((system.name.clone(), why));
                }
                _ => return Err(error),
            },
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if evaluations.is_empty() {
        output::note("no system is left to evaluate");
    }
    left_out.extend(fusions.left_out());
    let fused = fusions.judged(&judgments, &options, |name, scores| match &mut runs {
        Some(runs) => runs.write(name, scores),
        None => Ok(()),
    })?;
    let (of_fusions, fused): (Vec<_>, Vec<_>) = fused.into_iter().unzip();
    evaluations.extend(of_fusions);
    let queries = judgments.queries.into_iter().map(|query| query.text).collect();
    Ok(Results { evaluations, fused, queries, is_whole, left_out, overlap })
}

/// Refuses a run where the judged titles would have ids from a table of titles that can be read only once.
fn refuse_unknown_ids(set: &TestSet, args: &Args) -> Result<()> {
    let pipe = args.titles.as_deref().filter(|titles| files::is_stream(titles));
    if let (Some(titles), false, Form::Table, false) = (pipe, args.run.is_empty(), &set.form, set.title_ids) {
        bail!(
            "{}: expected a file of titles, because `--run` needs the ids of the judged titles and they are looked up in it, \
             found a pipe; write the titles to a file first, or give the judged table a column `title_id`",
            output::input(titles)
        );
    }
    Ok(())
}

/// Checks before any training that every output can be written and that no two are the same file. Creates the folders.
pub(super) fn check_outputs(args: &Args, entries: &[Entry]) -> Result<()> {
    let mut outputs: Vec<PathBuf> = args.per_query.iter().chain(&args.qrels_out).cloned().collect();
    // Before a folder is made: one in an index would stay there.
    for folder in args.save_rankers.iter().chain(&args.run_out) {
        input::refuse_folder_in_index(folder)?;
    }
    if let Some(folder) = &args.save_rankers {
        let files = systems::saved_files(folder, entries, &args.fusion)?;
        clickvec::internals::files::create_folder(folder)?;
        outputs.extend(files);
    }
    if let Some(folder) = &args.run_out {
        let names = entries.iter().map(|entry| entry.name.clone()).chain(args.fusion.iter().map(|flag| flag.name()));
        let files = trec::run_files(folder, names)?;
        clickvec::internals::files::create_folder(folder)?;
        for file in &files {
            input::refuse_overwriting(file, &args.run)?;
        }
        outputs.extend(files);
    }
    input::check_outputs(&outputs)
}
