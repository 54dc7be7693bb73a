//! Choices: a command is walked once for each way that its variables may stand.

use super::act::UnknownReason;
use super::state::{Build as _, MAX_CHOICES, State, unknown};
use super::walk::Walker;

impl Walker<'_> {
    /// Runs a walk once for each value of the variables that it looks up and that have several.
    pub fn choices(&mut self, state: &mut State, run: &mut dyn FnMut(&mut Self, &mut State)) {
        let values = |name: &String| state.variables.get(name).map_or(0, |variable| variable.values.len());
        let several: Vec<(String, usize)> = state
            .several
            .iter()
            .map(|name| (name.clone(), values(name)))
            .filter(|(name, values)| *values > 1 && !state.chosen.contains_key(name))
            .collect();
        if several.is_empty() {
            run(self, state);
            return;
        }
        self.several(state, &several, run);
    }

    #[inline(never)]
    pub fn several(
        &mut self,
        state: &mut State,
        several: &[(String, usize)],
        run: &mut dyn FnMut(&mut Self, &mut State),
    ) {
        let outer_seen = std::mem::take(&mut self.seen);
        let sink = state.streams.stdout.sink();
        let text_before = sink.and_then(|id| self.sinks.get(id)).map(|sink| sink.text.clone());
        for (name, _) in several {
            state.chosen.insert(name.clone(), 0);
        }
        let entry = state.fork();
        run(self, state);
        let looked_up: Vec<(String, usize)> =
            several.iter().filter(|(name, _)| self.seen.contains(name)).cloned().collect();
        let mut combination: Vec<usize> = vec![0; looked_up.len()];
        let mut runs = 1;
        while runs < MAX_CHOICES && advance(&mut combination, &looked_up) {
            let mut other = entry.fork();
            for ((name, _), index) in looked_up.iter().zip(&combination) {
                other.chosen.insert(name.clone(), *index);
            }
            run(self, &mut other);
            state.join(&other);
            runs += 1;
        }
        if runs > 1
            && let (Some(id), Some(before)) = (sink, text_before)
            && let Some(sink) = self.sinks.get_mut(id)
            && sink.text != before
        {
            // Each run wrote what it would have written alone.
            let taint = sink.text.taint();
            sink.text = before;
            sink.text.push_value(&unknown(UnknownReason::CommandOutput, taint));
        }
        for (name, _) in several {
            state.chosen.remove(name);
        }
        self.seen = outer_seen;
    }
}

/// Counts the combination up by one. `false`: it was the last.
pub(super) fn advance(combination: &mut [usize], counts: &[(String, usize)]) -> bool {
    for (index, (_, count)) in combination.iter_mut().zip(counts) {
        *index += 1;
        if *index < *count {
            return true;
        }
        *index = 0;
    }
    false
}
