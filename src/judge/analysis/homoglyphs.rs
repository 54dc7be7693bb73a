//! Analyses a command again as it is displayed: without control sequences, and with homoglyphs replaced.

use super::act::{Act, Disguise};
use super::command_context::Context;
use super::disguise;
use super::state::State;
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

impl Walker<'_> {
    /// Walks the command as it is displayed, if that runs other programs.
    pub fn as_displayed(&mut self, state: &State, context: &Context, text: &[u8]) {
        if text.is_ascii() && !text.contains(&b'\x1b') {
            return;
        }
        let Ok(text) = std::str::from_utf8(text) else { return };
        let Some(plain) = disguise::plain_characters(text) else { return };
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let context =
            Context { disguise: Some(Disguise::Characters), ..context.perhaps().elsewhere(Span::new(0, end)) };
        let mut state = self.input.fork(state);
        let opaque = self.facts.opaque.len();
        self.text(&mut state, &context, &plain);
        // No shell parses this text, so that a syntax error in it has no meaning.
        self.facts.opaque.truncate(opaque);
        self.limits.reached = false;
    }

    /// Removes the acts of [`Self::as_displayed`] if the command itself runs the same programs.
    pub fn forget_what_is_the_same(&mut self, first: usize) {
        let programs = |acts: &[Act]| -> Vec<(super::act::Verb, Vec<String>, Vec<String>)> {
            let key = |act: &Act| {
                let flags = act.flags.iter().map(|flag| flag.name.clone()).collect();
                (act.verb.clone(), act.sub.clone(), flags)
            };
            acts.iter().map(key).collect()
        };
        let (displayed, given) = self.facts.acts.split_at(first);
        let given = programs(given);
        if programs(displayed).iter().all(|program| given.contains(program)) {
            let moved = |id: &mut usize| *id = id.saturating_sub(first);
            self.facts.acts.drain(..first);
            self.facts.lines.clear();
            for act in &mut self.facts.acts {
                act.feeds.iter_mut().for_each(moved);
                act.parent.iter_mut().for_each(moved);
                if let super::act::Input::Pipe(from) = &mut act.input {
                    from.iter_mut().for_each(moved);
                }
            }
        }
    }
}
