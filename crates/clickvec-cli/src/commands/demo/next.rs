//! What to do next: commands that work as they are, or with the reader's own files.

use std::path::Path;

use clickvec_lab::demo::{INDEX, LOG, MODEL, Next, Report};
use clickvec_tools::inspect::shell;

/// Returns the commands for a report whose log and models are in `folder`, or are gone.
pub(super) fn next(folder: Option<&Path>, report: &Report) -> Next {
    let program = program();
    let command = |(what, arguments): (&'static str, String)| (what, format!("{program} {arguments}"));
    let own = [
        ("a search from your log and your titles", "build log.csv --titles titles.tsv --output shop"),
        ("search it", "search shop \"angle bracket\""),
        ("on judged titles: columns query, title, grade (0 to 4)", "evaluate --full bm25 shop --judged judged.tsv"),
        ("no log yet? simulate one for your titles", "lab simulate --titles titles.tsv --output log"),
    ];
    let keep = ("or keep the log and the models of this demo, to experiment with", "demo --keep demo");
    let own = own.into_iter().chain(folder.is_none().then_some(keep));
    Next {
        own: own.map(|(what, arguments)| command((what, arguments.to_owned()))).collect(),
        folder: folder.map_or_else(Vec::new, |folder| in_folder(folder, report).map(command).into()),
    }
}

/// Returns what to do with the log and the models in a folder.
fn in_folder(folder: &Path, report: &Report) -> [(&'static str, String); 3] {
    let path = |name: &str| shell(&folder.join(name).to_string_lossy());
    let in_log = |name: &str| shell(&folder.join(LOG).join(name).to_string_lossy());
    let query = shell(report.first_query().unwrap_or("pizza recipe"));
    [
        ("search", format!("search {} {query}", path(INDEX))),
        ("judge", format!("evaluate bm25 {} --judged {}", path(MODEL), in_log("judged.tsv"))),
        (
            "train another model on its clicks",
            format!(
                "train --clicks {} --validation {} --set encoder.cells=32 --output {}",
                in_log("clicks.tsv"),
                in_log("validation.tsv"),
                path("small.safetensors")
            ),
        ),
    ]
}

/// Returns how to start this program again: by its name if it was started by its name, otherwise by the path that was typed.
fn program() -> String {
    let typed = crate::program::typed();
    match Path::new(&typed).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => shell(&typed.to_string_lossy()),
        _ => "clickvec".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_path_as_it_is() {
        let cases = [("kept/log.tsv", "kept/log.tsv"), ("my demo", "'my demo'"), ("it's", "'it'\\''s'"), ("", "''")];
        assert!(cases.iter().all(|(text, expected)| shell(text) == *expected));
    }
}
