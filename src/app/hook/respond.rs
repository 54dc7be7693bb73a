//! Decides the answer to a host's call: judges it with the engine, asks a person if one can be reached, and records the
//! answer before it is sent.
//!
//! Out of scope: dialects.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::call::{HookCall, HookReply, HookStage, ToolAction, Typed};
use super::caller_gone::CallerWatch;
use super::files;
use super::hosts::Host;
use super::typing;
use super::watchdog::Watchdog;
use crate::app::approver::sign;
use crate::app::ask_outcome::{self, AskOutcome, GrantOffer};
use crate::app::changes;
use crate::app::engine::{Engine, EngineError, JudgedCommand};
use crate::app::intent;
use crate::app::queue::{self, NotifyTarget, WaitOptions};
use crate::app::reviewer::{Advice, Review, overrulable, yolo_in};
use crate::judge::Judgment;
use crate::judge::approved::Approved;
use crate::judge::invocation::{Digest, Invocation, Line, Origin, Request};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Decision, Prompt, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::{Risk, Tier};
use crate::judge::syntax::tree::Dialect;
use crate::judge::tools::ToolCall;
use crate::store::queue::Justification;
use crate::store::{HandedCommand, IntentRow, RecordedDecision};
use crate::ui::card_view::OpinionLine;
use crate::ui::{verdict, visible};

/// The longest command that is judged, in bytes. It is more than twice the longest argument that a shell accepts.
const MAX_COMMAND: usize = 512 << 10;

/// The part of the deadline that is reserved for sending the answer.
const MARGIN: Duration = Duration::from_secs(1);

/// The reason why a call was not judged.
#[derive(Debug, thiserror::Error)]
pub(super) enum HookError {
    #[error("the command is too large to analyse (over {} KiB)", MAX_COMMAND >> 10)]
    TooLarge,
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Returns the answer to a call. An error is a denial.
pub(super) fn on(host: Host, call: &HookCall, watchdog: &Watchdog) -> Result<HookReply, HookError> {
    if call.action == ToolAction::Other {
        return Ok(HookReply::NoOpinion);
    }
    if let ToolAction::Line(text) | ToolAction::PowerShell(text) | ToolAction::Typed(Typed { text, .. }) = &call.action
        && text.len() > MAX_COMMAND
    {
        return Err(HookError::TooLarge);
    }
    // Use the configuration and project of the directory where the command would run, if it exists.
    if let Some(cwd) = &call.cwd {
        let _ = std::env::set_current_dir(cwd);
    }
    let engine = Engine::open()?;
    if call.is_left && matches!(call.action, ToolAction::Line(_)) && is_guard_its_shell(&engine, host) {
        return Ok(HookReply::NoOpinion);
    }
    watchdog.shorten(Duration::from_secs(engine.policy().hook.deadline.into()));
    let Some(invocation) = invocation(&engine, host, call)? else {
        return Ok(HookReply::NoOpinion);
    };
    let (invocation, JudgedCommand { judgment, decision }) = typing::judged(&engine, host, invocation);
    let risk = &judgment.risk;
    let text = text(call, &invocation);
    let directory = crate::world::paths::physical(&invocation.cwd);
    let handed = HandedCommand { text: &text, cwd: &directory, root: &invocation.session.root };
    let digest = invocation.digest(&judgment.facts.expanded);
    let note = AnswerRecord {
        engine: &engine,
        host,
        call,
        invocation: &invocation,
        judgment: &judgment,
        digest,
        opinion: None,
    };
    let allow = || {
        let grants =
            engine.policy().hook.grant && !matches!(call.action, ToolAction::Files(_) | ToolAction::Tool { .. });
        if grants { HookReply::Allow } else { HookReply::NoOpinion }
    };
    let thought: RefCell<Option<Opinion>> = RefCell::default();
    let deny = |refusal: Refusal, answered: Option<Duration>| {
        // A denial holds even if it cannot be recorded.
        let note = AnswerRecord { opinion: thought.borrow().clone(), ..note.clone() };
        let _ = note.write(RecordedDecision::Refused(&refusal), answered, None, None);
        Ok(HookReply::Deny { reason: in_full(&engine, &invocation, verdict::refused(&refusal, risk)) })
    };
    // Only a hook that the agent itself started may hand a command over: another could be started by the agent's
    // command.
    let hands = || engine.caller.is_called_by_agent().then_some(&handed);
    match decision {
        Decision::Run(cleared) => match note.write(RecordedDecision::Allowed(cleared.basis()), None, None, None) {
            // The agent's own permissions should not delay a support command either.
            Ok(()) if matches!(cleared.basis(), ApprovalReason::Support) => Ok(HookReply::Allow),
            Ok(()) => Ok(allow()),
            Err(refusal) => deny(refusal, None),
        },
        Decision::Refuse(refusal) => deny(refusal, None),
        Decision::Ask(prompt) => {
            if call.event == HookStage::Permission && is_handed(&engine, &handed, prompt.tier) {
                // A person was already asked about this command at the tool event.
                return Ok(HookReply::NoOpinion);
            }
            let most = watchdog.left().saturating_sub(MARGIN);
            let mut review = Review::begin(&engine, &invocation, &judgment, most);
            let settled = review.advice();
            let opinion = review.opinion.take();
            thought.borrow_mut().clone_from(&opinion);
            let note = AnswerRecord { opinion: opinion.clone(), ..note.clone() };
            match settled {
                Advice::Runs(approved) => {
                    return match note.write(RecordedDecision::Allowed(approved.basis()), None, None, hands()) {
                        Ok(()) => Ok(allow()),
                        Err(refusal) => deny(refusal, None),
                    };
                }
                Advice::Refused(refusal) => {
                    return deny(overrulable(&engine, &invocation, &judgment, refusal, opinion.as_ref()), None);
                }
                Advice::Open => {}
            }
            // An agent's own prompt cannot make an approver's signature.
            let is_signed = || sign::is_wanted(&engine.approvers(), prompt.tier, prompt.approvals);
            let is_left_to_host =
                prompt.tier < Tier::Critical && !prompt.decision && engine.is_answered_here() && !is_signed();
            let is_there = || engine.caller.is_person_at_agent(&host.hook.ask.headless);
            if call.asks && is_left_to_host && is_there() {
                return match note.write(RecordedDecision::Asked, None, None, hands()) {
                    Ok(()) => {
                        Ok(HookReply::Ask { reason: in_full(&engine, &invocation, asked(risk, opinion.as_ref())) })
                    }
                    Err(refusal) => deny(refusal, None),
                };
            }
            let begun = Instant::now();
            let with_agent = CallerWatch::watch(&engine.caller);
            let wait = WaitOptions { opinion, ..wait(host, &engine, &prompt, watchdog) };
            match elsewhere(&engine, &invocation, &judgment, &prompt, &wait) {
                Ok((grant, by)) => {
                    let settled = RecordedDecision::Allowed(&ApprovalReason::Person);
                    match note.write(settled, Some(begun.elapsed()), by.as_deref(), hands()) {
                        Ok(()) => {
                            ask_outcome::store_grant_or_warn(&engine, &invocation, grant.as_ref());
                            Ok(allow())
                        }
                        Err(refusal) => deny(refusal, None),
                    }
                }
                // Nothing reads this answer, but the record has the reason.
                Err(_) if with_agent.is_over() => deny(
                    Refusal::NoOne { why: format!("{} ended while waiting for the answer", host.agent.title) },
                    None,
                ),
                // If nobody could be asked, there is no time to answer.
                Err(refusal @ (Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. })) => {
                    deny(refusal, None)
                }
                Err(refusal) => deny(refusal, Some(begun.elapsed())),
            }
        }
    }
}

/// Returns the question for a person, followed by the reviewer's opinion.
fn asked(risk: &Risk, opinion: Option<&Opinion>) -> String {
    let question = verdict::question(risk);
    opinion.map_or_else(
        || question.clone(),
        |opinion| format!("{question} ({})", visible::text(&OpinionLine::of(opinion).line)),
    )
}

/// Appends the problems of the configuration to a reason, because they may be the cause.
fn in_full(engine: &Engine, invocation: &Invocation, mut reason: String) -> String {
    let left_out = engine.left_out();
    if let Some(problem) = engine.problems().iter().find(|problem| Some(problem.as_str()) != left_out) {
        let left_out = left_out.map_or_else(String::new, |why| format!("{why} "));
        let problem = visible::text(problem);
        reason.push_str(&format!(" (The configuration has errors, so guard asks more often: {left_out}{problem})"));
    }
    if let Some(warning) = yolo_in(engine, invocation) {
        reason.push_str(&format!(" (Shown once per session: {})", visible::text(&warning)));
    }
    super::cut(&reason)
}

/// Waits in the queue, and judges again after an approval. Returns the grant that came with it, and the approver's name
/// for the record.
fn elsewhere(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    wait: &WaitOptions,
) -> Result<(Option<GrantOffer>, Option<String>), Refusal> {
    let yes = match queue::ask(engine, invocation, judgment, prompt, wait) {
        AskOutcome::Yes { grant, by } => (grant, by),
        AskOutcome::No(refusal) | AskOutcome::Killed { refusal, .. } => return Err(refusal),
        AskOutcome::Reviewed(_) => {
            return Err(Refusal::NoOne { why: "only a person can answer the agent's prompt".to_owned() });
        }
        AskOutcome::Queued { request } => {
            return Err(Refusal::NoOne {
                why: format!("request {request} is queued, and this hook does not wait for the answer"),
            });
        }
    };
    let fresh = engine.judge_again(invocation);
    Approved::by_person(invocation.clone(), judgment, &fresh).map(|_| yes)
}

/// Returns the wait options: as the policy specifies, limited so that time is left to answer.
fn wait(host: Host, engine: &Engine, prompt: &Prompt, watchdog: &Watchdog) -> WaitOptions {
    let policy = Duration::from_secs(engine.policy().queue_wait.into());
    let time = policy.min(watchdog.left().saturating_sub(MARGIN)).min(queue::callers_limit(&engine.caller.env));
    let why = match prompt.tier {
        _ if !engine.is_answered_here() => engine.asked_elsewhere().unwrap_or_default(),
        _ if prompt.approvals > 1 => {
            "several approvers are needed, but an agent's own prompt asks only one person".to_owned()
        }
        _ if prompt.decision => "a decision that needs a person is never left to an agent's own prompt".to_owned(),
        Tier::Critical => "a tier 4 command is never left to an agent's own prompt".to_owned(),
        _ => format!("{} is not known to forward a hook's question to a person here", host.agent.title),
    };
    WaitOptions {
        time,
        elsewhere: false,
        notify: NotifyTarget::Nobody,
        why,
        justification: Justification::default(),
        opinion: None,
        handle: None,
    }
}

/// Reports whether a variable that names the agent's shell leads to this program.
fn is_guard_its_shell(engine: &Engine, host: Host) -> bool {
    let file = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
    let own = std::env::current_exe().ok().and_then(|own| file(&own));
    let named = host.agent.shell.from.iter().filter_map(|name| engine.caller.env.get(name)).map(Path::new);
    own.is_some() && named.filter(|path| path.is_absolute()).any(|path| file(path) == own)
}

/// Returns the invocation that the agent wants to make, in its own session. Returns `None` if there is nothing to
/// judge.
fn invocation(engine: &Engine, host: Host, call: &HookCall) -> Result<Option<Invocation>, EngineError> {
    let request = match &call.action {
        ToolAction::Line(text) => line(engine, host, text)?,
        ToolAction::Argv(words) => Request::Argv(words.iter().map(Into::into).collect()),
        ToolAction::PowerShell(code) => {
            Request::Argv(["pwsh", "-NoProfile", "-Command", code].iter().map(Into::into).collect())
        }
        ToolAction::Files(changes) => Request::Files(files::followed(changes, engine, call.cwd.as_deref())),
        ToolAction::Tool { name, input } => engine.tool(ToolCall::of_text(name, input)),
        ToolAction::Typed(_) | ToolAction::Other => Request::Files(Vec::new()),
    };
    let mut invocation = engine.caller.invocation(request);
    invocation.origin = Origin::Agent;
    if let Some(cwd) = &call.cwd {
        invocation.cwd = if cwd.is_absolute() { cwd.clone() } else { invocation.cwd.join(cwd) };
    }
    // The hook's own working directory is not that of the command.
    invocation.env.variables.insert("PWD".into(), invocation.cwd.clone().into());
    invocation.env.variables.remove(std::ffi::OsStr::new("OLDPWD"));
    let session = &mut invocation.session;
    session.agent = Some(host.name().to_owned());
    if let Some(id) = &call.session {
        session.id = format!("{}:{id}", host.name());
        if let Some(part) = invocation.env.get("GUARD_SESSION").filter(|part| !part.is_empty()) {
            session.id = format!("{}/{part}", session.id);
        }
        // Hooks have no terminal and are often alone in their session. Without the agent's process, only the agent's
        // name for the session connects its calls.
        if !engine.caller.has_agent_above() {
            session.root = format!("{}@{}:{id}", invocation.uid, host.name());
        }
    }
    if let ToolAction::Typed(typed) = &call.action {
        let Some(request) = typing::request(engine, &invocation, call.to.as_deref(), typed)? else { return Ok(None) };
        invocation.request = request;
    }
    Ok(Some(invocation))
}

/// Returns a command string as a request for the agent's shell.
fn line(engine: &Engine, host: Host, text: &str) -> Result<Request, EngineError> {
    let request = engine.plain_line(text.into())?;
    // These agents run commands with the account's own shell, which may be zsh.
    let own = host.agent.shell.from.iter().find_map(|from| match from.as_str() {
        "passwd" => engine.caller.account.shell.as_deref().and_then(Path::to_str),
        name => engine.caller.env.get(name),
    });
    Ok(match (request, own.map(Path::new)) {
        (Request::Line(line), Some(own)) if own.file_name().is_some_and(|name| name == "zsh") => {
            Request::Line(Line { dialect: Dialect::Zsh, shell: own.to_owned(), ..line })
        }
        (request, _) => request,
    })
}

/// Returns the text of a command that both the hook and the shell see. For a call that no shell sees, it begins with a
/// byte that no command contains.
fn text(call: &HookCall, invocation: &Invocation) -> Vec<u8> {
    match &call.action {
        ToolAction::Line(text) => text.clone().into_bytes(),
        ToolAction::Argv(_)
        | ToolAction::PowerShell(_)
        | ToolAction::Files(_)
        | ToolAction::Typed(_)
        | ToolAction::Tool { .. }
        | ToolAction::Other => [b"\0", invocation.display().as_bytes()].concat(),
    }
}

fn is_handed(engine: &Engine, handed: &HandedCommand<'_>, tier: Tier) -> bool {
    engine.store().is_ok_and(|store| store.is_handed(handed, tier, Timestamp::now()).unwrap_or(false))
}

/// The details to record about an answer.
#[derive(Clone)]
struct AnswerRecord<'a> {
    engine: &'a Engine,
    host: Host,
    call: &'a HookCall,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    digest: Digest,
    /// The reviewer's opinion.
    opinion: Option<Opinion>,
}

impl AnswerRecord<'_> {
    /// Records the answer.
    ///
    /// # Errors
    /// It could not be recorded, and it is of tier 2 or above.
    fn write(
        &self,
        settled: RecordedDecision<'_>,
        answered: Option<Duration>,
        words: Option<&str>,
        handed: Option<&HandedCommand<'_>>,
    ) -> Result<(), Refusal> {
        let Self { engine, host, call, invocation, judgment, digest, .. } = *self;
        let changes = match settled {
            RecordedDecision::Refused(_) => CommandChanges::default(),
            RecordedDecision::Allowed(_) | RecordedDecision::Asked => {
                let mut changes = changes::of(engine, invocation, judgment);
                typing::remember(engine, host, call, judgment, &mut changes);
                changes
            }
        };
        let row = IntentRow {
            changes: &changes,
            answer_ms: answered.map(intent::milliseconds),
            words,
            opinion: self.opinion.as_ref(),
            ..IntentRow::plain(Timestamp::now(), invocation, digest, &judgment.risk, settled)
        };
        intent::write_down(engine, &row, |backend| backend.advised(&row, handed)).map(drop)
    }
}
