//! Ctrl-C and SIGTERM during training: nothing is lost, neither of the run nor of what was there before.
#![cfg(unix)]

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// A run that is being watched. It ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(folder: &Folder, arguments: &[&str], stdout: Stdio) -> Running {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(folder.path("")).stdout(stdout).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success(), "kill {name}");
    }

    /// Waits until the run has written this file.
    fn wait_for(&mut self, folder: &Folder, name: &str) {
        let started = Instant::now();
        while !folder.path(name).exists() {
            assert!(self.0.try_wait().unwrap().is_none(), "the run ended before it wrote {name}");
            assert!(started.elapsed() < Duration::from_secs(120), "{name} never came");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The exit status and standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

/// The beginning of a model.
const FORMER: &str = "\x10\0\0\0\0\0\0\0{ what was here";

#[test]
fn a_signal_stops_a_run_which_goes_on_to_the_same_bytes() {
    let folder = Folder::with_data();
    let run = [&RUN[..], &["--epochs", "60"]].concat();
    folder.run(&[&run[..], &["--output", "alone"]].concat()).code(0);
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        folder.write("m", FORMER);
        let stopped = [&run[..], &["--output", "m", "--checkpoint-every", "1000000", "--resume"]].concat();
        // Killed: the file at the output is not a model, so the run begins anew.
        let mut running = Running::start(&folder, &stopped, Stdio::null());
        running.wait_for(&folder, "m.partial");
        running.signal(signal);
        let (code, said) = running.end();
        assert_eq!(code, Some(status), "{said}");
        assert!(
            said.contains("m: stopped, nothing was written to it; `--resume` with the same options continues"),
            "{said}"
        );
        assert_eq!(folder.read("m"), FORMER);
        folder.run(&stopped).code(0).says("resumed in epoch");
        assert!(std::fs::read(folder.path("m")).unwrap() == std::fs::read(folder.path("alone")).unwrap());
        std::fs::remove_file(folder.path("m")).unwrap();
    }
}

#[test]
fn without_checkpoints_the_last_epoch_is_left() {
    let folder = Folder::with_data();
    let run = [&RUN[..], &["--epochs", "20000", "--output", "m", "--json"]].concat();
    let mut running = Running::start(&folder, &run, Stdio::null());
    running.wait_for(&folder, "m.partial");
    running.signal("-INT");
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("m: stopped, nothing was written to it; the last kept model is in m.partial"));
    assert!(!folder.path("m").exists() && !folder.path("m.checkpoint").exists());
    folder.run(&["inspect", "m.partial"]).code(0);
}

#[test]
fn an_index_that_is_stopped_leaves_nothing_behind() {
    let folder = Folder::with_model();
    std::fs::create_dir(folder.path("out")).unwrap();
    let rows = (0..400_000).map(|number| format!("t{number}\thammer in red, {number} in. and more of it\n"));
    folder.write("many.tsv", std::iter::once("id\ttitle\n".to_owned()).chain(rows).collect::<String>());
    let index = ["index", "--model", "model.safetensors", "--titles", "many.tsv", "--output", "out/i"];
    let mut running = Running::start(&folder, &index, Stdio::null());
    let files = || std::fs::read_dir(folder.path("out")).unwrap().count();
    let started = Instant::now();
    while files() == 0 {
        assert!(running.0.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    running.signal("-INT");
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("out/i: stopped, nothing was changed"), "{said}");
    let left = std::fs::read_dir(folder.path("out")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<String> =
        left.map(|name| name.into_string().unwrap()).filter(|name| !name.ends_with(".lock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A program whose full pipe has no reader gets the first signal and cannot react.
#[test]
#[ignore = "slow; .ci/run runs it"]
fn a_second_signal_ends_the_program_at_once() {
    let folder = Folder::with_data();
    let run = [&RUN[..], &["--epochs", "20000", "--output", "m", "--json"]].concat();
    let mut running = Running::start(&folder, &run, Stdio::piped());
    running.wait_for(&folder, "m.partial");
    let written = || std::fs::metadata(folder.path("m.partial")).and_then(|data| data.modified()).ok();
    let (mut last, mut since) = (written(), Instant::now());
    while since.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(20));
        if written() != last {
            (last, since) = (written(), Instant::now());
        }
        assert!(running.0.try_wait().unwrap().is_none(), "the run was to be stuck");
    }
    running.signal("-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.0.try_wait().unwrap().is_none(), "the first signal is a request");
    running.signal("-INT");
    let asked = Instant::now();
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert!(!folder.path("m").exists());
}

#[test]
fn an_output_that_can_only_be_a_folder_is_refused_at_once() {
    let folder = Folder::with_data();
    for output in ["newdir/", "newdir/.", "."] {
        folder.run(&[&RUN[..], &["--output", output]].concat()).code(2).prints_nothing();
        folder.run(&["prepare", "clicks.tsv", "--output", output]).code(2).prints_nothing();
    }
    assert!(!folder.path("newdir").exists());
}
