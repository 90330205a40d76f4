//! What the ranks of a run agree on.

use std::ops::ControlFlow;

use crate::fields;
use crate::ranks::Teams;
use crate::settings::{TrainConfig, TrainingRecord};
use crate::train::TrainOptions;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// Returns the ranks of a run, if there are several, once all of them have found that they train the same.
pub(super) fn teams(
    config: &TrainConfig,
    record: &TrainingRecord,
    options: &TrainOptions<'_>,
) -> Result<Option<Teams>> {
    let Some(ranks) = options.ranks.clone().filter(|ranks| ranks.size() > 1) else { return Ok(None) };
    if rayon::current_thread_index().is_some() {
        let expected = "a training by several ranks that is called outside of a thread pool";
        return Err(Error::expected(ErrorKind::Setting, expected, "a call from inside of one"));
    }
    let teams = Teams::new(ranks, config.encoder.members());
    let all: Vec<Vec<String>> =
        teams.share(&to_integers(&facts(record)))?.iter().map(|told| from_integers(told)).collect();
    for (rank, told) in all.iter().enumerate().skip(1) {
        for ((name, first), other) in NAMES.iter().zip(&all[0]).zip(told) {
            if first != other {
                let expected = format!("the {name} of rank 0 on all ranks ({})", shortened(first));
                let error = Error::expected(ErrorKind::Mismatch, expected, shortened(other));
                return Err(error
                    .within(format!("rank {rank}"))
                    .help("start all ranks with the same program and files"));
            }
        }
    }
    Ok(Some(teams))
}

/// Returns whether to stop: if one rank is to, all do.
pub(super) fn agree(teams: Option<&Teams>, flow: ControlFlow<()>) -> Result<ControlFlow<()>> {
    let Some(teams) = teams else { return Ok(flow) };
    let stops = teams.share(&[u64::from(flow.is_break())])?.iter().flatten().any(|&stops| stops != 0);
    Ok(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

/// Returns whether this is the rank that writes checkpoints.
pub(super) fn is_first(teams: Option<&Teams>) -> bool {
    teams.is_none_or(|teams| teams.rank() == 0)
}

/// What must be the same on all ranks, in the order of [`facts`].
const NAMES: [&str; 7] =
    ["version", "instruction level", "settings", "log", "initial model", "teacher", "validation set"];

fn facts(record: &TrainingRecord) -> [String; 7] {
    let or_none = |fingerprint: &Option<String>| fingerprint.clone().unwrap_or_else(|| "none".to_owned());
    [
        record.version.clone(),
        record.level.clone(),
        fields::json(&record.config).to_string(),
        format!("{}, {} pairs", record.log_fingerprint, record.log.pairs),
        or_none(&record.init),
        or_none(&record.teacher),
        or_none(&record.validation_fingerprint),
    ]
}

/// Writes texts as integers: the length of each, and then its bytes, eight at a time.
fn to_integers(texts: &[String]) -> Vec<u64> {
    let chunk = |bytes: &[u8]| bytes.iter().rev().fold(0, |integer, &byte| integer << 8 | u64::from(byte));
    let integers = |text: &String| -> Vec<u64> {
        [text.len() as u64].into_iter().chain(text.as_bytes().chunks(8).map(chunk)).collect()
    };
    texts.iter().flat_map(integers).collect()
}

fn from_integers(integers: &[u64]) -> Vec<String> {
    let (mut texts, mut rest) = (Vec::new(), integers);
    while let Some((&length, after)) = rest.split_first() {
        let (own, next) = after.split_at(after.len().min(length.div_ceil(8) as usize));
        let bytes: Vec<u8> = own.iter().flat_map(|integer| integer.to_le_bytes()).take(length as usize).collect();
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
        rest = next;
    }
    texts
}
