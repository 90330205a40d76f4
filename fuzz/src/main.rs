//! Hostile bytes for everything that reads bytes from outside: `bash fuzz/run` builds and runs it.
//!
//! One program for all targets, so that there is one to build; `CLICKVEC_FUZZ` names the target.
#![no_main]

mod repaired;
mod served;
mod targets;
#[path = "../../crates/clickvec-transformer/tests/tiny/mod.rs"]
mod tiny;
mod training;

use std::backtrace::Backtrace;
use std::panic::{set_hook, take_hook};
use std::sync::OnceLock;

use targets::{TARGETS, Target};

static TARGET: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        ignore_panics_of_tantivy();
        let wanted = std::env::var("CLICKVEC_FUZZ").unwrap_or_default();
        let known = || TARGETS.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
        match TARGETS.iter().find(|(name, _)| *name == wanted) {
            Some(&(_, target)) => target,
            None => panic!("CLICKVEC_FUZZ: expected one of {}, found `{wanted}`", known()),
        }
    });
    target(data);
});

/// Lets tantivy panic on damaged files: `clickvec_index::parts::words` catches these panics and returns an error. A panic that is not
/// caught still ends the run, since libFuzzer's frame stops every panic that reaches it.
fn ignore_panics_of_tantivy() {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        let is_foreign = panic.location().is_some_and(|location| !location.file().contains("crates/clickvec"));
        if !(is_foreign && Backtrace::force_capture().to_string().contains("clickvec_index::parts::words")) {
            hook(panic);
        }
    }));
}
