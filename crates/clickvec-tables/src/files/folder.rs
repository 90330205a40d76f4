//! Creating folders, and replacing them as a whole.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::claim::Claim;
use super::path::{Found, folder_of, resolved};
use super::temporary::{Readers, new_folder, remove_abandoned};
use super::{BUFFER_BYTES, access, no_folder};
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

/// Checks that a folder may be put at `path`: there is nothing, an empty folder, or one of this `kind` without other files.
/// `names` returns the names of the files of such a folder; `None` if it is not one.
///
/// # Errors
///
/// [`ErrorKind::Occupied`] or [`ErrorKind::Io`].
pub fn check_replaceable_folder(
    path: &Path,
    kind: &'static str,
    names: impl FnOnce(&Path) -> Option<HashSet<String>>,
) -> Result<()> {
    let path = &resolved(path);
    let parent = folder_of(path);
    if !parent.is_dir() {
        return Err(no_folder(&parent));
    }
    let refused = |found: &str| {
        let expected = format!("{kind} to replace, or nothing");
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
        // A folder that is named is replaced with everything in it; of another, each file must be named.
        let is_inside = || match has_only(&entry.path(), &name, &names) {
            // Another process, which changes the index, has removed its own folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            checked => checked.map_err(failed),
        };
        let is_known = names.contains(&name) || is_folder && is_inside()?;
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

/// A function that returns the names of the files of a folder; `None` if the folder is not of its kind.
type FileNames = dyn Fn(&Path) -> Option<HashSet<String>> + Send + Sync;

/// A folder under a temporary name, which is removed when this is dropped. If the process is killed, the next one with the same
/// purpose removes it.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    /// A lock that shows that the folder is in use, and ends with the process. Some systems cannot open a folder, and some file
    /// systems have no locks. Then it is not protected.
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// Creates a folder that only its owner can read, next to a path that tells its purpose.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    pub fn new(purpose: &Path) -> Result<TemporaryFolder> {
        let failed = |source| Error::io(&folder_of(purpose), "make a folder", source);
        TemporaryFolder::beside(purpose, Readers::Owner).map_err(failed)
    }

    fn beside(target: &Path, readers: Readers) -> io::Result<TemporaryFolder> {
        remove_abandoned(target);
        loop {
            let folder = new_folder(target, readers)?;
            // Until it is locked, another process may take it for one that was left, and remove it.
            let lock = match File::open(folder.path()) {
                Ok(file) => match file.try_lock() {
                    Ok(()) => Some(file),
                    Err(TryLockError::WouldBlock) => continue,
                    Err(TryLockError::Error(_)) => None,
                },
                Err(_) => None,
            };
            if folder.path().is_dir() {
                return Ok(TemporaryFolder { folder, _lock: lock });
            }
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A folder that is written beside its path, under a temporary name. If dropped before it is published, it is removed, and
/// whatever was at its path is untouched.
pub struct PendingFolder {
    /// The path as the caller named it.
    path: PathBuf,
    /// The path after following links.
    target: PathBuf,
    kind: &'static str,
    names: Box<FileNames>,
    folder: TemporaryFolder,
    _claim: Claim,
}

impl PendingFolder {
    /// Begins a folder that will be at `path`, where [`check_replaceable_folder`] allows it.
    ///
    /// # Errors
    ///
    /// Those of [`check_replaceable_folder`] and [`Claim::new`]; [`ErrorKind::Io`].
    pub fn new(
        path: &Path,
        kind: &'static str,
        names: impl Fn(&Path) -> Option<HashSet<String>> + Send + Sync + 'static,
    ) -> Result<PendingFolder> {
        let target = resolved(path);
        check_replaceable_folder(&target, kind, &names)?;
        let claim = Claim::new(&target)?;
        // The folder gets the permissions of one that it replaces only when it does.
        let readers = if target.is_dir() { Readers::Owner } else { Readers::Umask };
        let folder = TemporaryFolder::beside(&target, readers).map_err(|source| Error::io(path, "write", source))?;
        Ok(PendingFolder { path: path.to_owned(), target, kind, names: Box::new(names), folder, _claim: claim })
    }

    /// Returns the path that the folder will have, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file while the folder is written.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a file. The caller flushes it.
    pub fn create(&self, name: &str) -> Result<BufWriter<File>> {
        let file = File::options().read(true).write(true).create_new(true).open(self.file(name));
        Ok(BufWriter::with_capacity(BUFFER_BYTES, file.map_err(|source| self.failed(source))?))
    }

    /// Writes a file that consists of these pieces.
    pub fn write(&self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        let mut file = self.create(name)?;
        let written = pieces.iter().try_for_each(|piece| file.write_all(piece)).and_then(|()| file.flush());
        written.map_err(|source| self.failed(source))
    }

    /// Returns the names of the files that were created, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.folder.path()).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|source| self.failed(source))?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the error of a write. It names the final path, because the temporary one would tell a user nothing.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::io(&self.path, "write", source)
    }

    /// Syncs all files and moves the folder to its path in one step. A folder that was there is removed, but its permissions and
    /// those of its files are kept.
    ///
    /// # Errors
    ///
    /// Those of [`check_replaceable_folder`]; [`ErrorKind::Io`]. Whatever was at the path is then untouched.
    pub fn publish(self) -> Result<()> {
        // Much may have changed since the first check.
        check_replaceable_folder(&self.target, self.kind, &self.names)?;
        let PendingFolder { path, target, folder, _claim, .. } = self;
        publish(folder, &target).map_err(|source| Error::io(&path, "write", source))
    }
}

fn publish(folder: TemporaryFolder, target: &Path) -> io::Result<()> {
    let TemporaryFolder { folder, _lock: lock } = folder;
    if !target.is_dir() {
        sync_contents(folder.path())?;
        fs::rename(folder.path(), target)?;
        // Nothing is left to remove.
        let _ = folder.keep();
        return sync_folder(&folder_of(target));
    }
    keep_access(folder.path(), target)?;
    sync_contents(folder.path())?;
    exchange(folder.path(), target)?;
    sync_folder(&folder_of(target))?;
    // The old folder now has the temporary name. Whatever cannot be removed, the next run removes.
    drop(lock);
    let _ = folder.close();
    Ok(())
}

/// Syncs a folder and everything in it.
fn sync_contents(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_contents(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_folder(folder)
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
    use crate::files::tests::names;

    #[test]
    fn temporary_folders_at_once_do_not_remove_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let purpose = folder.path().join("model");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let folder = TemporaryFolder::new(&purpose).unwrap();
                        fs::write(folder.path().join("model"), b"text").unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn a_temporary_folder_removes_those_of_killed_processes() {
        let folder = tempfile::tempdir().unwrap();
        let purpose = folder.path().join("model");
        let in_use = TemporaryFolder::new(&purpose).unwrap();
        let killed = TemporaryFolder::new(&purpose).unwrap().folder.keep();
        fs::write(killed.join("model"), b"left").unwrap();
        let next = TemporaryFolder::new(&purpose).unwrap();
        assert!(!killed.exists());
        assert!(in_use.path().is_dir() && next.path().is_dir());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists());
    }

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

    /// Begins a folder whose files are named in the file `list`.
    fn listed(target: &Path) -> Result<PendingFolder> {
        PendingFolder::new(target, "a list", |folder| {
            let list = fs::read_to_string(folder.join("list")).ok()?;
            Some(list.lines().map(str::to_owned).chain(["list".to_owned()]).collect())
        })
    }

    #[test]
    fn a_published_folder_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        for text in ["first", "second"] {
            let pending = listed(&target).unwrap();
            pending.write(text, &[text.as_bytes()]).unwrap();
            pending.write("list", &[pending.names().unwrap().join("\n").as_bytes()]).unwrap();
            remove_abandoned(&target);
            assert!(pending.file(text).exists(), "a folder that is being written stays");
            pending.publish().unwrap();
            assert_eq!(names(&target), if text < "list" { [text, "list"] } else { ["list", text] });
            assert_eq!(names(folder.path()), ["index"]);
        }
        drop(listed(&target).unwrap());
        assert_eq!(
            (names(&target), names(folder.path())),
            (vec!["list".into(), "second".into()], vec!["index".into()])
        );
    }

    #[test]
    fn a_folder_has_one_writer_and_loses_no_file_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        let pending = listed(&target).unwrap();
        assert_eq!(listed(&target).err().unwrap().kind(), ErrorKind::Busy);
        // Another process puts a file there meanwhile.
        fs::create_dir(&target).unwrap();
        fs::write(target.join("own"), "own").unwrap();
        assert_eq!(pending.publish().unwrap_err().kind(), ErrorKind::Occupied);
        assert_eq!((names(&target), names(folder.path())), (vec!["own".into()], vec!["index".into()]));
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
            let pending = listed(&target).unwrap();
            for name in ["a", "b"] {
                pending.write(name, &[]).unwrap();
            }
            pending.write("list", &[b"a\nb"]).unwrap();
            pending.publish().unwrap();
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
