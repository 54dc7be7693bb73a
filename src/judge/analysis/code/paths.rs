//! Paths that code puts together, as texts and as objects with methods.
//!
//! Out of scope: which calls make paths, and what lies at one.

use super::element_texts::put_together;
use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Gap, Language, Slice, Text, TextItem};
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::VariableMeaning;

/// How an address of a file begins.
pub(super) const FILE: &str = "file://";

/// The most directories that are gone up at once.
pub(super) const MAX_LEVELS: usize = 32;

impl CallReader<'_> {
    /// A path as an object, or each of several, of parts that are put together.
    pub fn path_of(&self, parts: &[Expression]) -> Expression {
        Expression { name: self.of_paths().name, ..put_together(parts, joined) }
    }

    /// Paths as objects with methods.
    pub fn of_paths(&self) -> Expression {
        let name = if self.language == Language::Ruby { "Pathname" } else { "pathlib.Path" };
        Expression::of_name(name.to_owned())
    }

    /// The place of the file that the code stands in, where a name stands for it or for its directory.
    pub fn own_place(&self, name: &str) -> Option<Text> {
        let file = self.world.file;
        let place: Text = match languages().held(self.language, name)?.0 {
            VariableMeaning::File => file.into(),
            VariableMeaning::Address => format!("{FILE}{file}").into(),
            VariableMeaning::Directory => directory(file.into()),
            VariableMeaning::Home | VariableMeaning::Program => return None,
        };
        Some(if file.is_empty() { Gap::Value.into() } else { place })
    }

    /// A directory above a path that is an object: `.parent`, `.parents[1]`.
    pub fn above_path(&mut self, of: &Expression, part: &str) -> Option<Expression> {
        let path = of.text.as_ref()?.slice();
        if path.rough().starts_with(FILE) && matches!(part, "pathname" | "href") {
            return Some(Expression::of_text(path.cut(without_scheme)));
        }
        let name = of.name.as_deref().filter(|name| name.contains("Path"))?;
        let levels = match part {
            "parent" => 1,
            "parents" if self.mark(0, '[') && self.mark(2, ']') => {
                let Some(Token::Number(level)) = self.peek(1) else { return None };
                let level: usize = level.parse().ok()?;
                self.at += 3;
                level.saturating_add(1)
            }
            _ => return None,
        };
        let text = (0..levels.min(MAX_LEVELS)).fold(Text::from(path), |of, _| directory(of.slice()));
        Some(Expression { name: Some(name.to_owned()), ..Expression::of_text(text) })
    }
}

pub(super) fn without_scheme(address: &str) -> &str {
    address.strip_prefix(FILE).unwrap_or(address)
}

/// Whether a path does not hang on another one.
pub(super) fn is_whole(path: Slice<'_>) -> bool {
    path.rough().starts_with(['/', '~'])
}

/// The directory of a path, as its text says it. Of one that says nothing of where it lies it is not known.
pub(super) fn directory(path: Slice<'_>) -> Text {
    let path = above(path);
    match path.find(|path| path.rsplit_once('/').map(|(dir, _)| dir)) {
        Some(dir) if dir.is_empty() => "/".into(),
        Some(dir) => dir.into(),
        None if path.has_gaps() => Gap::Value.into(),
        None => ".".into(),
    }
}

/// A path without `.` and `..` in it, where all of it is known.
pub(super) fn plain_path(path: Text) -> Text {
    let Some(known) = path.known().filter(|known| known.contains("/.")) else { return path };
    let mut parts: Vec<&str> = Vec::new();
    for part in known.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/").into()
}

/// Parts of a path put together; an absolute part begins anew.
pub(super) fn joined(parts: &[Text]) -> Text {
    let mut all = Text::default();
    for part in parts {
        if part.rough().starts_with('/') {
            all = Text::default();
        } else if !all.is_empty() && !all.rough().ends_with('/') {
            all.push(TextItem::Letter('/'));
        }
        all.push_text(part);
    }
    all
}

/// A directory without the slash behind it.
pub(super) fn above(dir: Slice<'_>) -> Slice<'_> {
    dir.cut(|dir| dir.trim_end_matches('/'))
}
