//! The HTTP client of a server: requests, the streams of their responses, and the session.
//!
//! Out of scope: standard input and output.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::sync::mpsc;

use super::McpError;
use super::custom_headers;
use super::events::{Events, SseEvent};
use super::message::{self, MessageInfo, MirroredArguments};
use crate::channel::http::{self, HttpError};

/// The headers of the protocol.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const ARGUMENT: &str = "mcp-param-";

/// The accepted content types of a response.
const FORMS: &str = "application/json, text/event-stream";
const STREAM: &str = "text/event-stream";

/// The maximum length of a response that is not a stream, and of one that only describes an error.
const LONGEST: usize = 256 << 20;
const LONGEST_FAULT: usize = 64 << 10;

/// The time limit for a message that expects no response.
const SOON: Duration = Duration::from_secs(30);

/// The time to wait before a stream is requested again: the default if the server names none, and the maximum.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The maximum number of unsuccessful attempts to resume a stream.
const PATIENCE: u32 = 5;

/// The connection to a server.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Values that the server sent: the name of the session, and the protocol version.
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<HeaderValue>>,
    /// The arguments that headers repeat, by tool.
    mirrored: Mutex<HashMap<String, MirroredArguments>>,
    out: mpsc::Sender<Vec<u8>>,
}

/// The reason why there is no response.
#[derive(Debug)]
struct RemoteFault {
    code: i32,
    why: String,
}

impl RemoteFault {
    fn failed(why: impl Into<String>) -> Self {
        Self { code: message::FAILED, why: why.into() }
    }
}

impl From<McpError> for RemoteFault {
    fn from(why: McpError) -> Self {
        Self::failed(why.to_string())
    }
}

/// The result of requesting a stream again.
enum Reconnect {
    Stream(Response),
    /// The server does not offer the stream.
    Never(String),
    Later(String),
}

impl Remote {
    /// Creates a client for the server at a URL.
    ///
    /// # Errors
    /// The URL or a header is invalid, or the URL would send secrets unencrypted to another machine.
    pub fn new(
        url: &str,
        headers: &[String],
        variable: impl Fn(&str) -> Option<String>,
        out: mpsc::Sender<Vec<u8>>,
    ) -> Result<Self, McpError> {
        let url = Url::parse(url).map_err(|error| McpError::Url { url: url.to_owned(), why: error.to_string() })?;
        let is_here = url.host_str().is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        });
        if url.scheme() != "https" && !(url.scheme() == "http" && is_here) {
            return Err(McpError::Plain(url.to_string()));
        }
        let headers = custom_headers::headers(headers, variable)?;
        let client = http::lasting_client()?;
        Ok(Self {
            client,
            url,
            headers,
            session: Mutex::default(),
            version: Mutex::default(),
            mirrored: Mutex::default(),
            out,
        })
    }

    /// Sends a message and prints its responses.
    pub async fn send(&self, line: Vec<u8>, mut asks: MessageInfo) {
        let is_waited_for = !asks.ids.is_empty();
        let sent = self.answer(line, &mut asks);
        let done = if is_waited_for {
            sent.await
        } else {
            let late = |_| Err(RemoteFault::failed("the server did not accept the request in time"));
            tokio::time::timeout(SOON, sent).await.unwrap_or_else(late)
        };
        let Err(RemoteFault { code, why }) = done else { return };
        if !is_waited_for {
            eprintln!("guard-gateway: {}: {why}", self.place());
        }
        for id in &asks.ids {
            self.say(message::error(id, code, &why)).await;
        }
    }

    async fn answer(&self, line: Vec<u8>, asks: &mut MessageInfo) -> Result<(), RemoteFault> {
        let mut body = line;
        while body.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            body.pop();
        }
        let had_session = self.kept(&self.session).is_some() && !asks.is_initialize;
        let request = self.client.post(self.url.clone()).headers(self.head_of(asks));
        let request = request.header(ACCEPT, FORMS).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| McpError::Http(error.into()))?;
        let status = response.status();
        if asks.is_initialize && status.is_success() {
            *held(&self.session) = response.headers().get(SESSION).cloned();
        }
        if !status.is_success() {
            return self.refused(response, asks, had_session).await;
        }
        if is_stream(&response) {
            return Ok(self.follow(response, asks).await?);
        }
        let text = whole(response, LONGEST).await?;
        if text.iter().all(u8::is_ascii_whitespace) {
            let none = || RemoteFault::failed("the server accepted the request but did not answer");
            return if asks.ids.is_empty() { Ok(()) } else { Err(none()) };
        }
        self.deliver(text, asks).await;
        let other = || RemoteFault::failed("the server answered another request");
        if asks.ids.is_empty() { Ok(()) } else { Err(other()) }
    }

    /// Handles a response whose status is not a success.
    async fn refused(&self, response: Response, asks: &mut MessageInfo, had_session: bool) -> Result<(), RemoteFault> {
        let status = response.status();
        let text = whole(response, LONGEST_FAULT).await.unwrap_or_default();
        // A server may describe the error in a response of its own.
        if let [id] = asks.ids.as_slice()
            && let Some(own) = message::adopted(&text, id)
        {
            asks.ids.clear();
            self.say(own).await;
            return Ok(());
        }
        if asks.clone().answered(&text) {
            self.deliver(text, asks).await;
            if asks.ids.is_empty() {
                return Ok(());
            }
        }
        let why = match status {
            StatusCode::NOT_FOUND if had_session => {
                *held(&self.session) = None;
                "the server ended the session; connect again".to_owned()
            }
            // With this code, a client that probes which protocol version a server supports tries the next one.
            StatusCode::NOT_FOUND => {
                return Err(RemoteFault {
                    code: message::NO_METHOD,
                    why: "the server answered with status 404".to_owned(),
                });
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("access denied by the server (status {}); give a key with --header", status.as_u16())
            }
            _ => format!("the server answered with status {}", status.as_u16()),
        };
        Err(RemoteFault::failed(why))
    }

    /// Prints the messages of a stream until every request is answered, and resumes the stream if it breaks off.
    async fn follow(&self, response: Response, asks: &mut MessageInfo) -> Result<(), McpError> {
        let mut next = Some(response);
        let (mut last, mut pause, mut in_vain) = (None, PAUSE, 0);
        loop {
            if let Some(response) = next.take() {
                let before = last.clone();
                self.drain(response, asks, &mut last, &mut pause).await?;
                if before != last {
                    in_vain = 0;
                }
            }
            if asks.ids.is_empty() {
                return Ok(());
            }
            let Some(from) = &last else { return Err(McpError::BrokeOff) };
            in_vain += 1;
            tokio::time::sleep(pause).await;
            match self.stream(Some(from)).await {
                Reconnect::Stream(response) => next = Some(response),
                Reconnect::Never(why) => return Err(McpError::NoStream(why)),
                Reconnect::Later(_) => {}
            }
            if in_vain > PATIENCE {
                return Err(McpError::NotContinued);
            }
        }
    }

    /// Prints the messages of a stream until every request is answered; without requests, until it ends.
    async fn drain(
        &self,
        mut response: Response,
        asks: &mut MessageInfo,
        last: &mut Option<String>,
        pause: &mut Duration,
    ) -> Result<(), McpError> {
        let mut events = Events::default();
        let is_waited_for = !asks.ids.is_empty();
        // A stream that breaks off is treated like one that ends: the missing messages are requested again.
        while let Ok(Some(part)) = response.chunk().await {
            for SseEvent { data, id, retry } in events.feed(&part)? {
                *last = id.or_else(|| last.take());
                *pause = retry.map_or(*pause, |retry| retry.min(LONGEST_PAUSE));
                if !data.iter().all(u8::is_ascii_whitespace) {
                    self.deliver(data, asks).await;
                }
            }
            if is_waited_for && asks.ids.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Receives the messages that the server sends on its own initiative, for as long as it offers a stream for them.
    pub async fn listen(&self) {
        let (mut last, mut pause, mut in_vain) = (None, PAUSE, 0);
        loop {
            match self.stream(last.as_deref()).await {
                Reconnect::Stream(response) => {
                    in_vain = 0;
                    if let Err(why) = self.drain(response, &mut MessageInfo::default(), &mut last, &mut pause).await {
                        eprintln!("guard-gateway: {}: {why}", self.place());
                    }
                }
                // Most servers offer none.
                Reconnect::Never(_) => return,
                Reconnect::Later(why) if in_vain >= PATIENCE => {
                    eprintln!("guard-gateway: {}: cannot receive the server's own messages: {why}", self.place());
                    return;
                }
                Reconnect::Later(_) => in_vain += 1,
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn stream(&self, last: Option<&str>) -> Reconnect {
        let mut request = self.client.get(self.url.clone()).headers(self.head(false)).header(ACCEPT, STREAM);
        if let Some(last) = last {
            request = request.header(LAST_EVENT, last);
        }
        match request.send().await {
            Ok(response) if response.status().is_success() && is_stream(&response) => Reconnect::Stream(response),
            Ok(response) if response.status().is_server_error() => {
                Reconnect::Later(format!("the server answered with status {}", response.status().as_u16()))
            }
            Ok(_) => Reconnect::Never("the server's answer ended early, and the rest cannot be requested".to_owned()),
            Err(error) => Reconnect::Later(HttpError::from(error).to_string()),
        }
    }

    /// Ends the session.
    pub async fn leave(&self) {
        if self.kept(&self.session).is_some() {
            let request = self.client.delete(self.url.clone()).headers(self.head(false));
            // If the server does not respond, it will expire the session by itself.
            let _ = tokio::time::timeout(PAUSE, request.send()).await;
        }
    }

    /// Prints a message of the server.
    async fn deliver(&self, text: Vec<u8>, asks: &mut MessageInfo) {
        if asks.answered(&text)
            && asks.is_initialize
            && let Some(version) = message::version(&text)
        {
            *held(&self.version) = HeaderValue::try_from(version).ok();
        }
        if asks.is_list && asks.repeats.is_some() {
            held(&self.mirrored).extend(message::mirrored(&text));
        }
        self.say(text).await;
    }

    async fn say(&self, text: Vec<u8>) {
        // If the printer has ended, this process ends too.
        let _ = self.out.send(message::line(text)).await;
    }

    /// Returns the headers of every request; a message that starts a session has no session headers.
    fn head(&self, is_initialize: bool) -> HeaderMap {
        let mut head = self.headers.clone();
        if !is_initialize {
            head.extend(self.kept(&self.session).map(|session| (SESSION, session)));
            head.extend(self.kept(&self.version).map(|version| (VERSION, version)));
        }
        head
    }

    /// Returns the headers of a request, including the fields of its message that they repeat.
    fn head_of(&self, asks: &MessageInfo) -> HeaderMap {
        let mut head = self.head(asks.is_initialize);
        let Some(repeats) = &asks.repeats else { return head };
        let mut put = |name: HeaderName, value: &str| {
            // `plain` has encoded names and arguments that a header cannot contain.
            head.extend(HeaderValue::try_from(value).ok().map(|value| (name, value)));
        };
        put(VERSION, &repeats.version);
        put(METHOD, &repeats.method);
        let Some(name) = &repeats.name else { return head };
        put(NAME, &message::plain(name));
        let mirrored = held(&self.mirrored);
        for (way, header) in mirrored.get(name).into_iter().flatten() {
            let value = repeats.arguments.as_ref().and_then(|arguments| message::header(arguments, way));
            let header = HeaderName::try_from(format!("{ARGUMENT}{header}"));
            if let (Some(value), Ok(header)) = (value, header) {
                put(header, &value);
            }
        }
        head
    }

    fn kept(&self, what: &Mutex<Option<HeaderValue>>) -> Option<HeaderValue> {
        held(what).clone()
    }

    /// Returns the URL without the parts that may contain a secret.
    fn place(&self) -> String {
        format!("{}{}", self.url.host_str().unwrap_or_default(), self.url.path())
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_stream(response: &Response) -> bool {
    let form = response.headers().get(CONTENT_TYPE).and_then(|form| form.to_str().ok()).unwrap_or_default();
    form.trim_start().to_ascii_lowercase().starts_with(STREAM)
}

async fn whole(mut response: Response, most: usize) -> Result<Vec<u8>, McpError> {
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.map_err(HttpError::from)? {
        text.extend_from_slice(&part);
        if text.len() > most {
            return Err(McpError::TooLong(most >> 10));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(url: &str, headers: &[&str]) -> Result<Remote, McpError> {
        let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
        let variable = |name: &str| (name == "KEY").then(|| "k3y".to_owned());
        Remote::new(url, &headers, variable, mpsc::channel(1).0)
    }

    #[test]
    fn nothing_is_said_in_plain_to_another_machine() {
        for url in ["https://mcp.example.com/x", "http://localhost:1/x", "http://127.0.0.1:1", "http://[::1]:1/mcp"] {
            assert!(remote(url, &[]).is_ok(), "{url}");
        }
        for url in ["http://mcp.example.com/x", "http://127.0.0.1.example.com", "ftp://localhost", "x", "file:///x"] {
            assert!(remote(url, &[]).is_err(), "{url}");
        }
    }
}
