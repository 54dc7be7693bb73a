//! Routes: the channels of requests, and the times at which they apply.
//!
//! Out of scope: selecting the route of a request ([`crate::route`]).

use jiff::civil::{Time, Weekday};
use serde::Deserialize;

use super::FieldError;

/// A day of the week, written as its first three letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Day(pub Weekday);

impl TryFrom<String> for Day {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Self, FieldError> {
        const DAYS: [(&str, Weekday); 7] = [
            ("mon", Weekday::Monday),
            ("tue", Weekday::Tuesday),
            ("wed", Weekday::Wednesday),
            ("thu", Weekday::Thursday),
            ("fri", Weekday::Friday),
            ("sat", Weekday::Saturday),
            ("sun", Weekday::Sunday),
        ];
        let found = DAYS.iter().find(|(name, _)| *name == text.to_ascii_lowercase());
        found.map(|(_, day)| Self(*day)).ok_or_else(|| FieldError::Day(text.clone()))
    }
}

/// A range of hours of a day. The end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Hours {
    pub from: Time,
    pub until: Time,
}

impl TryFrom<String> for Hours {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Self, FieldError> {
        let wrong = || FieldError::Hours(text.clone());
        let time = |text: &str| {
            let (hour, minute) = text.split_once(':').filter(|(hour, minute)| hour.len() == 2 && minute.len() == 2)?;
            Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
        };
        let (from, until) = text.split_once('-').ok_or_else(wrong)?;
        let (from, until) = (time(from).ok_or_else(wrong)?, time(until).ok_or_else(wrong)?);
        if from == until { Err(wrong()) } else { Ok(Self { from, until }) }
    }
}

/// A route: the channels of the requests that match. The first matching route applies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    pub tiers: Vec<u8>,
    pub origins: Vec<String>,
    /// A substring of the session's name.
    pub session: Option<String>,
    /// The directory, including all below it.
    pub directory: Option<String>,
    /// The rule of the most severe finding.
    pub rule: Option<String>,
    /// The days of the week on which the route applies.
    pub days: Vec<Day>,
    /// The hours at which the route applies, in local time. `22:00-06:00` extends past midnight.
    pub hours: Option<Hours>,
    /// The names of channels, in order. If empty, the requests are not sent to any channel, and are shown only on the
    /// page and at the terminal.
    pub channels: Vec<String>,
    /// Whether all channels receive a request at once, instead of one after the other.
    pub broadcast: bool,
    /// The channels that are notified if nobody answered.
    pub admin: Vec<String>,
}
