//! Replacing a file so that its path always has either all of the old bytes or all of the new ones.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::BUFFER_BYTES;
use super::access;
use super::folder::sync_folder;
use super::path::{Found, folder_of, resolved};
use super::temporary::{Readers, Temporary, link, name, new_named, new_temporary};
use super::{is_folder, no_folder, not_replaceable};
use crate::{Error, Result};

/// Writes a file under a temporary name or none, syncs it and renames it, so that `path` always has either all of the
/// old bytes or all of the new ones. The permissions of the old file are kept.
///
/// A symbolic link is followed. Anything but a plain file (`/dev/stdout`, a named pipe) cannot be replaced by renaming
/// and is written directly.
///
/// # Errors
///
/// Whatever `write` returns, and [`ErrorKind::Io`](crate::ErrorKind::Io) or [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) if the file cannot be created. The temporary
/// file is then removed, and whatever was at `path` is untouched.
pub fn write_atomically<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    write_for(path, path, write)
}

/// [`write_atomically`] of a file that is on its way to `output`: who could read the file there can read this one, and
/// no one else. If there is none at `output`, what is at `path` says who may.
///
/// # Errors
///
/// Those of [`write_atomically`].
pub fn write_for<E: From<Error>>(
    path: &Path,
    output: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut pending = Pending::begin(path, output, new_temporary)?;
    write(pending.writer())?;
    Ok(pending.seal()?.publish()?)
}

/// [`write_atomically`] for bytes that are already in memory.
///
/// # Errors
///
/// Those of [`write_atomically`].
pub fn write_bytes_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes).map_err(|source| Error::io(path, "write", source)))
}

/// A file that is written under a temporary name, or none. If dropped before it is published, it is removed, and
/// whatever was at its path is untouched.
#[derive(Debug)]
pub struct Pending {
    place: Place,
    file: BufWriter<File>,
    temporary: Temporary,
}

/// A file that is written and synced, and has a temporary name or none.
#[derive(Debug)]
pub struct Sealed {
    place: Place,
    // Locked, to show that the temporary file is in use.
    file: File,
    temporary: Temporary,
}

/// The destination of a file.
#[derive(Debug)]
struct Place {
    /// The path as it was given.
    path: PathBuf,
    /// The path after following links.
    target: PathBuf,
    /// Whether a file is there, which is replaced.
    is_taken: bool,
    /// The file whose readers this one gets.
    like: Option<Metadata>,
}

impl Place {
    fn failed(&self, source: io::Error) -> Error {
        Error::io(&self.path, "write", source)
    }
}

impl Pending {
    /// A file without a name until it is published, if the system can do that; otherwise one with a temporary name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch), [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn new(path: &Path) -> Result<Pending> {
        Pending::begin(path, path, new_temporary)
    }

    fn begin(
        path: &Path,
        output: &Path,
        make: impl FnOnce(&Path, Readers) -> io::Result<(File, Temporary)>,
    ) -> Result<Pending> {
        let mut place = Place { path: path.to_owned(), target: resolved(path), is_taken: false, like: None };
        let (file, temporary) = match Found::at(path).map_err(|source| place.failed(source))? {
            Found::Folder => return Err(is_folder(path)),
            Found::Special => {
                let file = File::options().write(true).open(path).map_err(|source| place.failed(source))?;
                (file, Temporary::Straight)
            }
            found @ (Found::File(_) | Found::Nothing) => {
                place.is_taken = matches!(found, Found::File(_));
                let at_output = if output == path {
                    Found::Nothing
                } else {
                    Found::at(output).map_err(|source| place.failed(source))?
                };
                place.like = [at_output, found].into_iter().find_map(|found| match found {
                    Found::File(metadata) => Some(metadata),
                    _ => None,
                });
                let readers = if place.like.is_some() { Readers::Owner } else { Readers::Umask };
                make(&place.target, readers).map_err(|source| place.failed(source))?
            }
        };
        Ok(Pending { place, file: BufWriter::with_capacity(BUFFER_BYTES, file), temporary })
    }

    /// The writer of the contents.
    pub fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.file
    }

    /// The file after what was left in buffers is written and synced. From then on a full disk can do no harm.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn seal(self) -> Result<Sealed> {
        let Pending { place, file, temporary } = self;
        let file = file.into_inner().map_err(|error| place.failed(error.into_error()))?;
        if !matches!(temporary, Temporary::Straight) {
            let copied = place.like.as_ref().map_or(Ok(()), |old| access::keep(&file, old));
            copied.and_then(|()| file.sync_all()).map_err(|source| place.failed(source))?;
        }
        Ok(Sealed { place, file, temporary })
    }
}

impl Sealed {
    /// Moves the file to its path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn publish(self) -> Result<()> {
        let Sealed { place, mut file, temporary } = self;
        let temporary = match temporary {
            Temporary::Straight => return Ok(()),
            Temporary::Named(temporary) => temporary,
            Temporary::Nameless => {
                // If there is nothing to replace, a kill leaves nothing behind at any moment.
                if !place.is_taken && link(&file, &place.target).is_ok() {
                    return sync_folder(&folder_of(&place.target)).map_err(|source| place.failed(source));
                }
                name(&mut file, &place.target).map_err(|source| place.failed(source))?
            }
        };
        temporary.persist(&place.target).map_err(|error| place.failed(error.error))?;
        sync_folder(&folder_of(&place.target)).map_err(|source| place.failed(source))
    }
}

/// Moves a finished file to `path`: syncs it, then renames it.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io); whatever was at `path` is then untouched.
pub fn publish(written: &Path, path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    check_replaceable(path)?;
    let file = File::open(written).map_err(failed)?;
    if let Found::File(old) = Found::at(path).map_err(failed)? {
        access::keep(&file, &old).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    let target = resolved(path);
    fs::rename(written, &target).map_err(failed)?;
    sync_folder(&folder_of(&target)).map_err(failed)
}

/// Checks that a file at `path` could be replaced by renaming: there is none, or a plain one, in an existing folder.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch), [`ErrorKind::Occupied`](crate::ErrorKind::Occupied) or [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn check_replaceable(path: &Path) -> Result<()> {
    let folder = folder_of(&resolved(path));
    if !folder.is_dir() {
        return Err(no_folder(&folder));
    }
    match Found::at(path).map_err(|source| Error::io(path, "write", source))? {
        Found::Folder => Err(is_folder(path)),
        Found::Special => Err(not_replaceable(path)),
        Found::File(_) | Found::Nothing => Ok(()),
    }
}

/// Checks that a file could be written to `path`, by creating a temporary file next to it and removing it again.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) or [`ErrorKind::Io`](crate::ErrorKind::Io); whatever is at `path` is untouched.
pub fn check_writable(path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    let target = resolved(path);
    match Found::at(path).map_err(failed)? {
        Found::Folder => Err(is_folder(path)),
        // Opening a pipe would wait for its reader.
        Found::Special => Ok(()),
        // `new/` names a folder to be, not a file.
        Found::Nothing if [&b"/"[..], b"/."].iter().any(|end| path.as_os_str().as_encoded_bytes().ends_with(end)) => {
            Err(no_folder(path))
        }
        Found::Nothing if !folder_of(&target).is_dir() => Err(no_folder(&folder_of(&target))),
        Found::File(_) | Found::Nothing => {
            // Only a look-up shows whether the file system allows the name and its length.
            Found::at(&target).map_err(failed)?;
            new_named(&target, Readers::Owner).map(drop).map_err(failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::files::remove_abandoned;
    use crate::files::temporary::TEMPORARY_PREFIX;
    use crate::files::tests::names;

    fn named(path: &Path) -> Pending {
        Pending::begin(path, path, new_named).unwrap()
    }

    #[test]
    fn a_written_file_replaces_the_old_one_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes_atomically(&path, b"old").unwrap();
        write_bytes_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["model"]);
        let error = write_bytes_atomically(folder.path(), b"").unwrap_err();
        assert!(error.to_string().ends_with("expected a file, found a folder; name a file inside it"));
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes_atomically(&path, b"old").unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(&vec![7; 2 * BUFFER_BYTES]).unwrap();
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
            let begin = |mut pending: Pending| {
                pending.writer().write_all(text.as_bytes()).unwrap();
                pending
            };
            let before = (fs::read(&path).ok(), names(folder.path()));
            drop(begin(Pending::new(&path).unwrap()));
            drop(begin(Pending::new(&path).unwrap()).seal().unwrap());
            let (pending, sealed) =
                (begin(Pending::new(&path).unwrap()), begin(Pending::new(&path).unwrap()).seal().unwrap());
            // A kill at this point would leave nothing.
            #[cfg(target_os = "linux")]
            assert_eq!((fs::read(&path).ok(), names(folder.path())), before);
            drop(pending);
            sealed.publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
            assert_eq!(names(folder.path()), ["model"]);
        }
        // A system where a file must have a name from the beginning.
        let pending = named(&path);
        assert!(names(folder.path())[0].starts_with(TEMPORARY_PREFIX));
        remove_abandoned(&path);
        pending.seal().unwrap().publish().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (Vec::new(), vec!["model".to_owned()]));
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no").join("model");
        let refused =
            |result: Result<()>, message: &str| assert!(result.unwrap_err().to_string().contains(message), "{message}");
        refused(write_bytes_atomically(&path, b""), "cannot write: ");
        refused(check_writable(&path), "no: expected a folder to write into");
        refused(check_writable(&folder.path().join("no/")), "no/: expected a folder to write into");
        refused(check_writable(folder.path()), "expected a file, found a folder");
        check_writable(&folder.path().join("new")).unwrap();
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn the_longest_name_that_a_file_can_have_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        if File::create(&path).is_err() {
            return;
        }
        check_writable(&path).unwrap();
        for pending in [Pending::new(&path).unwrap(), named(&path)] {
            pending.seal().unwrap().publish().unwrap();
        }
        drop(crate::files::Claim::new(&path).unwrap());
        assert_eq!(names(folder.path()).len(), 1);
        let long = folder.path().join("n".repeat(256));
        assert!(check_writable(&long).is_err() && write_bytes_atomically(&long, b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_links_and_devices_are_as_without_the_temporary_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (plain, path) = (folder.path().join("plain"), folder.path().join("model"));
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let begin: [fn(&Path) -> Pending; 2] = [|path| Pending::new(path).unwrap(), named];
        for begin in begin {
            let _ = fs::remove_file(&path);
            begin(&path).seal().unwrap().publish().unwrap();
            assert_eq!(mode(&path), mode(&plain));
            for private in [0o600, 0o640, 0o400] {
                fs::set_permissions(&path, fs::Permissions::from_mode(private)).unwrap();
                let mut pending = begin(&path);
                // Meanwhile only its owner may read it.
                assert_eq!(pending.writer().get_ref().metadata().unwrap().permissions().mode() & 0o777, 0o600);
                pending.writer().write_all(b"old").unwrap();
                pending.seal().unwrap().publish().unwrap();
                assert_eq!((mode(&path) & 0o777, fs::read(&path).unwrap()), (private, b"old".to_vec()));
            }
        }
        // A file on its way to another place is as private as what it will replace there.
        let partial = folder.path().join("model.partial");
        for _ in 0..2 {
            write_for(&partial, &path, |_| Ok::<(), Error>(())).unwrap();
            assert_eq!(mode(&partial) & 0o777, 0o400);
            fs::set_permissions(&partial, fs::Permissions::from_mode(0o644)).unwrap();
        }
        let written = folder.path().join("written");
        fs::write(&written, b"new").unwrap();
        publish(&written, &path).unwrap();
        assert_eq!((mode(&path) & 0o777, fs::read(&path).unwrap()), (0o400, b"new".to_vec()));

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
        assert_eq!(publish(&plain, &socket).unwrap_err().kind(), ErrorKind::Occupied);
        assert_eq!(publish(&plain, folder.path()).unwrap_err().kind(), ErrorKind::Mismatch);
        assert!(plain.exists());
    }
}
