//! `guard mcp -- COMMAND …`: stands between an MCP client and a server that speaks over standard input and output, and
//! judges each call of a tool. With `--http` the server is one that is reached over HTTP, and the gateway's program that
//! carries messages there stands in its place. With `--listen` it is the client that comes over HTTP, and the gateway's
//! program starts one of these for each session.
//!
//! All that is no call of a tool passes through to the byte. A call that may run passes as it came; one that may not is
//! answered here, as an error of the tool that a model understands. Out of scope: judging, and asking people.

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

/// The longest message of a client that is read: the rest of a longer one is thrown away, and it is answered by an error.
const LONGEST: u64 = 32 << 20;

/// The longest list of tools that is looked into on its way back.
const LONGEST_LIST: usize = 64 << 20;

/// How often a client hears that a call still waits.
const EVERY: Duration = Duration::from_secs(5);

/// How long calls are judged on that came before the client's input ended; what waits for a person then ends with it.
const TO_FINISH: Duration = Duration::from_secs(5);

/// The longest part of a message of the server that is held at once: a longer one passes in parts.
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

/// Stands between, until one side has gone; the exit code is the server's.
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
        // It reads until its client has gone; the process does not wait for it when the server has.
        thread::spawn(move || {
            proxy.forth(BufReader::new(io::stdin()));
            proxy.finish();
            // The server hears the end of its input.
            lock(&proxy.server).take();
        });
    }
    let ended = back.join().map_err(|_| McpError::Server)?;
    let code = end(&mut child).map_err(McpError::End)?;
    ended.map_err(McpError::Connection)?;
    Ok(code)
}

/// Says something to whoever reads the client's log, if anybody does.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "guard: {}", visible::text(what));
}

/// A lock that is held for a moment. Whoever panicked with it left nothing half done.
fn lock<T: ?Sized>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy between a client and a server, and what it knows of both.
struct McpProxy {
    servers: Vec<String>,
    wait: Duration,
    /// `None` when its input was closed.
    server: Mutex<Option<Box<dyn Write + Send>>>,
    client: Mutex<Box<dyn Write + Send>>,
    /// What the server said of each tool, by name.
    tools: Mutex<HashMap<String, Value>>,
    /// Its name among the pins, what is kept there, and what is wrong with its tools.
    pinned: String,
    pins: Pins,
    marks: Mutex<HashMap<String, Vec<ToolWarning>>>,
    /// Secrets are taken out of what the server answers.
    redacts: bool,
    /// The requests for lists of tools that are not answered yet.
    lists: Mutex<Vec<Value>>,
    /// The calls that wait for a person, by the id of their request.
    waiting: Mutex<HashMap<String, WaitingCall>>,
    /// How many messages are being judged.
    judging: AtomicUsize,
}

/// A call that waits for a person.
#[derive(Clone, Default)]
struct WaitingCall {
    /// The client took it back.
    cancelled: bool,
    named: RequestHandle,
}

impl McpProxy {
    /// From the client to the server.
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

    /// One message of the client.
    fn of_client(self: &Arc<Self>, line: &[u8]) {
        match message::read(line) {
            Message::Other => self.pass(line),
            Message::List { id } => {
                lock(&self.lists).push(id);
                self.pass(line);
            }
            Message::Cancelled { id } => {
                let mut waiting = lock(&self.waiting);
                // The server never heard of it.
                if let Some(held) = waiting.get_mut(&id.to_string()) {
                    held.cancelled = true;
                    if let Some(request) = held.named.get() {
                        // Without a thread the time of the request ends it.
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
                    // Under no id: the one that waits is not answered by this.
                    let why = "guard: another call with this id is already waiting";
                    self.answer(&message::error(&Value::Null, -32600, why));
                    return;
                }
                // Each is judged beside the others: one that waits for a person keeps nobody waiting.
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

    /// Waits until what the client wrote last is judged: it may have closed its input behind it, and wants the answer.
    fn finish(&self) {
        let begun = Instant::now();
        let persons = || lock(&self.waiting).values().filter(|held| held.named.get().is_some()).count();
        while self.judging.load(Ordering::SeqCst) > persons() && begun.elapsed() < TO_FINISH {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Notes that these calls wait; false where another with the id of one does, so that nobody could tell them apart.
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

    /// Judges the calls of one message, and passes it on when all may run.
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
        // What was not judged because it was taken back keeps the rest of its batch back too.
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

    /// Hands the server what the client wrote.
    fn pass(&self, line: &[u8]) {
        if let Some(server) = lock(&self.server).as_mut() {
            // A server that has gone ends the whole by the end of its output.
            let _ = server.write_all(line).and_then(|()| server.flush());
        }
    }

    /// Hands the client a message of guard's own.
    fn answer(&self, message: &Value) {
        let mut client = lock(&self.client);
        // A client that has gone ends the whole by the end of its input.
        let _ = writeln!(client, "{message}").and_then(|()| client.flush());
    }

    /// From the server to the client.
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

    /// Passes on a message of which this is the beginning, in parts and with nothing in between.
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

    /// Takes in what the server says of its tools, where a message answers the question for them.
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

/// The call as it is judged: with all that the server said of the tool.
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

/// Tells the client that a call still waits, where it wants to know.
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
