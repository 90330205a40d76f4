//! Joining indexes of one model into one.

use std::path::{Path, PathBuf};

use clickvec::tables::Title;
use clickvec_tables::UniqueIds;
use clickvec_tables::shown::{count, shown};

use crate::build::{BuiltIndex, IndexBuilder};
use crate::check::repeated_id;
use crate::error::{Error, ErrorKind, Result, mismatch};
use crate::fusion::Fusion;
use crate::open::{Index, knowing};
use crate::parts::vectors::VectorFormat;
use crate::request::listed;
use crate::shard::Shard;
use crate::update::finish;

/// Missing shards that a message names.
const SHOWN_SHARDS: usize = 10;

/// Joins indexes of one model into a new one at `path`. It has all their titles, one index after the other, and the same bytes as
/// an index of all titles encoded at once. Shards of a collection come in the order of their numbers, and each must be there
/// once.
///
/// It has the fusion of the indexes, changed by `change`, and without a format theirs.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`] if the indexes do not fit together, or differ in a setting that the caller leaves out; those of
/// [`Index::check`]: a damaged file would come out with a checksum that says it is sound.
pub fn join(
    indexes: &[PathBuf],
    path: &Path,
    change: impl Fn(Fusion) -> Result<Fusion>,
    format: Option<VectorFormat>,
) -> Result<BuiltIndex> {
    let Joinable { indexes: all, order, fusion, format } = Joinable::open(indexes, change, format)?;
    let mut builder =
        IndexBuilder::with_fields(all[0].model(), path, all[0].stored_fields())?.with_field(all[0].field());
    let mut ids = UniqueIds::default();
    for number in order {
        let index = &all[number];
        index.check()?;
        index.for_each_alive(|line, vector| {
            if let Some(other) = ids.add(line.id, number as u64) {
                return Err(repeated_id(index.path(), line.id, all[other as usize].path()));
            }
            let title = Title { id: line.id.to_owned(), title: line.title.to_owned() };
            builder.add_encoded(&title, &line.values().collect::<Vec<_>>(), vector)
        })?;
    }
    finish(builder, all[0].model(), &knowing(&fusion, &all)?, format)
}

/// Indexes that fit together.
pub(crate) struct Joinable {
    pub(crate) indexes: Vec<Index>,
    /// The order of their titles: that of the shards, if they are shards.
    pub(crate) order: Vec<usize>,
    pub(crate) fusion: Fusion,
    pub(crate) format: VectorFormat,
}

impl Joinable {
    /// Opens indexes that have the same model, columns and fusion, changed by `change`, and the same format of vectors unless there is a
    /// new one.
    pub(crate) fn open(
        indexes: &[PathBuf],
        change: impl Fn(Fusion) -> Result<Fusion>,
        format: Option<VectorFormat>,
    ) -> Result<Joinable> {
        let Some(first) = indexes.first() else {
            return Err(Error::expected(ErrorKind::Setting, "indexes to join", "none").help("name at least one"));
        };
        let first = Index::open(first)?;
        let fusion = change(first.fusion.clone())?;
        let common_format = format.unwrap_or(first.vector_format());
        let mut all = vec![first];
        for path in &indexes[1..] {
            all.push(Index::open_after(path, all.first())?);
        }
        for index in &all[1..] {
            check_alike(index, &all[0])?;
            if format.is_none() && index.vector_format() != common_format {
                let expected = format!("vectors as {common_format}, as in `{}`", shown(all[0].path()));
                let error = mismatch(index.path(), expected, index.vector_format().to_string());
                return Err(error.help("join indexes of one form, or choose one"));
            }
            let found = change(index.fusion.clone())?;
            if found != fusion {
                return Err(found.other_than(index.path(), &fusion, all[0].path()));
            }
        }
        let order = order_of_shards(&all)?;
        Ok(Joinable { indexes: all, order, fusion, format: common_format })
    }
}

/// Checks that an index has the model, the column and the stored fields of the first one.
fn check_alike(index: &Index, first: &Index) -> Result<()> {
    let (expected, found) = (first.model().fingerprint(), index.model().fingerprint());
    if found != expected {
        let expected = format!("vectors of the model {expected}, as in the first index to join");
        return Err(mismatch(index.path(), expected, format!("those of {found}")));
    }
    if index.field() != first.field() {
        let expected = format!("texts of the column `{}`, as in the first index to join", first.field());
        let error = mismatch(index.path(), expected, format!("those of `{}`", index.field()));
        return Err(error.help("index the same column in all"));
    }
    if index.stored_fields() != first.stored_fields() {
        let expected = format!("the stored fields ({}), as in the first index to join", listed(first.stored_fields()));
        let error = mismatch(index.path(), expected, format!("({})", listed(index.stored_fields())));
        return Err(error.help("store the same fields in all"));
    }
    Ok(())
}

/// Returns the order in which indexes are joined: shards by their numbers, whatever else there is where it was named.
fn order_of_shards(indexes: &[Index]) -> Result<Vec<usize>> {
    let mut shards: Vec<(Shard, usize)> = Vec::new();
    for (position, index) in indexes.iter().enumerate() {
        let Some(shard) = index.shard() else { continue };
        let Shard { number, of, titles } = shard;
        if let Some(&(first, other)) = shards.first()
            && (first.of, first.titles) != (of, titles)
        {
            let other = shown(indexes[other].path());
            let expected = format!("one of {} shards of {} titles, as `{other}` is", first.of, count(first.titles));
            let error = mismatch(index.path(), expected, format!("one of {of} of {} titles", count(titles)));
            return Err(error.help("join the shards of one collection"));
        }
        if let Some(&(_, other)) = shards.iter().find(|(other, _)| other.number == number) {
            let found = format!("{number} of {of} again, which is in `{}` too", shown(indexes[other].path()));
            return Err(mismatch(index.path(), "each shard once", found).help("leave one out"));
        }
        shards.push((shard, position));
    }
    let mut order: Vec<usize> = (0..indexes.len()).collect();
    let Some(&(Shard { of, .. }, position)) = shards.first() else { return Ok(order) };
    if (shards.len() as u64) < of {
        let has = |number: &u64| shards.iter().any(|(shard, _)| shard.number == *number);
        let missing = (1..=of).filter(|number| !has(number)).take(SHOWN_SHARDS).map(|number| number.to_string());
        let found = format!("none with the number {}", missing.collect::<Vec<_>>().join(", "));
        let expected = format!("all {of} shards of this collection to join");
        return Err(mismatch(indexes[position].path(), expected, found).help("name them too"));
    }
    let positions: Vec<usize> = shards.iter().map(|&(_, position)| position).collect();
    shards.sort_unstable_by_key(|(shard, _)| shard.number);
    for (&position, &(_, next)) in positions.iter().zip(&shards) {
        order[position] = next;
    }
    Ok(order)
}
