//! Arguments that several commands share: the model and its texts, the definition of a keyword, the form of the output.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::explain::KeywordOptions;
use clickvec::internals::text::words;
use clickvec::model::Side;
use clickvec_tables::shown::listed;
use clickvec_tables::table::{Header, header};

use super::models::NamedModel;
use super::printer::{Form, Printer};
use crate::console;
use crate::numbers::{at_least_one, choice};
use clickvec_tools::header::refuse_array;
use clickvec_tools::inputs;

/// The number of names of a header that a message shows.
const SHOWN_NAMES: usize = 20;

/// One model, the texts that it reads, and the form of the output.
#[derive(clap::Args)]
pub(in super::super) struct ModelAndTexts {
    /// A model that `clickvec train` wrote, or an index that has one.
    #[arg(value_name = "MODEL")]
    pub(in super::super) model: PathBuf,

    /// Texts, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(in super::super) file: Option<PathBuf>,

    /// The tower of the model that reads the texts: query or title.
    #[arg(long, value_name = "SIDE", default_value = "query", value_parser = choice::<Side>)]
    pub(in super::super) side: Side,

    #[command(flatten)]
    pub(in super::super) form: Form,
}

impl ModelAndTexts {
    /// Checks where the page goes.
    pub(in super::super) fn printer(&self) -> Result<Printer<'_>> {
        self.form.printer([&self.model].into_iter().chain(&self.file))
    }

    pub(in super::super) fn load(&self) -> Result<NamedModel> {
        NamedModel::load(&self.model)
    }

    /// Returns the texts of the command line, then those of the file.
    pub(in super::super) fn texts(&self, typed: &[String]) -> Result<Vec<String>> {
        let mut texts = typed.to_vec();
        if let Some(file) = &self.file {
            let lines = lines(file)?;
            refuse_array(lines[0].as_bytes(), file)?;
            // Its header would be explained like a text that the user typed, and so would ids and counts.
            let is_table =
                |header: &Header| !header.is_ambiguous && header.has_row(&lines[0], lines.get(1).map(String::as_str));
            if let Some(header) = header(file, &lines[0]).filter(is_table) {
                bail!(
                    "{}: expected texts, one a line, found a table with {}; write its column of texts to a file without a header, or \
                     pass a text as an argument",
                    console::input(file),
                    listed(&header.names, SHOWN_NAMES)
                );
            }
            texts.extend(lines);
        }
        Ok(texts)
    }
}

/// The definition of a keyword.
#[derive(clap::Args)]
pub(in super::super) struct KeywordFlags {
    /// The definition of a keyword, as `cells=10,at-least=4,threshold=0.4` or a part of it: a word that changes at least 4 of the 10 most active
    /// cells, in each direction that counts it, by more than 0.4 of their mean activation. For a CLSM, `units=5`: a word that
    /// wins one of the 5 most active max-pooling units. These are the defaults.
    #[arg(long, value_name = "NAME=VALUE,…", value_delimiter = ',', value_parser = setting)]
    keyword: Vec<Setting>,
}

/// A part of the definition of a keyword.
#[derive(Debug, Clone, Copy)]
enum Setting {
    Cells(usize),
    Units(usize),
    AtLeast(usize),
    Threshold(f32),
}

impl KeywordFlags {
    /// Returns these options with the settings of the command line.
    pub(in super::super) fn over(&self, mut options: KeywordOptions) -> KeywordOptions {
        for &setting in &self.keyword {
            match setting {
                Setting::Cells(cells) => options.cells = cells,
                Setting::Units(units) => options.units = units,
                Setting::AtLeast(cells) => options.at_least = cells,
                Setting::Threshold(threshold) => options.threshold = threshold,
            }
        }
        options
    }

    /// Refuses the least number of cells, where each cell is looked at by itself.
    pub(in super::super) fn refuse_at_least(&self) -> Result<()> {
        ensure!(
            !self.keyword.iter().any(|setting| matches!(setting, Setting::AtLeast(_))),
            "expected cells, units or threshold with `--keyword`, found at-least, which is about several cells; here, each cell counts alone"
        );
        Ok(())
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some(("cells", number)) => at_least_one(number).map(Setting::Cells),
        Some(("units", number)) => at_least_one(number).map(Setting::Units),
        Some(("at-least", number)) => at_least_one(number).map(Setting::AtLeast),
        Some(("threshold", number)) => {
            let number = number.parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
            number.map(Setting::Threshold).ok_or_else(|| "expected a number of 0 or more".to_owned())
        }
        _ => Err("expected cells=N, units=N, at-least=N or threshold=X".to_owned()),
    }
}

/// Reads an argument that must be a single word.
pub(in super::super) fn one_word(text: &str) -> Result<String> {
    match &words(text)[..] {
        [word] => Ok(word.clone()),
        found => bail!("expected one word, found {} in `{}`", found.len(), console::printable(text)),
    }
}

/// Reads all lines of a file that are not empty; `-` is standard input.
fn lines(path: &Path) -> Result<Vec<String>> {
    let mut lines = inputs::Lines::open(path)?.collect::<Result<Vec<String>, _>>()?;
    lines.retain(|line| !line.trim().is_empty());
    ensure!(!lines.is_empty(), "{}: expected texts, one a line, found none", console::input(path));
    Ok(lines)
}
