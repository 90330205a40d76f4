//! A word in different contexts (CLSM paper, table 2), compared by the features of the window around it.

use clickvec::encoder::State;
use clickvec::explain::Explainer;
use clickvec::internals::encoder::Reading;
use clickvec::internals::explain::unit;
use clickvec::internals::math::score::score;
use clickvec::internals::text::{WordBuffer, words};
use clickvec::model::Side;
use clickvec_report::report::{Cell, Column, Mark, Report, Table};
use serde::Serialize;

/// A text that contains the word, compared with the first such text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// The word.
    pub word: String,
    /// The text.
    #[serde(rename = "context")]
    pub text: String,
    /// The position of the word in the text.
    pub position: usize,
    /// The cosine of the word's window features with those in the first context.
    pub cosine: f32,
}

/// Compares the texts among `texts` that contain `word` with the first of them. `None` if the encoder has no windows.
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
        let position = explainer.words(texts[number], &mut buffer).0.iter().position(|each| each.text == word);
        if let Some((position, window)) = position.and_then(|at| Some((at, states.at(State::Window, at)?))) {
            found.push((number, position, unit(&window)));
        }
    });
    let first = found.first().map(|(_, _, window)| window.clone()).unwrap_or_default();
    let context = |(number, position, window): (usize, usize, Vec<f32>)| Context {
        word: word.to_owned(),
        text: texts[number].clone(),
        position,
        cosine: score(&first, &window),
    };
    Some(found.into_iter().map(context).collect())
}

/// Reports the contexts of a word, comparing the first with the others.
pub fn context_report(contexts: &[Context]) -> Report {
    let mut report = Report::default();
    let Some((first, others)) = contexts.split_first() else { return report };
    report.paragraph(format!("*{}* in: {}", first.word, first.text));
    let largest = others.iter().fold(0.0f64, |largest, context| largest.max(f64::from(context.cosine).abs()));
    let mut table = Table::new([Column::share("cosine", largest), Column::long("compared with")]);
    for context in others {
        let mark =
            |(position, word): (usize, &String)| Mark { is_keyword: position == context.position, ..Mark::plain(word) };
        let marked = words(&context.text).iter().enumerate().map(mark).collect();
        table.add([Cell::share(context.cosine.into()), Cell::Words(marked)]);
    }
    report.table(table);
    report
}
