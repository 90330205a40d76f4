//! `clickvec train`: settings that contradict each other or the log.

use crate::harness::{DATA, Folder, Run, SMALL, row};
use crate::held_out::many_queries;

fn refused(folder: &Folder, more: &[&str]) -> Run {
    let run = folder.run(&[&["train", "--clicks=clicks.tsv", "--output=m", "--epochs=1"], more].concat());
    assert!(!folder.path("m").exists() && !folder.path("m.held-out").exists(), "{more:?}");
    run.code(2)
}

#[test]
fn what_needs_held_out_queries_is_refused_where_there_are_too_few() {
    let folder = Folder::with_data();
    let few = |name: &str| {
        format!(
            "{name}: expected 100 held-out queries or more, by which it judges epochs, found a share of 0.1 of 48 queries"
        )
    };
    refused(&folder, &["--set", "keep=loss"]).says(&few("keep"));
    refused(&folder, &["--set", "keep=loss", "--preset", "lstm-dssm"]).says(&few("keep"));
    refused(&folder, &["--set", "patience=1", "--json"]).says(&few("patience"));
    // What there was stays.
    folder.train("kept", &[]).code(0);
    let before = std::fs::read(folder.path("kept")).unwrap();
    folder.train("kept", &["--set", "keep=loss"]).code(2).says(&few("keep"));
    folder.train("kept", &["--set", "keep=loss", "--resume"]).code(2);
    assert!(std::fs::read(folder.path("kept")).unwrap() == before);
    folder.write("clicks.tsv", many_queries(480));
    let enough = ["--set", "keep=loss", "--held-out", "0.21"];
    folder.train("m", &enough).code(0).says("held out for evaluation: 100 of 480 queries");
}

#[cfg(unix)]
#[test]
fn what_needs_held_out_queries_is_refused_in_a_pipe_too() {
    let folder = Folder::with_data();
    let run = [&["train", "--clicks=/dev/stdin", "--output=m", "--set", "keep=loss"], &SMALL[..]].concat();
    folder.run_with(&run, folder.read("clicks.tsv")).code(2).says("keep: expected 100 held-out queries or more");
    assert!(!folder.path("m").exists());
}

#[test]
fn settings_that_cannot_act_are_refused_by_name() {
    let folder = Folder::with_data();
    folder.train("init", &[]).code(0);
    let cases: [(&[&str], &str); 16] = [
        (
            &["--set", "keep=loss", "--held-out=0"],
            "keep: expected held-out queries, whose loss decides, found held_out=0",
        ),
        (&["--set", "keep=best", "--held-out=0"], "keep: expected a validation set or held-out queries"),
        (&["--set", "patience=2", "--held-out=0"], "patience: expected a validation set or held-out queries"),
        (&["--set", "keep=loss", "--validation=judged.tsv"], "keep: expected held-out queries"),
        (
            &["--held-out=0.1", "--validation=judged.tsv"],
            "held_out: expected either held-out queries or a validation set",
        ),
        (&["--held-out=0.6"], "held_out: expected a number from 0 to 0.5, found 0.6"),
        (
            &["--encoder=gru", "--set", "encoder.forget_gate=true"],
            "encoder.forget_gate: unknown field `forget_gate`, expected `cells`",
        ),
        (&["--encoder=clsm", "--set", "encoder.window=4"], "encoder.window: expected an odd number of words"),
        (
            &["--encoder=dssm", "--set", "encoder.layers=9,0"],
            "encoder.layers: expected 1 to 16 numbers from 1 to 16384, found 9,0",
        ),
        (&["--encoder=rnn", "--set", "bptt.signals=per-gate"], "bptt.signals: expected an LSTM for per-gate"),
        (
            &["--encoder=clsm", "--set", "bptt.words=2"],
            "bptt.words: expected a recurrent encoder, found encoder.kind=clsm",
        ),
        (&["--encoder=lsmt"], "encoder.kind: unknown variant `lsmt`, expected one of"),
        (&["--preset=paper"], "preset: unknown variant `paper`, expected `lstm-dssm` or `clsm`"),
        (&["--init=init", "--set", "init_range=0.5"], "init_range: expected new weights"),
        (&["--init=init", "--set", "max_trigrams=3"], "max_trigrams: expected "),
        (&["--set", "gamma=3"], "gamma: unknown field `gamma`, expected one of"),
    ];
    for (more, expected) in cases {
        refused(&folder, more).says(expected).prints_nothing();
    }
    let titles = ["train", "--titles=titles.tsv", "--output=m", "--set", "keep=best"];
    folder.run(&titles).code(2).says("keep: expected a validation set or held-out queries");
}

#[test]
fn settings_come_from_a_file_too_and_options_replace_them() {
    let folder = Folder::with_data();
    folder.write(
        "settings.toml",
        "epochs = 2\nseed = 5\n[encoder]\nkind = \"dssm\"\nlayers = [8, 4]\n[loss]\ngamma = 7\n",
    );
    let train = ["train", "--clicks=clicks.tsv", "--held-out=0"];
    let with = |name: &str, more: &[&str]| {
        folder.run(&[&train[..], &["--output", name], more].concat()).code(0);
        std::fs::read(folder.path(name)).unwrap()
    };
    let file = with("file", &["--settings=settings.toml", "--epochs=1", "--set", "seed=7"]);
    let typed = ["--encoder=dssm", "--set", "encoder.layers=8,4", "--set=loss.gamma=7", "--epochs=1", "--set=seed=7"];
    assert!(file == with("typed", &typed));
    folder.write("settings.toml", "epochs = ");
    refused(&folder, &["--settings=settings.toml"]).says("settings.toml: expected settings in TOML");
}

/// Before the first of two trainings, and without a file next to it.
#[test]
#[cfg(unix)]
fn a_pipe_is_no_place_for_a_model() {
    let folder = Folder::with_data();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    // Enough queries that some are held out.
    let rows = (0..2000).map(|i| format!("query {i}\ttitle {i}\n")).collect::<String>();
    folder.write("many.tsv", format!("query\ttitle\n{rows}"));
    let run = ["train", "--clicks", "many.tsv", "--set", "encoder.cells=4", "--epochs", "1", "--output", "pipe"];
    let run = folder.run(&run).code(2);
    assert!(!run.stderr().contains("epoch"), "{}", run.stderr());
    assert!(!folder.path("pipe.held-out").exists());
}

#[test]
fn a_table_holds_no_queries_out() {
    let folder = Folder::with_data();
    for (train, expected) in [
        ("{ keep = \"loss\" }", "keep: expected held-out queries"),
        ("{ held_out = 0.1 }", "held_out: expected clicks whose queries can be held out"),
        ("{ field = \"body\" }", "expected `field` beside `train`"),
    ] {
        folder.write("spec.toml", DATA.to_owned() + &row("a", &format!("train = {train}")));
        folder.run(&["lab", "table", "spec.toml"]).code(2).says(expected);
    }
}
