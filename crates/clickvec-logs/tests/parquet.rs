//! Parquet written by the crate that reads it and, if the environment names a file, by another program.
#![cfg(feature = "parquet")]

use std::path::Path;
use std::sync::Arc;

use clickvec_logs::columns::Role;
use clickvec_logs::tables::{LogTable, Next, Options, Record, check_parquet};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Names a file with the rows of [`write`] from another program.
const OTHER: &str = "CLICKVEC_PARQUET";

fn write(path: &Path) {
    let schema = "message log { REQUIRED BYTE_ARRAY query (UTF8); OPTIONAL BYTE_ARRAY title (UTF8); \
                  REQUIRED INT64 time (TIMESTAMP(MILLIS,true)); REQUIRED INT64 count; REQUIRED INT64 other; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, properties).unwrap();
    for (query, title, time, count) in [("red shoes", Some("Shoes, red"), 1_715_934_600_000, 3), ("sofa", None, 0, 1)] {
        let mut group = writer.next_row_group().unwrap();
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[text(query)], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let (values, level): (Vec<ByteArray>, i16) =
            (title.map(text).into_iter().collect(), i16::from(title.is_some()));
        column.typed::<ByteArrayType>().write_batch(&values, Some(&[level]), None).unwrap();
        column.close().unwrap();
        for number in [time, count, 7] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&[number], None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn rows(path: &Path) -> Vec<String> {
    let table = LogTable::open(path, &Options::default()).unwrap();
    assert!(table.has(Role::Title) && table.has(Role::Time) && !table.has(Role::User));
    rows_of(path)
}

fn rows_of(path: &Path) -> Vec<String> {
    let mut table = LogTable::open(path, &Options::default()).unwrap();
    let (mut record, mut rows) = (Record::default(), Vec::new());
    while table.next(&mut record).unwrap() == Next::Row {
        let fields = [Role::Query, Role::Title, Role::Time, Role::Count].map(|role| record.get(role).unwrap_or("-"));
        rows.push(fields.join("|"));
    }
    rows
}

const EXPECTED: [&str; 2] = ["red shoes|Shoes, red|2024-05-17T08:30:00Z|3", "sofa|-|1970-01-01T00:00:00Z|1"];

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    // The first bytes count, not the name.
    let path = folder.path().join("log");
    write(&path);
    assert_eq!(rows(&path), EXPECTED);
    let missing = LogTable::open(&path, &{
        let mut options = Options::default();
        options.columns.name(Role::User, "who");
        options
    });
    let message = missing.err().unwrap().to_string();
    assert!(message.contains("expected a column `who`, found `query`, `title`, `time`"), "{message}");
}

#[test]
fn a_damaged_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    write(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in [4, 8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let message = LogTable::open(&path, &Options::default()).err().expect("refused").to_string();
        assert!(
            message.contains("cannot read this Parquet file: expected `PAR1` and the length"),
            "{length}: {message}"
        );
    }
    std::fs::write(&path, [&whole[..whole.len() - 1], b"E"].concat()).unwrap();
    let message = LogTable::open(&path, &Options::default()).err().expect("refused").to_string();
    assert!(message.contains("expected a Parquet file without encryption, found an encrypted one"), "{message}");
}

/// A file whose dictionary is shorter than its page says, as fuzzing found: the crate that reads Parquet panicked on it, until the
/// headers of all pages were checked first.
#[test]
fn a_damaged_file_whose_dictionary_is_cut_short_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    std::fs::write(&path, include_bytes!("dictionary_cut_short.parquet")).unwrap();
    let mut table = LogTable::open(&path, &Options::default()).unwrap();
    let mut record = Record::default();
    // Whoever asks again is told again.
    for _ in 0..2 {
        let message = table.next(&mut record).unwrap_err().to_string();
        assert!(message.contains("expected the header of a page at byte 102, found one that no Parquet"), "{message}");
    }
}

/// The bytes of a file with one row.
fn one_row(compression: Compression) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    write_differences(&path, 1, WriterVersion::PARQUET_1_0, Encoding::PLAIN, compression);
    std::fs::read(&path).unwrap()
}

/// Puts bytes in the first place of others.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let at = bytes.windows(old.len()).position(|bytes| bytes == old).expect("the old bytes");
    bytes[at..at + old.len()].copy_from_slice(new);
}

/// What the first row of a file with these bytes is refused for.
fn refused(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    std::fs::write(&path, bytes).unwrap();
    let mut table = LogTable::open(&path, &Options::default()).unwrap();
    let message = table.next(&mut Record::default()).unwrap_err().to_string();
    message.strip_prefix(&format!("{}: cannot read this Parquet file: ", path.display())).unwrap_or(&message).to_owned()
}

#[test]
fn a_file_that_cannot_be_read_is_refused_for_what_is_wrong() {
    let mut lzo = one_row(Compression::SNAPPY);
    // The end of a column's path, and its method of compression: twice 1 for Snappy, twice 3 for LZO.
    replace(&mut lzo, b"query\x15\x02", b"query\x15\x06");
    let methods = "zstd, Snappy, gzip, LZ4, Brotli or no compression";
    assert_eq!(refused(&lzo), format!("column query: expected {methods}, found LZO; write it with one of these"));

    let plain = one_row(Compression::UNCOMPRESSED);
    let mut short = plain.clone();
    // The length of the first query.
    replace(&mut short, b"\x0b\0\0\0red", b"\xff\0\0\0red");
    assert_eq!(refused(&short), "expected all bytes that it says it has, found fewer; was it cut short?");

    let mut strange = plain;
    // A page of one value, and its encoding: 0 for plain, twice 4 for one that only levels have.
    replace(&mut strange, b"\x15\x02\x15\0\x15\x06", b"\x15\x02\x15\x08\x15\x06");
    assert_eq!(
        refused(&strange),
        "expected usual encodings, found one that is not supported; write it with the defaults of pyarrow or DuckDB"
    );
}

/// The size of a collection is checked before it is believed: these took half a minute to be refused.
#[test]
fn a_damaged_file_does_not_go_on_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = folder.path().join("metadata.parquet");
    // A map of 2³¹ − 1 booleans, which take no bytes.
    let map = [0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x22, 0, 0];
    std::fs::write(&metadata, [b"PAR1", &map[..], &[map.len() as u8, 0, 0, 0], b"PAR1"].concat()).unwrap();
    let refused = LogTable::open(&metadata, &Options::default()).err().expect("refused").to_string();
    let expected = "expected the metadata at byte 4, found one that says it is longer than the file";
    assert!(refused.contains(expected), "{refused}");
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/endless_header.parquet");
    let refused = check_parquet(&header).expect_err("refused").to_string();
    assert!(refused.contains("expected the header of a page at byte 4, found one that"), "{refused}");
    if let Ok(mut table) = LogTable::open(&header, &Options::default()) {
        let mut record = Record::default();
        while let Ok(Next::Row) = table.next(&mut record) {}
    }
}

/// Run by `.ci/run` with a file of pyarrow's.
#[test]
fn what_another_program_wrote_is_read() {
    let Some(path) = std::env::var_os(OTHER) else { return };
    assert_eq!(rows(Path::new(&path)), EXPECTED);
}

/// Rows of a query that is always there, a title that sometimes is, and a count.
fn write_differences(path: &Path, rows: usize, version: WriterVersion, texts: Encoding, compression: Compression) {
    let schema =
        "message log { REQUIRED BYTE_ARRAY query (UTF8); OPTIONAL BYTE_ARRAY title (UTF8); REQUIRED INT64 count; }";
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(false)
        .set_compression(compression)
        .set_column_encoding("query".into(), texts)
        .set_column_encoding("title".into(), texts)
        .set_column_encoding("count".into(), Encoding::DELTA_BINARY_PACKED);
    let (schema, properties) = (Arc::new(parse_message_type(schema).unwrap()), Arc::new(properties.build()));
    let mut writer = SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let text = |start: &str, row: usize| ByteArray::from(format!("{start} {}", row * row).into_bytes());
    let queries: Vec<ByteArray> = (0..rows).map(|row| text("red shoes", row)).collect();
    let levels: Vec<i16> = (0..rows).map(|row| i16::from(row % 3 > 0)).collect();
    let titles: Vec<ByteArray> = (0..rows).filter(|row| row % 3 > 0).map(|row| text("Shoes", row)).collect();
    let counts: Vec<i64> = (1..=rows as i64).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&queries, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&titles, Some(&levels), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&counts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

const TEXTS: [Encoding; 2] = [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];
const VERSIONS: [WriterVersion; 2] = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];

#[test]
fn differences_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    for (texts, version) in TEXTS.into_iter().flat_map(|texts| VERSIONS.map(|version| (texts, version))) {
        for (rows_written, compression) in [(1, Compression::UNCOMPRESSED), (3000, Compression::SNAPPY)] {
            write_differences(&path, rows_written, version, texts, compression);
            let found = rows_of(&path);
            assert_eq!(found.len(), rows_written, "{texts} {version:?}");
            for (row, found) in found.iter().enumerate() {
                let square = row * row;
                let title = if row % 3 > 0 { format!("Shoes {square}") } else { "-".to_owned() };
                assert_eq!(*found, format!("red shoes {square}|{title}|-|{}", row + 1), "{texts} {version:?}");
            }
            clickvec_logs::tables::check_parquet(&path).unwrap();
        }
    }
}

/// A page that says it has more values than there are: room for them would be made first, for any number.
#[test]
fn a_page_of_too_many_values_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    // Blocks of 128 lengths or 256 counts in four parts, and their number: 66 rows have a title.
    let headers = [[0x80, 1, 4, 100], [0x80, 1, 4, 66], [0x80, 2, 4, 100]];
    for (texts, version) in TEXTS.into_iter().flat_map(|texts| VERSIONS.map(|version| (texts, version))) {
        write_differences(&path, 100, version, texts, Compression::UNCOMPRESSED);
        let whole = std::fs::read(&path).unwrap();
        let lists: Vec<usize> =
            (0..whole.len() - 4).filter(|&at| headers.iter().any(|header| whole[at..].starts_with(header))).collect();
        assert_eq!(lists.len(), if texts == Encoding::DELTA_BYTE_ARRAY { 5 } else { 3 });
        for at in lists {
            let mut damaged = whole.clone();
            damaged[at + 3] = 127;
            std::fs::write(&path, &damaged).unwrap();
            let message = clickvec_logs::tables::check_parquet(&path).unwrap_err().to_string();
            assert!(message.contains("expected at most 100 values in a page, found 127"), "{message}");
            let mut table = LogTable::open(&path, &Options::default()).unwrap();
            let mut record = Record::default();
            while table.next(&mut record).is_ok_and(|next| next == Next::Row) {}
            assert!(table.next(&mut record).is_err(), "{texts} {version:?} {at}");
        }
    }
}
