//! What the options of a training may be given as.

use std::fmt::Display;
use std::str::FromStr;

use clap::ValueEnum;
use clickvec::encoder::InitRange;
use clickvec::train::{Negatives, TrainConfig, Views};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PrecisionFlag {
    /// Not rounded.
    F32,
    /// 8 significant bits.
    Bf16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Preset {
    /// The LSTM-DSSM (Palangi et al. 2015): two towers, Nesterov momentum with its schedule, minibatches of 1,024, 4
    /// negatives, one click for each pair. Also named `paper`.
    #[value(alias = "paper")]
    LstmDssm,
    /// The CLSM (Shen et al. 2014): the same with plain gradient descent; 300/128, windows of 3 words, no biases.
    Clsm,
}

impl Preset {
    pub(super) const ALL: [Preset; 2] = [Preset::LstmDssm, Preset::Clsm];

    pub(super) fn name(self) -> &'static str {
        match self {
            Preset::LstmDssm => "lstm-dssm",
            Preset::Clsm => "clsm",
        }
    }

    pub(super) fn config(self) -> TrainConfig {
        match self {
            Preset::LstmDssm => TrainConfig::lstm_dssm(),
            Preset::Clsm => TrainConfig::clsm(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NegativeSourceFlag {
    /// Titles of the same minibatch.
    Minibatch,
    /// Any title of the log.
    Uniform,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LossFlag {
    /// A softmax over the clicked title and its negatives, as in the papers.
    Softmax,
    /// Noise-contrastive estimation: decides for each title whether it was clicked or is there by chance.
    Nce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OptimizerFlag {
    /// Nesterov momentum, as for the LSTM-DSSM.
    Nesterov,
    /// Plain momentum with the same schedule.
    Momentum,
    /// Adam, which has a step size for every weight.
    Adam,
    /// Plain gradient descent.
    Sgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BpttFlag {
    /// The exact gradient.
    Exact,
    /// The paper's formulas as printed: only the path through each gate itself.
    PerGate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TeacherStartFlag {
    /// Random numbers, as without a teacher.
    Random,
    /// Those that make sums of a title's features come closest to the teacher's vector.
    LeastSquares,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum KeepFlag {
    /// The epoch with the best validation.
    Best,
    /// The epoch with the smallest loss of held-out pairs.
    Loss,
    /// The last epoch.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TailFlag {
    /// They are left out.
    Cut,
    /// The last word within the limit and all further words become one word.
    Merge,
}

/// `--negatives`: a number or `all`.
#[derive(Debug, Clone, Copy)]
pub(super) struct NegativesFlag(pub(super) Negatives);

impl FromStr for NegativesFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<NegativesFlag, String> {
        match text.parse() {
            _ if text == "all" => Ok(NegativesFlag(Negatives::All)),
            Ok(number) if number > 0 => Ok(NegativesFlag(Negatives::Sampled(number))),
            _ => Err("expected `all` or a number of 1 or more".to_owned()),
        }
    }
}

/// `--word-count`: a number or `none`.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordsFlag(pub(super) Option<u64>);

impl FromStr for WordsFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<WordsFlag, String> {
        match text.parse() {
            _ if text == "none" => Ok(WordsFlag(None)),
            Ok(least) if least > 0 => Ok(WordsFlag(Some(least))),
            _ => Err("expected `none` or a number of 1 or more".to_owned()),
        }
    }
}

/// `--clip-norm`: a number or `none`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClipFlag(pub(super) Option<f32>);

impl FromStr for ClipFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<ClipFlag, String> {
        match text {
            "none" => Ok(ClipFlag(None)),
            number => positive(number)
                .map(|norm| ClipFlag(Some(norm)))
                .map_err(|_| "expected `none` or a number above 0".to_owned()),
        }
    }
}

/// `--init-range`: a number or `fan`.
#[derive(Debug, Clone, Copy)]
pub(super) struct InitRangeFlag(pub(super) InitRange);

impl FromStr for InitRangeFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<InitRangeFlag, String> {
        match text {
            "fan" => Ok(InitRangeFlag(InitRange::Fan)),
            number => positive(number)
                .map(|bound| InitRangeFlag(InitRange::Uniform(bound)))
                .map_err(|_| "expected `fan` or a number above 0".to_owned()),
        }
    }
}

/// `--augment`, `--title-views`: probabilities by name, or `none`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ViewsFlag(pub(super) Views);

impl FromStr for ViewsFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<ViewsFlag, String> {
        let (mut views, mut named) = (Views::NONE, Vec::new());
        for part in text.split(',').filter(|_| text != "none") {
            let expected = || {
                format!("expected few, drop, swap or misspell with a probability, such as misspell=0.1, found `{part}`")
            };
            let (name, chance) = part.split_once('=').ok_or_else(expected)?;
            let place = match name.trim() {
                "few" => &mut views.few,
                "drop" => &mut views.drop,
                "swap" => &mut views.swap,
                "misspell" => &mut views.misspell,
                _ => return Err(expected()),
            };
            if named.contains(&name.trim()) {
                return Err(format!(
                    "expected each change once, found `{}` again; leave one of the two out",
                    name.trim()
                ));
            }
            named.push(name.trim());
            *place = chance.trim().parse().map_err(|_| expected())?;
        }
        match views.fault() {
            None => Ok(ViewsFlag(views)),
            Some((name, chance)) => Err(format!("expected a probability between 0 and 1 for {name}, found {chance}")),
        }
    }
}

impl Display for ViewsFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Views { few, drop, swap, misspell } = self.0;
        let all = [("few", few), ("drop", drop), ("swap", swap), ("misspell", misspell)];
        let given: Vec<_> =
            all.iter().filter(|(_, chance)| *chance > 0.0).map(|(name, chance)| format!("{name}={chance}")).collect();
        f.write_str(if given.is_empty() { "none" } else { "" })?;
        f.write_str(&given.join(","))
    }
}

pub(super) fn positive(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| match text.parse() {
        Ok(number) if f64::MAX >= number && number > 1.0 => "expected a smaller number".to_owned(),
        _ => "expected a number above 0".to_owned(),
    })
}

pub(super) fn share(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=0.5).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 0.5".to_owned())
}
