//! A run: ordered groups in an unnamed file.
//!
//! Numbers are LEB128, and texts are a length and their bytes. A query has its text, its users by part and the number
//! of titles; a title has its text and the number of cells; a cell has part, position, shown and clicks. The same
//! process wrote the file and no other can open it, so a fault in it can only come from the disk.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::group::{Cell, QueryGroup, TitleGroup};
use crate::error::{READ_TEMPORARY, WRITE_TEMPORARY};
use crate::{Error, Result};

/// Large enough that system calls cost little compared with the work.
const BUFFER_BYTES: usize = 256 * 1024;

/// A run that is complete.
pub(super) struct Run {
    file: File,
    folder: PathBuf,
    groups: u64,
}

pub(super) struct RunWriter {
    file: BufWriter<File>,
    folder: PathBuf,
    groups: u64,
}

/// A reader of a run.
pub struct RunReader {
    file: BufReader<File>,
    folder: PathBuf,
    left: u64,
}

impl RunWriter {
    pub(super) fn new(folder: &Path) -> Result<RunWriter> {
        let file = tempfile::tempfile_in(folder);
        let file = file.map_err(|source| Error::io(folder, WRITE_TEMPORARY, source))?;
        Ok(RunWriter { file: BufWriter::with_capacity(BUFFER_BYTES, file), folder: folder.to_owned(), groups: 0 })
    }

    pub(super) fn write(&mut self, group: &QueryGroup) -> Result<()> {
        self.groups += 1;
        put(&mut self.file, group).map_err(|source| Error::io(&self.folder, WRITE_TEMPORARY, source))
    }

    pub(super) fn finish(self) -> Result<Run> {
        let failed = |source| Error::io(&self.folder, WRITE_TEMPORARY, source);
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(Run { file, folder: self.folder, groups: self.groups })
    }
}

impl Run {
    pub(super) fn read(&self) -> Result<RunReader> {
        let failed = |source| Error::io(&self.folder, READ_TEMPORARY, source);
        let mut file = self.file.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(RunReader { file, folder: self.folder.clone(), left: self.groups })
    }
}

impl RunReader {
    /// Reads the next query into `group`, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Io`].
    pub fn next(&mut self, group: &mut QueryGroup) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        get(&mut self.file, group).map_err(|source| Error::io(&self.folder, READ_TEMPORARY, source))?;
        Ok(true)
    }
}

fn put(file: &mut impl Write, group: &QueryGroup) -> io::Result<()> {
    put_text(file, &group.query)?;
    put_number(file, group.users.len() as u64)?;
    group.users.iter().try_for_each(|user| file.write_all(&user.to_le_bytes()))?;
    put_number(file, group.titles.len() as u64)?;
    for title in &group.titles {
        put_text(file, &title.title)?;
        put_number(file, title.cells.len() as u64)?;
        for cell in &title.cells {
            for number in [u64::from(cell.position), cell.shown, cell.clicks] {
                put_number(file, number)?;
            }
        }
    }
    Ok(())
}

fn get(file: &mut impl Read, group: &mut QueryGroup) -> io::Result<()> {
    get_text(file, &mut group.query)?;
    group.users.clear();
    for _ in 0..get_number(file)? {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        group.users.push(u64::from_le_bytes(bytes));
    }
    let titles = get_number(file)? as usize;
    group.titles.truncate(titles);
    for place in 0..titles {
        if group.titles.len() == place {
            group.titles.push(TitleGroup::default());
        }
        let title = &mut group.titles[place];
        get_text(file, &mut title.title)?;
        title.cells.clear();
        for _ in 0..get_number(file)? {
            let position = get_number(file)? as u16;
            title.cells.push(Cell { position, shown: get_number(file)?, clicks: get_number(file)? });
        }
    }
    Ok(())
}

fn put_text(file: &mut impl Write, text: &[u8]) -> io::Result<()> {
    put_number(file, text.len() as u64)?;
    file.write_all(text)
}

fn get_text(file: &mut impl Read, text: &mut Vec<u8>) -> io::Result<()> {
    let length = get_number(file)? as usize;
    text.clear();
    text.resize(length, 0);
    file.read_exact(text)
}

pub(super) fn put_number(file: &mut impl Write, mut number: u64) -> io::Result<()> {
    let mut bytes = [0; 10];
    let mut length = 0;
    while number >= 0x80 {
        bytes[length] = number as u8 | 0x80;
        number >>= 7;
        length += 1;
    }
    bytes[length] = number as u8;
    file.write_all(&bytes[..=length])
}

pub(super) fn get_number(file: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
