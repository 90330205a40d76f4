//! Indexes of the made-up shop: made, asked, changed, damaged.

mod analysis;
mod answers;
mod building;
mod faults;
mod formats;
mod teacher;
mod trigrams;
mod updates;
mod world;
