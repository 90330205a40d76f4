//! Permissions of a file that replaces another: the same people may read it as before.

use std::fs::{File, Metadata};
use std::io;

/// Gives a new file the mode of the file that it replaces and, as far as the system allows, the owner and the group.
#[cfg(unix)]
pub(super) fn keep(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let made = new.metadata()?;
    let mut mode = old.mode() & 0o777;
    if old.gid() != made.gid() && fchown(new, None, Some(old.gid())).is_err() {
        mode = for_another_group(mode);
    }
    if old.uid() != made.uid() {
        // Only root can do this. For other users the file now belongs to the writer, as after any replacement.
        let _ = fchown(new, Some(old.uid()), None);
    }
    new.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// The mode for a file whose group could not be kept: the new group must not get the old group's rights. It gets those
/// of others.
#[cfg(unix)]
fn for_another_group(mode: u32) -> u32 {
    mode & !0o070 | (mode & 0o007) << 3
}

/// Renaming loses nothing here.
#[cfg(not(unix))]
pub(super) fn keep(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn another_group_gets_the_rights_of_others() {
        for (mode, expected) in
            [(0o640, 0o600), (0o644, 0o644), (0o664, 0o644), (0o755, 0o755), (0o770, 0o700), (0o601, 0o611)]
        {
            assert_eq!(for_another_group(mode), expected, "{mode:o}");
        }
    }

    #[test]
    fn a_file_gets_the_mode_owner_and_group_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        let file = File::create(&new).unwrap();
        fs::write(&old, b"").unwrap();
        for mode in [0o600, 0o640, 0o444, 0o755, 0o4755] {
            fs::set_permissions(&old, Permissions::from_mode(mode)).unwrap();
            // Root keeps the owner of other people's files.
            let root = std::os::unix::fs::chown(&old, Some(1), Some(1)).is_ok();
            fs::set_permissions(&old, Permissions::from_mode(mode)).unwrap();
            keep(&file, &fs::metadata(&old).unwrap()).unwrap();
            let found = fs::metadata(&new).unwrap();
            assert_eq!(found.mode() & 0o7777, mode & 0o777);
            assert!(!root || (found.uid(), found.gid()) == (1, 1));
        }
    }
}
