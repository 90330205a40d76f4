//! A query allocates nothing once the buffers exist, whatever its words. This is a test program of its own, because it
//! counts allocations.

#[path = "library/support.rs"]
mod support;

use clickvec::model::{Model, Side};
use clickvec::train::OptimizerKind;
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
        let (embedder, mut vector) = (model.embedder(Side::Query), Vec::new());
        let texts = ["red leather shoe", "", "garden hose", "Käse für die Küche", "words never seen", "北京 x", "?!"];
        // The text that is longest in words, in letters and in trigrams of a word makes the buffers. The second time
        // also makes those that keep what the first has left.
        for _ in 0..2 {
            let longest = "ärgerlich: words, and letters, more than all the other texts, redleatherladder";
            embedder.embed_into(&[longest], &mut vector);
        }
        for text in texts {
            let counted = allocation_counter::measure(|| embedder.embed_into(&[text], &mut vector));
            assert!(vector[0].is_finite());
            assert_eq!(counted.count_total, 0, "{:?}, `{text}`: {counted:?}", config.encoder);
        }
    }
}
