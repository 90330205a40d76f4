//! `clickvec judge`: which of two systems finds better titles, by the grades of a person.

use std::path::PathBuf;

use anyhow::Result;
use clickvec_eval::JudgmentsForm;
use clickvec_lab::COMMON;
use clickvec_tools::judge::{Config, Judging};
use clickvec_tools::systems::Source;

use crate::answer::Answer;
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Watch;

/// Find out which of two systems finds better titles, by grading titles on a page.
///
/// Searches are drawn at random from a log, and the first ten titles of both systems are shown together, in an order that does
/// not reveal who found them. The digits 0 to 4 grade them. The page says how many queries are about left and when it is
/// enough: a test that may be looked at after every query, with an error rate of 5 %. Every grade is stored at once. The
/// same command goes on where it was stopped, and with enough grades it prints the result without a page.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The index, which `clickvec build` or `clickvec index` wrote.
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// The system to compare it with, as for `evaluate`: another index; a model or ranker in a file; a ranker such as
    /// `bm25`, which learns from the titles of the index; or a TREC run of another search engine over the same titles, whose
    /// query ids are the column query_id of --queries or, without that column, the numbers of its lines.
    #[arg(long, value_name = "SYSTEM")]
    against: PathBuf,

    /// Where searches come from: a table with the column query, such as a click log, where a query with more clicks (column
    /// count) is drawn more often; or lines of text.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// The sheet of titles and grades: a table with the columns query, title_id, title and grade, which `evaluate` reads. Grades that
    /// are in it count. [default: INDEX.judged.tsv]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Judged titles of another judge, such as a language model, in a table like the sheet. They count where the sheet has no
    /// grade, and the result says how far they agree with it. May be repeated.
    #[arg(long, value_name = "FILE")]
    judged: Vec<PathBuf>,

    /// Also write the grades for another program, as `opensearch=FILE`, `quepid=FILE` or `quepid-book=FILE`.
    ///
    /// `opensearch` is the request that imports them into the Search Relevance Workbench, `quepid` a table of ratings, and
    /// `quepid-book` a book of Quepid. May be repeated.
    #[arg(long, value_name = "FORM=FILE", value_parser = form)]
    write: Vec<(JudgmentsForm, PathBuf)>,

    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Parses a form and the file to write it to.
fn form(text: &str) -> Result<(JudgmentsForm, PathBuf), &'static str> {
    let (form, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or("expected FORM=FILE")?;
    Ok((form.parse()?, file.into()))
}

/// Searches, shows the page and prints the result.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let watch = Watch::default();
    let config = Config {
        index: &args.index,
        against: Source::new(&args.against, &COMMON)?,
        queries: &args.queries,
        sheet: args.output.as_deref(),
        judged: &args.judged,
        write: &args.write,
    };
    let judging = Judging::new(config, &watch)?;
    drop(watch);
    let interrupt = Interrupt::watch()?;
    if !judging.is_finished() {
        let page = judging.page()?;
        console::note(format_args!(
            "{}: every grade is stored here\nopen {} in a browser to grade; Ctrl-C ends",
            console::path(judging.sheet()),
            page.address()
        ));
        interrupt.wait_while(|| !judging.is_finished());
    }
    let verdict = judging.finish()?;
    if args.json {
        console::json_lines([&verdict])?;
    } else {
        console::print(verdict.text(judging.sheet()))?;
    }
    Ok(Answer::Done)
}
