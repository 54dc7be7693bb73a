//! For how long an agent really waits: what its own configuration says of the hook, which a person may have changed since.
//!
//! An agent that gives up on a hook may run the command. Out of scope: agents that block then, which need no look.

use crate::app::hook::hosts::Host;
use crate::app::install::change::Wiring;
use crate::app::install::file;
use crate::app::install::hosts::{NoAnswer, by_name};
use crate::app::install::places::Places;
use crate::world::identity::Caller;

/// The least number of seconds that the agent's files name for a call of guard; `None` where they name none, or where the
/// command is blocked when the time is over, in every version.
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
