//! Commands on standard input: each is judged when it is complete, and run before the next one is read.
//!
//! Guarantees: the shell gets as commands only bytes of judged commands; guard takes no input away from a command; a
//! refused command does not run and ends the script with exit code 126, after its exit trap, with the rest unread. Two
//! commands are refused because they would break these guarantees: an `exec` that replaces standard input, from which
//! the shell would then read commands, and a redirection of the descriptor that guard uses.

use std::ffi::OsString;
use std::io::Write;

use super::ShellCall;
use super::request::request;
use super::state;
use crate::app::authorize::{self, ApprovedCommand, RunOptions};
use crate::app::engine::Engine;
use crate::app::exit;
use crate::app::run::{could_not_start, failed};
use crate::exec::stdin_feed::{ExtraFd, Feeder, StdinChunk};
use crate::exec::{self, ExecError, Inherited};
use crate::judge::invocation::{Line, Request};
use crate::judge::syntax::limits::MAX_LINE;
use crate::judge::syntax::tree::{Dialect, Redirect, RedirectFd, RedirectTarget, Script, Word};
use crate::judge::syntax::visit::{self, Node};
use crate::judge::syntax::{self, Completeness};
use crate::world::shell::Shell;

/// The end of a script on standard input.
enum StdinEnd {
    /// The end of the input, or an exit.
    Finished,
    /// A refused command, with this exit code.
    Refused(u8),
}

/// Runs the commands on standard input.
pub(super) fn feed(
    engine: &Engine,
    shell: &Shell,
    call: ShellCall,
    options: RunOptions,
    mut inherited: Inherited,
) -> u8 {
    let Some(extra) = ExtraFd::free(shell.dialect) else {
        return failed("no free file descriptor for the shell to read its commands from");
    };
    let mut call = call;
    if call.interactive {
        without_history(&mut call, shell.dialect);
    }
    let positional = call.positional.clone();
    let options = RunOptions { watched: true, ..options };
    let ApprovedCommand { approved, receipt, .. } =
        match authorize::authorize(engine, engine.caller.invocation(request(shell, call)), options, &mut inherited) {
            Ok(ready) => ready,
            Err(code) => return code,
        };
    let feeder = Feeder::start(approved, receipt, &inherited, extra, shell.dialect);
    let mut feeder = match feeder {
        Ok(feeder) => feeder,
        Err(error) => return could_not_start(&error),
    };
    let mut session = StdinSession { engine, shell, options, extra, positional, before: Vec::new(), defined: false };
    let end = match session.commands(&mut feeder, &mut inherited) {
        Ok(end) => end,
        Err(error) => StdinEnd::Refused(failed(&format!("standard input: {error}"))),
    };
    match (end, feeder.finish()) {
        (StdinEnd::Refused(code), _) => code,
        (StdinEnd::Finished, Ok(outcome)) => exec::leave(outcome.ended),
        (StdinEnd::Finished, Err(error)) => could_not_start(&ExecError::Spawn { what: "wait", source: error }),
    }
}

/// Disables history expansion, and line editing in bash. In an interactive shell they would turn `!!` or editing keys
/// into commands that were not judged.
fn without_history(call: &mut ShellCall, dialect: Dialect) {
    let off: &[&str] = match dialect {
        Dialect::Bash => &["+H"],
        Dialect::Zsh => &["+o", "banghist"],
        Dialect::Sh => &[],
    };
    let ends = call.options.last().is_some_and(|last| last == "--" || last == "-");
    let at = call.options.len() - usize::from(ends);
    call.options.splice(at..at, off.iter().map(OsString::from));
    if dialect == Dialect::Bash {
        // Long options must come before all others.
        call.options.insert(0, "--noediting".into());
    }
}

/// A running script.
struct StdinSession<'a> {
    engine: &'a Engine,
    shell: &'a Shell,
    options: RunOptions,
    extra: ExtraFd,
    positional: Vec<OsString>,
    /// The commands that have run and whose effects on the shell remain.
    before: Vec<u8>,
    /// Whether a command has run that can redefine a command name.
    defined: bool,
}

impl StdinSession<'_> {
    fn commands(&mut self, feeder: &mut Feeder, inherited: &mut Inherited) -> std::io::Result<StdinEnd> {
        let mut text = Vec::new();
        loop {
            let last = match feeder.line(MAX_LINE)? {
                StdinChunk::Over => return Ok(StdinEnd::Finished),
                StdinChunk::Line(line) => {
                    text.extend(line);
                    false
                }
                StdinChunk::End(line) => {
                    text.extend(line);
                    if text.is_empty() {
                        return Ok(StdinEnd::Finished);
                    }
                    true
                }
            };
            if !last && syntax::completeness(&text, self.shell.dialect) == Completeness::Incomplete {
                continue;
            }
            let command = std::mem::take(&mut text);
            let script = syntax::parse(&command, self.shell.dialect).ok();
            if script.as_ref().is_some_and(|script| script.items.is_empty()) {
                let lines = command.iter().filter(|byte| **byte == b'\n').count();
                if last || !feeder.pass(lines)? {
                    return Ok(StdinEnd::Finished);
                }
                continue;
            }
            if let Some(why) = script.as_ref().and_then(|script| self.cannot_be_kept(script)) {
                let _ = writeln!(std::io::stderr(), "guard: refused: {why}");
                return Ok(StdinEnd::Refused(exit::REFUSED));
            }
            let line = Line {
                text: command.clone(),
                dialect: self.shell.dialect,
                shell: self.shell.path.clone(),
                options: Vec::new(),
                positional: [self.shell.path.clone().into_os_string()]
                    .into_iter()
                    .chain(self.positional.clone())
                    .collect(),
                before: self.before.clone(),
                envelope: None,
            };
            let invocation = self.engine.caller.invocation(Request::Line(line));
            let ready = feeder.meanwhile(|| authorize::authorize(self.engine, invocation, self.options, inherited));
            let ApprovedCommand { approved, receipt, .. } = match ready {
                Ok(ready) => ready,
                Err(code) => return Ok(StdinEnd::Refused(code)),
            };
            self.defined |= script.as_ref().is_none_or(state::may_define);
            if self.defined || script.as_ref().is_none_or(state::may_change) {
                self.before.extend_from_slice(&command);
            }
            // A syntax error ends a script on standard input, so nothing is left to judge.
            if !feeder.run(approved, receipt, last || script.is_none())? {
                return Ok(StdinEnd::Finished);
            }
        }
    }

    /// Returns the reason why a command would make the shell read commands that are not judged.
    fn cannot_be_kept(&self, script: &Script) -> Option<String> {
        let mut why = None;
        visit::nodes(script, &mut |node| match node {
            Node::Command(syntax::tree::Command::Simple(simple))
                if simple.words.len() == 1
                    && simple.words.first().is_some_and(is_exec)
                    && simple.redirects.iter().any(is_of_stdin) =>
            {
                why = Some(
                    "exec would replace standard input, and the shell would continue reading commands from there; \
                     pass the script as a file (bash SCRIPT) or a string (bash -c)"
                        .to_owned(),
                );
            }
            Node::Redirect(redirect) if self.is_ours(redirect) => {
                why = Some(format!(
                    "guard uses file descriptor {} for this script; use another one, or pass the script as a file",
                    self.extra.0
                ));
            }
            _ => {}
        });
        why
    }

    fn is_ours(&self, redirect: &Redirect) -> bool {
        let number = self.extra.0.to_string();
        let target = match &redirect.target {
            RedirectTarget::Word(word) => text(word).is_some_and(|text| text.trim_end_matches('-') == number),
            RedirectTarget::Heredoc(_) => false,
        };
        target || redirect.fd == RedirectFd::Number(self.extra.0.unsigned_abs())
    }
}

fn is_exec(word: &Word) -> bool {
    text(word).is_some_and(|text| text == "exec")
}

fn is_of_stdin(redirect: &Redirect) -> bool {
    use syntax::tree::RedirectOp::{DuplicateIn, HereString, Heredoc, Read, ReadWrite};
    let reads = matches!(redirect.op, Read | ReadWrite | DuplicateIn | Heredoc | HereString);
    match &redirect.fd {
        RedirectFd::Number(number) => *number == 0,
        RedirectFd::Default => reads,
        RedirectFd::Variable(_) => false,
    }
}

/// Returns the text of a word without quotes.
fn text(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [syntax::tree::Part::Literal(text)] => Some(text),
        _ => None,
    }
}
