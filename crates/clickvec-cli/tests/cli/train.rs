//! `clickvec train`.

use crate::harness::{Folder, SMALL};

#[test]
fn a_log_becomes_a_model() {
    let folder = Folder::with_data();
    let run = folder.train("m.safetensors", &[]).code(0).prints_nothing();
    let lines = run.stderr();
    assert!(lines.contains("lstm, 8 cells") && lines.contains("144 pairs"), "{lines}");
    for epoch in 1..=3 {
        assert!(lines.contains(&format!("epoch {epoch}/3  loss ")), "{lines}");
    }
    assert!(!lines.contains('\u{1b}') && !lines.contains('\r'), "a bar in a pipe:\n{lines}");
    assert!(lines.contains("m.safetensors: written"), "{lines}");
    folder.run(&["inspect", "m.safetensors"]).code(0);
}

#[test]
fn every_encoder_trains() {
    let folder = Folder::with_data();
    let encoders: [&[&str]; 12] = [
        &["--set", "encoder.cells=6", "--set", "encoder.forget_gate=true", "--set", "encoder.peephole=full"],
        &["--encoder", "bilstm", "--set", "encoder.cells=6", "--set", "encoder.peephole=diagonal"],
        &["--encoder", "rnn", "--set", "encoder.hidden=8", "--set", "bptt.words=2"],
        &["--encoder", "gru", "--set", "encoder.cells=8", "--set", "bptt.words=2"],
        &["--encoder", "clsm", "--set", "encoder.convolution=8", "--set", "encoder.bias=false"],
        &["--encoder", "clsm", "--set", "encoder.hidden=7,6", "--set", "encoder.window=1"],
        &["--encoder", "dssm", "--set", "encoder.layers=8,6"],
        &["--encoder", "dssm", "--set", "encoder.layers=8"],
        &["--set", "encoder.cells=6", "--set", "bptt.signals=per-gate", "--set", "bptt.words=2"],
        &["--encoder", "members", "--set", "encoder.cells=6", "--set", "encoder.members=2"],
        &["--encoder", "stacked", "--set", "encoder.layers=6,5", "--set", "encoder.peephole=full"],
        &["--preset", "clsm", "--set", "encoder.convolution=8", "--set", "encoder.semantic=5"],
    ];
    for encoder in encoders {
        let arguments = ["train", "--clicks", "clicks.tsv", "--output", "m.safetensors", "--epochs", "1"];
        folder.run(&[&arguments, encoder].concat()).code(0);
        folder.run(&["inspect", "m.safetensors"]).code(0);
    }
}

#[test]
fn presets_have_the_names_of_the_papers() {
    let folder = Folder::with_data();
    let settings = |preset: &[&str]| {
        let arguments =
            ["train", "--clicks", "clicks.tsv", "--output", "m.safetensors", "--epochs", "1", "--set", "seed=7"];
        folder.run(&[&arguments, preset].concat()).code(0);
        let [inspected] = folder.run(&["inspect", "m.safetensors", "--json"]).code(0).json_lines().try_into().unwrap();
        (inspected["training"]["config"].clone(), inspected["fingerprint"].clone())
    };
    let (lstm, fingerprint) = settings(&["--preset", "lstm-dssm"]);
    assert_eq!(settings(&["--preset", "lstm-dssm"]).1, fingerprint);
    let same: [(&str, serde_json::Value); 3] =
        [("shared_towers", false.into()), ("batch_size", 1024.into()), ("weighting", "binary".into())];
    for (name, value) in same.iter().chain(&[("optimizer", "nesterov".into()), ("clip_norm", 10.0.into())]) {
        assert_eq!(&lstm[name], value, "{name}");
    }
    assert_eq!((&lstm["encoder"]["kind"], &lstm["negatives"]), (&"lstm".into(), &4.into()), "{lstm}");
    assert_eq!(lstm["text"]["tokens"], "spaces", "{lstm}");
    let (clsm, _) = settings(&["--preset", "clsm"]);
    for (name, value) in same.iter().chain(&[("optimizer", "sgd".into()), ("clip_norm", "none".into())]) {
        assert_eq!(&clsm[name], value, "{name}");
    }
    let sizes = serde_json::json!({"kind": "clsm", "window": 3, "convolution": 300, "hidden": [], "semantic": 128, "bias": false});
    assert_eq!((&clsm["encoder"], &clsm["negatives"]), (&sizes, &4.into()), "{clsm}");
    assert_eq!(clsm["text"]["tokens"], "spaces-without-punctuation", "{clsm}");
    let (other, _) = settings(&["--preset", "clsm", "--encoder", "dssm", "--set", "weighting=linear"]);
    assert_eq!((&other["encoder"]["kind"], &other["weighting"]), (&"dssm".into(), &"linear".into()));
}

/// Whatever the columns weight and count say, each pair is one click.
#[test]
fn each_pair_can_be_one_click() {
    let folder = Folder::with_data();
    let clicks = folder.read("clicks.tsv");
    let columns = |folder: &Folder, count: &dyn Fn(usize) -> usize| {
        let rows = clicks.lines().skip(1).enumerate();
        let rows: String = rows.map(|(i, row)| format!("{row}\t{}\t{}\n", count(i), 0.5 + i as f32)).collect();
        folder.write("counted.tsv", format!("query\ttitle\tcount\tweight\n{rows}"));
    };
    let trained = |log: &str, more: &[&str]| {
        let arguments =
            ["train", "--clicks", log, "--output", "m.safetensors", "--set", "encoder.cells=6", "--epochs", "1"];
        folder.run(&[&arguments, more].concat()).code(0);
        let model = clickvec::model::Model::load(&folder.path("m.safetensors")).unwrap();
        model.embedder(clickvec::model::Side::Query).embed(&["red hammer"])
    };
    let plain = trained("clicks.tsv", &["--set", "weighting=binary"]);
    columns(&folder, &|i| i + 1);
    assert_eq!(trained("counted.tsv", &["--set", "weighting=binary"]), plain);
    assert_ne!(trained("counted.tsv", &["--set", "weighting=log"]), plain);
    assert_ne!(trained("counted.tsv", &["--set", "weighting=none"]), plain, "weight counts");
    columns(&folder, &|i| i % 2);
    assert_ne!(trained("counted.tsv", &["--set", "weighting=binary"]), plain, "a count of 0 is no click");
}

#[test]
fn json_has_one_event_a_line() {
    let folder = Folder::with_data();
    let run = folder.train("m.safetensors", &["--json", "--validation", "judged.tsv"]).code(0);
    let events = run.json_lines();
    let epochs: Vec<_> = events.iter().filter(|event| event["event"] == "epoch").collect();
    assert_eq!(epochs.len(), 3);
    for (number, epoch) in (1..).zip(epochs) {
        assert_eq!(epoch["epoch"], number);
        for name in ["loss", "pairs_per_second", "seconds"] {
            assert!(epoch[name].is_number(), "{epoch}");
        }
        for name in ["ndcg@1", "ndcg@3", "ndcg@10"] {
            assert!((0.0..=1.000001).contains(&epoch["validation"][name].as_f64().unwrap()), "{epoch}");
        }
    }
    let done = events.last().unwrap();
    assert_eq!((&done["event"], &done["model"]), (&"done".into(), &"m.safetensors".into()));
    let inspected = folder.run(&["inspect", "m.safetensors", "--json"]).code(0).json_lines();
    assert_eq!(inspected[0]["fingerprint"], done["fingerprint"]);
}

#[test]
fn same_seed_same_bytes_at_any_thread_count() {
    let folder = Folder::with_data();
    folder.train("one.safetensors", &["--threads", "1"]).code(0);
    folder.train("three.safetensors", &["--threads", "3"]).code(0);
    let bytes = |name| std::fs::read(folder.path(name)).unwrap();
    assert!(bytes("one.safetensors") == bytes("three.safetensors"));
}

#[test]
fn a_finished_run_resumes_to_the_same_model() {
    let folder = Folder::with_data();
    folder.train("m.safetensors", &["--checkpoint-every", "2"]).code(0);
    let model = std::fs::read(folder.path("m.safetensors")).unwrap();
    folder.train("m.safetensors", &["--checkpoint-every", "2", "--resume"]).code(0);
    assert!(std::fs::read(folder.path("m.safetensors")).unwrap() == model);
}

#[test]
fn noise_contrastive_estimation_is_a_loss() {
    let folder = Folder::with_data();
    let bytes = |name| std::fs::read(folder.path(name)).unwrap();
    folder.train("plain", &[]).code(0);
    folder.train("softmax", &["--set", "loss.kind=softmax"]).code(0);
    assert!(bytes("plain") == bytes("softmax"));
    folder.train("nce", &["--set", "loss.kind=nce"]).code(0);
    assert!(bytes("plain") != bytes("nce"));
    folder.train("again", &["--set", "loss.kind=nce", "--threads", "2"]).code(0);
    assert!(bytes("again") == bytes("nce"));
    for (model, loss) in [("plain", "softmax"), ("nce", "nce")] {
        let report = &folder.run(&["inspect", model, "--json"]).code(0).json_lines()[0];
        assert_eq!(report["training"]["config"]["loss"]["kind"], loss);
    }
    folder.train("nce", &["--resume"]).code(2).says("the run to resume (loss.kind nce), found loss.kind softmax");
    folder.train("nce", &["--resume", "--set", "loss.kind=nce"]).code(0);
    folder.train("after", &["--set", "loss.kind=nce", "--init", "plain"]).code(0);
    // Titles are learnt by the same loss, before the clicks and alone.
    let titles = ["--set", "loss.kind=nce", "--titles", "titles.tsv", "--set", "titles.epochs=1", "--encoder", "lstm"];
    folder.train("titles", &titles).code(0);
    folder.run(&[&["train", "--output", "alone", "--set", "encoder.cells=8"], &titles[..]].concat()).code(0);
    folder.write("t.tsv", "query\ttitle\tscore\nred hammer\thammer in red, 10 in.\t1\nred hammer\tladder\t0\n");
    let taught = folder.train("no", &["--set", "loss.kind=nce", "--teacher", "t.tsv"]).code(2);
    taught.says("loss.kind: expected softmax with a teacher, which compares titles with each other, found nce");
    folder
        .train("no", &["--set", "loss.kind=hinge"])
        .code(2)
        .says("loss.kind: unknown variant `hinge`, expected `softmax` or `nce`");
    assert!(!folder.path("no").exists());
}

#[test]
fn numbers_are_checked() {
    let folder = Folder::with_data();
    for (option, name) in [
        ("--set=negatives=0", "negatives: "),
        ("--set=negatives=some", "negatives: "),
        ("--set=loss.gamma=0", "loss.gamma: "),
        ("--set=loss.gamma=nan", "loss.gamma: "),
        ("--set=learning_rate=-1", "learning_rate: "),
        ("--set=clip_norm=inf", "clip_norm: "),
        ("--set=init_range=wide", "init_range: "),
        ("--set=max_words=0", "max_words: "),
        ("--checkpoint-every=0", "--checkpoint-every"),
    ] {
        folder.train("m.safetensors", &[option]).code(2).says(name);
    }
    assert!(!folder.path("m.safetensors").exists());
}

#[test]
fn text_beyond_the_limit_is_cut_or_becomes_one_word() {
    let folder = Folder::with_data();
    let train = |name: &str, more: &[&str]| folder.train(name, &[&["--set", "max_words=3"], more].concat());
    train("cut.safetensors", &[]).code(0).says(" to max_words words");
    train("same.safetensors", &["--set", "tail=cut"]).code(0);
    train("merged.safetensors", &["--set", "tail=merge"])
        .code(0)
        .says(" longer than max_words, with the rest as one word");
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(
        bytes("cut.safetensors") == bytes("same.safetensors")
            && bytes("cut.safetensors") != bytes("merged.safetensors")
    );
    folder.run(&["inspect", "cut.safetensors", "--json"]).code(0).prints("\"tail\":\"cut\"");
    folder.run(&["inspect", "merged.safetensors"]).code(0).prints("tail").prints("merge");
    train("merged.safetensors", &["--resume"]).code(2).says("the run to resume (tail merge), found tail cut");
    train("m.safetensors", &["--set", "tail=glue"])
        .code(2)
        .says("tail: unknown variant `glue`, expected `cut` or `merge`");

    // The words of a tail have no order, and all of them count.
    let vector = |model: &str, text: &str| {
        let run = folder.run_with(&["embed", model, "--side", "title"], format!("{text}\n")).code(0);
        run.json_lines()[0]["vector"].clone()
    };
    let merged = |text: &str| vector("merged.safetensors", text);
    assert_eq!(merged("red hammer blue shelf paint"), merged("red hammer paint blue shelf"));
    assert_ne!(merged("red hammer blue shelf paint"), merged("red hammer blue shelf"));
    let cut = |text: &str| vector("cut.safetensors", text);
    assert_eq!(cut("red hammer blue shelf paint"), cut("red hammer blue shelf"));
}

#[test]
fn the_log_is_never_overwritten() {
    let folder = Folder::with_data();
    let before = folder.read("clicks.tsv");
    folder.train("clicks.tsv", &[]).code(2).says("expected an output");
    assert_eq!(folder.read("clicks.tsv"), before);
}

#[test]
fn broken_lines_are_skipped_and_told() {
    let folder = Folder::with_data();
    let log = folder.read("clicks.tsv") + "only a query\n";
    folder.write("clicks.tsv", log);
    folder
        .train("m.safetensors", &[])
        .code(0)
        .says("clicks.tsv: skipped 1 broken line:")
        .says("clicks.tsv:146: expected at least 2 columns, found 1");
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = Folder::with_data();
    let arguments = ["train", "--clicks", "clicks.tsv", "--output", "no/m.safetensors"];
    folder.run(&[&arguments, &SMALL[..]].concat()).code(2).says("no");
}

#[test]
fn an_output_replaces_nothing_but_a_model() {
    let folder = Folder::with_data();
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.train("folder", &[]).code(2).says("expected a file, found a folder");
    folder.train("no/model", &[]).code(2).says("expected a folder");
    for name in ["m.partial", "m.checkpoint"] {
        std::fs::copy(folder.path("clicks.tsv"), folder.path(name)).unwrap();
        folder
            .run(&["train", "--clicks", name, "--output", "m", "--set", "encoder.cells=2", "--epochs", "1"])
            .code(2)
            .says("expected an output");
        assert_eq!(folder.read(name), folder.read("clicks.tsv"));
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    #[cfg(unix)]
    {
        let _listening = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
        folder.train("socket", &[]).code(2).says("expected an ordinary file or none");
    }
}

#[test]
fn what_was_shown_and_not_clicked_is_not_learnt() {
    let folder = Folder::with_data();
    folder.train("plain", &[]).code(0);
    let clicks = folder.read("clicks.tsv");
    let mut marked = "query\ttitle\tclicked\n".to_owned();
    for line in clicks.lines().skip(1) {
        let (query, _) = line.split_once('\t').unwrap();
        marked.push_str(&format!("{line}\t1\n{query}\tsomething else\t0\n"));
    }
    folder.write("clicks.tsv", marked);
    folder.train("marked", &[]).code(0).says("clicks.tsv: left out 144 rows of titles that were shown and not clicked");
    let vectors = |model| folder.run_with(&["embed", model, "--side", "title"], "red hammer\n").stdout();
    assert_eq!(vectors("plain"), vectors("marked"));
    folder.write("clicks.tsv", "query\ttitle\tclicked\na\tb\t0\n");
    folder.train("none", &[]).code(2).says("0 had a side without words, 1 was shown and not clicked");
}

#[test]
fn a_log_of_mostly_broken_lines_is_no_success() {
    let folder = Folder::with_data();
    let clicks = folder.read("clicks.tsv");
    folder.write("clicks.tsv", format!("{clicks}{}", "broken\n".repeat(145)));
    folder.train("m", &[]).code(1).says("warning: clicks.tsv: most lines were left out, 145 of 289");
    let titles = folder.read("titles.tsv");
    folder.write("broken.tsv", titles.clone() + &"one field\n".repeat(2 * titles.lines().count()));
    let only = [
        "train",
        "--titles",
        "broken.tsv",
        "--output",
        "t",
        "--encoder=dssm",
        "--set",
        "encoder.layers=8",
        "--set",
        "titles.epochs=1",
    ];
    folder.run(&only).code(1).says("warning: broken.tsv: most lines were left out, ");
    assert!(folder.path("m").exists());
    folder.write("clicks.tsv", format!("{clicks}{}", "broken\n".repeat(144)));
    folder.train("m", &[]).code(0);
}
