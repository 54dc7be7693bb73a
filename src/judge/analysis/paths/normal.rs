//! A path in lexically normal form, of text whose parts may be live globs or unknown.
//!
//! No link is followed: `a/../b` is `b` whatever `a` is, as the shell's own `cd` has it.

use super::reader::PathReader;
use crate::judge::analysis::act::Value;
use crate::judge::analysis::letter::PathText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::value::HOLE;
use crate::judge::rules::glob;

/// One name of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Component {
    /// As written.
    pub name: PathText,
    /// The live pattern, with literal text escaped; `None` for plain text.
    pub glob: Option<String>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At the root.
    Root,
    /// In a home directory that is not further known, or at a place that is not known at all.
    Unknown,
    /// In a directory that `mktemp` made.
    Temporary,
}

/// A normal path. `everything` and `slash` say what was cut off its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalPath {
    pub start: Start,
    pub components: Vec<Component>,
    /// A glob for everything in the directory was cut off (`/*`, `/.*`, `/**`).
    pub everything: bool,
    /// It ended in a slash or `/.`, so that a link at its end is followed.
    pub slash: bool,
    /// A live glob stood somewhere in it.
    pub globbed: bool,
    /// Some of it is unknown.
    pub dynamic: bool,
    /// What was found below the path: `find`'s results, or a loop over them.
    pub found: bool,
}

impl Component {
    /// The name `*`.
    pub(super) fn everything() -> Self {
        Self { name: PathText::text("*"), glob: Some("*".to_owned()) }
    }

    pub(super) fn plain(text: &str) -> Self {
        Self { name: PathText::text(text), glob: None }
    }

    /// The name as written, with a sign for each letter that is not known. It is compared with names of patterns alone:
    /// what the line or the system names may hold the sign itself.
    pub fn text(&self) -> &str {
        self.name.rough()
    }

    /// Has an unknown piece.
    pub fn is_unknown(&self) -> bool {
        !self.name.is_known()
    }

    /// Wholly known, and no glob.
    pub fn is_plain(&self) -> bool {
        self.glob.is_none() && !self.is_unknown()
    }

    /// Whether it may be this name.
    pub fn may_be(&self, name: &str) -> bool {
        match &self.glob {
            Some(_) if self.is_unknown() => false,
            // A pattern that does not begin with a dot does not match a name that does.
            Some(pattern) => (pattern.starts_with('.') || !name.starts_with('.')) && glob::text(pattern, name),
            None => self.name.known() == Some(name),
        }
    }

    /// A name that it stands for: its own, or one that its glob covers.
    pub fn sample(&self) -> Option<String> {
        let Some(pattern) = &self.glob else { return self.name.known().map(str::to_owned) };
        let mut letters = pattern.chars();
        let mut name = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '*' | '?' => name.push('x'),
                '[' => {
                    let set: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                    name.push(set.chars().next().filter(|first| first.is_alphanumeric())?);
                }
                '\\' => name.extend(letters.next()),
                letter => name.push(letter),
            }
        }
        Some(name)
    }

    /// Matches nearly every name there is.
    pub(super) fn is_everything(&self) -> bool {
        let Some(pattern) = &self.glob else { return false };
        if self.is_unknown() || !pattern.contains('*') {
            return false;
        }
        let mut in_set = false;
        pattern.chars().all(|c| match c {
            '[' => {
                in_set = true;
                true
            }
            ']' => {
                in_set = false;
                true
            }
            '*' | '?' | '.' => true,
            _ => in_set,
        })
    }
}

impl NormalPath {
    /// Absolute and known to the last letter, so that its text is all there is to it.
    pub(super) fn is_plain(&self) -> bool {
        let marked = self.everything || self.slash || self.globbed || self.dynamic || self.found;
        self.start == Start::Root && !marked && self.components.iter().all(Component::is_plain)
    }

    /// Of a value, relative to `cwd` when that is known. `None` for what names no path (nothing at all).
    pub fn of(value: &Value, cwd: Option<&Place>, home: Option<&str>) -> Option<Self> {
        let mut reader = PathReader::new(cwd, home);
        for (index, piece) in value.pieces().iter().enumerate() {
            reader.piece(piece, index == 0);
        }
        reader.finish()
    }

    /// Of an absolute path that is known.
    pub fn absolute(text: &str) -> Option<Self> {
        Self::of(&Value::text(text), None, None).filter(|_| !text.is_empty())
    }

    /// Of a place.
    pub fn of_place(place: &Place) -> Option<Self> {
        Self::of(&place.value(), None, None)
    }

    /// As text, with [`HOLE`] for what is not known of it: for patterns. The world is asked about what [`Self::exact`] gives.
    pub fn rough(&self) -> String {
        let mut text = match self.start {
            Start::Root => String::new(),
            Start::Unknown | Start::Temporary => format!("/{HOLE}"),
        };
        for component in &self.components {
            text.push('/');
            text.push_str(component.text());
        }
        if text.is_empty() {
            text.push('/');
        }
        text
    }

    /// The text, when every part of it is plain and it begins at the root.
    pub fn exact(&self) -> Option<String> {
        let plain = !self.dynamic && !self.globbed && !self.found && self.start == Start::Root;
        let known = |component: &Component| !component.is_unknown();
        (plain && self.components.iter().all(known)).then(|| self.rough())
    }

    /// The last name.
    pub fn name(&self) -> Option<&Component> {
        self.components.last()
    }

    /// Whether it is below [`Place::temporary`], or that itself.
    pub fn lies_in_made(&self) -> bool {
        let place = Place::temporary();
        let made = place.path().map(|path| path.split('/').filter(|name| !name.rough().is_empty()).collect::<Vec<_>>());
        self.start == Start::Root
            && made.is_some_and(|made| {
                let mut components = self.components.iter();
                made.iter().all(|name| components.next().is_some_and(|one| one.glob.is_none() && one.name == *name))
            })
    }

    /// How it lies to an absolute, normal directory.
    pub fn relation(&self, directory: &str) -> Relation {
        if self.start != Start::Root {
            return Relation::Apart;
        }
        let mut names = names(directory);
        let mut components = self.components.iter();
        loop {
            match (components.next(), names.next()) {
                (Some(component), Some(name)) if component.may_be(name) => {}
                (Some(_), Some(_)) => return Relation::Apart,
                (Some(_), None) => return Relation::Below,
                (None, Some(_)) => return Relation::Above,
                (None, None) => return Relation::Same,
            }
        }
    }
}

/// How a path lies to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Below,
    /// An ancestor of it.
    Above,
    Apart,
}

impl Relation {
    /// The directory itself or below it.
    pub const fn within(self) -> bool {
        matches!(self, Self::Same | Self::Below)
    }
}

/// The names of an absolute path.
pub fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

impl NormalPath {
    /// Other names of the same place: `/proc/self/root/…`, macOS's `/private/…`.
    pub(super) fn respell(&mut self) {
        if self.start != Start::Root {
            return;
        }
        let name = |index: usize| self.components.get(index).map(|component| component.text());
        let cut = match (name(0), name(1), name(2)) {
            (Some("proc"), Some(_), Some("root")) => 3,
            (Some("private"), Some("etc" | "var" | "tmp"), _) => 1,
            _ => 0,
        };
        self.components.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason};

    fn unknown(why: UnknownReason) -> Piece {
        Piece::Unknown(Unknown { why, taint: Taint::default() })
    }

    /// Text with live globs where `*`, `?` and `[…]` stand.
    fn shown(text: &str) -> String {
        let path = NormalPath::of(&live(text), Some(&Place::of("/home/me/project")), Some("/home/me")).unwrap();
        format!("{}{}{}", path.rough(), if path.everything { " all" } else { "" }, if path.slash { " /" } else { "" })
    }

    fn live(text: &str) -> Value {
        let mut value = Value::default();
        for c in text.chars() {
            value.push(if "*?".contains(c) { Piece::Glob(c.to_string()) } else { Piece::Text(c.to_string()) });
        }
        value
    }

    #[test]
    fn paths_become_lexically_normal() {
        for (text, expected) in [
            ("/", "/ /"),
            ("//", "/ /"),
            ("/etc//x/./y/../z", "/etc/x/z"),
            ("/..", "/ /"),
            ("/etc/.", "/etc /"),
            ("/etc/", "/etc /"),
            ("x", "/home/me/project/x"),
            (".", "/home/me/project /"),
            ("..", "/home/me /"),
            ("../../..", "/ /"),
            ("~", "/home/me /"),
            ("~/x", "/home/me/x"),
            ("~root/x", "/root/x"),
            ("~you", "/home/you /"),
            ("/*", "/ all"),
            ("/*/*", "/ all"),
            ("./*", "/home/me/project all"),
            ("*", "/home/me/project all"),
            ("~/.*", "/home/me all"),
            ("*.o", "/home/me/project/*.o"),
            ("/proc/self/root/etc", "/etc"),
            ("/private/tmp/x", "/tmp/x"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn an_unknown_beginning_is_an_unknown_place() {
        let dir = unknown(UnknownReason::Variable("DIR".into()));
        let path = NormalPath::of(&Value::of(vec![dir, Piece::Text("/".into()), Piece::Glob("*".into())]), None, None);
        let path = path.unwrap();
        assert_eq!((path.start, path.everything, path.dynamic, path.globbed), (Start::Unknown, true, true, true));
    }

    #[test]
    fn what_mktemp_made_is_not_dynamic() {
        let made = unknown(UnknownReason::Temporary { variable: false });
        let path = NormalPath::of(&Value::of(vec![made, Piece::Text("/x".into())]), None, None).unwrap();
        assert_eq!((path.start, path.dynamic), (Start::Temporary, false));
        let path = NormalPath::of(
            &Value::of(vec![unknown(UnknownReason::Temporary { variable: false }), Piece::Text("/../x".into())]),
            None,
            None,
        );
        assert!(path.unwrap().dynamic);
    }

    #[test]
    fn a_live_glob_may_be_any_name_that_it_matches() {
        let path = NormalPath::of(&live("/e*c/x"), None, None).unwrap();
        assert_eq!(path.relation("/etc"), Relation::Below);
        assert_eq!(path.relation("/etc/x/y"), Relation::Above);
        assert_eq!(path.relation("/usr"), Relation::Apart);
        let path = NormalPath::of(&live("/home/?e"), None, None).unwrap();
        assert_eq!(path.relation("/home/me"), Relation::Same);
    }

    #[test]
    fn nothing_but_what_mktemp_made_lies_in_it() {
        let path = |text: &str, cwd: Option<&Place>| NormalPath::of(&Value::text(text), cwd, None).unwrap();
        let made = Place::temporary();
        assert!(path("a/b", Some(&made)).lies_in_made());
        for text in ["/", "/tmp", "/tmp/x/y", "/tmp/tmp.", "/tmp/tmp.abc/x", "/home/dev"] {
            assert!(!path(text, Some(&made)).lies_in_made(), "{text}");
        }
    }
}
