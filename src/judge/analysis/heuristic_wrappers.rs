//! Finds commands in the arguments of undescribed programs, if the arguments look like commands.
//!
//! Out of scope: walking them.

use super::act::Value;
use super::analysis_input::AnalysisInput;
use super::arguments::Arg;
use super::expand::Field;
use super::program::is_installed;
use super::wrappers::quoted_words;
use crate::judge::rules::catalog::Catalog;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Dialect, Span};

/// Maximum number of arguments that are tried as the beginning of a command.
const MAX_BEGINNINGS: usize = 3;

/// A command that the arguments of a program may contain.
#[derive(Debug)]
pub(super) enum PossibleCommand {
    /// A program and its arguments, which get the variables of the command.
    Argv(Vec<Field>, Span),
    /// A command string.
    Line(String, Span),
    /// A shell, by its path, which reads standard input.
    Shell(Box<Field>, Span),
}

impl PossibleCommand {
    fn of(args: &[Arg], span: Span) -> Self {
        let fields = args.iter().map(|arg| Field::word(arg.value.clone(), arg.span)).collect();
        Self::Argv(fields, args.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span))
    }
}

impl AnalysisInput<'_> {
    /// Returns the commands that arguments may form: each begins at an argument that names a described program and for
    /// which `counts` returns `true`.
    pub fn commands_among(
        &self,
        args: &[Arg],
        span: Span,
        counts: impl Fn(&str, &[Arg]) -> bool,
    ) -> Vec<PossibleCommand> {
        let beginnings = args.iter().enumerate().filter_map(|(index, arg)| {
            let word = arg.value.known()?;
            let name = word.rsplit('/').next().unwrap_or(&word);
            let rest = args.get(index..).unwrap_or_default();
            let is_name = !word.starts_with('-') && !name.is_empty();
            (is_name && counts(name, rest) && self.catalog.program(name).is_some()).then_some(rest)
        });
        beginnings.take(MAX_BEGINNINGS).map(|rest| PossibleCommand::of(rest, span)).collect()
    }

    /// Returns the commands that arguments may form, one of which is the command of a wrapper. A `--` that only options
    /// and their values precede begins this command.
    pub fn commands_somewhere(&self, args: &[Arg], span: Span) -> Vec<PossibleCommand> {
        let at = args.iter().position(|arg| arg.value.is("--")).unwrap_or_default();
        let (before, behind) = args.split_at(at);
        let mut all = self.commands_among(before, span, |_, _| true);
        match behind.split_first() {
            Some((dashes, command)) if dashes.value.is("--") && all.is_empty() && !command.is_empty() => {
                all.push(PossibleCommand::of(command, span));
                all
            }
            _ => self.commands_among(args, span, |_, _| true),
        }
    }

    /// Returns the possible commands of an undescribed program, or of one that starts others: the command that its
    /// arguments form, a command string in one of them, or a shell whose path is an argument.
    #[inline(never)]
    pub fn possible_commands(&self, args: &[Arg], span: Span) -> Vec<PossibleCommand> {
        let mut all = self.commands_among(args, span, |name, rest| is_written_out(self.catalog, name, rest));
        for (index, arg) in args.iter().enumerate() {
            let Some(text) = arg.value.known() else { continue };
            let before = index.checked_sub(1).and_then(|before| args.get(before));
            let of_option = before.is_some_and(|before| before.value.leading().starts_with('-'));
            all.extend(lines_in(&text, of_option).filter_map(|line| self.possible_line(line, arg.span)));
        }
        all
    }

    /// Returns the shells that a program starts because of an argument, with the rights of the program.
    #[inline(never)]
    pub fn shell_escapes(&self, args: &[Arg]) -> Vec<PossibleCommand> {
        let begins = |arg: &&Arg| arg.value.leading().starts_with(['!', '\\']);
        let escapes = args.iter().filter(begins).filter_map(|arg| {
            let text = arg.value.known()?;
            let line = escaped(&text).filter(|line| line.starts_with('/'))?;
            self.possible_line(line, arg.span)
        });
        escapes.collect()
    }

    /// Returns the command in a text that may be a command string: one that begins with a command, or the path of a
    /// shell.
    fn possible_line(&self, line: &str, span: Span) -> Option<PossibleCommand> {
        let first = line.split([' ', ',']).next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        if first.starts_with('/') && is_installed(first) && self.is_shell_name(program) {
            return Some(PossibleCommand::Shell(Box::new(Field::word(Value::text(first), span)), span));
        }
        let word = |word: String| Arg::word(Value::text(word), span);
        let words: Vec<Arg> = quoted_words(line).into_iter().map(word).collect();
        let is_command = line.contains(' ')
            && is_written_out(self.catalog, program, &words)
            && syntax::parse(line.as_bytes(), Dialect::Bash).is_ok();
        is_command.then(|| PossibleCommand::Line(line.to_owned(), span))
    }
}

/// Returns the texts in an argument that may be command strings: the whole argument after an option, the value of an
/// option or a setting, and the text after a shell escape.
fn lines_in(text: &str, of_option: bool) -> impl Iterator<Item = &str> {
    let whole = (of_option || text.starts_with('/')).then_some(text);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    let value = text.split_once('=').filter(|(name, _)| !name.is_empty() && name.chars().all(is_name));
    [whole, value.map(|(_, value)| value), escaped(text)].into_iter().flatten()
}

/// Returns the text after a shell escape.
fn escaped(text: &str) -> Option<&str> {
    text.strip_prefix("\\!").or_else(|| text.strip_prefix('!')).map(str::trim_start)
}

/// Reports whether a name and its arguments look like a command. A common name of subcommands counts only with options
/// of the program with that name.
fn is_written_out(catalog: &Catalog, name: &str, rest: &[Arg]) -> bool {
    let program = catalog.program(name).and_then(|program| program.as_argument.as_deref());
    let given = |letters: &str| {
        rest.iter().any(|arg| {
            let text = arg.value.leading();
            text.starts_with('-') && !text.starts_with("--") && letters.chars().all(|letter| text.contains(letter))
        })
    };
    program.is_some_and(|letters| if letters.is_empty() { rest.len() > 1 } else { given(letters) })
}

#[cfg(test)]
mod tests {
    use super::super::act::{Effect, Verb};
    use super::super::testing::facts;

    /// Returns the programs and deletions of a line except its first program, in order.
    fn inside(line: &str) -> Vec<String> {
        let facts = facts(line);
        let found = facts.acts.iter().skip(1).filter_map(|act| match &act.verb {
            Verb::Program { name, .. } => Some(name.clone()),
            Verb::Effect(Effect::Delete) => {
                Some(act.operands.iter().map(|operand| operand.value.rough()).collect::<Vec<_>>().join(" "))
            }
            Verb::Effect(_) => None,
        });
        found.collect()
    }

    #[test]
    fn a_command_in_an_argument_is_walked_where_it_is_written_out() {
        for line in [
            "unheard-of rm -rf x",
            "unheard-of --hook 'rm -rf x'",
            "unheard-of --hook='rm -rf x'",
            "unheard-of on.end='rm -rf x'",
            "unheard-of '! rm -rf x'",
            "unheard-of '\\!rm -rf x'",
            "unheard-of sub '!/bin/rm -rf x'",
        ] {
            assert_eq!(inside(line), ["rm", "x"], "{line}");
        }
        assert_eq!(inside("unheard-of --hook 'bash -c \"rm -rf x\"'"), ["bash", "rm", "x"]);
        for line in [
            "unheard-of 'rm -rf x'",
            "unheard-of rm x",
            "unheard-of rm -r x",
            "unheard-of rm --rf x",
            "unheard-of --hook='rm x'",
            "unheard-of --hook='rm -rf (x'",
            "unheard-of '!x'",
            "unheard-of 'a b=rm -rf x'",
            "unheard-of '=rm -rf x'",
            "unheard-of --hook 'unheard -rf x'",
            "unheard-of git",
        ] {
            assert_eq!(inside(line), [""; 0], "{line}");
        }
        assert_eq!(inside("unheard-of git push"), ["git"]);
    }

    #[test]
    fn two_dashes_begin_the_command_of_a_wrapper_unless_a_command_precedes_them() {
        assert_eq!(inside("envchain -e x -- git rm"), ["git"]);
        assert_eq!(inside("envchain -e x -- rm -rf x"), ["rm", "x"]);
        assert_eq!(inside("envchain x -- nobody-describes-this rm -rf x"), ["nobody-describes-this", "rm", "x"]);
        assert_eq!(inside("envchain x rm -- git x"), ["rm", "git x", "git", "git"]);
        assert_eq!(inside("envchain x git rm"), ["git", "rm"]);
        assert_eq!(inside("envchain x rm --"), ["rm"]);
    }

    #[test]
    fn a_shell_that_is_given_by_its_path_may_be_started() {
        for line in [
            "unheard-of /bin/sh",
            "unheard-of --shell /usr/bin/zsh",
            "unheard-of --shell=/bin/sh",
            "unheard-of -o execute=/bin/sh,-c,x",
            "unheard-of '!/bin/sh'",
            "unheard-of '! /bin/sh -i'",
        ] {
            assert_eq!(inside(line).len(), 1, "{line}");
        }
        for line in [
            "unheard-of sh",
            "unheard-of --shell=bash",
            "unheard-of /home/dev/project/sh",
            "unheard-of /bin/cat",
            "unheard-of /bin/sh/x",
            "unheard-of a/bin/sh",
            "unheard-of /bin/sh: not found",
        ] {
            assert_eq!(inside(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_described_program_escapes_to_a_shell_as_root_alone() {
        assert_eq!(inside("sudo find '!/bin/sh'"), ["find", "sh"]);
        assert_eq!(inside("sudo find '\\!/bin/sh'"), ["find", "sh"]);
        assert_eq!(inside("sudo find '!sh'"), ["find"]);
        assert_eq!(inside("find '!/bin/sh'"), [""; 0]);
    }
}
