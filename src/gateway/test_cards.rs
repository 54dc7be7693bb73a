//! Test cards, whose buttons a person is asked to press. They use the connections of this gateway, because a messenger
//! may deliver each press to only one of several connections.
//!
//! Out of scope: answers to requests.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::mpsc;

use crate::api::locked;
use crate::channel::Interaction;
use crate::channel::buttons::ApproverNonce;

/// The number of presses of one card that can be queued.
const PRESSES: usize = 8;

/// A button of a test card: its approver, and the channel to which its presses are reported.
struct TestButton {
    approver: String,
    pressed: mpsc::Sender<TestPress>,
}

/// A press of a button of a test card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestPress {
    /// The messenger's ID of the person.
    pub from: String,
    /// The approver, if the button is their own.
    pub approver: Option<String>,
}

/// The open test cards: their buttons by nonce.
#[derive(Default)]
pub struct TestCards(Mutex<HashMap<String, TestButton>>);

/// An open test card. It is closed when this is dropped.
pub struct OpenTestCard<'a> {
    all: &'a TestCards,
    nonces: Vec<String>,
    /// The receiver of the presses.
    pub pressed: mpsc::Receiver<TestPress>,
}

impl TestCards {
    /// Opens a test card with these buttons.
    #[must_use]
    pub fn begin(&self, own: &[ApproverNonce]) -> OpenTestCard<'_> {
        let (sender, pressed) = mpsc::channel(PRESSES);
        let buttons = own
            .iter()
            .map(|one| (one.nonce.clone(), TestButton { approver: one.approver.clone(), pressed: sender.clone() }));
        locked(&self.0).extend(buttons);
        OpenTestCard { all: self, nonces: own.iter().map(|one| one.nonce.clone()).collect(), pressed }
    }

    /// Handles a press of a test card's button, and returns the reply to the person. `None` if no test card has this
    /// button, or if the person is a stranger, whom the caller refuses.
    #[must_use]
    pub fn press(&self, nonce: &str, interaction: &Interaction) -> Option<String> {
        let all = locked(&self.0);
        let button = all.get(nonce)?;
        let is_own = interaction.approver.as_deref() == Some(button.approver.as_str());
        let approver = interaction.approver.clone().filter(|_| is_own);
        // The receiver may be gone, and needs no more presses if the queue is full.
        let _ = button.pressed.try_send(TestPress { from: interaction.from.clone(), approver });
        interaction.approver.as_ref()?;
        Some(if is_own {
            "it works".to_owned()
        } else {
            format!("this button is for {}; use your own", button.approver)
        })
    }
}

impl Drop for OpenTestCard<'_> {
    fn drop(&mut self) {
        let mut all = locked(&self.all.0);
        self.nonces.iter().for_each(|nonce| drop(all.remove(nonce)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{ButtonKind, UserAction};

    #[test]
    fn a_button_is_its_approvers_while_the_card_is_open() {
        let test_cards = TestCards::default();
        let own = [ApproverNonce { approver: "ada".to_owned(), nonce: "n".to_owned() }];
        let interaction = |approver: Option<&str>| Interaction {
            channel: "tg".to_owned(),
            approver: approver.map(str::to_owned),
            from: "7".to_owned(),
            action: UserAction::Pressed { nonce: "n".to_owned(), press: ButtonKind::Deny },
            reply: tokio::sync::oneshot::channel().0,
        };
        let mut test_card = test_cards.begin(&own);
        assert_eq!(test_cards.press("m", &interaction(Some("ada"))), None);
        assert_eq!(test_cards.press("n", &interaction(None)), None, "a stranger is refused elsewhere");
        assert!(test_cards.press("n", &interaction(Some("bob"))).unwrap().contains("for ada"));
        assert_eq!(test_cards.press("n", &interaction(Some("ada"))).unwrap(), "it works");
        let mut who = Vec::new();
        while let Ok(pressed) = test_card.pressed.try_recv() {
            who.push(pressed.approver);
        }
        assert_eq!(who, [None, None, Some("ada".to_owned())]);
        drop(test_card);
        assert_eq!(test_cards.press("n", &interaction(Some("ada"))), None);
    }
}
