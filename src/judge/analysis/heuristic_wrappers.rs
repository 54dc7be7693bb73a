//! Finds commands in the arguments of undescribed programs, if the arguments look like commands.

use super::act::Value;
use super::arguments::Arg;
use super::builtins::within;
use super::command_context::Context;
use super::expand::Field;
use super::program::is_installed;
use super::resolve::Lookup;
use super::state::State;
use super::walk::Walker;
use super::wrappers::quoted_words;
use crate::judge::rules::catalog::Catalog;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Dialect, Span};

/// Maximum number of arguments that are tried as the beginning of a command.
const MAX_BEGINNINGS: usize = 3;

impl Walker<'_> {
    /// Walks the commands that arguments may contain: each begins at an argument that names a described program and for
    /// which `counts` returns `true`.
    #[inline(never)]
    pub fn somewhere(
        &mut self,
        state: &mut State,
        context: &Context,
        args: &[Arg],
        env: &[(String, Value)],
        span: Span,
        counts: impl Fn(&str, &[Arg]) -> bool,
    ) {
        let mut tried = 0;
        for (index, arg) in args.iter().enumerate() {
            let Some(word) = arg.value.known() else { continue };
            let name = word.rsplit('/').next().unwrap_or(&word);
            let rest = args.get(index..).unwrap_or_default();
            if word.starts_with('-')
                || name.is_empty()
                || !counts(name, rest)
                || self.input.catalog.program(name).is_none()
            {
                continue;
            }
            let fields = rest.iter().map(|arg| Field::word(arg.value.clone(), arg.span));
            let span = rest.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span);
            self.run(
                &mut self.input.fork(state),
                &context.perhaps(),
                fields.collect(),
                env.to_vec(),
                span,
                Lookup::Programs,
            );
            tried += 1;
            if tried >= MAX_BEGINNINGS {
                return;
            }
        }
    }

    /// Walks the possible commands of an undescribed program, or of one that starts others: the command that its
    /// arguments form, a command string in one of them, or a shell whose path is an argument.
    #[inline(never)]
    pub fn perhaps_wraps(
        &mut self,
        state: &State,
        context: &Context,
        name: &str,
        args: &[Arg],
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut child = state.child(env);
        let context = within(context, name);
        let catalog = self.input.catalog;
        self.somewhere(&mut child, &context, args, env, span, |name, rest| is_written_out(catalog, name, rest));
        for (index, arg) in args.iter().enumerate() {
            let Some(text) = arg.value.known() else { continue };
            let before = index.checked_sub(1).and_then(|before| args.get(before));
            let of_option = before.is_some_and(|before| before.value.leading().starts_with('-'));
            for line in lines_in(&text, of_option) {
                self.perhaps_line(&child, &context, line, arg.span);
            }
        }
    }

    /// Walks a shell that a program starts because of an argument, with the rights of the program.
    #[inline(never)]
    pub fn escapes_as_root(
        &mut self,
        state: &State,
        context: &Context,
        name: &str,
        args: &[Arg],
        env: &[(String, Value)],
    ) {
        for arg in args.iter().filter(|arg| arg.value.leading().starts_with(['!', '\\'])) {
            let Some(text) = arg.value.known() else { continue };
            if let Some(line) = escaped(&text).filter(|line| line.starts_with('/')) {
                self.perhaps_line(&state.child(env), &within(context, name), line, arg.span);
            }
        }
    }

    /// Walks a text that may be a command string: one that begins with a command, or the path of a shell, which then
    /// reads standard input.
    fn perhaps_line(&mut self, state: &State, context: &Context, line: &str, span: Span) {
        let first = line.split([' ', ',']).next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        let context = context.perhaps().elsewhere(span);
        if first.starts_with('/') && is_installed(first) && self.input.is_shell_name(program) {
            let shell = Field::word(Value::text(first), span);
            let mut child = self.input.fork(state);
            self.run(&mut child, &context, vec![shell], Vec::new(), span, Lookup::Programs);
        } else if line.contains(' ') {
            let word = |word: String| Arg::word(Value::text(word), span);
            let words: Vec<Arg> = quoted_words(line).into_iter().map(word).collect();
            if is_written_out(self.input.catalog, program, &words)
                && syntax::parse(line.as_bytes(), Dialect::Bash).is_ok()
            {
                self.text(&mut state.fork(), &context, line);
            }
        }
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
