//! `guard submit`: judges a command that arrives over the gateway's API. The gateway starts it for each command.
//!
//! It reads one object on standard input with the client's command, and writes lines of JSON to standard output: that
//! the command waits, with the ID of its request, and finally whether it may run. Nothing runs here: the client gets
//! the decision, which is recorded first. The gateway keeps standard input open as long as it wants an answer. When it
//! closes it or dies, the request is given up.
//!
//! Out of scope: HTTP, tokens, and running anything.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask_outcome::{self, AskOutcome, GrantOffer};
use super::engine::{Engine, JudgedCommand};
use super::failure::Failure;
use super::queue::{self, NotifyTarget, WaitOptions};
use super::reviewer::{Advice, Review, overrulable};
use super::tool::{Servers, ToolDetails};
use super::{exit, intent};
use crate::judge::Judgment;
use crate::judge::approved::{Approved, Receipt};
use crate::judge::invocation::{Digest, Invocation, Origin, Request};
use crate::judge::policy::{ApprovalReason, Decision, Prompt, Refusal};
use crate::judge::review::Opinion;
use crate::store::queue::Justification;
use crate::store::{CommandResult, ExitStatus, IntentRow, RecordedDecision};
use crate::ui::json::VerdictView;
use crate::ui::verdict;

/// The longest input that is read, in bytes.
const MAX_INPUT: u64 = 2 << 20;

/// The longest command that is judged, in bytes.
const MAX_COMMAND: usize = 512 << 10;

/// The error for an input with several of these members, or none.
const ONE_OF: &str = "expected one of \"command\", \"argv\" and \"tool\"";

/// The arguments of `guard submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {}

/// The request of a client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmitInput {
    command: Option<String>,
    argv: Option<Vec<String>>,
    /// The name of a tool to call instead of a command. `input` is its input.
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    /// One or several names of the server that offers the tool.
    #[serde(default)]
    server: Servers,
    /// An absolute path.
    cwd: PathBuf,
    /// The name of the client's token: letters, digits, dashes, underscores and dots.
    client: String,
    /// The client's name for its session.
    session: Option<String>,
    /// The client's reason for the command.
    reason: Option<String>,
    /// Whether the client declares that a person is in a crisis.
    #[serde(default)]
    crisis: bool,
    /// The origin: a messenger whose bot passes on the command, or `api`.
    #[serde(default = "api")]
    origin: Origin,
    /// The longest time to wait for a person, in seconds.
    timeout_secs: u32,
    /// Whether the client will report the result of the command in a second line: `{"exit": 0, "duration_ms": 12}`.
    #[serde(default)]
    report: bool,
}

/// The result of the command, as reported by the client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientReport {
    exit: i32,
    duration_ms: u64,
}

fn api() -> Origin {
    Origin::Api
}

/// The decision about a command.
#[derive(Debug, Serialize)]
struct SubmitReply<'a> {
    /// `allow` or `deny`.
    status: &'static str,
    /// The basis of an approval, or the kind of a denial.
    settled_by: &'a str,
    /// The name of the approver.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// The reason for a refusal, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The digest of the command, its directory and the relevant environment.
    digest: String,
    /// The row of the record, for the report of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    verdict: VerdictView<'a>,
}

/// Judges one command for the gateway, waits for a person if necessary, and prints the decision.
///
/// # Errors
/// The input cannot be read, or the engine cannot start. Nothing was allowed then.
pub fn run(_: &SubmitArgs) -> Result<u8, Failure> {
    let (input, lines) = read()?;
    std::env::set_current_dir(&input.cwd)
        .map_err(|error| Failure::Message(format!("cannot enter {}: {error}", input.cwd.display())))?;
    let engine = Engine::open()?;
    let invocation = invocation(&engine, &input)?;
    let JudgedCommand { judgment, decision } = engine.judge(&invocation);
    let justification =
        Justification { crisis: input.crisis, said: input.reason.clone().filter(|said| !said.trim().is_empty()) };
    let report = input.report.then_some(&lines);
    let submission = JudgedSubmission {
        engine: &engine,
        invocation: &invocation,
        judgment: &judgment,
        justification,
        report,
        opinion: None,
    };
    match &decision {
        Decision::Run(cleared) => submission.allow(&decision, (cleared.basis(), None), None, None),
        Decision::Refuse(refusal) => submission.deny(&decision, refusal, None),
        Decision::Ask(prompt) => {
            let most = Duration::from_secs(input.timeout_secs.into());
            // In a crisis no reviewer is consulted, because it could delay or refuse the command.
            let mut review =
                (!submission.justification.crisis).then(|| Review::begin(&engine, &invocation, &judgment, most));
            let settled = review.as_mut().map_or(Advice::Open, Review::advice);
            let submission = JudgedSubmission { opinion: review.and_then(|review| review.opinion), ..submission };
            match settled {
                Advice::Runs(approved) => return submission.allow(&decision, (approved.basis(), None), None, None),
                Advice::Refused(refusal) => {
                    let refusal = overrulable(&engine, &invocation, &judgment, refusal, submission.opinion.as_ref());
                    return submission.deny(&decision, &refusal, None);
                }
                Advice::Open => {}
            }
            let begun = Instant::now();
            match submission.ask(prompt, input.timeout_secs) {
                Ok((grant, by)) => {
                    submission.allow(&decision, (&ApprovalReason::Person, grant), by.as_deref(), Some(begun.elapsed()))
                }
                Err(refusal @ (Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. })) => {
                    submission.deny(&decision, &refusal, None)
                }
                Err(refusal) => submission.deny(&decision, &refusal, Some(begun.elapsed())),
            }
        }
    }
}

/// Reads the object, which is one line, and then further lines in a thread. The sender keeps the pipe open as long as
/// it wants an answer.
fn read() -> Result<(SubmitInput, Receiver<String>), Failure> {
    let mut stdin = io::stdin().lock();
    let mut text = Vec::new();
    let mut byte = [0];
    let mut buffered = io::BufReader::new(stdin.by_ref().take(MAX_INPUT));
    while buffered.read(&mut byte)? == 1 && byte[0] != b'\n' {
        text.push(byte[0]);
    }
    drop(buffered);
    drop(stdin);
    let (says, lines) = mpsc::channel();
    std::thread::spawn(move || {
        // Further lines are reports about the command that ran. They are ignored unless they were announced.
        for line in io::stdin().lock().take(MAX_INPUT).lines().map_while(Result::ok) {
            let _ = says.send(line);
        }
        // The sender no longer wants an answer: give up the waiting request, as when a terminal is closed.
        let _ = kill(getpid(), Signal::SIGHUP);
    });
    let input = serde_json::from_slice(&text)
        .map_err(|error| Failure::Message(format!("invalid input for guard submit: {error}")))?;
    Ok((input, lines))
}

/// Returns the invocation of the client's command, in a session of the client.
fn invocation(engine: &Engine, input: &SubmitInput) -> Result<Invocation, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if input.client.is_empty() || input.client.len() > 64 || !input.client.chars().all(plain) {
        return Err(Failure::Message(
            "the name of a client may contain only letters, digits, and the characters - _ .".to_owned(),
        ));
    }
    if !input.cwd.is_absolute() {
        return Err(Failure::Message("cwd must be an absolute path".to_owned()));
    }
    if input.tool.is_none() && !input.input.is_null() {
        return Err(Failure::Message("\"input\" requires \"tool\"".to_owned()));
    }
    let request = match (&input.command, &input.argv, &input.tool) {
        (None, None, Some(tool)) => {
            let told =
                ToolDetails { input: input.input.clone(), server: input.server.clone(), ..ToolDetails::default() };
            told.request(engine, tool.clone())
        }
        (Some(command), None, None) if command.len() > MAX_COMMAND => {
            let why = format!("the command is too large to analyse (over {} KiB)", MAX_COMMAND >> 10);
            return Err(Failure::Message(why));
        }
        (Some(command), None, None) => engine.plain_line(command.into())?,
        (None, Some(argv), None) if !argv.is_empty() => Request::Argv(argv.iter().map(Into::into).collect()),
        _ => return Err(Failure::Message(ONE_OF.to_owned())),
    };
    let mut invocation = engine.caller.invocation(request);
    invocation.origin = match input.origin {
        Origin::Discord | Origin::Telegram => input.origin,
        // A client is never a person at a terminal.
        Origin::Cli | Origin::Agent | Origin::Api => Origin::Api,
    };
    invocation.cwd.clone_from(&input.cwd);
    invocation.env.variables.insert("PWD".into(), input.cwd.clone().into());
    let session: String = input.session.iter().flat_map(|id| id.chars()).take(200).collect();
    let name = if session.is_empty() { input.client.clone() } else { format!("{}:{session}", input.client) };
    invocation.session.id = format!("api:{name}");
    // All sessions of a client share their count of denials, because a client could otherwise start a new session.
    invocation.session.root = format!("{}@api:{}", invocation.uid, input.client);
    invocation.session.agent = None;
    Ok(invocation)
}

/// A judged command.
struct JudgedSubmission<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    justification: Justification,
    /// The lines with the client's report, if it announced one.
    report: Option<&'a Receiver<String>>,
    /// The reviewer's opinion.
    opinion: Option<Opinion>,
}

impl JudgedSubmission<'_> {
    /// Waits in the queue, and judges again after an approval. Returns the grant that came with it, and the approver's
    /// name for the record.
    fn ask(&self, prompt: &Prompt, timeout: u32) -> Result<(Option<GrantOffer>, Option<String>), Refusal> {
        let Self { engine, invocation, judgment, .. } = *self;
        let time = Duration::from_secs(engine.policy().queue_wait.min(timeout).into());
        let why = "requests cannot wait for an answer on this machine (queue.wait is 0)".to_owned();
        let wait = WaitOptions {
            time,
            elsewhere: false,
            notify: NotifyTarget::Starter,
            why,
            justification: self.justification.clone(),
            opinion: self.opinion.clone(),
            handle: None,
        };
        match queue::ask(engine, invocation, judgment, prompt, &wait) {
            AskOutcome::Yes { grant, by } => {
                let fresh = engine.judge_again(invocation);
                Approved::by_person(invocation.clone(), judgment, &fresh).map(|_| (grant, by))
            }
            AskOutcome::No(refusal) | AskOutcome::Killed { refusal, .. } => Err(refusal),
            AskOutcome::Reviewed(_) => {
                Err(Refusal::NoOne { why: "only a person can answer the agent's prompt".to_owned() })
            }
            AskOutcome::Queued { request } => Err(Refusal::NoOne {
                why: format!("request {request} is queued, and the caller does not wait for the answer"),
            }),
        }
    }

    /// Records that the command may run, stores the grant that came with the answer, and prints the decision.
    fn allow(
        &self,
        decision: &Decision,
        (basis, grant): (&ApprovalReason, Option<GrantOffer>),
        by: Option<&str>,
        answered: Option<Duration>,
    ) -> Result<u8, Failure> {
        match self.write(RecordedDecision::Allowed(basis), answered, by) {
            Ok(receipt) => {
                ask_outcome::store_grant_or_warn(self.engine, self.invocation, grant.as_ref());
                let code = self.tell(decision, ("allow", basis.name()), by, None, receipt.row())?;
                if let Some(lines) = self.report {
                    self.ended(lines, &receipt)?;
                }
                Ok(code)
            }
            Err(refusal) => self.deny(decision, &refusal, None),
        }
    }

    /// Waits for the client's report and records the result. If the client exits without a report, this process ends.
    fn ended(&self, lines: &Receiver<String>, receipt: &Receipt) -> Result<(), Failure> {
        let Ok(line) = lines.recv() else { return Ok(()) };
        let ended: ClientReport = serde_json::from_str(&line)
            .map_err(|error| Failure::Message(format!("invalid report for guard submit: {error}")))?;
        let outcome = CommandResult { end: ExitStatus::Exit(ended.exit), duration_ms: ended.duration_ms };
        let store = self.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
        Ok(store.result(receipt, &outcome, Timestamp::now())?)
    }

    /// Prints a denial, which takes effect even if it cannot be recorded.
    fn deny(&self, decision: &Decision, refusal: &Refusal, answered: Option<Duration>) -> Result<u8, Failure> {
        let _ = self.write(RecordedDecision::Refused(refusal), answered, None);
        let reason = verdict::refused(refusal, &self.judgment.risk);
        self.tell(decision, ("deny", refusal.kind()), None, Some(reason), None)
    }

    fn write(
        &self,
        settled: RecordedDecision<'_>,
        answered: Option<Duration>,
        words: Option<&str>,
    ) -> Result<Receipt, Refusal> {
        let shape = self.judgment.shape_to_grant();
        let row = IntentRow {
            answer_ms: answered.map(intent::milliseconds),
            words,
            shape: shape.as_ref().filter(|_| self.invocation.tool().is_some()),
            opinion: self.opinion.as_ref(),
            ..IntentRow::plain(Timestamp::now(), self.invocation, self.digest(), &self.judgment.risk, settled)
        };
        intent::write_down(self.engine, &row, |backend| backend.advised(&row, None))
    }

    fn digest(&self) -> Digest {
        self.invocation.digest(&self.judgment.facts.expanded)
    }

    fn tell(
        &self,
        decision: &Decision,
        (status, settled_by): (&'static str, &str),
        by: Option<&str>,
        reason: Option<String>,
        row: Option<i64>,
    ) -> Result<u8, Failure> {
        let Self { engine, invocation, judgment, .. } = *self;
        let command = invocation.display();
        let verdict = VerdictView::new(&command, invocation.origin, engine.policy(), judgment, decision);
        let digest = self.digest().to_string();
        let told = SubmitReply { status, settled_by, by, reason, digest, row, verdict };
        let text = serde_json::to_string(&told).map_err(io::Error::from)? + "\n";
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
        Ok(exit::ALLOW)
    }
}
