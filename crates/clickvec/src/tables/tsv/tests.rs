//! A test for each fault of a table, and for what is tolerated.

use std::io;

use super::*;

fn table(bytes: &'static [u8]) -> Result<TableReader> {
    // Two bytes at a time, so that every line crosses buffers.
    TableReader::from_reader(Path::new("t.tsv"), Box::new(io::BufReader::with_capacity(2, bytes)))
}

fn fault(result: Result<TableReader>) -> (Option<u64>, TableFault) {
    match result.err() {
        Some(Error::Table { line, fault, .. }) => (line, fault),
        other => panic!("{other:?}"),
    }
}

fn rows(table: &mut TableReader) -> Vec<(u64, Result<Vec<String>, TableFault>)> {
    let mut rows = Vec::new();
    while let Some(line) = table.next().unwrap() {
        rows.push(match line {
            Line::Broken { line, fault } => (line, Err(fault)),
            Line::Whole(row) => (row.line, Ok((0..).map_while(|i| row.get(i).map(str::to_owned)).collect())),
        });
    }
    rows
}

fn fields(names: &[&str]) -> Result<Vec<String>, TableFault> {
    Ok(names.iter().map(|&name| name.to_owned()).collect())
}

#[test]
fn bom_crlf_empty_lines_and_surplus_fields_are_tolerated() {
    let mut table = table(b"\xef\xbb\xbf Query \ttitle\r\n\r\na\tb\r\n\nc\t\"d\"\te\n\t\nlast\tline").unwrap();
    assert_eq!((table.column("query"), table.column("TITLE"), table.column("grade")), (Some(0), Some(1), None));
    assert_eq!(table.line(), 1);
    let expected = [(3, fields(&["a", "b"])), (5, fields(&["c", "\"d\""])), (6, fields(&["", ""]))];
    let found = rows(&mut table);
    assert_eq!(found[..3], expected);
    assert_eq!(found[3..], [(7, fields(&["last", "line"]))]);
    assert!(table.next().unwrap().is_none());
}

#[test]
fn a_header_that_comes_again_is_broken() {
    let mut joined = table(b"query\ttitle \na\tb\n\xef\xbb\xbfquery\ttitle\r\nquery\ttitle\tmore\nquery\tx\n").unwrap();
    joined.require("title").unwrap();
    let again = Err(TableFault::HeaderAgain);
    let found = rows(&mut joined);
    assert_eq!(found[..2], [(2, fields(&["a", "b"])), (3, again)]);
    assert!(found[2..].iter().all(|(_, row)| row.is_ok()) && found.len() == 4, "{found:?}");
    // A column alone may have its own name in it.
    assert_eq!(rows(&mut table(b"query\nquery\n").unwrap()), [(2, fields(&["query"]))]);
}

#[test]
fn an_empty_table() {
    for bytes in [&b""[..], b"\n\r\n", b"\xef\xbb\xbf\n"] {
        assert_eq!(fault(table(bytes)), (None, TableFault::Empty));
    }
}

#[test]
fn a_header_that_is_not_utf8() {
    assert_eq!(fault(table(b"qu\xe9ry\ttitle\n")), (Some(1), TableFault::HeaderNotUtf8 { byte: 3 }));
    for wide in [&b"\xff\xfeq\0"[..], b"\xfe\xff\0q", b"q\0u\0\t\0"] {
        assert_eq!(fault(table(wide)), (None, TableFault::Utf16));
    }
}

#[test]
fn a_header_that_is_too_long() {
    let bytes: &[u8] = vec![b'\t'; MAX_HEADER_BYTES + 1].leak();
    let source = Box::new(bytes);
    let found = fault(TableReader::from_reader(Path::new("t.tsv"), source));
    assert_eq!(found, (Some(1), TableFault::LineTooLong { limit: MAX_HEADER_BYTES }));
}

#[test]
fn a_missing_column() {
    let found = table(b"a\tb\n").unwrap().require("title").unwrap_err().to_string();
    assert_eq!(found, "t.tsv: expected a column `title` in the header, found `a`, `b`; see docs/reference/tables.md");
    let found = table(b"id,title\np1,Red shoes\n").unwrap().require("title").unwrap_err().to_string();
    let expected = "t.tsv: expected a column `title` in the header, found `id,title`, a line without the tabs that separate \
                    columns; see docs/reference/tables.md";
    assert_eq!(found, expected);
    let found = table(b"query\ttitle\rred\tRed shoes\r").unwrap().require("title").unwrap_err().to_string();
    assert!(found.contains("lines must end with LF or CR LF, not with CR alone (tr '\\r' '\\n')"), "{found}");
}

#[test]
fn a_column_named_twice() {
    let Err(Error::Table { fault, .. }) = table(b"a\tb\tA\n").unwrap().require("a") else { panic!() };
    assert_eq!(fault, TableFault::DuplicateColumn { column: "a".to_owned() });
}

#[test]
fn a_row_with_too_few_columns() {
    let mut table = table(b"x\ta\ty\n1\n1\t2\n").unwrap();
    table.require("a").unwrap();
    let broken = TableFault::TooFewColumns { expected: 2, found: 1 };
    assert_eq!(rows(&mut table), [(2, Err(broken)), (3, fields(&["1", "2"]))]);
}

#[test]
fn a_row_that_is_not_utf8() {
    let mut table = table(b"a\tb\n1\t\xff\n1\t2\n").unwrap();
    let found = rows(&mut table);
    assert_eq!(found, [(2, Err(TableFault::NotUtf8 { byte: 3 })), (3, fields(&["1", "2"]))]);
}

#[test]
fn a_row_that_is_too_long_is_never_held() {
    let bytes: &[u8] = [&b"a\tb\n"[..], &[b'x'; 1 << 20], b"\n123\t5678\n123\t56789\n"].concat().leak();
    let mut table = table(bytes).unwrap();
    table.lines.set_limit(8);
    let too_long = || Err(TableFault::LineTooLong { limit: 8 });
    assert_eq!(rows(&mut table), [(2, too_long()), (3, fields(&["123", "5678"])), (4, too_long())]);
    assert!(table.text.capacity() < 100);
}

#[test]
fn a_line_of_tabs_costs_no_more_than_the_header_has_columns() {
    let bytes: &[u8] = [&b"a\tb\n"[..], &[b'\t'; 1000]].concat().leak();
    let mut table = table(bytes).unwrap();
    assert_eq!(rows(&mut table), [(2, fields(&["", ""]))]);
    assert_eq!(table.tabs.len(), 2);
}

#[test]
fn a_read_error_names_the_line() {
    let whole = zstd::encode_all(&b"a\tb\n1\t2\n3\t4\n"[..], 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.zst");
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut table = TableReader::open(&path).unwrap();
    let error = loop {
        match table.next() {
            Ok(line) => assert!(line.is_some(), "the cut looked like the end"),
            Err(error) => break error,
        }
    };
    let Error::Shared(shared) = &error else { panic!("{error}") };
    let line = shared.line().unwrap();
    assert_eq!(line, table.line() + 1);
    assert!(error.to_string().contains("cannot read"), "{error}");
}
