//! `clickvec embed`.

use crate::harness::Folder;

const BASE: [&str; 5] = ["embed", "--model", "model.safetensors", "--side", "title"];

#[test]
fn one_vector_a_line() {
    let folder = Folder::with_model();
    folder.write("texts.txt", "red hammer\n\nblue \"ladder\"\r\n");
    let lines = folder.run(&[&BASE[..], &["texts.txt"]].concat()).code(0).json_lines();
    let texts: Vec<_> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["red hammer", "", "blue \"ladder\""]);
    let vectors: Vec<&Vec<_>> = lines.iter().map(|line| line["vector"].as_array().unwrap()).collect();
    assert!(vectors.iter().all(|vector| vector.len() == 8));
    assert!(vectors[1].iter().all(|value| value.as_f64() == Some(0.0)));
    assert!(vectors[0].iter().any(|value| value.as_f64() != Some(0.0)));

    let piped = folder.run_with(&BASE, "red hammer\n").code(0).json_lines();
    assert_eq!(piped[0], lines[0]);
    let query = folder.run_with(&["embed", "--model", "model.safetensors", "--side", "query"], "red hammer").code(0);
    assert_ne!(query.json_lines()[0]["vector"], lines[0]["vector"]);
}

#[test]
fn numpy_gets_the_same_numbers() {
    let folder = Folder::with_model();
    let texts = "red hammer\nblue ladder\n\n";
    let json = folder.run_with(&BASE, texts).code(0).json_lines();
    folder.run_with(&[&BASE[..], &["--format", "npy", "--output", "v.npy"]].concat(), texts).code(0).prints_nothing();
    let bytes = std::fs::read(folder.path("v.npy")).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    assert!(String::from_utf8_lossy(&bytes[..128]).contains("'shape': (3, 8)"));
    let numbers: Vec<f32> =
        bytes[128..].chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    let expected: Vec<f32> = json
        .iter()
        .flat_map(|line| line["vector"].as_array().unwrap())
        .map(|value| value.to_string().parse().unwrap())
        .collect();
    assert_eq!(numbers, expected);
    let piped = folder.run_with(&[&BASE[..], &["--format", "npy"]].concat(), texts).code(0);
    assert_eq!(piped.stdout_bytes(), bytes);
}

#[test]
fn no_texts_no_vectors() {
    let folder = Folder::with_model();
    folder.run(&BASE).code(0).prints_nothing();
    folder.run(&[&BASE[..], &["--format", "npy", "--output", "v.npy"]].concat()).code(0);
    assert_eq!(std::fs::read(folder.path("v.npy")).unwrap().len(), 128);
}

#[test]
fn bad_texts_are_told_and_leave_no_file() {
    let folder = Folder::with_model();
    folder.write("texts.txt", b"fine\nb\xffd\n");
    folder
        .run(&[&BASE[..], &["texts.txt", "--output", "v.jsonl"]].concat())
        .code(2)
        .says("texts.txt:2: expected UTF-8, found another byte at place 2 of the line");
    assert!(!folder.path("v.jsonl").exists());
    folder.run_with(&BASE, &b"\xff\n"[..]).code(2).says("standard input:1: expected UTF-8");
    folder.run(&[&BASE[..], &["none.txt"]].concat()).code(2).says("none.txt: cannot open");
    folder.run(&[&BASE[..], &["--output", "no/v.jsonl"]].concat()).code(2).says("no/v.jsonl: cannot write");
}
