//! Parses compound commands that contain lists: groups, subshells, arithmetic, `if` and `case`.

use super::cursor::is_meta;
use super::parser::{Attempt, ParseResult, Parser};
use super::reserved::Reserved;
use super::tree::{Arithmetic, CaseArm, Compound, CompoundKind, Dialect, Script, Word};
use super::word::WordEnd;

impl Default for Compound {
    /// Returns an empty group, to be filled.
    fn default() -> Self {
        Self { kind: CompoundKind::Group(Script::default()), redirects: Vec::new(), span: super::tree::Span::default() }
    }
}

impl Reserved {
    /// Reports whether the word opens a compound command.
    pub(super) const fn opens(self) -> bool {
        matches!(
            self,
            Self::If
                | Self::While
                | Self::Until
                | Self::For
                | Self::Select
                | Self::Case
                | Self::OpenBrace
                | Self::OpenCondition
                | Self::Repeat
                | Self::Foreach
        )
    }
}

impl Parser<'_> {
    /// Reports whether a compound command begins here.
    pub(super) fn at_compound(&mut self) -> bool {
        self.peek() == b'(' || self.reserved().is_some_and(|(word, _)| word.opens())
    }

    /// Parses a compound command and its redirections. Returns false if none begins here.
    pub(super) fn compound(&mut self, compound: &mut Compound) -> ParseResult<bool> {
        let start = self.pos;
        if self.peek() == b'(' {
            self.parenthesized(&mut compound.kind)?;
        } else if let Some((word, end)) = self.reserved() {
            if !self.keyword(word, end, &mut compound.kind)? {
                return Ok(false);
            }
        } else {
            return Ok(false);
        }
        self.redirects(&mut compound.redirects)?;
        compound.span = self.span_from(start);
        Ok(true)
    }

    fn keyword(&mut self, word: Reserved, end: usize, kind: &mut CompoundKind) -> ParseResult<bool> {
        let start = self.pos;
        if !word.opens() {
            return Ok(false);
        }
        self.pos = end;
        match word {
            Reserved::OpenBrace => self.group(start, kind)?,
            Reserved::If => self.if_command(start, kind)?,
            Reserved::While | Reserved::Until => self.while_loop(start, word == Reserved::Until, kind)?,
            Reserved::For => self.for_loop(start, kind)?,
            Reserved::Select => self.select_loop(start, kind)?,
            Reserved::OpenCondition => self.condition(start, kind)?,
            Reserved::Case => self.case_command(start, kind)?,
            Reserved::Repeat => self.zsh_repeat(start, kind)?,
            Reserved::Foreach => self.zsh_foreach(start, kind)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Parses a construct that begins with a parenthesis: arithmetic or a subshell.
    fn parenthesized(&mut self, kind: &mut CompoundKind) -> ParseResult {
        if self.pair(b'(', b'(').is_some() && self.double_parenthesis(kind)? {
            return Ok(());
        }
        self.subshell(kind)
    }

    /// Parses `((…))`. bash treats it as arithmetic if the two closing parentheses are adjacent. A shell without
    /// arithmetic commands parses two subshells, in which the parser finds more commands.
    fn double_parenthesis(&mut self, kind: &mut CompoundKind) -> ParseResult<bool> {
        if self.dialect == Dialect::Sh {
            let subshell = self.attempt(Attempt::Subshells, |parser| parser.subshell(kind))?;
            if subshell.is_some() {
                return Ok(true);
            }
        }
        let arithmetic = self.attempt(Attempt::Arithmetic, |parser| {
            parser.pos = parser.peek_second().1 + 1;
            let mut arithmetic = Arithmetic::default();
            parser.arithmetic(WordEnd::Parenthesis, &mut arithmetic)?;
            // The two must not be separated by a line continuation.
            if parser.raw(parser.pos) == b')' && parser.raw(parser.pos + 1) == b')' {
                parser.pos += 2;
                Ok(arithmetic)
            } else {
                Err(parser.unexpected())
            }
        })?;
        let Some(arithmetic) = arithmetic else { return Ok(false) };
        *kind = CompoundKind::Arithmetic(arithmetic);
        Ok(true)
    }

    fn subshell(&mut self, kind: &mut CompoundKind) -> ParseResult {
        let start = self.pos;
        self.pos += 1;
        let mut script = Script::default();
        self.filled_list(&mut script)?;
        self.expect_byte(b')', "a subshell", start)?;
        set(kind, CompoundKind::Subshell(script));
        Ok(())
    }

    fn group(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        let mut script = Script::default();
        self.list(&mut script)?;
        if script.items.is_empty() && self.dialect != Dialect::Zsh {
            return Err(self.unexpected());
        }
        self.expect(Reserved::CloseBrace, "a group", start)?;
        set(kind, CompoundKind::Group(script));
        self.zsh_always(kind)
    }

    fn if_command(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        let mut arms = Vec::with_capacity(1);
        let mut otherwise = None;
        loop {
            arms.push((Script::default(), Script::default()));
            let Some((condition, body)) = arms.last_mut() else { return Err(self.unexpected()) };
            self.filled_list(condition)?;
            if self.zsh_condition_body(true, body)? {
                if self.zsh_else(&mut otherwise)? {
                    continue;
                }
                break;
            }
            self.expect(Reserved::Then, "`if`", start)?;
            self.filled_list(body)?;
            if self.take_reserved(Reserved::Elif) {
                continue;
            }
            if self.take_reserved(Reserved::Else) {
                self.filled_list(otherwise.insert(Script::default()))?;
            }
            self.expect(Reserved::Fi, "`if`", start)?;
            break;
        }
        set(kind, CompoundKind::If { arms, otherwise });
        Ok(())
    }

    fn case_command(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.blanks()?;
        let mut subject = Word::default();
        self.enter()?;
        self.whole_word(&mut subject)?;
        self.leave();
        self.newlines()?;
        let end = if self.take_word(b"in") {
            Reserved::Esac
        } else if self.zsh() && self.take_reserved(Reserved::OpenBrace) {
            Reserved::CloseBrace
        } else {
            return Err(self.unexpected());
        };
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.take_reserved(end) {
                break;
            }
            if self.pos >= self.text.len() {
                return Err(self.unterminated("`case`", start));
            }
            self.case_arm(end, &mut arms)?;
        }
        *kind = CompoundKind::Case { subject, arms };
        Ok(())
    }

    fn case_arm(&mut self, end: Reserved, arms: &mut Vec<CaseArm>) -> ParseResult {
        let start = self.pos;
        let mut arm =
            CaseArm { patterns: Vec::new(), body: Script::default(), falls_through: false, span: Default::default() };
        self.enter()?;
        self.case_patterns(&mut arm.patterns)?;
        self.leave();
        self.list(&mut arm.body)?;
        arm.span = self.span_from(start);
        if self.peek() == b';' {
            self.pos += 1;
            match self.peek() {
                b';' => {
                    self.pos += 1;
                    arm.falls_through = self.take(b'&');
                }
                b'&' | b'|' => {
                    self.pos += 1;
                    arm.falls_through = true;
                }
                _ => return Err(self.unexpected()),
            }
        } else if !self.reserved().is_some_and(|(word, _)| word == end) {
            let what = self.pos >= self.text.len();
            return Err(if what { self.unterminated("`case`", start) } else { self.unexpected() });
        }
        arms.push(arm);
        Ok(())
    }

    fn case_patterns(&mut self, patterns: &mut Vec<Word>) -> ParseResult {
        if self.zsh_whole_pattern(patterns)? {
            return Ok(());
        }
        if self.take(b'(') {
            self.blanks()?;
        }
        self.pattern_alternatives(patterns)
    }

    /// Parses `a | b)`.
    pub(super) fn pattern_alternatives(&mut self, patterns: &mut Vec<Word>) -> ParseResult {
        loop {
            self.spend(1)?;
            self.word(patterns)?;
            self.blanks()?;
            if self.take(b')') {
                return Ok(());
            }
            if !self.take(b'|') {
                return Err(self.unexpected());
            }
            self.blanks()?;
        }
    }

    /// Parses a required word.
    pub(super) fn word(&mut self, words: &mut Vec<Word>) -> ParseResult {
        let mut word = Word::default();
        self.whole_word(&mut word)?;
        words.push(word);
        Ok(())
    }

    /// Parses a required word into an existing one.
    pub(super) fn whole_word(&mut self, word: &mut Word) -> ParseResult {
        let start = self.pos;
        let byte = self.peek();
        let substitution = matches!(byte, b'<' | b'>') && self.peek_second().0 == b'(';
        if self.pos >= self.text.len() || is_meta(byte) && !substitution && !self.zsh_begins_word(byte) {
            return Err(self.unexpected());
        }
        self.parts(WordEnd::Word, &mut word.parts)?;
        if self.pos == start {
            return Err(self.unexpected());
        }
        word.span = self.span_from(start);
        Ok(())
    }
}

fn set(kind: &mut CompoundKind, value: CompoundKind) {
    *kind = value;
}
