//! `clickvec inspect --verify`: whether an index is as it was written.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec_index::{Verified, verify};
use serde::Serialize;

use crate::answer::Answer;
use crate::output;

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    index: &'a Path,
    sound: bool,
    files: usize,
    bytes: u64,
    queries: usize,
    damaged: Vec<String>,
}

/// Reads everything and says what is damaged. The answer is no if anything is.
pub(super) fn run(index: &Path, json: bool) -> Result<Answer> {
    ensure!(
        !index.is_file(),
        "{}: expected the folder of an index, found a file; a model or a ranker is verified whenever it is read",
        output::path(index)
    );
    let Verified { files, bytes, queries, damaged, .. } = verify(index)?;
    let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    let mut out = output::stdout();
    if json {
        let sound = damaged.is_empty();
        output::json_line(&mut out, &Report { index, sound, files, bytes, queries, damaged: damaged.clone() })?;
    } else {
        for fault in &damaged {
            output::written(writeln!(out, "{}", output::printable(fault)))?;
        }
        let found = match damaged.len() as u64 {
            0 => format!("; {} answered as before", output::counted(queries as u64, "query")),
            count => format!(", {} not", output::count(count)),
        };
        let (files, bytes) = (output::counted(files as u64, "file"), output::counted(bytes, "byte"));
        output::written(writeln!(out, "{}: {files} ({bytes}) as written{found}", output::path(index)))?;
    }
    output::written(out.flush())?;
    Ok(if damaged.is_empty() { Answer::Done } else { Answer::No })
}
