//! Vectors for texts that a file lacks, on titles whose vectors are sums of their words' by construction.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::{SYSTEM, WordVectors};
use super::{ROWS, TRIGRAMS, WORDS};
use crate::ranker::corpus::Corpus;
use crate::ranker::state::{Numbers, RankerState};
use crate::ranker::stored;
use crate::ranker::{Ranker as _, Resources, SystemRanker as _, Values};
use clickvec::internals::rng::stream;
use clickvec::model::Side;
use clickvec_tables::Result;
use rand::RngExt as _;

const DIMENSION: usize = 20;
const NAMES: [&str; 12] =
    ["sofa", "lamp", "door", "table", "carpet", "mirror", "faucet", "shelf", "drill", "window", "heater", "vanity"];

fn values(spec: &str) -> Values {
    SYSTEM.values(&spec.parse().unwrap()).unwrap()
}

/// A folder with `titles.npy` of titles of three words each, whose vectors are the sums of their words', and the titles.
fn shop() -> (tempfile::TempDir, PathBuf, Vec<String>) {
    let mut random = stream(7, "vectors of words", 0);
    let words: Vec<Vec<f32>> =
        NAMES.iter().map(|_| (0..DIMENSION).map(|_| random.random_range(-1.0f32..1.0)).collect()).collect();
    let (mut titles, mut numbers) = (Vec::new(), Vec::new());
    for a in 0..NAMES.len() {
        for b in 0..a {
            let c = (a + b) % NAMES.len();
            titles.push(format!("{} {} {}", NAMES[a], NAMES[b], NAMES[c]));
            numbers.extend((0..DIMENSION).map(|i| words[a][i] + words[b][i] + words[c][i]));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("titles.npy");
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {DIMENSION}), }}\n", titles.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number: &f32| number.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    fs::write(folder.path().join("titles.txt"), titles.join("\n")).unwrap();
    (folder, path, titles)
}

fn corpus_of(titles: &[String]) -> Corpus {
    Corpus::from_titles(titles.iter().map(String::as_str)).unwrap()
}

fn train(spec: &str, corpus: &Corpus, path: &Path) -> Result<WordVectors> {
    let resources = Resources { corpus, files: &[("file".to_owned(), path.to_owned())] };
    WordVectors::train(&values(spec), &resources, &mut |_| ())
}

#[test]
fn a_query_that_the_file_lacks_finds_the_titles_of_its_words() {
    let (folder, path, titles) = shop();
    let corpus = corpus_of(&titles);
    let all: Vec<&str> = titles.iter().map(String::as_str).collect();
    let ranker = train("vectors:ridge=0.001", &corpus, &path).unwrap();
    let plain = train("vectors", &corpus, &path).unwrap();
    for (query, meant) in [("sofa", "sofa"), ("Mirrors", "mirror"), ("fauset", "faucet")] {
        assert_eq!(plain.score(query, &all), vec![0.0; all.len()], "{query}");
        assert_eq!(
            (plain.has_vector(query, Side::Query), ranker.has_vector(query, Side::Query)),
            (Some(false), Some(true))
        );
        let scores = ranker.score(query, &all);
        let mean = |with: bool| {
            let of = all.iter().zip(&scores).filter(|(title, _)| title.contains(meant) == with);
            let of: Vec<f64> = of.map(|(_, &score)| score).collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        assert!(mean(true) > mean(false) + 0.25, "{query}: {} {}", mean(true), mean(false));
        // The best of all titles are those with the best scores.
        let found = ranker.candidates(&all).unwrap().search(query, 5).unwrap();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        assert_eq!(found.iter().map(|hit| hit.position as usize).collect::<Vec<_>>(), order[..5], "{query}");
        assert!(found.iter().all(|hit| (f64::from(hit.score) - scores[hit.position as usize]).abs() < 1e-6));
    }
    // The titles keep their own vectors, and a new one gets nearly the sum of its words'.
    assert!((ranker.score(&titles[5], &[&titles[5]])[0] - 1.0).abs() < 1e-6);
    let reordered = titles[5].split(' ').rev().collect::<Vec<_>>().join(" ");
    let cosine = ranker.score(&reordered, &[&titles[5]])[0];
    assert!(cosine > 0.99 && cosine < 1.0 - 1e-9, "{cosine}");
    for nothing in ["", "?", "北京"] {
        assert_eq!(ranker.score(nothing, &all[..2]), [0.0, 0.0]);
        assert!(ranker.candidates(&all).unwrap().search(nothing, 5).unwrap().is_empty());
    }

    let saved = folder.path().join("ranker.safetensors");
    SYSTEM.save(&saved, &values("vectors:ridge=0.001"), &ranker).unwrap();
    let loaded = stored::ranker::load(&saved, &[&SYSTEM]).unwrap().2;
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let again = alone.install(|| train("vectors:ridge=0.001", &corpus, &path).unwrap());
    for query in ["sofa", "mirrors lamp"] {
        assert_eq!(loaded.score(query, &all), ranker.score(query, &all));
        assert_eq!(again.score(query, &all), ranker.score(query, &all));
    }
}

#[test]
fn a_larger_ridge_gives_smaller_rows() {
    let (_folder, path, titles) = shop();
    let corpus = corpus_of(&titles);
    let length = |spec: &str| train(spec, &corpus, &path).unwrap().fitted.unwrap().vector("sofa").1;
    let [small, large] = ["vectors:ridge=0.1", "vectors:ridge=100"].map(length);
    assert!(small > 10.0 * large && large > 0.0, "{small} {large}");
}

#[test]
fn the_size_of_numbers_does_not_matter() {
    let (folder, path, titles) = shop();
    let (corpus, all) = (corpus_of(&titles), titles.iter().map(String::as_str).collect::<Vec<_>>());
    let bytes = fs::read(&path).unwrap();
    let header = bytes.len() - titles.len() * DIMENSION * 4;
    let expected = train("vectors:ridge=0.1", &corpus, &path).unwrap().score("sofa", &all);
    for factor in [2f32.powi(-90), 2f32.powi(90)] {
        let scaled =
            bytes[header..].as_chunks::<4>().0.iter().flat_map(|&x| (f32::from_le_bytes(x) * factor).to_le_bytes());
        fs::write(&path, [&bytes[..header], &scaled.collect::<Vec<u8>>()].concat()).unwrap();
        let found = train("vectors:ridge=0.1", &corpus, &path).unwrap().score("sofa", &all);
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{factor}");
    }
    fs::write(&path, bytes).unwrap();
    // A word that all titles have, and a λ that is 0 in 32 bits.
    let acme: Vec<String> = titles.iter().map(|title| format!("acme {title}")).collect();
    fs::write(folder.path().join("titles.txt"), acme.join("\n")).unwrap();
    let ranker = train("vectors:ridge=1e-46", &corpus_of(&acme), &path).unwrap();
    let scores = ranker.score("acme sofa", &acme.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(scores.iter().all(|score| score.is_finite()) && scores.iter().any(|&score| score > 0.3), "{scores:?}");
    let saved = folder.path().join("ranker.safetensors");
    SYSTEM.save(&saved, &values("vectors:ridge=1e-46"), &ranker).unwrap();
    stored::ranker::load(&saved, &[&SYSTEM]).map(drop).unwrap();
    // Titles that do not differ in their words say nothing of any word.
    let same = corpus_of(&["sofa lamp door".to_owned(), "lamp sofa door".to_owned()]);
    fs::write(
        folder.path().join("titles.txt"),
        [&["sofa lamp door", "lamp sofa door"][..], &all[2..]].concat().join("\n"),
    )
    .unwrap();
    let ranker = train("vectors:ridge=1", &same, &path).unwrap();
    assert_eq!(ranker.has_vector("sofa", Side::Query), Some(false));
}

#[test]
fn queries_may_have_a_file_and_the_rest_are_fitted() {
    let (folder, path, titles) = shop();
    let queries = folder.path().join("queries.jsonl");
    let vector: Vec<f32> = (0..DIMENSION).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    fs::write(&queries, format!("{{\"text\": \"red sofa\", \"vector\": {vector:?}}}\n")).unwrap();
    let corpus = corpus_of(&titles);
    let resources =
        Resources { corpus: &corpus, files: &[("queries".to_owned(), queries), ("titles".to_owned(), path.clone())] };
    let both = WordVectors::train(&values("vectors:ridge=1"), &resources, &mut |_| ()).unwrap();
    let one = train("vectors:ridge=1", &corpus, &path).unwrap();
    assert_eq!(both.unit(Side::Query, "red sofa"), Some(vector));
    assert_eq!(both.unit(Side::Query, "sofa"), one.unit(Side::Query, "sofa"));
    assert_eq!(both.unit(Side::Title, "red sofa"), one.unit(Side::Title, "red sofa"));
}

#[test]
fn vectors_of_other_texts_cannot_be_fitted_to() {
    let (_folder, path, titles) = shop();
    for (corpus, found) in [(corpus_of(&["red brick".to_owned(), "lamp".to_owned()]), 0), (corpus_of(&titles[..1]), 1)]
    {
        let error = train("vectors:ridge=1", &corpus, &path).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("vectors: expected vectors of at least 2 of the "), "{error}");
        assert!(error.contains(&format!("to fit others to, found {found};")), "{error}");
    }
}

#[test]
fn damaged_rows_are_refused() {
    let (_folder, path, titles) = shop();
    let state = train("vectors:ridge=1", &corpus_of(&titles), &path).unwrap().state();
    let restored = |state: &RankerState| WordVectors::restore(&values("vectors:ridge=1"), state);
    assert!(restored(&state).is_ok());
    let features = state.array(ROWS, &[None, Some(DIMENSION)]).unwrap().shape[0];
    let words = state.u32s(WORDS, &[None, Some(2)]).unwrap().to_vec();
    let rows = |n: usize, d: usize| state.clone().with(ROWS, &[n, d], Numbers::F32(vec![1.0; n * d]));
    for wrong in [rows(features - 1, DIMENSION), rows(features, DIMENSION + 1)] {
        assert!(restored(&wrong).is_err_and(|fault| fault.message().contains("` to be")));
    }
    let twice = [&words[..2], &words[..words.len() - 2]].concat();
    let twice = state.clone().with(WORDS, &[words.len() / 2, 2], Numbers::U32(twice));
    assert!(restored(&twice).is_err_and(|fault| fault.message().contains("the file is damaged")));
    // A file without them, of a ranker that has them.
    let plain = train("vectors", &corpus_of(&titles), &path).unwrap().state();
    assert!(restored(&plain).is_err_and(|fault| fault.message().contains("expected a tensor")));
    let letters = state.clone().with(TRIGRAMS, &[1, 3], Numbers::U32(vec![0xD800; 3]));
    assert!(restored(&letters).is_err_and(|fault| fault.message().contains("three Unicode scalar values in row")));
}
