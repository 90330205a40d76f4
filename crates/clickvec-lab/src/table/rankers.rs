//! Rows that are rankers.

use clickvec::tables::Titles;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::maker::{Maker, Points, Refused, named, timed};
use super::memory::PeakMemory;
use super::{Event, TrainingFacts, Watch, tell};
use crate::systems::SYSTEMS;
use clickvec::internals::vector_file::texts_path;
use clickvec_eval::internals::load_ranker;
use clickvec_eval::ranker::{Ranker, RankerSpec, Resources, Stage, System, SystemRanker, Values, VectorCoverage};
use clickvec_eval::{CorpusFiles, read_corpus};
use clickvec_tables::Result;

/// The files that a ranker depends on.
struct Inputs<'p> {
    /// The files of its [`RankerSpec`].
    spec: &'p [(String, PathBuf)],
    /// All of them.
    all: &'p [(&'p str, Option<&'p Path>)],
}

impl Maker<'_> {
    pub(super) fn rankers(
        &mut self,
        row: &str,
        specs: &[RankerSpec],
        seeds: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Points, Fault> {
        let first = &specs[0];
        let system = System::named(&first.name, &SYSTEMS)?;
        let mut specs: Vec<(RankerSpec, Values)> =
            specs.iter().map(|spec| Ok((spec.clone(), system.values(spec)?))).collect::<Result<_>>()?;
        // Sort points with the same training next to each other.
        let training = |values: &Values| -> Vec<u64> {
            let of = values.iter().filter(|(parameter, _)| parameter.stage == Stage::Training);
            of.map(|(_, value)| value.to_bits()).collect()
        };
        specs.sort_by_key(|(_, values)| training(values));
        let data = self.data().clone();
        let own = &first.files;
        // Vectors of texts come with a file of the texts.
        let texts = own.iter().map(|(_, path)| texts_path(path)).filter(|texts| texts.exists());
        let texts: Vec<PathBuf> = texts.collect();
        let (judged, titles) = (data.judged_files(), self.titles.clone());
        let learnt = [("clicks", data.clicks.as_deref()), ("titles", titles.as_deref())];
        let files = named("judged", &judged).chain(learnt).chain(named("texts", &texts));
        let files: Vec<_> = files.chain(own.iter().map(|(name, path)| (name.as_str(), Some(path.as_path())))).collect();
        let inputs = Inputs { spec: own, all: &files };
        let (mut points, mut refused) = (vec![Vec::new(); specs.len()], Refused::default());
        let mut has_told = false;
        // The current ranker, with the name of its training.
        let mut trained: Option<(String, Option<Box<dyn SystemRanker>>)> = None;
        // Points with the same training are next to each other for each seed.
        let all = (0..seeds).flat_map(|seed| (0..specs.len()).map(move |position| (seed, position)));
        for (seed, position) in all {
            // Without the point of an earlier seed, that of this one is of no use.
            if points[position].len() < seed {
                continue;
            }
            let (spec, values) = &specs[position];
            let values = &if seed == 0 { values.clone() } else { values.reseeded(seed as u32) };
            let assigned = |stage: Option<Stage>| -> Vec<String> {
                let of = values.iter().filter(|(parameter, _)| stage.is_none_or(|stage| parameter.stage == stage));
                let named = of.map(|(parameter, value)| format!("{}={value}", parameter.name));
                std::iter::once(system.name.to_owned()).chain(named).collect()
            };
            let [scores, training] = [assigned(None), assigned(Some(Stage::Training))];
            let weighting = format!("weighting {:?}", data.weighting);
            let parts =
                |of: &[String]| -> Vec<String> { [&data.field, &weighting].into_iter().chain(of).cloned().collect() };
            let (scores, training) = (parts(&scores), parts(&training));
            let scores = self.scores_key(&files, &scores.iter().map(String::as_str).collect::<Vec<_>>())?;
            let key = self.cache.key(&files, &training.iter().map(String::as_str).collect::<Vec<_>>())?;
            let training = format!("{}-{key}", system.name);
            if let Some(point) = self.finished(&scores) {
                // The texts that its vectors lack are reported for a stored row too.
                if !std::mem::replace(&mut has_told, true) && !own.is_empty() {
                    let ranker = self.load_or_train(&training, system, values, &inputs, watch)?;
                    self.tell_coverage(row, ranker.as_ref(), watch)?;
                }
                points[position].push(point);
                continue;
            }
            if trained.as_ref().is_none_or(|(key, _)| *key != training) {
                let ranker = refused.or(self.load_or_train(&training, system, values, &inputs, watch))?;
                trained = Some((training.clone(), ranker));
            }
            let Some((_, Some(ranker))) = &mut trained else { continue };
            ranker.tune(values);
            // A ranker that has none of the texts is left out, whatever its parameters.
            if !std::mem::replace(&mut has_told, true) {
                self.tell_coverage(row, ranker.as_ref(), watch)?;
            }
            points[position].push(self.point(&scores, &training, spec.to_string(), ranker.as_ref())?);
        }
        points.retain(|runs| runs.len() == seeds);
        refused.points(row, points, watch)
    }

    /// Reports the judged texts that a table of vectors lacks.
    fn tell_coverage(&self, row: &str, ranker: &dyn Ranker, watch: &mut Watch<'_>) -> Result<(), Fault> {
        let queries = || self.judgments.queries.iter();
        let titles = queries().flat_map(|query| &query.titles).map(|title| title.text.as_str());
        let found = VectorCoverage::count(ranker, queries().map(|query| query.text.as_str()), titles);
        if let Some(coverage) = found.map_err(Fault::from_training)? {
            tell(watch, Event::VectorCoverage { row, coverage })?;
        }
        Ok(())
    }

    fn load_or_train(
        &mut self,
        key: &str,
        system: &'static System,
        values: &Values,
        inputs: &Inputs<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Box<dyn SystemRanker>, Fault> {
        if let Some((_, _, ranker)) = self.cache.load(key, |path| load_ranker(path, &SYSTEMS))? {
            return Ok(ranker);
        }
        self.tell_damaged(watch)?;
        if self.corpus.is_none() {
            let data = self.data();
            let (titles, clicks) = (self.titles.as_ref().map(Titles::from), data.clicks.as_deref());
            let read = read_corpus(
                &CorpusFiles { titles, clicks, field: &data.field, weighting: data.weighting },
                Some(self.judgments),
            )?;
            tell(watch, Event::Corpus(&read))?;
            self.corpus = Some(read.corpus);
        }
        let Some(corpus) = &self.corpus else { unreachable!("read above") };
        let resources = Resources { corpus, files: inputs.spec };
        let memory = PeakMemory::begin();
        let mut cancelled = false;
        let (ranker, seconds) = timed(|| {
            system.train(values, &resources, &mut |progress| {
                cancelled |= watch(Event::Step { system: system.name, progress }).is_break();
            })
        });
        let ranker = ranker.map_err(Fault::from_training)?;
        let peak_bytes = memory.as_ref().map(PeakMemory::gained);
        self.cache.refuse_changed(inputs.all)?;
        let path = self.cache.model(key);
        system.save(&path, values, ranker.as_ref())?;
        let training = TrainingFacts { seconds, peak_bytes, ..TrainingFacts::default() };
        self.cache.finish_training(key, training)?;
        if cancelled { Err(clickvec_tables::Error::interrupted().into()) } else { Ok(ranker) }
    }
}
