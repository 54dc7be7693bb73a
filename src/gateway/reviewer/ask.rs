//! Asks a model for its opinion, within the time limit and the budget.
//!
//! Out of scope: the protocols of the providers.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use guard_config::config::reviewer::{KeySource, ReviewerModel};
use jiff::Timestamp;
use reqwest::Client;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::answer::AnswerError;
use super::prompt::{Prompt, Salts};
use super::state::{BudgetError, CountError, CountFile, Spending};
use super::wire::{self, EmptyAnswer, ResponseFormat, Usage};
use super::{ReviewInput, answer};
use crate::channel::{SendError, http};
use crate::config::{Secret, SecretError};
use crate::judge::review::{Opinion, OpinionVerdict, jury};
use crate::keyring::{self, KeyringError};
use crate::secrets::NoRandomBytes;
use crate::store::seal_beside;

/// The first pause before a retry. It doubles with each retry, plus a random time of up to its own length.
const PAUSE: Duration = Duration::from_millis(200);

/// The reason why there is no opinion.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Budget(#[from] BudgetError),
    #[error(transparent)]
    Http(#[from] http::HttpError),
    #[error("no answer in time")]
    Late,
    #[error("cannot read its key: {0}")]
    Key(#[from] KeyError),
    /// An error of the HTTP exchange.
    #[error(transparent)]
    Failed(#[from] SendError),
    #[error("the answer is incomplete or invalid")]
    Invalid,
    #[error(transparent)]
    Nothing(#[from] EmptyAnswer),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it rejected the key (status {0})")]
    Rejected(u16),
}

/// The reason why a provider's key cannot be read.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    #[error("the variable {0} is not set")]
    NoVariable(String),
}

/// The action to take when there is no answer.
#[derive(Debug)]
enum AskFault {
    /// The failure may be temporary: retry, after at least this time.
    Passing(AskError, Duration),
    /// The provider does not support this way to enforce the format of the answer.
    Bound(AskError),
    Final(AskError),
}

/// Returns the opinion on a command.
pub async fn ask(question: &ReviewInput) -> Opinion {
    let begun = Instant::now();
    let opinion = opinion(question, begun)
        .await
        .unwrap_or_else(|why| Opinion::nothing(question.reviewer.name(), why.to_string()));
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Opinion { ms, ..opinion }.tidied()
}

async fn opinion(question: &ReviewInput, begun: Instant) -> Result<Opinion, AskError> {
    let reviewer = &question.reviewer;
    let until = begun + Duration::from_secs(reviewer.timeout.into());
    let salts = Salts::new()?;
    let prompt = Prompt::new(&question.request, &question.digest, &question.policy, &question.examples, &salts);
    let state = CountFile::at(&question.state);
    let directory = question.state.parent().unwrap_or(std::path::Path::new("/"));
    let seal = |bytes: &[u8]| seal_beside(directory, "review", bytes).ok();
    let key = key_of(question, &prompt);
    let calls = u64::try_from(reviewer.voices.len()).unwrap_or(u64::MAX);
    // This amount is reserved until the actual cost is known, and stays counted if the process ends before that.
    let most = reviewer.voices.iter().fold(Spending::default(), |sum, voice| {
        let usage = Usage::at_most(voice, &prompt);
        sum.and(Spending { tokens: usage.tokens(), cost: cost(voice, usage) })
    });
    let now = Timestamp::now();
    let begin = |counts: &mut super::state::Counts| {
        let known = if reviewer.cache == 0 { None } else { counts.known(&key, now, seal) };
        known.map_or_else(|| counts.begin(reviewer, calls, most, now).map(|()| None), |known| Ok(Some(known)))
    };
    if let Some(known) = state.change(begin)?? {
        return Ok(known);
    }
    let client = http::client()?;
    let ask = |voice| one(&client, voice, &prompt, reviewer.retries, until);
    let opinion = jury(join_all(reviewer.voices.iter().map(ask)).await);
    let opinion = Opinion { policy: prompt.version.clone(), ..opinion };
    let begun = now;
    let now = Timestamp::now();
    state.change(|counts| {
        counts.end(&opinion, most, begun, now);
        // A verdict is cached for a while; a failure is asked again.
        if opinion.says != OpinionVerdict::Nothing && reviewer.cache > 0 {
            counts.keep(&key, &opinion, reviewer.cache, now, seal);
        }
    })?;
    Ok(opinion)
}

/// Returns a hash of everything that an opinion depends on.
fn key_of(question: &ReviewInput, prompt: &Prompt) -> String {
    let voices: Vec<String> = question.reviewer.voices.iter().map(|voice| format!("{voice:?}")).collect();
    let whole = format!("{}\n{}\n{}\n{}", question.digest, question.request, prompt.version, voices.join("\n"));
    Sha256::digest(whole.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Asks one model for its opinion.
async fn one(client: &Client, voice: &ReviewerModel, prompt: &Prompt, retries: u32, until: Instant) -> Opinion {
    let mut spent = Usage::default();
    let said = told(client, voice, prompt, retries, until, &mut spent).await;
    let opinion = match said.and_then(|text| Ok(answer::read(&text, prompt)?)) {
        Ok((says, reason)) => {
            Opinion { says, reason, about: prompt.digest.clone(), ..Opinion::nothing(&voice.model, "") }
        }
        Err(why) => Opinion::nothing(&voice.model, why.to_string()),
    };
    Opinion { tokens: spent.tokens(), cost: cost(voice, spent), ..opinion }
}

/// Returns the cost in millionths; a price is for a million tokens.
fn cost(voice: &ReviewerModel, spent: Usage) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "no answer has so many tokens")]
    let cost = voice.prices.0 * spent.input as f64 + voice.prices.1 * spent.output as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and prices are positive"
    )]
    {
        cost.ceil() as u64
    }
}

/// Returns the answer of a model, with retries if they may help and there is time. Adds the usage to `spent`.
async fn told(
    client: &Client,
    voice: &ReviewerModel,
    prompt: &Prompt,
    retries: u32,
    until: Instant,
    spent: &mut Usage,
) -> Result<String, AskError> {
    let key = voice.key.as_ref().map(read_key).transpose()?;
    let mut bound = ResponseFormat::Schema;
    let mut tried = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AskError::Late);
        }
        let (why, least) = match once(client, voice, key.as_deref(), prompt, (bound, left), spent).await {
            Ok(said) => return Ok(said),
            Err(AskFault::Final(why)) => return Err(why),
            Err(AskFault::Bound(why)) => match bound.weaker() {
                Some(weaker) => {
                    bound = weaker;
                    continue;
                }
                None => return Err(why),
            },
            Err(AskFault::Passing(why, least)) => (why, least),
        };
        let pause = PAUSE * 2_u32.pow(tried.min(8));
        let chance = getrandom::u32().unwrap_or(0) % u32::try_from(pause.as_millis()).unwrap_or(1).max(1);
        let pause = (pause + Duration::from_millis(chance.into())).max(least);
        if tried >= retries || pause >= until.saturating_duration_since(Instant::now()) {
            return Err(why);
        }
        tried += 1;
        tokio::time::sleep(pause).await;
    }
}

async fn once(
    client: &Client,
    voice: &ReviewerModel,
    key: Option<&str>,
    prompt: &Prompt,
    (bound, left): (ResponseFormat, Duration),
    spent: &mut Usage,
) -> Result<String, AskFault> {
    let call = wire::call(voice, key, prompt, bound);
    let mut request = client.post(&call.url).timeout(left).json(&call.body);
    for (name, value) in &call.headers {
        request = request.header(*name, value);
    }
    let sent = request.send().await;
    let least = sent.as_ref().ok().and_then(|response| {
        let wait = response.headers().get("retry-after")?.to_str().ok()?;
        wait.parse().ok().map(Duration::from_secs)
    });
    let least = least.unwrap_or_default();
    let passing = |why: AskError| AskFault::Passing(why, least);
    let is_taken = sent.as_ref().map_or_else(|error| error.is_timeout(), |answer| answer.status().is_success());
    let answered = http::answer(sent).await;
    if is_taken {
        let told = answered.as_ref().ok().and_then(|(_, body)| wire::usage(voice.provider, body));
        *spent = spent.and(told.unwrap_or_else(|| Usage::at_most(voice, prompt)));
    }
    let (status, body) = answered.map_err(|failed| passing(failed.into()))?;
    match status {
        200 if body.is_null() => Err(passing(AskError::Invalid)),
        200 => wire::reply_text(voice.provider, &body).map_err(|why| AskFault::Final(why.into())),
        // The request may be accepted with a less strict format; the answer is parsed equally strictly.
        400 | 404 | 422 if speaks_of_form(&body) => Err(AskFault::Bound(AskError::Status(status))),
        401 | 403 => Err(AskFault::Final(AskError::Rejected(status))),
        408 | 425 | 429 | 500..=599 => Err(passing(AskError::Status(status))),
        _ => Err(AskFault::Final(AskError::Status(status))),
    }
}

/// Reports whether an error is about the requested format of the answer.
fn speaks_of_form(body: &Value) -> bool {
    let text = body.to_string().to_ascii_lowercase();
    ["response_format", "json_schema", "output_config", "text.format", "grammar", "schema", "format"]
        .iter()
        .any(|word| text.contains(word))
}

fn read_key(from: &KeySource) -> Result<String, KeyError> {
    Ok(match from {
        KeySource::File(path) => Secret::File(path.clone()).read()?,
        KeySource::Command(words) => Secret::Command(words.clone()).read()?,
        KeySource::Keyring(name) => keyring::read(name)?,
        KeySource::Env(name) => match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => key.trim().to_owned(),
            _ => return Err(KeyError::NoVariable(name.clone())),
        },
    })
}
