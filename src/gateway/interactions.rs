//! Handles what people do on messengers: finds the request of each button press, reaction or command, submits the
//! answer, and returns the outcome to the sender.
//!
//! Out of scope: the protocols of messengers, and the validity of answers.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::{Answerer, settled};
use crate::api::App;
use crate::api::answers::{GivenAnswer, give};
use crate::api::lists::usual;
use crate::backend::{Backend, BackendError, Offer};
use crate::channel::{ButtonKind, Interaction, UserAction};
use crate::request_feed::is_waiting;
use crate::routing::card;
use crate::secrets::hash;

/// Handles interactions, one after the other.
pub async fn handle_interactions(app: Arc<App>, mut interactions: mpsc::Receiver<Interaction>) {
    while let Some(interaction) = interactions.recv().await {
        let told = answered(&app, &interaction).await;
        // The sender may no longer be waiting for the reply.
        let _ = interaction.reply.send(told);
    }
}

/// The key by which a message is found if none of its buttons was pressed.
enum OfferLookup {
    /// The channel, and the messenger's ID of the message.
    Message(String, String),
    /// The public ID of the request, and the channel.
    Request(String, String),
}

impl OfferLookup {
    fn in_base(&self, backend: &mut dyn Backend) -> Result<Option<Offer>, BackendError> {
        match self {
            Self::Message(channel, message) => backend.memory().offer_at(channel, message),
            Self::Request(action, channel) => {
                let all = backend.memory().offers(Some(action))?;
                Ok(all.into_iter().find(|offer| offer.channel == *channel))
            }
        }
    }
}

/// Processes an interaction and returns the reply to its sender: empty if the interaction does not concern guard.
async fn answered(app: &Arc<App>, interaction: &Interaction) -> String {
    let offer_of = async |find: OfferLookup| match app.backend.run(move |backend| find.in_base(backend)).await {
        Ok(Ok(offer)) => Ok(offer.filter(|offer| offer.channel == interaction.channel)),
        Ok(Err(why)) | Err(why) => Err(cannot(&why)),
    };
    // Most reactions are to messages of others.
    let marked = match &interaction.action {
        UserAction::Reacted { message, .. } => {
            match offer_of(OfferLookup::Message(interaction.channel.clone(), message.clone())).await {
                Ok(Some(offer)) => Some(offer),
                Ok(None) => return String::new(),
                Err(why) => return why,
            }
        }
        _ => None,
    };
    if let UserAction::Pressed { nonce, .. } = &interaction.action
        && let Some(told) = app.test_cards.press(nonce, interaction)
    {
        return told;
    }
    let Some(approver) = &interaction.approver else {
        refuse(
            app,
            "channel.stranger",
            format!("a stranger on {} ({})", interaction.channel, interaction.from),
            interaction,
        )
        .await;
        return "you are not an approver of this guard".to_owned();
    };
    let mut pressed = None;
    let (shown, offer, yes, words) = match &interaction.action {
        UserAction::Incomplete => return "usage: /approve ID, or /deny ID REASON".to_owned(),
        UserAction::Typed { request, yes, words } => {
            let shown = app.feed.find_request(request);
            let offer = match &shown {
                Some(shown) => offer_of(OfferLookup::Request(shown.action.clone(), interaction.channel.clone())).await,
                None => Ok(None),
            };
            match offer {
                Ok(offer) => (shown, offer, *yes, words.clone()),
                Err(why) => return why,
            }
        }
        UserAction::Reacted { yes, .. } => {
            (marked.as_ref().and_then(|offer| app.feed.find(&offer.action)), marked, *yes, None)
        }
        UserAction::Pressed { nonce, press } => {
            let wanted = hash(nonce);
            let button = match app.backend.run(move |backend| backend.memory().button(&wanted)).await {
                Ok(Ok(found)) => found.filter(|button| button.offer.channel == interaction.channel),
                Ok(Err(why)) | Err(why) => return cannot(&why),
            };
            let Some(button) = button else { return "this is not a button of guard".to_owned() };
            if button.approver != *approver {
                let why = format!("{approver} on {} pressed a button of {}", interaction.channel, button.approver);
                refuse(app, "channel.others-button", why, interaction).await;
                return format!("this button is for {}; use your own", button.approver);
            }
            let shown = app.feed.find(&button.offer.action);
            if button.used {
                return match shown {
                    Some(one) if is_waiting(&one) => "this button was already used".to_owned(),
                    Some(one) => settled(&one.pending),
                    None => "the request no longer exists".to_owned(),
                };
            }
            pressed = Some(button.nonce);
            let words = match press {
                ButtonKind::Approve | ButtonKind::Deny => None,
                ButtonKind::Reply(at) => usual(app).get(usize::from(*at)).cloned(),
            };
            (shown, Some(button.offer), *press == ButtonKind::Approve, words)
        }
    };
    let Some(shown) = shown else { return "the request no longer exists".to_owned() };
    // An approval applies only to what a message on this channel shows: if the message has no button to approve, a
    // command or a reaction cannot approve either.
    if yes && card(app, &shown).bar.is_none() {
        match offer {
            None => return "no message here shows this request; see guard review".to_owned(),
            Some(offer) if !offer.offers_yes => {
                return "this message does not show the whole command; see guard review".to_owned();
            }
            Some(_) => {}
        }
    }
    let who = Answerer { by: format!("{approver} ({})", interaction.channel), token: None, max_tier: 3 };
    match give(app, &shown, &who, GivenAnswer { yes, words, ..GivenAnswer::default() }).await {
        Ok(axum::Json(value)) => {
            // The button is marked as used only after the answer: if the gateway stopped in between, it could still be
            // pressed.
            if let Some(nonce) = pressed {
                let _ = app.backend.run(move |backend| backend.memory().use_button(&nonce)).await;
            }
            value["told"].as_str().unwrap_or("done").to_owned()
        }
        Err(problem) => problem.detail,
    }
}

/// Describes why an answer cannot be processed.
fn cannot(why: &BackendError) -> String {
    format!("guard cannot process the answer now: {why}")
}

/// Records and publishes an interaction that is not permitted.
async fn refuse(app: &App, kind: &'static str, why: String, interaction: &Interaction) {
    tracing::warn!("refused: {why}");
    app.feed.publish(kind, "", json!({ "channel": interaction.channel, "from": interaction.from }), Timestamp::now());
    let _ = app.backend.run(move |backend| backend.attempt(&why, Timestamp::now())).await;
}
