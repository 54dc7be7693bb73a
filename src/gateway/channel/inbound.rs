//! Parses the messengers' events: the person, the chat and the action. An event that does not have exactly the
//! messenger's format is ignored, or treated as a button that is not guard's.
//!
//! Out of scope: permission to answer, and sending.

use serde_json::Value;

use super::{ButtonKind, UserAction, typed};

/// An update of Telegram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelegramInput<'a> {
    /// The ID of the person.
    pub from: i64,
    pub chat: i64,
    /// The action, or `None` for a button that is not guard's.
    pub action: Option<UserAction>,
    /// The ID with which a press is acknowledged, or `None` for typed text.
    pub callback: Option<&'a str>,
}

/// Parses a press or typed text from an update of the Bot API. Ignores other messages.
#[must_use]
pub fn telegram(update: &Value) -> Option<TelegramInput<'_>> {
    let (from, chat, action, callback) = if let Some(pressed) = update.get("callback_query") {
        let action = pressed["data"].as_str().and_then(ButtonKind::read);
        (&pressed["from"]["id"], &pressed["message"]["chat"]["id"], action, Some(pressed["id"].as_str()?))
    } else {
        let message = update.get("message")?;
        let action = message["text"].as_str().and_then(typed)?;
        (&message["from"]["id"], &message["chat"]["id"], Some(action), None)
    };
    Some(TelegramInput { from: from.as_i64()?, chat: chat.as_i64()?, action, callback })
}

/// A press or typed text of Discord or Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatInput<'a> {
    /// The ID of the person.
    pub from: &'a str,
    /// The ID of the channel.
    pub chat: &'a str,
    /// The action, or `None` for a button that is not guard's.
    pub action: Option<UserAction>,
}

/// Parses an interaction of Discord, and the path for its answer.
#[must_use]
pub fn discord_press(event: &Value) -> Option<(ChatInput<'_>, String)> {
    let user = [&event["member"]["user"]["id"], &event["user"]["id"]].into_iter().find_map(Value::as_str)?;
    let (id, token) = (event["id"].as_str()?, event["token"].as_str()?);
    // Both become part of a URL.
    let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !plain(id) || !plain(token) || id.starts_with('.') || token.starts_with('.') {
        return None;
    }
    let chat = event["channel_id"].as_str().unwrap_or_default();
    let action = event["data"]["custom_id"].as_str().and_then(ButtonKind::read);
    Some((ChatInput { from: user, chat, action }, format!("/interactions/{id}/{token}/callback")))
}

/// Parses a command typed on Discord.
#[must_use]
pub fn discord_message(message: &Value) -> Option<ChatInput<'_>> {
    let action = typed(message["content"].as_str()?)?;
    Some(ChatInput {
        from: message["author"]["id"].as_str()?,
        chat: message["channel_id"].as_str()?,
        action: Some(action),
    })
}

/// Parses a reaction to a message on Discord: a check mark approves, a cross denies, anything else is ignored.
#[must_use]
pub fn discord_reaction(event: &Value) -> Option<ChatInput<'_>> {
    let user = event["user_id"].as_str()?;
    // Bots add reactions for people to choose from. A server's custom emoji has an ID, and can have any name.
    if event["member"]["user"]["bot"] == true || !event["emoji"]["id"].is_null() {
        return None;
    }
    let yes = match event["emoji"]["name"].as_str()? {
        "\u{2705}" => true,
        "\u{274C}" => false,
        _ => return None,
    };
    let message = event["message_id"].as_str().filter(|id| !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()))?;
    let action = UserAction::Reacted { message: message.to_owned(), yes };
    Some(ChatInput { from: user, chat: event["channel_id"].as_str()?, action: Some(action) })
}

/// The name of the button on Slack that opens the page. Slack reports its press too, which is not an answer.
pub const OPEN: &str = "open";

/// Parses the press of a button on Slack.
#[must_use]
pub fn slack(payload: &Value) -> Option<ChatInput<'_>> {
    if payload["actions"][0]["action_id"] == OPEN {
        return None;
    }
    let (from, chat) = (payload["user"]["id"].as_str()?, payload["channel"]["id"].as_str()?);
    if payload["type"] != "block_actions" {
        return None;
    }
    Some(ChatInput { from, chat, action: payload["actions"][0]["value"].as_str().and_then(ButtonKind::read) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NONCE: &str = "m2k4x7c2p5q6r7s2t3u4v5w6x7";

    /// Generates arbitrary values, often with the names and words that the parsers look for.
    fn value() -> impl Strategy<Value = Value> {
        let word = prop_oneof![
            Just("a:x".to_owned()),
            Just(format!("a:{NONCE}")),
            Just("/approve b2c3".to_owned()),
            Just("block_actions".to_owned()),
            Just("7".to_owned()),
            ".{0,12}",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            Just(json!(7)),
            any::<f64>().prop_map(Value::from),
            word.prop_map(Value::from),
        ];
        let names = [
            "id",
            "from",
            "data",
            "chat",
            "message",
            "callback_query",
            "text",
            "member",
            "user",
            "token",
            "channel_id",
            "custom_id",
            "content",
            "author",
            "type",
            "channel",
            "actions",
            "value",
            "emoji",
            "name",
            "message_id",
            "user_id",
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            let name = prop_oneof![proptest::sample::select(names.to_vec()).prop_map(str::to_owned), ".{0,6}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// Returns all variants of a value in which one part is missing or replaced.
    fn spoilt(whole: &Value, with: &Value) -> Vec<Value> {
        let mut all = vec![with.clone()];
        match whole {
            Value::Object(map) => {
                for (name, part) in map {
                    let mut without = map.clone();
                    without.remove(name);
                    all.push(Value::Object(without));
                    for other in spoilt(part, with) {
                        let mut map = map.clone();
                        map.insert(name.clone(), other);
                        all.push(Value::Object(map));
                    }
                }
            }
            Value::Array(list) => {
                for (at, part) in list.iter().enumerate() {
                    for other in spoilt(part, with) {
                        let mut list = list.clone();
                        list[at] = other;
                        all.push(Value::Array(list));
                    }
                }
            }
            _ => {}
        }
        all
    }

    fn is_yes(action: &Option<UserAction>) -> bool {
        matches!(action, Some(UserAction::Pressed { nonce, press: ButtonKind::Approve }) if nonce == NONCE)
    }

    fn telegram_press() -> Value {
        json!({ "callback_query": {
            "id": "c", "from": { "id": 7 }, "data": format!("a:{NONCE}"), "message": { "chat": { "id": 500 } } } })
    }

    fn discord_interaction() -> Value {
        json!({ "id": "1", "token": "t", "channel_id": "900", "member": { "user": { "id": "80" } },
            "data": { "custom_id": format!("a:{NONCE}") } })
    }

    fn slack_payload() -> Value {
        json!({ "type": "block_actions", "user": { "id": "U1" }, "channel": { "id": "C1" },
            "actions": [{ "value": format!("a:{NONCE}") }] })
    }

    fn discord_mark() -> Value {
        json!({ "user_id": "80", "channel_id": "900", "message_id": "71", "emoji": { "id": null, "name": "\u{2705}" } })
    }

    fn discord_marked_yes(event: &Value) -> bool {
        let yes = Some(UserAction::Reacted { message: "71".to_owned(), yes: true });
        discord_reaction(event).is_some_and(|heard| heard.from == "80" && heard.chat == "900" && heard.action == yes)
    }

    fn telegram_yes(update: &Value) -> bool {
        telegram(update).is_some_and(|heard| heard.from == 7 && heard.chat == 500 && is_yes(&heard.action))
    }

    fn discord_yes(event: &Value) -> bool {
        discord_press(event)
            .is_some_and(|(heard, _)| heard.from == "80" && heard.chat == "900" && is_yes(&heard.action))
    }

    fn slack_yes(payload: &Value) -> bool {
        slack(payload).is_some_and(|heard| heard.from == "U1" && heard.chat == "C1" && is_yes(&heard.action))
    }

    #[test]
    fn a_press_that_opens_the_page_answers_nothing() {
        let mut opened = slack_payload();
        opened["actions"][0]["action_id"] = json!(OPEN);
        assert!(slack(&opened).is_none());
    }

    #[test]
    fn a_press_as_each_messenger_has_it_is_read() {
        assert!(telegram_yes(&telegram_press()) && discord_yes(&discord_interaction()) && slack_yes(&slack_payload()));
        let (_, place) = discord_press(&discord_interaction()).map(|(heard, place)| (heard.from.len(), place)).unwrap();
        assert_eq!(place, "/interactions/1/t/callback");
        let typed = json!({ "message": { "from": { "id": 7 }, "chat": { "id": 500 }, "text": "/deny b2c3 no" } });
        let heard = telegram(&typed).unwrap();
        assert!(matches!(heard.action, Some(UserAction::Typed { yes: false, .. })) && heard.callback.is_none());
        let said = json!({ "content": "!approve b2c3", "author": { "id": "80" }, "channel_id": "900" });
        assert!(matches!(discord_message(&said).unwrap().action, Some(UserAction::Typed { yes: true, .. })));
    }

    #[test]
    fn a_mark_is_an_answer_in_two_forms_alone() {
        assert!(discord_marked_yes(&discord_mark()));
        let with = |at: &str, value: Value| {
            let mut event = discord_mark();
            *event.pointer_mut(at).unwrap() = value;
            discord_reaction(&event).and_then(|heard| heard.action)
        };
        let no = UserAction::Reacted { message: "71".to_owned(), yes: false };
        assert_eq!(with("/emoji/name", json!("\u{274C}")), Some(no));
        for name in ["\u{1F44D}", "\u{2714}", "white_check_mark", ""] {
            assert_eq!(with("/emoji/name", json!(name)), None, "{name}");
        }
        // A server's custom emoji can have any name.
        assert_eq!(with("/emoji/id", json!("41771983429993937")), None);
        assert_eq!(with("/message_id", json!("71/../70")), None);
        let mut of_a_bot = discord_mark();
        of_a_bot["member"] = json!({ "user": { "id": "80", "bot": true } });
        assert_eq!(discord_reaction(&of_a_bot), None);
    }

    #[test]
    fn an_answer_goes_nowhere_but_to_its_interaction() {
        for odd in ["../../users/@me", "a/b", "", "..", "a?b", "a#b", "a%2fb"] {
            let mut event = discord_interaction();
            event["token"] = json!(odd);
            assert_eq!(discord_press(&event), None, "{odd}");
        }
    }

    proptest! {
        /// Arbitrary values are parsed without a panic.
        #[test]
        fn anything_is_read_without_a_panic(value in value()) {
            let _ = (telegram(&value), discord_press(&value), discord_message(&value), discord_reaction(&value), slack(&value));
        }

        /// An approval in which a required part is missing or different does not count as one.
        #[test]
        fn a_yes_with_a_part_that_is_missing_or_another_is_none(with in value()) {
            type Yes = fn(&Value) -> bool;
            let presses: [(Value, &[&str], Yes); 4] = [
                (telegram_press(), &["/callback_query/from/id", "/callback_query/message/chat/id",
                    "/callback_query/data"], telegram_yes),
                (discord_interaction(), &["/member/user/id", "/channel_id", "/data/custom_id"], discord_yes),
                (discord_mark(), &["/user_id", "/channel_id", "/message_id", "/emoji/name"], discord_marked_yes),
                (slack_payload(), &["/user/id", "/channel/id", "/actions/0/value", "/type"], slack_yes),
            ];
            for (press, parts, yes) in presses {
                for other in spoilt(&press, &with).iter().filter(|other| yes(other)) {
                    for part in parts {
                        prop_assert_eq!(other.pointer(part), press.pointer(part), "{}: {}", part, other);
                    }
                }
            }
        }

        /// Only the data `a:NONCE` of a button is an approval.
        #[test]
        fn only_a_and_the_nonce_are_a_yes(data in "\\PC{0,40}") {
            let yes = matches!(ButtonKind::read(&data), Some(UserAction::Pressed { press: ButtonKind::Approve, .. }));
            prop_assert_eq!(yes, data.starts_with("a:"));
        }

        /// Typed text is an approval only if it begins with the word itself, and a request follows.
        #[test]
        fn only_the_word_approve_is_a_yes(text in "[/! ]{0,2}(approve|deny|aprove|APPROVE|approved)?[@ a-z0-9\n]{0,12}") {
            if let Some(UserAction::Typed { request, yes: true, .. }) = typed(&text) {
                let rest = text.trim().strip_prefix(['/', '!']).and_then(|rest| rest.strip_prefix("approve"));
                prop_assert!(rest.is_some_and(|rest| rest.starts_with(|c: char| c == '@' || c.is_whitespace())), "{text:?}");
                prop_assert!(!request.is_empty());
            }
        }
    }
}
