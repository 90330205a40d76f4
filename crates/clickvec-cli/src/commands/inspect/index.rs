//! What is in an index, and whether it is as it was written.

use std::fmt::Write as _;

use anyhow::Result;
use clickvec::encoder::EncoderConfig;
use clickvec_index::{Choices, Index, IndexSummary, Verified, verify};
use serde::Serialize;

use super::ranker::method_name;
use super::{Details, Found, facts};
use crate::{aligned, fused, output};

#[derive(Serialize)]
struct Report<'a> {
    encoder: &'a EncoderConfig,
    #[serde(flatten)]
    summary: IndexSummary,
    /// How it is searched by words and by both.
    searches: Choices,
    integrity: Integrity,
}

/// Whether all files are as they were written, and the queries that the index keeps are answered as then.
#[derive(Serialize)]
struct Integrity {
    sound: bool,
    files: usize,
    bytes: u64,
    queries: usize,
    damaged: Vec<String>,
}

impl Integrity {
    fn text(&self) -> String {
        let (files, bytes) = (output::counted(self.files as u64, "file"), output::counted(self.bytes, "byte"));
        let found = match self.damaged.len() as u64 {
            0 => format!("; {} answered as before", output::counted(self.queries as u64, "query")),
            count => format!(", {} not", output::count(count)),
        };
        format!("{files} ({bytes}) as written{found}")
    }
}

/// A damaged index.
#[derive(Serialize)]
struct Damage {
    integrity: Integrity,
}

/// Reads every byte of an index and describes it. What is damaged is counted as faults.
pub(super) fn look(found: &mut Found) -> Result<()> {
    let path = &found.path;
    let Verified { files, bytes, queries, damaged, .. } = verify(path)?;
    let damaged: Vec<String> = damaged.iter().map(|fault| output::printable(&fault.to_string()).into_owned()).collect();
    let integrity = Integrity { sound: damaged.is_empty(), files, bytes, queries, damaged };
    if !integrity.sound {
        found.faults = integrity.damaged.len() as u64;
        let text = format!("{}\n{}\n", integrity.text(), integrity.damaged.join("\n"));
        found.details = Some(Details::new(text, &Damage { integrity })?);
        return Ok(());
    }
    let index = Index::open(path).map_err(fused::as_itself)?;
    let (encoder, summary) = (index.model()?.encoder_config(), index.summary()?);
    let report = Report { encoder, summary, searches: index.fusion().choices(), integrity };
    found.details = Some(Details::new(text(&report), &report)?);
    Ok(())
}

/// How an index is searched by words and by both.
fn searches(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let Choices { has_fusion, fusion, bm25, analysis, .. } = &report.searches;
    let words = format!("BM25 with k1 {} and b {}, compared by `{analysis}`", bm25.k1, bm25.b);
    let trigrams = fusion.trigrams.map_or_else(String::new, |weight| format!(", trigrams {weight:.3}"));
    let fitted = if *has_fusion { "" } else { "; not fitted" };
    let method = method_name(fusion.method).0;
    let teacher = fusion.teacher.map_or_else(String::new, |weight| format!(", teacher {weight:.3}"));
    let (vectors, words_weight) = (fusion.vectors, fusion.words);
    let fused = format!("{method} of vectors {vectors:.3}, words {words_weight:.3}{trigrams}{teacher}{fitted}");
    vec![("words", words), ("fusion", fused)]
}

fn text(report: &Report<'_>) -> String {
    let summary = &report.summary;
    let rows = [
        ("fingerprint", summary.fingerprint.clone()),
        ("written by", format!("clickvec {}", output::printable(&summary.version))),
        ("titles", output::count(summary.titles)),
        ("left out", format!("{}, of unknown words", output::counted(summary.left_out, "title"))),
        ("field", output::printable(&summary.field).into_owned()),
        ("shard", summary.shard.map_or_else(|| "no".to_owned(), |shard| shard.to_string())),
        ("dimension", summary.dimension.to_string()),
        ("model", summary.model.clone()),
        ("encoder", report.encoder.to_string()),
        ("whole", report.integrity.text()),
    ];
    let rows: Vec<_> = rows.into_iter().chain(searches(report)).collect();
    let mut text = facts(&rows);
    let mut files = aligned::plain();
    files.set_header(["file", "bytes"]);
    for (name, bytes) in &summary.files {
        files.add_row([output::printable(name).into_owned(), output::count(*bytes)]);
    }
    aligned::align_right(&mut files, 1..2);
    let _ = writeln!(text, "\n{}", aligned::show(&mut files));
    text
}
