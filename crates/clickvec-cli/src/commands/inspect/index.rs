//! What is in an index, and whether it is as it was written.

use anyhow::Result;
use clickvec_index::{Index, Verified, verify};
use serde_json::json;

use super::Found;
use super::facts::Facts;

/// Reads every byte of an index and describes it. What is damaged is counted as faults.
pub(super) fn look(found: &mut Found) -> Result<()> {
    let path = &found.path;
    let Verified { files, bytes, queries, damaged, .. } = verify(path)?;
    let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    found.faults = damaged.len() as u64;
    let integrity = json!({
        "sound": damaged.is_empty(), "files": files, "bytes": bytes, "queries": queries, "damaged": damaged,
    });
    let mut facts = Facts::default();
    facts.add("integrity", integrity)?;
    if found.faults == 0 {
        let index = Index::open(path)?;
        let summary = index.summary()?;
        facts.add("fingerprint", summary.fingerprint)?;
        facts.add("version", summary.version)?;
        facts.add("titles", summary.titles)?;
        facts.add("left_out", summary.left_out)?;
        facts.add("field", summary.field)?;
        if let Some(shard) = summary.shard {
            facts.add("shard", shard)?;
        }
        facts.add("dimension", summary.dimension)?;
        facts.add("model", summary.model)?;
        facts.add("encoder", index.model()?.encoder_config())?;
        facts.add("searches", index.facts().parts)?;
        facts.add("fusion", index.facts().fusion)?;
        facts.add("parts", summary.parts)?;
        facts.add("files", summary.files)?;
    }
    found.details = Some(facts);
    Ok(())
}
