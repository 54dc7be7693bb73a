//! Every message says in the end how its request ended.
//!
//! What may not enter: how a messenger speaks, and who is asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::answer::settled;
use crate::api::App;
use crate::channel::{Card, Failed};
use crate::routing::card;
use crate::store::queue::State;
use crate::wires::Wires;

/// The least time before a messenger that wanted to be left alone is spoken to again.
const AGAIN: Duration = Duration::from_secs(1);

/// Closes what ended whenever it is told that something did, for ever. It does so one message after the other, and beside what
/// sends cards out: a messenger that is slow to close one keeps none from going out.
pub async fn close(app: Arc<App>, wires: Arc<Wires>, ended: Arc<Notify>) {
    let mut later = None;
    loop {
        match later {
            None => ended.notified().await,
            // What a messenger did not want to hear yet is said when it does.
            Some(wait) => {
                let _ = tokio::time::timeout(wait, ended.notified()).await;
            }
        }
        later = close_ended(&app, &wires).await;
    }
}

/// Closes each message whose request ended; how long the first messenger wants to be left alone that wants it.
async fn close_ended(app: &App, wires: &Wires) -> Option<Duration> {
    let Ok(Ok(open)) = app.room.at(|backend| backend.base().offers(None)).await else { return None };
    let mut later: Option<Duration> = None;
    for offer in open {
        let Some(message) = &offer.message else { continue };
        let shown = app.hub.find(&offer.action);
        if shown.as_ref().is_some_and(|shown| shown.pending.state == State::Waiting) {
            continue;
        }
        let ended = shown.as_ref().map_or_else(|| "it was asked anew".to_owned(), |shown| settled(&shown.pending));
        if let Some(wire) = wires.get(&offer.channel) {
            let card = shown.map_or_else(Card::default, |shown| card(app, &shown));
            if let Err(failed) = wire.close(message, &card, &ended).await {
                eprintln!("guard-gateway: channel {}: {failed}", offer.channel);
                if let Failed::Later(wait) = failed {
                    let wait = wait.max(AGAIN);
                    later = Some(later.map_or(wait, |before| before.min(wait)));
                    continue;
                }
            }
        }
        let (action, channel) = (offer.action.clone(), offer.channel.clone());
        let _ = app.room.at(move |backend| backend.base().close(&action, &channel)).await;
    }
    later
}
