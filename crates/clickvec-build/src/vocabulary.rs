//! The titles as a log is compared with them: their ids, their texts and their words.

use std::collections::HashSet;
use std::ops::ControlFlow;

use clickvec::internals::text::words;
use clickvec::tables::{TITLE, Titles, for_each_title};
use clickvec_tables::shown::{counted, shortened};
use clickvec_tables::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

/// With a larger share of titles that look like ids, the column is another than that of the texts.
const MOST_IDS: f64 = 0.8;

/// The ids, the texts and the words of all titles, as hashes.
#[derive(Default)]
pub(crate) struct Vocabulary {
    ids: HashSet<u64>,
    texts: HashSet<u64>,
    words: HashSet<u64>,
    pub(crate) titles: u64,
    /// The titles that look like ids, and the first of them.
    ids_as_titles: u64,
    first_id: Option<String>,
}

impl Vocabulary {
    /// Reads all titles, calling `go_on` now and then.
    ///
    /// # Errors
    ///
    /// Those of reading them; there are none, or they are no texts.
    pub(crate) fn read(titles: &Titles, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Vocabulary> {
        let mut all = Vocabulary::default();
        for_each_title(titles, TITLE, |title| {
            if all.titles.is_multiple_of(10_000) && go_on().is_break() {
                return Err(Error::interrupted());
            }
            all.titles += 1;
            all.ids.insert(xxh3_64(title.id.trim().as_bytes()));
            let words = words(&title.title);
            if looks_like_id(&words) {
                all.ids_as_titles += 1;
                all.first_id.get_or_insert_with(|| title.title.clone());
            }
            all.texts.insert(text_hash(&words));
            all.words.extend(words.iter().map(|word| xxh3_64(word.as_bytes())));
            Ok(())
        })?;
        all.check(titles)?;
        Ok(all)
    }

    fn check(&self, titles: &Titles) -> Result<()> {
        let error = |kind, found: String| {
            let error = Error::expected(kind, "titles with words", found).at(&titles.path);
            Err(error.help("name the column of the texts, as in `title=name`"))
        };
        if self.titles == 0 {
            return error(ErrorKind::Empty, "none".to_owned());
        }
        if self.ids_as_titles as f64 > MOST_IDS * self.titles as f64 {
            let first = shortened(self.first_id.as_deref().unwrap_or_default());
            let column = titles.text.as_deref().unwrap_or(TITLE);
            return error(ErrorKind::Mismatch, format!("ids such as `{first}` in the column `{}`", shortened(column)));
        }
        Ok(())
    }

    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.ids.contains(&xxh3_64(id.trim().as_bytes()))
    }

    pub(crate) fn has_text(&self, words: &[String]) -> bool {
        self.texts.contains(&text_hash(words))
    }

    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.contains(&xxh3_64(word.as_bytes()))
    }

    /// Returns the number of titles, for messages.
    pub(crate) fn counted(&self) -> String {
        counted(self.titles, "title")
    }
}

fn text_hash(words: &[String]) -> u64 {
    xxh3_64(words.join(" ").as_bytes())
}

/// Returns whether a text is an id rather than a title: nothing, or one word with a digit in it.
pub(crate) fn looks_like_id(words: &[String]) -> bool {
    match words {
        [] => true,
        [word] => word.chars().any(|c| c.is_ascii_digit()),
        _ => words.iter().all(|word| word.chars().all(|c| c.is_ascii_digit())),
    }
}
