//! `guard mcp -- COMMAND …`: stands between an MCP client and a server that speaks over standard input and output, and
//! judges each call of a tool.
//!
//! All that is no call of a tool passes through to the byte. A call that may run passes as it came; one that may not is
//! answered here, as an error of the tool that a model understands. What may not enter: judging, and asking people.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use self::message::{Message, ToolRequest};
use crate::judge::tools::ToolCall;

mod decide;
mod message;

/// The longest message of a client that is read: the rest of a longer one is thrown away, and it is answered by an error.
const LONGEST: u64 = 32 << 20;

/// The longest list of tools that is looked into on its way back.
const LONGEST_LIST: usize = 64 << 20;

/// How often a client hears that a call still waits.
const EVERY: Duration = Duration::from_secs(5);

/// How long a server may take to end when its client has gone.
const TO_END: Duration = Duration::from_secs(5);

/// The arguments of `guard mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The name of the server, as your client's configuration has it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Seconds that a call may wait for an answer, at most: most clients give up after 60
    #[arg(long, value_name = "SECONDS", default_value_t = 50)]
    wait: u64,
    /// The server's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    server: Vec<OsString>,
}

/// Stands between, until one side has gone; the exit code is the server's.
///
/// # Errors
/// The server cannot be started, or a side cannot be read or written.
pub fn run(args: &McpArgs) -> Result<u8, String> {
    let (program, rest) = args.server.split_first().ok_or("say which server: guard mcp -- COMMAND")?;
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.to_string_lossy()))?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the server's standard input and output cannot be had".to_owned());
    };
    let between = Arc::new(Between {
        servers: names(args),
        wait: Duration::from_secs(args.wait),
        server: Mutex::new(Some(Box::new(to_server))),
        client: Mutex::new(Box::new(io::stdout())),
        tools: Mutex::default(),
        lists: Mutex::default(),
        waiting: Mutex::default(),
    });
    let back = {
        let between = Arc::clone(&between);
        thread::spawn(move || between.back(BufReader::new(from_server)))
    };
    {
        let between = Arc::clone(&between);
        // It reads until its client has gone; the process does not wait for it when the server has.
        thread::spawn(move || {
            between.forth(BufReader::new(io::stdin()));
            // The server hears the end of its input.
            lock(&between.server).take();
        });
    }
    let ended = back.join().map_err(|_| "reading from the server failed".to_owned())?;
    let code = end(&mut child).map_err(|error| error.to_string())?;
    ended.map_err(|error| format!("between client and server: {error}"))?;
    Ok(code)
}

/// The names that the server may be known by: the one that is given, and the words of its command that are no options.
fn names(args: &McpArgs) -> Vec<String> {
    let words = args.server.iter().map(|word| word.to_string_lossy().into_owned());
    let plain = words.filter(|word| !word.starts_with('-') && word.len() <= 128);
    let base = |word: String| word.rsplit('/').next().map_or_else(|| word.clone(), str::to_owned);
    // The first is what runs it (npx, uvx, python), and what stands behind the package is its own arguments.
    args.name.iter().cloned().chain(plain.take(3).flat_map(|word| [word.clone(), base(word)])).collect()
}

/// Waits for a server whose output has ended.
fn end(child: &mut Child) -> io::Result<u8> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        if begun.elapsed() >= TO_END {
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A lock that is held for a moment. Whoever panicked with it left nothing half done.
fn lock<T: ?Sized>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both sides, and what is known of them.
struct Between {
    servers: Vec<String>,
    wait: Duration,
    /// `None` when its input was closed.
    server: Mutex<Option<Box<dyn Write + Send>>>,
    client: Mutex<Box<dyn Write + Send>>,
    /// What the server said of each tool, by name.
    tools: Mutex<HashMap<String, Value>>,
    /// The requests for lists of tools that are not answered yet.
    lists: Mutex<Vec<Value>>,
    /// The calls that wait for a person, by the id of their request; `true`: the client took it back.
    waiting: Mutex<HashMap<String, bool>>,
}

impl Between {
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
                self.answer(&message::error(&Value::Null, -32600, "guard: the message is too long to be judged"));
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
                if let Some(cancelled) = waiting.get_mut(&id.to_string()) {
                    *cancelled = true;
                    return;
                }
                drop(waiting);
                self.pass(line);
            }
            Message::Wrong { id, why } => self.answer(&message::error(&id, -32600, &format!("guard: {why}"))),
            Message::Calls(calls) => {
                let between = Arc::clone(self);
                let line = line.to_vec();
                for call in &calls {
                    lock(&self.waiting).insert(call.id.to_string(), false);
                }
                // Each is judged beside the others: one that waits for a person keeps nobody waiting.
                let judged = thread::Builder::new().spawn(move || between.judge(&line, &calls));
                if judged.is_err() {
                    self.answer(&message::error(&Value::Null, -32603, "guard: there is no thread to judge it on"));
                }
            }
        }
    }

    /// Judges the calls of one message, and passes it on when all may run.
    fn judge(&self, line: &[u8], calls: &[ToolRequest]) {
        let mut refused = None;
        for call in calls {
            let described = lock(&self.tools).get(&call.name).cloned();
            let tool = of(call, &self.servers, described.as_ref());
            let decided = decide::decide(&tool, self.wait, &mut Progress::new(self, call));
            if let Err(why) = decided {
                refused = Some((call.name.clone(), why));
                break;
            }
        }
        let cancelled = {
            let mut waiting = lock(&self.waiting);
            let taken: Vec<bool> = calls.iter().filter_map(|call| waiting.remove(&call.id.to_string())).collect();
            !taken.is_empty() && taken.iter().all(|cancelled| *cancelled)
        };
        match refused {
            _ if cancelled => {}
            None => self.pass(line),
            Some((name, why)) => {
                for call in calls {
                    let why = if call.name == name { why.clone() } else { format!("{name} in the same batch: {why}") };
                    self.answer(&message::refusal(&call.id, &why));
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
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if !lock(&self.lists).is_empty() && line.len() <= LONGEST_LIST {
                self.learn(&line);
            }
            let mut client = lock(&self.client);
            client.write_all(&line)?;
            client.flush()?;
        }
    }

    /// Takes in what the server says of its tools, where a message answers the question for them.
    fn learn(&self, line: &[u8]) {
        let Some((id, tools)) = message::listed(line) else { return };
        let mut lists = lock(&self.lists);
        let Some(asked) = lists.iter().position(|asked| *asked == id) else { return };
        lists.swap_remove(asked);
        drop(lists);
        let mut known = lock(&self.tools);
        for tool in tools {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                known.insert(name.to_owned(), tool.clone());
            }
        }
    }
}

/// Throws away the rest of a line.
fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        from.consume(length);
        if end.is_some() {
            return Ok(());
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
    }
}

/// Tells the client that a call still waits, where it wants to know.
struct Progress<'a> {
    between: &'a Between,
    token: Option<&'a Value>,
    told: u32,
}

impl<'a> Progress<'a> {
    const fn new(between: &'a Between, call: &'a ToolRequest) -> Self {
        Self { between, token: call.progress.as_ref(), told: 0 }
    }
}

impl decide::Waits for Progress<'_> {
    fn every(&self) -> Duration {
        EVERY
    }

    fn still(&mut self) {
        let Some(token) = self.token else { return };
        self.told += 1;
        self.between.answer(&json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": self.told, "message": "guard: a person is asked" },
        }));
    }
}
