//! What the program says about itself.

use std::collections::BTreeSet;
use std::path::Path;

use crate::harness::Folder;

const COMMANDS: [&str; 18] = [
    "demo",
    "build",
    "prepare",
    "train",
    "update",
    "judge",
    "compare",
    "evaluate",
    "embed",
    "index",
    "search",
    "serve",
    "inspect",
    "explain",
    "export",
    "lab",
    "completions",
    "man",
];

/// Commands that the list of commands leaves out.
const HIDDEN: [&str; 2] = ["completions", "man"];

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
    }
    let list = folder.run(&["--help"]).code(0).stdout();
    let is_listed = |command: &str| list.contains(&format!("\n  {command} "));
    for command in COMMANDS {
        assert_eq!(is_listed(command), !HIDDEN.contains(&command), "{command}: {list}");
    }
    folder.run(&["--version"]).code(0).prints("clickvec 0.");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(rows, COMMANDS.into_iter().filter(|command| !HIDDEN.contains(command)).collect());
}

#[test]
fn help_shows_defaults() {
    let folder = Folder::new();
    let help = folder.run(&["train", "--help"]).code(0).stdout();
    let flags: Vec<&str> = help.split("\n      --").skip(1).collect();
    for flag in flags.iter().filter(|flag| flag.contains('<')) {
        let without =
            ["clicks", "titles <", "columns <", "init <", "teacher <", "validation", "preset", "set <", "settings <"];
        let needs_none = without.iter().any(|name| flag.starts_with(name));
        assert!(needs_none || flag.contains("[default:"), "no default: {flag}");
    }
    folder.run(&["search", "--help"]).prints("[default: 10]");
}

#[test]
fn help_names_no_option_that_the_command_lacks() {
    for command in ["update", "lab simulate", "lab errors"] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = Folder::new().run(&words).code(0).stdout();
        assert!(help.contains("[default: id=id,title=title]") && !help.contains("--field"), "{command}: {help}");
    }
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
fn short_help_is_one_screen() {
    for command in COMMANDS {
        let help = Folder::new().run(&[command, "-h"]).stdout();
        assert!(help.lines().count() <= 40, "{help}");
    }
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::new();
    folder.run(&["fly"]).code(2).says("unrecognized subcommand").prints_nothing();
    folder.run(&["train"]).code(2).says("--clicks").prints_nothing();
    folder.run(&["search", "i", "-k", "0", "a"]).code(2).says("--top");
    folder.run(&["--threads", "5000", "inspect", "m"]).code(2).says("--threads");
    folder.run(&["search", "i", "-k", "-1", "a"]).code(2).says("expected a whole number of 1 or more");
    folder
        .run(&["train", "--clicks", "c", "--output", "m", "--set", "loss.gamma=-1"])
        .code(2)
        .says("expected a number above 0");
    let judge = ["judge", "i", "--against", "bm25", "--queries", "clicks.tsv", "--output", "-"];
    folder.run(&judge).code(2).says("expected a file to write, found `-`");
}

/// The flags that a command's help lists: `--output` of `  -o, --output <FILE>`.
fn flags(help: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in help.lines().map(str::trim_start) {
        let long = line.strip_prefix('-').and_then(|rest| rest.split_once(", ")).map_or(line, |(_, long)| long);
        if line.starts_with('-') && long.starts_with("--") {
            let end = long.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(long.len());
            found.push(&long[..end]);
        }
    }
    found
}

#[test]
fn completions_have_every_command_and_flag() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]).code(0).stdout();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
            let help = folder.run(&[command, "--help"]).stdout();
            assert!(!flags(&help).is_empty(), "{help}");
            for flag in flags(&help) {
                // Fish writes long flags without the hyphens.
                let written = if shell == "fish" { flag.trim_start_matches('-') } else { flag };
                assert!(script.contains(written), "{shell}: {command} {flag}");
            }
        }
    }
    folder.run(&["completions", "tcl"]).code(2).says("possible values");
    folder.run(&["completions"]).code(2).says("SHELL");
}

#[test]
fn completions_are_installed_where_the_shell_looks() {
    let folder = Folder::new();
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = folder.command();
        for name in ["SHELL", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR", "HOME"] {
            command.env_remove(name);
        }
        for (name, value) in variables {
            let value = if *name == "SHELL" { (*value).into() } else { folder.path(value) };
            command.env(name, value);
        }
        let output = command.args([&["completions", "--install"], arguments].concat()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (shell, place) in [
        ("bash", "home/.local/share/bash-completion/completions/clickvec"),
        ("zsh", "home/.local/share/zsh/site-functions/_clickvec"),
        ("fish", "home/.config/fish/completions/clickvec.fish"),
    ] {
        let (code, said) = run(&[shell], &[("HOME", "home")]);
        assert!(code == Some(0) && said.contains(place), "{said}");
        assert_eq!(folder.read(place), folder.run(&["completions", shell]).stdout());
    }
    let (code, said) = run(&[], &[("SHELL", "/usr/bin/fish"), ("XDG_CONFIG_HOME", "mine")]);
    assert!(code == Some(0) && folder.path("mine/fish/completions/clickvec.fish").exists(), "{said}");
    let (code, said) = run(&["bash"], &[]);
    assert!(code == Some(2) && said.contains("$HOME"), "{said}");
    let (code, said) = run(&[], &[("HOME", "home")]);
    assert!(code == Some(2) && said.contains("$SHELL"), "{said}");
    let (code, said) = run(&["elvish"], &[("HOME", "home")]);
    assert!(code == Some(2) && said.contains("expected bash, zsh or fish"), "{said}");
}

#[test]
fn manual_pages_have_every_command_and_flag() {
    let folder = Folder::new();
    let run = folder.run(&["man", "--output", "share/man1"]).code(0);
    let names = std::fs::read_dir(folder.path("share/man1")).unwrap();
    let names: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    run.says(&format!("{} pages", names.len()));
    assert!(names.len() > COMMANDS.len() + 8 && !names.iter().any(|name| name.contains("-help")), "{names:?}");
    let plain = |page: &str| page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
    let whole = plain(&folder.read("share/man1/clickvec.1"));
    for command in COMMANDS {
        let page = plain(&folder.read(&format!("share/man1/clickvec-{command}.1")));
        assert_eq!(whole.contains(&format!("clickvec-{command}(1)")), !HIDDEN.contains(&command), "{whole}");
        assert!(page.starts_with(".ie") && page.contains(".SH SYNOPSIS"), "{page}");
        let help = folder.run(&[command, "--help"]).stdout();
        for flag in flags(&help) {
            assert!(page.contains(flag), "{command} {flag}: {page}");
        }
        assert_eq!(plain(&folder.run(&["man", command]).code(0).stdout()), page);
    }
    for nested in ["explain match", "lab errors"] {
        let name = nested.replace(' ', "-");
        let page = plain(&folder.read(&format!("share/man1/clickvec-{name}.1")));
        for flag in flags(&folder.run(&[&nested.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).stdout()) {
            assert!(page.contains(flag), "{nested} {flag}: {page}");
        }
        assert_eq!(plain(&folder.run(&["man", &name]).code(0).stdout()), page);
    }
    assert_eq!(plain(&folder.run(&["man"]).code(0).stdout()), whole);
    folder.run(&["man", "fly"]).code(2).says("expected a command, one of build, search").says("found `fly`");
    folder.write("file", "");
    folder.run(&["man", "--output", "file"]).code(2).says("file: cannot make this folder");
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
