//! `clickvec train`: options that contradict each other or the log, and what is said of them.

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
    let few = |flag: &str| {
        format!("`{flag}` needs 100 held-out queries or more, and a share of 0.1 of 48 queries is fewer; ")
    };
    let loss = few("--keep loss") + "leave `--keep loss` out, or learn from more clicks";
    refused(&folder, &["--keep", "loss"]).says(&loss);
    refused(&folder, &["--keep", "loss", "--preset", "lstm-dssm"]).says(&loss);
    refused(&folder, &["--keep", "loss", "--held-out", "0.3"]).says("and a share of 0.3 of 48 queries is fewer; leave");
    refused(&folder, &["--keep", "best"])
        .says(&(few("--keep best") + "give `--validation FILE` or leave `--keep best` out"));
    refused(&folder, &["--patience", "1"])
        .says(&(few("--patience") + "give `--validation FILE` or leave `--patience` out"));
    refused(&folder, &["--patience", "1", "--json"]).says(&few("--patience"));
    // What there was stays.
    folder.train("kept", &[]).code(0);
    let before = std::fs::read(folder.path("kept")).unwrap();
    folder.train("kept", &["--keep", "loss"]).code(2).says(&loss);
    folder.train("kept", &["--keep", "loss", "--resume"]).code(2);
    assert!(std::fs::read(folder.path("kept")).unwrap() == before);
    // A larger share is enough, and is named.
    folder.write("clicks.tsv", many_queries(480));
    refused(&folder, &["--keep", "loss", "--cells", "4"]).says("give `--held-out 0.21` or leave `--keep loss` out");
    let enough = ["--keep", "loss", "--held-out", "0.21"];
    folder.train("m", &enough).code(0).says("held out: 100 of 480 queries");
}

#[cfg(unix)]
#[test]
fn what_needs_held_out_queries_is_refused_in_a_pipe_too() {
    let folder = Folder::with_data();
    let run = [&["train", "--clicks=/dev/stdin", "--output=m", "--keep=loss"], &SMALL[..]].concat();
    folder.run_with(&run, folder.read("clicks.tsv")).code(2).says("`--keep loss` needs 100 held-out queries or more");
    assert!(!folder.path("m").exists());
}

#[test]
fn what_judges_epochs_is_named_as_far_as_it_would_be_taken() {
    let folder = Folder::with_data();
    let loss = "`--keep loss` is about clicked pairs that are held out, and ";
    let of = |more: &[&str], rest: &str| {
        refused(&folder, more).says(&format!("{loss}{rest}"));
    };
    of(&["--keep=loss", "--held-out=0"], "`--held-out 0` holds none out; leave one of the two out");
    of(
        &["--keep=loss", "--validation=judged.tsv"],
        "`--validation` keeps the best epoch itself; leave one of the two out",
    );
    let titles = ["train", "--titles=titles.tsv", "--output=m"];
    let titles = |more: &str| folder.run(&[&titles[..], &[more]].concat()).code(2).stderr();
    assert!(
        titles("--keep=loss").contains(&format!("{loss}there is no click log; add `--clicks FILE` or leave it out"))
    );
    for (option, asks) in [("--keep=best", "`--keep best` needs"), ("--patience=1", "`--patience` needs")] {
        let said = titles(option);
        assert!(said.contains(asks) && said.trim_end().ends_with("; add `--validation FILE`"), "{said}");
    }
    // Nor does a table name what it refuses.
    let table = |train: &str| {
        folder.write("spec.toml", DATA.to_owned() + &row("a", &format!("train = \"{train}\"")));
        folder.run(&["table", "spec.toml"]).code(2).stderr()
    };
    for train in ["--keep loss", "--keep loss --validation judged.tsv"] {
        let said = table(train);
        assert!(said.contains(
            "found `--keep loss` that a table does not take; train that model first and name it with `model`"
        ));
        assert!(!said.contains("--held-out"), "{said}");
    }
    for train in ["--keep best", "--patience 2"] {
        let said = table(train);
        assert!(said.trim_end().ends_with("; add `--validation FILE`"), "{said}");
    }
}

#[test]
fn flags_of_other_encoders_are_refused_for_every_encoder() {
    let folder = Folder::with_data();
    for more in [&["--forget-gate"][..], &["--peephole", "diagonal"], &["--members", "2"], &["--layers", "2"]] {
        let message = format!("`{}` belongs to --encoder lstm", more[0]);
        for encoder in ["gru", "rnn", "clsm"] {
            refused(&folder, &[&["--encoder", encoder], more].concat()).says(&message);
        }
    }
    let stacked = "`--bptt per-gate` belongs to --encoder lstm, bilstm with one layer; found an lstm with 2 layers";
    refused(&folder, &["--layers", "2", "--bptt", "per-gate"]).says(stacked);
    refused(&folder, &["--encoder=lstm", "--cells=9,8", "--bptt=per-gate"]).says(stacked);
}

/// Nobody is told to leave out what they did not type.
#[test]
fn an_encoder_that_nobody_typed_is_said_to_be_the_presets_or_the_default() {
    let folder = Folder::with_data();
    let of_preset = |more: &[&str], owners: &str| {
        let run = refused(&folder, &[&["--preset", "clsm"], more].concat());
        assert!(!run.stderr().contains("found --encoder"), "{}", run.stderr());
        run.says(owners).says(&format!("leave `{}` out, or name one of these with `--encoder` too", more[0]));
    };
    of_preset(&["--cells", "9"], "`--cells` belongs to --encoder lstm, bilstm, gru, and `--preset clsm` has a clsm");
    of_preset(&["--forget-gate"], "belongs to --encoder lstm, bilstm, and `--preset clsm` has a clsm");
    let run = refused(&folder, &["--preset", "clsm", "--bptt", "per-gate"]);
    run.says("`--bptt per-gate` belongs to --encoder lstm, bilstm, and `--preset clsm` has a clsm");
    let run = refused(&folder, &["--preset", "clsm", "--precision", "bf16"]);
    run.says("`--precision bf16` belongs to --encoder lstm, bilstm, gru, rnn, and `--preset clsm` has a clsm");
    for typed in [&["--preset", "clsm"][..], &["--encoder", "clsm"]] {
        let layers = "the semantic layers of a clsm go in `--hidden`, such as 300,200,128";
        refused(&folder, &[typed, &["--layers", "2"]].concat()).says(layers);
    }
    for preset in [&["--preset", "lstm-dssm"][..], &[]] {
        for flag in ["--no-bias", "--window=3"] {
            let name = flag.trim_end_matches("=3");
            let message = format!(
                "`{name}` belongs to --encoder clsm, and without `--encoder` it is an lstm: add `--encoder clsm` or leave `{name}` out"
            );
            refused(&folder, &[preset, &[flag]].concat()).says(&message);
        }
    }
    refused(&folder, &["--hidden", "9"])
        .says("without `--encoder` it is an lstm: add one of these or leave `--hidden` out");
    // A preset goes with another encoder and its flags.
    let gru = ["--preset=clsm", "--encoder=gru", "--cells=4", "--bptt-words=2", "--epochs=1"];
    folder.run(&[&["train", "--clicks=clicks.tsv", "--output=m"], &gru[..]].concat()).code(0);
}

#[test]
fn a_change_with_two_probabilities_is_refused() {
    let folder = Folder::with_data();
    for flag in ["--augment", "--title-views"] {
        let twice =
            ["train", "--clicks=clicks.tsv", "--titles=titles.tsv", "--output=m", flag, "drop=0.1,swap=0.1, drop=0.9"];
        folder.run(&twice).code(2).says("expected each change once, found `drop` again").prints_nothing();
    }
    assert!(!folder.path("m").exists());
}

#[test]
fn a_switch_takes_its_value_with_or_without_an_equals_sign() {
    let folder = Folder::with_data();
    let train = |name: &str, more: &[&str]| {
        folder.train(name, more).code(0);
        std::fs::read(folder.path(name)).unwrap()
    };
    let two = train("two", &["--shared-towers", "false"]);
    assert!(two == train("same", &["--shared-towers=false"]) && two != train("one", &["--shared-towers"]));
    let clsm = ["train", "--clicks=clicks.tsv", "--output=c", "--encoder=clsm", "--hidden=4,4", "--epochs=1"];
    folder.run(&[&clsm[..], &["--no-bias", "false"]].concat()).code(0);
    folder.run(&[&clsm[..], &["--no-bias", "perhaps"]].concat()).code(2).says("[possible values: true, false]");
}

/// What the initial model has already, no option can set.
#[test]
fn what_the_initial_model_has_is_not_set_anew() {
    let folder = Folder::with_data();
    folder.train("first", &[]).code(0);
    for (option, message) in [
        ("--init-range=0.5", "`--init-range` is about new weights, and those of `--init` are used"),
        ("--max-trigrams=3", "expected `--max-trigrams` of "),
    ] {
        refused(&folder, &["--init=first", "--cells=8", "--held-out=0", option]).says(message);
    }
}

#[test]
fn sizes_of_layers_are_one_list() {
    let folder = Folder::with_data();
    refused(&folder, &["--cells=8", "--cells=4"]).says("cannot be used multiple times");
    refused(&folder, &["--encoder=dssm", "--hidden=8", "--hidden=4"]).says("cannot be used multiple times");
    // A value of a grid is no further layer either.
    folder.write("spec.toml", format!("{DATA}{}grid = {{ cells = [4] }}\n", row("a", "train = \"--cells 8\"")));
    folder.run(&["table", "spec.toml"]).code(2).says("cannot be used multiple times");
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
    let run =
        folder.run(&["train", "--clicks", "many.tsv", "--cells", "4", "--epochs", "1", "--output", "pipe"]).code(2);
    assert!(!run.stderr().contains("epoch"), "{}", run.stderr());
    assert!(!folder.path("pipe.held-out").exists());
}
