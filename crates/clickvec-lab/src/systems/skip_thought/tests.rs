//! Tests of the ranker as a whole.

use std::io::Write as _;
use std::path::PathBuf;

use rand::RngExt as _;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::systems::testing::npy;
use clickvec::internals::rng;
use clickvec_eval::internals::load_ranker;
use clickvec_eval::ranker::{Corpus, RankerSpec};

fn values(spec: &str) -> Values {
    SYSTEM.values(&spec.parse::<RankerSpec>().unwrap()).unwrap()
}

#[test]
fn a_file_keeps_it_and_tuning_changes_nothing() {
    let spec = "skip-thought";
    let mut ranker = Published::new().load(spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ranker.safetensors");
    SYSTEM.save(&path, &values(spec), &ranker).unwrap();
    let (system, found, loaded) = load_ranker(&path, &[&SYSTEM]).unwrap();
    assert_eq!((system.name, found), (SYSTEM.name, values(spec)));
    let long = "red door ".repeat(3000);
    let titles = ["red", "door lamp unheard of", "", "x", "?", "größe 沙发", &long];
    for query in ["red", "", "unheard", "door red dont"] {
        let scores = ranker.score(query, &titles);
        assert!(scores.iter().all(|score| score.is_finite() && score.abs() < 1.0 + 1e-6), "{scores:?}");
        assert_eq!(scores, loaded.score(query, &titles));
        ranker.tune(&values(spec));
        assert_eq!(scores, ranker.score(query, &titles));
    }
    assert_eq!(ranker.score("", &["", "red"]), [0.0, 0.0]);
    assert!(ranker.score("red", &[]).is_empty());
    assert_eq!(ranker.state().bytes(), loaded.state().bytes());
}

#[test]
fn a_vector_does_not_depend_on_the_texts_beside_it() {
    let ranker = Published::new().load("skip-thought").unwrap();
    let mut stream = rng::stream(5, "texts", 0);
    let mut text = |words: usize| -> String {
        (0..words).map(|_| ["red ", "door ", "dont ", "lamp "][stream.random_range(0..4)]).collect()
    };
    let texts: Vec<String> = (0..300).map(|i| text(i % 23)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = ranker.encode(&texts);
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(ranker.encode(&[text]).row(0), vectors.row(i), "{text}");
    }
}

#[test]
fn a_text_that_is_projected_in_several_parts() {
    let published = Published::new();
    let ranker = published.load("skip-thought:bi=0").unwrap();
    let found = ranker.encode(&[&"red ".repeat(5000)]);
    let expected = published.state("uni", "encoder", "utable", &vec![2; 5000]);
    let length = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (found, expected) in found.row(0).iter().zip(&expected) {
        assert!((f64::from(*found) - expected / length).abs() < 1e-5, "{found}, expected {expected}");
    }
}

#[test]
fn without_anything_to_learn_from_it_says_what_to_name() {
    let corpus = Corpus::default();
    let message = |spec: &str| SkipThought::train(&values(spec), &Resources::from(&corpus)).unwrap_err().to_string();
    assert_eq!(
        message("skip-thought"),
        "skip-thought: expected a trained encoder, found none; name its folder, as in `skip-thought:encoder=FOLDER`"
    );
    let neither: RankerSpec = "skip-thought:uni=0,bi=0".parse().unwrap();
    let expected = "ranker `skip-thought`: expected a value above 0 for one of uni, bi, found none";
    assert_eq!(SYSTEM.values(&neither).unwrap_err().to_string(), expected);
}

#[test]
fn a_state_from_anywhere_is_checked() {
    let spec = "skip-thought";
    let state = || Published::new().load(spec).unwrap().state();
    let restore = |spec: &str, state: &RankerState| SkipThought::restore(&values(spec), state);
    assert!(restore(spec, &state()).is_ok());
    assert_eq!(restore("skip-thought:bi=0", &state()).unwrap().parts.len(), 1);
    let numbers = |count: usize, value: f32| Numbers::F32(vec![value; count]);
    let cases: [(&str, &[usize], Numbers); 9] = [
        ("uni.words", &[3, 3], numbers(9, 0.0)),
        ("uni.words", &[4, 0], numbers(0, 0.0)),
        ("uni.words", &[4, 5], numbers(20, 0.0)),
        ("uni.words", &[4, 3], numbers(12, 1e30)),
        ("bi.backward.recurrent_weights", &[2, 5], numbers(10, 0.0)),
        ("bi.backward.recurrent_weights", &[0, 0], numbers(0, 0.0)),
        ("bi.backward.bias", &[1, 5], numbers(5, 0.0)),
        ("bi.forward.input_weights", &[3, 6], Numbers::U32(vec![0; 18])),
        ("bi.forward.input_weights", &[3, 6], numbers(18, f32::NAN)),
    ];
    for (name, shape, numbers) in cases {
        let state = state().with(name, shape, numbers);
        assert!(restore(spec, &state).is_err(), "{name} {shape:?}");
    }
    assert!(restore(spec, &RankerState::default()).is_err_and(|fault| fault.message().contains("expected a tensor")));
}

/// A folder in the published layout: word vectors of 3 numbers, uni-skip with 4 units, bi-skip with 2 each.
struct Published {
    folder: TempDir,
    /// The arrays that were written, with name and shape.
    arrays: Vec<(String, Vec<usize>, Vec<f32>)>,
}

const DICTIONARY: [&str; 7] = ["<eos>", "UNK", "red", "Door", "don't", "door,", "New York"];

impl Published {
    fn new() -> Published {
        let mut stream = rng::stream(8, "weights", 0);
        let mut random = |name: &str, shape: &[usize]| {
            let numbers = (0..shape.iter().product()).map(|_| 2.0 * stream.random::<f32>() - 1.0).collect();
            (name.to_owned(), shape.to_vec(), numbers)
        };
        let mut arrays = vec![random("utable", &[7, 3]), random("btable", &[7, 3])];
        for (part, prefix, units) in [("uni", "encoder", 4), ("bi", "encoder", 2), ("bi", "encoder_r", 2)] {
            for (name, shape) in [
                ("W", vec![3, 2 * units]),
                ("U", vec![units, 2 * units]),
                ("b", vec![2 * units]),
                ("Wx", vec![3, units]),
                ("Ux", vec![units, units]),
                ("bx", vec![units]),
            ] {
                arrays.push(random(&format!("{part}/{prefix}_{name}"), &shape));
            }
        }
        let published = Published { folder: tempfile::tempdir().unwrap(), arrays };
        std::fs::write(published.path("dictionary.txt"), DICTIONARY.join("\r\n") + "\n").unwrap();
        for name in ["utable", "btable"] {
            std::fs::write(published.path(&format!("{name}.npy")), published.npy(name)).unwrap();
        }
        published.zip("uni", CompressionMethod::Stored, |_| true);
        published.zip("bi", CompressionMethod::Deflated, |_| true);
        published
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn array(&self, name: &str) -> (&[usize], &[f32]) {
        let (_, shape, numbers) = self.arrays.iter().find(|(found, ..)| found == name).unwrap();
        (shape, numbers)
    }

    /// Writes an array in NumPy's format. Every other array has 64-bit numbers.
    fn npy(&self, name: &str) -> Vec<u8> {
        let (shape, numbers) = self.array(name);
        let shape = if shape.len() == 1 { format!("({},)", shape[0]) } else { format!("({}, {})", shape[0], shape[1]) };
        if name.len().is_multiple_of(2) {
            let data: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            npy("<f4", "False", &shape, 1, &data)
        } else {
            let data: Vec<u8> = numbers.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
            npy("<f8", "False", &shape, 2, &data)
        }
    }

    fn zip(&self, part: &str, method: CompressionMethod, keep: impl Fn(&str) -> bool) {
        let file = std::fs::File::create(self.path(&format!("{part}_skip.npz"))).unwrap();
        let mut zip = ZipWriter::new(file);
        let options = SimpleFileOptions::default().compression_method(method);
        // Members that are not needed are skipped.
        zip.start_file("history_errs.npy", options).unwrap();
        zip.write_all(&npy("|O", "False", "(1,)", 1, b"anything")).unwrap();
        for (name, ..) in self.arrays.iter().filter(|(name, ..)| name.starts_with(&format!("{part}/")) && keep(name)) {
            zip.start_file(format!("{}.npy", &name[part.len() + 1..]), options).unwrap();
            zip.write_all(&self.npy(name)).unwrap();
        }
        zip.finish().unwrap();
    }

    /// Computes the last state of an encoder, number by number in 64 bits.
    fn state(&self, part: &str, prefix: &str, word_vectors: &str, lines: &[usize]) -> Vec<f64> {
        let weights = |name: &str| self.array(&format!("{part}/{prefix}_{name}")).1;
        let units = weights("bx").len();
        let at =
            |weights: &[f32], row: usize, column: usize, columns: usize| f64::from(weights[row * columns + column]);
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let mut h = vec![0.0; units];
        for &line in lines {
            let word = &self.array(word_vectors).1[line * 3..][..3];
            let from_word = |name: &str, j: usize, columns: usize| -> f64 {
                (0..3).map(|i| f64::from(word[i]) * at(weights(name), i, j, columns)).sum()
            };
            let from_state = |name: &str, j: usize, columns: usize| -> f64 {
                (0..units).map(|i| h[i] * at(weights(name), i, j, columns)).sum()
            };
            let gate = |j: usize| {
                sigmoid(from_word("W", j, 2 * units) + from_state("U", j, 2 * units) + f64::from(weights("b")[j]))
            };
            let new = |j: usize| {
                let candidate = from_word("Wx", j, units) + gate(j) * from_state("Ux", j, units);
                let candidate = (candidate + f64::from(weights("bx")[j])).tanh();
                let z = gate(units + j);
                z * h[j] + (1.0 - z) * candidate
            };
            h = (0..units).map(new).collect();
        }
        h
    }

    fn load(&self, spec: &str) -> Result<SkipThought> {
        let corpus = Corpus::default();
        let resources = Resources { corpus: &corpus, files: &[("encoder".to_owned(), self.folder.path().to_owned())] };
        SkipThought::train(&values(spec), &resources)
    }

    fn message(&self) -> String {
        self.load("skip-thought").unwrap_err().to_string().replace(&self.folder.path().display().to_string(), "")
    }
}

#[test]
fn published_encoders_are_read_and_computed_as_published() {
    let published = Published::new();
    let ranker = published.load("skip-thought").unwrap();
    // `door,` comes after `Door`, which becomes the same word. `New York` is not a word. `UNK` is a word of its own.
    let words: Vec<&str> = (0..ranker.vocabulary.len() as u32).map(|word| ranker.vocabulary.word(word)).collect();
    assert_eq!(words, ["red", "door", "dont"]);
    let texts = ["red door don't", "DOOR", "unheard red unk eos", ""];
    let lines: [&[usize]; 4] = [&[2, 3, 4], &[3], &[1, 2, 1, 1], &[]];
    let vectors = ranker.encode(&texts);
    for (i, lines) in lines.iter().enumerate() {
        let backward: Vec<usize> = lines.iter().rev().copied().collect();
        let uni = published.state("uni", "encoder", "utable", lines);
        let bi = [
            published.state("bi", "encoder", "btable", lines),
            published.state("bi", "encoder_r", "btable", &backward),
        ]
        .concat();
        let unit = |x: Vec<f64>| {
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.into_iter().map(move |x| if length > 0.0 { x / length } else { 0.0 })
        };
        let expected: Vec<f64> = unit(uni).chain(unit(bi)).collect();
        for (found, expected) in vectors.row(i).iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{}: {found}, expected {expected}", texts[i]);
        }
    }
    // The query compared with itself, and with one part alone.
    assert!((ranker.score("red door", &["red door"])[0] - 1.0).abs() < 1e-6);
    let uni = published.load("skip-thought:bi=0").unwrap();
    assert_eq!(uni.encode(&texts).row(0), &vectors.row(0)[..4]);
    let values = values("skip-thought");
    assert_eq!(SkipThought::restore(&values, &ranker.state()).unwrap().encode(&texts), vectors);
}

#[test]
fn a_published_folder_that_is_not_right_is_told() {
    let changed = |change: &dyn Fn(&Published)| {
        let published = Published::new();
        change(&published);
        published.message()
    };
    let without = |name: &'static str| changed(&move |p: &Published| std::fs::remove_file(p.path(name)).unwrap());
    for name in ["dictionary.txt", "utable.npy", "bi_skip.npz"] {
        let found = without(name);
        assert!(found.starts_with(&format!("/{name}: cannot open: ")), "{found}");
    }
    let write = |name: &'static str, bytes: &'static [u8]| {
        changed(&move |p: &Published| std::fs::write(p.path(name), bytes).unwrap())
    };
    let cases = [
        (
            write("dictionary.txt", b"red\n"),
            "/dictionary.txt: expected a line `UNK` for unknown words, found 1 other lines",
        ),
        (write("dictionary.txt", b"red\n\xff\n"), "/dictionary.txt:2: expected UTF-8, found other bytes; save"),
        (
            write("dictionary.txt", b"UNK\nred\n"),
            "/utable.npy: expected 2 rows, one for each line of dictionary.txt, found an array of shape [7, 3]",
        ),
        (
            write("utable.npy", b"nothing"),
            "/utable.npy: expected the header of a .npy file, found a file that begins with `nothing`",
        ),
        (
            write("uni_skip.npz", b"nothing at all"),
            "/uni_skip.npz: expected a .npz file, found a file that begins with `nothing `; fetch it again",
        ),
        (write("uni_skip.npz", b""), "/uni_skip.npz: expected a .npz file, found an empty file"),
        (
            write("uni_skip.npz", b"PK\x03\x04 and no more"),
            "/uni_skip.npz: expected a .npz file, found a ZIP archive that was cut short or damaged",
        ),
        (
            changed(&|p: &Published| p.zip("bi", CompressionMethod::Stored, |name| !name.ends_with("_r_Ux"))),
            "/bi_skip.npz, array `encoder_r_Ux`: expected this array, found none of that name",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{found}\nexpected {expected}");
    }
    // In the archive's list of contents: the flag of encryption, and the method of compression.
    let listed = |at: usize, byte: u8| {
        changed(&move |p: &Published| {
            let mut bytes = std::fs::read(p.path("uni_skip.npz")).unwrap();
            let entries: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
            entries.into_iter().for_each(|entry| bytes[entry + at] = byte);
            std::fs::write(p.path("uni_skip.npz"), bytes).unwrap();
        })
    };
    for (found, expected) in [
        (listed(8, 1), "expected a .npz file, found an array with a password; write it with numpy.savez"),
        (
            listed(10, 12),
            "expected a .npz file, found an array that is compressed by method 12; write it with numpy.savez",
        ),
    ] {
        assert!(found.contains("array `encoder_") && found.contains(expected), "{found}\nexpected {expected}");
    }
    let mut published = Published::new();
    let position = published.arrays.iter().position(|(name, ..)| name == "uni/encoder_W").unwrap();
    published.arrays[position].1 = vec![4, 6];
    published.zip("uni", CompressionMethod::Stored, |_| true);
    assert!(
        published.message().contains("array `encoder_W`: expected an array of shape [3, 8], found [4, 6]"),
        "{}",
        published.message()
    );
    published.arrays[position].1 = vec![3, 8];
    published.arrays[position].2[5] = f32::INFINITY;
    published.zip("uni", CompressionMethod::Deflated, |_| true);
    assert!(
        published.message().contains("array `encoder_W`: expected numbers between −1e6 and 1e6, found inf"),
        "{}",
        published.message()
    );
}

#[test]
fn a_damaged_archive_never_panics() {
    let published = Published::new();
    for name in ["uni_skip.npz", "bi_skip.npz", "utable.npy"] {
        let whole = std::fs::read(published.path(name)).unwrap();
        for position in (0..whole.len()).step_by(11) {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x55;
            std::fs::write(published.path(name), &damaged).unwrap();
            if let Ok(ranker) = published.load("skip-thought") {
                assert!(ranker.score("red", &["door", ""])[0].is_finite());
            }
            std::fs::write(published.path(name), &whole[..position]).unwrap();
            assert!(published.load("skip-thought").is_err(), "{name} cut after {position}");
        }
        std::fs::write(published.path(name), &whole).unwrap();
    }
}
