//! Handles answers to requests: checks them, passes them to the queue, and reports the outcome.
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

/// The maximum length of the message of an answer, in characters.
const WORDS: usize = 500;

/// The scopes of an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScopeWord {
    #[default]
    Once,
    Session,
    Until,
    Always,
}

/// The scope of an approval.
#[derive(Debug, Default, Deserialize, ToSchema, IntoParams)]
pub struct ScopeQuery {
    /// once (the default), or a grant for exactly this command in its directory, if `offers` of the request lists it:
    /// until the session ends (session), until a time (until), or until it is revoked (always)
    scope: Option<ScopeWord>,
    /// The end of a grant `until`, at most 14 days ahead
    #[schema(value_type = Option<String>, format = DateTime)]
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

impl ScopeQuery {
    /// Converts the fields to a scope.
    ///
    /// # Errors
    /// `until` is missing, or is given with another scope.
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

/// Checks that a request can be approved with a scope.
///
/// # Errors
/// The reason why it cannot.
pub(super) fn offered(shown: &TrackedRequest, reach: AnswerScope) -> Result<(), Problem> {
    let (pending, now) = (&shown.pending, Timestamp::now().as_second());
    let checked = reach.check(pending.offers_grant(true), &pending.session, now);
    checked.map_err(|why| Problem::new("not-offered", why.to_string()))
}

/// The details of an answer.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// For an approval: once (the default), or a grant for exactly this command in its directory, if `offers` of the
    /// request lists it: until the session ends (session), until a time (until), or until it is revoked (always)
    pub scope: Option<ScopeWord>,
    /// The end of a grant `until`, at most 14 days ahead
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// A message for the requester
    pub words: Option<String>,
    /// The browser's response to the challenge, if an approver signs with a passkey
    #[schema(value_type = Option<Object>)]
    pub assertion: Option<Assertion>,
}

/// Approves a request: once, or with a grant that the waiting guard adds.
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

/// Denies a request.
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

/// Counts an approval against the caller's rate limit. Denials are not limited.
///
/// # Errors
/// The caller has sent too many approvals.
pub(super) fn counted(app: &App, caller: &Caller, yes: bool) -> Result<(), Problem> {
    if !yes {
        return Ok(());
    }
    locked(&app.limits).decide.take(caller.name.clone(), Instant::now()).map_err(Problem::too_many)
}

/// Processes one answer.
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

/// The maximum number of answers in one batch.
const BATCH: usize = 100;

/// Answers to several requests.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchBody {
    pub answers: Vec<BatchAnswer>,
}

/// One answer of a batch. An approval is for once and for tier 2 at most; requests of a higher tier must be approved
/// individually.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchAnswer {
    pub action_id: String,
    pub decision: Verb,
    /// A message for the requester
    pub words: Option<String>,
}

/// An approval or a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Approve,
    Deny,
}

/// Answers several requests in order; each answer has its own status.
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
    // A batch counts as one approval, because the person saw its requests together.
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

/// An answer from any source: the API, the page or a channel.
#[derive(Clone, Debug, Default)]
pub struct GivenAnswer {
    pub yes: bool,
    /// The scope of an approval.
    pub reach: AnswerScope,
    pub words: Option<String>,
    /// The signature of an approver's passkey.
    pub signed: Option<Signed>,
}

/// Passes an answer to the queue and returns the outcome.
///
/// # Errors
/// The reason why the answer does not count.
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
    // All clients are notified at once. An answer that changed nothing is not reported.
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
        // The same caller repeated the same answer, for example because the first response was lost.
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

/// Reports whether a decision was made by `by`. The record service appends ` via ` and an account to the name.
fn is_by(decided: Option<&str>, by: &str) -> bool {
    let rest = decided.and_then(|decided| decided.strip_prefix(by));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" via "))
}

/// Converts the reason why an approval is not accepted into a problem.
pub(super) fn barred(bar: ApprovalBar) -> Problem {
    let kind = match bar {
        ApprovalBar::Terminal | ApprovalBar::Hidden | ApprovalBar::Tier { .. } => "not-from-afar",
        ApprovalBar::Signature => "signature-required",
        ApprovalBar::Own => "own-request",
    };
    Problem::new(kind, bar.to_string())
}

/// Returns the answer that led to a state: true for an approval, false for a denial.
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
        /// Checks that a truncated batch is rejected, and that a batch with a changed byte approves only the requests
        /// that it names and only with the word for an approval.
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
