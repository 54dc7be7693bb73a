//! Redacts calls of tools value by value, so that the text beside a secret is unchanged.

use serde_json::Value;

use super::{HIDDEN, redact};
use crate::judge::invocation::Invocation;
use crate::judge::tools::ToolCall;

/// Returns the text that an invocation shows ([`Invocation::display`]), redacted, and whether it contained secrets.
#[must_use]
pub fn redact_shown(invocation: &Invocation) -> (String, bool) {
    let Some(call) = invocation.tool() else { return redact(&invocation.display()) };
    let mut input = call.shown().into_owned();
    let any = hide("", &mut input);
    // The name is redacted too, because the caller chooses it.
    let (name, named) = redact(&call.name);
    let call = ToolCall { name, input, ..call.clone() };
    (call.display(), any || named)
}

/// Redacts a value that has a name. Returns whether it contained secrets.
fn hide(name: &str, value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            // A name may be a secret too, if somebody swapped names and values.
            let names: Vec<(String, String)> = members
                .keys()
                .filter_map(|name| Some(redact(name)).filter(|(_, any)| *any).map(|(new, _)| (name.clone(), new)))
                .collect();
            let mut any = !names.is_empty();
            for (old, new) in names {
                let value = members.remove(&old).unwrap_or_default();
                members.insert(new, value);
            }
            for (name, member) in members.iter_mut() {
                any |= hide(name, member);
            }
            any
        }
        Value::Array(elements) => {
            let mut any = false;
            for element in elements {
                any |= hide(name, element);
            }
            any
        }
        Value::String(text) => {
            let (own, any) = redact(text);
            let named = is_named(name, &own);
            if any || named {
                *text = if named { HIDDEN.to_owned() } else { own };
            }
            any || named
        }
        Value::Number(number) => {
            let named = is_named(name, &number.to_string());
            if named {
                *value = HIDDEN.into();
            }
            named
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// Reports whether a text with this name is a secret.
fn is_named(name: &str, text: &str) -> bool {
    !name.is_empty() && [": ", "="].iter().any(|between| redact(&format!("{name}{between}{text}")).1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hidden(mut input: Value) -> Value {
        hide("", &mut input);
        input
    }

    #[test]
    fn what_stands_beside_a_secret_stays() {
        for (input, wanted) in [
            (json!({"id": 7, "password": "hunter2", "to": "me"}), json!({"id": 7, "password": "***", "to": "me"})),
            (json!({"password": 12345678, "to": "me"}), json!({"password": "***", "to": "me"})),
            (json!({"api_token": ["a1secret", "b2"], "to": "me"}), json!({"api_token": ["***", "***"], "to": "me"})),
            (
                json!({"note": "password: hunter2", "to": "me", "x": 1}),
                json!({"note": "password: ***", "to": "me", "x": 1}),
            ),
            (json!({"env": ["PASSWORD=hunter2", "A=b"], "z": 1}), json!({"env": ["PASSWORD=***", "A=b"], "z": 1})),
            (
                json!({"in": {"Authorization": "Bearer abcdef0123456789"}, "to": "me"}),
                json!({"in": {"Authorization": "Bearer ***"}, "to": "me"}),
            ),
        ] {
            assert_eq!(hidden(input), wanted);
        }
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_is() {
        let plain = json!({"title": "a, b", "n": 1.50, "list": [null, true, {"x": "y\"z"}], "path": "~/x"});
        assert_eq!(hidden(plain.clone()), plain);
    }

    #[test]
    fn a_secret_that_is_a_name_is_hidden() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let out = hidden(json!({ token.clone(): 1, "b": 2 }));
        assert!(!out.to_string().contains(&token) && out["b"] == 2, "{out}");
    }

    #[test]
    fn whether_anything_was_hidden_is_told_wherever_it_stood() {
        let any = |mut input: Value| hide("", &mut input);
        for input in [
            json!("ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"),
            json!({"password": "hunter2"}),
            json!({"password": 12345678}),
            json!({"password": "hunter2", "z": 1}),
            json!({"a": 1, "password": "hunter2", "z": 1}),
            json!(["PASSWORD=hunter2"]),
            json!(["a", "PASSWORD=hunter2", "b"]),
            json!({"ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2": 1}),
        ] {
            assert!(any(input.clone()), "{input}");
        }
        for input in [json!("a"), json!({"a": "b"}), json!(["a", 1, null]), json!({}), json!([])] {
            assert!(!any(input.clone()), "{input}");
        }
    }

    #[test]
    fn a_call_is_shown_without_its_secrets_and_without_what_it_hides() {
        let of = |call: ToolCall| {
            let request = crate::judge::invocation::Request::Tool(Box::new(call));
            redact_shown(&Invocation { request, ..crate::store::sample::invocation(&["x"], "r") })
        };
        let call = ToolCall { name: "mail.send".to_owned(), ..ToolCall::default() };
        let shown = of(ToolCall { input: json!({"password": "hunter2", "to": "me"}), ..call.clone() });
        assert_eq!(shown, (r#"mail.send {"password":"***","to":"me"}"#.to_owned(), true));
        let shown = of(ToolCall { input: json!({"to": "me"}), ..call.clone() });
        assert_eq!(shown, (r#"mail.send {"to":"me"}"#.to_owned(), false));
        let hidden = vec!["/to".to_owned()];
        let (shown, _) = of(ToolCall { input: json!({"to": "meandyou"}), hidden, ..call.clone() });
        assert!(!shown.contains("meandyou"), "{shown}");
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let (shown, any) = of(ToolCall { name: format!("mail.{token}"), input: json!({"to": "me"}), ..call });
        assert!(any && !shown.contains(&token), "{shown}");
        let line = crate::store::sample::invocation(&["mysql", "--password=hunter2"], "r");
        assert_eq!(redact_shown(&line), ("mysql --password=***".to_owned(), true));
    }
}
