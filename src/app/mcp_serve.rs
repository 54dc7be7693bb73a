//! `guard mcp-serve`: an MCP server on standard input and output with guard's own tools for agents: judge a command
//! before proposing it, list waiting requests, and request several commands at once with reasons.
//!
//! Out of scope: answering a request, giving a grant, changing a setting, running anything. The server gives an agent
//! no additional permissions.

mod versions;

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use self::versions::Exchange;
use super::ask_outcome::AskOutcome;
use super::engine::{self, Engine, EngineError, JudgedCommand};
use super::failure::Failure;
use super::queue::{self, NotifyTarget, WaitOptions};
use super::tool::{Servers, ToolDetails};
use super::{exit, pending};
use crate::judge::invocation::{Invocation, Origin};
use crate::judge::policy::Decision;
use crate::store::StoreError;
use crate::store::queue::{Justification, RequestState};
use crate::ui::json::VerdictView;
use crate::ui::verdict;

/// The longest message, in bytes, and the largest number of commands in one request.
const LONGEST: u64 = 4 << 20;
const BATCH: usize = 20;

/// The instructions for the model.
const INSTRUCTIONS: &str = "Judge a command with check_command before you propose it. If guard would ask a person \
                            about it, request approval with submit_batch; a person answers elsewhere, and then the \
                            same command or call runs.";

/// Error codes of JSON-RPC.
const UNREADABLE: i32 = -32700;
const NO_METHOD: i32 = -32601;
const WRONG: i32 = -32602;

/// A command or a tool call in an agent's request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    command: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    server: Servers,
    cwd: Option<PathBuf>,
    /// The agent's reason for it.
    reason: Option<String>,
}

/// Several commands or tool calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Items {
    items: Vec<Item>,
}

/// The reason why a tool has no result.
#[derive(Debug, thiserror::Error)]
enum ToolError {
    #[error(transparent)]
    Arguments(serde_json::Error),
    #[error("expected either \"command\" or \"tool\"")]
    Item,
    #[error("cwd must be an absolute path")]
    Directory,
    #[error("expected 1 to {BATCH} items")]
    Batch,
    #[error("unknown outcome")]
    Outcome,
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Answers messages until standard input ends.
///
/// # Errors
/// Standard input or output failed.
pub fn run() -> Result<u8, Failure> {
    let mut from = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut from).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(exit::ALLOW);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => answer(&message),
            Err(error) => Some(failed(&Value::Null, UNREADABLE, &format!("cannot parse the message: {error}"))),
        };
        if let Some(answer) = answer {
            let mut out = io::stdout().lock();
            writeln!(out, "{answer}").and_then(|()| out.flush())?;
        }
    }
}

fn failed(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// Returns the answer to a message, or `None` if it needs none.
fn answer(message: &Value) -> Option<Value> {
    let method = message.get("method").and_then(Value::as_str)?;
    let id = message.get("id")?;
    let params = message.get("params").cloned().unwrap_or_default();
    let exchange = match Exchange::of(&params) {
        // Answer this method in any version: a client that queries the supported versions may not know one yet.
        _ if method == "server/discover" => Exchange::Stateless,
        Ok(exchange) => exchange,
        Err(error) => return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error })),
    };
    let with = |result: Value, lasts: bool| {
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": exchange.result(result, lasts) }))
    };
    let done = |result: Value| with(result, false);
    match method {
        "initialize" => {
            let wanted = params.get("protocolVersion").and_then(Value::as_str);
            done(json!({
                "protocolVersion": versions::of_session(wanted), "capabilities": { "tools": {} },
                "serverInfo": versions::server(), "instructions": INSTRUCTIONS,
            }))
        }
        "server/discover" => with(
            json!({ "supportedVersions": versions::all(), "capabilities": { "tools": {} }, "instructions": INSTRUCTIONS }),
            true,
        ),
        "ping" => done(json!({})),
        "tools/list" => with(json!({ "tools": tools() }), true),
        "tools/call" => {
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            let told = match name {
                "check_command" => serde_json::from_value::<Item>(arguments)
                    .map_err(ToolError::Arguments)
                    .and_then(|item| check(&item)),
                "list_waiting" => waiting(),
                "submit_batch" => serde_json::from_value::<Items>(arguments)
                    .map_err(ToolError::Arguments)
                    .and_then(|items| submit(&items)),
                _ => return Some(failed(id, WRONG, &format!("no tool {name}; tools/list lists the tools"))),
            };
            let (value, is_error) = match told {
                Ok(value) => (value, false),
                Err(why) => (json!({ "error": why.to_string() }), true),
            };
            let text = json!([{ "type": "text", "text": value.to_string() }]);
            done(json!({ "content": text, "structuredContent": value, "isError": is_error }))
        }
        _ => Some(failed(id, NO_METHOD, &format!("unknown method {method}"))),
    }
}

fn tools() -> Value {
    let item = json!({
        "command": { "type": "string", "description": "A shell command line" },
        "tool": { "type": "string", "description": "The name of a tool, instead of a command" },
        "input": { "description": "The input of that tool" },
        "server": { "type": "string", "description": "The name of the tool's server" },
        "cwd": { "type": "string", "description": "The working directory, as an absolute path (default: guard's own)" },
        "reason": { "type": "string", "description": "The reason, shown to the person who is asked" },
    });
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    json!([
        { "name": "check_command", "title": "Judge a command", "annotations": reads,
          "description": "Says whether guard would allow a command or a tool call, ask a person, or refuse it, and \
                          why, with a safer alternative if there is one. Runs nothing and asks nobody.",
          "inputSchema": { "type": "object", "properties": item, "additionalProperties": false } },
        { "name": "list_waiting", "title": "List pending requests", "annotations": reads,
          "description": "Lists the requests that wait for a person's answer, and approved requests that are not \
                          used yet.",
          "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false } },
        { "name": "submit_batch", "title": "Request approval for several commands",
          "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false },
          "description": "Requests a person's approval for several commands at once, each with a reason. Nothing \
                          runs: when a request is approved, run the same command in the same directory, or make the \
                          same call. Commands that need no approval are reported as allowed.",
          "inputSchema": { "type": "object", "required": ["items"], "additionalProperties": false, "properties": {
            "items": { "type": "array", "minItems": 1, "maxItems": BATCH,
              "items": { "type": "object", "properties": item, "additionalProperties": false } } } } },
    ])
}

/// Returns an item as an invocation in the agent's session.
fn invocation(engine: &Engine, item: &Item) -> Result<Invocation, ToolError> {
    let request = match (&item.command, &item.tool) {
        (Some(command), None) => engine.plain_line(command.into())?,
        (None, Some(tool)) => {
            let told = ToolDetails { input: item.input.clone(), server: item.server.clone(), ..ToolDetails::default() };
            told.request(engine, tool.clone())
        }
        _ => return Err(ToolError::Item),
    };
    let mut invocation = engine.caller.invocation(request);
    invocation.origin = Origin::Agent;
    if let Some(cwd) = &item.cwd {
        if !cwd.is_absolute() {
            return Err(ToolError::Directory);
        }
        invocation.cwd.clone_from(cwd);
        invocation.env.variables.insert("PWD".into(), cwd.into());
    }
    Ok(invocation)
}

fn told(engine: &Engine, invocation: &Invocation, judged: &JudgedCommand) -> Value {
    let command = invocation.display();
    let verdict = VerdictView::new(&command, Origin::Agent, engine.policy(), &judged.judgment, &judged.decision);
    serde_json::to_value(verdict).unwrap_or_default()
}

fn check(item: &Item) -> Result<Value, ToolError> {
    let engine = Engine::open()?;
    let invocation = invocation(&engine, item)?;
    let judged = engine.judge(&invocation);
    Ok(told(&engine, &invocation, &judged))
}

/// Returns the waiting requests, in the format of `guard pending --json`.
fn waiting() -> Result<Value, ToolError> {
    let all = match engine::requests()? {
        Some(queue) => queue.list(Timestamp::now())?,
        None => Vec::new(),
    };
    let open = all
        .iter()
        .filter(|one| matches!(one.state, RequestState::Waiting | RequestState::Late | RequestState::Approved));
    let rows = open.map(|one| {
        let mut row = serde_json::to_value(one).unwrap_or_default();
        row["waited_for"] = pending::is_waited_for(one).into();
        row
    });
    Ok(json!({ "requests": rows.collect::<Vec<_>>() }))
}

fn submit(items: &Items) -> Result<Value, ToolError> {
    if items.items.is_empty() || items.items.len() > BATCH {
        return Err(ToolError::Batch);
    }
    let engine = Engine::open()?;
    let one =
        |item: &Item| file(&engine, item).unwrap_or_else(|why| json!({ "status": "error", "error": why.to_string() }));
    Ok(json!({ "results": items.items.iter().map(one).collect::<Vec<_>>() }))
}

/// Files a request for an item if a person must be asked.
fn file(engine: &Engine, item: &Item) -> Result<Value, ToolError> {
    let invocation = invocation(engine, item)?;
    let judged = engine.judge(&invocation);
    let verdict = told(engine, &invocation, &judged);
    let risk = &judged.judgment.risk;
    Ok(match &judged.decision {
        Decision::Run(_) => json!({ "status": "allow", "verdict": verdict }),
        Decision::Refuse(refusal) => {
            json!({ "status": "deny", "why": verdict::refused(refusal, risk), "verdict": verdict })
        }
        Decision::Ask(prompt) => {
            let time = Duration::from_secs(engine.policy().queue_wait.into());
            let time = time.min(queue::callers_limit(&engine.caller.env));
            let why = match queue::callers_limit(&engine.caller.env).is_zero() {
                true => "GUARD_WAIT is 0 in the environment of guard mcp-serve, so requests cannot wait for an answer",
                false => "requests cannot wait for an answer on this machine (queue.wait is 0)",
            };
            let why = why.to_owned();
            let justification =
                Justification { crisis: false, said: item.reason.clone().filter(|said| !said.trim().is_empty()) };
            let wait = WaitOptions {
                time,
                elsewhere: true,
                notify: NotifyTarget::Nobody,
                why,
                justification,
                opinion: None,
                handle: None,
            };
            match queue::ask(engine, &invocation, &judged.judgment, prompt, &wait) {
                AskOutcome::Queued { request } => {
                    let found = engine::requests().ok().flatten().and_then(|queue| queue.find(&request).ok().flatten());
                    let is_approved = found.is_some_and(|found| found.state == RequestState::Approved);
                    let status = if is_approved { "approved" } else { "waiting" };
                    json!({ "status": status, "request": request, "verdict": verdict })
                }
                // This cannot happen: without waiting, no answer is used.
                AskOutcome::Yes { .. } | AskOutcome::Reviewed(_) => return Err(ToolError::Outcome),
                AskOutcome::No(refusal) | AskOutcome::Killed { refusal, .. } => {
                    json!({ "status": "deny", "why": verdict::refused(&refusal, risk), "verdict": verdict })
                }
            }
        }
    })
}
