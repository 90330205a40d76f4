//! How many texts have a vector in a table of vectors.

use super::Ranker;
use clickvec::model::Side;
use clickvec_tables::Result;
use clickvec_tables::{Error, ErrorKind};

/// The texts that a table of vectors lacks. Their scores are 0 with anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorCoverage {
    /// Queries without a vector.
    pub lacking_queries: u64,
    /// All queries.
    pub queries: u64,
    /// Titles without a vector.
    pub lacking_titles: u64,
    /// All titles.
    pub titles: u64,
}

impl VectorCoverage {
    /// The texts among these that a ranker lacks; `None` if it is not a table of vectors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Empty`] if no query or no title has a vector: its scores would be those of a random order.
    pub fn count<'t>(
        ranker: &dyn Ranker,
        queries: impl Iterator<Item = &'t str>,
        titles: impl Iterator<Item = &'t str>,
    ) -> Result<Option<VectorCoverage>> {
        let Some((lacking_queries, queries)) = count(ranker, queries, Side::Query) else { return Ok(None) };
        let Some((lacking_titles, titles)) = count(ranker, titles, Side::Title) else { return Ok(None) };
        for (what, lacking, all) in [("queries", lacking_queries, queries), ("titles", lacking_titles, titles)] {
            if lacking == all && all > 0 {
                let found = format!("none for its {all} {what}");
                let ridge = match what {
                    "queries" => "; with titles' vectors alone, `ridge=0.3` gives queries theirs",
                    _ => "",
                };
                return Err(Error::expected(ErrorKind::Empty, "vectors for the texts of the test set", found)
                    .help(format!("is it the file of these texts?{ridge}"))
                    .within("vectors"));
            }
        }
        Ok(Some(VectorCoverage { lacking_queries, queries, lacking_titles, titles }))
    }
}

/// The texts without a vector, and all texts; `None` if there is no table of vectors, or no text.
fn count<'t>(ranker: &dyn Ranker, texts: impl Iterator<Item = &'t str>, side: Side) -> Option<(u64, u64)> {
    let (mut all, mut lacking) = (0, 0);
    for text in texts {
        all += 1;
        lacking += u64::from(!ranker.has_vector(text, side)?);
    }
    Some((lacking, all))
}
