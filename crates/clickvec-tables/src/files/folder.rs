//! Creating folders, and replacing them as a whole.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::access;
use super::no_folder;
use super::path::{Found, folder_of, resolved};
use super::temporary::{Readers, new_folder};
use crate::shown::shortened;
use crate::{Error, ErrorKind, Result};

/// Creates a folder and its parents, unless it exists.
///
/// # Errors
///
/// [`ErrorKind::Io`].
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::io(path, "make this folder", source))
}

/// Checks that a folder may be put at `path`: there is nothing, an empty folder, or one that is `what` and has no
/// other files. `names` returns the files of such a folder; `None` if it is not one.
///
/// # Errors
///
/// [`ErrorKind::Occupied`] or [`ErrorKind::Io`].
pub fn check_replaceable_folder(
    path: &Path,
    what: &'static str,
    names: impl FnOnce(&Path) -> Option<HashSet<String>>,
) -> Result<()> {
    let path = &resolved(path);
    let parent = folder_of(path);
    if !parent.is_dir() {
        return Err(no_folder(&parent));
    }
    let refused = |found: &str| {
        let expected = format!("{what} to replace, or nothing");
        let error = Error::expected(ErrorKind::Occupied, expected, found.to_owned());
        Err(error.help("name another output").at(path))
    };
    let failed = |source| Error::io(path, "read", source);
    match Found::at(path).map_err(failed)? {
        Found::Nothing => return Ok(()),
        Found::File(_) | Found::Special => return refused("a file"),
        Found::Folder => {}
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed)?;
    if entries.is_empty() {
        return Ok(());
    }
    let Some(names) = names(path) else {
        return refused("a folder with other files in it");
    };
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // A folder that is named goes as a whole; of another, each file must be named.
        let is_known = names.contains(&name) || is_folder && has_only(&entry.path(), &name, &names).map_err(failed)?;
        if !is_known {
            return refused(&format!("one with `{}` in it, which would be lost", shortened(&name)));
        }
    }
    Ok(())
}

/// Whether a folder has files, all of which are among the `names`, as `folder/file`.
fn has_only(folder: &Path, name: &str, names: &HashSet<String>) -> io::Result<bool> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files += 1;
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        if !entry.file_type()?.is_file() || !names.contains(&inner) {
            return Ok(false);
        }
    }
    Ok(files > 0)
}

/// A folder that is written under a temporary name. It is removed with its contents unless it is published.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    /// A lock that shows that the folder is in use.
    lock: Option<File>,
}

impl TemporaryFolder {
    /// An empty folder next to `target`. It gets the permissions of a folder that it replaces only when it does.
    pub fn new(target: &Path) -> io::Result<TemporaryFolder> {
        let readers = if target.is_dir() { Readers::Owner } else { Readers::Umask };
        let folder = new_folder(target, readers)?;
        // Some systems cannot open a folder, and some file systems have no locks. Then it is not protected.
        let lock = File::open(folder.path()).ok().filter(|file| file.try_lock().is_ok());
        Ok(TemporaryFolder { folder, lock })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves this folder to `target`. A folder that was there is removed, but its permissions and those of its files
    /// are kept. The new files must have been synced.
    pub fn publish(self, target: &Path) -> io::Result<()> {
        let TemporaryFolder { folder, lock } = self;
        if !target.is_dir() {
            sync_folder(folder.path())?;
            fs::rename(folder.path(), target)?;
            // Nothing is left to remove.
            let _ = folder.keep();
            return sync_folder(&folder_of(target));
        }
        keep_access(folder.path(), target)?;
        sync_folder(folder.path())?;
        exchange(folder.path(), target)?;
        sync_folder(&folder_of(target))?;
        // The old folder now has the temporary name. Whatever cannot be removed, the next run removes.
        drop(lock);
        let _ = folder.close();
        Ok(())
    }
}

/// Gives a folder, and those files that the old one has too, the old permissions.
#[cfg(unix)]
fn keep_access(new: &Path, old: &Path) -> io::Result<()> {
    for entry in fs::read_dir(new)? {
        let entry = entry?;
        if let Found::File(metadata) = Found::at(&old.join(entry.file_name()))? {
            access::keep(&File::open(entry.path())?, &metadata)?;
        }
    }
    access::keep(&File::open(new)?, &fs::metadata(old)?)
}

#[cfg(not(unix))]
fn keep_access(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Exchanges two folders.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(()),
            // Some file systems cannot do that.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // For a moment there is no folder at `b`, but nothing is lost.
    let mut aside = a.to_owned().into_os_string();
    aside.push(".old");
    fs::rename(b, &aside)?;
    if let Err(error) = fs::rename(a, b) {
        fs::rename(&aside, b)?;
        return Err(error);
    }
    fs::rename(&aside, a)
}

/// Makes the rename survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    // A folder may be writable but not readable, and some file systems cannot sync one. Then the rename is as durable
    // as the system allows.
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
    use crate::files::remove_abandoned;
    use crate::files::tests::names;

    #[test]
    fn a_folder_has_only_files_that_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let named: HashSet<String> = ["words/a", "words/b", "words/inner"].map(str::to_owned).into();
        let has_only = || has_only(folder.path(), "words", &named).unwrap();
        assert!(!has_only(), "no file");
        fs::write(folder.path().join("a"), "").unwrap();
        assert!(has_only(), "one of two");
        fs::write(folder.path().join("c"), "").unwrap();
        assert!(!has_only(), "a stranger");
        fs::remove_file(folder.path().join("c")).unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        assert!(!has_only(), "a folder");
    }

    #[test]
    fn a_folder_is_made_with_its_parents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        create_folder(&path).unwrap();
        assert!(path.is_dir());
        create_folder(&path).unwrap();
        fs::write(path.join("c"), b"").unwrap();
        let error = create_folder(&path.join("c")).unwrap_err().to_string();
        assert!(error.contains("b/c: cannot make this folder"), "{error}");
    }

    #[test]
    fn a_published_folder_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        for text in ["first", "second"] {
            let temporary = TemporaryFolder::new(&target).unwrap();
            fs::write(temporary.path().join(text), text).unwrap();
            remove_abandoned(&target);
            assert!(temporary.path().exists(), "a folder that is being written stays");
            temporary.publish(&target).unwrap();
            assert_eq!(names(&target), [text]);
            assert_eq!(names(folder.path()), ["index"]);
        }
        let temporary = TemporaryFolder::new(&target).unwrap();
        fs::write(temporary.path().join("third"), "third").unwrap();
        drop(temporary);
        assert_eq!((names(&target), names(folder.path())), (vec!["second".to_owned()], vec!["index".to_owned()]));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_read_by_those_who_could_read_the_old_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (target, plain) = (folder.path().join("index"), folder.path().join("plain"));
        fs::create_dir(&plain).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let write = || {
            let temporary = TemporaryFolder::new(&target).unwrap();
            for name in ["a", "b"] {
                fs::write(temporary.path().join(name), name).unwrap();
            }
            temporary.publish(&target).unwrap();
        };
        write();
        let open = mode(&target.join("b"));
        assert_eq!(mode(&target), mode(&plain), "as the umask has it");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o750)).unwrap();
        fs::set_permissions(target.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
        write();
        assert_eq!([mode(&target), mode(&target.join("a")), mode(&target.join("b"))], [0o750, 0o600, open]);
    }
}
