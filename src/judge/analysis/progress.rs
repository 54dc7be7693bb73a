//! The command up to the current position: its acts, the data in pipes, and the files that it wrote.
//!
//! This module answers questions that depend only on that and on the input of the analysis. It changes nothing, so that
//! it can be tested without a walk.

use std::ops::Bound;

use super::act::{Act, Effect, Operand, Piece, Taint, Unknown, UnknownReason, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::arguments::Reading;
use super::files::{ExistingText, FileModel, WrittenFile};
use super::indirection::archives::is_unread;
use super::letter::PathText;
use super::paths::PathClass;
use super::place::Place;
use super::question::FileFacts;
use super::replacements::{EditedText, TextChange};
use super::state::{Build as _, State, unknown};
use super::streams::{Sink, SinkId, Stream, descriptor};

/// A view of the command up to the current position.
#[derive(Clone, Copy)]
pub(super) struct WalkProgress<'w, 'a> {
    pub input: &'w AnalysisInput<'a>,
    pub acts: &'w [Act],
    pub sinks: &'w [Sink],
    pub files: &'w FileModel,
    /// The pipes of process substitutions in the command that is being expanded.
    pub pipes: &'w [SinkId],
}

impl WalkProgress<'_, '_> {
    /// Reports whether a value names a secret.
    #[inline(never)]
    pub fn is_secret(&self, state: &State, path: &Value) -> bool {
        let behind = self.behind(state, path);
        self.input.classes(state.cwd.as_ref(), behind.as_ref().map_or(path, |(path, _)| path)).has(PathClass::Secret)
    }

    /// Reports whether the command wrote, copied, linked or downloaded a file.
    pub fn is_made_here(&self, state: &State, path: &Value) -> bool {
        let is_copy = |place: &Place| self.files.written.get(place).is_some_and(|file| !file.copies.is_empty());
        self.content_of(state, path).is_some()
            || state.file(path).is_some_and(|place| {
                self.is_fetched(&place)
                    || self.is_unpacked(&place)
                    || is_copy(&place)
                    || self.files.links.contains_key(&place)
            })
    }

    /// Reports whether an act may have created something in a directory: it names the directory or a parent.
    pub fn may_make_in(&self, dir: &str) -> bool {
        let dir = Place::of(dir.trim_end_matches('/'));
        let is_below = |place: &Place| place.path().is_some_and(|path| path.rough().starts_with(dir.shown()));
        let from = (Bound::Included(&dir), Bound::Unbounded);
        let below = self.files.written.range::<Place, _>(from).next().is_some_and(|(place, _)| is_below(place));
        let linked = self.files.links.range::<Place, _>(from).next().is_some_and(|(place, _)| is_below(place));
        let holds = |place: &Place| self.files.holds(place);
        let any_in = || dir.any_in().is_some_and(|any| holds(&any));
        below || linked || any_in() || dir.any_above(|above, any| holds(above) || holds(any))
    }

    /// Reports whether no readable file exists at a path, and the command creates none.
    pub fn is_absent(&self, state: &State, path: &Value) -> bool {
        let missing = |path: &str| matches!(self.input.inquiry.file(path), Some(FileFacts::Missing));
        let place = path.spelled().map(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        let is_there = || place.is_some_and(|place| !place.as_ref().and_then(Place::text).is_some_and(missing));
        !self.is_made_here(state, path) && !is_there()
    }

    /// Reports whether an earlier act names the place, and so may create it.
    pub fn is_spoken_of(&self, state: &State, act: usize, place: &Place) -> bool {
        let in_part = |value: &Value| value.known().is_none() && state.file(value).as_ref() == Some(place);
        let names = |value: &Value| place.text().is_some_and(|path| value.is(path)) || in_part(value);
        self.acts.iter().take(act).any(|other| other.args.iter().any(names))
    }

    /// Reports whether the command downloaded a place or a parent of it.
    pub fn is_fetched(&self, place: &Place) -> bool {
        let fetched = |place: &Place| {
            let sinks = self.files.written.get(place).into_iter().flat_map(|written| &written.contents);
            sinks.filter_map(|id| self.sinks.get(*id)).any(|sink| sink.taint.and(sink.text.taint()).has(Taint::FETCHED))
        };
        if self.files.written.is_empty() || fetched(place) {
            return !self.files.written.is_empty();
        }
        // An existing file is not one that was downloaded under an unknown name.
        let is_new = || self.input.is_not_there(place);
        place.any_above(|dir, any| !dir.is_root() && (fetched(dir) || fetched(any) && is_new()))
    }

    /// Reports whether a place that runs was downloaded, by the command or by an earlier one of the session. Of what an
    /// earlier one downloaded, text is not meant, because it is read.
    #[inline(never)]
    pub fn is_download(&self, place: &Place) -> bool {
        let was_fetched = |path: &str| {
            let inquiry = self.input.inquiry;
            let Some(ledger) = inquiry.ledger().filter(|ledger| ledger.has_fetched_any()) else { return false };
            let led = inquiry.path(path).map_or(path, |facts| &facts.canonical);
            let born = || inquiry.look(led).and_then(|look| look.stat.born);
            let is_text = |bytes: &[u8]| !bytes.contains(&0) && str::from_utf8(bytes).is_ok();
            let is_read = || matches!(inquiry.file(path), Some(FileFacts::Text { bytes, .. }) if is_text(bytes));
            ledger.has_fetched(led, born) && !is_read()
        };
        self.is_fetched(place)
            || place.text().is_some_and(|path| !self.files.written.contains_key(place) && was_fetched(path))
    }

    /// Returns the files that the command downloads or takes from a download, as [`Facts`](super::act::Facts) has them.
    pub fn downloads(&self) -> Vec<String> {
        let is_download = |id: &SinkId| {
            let sink = self.sinks.get(*id);
            sink.is_some_and(|sink| {
                sink.taint.and(sink.text.taint()).has(Taint::FETCHED) && sink.text.known().is_none()
            })
        };
        let of_file = |(place, file): (&Place, &WrittenFile)| {
            if !file.contents.iter().any(is_download) {
                return None;
            }
            let path = place.path()?.known().filter(|path| path.starts_with('/'))?;
            Some(if place.is_any() { format!("{}/", path.trim_end_matches('/')) } else { path.to_owned() })
        };
        self.files.written.iter().filter_map(of_file).collect()
    }

    /// Returns the path below a place that an earlier act names, if its name contains an unknown number.
    pub fn below_made(state: &State, acts: &[Act], file: &Value) -> Option<Place> {
        let file = state.file(file).filter(|place| file.known().is_none() && place.path().is_some())?;
        let above = |value: &Value| {
            let place = state.file(value).filter(|_| value.known().is_none());
            place.and_then(|place| file.below(&place)).is_some_and(|rest| !rest.rough().is_empty())
        };
        acts.iter().flat_map(|act| &act.args).any(above).then_some(file)
    }

    /// Reports whether these are existing files that can be read.
    pub fn are_read(&self, files: &[String]) -> bool {
        let is_read = |path: &String| {
            !self.files.written.contains_key(&Place::of(path.as_str()))
                && matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }))
        };
        files.iter().all(is_read)
    }

    /// Returns the existing files whose content the command printed into a file, if that is its whole content.
    pub fn printed_into(&self, state: &State, file: &Value) -> Option<Vec<String>> {
        let written = state.file(file).and_then(|key| self.files.written.get(&key))?;
        let files = self.sinks.get(*written.contents.last()?)?.files()?;
        (written.contents.len() == 1 && self.are_read(files)).then(|| files.to_vec())
    }

    /// Reports whether a file can only come from an archive that the command unpacks.
    pub fn is_unpacked(&self, place: &Place) -> bool {
        let unread = |written: &WrittenFile| {
            written.contents.iter().filter_map(|id| self.sinks.get(*id)).any(|sink| is_unread(&sink.text))
        };
        !self.files.written.is_empty()
            && place.any_above(|_, any| self.files.written.get(any).is_some_and(unread))
            && self.input.is_not_there(place)
    }

    /// Returns the files of which a place below a copied directory may be a copy.
    #[inline(never)]
    pub fn origins(&self, place: &Place) -> Vec<Place> {
        let mut found = Vec::new();
        for dir in place.above().filter(|dir| !self.files.written.is_empty() && !dir.is_root()) {
            let Some(rest) = place.below(&dir) else { continue };
            for source in self.files.written.get(&dir).into_iter().flat_map(|written| &written.copies) {
                let name = source.split().map(|(_, name)| name).unwrap_or_default();
                // The source is copied as the directory, or into it.
                let mut named = PathText::text("/");
                named.push_spelled(&name);
                let into = rest.after(&named).filter(|rest| rest.rough().is_empty() || rest.rough().starts_with('/'));
                found.extend(
                    [Some(&rest), into.as_ref()].into_iter().flatten().filter_map(|rest| source.join_spelled(rest)),
                );
            }
        }
        found.retain(|place| {
            !place.text().is_some_and(|path| matches!(self.input.inquiry.file(path), Some(FileFacts::Missing)))
        });
        found
    }

    /// Returns the content of a file that the command wrote or changed. A part that existed before is unknown, and so is
    /// the content if there are several possible ones.
    #[inline(never)]
    pub fn content_of(&self, state: &State, path: &Value) -> Option<Value> {
        if let [Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. })] = path.pieces() {
            let [pipe] = self.pipes else { return None };
            return self.sinks.get(*pipe).map(|sink| sink.text.clone());
        }
        if path.known().as_deref().and_then(descriptor) == Some(0) {
            return Some(self.stdin_of(state).0);
        }
        let (_, written, sink) = self.written_file(state, path)?;
        let sink = sink?;
        let base = sink.base.as_ref().filter(|base| !self.input.is_not_there(&base.place));
        let before = match base {
            Some(base) => base.place.text().map(|path| {
                let changes = base.changes.clone();
                UnknownReason::FileText(Box::new(EditedText { path: path.to_owned(), changes }))
            }),
            None if written.is_one() => return Some(self.text_of(sink)),
            None => None,
        };
        let sinks = written.contents.iter().filter_map(|sink| self.sinks.get(*sink));
        let taint = sinks.fold(Taint::default(), |all, sink| all.and(sink.taint).and(sink.text.taint()));
        let mut all = unknown(before.unwrap_or(UnknownReason::CommandOutput), taint);
        all.push_value(&sink.text);
        Some(all)
    }

    /// Returns the text that the command wrote to a file last, without what the file contained before.
    pub fn added_to(&self, state: &State, path: &Value) -> Option<Value> {
        self.sink_of(state, path).map(|sink| self.text_of(sink)).or_else(|| self.content_of(state, path))
    }

    /// Returns the text that the command wrote. If the file that it edited is not there yet, the new texts are among it.
    fn text_of(&self, sink: &Sink) -> Value {
        let mut text = sink.text.clone();
        let edited = sink.base.as_ref().filter(|base| !base.changes.is_empty());
        for change in
            edited.filter(|base| self.input.is_not_there(&base.place)).into_iter().flat_map(|base| &base.changes)
        {
            text.push_text(&change.inserted());
            text.push_text("\n");
        }
        text
    }

    /// Returns the content of a file that existed before the command.
    pub fn existing(&self, place: Place) -> ExistingText {
        self.files.existing(self.sinks, place)
    }

    /// Returns the existing content that a file still has, besides what the command added to it.
    pub fn base_of(&self, state: &State, path: &Value) -> Option<ExistingText> {
        let (key, written, sink) = self.written_file(state, path)?;
        let base = sink.and_then(|sink| sink.base.clone());
        base.or_else(|| written.untouched.then(|| self.existing(key)))
    }

    /// Reports whether a file may still have existing content.
    pub fn goes_on(&self, state: &State, path: &Value) -> bool {
        self.base_of(state, path).is_some()
    }

    /// Reports whether the command wrote, copied or changed a file.
    pub fn is_written(&self, state: &State, path: &Value) -> bool {
        state.file(path).is_some_and(|key| self.files.written.contains_key(&key))
    }

    /// Returns the last data that the command wrote to a file.
    pub fn sink_of(&self, state: &State, path: &Value) -> Option<&Sink> {
        self.written_file(state, path)?.2
    }

    /// Returns a file that the command wrote or copied, with its place and the last data that the command wrote to it.
    fn written_file(&self, state: &State, path: &Value) -> Option<(Place, &WrittenFile, Option<&Sink>)> {
        let key = state.file(path)?;
        let written = self.files.written.get(&key)?;
        Some((key, written, written.contents.last().and_then(|sink| self.sinks.get(*sink))))
    }

    /// Returns the contents that a file may have, if the command wrote or copied it: existing ones, and the data that the
    /// command wrote.
    pub fn possible_contents(&self, state: &State, path: &Value) -> Option<(Vec<ExistingText>, Vec<Sink>)> {
        let key = state.file(path)?;
        let written = self.files.written.get(&key)?;
        let mut sinks: Vec<Sink> = written.contents.iter().filter_map(|sink| self.sinks.get(*sink)).cloned().collect();
        sinks.iter_mut().for_each(|sink| sink.text = self.text_of(sink));
        let mut existing: Vec<ExistingText> = sinks.iter().filter_map(|sink| sink.base.clone()).collect();
        for sink in &mut sinks {
            if let Some((base, text)) = edited_file(&sink.text) {
                existing.push(base);
                sink.text = text;
                sink.base = existing.last().cloned();
            }
        }
        existing.extend(written.copies.iter().cloned().map(|place| self.existing(place)));
        let as_one_of_several = self.existing(key);
        for sink in &mut sinks {
            // The change of several files may have come after the command wrote this one.
            let changed = sink.text.known().and_then(|text| Some(as_one_of_several.changed(text)?.into_owned()));
            if let Some(changed) = changed.filter(|_| !as_one_of_several.changes.is_empty()) {
                sink.text = Value::text(changed);
            }
        }
        existing.extend(Some(as_one_of_several).filter(|_| written.untouched));
        existing.dedup();
        sinks.retain(|sink| !sink.is_empty());
        Some((existing, sinks))
    }

    /// Reports whether an earlier act wrote the content of a secret to the file that a value names, possibly after `@`.
    #[inline(never)]
    pub fn holds_secret(&self, state: &State, value: &Value) -> bool {
        let leading = value.leading();
        let mark = leading.find('@').filter(|at| *at == 0 || leading[..*at].ends_with('='));
        let path = mark.map_or_else(|| value.clone(), |at| value.without_leading(at + 1));
        let Some(written) = state.file(&path).and_then(|key| self.files.written.get(&key)) else { return false };
        let holds = |sink: &usize| {
            self.sinks.get(*sink).is_some_and(|sink| sink.taint.and(sink.text.taint()).has(Taint::SECRET))
        };
        written.contents.iter().any(holds) || written.copies.iter().any(|source| self.is_secret(state, &source.value()))
    }

    /// Returns the taints of the files that a program reads.
    #[inline(never)]
    pub fn loaded(&self, state: &State, reading: &Reading) -> Taint {
        if state.streams.stdout.sink().is_none() {
            // No later act reads the output.
            return Taint::default();
        }
        let reads = reading.effects.iter().filter(|derived| matches!(derived.effect, Effect::Show | Effect::Load));
        reads.flat_map(|derived| &derived.on).fold(Taint::default(), |all, operand| {
            let written = self.content_of(state, &operand.value).map(|text| text.taint()).unwrap_or_default();
            let secret = if self.is_secret(state, &operand.value) { Taint::SECRET } else { Taint::default() };
            all.and(written).and(secret)
        })
    }

    /// Returns the text of standard input as far as it is known, its taints, and whether it was decoded.
    #[inline(never)]
    pub fn stdin_of(&self, state: &State) -> (Value, Taint, bool) {
        let nothing = (Value::default(), Taint::default(), false);
        match &state.streams.stdin {
            Stream::Inherited => (unknown(UnknownReason::Input, Taint::FOREIGN), Taint::FOREIGN, false),
            Stream::Nothing => nothing,
            Stream::Sink(id, _) => match self.sinks.get(*id) {
                Some(sink) => {
                    self.input.copies(&[&sink.text]);
                    (sink.text.clone(), sink.taint, sink.decoded)
                }
                None => nothing,
            },
            Stream::Text(text) => {
                self.input.copies(&[text]);
                ((**text).clone(), text.taint(), false)
            }
            Stream::File(operand, _) => match self.content_of(state, &operand.value) {
                Some(text) => {
                    let taint = text.taint();
                    (text, taint, false)
                }
                None => {
                    let secret = self.is_secret(state, &operand.value);
                    let taint = if secret { Taint::SECRET } else { Taint::default() };
                    (unknown(UnknownReason::Input, taint), taint, false)
                }
            },
        }
    }

    /// Returns the name of a program that an earlier act wrote.
    #[inline(never)]
    pub fn made_here(&self, state: &State, value: &Value) -> Option<String> {
        if value.known().is_some() || !value.spelled().is_some_and(|path| path.rough().contains('/')) {
            return None;
        }
        let place = state.file(value)?;
        let writes = |act: &Act| matches!(act.verb, Verb::Effect(effect) if effect.writes()) && act.remote.is_none();
        let is_it = |operand: &Operand| state.file(&operand.value).as_ref() == Some(&place);
        self.input.spend(self.acts.len() as u64 / 2);
        let made = self.files.written.contains_key(&place)
            || self.acts.iter().any(|act| writes(act) && act.operands.iter().any(is_it));
        place.split().filter(|_| made).map(|(_, name)| name.rough().to_owned())
    }
}

/// Returns the existing file with which a text begins, with its changes, and what follows it.
pub(super) fn edited_file(text: &Value) -> Option<(ExistingText, Value)> {
    let (edited, rest) = text.edited_text()?;
    let mut lines = Value::default();
    let mut file = ExistingText::of(Place::of(edited.path.as_str()));
    for change in &edited.changes {
        match change {
            TextChange::Line(line) => {
                lines.push_text(line);
                lines.push_text("\n");
            }
            TextChange::Replacement(_) => file.changes.push(change.clone()),
        }
    }
    lines.push_value(&Value::of(rest.to_vec()));
    Some((file, lines))
}

#[cfg(test)]
mod tests;
