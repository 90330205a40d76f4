//! How many texts have a vector in the files of `--vectors`.

use anyhow::{Result, ensure};
use clickvec::model::Side;
use clickvec::ranker::Ranker;

use crate::output;

/// Says how many of the texts have no vector, if the ranker is a table of vectors. An error if no query or no title has one:
/// its scores would be those of a random order.
pub(super) fn say<'t>(
    name: &str,
    ranker: &dyn Ranker,
    queries: impl Iterator<Item = &'t str>,
    titles: impl Iterator<Item = &'t str>,
) -> Result<()> {
    let mut lacking = Vec::new();
    let name = output::printable(name);
    let sides: [(&str, Side, &mut dyn Iterator<Item = &'t str>); 2] =
        [("query", Side::Query, &mut { queries }), ("title", Side::Title, &mut { titles })];
    for (what, side, texts) in sides {
        let (mut all, mut without) = (0u64, 0u64);
        for text in texts {
            let Some(has) = ranker.has_vector(text, side) else { return Ok(()) };
            all += 1;
            without += u64::from(!has);
        }
        let is_covered = without < all || all == 0;
        let all = output::counted(all, what);
        ensure!(
            is_covered,
            "{name}: expected vectors for the texts of the test set, found none for {all}; is it the file of these texts?"
        );
        if without > 0 {
            lacking.push(format!("{} of {all}", output::count(without)));
        }
    }
    if !lacking.is_empty() {
        output::note(format_args!("{name}: has no vector for {}, which score 0", lacking.join(" and ")));
    }
    Ok(())
}
