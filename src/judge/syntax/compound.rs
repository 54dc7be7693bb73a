//! Compound commands that hold lists: groups, subshells, arithmetic, `if` and `case`.

use super::cursor::is_meta;
use super::parser::{Attempt, Parser, Read};
use super::reserved::Reserved;
use super::tree::{CaseArm, Compound, CompoundKind, Dialect, Script, Word};
use super::word::Until;

impl Default for Compound {
    /// An empty group, to be filled.
    fn default() -> Self {
        Self { kind: CompoundKind::Group(Script::default()), redirects: Vec::new(), span: super::tree::Span::default() }
    }
}

impl Reserved {
    /// Whether the word opens a compound command.
    pub(super) fn opens(self, dialect: Dialect) -> bool {
        match self {
            Self::If
            | Self::While
            | Self::Until
            | Self::For
            | Self::Case
            | Self::OpenBrace
            | Self::OpenCondition
            | Self::Repeat
            | Self::Foreach => true,
            Self::Select => dialect != Dialect::Sh,
            _ => false,
        }
    }
}

impl Parser<'_> {
    /// Whether a compound command begins here.
    pub(super) fn at_compound(&mut self) -> bool {
        self.peek() == b'(' || self.reserved().is_some_and(|(word, _)| word.opens(self.dialect))
    }

    /// Reads a compound command and its redirections. False if none begins here.
    pub(super) fn compound(&mut self, compound: &mut Compound) -> Read<bool> {
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

    fn keyword(&mut self, word: Reserved, end: usize, kind: &mut CompoundKind) -> Read<bool> {
        let start = self.pos;
        if !word.opens(self.dialect) {
            return Ok(false);
        }
        if word == Reserved::OpenCondition {
            return self.condition_or_command(start, end, kind);
        }
        self.pos = end;
        match word {
            Reserved::OpenBrace => self.group(start, kind)?,
            Reserved::If => self.if_command(start, kind)?,
            Reserved::While | Reserved::Until => self.while_loop(start, word == Reserved::Until, kind)?,
            Reserved::For => self.for_loop(start, kind)?,
            Reserved::Select => self.select_loop(start, kind)?,
            Reserved::Case => self.case_command(start, kind)?,
            Reserved::Repeat => self.zsh_repeat(kind)?,
            Reserved::Foreach => self.zsh_foreach(start, kind)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads what begins with a parenthesis: arithmetic or a subshell.
    fn parenthesized(&mut self, kind: &mut CompoundKind) -> Read {
        if self.pair(b'(', b'(').is_some() && self.double_parenthesis(kind)? {
            return Ok(());
        }
        self.subshell(kind)
    }

    /// Reads `((…))`. bash takes it for arithmetic when the two closing brackets are adjacent; a
    /// shell without arithmetic commands reads two subshells, which shows more.
    fn double_parenthesis(&mut self, kind: &mut CompoundKind) -> Read<bool> {
        if self.dialect == Dialect::Sh {
            let subshell = self.attempt(Attempt::Subshells, |parser| {
                let mut kind = CompoundKind::Subshell(Script::default());
                parser.subshell(&mut kind)?;
                Ok(kind)
            })?;
            if let Some(subshell) = subshell {
                *kind = subshell;
                return Ok(true);
            }
        }
        let arithmetic = self.attempt(Attempt::Arithmetic, |parser| {
            parser.pos = parser.peek_second().1 + 1;
            let arithmetic = parser.arithmetic(Until::Parenthesis)?;
            // No line continuation may stand between the two.
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

    fn subshell(&mut self, kind: &mut CompoundKind) -> Read {
        let start = self.pos;
        self.pos += 1;
        let mut script = Script::default();
        self.filled_list(&mut script)?;
        self.expect_byte(b')', "a subshell", start)?;
        *kind = CompoundKind::Subshell(script);
        Ok(())
    }

    fn group(&mut self, start: usize, kind: &mut CompoundKind) -> Read {
        let mut script = Script::default();
        self.list(&mut script)?;
        if script.items.is_empty() && self.dialect != Dialect::Zsh {
            return Err(self.unexpected());
        }
        self.expect(Reserved::CloseBrace, "a group", start)?;
        *kind = CompoundKind::Group(script);
        self.zsh_always(kind)
    }

    fn if_command(&mut self, start: usize, kind: &mut CompoundKind) -> Read {
        let mut arms = Vec::with_capacity(1);
        let mut otherwise = None;
        loop {
            let mut arm = (Script::default(), Script::default());
            self.filled_list(&mut arm.0)?;
            if self.zsh_brace_body(&mut arm.1)? {
                arms.push(arm);
                if self.zsh_elif(&mut otherwise)? {
                    continue;
                }
                break;
            }
            self.expect(Reserved::Then, "`if`", start)?;
            self.filled_list(&mut arm.1)?;
            arms.push(arm);
            if self.take_reserved(Reserved::Elif) {
                continue;
            }
            if self.take_reserved(Reserved::Else) {
                let mut body = Script::default();
                self.filled_list(&mut body)?;
                otherwise = Some(body);
            }
            self.expect(Reserved::Fi, "`if`", start)?;
            break;
        }
        *kind = CompoundKind::If { arms, otherwise };
        Ok(())
    }

    fn case_command(&mut self, start: usize, kind: &mut CompoundKind) -> Read {
        self.blanks()?;
        let subject = self.word()?;
        self.newlines()?;
        if !self.take_word(b"in") {
            return Err(self.unexpected());
        }
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.take_reserved(Reserved::Esac) {
                break;
            }
            if self.pos >= self.text.len() {
                return Err(self.unterminated("`case`", start));
            }
            arms.push(self.case_arm()?);
        }
        *kind = CompoundKind::Case { subject, arms };
        Ok(())
    }

    fn case_arm(&mut self) -> Read<CaseArm> {
        let start = self.pos;
        let mut arm =
            CaseArm { patterns: Vec::new(), body: Script::default(), falls_through: false, span: Default::default() };
        self.case_patterns(&mut arm.patterns)?;
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
        } else if !self.reserved().is_some_and(|(word, _)| word == Reserved::Esac) {
            let what = self.pos >= self.text.len();
            return Err(if what { self.unterminated("`case`", start) } else { self.unexpected() });
        }
        Ok(arm)
    }

    fn case_patterns(&mut self, patterns: &mut Vec<Word>) -> Read {
        if self.zsh_whole_pattern(patterns)? {
            return Ok(());
        }
        if self.take(b'(') {
            self.blanks()?;
        }
        loop {
            self.spend(1)?;
            patterns.push(self.word()?);
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

    /// Reads a word that must stand here.
    pub(super) fn word(&mut self) -> Read<Word> {
        let start = self.pos;
        let byte = self.peek();
        let substitution = matches!(byte, b'<' | b'>') && self.peek_second().0 == b'(';
        if self.pos >= self.text.len() || is_meta(byte) && !substitution && !self.zsh_begins_word(byte) {
            return Err(self.unexpected());
        }
        let mut word = Word::default();
        self.parts(Until::Word, &mut word.parts)?;
        if self.pos == start {
            return Err(self.unexpected());
        }
        word.span = self.span_from(start);
        Ok(word)
    }
}
