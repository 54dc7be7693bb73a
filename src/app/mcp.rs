//! `guard mcp -- COMMAND …`: a proxy between an MCP client and a server on standard input and output, which judges each
//! tool call. With `--http` the server is reached over HTTP, through the gateway's program. With `--listen` the client
//! connects over HTTP, and the gateway's program starts one proxy for each session.
//!
//! Every message that is not a tool call is passed on unchanged, and so is a call that may run. A call that may not run
//! is answered here with a tool error that a model understands. Out of scope: judging calls, and approval by people.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::error::McpError;
use self::message::{Message, ToolRequest};
use self::pins::Pins;
use self::server::{end, line, names, place, skip_line};
use super::engine;
use super::queue::RequestHandle;
use crate::exec::tool::Tool;
use crate::judge::rules::catalog::Catalog;
use crate::judge::tools::{ToolCall, ToolWarning};
use crate::ui::visible;

mod accept;
mod decide;
mod error;
mod message;
mod pins;
mod server;

/// The longest message of a client, in bytes. A longer one is discarded and answered with an error.
const LONGEST: u64 = 32 << 20;

/// The longest tool list of a server that is parsed, in bytes.
const LONGEST_LIST: usize = 64 << 20;

/// The interval between two progress notifications about a waiting call.
const EVERY: Duration = Duration::from_secs(5);

/// The time during which calls are still judged after the client's input has ended. A call that waits for a person is
/// then abandoned.
const TO_FINISH: Duration = Duration::from_secs(5);

/// The longest message of the server that is buffered, in bytes. A longer one is passed on in parts.
const LONGEST_BACK: u64 = 64 << 20;

/// The arguments of `guard mcp`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// The name of the server, as your client's configuration has it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How many seconds a call may wait for an answer; most clients give up after 60
    #[arg(long, value_name = "SECONDS", default_value_t = 50)]
    wait: u64,
    /// Hide secrets in the server's answers from the model
    #[arg(long)]
    redact_results: bool,
    /// Connect to the server over HTTP at this address
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    http: Option<String>,
    /// A header for every request, as NAME: VALUE; ${NAME} is replaced by the environment variable
    #[arg(long, value_name = "HEADER", requires = "http")]
    header: Vec<String>,
    /// A header with the value of an environment variable, as NAME=VARIABLE, for clients that interpret ${ themselves
    #[arg(long, value_name = "HEADER", requires = "http")]
    header_env: Vec<String>,
    /// Serve clients over HTTP at this address, each with its own server process; clients send Authorization: Bearer
    /// with the token in GUARD_MCP_TOKEN, or with the one that guard prints
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// End a session that is unused for this many seconds
    #[arg(long, value_name = "SECONDS", requires = "listen", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    idle: u64,
    /// The server's program and its arguments
    #[arg(last = true, required_unless_present = "http", value_name = "COMMAND")]
    server: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// List the pinned tool descriptions of servers, show changes, and accept them
    Pins(accept::PinsArgs),
}

/// Runs the proxy until one side has exited. The exit code is that of the server.
///
/// # Errors
/// The server cannot be started, or a side cannot be read or written.
pub fn run(args: &McpArgs) -> Result<u8, McpError> {
    if let Some(McpCommand::Pins(args)) = &args.command {
        return Ok(accept::run(args)?);
    }
    if let Some(address) = args.listen {
        return server::listen(args, address);
    }
    let (program, rest) = server::command(args)?;
    let mut child = Tool::named(&program)
        .and_then(|tool| tool.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).start())
        .map_err(|error| McpError::Start { program: program.to_string_lossy().into_owned(), error })?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(McpError::NoPipes);
    };
    let pins = Pins::of(engine::paths()?.directory());
    let pinned = args.name.clone().or_else(|| args.http.as_deref().map(place)).unwrap_or_else(|| line(&args.server));
    let proxy = Arc::new(McpProxy {
        marks: Mutex::new(pins.known(&pinned, &Catalog::builtin())),
        pinned,
        pins,
        redacts: args.redact_results,
        servers: names(args),
        wait: Duration::from_secs(args.wait),
        server: Mutex::new(Some(Box::new(to_server))),
        client: Mutex::new(Box::new(io::stdout())),
        tools: Mutex::default(),
        lists: Mutex::default(),
        waiting: Mutex::default(),
        judging: AtomicUsize::new(0),
    });
    let back = {
        let proxy = Arc::clone(&proxy);
        thread::spawn(move || proxy.back(BufReader::new(from_server)))
    };
    {
        let proxy = Arc::clone(&proxy);
        // This thread reads until the client has exited. The process does not wait for it if the server has exited.
        thread::spawn(move || {
            proxy.forth(BufReader::new(io::stdin()));
            proxy.finish();
            // Close the server's input.
            lock(&proxy.server).take();
        });
    }
    let ended = back.join().map_err(|_| McpError::Server)?;
    let code = end(&mut child).map_err(McpError::End)?;
    ended.map_err(McpError::Connection)?;
    Ok(code)
}

/// Writes a message to standard error, which most clients put in their log.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "guard: {}", visible::text(what));
}

/// Locks a mutex. A poisoned one is usable, because no change can be incomplete.
fn lock<T: ?Sized>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the proxy.
struct McpProxy {
    servers: Vec<String>,
    wait: Duration,
    /// The server's input, or `None` after it was closed.
    server: Mutex<Option<Box<dyn Write + Send>>>,
    client: Mutex<Box<dyn Write + Send>>,
    /// The server's descriptions of its tools, by name.
    tools: Mutex<HashMap<String, Value>>,
    /// The name under which the tools of this server are pinned, the pins, and the warnings about the tools.
    pinned: String,
    pins: Pins,
    marks: Mutex<HashMap<String, Vec<ToolWarning>>>,
    /// Whether secrets in the server's answers are hidden.
    redacts: bool,
    /// The IDs of unanswered requests for tool lists.
    lists: Mutex<Vec<Value>>,
    /// The calls that are being judged or wait for a person, by their JSON-RPC ID.
    waiting: Mutex<HashMap<String, WaitingCall>>,
    /// The number of messages that are being judged.
    judging: AtomicUsize,
}

/// A call that is being judged or waits for a person.
#[derive(Clone, Default)]
struct WaitingCall {
    /// Whether the client cancelled it.
    cancelled: bool,
    named: RequestHandle,
}

impl McpProxy {
    /// Handles the messages from the client to the server.
    fn forth(self: &Arc<Self>, mut from: impl BufRead) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut from).take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if line.len() as u64 >= LONGEST && line.last() != Some(&b'\n') {
                if skip_line(&mut from).is_err() {
                    return;
                }
                self.answer(&message::error(&Value::Null, -32600, "guard: the message is too long to judge"));
                continue;
            }
            self.of_client(&line);
        }
    }

    /// Handles one message of the client.
    fn of_client(self: &Arc<Self>, line: &[u8]) {
        match message::read(line) {
            Message::Other => self.pass(line),
            Message::List { id } => {
                lock(&self.lists).push(id);
                self.pass(line);
            }
            Message::Cancelled { id } => {
                let mut waiting = lock(&self.waiting);
                // The server never received the call.
                if let Some(held) = waiting.get_mut(&id.to_string()) {
                    held.cancelled = true;
                    if let Some(request) = held.named.get() {
                        // If no thread can be started, the request ends with its time limit.
                        let _ = thread::Builder::new().spawn(move || decide::cancel(&request));
                    }
                    return;
                }
                drop(waiting);
                self.pass(line);
            }
            Message::Wrong { id, why } => self.answer(&message::error(&id, -32600, &format!("guard: {why}"))),
            Message::Calls(calls) => {
                let proxy = Arc::clone(self);
                let line = line.to_vec();
                if !self.takes(&calls) {
                    // Answer without an ID, so that this is not taken for the answer to the waiting call.
                    let why = "guard: another call with this id is already waiting";
                    self.answer(&message::error(&Value::Null, -32600, why));
                    return;
                }
                // Judge each call in a thread of its own, so that one that waits for a person does not delay others.
                self.judging.fetch_add(1, Ordering::SeqCst);
                let judged = thread::Builder::new().spawn(move || {
                    proxy.judge(&line, &calls);
                    proxy.judging.fetch_sub(1, Ordering::SeqCst);
                });
                if judged.is_err() {
                    self.judging.fetch_sub(1, Ordering::SeqCst);
                    self.answer(&message::error(
                        &Value::Null,
                        -32603,
                        "guard: cannot start a thread to judge the call",
                    ));
                }
            }
        }
    }

    /// Waits until the client's last messages are judged. A client may close its output and still expect the answers.
    fn finish(&self) {
        let begun = Instant::now();
        let persons = || lock(&self.waiting).values().filter(|held| held.named.get().is_some()).count();
        while self.judging.load(Ordering::SeqCst) > persons() && begun.elapsed() < TO_FINISH {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Registers these calls as waiting. Returns `false` if a waiting call has the same ID as one of them.
    fn takes(&self, calls: &[ToolRequest]) -> bool {
        let named = || calls.iter().map(|call| &call.id).filter(|id| !id.is_null());
        let mut own = HashSet::new();
        let mut waiting = lock(&self.waiting);
        if named().any(|id| waiting.contains_key(&id.to_string()) || !own.insert(id.to_string())) {
            return false;
        }
        waiting.extend(own.into_iter().map(|id| (id, WaitingCall::default())));
        true
    }

    /// Judges the calls of one message, and passes it on if all may run.
    fn judge(&self, line: &[u8], calls: &[ToolRequest]) {
        let mut refused = None;
        for call in calls {
            let described = lock(&self.tools).get(&call.name).cloned();
            let marks = lock(&self.marks).get(&call.name).cloned().unwrap_or_default();
            let tool = ToolCall { marks, ..of(call, &self.servers, described.as_ref()) };
            let held = lock(&self.waiting).get(&call.id.to_string()).cloned().unwrap_or_default();
            if held.cancelled {
                break;
            }
            let decided = decide::decide(&tool, self.wait, held.named, &mut Progress::new(self, call));
            if let Err(why) = decided {
                refused = Some((call.name.clone(), why.to_string()));
                break;
            }
        }
        let held: Vec<WaitingCall> = {
            let mut waiting = lock(&self.waiting);
            calls.iter().map(|call| waiting.remove(&call.id.to_string()).unwrap_or_default()).collect()
        };
        let cancelled = held.iter().filter(|held| held.cancelled);
        cancelled.clone().filter_map(|held| held.named.get()).for_each(|request| decide::forget(&request));
        // A cancelled call is not judged, so the rest of its batch cannot be passed on either.
        if cancelled.count() > 0 {
            refused = Some((String::new(), "guard: refused: the client cancelled it".to_owned()));
        }
        match refused {
            None => self.pass(line),
            Some((name, why)) => {
                for (call, _) in calls.iter().zip(&held).filter(|(_, held)| !held.cancelled) {
                    let is_own = call.name == name;
                    let other = if name.is_empty() { "another call" } else { name.as_str() };
                    let why = if is_own { why.clone() } else { format!("{other} in the same batch: {why}") };
                    self.answer(&message::refusal(call, &why));
                }
            }
        }
    }

    /// Passes a message of the client to the server.
    fn pass(&self, line: &[u8]) {
        if let Some(server) = lock(&self.server).as_mut() {
            // If the server has exited, the end of its output ends the proxy.
            let _ = server.write_all(line).and_then(|()| server.flush());
        }
    }

    /// Sends a message of guard to the client.
    fn answer(&self, message: &Value) {
        let mut client = lock(&self.client);
        // If the client has exited, the end of its output ends the proxy.
        let _ = writeln!(client, "{message}").and_then(|()| client.flush());
    }

    /// Handles the messages from the server to the client.
    fn back(&self, mut from: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut from).take(LONGEST_BACK).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST_BACK {
                if self.redacts {
                    skip_line(&mut from)?;
                    complain("an answer of the server was dropped because it is too long to search for secrets");
                } else {
                    self.pass_back_long(&line, &mut from)?;
                }
                continue;
            }
            if !lock(&self.lists).is_empty() && line.len() <= LONGEST_LIST {
                self.learn(&line);
            }
            let redacted = if self.redacts { message::without_secrets(&line) } else { None };
            let mut client = lock(&self.client);
            client.write_all(redacted.as_deref().unwrap_or(&line))?;
            client.flush()?;
        }
    }

    /// Passes on a long message that begins with these bytes, in parts, without other messages in between.
    fn pass_back_long(&self, begun: &[u8], from: &mut impl BufRead) -> io::Result<()> {
        let mut client = lock(&self.client);
        client.write_all(begun)?;
        loop {
            let buffer = from.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let length = end.unwrap_or(buffer.len());
            client.write_all(buffer.get(..length).unwrap_or_default())?;
            from.consume(length);
            if end.is_some() || length == 0 {
                return client.flush();
            }
        }
    }

    /// Stores the descriptions of tools if a message is the answer to a `tools/list` request.
    fn learn(&self, line: &[u8]) {
        let Some((id, tools)) = message::listed(line) else { return };
        let mut lists = lock(&self.lists);
        let Some(asked) = lists.iter().position(|asked| *asked == id) else { return };
        lists.swap_remove(asked);
        drop(lists);
        match self.pins.update(&self.pinned, &tools, &Catalog::builtin(), Timestamp::now()) {
            Ok(marks) => {
                for (tool, mark) in marks.iter().flat_map(|(tool, all)| all.iter().map(move |mark| (tool, mark))) {
                    let what = match mark {
                        ToolWarning::Changed => "changed its description since it was pinned".to_owned(),
                        ToolWarning::Instructs(what) => format!("has a description that contains {what}"),
                        ToolWarning::Shadows(other) => format!("has the same name as a tool of {other}"),
                    };
                    complain(&format!("{}: {tool} {what}", self.pinned));
                }
                lock(&self.marks).extend(marks);
            }
            Err(why) => complain(&format!("cannot store the server's tool descriptions: {why}")),
        }
        let mut known = lock(&self.tools);
        for tool in tools {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                known.insert(name.to_owned(), tool.clone());
            }
        }
    }
}

/// Returns the call for judging, with the server's description of the tool.
fn of(call: &ToolRequest, servers: &[String], described: Option<&Value>) -> ToolCall {
    let part = |name: &str| described.and_then(|tool| tool.get(name)).cloned();
    ToolCall {
        name: call.name.clone(),
        servers: servers.to_vec(),
        input: call.arguments.clone(),
        description: part("description").and_then(|text| text.as_str().map(ToOwned::to_owned)),
        schema: part("inputSchema"),
        hints: part("annotations"),
        ..ToolCall::default()
    }
}

/// Notifies the client that a call still waits, if it asked for progress.
struct Progress<'a> {
    proxy: &'a McpProxy,
    token: Option<&'a Value>,
    told: u32,
}

impl<'a> Progress<'a> {
    const fn new(proxy: &'a McpProxy, call: &'a ToolRequest) -> Self {
        Self { proxy, token: call.progress.as_ref(), told: 0 }
    }
}

impl decide::WaitObserver for Progress<'_> {
    fn every(&self) -> Duration {
        EVERY
    }

    fn still(&mut self) {
        let Some(token) = self.token else { return };
        self.told += 1;
        self.proxy.answer(&json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": self.told, "message": "guard: asking a person" },
        }));
    }
}
