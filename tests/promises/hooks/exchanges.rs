//! Tests inputs as each agent writes them, and compares the answers byte for byte.

use std::fs;
use std::path::PathBuf;

use guard::app::hook::hosts;

use super::stage::{hook, said};
use crate::harness::home::Home;

/// One call and its answer.
#[derive(Default)]
pub struct Exchange {
    pub what: String,
    pub input: String,
    pub out: String,
    pub err: String,
    pub code: i32,
}

fn file(agent: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/promises/hooks").join(format!("{agent}.txt"))
}

/// Returns the exchanges in an agent's file.
pub fn kept(agent: &str) -> Vec<Exchange> {
    read(&fs::read_to_string(file(agent)).unwrap())
}

fn read(text: &str) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for line in text.lines() {
        if let Some(what) = line.strip_prefix("== ") {
            all.push(Exchange { what: what.to_owned(), ..Exchange::default() });
        }
        let Some(last) = all.last_mut() else { continue };
        if let Some(rest) = line.strip_prefix("in   ") {
            last.input = rest.to_owned();
        } else if let Some(rest) = line.strip_prefix("out  ") {
            last.out = rest.to_owned();
        } else if let Some(rest) = line.strip_prefix("err  ") {
            last.err = rest.to_owned();
        } else if let Some(rest) = line.strip_prefix("exit ") {
            last.code = rest.parse().unwrap();
        }
    }
    all
}

fn written(exchange: &Exchange) -> String {
    let Exchange { what, input, out, err, code } = exchange;
    format!("== {what}\nin   {input}\nout  {out}\nerr  {err}\nexit {code}\n").replace("  \n", "\n")
}

/// Plays a file's exchanges against guard, and compares all of its output.
fn play(agent: &str) {
    let path = file(agent);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{agent}: {error}"));
    let asked = read(&text);
    assert!(asked.len() >= 5, "{agent}: {} exchanges", asked.len());
    let mut answered = String::new();
    for exchange in &asked {
        // Each exchange has its own record, because consecutive denials change the answer.
        let home = Home::new();
        let directory = home.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let output = hook(&home, agent, &exchange.input.replace("$HERE", &directory));
        let (out, err) = said(&output);
        assert!(out.lines().count() <= 1 && err.lines().count() <= 1, "{agent}, {}: {out}{err}", exchange.what);
        let said = |text: &str| text.trim_end().replace(&directory, "$HERE");
        let answer = Exchange {
            what: exchange.what.clone(),
            input: exchange.input.clone(),
            out: said(&out),
            err: said(&err),
            code: output.status.code().unwrap(),
        };
        answered.push_str(&written(&answer));
    }
    if std::env::var_os("GUARD_UPDATE").is_some() {
        fs::write(&path, &answered).unwrap();
    }
    let kept: String = read(&fs::read_to_string(&path).unwrap()).iter().map(written).collect();
    assert_eq!(as_this_account(&kept), answered, "{agent}");
}

/// Converts an exchange to this account. The files contain the answers for root, whose flagged commands weigh half a
/// point more.
fn as_this_account(text: &str) -> String {
    if nix::unistd::getuid().is_root() {
        return text.to_owned();
    }
    let mut parts = text.split("(tier ");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tier, rest) = part.split_once(", score ").unwrap();
        let (score, rest) = rest.split_once(')').unwrap();
        let lower = score.parse::<f64>().unwrap() - 0.5;
        let score = if tier >= "2" { format!("{lower:.1}") } else { score.to_owned() };
        all.push_str(&format!("(tier {tier}, score {score}){rest}"));
    }
    all
}

#[test]
fn every_agent_with_hooks_has_exchanges() {
    for host in hosts::all() {
        assert!(file(host.name()).exists(), "{}", host.name());
    }
}

#[test]
fn calls_of_the_version_that_was_tried_are_among_them() {
    for host in guard::app::install::hosts::HOSTS.iter() {
        for tried in &host.agent.tried {
            let label = format!("recorded of {}: ", tried.version);
            let recorded: Vec<String> =
                kept(host.name).iter().filter_map(|one| one.what.strip_prefix(&label).map(str::to_owned)).collect();
            assert!(!recorded.is_empty(), "{}: {label}", host.name);
        }
    }
}

macro_rules! dialects {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            play(stringify!($name));
        }
    )* };
}

dialects! { claude codex gemini antigravity cursor copilot opencode kilo windsurf droid kimi qwen grok goose cline hermes amp auggie openhands }
