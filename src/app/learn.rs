//! `guard learn`: offers grants for commands that a person has allowed repeatedly.
//!
//! An offer needs a number of approvals of one shape and no denial. A command that cannot be undone is never offered,
//! and only a person gives the grant.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::approvals::Approvals;
use super::approver::sign;
use super::engine::Engine;
use super::failure::Failure;
use super::shape_grant::{examples, shaped};
use super::{exit, screen, time};
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::risk::Tier;
use crate::judge::shape::{self, PATH};
use crate::prompt::confirm::confirm_prose;
use crate::store::{NewGrant, ShapeAnswers, StoreError};
use crate::ui::visible;

/// The arguments of `guard learn`.
#[derive(Debug, Args)]
pub struct LearnArgs {
    #[command(subcommand)]
    what: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show a suggested grant and add it
    Accept {
        /// The number of the suggestion, as guard learn lists it
        number: usize,
    },
}

/// The number of approvals of one shape that make an offer.
const OFTEN: u32 = 10;

/// The period in days in which they are counted.
const DAYS: i64 = 30;

/// A possible grant.
struct LearnedGrant {
    what: GrantSubject,
    /// The answers to all commands that it covers.
    answers: ShapeAnswers,
}

impl LearnedGrant {
    fn place(&self) -> GrantPlace {
        GrantPlace::Directory { path: self.answers.directory.clone() }
    }
}

/// Returns the narrowest grants that cover the approved commands: a repeated command alone, and the other commands of
/// its shape by their shape, with files inside the deepest directory that contains theirs.
fn narrowest(answers: Vec<ShapeAnswers>) -> Vec<LearnedGrant> {
    let often = |answers: &ShapeAnswers| answers.allowed >= OFTEN && answers.denied == 0 && !answers.grave;
    let mut offers: Vec<LearnedGrant> = Vec::new();
    let mut shapes: Vec<(ShapeAnswers, usize)> = Vec::new();
    for one in answers {
        if let (true, Some(command)) = (often(&one), &one.command) {
            offers.push(LearnedGrant { what: GrantSubject::Exact { command: command.clone() }, answers: one });
            continue;
        }
        match shapes.last_mut() {
            Some((known, commands)) if known.scope.shape == one.scope.shape && known.directory == one.directory => {
                known.add(&one);
                *commands += 1;
            }
            _ => shapes.push((one, 1)),
        }
    }
    // A shape of one command is no pattern, unless its text is redacted.
    let is_pattern = |(answers, commands): &(ShapeAnswers, usize)| {
        often(answers)
            && (*commands > 1 && answers.scope.shape.contains(PATH) || answers.scope.shape.starts_with("tool:"))
    };
    offers.extend(
        shapes
            .into_iter()
            .filter(is_pattern)
            .map(|(answers, _)| LearnedGrant { what: GrantSubject::Shape(answers.scope.clone()), answers }),
    );
    offers
}

/// Lists offers or accepts one, and returns the exit code.
///
/// # Errors
/// The record or the terminal cannot be used.
pub fn run(args: &LearnArgs) -> Result<u8, Failure> {
    match args.what {
        None => list(),
        Some(Action::Accept { number }) => accept(number),
    }
}

/// Returns the grants for what was allowed often enough and never denied, can be undone, and is not covered by a grant.
fn offers(engine: &Engine) -> Result<Vec<LearnedGrant>, StoreError> {
    let Some(store) = engine.existing()? else { return Ok(Vec::new()) };
    let now = Timestamp::now();
    let since = now.saturating_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(Timestamp::MIN);
    let granted = store.grants(now)?;
    let mut offers = narrowest(store.answers_by_shape(since)?);
    offers.retain(|offer| {
        !granted.iter().any(|listed| {
            let grant = &listed.grant;
            listed.ended.is_none() && grant.place.holds(&offer.answers.directory) && includes(&grant.what, &offer.what)
        })
    });
    Ok(offers)
}

/// Reports whether a grant covers everything that another one in the same directory would cover.
fn includes(known: &GrantSubject, offered: &GrantSubject) -> bool {
    match (known, offered) {
        (GrantSubject::Shape(known), GrantSubject::Shape(offered)) => {
            let inside =
                |within: &String| offered.within.as_ref().is_some_and(|dir| shape::common(dir, within) == *within);
            known.shape == offered.shape
                && known.within.as_ref().is_none_or(inside)
                && known.tier.is_none_or(|most| offered.tier <= Some(most))
        }
        (known, offered) => known == offered,
    }
}

fn words(offer: &LearnedGrant) -> String {
    let what = match &offer.what {
        GrantSubject::Exact { command } => format!("exactly `{command}`"),
        _ => shaped(&offer.answers.scope),
    };
    format!("{what}, in {} and below, until revoked", offer.answers.directory)
}

fn list() -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let offers = offers(&engine)?;
    let zone = Zoned::now();
    let mut out = io::stdout().lock();
    if offers.is_empty() {
        let said = format!("No command was allowed {OFTEN} times in {DAYS} days without a denial.\n");
        out.write_all(screen::fitted(&said).as_bytes())?;
    }
    for (number, offer) in offers.iter().enumerate() {
        let times = format!(
            "{}. You allowed it {} times in {DAYS} days, last {}, and never denied it.",
            number + 1,
            offer.answers.allowed,
            time::format(offer.answers.last, zone.time_zone())
        );
        writeln!(out, "{times}\n   Guard would run without asking: {}.", visible::text(&words(offer)))?;
    }
    if !offers.is_empty() {
        writeln!(out, "To add one: guard learn accept NUMBER")?;
    }
    Ok(exit::ALLOW)
}

fn accept(number: usize) -> Result<u8, Failure> {
    let approvals = match Approvals::open("learn", &["accept".to_owned(), number.to_string()])? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let refused = |why: &str| -> Result<u8, Failure> {
        writeln!(io::stderr(), "guard: refused: {}", visible::text(why))?;
        Ok(exit::REFUSED)
    };
    let offers = offers(&approvals.engine)?;
    let Some(offer) = number.checked_sub(1).and_then(|at| offers.get(at)) else {
        return refused("no such suggestion; guard learn lists the suggestions");
    };
    // A grant that an approver must sign is given by `guard allow`, which asks for the signature.
    if sign::is_wanted(&approvals.engine.approvers(), Tier::High, 1) {
        return refused("an approver must sign a grant; use guard allow add --shape");
    }
    let words = words(offer);
    let mut said = format!("Guard would run without asking: {}.\n", visible::text(&words));
    if let GrantSubject::Shape(scope) = &offer.what {
        let ShapeAnswers { command, directory, .. } = &offer.answers;
        said.push_str(&examples(&approvals.engine, command.as_deref(), scope, directory, &offer.place()));
    }
    if !confirm_prose(&said, "Add this grant?")? {
        return refused("grant not added");
    }
    let grant = NewGrant {
        what: &offer.what,
        place: &offer.place(),
        until: &GrantExpiry::Revoked,
        words: &words,
        user: &approvals.engine.caller.account.name,
        session: &approvals.engine.caller.session.id,
    };
    let store = approvals.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
    let id = store.grant(&grant, Timestamp::now())?;
    writeln!(io::stdout(), "Added grant {id}. To revoke it: guard allow remove {id}")?;
    Ok(exit::ALLOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::approved::ShapeScope;

    fn answers(shape: &str, within: &str, command: &str, allowed: u32) -> ShapeAnswers {
        ShapeAnswers {
            scope: ShapeScope {
                shape: shape.to_owned(),
                within: Some(within.to_owned()),
                tier: Some(if allowed == 1 { Tier::Medium } else { Tier::Low }),
            },
            directory: "/p".to_owned(),
            command: Some(command.to_owned()),
            allowed,
            denied: 0,
            last: Timestamp::UNIX_EPOCH,
            grave: false,
        }
    }

    fn offered(all: Vec<ShapeAnswers>) -> Vec<GrantSubject> {
        narrowest(all).into_iter().map(|offer| offer.what).collect()
    }

    #[test]
    fn a_repeated_command_is_offered_alone_and_others_by_the_deepest_directory_of_their_files() {
        let other = |number: u32| {
            let within = if number == 0 { "/p/d" } else { "/p/d/e" };
            answers("chmod o+w <path>", within, &format!("chmod o+w d/{number}"), 1)
        };
        let repeated = answers("chmod o+w <path>", "/p", "chmod o+w x", OFTEN);
        let exact = GrantSubject::Exact { command: "chmod o+w x".to_owned() };
        let nine: Vec<_> = (0..OFTEN - 1).map(other).collect();
        assert_eq!(offered([nine.clone(), vec![repeated.clone()]].concat()), vec![exact.clone()]);
        let ten: Vec<_> = (0..OFTEN).map(other).collect();
        let shape = GrantSubject::Shape(ShapeScope {
            shape: "chmod o+w <path>".to_owned(),
            within: Some("/p/d".to_owned()),
            tier: Some(Tier::Medium),
        });
        assert_eq!(offered([ten.clone(), vec![repeated]].concat()), [exact, shape]);
        for spoiled in [
            ShapeAnswers { denied: 1, ..other(99) },
            ShapeAnswers { grave: true, ..other(99) },
            ShapeAnswers { denied: 1, ..answers("chmod o+w <path>", "/p", "chmod o+w x", OFTEN) },
        ] {
            assert_eq!(offered([ten.clone(), vec![spoiled]].concat()), []);
        }
        let elsewhere = ShapeAnswers { directory: "/q".to_owned(), ..other(0) };
        assert_eq!(offered([nine, vec![elsewhere]].concat()), [], "other files have the same names there");
        let hosts = (0..OFTEN).map(|n| answers(&format!("curl http://h{n}.invalid/"), "/p", "curl", 1)).collect();
        assert_eq!(offered(hosts), []);
    }

    #[test]
    fn an_offer_is_not_repeated_once_a_grant_includes_it() {
        let scope = |within: Option<&str>, tier| {
            let within = within.map(str::to_owned);
            GrantSubject::Shape(ShapeScope { shape: "x <path>".to_owned(), within, tier })
        };
        let offered = scope(Some("/p/d"), Some(Tier::Medium));
        assert!(includes(&scope(None, None), &offered) && includes(&scope(Some("/p"), Some(Tier::High)), &offered));
        assert!(
            !includes(&scope(Some("/p/d/e"), None), &offered) && !includes(&scope(None, Some(Tier::Low)), &offered)
        );
    }
}
