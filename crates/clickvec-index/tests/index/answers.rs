//! What an index answers, compared with the library's own searches.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clickvec::tables::Title;
use clickvec_eval::ranker::{self, Corpus};
use clickvec_index::{
    Analysis, Answer, Bm25, Condition, ErrorKind, Filter, Fusion, FusionFacts, FusionMethod, Hit, Index, IndexBuilder,
    Mode, Part, Pin, RECIPROCAL_RANK_K, Request, TitleMatch, VectorFormat, WordGap, finish,
};

use crate::world::{
    MODES, QUERIES, World, adds, all_titles, as_fused, build, field_names, fields, found, fused_rankers, model, search,
    titles, weights, word_facts,
};

#[test]
fn an_index_in_memory_answers_as_one_on_disk() {
    let world = World::new();
    let (disk, memory) = (world.open(), Index::in_memory(&world.model, world.titles.clone()).unwrap());
    assert_eq!(
        (memory.facts().titles, memory.facts().without_vector),
        (disk.facts().titles, disk.facts().without_vector)
    );
    for mode in MODES {
        for query in QUERIES {
            let answer = search(&memory, query, mode, 20);
            assert_eq!(found(&answer), found(&search(&disk, query, mode, 20)), "{query}");
            assert!(mode != Part::Vectors.into() || !answer.query.has_vector || answer.hits.len() == 20, "{query}");
        }
    }
    let requests: Vec<Request> = QUERIES.map(|query| Request::new(query, Mode::Fused)).into();
    for (answer, request) in disk.search_all(&requests).unwrap().iter().zip(&requests) {
        assert_eq!(found(answer), found(&disk.search(request).unwrap()));
    }
}

#[test]
fn titles_without_a_word_that_the_model_knows_are_found_by_words_alone() {
    let (folder, model) = (tempfile::tempdir().unwrap(), model());
    let mut all = titles();
    all.truncate(60);
    let word = |i: u8| format!("ж{}", char::from_u32(0x430 + u32::from(i)).unwrap());
    all.extend((0..40).map(|i| Title { id: format!("u{i}"), title: word(i) + " жжж" }));
    for format in [VectorFormat::F32, VectorFormat::F16, VectorFormat::Int8] {
        let path = folder.path().join(format.to_string());
        let mut builder = IndexBuilder::new(&model, &path).unwrap();
        all.iter().for_each(|title| builder.add(title.clone()).unwrap());
        let built = finish(builder, &model, &Fusion::default(), format).unwrap();
        assert_eq!((built.titles, built.without_vector), (100, 40));
        let index = Index::open(&path).unwrap();
        // Many of the 60 have a negative cosine, less than that of a title without a vector.
        let hits = search(&index, "nylon drywall anchor", Part::Vectors, 1000).hits;
        assert!(hits.len() == 60 && hits.iter().all(|hit| !hit.id.starts_with('u')), "{format}");
        assert_eq!(search(&index, &word(7), Part::Vectors, 10).hits, []);
        for mode in [Part::Words.into(), Mode::Fused] {
            let answer = index.search(&Request::new(word(7), mode)).unwrap();
            assert_eq!((answer.hits[0].id.as_str(), answer.weak), ("u7", false), "{format}");
        }
        assert!(index.check().is_ok());
    }
}

/// An index computes in 32 bits and rounds lengths above 40 words; no title of the shop is that long.
#[test]
fn words_score_like_our_bm25_at_the_same_parameters() {
    let world = World::new();
    let parameters = [(1.2, 0.75), (0.5, 0.4), (0.9, 0.4), (2.0, 0.0)].map(|(k1, b)| Bm25::new(k1, b).unwrap());
    for (analysis, parameters) in
        Analysis::all().flat_map(|analysis| parameters.map(|parameters| (analysis, parameters)))
    {
        let path = world.folder.path().join("analysed");
        build(&path, &world.model, &world.titles, &Fusion { analysis, bm25: parameters, ..Fusion::default() });
        let index = Index::open(&path).unwrap();
        let facts = word_facts(&index);
        assert_eq!((facts.analysis, facts.bm25), (analysis, parameters));
        // Of the titles that can be found.
        let kept = all_titles(&index);
        let titles: Vec<&str> = kept.iter().map(|title| title.title.as_str()).collect();
        let [stem, split] = [analysis.stem, analysis.split].map(u8::from);
        let name = format!("bm25:k1={},b={},stem={stem},split={split}", parameters.k1, parameters.b);
        let bm25 = ranker::train(&name, &Corpus::from_titles(titles.iter().copied()).unwrap()).unwrap();
        let candidates = bm25.candidates(&titles).unwrap();
        let mut compared = 0;
        let repeated = "leather sofa rug ".repeat(400);
        for query in QUERIES.into_iter().chain(["nylons anchor kits", "8ft rugs", "rug sofa rug lamp rug", &repeated]) {
            let expected = candidates.search(query, 50).unwrap();
            let hits = search(&index, query, Part::Words, 50).hits;
            assert_eq!(hits.len(), expected.len(), "{query}");
            for (hit, expected) in hits.iter().zip(&expected) {
                let near = (hit.score - expected.score).abs() <= 2e-6 * expected.score;
                assert!(near, "{query}: {} and {}", hit.score, expected.score);
                compared += 1;
            }
            // The same titles, and in the same order but for those whose scores differ by rounding alone.
            let ids = |rank: usize| kept[expected[rank].position as usize].id.as_str();
            for (rank, hit) in hits.iter().enumerate().filter(|&(rank, hit)| ids(rank) != hit.id) {
                let other = expected.iter().find(|other| kept[other.position as usize].id == hit.id);
                let last = expected.last().unwrap().score;
                let gap = other.map_or(hit.score - last, |other| other.score - expected[rank].score);
                assert!(gap.abs() <= 1e-4 * hit.score, "{query}: rank {rank}");
            }
        }
        assert!(compared > 100, "{compared}");
    }
}

#[test]
fn the_first_titles_by_words_are_those_of_the_whole_list() {
    let world = World::new();
    let path = world.folder.path().join("many");
    for bm25 in [Bm25::TITLES, Bm25::new(1.2, 0.75).unwrap()] {
        build(&path, &world.model, &many(), &Fusion { bm25, ..Fusion::default() });
        let index = Index::open(&path).unwrap();
        for query in ["kit", "with kit", "white seat with kit", "in ft with", "nylon drywall anchor in"] {
            let all = search(&index, query, Part::Words, 10_000).hits;
            assert!(all.len() > 200, "{query}: {}", all.len());
            for k in [1, 3, 20] {
                let first = search(&index, query, Part::Words, k).hits;
                let scores = |hits: &[Hit]| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
                assert_eq!(scores(&first), scores(&all[..k]), "{query} {bm25:?}");
            }
            let explained = index.explain(query, &all[0].id).unwrap();
            let score = explained.scores.get(Part::Words).unwrap();
            assert!((score - all[0].score).abs() < 1e-5 * all[0].score, "{score} {}", all[0].score);
        }
    }
}

#[test]
fn both_are_fused_as_the_library_fuses() {
    let world = World::new();
    let kept = all_titles(&world.open());
    let titles: Vec<&str> = kept.iter().map(|title| title.title.as_str()).collect();
    let rank = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
    for method in [FusionMethod::Linear, FusionMethod::MinMax, FusionMethod::ZScore, rank] {
        let title_match = TitleMatch::default();
        let fusion = Fusion { method, weights: weights(0.7, 0.3), title_match, custom: true, ..Fusion::default() };
        let path = world.folder.path().join("fused");
        build(&path, &world.model, &world.titles, &fusion);
        let index = Index::open(&path).unwrap();
        assert_eq!((index.facts().fusion.weights, index.fusion()), (fusion.weights, &fusion));
        let model = ranker::load(&path.join("model.safetensors")).unwrap();
        let corpus = Corpus::from_titles(titles.iter().copied()).unwrap();
        let bm25 = ranker::train("bm25:k1=0.5,stem=1,split=1", &corpus).unwrap();
        let members = [(model.candidates(&titles).unwrap(), 0.7), (bm25.candidates(&titles).unwrap(), 0.3)];
        for query in QUERIES {
            let expected = fused_rankers(&members, method, query, 10);
            let answer = search(&index, query, Mode::Fused, 10);
            assert_eq!(answer.hits.len(), expected.len(), "{query}");
            for (hit, expected) in as_fused(method, &answer.hits, &expected) {
                assert!((hit.score - expected).abs() < 1e-5, "{query} {method:?}: {hit:?} {expected}");
                // Each share is the place in the list of that part.
                assert!(hit.parts.iter().count() > 0);
            }
        }
    }
}

#[test]
fn without_a_fusion_scores_are_cosines_and_a_little_of_bm25() {
    let world = World::new();
    let (path, titles) = (world.folder.path().join("unfitted"), many());
    build(&path, &world.model, &titles, &Fusion::default());
    let index = Index::open(&path).unwrap();
    let FusionFacts { method, weights: found, custom, depth, .. } = index.facts().fusion;
    assert_eq!((method, found, custom, depth), (FusionMethod::Linear, weights(1.0, 0.025), false, 50));
    assert!(titles.len() > depth);
    for query in ["white seat with kit", "leather sofa with wool kit in white", "leather sofa 12 in."] {
        let [vectors, words] = [Part::Vectors, Part::Words].map(|part| {
            let hits = search(&index, query, part, titles.len()).hits;
            hits.into_iter().map(|hit| (hit.id, hit.score)).collect::<HashMap<String, f32>>()
        });
        let hits = search(&index, query, Mode::Fused, 150).hits;
        for hit in &hits {
            let look = hit.title_match.map_or(0.0, |look| look.sum());
            let expected = vectors[&hit.id] + 0.025 * words.get(&hit.id).copied().unwrap_or(0.0) + look;
            assert!((hit.score - expected).abs() < 1e-5, "{query}: {hit:?} {expected}");
            assert_eq!(hit.title_match.is_some(), hit.rank <= 100, "{hit:?}");
        }
        // A title that one part alone found has its score by the other too.
        assert!(hits.iter().any(|hit| hit.parts.iter().any(|(_, share)| share.rank.is_none())), "{query}");
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{query}");
        assert!(hits.iter().any(|hit| hit.title_match.is_some_and(|look| look.sum() > 0.0)), "{query}");
    }
}

/// What is not asked for is not missing: a list that ends where it was cut says nothing of the rest.
#[test]
fn a_list_is_complete_if_it_is_shorter_than_was_asked() {
    let world = World::new();
    let (path, titles) = (world.folder.path().join("unfitted"), many());
    let fusion = Fusion { method: FusionMethod::MinMax, weights: weights(0.5, 0.5), ..Fusion::default() };
    build(&path, &world.model, &titles, &fusion);
    let index = Index::open(&path).unwrap();
    let query = "white seat with kit";
    for depth in [100, 300, 700] {
        let hits =
            index.search(&Request::new(query, Mode::Fused).with_k(4 * titles.len()).with_depth(depth)).unwrap().hits;
        let last = |part: Part| {
            let last = hits.iter().filter_map(|hit| hit.parts.get(part)).max_by_key(|share| share.rank).unwrap();
            (last.rank.unwrap(), last.adds.unwrap())
        };
        // All lists of the vectors go on; the words end at some point, and what has none of them would score 0.
        assert_eq!(last(Part::Vectors), (depth, 0.0), "{depth}");
        let (rank, adds) = last(Part::Words);
        assert_eq!(adds == 0.0, rank == depth, "{depth}: {rank} {adds}");
    }
    // 1,400 titles, of which some 400 have the word, all alike.
    let alike: Vec<Title> = (0..1400)
        .map(|n| Title {
            id: format!("a{n}"),
            title: format!("{} seat number", if n % 7 < 2 { "zynqo" } else { "oak" }),
        })
        .collect();
    build(&path, &world.model, &alike, &fusion);
    let index = Index::open(&path).unwrap();
    for (query, k) in [("zynqo", 10), ("zynqo", 1000), ("zynqo seat", 10)] {
        let hits = search(&index, query, Mode::Fused, k).hits;
        assert!(hits.len() >= k.min(400) && hits[0].title.starts_with("zynqo"), "{query} {k}: {:?}", hits[0]);
        assert!(adds(&hits[0], Part::Words) == Some(0.5), "{query} {k}: {:?}", hits[0]);
    }
}

#[test]
fn pages_follow_each_other() {
    let index = World::new().open();
    for mode in MODES {
        let whole = search(&index, "white seat with kit", mode, 30).hits;
        let pages = [0, 7, 14, 21, 28].map(|offset| {
            let request = Request::new("white seat with kit", mode).with_k(7).with_offset(offset);
            index.search(&request).unwrap().hits
        });
        let paged: Vec<_> = pages.concat().into_iter().take(whole.len()).collect();
        let ranks: Vec<_> = paged.iter().map(|hit| (hit.rank, hit.id.clone())).collect();
        assert_eq!(ranks, whole.iter().map(|hit| (hit.rank, hit.id.clone())).collect::<Vec<_>>(), "{mode}");
        let beyond = Request::new("white seat with kit", mode).with_offset(usize::MAX);
        assert!(index.search(&beyond).unwrap().hits.is_empty());
    }
}

/// More titles than any list of a fusion has, many of which have the same words.
fn many() -> Vec<Title> {
    let titles = titles();
    let mixed = |round: usize| {
        let others = titles.iter().cycle().skip(round * 31);
        let title = move |(of, other): (&Title, &Title)| Title {
            id: format!("{}-{round}", of.id),
            title: format!("{} {}", of.title, other.title),
        };
        titles.iter().zip(others).map(title).collect::<Vec<_>>()
    };
    (0..8).flat_map(mixed).collect()
}

/// The ids of all pages of this length, up to the first that is not full.
fn walked(index: &Index, query: &str, mode: Mode, k: usize) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = index.search(&Request::new(query, mode).with_k(k).with_offset(ids.len())).unwrap().hits;
        for (rank, hit) in (ids.len() + 1..).zip(&page) {
            assert_eq!(hit.rank, rank, "{query} {mode}");
        }
        let is_full = page.len() == k;
        ids.extend(page.into_iter().map(|hit| hit.id));
        if !is_full {
            return ids;
        }
    }
}

#[test]
fn pages_never_repeat_a_title_and_pass_none_over() {
    let world = World::new();
    let titles = many();
    assert!(titles.len() > 1300);
    let (path, fitted) = (world.folder.path().join("many"), world.folder.path().join("fitted"));
    build(&path, &world.model, &titles, &Fusion::default());
    let method = FusionMethod::ZScore;
    build(
        &fitted,
        &world.model,
        &titles,
        &Fusion { method, weights: weights(0.6, 0.5), custom: true, ..Fusion::default() },
    );
    for path in [&path, &fitted] {
        let index = Index::open(path).unwrap();
        let depth = index.facts().fusion.depth;
        for mode in MODES {
            for query in ["white seat with kit", "leather sofa with wool kit in white", "rug"] {
                // All that any part finds for pages of this length.
                let all = |k: usize| {
                    let all = Request::new(query, mode).with_k(3 * titles.len());
                    let all = if mode == Mode::Fused { all.with_depth(depth.max(k)) } else { all };
                    index.search(&all).unwrap().hits.into_iter().map(|hit| hit.id).collect::<Vec<String>>()
                };
                for k in [10, 49, 250] {
                    let (expected, found) = (all(k), walked(&index, query, mode, k));
                    assert_eq!(expected.iter().collect::<std::collections::HashSet<_>>().len(), expected.len());
                    assert!(found == expected, "{query} {mode} {k}: {} of {}", found.len(), expected.len());
                }
                let expected = all(1);
                if mode == Mode::Fused && search(&index, query, mode, 1).query.has_vector {
                    assert!(expected.len() >= depth, "{query}: {}", expected.len());
                }
            }
        }
        // A page that is longer than the lists makes them longer.
        assert_eq!(search(&index, "white seat with kit", Mode::Fused, 1200).hits.len(), 1200);
    }
}

/// A part without weight is not asked, and what it alone would find is not found.
#[test]
fn what_has_no_weight_takes_no_part() {
    let world = World::new();
    let methods = [FusionMethod::MinMax, FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K }];
    for (method, alone) in methods.iter().flat_map(|method| [Part::Vectors, Part::Words].map(|alone| (*method, alone)))
    {
        let (vectors, words) = if alone == Part::Vectors { (1.0, 0.0) } else { (0.0, 1.0) };
        let fusion = Fusion { method, weights: weights(vectors, words), custom: true, ..Fusion::default() };
        let path = world.folder.path().join("alone");
        build(&path, &world.model, &world.titles, &fusion);
        let index = Index::open(&path).unwrap();
        for query in QUERIES {
            let both = search(&index, query, Mode::Fused, 1000).hits;
            let expected: Vec<String> = search(&index, query, alone, 1000).hits.into_iter().map(|hit| hit.id).collect();
            let mut found: Vec<&str> = both.iter().map(|hit| hit.id.as_str()).collect();
            assert!(both.iter().all(|hit| hit.parts.iter().map(|(part, _)| part).eq([alone])));
            found.sort_unstable();
            let mut sorted: Vec<&str> = expected.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            assert_eq!(found, sorted, "{query} {method:?} {alone}");
        }
    }
}

#[test]
fn filters_leave_only_what_meets_them() {
    let world = World::new();
    let index = world.open();
    assert_eq!(index.stored_fields(), field_names());
    let is = |brand: &str| Filter { field: "brand".to_owned(), condition: Condition::Is(brand.to_owned()) };
    let price = Filter { field: "price".to_owned(), condition: Condition::Range { from: Some(10.0), to: Some(60.0) } };
    for mode in MODES {
        let all = search(&index, "white seat with kit", mode, 100_000).hits;
        let request =
            Request::new("white seat with kit", mode).with_k(100_000).with_filters(vec![is("brand 3"), price.clone()]);
        let answer = index.search(&request).unwrap();
        let meets = |fields: &std::collections::BTreeMap<String, String>| {
            fields["brand"] == "brand 3" && (10.0..=60.0).contains(&fields["price"].parse::<f64>().unwrap())
        };
        let expected: Vec<&str> = all.iter().filter(|hit| meets(&hit.fields)).map(|hit| hit.id.as_str()).collect();
        let found: Vec<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
        if mode == Mode::Fused {
            // Ranks among fewer titles give other fused scores.
            assert!(answer.hits.iter().all(|hit| meets(&hit.fields)));
            assert_eq!(found.len(), expected.len());
        } else {
            assert_eq!(found, expected, "{mode}");
        }
        assert!(!found.is_empty() && answer.total < index.facts().titles / 5, "{}", answer.total);
    }
    let found = |filters: &str| {
        let filters = Filter::parse_list(filters).unwrap();
        index.search(&Request::new("oak", Mode::Fused).with_filters(filters)).unwrap()
    };
    let alike = ["brand:BRAND 3,price:10..60", "brand=bränd 3,price>=10,price<=60"].map(|filters| found(filters).hits);
    assert!(alike[0] == alike[1] && !alike[0].is_empty());
    assert!(found("brand:brand 3,price<48.5").total < found("brand:brand 3,price<=48.5").total);
    let none = index.search(&Request::new("oak", Mode::Fused).with_filters(vec![is("no such")])).unwrap();
    assert_eq!((none.total, none.hits.len()), (0, 0));
    let unknown = Filter { field: "colour".to_owned(), condition: Condition::Is("red".to_owned()) };
    let error = index.search(&Request::new("oak", Mode::Fused).with_filters(vec![unknown])).unwrap_err();
    assert!(error.named_place() == Some("filters") && error.to_string().contains("(`brand`, `price`)"), "{error}");
}

#[test]
fn facets_count_the_values_of_all_pages() {
    let world = World::new();
    let index = world.open();
    let facets = field_names();
    for mode in [Mode::Fused, Mode::Alone(Part::Words)] {
        let request = Request::new("white seat with kit", mode).with_facets(facets.clone());
        let answer = index.search(&request.clone().with_k(3)).unwrap();
        let pages = index.search(&request.with_k(300)).unwrap();
        assert_eq!(answer.facets, pages.facets);
        let [brand, price] = &answer.facets[..] else { panic!("{:?}", answer.facets) };
        assert_eq!((brand.field.as_str(), brand.distinct, brand.range), ("brand", 5, None));
        for value in &brand.values {
            let expected = pages.hits.iter().filter(|hit| hit.fields["brand"] == value.value).count();
            assert_eq!(value.titles, expected as u64, "{value:?}");
        }
        assert!(brand.values.is_sorted_by(|a, b| a.titles >= b.titles));
        let prices = pages.hits.iter().map(|hit| hit.fields["price"].parse::<f64>().unwrap());
        let range = prices.fold((f64::INFINITY, 0f64), |(least, most), price| (least.min(price), most.max(price)));
        assert_eq!((price.values.len(), price.range), (20, Some(range)));
    }
    let unknown = Request::new("oak", Mode::Fused).with_facets(vec!["colour".to_owned()]);
    assert_eq!(index.search(&unknown).unwrap_err().named_place(), Some("facets"));
}

#[test]
fn boosts_add_a_share_of_their_weight() {
    let world = World::new();
    let index = world.open();
    for mode in [Mode::Fused, Mode::Alone(Part::Vectors)] {
        let request = Request::new("white seat with kit", mode).with_k(20).with_min_confidence(0.0);
        let plain = index.search(&request.clone().with_k(300)).unwrap();
        let boosts = |weight: &str| vec![format!("price:{weight}").parse().unwrap()];
        let answer = index.search(&request.clone().with_boosts(boosts("10"))).unwrap();
        let price = |hit: &Hit| hit.fields["price"].parse::<f64>().unwrap();
        let most = plain.hits.iter().map(price).fold(0.0, f64::max);
        assert_eq!(price(&answer.hits[0]), most);
        let first = plain.hits.iter().find(|hit| hit.id == answer.hits[0].id).unwrap();
        let boost = answer.hits[0].boost.unwrap();
        assert!((0.9 * 10.0..10.0).contains(&boost) && first.boost.is_none());
        if mode != Mode::Fused {
            assert!((answer.hits[0].score - first.score - boost).abs() < 1e-5);
        }
        let next = index.search(&request.clone().with_boosts(boosts("10")).with_k(10).with_offset(10)).unwrap();
        assert_eq!(next.hits, answer.hits[10..]);
        let cheap = index.search(&request.with_boosts(boosts("-10"))).unwrap();
        assert!(price(&cheap.hits[0]) < most);
    }
    let brand = Request::new("oak", Mode::Fused).with_boosts(vec!["brand:1".parse().unwrap()]);
    let error = index.search(&brand).unwrap_err();
    assert!(error.named_place() == Some("boosts") && error.to_string().contains("a field with numbers"), "{error}");
}

#[test]
fn pins_put_titles_at_a_rank_and_leave_others_out() {
    let world = World::new();
    let index = world.open();
    let ids = |answer: Answer| answer.hits.into_iter().map(|hit| (hit.id, hit.pinned)).collect::<Vec<_>>();
    for mode in MODES {
        let request = Request::new("white seat with kit", mode).with_k(6);
        let plain = ids(index.search(&request.clone().with_k(8)).unwrap());
        let id = |rank: usize| plain[rank - 1].0.clone();
        let far = &world.titles.iter().find(|title| plain.iter().all(|(id, _)| *id != title.id)).unwrap().id;
        let pins =
            vec![Pin::new(id(1), None), Pin::new(far, Some(2)), Pin::new(id(5), Some(1)), Pin::new("none", Some(1))];
        let request = request.with_pins(pins);
        let answer = ids(index.search(&request).unwrap());
        let expected =
            [(id(5), true), (far.clone(), true), (id(2), false), (id(3), false), (id(4), false), (id(6), false)];
        if mode != Mode::Fused {
            assert_eq!(answer, expected, "{mode}");
        }
        assert_eq!(answer[..2], expected[..2], "{mode}");
        assert!(answer.iter().all(|(found, _)| *found != id(1)) && answer[2..].iter().all(|(_, pinned)| !pinned));
        assert_eq!(ids(index.search(&request.clone().with_k(3).with_offset(3)).unwrap()), answer[3..]);
        let filtered = request.with_filters(Filter::parse_list("brand:no such").unwrap());
        assert!(index.search(&filtered).unwrap().hits.is_empty());
    }
}

#[test]
fn a_query_is_described() {
    let index = World::new().open();
    let answer = search(&index, "Seat seat, zqxjk!", Mode::Fused, 3);
    let words: Vec<_> = answer.query.words.iter().map(|word| (word.text.as_str(), word.titles > 0)).collect();
    assert_eq!(words, [("seat", true), ("zqxjk", false)]);
    assert!(answer.query.has_vector);
    for empty in ["", "!?", "   "] {
        for mode in MODES {
            let answer = search(&index, empty, mode, 3);
            assert!(answer.hits.is_empty() && answer.query.words.is_empty() && !answer.query.has_vector);
        }
    }
    let none = index.search(&Request::new("a", Mode::Fused).with_k(0)).unwrap_err();
    assert_eq!(none.to_string(), "k: expected at least 1 title to return, found 0");
    let other = index.search(&Request::new("a", Part::Trigrams)).unwrap_err();
    let modes = "expected a mode that the index has (`vectors`, `words`, `fused`), found `trigrams`";
    assert_eq!(other.to_string(), format!("mode: {modes}"));
    let late = Request::new("a", Mode::Fused).with_deadline(Instant::now() - Duration::from_secs(1));
    assert_eq!(index.search(&late).unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn explanations_give_the_scores_of_the_search() {
    let index = World::new().open();
    let hits = search(&index, "seat kit seat", Mode::Fused, 5).hits;
    for hit in &hits {
        let explained = index.explain("seat kit seat", &hit.id).unwrap();
        assert_eq!((&explained.document.title, &explained.document.fields), (&hit.title, &hit.fields));
        for (part, share) in hit.parts.iter() {
            let score = *explained.scores.get(part).unwrap();
            assert!((score - share.score).abs() <= 1e-5 * share.score.max(1.0), "{part}: {score} {}", share.score);
        }
        assert_eq!(explained.scores.get(Part::Vectors), Some(&explained.vectors.score));
        assert_eq!(explained.words.iter().map(|word| word.in_query).collect::<Vec<_>>(), [2, 1]);
    }
    let [above, below] = [0, 4].map(|rank: usize| index.explain("white seat with kit seat", &hits[rank].id).unwrap());
    let gap = above.gap(&below);
    let sum = |of: fn(&WordGap<'_>) -> f64| gap.by_word.iter().map(of).sum::<f64>();
    assert!((sum(|word| word.vectors) - gap.scores.get(Part::Vectors).unwrap()).abs() < 1e-5);
    assert!((sum(|word| word.words) - gap.scores.get(Part::Words).unwrap()).abs() < 1e-5);
    assert_eq!(gap.by_word.iter().filter(|word| word.word == "seat").count(), 1);
    assert_eq!(index.explain("seat", "none").unwrap_err().named_place(), Some("id"));
}

#[test]
fn titles_by_id() {
    let world = World::new();
    let index = world.open();
    for (number, title) in world.titles.iter().enumerate().step_by(97) {
        let document = index.get(&title.id).unwrap().unwrap();
        let [brand, price] = fields(number);
        assert_eq!(
            (document.title, &document.fields["brand"], &document.fields["price"]),
            (title.title.clone(), &brand, &price)
        );
    }
    assert_eq!(index.get("none").unwrap(), None);
}

#[test]
fn the_same_titles_give_the_same_bytes() {
    let world = World::new();
    let other = world.folder.path().join("other");
    let again = build(&other, &world.model, &titles(), &Fusion::default());
    assert_eq!(world.open().facts().fingerprint, again);
}

#[test]
fn an_index_without_titles_finds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    build(&path, &crate::world::model(), &[], &Fusion::default());
    let index = Index::open(&path).unwrap();
    for mode in MODES {
        assert!(search(&index, "oak", mode, 3).hits.is_empty());
    }
    index.check().unwrap();
}
