//! What can be wrong with vectors, rankers and comparisons.

/// What can be wrong with vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFault {
    /// The numbers do not make whole vectors.
    #[error("expected a multiple of the dimension {dimension} (1 or more), found {values} numbers")]
    Shape {
        /// How many numbers a vector has.
        dimension: usize,
        /// How many numbers there are.
        values: usize,
    },
    /// Positions are 32 bits wide.
    #[error("expected fewer than 2^32 vectors, found {found}; split the collection")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// A vector has a NaN or an infinity.
    #[error("expected finite numbers, found others in vector {position} (counted from 0)")]
    NotFinite {
        /// Which vector.
        position: usize,
    },
    /// A vector that should be normalised is not.
    #[error("expected vectors of length 1 or 0, found another length in vector {position} (counted from 0)")]
    NotUnit {
        /// Which vector.
        position: usize,
    },
    /// A single vector does not fit the table.
    #[error("expected a vector of {expected} numbers, found {found}; was it made by another model?")]
    Dimension {
        /// The table's dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// A single vector has a NaN or an infinity, or its length is beyond an f32.
    #[error("expected a vector of finite numbers and finite length, found another")]
    NoFiniteLength,
    /// A token is empty or has white space, which separates fields in word2vec's forms.
    #[error("expected a token without white space, found `{found}`")]
    Token {
        /// The token, shortened.
        found: String,
    },
    /// More or fewer vectors were written than promised.
    #[error("expected {expected} vectors, found {found}")]
    RowCount {
        /// How many were promised.
        expected: usize,
        /// How many came.
        found: usize,
    },
}

/// What can be wrong with a ranker as it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecFault {
    /// There is nothing before the colon.
    #[error("`{found}`: expected a name such as `bm25`, found none")]
    NoName {
        /// What was given, shortened.
        found: String,
    },
    /// There is no ranker of this name.
    #[error("`{found}`: expected one of {}", known.join(", "))]
    UnknownRanker {
        /// The name, shortened.
        found: String,
        /// Those there are.
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
    /// A value is no finite number.
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
        /// Those it has.
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
    /// A value is no whole number.
    #[error("`{ranker}`: expected a whole number for `{parameter}`, found {found}")]
    NotWhole {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        found: f64,
    },
    /// Every weight is 0, so that all titles would have the same score.
    #[error("`{ranker}`: expected a value above 0 for one of {}, found none", parameters.join(", "))]
    AllZero {
        /// The ranker's name, shortened.
        ranker: String,
        /// The weights.
        parameters: Vec<&'static str>,
    },
}

/// Why a ranker cannot be trained on what it is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnFault {
    /// There are too few titles with a word.
    #[error("expected at least {least} with a word or more among the titles, found {found}")]
    TooFewTitles {
        /// How many it needs.
        least: usize,
        /// How many there are.
        found: usize,
    },
    /// There are too few different texts, of titles and queries, with a word.
    #[error("expected {least} different texts with a frequent word or more, found {found}; lower min-count")]
    TooFewTexts {
        /// How many it needs.
        least: usize,
        /// How many there are.
        found: usize,
    },
    /// There is no clicked pair with a word on both sides.
    #[error("expected clicked pairs to learn from, found none with a word on both sides")]
    NoClicks,
    /// There are not as many words as there should be topics or dimensions.
    #[error("expected at most as many {what} as there are {of}, {most}, found {found}; ask for fewer")]
    TooMany {
        /// What there are too many of: `topics`, `dimensions`.
        what: &'static str,
        /// What bounds them: `words`, `titles`.
        of: &'static str,
        /// How many there can be.
        most: usize,
        /// How many were asked for.
        found: usize,
    },
    /// A file was not named.
    #[error("expected {what}, found none")]
    NoFile {
        /// What the file is.
        what: &'static str,
    },
    /// Every part of it was left out.
    #[error("expected {what}, found none; ask for a part")]
    NoPart {
        /// What asks for a part.
        what: &'static str,
    },
    /// A file has nothing to learn from.
    #[error("{}: expected {what}, found {found}", super::shown(path))]
    BadFile {
        /// The file.
        path: std::path::PathBuf,
        /// What is expected.
        what: &'static str,
        /// What it is instead.
        found: String,
    },
    /// A file of vectors is not what it should be.
    #[error("{}: {fault}", super::vector_file::at(path, *place))]
    Vectors {
        /// The file.
        path: std::path::PathBuf,
        /// Where in it.
        place: super::VectorPlace,
        /// What is wrong.
        fault: super::VectorFileFault,
    },
    /// Files of vectors that were to be compared with each other differ in dimension.
    #[error("expected vectors of {expected} numbers, as the first file has, found {found}; take all from one program")]
    Dimensions {
        /// Numbers of the first vector.
        expected: usize,
        /// Numbers of this one.
        found: usize,
    },
    /// None of the vectors is of a text that is learnt.
    #[error("expected vectors of the texts that are learnt, found none of them among {found}")]
    UnknownTexts {
        /// How many vectors there are.
        found: u64,
    },
    /// Training did not stay finite.
    #[error("the objective became NaN or infinite in step {step}; {hint}")]
    Diverged {
        /// Counted from 1.
        step: u64,
        /// What to do.
        hint: &'static str,
    },
}

/// Why two systems cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingFault {
    /// One has more values than the other.
    #[error("expected as many queries for both systems, found {a} and {b}; evaluate both on the same judgments")]
    Lengths {
        /// How many the first has.
        a: usize,
        /// How many the second has.
        b: usize,
    },
    /// The queries are not the same.
    #[error(
        "expected the same queries for both systems, found `{a}` and `{b}` at place {place}; evaluate both on the same judgments"
    )]
    Queries {
        /// The first system's query id, shortened.
        a: String,
        /// The second's.
        b: String,
        /// Where they differ, counted from 1.
        place: usize,
    },
}

fn known_parameters(known: &[&str]) -> String {
    match known {
        [] => "no parameters".to_owned(),
        known => format!("one of the parameters {}", known.join(", ")),
    }
}
