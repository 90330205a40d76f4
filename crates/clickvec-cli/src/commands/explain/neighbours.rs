//! `clickvec explain neighbours`: the words that are most similar to a word.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::explain::{Explainer, Neighbour, Neighbours, Space};
use clickvec::internals::text::words;
use maud::{Markup, html};
use serde::Serialize;

use super::{Form, OneModel, SideFlag, page};
use crate::answer::Answer;
use crate::{output, table};

/// Show the words most similar to a word: in the input layer (what its spelling means) and in the embedding (what it
/// means as a text of its own).
///
/// A model knows letter trigrams and no list of words, so the words come from a file.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The word.
    #[arg(value_name = "WORD")]
    word: String,

    /// Texts whose words are compared, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    words: PathBuf,

    /// Which half of the model reads them.
    #[arg(long, value_enum, default_value_t = SideFlag::Query)]
    side: SideFlag,

    /// How many words to show.
    #[arg(long, short = 'k', value_name = "N", default_value_t = 10, value_parser = super::at_least_one)]
    top: usize,

    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Line<'a> {
    word: &'a str,
    space: &'static str,
    neighbours: Vec<JsonNeighbour<'a>>,
}

#[derive(Serialize)]
struct JsonNeighbour<'a> {
    word: &'a str,
    cosine: f32,
}

const SPACES: [(&str, Space); 2] = [("input layer", Space::Input), ("embedding", Space::Embedding)];

/// Shows the neighbours; no, if there are none.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain([&args.words]))?;
    let found = words(&args.word);
    let [word] = &found[..] else {
        bail!("expected one word, found {} in `{}`", found.len(), output::printable(&args.word));
    };
    let model = args.model.load()?;
    let mut vocabulary: BTreeSet<String> = super::lines(&args.words)?.iter().flat_map(|line| words(line)).collect();
    vocabulary.insert(word.clone());
    let vocabulary: Vec<String> = vocabulary.into_iter().collect();
    let explainer = Explainer::new(&model.model);
    let nearest =
        |space| Neighbours::new(&explainer, args.side.side(), space, vocabulary.clone()).nearest(word, args.top);
    let mut spaces: Vec<(&str, Vec<Neighbour>)> = Vec::new();
    for (name, space) in SPACES {
        let Some(nearest) = nearest(space) else {
            bail!("expected a word of which the model knows a letter trigram, found `{}`", output::printable(word));
        };
        spaces.push((name, nearest));
    }
    let mut out = output::stdout();
    if args.form.json {
        for (space, neighbours) in &spaces {
            let neighbours = neighbours.iter().map(json_neighbour).collect();
            output::json_line(&mut out, &Line { word, space, neighbours })?;
        }
    } else {
        let mut rows = table::plain();
        rows.set_header(["input layer", "", "embedding", ""]);
        for place in 0..spaces[0].1.len() {
            rows.add_row(spaces.iter().flat_map(|(_, nearest)| {
                let near = &nearest[place];
                [output::printable(&near.word).into_owned(), format!("{:.3}", near.cosine)]
            }));
        }
        output::written(writeln!(out, "{}", table::show(&mut rows)))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(word, &spaces))?;
    Ok(if spaces[0].1.is_empty() { Answer::No } else { Answer::Done })
}

fn json_neighbour(neighbour: &Neighbour) -> JsonNeighbour<'_> {
    JsonNeighbour { word: &neighbour.word, cosine: neighbour.cosine }
}

fn page_of(word: &str, spaces: &[(&str, Vec<Neighbour>)]) -> Markup {
    let body = html! {
        @for (space, neighbours) in spaces {
            h2 { (space) }
            table {
                @for near in neighbours {
                    tr { td { (near.word) } (page::share(f64::from(near.cosine), 1.0)) }
                }
            }
        }
    };
    page::page(&format!("Words near {word}"), false, body)
}
