//! `guard submit`: what the gateway starts for each command that comes in over its API.
//!
//! One object on standard input says what somebody wants to run; lines of JSON on standard output say what becomes of
//! it: that it waits, under which name, and in the end whether it may run. Nothing runs here: the client is told, and
//! what it is told is in the record first. The gateway keeps standard input open as long as it wants an answer; when
//! that ends, by its will or by its death, nobody waits any more.
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

/// The longest input that is read.
const MAX_INPUT: u64 = 2 << 20;

/// The longest command that is judged.
const MAX_COMMAND: usize = 512 << 10;

/// What is said to an input that wants several things at once, or nothing.
const ONE_OF: &str = "expected one of \"command\", \"argv\" and \"tool\"";

/// The arguments of `guard submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {}

/// What a client wants to run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmitInput {
    command: Option<String>,
    argv: Option<Vec<String>>,
    /// A tool that is called, and its input, in the place of a command.
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    /// One name of the server that offers the tool, or several.
    #[serde(default)]
    server: Servers,
    /// Absolute.
    cwd: PathBuf,
    /// Whose token it came with: letters, digits, dashes.
    client: String,
    /// The client's name for its session.
    session: Option<String>,
    /// Why, as the client says.
    reason: Option<String>,
    /// The client says that somebody is in a crisis.
    #[serde(default)]
    crisis: bool,
    /// The messenger whose bot hands it in, in the place of `api`.
    #[serde(default = "api")]
    origin: Origin,
    /// How long it may wait for a person, in seconds.
    timeout_secs: u32,
    /// The client says how it ended, in a second line: `{"exit": 0, "duration_ms": 12}`.
    #[serde(default)]
    report: bool,
}

/// How it ended, as the client says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientReport {
    exit: i32,
    duration_ms: u64,
}

fn api() -> Origin {
    Origin::Api
}

/// What became of it.
#[derive(Debug, Serialize)]
struct SubmitReply<'a> {
    /// `allow` or `deny`.
    status: &'static str,
    /// What settled it: the basis of an allow, the kind of a denial.
    settled_by: &'a str,
    /// Who said yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// Why it is refused, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Of the command, its directory and what of the environment matters.
    digest: String,
    /// The row of the record, to report the outcome to.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    verdict: VerdictView<'a>,
}

/// Judges one command for the gateway, waits for a person where one is to be asked, and says what they said.
///
/// # Errors
/// The input cannot be read, or there is nobody to judge for: nothing was allowed.
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
            // Whoever is in a crisis waits for no machine, and is refused by none.
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

/// Reads the object, one line; whoever sent it keeps the pipe open as long as an answer is wanted.
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
        // What comes behind is the report of one that ran, which nobody may have asked for.
        for line in io::stdin().lock().take(MAX_INPUT).lines().map_while(Result::ok) {
            let _ = says.send(line);
        }
        // Whoever wanted an answer is gone: what waits is given up, as when a terminal is closed.
        let _ = kill(getpid(), Signal::SIGHUP);
    });
    let input = serde_json::from_slice(&text)
        .map_err(|error| Failure::Message(format!("invalid input for guard submit: {error}")))?;
    Ok((input, lines))
}

/// The command as one of a session of this client's.
fn invocation(engine: &Engine, input: &SubmitInput) -> Result<Invocation, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if input.client.is_empty() || input.client.len() > 64 || !input.client.chars().all(plain) {
        return Err(Failure::Message("the name of a client may contain letters, digits and dashes only".to_owned()));
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
        // Nobody who hands a command in is a person at a terminal.
        Origin::Cli | Origin::Agent | Origin::Api => Origin::Api,
    };
    invocation.cwd.clone_from(&input.cwd);
    invocation.env.variables.insert("PWD".into(), input.cwd.clone().into());
    let session: String = input.session.iter().flat_map(|id| id.chars()).take(200).collect();
    let name = if session.is_empty() { input.client.clone() } else { format!("{}:{session}", input.client) };
    invocation.session.id = format!("api:{name}");
    // What a client does in one session it would do in another: its denials count together.
    invocation.session.root = format!("{}@api:{}", invocation.uid, input.client);
    invocation.session.agent = None;
    Ok(invocation)
}

/// A command that was judged.
struct JudgedSubmission<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    justification: Justification,
    /// Where the client says how it ended, where it will.
    report: Option<&'a Receiver<String>>,
    /// What a reviewer thought of it.
    opinion: Option<Opinion>,
}

impl JudgedSubmission<'_> {
    /// Lets it wait in the queue, and judges it once more when somebody says yes. The grant that came with
    /// it, and who gave both, for the record.
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

    /// Writes down that it may run, with the grant that came with the answer, and says so.
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

    /// Writes down how it ended, once the client says so. A client that ends without a word takes this process with it.
    fn ended(&self, lines: &Receiver<String>, receipt: &Receipt) -> Result<(), Failure> {
        let Ok(line) = lines.recv() else { return Ok(()) };
        let ended: ClientReport = serde_json::from_str(&line)
            .map_err(|error| Failure::Message(format!("invalid report for guard submit: {error}")))?;
        let outcome = CommandResult { end: ExitStatus::Exit(ended.exit), duration_ms: ended.duration_ms };
        let store = self.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
        Ok(store.result(receipt, &outcome, Timestamp::now())?)
    }

    /// Says that it must not run; one that cannot be written down is a denial all the same.
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
        let shape = self.judgment.may_grant.then(|| self.judgment.shape_to_grant()).flatten();
        let row = IntentRow {
            answer_ms: answered.map(intent::milliseconds),
            words,
            shape: shape.as_deref().filter(|_| self.invocation.tool().is_some()),
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
