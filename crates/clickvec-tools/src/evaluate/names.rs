//! The names of systems in the report, and of their files.

use clickvec_tables::{Error, ErrorKind, Result};

/// Returns a system's name as a file name and the tag of a run, without white space and path separators.
pub(super) fn file_stem(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '=' | ',');
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Returns the file of a system in the folder of saved rankers.
pub(super) fn saved_file(name: &str) -> String {
    format!("{}.safetensors", file_stem(name))
}

/// Returns the file of a system in the folder of an evaluation.
pub(super) fn run_file(name: &str) -> String {
    format!("{}.run", file_stem(name))
}

/// Returns the names of files, one for each system. An error if two have the same.
pub(super) fn distinct(names: impl Iterator<Item = String>) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for file in names {
        if files.contains(&file) {
            let error = Error::expected(ErrorKind::Setting, "a file for each system", format!("`{file}` for two"));
            return Err(error.help("rename a model's file"));
        }
        files.push(file);
    }
    Ok(files)
}
