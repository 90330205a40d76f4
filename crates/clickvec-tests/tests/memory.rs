//! Buffers cost no memory before they are used. This is a process of its own, because it measures the process's
//! memory.
#![cfg(target_os = "linux")]

use clickvec::internals::math::Buffer;

/// Anonymous memory in RAM, in MiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1024
}

#[test]
fn room_costs_nothing_before_it_is_used() {
    const NUMBERS: usize = 64 << 20;
    let before = resident();
    let empty = Buffer::with_capacity(NUMBERS);
    let zeros = Buffer::zeros(NUMBERS);
    assert!(resident() < before + 8, "{before} MiB became {} with room for {NUMBERS} numbers", resident());
    let used = Buffer::from(vec![1.0; NUMBERS / 4]);
    assert!(resident() > before + 60, "{before} MiB are {} with {} numbers written", resident(), used.len());
    assert_eq!((empty.len(), zeros[NUMBERS - 1]), (0, 0.0));
}
