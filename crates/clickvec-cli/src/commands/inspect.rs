//! `clickvec inspect`: what files are, what is in them, whether they are whole, and what to do next.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec_tools::inspect::{Found, inspect};

use crate::answer::Answer;
use crate::console;
use crate::progress::Watch;

/// Say what files are, what is in them, whether they are whole, and which command comes next.
///
/// Reads logs, click logs, judged titles, titles, TREC's and BEIR's files, models, rankers and indexes; of an index, every
/// byte. Give a log together with its titles, and the proposed command uses both. The exit status is 1 if a file is not recognised,
/// has faults or is damaged.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The files, and folders of indexes.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Print one JSON object for each file.
    #[arg(long)]
    json: bool,
}

/// Looks at all files, then says what to do with them together.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let option = |setting: &str| Some(format!("--{}", setting.replace('_', "-")));
    let (found, mut unread) = inspect(args.files, &option, &Watch::default());
    let mut out = console::stdout();
    for file in &found {
        if args.json {
            console::json_line(&mut out, file)?;
        } else {
            console::written(write!(out, "{}", file.text()))?;
        }
    }
    console::written(out.flush())?;
    // What could be read has been shown; the last of the others ends the command.
    if let Some(last) = unread.pop() {
        for error in unread {
            console::note(format_args!("error: {error}"));
        }
        return Err(last.into());
    }
    Ok(if found.iter().all(Found::is_well) { Answer::Done } else { Answer::No })
}
