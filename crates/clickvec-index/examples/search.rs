//! Searches titles with a model, or an index on disk: `cargo run --example search -- INDEX QUERY`.

use std::path::Path;

use clickvec_index::searcher::{Answer, Searcher};

fn main() -> clickvec::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/index");
    let index = arguments.next().unwrap_or_else(|| frozen.to_owned());
    let query = arguments.next().unwrap_or_else(|| "oak vanity".to_owned());

    // A searcher is owned, and any number of threads can share it, so a service needs only one.
    let searcher = Searcher::open(Path::new(&index))?;
    match searcher.search(&query, 5)? {
        Answer::Found(results) => {
            for found in results {
                println!("{}  {:.3}  {}  {}", found.rank, found.score, found.id, found.title);
            }
        }
        Answer::NoWords => println!("`{query}` has no word"),
        Answer::UnknownWords => println!("the model knows no part of the words of `{query}`"),
    }
    Ok(())
}
