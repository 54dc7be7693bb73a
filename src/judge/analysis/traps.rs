//! Traps: code that a shell runs later, in its state at that time.

use std::ops::Range;
use std::rc::Rc;

use super::act::{OpaqueReason, Piece, Taint, Unknown, UnknownReason, Value};
use super::command_context::Context;
use super::state::{Build as _, State, VariableValue, unknown};
use super::walk::Walker;
use crate::judge::syntax::tree::{Dialect, Span};

/// Maximum number of traps of a shell.
const MAX_TRAPS: usize = 16;

/// A trap.
#[derive(Debug)]
pub(super) struct Trap {
    /// The signal; `None` if it is unknown.
    signal: Option<String>,
    action: Value,
    context: Context,
    span: Span,
    /// The acts of its code when it was set.
    acts: Range<usize>,
}

/// The hook functions of zsh. Arrays with their names contain further ones.
const HOOKS: [&str; 7] =
    ["chpwd", "command_not_found_handler", "periodic", "precmd", "preexec", "zshaddhistory", "zshexit"];

/// The function that bash calls if it does not find a program.
const NOT_FOUND: &str = "command_not_found_handle";

impl Walker<'_> {
    /// Walks the hook functions of a shell in its final state.
    #[inline(never)]
    fn hooks(&mut self, state: &State) {
        if state.functions.is_empty() {
            return;
        }
        let hooked = |name: &str| -> Vec<String> {
            let array = state.variable(&format!("{name}_functions")).and_then(|array| array.values.first());
            let listed = match array {
                Some(VariableValue::Array(elements)) => {
                    elements.iter().filter_map(|(_, name)| name.known_text()).collect()
                }
                _ => Vec::new(),
            };
            std::iter::once(name.to_owned()).chain(listed).collect()
        };
        let traps = state.functions.beginning("TRAP").map(|(name, _)| name.to_string());
        let names: Vec<String> = HOOKS.iter().flat_map(|name| hooked(name)).chain(traps).collect();
        let names = names.iter().map(String::as_str).chain([NOT_FOUND]);
        for function in names.filter_map(|name| state.functions.get(name)).cloned() {
            let is_called = match function.context.dialect {
                Dialect::Zsh => &*function.name != NOT_FOUND,
                Dialect::Bash | Dialect::Sh => &*function.name == NOT_FOUND,
            };
            if is_called && !self.called.contains(&function.name) {
                let mut state = state.fork();
                let given = unknown(UnknownReason::Other("what the shell calls a function with"), Taint::default());
                state.positional = Rc::new(vec![given]);
                self.compound(&mut state, &function.context.perhaps(), &function.body);
            }
        }
    }

    /// Sets or resets the traps of signals. `first` is the index of the first act of the code.
    #[inline(never)]
    pub fn set_traps(
        &mut self,
        state: &mut State,
        context: &Context,
        action: Option<(&Value, usize)>,
        signals: &[Value],
        span: Span,
    ) {
        for signal in signals {
            let signal = signal.known().map(|name| plain_name(&name));
            // In a condition, the previous trap may remain.
            if !context.conditional {
                state.traps.retain(|trap| trap.signal != signal || signal.is_none());
            }
            if let Some((action, first)) = action
                && state.traps.len() < MAX_TRAPS
            {
                let context = Context { conditional: true, repeated: true, ..context.clone() };
                let acts = first..self.facts.acts.len();
                state.traps.push(Rc::new(Trap { signal, action: action.clone(), context, span, acts }));
            }
        }
    }

    /// Applies the effect of a trap on the state of the shell.
    #[inline(never)]
    pub fn interrupted(&mut self, state: &mut State, after: &State, signals: &[Value], action: &Value, span: Span) {
        let ends = |name: &str| matches!(name, "EXIT" | "INT" | "TERM" | "HUP" | "QUIT");
        let signals: Vec<String> = signals.iter().map(|name| plain_name(&name.rough())).collect();
        if signals.iter().all(|name| ends(name)) || action.known().is_some_and(|text| text.contains("exit")) {
            return;
        }
        if after.has_variables_of(state) && after.cwd == state.cwd {
            return;
        }
        if signals.iter().any(|name| name == "DEBUG") {
            self.opaque(OpaqueReason::Code, "a trap changes the shell before each command", span);
        }
        state.join(after);
    }

    /// Walks the traps of a shell that ends, in its final state.
    #[inline(never)]
    pub fn end_of_shell(&mut self, state: &mut State) {
        self.hooks(state);
        let traps = std::mem::take(&mut state.traps);
        for (index, trap) in traps.iter().enumerate() {
            let same = |other: &Rc<Trap>| other.action == trap.action && other.span == trap.span;
            if !traps.iter().take(index).any(same) {
                let mut last = self.input.fork(state);
                let second = self.facts.acts.len();
                self.read_value(&mut last, &trap.context, &trap.action, trap.span);
                self.empty_until_set(state, trap);
                if trap.acts.end == second {
                    self.forget_repetition(trap.acts.start, second);
                }
            }
        }
    }
}

impl Walker<'_> {
    /// Adjusts the acts of a trap when it was set: a variable that is set only later was empty then.
    fn empty_until_set(&mut self, state: &State, trap: &Trap) {
        let is_set = |value: &Value| match value.pieces() {
            [Piece::Unknown(Unknown { why: UnknownReason::Variable(name), taint })] => {
                *taint == Taint::default() && state.sets(name)
            }
            _ => false,
        };
        for act in self.facts.acts.get_mut(trap.acts.clone()).into_iter().flatten() {
            let operands = act.operands.iter_mut().map(|operand| &mut operand.value);
            operands.chain(&mut act.args).filter(|value| is_set(value)).for_each(|value| *value = Value::text(""));
        }
    }
}

/// Returns the name of a signal without a prefix, as `trap` lists it.
fn plain_name(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "0" => "EXIT".to_owned(),
        "1" => "HUP".to_owned(),
        "2" => "INT".to_owned(),
        "3" => "QUIT".to_owned(),
        "15" => "TERM".to_owned(),
        plain => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{facts, removes};

    #[test]
    fn a_trap_runs_in_the_state_that_the_shell_ends_in() {
        removes("x=a; trap 'rm $x' EXIT; x=b", &["rm a", "rm b"]);
        removes("trap f EXIT; f() { rm x; }", &["rm x"]);
        removes("(x=a; trap 'rm $x' EXIT; x=b)", &["rm a", "rm b"]);
        removes("bash -c \"x=a; trap 'rm \\$x' EXIT; x=b\"", &["rm a", "rm b"]);
        removes("echo \"$(x=a; trap 'rm $x' EXIT; x=b)\"", &["rm a", "rm b"]);
        removes("{ x=a; trap 'rm $x' EXIT; x=b; } | cat", &["rm a", "rm b"]);
        removes("x=a; trap 'rm $x' EXIT; cat f > a", &["rm a", "rm a"]);
        // The variable had no value until then.
        removes("if true; then trap 'rm $x' 0; fi; x=b", &["rm ", "rm b"]);
    }

    #[test]
    fn a_trap_that_was_taken_back_does_not_run_at_the_end() {
        removes("x=a; trap 'rm $x' EXIT; trap - EXIT; x=b", &["rm a"]);
        removes("x=a; trap 'rm $x' EXIT; trap 'echo' SIGEXIT; x=b", &["rm a"]);
        removes("x=a; trap 'rm $x' EXIT; (x=b)", &["rm a"]);
    }

    #[test]
    fn a_trap_before_each_command_may_change_what_it_is_given() {
        assert!(!facts("x=a; trap 'x=b' DEBUG; rm $x").opaque.is_empty());
        assert!(facts("x=a; trap 'echo $x' DEBUG; rm $x").opaque.is_empty());
        removes("x=a; trap 'x=b' ERR; false; rm $x", &["rm a", "rm b"]);
        removes("x=a; trap 'x=b; exit 1' ERR; false; rm $x", &["rm a"]);
    }
}
