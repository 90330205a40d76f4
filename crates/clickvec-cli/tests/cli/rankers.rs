//! `clickvec lab table --ranker`: every ranker is trained, kept and read again, or left out if it cannot be trained.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::Folder;

/// Every system, with sizes that train quickly.
const ALL: [&str; 14] = [
    "bm25:k1=1.2",
    "ulm",
    "lsa:dimensions=10",
    "plsa:topics=8",
    "lda:topics=8,sweeps=20",
    "bltm:topics=8",
    "wtm",
    "ptm",
    "mrf",
    "lce",
    "doc2vec:size=8,epochs=2",
    "skip-thought:encoder=encoder",
    "trigram",
    "vectors:file=words.vec,idf=1",
];

/// [`Folder::with_data`] with vectors of its words and an encoder.
fn folder() -> Folder {
    let folder = Folder::with_data();
    let mut vectors = "4 3\n".to_owned();
    for (i, word) in ["red", "hammer", "paint", "in"].iter().enumerate() {
        let _ = writeln!(vectors, "{word} {} 1 {}", i, 0.5 - i as f64);
    }
    folder.write("words.vec", vectors);
    write_encoder(&folder);
    folder
}

fn systems(report: &[Value]) -> &Vec<Value> {
    report[0]["systems"].as_array().unwrap()
}

#[test]
fn what_is_saved_scores_as_it_did() {
    let folder = folder();
    let data = ["--clicks=clicks.tsv", "--titles=titles.tsv", "--cache=kept"];
    let rankers: Vec<String> = ALL.iter().map(|ranker| format!("--ranker={ranker}")).collect();
    let rankers: Vec<&str> = rankers.iter().map(String::as_str).collect();
    let base = ["lab", "table", "--judged=judged.tsv", "--json"];
    let trained = folder.run(&[&base[..], &data, &rankers].concat()).code(0).json_lines();
    let system = |ranker: &&str| ranker.split(':').next().unwrap().to_owned();
    let files: Vec<String> = ALL.iter().map(|ranker| folder.saved_ranker("kept", &system(ranker))).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let kept = folder.run(&[&["evaluate", "--judged=judged.tsv", "--json"], &files[..]].concat()).code(0);
    let said = kept.stderr();
    assert!(said.lines().all(|line| line.contains("has no vector for")), "nothing is learnt again: {said}");
    let kept = kept.json_lines();
    for ((ranker, trained), kept) in ALL.iter().zip(systems(&trained)).zip(systems(&kept)) {
        assert_eq!(trained["name"], **ranker);
        assert!(kept["name"].as_str().unwrap().starts_with(&system(ranker)), "{kept}");
        for metric in ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map", "precision@10", "recall@10"] {
            assert!(trained[metric].is_f64() && trained[metric] == kept[metric], "{metric}: {trained} {kept}");
        }
    }
}

#[test]
fn the_list_has_every_ranker_with_its_parameters() {
    let list = Folder::new().run(&["lab", "table", "--help"]).code(0).stdout();
    let (_, list) = list.split_once("Rankers:\n").unwrap();
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect();
    let all: Vec<&str> = ALL.iter().map(|ranker| ranker.split(':').next().unwrap()).collect();
    assert_eq!(names, all);
    let base = Folder::new().run(&["evaluate", "--help"]).code(0).stdout();
    assert!(base.contains("  bm25: ") && base.contains("  vectors: ") && !base.contains("  lsa: "), "{base}");
    for parameter in ["    k1=0.9  ", "    topics=", "    idf=0  ", "    uni=1  "] {
        assert!(list.contains(parameter), "no `{parameter}` in\n{list}");
    }
}

#[test]
fn a_system_of_the_lab_is_named_by_the_lab_alone() {
    let folder = Folder::with_data();
    let says = "one of the rankers bm25, trigram, vectors, or a file, found `lsa`; `clickvec lab table` has the systems of the papers";
    folder.run(&["evaluate", "--judged=judged.tsv", "lsa"]).code(2).says(says).prints_nothing();
}

#[test]
fn vectors_of_another_program_are_judged() {
    let folder = Folder::new();
    folder.write("j.tsv", "query\ttitle\tgrade\nsofa\ta lamp\t0\nsofa\tthe couch\t3\nlamp\tcouch\t0\nlamp\tlight\t3\n");
    folder.write("right.vec", "4 2\nsofa 1 0\ncouch 0.9 0.1\nlamp 0 1\nlight 0.2 0.8\n");
    folder.write("wrong.vec", "4 2\nsofa 1 0\ncouch 0 1\nlamp 0.9 0.1\nlight 0.8 0.1\n");
    for (file, expected) in [("right.vec", 1.0), ("wrong.vec", 0.5)] {
        let ranker = format!("vectors:file={file}");
        for command in [&["lab", "table", "--ranker"][..], &["evaluate"]] {
            let run = folder.run(&[command, &[&ranker, "--judged=j.tsv", "--json"]].concat()).code(0);
            assert_eq!(systems(&run.json_lines())[0]["ndcg@1"], expected, "{file}");
        }
    }
    let why =
        "expected a file of vectors that another program trained, found none; name it as in `vectors:file=words.vec`";
    let table = ["lab", "table", "--judged=j.tsv", "--ranker=vectors", "--ranker=bm25"];
    folder.run(&table).code(1).says(&format!("vectors: left out: vectors: {why}"));
    let run = folder.run(&["evaluate", "--judged=j.tsv", "vectors", "bm25"]).code(1);
    run.says(&format!("left out vectors: {why}")).prints("a  bm25");
}

/// A NumPy array of 32-bit numbers.
fn npy(shape: &[usize], number: impl Fn(usize) -> f32) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..shape.iter().product()).for_each(|i| bytes.extend(number(i).to_le_bytes()));
    bytes
}

/// An encoder in the published layout that gives the words `sofa`, `couch` and `lamp` different vectors.
fn write_encoder(folder: &Folder) {
    std::fs::create_dir(folder.path("encoder")).unwrap();
    folder.write("encoder/dictionary.txt", "<eos>\nUNK\nsofa\ncouch\nlamp\n");
    let words = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [0.0, 1.0]].concat();
    for table in ["utable", "btable"] {
        folder.write(&format!("encoder/{table}.npy"), npy(&[5, 2], |i| words[i]));
    }
    for (part, prefixes) in [("uni", &["encoder"][..]), ("bi", &["encoder", "encoder_r"])] {
        let mut zip = ZipWriter::new(std::fs::File::create(folder.path(&format!("encoder/{part}_skip.npz"))).unwrap());
        for prefix in prefixes {
            // The gates are half open, and the state follows the word.
            let arrays: [(&str, &[usize]); 6] =
                [("W", &[2, 4]), ("U", &[2, 4]), ("b", &[4]), ("Wx", &[2, 2]), ("Ux", &[2, 2]), ("bx", &[2])];
            for (name, shape) in arrays {
                let number = |i: usize| if name == "Wx" && i.is_multiple_of(3) { 1.0 } else { 0.0 };
                zip.start_file(format!("{prefix}_{name}.npy"), SimpleFileOptions::default()).unwrap();
                zip.write_all(&npy(shape, number)).unwrap();
            }
        }
        zip.finish().unwrap();
    }
}

#[test]
fn skip_thought_reads_a_published_encoder() {
    let folder = folder();
    folder.write("j.tsv", "query\ttitle\tgrade\nsofa\ta lamp\t0\nsofa\tthe couch\t3\nlamp\tcouch\t0\nlamp\tlamp\t3\n");
    let table = |rankers: &[&str]| folder.run(&[&["lab", "table", "--judged=j.tsv", "--json"], rankers].concat());
    let loads = "--ranker=skip-thought:encoder=encoder";
    let loaded = table(&[loads]).code(0);
    assert_eq!(systems(&loaded.json_lines())[0]["ndcg@1"], 1.0, "{}", loaded.stdout());
    let idle = "expected one of the parameters k1, b";
    table(&["--ranker=bm25:encoder=encoder"]).code(2).says(idle).says("found `encoder`").prints_nothing();

    let needs = "expected a trained encoder, found none; name its folder, as in `skip-thought:encoder=FOLDER`";
    table(&["--ranker=skip-thought"]).code(1).says(needs);
    let run = table(&["--ranker=skip-thought", "--ranker=bm25"]).code(1).says(needs);
    assert!(systems(&run.json_lines())[1]["ndcg@1"].is_f64());
    std::fs::remove_file(folder.path("encoder/bi_skip.npz")).unwrap();
    table(&[loads]).code(2).says("bi_skip.npz: cannot open");
    folder.write("encoder/bi_skip.npz", "PK and no more");
    table(&[loads, "--ranker=bm25"]).code(1).says("bi_skip.npz: expected a .npz file, found ");
}

#[test]
fn what_cannot_be_trained_is_left_out_and_the_rest_is_judged() {
    let folder = Folder::with_data();
    folder.write("one.tsv", "id\ttitle\n1\thammer in red\n");
    let judge = |more: &[&str]| {
        folder.run(&[&["lab", "table", "--judged=judged.tsv", "--ranker=bm25", "--ranker=ulm"], more].concat())
    };
    let cases: [(&[&str], &str); 5] = [
        (&["--titles=titles.tsv", "--ranker=bltm"], "bltm: expected clicked pairs"),
        (&["--titles=titles.tsv", "--ranker=wtm"], "wtm: expected clicked pairs"),
        (&["--titles=titles.tsv", "--ranker=ptm"], "ptm: expected clicked pairs"),
        (&["--titles=one.tsv", "--ranker=lsa"], "lsa: expected "),
        (&["--titles=titles.tsv", "--ranker=plsa:topics=5000"], "plsa: expected "),
    ];
    for (more, why) in cases {
        let run = judge(more).code(1).says(&format!("left out: {why}")).prints("a  bm25").prints("b  ulm");
        assert!(!run.stdout().contains("c  "), "{}", run.stdout());
    }
}

#[test]
fn a_table_has_a_spec_or_rankers() {
    let folder = Folder::with_data();
    folder.write("spec.toml", crate::harness::row("a", "ranker = \"bm25\""));
    let table = |more: &[&str]| folder.run(&[&["lab", "table", "--judged=judged.tsv"], more].concat());
    table(&["spec.toml", "--ranker=bm25"]).code(2).says("cannot be used with");
    table(&[]).code(2).says("required");
    table(&["--ranker=bm25", "--ranker=bm25"]).code(2).says("expected each name once, found `bm25` again");
    table(&["--ranker=bm25", "--ranker=trigram"]).code(0).prints("no row has parameters or weights to choose");
    assert!(folder.path("table.cache").is_dir());
}

#[test]
fn several_files_of_vectors_are_several_systems_and_what_they_lack_is_said() {
    let folder = Folder::new();
    folder.write("j.tsv", "query\ttitle\tgrade\nsofa\ta lamp\t0\nsofa\tthe couch\t3\nlamp\tcouch\t0\nlamp\tlight\t3\n");
    folder.write("right.vec", "4 2\nsofa 1 0\ncouch 0.9 0.1\nlamp 0 1\nlight 0.2 0.8\n");
    folder.write("part.vec", "2 2\nsofa 1 0\ncouch 0.9 0.1\n");
    folder.write("none.vec", "1 2\nchair 1 0\n");
    let evaluate = |rankers: &[&str]| folder.run(&[&["evaluate", "--judged=j.tsv", "--json"], rankers].concat());
    let run = evaluate(&["vectors:file=right.vec", "vectors:file=./right.vec"]).code(2);
    run.says("expected each system once");
    let run = evaluate(&["vectors:file=right.vec", "vectors:file=part.vec"]).code(0);
    let run = run.says("vectors:file=part.vec: has no vector for 1 of 2 queries and 2 of 4 titles, which score 0");
    let report = run.json_lines();
    let names: Vec<_> = systems(&report).iter().map(|system| &system["name"]).collect();
    assert_eq!(names, ["vectors:file=right.vec", "vectors:file=part.vec"]);
    assert_eq!((&systems(&report)[0]["ndcg@1"], &systems(&report)[1]["ndcg@1"]), (&1.0.into(), &0.75.into()));
    let run = evaluate(&["vectors:file=right.vec", "vectors:idf=1,file=part.vec"]).code(0);
    let report = run.json_lines();
    assert_eq!(systems(&report)[1]["name"], "vectors:file=part.vec,idf=1");
    // Queries and titles apart: what the queries' file lacks, the titles' file does not give.
    let run = evaluate(&["vectors:queries=part.vec,titles=right.vec"]).code(0);
    run.says("titles=right.vec: has no vector for 1 of 2 queries, which scores 0");
    // A file of other texts would score like chance.
    evaluate(&["vectors:file=none.vec"])
        .code(2)
        .says("vectors: expected vectors for the texts of the test set")
        .prints_nothing();
    evaluate(&["vectors:file=right.vec,file=part.vec"])
        .code(2)
        .says("expected each parameter once, found `file` again");
    evaluate(&["vectors:queries=right.vec", "bm25"])
        .code(1)
        .says("expected `file`, or `queries` and `titles`, found `queries`");
    evaluate(&["vectors:file=nowhere.vec"]).code(2).says("nowhere.vec");
}
