//! A log that loses nothing it acknowledged: lines are appended in groups, each group is synced, and only then is a line
//! acknowledged.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use clickvec_tables::Error;
use tokio::sync::oneshot;

use crate::error::{Result, no_threads, refuse_special};
use crate::fault::Fault;
use crate::log::in_groups;

/// Requests that may wait for the disk.
const WAITING: usize = 4096;
/// A disk that is behind is given this time.
const LATER: Duration = Duration::from_secs(1);
/// A torn line is looked for in pieces of this size.
const PIECE: u64 = 64 * 1024;

/// The way to the log.
#[derive(Clone)]
pub(crate) struct Clicks {
    /// `None` is the end.
    posts: SyncSender<Option<Post>>,
}

/// The lines of a request, and where their fate is told.
struct Post {
    lines: Vec<u8>,
    reply: oneshot::Sender<io::Result<()>>,
}

impl Clicks {
    /// Opens the log at `path` and mends what a kill may have left: a last line without its end, which was never
    /// acknowledged, is cut off. The thread ends after [`Clicks::end`].
    pub(crate) fn open(path: &Path, rotate: u64) -> Result<(Clicks, JoinHandle<()>)> {
        refuse_special(path)?;
        let mut writer = Writer::open(path, rotate).map_err(|source| Error::io(path, "open", source))?;
        let (posts, received) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("clicks".to_owned()).spawn(move || {
            in_groups(&received, |posts| writer.append_all(posts));
        });
        Ok((Clicks { posts }, thread.map_err(no_threads)?))
    }

    /// Appends lines, each with its end, all or none. When this returns, they are on the disk.
    pub(crate) async fn append(&self, lines: Vec<u8>) -> Result<(), Fault> {
        let (reply, written) = oneshot::channel();
        if let Err(TrySendError::Full(_)) = self.posts.try_send(Some(Post { lines, reply })) {
            return Err(Fault::overloaded("room for clicks", "too many that wait for the disk", LATER));
        }
        let written = written.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        written.map_err(|error| Fault::not_written("click", &error))
    }

    /// Ends the log after what it has so far.
    pub(crate) fn end(&self) {
        let _ = self.posts.send(None);
    }
}

/// The file that lines are appended to.
struct Writer {
    path: PathBuf,
    file: File,
    /// Its size. What is behind it is of a group that failed.
    size: u64,
    /// The day on which its last line was written.
    day: i64,
    rotate: u64,
}

/// Returns the number of a day, UTC, counted from 1970.
fn unix_day(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| (since.as_secs() / 86_400) as i64)
}

/// How each line of a log of clicks begins.
const BEGIN: &str = r#"{"time":"#;

/// Refuses a file that is no log of clicks, which would lose its last line and get lines of another kind. A kill may have left
/// only a part of a first line.
fn refuse_others(file: &mut File) -> io::Result<()> {
    let mut first = Vec::new();
    file.take(BEGIN.len() as u64).read_to_end(&mut first)?;
    if BEGIN.as_bytes().starts_with(&first) {
        return Ok(());
    }
    let found = format!("expected a new file, or a log of clicks whose lines begin with `{BEGIN}`, found another file");
    Err(io::Error::new(io::ErrorKind::InvalidData, found))
}

impl Writer {
    fn open(path: &Path, rotate: u64) -> io::Result<Writer> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        // Two writers would cut off each other's lines.
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::ResourceBusy, "another service writes to it")
            }
            std::fs::TryLockError::Error(error) => error,
        })?;
        refuse_others(&mut file)?;
        let size = end_of_lines(&mut file)?;
        // Before it is cut, which would make it look new.
        let day = unix_day(file.metadata()?.modified()?);
        file.set_len(size)?;
        file.sync_all()?;
        sync_folder(path)?;
        Ok(Writer { path: path.to_owned(), file, size, day, rotate })
    }

    /// Appends the lines of several requests at once, and tells each what came of it.
    fn append_all(&mut self, posts: Vec<Post>) {
        let bytes: Vec<u8> = posts.iter().flat_map(|post| &post.lines).copied().collect();
        let done = self.append(&bytes);
        for Post { reply, .. } in posts {
            let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
            let _ = reply.send(done.as_ref().copied().map_err(copy));
        }
    }

    /// Appends and syncs; if that fails, the file has what it had.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let today = unix_day(SystemTime::now());
        let is_large = self.size.saturating_add(bytes.len() as u64) > self.rotate;
        if self.size > 0 && (is_large || self.day != today) {
            self.put_aside()?;
        }
        let written = self.write(bytes);
        match written {
            Ok(()) => {
                self.size += bytes.len() as u64;
                self.day = today;
            }
            // What got through is cut off now, or else by the next group, which begins at the same position.
            Err(_) => self.file.set_len(self.size)?,
        }
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.size))?;
        self.file.write_all(bytes)?;
        // A shorter group must leave nothing of a longer one that failed.
        self.file.set_len(self.size + bytes.len() as u64)?;
        self.file.sync_data()
    }

    /// Gives the file a name with the time, and begins a new one: when it is large, and for each day.
    fn put_aside(&mut self) -> io::Result<()> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let extension =
            self.path.extension().map_or(String::new(), |extension| format!(".{}", extension.to_string_lossy()));
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let aside = (0..u32::MAX)
            .map(|number| match number {
                0 => format!("{stem}-{time}{extension}"),
                _ => format!("{stem}-{time}-{number}{extension}"),
            })
            .map(|name| self.path.with_file_name(name))
            .find(|path| !path.exists());
        let aside = aside.ok_or(io::ErrorKind::AlreadyExists)?;
        match std::fs::rename(&self.path, aside) {
            // It was moved away already, with all its lines.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        *self = Writer::open(&self.path, self.rotate)?;
        Ok(())
    }
}

/// Returns where the last complete line ends.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        piece.clear();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut piece)?;
        if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Makes a new name in a folder survive a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(clicks: &Clicks, line: &str) -> Result<(), Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(clicks.append(line.as_bytes().to_vec()))
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_whole_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let one = "{\"time\":1}\n";
        let torn = format!("{one}{{\"tw");
        for (before, rest) in [("", ""), ("{\"ti", ""), (one, one), (&torn, one)] {
            std::fs::write(&path, before).unwrap();
            let (clicks, thread) = Clicks::open(&path, 1 << 20).unwrap();
            append(&clicks, "new\n").unwrap();
            clicks.end();
            thread.join().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{rest}new\n"), "{before:?}");
        }
        let long = format!("{one}{}", "x".repeat(3 * PIECE as usize));
        std::fs::write(&path, long).unwrap();
        drop(Writer::open(&path, 1).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), one);
    }

    #[test]
    fn another_file_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("titles.tsv");
        let another_form = "{\"id\":1,\"title\":\"red door\"}\n{\"id\":2}";
        for before in ["id\ttitle\n1\tred door", "\n", "\u{feff}id\n", another_form, "{\"a\":1}"] {
            std::fs::write(&path, before).unwrap();
            let error = Clicks::open(&path, 1 << 20).err().unwrap().to_string();
            assert!(error.contains("or a log of clicks"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
    }

    /// Opening a pipe would wait for a reader, and no signal would end that.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for path in [path.as_path(), Path::new("/dev/null")] {
            let clicks = Clicks::open(path, 1 << 20).map(drop).unwrap_err();
            let judgments = crate::sheet::Sheet::open(path).map(drop).unwrap_err();
            for error in [clicks, judgments] {
                assert!(error.to_string().contains("expected a plain file"), "{error}");
            }
        }
    }

    #[test]
    fn a_large_log_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let (clicks, thread) = Clicks::open(&path, 10).unwrap();
        for line in ["first\n", "second\n", "third\n", "a line that is longer than the limit\n"] {
            append(&clicks, line).unwrap();
        }
        clicks.end();
        thread.join().unwrap();
        let mut all: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        all.sort();
        assert_eq!(all, ["a line that is longer than the limit\n", "first\n", "second\n", "third\n"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a line that is longer than the limit\n");
    }

    #[test]
    fn each_day_has_its_own_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        std::fs::write(&path, "{\"time\":\"yesterday\"}\n").unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        File::options().write(true).open(&path).unwrap().set_modified(yesterday).unwrap();
        let mut writer = Writer::open(&path, 1 << 20).unwrap();
        writer.append(b"of today\n").unwrap();
        writer.append(b"also of today\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of today\nalso of today\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        std::fs::write(&path, "{\"time\":\"tomorrow\"}\n").unwrap();
        let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
        File::options().write(true).open(&path).unwrap().set_modified(tomorrow).unwrap();
        let mut writer = Writer::open(&path, 1 << 20).unwrap();
        writer.append(b"of today\n").unwrap();
        // Set back while it runs: each change of the day is one file more, and no name is taken twice.
        for day in [writer.day + 1, 0, i64::MAX] {
            writer.day = day;
            writer.append(b"again\n").unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<String> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        all.sort();
        assert_eq!(all, ["again\n", "again\n", "again\n", "of today\n", "{\"time\":\"tomorrow\"}\n"]);
    }

    #[test]
    fn a_second_writer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let (_clicks, _thread) = Clicks::open(&path, 10).unwrap();
        let error = Clicks::open(&path, 10).err().unwrap();
        assert!(error.to_string().contains("another service writes to it"), "{error}");
    }

    #[test]
    fn a_disk_that_refuses_is_told_and_costs_nothing() {
        let path = Path::new("/dev/full");
        if !path.exists() {
            return;
        }
        // It cannot be cut, so the writer is made by hand.
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut writer = Writer { path: path.to_owned(), file, size: 0, day: 0, rotate: 100 };
        assert!(writer.append(b"line\n").is_err());
        assert_eq!(writer.size, 0);
    }
}
