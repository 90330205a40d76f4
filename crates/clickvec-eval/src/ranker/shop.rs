//! A generated shop for tests of rankers: kinds of goods with several names each, and queries with judged titles.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::SYSTEMS;
use clickvec::internals::rng::stream;
use clickvec::internals::text::Interner;
use clickvec_eval::internals::RankerState;
use clickvec_eval::ranker::{Corpus, RankerSpec, System, SystemRanker};
use clickvec_eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Judgments, Metric, evaluate};

const KINDS: u32 = 30;
/// The number of names of a kind. Each title has some of them.
const NAMES: u32 = 4;
const COLOURS: u32 = 3;
const BRANDS: u32 = 20;

pub(crate) struct Shop {
    pub(crate) corpus: Corpus,
    /// Titles with both words of the query are perfect, those with the name alone excellent.
    pub(crate) judgments: Judgments,
    /// No title has the name in the query. Titles of the same kind and colour are perfect, those of the same kind
    /// good.
    pub(crate) renamed: Judgments,
}

/// Words of arbitrary letters, so that trigrams reveal nothing.
fn word(role: &str, number: u32) -> String {
    let mut letters = stream(7, role, u64::from(number));
    (0..6).map(|_| char::from(letters.random_range(b'a'..=b'z'))).collect()
}

/// A title of this kind and colour. `name` says which of the kind's names it must have, or must not have.
fn title(random: &mut Xoshiro256PlusPlus, kind: u32, colour: u32, name: Option<(u32, bool)>) -> String {
    let names = loop {
        let mut names: Vec<u32> = (0..NAMES).collect();
        names.shuffle(random);
        names.truncate(random.random_range(2..=3));
        if name.is_none_or(|(name, there)| names.contains(&name) == there) {
            break names;
        }
    };
    let brand = word("brand", random.random_range(0..BRANDS));
    let names = names.iter().map(|name| word("name", kind * NAMES + name)).collect::<Vec<_>>().join(" ");
    format!("{brand} {} {names}", word("colour", colour))
}

/// Kind, colour, name and how it is written, grade.
type TitleWanted = (u32, u32, Option<(u32, bool)>, u8);

impl Shop {
    /// 600 titles, and queries of a colour and a name of a kind.
    pub(crate) fn new() -> Shop {
        let mut random = stream(7, "shop", 0);
        let mut corpus = Corpus::default();
        for _ in 0..600 {
            let (kind, colour) = (random.random_range(0..KINDS), random.random_range(0..COLOURS));
            corpus.add_title(&title(&mut random, kind, colour, None)).unwrap();
        }
        let mut shop = Shop { corpus, judgments: Judgments::default(), renamed: Judgments::default() };
        for number in 0..150 {
            let (kind, colour) = (random.random_range(0..KINDS), random.random_range(0..COLOURS));
            let (other_kind, other_colour) = ((kind + 1) % KINDS, (colour + 1) % COLOURS);
            let name = random.random_range(0..NAMES);
            let text = format!("{} {}", word("colour", colour), word("name", kind * NAMES + name));
            let (with, without) = (Some((name, true)), Some((name, false)));
            let bad = [(other_kind, colour, None, 0); 3];
            let named = [(kind, colour, with, 4), (kind, other_colour, with, 3), (kind, other_colour, with, 3)];
            let renamed = [(kind, colour, without, 4), (kind, other_colour, without, 2)];
            let mut judge = |titles: &[TitleWanted]| {
                let judge = |(i, &(kind, colour, name, grade))| {
                    let text = title(&mut random, kind, colour, name);
                    JudgedTitle { id: format!("t{i}"), text, grade }
                };
                let titles = titles.iter().enumerate().map(judge).collect();
                JudgedQuery { id: format!("q{number}"), text: text.clone(), titles }
            };
            shop.judgments.queries.push(judge(&[&named[..], &bad[..]].concat()));
            shop.renamed.queries.push(judge(&[&renamed[..], &bad[..]].concat()));
        }
        shop
    }
}

/// NDCG@3.
pub(crate) fn ndcg(ranker: &dyn SystemRanker, judgments: &Judgments) -> f64 {
    evaluate(ranker, judgments, &EvaluateOptions::default()).mean.get(Metric::Ndcg(3))
}

/// The ranker restored from another state.
pub(crate) fn restored(spec: &str, state: &RankerState) -> Box<dyn SystemRanker> {
    let spec: RankerSpec = spec.parse().unwrap();
    let system = System::named(&spec.name, &SYSTEMS).unwrap();
    (system.restore)(&system.values(&spec).unwrap(), state).unwrap()
}

/// A state in which each word has what another word learnt.
pub(crate) fn with_shuffled_words(state: &RankerState) -> RankerState {
    let vocabulary = state.words().unwrap();
    let mut words: Vec<&str> = (0..vocabulary.len() as u32).map(|id| vocabulary.word(id)).collect();
    words.shuffle(&mut stream(7, "shuffled words", 0));
    let mut shuffled = Interner::default();
    words.iter().for_each(|word| assert!(shuffled.intern(word).2));
    state.clone().with_words(&shuffled)
}
