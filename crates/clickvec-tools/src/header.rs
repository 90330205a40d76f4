//! What a file that was named as something else may be: a raw log, or JSON.

use std::path::Path;

use clickvec_logs::guess::{self, Kind, first_line};
use clickvec_tables::{Error, ErrorKind, Result};

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
