//! `clickvec index`: encodes titles once for all later searches.

mod join;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::Error;
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec::tables::for_each_title;
use clickvec_index::{BuiltIndex, ByPart, Fusion, FusionMethod, IndexBuilder, Shard, VectorFormat};
use serde::Serialize;

use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::progress::Watch;
use crate::titles::TitleColumns;
use crate::{console, output_files, progress};
use clickvec_tools::inputs;

/// Encode titles once for `search` and `serve`. `update` adds and deletes titles later.
///
/// An index is a folder with a copy of the model, the titles with the columns to store, their vectors, and their words for
/// BM25. It is written next to the output and moved there in one step, so a search finds either the old index or the new
/// one.
///
/// Several processes or machines can share the work: each encodes one part with `--shard`, and `--join` joins the
/// parts. The result is byte for byte that of a single run.
#[derive(clap::Args)]
#[command(override_usage = "clickvec index --model MODEL --titles FILE [--shard I/N] --output INDEX\n       \
    clickvec index --join INDEX... [--link] --output INDEX")]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL", required_unless_present = "join", conflicts_with = "join")]
    model: Option<PathBuf>,

    /// The titles to search: a table with the columns id and title, or a BEIR corpus, also as .gz or .zst; `-` is
    /// standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "join")]
    titles: Option<PathBuf>,

    /// Columns to store with the titles, such as brand,price: results show them, and searches can filter by them.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', conflicts_with = "join")]
    store: Vec<String>,

    /// The weight of each part in the score of a title, such as words=0.02,vectors=1.
    ///
    /// A score is the sum of the cosine of the model's vectors, the BM25 of words and the cosine of letter trigrams (`trigrams=0.1`),
    /// each times its weight. A part that is not named keeps its weight. The best
    /// titles are looked at a second time, for numbers, neighbouring words and the kind of thing, in proportion to the vectors' weight
    /// [default: vectors=1,words=0.025, or words=0.05 for a model that has seen no clicks; with --join those of the indexes].
    #[arg(long, value_name = "PART=WEIGHT,...", conflicts_with = "shard")]
    weights: Option<ByPart<f64>>,

    /// Make scores comparable before they are added up: linear, min-max, z-score or reciprocal-rank.
    ///
    /// For the search engine that `export` writes for. Scores are taken as they are (linear), scaled to the range from 0 to 1
    /// (min-max), as standard deviations from their mean (z-score), or as 1 / (60 + rank) (reciprocal-rank). Only linear re-ranks.
    #[arg(long, value_name = "METHOD", default_value = "linear", requires = "weights")]
    fusion: FusionMethod,

    /// Change words before they are compared: `stem`, `split`, `fold`, several with commas, or `exact` [default: stem,split].
    ///
    /// `stem` finds `sofas` for `sofa`, by English plurals; `split` separates numbers from letters, so that `12in` finds `12 in`; `fold`
    /// takes accents off, so that `cafe` finds `café`, and is a default for a model with text.accents=fold; `exact` does none of it.
    /// `clickvec update` keeps it; shards get it as they are joined, by default that of the indexes.
    #[arg(long, value_name = "HOW", conflicts_with = "shard")]
    words: Option<Analysis>,

    /// The format of the numbers of vectors: `f32`, `f16` or `int8` [default: f32].
    ///
    /// They take most of an index. 8-bit codes alone keep about 99 % of the ten best titles. Updates keep the format.
    #[arg(long, value_name = "FORM", conflicts_with = "shard")]
    vectors: Option<VectorFormat>,

    /// The column to search, such as `body`; `title+text` joins two [default: the one that the model learnt from].
    #[arg(long, value_name = "COLUMN", conflicts_with = "join")]
    field: Option<String>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Encode only part I of N of the titles, such as 1/4. All titles are read.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(u64, u64)>,

    /// Join these indexes, in this order. Shards are joined in the order of their numbers; all must be there.
    #[arg(long, value_name = "INDEX", num_args = 1.., conflicts_with_all = ["titles", "shard"])]
    join: Vec<PathBuf>,

    /// Search the joined indexes as one where they are, instead of copying their titles.
    ///
    /// A search also finds what `update` adds to one of them and deletes. After a new model, link them anew.
    #[arg(long, requires = "join", conflicts_with_all = ["weights", "words", "vectors"])]
    link: bool,

    /// The folder to write. An existing index is replaced; anything else is refused.
    #[arg(long, short, value_name = "INDEX")]
    output: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Parses the number of a shard, counted from 1, and the number of shards.
fn shard(text: &str) -> Result<(u64, u64), &'static str> {
    let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    numbers.filter(|(number, of)| (1..=*of).contains(number)).ok_or("expected I/N with I from 1 to N, as 1/4")
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "console::json_path")]
    index: &'a Path,
    #[serde(flatten)]
    built: &'a BuiltIndex,
}

impl Args {
    /// Sets what the options say of a fusion.
    fn chosen(&self, fusion: Fusion) -> clickvec_index::Result<Fusion> {
        let fusion = Fusion { analysis: self.words.unwrap_or(fusion.analysis), ..fusion };
        match &self.weights {
            Some(weights) => fusion.with_weights(self.fusion, weights),
            None => Ok(fusion),
        }
    }
}

/// Encodes the titles and writes the index.
pub(crate) fn run(args: Args) -> Result<Answer> {
    args.title_columns.refuse_field(args.field.as_deref())?;
    args.title_columns.need(args.titles.is_some())?;
    for (position, name) in args.store.iter().enumerate() {
        ensure!(!args.store[..position].contains(name), "expected each column of `--store` once, found `{name}` twice");
    }
    IndexBuilder::check_output(&args.output)?;
    output_files::refuse_in_index(&args.output)?;
    let built = match (&args.model, &args.titles) {
        (Some(model), Some(titles)) => {
            let interrupt = Interrupt::watch()?;
            match build(&args, model, titles, &interrupt) {
                Err(error)
                    if error.downcast_ref().is_some_and(|error: &clickvec_tables::Error| {
                        error.kind() == clickvec_tables::ErrorKind::Interrupted
                    }) =>
                {
                    console::note(format_args!("{}: stopped, nothing was changed", console::path(&args.output)));
                    return Ok(Answer::Stopped(interrupt.status().unwrap_or(2)));
                }
                built => built?,
            }
        }
        _ => join::join(&args)?,
    };
    if args.json {
        let report = Report { index: &args.output, built: &built };
        console::json_lines([report])?;
    } else {
        let titles = console::counted(built.titles, "title");
        console::note(format_args!("{}: written; {titles}, fingerprint {}", args.output.display(), built.fingerprint));
    }
    Ok(Answer::Done)
}

fn build(args: &Args, model: &Path, titles: &Path, interrupt: &Interrupt) -> Result<BuiltIndex> {
    let model = Model::load(model)?;
    let fusion = args.chosen(Fusion::for_model(&model))?;
    let field = args.title_columns.field_for(args.field.as_deref(), &model.training().config.field);
    let titles = &args.title_columns.checked(titles, &field)?;
    join::note_what_is_lost(&args.output, join::replaced(&args.output), &fusion, args.words);
    let mut builder = IndexBuilder::with_fields(&model, &args.output, &args.store)?.with_field(&field);
    let wanted = match args.shard {
        None => 0..u64::MAX,
        Some(_) if titles.path == Path::new("-") => {
            bail!("expected a file of titles for `--shard`, which reads it twice, found standard input")
        }
        Some((number, of)) => {
            let titles = for_each_title(titles, &field, |_| Ok::<(), Error>(()))?.titles;
            let shard = Shard { number, of, titles };
            builder = builder.with_shard(shard);
            shard.range()
        }
    };
    let bar = progress::counter("encoding", "titles");
    let mut position = 0;
    inputs::each_document(titles, &field, &args.store, &Watch::default(), |title, values| {
        if wanted.contains(&position) {
            builder.add_with_fields(title, values)?;
            bar.inc(1);
        }
        position += 1;
        // The builder takes with it what it has written so far.
        if interrupt.status().is_none() { Ok(()) } else { Err(clickvec_tables::Error::interrupted()) }
    })?;
    bar.finish_and_clear();
    let built = finish(builder, &model, &fusion, args.vectors.unwrap_or_default())?;
    inputs::note_without_vector(built.without_vector, built.without_words, &Watch::default());
    Ok(built)
}

/// Writes everything of an index that follows from its titles and vectors.
pub(super) fn finish(
    builder: IndexBuilder,
    model: &Model,
    fusion: &Fusion,
    format: VectorFormat,
) -> Result<BuiltIndex> {
    let step = progress::step("indexing words and vectors");
    let built = clickvec_index::finish(builder, model, fusion, format)?;
    step.finish_and_clear();
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shard() {
        for text in ["", "1", "0/4", "5/4", "1/0", "a/2", "1/2/3", "-1/2"] {
            assert!(shard(text).is_err(), "{text}");
        }
        assert_eq!(shard("3/4"), Ok((3, 4)));
    }
}
