//! Reads any bytes as messengers' input: no panic, and an approval is never read unless the message contains its
//! button, person and place verbatim.
#![no_main]

use guard_gateway::channel::{ButtonKind, UserAction, email, inbound, typed, webhook};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Returns the nonce of an approval.
fn yes(action: Option<&UserAction>) -> Option<&str> {
    match action {
        Some(UserAction::Pressed { nonce, press: ButtonKind::Approve }) => Some(nonce),
        _ => None,
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Some(UserAction::Typed { request, yes: true, .. }) = typed(text) {
            assert!(text.contains("approve") && text.to_ascii_lowercase().contains(&request));
        }
        if let Some(UserAction::Pressed { press: ButtonKind::Approve, nonce }) = ButtonKind::read(text) {
            assert_eq!(text, format!("a:{nonce}"));
        }
        let _ = (email::check_url(text), webhook::check_url(text), webhook::secret(text));
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    if let Some(said) = inbound::telegram(&value)
        && let Some(nonce) = yes(said.action.as_ref())
    {
        let pressed = &value["callback_query"];
        assert_eq!(pressed["data"], format!("a:{nonce}"));
        assert_eq!(pressed["from"]["id"], said.from);
        assert_eq!(pressed["message"]["chat"]["id"], said.chat);
    }
    if let Some((said, place)) = inbound::discord_press(&value) {
        assert_eq!(place.split('/').count(), 5, "{place}");
        if let Some(nonce) = yes(said.action.as_ref()) {
            assert_eq!(value["data"]["custom_id"], format!("a:{nonce}"));
        }
    }
    if let Some(said) = inbound::discord_message(&value) {
        assert!(yes(said.action.as_ref()).is_none(), "what is typed names a request, and no nonce");
    }
    if let Some(nonce) = inbound::slack(&value).as_ref().and_then(|said| yes(said.action.as_ref())) {
        assert_eq!(value["actions"][0]["value"], format!("a:{nonce}"));
    }
});
