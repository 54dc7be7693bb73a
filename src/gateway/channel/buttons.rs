//! The buttons below a card. Each approver has buttons of their own, with data that nobody else's buttons have.
//!
//! Out of scope: how a messenger formats a button, and whether a press counts.

use super::{ButtonKind, Card};
use crate::secrets::{NoRandomBytes, secret};

/// With more approvers than this, a card has no buttons with reasons, which would push the command out of view.
const WORDED: usize = 4;

/// The largest number of buttons with reasons per approver.
const REPLIES: usize = 3;

/// The nonce in the buttons of one approver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproverNonce {
    /// The approver's name in the configuration.
    pub approver: String,
    /// The nonce, which counts once and for one request.
    pub nonce: String,
}

impl ApproverNonce {
    /// Creates a nonce for each of these approvers.
    ///
    /// # Errors
    /// Returns an error if the system provides no random bytes.
    pub fn of_all(approvers: Vec<String>) -> Result<Vec<Self>, NoRandomBytes> {
        approvers.into_iter().map(|approver| Ok(Self { approver, nonce: secret::<16>("")? })).collect()
    }
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub press: ButtonKind,
    /// The reason that the button gives for a denial.
    pub words: Option<String>,
    /// The approver, if the card has buttons of several.
    pub whose: Option<String>,
    /// The data that the messenger sends back.
    pub data: String,
}

impl Button {
    /// Returns the label: the action, the approver and the reason.
    #[must_use]
    pub fn label(&self, yes: &str, no: &str, worded: &str) -> String {
        let whose = self.whose.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        match (self.press, &self.words) {
            (ButtonKind::Approve, _) => format!("{yes}{whose}"),
            (_, None) => format!("{no}{whose}"),
            (_, Some(words)) => format!("{worded}{whose}: {words}"),
        }
    }
}

/// Returns the buttons of a card by approver: approve, if the message offers it, deny, and deny with reasons.
#[must_use]
pub fn buttons(card: &Card, own: &[ApproverNonce], yes: bool) -> Vec<Vec<Button>> {
    let replies = if own.len() > WORDED { 0 } else { REPLIES };
    let each = |one: &ApproverNonce| {
        let whose = (own.len() > 1).then(|| one.approver.clone());
        let button = |press: ButtonKind, words: Option<String>| {
            let data = press.with(&one.nonce);
            Button { press, words, whose: whose.clone(), data }
        };
        let mut all = Vec::new();
        if yes {
            all.push(button(ButtonKind::Approve, None));
        }
        all.push(button(ButtonKind::Deny, None));
        let worded = (0..).zip(card.replies.iter().take(replies));
        all.extend(worded.map(|(at, words)| button(ButtonKind::Reply(at), Some(words.clone()))));
        all
    };
    own.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(approvers: &[&str], yes: bool) -> Vec<String> {
        let card = Card { replies: vec!["not now".to_owned()], ..Card::default() };
        let own = ApproverNonce::of_all(approvers.iter().map(ToString::to_string).collect()).unwrap();
        let all = buttons(&card, &own, yes);
        for (of_one, own) in all.iter().zip(&own) {
            assert!(of_one.iter().all(|button| button.data.ends_with(&own.nonce)), "{of_one:?}");
        }
        all.concat().iter().map(|button| button.label("Approve", "Deny", "No")).collect()
    }

    #[test]
    fn each_approver_has_buttons_of_their_own() {
        assert_eq!(labels(&["ada"], true), ["Approve", "Deny", "No: not now"]);
        assert_eq!(labels(&["ada"], false), ["Deny", "No: not now"]);
        let two =
            ["Approve (ada)", "Deny (ada)", "No (ada): not now", "Approve (bob)", "Deny (bob)", "No (bob): not now"];
        assert_eq!(labels(&["ada", "bob"], true), two);
        assert_eq!(labels(&["a", "b", "c", "d", "e"], true).len(), 10);
        assert!(labels(&[], true).is_empty());
        let own = ApproverNonce::of_all(vec!["ada".to_owned(), "bob".to_owned()]).unwrap();
        assert_ne!(own[0].nonce, own[1].nonce);
    }
}
