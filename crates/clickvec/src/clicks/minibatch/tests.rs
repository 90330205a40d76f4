//! Tests of minibatches.

use super::*;
use crate::clicks::ClickSource;
use crate::settings::{LossConfig, TrainConfig};
use std::collections::HashSet;
use std::path::Path;

fn log(folder: &Path, rows: &str) -> ClickLog {
    let path = folder.join("clicks.tsv");
    std::fs::write(&path, format!("query\ttitle\n{rows}")).expect("written");
    let config = TrainConfig { max_trigrams: 1000, ..TrainConfig::default() };
    ClickLog::read(ClickSource::file(&path), Storage::Folder(folder), &config).expect("a log")
}

fn config(negatives: Negatives, negative_source: NegativeSource) -> TrainConfig {
    TrainConfig { batch_size: 16, negatives, negative_source, shared_towers: false, seed: 3, ..TrainConfig::default() }
}

/// 40 queries with two clicked titles each. Every title is clicked for two queries.
fn rows() -> String {
    (0..80).map(|i| format!("query{}\ttitle{}\n", i / 2, (i / 2 + i % 2) % 40)).collect()
}

/// Returns the number of every pair in the log, and its negatives as title hashes.
fn negatives(minibatch: &Minibatch) -> Vec<(u64, Vec<u64>)> {
    let hash = |row: &u32| minibatch.rows.hashes[*row as usize];
    (0..minibatch.pairs.positive.len())
        .map(|r| {
            let rows = match &minibatch.pairs.negatives {
                NegativeRows::Listed(lists) => lists.get(r).iter().map(hash).collect(),
                NegativeRows::AllBut(lists) => (0..minibatch.rows.len() as u32)
                    .filter(|row| !lists.get(r).contains(row))
                    .map(|row| hash(&row))
                    .collect(),
            };
            (minibatch.numbers[r], rows)
        })
        .collect()
}

#[test]
fn a_negative_was_never_clicked_and_never_repeats() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path(), &rows());
    for (kind, source) in [
        (Negatives::Sampled(3), NegativeSource::Minibatch),
        (Negatives::Sampled(100), NegativeSource::Minibatch),
        (Negatives::All, NegativeSource::Minibatch),
        (Negatives::Sampled(3), NegativeSource::Uniform),
        (Negatives::Sampled(100), NegativeSource::Uniform),
    ] {
        let minibatches = Minibatches::new(&log, Section::Clicks, config(kind, source), Storage::Folder(folder.path()))
            .expect("minibatches");
        let mut minibatch = Minibatch::default();
        for index in 0..minibatches.per_epoch() {
            minibatches.fill(0, index, &mut minibatch);
            let titles: HashSet<u64> = minibatch.rows.hashes.iter().copied().collect();
            assert_eq!(titles.len(), minibatch.rows.len(), "each title once");
            for (number, negatives) in negatives(&minibatch) {
                let clicked: HashSet<u64> = log.clicked(number as usize).iter().map(|pair| pair[1]).collect();
                let distinct: HashSet<u64> = negatives.iter().copied().collect();
                assert_eq!(distinct.len(), negatives.len());
                assert!(distinct.is_disjoint(&clicked), "{kind:?} {source:?}");
                let eligible = match source {
                    NegativeSource::Minibatch => titles.difference(&clicked).count(),
                    NegativeSource::Uniform => 38,
                };
                let expected = match kind {
                    Negatives::Sampled(n) => n.min(eligible),
                    Negatives::All => eligible,
                };
                assert_eq!(negatives.len(), expected, "{kind:?} {source:?}");
            }
        }
    }
}

#[test]
fn an_epoch_is_every_pair_once_and_the_seed_fixes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(folder.path(), &rows());
    let kind = config(Negatives::Sampled(2), NegativeSource::Minibatch);
    let minibatches = Minibatches::new(&log, Section::Clicks, kind, Storage::Memory).expect("minibatches");
    let run = |epoch: u64, order: &[u64]| {
        let mut minibatch = Minibatch::default();
        let mut seen = vec![Vec::new(); minibatches.per_epoch() as usize];
        for &index in order {
            minibatches.fill(epoch, index, &mut minibatch);
            seen[index as usize] = minibatch.numbers.clone();
            seen[index as usize].extend(negatives(&minibatch).into_iter().flat_map(|(_, rows)| rows));
        }
        seen
    };
    assert_eq!(run(0, &[0, 1, 2, 3, 4]), run(0, &[4, 2, 3, 0, 1]), "no minibatch depends on another");
    assert_ne!(run(0, &[0, 1, 2, 3, 4]), run(1, &[0, 1, 2, 3, 4]));
    let mut minibatch = Minibatch::default();
    let mut numbers = Vec::new();
    for index in 0..5 {
        minibatches.fill(0, index, &mut minibatch);
        numbers.extend(minibatch.numbers.iter().copied());
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..80));
}

#[test]
fn noise_is_how_often_minibatches_have_a_title() {
    let folder = tempfile::tempdir().expect("a folder");
    // One title in half of the pairs, one in an eighth, and others in one each.
    let title = |i: u32| match i % 8 {
        0 | 2 | 4 | 6 => "common".to_owned(),
        1 => "known".to_owned(),
        _ => format!("title{i}"),
    };
    let rows: String = (0..800).map(|i| format!("query{i}\t{}\n", title(i))).collect();
    let log = log(folder.path(), &rows);
    let loss = LossConfig { kind: LossKind::Nce, ..LossConfig::default() };
    let nce = |source| TrainConfig { loss, batch_size: 4, ..config(Negatives::Sampled(2), source) };
    let made = |source| Minibatches::new(&log, Section::Clicks, nce(source), Storage::Memory).expect("minibatches");
    let minibatches = made(NegativeSource::Minibatch);
    let (mut minibatch, mut found) = (Minibatch::default(), std::collections::HashMap::new());
    for (epoch, index) in (0..20).flat_map(|epoch| (0..200).map(move |index| (epoch, index))) {
        minibatches.fill(epoch, index, &mut minibatch);
        let noise = minibatch.pairs.noise.as_ref().expect("noise");
        assert_eq!(noise.len(), minibatch.rows.len());
        for (&hash, &noise) in minibatch.rows.hashes.iter().zip(noise) {
            let (count, chance) = found.entry(hash).or_insert((0u32, noise));
            *count += 1;
            assert_eq!(*chance, noise);
        }
    }
    let mut often: Vec<(u32, f32)> = found.into_values().collect();
    often.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    for &(count, chance) in &often[..2] {
        let found = f64::from(count) / 4000.0;
        assert!((found - f64::from(chance.exp())).abs() < 0.03, "{found} {}", chance.exp());
    }
    made(NegativeSource::Uniform).fill(0, 0, &mut minibatch);
    let noise = minibatch.pairs.noise.as_ref().expect("noise");
    assert!(noise.len() > 2 && noise.iter().all(|&noise| noise == 0.0), "{noise:?}");
}

#[test]
fn negatives_are_drawn_evenly() {
    let mut stream = rng::stream(1, "test", 0);
    let mut counts = [0u32; 50];
    let mut drawn = Vec::new();
    for _ in 0..20_000 {
        sample(4, 50, &[7], &mut drawn, &mut stream);
        drawn.iter().for_each(|&row| counts[row as usize] += 1);
    }
    // 80,000 draws from 49 rows give 1,633 each, with a standard deviation of 40.
    assert_eq!(counts[7], 0);
    assert!(counts.iter().enumerate().all(|(row, &n)| row == 7 || (1430..1840).contains(&n)), "{counts:?}");
}
