//! Test sets in every form.

use clickvec::tables::Titles;
use std::fs;

use tempfile::TempDir;

use super::*;

const QUERIES_JSONL: &str = "{\"_id\":\"q1\",\"text\":\"red shoes\"}\n{\"_id\":\"ü2\",\"text\":\"sofa\"}\n\
                             {\"_id\":\"q3\",\"text\":\"lamp\"}\n";
const CORPUS_JSONL: &str = "{\"_id\":\"d1\",\"title\":\"Shoes in red\",\"text\":\"size 8\"}\n\
                            {\"_id\":\"d 2\",\"title\":\"\",\"text\":\"A\\tsofa\"}\n\
                            {\"_id\":\"d3\",\"title\":\"Hat\",\"text\":\"\"}\n";
const TEST_TSV: &str = "query-id\tcorpus-id\tscore\nq1\td1\t2\nü2\td 2\t1\nq1\td3\t-1\n";

struct Data(TempDir);

impl Data {
    fn new(files: &[(&str, &str)]) -> Data {
        let data = Data(tempfile::tempdir().unwrap());
        for (name, text) in files {
            data.write(name, text);
        }
        data
    }

    fn beir() -> Data {
        Data::new(&[("queries.jsonl", QUERIES_JSONL), ("corpus.jsonl", CORPUS_JSONL), ("qrels/test.tsv", TEST_TSV)])
    }

    fn trec(qrels: &str) -> Data {
        Data::new(&[
            ("qrels.txt", qrels),
            ("topics.tsv", "q1\tred shoes\nü2\tsofa\nq3\tlamp\n"),
            ("titles.tsv", "id\ttitle\nd1\tShoes in red\nd2\tA sofa\nd3\tHat\n"),
        ])
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.path().to_owned() } else { self.0.path().join(name) }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, judged: &str, topics: Option<&str>, titles: Option<&str>, field: &str) -> Result<TestSet> {
        let [topics, titles] = [topics, titles].map(|name| name.map(|name| self.path(name)));
        let judged = self.path(judged);
        read_test_set(&TestSetFiles {
            judged: &judged,
            topics: topics.as_deref(),
            titles: titles.as_ref().map(Titles::from),
            field,
        })
    }

    fn read_trec(&self) -> Result<TestSet> {
        self.read("qrels.txt", Some("topics.tsv"), Some("titles.tsv"), "title")
    }

    /// The message of a failure, starting with the folder's name.
    fn message(&self, result: Result<TestSet>) -> String {
        let message = result.unwrap_err().to_string();
        message.strip_prefix(&self.0.path().display().to_string()).unwrap_or(&message).to_owned()
    }
}

/// `id query: id title grade, …` for each query.
fn shown(set: &TestSet) -> Vec<String> {
    let title = |title: &JudgedTitle| format!("{} {} {}", title.id, title.text, title.grade);
    let query = |query: &JudgedQuery| {
        let titles: Vec<String> = query.titles.iter().map(title).collect();
        format!("{} {}: {}", query.id, query.text, titles.join(", "))
    };
    set.judgments.queries.iter().map(query).collect()
}

fn ids(count: u64, first: &[&str]) -> Ids {
    Ids { count, first: first.iter().map(|id| (*id).to_owned()).collect() }
}

#[test]
fn a_beir_folder_and_a_file_in_it() {
    let data = Data::beir();
    let set = data.read("", None, None, "title").unwrap();
    assert_eq!(shown(&set), ["q1 red shoes: d1 Shoes in red 2", "ü2 sofa: d 2 A sofa 1"], "d3 was not judged");
    assert_eq!(set.form, Form::Beir { qrels: data.path("qrels/test.tsv"), corpus: data.path("corpus.jsonl") });
    assert_eq!((set.untitled, &set.queries_without_judgments), (1, &ids(1, &["q3"])));
    assert_eq!(
        [&set.queries_without_text, &set.titles_without_text, &set.queries_without_titles].map(|ids| ids.count),
        [0; 3]
    );
    let texts = data.read("qrels/test.tsv", None, None, "text").unwrap();
    assert_eq!(shown(&texts), ["q1 red shoes: d1 size 8 2", "ü2 sofa: d 2 A sofa 1"]);

    data.write("qrels/dev.tsv", "score\tcorpus-id\tquery-id\r\n3\td3\tq3\r\n");
    assert_eq!(shown(&data.read("", None, None, "title").unwrap()).len(), 2, "the test set, where there are several");
    assert_eq!(shown(&data.read("qrels/dev.tsv", None, None, "title").unwrap()), ["q3 lamp: d3 Hat 3"]);
    fs::remove_file(data.path("qrels/test.tsv")).unwrap();
    assert_eq!(shown(&data.read("", None, None, "title").unwrap()), ["q3 lamp: d3 Hat 3"], "the only one");
    data.write("qrels/train.tsv", TEST_TSV);
    let message = data.message(data.read("", None, None, "title"));
    assert!(
        message.starts_with("/qrels: expected `test.tsv`, or one file of judgments, found `dev.tsv`, `train.tsv`;"),
        "{message}"
    );
}

#[test]
fn a_beir_folder_may_be_compressed() {
    let data = Data::beir();
    let set = data.read("", None, None, "title").unwrap();
    for (name, text) in [("corpus.jsonl", CORPUS_JSONL), ("queries.jsonl", QUERIES_JSONL), ("qrels/test.tsv", TEST_TSV)]
    {
        fs::remove_file(data.path(name)).unwrap();
        data.write(&format!("{name}.zst"), zstd::encode_all(text.as_bytes(), 0).unwrap());
    }
    let again = data.read("", None, None, "title").unwrap();
    assert_eq!(again.judgments, set.judgments);
}

#[test]
fn a_beir_folder_that_is_none() {
    for (missing, name) in
        [("queries.jsonl", "queries.jsonl"), ("corpus.jsonl", "corpus.jsonl"), ("qrels/test.tsv", "qrels/test.tsv")]
    {
        let data = Data::beir();
        fs::remove_file(data.path(missing)).unwrap();
        let message = data.message(data.read("", None, None, "title"));
        assert!(
            message.starts_with(": expected a file, or a BEIR folder with")
                && message.contains(&format!("found a folder without `{name}`;")),
            "{message}"
        );
    }
    let data = Data::new(&[]);
    let message = data.message(data.read("", None, None, "title"));
    assert!(message.contains("expected a file, or a BEIR folder"), "{message}");
}

#[test]
fn each_fault_of_a_beir_folder_names_its_line() {
    const QUERIES: &str = "queries.jsonl";
    const CORPUS: &str = "corpus.jsonl";
    const QRELS: &str = "qrels/test.tsv";
    let line = |id: &str| format!("{{\"_id\":\"{id}\",\"text\":\"a\"}}\n");
    let qrels = |rows: &str| format!("query-id\tcorpus-id\tscore\n{rows}");
    for (name, text, expected) in [
        (QUERIES, line("q1") + "{\n", ":2: expected a JSON object"),
        (QUERIES, "{\"_id\":\"q1\"}\n".to_owned(), ":1: expected a text, found nothing"),
        (QUERIES, String::new(), ": expected topics, found none"),
        (CORPUS, line("d9") + "none\n", ":2: expected a JSON object"),
        (CORPUS, line("d1") + &line("d1"), ":2: expected a new id, found `d1`, which line 1 has already"),
        (CORPUS, String::new(), ": expected a header line, found nothing"),
        (QRELS, String::new(), ": expected a header line, found nothing"),
        (QRELS, "query-id\tcorpus-id\nq1\td1\n".to_owned(), ": expected a column `score`"),
        (QRELS, qrels("q1\td1\n"), ":2: expected at least 3 columns, found 2"),
        (QRELS, qrels("q1\td1\tx\n"), ":2: expected a grade"),
        (QRELS, qrels("q1\td1\t11\n"), ":2: expected a grade"),
        (QRELS, qrels("q1\td1\t1\n\nq1\td1\t1\n"), ":4: expected each title once for a query"),
    ] {
        let data = Data::beir();
        data.write(name, &text);
        let message = data.message(data.read("", None, None, "title"));
        assert!(message.starts_with(&format!("/{name}{expected}")), "{name} {text:?}: {message}");
    }
}

#[test]
fn trec_qrels_get_their_texts() {
    let data = Data::trec("\u{feff}q1 0 d1 2\r\n\r\nü2 0 d2 1\r\nq1 0 d3 -2\r\n");
    let set = data.read_trec().unwrap();
    assert_eq!(shown(&set), ["q1 red shoes: d1 Shoes in red 2", "ü2 sofa: d2 A sofa 1"]);
    assert_eq!((&set.form, set.untitled, set.negative_grades), (&Form::Trec, 0, 1));
    assert_eq!(set.queries_without_judgments, ids(1, &["q3"]));
    // Titles may have any form.
    data.write("corpus.jsonl", CORPUS_JSONL.replace("d 2", "d2"));
    for titles in ["corpus.jsonl", ""] {
        let of_corpus = data.read("qrels.txt", Some("topics.tsv"), Some(titles), "title").unwrap();
        assert_eq!((of_corpus.judgments, of_corpus.untitled), (set.judgments.clone(), 1));
    }
    data.write("topics.txt", "<top>\n<num> Number: q1\n<title> red shoes\n</top><top><num>ü2<title>sofa</top>");
    let tagged = data.read("qrels.txt", Some("topics.txt"), Some("titles.tsv"), "title").unwrap();
    assert_eq!(tagged.judgments, set.judgments);
}

#[test]
fn judged_rows_that_mean_nothing_are_left_out_and_counted() {
    let table = "query\ttitle\tgrade\nNULL\tLamp\t1\nlamp\tnan\t2\nlamp\tLamp\t3\nlamp\tNull Lamp\t0\n";
    let set = Data::new(&[("judged.tsv", table)]).read("judged.tsv", None, None, "title").unwrap();
    assert_eq!((set.judgments.queries.len(), set.judgments.queries[0].titles.len()), (1, 2));
    assert_eq!(set.judgments.null_texts.into_iter().collect::<Vec<_>>(), [("nan", 1), ("null", 1)]);
    let data = Data::trec("q1 0 d1 2\nq1 0 d2 0\n");
    data.write("titles.tsv", "id\ttitle\nd1\t(not set)\nd2\tA sofa\n");
    assert_eq!(data.read_trec().unwrap().titles_without_text, ids(1, &["d1"]));
}

#[test]
fn what_has_no_text_is_left_out_and_counted() {
    let data = Data::trec("q1 0 d1 2\nq1 0 d8 1\nü2 0 d9 1\nü2 0 d8 0\nq7 0 d1 1\nq8 0 d7 1\nq1 0 d2 0\n");
    let set = data.read_trec().unwrap();
    assert_eq!(shown(&set), ["q1 red shoes: d1 Shoes in red 2, d2 A sofa 0"]);
    assert_eq!(set.titles_without_text, ids(3, &["d8", "d9", "d7"]));
    assert_eq!(set.queries_without_text, ids(2, &["q7", "q8"]));
    assert_eq!(set.queries_without_titles, ids(1, &["ü2"]));
    assert_eq!(set.queries_without_judgments, ids(1, &["q3"]));
}

#[test]
fn each_fault_of_trec_files_names_its_line() {
    for (text, expected) in [
        ("q1 0 d1 2\nq1 0 d2\n", "/qrels.txt:2: expected 4 fields"),
        ("q1 0 d1\n", "/qrels.txt:1: expected 4 fields"),
        ("q1 0 d1 2 3\n", "/qrels.txt:1: expected 4 fields"),
        ("q1 0 d1 good\n", "/qrels.txt:1: expected a grade"),
        ("q1 0 d1 11\n", "/qrels.txt:1: expected a grade"),
        ("q1 0 d1 1\nq1 0 d1 1\n", "/qrels.txt:2: expected each title once for a query"),
    ] {
        let data = Data::trec(text);
        let message = data.message(data.read_trec());
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
    let data = Data::trec("q1 0 d1 1\n");
    data.write("titles.tsv", "id\ttitle\nd9\n");
    let message = data.message(data.read_trec());
    assert!(message.starts_with("/titles.tsv:2: expected at least 2 columns, found 1"), "{message}");
}

#[test]
fn what_goes_with_what() {
    let data = Data::trec("q1 0 d1 1\n");
    let message = data.message(data.read("qrels.txt", None, Some("titles.tsv"), "title"));
    assert!(message.contains("queries, which TREC qrels do not have, found none; name a file of topics"), "{message}");
    let message = data.message(data.read("qrels.txt", Some("topics.tsv"), None, "title"));
    assert!(message.contains("titles, which TREC qrels do not have, found none; name a file of titles"), "{message}");
    data.write("judged.tsv", "query\ttitle\tgrade\na\tb\t1\n");
    let message = data.message(data.read("judged.tsv", Some("topics.tsv"), None, "title"));
    assert!(
        message.starts_with("/judged.tsv: expected a file of topics with TREC qrels only, found a table"),
        "{message}"
    );
    let set = data.read("judged.tsv", None, Some("titles.tsv"), "title").unwrap();
    assert_eq!(
        (shown(&set), set.form),
        (vec!["q0000000 a: not-in-the-collection-t0000000 b 1".to_owned()], Form::Table)
    );
    let beir = Data::beir();
    beir.write("topics.tsv", "q1\ta\n");
    let message = beir.message(beir.read("", Some("topics.tsv"), None, "title"));
    assert!(message.contains("expected a file of topics with TREC qrels only, found a BEIR folder"), "{message}");
    // Any other file is a broken table.
    data.write("judged.tsv", "a b c\n");
    let message = data.message(data.read("judged.tsv", None, None, "title"));
    assert!(message.starts_with("/judged.tsv: expected a column `query` in the header, found "), "{message}");
}

#[test]
fn the_files_are_known_by_name() {
    let names = |data: &Data, judged: &str, beside: Option<&str>| -> Vec<String> {
        let (judged, beside) = (data.path(judged), beside.map(|name| data.path(name)));
        let files = TestSetFiles {
            judged: &judged,
            topics: beside.as_deref(),
            titles: beside.as_ref().map(Titles::from),
            field: "title",
        };
        let prefix = data.0.path().to_owned();
        files_of_test_set(&files).iter().map(|path| path.strip_prefix(&prefix).unwrap().display().to_string()).collect()
    };
    let beir = Data::beir();
    for judged in ["", "qrels/test.tsv"] {
        assert_eq!(names(&beir, judged, None), ["qrels/test.tsv", "queries.jsonl", "corpus.jsonl"]);
    }
    assert_eq!(names(&Data::trec(""), "qrels.txt", Some("topics.tsv")), ["qrels.txt", "topics.tsv", "topics.tsv"]);
    assert_eq!(folder_of_qrels(Path::new("qrels/test.tsv")), Some(PathBuf::from(".")));
    assert_eq!(folder_of_qrels(Path::new("test.tsv")), Some(PathBuf::from("..")));
    assert_eq!(folder_of_qrels(Path::new("a/qrels/test.tsv")), Some(PathBuf::from("a")));
}

#[test]
fn a_table_without_ids_takes_those_of_a_collection() {
    let data = Data::new(&[
        ("judged.tsv", "query\ttitle\tgrade\nsofa\tA sofa\t2\nsofa\tHat\t0\nhat\tHat\t1\n"),
        ("titles.tsv", "id\ttitle\nd9\tShoes\nbroken\nd2\tA sofa\nd3\tHat\nd4\tHat\n"),
        ("some.tsv", "id\ttitle\nd2\tA sofa\n"),
        ("with.tsv", "query\ttitle\tgrade\ttitle_id\nsofa\tA sofa\t2\town\n"),
    ]);
    let ids = |judged: &str, titles: Option<&str>| -> Vec<String> {
        let set = data.read(judged, None, titles, "title").unwrap();
        assert_eq!(set.title_ids, judged == "with.tsv");
        set.judgments.queries.iter().flat_map(|query| &query.titles).map(|title| title.id.clone()).collect()
    };
    assert_eq!(ids("judged.tsv", Some("titles.tsv")), ["d2", "d3", "d3"]);
    let numbers = ids("judged.tsv", None);
    assert_eq!(numbers[1], numbers[2]);
    // One text has no id there, and no number that might be that of another title.
    let missing = format!("not-in-the-collection-{}", numbers[1]);
    assert_eq!(ids("judged.tsv", Some("some.tsv")), ["d2", &missing, &missing]);
    assert_eq!(ids("with.tsv", Some("titles.tsv")), ["own"]);
}

#[test]
fn judgments_by_ids_and_of_spreadsheets() {
    let data = Data::new(&[("titles.tsv", "id\ttitle\nA\tSony 42\" TV\nB\tRadio\n")]);
    let read = |name: &str, text: &str| {
        data.write(name, text);
        let path = data.0.path().join(name);
        let titles = Some(Titles::from(&data.0.path().join("titles.tsv")));
        let set = read_test_set(&TestSetFiles { judged: &path, topics: None, titles, field: "title" }).unwrap();
        let mut rows = Vec::new();
        for query in &set.judgments.queries {
            for title in &query.titles {
                rows.push(format!("{}|{}|{}|{}", query.text, title.id, title.text, title.grade));
            }
        }
        rows
    };
    let expected = ["tv 42\"|A|Sony 42\" TV|3", "tv 42\"|B|Radio|0"];
    let quepid = "query,docid,rating\n\"tv 42\"\"\",A,3\nsofa\n\"tv 42\"\"\", B ,0.00\n,,\nradio,B,\n";
    assert_eq!(read("quepid.csv", quepid), expected);
    let ratings = r#"[{"query":"tv 42&quot;","ratings":[{"docId":"A","rating":"3.000"},{"docId":"B","rating":0}],"failures":[]}]"#;
    let request = format!("{{\n\"type\":\"IMPORT_JUDGMENT\",\"judgmentRatings\":{ratings}}}");
    let answer = format!(r#"{{"hits":{{"hits":[{{"_source":{{"judgmentRatings":{ratings}}}}}]}}}}"#);
    let by_query = r#"{"judgmentScores":{"tv 42\"":[{"docId":"A","score":"3.0"},{"docId":"B","score":"0.000"}]}}"#;
    let book = r#"{"name":"b","query_doc_pairs":[
        {"query_text":"tv 42\"","doc_id":"A","judgements":[{"rating":2.0,"user_email":"a@b.example"},{"rating":3.0}]},
        {"query_text":"tv 42\"","doc_id":"B","judgements":[{"rating":0.0},{"rating":null,"unrateable":true}]},
        {"query_text":"radio","doc_id":"B","judgements":[]}]}"#;
    for document in [ratings, &request, &answer, by_query, book] {
        assert_eq!(read("ratings.json", document), expected, "{document}");
    }
    let saved = "query\ttitle_id\ttitle\tgrade\n\"tv 42\"\"\"\tA\t\"Sony 42\"\" TV\"\t3\nQUERY\ttitle_id\ttitle\tgrade\n\
                 \"tv 42\"\"\"\tB\tRadio\t0\n\t\t\t\n";
    assert_eq!(read("saved.tsv", saved), expected);
}

#[test]
fn documents_are_read_as_they_are_written() {
    let data = Data::new(&[("titles.tsv", "id\ttitle\nA\tSony 42\" TV\nB\tRadio, red\n")]);
    let judged = |query, id, title, grade| Judged { query, id, title, grade };
    let rows = [
        judged("tv, \"old\"", "A", "Sony 42\" TV", 4),
        judged("radio", "B", "Radio, red", 2),
        judged("tv, \"old\"", "B", "Radio, red", 0),
    ];
    let expected = ["q0000000 tv, \"old\": A Sony 42\" TV 4, B Radio, red 0", "radio radio: B Radio, red 2"];
    for (form, titles) in [
        (JudgmentsForm::Opensearch, Some("titles.tsv")),
        (JudgmentsForm::Quepid, Some("titles.tsv")),
        (JudgmentsForm::QuepidBook, None),
    ] {
        form.write(&data.path("written"), "mine", &rows).unwrap();
        let set = data.read("written", None, titles, "title").unwrap();
        assert_eq!(shown(&set), expected, "{form:?}");
    }
    // A run needs the ids alone.
    JudgmentsForm::Opensearch.write(&data.path("written"), "mine", &rows).unwrap();
    let path = data.path("written");
    let files = TestSetFiles { judged: &path, topics: None, titles: None, field: "title" };
    assert_eq!(read_test_set_for_runs(&files).unwrap().form, Form::Ids);
    assert!(data.message(read_test_set(&files)).contains("the texts of the titles"));
}

#[test]
fn a_fault_of_a_document_names_the_pair() {
    for (document, expected) in [
        (
            r#"[{"query":"a","ratings":[{"docId":"A","rating":"0.7"}]}]"#,
            "found `0.7`; scale fractions and round them first, such as 0.75 of 1 to 3 of 4 (query `a`, id `A`)",
        ),
        (r#"[{"query":"a","ratings":[{"rating":"1"}]}]"#, "expected a text or a number as `docId`"),
        (r#"{"judgmentRatings":[{"query":"a"}]}"#, "expected a list of ratings, found none for the query `a`"),
        (r#"{"query_doc_pairs":[{"query_text":"a","doc_id":"A","judgements":[{"rating":11}]}]}"#, "a grade, one of"),
        ("{\n\"name\": \"x\"\n}", "expected judgments with `judgmentRatings` or `query_doc_pairs`"),
        ("{\n\"judgmentRatings\": [", "found a document that is no JSON"),
    ] {
        let data = Data::new(&[("ratings.json", document)]);
        let message = data.message(data.read("ratings.json", None, None, "title"));
        assert!(message.contains(expected), "{document}: {message}");
    }
}

#[test]
fn entities_are_decoded_and_counted() {
    let table = "query\ttitle\tgrade\nmen&#39;s shoes\tMen&#39;s &amp; more\t1\nmen's shoes\tplain\t0\n";
    let data = Data::new(&[("judged.tsv", table)]);
    let set = data.read("judged.tsv", None, None, "title").unwrap();
    let [query] = &set.judgments.queries[..] else { panic!("{set:?}") };
    assert_eq!((&*query.text, &*query.titles[0].text), ("men's shoes", "Men's & more"));
    assert_eq!(set.judgments.with_entities, 2);
    let data = Data::beir();
    data.write("queries.jsonl", QUERIES_JSONL.replace("red shoes", "red &amp; shoes"));
    let set = data.read("", None, None, "title").unwrap();
    assert_eq!((&*set.judgments.queries[0].text, set.judgments.with_entities), ("red & shoes", 1));
}
