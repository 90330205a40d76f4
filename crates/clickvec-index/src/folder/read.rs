//! Reading the folder of an index. Nothing in it is trusted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use super::{FileEntry, Hashing, MANIFEST, MAX_MANIFEST_BYTES, Manifest, Part, PartKind, parse};
use clickvec::error::{Error, IndexFault, Result};
use clickvec::internals::error::shortened;
use clickvec_tables::files::Found;
use clickvec_tables::memory::room_for;

/// A folder whose manifest has been read.
#[derive(Debug)]
pub(crate) struct Folder<A> {
    path: PathBuf,
    manifest: Manifest<A>,
}

impl<A: DeserializeOwned + Serialize> Folder<A> {
    /// The folder of an index, with its manifest. Fails if the index requires a part that is not in `known`.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] and [`Error::Io`].
    pub(crate) fn open(path: &Path, known: &[PartKind]) -> Result<Folder<A>> {
        let fault = |fault| Error::Index { path: path.to_owned(), fault };
        match Found::at(path).map_err(|source| Error::io(path, "open", source))? {
            Found::Folder => {}
            // Let the operating system say that there is nothing.
            Found::Nothing => {
                return Err(File::open(path)
                    .map_or_else(|source| Error::io(path, "open", source), |_| fault(IndexFault::NoManifest)));
            }
            Found::File(_) | Found::Special => return Err(fault(IndexFault::NotAFolder)),
        }
        let manifest: Manifest<A> = parse(&read_manifest(path)?, known).map_err(fault)?;
        for (name, part) in &manifest.parts {
            let is_known = known.iter().any(|known| known.name == name && known.kind == part.kind);
            if part.required && !is_known {
                let (name, kind) = (shortened(name), shortened(&part.kind));
                return Err(fault(IndexFault::UnknownPart { name, kind }));
            }
        }
        Ok(Folder { path: path.to_owned(), manifest })
    }
}

impl<A> Folder<A> {
    /// What the owner of the parts wrote in the manifest.
    pub(crate) fn about(&self) -> &A {
        &self.manifest.about
    }

    /// The version of clickvec that wrote the index.
    pub(crate) fn version(&self) -> &str {
        &self.manifest.version
    }

    /// A fingerprint of everything in the index.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.manifest.fingerprint
    }

    /// All parts, by name.
    pub(crate) fn parts(&self) -> &BTreeMap<String, Part> {
        &self.manifest.parts
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An [`Error::Index`] about this folder.
    pub(crate) fn fault(&self, fault: IndexFault) -> Error {
        Error::Index { path: self.path.clone(), fault }
    }

    /// The path of a file that exists and has the right length, for a file with a checksum of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] and [`Error::Io`].
    pub(crate) fn file(&self, part: &PartKind, name: &str) -> Result<PathBuf> {
        self.checked(part, name).map(|(path, _)| path)
    }

    /// A reader of a file of `part`. [`FileReader::finish`] checks its checksum.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] and [`Error::Io`].
    pub(crate) fn open_file(&self, part: &PartKind, name: &str) -> Result<FileReader<'_>> {
        let (path, entry) = self.checked(part, name)?;
        self.reader(&path, name, entry)
    }

    /// [`Folder::open_file`] for a file of any part, also of one that is not known.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] and [`Error::Io`].
    pub(crate) fn open_listed<'f>(&'f self, part: &'f Part, name: &str) -> Result<FileReader<'f>> {
        let (path, entry) = self.found(part.files.get(name), name)?;
        self.reader(&path, name, entry)
    }

    fn reader<'f>(&'f self, path: &Path, name: &str, entry: &'f FileEntry) -> Result<FileReader<'f>> {
        let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
        Ok(FileReader { folder: &self.path, name: name.to_owned(), entry, file, hash: Xxh3::new() })
    }

    /// All bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] and [`Error::Io`].
    pub(crate) fn read(&self, part: &PartKind, name: &str) -> Result<Vec<u8>> {
        let mut file = self.open_file(part, name)?;
        room_for("a file of an index", Some(file.len()))?;
        // The file is as long as the manifest says, so this allocates no more than what is there.
        let mut bytes = vec![0; file.len() as usize];
        file.fill(&mut bytes)?;
        file.finish()?;
        Ok(bytes)
    }

    fn checked(&self, part: &PartKind, name: &str) -> Result<(PathBuf, &FileEntry)> {
        self.found(self.parts().get(part.name).and_then(|part| part.files.get(name)), name)
    }

    fn found<'f>(&self, entry: Option<&'f FileEntry>, name: &str) -> Result<(PathBuf, &'f FileEntry)> {
        let entry = entry.ok_or_else(|| self.fault(IndexFault::NotListed { name: name.to_owned() }))?;
        let path = self.path.join(name);
        let found = match Found::at(&path).map_err(|source| Error::io(&path, "open", source))? {
            Found::File(metadata) => metadata.len(),
            _ => return Err(self.fault(IndexFault::MissingFile { name: name.to_owned() })),
        };
        if found != entry.bytes {
            return Err(self.fault(IndexFault::Length { name: name.to_owned(), expected: entry.bytes, found }));
        }
        Ok((path, entry))
    }
}

pub(super) fn read_manifest(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(MANIFEST);
    let fault = |fault| Error::Index { path: folder.to_owned(), fault };
    match Found::at(&path).map_err(|source| Error::io(&path, "open", source))? {
        Found::File(_) => {}
        _ => return Err(fault(IndexFault::NoManifest)),
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(|source| Error::io(&path, "open", source))?;
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).map_err(|source| Error::io(&path, "read", source))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(fault(IndexFault::ManifestTooLarge { limit: MAX_MANIFEST_BYTES, found: bytes.len() as u64 }));
    }
    Ok(bytes)
}

/// A reader of a file in an index, which hashes what it reads.
pub(crate) struct FileReader<'a> {
    folder: &'a Path,
    name: String,
    entry: &'a FileEntry,
    file: File,
    hash: Xxh3,
}

impl FileReader<'_> {
    /// The length of the file, as the manifest says.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
    pub(crate) fn len(&self) -> u64 {
        self.entry.bytes
    }

    /// Reads the next bytes and fills `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let path = self.folder.join(&self.name);
        self.file.read_exact(bytes).map_err(|source| Error::io(&path, "read", source))?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads the rest of the file and compares the checksum.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Index`] with [`IndexFault::Checksum`].
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = self.folder.join(&self.name);
        let mut rest = Hashing { inner: io::sink(), hash: self.hash, bytes: 0 };
        io::copy(&mut self.file, &mut rest).map_err(|source| Error::io(&path, "read", source))?;
        let found = rest.checksum();
        if found == self.entry.xxh3 {
            return Ok(());
        }
        let fault = IndexFault::Checksum { name: self.name, expected: shortened(&self.entry.xxh3), found };
        Err(Error::Index { path: self.folder.to_owned(), fault })
    }
}
