//! Tests of several systems together.

use std::ops::ControlFlow;

use clickvec_eval::{EvaluateOptions, Metric, Scores, judge, score};
use clickvec_index::FusionMethod;

use super::shop::Shop;
use super::testing::train;
use crate::table::fusion::fit::fuse;
use crate::table::fusion::weights::{FittedWeights, fit_weights};

#[test]
fn shuffled_weights_rank_worse() {
    let mut shop = Shop::new();
    shop.renamed.queries.truncate(50);
    // BM25 does not know other names for the same thing; LSA does.
    let members =
        ["bm25", "lsa:dimensions=35", "ulm"].map(|spec| score(train(spec, &shop.corpus).as_ref(), &shop.renamed));
    let ndcg = |weights: &[f64]| {
        let fused: Scores = (0..shop.renamed.queries.len())
            .map(|query| fuse(&members.each_ref().map(|scores| &scores[query][..]), weights, FusionMethod::MinMax))
            .collect();
        judge("all", &fused, &shop.renamed, &EvaluateOptions::default()).mean.get(Metric::Ndcg(3))
    };
    let FittedWeights { mut weights, objective } =
        fit_weights(3, &mut |weights| ndcg(weights), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(objective, ndcg(&weights));
    weights.rotate_left(1);
    assert!(objective > ndcg(&weights) + 0.05, "{objective}, shuffled {}", ndcg(&weights));
}
