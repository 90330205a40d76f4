//! Parquet written by the crate that reads it and, if the environment names a file, by another program.

use std::path::Path;
use std::sync::Arc;

use clickvec_tables::table::{Next, Options, Record, Table};
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
    let mut table = Table::open(path, &Options::default()).unwrap();
    let columns = ["query", "title", "time", "count"].map(|name| table.column(name).unwrap());
    let (mut record, mut rows) = (Record::default(), Vec::new());
    while table.next(&mut record).unwrap() == Next::Row {
        rows.push(columns.map(|column| column.and_then(|column| record.get(column)).unwrap_or("-")).join("|"));
    }
    rows
}

/// Returns why a file cannot be read to its end; an empty text if it can.
fn refused(path: &Path) -> String {
    let read = || -> clickvec_tables::Result<()> {
        let mut table = Table::open(path, &Options::default())?;
        table.require("query")?;
        let mut record = Record::default();
        while table.next(&mut record)? == Next::Row {}
        Ok(())
    };
    let message = read().err().map(|error| error.to_string()).unwrap_or_default();
    message.strip_prefix(&format!("{}: cannot read this Parquet file: ", path.display())).unwrap_or(&message).to_owned()
}

const EXPECTED: [&str; 2] = ["red shoes|Shoes, red|2024-05-17T08:30:00Z|3", "sofa|-|1970-01-01T00:00:00Z|1"];

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    // The first bytes count, not the name.
    let path = folder.path().join("log");
    write(&path);
    assert_eq!(rows(&path), EXPECTED);
    let mut table = Table::open(&path, &Options::default()).unwrap();
    let message = table.require("who").unwrap_err().to_string();
    assert!(message.contains("expected a column `who` in the header, found `query`, `title`, `time`"), "{message}");
}

#[test]
fn a_damaged_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    write(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in [4, 8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert_ne!(refused(&path), "", "{length}");
    }
    // Any byte may be damaged, and nothing panics.
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        refused(&path);
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

#[test]
fn a_file_that_cannot_be_read_is_refused_for_what_is_wrong() {
    let mut lzo = one_row(Compression::SNAPPY);
    // The end of a column's path, and its method of compression: twice 1 for Snappy, twice 3 for LZO.
    replace(&mut lzo, b"query\x15\x02", b"query\x15\x06");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    std::fs::write(&path, &lzo).unwrap();
    let methods = "zstd, Snappy, gzip, LZ4, Brotli or no compression";
    assert_eq!(refused(&path), format!("column \"query\": expected {methods}, found LZO; write it with one of these"));
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
            let found = rows(&path);
            assert_eq!(found.len(), rows_written, "{texts} {version:?}");
            for (row, found) in found.iter().enumerate() {
                let square = row * row;
                let title = if row % 3 > 0 { format!("Shoes {square}") } else { "-".to_owned() };
                assert_eq!(*found, format!("red shoes {square}|{title}|-|{}", row + 1), "{texts} {version:?}");
            }
        }
    }
}
