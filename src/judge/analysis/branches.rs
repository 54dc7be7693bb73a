//! Walks a command once for each combination of the possible values of its variables.

use super::act::UnknownReason;
use super::map::Map;
use super::state::{Build as _, MAX_CHOICES, State, unknown};
use super::walk::Walker;

impl Walker<'_> {
    /// Performs a walk once for each combination of the values of the variables that it looks up.
    pub fn choices(&mut self, state: &mut State, run: &mut dyn FnMut(&mut Self, &mut State)) {
        if state.several.is_empty() {
            run(self, state);
        } else {
            self.several(state, run);
        }
    }

    #[inline(never)]
    fn several(&mut self, state: &mut State, run: &mut dyn FnMut(&mut Self, &mut State)) {
        // An inner walk uses the values that are selected here; it selects only values of variables that get several
        // values in it.
        let several = std::mem::take(&mut state.several);
        let outer_seen = std::mem::take(&mut self.expansion.seen);
        let sink = state.streams.stdout.sink();
        let text_before = sink.and_then(|id| self.sinks.get(id)).map(|sink| sink.text.clone());
        let entry = self.input.fork(state);
        run(self, state);
        let seen = std::mem::replace(&mut self.expansion.seen, outer_seen);
        let mut looked_up: Vec<(String, usize)> = Vec::new();
        for (name, ()) in seen.iter() {
            let count = entry.variable(name).map_or(0, |variable| variable.values.len());
            if count > 1 && several.contains_key(name) && !entry.chosen.contains_key(&**name) {
                looked_up.push((name.to_string(), count));
            } else {
                self.expansion.seen.insert(name, ());
            }
        }
        let mut combination: Vec<usize> = vec![0; looked_up.len()];
        let mut runs = 1;
        while runs < MAX_CHOICES && advance(&mut combination, &looked_up) {
            let mut other = self.input.fork(&entry);
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
            // Each walk wrote the output of one run.
            let taint = sink.text.taint();
            sink.text = before;
            sink.text.push_value(&unknown(UnknownReason::CommandOutput, taint));
        }
        for (name, _) in &looked_up {
            state.chosen.remove(name);
        }
        let new: Map<()> = std::mem::replace(&mut state.several, several);
        state.several.add_missing(&new);
    }
}

/// Advances to the next combination. `false`: it was the last one.
fn advance(combination: &mut [usize], counts: &[(String, usize)]) -> bool {
    for (index, (_, count)) in combination.iter_mut().zip(counts) {
        *index += 1;
        if *index < *count {
            return true;
        }
        *index = 0;
    }
    false
}
