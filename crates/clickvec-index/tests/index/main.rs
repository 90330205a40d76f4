//! Indexes of the made-up shop: made, asked, changed, damaged.

mod analysis;
mod answers;
mod building;
mod confidence;
mod faults;
mod formats;
mod links;
mod spelling;
#[path = "../../../clickvec-transformer/tests/tiny/mod.rs"]
mod tiny;
mod transformer;
mod trigrams;
mod updates;
mod world;
