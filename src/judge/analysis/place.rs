//! Where something lies: a directory that a shell stands in, a file that the line writes.
//!
//! Here alone is a name put into a directory. Out of scope: what is there.

use super::act::{Piece, Unknown, UnknownReason, Value};
use super::letter::{Letter, PathText};

/// A place, as far as the text of the line says which one it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Form);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    /// An absolute path, lexically normal; a live glob in it is as it is written.
    Path(PathText),
    /// What lies in this directory, under whatever name.
    AnyIn(PathText),
    /// What only this value names, shown as its pieces.
    Unnamed(String),
}

impl Place {
    /// The place of an absolute path, as the system gives it.
    pub fn of(path: impl Into<String>) -> Self {
        Self(Form::Path(PathText::text(path)))
    }

    /// What `mktemp` makes, whatever it is called.
    pub fn temporary() -> Self {
        let mut path = PathText::text("/tmp/tmp.");
        path.push(Letter::MadeUp);
        Self(Form::Path(path))
    }

    /// The place that a path names from a directory; `None` when that is not known, and for what no path holds.
    pub fn at(dir: Option<&Self>, path: &str) -> Option<Self> {
        if path.contains('\0') {
            return None;
        }
        // Most are written so.
        if is_normal(path) {
            return Some(Self::of(path));
        }
        Self::spelled_at(dir, &PathText::text(path))
    }

    /// As [`Self::at`], of a path that is known in part.
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

    /// By which a file is remembered that a value names: its path, a glob as it is written, or the one unknown that names it.
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
        // By its name, where each number in it is told apart.
        if let Some(path) = value.spelled() {
            return Self::spelled_at(dir, &path).filter(|_| value.is_told_apart());
        }
        let named = value.pieces().iter().any(|piece| {
            matches!(piece, Piece::Unknown(unknown)
                if matches!(unknown.why, UnknownReason::Temporary { .. } | UnknownReason::Variable(_)))
        });
        named.then(|| Self(Form::Unnamed(format!("{:?}", value.pieces()))))
    }

    /// The directory that a value names. What only part of is known is told where that is a number, or what `mktemp` made.
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
            // A number alone may be empty after all.
            let whole = path.split('/').all(|name| name.rough().is_empty() || !name.is_all_unknown());
            return whole.then(|| Self::spelled_at(dir, &path))?;
        }
        match value.pieces() {
            // `cd` without a word goes home, and with an empty one nowhere.
            [Piece::Unknown(Unknown { why: UnknownReason::Temporary { variable: true }, .. })] => None,
            _ => Self::below_temporary(value),
        }
    }

    /// The place below what stands for all that `mktemp` makes.
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

    /// What a name, or several below each other, names in it.
    pub fn join(&self, names: &str) -> Option<Self> {
        Self::at(Some(self), if names.is_empty() { "." } else { names.trim_start_matches('/') })
    }

    /// As [`Self::join`], of names that are known in part.
    pub fn join_spelled(&self, names: &PathText) -> Option<Self> {
        let mut path = self.path()?.clone();
        path.push_str("/");
        path.push_spelled(names);
        Self::spelled_at(None, &path)
    }

    /// What lies in it, under whatever name.
    pub fn any_in(&self) -> Option<Self> {
        Some(Self(Form::AnyIn(self.path()?.clone())))
    }

    /// Whether it is what lies in a directory, under whatever name.
    pub fn is_any(&self) -> bool {
        matches!(self.0, Form::AnyIn(_))
    }

    /// Its path, as far as it is known.
    pub fn path(&self) -> Option<&PathText> {
        match &self.0 {
            Form::Path(path) => Some(path),
            Form::AnyIn(_) | Form::Unnamed(_) => None,
        }
    }

    /// Its path, when all of it is known: what the world can be asked about.
    pub fn text(&self) -> Option<&str> {
        self.path()?.known()
    }

    /// Its path as it is shown, with a sign for what is not known.
    pub fn shown(&self) -> &str {
        self.path().map_or("?", PathText::rough)
    }

    /// The value that names it.
    pub fn value(&self) -> Value {
        self.path().map(PathText::value).unwrap_or_default()
    }

    /// The directories above it, the nearest first and the root last.
    pub fn above(&self) -> impl Iterator<Item = Self> {
        let (path, holds) = match &self.0 {
            Form::Path(path) => (path.clone(), None),
            Form::AnyIn(dir) => (dir.clone(), Some(Self(Form::Path(dir.clone())))),
            Form::Unnamed(_) => (PathText::default(), None),
        };
        let mut end = if path.rough() == "/" { 0 } else { path.rough().len() };
        let above = std::iter::from_fn(move || {
            end = path.rough().get(..end)?.rfind('/')?;
            Some(Self(Form::Path(if end == 0 { PathText::text("/") } else { path.part(0..end) })))
        });
        holds.into_iter().chain(above)
    }

    /// Whether something holds of a directory above it. It is given the directory, and what stands for its files whose names
    /// nothing says.
    pub fn any_above(&self, mut holds: impl FnMut(&Self, &Self) -> bool) -> bool {
        self.above().any(|dir| dir.any_in().is_some_and(|any| holds(&dir, &any)))
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.text() == Some("/")
    }

    /// What is behind a directory in its path, with a slash in front, when it lies below it. Of itself that is nothing.
    pub fn below(&self, dir: &Self) -> Option<PathText> {
        let (path, dir) = (self.path()?, dir.path()?);
        if dir.rough() == "/" {
            let is_root = path.rough() == "/";
            return Some(if is_root { PathText::default() } else { path.clone() });
        }
        path.after(dir).filter(|rest| rest.rough().is_empty() || rest.rough().starts_with('/'))
    }

    /// The directory that holds it, and its name there.
    pub fn split(&self) -> Option<(Self, PathText)> {
        let path = self.path()?;
        let at = path.rough().rfind('/')?;
        Some((self.above().next()?, path.part(at + 1..path.rough().len())))
    }
}

/// Whether a path is absolute and nothing in it would be taken away.
fn is_normal(path: &str) -> bool {
    let names = |names: &str| names.split('/').all(|name| !matches!(name, "" | "." | ".."));
    path == "/" || path.strip_prefix('/').is_some_and(names)
}

/// Whether the last letter of a value is a live star.
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
