//! Training by several ranks, which are threads here: the bytes of one, at any number of them.

use super::support::*;
use clickvec::Result;
use clickvec::encoder::{
    ClsmConfig, DssmConfig, EncoderConfig, GruConfig, MembersConfig, Peephole, RnnConfig, StackedConfig,
};
use clickvec::train::{Event, Negatives, OptimizerKind, Outcome, Ranks, TitleConfig, TrainConfig, Written};
use clickvec_tables::{Error, ErrorKind};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// What ranks have sent to each other, by (from, to, channel), and the ranks that have ended.
#[derive(Debug, Default)]
struct Mail {
    sent: HashMap<(usize, usize, u32), VecDeque<Vec<f32>>>,
    ended: HashSet<usize>,
}

/// A rank that is a thread.
#[derive(Debug)]
struct Thread {
    rank: usize,
    size: usize,
    mail: Arc<(Mutex<Mail>, Condvar)>,
}

impl Thread {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.0.lock().expect("no panic meanwhile")
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.mail().ended.insert(self.rank);
        self.mail.1.notify_all();
    }
}

impl Ranks for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, channel: u32, numbers: Vec<f32>) -> Result<()> {
        self.mail().sent.entry((self.rank, to, channel)).or_default().push_back(numbers);
        self.mail.1.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, channel: u32) -> Result<Vec<f32>> {
        let mut mail = self.mail();
        loop {
            if let Some(numbers) = mail.sent.get_mut(&(from, self.rank, channel)).and_then(VecDeque::pop_front) {
                return Ok(numbers);
            }
            if mail.ended.contains(&from) {
                return Err(Error::expected(ErrorKind::Io, format!("numbers from rank {from}"), "its end"));
            }
            mail = self.mail.1.wait(mail).expect("no panic meanwhile");
        }
    }
}

type OnEvent<'a> = dyn Fn(usize, &Event) -> ControlFlow<()> + Sync + 'a;

/// Trains with a rank for each place, and returns what became of each.
fn together(
    places: &[Place],
    config: &TrainConfig,
    how: How<'_>,
    on_event: &OnEvent<'_>,
) -> Vec<Result<Outcome<Written>>> {
    let mail = Arc::<(Mutex<Mail>, Condvar)>::default();
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (places.iter().enumerate())
            .map(|(rank, place)| {
                let thread = Thread { rank, size: places.len(), mail: Arc::clone(&mail) };
                scope.spawn(move || {
                    let ranks: Arc<dyn Ranks> = Arc::new(thread);
                    let how = How { ranks: Some(&ranks), ..how };
                    place.train_watched(config, how, &mut |event| on_event(rank, event))
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}

fn places(count: usize, rows: &str) -> Vec<Place> {
    (0..count).map(|_| Place::new(rows)).collect()
}

fn go_on(_: usize, _: &Event) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn finished(outcomes: Vec<Result<Outcome<Written>>>) {
    for outcome in outcomes {
        outcome.expect("trained").finished().expect("nobody broke off");
    }
}

/// Eight blocks of texts in each tower, and a last minibatch of fewer.
fn wide(encoder: EncoderConfig, optimizer: OptimizerKind) -> TrainConfig {
    TrainConfig { encoder, batch_size: 300, epochs: 2, ..small(optimizer) }
}

fn members(members: usize) -> EncoderConfig {
    EncoderConfig::Members(MembersConfig::new(members, lstm(6, false, Peephole::None), None))
}

fn clsm() -> EncoderConfig {
    EncoderConfig::Clsm(ClsmConfig { window: 3, convolution: 9, hidden: vec![7], semantic: 6, bias: true })
}

#[test]
fn any_number_of_ranks_writes_the_bytes_of_one() {
    let (nesterov, adam) = (OptimizerKind::Nesterov, OptimizerKind::Adam);
    let stacked = StackedConfig { layers: vec![5, 4], forget_gate: true, peephole: Peephole::Full };
    let all = [
        (wide(small(adam).encoder, nesterov), &[1, 2, 3, 4][..]),
        (wide(clsm(), nesterov), &[2, 4]),
        (TrainConfig { shared_towers: true, ..wide(small(adam).encoder, adam) }, &[2, 4]),
        (TrainConfig { negatives: Negatives::All, ..wide(EncoderConfig::Gru(GruConfig { cells: 5 }), adam) }, &[4]),
        (wide(EncoderConfig::Bilstm(lstm(3, true, Peephole::Diagonal)), nesterov), &[2, 4]),
        (wide(EncoderConfig::Stacked(stacked), adam), &[4]),
        (wide(EncoderConfig::Dssm(DssmConfig { layers: vec![8, 6] }), OptimizerKind::Sgd), &[4]),
        (wide(EncoderConfig::Rnn(RnnConfig { hidden: 6 }), OptimizerKind::Momentum), &[4]),
        // More ranks than blocks: some have nothing to do.
        (TrainConfig { batch_size: 40, ..wide(small(adam).encoder, nesterov) }, &[5]),
        // Fewer ranks than members, as many, and several for each.
        (TrainConfig { batch_size: 64, ..wide(members(3), nesterov) }, &[1, 2, 3, 4]),
        (wide(members(2), adam), &[2, 4, 5]),
    ];
    let rows = log_rows(700, 2);
    for (config, numbers) in all {
        let alone = Place::new(&rows);
        alone.train(&config, How::default()).expect("trained");
        for &number in numbers {
            let places = places(number, &rows);
            finished(together(&places, &config, How::default(), &go_on));
            for (rank, place) in places.iter().enumerate() {
                assert!(place.model() == alone.model(), "rank {rank} of {number}: {config:?}");
            }
        }
    }
}

#[test]
fn titles_and_clicks_and_a_judge_are_the_same_for_all_ranks() {
    let (rows, judged) = (log_rows(240, 3), judgments(1));
    let titles = Some(TitleConfig { epochs: 2, ..TitleConfig::default() });
    let config = TrainConfig { titles, negatives: Negatives::All, epochs: 3, ..wide(members(3), OptimizerKind::Adam) };
    let config = TrainConfig { keep: clickvec::train::Keep::Best, batch_size: 64, ..config };
    let how = How { validation: Some(&judged), ..How::default() };
    let all: Vec<Place> = places(4, &rows);
    for place in &all {
        std::fs::write(place.titles(), title_rows(150, 4)).expect("written");
    }
    let (alone, all) = all.split_first().expect("four");
    alone.train(&config, how).expect("trained");
    finished(together(all, &config, how, &go_on));
    all.iter().for_each(|place| assert!(place.model() == alone.model()));
}

/// Copies what a run has left to further places.
fn copies(place: &Place, count: usize) -> Vec<Place> {
    let rows = std::fs::read_to_string(place.clicks()).expect("a log");
    let places = places(count, &rows);
    for (copy, suffix) in places.iter().flat_map(|copy| [(copy, ".partial"), (copy, ".checkpoint")]) {
        if place.beside(suffix).exists() {
            std::fs::copy(place.beside(suffix), copy.beside(suffix)).expect("copied");
        }
    }
    places
}

#[test]
fn another_number_of_ranks_resumes_a_run_that_one_of_them_stopped() {
    let rows = log_rows(700, 2);
    let how = How { checkpoint_every: Some(2), ..How::default() };
    let resumed = How { resume: true, ..how };
    for encoder in [small(OptimizerKind::Adam).encoder, clsm(), members(3)] {
        for (optimizer, before, after) in [(OptimizerKind::Nesterov, 2, 4), (OptimizerKind::Adam, 3, 1)] {
            let config = TrainConfig { batch_size: 100, ..wide(encoder.clone(), optimizer) };
            let alone = Place::new(&rows);
            alone.train(&config, how).expect("trained");
            let first = places(before, &rows);
            let last = before - 1;
            let stop = |rank: usize, event: &Event| match event {
                Event::Minibatch { epoch: 2, minibatch: 3, .. } if rank == last => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            for outcome in together(&first, &config, how, &stop) {
                assert!(outcome.expect("no fault") == Outcome::Cancelled, "{config:?}: all stop if one is to");
            }
            let has_checkpoint = |place: &Place| place.beside(".checkpoint").exists();
            assert!(has_checkpoint(&first[0]) && !first[1..].iter().any(has_checkpoint), "{config:?}");
            let second = copies(&first[0], after);
            finished(together(&second, &config, resumed, &go_on));
            second.iter().for_each(|place| assert!(place.model() == alone.model(), "{config:?}"));
        }
    }
}

#[test]
fn a_rank_that_ends_ends_the_others_and_the_run_goes_on_from_the_checkpoint() {
    let rows = log_rows(700, 2);
    let how = How { checkpoint_every: Some(1), ..How::default() };
    for (encoder, number) in [(small(OptimizerKind::Adam).encoder, 3), (members(3), 3), (members(2), 4)] {
        let config = TrainConfig { batch_size: 100, ..wide(encoder, OptimizerKind::Nesterov) };
        let alone = Place::new(&rows);
        alone.train(&config, how).expect("trained");
        let places = places(number, &rows);
        let mail = Arc::<(Mutex<Mail>, Condvar)>::default();
        std::thread::scope(|scope| {
            for (rank, place) in places.iter().enumerate() {
                let thread = Thread { rank, size: number, mail: Arc::clone(&mail) };
                let config = &config;
                scope.spawn(move || {
                    let ranks: Arc<dyn Ranks> = Arc::new(thread);
                    let how = How { ranks: Some(&ranks), ..how };
                    if rank == 1 {
                        return place.interrupt(config, how, 11);
                    }
                    let error = place.train(config, how).map(drop).expect_err("a rank has gone");
                    let names_one = (0..number).any(|from| error.to_string().contains(&format!("from rank {from}")));
                    assert!(error.kind() == ErrorKind::Io && names_one, "{error}");
                });
            }
        });
        let second = copies(&places[0], 1);
        second[0].train(&config, How { resume: true, ..how }).expect("resumed");
        assert!(second[0].model() == alone.model(), "{config:?}");
    }
}

#[test]
fn ranks_that_differ_are_refused() {
    let places = [Place::new(&log_rows(240, 1)), Place::new(&log_rows(240, 2))];
    let config = small(OptimizerKind::Adam);
    for outcome in together(&places, &config, How::default(), &go_on) {
        let error = outcome.expect_err("two logs");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(text.starts_with("rank 1: expected the log of rank 0 on all ranks"), "{text}");
    }
    let mail = Arc::<(Mutex<Mail>, Condvar)>::default();
    let ranks: Arc<dyn Ranks> = Arc::new(Thread { rank: 0, size: 2, mail });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let how = How { ranks: Some(&ranks), ..How::default() };
    let error = pool.install(|| places[0].train(&config, how)).map(drop).expect_err("inside of a pool");
    assert!(error.to_string().contains("called outside of a thread pool"), "{error}");
}
