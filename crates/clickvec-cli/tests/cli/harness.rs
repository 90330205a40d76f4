//! A folder to work in, and a command that shows everything if a test fails.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// Sizes that train quickly.
pub(crate) const SMALL: [&str; 8] =
    ["--set", "encoder.cells=8", "--set", "batch_size=32", "--epochs", "3", "--set", "seed=7"];

/// The part of a table's spec that names the files of [`Folder::with_data`].
pub(crate) const DATA: &str = "[data]\njudged = \"judged.tsv\"\nclicks = \"clicks.tsv\"\ntitles = \"titles.tsv\"\n";

/// The part of a table's spec that names a system and says what it is.
pub(crate) fn row(name: &str, what: &str) -> String {
    format!("[[system]]\nname = \"{name}\"\n{what}\n")
}

/// The settings of [`SMALL`] and `more` of them, as a system of a table has them.
pub(crate) fn small_settings(more: &str) -> String {
    format!("train = {{ encoder.cells = 8, batch_size = 32, epochs = 3, seed = 7{more} }}\n")
}

/// A system of a table trained with [`SMALL`], `more` settings and other `keys`.
pub(crate) fn small_row(name: &str, more: &str, keys: &str) -> String {
    row(name, &(small_settings(more) + keys))
}

const COLOURS: [&str; 6] = ["red", "blue", "green", "black", "white", "yellow"];
const THINGS: [&str; 8] = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];

/// A temporary folder; every command runs in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with a click log, judged titles and titles.
    pub(crate) fn with_data() -> Folder {
        let folder = Folder::new();
        let (mut clicks, mut judged) = ("query\ttitle\n".to_owned(), "query\ttitle\tgrade\n".to_owned());
        let mut titles = "id\ttitle\n".to_owned();
        for (i, thing) in THINGS.iter().enumerate() {
            for (j, colour) in COLOURS.iter().enumerate() {
                for size in [10, 20, 30] {
                    let _ = writeln!(clicks, "{colour} {thing}\t{thing} in {colour}, {size} in.");
                    let _ = writeln!(titles, "t{i}{j}{size}\t{thing} in {colour}, {size} in.");
                }
                let other = THINGS[(i + j + 1) % THINGS.len()];
                let _ = writeln!(judged, "{colour} {thing}\t{thing} in {colour}, 10 in.\t4");
                let _ = writeln!(judged, "{colour} {thing}\t{other} in {colour}, 20 in.\t{}", j % 2);
                let _ = writeln!(judged, "{colour} {thing}\t{other} for kitchens\t0");
            }
        }
        folder.write("clicks.tsv", &clicks);
        folder.write("judged.tsv", &judged);
        folder.write("titles.tsv", &titles);
        folder
    }

    /// The file in which `lab table` keeps a trained ranker of this system.
    pub(crate) fn saved_ranker(&self, cache: &str, system: &str) -> String {
        let entries = std::fs::read_dir(self.path(cache).join("models")).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_it = |name: &String| name.starts_with(&format!("{system}-")) && name.ends_with(".safetensors");
        format!("{cache}/models/{}", names.find(is_it).unwrap_or_else(|| panic!("no {system}")))
    }

    /// [`Folder::with_data`], and `model.safetensors` trained on it.
    pub(crate) fn with_model() -> Folder {
        static MODEL: OnceLock<Vec<u8>> = OnceLock::new();
        let folder = Folder::with_data();
        let model = MODEL.get_or_init(|| {
            let trainer = Folder::with_data();
            trainer.train("model.safetensors", &["--set", "shared_towers=false"]).code(0);
            std::fs::read(trainer.path("model.safetensors")).unwrap()
        });
        folder.write("model.safetensors", model);
        folder
    }

    /// [`Folder::with_model`], and `shop.index` of its titles.
    pub(crate) fn with_index() -> Folder {
        let folder = Folder::with_model();
        folder.index("model.safetensors", "titles.tsv").code(0).prints_nothing();
        folder
    }

    /// Makes `shop.index` of a model and titles.
    pub(crate) fn index(&self, model: &str, titles: &str) -> Run {
        self.run(&["index", "--model", model, "--titles", titles, "--output", "shop.index"])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn train(&self, output: &str, more: &[&str]) -> Run {
        let arguments = ["train", "--clicks", "clicks.tsv", "--output", output];
        self.run(&[&arguments, &SMALL[..], more].concat())
    }

    /// Runs the program with these arguments and empty standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    /// Runs the program with these arguments and this standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: impl Into<Vec<u8>>) -> Run {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut pipe, input) = (child.stdin.take().unwrap(), input.into());
        // On a thread of its own, since the program may write before it has read everything, or end without reading it.
        let writer = std::thread::spawn(move || pipe.write_all(&input));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        Run { arguments: arguments.join(" "), output }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(program());
        command.current_dir(self.0.path()).env_remove("CLICKVEC_LEVEL");
        command
    }
}

/// The program under test.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_clickvec"))
}

/// The result of a command.
pub(crate) struct Run {
    arguments: String,
    output: Output,
}

impl Run {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Run {
        assert_eq!(self.output.status.code(), Some(expected), "exit code\n{}", self.shown());
        self
    }

    /// Checks that standard error has this text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Run {
        assert!(self.stderr().contains(text), "expected `{text}` on standard error\n{}", self.shown());
        self
    }

    /// Checks that standard output has this text.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Run {
        assert!(self.stdout().contains(text), "expected `{text}` on standard output\n{}", self.shown());
        self
    }

    /// Checks that standard output is empty.
    #[track_caller]
    pub(crate) fn prints_nothing(self) -> Run {
        assert!(self.output.stdout.is_empty(), "expected nothing on standard output\n{}", self.shown());
        self
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let stdout = self.stdout();
        let parsed = stdout.lines().map(serde_json::from_str);
        parsed.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}\n{}", self.shown()))
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stdout_bytes(&self) -> &[u8] {
        &self.output.stdout
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn shown(&self) -> String {
        let [stdout, stderr] = [self.stdout(), self.stderr()];
        format!("clickvec {}\n── stdout ──\n{stdout}\n── stderr ──\n{stderr}", self.arguments)
    }
}

/// The anonymous memory, in bytes, that a process has; 0 if it has ended.
#[cfg(target_os = "linux")]
pub(crate) fn anonymous_memory(process: u32) -> u64 {
    let told = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes: u64 =
        line.and_then(|line| line.trim().strip_suffix("kB")).map_or(0, |size| size.trim().parse().unwrap());
    1024 * kilobytes
}
