//! Calls that are equivalent to a command: its words, by the description of the call.

use super::Call;
use crate::judge::analysis::act::{Piece, Value};

/// A word of the command that is equivalent to a call.
#[derive(Debug, PartialEq, Eq)]
pub struct CallWord {
    pub value: Value,
    /// Whether it is an operand even if it looks like an option.
    pub operand: bool,
}

/// Returns the words of the template, in which `{method}` is the last part of the call's name, `{0}` an argument, `{}`
/// all other arguments, and `{...}` all other arguments including options. Keyword arguments precede them as options.
#[must_use]
pub fn words_of(template: &[String], call: &Call) -> Vec<CallWord> {
    let place = |word: &str| word.strip_prefix('{')?.strip_suffix('}')?.parse::<usize>().ok();
    let (settings, plain): (Vec<&Value>, Vec<&Value>) = call.args.iter().partition(|value| value.is_option());
    let read = |value| CallWord { value, operand: false };
    let kept = |value: &&Value| CallWord { value: without_radix(value), operand: true };
    let named: Vec<usize> = template.iter().filter_map(|word| place(word)).collect();
    let mut words = Vec::new();
    for word in template {
        match (word.as_str(), place(word)) {
            ("{method}", _) => {
                let method = call.callee.rsplit('.').next().unwrap_or_default();
                words.push(read(Value::text(method.replace('_', "-"))));
            }
            ("{}" | "{...}", _) => {
                words.extend(settings.iter().filter_map(|setting| option(setting)).map(read));
                let rest = plain.iter().enumerate().filter(|(at, _)| !named.contains(at));
                let operand = word == "{}";
                words.extend(rest.map(|(_, value)| CallWord { operand, ..kept(value) }));
            }
            (_, Some(at)) => words.extend(plain.get(at).map(kept)),
            (word, None) => words.push(read(Value::text(word))),
        }
    }
    words
}

/// Converts a keyword argument to an option: `force=True` to `--force`, `InstanceIds=x` to `--instance-ids=x`; `None`
/// for a false value.
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

/// Returns a mode in the notation of programs: `777` for `0o777` and `0777`.
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
        let args = args.iter().map(|arg| match arg.strip_prefix("by name ") {
            Some(setting) => Value::text(setting).into_option(),
            None => Value::text(*arg),
        });
        let call = Call::new(callee.to_owned(), args.collect());
        let shown = |word: &CallWord| {
            let text = word.value.known()?.into_owned();
            Some(if word.operand { format!("'{text}'") } else { text })
        };
        words_of(&template, &call).iter().filter_map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_call_becomes_the_command_that_it_stands_for() {
        let cherry = ["b", "by name --no_edit=True"];
        assert_eq!(words(&["a", "{method}", "{...}"], "x.cherry_pick", &cherry), "a cherry-pick --no-edit b");
        assert_eq!(words(&["a", "{1}", "{0}"], "x", &["p", "0o755"]), "a '755' 'p'");
        let ids = ["s", "by name --InstanceIds=i", "by name --DryRun=False"];
        assert_eq!(words(&["a", "{0}", "{}"], "x", &ids), "a 's' --instance-ids=i");
        assert_eq!(words(&["a", "{}"], "x", &["by name --f=true"]), "a -f");
    }

    #[test]
    fn what_is_given_by_place_is_an_option_only_for_a_program_that_reads_it() {
        for text in ["-rf", "--", "--a=b", "@file", "+x", "--help"] {
            assert_eq!(words(&["a", "{}"], "x", &[text]), format!("a '{text}'"));
            assert_eq!(words(&["a", "{0}"], "x", &[text]), format!("a '{text}'"));
            assert_eq!(words(&["a", "{...}"], "x", &[text]), format!("a {text}"));
        }
    }
}
