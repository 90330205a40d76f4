//! Systems that score judged titles.

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::eval::{self, TestSetFiles};
use clickvec::ranker::{Corpus, Resources};

use super::{Args, Results, systems, trec};
use crate::{output, progress, test_set};

/// Loads or trains every system, evaluates it, and writes what was asked for on the way.
pub(super) fn evaluate(files: &TestSetFiles<'_>, args: &Args) -> Result<Results> {
    let wanted = systems::parse(&args.ranker, &args.model)?;
    let learns = wanted.iter().any(systems::Wanted::learns);
    if learns {
        test_set::refuse_pipe(files)?;
    }
    let set = test_set::read(files)?;
    let titles = test_set::collection(&set, args.titles.as_deref());
    let judgments = set.judgments;
    if let Some(out) = &args.qrels_out {
        trec::write_qrels(out, &judgments)?;
    }
    if let Some(folder) = &args.save_rankers {
        clickvec::files::create_folder(folder)?;
    }
    let mut runs = args.run_out.as_deref().map(|folder| trec::RunFolder::create(folder, &judgments)).transpose()?;
    let corpus = match learns {
        true => systems::corpus(titles.as_deref(), args.clicks.as_deref(), &args.field, &judgments)?,
        false => Corpus::default(),
    };
    let resources = Resources {
        corpus: &corpus,
        contiguous: args.contiguous.as_deref(),
        load: args.load.as_deref(),
        vectors: args.vectors.as_deref(),
    };
    let options = args.options();
    let bar = progress::bar(wanted.len() as u64, "judging", "systems");
    let mut evaluations = Vec::with_capacity(wanted.len());
    let mut left_out = 0;
    for system in &wanted {
        // One at a time: a model of a large dictionary is large.
        match system.load(&resources, args.save_rankers.as_deref()) {
            Ok(ranker) => {
                evaluations.push(eval::evaluate(ranker.as_ref(), &judgments, &options));
                if let Some(runs) = &mut runs {
                    runs.write(ranker.as_ref())?;
                }
            }
            Err(error) if matches!(error.downcast_ref(), Some(Error::Learn { .. })) => {
                left_out += 1;
                bar.suspend(|| output::note(format_args!("left out {error}")));
            }
            Err(error) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if evaluations.is_empty() {
        bail!("expected a system that can be trained on what is given, found none");
    }
    let queries = judgments.queries.into_iter().map(|query| query.text).collect();
    Ok(Results { evaluations, queries, left_out })
}
