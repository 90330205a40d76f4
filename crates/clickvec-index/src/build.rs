//! Writing an index to disk, title by title or from other indexes.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clickvec::error::{Error, IndexFault, Result, VectorFault};
use clickvec::internals::error::shortened;
use clickvec::internals::npy;
use clickvec::model::Model;
use clickvec::tables::{TITLE, Title};
use clickvec_tables::UniqueIds;

use crate::encode::{Sink, TitleEncoder};
use crate::folder::{self, Folder, FolderWriter, PartKind};
use crate::layout::CHANGES;
use crate::layout::{
    About, MODEL, MODEL_FILE, PARTS, SHARD, SHARD_FILE, Shard, TITLES, TITLES_FILE, VECTORS, VECTORS_FILE, load_model,
    load_shard, load_titles, open_vectors, read_vectors,
};
use crate::table;

/// The number of values that are copied at once.
const NUMBERS_AT_ONCE: usize = 64 * 1024;
/// Missing shards that a message names.
const SHOWN_SHARDS: usize = 10;

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
    /// Whether titles could not be written, so that some may be incomplete.
    given_up: bool,
}

/// The figures of an index that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltIndex {
    /// A fingerprint of everything in it. Indexes with equal fingerprints answer alike.
    pub fingerprint: String,
    /// The fingerprint of the model.
    pub model: String,
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles that were left out because the model knows none of their words.
    pub left_out: u64,
    /// The size of a vector.
    pub dimension: usize,
}

impl IndexBuilder {
    /// A builder of an index at `path`.
    ///
    /// # Errors
    ///
    /// `ErrorKind::NotReplaceable`, `ErrorKind::InUse`, `ErrorKind::NoFolder` and `ErrorKind::Io`.
    pub fn new(model: &Model, path: &Path) -> Result<IndexBuilder> {
        IndexBuilder::with_fields(model, path, &[])
    }

    /// A builder of an index whose titles have values in fields of these names, which are stored and not searched.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::new`], and [`Error::BadTitle`] for a name with a tab or a line end.
    pub fn with_fields(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder> {
        let output = Output::new(path, model.fingerprint(), model.dimension(), fields, true)?;
        model.save(&output.folder.file(MODEL_FILE))?;
        Ok(IndexBuilder { encoder: TitleEncoder::new(model), output, fields: fields.len(), given_up: false })
    }

    /// Checks that an index could be written to `path`. Callers can do this before they read a model.
    ///
    /// # Errors
    ///
    /// `ErrorKind::NoFolder`, `ErrorKind::NotReplaceable` or `ErrorKind::Io`.
    pub fn check_output(path: &Path) -> Result<()> {
        folder::check_replaceable(path)
    }

    /// This builder for titles that are only a shard of a collection, so that it is noticed if others are missing when
    /// they are joined.
    pub fn of_shard(mut self, shard: Shard) -> IndexBuilder {
        self.output.shard = Some(shard);
        self
    }

    /// This builder for texts from another column of their table than `title`, so that later titles can come from it
    /// too.
    pub fn of_field(mut self, field: &str) -> IndexBuilder {
        field.clone_into(&mut self.output.field);
        self
    }

    /// Adds a title. It is left out if the model knows none of its words, because its vector would mean nothing.
    ///
    /// # Errors
    ///
    /// [`Error::BadTitle`] if its id or text has a tab or a line end; [`Error::Vectors`] if there are too many titles
    /// or the vector is not finite; `ErrorKind::Io`. The error may concern a title that was added before.
    pub fn add(&mut self, title: Title) -> Result<()> {
        let none = vec![""; self.fields];
        self.add_with_fields(title, &none)
    }

    /// Adds a title with the values of its stored fields.
    ///
    /// # Errors
    ///
    /// Those of [`IndexBuilder::add`], and [`Error::BadTitle`] for a value with a tab or a line end.
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

    /// A builder of a segment of an update, which has no model of its own.
    pub(crate) fn segment(model: &Model, path: &Path, fields: &[String]) -> Result<IndexBuilder> {
        let output = Output::new(path, model.fingerprint(), model.dimension(), fields, false)?;
        Ok(IndexBuilder { encoder: TitleEncoder::new(model), output, fields: fields.len(), given_up: false })
    }

    /// Adds a title whose vector, of unit length, is known. All titles must come in this way, or none.
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

    /// Writes what is left of the index, with the parts that `complete` writes into the folder once titles and vectors are in it.
    /// It returns their files, whose names may lead into a folder. An index can be read without these parts, except for
    /// the vectors, which may be brought into another form.
    pub(crate) fn finish_with<E: From<Error>>(
        mut self,
        complete: impl FnOnce(&Path) -> Result<Parts, E>,
    ) -> Result<BuiltIndex, E> {
        if self.given_up {
            return Err(self.output.folder.fault(IndexFault::GivenUp).into());
        }
        self.encoder.flush(&mut self.output)?;
        self.output.finish(self.encoder.left_out(), complete)
    }
}

/// Parts of an index, each with its files.
pub type Parts = Vec<(PartKind, Vec<String>)>;

/// What follows a title in its line: a tab and a value for each field.
fn rest_of_line(values: &[impl AsRef<str>]) -> Result<String> {
    let mut rest = String::new();
    for value in values {
        let value = value.as_ref();
        if value.contains(['\t', '\n']) {
            return Err(Error::BadTitle { found: shortened(value) });
        }
        rest.extend(["\t", value]);
    }
    Ok(rest)
}

/// Joins indexes of one model into a new one at `path`: it has all their titles, one index after the other, and the bytes that it has
/// if all titles are encoded at once. Shards of a collection come in the order of their numbers, and each must be there once.
pub(crate) fn join_indexes_with<E: From<Error>>(
    indexes: &[PathBuf],
    path: &Path,
    complete: impl FnOnce(&Path) -> Result<Parts, E>,
) -> Result<BuiltIndex, E> {
    let open = |index: &PathBuf| {
        let folder = Folder::<About>::open(index, &PARTS)?;
        if folder.parts().contains_key(CHANGES.name) { Err(folder.fault(IndexFault::Updated)) } else { Ok(folder) }
    };
    let folders = indexes.iter().map(open).collect::<Result<Vec<_>>>()?;
    let order = order_of_shards(&folders, indexes)?;
    let [first, ..] = &folders[..] else { return Err(Error::NothingToJoin.into()) };
    let About { model, dimension, field, .. } = first.about();
    for folder in &folders {
        let found = folder.about();
        if found.model != *model || found.dimension != *dimension {
            let fault = IndexFault::OtherModel { expected: model.clone(), found: found.model.clone() };
            return Err(folder.fault(fault).into());
        }
        if found.field != *field {
            let fault = IndexFault::OtherField { expected: field.clone(), found: found.field.clone() };
            return Err(folder.fault(fault).into());
        }
    }
    let model_file = first.file(&MODEL, MODEL_FILE)?;
    load_model(first)?;
    let fields = load_titles(first)?.fields();
    let mut output = Output::new(path, model, *dimension, &fields, true)?;
    field.clone_into(&mut output.field);
    std::fs::copy(&model_file, output.folder.file(MODEL_FILE)).map_err(|source| output.folder.failed(source))?;
    let mut ids = UniqueIds::default();
    let mut left_out = 0;
    for place in order {
        let folder = &folders[place];
        join_titles(folder, place as u64, indexes, &fields, &mut ids, &mut output)?;
        join_vectors(folder, &mut output)?;
        left_out = u64::saturating_add(left_out, folder.about().left_out);
    }
    output.finish(left_out, complete)
}

/// The places of the indexes in the order in which they are joined: shards by their numbers, whatever else there is where it
/// was named.
fn order_of_shards(folders: &[Folder<About>], indexes: &[PathBuf]) -> Result<Vec<usize>> {
    let mut shards: Vec<(Shard, usize)> = Vec::new();
    for (place, folder) in folders.iter().enumerate() {
        let Some(shard) = load_shard(folder)? else { continue };
        if let Some(&(first, other)) = shards.first()
            && (first.of, first.titles) != (shard.of, shard.titles)
        {
            return Err(folder.fault(IndexFault::OtherShards {
                of: first.of,
                titles: first.titles,
                found_of: shard.of,
                found_titles: shard.titles,
                other: indexes[other].clone(),
            }));
        }
        if let Some(&(_, other)) = shards.iter().find(|(other, _)| other.number == shard.number) {
            let Shard { number, of, .. } = shard;
            return Err(folder.fault(IndexFault::RepeatedShard { number, of, other: indexes[other].clone() }));
        }
        shards.push((shard, place));
    }
    let mut order: Vec<usize> = (0..folders.len()).collect();
    let Some(&(Shard { of, .. }, place)) = shards.first() else { return Ok(order) };
    if (shards.len() as u64) < of {
        let has = |number: &u64| shards.iter().any(|(shard, _)| shard.number == *number);
        let missing = (1..=of).filter(|number| !has(number)).take(SHOWN_SHARDS).collect();
        return Err(folders[place].fault(IndexFault::MissingShards { of, missing }));
    }
    let places: Vec<usize> = shards.iter().map(|&(_, place)| place).collect();
    shards.sort_unstable_by_key(|(shard, _)| shard.number);
    for (&place, &(_, of_shard)) in places.iter().zip(&shards) {
        order[place] = of_shard;
    }
    Ok(order)
}

fn join_titles(
    folder: &Folder<About>,
    number: u64,
    indexes: &[PathBuf],
    fields: &[String],
    ids: &mut UniqueIds,
    output: &mut Output,
) -> Result<()> {
    let titles = load_titles(folder)?;
    if titles.fields() != fields {
        let fault = IndexFault::OtherFields { expected: fields.to_vec(), found: titles.fields() };
        return Err(folder.fault(fault));
    }
    for position in 0..titles.len() {
        let (id, title) = titles.get(position).expect("a title at each position");
        if let Some(other) = ids.add(id, number) {
            let fault = IndexFault::DuplicateId { id: shortened(id), other: indexes[other as usize].clone() };
            return Err(folder.fault(fault));
        }
        output.write_title(id, title, titles.rest(position).unwrap_or_default())?;
    }
    Ok(())
}

fn join_vectors(folder: &Folder<About>, output: &mut Output) -> Result<()> {
    if folder.parts().get(VECTORS.name).is_some_and(|part| part.kind != VECTORS.kind) {
        return output.write_vectors(&read_vectors(folder)?);
    }
    let (mut file, mut left) = open_vectors(folder, npy::F32, size_of::<f32>())?;
    let dimension = folder.about().dimension;
    let mut numbers = vec![0f32; (NUMBERS_AT_ONCE / dimension).max(1) * dimension];
    while left > 0 {
        let part = &mut numbers[..left.min(NUMBERS_AT_ONCE / dimension * dimension).max(dimension)];
        file.fill(bytemuck::cast_slice_mut(part))?;
        if cfg!(target_endian = "big") {
            part.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits().swap_bytes()));
        }
        output.write_vectors(part)?;
        left -= part.len();
    }
    file.finish()
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
    folder: FolderWriter,
}

impl Output {
    fn new(path: &Path, model: &str, dimension: usize, fields: &[String], has_model: bool) -> Result<Output> {
        let folder = FolderWriter::new(path)?;
        let mut titles = folder.create(TITLES_FILE)?;
        let header = table::HEADER.trim_end().to_owned() + &rest_of_line(fields)? + "\n";
        titles.write_all(header.as_bytes()).map_err(|source| folder.failed(source))?;
        let vectors = folder.create(VECTORS_FILE)?;
        let vectors = npy::Appender::new(vectors, dimension).map_err(|source| folder.failed(source))?;
        let (model, field, line) = (model.to_owned(), TITLE.to_owned(), String::new());
        Ok(Output { model, dimension, field, shard: None, has_model, line, titles, vectors, folder })
    }

    fn write_title(&mut self, id: &str, title: &str, rest: &str) -> Result<()> {
        self.line.clear();
        table::write_line(&mut self.line, id, title, rest)?;
        self.titles.write_all(self.line.as_bytes()).map_err(|source| self.folder.failed(source))
    }

    fn write_vectors(&mut self, vectors: &[f32]) -> Result<()> {
        if let Some(place) = vectors.iter().position(|number| !number.is_finite()) {
            let position = self.vectors.rows() + place / self.dimension;
            return Err(VectorFault::NotFinite { position, found: vectors[place].to_string() }.into());
        }
        self.vectors.write(vectors).map_err(|source| self.folder.failed(source))?;
        match u32::try_from(self.vectors.rows()) {
            Ok(_) => Ok(()),
            Err(_) => Err(VectorFault::TooMany { found: self.vectors.rows() }.into()),
        }
    }

    fn finish<E: From<Error>>(
        self,
        left_out: u64,
        complete: impl FnOnce(&Path) -> Result<Parts, E>,
    ) -> Result<BuiltIndex, E> {
        let Output { model, dimension, field, shard, has_model, mut titles, vectors, mut folder, .. } = self;
        let count = vectors.rows() as u64;
        // A shard, or a segment of an update, may have nothing; an index that would never answer is a mistake.
        if left_out > 0 && count == 0 && shard.is_none() && has_model {
            return Err(folder.fault(IndexFault::NoneKnown { titles: left_out }).into());
        }
        titles.flush().and_then(|()| vectors.finish()).map_err(|source| folder.failed(source))?;
        if has_model {
            folder.part(&MODEL, &[MODEL_FILE])?;
        }
        folder.part(&TITLES, &[TITLES_FILE])?;
        if let Some(shard) = shard {
            let mut file = folder.create(SHARD_FILE)?;
            let written = serde_json::to_writer(&mut file, &shard).map_err(io::Error::from);
            written.and_then(|()| file.flush()).map_err(|source| folder.failed(source))?;
            folder.optional_part(&SHARD, &[SHARD_FILE])?;
        }
        let more = complete(&folder.file(""))?;
        // Unless they were brought into another form.
        if !more.iter().any(|(part, _)| part.name == VECTORS.name) {
            folder.part(&VECTORS, &[VECTORS_FILE])?;
        }
        for (part, files) in more {
            if part.name == VECTORS.name { folder.part(&part, &files)? } else { folder.optional_part(&part, &files)? }
        }
        let about = About { model: model.clone(), titles: count, left_out, dimension, field };
        let fingerprint = folder.finish(about)?;
        Ok(BuiltIndex { fingerprint, model, titles: count, left_out, dimension })
    }
}

impl Sink for Output {
    fn take(&mut self, titles: &[Title], rests: &[String], vectors: &[f32]) -> Result<()> {
        for (Title { id, title }, rest) in titles.iter().zip(rests) {
            self.write_title(id, title, rest)?;
        }
        self.write_vectors(vectors)
    }
}
