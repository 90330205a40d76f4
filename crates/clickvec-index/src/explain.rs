//! Why a title has its scores for a query.

use clickvec::explain::Explainer;
use clickvec_tables::shown::shortened;

use crate::answer::Explanation;
use crate::error::{Result, bad_request};
use crate::finders::finder;
use crate::open::Index;
use crate::part::{ByPart, Part};

impl Index {
    /// Explains why the title with this id has its scores for a query.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) in `id` if there is no such title; [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the index is damaged.
    pub fn explain(&self, query: &str, id: &str) -> Result<Explanation> {
        let document = self.get(id)?;
        let found = || format!("`{}`", shortened(id));
        let document = document.ok_or_else(|| bad_request("id", "the id of a title in the index", found()))?;
        let is_in = |part: &Part| finder(*part).is_in(&self.fusion);
        let score = |part: Part| Ok((part, finder(part).score(self, query, &document.title)?));
        let scores = Part::ALL.into_iter().filter(is_in).map(score).collect::<Result<ByPart<f32>>>()?;
        let vectors = Explainer::new(&self.model.model).explain(query, &document.title);
        let words = self.word_shares(query, &document.title)?;
        Ok(Explanation { document, scores, vectors, words })
    }
}
