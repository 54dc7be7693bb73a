//! Waiting in the queue: where nobody sits at the terminal, a command waits for a person elsewhere.
//!
//! What may not enter: deciding whether to ask, running, and answering ([`super::approvals`]).

use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::approver::sign;
use super::ask::{Asked, Offer, asked_for, evidence};
use super::authorize::directory_identity;
use super::engine::Engine;
use super::notify;
use super::record_backend::Requests;
use crate::judge::Judgment;
use crate::judge::agents;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::{self, Approval, Fresh, Signed};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Environment, Invocation};
use crate::judge::policy::{Prompt, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Tier;
use crate::prompt::wakeup::{Heard, Wakeup};
use crate::store::queue::{Answer, Filed, NewRequest, Plea, WaitState};
use crate::store::{Answered, StoreError};
use crate::ui::pending;
use crate::world::identity::Caller;

/// The time that agents give a command which their user set no time for.
const AGENTS_LIMIT: Duration = Duration::from_secs(120);

/// The longest time that they give one.
const AGENTS_LONGEST: Duration = Duration::from_secs(600);

/// So long before an agent ends the command it is refused, so that the agent hears why.
const MARGIN: Duration = Duration::from_secs(10);

/// How long a service may be away while a command waits.
const RESTART: Duration = Duration::from_secs(30);

/// Who is told that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    Nobody,
    /// Whoever asked, on standard error.
    Asker,
    /// The program that started this one, as a line of JSON on standard output.
    Starter,
}

/// How long a command may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// At most this long. Zero: it is not filed, and refused at once.
    pub time: Duration,
    /// It is filed, and nobody waits for it here.
    pub elsewhere: bool,
    /// Who is told that it waits.
    pub tells: Tells,
    /// Why nobody can be asked here, for the refusal when it may not wait.
    pub why: String,
    /// What whoever asks says of it.
    pub plea: Plea,
    /// What a reviewer thinks of it, for whoever answers.
    pub opinion: Option<Opinion>,
    /// Where the name of the request is put once it waits, for whoever may cancel it.
    pub named: Option<Arc<OnceLock<String>>>,
}

impl Wait {
    /// As the policy says it, and no longer than the caller's own limits: `GUARD_WAIT`, and the time after which an
    /// agent ends its commands.
    #[must_use]
    pub fn of(engine: &Engine, invocation: &Invocation, elsewhere: bool, why: String) -> Self {
        let mut time = Duration::from_secs(engine.policy().queue_wait.into());
        if invocation.session.agent.is_some() {
            time = time.min(agents_limit(invocation).saturating_sub(MARGIN));
        }
        let time = time.min(callers_limit(&invocation.env));
        Self { time, elsewhere, tells: Tells::Asker, why, plea: Plea::default(), opinion: None, named: None }
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

/// Files a command, or uses an answer that was given before, and waits for a person.
///
/// What says yes holds for this invocation and this judgment; the caller judges once more before it runs anything.
pub fn ask(engine: &Engine, invocation: &Invocation, judgment: &Judgment, prompt: &Prompt, wait: &Wait) -> Asked {
    if wait.time.is_zero() {
        return Asked::No(Refusal::NoOne { why: wait.why.clone() });
    }
    // Nobody is asked in vain.
    if let Some(why) = sign::lacking(&engine.approvers(), prompt.approvals) {
        return Asked::No(Refusal::NoOne { why });
    }
    if wait.elsewhere && prompt.tier == Tier::Critical {
        return Asked::No(Refusal::NoOne { why: "a tier 4 command cannot be queued without waiting".to_owned() });
    }
    // Without the record there is no answer that counts, nor a run of what is asked about.
    Asking::of(engine, invocation, judgment, prompt, wait)
        .ask(false)
        .unwrap_or_else(|why| Asked::No(Refusal::Unrecorded { why }))
}

/// Whether a person has said yes to this very command, and nobody has used it yet.
#[must_use]
pub fn is_answered(engine: &Engine, digest: &Digest) -> bool {
    let is_any = || engine.paths().is_ok_and(|paths| paths.queue().database().exists());
    (engine.service().is_some() || is_any())
        && engine.requests().and_then(|queue| queue.is_answered(digest, &engine.caller.account.name)).unwrap_or(false)
}

/// Files what a reviewer refused, so that a person may overrule it once: under which name. Nobody waits for it.
#[must_use]
pub fn file_refused(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    opinion: &Opinion,
) -> Option<String> {
    if engine.policy().queue_wait == 0 {
        return None;
    }
    let (now, waiter) = (Timestamp::now(), Caller::name_of_this());
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).ok()?;
    let request = NewRequest {
        invocation,
        digest: &invocation.digest(&judgment.facts.expanded),
        risk: &judgment.risk,
        bindings: &Bindings::of(judgment, directory_identity(&invocation.cwd)),
        fresh: Fresh::of(nonce, invocation, &judgment.risk),
        waiter: Some(waiter.as_str()),
        above: engine.caller.above(),
        expires: now.saturating_add(SignedDuration::from_secs(60)).unwrap_or(now),
        most: engine.policy().queue_pending,
        approvals: 1,
        decision: judgment.risk.is_decision(),
        plea: &Plea::default(),
        opinion: Some(opinion),
        // A yes against a reviewer's no is for once.
        may_grant: false,
        evidence: &evidence(engine, invocation, judgment),
    };
    let queue = engine.requests().ok()?;
    let Ok(Filed::Waits { id, .. }) = queue.file(&request, now) else { return None };
    queue.give_up(&id).ok()?.then_some(id)
}

/// The same for what several approvers sign and one of them has just said yes to, on the card: they sign here, and the
/// others are waited for.
pub fn ask_another(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    wait: &Wait,
) -> Asked {
    Asking::of(engine, invocation, judgment, prompt, wait)
        .ask(true)
        .unwrap_or_else(|why| Asked::No(Refusal::Unrecorded { why }))
}

/// A command that is to wait.
struct Asking<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    /// How many different approvers are wanted.
    approvals: u8,
    /// Its card offers a grant.
    may_grant: bool,
    wait: &'a Wait,
}

impl<'a> Asking<'a> {
    fn of(
        engine: &'a Engine,
        invocation: &'a Invocation,
        judgment: &'a Judgment,
        prompt: &Prompt,
        wait: &'a Wait,
    ) -> Self {
        let may_grant = prompt.may_grant && judgment.may_grant;
        Self { engine, invocation, judgment, approvals: prompt.approvals, may_grant, wait }
    }

    /// Files it and waits. `signed_here`: the one at this terminal signs first.
    fn ask(&self, signed_here: bool) -> Result<Asked, String> {
        let Self { engine, invocation, judgment, approvals, may_grant, wait } = *self;
        let told = |error: StoreError| error.to_string();
        engine.store().map_err(ToString::to_string)?;
        let queue = engine.requests().map_err(told)?;
        let digest = invocation.digest(&judgment.facts.expanded);
        let bindings = Bindings::of(judgment, directory_identity(&invocation.cwd));
        let begin = |time: Duration| Wakeup::begin(time).map_err(|error| error.to_string());
        // Whoever signs here does so on the terminal, which the wakeup would keep signals from.
        let mut wakeup = if signed_here { None } else { Some(begin(wait.time)?) };
        let begun = Instant::now();
        let now = Timestamp::now();
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| error.to_string())?;
        let fresh = Fresh::of(nonce, invocation, &judgment.risk);
        let waiter = Caller::name_of_this();
        let request = NewRequest {
            invocation,
            digest: &digest,
            risk: &judgment.risk,
            bindings: &bindings,
            fresh,
            waiter: (!wait.elsewhere).then_some(waiter.as_str()),
            above: engine.caller.above(),
            expires: now
                .saturating_add(SignedDuration::try_from(wait.time).unwrap_or(SignedDuration::MAX))
                .unwrap_or(now),
            most: engine.policy().queue_pending,
            approvals,
            decision: judgment.risk.is_decision(),
            plea: &wait.plea,
            opinion: wait.opinion.as_ref(),
            may_grant,
            evidence: &evidence(engine, invocation, judgment),
        };
        let (id, signing) = match queue.file(&request, now).map_err(told)? {
            Filed::Crowded { waiting } => return Ok(Asked::No(Refusal::Crowded { waiting })),
            // Whoever only asks leaves the answer to whoever runs it.
            Filed::Answered { id } if wait.elsewhere && wait.tells == Tells::Nobody => {
                return Ok(Asked::Queued { request: id });
            }
            Filed::Answered { id } => {
                // What has changed since is told before the answer is looked at, which would not fit any more.
                let whole = queue.whole(&id).map_err(told)?;
                if let Some(what) = whole.and_then(|whole| whole.bindings.difference(&bindings)) {
                    queue.void(&id, &what).map_err(told)?;
                    return Ok(Asked::No(Refusal::Changed { what }));
                }
                // The answer is bound to the asking of then.
                let signing = Signing::of(&queue, &id, fresh, true).map_err(told)?;
                (id, signing)
            }
            Filed::Waits { id, twins } => {
                if let Some(named) = &wait.named {
                    let _ = named.set(id.clone());
                }
                // What others have signed already is bound to the asking of then. It is looked up before anybody is told, from
                // when on the one who keeps the queue may go away for a while.
                let signing = Signing::of(&queue, &id, fresh, approvals > 1).map_err(told)?;
                if signed_here {
                    if let Err(refusal) = self.sign(&queue, &id, &signing, (&digest, &bindings))? {
                        return Ok(Asked::No(refusal));
                    }
                    wakeup = Some(begin(wait.time.saturating_sub(begun.elapsed()))?);
                }
                // Who is told of one of several knows of all of them.
                if !twins
                    && !engine.policy().queue_notify.is_empty()
                    && let Ok(Some(filed)) = queue.find(&id)
                {
                    notify::tell(engine, &filed);
                }
                if wait.elsewhere {
                    return Ok(Asked::Queued { request: id });
                }
                if wait.tells == Tells::Starter {
                    let told = serde_json::json!({
                        "status": "waiting", "request": id, "tier": judgment.risk.tier,
                        "timeout_secs": wait.time.as_secs(),
                    });
                    let mut out = std::io::stdout().lock();
                    let _ = writeln!(out, "{told}").and_then(|()| out.flush());
                }
                if wait.tells == Tells::Asker {
                    let whom = match approvals {
                        1 => "a person".to_owned(),
                        2 if signed_here => "another approver".to_owned(),
                        _ if signed_here => format!("{} other approvers", approvals - 1),
                        _ => format!("{approvals} approvers"),
                    };
                    // The page shows the same digest: whoever signs there compares the two.
                    let digest = queue.find(&id).ok().flatten();
                    let digest = digest.map_or(String::new(), |one| format!("; digest {}", one.short_digest()));
                    let seconds = wait.time.as_secs();
                    let text = format!("guard: request {id} waits for {whom}, {seconds} s at most{digest}\n");
                    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
                }
                (id, signing)
            }
        };
        let tier = judgment.risk.tier;
        let (digest, bindings) = (&digest, &bindings);
        let waiting = Waiting {
            engine,
            invocation,
            queue: &queue,
            id: &id,
            tier,
            approvals,
            may_grant,
            signing,
            digest,
            bindings,
        };
        let mut wakeup = match wakeup {
            Some(wakeup) => wakeup,
            None => begin(wait.time)?,
        };
        let lost = match queue.listen(&id, &mut wakeup) {
            Err(_) if queue.is_shared() => Some(Instant::now()),
            listening => listening.map(|()| None).map_err(told)?,
        };
        let asked = waiting.until(&mut wakeup, wait, lost);
        wakeup.take_down();
        asked
    }

    /// The signature of the approver at this terminal, who has said yes on the card: the first of several.
    fn sign(
        &self,
        queue: &Requests,
        id: &str,
        signing: &Signing,
        (digest, bindings): (&Digest, &Bindings),
    ) -> Result<Result<(), Refusal>, String> {
        let told = |error: StoreError| error.to_string();
        let enrolled = self.engine.approvers();
        let message = signing.approval(id, digest, bindings, AnswerScope::Once).message();
        let signed = match sign::sign(&enrolled, &format!("To approve {id}"), &message, &[]) {
            Ok(signed) => signed,
            Err(why) => {
                let refusal = Refusal::Unsigned { why };
                queue.void(id, &refusal.to_string()).map_err(told)?;
                return Ok(Err(refusal));
            }
        };
        let Some(filed) = queue.find(id).map_err(told)? else { return Err(format!("request {id} no longer exists")) };
        let signer = sign::names(&enrolled, &signed.approver);
        let answer = Answer {
            yes: Some((digest, bindings)),
            by: &self.engine.caller.account.name,
            words: None,
            signatures: &[signed],
            waited_for: true,
            approvals: self.approvals,
            signer: &signer,
            scope: AnswerScope::Once,
        };
        let store = self.engine.store().map_err(ToString::to_string)?;
        // Whatever became of it meanwhile is found by whoever waits.
        queue.answer(store, &filed, &answer, Timestamp::now()).map_err(told)?;
        Ok(Ok(()))
    }
}

/// What the guard that waits keeps of its asking, so that no answer to another one is taken for one to it.
#[derive(Clone, Copy, Debug)]
struct Signing {
    filed: i64,
    approvals: u8,
    fresh: Fresh,
}

impl Signing {
    /// Of a request that was just filed. `theirs`: what the queue says of it counts, and not this process's own number.
    fn of(queue: &Requests, id: &str, fresh: Fresh, theirs: bool) -> Result<Self, StoreError> {
        let whole = queue.whole(id)?;
        let filed = whole.as_ref().map_or(0, |whole| whole.pending.filed.as_millisecond());
        let approvals = whole.as_ref().map_or(1, |whole| whole.pending.approvals);
        let fresh = whole.filter(|_| theirs).map_or(fresh, |whole| whole.fresh);
        Ok(Self { filed, approvals, fresh })
    }

    /// What is signed for a yes to it that reaches so far.
    fn approval<'a>(
        &'a self,
        request: &'a str,
        digest: &'a Digest,
        bindings: &'a Bindings,
        scope: AnswerScope,
    ) -> Approval<'a> {
        let Self { filed, approvals, fresh } = self;
        Approval { request, filed: *filed, fresh, digest, bindings, approvals: *approvals, scope }
    }
}

/// A request of this process.
struct Waiting<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    queue: &'a Requests,
    id: &'a str,
    tier: Tier,
    approvals: u8,
    may_grant: bool,
    digest: &'a Digest,
    bindings: &'a Bindings,
    signing: Signing,
}

impl Waiting<'_> {
    /// Waits for the answer. `lost` says since when nothing is heard of the request.
    fn until(&self, wakeup: &mut Wakeup, wait: &Wait, mut lost: Option<Instant>) -> Result<Asked, String> {
        let (queue, id) = (self.queue, self.id);
        let told = |error: StoreError| error.to_string();
        loop {
            match self.look() {
                Ok(Some(asked)) => return Ok(asked),
                Ok(None) if lost.is_some() && queue.listen(id, wakeup).is_ok() => lost = None,
                Ok(None) => {}
                // A service that is started anew knows of the request still.
                Err(_) if queue.is_shared() && lost.get_or_insert_with(Instant::now).elapsed() < RESTART => {}
                Err(why) => return Err(why),
            }
            match wakeup.wait().map_err(|error| error.to_string())? {
                Heard::Ring => {}
                Heard::Time => {
                    // An answer that came in the last moment is one.
                    if !queue.give_up(id).map_err(told)?
                        && let Some(asked) = self.look()?
                    {
                        return Ok(asked);
                    }
                    let seconds = u32::try_from(wait.time.as_secs()).unwrap_or(u32::MAX);
                    let late = self.tier < Tier::Critical && self.approvals == 1;
                    let so_far = queue.find(id).map_err(told)?.filter(|found| !found.approved_by.is_empty());
                    let so_far = so_far.and_then(|found| pending::approvals(found.approvals, &found.approved_by));
                    let (request, call) = (id.to_owned(), self.invocation.tool().is_some());
                    return Ok(Asked::No(Refusal::Unanswered { request, seconds, late, so_far, call }));
                }
                Heard::Signal { signal, .. } => {
                    // Answered or not: nobody is here to run it any more.
                    let _ = queue.give_up(id);
                    let refusal =
                        Refusal::NoOne { why: format!("guard was killed by {signal} while request {id} waited") };
                    return Ok(Asked::Killed { refusal, signal: signal as i32 });
                }
            }
        }
    }

    /// That a signature is one of an earlier version, where it is.
    fn of_an_earlier_version(&self, approval: &Approval<'_>, signatures: &[Signed]) -> Option<String> {
        let enrolled = self.engine.approvers();
        let signer = |message: Vec<u8>| {
            let signers = approver::signers(&enrolled.approvers, &message, signatures).ok()?;
            signers.first().map(|name| (*name).to_owned())
        };
        let name = approval.earlier_messages().into_iter().find_map(signer)?;
        Some(format!(
            "the signature of {name} is in the format of an earlier version of guard, which does not name the \
             request and scope; run the command again"
        ))
    }

    /// The grant that a yes asks for; why there is none to be had is a refusal.
    fn grant(&self, answered: &Answered) -> Result<Option<Offer>, Refusal> {
        let offer = asked_for(self.invocation, self.may_grant, answered.scope);
        let mut offer = offer.map_err(|why| Refusal::Changed { what: why.to_string() })?;
        // A service says by itself who gave it.
        if let Some(offer) = offer.as_mut().filter(|_| !self.queue.is_shared()) {
            offer.words.push_str(&format!(" (given by {})", answered.by));
        }
        Ok(offer)
    }

    /// The answer, when there is one.
    fn look(&self) -> Result<Option<Asked>, String> {
        let id = self.id;
        let store = self.engine.store().map_err(ToString::to_string)?;
        let found = self.queue.take(store, id, self.digest, self.bindings).map_err(|error| error.to_string())?;
        Ok(Some(match found {
            WaitState::Waiting => return Ok(None),
            WaitState::Yes(answered) => {
                let approval = self.signing.approval(id, self.digest, self.bindings, answered.scope);
                let signers = sign::are_enough(
                    &self.engine.approvers(),
                    (answered.scope.signed_as(self.tier), self.approvals),
                    &approval.message(),
                    &answered.signatures,
                );
                let signed = match signers {
                    Ok(names) if names.is_empty() => String::new(),
                    Ok(names) => format!(", signed by {}", names.join(" and ")),
                    Err(why) => {
                        let why = self.of_an_earlier_version(&approval, &answered.signatures).unwrap_or(why);
                        return Ok(Some(Asked::No(Refusal::Unsigned { why })));
                    }
                };
                let grant = match self.grant(&answered) {
                    Ok(grant) => grant,
                    Err(refusal) => return Ok(Some(Asked::No(refusal))),
                };
                let reach = grant.as_ref().map_or(String::new(), |offer| format!(" for {}", offer.words));
                let words = answered.words.map_or(String::new(), |words| format!(": {words}"));
                let by =
                    format!("request {id}, approved by {} in row {}{signed}{reach}{words}", answered.by, answered.row);
                Asked::Yes { grant, by: Some(by) }
            }
            WaitState::No { words, .. } => Asked::No(Refusal::Person { words }),
            WaitState::Void { what } => Asked::No(Refusal::Changed { what }),
            // Somebody else gave it up, because its time was over by their clock.
            WaitState::Late => Asked::No(Refusal::NoOne { why: format!("request {id} was cancelled") }),
        }))
    }
}
