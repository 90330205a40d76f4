//! `clickvec evaluate`: how well systems rank judged titles, and whether the differences are significant.

mod answers;
mod coverage;
mod fusion;
mod gate;
mod names;
mod options;
mod power;
mod report;
mod saved;
mod systems;
mod test;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec::internals::vector_file::texts_path;
use clickvec::tables::TITLE;
use clickvec_eval::files_of_test_set;
use clickvec_eval::ranker;
use clickvec_eval::trec::{write_answers, write_judgments};
use clickvec_eval::{Answers, EvaluateOptions, Gain, Metric, TestSetFiles, Ties, compare_all};
use clickvec_tables::files;

pub(crate) use self::coverage::{lacking_in_run, lacking_vectors};
use self::fusion::{Fusions, LeftOut};
use self::names::run_file;
use self::options::FusionOption;
use self::report::Report;
pub(crate) use self::report::{rankers, systems_table, tests_table};
use self::systems::Systems;
use self::test::Test;
use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::{advice, output, outputs};

/// The depth of `--full` without a number.
const DEPTH: &str = "1000";

/// Measure how well systems rank judged titles: NDCG@1/3/10 of each, and paired t-tests between all of them.
///
/// docs/explanation/evaluation.md explains the figures.
#[derive(clap::Args)]
#[command(after_long_help = rankers(&ranker::SYSTEMS))]
pub(crate) struct Args {
    /// The systems: models written by `clickvec train`, rankers or fusions written by `--save-rankers`, TREC runs of other
    /// programs with the ids of the judgments, and, with `--full`, indexes written by `clickvec index`, which are searched
    /// as `search` does. What is no file is a ranker with its parameters and files, such as `bm25`, `bm25:k1=0.9,b=0.4` or
    /// `vectors:file=words.vec`, and is trained first; `--help` lists them. The report names a file by its name without
    /// extension. Name baselines first: a difference is that of the later system minus the earlier one.
    #[arg(value_name = "SYSTEM", required = true)]
    systems: Vec<PathBuf>,

    /// Judged titles: a table with the columns query, title and grade (0 to 10); a BEIR folder, or one of its files of
    /// judgments; or TREC qrels, with `--topics` and `--titles`, or alone if all systems are runs. May be repeated with the sheets
    /// of several judges, such as people and then a language model: a grade of the first file that has one counts, and the
    /// report says how far the others agree with it.
    #[arg(long, value_name = "FILE", required = true)]
    judged: Vec<PathBuf>,

    /// The texts of the queries of TREC qrels: TREC topics, lines of id and query, or JSON lines.
    #[arg(long, value_name = "FILE")]
    topics: Option<PathBuf>,

    /// A click log, for rankers that learn from clicks. Without `--titles`, its titles are also the collection. Judged
    /// queries that are also in it are counted and named.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// The collection that rankers learn from, and the texts of the titles in TREC qrels: a table with the columns id
    /// and title, or a BEIR corpus.
    #[arg(long, value_name = "FILE")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Column to use instead of the title in all tables, such as `body`; `title+text` joins two.
    #[arg(long, value_name = "COLUMN", default_value = TITLE)]
    field: String,

    /// Add a fusion: one more system that adds up the scores of all others, each multiplied by a weight: linear (scores
    /// as they are), min-max (scaled to the range from 0 to 1), z-score (standard deviations from their mean) or
    /// reciprocal-rank (1 / (60 + rank)). All systems count alike, unless weights follow: `linear:1,2,0.5` has a number of
    /// 0 or more for each system in the order of the command, and `linear:FILE` fits them on the judged titles of a file,
    /// without the queries of `--judged`. May be repeated.
    #[arg(long, value_name = "METHOD[:WEIGHTS]")]
    fusion: Vec<FusionOption>,

    /// Save each trained ranker and each fusion, with all its members, in this folder. SYSTEM reads them back.
    #[arg(long, value_name = "FOLDER")]
    save_rankers: Option<PathBuf>,

    /// Search the whole collection with every system, instead of ranking only the judged titles, and measure where the
    /// judged titles turn up among the first N [default: 1000].
    ///
    /// The collection is `--titles`, a BEIR corpus or, without them, the titles of the first index. A title without a
    /// judgment counts as not relevant. Judged titles are matched by id or, if they have no ids, by text.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = DEPTH,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    full: Option<u32>,

    /// Metrics, separated by commas: `ndcg@K`, `recall@K`, `precision@K`, `mrr@K`, `mrr`, `map`, `bpref`, `judged@K` (the
    /// share of the first K titles that has judgments) and `condensed_ndcg@K` (NDCG without the titles that have none)
    /// [default: ndcg@1,ndcg@3,ndcg@10,mrr,map,precision@10,recall@10, and with `--full`
    /// ndcg@10,recall@100,mrr@10,judged@10,condensed_ndcg@10,bpref].
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    measures: Vec<Metric>,

    /// Compute metrics as trec_eval does: the gain of a grade in NDCG is the grade, not 2^grade − 1, and titles with equal
    /// scores are sorted by id, descending, in place of the mean over their orders.
    #[arg(long)]
    trec_eval: bool,

    /// Exit with 1 unless system A is significantly better than system B, or not significantly worse (paired t-test over
    /// queries, p < 0.05), by their names in the report, as in `new:not-worse:old`. Compares by `ndcg@10` or, if it is not
    /// among the metrics, by the first of them. May be repeated; all must hold.
    #[arg(long, value_name = "A:better:B")]
    require: Vec<String>,

    /// Write to this folder the judgments as TREC qrels, judged.qrels, each system's ranking as a TREC run, NAME.run, and the
    /// figures of every query as a table, per-query.tsv.
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
    check_outputs(&args, &systems)?;
    let mut test = Test::read(&args, &systems)?;
    if let Some(folder) = &args.output {
        write_judgments(&folder.join(QRELS), &test.judgments)?;
    }
    let mut report = Report::new(&test);
    report.agreements = std::mem::take(&mut test.agreements);
    evaluate(&args, &systems, &mut test, &mut report)?;
    report.tests = compare_all(&report.systems)?;
    if let Some(folder) = &args.output {
        report.write_per_query(&folder.join(QUERIES), &test)?;
    }
    if report.systems.is_empty() {
        output::note("no system is left to evaluate");
    }
    if args.json {
        output::json_lines([&report.json()])?;
    } else if !report.systems.is_empty() {
        output::print(report.text(&test, args.measures.is_empty()))?;
    }
    let holds = gate::holds(&requirements, &test.metrics, &report.tests)?;
    Ok(if test.is_mostly_there && report.left_out.is_empty() && holds { Answer::Done } else { Answer::No })
}

/// The judgments in the folder of `--output`.
const QRELS: &str = "judged.qrels";
/// The figures of every query in the folder of `--output`.
const QUERIES: &str = "per-query.tsv";

/// Loads or trains each system in turn and judges its answers, then the fusions of all.
fn evaluate(args: &Args, systems: &Systems, test: &mut Test, report: &mut Report) -> Result<()> {
    let mut fusions = Fusions::new(args, systems)?;
    let corpus;
    (corpus, report.overlap) = test.corpus(args, systems)?;
    let mut opened = std::mem::take(&mut test.opened);
    let judge = |report: &mut Report, name: &str, answers: &Answers| -> Result<()> {
        report.systems.push(test.task().judge(name, answers, &test.metrics, &test.options));
        let Some(folder) = &args.output else { return Ok(()) };
        Ok(write_answers(&folder.join(run_file(name)), &names::file_stem(name), test.task(), answers)?)
    };
    for system in &systems.entries {
        // Hold one system at a time: a model with a large dictionary takes much memory.
        let loaded = match system.load(&corpus, fusions.saved.as_ref(), &mut opened) {
            Ok(loaded) => loaded,
            Err(error) => match error.downcast_ref::<Error>() {
                Some(why) if system.is_trained() && why.is_of_data() => {
                    fusions.missing.get_or_insert_with(|| system.name.clone());
                    let why = advice::told(why);
                    output::note(format_args!("left out {why}"));
                    report.left_out.push(LeftOut { name: system.name.clone(), why });
                    continue;
                }
                _ => return Err(error),
            },
        };
        let is_member = fusions.wants(system);
        let found = answers::answers(system, &loaded, test, is_member)?;
        let mut judged = found.judged.clone();
        judged.truncate(test.depth);
        judge(report, &system.name, &judged)?;
        if is_member {
            fusions.add(system, found)?;
        }
    }
    report.left_out.extend(fusions.left_out());
    for (fused, answers) in fusions.fuse(test)? {
        judge(report, &fused.name, &answers)?;
        report.fusions.push(fused);
    }
    Ok(())
}

/// Checks before any training that every output can be written, is no input, and is one file alone. Creates the folders.
fn check_outputs(args: &Args, systems: &Systems) -> Result<()> {
    let mut outputs: Vec<PathBuf> = Vec::new();
    if let Some(folder) = &args.output {
        let mut read = files_of_test_set(&args.test_set());
        read.extend(args.judged.iter().cloned());
        read.extend(args.clicks.iter().chain(&args.titles).cloned());
        read.extend(args.fusion.iter().filter_map(FusionOption::file).cloned());
        for file in systems.entries.iter().flat_map(|system| system.source.files()) {
            read.push(texts_path(&file));
            read.push(file);
        }
        let names = systems.names();
        let runs = names::distinct(names.iter().map(|name| run_file(name)))?;
        for file in runs.iter().map(String::as_str).chain([QRELS, QUERIES]) {
            let path = folder.join(file);
            outputs::refuse_overwriting(&path, &read)?;
            outputs.push(path);
        }
    }
    // Before a folder is made: one in an index would stay there.
    for folder in args.save_rankers.iter().chain(&args.output) {
        outputs::refuse_folder_in_index(folder)?;
    }
    if let Some(folder) = &args.save_rankers {
        outputs.extend(systems.saved_files(folder)?);
    }
    args.save_rankers.iter().chain(&args.output).try_for_each(|folder| files::create_folder(folder))?;
    outputs::check(&outputs, [])
}
