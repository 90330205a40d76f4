//! Access to files: reading plain and compressed text, and writing so that no reader ever sees half a file.

mod access;
mod claim;
mod folder;
mod path;
mod reading;
mod replace;
mod temporary;

pub use claim::Claim;
pub use folder::create_folder;
pub(crate) use folder::{TemporaryFolder, check_replaceable_folder};
pub(crate) use path::open_plain;
pub use path::{Found, folder_of, is_stream, resolved};
pub use reading::{first_bytes, first_line, open};
pub use replace::{Pending, Sealed, check_writable, publish, write_atomically, write_bytes_atomically};
pub(crate) use replace::{check_replaceable, write_for};
pub(crate) use temporary::is_temporary;
pub use temporary::{TEMPORARY_PREFIX, TEMPORARY_SUFFIX, remove_abandoned};

/// Large enough that system calls cost little compared with parsing, and small enough to stay in L2.
const BUFFER_BYTES: usize = 256 * 1024;

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

    /// A named pipe that nobody writes to.
    #[cfg(unix)]
    pub(super) fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}
