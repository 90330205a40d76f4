//! `clickvec train` on titles, starting from a model's weights, and on changed queries.

use crate::harness::{Folder, SMALL};

const TITLES: [&str; 6] = ["--titles", "titles.tsv", "--set", "titles.epochs=2", "--set", "titles.batch_size=32"];

fn train(folder: &Folder, output: &str, more: &[&str]) -> crate::harness::Run {
    folder.run(&[&["train", "--output", output], &SMALL[..], more].concat())
}

/// Without the settings of clicks.
fn train_on_titles(folder: &Folder, output: &str, more: &[&str]) -> crate::harness::Run {
    folder.run(&[&["train", "--output", output, "--set", "encoder.cells=8", "--set", "seed=7"], more].concat())
}

#[test]
fn titles_alone_become_a_model_that_searches() {
    let folder = Folder::with_data();
    let run = train_on_titles(&folder, "cold.safetensors", &TITLES).code(0).prints_nothing();
    let lines = run.stderr();
    for line in ["titles.tsv: ", "titles, epoch 1/2  loss ", "titles, epoch 2/2  loss ", "weights of epoch 2"] {
        assert!(lines.contains(line), "{line}: {lines}");
    }
    assert!(!lines.contains("clicks"), "{lines}");
    folder.index("cold.safetensors", "titles.tsv").code(0);
    folder.run(&["search", "shop.index", "red lamp"]).code(0);
    folder.run(&["inspect", "cold.safetensors"]).code(0).prints("titles.batch_size").prints("log.titles.titles");
}

#[test]
fn titles_then_clicks_in_one_command_and_yesterday_then_today_in_two() {
    let folder = Folder::with_data();
    let both = [&TITLES[..], &["--clicks", "clicks.tsv", "--set", "augment.misspell=0.1", "--json"]].concat();
    let events = train(&folder, "both.safetensors", &both).code(0).json_lines();
    let epochs = events.iter().filter(|event| event["event"] == "epoch");
    let epochs: Vec<String> = epochs.map(|event| format!("{} {}", event["section"], event["epoch"])).collect();
    assert_eq!(epochs, [r#""titles" 1"#, r#""titles" 2"#, r#""clicks" 1"#, r#""clicks" 2"#, r#""clicks" 3"#]);
    let told = &both[..both.len() - 1];
    train(&folder, "told.safetensors", told).code(0).says("weights of epoch 3 of the clicks");
    let today = ["--clicks", "clicks.tsv", "--init", "both.safetensors", "--json"];
    let events = train(&folder, "today.safetensors", &today).code(0).json_lines();
    assert_eq!(events.last().unwrap()["event"], "done");
    let fingerprint = |name: &str| folder.run(&["inspect", name, "--json"]).code(0).json_lines()[0].clone();
    assert_eq!(fingerprint("today.safetensors")["training"]["init"], fingerprint("both.safetensors")["fingerprint"]);
}

#[test]
fn whole_words_are_features_too() {
    let folder = Folder::with_data();
    let words = |more: &[&'static str], threads| {
        let flags = ["--clicks", "clicks.tsv", "--set", "word_count=2", "--threads", threads];
        [&flags[..], more].concat()
    };
    let run = train(&folder, "words.safetensors", &words(&[], "1")).code(0);
    assert!(run.stderr().contains(" whole words, "), "{}", run.stderr());
    let events = train(&folder, "again.safetensors", &words(&["--json"], "2")).code(0).json_lines();
    let count = events[0]["words"].as_u64().expect("a number of words");
    assert!(count > 5, "{count}");
    let bytes = |name| std::fs::read(folder.path(name)).expect("a model");
    assert!(bytes("words.safetensors") == bytes("again.safetensors"), "the same bytes at any number of threads");
    let inspected = folder.run(&["inspect", "words.safetensors", "--json"]).code(0).json_lines()[0].clone();
    assert_eq!(inspected["words"], count);
    assert_eq!(inspected["training"]["config"]["word_count"], 2);
    folder.run(&["inspect", "words.safetensors"]).code(0).prints("words  ");
    folder.index("words.safetensors", "titles.tsv").code(0);
    folder.run(&["search", "shop.index", "red lamp"]).code(0);
    // The words of an initial model stay, and the next training knows it.
    let init = ["--clicks", "clicks.tsv", "--init", "words.safetensors"];
    train(&folder, "next.safetensors", &init).code(0);
    let inspected = folder.run(&["inspect", "next.safetensors", "--json"]).code(0).json_lines()[0].clone();
    assert_eq!((&inspected["words"], &inspected["training"]["config"]["word_count"]), (&count.into(), &2.into()));
    train(&folder, "m", &[&init[..], &["--set", "word_count=none"]].concat())
        .code(2)
        .says("word_count: expected whole words as features, which the initial model has, found none");
    for wrong in ["0", "-1", "often"] {
        let pair = format!("word_count={wrong}");
        train(&folder, "m", &["--clicks", "clicks.tsv", "--set", &pair]).code(2).says("word_count: ");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::with_model();
    let model = "model.safetensors";
    train(&folder, "m", &["--clicks", "clicks.tsv", "--set", "titles.epochs=2"])
        .code(2)
        .says("titles.epochs: expected titles");
    train(&folder, "m", &[]).code(2).says("--clicks");
    let views = ["--clicks", "clicks.tsv", "--set"];
    train(&folder, "m", &[&views[..], &["augment.drop=2"]].concat())
        .code(2)
        .says("augment.drop: expected a number from 0 to 1");
    train(&folder, "m", &[&views[..], &["augment.typo=0.1"]].concat())
        .code(2)
        .says("augment.typo: unknown field `typo`");
    train(&folder, model, &["--clicks", "clicks.tsv", "--init", model]).code(2);
    let other = ["train", "--output", "m", "--set", "encoder.cells=5", "--clicks", "clicks.tsv", "--init", model];
    folder.run(&other).code(2).says("cells=5").says("cells=8");
    folder.write("none.tsv", "id\ttitle\n");
    train_on_titles(&folder, "m", &["--titles", "none.tsv"]).code(2).says("none.tsv: expected titles");
    assert!(!folder.path("m").exists());
}

#[test]
fn what_only_clicks_need_is_refused_for_titles_alone() {
    let folder = Folder::with_data();
    for (flag, value, name) in [
        ("--epochs", "3", "epochs"),
        ("--set", "batch_size=32", "batch_size"),
        ("--set", "loss.gamma=9", "loss.gamma"),
        ("--set", "learning_rate=0.1", "learning_rate"),
        ("--set", "augment.drop=0.1", "augment.drop"),
        ("--set", "weighting=linear", "weighting"),
        ("--set", "titles.among_clicks=2", "titles.among_clicks"),
    ] {
        let said = format!("{name}: expected clicks, on which it acts, found titles alone");
        train_on_titles(&folder, "m", &[&TITLES[..], &[flag, value]].concat()).code(2).says(&said).prints_nothing();
        let clicks = ["--clicks", "clicks.tsv", "--encoder", "lstm", flag, value];
        train_on_titles(&folder, "both", &[&TITLES[..], &clicks].concat()).code(0);
    }
    assert!(!folder.path("m").exists());
}
