//! The JSON of a text. Cells and units are counted from 1, words from 0.

use clickvec::explain::{Evidence, Keywords, Panel, TextReport, TextView, WordShares};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct JsonText<'a> {
    text: &'a str,
    #[serde(flatten)]
    report: TextReport<'a>,
    /// The cells that each word changed, or the words that won units.
    #[serde(flatten)]
    evidence: Option<&'a Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<&'a [Panel]>,
}

impl<'a> JsonText<'a> {
    pub(super) fn new(text: &'a TextView, keywords: Option<&'a Keywords>, shares: Option<&WordShares>) -> Self {
        let evidence = keywords.map(|keywords| &keywords.evidence);
        JsonText { text: &text.text, report: text.report(keywords, shares), evidence, states: None }
    }

    /// Adds the states at every word.
    pub(super) fn with_states(self, text: &'a TextView) -> Self {
        JsonText { states: Some(&text.panels), ..self }
    }
}
