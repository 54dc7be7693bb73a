//! Parses commands: simple commands, function definitions and coprocesses.

use super::cursor::{class, has, is_meta};
use super::parser::{Attempt, ParseResult, Parser};
use super::reserved::Reserved;
use super::tree::{Command, Compound, Coprocess, Dialect, Function, Part, Pipeline, Simple, Span, Word};
use super::word::WordEnd;

/// The construct in the error about a function whose name contains a hole.
const UNNAMED: &str = "a function whose name is not known";

impl Parser<'_> {
    /// Parses one member of a pipeline.
    pub(super) fn command(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        self.spend(1)?;
        match self.reserved() {
            Some((Reserved::Function, end)) => self.function_word(end, commands),
            Some((Reserved::Coproc, end)) => self.coprocess(end, commands),
            Some((Reserved::OpenCondition, _)) if self.dialect == Dialect::Sh => self.plain_condition(commands),
            Some((word, _)) if word.opens() => self.compound_command(commands),
            // After `|`, `time` is an ordinary word.
            Some((Reserved::Time, _)) => self.simple(commands),
            Some(_) => Err(self.unexpected()),
            None if self.peek() == b'(' => self.parenthesis(commands),
            None => self.simple(commands),
        }
    }

    fn parenthesis(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        if self.dialect == Dialect::Zsh && self.pair(b'(', b')').is_some() {
            return self.anonymous_function(commands);
        }
        self.compound_command(commands)
    }

    pub(super) fn compound_command(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        push_compound(commands);
        if let Some(Command::Compound(compound)) = commands.last_mut()
            && self.compound(compound)?
        {
            return Ok(());
        }
        Err(self.unexpected())
    }

    /// Parses `!(…)` as a negated subshell, as it is without extended globs. That interpretation exposes the commands
    /// in it, so it is tried first; if it fails, nothing is consumed.
    pub(super) fn negated_subshell(&mut self, pipeline: &mut Pipeline) -> ParseResult {
        let command = self.attempt(Attempt::Negation, |parser| {
            parser.pos = parser.peek_second().1;
            let mut commands = Vec::with_capacity(1);
            parser.compound_command(&mut commands)?;
            parser.blanks()?;
            let ends = matches!(parser.peek(), 0 | b'\n' | b';' | b'&' | b'|' | b')');
            if ends || parser.reserved().is_some_and(|(word, _)| word.closes()) {
                Ok(commands)
            } else {
                Err(parser.unexpected())
            }
        })?;
        match command {
            Some(commands) => {
                pipeline.negated = !pipeline.negated;
                pipeline.commands = commands;
                Ok(())
            }
            None => self.simple(&mut pipeline.commands),
        }
    }

    /// Parses assignments, words and redirections up to the end of the command.
    pub(super) fn simple(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        let start = self.pos;
        let mut simple = Simple::default();
        let mut declares = false;
        let mut end = start;
        loop {
            match self.peek() {
                0 | b'\n' | b';' | b'|' | b')' => break,
                b'&' if self.dialect == Dialect::Sh || self.peek_second().0 != b'>' => break,
                b'(' if simple.words.is_empty() || !self.zsh_begins_word(b'(') => {
                    return self.function_parens(&simple, start, end, commands);
                }
                byte => self.simple_element(byte, &mut simple, &mut declares)?,
            }
            end = self.pos;
            self.blanks()?;
            if self.zsh_closing_brace() {
                break;
            }
        }
        if end == start {
            return Err(self.unexpected());
        }
        simple.span = self.solid_span_from(start);
        simple.span.end = self.place(end).max(simple.span.start);
        commands.push(Command::Simple(simple));
        Ok(())
    }

    /// Parses one element of a simple command, which begins with `byte`.
    fn simple_element(&mut self, byte: u8, simple: &mut Simple, declares: &mut bool) -> ParseResult {
        self.spend(1)?;
        if matches!(byte, b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') && self.redirect(&mut simple.redirects)? {
            return Ok(());
        }
        if simple.words.is_empty() && has(byte, class::NAME) && self.assignment(simple)? {
            return Ok(());
        }
        let start = self.pos;
        let mut word = Word { parts: Vec::with_capacity(1), ..Word::default() };
        let outer = std::mem::replace(&mut self.declaring, declares.then_some(start));
        self.parts(WordEnd::Word, &mut word.parts)?;
        self.declaring = outer;
        while *declares && self.peek() == b'(' && assigns(self.text.get(start..self.pos).unwrap_or_default()) {
            let elements = self.array()?;
            word.parts.push(Part::Array(elements));
            self.parts(WordEnd::Word, &mut word.parts)?;
        }
        if self.pos == start {
            return Err(self.unexpected());
        }
        self.zsh_leaves_brace(start, &mut word.parts);
        word.span = self.span_from(start);
        if simple.words.is_empty() {
            *declares = declares_arrays(&word);
        }
        if simple.words.is_empty() {
            simple.words.reserve_exact(2);
        }
        simple.words.push(word);
        Ok(())
    }

    /// Parses `() body` after the name (in zsh: the names) from `start` to `end`.
    fn function_parens(
        &mut self,
        simple: &Simple,
        start: usize,
        end: usize,
        commands: &mut Vec<Command>,
    ) -> ParseResult {
        let bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        if !bare || simple.words.is_empty() || simple.words.len() > 1 && !self.zsh() {
            return Err(self.unexpected());
        }
        self.spend(1)?;
        let open = self.pos;
        self.pos += 1;
        self.blanks()?;
        if !self.take(b')') {
            self.pos = open;
            return Err(self.unexpected());
        }
        if self.has_hole(start, end) {
            return Err(self.unsupported(UNNAMED));
        }
        let names = self.plain(start, end);
        let names = if self.zsh() { names.split([' ', '\t']).map(str::to_owned).collect() } else { vec![names] };
        self.function_body(start, names, commands)
    }

    /// Parses `function name [()] body`.
    fn function_word(&mut self, end: usize, commands: &mut Vec<Command>) -> ParseResult {
        let start = self.pos;
        self.pos = end;
        let mut names = Vec::new();
        loop {
            self.blanks()?;
            let begins = self.pos;
            let ended = self.dialect == Dialect::Zsh
                && (self.reserved().is_some_and(|(word, _)| word == Reserved::OpenBrace) || self.peek() == b'\n');
            if ended || is_meta(self.peek()) || self.pos >= self.text.len() {
                break;
            }
            self.parts(WordEnd::Word, &mut Vec::new())?;
            if self.has_hole(begins, self.pos) {
                return Err(self.unsupported(UNNAMED));
            }
            names.push(self.plain(begins, self.pos));
            self.blanks()?;
            if self.dialect != Dialect::Zsh {
                break;
            }
        }
        if names.is_empty() && self.dialect != Dialect::Zsh {
            return Err(self.unexpected());
        }
        if self.peek() == b'(' && self.raw(self.past_blanks(self.pos + 1)) == b')' {
            self.pos = self.past_blanks(self.pos + 1) + 1;
        }
        self.function_body(start, names, commands)
    }

    pub(super) fn past_blanks(&self, mut pos: usize) -> usize {
        loop {
            pos = self.past_continuations(pos);
            if !matches!(self.raw(pos), b' ' | b'\t') {
                return pos;
            }
            pos += 1;
        }
    }

    pub(super) fn function_body(
        &mut self,
        start: usize,
        names: Vec<String>,
        commands: &mut Vec<Command>,
    ) -> ParseResult {
        self.newlines()?;
        let mut body = Box::<Compound>::default();
        if !self.compound(&mut body)? && !self.zsh_short_body(&mut body)? {
            return Err(self.unexpected());
        }
        let arguments = if names.is_empty() { self.zsh_arguments()? } else { Vec::new() };
        push_function(commands, Function { names, arguments, body, span: self.span_from(start) });
        Ok(())
    }

    /// Parses `coproc [NAME] command`.
    fn coprocess(&mut self, end: usize, commands: &mut Vec<Command>) -> ParseResult {
        self.enter()?;
        let start = self.pos;
        self.pos = end;
        self.blanks()?;
        let name = self.coprocess_name();
        let mut body = Vec::with_capacity(1);
        if self.at_compound() {
            self.compound_command(&mut body)?;
        } else if matches!(self.reserved(), Some((word, _)) if word != Reserved::Time) {
            return Err(self.unexpected());
        } else {
            self.simple(&mut body)?;
        }
        push_coprocess(commands, name, body, self.span_from(start));
        self.leave();
        Ok(())
    }

    /// Consumes a name before a compound command.
    fn coprocess_name(&mut self) -> Option<String> {
        let start = self.pos;
        if self.at_compound() {
            return None;
        }
        let end = self.name_end(start);
        let next = self.raw(self.past_continuations(end));
        if end > start && is_meta(next) {
            self.pos = self.past_blanks(end);
            if self.at_compound() {
                return Some(self.plain(start, end));
            }
        }
        self.pos = start;
        None
    }
}

fn push_function(commands: &mut Vec<Command>, function: Function) {
    commands.push(Command::Function(function));
}

fn push_coprocess(commands: &mut Vec<Command>, name: Option<String>, body: Vec<Command>, span: Span) {
    commands.extend(
        body.into_iter().map(|body| Command::Coprocess(Coprocess { name: name.clone(), body: Box::new(body), span })),
    );
}

fn push_compound(commands: &mut Vec<Command>) {
    commands.push(Command::Compound(Compound::default()));
}

/// Reports whether this is a builtin after which bash's grammar allows `name=(…)` as an array.
fn declares_arrays(word: &Word) -> bool {
    matches!(word.parts.as_slice(), [Part::Literal(name)] if matches!(
        name.as_str(),
        "declare" | "typeset" | "local" | "export" | "readonly" | "alias" | "eval" | "let" | "private" | "integer" | "float"
    ))
}

/// Reports whether `raw` is the left side of an assignment: `name=`, `name+=`, `name[…]=`.
pub(super) fn assigns(raw: &[u8]) -> bool {
    raw.first().is_some_and(|&byte| super::cursor::begins_name(byte)) && raw.last() == Some(&b'=')
}
