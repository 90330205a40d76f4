//! `clickvec train`: a click log goes in, a model comes out.

mod encoder;
mod json;
mod report;
mod settings;

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Parser;
use clickvec::eval::{TestSetFiles, files_of_test_set};
use clickvec::table::{Training, Validation};
use clickvec::tables::TITLE;
use clickvec::train::{TrainOptions, train};

use crate::answer::Answer;
use crate::{input, test_set};

/// Arguments without a command before them.
#[derive(Parser)]
#[command(name = "train")]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// The training that these options ask for; log, field, output and what becomes of it are another command's.
pub(crate) fn planned(arguments: &[String]) -> Result<Training> {
    let args = parse(arguments)?;
    let label = arguments.join(" ");
    let idle =
        [("--resume", args.resume), ("--checkpoint-every", args.checkpoint_every.is_some()), ("--json", args.json)];
    if let Some((option, _)) = idle.iter().find(|(_, given)| *given) {
        bail!(
            "`train {label}`: expected settings of a training, found `{option}`, which a table sees to; leave it out"
        );
    }
    let config = args.settings.config(&args.encoder, args.validation.is_some());
    let config = config.map_err(|fault| anyhow!("`train {label}`: {fault:#}"))?;
    let (topics, titles) = (args.validation_topics, args.validation_titles);
    let validation = args.validation.map(|judged| Validation { judged, topics, titles });
    Ok(Training { label, config, validation })
}

fn parse(arguments: &[String]) -> Result<Args> {
    let data = ["train", "--clicks", "clicks", "--output", "model", "--field", "title"];
    let line = Line::try_parse_from(data.iter().copied().chain(arguments.iter().map(String::as_str)));
    let line = line.map_err(|error| {
        // The first paragraph: the others show how to call a command that nobody called.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow!("`train {}`: {first}", arguments.join(" "))
    })?;
    Ok(line.args)
}

/// Learn a model from a click log.
///
/// The log is a table with the columns query and title, one clicked pair a line, and optionally weight or count; also
/// .gz and .zst. Broken lines are skipped and counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The click log.
    #[arg(long, value_name = "FILE")]
    clicks: PathBuf,

    /// Where the model goes: one safetensors file.
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,

    /// Judge the model on these titles after every epoch: a table with the columns query, title and grade, or any other
    /// form that `evaluate --judged` takes.
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,

    /// The texts of the queries, where the validation set is TREC qrels.
    #[arg(long, value_name = "FILE", requires = "validation")]
    validation_topics: Option<PathBuf>,

    /// The texts of the titles, where the validation set is TREC qrels.
    #[arg(long, value_name = "FILE", requires = "validation_topics")]
    validation_titles: Option<PathBuf>,

    /// Write a checkpoint beside the model after every so many minibatches [default: never].
    #[arg(long, value_name = "MINIBATCHES", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,

    /// Continue from the checkpoint beside the model; start anew if there is none. Refused if settings or data are not
    /// those of the run that is there.
    #[arg(long)]
    resume: bool,

    /// Print what happens as JSON, one object a line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    encoder: encoder::EncoderFlags,

    #[command(flatten)]
    settings: settings::Settings,
}

impl Args {
    fn validation<'a>(&'a self, field: &'a str) -> Option<TestSetFiles<'a>> {
        let (topics, titles) = (self.validation_topics.as_deref(), self.validation_titles.as_deref());
        self.validation.as_deref().map(|judged| TestSetFiles { judged, topics, titles, field })
    }

    fn validation_files(&self) -> Vec<PathBuf> {
        self.validation(TITLE).map_or_else(Vec::new, |files| files_of_test_set(&files))
    }
}

/// Trains.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let config = args.settings.config(&args.encoder, args.validation.is_some())?;
    let validation = args.validation_files();
    for beside in clickvec::train::written_paths(&args.output) {
        input::refuse_overwriting(&beside, validation.iter().chain([&args.clicks]))?;
    }
    let judgments = args.validation(&config.field).map(|files| test_set::read(&files)).transpose()?;
    let options = TrainOptions {
        clicks: &args.clicks,
        validation: judgments.as_ref().map(|set| &set.judgments),
        output: &args.output,
        checkpoint_every: args.checkpoint_every,
        resume: args.resume,
    };
    let mut reporter = report::Reporter::new(&config, &args.clicks, args.json);
    let outcome = train(&config, &options, &mut |event| reporter.event(event));
    reporter.close();
    outcome?;
    reporter.result()?;
    Ok(Answer::Done)
}
