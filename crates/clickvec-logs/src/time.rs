//! Times, as logs write them.

use jiff::civil;

/// Seconds in a day.
const DAY: i64 = 86_400;
/// 2200-01-01 in seconds: a larger number of seconds is one of a smaller unit.
const LATEST: i64 = 7_258_118_400;

/// Seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl Time {
    /// Reads a time: a date, a date and a time of day with or without an offset (UTC if without), or a whole number of
    /// seconds, milli-, micro- or nanoseconds since 1970, told apart by its size; eight digits are a date, `20240517`.
    pub fn parse(text: &str) -> Option<Time> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return number(text);
        }
        if let Some(time) = plain(text) {
            return Some(time);
        }
        // BigQuery writes ` UTC`.
        let text = text.strip_suffix(" UTC").unwrap_or(text);
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Some(Time(time.as_second()));
        }
        let time: civil::DateTime = text.parse().ok()?;
        of(time)
    }

    /// Days since 1970-01-01 UTC.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// `2024-05-17`; for years beyond 9999 the number of seconds.
    pub fn date(self) -> String {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => time.to_string().chars().take(10).collect(),
            Err(_) => self.0.to_string(),
        }
    }
}

/// `2024-05-17`, `2024-05-17 08:30:00` and the same with a `Z`, which most logs have: several times as fast as the general
/// way.
fn plain(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let bytes = if bytes.len() == 20 { bytes.strip_suffix(b"Z")? } else { bytes };
    let two = |at: usize| {
        let (tens, ones) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
    };
    let seconds = match bytes.len() {
        10 => 0,
        19 if matches!(bytes[10], b' ' | b'T') && bytes[13] == b':' && bytes[16] == b':' => {
            let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
            if hour > 23 || minute > 59 || second > 59 {
                return None;
            }
            hour * 3_600 + minute * 60 + second
        }
        _ => return None,
    };
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=12).contains(&month) || day < 1 || day > lengths[month as usize - 1] {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (m * 153 + 2) / 5 + day - 1 - 719_468;
    Some(Time(days * DAY + seconds))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn number(text: &str) -> Option<Time> {
    let number: i64 = text.parse().ok()?;
    if text.len() == 8 {
        let date = civil::Date::new((number / 10_000) as i16, (number / 100 % 100) as i8, (number % 100) as i8).ok()?;
        return of(date.at(0, 0, 0, 0));
    }
    let mut seconds = number;
    for _ in 0..3 {
        if seconds < LATEST {
            return Some(Time(seconds));
        }
        seconds /= 1000;
    }
    (seconds < LATEST).then_some(Time(seconds))
}

fn of(time: civil::DateTime) -> Option<Time> {
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Time(zoned.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_logs_write_them() {
        let expected = Some(Time(1_715_934_600));
        for text in [
            "2024-05-17 08:30:00",
            "2024-05-17T08:30:00",
            "2024-05-17T08:30:00Z",
            "2024-05-17 10:30:00+02:00",
            "2024-05-17T08:30:00.250Z",
            "2024-05-17 08:30:00.123456 UTC",
            "1715934600",
            "1715934600123",
            "1715934600123456",
            "1715934600123456789",
        ] {
            assert_eq!(Time::parse(text), expected, "{text}");
        }
        assert_eq!(Time::parse("2024-05-17"), Time::parse("20240517"));
        assert_eq!(Time::parse("2024-05-17").unwrap().date(), "2024-05-17");
        assert_eq!(Time(-1).day(), -1);
    }

    #[test]
    fn the_quick_way_agrees_with_the_library() {
        for days in (-30_000..60_000).step_by(13) {
            let seconds = days * DAY + days.rem_euclid(DAY);
            let text = jiff::Timestamp::from_second(seconds).unwrap().to_string();
            for text in [&text[..], text.trim_end_matches('Z')] {
                assert_eq!(plain(text), Some(Time(seconds)), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "soon",
            "2024-13-01",
            "2024-02-30",
            "2023-02-29 00:00:00",
            "2024-05-17 25:00:00",
            "-5",
            "NaN",
            "99999999999999999999",
            "20241399",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
