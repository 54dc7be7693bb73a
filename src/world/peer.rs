//! A process that connects to guard over a socket: its identity, its ancestors and its terminal, as the system reports
//! them.
//!
//! Out of scope: anything that the process itself says.

use std::path::PathBuf;

use guard_system::Seat;

use super::identity::{Account, Caller, Process, agent_above, ancestors};
use super::system;
use super::terminal::TerminalState;
use crate::judge::agents;
use crate::judge::invocation::{Environment, Origin, Session};

/// A process at the other end of a socket.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its account, session and ancestors; its directory, environment and terminal are unknown.
    pub caller: Caller,
    process: Process,
    seat: Seat,
}

impl Peer {
    /// Returns the process of this number if it belongs to this account; `None` if it has ended.
    #[must_use]
    pub fn of(pid: i32, uid: u32) -> Option<Self> {
        let process = system::process(pid)?;
        let seat = system::seat(pid, uid)?;
        let ancestors = ancestors(process.parent);
        let above = agent_above(&ancestors);
        let agent = above.as_ref().map(|(agent, _)| agent.name.to_owned());
        let root = match above {
            Some((_, root)) => (root.pid, root.started),
            None => (seat.leader, system::process(seat.leader).map_or(0, |leader| leader.started)),
        };
        let root = format!("{uid}@{}.{}.{}", root.0, root.1, system::boot());
        let caller = Caller {
            cwd: PathBuf::from("/"),
            env: Environment::default(),
            account: Account::of(uid),
            origin: Origin::Agent,
            session: Session { id: String::new(), root, agent },
            terminal: TerminalState::NoTerminal,
            ancestors,
        };
        Some(Self { caller, process, seat })
    }

    /// Reports whether it is still the same process.
    #[must_use]
    pub fn is_there(&self) -> bool {
        system::process(self.process.pid).is_some_and(|now| now.started == self.process.started)
    }

    /// Returns a name of the process that no other process has.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.process.unique_name()
    }

    /// Reports whether a process of this name is an ancestor of it.
    #[must_use]
    pub fn is_below(&self, name: &str) -> bool {
        self.caller.ancestors.iter().any(|process| process.unique_name().as_deref() == Some(name))
    }

    /// Returns the root of its session. A hook of an agent that is not one of its ancestors may claim the agent's own
    /// session; for any other claim the process's own root is returned, so that no session can pass for another.
    #[must_use]
    pub fn root(&self, claimed: &str) -> String {
        let own = &self.caller.session.root;
        let host = claimed.strip_prefix(&format!("{}@", self.caller.account.uid)).and_then(|rest| rest.split_once(':'));
        let is_host = host.is_some_and(|(name, _)| agents::known().iter().any(|agent| agent.name == name));
        if is_host && self.caller.session.agent.is_none() { claimed.to_owned() } else { own.clone() }
    }

    /// Returns the reason why no person can be at the process, as far as that is known from outside.
    #[must_use]
    pub fn why_no_person(&self) -> Option<String> {
        if let Some(agent) = Caller::agent_among(&self.caller.ancestors) {
            return Some(format!("it was started by an agent ({agent})"));
        }
        (!self.seat.terminal).then(|| "it is not in the foreground of a terminal of its own".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Peer {
        Peer::of(nix::unistd::getpid().as_raw(), nix::unistd::geteuid().as_raw()).unwrap()
    }

    #[test]
    fn this_process_is_known_as_it_knows_itself() {
        let (peer, caller) = (own(), Caller::of_this_process().unwrap());
        assert_eq!(peer.caller.session.root, caller.session.root);
        assert_eq!(peer.caller.account, caller.account);
        assert_eq!(peer.caller.above(), caller.above());
        assert_eq!(peer.name(), Caller::unique_name());
        assert!(peer.is_there());
    }

    #[test]
    fn a_process_of_another_account_is_not_taken_for_one_of_this() {
        assert!(Peer::of(nix::unistd::getpid().as_raw(), nix::unistd::geteuid().as_raw() + 1).is_none());
    }

    #[test]
    fn no_session_passes_for_another() {
        let mut peer = own();
        let uid = peer.caller.account.uid;
        peer.caller.session.agent = None;
        let root = peer.caller.session.root.clone();
        let others = [format!("{uid}@1.2.3"), format!("{}@claude:x", uid + 1), "x".to_owned(), format!("{uid}@x:y")];
        for other in others {
            assert_eq!(peer.root(&other), root, "{other}");
        }
        let hook = format!("{uid}@claude:abc");
        assert_eq!(peer.root(&hook), hook);
    }
}
