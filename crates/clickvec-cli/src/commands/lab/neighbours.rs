//! `clickvec lab neighbours`: the words that are most similar to a word.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::explain::Explainer;
use clickvec::internals::text::words;
use clickvec::tables::TITLE;
use clickvec_eval::ranker::{self, FileKind};
use clickvec_lab::explain::{Near, Neighbours, Space, neighbour_report};
use clickvec_tables::shown::shortened;
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::models::name_of;
use crate::commands::explain::{self, Form, OneModel, SideFlag, page};
use crate::{input, output};

/// The titles' file in an index.
const TITLES_OF_INDEX: &str = "titles.tsv";

/// Show the words most similar to a word: by the input layer, which knows spelling, and by the embedding, which knows
/// what was clicked.
///
/// A model knows letter trigrams and has no list of words, so the words to compare come from a file or from the titles
/// of an index. MODEL can also be a ranker that `evaluate --save-rankers` wrote, if it has vectors of words: doc2vec
/// (`dm=1`, or `dm=0,dbow-words=1`), lsa, vectors, skip-thought.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The word.
    #[arg(value_name = "WORD")]
    word: String,

    /// Texts with the words to compare, one a line; `-` for standard input [default: titles of the index, words of the
    /// ranker].
    #[arg(long, value_name = "FILE")]
    words: Option<PathBuf>,

    /// Whether the model reads them as queries or as titles.
    #[arg(long, value_enum, default_value_t = SideFlag::Query)]
    side: SideFlag,

    /// How many words to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 10, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Line<'a> {
    word: &'a str,
    #[serde(flatten)]
    near: &'a Near,
}

/// Shows the neighbours. The answer is no if there are none.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain(&args.words))?;
    let word = &explain::one_word(&args.word)?;
    let path = &args.model.path;
    let is_model = path.is_dir() || FileKind::of(path)? == FileKind::Model;
    let spaces = if is_model { in_model(args, word)? } else { in_ranker(args, path, word)? };
    let report = neighbour_report(&spaces);
    if args.form.json {
        output::json_lines(spaces.iter().map(|near| Line { word, near }))?;
    } else {
        output::print(report.to_text())?;
    }
    args.form.write_page(|| page::page(&format!("Words near {word}"), false, &report.to_markup()))?;
    Ok(if spaces[0].neighbours.is_empty() { Answer::No } else { Answer::Done })
}

fn in_model(args: &Args, word: &str) -> Result<Vec<Near>> {
    let texts = match (&args.words, args.model.index()) {
        (Some(path), _) => explain::lines(path)?,
        (None, Some(index)) => {
            let titles = input::titles(&index.join(TITLES_OF_INDEX), TITLE)?;
            titles.into_iter().map(|title| title.title).collect()
        }
        (None, None) => bail!(
            "expected `--words FILE`: a model knows letter trigrams and has no list of words, so the words to compare come \
             from a file of texts"
        ),
    };
    let model = args.model.load()?;
    let mut vocabulary: BTreeSet<String> = texts.iter().flat_map(|line| words(line)).collect();
    vocabulary.insert(word.to_owned());
    let vocabulary: Vec<String> = vocabulary.into_iter().collect();
    let explainer = Explainer::new(&model.model);
    let mut spaces = Vec::new();
    for (name, space) in Space::ALL {
        let near = Neighbours::new(&explainer, args.side.side(), space, vocabulary.clone());
        let Some(neighbours) = near.nearest(word, args.top) else {
            bail!("expected a word with a letter trigram that the model knows, found `{}`", shortened(word));
        };
        spaces.push(Near { space: name.to_owned(), neighbours });
    }
    Ok(spaces)
}

fn in_ranker(args: &Args, path: &Path, word: &str) -> Result<Vec<Near>> {
    let wanted = args.words.as_deref().map(explain::lines).transpose()?;
    let wanted = wanted.map(|lines| {
        let mut all: BTreeSet<String> = lines.iter().flat_map(|line| words(line)).collect();
        all.insert(word.to_owned());
        all.into_iter().collect::<Vec<_>>()
    });
    let ranker = ranker::load_with(path, &clickvec_lab::SYSTEMS)?;
    let Some(near) = Neighbours::from_ranker(ranker.as_ref(), wanted.as_deref()) else {
        bail!(
            "{}: expected a model, or a ranker with vectors of words (doc2vec with dm=1 or dbow-words=1, lsa, vectors, skip-thought), found \
             {}, which has none",
            path.display(),
            ranker.name()
        );
    };
    let Some(neighbours) = near.nearest(word, args.top) else {
        bail!("expected a word that {} knows, found `{}`", ranker.name(), shortened(word));
    };
    let name = name_of(path);
    let space = if name == ranker.name() { name } else { format!("{name} ({})", ranker.name()) };
    Ok(vec![Near { space, neighbours }])
}
