//! Places: the working directory of a shell, or a file that the command writes.
//!
//! Only this module joins directories and names. Out of scope: what exists at a place.

use super::act::{Piece, Unknown, UnknownReason, Value};
use super::letter::{Letter, PathText};
use crate::judge::rules::glob;

/// A path, as far as the text of the command determines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Form);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    /// An absolute, lexically normalised path; globs in it are as written.
    Path(PathText),
    /// A file of unknown name in this directory.
    AnyIn(PathText),
    /// A file of unknown name in this directory or below it.
    AnyBelow(PathText),
    /// A file that is known only by this unknown value.
    Unnamed(String),
}

impl Place {
    /// Creates the place of an absolute path from the system.
    pub fn of(path: impl Into<String>) -> Self {
        Self(Form::Path(PathText::text(path)))
    }

    /// Returns the place that stands for all files and directories of `mktemp`.
    pub fn temporary() -> Self {
        let mut path = PathText::text("/tmp/tmp.");
        path.push(Letter::MadeUp);
        Self(Form::Path(path))
    }

    /// Returns the place of a path relative to a directory; `None` if the directory is unknown, or the text cannot be a
    /// path.
    pub fn at(dir: Option<&Self>, path: &str) -> Option<Self> {
        if path.contains('\0') {
            return None;
        }
        // Most paths are normalised already.
        if is_normal(path) {
            return Some(Self::of(path));
        }
        Self::spelled_at(dir, &PathText::text(path))
    }

    /// Like [`Self::at`], for a partly known path.
    pub fn spelled_at(dir: Option<&Self>, path: &PathText) -> Option<Self> {
        if path.rough().is_empty() {
            return None;
        }
        let root = PathText::default();
        let base = if path.rough().starts_with('/') { &root } else { dir?.path()? };
        let mut names: Vec<PathText> = Vec::new();
        for name in base.split('/').chain(path.split('/')) {
            match name.known() {
                Some("" | ".") => {}
                Some("..") => {
                    names.pop();
                }
                _ => names.push(name),
            }
        }
        let mut all = PathText::text(if names.is_empty() { "/" } else { "" });
        for name in &names {
            all.push_str("/");
            all.push_spelled(name);
        }
        Some(Self(Form::Path(all)))
    }

    /// Returns the place under which a file is stored that a value names: its path, a glob as written, or its only
    /// unknown piece.
    pub fn of_file(dir: Option<&Self>, value: &Value) -> Option<Self> {
        if let Some(text) = value.pattern() {
            return match text.strip_suffix('*').filter(|_| ends_in_star(value)) {
                Some(above) if above.is_empty() || above.ends_with('/') => {
                    Self::at(dir, &format!("{above}."))?.any_in()
                }
                _ => Self::at(dir, &text),
            };
        }
        if let Some(below) = Self::below_temporary(value) {
            return Some(below);
        }
        // By its name, if the identity of each number in it is known.
        if let Some(path) = value.spelled() {
            return Self::spelled_at(dir, &path).filter(|_| value.is_told_apart());
        }
        let named = value.pieces().iter().any(|piece| {
            matches!(piece, Piece::Unknown(unknown)
                if matches!(unknown.why, UnknownReason::Temporary { .. } | UnknownReason::Variable(_)))
        });
        named.then(|| Self(Form::Unnamed(format!("{:?}", value.pieces()))))
    }

    /// Returns the directory that a value names. A partly known name is accepted if the unknown parts are numbers or
    /// names of `mktemp`.
    pub fn of_directory(dir: Option<&Self>, value: &Value) -> Option<Self> {
        if let Some(text) = value.known() {
            return Self::at(dir, &text);
        }
        let is_number = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::Unknown(unknown) => matches!(unknown.why, UnknownReason::Number(_)),
            Piece::Glob(_) => false,
        };
        if let Some(path) = value.spelled().filter(|_| value.pieces().iter().all(is_number)) {
            // A component that is only a number may be empty.
            let whole = path.split('/').all(|name| name.rough().is_empty() || !name.is_all_unknown());
            return whole.then(|| Self::spelled_at(dir, &path))?;
        }
        match value.pieces() {
            // `cd` with an unset variable changes to the home directory or does nothing.
            [Piece::Unknown(Unknown { why: UnknownReason::Temporary { variable: true }, .. })] => None,
            _ => Self::below_temporary(value),
        }
    }

    /// Returns the place of a path below a directory of `mktemp`.
    pub fn below_temporary(value: &Value) -> Option<Self> {
        let [Piece::Unknown(Unknown { why: UnknownReason::Temporary { .. }, .. }), rest @ ..] = value.pieces() else {
            return None;
        };
        let (made, rest) = (Self::temporary(), Value::of(rest.to_vec()).spelled()?);
        let start = made.path()?;
        let mut path = start.clone();
        path.push_spelled(&rest);
        let place = Self::spelled_at(None, &path)?;
        let stays = rest.rough().is_empty() || place.path().is_some_and(|path| path.begins_with(start));
        stays.then_some(place)
    }

    /// Returns the place of a relative path in it.
    pub fn join(&self, names: &str) -> Option<Self> {
        Self::at(Some(self), if names.is_empty() { "." } else { names.trim_start_matches('/') })
    }

    /// Like [`Self::join`], for a partly known path.
    pub fn join_spelled(&self, names: &PathText) -> Option<Self> {
        let mut path = self.path()?.clone();
        path.push_str("/");
        path.push_spelled(names);
        Self::spelled_at(None, &path)
    }

    /// Returns the place of files of unknown name in it.
    pub fn any_in(&self) -> Option<Self> {
        Some(Self(Form::AnyIn(self.path()?.clone())))
    }

    /// Reports whether it stands for files of unknown name in a directory.
    pub fn is_any(&self) -> bool {
        matches!(self.0, Form::AnyIn(_))
    }

    /// Returns the place of the files that a value with an unknown name may stand for: those below the directory with
    /// which it begins. `None` if its name is known.
    pub fn of_files(dir: Option<&Self>, value: &Value) -> Option<Self> {
        if value.known().is_some() || value.pattern().is_some() {
            return None;
        }
        let leading = value.leading();
        let above = leading.rsplit_once('/').map_or(".", |(above, _)| if above.is_empty() { "/" } else { above });
        Some(Self(Form::AnyBelow(Self::at(dir, above)?.path()?.clone())))
    }

    /// Reports whether it stands for several files.
    pub fn is_several(&self) -> bool {
        match &self.0 {
            Form::Path(path) => glob::is_glob(path.rough()),
            Form::AnyIn(_) | Form::AnyBelow(_) => true,
            Form::Unnamed(_) => false,
        }
    }

    /// Reports whether a file is one of several for which this place stands.
    pub fn covers(&self, file: &Self) -> bool {
        let Some(path) = file.text() else { return false };
        match &self.0 {
            Form::Path(pattern) => glob::is_glob(pattern.rough()) && glob::path(pattern.rough(), path),
            Form::AnyIn(dir) => file.split().is_some_and(|(above, _)| above.0 == Form::Path(dir.clone())),
            Form::AnyBelow(dir) => file.below(&Self(Form::Path(dir.clone()))).is_some(),
            Form::Unnamed(_) => false,
        }
    }

    /// Returns its path, as far as it is known.
    pub fn path(&self) -> Option<&PathText> {
        match &self.0 {
            Form::Path(path) => Some(path),
            Form::AnyIn(_) | Form::AnyBelow(_) | Form::Unnamed(_) => None,
        }
    }

    /// Returns its path if it is completely known, so that questions about it are possible.
    pub fn text(&self) -> Option<&str> {
        self.path()?.known()
    }

    /// Returns its path for display, with a character for unknown parts.
    pub fn shown(&self) -> &str {
        self.path().map_or("?", PathText::rough)
    }

    /// Returns a value that names it.
    pub fn value(&self) -> Value {
        self.path().map(PathText::value).unwrap_or_default()
    }

    /// Returns its parent directories, from the nearest to the root.
    pub fn above(&self) -> impl Iterator<Item = Self> {
        let (path, holds) = match &self.0 {
            Form::Path(path) => (path.clone(), None),
            Form::AnyIn(dir) | Form::AnyBelow(dir) => (dir.clone(), Some(Self(Form::Path(dir.clone())))),
            Form::Unnamed(_) => (PathText::default(), None),
        };
        let mut end = if path.rough() == "/" { 0 } else { path.rough().len() };
        let above = std::iter::from_fn(move || {
            end = path.rough().get(..end)?.rfind('/')?;
            Some(Self(Form::Path(if end == 0 { PathText::text("/") } else { path.part(0..end) })))
        });
        holds.into_iter().chain(above)
    }

    /// Reports whether a predicate is true for a parent directory. Its arguments are the directory, and the place of
    /// files of unknown name in it.
    pub fn any_above(&self, mut holds: impl FnMut(&Self, &Self) -> bool) -> bool {
        self.above().any(|dir| dir.any_in().is_some_and(|any| holds(&dir, &any)))
    }

    /// Reports whether it is the root directory.
    pub fn is_root(&self) -> bool {
        self.text() == Some("/")
    }

    /// Returns the rest of its path after a directory, with a leading slash, if it is below that directory; empty for
    /// the directory itself.
    pub fn below(&self, dir: &Self) -> Option<PathText> {
        let (path, dir) = (self.path()?, dir.path()?);
        if dir.rough() == "/" {
            let is_root = path.rough() == "/";
            return Some(if is_root { PathText::default() } else { path.clone() });
        }
        path.after(dir).filter(|rest| rest.rough().is_empty() || rest.rough().starts_with('/'))
    }

    /// Returns its directory and its name there.
    pub fn split(&self) -> Option<(Self, PathText)> {
        let path = self.path()?;
        let at = path.rough().rfind('/')?;
        Some((self.above().next()?, path.part(at + 1..path.rough().len())))
    }
}

/// Reports whether a path is absolute and normalised.
fn is_normal(path: &str) -> bool {
    let names = |names: &str| names.split('/').all(|name| !matches!(name, "" | "." | ".."));
    path == "/" || path.strip_prefix('/').is_some_and(names)
}

/// Reports whether a value ends in an unquoted `*`.
fn ends_in_star(value: &Value) -> bool {
    matches!(value.pieces().last(), Some(Piece::Glob(glob)) if glob.ends_with('*'))
}

#[cfg(test)]
mod tests {
    use super::super::act::{NumberId, Taint};
    use super::*;

    fn unknown(why: UnknownReason) -> Piece {
        Piece::Unknown(Unknown { why, taint: Taint::default() })
    }

    fn number(id: u16) -> Piece {
        unknown(UnknownReason::Number(NumberId { id, plain: true }))
    }

    fn made() -> Piece {
        unknown(UnknownReason::Temporary { variable: false })
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    #[test]
    fn paths_are_taken_from_the_directory() {
        let home = Place::of("/home/dev");
        let at =
            |dir: Option<&Place>, path: &str| Place::at(dir, path).and_then(|place| place.text().map(str::to_owned));
        for (path, expected) in [
            ("../x/./y", Some("/home/x/y")),
            ("/../a//b", Some("/a/b")),
            ("..", Some("/home")),
            ("../../..", Some("/")),
            ("x", Some("/home/dev/x")),
            (".", Some("/home/dev")),
            ("", None),
            ("x\0", None),
            ("/\0", None),
        ] {
            assert_eq!(at(Some(&home), path).as_deref(), expected, "{path}");
        }
        assert_eq!(at(None, "x"), None);
        assert_eq!(at(None, "/x").as_deref(), Some("/x"));
    }

    #[test]
    fn a_name_in_a_directory_that_is_known_in_part_is_the_same_each_time() {
        let dir = Place::of_directory(None, &Value::of(vec![text("/work/x"), number(1)])).unwrap();
        assert_eq!((dir.text(), dir.shown()), (None, "/work/x\u{fffc}"));
        let file = dir.join("run.sh").unwrap();
        assert_eq!(
            Place::of_file(None, &Value::of(vec![text("/work/x"), number(1), text("/run.sh")])),
            Some(file.clone())
        );
        assert_ne!(
            Place::of_file(None, &Value::of(vec![text("/work/x"), number(2), text("/run.sh")])),
            Some(file.clone())
        );
        assert_ne!(Place::at(None, "/work/x\u{fffc}/run.sh"), Some(file.clone()));
        assert_eq!(
            file.split().map(|(dir, name)| (dir, name.rough().to_owned())),
            Some((dir.clone(), "run.sh".into()))
        );
        assert_eq!(file.below(&dir), Some(PathText::text("/run.sh")));
        assert_eq!(file.below(&Place::of("/work/x\u{fffc}")), None);
        assert_eq!(dir.join("../y").unwrap().text(), Some("/work/y"));
    }

    #[test]
    fn what_may_be_no_name_is_no_directory() {
        assert_eq!(Place::of_directory(None, &Value::of(vec![text("/work/"), number(1)])), None);
        assert_eq!(Place::of_directory(None, &Value::of(vec![text("/work/"), made()])), None);
        let variable = unknown(UnknownReason::Temporary { variable: true });
        assert_eq!(Place::of_directory(None, &Value::of(vec![variable])), None);
        assert_eq!(Place::of_directory(None, &Value::of(vec![made()])), Some(Place::temporary()));
    }

    #[test]
    fn what_leaves_a_made_directory_is_not_below_it() {
        let below = |rest: &str| Place::below_temporary(&Value::of(vec![made(), text(rest)]));
        assert_eq!(below("/x"), Place::temporary().join("x"));
        assert_eq!(below("/../x"), None);
        assert_eq!(below(".log").and_then(|place| place.split()).map(|(dir, _)| dir), Some(Place::of("/tmp")));
    }

    #[test]
    fn any_file_of_a_directory_is_none_that_is_named() {
        let dir = Place::of("/x");
        let any = dir.any_in().unwrap();
        let star = Value::of(vec![text("/x/"), Piece::Glob("*".into())]);
        assert_eq!(Place::of_file(None, &star), Some(any.clone()));
        assert_ne!(Place::of_file(None, &Value::text("/x/*")), Some(any.clone()));
        assert!(any.is_any() && any.text().is_none() && !dir.is_any());
        assert_eq!(Place::of_file(Some(&dir), &Value::of(vec![Piece::Glob("*".into())])), Some(any));
    }

    #[test]
    fn directories_above_end_at_the_root() {
        let above = |path: &str| Place::of(path).above().map(|place| place.shown().to_owned()).collect::<Vec<_>>();
        assert_eq!(above("/a/b/c"), ["/a/b", "/a", "/"]);
        assert_eq!(above("/a"), ["/"]);
        assert!(above("/").is_empty());
        let shown: Vec<String> = Place::temporary().above().map(|place| place.shown().to_owned()).collect();
        assert_eq!(shown, ["/tmp", "/"]);
    }

    #[test]
    fn a_name_is_put_into_a_directory() {
        for (dir, names, expected) in [("/", "x", "/x"), ("/a", "", "/a"), ("/a", "/b/../c", "/a/c"), ("/a", ".", "/a")]
        {
            assert_eq!(Place::of(dir).join(names).unwrap().text(), Some(expected));
        }
        assert_eq!(Place::of("/x").below(&Place::of("/")), Some(PathText::text("/x")));
        assert_eq!(Place::of("/xy").below(&Place::of("/x")), None);
    }
}
