//! Whether the first line of what may be texts is the header of a table.

use std::path::Path;

use clickvec_logs::columns;
use clickvec_logs::guess::{self, Kind, first_line};
use clickvec_tables::{Error, ErrorKind, Result};

/// The header of a table, or its first object.
pub struct Header {
    /// The names of the columns.
    pub names: Vec<String>,
    /// Whether the line may also be a text: a list of words with blanks after its commas.
    pub is_ambiguous: bool,
}

/// Returns the header in this line; `None` if it is a text. Treating a table's header and ids as if they were texts would not help.
pub fn parse(first: &str) -> Option<Header> {
    let first = first.strip_prefix('\u{feff}').unwrap_or(first).trim_matches([' ', '\n', '\r']);
    if first.trim_start().starts_with('{') {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(first).ok()?;
        return Some(Header { names: object.into_iter().map(|(name, _)| name).collect(), is_ambiguous: false });
    }
    let header = |separator: char| -> Option<Header> {
        let names: Vec<String> = first.split(separator).map(|name| name.trim().trim_matches('"').to_owned()).collect();
        let has_blanks = |name: &str| name.trim() != name && !name.trim().starts_with('"');
        let is_ambiguous = separator != '\t' && first.split(separator).any(has_blanks);
        (names.len() > 1 && columns::is_header(&names)).then_some(Header { names, is_ambiguous })
    };
    ['\t', ',', ';'].into_iter().find_map(header)
}

/// Returns whether a file has the columns of a raw log, such as users and times.
pub fn looks_raw(path: &Path) -> bool {
    // What has no tabs is refused anyway, with advice of its own.
    path.is_file()
        && first_line(path).is_ok_and(|line| line.contains('\t'))
        && guess::header(path).is_some_and(|header| header.kind == Kind::Log)
}

/// Refuses texts whose first line begins as a JSON array of objects or of texts does, as a whole file of JSON may. A text in brackets
/// is a text.
///
/// # Errors
///
/// If it begins so.
pub fn refuse_array(first: &[u8], path: &Path) -> Result<()> {
    let inside = first.trim_ascii().strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    let is_array =
        inside.is_some_and(|inside| inside.is_empty() || inside.starts_with(b"{") || inside.starts_with(b"\""));
    if is_array {
        let error = Error::expected(ErrorKind::Malformed, "texts, one a line, or JSON lines", "a JSON array");
        return Err(error.help("`jq -c '.[]'` makes lines of it").at(path));
    }
    Ok(())
}

impl Header {
    /// Returns whether `second`, the line below, has as many fields. Where it has not, the header is a text that looks like one.
    pub fn has_row(&self, first: &str, second: Option<&str>) -> bool {
        let count = |line: &str| [',', ';'].map(|separator| line.matches(separator).count());
        first.contains('\t')
            || first.trim_start().starts_with('{')
            || second.is_none_or(|second| count(first) == count(second))
    }
}
