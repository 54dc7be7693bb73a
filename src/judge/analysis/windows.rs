//! Finds the code in the arguments of PowerShell and cmd, joined as these programs join it.
//!
//! Their options can be abbreviated to any prefix, in any case, with a dash or a slash, and the code begins at the
//! first other argument. No syntax of options in descriptions expresses that.

use super::act::Value;
use super::arguments::CodeSource;
use super::decode;
use super::progress::WalkProgress;
use super::state::State;
use super::streams::Stream;
use crate::judge::rules::word_lists;

/// The input of PowerShell or cmd.
enum InterpreterInput {
    Code(Value),
    Script(Value),
    Stdin,
}

impl WalkProgress<'_, '_> {
    /// Returns the code of PowerShell or cmd, if `source` is for one of them.
    #[inline(never)]
    pub fn windows_code(&self, state: &State, act: usize, source: &CodeSource) -> Option<Value> {
        let act = self.acts.get(act)?;
        let given = match source.language.as_str() {
            "powershell" => powershell(&act.args),
            "cmd" => cmd(&act.args),
            _ => return None,
        };
        Some(match given {
            InterpreterInput::Code(text) => text,
            InterpreterInput::Script(path) => self.content_of(state, &path).unwrap_or_default(),
            InterpreterInput::Stdin => match &state.streams.stdin {
                Stream::Inherited | Stream::Nothing => Value::default(),
                Stream::File(file, _) => self.content_of(state, &file.value).unwrap_or_default(),
                _ => self.stdin_of(state).0,
            },
        })
    }
}

/// Returns the name of an option in lower case with one dash, if the argument is one.
fn option(arg: &Value) -> Option<String> {
    let text = arg.known()?;
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix(['-', '/']))?.to_ascii_lowercase();
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '?')).then(|| format!("-{name}"))
}

fn powershell(args: &[Value]) -> InterpreterInput {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let rest = args.get(at + 1..).unwrap_or_default();
        let begins = |full: &&str, name: &str| full.starts_with(name);
        let Some(name) = option(arg) else { return code(args.get(at..).unwrap_or_default()) };
        let is = |full: &str| full.starts_with(&name);
        if is("-commandwithargs") && name.len() > "-command".len() || name == "-cwa" || is("-command") {
            return code(rest);
        }
        if is("-encodedcommand") || is("-encodedarguments") || ["-ec", "-enc"].contains(&name.as_str()) {
            let text = rest.first().and_then(|text| decode::base64(&text.known()?));
            let text = text.and_then(|bytes| super::code::windows::utf16(&bytes));
            return text.map_or_else(|| code(rest), |text| InterpreterInput::Code(Value::text(text)));
        }
        if is("-file") {
            return rest.first().map_or(InterpreterInput::Stdin, |file| InterpreterInput::Script(file.clone()));
        }
        let versioned = "-version".starts_with(&name)
            && rest.first().is_some_and(|next| next.leading().starts_with(|c: char| c.is_ascii_digit()));
        if versioned
            || name == "-wd"
            || name == "-if"
            || word_lists::POWERSHELL_VALUED_OPTIONS.iter().any(|full| begins(full, &name))
        {
            at += 2;
        } else if word_lists::POWERSHELL_FLAGS.iter().any(|full| begins(full, &name))
            || name == "-nop"
            || name == "-noni"
        {
            at += 1;
        } else {
            return code(args.get(at..).unwrap_or_default());
        }
    }
    InterpreterInput::Stdin
}

/// Returns arguments as code, or as the name of a script.
fn code(args: &[Value]) -> InterpreterInput {
    match args {
        [] => InterpreterInput::Stdin,
        [only] if only.is("-") => InterpreterInput::Stdin,
        [only]
            if only.known().is_some_and(|text| text.to_ascii_lowercase().ends_with(".ps1") && !text.contains(' ')) =>
        {
            InterpreterInput::Script(only.clone())
        }
        _ => InterpreterInput::Code(Value::join(args, " ")),
    }
}

fn cmd(args: &[Value]) -> InterpreterInput {
    for (at, arg) in args.iter().enumerate() {
        let leading = arg.leading().to_ascii_lowercase();
        let runs = ["/c", "/k", "/r"].iter().any(|switch| leading.starts_with(switch));
        if runs {
            let mut text = arg.without_leading(2);
            let attached = !text.is_empty();
            for more in args.get(at + 1..).unwrap_or_default() {
                if !text.is_empty() {
                    text = Value::join([&text, &Value::text("")], " ");
                }
                // An argument with several words was quoted, unless it is the only one.
                let alone = !attached && args.len() == at + 2;
                let spaced = !alone && more.known().is_some_and(|text| text.contains(' ') && !text.contains('"'));
                let quote = Value::text(if spaced { "\"" } else { "" });
                text = Value::join([&text, &quote, more, &quote], "");
            }
            return InterpreterInput::Code(text);
        }
        if !leading.starts_with('/') {
            return InterpreterInput::Stdin;
        }
    }
    InterpreterInput::Stdin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(given: &InterpreterInput) -> String {
        match given {
            InterpreterInput::Code(text) => text.rough().into_owned(),
            InterpreterInput::Script(path) => format!("script {}", path.rough()),
            InterpreterInput::Stdin => "stdin".to_owned(),
        }
    }

    fn of(read: fn(&[Value]) -> InterpreterInput, args: &[&str]) -> String {
        seen(&read(&args.iter().map(|arg| Value::text(*arg)).collect::<Vec<_>>()))
    }

    #[test]
    fn options_of_powershell_are_told_by_their_beginning() {
        assert_eq!(of(powershell, &["-NoP", "-W", "Hidden", "-c", "ri", "x"]), "ri x");
        assert_eq!(of(powershell, &["/NOPROFILE", "-ExecutionPolicy", "Bypass", "Get-Date"]), "Get-Date");
        assert_eq!(of(powershell, &["-f", "x.ps1", "a"]), "script x.ps1");
        assert_eq!(of(powershell, &["./x.ps1"]), "script ./x.ps1");
        assert_eq!(of(powershell, &["-Version", "5.1", "-Command", "-"]), "stdin");
        assert_eq!(of(powershell, &[]), "stdin");
    }

    #[test]
    fn an_encoded_command_is_decoded() {
        assert_eq!(of(powershell, &["-enc", "cgBpACAAeAA="]), "ri x");
    }

    #[test]
    fn the_line_of_cmd_stands_behind_its_switch() {
        assert_eq!(of(cmd, &["/c", "del x & dir"]), "del x & dir");
        assert_eq!(of(cmd, &["/d", "/cdel", "a b"]), "del \"a b\"");
        assert_eq!(of(cmd, &["/k"]), "");
        assert_eq!(of(cmd, &[]), "stdin");
    }
}
