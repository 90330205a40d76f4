//! Model files: writing and reading them, and reading hostile bytes instead.

use super::support::*;
use clickvec::encoder::{EncoderConfig, RnnConfig};
use clickvec::internals::rng;
use clickvec::model::{Model, Side};
use clickvec::train::OptimizerKind;
use clickvec::train::TrainConfig;
use clickvec_tables::ErrorKind;
use rand::RngExt as _;
use serde_json::{Value, json};
use std::path::Path;

fn trained(encoder: EncoderConfig, shared_towers: bool) -> (Place, Model) {
    let place = Place::new(&log_rows(60, 1));
    let config = TrainConfig { encoder, shared_towers, epochs: 1, ..small(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    let model = Model::load(&place.output()).expect("a model");
    (place, model)
}

#[test]
fn there_and_back() {
    let texts = ["red shoe", "", "a word unheard of: qqqq", "garden hose, 12-gauge", "¡"];
    for (number, encoder) in all_encoders().into_iter().enumerate() {
        let (place, model) = trained(encoder, number % 2 == 0);
        let again = place.folder.path().join("again");
        model.save(&again).expect("saved");
        assert!(std::fs::read(&again).expect("read") == place.model(), "the same bytes");
        let loaded = Model::load(&again).expect("loaded");
        assert_eq!(loaded.training(), model.training());
        assert_eq!((loaded.fingerprint(), loaded.dictionary()), (model.fingerprint(), model.dictionary()));
        assert_eq!(loaded.shared_towers(), number % 2 == 0);
        assert!(loaded.tensors().eq(model.tensors()));
        let towers = if loaded.shared_towers() { 1 } else { 2 };
        let counted = model.encoder_config().parameters(model.dictionary().len()).expect("countable");
        assert_eq!(loaded.parameters(), towers * counted, "{:?}", model.encoder_config());
        for side in [Side::Query, Side::Title] {
            let embedder = loaded.embedder(side);
            let vectors = embedder.embed(&texts);
            assert_eq!(vectors, model.embedder(side).embed(&texts));
            // Alone and among others, with a warm cache; zero if there is no word.
            for (vector, text) in vectors.chunks_exact(model.dimension()).zip(texts) {
                assert_eq!(embedder.embed(&[text]), vector, "{text}");
                assert_eq!(vector.iter().all(|&x| x == 0.0), text.is_empty() || text == "¡", "{text}");
            }
        }
    }
}

/// A model file taken apart.
#[derive(Clone)]
struct Parts {
    json: Value,
    /// name, dtype, shape, bytes
    tensors: Vec<(String, String, Vec<u64>, Vec<u8>)>,
}

impl Parts {
    fn parse(bytes: &[u8]) -> Parts {
        let end = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize;
        let header: Value = serde_json::from_slice(&bytes[8..end]).expect("JSON");
        let json = header["__metadata__"]["clickvec"].as_str().expect("settings");
        let number = |value: &Value| value.as_u64().expect("a number");
        let mut tensors: Vec<_> = header
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(name, _)| *name != "__metadata__")
            .map(|(name, info)| {
                let [start, stop] = [0, 1].map(|i| end + number(&info["data_offsets"][i]) as usize);
                let shape = info["shape"].as_array().expect("a shape").iter().map(number).collect();
                let dtype = info["dtype"].as_str().expect("a type").to_owned();
                (start, (name.clone(), dtype, shape, bytes[start..stop].to_vec()))
            })
            .collect();
        tensors.sort_by_key(|(start, _)| *start);
        let tensors = tensors.into_iter().map(|(_, tensor)| tensor).collect();
        Parts { json: serde_json::from_str(json).expect("JSON"), tensors }
    }

    fn bytes(&self) -> Vec<u8> {
        self.with_settings(Some(&self.json.to_string()))
    }

    fn with_settings(&self, settings: Option<&str>) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        if let Some(settings) = settings {
            header.insert("__metadata__".to_owned(), json!({ "clickvec": settings }));
        }
        let mut data = Vec::new();
        for (name, dtype, shape, bytes) in &self.tensors {
            let offsets = [data.len(), data.len() + bytes.len()];
            header.insert(name.clone(), json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets }));
            data.extend_from_slice(bytes);
        }
        let mut header = serde_json::to_vec(&header).expect("JSON");
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
    }

    fn tensor(&mut self, name: &str) -> &mut (String, String, Vec<u64>, Vec<u8>) {
        self.tensors.iter_mut().find(|tensor| tensor.0 == name).expect("a tensor of that name")
    }

    fn trigram(&mut self, row: usize, scalars: [u32; 3]) {
        let bytes: Vec<u8> = scalars.iter().flat_map(|scalar| scalar.to_le_bytes()).collect();
        self.tensor("trigrams").3[12 * row..][..12].copy_from_slice(&bytes);
    }
}

fn load(path: &Path, bytes: &[u8]) -> Result<Model, clickvec_tables::Error> {
    std::fs::write(path, bytes).expect("written");
    Model::load(path)
}

fn small_model() -> (Place, Vec<u8>) {
    let (place, _) = trained(EncoderConfig::Rnn(RnnConfig { hidden: 3 }), true);
    let bytes = place.model();
    (place, bytes)
}

/// Checks that loading fails with a message that has this text.
#[track_caller]
fn faulty(place: &Place, parts: &Parts, text: &str) {
    let fault = load(&place.output(), &parts.bytes()).err().expect("a fault").to_string();
    assert!(fault.contains(text), "expected {text:?}: {fault}");
}

#[test]
fn what_is_taken_apart_and_put_together_is_the_model() {
    let (place, good) = small_model();
    load(&place.output(), &Parts::parse(&good).bytes()).expect("loaded");
}

#[test]
fn cut_short_anywhere() {
    let (place, good) = small_model();
    for length in (0..good.len()).step_by(61).chain(good.len() - 20..good.len()).chain(0..20) {
        let fault = load(&place.output(), &good[..length]).err();
        let text = fault.map_or_else(String::new, |fault| fault.to_string());
        assert!(text.contains("expected a safetensors file, found"), "cut at {length}: {text}");
    }
    let longer = [&good[..], b"more"].concat();
    assert_eq!(load(&place.output(), &longer).err().map(|fault| fault.kind()), Some(ErrorKind::Malformed));
}

#[test]
fn no_safetensors_at_all() {
    let (place, good) = small_model();
    let mut header_length = good.clone();
    for length in [0, 1, good.len() as u64 - 7, 99_999_999, 100_000_001, u64::MAX / 2, u64::MAX] {
        header_length[..8].copy_from_slice(&length.to_le_bytes());
        let fault = load(&place.output(), &header_length).err();
        let text = fault.map_or_else(String::new, |fault| fault.to_string());
        assert!(text.contains("expected a safetensors file, found"), "header of {length}: {text}");
    }
    for other in [&b"query\ttitle\nred\tshoe\n"[..], b"\x7fELF", b"PK\x03\x04 and so on", &[0; 4096], &[255; 4096]] {
        assert_eq!(load(&place.output(), other).err().map(|fault| fault.kind()), Some(ErrorKind::Malformed));
    }
    let kind = |path: &Path| Model::load(path).err().map(|error| error.kind());
    let empty = place.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(kind(&empty), Some(ErrorKind::Mismatch));
    // A folder may have a model, as an index does.
    std::fs::write(empty.join("model.safetensors"), &good).unwrap();
    assert_eq!(kind(&empty), None);
    assert_eq!(kind(&place.folder.path().join("none")), Some(ErrorKind::Io));
}

#[test]
fn a_header_that_would_fill_the_memory_is_not_parsed() {
    let (place, good) = small_model();
    let mut parts = Parts::parse(&good);
    parts.json["training"]["version"] = json!("x".repeat(5 << 20));
    let begun = std::time::Instant::now();
    faulty(&place, &parts, "with a header of at most");
    // A million tensors took a minute and two gigabytes before headers had a limit.
    let mut parts = Parts::parse(&good);
    let none = |name: u32| (format!("t{name}"), "F32".to_owned(), vec![0], Vec::new());
    parts.tensors.extend((0..100_000).map(none));
    faulty(&place, &parts, "with a header of at most");
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn a_message_repeats_little_and_nothing_that_a_terminal_obeys() {
    let (place, good) = small_model();
    let hostile = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
    let message = |parts: &Parts| load(&place.output(), &parts.bytes()).err().expect("a fault");
    let mut faults = Vec::new();
    for (place, value) in
        [("/kind", json!(hostile)), ("/training/config", json!(hostile)), ("/fingerprint", json!(hostile))]
    {
        let mut parts = Parts::parse(&good);
        *parts.json.pointer_mut(place).expect("there") = value;
        faults.push(message(&parts));
    }
    let mut parts = Parts::parse(&good);
    parts.tensors[1].0 = hostile.clone();
    faults.push(message(&parts));
    for fault in faults {
        let error = fault.to_string();
        assert!(error.len() < 3000 && !error.contains('\u{1b}'), "{error:.5000}");
    }
}

#[test]
fn settings_that_are_missing_or_broken() {
    let (place, good) = small_model();
    let parts = Parts::parse(&good);
    let fault = |settings: Option<&str>| load(&place.output(), &parts.with_settings(settings)).err().expect("a fault");
    assert!(fault(None).to_string().contains("without its settings"));
    let whole = parts.json.to_string();
    for broken in ["", "{", "null", "[]", "7", "{}", r#"{"format":1}"#, &whole[..whole.len() / 2]] {
        assert!(fault(Some(broken)).to_string().contains("expected the settings of a clickvec file"), "{broken}");
    }
    let deep = "[".repeat(100_000);
    assert!(fault(Some(&deep)).to_string().contains("expected the settings of a clickvec file"));
    // Every part of the settings is required, and has a type.
    let config = parts.json["training"]["config"].as_object().expect("an object").clone();
    for name in config.keys().filter(|name| !config[*name].is_null()) {
        let mut other = parts.clone();
        other.json["training"]["config"][name] = json!({ "no": "such thing" });
        faulty(&place, &other, "expected the settings of a clickvec file");
    }
    for (version, help) in
        [(0, "make the file with this"), (2, "use a newer clickvec"), (u32::MAX, "use a newer clickvec")]
    {
        let mut other = parts.clone();
        other.json["format"] = json!(version);
        faulty(&place, &other, &format!("expected format version 1, found {version}; {help}"));
        // A newer version may have completely different settings, so only its number counts.
        other.json["training"] = json!("new");
        faulty(&place, &other, "expected format version 1, found");
    }
    for kind in ["checkpoint", "index", ""] {
        let mut other = parts.clone();
        other.json["kind"] = json!(kind);
        faulty(&place, &other, "expected a model, found");
    }
}

#[test]
fn sizes_that_no_encoder_has() {
    let (place, good) = small_model();
    for encoder in [
        json!({ "kind": "rnn", "hidden": 0 }),
        json!({ "kind": "rnn", "hidden": 16_385 }),
        json!({ "kind": "rnn", "hidden": u64::MAX }),
        json!({ "kind": "dssm", "layers": [] }),
        json!({ "kind": "dssm", "layers": vec![4; 17] }),
        json!({ "kind": "clsm", "window": 4, "convolution": 3, "semantic": 3, "bias": true }),
        json!({ "kind": "clsm", "window": 33, "convolution": 3, "semantic": 3, "bias": true }),
        json!({ "kind": "lstm", "cells": 1u64 << 40, "forget_gate": true, "peephole": "full" }),
    ] {
        let mut parts = Parts::parse(&good);
        parts.json["training"]["config"]["encoder"] = encoder;
        faulty(&place, &parts, "the file is damaged");
    }
}

/// The most address space of this process so far in kilobytes, including reserved memory.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

#[test]
fn a_huge_promise_is_not_believed() {
    let (place, good) = small_model();
    let before = peak();
    // Allowed sizes for which the file has far too few numbers. They would take gigabytes if allocated first.
    for encoder in [
        json!({ "kind": "lstm", "cells": 16_384, "forget_gate": true, "peephole": "full" }),
        json!({ "kind": "dssm", "layers": vec![16_384; 16] }),
        json!({ "kind": "clsm", "window": 31, "convolution": 16_384, "semantic": 16_384, "bias": true }),
    ] {
        let mut parts = Parts::parse(&good);
        parts.json["training"]["config"]["encoder"] = encoder;
        faulty(&place, &parts, "numbers for these settings and this dictionary");
    }
    // Shapes that announce it.
    for shape in [vec![16_384, 1 << 40], vec![1 << 62, 1 << 62], vec![u64::MAX, 2], vec![1 << 40, 0, 1 << 40]] {
        let mut parts = Parts::parse(&good);
        parts.tensor("shared.w").2 = shape;
        faulty(&place, &parts, "expected a safetensors file, found");
    }
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before < 1 << 20, "{} MB more of address space", (after - before) >> 10);
    }
}

#[test]
fn tensors_that_do_not_fit_the_settings() {
    let (place, good) = small_model();
    let parts = Parts::parse(&good);

    let mut renamed = parts.clone();
    renamed.tensor("shared.wrec").0 = "shared.wreck".to_owned();
    faulty(&place, &renamed, "expected a tensor `shared.wrec`");
    let mut none = parts.clone();
    none.tensors.retain(|tensor| tensor.0 != "shared.b");
    faulty(&place, &none, "numbers for these settings and this dictionary");
    let mut no_dictionary = parts.clone();
    no_dictionary.tensors.retain(|tensor| tensor.0 != "trigrams");
    faulty(&place, &no_dictionary, "expected a tensor `trigrams`");

    let mut surplus = parts.clone();
    surplus.tensors.push(("more".to_owned(), "F32".to_owned(), vec![2], vec![0; 8]));
    faulty(&place, &surplus, "numbers for these settings and this dictionary");
    surplus.tensors.last_mut().expect("it").2 = vec![0, 7];
    surplus.tensors.last_mut().expect("it").3.clear();
    faulty(&place, &surplus, "tensors, found");

    let mut transposed = parts.clone();
    transposed.tensor("shared.w").2.reverse();
    faulty(&place, &transposed, "` to be");
    let mut integers = parts.clone();
    integers.tensor("shared.wrec").1 = "I32".to_owned();
    faulty(&place, &integers, "` to be");
    let mut flat = parts.clone();
    flat.tensor("shared.wrec").2 = vec![9];
    faulty(&place, &flat, "` to be");

    // Two towers where there is one shared tower, and the reverse.
    let mut two = parts.clone();
    two.json["training"]["config"]["shared_towers"] = json!(false);
    faulty(&place, &two, "numbers for these settings and this dictionary");
}

#[test]
fn a_dictionary_that_does_not_fit() {
    let (place, good) = small_model();
    let parts = Parts::parse(&good);
    let rows = parts.clone().tensor("trigrams").2[0];

    let mut short = parts.clone();
    short.tensor("trigrams").2[0] = rows - 1;
    short.tensor("trigrams").3.truncate(12 * (rows as usize - 1));
    faulty(&place, &short, "numbers for these settings and this dictionary");
    // The same total: one trigram less, and three numbers more elsewhere.
    let mut odd = parts.clone();
    odd.tensor("trigrams").2 = vec![3, rows];
    faulty(&place, &odd, "` to be");

    let mut twice = parts.clone();
    twice.trigram(1, ['a', 'b', 'c'].map(u32::from));
    twice.trigram(5, ['a', 'b', 'c'].map(u32::from));
    faulty(&place, &twice, "at 1 and again at 5");
    for scalar in [0xD800, 0xDFFF, 0x11_0000, u32::MAX] {
        let mut surrogate = parts.clone();
        surrogate.trigram(3, [97, scalar, 98]);
        faulty(&place, &surrogate, "three Unicode scalar values in row 3 of `trigrams`");
    }
    let mut other = parts.clone();
    other.trigram(2, [1, 2, 3]);
    faulty(&place, &other, "expected the fingerprint");
}

#[test]
fn weights_that_are_no_numbers_or_not_those_that_were_written() {
    let (place, good) = small_model();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut parts = Parts::parse(&good);
        parts.tensor("shared.w").3[3 * 4 * 2..][..4].copy_from_slice(&bad.to_le_bytes());
        faulty(&place, &parts, "expected finite numbers in `shared.w`");
    }
    for name in ["shared.w", "shared.wrec", "shared.b"] {
        let mut parts = Parts::parse(&good);
        parts.tensor(name).3[0] ^= 1;
        faulty(&place, &parts, "expected the fingerprint");
    }
    let mut parts = Parts::parse(&good);
    parts.json["fingerprint"] = json!("0".repeat(32));
    faulty(&place, &parts, "expected the fingerprint");
}

#[test]
fn settings_that_are_not_those_that_were_written() {
    let (place, good) = small_model();
    // The first would embed differently with the same weights; the second only claims something untrue.
    for (name, value) in [("max_words", json!(1)), ("learning_rate", json!(7.5))] {
        let mut parts = Parts::parse(&good);
        parts.json["training"]["config"][name] = value;
        faulty(&place, &parts, "expected the fingerprint");
    }
    for (name, value) in [("max_words", json!(0)), ("batch_size", json!(0)), ("learning_rate", json!(-5.0))] {
        let mut parts = Parts::parse(&good);
        parts.json["training"]["config"][name] = value;
        faulty(&place, &parts, "the file is damaged");
    }
}

/// Whatever bits flip, loading gives a model or an error; if the flip is in the numbers, always an error.
#[test]
fn bits_flipped_at_random() {
    let (place, good) = small_model();
    let header = 8 + u64::from_le_bytes(good[..8].try_into().expect("8 bytes")) as usize;
    let mut stream = rng::stream(1, "flips", 0);
    let mut loaded = 0;
    for round in 0..600 {
        let mut bytes = good.clone();
        // Half of the flips are in the header, which is most of what is parsed.
        let end = if round % 2 == 0 { header } else { bytes.len() };
        let start = if round % 2 == 0 { 0 } else { header };
        for _ in 0..=round % 3 {
            bytes[stream.random_range(start..end)] ^= 1 << stream.random_range(0..8);
        }
        match load(&place.output(), &bytes) {
            Ok(model) => {
                assert!(round % 2 == 0, "a changed number went unnoticed");
                assert!(model.embedder(Side::Query).embed(&["red shoe"]).iter().all(|x| x.is_finite()));
                loaded += 1;
            }
            Err(fault) => assert!(!fault.to_string().is_empty()),
        }
    }
    // A flipped digit of the loss, for example, cannot be noticed.
    assert!(loaded < 150, "{loaded} of 600 loaded");
}

#[test]
fn there_and_back_with_whole_words() {
    let place = Place::new(&log_rows(60, 1));
    let config = TrainConfig { word_count: Some(2), epochs: 1, ..small(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    let model = Model::load(&place.output()).expect("a model");
    let words = model.dictionary().words().len();
    assert!(words > 3, "{words} words");
    let again = place.folder.path().join("again");
    model.save(&again).expect("saved");
    assert!(std::fs::read(&again).expect("read") == place.model(), "the same bytes");
    let plain = TrainConfig { word_count: None, ..config.clone() };
    let other = Place::new(&log_rows(60, 1));
    other.train(&plain, How::default()).expect("trained");
    let without = Model::load(&other.output()).expect("a model");
    assert_eq!(without.dictionary().trigrams(), model.dictionary().trigrams());
    assert_eq!(without.dictionary().len() + words, model.dictionary().len());
    assert!(!Parts::parse(&other.model()).tensors.iter().any(|tensor| tensor.0 == "words"));

    // A model without words to begin with: its rows stay, and words are added; then the reverse.
    for (first, second) in [(&plain, &config), (&config, &plain), (&config, &config)] {
        let place = Place::new(&log_rows(60, 1));
        place.train(first, How::default()).expect("trained");
        std::fs::rename(place.output(), place.init()).expect("renamed");
        let before = Model::load(&place.init()).expect("a model");
        std::fs::write(place.clicks(), log_rows(60, 1).replace("sink", "washbasin")).expect("written");
        let still = TrainConfig { learning_rate: 1e-20, ..second.clone() };
        place.train(&still, How::default()).expect("trained");
        let after = Model::load(&place.output()).expect("a model");
        let (old, new) = (before.dictionary(), after.dictionary());
        assert!(new.trigrams().len() > old.trigrams().len());
        assert_eq!(new.words()[..old.words().len()], old.words()[..]);
        assert_eq!(new.words().len() > old.words().len(), second.word_count.is_some());
        let texts = ["red shoe", "garden hose"];
        let known = |model: &Model| model.embedder(Side::Query).embed(&texts);
        if first.word_count.is_some() {
            assert_eq!(known(&before), known(&after), "nothing has moved");
        }
    }

    let parts = Parts::parse(&place.model());
    let mut twice = parts.clone();
    let bytes = &mut twice.tensor("words").3;
    bytes.copy_within(0..8, 8);
    faulty(&place, &twice, "the same hash at 0 and again at 1");
    let mut missing = parts.clone();
    missing.tensors.retain(|tensor| tensor.0 != "words");
    faulty(&place, &missing, "numbers for these settings and this dictionary");
    let mut none = parts.clone();
    none.tensor("words").2 = vec![0];
    none.tensor("words").3.clear();
    faulty(&place, &none, "` to be");
    let mut square = parts.clone();
    square.tensor("words").2 = vec![words as u64, 1];
    faulty(&place, &square, "` to be");
    let mut other = parts.clone();
    other.tensor("words").3[0] ^= 1;
    faulty(&place, &other, "expected the fingerprint");
}
