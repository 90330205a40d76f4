//! What to do next: commands that work as they are, or with the reader's own files.

use std::path::Path;

use super::Report;

/// Commands to try, each with what it does.
pub(super) struct Next {
    /// How to start this program.
    program: String,
    /// Commands for the log and the models that were kept, if they were.
    pub(super) folder: Vec<(&'static str, String)>,
    /// Commands for the reader's own files.
    pub(super) own: Vec<(&'static str, String)>,
}

impl Next {
    /// The commands for a report whose log and models are in `kept`.
    pub(super) fn new(folder: Option<&Path>, report: &Report) -> Next {
        let program = program();
        let own = [
            ("a search from your log and your titles", "build log.csv --titles titles.tsv --output shop"),
            ("search it", "search shop \"angle bracket\""),
            ("on judged titles: columns query, title, grade (0 to 4)", "evaluate --full bm25 shop --judged judged.tsv"),
            ("no log yet? simulate one for your titles", "lab simulate --titles titles.tsv --output log"),
        ];
        let mut next = Next { own: Vec::new(), folder: Vec::new(), program };
        next.own = own.map(|(what, arguments)| (what, format!("{} {arguments}", next.program))).into();
        match folder {
            Some(folder) => next.folder = next.in_folder(folder, report),
            None => next.own.push((
                "or keep the log and the models of this demo, to experiment with",
                format!("{} demo --keep demo", next.program),
            )),
        }
        next
    }

    fn in_folder(&self, folder: &Path, report: &Report) -> Vec<(&'static str, String)> {
        let path = |name: &str| quoted(&folder.join(name).to_string_lossy());
        let (model, judged) = (path("lstm.safetensors"), path("log/judged.tsv"));
        let query = quoted(report.searches.first().map_or("pizza recipe", |search| &search.query));
        let arguments = [
            ("search", format!("search {} {query}", path("lstm.index"))),
            ("judge", format!("evaluate bm25 {model} --judged {judged}")),
            (
                "train another model on its clicks",
                format!(
                    "train --clicks {} --validation {} --set encoder.cells=32 --output {}",
                    path("log/clicks.tsv"),
                    path("log/validation.tsv"),
                    path("small.safetensors")
                ),
            ),
        ];
        arguments.map(|(what, arguments)| (what, format!("{} {arguments}", self.program))).into()
    }
}

/// How to start this program again: by its name if it was started by its name, otherwise by the path that was typed.
fn program() -> String {
    let typed = crate::program::typed();
    match Path::new(&typed).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => quoted(&typed.to_string_lossy()),
        _ => "clickvec".to_owned(),
    }
}

/// An argument, quoted for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_path_as_it_is() {
        let cases = [("kept/log.tsv", "kept/log.tsv"), ("my demo", "'my demo'"), ("it's", "'it'\\''s'"), ("", "''")];
        assert!(cases.iter().all(|(text, expected)| quoted(text) == *expected));
    }
}
