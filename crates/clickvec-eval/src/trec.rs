//! Reading and writing TREC qrels and runs, so that trec_eval and similar tools can check every number.

use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::path::Path;

use super::judgments::grade;
use super::{Answers, JudgedTitle, Judgments, Task};
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{RowFault, plain_decimal};
use clickvec_tables::{Error, FoundLine, Lines, Result};

/// The longest line that is read, in bytes. Ids and numbers need far less.
const MAX_LINE: usize = 1 << 20;

const QREL_FORM: &str = "query 0 title grade";
const RUN_FORM: &str = "query Q0 title rank score tag";

/// A line of a qrels file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qrel {
    /// The query's id.
    pub query_id: String,
    /// The title's id.
    pub title_id: String,
    /// The grade, up to 10. A negative one means that the title was pooled and not judged.
    pub grade: i16,
}

/// A line of a run file, without the run's tag.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// The query's id.
    pub query_id: String,
    /// The title's id.
    pub title_id: String,
    /// The rank in the file. trec_eval ignores it and orders by score.
    pub rank: u64,
    /// The score: larger is better, never NaN.
    pub score: f64,
}

/// Reads qrels: lines of `query 0 title grade`, separated by white space. Empty lines are skipped. `path` is for messages.
///
/// # Errors
///
/// `ErrorKind::Io`, or `ErrorKind::Malformed` for a line that is too long, not UTF-8 or not of that form, for a grade that is
/// not an integer up to 4, and for a title that a query has twice.
pub fn read_qrels(input: impl BufRead, path: &Path) -> Result<Vec<Qrel>> {
    let mut seen = Seen::default();
    read_lines(input, path, |_, line| {
        let [query, _, title, grade] = fields_of(line.split_ascii_whitespace(), QREL_FORM)?;
        seen.add(query, title)?;
        Ok(Qrel { query_id: query.to_owned(), title_id: title.to_owned(), grade: qrel_grade(grade)? })
    })
}

/// Reads the lines of a run: `query Q0 title rank score tag`, separated by white space. Empty lines are skipped, and the tag is
/// dropped. `path` is for messages.
///
/// # Errors
///
/// `ErrorKind::Io`, or `ErrorKind::Malformed` for a line that is too long, not UTF-8 or not of that form, for a rank that is
/// not an integer, a score that is not a number, and a title that a query has twice.
pub fn read_run(input: impl BufRead, path: &Path) -> Result<Vec<RunLine>> {
    let mut seen = Seen::default();
    read_lines(input, path, |_, line| {
        // As trec_eval, what follows the tag is ignored.
        let [query, _, title, rank, score, _] = fields_of(line.split_ascii_whitespace().take(6), RUN_FORM)?;
        seen.add(query, title)?;
        let score = score.parse().ok().filter(|score: &f64| !score.is_nan()).ok_or_else(|| bad_score(score))?;
        let rank = rank.parse().map_err(|_| {
            RowFault::expected("bad rank", "a rank, an integer of 0 or more", format!("`{}`", shortened(rank)))
        })?;
        Ok(RunLine { query_id: query.to_owned(), title_id: title.to_owned(), rank, score })
    })
}

/// Writes judgments as qrels. `path` is for messages.
///
/// # Errors
///
/// `ErrorKind::Io`, or `ErrorKind::Malformed` at a line whose id is empty or has white space.
pub fn write_judgments(output: &mut impl Write, path: &Path, judgments: &Judgments) -> Result<()> {
    let pairs = judgments.queries.iter().flat_map(|query| query.titles.iter().map(move |title| (query, title)));
    for (line, (query, JudgedTitle { id, grade, .. })) in (1..).zip(pairs) {
        check_id(&query.id, path, line)?;
        check_id(id, path, line)?;
        writeln!(output, "{} 0 {id} {grade}", query.id).map_err(|source| Error::io(path, "write", source))?;
    }
    Ok(())
}

/// Writes a system's answers as a run. `tag` names the system, and `path` is for messages. Ties are in the order of trec_eval.
///
/// # Errors
///
/// Those of [`write_run_lines`].
pub fn write_answers(output: &mut impl Write, path: &Path, tag: &str, task: Task<'_>, answers: &Answers) -> Result<()> {
    let mut written = 0;
    for (query, (id, _)) in task.queries().enumerate() {
        let line = |((title, score), rank): ((&str, f64), u64)| RunLine {
            query_id: id.to_owned(),
            title_id: title.to_owned(),
            rank,
            score,
        };
        let lines: Vec<RunLine> = task.ranked(answers, query).into_iter().zip(1..).map(line).collect();
        write_run_lines(&mut *output, path, tag, written + 1, &lines)?;
        written += lines.len() as u64;
    }
    Ok(())
}

/// Writes lines of a run, which [`read_run`] reads back exactly; the first one is line `first` of the file. `path` is for messages.
///
/// # Errors
///
/// `ErrorKind::Io`, or `ErrorKind::Malformed` at a line whose score is NaN, or whose id or tag is empty or has white space.
pub fn write_run_lines(mut output: impl Write, path: &Path, tag: &str, first: u64, run: &[RunLine]) -> Result<()> {
    for (line, RunLine { query_id, title_id, rank, score }) in (first..).zip(run) {
        for field in [query_id, title_id, tag] {
            check_id(field, path, line)?;
        }
        if score.is_nan() {
            return Err(bad_score(&score.to_string()).at_line(path, line));
        }
        writeln!(output, "{query_id} Q0 {title_id} {rank} {score} {tag}")
            .map_err(|source| Error::io(path, "write", source))?;
    }
    Ok(())
}

/// Returns the fault of a score that is no number. NaN is not allowed, because NaNs have no order.
fn bad_score(found: &str) -> RowFault {
    RowFault::expected("bad score", "a score, a number that is not NaN", format!("`{}`", shortened(found)))
}

/// Parses each line of `input` that is not blank with `parse`, which also gets the line's number. A byte order mark is skipped.
pub(super) fn read_lines<T>(
    input: impl BufRead,
    path: &Path,
    mut parse: impl FnMut(u64, &str) -> Result<T, RowFault>,
) -> Result<Vec<T>> {
    let mut parsed = Vec::new();
    let mut bytes = Vec::new();
    let mut lines = Lines::new(input, MAX_LINE);
    loop {
        let found = lines.next(&mut bytes).map_err(|source| Error::io(path, "read", source))?;
        let line = lines.number();
        match found {
            FoundLine::End => break,
            FoundLine::TooLong => return Err(RowFault::too_long(MAX_LINE).at_line(path, line)),
            FoundLine::Whole => {}
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| RowFault::not_utf8(&bytes).at_line(path, line))?;
        if !text.trim_ascii().is_empty() {
            parsed.push(parse(line, text).map_err(|fault| fault.at_line(path, line))?);
        }
    }
    Ok(parsed)
}

/// Splits a line into its N fields.
pub(super) fn fields_of<'a, const N: usize>(
    line: impl Iterator<Item = &'a str>,
    form: &'static str,
) -> Result<[&'a str; N], RowFault> {
    let mut found = 0;
    let mut fields = [""; N];
    for field in line {
        if let Some(slot) = fields.get_mut(found) {
            *slot = field;
        }
        found += 1;
    }
    if found == N {
        return Ok(fields);
    }
    let found = format!("{found}; is this a TREC file?");
    Err(RowFault::expected("wrong number of fields", format!("{N} fields, `{form}`"), found))
}

/// Parses a grade of qrels.
pub(super) fn qrel_grade(field: &str) -> Result<i16, RowFault> {
    match plain_decimal(field).parse::<i64>() {
        Ok(value) if value < 0 => Ok(value.max(i16::MIN.into()) as i16),
        _ => grade(field).map(i16::from),
    }
}

/// The pairs of query and title so far.
#[derive(Default)]
pub(super) struct Seen(HashSet<(String, String)>);

impl Seen {
    pub(super) fn add(&mut self, query: &str, title: &str) -> Result<(), RowFault> {
        if self.0.insert((query.to_owned(), title.to_owned())) {
            return Ok(());
        }
        let (query, title) = (shortened(query), shortened(title));
        let found = format!("`{title}` again for query `{query}`; keep one of the lines");
        Err(RowFault::expected("repeated title", "each title once for a query", found))
    }
}

/// Refuses an id with white space of any script, because some readers split at it.
fn check_id(id: &str, path: &Path, line: u64) -> Result<()> {
    if id.is_empty() || id.contains(char::is_whitespace) {
        let found = format!("`{}`; rename it", shortened(id));
        return Err(
            RowFault::expected("bad id", "an id without white space for a TREC file", found).at_line(path, line)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JudgedQuery;

    fn path() -> &'static Path {
        Path::new("f.txt")
    }

    fn judgments(queries: &[(&str, &[(&str, u8)])]) -> Judgments {
        let title = |&(id, grade): &(&str, u8)| JudgedTitle { id: id.into(), text: String::new(), grade };
        let query = |&(id, titles): &(&str, &[(&str, u8)])| JudgedQuery {
            id: id.into(),
            text: String::new(),
            titles: titles.iter().map(title).collect(),
        };
        Judgments { queries: queries.iter().map(query).collect(), ..Judgments::default() }
    }

    fn qrels_fault(text: &[u8]) -> String {
        read_qrels(text, path()).unwrap_err().to_string()
    }

    fn run_fault(text: &str) -> String {
        read_run(text.as_bytes(), path()).unwrap_err().to_string()
    }

    #[test]
    fn qrels_come_back_as_they_were_written() {
        let qrel = |query: &str, title: &str, grade| Qrel { query_id: query.into(), title_id: title.into(), grade };
        let qrels = [qrel("q1", "d1", 4), qrel("q1", "d2", 0), qrel("q2", "d1", 1)];
        let mut bytes = Vec::new();
        let written = judgments(&[("q1", &[("d1", 4), ("d2", 0)]), ("q2", &[("d1", 1)])]);
        write_judgments(&mut bytes, path(), &written).unwrap();
        assert_eq!(bytes, b"q1 0 d1 4\nq1 0 d2 0\nq2 0 d1 1\n");
        assert_eq!(read_qrels(&bytes[..], path()).unwrap(), qrels);
        let read = read_qrels(&b"\xef\xbb\xbfq1\t0  d1 4\r\n\n q1 0 d2 -2\n q2 0 d1 1"[..], path()).unwrap();
        assert_eq!(read, [qrel("q1", "d1", 4), qrel("q1", "d2", -2), qrel("q2", "d1", 1)]);
    }

    #[test]
    fn runs_come_back_to_the_last_bit() {
        let line = |title: &str, rank, score| RunLine { query_id: "q".into(), title_id: title.into(), rank, score };
        let run = [line("a", 1, f64::INFINITY), line("b", 2, 0.1 + 0.2), line("c", 3, -1e-300)];
        let mut bytes = Vec::new();
        write_run_lines(&mut bytes, path(), "bm25", 1, &run).unwrap();
        assert!(bytes.starts_with(b"q Q0 a 1 inf bm25\nq Q0 b 2 0.30000000000000004 bm25\n"));
        assert_eq!(read_run(&bytes[..], path()).unwrap(), run);
        assert_eq!(read_run(&b"q Q0 a 1 2 my new run\n"[..], path()).unwrap(), [line("a", 1, 2.0)]);
    }

    #[test]
    fn each_fault_names_its_line() {
        let ok = "q 0 d 1\n";
        let four = "f.txt:2: expected 4 fields, `query 0 title grade`, found";
        assert!(qrels_fault(format!("{ok}q 0 e\n").as_bytes()).starts_with(&format!("{four} 3")));
        assert!(qrels_fault(format!("{ok}q 0 e 1 2\n").as_bytes()).starts_with(&format!("{four} 5")));
        assert!(qrels_fault(b"q 0 d 11\n").contains("f.txt:1: expected a grade"));
        assert!(
            qrels_fault(b"q 0 d 1\n\nq 0 d 1\n")
                .starts_with("f.txt:3: expected each title once for a query, found `d`")
        );
        assert!(qrels_fault(b"q 0 \xff 1\n").starts_with("f.txt:1: expected UTF-8, found another byte at position 5"));
        let run = "q Q0 d 1 0.5 t\n";
        assert!(run_fault("q Q0 d 1 0.5\n").starts_with("f.txt:1: expected 6 fields"));
        assert!(
            run_fault("q Q0 d x 0.5 t\n").starts_with("f.txt:1: expected a rank, an integer of 0 or more, found `x`")
        );
        for bad in ["x", "NaN", "1,5"] {
            assert!(run_fault(&format!("{run}q Q0 e 1 {bad} t\n")).starts_with("f.txt:2: expected a score"), "{bad}");
        }
        assert!(run_fault(&format!("{run}{run}")).contains("found `d` again for query `q`"));
    }

    #[test]
    fn a_line_is_bounded() {
        let mut long = vec![b' '; MAX_LINE];
        assert!(read_qrels(&long[..], path()).unwrap().is_empty());
        long.push(b' ');
        assert!(qrels_fault(&long).starts_with("f.txt:1: expected a row of at most 1048576 bytes"));
    }

    #[test]
    fn an_id_with_white_space_is_not_written() {
        for id in ["", "a b", "a\u{A0}b", "a\n"] {
            for set in [judgments(&[("q", &[("d", 0)]), (id, &[("d", 0)])]), judgments(&[("q", &[("d", 0), (id, 0)])])]
            {
                let fault = write_judgments(&mut Vec::new(), path(), &set).unwrap_err().to_string();
                assert!(fault.contains("f.txt:2: expected an id without white space"), "{fault}");
            }
            let run = [RunLine { query_id: "q".into(), title_id: "d".into(), rank: 1, score: 1.0 }];
            assert!(write_run_lines(Vec::new(), path(), id, 1, &run).is_err());
        }
        let nan = [RunLine { query_id: "q".into(), title_id: "d".into(), rank: 1, score: f64::NAN }];
        assert!(write_run_lines(Vec::new(), path(), "t", 1, &nan).unwrap_err().to_string().contains("found `NaN`"));
    }
}
