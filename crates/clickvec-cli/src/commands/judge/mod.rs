//! `clickvec judge`: which of two systems finds better titles, by the grades of a person.

mod desk;
mod pool;
pub(super) mod queries;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use clickvec::internals::vector_file::texts_path;
use clickvec::tables::TITLE;
use clickvec_eval::{Form, JudgedTitle, JudgmentsForm, TestSetFiles};
use clickvec_serve::{JudgePage, Sheet, SheetRow, Step};

use self::desk::{Desk, Others};
use self::pool::Pool;
use crate::answer::Answer;
use crate::interrupt::Interrupt;
use crate::systems::Source;
use crate::{console, output_files, test_set};

/// The best grade of a sheet; a digit for each is enough.
const BEST: u8 = 4;

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
    let systems = [Source::Index(args.index.clone()), Source::new(&args.against)?];
    ensure!(
        !systems[0].is_same(&systems[1]),
        "expected another system to compare with, found the index itself; name another with `--against`"
    );
    let output = args.output.clone().unwrap_or_else(|| beside(&args.index));
    let files = systems.iter().flat_map(Source::files).flat_map(|file| [texts_path(&file), file]);
    let read: Vec<PathBuf> = files.chain([args.queries.clone()]).chain(args.judged.iter().cloned()).collect();
    output_files::check(args.write.iter().map(|(_, file)| file).chain([&output]), &read)?;
    let mut sheet = Sheet::open(&output)?;
    if let Some(aside) = sheet.put_aside() {
        console::note(format_args!(
            "{}: left out a last line without its end; {} has the file as it was",
            console::path(&output),
            console::path(aside)
        ));
    }
    let others = args.judged.iter().map(|path| others(path)).collect::<Result<Vec<Others>>>()?;
    let drawn = queries::drawn(queries::read(&args.queries)?);
    let pool = Pool::new(systems, drawn)?;
    sheet.add(pool.rows())?;
    let interrupt = Interrupt::watch()?;
    let desk = Arc::new(Mutex::new(Desk::new(pool, sheet, others)));
    let is_finished = Arc::new(AtomicBool::new(desk.lock().expect("no holder panics").is_decided()));
    if !is_finished.load(Ordering::Relaxed) {
        let (on_page, finished) = (Arc::clone(&desk), Arc::clone(&is_finished));
        let page = JudgePage::start(move |step| {
            finished.fetch_or(step == Step::Finish, Ordering::Relaxed);
            on_page.lock().expect("no holder panics").take(step)
        })?;
        console::note(format_args!(
            "{}: every grade is stored here\nopen {} in a browser to grade; Ctrl-C ends",
            console::path(&output),
            page.address()
        ));
        interrupt.wait_while(|| !is_finished.load(Ordering::Relaxed));
    }
    let desk = desk.lock().expect("no holder panics");
    for (form, file) in &args.write {
        desk.write(*form, file)?;
    }
    let verdict = desk.verdict();
    if args.json {
        console::json_lines([&verdict])?;
    } else {
        console::print(verdict.text(&output))?;
    }
    Ok(Answer::Done)
}

/// Reads the grades of another judge.
fn others(path: &Path) -> Result<Others> {
    let set = test_set::read_for_runs(&TestSetFiles { judged: path, topics: None, titles: None, field: TITLE })?;
    let mut rows = Vec::new();
    for query in &set.judgments.queries {
        for JudgedTitle { id, text, grade } in &query.titles {
            ensure!(
                set.title_ids && set.form != Form::Qrels && *grade <= BEST,
                "{}: expected a sheet with the column title_id and grades from 0 to {BEST}, found another table of judged titles",
                console::path(path)
            );
            rows.push(SheetRow::new(&query.text, id, text, Some(*grade)));
        }
    }
    Ok(Others { file: console::path(path).to_string(), rows })
}

/// Returns the usual sheet of an index, which lies beside it.
fn beside(index: &Path) -> PathBuf {
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    index.with_file_name(format!("{name}.judged.tsv"))
}
