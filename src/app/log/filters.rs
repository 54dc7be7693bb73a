//! The options of `guard log` that select rows, and their conversion to a search.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Zoned;

use super::named;
use crate::app::failure::Failure;
use crate::app::time;
use crate::judge::risk::Tier;
use crate::store::Filter;
use crate::world::identity::Caller;

/// Which rows are shown, and how.
#[derive(Debug, Args)]
pub(super) struct Filters {
    /// Only rows since this time: 2h, 3d, today, 2026-11-21, "2026-11-21 14:30"
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only rows before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only this tier; 2+ means 2 and above, 1-2 a range
    #[arg(long, value_name = "TIER", value_parser = tiers)]
    pub tier: Option<(Tier, Tier)>,
    /// Only rows with this decision
    #[arg(long, value_name = "DECISION")]
    pub decision: Option<DecisionName>,
    /// Only commands that contain this text
    #[arg(long, value_name = "TEXT")]
    pub command: Option<String>,
    /// Only tool calls: all, or those whose name matches this glob (payment.*)
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "*")]
    pub tool: Option<String>,
    /// Only commands in this directory and below
    #[arg(long, alias = "folder", value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Only rows that contain this text in the command, the findings, the reasons, the directory or the requester
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only this session, as guard session lists it
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Group rows by session
    #[arg(long, conflicts_with_all = ["follow", "json"])]
    pub by_session: bool,
    /// Only commands that are hard or impossible to undo and ran without a person's approval
    #[arg(long)]
    pub unconfirmed: bool,
    /// Continue with new rows as they are written, until interrupted
    #[arg(short = 'f', long)]
    pub follow: bool,
    /// Show this many of the newest rows; 0 shows all
    #[arg(short = 'n', long = "number", value_name = "COUNT", default_value_t = 50)]
    pub number: u32,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Do not use a pager; by default guard uses $PAGER or less on a terminal
    #[arg(long)]
    pub no_pager: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum DecisionName {
    Allow,
    Ask,
    Deny,
}

/// An error of parsing an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("expected the number of a row, as guard log lists it")]
    Row,
    #[error("expected 3, 2+ or 1-2, with tiers from 0 to 4")]
    Tiers,
}

/// Parses the number of a row.
pub(super) fn row(text: &str) -> Result<i64, ArgumentError> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or(ArgumentError::Row)
}

/// Parses a range of tiers: `3`, `2+` or `1-2`.
fn tiers(text: &str) -> Result<(Tier, Tier), ArgumentError> {
    let tier = |text: &str| {
        let number = text.parse::<u8>().ok().and_then(Tier::from_number);
        number.ok_or(ArgumentError::Tiers)
    };
    if let Some(lowest) = text.strip_suffix('+') {
        return Ok((tier(lowest)?, Tier::Critical));
    }
    match text.split_once('-') {
        Some((lowest, highest)) => {
            let (lowest, highest) = (tier(lowest)?, tier(highest)?);
            Ok((lowest.min(highest), lowest.max(highest)))
        }
        None => tier(text).map(|tier| (tier, tier)),
    }
}

impl Filters {
    /// Returns the search for these options.
    ///
    /// # Errors
    /// A time is invalid.
    pub fn search(&self, now: &Zoned) -> Result<Filter, Failure> {
        let time = |name: &str, text: &Option<String>| {
            let read =
                |text: &String| time::past(text, now).map_err(|why| Failure::Message(format!("--{name}: {why}")));
            text.as_ref().map(read).transpose()
        };
        let directory = match &self.directory {
            Some(directory) if directory.is_absolute() => Some(named(directory)),
            // Relative to the working directory as the shell names it, because it is recorded so.
            Some(directory) => {
                let here = Caller::of_this_process().map_err(|error| Failure::Message(error.to_string()))?;
                Some(named(&here.cwd.join(directory)))
            }
            None => None,
        };
        Ok(Filter {
            since: time("since", &self.since)?,
            until: time("until", &self.until)?,
            tiers: self.tier,
            decision: self.decision.and_then(|name| name.to_possible_value().map(|value| value.get_name().to_owned())),
            command: self.command.clone(),
            tool: self.tool.clone(),
            directory,
            text: self.search.clone(),
            session: self.session.clone(),
            unconfirmed: self.unconfirmed,
            after: None,
            limit: (self.number > 0).then_some(self.number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_tier_may_be_one_a_range_or_open_above() {
        assert_eq!(tiers("3"), Ok((Tier::High, Tier::High)));
        assert_eq!(tiers("2+"), Ok((Tier::Medium, Tier::Critical)));
        assert_eq!(tiers("1-2"), Ok((Tier::Low, Tier::Medium)));
        assert_eq!(tiers("2-1"), tiers("1-2"));
        for wrong in ["", "5", "+", "1-", "-2", "high"] {
            assert!(tiers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn filters_become_a_search() {
        let args = parse(&["--tier", "2+", "--decision", "deny", "--directory", "/a/b/", "-n", "0", "--command", "x"]);
        let now: Zoned = "2026-11-21T15:30:00+01:00[+01:00]".parse().unwrap();
        let found = args.unwrap().filters.search(&now).unwrap();
        let wanted = Filter {
            tiers: Some((Tier::Medium, Tier::Critical)),
            decision: Some("deny".to_owned()),
            command: Some("x".to_owned()),
            directory: Some("/a/b".to_owned()),
            ..Filter::default()
        };
        assert_eq!(found, wanted);
        let wrong = parse(&["--since", "soon"]).unwrap().filters.search(&now).unwrap_err();
        assert!(wrong.to_string().starts_with("--since: invalid time \"soon\""), "{wrong}");
    }
}
