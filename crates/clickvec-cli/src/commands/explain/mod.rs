//! `clickvec explain`: what a model sees in texts.

mod heat;
pub(super) mod keywords;
mod marks;
mod matches;
pub(super) mod models;
pub(super) use clickvec_report::explanation as page;
mod pictures;
mod rank;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::explain::KeywordOptions;
use clickvec::internals::text::words;
use clickvec::model::Side;
use clickvec_tables::files;
use clickvec_tables::shown::listed;

use crate::answer::Answer;
use crate::header::{self, Header};
use crate::{input, output};
pub(super) use matches::pairs_of_words;
pub(super) use models::{Models, NamedModel, OneModel};

/// How many names of a header a message shows.
const SHOWN_NAMES: usize = 20;

/// Show what a model sees: why a title matches a query, which words are keywords, what a cell represents.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Match(matches::Args),
    Keywords(keywords::Args),
    Rank(rank::Args),
}

/// The definition of a keyword.
#[derive(clap::Args)]
pub(super) struct KeywordFlags {
    /// How many of the most active cells to consider, in each direction.
    #[arg(long, value_name = "N", default_value_t = KeywordOptions::default().cells, value_parser = crate::numbers::at_least_one::<usize>)]
    cells: usize,

    /// A word changes a cell if the cell's activation moves by more than this fraction of the cells' mean activation.
    #[arg(long, value_name = "X", default_value_t = KeywordOptions::default().threshold, value_parser = threshold)]
    threshold: f32,

    /// How many of these cells a keyword must change, in each direction that counts it.
    #[arg(long, value_name = "N", default_value_t = KeywordOptions::default().at_least, value_parser = crate::numbers::at_least_one::<usize>)]
    at_least: usize,
}

/// The form of the output.
#[derive(clap::Args)]
pub(super) struct Form {
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(super) json: bool,

    /// Also write an HTML page: one file that needs no network and can be read without JavaScript.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match args.what {
        What::Match(args) => matches::run(&args),
        What::Keywords(args) => keywords::run(&args),
        What::Rank(args) => rank::run(&args),
    }
}

impl KeywordFlags {
    pub(super) fn options(&self) -> KeywordOptions {
        KeywordOptions {
            cells: self.cells,
            threshold: self.threshold,
            at_least: self.at_least,
            ..KeywordOptions::default()
        }
    }
}

impl Form {
    /// Checks before any work that the page can be written and does not overwrite an input.
    pub(super) fn check<'a>(&self, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
        let Some(html) = &self.html else { return Ok(()) };
        input::refuse_overwriting(html, read)?;
        files::check_writable(html)?;
        Ok(())
    }

    /// Writes the page if one is wanted; otherwise it is not built.
    pub(super) fn write_page(&self, page: impl FnOnce() -> String) -> Result<()> {
        let Some(html) = &self.html else { return Ok(()) };
        files::write_bytes_atomically(html, page().as_bytes())?;
        output::note(format_args!("{}: written", html.display()));
        Ok(())
    }
}

/// The side of the model that reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SideFlag {
    /// As a query.
    Query,
    /// As a title.
    Title,
}

impl SideFlag {
    pub(super) fn side(self) -> Side {
        match self {
            SideFlag::Query => Side::Query,
            SideFlag::Title => Side::Title,
        }
    }
}

/// Reads an argument that must be a single word.
pub(super) fn one_word(text: &str) -> Result<String> {
    match &words(text)[..] {
        [word] => Ok(word.clone()),
        found => bail!("expected one word, found {} in `{}`", found.len(), output::printable(text)),
    }
}

/// Returns the texts of the command line, then those of a file.
pub(super) fn texts(arguments: &[String], file: Option<&Path>) -> Result<Vec<String>> {
    let mut texts = arguments.to_vec();
    if let Some(file) = file {
        let lines = lines(file)?;
        header::refuse_array(lines[0].as_bytes(), file)?;
        // Its header would be explained like what somebody typed, and so would ids and counts.
        let is_table =
            |header: &Header| !header.is_ambiguous && header.has_row(&lines[0], lines.get(1).map(String::as_str));
        if let Some(header) = header::of(&lines[0]).filter(is_table) {
            let path = input::named(file.to_owned());
            bail!(
                "{}: expected texts, one a line, found a table with {}; write its column of texts to a file without the header, or give \
                 what is a text as an argument",
                output::path(&path),
                listed(&header.names, SHOWN_NAMES)
            );
        }
        texts.extend(lines);
    }
    Ok(texts)
}

/// Reads all lines of a file that are not empty; `-` is standard input.
pub(super) fn lines(path: &Path) -> Result<Vec<String>> {
    let mut lines = input::Lines::open(path)?;
    let (mut batch, mut all) = (Vec::new(), Vec::new());
    loop {
        lines.next_batch(usize::MAX, &mut batch)?;
        if batch.is_empty() {
            break;
        }
        all.extend(batch.drain(..).filter(|line: &String| !line.trim().is_empty()));
    }
    ensure!(!all.is_empty(), "{}: expected texts, one a line, found none", output::input(path));
    Ok(all)
}

pub(super) fn threshold(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of 0 or more".to_owned())
}
