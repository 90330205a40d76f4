//! A log that loses nothing it acknowledged: lines are appended in groups, each group is synced, and only then is a line
//! acknowledged.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use clickvec_tables::Error;
use clickvec_tables::files::open_private;
use serde_json::json;
use tokio::sync::oneshot;

use crate::error::{Result, no_threads, refuse_special};
use crate::fault::Fault;
use crate::growing::{GrowingFile, end_of_lines, name_aside, put_aside, tell_aside};
use crate::log::{Log, in_groups};

/// Requests that may wait for the disk.
const WAITING: usize = 4096;
/// The time for a disk that is behind.
pub(crate) const LATER: Duration = Duration::from_secs(1);
/// What the service's log calls what it is told of this one.
const EVENT: &str = "clicks";

/// The way to the log.
#[derive(Clone)]
pub(crate) struct Clicks {
    /// `None` is the end.
    posts: SyncSender<Option<Post>>,
}

/// The lines of a request, and the sender of its result.
struct Post {
    lines: Vec<u8>,
    reply: oneshot::Sender<io::Result<()>>,
}

impl Clicks {
    /// Opens the log at `path`. What a kill or another program may have left, such as a last line without its end, is put aside, and the
    /// service's log says so. The thread ends after [`Clicks::end`].
    pub(crate) fn open(path: &Path, rotate: u64, log: Log) -> Result<(Clicks, JoinHandle<()>)> {
        refuse_special(path)?;
        let mut writer = Writer::open(path, rotate, log).map_err(|source| Error::io(path, "open", source))?;
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

    /// Ends the log after the posts so far.
    pub(crate) fn end(&self) {
        let _ = self.posts.send(None);
    }
}

/// The file that lines are appended to.
struct Writer {
    path: PathBuf,
    file: GrowingFile,
    /// The day on which its last line was written.
    day: i64,
    rotate: u64,
    /// The service's log.
    log: Log,
}

/// Returns the number of a day, UTC, counted from 1970.
fn unix_day(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| (since.as_secs() / 86_400) as i64)
}

/// How each line of a log of clicks begins, with `time` or `timestamp`.
const BEGIN: &str = r#"{"time"#;

/// How a file begins.
enum Beginning {
    /// As a log of clicks, of which a kill may have left only a part of a first line.
    Clicks,
    /// With bytes of zero: another program cut the log while it was written to.
    Zeros,
}

/// Reads how a file begins, and refuses one that is no log of clicks.
fn beginning(file: &mut File) -> io::Result<Beginning> {
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(BEGIN.len() as u64).read_to_end(&mut first)?;
    if BEGIN.as_bytes().starts_with(&first) {
        return Ok(Beginning::Clicks);
    }
    if first[0] == 0 {
        return Ok(Beginning::Zeros);
    }
    let found = format!("expected a new file, or a log of clicks whose lines begin with `{BEGIN}`, found another file");
    Err(io::Error::new(io::ErrorKind::InvalidData, found))
}

impl Writer {
    fn open(path: &Path, rotate: u64, log: Log) -> io::Result<Writer> {
        let mut file = open_private(path)?;
        // Two writers would put aside each other's lines.
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::ResourceBusy, "another service writes to it")
            }
            std::fs::TryLockError::Error(error) => error,
        })?;
        let beginning = beginning(&mut file)?;
        // Before anything is cut, which would make it look new.
        let day = unix_day(file.metadata()?.modified()?);
        let mut writer = Writer { path: path.to_owned(), file: GrowingFile { file, size: 0 }, day, rotate, log };
        match beginning {
            Beginning::Clicks => writer.mend()?,
            Beginning::Zeros => {
                let aside = name_aside(path, ".damaged")?;
                tell_aside(&aside, &writer.log, EVENT, "the file begins with bytes of zero");
                writer.move_to(&aside)?;
            }
        }
        writer.file.file.sync_all()?;
        sync_folder(path)?;
        Ok(writer)
    }

    /// Appends the lines of several requests at once, and tells each whether they are on the disk.
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
        self.follow()?;
        let today = unix_day(SystemTime::now());
        let is_large = self.file.size.saturating_add(bytes.len() as u64) > self.rotate;
        if self.file.size > 0 && (is_large || self.day != today) {
            let extension = self.path.extension().map_or(String::new(), |name| format!(".{}", name.to_string_lossy()));
            self.move_to(&name_aside(&self.path, &extension)?)?;
        }
        self.file.write(bytes)?;
        if !self.is_in_a_folder()? {
            // It was deleted meanwhile, and these lines with it.
            self.follow()?;
            self.file.write(bytes)?;
        }
        self.day = today;
        Ok(())
    }

    /// Begins a new file if the old one was deleted or moved away, and looks at what another program may have done to it.
    fn follow(&mut self) -> io::Result<()> {
        if self.file.is_gone(&self.path)? {
            self.log.event(EVENT, json!({"reason": "the file is gone from its place; a new one is begun"}));
            *self = Writer::open(&self.path, self.rotate, self.log.clone())?;
        } else if self.file.is_changed()? {
            self.mend()?;
        }
        Ok(())
    }

    /// Puts a last line without its end into a file of its own, and takes the size of the file.
    fn mend(&mut self) -> io::Result<()> {
        let file = &self.file.file;
        let end = end_of_lines(file)?;
        if end < file.metadata()?.len() {
            put_aside(file, end, &self.path, &self.log, EVENT, "a last line without its end")?;
            file.set_len(end)?;
        }
        self.file.size = end;
        Ok(())
    }

    /// Gives the file another name and begins a new one.
    fn move_to(&mut self, aside: &Path) -> io::Result<()> {
        match std::fs::rename(&self.path, aside) {
            // It was moved away already, with all its lines.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        *self = Writer::open(&self.path, self.rotate, self.log.clone())?;
        Ok(())
    }

    /// Returns whether the file has a name still.
    fn is_in_a_folder(&self) -> io::Result<bool> {
        #[cfg(unix)]
        return Ok(std::os::unix::fs::MetadataExt::nlink(&self.file.file.metadata()?) > 0);
        #[cfg(not(unix))]
        Ok(true)
    }
}

/// Makes a new name in a folder survive a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::growing::PIECE;

    fn append(clicks: &Clicks, line: &str) -> Result<(), Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(clicks.append(line.as_bytes().to_vec()))
    }

    #[test]
    fn a_torn_last_line_is_put_aside_and_whole_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let one = "{\"time\":1}\n";
        let aside = || {
            let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let damaged = entries.filter(|path| path.extension().is_some_and(|extension| extension == "damaged"));
            let text = |path: PathBuf| (std::fs::read_to_string(&path).unwrap(), std::fs::remove_file(path).unwrap()).0;
            damaged.map(text).collect::<Vec<String>>().concat()
        };
        let torn = format!("{one}{{\"tw");
        for (before, rest) in [("", ""), ("{\"ti", ""), (one, one), (&torn, one)] {
            std::fs::write(&path, before).unwrap();
            let (clicks, thread) = Clicks::open(&path, 1 << 20, Log::nowhere()).unwrap();
            append(&clicks, "new\n").unwrap();
            clicks.end();
            thread.join().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{rest}new\n"), "{before:?}");
            assert_eq!(aside(), before[rest.len()..]);
        }
        let long = format!("{one}{}", "x".repeat(3 * PIECE as usize));
        std::fs::write(&path, long).unwrap();
        drop(Writer::open(&path, 1, Log::nowhere()).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), one);
    }

    #[test]
    fn another_file_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("titles.tsv");
        let another_form = "{\"id\":1,\"title\":\"red door\"}\n{\"id\":2}";
        for before in ["id\ttitle\n1\tred door", "\n", "\u{feff}id\n", another_form, "{\"a\":1}"] {
            std::fs::write(&path, before).unwrap();
            let error = Clicks::open(&path, 1 << 20, Log::nowhere()).err().unwrap().to_string();
            assert!(error.contains("or a log of clicks"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
    }

    /// Opening a pipe would wait for a reader, and no signal would end the wait.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for path in [path.as_path(), Path::new("/dev/null")] {
            let clicks = Clicks::open(path, 1 << 20, Log::nowhere()).map(drop).unwrap_err();
            let judgments = crate::sheet::Sheet::open(path).map(drop).unwrap_err();
            for error in [clicks, judgments] {
                assert!(error.to_string().contains("expected a plain file"), "{error}");
            }
        }
    }

    /// What programs that rotate logs do, and people who tidy up, while the service runs.
    #[cfg(unix)]
    #[test]
    fn what_other_programs_do_to_the_file_loses_nothing_acknowledged_later() {
        let line = |name: &str| format!("{{\"time\":\"{name}\"}}\n");
        type Doing = fn(&Path);
        let doings: [(&str, Doing); 6] = [
            ("truncate", |path| File::options().write(true).open(path).unwrap().set_len(0).unwrap()),
            ("cut a line", |path| File::options().write(true).open(path).unwrap().set_len(5).unwrap()),
            ("delete", |path| std::fs::remove_file(path).unwrap()),
            ("move", |path| std::fs::rename(path, path.with_extension("1")).unwrap()),
            ("replace", |path| {
                std::fs::rename(path, path.with_extension("1")).unwrap();
                std::fs::write(path, "").unwrap();
            }),
            ("append", |path| {
                let mut file = File::options().append(true).open(path).unwrap();
                file.write_all(b"{\"time\":\"other\"}\n").unwrap();
            }),
        ];
        for (name, doing) in doings {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("clicks.jsonl");
            let (clicks, thread) = Clicks::open(&path, 1 << 20, Log::nowhere()).unwrap();
            append(&clicks, &line("one")).unwrap();
            doing(&path);
            append(&clicks, &line("two")).unwrap();
            clicks.end();
            thread.join().unwrap();
            let before = if name == "append" { line("one") + &line("other") } else { String::new() };
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before + &line("two"), "{name}");
            Clicks::open(&path, 1 << 20, Log::nowhere()).unwrap().0.end();
        }
    }

    #[test]
    fn a_log_with_a_hole_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let hole = "\0".repeat(100) + "{\"time\":1}\n";
        std::fs::write(&path, &hole).unwrap();
        drop(Writer::open(&path, 1 << 20, Log::nowhere()).unwrap());
        let mut files: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        files.sort_by_key(String::len);
        assert_eq!(files, [String::new(), hole]);
    }

    #[test]
    fn a_large_log_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clicks.jsonl");
        let (clicks, thread) = Clicks::open(&path, 10, Log::nowhere()).unwrap();
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
        let mut writer = Writer::open(&path, 1 << 20, Log::nowhere()).unwrap();
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
        let mut writer = Writer::open(&path, 1 << 20, Log::nowhere()).unwrap();
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
        let (_clicks, _thread) = Clicks::open(&path, 10, Log::nowhere()).unwrap();
        let error = Clicks::open(&path, 10, Log::nowhere()).err().unwrap();
        assert!(error.to_string().contains("another service writes to it"), "{error}");
    }

    #[test]
    fn a_disk_that_refuses_is_told_and_costs_nothing() {
        let path = Path::new("/dev/full");
        if !path.exists() {
            return;
        }
        // It cannot be cut, so the writer is made by hand.
        let file = File::options().read(true).write(true).open(path).unwrap();
        let file = GrowingFile { file, size: 0 };
        let mut writer = Writer { path: path.to_owned(), file, day: 0, rotate: 100, log: Log::nowhere() };
        assert!(writer.append(b"line\n").is_err());
        assert_eq!(writer.file.size, 0);
    }
}
