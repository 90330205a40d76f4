//! A word in different contexts (CLSM paper, table 2), compared by the features of the window around it.

use clickvec::encoder::State;
use clickvec::explain::Explainer;
use clickvec::internals::encoder::Reading;
use clickvec::internals::explain::unit;
use clickvec::internals::math::score::score;
use clickvec::internals::text::{WordBuffer, words};
use clickvec::model::Side;

/// A text that contains the word, compared with the first such text.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The text.
    pub text: String,
    /// The position of the word in the text.
    pub place: usize,
    /// The cosine of the word's window features with those in the first context.
    pub cosine: f32,
}

/// The texts among `texts` that contain `word`, each compared with the first of them. `None` if the encoder has no
/// windows.
pub fn contexts(explainer: &Explainer<'_>, side: Side, word: &str, texts: &[String]) -> Option<Vec<Context>> {
    if explainer.encoder_config().description().reading != Reading::Windows {
        return None;
    }
    let with_word = |text: &&String| words(text).iter().any(|each| each == word);
    let texts: Vec<&String> = texts.iter().filter(with_word).collect();
    let mut found: Vec<(usize, usize, Vec<f32>)> = Vec::new();
    let mut buffer = WordBuffer::default();
    explainer.read(side, &texts, |number, states| {
        // The word may be in a tail that was cut or merged.
        let place = explainer.words(texts[number], &mut buffer).0.iter().position(|each| each.text == word);
        if let Some((place, window)) = place.and_then(|place| Some((place, states.at(State::Window, place)?))) {
            found.push((number, place, unit(&window)));
        }
    });
    let first = found.first().map(|(_, _, window)| window.clone()).unwrap_or_default();
    let context = |(number, place, window): (usize, usize, Vec<f32>)| Context {
        text: texts[number].clone(),
        place,
        cosine: score(&first, &window),
    };
    Some(found.into_iter().map(context).collect())
}
