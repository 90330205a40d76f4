//! Words that no title has, corrected.

use clickvec::tables::Title;
use clickvec_index::{Analysis, Fusion, Index, Mode, Part, Request};

use crate::world::{World, build};

fn shop() -> Vec<Title> {
    let titles = [
        "Garage Door Opener with Remote",
        "Garage Door Seal",
        "Garage Shelf",
        "Pressure Gauge",
        "Brass Gauge for Water",
        "Gauge Kit",
        "Concrete Tile Adhesive",
        "Concrete Mix",
        "Ceramic Tile",
        "Dishwasher Hose",
        "White House Paint",
        "House Number",
        "Blue House Numbers",
        "北 Lamp",
    ];
    let title = |(n, title): (usize, &&str)| Title { id: format!("t{n}"), title: (*title).to_owned() };
    titles.iter().enumerate().map(title).collect()
}

fn index(world: &World, analysis: Analysis) -> Index {
    let path = world.folder.path().join("shop");
    build(&path, &world.model, &shop(), &Fusion { analysis, ..Fusion::default() });
    Index::open(&path).unwrap()
}

#[test]
fn what_no_title_has_is_replaced_by_what_titles_have() {
    let world = World::new();
    for analysis in Analysis::all() {
        let index = index(&world, analysis);
        let corrected = |query: &str| index.search(&Request::new(query, Mode::Fused)).unwrap().query.corrected;
        for (query, expected) in [
            // `gauge` is as near, but is on no door.
            ("garge door", Some("garage door")),
            ("garge water", Some("gauge water")),
            ("gaurge", Some("gauge")),
            ("Gargae DOOR!", Some("garage door")),
            ("concretetile", Some("concrete tile")),
            ("dish washer hose", Some("dishwasher hose")),
            ("tile dishwasher", None),
            // `seal` is two edits away, too many for five letters.
            ("steel door", None),
            ("blue hose nubmer", Some("blue hose number")),
            ("garage door", None),
            ("12", None),
            ("xq", None),
            ("zzzqqqxx", None),
            ("北", None),
            ("?!", None),
            ("", None),
        ] {
            assert_eq!(corrected(query).as_deref(), expected, "{query} by {analysis}");
        }
    }
}

#[test]
fn a_correction_is_shown_as_a_word_and_not_as_a_term() {
    let world = World::new();
    let index = index(&world, Analysis::USUAL);
    let answer = index.search(&Request::new("blue houes", Mode::Fused)).unwrap();
    assert_eq!(answer.query.corrected.as_deref(), Some("blue house"));
}

#[test]
fn words_stay_as_typed_where_nothing_is_corrected() {
    let world = World::new();
    let index = index(&world, Analysis::USUAL);
    let first = |request: Request| {
        let answer = index.search(&request.with_min_confidence(0.0)).unwrap();
        (answer.query.corrected, answer.hits.iter().filter(|hit| hit.parts.get(Part::Words).is_some()).count())
    };
    assert_eq!(first(Request::new("garge door", Mode::Fused)), (Some("garage door".to_owned()), 3));
    assert_eq!(first(Request::new("garge door", Mode::Fused).as_typed()), (None, 2));
    assert_eq!(first(Request::new("garge door", Part::Words)), (None, 2));
}

/// The time is bounded by what is looked up, not by the length of the query.
#[test]
fn a_query_of_thousands_of_unknown_words_is_answered() {
    let world = World::new();
    let index = index(&world, Analysis::USUAL);
    let query = "garge conrete dishwahser paynt ".repeat(2000);
    let corrected = index.search(&Request::new(query.as_str(), Mode::Fused)).unwrap().query.corrected.unwrap();
    assert!(corrected.starts_with("garage concrete dishwasher paynt garge"), "{}", &corrected[..60]);
}
