//! Checks single values and the entries of lists, and converts them to the form of the policy.

use std::path::Path;

use thiserror::Error;
use toml::de::DeValue;

use crate::config::destination::{Destination, DestinationError};
use crate::config::keys::{ConfigType, Item};
use crate::judge::document::integer;

/// Returns the number on the scale of its key; `None` if it has another type or is out of range.
pub(super) fn number(kind: ConfigType, value: &DeValue<'_>) -> Option<i64> {
    match (kind, value) {
        (ConfigType::Word(words), DeValue::String(word)) => {
            words.iter().position(|known| known == word).and_then(|at| i64::try_from(at).ok())
        }
        (ConfigType::Weight(low, high), DeValue::Integer(_) | DeValue::Float(_)) => {
            let value = match value {
                DeValue::Integer(whole) => {
                    #[expect(clippy::cast_precision_loss, reason = "what is large enough to lose any is out of range")]
                    {
                        integer(whole)? as f64
                    }
                }
                DeValue::Float(float) => float.as_str().parse().ok()?,
                _ => return None,
            };
            let hundredths = value * 100.0;
            // NaN is in no range.
            if !(f64::from(low)..=f64::from(high)).contains(&hundredths) {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "it lies within the range, which is small")]
            Some(hundredths.round() as i64)
        }
        (ConfigType::Whole(low, high, _), DeValue::Integer(whole)) => {
            integer(whole).filter(|value| (i64::from(low)..=i64::from(high)).contains(value))
        }
        (ConfigType::Flag, DeValue::Boolean(flag)) => Some(i64::from(*flag)),
        _ => None,
    }
}

/// The reason why an entry of a list is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum EntryError {
    #[error("an entry must not be empty")]
    Empty,
    #[error("an entry must not begin or end with spaces or contain control characters")]
    Blanks,
    #[error("expected a host name without scheme, user or path")]
    Host,
    #[error("unknown key")]
    NoSuchKey,
    #[error("an argument must not contain a NUL byte")]
    Nul,
    #[error("the path of the home directory is not UTF-8; use an absolute path")]
    HomeEncoding,
    #[error("the account has no home directory; use an absolute path")]
    NoHome,
    #[error("a directory must be absolute, or begin with `~/`")]
    Relative,
    #[error("a directory must not contain `..`")]
    Parent,
    #[error("it matches every directory")]
    Everything,
    #[error(transparent)]
    Destination(#[from] DestinationError),
}

/// Converts an entry of a list to the form of the policy. A leading `!` removes an entry.
pub(super) fn well_formed(item: Item, word: &str, home: Option<&Path>) -> Result<String, EntryError> {
    let (mark, bare) = match word.strip_prefix('!') {
        Some("*") => return Ok(word.to_owned()),
        Some(bare) => ("!", bare),
        None => ("", word),
    };
    if bare.trim().is_empty() {
        return Err(EntryError::Empty);
    }
    if bare.trim() != bare || bare.chars().any(char::is_control) {
        return Err(EntryError::Blanks);
    }
    match item {
        Item::Directory => directory(bare, home).map(|directory| format!("{mark}{directory}")),
        Item::Host if bare.contains(['/', '@', ' ']) || bare == "*" => Err(EntryError::Host),
        Item::Host => Ok(format!("{mark}{}", bare.to_ascii_lowercase())),
        Item::Destination => Ok(Destination::parse(bare).map(|_| word.to_owned())?),
        Item::Branch | Item::Word | Item::Rule => Ok(word.to_owned()),
    }
}

/// Checks an argument of a program.
pub(super) fn argument(word: &str) -> Result<String, EntryError> {
    if word.contains('\0') { Err(EntryError::Nul) } else { Ok(word.to_owned()) }
}

pub(super) fn is_program(word: &str) -> bool {
    !word.is_empty() && (!word.contains('/') || word.starts_with('/') || word.starts_with("~/"))
}

/// Returns an absolute directory without a trailing slash, with `~/` resolved.
pub(super) fn directory(text: &str, home: Option<&Path>) -> Result<String, EntryError> {
    let absolute = match (text.strip_prefix("~/").or_else(|| (text == "~").then_some("")), home) {
        (Some(rest), Some(home)) => match home.to_str() {
            Some(home) => format!("{}/{rest}", home.trim_end_matches('/')),
            None => return Err(EntryError::HomeEncoding),
        },
        (Some(_), None) => return Err(EntryError::NoHome),
        (None, _) => text.to_owned(),
    };
    if !absolute.starts_with('/') {
        return Err(EntryError::Relative);
    }
    if absolute.split('/').any(|part| part == "..") {
        return Err(EntryError::Parent);
    }
    let bare = absolute.trim_end_matches('/');
    if bare.is_empty() || bare.trim_start_matches('/').chars().all(|c| c == '*') {
        return Err(EntryError::Everything);
    }
    Ok(bare.to_owned())
}
