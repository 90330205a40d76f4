//! Messages between the threads that train and the one that talks to MPI.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clickvec::train::Ranks;
use clickvec::{Error, ErrorKind, Result};

/// How long a rank waits for another one after a signal to end. MPI sends it when a rank has died, and kills a second later.
const PATIENCE: Duration = Duration::from_millis(700);

/// The most numbers that may wait to be sent.
const MOST: usize = 16 << 20;

/// How often a waiting rank looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// A message to another rank.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) to: usize,
    pub(crate) channel: u32,
    pub(crate) numbers: Vec<f32>,
}

/// What is to be sent, and what has come.
#[derive(Debug, Default)]
struct Boxes {
    outgoing: Vec<Letter>,
    /// The numbers in them.
    waiting: usize,
    /// By rank and channel.
    incoming: HashMap<(usize, u32), VecDeque<Vec<f32>>>,
    /// The exit status of this process, once nothing more is to be sent.
    status: Option<u8>,
}

/// The messages of one rank.
#[derive(Debug)]
pub(crate) struct Post {
    rank: usize,
    size: usize,
    boxes: Mutex<Boxes>,
    /// Something has come.
    came: Condvar,
    /// Something is to be sent, or has been taken to be sent.
    left: Condvar,
    /// Whether a signal asked this process to end.
    signal: Arc<AtomicBool>,
}

impl Post {
    pub(crate) fn new(rank: usize, size: usize, signal: Arc<AtomicBool>) -> Post {
        let (came, left) = (Condvar::new(), Condvar::new());
        Post { rank, size, boxes: Mutex::default(), came, left, signal }
    }

    fn boxes(&self) -> MutexGuard<'_, Boxes> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all messages that are to be sent, after waiting this long for the first, and the exit status if those are the last ones.
    pub(crate) fn collect(&self, patience: Duration) -> (Vec<Letter>, Option<u8>) {
        let mut boxes = self.boxes();
        if boxes.outgoing.is_empty() && boxes.status.is_none() && !patience.is_zero() {
            boxes = self.left.wait_timeout(boxes, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        boxes.waiting = 0;
        self.left.notify_all();
        (std::mem::take(&mut boxes.outgoing), boxes.status)
    }

    /// Hands in a message that has come.
    pub(crate) fn deliver(&self, from: usize, channel: u32, numbers: Vec<f32>) {
        self.boxes().incoming.entry((from, channel)).or_default().push_back(numbers);
        self.came.notify_all();
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&self, status: u8) {
        self.boxes().status = Some(status);
        self.left.notify_all();
    }
}

impl Ranks for Post {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, channel: u32, numbers: Vec<f32>) -> Result<()> {
        let mut boxes = self.boxes();
        while boxes.waiting > MOST {
            boxes = self.left.wait(boxes).unwrap_or_else(PoisonError::into_inner);
        }
        boxes.waiting += numbers.len();
        boxes.outgoing.push(Letter { to, channel, numbers });
        self.left.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, channel: u32) -> Result<Vec<f32>> {
        let mut boxes = self.boxes();
        let mut signalled = None;
        loop {
            if let Some(numbers) = boxes.incoming.get_mut(&(from, channel)).and_then(VecDeque::pop_front) {
                return Ok(numbers);
            }
            if self.signal.load(Ordering::Relaxed) {
                let since = *signalled.get_or_insert_with(Instant::now);
                if since.elapsed() >= PATIENCE {
                    let expected = format!("numbers from rank {from}");
                    let error = Error::expected(ErrorKind::Io, expected, "a signal to end, as when a rank has died");
                    return Err(
                        error.help("start the training again with `--resume`: it goes on from its last checkpoint")
                    );
                }
            }
            boxes = self.came.wait_timeout(boxes, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
