//! A user's own titles as the world to search. A query consists of words of the wanted title.

use std::collections::{HashMap, HashSet};

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use super::market::{BEST_SELLERS, Market, QueryKind, Rng};
use clickvec::internals::rng::Permutation;
use clickvec::internals::text::words;
use clickvec::tables::Title;

/// The shares of queries with 1, 2, 3 and 4 words, cumulative.
const LENGTHS: [f64; 4] = [0.1, 0.5, 0.85, 1.0];
/// A number that is added to a rank in Zipf's law.
const ZIPF_SHIFT: f64 = 50.0;
/// English words that do not occur in queries.
const STOP_WORDS: &str = "a about above after again all also am an and any are as at be because been before being below \
     between both but by can could did do does doing down during each few for from had has have he her here him his how i \
     if in into is it its just me more most my no nor not of off on once only or other our out over own same she should \
     so some such than that the their them then there these they this those through to too under until up upon very was \
     we were what when where which while who why will with within without would you your";
/// Words in more than this share of all titles say little and are seldom typed. So are numbers, single letters, and
/// words of only one title.
const COMMON: f64 = 0.1;
/// The frequency of such words relative to others.
const SELDOM: f64 = 0.15;
/// The share of queries whose words are in another order than in the title.
const SHUFFLED: f64 = 0.25;
/// The share of a query's information that a title needs for grade 1, 2, 3 and 4.
const COVERED: [f64; 4] = [0.25, 0.5, 0.75, 0.999];
/// The number of titles in a list that have nothing to do with the query.
const ANY: usize = 4;

/// A want: a title, and the words to ask for it with.
#[derive(Debug, Clone)]
pub(super) struct OwnWant {
    title: u32,
    /// The words, in the order of the title.
    words: Vec<u32>,
}

/// The titles and their words.
pub(super) struct OwnMarket {
    titles: Vec<Title>,
    words: Vec<String>,
    /// The distinct words of each title, in order.
    title_words: Vec<Vec<u32>>,
    /// The titles of each word.
    titles_with: Vec<Vec<u32>>,
    /// For each word, the most wanted of its titles, at most [`BEST_SELLERS`].
    best_sellers: Vec<Vec<u32>>,
    /// The information of each word.
    information: Vec<f64>,
    /// Titles with words, most wanted first after mapping by `order`.
    usable: Vec<u32>,
    order: Permutation,
}

impl OwnMarket {
    /// Creates the market of these titles; `None` if no title has a word that could be searched for.
    pub(super) fn new(titles: Vec<Title>, seed: u64) -> Option<OwnMarket> {
        let stop_words: HashSet<&str> = STOP_WORDS.split_whitespace().collect();
        let (mut numbers, mut all) = (HashMap::new(), Vec::new());
        let (mut title_words, mut titles_with, mut usable) = (Vec::new(), Vec::<Vec<u32>>::new(), Vec::new());
        for (position, title) in (0u32..).zip(&titles) {
            let mut own = Vec::new();
            for word in units(&title.title).into_iter().filter(|word| !stop_words.contains(word.as_str())) {
                let number = *numbers.entry(word).or_insert_with_key(|word| {
                    all.push(word.clone());
                    titles_with.push(Vec::new());
                    (all.len() - 1) as u32
                });
                if !own.contains(&number) {
                    own.push(number);
                    titles_with[number as usize].push(position);
                }
            }
            if !own.is_empty() {
                usable.push(position);
            }
            title_words.push(own);
        }
        if usable.is_empty() {
            return None;
        }
        let order = Permutation::new(usable.len() as u64, seed, "popularity", 0);
        let mut best_sellers = vec![Vec::new(); all.len()];
        for position in 0..usable.len() as u64 {
            let title = usable[order.at(position) as usize];
            for &word in &title_words[title as usize] {
                let best: &mut Vec<u32> = &mut best_sellers[word as usize];
                if best.len() < BEST_SELLERS {
                    best.push(title);
                }
            }
        }
        let said = |titles_of: &Vec<u32>| (1.0 + titles.len() as f64 / titles_of.len() as f64).ln();
        let information = titles_with.iter().map(said).collect();
        Some(OwnMarket { titles, words: all, title_words, titles_with, best_sellers, information, usable, order })
    }

    fn weight(&self, word: u32) -> f64 {
        let text = &self.words[word as usize];
        let found = self.titles_with[word as usize].len();
        let says_little = found == 1
            || found as f64 > COMMON * self.titles.len() as f64
            || text.chars().count() == 1
            || text.chars().all(|c| c.is_ascii_digit());
        if says_little { SELDOM } else { 1.0 }
    }

    /// Returns the most wanted titles among those with the query's rarest word.
    fn best_sellers_of(&self, want: &OwnWant) -> &[u32] {
        let rarest = want.words.iter().min_by_key(|&&word| self.titles_with[word as usize].len());
        rarest.map_or(&[], |&word| &self.best_sellers[word as usize])
    }

    /// Chooses some words of a title, each at most once. At least one of them is informative, if any is.
    fn choose(&self, title: u32, rng: &mut Rng) -> Vec<u32> {
        let own = &self.title_words[title as usize];
        let at = rng.random::<f64>();
        let wanted = LENGTHS.iter().position(|&sum| at < sum).unwrap_or(0) + 1;
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < wanted.min(own.len()) {
            let left = (0..own.len()).filter(|position| !chosen.contains(position));
            let mut weights: Vec<(usize, f64)> = left.map(|position| (position, self.weight(own[position]))).collect();
            if chosen.is_empty() && weights.iter().any(|&(_, weight)| weight == 1.0) {
                weights.retain(|&(_, weight)| weight == 1.0);
            }
            let mut rest = rng.random::<f64>() * weights.iter().map(|(_, weight)| weight).sum::<f64>();
            let found = weights.iter().find(|(_, weight)| {
                rest -= weight;
                rest < 0.0
            });
            chosen.extend(found.or(weights.last()).map(|&(position, _)| position));
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|position| own[position]).collect()
    }
}

/// Returns the words of a title. Consecutive ideographs, each of which is a word, give all pairs of neighbours instead.
fn units(title: &str) -> Vec<String> {
    let all = words(title);
    let mut units = Vec::new();
    for run in all.chunk_by(|a, b| a.starts_with(is_ideograph) && b.starts_with(is_ideograph)) {
        match run {
            [_] => units.push(run[0].clone()),
            run => units.extend(run.windows(2).map(<[String]>::concat)),
        }
    }
    units
}

/// Returns whether a character is one of a script without spaces, roughly.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

impl Market for OwnMarket {
    type Intent = OwnWant;

    fn titles(&self) -> &[Title] {
        &self.titles
    }

    fn kinds(&self) -> &[QueryKind] {
        &[QueryKind::Plain, QueryKind::Misspelt]
    }

    fn draw(&self, rng: &mut Rng) -> OwnWant {
        // A rank with probability ∝ 1 / (rank + shift), by inverting its distribution.
        let n = self.usable.len() as f64;
        let rank = ZIPF_SHIFT * ((1.0 + n / ZIPF_SHIFT).powf(rng.random()) - 1.0);
        let rank = (rank as u64).min(self.usable.len() as u64 - 1);
        let title = self.usable[self.order.at(rank) as usize];
        OwnWant { title, words: self.choose(title, rng) }
    }

    fn ask(&self, want: &OwnWant, rng: &mut Rng, text: &mut String) -> QueryKind {
        let mut typed = want.words.clone();
        let in_a_row = |&word: &u32| self.words[word as usize].starts_with(is_ideograph);
        if rng.random_bool(SHUFFLED) && !typed.iter().any(in_a_row) {
            typed.shuffle(rng);
        }
        for (position, &word) in typed.iter().enumerate() {
            let word = &self.words[word as usize];
            if position > 0 && !(text.ends_with(is_ideograph) && word.starts_with(is_ideograph)) {
                text.push(' ');
            }
            // Neighbours overlap by one ideograph.
            let first = word.chars().next().filter(|&c| is_ideograph(c) && text.ends_with(c));
            text.push_str(first.map_or(word.as_str(), |c| &word[c.len_utf8()..]));
        }
        QueryKind::Plain
    }

    fn grade(&self, want: &OwnWant, title: u32) -> u8 {
        let own = &self.title_words[title as usize];
        let (mut all, mut covered) = (0.0, 0.0);
        for &word in &want.words {
            let information = self.information[word as usize];
            all += information;
            covered += if own.contains(&word) { information } else { 0.0 };
        }
        COVERED.iter().filter(|&&share| covered >= share * all).count() as u8
    }

    fn candidates(&self, want: &OwnWant, rng: &mut Rng, found: &mut Vec<u32>) {
        found.push(want.title);
        let mut by_rarity = want.words.clone();
        by_rarity.sort_by_key(|&word| self.titles_with[word as usize].len());
        // Titles with several of the words, as far as they are among the titles of the rarest word.
        let grade_of = |title: u32| self.grade(want, title);
        let some_of = |word: u32, count: usize, rng: &mut Rng| -> Vec<u32> {
            let titles = &self.titles_with[word as usize];
            let start = rng.random_range(0..titles.len());
            (0..count.min(titles.len())).map(|step| titles[(start + step) % titles.len()]).collect()
        };
        let mut looked_at = some_of(by_rarity[0], 40, rng);
        looked_at.sort_by_cached_key(|&title| std::cmp::Reverse(grade_of(title)));
        looked_at.truncate(5);
        found.extend(looked_at);
        for &word in &by_rarity {
            found.extend(some_of(word, 3, rng));
        }
        found.extend((0..ANY).map(|_| rng.random_range(0..self.titles.len() as u32)));
    }

    fn best_sellers(&self, want: &OwnWant, _: &mut Rng, found: &mut Vec<u32>) {
        found.extend(self.best_sellers_of(want));
    }

    fn sells_best(&self, want: &OwnWant, title: u32) -> bool {
        self.best_sellers_of(want).contains(&title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec::internals::rng;

    fn market() -> OwnMarket {
        let mut titles: Vec<Title> = ["Oak shelf", "Oak table", "Pine shelf 3 ft", "!!!", "Steel lamp"]
            .iter()
            .enumerate()
            .map(|(position, title)| Title { id: position.to_string(), title: (*title).to_owned() })
            .collect();
        titles.push(Title { id: "x".to_owned(), title: "Oak shelf oak".to_owned() });
        OwnMarket::new(titles, 3).unwrap()
    }

    #[test]
    fn grades_follow_how_much_of_the_query_a_title_covers() {
        let market = market();
        let number = |word: &str| market.words.iter().position(|known| known == word).unwrap() as u32;
        let want = OwnWant { title: 0, words: vec![number("oak"), number("shelf")] };
        let grades: Vec<u8> = (0..6).map(|title| market.grade(&want, title)).collect();
        assert_eq!(grades, [4, 2, 2, 0, 0, 4]);
    }

    #[test]
    fn queries_are_words_of_the_title_that_is_wanted() {
        let market = market();
        let mut rng = rng::stream(1, "own", 0);
        let mut lengths = [0; 5];
        for _ in 0..500 {
            let want = market.draw(&mut rng);
            let mut text = String::new();
            market.ask(&want, &mut rng, &mut text);
            let own = words(&market.titles[want.title as usize].title);
            assert!(words(&text).iter().all(|word| own.contains(word)), "{text}: {own:?}");
            assert_eq!(market.grade(&want, want.title), 4);
            lengths[words(&text).len()] += 1;
        }
        assert!(lengths[0] == 0 && lengths[1] > 20 && lengths[2] > 200, "{lengths:?}");
    }

    #[test]
    fn stop_words_are_not_asked_for_and_ideographs_stay_together() {
        let title = |id: &str, title: &str| Title { id: id.to_owned(), title: title.to_owned() };
        assert_eq!(units("Oak 木製の机"), ["oak", "木製", "の", "机"]);
        let titles = vec![title("a", "The Bridge over the River"), title("b", "and the"), title("c", "电动螺丝刀")];
        let market = OwnMarket::new(titles, 1).unwrap();
        let mut rng = rng::stream(1, "own", 0);
        for _ in 0..200 {
            let want = market.draw(&mut rng);
            let mut text = String::new();
            market.ask(&want, &mut rng, &mut text);
            assert_ne!(want.title, 1);
            match want.title {
                0 => assert!(words(&text).iter().all(|word| word == "bridge" || word == "river"), "{text}"),
                _ => assert!(text.chars().count() >= 2 && !text.contains(' ') && !text.contains("动动"), "{text}"),
            }
        }
    }

    #[test]
    fn without_words_there_is_nothing_to_look_for() {
        let titles = vec![Title { id: "a".to_owned(), title: "—".to_owned() }];
        assert!(OwnMarket::new(titles, 1).is_none());
    }
}
