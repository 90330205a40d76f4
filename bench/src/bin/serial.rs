//! Trains for some epochs, in memory, for `bench/serial.py`, which samples what the threads do.
//!
//!     cargo run --release -p clickvec-bench --no-default-features --bin serial -- LOG.tsv --set batch_size=1024

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Parser;
use clickvec::Error;
use clickvec::train::{ClickSource, Event, Inputs, Overrides, TrainOptions, train};

/// Trains for some epochs, in memory.
#[derive(Parser)]
struct Args {
    /// A click log.
    log: PathBuf,
    /// A setting, as `train` takes it; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

fn main() -> Result<(), Error> {
    let args = Args::parse();
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global().expect("the first pool");
    let mut settings = Overrides::default();
    settings.set_pair("held_out=0")?;
    args.set.iter().try_for_each(|pair| settings.set_pair(pair))?;
    let config = Inputs { clicks: true, ..Inputs::default() }.settings(&settings)?;
    train(&config, ClickSource::file(&args.log), TrainOptions::default(), &mut |event| {
        if let Event::Epoch(report) = event {
            println!("{:.0} pairs/s", report.pairs_per_second);
        }
        ControlFlow::Continue(())
    })
    .map(drop)
}
