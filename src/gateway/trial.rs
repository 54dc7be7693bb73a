//! Test cards whose buttons a person is asked to press, over the connections that this gateway holds: a messenger hands
//! each press to one connection alone, or to all of them.
//!
//! What may not enter: answers to requests.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::mpsc;

use crate::api::locked;
use crate::channel::Tap;
use crate::channel::buttons::Own;

/// How many presses of one card are kept until they are looked at.
const PRESSES: usize = 8;

/// What one button of a test card belongs to.
struct Button {
    approver: String,
    pressed: mpsc::Sender<Pressed>,
}

/// Somebody pressed a button of a test card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pressed {
    /// The messenger's own name for the person.
    pub from: String,
    /// The approver, where the button is theirs.
    pub approver: Option<String>,
}

/// The test cards that are open, by what their buttons carry.
#[derive(Default)]
pub struct Trials(Mutex<HashMap<String, Button>>);

/// A test card that is open, until this is dropped.
pub struct Trial<'a> {
    all: &'a Trials,
    nonces: Vec<String>,
    /// Who presses.
    pub pressed: mpsc::Receiver<Pressed>,
}

impl Trials {
    /// From now on these buttons are those of a test card.
    #[must_use]
    pub fn begin(&self, own: &[Own]) -> Trial<'_> {
        let (sender, pressed) = mpsc::channel(PRESSES);
        let buttons = own
            .iter()
            .map(|one| (one.nonce.clone(), Button { approver: one.approver.clone(), pressed: sender.clone() }));
        locked(&self.0).extend(buttons);
        Trial { all: self, nonces: own.iter().map(|one| one.nonce.clone()).collect(), pressed }
    }

    /// What becomes of a press of a test card's button, in words for whoever pressed. `None`: it is of no test card, or
    /// by a stranger, who is refused as everywhere.
    #[must_use]
    pub fn press(&self, nonce: &str, tap: &Tap) -> Option<String> {
        let all = locked(&self.0);
        let button = all.get(nonce)?;
        let is_own = tap.approver.as_deref() == Some(button.approver.as_str());
        let approver = tap.approver.clone().filter(|_| is_own);
        // Whoever waits may have gone, and knows enough after so many presses.
        let _ = button.pressed.try_send(Pressed { from: tap.from.clone(), approver });
        tap.approver.as_ref()?;
        Some(if is_own {
            "it works".to_owned()
        } else {
            format!("this button is for {}; use your own", button.approver)
        })
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        let mut all = locked(&self.all.0);
        self.nonces.iter().for_each(|nonce| drop(all.remove(nonce)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Did, Press};

    #[test]
    fn a_button_is_its_approvers_while_the_card_is_open() {
        let trials = Trials::default();
        let own = [Own { approver: "ada".to_owned(), nonce: "n".to_owned() }];
        let tap = |approver: Option<&str>| Tap {
            channel: "tg".to_owned(),
            approver: approver.map(str::to_owned),
            from: "7".to_owned(),
            did: Did::Pressed { nonce: "n".to_owned(), press: Press::Deny },
            reply: tokio::sync::oneshot::channel().0,
        };
        let mut trial = trials.begin(&own);
        assert_eq!(trials.press("m", &tap(Some("ada"))), None);
        assert_eq!(trials.press("n", &tap(None)), None, "a stranger is refused elsewhere");
        assert!(trials.press("n", &tap(Some("bob"))).unwrap().contains("for ada"));
        assert_eq!(trials.press("n", &tap(Some("ada"))).unwrap(), "it works");
        let mut who = Vec::new();
        while let Ok(pressed) = trial.pressed.try_recv() {
            who.push(pressed.approver);
        }
        assert_eq!(who, [None, None, Some("ada".to_owned())]);
        drop(trial);
        assert_eq!(trials.press("n", &tap(Some("ada"))), None);
    }
}
