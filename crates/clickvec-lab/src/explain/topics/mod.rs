//! The topic of each cell: the keywords that it collects over many queries (LSTM paper, table III).

mod page;
mod text;

use clickvec::encoder::{Direction, State, TextStates};
use clickvec::explain::{Explainer, KeywordOptions, Panel, Word};
use clickvec::internals::encoder::Reading;
use clickvec::internals::explain::{direction_counts, from_one, largest};
use clickvec::internals::text::WordBuffer;
use clickvec::model::Side;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most words of a cell that a text or a page shows.
const WORDS: usize = 8;

/// The words that a model's cells collect over a set of queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Topics {
    /// The number of most active cells that collect words of a query, in each direction.
    pub active: usize,
    /// See [`KeywordOptions::threshold`].
    pub threshold: f32,
    /// The cells that collected a word, those with the most queries first.
    pub cells: Vec<CellTopic>,
    /// Table III: the queries with a word, each with the words of its most active cells.
    pub table: Vec<QueryTopics>,
}

/// A query and the keywords that its most active cells collect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueryTopics {
    /// The query.
    pub query: String,
    /// Its most active cells, most active first.
    pub cells: Vec<Collected>,
}

/// The words that a cell collects from a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The cell.
    #[serde(serialize_with = "from_one")]
    pub cell: usize,
    /// The keywords that it collects, possibly none.
    pub words: Vec<String>,
}

/// The words that a cell collects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellTopic {
    /// The cell, counted from 0; reports count from 1. Cells of the second direction of a bidirectional LSTM follow those of the first.
    #[serde(serialize_with = "from_one")]
    pub cell: usize,
    /// Its most informative words.
    pub name: String,
    /// Number of queries in which it collects a word.
    pub queries: usize,
    /// Fraction of the queries in which it collects a word.
    pub share: f64,
    /// The mean pointwise mutual information, in bits, of the cell and the words that it collects: 0 if it collects
    /// words in proportion to their frequency, large if it collects a few words that other cells do not.
    pub purity: f64,
    /// The words, most informative about the cell first.
    pub words: Vec<CellWord>,
}

/// A word that a cell collects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellWord {
    /// The word.
    pub word: String,
    /// The number of times that the cell collects it.
    pub count: usize,
    /// log₂ P(word | cell) / P(word), over everything that cells collect.
    pub information: f64,
}

/// Words in a cell's name.
const NAME_WORDS: usize = 3;

impl Topics {
    /// Finds the words that the most active cells of each query collect. `None` if the encoder reads a bag of words,
    /// because it then has no states word by word.
    ///
    /// A cell of a recurrent encoder, one of the [`KeywordOptions::cells`] most active, collects the words that change it by more
    /// than [`KeywordOptions::threshold`], except the word that is read first. A max-pooling unit of a CLSM, one of the
    /// [`KeywordOptions::units`] most active, collects the word that wins it. No cell collects a merged tail.
    pub fn new(explainer: &Explainer<'_>, side: Side, queries: &[String], options: &KeywordOptions) -> Option<Topics> {
        let mut table = Vec::with_capacity(queries.len());
        let (mut has_states, mut buffer) = (true, WordBuffer::default());
        explainer.read(side, queries, |number, states| {
            has_states &= !states.word_quantities().is_empty();
            if states.words() > 0 {
                let words = explainer.words(&queries[number], &mut buffer).0;
                let cells = collected(&words, states, options);
                table.push(QueryTopics { query: queries[number].clone(), cells });
            }
        });
        let has_windows = explainer.encoder_config().description().reading == Reading::Windows;
        let active = if has_windows { options.units } else { options.cells };
        has_states.then(|| Topics { active, threshold: options.threshold, cells: by_cell(&table), table })
    }

    /// Returns for each query of the table its most active cell that collects a word.
    pub fn main_cells(&self) -> impl Iterator<Item = Option<usize>> {
        self.table.iter().map(|query| query.cells.iter().find(|cell| !cell.words.is_empty()).map(|cell| cell.cell))
    }
}

/// Returns the cells that collect a word in these rows, in their order.
fn columns(rows: &[QueryTopics]) -> Vec<usize> {
    let collecting = rows.iter().flat_map(|row| &row.cells).filter(|cell| !cell.words.is_empty());
    collecting.map(|cell| cell.cell).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the words of a query that a cell collects.
fn collected_by(row: &QueryTopics, cell: usize) -> &[String] {
    row.cells.iter().find(|each| each.cell == cell).map_or(&[], |cell| &cell.words)
}

/// Returns a query's most active cells with the words that each collects.
fn collected(words: &[Word], states: TextStates<'_>, options: &KeywordOptions) -> Vec<Collected> {
    let named = |word: usize| Some(&words[word]).filter(|word| word.parts == 1).map(|word| word.text.clone());
    if let Some(winners) = states.winners() {
        let maximum = states.at_text(State::Maximum).expect("what winners win");
        let units = largest(&maximum, options.units, |value| value).into_iter();
        return units
            .map(|unit| Collected { cell: unit, words: named(winners[unit] as usize).into_iter().collect() })
            .collect();
    }
    let mut cells = Vec::new();
    let mut offset = 0;
    for direction in [Direction::Forward, Direction::Backward] {
        let quantity = State::Activation.read(direction);
        let rows: Vec<_> = (0..words.len()).filter_map(|word| states.at(quantity, word)).collect();
        let Some(units) = rows.first().map(|row| row.len()) else { continue };
        let panel = Panel { quantity, units, values: rows.concat() };
        let counts = direction_counts(&panel, words.len(), options);
        for cell in counts.cells {
            let changed = |word: &usize| counts.assigned[*word].as_ref().is_some_and(|cells| cells.contains(&cell));
            let words = (0..words.len()).filter(changed).filter_map(named).collect();
            cells.push(Collected { cell: offset + cell, words });
        }
        offset += units;
    }
    cells
}

fn by_cell(table: &[QueryTopics]) -> Vec<CellTopic> {
    let mut counts: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut queries: BTreeMap<usize, usize> = BTreeMap::new();
    let mut with_word: BTreeMap<&str, usize> = BTreeMap::new();
    let mut total = 0usize;
    for query in table {
        let mut seen = BTreeSet::new();
        for Collected { cell, words } in &query.cells {
            for word in words {
                *counts.entry(*cell).or_default().entry(word).or_default() += 1;
                *with_word.entry(word).or_default() += 1;
                total += 1;
            }
            if !words.is_empty() && seen.insert(cell) {
                *queries.entry(*cell).or_default() += 1;
            }
        }
    }
    let topic = |(cell, words): (usize, BTreeMap<&str, usize>)| {
        let in_cell: usize = words.values().sum();
        let word = |(&word, &count): (&&str, &usize)| {
            let information = ((count * total) as f64 / (in_cell * with_word[word]) as f64).log2();
            CellWord { word: word.to_owned(), count, information }
        };
        let mut words: Vec<CellWord> = words.iter().map(word).collect();
        let says = |word: &CellWord| word.count as f64 * word.information;
        words.sort_by(|a, b| says(b).total_cmp(&says(a)).then(b.count.cmp(&a.count)).then(a.word.cmp(&b.word)));
        let purity = words.iter().map(says).sum::<f64>() / in_cell as f64;
        let name = words.iter().take(NAME_WORDS).map(|word| word.word.as_str()).collect::<Vec<_>>().join(", ");
        let share = queries[&cell] as f64 / table.len() as f64;
        CellTopic { cell, name, queries: queries[&cell], share, purity, words }
    };
    let mut cells: Vec<CellTopic> = counts.into_iter().map(topic).collect();
    cells.sort_by(|a, b| b.queries.cmp(&a.queries).then(a.cell.cmp(&b.cell)));
    cells
}
