//! Parquet written by the crate that reads it and, if the environment names a file, by another program.
#![cfg(feature = "parquet")]

use std::path::Path;
use std::sync::Arc;

use clickvec_logs::columns::Role;
use clickvec_logs::table::{LogTable, Next, Options, Record};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
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
    let mut table = LogTable::open(path, &Options::default()).unwrap();
    assert!(table.has(Role::Title) && table.has(Role::Time) && !table.has(Role::User));
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
        assert!(LogTable::open(&path, &Options::default()).is_err(), "{length}");
    }
}

/// A file whose dictionary is shorter than its page says: the crate that reads Parquet panics on it, as fuzzing found.
#[test]
fn a_damaged_file_on_which_its_reader_panics_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.parquet");
    std::fs::write(&path, include_bytes!("dictionary_cut_short.parquet")).unwrap();
    let mut table = LogTable::open(&path, &Options::default()).unwrap();
    let mut record = Record::default();
    // Whoever asks again is told again.
    for _ in 0..2 {
        let message = table.next(&mut record).unwrap_err().to_string();
        assert!(message.contains("its bytes are not those of a whole Parquet file"), "{message}");
    }
}

/// Run by `.ci/run` with a file of pyarrow's.
#[test]
fn what_another_program_wrote_is_read() {
    let Some(path) = std::env::var_os(OTHER) else { return };
    assert_eq!(rows(Path::new(&path)), EXPECTED);
}
