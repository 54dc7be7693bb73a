//! Files that are unpacked from archives or changed by patches.
//!
//! Archives are not read: a file that can only come from an archive is code that cannot be judged. A patch is applied,
//! if its text is known.

use crate::judge::analysis::act::{Act, Effect, Piece, Taint, UnknownReason, Value};
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::{FileFacts, PathKind};
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::model::{Packed, Program, Unpack};

use super::patch;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::rules::word_lists;

/// The reason for the unknown content of a file from an archive.
const UNREAD: UnknownReason = UnknownReason::Other("what lies in an archive");

/// Reports whether a text is completely unknown because it comes from an archive.
pub(in crate::judge::analysis) fn is_unread(text: &Value) -> bool {
    let unread = |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.why == UNREAD);
    !text.pieces().is_empty() && text.pieces().iter().all(unread)
}

impl Walker<'_> {
    /// Stores the files that a program unpacks from archives, or changes by a patch.
    #[inline(never)]
    pub(super) fn archives(&mut self, state: &State, context: &Context, program: &Program, ran: ProgramRun<'_>) {
        let ProgramRun { name, reading, .. } = ran;
        let fits = |unpack: &&Unpack| {
            unpack.programs.iter().any(|known| known == name)
                && (unpack.words.is_empty() || reading.sub.first().is_some_and(|sub| unpack.words.contains(sub)))
                && (unpack.options.is_empty() || reading.has_flag(&unpack.options))
                && !reading.has_flag(&unpack.unless)
        };
        for unpack in program.unpacks.iter().filter(fits) {
            match unpack.kind {
                Packed::Patch => self.patched(state, context, unpack.strip, reading),
                Packed::File => self.decompressed(state, context, reading),
                Packed::Archive => self.extracted(state, context, reading),
            }
        }
    }

    /// Stores the files that replace compressed ones.
    fn decompressed(&mut self, state: &State, context: &Context, reading: &Reading) {
        for operand in &reading.operands {
            let Some(path) = operand.value.known_text() else { continue };
            let plain = word_lists::COMPRESSED_ENDINGS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(&path);
            let key = state.file(&operand.value);
            let fetched = key.is_some_and(|key| self.progress().is_fetched(&key));
            let taint = if fetched { Taint::FETCHED } else { Taint::default() };
            let plain = state.place(plain);
            plain.into_iter().for_each(|place| self.unread(context, place, taint));
        }
    }

    /// Stores that the directories which a program writes contain files of an archive.
    fn extracted(&mut self, state: &State, context: &Context, reading: &Reading) {
        if self.packs_itself(state, reading) {
            return;
        }
        let trees = reading.effects.iter().filter(|derived| derived.effect == Effect::Write && derived.recursive);
        for on in trees.flat_map(|derived| &derived.on) {
            let inside = state.file(&on.value).and_then(|dir| dir.any_in());
            inside.into_iter().for_each(|place| self.unread(context, place, Taint::default()));
        }
    }

    /// Reports whether the command itself packed or built the archive.
    fn packs_itself(&self, state: &State, reading: &Reading) -> bool {
        let named = reading.flags.iter().find(|flag| flag.name == "-f").and_then(|flag| flag.value.as_ref());
        let Some(archive) = named.or_else(|| reading.operands.first().map(|operand| &operand.value)) else {
            return false;
        };
        let key = state.file(archive);
        if key.as_ref().is_some_and(|key| self.progress().is_fetched(key)) {
            return false;
        }
        if key.as_ref().is_some_and(|key| self.files.written.contains_key(key)) {
            let packs = |act: &&Act| act.verb.key() == "zip" || act.flags.iter().any(|flag| flag.name == "-c");
            self.input.spend(self.facts.acts.len() as u64);
            return self.facts.acts.iter().filter(packs).any(|act| act.args.contains(archive));
        }
        let missing = |path: &str| self.input.inquiry.path(path).is_some_and(|facts| facts.kind == PathKind::Missing);
        key.is_some_and(|place| self.has_built() && place.text().is_some_and(missing))
    }

    /// Reports whether an earlier act builds a project. Each act is examined once.
    fn has_built(&self) -> bool {
        let acts = &self.facts.acts;
        let builds = |act: &Act| {
            act.remote.is_none() && self.input.catalog.program(act.verb.key()).is_some_and(Program::builds_projects)
        };
        let (looked, found) = self.builder.get();
        if let Some(at) = found.filter(|at| acts.get(*at).is_some_and(builds)) {
            self.builder.set((at, Some(at)));
            return true;
        }
        let looked = looked.min(acts.len());
        let found = acts.iter().skip(looked).position(builds).map(|at| looked + at);
        self.builder.set((acts.len(), found));
        found.is_some()
    }

    /// Stores that the file at a place comes from an archive.
    fn unread(&mut self, context: &Context, place: Place, taint: Taint) {
        // Content that was downloaded remains possible.
        let beside = Context { conditional: context.conditional || place.is_any(), ..context.clone() };
        let sink = self.files.open(&mut self.sinks, place, false, beside.conditional);
        if let Some(sink) = self.sinks.get_mut(sink) {
            sink.write(&unknown(UNREAD, taint), taint, false);
        }
    }

    /// Removes the mark of archives from the files of a directory in which a project was built, because they may be
    /// new.
    #[inline(never)]
    pub(super) fn built_over_archive(&mut self, state: &State) {
        let Some(any) = state.cwd.as_ref().filter(|_| !self.files.written.is_empty()).and_then(Place::any_in) else {
            return;
        };
        let sinks = &self.sinks;
        if let Some(written) = self.files.written.get_mut(&any) {
            written.contents.retain(|id| sinks.get(*id).is_none_or(|sink| !is_unread(&sink.text)));
        }
    }

    /// Applies a patch to the files that it names.
    #[inline(never)]
    fn patched(&mut self, state: &State, context: &Context, strip: Option<u32>, reading: &Reading) {
        let value = |names: &[&str]| {
            let flag = reading.flags.iter().rev().find(|flag| names.contains(&flag.name.as_str()));
            flag.and_then(|flag| flag.value.clone())
        };
        let mut there = self.input.fork(state);
        if let Some(dir) = value(&["-d", "--directory"]) {
            there.enter(&dir);
        }
        let given = match value(&["-i"]).filter(|_| strip.is_none()) {
            Some(file) => vec![file],
            None => reading.operands.iter().skip(usize::from(strip.is_none())).map(|on| on.value.clone()).collect(),
        };
        let mut texts = Vec::new();
        for file in given.iter().filter(|file| !file.is("-")) {
            let key = state.file(file);
            if key.as_ref().is_some_and(|key| self.progress().is_fetched(key)) {
                texts.push(unknown(UNREAD, Taint::FETCHED));
            } else if let Some(text) = self.progress().content_of(state, file) {
                texts.push(text);
            } else if let Some(FileFacts::Text { bytes, .. }) =
                key.and_then(|place| self.input.inquiry.file(place.text()?))
            {
                texts.push(Value::text(String::from_utf8_lossy(bytes)));
            } else {
                texts.push(unknown(UNREAD, Taint::default()));
            }
        }
        if texts.is_empty() {
            texts.push(self.progress().stdin_of(state).0);
        }
        let said = value(&["-p"]).and_then(|count| count.known_text()).and_then(|count| count.parse().ok());
        let strip = said.or(strip.and_then(|count| usize::try_from(count).ok()));
        for text in texts {
            let Some(known) = text.known() else {
                let fetched = text.taint().has(Taint::FETCHED);
                let here = there.cwd.clone();
                let place = if fetched { here } else { here.and_then(|dir| dir.any_in()) };
                place.into_iter().for_each(|place| self.unread(context, place, text.taint()));
                continue;
            };
            if reading.flags.iter().any(|flag| flag.name == "-R") {
                continue;
            }
            for change in patch::changes(&known, strip) {
                self.change(&there, context, &change);
            }
        }
    }

    /// Stores the content of a file after a patch. Changed source code belongs to the project and is not stored.
    fn change(&mut self, state: &State, context: &Context, change: &patch::Change) {
        let place = Value::text(change.path.as_str());
        let Some(file) = state.place(&change.path) else { return };
        let old = match self.progress().content_of(state, &place).and_then(|text| text.known_text()) {
            _ if change.creates => String::new(),
            Some(text) => text,
            None => match file.text().and_then(|path| self.input.inquiry.file(path)) {
                Some(FileFacts::Text { bytes, .. }) if patch::is_plain(file.shown()) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                _ => return,
            },
        };
        let text = Value::text(change.apply(&old));
        let sink = self.files.open(&mut self.sinks, file, false, context.conditional);
        if let Some(sink) = self.sinks.get_mut(sink) {
            sink.write(&text, Taint::default(), false);
        }
    }
}
