//! The program `clickvec`, whose `train` several processes divide by MPI: `mpirun -n 4 clickvec-mpi train …`.

mod post;
mod world;

use std::process::ExitCode;

use world::World;

fn main() -> ExitCode {
    let world = World::join();
    let status = clickvec_cli::run_as(world.ranks());
    world.leave(status);
    ExitCode::from(status)
}
