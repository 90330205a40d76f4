//! The program `clickvec`.
fn main() {}
