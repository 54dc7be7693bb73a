//! `guard approve`, `guard deny`: a person's answer to commands that wait in the queue.
//!
//! This module selects the requests and groups them. [`super::approvals`] shows and answers each. Out of scope: running
//! anything.

use clap::Args;
use jiff::Zoned;

use super::approvals::{AnswerReport, Approvals};
use super::failure::Failure;
use super::time;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::risk::Tier;

/// The arguments of `guard approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The IDs of the requests, as guard pending lists them
    #[arg(value_name = "REQUEST", required_unless_present = "all")]
    ids: Vec<String>,
    /// All waiting requests: asks once for tier 2 and below and once for each request of tier 3; skips tier 4
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Also allow exactly this command until the session of the request ends
    #[arg(long, conflicts_with_all = ["all", "until", "always"])]
    session: bool,
    /// Also allow exactly this command until this time, at most 14 days ahead: 2h, 3d, 2026-11-21
    #[arg(long, value_name = "TIME", conflicts_with_all = ["all", "always"])]
    until: Option<String>,
    /// Also allow exactly this command until revoked
    #[arg(long, conflicts_with = "all")]
    always: bool,
}

impl ApproveArgs {
    /// Creates the arguments for one request, approved for one run.
    pub(super) fn one(id: &str) -> Self {
        Self { ids: vec![id.to_owned()], all: false, session: false, until: None, always: false }
    }

    /// Returns the scope of an approval.
    fn scope(&self) -> Result<AnswerScope, Failure> {
        Ok(match &self.until {
            Some(time) => {
                let at =
                    time::future(time, &Zoned::now()).map_err(|why| Failure::Message(format!("--until: {why}")))?;
                AnswerScope::Until(at.as_second())
            }
            None if self.session => AnswerScope::Session,
            None if self.always => AnswerScope::Always,
            None => AnswerScope::Once,
        })
    }
}

/// The arguments of `guard deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// The IDs of the requests, as guard pending lists them
    #[arg(value_name = "REQUEST", required_unless_present = "all")]
    ids: Vec<String>,
    /// All waiting requests
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// The reason, which the requester sees
    #[arg(long, short = 'r', value_name = "WORDS")]
    reason: Option<String>,
}

/// Shows waiting requests and approves them. Returns 0 if all named requests were approved, 126 otherwise.
///
/// # Errors
/// The queue or the terminal cannot be used.
pub fn approve(args: &ApproveArgs) -> Result<u8, Failure> {
    let scope = args.scope()?;
    let approvals = match Approvals::open("approve", &args.ids)? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let mut report = AnswerReport::default();
    let mut shown = Vec::new();
    for pending in approvals.named(&args.ids, args.all, &mut report)? {
        match approvals.show(&pending)? {
            Ok(one) => shown.push(one),
            Err(why) => report.no(&pending.id, why),
        }
    }
    // Lasting approvals are decided one by one.
    let single = (shown.len() == 1 && !args.all) || !scope.is_once();
    let (batch, by_themselves): (Vec<_>, Vec<_>) =
        shown.into_iter().partition(|one| !single && one.may_be_in_a_batch());
    for one in by_themselves {
        if one.tier() == Tier::Critical && !single {
            report.no(one.id(), "tier 4 requests cannot be approved in a batch; approve it alone");
            continue;
        }
        approvals.ask(&one, scope, &mut report)?;
    }
    match batch.as_slice() {
        [] => {}
        [one] => approvals.ask(one, scope, &mut report)?,
        batch => approvals.ask_together(batch, &mut report)?,
    }
    report.print()
}

/// Denies waiting requests. Returns 0 if all named requests were denied.
///
/// # Errors
/// The queue cannot be used.
pub fn deny(args: &DenyArgs) -> Result<u8, Failure> {
    let approvals = match Approvals::open("deny", &args.ids)? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let mut report = AnswerReport::default();
    for pending in approvals.named(&args.ids, args.all, &mut report)? {
        match approvals.may_answer(&pending)? {
            Err(why) => report.no(&pending.id, why),
            Ok(()) => approvals.deny(&pending, args.reason.as_deref(), &mut report)?,
        }
    }
    report.print()
}
