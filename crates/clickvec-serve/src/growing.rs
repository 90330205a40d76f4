//! A file that grows by lines, and what other programs do to it meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{is_open_at, open_private};
use serde_json::json;

use crate::clock::timestamp;
use crate::log::Log;

/// A torn line is looked for in pieces of this size.
pub(crate) const PIECE: u64 = 64 * 1024;

/// A file that this process appends to.
pub(crate) struct GrowingFile {
    pub(crate) file: File,
    /// Its size after the last line.
    pub(crate) size: u64,
}

impl GrowingFile {
    /// Opens a file that has `size` bytes as far as this process knows. A new one can be read by its owner alone.
    pub(crate) fn open(path: &Path, size: u64) -> io::Result<GrowingFile> {
        Ok(GrowingFile { file: open_private(path)?, size })
    }

    /// Appends to the file and syncs it. What got through of lines that did not is cut off.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.size += bytes.len() as u64,
            Err(_) => self.file.set_len(self.size)?,
        }
        written
    }

    /// Returns whether the file was deleted, moved away or replaced.
    pub(crate) fn is_gone(&self, path: &Path) -> io::Result<bool> {
        Ok(!is_open_at(&self.file, path)?)
    }

    /// Returns whether another program has cut the file or written to it.
    pub(crate) fn is_changed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() != self.size)
    }
}

/// Copies what a file has from a position on into a file of its own next to it, and tells the service's log as `event`.
pub(crate) fn put_aside(
    mut file: &File,
    from: u64,
    path: &Path,
    log: &Log,
    event: &str,
    reason: &str,
) -> io::Result<PathBuf> {
    let aside = name_aside(path, ".damaged")?;
    file.seek(SeekFrom::Start(from))?;
    let mut copy = open_private(&aside)?;
    io::copy(&mut file, &mut copy)?;
    copy.sync_all()?;
    tell_aside(&aside, log, event, reason);
    Ok(aside)
}

/// Tells the service's log which file has what was put aside.
pub(crate) fn tell_aside(aside: &Path, log: &Log, event: &str, reason: &str) {
    let name = aside.file_name().unwrap_or_default().to_string_lossy();
    log.event(event, json!({"reason": reason, "put_aside": name}));
}

/// Returns a new name for a part of a file, with the time.
pub(crate) fn name_aside(path: &Path, extension: &str) -> io::Result<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let time = timestamp().strftime("%Y%m%dT%H%M%SZ").to_string();
    (0..u32::MAX)
        .map(|number| match number {
            0 => format!("{stem}-{time}{extension}"),
            _ => format!("{stem}-{time}-{number}{extension}"),
        })
        .map(|name| path.with_file_name(name))
        .find(|path| !path.exists())
        .ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Returns the end of the last complete line.
pub(crate) fn end_of_lines(mut file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        piece.clear();
        file.seek(SeekFrom::Start(start))?;
        file.take(end - start).read_to_end(&mut piece)?;
        if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
