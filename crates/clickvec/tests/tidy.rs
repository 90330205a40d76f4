//! What a program can hold of ARCHITECTURE.md: the order of the modules, what the library never does, sizes.

use std::path::{Path, PathBuf};

/// A module uses itself, and what stands before it.
const ORDER: [&str; 21] = [
    "error",
    "rng",
    "files",
    "math",
    "text",
    "loss",
    "encoder",
    "optimizer",
    "click_model",
    "clicks",
    "simulate",
    "settings",
    "tensor_file",
    "model",
    "vectors",
    "ranker",
    "eval",
    "train",
    "index",
    "collection",
    "lib",
];

/// `error` names the faults that other modules define, and nothing else of theirs.
const ERROR_NAMES: [&str; 3] =
    ["crate::encoder::SizeFault", "crate::settings::SettingFault", "crate::text::DuplicateTrigram"];

struct Source {
    /// Relative to `src`, with `/`.
    name: String,
    /// Without comments.
    code: String,
    whole: String,
}

impl Source {
    /// `clicks` of `clicks/log.rs`, `loss` of `loss.rs`.
    fn module(&self) -> &str {
        self.name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// What stands before the tests, which come last in a file.
    fn without_tests(&self) -> Source {
        let code = self.code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
        Source { name: self.name.clone(), code, whole: String::new() }
    }

    /// What follows each `crate::` (but not `$crate::`, which is a macro's), up to what ends a path.
    fn uses(&self) -> impl Iterator<Item = String> {
        // `crate::{A, b::C}` is `crate::A` and `crate::b::C`.
        let braces = self.code.split("crate::{").skip(1).filter_map(|rest| rest.split_once('}'));
        let braces = braces.flat_map(|(names, _)| names.split(',').map(|name| format!("crate::{}", name.trim())));
        let path = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
        let starts = self.code.match_indices("crate::");
        let starts =
            starts.filter(|&(at, _)| at == 0 || !matches!(self.code.as_bytes()[at - 1], b'$' | b'_' | b'a'..=b'z'));
        let starts = starts.filter(|&(at, _)| !self.code[at..].starts_with("crate::{"));
        starts.map(move |(at, _)| path(&self.code[at..])).chain(braces)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources() -> Vec<Source> {
    let all = sources_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(all.len() > 30, "only {} files", all.len());
    all
}

/// Those of the crate that reads raw logs; none in a published crate, which is tested without its neighbours.
fn sources_of_logs() -> Vec<Source> {
    let src = root().join("crates/clickvec-logs/src");
    if src.is_dir() { sources_in(&src) } else { Vec::new() }
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

/// Whether `word` stands in `code` with no letter, digit or underscore before it.
fn has_word(code: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| !code[..at].chars().next_back().is_some_and(letter))
}

/// Whether the module that declares this file does so for tests alone.
fn is_of_tests(source: &Source, sources: &[Source]) -> bool {
    let Some((folder, file)) = source.name.rsplit_once('/') else { return false };
    let declared = format!("#[cfg(test)]\nmod {};", file.trim_end_matches(".rs"));
    let parents = [format!("{folder}/mod.rs"), format!("{folder}.rs")];
    sources.iter().any(|parent| parents.contains(&parent.name) && parent.code.contains(&declared))
}

#[test]
fn a_module_uses_only_what_stands_before_it() {
    let place = |module: &str| ORDER.iter().position(|&known| known == module);
    let mut faults = Vec::new();
    let sources = sources();
    for source in &sources {
        // Tests may look ahead.
        if is_of_tests(source, &sources) {
            continue;
        }
        let Some(own) = place(source.module()) else {
            faults.push(format!("{}: a module that is not in the order; put it there", source.name));
            continue;
        };
        for used in source.without_tests().uses() {
            let module = used.split("::").nth(1).unwrap_or_default();
            // `crate::Error` and `crate::Result` are `error`'s.
            let module = if module.starts_with(char::is_uppercase) { "error" } else { module };
            let allowed = match place(module) {
                Some(other) => other <= own,
                None => false,
            };
            let is_fault = source.module() == "error" && ERROR_NAMES.contains(&used.as_str());
            if !allowed && !is_fault {
                faults.push(format!("{}: `{used}` is not before `{}`", source.name, source.module()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Which modules a part of the library must not know.
#[test]
fn judging_knows_no_vector_exact_search_nothing_but_vectors_and_an_index_file_nothing_but_bytes() {
    let mut seen = [0, 0, 0];
    for source in sources() {
        let uses: Vec<String> = source.uses().collect();
        let mut knows = |which: usize, modules: &[&str]| {
            seen[which] += 1;
            let of = |used: &String| modules.iter().any(|module| used.starts_with(&format!("crate::{module}")));
            let bad: Vec<&String> = uses.iter().filter(|used| of(used)).collect();
            assert!(bad.is_empty(), "{}: {bad:?}", source.name);
        };
        if source.module() == "eval" {
            knows(0, &["math", "encoder", "model", "index", "vectors", "tensor_file", "train"]);
        }
        if ["index/flat.rs", "index/codes.rs", "index/quantized.rs"].contains(&source.name.as_str()) {
            knows(1, &["text", "eval", "encoder", "model", "ranker", "clicks", "train", "files"]);
        }
        if source.name == "index/file.rs" {
            knows(2, &["math", "text", "eval", "encoder", "model", "vectors", "ranker", "clicks", "train"]);
        }
    }
    assert!(seen[0] > 3 && seen[1..] == [3, 1], "{seen:?}");
}

#[test]
fn the_library_never_prints_and_asks_for_nothing() {
    // Its tests may say what they skip.
    for source in sources().iter().chain(&sources_of_logs()).map(Source::without_tests) {
        for word in [
            "println!",
            "eprintln!",
            "print!",
            "eprint!",
            "dbg!",
            "std::env",
            "env::var",
            "env::args",
            "std::net",
            "TcpStream",
            "stdout(",
            "stderr(",
            "process::exit",
        ] {
            assert!(!has_word(&source.code, word), "{}: `{word}`", source.name);
        }
    }
}

#[test]
fn unsafe_code_is_in_the_kernels_and_around_memory_maps() {
    let mut found = 0;
    for source in sources() {
        if has_word(&source.code, "unsafe ") || source.code.contains("unsafe{") {
            let allowed =
                source.module() == "math" || ["clicks/mapped.rs", "tensor_file.rs"].contains(&source.name.as_str());
            assert!(allowed, "{}: unsafe code", source.name);
            assert!(source.whole.contains("SAFETY"), "{}: unsafe code without a SAFETY comment", source.name);
            found += 1;
        }
    }
    assert!(found >= 3, "this test no longer sees unsafe code");
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for source in sources().into_iter().chain(sources_of_logs()) {
        let lines = source.whole.lines().count();
        assert!(lines <= 800, "{}: {lines} lines, at most 800", source.name);
        assert!(source.whole.starts_with("//!"), "{}: expected a first line `//! …` that says what it is", source.name);
    }
    for path in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")).expect("tests") {
        let path = path.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            assert!(text.starts_with("//!") && text.lines().count() <= 800, "{}", path.display());
        }
    }
}

#[test]
fn the_architecture_fits_on_a_few_pages() {
    // Not there in a published crate, which is tested without the repository around it.
    let Ok(text) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) else { return };
    assert!(text.lines().count() < 200, "ARCHITECTURE.md has {} lines", text.lines().count());
}

#[test]
fn this_test_sees_what_it_should() {
    let code = without_comments(
        "use crate::a; // crate::b\n  // crate::c\nlet x = \"http://d\"; $crate::e; my_crate::f;\nuse crate::{G, h::I};\n",
    );
    let source = Source { name: "clicks/log.rs".to_owned(), code, whole: String::new() };
    assert_eq!(source.uses().collect::<Vec<_>>(), ["crate::a", "crate::G", "crate::h::I"]);
    assert_eq!(source.module(), "clicks");
    assert!(has_word("a println!(1)", "println!") && !has_word("eprintln!(1)", "println!"));
}
