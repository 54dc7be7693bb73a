//! Commands among the arguments of programs that nothing says they run: taken for commands where they are written as
//! such.

use super::act::Value;
use super::arguments::Arg;
use super::builtins::within;
use super::command::Lookup;
use super::enclosing::Frame;
use super::expand::Field;
use super::state::State;
use super::walk::Walker;
use super::wrappers::quoted_words;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Dialect, Span};

/// Programs whose names stand among arguments only where they are meant to be run.
const COMMANDS: [&str; 12] =
    ["sudo", "doas", "git", "find", "dd", "shred", "xargs", "chmod", "chown", "kubectl", "terraform", "systemctl"];

/// How many places among arguments are tried as the beginning of a command.
const MAX_BEGINNINGS: usize = 3;

impl Walker<'_> {
    /// Walks the commands that may stand among arguments: from each on that names a program that is described and that
    /// `counts`.
    #[inline(never)]
    pub fn somewhere(
        &mut self,
        state: &mut State,
        frame: &Frame,
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
            if word.starts_with('-') || name.is_empty() || !counts(name, rest) || self.catalog.program(name).is_none() {
                continue;
            }
            let fields = rest.iter().map(|arg| Field::word(arg.value.clone(), arg.span));
            let span = rest.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span);
            self.run(&mut self.fork(state), &frame.perhaps(), fields.collect(), env.to_vec(), span, Lookup::Programs);
            tried += 1;
            if tried >= MAX_BEGINNINGS {
                return;
            }
        }
    }

    /// A program that nothing describes, or that starts others, may run the command that its arguments spell out.
    #[inline(never)]
    pub fn perhaps_wraps(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        args: &[Arg],
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut child = state.child(env);
        let frame = within(frame, name);
        self.somewhere(&mut child, &frame, args, env, span, is_written_out);
        for pair in args.windows(2) {
            let [option, line] = pair else { continue };
            let Some(text) = line.value.known().filter(|_| option.value.leading().starts_with('-')) else { continue };
            if !text.contains(' ') {
                continue;
            }
            let word = |word: String| Arg::word(Value::text(word), line.span);
            let words: Vec<Arg> = quoted_words(&text).into_iter().map(word).collect();
            let first = words.first().map(|word| word.value.leading()).unwrap_or_default();
            let is_line = is_written_out(first.rsplit('/').next().unwrap_or(&first), &words);
            if is_line && syntax::parse(text.as_bytes(), Dialect::Bash).is_ok() {
                self.text(&mut child.fork(), &frame.perhaps().elsewhere(line.span), &text);
            }
        }
    }
}

/// Whether a name and what follows it are written as a command. What is often the name of a subcommand counts only with
/// the options that the program of that name is given.
fn is_written_out(name: &str, rest: &[Arg]) -> bool {
    let given = |letters: &[char]| {
        rest.iter().any(|arg| {
            let text = arg.value.leading();
            text.starts_with('-') && !text.starts_with("--") && letters.iter().all(|letter| text.contains(*letter))
        })
    };
    match name {
        "rm" => given(&['r', 'f']),
        "sh" | "bash" | "zsh" | "dash" | "ksh" => given(&['c']),
        _ => COMMANDS.contains(&name) && rest.len() > 1,
    }
}
