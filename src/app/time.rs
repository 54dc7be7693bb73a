//! Parses times as people write them (`2h`, `3d`, `today`, `2026-11-21`, `2026-11-21 14:30`), and formats times for
//! people.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use thiserror::Error;

/// The reason why a text is not a valid time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    #[error("{0} is too long ago")]
    TooLongAgo(String),
    #[error("{0} is too far in the future")]
    TooFar(String),
    #[error("{0} is in the past")]
    Past(String),
    #[error("invalid time {0:?}: expected 90m, 2h, 3d, 1w, today, yesterday, 2026-11-21 or \"2026-11-21 14:30\"")]
    Unknown(String),
}

/// Parses a time, in the time zone of `now`; a duration is counted back from `now`.
///
/// # Errors
/// The text is not a time, or out of range.
pub fn past(text: &str, now: &Zoned) -> Result<Timestamp, TimeError> {
    if let Some(span) = span(text) {
        return now.checked_sub(span).map(|then| then.timestamp()).map_err(|_| TimeError::TooLongAgo(text.to_owned()));
    }
    point(text, now)
}

/// Parses a time in the future, relative to `now` and in its time zone.
///
/// # Errors
/// The text is not a time, in the past, or out of range.
pub fn future(text: &str, now: &Zoned) -> Result<Timestamp, TimeError> {
    let then = match span(text) {
        Some(span) => {
            now.checked_add(span).map(|then| then.timestamp()).map_err(|_| TimeError::TooFar(text.to_owned()))?
        }
        None => point(text, now)?,
    };
    if then <= now.timestamp() { Err(TimeError::Past(text.to_owned())) } else { Ok(then) }
}

/// Parses a number and a unit.
fn span(text: &str) -> Option<Span> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: i64 = number.parse().ok()?;
    match unit {
        "s" => Span::new().try_seconds(number),
        "m" | "min" => Span::new().try_minutes(number),
        "h" => Span::new().try_hours(number),
        "d" => Span::new().try_days(number),
        "w" => Span::new().try_weeks(number),
        _ => return None,
    }
    .ok()
}

fn point(text: &str, now: &Zoned) -> Result<Timestamp, TimeError> {
    let here = |date: DateTime| date.to_zoned(now.time_zone().clone()).map(|then| then.timestamp());
    let day = |date: Date| here(date.at(0, 0, 0, 0));
    let found = match text {
        "now" => Ok(now.timestamp()),
        "today" => day(now.date()),
        "yesterday" => now.date().yesterday().and_then(day),
        "tomorrow" => now.date().tomorrow().and_then(day),
        _ => text
            .parse::<Timestamp>()
            // The parser also accepts a date alone as a date and time; both mean midnight here.
            .or_else(|_| text.parse::<DateTime>().and_then(here)),
    };
    found.map_err(|_| TimeError::Unknown(text.to_owned()))
}

/// Formats a date and time to the second, in this time zone.
#[must_use]
pub fn format(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats how long ago a time was, in at most ten characters: `just now`, `12 min ago`, `3 d ago`. Returns the date if
/// it is in the future or more than two weeks ago.
#[must_use]
pub fn ago(time: Timestamp, now: &Zoned) -> String {
    let seconds = now.timestamp().duration_since(time).as_secs();
    match seconds {
        0..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..1_209_600 => format!("{} d ago", seconds / 86_400),
        _ => time.to_zoned(now.time_zone().clone()).strftime("%Y-%m-%d").to_string(),
    }
}

/// Formats a duration in at most six characters: `999 ms`, `59.9 s`, `12 min`, `26 h`.
#[must_use]
pub fn brief(milliseconds: i64) -> String {
    match milliseconds {
        ..60_000 => length(milliseconds),
        60_000..3_600_000 => format!("{} min", milliseconds / 60_000),
        _ => format!("{} h", milliseconds / 3_600_000),
    }
}

/// Formats a duration for a sentence.
#[must_use]
pub fn length(milliseconds: i64) -> String {
    let seconds = milliseconds / 1000;
    match milliseconds {
        ..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-21T15:30:00+01:00[+01:00]".parse().unwrap()
    }

    #[test]
    fn a_span_counts_from_now_in_either_direction() {
        let now = now();
        assert_eq!(past("90m", &now).unwrap(), "2026-11-21T13:00:00Z".parse().unwrap());
        assert_eq!(past("2d", &now).unwrap(), "2026-11-19T14:30:00Z".parse().unwrap());
        assert_eq!(future("1w", &now).unwrap(), "2026-11-28T14:30:00Z".parse().unwrap());
    }

    #[test]
    fn a_date_is_its_midnight_in_the_local_time_zone() {
        let now = now();
        assert_eq!(past("2026-11-20", &now).unwrap(), "2026-11-19T23:00:00Z".parse().unwrap());
        assert_eq!(past("2026-11-20 12:15", &now).unwrap(), "2026-11-20T11:15:00Z".parse().unwrap());
        assert_eq!(past("today", &now).unwrap(), "2026-11-20T23:00:00Z".parse().unwrap());
        assert_eq!(past("yesterday", &now).unwrap(), "2026-11-19T23:00:00Z".parse().unwrap());
        assert_eq!(past("2026-11-20T12:00:00Z", &now).unwrap(), "2026-11-20T12:00:00Z".parse().unwrap());
    }

    #[test]
    fn what_is_no_time_is_told_what_one_looks_like() {
        for text in ["", "h", "2", "-2h", "2 hours", "99999999999999999999d", "9999999999d", "2026-13-01", "soon"] {
            assert!(past(text, &now()).is_err(), "{text}");
        }
        assert_eq!(future("2026-11-20", &now()), Err(TimeError::Past("2026-11-20".to_owned())));
    }

    #[test]
    fn what_is_past_is_told_by_how_long_ago() {
        let now = now();
        for (then, said) in [
            ("2026-11-21T14:30:00Z", "just now"),
            ("2026-11-21T14:29:56Z", "just now"),
            ("2026-11-21T14:29:55Z", "5 s ago"),
            ("2026-11-21T14:29:00.5Z", "59 s ago"),
            ("2026-11-21T14:29:00Z", "1 min ago"),
            ("2026-11-21T13:30:01Z", "59 min ago"),
            ("2026-11-21T13:30:00Z", "1 h ago"),
            ("2026-11-20T14:30:01Z", "23 h ago"),
            ("2026-11-20T14:30:00Z", "1 d ago"),
            ("2026-11-07T14:30:01Z", "13 d ago"),
            ("2026-11-07T14:30:00Z", "2026-11-07"),
            // The date is in the person's time zone.
            ("2026-10-31T23:30:00Z", "2026-11-01"),
            ("2026-11-21T14:30:01Z", "2026-11-21"),
        ] {
            assert_eq!(ago(then.parse().unwrap(), &now), said, "{then}");
        }
        let said: Vec<_> = [999, 59_999, 60_000, 3_599_999, 3_600_000, 93_600_000].into_iter().map(brief).collect();
        assert_eq!(said, ["999 ms", "59.9 s", "1 min", "59 min", "1 h", "26 h"]);
    }

    #[test]
    fn lengths_read_well() {
        let said: Vec<_> = [0, 999, 1000, 59_999, 60_000, 3_723_000].into_iter().map(length).collect();
        assert_eq!(said, ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min 0 s", "1 h 2 min"]);
    }
}
