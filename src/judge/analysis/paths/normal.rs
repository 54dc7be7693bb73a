//! Lexically normalised paths, with globs and unknown parts.
//!
//! Links are not resolved: `a/../b` is `b` even if `a` is a link, as for `cd` of shells.

use super::reader::PathReader;
use crate::judge::analysis::act::Value;
use crate::judge::analysis::letter::PathText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::value::HOLE;
use crate::judge::rules::glob;

/// A name in a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Component {
    /// The name as written.
    pub name: PathText,
    /// The pattern with literal text escaped; `None` if the name is not a glob.
    pub glob: Option<String>,
}

/// The beginning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// The root directory.
    Root,
    /// An unknown home directory, or an unknown directory.
    Unknown,
    /// A directory of `mktemp`.
    Temporary,
}

/// A normalised path. `everything` and `slash` describe the parts that were removed from its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NormalPath {
    pub start: Start,
    pub components: Vec<Component>,
    /// Whether a glob for everything in the directory was removed (`/*`, `/.*`, `/**`).
    pub everything: bool,
    /// Whether it ended in a slash or `/.`, so that a link at its end is resolved.
    pub slash: bool,
    /// Whether it contains a glob.
    pub globbed: bool,
    /// Whether a part of it is unknown.
    pub dynamic: bool,
    /// Whether it stands for files that were found below the path, by `find` or a loop.
    pub found: bool,
}

impl Component {
    /// Returns the name `*`.
    pub(super) fn everything() -> Self {
        Self { name: PathText::text("*"), glob: Some("*".to_owned()) }
    }

    pub(super) fn plain(text: &str) -> Self {
        Self { name: PathText::text(text), glob: None }
    }

    /// Returns the name with a placeholder for unknown letters. Compare it only with names in patterns: names in a
    /// command or on the system may contain the character itself.
    pub fn text(&self) -> &str {
        self.name.rough()
    }

    /// Reports whether a part is unknown.
    pub fn is_unknown(&self) -> bool {
        !self.name.is_known()
    }

    /// Reports whether it is completely known and not a glob.
    pub fn is_plain(&self) -> bool {
        self.glob.is_none() && !self.is_unknown()
    }

    /// Reports whether it may be this name.
    pub fn may_be(&self, name: &str) -> bool {
        match &self.glob {
            Some(_) if self.is_unknown() => false,
            // A pattern that does not begin with a dot does not match a name that does.
            Some(pattern) => (pattern.starts_with('.') || !name.starts_with('.')) && glob::text(pattern, name),
            None => self.name.known() == Some(name),
        }
    }

    /// Returns a name that it matches: its own, or an example for its glob.
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

    /// Reports whether it matches nearly every name.
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
    /// Reports whether it is absolute and completely known, so that its text is sufficient.
    pub(super) fn is_plain(&self) -> bool {
        let marked = self.everything || self.slash || self.globbed || self.dynamic || self.found;
        self.start == Start::Root && !marked && self.components.iter().all(Component::is_plain)
    }

    /// Parses a value, relative to `cwd` if that is known. `None` for an empty value.
    pub fn of(value: &Value, cwd: Option<&Place>, home: Option<&str>) -> Option<Self> {
        let mut reader = PathReader::new(cwd, home);
        for (index, piece) in value.pieces().iter().enumerate() {
            reader.piece(piece, index == 0);
        }
        reader.finish()
    }

    /// Parses a known absolute path.
    pub fn absolute(text: &str) -> Option<Self> {
        Self::of(&Value::text(text), None, None).filter(|_| !text.is_empty())
    }

    /// Converts a place.
    pub fn of_place(place: &Place) -> Option<Self> {
        Self::of(&place.value(), None, None)
    }

    /// Returns it as text with [`HOLE`] for unknown parts, for patterns. Use [`Self::exact`] for questions.
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

    /// Returns its text if it is absolute and every part is known.
    pub fn exact(&self) -> Option<String> {
        let plain = !self.dynamic && !self.globbed && !self.found && self.start == Start::Root;
        let known = |component: &Component| !component.is_unknown();
        (plain && self.components.iter().all(known)).then(|| self.rough())
    }

    /// Returns its last name.
    pub fn name(&self) -> Option<&Component> {
        self.components.last()
    }

    /// Reports whether it is [`Place::temporary`] or below it.
    pub fn lies_in_made(&self) -> bool {
        let place = Place::temporary();
        let made = place.path().map(|path| path.split('/').filter(|name| !name.rough().is_empty()).collect::<Vec<_>>());
        self.start == Start::Root
            && made.is_some_and(|made| {
                let mut components = self.components.iter();
                made.iter().all(|name| components.next().is_some_and(|one| one.glob.is_none() && one.name == *name))
            })
    }

    /// Returns its relation to an absolute, normalised directory.
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

/// The relation of a path to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Below,
    /// The path is an ancestor of the directory.
    Above,
    Apart,
}

impl Relation {
    /// Reports whether the path is the directory or below it.
    pub const fn within(self) -> bool {
        matches!(self, Self::Same | Self::Below)
    }
}

/// Returns the names in an absolute path.
pub fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

impl NormalPath {
    /// Replaces other spellings of a path: `/proc/self/root/…`, `/private/…` of macOS.
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

    /// Returns the normal form of a text in which `*`, `?` and `[…]` are live globs.
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
