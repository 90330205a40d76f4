//! `clickvec embed`.

use crate::harness::Folder;

const BASE: [&str; 4] = ["embed", "model.safetensors", "--side", "title"];

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
    let query = folder.run_with(&["embed", "model.safetensors", "--side", "query"], "red hammer").code(0);
    assert_ne!(query.json_lines()[0]["vector"], lines[0]["vector"]);
}

#[test]
fn a_first_line_like_a_header_is_not_lost() {
    let folder = Folder::with_model();
    let embed = |text: &str, more: &[&str]| folder.run_with(&[&BASE[..], more].concat(), text);
    let texts = |text: &str, more: &[&str]| -> Vec<String> {
        let lines = embed(text, more).code(0).json_lines();
        lines.iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
    };
    // It is said what was taken for a table, and a line that may be either is refused.
    let table = "standard input: a table with `title`, `name`; texts come from its column `title`, and `--lines` takes every line";
    embed("title,name\nred hammer,x\n", &[]).code(0).says(table);
    embed("title,name \r\nred hammer,x\r\n", &[]).code(0).says(table);
    let large =
        embed("Title,Id\nred hammer,7\n", &[]).code(0).says("a table with `Title`, `Id`; texts come from its column");
    assert_eq!(large.json_lines()[0]["id"], "7");
    let either = "standard input: expected texts, one a line, or a table, found a first line that may be either, `title`, `name`;";
    for line in ["title, name", "title; name", "title ,name"] {
        embed(&format!("{line}\nred hammer\n"), &[]).code(2).says(either).says("`--lines`").prints_nothing();
    }
    for line in ["title, name", "title\tname", "title,name", "{\"title\": \"red\"}", "[\"red\"]"] {
        assert_eq!(texts(&format!("{line}\nred hammer\n"), &["--lines"]), [line, "red hammer"]);
    }
    assert_eq!(texts("title, name\nred hammer, x\n", &["--text-column=title"]), ["red hammer"]);
    embed("sku,name\nx,red hammer\n", &[]).code(2).says("`--lines` takes every line as a text").prints_nothing();
    embed("title\n", &["--lines", "--text-column=title"]).code(2).says("cannot be used with");
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
    // Without a format, the name of the file says it.
    folder.run_with(&[&BASE[..], &["--output", "w.NPY"]].concat(), texts).code(0);
    assert_eq!(std::fs::read(folder.path("w.NPY")).unwrap(), bytes);
    folder.run_with(&[&BASE[..], &["--format", "jsonl", "--output", "w.npy"]].concat(), texts).code(0);
    assert!(folder.read("w.npy").starts_with("{"));
}

#[test]
fn word2vec_has_every_text_once() {
    let folder = Folder::with_model();
    let texts = "red hammer\nblue  l\u{e4}dder\t9\n\nred_hammer\nred hammer\n \n";
    let json = folder.run_with(&BASE, texts).code(0).json_lines();
    let left_out = "v.txt: left out 3 texts that occurred before";
    let word2vec = [&BASE[..], &["--format", "word2vec"]].concat();
    folder.run_with(&[&word2vec[..], &["--output", "v.txt"]].concat(), texts).code(0).prints_nothing().says(left_out);
    let table = folder.read("v.txt");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("3 8"));
    for (line, (token, place)) in lines.zip([("red_hammer", 0), ("blue_l\u{e4}dder_9", 1), ("_", 2)]) {
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(fields[0], token);
        let numbers: Vec<f32> = fields[1..].iter().map(|number| number.parse().unwrap()).collect();
        let expected: Vec<f32> = serde_json::from_value(json[place]["vector"].clone()).unwrap();
        assert_eq!(numbers, expected);
    }
    assert_eq!(table.lines().count(), 4);
    // Texts that become one token have the same vector.
    assert_eq!(json[0]["vector"], json[3]["vector"]);
    assert_eq!(folder.run_with(&word2vec, texts).code(0).stdout(), table);
    assert_eq!(folder.run(&word2vec).code(0).stdout(), "0 8\n");
}

#[test]
fn parquet_has_every_text_in_its_place() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    let folder = Folder::with_model();
    let many = "red h\u{e4}mmer\n\nblue \"ladder\"\n".repeat(700);
    let json = folder.run_with(&BASE, many.as_str()).code(0).json_lines();
    let flags = [&BASE[..], &["--format", "parquet"]].concat();
    folder.run_with(&[&flags[..], &["--output", "v.parquet"]].concat(), many.as_str()).code(0).prints_nothing();
    let file = SerializedFileReader::new(std::fs::File::open(folder.path("v.parquet")).unwrap()).unwrap();
    let mut rows = 0;
    for (row, expected) in file.get_row_iter(None).unwrap().zip(&json) {
        let row = row.unwrap();
        assert_eq!(row.get_string(0).unwrap(), expected["text"].as_str().unwrap());
        let numbers: Vec<f32> = row.get_list(1).unwrap().elements().iter().map(number).collect();
        assert_eq!(numbers, serde_json::from_value::<Vec<f32>>(expected["vector"].clone()).unwrap());
        rows += 1;
    }
    assert_eq!(rows, 2100);
    assert_eq!(
        folder.run_with(&flags, many.as_str()).code(0).stdout_bytes(),
        std::fs::read(folder.path("v.parquet")).unwrap()
    );
    folder.run(&[&flags[..], &["--output", "none.parquet"]].concat()).code(0);
    let none = SerializedFileReader::new(std::fs::File::open(folder.path("none.parquet")).unwrap()).unwrap();
    assert_eq!(none.metadata().file_metadata().num_rows(), 0);
    folder.run_with(&[&flags[..], &["--output", "bad"]].concat(), &b"a\n\xff\n"[..]).code(2).says("standard input:2");
    assert!(!folder.path("bad").exists());

    fn number(field: &Field) -> f32 {
        let Field::Float(number) = field else { panic!("{field:?}") };
        *number
    }
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
        .says("texts.txt:2: expected UTF-8, found another byte at position 2 of the line; save it as UTF-8 text (it looks like Windows-1252:");
    folder.write("wide.txt", [0xff, 0xfe, b'r', 0, b'e', 0, b'd', 0, b'\n', 0]);
    let wide = folder.run(&[&BASE[..], &["wide.txt"]].concat()).code(2);
    wide.says("wide.txt: expected UTF-8, found UTF-16; save it as UTF-8 text (iconv -f UTF-16 -t UTF-8)");
    assert!(!folder.path("v.jsonl").exists());
    folder.run_with(&BASE, &b"\xff\n"[..]).code(2).says("standard input:1: expected UTF-8");
    folder.run(&[&BASE[..], &["none.txt"]].concat()).code(2).says("none.txt: cannot open");
    for output in ["no/v.jsonl", "no/v.npy"] {
        let nowhere = folder.run_with(&[&BASE[..], &["--output", output]].concat(), "red hammer\n").code(2);
        nowhere.says("no: expected a folder").prints_nothing();
    }
}

#[test]
fn vectors_have_length_one_unless_raw_ones_are_wanted() {
    let folder = Folder::with_model();
    let vectors = |flags: &[&str]| -> Vec<Vec<f64>> {
        let lines = folder.run_with(&[&BASE[..], flags].concat(), "red hammer\n\n").code(0).json_lines();
        lines.iter().map(|line| serde_json::from_value(line["vector"].clone()).unwrap()).collect()
    };
    let length = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (unit, raw) = (vectors(&[]), vectors(&["--raw"]));
    assert!((length(&unit[0]) - 1.0).abs() < 1e-6 && length(&unit[1]) == 0.0 && length(&raw[1]) == 0.0);
    let scale = length(&raw[0]);
    assert!((scale - 1.0).abs() > 1e-3, "a model whose vectors have length 1 shows nothing");
    assert!(unit[0].iter().zip(&raw[0]).all(|(unit, raw)| (unit * scale - raw).abs() < 1e-6));
}

#[cfg(target_os = "linux")]
#[test]
fn a_kill_leaves_nothing() {
    use std::io::Write as _;

    let folder = Folder::with_model();
    let before = std::fs::read_dir(folder.path("")).unwrap().count();
    let mut child = std::process::Command::new(crate::harness::program())
        .args(BASE)
        .args(["--output", "v.jsonl"])
        .current_dir(folder.path(""))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than a pipe holds: once everything is taken, some of it is being embedded.
    input.write_all("red hammer\n".repeat(200_000).as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), before);
}
