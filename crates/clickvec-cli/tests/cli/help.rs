//! What the program says about itself.

use crate::harness::Folder;

const COMMANDS: [&str; 11] =
    ["demo", "prepare", "train", "evaluate", "table", "embed", "index", "search", "inspect", "simulate", "completions"];

#[test]
fn alone_it_shows_what_to_do_first() {
    let run = Folder::new().run(&[]).code(0);
    for command in ["clickvec demo", "clickvec train", "clickvec evaluate", "clickvec search"] {
        assert!(run.stdout().contains(command), "{}", run.stdout());
    }
}

#[test]
fn every_command_has_help() {
    let folder = Folder::new();
    for command in COMMANDS {
        folder.run(&[command, "--help"]).code(0).prints(&format!("Usage: clickvec {command}")).prints("--threads");
        folder.run(&["help", command]).code(0).prints("Usage");
        folder.run(&["--help"]).code(0).prints(command);
    }
    folder.run(&["--version"]).code(0).prints("clickvec 0.");
}

#[test]
fn help_shows_defaults() {
    let folder = Folder::new();
    let help = folder.run(&["train", "--help"]).code(0).stdout();
    let flags: Vec<&str> = help.split("\n      --").skip(1).collect();
    for flag in flags.iter().filter(|flag| flag.contains('<')) {
        let needs_none = ["clicks", "validation", "preset"].iter().any(|name| flag.starts_with(name));
        assert!(needs_none || flag.contains("[default:"), "no default: {flag}");
    }
    folder.run(&["search", "--help"]).prints("[default: 10]");
}

#[test]
fn help_fits_the_terminal_without_colour() {
    for command in COMMANDS {
        let help = Folder::new().run(&[command, "--help"]).stdout();
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        assert!(!help.contains('\u{1b}'), "{help}");
    }
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::new();
    folder.run(&["fly"]).code(2).says("unrecognized subcommand").prints_nothing();
    folder.run(&["train"]).code(2).says("--clicks").prints_nothing();
    folder.run(&["search", "--model", "m", "--titles", "t", "-k", "0", "a"]).code(2).says("--top");
    folder.run(&["--threads", "5000", "inspect", "m"]).code(2).says("--threads");
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        Folder::new().run(&["completions", shell]).code(0).prints("clickvec").prints("validation");
    }
    Folder::new().run(&["completions", "tcl"]).code(2).says("possible values");
}

#[test]
fn the_level_can_be_lowered() {
    let folder = Folder::new();
    let run = |level: &str| {
        let mut command = folder.command();
        command.env("CLICKVEC_LEVEL", level).output().unwrap()
    };
    assert_eq!(run("plain").status.code(), Some(0));
    let output = run("sse9");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "error: CLICKVEC_LEVEL: expected an instruction level `plain`, `avx2` or `avx512`, found `sse9`\n";
    assert_eq!(message, expected);
}
