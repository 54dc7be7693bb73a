//! Functions and aliases that the command defines, and fork bombs.

use std::rc::Rc;

use super::act::{Act, Operand, Piece, Value, Verb};
use super::command_context::Context;
use super::expand::Field;
use super::fuel::cost;
use super::recursion::{ActiveCall, Callee, NestedCalls};
use super::state::{Build as _, DefinedFunction, State};
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

/// Returns the name under which a suffix alias of zsh (`alias -s txt=…`) is stored. No other alias begins with a dot.
pub(super) fn suffix_alias(suffix: &str) -> String {
    format!(".{suffix}")
}

impl Walker<'_> {
    /// Walks the body of a function.
    pub fn call(
        &mut self,
        state: &mut State,
        context: &Context,
        function: &Rc<DefinedFunction>,
        args: &[Field],
        span: Span,
    ) {
        self.called.insert(function.name.clone());
        let this = Callee::Function(function.name.clone(), Rc::as_ptr(function).addr());
        if context.is_called(&this) && context.beside && !context.under_condition {
            self.fork_bomb(state, context, &function.name, span);
            return;
        }
        let outermost = context.calls.is_empty();
        let spans = if context.source == function.context.source { function.context.spans } else { context.spans };
        let mut inner = Context {
            spans,
            source: function.context.source.clone(),
            beside: !outermost && context.beside,
            under_condition: !outermost && context.under_condition,
            ..context.clone()
        };
        // The enclosing calls are copied too.
        self.input.spend(cost::COPY * context.calls.len() as u64);
        self.input.copies_all(args.iter().map(|field| &field.value));
        let positional = Rc::new(args.iter().map(|field| field.value.clone()).collect());
        let outer = std::mem::replace(&mut state.positional, positional);
        match self.progress().nested(state, context, &this) {
            NestedCalls::Outermost => {
                inner.called(ActiveCall::within(this, state));
                state.scopes.push(Vec::new());
                self.compound(state, &inner, &function.body);
                state.leave_scope();
            }
            NestedCalls::Changed(mut child) => {
                inner.called(ActiveCall::within(this, &child));
                child.scopes.push(Vec::new());
                self.compound(&mut child, &inner, &function.body);
            }
            NestedCalls::Repeats => {}
        }
        state.positional = outer;
    }

    /// Adds the act of a fork bomb.
    #[inline(never)]
    pub fn fork_bomb(&mut self, state: &State, context: &Context, name: &str, span: Span) {
        let verb = Verb::Program { name: ":forkbomb".to_owned(), path: None };
        let act = Act {
            operands: vec![Operand { value: Value::text(name), span }],
            ..self.progress().blank(state, context, verb, span)
        };
        self.emit(state, act);
    }

    /// Walks the text of an alias that the command defined.
    #[inline(never)]
    pub fn alias(
        &mut self,
        state: &mut State,
        context: &Context,
        name: &str,
        text: &Value,
        args: &[Field],
        span: Span,
    ) {
        let mut line = text.clone();
        for arg in args {
            line.push_text(" ");
            for piece in arg.value.pieces() {
                match piece {
                    Piece::Text(text) => line.push_text(&crate::judge::invocation::quote(text)),
                    other => line.push_piece(other),
                }
            }
        }
        let mut context = context.perhaps().elsewhere(span);
        context.called(ActiveCall::of(Callee::Alias(name.to_owned())));
        self.read_value(state, &context, &line, span);
    }
}
