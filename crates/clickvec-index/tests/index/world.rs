//! A small index to ask.

use std::path::{Path, PathBuf};

use clickvec::model::Model;
use clickvec::tables::{Title, read_titles};
use clickvec_eval::ranker::Candidates;
use clickvec_index::{
    Answer, ByPart, Document, Fusion, FusionMethod, Hit, Index, IndexBuilder, Mode, Part, PartFacts, Request,
    VectorFormat, WordFacts, finish, fused_shares, sum_shares,
};

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata")).join(name)
}

pub(crate) fn model() -> Model {
    Model::load(&testdata("frozen/format-1/lstm.safetensors")).unwrap()
}

/// The titles of the shop.
pub(crate) fn titles() -> Vec<Title> {
    read_titles(&testdata("shop/titles.tsv"), "title").unwrap().titles
}

pub(crate) const QUERIES: [&str; 7] = [
    "nylon drywall anchor",
    "white toilet seat",
    "with kit",
    "wool wool rug",
    "8 ft. in.",
    "leather sofa with kit",
    "zzzz",
];

/// The fields of the title with this number: a brand of five, and a price.
pub(crate) fn fields(number: usize) -> [String; 2] {
    [format!("brand {}", number % 5), format!("{}.5", number % 100)]
}

pub(crate) fn field_names() -> Vec<String> {
    ["brand", "price"].map(str::to_owned).to_vec()
}

/// Makes an index of these titles.
pub(crate) fn build(path: &Path, model: &Model, titles: &[Title], fusion: &Fusion) -> String {
    let mut builder = IndexBuilder::with_fields(model, path, &field_names()).unwrap();
    for (number, title) in titles.iter().enumerate() {
        builder.add_with_fields(title.clone(), &fields(number)).unwrap();
    }
    finish(builder, model, fusion, VectorFormat::F32).unwrap().fingerprint
}

/// An index of all titles of the shop, in a folder that goes away.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) model: Model,
    pub(crate) titles: Vec<Title>,
}

impl World {
    pub(crate) fn new() -> World {
        let (folder, model, titles) = (tempfile::tempdir().unwrap(), model(), titles());
        let path = folder.path().join("index");
        build(&path, &model, &titles, &Fusion::default());
        World { folder, path, model, titles }
    }

    pub(crate) fn open(&self) -> Index {
        Index::open(&self.path).unwrap()
    }
}

/// The weights of a fusion of vectors and words.
pub(crate) fn weights(vectors: f64, words: f64) -> ByPart<f64> {
    [(Part::Vectors, vectors), (Part::Words, words)].into()
}

pub(crate) fn word_facts(index: &Index) -> WordFacts {
    match index.facts().parts.get(Part::Words) {
        Some(PartFacts::Words(facts)) => *facts,
        other => panic!("{other:?}"),
    }
}

/// What a part adds to a hit.
pub(crate) fn adds(hit: &Hit, part: Part) -> Option<f32> {
    hit.parts.get(part).map(|share| share.adds.unwrap())
}

/// The titles that can be found, in order.
pub(crate) fn all_titles(index: &Index) -> Vec<Title> {
    let mut titles = Vec::new();
    let each = index.for_each_title(|title| {
        titles.push(Title { id: title.id, title: title.title });
        Ok(())
    });
    each.unwrap();
    titles
}

/// The modes of every index.
pub(crate) const MODES: [Mode; 3] = [Mode::Alone(Part::Vectors), Mode::Alone(Part::Words), Mode::Fused];

pub(crate) fn search(index: &Index, query: &str, mode: impl Into<Mode>, k: usize) -> Answer {
    index.search(&Request::new(query, mode).with_k(k).with_min_confidence(0.0).as_typed()).unwrap()
}

/// Ids and bits of scores.
pub(crate) fn found(answer: &Answer) -> Vec<(String, u32)> {
    answer.hits.iter().map(|hit| (hit.id.clone(), hit.score.to_bits())).collect()
}

pub(crate) fn document(id: &str, title: &str, brand: &str) -> Document {
    let fields = [("brand".to_owned(), brand.to_owned())].into_iter().collect();
    Document { id: id.to_owned(), title: title.to_owned(), fields }
}

/// Fuses what rankers find, each with its weight.
pub(crate) fn fused_rankers(
    members: &[(Box<dyn Candidates + '_>, f64)],
    method: FusionMethod,
    query: &str,
    k: usize,
) -> Vec<clickvec::index::Hit> {
    let shares = |(ranker, weight): &(Box<dyn Candidates + '_>, f64)| {
        fused_shares(&ranker.search(query, 1000).unwrap(), *weight, method, 1000)
    };
    let mut hits = sum_shares(&members.iter().map(shares).collect::<Vec<_>>());
    hits.truncate(k);
    hits
}

/// Pairs hits with the scores that the library expects. Sums of scores as they are differ by what the library takes from all scores of
/// a list.
pub(crate) fn as_fused<'h>(
    method: FusionMethod,
    hits: &'h [Hit],
    expected: &[clickvec::index::Hit],
) -> impl Iterator<Item = (&'h Hit, f32)> {
    let first = hits.first().zip(expected.first()).filter(|_| method == FusionMethod::Linear);
    let shift = first.map_or(0.0, |(hit, expected)| hit.score - expected.score);
    hits.iter().zip(expected.iter().map(move |expected| expected.score + shift).collect::<Vec<_>>())
}
