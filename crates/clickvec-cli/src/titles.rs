//! The options that name the columns of a table of titles.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::tables::{TITLE, Titles, titles_file};

use crate::output;

/// The usual name of the column of ids.
const ID: &str = "id";

/// The names of columns in tables of titles.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TitleColumns {
    /// The column of --titles with the ids [default: id].
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// The column of --titles with the texts [default: title, or what --field says].
    #[arg(long, value_name = "NAME")]
    title_column: Option<String>,
}

/// Returns the option `--title-column` of a command without `--field`.
pub(crate) fn without_field(option: clap::Arg) -> clap::Arg {
    option.help("The column of --titles with the texts [default: title]")
}

impl TitleColumns {
    /// Returns the column with the texts that a model encodes: the one that was named, or the one whose texts it learnt from.
    pub(crate) fn field_for(&self, named: Option<&str>, learnt: &str) -> String {
        match (named, &self.title_column) {
            (Some(named), _) => named.to_owned(),
            (None, Some(_)) => TITLE.to_owned(),
            (None, None) => {
                if learnt != TITLE {
                    output::note(format_args!(
                        "texts come from the column `{}`, which the model learnt from; --field names another",
                        output::printable(learnt)
                    ));
                }
                learnt.to_owned()
            }
        }
    }

    /// Refuses a second name for the texts, where only titles are read: `--field` names a column of all tables, and
    /// `--title-column` the one of `--titles` where they call it otherwise.
    pub(crate) fn refuse_field(&self, field: Option<&str>) -> Result<()> {
        if let (Some(field), Some(column)) = (field, &self.title_column) {
            bail!(
                "expected one name for the column with the texts, found `--field {}` and `--title-column {}`; leave one of the two out",
                output::printable(field),
                output::printable(column)
            );
        }
        Ok(())
    }

    /// Returns the first option that names a column.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [("--id-column", &self.id_column), ("--title-column", &self.title_column)];
        options.into_iter().find_map(|(flag, name)| name.is_some().then_some(flag))
    }

    /// Refuses names of columns if there are no `titles` that could have them.
    pub(crate) fn need(&self, titles: bool) -> Result<()> {
        match self.given() {
            Some(flag) if !titles => bail!(
                "expected `--titles FILE` with `{flag}`, which names one of its columns, found none; add it, or leave `{flag}` out"
            ),
            _ => Ok(()),
        }
    }

    /// Refuses names that do not fit this file of titles, or this column of texts.
    pub(crate) fn check(&self, path: &Path, field: &str) -> Result<()> {
        if let (Some(flag), Some(corpus)) = (self.given(), corpus_of(path)) {
            bail!(
                "{}: expected a file of titles with `{flag}`, found a BEIR collection; give its `{corpus}` and `--id-column _id`, or \
                 leave `{flag}` out",
                output::path(path)
            );
        }
        ensure!(
            !field.eq_ignore_ascii_case(ID),
            "{}: expected a column of texts, found `--field {}`, under which ids are read; leave it out, or name another",
            output::path(path),
            output::printable(field)
        );
        Ok(())
    }

    /// Returns a file of titles with the names of its columns.
    pub(crate) fn of(&self, path: &Path) -> Titles {
        Titles { path: path.to_owned(), id: self.id_column.clone(), text: self.title_column.clone() }
    }

    /// Returns [`TitleColumns::of`] a file that it was checked for.
    pub(crate) fn checked(&self, path: &Path, field: &str) -> Result<Titles> {
        self.check(path, field)?;
        Ok(self.of(path))
    }
}

/// Returns the name of the file with the titles of a folder that is a BEIR collection.
fn corpus_of(folder: &Path) -> Option<String> {
    let file = titles_file(folder).ok().filter(|_| folder.is_dir())?;
    Some(file.file_name()?.to_string_lossy().into_owned())
}
