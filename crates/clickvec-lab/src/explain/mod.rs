//! Figures and tables of the papers: what cells collect, a word in different contexts, neighbours, tests of claims about
//! keywords, and the queries on which a model is worst.

mod claims;
mod context;
mod errors;
mod neighbours;
mod quantity;
mod topics;

pub use claims::{Contrast, KeywordClaims, keyword_claims};
pub use context::{Context, contexts};
pub use errors::{Difficulty, Outcome, outcomes};
pub use neighbours::{Neighbour, Neighbours, Space};
pub use quantity::{Quantity, quantities};
pub use topics::{CellTopic, CellWord, QueryTopics, Topics};
