//! The files of a lexical index in a folder, with the same names for the same titles.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// The name of tantivy's only segment, in the names of its files and in its `meta.json`.
const SEGMENT: [&str; 2] = ["00000000000000000000000000000001", "00000000-0000-0000-0000-000000000001"];
const META: &str = "meta.json";

/// Gives the files of a new index their final names, removes what only a writer needs, and returns the names in order.
///
/// tantivy names the files of a segment at random; with names of our own, the same titles give the same index.
pub(super) fn settle(folder: &Path) -> io::Result<Vec<String>> {
    let meta = folder.join(META);
    let mut value: Value = serde_json::from_slice(&fs::read(&meta)?)?;
    let id = value["segments"][0]["segment_id"].as_str().map(str::to_owned);
    let mut names = vec![META.to_owned()];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match (&id, name.split_once('.')) {
            _ if name == META => {}
            (Some(id), Some((stem, kind))) if stem == id.replace('-', "") => {
                let settled = format!("{}.{kind}", SEGMENT[0]);
                fs::rename(&path, folder.join(&settled))?;
                names.push(settled);
            }
            _ => fs::remove_file(&path)?,
        }
    }
    if id.is_some() {
        value["segments"][0]["segment_id"] = Value::from(SEGMENT[1]);
    }
    // A new file, with the permissions of the others: tantivy's is the owner's alone.
    fs::remove_file(&meta)?;
    fs::write(&meta, serde_json::to_vec(&value)?)?;
    names.sort();
    Ok(names)
}
