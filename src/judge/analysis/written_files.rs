//! The content of files that programs write, and the secrets in them.

use std::collections::HashSet;

use super::act::{Act, Effect, Operand, Taint, UnknownReason, Value};
use super::arguments::{CodeFrom, DerivedEffect, Reading};
use super::files::{FileUpdate, WrittenData};
use super::place::Place;
use super::progress::WalkProgress;
use super::replacements::{self, EditedText, TextChange};
use super::state::{Build as _, State, unknown};
use super::streams::Stream;
use crate::judge::rules::model::{Language, OutputTaint, Printed, Program};
use crate::judge::rules::word_lists;

/// Returns the changes that an editor makes to its files; `None` if its scripts are not known or do more.
pub(super) fn changes_by(reading: &Reading) -> Option<Vec<TextChange>> {
    let mut scripts = Vec::new();
    for source in reading.code.iter().filter(|source| word_lists::EDITING_LANGUAGES.contains(&&*source.language)) {
        let CodeFrom::Inline(script, _) = &source.from else { return None };
        scripts.push((script.known()?, Language::of(&source.language) == Some(Language::Perl)));
    }
    let mut all = Vec::new();
    for (script, computes) in scripts {
        all.extend(replacements::changes(&script, computes)?);
    }
    if reading.flags.iter().any(|flag| word_lists::WHOLE_TEXT_FLAGS.contains(&&*flag.name)) {
        all.iter_mut().for_each(TextChange::span_lines);
    }
    Some(all)
}

/// Returns the content of a file whose changes are not followed.
fn unread() -> Value {
    unknown(UnknownReason::CommandOutput, Taint::default())
}

/// The files that a program writes.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    pub updates: Vec<FileUpdate>,
    /// The files that it empties.
    pub emptied: Vec<Operand>,
}

/// The content of the files that a program writes.
enum Content {
    /// The same text for each of them.
    Text(Value),
    /// Changes of each of them.
    Edited(Vec<TextChange>),
    /// Copies of files that the command did not write, one of which each of them becomes.
    Copies(Vec<Value>),
}

impl WalkProgress<'_, '_> {
    /// Returns what a program writes to the files that its arguments name. `parent` is its act; `conditional`: it may not
    /// run.
    #[inline(never)]
    pub fn written_by(
        &self,
        state: &State,
        derived: &DerivedEffect,
        reading: &Reading,
        parent: usize,
        conditional: bool,
    ) -> WrittenFiles {
        // Later calls of the same code write the content of a file that it opened.
        if reading.compiles || reading.flags.iter().any(|flag| flag.name == "--opened") {
            return WrittenFiles::default();
        }
        let act = self.acts.get(parent);
        let program = act.and_then(|act| self.input.catalog.program(act.verb.key()));
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
        let fetches = self.is_downloaded(state, reading, program, &sources, &is_target);
        // Files copied from another host count as downloaded. The target is among the arguments.
        let flags = || reading.flags.iter().filter_map(|flag| flag.value.as_ref());
        let is_told = reading.operands.iter().map(|operand| &operand.value).chain(flags()).any(is_target);
        let remote = !fetches && is_told && sources.iter().any(|source| super::paths::is_remote(&source.leading()));
        let taint = act.map(|act| act.taint).unwrap_or_default();
        let taint = if fetches || remote { taint.and(Taint::FETCHED) } else { taint };
        let copies = reading.output == OutputTaint::Copies && !fetches && !remote;
        let files_are_copied = copies && program.is_some_and(|program| program.copies);
        let content = self.content_written(state, derived, reading, act, program, &sources, (copies, taint));
        // A filter without input empties the file: `tee file < /dev/null`.
        let filters = program.is_some_and(|program| program.may_print(Printed::Input));
        let is_empty = filters && derived.effect == Effect::Write && matches!(state.streams.stdin, Stream::Nothing);
        let mut all = WrittenFiles::default();
        // In a directory the file keeps its name.
        let name = match sources.as_slice() {
            [source] if remote || files_are_copied => {
                source.known().and_then(|text| Some(text.rsplit(['/', ':']).next()?.to_owned()))
            }
            _ => None,
        };
        for target in &derived.on {
            let (text, edits) = match &content {
                Content::Copies(sources) => {
                    for (index, source) in sources.iter().enumerate() {
                        let conditional = conditional || index > 0;
                        all.updates.extend(self.copied(state, source, &target.value, conditional));
                        let unknown = source.known().is_none() && !self.input.is_directory(state, &target.value);
                        let target = state.file(&target.value).filter(|_| unknown);
                        let unread = |target| WrittenData::of(target, unread(), taint, conditional);
                        all.updates.extend(target.map(unread).map(FileUpdate::Write));
                    }
                    continue;
                }
                Content::Text(text) => (Some(text), None),
                Content::Edited(changes) => (None, Some(changes)),
            };
            all.emptied.extend(is_empty.then(|| target.clone()));
            let mut place = target.value.clone();
            if let Some(name) = name.as_ref().filter(|_| place.is(".") || place.rough().ends_with('/')) {
                place.push_text("/");
                place.push_text(name);
            }
            let Some(key) = state.file(&place).or_else(|| Place::of_files(state.cwd.as_ref(), &place)) else {
                continue;
            };
            let edited = text.and_then(Value::edited_text).filter(|(_, behind)| behind.is_empty());
            let copied = edited.and_then(|(edited, _)| self.edited_copy(state, edited, &key, conditional));
            if let Some(updates) = copied {
                all.updates.extend(updates);
                continue;
            }
            let edits = edits.filter(|edits| {
                let size = self.sink_of(state, &place).map_or(0, |sink| sink.text.size());
                edits.is_empty() || self.input.replaces(edits.len(), size)
            });
            let data = WrittenData {
                append: derived.effect == Effect::Append,
                edits: edits.cloned(),
                ..WrittenData::of(key, text.cloned().unwrap_or_else(unread), taint, conditional)
            };
            all.updates.push(FileUpdate::Write(data));
        }
        all
    }

    /// Reports whether the content that a program writes is downloaded, by it or before.
    fn is_downloaded(
        &self,
        state: &State,
        reading: &Reading,
        program: Option<&Program>,
        sources: &[&Value],
        is_target: &dyn Fn(&Value) -> bool,
    ) -> bool {
        // A clone of a local repository is not downloaded.
        let clones = program.is_some_and(|program| program.tree.is_some());
        let is_here = |on: &Operand| clones && on.value.leading().starts_with(['/', '.', '~']);
        let fetches = |derived: &DerivedEffect| {
            derived.effect == Effect::Fetch && (derived.on.is_empty() || !derived.on.iter().all(is_here))
        };
        let comes = |source: &Value| state.file(source).is_some_and(|path| self.is_fetched(&path));
        let given = reading.flags.iter().filter_map(|flag| flag.value.as_ref()).filter(|value| !is_target(value));
        reading.effects.iter().any(fetches)
            || !self.files.written.is_empty() && sources.iter().copied().chain(given).any(comes)
    }

    /// Returns the content that a program writes. `copies`: its output has the content of its sources; `taint` is that of
    /// the act.
    #[expect(clippy::too_many_arguments, reason = "each is a part of one act, which the caller has taken apart")]
    fn content_written(
        &self,
        state: &State,
        derived: &DerivedEffect,
        reading: &Reading,
        act: Option<&Act>,
        program: Option<&Program>,
        sources: &[&Value],
        (copies, taint): (bool, Taint),
    ) -> Content {
        // A file that is edited in place keeps its content, with what the editor inserts.
        let edits = reading.code.iter().any(|source| word_lists::EDITING_LANGUAGES.contains(&source.language.as_str()));
        if edits {
            return changes_by(reading).map_or_else(|| Content::Text(unread()), Content::Edited);
        }
        let is_call = act.is_some_and(|act| act.verb.key().contains(':'));
        let calls = is_call && reading.effects.iter().all(|derived| derived.effect.writes());
        let files_are_copied = copies && program.is_some_and(|program| program.copies);
        // Other programs transform their input: they decrypt, sort or format it.
        let moves = reading.effects.iter().any(|derived| matches!(derived.effect, Effect::Link | Effect::Move));
        let unchanged = copies && (is_call || moves || program.is_none_or(Program::hands_on));
        Content::Text(match sources {
            // A call writes its argument.
            [given] if calls => (*given).clone(),
            // The file exists afterwards, with the same content as before.
            [] if derived.effect == Effect::Append
                && program.is_some_and(|program| program.may_print(Printed::Nothing)) =>
            {
                Value::default()
            }
            // A filter that writes a file.
            [] if unchanged => self.stdin_of(state).0,
            // A copy has the content of its source, which is looked up if the copy runs.
            [source, rest @ ..] if unchanged && rest.iter().all(|other| other == source) => {
                match self.content_of(state, source) {
                    Some(text) => text,
                    None => return Content::Copies(vec![(*source).clone()]),
                }
            }
            // Several files are copied into a directory.
            sources if files_are_copied && sources.iter().any(|source| self.content_of(state, source).is_none()) => {
                return Content::Copies(sources.iter().copied().cloned().collect());
            }
            _ => {
                // An archive contains its files.
                let holds = reading.output == OutputTaint::Copies && sources.iter().any(|on| self.is_secret(state, on));
                unknown(UnknownReason::CommandOutput, if holds { taint.and(Taint::SECRET) } else { taint })
            }
        })
    }

    /// Returns the changes of a file into which code writes the edited text of the same or of another file; `None` if
    /// that one is not known.
    fn edited_copy(
        &self,
        state: &State,
        edited: &EditedText,
        target: &Place,
        conditional: bool,
    ) -> Option<Vec<FileUpdate>> {
        let source = state.file(&Value::text(edited.path.as_str()))?;
        let is_same = source == *target;
        if !is_same && self.files.holds(&source) {
            return None;
        }
        let copy = FileUpdate::Copy { source, target: target.clone(), conditional };
        let data = WrittenData {
            edits: Some(edited.changes.clone()),
            ..WrittenData::of(target.clone(), Value::default(), Taint::default(), conditional)
        };
        Some(Some(copy).filter(|_| !is_same).into_iter().chain([FileUpdate::Write(data)]).collect())
    }

    /// Returns the copies of a file that the command did not write: at the target, or in it under the name of the source.
    #[inline(never)]
    pub fn copied(&self, state: &State, source: &Value, target: &Value, conditional: bool) -> Vec<FileUpdate> {
        let Some(path) = source.known().and_then(|path| state.place(&path)) else { return Vec::new() };
        let copy =
            |target: &Value| Some(FileUpdate::Copy { source: path.clone(), target: state.file(target)?, conditional });
        let name = source.known().and_then(|path| Some(path.rsplit('/').next()?.to_owned()));
        let inside = name
            .filter(|name| !["", ".", ".."].contains(&name.as_str()) && self.input.is_directory(state, target))
            .and_then(|name| {
                let mut place = target.clone();
                place.push_text("/");
                place.push_text(&name);
                copy(&place)
            });
        copy(target).into_iter().chain(inside).collect()
    }
}
