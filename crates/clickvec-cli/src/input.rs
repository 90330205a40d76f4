//! Inputs that several commands read.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Result, ensure};
use clickvec::tables::{self, RowFault, Skipped, TitleFile, Titles, TitlesSummary};
use clickvec_eval::{Judgments, ReadCorpus, TestSetFiles};
use clickvec_tables::files;
use clickvec_tables::shown::{NOT_UTF_8, UTF_16};
use clickvec_tables::table::{MAX_LINE_BYTES, is_utf16};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{FoundLine, Lines as BoundedLines};

use crate::{console, test_set};

/// The number of lines that may wait to be taken.
const WAITING_LINES: usize = 8_192;

/// Reads a test set that is a single file, with the texts of the column `field`. It must not be empty.
pub(crate) fn judgments(path: &Path, field: &str) -> Result<Judgments> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field };
    Ok(test_set::read(&files)?.judgments)
}

/// Reads a collection, with the texts of the column `field`. It must not be empty.
pub(crate) fn titles(titles: impl Into<Titles>, field: &str) -> Result<Vec<tables::Title>> {
    let TitleFile { path, titles, skipped, untitled, with_entities } = tables::read_titles(titles, field)?;
    note_titles(&TitlesSummary { path, titles: titles.len() as u64, skipped, untitled, with_entities })?;
    Ok(titles)
}

/// Passes on the titles of a collection one by one, with the texts of the column `field` and the values of the columns `stored`.
/// It must not be empty.
pub(crate) fn each_document(
    titles: &Titles,
    field: &str,
    stored: &[String],
    each: impl FnMut(tables::Title, &[&str]) -> Result<()>,
) -> Result<()> {
    note_titles(&tables::for_each_document(titles, field, stored, each)?)
}

/// Reports what was left out of a table of titles, and what was decoded; too much left out, or no titles, are an error.
fn note_titles(read: &TitlesSummary) -> Result<()> {
    let TitlesSummary { path, titles, skipped, untitled, with_entities } = read;
    note_skipped(path, skipped);
    ensure!(
        *titles > 0,
        "{}: expected titles below the header, found none; see docs/reference/tables.md",
        path.display()
    );
    refuse_mostly_broken(path, "titles", *titles, skipped.count)?;
    note_untitled(path, *untitled);
    test_set::note_entities(path, *with_entities);
    Ok(())
}

fn note_untitled(path: &Path, untitled: u64) {
    if untitled > 0 {
        let untitled = console::counted(untitled, "document");
        console::note(format_args!("{}: {untitled} without a title; the text is used instead", path.display()));
    }
}

/// Reports how many titles have no vector, and how many of them no words either.
pub(crate) fn note_without_vector(titles: u64, without_words: u64) {
    if titles > without_words {
        let titles = console::counted(titles - without_words, "title");
        console::note(format_args!("{titles} found by words alone: the model knows none of their words"));
    }
    if without_words > 0 {
        let titles = console::counted(without_words, "title");
        console::note(format_args!("{titles} without any word: no search finds them"));
    }
}

/// Reports which lines of a table were left out.
pub(crate) fn note_skipped(path: &Path, skipped: &Skipped) {
    let path = console::input(path);
    if skipped.headers > 0 {
        let headers = console::counted(skipped.headers, "repeated header");
        console::note(format_args!("{path}: left out {headers}"));
    }
    if skipped.count == 0 {
        return;
    }
    console::note(format_args!("{path}: skipped {}:", console::counted(skipped.count, "broken line")));
    for line in &skipped.first {
        console::note(format_args!("  {path}:{}: {}", line.line, line.reason));
    }
    let more = skipped.count - skipped.first.len() as u64;
    if more > 0 {
        console::note(format_args!("  and {} more", console::count(more)));
    }
    // A conversion would keep them.
    if skipped.not_utf8 > 0 {
        console::note(format_args!(
            "warning: {path}: {} {} not UTF-8 and lost; {NOT_UTF_8} and run this again",
            console::counted(skipped.not_utf8, "line"),
            console::agreeing(skipped.not_utf8, "is", "are")
        ));
    }
}

/// Refuses a table with more broken lines than good ones. `what` says what it should be.
pub(crate) fn refuse_mostly_broken(path: &Path, what: &str, good: u64, broken: u64) -> Result<()> {
    ensure!(
        broken <= good,
        "{}: expected a table of {what}, found {} of {}; fix them first",
        console::input(path),
        console::counted(broken, "broken line"),
        console::count(broken + good)
    );
    Ok(())
}

/// Reports what was left out of a corpus and, if no collection was named, what serves as one: the titles of `--clicks` and `--judged`.
pub(crate) fn note_corpus(read: &ReadCorpus) {
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        note_skipped(path, skipped);
    }
    match &read.titles {
        Some((path, _)) => note_untitled(path, read.untitled),
        None => console::note(format_args!(
            "the collection is the {} in {}--judged; name the whole one with --titles",
            console::counted(read.collection, "distinct title"),
            if read.clicks.is_some() { "--clicks and " } else { "" },
        )),
    }
}

/// The lines of a text file, or of standard input for `-`. A second thread reads ahead.
pub(crate) struct Lines {
    receiver: Receiver<Result<String, Error>>,
    /// The error of a line that could not be read, until it is returned.
    failed: Option<Error>,
}

impl Lines {
    /// Opens the file and starts to read.
    pub(crate) fn open(path: &Path) -> Result<Lines, Error> {
        // A missing file is reported at once. Standard input is opened in the thread, since its first bytes may take
        // long to arrive.
        let opened = if path == Path::new("-") { None } else { Some(files::open(path)?) };
        Ok(Lines::start(opened, path.to_owned()))
    }

    /// Starts to read what is already open. `path` is for messages.
    pub(crate) fn read(opened: Box<dyn BufRead + Send>, path: &Path) -> Lines {
        Lines::start(Some(opened), path.to_owned())
    }

    fn start(opened: Option<Box<dyn BufRead + Send>>, path: PathBuf) -> Lines {
        let (sender, receiver) = sync_channel(WAITING_LINES);
        std::thread::spawn(move || {
            let reader = match opened.map_or_else(|| files::open(&path), Ok) {
                Ok(reader) => LineReader { lines: BoundedLines::new(reader, MAX_LINE_BYTES), path, bytes: Vec::new() },
                Err(error) => return drop(sender.send(Err(error))),
            };
            for line in reader {
                // After a bad line there may be more lines; after any other error there are none.
                let last = line.as_ref().is_err_and(|error| error.kind() != ErrorKind::Malformed);
                if sender.send(line).is_err() || last {
                    return;
                }
            }
        });
        Lines { receiver, failed: None }
    }

    /// Takes at least one line and at most `most`, as many as have arrived. Empty at the end.
    ///
    /// # Errors
    ///
    /// The error of the next line, if it is a bad one. After an [`ErrorKind::Malformed`] there may be more lines.
    pub(crate) fn next_batch(&mut self, most: usize, batch: &mut Vec<String>) -> Result<(), Error> {
        batch.clear();
        let Some(first) = self.next() else { return Ok(()) };
        batch.push(first?);
        for line in self.receiver.try_iter().take(most.saturating_sub(1)) {
            match line {
                Ok(line) => batch.push(line),
                // The lines before it are returned first.
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Iterator for Lines {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Result<String, Error>> {
        self.failed.take().map(Err).or_else(|| self.receiver.recv().ok())
    }
}

struct LineReader {
    lines: BoundedLines<Box<dyn BufRead + Send>>,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl LineReader {
    fn read(&mut self) -> Result<Option<String>, Error> {
        let found = self.lines.next(&mut self.bytes).map_err(|source| {
            let line = self.lines.number() + 1;
            Error::read_at(&self.path, line, source)
        })?;
        let line = self.lines.number();
        match found {
            FoundLine::End => return Ok(None),
            FoundLine::TooLong => return Err(RowFault::too_long(MAX_LINE_BYTES).at_line(&self.path, line)),
            FoundLine::Whole => {}
        }
        if line == 1 && is_utf16(&self.bytes) {
            return Err(Error::new(ErrorKind::Malformed, UTF_16).at(&self.path));
        }
        let text =
            std::str::from_utf8(&self.bytes).map_err(|_| RowFault::not_utf8(&self.bytes).at_line(&self.path, line))?;
        Ok(Some(text.to_owned()))
    }
}

impl Iterator for LineReader {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Result<String, Error>> {
        self.read().transpose()
    }
}
