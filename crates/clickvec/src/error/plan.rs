//! Why a table of systems, or a row of it, cannot be made.

use std::path::PathBuf;

use super::Error;

/// What can be wrong with a table of systems as it was asked for, or with a row of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// There is no row.
    #[error("expected a system or more, found none")]
    NoSystem,
    /// Too few folds, or too many.
    #[error("expected 1 to {most} folds, found {found}")]
    Folds {
        /// The most.
        most: usize,
        /// How many were asked for.
        found: usize,
    },
    /// Some folds would be empty.
    #[error("expected at most as many folds as different queries, {queries}, found {folds}")]
    MoreFoldsThanQueries {
        /// Different queries.
        queries: usize,
        /// How many folds were asked for.
        folds: usize,
    },
    /// Two rows have one name.
    #[error("expected each name once, found `{name}` again")]
    Repeated {
        /// The name.
        name: String,
    },
    /// A row cannot be made as it was asked for.
    #[error("system `{name}`: {fault}")]
    Row {
        /// Its name.
        name: String,
        /// What is wrong.
        fault: Box<Error>,
    },
    /// A row has no parameters to try, or nothing to combine.
    #[error("expected one set of parameters or more, found none")]
    NoPoint,
    /// The points of a row are of several systems.
    #[error("expected parameters of one system, found `{found}` beside it")]
    OtherSystem {
        /// The other one.
        found: String,
    },
    /// A fusion of rows that are not above it, or of one row twice.
    #[error("expected different rows above it as members, found others")]
    Members,
    /// A file that gives what is in it once only.
    #[error(
        "{}: expected a file, since a table reads it more than once, found a pipe; write it to a file first",
        super::shown(path)
    )]
    Pipe {
        /// The pipe.
        path: PathBuf,
    },
    /// A file is another than it was when the table was begun.
    #[error(
        "{}: expected it to stay as it is while the table is made, found it changed; make the table again",
        super::shown(path)
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Another process makes a table in the same folder.
    #[error("{}: another process makes a table there; wait for it or name another folder", super::shown(path))]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A model's epoch would be chosen by queries that it is judged by.
    #[error(
        "{}: expected a validation set that is not judged in the table, found {} of it there, the first `{first}`; leave \
         them or the validation set out",
        super::shown(path),
        queries(*found)
    )]
    JudgedValidation {
        /// The validation set.
        path: PathBuf,
        /// How many of its queries are judged.
        found: usize,
        /// The first of them, shortened.
        first: String,
    },
    /// There is nothing to train a model on.
    #[error("expected clicked pairs to learn from, found none")]
    NoClicks,
    /// A fusion has a member without a row.
    #[error("its member `{name}` was left out")]
    MissingMember {
        /// The member.
        name: String,
    },
    /// A model cannot be trained on what there is.
    #[error("training with `{label}`: {fault}")]
    Training {
        /// What the training is called.
        label: String,
        /// Why.
        fault: Box<Error>,
    },
}

fn queries(found: usize) -> String {
    if found == 1 { "1 query".to_owned() } else { format!("{found} queries") }
}
