//! The program `clickvec`, whose `train` several processes divide by MPI: `mpirun -n 4 clickvec-mpi train …`.

mod post;
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use world::{FAILED, World};

fn main() -> ExitCode {
    let world = World::join();
    let ranks = world.ranks();
    let status = clickvec_cli::run_as(Arc::clone(&ranks));
    world.leave(status);
    // MPI ends all ranks when one of them fails, and the first one may still be writing.
    let is_told = ranks.rank() == 0 || status == FAILED;
    ExitCode::from(if is_told { status } else { 0 })
}
