//! Reasons why a table of systems, or a row of it, cannot be made.

use std::path::PathBuf;

use super::Error;

/// A fault in the plan of a table, or in one of its rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// There are no rows.
    #[error("expected at least one system, found none")]
    NoSystem,
    /// The number of folds is out of range.
    #[error("expected 1 to {most} folds, found {found}")]
    Folds {
        /// The largest number possible.
        most: usize,
        /// The number requested.
        found: usize,
    },
    /// The number of seeds is out of range.
    #[error("expected 1 to {most} seeds, found {found}")]
    Seeds {
        /// The most that are possible.
        most: usize,
        /// The number that was asked for.
        found: usize,
    },
    /// There is no collection to search.
    #[error("expected a file of titles for a search of all titles, found none; name the collection")]
    NoTitles,
    /// The collection has none of the judged titles.
    #[error(
        "{}: expected judged titles in the collection, matched by their {by}, found none; is this the collection that was \
         judged?",
        super::shown(path)
    )]
    NothingFound {
        /// The collection.
        path: PathBuf,
        /// Whether ids or texts were compared.
        by: &'static str,
    },
    /// There are more folds than queries, so some would be empty.
    #[error("expected at most {queries} folds, the number of different queries, found {folds}")]
    MoreFoldsThanQueries {
        /// The number of different queries.
        queries: usize,
        /// The number of folds requested.
        folds: usize,
    },
    /// Two rows have the same name.
    #[error("expected each name once, found `{name}` again")]
    Repeated {
        /// The name.
        name: String,
    },
    /// A row cannot be made as requested.
    #[error("system `{name}`: {fault}")]
    Row {
        /// The row's name.
        name: String,
        /// What is wrong.
        fault: Box<Error>,
    },
    /// A row has no parameters to try, or nothing to combine.
    #[error("expected at least one set of parameters, found none")]
    NoPoint,
    /// The points of a row belong to different systems.
    #[error("expected parameters of one system, found those of `{found}` too")]
    OtherSystem {
        /// The other system.
        found: String,
    },
    /// A member of a fusion is not a row above it.
    #[error("expected members to be rows above the fusion, found `{found}`")]
    LaterMember {
        /// The name of the member, or its number, counted from 1, if there is no such row.
        found: String,
    },
    /// A fusion has a member twice.
    #[error("expected each member once, found `{found}` again")]
    RepeatedMember {
        /// The name of the member.
        found: String,
    },
    /// A row that has scores already, or combines those of others, has a column of its own.
    #[error("expected a column of its own only for a row that scores texts, found it for a run or a fusion")]
    FieldOfScores,
    /// A row that is not trained has seeds.
    #[error("expected seeds only for a row that is trained, found them for a file, a run or a fusion")]
    SeedsOfScores,
    /// A ranker has no seed, or is loaded, and is to be trained with several.
    #[error("expected 1 seed for `{system}`, in whose training nothing is random, found {found}")]
    NothingRandom {
        /// The ranker.
        system: &'static str,
        /// The number that was asked for.
        found: usize,
    },
    /// A row has a column of its own, and every row searches all titles.
    #[error("expected column `{expected}` for all rows, since each searches all titles, found `{found}`")]
    FieldsSearched {
        /// The column of the table.
        expected: String,
        /// That of the row.
        found: String,
    },
    /// The judgments differ between the columns of a table.
    #[error(
        "{}: expected the same judged titles in column `{field}` as in `{of_table}`, found {} the query `{query}`; each \
         judged title needs a text in both",
        super::shown(path),
        found_judged(*titles, *found)
    )]
    OtherJudgments {
        /// The judged titles.
        path: PathBuf,
        /// The column of the row.
        field: String,
        /// That of the table.
        of_table: String,
        /// The first query that differs, shortened.
        query: String,
        /// How many judged titles it has in the column of the table.
        titles: usize,
        /// How many it has in the column of the row; as many if their grades or the queries differ.
        found: usize,
    },
    /// A file is a pipe, a device or standard input, which can be read only once.
    #[error(
        "{}: expected a file, since a table reads it more than once, found {}; write what comes from it to a file first",
        super::shown_input(path),
        if *is_device { "a device" } else { "a pipe" }
    )]
    Pipe {
        /// The pipe or the device.
        path: PathBuf,
        /// Whether it is a device.
        is_device: bool,
    },
    /// A file has changed since the table was started.
    #[error(
        "{}: expected it to stay as it is while the table is made, found it changed; make the table again",
        super::shown(path)
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The folder for finished work is one of something else.
    #[error(
        "{}: expected a new folder or that of an earlier table, found one with `{found}` and no file `lock`; name another one",
        super::shown(path)
    )]
    NoCache {
        /// The folder.
        path: PathBuf,
        /// The name of a file in it.
        found: String,
    },
    /// Another process is making a table in the same folder.
    #[error("{}: another process makes a table there; wait for it or name another folder", super::shown(path))]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A model's epoch would be chosen with queries that it is judged on.
    #[error(
        "{}: expected a validation set that is not judged in the table, found {} of it there, the first `{first}`; leave \
         them or the validation set out",
        super::shown(path),
        queries(*found)
    )]
    JudgedValidation {
        /// The validation set.
        path: PathBuf,
        /// The number of its queries that are judged.
        found: usize,
        /// The first of them, shortened.
        first: String,
    },
    /// There is nothing to train a model on.
    #[error("expected clicked pairs to learn from, found none")]
    NoClicks,
    /// The row of a member was left out of the table.
    #[error("its member `{name}` was left out")]
    MissingMember {
        /// The member.
        name: String,
    },
    /// A model cannot be trained on this data.
    #[error("training with `{label}`: {fault}")]
    Training {
        /// The name of the training.
        label: String,
        /// The reason.
        fault: Box<Error>,
    },
}

/// `2 of 3 for`
fn found_judged(titles: usize, found: usize) -> String {
    if titles == found { "other queries or grades from".to_owned() } else { format!("{found} of {titles} for") }
}

fn queries(found: usize) -> String {
    if found == 1 { "1 query".to_owned() } else { format!("{found} queries") }
}
