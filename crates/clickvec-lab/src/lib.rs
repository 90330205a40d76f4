//! Research next to clickvec: the papers' other systems, tables of many systems compared by cross validation, click logs with
//! known truth, and the papers' figures about a model's cells and windows.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`systems`] | language models, LSA, topic and translation models, Markov random fields, LCE, Doc2Vec, Skip-Thought |
//! | [`table`] | many systems compared by cross validation |
//! | [`simulate`] | click logs with known truth |
//! | [`demo`] | a tour on an invented search engine |
//! | [`explain`] | topics of cells, words in contexts, neighbours, the papers' claims about keywords, worst queries |

pub mod demo;
pub mod explain;
pub mod simulate;
pub mod systems;
pub mod table;

pub use systems::{COMMON, SYSTEMS};
