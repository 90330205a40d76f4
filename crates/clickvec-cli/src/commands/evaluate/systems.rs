//! From names on the command line to systems that rank.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::clicks::{ClickReader, Weighting};
use clickvec::eval::Judgments;
use clickvec::model::Model;
use clickvec::ranker::{Bm25, Bm25Parameters, Neural, Ranker, RankerSpec};

use crate::{input, output};

/// The systems that were asked for: rankers first, as what the models are compared with.
pub(super) struct Wanted<'a> {
    systems: Vec<System<'a>>,
}

/// A system that is not loaded yet.
pub(super) struct System<'a> {
    name: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Bm25(Bm25Parameters),
    Model(&'a Path),
}

impl<'a> Wanted<'a> {
    /// Checks names and parameters before anything is read.
    pub(super) fn parse(rankers: &[String], models: &'a [PathBuf]) -> Result<Wanted<'a>> {
        if rankers.is_empty() && models.is_empty() {
            bail!("expected a system to judge, found none; add `--model MODEL` or `--ranker bm25`");
        }
        let mut systems = Vec::with_capacity(rankers.len() + models.len());
        for text in rankers {
            let spec: RankerSpec = text.parse().map_err(clickvec::Error::from)?;
            let kind = match spec.name.as_str() {
                "bm25" => Kind::Bm25(Bm25Parameters::from_spec(&spec).map_err(clickvec::Error::from)?),
                other => bail!("expected the ranker `bm25`, found `{}`", output::printable(other)),
            };
            systems.push(System { name: spec.to_string(), kind });
        }
        let taken: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
        let names = names_of(models, &taken);
        systems.extend(names.into_iter().zip(models).map(|(name, path)| System { name, kind: Kind::Model(path) }));
        refuse_repeated(systems.iter().map(|system| system.name.as_str()))?;
        Ok(Wanted { systems })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.systems.len()
    }

    /// All of them, in the order of the report.
    pub(super) fn systems(&self) -> &[System<'a>] {
        &self.systems
    }

    /// The titles whose statistics the rankers need; none if no ranker needs any.
    pub(super) fn collection(
        &self,
        titles: Option<&Path>,
        clicks: Option<&Path>,
        judgments: &Judgments,
    ) -> Result<Vec<String>> {
        if !self.systems.iter().any(|system| matches!(system.kind, Kind::Bm25(_))) {
            return Ok(Vec::new());
        }
        if let Some(path) = titles {
            return Ok(input::titles(path)?.into_iter().map(|title| title.title).collect());
        }
        let mut distinct: HashSet<String> =
            judgments.queries.iter().flat_map(|query| &query.titles).map(|title| title.text.clone()).collect();
        if let Some(path) = clicks {
            add_clicked(path, &mut distinct)?;
        }
        let files = if clicks.is_some() { "--clicks and --judged" } else { "--judged" };
        output::note(format_args!(
            "bm25: collection statistics are those of the {} in {files}; name the whole collection with --titles",
            output::counted(distinct.len() as u64, "distinct title"),
        ));
        Ok(distinct.into_iter().collect())
    }
}

impl System<'_> {
    /// Loads a model, or counts what a ranker needs of the collection.
    pub(super) fn load(&self, collection: &[String]) -> Result<Box<dyn Ranker>> {
        Ok(match &self.kind {
            Kind::Bm25(parameters) => {
                let ranker = Bm25::new(collection.iter().map(String::as_str), *parameters);
                Box::new(Named { name: self.name.clone(), ranker })
            }
            Kind::Model(path) => Box::new(Neural::new(self.name.clone(), Model::load(path)?)),
        })
    }
}

/// A ranker under the name that it was asked for by, parameters and all.
struct Named<R> {
    name: String,
    ranker: R,
}

impl<R: Ranker> Ranker for Named<R> {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        self.ranker.score(query, titles)
    }
}

/// What files are called in the report: their stems, or their paths where a stem is taken or would name two.
pub(super) fn names_of(paths: &[PathBuf], taken: &[&str]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_free =
        |name: &String| stems.iter().filter(|other| *other == name).count() == 1 && !taken.contains(&name.as_str());
    let named = paths.iter().zip(&stems);
    named.map(|(path, stem)| if is_free(stem) { stem.clone() } else { path.display().to_string() }).collect()
}

/// Refuses two systems of one name: the report could not tell them apart.
pub(super) fn refuse_repeated<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<()> {
    let mut distinct = HashSet::new();
    match names.into_iter().find(|name| !distinct.insert(*name)) {
        None => Ok(()),
        Some(twice) => bail!("expected each system once, found `{}` again", output::printable(twice)),
    }
}

fn add_clicked(path: &Path, titles: &mut HashSet<String>) -> Result<()> {
    let mut reader = ClickReader::open(path, Weighting::None)?;
    while let Some(click) = reader.next()? {
        if !titles.contains(click.title) {
            titles.insert(click.title.to_owned());
        }
    }
    input::note_skipped(path, reader.skipped());
    Ok(())
}
