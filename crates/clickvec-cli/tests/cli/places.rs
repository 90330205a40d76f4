//! Files in unusual places: odd names, private files, pipes, and what a kill leaves behind.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{DATA, Folder, SMALL, program, row};

/// The files in the folder with temporary names.
fn left_behind(folder: &Folder) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter(|name| name.to_string_lossy().starts_with(".clickvec-")).collect()
}

#[test]
fn a_pipe_where_a_file_must_be_is_told_at_once() {
    let folder = Folder::with_model();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    folder.write("table.toml", DATA.to_owned() + &row("a", "ranker = \"bm25\""));
    for (arguments, expected) in [
        ("inspect pipe", "pipe: expected "),
        ("search pipe red", "pipe: expected "),
        ("embed pipe --side query --text-column query clicks.tsv", "pipe: expected "),
        ("index --model pipe --titles titles.tsv --output index", "pipe: expected "),
        ("lab table table.toml --cache pipe --output table.html", "pipe/models: cannot make this folder"),
    ] {
        let mut child = Command::new(program())
            .args(arguments.split(' '))
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let waited = child.try_wait().unwrap().is_none();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!waited && output.status.code() == Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    }
}

#[test]
fn a_file_of_another_kind_is_not_replaced() {
    let folder = Folder::with_model();
    folder.write("log.tsv", "query\ttitle\nred\tred shoe\n");
    for (arguments, expected) in [
        ("train --clicks clicks.tsv --output titles.tsv", "expected a model to replace, found another file"),
        ("prepare log.tsv --output titles.tsv", "columns `query`, `title`, `count` to replace"),
        ("prepare log.tsv --output new.tsv --report titles.tsv", "expected a page to replace"),
        ("explain keywords model.safetensors red --html titles.tsv", "expected a page to replace"),
        (
            "embed model.safetensors judged.tsv --side query --output titles.tsv",
            "expected texts with vectors as JSON lines",
        ),
        (
            "embed model.safetensors judged.tsv --side query --format npy --output titles.tsv",
            "expected an array of NumPy to replace",
        ),
        (
            "embed model.safetensors judged.tsv --side query --format word2vec --output titles.tsv",
            "expected vectors of word2vec to replace",
        ),
    ] {
        let before = folder.read("titles.tsv");
        let run = folder.run(&arguments.split(' ').collect::<Vec<_>>()).code(2);
        run.says("titles.tsv: expected ").says(expected);
        assert_eq!(folder.read("titles.tsv"), before, "{arguments}");
    }
}

#[test]
fn a_table_replaces_only_a_table() {
    let folder = Folder::with_data();
    let table = "lab table --judged judged.tsv --titles titles.tsv --ranker bm25 --output table.md --output table.html";
    let table: Vec<&str> = table.split(' ').collect();
    for (name, expected) in [("table.md", "expected a table in Markdown"), ("table.html", "expected a page")] {
        folder.write(name, "notes");
        folder.run(&table).code(2).says(&format!("{name}: {expected} to replace"));
        assert_eq!(folder.read(name), "notes");
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    folder.run(&table).code(0);
    folder.run(&table).code(0);
}

#[test]
fn a_pipe_may_be_a_run_and_nothing_else() {
    let folder = Folder::with_model();
    let evaluate = |file: &str| {
        let line = format!("{} evaluate --judged judged.tsv <(cat {file})", program().display());
        let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = evaluate("model.safetensors");
    assert!(code == Some(2) && stderr.contains("expected a run, because models and rankers are files"), "{stderr}");
    folder.run(&["evaluate", "--judged", "judged.tsv", "bm25", "--output", "out"]).code(0);
    let (code, stderr) = evaluate("out/bm25.run");
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn who_may_read_a_file_stays_so_when_it_is_replaced() {
    let folder = Folder::with_model();
    folder.write("open", "");
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().mode() & 0o777;
    let outputs: [(&str, &[&str]); 4] = [
        ("model", &[&["train", "--clicks", "clicks.tsv", "--output", "model"], &SMALL[..]].concat()),
        ("vectors", &["embed", "model.safetensors", "--side", "title", "-o", "vectors", "titles.tsv"]),
        ("out/per-query.tsv", &["evaluate", "--judged", "judged.tsv", "bm25", "--output", "out"]),
        ("index", &["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "index"]),
    ];
    for (name, arguments) in outputs {
        folder.run(arguments).code(0);
        let (new, private) = if name == "index" { (0o777, 0o700) } else { (0o666, 0o600) };
        // The umask is the same for both.
        assert_eq!(mode(name) & 0o666, mode("open"), "{name}");
        assert_eq!(mode(name) & !new, 0, "{name}");
        std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(private)).unwrap();
        folder.run(arguments).code(0);
        assert_eq!(mode(name), private, "{name}");
    }
}

#[test]
fn a_long_name_is_a_name() {
    let folder = Folder::with_data();
    let name = "n".repeat(240);
    folder.train(&name, &[]).code(0);
    let vectors = "v".repeat(255);
    folder.run(&["embed", &name, "--side", "query", "--text-column", "query", "-o", &vectors, "clicks.tsv"]).code(0);
    folder.run(&["index", "--model", &name, "--titles", "titles.tsv", "--output", &"i".repeat(255)]).code(0);
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    // Found before any training: a checkpoint and the best model so far will be next to the model.
    for length in [250, 256] {
        let output = "n".repeat(length);
        let arguments = ["train", "--clicks", "clicks.tsv", "--epochs", "1000000", "--output", &output];
        folder.run(&arguments).code(2).says("File name too long").says("; choose a shorter name");
    }
}

#[test]
fn help_that_nobody_could_read_is_an_error() {
    let folder = Folder::new();
    for arguments in ["help", "--help", "help train", "train --help", "--version", "completions bash"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(program());
        let output = command.args(arguments.split(' ')).current_dir(folder.path("")).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains("standard output: cannot write"), "{arguments}: {stderr}");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}: a reader that has enough");
    }
}

#[test]
fn no_message_moves_the_cursor() {
    let folder = Folder::with_model();
    let odd = "\u{1b}[2J\u{7}\u{202e}odd";
    folder.write("judged.odd", format!("query\ttitle\tgrade\nred\thammer\t{odd}\n"));
    for arguments in [
        &["inspect", odd][..],
        &["search", odd, "red"],
        &["index", "--model", odd, "--titles", "titles.tsv", "--output", "x"],
        &["index", "--model", "model.safetensors", "--titles", odd, "--output", "x"],
        &["evaluate", "--judged", "judged.odd", "bm25"],
        &["evaluate", "--judged", "judged.tsv", odd],
        &["evaluate", "--judged", odd, "bm25"],
        &["train", "--clicks", "clicks.tsv", "--output", &format!("{odd}/m")],
        &["prepare", odd, "--output", "p"],
        &["lab", "table", odd],
        &["completions", odd],
        &[odd],
    ] {
        let run = folder.run(arguments).code(2);
        let stderr = run.stderr();
        assert!(!stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{stderr:?}");
        // The parser of the command line leaves out some of it by itself.
        assert!(stderr.contains("\u{fffd}odd"), "{arguments:?}: {stderr:?}");
    }
}

#[test]
fn json_names_files_whose_names_are_no_text() {
    let folder = Folder::with_model();
    let name = OsString::from_vec(b"caf\xe9".to_vec());
    std::fs::copy(folder.path("model.safetensors"), folder.path("").join(&name)).unwrap();
    let run = |arguments: &[&str]| {
        let output = folder.command().args(arguments).arg(&name).arg("--json").output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let last = stdout.lines().last().unwrap().to_owned();
        let value: serde_json::Value = serde_json::from_str(&last).unwrap();
        assert!(last.contains("caf\u{fffd}"), "{value}");
    };
    run(&["inspect"]);
    std::fs::remove_file(folder.path("").join(&name)).unwrap();
    run(&[&["train", "--clicks", "clicks.tsv"], &SMALL[..], &["--output"]].concat());
    std::fs::remove_file(folder.path("").join(&name)).unwrap();
    run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output"]);
    std::fs::remove_dir_all(folder.path("").join(&name)).unwrap();
    run(&["lab", "simulate", "--set", "pairs=100", "--set", "judged=2", "--output"]);
}

#[test]
fn a_kill_leaves_nothing_behind() {
    let folder = Folder::with_model();
    let mut child = Command::new(program())
        .args("embed model.safetensors --side query --output vectors".split(' '))
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut texts = child.stdin.take().unwrap();
    // More than the buffers hold, so it has begun to write.
    let written = texts.write_all("red hammer\n".repeat(100_000).as_bytes());
    child.kill().unwrap();
    child.wait().unwrap();
    written.unwrap();
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    assert!(!folder.path("vectors").exists());
}

#[test]
fn memory_that_is_not_there_is_told_before_the_work() {
    let folder = Folder::with_model();
    let mut titles = "id\ttitle\n".to_owned();
    for title in 0..12_000 {
        titles += &format!("t{title}\tw{title} w{} w{}\n", title * 7 % 12_000, title * 31 % 12_000);
    }
    folder.write("many.tsv", titles);
    let limited = |megabytes: u32, arguments: &[&str]| {
        let limit = format!("ulimit -v {}; exec \"$0\" \"$@\"", megabytes * 1024);
        let mut command = Command::new("sh");
        command.args(["-c", &limit]).arg(program()).args(arguments).args(["--threads", "1"]);
        let output = command.current_dir(folder.path("")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let wide = [
        "train",
        "--clicks",
        "clicks.tsv",
        "--output",
        "m",
        "--encoder",
        "dssm",
        "--set",
        "encoder.layers=16384,16384",
    ];
    let lsa = ["lab", "table", "--judged", "judged.tsv", "--titles", "many.tsv", "--ranker", "lsa:dimensions=2500"];
    let judge =
        |ranker: &'static str| ["lab", "table", "--judged", "judged.tsv", "--titles", "many.tsv", "--ranker", ranker];
    let plsa = judge("plsa:topics=2900");
    let lda = judge("lda:topics=2900");
    let doc2vec = judge("doc2vec:size=10000");
    // Few clicks on texts of many words, each of which may translate each other; words that follow each other.
    let words = |count: usize, of: &str| (0..count).map(|word| format!("{of}{word}")).collect::<Vec<_>>().join(" ");
    let long = format!("{}\t{}\n", words(3000, "q"), words(3000, "t"));
    folder.write("long.tsv", format!("query\ttitle\n{}", long.repeat(4)));
    let alphabet = ('a'..='z').map(|letter| format!("{letter} ")).collect::<String>();
    let spelt: String = (0..4000).map(|title| format!("{title}\t{}\n", alphabet.repeat(40))).collect();
    folder.write("spelt.tsv", format!("id\ttitle\n{spelt}"));
    let pairs_of = |count: usize| {
        let pairs = (0..count).map(|pair| format!("w{pair}\tw{pair} v{pair} u{pair}\t1000\n"));
        format!("query\ttitle\tcount\n{}", pairs.collect::<String>())
    };
    folder.write("pairs.tsv", pairs_of(12_000));
    let clicks = |ranker: &'static str, clicks: &'static str| {
        ["lab", "table", "--judged", "judged.tsv", "--clicks", clicks, "--ranker", ranker, "--weighting", "linear"]
    };
    let (wtm, ptm, copies) =
        (clicks("wtm", "long.tsv"), clicks("ptm", "long.tsv"), clicks("lda:clicked=1", "pairs.tsv"));
    let mrf = ["lab", "table", "--judged", "judged.tsv", "--titles", "spelt.tsv", "--ranker", "mrf"];
    let once = ["train", "--clicks", "pairs.tsv", "--epochs", "1", "--output"];
    let states =
        [&once[..], &["m", "--encoder", "lstm", "--set", "encoder.cells=500", "--set", "batch_size=12000"]].concat();
    let cosines =
        [&once[..], &["m", "--encoder", "dssm", "--set", "encoder.layers=2", "--set", "batch_size=12000"]].concat();
    let asked = [
        ("words that may translate each other", &wtm[..]),
        ("words that may translate each other", &ptm),
        ("copies of titles", &copies),
        ("pairs of words", &mrf),
        ("the states and gradients of a minibatch", &states),
        ("the states and gradients of a minibatch", &cosines),
        ("the weights", &wide),
        ("singular vectors", &lsa),
        ("topics", &plsa),
        ("topics", &lda),
        ("vectors of words and texts", &doc2vec),
    ];
    for (what, arguments) in asked {
        let (code, stderr) = limited(400, arguments);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("MiB of memory for ") && stderr.contains(what), "{stderr}");
        assert!(stderr.ends_with("found less; ask for less\n"), "{stderr}");
    }
    assert_eq!(limited(400, &["inspect", "model.safetensors"]).0, Some(0));
    assert!(!folder.path("m").exists() && left_behind(&folder).is_empty());
}

/// Only one input can come through standard input; the second one used to be called empty.
#[test]
fn standard_input_is_read_once() {
    let folder = Folder::with_data();
    let judged = folder.read("judged.tsv");
    let twice = [
        "train",
        "--clicks",
        "-",
        "--titles",
        "-",
        "--output",
        "m",
        "--encoder=dssm",
        "--set",
        "encoder.layers=8",
        "--epochs=1",
    ];
    folder.run_with(&twice, folder.read("clicks.tsv")).code(2).says("standard input was read before; give one of");
    let twice = ["evaluate", "--judged", "-", "bm25", "trigram", "--clicks=-"];
    folder.run_with(&twice, judged).code(2).says("standard input was read before; give one of the inputs as a file");
    let titles = [
        "train",
        "--titles",
        "titles.tsv",
        "--titles",
        "./titles.tsv",
        "--output",
        "m",
        "--encoder=dssm",
        "--set",
        "encoder.layers=8",
    ];
    folder.run(&titles).code(2).says("expected each file of titles once, found `./titles.tsv` again");
}
