//! The reference of all settings, made from their types.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Preset, TeacherConfig, TitleConfig, TrainConfig};
use crate::encoder::EncoderConfig;
use crate::fields::{self, Field, Rule, dotted, shown};

/// Returns the documentation of a setting with the defaults of `value`, which is the setting or a part of it, as in the help of
/// the program; `None` if there is no setting of this name.
pub fn documentation(name: &str, value: &str) -> Option<String> {
    let mut fields = TrainConfig::FIELDS;
    let mut found = None;
    for part in name.split('.') {
        let field = fields.iter().find(|field| field.name == part)?;
        fields = fields::parts(&field.rule, &Value::Null);
        found = Some(field);
    }
    let text = found?.text.trim().trim_end_matches('.');
    Some(format!("{text} [default: {}]", defaults(value, "; ")))
}

/// Returns a page of Markdown with all settings, their defaults and bounds.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    page.push_str(TABLE);
    add_rows(&mut page, "", TrainConfig::FIELDS);
    for encoder in EncoderConfig::defaults() {
        let _ = write!(page, "\n### `encoder.kind={}`\n\n{}.\n\n{TABLE}", encoder.kind(), encoder.about());
        let sizes = fields::json(&encoder);
        for field in fields::parts(&Rule::Kinds(EncoderConfig::FIELDS), &sizes) {
            add_row(&mut page, &dotted("encoder", field.name), field, &shown(&sizes[field.name]));
        }
    }
    page
}

const HEAD: &str = "\
# Training settings

<!-- Made by `clickvec train --help-settings` from the types of the settings. -->

`clickvec train --set NAME=VALUE` sets any of these, for example `--set loss.gamma=20 --set encoder.cells=192`. A list is typed
with commas: `--set encoder.layers=300,128`. `--settings FILE.toml` reads many from a file, where `loss.gamma = 20` and a table
`[loss]` with `gamma = 20` mean the same. A system of a table takes them in `train = { … }`, Python as keyword arguments:
`train(clicks, loss={\"gamma\": 20})`. `--set` replaces what the file says, and an option replaces both. `preset` is `lstm-dssm` or `clsm`, the
settings of a paper's experiments as defaults.

Where the table says so, a default depends on the training data or the preset.

";

const TABLE: &str = "| setting | default | meaning |\n| --- | --- | --- |\n";

fn add_rows(page: &mut String, name: &str, settings: &[Field]) {
    for field in settings {
        let name = dotted(name, field.name);
        match field.rule {
            Rule::Fields(parts) => add_rows(page, &name, parts),
            Rule::Kinds(_) => add_row(page, &dotted(&name, "kind"), field, &defaults("encoder.kind", "; ")),
            _ => add_row(page, &name, field, &defaults(&name, "; ")),
        }
    }
}

fn add_row(page: &mut String, name: &str, field: &Field, default: &str) {
    let bounds = field.rule.expected().map_or_else(String::new, |expected| format!(" Expected: {expected}."));
    let _ = writeln!(page, "| `{name}` | {default} | {}{bounds} |", field.text.trim());
}

/// Returns the default of a setting, and where it differs those with titles, with a teacher and of each preset.
fn defaults(name: &str, separator: &str) -> String {
    let titles = TrainConfig { teacher: Some(TeacherConfig::default()), ..TrainConfig::with_titles() };
    let plain = TrainConfig { titles: Some(TitleConfig::default()), teacher: titles.teacher, ..TrainConfig::default() };
    let value = |config: &TrainConfig| {
        let mut settings = fields::json(config);
        // Files omit these where they are usual.
        settings["text"] = fields::json(&config.text);
        settings["forget_bias"] = fields::json(&config.forget_bias);
        name.split('.').try_fold(&settings, |settings, part| settings.get(part)).map(shown)
    };
    let own = value(&plain).unwrap_or_default();
    let presets = Preset::ALL.map(|preset| (format!("with preset={}", shown(&fields::json(&preset))), preset.config()));
    let others = [("with titles".to_owned(), titles)].into_iter().chain(presets);
    let others = others.filter_map(|(when, config)| Some((when, value(&config)?)));
    let others: String =
        others.filter(|(_, value)| *value != own).map(|(when, value)| format!("{separator}{when}: {value}")).collect();
    let own = match DEPENDENT.iter().find(|(dependent, _)| *dependent == name) {
        Some((_, words)) => (*words).to_owned(),
        None => own,
    };
    own + &others
}

/// Defaults that depend on more than titles and the preset.
const DEPENDENT: [(&str, &str); 7] = [
    ("held_out", "0.1 with clicks; with a validation set, keep=last, or a preset without keep=loss: 0"),
    ("keep", "best with held-out queries or a validation set, otherwise last"),
    ("titles.among_clicks", "1; with teacher.start=least-squares: 2"),
    ("teacher.gamma", "5; for scores without vectors: 10"),
    ("teacher.scores", "0.5; without clicks: 1"),
    ("teacher.start", "least-squares if the encoder allows it and init_range is not set, otherwise random"),
    ("teacher.start_share", "0.2; with teacher.start=random: 0"),
];
