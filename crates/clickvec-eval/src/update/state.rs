//! The state between updates: the test so far, and the mix of queries that the model was trained on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clickvec_tables::files::{open_plain, resolved, write_bytes_atomically};
use clickvec_tables::json::json_found;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::gains::Places;
use super::mix::Mix;
use super::pooled::PooledTest;

/// The kind of the file.
const KIND: &str = "update";
/// The version of the file.
const FORMAT: u32 = 1;
/// The most bytes of a file; one of a year has 20 KB.
const MOST_BYTES: u64 = 1 << 20;
/// The number of days that are remembered as counted.
const MOST_DAYS: usize = 400;

/// The state between two updates of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    kind: String,
    format: u32,
    /// The fingerprint of the model that is tested against new ones.
    pub model: String,
    /// The updates that tested new models against it.
    pub updates: u64,
    /// The test of clicks so far.
    pub test: PooledTest,
    /// The places of clicks.
    pub(super) places: Places,
    /// The mix of queries that the model was trained on, as far as it is known: that of the window when it came.
    pub mix: Mix,
    /// The fingerprints of the newest days that were counted, so that none is counted twice.
    counted: Vec<String>,
}

/// The part of a file with its kind.
#[derive(Deserialize)]
struct Head {
    kind: String,
    format: u32,
}

impl State {
    /// Creates a state without tests.
    pub fn new(model: &str, mix: Mix) -> State {
        let (kind, model) = (KIND.to_owned(), model.to_owned());
        let (test, places) = (PooledTest::default(), Places::default());
        State { kind, format: FORMAT, model, updates: 0, test, places, mix, counted: Vec::new() }
    }

    /// Returns the state after another model took the place of this one's. The days that were counted for the choice do not count
    /// for the next one.
    pub(super) fn successor(&self, model: &str, mix: Mix) -> State {
        State { counted: self.counted.clone(), places: self.places, ..State::new(model, mix) }
    }

    /// Returns the path of the state of a model or an index: beside it.
    pub fn path_beside(target: &Path) -> PathBuf {
        let target = resolved(target);
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".update.json");
        target.with_file_name(name)
    }

    /// Returns whether a day was counted. No model since the first of this state has learnt its held-out queries.
    pub(super) fn has_counted(&self, day: u64) -> bool {
        self.counted.contains(&format!("{day:016x}"))
    }

    /// Counts a day with the differences of its queries. Returns false if it was counted before.
    pub(super) fn count(&mut self, day: u64, differences: &[f64]) -> bool {
        if self.has_counted(day) {
            return false;
        }
        let day = format!("{day:016x}");
        self.updates += 1;
        self.test.add_day(differences);
        self.counted.push(day);
        let more = self.counted.len().saturating_sub(MOST_DAYS);
        self.counted.drain(..more);
        true
    }

    /// Reads the state in a file; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if it is a state and cannot be used; [`ErrorKind::Version`] if a later version wrote it;
    /// [`ErrorKind::Occupied`] if it is another file; [`ErrorKind::Io`].
    pub fn read(path: &Path) -> Result<Option<State>> {
        let mut bytes = Vec::new();
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            _ => io::Read::read_to_end(&mut io::Read::take(open_plain(path)?, MOST_BYTES + 1), &mut bytes)
                .map_err(|source| Error::io(path, "read", source))?,
        };
        State::parse(&bytes).map(Some).map_err(|error| error.at(path))
    }

    /// Reads a state.
    fn parse(bytes: &[u8]) -> Result<State> {
        const EXPECTED: &str = "the state of an update";
        let damaged = |found: String| Error::expected(ErrorKind::Damaged, EXPECTED, found);
        if bytes.len() as u64 > MOST_BYTES {
            let error = Error::expected(ErrorKind::Occupied, EXPECTED, "a longer file");
            return Err(error.help("move it away"));
        }
        match serde_json::from_slice::<Head>(bytes) {
            Ok(Head { kind, .. }) if kind != KIND => {
                let error = Error::expected(ErrorKind::Occupied, EXPECTED, "another file of JSON");
                return Err(error.help("move it away"));
            }
            Ok(Head { format, .. }) if format != FORMAT => {
                let error = Error::expected(ErrorKind::Version, format!("format {FORMAT}"), format!("{format}"));
                return Err(error.help("use the version of clickvec that wrote it, or delete it"));
            }
            _ => {}
        }
        let state: State = serde_json::from_slice(bytes).map_err(|error| damaged(json_found(&error)))?;
        let is_hexadecimal =
            |text: &String, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_sound = state.test.is_sound()
            && state.mix.is_sound()
            && state.places.is_sound()
            && state.counted.len() <= MOST_DAYS
            && state.counted.iter().all(|day| is_hexadecimal(day, 16))
            && is_hexadecimal(&state.model, 32);
        if is_sound { Ok(state) } else { Err(damaged("numbers that no update writes".to_owned())) }
    }

    /// Writes the state.
    ///
    /// # Errors
    ///
    /// Those of [`write_bytes_atomically`]. A file at `path` is then untouched.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut bytes = serde_json::to_vec(self).expect("names for keys");
        bytes.push(b'\n');
        write_bytes_atomically(path, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "0123456789abcdef0123456789abcdef";

    fn state() -> State {
        let mut state = State::new(MODEL, Mix::default());
        assert!(state.count(7, &[0.5, -0.25]));
        state
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = State::path_beside(&folder.path().join("shop"));
        assert!(path.ends_with("shop.update.json"));
        assert_eq!(State::read(&path).unwrap(), None);
        state().write(&path).unwrap();
        assert_eq!(State::read(&path).unwrap(), Some(state()));
    }

    #[test]
    fn a_day_counts_once_for_a_model_and_its_successor() {
        let mut state = state();
        let before = state.test.clone();
        assert!(!state.count(7, &[1.0]));
        assert_eq!(state.test, before);
        let mut next = state.successor(MODEL, Mix::default());
        assert!(!next.count(7, &[1.0]) && next.count(8, &[1.0]));
        assert_eq!(next.test.days, 1);
        assert!((0..1_000).all(|day| next.count(1_000 + day, &[])));
        assert_eq!(next.counted.len(), MOST_DAYS);
    }

    #[test]
    fn anything_else_is_refused() {
        let good = serde_json::to_string(&state()).unwrap();
        let refused = |text: String| State::parse(text.as_bytes()).unwrap_err().kind();
        for cut in [0, 1, good.len() / 2, good.len() - 1] {
            assert_eq!(refused(good[..cut].to_owned()), ErrorKind::Damaged, "{cut}");
        }
        for (part, other) in [
            ("\"days\":1", "\"days\":-1"),
            ("\"days\":1", "\"days\":3"),
            ("\"gain\":0.25", "\"gain\":2.5"),
            ("\"gain\":0.25", "\"gain\":null"),
            ("\"shown\":0", "\"shown\":1"),
            ("\"words\":[]", "\"words\":[1.0]"),
            ("\"sample_size\":0.0", "\"sample_size\":-0.5"),
            ("0123456789abcdef0123456789abcdef", "shop"),
            ("\"0000000000000007\"", "\"7\""),
            ("\"counted\"", "\"more\":1,\"counted\""),
            ("\"counted\"", "\"format\":1,\"counted\""),
        ] {
            assert!(good.contains(part), "{part} in {good}");
            assert_eq!(refused(good.replacen(part, other, 1)), ErrorKind::Damaged, "{other}");
        }
        assert_eq!(refused(good.replace("\"format\":1", "\"format\":2")), ErrorKind::Version);
        assert_eq!(refused(good.replace("\"update\"", "\"index\"")), ErrorKind::Occupied);
        assert_eq!(refused(" ".repeat(MOST_BYTES as usize + 1)), ErrorKind::Occupied);
    }
}
