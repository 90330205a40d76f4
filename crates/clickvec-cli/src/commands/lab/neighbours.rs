//! `clickvec lab neighbours`: the words that are most similar to a word.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use clickvec::explain::Explainer;
use clickvec::internals::text::words;
use clickvec_eval::ranker::{self, FileKind};
use clickvec_index::Index;
use clickvec_lab::explain::{Near, Neighbours, Space, neighbour_report};
use clickvec_tables::shown::shortened;

use crate::answer::Answer;
use crate::commands::explain::arguments::{ModelAndTexts, one_word};
use crate::commands::explain::models::name_of;

/// Show the words most similar to a word: by the input layer, which knows spelling, and by the embedding, which knows
/// what was clicked.
///
/// A model knows letter trigrams and has no list of words, so the words to compare come from a file or from the titles
/// of an index. MODEL can also be a ranker that `evaluate --save-rankers` wrote, if it has vectors of words: doc2vec
/// (`dm=1`, or `dm=0,dbow-words=1`), lsa, vectors, skip-thought.
#[derive(clap::Args)]
#[command(mut_arg("file", |file| file.help("Texts with the words to compare, one a line; `-` for standard input [default: titles of the \
    index, words of the ranker]")))]
pub(super) struct Args {
    #[command(flatten)]
    shared: ModelAndTexts,

    /// The word.
    #[arg(value_name = "WORD")]
    word: String,

    /// The number of words to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 10, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,
}

/// Shows the neighbours. The answer is no if there are none.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let mut printer = args.shared.printer()?;
    let word = &one_word(&args.word)?;
    let path = &args.shared.model;
    let is_model = path.is_dir() || FileKind::read(path)? == FileKind::Model;
    let spaces = if is_model { in_model(args, word)? } else { in_ranker(args, path, word)? };
    spaces.iter().try_for_each(|near| printer.line(near))?;
    printer.report(&neighbour_report(&spaces))?;
    printer.finish(&format!("Words near {word}"))?;
    Ok(if spaces[0].neighbours.is_empty() { Answer::No } else { Answer::Done })
}

/// Returns the words of texts and this one, each once.
fn vocabulary(texts: &[String], word: &str) -> Vec<String> {
    let words: BTreeSet<String> = texts.iter().flat_map(|text| words(text)).chain([word.to_owned()]).collect();
    words.into_iter().collect()
}

fn in_model(args: &Args, word: &str) -> Result<Vec<Near>> {
    let index = Some(&args.shared.model).filter(|path| path.is_dir());
    let texts = match (&args.shared.file, index) {
        (Some(_), _) => args.shared.texts(&[])?,
        (None, Some(index)) => {
            let mut texts = Vec::new();
            Index::open(index)?.for_each_title(|title| {
                texts.push(title.title);
                Ok(())
            })?;
            texts
        }
        (None, None) => bail!(
            "expected `--file FILE`: a model knows letter trigrams and has no list of words, so the words to compare come \
             from a file of texts"
        ),
    };
    let model = args.shared.load()?;
    let vocabulary = vocabulary(&texts, word);
    let explainer = Explainer::new(&model.model);
    let mut spaces = Vec::new();
    for (name, space) in Space::ALL {
        let near = Neighbours::new(&explainer, args.shared.side, space, vocabulary.clone());
        let Some(neighbours) = near.nearest(word, args.top) else {
            bail!("expected a word with a letter trigram that the model knows, found `{}`", shortened(word));
        };
        spaces.push(Near { word: word.to_owned(), space: name.to_owned(), neighbours });
    }
    Ok(spaces)
}

fn in_ranker(args: &Args, path: &Path, word: &str) -> Result<Vec<Near>> {
    let wanted = args.shared.file.is_some().then(|| args.shared.texts(&[])).transpose()?;
    let wanted = wanted.map(|texts| vocabulary(&texts, word));
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
    Ok(vec![Near { word: word.to_owned(), space, neighbours }])
}
