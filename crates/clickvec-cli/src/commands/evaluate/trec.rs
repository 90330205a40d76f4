//! TREC qrels and runs, for trec_eval and similar tools.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::internals::files;
use clickvec_eval::trec::{Qrel, RunLine, write_qrels as write_qrel_lines, write_run_lines};
use clickvec_eval::{Answers, JudgedQuery, JudgedTitle, Judgments, Task};

/// Writes judgments as qrels.
pub(super) fn write_qrels(path: &Path, judgments: &Judgments) -> Result<()> {
    let qrels: Vec<Qrel> = judged_pairs(judgments)
        .map(|(query, title)| Qrel { query_id: query.id.clone(), title_id: title.id.clone(), grade: title.grade })
        .collect();
    Ok(files::write_atomically(path, |file| write_qrel_lines(file, path, &qrels))?)
}

fn judged_pairs(judgments: &Judgments) -> impl Iterator<Item = (&JudgedQuery, &JudgedTitle)> {
    judgments.queries.iter().flat_map(|query| query.titles.iter().map(move |title| (query, title)))
}

/// The files that `--run-out` writes, one for each name.
pub(super) fn run_files(folder: &Path, names: impl Iterator<Item = String>) -> Result<Vec<PathBuf>> {
    let mut distinct = HashSet::new();
    let mut files = Vec::new();
    for name in names {
        let file = format!("{}.run", file_name(&name));
        if !distinct.insert(file.clone()) {
            bail!("expected a file for each system, found `{file}` for two; rename a model's file");
        }
        files.push(folder.join(file));
    }
    Ok(files)
}

/// Writes a system's answers as a run in `folder`, which must exist. Ties are in the order of trec_eval.
pub(super) fn write_run(folder: &Path, name: &str, task: Task<'_>, answers: &Answers) -> Result<()> {
    let tag = file_name(name);
    let path = folder.join(format!("{tag}.run"));
    let mut written = 0;
    files::write_atomically(&path, |file| {
        for (query, (query_id, _)) in task.queries().enumerate() {
            let line = |((title_id, score), rank): ((&str, f64), u64)| RunLine {
                query_id: query_id.to_owned(),
                title_id: title_id.to_owned(),
                rank,
                score,
            };
            let lines: Vec<RunLine> = task.ranked(answers, query).into_iter().zip(1..).map(line).collect();
            write_run_lines(&mut *file, &path, &tag, written + 1, &lines)?;
            written += lines.len() as u64;
        }
        Ok(())
    })
}

/// A system's name as a file name and the tag of a run, without white space and path separators.
pub(super) fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '=' | ',');
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
