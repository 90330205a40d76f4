//! Faults that several modules find in a log.

use std::path::Path;

use clickvec_tables::table::{RowFault, shown_names, unclear};
use clickvec_tables::{Error, ErrorKind};

use crate::columns::{Role, is_header};
use crate::time::Time;

/// Creates the error of a table without the column `column`, which has the role `role`.
pub(crate) fn missing_column(path: &Path, column: &str, role: Role, names: &[String]) -> Error {
    let help = match role {
        Role::Title => {
            "name it as `title=NAME` in `columns`, or name the column of item ids as `item=NAME` and the table of their titles \
             as `titles`"
                .to_owned()
        }
        role if names.is_empty() || is_header(names) => format!("name it as `{}=NAME` in `columns`", role.name()),
        role => format!(
            "name it as `{}=NAME` in `columns`, or list the names of all columns in `columns` if the first line has none",
            role.name()
        ),
    };
    let error = Error::expected(ErrorKind::Malformed, format!("a column `{column}`"), shown_names(names)).at(path);
    error.help(help).settings(&["columns", "titles"])
}

/// Creates the error of a log without a column that a setting needs.
pub(crate) fn needs_column(what: &str, setting: &str, role: Role) -> Error {
    let message = format!("{what} needs {}, found none", role.what());
    let help = format!("name the column as `{}=NAME` in `columns`, or leave `{setting}` out", role.name());
    Error::new(ErrorKind::Setting, message).help(help).settings(&["columns", "max_queries", "min_users", "private"])
}

/// Creates the error of a table of titles or queries that does not fit in the remaining memory.
pub(crate) fn too_large(path: &Path, budget: usize) -> Error {
    let expected = format!("a table that fits into what is left of the memory, {} MB", budget >> 20);
    Error::expected(ErrorKind::Memory, expected, "a larger one")
        .help("give more as `memory`")
        .settings(&["memory"])
        .at(path)
}

/// Creates the fault of a value that is not valid for its column.
pub(crate) fn bad_value(role: Role, column: &str, text: &str) -> RowFault {
    let kind = match role {
        Role::Count => "bad count",
        Role::Position => "bad position",
        Role::Time => "bad time",
        Role::Clicked => "bad click",
        _ => "bad value",
    };
    let mut found = what(text);
    if role == Role::Time {
        let forms: Vec<String> = Time::forms(text).map(|form| format!("`{form}`")).collect();
        if Time::is_sheet_day(text) {
            found = "a day of a spreadsheet; save such cells as dates, or name the form `%s` if these are seconds"
                .to_owned();
        } else if !forms.is_empty() {
            found = format!("a time of the form {}", forms.join(" or "));
        }
    }
    RowFault::expected(kind, format_args!("{} in column `{column}`", role.value()), found)
}

/// Creates the fault of a value that is no time of the form that was named.
pub(crate) fn bad_time(form: &str, column: &str, text: &str) -> RowFault {
    RowFault::expected("bad time", format_args!("a time of `time_format`, {form}, in column `{column}`"), what(text))
}

/// Creates the error that asks what a column says.
pub(crate) fn ask(path: &Path, name: &str, why: &str) -> Error {
    let help = format!(
        "if it says whether a title was clicked, name it as `clicked={name}` in `columns`, if it counts clicks, as `count={name}`; \
         if neither, `clicked=-` takes every row as a click"
    );
    unclear(path, name, why).help(help).settings(&["columns"])
}

/// The action for errors when the disk is full; the message names the folder.
pub(crate) const WRITE_TEMPORARY: &str = "write a temporary file here";
/// The action for errors when the disk is broken.
pub(crate) const READ_TEMPORARY: &str = "read a temporary file here";

/// Describes a field without repeating what a user may have typed, since columns can be shifted.
pub(crate) fn what(field: &str) -> String {
    let field = field.trim();
    match field.chars().count() {
        0 => "nothing".to_owned(),
        1..=8 if field.bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) => format!("`{field}`"),
        length => format!("other text ({length} characters)"),
    }
}
