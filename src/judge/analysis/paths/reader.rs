//! Parses a path in a value, piece by piece.

use super::normal::{Component, NormalPath, Start};
use crate::judge::analysis::act::{Piece, UnknownReason};
use crate::judge::analysis::letter::PathText;
use crate::judge::analysis::place::Place;

pub(super) struct PathReader<'a> {
    cwd: Option<&'a Place>,
    home: Option<&'a str>,
    start: Option<Start>,
    components: Vec<Component>,
    current: Option<Component>,
    slash: bool,
    globbed: bool,
    dynamic: bool,
    found: bool,
    /// Whether the current name contains an unknown number.
    numbered: bool,
}

impl<'a> PathReader<'a> {
    pub(super) const fn new(cwd: Option<&'a Place>, home: Option<&'a str>) -> Self {
        Self {
            cwd,
            home,
            start: None,
            components: Vec::new(),
            current: None,
            slash: false,
            globbed: false,
            dynamic: false,
            found: false,
            numbered: false,
        }
    }

    pub(super) fn piece(&mut self, piece: &Piece, first: bool) {
        match piece {
            Piece::Text(text) => self.text(text, first),
            Piece::Glob(pattern) => self.glob(pattern),
            Piece::Unknown(unknown) => match &unknown.why {
                UnknownReason::Temporary { .. } if self.start.is_none() && self.current.is_none() => {
                    self.start = Some(Start::Temporary);
                }
                // Part of a name after a known beginning, or completely unknown.
                UnknownReason::Temporary { .. } => self.hole(false),
                UnknownReason::Variable(name) if name == "HOME" && first && self.home.is_some() => {
                    self.text(self.home.unwrap_or_default(), true);
                }
                UnknownReason::Found(Some(start)) if first && !start.is_empty() => {
                    self.text(start, true);
                    self.end_component();
                    self.found = true;
                    self.dynamic = true;
                }
                UnknownReason::Found(Some(below)) if below.is_empty() && self.start.is_some() => {
                    self.hole(false);
                    self.found = true;
                }
                UnknownReason::Number(number) => {
                    self.current().name.push_number(*number);
                    self.numbered = true;
                }
                _ => self.hole(true),
            },
        }
    }

    fn hole(&mut self, dynamic: bool) {
        self.dynamic |= dynamic;
        if self.start.is_none() && self.current.is_none() {
            // It may contain several names, be absolute, or be empty.
            self.start = Some(Start::Unknown);
            return;
        }
        self.current().name.push_unknown();
    }

    fn current(&mut self) -> &mut Component {
        if self.start.is_none() {
            self.begin_relative();
        }
        self.current.get_or_insert_with(|| Component::plain(""))
    }

    fn begin_relative(&mut self) {
        self.start = Some(Start::Unknown);
        match self.cwd.and_then(Place::path) {
            Some(cwd) if cwd.rough().starts_with('/') => {
                self.start = Some(Start::Root);
                // Room for the names of the value.
                self.components.reserve(8);
                self.components.extend(components(cwd));
            }
            _ => self.dynamic = true,
        }
    }

    fn text(&mut self, text: &str, first: bool) {
        let mut text = text;
        if first && text.starts_with('~') {
            let (user, rest) = text.split_once('/').map_or((text, ""), |(user, rest)| (user, rest));
            if let Some(home) = self.home_of(&user[1..]) {
                self.start = Some(Start::Root);
                self.components.extend(components(&home));
                self.slash = text.len() > user.len();
                text = rest;
            }
        }
        for (index, part) in text.split('/').enumerate() {
            if index > 0 {
                self.slash();
            }
            // A name cannot contain NUL.
            if part.contains('\0') {
                self.slash = false;
                self.hole(true);
            } else if !part.is_empty() {
                self.slash = false;
                let current = self.current();
                current.name.push_str(part);
                if let Some(pattern) = &mut current.glob {
                    escape(part, pattern);
                }
            }
        }
    }

    /// Ends the current name at a slash.
    fn slash(&mut self) {
        if self.start.is_none() && self.current.is_none() {
            self.start = Some(Start::Root);
        }
        self.end_component();
        self.slash = true;
    }

    fn home_of(&self, user: &str) -> Option<PathText> {
        match user {
            "" => self.home.map(PathText::text),
            "root" => Some(PathText::text("/root")),
            // `~+` and `~-` are directories of the shell.
            "+" => self.cwd?.path().cloned(),
            user if user.starts_with(['-', '+']) => None,
            user => Some(PathText::text(format!("/home/{user}"))),
        }
    }

    fn glob(&mut self, pattern: &str) {
        self.globbed = true;
        // An extended glob (`!(x)`, `@(a|b)`) is assumed to match anything.
        let extended = pattern.contains('(');
        if extended {
            self.glob_part(pattern, "*");
            return;
        }
        for (index, part) in pattern.split('/').enumerate() {
            if index > 0 {
                self.slash();
            }
            if !part.is_empty() {
                self.glob_part(part, part);
            }
        }
    }

    fn glob_part(&mut self, text: &str, pattern: &str) {
        self.slash = false;
        let current = self.current();
        let mut all = current.glob.take().unwrap_or_else(|| {
            let mut escaped = String::new();
            escape(current.name.rough(), &mut escaped);
            escaped
        });
        all.push_str(pattern);
        current.glob = Some(all);
        current.name.push_str(text);
    }

    fn end_component(&mut self) {
        let Some(current) = self.current.take() else { return };
        // A name that is only a number may be empty.
        self.dynamic |= std::mem::take(&mut self.numbered) && current.name.is_all_unknown();
        let plain = current.is_plain();
        match current.text() {
            "." if plain => self.slash = true,
            ".." if plain => {
                self.slash = true;
                match self.components.pop() {
                    // `..` after an unknown name, which may contain several, leads to an unknown directory.
                    Some(last) if last.is_unknown() => {
                        self.start = Some(Start::Unknown);
                        self.components.clear();
                    }
                    Some(_) => {}
                    None if self.start == Some(Start::Root) => {}
                    None => {
                        self.start = Some(Start::Unknown);
                        self.dynamic = true;
                    }
                }
            }
            _ => {
                self.components.push(current);
                // `/proc/self/cwd` of Linux is the working directory.
                let stands = matches!(self.components.as_slice(), [proc, _, cwd] if proc.text() == "proc" && cwd.text() == "cwd");
                if stands
                    && self.start == Some(Start::Root)
                    && let Some(cwd) = self.cwd.and_then(Place::path)
                {
                    self.components = components(cwd).collect();
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> Option<NormalPath> {
        let ended_in_name = self.current.is_some();
        self.end_component();
        let slash = self.slash || !ended_in_name && self.start.is_some();
        let mut path = NormalPath {
            start: self.start?,
            components: self.components,
            everything: false,
            slash,
            globbed: self.globbed,
            dynamic: self.dynamic,
            found: self.found,
        };
        path.respell();
        while path.components.last().is_some_and(Component::is_everything) {
            path.components.pop();
            path.everything = true;
        }
        Some(path)
    }
}

/// Returns the names in an absolute, partly known path.
fn components(path: &PathText) -> impl Iterator<Item = Component> {
    path.split('/').filter(|name| !matches!(name.known(), Some("" | "."))).map(|name| Component { name, glob: None })
}

/// Appends literal text to a glob.
fn escape(text: &str, pattern: &mut String) {
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
}
