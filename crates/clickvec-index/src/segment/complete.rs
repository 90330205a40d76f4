//! Completing an index: from titles and vectors to all other parts.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::build::Parts;
use crate::folder::PartKind;
use crate::layout::{CODES, TITLES_FILE, VECTORS_FILE};
use clickvec::index::{FlatIndex, QuantizedIndex};
use clickvec::internals::index::{Codes, F16, Shared, floats, halves, npy_header_of};
use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec_eval::internals::{LetterTrigrams, TrigramLists};
use serde::Serialize;

use super::canaries;
use super::cluster::{Clusters, Members, cluster};
use super::fields::{self, Fields, Header};
use super::ids::Ids;
use super::parts::{
    CANARIES, CENTROIDS_FILE, COPIES_FILE, FIELDS, FUSION, FUSION_WITH_TEACHER, IDS, LISTS, OFFSETS, TEACHER, TERMS,
    TRIGRAM_LENGTHS_FILE, TRIGRAM_TITLES_FILE, TRIGRAM_WEIGHTS, TRIGRAMS, WORDS,
};
use super::titles::TitleLines;
use super::vectors::{ListHeader, Lists, Vectors, flat_of};
use super::{MANY_VECTORS, form, of_words, titles_of};
use crate::error::{FormFault, Result};
use crate::format::VectorFormat;
use crate::fusion::{Fusion, Kept};
use crate::map::Map;
use crate::trigrams::Trigrams;
use crate::words::{self, Words};

/// What a segment is made with.
pub(crate) struct Recipe<'a> {
    pub(crate) model: &'a Model,
    /// How to fuse, for the first segment of an index.
    pub(crate) fusion: Option<&'a Fusion>,
    /// The trigrams of the fusion, for any segment.
    pub(crate) trigrams: Option<&'a Trigrams>,
    /// What is done to the words of the titles.
    pub(crate) analysis: Analysis,
    pub(crate) format: VectorFormat,
    /// The number of vectors from which on they are put into lists.
    pub(crate) lists_from: usize,
}

impl<'a> Recipe<'a> {
    pub(crate) fn new(model: &'a Model, fusion: Option<&'a Fusion>, format: VectorFormat) -> Recipe<'a> {
        let (trigrams, analysis) = fusion.map(|of| (of.trigrams.as_ref(), of.analysis)).unwrap_or_default();
        Recipe { model, fusion, trigrams, analysis, format, lists_from: MANY_VECTORS }
    }
}

/// The folder that is written to.
struct Target<'a> {
    folder: &'a Path,
    parts: Parts,
}

impl Target<'_> {
    fn write(&mut self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        let path = self.folder.join(name);
        let write = || -> io::Result<()> {
            let mut file = BufWriter::new(File::create_new(&path)?);
            pieces.iter().try_for_each(|piece| file.write_all(piece))?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        Ok(write().map_err(|source| clickvec::Error::io(&path, "write", source))?)
    }

    fn part(&mut self, part: PartKind, pieces: &[&[u8]]) -> Result<()> {
        self.write(part.first_file, pieces)?;
        self.parts.push((part, vec![part.first_file.to_owned()]));
        Ok(())
    }

    fn json(&mut self, part: PartKind, value: &impl Serialize, mut more: Vec<String>) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(value).expect("names for keys");
        self.write(part.first_file, &[&bytes, b"\n"])?;
        more.insert(0, part.first_file.to_owned());
        self.parts.push((part, more));
        Ok(())
    }
}

/// Writes all parts that follow from the titles and the vectors in a folder.
pub(crate) fn complete(folder: &Path, recipe: &Recipe<'_>) -> Result<Parts> {
    let map = |name: &str| {
        let path = folder.join(name);
        Map::open(&path).map_err(|source| clickvec::Error::io(&path, "map", source))
    };
    // Bytes have any width.
    let table = map(TITLES_FILE)?.all().unwrap_or_else(|| Vec::new().into());
    let titles = titles_of(table, None).map_err(|fault| form(folder, TITLES_FILE, fault))?;
    let (vectors, count, dimension) = (map(VECTORS_FILE)?, titles.len() as u64, recipe.model.dimension());
    let fault = || FormFault::Vectors { titles: count, dimension, found: vectors.bytes().len() };
    let flat = flat_of(&vectors, count, dimension).ok_or_else(|| form(folder, VECTORS_FILE, fault()))?;
    let rounded = Rounded::new(flat, recipe.format)?;
    let mut target = Target { folder, parts: Parts::new() };
    target.part(OFFSETS, &[bytemuck::cast_slice(titles.starts())])?;
    let ((ids, vectors, columns), words) = rayon::join(
        || {
            let flat = &rounded.flat;
            let clusters = (flat.len() >= recipe.lists_from).then(|| cluster(flat));
            (Ids::of(&titles), rounded.vectors(clusters), Fields::of(&titles))
        },
        || write_words(folder, &titles, recipe.analysis),
    );
    let (mut vectors, words_files) = (vectors?, words?);
    target.part(IDS, &ids.bytes())?;
    canaries::tune(&mut vectors, &titles, recipe.model)?;
    let codes = vectors.index.codes();
    let (header, pieces) = (codes.header(), codes.pieces());
    target.part(CODES, &[&[&header[..]], &pieces[..]].concat())?;
    if let Some(Lists { header, centroids, .. }) = &vectors.lists {
        target.write(CENTROIDS_FILE, &[bytemuck::cast_slice(centroids)])?;
        let mut files = vec![CENTROIDS_FILE.to_owned()];
        if let Some(copies) = vectors.index.copies() {
            target.write(COPIES_FILE, &[&[&copies.header()[..]], &copies.pieces()[..]].concat())?;
            files.push(COPIES_FILE.to_owned());
        }
        target.json(LISTS, header, files)?;
    }
    write_fields(&mut target, &columns)?;
    if let Some(Trigrams { ranker, .. }) = recipe.trigrams {
        write_trigrams(&mut target, ranker, &titles, recipe.fusion.is_some())?;
    }
    if let Some(fusion) = recipe.fusion {
        let words = words::guarded(|| Words::open(&folder.join("words"))).map_err(|error| of_words(folder, &error))?;
        target.json(CANARIES, &canaries::ask(&vectors, &words, fusion.bm25, &titles, recipe.model)?, Vec::new())?;
        let part = if fusion.teacher.is_some() { FUSION_WITH_TEACHER } else { FUSION };
        target.json(part, &Kept::of(fusion), Vec::new())?;
        if let Some(teacher) = &fusion.teacher {
            teacher.ranker.save(&folder.join(TEACHER.first_file))?;
            target.parts.push((TEACHER, vec![TEACHER.first_file.to_owned()]));
        }
    }
    target.parts.push((if recipe.analysis == Analysis::EXACT { WORDS } else { TERMS }, words_files));
    drop(vectors);
    rounded.keep(&mut target)?;
    Ok(target.parts)
}

/// Vectors in the form in which they are kept.
struct Rounded {
    flat: FlatIndex,
    format: VectorFormat,
    /// Those of [`VectorFormat::F16`].
    halves: Option<Shared<u16>>,
}

impl Rounded {
    fn new(flat: FlatIndex, format: VectorFormat) -> Result<Rounded> {
        let d = flat.dimension();
        Ok(match format {
            VectorFormat::F32 => Rounded { flat, format, halves: None },
            VectorFormat::F16 => {
                let halves = halves(flat.vectors());
                let flat = FlatIndex::of_unit(d, floats(&halves).into())?;
                Rounded { flat, format, halves: Some(halves.into()) }
            }
            VectorFormat::Int8 => {
                let flat = FlatIndex::of_unit(d, Codes::rounded(d, flat.vectors()).into())?;
                Rounded { flat, format, halves: None }
            }
        })
    }

    /// The vectors with their codes, in the order of the lists if there are lists.
    fn vectors(&self, clusters: Option<Clusters>) -> clickvec::Result<Vectors> {
        let format = self.format;
        Codes::room(self.flat.dimension(), self.flat.len())?;
        let Some(Clusters { centroids, first, second }) = clusters else {
            return Ok(Vectors { format, index: self.index(None)?, lists: None });
        };
        let mut index = self.index(Some(first.rows))?;
        let mut header = ListHeader { searched: 1, gap: None, recall: 0.0, blocks: first.blocks, copies: Vec::new() };
        if let Some(Members { rows, blocks }) = second {
            let (vectors, d) = (self.flat.vectors(), self.flat.dimension());
            Codes::room(d, rows.len())?;
            // A search reads the vectors themselves where the high bits do not rule them out.
            index = index.with_copies(match format {
                VectorFormat::Int8 => Codes::alone(d, vectors, Some(rows)),
                _ => Codes::encode_high(d, vectors, Some(rows)),
            })?;
            header.copies = blocks;
        }
        Ok(Vectors { format, index, lists: Some(Lists::new(header, centroids.into(), self.flat.dimension())) })
    }

    fn codes(&self, rows: Option<Vec<u32>>) -> Codes {
        let (vectors, d) = (self.flat.vectors(), self.flat.dimension());
        match self.format {
            VectorFormat::Int8 => Codes::alone(d, vectors, rows),
            _ => Codes::encode(d, vectors, rows),
        }
    }

    /// An index whose codes come in the order of these positions.
    fn index(&self, rows: Option<Vec<u32>>) -> clickvec::Result<QuantizedIndex> {
        let (flat, codes) = (&self.flat, self.codes(rows));
        match (self.format, &self.halves) {
            (VectorFormat::Int8, _) => QuantizedIndex::of_codes_alone(flat.dimension(), flat.len(), codes),
            (_, Some(halves)) => QuantizedIndex::of_halves(flat.dimension(), halves.clone(), codes),
            (_, None) => QuantizedIndex::of_codes(flat.clone(), codes),
        }
    }

    /// Puts the rounded vectors in the place of those that were rounded.
    fn keep(self, target: &mut Target<'_>) -> Result<()> {
        let Rounded { flat, format, halves } = self;
        if format == VectorFormat::F32 {
            return Ok(());
        }
        let path = target.folder.join(VECTORS_FILE);
        fs::remove_file(&path).map_err(|source| clickvec::Error::io(&path, "write", source))?;
        let Some(halves) = halves else {
            target.parts.push((format.part(), Vec::new()));
            return Ok(());
        };
        target.part(format.part(), &[&npy_header_of(F16, flat.len(), flat.dimension()), bytemuck::cast_slice(&halves)])
    }
}

fn write_words(folder: &Path, titles: &TitleLines, analysis: Analysis) -> Result<Vec<String>> {
    let inner = folder.join("words");
    let failed = |source| clickvec::Error::io(&inner, "write", source);
    fs::create_dir(&inner).map_err(failed)?;
    let texts = (0..titles.len() as u32).map(|position| titles.get(position).map_or("", |line| line.title));
    let names = words::write_to(&inner, texts, analysis).map_err(|error| match error {
        tantivy::TantivyError::IoError(error) => failed(io::Error::new(error.kind(), error)).into(),
        other => of_words(folder, &other),
    })?;
    if cfg!(unix) {
        File::open(&inner).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(names.into_iter().map(|name| format!("words/{name}")).collect())
}

/// Writes the lists of the trigrams and, with the fusion, what they weigh.
fn write_trigrams(target: &mut Target<'_>, ranker: &LetterTrigrams, titles: &TitleLines, is_first: bool) -> Result<()> {
    let text = |position| titles.get(position).map_or("", |line| line.title);
    let lists = TrigramLists::new(ranker, || (0..titles.len() as u32).map(text))?;
    let (starts, all, lengths) = lists.parts();
    target.write(TRIGRAM_TITLES_FILE, &[bytemuck::cast_slice(all)])?;
    target.write(TRIGRAM_LENGTHS_FILE, &[bytemuck::cast_slice(lengths)])?;
    target.write(TRIGRAMS.first_file, &[bytemuck::cast_slice(starts)])?;
    let files = [TRIGRAMS.first_file, TRIGRAM_TITLES_FILE, TRIGRAM_LENGTHS_FILE].map(str::to_owned).into();
    target.parts.push((TRIGRAMS, files));
    if is_first {
        ranker.save(&target.folder.join(TRIGRAM_WEIGHTS.first_file))?;
        target.parts.push((TRIGRAM_WEIGHTS, vec![TRIGRAM_WEIGHTS.first_file.to_owned()]));
    }
    Ok(())
}

fn write_fields(target: &mut Target<'_>, columns: &Fields) -> Result<()> {
    let mut files = Vec::new();
    for (field, column) in columns.0.iter().enumerate() {
        let [codes, values, numbers] = fields::files(field);
        target.write(&codes, &[bytemuck::cast_slice(&column.codes)])?;
        target.write(&values, &[bytemuck::cast_slice(&column.starts), &column.text])?;
        target.write(&numbers, &[bytemuck::cast_slice(&column.numbers)])?;
        files.extend([codes, values, numbers]);
    }
    let header = Header { fields: columns.0.iter().map(|column| column.header.clone()).collect() };
    target.json(FIELDS, &header, files)
}

#[cfg(test)]
mod tests {
    use crate::build::IndexBuilder;
    use clickvec::tables::Title;

    use super::super::parts::LISTS_ONCE;
    use super::*;
    use crate::facts::VectorSearch;
    use crate::{Condition, Filter, Index, Part, Request};

    fn shop() -> (Model, Vec<Title>) {
        let testdata = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"));
        let model = Model::load(&testdata.join("frozen/format-1/lstm.safetensors")).unwrap();
        (model, clickvec::tables::read_titles(&testdata.join("shop/titles.tsv"), "title").unwrap().titles)
    }

    /// TitleLines for an index with one column.
    fn builder(model: &Model, titles: &[Title], path: &Path) -> IndexBuilder {
        let mut builder = IndexBuilder::with_fields(model, path, &["round".to_owned()]).unwrap();
        for round in 0..12 {
            for Title { id, title } in titles {
                // Words of other titles make other vectors.
                let other = &titles[(round * 31) % titles.len()].title;
                let title = Title { id: format!("{id}-{round}"), title: format!("{title} {other}") };
                builder.add_with_fields(title, &[round.to_string()]).unwrap();
            }
        }
        builder
    }

    #[test]
    fn lists_of_earlier_versions_are_read_and_damaged_ones_refused() {
        let (model, titles) = shop();
        let folder = tempfile::tempdir().unwrap();
        let fusion = Fusion::default();
        let recipe = Recipe { lists_from: 100, ..Recipe::new(&model, Some(&fusion), VectorFormat::F32) };
        let make = |name: &str, change: &dyn Fn(&Path, &mut Parts, &mut ListHeader)| {
            let path = folder.path().join(name);
            let finish = |folder: &Path| {
                let mut parts = complete(folder, &recipe)?;
                let file = folder.join(LISTS.first_file);
                let mut header: ListHeader = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                change(folder, &mut parts, &mut header);
                fs::write(file, serde_json::to_vec(&header).unwrap()).unwrap();
                Ok::<_, crate::Error>(parts)
            };
            builder(&model, &titles, &path).finish_with(finish).unwrap();
            Index::open(&path)
        };
        let once = make("once", &|folder, parts, header| {
            header.copies.clear();
            fs::remove_file(folder.join(COPIES_FILE)).unwrap();
            for (part, files) in parts.iter_mut().filter(|(part, _)| *part == LISTS) {
                *part = LISTS_ONCE;
                files.retain(|name| name != COPIES_FILE);
            }
        });
        let once = once.unwrap();
        let found = |title: &&Title| {
            let hits = once.search(&Request::new(title.title.as_str(), Part::Vectors)).unwrap().hits;
            hits.first().is_some_and(|hit| hit.score > 0.9)
        };
        let count = titles.iter().filter(found).count();
        assert!(count * 10 >= titles.len() * 9, "{count} of {}", titles.len());
        type Fault<'a> = &'a dyn Fn(&Path, &mut ListHeader);
        let faults: [(&str, Fault<'_>); 3] = [
            ("lists.json", &|_, header| header.copies.truncate(1)),
            ("lists.json", &|_, header| header.copies[3] = u32::MAX),
            ("copies.bin", &|folder, _| {
                let bytes = fs::read(folder.join(COPIES_FILE)).unwrap();
                fs::write(folder.join(COPIES_FILE), &bytes[..bytes.len() / 2]).unwrap();
            }),
        ];
        for (number, (name, fault)) in faults.into_iter().enumerate() {
            let opened = make(&number.to_string(), &|folder, _, header| fault(folder, header));
            let error = opened.map(drop).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn lists_are_kept_and_find_most_of_the_best() {
        let (model, titles) = shop();
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, lists_from: usize, format: VectorFormat| {
            let path = folder.path().join(format!("{name}-{format}"));
            let fusion = Fusion::default();
            let recipe = Recipe { lists_from, ..Recipe::new(&model, Some(&fusion), format) };
            builder(&model, &titles, &path).finish_with(|folder| complete(folder, &recipe)).unwrap();
            Index::open(&path).unwrap()
        };
        for format in VectorFormat::ALL {
            let (listed, exact) = (make("listed", 100, format), make("exact", usize::MAX, format));
            let VectorSearch::Lists { lists, searched, recall } = listed.facts().vectors.search else { panic!() };
            assert!(lists > 20 && searched <= lists && recall >= 0.965, "{searched} of {lists}: {recall}");
            assert_eq!(exact.facts().vectors.search, VectorSearch::Exact);
            assert!(listed.check().unwrap().queries > 0);
            let search = |index: &Index, request: &Request| {
                let hits = index.search(request).unwrap().hits;
                hits.into_iter().map(|hit| (hit.id, hit.score.to_bits())).collect::<Vec<_>>()
            };
            let (mut found, mut wanted) = (0, 0);
            for title in &titles {
                let request = Request::new(title.title.as_str(), Part::Vectors);
                let best = search(&exact, &request);
                let hits = search(&listed, &request);
                wanted += best.len();
                found +=
                    hits.iter().filter(|hit| f32::from_bits(hit.1) >= f32::from_bits(best[best.len() - 1].1)).count();
            }
            assert!(found * 100 >= wanted * 95, "{found} of {wanted}");
            // Pages of lists are pages of one list, too.
            let whole = search(&listed, &Request::new("nylon drywall anchor", Part::Vectors).with_k(100));
            let page = |offset: usize| {
                search(&listed, &Request::new("nylon drywall anchor", Part::Vectors).with_offset(offset))
            };
            let pages: Vec<_> = (0..30).flat_map(|number| page(10 * number)).collect();
            assert_eq!(pages[..whole.len()], whole);
            let ids: std::collections::HashSet<&String> = pages.iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), pages.len());
            // Few titles meet this condition, and the best of them are found all the same.
            let filter = Filter { field: "round".to_owned(), condition: Condition::Is("3".to_owned()) };
            let request = Request::new("nylon drywall anchor", Part::Vectors).with_filters(vec![filter]);
            assert_eq!(search(&listed, &request), search(&exact, &request));
        }
    }
}
