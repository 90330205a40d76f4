//! TREC qrels and runs, for trec_eval and similar tools.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clickvec::eval::trec::{
    Qrel, RunLine, read_qrels, read_run, write_qrels as write_qrel_lines, write_run, write_run_lines,
};
use clickvec::eval::{
    EvaluateOptions, Evaluation, FullQuery, JudgedQuery, JudgedTitle, Judgments, Metrics, QueryMetrics, Ranking,
    Scored, Scores,
};
use clickvec::index::Hit;
use clickvec::internals::files;
use clickvec::tables::Title;

use super::Results;
use super::systems::{again, names_of, refuse_repeated};
use crate::{input, output};

/// Writes judgments as qrels.
pub(super) fn write_qrels(path: &Path, judgments: &Judgments) -> Result<()> {
    let qrels: Vec<Qrel> = judged_pairs(judgments)
        .map(|(query, title)| Qrel { query_id: query.id.clone(), title_id: title.id.clone(), grade: title.grade })
        .collect();
    Ok(files::write_atomically(path, |file| write_qrel_lines(file, path, &qrels))?)
}

fn judged_pairs(judgments: &Judgments) -> impl Iterator<Item = (&JudgedQuery, &JudgedTitle)> {
    judgments.queries.iter().flat_map(|query| query.titles.iter().map(move |title| (query, title)))
}

/// A folder that gets one run for each system.
pub(super) struct RunFolder<'a> {
    folder: PathBuf,
    judgments: &'a Judgments,
}

/// The files that `--run-out` writes, one for each name.
pub(super) fn run_files(folder: &Path, names: impl Iterator<Item = String>) -> Result<Vec<PathBuf>> {
    let mut distinct = HashSet::new();
    let mut files = Vec::new();
    for name in names {
        let file = format!("{}.run", file_name(&name));
        if !distinct.insert(file.clone()) {
            bail!("expected a file for each system, found `{file}` for two; rename a model's file");
        }
        files.push(folder.join(file));
    }
    Ok(files)
}

impl<'a> RunFolder<'a> {
    /// The folder, which must exist.
    pub(super) fn new(folder: &Path, judgments: &'a Judgments) -> RunFolder<'a> {
        RunFolder { folder: folder.to_owned(), judgments }
    }

    /// Writes a system's ranking for every query. Ties are in the order of trec_eval. Titles that the system did not
    /// retrieve are left out.
    pub(super) fn write(&mut self, system: &str, scores: &Scores) -> Result<()> {
        let tag = file_name(system);
        let mut lines = Vec::new();
        for (query, scores) in self.judgments.queries.iter().zip(scores) {
            let mut ranked: Vec<(f64, &str)> =
                scores.iter().copied().zip(query.titles.iter().map(|title| title.id.as_str())).collect();
            ranked.retain(|(score, _)| *score > f64::NEG_INFINITY);
            ranked.sort_by(|(a, a_id), (b, b_id)| b.total_cmp(a).then(b_id.cmp(a_id)));
            lines.extend(ranked.into_iter().zip(1..).map(|((score, id), rank)| RunLine {
                query_id: query.id.clone(),
                title_id: id.to_owned(),
                rank,
                score,
            }));
        }
        let path = self.folder.join(format!("{tag}.run"));
        Ok(files::write_atomically(&path, |file| write_run(file, &path, &tag, &lines))?)
    }
}

/// A run that is written query by query. The file appears once it is complete.
pub(super) struct RunWriter {
    path: PathBuf,
    tag: String,
    pending: files::Pending,
    lines: u64,
}

impl RunWriter {
    /// Starts a run of the system `name` in `folder`, which must exist.
    pub(super) fn new(folder: &Path, name: &str) -> Result<RunWriter> {
        let tag = file_name(name);
        let path = folder.join(format!("{tag}.run"));
        Ok(RunWriter { pending: files::Pending::new(&path)?, path, tag, lines: 0 })
    }

    /// Adds the titles found for these queries, with ties in the order of trec_eval.
    pub(super) fn add(&mut self, queries: &[FullQuery], lists: &[Vec<Hit>], titles: &[Title]) -> Result<()> {
        for (query, hits) in queries.iter().zip(lists) {
            let id = |hit: &Hit| titles[hit.position as usize].id.as_str();
            let mut hits = hits.clone();
            hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| id(b).cmp(id(a))));
            let line = |(rank, hit): (u64, &Hit)| RunLine {
                query_id: query.id.clone(),
                title_id: id(hit).to_owned(),
                rank,
                score: f64::from(hit.score),
            };
            let lines: Vec<RunLine> = (1..).zip(&hits).map(line).collect();
            write_run_lines(self.pending.writer(), &self.path, &self.tag, self.lines + 1, &lines)?;
            self.lines += lines.len() as u64;
        }
        Ok(())
    }

    /// Puts the run in its place.
    pub(super) fn finish(self) -> Result<()> {
        Ok(self.pending.seal()?.publish()?)
    }
}

/// A system's name as a file name and the tag of a run, without white space and path separators.
pub(super) fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '=' | ',');
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Evaluates runs with qrels, like `trec_eval -c`: a query that a run lacks scores 0, and a title without a judgment has
/// grade 0.
pub(super) fn evaluate_runs(qrels: &Path, runs: &[PathBuf], options: &EvaluateOptions) -> Result<Results> {
    let judged = judged_by_query(read_qrels(files::open(qrels)?, qrels)?);
    if judged.is_empty() {
        bail!("{}: expected lines `query 0 title grade`, found none", qrels.display());
    }
    let mut evaluations = Vec::with_capacity(runs.len());
    let names = names_of(runs, &[]);
    refuse_repeated(names.iter().map(String::as_str))?;
    for (place, run) in runs.iter().enumerate() {
        if let Some(first) = runs[..place].iter().position(|first| input::same_file(first, run)) {
            bail!(again(&names[place], &names[first]));
        }
    }
    for (name, path) in names.into_iter().zip(runs) {
        let run = read_run(files::open(path)?, path)?;
        evaluations.push(evaluate_run(name, path, &run, &judged, options));
    }
    let queries = judged.into_iter().map(|query| query.id).collect();
    Ok(Results { evaluations, fused: Vec::new(), queries, is_whole: true, left_out: Vec::new(), overlap: None })
}

struct Judged {
    id: String,
    grades: HashMap<String, u8>,
}

/// Queries in the order of first appearance.
fn judged_by_query(qrels: Vec<Qrel>) -> Vec<Judged> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut judged: Vec<Judged> = Vec::new();
    for Qrel { query_id, title_id, grade } in qrels {
        let place = *places.entry(query_id).or_insert_with_key(|id| {
            judged.push(Judged { id: id.clone(), grades: HashMap::new() });
            judged.len() - 1
        });
        judged[place].grades.insert(title_id, grade);
    }
    judged
}

fn evaluate_run(
    name: String,
    path: &Path,
    run: &[RunLine],
    judged: &[Judged],
    options: &EvaluateOptions,
) -> Evaluation {
    let mut by_query: HashMap<&str, Vec<&RunLine>> = HashMap::new();
    for line in run {
        by_query.entry(&line.query_id).or_default().push(line);
    }
    let (mut queries, mut queries_without_relevant, mut missing) = (Vec::with_capacity(judged.len()), 0, 0);
    for query in judged {
        let lines = by_query.remove(query.id.as_str()).unwrap_or_default();
        missing += u64::from(lines.is_empty());
        let grade = |id: &str| query.grades.get(id).copied().unwrap_or(0);
        let scored =
            lines.iter().map(|line| Scored { id: &line.title_id, score: line.score, grade: grade(&line.title_id) });
        let ranking = Ranking::new(scored.collect(), query.grades.values().copied().collect(), options.ties);
        queries_without_relevant += usize::from(ranking.nothing_relevant());
        queries.push(QueryMetrics { id: query.id.clone(), metrics: Metrics::of(&ranking, options) });
    }
    let path = path.display();
    if missing > 0 {
        let score = output::agreeing(missing, "scores", "score");
        let missing = output::counted(missing, "judged query");
        output::note(format_args!("{path}: lacks {missing}, which {score} 0"));
    }
    if !by_query.is_empty() {
        let unknown = output::counted(by_query.len() as u64, "query");
        output::note(format_args!("{path}: left out {unknown} without judgments"));
    }
    let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
    Evaluation { name, queries, mean, queries_without_relevant }
}
