//! Reading a path out of a value, piece by piece.

use super::normal::{Component, NormalPath, Start, names};
use crate::judge::analysis::act::{Piece, UnknownReason};
use crate::judge::analysis::letter::{Letter, is_marked, letters_of, push_number, push_unknown};

pub(super) struct PathReader<'a> {
    cwd: Option<&'a str>,
    home: Option<&'a str>,
    start: Option<Start>,
    components: Vec<Component>,
    current: Option<Component>,
    slash: bool,
    globbed: bool,
    dynamic: bool,
    found: bool,
    /// A number is part of the current name.
    numbered: bool,
}

impl<'a> PathReader<'a> {
    pub(super) const fn new(cwd: Option<&'a str>, home: Option<&'a str>) -> Self {
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
                // Part of a name under a known start, or unknown altogether.
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
                    let current = self.current();
                    push_number(*number, &mut current.text);
                    current.unknown = true;
                    self.numbered = true;
                }
                _ => self.hole(true),
            },
        }
    }

    fn hole(&mut self, dynamic: bool) {
        self.dynamic |= dynamic;
        if self.start.is_none() && self.current.is_none() {
            // It may hold any number of names, an absolute path, or nothing.
            self.start = Some(Start::Unknown);
            return;
        }
        let current = self.current();
        push_unknown(&mut current.text);
        current.unknown = true;
    }

    fn current(&mut self) -> &mut Component {
        if self.start.is_none() {
            self.begin_relative();
        }
        self.current.get_or_insert_with(|| Component::plain(""))
    }

    fn begin_relative(&mut self) {
        self.start = Some(Start::Unknown);
        match self.cwd {
            Some(cwd) if cwd.starts_with('/') => {
                self.start = Some(Start::Root);
                // With room for the names of the value itself.
                self.components.reserve(8);
                self.components.extend(names(cwd).map(Component::named));
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
                self.components.extend(names(&home).map(Component::named));
                self.slash = text.len() > user.len();
                text = rest;
            }
        }
        for (index, part) in text.split('/').enumerate() {
            if index > 0 {
                self.slash();
            }
            // No name holds it.
            if is_marked(part) {
                self.slash = false;
                self.hole(true);
            } else if !part.is_empty() {
                self.slash = false;
                let current = self.current();
                current.text.push_str(part);
                if let Some(pattern) = &mut current.glob {
                    escape(part, pattern);
                }
            }
        }
    }

    /// Goes on behind a slash.
    fn slash(&mut self) {
        if self.start.is_none() && self.current.is_none() {
            self.start = Some(Start::Root);
        }
        self.end_component();
        self.slash = true;
    }

    fn home_of(&self, user: &str) -> Option<String> {
        match user {
            "" => self.home.map(ToOwned::to_owned),
            "root" => Some("/root".to_owned()),
            // `~+` and `~-` are directories of the shell.
            "+" => self.cwd.map(ToOwned::to_owned),
            user if user.starts_with(['-', '+']) => None,
            user => Some(format!("/home/{user}")),
        }
    }

    fn glob(&mut self, pattern: &str) {
        self.globbed = true;
        // An extended glob (`!(x)`, `@(a|b)`) is taken to match anything.
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
            escape(&current.text, &mut escaped);
            escaped
        });
        all.push_str(pattern);
        current.glob = Some(all);
        current.text.push_str(text);
    }

    fn end_component(&mut self) {
        let Some(current) = self.current.take() else { return };
        // A number alone may be empty after all: then it is no name.
        self.dynamic |= std::mem::take(&mut self.numbered) && letters_of(&current.text).all(Letter::is_unknown);
        let plain = current.glob.is_none() && !current.unknown;
        match current.text.as_str() {
            "." if plain => self.slash = true,
            ".." if plain => {
                self.slash = true;
                match self.components.pop() {
                    // What an unknown name leaves when one is taken away is not known.
                    Some(last) if last.unknown => {
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
                // Linux's name for where the process stands.
                let stands =
                    matches!(self.components.as_slice(), [proc, _, cwd] if proc.text == "proc" && cwd.text == "cwd");
                if stands
                    && self.start == Some(Start::Root)
                    && let Some(cwd) = self.cwd
                {
                    self.components = names(cwd).map(Component::named).collect();
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

/// Adds literal text to a glob.
fn escape(text: &str, pattern: &mut String) {
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
}
