//! What is in an index, and whether it is as it was written.

use std::path::Path;

use clickvec_index::{Index, Verified, verify};
use clickvec_tables::Result;
use serde_json::json;

use super::facts::Facts;

/// Reads every byte of an index and describes it. What is damaged is counted as faults.
pub(super) fn facts(path: &Path) -> Result<Facts> {
    let Verified { files, bytes, queries, damaged, .. } = verify(path)?;
    let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    let faults = damaged.len() as u64;
    let integrity = json!({
        "sound": damaged.is_empty(), "files": files, "bytes": bytes, "queries": queries, "damaged": damaged,
    });
    let mut facts = Facts::default();
    facts.add("integrity", integrity);
    facts.faults = faults;
    if faults == 0 {
        let index = Index::open(path)?;
        let (own, files) = (index.facts(), index.files()?);
        facts.add("fingerprint", &own.fingerprint);
        facts.add("version", &own.version);
        facts.add("titles", own.titles);
        facts.add("without_vector", own.without_vector);
        facts.add("field", index.field());
        if let Some(shard) = index.shard() {
            facts.add("shard", shard);
        }
        if !index.links().is_empty() {
            facts.add("links", index.links());
        }
        facts.add("dimension", own.model.dimension);
        facts.add("model", &own.model.fingerprint);
        facts.add("encoder", index.model().encoder_config());
        facts.add("searches", own.parts);
        facts.add("fusion", own.fusion);
        facts.add("parts", files.parts);
        facts.add("files", files.files);
    }
    Ok(facts)
}
