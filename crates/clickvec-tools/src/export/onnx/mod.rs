//! The encoders as ONNX: a graph for each tower, from the rows of words' features on; the table of trigrams and whole words; how
//! words and rows are found, in Python and in JavaScript; and texts with the vectors that they must get.

mod encoder;
mod graph;
mod proto;

use clickvec::internals::text::{Dictionary, Feature, WordBuffer};
use clickvec::model::{Model, Side};
use clickvec::train::{Tail, TextConfig};
use clickvec_tables::files::PendingFolder;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Serialize;

const PYTHON: &str = include_str!("encode.py");
const JAVASCRIPT: &str = include_str!("encode.mjs");

/// What the table and the settings of a model say to those that find words and rows.
#[derive(Serialize)]
struct Settings<'a> {
    model: &'a str,
    dimension: usize,
    graphs: Graphs,
    max_words: usize,
    /// Whether the words beyond the limit are one word together with the last one within it.
    merge_tail: bool,
    /// In the order of their rows.
    trigrams: Vec<String>,
    /// The XXH3 (64 bits, seed 0) of each whole word, in hexadecimal digits. Their rows follow those of the trigrams.
    words: Vec<String>,
}

/// The file of each side's graph.
#[derive(Serialize)]
struct Graphs {
    query: &'static str,
    title: &'static str,
}

/// What a text must become.
#[derive(Serialize)]
struct Expected<'a> {
    text: &'a str,
    /// For each word the rows of its features, ascending.
    rows: Vec<Vec<u32>>,
    query: Vec<f32>,
    title: Vec<f32>,
}

/// Texts of many scripts, with everything that the rule of words has to say something about.
const TEXTS: [&str; 16] = [
    "red shoes",
    "lether  COUCH!",
    "12-Gauge 1.9 cu.ft won't o\u{2019}neil",
    "a",
    "banana bandana",
    "",
    "?! ...",
    "zzqqx",
    "Café CAFE\u{301} ½ ﬁne x² ＡＢＣ Ⅳ",
    "İSTANBUL ΟΔΥΣΣΕΥΣ STRASSE ẞ",
    "北京大学hotel 東京タワー 北\u{302A}ab",
    "हिन्दी में ภาษาไทย น้ำ 서울 호텔",
    "pizza🍕oven ❤\u{FE0F} zero\u{200B}width soft\u{AD}hyphen",
    "שָׁלוֹם \u{202E}right\u{202C} عربي # ## a_b",
    "mount grip tool pack steel case black white large small wall desk lamp chair table shelf door hook ring bolt",
    "how do you paint a bathtub and what paint should you use to paint a bathtub in a small house with one window and \
     two doors and a cat",
];

/// Writes all files.
pub(super) fn write(folder: &PendingFolder, model: &Model) -> Result<()> {
    if model.training().config.text != TextConfig::default() {
        let expected = "a model with text.accents=keep and text.tokens=words, which the exported code can read";
        return Err(Error::expected(ErrorKind::Setting, expected, "another"));
    }
    let sides = if model.shared_towers() {
        vec![(Side::Query, "model.onnx")]
    } else {
        vec![(Side::Query, "query.onnx"), (Side::Title, "title.onnx")]
    };
    let config = model.encoder_config();
    for &(side, file) in &sides {
        let metadata = [("clickvec_model", model.fingerprint()), ("clickvec_encoder", config.kind())];
        folder.write(file, &[&encoder::model(model.encoder(side), config, &metadata)?])?;
    }
    let training = &model.training().config;
    let settings = Settings {
        model: model.fingerprint(),
        dimension: model.dimension(),
        graphs: Graphs { query: sides[0].1, title: sides[sides.len() - 1].1 },
        max_words: training.max_words,
        merge_tail: training.tail == Tail::Merge,
        trigrams: model.dictionary().trigrams().iter().map(ToString::to_string).collect(),
        words: model.dictionary().words().iter().map(|word| format!("{:016x}", word.0)).collect(),
    };
    folder.write("trigrams.json", &[&json(&settings)?])?;
    folder.write("vectors.json", &[&json(&expected(model))?])?;
    folder.write("encode.py", &[PYTHON.as_bytes()])?;
    folder.write("encode.mjs", &[JAVASCRIPT.as_bytes()])?;
    Ok(())
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value).map_err(|error| Error::new(ErrorKind::NotFinite, error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns what each text must become.
fn expected(model: &Model) -> Vec<Expected<'static>> {
    let [queries, titles] = [Side::Query, Side::Title].map(|side| model.embedder(side).embed(&TEXTS));
    let vectors = queries.chunks_exact(model.dimension()).zip(titles.chunks_exact(model.dimension()));
    let expected = |(text, (query, title)): (&'static str, (&[f32], &[f32]))| Expected {
        text,
        rows: rows(model, text),
        query: query.to_vec(),
        title: title.to_vec(),
    };
    TEXTS.into_iter().zip(vectors).map(expected).collect()
}

/// Returns, for each word of a text that the encoder reads, the rows of its features, each as often as it occurs.
fn rows(model: &Model, text: &str) -> Vec<Vec<u32>> {
    let dictionary: &Dictionary = model.dictionary();
    let limit = model.training().config.limit();
    let (mut rows, mut features) = (Vec::new(), Vec::new());
    limit.for_each_word(text, &mut WordBuffer::default(), |word| {
        dictionary.hash_word(word, &mut features);
        let times = |feature: &Feature| std::iter::repeat_n(feature.id, feature.count as usize);
        rows.push(features.iter().flat_map(times).collect());
    });
    rows
}
