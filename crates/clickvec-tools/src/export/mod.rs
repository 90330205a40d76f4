//! The titles of an index with their vectors in the form that another system loads, and the encoders as ONNX.
//!
//! A form is a template; those that are known are in the folder `forms`.

mod agreement;
mod features;
mod folder;
#[cfg(feature = "onnx")]
mod onnx;
mod rows;
mod template;

use std::path::{Path, PathBuf};

use clickvec::model::Model;
use clickvec_index::{FusionMethod, Index, Part, RECIPROCAL_RANK_K};
use clickvec_tables::outputs::{self, Kind};
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Serialize;

use self::folder::MARK;
use self::rows::Globals;
use self::template::{Each, Template};
use crate::Watcher;

/// A form.
#[derive(Debug)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its template, if it is made by one.
    pub template: Option<&'static str>,
}

/// All forms.
pub const FORMS: [Form; 7] = [
    Form {
        name: "pgvector",
        help: "PostgreSQL with pgvector: a table as CSV and the SQL that loads it",
        template: Some(include_str!("forms/pgvector.jinja")),
    },
    Form {
        name: "qdrant",
        help: "Qdrant: batches of points for its HTTP interface, and a script that loads them",
        template: Some(include_str!("forms/qdrant.jinja")),
    },
    Form {
        name: "opensearch",
        help: "OpenSearch: an index template, lines for _bulk, and a hybrid search whose pipeline has the index's weights",
        template: Some(include_str!("forms/opensearch.jinja")),
    },
    Form {
        name: "elasticsearch",
        help: "Elasticsearch: an index, lines for _bulk, and a search by words and vectors, fused by reciprocal ranks",
        template: Some(include_str!("forms/elasticsearch.jinja")),
    },
    Form {
        name: "svmrank",
        help: "Features of judged titles for learning to rank, in SVMrank's form, which LightGBM and XGBoost read too",
        template: Some(include_str!("forms/svmrank.jinja")),
    },
    Form { name: PARQUET, help: "Apache Parquet with the columns id, title and vector", template: None },
    Form {
        name: ONNX,
        help: "The encoders as ONNX graphs, with code in Python and JavaScript that turns texts into their inputs",
        template: None,
    },
];

const PARQUET: &str = "parquet";
const ONNX: &str = "onnx";

/// Returns the form of this name.
///
/// # Errors
///
/// There is none.
pub fn form(name: &str) -> Result<&'static Form> {
    FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
        let expected = format!("a form of {}", FORMS.each_ref().map(|form| form.name).join(", "));
        Error::expected(ErrorKind::Setting, expected, format!("`{}`", clickvec_tables::shown::shortened(name)))
    })
}

/// Parses a name that needs no quotes in any of the systems.
///
/// # Errors
///
/// What was expected.
pub fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_plain) && text.len() <= 48 {
        Ok(text.to_owned())
    } else {
        Err("expected at most 48 lowercase letters, digits and `_`, a letter first".to_owned())
    }
}

/// An export.
pub struct Export<'a> {
    /// The index; for ONNX also a model.
    pub source: &'a Path,
    /// The folder to write, or the file of Parquet.
    pub output: &'a Path,
    /// The form.
    pub to: To<'a>,
    /// The name of the table or collection in the other system.
    pub name: &'a str,
    /// The judged titles that a form of judged queries is made of.
    pub judged: Option<&'a Path>,
}

/// The form of an export.
#[derive(Clone, Copy)]
pub enum To<'a> {
    /// One of [`FORMS`].
    Form(&'static Form),
    /// The template in a file.
    Template(&'a Path),
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct Exported {
    /// The number of titles or judged titles; `None` for ONNX.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The length of the vectors.
    pub dimension: usize,
    /// The fingerprint of the model.
    pub model: String,
    /// The share of the first ten titles of the index that the other system's search finds too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The number of queries that this was measured by.
    #[serde(skip)]
    pub agreement_queries: usize,
    /// The encoder.
    #[serde(skip)]
    pub encoder: String,
}

impl Export<'_> {
    /// Writes the export.
    ///
    /// # Errors
    ///
    /// Those of reading and writing; the source cannot be written in this form.
    pub fn write(&self, watch: &dyn Watcher) -> Result<Exported> {
        let (source, output) = (self.source, self.output);
        let to = match self.to {
            To::Form(form) => form.name,
            To::Template(_) => "",
        };
        if to == ONNX {
            let model = if source.is_dir() { Index::open(source)?.model().clone() } else { Model::load(source)? };
            self.refuse_inputs()?;
            let folder = folder::begin(output, ONNX)?;
            onnx::write(&folder, &model)?;
            folder::publish(folder, ONNX)?;
            return Ok(Exported::new(&model, None, None));
        }
        if source.is_file() {
            let error = Error::expected(ErrorKind::Setting, "an index", "a file");
            return Err(error.help("make one with `clickvec index`").at(source));
        }
        let index = Index::open(source)?;
        let rows = if to == PARQUET {
            outputs::refuse_overwriting(output, &[source.to_owned()])?;
            outputs::refuse_other(output, Kind::Parquet)?;
            rows::write_parquet(output, &index, watch)?
        } else {
            self.write_template(&index, watch)?
        };
        let agreement = match to {
            "opensearch" => {
                let WordsAndVectors { kind, words, vectors, .. } = fusion(&index, None);
                agreement::agreement(&index, kind, words, vectors)?
            }
            "elasticsearch" => {
                let kind = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
                agreement::agreement(&index, kind, 1.0, 1.0)?
            }
            _ => None,
        };
        Ok(Exported::new(index.model(), Some(rows), agreement))
    }

    /// Renders all files of a form.
    fn write_template(&self, index: &Index, watch: &dyn Watcher) -> Result<u64> {
        let (path, text) = match self.to {
            To::Template(path) => {
                let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, "read", source))?;
                (path.to_owned(), text)
            }
            To::Form(form) => (PathBuf::from(form.name), form.template.unwrap_or_default().to_owned()),
        };
        let globals = Globals::new(self.name, index, fusion(index, Some(watch)));
        let template = Template::parse(&path, &text, &globals)?;
        let has = |each: &[Each]| template.files.iter().any(|file| each.contains(&file.each));
        if has(&[Each::Query]) != self.judged.is_some() {
            let error = if self.judged.is_some() {
                let expected = "no judged titles, because no file of this form uses them";
                Error::expected(ErrorKind::Setting, expected, "some").help("leave `judged` out")
            } else {
                let expected = "judged titles, because this form is made from them";
                Error::expected(ErrorKind::Setting, expected, "none").help("name them as `judged`")
            };
            return Err(error.settings(&["judged"]));
        }
        self.refuse_inputs()?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = folder::begin(self.output, &name)?;
        let mut rows = rows::write(&template, &folder, index, watch)?;
        if let Some(judged) = self.judged {
            rows += features::write(&template, &folder, index, judged, watch)?;
        }
        for file in template.files.iter().filter(|file| file.each == Each::Export) {
            let text = template.render(file, minijinja::context! {})?;
            folder.write(&file.name, &[text.as_bytes()])?;
        }
        folder::publish(folder, &name)?;
        Ok(rows)
    }

    /// Refuses to replace a folder that contains a file which is read.
    fn refuse_inputs(&self) -> Result<()> {
        let template = if let To::Template(path) = self.to { Some(path) } else { None };
        let read: Vec<PathBuf> =
            [Some(self.source), self.judged, template].into_iter().flatten().map(Path::to_owned).collect();
        for entry in self.output.read_dir().into_iter().flatten().flatten() {
            outputs::refuse_overwriting(&entry.path(), &read)?;
        }
        outputs::refuse_folder_in_index(self.output)
    }
}

impl Exported {
    fn new(model: &Model, rows: Option<u64>, agreement: Option<(usize, f64)>) -> Exported {
        Exported {
            rows,
            dimension: model.dimension(),
            model: model.fingerprint().to_owned(),
            agreement: agreement.map(|(_, share)| share),
            agreement_queries: agreement.map_or(0, |(queries, _)| queries),
            encoder: model.encoder_config().to_string(),
        }
    }
}

/// A fusion of words and vectors, which other systems have.
#[derive(Serialize)]
struct WordsAndVectors {
    method: &'static str,
    #[serde(skip)]
    kind: FusionMethod,
    words: f64,
    vectors: f64,
    /// The constant k of reciprocal ranks.
    rank_constant: Option<u64>,
    custom: bool,
}

/// Returns the fusion of an index, or equal weights if other systems cannot do it. Notes what is lost.
fn fusion(index: &Index, watch: Option<&dyn Watcher>) -> WordsAndVectors {
    let (fusion, analysis) = (index.fusion(), index.fusion().analysis);
    let kind = FusionMethod::MinMax;
    let equal =
        WordsAndVectors { method: "min-max", kind, words: 0.5, vectors: 0.5, rank_constant: None, custom: false };
    let warn = |text: String| watch.into_iter().for_each(|watch| watch.warn(text.clone()));
    if !fusion.custom {
        return equal;
    }
    let method = fusion.method.name();
    let k = if let FusionMethod::ReciprocalRank { k } = fusion.method { Some(k) } else { None };
    if fusion.method == FusionMethod::Linear || fusion.weights.iter().count() > 2 {
        warn(format!(
            "warning: expected a fusion of words and vectors that normalises scores, found {method} with {} parts; the export has \
             min-max with equal weights",
            fusion.weights.iter().count()
        ));
        return equal;
    }
    if analysis.stem || analysis.split {
        warn(format!(
            "warning: the weights were chosen for the word analysis `{analysis}`; choose a similar analyzer in the other system"
        ));
    }
    // Elsewhere they must add up to 1, and only their ratio matters.
    let [words, vectors] = [Part::Words, Part::Vectors].map(|part| fusion.weight(part));
    let sum = words + vectors;
    let rank_constant = k.map(|k| k.round().max(1.0) as u64);
    let kind = fusion.method;
    WordsAndVectors { method, kind, words: words / sum, vectors: vectors / sum, rank_constant, custom: true }
}

/// What is built without ONNX.
#[cfg(not(feature = "onnx"))]
mod onnx {
    use clickvec_tables::{Error, ErrorKind, Result};

    pub(super) fn write(_: &clickvec_tables::files::PendingFolder, _: &clickvec::model::Model) -> Result<()> {
        let error = Error::expected(ErrorKind::Setting, "another form than onnx", "onnx, which this was built without");
        Err(error.help("build the program with `cargo build --release --features onnx`"))
    }
}
