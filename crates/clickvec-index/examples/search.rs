//! Searches an index on disk: `cargo run --example search -- INDEX QUERY`.

use std::path::Path;

use clickvec_index::{Index, Mode, Request};

fn main() -> clickvec_index::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/index");
    let index = arguments.next().unwrap_or_else(|| frozen.to_owned());
    let query = arguments.next().unwrap_or_else(|| "oak vanity".to_owned());

    // An index is owned, and any number of threads can share it, so a service needs only one.
    let index = Index::open(Path::new(&index))?;
    let answer = index.search(&Request::new(query, Mode::Fused).with_k(5))?;
    for hit in answer.hits {
        println!("{}  {:.3}  {}  {}", hit.rank, hit.score, hit.id, hit.title);
    }
    Ok(())
}
