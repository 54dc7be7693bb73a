//! What is walked inside itself: functions, scripts and definitions that call themselves.
//!
//! With the same arguments in the same shell a call inside itself does nothing that was not seen. With others it may do
//! anything else, so it is walked again: a few times with what it is given, then once with unknown values in the place of
//! all that changed on the way there.

use std::rc::Rc;

use super::act::{OpaqueReason, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::progress::WalkProgress;
use super::state::{State, VariableValue, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

/// How often a call is walked inside itself with what it is given, the outermost counted.
const CONCRETE: usize = 2;

/// Something of a name that may lead to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    Alias(String),
    /// A function, and where it lies in memory: one that was defined anew is another one.
    Function(String, usize),
    /// A file that is read as code, by its path.
    File(String),
    /// What settings of a program define, by its name there.
    Definition(String),
    /// A step that guard itself takes once.
    Step(&'static str),
}

/// A call that is being walked.
#[derive(Clone, Debug)]
pub(super) struct ActiveCall {
    pub callee: Callee,
    /// The shell as it began, where it may do something else in another one.
    given: Option<Rc<State>>,
}

impl ActiveCall {
    /// A call that does the same wherever it stands.
    pub fn of(callee: Callee) -> Self {
        Self { callee, given: None }
    }

    /// A call that begins in this shell.
    pub fn within(callee: Callee, state: &State) -> Self {
        Self { callee, given: Some(Rc::new(state.begun())) }
    }
}

/// How a call lies to those that it stands in.
pub(super) enum NestedCalls {
    /// In none of the same.
    Outermost,
    /// In one of the same that began in the same way.
    Repeats,
    /// In one of the same that was given something else. It is walked in this shell, which is then left.
    Changed(Box<State>),
}

impl Walker<'_> {
    /// As [`WalkProgress::nested`], of a definition that is given these values; the context inside it. `None`: it is not walked.
    pub fn begin_definition(
        &mut self,
        state: &State,
        context: &Context,
        what: &str,
        given: &[&Value],
        span: Span,
    ) -> Option<ActiveCall> {
        let callee = Callee::Definition(what.to_owned());
        let mut begun = self.input.fork(state);
        begun.positional = Rc::new(given.iter().map(|value| (*value).clone()).collect());
        let around = context.calls.iter().filter(|call| call.callee == callee).count();
        match self.progress().nested(&begun, context, &callee) {
            NestedCalls::Repeats => None,
            NestedCalls::Changed(_) if around >= CONCRETE => {
                let detail = format!("{what} runs itself in ways that are not known");
                self.opaque(OpaqueReason::Script, detail, span);
                None
            }
            NestedCalls::Outermost | NestedCalls::Changed(_) => Some(ActiveCall::within(callee, &begun)),
        }
    }
}

impl WalkProgress<'_, '_> {
    /// How a call that begins in this shell lies to those around it.
    pub fn nested(&self, state: &State, context: &Context, callee: &Callee) -> NestedCalls {
        let around: Vec<&ActiveCall> = context.calls.iter().filter(|call| call.callee == *callee).collect();
        let Some(last) = around.last() else { return NestedCalls::Outermost };
        let Some(before) = &last.given else { return NestedCalls::Repeats };
        if around.len() < CONCRETE {
            return if begins_alike(state, before) && has_functions_of(state, before) {
                NestedCalls::Repeats
            } else {
                NestedCalls::Changed(self.input.fork(state))
            };
        }
        let mut widened = self.input.fork(state);
        self.widen(&mut widened, before);
        if begins_alike(&widened, before) { NestedCalls::Repeats } else { NestedCalls::Changed(widened) }
    }

    /// Makes unknown what is not the same as it was before.
    fn widen(&self, state: &mut State, before: &State) {
        const CHANGED: UnknownReason = UnknownReason::Other("one of many values");
        if state.positional != before.positional {
            let taint = state.positional.iter().fold(Taint::default(), |all, value| all.and(value.taint()));
            state.positional = Rc::new(vec![unknown(CHANGED, taint)]);
        }
        for name in state.changed_variables(before) {
            let taint = match state.variable(&name).and_then(|variable| variable.values.first()) {
                Some(VariableValue::Scalar(value)) => value.taint(),
                _ => Taint::default(),
            };
            state.set_scalar(&name, unknown(CHANGED, taint));
        }
        if state.cwd != before.cwd {
            state.move_to(None);
        }
        if state.streams.stdin != before.streams.stdin {
            let (text, taint, _) = self.stdin_of(state);
            let text = unknown(UnknownReason::Input, taint.and(text.taint()));
            state.streams.stdin = Stream::Text(Rc::new(text));
        }
        state.aliases = before.aliases.clone();
    }
}

/// Whether two shells are the same for a call that begins in them.
fn begins_alike(state: &State, before: &State) -> bool {
    state.positional == before.positional
        && state.cwd == before.cwd
        && state.has_variables_of(before)
        && state.aliases == before.aliases
        && state.streams.stdin == before.streams.stdin
}

/// Whether two shells have the same functions.
fn has_functions_of(state: &State, before: &State) -> bool {
    state.functions.len() == before.functions.len()
        && state.functions.iter().zip(before.functions.iter()).all(|((_, one), (_, two))| Rc::ptr_eq(one, two))
}

impl Context {
    /// Inside one more call.
    pub fn called(&mut self, call: ActiveCall) {
        self.calls = self.calls.iter().cloned().chain([call]).collect();
    }

    /// Whether it is inside a call of this.
    pub fn is_called(&self, callee: &Callee) -> bool {
        self.calls.iter().any(|other| other.callee == *callee)
    }

    /// The same place in a text of its own: an alias stands for something there, whatever it was that led to the text.
    pub fn in_new_text(mut self) -> Self {
        if self.calls.iter().any(|call| matches!(call.callee, Callee::Alias(_))) {
            self.calls = self.calls.iter().filter(|call| !matches!(call.callee, Callee::Alias(_))).cloned().collect();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::OpaqueReason;
    use super::super::testing::{dump, facts, facts_with, line, programs, removes};

    #[test]
    fn a_function_that_is_called_inside_itself_with_other_arguments_is_walked_again() {
        removes("f() { \"$@\"; }; f f rm -r /srv/x", &["rm -r /srv/x"]);
        removes("f() { eval \"$1\"; }; f \"f 'rm -r /srv/x'\"", &["rm -r /srv/x"]);
        removes("f() { shift; \"$@\"; }; f x f y rm -r /srv/x", &["rm -r /srv/x"]);
        removes("f() { $C; C='rm -r /srv/x'; f; }; C=ls; f", &["rm -r /srv/x"]);
        removes("f() { $C; C='rm -r /srv/x' f; }; C=ls; f", &["rm -r /srv/x"]);
        removes("alias r=eval; r \"r 'rm -r /srv/x'\"", &["rm -r /srv/x"]);
    }

    #[test]
    fn what_is_given_deeper_down_is_not_known() {
        for line in [
            "f() { \"$@\"; }; f f f f rm -r /srv/x",
            "f() { $A; A=$B; B=$C; C=$D; f; }; A=ls; B=ls; C=ls; D='rm -r /srv/x'; f",
            "f() { sh; echo 'rm -r /srv/x' | g; }; g() { sh; echo ls | f; }; f",
        ] {
            let facts = facts(line);
            let found = dump(&facts);
            assert!(found.contains("rm -r /srv/x") || !facts.opaque.is_empty(), "{line}\n{found}");
        }
    }

    #[test]
    fn a_function_that_is_called_inside_itself_in_the_same_way_is_walked_once() {
        removes("f() { rm x; f; }; f", &["rm x"]);
        removes("f() { rm x; f; f; f; }; f", &["rm x"]);
        for line in [
            "f() { [ \"$1\" -gt 0 ] && f $(($1 - 1)); echo \"$1\"; }; f 10",
            "walk() { for f in \"$1\"/*; do if [ -d \"$f\" ]; then walk \"$f\"; else echo \"$f\"; fi; done; }; walk src",
            "fib() { if [ $1 -lt 2 ]; then echo $1; else echo $(($(fib $(($1-1))) + $(fib $(($1-2))))); fi; }; fib 9",
            "ls() { command ls -la \"$@\"; }; ls src",
            "alias ls='ls --color'; ls src",
        ] {
            let facts = facts(line);
            assert!(facts.opaque.is_empty(), "{line}\n{}", dump(&facts));
            assert!(facts.acts.len() < 64, "{line}\n{}", dump(&facts));
        }
    }

    #[test]
    fn a_script_that_runs_itself_with_other_arguments_is_read_again() {
        let files = [("/home/dev/project/q.sh", "\"$@\"\n")];
        for command in ["sh q.sh sh q.sh rm -r /srv/x", "./q.sh ./q.sh rm -r /srv/x", ". ./q.sh . ./q.sh rm -r /srv/x"]
        {
            let facts = facts_with(&line(command), &files);
            assert!(programs(&facts).iter().any(|act| act == "rm -r /srv/x"), "{command}\n{}", dump(&facts));
        }
        let files = [("/home/dev/project/own.sh", "sh own.sh\nrm x\n")];
        assert!(facts_with(&line("sh own.sh"), &files).opaque.is_empty());
    }

    #[test]
    fn a_definition_that_runs_itself_with_other_settings_is_read_again() {
        let manifest = r#"{"scripts": {"x": "eval"}}"#;
        let files = [("/home/dev/project/package.json", manifest)];
        let facts = facts_with(&line("npm run x -- \"npm run x -- 'rm -r /srv/x'\""), &files);
        assert!(
            programs(&facts).iter().any(|act| act == "rm -r /srv/x") || !facts.opaque.is_empty(),
            "{}",
            dump(&facts)
        );
        let files = [("/home/dev/project/Makefile", "all:\n\t$(CMD)\n")];
        let facts = facts_with(&line("make all CMD='make all CMD=\"rm -r /srv/x\"'"), &files);
        assert!(programs(&facts).iter().any(|act| act == "rm -r /srv/x"), "{}", dump(&facts));
        assert!(!facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Limit));
    }
}
