//! `clickvec evaluate`: how well systems rank judged titles, and whether the differences are significant.

mod coverage;
mod gate;
mod names;
mod power;
mod report;
mod systems;
mod test;

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec::internals::vector_file::texts_path;
use clickvec::tables::TITLE;
use clickvec_eval::files_of_test_set;
use clickvec_eval::trec::{write_answers, write_judgments};
use clickvec_eval::{Answers, EvaluateOptions, Gain, Metric, TestSetFiles, Ties, evaluation};
use clickvec_tables::files::{self, PendingFolder};

pub(crate) use self::coverage::{lacking_in_run, lacking_vectors};
use self::names::run_file;
use self::report::Report;
pub(crate) use self::report::rankers;
use self::systems::{Entry, Systems};
use self::test::Test;
use crate::answer::Answer;
use crate::systems::Loaded;
use crate::titles::TitleColumns;
use crate::{console, output_files, progress};

/// The depth of `--full` without a number.
const DEPTH: &str = "1000";

/// Measure how well systems rank judged titles: NDCG@1/3/10 of each, and paired t-tests between all of them.
///
/// docs/explanation/evaluation.md explains the figures.
#[derive(clap::Args)]
#[command(after_long_help = rankers(&clickvec_lab::COMMON))]
pub(crate) struct Args {
    /// Models, TREC runs, rankers such as `bm25` and, with `--full`, indexes; baselines first.
    ///
    /// Models are written by `clickvec train`, rankers by `--save-rankers`, and indexes, which are searched as `search` does, by
    /// `clickvec index`. TREC runs of other programs have the ids of the judgments. What is no file is a ranker with its parameters
    /// and files, such as `bm25:k1=0.9,b=0.4` or `vectors:file=words.vec`, and is trained first; `--help` lists them. The report names
    /// a file by its name without extension. A difference is that of the later system minus the earlier one.
    #[arg(value_name = "SYSTEM", required = true)]
    systems: Vec<PathBuf>,

    /// Judged titles: a table with the columns query, title and grade (0 to 10), a BEIR folder, or TREC qrels.
    ///
    /// One of BEIR's files of judgments will do. TREC qrels need `--topics` and `--titles`, unless all systems are runs. May be
    /// repeated with the sheets of several judges, such as people and then a language model: a grade of the first file that has one counts, and the
    /// report says how far the others agree with it.
    #[arg(long, value_name = "FILE", required = true)]
    judged: Vec<PathBuf>,

    /// The texts of the queries of TREC qrels: TREC topics, lines of id and query, or JSON lines.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// A click log, for rankers that learn from clicks.
    ///
    /// Without `--titles`, its titles are also the collection. Judged queries that are also in it are counted and named.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// The collection, which rankers learn from: a table with the columns id and title, or a BEIR corpus.
    ///
    /// It also has the texts of the titles in TREC qrels.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Column to use instead of the title in all tables, such as `body`; `title+text` joins two.
    #[arg(long, value_name = "COLUMN", default_value = TITLE)]
    field: String,

    /// Save each trained ranker in this folder. SYSTEM reads them back.
    #[arg(long, value_name = "FOLDER")]
    save_rankers: Option<PathBuf>,

    /// Search the whole collection for N titles, instead of ranking only the judged ones [default: 1000].
    ///
    /// The metrics say where the judged titles turn up. The collection is `--titles`, a BEIR corpus or, without them, the titles of the first index. A title without a
    /// judgment counts as not relevant. Judged titles are matched by id or, if they have no ids, by text.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = DEPTH,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    full: Option<u32>,

    /// Metrics, separated by commas, such as `ndcg@10,recall@100,mrr`; `--help` lists them.
    ///
    /// They are `ndcg@K`, `recall@K`, `precision@K`, `mrr@K`, `mrr`, `map`, `bpref`, `judged@K` (the share of the first K titles that
    /// has judgments) and `condensed_ndcg@K` (NDCG without the titles that have none) [default:
    /// ndcg@1,ndcg@3,ndcg@10,mrr,map,precision@10,recall@10, and with `--full`
    /// ndcg@10,recall@100,mrr@10,judged@10,condensed_ndcg@10,bpref].
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    measures: Vec<Metric>,

    /// Compute metrics as trec_eval does.
    ///
    /// The gain of a grade in NDCG is the grade, not 2^grade − 1, and titles with equal scores are sorted by id, descending, in
    /// place of the mean over their orders.
    #[arg(long)]
    trec_eval: bool,

    /// Exit with 1 unless A is significantly better than B, or not worse, as in `new:not-worse:old`.
    ///
    /// A and B are names of systems in the report. The test is a paired t-test over queries, p < 0.05. Compares by `ndcg@10` or, if it is not
    /// among the metrics, by the first of them. May be repeated; all must hold.
    #[arg(long, value_name = "A:better:B")]
    require: Vec<String>,

    /// Write judgments, rankings and the figures of every query to this folder.
    ///
    /// It gets the judgments as TREC qrels, judged.qrels, each system's ranking as a TREC run, NAME.run, and a table of the figures,
    /// per-query.tsv. The folder of an earlier evaluation is replaced; one with other files in it is refused.
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn test_set(&self) -> TestSetFiles<'_> {
        let titles = self.titles.as_deref().map(|titles| self.title_columns.table(titles));
        TestSetFiles { judged: &self.judged[0], topics: self.topics.as_deref(), titles, field: &self.field }
    }

    /// Returns the metrics of the report. An error if one of them is named twice, or needs longer lists than `--full`.
    fn metrics(&self) -> Result<Vec<Metric>> {
        let reaches = |metric: &Metric| self.full.is_none_or(|depth| metric.depth().is_none_or(|k| k <= depth));
        if self.measures.is_empty() {
            let usual = if self.full.is_some() { &Metric::OF_SEARCH[..] } else { &Metric::OF_JUDGED };
            return Ok(usual.iter().copied().filter(reaches).collect());
        }
        for (at, metric) in self.measures.iter().enumerate() {
            ensure!(!self.measures[..at].contains(metric), "expected each metric once, found `{metric}` again");
            ensure!(
                reaches(metric),
                "expected lists of at least {0} titles for `{metric}`, found {1}; use `--full={0}`",
                metric.depth().unwrap_or_default(),
                self.full.unwrap_or_default()
            );
        }
        Ok(self.measures.clone())
    }

    fn options(&self) -> EvaluateOptions {
        let (gain, ties) =
            if self.trec_eval { (Gain::Linear, Ties::Trec) } else { (Gain::Exponential, Ties::Expected) };
        EvaluateOptions { gain, ties, ..EvaluateOptions::default() }
    }
}

/// Evaluates and prints.
pub(crate) fn run(args: Args) -> Result<Answer> {
    args.title_columns.need(args.titles.is_some())?;
    if let Some(titles) = &args.titles {
        args.title_columns.check(titles, &args.field)?;
    }
    let systems = Systems::new(&args)?;
    let requirements = gate::parse(&args.require, &systems.names())?;
    let output = check_outputs(&args, &systems)?;
    let mut test = Test::read(&args, &systems)?;
    if let Some(folder) = &output {
        write_file(folder, QRELS, |file, path| write_judgments(file, path, &test.judgments))?;
    }
    let mut report = Report::new(&test);
    report.agreements = std::mem::take(&mut test.agreements);
    evaluate(&args, &systems, output.as_ref(), &mut test, &mut report)?;
    if let Some(folder) = output {
        write_file(&folder, QUERIES, |file, path| report.write_per_query(file, path, &test))?;
        folder.publish()?;
    }
    if args.json {
        console::json_lines([&report.json()])?;
    } else if !report.set.systems.is_empty() {
        console::print(report.text(&test, args.measures.is_empty()))?;
    }
    let holds = gate::holds(&requirements, &test.metrics, &report.set.tests)?;
    Ok(if test.is_mostly_there && report.set.left_out.is_empty() && holds { Answer::Done } else { Answer::No })
}

/// The judgments in the folder of `--output`.
const QRELS: &str = "judged.qrels";
/// The figures of every query in the folder of `--output`.
const QUERIES: &str = "per-query.tsv";

/// Returns the names of the files that an evaluation has left in a folder; `None` if there was none.
fn files_of_evaluation(folder: &Path) -> Option<HashSet<String>> {
    let mut lines = BufReader::new(File::open(folder.join(QUERIES)).ok()?).lines().map_while(Result::ok);
    lines.next().filter(|header| header.starts_with(report::HEADER))?;
    let runs = lines.filter_map(|line| line.split('\t').next().map(run_file));
    Some(runs.chain([QRELS, QUERIES].map(str::to_owned)).collect())
}

/// Writes a file of the folder of `--output`. Errors name the path that it will have.
fn write_file(
    folder: &PendingFolder,
    name: &str,
    write: impl FnOnce(&mut BufWriter<File>, &Path) -> clickvec_tables::Result<()>,
) -> Result<()> {
    let mut file = folder.create(name)?;
    write(&mut file, &folder.path().join(name))?;
    Ok(file.flush().map_err(|source| folder.failed(source))?)
}

/// Loads or trains each system in turn and judges its answers.
fn evaluate(
    args: &Args,
    systems: &Systems,
    output: Option<&PendingFolder>,
    test: &mut Test,
    report: &mut Report,
) -> Result<()> {
    let corpus;
    (corpus, report.overlap) = test.corpus(args, systems)?;
    let mut opened = std::mem::take(&mut test.opened);
    let named = systems.entries.iter().map(|system| (system.name.clone(), system));
    let set = evaluation::run(named, test.task(), &test.metrics, &test.options, |name, system| {
        let loaded = match system.load(&corpus, args.save_rankers.as_deref(), &mut opened) {
            Ok(loaded) => loaded,
            Err(error) => match error.downcast_ref::<Error>() {
                Some(why) if system.is_trained() && why.concerns_data() => {
                    console::note(format_args!("left out {why}"));
                    return Ok(Err(why.to_string()));
                }
                _ => return Err(error),
            },
        };
        let answers = answers(system, &loaded, test)?;
        if let Some(folder) = output {
            let tag = names::file_stem(name);
            write_file(folder, &run_file(name), |file, path| write_answers(file, path, &tag, test.task(), &answers))?;
        }
        Ok(Ok(answers))
    })?;
    report.set = set;
    Ok(())
}

/// Returns a system's answers to the queries of the test: scores of judged titles, or what it finds in a collection.
fn answers(entry: &Entry, system: &Loaded, test: &Test) -> Result<Answers> {
    let task = test.task();
    let bar = progress::bar(task.len() as u64, &console::printable(&entry.name), "queries");
    if let Loaded::Ranker(ranker) = system {
        coverage::note_missing_vectors(&entry.name, ranker.as_ref(), task)?;
    }
    let done = &mut |done| bar.set_position(done as u64);
    let (answers, coverage) = system.answers(task, test.collection(), test.depth, done)?;
    if let Some(coverage) = coverage {
        coverage::note_run(entry.file_name(), &coverage, task);
    }
    bar.finish_and_clear();
    Ok(answers)
}

/// Checks before any training that every output can be written, is no input, and is one file alone. Creates the folders. Returns that of
/// `--output`, which replaces an earlier one with all its files.
fn check_outputs(args: &Args, systems: &Systems) -> Result<Option<PendingFolder>> {
    if let Some(folder) = &args.output {
        let mut read = files_of_test_set(&args.test_set());
        read.extend(args.judged.iter().cloned());
        read.extend(args.clicks.iter().chain(&args.titles).cloned());
        for file in systems.entries.iter().flat_map(|system| system.source.files()) {
            read.push(texts_path(&file));
            read.push(file);
        }
        let names = systems.names();
        let mut written = names::distinct(names.iter().map(|name| run_file(name)))?;
        written.extend([QRELS, QUERIES].map(str::to_owned));
        written.extend(files_of_evaluation(folder).into_iter().flatten());
        for file in written {
            output_files::refuse_overwriting(&folder.join(file), &read)?;
        }
    }
    // Before a folder is made: one in an index would stay there.
    for folder in args.save_rankers.iter().chain(&args.output) {
        output_files::refuse_folder_in_index(folder)?;
    }
    let mut output = None;
    if let Some(path) = &args.output {
        let target = files::resolved(path);
        ensure!(
            args.save_rankers.as_ref().is_none_or(|rankers| !files::resolved(rankers).starts_with(&target)),
            "expected another folder for `--save-rankers`, found that of `--output`, which is replaced; name another"
        );
        files::create_folder(&files::folder_of(&target))?;
        output = Some(PendingFolder::new(path, "an evaluation", files_of_evaluation)?);
    }
    if let Some(folder) = &args.save_rankers {
        files::create_folder(folder)?;
        output_files::check(&systems.saved_files(folder)?, [])?;
    }
    Ok(output)
}
