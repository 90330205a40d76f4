//! Temporary names of files and folders, and finding those that a killed process left.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::path::{folder_of, resolved};

/// The beginning of a temporary file's name. Files left behind by a kill are recognised by it and removed.
pub(super) const TEMPORARY_PREFIX: &str = ".clickvec-";
/// The end of a temporary file's name.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";
/// The end of the name of a claim's lock.
pub(super) const LOCK_SUFFIX: &str = ".lock";

/// Most systems allow names of 255 bytes, and a temporary name is longer than that of its target.
const SHORT_NAME_BYTES: usize = 200;

/// The name of a file while it is written.
#[derive(Debug)]
pub(super) enum Temporary {
    /// The file is not plain and is written directly.
    Straight,
    /// The file has no name yet, and vanishes with the process.
    Nameless,
    /// The file is next to its target.
    Named(tempfile::TempPath),
}

/// Who may read a file while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Readers {
    /// Its owner alone, because it will replace a file whose permissions are not known yet.
    Owner,
    /// Those whom the umask allows. With the 0600 of `tempfile`, a server that runs as another user could not read a
    /// model.
    Umask,
}

#[cfg(unix)]
impl Readers {
    fn mode(self) -> u32 {
        match self {
            Readers::Owner => 0o600,
            Readers::Umask => 0o666,
        }
    }
}

/// The name of a path, short enough to add something before and after it.
pub(super) fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.len() <= SHORT_NAME_BYTES {
        return name.into_owned();
    }
    // A hash tells apart long names with the same beginning.
    let end = name.floor_char_boundary(SHORT_NAME_BYTES - 17);
    format!("{}-{:016x}", &name[..end], xxh3_64(name.as_bytes()))
}

fn prefix(target: &Path) -> String {
    format!("{TEMPORARY_PREFIX}{}-", short_name(target))
}

/// A new temporary file next to `target`: one without a name, if the system can name it later.
pub(super) fn new_temporary(target: &Path, readers: Readers) -> io::Result<(File, Temporary)> {
    match nameless(&folder_of(target), readers) {
        Some(file) => Ok((file, Temporary::Nameless)),
        None => new_named(target, readers),
    }
}

pub(super) fn new_named(target: &Path, readers: Readers) -> io::Result<(File, Temporary)> {
    remove_abandoned(target);
    let prefix = prefix(target);
    let mut builder = builder(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(readers.mode()));
    #[cfg(not(unix))]
    let _ = readers;
    let (file, path) = builder.tempfile_in(folder_of(target)).map_err(without_name)?.into_parts();
    // The lock ends with the process, and shows that the file is in use. Some file systems have no locks.
    let _ = file.try_lock();
    Ok((file, Temporary::Named(path)))
}

/// A new, empty folder next to `target`.
pub(super) fn new_folder(target: &Path, readers: Readers) -> io::Result<tempfile::TempDir> {
    let prefix = prefix(target);
    let mut builder = builder(&prefix);
    #[cfg(unix)]
    if let Readers::Umask = readers {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder.tempdir_in(folder_of(target)).map_err(without_name)
}

fn builder(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(TEMPORARY_SUFFIX);
    builder
}

/// Gives a file without a name one next to `target`. From there a rename can replace an existing file, which a link
/// cannot.
pub(super) fn name(file: &mut File, target: &Path) -> io::Result<tempfile::TempPath> {
    remove_abandoned(target);
    let prefix = prefix(target);
    match builder(&prefix).make_in(folder_of(target), |path| link(file, path)) {
        Ok(named) => Ok(named.into_temp_path()),
        // The file system can create files without a name but cannot name them, so copy the bytes to another file.
        Err(_) => {
            let (mut copy, temporary) = new_named(target, Readers::Owner)?;
            io::Seek::rewind(file)?;
            io::copy(file, &mut copy)?;
            super::access::keep(&copy, &file.metadata()?)?;
            copy.sync_all()?;
            match temporary {
                Temporary::Named(path) => Ok(path),
                _ => unreachable!("a named file has a name"),
            }
        }
    }
}

/// Whether a name is that of a temporary file, or of the lock of a [`Claim`](super::Claim).
pub fn is_temporary(name: &str) -> bool {
    let ends = [TEMPORARY_SUFFIX, LOCK_SUFFIX];
    name.starts_with(TEMPORARY_PREFIX) && ends.iter().any(|end| name.ends_with(end))
}

/// Removes temporary files that killed processes left while writing to `path`. A file that is still being written is
/// locked and stays, as does anything that cannot be removed.
pub fn remove_abandoned(path: &Path) {
    let target = resolved(path);
    let prefix = prefix(&target);
    let Ok(entries) = fs::read_dir(folder_of(&target)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with(&prefix) && name.ends_with(TEMPORARY_SUFFIX);
        // A pipe with such a name is not a temporary file, and opening it would block.
        let kind = entry.file_type().ok().filter(|kind| kind.is_dir() || kind.is_file());
        let Some(kind) = kind.filter(|_| is_ours) else { continue };
        let Ok(file) = File::open(entry.path()) else { continue };
        // The lock is held until it is removed.
        if file.try_lock().is_ok() {
            let _ = if kind.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

/// A file without a name, if it can be named later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path, readers: Readers) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let mode = Mode::from_raw_mode(readers.mode());
    let file = File::from(open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok()?);
    // For the moment in which it will have a temporary name.
    let _ = file.try_lock();
    descriptor(&file).exists().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path, _: Readers) -> Option<File> {
    None
}

/// Gives a file without a name its first one.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A path that leads to an open file, even without a name.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The error without the temporary name that `tempfile` adds, which would tell a user nothing.
fn without_name(error: io::Error) -> io::Error {
    os_error(&error).unwrap_or_else(|| error.kind().into())
}

/// Returns the error of the operating system that an error is or has within. That of `tempfile` shows it, and does not return it.
pub fn os_error(error: &io::Error) -> Option<io::Error> {
    let within = || {
        let inner = error.get_ref()?;
        let shown = || inner.to_string().split_once("(os error ")?.1.split_once(')')?.0.parse().ok();
        let source = inner.source().and_then(|source| os_error(source.downcast_ref()?)?.raw_os_error());
        source.or_else(shown)
    };
    error.raw_os_error().or_else(within).map(io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::names;

    #[test]
    fn a_long_name_is_cut_and_stays_itself() {
        assert_eq!(short_name(Path::new("a/model")), "model");
        let long = ["a", "b"].map(|end| short_name(Path::new(&format!("{}{end}", "é".repeat(120)))));
        // A letter of two bytes is not cut in half.
        assert!(long.iter().all(|name| (SHORT_NAME_BYTES - 1..=SHORT_NAME_BYTES).contains(&name.len())), "{long:?}");
        assert_ne!(long[0], long[1]);
    }

    #[test]
    fn only_what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::create_dir_all(folder.path().join(".clickvec-model-y.tmp/with")).unwrap();
        for name in [".clickvec-model-x.tmp", ".clickvec-other-x.tmp", "model"] {
            fs::write(folder.path().join(name), b"left").unwrap();
        }
        // Makes room for itself.
        let (_file, written) = new_named(&path, Readers::Umask).unwrap();
        remove_abandoned(&path);
        assert_eq!(names(folder.path()).len(), 3, "the file that is being written stays");
        drop(written);
        assert_eq!(names(folder.path()), [".clickvec-other-x.tmp", "model"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_nameless_file_gets_a_name_even_where_it_cannot_be_linked() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("model");
        let (mut file, Temporary::Nameless) = new_temporary(&target, Readers::Owner).unwrap() else { return };
        file.write_all(b"text").unwrap();
        let path = name(&mut file, &target).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        // A file that has lost its last name cannot be linked again.
        fs::remove_file(&path).unwrap();
        assert!(link(&file, &target).is_err());
        let path = name(&mut file, &target).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }
}
