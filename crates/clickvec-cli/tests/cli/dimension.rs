//! `clickvec train --dimension`: members whose vectors are brought to fewer numbers, from training to each use.

use serde_json::Value;

use crate::harness::{DATA, Folder, Run, row};

const SIZES: [&str; 6] = ["--set", "encoder.members=2", "--set", "encoder.cells=8", "--set", "encoder.dimension=6"];
const TRAIN: [&str; 7] =
    ["train", "--clicks=clicks.tsv", "--titles=titles.tsv", "--set", "titles.epochs=1", "--epochs=1", "--output"];

fn train(folder: &Folder, output: &str, more: &[&str]) -> Run {
    folder.run(&[&TRAIN[..], &[output], more].concat())
}

fn with_projected() -> Folder {
    let folder = Folder::with_data();
    train(&folder, "model.safetensors", &SIZES).code(0);
    folder
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap()
}

fn about(folder: &Folder, name: &str) -> Value {
    folder.run(&["inspect", "--json", name]).code(0).json_lines()[0].clone()
}

#[test]
fn the_share_of_the_variance_is_said_for_each_epoch_and_kept() {
    let folder = Folder::with_data();
    let said = train(&folder, "text", &SIZES).code(0).prints_nothing().stderr();
    assert!(said.contains("training: members, 2 times lstm, 8 cells, projected to 6 numbers"), "{said}");
    let epochs: Vec<&str> = said.lines().filter(|line| line.contains("epoch 1/1")).collect();
    assert_eq!(epochs.len(), 2, "{said}");
    assert!(epochs.iter().all(|line| line.contains("  6 of 16 numbers keep ") && line.ends_with(" % of the variance")));
    let events = train(&folder, "json", &[&SIZES[..], &["--json"]].concat()).code(0).json_lines();
    let shares: Vec<f64> = events.iter().filter_map(|event| event["variance"].as_f64()).collect();
    assert_eq!(shares.len(), 2, "{events:?}");
    assert!(shares.iter().all(|share| (0.3..1.0).contains(share)), "{shares:?}");
    assert!(bytes(&folder, "text") == bytes(&folder, "json"));
    let about = about(&folder, "json");
    assert_eq!((&about["dimension"], &about["encoder"]["dimension"]), (&6.into(), &6.into()));
    assert_eq!(about["training"]["variance"].as_f64(), shares.last().copied());
    let tensors = about["tensors"].as_array().unwrap();
    let tensor = tensors.iter().find(|tensor| tensor["name"] == "shared.projection").unwrap();
    assert_eq!((&tensor["rows"], &tensor["columns"]), (&16.into(), &6.into()));
    folder.run(&["inspect", "json"]).code(0).prints("training.variance  ").prints("encoder.dimension  ");
    // Without it nothing is said of variance.
    let events = train(&folder, "all", &["--set", "encoder.members=2", "--set", "encoder.cells=8", "--json"])
        .code(0)
        .json_lines();
    assert!(events.iter().all(|event| event.get("variance").is_none()));
}

#[test]
fn what_reads_a_model_reads_the_projection() {
    let folder = with_projected();
    let embed = ["embed", "model.safetensors", "--side=title", "titles.tsv"];
    let lines = folder.run(&embed).code(0).json_lines();
    assert!(lines.iter().all(|line| line["vector"].as_array().unwrap().len() == 6));
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop"]).code(0);
    let run = folder.run(&["search", "shop", "--mode=vectors", "--json", "-k", "3", "red hammer"]).code(0);
    let found = run.json_lines()[0]["results"].clone();
    let best = found[0]["title"].as_str().unwrap();
    let explain = ["explain", "match", "model.safetensors", "red hammer", best];
    let explained = folder.run(&[&explain[..], &["--json"]].concat()).code(0).json_lines()[0]["models"][0].clone();
    assert_eq!(explained["score"], found[0]["score"]);
    assert_eq!(explained["units"].as_array().unwrap().len(), 6);
    let pairs = explained["pairs"].as_array().unwrap();
    let sum: f64 = pairs.iter().map(|pair| pair["share"].as_f64().unwrap()).sum();
    assert!(!pairs.is_empty() && (sum - explained["score"].as_f64().unwrap()).abs() < 1e-5, "{pairs:?}");
    // A dimension of the projection is no cell.
    let text = folder.run(&[&explain[..], &["--html=page.html"]].concat()).code(0).stdout();
    assert!(text.contains("\ndimension  ") && !text.contains("\ncell "), "{text}");
    assert!(folder.read("page.html").contains("of 6 dimensions add up to"));
    folder.run(&["evaluate", "--judged=judged.tsv", "model.safetensors"]).code(0).prints("model");
    let export = ["export", "model.safetensors", "--json", "--output=onnx", "--to=onnx"];
    assert_eq!(folder.run(&export).code(0).json_lines()[0]["dimension"], 6);
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop.index"]).code(0);
    let export = ["export", "shop.index", "--json", "--output=copy", "--to=pgvector"];
    assert_eq!(folder.run(&export).code(0).json_lines()[0]["dimension"], 6);
    folder.write(
        "spec.toml",
        DATA.to_owned()
            + &row(
                "a",
                "train = { encoder = { kind = \"members\", members = 2, cells = 8, dimension = 6 }, epochs = 1 }",
            ),
    );
    folder.run(&["lab", "table", "spec.toml"]).code(0);
}

#[test]
fn threads_change_no_byte_and_a_finished_run_is_known() {
    let folder = Folder::with_data();
    for threads in ["1", "2"] {
        train(&folder, threads, &[&SIZES[..], &["--threads", threads]].concat()).code(0);
    }
    assert!(bytes(&folder, "1") == bytes(&folder, "2"));
    train(&folder, "1", &[&SIZES[..], &["--resume"]].concat()).code(0).says("finished before");
    let other = ["--set", "encoder.members=2", "--set", "encoder.cells=8", "--set", "encoder.dimension=5", "--resume"];
    train(&folder, "1", &other).code(2).says("(encoder.dimension 6), found encoder.dimension 5;");
}

#[test]
fn an_initial_model_gives_the_size_unless_it_is_given() {
    let folder = with_projected();
    let dimension = |more: &[&str]| {
        let init = ["--set", "encoder.cells=8", "--init=model.safetensors"];
        train(&folder, "next", &[&init[..], more].concat()).code(0);
        about(&folder, "next")["dimension"].clone()
    };
    assert_eq!(
        [dimension(&[]), dimension(&["--set", "encoder.dimension=4"]), dimension(&["--set", "encoder.dimension=16"])],
        [6, 4, 16]
    );
    // The message names the encoder, and not a size that is not on the command line.
    let other = ["--set", "encoder.cells=4", "--init=model.safetensors"];
    train(&folder, "m", &other).code(2).says("cells=4").says("cells=8");
    train(&folder, "m", &["--set", "encoder.cells=8", "--encoder", "lstm", "--init=model.safetensors"])
        .code(2)
        .says("members=2");
    folder.train("one", &[]).code(0);
    train(&folder, "m", &["--set", "encoder.dimension=4", "--init=one"])
        .code(2)
        .says("encoder.dimension: unknown field `dimension`");
    assert!(!folder.path("m").exists());
}

#[test]
fn sizes_that_no_projection_has_are_refused() {
    let folder = Folder::with_data();
    for (pair, expected) in [
        ("encoder.dimension=289", "encoder.dimension: expected two members or more, which have at least 289 numbers"),
        ("encoder.dimension=0", "encoder.dimension: expected 1 or more, found 0"),
        ("encoder.dimension=-1", "encoder.dimension: expected a whole number or `none`, found -1"),
        ("encoder.members=0", "encoder.members: expected a number from 1 to 64, found 0"),
    ] {
        let train = ["train", "--clicks=clicks.tsv", "--output=m", "--encoder=members", "--set", pair];
        folder.run(&train).code(2).says(expected);
    }
    assert!(!folder.path("m").exists());
}
