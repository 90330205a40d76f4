//! Simulated logs: their properties, and what can be learnt from them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use clickvec::encoder::{DssmConfig, EncoderConfig};
use clickvec::internals::text::words;
use clickvec::tables::{TITLE, Title, read_titles};
use clickvec::train::ClickSource;
use clickvec::train::{Event, TrainConfig, TrainOptions, train};
use clickvec_eval::ranker::{self, Corpus, Neural, Ranker};
use clickvec_eval::{EvaluateOptions, Judgments, Metric, TestSetFiles, evaluate, read_test_set};
use clickvec_lab::simulate::{QueryKind, SimulateConfig, simulate, true_grades};
use clickvec_tables::ErrorKind;
use std::ops::ControlFlow;

fn small() -> SimulateConfig {
    SimulateConfig { pairs: 30_000, titles: 3_000, judged: 40, validation: 30, ..SimulateConfig::default() }
}

fn simulated(config: &SimulateConfig, titles: Option<Vec<Title>>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    simulate(config, titles, &folder.path().join("log"), &mut |_| ControlFlow::Continue(())).unwrap();
    folder
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("log")).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn rows(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("log").join(name)).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn judgments(path: &Path) -> Judgments {
    read_test_set(&TestSetFiles { judged: path, topics: None, titles: None, field: TITLE }).unwrap().judgments
}

#[test]
fn same_seed_same_bytes_at_any_number_of_threads() {
    let config = SimulateConfig { impressions: true, ..small() };
    let on = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| files(simulated(&SimulateConfig { seed, ..config.clone() }, None).path()))
    };
    let one = on(1, 1);
    assert!(one == on(3, 1));
    let other = on(1, 2);
    for name in ["clicks.tsv", "log.tsv", "judged.tsv", "titles.tsv"] {
        assert!(one[name] != other[name], "{name}");
    }
}

#[test]
fn clicks_follow_the_model_that_the_truth_names() {
    let folder = simulated(&SimulateConfig { impressions: true, titles: 20_000, ..small() }, None);
    let truth: serde_json::Value = serde_json::from_slice(&files(folder.path())["truth.json"]).unwrap();
    let number = |name: &str, place: usize| truth[name][place].as_f64().unwrap();
    let mut seen = HashMap::<(usize, usize), [f64; 2]>::new();
    for row in rows(folder.path(), "log.tsv") {
        let (place, clicked, grade): (usize, f64, usize) =
            (row[3].parse().unwrap(), row[4].parse().unwrap(), row[8].parse().unwrap());
        let counts = seen.entry((place - 1, grade)).or_default();
        *counts = [counts[0] + 1.0, counts[1] + clicked];
    }
    let (mut checked, mut debiased, mut naive) = (0, [0.0; 5], [[0.0; 2]; 5]);
    for (&(place, grade), &[shown, clicked]) in &seen {
        let expected = number("examination", place) * number("attraction", grade);
        let error = (expected * (1.0 - expected) / shown).sqrt();
        if shown > 300.0 {
            assert!((clicked / shown - expected).abs() <= 4.5 * error, "rank {place}, grade {grade}");
            checked += 1;
        }
        debiased[grade] += clicked / number("examination", place);
        naive[grade] = [naive[grade][0] + shown, naive[grade][1] + clicked];
    }
    assert!(checked >= 30, "{checked}");
    // Weighted by the inverse of the examination, clicks give the quality of titles; plain counts do not.
    for grade in 0..5 {
        let (truth, shown) = (number("attraction", grade), naive[grade][0]);
        assert!((debiased[grade] / shown - truth).abs() < 0.03, "grade {grade}");
        assert!(naive[grade][1] / shown < 0.75 * truth, "grade {grade}");
    }
}

#[test]
fn queries_are_as_they_should_be_and_in_the_order_of_time() {
    let folder = simulated(&SimulateConfig { impressions: true, ..small() }, None);
    let log = rows(folder.path(), "log.tsv");
    assert!(log.len() > 100_000 && log.is_sorted_by_key(|row| row[7].clone()));
    let clicks = rows(folder.path(), "clicks.tsv");
    let clicked = log.iter().filter(|row| row[4] == "1").count() as u64;
    assert_eq!(clicks.iter().map(|row| row[2].parse::<u64>().unwrap()).sum::<u64>(), clicked);
    assert_eq!(clicks.len(), 30_000);
    let asked: HashSet<&String> = clicks.iter().map(|row| &row[0]).chain(log.iter().map(|row| &row[0])).collect();
    for name in ["judged.tsv", "validation.tsv"] {
        assert!(rows(folder.path(), name).iter().all(|row| !asked.contains(&row[0])), "{name}");
    }
    // Zipf's law: few queries make up much of the log, and many occur once.
    let mut counts = HashMap::<&String, u64>::new();
    log.iter().filter(|row| row[3] == "1").for_each(|row| *counts.entry(&row[0]).or_default() += 1);
    let mut sorted: Vec<u64> = counts.values().copied().collect();
    sorted.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    let all: u64 = sorted.iter().sum();
    let share = |count: usize| sorted.iter().take(count).sum::<u64>() as f64 / all as f64;
    assert!(share(sorted.len() / 100) > 0.1, "{}", share(sorted.len() / 100));
    let once = sorted.iter().filter(|&&count| count == 1).count() as f64 / sorted.len() as f64;
    assert!(once > 0.4, "{once}");
    let truth: serde_json::Value = serde_json::from_slice(&files(folder.path())["truth.json"]).unwrap();
    let of = |name: &str| truth["summary"][name].as_f64().unwrap();
    let misspelt = of("misspelt") / of("impressions");
    assert!((0.17..0.21).contains(&misspelt), "{misspelt}");
}

#[test]
fn kinds_are_what_they_are_called() {
    let folder = simulated(&SimulateConfig { titles: 20_000, ..small() }, None);
    let titles = read_titles(&folder.path().join("log/titles.tsv"), TITLE).unwrap().titles;
    let said: HashSet<String> = titles.iter().flat_map(|title| words(&title.title)).collect();
    let path = |kind: QueryKind| folder.path().join(format!("log/judged-{}.tsv", kind.name()));
    for kind in QueryKind::ALL {
        let judged = judgments(&path(kind));
        assert_eq!(judged.queries.len(), 40, "{kind:?}");
        let (mut reversed, mut misspelt) = (0, 0);
        for query in &judged.queries {
            let own: HashSet<String> = words(&query.text).into_iter().collect();
            let unknown = own.iter().filter(|word| !said.contains(*word)).count();
            match kind {
                QueryKind::Plain => assert_eq!(unknown, 0, "{}", query.text),
                QueryKind::Misspelt => {
                    assert!(unknown <= 1, "{}", query.text);
                    misspelt += unknown;
                }
                _ => {}
            }
            let mut best = Vec::new();
            for title in &query.titles {
                let shared = words(&title.text).iter().filter(|word| own.contains(*word)).count();
                assert!(kind != QueryKind::Synonym || title.grade < 3 || shared == 0, "{}: {}", query.text, title.text);
                assert!(
                    kind != QueryKind::Navigational || title.grade < 4 || shared > 0,
                    "{}: {}",
                    query.text,
                    title.text
                );
                if title.grade == 4 {
                    best.push(shared);
                }
            }
            let most = best.iter().copied().max().unwrap_or(0);
            // Titles with the same words in another order, which mean something else.
            reversed += usize::from(query.titles.iter().any(|title| {
                let shared = words(&title.text).iter().filter(|word| own.contains(*word)).count();
                title.grade <= 1 && shared >= most
            }));
        }
        if kind == QueryKind::Order {
            assert!(reversed >= 36, "{reversed}");
        }
        // An error can turn a word into another word.
        assert!(kind != QueryKind::Misspelt || misspelt >= 37, "{misspelt}");
    }
}

#[test]
fn a_sense_is_told_by_words_of_no_title_that_has_its_name() {
    let folder = simulated(&small(), None);
    let titles = read_titles(&folder.path().join("log/titles.tsv"), TITLE).unwrap().titles;
    let titles: Vec<HashSet<String>> = titles.iter().map(|title| words(&title.title).into_iter().collect()).collect();
    let judged = judgments(&folder.path().join("log/judged-sense.tsv"));
    let mut hints = 0;
    for query in &judged.queries {
        let asked = words(&query.text);
        // The shared name occurs in all titles that mean the thing by this name, and in titles of the other sense.
        let is_name = |word: &String| {
            let has = |good: bool| {
                query.titles.iter().any(|title| (title.grade >= 2) == good && words(&title.text).contains(word))
            };
            has(true) && has(false)
        };
        let name: Vec<&String> = asked.iter().filter(|word| is_name(word)).collect();
        if name.is_empty() {
            continue;
        }
        let small = ["to", "of", "is", "the", "what", "how", "on", "in", "a", "with", "for", "i", "do", "as"];
        for hint in asked.iter().filter(|word| !name.contains(word) && !small.contains(&word.as_str())) {
            let both = titles.iter().any(|title| title.contains(hint) && name.iter().all(|name| title.contains(*name)));
            assert!(!both, "{}: {hint}", query.text);
            hints += 1;
        }
    }
    assert!(hints >= 30, "{hints}");
}

#[test]
fn the_truth_of_judged_queries_can_be_asked_for() {
    let folder = simulated(&small(), None);
    let titles = read_titles(&folder.path().join("log/titles.tsv"), TITLE).unwrap().titles;
    let judged = judgments(&folder.path().join("log/judged.tsv"));
    let query = &judged.queries[50];
    let [Some(grades), None] = &true_grades(&small(), &[&query.text, "nobody asks this"])[..] else {
        panic!("expected grades of the first query alone");
    };
    assert_eq!(grades.len(), titles.len());
    let place = |text: &str| titles.iter().position(|title| title.title == text).unwrap();
    assert!(query.titles.iter().all(|title| grades[place(&title.text)] == title.grade));
    // The judged list is a sample.
    assert!(grades.iter().filter(|&&grade| grade > 0).count() > query.titles.len());
}

/// For lists with a perfect title (grade 4), the mean position of their perfect titles, and of the others.
fn mean_places(folder: &Path) -> [f64; 2] {
    let mut sums = [[0.0; 2]; 2];
    for row in rows(folder, "log.tsv") {
        let side = usize::from(row[8] != "4");
        sums[side][0] += row[3].parse::<f64>().unwrap();
        sums[side][1] += 1.0;
    }
    sums.map(|[sum, count]| sum / count)
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn a_biased_engine_shows_what_sells_best_and_users_click_as_before() {
    let biased = SimulateConfig { impressions: true, engine_bias: 1.0, titles: 20_000, ..small() };
    let world = simulated(&biased, None);
    let [best, others] = mean_places(simulated(&SimulateConfig { engine_bias: 0.0, ..biased.clone() }, None).path());
    assert!(best < others - 2.0, "{best}, {others}");
    let [best, others] = mean_places(world.path());
    assert!(best > others - 1.0, "{best}, {others}");
    // Users click by grade and position, whatever the engine ranks by.
    let truth: serde_json::Value = serde_json::from_slice(&files(world.path())["truth.json"]).unwrap();
    assert_eq!(truth["config"]["engine_bias"], 1.0);
    let mut seen = HashMap::<(String, String), [f64; 2]>::new();
    for row in rows(world.path(), "log.tsv") {
        let counts = seen.entry((row[3].clone(), row[8].clone())).or_default();
        *counts = [counts[0] + 1.0, counts[1] + row[4].parse::<f64>().unwrap()];
    }
    for ((place, grade), [shown, clicked]) in seen.into_iter().filter(|(_, [shown, _])| *shown > 300.0) {
        let number = |name: &str, place: usize| truth[name][place].as_f64().unwrap();
        let expected =
            number("examination", place.parse::<usize>().unwrap() - 1) * number("attraction", grade.parse().unwrap());
        let error = (expected * (1.0 - expected) / shown).sqrt();
        assert!((clicked / shown - expected).abs() <= 4.5 * error, "rank {place}, grade {grade}");
    }

    let titles =
        (0..600).map(|n| Title { id: format!("p{n}"), title: format!("thing{} colour{} number{n}", n % 20, n % 7) });
    let config = SimulateConfig { pairs: 5_000, judged: 20, validation: 10, ..biased };
    let titles: Vec<Title> = titles.collect();
    // The largest number of titles that are at the top of the lists of a one-word query.
    let most_on_top = |engine_bias: f64| {
        let own = simulated(&SimulateConfig { engine_bias, ..config.clone() }, Some(titles.clone()));
        let mut on_top = HashMap::<String, HashSet<String>>::new();
        let is_top_of_word = |row: &Vec<String>| row[3] == "1" && row[0].starts_with("thing") && !row[0].contains(' ');
        for row in rows(own.path(), "log.tsv").into_iter().filter(is_top_of_word) {
            on_top.entry(row[0].clone()).or_default().insert(row[1].clone());
        }
        on_top.values().map(HashSet::len).max().unwrap()
    };
    // A word has few best-selling titles.
    let [biased, unbiased] = [1.0, 0.0].map(most_on_top);
    assert!(biased <= 9 && unbiased > 2 * biased, "{biased}, {unbiased}");
}

/// Mean NDCG@1 of queries of each kind.
fn by_kind(ranker: &dyn Ranker, log: &Path) -> HashMap<QueryKind, f64> {
    let of = |kind: QueryKind| {
        let judged = judgments(&log.join(format!("judged-{}.tsv", kind.name())));
        evaluate(ranker, &judged, &EvaluateOptions::default()).mean.get(Metric::Ndcg(1))
    };
    QueryKind::ALL.map(|kind| (kind, of(kind))).into_iter().collect()
}

#[test]
#[ignore = "slow; .ci/run runs it"]
fn words_fail_where_they_differ_bags_where_order_decides_and_the_lstm_learns_both() {
    let config = SimulateConfig { pairs: 100_000, titles: 20_000, ..small() };
    let folder = simulated(&config, None);
    let log = folder.path().join("log");
    let trained = |encoder: EncoderConfig| {
        let config = TrainConfig { encoder, epochs: 3, ..TrainConfig::default() };
        let go_on = &mut |_: &Event| ControlFlow::Continue(());
        let clicks = log.join("clicks.tsv");
        let outcome = train(&config, ClickSource::file(&clicks), TrainOptions::default(), go_on).unwrap();
        by_kind(&Neural::new("model".to_owned(), outcome.finished().unwrap()), &log)
    };
    let lstm = trained(TrainConfig::default().encoder);
    let dssm = trained(EncoderConfig::Dssm(DssmConfig::default()));
    let mut corpus = Corpus::default();
    read_titles(&log.join("titles.tsv"), TITLE)
        .unwrap()
        .titles
        .iter()
        .for_each(|title| corpus.add_title(&title.title).unwrap());
    let bm25 = ranker::train("bm25", &corpus).unwrap();
    let bm25 = by_kind(bm25.as_ref(), &log);
    let told = format!("bm25 {bm25:?}\ndssm {dssm:?}\nlstm {lstm:?}");
    assert!(
        bm25[&QueryKind::Synonym] < 0.45 && bm25[&QueryKind::Sense] < 0.6 && bm25[&QueryKind::Plain] > 0.75,
        "{told}"
    );
    assert!(dssm[&QueryKind::Synonym] > 0.8 && dssm[&QueryKind::Sense] > 0.8, "{told}");
    assert!(dssm[&QueryKind::Order] < 0.7 && bm25[&QueryKind::Order] < 0.7, "{told}");
    assert!(lstm.values().all(|&ndcg| ndcg > 0.8) && lstm[&QueryKind::Order] > 0.85, "{told}");
}

#[test]
fn own_titles_are_looked_for_by_their_words() {
    let title = |number: usize| {
        let [colour, thing, size] = [number % 7, number / 7 % 11, number / 77];
        let thing =
            ["hammer", "ladder", "shelf", "faucet", "bracket", "carpet", "drill", "lamp", "door", "saw", "tile"][thing];
        let colour = ["red", "blue", "green", "black", "white", "yellow", "brown"][colour];
        Title { id: format!("p{number}"), title: format!("{colour} {thing} {size} in") }
    };
    let titles: Vec<Title> = (0..770).map(title).collect();
    let config = SimulateConfig { pairs: 5_000, judged: 20, validation: 10, ..SimulateConfig::default() };
    let folder = simulated(&config, Some(titles.clone()));
    let names: Vec<String> = files(folder.path()).into_keys().collect();
    let expected = [
        "clicks.tsv",
        "judged-misspelt.tsv",
        "judged-plain.tsv",
        "judged.tsv",
        "titles.tsv",
        "truth.json",
        "validation.tsv",
    ];
    assert_eq!(names, expected);
    let known: HashSet<&String> = titles.iter().map(|title| &title.title).collect();
    let clicks = rows(folder.path(), "clicks.tsv");
    assert!(clicks.len() == 5_000 && clicks.iter().all(|row| known.contains(&row[1])));
    let shares = clicks.iter().filter(|row| words(&row[0]).iter().any(|word| words(&row[1]).contains(word))).count();
    assert!(shares > 4_000, "{shares}");
    assert_eq!(judgments(&folder.path().join("log/judged.tsv")).queries.len(), 40);

    let output = folder.path().join("none");
    let none = simulate(&config, Some(vec![Title { id: "a".to_owned(), title: "!".to_owned() }]), &output, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(none.is_err_and(|error| error.kind() == ErrorKind::Empty) && !output.exists());
    let one = simulate(&config, Some(vec![titles[0].clone()]), &output, &mut |_| ControlFlow::Continue(()));
    let one = one.unwrap();
    assert_eq!((one.pairs, one.judged, one.fewer_judged.len(), one.fewer_validation), (5_000, 0, 2, Some(0)));
    let files: Vec<String> =
        fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!files.iter().any(|name| name.starts_with("judged") || name.starts_with("validation")), "{files:?}");
    let two = ["red", "green"].map(|title| Title { id: title.to_owned(), title: title.to_owned() }).to_vec();
    let endless =
        simulate(&SimulateConfig { misspelt: 0.0, ..config }, Some(two), &output, &mut |_| ControlFlow::Continue(()));
    assert!(
        endless.as_ref().is_err_and(|error| error.to_string().contains("a query that is not judged")),
        "{endless:?}"
    );
}
