//! What people do on messengers: a tap is matched with its request and given as an answer, and whoever tapped is told what
//! became of it.
//!
//! What may not enter: how a messenger speaks, and whether an answer counts.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::Answerer;
use crate::api::App;
use crate::api::answers::{GivenAnswer, give};
use crate::api::lists::usual;
use crate::backend::{Backend, Offer};
use crate::channel::{Did, Press, Tap, discord};
use crate::routing::card;
use crate::secrets::hash;

/// Hears taps, one after the other.
pub async fn hear(app: Arc<App>, mut taps: mpsc::Receiver<Tap>) {
    while let Some(tap) = taps.recv().await {
        let told = answered(&app, &tap).await;
        // Whoever pressed may not be waiting for the word any more.
        let _ = tap.reply.send(told);
    }
}

/// What a message is found by.
enum Find {
    /// What one of its buttons carries, hashed.
    Button([u8; 32]),
    /// The channel, and the channel's own name for it.
    Message(String, String),
}

impl Find {
    fn in_base(&self, backend: &mut dyn Backend) -> Result<Option<Offer>, String> {
        match self {
            Self::Button(nonce) => backend.base().offer_of(nonce),
            Self::Message(channel, message) => backend.base().offer_at(channel, message),
        }
    }
}

/// What becomes of a tap, in words for whoever made it; none where it has nothing to do with guard.
async fn answered(app: &Arc<App>, tap: &Tap) -> String {
    let offer_of = async |find: Find| match app.room.at(move |backend| find.in_base(backend)).await {
        Ok(Ok(offer)) => Ok(offer.filter(|offer| offer.channel == tap.channel)),
        Ok(Err(why)) | Err(why) => Err(format!("guard cannot process the answer now: {why}")),
    };
    // Most marks are set on what others wrote.
    let marked = match &tap.did {
        Did::Reacted { message, .. } => match offer_of(Find::Message(tap.channel.clone(), message.clone())).await {
            Ok(Some(offer)) => Some(offer),
            Ok(None) => return String::new(),
            Err(why) => return why,
        },
        _ => None,
    };
    let Some(approver) = &tap.approver else {
        let why = format!("a stranger on {} ({})", tap.channel, tap.from);
        eprintln!("guard-gateway: refused: {why}");
        app.hub.tell("channel.stranger", "", json!({ "channel": tap.channel, "from": tap.from }), Timestamp::now());
        let said = why.clone();
        let _ = app.room.at(move |backend| backend.attempt(&said, Timestamp::now())).await;
        return "you are not an approver of this guard".to_owned();
    };
    let (shown, yes, words) = match &tap.did {
        Did::Said => return "usage: /approve ID, or /deny ID REASON".to_owned(),
        Did::Typed { request, yes, words } => (app.hub.find_request(request), *yes, words.clone()),
        Did::Reacted { yes, .. } => (marked.and_then(|offer| app.hub.find(&offer.action)), *yes, None),
        Did::Pressed { nonce, press } => {
            let offer = match offer_of(Find::Button(hash(nonce))).await {
                Ok(Some(offer)) => offer,
                Ok(None) => return "this is not a button of guard".to_owned(),
                Err(why) => return why,
            };
            let words = match press {
                Press::Approve | Press::Deny => None,
                Press::Reply(at) => usual(app).get(usize::from(*at)).cloned(),
            };
            (app.hub.find(&offer.action), *press == Press::Approve, words)
        }
    };
    let Some(shown) = shown else { return "the request no longer exists".to_owned() };
    // A mark says yes to what the message shows, as a button does: where there is no button, a mark is none either.
    if matches!(tap.did, Did::Reacted { yes: true, .. }) {
        let card = card(app, &shown);
        if card.bar.is_none() && !card.offers_yes(discord::MOST) {
            return "this message does not show the whole command; see guard review".to_owned();
        }
    }
    let who = Answerer { by: format!("{approver} ({})", tap.channel), token: None, max_tier: 3 };
    match give(app, &shown, &who, GivenAnswer { yes, words, ..GivenAnswer::default() }).await {
        Ok(axum::Json(value)) => value["told"].as_str().unwrap_or("done").to_owned(),
        Err(problem) => problem.detail,
    }
}
