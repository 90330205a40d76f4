//! The processes that train one model together, if there are several: which of them this one is, and where it writes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use clickvec::train::{Ranks, written_paths};
use clickvec::{Error, ErrorKind};
use clickvec_eval::training::held_out_path;
use clickvec_tables::files::TemporaryFolder;

static RANKS: OnceLock<Arc<dyn Ranks>> = OnceLock::new();

/// The channel of files, beyond those of the library.
const FILES: u32 = 100;

/// The bytes of a file that are sent at a time.
const PIECE: usize = 16 << 20;

/// Says that this process is one of several.
pub(crate) fn set(ranks: Arc<dyn Ranks>) {
    RANKS.get_or_init(|| ranks);
}

/// Returns the processes that train together, if there are several.
pub(crate) fn get() -> Option<&'static Arc<dyn Ranks>> {
    RANKS.get().filter(|ranks| ranks.size() > 1)
}

/// Returns the number of this process if it is not the first of several, which alone prints and writes the model.
pub(crate) fn follower() -> Option<usize> {
    get().map(|ranks| ranks.rank()).filter(|&rank| rank > 0)
}

/// Returns the error of a command that ranks do not divide.
pub(crate) fn refuse() -> anyhow::Error {
    let expected = "`train`, the command that several ranks divide";
    let error = Error::expected(ErrorKind::Setting, expected, "another command");
    error.help("run it once, without mpirun").into()
}

/// The output of a process that is not the first: in a folder that goes with it, on a disk of its own machine.
pub(crate) struct Private {
    _folder: TemporaryFolder,
    pub(crate) output: PathBuf,
}

/// Returns the private output of this process, if it is not the first of several. To resume a training, it has copies of what the first
/// one has at and next to `output`.
pub(crate) fn private(output: &Path, resume: bool) -> Result<Option<Private>> {
    let Some(ranks) = get() else { return Ok(None) };
    let private = follower().map(|_| Private::new()).transpose()?;
    let output = private.as_ref().map_or(output, |private| &private.output);
    if resume {
        for path in [output.to_owned(), held_out_path(output)].iter().flat_map(|path| written_paths(path)) {
            match &private {
                None => send(&**ranks, &path)?,
                Some(_) => receive(&**ranks, &path)?,
            }
        }
    }
    Ok(private)
}

impl Private {
    fn new() -> Result<Private> {
        let folder = TemporaryFolder::new(&std::env::temp_dir().join("rank"))?;
        Ok(Private { output: folder.path().join("model.safetensors"), _folder: folder })
    }
}

/// Sends a file to the next rank: pieces that begin with their numbers of bytes, and one without bytes at the end. Without such a
/// file, only an empty message.
fn send(ranks: &dyn Ranks, path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "read", source);
    if !path.is_file() {
        return Ok(ranks.send(1, FILES, Vec::new())?);
    }
    let file = fs::File::open(path).map_err(failed)?;
    loop {
        let mut bytes = Vec::new();
        (&file).take(PIECE as u64).read_to_end(&mut bytes).map_err(failed)?;
        let count = f32::from_bits(bytes.len() as u32);
        let is_end = bytes.is_empty();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let numbers = bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        ranks.send(1, FILES, [count].into_iter().chain(numbers).collect())?;
        if is_end {
            return Ok(());
        }
    }
}

/// Writes the file that the first rank has sent, if it has one, and passes it on.
fn receive(ranks: &dyn Ranks, path: &Path) -> Result<()> {
    let failed = |source| Error::io(path, "write", source);
    let mut file = None;
    loop {
        let message = ranks.receive(ranks.rank() - 1, FILES)?;
        if ranks.rank() + 1 < ranks.size() {
            ranks.send(ranks.rank() + 1, FILES, message.clone())?;
        }
        let Some((count, numbers)) = message.split_first() else { return Ok(()) };
        let file = match &mut file {
            Some(file) => file,
            none => none.insert(fs::File::create(path).map_err(failed)?),
        };
        let count = count.to_bits() as usize;
        if count == 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).take(count).collect();
        file.write_all(&bytes).map_err(failed)?;
    }
}
