//! The agent's configured time limit for its hook, which a person may have changed since the installation.
//!
//! An agent whose hook times out may run the command. Out of scope: agents that block the command then.

use crate::app::hook::hosts::Host;
use crate::app::install::change::Wiring;
use crate::app::install::file;
use crate::app::install::hosts::{NoAnswer, by_name};
use crate::app::install::places::Places;
use crate::world::identity::Caller;

/// Returns the smallest time limit, in seconds, that the agent's files give for a call of guard. Returns `None` if they
/// give none, or if every version of the agent blocks the command on a timeout.
pub(super) fn configured(host: Host) -> Option<u32> {
    let wired = by_name(host.name())
        .filter(|wired| wired.config.on_timeout != NoAnswer::Blocked || wired.config.holds_from.is_some())?;
    let caller = Caller::of_this_process().ok()?;
    let places = Places::of(&caller).ok()?;
    let guard = places.guard().ok()?;
    let wiring = Wiring::of(wired, &guard, None);
    let files = [false, true].into_iter().flat_map(|project| places.files(wired, project));
    files.filter_map(|(path, wire)| wiring.waits(wire, &file::read(&path).ok()??)).min()
}
