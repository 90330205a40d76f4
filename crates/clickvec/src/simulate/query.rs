//! What people type.

use rand::RngExt as _;

use super::collection::{Want, pick};
use super::market::{Kind, Rng};
use super::world::{Pattern, Sayings, World};

/// How often a part of a query is said in words that no title has.
const ASKED: f64 = 0.4;
/// How often a word that says little is left out.
const LEAVES_OUT: f64 = 0.6;
/// Words that say little; where order decides, they stay.
pub(super) const SMALL_WORDS: [&str; 16] =
    ["how", "to", "in", "of", "a", "for", "the", "what", "is", "your", "on", "with", "as", "from", "do", "|"];

/// Appends a query for what is wanted, of this kind if one is given, and returns its kind.
pub(super) fn ask(world: &World, want: Want, kind: Option<Kind>, rng: &mut Rng, text: &mut String) -> Kind {
    match want {
        Want::Thing { thing, aspect, quality } => ask_thing(world, (thing, aspect, quality), kind, rng, text),
        Want::Ordered { frame, a, b } => {
            let frame = &world.frames[frame];
            let said = pick(&frame.queries, rng).replace("{a}", &frame.values[a]).replace("{b}", &frame.values[b]);
            text.push_str(&said.to_lowercase());
            Kind::Order
        }
        Want::Site { site, page } => {
            let page = &world.pages[page];
            let said = pick(chosen(page, rng.random_bool(ASKED)), rng).around(&world.sites[site]);
            push_query(&said, rng, text);
            Kind::Navigational
        }
    }
}

fn ask_thing(
    world: &World,
    (thing, aspect, quality): (usize, usize, usize),
    kind: Option<Kind>,
    rng: &mut Rng,
    text: &mut String,
) -> Kind {
    let thing = &world.things[thing];
    let mut asked = [ASKED; 3].map(|share| rng.random_bool(share));
    match kind {
        Some(Kind::Synonym) => asked = [true; 3],
        Some(Kind::Sense) => asked = [false, true, true],
        Some(_) => asked = [false; 3],
        None => {}
    }
    let has_two_senses = |name: usize| !thing.namesakes[name].is_empty();
    let mut name = rng.random_range(0..thing.names.said.len());
    if kind == Some(Kind::Sense) {
        name = (0..thing.names.said.len()).find(|&name| has_two_senses(name)).unwrap_or(name);
    }
    // Alone, a name of two things would mean either.
    if aspect == 0 && has_two_senses(name) {
        asked[0] = true;
    }
    let mut said = match asked[0] {
        true => pick(&thing.names.asked, rng).clone(),
        false => thing.names.said[name].clone(),
    };
    if aspect > 0 {
        said = pick(chosen(&world.topics[thing.topic].aspects[aspect - 1], asked[1]), rng).around(&said);
    }
    if quality > 0 {
        said = pick(chosen(&world.qualities[quality - 1], asked[2]), rng).around(&said);
    }
    push_query(&said, rng, text);
    let all_asked = asked[0] && (aspect == 0 || asked[1]) && (quality == 0 || asked[2]);
    match all_asked {
        true => Kind::Synonym,
        false if !asked[0] && has_two_senses(name) && asked[1] => Kind::Sense,
        false => Kind::Plain,
    }
}

fn chosen(sayings: &Sayings<Pattern>, asked: bool) -> &[Pattern] {
    if asked { &sayings.asked } else { &sayings.said }
}

/// In lower case, some small words left out.
fn push_query(said: &str, rng: &mut Rng, text: &mut String) {
    let leaves_out = rng.random_bool(LEAVES_OUT);
    let mut first = true;
    for word in said.to_lowercase().split_whitespace() {
        if leaves_out && SMALL_WORDS.contains(&word) {
            continue;
        }
        if !first {
            text.push(' ');
        }
        first = false;
        text.push_str(word);
    }
}
