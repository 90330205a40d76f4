//! What the program and its Python package do with files alike: nothing here prints or reads a command line.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`evaluate`] | reads what systems are judged by, and writes the folder of an evaluation |
//! | [`export`] | writes an index in the form that another system loads |
//! | [`inspect`] | finds out what files are and what is wrong with them |
//! | [`judge`] | lets a person find out which of two systems finds better titles |
//! | [`update`] | replaces a model when clicks show that a new one is better |
//! | [`systems`] | a system by its file, or a ranker by its text |
//! | [`inputs`], [`header`], [`queries`], [`test_set`] | what several of these read, with notes of what it lacks |
//!
//! Each tells a [`Watcher`] what it leaves out and how far it is.

pub mod evaluate;
pub mod export;
pub mod header;
pub mod inputs;
pub mod inspect;
#[cfg(feature = "serve")]
pub mod judge;
pub mod queries;
pub mod systems;
pub mod test_set;
pub mod update;
pub mod vectors_parquet;
mod watcher;

pub use watcher::Watcher;
