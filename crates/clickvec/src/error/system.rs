//! Faults of vectors, rankers and comparisons.

use std::path::PathBuf;

/// A fault of vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFault {
    /// The numbers do not make whole vectors.
    #[error("expected a multiple of the dimension {dimension} (1 or more), found {values} numbers")]
    Shape {
        /// The number of values in a vector.
        dimension: usize,
        /// The number of values found.
        values: usize,
    },
    /// There are more vectors than 32-bit positions.
    #[error("expected fewer than 2^32 vectors, found {found}; split the collection")]
    TooMany {
        /// The number of vectors.
        found: usize,
    },
    /// A vector has a NaN or an infinity.
    #[error("expected finite numbers, found {found} in vector {position} (counted from 0)")]
    NotFinite {
        /// The position of the vector.
        position: usize,
        /// The number.
        found: String,
    },
    /// A vector should be normalised and is not.
    #[error("expected vectors of length 1 or 0, found length {found} in vector {position} (counted from 0)")]
    NotUnit {
        /// The position of the vector.
        position: usize,
        /// The length.
        found: String,
    },
    /// A vector has another dimension than the table.
    #[error("expected a vector of {expected} numbers, found {found}; was it made by another model?")]
    Dimension {
        /// The table's dimension.
        expected: usize,
        /// The vector's dimension.
        found: usize,
    },
    /// A single vector has a NaN or an infinity.
    #[error("expected a vector of finite numbers, found {found} in it")]
    BadNumber {
        /// The number.
        found: String,
    },
    /// A query's vector is so long that scores with it would exceed an f32.
    #[error("expected a vector of a length below {most:e}, found {found}; divide its numbers by one number", most = f32::MAX / 2.0)]
    TooLong {
        /// The length.
        found: String,
    },
    /// A token is empty or has white space, which separates fields in the formats of word2vec.
    #[error("expected a token without white space, found `{found}`")]
    Token {
        /// The token, shortened.
        found: String,
    },
    /// More or fewer vectors were written than announced.
    #[error("expected {expected} vectors, found {found}")]
    RowCount {
        /// The number that was announced.
        expected: usize,
        /// The number that was written.
        found: usize,
    },
}

/// Returns the first of the numbers that is not finite, as text.
pub fn not_finite(numbers: &[f32]) -> Option<String> {
    numbers.iter().find(|number| !number.is_finite()).map(f32::to_string)
}

/// A fault in the description of a ranker.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecFault {
    /// There is no name before the colon.
    #[error("`{found}`: expected a name such as `bm25`, found none")]
    NoName {
        /// The description, shortened.
        found: String,
    },
    /// No ranker has this name.
    #[error("`{found}`: expected one of {}", known.join(", "))]
    UnknownRanker {
        /// The name, shortened.
        found: String,
        /// The names of all rankers.
        known: Vec<&'static str>,
    },
    /// A parameter is not `name=value`.
    #[error("`{ranker}`: expected parameters as `name=value,name=value`, found `{found}`")]
    NotAssigned {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        found: String,
    },
    /// A value is not a finite number.
    #[error("`{ranker}`: expected a number for `{parameter}`, found `{found}`")]
    NotNumber {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// The value, shortened.
        found: String,
    },
    /// A parameter is given twice.
    #[error("`{ranker}`: expected each parameter once, found `{parameter}` again")]
    Repeated {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
    },
    /// The ranker has no such parameter.
    #[error("`{ranker}`: expected {}, found `{parameter}`", known_parameters(known))]
    UnknownParameter {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A value is outside its range.
    #[error("`{ranker}`: expected {least} to {most} for `{parameter}`, found {found}")]
    OutOfRange {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The smallest allowed value.
        least: f64,
        /// The largest.
        most: f64,
        /// The value.
        found: f64,
    },
    /// A value is not a whole number.
    #[error("`{ranker}`: expected a whole number for `{parameter}`, found {found}")]
    NotWhole {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        found: f64,
    },
    /// Every weight is 0, so all titles would have the same score.
    #[error("`{ranker}`: expected a value above 0 for one of {}, found none", parameters.join(", "))]
    AllZero {
        /// The ranker's name, shortened.
        ranker: String,
        /// The weights.
        parameters: Vec<&'static str>,
    },
}

/// A reason why a ranker cannot be trained on this data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnFault {
    /// A teacher's scores are of no two titles of a query of the log, or all alike.
    #[error(
        "expected scores of two titles or more of the same query of the log that differ, found none among {found} scores, \
         {known} of them of a query and a title of the log{}",
        first_broken(*broken, first)
    )]
    NoMargins {
        /// The scores that were read.
        found: u64,
        /// Those of pairs of the log.
        known: u64,
        /// The lines that were none.
        broken: u64,
        /// The first of them: its file, its line and what was wrong with it.
        first: Option<(PathBuf, u64, String)>,
    },
    /// A score in memory is not a finite number.
    #[error("score {number}: expected a finite number, found {found}")]
    BadScore {
        /// Its number, counted from 1.
        number: u64,
        /// What was found.
        found: f32,
    },
    /// A table of vectors has none of the texts that are judged.
    #[error(
        "expected vectors for the texts of the test set, found none for its {of} {what}; is it the file of these texts?{}",
        if *what == "queries" { " With titles' vectors alone, `vectors:ridge=0.3` gives queries theirs" } else { "" }
    )]
    NoVector {
        /// The texts: `queries` or `titles`.
        what: &'static str,
        /// Their number.
        of: u64,
    },
    /// A file has vectors of too few of the titles to fit others to them.
    #[error(
        "expected vectors of at least {least} of the {of} titles as whole texts to fit others to, found {found}; give the file of \
         these titles' vectors, or leave out `ridge`"
    )]
    NoKnownTitle {
        /// The number that is needed.
        least: usize,
        /// The number of titles that have one.
        found: usize,
        /// The titles of the collection.
        of: usize,
    },
    /// A file was not named.
    #[error("expected a file of vectors that another program trained, found none")]
    NoFile,
    /// More files of vectors than sides of a pair.
    #[error("expected one file of vectors, or one of queries and one of titles, found {found}")]
    VectorFiles {
        /// The number of files.
        found: usize,
    },
    /// Files of vectors for the same texts differ in dimension.
    #[error(
        "expected vectors of {expected} numbers, as the first file has, found {found}; make them all with one program"
    )]
    Dimensions {
        /// The dimension of the first vector.
        expected: usize,
        /// The dimension of this vector.
        found: usize,
    },
    /// None of the vectors belongs to a text of the training data.
    #[error("expected vectors of texts in the training data, found none among the {found} given")]
    UnknownTexts {
        /// The number of vectors.
        found: u64,
    },
}

/// A reason why two systems cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingFault {
    /// The systems were judged on different numbers of queries.
    #[error("expected as many queries for both systems, found {a} and {b}; evaluate both on the same judgments")]
    Lengths {
        /// The number of queries of the first system.
        a: usize,
        /// The number of queries of the second system.
        b: usize,
    },
    /// The systems were judged on different queries.
    #[error(
        "expected the same queries for both systems, found `{a}` and `{b}` at place {place}; evaluate both on the same judgments"
    )]
    Queries {
        /// The first system's query id, shortened.
        a: String,
        /// The second system's query id, shortened.
        b: String,
        /// The place where they differ, counted from 1.
        place: usize,
    },
}

fn known_parameters(known: &[&str]) -> String {
    match known {
        [] => "no parameters".to_owned(),
        known => format!("one of the parameters {}", known.join(", ")),
    }
}

/// Returns the end of a message about `broken` lines; nothing if there are none.
fn first_broken(broken: u64, first: &Option<(PathBuf, u64, String)>) -> String {
    match first {
        Some((path, line, reason)) => {
            format!("; broken lines are not among them: {broken}, the first {}:{line}: {reason}", path.display())
        }
        None => String::new(),
    }
}
