//! Answers that come in: looked at, given to the queue, and told back.
//!
//! Out of scope: which answers count ([`crate::answer`]).

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::access::Caller;
use super::lists::find_action;
use super::problem::Problem;
use super::submit::read;
use super::{App, locked, passkeys};
use crate::answer::{self, Answerer, ApprovalBar};
use crate::backend::{AnswerInput, Scope};
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::Signed;
use crate::judge::approver::passkey::Assertion;
use crate::judge::risk::Tier;
use crate::request_feed::{self, TrackedRequest};
use crate::store::queue::AnswerOutcome;

/// The longest words that go with an answer, in characters.
const WORDS: usize = 500;

/// The words for how far a yes reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScopeWord {
    #[default]
    Once,
    Session,
    Until,
    Always,
}

/// How far a yes reaches.
#[derive(Debug, Default, Deserialize, ToSchema, IntoParams)]
pub struct ScopeQuery {
    /// once (the default), or a grant of exactly this command in its directory, where `offers` of the request has it: until
    /// the session ends (session), until a time (until), until it is revoked (always)
    scope: Option<ScopeWord>,
    /// When a grant `until` ends, at most 14 days ahead
    #[schema(value_type = Option<String>, format = DateTime)]
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

impl ScopeQuery {
    /// What is meant.
    ///
    /// # Errors
    /// A time is missing, or belongs to nothing.
    pub(super) fn read(&self) -> Result<AnswerScope, Problem> {
        Ok(match (self.scope.unwrap_or_default(), self.until) {
            (ScopeWord::Until, Some(at)) => AnswerScope::Until(at.as_second()),
            (ScopeWord::Until, None) => {
                return Err(Problem::new("bad-request", "the scope until needs the field until"));
            }
            (_, Some(_)) => {
                return Err(Problem::new("bad-request", "the field until is only valid with the scope until"));
            }
            (ScopeWord::Once, None) => AnswerScope::Once,
            (ScopeWord::Session, None) => AnswerScope::Session,
            (ScopeWord::Always, None) => AnswerScope::Always,
        })
    }
}

/// That a yes to this may reach so far.
///
/// # Errors
/// It may not, and why.
pub(super) fn offered(shown: &TrackedRequest, reach: AnswerScope) -> Result<(), Problem> {
    let (pending, now) = (&shown.pending, Timestamp::now().as_second());
    let checked = reach.check(pending.offers_grant(true), &pending.session, now);
    checked.map_err(|why| Problem::new("not-offered", why.to_string()))
}

/// What goes with an answer.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// For a yes: once (the default), or a grant of exactly this command in its directory, where `offers` of the request
    /// has it: until the session ends (session), until a time (until), until it is revoked (always)
    pub scope: Option<ScopeWord>,
    /// When a grant `until` ends, at most 14 days ahead
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// What whoever asked is told
    pub words: Option<String>,
    /// What the browser gave for the challenge, where an approver signs with a passkey
    #[schema(value_type = Option<Object>)]
    pub assertion: Option<Assertion>,
}

/// Lets it run, once; or asks the guard that waits for a grant as well.
#[utoipa::path(post, path = "/v1/requests/{id}/approve", params(("id" = String, Path)), request_body = Option<AnswerBody>,
    responses((status = 200, description = "the outcome"), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem),
    (status = 410, body = Problem), (status = 422, body = Problem), (status = 429, body = Problem)))]
pub async fn approve(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    body: Option<Json<AnswerBody>>,
) -> Result<Json<Value>, Problem> {
    by_api(&app, &caller, &id, true, body).await
}

/// Refuses it.
#[utoipa::path(post, path = "/v1/requests/{id}/deny", params(("id" = String, Path)), request_body = Option<AnswerBody>,
    responses((status = 200, description = "the outcome"), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem),
    (status = 429, body = Problem)))]
pub async fn deny(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    body: Option<Json<AnswerBody>>,
) -> Result<Json<Value>, Problem> {
    by_api(&app, &caller, &id, false, body).await
}

async fn by_api(
    app: &Arc<App>,
    caller: &Caller,
    id: &str,
    yes: bool,
    body: Option<Json<AnswerBody>>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Decide)?;
    counted(app, caller, yes)?;
    decide(app, caller, id, yes, body.map(|Json(said)| said).unwrap_or_default()).await
}

/// Counts a yes. A no is taken however many came before it.
///
/// # Errors
/// There were too many.
pub(super) fn counted(app: &App, caller: &Caller, yes: bool) -> Result<(), Problem> {
    if !yes {
        return Ok(());
    }
    locked(&app.limits).decide.take(caller.name.clone(), Instant::now()).map_err(Problem::too_many)
}

/// One answer, as it was said.
async fn decide(
    app: &Arc<App>,
    caller: &Caller,
    id: &str,
    yes: bool,
    said: AnswerBody,
) -> Result<Json<Value>, Problem> {
    let AnswerBody { scope, until, words, assertion } = said;
    let words = words.filter(|words| !words.trim().is_empty());
    if words.as_deref().is_some_and(|words| words.chars().count() > WORDS) {
        return Err(Problem::new("bad-request", format!("words: at most {WORDS} characters")).about(id));
    }
    let reach = ScopeQuery { scope, until }.read().map_err(|why| why.about(id))?;
    if !yes && (scope.is_some() || until.is_some()) {
        return Err(Problem::new("bad-request", "scope and until are only valid for an approval").about(id));
    }
    let shown = find_action(app, caller, id).await?.shown;
    let shown = shown.ok_or_else(|| Problem::new("settled", "it was decided without a person").about(id))?;
    let who = caller.answerer();
    let signed = match assertion.filter(|_| yes) {
        Some(assertion) => {
            offered(&shown, reach).map_err(|why| why.about(id))?;
            let signed = passkeys::signed(app, &shown, &who, (&assertion, reach)).await;
            Some(signed.map_err(|why| why.about(id))?)
        }
        None => None,
    };
    give(app, &shown, &who, GivenAnswer { yes, reach, words, signed }).await.map_err(|problem| problem.about(id))
}

/// The most answers that are given at once.
const BATCH: usize = 100;

/// Answers to several requests.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchBody {
    pub answers: Vec<BatchAnswer>,
}

/// The answer to one of them: a yes is for once, and for tier 2 at most; what is of more is looked at by itself.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchAnswer {
    pub action_id: String,
    pub decision: Verb,
    /// What whoever asked is told
    pub words: Option<String>,
}

/// The words for yes and no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Approve,
    Deny,
}

/// Answers several, in order; each has its own status.
#[utoipa::path(post, path = "/v1/requests/decide", request_body = BatchBody, responses(
    (status = 207, description = "`results` in order, each with `action_id`, `status_code` and the fields of a \
                                  single answer"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
    (status = 429, body = Problem)))]
pub async fn several(State(app): State<Arc<App>>, caller: Caller, body: Bytes) -> Result<Response, Problem> {
    caller.may(Scope::Decide)?;
    let BatchBody { answers } = read(&body)?;
    if answers.len() > BATCH {
        return Err(Problem::new("bad-request", format!("at most {BATCH} answers at once")));
    }
    // They count as one yes: whoever gives them saw them together.
    counted(&app, &caller, answers.iter().any(|one| one.decision == Verb::Approve))?;
    let mut results = Vec::new();
    for BatchAnswer { action_id, decision, words } in answers {
        let yes = decision == Verb::Approve;
        let most = Caller { max_tier: caller.max_tier.min(Tier::Medium.number()), ..caller.clone() };
        let said = AnswerBody { words, ..AnswerBody::default() };
        results.push(match decide(&app, if yes { &most } else { &caller }, &action_id, yes, said).await {
            Ok(Json(mut value)) => {
                value["action_id"] = json!(action_id);
                value["status_code"] = json!(StatusCode::OK.as_u16());
                value
            }
            Err(problem) => {
                let mut value = serde_json::to_value(problem.about(&action_id)).unwrap_or_default();
                value["status_code"] = value["status"].clone();
                value
            }
        });
    }
    Ok((StatusCode::MULTI_STATUS, Json(json!({ "results": results }))).into_response())
}

/// An answer, wherever it comes from.
#[derive(Clone, Debug, Default)]
pub struct GivenAnswer {
    pub yes: bool,
    /// How far a yes reaches.
    pub reach: AnswerScope,
    pub words: Option<String>,
    /// By an approver's passkey.
    pub signed: Option<Signed>,
}

/// Gives an answer, and says what became of it.
///
/// # Errors
/// It does not count, and why.
pub async fn give(
    app: &Arc<App>,
    shown: &TrackedRequest,
    who: &Answerer,
    answer: GivenAnswer,
) -> Result<Json<Value>, Problem> {
    let GivenAnswer { yes, reach, words, signed } = answer;
    if yes && request_feed::is_waiting(shown) {
        offered(shown, reach)?;
    }
    if yes && signed.is_some() {
        answer::may_sign(&shown.pending, who).map_err(barred)?;
    } else if yes {
        let enrolled = app.account.approvers().is_any();
        answer::may_say_yes(&shown.pending, who, enrolled, app.config().unsigned_tier, reach).map_err(barred)?;
    } else if who.token.as_deref().is_some_and(|token| answer::is_of(&shown.pending, token)) {
        return Err(Problem::new("own-request", "the requester cannot deny its request; cancel it with DELETE"));
    }
    let (pending, now) = (shown.pending.clone(), Timestamp::now());
    let is_compared = yes && signed.is_some() && pending.codes_left > 0;
    let by = signed.as_ref().map_or_else(|| who.by.clone(), |signed| format!("{} (passkey)", signed.approver));
    let given = AnswerInput { yes, by: by.clone(), words, signed, reach };
    let outcome = app.backend.run(move |backend| backend.answer(&pending, &given, now)).await??;
    // Everybody hears of it at once. What changed nothing is no news.
    if matches!(outcome, AnswerOutcome::Done { .. } | AnswerOutcome::Partly { .. }) {
        let _ = app.refresh().await;
    }
    let mut text = answer::outcome_text(&outcome, yes, reach);
    if is_compared && matches!(outcome, AnswerOutcome::Done { .. }) {
        text.push_str(" if the code is right, which guard now compares");
    }
    match &outcome {
        AnswerOutcome::Done { .. } => {
            Ok(Json(json!({ "outcome": "done", "told": text, "by": by, "scope": reach.to_string() })))
        }
        AnswerOutcome::Partly { by } => Ok(Json(json!({ "outcome": "partly", "told": text, "by": by }))),
        // The same answer again, by whoever gave it: a tap that was repeated because its answer was lost.
        AnswerOutcome::Settled(now) if is_by(now.decided_by.as_deref(), &by) && was(now.state) == Some(yes) => {
            Ok(Json(json!({ "outcome": "done", "told": text, "by": by })))
        }
        AnswerOutcome::Copied { by } => {
            let why = format!("the passkey of {by} may have been copied (its counter went back)");
            app.backend.run(move |backend| backend.attempt(&why, Timestamp::now())).await??;
            Err(Problem::new("bad-assertion", text))
        }
        AnswerOutcome::Settled(_) | AnswerOutcome::SignedAlready { .. } | AnswerOutcome::AskedAnew => {
            Err(Problem::new("settled", text))
        }
        AnswerOutcome::Unsigned => Err(Problem::new("signature-required", text)),
        AnswerOutcome::Wordless => Err(Problem::new("not-from-afar", text)),
        AnswerOutcome::NotOffered { .. } => Err(Problem::new("not-offered", text)),
        AnswerOutcome::TooLate => Err(Problem::new("too-late", text)),
        AnswerOutcome::Unknown => Err(Problem::new("not-found", text)),
    }
}

/// Whether the name under a decision is this one: as it was given, or as a service has it, with what it came through.
fn is_by(decided: Option<&str>, by: &str) -> bool {
    let rest = decided.and_then(|decided| decided.strip_prefix(by));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" via "))
}

/// Why a yes is not taken, as a problem.
pub(super) fn barred(bar: ApprovalBar) -> Problem {
    let kind = match bar {
        ApprovalBar::Terminal | ApprovalBar::Hidden | ApprovalBar::Tier { .. } => "not-from-afar",
        ApprovalBar::Signature => "signature-required",
        ApprovalBar::Own => "own-request",
    };
    Problem::new(kind, bar.to_string())
}

/// Which answer a state tells of.
const fn was(state: crate::store::queue::RequestState) -> Option<bool> {
    use crate::store::queue::RequestState;
    match state {
        RequestState::Approved | RequestState::Used => Some(true),
        RequestState::Denied => Some(false),
        RequestState::Waiting | RequestState::Late | RequestState::Void | RequestState::Lapsed => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: &str =
        r#"{"answers":[{"action_id":"m2k4x7","decision":"deny"},{"action_id":"x","decision":"approve"}]}"#;

    proptest! {
        /// What is cut off is none, and what has another byte says yes to whom it names, in the word for it.
        #[test]
        fn answers_that_are_cut_off_or_changed_by_a_byte_are_no_yes_to_another(at in 0_usize..100, byte in any::<char>()) {
            let cut: String = WHOLE.chars().take(at).collect();
            prop_assert!(at >= WHOLE.len() || read::<BatchBody>(cut.as_bytes()).is_err());
            let mut text: Vec<char> = WHOLE.chars().collect();
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            let text: String = text.into_iter().collect();
            if let Ok(BatchBody { answers }) = read::<BatchBody>(text.as_bytes()) {
                let value: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(value["answers"].as_array().map(Vec::len), Some(answers.len()));
                for (at, one) in answers.iter().enumerate() {
                    let told = &value["answers"][at];
                    prop_assert_eq!(told["action_id"].as_str(), Some(one.action_id.as_str()));
                    prop_assert_eq!(one.decision == Verb::Approve, told["decision"] == "approve");
                }
            }
        }

        #[test]
        fn any_body_is_read_without_a_panic(text in "\\PC{0,60}") {
            let _ = (read::<BatchBody>(text.as_bytes()), read::<AnswerBody>(text.as_bytes()));
        }
    }
}
