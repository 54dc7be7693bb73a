//! Requests that only the gateway's account may make: list the requests of all accounts, deny them, and pass on
//! approvals. Where an approval needs a signature, the signature is verified against the service's own copy of the
//! request, never against what the gateway sends.
//!
//! The gateway's account may make no other requests. Whoever compromises the gateway cannot run, record or grant
//! anything.

use jiff::Timestamp;

use super::super::server::ALL;
use super::error::AskError;
use super::requests::is_waited_for;
use super::{Connection, ServiceResult};
use crate::app::approver::sign;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::risk::Tier;
use crate::service::gateway::{GatewayAnswer, RequestPage};
use crate::service::line::Lines;
use crate::service::message::{Base64Bytes, ServiceRequest};
use crate::store::queue::{Answer, AnswerOutcome, FullRequest, Pending, PendingMessage};

/// The maximum size of one page of a list, in bytes of JSON.
const PART: usize = 1 << 20;

/// The longest text of a request that the gateway gets, in bytes. A request with a truncated text cannot be approved
/// through the gateway.
const LONGEST: usize = 64 << 10;

/// The longest message and the longest name that may come with an answer, in characters.
pub(super) const MAX_WORDS: usize = 2000;
pub(super) const MAX_NAME: usize = 100;

impl Connection<'_> {
    /// Checks that the client may make this request: the gateway's account may make only those of a gateway, and no
    /// other account may make these.
    pub(super) fn may_ask(&self, ask: &ServiceRequest) -> ServiceResult<()> {
        let is_gateway = self.server.gateway == Some(self.uid());
        let why = match ask {
            ServiceRequest::Gateway(_) if is_gateway => return Ok(()),
            ServiceRequest::Gateway(_) => AskError::NotGateway(self.user().to_owned()),
            _ if is_gateway => AskError::GatewayOnly(self.user().to_owned()),
            _ => return Ok(()),
        };
        if matches!(
            ask,
            ServiceRequest::Gateway(_)
                | ServiceRequest::Answer(_)
                | ServiceRequest::Grant { .. }
                | ServiceRequest::Resume { .. }
        ) {
            let text = why.to_string();
            self.server.spend(self.uid(), text.len())?;
            self.attempt(&text);
        }
        Err(why)
    }

    /// Notifies the client of every event of any request until it disconnects.
    pub(super) fn watch(&self, lines: Lines) {
        self.tell_of(ALL, lines);
    }

    /// Returns the page of requests that follows this one. If any follow, it has at least one request.
    pub(super) fn part(&self, after: Option<&(Timestamp, String)>) -> ServiceResult<RequestPage> {
        let mut all = self.queue()?.list(Timestamp::now())?;
        all.sort_by(|one, other| (one.filed, &one.id).cmp(&(other.filed, &other.id)));
        let (mut requests, mut size) = (Vec::new(), 0);
        let is_behind = |one: &Pending| after.is_none_or(|(filed, id)| (one.filed, &one.id) > (*filed, id));
        for mut one in all.into_iter().filter(is_behind) {
            one.redacted |= cut(&mut one);
            let one = PendingMessage::from(one);
            size += serde_json::to_vec(&one).map_or(PART, |text| text.len());
            if size > PART && !requests.is_empty() {
                return Ok(RequestPage { requests, more: true });
            }
            requests.push(one);
        }
        Ok(RequestPage { requests, more: false })
    }

    /// Returns the message that an approver signs to approve a request as it was shown. Returns `None` if the request
    /// has changed since.
    pub(super) fn approval(&self, shown: &Pending, scope: AnswerScope) -> ServiceResult<Option<Base64Bytes>> {
        let whole = self.queue()?.full_request(&shown.id)?;
        let same = |whole: &FullRequest| {
            whole.pending.filed == shown.filed && whole.pending.is_same(shown) && whole.pending.state.is_open()
        };
        Ok(whole.filter(same).map(|whole| Base64Bytes::of(&message(&whole, scope))))
    }

    /// Records an answer that a person gave through the gateway. A denial is always accepted.
    pub(super) fn give_for_gateway(&self, given: GatewayAnswer) -> ServiceResult<AnswerOutcome> {
        let GatewayAnswer { shown, yes, by, words, signed, scope } = given;
        let is_name = !by.trim().is_empty() && by.chars().count() <= MAX_NAME && !by.chars().any(char::is_control);
        if !is_name || words.as_ref().is_some_and(|words| words.chars().count() > MAX_WORDS) {
            return Err(AskError::TooLong);
        }
        let shown = Pending::from(shown);
        let queue = self.queue()?;
        // Whether it may be answered depends on the queue's copy, not on what was shown.
        let Some(pending) = queue.find(&shown.id)? else { return Ok(AnswerOutcome::Unknown) };
        let mut signer = Vec::new();
        let whole = if yes { queue.full_request(&pending.id)? } else { None };
        if yes {
            if let Some(why) = at_terminal_alone(&pending) {
                return Ok(AnswerOutcome::NotOffered { why });
            }
            let Some(whole) = &whole else { return Ok(AnswerOutcome::Settled(Box::new(pending))) };
            let enrolled = self.server.enrolled();
            let tier = scope.signed_as(pending.tier);
            match &signed {
                Some(signed) => {
                    // This is one of possibly several signatures; only its validity is checked here. A signature
                    // that was not required must be valid too.
                    let message = message(whole, scope);
                    let names =
                        sign::are_enough(&enrolled, (tier.max(Tier::High), 1), &message, std::slice::from_ref(signed));
                    let names = names.inspect_err(|why| self.attempt(&format!("request {}: {why}", pending.id)));
                    signer = names?.first().map_or_else(Vec::new, |name| sign::names(&enrolled, name));
                }
                None if sign::is_wanted(&enrolled, tier, pending.approvals) => return Ok(AnswerOutcome::Unsigned),
                None => {}
            }
            if signer.is_empty() && !scope.is_once() {
                // A grant would still hold after a compromise of the gateway has been found and ended.
                let why = "an unsigned approval through the gateway is valid once only; use guard approve at a \
                           terminal for longer";
                return Ok(AnswerOutcome::NotOffered { why: why.to_owned() });
            }
            let most = self.server.service.gateway_unsigned_tier;
            if signer.is_empty() && pending.tier.number() > most {
                let why = format!(
                    "without a signature the gateway can approve at most tier {most} \
                     (service.gateway_unsigned_tier); answer at a terminal (guard approve)"
                );
                return Ok(AnswerOutcome::NotOffered { why });
            }
        }
        // The name of a signer is known from the key, whatever name the gateway sent.
        let by = signer.first().map_or(by, |name| format!("{name} (signed)"));
        let by = format!("{by} via {}", self.user());
        // A signature whose key is unknown is not recorded.
        let signatures = signed.as_slice().get(..usize::from(!signer.is_empty())).unwrap_or_default();
        let answer = Answer {
            yes: whole.as_ref().map(|whole| (&whole.digest, &whole.bindings)),
            by: &by,
            words: words.as_deref(),
            signatures,
            waited_for: is_waited_for(&pending),
            approvals: pending.approvals,
            signer: &signer,
            scope,
        };
        let outcome = queue.answer(self.store()?, &shown, &answer, Timestamp::now())?;
        self.server.ring(&pending.id);
        Ok(outcome)
    }

    /// Records that somebody without permission tried to answer through the gateway.
    pub(super) fn record_attempt(&self, why: &str) -> ServiceResult<()> {
        let why: String = why.chars().take(MAX_WORDS).collect();
        self.attempt(&why);
        Ok(())
    }
}

/// Returns the message that an approver signs, made from the service's own copy of the request.
fn message(whole: &FullRequest, scope: AnswerScope) -> Vec<u8> {
    whole.approval(&whole.fresh, &whole.digest, &whole.bindings, scope).message()
}

/// Returns the reason why a request can be approved only at a terminal, even with a signature.
fn at_terminal_alone(pending: &Pending) -> Option<String> {
    if pending.tier == Tier::Critical {
        return Some("tier 4 requests can only be answered at a terminal (guard review)".to_owned());
    }
    (pending.redacted || cut(&mut pending.clone())).then(|| {
        "parts of this command are hidden outside a terminal, so it cannot be approved here; answer at a terminal"
            .to_owned()
    })
}

/// Truncates texts longer than [`LONGEST`]. Returns whether any was.
fn cut(pending: &mut Pending) -> bool {
    let Pending { command, cwd, why, session, said, words, .. } = pending;
    let texts = [command, cwd, why, session].into_iter().chain(said.as_mut()).chain(words.as_mut());
    let mut is_cut = false;
    for text in texts.filter(|text| text.len() > LONGEST) {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" … (cut)");
        is_cut = true;
    }
    is_cut
}
