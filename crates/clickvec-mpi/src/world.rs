//! The thread that talks to MPI. It alone does, so that any thread may send and wait without MPI's support for threads, and a waiting
//! rank does not keep a core busy.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use clickvec::train::Ranks;
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Destination as _, Equivalence as _, Source as _};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::post::{Letter, Post};

/// The exit status of a process that could not do its part. The others cannot go on.
pub(crate) const FAILED: u8 = 2;

/// The number of times that it looks for messages without a pause when none comes.
const EAGER: u32 = 200;

/// How long it pauses then.
const PAUSE: Duration = Duration::from_micros(50);

/// The processes that were started together.
pub(crate) struct World {
    post: Arc<Post>,
    thread: JoinHandle<()>,
}

impl World {
    /// Joins the other processes.
    pub(crate) fn join() -> World {
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || talk(&tell));
        let Ok(post) = told.recv() else {
            // MPI has said why.
            std::process::exit(i32::from(FAILED));
        };
        World { post, thread }
    }

    pub(crate) fn ranks(&self) -> Arc<dyn Ranks> {
        Arc::clone(&self.post) as Arc<dyn Ranks>
    }

    /// Sends what is left, and takes leave of the others. After a failure, ends them.
    pub(crate) fn leave(self, status: u8) {
        self.post.close(status);
        // It fails only if the thread has panicked, and then there is nothing left to send.
        let _ = self.thread.join();
    }
}

/// Sends and receives until nothing more is to be sent.
fn talk(tell: &Sender<Arc<Post>>) {
    let Some(universe) = mpi::initialize() else { return };
    let world = universe.world();
    let signal = Arc::new(AtomicBool::new(false));
    for number in [SIGINT, SIGTERM] {
        // Without it, a rank waits until it is killed.
        let _ = signal_hook::flag::register(number, Arc::clone(&signal));
    }
    let post = Arc::new(Post::new(world.rank() as usize, world.size() as usize, signal));
    if tell.send(Arc::clone(&post)).is_err() {
        return;
    }
    let mut idle = 0;
    loop {
        let (letters, status) = post.collect(if idle < EAGER { Duration::ZERO } else { PAUSE });
        let has_sent = !letters.is_empty();
        scope(|scope| {
            let mut requests = Vec::with_capacity(letters.len());
            for Letter { to, channel, numbers } in &letters {
                let to = world.process_at_rank(*to as i32);
                requests.push(to.immediate_send_with_tag(scope, &numbers[..], *channel as i32));
            }
            let mut idle = 0;
            while !requests.is_empty() {
                requests = requests.into_iter().filter_map(|request| request.test().err()).collect();
                idle = if receive(&world, &post) { 0 } else { idle + 1 };
                if idle > EAGER {
                    std::thread::sleep(PAUSE);
                }
            }
        });
        if receive(&world, &post) || has_sent {
            idle = 0;
        } else {
            idle += 1;
            std::thread::yield_now();
        }
        match status {
            Some(FAILED) => world.abort(i32::from(FAILED)),
            Some(_) => return,
            None => {}
        }
    }
}

/// Receives what has come, and returns whether there was anything.
fn receive(world: &SimpleCommunicator, post: &Post) -> bool {
    let mut any = false;
    while let Some((message, status)) = world.any_process().immediate_matched_probe() {
        let (from, channel) = (status.source_rank() as usize, status.tag() as u32);
        let mut numbers = vec![0.0; status.count(f32::equivalent_datatype()) as usize];
        message.matched_receive_into(&mut numbers[..]);
        post.deliver(from, channel, numbers);
        any = true;
    }
    any
}
