//! The option that names the columns of a table of titles.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::tables::{TITLE, Titles, titles_file};
use clickvec_tables::column_names::ColumnNames;

use crate::console;

/// The usual name of the column of ids.
const ID: &str = "id";

/// The names of columns in tables of titles.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TitleColumns {
    /// Columns of --titles that have other names, as in `id=sku,title=name`; may be repeated [default: id=id,title=title].
    #[arg(long, value_name = "COLUMN=NAME,…", value_parser = names)]
    columns: Vec<ColumnNames<Column>>,
}

/// A column of a table of titles.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Id,
    Title,
}

fn names(text: &str) -> Result<ColumnNames<Column>, String> {
    ColumnNames::parse(text, &[(ID, Column::Id), (TITLE, Column::Title)])
}

impl TitleColumns {
    fn name(&self, column: Column) -> Option<&str> {
        ColumnNames::last(&self.columns, column)
    }

    /// Returns the column with the texts that a model encodes: the one that was named, or the one whose texts it learnt from.
    pub(crate) fn field_for(&self, named: Option<&str>, learnt: &str) -> String {
        match (named, self.name(Column::Title)) {
            (Some(named), _) => named.to_owned(),
            (None, Some(_)) => TITLE.to_owned(),
            (None, None) => {
                if learnt != TITLE {
                    console::note(format_args!(
                        "texts come from the column `{}`, which the model learnt from; --field names another",
                        console::printable(learnt)
                    ));
                }
                learnt.to_owned()
            }
        }
    }

    /// Refuses a second name for the texts, where only titles are read: `--field` names a column of all tables, and
    /// `--columns` the one of `--titles` where they call it otherwise.
    pub(crate) fn refuse_field(&self, field: Option<&str>) -> Result<()> {
        if let (Some(field), Some(column)) = (field, self.name(Column::Title)) {
            bail!(
                "expected one name for the column with the texts, found `--field {}` and `--columns title={}`; leave one of the two out",
                console::printable(field),
                console::printable(column)
            );
        }
        Ok(())
    }

    /// Returns whether there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Refuses names of columns if there are no `titles` that could have them.
    pub(crate) fn need(&self, titles: bool) -> Result<()> {
        ensure!(
            titles || self.is_empty(),
            "expected `--titles FILE` with `--columns`, which names its columns, found none; add it, or leave `--columns` out"
        );
        Ok(())
    }

    /// Refuses names that do not fit this file of titles, or this column of texts.
    pub(crate) fn check(&self, path: &Path, field: &str) -> Result<()> {
        if !self.is_empty()
            && let Some(corpus) = corpus_of(path)
        {
            bail!(
                "{}: expected a file of titles with `--columns`, found a BEIR collection; give its `{corpus}` and `--columns id=_id`, \
                 or leave `--columns` out",
                console::path(path)
            );
        }
        ensure!(
            !field.eq_ignore_ascii_case(ID),
            "{}: expected a column of texts, found `--field {}`, under which ids are read; leave it out, or name another",
            console::path(path),
            console::printable(field)
        );
        Ok(())
    }

    /// Returns a file of titles with the names of its columns.
    pub(crate) fn table(&self, path: &Path) -> Titles {
        let name = |column| self.name(column).map(str::to_owned);
        Titles { path: path.to_owned(), id: name(Column::Id), text: name(Column::Title) }
    }

    /// Returns [`TitleColumns::table`] for a file that fits.
    pub(crate) fn checked(&self, path: &Path, field: &str) -> Result<Titles> {
        self.check(path, field)?;
        Ok(self.table(path))
    }
}

/// Returns the name of the file with the titles of a folder that is a BEIR collection.
fn corpus_of(folder: &Path) -> Option<String> {
    let file = titles_file(folder).ok().filter(|_| folder.is_dir())?;
    Some(file.file_name()?.to_string_lossy().into_owned())
}
