//! Figures and tables of the papers: what cells collect, a word in different contexts, neighbours, tests of claims about
//! keywords, and the queries on which a model is worst.

mod claims;
mod context;
mod errors;
mod neighbours;
mod quantity;
mod topics;

pub use claims::{Contrast, KeywordClaims, keyword_claims};
pub use context::{Context, context_report, contexts};
pub use errors::{Difficulty, GradedTitle, Misspelt, Outcome, error_report, outcomes};
pub use neighbours::{Near, Neighbour, Neighbours, Space, neighbour_report};
pub use quantity::{Quantity, quantities};
pub use topics::{CellTopic, CellWord, Collected, QueryTopics, Topics};
