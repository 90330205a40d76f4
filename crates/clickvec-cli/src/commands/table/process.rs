//! `clickvec train` as a process of its own: its memory is its own too, and it can go on where it was stopped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use serde_json::Value;

use super::cache::Cache;
use super::memory;
use super::run::NotTrainable;

/// Enough that a checkpoint's cost does not show, few enough that little is lost.
const CHECKPOINT_EVERY: &str = "2000";
/// What `train` says where the machine, not the settings, is at fault; then there is no table without the row.
const MACHINE: [&str; 3] = ["cannot ", "another process", "checkpoint"];

/// A process that ends with whoever started it: here where that returns, and where it is killed because `train` watches
/// its standard input.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Neither matters where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Trains `model`, and keeps in the cache, under `key`, how that went.
pub(super) fn train(
    clicks: &Path,
    field: &str,
    arguments: &[String],
    model: &Path,
    key: &str,
    cache: &Cache,
    bar: &ProgressBar,
) -> Result<()> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    // What a run did before it was stopped.
    let mut training = cache.training(key);
    let before = training.seconds;
    let began = Instant::now();
    let mut command = Command::new(program);
    command.arg("train").arg("--clicks").arg(clicks).args(["--stop-with-input", "--field", field]).args(arguments);
    command.args(["--json", "--resume", "--checkpoint-every", CHECKPOINT_EVERY, "--output"]).arg(model);
    command.args(["--threads", &rayon::current_num_threads().to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Running(command.spawn().context("cannot start the program itself")?);
    let (Some(stdout), Some(mut stderr)) = (process.0.stdout.take(), process.0.stderr.take()) else {
        unreachable!("both are piped")
    };
    // Read beside the other, so that neither fills up.
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read what `train` says")?;
        let event: Value = serde_json::from_str(&line).context("cannot read what `train` says")?;
        if event["event"] == "epoch" {
            let epoch = event["epoch"].as_u64().unwrap_or(1).max(1) as usize;
            bar.set_message(format!("epoch {epoch}"));
            training.losses.truncate(epoch - 1);
            training.losses.extend(event["loss"].as_f64());
            training.peak_bytes = memory::peak_of(&process.0.id().to_string()).max(training.peak_bytes);
            training.seconds = before + began.elapsed().as_secs_f64();
            cache.put_training(key, &training)?;
        }
    }
    let status = process.0.wait().context("cannot wait for `train`")?;
    let errors = errors.join().map_or_else(|_| String::new(), |text| text.unwrap_or_default());
    training.seconds = before + began.elapsed().as_secs_f64();
    cache.put_training(key, &training)?;
    if status.success() {
        return Ok(());
    }
    let said = errors.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or("").to_owned();
    let line = arguments.join(" ");
    match status.code().is_none() || MACHINE.iter().any(|machine| said.contains(machine)) {
        true => bail!("`train {line}` ended with {status}: {said}"),
        false => bail!(NotTrainable(format!("`train {line}`: {said}"))),
    }
}
