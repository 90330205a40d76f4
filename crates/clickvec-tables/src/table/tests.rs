//! What every reader must do, with everything that can be wrong with a table.

use super::format::{Options, Width};
use super::*;

const MAX_ROW_BYTES: usize = 1 << 20;

fn options() -> Options {
    Options { width: Width::Header, max_row_bytes: MAX_ROW_BYTES, ..Options::default() }
}

fn table(name: &str, bytes: &[u8]) -> Result<Table> {
    Table::read(Path::new(name), Box::new(Cursor::new(bytes.to_vec())), &options())
}

const CSV: &[u8] = b"query,title\n";

/// Reads all rows as query and title, or `!` and the kind of fault, with line numbers.
fn rows(name: &str, bytes: &[u8]) -> Vec<(u64, String)> {
    let mut table = table(name, bytes).unwrap();
    let columns = ["query", "title", "item"].map(|name| table.column(name).unwrap());
    let mut record = Record::default();
    let mut rows = Vec::new();
    loop {
        let text = match table.next(&mut record).unwrap() {
            Next::End => return rows,
            Next::Header => "header".to_owned(),
            Next::Broken(fault) => format!("!{}", fault.kind()),
            Next::Row => [columns[0], columns[1]]
                .map(|column| column.and_then(|column| record.get(column)).unwrap_or("-"))
                .join("|"),
        };
        rows.push((record.line, text));
    }
}

fn texts(name: &str, bytes: &[u8]) -> Vec<String> {
    rows(name, bytes).into_iter().map(|(_, text)| text).collect()
}

fn fault(name: &str, bytes: &[u8]) -> String {
    let found = table(name, bytes)
        .and_then(|mut table| ["query", "title"].map(|name| table.require(name)).into_iter().collect());
    let found: Result<Vec<usize>> = found;
    found.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn formats_read_alike() {
    let expected = ["red shoes|Shoes, red", "sofa|Couch"];
    assert_eq!(texts("log.tsv", b"query\ttitle\nred shoes\tShoes, red\nsofa\tCouch\n"), expected);
    assert_eq!(
        texts("log", b"\xef\xbb\xbfday\ttitle\tQuery \r\n1\tShoes, red\tred shoes\r\n\r\n1\tCouch\tsofa"),
        expected
    );
    assert_eq!(texts("log.csv", b"query,title\nred shoes,\"Shoes, red\"\nsofa,Couch\n"), expected);
    assert_eq!(texts("log.csv", b"query\ttitle\nred shoes\tShoes, red\nsofa\tCouch\n"), expected);
    assert_eq!(texts("log.csv", b"query;title\r\nred shoes;Shoes, red\r\nsofa;\"Couch\"\r\n"), expected);
    let json = b"{\"query\":\"red shoes\",\"title\":\"Shoes, red\"}\n\n{\"title\":\"Couch\",\"query\":\"sofa\"}\n";
    assert_eq!(texts("log", json), expected);
}

#[test]
fn what_is_no_text_in_json_is_broken() {
    let row = |query: &str, item: &str| {
        let line = format!("{{\"query\":{query},\"title\":\"Couch\",\"item\":{item}}}\n");
        texts("log.jsonl", line.as_bytes()).concat()
    };
    assert_eq!(row("\"sofa\"", "12345678901234567890"), "sofa|Couch");
    assert_eq!(row("[\"red\",\"sofa\"]", "1.5"), "red sofa|Couch");
    assert_eq!(row("{\"text\":\"sofa\"}", "1"), "!bad value");
    assert_eq!(row("[true]", "1"), "!bad value");
}

#[test]
fn a_number_in_json_is_the_text_that_it_is_written_as() {
    let row = |query: &str| texts("log.jsonl", format!("{{\"query\" : {query},\"title\":\"Couch\"}}\n").as_bytes());
    // The last two are the same in 64 bits.
    for number in ["1e3", "1.50", "-0", "7.0", "12345678901234567890121", "12345678901234567890122"] {
        assert_eq!(row(number), [format!("{number}|Couch")]);
    }
    assert_eq!(row("[\"size\", 1e3 ,4]"), ["size 1e3 4|Couch"]);
    let nested = b"{\"a\":{\"b\":[1, {\"c\": 2.50 }]},\"title\":\"Couch\"}\n";
    let mut table = Table::read(Path::new("log.jsonl"), Box::new(&nested[..]), &Options::default()).unwrap();
    let column = table.require("a.b.1.c").unwrap();
    let mut record = Record::default();
    assert_eq!((table.next(&mut record).unwrap(), record.get(column)), (Next::Row, Some("2.50")));
    let expected = serde_json::json!({"a": {"b": [1, {"c": "2.50"}]}, "title": "Couch"});
    assert_eq!(table.written_object().as_deref(), Some(&expected));
}

#[test]
fn a_header_is_told_from_a_text() {
    let names = |path: &str, line: &str| header(Path::new(path), line).map(|header| header.names.join("|"));
    for (line, expected) in [
        ("\u{feff}Query,count\r\n", "Query|count"),
        ("\"query\"\tAnzahl (brutto)", "query|Anzahl (brutto)"),
        ("title;id", "title|id"),
        ("{\"title\":\"red\",\"id\":1}", "id|title"),
        // The object is cut short or broken; a text does not begin so.
        ("{\"title\":\"re", ""),
    ] {
        assert_eq!(names("-", line).as_deref(), Some(expected), "{line}");
    }
    for text in ["query", "red shoes", "shoes, red", "red\tshoes", "{red} shoes", ""] {
        assert_eq!(names("-", text), None, "{text}");
    }
    assert_eq!(names("folder.d/queries.tsv.gz", "query").as_deref(), Some("query"));
    assert_eq!((names("queries.csv", "red shoes"), names("a.tsv/queries.txt", "query")), (None, None));
    assert!(header(Path::new("-"), "title, name").unwrap().is_ambiguous);
}

#[test]
fn what_a_spreadsheet_saves_between_tabs_is_unquoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.tsv");
    let read = |text: &str, format: Option<Format>| {
        std::fs::write(&path, text).unwrap();
        let mut table = Table::open(&path, &Options { format, ..Options::default() }).unwrap();
        let title = table.require("title").unwrap();
        let (mut record, mut found) = (Record::default(), Vec::new());
        while table.next_row(&mut record).unwrap() {
            found.push(record.get(title).unwrap().to_owned());
        }
        found
    };
    let saved = "id\ttitle\r\n1\t\"TV 42\"\"\"\r\n2\tLamp 5\"\r\n3\t\"Lamp\"\r\n";
    assert_eq!(read(saved, None), ["TV 42\"", "Lamp 5\"", "Lamp"]);
    assert_eq!(read(saved, Some(Format::Tsv))[0], "\"TV 42\"\"\"");
    let mut piped = Table::read(&path, Box::new(saved.as_bytes()), &Options::default()).unwrap();
    let mut record = Record::default();
    let Next::Broken(fault) = piped.next(&mut record).unwrap() else { panic!("it can be read only once") };
    assert!(fault.to_string().contains("one that a spreadsheet quoted"), "{fault}");
    assert_eq!(piped.next(&mut record).unwrap(), Next::Row);
    // People type quotes too.
    for typed in ["id\ttitle\n1\t\"red lamp\"\n", "id\ttitle\n1\t\"TV 42\"\"\"\n2\t\"red\" lamp\n"] {
        assert!(read(typed, None).last().unwrap().starts_with('"'), "{typed}");
    }
}

#[test]
fn quotes_span_lines_and_are_doubled() {
    let bytes = b"query,title\na,\"one\ntwo\"\nb,\"5\"\" screen\"\nc,5\" screen\n";
    assert_eq!(
        rows("log.csv", bytes),
        [(2, "a|one\ntwo".to_owned()), (4, "b|5\" screen".to_owned()), (5, "c|5\" screen".to_owned())]
    );
}

#[test]
fn a_quote_that_is_never_closed_costs_one_line() {
    let found = rows("log.csv", b"query,title\na,one\n\"b,two\nc,three\n");
    let expected = [(2, "a|one"), (3, "!quote not closed"), (4, "c|three")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    let many: Vec<u8> = [CSV, b"a,\"open\n", &b"b,fine\n".repeat(300_000)].concat();
    let found = rows("log.csv", &many);
    assert_eq!((found.len(), found[0].1.as_str(), found[300_000].0), (300_001, "!quote not closed", 300_002));
}

/// Each row reads on to the limit for its end; if each did so anew, this would take hours.
#[test]
fn quotes_that_many_rows_leave_open_are_looked_for_once() {
    let found = rows("log.csv", &[CSV, &b"a,\"b\"c,\"d\n".repeat(300_000)].concat());
    assert_eq!(found.len(), 300_000);
    assert!(found.iter().all(|(_, text)| text == "!quote not closed"));
}

#[test]
fn a_line_that_is_too_long_is_told_after_an_open_quote_too() {
    let bytes = [CSV, b"a,\"b\n", &vec![b'x'; MAX_ROW_BYTES + 1], b"\nc,d\n"].concat();
    assert_eq!(texts("log.csv", &bytes), ["!quote not closed", "!too long", "c|d"]);
}

proptest::proptest! {
    /// Compares with looking for the end of each record anew.
    #[test]
    fn quotes_of_any_lines_are_read_alike(lines in proptest::collection::vec("[ab\",]{1,6}", 1..12)) {
        let mut expected = Vec::new();
        let mut first = 0;
        while first < lines.len() {
            let whole = (first..lines.len()).find_map(|last| {
                let record = lines[first..=last].join("\n") + "\n";
                // It ends where the quotes that csv-core knows of are all closed.
                let (mut rules, mut text, mut ends) = (csv_core::Reader::new(), [0; 256], [0; 64]);
                let (result, read, written, fields) = rules.read_record(record.as_bytes(), &mut text, &mut ends);
                let is_whole = result == csv_core::ReadRecordResult::Record && read == record.len();
                is_whole.then(|| (last, String::from_utf8_lossy(&text[..written]).into_owned(), ends[0], fields))
            });
            let line = first as u64 + 2;
            match &whole {
                None => expected.push((line, "!quote not closed".to_owned())),
                Some((_, text, end, 2)) => expected.push((line, format!("{}|{}", &text[..*end], &text[*end..]))),
                Some(_) => expected.push((line, "!wrong number of columns".to_owned())),
            }
            first = whole.map_or(first, |(last, ..)| last) + 1;
        }
        let bytes = format!("query,title\n{}\n", lines.join("\n"));
        proptest::prop_assert_eq!(rows("log.csv", bytes.as_bytes()), expected);
    }
}

#[test]
fn rows_that_are_broken() {
    for (bytes, expected) in [
        (&b"query\ttitle\na\n"[..], "!wrong number of columns"),
        (b"query\ttitle\na\tb\tc\n", "!wrong number of columns"),
        (b"query\ttitle\na\xff\tb\n", "!not UTF-8"),
        (b"query\ttitle\na\0\tb\n", "!NUL byte"),
        (b"query,title\na\n", "!wrong number of columns"),
        (b"query,title\na\xff,b\n", "!not UTF-8"),
        (b"query,title\na\0,b\n", "!NUL byte"),
        (b"{\"query\":\"a\"}\n{\"query\":\n", "!not a JSON object"),
        (b"{\"query\":\"a\"}\n7\n", "!not a JSON object"),
        (b"{\"query\":\"a\"}\n{\"query\":\"\xff\"}\n", "!not UTF-8"),
        (b"query\ttitle\nquery\ttitle\n", "header"),
        (b"query,title\nquery,title\n", "header"),
    ] {
        assert_eq!(texts("log", bytes).last().unwrap(), expected, "{}", String::from_utf8_lossy(bytes));
    }
    for name in ["log.tsv", "log.csv"] {
        let header = if name == "log.tsv" { &b"query\ttitle\n"[..] } else { CSV };
        let bytes = [header, &vec![b'x'; MAX_ROW_BYTES + 1], b"\n"].concat();
        assert_eq!(texts(name, &bytes), ["!too long"]);
    }
}

#[test]
fn what_to_do_with_other_encodings() {
    use crate::shown::encoding_advice;
    for western in [&b"men\x92s shoes"[..], b"cr\xe9\xe9e", b"Gr\xf6\xdfe \x96 XL"] {
        assert!(encoding_advice(western).contains("iconv -f CP1252"), "{western:?}");
    }
    for other in [&b"\xba\xec\xc9\xab\xb5\xc4"[..], b"\xea\xf0\xe0\xf1\xed\xfb\xe9 \xf8\xeb\xe0\xed\xe3"] {
        assert!(encoding_advice(other).contains("`file -i` or `uchardet`"), "{other:?}");
    }
}

#[test]
fn files_that_are_refused() {
    for (name, bytes, expected) in [
        ("a.tsv", &b""[..], "a.tsv: expected a header line, found nothing; see docs/reference/tables.md"),
        ("a", b"\n\n", "a: expected a header line, found nothing; see docs/reference/tables.md"),
        ("a.zip", b"PK\x03\x04..", "a.zip: expected a table, found a zip archive; unpack it first (unzip)"),
        (
            "a.csv.xz",
            b"\xfd7zXZ\0..",
            "a.csv.xz: expected a table, found a file compressed with xz; unpack it first (unxz)",
        ),
        (
            "a.csv.bz2",
            b"BZh9..",
            "a.csv.bz2: expected a table, found a file compressed with bzip2; unpack it first (bunzip2)",
        ),
        (
            "a.json",
            b"{\n  \"query\": 1\n}\n",
            "a.json: expected one JSON object a line, found an object over several lines; write each in one line first (jq -c .)",
        ),
        (
            "a.json",
            b"{\"took\":3,\"hits\":{\"hits\":[]}}\n",
            "a.json: expected one JSON object a line, found the response of a search; write its hits one a line first (jq -c '.hits.hits[]')",
        ),
        (
            "a.tsv",
            b"\xff\xfeq\0",
            "a.tsv: expected UTF-8, found UTF-16; save it as UTF-8 text (iconv -f UTF-16 -t UTF-8)",
        ),
        (
            "a.tsv",
            b"query\xff\ttitle\n",
            "a.tsv: expected a header in UTF-8, found another byte at position 6 of the line; save it as UTF-8 text (it looks like Windows-1252: iconv -f CP1252 -t UTF-8; of Central Europe, -f CP1250)",
        ),
        ("a", b"word\n", "a: expected tabs or commas in the header, found neither"),
        ("a.json", b"[{}]\n", "a.json: expected one JSON object a line, found an array; split it first (jq -c '.[]')"),
        (
            "a.csv",
            b"q,title\n",
            "a.csv: expected a column `query` in the header, found `q`, `title`; see docs/reference/tables.md",
        ),
        (
            "a.csv",
            b"query,title\rred,Red shoes\r",
            "a.csv: expected a column `title` in the header, found a CR within the first line; lines must end with LF or CR LF, not with CR alone \
             (tr '\\r' '\\n'); see docs/reference/tables.md",
        ),
        (
            "a.csv",
            b"query,title,QUERY\n",
            "a.csv: expected one column `query` in the header, found several; rename all but one",
        ),
    ] {
        assert_eq!(fault(name, bytes), expected);
    }
    assert_eq!(
        fault("a.csv", b"query,sku\n"),
        "a.csv: expected a column `title` in the header, found `query`, `sku`; see docs/reference/tables.md"
    );
    assert!(fault("a", b"PAR1").contains("Parquet"));
}

#[test]
fn the_response_of_a_search_is_told_however_it_is_read() {
    let response = b"{\n  \"took\": 3,\n  \"hits\": {\n    \"hits\": []\n  }\n}\n";
    let source = Box::new(std::io::BufReader::with_capacity(4, &response[..]));
    let error = Table::read(Path::new("a.json"), source, &Options::default()).err().unwrap().to_string();
    assert!(error.ends_with("write its hits one a line first (jq -c '.hits.hits[]')"), "{error}");
}

#[test]
fn columns_are_found_once_by_name() {
    let bytes = b" Id \ttitle\textra\n7\tRed\n8\tBlue\tx\ty\n9\n";
    let mut table = Table::read(Path::new("t.tsv"), Box::new(&bytes[..]), &Options::default()).unwrap();
    let (title, id) = (table.require("TITLE").unwrap(), table.require("id").unwrap());
    assert_eq!(table.require("title").unwrap(), title);
    assert_eq!(table.column("nothing").unwrap(), None);
    let extra = table.column("extra").unwrap().unwrap();
    let mut record = Record::default();
    let mut found = Vec::new();
    loop {
        match table.next(&mut record).unwrap() {
            Next::End => break,
            Next::Broken(fault) => found.push(format!("{}: {fault}", record.line)),
            _ => found.push([title, id, extra].map(|column| record.get(column).unwrap_or("-")).join("|")),
        }
    }
    let fault = "4: expected at least 2 columns, found 1; see docs/reference/tables.md";
    assert_eq!(found, ["Red|7|-", "Blue|8|x", fault]);
}

#[test]
fn a_field_joins_columns() {
    for (name, bytes) in [
        ("t.tsv", &b"title\ttext\na\tb c\n \td\ne\t\n"[..]),
        ("t.csv", b"title,text\na,b c\n ,d\ne,\n"),
        ("t", b"{\"title\":\"a\",\"text\":\"b c\"}\n{\"text\":\"d\"}\n{\"title\":\"e\",\"text\":null}\n"),
    ] {
        let mut table = Table::read(Path::new(name), Box::new(bytes), &Options::default()).unwrap();
        let field = Field::require(&mut table, "Text + title").unwrap();
        let (mut record, mut joined, mut texts) = (Record::default(), String::new(), Vec::new());
        while table.next(&mut record).unwrap() == Next::Row {
            texts.push(field.text(&record, &mut joined).to_owned());
        }
        assert_eq!(texts, ["b c a", "d", "e"], "{name}");
    }
    let mut table = table("t.tsv", b"a+b\ta\tb\n1\t2\t3\n").unwrap();
    let field = Field::require(&mut table, "a+b").unwrap();
    let mut record = Record::default();
    table.next(&mut record).unwrap();
    assert_eq!(field.text(&record, &mut String::new()), "1");
    let error = Field::require(&mut table, "a+A").unwrap_err().to_string();
    assert_eq!(error, "t.tsv: expected each column once in the field to read, found `A` twice; name it once");
}

#[test]
fn json_lines_without_a_required_column_fail_at_their_end() {
    let mut lines = table("t", b"{\"id\":7}\n{\"id\":8}\n").unwrap();
    lines.require("title").unwrap();
    let mut record = Record::default();
    assert_eq!(lines.next(&mut record).unwrap(), Next::Row);
    assert_eq!(lines.next(&mut record).unwrap(), Next::Row);
    let error = lines.next(&mut record).unwrap_err().to_string();
    assert_eq!(error, "t: expected a column `title`, found `id`; see docs/reference/tables.md");
    // A row that is broken has its columns.
    let mut lines = table("t", b"{\"query\":{},\"title\":\"b\"}\n").unwrap();
    for name in ["query", "title"] {
        lines.require(name).unwrap();
    }
    assert!(matches!(lines.next(&mut record).unwrap(), Next::Broken(_)));
    assert_eq!(lines.next(&mut record).unwrap(), Next::End);
}

#[test]
fn reading_that_fails_names_the_line() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, &b"query\ttitle\nred shoes\tShoes\n".repeat(100_000)).unwrap();
    let whole = gzip.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let mut table = Table::open(&path, &Options::default()).unwrap();
    let mut record = Record::default();
    let error = loop {
        match table.next(&mut record) {
            Ok(next) => assert_ne!(next, Next::End, "the cut looked like the end"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.line()), (ErrorKind::Io, Some(record.line + 1)));
}

#[test]
fn utf_16_is_recognised_without_a_byte_order_mark() {
    assert!(fault("t.tsv", b"q\0\t\0t\0\n\0").contains("found UTF-16"));
    assert!(fault("t", b"\xff\xfeq\0\t\0").contains("found UTF-16"));
    assert!(fault("t", b"\x10\0\0\0\0\0\0\0{\"a\"").contains("a model or another file of tensors"));
}

#[test]
fn another_header_ends_the_reading() {
    let error = |table: &'static [u8]| {
        let mut table = Table::read(Path::new("t"), Box::new(table), &Options::default()).unwrap();
        table.require("query").unwrap();
        let mut record = Record::default();
        loop {
            match table.next(&mut record) {
                Ok(Next::End) => return None,
                Ok(_) => {}
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    let expected =
        "t:3: expected rows of the columns in the first line, found another header; read the tables one by one";
    for other in [
        &b"query,title,user\na,b,c\nquery,user,title\nd,e,f\n"[..],
        b"query,title,x\na,b,c\n\"Query\",title,y\n",
        b"query\ttitle\na\tb\ntitle\tquery\n",
        b"query\ttitle\na\tb\nquery\ttitle\tuser\n",
    ] {
        assert_eq!(error(other).as_deref(), Some(expected), "{}", String::from_utf8_lossy(other));
    }
    for one in [
        &b"query,title,user\nquery,title,user\n"[..],
        b"query,title,user\nquery,b,c\ntitle,x,y\n",
        b"query,title,,\nquery,,,\n",
    ] {
        assert_eq!(error(one), None, "{}", String::from_utf8_lossy(one));
    }
}

#[test]
fn tabs_between_quoted_names_are_those_of_a_spreadsheet() {
    let bytes = b"\xef\xbb\xbf\"query\"\t\"title\"\n\"a \"\"b\"\"\"\t\"c\"\n";
    let mut table = Table::read(Path::new("t.tsv"), Box::new(&bytes[..]), &Options::default()).unwrap();
    let (query, mut record) = (table.require("query").unwrap(), Record::default());
    assert_eq!((table.next(&mut record).unwrap(), record.get(query)), (Next::Row, Some("a \"b\"")));
}
