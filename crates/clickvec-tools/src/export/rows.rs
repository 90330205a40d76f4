//! The titles of an index with their vectors, a few thousand at once.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use clickvec::model::{Embedder, Side};
use clickvec_index::{Document, Index};
use clickvec_tables::Result;
use clickvec_tables::files::PendingFolder;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::WordsAndVectors;
use super::features::FEATURES;
use super::template::{Each, File as FileOfForm, Template};
use crate::Watcher;

/// The number of titles that are encoded at once: enough for all threads.
const AT_ONCE: usize = 4096;

/// What every file of a form knows.
#[derive(Serialize)]
pub(super) struct Globals<'a> {
    name: &'a str,
    dimension: usize,
    model: &'a str,
    field: &'a str,
    fusion: WordsAndVectors,
    features: [&'static str; FEATURES.len()],
}

impl<'a> Globals<'a> {
    pub(super) fn new(name: &'a str, index: &'a Index, fusion: WordsAndVectors) -> Globals<'a> {
        let model = index.model();
        let (dimension, model) = (model.dimension(), model.fingerprint());
        Globals { name, dimension, model, field: index.field(), fusion, features: FEATURES }
    }
}

/// Writes the files of a form that are made of titles, and returns the number of titles; 0 if there are no such files.
pub(super) fn write(template: &Template, folder: &PendingFolder, index: &Index, watch: &dyn Watcher) -> Result<u64> {
    let mut files = Vec::new();
    for file in template.files.iter().filter(|file| !matches!(file.each, Each::Export | Each::Query)) {
        files.push((file, folder.create(&file.name)?));
    }
    if files.is_empty() {
        return Ok(0);
    }
    let rows = each_batch(index, watch, |first, titles, vectors| {
        for (file, out) in &mut files {
            write_batch(template, file, out, folder, first, titles, vectors)?;
        }
        Ok(())
    })?;
    for (_, out) in &mut files {
        out.flush().map_err(|source| folder.failed(source))?;
    }
    Ok(rows)
}

fn write_batch(
    template: &Template,
    file: &FileOfForm,
    out: &mut BufWriter<File>,
    folder: &PendingFolder,
    first: u64,
    titles: &[Document],
    vectors: &[f32],
) -> Result<()> {
    let failed = |source| folder.failed(source);
    let vectors = vectors.chunks_exact(vectors.len() / titles.len());
    let mut shown = Vec::with_capacity(titles.len());
    for ((number, title), vector) in (first..).zip(titles).zip(vectors) {
        // As text, since a template would write numbers with more digits than they have.
        let vector = serde_json::to_string(vector).map_err(|error| failed(error.into()))?;
        let fields = Serde(&title.fields);
        shown.push(context! { number, id => title.id.as_str(), title => title.title.as_str(), vector, fields });
    }
    let contexts: Vec<Value> = match file.each {
        Each::Titles(size) => shown.chunks(size).map(|titles| context! { titles => titles.to_vec() }).collect(),
        _ => shown.into_iter().map(|title| context! { title }).collect(),
    };
    for context in contexts {
        out.write_all(template.render(file, context)?.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

/// Writes the titles as Apache Parquet with the columns `id`, `title` and `vector`, and returns their number.
pub(super) fn write_parquet(path: &Path, index: &Index, watch: &dyn Watcher) -> Result<u64> {
    let mut file = clickvec_tables::files::Pending::new(path)?;
    let failed = |source| clickvec_tables::Error::io(path, "write", source);
    let dimension = index.model().dimension();
    let mut writer = crate::vectors_parquet::Writer::new(file.writer(), &["id", "title"], dimension).map_err(failed)?;
    let rows = each_batch(index, watch, |_, titles, vectors| {
        let column = |text: fn(&Document) -> &str| titles.iter().map(text).collect();
        let columns = [column(|title| &title.id), column(|title| &title.title)];
        writer.write(&columns, vectors).map_err(failed)
    })?;
    writer.finish().map_err(failed)?;
    file.seal()?.publish()?;
    Ok(rows)
}

/// Passes on the titles with their vectors, [titles, dimension], and the number of the first; returns the number of titles.
fn each_batch(
    index: &Index,
    watch: &dyn Watcher,
    mut each: impl FnMut(u64, &[Document], &[f32]) -> Result<()>,
) -> Result<u64> {
    let embedder = index.model().embedder(Side::Title);
    let mut rows = 0;
    let mut flush = |titles: &mut Vec<Document>| -> Result<()> {
        if !titles.is_empty() {
            each(rows, titles, &embed(&embedder, titles))?;
        }
        rows += titles.len() as u64;
        titles.clear();
        watch.progress("encoding", "titles", rows, None)
    };
    let mut waiting = Vec::new();
    index.for_each_title(|title| {
        waiting.push(title);
        if waiting.len() == AT_ONCE { flush(&mut waiting) } else { Ok(()) }
    })?;
    flush(&mut waiting)?;
    Ok(rows)
}

fn embed(embedder: &Embedder, titles: &[Document]) -> Vec<f32> {
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    embedder.embed(&texts)
}
