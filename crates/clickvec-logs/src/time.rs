//! Times as logs write them.

use jiff::civil;
use jiff::fmt::strtime;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// Seconds in a day.
const DAY: i64 = 86_400;
/// 2200-01-01 in seconds. A larger number is in a smaller unit.
const LATEST: i64 = 7_258_118_400;
/// Days from 1900 or 1904, as spreadsheets count them, of this century. No log has such seconds.
const SHEET_DAYS: std::ops::Range<f64> = 35_000.0..55_000.0;

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl Time {
    /// Parses a date; a date and a time of day, with or without an offset (UTC if without); or seconds, with or without a
    /// fraction, milli-, micro- or nanoseconds since 1970, told apart by their size. Numbers of 8, 12 and 14 digits are dates
    /// such as `20240517`, `202405170830` and `20240517083000`. The days of spreadsheets are none; see [`Time::is_sheet_day`].
    pub fn parse(text: &str) -> Option<Time> {
        let text = text.trim();
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return if Time::is_sheet_day(text) { None } else { number(text) };
        }
        if let Some(time) = plain(text) {
            return Some(time);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte)) && text.contains(['e', 'E']) {
            return fractional(text);
        }
        if let Some(midnight) = midnight(text) {
            return Time::parse(&midnight).map(|Time(time)| Time(time + DAY * SECOND));
        }
        if let Some(padded) = padded(text) {
            return Time::parse(&padded);
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
        from_civil(time)
    }

    /// Returns whether a number is most likely the day of a spreadsheet, with the time of day as its fraction: `45429.354` for
    /// 2024-05-17 08:30.
    pub fn is_sheet_day(text: &str) -> bool {
        text.trim().parse().is_ok_and(|number: f64| SHEET_DAYS.contains(&number))
    }

    /// Parses a time in this form of `strftime`, such as `%d.%m.%Y %H:%M`; UTC unless the text has an offset.
    pub fn parse_as(form: &str, text: &str) -> Option<Time> {
        let broken_down = strtime::parse(form, text.trim()).ok()?;
        if broken_down.offset().is_some() || broken_down.timestamp().is_some() {
            return broken_down.to_timestamp().ok().map(|time| Time(time.as_microsecond()));
        }
        let time = broken_down.to_datetime().or_else(|_| broken_down.to_date().map(civil::DateTime::from));
        from_civil(time.ok()?)
    }

    /// Returns whether a form has all parts of a date.
    pub fn is_form(form: &str) -> bool {
        let noon = civil::date(2024, 5, 17).at(12, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC);
        let written = noon.ok().and_then(|noon| strtime::format(form, &noon).ok());
        form.contains('%') && written.is_some_and(|written| Time::parse_as(form, &written).is_some())
    }

    /// Returns the usual forms in which a text is a time that [`Time::parse`] does not read. The first and the second may both
    /// read a date, with day and month exchanged.
    pub fn forms(text: &str) -> impl Iterator<Item = &'static str> {
        FORMS.into_iter().filter(move |form| Time::parse_as(form, text).is_some())
    }

    /// Returns the number of days since 1970-01-01 UTC.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY * SECOND)
    }

    /// Returns the date as `2024-05-17`; for years after 9999 the number of microseconds.
    pub fn date(self) -> String {
        let days = jiff::Span::new().try_days(self.day());
        match days.and_then(|days| civil::date(1970, 1, 1).checked_add(days)) {
            Ok(date) => date.to_string(),
            Err(_) => self.0.to_string(),
        }
    }
}

/// Forms of times that [`Time::parse`] does not read, because day and month could be exchanged or because names of months are in
/// one language.
const FORMS: [&str; 28] = [
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%d-%m-%Y %H:%M:%S",
    "%d-%m-%Y",
    "%d/%b/%Y:%H:%M:%S %z",
    "[%d/%b/%Y:%H:%M:%S %z]",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S %z",
    "%b %d, %Y @ %H:%M:%S%.f",
    "%b %d, %Y %I:%M:%S %p",
    "%b %d, %Y, %I:%M:%S %p",
    "%b %d, %Y",
    "%d %b %Y %H:%M:%S",
    "%d-%b-%Y %H:%M:%S",
    "%d-%b-%y",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %H:%M:%S UTC %Y",
    "%Y.%m.%d",
];

/// Parses a number of seconds, or milli-, micro- or nanoseconds, with a fraction or an exponent.
fn fractional(text: &str) -> Option<Time> {
    let number: f64 = text.parse().ok().filter(|number: &f64| *number >= 0.0)?;
    for (unit, per_second) in [(1e6, 1.0), (1e3, 1e3), (1.0, 1e6), (1e-3, 1e9)] {
        if number / per_second < LATEST as f64 {
            return Some(Time((number * unit).round() as i64));
        }
    }
    None
}

/// Returns the beginning of the day if a time is its end, 24:00.
fn midnight(text: &str) -> Option<String> {
    let rest = text.get(11..)?.strip_prefix("24:00")?;
    let zone = rest.strip_prefix(":00").unwrap_or(rest);
    let zone = zone.strip_prefix('.').map_or(zone, |fraction| fraction.trim_start_matches('0'));
    let is_end = zone.is_empty() || zone.starts_with(['Z', '+', '-', ' ']);
    is_end.then(|| format!("{}00:00:00{zone}", &text[..11]))
}

/// Returns a date such as `2025-3-4`, perhaps with a time of day, with two digits for month and day.
fn padded(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' ']).map_or((text, None), |(date, time)| (date, Some(time)));
    let separator = if date.contains('/') { '/' } else { '-' };
    let [year, month, day] = date.split(separator).collect::<Vec<_>>().try_into().ok()?;
    let is_number =
        |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let is_short = month.len() == 1 || day.len() == 1 || time.is_some_and(|time| time.find(':') == Some(1));
    if !is_short || year.len() != 4 || !is_number(year, 4) || !is_number(month, 2) || !is_number(day, 2) {
        return None;
    }
    let date = format!("{year}-{month:0>2}-{day:0>2}");
    Some(match time {
        None => date,
        Some(time) if time.find(':') == Some(1) => format!("{date}T0{time}"),
        Some(time) => format!("{date}T{time}"),
    })
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
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds: i64 = seconds.parse().ok()?;
        if seconds >= LATEST {
            // Milliseconds or smaller.
            return fractional(text);
        }
        let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
        return Some(Time(seconds * SECOND + digits.parse::<i64>().ok()?));
    }
    let number: i64 = text.parse().ok()?;
    if matches!(text.len(), 8 | 12 | 14) {
        let two = |at: usize| text.get(at..at + 2).map_or(Some(0), |digits| digits.parse::<i8>().ok());
        let year: i16 = text[..4].parse().ok()?;
        return from_civil(civil::DateTime::new(year, two(4)?, two(6)?, two(8)?, two(10)?, two(12)?, 0).ok()?);
    }
    // Seconds, milliseconds and microseconds, all converted to microseconds.
    for (unit, per_second) in [(SECOND, 1), (1_000, 1_000), (1, SECOND)] {
        if number / per_second < LATEST {
            return Some(Time(number * unit));
        }
    }
    (number / (1_000 * SECOND) < LATEST).then_some(Time(number / 1_000))
}

fn from_civil(time: civil::DateTime) -> Option<Time> {
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
            ("1715934600123.0", 123_000),
            ("1.715934600123E12", 123_000),
            ("1.7159346e+9", 0),
        ] {
            assert_eq!(Time::parse(text), Some(Time(expected.0 + more)), "{text}");
        }
        assert_eq!(Time::parse("2024-05-17"), Time::parse("2024/05/17"));
        for (text, same) in [
            ("2025-3-4", "2025-03-04"),
            ("2025/3/4 8:05:00", "2025-03-04 08:05:00"),
            ("2025-03-04T24:00:00Z", "2025-03-05T00:00:00Z"),
            ("2025-03-04 24:00", "2025-03-05 00:00"),
        ] {
            assert_eq!(Time::parse(text), Time::parse(same), "{text}");
            assert!(Time::parse(text).is_some(), "{text}");
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
    fn other_forms_are_read_only_when_named() {
        for (text, form, same) in [
            ("2/15/2012 11:53:16 AM", "%m/%d/%Y %I:%M:%S %p", "2012-02-15 11:53:16"),
            ("15.03.2025 10:00", "%d.%m.%Y %H:%M", "2025-03-15 10:00:00"),
            ("04/Mar/2025:10:00:00 +0100", "%d/%b/%Y:%H:%M:%S %z", "2025-03-04 09:00:00"),
            ("Mar 4, 2025 @ 10:00:00.250", "%b %d, %Y @ %H:%M:%S%.f", "2025-03-04T10:00:00.250"),
            ("Tue, 04 Mar 2025 10:00:00 GMT", "%a, %d %b %Y %H:%M:%S GMT", "2025-03-04 10:00:00"),
            ("31/12/2024", "%d/%m/%Y", "2024-12-31"),
            ("Tuesday, 04-Mar-25 10:00:00 GMT", "%A, %d-%b-%y %H:%M:%S GMT", "2025-03-04 10:00:00"),
            ("Tue Mar 4 10:00:00 UTC 2025", "%a %b %d %H:%M:%S UTC %Y", "2025-03-04 10:00:00"),
            ("2025.03.04", "%Y.%m.%d", "2025-03-04"),
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
            assert_eq!(Time::forms(text).next(), Some(form), "{text}");
            assert_eq!(Time::parse_as(form, text), Time::parse(same), "{text}");
        }
        assert!(Time::is_form("%s"));
        assert_eq!(Time::parse_as("%s", "45429"), Some(Time(45_429 * SECOND)));
        assert_eq!(Time::forms("03/04/2025").collect::<Vec<_>>(), ["%m/%d/%Y", "%d/%m/%Y"]);
        assert_eq!(Time::forms("soon").count(), 0);
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
            "35000",
            "45429.354",
            "54999.999",
            "1.2.3",
            "2025-03-04T24:30:00Z",
            "2025-13-4",
            "1e400",
            "-1e9",
            ".",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
