//! Where a path leads and what is there.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{is_folder, not_plain};
use crate::{Error, Result};

/// What is at a path, links followed.
#[derive(Debug)]
pub enum Found {
    /// Nothing, or a link to nothing.
    Nothing,
    /// A plain file: it has a length, can be mapped, and can be replaced by renaming.
    File(Metadata),
    /// A folder.
    Folder,
    /// A device, a pipe or a socket. Opening it may block for ever, and a rename would not reach processes that have
    /// it open.
    Special,
}

impl Found {
    /// What is at `path`, seen without opening anything.
    ///
    /// # Errors
    ///
    /// The error of the operating system, unless it is that nothing is there.
    pub fn at(path: &Path) -> io::Result<Found> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Found::Folder),
            Ok(metadata) if metadata.is_file() => Ok(Found::File(metadata)),
            Ok(_) => Ok(Found::Special),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Whether there is a device at a path, and not a pipe, a socket or nothing special.
    pub fn is_device(path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt as _;
            let kind = fs::metadata(path).map(|metadata| metadata.file_type());
            kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
        }
        #[cfg(not(unix))]
        Found::is_special(path)
    }

    /// Whether a path can only be read or written once, from front to back.
    pub fn is_special(path: &Path) -> bool {
        matches!(Found::at(path), Ok(Found::Special))
    }
}

/// Whether what is read at a path can be read only once: `-` is standard input.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || Found::is_special(path)
}

/// A file that must be plain, because it is mapped or read in any order. Opening it never blocks, as opening a pipe
/// would.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) for a folder, a pipe or a device; [`ErrorKind::Io`](crate::ErrorKind::Io)
/// if it is missing or cannot be read.
pub fn open_plain(path: &Path) -> Result<File> {
    let failed = |source| Error::io(path, "open", source);
    match Found::at(path).map_err(failed)? {
        Found::Folder => Err(is_folder(path)),
        Found::Special => Err(not_plain(path)),
        Found::File(_) | Found::Nothing => File::open(path).map_err(failed),
    }
}

/// The final target of a path, which need not exist.
pub fn resolved(path: &Path) -> PathBuf {
    // `index/` means `index`, but its link could not be read.
    let mut path: PathBuf = path.components().collect();
    // Follow as many links as the system would.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    // `.` and `..` have no name, and nothing can be put next to them or in their place.
    if path.file_name().is_none() { fs::canonicalize(&path).unwrap_or(path) } else { path }
}

/// Opens a file to read and append. A new one can be read by its owner alone.
///
/// # Errors
///
/// Those of the operating system.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether two paths lead to one file, by links of either kind too; not if there is none.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    let key = |path: &Path| fs::metadata(path).map(|metadata| identity(&metadata)).ok();
    #[cfg(not(unix))]
    let key = |path: &Path| path.canonicalize().ok();
    key(a).is_some_and(|a| key(b) == Some(a))
}

/// Returns whether a path still leads to an open file. Elsewhere than on Unix, an open file can be neither deleted nor moved.
///
/// # Errors
///
/// Those of the operating system.
pub fn is_open_at(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    return match fs::metadata(path) {
        Ok(there) => Ok(identity(&there) == identity(&file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    #[cfg(not(unix))]
    Ok(true)
}

/// The device and the number of a file.
#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// The folder that a file is in; `.` for a bare name.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::files::tests::pipe;

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        for (path, folder) in [("m", "."), ("a/m", "a"), ("/m", "/"), ("/", "."), ("", ".")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }

    #[test]
    fn a_plain_file_is_told_from_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"12").unwrap();
        open_plain(&file).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert!(matches!(Found::at(&link).unwrap(), Found::File(metadata) if metadata.len() == 2));
        let hard = folder.path().join("hard");
        fs::hard_link(&file, &hard).unwrap();
        assert!(is_same_file(&link, &hard) && !is_same_file(&file, folder.path()));
        assert!(!is_same_file(&folder.path().join("none"), &folder.path().join("none")));
        assert!(matches!(Found::at(folder.path()).unwrap(), Found::Folder));
        assert!(open_plain(folder.path()).unwrap_err().to_string().contains("expected a file, found a folder"));
        let missing = folder.path().join("missing");
        assert!(matches!(Found::at(&missing).unwrap(), Found::Nothing));
        let error = open_plain(&missing).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())));
        // It has no writer, so opening it would block for ever.
        let pipe = pipe(folder.path());
        assert!(Found::is_special(&pipe) && Found::is_special(Path::new("/dev/null")) && !Found::is_special(&file));
        assert!(is_stream(&pipe) && is_stream(Path::new("-")) && !is_stream(&missing));
        assert!(Found::is_device(Path::new("/dev/null")) && !Found::is_device(&pipe) && !Found::is_device(&file));
        let error = open_plain(&pipe).unwrap_err();
        assert!(error.to_string().contains(": expected a plain file, found a pipe"), "{error}");
    }
}
