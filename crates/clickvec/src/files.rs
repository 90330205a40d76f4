//! The one door for files: reading plain and compressed text, writing so that no reader ever sees half a file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::shortened;
use crate::{Error, Result};

/// Large enough that system calls vanish beside parsing, small enough to stay in L2.
const BUFFER_BYTES: usize = 256 * 1024;
/// As much of a file as is looked at to tell what it is.
const PEEKED_BYTES: usize = 64 * 1024;
/// How a temporary file's name begins, so that one left behind by a kill can be recognised and removed.
pub const TEMPORARY_PREFIX: &str = ".clickvec-";
/// How it ends.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A zstd skippable frame starts with 0x50–0x5f and these; parallel compressors put one in front.
const ZSTD_SKIPPABLE_TAIL: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Opens a file for reading; `-` is standard input.
///
/// Gzip (also of several members) and zstd (also of several frames) are recognised by their first bytes, whatever the
/// name, and read as what they contain. A compressed stream that was cut short fails when the cut is read
/// ([`io::ErrorKind::UnexpectedEof`]); it never looks like the end of the file.
///
/// # Errors
///
/// [`Error::IsFolder`] for a folder; [`Error::Io`] if the file is missing or cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return decode(io::stdin()).map_err(|source| Error::io(path, "read", source));
    }
    let file = File::open(path).map_err(|source| match path.is_dir() {
        true => Error::IsFolder { path: path.to_owned() },
        false => Error::io(path, "open", source),
    })?;
    let metadata = file.metadata().map_err(|source| Error::io(path, "open", source))?;
    if metadata.is_dir() {
        return Err(Error::IsFolder { path: path.to_owned() });
    }
    decode(file).map_err(|source| Error::io(path, "read", source))
}

/// Puts the right decoder before a stream, judged by its first bytes. Never seeks: the stream may be a pipe.
fn decode(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    source.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let gzip = head.starts_with(&GZIP_MAGIC);
    let zstd = head == ZSTD_MAGIC
        || (head.first().is_some_and(|first| first & 0xf0 == 0x50) && head[1..] == ZSTD_SKIPPABLE_TAIL);
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(source));
    Ok(if gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, flate2::bufread::MultiGzDecoder::new(whole)))
    } else if zstd {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, zstd::Decoder::with_buffer(whole)?))
    } else {
        Box::new(whole)
    })
}

/// The first line that is not blank, at most [`PEEKED_BYTES`] of it, and a reader that still has it: what a file is can be
/// told from it, even where the file is a pipe. Bytes that are no UTF-8 come as U+FFFD; a byte order mark is left out.
///
/// # Errors
///
/// [`Error::ReadAt`]; `path` is for the message.
pub(crate) fn first_line(
    mut reader: Box<dyn BufRead + Send>,
    path: &Path,
) -> Result<(String, Box<dyn BufRead + Send>)> {
    let (mut head, mut line) = (Vec::new(), 0);
    let first = loop {
        line += 1;
        let start = head.len();
        let read = (&mut reader).take((PEEKED_BYTES - start) as u64).read_until(b'\n', &mut head);
        read.map_err(|source| Error::ReadAt { path: path.to_owned(), line, source })?;
        let read = head[start..].strip_prefix("\u{feff}".as_bytes()).filter(|_| line == 1).unwrap_or(&head[start..]);
        if !read.trim_ascii().is_empty() || head.len() == start {
            break String::from_utf8_lossy(read.trim_ascii_end()).into_owned();
        }
    };
    Ok((first, Box::new(Cursor::new(head).chain(reader))))
}

/// Makes a folder, and those that it lies in, if it is not there.
///
/// # Errors
///
/// [`Error::Io`].
pub fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|source| Error::io(path, "make this folder", source))
}

/// Writes a file through a temporary sibling: written, synced and renamed, so that at every moment `path` holds either
/// all of the old bytes or all of the new ones.
///
/// A symbolic link is followed. What is no ordinary file (`/dev/stdout`, a named pipe) cannot be replaced by renaming
/// and is written straight.
///
/// # Errors
///
/// Whatever `write` returns, and [`Error::Io`] or [`Error::IsFolder`] if the file cannot be made. The temporary file
/// is then removed, and what was at `path` is untouched.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut pending = Pending::begin(path, new_temporary)?;
    write(&mut pending.file)?;
    pending.seal()?.publish()
}

/// A file that is being written under a temporary name, or none. Dropped before it is published it is removed, and what was
/// at its path is untouched.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    target: PathBuf,
    file: BufWriter<File>,
    temporary: Temporary,
}

/// What a file is called while it is written.
#[derive(Debug)]
enum Temporary {
    /// It is no ordinary file, and is written straight.
    Straight,
    /// It has no name yet, and vanishes with the process.
    Nameless,
    Named(tempfile::TempPath),
}

/// A file that is written and synced, and still has its temporary name.
#[derive(Debug)]
pub struct Sealed {
    path: PathBuf,
    target: PathBuf,
    // Its lock says that the temporary file is not abandoned.
    file: File,
    temporary: Temporary,
}

impl Pending {
    /// Begins a file that has no name until it is published, where the system can do that; otherwise as
    /// [`write_atomically`] does.
    ///
    /// # Errors
    ///
    /// [`Error::IsFolder`], [`Error::Io`].
    pub fn new(path: &Path) -> Result<Pending> {
        Pending::begin(path, |folder, target| match nameless(folder) {
            Some(file) => Ok((file, Temporary::Nameless)),
            None => new_temporary(folder, target),
        })
    }

    fn begin(path: &Path, make: impl FnOnce(&Path, &Path) -> io::Result<(File, Temporary)>) -> Result<Pending> {
        let failed = |source| Error::io(path, "write", source);
        let (file, temporary, target) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(Error::IsFolder { path: path.to_owned() }),
            Ok(metadata) if !metadata.is_file() => {
                (File::options().write(true).open(path).map_err(failed)?, Temporary::Straight, path.to_owned())
            }
            _ => {
                let target = resolved(path);
                let (file, temporary) = make(&folder_of(&target), &target).map_err(failed)?;
                (file, temporary, target)
            }
        };
        Ok(Pending { path: path.to_owned(), target, file: BufWriter::with_capacity(BUFFER_BYTES, file), temporary })
    }

    /// Where to write.
    pub fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.file
    }

    /// Writes and syncs what is left in buffers: from then on a full disk can do no harm.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn seal(self) -> Result<Sealed> {
        let Pending { path, target, file, temporary } = self;
        let failed = |source| Error::io(&path, "write", source);
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        if !matches!(temporary, Temporary::Straight) {
            file.sync_all().map_err(failed)?;
        }
        Ok(Sealed { path, target, file, temporary })
    }
}

impl Sealed {
    /// Gives it its name.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn publish(self) -> Result<()> {
        let failed = |source| Error::io(&self.path, "write", source);
        let temporary = match self.temporary {
            Temporary::Straight => return Ok(()),
            Temporary::Named(temporary) => temporary,
            // A link cannot replace a file, a renaming can.
            Temporary::Nameless => {
                let folder = folder_of(&self.target);
                let named = builder(&temporary_prefix(&self.target)).make_in(folder, |path| link(&self.file, path));
                named.map_err(|error| failed(without_name(error)))?.into_temp_path()
            }
        };
        temporary.persist(&self.target).map_err(|error| failed(error.error))?;
        sync_folder(&folder_of(&self.target)).map_err(failed)
    }
}

/// Makes a file that is already written the one at `path`: synced, then renamed.
///
/// # Errors
///
/// [`Error::Io`]; what was at `path` is then untouched.
pub fn publish(written: &Path, path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    check_replaceable(path)?;
    File::open(written).and_then(|file| file.sync_all()).map_err(failed)?;
    let target = resolved(path);
    fs::rename(written, &target).map_err(failed)?;
    sync_folder(&folder_of(&target)).map_err(failed)
}

/// Whether a file at `path` could be replaced by renaming: there is none, or an ordinary one, in a folder that is there.
///
/// # Errors
///
/// [`Error::NoFolder`], [`Error::IsFolder`] or [`Error::NotAFile`].
pub fn check_replaceable(path: &Path) -> Result<()> {
    let folder = folder_of(&resolved(path));
    if !folder.is_dir() {
        return Err(Error::NoFolder { path: folder });
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Error::IsFolder { path: path.to_owned() }),
        Ok(metadata) if !metadata.is_file() => Err(Error::NotAFile { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Whether a folder could be put at `path`: there is nothing, an empty folder, or one that is `what` and has nothing else
/// in it. `names` says what files such a folder has; `None` if it is no such folder.
///
/// # Errors
///
/// [`Error::NoFolder`], [`Error::NotReplaceable`] or [`Error::Io`].
pub(crate) fn check_replaceable_folder(
    path: &Path,
    what: &'static str,
    names: impl FnOnce(&Path) -> Option<HashSet<String>>,
) -> Result<()> {
    let path = &resolved(path);
    let parent = folder_of(path);
    if !parent.is_dir() {
        return Err(Error::NoFolder { path: parent });
    }
    let refused = |found: String| Err(Error::NotReplaceable { path: path.to_owned(), what, found });
    let entries = match fs::metadata(path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(metadata) if !metadata.is_dir() => return refused("a file".to_owned()),
        _ => fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>),
    };
    let entries = entries.map_err(|source| Error::io(path, "read", source))?;
    if entries.is_empty() {
        return Ok(());
    }
    let Some(names) = names(path) else {
        return refused("a folder that is none".to_owned());
    };
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder || !names.contains(&name) {
            return refused(format!("one with `{}` in it, which would be lost", shortened(&name)));
        }
    }
    Ok(())
}

/// Whether a file could be written to `path`, found out by making its temporary sibling and removing it again.
///
/// # Errors
///
/// [`Error::Io`] or [`Error::IsFolder`]; what is at `path` is untouched.
pub fn check_writable(path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Error::IsFolder { path: path.to_owned() }),
        // A pipe would wait for its reader here.
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => {
            let target = resolved(path);
            new_temporary(&folder_of(&target), &target).map(drop).map_err(failed)
        }
    }
}

/// Where a path leads in the end, also if there is nothing there yet.
pub fn resolved(path: &Path) -> PathBuf {
    // `index/` names what `index` names, but its link could not be read.
    let mut path: PathBuf = path.components().collect();
    // As many links as the system itself would follow.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

/// A claim to an output, for as long as it lives.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims `path` by a locked file beside it. The lock goes with the process, however it ends; after a kill the empty
    /// file stays. A lock that needs no file would be on the folder, where others write too, or on the output, which is
    /// not there yet or is replaced.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] if another process holds it; [`Error::Io`].
    pub fn new(path: &Path) -> Result<Claim> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder_of(path).join(format!("{TEMPORARY_PREFIX}{name}.lock"));
        // A lock that somebody else left must be known by its name.
        let failed = |source| Error::io(if beside.exists() { &beside } else { path }, "write", source);
        let lock = File::options().create(true).truncate(false).write(true).open(&beside).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Claim { path: beside, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_owned() }),
            // A file system without locks: then nobody can be told.
            Err(fs::TryLockError::Error(_)) => Ok(Claim { path: beside, _lock: lock }),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the temporary files that killed processes left behind while they wrote to `path`; one that is being written
/// is locked and stays. What cannot be removed stays too.
pub fn remove_abandoned(path: &Path) {
    let target = resolved(path);
    let (folder, prefix) = (folder_of(&target), temporary_prefix(&target));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&prefix)
            && name.ends_with(TEMPORARY_SUFFIX)
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = match entry.file_type() {
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(entry.path()),
                _ => fs::remove_file(entry.path()),
            };
        }
    }
}

fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{TEMPORARY_PREFIX}{name}-")
}

/// The folder a file lies in; `.` for a bare name.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// [`write_atomically`] for bytes that are already in memory.
///
/// # Errors
///
/// Those of [`write_atomically`].
pub fn write_bytes_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes).map_err(|source| Error::io(path, "write", source)))
}

fn new_temporary(folder: &Path, target: &Path) -> io::Result<(File, Temporary)> {
    let prefix = temporary_prefix(target);
    let mut builder = builder(&prefix);
    // tempfile's 0600 would make a model unreadable to the server that runs as somebody else; the umask still applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let (file, temporary) = builder.tempfile_in(folder).map_err(without_name)?.into_parts();
    // The lock goes with the process: it says that the file is not abandoned. Where there are no locks, none is.
    let _ = file.try_lock();
    Ok((file, Temporary::Named(temporary)))
}

fn builder(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(TEMPORARY_SUFFIX);
    builder
}

/// A file without a name, if it can get one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let file = open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(0o666)).ok()?;
    let file = File::from(file);
    let _ = file.try_lock();
    descriptor(&file).exists().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name its first one.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What an open file is called in any case.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The error without the temporary name that `tempfile` puts into it, which says nothing to a user.
fn without_name(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() { error } else { error.kind().into() }
}

/// A folder that is being written, under a temporary name; removed with all that is in it unless it is published.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: tempfile::TempDir,
    /// Says that it is not abandoned.
    lock: Option<File>,
}

/// Makes an empty folder beside `target`.
pub(crate) fn new_temporary_folder(target: &Path) -> io::Result<TemporaryFolder> {
    let prefix = temporary_prefix(target);
    let folder = tempfile::Builder::new().prefix(&prefix).suffix(TEMPORARY_SUFFIX).tempdir_in(folder_of(target))?;
    // Some systems cannot open a folder, some file systems have no locks: then it is not protected.
    let lock = File::open(folder.path()).ok().filter(|file| file.try_lock().is_ok());
    Ok(TemporaryFolder { folder, lock })
}

impl TemporaryFolder {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes this folder the one at `target`; a folder that was there is removed. Its files must have been synced.
    pub(crate) fn publish(self, target: &Path) -> io::Result<()> {
        let TemporaryFolder { folder, lock } = self;
        sync_folder(folder.path())?;
        if target.is_dir() {
            exchange(folder.path(), target)?;
            sync_folder(&folder_of(target))?;
            // Now the old folder has the temporary name. What cannot be removed of it, the next run will remove.
            drop(lock);
            let _ = folder.close();
            return Ok(());
        }
        fs::rename(folder.path(), target)?;
        // There is nothing left to remove.
        let _ = folder.keep();
        sync_folder(&folder_of(target))
    }
}

/// Lets two folders change places.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(()),
            // File systems that cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // There is a moment without a folder at `b`, and nothing is lost in it.
    let mut aside = a.to_owned().into_os_string();
    aside.push(".old");
    fs::rename(b, &aside)?;
    if let Err(error) = fs::rename(a, b) {
        fs::rename(&aside, b)?;
        return Err(error);
    }
    fs::rename(&aside, a)
}

/// Makes the rename itself survive a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    // A folder may be writable without being readable, and some file systems cannot sync one: then the rename is as
    // durable as the system lets it be.
    let Ok(folder) = File::open(folder) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"query\ttitle\nred shoes\tShoes in red\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read_back(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("any name");
        fs::write(&path, bytes)?;
        let mut text = Vec::new();
        open(&path).unwrap().read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn the_first_line_stays_to_be_read() {
        let long = "x".repeat(PEEKED_BYTES + 5);
        for (text, expected) in [
            ("", ""),
            ("\n \r\n", ""),
            ("a\tb", "a\tb"),
            ("\u{feff}\r\n\n a\t\r\nb\n", " a"),
            (&long, &long[..PEEKED_BYTES]),
        ] {
            let reader: Box<dyn BufRead + Send> = Box::new(Cursor::new(text.to_owned()));
            let (first, mut reader) = first_line(reader, Path::new("f")).unwrap();
            assert_eq!(first, expected);
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn plain_gzip_and_zstd_read_alike() {
        let (first, second) = TEXT.split_at(7);
        let zstd_of = |bytes: &[u8]| zstd::encode_all(bytes, 0).unwrap();
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &zstd_of(TEXT)].concat();
        let cases = [
            TEXT.to_vec(),
            gzip(TEXT),
            [gzip(first), gzip(second)].concat(),
            zstd_of(TEXT),
            [zstd_of(first), zstd_of(second)].concat(),
            skippable,
        ];
        for case in cases {
            assert_eq!(read_back(&case).unwrap(), TEXT);
        }
        for short in [&b""[..], b"q", b"abc"] {
            assert_eq!(read_back(short).unwrap(), short);
        }
    }

    #[test]
    fn a_compressed_stream_cut_short_is_an_error_wherever_it_is_cut() {
        let text = TEXT.repeat(50);
        for whole in [gzip(&text), zstd::encode_all(&text[..], 0).unwrap()] {
            for length in 4..whole.len() {
                let error = read_back(&whole[..length]).expect_err("a cut stream");
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut after {length}");
            }
        }
        let second = gzip(TEXT);
        for length in 1..second.len() {
            read_back(&[&gzip(TEXT)[..], &second[..length]].concat()).expect_err("a cut second member");
        }
    }

    #[test]
    fn missing_files_and_folders_have_their_own_messages() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("clicks.tsv");
        let error = open(&missing).err().unwrap();
        assert!(matches!(&error, Error::Io { action: "open", source, .. } if source.kind() == io::ErrorKind::NotFound));
        assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())));
        assert!(matches!(open(folder.path()).err().unwrap(), Error::IsFolder { .. }));
        let error = write_bytes_atomically(folder.path(), b"").unwrap_err();
        assert!(error.to_string().ends_with("expected a file, found a folder; name a file inside it"));
    }

    #[test]
    fn a_written_file_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes_atomically(&path, b"old").unwrap();
        write_bytes_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["model"]);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes_atomically(&path, b"old").unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(&vec![7; 2 * BUFFER_BYTES]).unwrap();
            assert!(names(folder.path())[0].starts_with(TEMPORARY_PREFIX));
            Err(Error::io(&path, "write", io::Error::other("no")))
        });
        assert!(error.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["model"]);
    }

    #[test]
    fn a_pending_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        for text in ["first", "second"] {
            let begin = || {
                let mut pending = Pending::new(&path).unwrap();
                pending.writer().write_all(text.as_bytes()).unwrap();
                pending
            };
            let before = (fs::read(&path).ok(), names(folder.path()));
            drop(begin());
            drop(begin().seal().unwrap());
            let (pending, sealed) = (begin(), begin().seal().unwrap());
            // A kill now would leave nothing.
            #[cfg(target_os = "linux")]
            assert_eq!((fs::read(&path).ok(), names(folder.path())), before);
            drop(pending);
            sealed.publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
            assert_eq!(names(folder.path()), ["model"]);
        }
    }

    #[test]
    fn an_output_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let claim = Claim::new(&path).unwrap();
        assert!(matches!(Claim::new(&path), Err(Error::InUse { .. })));
        drop(claim);
        drop(Claim::new(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        let path = folder.path().join("no/model");
        let error = Claim::new(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot write: ", path.display())), "{error}");
    }

    #[test]
    fn a_published_folder_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        for text in ["first", "second"] {
            let temporary = new_temporary_folder(&target).unwrap();
            fs::write(temporary.path().join(text), text).unwrap();
            remove_abandoned(&target);
            assert!(temporary.path().exists(), "a folder that is being written stays");
            temporary.publish(&target).unwrap();
            assert_eq!(names(&target), [text]);
            assert_eq!(names(folder.path()), ["index"]);
        }
        let temporary = new_temporary_folder(&target).unwrap();
        fs::write(temporary.path().join("third"), "third").unwrap();
        drop(temporary);
        assert_eq!((names(&target), names(folder.path())), (vec!["second".to_owned()], vec!["index".to_owned()]));
    }

    #[test]
    fn only_what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::create_dir_all(folder.path().join(".clickvec-model-y.tmp/with")).unwrap();
        for name in [".clickvec-model-x.tmp", ".clickvec-other-x.tmp", "model"] {
            fs::write(folder.path().join(name), b"left").unwrap();
        }
        write_atomically(&path, |_| {
            remove_abandoned(&path);
            assert_eq!(names(folder.path()).len(), 3, "the file that is being written stays");
            Ok(())
        })
        .unwrap();
        assert_eq!(names(folder.path()), [".clickvec-other-x.tmp", "model"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no").join("model");
        assert!(matches!(write_bytes_atomically(&path, b""), Err(Error::Io { action: "write", .. })));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_links_and_devices_are_as_without_the_temporary_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (plain, path) = (folder.path().join("plain"), folder.path().join("model"));
        fs::write(&plain, b"").unwrap();
        write_bytes_atomically(&path, b"old").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        Pending::new(&path).unwrap().seal().unwrap().publish().unwrap();
        assert_eq!(mode(&path), mode(&plain));

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_bytes_atomically(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");

        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink("made", &dangling).unwrap();
        write_bytes_atomically(&dangling, b"new").unwrap();
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
        assert_eq!(fs::read(folder.path().join("made")).unwrap(), b"new");

        let socket = folder.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(publish(&plain, &socket), Err(Error::NotAFile { .. })));
        assert!(matches!(publish(&plain, folder.path()), Err(Error::IsFolder { .. })));
        assert!(plain.exists());
    }
}
