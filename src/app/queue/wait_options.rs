//! The time that a command may wait for a person, and who is notified that it waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::app::engine::Engine;
use crate::judge::agents;
use crate::judge::invocation::{Environment, Invocation};
use crate::judge::review::Opinion;
use crate::store::queue::Justification;

/// The default time limit of agents for a command.
const AGENTS_LIMIT: Duration = Duration::from_secs(120);

/// The longest time limit of agents for a command.
const AGENTS_LONGEST: Duration = Duration::from_secs(600);

/// The time before the agent's limit at which the command is refused, so that the agent still gets the reason.
const MARGIN: Duration = Duration::from_secs(10);

/// The party that is notified that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyTarget {
    Nobody,
    /// The asker, on standard error.
    Asker,
    /// The program that started this one, as a line of JSON on standard output.
    Starter,
}

/// The ID of the waiting request, with which it can be cancelled. A request that is filed again has another ID.
#[derive(Clone, Debug, Default)]
pub struct RequestHandle(Arc<Mutex<Option<String>>>);

impl RequestHandle {
    /// Returns the ID once a request waits.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, id: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
    }
}

/// The time that a command may wait for an answer, and who is notified.
#[derive(Clone, Debug)]
pub struct WaitOptions {
    /// The longest time to wait. If it is zero, the command is not filed but refused at once.
    pub time: Duration,
    /// File the request without waiting here.
    pub elsewhere: bool,
    /// The party that is notified that the command waits.
    pub notify: NotifyTarget,
    /// The reason why no person can be asked here, for the refusal of a command that may not wait.
    pub why: String,
    /// The reason for the command, in the requester's words.
    pub justification: Justification,
    /// The reviewer's opinion, to show with the request.
    pub opinion: Option<Opinion>,
    /// The place to store the ID of the request once it waits, so that it can be cancelled.
    pub handle: Option<RequestHandle>,
}

impl WaitOptions {
    /// Creates the options that the policy specifies. The time is limited by the caller: by `GUARD_WAIT`, and by the
    /// time after which the agent kills its commands.
    #[must_use]
    pub fn of(engine: &Engine, invocation: &Invocation, elsewhere: bool, why: String) -> Self {
        let mut time = Duration::from_secs(engine.policy().queue_wait.into());
        if invocation.session.agent.is_some() {
            time = time.min(agents_limit(invocation).saturating_sub(MARGIN));
        }
        let time = time.min(callers_limit(&invocation.env));
        Self {
            time,
            elsewhere,
            notify: NotifyTarget::Asker,
            why,
            justification: Justification::default(),
            opinion: None,
            handle: None,
        }
    }
}

/// Returns the caller's time limit, `GUARD_WAIT` in seconds. It can only shorten the time.
pub(in crate::app) fn callers_limit(env: &Environment) -> Duration {
    let seconds = env.get("GUARD_WAIT").and_then(|seconds| seconds.parse().ok());
    seconds.map_or(Duration::MAX, Duration::from_secs)
}

/// Returns the time after which the enclosing agent kills a command.
fn agents_limit(invocation: &Invocation) -> Duration {
    let set = |name: &str| invocation.env.get(name)?.parse().ok().map(Duration::from_millis);
    let agent = invocation.session.agent.as_deref().and_then(agents::named);
    match agent.map(|agent| agent.shell.limits.as_slice()) {
        Some([usual, most]) => set(usual).unwrap_or(AGENTS_LIMIT).min(set(most).unwrap_or(AGENTS_LONGEST)),
        _ => AGENTS_LIMIT,
    }
}
