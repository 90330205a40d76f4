//! The defaults of a training in the texts of help.

use std::fmt::Display;

use clickvec::encoder::{InitRange, Signals};
use clickvec::train::{
    LossKind, NegativeSource, Negatives, OptimizerKind, Precision, Tail, TeacherConfig, TitleConfig, TrainConfig,
    Weighting,
};

use super::flags::Preset;

/// A help text with the default, and the values with titles and with each preset where they differ.
pub(super) fn help<T: Display>(text: &str, value: impl Fn(&TrainConfig) -> T) -> String {
    let own = value(&TrainConfig::default()).to_string();
    let presets = Preset::ALL.map(|preset| (preset.name(), preset.config()));
    let others = [("with --titles", TrainConfig::with_titles())].into_iter().chain(presets);
    let others: Vec<_> = others.map(|(name, config)| (name, value(&config).to_string())).collect();
    let others = others.iter().filter(|(_, value)| *value != own).map(|(name, value)| format!("; {name}: {value}"));
    format!("{text} [default: {own}{}]", others.collect::<String>())
}

/// A help text with the default for training on titles.
pub(super) fn title_help<T: Display>(text: &str, value: impl Fn(&TitleConfig) -> T) -> String {
    format!("{text} [default: {}]", value(&TitleConfig::default()))
}

/// The help text of how many titles come among the clicks, which are more if weights are fitted to a teacher's vectors.
pub(super) fn among_help() -> String {
    let (usual, taught) = (TitleConfig::default().among_clicks, TitleConfig::taught().among_clicks);
    format!(
        "Titles mixed into each epoch of clicks, as a number per clicked pair [default: {usual}; with --teacher-start \
         least-squares: {taught}]"
    )
}

/// A help text with the default for training with a teacher.
pub(super) fn teacher_help<T: Display>(text: &str, value: impl Fn(&TeacherConfig) -> T) -> String {
    format!("{text} [default: {}]", value(&TeacherConfig::default()))
}

/// The help text of a teacher's γ, which is another for scores alone.
pub(super) fn teacher_gamma_help(of_scores: f32) -> String {
    let of_vectors = TeacherConfig::default().gamma;
    format!(
        "γ of the softmax over the teacher's similarities and the model's that imitate them, and of the margins of scores \
         [default: {of_vectors}; for scores without vectors: {of_scores}]"
    )
}

pub(super) fn shown_negatives(negatives: Negatives) -> String {
    match negatives {
        Negatives::All => "all".to_owned(),
        Negatives::Sampled(number) => number.to_string(),
    }
}

pub(super) fn shown_tail(tail: Tail) -> &'static str {
    match tail {
        Tail::Cut => "cut",
        Tail::Merge => "merge",
    }
}

pub(super) fn shown_source(source: NegativeSource) -> &'static str {
    match source {
        NegativeSource::Minibatch => "minibatch",
        NegativeSource::Uniform => "uniform",
    }
}

pub(super) fn shown_loss(loss: LossKind) -> &'static str {
    match loss {
        LossKind::Softmax => "softmax",
        LossKind::Nce => "nce",
    }
}

pub(super) fn shown_optimizer(kind: OptimizerKind) -> &'static str {
    match kind {
        OptimizerKind::Nesterov => "nesterov",
        OptimizerKind::Momentum => "momentum",
        OptimizerKind::Adam => "adam",
        OptimizerKind::Sgd => "sgd",
    }
}

pub(super) fn shown_clip(norm: Option<f32>) -> String {
    norm.map_or("none".to_owned(), |norm| norm.to_string())
}

pub(super) fn shown_signals(signals: Signals) -> &'static str {
    match signals {
        Signals::Exact => "exact",
        Signals::PerGate => "per-gate",
    }
}

pub(super) fn shown_range(range: InitRange) -> String {
    match range {
        InitRange::Fan => "fan".to_owned(),
        InitRange::Uniform(bound) => bound.to_string(),
    }
}

pub(super) fn shown_words(least: Option<u64>) -> String {
    least.map_or_else(|| "none".to_owned(), |least| least.to_string())
}

pub(super) fn shown_precision(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::Bf16 => "bf16",
    }
}

pub(super) fn shown_weighting(weighting: Weighting) -> &'static str {
    match weighting {
        Weighting::Log => "log",
        Weighting::Linear => "linear",
        Weighting::None => "none",
        Weighting::Binary => "binary",
    }
}
