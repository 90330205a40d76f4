//! A segment: titles with everything that finds them, in a folder that never changes. An index has one and, for each update,
//! another.

pub(crate) mod canaries;
mod cluster;
pub(crate) mod complete;
pub(crate) mod fields;
mod ids;
pub(crate) mod parts;
mod titles;
mod vectors;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::{FileEntry, Folder, PartKind};
use crate::layout::{About, CODES, TITLES, TITLES_FILE, VECTORS, VECTORS_FILE};
use bytemuck::Pod;
use clickvec::index::{FlatIndex, QuantizedIndex};
use clickvec::internals::error::shortened;
use clickvec::internals::index::{Codes, Shared};
use clickvec::internals::text::Analysis;
use clickvec_eval::internals::{LetterTrigrams, TrigramLists};
use serde::de::DeserializeOwned;
use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::bm25::Bm25;
use crate::error::{BadPlaces, EngineFault, Error, FormFault, Result};
use crate::facts::Choices;
use crate::format::VectorFormat;
use crate::fusion::{Fusion, Kept};
use crate::map::Map;
use crate::teacher::Teacher;
use crate::words::{self, Words};
use canaries::Canary;
use fields::{Fields, Header};
use ids::Ids;
use parts::{
    CANARIES, CENTROIDS_FILE, COPIES_FILE, FIELDS, FUSION, FUSION_WITH_TEACHER, IDS, LISTS, LISTS_ONCE, OFFSETS,
    TEACHER, TERMS, TRIGRAM_LENGTHS_FILE, TRIGRAM_TITLES_FILE, TRIGRAM_WEIGHTS, TRIGRAMS, WORDS,
};
pub(crate) use titles::{Line, TitleLines};
use vectors::{ListHeader, Lists, codes_of, flat_of, halves_of};
pub(crate) use vectors::{MANY_HITS, Reach, Vectors};

/// The number of vectors from which on they are put into lists. Fewer are scanned in about a millisecond.
pub(crate) const MANY_VECTORS: usize = 200_000;

/// A segment that was opened.
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    /// What its files are; segments with the same are the same.
    pub(crate) identity: String,
    pub(crate) files: BTreeMap<String, FileEntry>,
    /// Which files they were on disk when it was opened, by their names.
    on_disk: BTreeMap<String, FileId>,
    pub(crate) titles: TitleLines,
    pub(crate) ids: Ids,
    pub(crate) vectors: Vectors,
    pub(crate) words: Words,
    /// The bytes of the lexical part on disk; 0 if it was made in memory.
    pub(crate) words_bytes: u64,
    pub(crate) fields: Fields,
    pub(crate) canaries: Vec<Canary>,
    pub(crate) fusion: Fusion,
    pub(crate) trigrams: Option<TrigramLists>,
}

/// Which file it is, whatever its name.
#[derive(Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// That of the file at `path`; `None` if there is none, or the system does not tell.
    #[cfg(unix)]
    fn of(path: &Path) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileId { device: metadata.dev(), number: metadata.ino() })
    }

    /// The system does not tell.
    #[cfg(not(unix))]
    fn of(_: &Path) -> Option<FileId> {
        None
    }
}

impl Segment {
    /// Whether a file of `folder` is the very file that this segment was opened from, and not a copy of it.
    pub(crate) fn is_still(&self, folder: &Folder<About>, name: &str) -> bool {
        let opened = self.on_disk.get(name);
        opened.is_some() && opened == FileId::of(&folder.path().join(name)).as_ref()
    }

    /// What the files of a folder are, without reading them.
    pub(crate) fn identity(folder: &Folder<About>) -> String {
        let of = |part: &PartKind| folder.parts().get(part.name).map(|part| format!("{:?}", part.files));
        [TITLES, VECTORS, CODES, WORDS, FUSION, TRIGRAMS, TRIGRAM_WEIGHTS, TEACHER].iter().filter_map(of).collect()
    }

    /// Opens a segment. Its files are mapped, and only small ones are read.
    pub(crate) fn open(folder: &Folder<About>) -> Result<Segment> {
        let reader = Reader { folder };
        let About { titles: count, dimension, .. } = *folder.about();
        let table = reader.numbers(&TITLES, TITLES_FILE)?;
        let starts = reader.optional(&OFFSETS)?.then(|| reader.numbers(&OFFSETS, OFFSETS.first_file)).transpose()?;
        let titles = titles_of(table, starts).map_err(|fault| reader.form(TITLES_FILE, fault))?;
        let found = titles.len() as u64;
        if found != count {
            return Err(reader.form(TITLES_FILE, FormFault::Titles { expected: count, found }));
        }
        let ids = if reader.optional(&IDS)? {
            let map = reader.map(&IDS, IDS.first_file)?;
            let fault = || FormFault::Entries { titles: titles.len(), found: map.bytes().len() };
            Ids::mapped(&map, titles.len()).ok_or_else(|| reader.form(IDS.first_file, fault()))?
        } else {
            Ids::of(&titles)
        };
        let format = folder.parts().get(VECTORS.name).and_then(|part| VectorFormat::of_kind(&part.kind));
        let format = format.unwrap_or_default();
        let (index, lists) = reader.lists(reader.vectors(format)?, dimension)?;
        let (words, words_bytes) = reader.words(&titles)?;
        if words.len() != count {
            return Err(reader.form(WORDS.first_file, FormFault::Titles { expected: count, found: words.len() }));
        }
        let fields = reader.fields(&titles)?;
        let trigrams = reader.trigrams(titles.len())?;
        Ok(Segment {
            path: folder.path().to_owned(),
            identity: Segment::identity(folder),
            files: folder.parts().values().flat_map(|part| part.files.clone()).collect(),
            on_disk: (folder.parts().values().flat_map(|part| part.files.keys()))
                .filter_map(|name| Some((name.clone(), FileId::of(&folder.path().join(name))?)))
                .collect(),
            titles,
            ids,
            vectors: Vectors { format, index, lists },
            words,
            words_bytes,
            fields,
            canaries: reader.json(&CANARIES)?.unwrap_or_default(),
            fusion: reader.fusion()?,
            trigrams,
        })
    }

    /// Makes a segment of titles and their vectors in memory.
    pub(crate) fn in_memory(titles: TitleLines, vectors: FlatIndex) -> Result<Segment> {
        Codes::room(vectors.dimension(), vectors.len())?;
        let path = PathBuf::from("the index in memory");
        let texts = (0..titles.len() as u32).map(|position| titles.get(position).map_or("", |line| line.title));
        let words = Words::in_memory(texts).map_err(|error| of_words(&path, &error))?;
        let index = QuantizedIndex::new(vectors);
        Ok(Segment {
            path,
            identity: String::new(),
            files: BTreeMap::new(),
            on_disk: BTreeMap::new(),
            ids: Ids::of(&titles),
            vectors: Vectors { format: VectorFormat::F32, index, lists: None },
            words,
            words_bytes: 0,
            fields: Fields::of(&titles),
            canaries: Vec::new(),
            fusion: Fusion::default(),
            trigrams: None,
            titles,
        })
    }

    /// The line of a title.
    pub(crate) fn line(&self, position: u32) -> Result<Line<'_>> {
        self.titles.get(position).ok_or_else(|| {
            let found = self.titles.bytes(position).map(|line| shortened(String::from_utf8_lossy(line).trim_end()));
            Error::index(&self.path, EngineFault::Title { position: u64::from(position) + 1, found })
        })
    }

    /// The number of titles.
    pub(crate) fn len(&self) -> usize {
        self.titles.len()
    }

    /// An error of the lexical part.
    pub(crate) fn of_words(&self, error: &tantivy::TantivyError) -> Error {
        of_words(&self.path, error)
    }
}

/// The fusion that an index keeps.
pub(crate) fn fusion(folder: &Folder<About>) -> Result<Fusion> {
    Reader { folder }.fusion()
}

/// What was chosen when an index was made. What its trigrams weigh is not read.
pub(crate) fn choices(folder: &Folder<About>) -> Result<Choices> {
    let kept = Reader { folder }.kept_fusion()?;
    Ok(kept.map_or_else(|| Fusion::default().choices(), |kept| kept.choices()))
}

/// A reader of the parts of a segment.
struct Reader<'a> {
    folder: &'a Folder<About>,
}

impl Reader<'_> {
    /// Whether a part is there, in the kind that this version knows.
    fn optional(&self, part: &PartKind) -> Result<bool> {
        match self.folder.parts().get(part.name) {
            None => Ok(false),
            Some(found) if found.kind == part.kind => Ok(true),
            Some(found) => {
                let fault = EngineFault::Kind { name: part.name, expected: part.kind, found: found.kind.clone() };
                Err(Error::index(self.folder.path(), fault))
            }
        }
    }

    fn map(&self, part: &PartKind, name: &str) -> Result<Map> {
        let path = self.folder.file(part, name)?;
        Ok(Map::open(&path).map_err(|source| clickvec::Error::io(&path, "map", source))?)
    }

    /// The numbers that a file consists of.
    fn numbers<T: Pod + Send + Sync>(&self, part: &PartKind, name: &str) -> Result<Shared<T>> {
        let map = self.map(part, name)?;
        map.all().ok_or_else(|| self.form(name, FormFault::Width { width: size_of::<T>(), found: map.bytes().len() }))
    }

    fn form(&self, name: &str, fault: FormFault) -> Error {
        form(self.folder.path(), name, fault)
    }

    /// The value in a small file, whose checksum is compared.
    fn json<T: DeserializeOwned>(&self, part: &PartKind) -> Result<Option<T>> {
        if !self.optional(part)? {
            return Ok(None);
        }
        let bytes = self.folder.read(part, part.first_file)?;
        let value = serde_json::from_slice(&bytes);
        Ok(Some(value.map_err(|error| self.form(part.first_file, FormFault::Json(error.into())))?))
    }

    /// The vectors in this format, with their codes.
    fn vectors(&self, format: VectorFormat) -> Result<QuantizedIndex> {
        let About { titles: count, dimension, .. } = *self.folder.about();
        let fault = |map: &Map| FormFault::Vectors { titles: count, dimension, found: map.bytes().len() };
        let form = |map: &Map| self.form(VECTORS_FILE, fault(map));
        let flat = || {
            let map = self.map(&VECTORS, VECTORS_FILE)?;
            flat_of(&map, count, dimension).ok_or_else(|| form(&map))
        };
        if format == VectorFormat::F32 && !self.optional(&CODES)? {
            let flat = flat()?;
            Codes::room(dimension, flat.len())?;
            return Ok(QuantizedIndex::new(flat));
        }
        let map = self.map(&CODES, CODES.first_file)?;
        let of_codes = || self.form(CODES.first_file, fault(&map));
        let codes = codes_of(&map, dimension).ok_or_else(of_codes)?;
        let index = match format {
            VectorFormat::F32 => QuantizedIndex::of_codes(flat()?, codes),
            VectorFormat::F16 => {
                let map = self.map(&VECTORS, VECTORS_FILE)?;
                let halves = halves_of(&map, count, dimension).ok_or_else(|| form(&map))?;
                QuantizedIndex::of_halves(dimension, halves, codes)
            }
            VectorFormat::Int8 => {
                QuantizedIndex::of_codes_alone(dimension, usize::try_from(count).map_err(|_| of_codes())?, codes)
            }
        };
        index.map_err(|_| of_codes())
    }

    /// The lists, and the index with its copies if it has any.
    fn lists(&self, mut index: QuantizedIndex, dimension: usize) -> Result<(QuantizedIndex, Option<Lists>)> {
        let is_once = self.folder.parts().get(LISTS.name).is_some_and(|part| part.kind == LISTS_ONCE.kind);
        let part = if is_once { LISTS_ONCE } else { LISTS };
        let Some(mut header) = self.json::<ListHeader>(&part)? else { return Ok((index, None)) };
        if is_once {
            header.copies.clear();
        }
        let centroids: Shared<f32> = self.numbers(&part, CENTROIDS_FILE)?;
        let lists = header.blocks.len().saturating_sub(1);
        let mut pairs = header.blocks.windows(2).chain(header.copies.windows(2));
        if let Some(pair) = pairs.find(|pair| pair[0] > pair[1]) {
            return Err(self.form(part.first_file, FormFault::Blocks { before: pair[0], found: pair[1] }));
        }
        if !header.copies.is_empty() && header.copies.len() != header.blocks.len() {
            return Err(self.form(part.first_file, FormFault::Copies { lists, found: header.copies.len() - 1 }));
        }
        if !header.copies.is_empty() {
            let map = self.map(&part, COPIES_FILE)?;
            let titles = self.folder.about().titles;
            let fault = || FormFault::Vectors { titles, dimension, found: map.bytes().len() };
            let of_copies = || self.form(COPIES_FILE, fault());
            let copies = codes_of(&map, dimension).ok_or_else(of_copies)?;
            index = index.with_copies(copies).map_err(|_| of_copies())?;
        }
        if Some(centroids.len()) != lists.checked_mul(dimension) {
            let fault = FormFault::Centres { lists, dimension, found: size_of_val(&centroids[..]) };
            return Err(self.form(CENTROIDS_FILE, fault));
        }
        Ok((index, Some(Lists::new(header, centroids, dimension))))
    }

    fn words(&self, titles: &TitleLines) -> Result<(Words, u64)> {
        let failed = |error| of_words(self.folder.path(), &error);
        let is_analysed = self.folder.parts().get(TERMS.name).is_some_and(|part| part.kind == TERMS.kind);
        let part = if is_analysed { TERMS } else { WORDS };
        if !self.optional(&part)? {
            let texts = (0..titles.len() as u32).map(|position| titles.get(position).map_or("", |line| line.title));
            return Ok((Words::in_memory(texts).map_err(failed)?, 0));
        }
        let files = &self.folder.parts()[part.name].files;
        // tantivy panics on some damaged files. These are small next to the vectors.
        files.keys().try_for_each(|name| self.folder.open_file(&part, name)?.finish())?;
        let bytes = files.values().map(|file| file.bytes).sum();
        let words = words::guarded(|| Words::open(&self.folder.path().join("words"))).map_err(failed)?;
        if is_analysed == (words.analysis() == Analysis::EXACT) {
            let expected = if is_analysed { WORDS.kind } else { TERMS.kind };
            let fault = EngineFault::Kind { name: part.name, expected, found: part.kind.to_owned() };
            return Err(Error::index(self.folder.path(), fault));
        }
        Ok((words, bytes))
    }

    /// What an index says of its fusion.
    fn kept_fusion(&self) -> Result<Option<Kept>> {
        let has_teacher =
            self.folder.parts().get(FUSION.name).is_some_and(|part| part.kind == FUSION_WITH_TEACHER.kind);
        self.json(if has_teacher { &FUSION_WITH_TEACHER } else { &FUSION })
    }

    fn fusion(&self) -> Result<Fusion> {
        let Some(kept) = self.kept_fusion()? else { return Ok(Fusion::default()) };
        let ranker = if self.optional(&TRIGRAM_WEIGHTS)? {
            Some(LetterTrigrams::load(&self.folder.file(&TRIGRAM_WEIGHTS, TRIGRAM_WEIGHTS.first_file)?)?)
        } else {
            None
        };
        if Bm25::new(kept.bm25.k1, kept.bm25.b).is_none() {
            return Err(self.form(FUSION.first_file, FormFault::Bm25 { k1: kept.bm25.k1, b: kept.bm25.b }));
        }
        if kept.trigrams.is_some() != ranker.is_some() {
            let fault = FormFault::TrigramWeight { has_weight: kept.trigrams.is_some() };
            return Err(self.form(FUSION.first_file, fault));
        }
        let teacher = match (self.optional(&TEACHER)?, kept.teacher) {
            (true, Some(weight)) => Some(Teacher::load(&self.folder.file(&TEACHER, TEACHER.first_file)?, weight)?),
            (false, None) => None,
            (_, weight) => {
                let fault = FormFault::TeacherWeight { has_weight: weight.is_some() };
                return Err(self.form(FUSION.first_file, fault));
            }
        };
        Ok(kept.with(ranker, teacher))
    }

    fn trigrams(&self, titles: usize) -> Result<Option<TrigramLists>> {
        if !self.optional(&TRIGRAMS)? {
            return Ok(None);
        }
        let starts: Shared<u64> = self.numbers(&TRIGRAMS, TRIGRAMS.first_file)?;
        let all: Shared<u32> = self.numbers(&TRIGRAMS, TRIGRAM_TITLES_FILE)?;
        let lengths: Shared<f64> = self.numbers(&TRIGRAMS, TRIGRAM_LENGTHS_FILE)?;
        if lengths.len() != titles {
            let fault = FormFault::Entries { titles, found: size_of_val(&lengths[..]) };
            return Err(self.form(TRIGRAM_LENGTHS_FILE, fault));
        }
        let entries = all.len();
        let bad = |found| self.form(TRIGRAMS.first_file, FormFault::TrigramLists { entries, found });
        if let Some(found) = BadPlaces::of(&starts, entries) {
            return Err(bad(found));
        }
        TrigramLists::of_parts(starts, all, lengths).map(Some).ok_or_else(|| bad(BadPlaces::None))
    }

    fn fields(&self, titles: &TitleLines) -> Result<Fields> {
        let Some(Header { fields: headers }) = self.json::<Header>(&FIELDS)? else { return Ok(Fields::of(titles)) };
        let column = |(field, header): (usize, &fields::ColumnHeader)| {
            let [codes, values, numbers] = fields::files(field);
            let maps = [self.map(&FIELDS, &codes)?, self.map(&FIELDS, &values)?, self.map(&FIELDS, &numbers)?];
            let [of_codes, texts, of_numbers] = [0, 1, 2].map(|file: usize| maps[file].bytes().len());
            let fault = || FormFault::Field {
                field: shortened(&header.name),
                values: header.values,
                titles: titles.len(),
                codes: of_codes,
                texts,
                numbers: of_numbers,
            };
            Fields::column(header, titles.len(), maps).ok_or_else(|| self.form(&codes, fault()))
        };
        Ok(Fields(headers.iter().enumerate().map(column).collect::<Result<_>>()?))
    }
}

/// A file that has another form.
fn form(path: &Path, name: &str, fault: FormFault) -> Error {
    Error::index(path, EngineFault::Form { name: name.to_owned(), fault })
}

/// The titles in a table.
fn titles_of(table: Shared<u8>, starts: Option<Shared<u64>>) -> Result<TitleLines, FormFault> {
    // More of the first line than a message shows.
    let start = &table[..table.len().min(1000)];
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let found = shortened(&String::from_utf8_lossy(first));
    TitleLines::new(table, starts).ok_or(FormFault::NotTitles { found })
}

fn of_words(path: &Path, error: &TantivyError) -> Error {
    // A full disk, or too many open files, is no damage.
    let of_system = match error {
        TantivyError::IoError(error) => Some(("read", error)),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => Some(("open", io_error)),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => Some(("write", io_error)),
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => Some(("open", io_error)),
        _ => None,
    };
    if let Some((action, code)) = of_system.and_then(|(action, error)| Some((action, error.raw_os_error()?))) {
        return clickvec::Error::io(&path.join("words"), action, io::Error::from_raw_os_error(code)).into();
    }
    Error::index(path, EngineFault::Words { name: "words".to_owned(), found: error.to_string() })
}
