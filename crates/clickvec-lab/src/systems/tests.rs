//! Tests of several systems together.

use std::ops::ControlFlow;
use std::sync::Arc;

use clickvec_eval::internals::fit_weights;
use clickvec_eval::ranker::{FittedWeights, Fusion, FusionMethod, Ranker};
use clickvec_eval::{EvaluateOptions, Metric, evaluate};

use super::shop::Shop;
use super::testing::train;

#[test]
fn shuffled_weights_rank_worse() {
    let mut shop = Shop::new();
    shop.renamed.queries.truncate(50);
    let ranker = |spec| -> Arc<dyn Ranker> { Arc::from(train(spec, &shop.corpus) as Box<dyn Ranker>) };
    // BM25 does not know other names for the same thing; LSA does.
    let members = [ranker("bm25"), ranker("lsa:dimensions=35"), ranker("ulm")];
    let ndcg = |weights: &[f64]| {
        let members = members.iter().cloned().zip(weights.iter().copied()).collect();
        let fusion = Fusion::new("all".to_owned(), members, FusionMethod::MinMax);
        evaluate(&fusion, &shop.renamed, &EvaluateOptions::default()).mean.get(Metric::Ndcg(3))
    };
    let FittedWeights { mut weights, objective } =
        fit_weights(3, &mut |weights| ndcg(weights), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(objective, ndcg(&weights));
    weights.rotate_left(1);
    assert!(objective > ndcg(&weights) + 0.05, "{objective}, shuffled {}", ndcg(&weights));
}
