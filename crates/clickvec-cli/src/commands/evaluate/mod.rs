//! `clickvec evaluate`: how well systems rank judged titles, and whether the differences are significant.

mod answers;
mod coverage;
mod fusion;
mod gate;
mod index;
mod json;
mod keeping;
mod power;
mod report;
mod systems;
mod test;
mod trec;

use clickvec::tables::Titles;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use clickvec::Error;
use clickvec::internals::files;
use clickvec::internals::vector_file::texts_path;
use clickvec::tables::TITLE;
use clickvec_eval::files_of_test_set;
use clickvec_eval::ranker::{self, Resources, System};
use clickvec_eval::{Answers, EvaluateOptions, Evaluation, Gain, Metric, Overlap, TestSetFiles, Ties, compare_all};

pub(crate) use self::coverage::{lacking_in_run, lacking_vectors};
use self::fusion::{Fused, Fusions, MethodFlag};
pub(crate) use self::json::OverlapJson;
use self::keeping::Keeping;
pub(crate) use self::report::{difference, probability, systems_table, tests_table};
use self::systems::{Entry, VectorFiles};
use self::test::Test;
use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::weighting::WeightingFlag;
use crate::{advice, input, output};

/// Measure how well systems rank judged titles: NDCG@1/3/10 of each, and paired t-tests between all of them.
///
/// A system is a model (`--model`), a ranker (`--ranker`), or a TREC run of another program (`--run`). With `--qrels`,
/// only runs are evaluated. docs/explanation/evaluation.md explains the figures.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("judgments").required(true).args(["judged", "qrels", "rankers"])))]
pub(crate) struct Args {
    /// Judged titles: a table with the columns query, title and grade (0 to 10); a BEIR folder, or one of its files of
    /// judgments; or TREC qrels, with `--topics` and `--titles`.
    #[arg(long, value_name = "FILE")]
    judged: Option<PathBuf>,

    /// The texts of the queries of TREC qrels: TREC topics, lines of id and query, or JSON lines.
    #[arg(long, value_name = "FILE", requires = "judged")]
    topics: Option<PathBuf>,

    /// A model written by `clickvec train`, or a ranker or fusion written by `--save-rankers`. The report names it by
    /// its file name without extension. May be repeated.
    #[arg(long, value_name = "MODEL", conflicts_with = "qrels")]
    model: Vec<PathBuf>,

    /// A ranker with its parameters, such as `bm25` or `bm25:k1=0.9,b=0.4`. It is trained first. May be repeated.
    /// `--rankers` lists them all.
    #[arg(long, value_name = "RANKER", conflicts_with = "qrels")]
    ranker: Vec<String>,

    /// A click log, for rankers that learn from clicks. Without `--titles`, its titles are also the collection. Judged
    /// queries that are also in it are counted and named.
    #[arg(long, value_name = "FILE", conflicts_with = "qrels")]
    clicks: Option<PathBuf>,

    /// How the column count of the log becomes the weight of a pair for rankers; it is multiplied by the column weight.
    #[arg(long, value_enum, value_name = "HOW", requires = "clicks", default_value_t = WeightingFlag::Log)]
    weighting: WeightingFlag,

    /// Refuse to judge by queries that are also in `--clicks`. Without this they are counted and named.
    #[arg(long, requires = "clicks", requires = "judged", conflicts_with = "qrels")]
    no_overlap: bool,

    /// The collection that rankers learn from, and the texts of the titles in TREC qrels: a table with the columns id
    /// and title, or a BEIR corpus.
    #[arg(long, value_name = "FILE", conflicts_with = "qrels")]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Column to use instead of the title in all tables, such as `body`; `title+text` joins two.
    #[arg(long, value_name = "COLUMN", default_value = TITLE, conflicts_with = "qrels")]
    field: String,

    /// The systems that `--ranker` trains.
    #[arg(skip = &ranker::SYSTEMS[..])]
    pub(super) systems: &'static [&'static System],

    /// The folder of a Skip-Thought encoder, for a lab's `--ranker skip-thought`.
    #[arg(skip)]
    pub(super) load: Option<PathBuf>,

    /// Vectors that another program trained, of words or of texts: one file, or QUERIES,TITLES. Adds the ranker `vectors`,
    /// whose parameters `--ranker vectors:idf=1` sets. May be repeated; then each is named after its file.
    #[arg(long, value_name = "FILES", conflicts_with = "qrels")]
    vectors: Vec<VectorFiles>,

    /// Add a fusion: one more system that adds up the scores of all others, each multiplied by a weight. May be repeated.
    ///
    /// All systems count alike unless you give `--fusion-judged` or `--fusion-weights`.
    #[arg(long, value_name = "METHOD", value_enum, conflicts_with = "qrels")]
    fusion: Vec<MethodFlag>,

    /// Other judged titles to fit the fusion's weights on. Queries that are also in `--judged` are left out.
    #[arg(long, value_name = "FILE", requires = "fusion")]
    fusion_judged: Option<PathBuf>,

    /// The fusion's weights: a number of 0 or more for each `--ranker`, then for each `--model`.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', num_args = 1, action = clap::ArgAction::Set, requires = "fusion", conflicts_with = "fusion_judged")]
    fusion_weights: Vec<f64>,

    /// Save each trained ranker and each fusion, with all its members, in this folder. `--model` reads them back.
    #[arg(long, value_name = "FOLDER", conflicts_with = "qrels")]
    save_rankers: Option<PathBuf>,

    /// Search the whole collection with every system, instead of ranking only the judged titles, and measure where the
    /// judged titles turn up.
    ///
    /// The collection is `--titles` or a BEIR corpus. A title without a judgment counts as not relevant. Judged titles are
    /// matched by id or, if they have no ids, by text.
    #[arg(long, requires = "judged", conflicts_with = "qrels")]
    full: bool,

    /// With `--full`: an index written by `clickvec index`, searched as `search --index` does: with its own model, and with
    /// its fusion if it has one. Without `--titles`, all systems search its titles. May be repeated.
    #[arg(long, value_name = "INDEX", requires = "full")]
    index: Vec<PathBuf>,

    /// With `--full`: the largest number of titles that a system returns for a query.
    #[arg(long, value_name = "N", requires = "full", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    depth: u32,

    /// Metrics, separated by commas: `ndcg@K`, `recall@K`, `precision@K`, `mrr@K`, `mrr`, `map`, `bpref`, `judged@K` (the
    /// share of the first K titles that has judgments) and `condensed_ndcg@K` (NDCG without the titles that have none)
    /// [default: ndcg@1,ndcg@3,ndcg@10,mrr,map,precision@10,recall@10, and with `--full`
    /// ndcg@10,recall@100,mrr@10,judged@10,condensed_ndcg@10,bpref].
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    measures: Vec<Metric>,

    /// Also say how many queries it takes to see a difference of this size in NDCG@10, such as 0.01.
    #[arg(long, value_name = "DIFFERENCE", value_parser = expected)]
    expect: Option<f64>,

    /// Exit with 1 unless system A is significantly better than system B (paired t-test over queries, p < 0.05), by their
    /// names in the report. Compares by `ndcg@10` or, if it is not among the metrics, by the first of them. May be repeated;
    /// all must hold.
    #[arg(long, value_name = "A:B")]
    require_better: Vec<String>,

    /// Exit with 1 if system A is significantly worse than system B. In a nightly job, A is the new model and B the one in
    /// use. May be repeated, and combined with --require-better; all must hold.
    #[arg(long, value_name = "A:B")]
    require_not_worse: Vec<String>,

    /// How to treat titles with equal scores.
    #[arg(long, value_enum, default_value_t = TiesFlag::Expected)]
    ties: TiesFlag,

    /// The gain of a grade in NDCG.
    #[arg(long, value_enum, default_value_t = GainFlag::Exponential)]
    gain: GainFlag,

    /// Judgments of a TREC test collection, for `--run`.
    #[arg(long, value_name = "FILE", requires = "run")]
    qrels: Option<PathBuf>,

    /// A TREC run from another program, evaluated with `--qrels`, or together with models and rankers on `--judged`,
    /// whose ids it must use. May be repeated.
    #[arg(long, value_name = "FILE")]
    run: Vec<PathBuf>,

    /// Write the judgments as TREC qrels.
    #[arg(long, value_name = "FILE", conflicts_with = "qrels")]
    qrels_out: Option<PathBuf>,

    /// Write each system's ranking to this folder as a TREC run, NAME.run.
    #[arg(long, value_name = "FOLDER", conflicts_with = "qrels")]
    run_out: Option<PathBuf>,

    /// Write the figures of every query to this file, as a table.
    #[arg(long, value_name = "FILE")]
    per_query: Option<PathBuf>,

    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,

    /// List the rankers and their parameters, and exit.
    #[arg(long, exclusive = true)]
    rankers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TiesFlag {
    /// Average over all orders of the tied titles.
    Expected,
    /// Sort tied titles by id, descending, as trec_eval does.
    Trec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GainFlag {
    /// 2^grade − 1, as in the papers.
    Exponential,
    /// The grade itself, as in trec_eval.
    Linear,
}

impl Args {
    fn test_set(&self) -> Option<TestSetFiles<'_>> {
        let topics = self.topics.as_deref();
        self.judged.as_deref().map(|judged| TestSetFiles {
            judged,
            topics,
            titles: self.table_of_titles(),
            field: &self.field,
        })
    }

    /// Returns the file of titles with the names of its columns.
    fn table_of_titles(&self) -> Option<Titles> {
        self.titles.as_deref().map(|titles| self.title_columns.of(titles))
    }

    /// Returns the metrics of the report. An error if one of them is named twice, or needs longer lists than `--depth`.
    fn metrics(&self) -> Result<Vec<Metric>> {
        let reaches = |metric: &Metric| !self.full || metric.depth().is_none_or(|k| k <= self.depth);
        if self.measures.is_empty() {
            let usual = if self.full { &Metric::OF_SEARCH[..] } else { &Metric::OF_JUDGED };
            return Ok(usual.iter().copied().filter(reaches).collect());
        }
        for (place, metric) in self.measures.iter().enumerate() {
            ensure!(!self.measures[..place].contains(metric), "expected each metric once, found `{metric}` again");
            ensure!(
                reaches(metric),
                "expected lists of at least {} titles for `{metric}`, found {}; raise `--depth`",
                metric.depth().unwrap_or_default(),
                self.depth
            );
        }
        Ok(self.measures.clone())
    }

    fn options(&self) -> EvaluateOptions {
        let ties = match self.ties {
            TiesFlag::Expected => Ties::Expected,
            TiesFlag::Trec => Ties::Trec,
        };
        let gain = match self.gain {
            GainFlag::Exponential => Gain::Exponential,
            GainFlag::Linear => Gain::Linear,
        };
        EvaluateOptions { gain, ties, ..EvaluateOptions::default() }
    }
}

fn expected(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 1.0);
    number.ok_or_else(|| "expected a number above 0 and at most 1, as in 0.01".to_owned())
}

/// Evaluates and prints.
pub(crate) fn run(args: Args) -> Result<Answer> {
    if args.rankers {
        output::print(report::rankers(args.systems))?;
        return Ok(Answer::Done);
    }
    args.title_columns.need(args.titles.is_some())?;
    check_files(&args)?;
    if let Some(titles) = &args.titles {
        args.title_columns.check(titles, &args.field)?;
    }
    let systems = systems::entries(&args)?;
    check_outputs(&args, &systems)?;
    let mut test = Test::read(&args, &systems)?;
    if let Some(path) = &args.qrels_out {
        trec::write_qrels(path, test.judgments())?;
    }
    let results = evaluate(&args, &systems, &mut test)?;
    let tests = compare_all(&results.evaluations).map_err(Error::from)?;
    if let Some(path) = &args.per_query {
        report::write_per_query(path, &test, &results)?;
    }
    if results.evaluations.is_empty() {
        output::note("no system is left to evaluate");
    }
    if args.json {
        json::print(&test, &results, &tests)?;
    } else if !results.evaluations.is_empty() {
        output::print(report::text(&test, &results, &tests, &args))?;
    }
    let holds = gate::holds(&args, &test.metrics, &tests)?;
    Ok(if test.is_mostly_there && results.left_out.is_empty() && holds { Answer::Done } else { Answer::No })
}

/// The contents of the report.
struct Results {
    /// The figures of each system.
    evaluations: Vec<Evaluation>,
    /// The fusions, which are the last of the evaluations.
    fused: Vec<Fused>,
    /// The systems that could not be trained on this data, or read, and why.
    left_out: Vec<(String, String)>,
    /// How much of the test set is also in the click log, if there is one.
    overlap: Option<Overlap>,
}

/// Loads or trains each system in turn and judges its answers, then the fusions of all.
fn evaluate(args: &Args, systems: &[Entry], test: &mut Test) -> Result<Results> {
    let keeping = Keeping::of(args);
    let mut fusions = Fusions::new(args, keeping.as_ref(), systems)?;
    let (corpus, overlap) = test.corpus(args, systems)?;
    let resources = Resources { corpus: &corpus, load: args.load.as_deref(), vectors: &[] };
    let mut results = Results { evaluations: Vec::new(), fused: Vec::new(), left_out: Vec::new(), overlap };
    let mut opened = std::mem::take(&mut test.opened);
    for entry in systems {
        // Hold one system at a time: a model with a large dictionary takes much memory.
        let system = match entry.load(&resources, keeping.as_ref(), &mut opened) {
            Ok(system) => system,
            Err(error) => match error.downcast_ref::<Error>() {
                Some(why) if entry.learns() && why.is_of_data() => {
                    fusions.lacks(entry);
                    let why = advice::told(why);
                    output::note(format_args!("left out {why}"));
                    results.left_out.push((entry.name.clone(), why));
                    continue;
                }
                _ => return Err(error),
            },
        };
        let is_fused = fusions.wants(entry);
        let mut found = answers::answers(entry, &system, test, is_fused)?;
        if is_fused {
            let mut answers = found.judged.clone();
            answers.truncate(test.depth);
            results.add(args, test, &entry.name, &answers)?;
            fusions.add(entry, found)?;
        } else {
            found.judged.truncate(test.depth);
            results.add(args, test, &entry.name, &found.judged)?;
        }
    }
    results.left_out.extend(fusions.left_out());
    for (fused, answers) in fusions.fused(test)? {
        results.add(args, test, &fused.name, &answers)?;
        results.fused.push(fused);
    }
    Ok(results)
}

impl Results {
    /// Judges the answers of a system, and writes them as a run if requested.
    fn add(&mut self, args: &Args, test: &Test, name: &str, answers: &Answers) -> Result<()> {
        self.evaluations.push(test.task().judge(name, answers, &test.metrics, &test.options));
        match &args.run_out {
            Some(folder) => trec::write_run(folder, name, test.task(), answers),
            None => Ok(()),
        }
    }
}

/// Refuses to write a file over one that is read.
fn check_files(args: &Args) -> Result<()> {
    let judged = args.test_set().map_or_else(Vec::new, |files| files_of_test_set(&files));
    let vectors: Vec<PathBuf> = args.vectors.iter().flat_map(|VectorFiles(files)| files.clone()).collect();
    let texts: Vec<PathBuf> = vectors.iter().map(|path| texts_path(path)).collect();
    input::check_outputs(args.per_query.iter().chain(&args.qrels_out))?;
    for output in args.per_query.iter().chain(&args.qrels_out) {
        let read = args.fusion_judged.iter().chain(&args.model).chain(&args.clicks).chain(&args.titles);
        let read = read.chain(&vectors).chain(&texts);
        input::refuse_overwriting(output, read.chain(&args.qrels).chain(&args.run).chain(&judged))?;
    }
    Ok(())
}

/// Checks before any training that every output can be written and that no two are the same file. Creates the folders.
fn check_outputs(args: &Args, systems: &[Entry]) -> Result<()> {
    let mut outputs: Vec<PathBuf> = args.per_query.iter().chain(&args.qrels_out).cloned().collect();
    // Before a folder is made: one in an index would stay there.
    for folder in args.save_rankers.iter().chain(&args.run_out) {
        input::refuse_folder_in_index(folder)?;
    }
    if let Some(folder) = &args.save_rankers {
        let saved = systems::saved_files(folder, systems, &args.fusion)?;
        files::create_folder(folder)?;
        outputs.extend(saved);
    }
    if let Some(folder) = &args.run_out {
        let names = systems.iter().map(|system| system.name.clone()).chain(args.fusion.iter().map(|flag| flag.name()));
        let runs = trec::run_files(folder, names)?;
        files::create_folder(folder)?;
        for run in &runs {
            input::refuse_overwriting(run, &args.run)?;
        }
        outputs.extend(runs);
    }
    input::check_outputs(&outputs)
}
