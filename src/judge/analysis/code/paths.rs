//! Paths that code composes, as texts and as objects with methods.
//!
//! Out of scope: which calls return paths, and what exists at a path.

use super::element_texts::put_together;
use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Gap, Language, Slice, Text, TextItem};
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::VariableMeaning;

/// The scheme of a URL of a file.
pub(super) const FILE: &str = "file://";

/// Maximum number of parent directories in one step.
pub(super) const MAX_LEVELS: usize = 32;

impl CallReader<'_> {
    /// Joins parts to a path, or to several paths, as objects.
    pub fn path_of(&self, parts: &[Expression]) -> Expression {
        Expression { name: self.of_paths().name, ..put_together(parts, joined) }
    }

    /// Converts it to paths that are objects with methods.
    pub fn of_paths(&self) -> Expression {
        let name = if self.language == Language::Ruby { "Pathname" } else { "pathlib.Path" };
        Expression::of_name(name.to_owned())
    }

    /// Returns the path of the file that contains the code, or its directory, if a name stands for it.
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

    /// Evaluates `.parent` and `.parents[1]` of a path.
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

/// Reports whether a path is absolute.
pub(super) fn is_whole(path: Slice<'_>) -> bool {
    path.rough().starts_with(['/', '~'])
}

/// Returns the directory of a path by its text; unknown if the path has none.
pub(super) fn directory(path: Slice<'_>) -> Text {
    let path = above(path);
    match path.find(|path| path.rsplit_once('/').map(|(dir, _)| dir)) {
        Some(dir) if dir.is_empty() => "/".into(),
        Some(dir) => dir.into(),
        None if path.has_gaps() => Gap::Value.into(),
        None => ".".into(),
    }
}

/// Removes `.` and `..` from a completely known path.
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

/// Joins parts of a path. An absolute part replaces the earlier ones.
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

/// Returns a directory without a trailing slash.
pub(super) fn above(dir: Slice<'_>) -> Slice<'_> {
    dir.cut(|dir| dir.trim_end_matches('/'))
}
