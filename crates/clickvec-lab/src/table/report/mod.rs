//! The table as text, Markdown, a page and JSON.

mod grades;
mod json;
mod page;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clickvec::tables::TITLE;
use clickvec::train::TrainConfig;
use clickvec_eval::{Correction, Metric, Overlap, Verdict, beaten};

use clickvec_report::numbers::{difference, probability};
use clickvec_report::report::{self, Cell, Column};
use clickvec_report::superscripts::{letter, marks};
use clickvec_tables::files::write_bytes_atomically;
use clickvec_tables::outputs::{self, Kind};
use clickvec_tables::shown::{count, counted, printable, shown};
use clickvec_tables::{Error, ErrorKind, Result};

use self::grades::{FirstGrades, ranks};
use super::spec::Spec;
use super::{Full, Judged, PairComparison, Plan, Row, Source, Statistics, Table};

/// The endings of the forms of a written table.
const MARKDOWN: &str = "md";
const PAGE: &str = "html";

/// A finished table with what its reports need.
pub struct Report<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The plan of the table.
    pub plan: &'a Plan,
    /// The table.
    pub table: &'a Table,
    /// Its statistics.
    pub statistics: Statistics,
    /// The correction that marks are based on.
    pub correction: Correction,
    /// The overlap of the judged queries with the click log, if there is one.
    pub overlap: Option<Overlap>,
}

/// Checks before hours of work that each output can be written, has a form, and is not an input.
///
/// # Errors
///
/// Those of [`outputs::check`] and [`outputs::refuse_other`]; [`ErrorKind::Setting`] for another ending.
pub fn check_outputs(outputs: &[PathBuf], spec: Option<&Path>, plan: &Plan) -> Result<()> {
    let mut read = plan.files();
    read.extend(spec.map(Path::to_owned).into_iter().chain([plan.data.judged.clone()]));
    outputs::check(outputs, &read)?;
    for path in outputs {
        let kind = match path.extension().and_then(OsStr::to_str) {
            Some(PAGE) => Kind::Page,
            Some(MARKDOWN) => Kind::Markdown,
            _ => {
                let expected = format!("a name that ends in `.{MARKDOWN}` or `.{PAGE}`");
                let found = format!("`{}`", shown(path));
                let error = Error::expected(ErrorKind::Setting, expected, found);
                return Err(error.help("name another `output`").settings(&["output"]));
            }
        };
        outputs::refuse_other(path, kind)?;
    }
    Ok(())
}

impl Report<'_> {
    /// Writes the table to a file, as a page or as Markdown, as its ending says.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(&self, path: &Path) -> Result<()> {
        let is_page = path.extension().is_some_and(|ending| ending == PAGE);
        let text = if is_page { self.page() } else { self.markdown() };
        write_bytes_atomically(path, text.as_bytes())
    }

    /// Returns the rows that were judged, with their positions among the evaluations.
    fn judged(&self) -> impl Iterator<Item = (usize, &Row, &Judged)> {
        let judged = self.table.rows.iter().filter_map(|row| row.outcome.as_ref().ok().map(|judged| (row, judged)));
        judged.enumerate().map(|(position, (row, judged))| (position, row, judged))
    }

    /// Returns the rows that train a model, with the settings of the point that the first fold was judged with, and the loss of
    /// each epoch for each seed.
    fn trained(&self) -> impl Iterator<Item = (&Row, &TrainConfig, Vec<&[f64]>)> {
        self.table.rows.iter().zip(&self.plan.entries).filter_map(|(row, entry)| {
            let (Ok(judged), Source::Model(trainings)) = (&row.outcome, &entry.source) else { return None };
            let &position = judged.chosen.first()?;
            let point = &judged.points[position];
            // By its label, because a point that could not be trained is not among those of the row.
            let training = trainings.iter().find(|training| training.label == point.parameters)?;
            let seeds = std::iter::once(point).chain(&judged.others[position]);
            Some((row, &training.config, seeds.map(|point| &point.training.losses[..]).collect()))
        })
    }

    /// Returns the grades of the first titles of all systems that were judged, with the first seed.
    fn first_grades(&self) -> FirstGrades {
        let queries = &self.table.judgments.queries;
        let best = queries.iter().flat_map(|query| &query.titles).map(|title| title.grade).max().unwrap_or(0);
        let judged: Vec<&Judged> = self.judged().map(|(_, _, judged)| judged).collect();
        let mut grades = FirstGrades::new(judged.len(), best);
        for (number, query) in queries.iter().enumerate() {
            let ranks: Vec<Vec<u32>> = judged.iter().map(|judged| ranks(&judged.scores[number])).collect();
            grades.add(&query.titles, &ranks);
        }
        grades
    }

    fn marks(&self, position: usize, metric: Metric) -> String {
        let Statistics { evaluations, tests, .. } = &self.statistics;
        marks(&beaten(position, metric, evaluations, tests, self.correction))
    }

    /// Returns the marks of a row that searches all titles.
    fn marks_of_all(&self, position: usize, metric: Metric) -> String {
        let Statistics { full, full_tests, .. } = &self.statistics;
        marks(&beaten(position, metric, full, full_tests, self.correction))
    }

    /// Returns the cells of the table, headings first.
    fn cells(&self) -> Vec<Vec<String>> {
        let papers = self.spec.systems.iter().any(|system| system.paper.is_some());
        let mut head: Vec<String> = ["", "system", "NDCG@1", "NDCG@3", "NDCG@10"].map(str::to_owned).to_vec();
        if self.table.searched.is_some() {
            head.extend(Full::METRICS.map(|metric| format!("all titles: {}", metric.heading())));
        }
        if papers {
            head.push("the paper's".to_owned());
        }
        let memory = self.judged().any(|(_, _, judged)| judged.peak_bytes().is_some());
        head.push("CPU time".to_owned());
        if memory {
            head.push("memory".to_owned());
        }
        head.push("size".to_owned());
        let weights = self.judged().any(|(_, _, judged)| judged.weights().is_some());
        if weights {
            head.push("weights".to_owned());
        }
        let mut cells = vec![head];
        let mut positions = 0;
        for (row, system) in self.table.rows.iter().zip(&self.spec.systems) {
            let name = printable(&row.name).into_owned();
            let paper = system.paper.map_or_else(String::new, with_like_decimals);
            let mut line = match &row.outcome {
                Ok(judged) => {
                    let position = positions;
                    positions += 1;
                    let mut line = vec![letter(position), name];
                    let mean = &judged.evaluation.mean;
                    let number = |metric| {
                        let spread = spread(judged.spread(metric));
                        format!("{:.3}{spread}{}", mean.get(metric), self.marks(position, metric))
                    };
                    line.extend(Metric::NDCG.map(number));
                    if let Some(full) = &judged.full {
                        line.extend(Full::METRICS.map(|metric| {
                            let spread = spread(full.spread(metric));
                            let mean = full.evaluation.mean.get(metric);
                            format!("{mean:.3}{spread}{}", self.marks_of_all(position, metric))
                        }));
                    }
                    line
                }
                Err(_) => vec![String::new(), name, "left out".to_owned(), String::new(), String::new()],
            };
            if self.table.searched.is_some() && row.outcome.is_err() {
                line.extend(Full::METRICS.map(|_| String::new()));
            }
            if papers {
                line.push(paper);
            }
            let judged = row.outcome.as_ref().ok();
            line.push(judged.map_or_else(String::new, |judged| seconds(judged.train_seconds())));
            if memory {
                line.push(judged.and_then(Judged::peak_bytes).map_or_else(String::new, bytes));
            }
            line.push(judged.map_or_else(String::new, |judged| bytes(judged.bytes())));
            if weights {
                line.push(judged.and_then(Judged::weights).map_or_else(String::new, count));
            }
            cells.push(line);
        }
        cells
    }

    /// Returns the notes below the table.
    fn notes(&self) -> Vec<String> {
        let queries = counted(self.table.judgments.queries.len() as u64, "query");
        let how = match self.correction {
            Correction::None => "not corrected for the number of tests",
            Correction::Holm => "corrected for all pairs by Holm's method",
        };
        let has_choice = self.judged().any(|(_, _, judged)| judged.points.len() > 1 || judged.by_fold);
        let chosen = match self.table.folds.count() {
            1 if !has_choice => "1 fold; no row has parameters or weights to choose".to_owned(),
            1 => "1 fold; parameters and weights are those that were best on these very queries, which flatters their rows"
                .to_owned(),
            folds => format!("{folds} folds; each fold judged with the parameters that were best on the others"),
        };
        let mut seeds: Vec<usize> = self.judged().map(|(_, _, judged)| judged.seeds.len()).collect();
        seeds.retain(|&seeds| seeds > 1);
        seeds.sort_unstable();
        seeds.dedup();
        let over = if seeds.is_empty() { "queries" } else { "queries and seeds" };
        let mut notes = vec![
            format!("{queries}, {chosen}"),
            format!("ᵃ: significantly better than system a (paired t-tests over {over}, p < 0.05, {how})"),
        ];
        if !seeds.is_empty() {
            let numbers: Vec<String> = seeds.iter().map(usize::to_string).collect();
            notes.push(format!("±: standard deviation over {} seeds", numbers.join(" or ")));
        }
        if seeds.len() > 1 {
            notes.push(
                "rows of different numbers of seeds are tested over queries, by their means over the seeds".into(),
            );
        }
        if let Some(searched) = &self.table.searched {
            notes.push(format!(
                "all titles: each query searches {}; a title without a judgment counts as not relevant",
                counted(searched.titles, "title")
            ));
            if searched.missing.count > 0 {
                notes.push(format!(
                    "{} of titles that the collection lacks; no system can find them",
                    counted(searched.missing.count, "judgment")
                ));
            }
        }
        match &self.overlap {
            None => {}
            Some(Overlap { queries: 0, .. }) => notes.push("no judged query is in the click log".to_owned()),
            Some(Overlap { queries, pairs, of_pairs, .. }) => notes.push(format!(
                "{} also in the click log, with {} of {}; what learns from the clicks may know the answers",
                match queries {
                    1 => "1 judged query is".to_owned(),
                    many => format!("{} judged queries are", count(*many)),
                },
                count(*pairs),
                counted(*of_pairs, "judged pair"),
            )),
        }
        if self.spec.data.field() != TITLE {
            notes.push(format!("judged and learnt from: the column `{}`", printable(self.spec.data.field())));
        }
        for row in &self.table.rows {
            if let Err(why) = &row.outcome {
                notes.push(format!("{}: left out: {}", printable(&row.name), why));
            }
        }
        notes
    }

    /// Compares each system with one of them, for one metric.
    fn against(&self, metric: Metric) -> Vec<Vec<String>> {
        let base = &self.statistics.evaluations[self.statistics.base].name;
        let pairs = self.statistics.against.iter().filter(|pair| pair.comparison.metric == metric);
        self.compared(&format!("against {}", printable(base)), pairs, |[system, _]| system.to_owned())
    }

    /// Returns the tables of the comparisons with one system, by metric, and of the claims, each with its heading.
    fn comparisons(&self) -> Vec<(String, Vec<Vec<String>>)> {
        let metrics = Metric::NDCG.into_iter().filter(|_| self.statistics.evaluations.len() > 1);
        metrics.map(|metric| (metric.heading(), self.against(metric))).chain(self.claims()).collect()
    }

    /// Returns the table of each claim with its heading.
    fn claims(&self) -> impl Iterator<Item = (String, Vec<Vec<String>>)> {
        self.spec.claims.iter().zip(&self.statistics.claims).map(|(claim, pairs)| {
            let metric = claim.metric.heading();
            let cells = self.compared(&metric, pairs.iter(), |[a, b]| format!("{a} against {b}"));
            (format!("{} ({metric})", printable(&claim.name)), cells)
        })
    }

    /// Returns the cells of comparisons that are corrected together, headings first.
    fn compared<'c>(
        &self,
        first: &str,
        pairs: impl Iterator<Item = &'c PairComparison>,
        named: impl Fn([&str; 2]) -> String,
    ) -> Vec<Vec<String>> {
        let pairs: Vec<&PairComparison> = pairs.collect();
        let randomized = pairs.iter().any(|pair| pair.randomization.is_some());
        let mut head = vec![first, "difference", "95 % interval", "p", "Holm"];
        head.extend(randomized.then_some("randomised"));
        head.push("verdict");
        let mut cells = vec![head.into_iter().map(str::to_owned).collect()];
        for pair in pairs {
            let (interval, test) = (&pair.interval, &pair.comparison.test);
            let verdict = match verdict(pair) {
                "not shown" => match pair.minimum_detectable {
                    Some(least) => format!("not shown: these queries show {least:.3} or more"),
                    None if test.differing == 0 => "no difference".to_owned(),
                    None => {
                        let differ = if test.differing == 1 { "differs" } else { "differ" };
                        format!("not shown: only {} {differ}", counted(test.differing as u64, "query"))
                    }
                },
                verdict => verdict.to_owned(),
            };
            let name = named(pair.positions.map(|position| self.statistics.evaluations[position].name.as_str()));
            let mut line = vec![
                printable(&name).into_owned(),
                difference(interval.mean),
                format!("{:+.3} to {:+.3}", interval.low, interval.high),
                probability(test.p),
                probability(pair.comparison.holm),
            ];
            if randomized {
                line.push(pair.randomization.map_or_else(String::new, |test| probability(test.p)));
            }
            line.push(verdict);
            cells.push(line);
        }
        cells
    }

    /// Lists the chosen parameters of each fold, for systems that have a choice. If all folds agree, they are shown once.
    fn parameters(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (_, row, judged) in self.judged() {
            if judged.points.len() < 2 && !judged.by_fold {
                continue;
            }
            let mut chosen: Vec<&str> =
                judged.chosen.iter().map(|&position| judged.points[position].parameters.as_str()).collect();
            if chosen.iter().all(|parameters| *parameters == chosen[0]) {
                chosen.truncate(1);
            }
            lines.push(format!("{}: {}", printable(&row.name), printable(&chosen.join(" | "))));
        }
        lines
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(title) = &self.spec.title {
            let _ = writeln!(text, "{}\n", printable(title));
        }
        let _ = writeln!(text, "{}\n", aligned(&self.cells(), 2..13));
        for note in self.notes() {
            let _ = writeln!(text, "{note}");
        }
        if self.statistics.evaluations.len() > 1 {
            let _ = writeln!(text, "\nNDCG@1\n{}", aligned(&self.against(Metric::Ndcg(1)), 1..6));
        }
        for (heading, cells) in self.claims() {
            let _ = writeln!(text, "\n{heading}\n{}", aligned(&cells, 1..6));
        }
        let parameters = self.parameters();
        if !parameters.is_empty() {
            let _ = writeln!(text, "\nchosen, fold by fold:");
            for line in parameters {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    /// Returns the report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if let Some(title) = &self.spec.title {
            let _ = writeln!(text, "# {}\n", printable(title));
        }
        markdown_table(&mut text, &self.cells());
        for note in self.notes() {
            let _ = writeln!(text, "\n{note}");
        }
        for (heading, cells) in self.comparisons() {
            let _ = writeln!(text, "\n## {heading}\n");
            markdown_table(&mut text, &cells);
        }
        let parameters = self.parameters();
        if !parameters.is_empty() {
            let _ = writeln!(text, "\n## Parameters, fold by fold\n");
            for line in parameters {
                let _ = writeln!(text, "- {line}");
            }
        }
        text
    }
}

/// Formats the spread over the seeds, if there are several.
fn spread(deviation: Option<f64>) -> String {
    deviation.map_or_else(String::new, |deviation| format!(" ± {deviation:.3}"))
}

/// Returns a verdict in a word or two.
fn verdict(comparison: &PairComparison) -> &'static str {
    match comparison.comparison.verdict(Correction::Holm) {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NotShown => "not shown",
    }
}

fn aligned(cells: &[Vec<String>], right: std::ops::Range<usize>) -> String {
    let Some((head, rows)) = cells.split_first() else { return String::new() };
    let column = |(number, head): (usize, &String)| {
        if right.contains(&number) { Column::number(head.clone()) } else { Column::text(head.clone()) }
    };
    let mut table = report::Table::new(head.iter().enumerate().map(column));
    for row in rows {
        table.add(row.iter().cloned().map(Cell::from));
    }
    table.to_text()
}

fn markdown_table(text: &mut String, cells: &[Vec<String>]) {
    for (position, row) in cells.iter().enumerate() {
        let escaped: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).collect();
        let _ = writeln!(text, "| {} |", escaped.join(" | "));
        if position == 0 {
            let _ = writeln!(text, "|{}", " --- |".repeat(row.len()));
        }
    }
}

/// Returns a time as text; empty if nothing was trained.
fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => String::new(),
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

/// Returns a size as text.
pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        0.0 => String::new(),
        bytes if bytes < 1e6 => format!("{:.0} KB", (bytes / 1e3).ceil()),
        bytes if bytes < 9.95e6 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.0} MB", bytes / 1e6),
    }
}
/// Formats numbers with as many decimals as the one that has most: `31.0 / 34.4 / 41.7`.
fn with_like_decimals(numbers: [f64; 3]) -> String {
    let decimals = |number: &f64| number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let most = numbers.iter().map(decimals).max().unwrap_or(0);
    numbers.map(|number| format!("{number:.most$}")).join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_numbers_have_like_decimals() {
        assert_eq!(with_like_decimals([31.0, 34.4, 41.7]), "31.0 / 34.4 / 41.7");
        assert_eq!(with_like_decimals([0.31, 0.339, 0.405]), "0.310 / 0.339 / 0.405");
        assert_eq!(with_like_decimals([31.0, 34.0, 41.0]), "31 / 34 / 41");
    }
}
