//! `clickvec` alone: what to do first.

use anyhow::Result;

use crate::answer::Answer;
use crate::output;

const TEXT: &str = "\
clickvec learns sentence vectors from a search engine's click log and searches with them.

What to do first:

  clickvec demo
      everything once, on a search engine that is made up: a minute, no data needed

  clickvec train --clicks clicks.tsv --output shop.safetensors
      learn from a table with the columns query and title, one clicked pair a line;
      `clickvec prepare` makes it from raw logs

  clickvec evaluate --judged judged.tsv --ranker bm25 --model shop.safetensors
      is it better than BM25? a table with the columns query, title and grade (0 to 4) decides

  clickvec search --model shop.safetensors --titles titles.tsv \"angle bracket\"
      the best of all titles, from a table with the columns id and title

`clickvec help` lists all commands, `clickvec help train` explains one.
";

/// Prints the text.
pub(crate) fn run() -> Result<Answer> {
    output::print(TEXT)?;
    Ok(Answer::Done)
}
