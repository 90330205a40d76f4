//! Tests of the settings of a run.

use super::*;
use crate::error::ResumeFault;

#[test]
fn what_older_models_do_not_have_is_written_only_if_it_is_not_the_default() {
    let exact = TrainConfig::default();
    let rounded = TrainConfig { precision: Precision::Bf16, ..exact.clone() };
    let json = |config: &TrainConfig| serde_json::to_string(config).expect("JSON");
    assert!(!json(&exact).contains("precision"), "fingerprints of older models are over JSON without it");
    for config in [&exact, &rounded] {
        assert_eq!(serde_json::from_str::<TrainConfig>(&json(config)).expect("a config"), *config);
    }
    let differences = |now: &TrainConfig, before: &TrainConfig| -> Vec<[String; 3]> {
        now.differences(before).into_iter().map(|of| [of.name, of.now, of.before]).collect()
    };
    assert_eq!(differences(&exact, &rounded), [["precision", "f32", "bf16"]]);
    assert_eq!(differences(&rounded, &exact), [["precision", "bf16", "f32"]]);
    let body = TrainConfig { field: "body".to_owned(), ..exact.clone() };
    assert!(!json(&exact).contains("field") && json(&body).contains("\"field\":\"body\""), "{}", json(&body));
    assert_eq!(differences(&body, &exact), [["field", "body", "title"]]);
    let merged = TrainConfig { tail: Tail::Merge, ..exact.clone() };
    assert!(!json(&exact).contains("tail") && json(&merged).contains("\"tail\":\"merge\""), "{}", json(&merged));
    assert_eq!(serde_json::from_str::<TrainConfig>(&json(&merged)).expect("a config"), merged);
    assert_eq!(differences(&merged, &exact), [["tail", "merge", "cut"]]);
    let contrast = TrainConfig { loss: LossKind::Nce, ..exact.clone() };
    assert!(!json(&exact).contains("loss") && json(&contrast).contains("\"loss\":\"nce\""), "{}", json(&contrast));
    assert_eq!(serde_json::from_str::<TrainConfig>(&json(&contrast)).expect("a config"), contrast);
    assert_eq!(differences(&contrast, &exact), [["loss", "nce", "softmax"]]);
    assert_eq!(differences(&exact, &contrast), [["loss", "softmax", "nce"]]);
    let teacher = TeacherConfig::default();
    let taught = TrainConfig { teacher: Some(teacher), ..contrast };
    let whole =
        TrainConfig { teacher: Some(TeacherConfig { start_share: 0.0, gamma: 7.0, ..teacher }), ..taught.clone() };
    assert_eq!(differences(&taught, &whole), [["teacher gamma", "5", "7"], ["teacher start-share", "0.2", "0"]]);
    assert_eq!(differences(&taught, &TrainConfig { teacher: None, ..taught.clone() }).len(), 1);
    assert_eq!(taught.fault(), Some(SettingFault::TaughtContrast));
    let feed_forward = EncoderConfig::Dssm(crate::encoder::DssmConfig { layers: vec![8] });
    let fault = TrainConfig { encoder: feed_forward, ..rounded }.fault();
    assert_eq!(fault, Some(SettingFault::Precision { kind: "dssm" }));
}

#[test]
fn the_messages_name_all_recurrent_encoders_and_no_other() {
    let expected = [SettingFault::BpttWords { kind: "clsm" }, SettingFault::Precision { kind: "clsm" }];
    for fault in expected.map(|fault| fault.to_string()) {
        let named = fault.split(" for ").next().expect("a part");
        for encoder in EncoderConfig::defaults() {
            let is_named = named.contains(&format!(" {}", encoder.kind()));
            assert_eq!(is_named, encoder.is_recurrent(), "{}: {fault}", encoder.kind());
        }
        assert!(fault.contains(", found a clsm"), "{fault}");
    }
    assert!(SettingFault::PerGate { kind: "rnn" }.to_string().contains(", found an rnn;"));
}

/// A checkpoint or a model may say anything, and a message repeats little of it.
#[test]
fn a_difference_is_short_and_moves_no_cursor() {
    let mine = TrainConfig::default();
    let differences = mine.differences(&TrainConfig { field: "\u{1b}".repeat(1000), ..mine.clone() });
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].now.as_str(), differences[0].before.chars().count()), ("title", 61));
    let [expected, found] = ["\u{1b}".repeat(1000), "plain".to_owned()];
    for fault in [
        ResumeFault::Settings { differences },
        ResumeFault::Level { expected: expected.clone(), found: found.clone() },
        ResumeFault::Program { expected, found },
    ] {
        let text = fault.to_string();
        assert!(text.chars().count() < 250 && !text.contains('\u{1b}'), "{text:?}");
    }
}
