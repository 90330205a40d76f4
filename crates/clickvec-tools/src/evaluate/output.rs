//! The folder of an evaluation: judgments, rankings and the figures of every query.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use clickvec::internals::vector_file::texts_path;
use clickvec_eval::trec::{write_answers, write_judgments};
use clickvec_eval::{Answers, EvaluationSet, files_of_test_set};
use clickvec_tables::files::{PendingFolder, create_folder, folder_of, resolved};
use clickvec_tables::outputs::{refuse_folder_in_index, refuse_overwriting};
use clickvec_tables::shown::printable;
use clickvec_tables::{Error, Result};

use super::names::{distinct, file_stem, run_file};
use super::{Config, Entry, Test};
use crate::systems::Source;

/// The judgments.
const QRELS: &str = "judged.qrels";
/// The figures of every query.
const QUERIES: &str = "per-query.tsv";
/// How the header of the table of all figures begins; the metrics follow.
const HEADER: &str = "system\tquery_id\tquery\t";

/// The folder that an evaluation is written to. It replaces an earlier one when all is there.
pub struct Output(PendingFolder);

impl Output {
    /// Begins the folder at `path`.
    ///
    /// # Errors
    ///
    /// It is in an index, has other files, or one that is read.
    pub fn new(path: &Path, config: &Config<'_>, entries: &[Entry]) -> Result<Output> {
        let mut read = files_of_test_set(&config.files);
        read.extend(config.others.iter().cloned());
        read.extend(config.clicks.map(Path::to_owned));
        read.extend(config.files.titles.iter().map(|titles| titles.path.clone()));
        for file in entries.iter().filter_map(|entry| entry.source.as_ref()).flat_map(Source::files) {
            read.push(texts_path(&file));
            read.push(file);
        }
        let mut written = distinct(entries.iter().map(|entry| run_file(&entry.name)))?;
        written.extend([QRELS, QUERIES].map(str::to_owned));
        written.extend(files_of_evaluation(path).into_iter().flatten());
        for file in written {
            refuse_overwriting(&path.join(file), &read)?;
        }
        // Before the folder is made: one in an index would stay there.
        refuse_folder_in_index(path)?;
        create_folder(&folder_of(&resolved(path)))?;
        Ok(Output(PendingFolder::new(path, "an evaluation", files_of_evaluation)?))
    }

    /// Writes the judgments as TREC qrels.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn judgments(&self, test: &Test) -> Result<()> {
        self.write(QRELS, |file, path| write_judgments(file, path, &test.judgments))
    }

    /// Writes a system's ranking as a TREC run.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn run(&self, name: &str, test: &Test, answers: &Answers) -> Result<()> {
        self.write(&run_file(name), |file, path| write_answers(file, path, &file_stem(name), test.task(), answers))
    }

    /// Writes a row for each system and query, and publishes the folder.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn publish(self, test: &Test, set: &EvaluationSet) -> Result<()> {
        self.write(QUERIES, |file, path| {
            let failed = |source| Error::io(path, "write", source);
            let names = test.metrics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\t");
            writeln!(file, "{HEADER}{names}").map_err(failed)?;
            for system in &set.systems {
                let name = printable(&system.name);
                for (query, (id, text)) in system.queries.iter().zip(test.task().queries()) {
                    let values: Vec<String> = query.metrics.iter().map(|(_, value)| value.to_string()).collect();
                    writeln!(file, "{name}\t{id}\t{text}\t{}", values.join("\t")).map_err(failed)?;
                }
            }
            Ok(())
        })?;
        self.0.publish()
    }

    /// Writes a file. Errors name the path that it will have.
    fn write(&self, name: &str, write: impl FnOnce(&mut BufWriter<File>, &Path) -> Result<()>) -> Result<()> {
        let mut file = self.0.create(name)?;
        write(&mut file, &self.0.path().join(name))?;
        file.flush().map_err(|source| self.0.failed(source))
    }
}

/// Returns the names of the files that an evaluation has left in a folder; `None` if there was none.
fn files_of_evaluation(folder: &Path) -> Option<HashSet<String>> {
    let mut lines = BufReader::new(File::open(folder.join(QUERIES)).ok()?).lines().map_while(std::io::Result::ok);
    lines.next().filter(|header| header.starts_with(HEADER))?;
    let runs = lines.filter_map(|line| line.split('\t').next().map(run_file));
    Some(runs.chain([QRELS, QUERIES].map(str::to_owned)).collect())
}
