//! Flags for the training settings. A setting whose flag is not given has its default, or the value of `--preset`.

mod flags;
mod help;
mod idle;

use anyhow::{Result, bail, ensure};
use clickvec::encoder::{EncoderConfig, Signals};
use clickvec::model::Model;
use clickvec::train::{
    Keep, LossKind, NegativeSource, OptimizerKind, Precision, Tail, TeacherConfig, TeacherStart, TitleConfig,
    TrainConfig, Weighting,
};

use flags::{
    BpttFlag, ClipFlag, InitRangeFlag, KeepFlag, LossFlag, NegativeSourceFlag, NegativesFlag, OptimizerFlag,
    PrecisionFlag, Preset, TailFlag, TeacherStartFlag, ViewsFlag, WordsFlag, positive, share,
};
use help::{
    among_help, help, shown_clip, shown_loss, shown_negatives, shown_optimizer, shown_precision, shown_range,
    shown_signals, shown_source, shown_tail, shown_weighting, shown_words, teacher_gamma_help, teacher_help,
    title_help,
};

use super::encoder::EncoderFlags;
use crate::weighting::WeightingFlag;

/// The training settings.
#[derive(clap::Args)]
#[command(next_help_heading = "Training")]
pub(super) struct Settings {
    /// Use the settings of a paper's experiments as defaults for everything below and, with clsm, for the encoder. Other
    /// flags override them.
    #[arg(long, value_enum)]
    preset: Option<Preset>,

    #[arg(long, value_name = "PAIRS", help = help("Pairs in a minibatch", |c| c.minibatch))]
    minibatch: Option<usize>,

    #[arg(long, value_name = "N|all", help = help("Negative titles for each pair; all: every other title of the minibatch", |c| shown_negatives(c.negatives)))]
    negatives: Option<NegativesFlag>,

    #[arg(long, value_enum, help = help("Where negatives come from", |c| shown_source(c.negative_source)))]
    negative_source: Option<NegativeSourceFlag>,

    #[arg(long, value_enum, help = help("The loss to minimise, for clicks and for titles", |c| shown_loss(c.loss)))]
    loss: Option<LossFlag>,

    #[arg(long, value_name = "G", value_parser = positive, help = help("γ: the loss multiplies cosines by it", |c| c.gamma))]
    gamma: Option<f32>,

    #[arg(long, value_enum, help = help("The optimiser", |c| shown_optimizer(c.optimizer)))]
    optimizer: Option<OptimizerFlag>,

    #[arg(long, value_name = "RATE", value_parser = positive, help = help("ε, the step size", |c| c.learning_rate))]
    learning_rate: Option<f32>,

    #[arg(long, value_name = "NORM|none", help = help("Scale a tower's gradient down to this norm if its norm is larger", |c| shown_clip(c.clip_norm)))]
    clip_norm: Option<ClipFlag>,

    #[arg(long, value_enum, help = help("Which error signals an LSTM propagates back in time", |c| shown_signals(c.bptt.signals)))]
    bptt: Option<BpttFlag>,

    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<usize>, help = help("Propagate errors back through the last N words only", |c| c.bptt.words.map_or("all".to_owned(), |n| n.to_string())))]
    bptt_words: Option<usize>,

    #[arg(long, value_name = "fan|R", help = help("Initial weights: fan: uniform ±√(6/(fan-in + fan-out)); a number R: uniform ±R", |c| shown_range(c.init_range)))]
    init_range: Option<InitRangeFlag>,

    #[arg(long, value_name = "COLUMN", help = help("Column to learn from and judge instead of the title, such as `body`; `title+text` joins two", |c| c.field.clone()))]
    pub(super) field: Option<String>,

    #[arg(long, value_enum, help = help("How the column count of the log becomes the weight of a pair; it is multiplied by the column weight", |c| shown_weighting(c.weighting)))]
    weighting: Option<WeightingFlag>,

    #[arg(long, value_name = "N", help = help("Passes over the log", |c| c.epochs))]
    epochs: Option<u32>,

    /// The share of clicked queries that are not learnt but judge the model after every epoch and at the end, compared with
    /// BM25 and letter trigrams: at most 1,000 queries, and none if that is fewer than 100. 0 learns all clicks [default:
    /// 0.1; with --validation, --keep last, or --preset without --keep loss: 0].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) held_out: Option<f32>,

    /// Which epoch's weights become the model [default: best with --validation or held-out queries, otherwise last].
    #[arg(long, value_enum)]
    keep: Option<KeepFlag>,

    /// Stop when validation has not improved for N epochs [default: never].
    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<u32>)]
    patience: Option<u32>,

    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<usize>, help = help("Words read of each text", |c| c.max_words))]
    max_words: Option<usize>,

    #[arg(long, value_enum, help = help("What to do with words beyond --max-words", |c| shown_tail(c.tail)))]
    tail: Option<TailFlag>,

    #[arg(long, value_name = "N", value_parser = crate::numbers::at_least_one::<usize>, help = help("Letter trigrams in the dictionary; the most frequent ones are kept", |c| c.max_trigrams))]
    max_trigrams: Option<usize>,

    #[arg(long, value_name = "N|none", help = help("Use whole words that occur at least N times as features, in addition to their trigrams; at most as many as --max-trigrams", |c| shown_words(c.word_count)))]
    word_count: Option<WordsFlag>,

    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true", help = help("Use one tower for queries and titles, instead of one for each", |c| c.shared_towers))]
    shared_towers: Option<bool>,

    #[arg(long, value_name = "N", help = help("Seed of all random numbers: the same seed, log and program give the same model", |c| c.seed))]
    seed: Option<u64>,

    #[arg(long, value_name = "CHANGES|none", help = help("Random changes to queries when learning from clicks, each with its probability, such as `drop=0.1,misspell=0.1`: few: keep only 2 to 4 words; drop: leave a word out; swap: swap two neighbours; misspell: mistype a word", |c| ViewsFlag(c.augment)))]
    augment: Option<ViewsFlag>,

    #[arg(long, value_name = "CHANGES|none", help = title_help("Random changes to the copy of itself that a title is paired with; see --augment", |t| ViewsFlag(t.views)))]
    title_views: Option<ViewsFlag>,

    #[arg(long, value_name = "N", help = title_help("Passes over the titles, before the clicks", |t| t.epochs))]
    title_epochs: Option<u32>,

    #[arg(long, value_name = "PAIRS", value_parser = crate::numbers::at_least_one::<usize>, help = title_help("Titles in a minibatch", |t| t.minibatch))]
    title_minibatch: Option<usize>,

    #[arg(long, value_name = "G", value_parser = positive, help = title_help("γ in the epochs of titles", |t| t.gamma))]
    title_gamma: Option<f32>,

    #[arg(long, value_name = "RATE", value_parser = positive, help = title_help("ε for titles", |t| t.learning_rate))]
    title_learning_rate: Option<f32>,

    #[arg(long, value_name = "R", help = among_help())]
    titles_among_clicks: Option<f32>,

    #[arg(long, value_name = "SHARE", help = teacher_help("The teacher's share of the loss of a clicked pair, from 0 to 1; the rest comes from the click", |t| t.clicks))]
    teacher_share: Option<f32>,

    #[arg(long, value_name = "SHARE", help = teacher_help("The teacher's share of the loss of a title, from 0 to 1", |t| t.titles))]
    teacher_title_share: Option<f32>,

    /// The share of the teacher's scores in the loss of a pair whose query has scores of two titles or more [default: 0.5;
    /// without --clicks: 1].
    #[arg(long, value_name = "SHARE")]
    teacher_score_share: Option<f32>,

    #[arg(long, value_name = "G", value_parser = positive, help = teacher_gamma_help(GAMMA_OF_SCORES))]
    teacher_gamma: Option<f32>,

    /// The initial weights with a teacher's vectors [default: least-squares for an lstm of one layer without a forget gate;
    /// with another encoder or --init-range: random].
    #[arg(long, value_enum, value_name = "WEIGHTS")]
    teacher_start: Option<TeacherStartFlag>,

    #[arg(long, value_name = "SHARE", help = teacher_help("The share that the weights before the epochs of titles have in the models after them, from 0 to 1, and likewise for clicks; with --teacher-start least-squares", |t| t.start_share))]
    teacher_start_share: Option<f32>,

    #[arg(long, value_enum, help = help("Precision of the factors in recurrent matrix products; sums and weights stay f32. bf16 takes up to a fifth less time, but works only for recurrent encoders, and needs a processor with AVX512-BF16 or AMX", |c| shown_precision(c.precision)))]
    precision: Option<PrecisionFlag>,
}

/// The share of clicked queries that judge a model if nothing else does.
const HELD_OUT: f32 = 0.1;

/// γ of a teacher that has scores alone.
const GAMMA_OF_SCORES: f32 = 10.0;

/// What a model is learnt from and judged by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// Judged titles for validation.
    pub validation: bool,
    /// Clicks to learn from.
    pub clicks: bool,
    /// Whether it is one training of a table, which holds no queries out.
    pub in_table: bool,
    /// Titles to learn from.
    pub titles: bool,
    /// A teacher's vectors.
    pub vectors: bool,
    /// A teacher's scores.
    pub scores: bool,
    /// Whether the pairs of a teacher's scores take the place of clicks.
    pub scores_alone: bool,
    /// The number of members of the initial model.
    pub members: Option<usize>,
    /// The size that a projection brings the vectors of its members to, if it has one.
    pub dimension: Option<usize>,
    /// The number of letter trigrams that the initial model knows.
    pub trigrams: Option<usize>,
    /// From how many occurrences whole words are features of the initial model.
    pub word_count: Option<u64>,
}

impl Given {
    /// What is known of the initial model, if there is one.
    pub fn of_init(init: Option<&Model>) -> Given {
        Given {
            members: init.map(|init| init.encoder_config().members()),
            dimension: init.and_then(|init| Some(init.encoder_config().projection()?.1)),
            trigrams: init.map(|init| init.dictionary().trigrams().len()),
            word_count: init.and_then(|init| init.training().config.word_count),
            ..Given::default()
        }
    }
}

impl Settings {
    /// The whole configuration: the defaults or the preset, overridden by the flags given.
    pub(super) fn config(&self, encoder: &EncoderFlags, given: Given) -> Result<TrainConfig> {
        let titles = given.titles;
        self.refuse_idle(given)?;
        if let Some(known) = given.trigrams {
            ensure!(
                self.init_range.is_none(),
                "`--init-range` is about new weights, and those of `--init` are used; leave one of the two out"
            );
            ensure!(
                self.teacher_start.is_none(),
                "`--teacher-start` is about new weights, and those of `--init` are used; leave one of the two out"
            );
            ensure!(
                self.teacher_start_share.is_none(),
                "`--teacher-start-share` is about new weights, and those of `--init` are used; leave one of the two out"
            );
            ensure!(
                self.max_trigrams.is_none_or(|most| most >= known),
                "expected `--max-trigrams` of {known} or more, which the model of `--init` has, found {}; it bounds what is added",
                self.max_trigrams.unwrap_or_default()
            );
        }
        let held_out = self.held_out_share(given)?;
        let validation = given.validation || held_out > 0.0;
        let defaults = match self.preset {
            Some(preset) => preset.config(),
            None if titles => TrainConfig::with_titles(),
            None => TrainConfig::default(),
        };
        let architecture = encoder.config(&defaults.encoder, &given)?;
        let per_gate = self.bptt == Some(BpttFlag::PerGate);
        encoder.refuse_unless(&architecture, "--bptt per-gate", per_gate, EncoderConfig::has_published_signals)?;
        encoder.refuse_unless(&architecture, "--bptt-words", self.bptt_words.is_some(), EncoderConfig::is_recurrent)?;
        let fits = self.teacher_start == Some(TeacherStartFlag::LeastSquares);
        ensure!(
            !fits || architecture.adds_up(),
            "`--teacher-start least-squares` needs an lstm of one layer without `--forget-gate`; leave one of the two out"
        );
        ensure!(
            !fits || self.init_range.is_none(),
            "`--init-range` is about random weights, and `--teacher-start least-squares` fits them; leave one of the two out"
        );
        self.check_judge(given, held_out)?;
        if self.precision == Some(PrecisionFlag::Bf16) {
            encoder.refuse_unless(&architecture, "--precision bf16", true, EncoderConfig::is_recurrent)?;
            if let Some(found) = Precision::Bf16.missing() {
                bail!("`--precision bf16` needs AVX512-BF16 or AMX instructions, found {found}; leave it out");
            }
        }
        let mut config = defaults;
        config.encoder = architecture;
        config.keep = match self.keep {
            Some(KeepFlag::Last) => Keep::Last,
            Some(KeepFlag::Best) => Keep::Best,
            Some(KeepFlag::Loss) => Keep::Loss,
            None if validation => Keep::Best,
            None => Keep::Last,
        };
        config.patience = self.patience;
        config.held_out = held_out;
        set(&mut config.shared_towers, self.shared_towers);
        set(&mut config.minibatch, self.minibatch);
        set(&mut config.negatives, self.negatives.map(|flag| flag.0));
        set(&mut config.gamma, self.gamma);
        set(&mut config.learning_rate, self.learning_rate);
        set(&mut config.clip_norm, self.clip_norm.map(|flag| flag.0));
        set(&mut config.bptt.words, self.bptt_words.map(Some));
        set(&mut config.init_range, self.init_range.map(|flag| flag.0));
        set(&mut config.field, self.field.clone());
        set(&mut config.epochs, self.epochs);
        set(&mut config.max_words, self.max_words);
        set(&mut config.max_trigrams, self.max_trigrams);
        set(&mut config.word_count, self.word_count_of(given)?);
        set(&mut config.seed, self.seed);
        set(&mut config.augment, self.augment.map(|flag| flag.0));
        config.teacher = self.teacher_config(given, &config.encoder)?;
        let fits = config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares);
        config.titles = self.title_config(titles, fits)?;
        self.set_kinds(&mut config);
        Ok(config)
    }

    /// From how many occurrences whole words are features, if it is asked for or the initial model says so: its words stay.
    fn word_count_of(&self, given: Given) -> Result<Option<Option<u64>>> {
        let asked = self.word_count.map(|flag| flag.0);
        ensure!(
            asked != Some(None) || given.word_count.is_none(),
            "`--word-count none`: the model of `--init` has whole words as features, and they stay; leave the option out"
        );
        Ok(asked.or(given.word_count.map(Some)))
    }

    /// The option that asks for something to judge epochs by, if one does.
    pub(super) fn asks_for_judge(&self) -> Option<&'static str> {
        match self.keep {
            Some(KeepFlag::Loss) => Some("--keep loss"),
            Some(KeepFlag::Best) => Some("--keep best"),
            Some(KeepFlag::Last) | None => self.patience.map(|_| "--patience"),
        }
    }

    /// Refuses an option that asks for something to judge epochs by if there is nothing.
    fn check_judge(&self, given: Given, held_out: f32) -> Result<()> {
        let Some(asks) = self.asks_for_judge().filter(|_| held_out == 0.0) else { return Ok(()) };
        if asks == "--keep loss" {
            bail!(
                "`--keep loss` is about clicked pairs that are held out, {}",
                match given {
                    Given { validation: true, .. } =>
                        "and `--validation` keeps the best epoch itself; leave one of the two out",
                    Given { clicks: false, .. } => "and there is no click log; add `--clicks FILE` or leave it out",
                    _ => "and `--held-out 0` holds none out; leave one of the two out",
                }
            );
        }
        if given.validation {
            return Ok(());
        }
        let tells = if asks == "--patience" { "whether an epoch is better" } else { "which epoch is best" };
        let or = if given.clicks && !given.in_table { " or `--held-out SHARE`" } else { "" };
        bail!("`{asks}` needs something to tell {tells}; add `--validation FILE`{or}")
    }

    /// The share of clicked queries to hold out.
    fn held_out_share(&self, given: Given) -> Result<f32> {
        let share = match self.held_out {
            Some(share) => share,
            None if given.validation || self.keep == Some(KeepFlag::Last) => 0.0,
            None if self.preset.is_some() && self.keep != Some(KeepFlag::Loss) => 0.0,
            None if given.clicks && !given.in_table => HELD_OUT,
            None => 0.0,
        };
        if share > 0.0 && given.validation {
            bail!("`--held-out` and `--validation` both say what judges the model; leave one of the two out");
        }
        if share > 0.0 && !given.clicks {
            bail!("`--held-out` is about queries of a click log; add `--clicks FILE`");
        }
        Ok(share)
    }

    /// The settings for titles, if there are any. `fits` says whether weights are to be fitted to a teacher's vectors.
    fn title_config(&self, titles: bool, fits: bool) -> Result<Option<TitleConfig>> {
        if titles {
            let mut config = if fits { TitleConfig::taught() } else { TitleConfig::default() };
            set(&mut config.views, self.title_views.map(|flag| flag.0));
            set(&mut config.epochs, self.title_epochs);
            set(&mut config.minibatch, self.title_minibatch);
            set(&mut config.gamma, self.title_gamma);
            set(&mut config.learning_rate, self.title_learning_rate);
            set(&mut config.among_clicks, self.titles_among_clicks);
            return Ok(Some(config));
        }
        let given = [
            ("--title-views", self.title_views.is_some()),
            ("--title-epochs", self.title_epochs.is_some()),
            ("--title-minibatch", self.title_minibatch.is_some()),
            ("--title-gamma", self.title_gamma.is_some()),
            ("--title-learning-rate", self.title_learning_rate.is_some()),
            ("--titles-among-clicks", self.titles_among_clicks.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => bail!("`{flag}` is about training on titles; add `--titles FILE`"),
            None => Ok(None),
        }
    }

    /// The settings for a teacher, if there is one.
    fn teacher_config(&self, given: Given, encoder: &EncoderConfig) -> Result<Option<TeacherConfig>> {
        if given.vectors || given.scores {
            let mut config = TeacherConfig::default();
            set(&mut config.clicks, self.teacher_share);
            set(&mut config.titles, self.teacher_title_share);
            set(&mut config.gamma, self.teacher_gamma.or((!given.vectors).then_some(GAMMA_OF_SCORES)));
            set(&mut config.scores, self.teacher_score_share.or(given.scores_alone.then_some(1.0)));
            let fits = given.vectors && given.trigrams.is_none() && self.init_range.is_none() && encoder.adds_up();
            config.start = match self.teacher_start {
                Some(TeacherStartFlag::LeastSquares) => TeacherStart::LeastSquares,
                None if fits => TeacherStart::LeastSquares,
                Some(TeacherStartFlag::Random) | None => TeacherStart::Random,
            };
            if config.start == TeacherStart::Random {
                ensure!(
                    self.teacher_start_share.is_none(),
                    "`--teacher-start-share` is about weights that are fitted to a teacher's vectors, found random ones; leave it out"
                );
                config.start_share = 0.0;
            }
            set(&mut config.start_share, self.teacher_start_share);
            return Ok(Some(config));
        }
        let given = [
            ("--teacher-share", self.teacher_share.is_some()),
            ("--teacher-title-share", self.teacher_title_share.is_some()),
            ("--teacher-score-share", self.teacher_score_share.is_some()),
            ("--teacher-gamma", self.teacher_gamma.is_some()),
            ("--teacher-start", self.teacher_start.is_some()),
            ("--teacher-start-share", self.teacher_start_share.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => bail!("`{flag}` is about learning from a teacher; add `--teacher FILE`"),
            None => Ok(None),
        }
    }

    /// Sets the settings that are a choice between a few values.
    fn set_kinds(&self, config: &mut TrainConfig) {
        let source = self.negative_source.map(|flag| match flag {
            NegativeSourceFlag::Minibatch => NegativeSource::Minibatch,
            NegativeSourceFlag::Uniform => NegativeSource::Uniform,
        });
        let loss = self.loss.map(|flag| match flag {
            LossFlag::Softmax => LossKind::Softmax,
            LossFlag::Nce => LossKind::Nce,
        });
        let optimizer = self.optimizer.map(|flag| match flag {
            OptimizerFlag::Nesterov => OptimizerKind::Nesterov,
            OptimizerFlag::Momentum => OptimizerKind::Momentum,
            OptimizerFlag::Adam => OptimizerKind::Adam,
            OptimizerFlag::Sgd => OptimizerKind::Sgd,
        });
        let signals = self.bptt.map(|flag| match flag {
            BpttFlag::Exact => Signals::Exact,
            BpttFlag::PerGate => Signals::PerGate,
        });
        let precision = self.precision.map(|flag| match flag {
            PrecisionFlag::F32 => Precision::F32,
            PrecisionFlag::Bf16 => Precision::Bf16,
        });
        let tail = self.tail.map(|flag| match flag {
            TailFlag::Cut => Tail::Cut,
            TailFlag::Merge => Tail::Merge,
        });
        set(&mut config.precision, precision);
        set(&mut config.tail, tail);
        set(&mut config.negative_source, source);
        set(&mut config.loss, loss);
        set(&mut config.optimizer, optimizer);
        set(&mut config.bptt.signals, signals);
        set(&mut config.weighting, self.weighting.map(Weighting::from));
    }
}

/// Replaces a value if another was given.
fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}
