//! Tests that PLSA, LDA and BLTM share.

use std::collections::BTreeMap;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::systems::testing::{NO_CLICKS, corpus, fault, is_kept_by_a_file, train, train_watched};
use clickvec::internals::rng::stream;
use clickvec_eval::internals::{Numbers, RankerState};
use clickvec_eval::ranker::{Corpus, Ranker, RankerSpec, System, SystemRanker};
use clickvec_eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Judgments, Metric, evaluate};

/// Returns the topics of titles in a ranker's file.
fn topics_of(ranker: &dyn SystemRanker) -> Vec<f32> {
    ranker.state().f32s("title_topics", &[None, None]).unwrap().to_vec()
}

#[test]
fn topics_of_clicked_titles_are_those_of_a_collection_of_them() {
    let others = ["green sofa", "blue lamp"];
    for name in ["plsa", "lda"] {
        let spec = |more: &str| format!("{name}:topics=2{more}");
        let mut clicks = corpus(&others, &[]);
        for (query, title, weight) in [
            ("q", "red door", 0.25),
            ("r", "big red door", 1.0),
            ("s", "red door", 0.75),
            ("t", "lamp", 0.0),
            ("u", "", 1.0),
        ] {
            clicks.add_click(query, title, weight).unwrap();
        }
        let of_clicks = topics_of(train(&spec(",clicked=1"), &clicks).as_ref());
        let of_titles = topics_of(train(&spec(""), &corpus(&["red door", "big red door"], &[])).as_ref());
        assert_eq!(of_clicks, of_titles, "{name}: each title once, with a weight of 1");
        assert_ne!(
            topics_of(train(&spec(""), &clicks).as_ref()).len(),
            of_titles.len(),
            "{name}: the collection's words"
        );
        clicks.add_click("v", "red door", 2.0).unwrap();
        assert_ne!(topics_of(train(&spec(",clicked=1"), &clicks).as_ref()), of_clicks, "{name}: weights count");
        assert_eq!(fault(&spec(",clicked=1"), &corpus(&others, &[])), NO_CLICKS);
    }
    // A sampler counts whole words: a weight of 2 is the title twice.
    let mut clicks = corpus(&[], &[]);
    clicks.add_click("q", "red door", 2.0).unwrap();
    clicks.add_click("r", "lamp", 1.0).unwrap();
    let twice = topics_of(train("lda:topics=2", &corpus(&["red door", "red door", "lamp"], &[])).as_ref());
    assert_eq!(topics_of(train("lda:topics=2,clicked=1", &clicks).as_ref()), twice);
}

const NAMES: [&str; 3] = ["plsa", "lda", "bltm"];
/// The number of topics that texts are generated from; the words of each follow.
const TOPICS: usize = 4;
const WORDS: usize = 12;

/// Draws a word of a topic: word i is drawn (i + 1) times as often as word 0.
fn word(random: &mut Xoshiro256PlusPlus, language: &str, topic: usize) -> String {
    let total = WORDS * (WORDS + 1) / 2;
    let mut left = random.random_range(0..total);
    let i = (0..WORDS).find(|i| {
        let found = left <= *i;
        left = left.saturating_sub(i + 1);
        found
    });
    format!("{language}{topic}x{}", i.unwrap_or(WORDS - 1))
}

/// Draws a text with five words in six from one topic, and the others from any.
fn text(random: &mut Xoshiro256PlusPlus, language: &str, topic: usize, length: usize) -> String {
    let words = (0..length).map(|_| {
        let topic = if random.random_range(0..6) == 0 { random.random_range(0..TOPICS) } else { topic };
        word(random, language, topic)
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_order_of_the_words_changes_nothing() {
    let mut clicks = corpus(&["red door lamp", "blue sofa door", "sofa lamp red green"], &[]);
    for (query, title) in
        [("red lamp", "red door lamp"), ("sofa", "blue sofa door"), ("green red", "sofa lamp red green")]
    {
        clicks.add_click(query, title, 1.0).unwrap();
    }
    for name in NAMES {
        let ranker = train(&format!("{name}:topics=3"), &clicks);
        let scores = ranker
            .score("red door", &["red door lamp sofa green", "sofa green lamp red door", "green lamp door red sofa"]);
        assert!(scores[0].is_finite());
        assert_eq!(scores, [scores[0]; 3], "{name}");
    }
}

/// Titles of random topics, and for each a query of its topic in words that no title has. The query belongs to title
/// `clicked(i)`.
fn generated(titles: usize, clicked: impl Fn(usize) -> usize) -> Corpus {
    let mut random = stream(1, "generated", 0);
    let mut corpus = Corpus::default();
    let texts: Vec<[String; 2]> = (0..titles)
        .map(|i| [text(&mut random, "title", i % TOPICS, 10), text(&mut random, "query", i % TOPICS, 3)])
        .collect();
    texts.iter().for_each(|[title, _]| corpus.add_title(title).unwrap());
    texts.iter().enumerate().for_each(|(i, [_, query])| corpus.add_click(query, &texts[clicked(i)][0], 1.0).unwrap());
    corpus
}

/// Queries of each topic, with a title of every topic. The one of the query's topic is relevant.
fn judged(language: &str) -> Judgments {
    let mut random = stream(2, "judged", 0);
    let queries = (0..60).map(|i| {
        let titles = (0..TOPICS).map(|topic| JudgedTitle {
            id: topic.to_string(),
            text: text(&mut random, "title", topic, 8),
            grade: if topic == i % TOPICS { 3 } else { 0 },
        });
        let titles = titles.collect();
        JudgedQuery { id: i.to_string(), text: text(&mut random, language, i % TOPICS, 2), titles }
    });
    Judgments { queries: queries.collect(), ..Judgments::default() }
}

fn language(name: &str) -> &'static str {
    if name == "bltm" { "query" } else { "title" }
}

fn ndcg(ranker: &dyn Ranker, judgments: &Judgments) -> f64 {
    evaluate(ranker, judgments, &EvaluateOptions::default()).mean.get(Metric::Ndcg(1))
}

pub(super) fn restore(spec: &str, state: &RankerState) -> Result<Box<dyn SystemRanker>, clickvec_tables::Error> {
    let spec: RankerSpec = spec.parse().unwrap();
    let system = System::named(&spec.name, &crate::SYSTEMS).unwrap();
    (system.restore)(&system.values(&spec).unwrap(), state)
}

/// Returns P(w|z) of each topic, by word.
pub(super) fn topics(
    ranker: &dyn SystemRanker,
    side: &str,
    count: usize,
    corpus: &Corpus,
) -> Vec<BTreeMap<String, f64>> {
    let state = ranker.state();
    let rows = state.u32s(&format!("{side}_rows"), &[None]).unwrap();
    let table = state.f32s(&format!("{side}_topics"), &[None, Some(count)]).unwrap();
    let known = || (0..).zip(rows).filter(|(_, row)| **row != u32::MAX);
    let topic = |z| {
        let p = |(word, &row): (u32, &u32)| {
            (corpus.vocabulary.word(word).to_owned(), f64::from(table[row as usize * count + z]))
        };
        known().map(p).collect()
    };
    (0..count).map(topic).collect()
}

#[test]
fn em_raises_its_objective_at_every_step() {
    let corpus = generated(200, |i| i);
    for name in ["plsa", "bltm"] {
        for priors in ["alpha=1", "alpha=0,beta=0", "alpha=20,beta=1", "alpha=0.1,beta=1e-5"] {
            let (_, objectives) = train_watched(&format!("{name}:topics=5,iterations=40,{priors}"), &corpus).unwrap();
            assert_eq!(objectives.len(), 40);
            assert!(objectives[39] > objectives[1] + 50.0, "{name}, {priors}: {objectives:?}");
            for pair in objectives.windows(2) {
                // Probabilities are 32-bit numbers, and the sides of a pair agree only up to a limit.
                let slack = pair[0].abs() * if name == "bltm" { 1e-5 } else { 1e-7 };
                assert!(pair[1] >= pair[0] - slack, "{name}, {priors}: {pair:?}");
            }
        }
    }
}

#[test]
fn sampling_raises_the_likelihood() {
    let (_, objectives) = train_watched("lda:topics=4,sweeps=60", &generated(200, |i| i)).unwrap();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(mean(&objectives[40..]) > objectives[0] + 500.0, "{objectives:?}");
}

/// Draws pairs whose sides have half of their words from one topic and half from another, as the models assume, including BLTM's
/// constraint.
fn mixed(pairs: usize) -> Corpus {
    let mut random = stream(3, "mixed", 0);
    let mut corpus = Corpus::default();
    for _ in 0..pairs {
        let first = random.random_range(0..TOPICS);
        let second = (first + random.random_range(1..TOPICS)) % TOPICS;
        let mut side = |language: &str, length: usize| {
            let words = (0..length).map(|i| word(&mut random, language, if i % 2 == 0 { first } else { second }));
            words.collect::<Vec<_>>().join(" ")
        };
        let (query, title) = (side("query", 4), side("title", 10));
        corpus.add_title(&title).unwrap();
        corpus.add_click(&query, &title, 1.0).unwrap();
    }
    corpus
}

/// Each topic that generated the texts is one of the model's, in any order.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn topics_are_recovered() {
    let corpus = mixed(600);
    for (name, sides) in [("plsa", &["title"][..]), ("lda", &["title"]), ("bltm", &["title", "query"])] {
        // With a small prior, a sampler hardly ever leaves a topic that two share.
        let steps = if name == "lda" { "alpha=4,sweeps=80" } else { "alpha=1,iterations=60" };
        // EM may end in a local maximum, so take the best of three starts.
        let best = (1..=3).map(|seed| {
            let (ranker, objectives) =
                train_watched(&format!("{name}:topics=4,beta=0.01,seed={seed},{steps}"), &corpus).unwrap();
            (objectives.last().copied().unwrap(), ranker)
        });
        let (_, ranker) = best.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        for side in sides {
            let found = topics(ranker.as_ref(), side, TOPICS, &corpus);
            for topic in 0..TOPICS {
                let truth =
                    |i: usize| (format!("{side}{topic}x{i}"), (i + 1) as f64 / (WORDS * (WORDS + 1) / 2) as f64);
                let truth: BTreeMap<String, f64> = (0..WORDS).map(truth).collect();
                // Half the L1 distance.
                let distance = |topic: &BTreeMap<String, f64>| {
                    1.0 - topic.iter().map(|(word, p)| p.min(*truth.get(word).unwrap_or(&0.0))).sum::<f64>()
                };
                let nearest = found.iter().map(distance).fold(1.0, f64::min);
                // A topic with equal probabilities would be 0.75 away. This many words leave about 0.04.
                assert!(nearest < 0.1, "{name}, {side} topic {topic}: {nearest} away");
            }
        }
    }
}

#[test]
fn shuffled_topics_rank_worse() {
    let corpus = generated(400, |i| i);
    for name in NAMES {
        // Only a little ULM, which would find the title by its words alone.
        let spec = format!("{name}:topics=4,alpha=1,lambda=0.05");
        let (ranker, judgments) = (train(&spec, &corpus), judged(language(name)));
        let whole = ndcg(ranker.as_ref(), &judgments);
        let state = ranker.state();
        let mut rows = state.u32s("title_rows", &[None]).unwrap().to_vec();
        // Each word gets the topics of another.
        let known: Vec<usize> = (0..rows.len()).filter(|&word| rows[word] != u32::MAX).collect();
        let order = clickvec::internals::rng::Permutation::new(known.len() as u64, 5, "shuffled", 0);
        let shuffled: Vec<u32> = (0..known.len()).map(|i| rows[known[order.at(i as u64) as usize]]).collect();
        known.iter().zip(shuffled).for_each(|(&word, row)| rows[word] = row);
        let broken = restore(&spec, &state.clone().with_u32s("title_rows", &rows)).unwrap();
        let broken = ndcg(broken.as_ref(), &judgments);
        // Chance is one in four. A sixth of the generated words come from elsewhere.
        assert!(whole > 0.75 && broken < whole - 0.15, "{name}: {whole}, shuffled {broken}");
    }
}

#[test]
fn shuffled_clicks_rank_worse() {
    let spec = "bltm:topics=4,alpha=1,lambda=0.3";
    let judgments = judged("query");
    let whole = ndcg(train(spec, &generated(400, |i| i)).as_ref(), &judgments);
    let broken = ndcg(train(spec, &generated(400, |i| (i * 7 + i / 4 + 1) % 400)).as_ref(), &judgments);
    assert!(whole > 0.8 && broken < whole - 0.3, "{whole}, shuffled {broken}");
}

#[test]
fn scoring_parameters_can_be_changed_and_files_keep_all() {
    let corpus = generated(40, |i| i);
    for name in NAMES {
        let short = if name == "lda" { "topics=3,sweeps=10,samples=2" } else { "topics=3,iterations=5" };
        is_kept_by_a_file(&format!("{name}:{short},lambda=0.4,mu=3"), &corpus);
        let fresh = format!("{name}:{short},lambda=0.9,mu=7");
        let mut tuned = train(&format!("{name}:{short}"), &corpus);
        let system = System::named(name, &crate::SYSTEMS).unwrap();
        tuned.tune(&system.values(&fresh.parse().unwrap()).unwrap());
        let titles = ["title0x11 title1x10 title0x9", "title2x11", "sofa", ""];
        let query = "title0x11 query0x11 title2x9";
        assert_eq!(tuned.score(query, &titles), train(&fresh, &corpus).score(query, &titles));
    }
}

#[test]
fn threads_do_not_matter() {
    let corpus = generated(300, |i| i);
    for name in NAMES {
        let spec = if name == "lda" { "lda:topics=7,sweeps=5" } else { &format!("{name}:topics=7,iterations=5") };
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train_watched(spec, &corpus).map(|(ranker, objectives)| (ranker.state(), objectives)))
                .unwrap()
        });
        assert!(one == three, "{name}");
        let other = train(&format!("{spec},seed=2"), &corpus).state();
        assert!(one.0 != other, "{name}: another seed");
    }
}

#[test]
fn what_cannot_be_trained_says_so() {
    let many = "expected at most 2 topics, the number of words, found 3; ask for fewer";
    let clicks = [("crimson", "red door"), ("", "red"), ("red", "?")];
    for name in ["plsa", "lda"] {
        let none = "expected at least 1 titles with a word, found 0; the whole collection has more";
        assert_eq!(fault(name, &corpus(&[], &clicks)), none);
        assert_eq!(fault(name, &corpus(&["", "!"], &[])), none);
        assert_eq!(fault(&format!("{name}:topics=3"), &corpus(&["red door", "door"], &clicks)), many);
    }
    assert_eq!(fault("bltm", &corpus(&["red door"], &[])), NO_CLICKS);
    assert_eq!(fault("bltm", &corpus(&["red door"], &clicks[1..])), NO_CLICKS);
    let mut unclicked = corpus(&["red"], &[]);
    unclicked.add_click("red", "red", 0.0).unwrap();
    assert_eq!(fault("bltm:topics=1", &unclicked), NO_CLICKS);
    assert_eq!(fault("bltm:topics=3", &corpus(&["red door", "blue"], &clicks)), many);
}

#[test]
fn degenerate_corpora_give_finite_scores() {
    let same = ["a b", "a b", "a b", "a b"];
    let corpora = [
        corpus(&["a"], &[("a", "a")]),
        corpus(&["a", "", "a"], &[("a", "a"), ("", "a"), ("b", "")]),
        corpus(&same, &[("a b", "a b"); 4]),
        corpus(&["a b a b a b a b a b"], &[("c", "a b a b a b a b")]),
        corpus(&[], &[("c d", "a b")]),
    ];
    let queries = ["", "a", "b c", "a a a a", "ω", "never seen"];
    for corpus in &corpora {
        for name in NAMES {
            let priors: &[&str] = if name == "lda" {
                &["alpha=1e-6,beta=1e-6", "alpha=1e6,beta=1e6", "lambda=0", "lambda=1"]
            } else {
                &["alpha=0,beta=0,lambda=0", "alpha=1e6,beta=1e6", "lambda=0", "lambda=1"]
            };
            for (topics, priors) in
                [1, 2].into_iter().flat_map(|topics| priors.iter().map(move |prior| (topics, prior)))
            {
                let spec = format!("{name}:topics={topics},{priors}");
                let Ok((ranker, objectives)) = train_watched(&spec, corpus) else { continue };
                assert!(objectives.iter().all(|objective| objective.is_finite()), "{spec}: {objectives:?}");
                for query in queries {
                    let scores = ranker.score(query, &["a b", "a", "", "b b b", "ω c", &"a ".repeat(3000)]);
                    assert!(scores.iter().all(|score| score.is_finite()), "{spec}, {query}: {scores:?}");
                }
            }
        }
    }
}

#[test]
fn a_word_without_probability_is_left_out() {
    let corpus = corpus(&["red door", "blue lamp", "red lamp"], &[("crimson", "red door"), ("azure", "blue lamp")]);
    let titles = ["red door", "blue lamp", ""];
    // Neither part has the word, or the part that has it has no weight.
    for (spec, with, without) in [
        ("plsa:topics=2", "red crimson", "red"),
        ("lda:topics=2", "red crimson", "red"),
        ("bltm:topics=2", "crimson sofa", "crimson"),
        ("bltm:topics=2,lambda=0", "crimson red", "crimson"),
        ("bltm:topics=2,lambda=1", "crimson red", "red"),
    ] {
        let ranker = train(spec, &corpus);
        assert_eq!(ranker.score(with, &titles), ranker.score(without, &titles), "{spec}");
        assert!(ranker.score(without, &titles).iter().all(|&score| score < 0.0), "{spec}");
    }
    let ranker = train("bltm:topics=2", &corpus);
    assert_ne!(ranker.score("crimson red", &titles), ranker.score("crimson", &titles));
    assert_ne!(ranker.score("crimson red", &titles), ranker.score("red", &titles));
}

#[test]
fn a_file_from_outside_may_hold_anything() {
    let corpus = generated(20, |i| i);
    for name in NAMES {
        let spec = format!("{name}:topics=2");
        let state = train(&spec, &corpus).state();
        let words = corpus.vocabulary.len();
        let table = state.f32s("title_topics", &[None, Some(2)]).unwrap().to_vec();
        let rows = table.len() / 2;
        let with_row = |row: u32| {
            let mut of = state.u32s("title_rows", &[None]).unwrap().to_vec();
            of[0] = row;
            state.clone().with_u32s("title_rows", &of)
        };
        let with_number = |number: f32| {
            let mut table = table.clone();
            table[1] = number;
            state.clone().with("title_topics", &[rows, 2], Numbers::F32(table))
        };
        assert!(restore(&spec, &state).is_ok());
        assert!(
            restore(&spec, &with_row(rows as u32)).is_err_and(|fault| fault.message().contains("the file is damaged"))
        );
        assert!(restore(&spec, &with_row(rows as u32 - 1)).is_ok());
        for number in [-0.5, 1.5, f32::NAN, f32::INFINITY] {
            assert!(
                restore(&spec, &with_number(number))
                    .is_err_and(|fault| fault.message().contains("the file is damaged")),
                "{number}"
            );
        }
        // Sizes that do not fit the parameters and the vocabulary.
        for wrong in [
            state.clone().with_u32s("title_rows", &[0]),
            state.clone().with("title_topics", &[2 * rows, 1], Numbers::F32(table.clone())),
            state.clone().with_u32s("collection_frequency", &vec![1; words + 1]),
        ] {
            assert!(restore(&spec, &wrong).is_err_and(|fault| fault.message().contains("` to be")));
        }
        // Numbers that training never gives: no topic has any word.
        let empty = state.with("title_topics", &[rows, 2], Numbers::F32(vec![0.0; table.len()]));
        let scores = restore(&spec, &empty).unwrap().score("title0x11 query0x11", &["title0x11", ""]);
        assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
    }
    // BLTM needs both sides.
    let state = train("plsa:topics=2", &corpus).state();
    assert!(restore("bltm:topics=2", &state).is_err_and(|fault| fault.message().contains("expected a tensor")));
}
