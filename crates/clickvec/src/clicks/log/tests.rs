//! Reading a log: its words and hashes, its limits, and what is refused.

use super::*;
use crate::clicks::pairs::SourcePair;
use crate::clicks::text_hash;
use crate::text::{Tail, WordBuffer, WordHash, for_each_trigram, for_each_word};

fn read(rows: &str, config: &TrainConfig) -> Result<ClickLog> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("clicks.tsv");
    std::fs::write(&path, rows).expect("written");
    let mapped = ClickLog::read(ClickSource::file(&path), Storage::Folder(folder.path()), config);
    // The log is the same in memory.
    let kept = ClickLog::read(ClickSource::file(&path), Storage::Memory, config);
    match (&mapped, &kept) {
        (Ok(a), Ok(b)) => {
            assert_eq!(
                (a.fingerprint(), a.statistics(), &a.clicked[..]),
                (b.fingerprint(), b.statistics(), &b.clicked[..])
            )
        }
        (a, b) => assert_eq!(a.as_ref().err().map(ToString::to_string), b.as_ref().err().map(ToString::to_string)),
    }
    mapped
}

fn config() -> TrainConfig {
    TrainConfig { max_words: 4, max_trigrams: 100, ..TrainConfig::default() }
}

#[test]
fn pairs_that_all_weigh_nothing_are_refused() {
    let found = read("query\ttitle\tweight\na\tb\t0\nc\td\t0\n", &config()).map(drop).unwrap_err();
    assert_eq!(found.kind(), clickvec_tables::ErrorKind::Empty);
    assert!(found.to_string().contains("found 2 whose weights or counts are all 0"), "{found}");
    assert!(read("query\ttitle\tweight\na\tb\t0\nc\td\t0.1\n", &config()).is_ok());
}

#[test]
fn pairs_words_and_features() {
    let log = read("query\ttitle\tweight\nBig shoe\tShoe, big!\t2\nshoe\ta b c d e f\t1\n", &config()).expect("a log");
    assert_eq!(log.len(), 2);
    let (first, second) = (log.pair(0), log.pair(1));
    assert_eq!((first.query_words, first.title_words, first.weight), (&[0, 1][..], &[1, 0][..], 2.0));
    assert_eq!(second.title_words.len(), 4, "cut at four words");
    assert_eq!(log.statistics().cut, 1);
    assert_ne!(first.query, first.title, "order counts");
    assert_eq!(WordFeatures::features(&log, 1).len(), 4, "#sh sho hoe oe#");
    assert_eq!(log.clicked(0), [[first.query, first.title]]);
}

#[test]
fn a_text_alone_has_the_hash_that_the_log_has() {
    let log = read("query\ttitle\nBig shoe\tShoe, big! a b c\n", &config()).expect("a log");
    let hash = |text| text_hash(text, config().limit(), &mut WordBuffer::default());
    assert_eq!((hash("BIG  shoe"), hash("shoe big a b d")), (log.pair(0).query, log.pair(0).title));
    assert_ne!(hash("shoe big a c"), log.pair(0).title);
}

#[test]
fn a_merged_tail_is_one_word_with_the_trigrams_of_all() {
    let config = TrainConfig { tail: Tail::Merge, ..config() };
    let rows = "query\ttitle\nred\ta b boy boy boys toy\nred\ta b boy boy\nred\ta b boy toy boys boy\n";
    let log = read(rows, &config).expect("a log");
    let [long, fits, other] = [0, 1, 2].map(|number| log.pair(number));
    assert_eq!([long, fits, other].map(|pair| pair.title_words.len()), [4, 4, 4]);
    assert_eq!(log.statistics().cut, 2);
    assert_eq!(log.text(long.title_words), "a b boy boy boys toy");
    let trigrams = log.dictionary().trigrams();
    let features = |word: WordId| -> Vec<(String, u32)> {
        let shown = |feature: &Feature| (trigrams[feature.id as usize].to_string(), feature.count);
        let mut features: Vec<_> = WordFeatures::features(&log, word).iter().map(shown).collect();
        features.sort();
        features
    };
    let tail = [("#bo", 2), ("#to", 1), ("boy", 2), ("oy#", 2), ("oys", 1), ("toy", 1), ("ys#", 1)];
    assert_eq!(features(long.title_words[3]), tail.map(|(trigram, count)| (trigram.to_owned(), count)));
    assert_eq!(features(long.title_words[3]), features(other.title_words[3]), "their order does not count");
    assert_eq!(features(fits.title_words[3]), features(fits.title_words[2]), "a fourth word is no tail");
    // 3 × #red#, a and b three times, and the letters of the words after them.
    assert_eq!(log.statistics().title_trigrams, 3 * 2 + (3 + 3 + 4 + 3) + (3 + 3) + (3 + 3 + 4 + 3));
    let hash = |text| text_hash(text, config.limit(), &mut WordBuffer::default());
    assert_eq!([long.title, other.title], ["A b boy, boy boys toy", "a b boy toy boys boy"].map(hash));
    assert_ne!(long.title, other.title);
}

#[test]
fn equal_texts_have_equal_hashes() {
    let log = read("query\ttitle\nred shoe\tA\nRED  shoe!\tB\n", &config()).expect("a log");
    assert_eq!(log.pair(0).query, log.pair(1).query);
    assert_eq!(log.clicked(0).len(), 2);
}

#[test]
fn every_query_finds_all_its_titles() {
    let rows: String = (0..3000).map(|i| format!("q{}\tt{}\n", i % 700, i)).collect();
    let log = read(&format!("query\ttitle\n{rows}"), &config()).expect("a log");
    for number in 0..700 {
        let query = log.pair(number).query;
        let clicked = log.clicked(number);
        assert!(clicked.iter().all(|pair| pair[0] == query));
        assert_eq!(clicked.len(), (number..3000).step_by(700).count());
    }
}

#[test]
fn a_trigram_that_only_rare_queries_have_is_not_in_the_dictionary() {
    let rows = "query\ttitle\trare\nmiller xqz\tbread\t1\nbrown bread\tbread\t0\nmill\tflour\t1\n";
    let log = read(rows, &config()).expect("a log");
    let known = |text: &str| {
        let (mut all, mut buffer) = (Vec::new(), WordBuffer::default());
        for_each_word(text, &mut buffer, |word| {
            for_each_trigram(word, |trigram| all.push(log.dictionary().get(trigram).is_some()));
        });
        all
    };
    assert!(known("miller xqz mill").iter().all(|known| !known));
    assert!(known("brown bread flour").iter().all(|&known| known));
    assert_eq!((log.statistics().pairs, log.statistics().rare), (3, 2));
    assert_eq!(log.len(), 3, "the pairs themselves are learnt");
    // The same log without the mark has them.
    let log =
        read(&rows.replace("\trare", "").replace("\t1\n", "\n").replace("\t0\n", "\n"), &config()).expect("a log");
    let word = |text: &str| {
        let mut all = Vec::new();
        for_each_trigram(text, |trigram| all.push(log.dictionary().get(trigram).is_some()));
        all
    };
    assert!(word("xqz").iter().all(|&known| known) && log.statistics().rare == 0);
}

#[test]
fn nothing_to_train_on() {
    let error = read("query\ttitle\n!!\tshoe\nbroken\n", &config()).expect_err("no pair");
    assert!(
        error
            .to_string()
            .contains("1 line was broken, 1 had a side without words; line 3: expected at least 2 columns, found 1"),
        "{error}"
    );
}

#[test]
fn words_beyond_the_memory_are_numbered_anew_and_mean_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config();
    let mut building = Building::new(Storage::Folder(folder.path()), (&config).into()).expect("begun");
    let pair = |query, title| SourcePair { query, title, weight: 1.0, worth: None, rare: false, clicked: true };
    building.add(pair("red shoe", "red")).expect("added");
    building.forget_words().expect("room");
    building.add(pair("red shoe", "shoe")).expect("added");
    let log = building.finish().expect("a log");
    let (first, second) = (log.pair(0), log.pair(1));
    assert_eq!(first.query, second.query);
    assert_eq!((first.query_words, second.query_words), (&[0, 1][..], &[2, 3][..]));
    assert_eq!(WordFeatures::features(&log, 0), WordFeatures::features(&log, 2));
    assert_eq!(log.clicked(0).len(), 2);
}

#[test]
fn frequent_words_are_features() {
    let rows = "query\ttitle\nred shoe\tShoe red\nshoe\tboot\n";
    let words = |least| {
        let log = read(rows, &TrainConfig { word_count: least, ..config() }).expect("a log");
        (log.dictionary().words().to_vec(), log.dictionary().trigrams().len())
    };
    let (none, trigrams) = words(None);
    assert!(none.is_empty());
    let [shoe, red, boot] = ["shoe", "red", "boot"].map(WordHash::new);
    assert_eq!(words(Some(3)), (vec![shoe], trigrams));
    assert_eq!(words(Some(2)), (vec![shoe, red], trigrams));
    assert_eq!(words(Some(1)), (vec![shoe, red, boot], trigrams));
    let log = read(rows, &TrainConfig { word_count: Some(2), ..config() }).expect("a log");
    let last = |word| WordFeatures::features(&log, word).last().expect("a feature").id as usize;
    assert_eq!([last(0), last(1)], [trigrams + 1, trigrams], "red and shoe");
    assert!(last(2) < trigrams, "boot");
}
