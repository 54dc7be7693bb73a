//! Files that are unpacked from archives or changed by patches.
//!
//! Archives are not read: a file that can only come from an archive is code that cannot be judged. A patch is applied,
//! if its text is known.

use crate::judge::analysis::act::{Act, Effect, Operand, Piece, Taint, UnknownReason, Value};
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::files::{FileModel, FileUpdate, WrittenData};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::{FileFacts, PathKind};
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::analysis::streams::Sink;
use crate::judge::rules::model::{Packed, Program, Unpack};

use super::patch;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::rules::word_lists;

/// The reason for the unknown content of a file from an archive.
const UNREAD: UnknownReason = UnknownReason::Other("what lies in an archive");

/// Reports whether a text is completely unknown because it comes from an archive.
pub(in crate::judge::analysis) fn is_unread(text: &Value) -> bool {
    let unread = |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.why == UNREAD);
    !text.pieces().is_empty() && text.pieces().iter().all(unread)
}

impl WalkProgress<'_, '_> {
    /// Returns the changes of files by a program that unpacks archives or applies patches. `conditional`: it may not run.
    #[inline(never)]
    pub fn unpacked(
        &self,
        state: &State,
        program: &Program,
        ran: ProgramRun<'_>,
        conditional: bool,
    ) -> Vec<FileUpdate> {
        let ProgramRun { name, reading, .. } = ran;
        let fits = |unpack: &&Unpack| {
            unpack.programs.iter().any(|known| known == name)
                && (unpack.words.is_empty() || reading.sub.first().is_some_and(|sub| unpack.words.contains(sub)))
                && (unpack.options.is_empty() || reading.has_flag(&unpack.options))
                && !reading.has_flag(&unpack.unless)
        };
        let changes = |unpack: &Unpack| match unpack.kind {
            Packed::Patch => self.patched(state, unpack.strip, reading, conditional),
            Packed::File => self.decompressed(state, reading, conditional),
            Packed::Archive => self.extracted(state, reading, conditional),
        };
        program.unpacks.iter().filter(fits).flat_map(changes).collect()
    }

    /// Returns the files that replace compressed ones.
    fn decompressed(&self, state: &State, reading: &Reading, conditional: bool) -> Vec<FileUpdate> {
        let plain = |operand: &Operand| {
            let path = operand.value.known_text()?;
            let plain = word_lists::COMPRESSED_ENDINGS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(&path);
            let fetched = state.file(&operand.value).is_some_and(|key| self.is_download(&key));
            let taint = if fetched { Taint::FETCHED } else { Taint::default() };
            Some(unread(state.place(plain)?, taint, conditional))
        };
        reading.operands.iter().filter_map(plain).collect()
    }

    /// Returns the directories that a program fills with files of an archive.
    fn extracted(&self, state: &State, reading: &Reading, conditional: bool) -> Vec<FileUpdate> {
        if self.packs_itself(state, reading) {
            return Vec::new();
        }
        let trees = reading.effects.iter().filter(|derived| derived.effect == Effect::Write && derived.recursive);
        let inside = trees.flat_map(|derived| &derived.on).filter_map(|on| state.file(&on.value)?.any_in());
        inside.map(|place| unread(place, Taint::default(), conditional)).collect()
    }

    /// Reports whether the command itself packed or built the archive.
    fn packs_itself(&self, state: &State, reading: &Reading) -> bool {
        let named = reading.flags.iter().find(|flag| flag.name == "-f").and_then(|flag| flag.value.as_ref());
        let Some(archive) = named.or_else(|| reading.operands.first().map(|operand| &operand.value)) else {
            return false;
        };
        let key = state.file(archive);
        if key.as_ref().is_some_and(|key| self.is_download(key)) {
            return false;
        }
        if key.as_ref().is_some_and(|key| self.files.written.contains_key(key)) {
            let packs = |act: &&Act| act.verb.key() == "zip" || act.flags.iter().any(|flag| flag.name == "-c");
            self.input.spend(self.acts.len() as u64);
            return self.acts.iter().filter(packs).any(|act| act.args.contains(archive));
        }
        let missing = |path: &str| self.input.inquiry.path(path).is_some_and(|facts| facts.kind == PathKind::Missing);
        key.is_some_and(|place| self.has_built() && place.text().is_some_and(missing))
    }

    /// Reports whether an earlier act builds a project. Each act is examined once.
    fn has_built(&self) -> bool {
        let acts = &self.acts;
        let builds = |act: &Act| {
            act.remote.is_none() && self.input.catalog.program(act.verb.key()).is_some_and(Program::builds_projects)
        };
        let (looked, found) = self.files.builder.get();
        if let Some(at) = found.filter(|at| acts.get(*at).is_some_and(builds)) {
            self.files.builder.set((at, Some(at)));
            return true;
        }
        let looked = looked.min(acts.len());
        let found = acts.iter().skip(looked).position(builds).map(|at| looked + at);
        self.files.builder.set((acts.len(), found));
        found.is_some()
    }

    /// Returns the files that a patch changes.
    #[inline(never)]
    fn patched(&self, state: &State, strip: Option<u32>, reading: &Reading, conditional: bool) -> Vec<FileUpdate> {
        let value = |names: &[&str]| {
            let flag = reading.flags.iter().rev().find(|flag| names.contains(&flag.name.as_str()));
            flag.and_then(|flag| flag.value.clone())
        };
        let mut there = self.input.fork(state);
        if let Some(dir) = value(&["-d", "--directory"]) {
            there.enter(&dir);
        }
        let said = value(&["-p"]).and_then(|count| count.known_text()).and_then(|count| count.parse().ok());
        let count = said.or(strip.and_then(|count| usize::try_from(count).ok()));
        let given = match value(&["-i"]).filter(|_| strip.is_none()) {
            Some(file) => vec![file],
            None => reading.operands.iter().skip(usize::from(strip.is_none())).map(|on| on.value.clone()).collect(),
        };
        let mut texts: Vec<Value> =
            given.iter().filter(|file| !file.is("-")).map(|file| self.text_of_patch(state, file)).collect();
        if texts.is_empty() {
            texts.push(self.stdin_of(state).0);
        }
        let mut changes: Vec<FileUpdate> = Vec::new();
        for text in texts {
            let Some(known) = text.known() else {
                let fetched = text.taint().has(Taint::FETCHED);
                let here = there.cwd.clone();
                let place = if fetched { here } else { here.and_then(|dir| dir.any_in()) };
                changes.extend(place.map(|place| unread(place, text.taint(), conditional)));
                continue;
            };
            if reading.flags.iter().any(|flag| flag.name == "-R") {
                continue;
            }
            for change in patch::changes(&known, count) {
                let changed = self.changed(&there, &change, &changes);
                let data = changed.map(|(file, text)| WrittenData::of(file, text, Taint::default(), conditional));
                changes.extend(data.map(FileUpdate::Write));
            }
        }
        changes
    }

    /// Returns the text of a patch in a file.
    fn text_of_patch(&self, state: &State, file: &Value) -> Value {
        let key = state.file(file);
        if key.as_ref().is_some_and(|key| self.is_download(key)) {
            return unknown(UNREAD, Taint::FETCHED);
        }
        if let Some(text) = self.content_of(state, file) {
            return text;
        }
        match key.and_then(|place| self.input.inquiry.file(place.text()?)) {
            Some(FileFacts::Text { bytes, .. }) => Value::text(String::from_utf8_lossy(bytes)),
            _ => unknown(UNREAD, Taint::default()),
        }
    }

    /// Returns a file and its content after a patch, where `before` are the changes by earlier patches. Changed source
    /// code belongs to the project and is not stored.
    fn changed(&self, state: &State, change: &patch::Change, before: &[FileUpdate]) -> Option<(Place, Value)> {
        let file = state.place(&change.path)?;
        let again = before.iter().rev().find_map(|other| match other {
            FileUpdate::Write(data) if data.place == file => Some(data.text.clone()),
            _ => None,
        });
        let known = || again.or_else(|| self.content_of(state, &Value::text(change.path.as_str())));
        let old = match known().and_then(|text| text.known_text()) {
            _ if change.creates => String::new(),
            Some(text) => text,
            None => match file.text().and_then(|path| self.input.inquiry.file(path)) {
                Some(FileFacts::Text { bytes, .. }) if patch::is_plain(file.shown()) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                _ => return None,
            },
        };
        Some((file, Value::text(change.apply(&old))))
    }
}

/// Returns the change of a file that comes from an archive.
fn unread(place: Place, taint: Taint, conditional: bool) -> FileUpdate {
    // Content that was downloaded remains possible.
    let beside = conditional || place.is_any();
    FileUpdate::Write(WrittenData::of(place, unknown(UNREAD, taint), taint, beside))
}

impl FileModel {
    /// Removes the mark of archives from the files of a directory in which a project was built, because they may be
    /// new.
    #[inline(never)]
    pub fn built_over_archive(&mut self, sinks: &[Sink], dir: Option<&Place>) {
        let Some(any) = dir.filter(|_| !self.written.is_empty()).and_then(Place::any_in) else { return };
        if let Some(written) = self.written.get_mut(&any) {
            written.contents.retain(|id| sinks.get(*id).is_none_or(|sink| !is_unread(&sink.text)));
        }
    }
}
