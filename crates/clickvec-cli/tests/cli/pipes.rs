//! Readers that go away, and full disks.

use std::process::{Command, Stdio};

use crate::harness::{Folder, program};

#[test]
fn a_reader_that_has_enough_is_success() {
    let folder = Folder::with_index();
    let base = "search shop.index -k 144".split(' ').chain(["red", "blue", "green"]);
    let commands: [Vec<&str>; 6] = [
        base.collect(),
        "evaluate --judged judged.tsv bm25".split(' ').collect(),
        "embed model.safetensors --side title titles.tsv".split(' ').collect(),
        "completions bash".split(' ').collect(),
        "lab simulate --set pairs=100 --set judged=2 --output log --json".split(' ').collect(),
        "demo --pairs 500".split(' ').collect(),
    ];
    for arguments in commands {
        let mut child = Command::new(program())
            .args(&arguments)
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Without a reader, the first write finds the pipe closed.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{stderr}");
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{arguments:?}\n{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::with_model();
    for arguments in ["inspect model.safetensors", "evaluate --judged judged.tsv bm25 --json", "completions zsh"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(program())
            .args(arguments.split(' '))
            .current_dir(folder.path(""))
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("error: standard output: cannot write: No space left on device"), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
/// Rust's runtime opens `/dev/null` in its place, where everything would vanish.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_no_success() {
    let folder = Folder::with_index();
    let commands = [
        "search shop.index red",
        "evaluate --judged judged.tsv bm25",
        "inspect model.safetensors",
        "--help",
        "--version",
    ];
    for command in commands {
        let status = |close: &str| {
            let script = format!("exec {} {command} {close}", program().display());
            let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, stderr) = status(">&-");
        assert!(code == Some(2) && stderr.starts_with("error: standard output: expected an open file"), "{stderr}");
        let (code, stderr) = status("<>/dev/null >&0");
        assert!(code == Some(0), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_has_its_name() {
    let folder = Folder::with_data();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut prepare = Command::new(program());
    prepare.args(["prepare", "clicks.tsv", "--min-users=1", "-o", "-"]).stdout(full);
    let output = prepare.current_dir(folder.path("")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && stderr.contains("standard output: cannot write"), "{stderr}");
}

#[test]
fn a_device_without_an_end_is_refused() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop.index"]).code(0);
    let commands: [&[&str]; 6] = [
        &["prepare", "/dev/zero", "--format=tsv", "--output=c.tsv"],
        &["prepare", "/dev/zero", "--output=c.tsv"],
        &["train", "--clicks=/dev/zero", "--output=m"],
        &["evaluate", "--judged=/dev/zero", "bm25"],
        &["embed", "model.safetensors", "--side=title", "/dev/zero"],
        #[cfg(feature = "serve")]
        &["serve", "shop.index", "--listen=127.0.0.1:0", "--canaries=/dev/zero"],
    ];
    // A program that reads on would otherwise fill the disk, or never end.
    let refused = |command: &[&str], input: Stdio, name: &str| {
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 65536; exec timeout 60 \"$0\" \"$@\""]).arg(program()).args(command);
        let output = limited.current_dir(folder.path("")).stdin(input).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let message = format!("{name}: expected a file or a pipe, found a device, which may never end");
        assert!(
            output.status.code() == Some(2) && stderr.contains(&message),
            "{command:?}: {}\n{stderr}",
            output.status
        );
        assert!(output.stdout.is_empty(), "{command:?}");
    };
    for command in commands {
        refused(command, Stdio::null(), "/dev/zero");
    }
    // As standard input, too. Nothing to read is what it always was.
    let zero = std::fs::File::open("/dev/zero").unwrap();
    refused(&["prepare", "-", "--output=c.tsv"], zero.into(), "standard input");
    folder.run(&["embed", "model.safetensors", "--side=title", "/dev/null"]).code(0).prints_nothing();
    assert!(!folder.path("c.tsv").exists() && !folder.path("m").exists());
}
