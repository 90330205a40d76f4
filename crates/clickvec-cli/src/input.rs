//! Inputs that several commands read.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Result, bail, ensure};
use clickvec::tables::{self, RowFault, Skipped, TitleFile, Titles, TitlesSummary};
use clickvec_eval::internals::fusion_members;
use clickvec_eval::ranker::FileKind;
use clickvec_eval::{Judgments, ReadCorpus, TestSetFiles};
use clickvec_index::MANIFEST;
use clickvec_tables::files::{self, Found};
use clickvec_tables::shown::{NOT_UTF_8, UTF_16};
use clickvec_tables::table::{MAX_LINE_BYTES, is_utf16};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{FoundLine, Lines as BoundedLines};

use crate::{json_file, output, test_set};

/// The number of lines that may wait to be taken.
const WAITING_LINES: usize = 8_192;

/// Reads a test set that is a single file, with the texts of the column `field`. It must not be empty.
pub(crate) fn judgments(path: &Path, field: &str) -> Result<Judgments> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field };
    Ok(test_set::read(&files)?.judgments)
}

/// Reads a collection, with the texts of the column `field`. It must not be empty.
pub(crate) fn titles(titles: impl Into<Titles>, field: &str) -> Result<Vec<tables::Title>> {
    let TitleFile { path, titles, skipped, untitled } = tables::read_titles(titles, field)?;
    note_titles(&path, titles.len() as u64, &skipped, untitled)?;
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
    let TitlesSummary { path, titles, skipped, untitled } = tables::for_each_document(titles, field, stored, each)?;
    note_titles(&path, titles, &skipped, untitled)
}

/// Reports what was left out of a table of titles; too many, or no titles, are an error.
pub(crate) fn note_titles(path: &Path, titles: u64, skipped: &Skipped, untitled: u64) -> Result<()> {
    note_skipped(path, skipped);
    ensure!(
        titles > 0,
        "{}: expected titles below the header, found none; see docs/reference/tables.md",
        path.display()
    );
    ensure!(
        skipped.count <= titles,
        "{}: expected a table of titles, found {} of {}; fix them first",
        path.display(),
        output::counted(skipped.count, "broken line"),
        output::count(skipped.count + titles)
    );
    if untitled > 0 {
        let untitled = output::counted(untitled, "document");
        output::note(format_args!("{}: {untitled} without a title; the text is used instead", path.display()));
    }
    Ok(())
}

/// Reports how many titles cannot be found.
pub(crate) fn note_left_out(left_out: u64) {
    if left_out > 0 {
        let strange = output::counted(left_out, "title");
        output::note(format_args!("{strange} cannot be found: the model knows none of their words"));
    }
}

/// Reports which lines of a table were left out.
pub(crate) fn note_skipped(path: &Path, skipped: &Skipped) {
    if skipped.count == 0 {
        return;
    }
    output::note(format_args!("{}: skipped {}:", path.display(), output::counted(skipped.count, "broken line")));
    for line in &skipped.first {
        output::note(format_args!("  {}:{}: {}", path.display(), line.line, line.reason));
    }
    let more = skipped.count - skipped.first.len() as u64;
    if more > 0 {
        output::note(format_args!("  and {} more", output::count(more)));
    }
    warn_of_bytes(path, skipped.not_utf8);
}

/// Reports rows of a table that were left out. `shown` has the first few, with their place.
pub(crate) fn note_broken_rows(path: &Path, broken: u64, shown: &[String]) {
    if broken > 0 {
        output::note(format_args!("{}: skipped {}:", output::path(path), output::counted(broken, "broken row")));
        shown.iter().for_each(output::note);
        if broken > shown.len() as u64 {
            output::note(format_args!("  and {} more", output::count(broken - shown.len() as u64)));
        }
    }
}

/// Refuses a table with more broken rows than good ones. `what` says what it should be.
pub(crate) fn refuse_mostly_broken(path: &Path, what: &str, good: u64, broken: u64) -> Result<()> {
    ensure!(
        broken <= good,
        "{}: expected a table of {what}, found {} of {}; fix them first",
        output::input(path),
        output::counted(broken, "broken row"),
        output::count(broken + good)
    );
    Ok(())
}

/// Warns of lines that are lost because they are not UTF-8, which a conversion would keep.
pub(crate) fn warn_of_bytes(path: &Path, lines: u64) {
    if lines > 0 {
        output::note(format_args!(
            "warning: {}: {} {} not UTF-8 and lost; {NOT_UTF_8} and run this again",
            output::path(path),
            output::counted(lines, "line"),
            output::agreeing(lines, "is", "are")
        ));
    }
}

/// Reports what was left out of a corpus and, if no collection was named, what serves as one: the titles of `--clicks`
/// and of `judged`.
pub(crate) fn note_corpus(read: &ReadCorpus, judged: &str) {
    for (path, skipped) in read.titles.iter().chain(&read.clicks) {
        note_skipped(path, skipped);
    }
    match &read.titles {
        Some((path, _)) if read.untitled > 0 => {
            let untitled = output::counted(read.untitled, "document");
            output::note(format_args!("{}: {untitled} without a title; the text is used instead", path.display()));
        }
        Some(_) => {}
        None => {
            let clicks = match (&read.clicks, judged.contains(" and ")) {
                (None, _) => "",
                (Some(_), true) => "--clicks, ",
                (Some(_), false) => "--clicks and ",
            };
            output::note(format_args!(
                "the collection is the {} in {clicks}{judged}; name the whole one with --titles",
                output::counted(read.collection, "distinct title"),
            ));
        }
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
                Ok(reader) => LineReader {
                    lines: BoundedLines::new(reader, MAX_LINE_BYTES),
                    path: named(path),
                    bytes: Vec::new(),
                },
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
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let first = self.receiver.recv().into_iter();
        for line in first.chain(self.receiver.try_iter()).take(most) {
            match line {
                Ok(line) => batch.push(line),
                Err(error) if batch.is_empty() => return Err(error),
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

/// The name of a file in messages.
pub(crate) fn named(path: PathBuf) -> PathBuf {
    if path == Path::new("-") { PathBuf::from("standard input") } else { path }
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
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| RowFault::not_utf8(error.valid_up_to() + 1).at_line(&self.path, line))?;
        Ok(Some(text.to_owned()))
    }
}

impl Iterator for LineReader {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Result<String, Error>> {
        self.read().transpose()
    }
}

/// Refuses an `output` that is one of the input files, a member of a fusion among them, or that would be in an index.
pub(crate) fn refuse_overwriting<'a>(output: &Path, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    // What is not there yet is no input, and members are read from the files of fusions.
    if output.exists() {
        for read in read {
            let is_member = || members_of(read).iter().any(|member| same_file(member, output));
            ensure!(
                !same_file(read, output) && !is_member(),
                "expected an output that is not an input, found `{}`; name another file",
                output.display()
            );
        }
    }
    refuse_in_index(output)
}

/// Whether a file is a fusion. A file that cannot be read is none; loading it reports that.
pub(crate) fn is_fusion(path: &Path) -> bool {
    path.is_file() && FileKind::of(path).ok() == Some(FileKind::Fusion)
}

/// The files that a fusion needs; none if it is not a fusion, or cannot be read, which loading it reports.
pub(crate) fn members_of(path: &Path) -> Vec<PathBuf> {
    if !is_fusion(path) {
        return Vec::new();
    }
    fusion_members(path, &clickvec_lab::SYSTEMS)
        .map_or_else(|_| Vec::new(), |file| file.members.into_iter().map(|of| of.path).collect())
}

/// Refuses an `output` in the folder of an index: replacing one of its files would damage it, and a file of something else would
/// go with it when the index is replaced.
pub(crate) fn refuse_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, files::folder_of(&files::resolved(output)))
}

/// [`refuse_in_index`] for a folder, which may not be an index either.
pub(crate) fn refuse_folder_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, files::resolved(output))
}

fn refuse_inside(output: &Path, folder: PathBuf) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        kind: String,
        #[serde(rename = "fingerprint")]
        _fingerprint: String,
    }
    let is_index =
        |folder: &&Path| json_file::mark(&folder.join(MANIFEST)).is_some_and(|Manifest { kind, .. }| kind == "index");
    let folder = folder.canonicalize().unwrap_or(folder);
    // The words of an index, and its shards, are in folders of their own.
    if let Some(index) = folder.ancestors().take(3).find(is_index) {
        bail!(
            "expected an output outside the index {}, found `{}`; name another place",
            index.display(),
            output.display()
        );
    }
    Ok(())
}

/// Checks before the work that a file can be written: its folder exists and is writable, and nothing else is in its
/// place.
pub(crate) fn check_output(output: &Path) -> Result<()> {
    ensure!(
        output != Path::new("-"),
        "expected a file to write, found `-`; give it another name, or write `./-` if it is to have this one"
    );
    let folder = files::folder_of(output);
    if !folder.is_dir() {
        return Err(files::no_folder(&folder).into());
    }
    refuse_in_index(output)?;
    Ok(files::check_writable(output)?)
}

/// Does [`check_output`] for several outputs, and checks that no two are the same file.
pub(crate) fn check_outputs<'a>(outputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let outputs: Vec<&PathBuf> = outputs.into_iter().collect();
    for (place, output) in outputs.iter().enumerate() {
        // A device or a pipe does not keep what is written to it.
        ensure!(
            Found::is_special(output) || !outputs[..place].iter().any(|other| same_output(other, output)),
            "expected a file of its own for each output, found `{}` twice; name another file",
            output.display()
        );
        check_output(output)?;
    }
    Ok(())
}

/// Whether two paths lead to the same file, whether or not it exists.
pub(crate) fn same_output(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let path = files::resolved(path);
        let folder = files::folder_of(&path).canonicalize().unwrap_or_else(|_| files::folder_of(&path));
        folder.join(path.file_name().unwrap_or_default())
    };
    whole(a) == whole(b)
}

/// Whether two paths name the same existing file, or the first is a folder whose titles are in the second.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let (Ok(a), Ok(b)) = (a.canonicalize(), b.canonicalize()) else { return false };
    let is_corpus = || b.file_name().is_some_and(|name| name.to_string_lossy().starts_with("corpus.jsonl"));
    a == b || (b.parent() == Some(&a) && is_corpus())
}
