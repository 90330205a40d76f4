//! Tests of the settings of a run.

use super::*;
use crate::text::Accents;

#[test]
fn a_record_has_every_setting_and_reads_back() {
    let teacher = Some(TeacherConfig::default());
    let all = [
        TrainConfig {
            teacher,
            patience: Some(3),
            bptt: Bptt { words: Some(2), signals: Signals::PerGate },
            ..TrainConfig::with_titles()
        },
        TrainConfig { word_count: Some(2), ..TrainConfig::lstm_dssm() },
        TrainConfig { field: "body".to_owned(), tail: Tail::Merge, ..TrainConfig::clsm() },
        TrainConfig { text: TextConfig { accents: Accents::Fold, ..TextConfig::USUAL }, ..TrainConfig::clsm() },
    ];
    for config in all {
        config.check().expect("valid");
        let record = fields::json(&config);
        assert_eq!(serde_json::from_value::<TrainConfig>(record.clone()).expect("a config"), config);
        for field in TrainConfig::FIELDS {
            let is_there = record.get(field.name).is_some();
            // Files omit these where they are usual.
            let is_usual = match field.name {
                "text" => config.text == TextConfig::USUAL,
                "forget_bias" => config.forget_bias == FORGET_BIAS,
                _ => false,
            };
            assert!(is_there != is_usual || ["titles", "teacher"].contains(&field.name), "{}", field.name);
            assert!(!field.text.is_empty(), "{}", field.name);
        }
    }
}

#[test]
fn differences_have_dotted_names() {
    let differences = |now: &TrainConfig, before: &TrainConfig| -> Vec<[String; 3]> {
        now.differences(before).into_iter().map(|of| [of.name, of.now, of.before]).collect()
    };
    let plain = TrainConfig::default();
    let teacher = TeacherConfig::default();
    let nce = LossConfig { kind: LossKind::Nce, ..plain.loss };
    let other = TrainConfig { loss: nce, clip_norm: Some(2.0), teacher: Some(teacher), ..plain.clone() };
    let found = differences(&other, &plain);
    assert_eq!(found[..2], [["clip_norm", "2", "none"], ["loss.kind", "nce", "softmax"]]);
    assert_eq!((found.len(), found[2][0].as_str(), found[2][2].as_str()), (3, "teacher", "none"));
    let whole = TeacherConfig { start_share: 0.0, gamma: 7.0, ..teacher };
    let found = differences(&other, &TrainConfig { teacher: Some(whole), ..other.clone() });
    assert_eq!(found, [["teacher.gamma", "5", "7"], ["teacher.start_share", "0.2", "0"]]);
    let clsm = TrainConfig { encoder: EncoderConfig::Clsm(ClsmConfig::default()), ..plain.clone() };
    assert_eq!(differences(&clsm, &plain).len(), 1, "the encoder as a whole");
}

#[test]
fn settings_that_cannot_act_together_are_refused() {
    let plain = TrainConfig::default();
    let clsm = TrainConfig { encoder: EncoderConfig::Clsm(ClsmConfig::default()), ..plain.clone() };
    for (config, expected) in [
        (TrainConfig { keep: Keep::Loss, ..plain.clone() }, "keep: expected held-out queries"),
        (TrainConfig { batch_size: 1, ..plain.clone() }, "batch_size: expected 2 or more pairs"),
        (
            TrainConfig { negative_source: NegativeSource::Uniform, ..plain },
            "negatives: expected a number with negative_source=uniform, found all",
        ),
        (
            TrainConfig { bptt: Bptt { words: Some(2), ..Bptt::default() }, ..clsm.clone() },
            "bptt.words: expected a recurrent encoder, found encoder.kind=clsm",
        ),
        (
            TrainConfig { bptt: Bptt { signals: Signals::PerGate, ..Bptt::default() }, ..clsm },
            "bptt.signals: expected an LSTM for per-gate, as in the paper, found encoder.kind=clsm",
        ),
    ] {
        let found = config.check().expect_err(expected).to_string();
        assert!(found.starts_with(expected), "{found}");
    }
}

/// A checkpoint or a model may say anything, and a message repeats little of it.
#[test]
fn a_difference_is_short_and_moves_no_cursor() {
    let mine = TrainConfig::default();
    let differences = mine.differences(&TrainConfig { field: "\u{1b}".repeat(1000), ..mine.clone() });
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].now.as_str(), differences[0].before.chars().count()), ("title", 61));
    let text = crate::train::other_settings(&differences).to_string();
    assert!(text.chars().count() < 250 && !text.contains('\u{1b}'), "{text:?}");
}

/// The page is made anew by `clickvec train --help-settings > docs/reference/settings.md`.
#[test]
fn the_reference_page_is_current() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/settings.md");
    let page = std::fs::read_to_string(page).expect("docs/reference/settings.md");
    assert!(page == reference(), "expected docs/reference/settings.md as `clickvec train --help-settings` prints it");
}
