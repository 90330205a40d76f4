//! Files that an earlier version wrote (`testdata/frozen`): each can be read and gives the same results.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::Folder;

/// How far numbers may be apart, since each instruction level rounds differently.
const NEAR: f64 = 1e-4;

/// The file or folder of this name.
fn frozen(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen/format-1").join(name);
    assert!(path.exists(), "{}", path.display());
    path
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The vector of a line that `embed` wrote, scaled to length 1.
fn direction(line: &Value) -> Vec<f64> {
    let vector: Vec<f64> = line["vector"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(length > 0.0, "{line}");
    vector.iter().map(|x| x / length).collect()
}

#[test]
fn models_of_every_encoder_embed_as_they_did() {
    let folder = Folder::new();
    // Two layers, whole words as features, two semantic layers, and two members brought to fewer numbers.
    let variants = [("stacked", "stacked"), ("words", "lstm"), ("layers", "clsm"), ("projected", "members")];
    let plain = ["dssm", "clsm", "rnn", "lstm", "bilstm", "gru", "members"].map(|name| (name, name));
    let texts = frozen("texts");
    for (name, encoder) in plain.into_iter().chain(variants) {
        let model = frozen(&format!("{name}.safetensors"));
        let model = model.to_str().unwrap();
        let about = folder.run(&["inspect", "--json", model]).code(0).json_lines();
        assert_eq!(about[0]["encoder"]["kind"], encoder, "{about:?}");
        for side in ["query", "title"] {
            let run = folder.run(&["embed", model, "--side", side, texts.to_str().unwrap()]).code(0);
            let expected = json_lines(&text(&frozen(&format!("{name}.{side}.jsonl"))));
            let found = run.json_lines();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found["text"], expected["text"]);
                let (found, expected) = (direction(found), direction(expected));
                assert_eq!(found.len(), expected.len());
                let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(apart < NEAR, "{name}, {side}: {found:?} is not {expected:?}");
            }
        }
    }
}

/// Whether results have the same titles with nearly the same scores.
#[track_caller]
fn are_as_before(found: &[Value], expected: &[Value], of: &str) {
    assert_eq!(found.len(), expected.len(), "{of}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found["query"], expected["query"], "{of}");
        let results = |line: &Value| line["results"].as_array().unwrap().clone();
        assert_eq!(results(found).len(), results(expected).len(), "{of}");
        for (found, expected) in results(found).iter().zip(results(expected)) {
            for field in ["id", "title", "fields"] {
                assert_eq!(found.get(field), expected.get(field), "{of}");
            }
            let score = |hit: &Value| hit["score"].as_f64().unwrap();
            assert!((score(found) - score(&expected)).abs() < NEAR, "{of}: {found} is not {expected}");
        }
    }
}

/// Searches whole indexes of a name in each way and with these options, after looking whether they have these files.
fn answer_as_they_did(name: &str, titles: u64, vectors: &str, files: &[&str], options: &[&str]) {
    let folder = Folder::new();
    let index = frozen(name);
    let index = index.to_str().unwrap();
    let about = folder.run(&["inspect", "--json", index]).code(0).json_lines();
    assert_eq!((&about[0]["titles"], &about[0]["parts"]["vectors"]), (&titles.into(), &vectors.into()), "{about:?}");
    for file in files {
        assert!(about[0]["files"].as_object().unwrap().contains_key(*file), "{file}: {about:?}");
    }
    for mode in ["vectors", "words", "fused"] {
        let search = ["search", index, "--mode", mode, "--json", "-k", "5"];
        let run = folder.run_with(&[&search[..], options].concat(), text(&frozen("texts")));
        let expected = json_lines(&text(&frozen(&format!("{name}.{mode}.jsonl"))));
        are_as_before(&run.code(0).json_lines(), &expected, &format!("{name}, {mode}"));
    }
}

/// Indexes with words, a column and an update, whose vectors are kept in each form.
#[test]
fn whole_indexes_answer_as_they_did() {
    for form in ["f32", "f16", "int8"] {
        let filter = ["--filter", "brand=brand 0|brand 2"];
        answer_as_they_did(&format!("whole-{form}"), 38, form, &["changes-000001/titles.tsv"], &filter);
    }
}

/// Indexes with an update that fuse vectors, words and letter trigrams: standard scores, and scores as they are, the last with
/// stemmed words.
#[test]
fn an_index_that_fuses_three_answers_as_it_did() {
    let files = ["trigrams.safetensors", "trigrams.titles", "fusion.json", "changes-000001/trigrams.titles"];
    for name in ["three", "linear", "terms"] {
        answer_as_they_did(name, 39, "f32", &files, &[]);
    }
}

#[test]
fn shards_are_joined_to_an_index_that_answers_as_it_did() {
    let folder = Folder::new();
    let [first, second] = ["1", "2"].map(|shard| frozen("shards").join(shard).to_str().unwrap().to_owned());
    // In any order: each knows its number.
    folder.run(&["index", "--join", &second, &first, "--output", "index"]).code(0);
    let queries = text(&frozen("texts"));
    let found =
        folder.run_with(&["search", "index", "--mode=vectors", "--json", "-k", "5"], queries).code(0).json_lines();
    are_as_before(&found, &json_lines(&text(&frozen("shards.search.jsonl"))), "shards");
}

/// An index whose vectors are in lists, as those of many titles are.
#[test]
fn an_index_with_lists_answers_as_it_did() {
    let files = ["centroids.f32", "copies.bin", "lists.json"];
    answer_as_they_did("lists", 40, "f32", &files, &["--filter", "brand=brand 0|brand 2"]);
}

#[test]
fn an_index_answers_as_it_did() {
    let folder = Folder::new();
    let index = frozen("index");
    let index = index.to_str().unwrap();
    let about = folder.run(&["inspect", "--json", index]).code(0).json_lines();
    assert_eq!(about[0]["titles"], 40, "{about:?}");
    let queries = text(&frozen("texts"));
    let found =
        folder.run_with(&["search", index, "--mode=vectors", "--json", "-k", "5"], queries).code(0).json_lines();
    are_as_before(&found, &json_lines(&text(&frozen("index.search.jsonl"))), index);
}

#[test]
fn rankers_judge_as_they_did() {
    let folder = Folder::new();
    // Every kind of ranker, then other parameters.
    for (name, least) in [("rankers", 14), ("three-rankers", 4), ("terms-rankers", 3)] {
        let entries = std::fs::read_dir(frozen(name)).unwrap();
        let mut rankers: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        rankers.sort();
        assert!(rankers.len() >= least, "{rankers:?}");
        let [judged, titles] = ["judged.tsv", "titles.tsv"].map(|name| frozen(name).to_str().unwrap().to_owned());
        let mut arguments = vec!["evaluate", "--judged", &judged, "--titles", &titles, "--output", "found"];
        for ranker in &rankers {
            arguments.push(ranker.to_str().unwrap());
        }
        folder.run(&arguments).code(0);
        let (found, expected) = (folder.read("found/per-query.tsv"), text(&frozen(&format!("{name}.tsv"))));
        assert_eq!(found.lines().count(), expected.lines().count());
        assert_eq!(found.lines().next(), expected.lines().next());
        for (found, expected) in found.lines().zip(expected.lines()).skip(1) {
            let (a, b): (Vec<&str>, Vec<&str>) = (found.split('\t').collect(), expected.split('\t').collect());
            assert_eq!(a[..3], b[..3]);
            for (a, b) in a[3..].iter().zip(&b[3..]) {
                // Titles of this small model are within 1e-7 of each other, so the last bits of a cosine decide their
                // order.
                let bound = if found.starts_with("rnn\t") { 0.01 } else { NEAR };
                let near = (a.parse::<f64>().unwrap() - b.parse::<f64>().unwrap()).abs() < bound;
                assert!(near, "{found}\nis not\n{expected}");
            }
        }
    }
}

/// The version in the header of a checkpoint, and where it stands.
fn version_of(checkpoint: &[u8]) -> (String, usize) {
    let name = br#"\"version\":\""#;
    let start = checkpoint.windows(name.len()).position(|window| window == name).expect("a version") + name.len();
    let length = checkpoint[start..].iter().position(|&byte| byte == b'\\').expect("an end");
    (String::from_utf8(checkpoint[start..start + length].to_vec()).unwrap(), start)
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn a_stopped_run_goes_on_or_is_told_that_the_version_is_another() {
    let this = env!("CARGO_PKG_VERSION");
    for name in ["checkpoint", "checkpoint-members"] {
        let run = frozen(name);
        let folder = Folder::new();
        let copy = |from: PathBuf, to: &str| folder.write(to, std::fs::read(from).unwrap());
        ["clicks.tsv", "judged.tsv", "titles.tsv"].iter().for_each(|name| copy(frozen(name), name));
        let arguments = text(&run.join("arguments"));
        let resume = |checkpoint: &[u8]| {
            folder.write("stopped.checkpoint", checkpoint);
            copy(run.join("stopped.partial"), "stopped.partial");
            // The level that every machine has.
            let mut command = folder.command();
            command.env("CLICKVEC_LEVEL", "plain").args(arguments.lines()).args(["--output", "stopped", "--resume"]);
            let output = command.output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let is_refused = |checkpoint: &[u8], version: &str| {
            let (code, stderr) = resume(checkpoint);
            assert_eq!(code, Some(2), "{stderr}");
            let told = format!(
                "expected clickvec {version}, as in the run to resume, found {this}; use the same one, or start the training over"
            );
            assert!(stderr.contains(&told), "{stderr}");
            assert!(!folder.path("stopped").exists());
        };
        let checkpoint = std::fs::read(run.join("stopped.checkpoint")).unwrap();
        let (version, place) = version_of(&checkpoint);
        let mut of_other = checkpoint.clone();
        of_other[place] = if version.starts_with('9') { b'8' } else { b'9' };
        is_refused(&of_other, &version_of(&of_other).0);
        if version == this {
            let (code, stderr) = resume(&checkpoint);
            assert_eq!(code, Some(0), "{stderr}");
            assert!(stderr.contains("resumed in "), "{stderr}");
            let whole = std::fs::read(run.join("whole.safetensors")).unwrap();
            assert!(std::fs::read(folder.path("stopped")).unwrap() == whole, "another model");
        } else {
            is_refused(&checkpoint, &version);
        }
    }
}
