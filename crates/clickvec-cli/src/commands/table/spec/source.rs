//! Where the scores of a system come from: its ranker, training, model, run or members.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, bail, ensure};
use clickvec::internals::error::shortened;
use clickvec_eval::ranker::RankerSpec;
use clickvec_lab::table::Source;

use super::{LearntTitles, Method, Paths, RowSpec, Spec};
use crate::commands::train;

impl RowSpec {
    /// Whether it is this ranker.
    fn is_ranker(&self, name: &str) -> bool {
        self.ranker.as_ref().is_some_and(|ranker| ranker.split(':').next() == Some(name))
    }
}

impl Spec {
    /// Refuses settings that would have no effect.
    fn refuse_idle(&self, system: &RowSpec) -> Result<()> {
        let reads = |name: &str| system.is_ranker(name);
        let idle = [
            (
                "grid",
                !system.grid.is_empty() && system.ranker.is_none() && system.train.is_none(),
                "`ranker` or `train`",
            ),
            ("method", system.method.is_some() && system.fusion.is_none(), "`fusion`"),
            ("load", system.load.is_some() && !reads("skip-thought"), "`ranker = \"skip-thought\"`"),
            ("vectors", system.vectors.is_some() && !reads("vectors"), "`ranker = \"vectors\"`"),
            ("titles", system.titles.is_some() && system.train.is_none(), "`train`"),
            ("init", system.init.is_some() && system.train.is_none(), "`train`"),
            ("teacher", system.teacher.is_some() && system.train.is_none(), "`train`"),
            ("members", system.members.is_some() && system.train.is_none(), "`train`"),
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
            Some((name, _, wants)) => bail!("expected `{name}` only with {wants}; leave it out"),
        }
    }

    /// The options of `train` for the files and the members of a system.
    fn learnt_from(&self, system: &RowSpec) -> Result<Vec<String>> {
        let titles = match &system.titles {
            None | Some(LearntTitles::OfTable(false)) => &[],
            Some(LearntTitles::OfTable(true)) => match &self.data.titles {
                Some(titles) => std::slice::from_ref(titles),
                None => bail!("expected titles of the table for `titles = true`, found none; name them in `[data]`"),
            },
            Some(LearntTitles::Files(files)) => files.list(),
        };
        let teacher = system.teacher.as_ref().map_or(&[][..], Paths::list);
        let files = titles.iter().map(|path| ("--titles", path));
        let files = files.chain(system.init.iter().map(|path| ("--init", path)));
        let files = files.chain(teacher.iter().map(|path| ("--teacher", path)));
        let mut options = Vec::new();
        for (option, path) in files {
            let Some(path) = path.to_str() else {
                bail!("expected a path in UTF-8 for `{option}`, found `{}`", path.display())
            };
            options.extend([option.to_owned(), path.to_owned()]);
        }
        options.extend(system.members.iter().flat_map(|members| ["--members".to_owned(), members.to_string()]));
        Ok(options)
    }

    pub(super) fn source_of(&self, system: &RowSpec, place: usize) -> Result<Source> {
        let grid = || grid(&system.grid);
        self.refuse_idle(system)?;
        let vectors = system.vectors.as_ref().map_or(&[][..], Paths::list);
        ensure!(vectors.len() < 3, "expected one or two files in `vectors`, found {}", vectors.len());
        Ok(match (&system.ranker, &system.train, &system.model, &system.fusion, &system.run) {
            (Some(ranker), None, None, None, None) => {
                let base: RankerSpec = ranker.parse().map_err(clickvec::Error::from)?;
                let points = grid()?.iter().map(|point| at_point(&base, point)).collect::<Result<Vec<_>>>()?;
                let known = clickvec_eval::ranker::System::named(&base.name, &clickvec_lab::SYSTEMS)
                    .map_err(clickvec::Error::from)?;
                for point in &points {
                    known.values(point).map_err(clickvec::Error::from)?;
                }
                Source::Ranker { points, load: system.load.clone(), vectors: vectors.to_vec() }
            }
            (None, Some(train), None, None, None) => {
                let base = [train.list(), self.learnt_from(system)?].concat();
                let arguments = |point: &Vec<(String, toml::Value)>| {
                    let options = point.iter().map(|(name, value)| format!("--{name}={}", shown(value)));
                    base.iter().cloned().chain(options).collect()
                };
                let points: Vec<Vec<String>> = grid()?.iter().map(arguments).collect();
                Source::Model(points.iter().map(|point| train::planned(point)).collect::<Result<_>>()?)
            }
            (None, None, Some(model), None, None) => Source::File(model.clone()),
            (None, None, None, None, Some(run)) => Source::Run(run.clone()),
            (None, None, None, Some(members), None) => {
                let known = |name: &String| {
                    let above = &self.systems[..place];
                    above
                        .iter()
                        .position(|other| other.name == *name)
                        .with_context(|| format!("expected the name of a system above it, found `{}`", shortened(name)))
                };
                let mut distinct = HashSet::new();
                if let Some(again) = members.iter().find(|member| !distinct.insert(*member)) {
                    bail!("expected each member once, found `{}` again; leave one out", shortened(again));
                }
                ensure!(members.len() > 1, "expected at least two members, found {}", members.len());
                let methods = match system.method {
                    Some(method) => vec![method.fusion()],
                    None => [Method::MinMax, Method::ZScore, Method::ReciprocalRank].map(Method::fusion).to_vec(),
                };
                Source::Fusion { members: members.iter().map(known).collect::<Result<_>>()?, methods }
            }
            _ => {
                let given = [
                    ("`ranker`", system.ranker.is_some()),
                    ("`train`", system.train.is_some()),
                    ("`model`", system.model.is_some()),
                    ("`run`", system.run.is_some()),
                    ("`fusion`", system.fusion.is_some()),
                ];
                let found: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
                bail!("expected one of `ranker`, `train`, `model`, `run` and `fusion`, found {found}")
            }
        })
    }
}

/// Every combination of the grid's values; a single empty one if there are no values.
fn grid(values: &BTreeMap<String, Vec<toml::Value>>) -> Result<Vec<Vec<(String, toml::Value)>>> {
    let mut points = vec![Vec::new()];
    for (name, values) in values {
        ensure!(!values.is_empty(), "expected values for `{}`, found none", shortened(name));
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
            other => bail!("expected numbers for `{}`, found `{}`", shortened(name), shortened(&other.to_string())),
        };
        ensure!(spec.get(name).is_none(), "expected `{}` in `ranker` or in `grid`, found it in both", shortened(name));
        spec.parameters.push((name.clone(), number));
    }
    Ok(spec)
}

/// A value as text for an option.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
