//! What a service records of the people who search: their clicks and their judgments, in one folder.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::thread::JoinHandle;

use clickvec_tables::Error;

use crate::clicks::Clicks;
use crate::error::Result;
use crate::sheet::Sheet;

const CLICKS: &str = "clicks.jsonl";
const JUDGMENTS: &str = "judgments.tsv";

/// The files of the folder.
pub(crate) struct Records {
    pub(crate) clicks: Clicks,
    pub(crate) judgments: Mutex<Sheet>,
}

impl Records {
    /// Opens the files of a folder, which is made if it is not there. A new log of clicks is begun at `rotate` bytes. The thread
    /// ends after [`Clicks::end`].
    pub(crate) fn open(folder: &Path, rotate: u64) -> Result<(Records, JoinHandle<()>)> {
        let mut builder = std::fs::DirBuilder::new();
        // Queries are personal.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(Error::io(folder, "make", error)),
            _ => {}
        }
        let judgments = Mutex::new(Sheet::open(&folder.join(JUDGMENTS))?);
        let (clicks, writer) = Clicks::open(&folder.join(CLICKS), rotate)?;
        Ok((Records { clicks, judgments }, writer))
    }
}
