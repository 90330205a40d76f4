//! `clickvec lab neighbours`: the words that are most similar to a word.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::explain::Explainer;
use clickvec::internals::error::shortened;
use clickvec::internals::text::words;
use clickvec::tables::TITLE;
use clickvec_eval::ranker::{self, FileKind};
use clickvec_lab::explain::{Neighbour, Neighbours, Space};
use maud::html;
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::models::name_of;
use crate::commands::explain::{self, Form, OneModel, SideFlag, page};
use crate::{aligned, input, output};

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
    space: &'a str,
    neighbours: Vec<JsonNeighbour<'a>>,
}

#[derive(Serialize)]
struct JsonNeighbour<'a> {
    word: &'a str,
    cosine: f32,
}

const SPACES: [(&str, Space); 2] = [("input layer", Space::Input), ("embedding", Space::Embedding)];

/// The name of a space, and the nearest words in it.
type Near = (String, Vec<Neighbour>);

/// Shows the neighbours. The answer is no if there are none.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain(&args.words))?;
    let word = &explain::one_word(&args.word)?;
    let path = &args.model.path;
    let is_model = path.is_dir() || FileKind::of(path)? == FileKind::Model;
    let spaces = if is_model { of_model(args, word)? } else { of_ranker(args, path, word)? };
    let mut out = output::stdout();
    if args.form.json {
        for (space, neighbours) in &spaces {
            let neighbours = neighbours.iter().map(json_neighbour).collect();
            output::json_line(&mut out, &Line { word, space, neighbours })?;
        }
    } else {
        let mut rows = aligned::plain();
        rows.set_header(spaces.iter().flat_map(|(name, _)| [name.as_str(), ""]));
        for place in 0..spaces[0].1.len() {
            rows.add_row(spaces.iter().flat_map(|(_, nearest)| {
                let near = &nearest[place];
                [output::printable(&near.word).into_owned(), format!("{:.3}", near.cosine)]
            }));
        }
        output::written(writeln!(out, "{}", aligned::show(&mut rows)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(word, &spaces))?;
    Ok(if spaces[0].1.is_empty() { Answer::No } else { Answer::Done })
}

fn of_model(args: &Args, word: &str) -> Result<Vec<Near>> {
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
    for (name, space) in SPACES {
        let near = Neighbours::new(&explainer, args.side.side(), space, vocabulary.clone());
        let Some(nearest) = near.nearest(word, args.top) else {
            bail!("expected a word with a letter trigram that the model knows, found `{}`", shortened(word));
        };
        spaces.push((name.to_owned(), nearest));
    }
    Ok(spaces)
}

fn of_ranker(args: &Args, path: &Path, word: &str) -> Result<Vec<Near>> {
    let wanted = args.words.as_deref().map(explain::lines).transpose()?;
    let wanted = wanted.map(|lines| {
        let mut all: BTreeSet<String> = lines.iter().flat_map(|line| words(line)).collect();
        all.insert(word.to_owned());
        all.into_iter().collect::<Vec<_>>()
    });
    let ranker = ranker::load_with(path, &clickvec_lab::SYSTEMS)?;
    let Some(near) = Neighbours::of_ranker(ranker.as_ref(), wanted.as_deref()) else {
        bail!(
            "{}: expected a model, or a ranker with vectors of words (doc2vec with dm=1 or dbow-words=1, lsa, vectors, skip-thought), found \
             {}, which has none",
            path.display(),
            ranker.name()
        );
    };
    let Some(nearest) = near.nearest(word, args.top) else {
        bail!("expected a word that {} knows, found `{}`", ranker.name(), shortened(word));
    };
    let name = name_of(path);
    let name = if name == ranker.name() { name } else { format!("{name} ({})", ranker.name()) };
    Ok(vec![(name, nearest)])
}

fn json_neighbour(neighbour: &Neighbour) -> JsonNeighbour<'_> {
    JsonNeighbour { word: &neighbour.word, cosine: neighbour.cosine }
}

fn page_of(word: &str, spaces: &[Near]) -> String {
    let body = html! {
        @if spaces.len() > 1 {
            p.note { "The input layer knows the spelling of words; the embedding knows what was clicked." }
        }
        div.sides {
            @for (space, neighbours) in spaces {
                div {
                    h3 { (space) }
                    table {
                        @for near in neighbours { tr { td { (near.word) } (page::share(f64::from(near.cosine), 1.0)) } }
                    }
                }
            }
        }
    };
    page::page(&format!("Words near {word}"), false, &body)
}
