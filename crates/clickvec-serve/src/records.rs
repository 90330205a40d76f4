//! The records of people who search: their clicks and their judgments, in one folder.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use clickvec_tables::Error;
use tokio::sync::Mutex;

use crate::clicks::Clicks;
use crate::error::Result;
use crate::log::Log;
use crate::sheet::Sheet;

const CLICKS: &str = "clicks.jsonl";
const JUDGMENTS: &str = "judgments.tsv";
const UBI: [&str; 2] = ["ubi_queries.jsonl", "ubi_events.jsonl"];

/// The files of the folder.
pub(crate) struct Records {
    pub(crate) clicks: Clicks,
    pub(crate) judgments: Arc<Mutex<Sheet>>,
    /// The queries and the events of User Behavior Insights, if they are written.
    pub(crate) ubi: Option<[Clicks; 2]>,
}

impl Records {
    /// Opens the files of a folder, which is made if it is not there. A new log of clicks is begun at `rotate` bytes. The threads
    /// end after [`Records::end`].
    pub(crate) fn open(folder: &Path, ubi: bool, rotate: u64, log: Log) -> Result<(Records, Vec<JoinHandle<()>>)> {
        let mut builder = std::fs::DirBuilder::new();
        // Queries are personal.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(Error::io(folder, "make", error)),
            _ => {}
        }
        let judgments = Arc::new(Mutex::new(Sheet::open_mended(&folder.join(JUDGMENTS), log.clone())?));
        let open = |name: &str| Clicks::open(&folder.join(name), rotate, log.clone());
        let (clicks, writer) = open(CLICKS)?;
        let (mut writers, mut in_ubi) = (vec![writer], None);
        if ubi {
            let [(queries, first), (events, second)] = [open(UBI[0])?, open(UBI[1])?];
            writers.extend([first, second]);
            in_ubi = Some([queries, events]);
        }
        Ok((Records { clicks, judgments, ubi: in_ubi }, writers))
    }

    /// Ends the files after what was recorded so far.
    pub(crate) fn end(&self) {
        self.ubi.iter().flatten().chain([&self.clicks]).for_each(Clicks::end);
    }
}
