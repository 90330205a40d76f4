//! What a file or a folder is called while it is written, and how one that a killed process left is found.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::path::{folder_of, resolved};

/// How a temporary file's name begins, so that one left behind by a kill can be recognised and removed.
pub const TEMPORARY_PREFIX: &str = ".clickvec-";
/// How it ends.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

/// A name may have 255 bytes on most systems, and a temporary one is longer than that of its target.
const KEPT_NAME_BYTES: usize = 200;

/// What a file is called while it is written.
#[derive(Debug)]
pub(super) enum Temporary {
    /// It is no plain file, and is written straight.
    Straight,
    /// It has no name yet, and vanishes with the process.
    Nameless,
    /// A sibling of its target.
    Named(tempfile::TempPath),
}

/// Who may read a file while it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Readers {
    /// Its owner alone: it will replace one whose readers are not known yet.
    Owner,
    /// Whoever the umask allows. `tempfile`'s 0600 would make a model unreadable to the server that runs as somebody else.
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

/// The name of a path, short enough that something can be put before and after it.
pub(super) fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.len() <= KEPT_NAME_BYTES {
        return name.into_owned();
    }
    // The hash tells long names apart that begin alike.
    let kept = name.floor_char_boundary(KEPT_NAME_BYTES - 17);
    format!("{}-{:016x}", &name[..kept], xxh3_64(name.as_bytes()))
}

fn prefix(target: &Path) -> String {
    format!("{TEMPORARY_PREFIX}{}-", short_name(target))
}

/// Makes a temporary file next to `target`: one without a name, where the system can give it one later.
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
    // The lock goes with the process: it says that the file is not abandoned. Where there are no locks, none is.
    let _ = file.try_lock();
    Ok((file, Temporary::Named(path)))
}

/// Makes an empty folder next to `target`.
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

/// Gives a file without a name one next to `target`, under which it can replace what is there: a link cannot, a renaming
/// can.
pub(super) fn name(file: &mut File, target: &Path) -> io::Result<tempfile::TempPath> {
    remove_abandoned(target);
    let prefix = prefix(target);
    match builder(&prefix).make_in(folder_of(target), |path| link(file, path)) {
        Ok(named) => Ok(named.into_temp_path()),
        // A file system that makes files without names and cannot name them: then its bytes get another file.
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

/// Removes the temporary files that killed processes left behind while they wrote to `path`; one that is being written
/// is locked and stays. What cannot be removed stays too.
pub fn remove_abandoned(path: &Path) {
    let target = resolved(path);
    let prefix = prefix(&target);
    let Ok(entries) = fs::read_dir(folder_of(&target)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with(&prefix) && name.ends_with(TEMPORARY_SUFFIX);
        // A pipe of such a name is nobody's temporary file, and to open it would wait.
        let kind = entry.file_type().ok().filter(|kind| kind.is_dir() || kind.is_file());
        let Some(kind) = kind.filter(|_| is_ours) else { continue };
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = if kind.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

/// A file without a name, if it can get one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path, readers: Readers) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let mode = Mode::from_raw_mode(readers.mode());
    let file = File::from(open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok()?);
    // For the moment in which it has a temporary name.
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

/// What an open file is called in any case.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The error without the temporary name that `tempfile` puts into it, which says nothing to a user.
fn without_name(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() { error } else { error.kind().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::names;

    #[test]
    fn a_long_name_is_cut_and_stays_itself() {
        assert_eq!(short_name(Path::new("a/model")), "model");
        let long = ["a", "b"].map(|end| short_name(Path::new(&format!("{}{end}", "é".repeat(120)))));
        assert!(long.iter().all(|name| name.len() <= KEPT_NAME_BYTES), "{long:?}");
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
        // A file that has lost its last name cannot be linked any more.
        fs::remove_file(&path).unwrap();
        assert!(link(&file, &target).is_err());
        let path = name(&mut file, &target).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }
}
