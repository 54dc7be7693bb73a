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
use crate::channel::{Did, Press, Tap};
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
    /// The request that it asks about, by its name towards clients, and the channel.
    Request(String, String),
}

impl Find {
    fn in_base(&self, backend: &mut dyn Backend) -> Result<Option<Offer>, String> {
        match self {
            Self::Button(nonce) => backend.base().offer_of(nonce),
            Self::Message(channel, message) => backend.base().offer_at(channel, message),
            Self::Request(action, channel) => {
                let all = backend.base().offers(Some(action))?;
                Ok(all.into_iter().find(|offer| offer.channel == *channel))
            }
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
    let (shown, offer, yes, words) = match &tap.did {
        Did::Said => return "usage: /approve ID, or /deny ID REASON".to_owned(),
        Did::Typed { request, yes, words } => {
            let shown = app.hub.find_request(request);
            let offer = match &shown {
                Some(shown) => offer_of(Find::Request(shown.action.clone(), tap.channel.clone())).await,
                None => Ok(None),
            };
            match offer {
                Ok(offer) => (shown, offer, *yes, words.clone()),
                Err(why) => return why,
            }
        }
        Did::Reacted { yes, .. } => (marked.as_ref().and_then(|offer| app.hub.find(&offer.action)), marked, *yes, None),
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
            (app.hub.find(&offer.action), Some(offer), *press == Press::Approve, words)
        }
    };
    let Some(shown) = shown else { return "the request no longer exists".to_owned() };
    // A yes is to what a message of this channel shows: where it has no button for one, no other way to say it is one.
    if yes && card(app, &shown).bar.is_none() {
        match offer {
            None => return "no message here shows this request; see guard review".to_owned(),
            Some(offer) if !offer.offers_yes => {
                return "this message does not show the whole command; see guard review".to_owned();
            }
            Some(_) => {}
        }
    }
    let who = Answerer { by: format!("{approver} ({})", tap.channel), token: None, max_tier: 3 };
    match give(app, &shown, &who, GivenAnswer { yes, words, ..GivenAnswer::default() }).await {
        Ok(axum::Json(value)) => value["told"].as_str().unwrap_or("done").to_owned(),
        Err(problem) => problem.detail,
    }
}
