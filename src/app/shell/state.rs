//! Determines whether a command can change the state of its shell.

use crate::judge::syntax::tree::{Command, Part, Pipeline, Script, Word};
use crate::judge::syntax::visit;

/// Builtins and programs that do not change the state of the shell, whatever their arguments.
const LEAVES_NOTHING: &[&str] = &[
    "echo", "true", "false", "test", "[", "pwd", "ls", "cat", "grep", "sed", "head", "tail", "wc", "sort", "uniq",
    "cut", "tr", "find", "mkdir", "cp", "mv", "rm", "touch", "chmod", "ln", "sleep", "date", "make", "git", "curl",
    "tar", "npm", "cargo", "python3", "kill", "jobs", "wait", "id", "uname", "which", "dirname", "basename", "seq",
    "tee", "diff",
];

/// Reports whether later commands can depend on this script. If in doubt, they can.
#[must_use]
pub fn may_change(script: &Script) -> bool {
    let pipeline = |pipeline: &Pipeline| pipeline.commands.iter().any(command);
    script.items.iter().any(|item| pipeline(&item.first) || item.rest.iter().any(|(_, next)| pipeline(next)))
}

/// Reports whether the script can redefine a command name. Then later commands cannot be recognised by their name.
#[must_use]
pub fn may_define(script: &Script) -> bool {
    let mut defines = false;
    visit::commands(script, &mut |command| {
        defines |= match command {
            Command::Function(_) => true,
            Command::Simple(simple) => simple.words.first().is_some_and(|name| match name.parts.as_slice() {
                [Part::Literal(name)] => {
                    matches!(name.as_str(), "alias" | "eval" | "source" | "." | "enable" | "builtin" | "command")
                }
                _ => true,
            }),
            Command::Compound(_) | Command::Coprocess(_) => false,
        };
    });
    defines
}

fn command(command: &Command) -> bool {
    let Command::Simple(simple) = command else { return true };
    let Some((name, arguments)) = simple.words.split_first() else { return true };
    let known = matches!(name.parts.as_slice(), [Part::Literal(name)] if LEAVES_NOTHING.contains(&name.as_str()));
    !known || !arguments.iter().all(is_plain) || !simple.redirects.is_empty()
}

/// Reports whether expanding a word sets nothing.
fn is_plain(word: &Word) -> bool {
    fn plain(part: &Part) -> bool {
        match part {
            Part::Literal(_) | Part::Escaped(_) | Part::Single(_) | Part::AnsiC(_) => true,
            Part::Double { parts, .. } => parts.iter().all(plain),
            Part::Parameter(parameter) => parameter.operation.is_none() && parameter.subscript.is_none(),
            _ => false,
        }
    }
    word.parts.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use crate::judge::syntax::{self, tree::Dialect};

    #[test]
    fn what_sets_nothing_is_told_from_what_may() {
        let may_change = |text: &str| super::may_change(&syntax::parse(text.as_bytes(), Dialect::Bash).unwrap());
        for text in ["ls -la", "echo \"$x\" | grep y && pwd", "git status; make -j8"] {
            assert!(!may_change(text), "{text}");
        }
        for text in ["cd x", "x=1", "f", "echo ${x:=1}", "f() { ls; }", "echo a > b", "ls; read x", "echo $((x=1))"] {
            assert!(may_change(text), "{text}");
        }
    }
}
