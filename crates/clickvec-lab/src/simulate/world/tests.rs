//! Tests of the files.

use std::collections::BTreeSet;

use super::*;
use crate::simulate::query::{LEFT_OUT, SMALL_WORDS};
use clickvec::internals::text::words;

fn words_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    texts.into_iter().flat_map(words).collect()
}

fn texts(patterns: &[Pattern]) -> impl Iterator<Item = &str> {
    patterns.iter().flat_map(|pattern| [pattern.before.as_str(), pattern.after.as_str()])
}

#[test]
fn words_that_only_queries_have_stand_in_no_title_of_their_topic() {
    let world = World::new();
    let mut common = words_of(world.sites.iter().map(String::as_str));
    common.extend(words_of(world.qualities.iter().flat_map(|quality| texts(&quality.said))));
    let mut faults = Vec::new();
    for topic in &world.topics {
        let things = topic.things.iter().map(|&thing| &world.things[thing].names);
        let said = things.clone().flat_map(|names| names.said.iter().map(String::as_str));
        let mut titles = words_of(said.chain(topic.aspects.iter().flat_map(|aspect| texts(&aspect.said))));
        titles.extend(common.clone());
        let typed = things.flat_map(|names| names.typed.iter().map(String::as_str));
        let typed = words_of(typed.chain(topic.aspects.iter().flat_map(|aspect| texts(&aspect.typed))));
        let both: Vec<_> = typed.intersection(&titles).filter(|word| !SMALL_WORDS.contains(&word.as_str())).collect();
        if !both.is_empty() {
            faults.push(format!("with {}: {both:?}", world.sites[topic.sites[0]]));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn frames_tell_their_values_apart_by_place_alone() {
    let world = World::new();
    assert!(world.frames.len() >= 4);
    for frame in &world.frames {
        assert!(frame.values.len() >= 4 && !frame.titles.is_empty() && frame.queries.len() >= 4);
        for pattern in frame.titles.iter().chain(&frame.queries) {
            assert!(pattern.contains("{a}") && pattern.contains("{b}"), "{pattern}");
            assert!(pattern.find("{a}") < pattern.find("{b}"), "{pattern}");
        }
    }
}

#[test]
fn there_are_topics_things_and_words_with_two_senses() {
    let world = World::new();
    assert!(world.topics.len() >= 10 && world.things.len() >= 150 && world.sites.len() >= 40);
    let ambiguous = world.things.iter().filter(|thing| thing.namesakes.iter().any(|others| !others.is_empty())).count();
    assert!(ambiguous >= 40, "{ambiguous}");
    // Nothing could tell apart two things of the same name in the same topic.
    for thing in &world.things {
        assert!(thing.namesakes.iter().flatten().all(|&other| world.things[other].topic != thing.topic), "{thing:?}");
    }
}

#[test]
fn a_query_means_one_thing() {
    let world = World::new();
    let mut meant = std::collections::BTreeMap::<String, (usize, usize)>::new();
    let mut faults = Vec::new();
    for (number, thing) in world.things.iter().enumerate() {
        let topic = &world.topics[thing.topic];
        let mut ways = Vec::new();
        let alone = thing.names.said.iter().zip(&thing.namesakes).filter(|(_, others)| others.is_empty());
        ways.extend(alone.map(|(name, _)| (0, name.clone())));
        ways.extend(thing.names.typed.iter().map(|name| (0, name.clone())));
        for name in thing.names.said.iter().chain(&thing.names.typed) {
            for (aspect, sayings) in (1..).zip(&topic.aspects) {
                let patterns = sayings.said.iter().chain(&sayings.typed);
                ways.extend(patterns.map(|pattern| (aspect, pattern.around(name))));
            }
        }
        for (aspect, way) in ways {
            let say = |word: &String| !["how", "to"].contains(&word.as_str()) && !LEFT_OUT.contains(&word.as_str());
            let way = words(&way).into_iter().filter(say).collect::<Vec<_>>().join(" ");
            let known = *meant.entry(way.clone()).or_insert((number, aspect));
            if known != (number, aspect) {
                faults.push(way);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_should_not_be_praised_or_sold_has_no_quality() {
    let world = World::new();
    assert!(world.topics.iter().any(|topic| topic.qualities.is_empty()));
    assert!(world.topics.iter().filter(|topic| topic.qualities.len() >= 2).count() >= 10);
    for (number, quality) in world.qualities.iter().enumerate() {
        assert!(world.topics.iter().any(|topic| topic.qualities.contains(&number)), "{quality:?}");
    }
}
