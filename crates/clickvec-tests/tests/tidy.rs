//! Checks what ARCHITECTURE.md promises and the sources can show: which crate and module uses which, what libraries never do,
//! where `unsafe` is allowed, sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates that talk to a terminal: they may print, and read arguments and the environment.
const PROGRAMS: [&str; 3] = ["clickvec-cli", "clickvec-mpi", "clickvec-py"];

/// The crate that opens sockets.
const SERVICE: &str = "clickvec-serve";

/// The sources with unsafe code, by how their path begins. The compiler requires an `allow` and a SAFETY comment there.
const UNSAFE: [&str; 7] = [
    "clickvec/src/math/",
    "clickvec/src/clicks/spool.rs",
    "clickvec/src/tensor_file.rs",
    "clickvec-index/src/map.rs",
    "clickvec-serve/src/memory.rs",
    "clickvec-cli/src/closed.rs",
    "clickvec-py/src/arrow.rs",
];

/// Macros and functions that write to a terminal or end the process.
const PRINTS: [&str; 9] =
    ["println!", "eprintln!", "print!", "eprint!", "dbg!", "stdout(", "stderr(", "process::exit", "process::abort"];

/// Names that read arguments and the environment.
const ENVIRONMENT: [&str; 3] = ["std::env", "env::var", "env::args"];

/// Names that open sockets.
const SOCKETS: [&str; 3] = ["std::net", "TcpStream", "TcpListener"];

#[test]
fn a_crate_uses_only_crates_below_it() {
    let members = members();
    let mut faults = Vec::new();
    for (position, name) in members.iter().enumerate() {
        let manifest = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for used in dependencies.lines().filter_map(|line| line.split([' ', '.', '=']).next()) {
            if used.starts_with("clickvec") && !members[..position].iter().any(|below| below == used) {
                faults.push(format!("{name} uses {used}, which is not below it in the members of Cargo.toml"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_modules_of_a_folder_use_each_other_in_no_circle() {
    let mut faults = Vec::new();
    for name in crates() {
        let sources = sources(&name);
        let modules: BTreeSet<String> = sources.iter().map(Source::module).collect();
        let exports: Exports = sources.iter().flat_map(|source| source.exports(&modules)).collect();
        // For each folder, which of its modules use which.
        let mut uses: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.is_for_tests(&sources)) {
            let own = source.module();
            for used in source.used(&modules, &exports) {
                let (mut folder, mut rest, mut other) = (String::new(), own.as_str(), used.as_str());
                // What both begin with is the folder they share; a folder and what is in it belong together.
                while let (Some((a, after)), Some((b, beyond))) = (rest.split_once('/'), other.split_once('/')) {
                    if a != b {
                        break;
                    }
                    folder = format!("{folder}{a}/");
                    (rest, other) = (after, beyond);
                }
                let (from, to) = (rest.split('/').next().unwrap(), other.split('/').next().unwrap());
                if from != to {
                    uses.entry((folder, from.to_owned())).or_default().insert(to.to_owned());
                }
            }
        }
        for (folder, from) in uses.keys() {
            if let Some(way) = circle(&uses, folder, from) {
                faults.push(format!("{name}/src/{folder}: {}", way.join(" → ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn libraries_neither_print_nor_ask() {
    let mut faults = Vec::new();
    for name in crates().iter().filter(|name| !PROGRAMS.contains(&name.as_str())) {
        let sources = sources(name);
        for source in sources.iter().filter(|source| !source.is_for_tests(&sources)) {
            let sockets = if name == SERVICE { &[][..] } else { &SOCKETS };
            for word in PRINTS.iter().chain(&ENVIRONMENT).chain(sockets) {
                if has_word(source.code(), word) {
                    faults.push(format!("{name}/src/{}: `{word}`", source.path));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn programs_print_without_macros_which_panic_when_output_is_closed() {
    for name in PROGRAMS {
        for source in sources(name) {
            for word in &PRINTS[..5] {
                assert!(!has_word(source.code(), word), "{name}/src/{}: `{word}`", source.path);
            }
        }
    }
}

#[test]
fn libraries_know_no_options_of_the_program() {
    for name in crates().iter().filter(|name| !PROGRAMS.contains(&name.as_str())) {
        // The page about settings is the program's, which asks the library to write it; so are the commands that come next for a file.
        let is_programs =
            |path: &str| ["settings/reference.rs", "settings/tests.rs", "inspect/next.rs"].contains(&path);
        for source in sources(name).iter().filter(|source| !is_programs(&source.path)) {
            // Cargo's options are no options of the program.
            let code = source.code().replace("cargo build --release --features", "");
            let options = code.match_indices("--").map(|(at, _)| &code[at + 2..]);
            let is_option = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_lowercase());
            // Pages have properties of CSS, which are read as `var(--a)` and set as `--a:`.
            let is_property =
                |rest: &&str| rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with([')', ':']);
            let options: Vec<&str> = options.filter(is_option).filter(|rest| !is_property(rest)).collect();
            let first = options.first().map(|rest| rest.split(['"', ' ', '`']).next());
            assert!(options.is_empty(), "{name}/src/{}: {first:?}: Python has no options", source.path);
        }
    }
}

#[test]
fn unsafe_code_is_where_it_is_allowed() {
    for name in crates() {
        for source in sources(&name) {
            let path = format!("{name}/src/{}", source.path);
            let allowed = UNSAFE.iter().any(|allowed| path.starts_with(allowed));
            assert!(allowed || !has_word(&source.text, "unsafe "), "{path}: unsafe code");
        }
    }
}

#[test]
fn two_values_are_told_apart_by_if() {
    for name in crates() {
        let sources = sources(&name);
        for source in sources.iter().filter(|source| !source.is_for_tests(&sources)) {
            let words = source.code().split_whitespace().collect::<Vec<_>>().join(" ");
            for arm in ["{ true =>", "{ false =>"] {
                assert!(!words.contains(arm), "{name}/src/{}: expected `if`, found a match on a bool", source.path);
            }
        }
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for name in crates() {
        for folder in ["src", "tests", "examples"] {
            for source in sources_in(&root().join("crates").join(&name).join(folder)) {
                let (path, lines) = (format!("{name}/{folder}/{}", source.path), source.text.lines().count());
                assert!(lines <= 800, "{path}: {lines} lines, at most 800");
                assert!(source.text.starts_with("//!"), "{path}: expected a first line `//! …` that says what it is");
            }
        }
    }
}

#[test]
fn the_architecture_fits_on_a_few_pages() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() < 150, "ARCHITECTURE.md has {} lines", text.lines().count());
}

/// Where items are that a module offers under its own name: the module and the item, then the module that has it.
type Exports = BTreeMap<(String, String), String>;

/// A file of sources.
struct Source {
    /// The path in its folder, with `/`.
    path: String,
    /// The text without comments.
    text: String,
}

impl Source {
    /// Returns the part before the tests, which come last in a file.
    fn code(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
    }

    /// Returns the module: `clicks/log` for `clicks/log.rs`, `clicks` for `clicks/mod.rs`.
    fn module(&self) -> String {
        self.path.trim_end_matches(".rs").trim_end_matches("/mod").to_owned()
    }

    /// Returns the items that this module offers under its own name and that are another module's: the item, then where it is.
    fn exports(&self, modules: &BTreeSet<String>) -> Vec<((String, String), String)> {
        let module = self.module();
        let own = if module == "lib" { "" } else { &module };
        let lines = self.code().split(';').filter_map(|code| {
            let (before, path) = code.rsplit_once("use ")?;
            let is_offered = before.rsplit(['\n', ' ']).next().is_some_and(|last| last.is_empty())
                && before.trim_end().ends_with(['b', ')']);
            is_offered.then_some(path.strip_prefix("self::").unwrap_or(path))
        });
        let mut exports = Vec::new();
        for line in lines {
            let mut paths = Vec::new();
            let outer = own.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            expand(line, outer, &mut paths);
            for path in paths {
                let (Some(name), folder) = (path.last().cloned(), path[..path.len() - 1].join("/")) else { continue };
                if folder != own && modules.contains(&folder) {
                    exports.push(((own.to_owned(), name), folder));
                }
            }
        }
        exports
    }

    /// Returns the modules that the paths from `crate::` and `super::` lead to, without the crate's root. What a module offers of
    /// another one is looked up there.
    fn used(&self, modules: &BTreeSet<String>, exports: &Exports) -> BTreeSet<String> {
        let mut paths = Vec::new();
        let code = self.code();
        for (at, start) in ["crate::", "super::"].iter().flat_map(|start| code.match_indices(start)) {
            // Not `$crate::`, which is a macro's, and not the second `super::` of two.
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let (mut from, mut rest) = (Vec::new(), &code[at..]);
            if start == "super::" {
                from = self.module().split('/').map(str::to_owned).collect();
                while let Some(outer) = rest.strip_prefix("super::") {
                    from.pop();
                    rest = outer;
                }
            } else {
                rest = &rest[start.len()..];
            }
            expand(rest, from, &mut paths);
        }
        let module = |path: Vec<String>| {
            let mut lengths = (0..=path.len()).rev();
            let length = lengths.find(|&length| length == 0 || modules.contains(&path[..length].join("/")))?;
            let (mut module, item) = (path[..length].join("/"), path.get(length));
            while let Some(inner) = item.and_then(|item| exports.get(&(module.clone(), item.clone()))) {
                module.clone_from(inner);
            }
            (!module.is_empty()).then_some(module)
        };
        paths.into_iter().filter_map(module).collect()
    }

    /// Returns whether the module that declares this file does so for tests alone.
    fn is_for_tests(&self, sources: &[Source]) -> bool {
        let module = self.module();
        let (folder, name) = module.rsplit_once('/').unwrap_or(("", &module));
        let declared = ["mod", "pub(crate) mod"].map(|declared| format!("#[cfg(test)]\n{declared} {name};"));
        let parent = if folder.is_empty() { "lib" } else { folder };
        sources.iter().any(|source| source.module() == parent && declared.iter().any(|text| source.text.contains(text)))
    }
}

/// Returns a way from a module over others of its folder back to itself, if there is one and this module is its first by name.
fn circle(uses: &BTreeMap<(String, String), BTreeSet<String>>, folder: &str, start: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![start.to_owned()]];
    while let Some(way) = ways.pop() {
        for next in uses.get(&(folder.to_owned(), way.last()?.clone())).into_iter().flatten() {
            let longer: Vec<String> = way.iter().chain([next]).cloned().collect();
            if next == start {
                return Some(longer);
            }
            if next.as_str() > start && seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

/// Appends the paths that begin with `from` and continue as in `text`: `a::{B, c::D}` is `a::B` and `a::c::D`. Returns the rest.
fn expand<'t>(text: &'t str, mut from: Vec<String>, found: &mut Vec<Vec<String>>) -> &'t str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(end) = rest.strip_prefix('}') {
                return end;
            }
            let after = expand(rest, from.clone(), found);
            // ` as name`, or characters that no path has.
            rest = &after[after.find([',', '}']).unwrap_or(after.len())..];
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

/// Returns the crates of the workspace, lowest first, as its manifest lists them.
fn members() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    members.split('"').filter_map(|member| member.strip_prefix("crates/")).map(str::to_owned).collect()
}

/// Returns all crates: the workspace's, and the program for MPI, which is a workspace of its own.
fn crates() -> Vec<String> {
    let mut crates = members();
    crates.push("clickvec-mpi".to_owned());
    assert!(crates.len() > 6, "{crates:?}");
    crates
}

fn sources(name: &str) -> Vec<Source> {
    sources_in(&root().join("crates").join(name).join("src"))
}

fn sources_in(folder: &Path) -> Vec<Source> {
    let mut folders = vec![folder.to_owned()];
    let mut all = Vec::new();
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(&inner).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
                all.push(Source { path, text: without_comments(&text) });
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Empties comments that begin a line or follow a space, except the first line, which says what a file is.
fn without_comments(text: &str) -> String {
    let line = |(number, line): (usize, &str)| {
        let code = if line.trim_start().starts_with("//") { "" } else { line.split(" // ").next().unwrap_or_default() };
        format!("{}\n", if number == 0 { line } else { code })
    };
    text.lines().enumerate().map(line).collect()
}

/// Returns whether `word` occurs in `code` without a letter, digit or underscore before it.
fn has_word(code: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(letter))
}

#[test]
fn these_tests_see_what_they_should() {
    let text = "//! A log.\nuse crate::a; // crate::b\n  // crate::c\nlet x = \"http://d\"; $crate::e; my_crate::f;\n\
                use crate::{g, h::{I, self}};\nuse super::{j as k, l};\nsuper::super::m();\n#[cfg(test)]\nmod tests {\ncrate::n";
    let source = Source { path: "clicks/log.rs".to_owned(), text: without_comments(text) };
    let modules = ["a", "b", "c", "d", "e", "f", "g", "h", "clicks/j", "clicks/l", "m", "n"].map(str::to_owned).into();
    let used: Vec<String> = source.used(&modules, &Exports::new()).into_iter().collect();
    assert_eq!(used, ["a", "clicks/j", "clicks/l", "g", "h", "m"]);
    assert!(has_word("a println!(1)", "println!") && !has_word("eprintln!(1)", "println!"));
    let edge = |from: &str, to: &[&str]| {
        ((String::new(), from.to_owned()), to.iter().map(|&to| to.to_owned()).collect::<BTreeSet<_>>())
    };
    let uses = [edge("a", &["b"]), edge("b", &["c"]), edge("c", &["a", "d"]), edge("d", &["b"])].into();
    let way = |start| circle(&uses, "", start).map(|way| way.concat());
    assert_eq!(["a", "b", "c", "d"].map(way), [Some("abca".to_owned()), Some("bcdb".to_owned()), None, None]);
}
