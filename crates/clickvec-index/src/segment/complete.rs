//! Completing a segment: from titles and vectors to all other parts.

use clickvec::internals::text::Analysis;
use clickvec::model::Model;
use clickvec::train::Accents;
use clickvec_eval::internals::LetterTrigrams;
use clickvec_tables::Stop;

use super::canaries;
use super::fields::Fields;
use super::ids::{IDS_FILE, Ids};
use crate::confidence::{CONFIDENCE_FILE, Confidence};
use crate::error::Result;
use crate::folder::FolderWriter;
use crate::fusion::{FUSION_FILE, Fusion};
use crate::part::Part;
use crate::parts::teacher::Teacher;
use crate::parts::trigrams;
use crate::parts::vectors::{MANY_VECTORS, Rounded, VectorFormat};
use crate::parts::words::{self, Words};
use crate::titles::{OFFSETS_FILE, TITLES_FILE, TitleLines};

/// The settings of a segment.
pub(crate) struct Recipe<'a> {
    pub(crate) model: &'a Model,
    /// The fusion, for the first segment of an index.
    pub(crate) fusion: Option<&'a Fusion>,
    /// The trigrams of the fusion, for any segment; those that are not there yet are learnt from the titles of the first.
    pub(crate) trigrams: Option<&'a LetterTrigrams>,
    /// The teacher of the fusion, for any segment.
    pub(crate) teacher: Option<&'a Teacher>,
    /// The changes to the words of the titles.
    pub(crate) analysis: Analysis,
    pub(crate) format: VectorFormat,
    /// The number of vectors from which on they are put into lists.
    pub(crate) lists_from: usize,
}

impl<'a> Recipe<'a> {
    /// Describes the first segment of an index.
    pub(crate) fn new(model: &'a Model, fusion: &'a Fusion, format: VectorFormat) -> Recipe<'a> {
        Recipe { fusion: Some(fusion), ..Recipe::for_update(model, fusion, format) }
    }

    /// Describes a segment that an update adds.
    pub(crate) fn for_update(model: &'a Model, fusion: &'a Fusion, format: VectorFormat) -> Recipe<'a> {
        let (trigrams, analysis) = (fusion.trigrams.as_ref().map(|trigrams| &*trigrams.0), fusion.analysis);
        let teacher = fusion.teacher.as_ref();
        Recipe { model, fusion: None, trigrams, teacher, analysis, format, lists_from: MANY_VECTORS }
    }
}

/// Writes all parts that follow from the titles and the vectors in a folder.
pub(crate) fn complete(folder: &mut FolderWriter, recipe: &Recipe<'_>) -> Result<()> {
    let Recipe { model, format, .. } = *recipe;
    let path = folder.file("");
    let titles = TitleLines::map_table(&folder.file(TITLES_FILE))?;
    let rounded = Rounded::open(&path, titles.len(), model.dimension(), format)?;
    folder.write(OFFSETS_FILE, &[bytemuck::cast_slice(titles.starts())])?;
    let stop = Stop::of_thread();
    let ((ids, vectors, columns), written) = rayon::join(
        || stop.during(|| (Ids::new(&titles), rounded.searchable(recipe.lists_from), Fields::new(&titles))),
        || stop.during(|| words::write(&path, &titles, recipe.analysis)),
    );
    stop.check()?;
    let (mut vectors, word_files) = (vectors?, written?);
    folder.write(IDS_FILE, &ids.bytes())?;
    folder.part("titles", "table", &[TITLES_FILE, OFFSETS_FILE, IDS_FILE]);
    folder.part("words", "tantivy", &word_files);
    canaries::tune(&mut vectors, &titles, model)?;
    stop.check()?;
    columns.write(folder)?;
    let learns = recipe.trigrams.is_none() && recipe.fusion.is_some_and(|fusion| fusion.weight(Part::Trigrams) > 0.0);
    let accents = if recipe.analysis.fold { Accents::Fold } else { Accents::Keep };
    let learnt = learns.then(|| LetterTrigrams::from_titles(titles.texts(), accents)).transpose()?;
    if let Some(ranker) = recipe.trigrams.or(learnt.as_ref()) {
        trigrams::write(folder, ranker, &titles, recipe.fusion.is_some())?;
    }
    if let Some(teacher) = recipe.teacher {
        teacher.write(folder, &titles, recipe.fusion.is_some())?;
    }
    stop.check()?;
    if let Some(fusion) = recipe.fusion {
        let words = Words::open_in(&path)?;
        let canaries = canaries::ask(&vectors, &words, fusion.bm25, &titles, model)?;
        folder.json_part("canaries", canaries::CANARIES_FILE, &canaries)?;
        folder.json_part("fusion", FUSION_FILE, fusion)?;
        folder.json_part("confidence", CONFIDENCE_FILE, &Confidence::measure(&[(&vectors, &titles, None)], model)?)?;
    }
    vectors.write(folder)?;
    drop(vectors);
    rounded.replace_floats(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clickvec::tables::Title;

    use super::*;
    use crate::build::IndexBuilder;
    use crate::facts::{PartFacts, VectorSearch};
    use crate::parts::vectors::ListHeader;
    use crate::{Condition, Filter, Index, Request};

    fn search_of(index: &Index) -> VectorSearch {
        match index.facts().parts.get(Part::Vectors) {
            Some(PartFacts::Vectors(facts)) => facts.search,
            other => panic!("{other:?}"),
        }
    }

    fn shop() -> (Model, Vec<Title>) {
        let testdata = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"));
        let model = Model::load(&testdata.join("frozen/format-1/lstm.safetensors")).unwrap();
        (model, clickvec::tables::read_titles(&testdata.join("shop/titles.tsv"), "title").unwrap().titles)
    }

    /// Creates a builder of an index with one column.
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
    fn damaged_lists_are_refused() {
        let (model, titles) = shop();
        let folder = tempfile::tempdir().unwrap();
        let fusion = Fusion::default();
        let recipe = Recipe { lists_from: 100, ..Recipe::new(&model, &fusion, VectorFormat::F32) };
        let make = |name: &str, change: &dyn Fn(&Path, &mut ListHeader)| {
            let path = folder.path().join(name);
            let finish = |writer: &mut FolderWriter| {
                complete(writer, &recipe)?;
                let (folder, file) = (writer.file(""), writer.file("lists.json"));
                let mut header: ListHeader = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
                change(&folder, &mut header);
                fs::write(file, serde_json::to_vec(&header).unwrap()).unwrap();
                Ok(())
            };
            builder(&model, &titles, &path).finish_with(finish).unwrap();
            Index::open(&path)
        };
        type Fault<'a> = &'a dyn Fn(&Path, &mut ListHeader);
        let faults: [(&str, Fault<'_>); 3] = [
            ("lists.json", &|_, header| header.copies.truncate(1)),
            ("lists.json", &|_, header| header.copies[3] = u32::MAX),
            ("copies.bin", &|folder, _| {
                let bytes = fs::read(folder.join("copies.bin")).unwrap();
                fs::write(folder.join("copies.bin"), &bytes[..bytes.len() / 2]).unwrap();
            }),
        ];
        for (number, (name, fault)) in faults.into_iter().enumerate() {
            let opened = make(&number.to_string(), fault);
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
            let recipe = Recipe { lists_from, ..Recipe::new(&model, &fusion, format) };
            builder(&model, &titles, &path).finish_with(|folder| complete(folder, &recipe)).unwrap();
            Index::open(&path).unwrap()
        };
        for format in VectorFormat::ALL {
            let (listed, exact) = (make("listed", 100, format), make("exact", usize::MAX, format));
            let VectorSearch::Lists { lists, searched, recall } = search_of(&listed) else { panic!() };
            assert!(lists > 20 && searched <= lists && recall >= 0.965, "{searched} of {lists}: {recall}");
            assert_eq!(search_of(&exact), VectorSearch::Exact);
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
            let list = search(&listed, &Request::new("nylon drywall anchor", Part::Vectors).with_k(100));
            let page = |offset: usize| {
                search(&listed, &Request::new("nylon drywall anchor", Part::Vectors).with_offset(offset))
            };
            let pages: Vec<_> = (0..30).flat_map(|number| page(10 * number)).collect();
            assert_eq!(pages[..list.len()], list);
            let ids: std::collections::HashSet<&String> = pages.iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), pages.len());
            // Few titles meet this condition, and the best of them are found all the same.
            let filter = Filter { field: "round".to_owned(), condition: Condition::Is("3".to_owned()) };
            let request = Request::new("nylon drywall anchor", Part::Vectors).with_filters(vec![filter]);
            assert_eq!(search(&listed, &request), search(&exact, &request));
        }
    }
}
