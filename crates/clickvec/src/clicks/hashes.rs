//! The hashes by which a log knows texts and itself.

use xxhash_rust::xxh3::xxh3_64;

use crate::text::{WordBuffer, WordLimit};

/// Returns a pair's part of a log's fingerprint.
pub fn pair_fingerprint(query: u64, title: u64, weight: f32) -> [u8; 24] {
    bytemuck::cast([query, title, u64::from(weight.to_bits())])
}

/// Returns a title's part of a log's fingerprint.
pub fn title_fingerprint(title: u64) -> [u8; 16] {
    bytemuck::cast([title, u64::MAX])
}

/// Returns the hash that identifies a text in a log, computed from its words within `limit`.
pub fn text_hash(text: &str, limit: WordLimit, buffer: &mut WordBuffer) -> u64 {
    let mut hash = 0;
    limit.for_each_word(text, buffer, |word| hash = mix(hash ^ xxh3_64(word.as_bytes())));
    hash
}

/// Returns a 64-bit mixing function in which every bit depends on every bit.
pub(super) fn mix(x: u64) -> u64 {
    let product = u128::from(x ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    let x = product as u64 ^ (product >> 64) as u64;
    x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (x >> 29)
}
