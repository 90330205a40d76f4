//! Bearer tokens, stored as hashes and compared in constant time.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use clickvec_tables::{Error, ErrorKind, Result};
use hmac_sha256::Hash as Sha256;

/// The most bytes of a file of tokens.
const MOST_BYTES: u64 = 1 << 20;
/// The smallest number of characters of a token. A shorter one could be guessed.
const SHORTEST: usize = 16;
/// The prefix of a token's hash.
const HASHED: &str = "sha256:";

pub(crate) type Hash = [u8; 32];

/// The tokens of a file, by what they allow.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    /// Tokens for searching; if there are none, every client may.
    pub(crate) search: Vec<Hash>,
    /// Tokens for reloading and rolling back, and for searching too.
    pub(crate) admin: Vec<Hash>,
}

impl Tokens {
    /// Reads the tokens of a file, one a line: `search` or `admin`, a space, and the token itself, or `sha256:` and the hash of it in
    /// hexadecimal digits. Empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, a line is neither, or there is no token. The message does not repeat anything that may be most
    /// of a token.
    pub fn read(path: &Path) -> Result<Tokens> {
        let expected = |found: String| {
            let expected = format!(
                "`search` or `admin`, and a token of {SHORTEST} characters or more without spaces, or `{HASHED}` and 64 hexadecimal \
                 digits"
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
        let mut tokens = Tokens::default();
        for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (role, token) = text.split_once(char::is_whitespace).unwrap_or(("", text));
            let hashes = match role {
                "search" => &mut tokens.search,
                "admin" => &mut tokens.admin,
                _ => return Err(expected("a line that begins with neither".to_owned()).at_line(path, line)),
            };
            hashes.push(hash(token.trim_start()).map_err(|found| expected(found).at_line(path, line))?);
        }
        if tokens.search.is_empty() && tokens.admin.is_empty() {
            return Err(expected("no token".to_owned()).at(path));
        }
        Ok(tokens)
    }
}

/// Returns whether a token has one of the hashes. Every hash is compared to its end, so the time tells nothing.
pub(crate) fn has(hashes: &[Hash], token: &str) -> bool {
    let hash = Sha256::hash(token.as_bytes());
    let differences =
        |known: &Hash| known.iter().zip(&hash).fold(0, |found, (a, b)| std::hint::black_box(found | (a ^ b)));
    hashes.iter().fold(false, |found, known| found | (differences(known) == 0))
}

/// Returns the hash of a token, or what was found instead of one.
fn hash(token: &str) -> Result<Hash, String> {
    match token.strip_prefix(HASHED) {
        Some(digits) => {
            from_hexadecimal(digits).ok_or_else(|| format!("`{HASHED}` and {} characters", digits.chars().count()))
        }
        None if token.contains(char::is_whitespace) => Err("a space in it".to_owned()),
        None if token.chars().count() < SHORTEST => Err(format!("one of {} characters", token.chars().count())),
        None => Ok(Sha256::hash(token.as_bytes())),
    }
}

fn from_hexadecimal(digits: &str) -> Option<Hash> {
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
        let marked = "\u{feff}search 0123456789abcdef\n".to_owned();
        for text in ["# ours\n\nsearch\t0123456789abcdef\n".to_owned(), format!("search sha256:{hash}\r\n"), marked] {
            let tokens = read(&text).unwrap();
            assert!(has(&tokens.search, "0123456789abcdef") && tokens.admin.is_empty());
            for wrong in ["", "0123456789abcdeF", "0123456789abcdef ", hash] {
                assert!(!has(&tokens.search, wrong), "{wrong}");
            }
        }
        let tokens = read("search 0123456789abcdef\nadmin fedcba9876543210\n").unwrap();
        assert!(has(&tokens.search, "0123456789abcdef") && !has(&tokens.search, "fedcba9876543210"));
        assert!(has(&tokens.admin, "fedcba9876543210") && !has(&tokens.admin, "0123456789abcdef"));
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_repeated() {
        for (text, expected) in [
            (
                "",
                "/tokens: expected `search` or `admin`, and a token of 16 characters or more without spaces, or `sha256:` and 64 \
                 hexadecimal digits, found no token",
            ),
            ("# only this\n", "found no token"),
            ("0123456789abcdef\n", "/tokens:1: expected `search` or `admin`"),
            ("0123456789abcdef\n", "found a line that begins with neither"),
            ("root 0123456789abcdef\n", "found a line that begins with neither"),
            ("admin\n", "found a line that begins with neither"),
            ("admin short\n", "found one of 5 characters"),
            ("search two words of sixteen\n", "found a space in it"),
            ("\nsearch sha256:12\n", "/tokens:2: expected"),
            ("search sha256:12\n", "found `sha256:` and 2 characters"),
            (&format!("search sha256:{}\n", "é".repeat(32)), "found `sha256:` and 32 characters"),
            (&format!("search sha256:{}\n", "g".repeat(64)), "found `sha256:` and 64 characters"),
        ] {
            let error = read(text).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(expected) && !error.contains("sixteen") && !error.contains("0123"), "{error}");
        }
    }
}
