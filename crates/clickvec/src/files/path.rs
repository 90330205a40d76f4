//! Where a path leads, and what is there.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

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
    /// A device, a pipe, a socket: to open it may wait for ever, and renaming would not reach who holds it open.
    Special,
}

impl Found {
    /// Looks, and opens nothing.
    ///
    /// # Errors
    ///
    /// What the operating system says, unless it says that there is nothing.
    pub fn at(path: &Path) -> io::Result<Found> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Found::Folder),
            Ok(metadata) if metadata.is_file() => Ok(Found::File(metadata)),
            Ok(_) => Ok(Found::Special),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Whether it can only be read or written from front to back, once.
    pub fn is_special(path: &Path) -> bool {
        matches!(Found::at(path), Ok(Found::Special))
    }
}

/// Opens a file that must be a plain one, since it is mapped or read in any order. Never waits, as opening a pipe would.
///
/// # Errors
///
/// [`Error::IsFolder`], [`Error::NotPlain`]; [`Error::Io`] if it is missing or cannot be read.
pub(crate) fn open_plain(path: &Path) -> Result<File> {
    let failed = |source| Error::io(path, "open", source);
    match Found::at(path).map_err(failed)? {
        Found::Folder => Err(Error::IsFolder { path: path.to_owned() }),
        Found::Special => Err(Error::NotPlain { path: path.to_owned() }),
        Found::File(_) | Found::Nothing => File::open(path).map_err(failed),
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

/// The folder a file lies in; `.` for a bare name.
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
    fn a_plain_file_is_told_from_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"12").unwrap();
        open_plain(&file).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert!(matches!(Found::at(&link).unwrap(), Found::File(metadata) if metadata.len() == 2));
        assert!(matches!(Found::at(folder.path()).unwrap(), Found::Folder));
        assert!(matches!(open_plain(folder.path()), Err(Error::IsFolder { .. })));
        let missing = folder.path().join("missing");
        assert!(matches!(Found::at(&missing).unwrap(), Found::Nothing));
        let error = open_plain(&missing).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())));
        // Nobody writes to it: to open it would take for ever.
        let pipe = pipe(folder.path());
        assert!(Found::is_special(&pipe) && Found::is_special(Path::new("/dev/null")) && !Found::is_special(&file));
        let error = open_plain(&pipe).unwrap_err();
        assert!(error.to_string().contains(": expected a plain file, found a pipe"), "{error}");
    }
}
