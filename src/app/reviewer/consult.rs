//! Asks the reviewer about one command: starts it, polls it while a person may answer too, and returns an opinion.
//!
//! Any failure results in an opinion without a verdict, with the reason. Out of scope: what an opinion means for the
//! command ([`crate::judge::review`]).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::examples::{self, ExamplesError};
use super::request::Request;
use crate::app::engine::Engine;
use crate::app::gateway::{self, GatewayError};
use crate::app::queue;
use crate::config::Reviewer;
use crate::config::reviewer::{KeySource, Provider, ReviewerModel};
use crate::exec::notice::PLACES;
use crate::exec::program_query::{ProgramQuery, ProgramReply};
use crate::judge::Judgment;
use crate::judge::invocation::Invocation;
use crate::judge::review::{self, Opinion, OpinionVerdict, QUOTED, Role, jury};
use crate::store::{Paths, StoreError};

/// The time that the gateway's helper may need in addition to the model's time limit.
const MARGIN: Duration = Duration::from_millis(500);

/// The longest policy text of the account that a model gets, in bytes.
const MAX_POLICY: u64 = 64 << 10;

/// The helper's standard input.
#[derive(Debug, Serialize)]
struct ReviewInput<'a> {
    v: u8,
    reviewer: &'a Reviewer,
    /// The directory of the counts of calls and tokens, and of cached opinions.
    state: PathBuf,
    /// The policy text of the account.
    policy: String,
    examples: Vec<examples::Example>,
    digest: &'a str,
    request: &'a Request,
}

/// The helper's answer.
#[derive(Debug, Deserialize)]
struct ReviewerReply {
    opinion: Opinion,
}

/// The reason why a reviewer is not consulted. Its text is the reason of an opinion without a verdict.
#[derive(Debug, thiserror::Error)]
enum ConsultError {
    #[error("no program configured")]
    NoProgram,
    #[error("{program} cannot be started: {error}")]
    Start { program: String, error: io::Error },
    #[error("cannot read its policy {} ({error}); create the file, or remove policy from [reviewer]", path.display())]
    Policy { path: PathBuf, error: io::Error },
    #[error("its policy {} is longer than {} KiB; shorten it", .0.display(), MAX_POLICY >> 10)]
    LongPolicy(PathBuf),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

/// A reviewer that is being asked.
#[derive(Debug)]
pub struct Consult {
    running: Vec<RunningReviewer>,
    done: Vec<Opinion>,
    begun: Instant,
    about: String,
}

#[derive(Debug)]
struct RunningReviewer {
    by: String,
    is_program: bool,
    query: ProgramQuery,
}

impl Consult {
    /// Starts asking if the policy requires an opinion on this command, for at most `most`. An unused answer of a
    /// person takes precedence.
    #[must_use]
    pub fn begin(engine: &Engine, invocation: &Invocation, judgment: &Judgment, most: Duration) -> Option<Self> {
        if review::role(judgment, engine.policy()) == Role::Absent {
            return None;
        }
        let (reviewer, _) = engine.config().reviewer.as_ref()?;
        let digest = invocation.digest(&judgment.facts.expanded);
        if queue::is_answered(engine, &digest) {
            return None;
        }
        let request = Request::of(engine, invocation, judgment);
        Some(Self::ask(engine, reviewer, &digest.to_string(), &request, most))
    }

    /// Starts asking about a request that was already made.
    #[must_use]
    pub fn ask(engine: &Engine, reviewer: &Reviewer, digest: &str, request: &Request, most: Duration) -> Self {
        let about = digest.get(..QUOTED).unwrap_or_default().to_owned();
        let mut consult = Self { running: Vec::new(), done: Vec::new(), begun: Instant::now(), about };
        let limit = Duration::from_secs(reviewer.timeout.into()).min(most);
        let (programs, models): (Vec<ReviewerModel>, Vec<ReviewerModel>) =
            reviewer.voices.iter().cloned().partition(|voice| voice.provider == Provider::Program);
        for voice in programs {
            let begun = program(engine, &voice, request, limit);
            consult.take(voice.model, true, begun);
        }
        if !models.is_empty() {
            let asked = Reviewer { voices: models, ..reviewer.clone() };
            let name = asked.name();
            let begun = helper(engine, &asked, digest, request, limit);
            consult.take(name, false, begun);
        }
        consult
    }

    fn take(&mut self, by: String, is_program: bool, begun: Result<ProgramQuery, ConsultError>) {
        match begun {
            Ok(query) => self.running.push(RunningReviewer { by, is_program, query }),
            Err(why) => self.done.push(Opinion::nothing(by, why.to_string())),
        }
    }

    /// Returns the opinion if it arrives within `wait`.
    #[must_use]
    pub fn poll(&mut self, wait: Duration) -> Option<Opinion> {
        let until = Instant::now() + wait;
        let about = self.about.clone();
        while let Some(asked) = self.running.first_mut() {
            let left = until.saturating_duration_since(Instant::now());
            let opinion = match asked.query.poll(left) {
                Ok(None) => return None,
                Ok(Some(replied)) if asked.is_program => of_program(&asked.by, &replied, &about),
                Ok(Some(replied)) => of_helper(&asked.by, &replied),
                Err(why) => Opinion::nothing(&asked.by, why.to_string()),
            };
            self.running.remove(0);
            self.done.push(opinion);
        }
        let mut opinion = jury(std::mem::take(&mut self.done)).tidied();
        if opinion.ms == 0 {
            opinion.ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        Some(opinion)
    }

    /// Waits for the opinion. The reviewer's time limit ends the wait.
    #[must_use]
    pub fn wait(mut self) -> Opinion {
        loop {
            if let Some(opinion) = self.poll(Duration::from_secs(1)) {
                return opinion;
            }
        }
    }

    /// Returns how long the reviewer has been asked.
    #[must_use]
    pub fn asked_for(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// Returns the variables that a program needs, and those that the configuration names.
fn environment(engine: &Engine, voices: &[ReviewerModel]) -> Vec<(OsString, OsString)> {
    let account = &engine.caller.account;
    let mut env: Vec<(OsString, OsString)> =
        vec![("PATH".into(), PLACES.join(":").into()), ("USER".into(), account.name.clone().into())];
    env.extend(account.home.as_ref().map(|home| ("HOME".into(), home.clone().into())));
    // A keyring is reached over the session's bus.
    let named = voices.iter().filter_map(|voice| match &voice.key {
        Some(KeySource::Env(name)) => Some(name.as_str()),
        _ => None,
    });
    for name in named.chain(["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]) {
        let value = engine.caller.env.variables.get(std::ffi::OsStr::new(name));
        env.extend(value.map(|value| (name.into(), value.clone())));
    }
    env
}

/// Asks a program of the account, which reads the request and prints a verdict.
fn program(
    engine: &Engine,
    voice: &ReviewerModel,
    request: &Request,
    limit: Duration,
) -> Result<ProgramQuery, ConsultError> {
    let Some((program, arguments)) = voice.program.split_first() else {
        return Err(ConsultError::NoProgram);
    };
    let input = serde_json::to_string(request)? + "\n";
    let env = environment(engine, std::slice::from_ref(voice));
    ProgramQuery::begin(program.as_ref(), arguments, &env, input.into_bytes(), limit)
        .map_err(|error| ConsultError::Start { program: program.clone(), error })
}

/// Asks the gateway's helper, the only program that connects to models.
fn helper(
    engine: &Engine,
    reviewer: &Reviewer,
    digest: &str,
    request: &Request,
    limit: Duration,
) -> Result<ProgramQuery, ConsultError> {
    let home = engine.caller.account.home.as_deref();
    let directory = Paths::standard(home)?;
    let policy = match &reviewer.policy {
        None => String::new(),
        Some(path) => own_text(path)?,
    };
    let question = ReviewInput {
        v: 1,
        reviewer: &Reviewer { timeout: u32::try_from(limit.as_secs()).unwrap_or(1).max(1), ..reviewer.clone() },
        state: directory.directory().join("reviewer.json"),
        policy,
        examples: examples::accepted(engine)?,
        digest,
        request,
    };
    let input = serde_json::to_vec(&question)?;
    let program = gateway::find()?;
    let env = environment(engine, &reviewer.voices);
    ProgramQuery::begin(&program, &["review".to_owned()], &env, input, limit + MARGIN)
        .map_err(|error| ConsultError::Start { program: program.display().to_string(), error })
}

/// Reads the account's policy text. If it cannot be read, no reviewer is asked, because what it forbids is unknown.
fn own_text(path: &Path) -> Result<String, ConsultError> {
    let told = |error| ConsultError::Policy { path: path.to_owned(), error };
    if std::fs::metadata(path).map_err(told)?.len() > MAX_POLICY {
        return Err(ConsultError::LongPolicy(path.to_owned()));
    }
    std::fs::read_to_string(path).map_err(told)
}

/// Parses the helper's output.
fn of_helper(by: &str, replied: &ProgramReply) -> Opinion {
    match serde_json::from_slice::<ReviewerReply>(&replied.answer) {
        Ok(ReviewerReply { opinion }) if replied.code == Some(0) => opinion,
        _ => Opinion::nothing(by, "the reviewer's program failed"),
    }
}

/// Parses a program's output: an object with a verdict and a reason. Any verdict but an approval or a denial leaves the
/// decision to a person.
fn of_program(by: &str, replied: &ProgramReply, about: &str) -> Opinion {
    let nothing = |why: &str| Opinion::nothing(by, why);
    let Ok(value) = serde_json::from_slice::<Value>(&replied.answer) else {
        return nothing("it printed no JSON");
    };
    let text = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str()).map(str::to_owned);
    let Some(word) = text(&["verdict", "decision", "action"]) else { return nothing("it printed no verdict") };
    let reason = text(&["reason", "message"]).unwrap_or_default();
    if value.get("digest").is_some_and(|digest| digest.as_str() != Some(about)) {
        return nothing("its answer is about another command");
    }
    let says = match word.to_ascii_lowercase().as_str() {
        "approve" | "allow" if replied.code == Some(0) => OpinionVerdict::Approve,
        "approve" | "allow" => return nothing("it approved but failed"),
        "deny" | "block" | "warn" | "ask" | "escalate" => OpinionVerdict::Escalate,
        _ => return nothing("it printed an unknown verdict"),
    };
    let reason = if says == OpinionVerdict::Escalate { format!("{word}: {reason}") } else { reason };
    Opinion { says, reason, about: about.to_owned(), ..nothing("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, code: i32) -> (OpinionVerdict, String) {
        let opinion = of_program("p", &ProgramReply { code: Some(code), answer: text.into() }, "0123abcd");
        (opinion.says, opinion.reason)
    }

    #[test]
    fn a_program_lets_pass_by_one_clear_word_alone() {
        for text in [r#"{"verdict":"approve"}"#, r#"{"decision":"Allow","digest":"0123abcd"}"#] {
            assert_eq!(says(text, 0).0, OpinionVerdict::Approve, "{text}");
            assert_eq!(says(text, 1).0, OpinionVerdict::Nothing, "{text}");
        }
        for word in ["deny", "block", "warn", "ask", "ESCALATE"] {
            let text = format!(r#"{{"action":"{word}","message":"m"}}"#);
            assert_eq!(says(&text, 2), (OpinionVerdict::Escalate, format!("{word}: m")));
        }
        for text in [
            "",
            "approve",
            "{}",
            r#"{"verdict":true}"#,
            r#"{"verdict":"approved"}"#,
            r#"{"verdict":"allow","digest":"x"}"#,
        ] {
            assert_eq!(says(text, 0).0, OpinionVerdict::Nothing, "{text}");
        }
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_named_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.txt");
        let why = own_text(&path).unwrap_err().to_string();
        assert!(why.contains("policy.txt (") && why.contains("remove policy from [reviewer]"), "{why}");
        std::fs::write(&path, "be kind").unwrap();
        assert_eq!(own_text(&path).unwrap(), "be kind");
        std::fs::write(&path, "x".repeat(65 << 10)).unwrap();
        assert!(own_text(&path).unwrap_err().to_string().ends_with("longer than 64 KiB; shorten it"));
    }

    #[test]
    fn a_helper_that_fails_gives_no_opinion() {
        let good = br#"{"v":1,"opinion":{"says":"APPROVE","reason":"r","by":"m","about":"0123abcd"}}"#;
        let of = |code, answer: &[u8]| of_helper("m", &ProgramReply { code, answer: answer.to_vec() }).says;
        assert_eq!(of(Some(0), good), OpinionVerdict::Approve);
        assert_eq!(
            (of(Some(1), good), of(None, good), of(Some(0), b"APPROVE")),
            (OpinionVerdict::Nothing, OpinionVerdict::Nothing, OpinionVerdict::Nothing)
        );
    }
}
