//! From names on the command line to systems that rank.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::ranker::stored::{self, Named, Stored};
use clickvec::ranker::{Ranker, RankerSpec, Resources, System, Values, file};

use super::fusion::MethodFlag;
use super::trec;
use crate::{input, output, progress};

/// A system that is not loaded yet.
pub(super) struct Wanted {
    /// What the report calls it.
    pub(super) name: String,
    kind: Kind,
}

enum Kind {
    Ranker { system: &'static System, values: Values },
    File { path: PathBuf, is_fusion: bool },
}

/// Names and parameters of the systems, checked before anything is read: rankers first, as what the models are compared
/// with.
pub(super) fn parse(rankers: &[String], models: &[PathBuf], fusions: &[MethodFlag]) -> Result<Vec<Wanted>> {
    if rankers.is_empty() && models.is_empty() {
        bail!("expected a system to judge, found none; add `--model MODEL` or `--ranker bm25`");
    }
    let mut wanted = Vec::with_capacity(rankers.len() + models.len());
    for text in rankers {
        let spec: RankerSpec = text.parse().map_err(clickvec::Error::from)?;
        let system = System::named(&spec.name).map_err(clickvec::Error::from)?;
        let values = system.values(&spec).map_err(clickvec::Error::from)?;
        wanted.push(Wanted { name: spec.to_string(), kind: Kind::Ranker { system, values } });
    }
    let taken: Vec<&str> = wanted.iter().map(|system| system.name.as_str()).collect();
    let names = names_of(models, &taken);
    for (name, path) in names.into_iter().zip(models) {
        let is_fusion = stored::kind(path)? == stored::Kind::Fusion;
        wanted.push(Wanted { name, kind: Kind::File { path: path.clone(), is_fusion } });
    }
    let fusions: Vec<String> = fusions.iter().map(|flag| flag.name()).collect();
    refuse_repeated(wanted.iter().map(|system| &system.name).chain(&fusions).map(String::as_str))?;
    for (place, system) in wanted.iter().enumerate() {
        if let Some(first) = wanted[..place].iter().find(|first| first.is_same(system)) {
            bail!(again(&system.name, &first.name));
        }
    }
    Ok(wanted)
}

impl Wanted {
    /// Whether another, whatever it is called, would say the same: a ranker whose parameters have the same values, given or
    /// not, or the same file.
    fn is_same(&self, other: &Wanted) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Ranker { system, values }, Kind::Ranker { system: other, values: others }) => {
                system.name == other.name && values == others
            }
            (Kind::File { path, .. }, Kind::File { path: other, .. }) => input::same_file(path, other),
            _ => false,
        }
    }

    /// Whether it learns from titles and clicks.
    pub(super) fn learns(&self) -> bool {
        matches!(self.kind, Kind::Ranker { .. })
    }

    /// The file it is read from.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File { path, .. } => Some(path),
            Kind::Ranker { .. } => None,
        }
    }

    /// Whether it is a fusion already, which is judged but not fused again.
    pub(super) fn is_fusion(&self) -> bool {
        matches!(self.kind, Kind::File { is_fusion: true, .. })
    }

    /// Trains a ranker, which is saved in `folder` if there is one, or loads a model or a ranker from its file.
    pub(super) fn load(&self, resources: &Resources<'_>, folder: Option<&Path>) -> Result<Box<dyn Ranker>> {
        match &self.kind {
            Kind::Ranker { system, values } => {
                let bar = progress::bar(1, &output::printable(&self.name), "steps");
                let ranker = system.train(values, resources, &mut |progress| {
                    bar.set_length(progress.of);
                    bar.set_position(progress.done);
                })?;
                bar.finish_and_clear();
                if let Some(folder) = folder {
                    file::save(&folder.join(file_of(&self.name)), system, values, ranker.as_ref())?;
                }
                Ok(Box::new(Named::new(self.name.clone(), ranker)))
            }
            Kind::File { path, .. } => Ok(Stored::load(path)?.named(self.name.clone())),
        }
    }
}

/// What the folder of `--save-rankers` calls a system.
pub(super) fn file_of(name: &str) -> String {
    format!("{}.safetensors", trec::file_name(name))
}

/// Refuses to write one file of `--save-rankers` for two systems, or over a model that is read.
pub(super) fn refuse_lost_files(folder: &Path, wanted: &[Wanted], fusions: &[MethodFlag]) -> Result<()> {
    let copied = |system: &&Wanted| system.learns() || (!fusions.is_empty() && !system.is_fusion());
    let saved = wanted.iter().filter(copied).map(|system| (system.name.clone(), system.file()));
    let mut distinct = HashSet::new();
    for (name, from) in saved.chain(fusions.iter().map(|flag| (flag.name(), None))) {
        let file = file_of(&name);
        let path = folder.join(&file);
        let read = wanted.iter().filter_map(Wanted::file).find(|&read| input::same_file(read, &path));
        if read.is_some() && read != from {
            bail!(
                "expected files of their own in `{}`, found `{file}`, which is read; name another folder",
                folder.display()
            );
        }
        if !distinct.insert(file.clone()) {
            bail!("expected systems with names of their own, found `{file}` twice; rename a model's file");
        }
    }
    Ok(())
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

/// That one system was named twice, in two ways.
pub(super) fn again(name: &str, first: &str) -> String {
    let [name, first] = [name, first].map(output::printable);
    format!("expected each system once, found `{name}`, which is `{first}` again; leave one of them out")
}
