//! A trained ranker as one safetensors file (docs/reference/formats.md): arrays, vocabulary and parameters.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ranker::SystemRanker;
use crate::ranker::spec::RankerSpec;
use crate::ranker::state::RankerState;
use crate::ranker::system::{System, Values};
use clickvec::internals::tensor_file::{Data, Entry, FORMAT, TensorFile, fingerprint, write};
use clickvec_tables::ErrorKind;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Result, damaged};

/// `kind` in the JSON value of a file.
pub(super) const KIND: &str = "ranker";

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    fingerprint: String,
    ranker: Settings,
}

#[derive(Serialize, Deserialize)]
struct Settings {
    system: String,
    parameters: BTreeMap<String, f64>,
}

impl System {
    /// Writes `ranker`, which this system trained with `values`, to a file that [`load`](crate::ranker::load) reads.
    ///
    /// # Errors
    /// `ErrorKind::Io`; whatever was at `path` is then untouched.
    pub fn save(&self, path: &Path, values: &Values, ranker: &dyn SystemRanker) -> Result<()> {
        let state = ranker.state();
        let parameters = values.iter().map(|(parameter, value)| (parameter.name.to_owned(), value)).collect();
        let settings = Settings { system: self.name.to_owned(), parameters };
        let entries: Vec<Entry<'_>> =
            state.arrays.iter().map(|(name, array)| Entry { name: name.clone(), data: Data::Array(array) }).collect();
        let header = Header {
            format: FORMAT,
            kind: KIND.to_owned(),
            fingerprint: fingerprint(&entries, &settings),
            ranker: settings,
        };
        write(path, &header, entries)
    }
}

/// The ranker in a file, with its system and values. Nothing in the file is trusted.
///
/// # Errors
/// `ErrorKind::Io`, or an error for a file that is damaged or of another kind.
pub fn load(path: &Path, systems: &[&'static System]) -> Result<(&'static System, Values, Box<dyn SystemRanker>)> {
    let (system, values, state) = load_state(path, systems)?;
    let ranker = (system.restore)(&values, &state).map_err(|fault| fault.at(path))?;
    Ok((system, values, ranker))
}

/// The name of a stored ranker's system, and its parameters.
///
/// # Errors
/// Those of [`crate::ranker::load`].
pub fn ranker_parameters(path: &Path, systems: &[&'static System]) -> Result<(&'static str, Vec<(&'static str, f64)>)> {
    let (system, values, _) = load(path, systems)?;
    Ok((system.name, values.iter().map(|(parameter, value)| (parameter.name, value)).collect()))
}

/// The contents of a ranker's file, with its system and values.
///
/// # Errors
/// Those of [`load`].
pub(in crate::ranker) fn load_state(
    path: &Path,
    systems: &[&'static System],
) -> Result<(&'static System, Values, RankerState)> {
    let file = TensorFile::open(path)?;
    parse(&file, systems).map_err(|fault| fault.at(path))
}

fn parse(
    file: &TensorFile<'_>,
    systems: &[&'static System],
) -> Result<(&'static System, Values, RankerState), clickvec_tables::Error> {
    let (tensors, header) = file.parse::<Header>(KIND)?;
    let found = tensors.fingerprint(&header.ranker);
    if found != header.fingerprint {
        return Err(damaged::fingerprint(&shortened(&header.fingerprint), &found));
    }
    let settings = header.ranker;
    let unknown = |fault: clickvec_tables::Error| {
        clickvec_tables::Error::new(ErrorKind::Version, fault.to_string()).help("was it written by a newer clickvec?")
    };
    let system = System::named(&settings.system, systems).map_err(unknown)?;
    let parameters = settings.parameters.into_iter().collect();
    let spec = RankerSpec { name: settings.system, parameters, ..RankerSpec::default() };
    let values = system.values(&spec).map_err(unknown)?;
    Ok((system, values, RankerState { arrays: tensors.arrays()? }))
}
