//! Bearer tokens, kept as hashes and compared in constant time.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use clickvec_tables::{Error, ErrorKind, Result};

/// The most bytes of a file of tokens.
const MOST_BYTES: u64 = 1 << 20;
/// The smallest number of characters of a token. A shorter one could be guessed.
const SHORTEST: usize = 16;
/// What a line of a file may be instead of a token.
const HASHED: &str = "sha256:";

/// The tokens of a file.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    hashes: Vec<[u8; 32]>,
}

impl Tokens {
    /// Reads the tokens of a file, one a line: the token itself, or `sha256:` and the hash of it in hexadecimal digits. Empty lines and
    /// those that begin with `#` are passed over.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, a line is neither, or there is no token. The message does not repeat what may be most of one.
    pub fn read(path: &Path) -> Result<Tokens> {
        let expected = |found: String| {
            let expected = format!(
                "a token of {SHORTEST} characters or more without spaces, or `{HASHED}` and 64 hexadecimal digits"
            );
            Error::expected(ErrorKind::Malformed, expected, found)
        };
        let mut text = String::new();
        // From a pipe too, but not for ever.
        let file = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
        file.map_err(|source| Error::io(path, "read", source))?;
        if text.len() as u64 > MOST_BYTES {
            let expected = format!("a file of tokens of at most {MOST_BYTES} bytes");
            return Err(Error::expected(ErrorKind::Malformed, expected, "more").at(path));
        }
        let mut hashes = Vec::new();
        for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let hash = match text.strip_prefix(HASHED) {
                Some(digits) => from_hexadecimal(digits)
                    .ok_or_else(|| format!("`{HASHED}` and {} characters", digits.chars().count())),
                None if text.contains(char::is_whitespace) => Err("a space in it".to_owned()),
                None if text.chars().count() < SHORTEST => Err(format!("one of {} characters", text.chars().count())),
                None => Ok(Sha256::digest(text).into()),
            };
            hashes.push(hash.map_err(|found| expected(found).at_line(path, line))?);
        }
        if hashes.is_empty() {
            return Err(expected("no token".to_owned()).at(path));
        }
        Ok(Tokens { hashes })
    }

    /// Returns whether this is one of the tokens. Every hash is compared to its end.
    pub(crate) fn has(&self, token: &str) -> bool {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut found = subtle::Choice::from(0);
        for known in &self.hashes {
            found |= known.ct_eq(&hash);
        }
        found.into()
    }
}

fn from_hexadecimal(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (number, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * number..][..2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Tokens> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, text).unwrap();
        Tokens::read(&path)
    }

    #[test]
    fn tokens_and_hashes() {
        // printf 0123456789abcdef | sha256sum
        let hash = "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";
        let marked = "\u{feff}0123456789abcdef\n".to_owned();
        for text in ["# ours\n\n0123456789abcdef\n".to_owned(), format!("sha256:{hash}\r\n"), marked] {
            let tokens = read(&text).unwrap();
            assert!(tokens.has("0123456789abcdef"));
            for wrong in ["", "0123456789abcdeF", "0123456789abcdef ", hash] {
                assert!(!tokens.has(wrong), "{wrong}");
            }
        }
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_repeated() {
        for (text, expected) in [
            (
                "",
                "/tokens: expected a token of 16 characters or more without spaces, or `sha256:` and 64 hexadecimal digits, found no token",
            ),
            ("# only this\n", "found no token"),
            ("short\n", "/tokens:1: expected a token of 16 characters or more"),
            ("short\n", "found one of 5 characters"),
            ("two words of sixteen\n", "found a space in it"),
            ("\nsha256:12\n", "/tokens:2: expected"),
            ("sha256:12\n", "found `sha256:` and 2 characters"),
            (&format!("sha256:{}\n", "é".repeat(32)), "found `sha256:` and 32 characters"),
            (&format!("sha256:{}\n", "g".repeat(64)), "found `sha256:` and 64 characters"),
        ] {
            let error = read(text).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(expected) && !error.contains("sixteen"), "{error}");
        }
    }
}
