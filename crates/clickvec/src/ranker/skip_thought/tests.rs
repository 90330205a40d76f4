//! Tests of the ranker as a whole.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rand::RngExt as _;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Judgments, Metric, evaluate};
use crate::npy::tests::array as npy;
use crate::ranker::{Corpus, RankerSpec, file};
use crate::rng;

/// Trains on `text`; also returns the reported losses.
fn train(spec: &str, text: &str) -> Result<(SkipThought, Vec<f64>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, text).unwrap();
    let mut losses = Vec::new();
    let trained = learn(spec, Some(&path), None, &mut losses)?;
    Ok((trained, losses))
}

fn learn(spec: &str, contiguous: Option<&Path>, load: Option<&Path>, losses: &mut Vec<f64>) -> Result<SkipThought> {
    let corpus = Corpus::default();
    let resources = Resources { corpus: &corpus, contiguous, load, vectors: &[] };
    let mut expected = 0;
    SkipThought::train(&values(spec), &resources, &mut |progress| {
        expected += 1;
        assert!(progress.done == expected && progress.of >= expected);
        losses.extend(progress.objective);
    })
}

fn values(spec: &str) -> Values {
    SYSTEM.values(&spec.parse::<RankerSpec>().unwrap()).unwrap()
}

/// Words of each topic that mean the same.
const TOPICS: [[&str; 4]; 5] = [
    ["sofa", "couch", "settee", "armchair"],
    ["drill", "driver", "screw", "bit"],
    ["rug", "carpet", "mat", "runner"],
    ["tap", "faucet", "spigot", "basin"],
    ["oven", "stove", "hob", "range"],
];

/// Documents of one topic each, whose sentences are a few of its words.
fn topical_text(documents: usize) -> String {
    let mut stream = rng::stream(3, "text", 0);
    let mut text = String::new();
    for document in 0..documents {
        for _ in 0..4 {
            for _ in 0..stream.random_range(2..4) {
                text.push_str(TOPICS[document % TOPICS.len()][stream.random_range(0..4)]);
                text.push(' ');
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

const SMALL: &str = "skip-thought:uni=12,bi=6,word-size=8,epochs=25,minibatch=16,negatives=0,learning-rate=0.02";

/// NDCG@3 where one of five titles is relevant: the query's topic in another word.
fn ndcg(ranker: &dyn Ranker) -> f64 {
    let judged = |topic: usize, query: usize| JudgedQuery {
        id: String::new(),
        text: TOPICS[topic][query].to_owned(),
        titles: TOPICS
            .iter()
            .enumerate()
            .map(|(other, words)| JudgedTitle {
                id: String::new(),
                text: words[(query + 1) % 4].to_owned(),
                grade: if other == topic { 4 } else { 0 },
            })
            .collect(),
    };
    let queries = (0..TOPICS.len()).flat_map(|topic| (0..4).map(move |query| judged(topic, query))).collect();
    evaluate(ranker, &Judgments { queries, duplicates: 0 }, &EvaluateOptions::default()).mean.get(Metric::Ndcg3)
}

#[test]
fn sentences_with_like_neighbours_are_alike_and_the_loss_falls() {
    let (ranker, losses) = train(SMALL, &topical_text(60)).unwrap();
    // 18 minibatches in an epoch.
    assert_eq!(losses.len(), 25);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let parts: Vec<f64> = losses.chunks(5).map(mean).collect();
    assert!(parts.is_sorted_by(|a, b| a > b) && parts[4] < 0.8 * losses[0], "{losses:?}");
    let found = ndcg(&ranker);
    assert!(found > 0.95, "{found}");
    // With word vectors in another order it is worse; chance would give 0.426.
    let mut shuffled = ranker.clone();
    for part in &mut shuffled.parts {
        let rows = part.word_vectors.rows();
        let order: Vec<Vec<f32>> = (0..rows).map(|row| part.word_vectors.row((row * 7 + 3) % rows).to_vec()).collect();
        order.iter().enumerate().for_each(|(row, vector)| part.word_vectors.row_mut(row).copy_from_slice(vector));
    }
    let worse = ndcg(&shuffled);
    assert!(worse < found - 0.2, "{found}, shuffled {worse}");
}

#[test]
fn a_next_sentence_that_is_certain_is_learnt() {
    // Each sentence determines the next, so the loss falls to 0.
    let text = "one two\nthree four\nfive six\nseven eight\n".repeat(40);
    let spec = "skip-thought:uni=16,bi=0,word-size=8,epochs=40,minibatch=16,negatives=0,learning-rate=0.02";
    let (ranker, losses) = train(spec, &text).unwrap();
    assert!(losses[0] > 1.5 && *losses.last().unwrap() < 0.05, "{losses:?}");
    assert_eq!(ranker.parts.len(), 1);
}

#[test]
fn a_sample_of_words_is_enough() {
    let spec = SMALL.replace("negatives=0", "negatives=5");
    let found = ndcg(&train(&spec, &topical_text(60)).unwrap().0);
    assert!(found > 0.9, "{found}");
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let spec = "skip-thought:uni=5,bi=3,word-size=4,epochs=1,minibatch=150,negatives=10";
    let text = topical_text(60);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train(spec, &text).unwrap())
    };
    let ((one, losses), (four, again)) = (on(1), on(4));
    assert_eq!((one.state(), losses), (four.state(), again));
    let seed = train(&format!("{spec},seed=2"), &text).unwrap().0;
    assert_ne!(one.state(), seed.state());
}

#[test]
fn a_file_keeps_it_and_tuning_changes_nothing() {
    let spec = "skip-thought:uni=5,bi=3,word-size=4,epochs=1";
    let (mut ranker, _) = train(spec, &topical_text(10)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ranker.safetensors");
    file::save(&path, &SYSTEM, &values(spec), &ranker).unwrap();
    let (system, found, loaded) = file::load(&path).unwrap();
    assert_eq!((system.name, found), (SYSTEM.name, values(spec)));
    let long = "sofa tap ".repeat(3000);
    let titles = ["sofa", "couch drill unheard of", "", "x", "?", "größe 沙发", &long];
    for query in ["sofa", "", "unheard", "tap oven rug"] {
        let scores = ranker.score(query, &titles);
        assert!(scores.iter().all(|score| score.is_finite() && score.abs() < 1.0 + 1e-6), "{scores:?}");
        assert_eq!(scores, loaded.score(query, &titles));
        ranker.tune(&values(spec));
        assert_eq!(scores, ranker.score(query, &titles));
    }
    assert_eq!(ranker.score("", &["", "sofa"]), [0.0, 0.0]);
    assert!(ranker.score("sofa", &[]).is_empty());
    assert_eq!(ranker.state().bytes(), loaded.state().bytes());
}

#[test]
fn a_vector_does_not_depend_on_the_texts_beside_it() {
    let (ranker, _) = train("skip-thought:uni=21,bi=9,word-size=7,epochs=1", &topical_text(40)).unwrap();
    let mut stream = rng::stream(5, "texts", 0);
    let text = |words: usize, stream: &mut rand_xoshiro::Xoshiro256PlusPlus| -> String {
        (0..words).map(|_| TOPICS[stream.random_range(0..5)][stream.random_range(0..4)].to_owned() + " ").collect()
    };
    let texts: Vec<String> = (0..300).map(|i| text(i % 23, &mut stream)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = ranker.encode(&texts);
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(ranker.encode(&[text]).row(0), vectors.row(i), "{text}");
    }
    // A text that is projected in several parts.
    let long = text(5000, &mut stream);
    let encoder = &ranker.parts[0];
    let words: Vec<u32> = long.split_whitespace().map(|word| ranker.vocabulary.get(word).unwrap()).collect();
    let inputs: Vec<f32> = words.iter().flat_map(|&word| encoder.word_vectors.row(word as usize).to_vec()).collect();
    let mut trace = gru::Trace::default();
    encoder.encoders[0].forward(&inputs, None, &vec![1; words.len()], &mut trace);
    let encoded = encoder.encode(&[&words], &mut Scratch::default());
    assert_eq!(encoded.row(0), &trace.states[(words.len() - 1) * 21..]);
}

#[test]
fn without_anything_to_learn_from_it_says_what_to_name() {
    let message = |spec: &str| learn(spec, None, None, &mut Vec::new()).unwrap_err().to_string();
    let expected = "skip-thought: expected running text to learn from, or a trained encoder, found none";
    assert_eq!(message("skip-thought"), expected);
    let expected = "skip-thought: expected a size above 0 for `uni` or `bi`, found none; ask for a part";
    assert_eq!(message("skip-thought:uni=0,bi=0"), expected);
}

#[test]
fn texts_that_have_hardly_anything_are_learnt_or_refused() {
    let spec = "skip-thought:uni=3,bi=2,word-size=2,epochs=2";
    for text in ["a\nb", "a a\na a\n", "same text\nsame text\nsame text", "\u{0}\nb c\n\u{feff}\nd e\nf"] {
        for spec in [spec.to_owned(), format!("{spec},negatives=0")] {
            let (ranker, losses) = train(&spec, text).unwrap();
            let scores = ranker.score("a same", &["a", "", "zz", "text same"]);
            assert!(losses.iter().chain(&scores).all(|x| x.is_finite()), "{text:?}: {losses:?}, {scores:?}");
        }
    }
    for text in ["", "one line"] {
        assert!(matches!(train(spec, text), Err(Error::Learn { fault: LearnFault::BadFile { .. }, .. })), "{text}");
    }
    let missing = learn(spec, Some(Path::new("/no/such/file")), None, &mut Vec::new());
    assert!(matches!(missing, Err(Error::Shared(_))));
}

#[test]
fn too_large_a_step_is_told() {
    let spec = "skip-thought:uni=6,bi=0,word-size=4,epochs=1000,minibatch=1,learning-rate=1,negatives=0,clip-norm=1e6";
    // It stays finite or reports a fault, but never gives a NaN score.
    match train(spec, "red door\nblue lamp\nred lamp") {
        Ok((ranker, _)) => assert!(ranker.score("red", &["door"])[0].is_finite()),
        Err(error) => assert!(matches!(error, Error::Learn { fault: LearnFault::Diverged { .. }, .. }), "{error}"),
    }
}

#[test]
fn a_state_from_anywhere_is_checked() {
    let spec = "skip-thought:uni=5,bi=3,word-size=4,epochs=1";
    let state = || train(spec, &topical_text(5)).unwrap().0.state();
    let restore = |spec: &str, state: &RankerState| SkipThought::restore(&values(spec), state);
    assert!(restore(spec, &state()).is_ok());
    // The sizes follow from the arrays.
    assert_eq!(restore("skip-thought:uni=9,bi=0", &state()).unwrap().parts.len(), 1);
    assert!(matches!(restore("skip-thought:uni=0,bi=0", &state()), Err(FileFault::Ranker(SpecFault::AllZero { .. }))));
    let numbers = |count: usize, value: f32| Numbers::F32(vec![value; count]);
    let cases: [(&str, &[usize], Numbers); 9] = [
        ("uni.words", &[20, 4], numbers(80, 0.0)),
        ("uni.words", &[21, 0], numbers(0, 0.0)),
        ("uni.words", &[21, 5], numbers(105, 0.0)),
        ("uni.words", &[21, 4], numbers(84, 1e30)),
        ("bi.backward.recurrent_weights", &[3, 8], numbers(24, 0.0)),
        ("bi.backward.recurrent_weights", &[0, 0], numbers(0, 0.0)),
        ("bi.backward.bias", &[1, 8], numbers(8, 0.0)),
        ("bi.forward.input_weights", &[4, 9], Numbers::U32(vec![0; 36])),
        ("bi.forward.input_weights", &[4, 9], numbers(36, f32::NAN)),
    ];
    for (name, shape, numbers) in cases {
        let state = state().with(name, shape, numbers);
        assert!(restore(spec, &state).is_err(), "{name} {shape:?}");
    }
    assert!(matches!(restore(spec, &RankerState::default()), Err(FileFault::MissingTensor { .. })));
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

    /// Every other array has 64-bit numbers.
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

    /// The last state of an encoder, number by number in 64 bits.
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
        learn(spec, None, Some(self.folder.path()), &mut Vec::new())
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
        (
            write("dictionary.txt", b"red\n\xff\n"),
            "/dictionary.txt:2: expected UTF-8, found another byte at position 1 of the line; save",
        ),
        (
            write("dictionary.txt", b"UNK\nred\n"),
            "/utable.npy: expected 2 rows, one for each line of dictionary.txt, found an array of shape [7, 3]",
        ),
        (
            write("utable.npy", b"nothing"),
            "/utable.npy: expected an array in NumPy's .npy format, found a file that begins with `nothing`",
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
    let place = published.arrays.iter().position(|(name, ..)| name == "uni/encoder_W").unwrap();
    published.arrays[place].1 = vec![4, 6];
    published.zip("uni", CompressionMethod::Stored, |_| true);
    assert!(
        published.message().contains("array `encoder_W`: expected an array of shape [3, 8], found [4, 6]"),
        "{}",
        published.message()
    );
    published.arrays[place].1 = vec![3, 8];
    published.arrays[place].2[5] = f32::INFINITY;
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
        for place in (0..whole.len()).step_by(11) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x55;
            std::fs::write(published.path(name), &damaged).unwrap();
            if let Ok(ranker) = published.load("skip-thought") {
                assert!(ranker.score("red", &["door", ""])[0].is_finite());
            }
            std::fs::write(published.path(name), &whole[..place]).unwrap();
            assert!(published.load("skip-thought").is_err(), "{name} cut after {place}");
        }
        std::fs::write(published.path(name), &whole).unwrap();
    }
}
