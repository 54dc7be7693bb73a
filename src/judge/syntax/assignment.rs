//! Parses assignments and array values.

use super::parser::{ParseResult, Parser};
use super::tree::{ArrayElement, Assignment, AssignmentValue, Dialect, Part, Simple, Word};
use super::word::WordEnd;

impl Parser<'_> {
    /// Parses an assignment before a command. Returns false and consumes nothing if it is a word; `name[…` without an
    /// assignment is parsed as the first word.
    pub(super) fn assignment(&mut self, simple: &mut Simple) -> ParseResult<bool> {
        let start = self.pos;
        let end = self.name_end(start);
        if end == start {
            return Ok(false);
        }
        let mut subscript = None;
        match self.raw(self.past_continuations(end)) {
            b'=' | b'+' => {}
            b'[' => {
                let open = self.past_continuations(end);
                self.pos = open + 1;
                subscript = Some(self.subscript(open)?);
            }
            _ => return Ok(false),
        }
        self.refuse_spaced_subscript(start, subscript.as_ref())?;
        let after = if subscript.is_some() { self.pos } else { end };
        let Some((append, value)) = self.assignment_operator(after) else {
            return match subscript {
                Some(subscript) => {
                    let mut word = Word::default();
                    self.bracketed(self.plain(start, end), subscript, &mut word.parts)?;
                    word.span = self.span_from(start);
                    simple.words.push(word);
                    Ok(true)
                }
                None => Ok(false),
            };
        };
        self.pos = value;
        let name = self.plain(start, end);
        let value = self.assignment_value()?;
        simple.assignments.push(Assignment { name, subscript, append, value, span: self.span_from(start) });
        Ok(true)
    }

    /// Returns whether the operator at `pos` appends (`+=`), and the position of the value; `None` if there is no `=`
    /// or `+=`.
    fn assignment_operator(&self, pos: usize) -> Option<(bool, usize)> {
        let pos = self.past_continuations(pos);
        match self.raw(pos) {
            b'=' => Some((false, pos + 1)),
            b'+' => {
                let next = self.past_continuations(pos + 1);
                (self.raw(next) == b'=').then_some((true, next + 1))
            }
            _ => None,
        }
    }

    /// Only bash allows blanks and operators in a subscript; in other shells they end the word.
    fn refuse_spaced_subscript(&mut self, start: usize, subscript: Option<&Word>) -> ParseResult {
        let spaced = |part: &Part| matches!(part, Part::Literal(text) if text.bytes().any(super::cursor::is_meta));
        if self.dialect != Dialect::Bash && subscript.is_some_and(|word| word.parts.iter().any(spaced)) {
            self.pos = start;
            return Err(self.unsupported("a subscript with blanks or operators"));
        }
        Ok(())
    }

    fn assignment_value(&mut self) -> ParseResult<AssignmentValue> {
        let start = self.pos;
        if self.peek() == b'(' {
            let elements = self.array()?;
            if self.at_word_end() {
                return Ok(AssignmentValue::Array(elements));
            }
            // A text follows the closing parenthesis: both are parts of one word.
            let mut word = Word { parts: vec![Part::Array(elements)], ..Word::default() };
            self.parts(WordEnd::Word, &mut word.parts)?;
            word.span = self.span_from(start);
            return Ok(AssignmentValue::Scalar(word));
        }
        let mut word = Word::default();
        self.parts(WordEnd::Word, &mut word.parts)?;
        word.span = self.span_from(start);
        Ok(AssignmentValue::Scalar(word))
    }

    fn at_word_end(&mut self) -> bool {
        let byte = self.peek();
        self.pos >= self.text.len() || super::cursor::is_meta(byte)
    }

    /// Parses `(…)` as the value of an assignment.
    pub(super) fn array(&mut self) -> ParseResult<Vec<ArrayElement>> {
        self.enter()?;
        let start = self.pos;
        self.pos += 1;
        let mut elements = Vec::new();
        loop {
            self.newlines()?;
            if self.pos >= self.text.len() {
                return Err(self.unterminated("an array", start));
            }
            if self.take(b')') {
                break;
            }
            self.spend(1)?;
            self.array_element(&mut elements)?;
        }
        self.leave();
        Ok(elements)
    }

    fn array_element(&mut self, elements: &mut Vec<ArrayElement>) -> ParseResult {
        if self.peek() != b'[' {
            let mut value = Word::default();
            self.whole_word(&mut value)?;
            elements.push(ArrayElement { subscript: None, value });
            return Ok(());
        }
        let open = self.pos;
        self.pos += 1;
        let subscript = self.subscript(open)?;
        let mut value = Word::default();
        if let Some((_, at)) = self.assignment_operator(self.pos) {
            self.refuse_second_expansion(open, &subscript)?;
            self.pos = at;
            self.parts(WordEnd::Word, &mut value.parts)?;
            value.span = self.span_from(at);
            elements.push(ArrayElement { subscript: Some(subscript), value });
        } else {
            self.bracketed(String::new(), subscript, &mut value.parts)?;
            value.span = self.span_from(open);
            elements.push(ArrayElement { subscript: None, value });
        }
        Ok(())
    }

    /// bash expands the subscript of an array element, removes its quotes, and expands the result again, so that a
    /// quoted `$` is expanded.
    fn refuse_second_expansion(&mut self, open: usize, subscript: &Word) -> ParseResult {
        let mut text = String::new();
        super::quote::static_text(&subscript.parts, &mut text);
        if text.contains(['$', '`']) {
            self.pos = open;
            return Err(self.unsupported("a quoted `$` in the subscript of an array element"));
        }
        Ok(())
    }

    /// Parses a subscript, including its closing bracket; `open` is the position of its opening bracket.
    pub(super) fn subscript(&mut self, open: usize) -> ParseResult<Word> {
        self.enter()?;
        let start = self.pos;
        let mut word = Word::default();
        self.parts(WordEnd::Bracket, &mut word.parts)?;
        word.span = self.span_from(start);
        self.expect_byte(b']', "a subscript", open)?;
        self.leave();
        Ok(word)
    }

    /// Parses the rest of a word whose beginning was parsed as `before[subscript]`.
    fn bracketed(&mut self, before: String, subscript: Word, parts: &mut Vec<Part>) -> ParseResult {
        parts.push(Part::Literal(before + "["));
        parts.extend(subscript.parts);
        parts.push(Part::Literal("]".to_owned()));
        self.parts(WordEnd::Word, parts)
    }
}
