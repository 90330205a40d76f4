//! The world of the users: its things, and their names among people. It is read from the files next to this one, which begin with
//! a description of their format.

#[cfg(test)]
mod tests;

const TOPICS: &str = include_str!("topics.txt");
const ORDERED: &str = include_str!("ordered.txt");
const TITLES: &str = include_str!("titles.txt");

/// A text with a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    before: String,
    after: String,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let (before, after) = text.split_once('*').unwrap_or_else(|| panic!("expected `*` in `{text}`"));
        Pattern { before: before.to_owned(), after: after.to_owned() }
    }

    /// Returns the text with `inner` in the gap.
    pub(super) fn around(&self, inner: &str) -> String {
        [&self.before, inner, &self.after].concat()
    }
}

/// The ways to say something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sayings<T> {
    /// In titles and in queries.
    pub(super) said: Vec<T>,
    /// In queries only.
    pub(super) typed: Vec<T>,
}

/// Something people look for.
#[derive(Debug)]
pub(super) struct Thing {
    pub(super) topic: usize,
    pub(super) names: Sayings<String>,
    /// For each name in `said`, the other things with that name.
    pub(super) namesakes: Vec<Vec<usize>>,
}

/// A subject.
#[derive(Debug)]
pub(super) struct Topic {
    /// Positions of its sites in the world.
    pub(super) sites: Vec<usize>,
    /// Positions of the qualities that fit its things.
    pub(super) qualities: Vec<usize>,
    /// Positions of its things in the world.
    pub(super) things: Vec<usize>,
    pub(super) aspects: Vec<Sayings<Pattern>>,
}

/// Wants about two different values.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) values: Vec<String>,
    pub(super) titles: Vec<String>,
    pub(super) queries: Vec<String>,
}

/// Everything in the world.
#[derive(Debug)]
pub(super) struct World {
    pub(super) topics: Vec<Topic>,
    pub(super) things: Vec<Thing>,
    pub(super) sites: Vec<String>,
    pub(super) qualities: Vec<Sayings<Pattern>>,
    pub(super) pages: Vec<Sayings<Pattern>>,
    pub(super) frames: Vec<Frame>,
    /// Whole titles, with `*` for their subjects and `@` for the site.
    pub(super) forms: Vec<String>,
    pub(super) extras: Vec<String>,
}

impl World {
    /// Reads the world from the files, which are part of the program. A fault in them is a fault of the program, and panics.
    pub(super) fn new() -> World {
        let mut world = World {
            topics: Vec::new(),
            things: Vec::new(),
            sites: Vec::new(),
            qualities: Vec::new(),
            pages: Vec::new(),
            frames: Vec::new(),
            forms: Vec::new(),
            extras: Vec::new(),
        };
        let mut qualities = Vec::new();
        lines(TOPICS).for_each(|(word, rest)| world.topic_line(word, rest, &mut qualities));
        let mut values = Vec::new();
        lines(ORDERED).for_each(|(word, rest)| world.ordered_line(word, rest, &mut values));
        for (word, rest) in lines(TITLES) {
            match word {
                "form" => world.forms.push(rest.to_owned()),
                "extra" => world.extras.push(rest.to_owned()),
                other => panic!("titles.txt: no line begins with `{other}`"),
            }
        }
        world.find_namesakes();
        world
    }

    fn topic_line<'a>(&mut self, word: &str, rest: &'a str, qualities: &mut Vec<&'a str>) {
        let number = self.topics.len().wrapping_sub(1);
        match (word, self.topics.last_mut()) {
            ("quality", None) => {
                let (name, ways) = rest.split_once(' ').expect("a name and ways to say it");
                qualities.push(name);
                self.qualities.push(patterns(ways));
            }
            ("page", None) => self.pages.push(patterns(rest)),
            ("topic", _) => {
                let (sites, things, aspects) = (Vec::new(), Vec::new(), Vec::new());
                self.topics.push(Topic { sites, qualities: Vec::new(), things, aspects });
            }
            ("sites", Some(topic)) => {
                for site in parts(rest) {
                    topic.sites.push(self.sites.len());
                    self.sites.push(site.to_owned());
                }
            }
            ("fits", Some(topic)) => {
                let index = |name| qualities.iter().position(|known| *known == name);
                let index = |name| index(name).unwrap_or_else(|| panic!("topics.txt: no quality is called `{name}`"));
                topic.qualities = parts(rest).map(index).collect();
            }
            ("thing", Some(topic)) => {
                topic.things.push(self.things.len());
                let names = sayings(rest, str::to_owned);
                self.things.push(Thing { topic: number, names, namesakes: Vec::new() });
            }
            ("aspect", Some(topic)) => topic.aspects.push(patterns(rest)),
            _ => panic!("topics.txt: expected no line `{word} {rest}` here"),
        }
    }

    fn ordered_line(&mut self, word: &str, rest: &str, values: &mut Vec<(String, Vec<String>)>) {
        match (word, self.frames.last_mut()) {
            ("values", _) => {
                let (name, all) = rest.split_once(' ').expect("a name and values");
                values.push((name.to_owned(), parts(all).map(str::to_owned).collect()));
            }
            ("frame", _) => {
                let (_, name) = rest.split_once(' ').expect("a name and the name of values");
                let (_, values) = values.iter().find(|(known, _)| known == name).expect("values that are named above");
                self.frames.push(Frame { values: values.clone(), titles: Vec::new(), queries: Vec::new() });
            }
            ("title", Some(frame)) => frame.titles.push(rest.to_owned()),
            ("query", Some(frame)) => frame.queries.push(rest.to_owned()),
            _ => panic!("ordered.txt: expected no line `{word} {rest}` here"),
        }
    }

    fn find_namesakes(&mut self) {
        let named = |thing: &Thing, name: &str| thing.names.said.iter().any(|known| known == name);
        for index in 0..self.things.len() {
            let others = |name: &String| -> Vec<usize> {
                (0..self.things.len()).filter(|&other| other != index && named(&self.things[other], name)).collect()
            };
            let namesakes = self.things[index].names.said.iter().map(others).collect();
            self.things[index].namesakes = namesakes;
        }
    }
}

/// Lines without comments, split after the first word.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap_or_else(|| panic!("expected more than one word in `{line}`")))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(" ; ").map(str::trim)
}

fn sayings<T>(text: &str, make: impl Fn(&str) -> T) -> Sayings<T> {
    let (said, typed) = text.split_once('~').unwrap_or_else(|| panic!("expected `~` in `{text}`"));
    Sayings { said: parts(said).map(&make).collect(), typed: parts(typed).map(&make).collect() }
}

fn patterns(text: &str) -> Sayings<Pattern> {
    sayings(text, Pattern::new)
}
