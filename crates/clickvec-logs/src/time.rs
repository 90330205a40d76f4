//! Times as logs write them.

use jiff::civil;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// Seconds in a day.
const DAY: i64 = 86_400;
/// 2200-01-01 in seconds. A larger number is in a smaller unit.
const LATEST: i64 = 7_258_118_400;

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl Time {
    /// The time in a text: a date; a date and a time of day, with or without an offset (UTC if without); seconds, with
    /// or without a fraction, or milli-, micro- or nanoseconds since 1970, told apart by their size. Numbers of 8, 12
    /// and 14 digits are dates such as `20240517`, `202405170830` and `20240517083000`.
    pub fn parse(text: &str) -> Option<Time> {
        let text = text.trim();
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return number(text);
        }
        if let Some(time) = plain(text) {
            return Some(time);
        }
        // BigQuery writes ` UTC`, others a blank before the offset, or slashes.
        let text = text.strip_suffix(" UTC").unwrap_or(text);
        let text = text.replacen(" +", "+", 1).replacen(" -", "-", 1);
        let text = match text.as_bytes() {
            [_, _, _, _, b'/', ..] => text.replacen('/', "-", 2),
            _ => text,
        };
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Some(Time(time.as_microsecond()));
        }
        // Without an offset, a time zone in brackets would be passed over, and the time would be hours off.
        if text.contains('[') {
            return None;
        }
        let time: civil::DateTime = text.parse().ok()?;
        of(time)
    }

    /// Whether a text is a bare number too small to be meant as a time, such as the year `2024` alone.
    pub fn is_small_number(text: &str) -> bool {
        let text = text.trim();
        text.len() != 8 && text.parse::<f64>().is_ok_and(|number| number.abs() < 1e8)
    }

    /// The number of days since 1970-01-01 UTC.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY * SECOND)
    }

    /// The date as `2024-05-17`; for years after 9999 the number of microseconds.
    pub fn date(self) -> String {
        let days = jiff::Span::new().try_days(self.day());
        match days.and_then(|days| civil::date(1970, 1, 1).checked_add(days)) {
            Ok(date) => date.to_string(),
            Err(_) => self.0.to_string(),
        }
    }
}

/// Parses `2024-05-17`, `2024-05-17 08:30:00` and the same with a `Z`, which most logs have. Several times as fast as
/// the general parser.
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
    if bytes[4] != bytes[7] || !matches!(bytes[4], b'-' | b'/') {
        return None;
    }
    let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=12).contains(&month) || day < 1 || day > lengths[month as usize - 1] {
        return None;
    }
    // Let years begin in March, so that the leap day is the last day.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (m * 153 + 2) / 5 + day - 1 - 719_468;
    Some(Time((days * DAY + seconds) * SECOND))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn number(text: &str) -> Option<Time> {
    if let Some((seconds, fraction)) = text.split_once('.') {
        let seconds: i64 = seconds.parse().ok().filter(|&seconds| seconds < LATEST)?;
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
        return Some(Time(seconds * SECOND + digits.parse::<i64>().ok()?));
    }
    let number: i64 = text.parse().ok()?;
    if matches!(text.len(), 8 | 12 | 14) {
        let two = |at: usize| text.get(at..at + 2).map_or(Some(0), |digits| digits.parse::<i8>().ok());
        let year: i16 = text[..4].parse().ok()?;
        return of(civil::DateTime::new(year, two(4)?, two(6)?, two(8)?, two(10)?, two(12)?, 0).ok()?);
    }
    // Seconds, milliseconds and microseconds, all converted to microseconds.
    for (unit, per_second) in [(SECOND, 1), (1_000, 1_000), (1, SECOND)] {
        if number / per_second < LATEST {
            return Some(Time(number * unit));
        }
    }
    (number / (1_000 * SECOND) < LATEST).then_some(Time(number / 1_000))
}

fn of(time: civil::DateTime) -> Option<Time> {
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Time(zoned.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_by_name_is_read_with_its_offset_only() {
        assert_eq!(Time::parse("2024-05-17T23:30:00[America/New_York]"), None);
        let expected = Time::parse("2024-05-18T03:30:00Z");
        assert!(expected.is_some());
        assert_eq!(Time::parse("2024-05-17T23:30:00-04:00[America/New_York]"), expected);
    }

    #[test]
    fn times_as_logs_write_them() {
        let expected = Time(1_715_934_600 * SECOND);
        for text in [
            "2024-05-17 08:30:00",
            "2024-05-17T08:30:00",
            "2024-05-17T08:30:00Z",
            "2024-05-17 10:30:00+02:00",
            "2024-05-17 10:30:00 +02:00",
            "2024/05/17 08:30:00",
            "20240517083000",
            "202405170830",
            "1715934600",
        ] {
            assert_eq!(Time::parse(text), Some(expected), "{text}");
        }
        for (text, more) in [
            ("2024-05-17T08:30:00.250Z", 250_000),
            ("2024-05-17 08:30:00.123456 UTC", 123_456),
            ("1715934600.25", 250_000),
            ("1715934600123", 123_000),
            ("1715934600123456", 123_456),
            ("1715934600123456789", 123_456),
        ] {
            assert_eq!(Time::parse(text), Some(Time(expected.0 + more)), "{text}");
        }
        assert_eq!(Time::parse("2024-05-17"), Time::parse("2024/05/17"));
        for (text, small) in
            [("2024", true), ("17", true), ("20240517", false), ("1715934600", false), ("2024-05", false)]
        {
            assert_eq!(Time::is_small_number(text), small, "{text}");
        }
        assert_eq!(Time::parse("2024-05-17"), Time::parse("20240517"));
        for date in ["2024-05-17", "1969-12-31", "0001-01-01", "9999-12-31"] {
            assert_eq!(Time::parse(date).unwrap().date(), date);
        }
        assert_eq!(Time(i64::MAX).date(), i64::MAX.to_string());
        assert_eq!(Time(-1).day(), -1);
    }

    #[test]
    fn the_quick_way_agrees_with_the_library() {
        for days in (-30_000..60_000).step_by(13) {
            let seconds = days * DAY + days.rem_euclid(DAY);
            let text = jiff::Timestamp::from_second(seconds).unwrap().to_string();
            for text in [&text[..], text.trim_end_matches('Z')] {
                assert_eq!(plain(text), Some(Time(seconds * SECOND)), "{text}");
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
            "20240517253000",
            "1715934600.x",
            "1.2.3",
            ".",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
