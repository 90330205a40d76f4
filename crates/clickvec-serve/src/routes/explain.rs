//! `POST /explain`: why a title has its scores for a query, and why it is above another.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use clickvec::encoder::{self, Direction, EncoderConfig};
use clickvec::explain::{KeywordOptions, Match, Panel, SharedUnit, TextReport, TextView, WordPair, WordShares};
use clickvec::internals::encoder::{Description, Reading};
use clickvec::internals::explain::largest;
use clickvec_index::{ByPart, Explanation, Gap, WordShare};
use serde::{Deserialize, Serialize};

use crate::answer::Record;
use crate::clients::Caller;
use crate::fault::Fault;
use crate::generation::Generation;
use crate::request::{JsonBody, WholeNumber};
use crate::service::Service;

/// The default number of units of an answer.
const UNITS: usize = 12;
/// No answer has more: the largest models have about as many.
const MOST_UNITS: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query` and `id`")]
pub(super) struct ExplainRequest {
    query: String,
    id: String,
    /// A title to compare it with.
    other: Option<String>,
    index: Option<String>,
    generation: Option<String>,
    /// The number of units, those that add most.
    units: Option<WholeNumber>,
}

#[derive(Serialize)]
struct Explained<'a> {
    index: &'a str,
    generation: u64,
    /// The kind of a vector's numbers: `cell`, `unit` or `dimension`.
    unit: &'static str,
    title: Title<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Title<'a>>,
    /// The scores of the title less those of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap<'a>>,
}

/// A title and its scores.
#[derive(Serialize)]
struct Title<'a> {
    id: &'a str,
    title: &'a str,
    fields: &'a BTreeMap<String, String>,
    /// By each part of the index.
    scores: ByPart<f32>,
    bm25: &'a [WordShare],
    query: Text<'a>,
    text: Text<'a>,
    /// The pairs of words that add most to the cosine.
    pairs: Vec<WordPair>,
    units: Vec<SharedUnit>,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(flatten)]
    report: TextReport<'a>,
    heat: Vec<Heat>,
}

/// A state of the units that are shown, at each word.
#[derive(Serialize)]
struct Heat {
    state: String,
    direction: Direction,
    /// The numbers of the units, counted from 1.
    units: Vec<usize>,
    /// For each unit, its value at each word.
    values: Vec<Vec<f32>>,
}

/// Explains a title, or two.
pub(super) async fn explain(
    State(service): State<Arc<Service>>,
    caller: Caller,
    JsonBody(ExplainRequest { query, id, other, index, generation, units }): JsonBody<ExplainRequest>,
) -> Result<Response, Fault> {
    let units = units.map_or(UNITS, |WholeNumber(units)| units);
    if units > MOST_UNITS {
        return Err(Fault::field("units", format!("at most {MOST_UNITS} units"), units.to_string()));
    }
    service.check_text("query", &query)?;
    service.check_text("id", &id)?;
    other.iter().try_for_each(|other| service.check_text("other", other))?;
    let generation = service.generation(index.as_deref(), generation.as_deref())?;
    // However small the limit of a batch, a title can be explained.
    let texts = (2 + usize::from(other.is_some())).min(service.config.limits.batch);
    let mut record = Record::new(&generation, texts);
    record.query = service.config.log_queries.then(|| query.clone());
    let work = move || Ok((explained(&generation, &query, &id, other.as_deref(), units)?, Vec::new()));
    service.work(&caller, record, work).await
}

fn explained(
    generation: &Generation,
    query: &str,
    id: &str,
    other: Option<&str>,
    units: usize,
) -> Result<Vec<u8>, Fault> {
    let explain = |id: &str| generation.index.explain(query, id);
    let (first, second) = (explain(id)?, other.map(explain).transpose()?);
    let model = generation.index.model();
    let shown = Shown::new(&first.vectors, model.encoder_config(), units);
    let explained = Explained {
        index: &generation.name,
        generation: generation.number,
        unit: model.encoder_config().unit_name(),
        title: title(&first, &shown),
        other: second.as_ref().map(|second| title(second, &shown)),
        gap: second.as_ref().map(|second| first.gap(second)),
    };
    Ok(serde_json::to_vec(&explained)?)
}

/// The parts of each text to draw: those that matter for the first title, so that all can be compared.
struct Shown {
    /// Dimensions of the vector.
    dimensions: Vec<usize>,
    /// The cells or units of the encoder. They are the dimensions, unless a projection mixes the cells: then they are those that are
    /// largest at a word of the query or the title. Windows are chosen text by text.
    cells: Option<Vec<usize>>,
    /// The states that tell most.
    telling: &'static [encoder::State],
}

impl Shown {
    fn new(first: &Match, encoder: &EncoderConfig, most: usize) -> Shown {
        let Description { reading, telling, .. } = encoder.description();
        let dimensions: Vec<usize> = first.shared.iter().take(most).map(|unit| unit.unit).collect();
        let cells = match reading {
            Reading::Windows => None,
            _ if encoder.projection().is_some() => Some(most_active(&[&first.query, &first.title], dimensions.len())),
            _ => Some(dimensions.clone()),
        };
        Shown { dimensions, cells, telling }
    }
}

/// Returns the cells whose activations are largest at a word of the texts.
fn most_active(views: &[&TextView], most: usize) -> Vec<usize> {
    let mut top: Vec<f32> = Vec::new();
    for view in views {
        let Some(panel) = view.panel(encoder::State::Activation) else { continue };
        top.resize(panel.units, 0.0);
        for word in 0..view.words.len() {
            top.iter_mut().zip(panel.at(word)).for_each(|(top, value)| *top = top.max(value.abs()));
        }
    }
    largest(&top, most, |top| top)
}

fn title<'a>(explanation: &'a Explanation, shown: &Shown) -> Title<'a> {
    let Explanation { document, scores, vectors, words, .. } = explanation;
    let pairs = vectors.word_pairs().into_iter().take(shown.dimensions.len());
    let units =
        shown.dimensions.iter().filter_map(|&unit| vectors.shared.iter().find(|shared| shared.unit == unit).copied());
    Title {
        id: &document.id,
        title: &document.title,
        fields: &document.fields,
        scores: *scores,
        bm25: words,
        query: text(&vectors.query, &vectors.query_words, shown),
        text: text(&vectors.title, &vectors.title_words, shown),
        pairs: pairs.collect(),
        units: units.collect(),
    }
}

fn text<'a>(view: &'a TextView, shares: &WordShares, shown: &Shown) -> Text<'a> {
    let keywords = view.keywords(&KeywordOptions::default());
    let panels = view.panels.iter().filter(|panel| shown.telling.contains(&panel.quantity.state));
    Text {
        report: view.report(keywords.as_ref(), Some(shares)),
        heat: panels.filter_map(|panel| heat(view, panel, shown)).collect(),
    }
}

/// Returns the values of a panel for the units that are shown. A direction has its own part of the vector's dimensions.
fn heat(view: &TextView, panel: &Panel, shown: &Shown) -> Option<Heat> {
    let is_backward = panel.quantity.direction == Direction::Backward;
    // The dimensions of the vector are the cells of the forward pass, then those of the backward pass.
    let start = if is_backward { view.vector.len().checked_sub(panel.units)? } else { 0 };
    let units: Vec<usize> = match &shown.cells {
        Some(cells) => {
            let cells = cells.iter().filter_map(|&cell| cell.checked_sub(start));
            cells.filter(|&cell| cell < panel.units).collect()
        }
        None => {
            let top = |unit: usize| (0..view.words.len()).map(|word| panel.at(word)[unit].abs()).fold(0.0, f32::max);
            largest(&(0..panel.units).map(top).collect::<Vec<_>>(), shown.dimensions.len(), |top| top)
        }
    };
    if units.is_empty() || view.words.is_empty() {
        return None;
    }
    let values = units.iter().map(|&unit| (0..view.words.len()).map(|word| panel.at(word)[unit]).collect());
    Some(Heat {
        state: panel.quantity.state.to_string(),
        direction: panel.quantity.direction,
        values: values.collect(),
        units: units.iter().map(|unit| unit + start + 1).collect(),
    })
}
