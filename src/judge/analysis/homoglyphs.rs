//! Analyses a command again as it is displayed: without control sequences, and with homoglyphs replaced.

use super::act::{Act, Facts, Input, Verb};
use super::disguise;

/// Returns a command as it is displayed, if that differs from its text.
pub(super) fn displayed(text: &[u8]) -> Option<String> {
    if text.is_ascii() && !text.contains(&b'\x1b') {
        return None;
    }
    disguise::plain_characters(std::str::from_utf8(text).ok()?)
}

impl Facts {
    /// Removes the `first` acts, which are those of the command as it is displayed, if the command itself runs the same
    /// programs.
    pub(super) fn drop_displayed(&mut self, first: usize) {
        let programs = |acts: &[Act]| -> Vec<(Verb, Vec<String>, Vec<String>)> {
            let key = |act: &Act| {
                let flags = act.flags.iter().map(|flag| flag.name.clone()).collect();
                (act.verb.clone(), act.sub.clone(), flags)
            };
            acts.iter().map(key).collect()
        };
        let (displayed, given) = self.acts.split_at(first);
        let given = programs(given);
        if programs(displayed).iter().all(|program| given.contains(program)) {
            let moved = |id: &mut usize| *id = id.saturating_sub(first);
            self.acts.drain(..first);
            self.lines.clear();
            for act in &mut self.acts {
                act.feeds.iter_mut().for_each(moved);
                act.parent.iter_mut().for_each(moved);
                if let Input::Pipe(from) = &mut act.input {
                    from.iter_mut().for_each(moved);
                }
            }
        }
    }
}
