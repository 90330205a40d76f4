//! A system before it is trained: its name, its parameters, and how to train or restore it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::SystemRanker;
use super::corpus::Corpus;
use super::spec::RankerSpec;
use super::state::RankerState;
use clickvec_tables::ErrorKind;
use clickvec_tables::Result;
use clickvec_tables::shown::shortened;

/// The stage in which a parameter acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Training: another value gives another ranker.
    Training,
    /// Scoring: the value can be changed after training.
    Scoring,
}

/// A free parameter of a system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The name, as in `plsa:topics=500`.
    pub name: &'static str,
    /// The stage in which it acts.
    pub stage: Stage,
    /// The default value.
    pub default: f64,
    /// The smallest allowed value.
    pub least: f64,
    /// The largest allowed value.
    pub most: f64,
    /// Whether only whole numbers are allowed.
    pub integer: bool,
    /// The meaning, in a few words.
    pub about: &'static str,
}

impl Parameter {
    /// A whole number that acts in training.
    pub const fn count(name: &'static str, default: u32, least: u32, most: u32, about: &'static str) -> Parameter {
        let (default, least, most) = (default as f64, least as f64, most as f64);
        Parameter { name, stage: Stage::Training, default, least, most, integer: true, about }
    }

    /// A number that acts in training.
    pub const fn training(name: &'static str, default: f64, least: f64, most: f64, about: &'static str) -> Parameter {
        Parameter { name, stage: Stage::Training, default, least, most, integer: false, about }
    }

    /// A number that acts in scoring.
    pub const fn scoring(name: &'static str, default: f64, least: f64, most: f64, about: &'static str) -> Parameter {
        Parameter { name, stage: Stage::Scoring, default, least, most, integer: false, about }
    }

    /// The random seed of training.
    pub const SEED: Parameter = Parameter::count("seed", 1, 0, u32::MAX, "the seed of what is random in training");
}

/// Whether accents are taken off.
pub(super) const FOLD: Parameter = Parameter::count("fold", 0, 0, 1, "1 takes accents off: `café` is `cafe`");

/// A value for each parameter of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Values {
    /// The value of a parameter.
    ///
    /// # Panics
    /// If the system has no parameter with this name.
    pub fn get(&self, name: &str) -> f64 {
        let position = self.parameters.iter().position(|parameter| parameter.name == name);
        self.values[position.unwrap_or_else(|| panic!("no parameter `{name}`"))]
    }

    /// The value of an integer parameter.
    ///
    /// # Panics
    /// Those of [`Values::get`].
    pub fn count(&self, name: &str) -> usize {
        self.get(name) as usize
    }

    /// The values with a seed that is `by` larger.
    ///
    /// # Panics
    /// If the system has no seed.
    pub fn reseeded(&self, by: u32) -> Values {
        let seed = (self.get(Parameter::SEED.name) as u32).wrapping_add(by);
        let value = |(parameter, value): (&Parameter, f64)| {
            if parameter.name == Parameter::SEED.name { f64::from(seed) } else { value }
        };
        Values { parameters: self.parameters, values: self.iter().map(value).collect() }
    }

    /// Each parameter with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + '_ {
        self.parameters.iter().zip(self.values.iter().copied())
    }
}

/// The data that a system can learn from.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// The collection, the clicks and the test queries.
    pub corpus: &'a Corpus,
    /// The files of a [`RankerSpec`].
    pub files: &'a [(String, PathBuf)],
}

impl<'a> Resources<'a> {
    /// The file with this name, if there is one.
    pub fn file(&self, name: &str) -> Option<&'a Path> {
        self.files.iter().find(|(other, _)| other == name).map(|(_, path)| path.as_path())
    }
}

impl<'a> From<&'a Corpus> for Resources<'a> {
    fn from(corpus: &'a Corpus) -> Resources<'a> {
        Resources { corpus, files: &[] }
    }
}

/// The progress of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Finished steps: sweeps, iterations or epochs.
    pub done: u64,
    /// The number of steps in all.
    pub of: u64,
    /// The objective at this step, which training raises (a log likelihood) or lowers (a loss).
    pub objective: Option<f64>,
}

/// A receiver of the progress of training.
pub type Watch<'a> = dyn FnMut(Progress) + 'a;

/// Trains a ranker; see [`System::train`].
pub type Train = fn(&Values, &Resources<'_>, &mut Watch<'_>) -> Result<Box<dyn SystemRanker>>;
/// Restores a ranker from what [`SystemRanker::state`] returned.
pub type Restore = fn(&Values, &RankerState) -> Result<Box<dyn SystemRanker>, clickvec_tables::Error>;

/// A system of the comparison, except for models that `train` makes.
pub struct System {
    /// The name on the command line.
    pub name: &'static str,
    /// A description with its source.
    pub about: &'static str,
    /// Its free parameters.
    pub parameters: &'static [Parameter],
    /// The names of the files that another program trained and that it reads, as in `vectors:file=words.vec`.
    pub files: &'static [&'static str],
    /// Parameters at least one of which must be above 0; empty if there is no such rule.
    pub one_above_zero: &'static [&'static str],
    /// The function that trains it.
    pub train: Train,
    /// The function that restores it from [`SystemRanker::state`]. The state may come from anywhere, so all sizes and
    /// positions must be checked.
    pub restore: Restore,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").field("name", &self.name).finish_non_exhaustive()
    }
}

impl System {
    /// Returns the system of `systems` with this name.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] if there is none.
    pub fn named(name: &str, systems: &[&'static System]) -> clickvec_tables::Result<&'static System> {
        systems.iter().find(|system| system.name == name).copied().ok_or_else(|| {
            let known: Vec<&str> = systems.iter().map(|system| system.name).collect();
            let found = format!("`{}`", shortened(name));
            let expected = format!("one of the rankers {}", known.join(", "));
            let error = clickvec_tables::Error::expected(ErrorKind::Setting, expected, found);
            match nearest(name, &known) {
                Some(known) => error.help(format!("did you mean `{known}`?")),
                None => error,
            }
        })
    }

    /// Whether anything is random in its training.
    pub fn has_seed(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == Parameter::SEED.name)
    }

    /// The parameters in `spec`, with defaults for the others.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for a parameter that the system does not have, or a value that is not allowed.
    pub fn values(&self, spec: &RankerSpec) -> clickvec_tables::Result<Values> {
        let names: Vec<&'static str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        spec.allow(&names, self.files)?;
        let value = |parameter: &Parameter| {
            let Parameter { name, default, least, most, integer, .. } = *parameter;
            let value = spec.number(name, default, least..=most)?;
            if integer && value.fract() != 0.0 {
                return Err(spec.fault(format!("a whole number for `{name}`"), value.to_string()));
            }
            Ok(value)
        };
        let values = self.parameters.iter().map(value).collect::<clickvec_tables::Result<_>>()?;
        let values = Values { parameters: self.parameters, values };
        let needed = self.one_above_zero;
        if !needed.is_empty() && needed.iter().all(|name| values.get(name) == 0.0) {
            return Err(spec.fault(format!("a value above 0 for one of {}", needed.join(", ")), "none".to_owned()));
        }
        Ok(values)
    }

    /// A ranker of this system, trained. The same values and resources give the same ranker, at any number of threads.
    ///
    /// # Errors
    /// [`ErrorKind::Empty`] if the resources are not enough, and the errors of reading files.
    pub fn train(
        &self,
        values: &Values,
        resources: &Resources<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Box<dyn SystemRanker>> {
        (self.train)(values, resources, watch)
    }
}
/// Returns the name that a misspelt one most likely stands for.
fn nearest<'a>(misspelt: &str, names: &[&'a str]) -> Option<&'a str> {
    // With more characters any two words look alike to some degree, and the comparison takes long.
    let misspelt: String = misspelt.chars().take(40).collect::<String>().to_lowercase();
    let distances = names.iter().map(|name| (strsim::damerau_levenshtein(&misspelt, name), *name));
    let (distance, name) = distances.min()?;
    (3 * distance <= name.len()).then_some(name)
}
