//! A run that is killed and resumed makes the same model as an undisturbed run, byte for byte.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Folder, program};

const RUN: [&str; 11] =
    ["train", "--clicks", "clicks.tsv", "--cells", "24", "--minibatch", "8", "--preset", "paper", "--negatives", "2"];

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
    let judged = ["--output", "judged", "--validation", "judged.tsv", "--keep", "last"];
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
    folder.run(&[&run[..], &["--resume", "--gamma", "3"]].concat()).code(2).says("gamma").prints_nothing();
    folder.run(&[&run[..], &["--resume", "--seed", "3"]].concat()).code(2).says("seed");
    assert!(!folder.path("m").exists());
}

#[test]
fn kills_of_both_runs_change_nothing_where_queries_are_held_out() {
    let folder = Folder::with_data();
    let things = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];
    let row = |i: usize| format!("{} {}\t{} no {}\n", things[i % 8], i, things[i % 8], i % 300);
    folder.write("clicks.tsv", format!("query\ttitle\n{}", (0..1100).map(row).collect::<String>()));
    let run = ["train", "--clicks", "clicks.tsv", "--titles", "titles.tsv", "--cells", "8", "--title-epochs", "1"];
    let run = [&run[..], &["--minibatch", "16", "--epochs", "3", "--members", "2"]].concat();
    folder.run(&[&run[..], &["--output", "alone"]].concat()).code(0);
    let killed = [&run[..], &["--output", "killed", "--checkpoint-every", "1", "--resume"]].concat();
    let (mut trials, mut seconds) = (0, 0);
    for milliseconds in [30, 100, 200, 300, 300, 400, 400, 500, 500, 600] {
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
