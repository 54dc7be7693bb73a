//! The files that a program writes into a directory, under the names of their sources.

use super::act::{Effect, Operand, Piece, Taint, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::arguments::{DerivedEffect, Reading};
use super::progress::WalkProgress;
use super::question::PathKind;
use super::state::{Build as _, State, unknown};
use crate::judge::path_class::PathClass;
use crate::judge::rules::text::same_flag;
use crate::judge::rules::word_lists;

/// The path classes for which a file in a directory is judged besides the directory.
const GRAVE: [PathClass; 6] = [
    PathClass::Startup,
    PathClass::Persistence,
    PathClass::Guard,
    PathClass::Agent,
    PathClass::Repository,
    PathClass::HomeUnnamed,
];

impl WalkProgress<'_, '_> {
    /// Returns the effects on files in directories, if these files have a more severe class than the directory.
    #[inline(never)]
    pub fn destinations(&self, state: &State, reading: &Reading, parent: usize) -> Vec<DerivedEffect> {
        let has = |names: &[&str]| reading.flags.iter().any(|flag| names.contains(&flag.name.as_str()));
        let links = reading.effects.iter().any(|derived| derived.effect == Effect::Link);
        let program = self.acts.get(parent).and_then(|act| self.input.catalog.program(act.verb.key()));
        let parents = program.map_or(&[][..], |program| &program.parents);
        let merges = program.is_some_and(|program| program.merges);
        let replaces = has(&word_lists::REPLACING_OPTIONS[..2])
            || links && has(&word_lists::REPLACING_OPTIONS[2..])
            || has(&["--exchange"]);
        let keeps_parents = reading.flags.iter().any(|flag| parents.iter().any(|name| same_flag(name, &flag.name)));
        let mut landed = Vec::new();
        let mut replaced = Vec::new();
        for DerivedEffect { on, .. } in reading.effects.iter().filter(|derived| derived.effect.writes()) {
            let [target] = on.as_slice() else { continue };
            let named = reading.flags.iter().find(|flag| flag.value.as_ref() == Some(&target.value));
            let into = named.is_some_and(|flag| word_lists::DIRECTORY_OPTIONS.contains(&flag.name.as_str()));
            let sources = match reading.operands.split_last() {
                _ if into => reading.operands.as_slice(),
                Some((last, init)) if last.value == target.value && named.is_none() => init,
                _ => continue,
            };
            if replaces && !into {
                let merges = has(&["-R", "-r", "--recursive", "-a", "--archive"]);
                if !merges && !sources.is_empty() && self.input.placer().holds_own(&target.value, state.cwd.as_ref()) {
                    replaced.push(target.clone());
                }
                // The content of a directory is copied into the other one.
                if let [source] = sources
                    && merges
                {
                    let content = joined(target, source, &[unnamed()]);
                    landed.extend(self.input.matters(state, &content).then_some(content));
                }
                continue;
            }
            let into = into || sources.len() > 1;
            if !into && self.input.is_known_file(state, &target.value) {
                continue;
            }
            for source in sources {
                for names in names(&source.value, merges, keeps_parents) {
                    let place = joined(target, source, &names);
                    if self.input.matters(state, &place) && (into || self.input.is_directory(state, &target.value)) {
                        landed.push(place);
                    }
                }
            }
        }
        let effects = [(Effect::Write, landed), (Effect::Move, replaced)].into_iter().filter(|(_, on)| !on.is_empty());
        effects.map(|(effect, on)| DerivedEffect::of(effect, on)).collect()
    }
}

impl AnalysisInput<'_> {
    /// Reports whether a file at this place is judged besides its directory.
    fn matters(&self, state: &State, place: &Operand) -> bool {
        let classes = self.placer().classes(&place.value, state.cwd.as_ref(), self.catalog, self.inquiry);
        let in_home = classes.has(PathClass::InHome) && classes.has(PathClass::Secret);
        let continuous = place.value.rough().contains(".github/");
        (classes.has_any(&GRAVE) || in_home || continuous) && !classes.has(PathClass::Temp)
    }

    /// Reports whether a value names a directory: by a trailing slash, or because a directory exists.
    pub(super) fn is_directory(&self, state: &State, value: &Value) -> bool {
        let written = value.rough();
        if written.ends_with('/') || [".", ".."].contains(&written.rsplit('/').next().unwrap_or_default()) {
            return true;
        }
        let Some(path) = self.placer().path(value, state.cwd.as_ref()) else { return false };
        if path.slash || self.placer().of(&path, self.catalog, self.inquiry).has(PathClass::Home) {
            return true;
        }
        let there = path.exact().and_then(|path| self.inquiry.path(&path));
        there.is_some_and(|facts| facts.kind == PathKind::Directory)
    }

    /// Reports whether a value names an existing file.
    fn is_known_file(&self, state: &State, value: &Value) -> bool {
        let written = value.rough();
        if written.ends_with('/') || [".", ".."].contains(&written.rsplit('/').next().unwrap_or_default()) {
            return false;
        }
        let path = self.placer().path(value, state.cwd.as_ref()).and_then(|path| path.exact());
        let there = path.and_then(|path| self.inquiry.path(&path));
        there.is_some_and(|facts| facts.kind == PathKind::File)
    }
}

/// Joins a directory and a name.
fn joined(directory: &Operand, source: &Operand, name: &[Piece]) -> Operand {
    let mut value = directory.value.clone();
    if !value.rough().ends_with('/') {
        value.push_text("/");
    }
    name.iter().for_each(|piece| value.push_piece(piece));
    Operand { value, span: source.span }
}

/// Returns an unknown name.
fn unnamed() -> Piece {
    let value = unknown(UnknownReason::Other("the name of what is copied"), Taint::default());
    value.into_pieces().into_iter().next().unwrap_or_else(|| Piece::Glob("*".to_owned()))
}

/// Returns the names of a source in the directory: its own name, or an unknown one if its content is copied.
fn names(source: &Value, merges: bool, keeps_parents: bool) -> Vec<Vec<Piece>> {
    let written = source.rough();
    let whole = written.trim_end_matches('/');
    let last = whole.rsplit('/').next().unwrap_or_default();
    // Such a glob matches all hidden names.
    if ["", ".", "..", ".*", ".?*", ".[!.]*", ".[^.]*"].contains(&last) || merges && whole.len() < written.len() {
        return vec![vec![unnamed()]];
    }
    let mut name: Vec<Piece> = Vec::new();
    let end = source.pieces().len().saturating_sub(1);
    for (index, piece) in source.pieces().iter().enumerate() {
        let Piece::Text(text) = piece else {
            name.push(piece.clone());
            continue;
        };
        let text = if index == end { text.trim_end_matches('/') } else { text.as_str() };
        match text.rsplit_once('/') {
            Some((_, rest)) if !keeps_parents => name = vec![Piece::Text(rest.to_owned())],
            _ => name.push(Piece::Text(text.to_owned())),
        }
    }
    vec![name]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_keeps_the_last_name_of_its_path() {
        let named = |text: &str, parents| names(&Value::text(text), false, parents);
        for text in [".bashrc", "dot/.bashrc", "/a/b/.bashrc", "dot/.bashrc/"] {
            assert_eq!(named(text, false), [[Piece::Text(".bashrc".into())]], "{text}");
        }
        assert_eq!(named("dot/.bashrc", true), [[Piece::Text("dot/.bashrc".into())]]);
    }

    #[test]
    fn what_a_directory_holds_has_names_that_are_not_known() {
        for (text, merges) in [("dot/.", false), (".", false), ("..", false), ("dot/", true)] {
            assert_eq!(names(&Value::text(text), merges, false), [[unnamed()]], "{text}");
        }
        assert_eq!(names(&Value::text("dot/"), false, false), [[Piece::Text("dot".into())]]);
    }
}
