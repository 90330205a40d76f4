//! Writing an index to disk, title by title.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use clickvec::internals::npy;
use clickvec::internals::text::words;
use clickvec::model::Model;
use clickvec::tables::{TITLE, Title};
use clickvec_tables::shown;
use serde::Serialize;

use crate::encode::{Sink, TitleEncoder, is_zero};
use crate::error::{Error, ErrorKind, Result, too_many};
use crate::folder::{self, About, FolderWriter, MODEL_FILE};
use crate::parts::vectors::VECTORS_FILE;
use crate::shard::{SHARD_FILE, Shard};
use crate::titles::{HEADER, TITLES_FILE, bad_title, write_line};

/// A builder of an index, which is a folder with a copy of the model, the titles and their vectors.
///
/// Titles are encoded and written as they come, a few thousand at once, so memory does not grow with their number. The
/// index is written next to its final place under a temporary name, and [`crate::finish`] moves it there in one
/// step. It replaces only an index, an empty folder or nothing. A builder that is dropped earlier leaves what was
/// there.
pub struct IndexBuilder {
    encoder: TitleEncoder,
    output: Output,
    /// The number of stored fields.
    fields: usize,
    /// Whether writing failed, so that some titles may be incomplete.
    given_up: bool,
}

/// The figures of an index that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BuiltIndex {
    /// The number of titles.
    pub titles: u64,
    /// The number of titles without a vector, because the model knows none of their words. Words find them.
    pub without_vector: u64,
    /// The number of these titles that have no words either, such as `--`. Nothing finds them but their ids.
    pub without_words: u64,
    /// The size of a vector.
    pub dimension: usize,
    /// The fingerprint of the model.
    pub model: String,
    /// A fingerprint of everything in it. Indexes with equal fingerprints answer alike.
    pub fingerprint: String,
}

impl IndexBuilder {
    /// Creates a builder of an index at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Occupied`](crate::ErrorKind::Occupied), [`ErrorKind::Busy`](crate::ErrorKind::Busy) and [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn new(model: &Model, path: &Path) -> Result<IndexBuilder> {
        IndexBuilder::with_fields(model, path, &[])
    }

    /// Creates a builder of an index whose titles have values in fields of these names, which are stored and not searched.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::new`], and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a name with a tab or a line end.
    pub fn with_fields(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder> {
        let output = Output::new(path, model.fingerprint(), model.dimension(), fields, true)?;
        model.save(&output.folder.file(MODEL_FILE))?;
        Ok(IndexBuilder { encoder: TitleEncoder::new(model), output, fields: fields.len(), given_up: false })
    }

    /// Checks that an index could be written to `path`. Callers can do this before they read a model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Occupied`](crate::ErrorKind::Occupied) or [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn check_output(path: &Path) -> Result<()> {
        folder::check_replaceable(path)
    }

    /// This builder for titles that are only a shard of a collection, so that it is noticed if others are missing when
    /// they are joined.
    pub fn with_shard(mut self, shard: Shard) -> IndexBuilder {
        self.output.shard = Some(shard);
        self
    }

    /// This builder for texts from another column of their table than `title`, so that later titles can come from it
    /// too.
    pub fn with_field(mut self, field: &str) -> IndexBuilder {
        field.clone_into(&mut self.output.field);
        self
    }

    /// Adds a title. If the model knows none of its words it gets no vector, and only its words find it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if its id or text has a tab or a line end; [`ErrorKind::Memory`](crate::ErrorKind::Memory) if there are too many titles;
    /// [`ErrorKind::NotFinite`](crate::ErrorKind::NotFinite); [`ErrorKind::Io`](crate::ErrorKind::Io). The error may concern a title that was added before.
    pub fn add(&mut self, title: Title) -> Result<()> {
        let none = vec![""; self.fields];
        self.add_with_fields(title, &none)
    }

    /// Adds a title with the values of its stored fields.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::add`], and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a value with a tab or a line end.
    ///
    /// # Panics
    ///
    /// If there is not one value for each field.
    pub fn add_with_fields(&mut self, title: Title, values: &[impl AsRef<str>]) -> Result<()> {
        assert_eq!(values.len(), self.fields, "one value for each stored field");
        let added = rest_of_line(values).and_then(|rest| self.encoder.add(title, rest, &mut self.output));
        self.given_up |= added.is_err();
        added
    }

    /// Creates a builder of a segment of an update, which has no model of its own.
    pub(crate) fn segment(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder> {
        let output = Output::new(path, model.fingerprint(), model.dimension(), fields, false)?;
        Ok(IndexBuilder { encoder: TitleEncoder::new(model), output, fields: fields.len(), given_up: false })
    }

    /// Adds a title whose vector, of unit length, is known. Either all titles are added in this way or none.
    pub(crate) fn add_encoded(&mut self, title: &Title, values: &[impl AsRef<str>], vector: &[f32]) -> Result<()> {
        assert_eq!((values.len(), vector.len()), (self.fields, self.output.dimension), "fields and numbers of a title");
        let write = |output: &mut Output| {
            output.write_title(&title.id, &title.title, &rest_of_line(values)?)?;
            output.write_vectors(vector)
        };
        let added = write(&mut self.output);
        self.given_up |= added.is_err();
        added
    }

    /// Writes the rest of the index, with the parts that `complete` adds once titles and vectors are in the folder.
    pub(crate) fn finish_with(mut self, complete: impl FnOnce(&mut FolderWriter) -> Result<()>) -> Result<BuiltIndex> {
        if self.given_up {
            let (expected, found) = ("an index to which every title was added", "one that was given up");
            let error = Error::expected(ErrorKind::Setting, expected, found);
            return Err(error.help("start it over").at(self.output.folder.path()));
        }
        self.encoder.flush(&mut self.output)?;
        self.output.finish(complete)
    }
}

/// Returns the rest of a title's line: a tab and a value for each field.
fn rest_of_line(values: &[impl AsRef<str>]) -> Result<String> {
    let mut rest = String::new();
    for value in values {
        let value = value.as_ref();
        if value.contains(['\t', '\n']) {
            return Err(bad_title(value));
        }
        rest.extend(["\t", value]);
    }
    Ok(rest)
}

/// The files of an unfinished index.
struct Output {
    model: String,
    dimension: usize,
    field: String,
    shard: Option<Shard>,
    has_model: bool,
    line: String,
    titles: BufWriter<File>,
    vectors: npy::Appender<BufWriter<File>>,
    without_vector: u64,
    without_words: u64,
    folder: FolderWriter,
}

impl Output {
    fn new(path: &Path, model: &str, dimension: usize, fields: &[String], has_model: bool) -> Result<Output> {
        let folder = FolderWriter::new(path)?;
        let mut titles = folder.create(TITLES_FILE)?;
        let header = HEADER.trim_end().to_owned() + &rest_of_line(fields)? + "\n";
        titles.write_all(header.as_bytes()).map_err(|source| folder.failed(source))?;
        let vectors = folder.create(VECTORS_FILE)?;
        let vectors = npy::Appender::new(vectors, dimension).map_err(|source| folder.failed(source))?;
        let (model, field, line) = (model.to_owned(), TITLE.to_owned(), String::new());
        let (without_vector, without_words) = (0, 0);
        Ok(Output {
            model,
            dimension,
            field,
            shard: None,
            has_model,
            line,
            titles,
            vectors,
            without_vector,
            without_words,
            folder,
        })
    }

    fn write_title(&mut self, id: &str, title: &str, rest: &str) -> Result<()> {
        self.line.clear();
        write_line(&mut self.line, id, title, rest)?;
        self.titles.write_all(self.line.as_bytes()).map_err(|source| self.folder.failed(source))
    }

    fn write_vectors(&mut self, vectors: &[f32]) -> Result<()> {
        if let Some(index) = vectors.iter().position(|number| !number.is_finite()) {
            let position = self.vectors.rows() + index / self.dimension;
            let (expected, found) = ("finite numbers", vectors[index].to_string());
            return Err(Error::expected(ErrorKind::NotFinite, expected, found).within(format!("vector {position}")));
        }
        let zeros = vectors.chunks_exact(self.dimension).filter(|vector| is_zero(vector));
        self.without_vector += zeros.count() as u64;
        self.vectors.write(vectors).map_err(|source| self.folder.failed(source))?;
        match u32::try_from(self.vectors.rows()) {
            Ok(_) => Ok(()),
            Err(_) => Err(too_many(self.vectors.rows()).at(self.folder.path())),
        }
    }

    fn finish(self, complete: impl FnOnce(&mut FolderWriter) -> Result<()>) -> Result<BuiltIndex> {
        let Output {
            model,
            dimension,
            field,
            shard,
            has_model,
            mut titles,
            vectors,
            without_vector,
            without_words,
            mut folder,
            ..
        } = self;
        let count = vectors.rows() as u64;
        // A shard, or a segment of an update, may have titles that are all unknown; in an index that is a mistake.
        if count > 0 && without_vector == count && shard.is_none() && has_model {
            let (expected, found) =
                ("titles with words that the model knows", format!("none among {}", shown::count(count)));
            let error = Error::expected(ErrorKind::Empty, expected, found).help("is this the right model?");
            return Err(error.at(folder.path()));
        }
        titles.flush().and_then(|()| vectors.finish()).map_err(|source| folder.failed(source))?;
        if has_model {
            folder.part("model", "safetensors", &[MODEL_FILE]);
        }
        if let Some(shard) = shard {
            folder.json_part("shard", SHARD_FILE, &shard)?;
        }
        complete(&mut folder)?;
        let about = About { model: model.clone(), titles: count, without_vector, dimension, field };
        let fingerprint = folder.finish(about)?;
        Ok(BuiltIndex { fingerprint, model, titles: count, without_vector, without_words, dimension })
    }
}

impl Sink for Output {
    fn take(&mut self, titles: &[Title], rests: &[String], vectors: &[f32]) -> Result<()> {
        let vectors_of_titles = vectors.chunks_exact(self.dimension);
        for ((Title { id, title }, rest), vector) in titles.iter().zip(rests).zip(vectors_of_titles) {
            self.write_title(id, title, rest)?;
            self.without_words += u64::from(is_zero(vector) && words(title).is_empty());
        }
        self.write_vectors(vectors)
    }
}
