//! Every relative link in the documentation leads to an existing file and, if it names one, to an existing heading.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The links of a page, with their lines: `[text](target)`, outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for part in without_code_spans(line).split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// The lines of a page that are not code, numbered from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            lines.push((number + 1, line));
        }
    }
    lines
}

fn without_code_spans(line: &str) -> String {
    line.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "``" }).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let mut unique = anchor.clone();
        for n in 1.. {
            if anchors.insert(unique) {
                break;
            }
            unique = format!("{anchor}-{n}");
        }
    }
    anchors
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The root of the repository; `None` in a published crate, which is tested without the repository around it.
fn root() -> Option<PathBuf> {
    let root = normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    root.join("docs/SUMMARY.md").exists().then_some(root)
}

#[test]
fn every_link_leads_somewhere() {
    let Some(root) = root() else { return };
    let docs = root.join("docs");
    let mut all = Vec::new();
    pages(&docs, &mut all);
    pages(&root.join("bench/notes"), &mut all);
    pages(&root.join("bench/results"), &mut all);
    all.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let mut faults = Vec::new();
    let mut checked = 0;
    for page in &all {
        for (line, link) in links(&fs::read_to_string(page).unwrap()) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, anchor) = link.split_once('#').map_or((&*link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { page.clone() } else { normal(&page.parent().unwrap().join(path)) };
            let fault = if !target.exists() {
                "no such file"
            } else if page.starts_with(&docs) && !target.starts_with(&docs) {
                "leads out of docs/, which the book does not have; name the file as code"
            } else if anchor.is_some_and(|anchor| !anchors(&fs::read_to_string(&target).unwrap()).contains(anchor)) {
                "no such heading"
            } else {
                continue;
            };
            faults.push(format!("{}:{line}: {link}: {fault}", page.strip_prefix(&root).unwrap().display()));
        }
    }
    assert!(checked > 50, "found {checked} links only: the test does not see them");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Files below a folder whose names end in one of `endings`.
fn sources(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" {
            sources(&path, endings, found);
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

#[test]
fn messages_and_comments_name_pages_that_are_there() {
    let Some(root) = root() else { return };
    let mut all = vec![root.join(".ci/run")];
    for folder in ["crates", "bench", "specs", "release"] {
        sources(&root.join(folder), &[".rs", ".py", ".toml", ".sh"], &mut all);
    }
    let mut faults = Vec::new();
    let mut checked = 0;
    for source in &all {
        for (number, line) in fs::read_to_string(source).unwrap().lines().enumerate() {
            for part in line.split("docs/").skip(1) {
                let page: String =
                    part.chars().take_while(|c| c.is_ascii_alphanumeric() || "/-_.".contains(*c)).collect();
                let Some((page, _)) = page.split_once(".md") else { continue };
                checked += 1;
                if !root.join(format!("docs/{page}.md")).exists() {
                    faults.push(format!(
                        "{}:{}: docs/{page}.md",
                        source.strip_prefix(&root).unwrap().display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert!(checked > 20, "found {checked} names of pages only: the test does not see them");
    assert!(faults.is_empty(), "no such page:\n{}", faults.join("\n"));
}

#[test]
fn the_summary_has_every_page() {
    let Some(root) = root() else { return };
    let docs = root.join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).into_iter().map(|(_, link)| docs.join(link)).collect();
    let mut all = Vec::new();
    pages(&docs, &mut all);
    let there: BTreeSet<PathBuf> = all.into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(there, listed);
}

#[test]
fn anchors_are_those_of_the_readers() {
    let page = "# File formats\n\n## `train --json`\n\n## Is it real?\n\n## Is it real?\n\n    # code\n\n#5 is none\n";
    let expected = ["file-formats", "train---json", "is-it-real", "is-it-real-1"].map(str::to_owned);
    assert_eq!(anchors(page), BTreeSet::from(expected));
    assert_eq!(
        links("see [a](b.md#c), `[no](x)` and\n    [no](code)\n[d](e)"),
        [(1, "b.md#c".into()), (3, "e".into())]
    );
}
