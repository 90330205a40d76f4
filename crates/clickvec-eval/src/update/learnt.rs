//! Checks whether a model was trained on the newest clicks before, from its record of its log.

use xxhash_rust::xxh3::Xxh3;

use super::Window;
use clickvec::Result;
use clickvec::internals::clicks::{ClickReader, pair_fingerprint, text_hash, title_fingerprint};
use clickvec::internals::text::WordBuffer;
use clickvec::model::Model;
use clickvec::tables::Title;

/// The clicks of an update that a model has learnt before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearntBefore {
    /// The pairs of all days, in the same order and with the same weights: the same update repeated.
    Window,
    /// All pairs of the newest day and no others.
    Newest,
}

impl Window<'_> {
    /// Returns which of these clicks `model` was trained on, if it was trained on nothing else; `None` if it was not, or if that
    /// is unknown. Models record a fingerprint of their whole log, so a single day of several is not recognised. `titles` are
    /// those that the model would learn from too.
    ///
    /// # Errors
    ///
    /// Those of [`ClickReader::open`] and [`ClickReader::next`].
    pub fn learnt_before(&self, model: &Model, titles: &[Title]) -> Result<Option<LearntBefore>> {
        let training = model.training();
        let (limit, mut buffer) = (training.config.limit(), WordBuffer::default());
        let (mut window, mut newest) = (Xxh3::new(), Xxh3::new());
        for (number, path) in self.files.iter().enumerate() {
            let is_newest = number + 1 == self.files.len();
            let mut reader = ClickReader::open(path, self.field, self.weighting)?;
            while let Some(click) = reader.next()? {
                let [query, title] = [click.query, click.title].map(|text| text_hash(text, limit, &mut buffer));
                if [query, title].contains(&0) {
                    continue;
                }
                if is_newest {
                    newest.update(&pair_fingerprint(query, title, click.weight));
                }
                if !self.is_held_out(click.query) {
                    window.update(&pair_fingerprint(query, title, click.weight * self.weight(number)));
                }
            }
        }
        if training.config.titles.is_some() {
            for title in
                titles.iter().map(|title| text_hash(&title.title, limit, &mut buffer)).filter(|&hash| hash != 0)
            {
                window.update(&title_fingerprint(title));
                newest.update(&title_fingerprint(title));
            }
        }
        let is_known = |log: &Xxh3| format!("{:016x}", log.digest()) == training.log_fingerprint;
        Ok(match () {
            () if is_known(&window) => Some(LearntBefore::Window),
            () if is_known(&newest) => Some(LearntBefore::Newest),
            () => None,
        })
    }
}
