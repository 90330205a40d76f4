//! How this program was started, and the file that its code is in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

/// How the program was started, if not as a process of its own: Python's module has it inside.
#[derive(Debug)]
struct Inside {
    file: PathBuf,
    typed: OsString,
}

static INSIDE: OnceLock<Inside> = OnceLock::new();

/// Says that another program runs this one, whose code is in `file`, and what was typed to start it.
pub(crate) fn set(file: PathBuf, typed: OsString) {
    INSIDE.get_or_init(|| Inside { file, typed });
}

/// Returns the file with the code, by which `table` keeps its results.
pub(crate) fn file() -> Result<PathBuf> {
    match INSIDE.get() {
        Some(inside) => Ok(inside.file.clone()),
        None => std::env::current_exe().context("cannot find the program itself"),
    }
}

/// Returns what was typed to start the program.
pub(crate) fn typed() -> OsString {
    match INSIDE.get() {
        Some(inside) => inside.typed.clone(),
        None => std::env::args_os().next().unwrap_or_default(),
    }
}
