//! An index as a folder of files: what is in them is others' business, that they are whole is this file's.
//!
//! `manifest.json` names every other file with its length and checksum, and says in `about` whatever the files' owner
//! wants to be told before they are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, IndexFault, Result, said, shortened};
use crate::files::{self, Claim, Found};
use crate::memory::room_for;

/// The version of the form of an index; `format` in the manifest.
const FORMAT: u32 = 1;
const KIND: &str = "index";
const MANIFEST: &str = "manifest.json";
/// A manifest has a few hundred bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
/// Large enough that system calls vanish beside writing.
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Manifest<A> {
    format: u32,
    kind: String,
    /// Of `contents`.
    fingerprint: String,
    contents: Contents<A>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents<A> {
    /// The version of clickvec that wrote it.
    version: String,
    about: A,
    files: BTreeMap<String, Part>,
}

/// What a manifest says of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) bytes: u64,
    /// XXH3 of the file, 128 bits in hexadecimal.
    pub(crate) xxh3: String,
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    kind: String,
}

/// A folder whose manifest was read.
#[derive(Debug)]
pub(crate) struct Folder<A> {
    path: PathBuf,
    manifest: Manifest<A>,
}

/// Reads an index through `load`. If the index is replaced meanwhile, so that the files do not fit the manifest that was
/// read before, it is read again.
pub(crate) fn read<A: DeserializeOwned + Serialize, T>(
    path: &Path,
    load: impl Fn(&Folder<A>) -> Result<T>,
) -> Result<T> {
    let mut folder = Folder::open(path)?;
    loop {
        let error = match load(&folder) {
            Ok(loaded) => return Ok(loaded),
            Err(error) => error,
        };
        match Folder::open(path) {
            Ok(now) if now.manifest.fingerprint != folder.manifest.fingerprint => folder = now,
            _ => return Err(error),
        }
    }
}

impl<A: DeserializeOwned + Serialize> Folder<A> {
    fn open(path: &Path) -> Result<Folder<A>> {
        let fault = |fault| Error::Index { path: path.to_owned(), fault };
        match Found::at(path).map_err(|source| Error::io(path, "open", source))? {
            Found::Folder => {}
            Found::Nothing => return Err(Error::io(path, "open", io::ErrorKind::NotFound.into())),
            Found::File(_) | Found::Special => return Err(fault(IndexFault::NotAFolder)),
        }
        let manifest = parse(&read_manifest(path)?).map_err(fault)?;
        Ok(Folder { path: path.to_owned(), manifest })
    }
}

impl<A> Folder<A> {
    /// What the owner of the files wrote of them.
    pub(crate) fn about(&self) -> &A {
        &self.manifest.contents.about
    }

    /// The version of clickvec that wrote it.
    pub(crate) fn version(&self) -> &str {
        &self.manifest.contents.version
    }

    /// Of all there is in it.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.manifest.fingerprint
    }

    /// All files but the manifest.
    pub(crate) fn files(&self) -> &BTreeMap<String, Part> {
        &self.manifest.contents.files
    }

    /// An [`Error::Index`] about this folder.
    pub(crate) fn fault(&self, fault: IndexFault) -> Error {
        Error::Index { path: self.path.clone(), fault }
    }

    /// Where a file lies that is there and has the right length; for one that vouches for its bytes itself.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf> {
        self.checked(name).map(|(path, _)| path)
    }

    /// Opens a file; its checksum is checked by [`PartReader::finish`].
    pub(crate) fn open_part(&self, name: &str) -> Result<PartReader<'_>> {
        let (path, part) = self.checked(name)?;
        let file = File::open(&path).map_err(|source| Error::io(&path, "open", source))?;
        Ok(PartReader { folder: &self.path, name: name.to_owned(), part, file, hash: Xxh3::new() })
    }

    /// All bytes of a file.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let mut part = self.open_part(name)?;
        room_for("a file of an index", Some(part.len()))?;
        // The file is as long as the manifest says: memory is asked for what is there.
        let mut bytes = vec![0; part.len() as usize];
        part.fill(&mut bytes)?;
        part.finish()?;
        Ok(bytes)
    }

    fn checked(&self, name: &str) -> Result<(PathBuf, &Part)> {
        let part = self.files().get(name);
        let part = part.ok_or_else(|| self.fault(IndexFault::NotListed { name: name.to_owned() }))?;
        let path = self.path.join(name);
        let found = match Found::at(&path).map_err(|source| Error::io(&path, "open", source))? {
            Found::File(metadata) => metadata.len(),
            _ => return Err(self.fault(IndexFault::MissingFile { name: name.to_owned() })),
        };
        if found != part.bytes {
            return Err(self.fault(IndexFault::Length { name: name.to_owned(), expected: part.bytes, found }));
        }
        Ok((path, part))
    }
}

fn read_manifest(folder: &Path) -> Result<Vec<u8>> {
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
        return Err(fault(IndexFault::ManifestTooLarge { limit: MAX_MANIFEST_BYTES }));
    }
    Ok(bytes)
}

fn parse<A: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Manifest<A>, IndexFault> {
    let bad = |error: serde_json::Error| IndexFault::BadManifest { found: said(&error) };
    let head: Head = serde_json::from_slice(bytes).map_err(bad)?;
    if head.kind != KIND {
        return Err(IndexFault::Kind { found: shortened(&head.kind) });
    }
    if head.format != FORMAT {
        return Err(IndexFault::Version { expected: FORMAT, found: head.format });
    }
    let manifest: Manifest<A> = serde_json::from_slice(bytes).map_err(bad)?;
    let found = fingerprint(&manifest.contents);
    if found != manifest.fingerprint {
        return Err(IndexFault::Fingerprint { expected: shortened(&manifest.fingerprint), found });
    }
    Ok(manifest)
}

fn fingerprint(contents: &impl Serialize) -> String {
    let mut hash = Hashing { inner: io::sink(), hash: Xxh3::new(), bytes: 0 };
    serde_json::to_writer(&mut hash, contents).expect("names for keys, and a sink takes all bytes");
    hash.checksum()
}

/// A file of an index, hashed while it is read.
pub(crate) struct PartReader<'a> {
    folder: &'a Path,
    name: String,
    part: &'a Part,
    file: File,
    hash: Xxh3,
}

impl PartReader<'_> {
    /// Bytes of the file: as many as the manifest says.
    pub(crate) fn len(&self) -> u64 {
        self.part.bytes
    }

    /// Reads the next bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let path = self.folder.join(&self.name);
        self.file.read_exact(bytes).map_err(|source| Error::io(&path, "read", source))?;
        self.hash.update(bytes);
        Ok(())
    }

    /// Reads what is left and checks that the bytes are those that were written.
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = self.folder.join(&self.name);
        let mut rest = Hashing { inner: io::sink(), hash: self.hash, bytes: 0 };
        io::copy(&mut self.file, &mut rest).map_err(|source| Error::io(&path, "read", source))?;
        let found = rest.checksum();
        if found == self.part.xxh3 {
            return Ok(());
        }
        let fault = IndexFault::Checksum { name: self.name, expected: shortened(&self.part.xxh3), found };
        Err(Error::Index { path: self.folder.to_owned(), fault })
    }
}

/// An index that is being written, under a temporary name.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    files: BTreeMap<String, Part>,
}

impl Writer {
    /// Writes a file.
    pub(crate) fn part(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.folder.join(name);
        let part = write_file(&path, write).map_err(|source| Error::io(&path, "write", source))?;
        self.files.insert(name.to_owned(), part);
        Ok(())
    }

    /// Takes in a file that `write` writes at the path it is given.
    pub(crate) fn file(&mut self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.folder.join(name);
        write(&path)?;
        let part = part_of(&path).map_err(|source| Error::io(&path, "read", source))?;
        self.files.insert(name.to_owned(), part);
        Ok(())
    }
}

/// Writes an index under a temporary name beside `path`, then puts it there in one step; returns its fingerprint.
///
/// # Errors
///
/// Those of [`check_replaceable`], what `fill` returns, [`Error::InUse`] and [`Error::Io`]. What was at `path` is then
/// untouched.
pub(crate) fn write<A: Serialize>(
    path: &Path,
    about: A,
    fill: impl FnOnce(&mut Writer) -> Result<()>,
) -> Result<String> {
    let target = files::resolved(path);
    check_replaceable(&target)?;
    let _claim = Claim::new(&target)?;
    files::remove_abandoned(&target);
    let failed = |source| Error::io(path, "write", source);
    let temporary = files::TemporaryFolder::new(&target).map_err(failed)?;
    let mut writer = Writer { folder: temporary.path().to_owned(), files: BTreeMap::new() };
    fill(&mut writer)?;
    let contents = Contents { version: env!("CARGO_PKG_VERSION").to_owned(), about, files: writer.files };
    let fingerprint = fingerprint(&contents);
    let manifest = Manifest { format: FORMAT, kind: KIND.to_owned(), fingerprint: fingerprint.clone(), contents };
    let write_manifest = |out: &mut dyn Write| {
        serde_json::to_writer_pretty(&mut *out, &manifest)?;
        out.write_all(b"\n")
    };
    write_file(&temporary.path().join(MANIFEST), write_manifest).map_err(failed)?;
    // Much may have happened since.
    check_replaceable(&target)?;
    temporary.publish(&target).map_err(failed)?;
    Ok(fingerprint)
}

/// Whether an index may be written to `path`: there is nothing, an empty folder, or an index with nothing else in it.
///
/// # Errors
///
/// [`Error::NoFolder`], [`Error::NotReplaceable`] or [`Error::Io`].
pub(crate) fn check_replaceable(path: &Path) -> Result<()> {
    files::check_replaceable_folder(path, "an index", |path| {
        // An index of any version: only what it says it holds matters.
        let known: OnlyFiles = serde_json::from_slice(&read_manifest(path).ok()?).ok()?;
        let names = known.contents.files.into_keys().chain([MANIFEST.to_owned()]);
        (known.kind == KIND).then(|| names.collect())
    })
}

#[derive(Deserialize)]
struct OnlyFiles {
    kind: String,
    contents: FileNames,
}

#[derive(Deserialize)]
struct FileNames {
    files: BTreeMap<String, serde::de::IgnoredAny>,
}

fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Part> {
    let file = BufWriter::with_capacity(BUFFER_BYTES, File::create_new(path)?);
    let mut hashing = Hashing { inner: file, hash: Xxh3::new(), bytes: 0 };
    write(&mut hashing)?;
    let part = Part { bytes: hashing.bytes, xxh3: hashing.checksum() };
    hashing.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(part)
}

fn part_of(path: &Path) -> io::Result<Part> {
    let mut hashing = Hashing { inner: io::sink(), hash: Xxh3::new(), bytes: 0 };
    io::copy(&mut File::open(path)?, &mut hashing)?;
    Ok(Part { bytes: hashing.bytes, xxh3: hashing.checksum() })
}

/// Hashes what is written through it.
struct Hashing<W> {
    inner: W,
    hash: Xxh3,
    bytes: u64,
}

impl<W> Hashing<W> {
    fn checksum(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
