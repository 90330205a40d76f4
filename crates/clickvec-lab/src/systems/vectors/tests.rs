//! Files of vectors in every format, and everything that can be wrong with one.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::systems::testing::corpus;
use clickvec_eval::internals::{Numbers, load_ranker};
use clickvec_eval::ranker::Corpus;
use clickvec_eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Judgments, Metric, evaluate};

/// A file of these bytes.
fn file_of(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn values(spec: &str) -> Values {
    SYSTEM.values(&spec.parse().unwrap()).unwrap()
}

fn train(spec: &str, corpus: &Corpus, path: &Path) -> Result<WordVectors> {
    train_files(spec, corpus, &[path.to_owned()])
}

fn train_files(spec: &str, corpus: &Corpus, files: &[PathBuf]) -> Result<WordVectors> {
    let names: &[&str] = if files.len() == 1 { &["file"] } else { &["queries", "titles", "file"] };
    let files: Vec<_> = names.iter().zip(files).map(|(name, path)| ((*name).to_owned(), path.clone())).collect();
    let resources = Resources { corpus, files: &files };
    WordVectors::train(&values(spec), &resources, &mut |_| ())
}

fn read(bytes: &[u8]) -> Vectors {
    builder::read(&file_of(bytes).1).unwrap_or_else(|error| panic!("{error}"))
}

fn fault_of(path: &Path) -> String {
    builder::read(path).map(drop).unwrap_err().to_string()
}

/// Checks that a message has this text after its place: `:3`, or `, vector 2`.
#[track_caller]
fn says(message: String, position: &str, text: &str) {
    let rest = message.split_once(&format!("{position}: ")).map_or("", |(_, rest)| rest);
    assert!(rest.contains(text), "expected {text:?} at {position:?}: {message}");
}

fn fault(bytes: &[u8]) -> String {
    fault_of(&file_of(bytes).1)
}

fn numbers<'v>(vectors: &'v Vectors, word: &str) -> Option<&'v [f32]> {
    let row = vectors.vocabulary.get(word)? as usize;
    Some(&vectors.words[row * vectors.dimension..][..vectors.dimension])
}

/// word2vec's binary form.
fn binary(header: &str, entries: &[(&[u8], &[f32])], end: &[u8]) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    for (word, numbers) in entries {
        bytes.extend_from_slice(word);
        bytes.push(b' ');
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(end);
    }
    bytes
}

/// A `.npy` file with texts next to it.
fn npy(header: &str, numbers: &[u8], texts: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("titles.npy");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(numbers);
    fs::write(&path, bytes).unwrap();
    fs::write(folder.path().join("titles.txt"), texts).unwrap();
    (folder, path)
}

fn header(kind: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}      \n")
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

const TEXT: &str = "3 2\nred 1 0.5\nDoor -2 1e-3 \nlamp 3 4\n";

#[test]
fn every_form_has_the_same_numbers() {
    let rows: [(&[u8], &[f32]); 3] = [(b"red", &[1.0, 0.5]), (b"Door", &[-2.0, 1e-3]), (b"lamp", &[3.0, 4.0])];
    let without_header = TEXT.split_once('\n').unwrap().1;
    let unended = TEXT.trim_end();
    let forms = [
        TEXT.as_bytes().to_vec(),
        TEXT.replace('\n', "\r\n").into_bytes(),
        without_header.as_bytes().to_vec(),
        unended.as_bytes().to_vec(),
        binary("3 2\n", &rows, b""),
        binary("3 2\n", &rows, b"\n"),
    ];
    for form in forms {
        let vectors = read(&form);
        assert_eq!((vectors.dimension, vectors.vocabulary.len()), (2, 3), "{form:?}");
        for (word, expected) in [("red", [1.0, 0.5]), ("door", [-2.0, 1e-3]), ("lamp", [3.0, 4.0])] {
            assert_eq!(numbers(&vectors, word), Some(&expected[..]), "{form:?}");
        }
    }
    let wide: Vec<u8> = [1.0f64, 0.5, -2.0, 1e-3].iter().flat_map(|number| number.to_le_bytes()).collect();
    for (kind, bytes) in [("<f4", floats(&[1.0, 0.5, -2.0, 1e-3])), ("<f8", wide)] {
        let (_folder, path) = npy(&header(kind, "(2, 2)"), &bytes, b"red\nA red door!\n");
        let vectors = builder::read(&path).unwrap();
        assert_eq!((numbers(&vectors, "red"), vectors.vocabulary.len()), (Some(&[1.0, 0.5][..]), 1));
        let key = TextReader::default().read(&vectors.vocabulary, "a RED door").0;
        assert_eq!((vectors.texts.get(key), vectors.texts.len()), (Some(&[-2.0, 1e-3][..]), 1));
    }
}

#[test]
fn a_compressed_file_is_read_as_what_it_contains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("titles.npy.zst");
    let (_other, plain) = npy(&header("<f4", "(1, 2)"), &floats(&[1.0, 2.0]), b"red\n");
    fs::write(&path, zstd::encode_all(fs::File::open(plain).unwrap(), 1).unwrap()).unwrap();
    fs::write(folder.path().join("titles.txt"), "red\n").unwrap();
    assert_eq!(numbers(&builder::read(&path).unwrap(), "red"), Some(&[1.0, 2.0][..]));
}

#[test]
fn an_entry_is_found_as_the_word_that_it_becomes() {
    let vectors = read("9 1\n</s> 9\nS 7\ns 1\nDon't 2\nDONT 3\nnew_york 4\n! 5\nne\u{301}e 6\n. . 8\n".as_bytes());
    // An exact spelling precedes an entry that becomes the word, which precedes later ones. Marks are not words.
    let found: Vec<(&str, Option<&[f32]>)> =
        ["s", "dont", "new", "york", "n\u{e9}e"].into_iter().map(|word| (word, numbers(&vectors, word))).collect();
    let expected =
        [("s", Some(&[1.0][..])), ("dont", Some(&[2.0])), ("new", None), ("york", None), ("n\u{e9}e", Some(&[6.0]))];
    assert_eq!(found, expected);
    // A word that was cut within a letter is in no text. A repeated entry with the same vector is fine.
    let vectors = read(b"3 1\nn\xc3 1\nred 2\nred 2\n");
    assert_eq!(vectors.vocabulary.len(), 1);
}

#[test]
fn what_is_wrong_with_text_is_said() {
    says(fault(b""), "", "expected vectors, found an empty file");
    says(fault(b"query\ttitle\nred\tdoor\n"), ":1", "or JSON lines, found `query");
    says(fault(b"3 0\n"), ":1", "expected vectors of 1 to 65536 numbers, found 0");
    says(fault(b"3 99999999\n"), ":1", "expected vectors of 1 to 65536 numbers, found 99999999");
    says(fault(b"2 2\nred 1 2\ndoor 1\n"), ":3", "expected a word and 2 numbers, found 1 numbers");
    says(fault(b"2 2\nred 1 2\ndoor 1 2 3\n"), ":3", "expected a word and 2 numbers, found 3 numbers");
    says(fault(b"red 1 2\ndoor 1 2 3\n"), ":2", "expected a word and 2 numbers, found 3 numbers");
    says(fault(b"2 2\nred 1 2\ndoor 1 two\n"), ":3", "expected a number, found `two`");
    for (number, found) in [("nan", "NaN"), ("-inf", "-inf"), ("1e39", "inf")] {
        let text = format!("2 2\nred 1 2\ndoor 1 {number}\n");
        says(fault(text.as_bytes()), ":3", &format!("expected finite numbers of 32 bits for `door`, found {found}"));
    }
    let long = format!("2 1\nred 1\n{} 1\n", "a".repeat(70_000));
    says(fault(long.as_bytes()), ":3", "expected a line of at most 65600 bytes");
    says(
        fault(b"3 1\nred 1\nblue 2\nred 3\n"),
        ":4",
        "expected one vector for `red`, found a second that differs from that of line 2",
    );
    says(fault(b"3 1\nred 1\n"), "", "expected 3 vectors, as its header says, found 1");
    says(
        fault(b"18446744073709551615 1\nred 1\n"),
        "",
        "expected 18446744073709551615 vectors, as its header says, found 1",
    );
    says(fault(b"1 1\nred 1\n\nblue 1\n"), ":4", "expected 1 vectors, as its header says, found more");
    says(fault(b"2 1\n! 1\n</s> 2\n"), "", "found none among 2 entries");
    says(fault(b"0 4\n"), "", "found none among 0 entries");
}

#[test]
fn what_is_wrong_with_a_binary_file_is_said() {
    let rows: [(&[u8], &[f32]); 2] = [(b"red", &[1.0, 0.1]), (b"door", &[0.3, 2.0])];
    let bytes = binary("2 2\n", &rows, b"\n");
    assert_eq!(read(&bytes).vocabulary.len(), 2);
    says(fault(&bytes[..bytes.len() - 4]), ", vector 2", "expected 8 bytes of numbers, found 5");
    let fewer = binary("5 2\n", &rows, b"\n");
    says(fault(&fewer), "", "expected 5 vectors, as its header says, found 2");
    let more = binary("1 2\n", &rows, b"\n");
    says(fault(&more), "", "expected 1 vectors, as its header says, found more");
    let mut spaceless = bytes[..bytes.len() - 14].to_vec();
    spaceless.resize(80_000, b'a');
    says(fault(&spaceless), ", vector 2", "expected a word of at most 65536 bytes and a space");
    let nan = binary("2 2\n", &[(b"red", &[1.0, 0.1]), (b"door", &[0.3, f32::NAN])], b"");
    says(fault(&nan), ", vector 2", "expected finite numbers of 32 bits for `door`, found NaN");
    let repeated = binary("2 2\n", &[(b"red", &[1.0, 0.1]), (b"red", &[0.3, 1.0])], b"");
    says(
        fault(&repeated),
        ", vector 2",
        "expected one vector for `red`, found a second that differs from that of vector 1",
    );
}

#[test]
fn what_is_wrong_with_a_npy_file_is_said() {
    let of = |header: &str, numbers: &[f32], texts: &[u8]| fault_of(&npy(header, &floats(numbers), texts).1);
    let two = header("<f4", "(2, 1)");
    says(fault(b"\x93NUMPY"), "", "expected the header of a .npy file, found one that ends too soon");
    says(
        fault(b"\x93NUMPY\x03\x00\xff\xff\xff\xff{"),
        "",
        "expected the header of a .npy file, found one of 4294967295 bytes",
    );
    says(of("{}", &[], b""), "", "expected the header of a .npy file, found `{}`");
    says(of(&header("<i8", "(2, 1)"), &[], b""), "", "expected numbers of type <f4 or <f8, found `<i8`");
    says(of(&two.replace("False", "True"), &[], b""), "", "found Fortran order");
    says(of(&header("<f4", "(2,)"), &[], b""), "", "expected a shape of two sizes, texts and numbers, found `2,`");
    says(of(&header("<f4", "(2, 0)"), &[], b""), "", "expected vectors of 1 to 65536 numbers, found 0");
    says(of(&two, &[1.0], b"a\nb\n"), "", "expected 2 vectors, as its header says, found 1");
    let cut = fault_of(&npy(&two, &[0, 0, 0, 0, 1], b"a\nb\n").1);
    says(cut, ", vector 2", "expected 4 bytes of numbers, found 1");
    let endless = header("<f4", "(18446744073709551615, 65536)");
    says(of(&endless, &[1.0], b""), "", "expected 262144 bytes of numbers, found 4");
    says(of(&two, &[1.0, 2.0, 3.0], b"a\nb\n"), "", "expected 2 vectors, as its header says, found more");
    says(of(&two, &[1.0, 2.0], b"a\n"), "", "expected 2 texts, one a line and one for each vector, found 1");
    says(of(&two, &[1.0, 2.0], b"a\nb\nc\n"), "", "expected 2 texts, one a line and one for each vector, found 3");
    says(of(&two, &[1.0, 2.0], b"a\n\xff\n"), ":2", "expected UTF-8, found another byte at position 1 of the line");
    says(of(&two, &[1.0, f32::NAN], b"a\nb\n"), ", vector 2", "expected finite numbers of 32 bits for `b`, found NaN");
    let (_folder, path) = npy(&two, &floats(&[1.0, 2.0]), b"");
    fs::remove_file(path.with_extension("txt")).unwrap();
    let message = builder::read(&path).unwrap_err().to_string();
    assert!(message.contains("titles.txt"), "{message}");
}

#[test]
fn messages_say_where_and_what_to_do() {
    let (_folder, path) = file_of(b"2 2\nred 1 2\ndoor 1\n");
    let expected =
        format!("{}:3: expected a word and 2 numbers, found 1 numbers; mend or remove the line", path.display());
    assert_eq!(builder::read(&path).unwrap_err().to_string(), expected);
    let corpus = Corpus::default();
    let resources = Resources::from(&corpus);
    let error = WordVectors::train(&values("vectors"), &resources, &mut |_| ()).unwrap_err();
    let expected = "vectors: expected a file of vectors that another program trained, found none; name it as in `vectors:file=words.vec`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn no_bytes_make_it_panic() {
    let rows: [(&[u8], &[f32]); 2] = [(b"red", &[1.0, 0.1]), (b"door", &[0.3, 2.0])];
    let (_folder, path) = npy(&header("<f4", "(2, 1)"), &floats(&[1.0, 2.0]), b"a\nb\n");
    let bytes = fs::read(&path).unwrap();
    for form in [TEXT.as_bytes(), &binary("2 2\n", &rows, b"\n"), &bytes] {
        for position in 0..form.len() {
            for change in [0, 1, 7, 128] {
                let mut bytes = form[..if change == 0 { position } else { form.len() }].to_vec();
                if let Some(byte) = bytes.get_mut(position) {
                    *byte ^= change;
                }
                fs::write(&path, bytes).unwrap();
                if let Ok(vectors) = builder::read(&path) {
                    assert_eq!(vectors.words.len(), vectors.vocabulary.len() * vectors.dimension);
                }
            }
        }
    }
}

#[test]
fn a_hand_computed_cosine() {
    let (_folder, path) = file_of(b"3 2\nred 3 4\ndoor 0 2\nlamp -1 0\n");
    let corpus = corpus(&["red door", "red sofa", "red red"], &[]);
    let close = |found: Vec<f64>, expected: &[f64]| {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near && found.len() == expected.len(), "{found:?}, not {expected:?}");
    };
    let titles = ["red red", "door", "LAMP!", "red door", "unheard of", ""];
    // (3, 6) compared with (6, 8), (0, 2), (−1, 0) and itself.
    let plain = [66.0 / (45f64.sqrt() * 10.0), 6.0 / 45f64.sqrt(), -3.0 / 45f64.sqrt(), 1.0, 0.0, 0.0];
    let mut ranker = train("vectors", &corpus, &path).unwrap();
    close(ranker.score("red door sofa", &titles), &plain);
    close(ranker.score("sofa", &titles), &[0.0; 6]);
    // `red` is in all three titles, and `door` in one.
    let (red, door) = ((1.0 + 0.5 / 3.5f64).ln(), (1.0 + 2.5 / 1.5f64).ln());
    let sum = [3.0 * red, 4.0 * red + 2.0 * door];
    let length = (sum[0] * sum[0] + sum[1] * sum[1]).sqrt();
    let weighted = train("vectors:idf=1", &corpus, &path).unwrap().score("red door", &titles);
    close(weighted[..3].to_vec(), &[(3.0 * sum[0] + 4.0 * sum[1]) / (5.0 * length), sum[1] / length, -sum[0] / length]);
    ranker.tune(&values("vectors:idf=1"));
    assert_eq!(ranker.score("red door", &titles), weighted);
}

#[test]
fn a_file_keeps_it_and_shuffled_vectors_are_worse() {
    // Pairs of words with the same meaning, orthogonal to all other pairs.
    let words = ["sofa", "couch", "lamp", "light", "rug", "carpet", "tap", "faucet"];
    let line = |(i, word): (usize, &&str)| {
        let row: Vec<String> = (0..4).map(|j| if i / 2 == j { "1" } else { "0.1" }.to_owned()).collect();
        format!("{word} {}\n", row.join(" "))
    };
    let text: String = words.iter().enumerate().map(line).collect();
    let (folder, path) = file_of(text.as_bytes());
    let corpus = corpus(&words, &[]);
    let ranker = train("vectors:idf=0.5", &corpus, &path).unwrap();
    // The other word of the pair is perfect, and all others except the word itself are bad.
    let judged = |i: usize| JudgedQuery {
        id: String::new(),
        text: words[i].to_owned(),
        titles: (0..words.len())
            .filter(|&j| j != i)
            .map(|j| JudgedTitle {
                id: String::new(),
                text: words[j].to_owned(),
                grade: if j == i ^ 1 { 4 } else { 0 },
            })
            .collect(),
    };
    let judgments = Judgments { queries: (0..words.len()).map(judged).collect(), ..Judgments::default() };
    let ndcg =
        |ranker: &WordVectors| evaluate(ranker, &judgments, &EvaluateOptions::default()).mean.get(Metric::Ndcg(1));
    let state = ranker.state();
    let rows = state.f32s("word_vectors", &[Some(8), Some(4)]).unwrap();
    let mixed: Vec<f32> = (0..8).flat_map(|row| &rows[row * 3 % 8 * 4..][..4]).copied().collect();
    let shuffled = state.clone().with("word_vectors", &[8, 4], Numbers::F32(mixed));
    let shuffled = WordVectors::restore(&values("vectors"), &shuffled).unwrap();
    let (found, worse) = (ndcg(&ranker), ndcg(&shuffled));
    assert!(found == 1.0 && worse < found - 0.5, "{found}, shuffled {worse}");

    let saved = folder.path().join("ranker.safetensors");
    SYSTEM.save(&saved, &values("vectors:idf=0.5"), &ranker).unwrap();
    let (system, found, loaded) = load_ranker(&saved, &[&SYSTEM]).unwrap();
    assert_eq!((system.name, found), ("vectors", values("vectors:idf=0.5")));
    assert_eq!(loaded.score("sofa lamp", &words), ranker.score("sofa lamp", &words));
}

#[test]
fn damaged_rankers_are_refused() {
    let (_folder, path) = file_of(TEXT.as_bytes());
    let state = train("vectors", &corpus(&["red", "red door"], &[]), &path).unwrap().state();
    let restored = |state: &RankerState| WordVectors::restore(&values("vectors"), state);
    assert!(restored(&state).is_ok());
    let bad = |state: RankerState| restored(&state).is_err_and(|fault| fault.message().contains("the file is damaged"));
    assert!(bad(state.clone().with_f64s("documents", &[1.0])));
    assert!(bad(state.clone().with_f64s("documents", &[2.5])));
    assert!(bad(state.clone().with("words", &[0], Numbers::Bytes(Vec::new())).with(
        "word_vectors",
        &[0, usize::MAX],
        Numbers::F32(Vec::new())
    )));
    let wrong = |state: RankerState| restored(&state).is_err_and(|fault| fault.message().contains("` to be"));
    assert!(wrong(state.clone().with_u32s("document_frequency", &[1, 1])));
    assert!(wrong(state.clone().with("text_vectors", &[0, 3], Numbers::F32(Vec::new()))));
    // With numbers near the largest, cosines are still right.
    let huge = state.with("word_vectors", &[3, 2], Numbers::F32(vec![f32::MAX; 6]));
    let scores = restored(&huge).unwrap().score("red door", &["red", "lamp"]);
    assert!(scores.iter().all(|score| (score - 1.0).abs() < 1e-9), "{scores:?}");
}

#[test]
fn a_text_of_the_file_has_its_own_vector() {
    let (_folder, path) =
        npy(&header("<f4", "(3, 2)"), &floats(&[1.0, 0.0, 0.0, 1.0, 3.0, 4.0]), b"red\ndoor\nred door\n");
    let ranker = train("vectors", &Corpus::default(), &path).unwrap();
    let scores = ranker.score("Red door!", &["red", "door", "door red"]);
    let expected = [0.6, 0.8, 1.4 / 2f64.sqrt()];
    assert!(scores.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{scores:?}");
}

#[test]
fn queries_and_titles_may_have_files_of_their_own() {
    let texts = b"red door\nlamp\n";
    let (_first, queries) = npy(&header("<f4", "(2, 2)"), &floats(&[1.0, 0.0, 0.0, 1.0]), texts);
    let (_second, titles) = npy(&header("<f4", "(2, 2)"), &floats(&[0.0, 2.0, 3.0, 4.0]), texts);
    let ranker = train_files("vectors", &corpus(&["lamp"], &[]), &[queries.clone(), titles]).unwrap();
    let of = |ranker: &dyn Ranker| ranker.score("Red door!", &["red door", "lamp", "sofa"]);
    assert_eq!(of(&ranker), [0.0, 0.6, 0.0]);
    let known = |text, side| ranker.has_vector(text, side);
    assert_eq!([known("sofa", Side::Query), known("lamp", Side::Title)], [Some(false), Some(true)]);
    let (folder, _) = file_of(b"");
    let saved = folder.path().join("ranker.safetensors");
    SYSTEM.save(&saved, &values("vectors"), &ranker).unwrap();
    assert_eq!(of(load_ranker(&saved, &[&SYSTEM]).unwrap().2.as_ref()), [0.0, 0.6, 0.0]);
    let (_third, other) = npy(&header("<f4", "(1, 3)"), &floats(&[1.0, 0.0, 0.0]), b"lamp\n");
    let refused = |files: &[PathBuf]| train_files("vectors", &Corpus::default(), files).unwrap_err().to_string();
    let message = refused(&[queries.clone(), other]);
    assert!(message.contains("expected vectors of 2 numbers, as the first file has, found 3"), "{message}");
    let message = refused(&[queries.clone(), queries.clone(), queries]);
    assert!(message.contains("expected `file`, or `queries` and `titles`, found `queries` and `titles` and `file`"));
}
