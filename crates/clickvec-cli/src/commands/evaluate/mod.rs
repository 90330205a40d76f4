//! `clickvec evaluate`: how well systems rank judged titles, and whether the differences are significant.

mod gate;
mod power;
mod report;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clickvec::Error;
use clickvec::tables::TITLE;
use clickvec::train::Weighting;
use clickvec_eval::{EvaluateOptions, Gain, Metric, TestSetFiles, Ties, evaluation};
use clickvec_lab::COMMON;
use clickvec_tables::files;
use clickvec_tools::evaluate::{Config, Entry, Output, Test, check, saved_files};
use clickvec_tools::systems::{Source, names};

use self::report::Report;
pub(crate) use self::report::rankers;
use crate::answer::Answer;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use crate::{console, output_files};

/// The depth of `--full` without a number.
const DEPTH: &str = "1000";

/// Measure how well systems rank judged titles: NDCG@1/3/10 of each, and paired t-tests between all of them.
///
/// docs/explanation/evaluation.md explains the figures.
#[derive(clap::Args)]
#[command(after_long_help = rankers(&COMMON))]
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
    fn config(&self) -> Config<'_> {
        let titles = self.titles.as_deref().map(|titles| self.title_columns.table(titles));
        let (gain, ties) =
            if self.trec_eval { (Gain::Linear, Ties::Trec) } else { (Gain::Exponential, Ties::Expected) };
        let topics = self.topics.as_deref();
        Config {
            files: TestSetFiles { judged: &self.judged[0], topics, titles, field: &self.field },
            others: &self.judged[1..],
            clicks: self.clicks.as_deref(),
            weighting: Weighting::Log,
            full: self.full,
            measures: &self.measures,
            options: EvaluateOptions { gain, ties, ..EvaluateOptions::default() },
        }
    }

    /// Returns the systems, checked before any of them is loaded or trained.
    fn entries(&self) -> Result<Vec<Entry>> {
        let sources = self.systems.iter().map(|system| Source::new(system, &COMMON)).collect::<Result<Vec<_>, _>>()?;
        let named = names(&sources).into_iter().zip(sources);
        let entries: Vec<Entry> = named.map(|(name, source)| Entry { name, source: Some(source) }).collect();
        check(&entries, self.full.is_some())?;
        Ok(entries)
    }
}

/// Evaluates and prints.
pub(crate) fn run(args: Args) -> Result<Answer> {
    args.title_columns.need(args.titles.is_some())?;
    if let Some(titles) = &args.titles {
        args.title_columns.check(titles, &args.field)?;
    }
    let (config, entries) = (args.config(), args.entries()?);
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let requirements = gate::parse(&args.require, &names)?;
    let output = outputs(&args, &config, &entries)?;
    let watch = Watch::default();
    let mut test = Test::read(&config, &entries, &watch)?;
    if let Some(folder) = &output {
        folder.judgments(&test)?;
    }
    let (corpus, overlap) = test.corpus(&config, &entries, &watch)?;
    let mut opened = std::mem::take(&mut test.opened);
    let named = entries.iter().map(|entry| (entry.name.clone(), entry));
    let set = evaluation::run(named, test.task(), &test.metrics, &test.options, |name, entry| -> Result<_, Error> {
        let answers = test.answers_of(entry, &corpus, args.save_rankers.as_deref(), &mut opened, &watch)?;
        if let (Ok(answers), Some(folder)) = (&answers, &output) {
            folder.run(name, &test, answers)?;
        }
        Ok(answers)
    })?;
    drop(watch);
    output.map_or(Ok(()), |folder| folder.publish(&test, &set))?;
    let report = Report::new(&test, overlap, set);
    if args.json {
        console::json_lines([&report.json()])?;
    } else if !report.set.systems.is_empty() {
        console::print(report.text(args.measures.is_empty()))?;
    }
    let holds = gate::holds(&requirements, &test.metrics, &report.set.tests)?;
    Ok(if test.is_mostly_there && report.set.left_out.is_empty() && holds { Answer::Done } else { Answer::No })
}

/// Checks before any training that every output can be written, is no input, and is one file alone. Creates the folders.
fn outputs(args: &Args, config: &Config<'_>, entries: &[Entry]) -> Result<Option<Output>> {
    if let Some(rankers) = &args.save_rankers {
        output_files::refuse_folder_in_index(rankers)?;
        ensure!(
            args.output.as_ref().is_none_or(|path| !files::resolved(rankers).starts_with(files::resolved(path))),
            "expected another folder for `--save-rankers`, found that of `--output`, which is replaced; name another"
        );
    }
    let output = args.output.as_ref().map(|path| Output::new(path, config, entries)).transpose()?;
    if let Some(folder) = &args.save_rankers {
        files::create_folder(folder)?;
        output_files::check(&saved_files(entries, folder)?, [])?;
    }
    Ok(output)
}
