//! Recognises the format and the columns from the beginning of a file.

use std::io::{self, BufRead};
use std::path::Path;

use super::format::{Format, MAX_HEADER_BYTES};
use super::names::is_header;
use crate::shown::{UTF_16, encoding_advice};
use crate::{Error, ErrorKind, FoundLine, Lines, Result};

/// Returns whether a file begins as safetensors do: the length of a header in 8 bytes, and the header, an object. No header is as
/// long as 2^40 bytes.
pub fn is_tensors(head: &[u8]) -> bool {
    head.len() > 8 && head[8] == b'{' && head[5..8] == [0; 3]
}

/// Returns whether a file begins as Parquet does.
pub fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// Returns whether the first bytes of a file are a byte order mark of UTF-16.
pub fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

/// What a line that may be a text has as the header of a table, or as its first object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The names of the columns; none of an object that is broken.
    pub names: Vec<String>,
    /// Whether the line may also be a text: a list of words with blanks after its commas.
    pub is_ambiguous: bool,
}

impl Header {
    /// Returns whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other.trim().eq_ignore_ascii_case(name))
    }

    /// Returns whether `second`, the line below, has as many fields as `first`. Where it has not, the header is a text that looks like one.
    pub fn has_row(&self, first: &str, second: Option<&str>) -> bool {
        let count = |line: &str| [',', ';'].map(|separator| line.matches(separator).count());
        first.contains('\t')
            || first.trim_start().starts_with('{')
            || second.is_none_or(|second| count(first) == count(second))
    }
}

/// Returns the header that the first line of a file is; `None` if it is a text. A single name is a header in a file that is called
/// a table.
pub fn header(path: &Path, first: &str) -> Option<Header> {
    let first = first.strip_prefix('\u{feff}').unwrap_or(first).trim_matches([' ', '\n', '\r']);
    if let Some(inside) = first.trim_start().strip_prefix('{') {
        let object: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(first).ok();
        let is_object = object.is_some() || inside.trim_start().starts_with('"');
        let names = object.into_iter().flatten().map(|(name, _)| name).collect();
        return is_object.then_some(Header { names, is_ambiguous: false });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let least = if [".tsv", ".csv"].iter().any(|ending| name.contains(ending)) { 1 } else { 2 };
    let header = |separator: char| -> Option<Header> {
        let names = first.split(separator).map(|name| name.trim().trim_matches('"').to_owned()).collect();
        let has_blanks = |name: &str| name.trim() != name && !name.trim().starts_with('"');
        let is_ambiguous = separator != '\t' && first.split(separator).any(has_blanks);
        let header = Header { names, is_ambiguous };
        (header.names.len() >= least && (is_header(&header.names) || header.has("query"))).then_some(header)
    };
    ['\t', ',', ';'].into_iter().find_map(header)
}

/// Returns whether a line is the header of a table with a column of this name.
pub fn has_column(line: &str, name: &str) -> bool {
    line.split(['\t', ',', ';']).any(|found| found.trim().trim_matches('"').eq_ignore_ascii_case(name))
}

pub(super) fn malformed(
    path: &Path,
    expected: &'static str,
    found: impl Into<std::borrow::Cow<'static, str>>,
) -> Error {
    Error::expected(ErrorKind::Malformed, expected, found).at(path)
}

pub(super) fn empty(path: &Path) -> Error {
    malformed(path, "a header line", "nothing").help("see docs/reference/tables.md")
}

pub(super) fn utf16(path: &Path) -> Error {
    Error::new(ErrorKind::Malformed, UTF_16).at(path)
}

/// The first bytes of files that are no tables, what they are called, and what makes tables of them.
const OTHERS: [(&[u8], &str, &str); 17] = [
    (b"PK\x03\x04", "a zip archive", "unpack it first (unzip)"),
    (b"\xfd7zXZ\0", "a file compressed with xz", "unpack it first (unxz)"),
    (b"BZh", "a file compressed with bzip2", "unpack it first (bunzip2)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first (7z x)"),
    (b"Rar!", "a rar archive", "unpack it first (unrar x)"),
    (b"\x04\x22\x4d\x18", "a file compressed with lz4", "unpack it first (unlz4)"),
    // What compresses a file once was taken off.
    (b"\x1f\x8b", "a file that was compressed twice", "unpack it first (gunzip)"),
    (b"\xd0\xcf\x11\xe0", "a workbook of Excel", SAVE_AS_CSV),
    (b"\x93NUMPY", "an array of NumPy", "write its texts as a table"),
    (b"ARROW1", "a file of Arrow (Feather)", "write it as Parquet or CSV"),
    (b"ORC", "a file in ORC", "write it as Parquet or CSV"),
    (b"SQLite format 3", "a database of SQLite", "write its table as CSV (sqlite3 -header -csv)"),
    (b"%PDF", "a PDF", SAVE_AS_CSV),
    (b"<!DOCTYPE", "a page in HTML", SAVE_AS_CSV),
    (b"<!doctype", "a page in HTML", SAVE_AS_CSV),
    (b"<html", "a page in HTML", SAVE_AS_CSV),
    (b"\xff\xfe\0\0", "UTF-32", "save it as UTF-8 text (iconv -f UTF-32 -t UTF-8)"),
];
const SAVE_AS_CSV: &str = "save the table as CSV";
/// How much of JSON over several lines is looked at.
const PRETTY_BYTES: usize = 4096;
/// Where the mark of a tar archive stands in it.
const TAR: std::ops::Range<usize> = 257..262;

/// Returns the error of a file that is no table, if these are its first bytes.
pub(super) fn other(path: &Path, head: &[u8]) -> Option<Error> {
    if head.get(TAR) == Some(b"ustar") {
        return Some(malformed(path, "a table", "a tar archive").help("unpack it first (tar xf)"));
    }
    let (_, what, help) = OTHERS.into_iter().find(|(magic, ..)| head.starts_with(magic))?;
    if what == OTHERS[0].1 && memchr::memmem::find(head, b"[Content_Types].xml").is_some() {
        return Some(malformed(path, "a table", OTHERS[7].1).help(SAVE_AS_CSV));
    }
    Some(malformed(path, "a table", what).help(help))
}

/// Returns the error of JSON whose first object is not in one line, or is the response of a search.
fn pretty_json(path: &Path, head: &[u8]) -> Option<Error> {
    let head = head.trim_ascii_start();
    let is_response = memchr::memmem::find(head, b"\"hits\"").is_some();
    let is_one_line = head.starts_with(b"{\"took\"") && is_response;
    if !opens_object(head) && !is_one_line {
        return None;
    }
    let error = malformed(
        path,
        "one JSON object a line",
        if is_one_line { "the response of a search" } else { "an object over several lines" },
    );
    let help = if is_response {
        "write its hits one a line first (jq -c '.hits.hits[]')"
    } else {
        "write each in one line first (jq -c .)"
    };
    Some(error.help(help))
}

/// Returns whether the first line is nothing but the beginning of an object.
fn opens_object(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').next().is_some_and(|line| line.trim_ascii_end() == b"{")
}

/// Creates the error of a JSON array.
pub(super) fn json_array(path: &Path) -> Error {
    malformed(path, "one JSON object a line", "an array").help("split it first (jq -c '.[]')")
}

/// Reads at least up to the end of the first line that is not empty, up to a limit: forms without lines are recognised by as many
/// bytes as there are. Of JSON over several lines, more is read, so that what it is can be told.
pub(super) fn first_line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let is_enough = |head: &[u8]| {
        let head = head.trim_ascii_start();
        head.contains(&b'\n') && (head.len() >= PRETTY_BYTES || !opens_object(head))
    };
    while head.len() < MAX_HEADER_BYTES && !is_enough(&head) {
        let available = match source.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        head.extend_from_slice(available);
        let used = available.len();
        source.consume(used);
    }
    Ok(head)
}

/// Reads the first line that is not empty, without byte order mark and line end.
pub(super) fn read_header<R: BufRead>(path: &Path, lines: &mut Lines<R>) -> Result<Vec<u8>> {
    let mut header = Vec::new();
    loop {
        let found = lines.next(&mut header).map_err(|error| Error::read_at(path, lines.number() + 1, error))?;
        match found {
            FoundLine::End => return Err(empty(path)),
            FoundLine::TooLong => {
                let expected = format!("a header of at most {} bytes", lines.limit());
                let error = Error::expected(ErrorKind::Malformed, expected, "a longer one");
                return Err(error.help("is this a table of text lines that end with LF or CR LF?").at(path));
            }
            FoundLine::Whole if header.is_empty() => {}
            // Without a byte order mark, every other byte of ASCII in UTF-16 is 0.
            FoundLine::Whole if header.contains(&0) => {
                let zeros = header.iter().filter(|&&byte| byte == 0).count();
                let is_utf16 = (header.len() / 3..=header.len() / 2 + 1).contains(&zeros);
                return Err(if is_utf16 { utf16(path) } else { malformed(path, "a header of text", "binary data") });
            }
            FoundLine::Whole => break,
        }
    }
    match std::str::from_utf8(&header) {
        Ok(_) => Ok(header),
        Err(error) => {
            let found = format!("another byte at position {} of the line", error.valid_up_to() + 1);
            Err(malformed(path, "a header in UTF-8", found).help(encoding_advice(&header)))
        }
    }
}

fn json(path: &Path, head: &[u8]) -> Result<Format> {
    pretty_json(path, head).map_or(Ok(Format::Json), Err)
}

/// Recognises the format by the name, then by the first bytes.
pub(super) fn guess(path: &Path, head: &[u8]) -> Result<Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    for packed in [".gz", ".zst"] {
        name = name.strip_suffix(packed).unwrap_or(&name).to_owned();
    }
    let first = *head.iter().find(|byte| !byte.is_ascii_whitespace()).ok_or_else(|| empty(path))?;
    let line = head.split(|&byte| byte == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    let has_commas = line.contains(&b',') || line.contains(&b';');
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "tsv" | "tab" if first != b'{' => return Ok(Format::Tsv),
        // Some programs separate fields by tabs and call it CSV all the same.
        "csv" if has_commas || !line.contains(&b'\t') => return Ok(Format::Csv),
        "jsonl" | "ndjson" | "json" if first != b'[' => return json(path, head),
        _ => {}
    }
    match first {
        b'{' => json(path, head),
        b'[' => Err(json_array(path)),
        _ if line.contains(&b'\t') => Ok(Format::Tsv),
        _ if has_commas => Ok(Format::Csv),
        _ => Err(malformed(path, "tabs or commas in the header", "neither")),
    }
}
