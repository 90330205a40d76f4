//! A match for a terminal.

use std::fmt::Write as _;

use clickvec::encoder::EncoderConfig;
use clickvec::encoder::State;
use clickvec::explain::{KeywordOptions, SharedUnit};
use clickvec::internals::encoder::{Reading, describe};

use super::{Half, NamedModel, Pair, Seen, beyond, nothing, pairs_of_words, rows, word_at};
use crate::aligned;
use crate::commands::explain::given;
use crate::commands::explain::models::{one_of_each_kind, states};

/// The text of a table's cell for a word of one side.
type WordCell<'a> = &'a dyn Fn(&Half<'_>, usize) -> String;

/// How many pairs of words are named next to the score.
const PAIRS: usize = 3;
/// Length of the longest bar in characters.
const BAR: f64 = 12.0;

/// A pair as all models see it.
pub(super) fn pair(pair: &Pair, models: &[NamedModel], seen: &[Seen], top: usize) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "query  {}", given(&pair.query));
    let _ = writeln!(text, "title  {}", given(&pair.title));
    if let Some(grade) = pair.grade {
        let _ = writeln!(text, "grade  {grade}");
    }
    match (models, seen) {
        ([model], [seen]) => push_one(&mut text, model, seen, top),
        _ => push_several(&mut text, models, seen, top),
    }
    text
}

fn push_one(text: &mut String, model: &NamedModel, seen: &Seen, top: usize) {
    let through = pairs_of_words(&seen.found, PAIRS).join(", ");
    let _ = writeln!(text, "model  {}", model.title());
    let _ = write!(text, "score  {:.3}", seen.found.score);
    let _ = if through.is_empty() { writeln!(text) } else { writeln!(text, "  mostly through {through}") };
    push_warnings(text, "", seen);
    if seen.sides().iter().any(|half| !half.view.words.is_empty()) {
        let _ = writeln!(text, "\n{}", words_of_one(seen, model));
    }
    push_units(text, model, seen, top);
}

/// Tables V–VIII of the LSTM paper: one column for each model; here also with the shares of the words.
fn push_several(text: &mut String, models: &[NamedModel], seen: &[Seen], top: usize) {
    let mut scores = aligned::plain();
    scores.set_header(["model", "score", "mostly through", "encoder"]);
    for (model, seen) in models.iter().zip(seen) {
        scores.add_row([
            model.name.clone(),
            format!("{:.3}", seen.found.score),
            pairs_of_words(&seen.found, PAIRS).join(", "),
            model.model.encoder_config().to_string(),
        ]);
    }
    aligned::align_right(&mut scores, 1..2);
    let _ = writeln!(text, "\n{}", aligned::show(&mut scores));
    for (model, seen) in models.iter().zip(seen) {
        push_warnings(text, &format!("{}: ", model.name), seen);
    }
    let parts: [(&str, WordCell<'_>); 3] = [
        ("cells or units", &|half, place| {
            format!("{}{}", if half.is_keyword(place) { "*" } else { "" }, half.cells(place))
        }),
        ("along", &|half, place| format!("{:+.3}", half.shares.along[place])),
        ("without", &|half, place| format!("{:+.3}", half.shares.without[place])),
    ];
    for (name, value) in parts {
        let mut words = aligned::plain();
        words.set_header([name, ""].into_iter().chain(models.iter().map(|model| model.name.as_str())));
        for side in 0..2 {
            let halves: Vec<Half<'_>> = seen.iter().map(|seen| seen.sides()[side]).collect();
            for (number, (word, places)) in rows(&halves).into_iter().enumerate() {
                let name = halves.first().filter(|_| number == 0).map_or("", |half| half.name);
                let cell =
                    |(half, place): (&Half<'_>, Option<usize>)| place.map_or(String::new(), |place| value(half, place));
                let cells = halves.iter().zip(places).map(cell);
                words.add_row([name.to_owned(), word.shown().into_owned()].into_iter().chain(cells));
            }
        }
        aligned::align_right(&mut words, 2..2 + models.len());
        let _ = writeln!(text, "\n{}", aligned::show(&mut words));
    }
    for (model, seen) in models.iter().zip(seen) {
        if !seen.shared(top).is_empty() {
            let _ = write!(text, "\n{}:", model.title());
            push_units(text, model, seen, top);
        }
    }
}

fn push_warnings(text: &mut String, name: &str, seen: &Seen) {
    for line in nothing(&seen.found).into_iter().chain(beyond(&seen.found)) {
        let _ = writeln!(text, "{name}{line}");
    }
}

/// The words of both texts as one model sees them; columns for which this model has no values are left out.
fn words_of_one(seen: &Seen, model: &NamedModel) -> String {
    let sides = seen.sides();
    let has_states = sides.iter().any(|half| half.keywords.is_some());
    let has_gates = sides.iter().any(Half::has_gates);
    let largest = sides.iter().flat_map(|half| &half.shares.along).fold(0.0f64, |most, share| most.max(share.abs()));
    let mut words = aligned::plain();
    let counted = sides[0].cells_title(model);
    let mut header = vec!["", "word"];
    if has_states {
        header.extend(["keyword", &counted]);
    }
    if has_gates {
        header.push("input gate");
    }
    let numbers = if has_states { 3 } else { 2 };
    let along = header.len();
    header.extend(["along", "", "without"]);
    words.set_header(header);
    for half in &sides {
        for (place, word) in half.view.words.iter().enumerate() {
            let name = format!("{}{}", word.shown(), if word.known { "" } else { " (unknown)" });
            let mut row = vec![if place == 0 { half.name.to_owned() } else { String::new() }, name];
            if has_states {
                row.extend([if half.is_keyword(place) { "*" } else { "" }.to_owned(), half.cells(place)]);
            }
            if has_gates {
                row.push(half.gate(place));
            }
            let share = half.shares.along[place];
            row.extend([format!("{share:+.3}"), bar(share, largest), format!("{:+.3}", half.shares.without[place])]);
            words.add_row(row);
        }
    }
    aligned::align_right(&mut words, numbers..along + 1);
    aligned::align_right(&mut words, along + 2..along + 3);
    aligned::show(&mut words)
}

/// A share as a bar: dark if positive, light if negative.
fn bar(share: f64, largest: f64) -> String {
    let length = if largest > 0.0 { (share.abs() / largest * BAR).round() as usize } else { 0 };
    if share < 0.0 { "░" } else { "█" }.repeat(length)
}

fn push_units(text: &mut String, model: &NamedModel, seen: &Seen, top: usize) {
    let shared = seen.shared(top);
    let found = &seen.found;
    if !shared.is_empty() {
        let _ = writeln!(text, "\n{}", units_table(model, seen, &shared));
    }
    let sum: f64 = found.units.iter().sum();
    if seen.is_maximum() {
        let mut largest: Vec<&SharedUnit> = found.shared.iter().filter(|unit| unit.product > 0.0).collect();
        largest.truncate(PAIRS);
        let largest: Vec<String> =
            largest.iter().map(|unit| format!("{} {:+.3}", unit.unit + 1, unit.product)).collect();
        let _ = writeln!(
            text,
            "These products do not sum to the score. The shares of the vectors' {} dimensions do ({sum:.3}); largest: {}.",
            found.units.len(),
            if largest.is_empty() { "none".to_owned() } else { largest.join(", ") }
        );
    } else if !shared.is_empty() {
        let shown: f64 = shared.iter().map(|unit| unit.product).sum();
        let _ = writeln!(
            text,
            "These {} of {} dimensions add up to {shown:.3}; all of them add up to the score, {sum:.3}.",
            shared.len(),
            found.units.len()
        );
    }
}

fn units_table(model: &NamedModel, seen: &Seen, shared: &[&SharedUnit]) -> String {
    let mut units = aligned::plain();
    let (unit, product) = if seen.is_maximum() { ("max-pooling unit", "product") } else { (model.unit(), "share") };
    let words = shared.iter().any(|unit| unit.query_word.is_some());
    let mut header = vec![unit, product, "query", "title"];
    if words {
        header.extend(["query word", "title word"]);
    }
    units.set_header(header);
    for unit in shared {
        let mut row = vec![
            (unit.unit + 1).to_string(),
            format!("{:+.3}", unit.product),
            format!("{:+.3}", unit.query),
            format!("{:+.3}", unit.title),
        ];
        if words {
            row.extend([word_at(&seen.found.query, unit.query_word), word_at(&seen.found.title, unit.title_word)]);
        }
        units.add_row(row);
    }
    aligned::align_right(&mut units, 1..4);
    aligned::show(&mut units)
}

/// What the columns mean, once for all pairs.
pub(super) fn legend(models: &[NamedModel], options: &KeywordOptions) -> String {
    let mut text = String::from(
        "along: how far the vector moves towards the other text while the word is read; these sum to the score\n\
         without: how much the score falls when the word is removed; these do not sum to it\n",
    );
    if models.iter().any(|named| named.description().reading == Reading::WordByWord) {
        let _ = writeln!(
            text,
            "*: a keyword: it changes at least {} of the {} most active {} by more than {} of their mean activation;\n   \
             the word that is read first changes all of them, so it has no count (-)",
            options.at_least,
            options.cells,
            states(models),
            options.threshold
        );
    }
    if models.iter().any(|named| named.model.encoder_config().projection().is_some()) {
        text.push_str("A dimension of a projection mixes all cells, so it has no words of its own.\n");
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::Windows) {
        let _ = writeln!(
            text,
            "*: a keyword of {}: it wins at least one of the {} most active max-pooling units",
            a_kind(config),
            options.units
        );
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::WordByWord && of.gates.is_empty()) {
        let _ = writeln!(text, "{} has no gates, so there is no input gate to show.", capitalized(&a_kind(config)));
    }
    for config in one_of_each_kind(models, |of| !of.gates.is_empty() && !of.gates.contains(&State::InputGate)) {
        let (kind, gates) = (capitalized(&a_kind(config)), gates(describe(config).gates));
        let _ = writeln!(text, "{kind} has no input gate: its page shows {gates}.");
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::Bag) {
        let kind = capitalized(&a_kind(config));
        let _ = writeln!(text, "{kind} reads a bag of words, so it has no states word by word.");
    }
    text
}

/// The kind of an encoder with its article, which depends on how its letters are read: `an lstm`.
fn a_kind(config: &EncoderConfig) -> String {
    let article = if config.kind().starts_with(['l', 'r']) { "an" } else { "a" };
    format!("{article} {}", config.kind())
}

/// The gates of an encoder: `its two gates, the update gate and the reset gate`.
fn gates(gates: &[State]) -> String {
    match gates {
        [gate] => format!("its only gate, the {gate}"),
        [first, second] => format!("its two gates, the {first} and the {second}"),
        several => {
            let names: Vec<String> = several.iter().map(|gate| format!("the {gate}")).collect();
            format!("its gates: {}", names.join(", "))
        }
    }
}

/// A sentence's beginning, in letters from a to z.
fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
