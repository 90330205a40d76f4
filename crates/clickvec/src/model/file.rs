//! The file of a model, in the safetensors format (docs/reference/formats.md): named tensors, the trigram dictionary,
//! and one JSON value with all settings.

use crate::encoder::Encoder;
use crate::model::{Model, QueryModel, prefixes};
use crate::settings::TrainingRecord;
use crate::tensor_file::{Data, Entry, FORMAT, TensorFile, entries, fingerprint, to_bytes, write_for};
use crate::text::{Dictionary, Trigram, WordHash};
use clickvec_tables::{Result, damaged};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

const TRIGRAMS: &str = "trigrams";
/// Only in a file with whole words.
const WORDS: &str = "words";

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    fingerprint: String,
    training: TrainingRecord,
}

const KIND: &str = "model";
/// The name of the model's file in an index.
const IN_FOLDER: &str = "model.safetensors";

/// What messages call a model that is not in a file.
const BYTES: &str = "the bytes of a model";

impl Model {
    /// Returns the model in a file, or in a folder that has one, as an index does. Nothing in the file is trusted.
    ///
    /// # Errors
    /// `ErrorKind::Io`, or an error for a file that is damaged or of another kind.
    pub fn load(path: &Path) -> Result<Model> {
        load(path, 2)
    }

    /// Creates a model with these towers.
    pub(crate) fn new(dictionary: Dictionary, towers: Vec<Box<dyn Encoder>>, training: TrainingRecord) -> Model {
        let towers: Vec<Arc<dyn Encoder>> = towers.into_iter().map(Arc::from).collect();
        let trigrams = triples(&dictionary);
        let fingerprint = fingerprint(&model_entries(&trigrams, &dictionary, &towers), &training);
        let dictionary = Arc::new(dictionary.with_texts(training.config.text));
        Model { dictionary, towers, training, fingerprint }
    }

    /// Writes the model, through a temporary file.
    ///
    /// # Errors
    /// `ErrorKind::Io`; whatever was at `path` is then untouched.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.save_for(path, path)
    }

    /// Saves a model like [`Model::save`], to a file that is to replace `output` and is readable by the same users as the file
    /// there.
    pub(crate) fn save_for(&self, path: &Path, output: &Path) -> Result<()> {
        let trigrams = triples(&self.dictionary);
        write_for(path, output, &self.header(), model_entries(&trigrams, &self.dictionary, &self.towers))
    }

    /// Returns the bytes of the file that [`Model::save`] writes.
    ///
    /// # Errors
    /// Those of [`Model::save`], but for the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let trigrams = triples(&self.dictionary);
        let entries = model_entries(&trigrams, &self.dictionary, &self.towers);
        to_bytes(Path::new(BYTES), &self.header(), entries)
    }

    /// Returns the model whose file has these bytes. Nothing in them is trusted.
    ///
    /// # Errors
    /// Those of [`Model::load`] for what is in a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        parse(&TensorFile::from_bytes(bytes), 2).map_err(|fault| fault.within(BYTES))
    }

    fn header(&self) -> Header {
        Header {
            format: FORMAT,
            kind: KIND.to_owned(),
            fingerprint: self.fingerprint.clone(),
            training: self.training.clone(),
        }
    }
}

impl QueryModel {
    /// Returns the half of a model that embeds queries. The whole file is checked against its fingerprint, but the other half
    /// takes no time to copy and no memory.
    ///
    /// # Errors
    /// Those of [`Model::load`].
    pub fn load(path: &Path) -> Result<QueryModel> {
        load(path, 1).map(|half| QueryModel { half })
    }
}

/// Reads the first `towers` towers of a model, or all if it has fewer.
fn load(path: &Path, towers: usize) -> Result<Model> {
    let in_folder = path.join(IN_FOLDER);
    let path = if in_folder.is_file() { &in_folder } else { path };
    let file = TensorFile::open(path)?;
    parse(&file, towers).map_err(|fault| fault.at(path))
}

fn triples(dictionary: &Dictionary) -> Vec<[u32; 3]> {
    dictionary.trigrams().iter().map(|trigram| trigram.chars().map(u32::from)).collect()
}

fn model_entries<'a>(
    trigrams: &'a [[u32; 3]],
    dictionary: &'a Dictionary,
    towers: &'a [Arc<dyn Encoder>],
) -> Vec<Entry<'a>> {
    let mut all = vec![Entry { name: TRIGRAMS.to_owned(), data: Data::Triples(trigrams) }];
    if !dictionary.words().is_empty() {
        let words = bytemuck::cast_slice(dictionary.words());
        all.push(Entry { name: WORDS.to_owned(), data: Data::Counts(words) });
    }
    for (prefix, tower) in prefixes(towers.len() == 1).into_iter().zip(towers) {
        all.extend(entries(prefix, tower.tensors()));
    }
    all
}

/// Creates the error of a file whose numbers are more or fewer than its settings require; `None` exceeds 64 bits.
fn wrong_size(expected: Option<u64>, found: u64) -> clickvec_tables::Error {
    let expected = expected.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string());
    damaged::file(format_args!("{expected} numbers for these settings and this dictionary"), found)
}

fn parse(file: &TensorFile<'_>, wanted: usize) -> Result<Model, clickvec_tables::Error> {
    let (tensors, header) = file.parse::<Header>(KIND)?;
    let config = &header.training.config;
    config.check().map_err(damaged::contents)?;
    let rows = tensors.triples(TRIGRAMS)?;
    let trigrams = rows
        .iter()
        .enumerate()
        .map(|(row, &found)| {
            let scalar = |x| char::from_u32(x).ok_or_else(|| damaged::bad_trigram(row, found));
            let [a, b, c] = found;
            Ok(Trigram::from_chars([scalar(a)?, scalar(b)?, scalar(c)?]))
        })
        .collect::<Result<Vec<_>, clickvec_tables::Error>>()?;
    let dictionary = Dictionary::from_trigrams(trigrams)?;
    let dictionary = match tensors.optional_counts(WORDS)? {
        None => dictionary,
        Some(words) => dictionary.followed_by(words.into_iter().map(WordHash).collect())?,
    };

    // The file must contain every number before memory for it is allocated.
    let prefixes = prefixes(config.shared_towers);
    let weights = config.encoder.parameters(dictionary.len()).and_then(|n| n.checked_mul(prefixes.len() as u64));
    let expected = weights.and_then(|n| n.checked_add((3 * rows.len() + dictionary.words().len()) as u64));
    if expected != Some(tensors.numbers()) {
        return Err(wrong_size(expected, tensors.numbers()));
    }
    let mut towers: Vec<Arc<dyn Encoder>> = Vec::new();
    for prefix in prefixes.iter().take(wanted) {
        let mut tower = config.encoder.build(dictionary.len());
        tensors.read(prefix, tower.tensors_mut())?;
        towers.push(Arc::from(tower));
    }
    let groups: usize = towers[0].tensors().iter().map(|tensor| tensor.groups.len()).sum();
    let dictionary_tensors = 1 + usize::from(!dictionary.words().is_empty());
    let expected = dictionary_tensors + prefixes.len() * groups;
    if expected != tensors.len() {
        return Err(damaged::file(format_args!("{expected} tensors"), tensors.len()));
    }
    // The fingerprint covers the whole file, including tensors that were not read. Those that were read are exactly
    // those that the settings require.
    let found = tensors.fingerprint(&header.training);
    if found != header.fingerprint {
        return Err(damaged::fingerprint(&header.fingerprint, &found));
    }
    let dictionary = Arc::new(dictionary.with_texts(config.text));
    Ok(Model { dictionary, towers, training: header.training, fingerprint: found })
}
