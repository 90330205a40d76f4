//! A segment: titles with everything that finds them, in a folder that never changes. An index has one and, for each update,
//! another.

pub(crate) mod canaries;
pub(crate) mod complete;
pub(crate) mod fields;
mod ids;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clickvec::index::FlatIndex;
use clickvec_eval::internals::TrigramLists;
use clickvec_tables::shown::shortened;

use crate::answer::Document;
use crate::confidence::Confidence;
use crate::error::{Result, malformed, mismatch};
use crate::folder::{FileEntry, Folder};
use crate::fusion::Fusion;
use crate::parts::teacher::TitleVectors;
use crate::parts::trigrams::{self, Trigrams};
use crate::parts::vectors::Vectors;
use crate::parts::words::Words;
use crate::titles::{Line, TITLES_FILE, TitleLines};
use canaries::Canary;
use fields::Fields;
use ids::Ids;

/// A segment that was opened.
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    /// A description of its files; segments with the same one are the same.
    pub(crate) identity: String,
    pub(crate) files: BTreeMap<String, FileEntry>,
    /// The files on disk when it was opened, by their names.
    on_disk: BTreeMap<String, FileId>,
    pub(crate) titles: TitleLines,
    pub(crate) ids: Ids,
    pub(crate) vectors: Vectors,
    pub(crate) words: Words,
    pub(crate) fields: Fields,
    pub(crate) canaries: Vec<Canary>,
    /// The fusion of the index, in its first segment.
    pub(crate) fusion: Option<Fusion>,
    /// The confidence of the index, in its first segment.
    pub(crate) confidence: Option<Confidence>,
    pub(crate) trigrams: Option<TrigramLists>,
    /// The vectors of its titles by the teacher.
    pub(crate) teacher: Option<TitleVectors>,
}

/// The identity of a file, whatever its name.
#[derive(Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// Returns that of the file at `path`; `None` if there is none, or the system does not tell.
    #[cfg(unix)]
    fn at(path: &Path) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileId { device: metadata.dev(), number: metadata.ino() })
    }

    /// Returns `None`: the system does not tell.
    #[cfg(not(unix))]
    fn at(_: &Path) -> Option<FileId> {
        None
    }
}

impl Segment {
    /// Returns whether a file of `folder` is the very file that this segment was opened from, and not a copy of it.
    pub(crate) fn is_still(&self, folder: &Folder, name: &str) -> bool {
        let opened = self.on_disk.get(name);
        opened.is_some() && opened == FileId::at(&folder.path().join(name)).as_ref()
    }

    /// Describes the files of a folder, without reading them.
    pub(crate) fn identity(folder: &Folder) -> String {
        let of = |part: &&str| folder.parts().get(*part).map(|part| format!("{:?}", part.files));
        ["titles", "vectors", "words", "fusion", "confidence", "trigrams", "teacher"].iter().filter_map(of).collect()
    }

    /// Opens a segment. Its files are mapped, and only small ones are read.
    pub(crate) fn open(folder: &Folder) -> Result<Segment> {
        let titles = TitleLines::open(folder)?;
        let count = titles.len();
        let words = Words::open(folder)?;
        if words.len() != count as u64 {
            let expected = format!("{count} titles, as the manifest says");
            return Err(malformed(&folder.path().join("words"), expected, words.len().to_string()));
        }
        Ok(Segment {
            path: folder.path().to_owned(),
            identity: Segment::identity(folder),
            files: folder.files().map(|(name, file)| (name.clone(), file.clone())).collect(),
            on_disk: (folder.files())
                .filter_map(|(name, _)| Some((name.clone(), FileId::at(&folder.path().join(name))?)))
                .collect(),
            ids: Ids::open(folder, count)?,
            titles,
            vectors: Vectors::open(folder)?,
            words,
            fields: Fields::open(folder, count)?,
            canaries: if folder.has("canaries") { folder.json(canaries::CANARIES_FILE)? } else { Vec::new() },
            fusion: if folder.has("fusion") { Some(Fusion::open(folder)?) } else { None },
            confidence: if folder.has("confidence") { Some(Confidence::open(folder)?) } else { None },
            trigrams: trigrams::open_lists(folder, count)?,
            teacher: TitleVectors::open(folder)?,
        })
    }

    /// Makes a segment of titles and their vectors in memory.
    pub(crate) fn in_memory(titles: TitleLines, vectors: FlatIndex, fusion: Fusion) -> Result<Segment> {
        let vectors = Vectors::in_memory(vectors)?;
        let words = Words::in_memory(titles.texts(), fusion.analysis)?;
        Ok(Segment {
            path: PathBuf::from("the index in memory"),
            identity: String::new(),
            files: BTreeMap::new(),
            on_disk: BTreeMap::new(),
            ids: Ids::new(&titles),
            words,
            fields: Fields::new(&titles),
            canaries: Vec::new(),
            fusion: Some(fusion),
            confidence: None,
            trigrams: None,
            teacher: None,
            vectors,
            titles,
        })
    }

    /// Checks that a segment fits the fusion of its index.
    pub(crate) fn check_fits(&self, fusion: &Fusion) -> Result<()> {
        self.check_trigrams(fusion)?;
        self.check_teacher(fusion)?;
        let (expected, found) = (fusion.analysis, self.words.analysis());
        if expected == found {
            return Ok(());
        }
        let expected = format!("words analysed by `{expected}`, as the fusion says");
        Err(mismatch(&self.path.join("words"), expected, format!("`{found}`")))
    }

    /// Checks that a segment has lists for the trigrams of the fusion, and for no others.
    fn check_trigrams(&self, fusion: &Fusion) -> Result<()> {
        let expected = fusion.trigrams.as_ref().map(|Trigrams(ranker)| ranker.len());
        let found = self.trigrams.as_ref().map(TrigramLists::trigrams);
        if expected == found {
            return Ok(());
        }
        let shown = |count: Option<usize>| count.map_or_else(|| "no".to_owned(), |count| count.to_string());
        let expected = format!("lists for {} trigrams, as in the fusion", shown(expected));
        Err(mismatch(&self.path.join(trigrams::STARTS_FILE), expected, shown(found)))
    }

    /// Checks that a segment has the vectors of the teacher in the fusion, and of no other.
    fn check_teacher(&self, fusion: &Fusion) -> Result<()> {
        let expected = fusion.teacher.as_ref().map(|teacher| teacher.fingerprint());
        let found = self.teacher.as_ref().map(|teacher| teacher.fingerprint.as_str());
        if expected == found {
            return Ok(());
        }
        let shown = |fingerprint: Option<&str>| fingerprint.map_or("none".to_owned(), shortened);
        let expected = format!("vectors of the transformer {}", shown(expected));
        Err(mismatch(&self.path, expected, shown(found)))
    }

    /// Returns the line of a title.
    pub(crate) fn line(&self, position: u32) -> Result<Line<'_>> {
        self.titles.get(position).ok_or_else(|| {
            let expected = format!("title {}, an id, a tab and a title", u64::from(position) + 1);
            let found = match self.titles.bytes(position) {
                Some(line) => format!("`{}`", shortened(String::from_utf8_lossy(line).trim_end())),
                None => "no line there".to_owned(),
            };
            malformed(&self.path.join(TITLES_FILE), expected, found)
        })
    }

    /// Returns a title with its stored fields.
    pub(crate) fn document(&self, position: u32) -> Result<Document> {
        Ok(self.titles.document(self.line(position)?))
    }

    /// Returns the number of titles.
    pub(crate) fn len(&self) -> usize {
        self.titles.len()
    }
}
