//! Linking to indexes of one model, which are searched as one where they are.

use std::path::{Component, Path, PathBuf};

use clickvec_tables::files::resolved;
use clickvec_tables::shown::shown;

use crate::build::BuiltIndex;
use crate::check::check_ids;
use crate::confidence::{CONFIDENCE_FILE, Confidence};
use crate::error::{Error, ErrorKind, Result};
use crate::folder::{About, Folder, FolderWriter, MODEL_FILE};
use crate::join::Joinable;
use crate::manifests::{LINKS_FILE, Links, Manifests, absolute, refuse};

/// Writes an index at `path` that links to others and is searched as one. It has a copy of their model and no titles: the indexes stay
/// where they are, and a search finds what was changed in them. Shards of a collection come in the order of their numbers, and each must
/// be there once.
///
/// A search finds what it would in the index that [`crate::join`] makes, unless titles were deleted since the last compaction, or there
/// are so many that their vectors are in lists.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`] if the indexes do not fit together; [`ErrorKind::Setting`] for one that links to others, contains the output or
/// has a path that is not UTF-8; those of [`crate::Index::open`] and [`crate::IndexBuilder::new`].
pub fn link(indexes: &[PathBuf], path: &Path) -> Result<BuiltIndex> {
    let mut folder = FolderWriter::new(path)?;
    let Joinable { indexes: all, order, .. } = Joinable::open(indexes, Ok, None)?;
    let from = absolute(&resolved(folder.path()))?;
    let mut links = Vec::new();
    for &number in &order {
        let index = all[number].path();
        refuse(&Folder::open(index)?)?;
        let real = index.canonicalize().map_err(|source| Error::io(index, "find", source))?;
        if from.starts_with(&real) {
            let error = Error::expected(ErrorKind::Setting, "an output outside the indexes to link to", "one in them");
            return Err(error.help("choose another output").at(path));
        }
        // A link of the file system stays one, since it may lead elsewhere later.
        let to = relative(&absolute(index)?, &from);
        let Some(to) = to.to_str() else {
            let found = format!("`{}`", shown(&to));
            let error = Error::expected(ErrorKind::Setting, "a path in UTF-8, to link to", found);
            return Err(error.help("rename the folder").at(index));
        };
        links.push(to.to_owned());
    }
    check_ids(order.iter().map(|&number| &all[number]))?;
    let (model, field) = (&all[0].model.model, all[0].field().to_owned());
    let titles = all.iter().map(|index| index.facts().titles).sum();
    let without_vector = all.iter().map(|index| index.facts().without_vector).sum();
    let opened: Vec<_> = order.iter().flat_map(|&number| &all[number].segments).collect();
    let segments: Vec<_> = (opened.iter())
        .map(|opened| (&opened.segment.vectors, &opened.segment.titles, opened.alive.as_deref()))
        .collect();
    let confidence = Confidence::measure(&segments, model)?;
    model.save(&folder.file(MODEL_FILE))?;
    folder.part("model", "safetensors", &[MODEL_FILE]);
    folder.json_part("links", LINKS_FILE, &Links { indexes: links })?;
    folder.json_part("confidence", CONFIDENCE_FILE, &confidence)?;
    let (name, dimension) = (model.fingerprint().to_owned(), model.dimension());
    folder.finish(About { model: name.clone(), titles, without_vector, dimension, field })?;
    let fingerprint = Manifests::read(path)?.fingerprint().into_owned();
    Ok(BuiltIndex { titles, without_vector, without_words: 0, dimension, model: name, fingerprint })
}

/// Returns the path of `to` from the folder `from`. Both are absolute.
fn relative(to: &Path, from: &Path) -> PathBuf {
    let common = to.components().zip(from.components()).take_while(|(to, from)| to == from).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_a_folder() {
        for (to, from, expected) in [
            ("/a/1.index", "/a/shop.index", "../1.index"),
            ("/a/parts/1", "/a/shop", "../parts/1"),
            ("/b/1", "/a/c/shop", "../../../b/1"),
        ] {
            assert_eq!(relative(Path::new(to), Path::new(from)), Path::new(expected), "{to} from {from}");
        }
    }
}
