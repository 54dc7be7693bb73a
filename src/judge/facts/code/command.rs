//! Calls that stand for a command of another program: the words of it, as the description of the call puts them.

use super::Call;
use crate::judge::facts::act::{Piece, Value};

/// The words: those of the template, in which `{method}` is the last part of the call's name, `{0}` an argument and
/// `{}` all arguments that are not named so.
#[must_use]
pub fn words_of(template: &[String], call: &Call) -> Vec<Value> {
    let place = |word: &str| word.strip_prefix('{')?.strip_suffix('}')?.parse::<usize>().ok();
    let is_setting = |value: &&Value| value.leading().starts_with("--") && value.leading().contains('=');
    let (settings, plain): (Vec<&Value>, Vec<&Value>) = call.args.iter().partition(is_setting);
    let named: Vec<usize> = template.iter().filter_map(|word| place(word)).collect();
    let mut words = Vec::new();
    for word in template {
        match (word.as_str(), place(word)) {
            ("{method}", _) => {
                let method = call.callee.rsplit('.').next().unwrap_or_default();
                words.push(Value::text(method.replace('_', "-")));
            }
            ("{}", _) => {
                words.extend(settings.iter().filter_map(|setting| option(setting)));
                let rest = plain.iter().enumerate().filter(|(at, _)| !named.contains(at));
                words.extend(rest.map(|(_, value)| without_radix(value)));
            }
            (_, Some(at)) => words.extend(plain.get(at).map(|value| without_radix(value))),
            (word, None) => words.push(Value::text(word)),
        }
    }
    words
}

/// `force=True` as an option: `--force`; `InstanceIds=x` as `--instance-ids=x`. What is switched off is none.
fn option(setting: &Value) -> Option<Value> {
    let leading = setting.leading();
    let (key, value) = leading.strip_prefix("--")?.split_once('=').filter(|(key, _)| !key.starts_with('_'))?;
    let mut name = String::new();
    let mut small = false;
    for c in key.chars() {
        if c.is_ascii_uppercase() && small {
            name.push('-');
        }
        small = c.is_ascii_lowercase();
        name.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    let dashes = if key.len() == 1 { "-" } else { "--" };
    let name = if key.len() == 1 { key.to_owned() } else { name };
    let rest = setting.without_leading(key.len() + 3);
    match value {
        "True" | "true" => Some(Value::text(format!("{dashes}{name}"))),
        "False" | "false" | "None" | "null" | "undefined" | "nil" => None,
        _ if rest.is_empty() => None,
        _ => {
            let mut all = Value::text(format!("{dashes}{name}="));
            rest.into_pieces().into_iter().for_each(|piece| all.push(piece));
            Some(all)
        }
    }
}

/// A mode as programs take it: `0o777` and `0777` are `777`.
fn without_radix(value: &Value) -> Value {
    let text = value.known();
    let digits = text.as_deref().and_then(|text| text.strip_prefix("0o").or_else(|| text.strip_prefix('0')));
    let mode = digits.filter(|digits| {
        matches!(digits.len(), 3 | 4)
            && digits.chars().all(|c| c.is_digit(8))
            && matches!(value.pieces()[..], [Piece::Text(_)])
    });
    mode.map_or_else(|| value.clone(), Value::text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(template: &[&str], callee: &str, args: &[&str]) -> String {
        let template: Vec<String> = template.iter().map(|word| (*word).to_owned()).collect();
        let call = Call::new(callee.to_owned(), args.iter().map(|arg| Value::text(*arg)).collect());
        let words: Vec<String> =
            words_of(&template, &call).iter().filter_map(|word| Some(word.known()?.into_owned())).collect();
        words.join(" ")
    }

    #[test]
    fn a_call_becomes_the_command_that_it_stands_for() {
        assert_eq!(
            words(&["a", "{method}", "{}"], "x.cherry_pick", &["b", "--no_edit=True"]),
            "a cherry-pick --no-edit b"
        );
        assert_eq!(words(&["a", "{1}", "{0}"], "x", &["p", "0o755"]), "a 755 p");
        assert_eq!(
            words(&["a", "{0}", "{}"], "x", &["s", "--InstanceIds=i", "--DryRun=False"]),
            "a s --instance-ids=i"
        );
        assert_eq!(words(&["a", "{}"], "x", &["--f=true"]), "a -f");
    }
}
