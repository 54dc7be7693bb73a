//! `guard wait`: waits until a request is answered.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;

use super::failure::Failure;
use super::{approvals, engine, exit};
use crate::prompt::wakeup::{WakeReason, Wakeup};
use crate::store::queue::RequestState;
use crate::ui::pending::approvals;
use crate::ui::visible;

/// The arguments of `guard wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    /// The ID of the request
    #[arg(value_name = "REQUEST")]
    id: String,
    /// Wait at most this many seconds (default: until the request expires)
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
}

/// Waits, and returns 0 if the request was approved, 126 if it was refused, 75 if there is no answer yet.
///
/// # Errors
/// There is no such request, or the queue cannot be read.
pub fn run(args: &WaitArgs) -> Result<u8, Failure> {
    let unknown = || Failure::Message(format!("no request {}; guard pending lists the requests", args.id));
    let queue = engine::requests()?.ok_or_else(unknown)?;
    let typed = args.id.to_ascii_lowercase();
    let first = match queue.find(&typed)? {
        Some(first) => first,
        None => approvals::select(&queue.list(Timestamp::now())?, &typed)
            .cloned()
            .map_err(|why| Failure::Message(format!("{typed}: {why}")))?,
    };
    let id = first.id.clone();
    let left = first.expires.duration_since(Timestamp::now());
    let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
    let time = args.timeout.map_or(left, |seconds| Duration::from_secs(seconds.into()));
    let begun = Instant::now();
    let mut wakeup: Option<Wakeup> = None;
    loop {
        let now = queue.find(&id)?.ok_or_else(unknown)?;
        let by = now.decided_by.as_deref().unwrap_or("a person");
        let words = now.words.as_deref().map_or(String::new(), |words| format!(": {words}"));
        let over = begun.elapsed() >= time;
        let (text, code) = match now.state {
            RequestState::Approved => (format!("approved by {by}{words}; run the same command again"), exit::ALLOW),
            RequestState::Used => (format!("approved by {by}{words}, and used"), exit::ALLOW),
            RequestState::Denied => (format!("denied by {by}{words}"), exit::REFUSED),
            RequestState::Void => (format!("void{words}"), exit::REFUSED),
            RequestState::Lapsed => ("not answered or not used in time".to_owned(), exit::REFUSED),
            RequestState::Late if over || args.timeout.is_none() => ("not answered in time".to_owned(), exit::QUEUED),
            RequestState::Waiting if over => {
                let so_far = approvals(now.approvals, &now.approved_by).filter(|_| !now.approved_by.is_empty());
                (so_far.unwrap_or_else(|| "not answered yet".to_owned()), exit::QUEUED)
            }
            RequestState::Waiting | RequestState::Late => {
                let listening = match &mut wakeup {
                    Some(listening) => listening,
                    None => {
                        let listening = wakeup.insert(Wakeup::begin(time).map_err(io::Error::from)?);
                        queue.listen(&id, listening)?;
                        // The request may have been answered before this process began to listen.
                        continue;
                    }
                };
                if let WakeReason::Signal { signal, .. } = listening.wait().map_err(io::Error::from)? {
                    drop(wakeup);
                    crate::exec::leave(crate::exec::ProcessStatus::Killed { signal: signal as i32, core: false });
                }
                continue;
            }
        };
        if let Some(wakeup) = wakeup.filter(|_| !now.state.is_open()) {
            wakeup.take_down();
        }
        writeln!(io::stderr(), "{}", visible::text(&format!("guard: request {id}: {text}")))?;
        return Ok(code);
    }
}
