//! The manifests of an index on disk. One of links has no titles, but the paths of indexes that are searched as one where they are.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clickvec_tables::files::folder_of;
use clickvec_tables::shown::shown;
use serde::{Deserialize, Serialize};

use crate::changes::Changes;
use crate::error::{Error, ErrorKind, Result, malformed, mismatch};
use crate::folder::{Folder, MANIFEST, fingerprint};
use crate::request::listed;
use crate::segment::Segment;

/// The file of the links.
pub(crate) const LINKS_FILE: &str = "links.json";
const LINK_ANEW: &str = "link the indexes anew";

/// The indexes that an index links to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Links {
    /// Their paths from the folder that has this file.
    pub(crate) indexes: Vec<String>,
}

/// The manifests of an index on disk: its own, and those of the indexes that it links to.
pub(crate) struct Manifests {
    pub(crate) own: Folder,
    linked: Option<Vec<Folder>>,
}

impl Manifests {
    /// Reads the manifests of the index at `path`.
    pub(crate) fn read(path: &Path) -> Result<Manifests> {
        let mut own = Folder::open(path)?;
        loop {
            let error = match Manifests::follow(&own) {
                Ok(linked) => return Ok(Manifests { own, linked }),
                Err(error) => error,
            };
            // If it was replaced meanwhile, its files did not fit.
            let now = Folder::open(path)?;
            if now.fingerprint() == own.fingerprint() {
                return Err(error);
            }
            own = now;
        }
    }

    /// Reads the manifests of the indexes that one links to; `None` if it has titles of its own.
    fn follow(own: &Folder) -> Result<Option<Vec<Folder>>> {
        if !own.has("links") {
            return Ok(None);
        }
        let Links { indexes } = own.json(LINKS_FILE)?;
        if indexes.is_empty() {
            return Err(malformed(&own.path().join(LINKS_FILE), "at least one index to link to", "none"));
        }
        let open = |index: &String| {
            let index = own.path().join(index);
            // For people: without the way through the folder of the links.
            let folder = Folder::open(&absolute(&index).unwrap_or(index))
                .map_err(|error| error.help(format!("`{}` links to it; {LINK_ANEW}", shown(own.path()))))?;
            if folder.has("links") {
                let error = mismatch(folder.path(), "an index with titles of its own", "one that links to others");
                return Err(error.help(LINK_ANEW));
            }
            Ok(folder)
        };
        indexes.iter().map(open).collect::<Result<Vec<Folder>>>().map(Some)
    }

    /// Returns the manifests of the indexes that have the titles: its own, or those that it links to. There is at least one.
    pub(crate) fn indexes(&self) -> &[Folder] {
        self.linked.as_deref().unwrap_or(std::slice::from_ref(&self.own))
    }

    /// Returns whether it links to other indexes.
    pub(crate) fn is_linked(&self) -> bool {
        self.linked.is_some()
    }

    /// Checks that an index has what this one expects of those that it links to: its model and column, and the stored fields and the
    /// format of vectors of the first. `segment` and `first` are the first segments of both.
    pub(crate) fn check_link(&self, index: &Folder, segment: &Segment, first: &Segment) -> Result<()> {
        let [expected, found] = [(&self.own, first), (index, segment)].map(|(folder, segment)| {
            [
                format!("the model {}", folder.about().model),
                format!("titles from the column `{}`", folder.about().field),
                format!("the stored fields ({})", listed(segment.titles.fields())),
                format!("vectors as {}", segment.vectors.format),
            ]
        });
        match expected.into_iter().zip(found).find(|(expected, found)| expected != found) {
            None => Ok(()),
            Some((expected, found)) => {
                let expected = format!("{expected}, as `{}` links to", shown(self.own.path()));
                Err(mismatch(index.path(), expected, found).help(LINK_ANEW))
            }
        }
    }

    /// Returns the paths of the indexes that it links to.
    pub(crate) fn links(&self) -> Vec<PathBuf> {
        self.linked.iter().flatten().map(|folder| folder.path().to_owned()).collect()
    }

    /// Returns a fingerprint of everything in the index, and in those that it links to.
    pub(crate) fn fingerprint(&self) -> Cow<'_, str> {
        let Some(linked) = &self.linked else { return self.own.fingerprint().into() };
        let all: Vec<&str> = std::iter::once(&self.own).chain(linked).map(Folder::fingerprint).collect();
        fingerprint(&all).into()
    }

    /// Returns the folders of all segments, in the order of their titles.
    pub(crate) fn into_segments(self) -> Result<Vec<Folder>> {
        let mut segments = Vec::new();
        for index in self.linked.unwrap_or_else(|| vec![self.own]) {
            let added = Changes::read(&index)?.folders(&index)?;
            segments.push(index);
            segments.extend(added);
        }
        Ok(segments)
    }
}

/// Refuses an index that links to others, where one with titles of its own is needed.
pub(crate) fn refuse(folder: &Folder) -> Result<()> {
    if !folder.has("links") {
        return Ok(());
    }
    let error = Error::expected(ErrorKind::Setting, "an index with titles of its own", "one that links to others");
    Err(error.help("name those that it links to").at(folder.path()))
}

/// Returns the files of an index that change when it does: its manifest, and those of the indexes that it links to.
pub fn manifests(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.join(MANIFEST)];
    if path.join(LINKS_FILE).is_file()
        && let Ok(Links { indexes }) = Folder::open(path).and_then(|folder| folder.json(LINKS_FILE))
    {
        files.extend(indexes.iter().map(|index| path.join(index).join(MANIFEST)));
    }
    files
}

/// Returns the absolute path of a folder that may not be there yet. What leads to it has no links of the file system.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    let failed = |source| Error::io(path, "find", source);
    match path.file_name() {
        Some(name) => Ok(folder_of(path).canonicalize().map_err(failed)?.join(name)),
        None => path.canonicalize().map_err(failed),
    }
}
