//! How long a command may wait for a person, and who is told that it does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::app::engine::Engine;
use crate::judge::agents;
use crate::judge::invocation::{Environment, Invocation};
use crate::judge::review::Opinion;
use crate::store::queue::Justification;

/// The time that agents give a command which their user set no time for.
const AGENTS_LIMIT: Duration = Duration::from_secs(120);

/// The longest time that they give one.
const AGENTS_LONGEST: Duration = Duration::from_secs(600);

/// So long before an agent ends the command it is refused, so that the agent hears why.
const MARGIN: Duration = Duration::from_secs(10);

/// Who is notified that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyTarget {
    Nobody,
    /// Whoever asked, on standard error.
    Asker,
    /// The program that started this one, as a line of JSON on standard output.
    Starter,
}

/// The id of the request that waits, for whoever may cancel it. A request that is filed again has another id.
#[derive(Clone, Debug, Default)]
pub struct RequestHandle(Arc<Mutex<Option<String>>>);

impl RequestHandle {
    /// Which one waits, once one does.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, id: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
    }
}

/// How long a command may wait for an answer, and who is notified.
#[derive(Clone, Debug)]
pub struct WaitOptions {
    /// At most this long. Zero: it is not filed, and refused at once.
    pub time: Duration,
    /// It is filed, and nobody waits for it here.
    pub elsewhere: bool,
    /// Who is told that it waits.
    pub notify: NotifyTarget,
    /// Why nobody can be asked here, for the refusal when it may not wait.
    pub why: String,
    /// What whoever asks says of it.
    pub justification: Justification,
    /// What a reviewer thinks of it, for whoever answers.
    pub opinion: Option<Opinion>,
    /// Where the name of the request is put once it waits, for whoever may cancel it.
    pub handle: Option<RequestHandle>,
}

impl WaitOptions {
    /// As the policy says it, and no longer than the caller's own limits: `GUARD_WAIT`, and the time after which an
    /// agent ends its commands.
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

/// For how long a caller lets a command wait, by `GUARD_WAIT` in seconds: it can only shorten the time.
pub(in crate::app) fn callers_limit(env: &Environment) -> Duration {
    let seconds = env.get("GUARD_WAIT").and_then(|seconds| seconds.parse().ok());
    seconds.map_or(Duration::MAX, Duration::from_secs)
}

/// When the agent above ends a command.
fn agents_limit(invocation: &Invocation) -> Duration {
    let set = |name: &str| invocation.env.get(name)?.parse().ok().map(Duration::from_millis);
    let agent = invocation.session.agent.as_deref().and_then(agents::named);
    match agent.map(|agent| agent.shell.limits.as_slice()) {
        Some([usual, most]) => set(usual).unwrap_or(AGENTS_LIMIT).min(set(most).unwrap_or(AGENTS_LONGEST)),
        _ => AGENTS_LIMIT,
    }
}
