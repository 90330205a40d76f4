//! The time of the system's clock, which may be set to anything.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::SystemTime;

use jiff::Timestamp;

use crate::error::{Result, setting};

/// Returns the time, UTC, to a millisecond.
pub(crate) fn now() -> String {
    written(timestamp())
}

/// Returns the time; of a clock outside the years 1970 to 9999, the nearest one within them.
pub(crate) fn timestamp() -> Timestamp {
    nearest(SystemTime::now())
}

/// Refuses a clock that is set to a time without a date in HTTP.
pub(crate) fn check() -> Result<()> {
    let clock = SystemTime::now();
    if has_date(clock) {
        return Ok(());
    }
    let found = match clock.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => format!("{} s after 1970", since.as_secs()),
        Err(error) => format!("{} s before 1970", error.duration().as_secs()),
    };
    Err(setting("a clock in the years 1970 to 9999", found).help("set the clock of this machine"))
}

/// Runs a future to its end, or until the clock has no date in HTTP: hyper dates every answer, and panics if it cannot. Returns
/// whether it came to its end.
pub(crate) async fn while_dated(future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    poll_fn(
        |context| {
            if has_date(SystemTime::now()) { future.as_mut().poll(context).map(|()| true) } else { Poll::Ready(false) }
        },
    )
    .await
}

fn written(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn nearest(clock: SystemTime) -> Timestamp {
    Timestamp::try_from(clock.max(SystemTime::UNIX_EPOCH)).unwrap_or(Timestamp::MAX)
}

/// Returns whether a time has a date in HTTP: from 1970, and with a year of four digits. The last day of 9999 is left out, when it is
/// 10000 already further east.
fn has_date(clock: SystemTime) -> bool {
    clock >= SystemTime::UNIX_EPOCH && Timestamp::try_from(clock).is_ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_is_set_to_anything_has_a_time_with_a_year_of_four_digits() {
        for (seconds, expected, is_dated) in [
            (i64::MIN, "1970-01-01T00:00:00.000Z", false),
            (-400_000_000_000, "1970-01-01T00:00:00.000Z", false),
            (-1, "1970-01-01T00:00:00.000Z", false),
            (0, "1970-01-01T00:00:00.000Z", true),
            (253_402_207_199, "9999-12-30T21:59:59.000Z", true),
            (253_402_207_201, "9999-12-30T22:00:00.999Z", false),
            (253_402_300_799, "9999-12-30T22:00:00.999Z", false),
            (253_402_300_800, "9999-12-30T22:00:00.999Z", false),
            (i64::MAX, "9999-12-30T22:00:00.999Z", false),
        ] {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let epoch = SystemTime::UNIX_EPOCH;
            let clock = if seconds < 0 { epoch - distance } else { epoch + distance };
            assert_eq!(written(nearest(clock)), expected, "{seconds}");
            assert_eq!(has_date(clock), is_dated, "{seconds}");
        }
    }
}
