//! Checks what ARCHITECTURE.md says and a program can check: the order of the modules, what the library never does,
//! sizes.

use std::path::{Path, PathBuf};

/// The modules of the library. A module uses only itself and those before it.
const ORDER: &[&str] = &[
    "error",
    "memory",
    "ragged",
    "rng",
    "pool",
    "files",
    "math",
    "text",
    "views",
    "loss",
    "encoder",
    "optimizer",
    "ridge",
    "click_model",
    "tables",
    "npy",
    "vector_file",
    "clicks",
    "settings",
    "tensor_file",
    "model",
    "vectors",
    "index",
    "ranker",
    "eval",
    "train",
    "update",
    "explain",
    "internals",
    "lib",
];

/// The modules of the lab.
const ORDER_OF_LAB: &[&str] = &["systems", "simulate", "explain", "table", "lib"];

/// The modules of the log reader, file by file. A folder's name means its `mod.rs`.
const ORDER_OF_LOGS: &[&str] = &[
    "columns",
    "error/asked",
    "error/parquet",
    "error",
    "distinct",
    "json",
    "paths",
    "sample",
    "time",
    "text",
    "user",
    "privacy/removed",
    "privacy/plain",
    "privacy/emails",
    "privacy/numbers",
    "privacy",
    "events",
    "report",
    "tables/format",
    "tables/record",
    "tables/header",
    "tables/head",
    "tables/csv",
    "tables/json",
    "tables/parquet",
    "tables/tsv",
    "tables",
    "preset",
    "gather/group",
    "gather/users",
    "gather/run",
    "gather/texts",
    "gather/memory",
    "gather/merge",
    "gather",
    "robots",
    "join",
    "titles",
    "emit",
    "prepare/asked",
    "prepare/seen",
    "prepare/positions",
    "prepare/config",
    "prepare/deferred",
    "prepare/rows",
    "prepare/inputs",
    "prepare",
    "lib",
];

/// The modules of the index that is served.
const ORDER_OF_ENGINE: &[&str] = &[
    "folder",
    "table",
    "layout",
    "encode",
    "format",
    "bm25",
    "error",
    "map",
    "background",
    "words",
    "request",
    "answer",
    "facts",
    "teacher",
    "trigrams",
    "fusion",
    "changes",
    "build",
    "segment",
    "engine",
    "check",
    "search",
    "searcher",
    "update",
    "fuzzing",
    "lib",
];

/// The modules of the service.
const ORDER_OF_SERVICE: &[&str] = &[
    "error",
    "limits",
    "fault",
    "log",
    "metrics",
    "tokens",
    "hosts",
    "clients",
    "places",
    "workers",
    "generation",
    "clicks",
    "judgments",
    "config",
    "service",
    "call",
    "routes/page",
    "routes/facts",
    "routes/search",
    "routes/embed",
    "routes/openai",
    "routes/explain",
    "routes/admin",
    "routes/click",
    "routes",
    "openapi",
    "dispatch",
    "connection",
    "server",
    "fuzzing",
    "lib",
];

/// The modules of the program. Files of the same command may use each other.
const ORDER_OF_PROGRAM: &[&str] = &[
    "advice",
    "answer",
    "interrupt",
    "output",
    "page",
    "program",
    "progress",
    "metrics",
    "numbers",
    "aligned",
    "superscripts",
    "test_set",
    "weighting",
    "header",
    "json_file",
    "input",
    "stored",
    "titles",
    "fused",
    "commands/welcome",
    "commands/inspect",
    "commands/completions",
    "commands/man",
    "commands/check",
    "commands/prepare",
    "commands/simulate",
    "commands/train",
    "commands/index",
    "commands/update",
    "commands/judge",
    "commands/evaluate",
    "commands/embed",
    "commands/search",
    "commands/serve",
    "commands/table",
    "commands/explain",
    "commands/export",
    "commands/demo",
    "commands",
    "run",
    "embedded",
    "fuzzing",
    "lib",
    "main",
];

/// The modules of the Python package.
const ORDER_OF_PYTHON: &[&str] = &[
    "fork", "error", "json", "work", "events", "arrow", "texts", "clicks", "bridge", "pulled", "explain", "model",
    "train", "scorer", "ranker", "search", "evaluate", "program", "lib",
];

/// A crate of the workspace, by its folder.
struct Crate {
    folder: &'static str,
    order: &'static [&'static str],
}

const LIBRARY: Crate = Crate { folder: "clickvec", order: ORDER };
const LAB: Crate = Crate { folder: "clickvec-lab", order: ORDER_OF_LAB };
const LOGS: Crate = Crate { folder: "clickvec-logs", order: ORDER_OF_LOGS };
const ENGINE: Crate = Crate { folder: "clickvec-index", order: ORDER_OF_ENGINE };
const SERVICE: Crate = Crate { folder: "clickvec-serve", order: ORDER_OF_SERVICE };
const PROGRAM: Crate = Crate { folder: "clickvec-cli", order: ORDER_OF_PROGRAM };
/// The crate of the Python package, a workspace of its own.
const PYTHON: Crate = Crate { folder: "clickvec-py", order: ORDER_OF_PYTHON };

impl Crate {
    /// The files of the crate; none for another crate in a published crate, which is tested alone.
    fn sources(&self) -> Vec<Source> {
        let src = root().join("crates").join(self.folder).join("src");
        if src.is_dir() { sources_in(&src) } else { Vec::new() }
    }

    /// The position in the order of the module that `path` leads to: `["gather", "group", "Cell"]` is in
    /// `gather/group`.
    fn place(&self, path: &[String]) -> Option<usize> {
        let known = |length: usize| self.order.iter().position(|&module| module == path[..length].join("/"));
        // `crate::Error` and `crate::Result` belong to `error`.
        match path {
            [name] if ["Error", "Result"].contains(&name.as_str()) => self.order.iter().position(|&m| m == "error"),
            path => (1..=path.len()).rev().find_map(known),
        }
    }

    /// The uses of modules that do not come before.
    fn faults(&self) -> Vec<String> {
        let (sources, mut faults) = (self.sources(), Vec::new());
        // Tests may use later modules.
        for source in sources.iter().filter(|source| !is_of_tests(source, &sources)) {
            let Some(own) = self.place(&source.path()) else {
                faults
                    .push(format!("{}: {}: a module that is not in the order; put it there", self.folder, source.name));
                continue;
            };
            for used in source.without_tests().uses() {
                let is_fault = self.order[own] == "error" && ERROR_NAMES.contains(&used.join("::").as_str());
                if self.place(&used).is_none_or(|other| other > own) && !is_fault {
                    faults.push(format!(
                        "{}: {}: `{}` is not before `{}`",
                        self.folder,
                        source.name,
                        used.join("::"),
                        self.order[own]
                    ));
                }
            }
        }
        faults
    }
}

/// The faults of other modules that `error` may name, and nothing else of theirs.
const ERROR_NAMES: [&str; 4] =
    ["encoder::SizeFault", "settings::SettingFault", "text::DuplicateTrigram", "text::DuplicateWord"];

#[derive(Clone)]
struct Source {
    /// The path relative to `src`, with `/`.
    name: String,
    /// The code without comments.
    code: String,
    whole: String,
}

impl Source {
    /// The module: `clicks` for `clicks/log.rs`, `loss` for `loss.rs`.
    fn module(&self) -> &str {
        self.name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// The path: `clicks`, `log` for `clicks/log.rs`; `clicks` for `clicks/mod.rs`.
    fn path(&self) -> Vec<String> {
        let name = self.name.trim_end_matches(".rs").trim_end_matches("/mod");
        name.split('/').map(str::to_owned).collect()
    }

    /// The part before the tests, which come last in a file.
    fn without_tests(&self) -> Source {
        let code = self.code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
        Source { name: self.name.clone(), code, whole: String::new() }
    }

    /// All paths from `crate::` (but not `$crate::`, which is a macro's) or `super::` on, as seen from the crate's root.
    fn uses(&self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for (at, start) in ["crate::", "super::"].iter().flat_map(|start| self.code.match_indices(start)) {
            let before = self.code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let (mut from, mut rest) = (Vec::new(), &self.code[at..]);
            if start == "super::" {
                from = self.path();
                // A `use` that is indented is in a module inside the file.
                let line = self.code[..at].rsplit('\n').next().unwrap_or_default();
                let inner =
                    if line.trim_start().starts_with("use ") { line.len() - line.trim_start().len() } else { 0 };
                from.extend((0..inner / 4).map(|_| "inner".to_owned()));
                while let Some(outer) = rest.strip_prefix("super::") {
                    from.pop();
                    rest = outer;
                }
            } else {
                rest = &rest[start.len()..];
            }
            expand(rest, from, &mut found);
        }
        found
    }
}

/// Appends the paths that begin with `from` and continue as in `text`: `a::{B, c::D}` is `a::B` and `a::c::D`. Returns
/// the rest.
fn expand<'t>(text: &'t str, mut from: Vec<String>, found: &mut Vec<Vec<String>>) -> &'t str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(end) = rest.strip_prefix('}') {
                return end;
            }
            let after = expand(rest, from.clone(), found);
            // ` as name`, or characters that no path has.
            let next = after.find([',', '}']).unwrap_or(after.len());
            rest = &after[next..];
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if end == 0 || &text[..end] == "self" {
        found.push(from);
        return &text[end..];
    }
    from.push(text[..end].to_owned());
    match text[end..].strip_prefix("::") {
        Some(rest) => expand(rest, from, found),
        None => {
            found.push(from);
            &text[end..]
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Vec<Source> {
    let all = sources_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../clickvec/src"));
    assert!(all.len() > 30, "only {} files", all.len());
    all
}

fn sources_in(src: &Path) -> Vec<Source> {
    let mut folders = vec![src.to_owned()];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let whole = std::fs::read_to_string(&path).expect("text");
                let name = path.strip_prefix(src).expect("inside").to_string_lossy().replace('\\', "/");
                all.push(Source { name, code: without_comments(&whole), whole });
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Cuts comments from `//` on where it begins a line or follows a space: a string such as a URL stays.
fn without_comments(text: &str) -> String {
    let line = |line: &str| match line.trim_start().starts_with("//") {
        true => String::new(),
        false => line.split(" // ").next().unwrap_or_default().to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// Whether `word` occurs in `code` without a letter, digit or underscore before it.
fn has_word(code: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| !code[..at].chars().next_back().is_some_and(letter))
}

/// Whether the module that declares this file does so for tests alone.
fn is_of_tests(source: &Source, sources: &[Source]) -> bool {
    let Some((folder, file)) = source.name.rsplit_once('/') else { return false };
    let module = file.trim_end_matches(".rs");
    let declared = ["mod", "pub(crate) mod"].map(|declared| format!("#[cfg(test)]\n{declared} {module};"));
    let parents = [format!("{folder}/mod.rs"), format!("{folder}.rs")];
    sources
        .iter()
        .any(|parent| parents.contains(&parent.name) && declared.iter().any(|declared| parent.code.contains(declared)))
}

#[test]
fn a_module_uses_only_what_stands_before_it() {
    let faults: Vec<String> =
        [LIBRARY, LAB, LOGS, ENGINE, SERVICE, PROGRAM, PYTHON].iter().flat_map(Crate::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Modules that a part of the library must not know.
#[test]
fn judging_knows_no_vector_and_exact_search_nothing_but_vectors() {
    let mut seen = [0, 0];
    for source in sources() {
        let uses = source.uses();
        let mut knows = |which: usize, modules: &[&str]| {
            seen[which] += 1;
            let of = |used: &Vec<String>| used.first().is_some_and(|module| modules.contains(&module.as_str()));
            let bad: Vec<&Vec<String>> = uses.iter().filter(|used| of(used)).collect();
            assert!(bad.is_empty(), "{}: {bad:?}", source.name);
        };
        if source.module() == "eval" {
            knows(0, &["math", "encoder", "model", "vectors", "tensor_file", "train"]);
            // Of an index, it knows the seam that finds candidates: a whole collection is judged through it.
            let of_index = uses.iter().filter(|used| used.first().is_some_and(|module| module == "index"));
            let beyond: Vec<_> =
                of_index.filter(|used| !["Candidates", "Hit", "Query"].contains(&used[1].as_str())).collect();
            assert!(beyond.is_empty(), "{}: {beyond:?}", source.name);
        }
        if ["index/flat.rs", "index/codes.rs", "index/quantized.rs", "index/exact.rs"].contains(&source.name.as_str()) {
            knows(1, &["text", "eval", "encoder", "model", "ranker", "tables", "clicks", "train", "files"]);
        }
    }
    assert!(seen[0] > 3 && seen[1] == 4, "{seen:?}");
}

/// Macros and functions that write to a terminal or end the process.
const PRINTS: [&str; 9] =
    ["println!", "eprintln!", "print!", "eprint!", "dbg!", "stdout(", "stderr(", "process::exit", "process::abort"];
/// Names that ask the environment.
const ASKS: [&str; 5] = ["std::env", "env::var", "env::args", "std::net", "TcpStream"];

#[test]
fn the_libraries_never_print_and_ask_for_nothing() {
    for sources in [sources(), LOGS.sources(), ENGINE.sources()] {
        // Its tests may say what they skip, and read the environment.
        for source in sources.iter().filter(|source| !is_of_tests(source, &sources)).map(Source::without_tests) {
            for word in PRINTS.iter().chain(&ASKS) {
                assert!(!has_word(&source.code, word), "{}: `{word}`", source.name);
            }
        }
    }
    // The service is asked over the network; what it says goes to its log.
    for source in SERVICE.sources().iter().map(Source::without_tests) {
        for word in PRINTS.iter().chain(&["std::env", "env::var", "env::args", "unsafe "]) {
            assert!(!has_word(&source.code, word), "{}: `{word}`", source.name);
        }
    }
}

/// A printing macro panics if standard output is closed.
#[test]
fn the_program_prints_without_macros_and_has_no_unsafe_code() {
    for source in PROGRAM.sources().iter().map(Source::without_tests) {
        for word in ["println!", "eprintln!", "print!", "eprint!", "dbg!", "unsafe "] {
            assert!(!has_word(&source.code, word), "{}: `{word}`", source.name);
        }
    }
}

/// The program knows its flags, and the library and the service do not: `output` may be an argument of a function in Python.
#[test]
fn the_library_knows_no_flags() {
    let others = [LOGS, ENGINE, SERVICE].map(|of| of.sources()).concat();
    for source in sources().iter().chain(&others).map(Source::without_tests) {
        let flags = source.code.match_indices("--").map(|(at, _)| &source.code[at..]).filter(|rest| {
            rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_lowercase()) && !rest.starts_with("---")
        });
        let flags: Vec<&str> = flags.map(|rest| rest.split([' ', '"', '`']).next().unwrap_or_default()).collect();
        assert!(flags.is_empty(), "{}: {flags:?}", source.name);
    }
}

/// A message whose line lost the backslash at its end has the next line's indentation in its middle. A column of a report has one
/// word before its spaces, and code has no such spaces outside of strings.
fn broken_line(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_broken = |at: usize| {
        let before = line[..at].rsplit('"').next().unwrap_or_default();
        let before = before.rsplit("\\n").next().unwrap_or_default().trim();
        let is_word = |c: char| c.is_alphabetic() || "`({".contains(c);
        before.contains(' ') && line[at..].trim_start().starts_with(is_word)
    };
    line.match_indices("        ").any(|(at, _)| is_broken(at)).then_some(line)
}

#[test]
fn no_message_lost_the_end_of_a_line() {
    assert!(broken_line("            \"found {}; leave              one of the two out\",").is_some());
    assert!(broken_line("    #[error(\"found the query `{query}`;          each title needs a text\")]").is_some());
    for sound in [
        "    writeln!(text, \"time          reading {reading}\");",
        "\"two words\\n        and one\"",
        "    let a = b;",
    ] {
        assert!(broken_line(sound).is_none(), "{sound}");
    }
    for of in [LIBRARY, LAB, LOGS, ENGINE, SERVICE, PROGRAM, PYTHON] {
        for source in of.sources().iter().map(Source::without_tests) {
            let broken: Vec<&str> = source.code.lines().filter_map(broken_line).collect();
            assert!(broken.is_empty(), "{}: {broken:?}", source.name);
        }
    }
}

#[test]
fn unsafe_code_is_in_the_kernels_and_around_memory_maps() {
    let mut found = 0;
    for source in sources() {
        if has_word(&source.code, "unsafe ") || source.code.contains("unsafe{") {
            let allowed =
                source.module() == "math" || ["clicks/spool.rs", "tensor_file.rs"].contains(&source.name.as_str());
            assert!(allowed, "{}: unsafe code", source.name);
            assert!(source.whole.contains("SAFETY"), "{}: unsafe code without a SAFETY comment", source.name);
            found += 1;
        }
    }
    assert!(found >= 3, "this test no longer sees unsafe code");
    for source in LOGS.sources() {
        assert!(!has_word(&source.code, "unsafe "), "{}: unsafe code", source.name);
    }
    for source in ENGINE.sources() {
        let is_map = source.name == "map.rs" && source.whole.contains("SAFETY");
        assert!(is_map || !has_word(&source.code, "unsafe "), "{}: unsafe code", source.name);
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let folders = ["clickvec", "clickvec-tests", "clickvec-logs", "clickvec-index", "clickvec-serve", "clickvec-cli"];
    let folders = folders.map(|name| root().join("crates").join(name));
    let folders = folders.iter().flat_map(|folder| ["src", "tests", "examples"].map(|inner| folder.join(inner)));
    let folders = folders.chain([root().join("bench/src")]).filter(|folder| folder.is_dir());
    let mut seen = 0;
    for source in folders.flat_map(|folder| sources_in(&folder)) {
        let lines = source.whole.lines().count();
        assert!(lines <= 800, "{}: {lines} lines, at most 800", source.name);
        assert!(source.whole.starts_with("//!"), "{}: expected a first line `//! …` that says what it is", source.name);
        seen += 1;
    }
    assert!(seen > 100 || !root().join("bench").is_dir(), "only {seen} files");
}

/// Verbs with which the summary of a function must not begin if it returns a value: it says what that is.
const VERBS: &[&str] = &[
    "Adds",
    "Answers",
    "Appends",
    "Asks",
    "Begins",
    "Builds",
    "Calculates",
    "Calls",
    "Checks",
    "Chooses",
    "Compares",
    "Computes",
    "Continues",
    "Creates",
    "Divides",
    "Encodes",
    "Explains",
    "Fills",
    "Finds",
    "Gives",
    "Joins",
    "Keeps",
    "Learns",
    "Loads",
    "Makes",
    "Offers",
    "Opens",
    "Parses",
    "Passes",
    "Prepares",
    "Puts",
    "Reads",
    "Removes",
    "Replaces",
    "Restores",
    "Returns",
    "Says",
    "Searches",
    "Takes",
    "Tells",
    "Trains",
    "Updates",
    "Uses",
    "Writes",
];

/// What a signature returns, if that is a value: `Some("u32")` for `fn a(b: impl Fn() -> bool) -> u32 {`.
fn returned(signature: &str) -> Option<&str> {
    let mut depth = 0;
    let arrow = signature.char_indices().find(|&(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && signature[at..].starts_with("-> ")
    });
    let value = signature[arrow?.0 + 3..].trim_end_matches([' ', '{', ';']);
    (!["Result<()", "io::Result<()>"].iter().any(|none| value.starts_with(none))).then_some(value)
}

/// The summaries of public functions, those of public traits among them, that return a value and begin with one of the verbs.
fn summaries_with_a_verb(text: &str) -> Vec<&str> {
    let whole: Vec<&str> = text.lines().collect();
    let lines: Vec<&str> = whole.iter().map(|line| line.trim()).collect();
    let is_summary = |at: usize| lines[at].starts_with("/// ") && (at == 0 || !lines[at - 1].starts_with("///"));
    // What is not indented says what the lines below it are part of.
    let is_of_trait = |at: usize| {
        let outer = whole[..at].iter().rfind(|line| line.starts_with(|c: char| !c.is_whitespace()));
        outer.is_some_and(|outer| outer.starts_with("pub trait "))
    };
    let is_fault = |at: usize| {
        let mut after = lines[at..].iter().skip_while(|line| line.starts_with("///") || line.starts_with("#["));
        let mut signature = String::new();
        while let Some(line) = after.next().filter(|_| !signature.ends_with(['{', ';'])) {
            signature += line;
        }
        let is_public = ["pub fn ", "pub const fn "].iter().any(|start| signature.starts_with(start))
            || (signature.starts_with("fn ") && is_of_trait(at));
        let first = lines[at].split(' ').nth(1).unwrap_or_default();
        is_public && VERBS.contains(&first) && returned(&signature).is_some()
    };
    (0..lines.len()).filter(|&at| is_summary(at) && is_fault(at)).map(|at| lines[at]).collect()
}

#[test]
fn a_function_that_returns_a_value_is_summarised_by_a_noun() {
    let text = "/// Reads a.\n///\n/// # Errors\n#[inline]\npub fn a(\n    b: u8,\n) -> Result<u8> {\n}\n\n/// Reads c.\n\
                pub fn c(d: impl Fn() -> u8) {\n/// Makes e.\npub fn e() -> Result<()> {\n/// Reads f.\nfn f() -> u8 {\n\
                /// The g.\n/// Reads it.\npub fn g() -> u8 {\n/// Joins h.\npub const fn h() -> u8 {\n}\n\
                pub trait I {\n    /// Takes i.\n    fn i() -> u8;\n\n    /// Takes j.\n    fn j();\n}\n\
                impl I for K {\n    /// Takes k.\n    fn i() -> u8 {";
    assert_eq!(summaries_with_a_verb(text), ["/// Reads a.", "/// Joins h.", "/// Takes i."]);
    let others = [LOGS, ENGINE, SERVICE].into_iter().flat_map(|of| of.sources());
    for source in sources().into_iter().chain(others) {
        let faults = summaries_with_a_verb(&source.whole);
        assert!(faults.is_empty(), "{}: expected what the function returns, found {faults:?}", source.name);
    }
}

#[test]
fn the_architecture_fits_on_a_few_pages() {
    // A published crate is tested without the repository around it.
    let Ok(text) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) else { return };
    assert!(text.lines().count() < 200, "ARCHITECTURE.md has {} lines", text.lines().count());
}

#[test]
fn this_test_sees_what_it_should() {
    let code = without_comments(
        "use crate::a; // crate::b\n  // crate::c\nlet x = \"http://d\"; $crate::e; my_crate::f;\n\
         use crate::{G, h::{I, self}};\nuse super::{j as k, l};\nsuper::super::m();\n    use super::super::n;\n",
    );
    let source = Source { name: "clicks/log.rs".to_owned(), code, whole: String::new() };
    let uses: Vec<String> = source.uses().iter().map(|used| used.join("::")).collect();
    assert_eq!(uses, ["a", "G", "h::I", "h", "clicks::j", "clicks::l", "m", "clicks::n"]);
    assert_eq!((source.module(), source.path().join("/")), ("clicks", "clicks/log".to_owned()));
    assert!(has_word("a println!(1)", "println!") && !has_word("eprintln!(1)", "println!"));
    // A circle of two modules is noticed.
    let order = Crate { folder: "none", order: &["a", "b/c", "b"] };
    let place = |path: &str| order.place(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
    assert_eq!((place("b::c::D"), place("b::E"), place("a"), place("f")), (Some(1), Some(2), Some(0), None));
}
