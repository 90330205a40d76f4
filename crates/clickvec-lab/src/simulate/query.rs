//! Queries as people type them.

use rand::RngExt as _;

use super::market::{QueryKind, Rng};
use super::want::{Want, pick};
use super::world::{Pattern, Sayings, World};

/// The probability that a part of a query uses words that no title has.
const ASKED: f64 = 0.4;
/// The probability that an unimportant word is left out.
const LEAVES_OUT: f64 = 0.6;
/// Words that say little.
pub(super) const SMALL_WORDS: [&str; 16] =
    ["how", "to", "in", "of", "a", "for", "the", "what", "is", "your", "on", "with", "as", "from", "do", "|"];
/// Small words that may be left out if something follows them, except where order matters. `what is`, `log in` and
/// `not turning on` would be unusual without theirs.
pub(super) const LEFT_OUT: [&str; 6] = ["of", "a", "for", "the", "your", "with"];

/// Appends a query for a want, of `kind` if there is one, and returns its kind.
pub(super) fn ask(world: &World, want: Want, kind: Option<QueryKind>, rng: &mut Rng, text: &mut String) -> QueryKind {
    match want {
        Want::Thing { thing, aspect, quality } => ask_thing(world, (thing, aspect, quality), kind, rng, text),
        Want::Ordered { frame, a, b } => {
            let frame = &world.frames[frame];
            let said = pick(&frame.queries, rng).replace("{a}", &frame.values[a]).replace("{b}", &frame.values[b]);
            text.push_str(&said.to_lowercase());
            QueryKind::Order
        }
        Want::Site { site, page } => {
            let page = &world.pages[page];
            let said = pick(chosen(page, rng.random_bool(ASKED)), rng).around(&world.sites[site]);
            // Names of sites and pages stay complete.
            text.push_str(&said.to_lowercase());
            QueryKind::Navigational
        }
    }
}

fn ask_thing(
    world: &World,
    (thing, aspect, quality): (usize, usize, usize),
    kind: Option<QueryKind>,
    rng: &mut Rng,
    text: &mut String,
) -> QueryKind {
    let thing = &world.things[thing];
    let mut typed = [ASKED; 3].map(|share| rng.random_bool(share));
    match kind {
        Some(QueryKind::Synonym) => typed = [true; 3],
        Some(QueryKind::Sense) => typed = [false, true, true],
        Some(_) => typed = [false; 3],
        None => {}
    }
    let has_two_senses = |name: usize| !thing.namesakes[name].is_empty();
    let mut name = rng.random_range(0..thing.names.said.len());
    if kind == Some(QueryKind::Sense) {
        name = (0..thing.names.said.len()).find(|&name| has_two_senses(name)).unwrap_or(name);
    }
    // On its own, a name of two things could mean either.
    if aspect == 0 && has_two_senses(name) {
        typed[0] = true;
    }
    let mut said = if typed[0] { pick(&thing.names.typed, rng).clone() } else { thing.names.said[name].clone() };
    if aspect > 0 {
        said = pick(chosen(&world.topics[thing.topic].aspects[aspect - 1], typed[1]), rng).around(&said);
    }
    if quality > 0 {
        said = pick(chosen(&world.qualities[quality - 1], typed[2]), rng).around(&said);
    }
    push_query(&said, rng, text);
    let all_typed = typed[0] && (aspect == 0 || typed[1]) && (quality == 0 || typed[2]);
    if all_typed {
        QueryKind::Synonym
    } else if !typed[0] && has_two_senses(name) && typed[1] {
        QueryKind::Sense
    } else {
        QueryKind::Plain
    }
}

fn chosen(sayings: &Sayings<Pattern>, typed: bool) -> &[Pattern] {
    if typed { &sayings.typed } else { &sayings.said }
}

/// Appends text in lower case, leaving out some small words, but never the last word.
fn push_query(said: &str, rng: &mut Rng, text: &mut String) {
    let leaves_out = rng.random_bool(LEAVES_OUT);
    let said = said.to_lowercase();
    let said = if leaves_out { said.strip_prefix("how to ").unwrap_or(&said) } else { &said };
    let mut all = said.split_whitespace().peekable();
    let start = text.len();
    while let Some(word) = all.next() {
        if leaves_out && all.peek().is_some() && LEFT_OUT.contains(&word) {
            continue;
        }
        if text.len() > start {
            text.push(' ');
        }
        text.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec::internals::rng;

    #[test]
    fn small_words_are_left_out_where_the_rest_still_says_it() {
        let said = |text: &str| {
            let typed = |index| {
                let mut query = String::new();
                push_query(text, &mut rng::stream(1, "query", index), &mut query);
                query
            };
            let mut all: Vec<String> = (0..50).map(typed).collect();
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(said("How to Make Pizza"), ["how to make pizza", "make pizza"]);
        assert_eq!(said("What Is Gold"), ["what is gold"]);
        assert_eq!(said("History of Pizza"), ["history of pizza", "history pizza"]);
        assert_eq!(said("Laptop Not Turning On"), ["laptop not turning on"]);
        assert_eq!(said("The Story of"), ["story of", "the story of"]);
    }
}
