//! Faults of a run that begins with a model, or continues from a checkpoint.

use super::shortened;

/// A reason why training cannot start from a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitFault {
    /// The model has another encoder.
    #[error(
        "expected an initial model of the encoder {expected}, found {found}; begin with another or train its encoder"
    )]
    Encoder {
        /// The encoder of the settings.
        expected: String,
        /// The encoder of the model.
        found: String,
    },
    /// The model has two towers, and one would be lost.
    #[error("expected an initial model with one tower for queries and titles, found two; train two towers")]
    Towers,
    /// The model learnt titles with other settings than this run would.
    #[error(
        "expected a model that learnt titles with the settings of this run ({}), found one with {}",
        listed_settings(differences, |of| &of.now),
        listed_settings(differences, |of| &of.before)
    )]
    AfterTitlesSettings {
        /// The settings in which the two runs differ.
        differences: Vec<SettingDifference>,
    },
    /// The model learnt the titles of another log, or began with another initial model.
    #[error(
        "expected a model that learnt the titles of this run ({}), found one with {}; take a model of the same log and initial \
         model",
        first_listed(differences, |of| &of.now),
        first_listed(differences, |of| &of.before)
    )]
    AfterOtherTitles {
        /// What differs: the initial models, the logs, the dictionaries.
        differences: Vec<SettingDifference>,
    },
    /// The model did not end where the titles end.
    #[error("expected a model after {expected} epochs of titles, found one after {found} epochs")]
    AfterTitlesEpoch {
        /// The epochs that this run learns titles for.
        expected: u32,
        /// The epochs of the model.
        found: u32,
    },
}

/// A setting, or a figure of the log, in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// The setting or the figure.
    pub name: String,
    /// Its value in this run.
    pub now: String,
    /// Its value in the earlier run.
    pub before: String,
}

/// A reason why a run cannot continue from a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeFault {
    /// The settings differ from those of the earlier run.
    #[error(
        "expected the settings of the run to resume ({}), found {}; resume it with those settings, or start the training anew",
        listed_settings(differences, |of| &of.before),
        listed_settings(differences, |of| &of.now)
    )]
    Settings {
        /// The settings in which the two runs differ.
        differences: Vec<SettingDifference>,
    },
    /// The log has changed.
    #[error(
        "expected the click log of the run to resume ({}), found one with {}; name that log, or start the training anew",
        first_listed(differences, |of| &of.before),
        first_listed(differences, |of| &of.now)
    )]
    Log {
        /// The figures in which the two logs differ, and their fingerprints if those do.
        differences: Vec<SettingDifference>,
    },
    /// The initial model is another one.
    #[error(
        "expected the initial model of the run to resume ({}), found {}; begin with that model, or start the training anew",
        or_none(expected),
        or_none(found)
    )]
    Init {
        /// The fingerprint of the interrupted run's initial model, if it had one.
        expected: Option<String>,
        /// The fingerprint of this run's.
        found: Option<String>,
    },
    /// The teacher's vectors changed.
    #[error(
        "expected the teacher of the run to resume ({}), found {}; name that one, or start the training anew",
        or_none(expected),
        or_none(found)
    )]
    Teacher {
        /// The fingerprint of the interrupted run's teacher, if it had one.
        expected: Option<String>,
        /// The fingerprint of this run's.
        found: Option<String>,
    },
    /// The validation set has changed.
    #[error(
        "expected the validation set of the run to resume ({}), found {}; name that one, or start the training anew",
        or_none(expected),
        or_none(found)
    )]
    Validation {
        /// The fingerprint of the interrupted run's validation set, if it chose the weights that were kept.
        expected: Option<String>,
        /// The fingerprint of this run's.
        found: Option<String>,
    },
    /// The instruction level differs, so results would be rounded differently.
    #[error(
        "expected instruction level {}, as of the run to resume, found {found}; start the training anew",
        shortened(expected)
    )]
    Level {
        /// The level of the interrupted run.
        expected: String,
        /// The level of this run.
        found: String,
    },
    /// The program's version differs, so results could differ.
    #[error(
        "expected clickvec {}, as of the run to resume, found {found}; start the training anew",
        shortened(expected)
    )]
    Program {
        /// The version of the interrupted run.
        expected: String,
        /// The version of this program.
        found: String,
    },
    /// The model next to a checkpoint is from another epoch than the checkpoint gives.
    #[error(
        "expected the model of epoch {expected}, which the checkpoint continues, found epoch {found}; start the training anew"
    )]
    OtherEpoch {
        /// The epoch that the checkpoint gives.
        expected: u32,
        /// The epoch of the model.
        found: u32,
    },
    /// The model next to a checkpoint is that of another run.
    #[error(
        "expected the best model so far of the run to resume, found a model of another run ({difference}); restore that run's \
         model, or start the training anew"
    )]
    OtherModel {
        /// What differs between the two runs.
        difference: String,
    },
    /// The model of the best epoch so far is missing.
    #[error("the model of epoch {epoch}, the best so far, is not at {model}; start the training anew")]
    BestModel {
        /// The epoch.
        epoch: u32,
        /// Where it should be.
        model: String,
    },
}

impl ResumeFault {
    /// Returns the fault of a kept model whose run differs from the one to resume in this.
    pub(crate) fn of_kept_model(self) -> ResumeFault {
        let difference = match &self {
            ResumeFault::Settings { differences } => listed_settings(differences, |of| &of.before),
            ResumeFault::Log { differences } => {
                format!("of a click log with {}", first_listed(differences, |of| &of.before))
            }
            ResumeFault::Init { .. } => "with another initial model".to_owned(),
            ResumeFault::Teacher { .. } => "with another teacher".to_owned(),
            ResumeFault::Validation { .. } => "with another validation set".to_owned(),
            ResumeFault::Level { expected, .. } => format!("at the instruction level {expected}"),
            ResumeFault::Program { expected, .. } => format!("by clickvec {expected}"),
            ResumeFault::OtherEpoch { .. } | ResumeFault::OtherModel { .. } | ResumeFault::BestModel { .. } => {
                return self;
            }
        };
        ResumeFault::OtherModel { difference }
    }
}

/// How many figures of a log a message shows.
const SHOWN_FIGURES: usize = 3;

/// Returns [`listed_settings`] of the first few.
fn first_listed(differences: &[SettingDifference], value: impl Fn(&SettingDifference) -> &str) -> String {
    listed_settings(&differences[..differences.len().min(SHOWN_FIGURES)], value)
}

/// `keep best, held-out 0.1`
fn listed_settings(differences: &[SettingDifference], value: impl Fn(&SettingDifference) -> &str) -> String {
    let each = differences.iter().map(|of| format!("{} {}", of.name, value(of)));
    each.collect::<Vec<_>>().join(", ")
}

fn or_none(fingerprint: &Option<String>) -> String {
    fingerprint
        .as_ref()
        .map_or_else(|| "none".to_owned(), |fingerprint| format!("fingerprint {}", shortened(fingerprint)))
}
