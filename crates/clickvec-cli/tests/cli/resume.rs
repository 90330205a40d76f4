//! A run that is killed and resumed makes the same model as an undisturbed run, byte for byte.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Folder, program};

const RUN: [&str; 11] = [
    "train",
    "--clicks",
    "clicks.tsv",
    "--set",
    "encoder.cells=24",
    "--set",
    "batch_size=8",
    "--preset",
    "lstm-dssm",
    "--set",
    "negatives=2",
];

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap()
}

/// Starts a run and kills it. Returns whether it was killed before its end.
fn kill_after(folder: &Folder, arguments: &[&str], time: Duration) -> bool {
    let mut child =
        Command::new(program()).args(arguments).current_dir(folder.path("")).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}

#[test]
fn kills_at_any_moment_change_nothing() {
    let folder = Folder::with_data();
    folder.run(&[&RUN[..], &["--output", "alone"]].concat()).code(0);
    // With a checkpoint after every minibatch, most kills happen while one is written.
    let killed = [&RUN[..], &["--output", "killed", "--checkpoint-every", "1", "--resume"]].concat();
    let mut kills = 0;
    for milliseconds in [5, 20, 35, 50, 65, 80, 95, 110, 150] {
        kills += u32::from(kill_after(&folder, &killed, Duration::from_millis(milliseconds)));
    }
    assert!(kills >= 3, "only {kills} kills came before the end");
    folder.run(&killed).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "killed"));
    folder.run(&killed).code(0).says("finished before");
    let names: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains(".checkpoint")), "{names:?}");
}

#[cfg(unix)]
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn a_kill_in_the_middle_of_writing_a_checkpoint_changes_nothing() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = Folder::with_data();
    folder.run(&[&RUN[..], &["--output", "alone"]].concat()).code(0);
    let killed = [&RUN[..], &["--output", "killed", "--checkpoint-every", "1", "--resume"]].concat();
    let written = || std::fs::metadata(folder.path("killed.checkpoint")).map(|file| file.ino()).ok();
    let mut met = 0;
    for moment in 0..20 {
        let before = written();
        let mut child =
            Command::new(program()).args(&killed).current_dir(folder.path("")).stderr(Stdio::null()).spawn().unwrap();
        while written() == before && child.try_wait().unwrap().is_none() {}
        // One checkpoint follows another, so some of these moments are within writing one.
        std::thread::sleep(Duration::from_micros(200 * moment));
        let _ = child.kill();
        met += u32::from(child.wait().unwrap().code().is_none());
    }
    assert!(met >= 3, "only {met} kills came before the end");
    folder.run(&killed).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "killed"));
    let names: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".clickvec-")), "{names:?}");
}

#[test]
fn two_runs_do_not_share_an_output() {
    let folder = Folder::with_data();
    let long = [&RUN[..], &["--output", "m", "--epochs", "20000"]].concat();
    let mut first =
        Command::new(program()).args(&long).current_dir(folder.path("")).stderr(Stdio::null()).spawn().unwrap();
    while !folder.path("m.partial").exists() && first.try_wait().unwrap().is_none() {}
    folder.run(&[&RUN[..], &["--output", "m"]].concat()).code(2).says("another process writes to this output");
    first.kill().unwrap();
    first.wait().unwrap();
    folder.run(&[&RUN[..], &["--output", "m"]].concat()).code(0);
}

#[test]
fn checkpoints_and_validation_change_nothing() {
    let folder = Folder::with_data();
    folder.run(&[&RUN[..], &["--output", "alone"]].concat()).code(0);
    folder.run(&[&RUN[..], &["--output", "checked", "--checkpoint-every", "7"]].concat()).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "checked"));
    let judged = ["--output", "judged", "--validation", "judged.tsv", "--set", "keep=last"];
    folder.run(&[&RUN[..], &judged].concat()).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "judged"));
}

#[test]
fn another_setting_is_refused_and_named() {
    let folder = Folder::with_data();
    let run = [&RUN[..], &["--output", "m", "--checkpoint-every", "1"]].concat();
    let mut time = 10;
    while !folder.path("m.checkpoint").exists() {
        assert!(time < 5_000, "no checkpoint was left");
        kill_after(&folder, &run, Duration::from_millis(time));
        time *= 2;
    }
    folder
        .run(&[&run[..], &["--resume", "--set", "loss.gamma=3"]].concat())
        .code(2)
        .says("loss.gamma")
        .prints_nothing();
    folder.run(&[&run[..], &["--resume", "--set", "seed=3"]].concat()).code(2).says("seed");
    assert!(!folder.path("m").exists());
}

#[test]
#[ignore = "slow; .ci/run runs it"]
fn kills_of_both_runs_change_nothing_where_queries_are_held_out() {
    let folder = Folder::with_data();
    let things = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];
    let row = |i: usize| format!("{} {}\t{} no {}\n", things[i % 8], i, things[i % 8], i % 300);
    folder.write("clicks.tsv", format!("query\ttitle\n{}", (0..1100).map(row).collect::<String>()));
    let run = [
        "train",
        "--clicks",
        "clicks.tsv",
        "--titles",
        "titles.tsv",
        "--set",
        "encoder.cells=8",
        "--set",
        "titles.epochs=1",
    ];
    let run =
        [&run[..], &["--set", "batch_size=16", "--epochs", "3", "--encoder", "members", "--set", "encoder.members=2"]]
            .concat();
    folder.run(&[&run[..], &["--output", "alone"]].concat()).code(0);
    let killed = [&run[..], &["--output", "killed", "--checkpoint-every", "1", "--resume"]].concat();
    let (mut trials, mut seconds) = (0, 0);
    // The later ones are for machines that are slow or busy.
    for milliseconds in [30, 100, 200, 300, 300, 400, 400, 500, 500, 600, 1_000, 2_000, 4_000, 8_000] {
        if milliseconds > 600 && trials + seconds > 0 {
            break;
        }
        if !kill_after(&folder, &killed, Duration::from_millis(milliseconds)) {
            break;
        }
        trials += u32::from(folder.path("killed.held-out.checkpoint").exists());
        seconds += u32::from(folder.path("killed.checkpoint").exists());
    }
    folder.run(&killed).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "killed"), "{trials} and {seconds} kills");
    assert!(trials + seconds > 0, "no kill came before the end");
    folder.run(&killed).code(0).says("finished before");
    let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains(".checkpoint") || name.contains(".held-out")), "{names:?}");
}

/// Starts a run and kills it as soon as it has left a checkpoint of this name.
fn kill_at_checkpoint(folder: &Folder, arguments: &[&str], checkpoint: &str) {
    let mut child =
        Command::new(program()).args(arguments).current_dir(folder.path("")).stderr(Stdio::null()).spawn().unwrap();
    while !folder.path(checkpoint).exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "it came to its end without {checkpoint}");
}

fn names(folder: &Folder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

#[test]
fn other_held_out_settings_are_refused_before_anything_is_learnt() {
    let folder = Folder::with_data();
    let row = |i: usize| format!("thing {i}\tthing {i} no {}\n", i % 300);
    folder.write("clicks.tsv", format!("query\ttitle\n{}", (0..1100).map(row).collect::<String>()));
    let run =
        ["train", "--clicks", "clicks.tsv", "--set", "encoder.cells=8", "--set", "batch_size=16", "--output", "m"];
    // Often enough to be stopped at one, and seldom enough for the disk where the run goes to its end.
    let [run, seldom] = ["1", "50"].map(|minibatches| [&run[..], &["--checkpoint-every", minibatches]].concat());
    let refused = |more: &[&str], says: &str| {
        let (before, resumed) = (names(&folder), folder.run(&[&run[..], &["--resume"], more].concat()).code(2));
        assert!(!resumed.stderr().contains("loss"), "something was learnt:\n{}", resumed.stderr());
        assert_eq!(names(&folder), before);
        resumed.says(says).says("resume it with those settings, or start the training over").prints_nothing();
    };
    // Stopped while queries are held out.
    kill_at_checkpoint(&folder, &[&run[..], &["--epochs", "500"]].concat(), "m.held-out.checkpoint");
    let expected =
        "m: expected the settings of the run to resume (held_out 0.1, keep best), found held_out 0, keep last";
    refused(&["--epochs", "500", "--held-out", "0"], expected);
    refused(&["--epochs", "500", "--held-out", "0.2"], "the run to resume (held_out 0.1), found held_out 0.2;");
    refused(&["--epochs", "500", "--validation", "judged.tsv"], "the run to resume (held_out 0.1), found held_out 0;");
    for file in ["m.held-out.checkpoint", "m.held-out.partial"] {
        let _ = std::fs::remove_file(folder.path(file));
    }
    // Stopped with nothing held out.
    let whole = [&run[..], &["--epochs", "500", "--held-out", "0"]].concat();
    kill_at_checkpoint(&folder, &whole, "m.checkpoint");
    refused(&["--epochs", "500"], "the run to resume (held_out 0, keep last), found held_out 0.1, keep best;");
    // Learnt to its end, with other means to tell which epoch is best.
    folder.run(&[&seldom[..], &["--epochs", "1", "--validation", "judged.tsv"]].concat()).code(0);
    refused(&["--epochs", "1"], "m: expected the settings of the run to resume (held_out 0), found held_out 0.1;");
    // What an older run has left does not keep a stopped one from going on.
    folder.run(&[&seldom[..], &["--epochs", "2", "--held-out", "0"]].concat()).code(0);
    let old = bytes(&folder, "m");
    kill_at_checkpoint(&folder, &[&run[..], &["--epochs", "4"]].concat(), "m.held-out.checkpoint");
    assert!(bytes(&folder, "m") == old);
    folder.run(&[&seldom[..], &["--epochs", "4", "--resume"]].concat()).code(0).says("resumed in epoch");
    let alone = [
        "train",
        "--clicks",
        "clicks.tsv",
        "--set",
        "encoder.cells=8",
        "--set",
        "batch_size=16",
        "--output",
        "alone",
        "--epochs",
        "4",
    ];
    folder.run(&alone).code(0);
    assert!(bytes(&folder, "alone") == bytes(&folder, "m"));
}

#[cfg(unix)]
#[test]
fn what_a_stopped_run_leaves_is_said_in_words() {
    let folder = Folder::with_data();
    let row = |i: usize| format!("thing {i}\tthing {i} no {}\n", i % 300);
    folder.write("clicks.tsv", format!("query\ttitle\n{}", (0..1100).map(row).collect::<String>()));
    let run = ["train", "--clicks", "clicks.tsv", "--set", "encoder.cells=8", "--epochs", "5000", "--output", "m"];
    let stopped = |more: &[&str]| {
        let mut child = Command::new(program());
        let child = child.args([&run[..], more].concat()).current_dir(folder.path("")).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        while !folder.path("m.held-out.partial").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    let said = stopped(&[]);
    let expected = "m: stopped, nothing was written to it; the last kept model is in m.held-out.partial; with \
                    `--checkpoint-every`, a run can be resumed\n";
    assert!(said.ends_with(expected), "{said}");
    std::fs::remove_file(folder.path("m.held-out.partial")).unwrap();
    let said = stopped(&["--checkpoint-every", "1"]);
    let expected = "m: stopped, nothing was written to it; `--resume` with the same options continues\n";
    assert!(said.ends_with(expected), "{said}");
    // A damaged checkpoint is named, and said to be one.
    folder.write("m.held-out.checkpoint", "no checkpoint");
    let run = [&run[..], &["--checkpoint-every", "1", "--resume"]].concat();
    folder.run(&run).code(2).says("m.held-out.checkpoint: expected");
}
