//! A query allocates nothing once the buffers are there, whatever its words. A test program of its own, because it
//! counts what the allocator is asked for.

#[path = "library/support.rs"]
mod support;

use clickvec::model::{Model, Side};
use clickvec::optimizer::OptimizerKind;
use clickvec::train::TrainConfig;
use support::*;

#[test]
fn a_query_allocates_nothing() {
    let place = Place::new(&log_rows(120, 1));
    for encoder in all_encoders() {
        let config = TrainConfig { encoder, epochs: 1, ..small(OptimizerKind::Sgd) };
        place.train(&config, How::default()).expect("trained");
        let model = Model::load(&place.output()).expect("a model");
        std::fs::remove_file(place.output()).expect("removed");
        let mut embedder = model.embedder(Side::Query);
        let texts = ["red leather shoe", "", "garden hose", "Käse für die Küche", "words never seen", "北京 x", "?!"];
        // Made by the longest text, in words and in letters.
        embedder.embed(&["some words that are longer than those of all the other texts: ärgerlicherweise"]);
        let mut norms = 0.0f32;
        let counted = allocation_counter::measure(|| {
            for text in texts {
                norms += embedder.embed(&[text]).iter().map(|x| x * x).sum::<f32>();
            }
        });
        assert!(norms.is_finite());
        assert_eq!(counted.count_total, 0, "{:?}: {counted:?}", config.encoder);
    }
}
