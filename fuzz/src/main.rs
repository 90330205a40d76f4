//! Hostile bytes for everything that reads bytes from outside: `bash fuzz/run` builds and runs it.
//!
//! One program for all targets, so that there is one to build; `CLICKVEC_FUZZ` names the target.
#![no_main]

mod repaired;
mod served;
mod targets;
mod training;

use std::sync::OnceLock;

use targets::{TARGETS, Target};

static TARGET: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let wanted = std::env::var("CLICKVEC_FUZZ").unwrap_or_default();
        let known = || TARGETS.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
        match TARGETS.iter().find(|(name, _)| *name == wanted) {
            Some(&(_, target)) => target,
            None => panic!("CLICKVEC_FUZZ: expected one of {}, found `{wanted}`", known()),
        }
    });
    target(data);
});
