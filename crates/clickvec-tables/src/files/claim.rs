//! A claim to an output, which keeps a second process away from it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::not_replaceable;
use super::path::{Found, folder_of, resolved};
use super::temporary::{LOCK_SUFFIX, TEMPORARY_PREFIX, short_name};
use crate::{Error, ErrorKind, Result};

/// A claim to an output, for as long as it lives.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: File,
}

impl Claim {
    /// A claim to what `path` leads to, by a lock of a file next to it. The lock ends with the process, however that ends; after a
    /// kill the empty file stays. Locking the folder would be wrong, because others write to it too, and the output
    /// itself does not exist yet or is replaced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] if another process holds it; [`ErrorKind::Io`].
    pub fn new(path: &Path) -> Result<Claim> {
        let target = resolved(path);
        let beside = folder_of(&target).join(format!("{TEMPORARY_PREFIX}{}{LOCK_SUFFIX}", short_name(&target)));
        // If another user left a lock, the message should name it.
        let failed = |source| Error::io(if beside.exists() { &beside } else { path }, "write", source);
        // More often than the lock is likely to change hands meanwhile.
        for _ in 0..1000 {
            if Found::is_special(&beside) {
                return Err(not_replaceable(&beside));
            }
            let lock = File::options().create(true).truncate(false).write(true).open(&beside).map_err(failed)?;
            match lock.try_lock() {
                // The previous owner may have removed the name after this process opened the file. Then the lock
                // does not keep others away.
                Ok(()) if is_nameless(&lock) => {}
                Ok(()) => return Ok(Claim { path: beside, _lock: lock }),
                Err(fs::TryLockError::WouldBlock) => return Err(in_use(path)),
                // A file system without locks keeps no process away.
                Err(fs::TryLockError::Error(_)) => return Ok(Claim { path: beside, _lock: lock }),
            }
        }
        Err(in_use(path))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn in_use(path: &Path) -> Error {
    Error::new(ErrorKind::Busy, "another process writes to this output")
        .help("wait for it or name another output")
        .at(path)
}

#[cfg(unix)]
fn is_nameless(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

#[cfg(not(unix))]
fn is_nameless(_: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::names;

    #[test]
    fn an_output_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let claim = Claim::new(&path).unwrap();
        assert_eq!(Claim::new(&path).unwrap_err().kind(), ErrorKind::Busy);
        drop(claim);
        drop(Claim::new(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        let path = folder.path().join("no/model");
        let error = Claim::new(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot write: ", path.display())), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn two_names_of_an_output_are_one_claim() {
        let folder = tempfile::tempdir().unwrap();
        let [model, link, inner] = ["model", "link", "inner"].map(|name| folder.path().join(name));
        fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink("model", &link).unwrap();
        std::os::unix::fs::symlink("../model", inner.join("far")).unwrap();
        let claim = Claim::new(&model).unwrap();
        for other in [link, inner.join("far")] {
            assert_eq!(Claim::new(&other).unwrap_err().kind(), ErrorKind::Busy, "{}", other.display());
        }
        drop(claim);
        // Without a name of its own, a path is what it leads to.
        let _claim = Claim::new(&inner).unwrap();
        fs::create_dir(inner.join("deep")).unwrap();
        assert_eq!(Claim::new(&inner.join("deep/..")).unwrap_err().kind(), ErrorKind::Busy);
    }

    #[test]
    fn many_at_once_never_hold_the_same_claim() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let (held, claims) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if let Ok(claim) = Claim::new(&path) {
                            assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0, "two claims at once");
                            claims.fetch_add(1, Ordering::SeqCst);
                            held.fetch_sub(1, Ordering::SeqCst);
                            drop(claim);
                        }
                    }
                });
            }
        });
        assert!(claims.into_inner() > 0);
        assert!(names(folder.path()).is_empty());
    }
}
