//! The sources of systems' scores: ranker, training, model, run or members.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use clickvec::model::Model;
use clickvec::train::{Inputs, Overrides, Teacher};
use clickvec_eval::ranker::RankerSpec;
use clickvec_index::{FusionMethod, RECIPROCAL_RANK_K};
use clickvec_tables::Result;
use clickvec_tables::shown::shortened;

use super::super::fault::setting;
use super::super::{Source, Training, Validation};
use super::{LearntTitles, Paths, RowSpec, Spec};

impl Spec {
    /// Refuses settings that would have no effect.
    fn refuse_idle(&self, system: &RowSpec) -> Result<()> {
        let idle = [
            (
                "grid",
                !system.grid.is_empty() && system.ranker.is_none() && system.train.is_none(),
                "`ranker` or `train`",
            ),
            ("method", system.method.is_some() && system.fusion.is_none(), "`fusion`"),
            ("titles", system.titles.is_some() && system.train.is_none(), "`train`"),
            ("init", system.init.is_some() && system.train.is_none(), "`train`"),
            ("teacher", system.teacher.is_some() && system.train.is_none(), "`train`"),
            ("validation", system.validation.is_some() && system.train.is_none(), "`train`"),
            (
                "seeds",
                system.seeds.is_some() && system.ranker.is_none() && system.train.is_none(),
                "`ranker` or `train`",
            ),
            (
                "field",
                system.field.is_some() && (system.run.is_some() || system.fusion.is_some()),
                "`ranker`, `train` or `model`",
            ),
        ];
        match idle.iter().find(|(_, idle, _)| *idle) {
            None => Ok(()),
            Some((name, _, wants)) => Err(setting(format!("expected `{name}` only with {wants}; leave it out"))),
        }
    }

    /// Returns the titles that a system learns from.
    fn learnt_titles(&self, system: &RowSpec) -> Result<Vec<PathBuf>> {
        Ok(match &system.titles {
            None | Some(LearntTitles::Collection(false)) => Vec::new(),
            Some(LearntTitles::Collection(true)) => match &self.data.titles {
                Some(titles) => vec![titles.clone()],
                None => {
                    return Err(setting(
                        "expected titles of the table for `titles = true`, found none; name them in `[data]`",
                    ));
                }
            },
            Some(LearntTitles::Files(files)) => files.list().to_vec(),
        })
    }

    /// Makes a training of a system with these settings.
    fn training(&self, system: &RowSpec, settings: &Overrides, init: Option<&Model>) -> Result<Training> {
        let label = settings.to_string();
        if settings.has("field") {
            return Err(setting(format!("`train` ({label}): expected `field` beside `train`, found it inside")));
        }
        let titles = self.learnt_titles(system)?;
        let teacher = system.teacher.as_ref().map_or(&[][..], Paths::list);
        let (scores, teachers): (Vec<_>, Vec<_>) =
            teacher.iter().cloned().partition(|path| Teacher::is_score_file(path));
        let inputs = Inputs {
            validation: system.validation.is_some(),
            clicks: true,
            titles: !titles.is_empty(),
            init,
            in_table: true,
            ..Inputs::default()
        };
        let config = inputs
            .with_teacher(teacher)
            .settings(settings)
            .map_err(|fault| setting(format!("`train` ({label}): {fault}")))?;
        let validation = system.validation.clone().map(|judged| Validation {
            judged,
            topics: system.validation_topics.clone(),
            titles: system.validation_titles.clone(),
        });
        Ok(Training { label, config, validation, titles, init: system.init.clone(), teachers, scores })
    }

    pub(super) fn source(&self, system: &RowSpec, position: usize) -> Result<Source> {
        let grid = || grid(&system.grid);
        self.refuse_idle(system)?;
        Ok(match (&system.ranker, &system.train, &system.model, &system.fusion, &system.run) {
            (Some(base), None, None, None, None) => {
                let points = grid()?.iter().map(|point| at_point(base, point)).collect::<Result<Vec<_>>>()?;
                let known = clickvec_eval::ranker::System::named(&base.name, &crate::SYSTEMS)?;
                for point in &points {
                    known.values(point)?;
                }
                Source::Ranker(points)
            }
            (None, Some(train), None, None, None) => {
                let mut base = Overrides::default();
                for (name, value) in train {
                    base.set(name, json(value));
                }
                let init = system.init.as_deref().map(Model::load).transpose()?;
                let training = |point: &Vec<(String, toml::Value)>| {
                    let mut settings = base.clone();
                    for (name, value) in point {
                        settings.set(name, json(value));
                    }
                    self.training(system, &settings, init.as_ref())
                };
                Source::Model(grid()?.iter().map(training).collect::<Result<_>>()?)
            }
            (None, None, Some(model), None, None) => Source::File(model.clone()),
            (None, None, None, None, Some(run)) => Source::Run(run.clone()),
            (None, None, None, Some(members), None) => {
                let known = |name: &String| {
                    let above = &self.systems[..position];
                    above.iter().position(|other| other.name == *name).ok_or_else(|| {
                        setting(format!("expected the name of a system above it, found `{}`", shortened(name)))
                    })
                };
                let mut distinct = HashSet::new();
                if let Some(again) = members.iter().find(|member| !distinct.insert(*member)) {
                    return Err(setting(format!(
                        "expected each member once, found `{}` again; leave one out",
                        shortened(again)
                    )));
                }
                if members.len() <= 1 {
                    return Err(setting(format!("expected at least two members, found {}", members.len())));
                }
                let methods = match system.method {
                    Some(method) => vec![method],
                    None => {
                        vec![
                            FusionMethod::MinMax,
                            FusionMethod::ZScore,
                            FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
                        ]
                    }
                };
                Source::Fusion { members: members.iter().map(known).collect::<Result<_>>()?, methods }
            }
            _ => {
                let sources = [
                    ("`ranker`", system.ranker.is_some()),
                    ("`train`", system.train.is_some()),
                    ("`model`", system.model.is_some()),
                    ("`run`", system.run.is_some()),
                    ("`fusion`", system.fusion.is_some()),
                ];
                let found: Vec<&str> = sources.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
                return Err(setting(format!(
                    "expected one of `ranker`, `train`, `model`, `run` and `fusion`, found {found}"
                )));
            }
        })
    }
}

/// Returns a value of TOML as one of JSON.
fn json(value: &toml::Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns every combination of the grid's values; a single empty one if there are no values.
fn grid(values: &BTreeMap<String, Vec<toml::Value>>) -> Result<Vec<Vec<(String, toml::Value)>>> {
    let mut points = vec![Vec::new()];
    for (name, values) in values {
        if values.is_empty() {
            return Err(setting(format!("expected values for `{}`, found none", shortened(name))));
        }
        let with = |point: &Vec<(String, toml::Value)>, value: &toml::Value| {
            let mut point = point.clone();
            point.push((name.clone(), value.clone()));
            point
        };
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    Ok(points)
}

fn at_point(base: &RankerSpec, point: &[(String, toml::Value)]) -> Result<RankerSpec> {
    let mut spec = base.clone();
    for (name, value) in point {
        let number = match value {
            toml::Value::Integer(number) => *number as f64,
            toml::Value::Float(number) => *number,
            other => {
                return Err(setting(format!(
                    "expected numbers for `{}`, found `{}`",
                    shortened(name),
                    shortened(&other.to_string())
                )));
            }
        };
        if spec.get(name).is_some() {
            return Err(setting(format!("expected `{}` in `ranker` or in `grid`, found it in both", shortened(name))));
        }
        spec.parameters.push((name.clone(), number));
    }
    Ok(spec)
}
