//! Completing an index: from titles and vectors to all other parts.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clickvec::index::QuantizedIndex;
use clickvec::internals::index::{Codes, PartKind, TITLES_FILE, VECTORS_FILE};
use clickvec::model::Model;
use clickvec::search::Parts;
use serde::Serialize;

use super::canaries;
use super::cluster::cluster;
use super::fields::{self, Fields, Header};
use super::ids::Ids;
use super::parts::{CANARIES, CENTROIDS_FILE, CODES, FIELDS, FUSION, IDS, LISTS, OFFSETS, WORDS};
use super::titles::Titles;
use super::vectors::{ListHeader, Lists, Vectors, codes_bytes, codes_header, flat_of};
use super::{MANY_VECTORS, form, of_words};
use crate::error::Result;
use crate::fusion::Fusion;
use crate::map::Map;
use crate::words::{self, Words};

/// What a segment is made with.
pub(crate) struct Recipe<'a> {
    pub(crate) model: &'a Model,
    /// How to fuse, for the first segment of an index.
    pub(crate) fusion: Option<&'a Fusion>,
    /// The number of vectors from which on they are put into lists.
    pub(crate) lists_from: usize,
}

impl<'a> Recipe<'a> {
    pub(crate) fn new(model: &'a Model, fusion: Option<&'a Fusion>) -> Recipe<'a> {
        Recipe { model, fusion, lists_from: MANY_VECTORS }
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
    let table = map(TITLES_FILE)?.all().ok_or_else(|| form(folder, TITLES_FILE, "titles"))?;
    let titles = Titles::new(table, None).ok_or_else(|| form(folder, TITLES_FILE, "titles"))?;
    let flat = flat_of(&map(VECTORS_FILE)?, titles.len() as u64, recipe.model.dimension());
    let flat = flat.ok_or_else(|| form(folder, VECTORS_FILE, "a vector for each title"))?;
    let mut target = Target { folder, parts: Parts::new() };
    target.part(OFFSETS, &[bytemuck::cast_slice(titles.starts())])?;
    let ((ids, vectors, columns), words) = rayon::join(
        || {
            let clusters = (flat.len() >= recipe.lists_from).then(|| cluster(&flat));
            let (lists, rows) = clusters.map_or((None, None), |clusters| {
                let header = ListHeader { searched: 1, gap: None, recall: 0.0, blocks: clusters.blocks };
                (Some(Lists { header, centroids: clusters.centroids.into() }), Some(clusters.rows))
            });
            let codes = Codes::encode(flat.dimension(), flat.vectors(), rows);
            let vectors = QuantizedIndex::of_codes(flat.clone(), codes).map(|index| Vectors { index, lists });
            (Ids::of(&titles), vectors, Fields::of(&titles))
        },
        || write_words(folder, &titles),
    );
    let (mut vectors, words_files) = (vectors?, words?);
    target.part(IDS, &ids.bytes())?;
    canaries::tune(&mut vectors, &titles, recipe.model)?;
    let header = codes_header(vectors.index.codes());
    let mut pieces = codes_bytes(vectors.index.codes());
    pieces.insert(0, &header);
    target.part(CODES, &pieces)?;
    if let Some(Lists { header, centroids }) = &vectors.lists {
        target.write(CENTROIDS_FILE, &[bytemuck::cast_slice(centroids)])?;
        target.json(LISTS, header, vec![CENTROIDS_FILE.to_owned()])?;
    }
    write_fields(&mut target, &columns)?;
    if let Some(fusion) = recipe.fusion {
        let words = words::guarded(|| Words::open(&folder.join("words"))).map_err(|error| of_words(folder, &error))?;
        target.json(CANARIES, &canaries::ask(&vectors, &words, &titles, recipe.model)?, Vec::new())?;
        target.json(FUSION, fusion, Vec::new())?;
    }
    target.parts.push((WORDS, words_files));
    Ok(target.parts)
}

fn write_words(folder: &Path, titles: &Titles) -> Result<Vec<String>> {
    let inner = folder.join("words");
    let failed = |source| clickvec::Error::io(&inner, "write", source);
    fs::create_dir(&inner).map_err(failed)?;
    let texts = (0..titles.len() as u32).map(|position| titles.get(position).map_or("", |line| line.title));
    let names = words::write_to(&inner, texts).map_err(|error| match error {
        tantivy::TantivyError::IoError(error) => failed(io::Error::new(error.kind(), error)).into(),
        other => of_words(folder, &other),
    })?;
    if cfg!(unix) {
        File::open(&inner).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(names.into_iter().map(|name| format!("words/{name}")).collect())
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
    use clickvec::search::IndexBuilder;
    use clickvec::tables::Title;

    use super::*;
    use crate::facts::VectorSearch;
    use crate::{Condition, Engine, Filter, Mode, Request};

    #[test]
    fn lists_are_kept_and_find_most_of_the_best() {
        let testdata = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"));
        let model = Model::load(&testdata.join("frozen/format-1/lstm.safetensors")).unwrap();
        let titles = clickvec::tables::read_titles(&testdata.join("shop/titles.tsv"), "title").unwrap().titles;
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, lists_from: usize| {
            let path = folder.path().join(name);
            let mut builder = IndexBuilder::with_fields(&model, &path, &["round".to_owned()]).unwrap();
            for round in 0..12 {
                for Title { id, title } in &titles {
                    // Words of other titles make other vectors.
                    let other = &titles[(round * 31) % titles.len()].title;
                    let title = Title { id: format!("{id}-{round}"), title: format!("{title} {other}") };
                    builder.add_with_fields(title, &[round.to_string()]).unwrap();
                }
            }
            let fusion = Fusion::default();
            let recipe = Recipe { lists_from, ..Recipe::new(&model, Some(&fusion)) };
            builder.finish_with(|folder| complete(folder, &recipe)).unwrap();
            Engine::open(&path).unwrap()
        };
        let (listed, exact) = (make("listed", 100), make("exact", usize::MAX));
        let VectorSearch::Lists { lists, searched, recall } = listed.facts().vectors.search else { panic!() };
        assert!(lists > 20 && searched <= lists && recall >= 0.965, "{searched} of {lists}: {recall}");
        assert_eq!(exact.facts().vectors.search, VectorSearch::Exact);
        assert!(listed.check().unwrap().queries > 0);
        let search = |engine: &Engine, request: &Request| {
            let hits = engine.search(request).unwrap().hits;
            hits.into_iter().map(|hit| (hit.id, hit.score.to_bits())).collect::<Vec<_>>()
        };
        let (mut found, mut wanted) = (0, 0);
        for title in &titles {
            let request = Request::new(title.title.as_str(), Mode::Vectors);
            let best = search(&exact, &request);
            let hits = search(&listed, &request);
            wanted += best.len();
            found += hits.iter().filter(|hit| f32::from_bits(hit.1) >= f32::from_bits(best[best.len() - 1].1)).count();
        }
        assert!(found * 100 >= wanted * 95, "{found} of {wanted}");
        // Few titles meet this condition, and the best of them are found all the same.
        let filter = Filter { field: "round".to_owned(), condition: Condition::Is("3".to_owned()) };
        let request = Request::new("nylon drywall anchor", Mode::Vectors).with_filters(vec![filter]);
        assert_eq!(search(&listed, &request), search(&exact, &request));
    }
}
