//! Helpers for the tests of several rankers.

#[path = "../../../clickvec-eval/src/ranker/testing.rs"]
mod shared;

pub(crate) use self::shared::*;
use super::SYSTEMS;
use clickvec::internals::npy::MAGIC;
use clickvec_eval::ranker::Corpus;

/// Returns the reason why `spec` cannot be trained on `corpus`: the message without the name of the system.
pub(crate) fn fault(spec: &str, corpus: &Corpus) -> String {
    let error = try_train(spec, corpus).err().unwrap_or_else(|| panic!("{spec} is trained"));
    assert!(error.concerns_data(), "{spec}: {error}");
    let system = spec.split(':').next().unwrap_or_default();
    error.to_string().strip_prefix(&format!("{system}: ")).unwrap_or_else(|| panic!("{error}")).to_owned()
}

/// The message of a system that has no clicked pair to learn from.
pub(crate) const NO_CLICKS: &str =
    "expected clicked pairs to learn from, found none with a word on both sides; give a click log";

/// Writes an array as NumPy does.
pub(crate) fn npy(kind: &str, order: &str, shape: &str, version: u8, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let length_bytes = if version == 1 { 2 } else { 4 };
    while !(8 + length_bytes + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u32).to_le_bytes();
    [MAGIC, &[version, 0], &length[..length_bytes], header.as_bytes(), data].concat()
}
