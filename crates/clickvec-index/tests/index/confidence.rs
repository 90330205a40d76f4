//! What is likely, what is not, and what is not shown.

use clickvec::model::Model;
use clickvec::train::{ClickSource, Inputs, Outcome, Overrides, TrainOptions, train};
use clickvec_index::{Confidence, Fusion, Index, Mode, Request};

use crate::world::{World, build, titles};

/// A model that can tell words from noise, unlike the small ones of other tests.
fn model() -> Model {
    let mut settings = Overrides::default();
    for pair in ["encoder.kind=dssm", "encoder.layers=64", "epochs=6", "held_out=0", "batch_size=32"] {
        settings.set_pair(pair).unwrap();
    }
    let config = Inputs { clicks: true, ..Inputs::default() }.settings(&settings).unwrap();
    let clicks = titles().into_iter().flat_map(|title| {
        let words: Vec<String> = title.title.split_whitespace().map(str::to_owned).collect();
        let queries: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        queries.into_iter().map(move |query| (query, title.title.clone(), 1.0))
    });
    let trained = train(&config, ClickSource::pairs(clicks), TrainOptions::default(), &mut |_| {
        std::ops::ControlFlow::Continue(())
    });
    match trained.unwrap() {
        Outcome::Finished(model) => model,
        Outcome::Cancelled => panic!("nothing cancels it"),
    }
}

#[test]
fn nonsense_finds_nothing_and_titles_are_found_by_their_words() {
    let (world, model) = (World::new(), model());
    let path = world.folder.path().join("likely");
    build(&path, &model, &world.titles, &Fusion::default());
    let index = Index::open(&path).unwrap();
    for query in ["zzzqqq", "qxv wkjq", "ффыв", "東京"] {
        let answer = index.search(&Request::new(query, Mode::Fused)).unwrap();
        assert!(answer.weak, "{query}: {:?}", answer.hits.first());
        let all = index.search(&Request::new(query, Mode::Fused).with_min_confidence(0.0)).unwrap();
        assert!(all.weak && all.unlikely == 0 && all.hits.len() >= answer.hits.len(), "{query}");
        assert!(answer.hits.len() + answer.unlikely >= all.hits.len().min(10), "{query}");
    }
    for title in world.titles.iter().step_by(9) {
        let answer = index.search(&Request::new(title.title.as_str(), Mode::Fused)).unwrap();
        let likely = answer.hits[0].confidence.unwrap();
        assert!(!answer.weak && likely >= Confidence::WEAK, "{}: {likely}", title.title);
        assert!(answer.hits.iter().all(|hit| hit.confidence.unwrap() >= Confidence::LEAST), "{}", title.title);
    }
    // Pages are those of the list without unlikely titles.
    let page = |offset: usize| {
        let request = Request::new("white seat", Mode::Fused).with_k(7).with_offset(offset).with_min_confidence(0.3);
        index.search(&request).unwrap().hits
    };
    let pages: Vec<String> = (0..5).flat_map(|number| page(7 * number)).map(|hit| hit.id).collect();
    let request = Request::new("white seat", Mode::Fused).with_k(35).with_min_confidence(0.3);
    let whole: Vec<String> = index.search(&request).unwrap().hits.into_iter().map(|hit| hit.id).collect();
    assert_eq!(pages, whole);
}
