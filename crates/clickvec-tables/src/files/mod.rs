//! Access to files: reading plain and compressed text, and writing so that no reader ever sees half a file.

mod access;
mod claim;
mod folder;
mod path;
mod reading;
mod replace;
mod temporary;

pub use claim::Claim;
pub use folder::{PendingFolder, TemporaryFolder, check_replaceable_folder, create_folder};
pub use path::{Found, folder_of, is_open_at, is_same_file, is_stream, open_plain, open_private, resolved};
pub use reading::{first_bytes, first_line, open};
pub use replace::{Pending, Sealed, check_replaceable, check_writable};
pub use replace::{publish, write_atomically, write_bytes_atomically, write_for};
pub use temporary::{is_temporary, os_error, remove_abandoned};

use std::path::Path;

use crate::{Error, ErrorKind};

/// Large enough that system calls cost little compared with parsing, and small enough to stay in L2.
const BUFFER_BYTES: usize = 256 * 1024;

/// Creates the error of a folder where a file should be.
pub fn is_folder(path: &Path) -> Error {
    Error::expected(ErrorKind::Mismatch, "a file", "a folder").help("name a file inside it").at(path)
}

/// Creates the error of a missing folder to write into.
pub fn no_folder(path: &Path) -> Error {
    Error::expected(ErrorKind::Io, "a folder to write into", "none").help("make it first").at(path)
}

/// Creates the error of a pipe, a device or the like where a file must be mapped or read in any order.
pub fn not_plain(path: &Path) -> Error {
    Error::expected(ErrorKind::Mismatch, "a plain file", "a pipe, a device or the like")
        .help("save what comes from it as a file first")
        .at(path)
}

/// Creates the error of an output that exists and is not an ordinary file.
pub fn not_replaceable(path: &Path) -> Error {
    Error::expected(ErrorKind::Occupied, "an ordinary file or none", "a device, a pipe or the like")
        .help("name another output")
        .at(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// What is in a folder, sorted.
    pub(super) fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A named pipe without a writer.
    #[cfg(unix)]
    pub(super) fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}
