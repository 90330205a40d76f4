//! Inputs that several tools read.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use clickvec::tables::{self, RowFault, Skipped, TitleFile, Titles, TitlesSummary};
use clickvec_eval::{Judgments, ReadCorpus, TestSetFiles};
use clickvec_tables::files;
use clickvec_tables::shown::{
    NOT_UTF_8, UTF_16, agreeing, count, counted, is_in_memory, named_counts, shown_at, shown_input,
};
use clickvec_tables::table::{MAX_LINE_BYTES, is_utf16};
use clickvec_tables::{Error, ErrorKind, FoundLine, Lines as BoundedLines, Result};

use crate::{Watcher, test_set};

/// The number of lines that may wait to be taken.
const WAITING_LINES: usize = 8_192;

/// Reads a test set that is a single file, with the texts of the column `field`. It must not be empty.
///
/// # Errors
///
/// Those of reading it.
pub fn judgments(path: &Path, field: &str, watch: &dyn Watcher) -> Result<Judgments> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field };
    Ok(test_set::read(&files, watch)?.judgments)
}

/// Reads a collection, with the texts of the column `field`. It must not be empty.
///
/// # Errors
///
/// Those of reading it; most of it is broken.
pub fn titles(titles: impl Into<Titles>, field: &str, watch: &dyn Watcher) -> Result<Vec<tables::Title>> {
    let TitleFile { titles, summary } = tables::read_titles(titles, field)?;
    note_titles(&summary, watch)?;
    Ok(titles)
}

/// Passes on the titles of a collection one by one, with the texts of the column `field` and the values of the columns `stored`.
/// It must not be empty.
///
/// # Errors
///
/// Those of reading it, and of `each`; most of it is broken.
pub fn each_document(
    titles: &Titles,
    field: &str,
    stored: &[String],
    watch: &dyn Watcher,
    each: impl FnMut(tables::Title, &[&str]) -> Result<()>,
) -> Result<()> {
    note_titles(&tables::for_each_document(titles, field, stored, each)?, watch)
}

/// Notes what was left out of a table of titles, and what was decoded; too much left out, or no titles, are an error.
fn note_titles(read: &TitlesSummary, watch: &dyn Watcher) -> Result<()> {
    let TitlesSummary { path, titles, skipped, untitled, with_entities, null_texts } = read;
    note_skipped(path, skipped, watch);
    if *titles == 0 {
        let error = Error::expected(ErrorKind::Empty, "titles below the header", "none");
        return Err(error.help("see docs/reference/tables.md").at(path));
    }
    refuse_mostly_broken(path, "titles", *titles, skipped.count)?;
    note_untitled(path, *untitled, watch);
    test_set::note_entities(path, *with_entities, watch);
    if !null_texts.is_empty() {
        let titles = counted(null_texts.values().sum(), "title");
        watch.warn(format!("{}: {titles} read as empty: {}", shown_input(path), named_counts(null_texts)));
    }
    Ok(())
}

fn note_untitled(path: &Path, untitled: u64, watch: &dyn Watcher) {
    if untitled > 0 {
        let untitled = counted(untitled, "document");
        watch.note(format!("{}: {untitled} without a title; the text is used instead", shown_input(path)));
    }
}

/// Notes how many titles have no vector, and how many of them no words either.
pub fn note_without_vector(titles: u64, without_words: u64, watch: &dyn Watcher) {
    if titles > without_words {
        let titles = counted(titles - without_words, "title");
        watch.warn(format!("{titles} found by words alone: the model knows none of their words"));
    }
    if without_words > 0 {
        let titles = counted(without_words, "title");
        watch.warn(format!("{titles} without any word: no search finds them"));
    }
}

/// Warns of the lines of a table that were left out.
pub fn note_skipped(path: &Path, skipped: &Skipped, watch: &dyn Watcher) {
    let name = shown_input(path);
    if skipped.headers > 0 {
        watch.warn(format!("{name}: left out {}", counted(skipped.headers, "repeated header")));
    }
    if skipped.count == 0 {
        return;
    }
    let rows = if is_in_memory(path) { "broken row" } else { "broken line" };
    let mut text = format!("{name}: skipped {}:", counted(skipped.count, rows));
    for line in &skipped.first {
        text += &format!("\n  {}: {}", shown_at(path, line.line), line.reason);
    }
    let more = skipped.count - skipped.first.len() as u64;
    if more > 0 {
        text += &format!("\n  and {} more", count(more));
    }
    watch.warn(text);
    // A conversion would keep them.
    if skipped.not_utf8 > 0 {
        watch.warn(format!(
            "warning: {name}: {} {} not UTF-8 and lost; {NOT_UTF_8} and run this again",
            counted(skipped.not_utf8, "line"),
            agreeing(skipped.not_utf8, "is", "are")
        ));
    }
}

/// Refuses a table with more broken lines than good ones. `what` says what it should be.
///
/// # Errors
///
/// If it has.
pub fn refuse_mostly_broken(path: &Path, what: &str, good: u64, broken: u64) -> Result<()> {
    if broken > good {
        let found = format!("{} of {}", counted(broken, "broken line"), count(broken + good));
        let error = Error::expected(ErrorKind::Malformed, format!("a table of {what}"), found);
        return Err(error.help("fix them first").at(path));
    }
    Ok(())
}

/// Notes what was left out of a corpus and, if no collection was named, what serves as one: the titles that were clicked or judged.
pub fn note_corpus(read: &ReadCorpus, watch: &dyn Watcher) {
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        note_skipped(path, skipped, watch);
    }
    match &read.titles {
        Some((path, _)) => note_untitled(path, read.untitled, watch),
        None => watch.note(format!(
            "the collection has only the {} that were {}judged; pass the complete one as `titles`",
            counted(read.collection, "distinct title"),
            if read.clicks.is_some() { "clicked or " } else { "" },
        )),
    }
}

/// The lines of a text file, or of standard input for `-`. A second thread reads ahead.
pub struct Lines {
    receiver: Receiver<Result<String, Error>>,
    /// The error of a line that could not be read, until it is returned.
    failed: Option<Error>,
}

impl Lines {
    /// Opens the file and starts to read.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<Lines, Error> {
        // A missing file is reported at once. Standard input is opened in the thread, since its first bytes may take
        // long to arrive.
        let opened = if path == Path::new("-") { None } else { Some(files::open(path)?) };
        Ok(Lines::start(opened, path.to_owned()))
    }

    /// Starts to read what is already open. `path` is for messages.
    pub fn read(opened: Box<dyn BufRead + Send>, path: &Path) -> Lines {
        Lines::start(Some(opened), path.to_owned())
    }

    fn start(opened: Option<Box<dyn BufRead + Send>>, path: PathBuf) -> Lines {
        let (sender, receiver) = sync_channel(WAITING_LINES);
        std::thread::spawn(move || {
            let (mut lines, mut bytes) = match opened.map_or_else(|| files::open(&path), Ok) {
                Ok(reader) => (BoundedLines::new(reader, MAX_LINE_BYTES), Vec::new()),
                Err(error) => return drop(sender.send(Err(error))),
            };
            while let Some(line) = next_line(&mut lines, &path, &mut bytes).transpose() {
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
    pub fn next_batch(&mut self, most: usize, batch: &mut Vec<String>) -> Result<(), Error> {
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

/// Reads the next line, if there is one.
fn next_line(lines: &mut BoundedLines<impl BufRead>, path: &Path, bytes: &mut Vec<u8>) -> Result<Option<String>> {
    let found = lines.next(bytes).map_err(|source| Error::read_at(path, lines.number() + 1, source))?;
    let line = lines.number();
    match found {
        FoundLine::End => return Ok(None),
        FoundLine::TooLong => return Err(RowFault::too_long(MAX_LINE_BYTES).at_line(path, line)),
        FoundLine::Whole => {}
    }
    if line == 1 && is_utf16(bytes) {
        return Err(Error::new(ErrorKind::Malformed, UTF_16).at(path));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| RowFault::not_utf8(bytes).at_line(path, line))?;
    Ok(Some(text.to_owned()))
}
