//! What researchers come for, next to clickvec: the papers' other systems, tables of many systems compared by cross validation,
//! click logs with known truth, and the figures of the papers about what a model's cells and windows do.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`systems`] | language models, LSA, topic and translation models, Markov random fields, LCE, Doc2Vec, Skip-Thought |
//! | [`table`] | many systems compared by cross validation |
//! | [`simulate`] | click logs with known truth |
//! | [`explain`] | topics of cells, words in contexts, neighbours, the papers' claims about keywords, worst queries |

pub mod explain;
pub mod simulate;
pub mod systems;
pub mod table;

pub use systems::SYSTEMS;
