//! Recursion: functions, scripts and definitions that call themselves.
//!
//! A recursive call with equal arguments in an equal state adds nothing. With others it may do something else, so it is
//! walked again: a few times with its arguments, then once with unknown values for everything that changed since the
//! outermost call.

use std::rc::Rc;

use super::act::{OpaqueReason, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::progress::WalkProgress;
use super::state::{State, VariableValue, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

/// Maximum number of nested walks of a call with known arguments, including the outermost.
const CONCRETE: usize = 2;

/// Something that may call itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    Alias(String),
    /// A function, with its address: a redefined function is another one.
    Function(String, usize),
    /// A file that is walked as code, by its path.
    File(String),
    /// A definition in settings of a program, by its name.
    Definition(String),
    /// A step of the analysis that must not be nested.
    Step(&'static str),
}

/// A call that is being walked.
#[derive(Clone, Debug)]
pub(super) struct ActiveCall {
    pub callee: Callee,
    /// The state in which it began, if its effect may depend on that.
    given: Option<Rc<State>>,
}

impl ActiveCall {
    /// Creates a call whose effect does not depend on the state.
    pub fn of(callee: Callee) -> Self {
        Self { callee, given: None }
    }

    /// Creates a call that begins in this state.
    pub fn within(callee: Callee, state: &State) -> Self {
        Self { callee, given: Some(Rc::new(state.begun())) }
    }
}

/// The relation of a call to the enclosing calls.
pub(super) enum NestedCalls {
    /// It is not recursive.
    Outermost,
    /// It is recursive, and began in an equal state.
    Repeats,
    /// It is recursive, and began in another state. It is walked in this state, which is then dropped.
    Changed(Box<State>),
}

impl Walker<'_> {
    /// Like [`WalkProgress::nested`], for a definition with these arguments. Returns the context inside it, or `None`
    /// if it is not walked.
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
    /// Returns the relation of a call in this state to the enclosing calls.
    pub fn nested(&self, state: &State, context: &Context, callee: &Callee) -> NestedCalls {
        self.input.spend((context.calls.len() + state.functions.len() / 4) as u64);
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

    /// Makes everything unknown that changed since an earlier state.
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

/// Reports whether a call cannot distinguish two states.
fn begins_alike(state: &State, before: &State) -> bool {
    state.positional == before.positional
        && state.cwd == before.cwd
        && state.has_variables_of(before)
        && state.aliases == before.aliases
        && state.streams.stdin == before.streams.stdin
}

/// Reports whether two states have equal functions.
fn has_functions_of(state: &State, before: &State) -> bool {
    state.functions.len() == before.functions.len()
        && state.functions.iter().zip(before.functions.iter()).all(|((_, one), (_, two))| Rc::ptr_eq(one, two))
}

impl Context {
    /// Adds an enclosing call.
    pub fn called(&mut self, call: ActiveCall) {
        self.calls = self.calls.iter().cloned().chain([call]).collect();
        // What is called may call itself, which is not walked.
        self.repeated = true;
    }

    /// Reports whether an enclosing call is one of this.
    pub fn is_called(&self, callee: &Callee) -> bool {
        self.calls.iter().any(|other| other.callee == *callee)
    }

    /// Returns the context of a separate text, in which aliases apply again.
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
