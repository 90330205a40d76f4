//! The most memory that a process has had: what Linux says of it; elsewhere nothing is known.

/// From now on the peak of this process is counted anew.
pub(super) fn begin() {
    // Where that is not allowed, the peak is that of the whole process: never too small.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak of this process, in bytes.
pub(super) fn peak() -> Option<u64> {
    peak_of("self")
}

/// The peak of another process so far, in bytes.
pub(super) fn peak_of(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
