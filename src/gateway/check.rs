//! `guard-gateway check`: tests every channel and the page, for `guard doctor`.
//!
//! If a gateway is running, it tests its own channels, with the configuration that it has read; otherwise they are
//! tested from this process. The page is fetched as a browser does. The results are printed as one line of JSON. Out of
//! scope: changing anything.

use std::time::Duration;

use clap::Args;
use reqwest::header::{HeaderMap, HeaderName};
use serde::Serialize;
use serde_json::{Value, json};

use crate::account::{Account, AccountError};
use crate::api::pages;
use crate::channel::http::{self, HttpError};
use crate::channel::probe::{ProbeResult, ProbeStatus, Receiver, probe};
use crate::client;
use crate::config::Config;

/// The time limit of all channels together.
const PATIENCE: Duration = Duration::from_secs(75);

/// The arguments of `guard-gateway check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Only these checks: gateway, page, channel, channel.NAME
    only: Vec<String>,
}

/// A result, in the format of `guard doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct CheckResult {
    check: String,
    /// `ok`, `warn` or `fail`.
    status: &'static str,
    says: String,
    remedy: Option<String>,
}

impl CheckResult {
    fn ok(check: &str, says: impl Into<String>) -> Self {
        Self { check: check.to_owned(), status: "ok", says: says.into(), remedy: None }
    }

    fn warn(check: &str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check: check.to_owned(), status: "warn", says: says.into(), remedy: Some(remedy.into()) }
    }

    fn fail(check: &str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: "fail", ..Self::warn(check, says, remedy) }
    }
}

/// The reason why the tests cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The runtime cannot be created.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The reason why the page was not received intact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum PageError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the page answered {status}{why}")]
    Status { status: u16, why: String },
    #[error("another program serves this address")]
    Another,
    #[error("the page's script is wrong or missing")]
    Script,
    #[error("without a token the API answered {0} instead of 401")]
    Open(u16),
    #[error("the page has the content type {0:?}")]
    ContentType(String),
    #[error("the header {0} is missing")]
    NoHeader(&'static str),
    #[error("the header {0} was changed")]
    Changed(&'static str),
}

/// Tests the channels and the page. Prints an empty list if nothing is configured and no gateway is running.
///
/// # Errors
/// Returns an error if the directory of the configuration is unknown, or if the result cannot be serialized.
pub fn run(args: &CheckArgs) -> Result<u8, CheckError> {
    let account = Account::of_this_process();
    let path = account.config_directory()?.join("gateway.toml");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Err(why) = account.socket(&Config::default()) {
        // The error is reported only if this check was requested by name, because the gateway may belong to another
        // account.
        let asked = !args.only.is_empty();
        let found = CheckResult::warn("gateway", why.to_string(), "see guard-gateway(8)");
        let found: Vec<CheckResult> = Some(found).into_iter().filter(|one| asked && args.wants(&one.check)).collect();
        println!("{}", serde_json::to_string(&found)?);
        return Ok(0);
    }
    let (config, broken) = match Config::read(&path) {
        Ok(config) => (config, None),
        // A running gateway still uses the configuration that it read before, and most likely the default socket.
        Err(why) => (Config::default(), Some(why)),
    };
    let socket = account.socket(&config)?;
    let mut found = Vec::new();
    if let Some(why) = broken {
        let says = format!("the configuration is invalid, so the gateway cannot start: {}", why.to_string().trim_end());
        found.push(CheckResult::fail("gateway", says, "fix it; see guard-gateway(8)"));
    }
    runtime.block_on(async {
        match client::get(&socket, "/v1/status").await {
            Ok(status) => {
                let listens = format!("the gateway listens at {}; {} waiting", socket.display(), status["waiting"]);
                found.push(CheckResult::ok("gateway", listens));
                found.extend(with_gateway(args, &config, &socket, &status).await);
            }
            Err(_) if path.exists() => {
                let says = "the gateway is not running, so channels and the page do not work";
                found.push(CheckResult::warn(
                    "gateway",
                    says,
                    "run guard serve, or install a systemd unit: guard-gateway serve --unit",
                ));
                found.extend(alone(args, &config).await);
            }
            Err(_) => {}
        }
    });
    found.retain(|one| args.wants(&one.check));
    let text = serde_json::to_string(&found)?;
    println!("{text}");
    Ok(0)
}

impl CheckArgs {
    /// Reports whether a check was requested, by its name or by the part of it before a dot.
    fn wants(&self, check: &str) -> bool {
        let named = |only: &String| {
            check.strip_prefix(only.as_str()).is_some_and(|rest| matches!(rest, "" | "s") || rest.starts_with('.'))
        };
        self.only.is_empty() || self.only.iter().any(named)
    }

    /// Returns the channels to be tested.
    fn channels<'a>(&self, config: &'a Config) -> Vec<&'a crate::config::ChannelConfig> {
        config.channel.iter().filter(|one| self.wants(&check_of(&one.name))).collect()
    }
}

fn check_of(channel: &str) -> String {
    format!("channel.{channel}")
}

/// Tests the channels through the running gateway, and fetches its page.
async fn with_gateway(args: &CheckArgs, config: &Config, socket: &std::path::Path, status: &Value) -> Vec<CheckResult> {
    let mut found = Vec::new();
    if args.only.is_empty() || args.only.iter().any(|only| only.starts_with("channel")) {
        let names: Vec<&str> = args.channels(config).iter().map(|one| one.name.as_str()).collect();
        // If only single channels are requested, they are named. Otherwise the gateway tests all channels that it has,
        // which may differ from those in the file.
        let wanted = if args.wants("channel") { json!({}) } else { json!({ "channels": names }) };
        let tried = match &wanted["channels"] {
            Value::Array(none) if none.is_empty() => Ok(json!({ "tried": [] })),
            _ => client::post(socket, "/v1/channels/test", &wanted, PATIENCE).await,
        };
        match tried.map(|value| serde_json::from_value::<Vec<ProbeResult>>(value["tried"].clone())) {
            Ok(Ok(tried)) => {
                for name in names.iter().filter(|&&name| tried.iter().all(|one| one.channel != name)) {
                    let says = "the running gateway does not know this channel; it still uses the previous \
                                configuration";
                    found.push(CheckResult::fail(&check_of(name), says, "kill -HUP the gateway, or restart it"));
                }
                found.extend(tried.iter().map(said));
            }
            Ok(Err(_)) => found.push(old("unexpected answer of the gateway about its channels")),
            Err(why) => found.push(old(&format!("the gateway cannot test its channels: {why}"))),
        }
    }
    if args.wants("page") {
        let ports: Vec<u64> = status["ports"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        for port in &ports {
            found.push(match u16::try_from(*port).ok().and_then(crate::blocked_ports::warning) {
                Some(why) => CheckResult::warn("page", why, "listen in gateway.toml"),
                None => page(&format!("http://localhost:{port}")).await,
            });
        }
        if let Some(url) = &config.page {
            found.push(page(url.trim_end_matches('/')).await);
        }
    }
    found
}

fn old(says: &str) -> CheckResult {
    CheckResult::fail("channel", says, "restart it; it may be another version")
}

/// Tests the channels without a gateway.
async fn alone(args: &CheckArgs, config: &Config) -> Vec<CheckResult> {
    let accept = config.accept();
    let probes = args.channels(config).into_iter().map(|one| probe(one, accept, Receiver::Nobody));
    futures_util::future::join_all(probes).await.iter().map(said).collect()
}

fn said(tried: &ProbeResult) -> CheckResult {
    let check = check_of(&tried.channel);
    let says = format!("{}: {}", tried.kind, guard_ui::ui::visible::text(&tried.message));
    match tried.status {
        ProbeStatus::Ok => CheckResult::ok(&check, says),
        ProbeStatus::Later => CheckResult::warn(&check, says, "wait, and try again"),
        ProbeStatus::Broken => CheckResult::fail(
            &check,
            says,
            format!("fix its section of gateway.toml, then run guard channel test {}", tried.channel),
        ),
    }
}

/// The headers that keep other sites from using or framing the page, with their expected values.
const HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", pages::POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Fetches the page and checks the response.
async fn page(url: &str) -> CheckResult {
    let remedy = if url.starts_with("http://localhost:") {
        "restart the gateway"
    } else {
        "check page and hosts in gateway.toml, and the proxy, which must forward everything unchanged"
    };
    match fetched(url).await {
        Ok(()) => {
            let says = format!("{url} shows the page with all its headers, and requires a token");
            CheckResult::ok("page", says)
        }
        Err(why) => CheckResult::fail("page", format!("{url}: {why}"), remedy),
    }
}

async fn fetched(url: &str) -> Result<(), PageError> {
    let client = if url.starts_with("http://localhost:") { http::direct_client() } else { http::client() }?;
    let get = async |path: &str| -> Result<(u16, HeaderMap, String), HttpError> {
        let response = client.get(format!("{url}{path}")).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        Ok((status, headers, text))
    };
    let (status, headers, text) = get("/").await?;
    if status != 200 {
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let why = problem["detail"].as_str().map(|why| format!(": {}", guard_ui::ui::visible::text(why)));
        return Err(PageError::Status { status, why: why.unwrap_or_default() });
    }
    if text != include_str!("page/index.html") {
        return Err(PageError::Another);
    }
    check_headers(&headers)?;
    let (status, _, script) = get("/app.js").await?;
    if status != 200 || script != include_str!("page/app.js") {
        return Err(PageError::Script);
    }
    // A request without a token must be unauthenticated: a proxy that connects to the Unix socket would pass on its
    // account's permissions.
    match get("/v1/status").await? {
        (401, ..) => Ok(()),
        (status, ..) => Err(PageError::Open(status)),
    }
}

/// Checks that the page's headers arrive unchanged.
fn check_headers(headers: &HeaderMap) -> Result<(), PageError> {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("text/html") {
        return Err(PageError::ContentType(guard_ui::ui::visible::text(kind).into()));
    }
    for (name, wanted) in HEADERS {
        let mut all = headers.get_all(HeaderName::from_static(name)).iter();
        match (all.next().and_then(|value| value.to_str().ok()), all.next()) {
            (Some(value), None) if value == wanted => {}
            (None, _) => return Err(PageError::NoHeader(name)),
            _ => return Err(PageError::Changed(name)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn whole() -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
        for (name, value) in HEADERS {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn each_header_of_the_page_is_missed() {
        assert_eq!(check_headers(&whole()), Ok(()));
        for (name, _) in HEADERS {
            let (text, name) = (name, HeaderName::from_static(name));
            let mut headers = whole();
            headers.remove(&name);
            assert_eq!(check_headers(&headers), Err(PageError::NoHeader(text)));
            headers.insert(&name, HeaderValue::from_static("other"));
            assert!(check_headers(&headers).unwrap_err().to_string().contains("was changed"), "{name}");
            let mut headers = whole();
            headers.append(&name, HeaderValue::from_static("more"));
            assert!(check_headers(&headers).unwrap_err().to_string().contains("was changed"), "{name} twice");
        }
        let mut headers = whole();
        headers.insert("content-type", HeaderValue::from_static("text/plain"));
        assert!(check_headers(&headers).is_err());
    }

    #[test]
    fn a_check_is_wanted_by_its_name_or_what_it_begins_with() {
        let only = |words: &[&str]| CheckArgs { only: words.iter().map(|&word| word.to_owned()).collect() };
        assert!(only(&[]).wants("page"));
        assert!(only(&["channel"]).wants("channel.tg") && !only(&["channel"]).wants("page"));
        assert!(only(&["channel.tg"]).wants("channel.tg") && !only(&["channel.tg"]).wants("channel.tg2"));
        assert!(!only(&["channel.tg"]).wants("channel"));
    }
}
