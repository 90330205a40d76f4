//! The queries of a file that says them in whatever form.

use std::path::Path;

use super::judgments::JudgedQuery;
use super::test_set::{TestSet, TestSetFiles, begins_document, read_test_set, test_set_of};
use super::topics::{Topic, TopicCounts, is_table, no_topics, topics_of};
use clickvec_tables::table::has_column;
use clickvec_tables::titles::TITLE;
use clickvec_tables::{Result, files};

/// Queries with their ids: topics in any form, or those of a test set that says the texts of its queries itself, which
/// is a table of judged titles, a BEIR folder or the judgments in one; and the number of repeated headers, which are left out. The file is
/// opened once, so it may be a pipe.
///
/// # Errors
///
/// Those of [`read_test_set`], also for topics.
pub fn read_queries(path: &Path) -> Result<(Vec<Topic>, u64)> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field: TITLE };
    let texts = |set: TestSet| {
        let topic = |of: JudgedQuery| Topic { id: of.id, text: of.text };
        let topics: Vec<Topic> = set.judgments.queries.into_iter().map(topic).collect();
        if topics.is_empty() { Err(no_topics(path)) } else { Ok((topics, set.judgments.headers)) }
    };
    if path.is_dir() {
        return texts(read_test_set(&files)?);
    }
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    if is_judged(&first) {
        return texts(test_set_of(&files, &first, reader, false)?);
    }
    let mut counts = TopicCounts::default();
    let topics = topics_of(path, &first, reader, &mut counts)?;
    Ok((topics, counts.headers))
}

/// Whether a first line is that of a table of judged titles or of BEIR's judgments. Topics may have further columns, too.
fn is_judged(first: &str) -> bool {
    let has = |name: &str| has_column(first, name);
    let is_judged_table = has("query") && (has("grade") || (has(TITLE) && !is_table(first)));
    is_judged_table || (has("query-id") && has("corpus-id")) || begins_document(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queries.tsv");
        std::fs::write(&path, text).unwrap();
        Ok(read_queries(&path)?.0.into_iter().map(|topic| (topic.id, topic.text)).collect())
    }

    #[test]
    fn topics_and_judged_titles() {
        let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
        let topics = [pair("q1", "red door"), pair("q2", "lamp")];
        assert_eq!(read("q1\tred door\nq2\tlamp\n").unwrap(), topics);
        assert_eq!(read("qid\tquery\ttitle\nq1\tred door\tx\nq2\tlamp\ty\n").unwrap(), topics);
        let judged = "query_id\tquery\ttitle\tgrade\nq1\tred door\ta\t1\nq1\tred door\tb\t0\nq2\tlamp\ta\t2\n";
        assert_eq!(read(judged).unwrap(), topics);
        assert_eq!(read("title\tQuery\tgrade\na\tred door\t1\n").unwrap()[0].1, "red door");
    }

    #[test]
    fn repeated_headers_are_left_out_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queries.tsv");
        for (text, headers) in [
            ("query_id\tquery\nq1\tred door\nQuery_ID\tQUERY\nq2\tlamp\n", 1),
            ("query\ttitle\tgrade\nred door\ta\t1\nquery\ttitle\tgrade\nlamp\ta\t1\n", 1),
            ("q1\tred door\nq2\tlamp\n", 0),
        ] {
            std::fs::write(&path, text).unwrap();
            let (topics, counted) = read_queries(&path).unwrap();
            assert_eq!((topics.len(), counted), (2, headers), "{text}");
        }
    }

    #[test]
    fn a_fault_is_that_of_the_form_that_was_meant() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        let grade = message("query_id\tquery\ttitle\tgrade\nq1\tred door\ta\tx\n");
        assert!(grade.contains("queries.tsv:2: ") && grade.contains("grade"), "{grade}");
        let column = message("query\ttitle\nred door\ta\n");
        assert!(column.contains("`grade`"), "{column}");
        let topic = message("q1 red door\n");
        assert!(topic.contains("id, a tab, query"), "{topic}");
    }
}
