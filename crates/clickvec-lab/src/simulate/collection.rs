//! The titles of the world, how well each answers a want, and how often each thing is wanted.

use std::collections::HashSet;

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use super::market::{BEST_SELLERS, Market, QueryKind, Rng};
use super::query::SMALL_WORDS;
use super::want::{Want, pick};
use super::world::World;
use crate::simulate::query;
use clickvec::internals::rng;
use clickvec::internals::text::words;
use clickvec::tables::Title;

/// The shares of wants about a thing, an ordered pair, and a site.
const SHARES: [f64; 3] = [0.62, 0.28, 0.10];
/// A shift of the ranks in Zipf's law, so that the most wanted things do not crowd out the rest.
const ZIPF_SHIFT: f64 = 10.0;
/// The share of wants about a thing that also ask for a quality.
const WITH_QUALITY: f64 = 0.25;
/// The share of titles that name a quality.
const TITLE_WITH_QUALITY: f64 = 0.4;
/// The share of titles that end with words that say nothing.
const WITH_EXTRA: f64 = 0.3;

/// The titles about one want, whatever their quality.
struct Slot {
    want: Want,
    titles: Vec<u32>,
}

/// The world as a collection of titles.
pub(super) struct WorldMarket<'a> {
    pub(super) world: &'a World,
    titles: Vec<Title>,
    /// For each title, its subject and the site that it names.
    about: Vec<(Want, Option<usize>)>,
    slots: Vec<Slot>,
    /// Cumulative sums of how often each slot is wanted.
    wanted: Vec<f64>,
    /// The first slot of each thing, each frame and each site.
    first: [Vec<usize>; 3],
}

impl<'a> WorldMarket<'a> {
    /// Creates a market of `count` titles, with at least one for every possible want.
    pub(super) fn new(world: &'a World, count: u32, seed: u64) -> WorldMarket<'a> {
        let (mut slots, mut first) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
        let mut slot = |want| slots.push(Slot { want, titles: Vec::new() });
        let mut all = 0;
        for (thing, it) in world.things.iter().enumerate() {
            first[0].push(all);
            let aspects = world.topics[it.topic].aspects.len() + 1;
            (0..aspects).for_each(|aspect| slot(Want::Thing { thing, aspect, quality: 0 }));
            all += aspects;
        }
        for (frame, it) in world.frames.iter().enumerate() {
            first[1].push(all);
            let n = it.values.len();
            (0..n * n).for_each(|pair| slot(Want::Ordered { frame, a: pair / n, b: pair % n }));
            all += n * n;
        }
        for site in 0..world.sites.len() {
            first[2].push(all);
            (0..world.pages.len()).for_each(|page| slot(Want::Site { site, page }));
            all += world.pages.len();
        }
        let wanted = popularity(&slots, seed);
        let mut market = WorldMarket { world, titles: Vec::new(), about: Vec::new(), slots, wanted, first };
        market.write_titles(count, seed);
        market
    }

    fn write_titles(&mut self, count: u32, seed: u64) {
        let mut rng = rng::stream(seed, "titles", 0);
        let real: Vec<usize> = (0..self.slots.len()).filter(|&slot| is_real(self.slots[slot].want)).collect();
        let mut known = HashSet::new();
        for number in 0..(count as usize).max(real.len()) {
            let slot = real[number % real.len()];
            let mut want = self.slots[slot].want;
            if let Want::Thing { thing, quality, .. } = &mut want
                && rng.random_bool(TITLE_WITH_QUALITY)
            {
                *quality = self.some_quality(*thing, &mut rng);
            }
            let (mut title, site) = self.write_title(want, &mut rng);
            let mut copy = 2;
            while known.contains(&title) {
                // Nearly the same title, like a second page.
                let (original, _) = title.split_once(" | Part ").unwrap_or((&title, ""));
                title = format!("{original} | Part {copy}");
                copy += 1;
            }
            known.insert(title.clone());
            self.slots[slot].titles.push(number as u32);
            self.titles.push(Title { id: format!("t{number:06}"), title });
            self.about.push((want, site));
        }
    }

    /// Writes a title, and returns it with the site that it names.
    fn write_title(&self, want: Want, rng: &mut Rng) -> (String, Option<usize>) {
        let world = self.world;
        let (mut text, site) = match want {
            Want::Thing { thing, aspect, quality } => {
                let thing = &world.things[thing];
                let topic = &world.topics[thing.topic];
                let mut text = pick(&thing.names.said, rng).clone();
                if aspect > 0 {
                    text = pick(&topic.aspects[aspect - 1].said, rng).around(&text);
                }
                if quality > 0 {
                    text = pick(&world.qualities[quality - 1].said, rng).around(&text);
                }
                (text, *pick(&topic.sites, rng))
            }
            Want::Ordered { frame, a, b } => {
                let frame = &world.frames[frame];
                let text = pick(&frame.titles, rng).replace("{a}", &frame.values[a]).replace("{b}", &frame.values[b]);
                (text, rng.random_range(0..world.sites.len()))
            }
            Want::Site { site, page } => {
                let text = pick(&world.pages[page].said, rng).around(&world.sites[site]);
                if rng.random_bool(WITH_EXTRA) {
                    return (format!("{text} {}", pick(&world.extras, rng)), None);
                }
                return (text, None);
            }
        };
        if rng.random_bool(WITH_EXTRA) {
            text = format!("{text} {}", pick(&world.extras, rng));
        }
        let form = pick(&world.forms, rng);
        let named = form.contains('@').then_some(site);
        (form.replace('@', &world.sites[site]).replace('*', &text), named)
    }

    /// Draws a quality that fits a thing, as its position plus one; 0 if none does.
    fn some_quality(&self, thing: usize, rng: &mut Rng) -> usize {
        match self.world.topics[self.world.things[thing].topic].qualities.as_slice() {
            [] => 0,
            fitting => *pick(fitting, rng) + 1,
        }
    }

    /// Returns the words of all titles about a thing.
    fn words_about(&self, thing: usize) -> HashSet<String> {
        let first = self.first[0][thing];
        let aspects = self.world.topics[self.world.things[thing].topic].aspects.len() + 1;
        let slots = &self.slots[first..first + aspects];
        let titles = slots.iter().flat_map(|slot| &slot.titles);
        titles.flat_map(|&title| words(&self.titles[title as usize].title)).collect()
    }

    fn slot_of(&self, want: Want) -> &Slot {
        let slot = match want {
            Want::Thing { thing, aspect, .. } => self.first[0][thing] + aspect,
            Want::Ordered { frame, a, b } => self.first[1][frame] + a * self.world.frames[frame].values.len() + b,
            Want::Site { site, page } => self.first[2][site] + page,
        };
        &self.slots[slot]
    }

    fn some_of(&self, want: Want, count: usize, rng: &mut Rng, found: &mut Vec<u32>) {
        let titles = &self.slot_of(want).titles;
        if titles.is_empty() {
            return;
        }
        let start = rng.random_range(0..titles.len());
        found.extend((0..count.min(titles.len())).map(|step| titles[(start + step) % titles.len()]));
    }

    /// Returns the most frequent want for the same thing or site, without a quality. For an ordered pair, whose two orders are
    /// equally frequent, it is always the same one.
    fn best_seller(&self, want: Want) -> Want {
        let slots = match want {
            Want::Thing { thing, .. } => {
                let first = self.first[0][thing];
                first..first + self.world.topics[self.world.things[thing].topic].aspects.len() + 1
            }
            Want::Ordered { frame, a, b } => {
                let (low, high) = (a.min(b), a.max(b));
                let (a, b) = if (low + high).is_multiple_of(2) { (low, high) } else { (high, low) };
                return Want::Ordered { frame, a, b };
            }
            Want::Site { site, .. } => {
                let first = self.first[2][site];
                first..first + self.world.pages.len()
            }
        };
        let wanted = |slot: usize| self.wanted[slot] - slot.checked_sub(1).map_or(0.0, |before| self.wanted[before]);
        let best = slots.max_by(|&a, &b| wanted(a).total_cmp(&wanted(b)));
        best.map_or(want.without_quality(), |best| self.slots[best].want)
    }

    /// Draws the next want, without a quality.
    fn draw_slot(&self, rng: &mut Rng) -> Want {
        let all = self.wanted.last().copied().unwrap_or(0.0);
        let at = rng.random::<f64>() * all;
        let slot = self.wanted.partition_point(|&sum| sum <= at);
        self.slots[slot.min(self.slots.len() - 1)].want
    }

    fn near_thing(&self, thing: usize, aspect: usize, rng: &mut Rng, found: &mut Vec<u32>) {
        let topic = &self.world.topics[self.world.things[thing].topic];
        let aspects = topic.aspects.len();
        for _ in 0..3 {
            // Another aspect of the same thing, the same aspect of another thing, or something else.
            let other = (aspect + rng.random_range(1..=aspects)) % (aspects + 1);
            self.some_of(Want::Thing { thing, aspect: other, quality: 0 }, 1, rng, found);
            let other = *pick(&topic.things, rng);
            self.some_of(Want::Thing { thing: other, aspect, quality: 0 }, 1, rng, found);
        }
        // Things with the same name and another meaning.
        let namesakes: Vec<usize> = self.world.things[thing].namesakes.iter().flatten().copied().collect();
        if !namesakes.is_empty() {
            for _ in 0..3 {
                let other = *pick(&namesakes, rng);
                let aspects = self.world.topics[self.world.things[other].topic].aspects.len();
                let aspect = rng.random_range(0..=aspects);
                self.some_of(Want::Thing { thing: other, aspect, quality: 0 }, 1, rng, found);
            }
        }
    }

    fn near_ordered(&self, frame: usize, (a, b): (usize, usize), rng: &mut Rng, found: &mut Vec<u32>) {
        self.some_of(Want::Ordered { frame, a: b, b: a }, 4, rng, found);
        let n = self.world.frames[frame].values.len();
        for _ in 0..2 {
            let other = rng.random_range(0..n);
            self.some_of(Want::Ordered { frame, a, b: other }, 1, rng, found);
            self.some_of(Want::Ordered { frame, a: other, b }, 1, rng, found);
        }
    }
}

impl Market for WorldMarket<'_> {
    type Intent = Want;

    fn titles(&self) -> &[Title] {
        &self.titles
    }

    fn kinds(&self) -> &[QueryKind] {
        &QueryKind::ALL
    }

    fn draw(&self, rng: &mut Rng) -> Want {
        match self.draw_slot(rng) {
            Want::Thing { thing, aspect, .. } if rng.random_bool(WITH_QUALITY) => {
                Want::Thing { thing, aspect, quality: self.some_quality(thing, rng) }
            }
            other => other,
        }
    }

    fn draw_for(&self, kind: QueryKind, rng: &mut Rng) -> Want {
        loop {
            let want = self.draw(rng);
            let fits = match (kind, want) {
                (QueryKind::Order, Want::Ordered { .. }) | (QueryKind::Navigational, Want::Site { .. }) => true,
                (QueryKind::Sense, Want::Thing { thing, aspect, .. }) => {
                    aspect > 0 && self.world.things[thing].namesakes.iter().any(|others| !others.is_empty())
                }
                (QueryKind::Plain | QueryKind::Misspelt | QueryKind::Synonym, Want::Thing { thing, aspect, .. }) => {
                    aspect > 0 || self.world.things[thing].namesakes.iter().all(Vec::is_empty)
                }
                _ => false,
            };
            if fits {
                return want;
            }
        }
    }

    fn is_fit(&self, kind: QueryKind, want: &Want, query: &str) -> bool {
        let (QueryKind::Sense, Want::Thing { thing, .. }) = (kind, *want) else { return true };
        // The words next to the shared name must not occur in the titles of either sense.
        let it = &self.world.things[thing];
        let shared = it.names.said.iter().zip(&it.namesakes).filter(|(_, others)| !others.is_empty());
        let shared: HashSet<String> = shared.flat_map(|(name, _)| words(name)).collect();
        let says = |word: &String| !shared.contains(word) && !SMALL_WORDS.contains(&word.as_str());
        let hints: Vec<String> = words(query).into_iter().filter(says).collect();
        let senses = it.namesakes.iter().flatten().copied().chain([thing]);
        !hints.is_empty()
            && senses.map(|sense| self.words_about(sense)).all(|said| hints.iter().all(|hint| !said.contains(hint)))
    }

    fn ask(&self, want: &Want, rng: &mut Rng, text: &mut String) -> QueryKind {
        query::ask(self.world, *want, None, rng, text)
    }

    fn ask_for(&self, kind: QueryKind, want: &Want, rng: &mut Rng, text: &mut String) {
        query::ask(self.world, *want, Some(kind), rng, text);
    }

    fn grade(&self, want: &Want, title: u32) -> u8 {
        let (about, site) = self.about[title as usize];
        match (*want, about) {
            (
                Want::Thing { thing, aspect, quality },
                Want::Thing { thing: other, aspect: its_aspect, quality: its_quality },
            ) => {
                if thing != other {
                    let topic = |thing: usize| self.world.things[thing].topic;
                    return u8::from(aspect > 0 && aspect == its_aspect && topic(thing) == topic(other));
                }
                // The quality is missing, or is another, or the query has none.
                let quality_differs = u8::from(quality != its_quality);
                match its_aspect {
                    same if same == aspect => 4 - quality_differs,
                    _ if aspect == 0 => 3 - quality_differs,
                    0 => 2,
                    _ => 1,
                }
            }
            (Want::Ordered { frame, a, b }, Want::Ordered { frame: other, a: its_a, b: its_b }) => {
                match (frame == other, a == its_a, b == its_b) {
                    (true, true, true) => 4,
                    (true, true, false) | (true, false, true) => 1,
                    _ => u8::from(frame == other && (a, b) == (its_b, its_a)),
                }
            }
            (Want::Site { site: wanted, page }, Want::Site { site, page: its_page }) if wanted == site => {
                if page == its_page { 4 } else { 2 }
            }
            (Want::Site { site: wanted, .. }, _) => u8::from(site == Some(wanted)),
            _ => 0,
        }
    }

    fn candidates(&self, want: &Want, rng: &mut Rng, found: &mut Vec<u32>) {
        self.some_of(want.without_quality(), 3, rng, found);
        match *want {
            Want::Thing { thing, aspect, .. } => self.near_thing(thing, aspect, rng, found),
            Want::Ordered { frame, a, b } => self.near_ordered(frame, (a, b), rng, found),
            Want::Site { site, .. } => {
                for _ in 0..5 {
                    let page = rng.random_range(0..self.world.pages.len());
                    self.some_of(Want::Site { site, page }, 1, rng, found);
                }
            }
        }
        found.extend((0..4).map(|_| rng.random_range(0..self.titles.len() as u32)));
    }

    fn best_sellers(&self, want: &Want, rng: &mut Rng, found: &mut Vec<u32>) {
        self.some_of(self.best_seller(*want), BEST_SELLERS, rng, found);
    }

    fn sells_best(&self, want: &Want, title: u32) -> bool {
        self.about[title as usize].0.without_quality() == self.best_seller(*want)
    }
}

/// Returns whether a user could want this; a value paired with itself is not wanted.
fn is_real(want: Want) -> bool {
    !matches!(want, Want::Ordered { a, b, .. } if a == b)
}

/// Returns cumulative sums of the frequencies of slots: Zipf's law within each group, in random order. Both orders of an ordered
/// pair are equally frequent.
fn popularity(slots: &[Slot], seed: u64) -> Vec<f64> {
    let group = |want: Want| match want {
        Want::Thing { .. } => 0,
        Want::Ordered { .. } => 1,
        Want::Site { .. } => 2,
    };
    let mut weights = vec![0.0; slots.len()];
    for (number, share) in SHARES.into_iter().enumerate() {
        let is_first = |want: Want| !matches!(want, Want::Ordered { a, b, .. } if a >= b);
        let mut members: Vec<usize> =
            (0..slots.len()).filter(|&slot| group(slots[slot].want) == number && is_first(slots[slot].want)).collect();
        members.shuffle(&mut rng::stream(seed, "popularity", number as u64));
        let sum: f64 = (0..members.len()).map(zipf).sum();
        for (rank, &slot) in members.iter().enumerate() {
            weights[slot] = share * zipf(rank) / sum;
        }
    }
    for slot in 0..slots.len() {
        if let Want::Ordered { frame, a, b } = slots[slot].want
            && a < b
        {
            let other = slots.iter().position(|slot| slot.want == Want::Ordered { frame, a: b, b: a });
            weights[slot] /= 2.0;
            if let Some(other) = other {
                weights[other] = weights[slot];
            }
        }
    }
    let mut sum = 0.0;
    weights
        .into_iter()
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect()
}

fn zipf(rank: usize) -> f64 {
    1.0 / (rank as f64 + ZIPF_SHIFT)
}
