//! Files whose checksums are mended, so that what lies behind the check is reached.

use std::path::Path;

use clickvec::Error;
use clickvec::error::{FileFault, IndexFault};

/// How many checksums a file may have.
const MOST: usize = 8;

/// Writes `bytes` to `path` and lets `load` read it; where a checksum is wrong, puts the right one in its place and tries
/// again.
pub fn file<T>(path: &Path, bytes: &[u8], load: impl Fn() -> Result<T, Error>) -> Option<T> {
    let mut bytes = bytes.to_vec();
    for _ in 0..MOST {
        std::fs::write(path, &bytes).unwrap();
        let (expected, found) = match load() {
            Ok(loaded) => return Some(loaded),
            Err(error) => {
                // What a user would be told must be tellable.
                assert!(error.to_string().len() < 100_000);
                match error {
                    Error::File { fault: FileFault::Fingerprint { expected, found }, .. }
                    | Error::File { fault: FileFault::Member { expected, found, .. }, .. }
                    | Error::Index {
                        fault:
                            IndexFault::Fingerprint { expected, found } | IndexFault::Checksum { expected, found, .. },
                        ..
                    } => (expected, found),
                    _ => return None,
                }
            }
        };
        let at = bytes.windows(expected.len().max(1)).position(|window| window == expected.as_bytes())?;
        if expected.len() != found.len() {
            return None;
        }
        bytes[at..at + found.len()].copy_from_slice(found.as_bytes());
    }
    None
}
