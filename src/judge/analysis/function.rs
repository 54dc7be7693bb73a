//! Functions and aliases that the line defines, and what starts itself without end.

use std::rc::Rc;

use super::act::{Act, Operand, Piece, Value, Verb};
use super::enclosing::Frame;
use super::expand::Field;
use super::state::{Build as _, Defined, State};
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

impl Walker<'_> {
    /// Calls a function.
    pub fn call(&mut self, state: &mut State, frame: &Frame, function: &Rc<Defined>, args: &[Field], span: Span) {
        self.called.insert(function.name.clone());
        // A function that was defined anew on the way is another one.
        let this = format!("function {} {:p}", function.name, Rc::as_ptr(function));
        if frame.is_called(&this) {
            if frame.beside && !frame.under_condition {
                self.fork_bomb(state, frame, &function.name, span);
            }
            return;
        }
        let outermost = frame.calls.is_empty();
        let spans = if frame.source == function.frame.source { function.frame.spans } else { frame.spans };
        let mut inner = Frame {
            spans,
            source: function.frame.source.clone(),
            beside: !outermost && frame.beside,
            under_condition: !outermost && frame.under_condition,
            ..frame.clone()
        };
        inner.called(&this);
        let positional = Rc::new(args.iter().map(|field| field.value.clone()).collect());
        let outer = std::mem::replace(&mut state.positional, positional);
        state.scopes.push(Vec::new());
        self.compound(state, &inner, &function.body);
        state.leave_scope();
        state.positional = outer;
    }

    /// Something that starts itself beside itself.
    #[inline(never)]
    pub fn fork_bomb(&mut self, state: &State, frame: &Frame, name: &str, span: Span) {
        let verb = Verb::Program { name: ":forkbomb".to_owned(), path: None };
        let act =
            Act { operands: vec![Operand { value: Value::text(name), span }], ..self.blank(state, frame, verb, span) };
        self.emit(state, act);
    }

    /// An alias that the line defined: it is read as if it stood there.
    #[inline(never)]
    pub fn alias(&mut self, state: &mut State, frame: &Frame, name: &str, text: &Value, args: &[Field], span: Span) {
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
        let mut frame = frame.perhaps().elsewhere(span);
        frame.called(&format!("alias {name}"));
        self.read_value(state, &frame, &line, span);
    }
}
