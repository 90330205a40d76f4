//! `clickvec` without a command: what to do first.

use anyhow::Result;

use crate::answer::Answer;
use crate::console;

const TEXT: &str = "\
clickvec learns sentence vectors from a search engine's click log and searches with them.

What to do first:

  clickvec demo
      see everything once, on an invented search engine; takes a minute, needs no data

  clickvec inspect log.csv titles.csv
      find out what your files are, and which command comes next

  clickvec train --clicks clicks.tsv --output shop.safetensors
      learn from a table with the columns query and title, one clicked pair a line;
      `clickvec prepare` makes that table from raw logs

  clickvec evaluate bm25 shop.safetensors --judged judged.tsv
      find out whether it beats BM25, with a table of query, title and grade (0 to 4)

  clickvec index --model shop.safetensors --titles titles.tsv --output shop.index
      encode the titles of a table with the columns id and title

  clickvec search shop.index \"angle bracket\"
      show the best of them

`clickvec help` lists all commands, `clickvec help train` explains one.
";

/// Prints the text.
pub(crate) fn run() -> Result<Answer> {
    console::print(TEXT)?;
    Ok(Answer::Done)
}
