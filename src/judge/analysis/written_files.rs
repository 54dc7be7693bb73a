//! The content of files that programs write, and the secrets in them.

use std::collections::HashSet;

use super::act::{Act, Effect, Operand, Taint, UnknownReason, Value};
use super::arguments::{Arg, DerivedEffect, Reading};
use super::command_context::Context;
use super::state::{Build as _, State, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::rules::model::{OutputTaint, Printed, Program};
use crate::judge::rules::word_lists;

/// A text that an editor inserts into a file.
struct Insertion {
    /// The plain text that it replaces. Without one it is a line of its own.
    instead_of: Option<String>,
    text: String,
}

/// Returns what an editor inserts, by the scripts among its arguments.
fn insertions(act: &Act) -> Vec<Insertion> {
    let mut all = Vec::new();
    for script in act.args.iter().filter_map(Value::known) {
        // `1i text`, `$a text`: everything after the command is the text.
        if let Some(text) = without_address(&script).strip_prefix(['i', 'a', 'c'])
            && text.starts_with([' ', '\\', '\n'])
        {
            let text = text.trim_start_matches(['\\', '\n', ' ']);
            all.push(Insertion { instead_of: None, text: text.to_owned() });
        }
        all.extend(script.split(['\n', ';']).filter_map(|command| substitution(without_address(command))));
    }
    all
}

/// Returns an editor's command without its line numbers: `1,$s/a/b/` without `1,$`.
fn without_address(command: &str) -> &str {
    command.trim_start_matches(|c: char| c.is_ascii_digit() || ",$ ".contains(c))
}

/// Reads `s/…/…/`.
fn substitution(command: &str) -> Option<Insertion> {
    let rest = command.strip_prefix('s')?;
    let mark = rest.chars().next().filter(|mark| !mark.is_alphanumeric() && *mark != '\\')?;
    let mut parts = rest.split(mark).skip(1);
    let (pattern, text) = (parts.next()?, parts.next()?);
    let plain = !pattern.is_empty() && !pattern.contains(['\\', '.', '*', '[', '^', '$', '(', '{', '+', '?', '|']);
    Some(Insertion { instead_of: plain.then(|| pattern.to_owned()), text: text.to_owned() })
}

/// Returns the content of a file after an editor inserted all of these. Of an unknown old content only the insertions are
/// returned.
fn edited(old: Option<String>, insertions: &[Insertion]) -> String {
    let knows = old.is_some();
    let mut all = old.unwrap_or_default();
    for Insertion { instead_of, text } in insertions {
        match instead_of.as_ref().filter(|_| knows) {
            Some(plain) => all = all.replace(plain, text),
            None => {
                if !all.is_empty() && !all.ends_with('\n') {
                    all.push('\n');
                }
                all.push_str(text);
                all.push('\n');
            }
        }
    }
    all
}

impl Walker<'_> {
    /// Stores what a program writes to the files that its arguments name.
    #[inline(never)]
    pub fn written_by(
        &mut self,
        state: &State,
        context: &Context,
        derived: &DerivedEffect,
        reading: &Reading,
        parent: usize,
    ) {
        if reading.compiles {
            return;
        }
        let act = self.facts.acts.get(parent);
        let taint = act.map(|act| act.taint).unwrap_or_default();
        let is_call = act.is_some_and(|act| act.verb.key().contains(':'));
        let program = act.and_then(|act| self.input.catalog.program(act.verb.key()));
        // A file that is edited in place keeps its content, with what the editor inserts.
        let edits = reading.code.iter().any(|source| word_lists::EDITING_LANGUAGES.contains(&source.language.as_str()));
        let edits = act.filter(|_| edits).map(insertions);
        // A clone of a local repository is not downloaded.
        let clones = program.is_some_and(|program| program.tree.is_some());
        let is_here = |on: &Operand| clones && on.value.leading().starts_with(['/', '.', '~']);
        let fetches = reading.effects.iter().any(|derived| {
            derived.effect == Effect::Fetch && (derived.on.is_empty() || !derived.on.iter().all(is_here))
        });
        let targets: HashSet<&Value> = derived.on.iter().map(|on| &on.value).collect();
        let is_target = |value: &Value| targets.contains(value);
        let read = reading
            .effects
            .iter()
            .filter(|derived| matches!(derived.effect, Effect::Load | Effect::Show | Effect::Move | Effect::Link));
        let sources: Vec<&Value> = reading
            .operands
            .iter()
            .chain(read.flat_map(|derived| &derived.on))
            .map(|operand| &operand.value)
            .filter(|value| !is_target(value))
            .collect();
        let comes = |source: &&Value| state.file(source).is_some_and(|path| self.progress().is_fetched(&path));
        let given = reading.flags.iter().filter_map(|flag| flag.value.as_ref()).filter(|value| !is_target(value));
        let fetches =
            fetches || !self.files.written.is_empty() && sources.iter().copied().chain(given).any(|from| comes(&from));
        let taint = if fetches { taint.and(Taint::FETCHED) } else { taint };
        // Files copied from another host count as downloaded. The target is among the arguments.
        let flags = || reading.flags.iter().filter_map(|flag| flag.value.as_ref());
        let is_told = reading.operands.iter().map(|operand| &operand.value).chain(flags()).any(is_target);
        let remote = !fetches && is_told && sources.iter().any(|source| super::paths::is_remote(&source.leading()));
        let taint = if remote { taint.and(Taint::FETCHED) } else { taint };
        let copies = reading.output == OutputTaint::Copies && !fetches && !remote;
        let calls = is_call && reading.effects.iter().all(|derived| derived.effect.writes());
        let files_are_copied = copies && program.is_some_and(|program| program.copies);
        // Other programs transform their input: they decrypt, sort or format it.
        let moves = reading.effects.iter().any(|derived| matches!(derived.effect, Effect::Link | Effect::Move));
        let unchanged = copies && (is_call || moves || program.is_none_or(Program::hands_on));
        let text = match sources.as_slice() {
            _ if edits.is_some() => Value::default(),
            // A call writes its argument.
            [given] if calls => (*given).clone(),
            // The file exists afterwards, with the same content as before.
            [] if derived.effect == Effect::Append
                && program.is_some_and(|program| program.may_print(Printed::Nothing)) =>
            {
                Value::default()
            }
            // A filter that writes a file.
            [] if unchanged => self.progress().stdin_of(state).0,
            // A copy has the content of its source, which is looked up if the copy runs.
            [source, rest @ ..] if unchanged && rest.iter().all(|other| other == source) => {
                match self.progress().content_of(state, source) {
                    Some(text) => text,
                    None => {
                        for target in &derived.on {
                            self.copied(state, context, source, &target.value);
                        }
                        return;
                    }
                }
            }
            // Several files are copied into a directory.
            sources
                if files_are_copied
                    && sources.iter().any(|source| self.progress().content_of(state, source).is_none()) =>
            {
                for target in &derived.on {
                    let mut context = context.clone();
                    for source in sources {
                        self.copied(state, &context, source, &target.value);
                        context.conditional = true;
                    }
                }
                return;
            }
            _ => {
                // An archive contains its files.
                let holds = reading.output == OutputTaint::Copies
                    && sources.iter().any(|on| self.progress().is_secret(state, on));
                unknown(UnknownReason::CommandOutput, if holds { taint.and(Taint::SECRET) } else { taint })
            }
        };
        // A filter without input empties the file: `tee file < /dev/null`.
        let filters = program.is_some_and(|program| program.may_print(Printed::Input));
        if filters && derived.effect == Effect::Write && matches!(state.streams.stdin, Stream::Nothing) {
            for target in &derived.on {
                let word = |text: &str| Arg::word(Value::text(text), target.span);
                let words = [word("-s"), word("0"), Arg::of(target)];
                self.stands_for(state, context, ":", "truncate", &words, target.span);
            }
        }
        // In a directory the file keeps its name.
        let name = match sources.as_slice() {
            [source] if remote || files_are_copied => {
                source.known().and_then(|text| Some(text.rsplit(['/', ':']).next()?.to_owned()))
            }
            _ => None,
        };
        for target in &derived.on {
            let mut place = target.value.clone();
            if let Some(name) = name.as_ref().filter(|_| place.is(".") || place.rough().ends_with('/')) {
                place.push_text("/");
                place.push_text(name);
            }
            let Some(key) = state.file(&place) else { continue };
            let old = self.progress().content_of(state, &place).and_then(|old| old.known_text());
            let text = edits.as_ref().map_or_else(|| text.clone(), |edits| Value::text(edited(old.clone(), edits)));
            // The unknown content remains, besides the insertions.
            let stays = edits.is_some() && old.is_none();
            let older = stays && !self.files.holds(&key);
            let append = derived.effect == Effect::Append;
            let sink = self.files.open(&mut self.sinks, key, append, context.conditional || stays);
            if let Some(sink) = self.sinks.get_mut(sink) {
                sink.write(&text, taint, false);
                sink.older |= older;
            }
        }
    }
}
