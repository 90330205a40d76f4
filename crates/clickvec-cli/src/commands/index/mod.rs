//! `clickvec index`: encodes titles once for all later searches, and changes them.

mod change;
mod join;

pub(crate) use change::{compact_if_overdue, in_turn};

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use clickvec::Error;
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec::tables::for_each_title;
use clickvec_eval::internals::fusion_members;
use clickvec_eval::ranker::SYSTEMS;
use clickvec_index::{BuiltIndex, Fusion, IndexBuilder, VectorFormat};
use serde::Serialize;

use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::titles::TitleColumns;
use crate::{input, output, outputs, progress};

/// Encode titles once for `search` and `serve`, or add and delete titles in an existing index.
///
/// An index is a folder with a copy of the model, the titles with the columns to store, their vectors, and their words for
/// BM25. It is written next to the output and moved there in one step, so a search finds either the old index or the new
/// one.
///
/// `--update` adds titles or replaces those with the same ids, `--delete` deletes, and both are seen at once, or not at all
/// if the program is killed. Searches go on meanwhile. Only one process changes an index at a time; others wait.
///
/// Several processes or machines can share the work: each encodes one part with `--shard`, and `--join` joins the
/// parts. The result is byte for byte that of a single run. `--join INDEX --output INDEX` clears away what updates of an index left
/// behind; updates do so by themselves only after 63 others, or when more than half of the titles are old.
#[derive(clap::Args)]
#[command(override_usage = "clickvec index --model MODEL --titles FILE [--shard I/N] --output INDEX\n       \
    clickvec index --join INDEX... --output INDEX\n       \
    clickvec index --update FILE [--delete FILE] --output INDEX")]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote; or a fusion of the model and `bm25`, with `trigram` and `vectors` or without, that
    /// `evaluate --save-rankers` wrote: searches then use it unless told otherwise. A model's index adds a little of
    /// BM25 to the cosine, and looks at numbers, neighbouring words and the kind of thing in the best titles. --join takes a fusion, for other weights than those of the indexes.
    #[arg(long, value_name = "MODEL", required_unless_present_any = ["join", "update", "delete"])]
    model: Option<PathBuf>,

    /// The titles to search: a table with the columns id and title, or a BEIR corpus, also as .gz or .zst; `-` is
    /// standard input.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["join", "update", "delete"])]
    titles: Option<PathBuf>,

    /// Columns to store with the titles, such as brand,price: results show them, and searches can filter by them.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', conflicts_with_all = ["join", "update", "delete"])]
    store: Vec<String>,

    /// How searches by words compare them: `stem` finds `sofas` for `sofa`, by English plurals; `split` separates numbers
    /// from letters, so that `12in` finds `12 in`; `stem,split` does both and `exact` neither. A fusion has this from its
    /// `bm25`. Updates and `clickvec update` keep it; shards get it as they are joined [default: stem,split;
    /// with --join that of the indexes].
    #[arg(long, value_name = "HOW", conflicts_with_all = ["shard", "update", "delete"])]
    words: Option<Analysis>,

    /// How to store the numbers of vectors, which take most of an index: `f32`, `f16`, or `int8`, 8-bit codes alone, which keep
    /// about 99 % of the ten best titles. Updates keep the form [default: f32].
    #[arg(long, value_name = "FORM", conflicts_with_all = ["shard", "update", "delete"])]
    vectors: Option<VectorFormat>,

    /// The column to search, such as `body`; `title+text` joins two [default: the one that the model learnt from, which is
    /// the title unless `train --field` named another; with --update that of the index].
    #[arg(long, value_name = "COLUMN")]
    field: Option<String>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// Encode only part I of N of the titles, such as 1/4. All titles are read.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Join these indexes, in this order. Shards are joined in the order of their numbers; all must be there.
    #[arg(long, value_name = "INDEX", num_args = 1.., conflicts_with_all = ["titles", "shard"])]
    join: Vec<PathBuf>,

    /// Add these titles to the index, or replace those with the same ids; a table like --titles.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "titles", "shard", "join"])]
    update: Option<PathBuf>,

    /// Delete the titles with these ids, one a line.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "titles", "shard", "join"])]
    delete: Option<PathBuf>,

    /// The folder to write, or the index to change. An existing index is replaced; anything else is refused.
    #[arg(long, short, value_name = "INDEX")]
    output: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// A part of the titles: its number, counted from 1, and the number of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    number: u64,
    of: u64,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, Self::Err> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("expected I/N with I from 1 to N, as 1/4"),
        }
    }
}

impl Shard {
    /// The range of this part among `titles` titles. Parts differ by at most one title.
    fn range(self, titles: u64) -> Range<u64> {
        let start = |number: u64| (u128::from(titles) * u128::from(number) / u128::from(self.of)) as u64;
        start(self.number - 1)..start(self.number)
    }
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    index: &'a Path,
    titles: u64,
    left_out: u64,
    dimension: usize,
    model: &'a str,
    fingerprint: &'a str,
}

impl Args {
    /// Refuses names of columns where no titles are read. The parser cannot: `--delete` alone reads none, with `--update` it does.
    fn refuse_columns(&self) -> Result<()> {
        if self.update.is_none() {
            // An update may say which column the index has, and what later titles call it.
            self.title_columns.refuse_field(self.field.as_deref())?;
        }
        let field = self.field.as_ref().map(|_| "--field");
        let columns = (!self.title_columns.is_empty()).then_some("--columns");
        let Some(flag) = field.or(columns) else { return Ok(()) };
        ensure!(
            self.titles.is_some() || self.update.is_some(),
            "expected `--titles FILE` or `--update FILE` with `{flag}`, which names one of its columns, found {} alone; leave \
             `{flag}` out",
            if self.join.is_empty() { "`--delete`" } else { "`--join`" }
        );
        Ok(())
    }

    /// Returns whether the index is joined into itself as it is: what is old is cleared away.
    fn is_compaction(&self) -> bool {
        let is_itself = matches!(&self.join[..], [index] if input::same_file(index, &self.output));
        is_itself && self.model.is_none() && self.words.is_none() && self.vectors.is_none()
    }
}

/// Encodes the titles and writes the index.
pub(crate) fn run(args: Args) -> Result<Answer> {
    args.refuse_columns()?;
    if args.update.is_some() || args.delete.is_some() {
        return change::update(&args);
    }
    if args.is_compaction() {
        return change::compact(&args);
    }
    ensure!(
        args.words.is_none() || !args.model.as_deref().is_some_and(input::is_fusion),
        "expected a model with `--words`, found a fusion, which compares words as its `bm25` does; leave `--words` out"
    );
    for (position, name) in args.store.iter().enumerate() {
        ensure!(!args.store[..position].contains(name), "expected each column of `--store` once, found `{name}` twice");
    }
    IndexBuilder::check_output(&args.output)?;
    outputs::refuse_in_index(&args.output)?;
    let built = match (&args.model, &args.titles) {
        (Some(model), Some(titles)) => {
            let interrupt = Interrupt::watch()?;
            match build(&args, model, titles, &interrupt) {
                Err(error)
                    if error.downcast_ref().is_some_and(|error: &clickvec_tables::Error| {
                        error.kind() == clickvec_tables::ErrorKind::Interrupted
                    }) =>
                {
                    output::note(format_args!("{}: stopped, nothing was changed", output::path(&args.output)));
                    return Ok(Answer::Stopped(interrupt.status().unwrap_or(2)));
                }
                built => built?,
            }
        }
        _ => join::join(&args)?,
    };
    if args.json {
        let report = Report {
            index: &args.output,
            titles: built.titles,
            left_out: built.left_out,
            dimension: built.dimension,
            model: &built.model,
            fingerprint: &built.fingerprint,
        };
        output::json_lines([report])?;
    } else {
        let titles = output::counted(built.titles, "title");
        output::note(format_args!("{}: written; {titles}, fingerprint {}", args.output.display(), built.fingerprint));
    }
    Ok(Answer::Done)
}

fn build(args: &Args, model: &Path, titles: &Path, interrupt: &Interrupt) -> Result<BuiltIndex> {
    let member = member_of(model)?;
    ensure!(
        member.is_none() || args.shard.is_none(),
        "expected a model with `--shard`, found a fusion; give it to `--join`"
    );
    let path = model;
    let model = Model::load(member.as_deref().unwrap_or(path))?;
    let mut fusion = match &member {
        Some(_) => Fusion::read(path, model.fingerprint())?,
        None => Fusion::for_model(&model),
    };
    fusion.analysis = args.words.unwrap_or(fusion.analysis);
    let field = args.title_columns.field_for(args.field.as_deref(), &model.training().config.field);
    let titles = &args.title_columns.checked(titles, &field)?;
    join::note_what_is_lost(&args.output, join::replaced(&args.output)?, &fusion, args.words);
    let mut builder = IndexBuilder::with_fields(&model, &args.output, &args.store)?.with_field(&field);
    let wanted = match args.shard {
        None => 0..u64::MAX,
        Some(_) if titles.path == Path::new("-") => {
            bail!("expected a file of titles for `--shard`, which reads it twice, found standard input")
        }
        Some(shard) => {
            let all = for_each_title(titles, &field, |_| Ok::<(), Error>(()))?.titles;
            let Shard { number, of } = shard;
            builder = builder.with_shard(clickvec_index::Shard { number, of, titles: all });
            shard.range(all)
        }
    };
    let bar = progress::counter("encoding", "titles");
    let mut position = 0;
    input::each_document(titles, &field, &args.store, |title, values| {
        if wanted.contains(&position) {
            builder.add_with_fields(title, values)?;
            bar.inc(1);
        }
        position += 1;
        // The builder takes with it what it has written so far.
        if interrupt.status().is_none() { Ok(()) } else { Err(clickvec_tables::Error::interrupted().into()) }
    })?;
    bar.finish_and_clear();
    let built = finish(builder, &model, &fusion, args.vectors.unwrap_or_default())?;
    input::note_left_out(built.left_out);
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

/// Returns the file of the one model of a fusion, if `path` is a fusion; `None` if it is anything else.
fn member_of(path: &Path) -> Result<Option<PathBuf>> {
    if !input::is_fusion(path) {
        return Ok(None);
    }
    let shown = output::path(path);
    let members = fusion_members(path, &SYSTEMS)?.members;
    let mut models = members.into_iter().filter(|member| member.system.is_none());
    match (models.next(), models.next()) {
        (Some(model), None) => Ok(Some(model.path)),
        (None, _) => {
            bail!("{shown}: expected a fusion with a model, found one of rankers alone; an index needs vectors")
        }
        (Some(_), Some(_)) => bail!(
            "{shown}: expected a fusion with one model, found several; an index has the vectors of one. \
             `train --set encoder.members=N` makes one model of several"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_all_titles_in_order() {
        for titles in [0, 1, 7, 1000, u64::MAX] {
            for of in [1, 2, 3, 8] {
                let mut end = 0;
                for number in 1..=of {
                    let range = Shard { number, of }.range(titles);
                    assert_eq!(range.start, end);
                    assert!((range.end - range.start).abs_diff(titles / of) <= 1);
                    end = range.end;
                }
                assert_eq!(end, titles);
            }
        }
    }

    #[test]
    fn what_is_no_shard() {
        for text in ["", "1", "0/4", "5/4", "1/0", "a/2", "1/2/3", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        assert_eq!("3/4".parse(), Ok(Shard { number: 3, of: 4 }));
    }
}
