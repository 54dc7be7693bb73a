//! The texts of files that code reads and edits, until it writes them.
//!
//! Out of scope: writing them, and what an edited file does when it runs. A text is followed only through calls that
//! `patterns/languages/words.toml` lists, with arguments that are known.

use super::Call;
use super::expression::Expression;
use super::opening::{APPENDS, EMPTIES};
use super::scan::Token;
use super::statements::CallReader;
use crate::judge::analysis::act::Value;
use crate::judge::analysis::replacements::{EditedText, Pattern, Reach, Replacement, TextChange};
use crate::judge::rules::word_lists;

/// Maximum number of changes of one text.
const MAX_CHANGES: usize = 64;

/// Returns the text of a file that a call returns: it reads the file, or edits a text that was read before.
pub(super) fn of_call(callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Box<EditedText>> {
    if word_lists::FILE_READING_CALLS.contains(&callee) {
        return read_by(of, arguments);
    }
    let last = callee.rsplit('.').next().filter(|last| word_lists::TEXT_EDITING_CALLS.contains(last))?;
    let mut edited = of.edited.clone();
    let (mut texts, mut ignore_case) = (Vec::new(), false);
    for argument in arguments {
        if argument.edited.is_some() {
            // Of two files, neither is followed.
            if edited.replace(whole(argument)?).is_some() {
                return None;
            }
            continue;
        }
        let set = argument.setting.as_ref().and_then(|(_, value)| value.known());
        ignore_case |= argument.name.as_deref().or(set).is_some_and(|name| name.contains("re.I"));
        texts.extend(texts_of(argument)?);
    }
    let mut edited = edited?;
    edited.changes.extend(changes(last, texts, ignore_case));
    (edited.changes.len() <= MAX_CHANGES).then_some(edited)
}

/// Returns the changes by a call with these texts as arguments.
fn changes(last: &str, texts: Vec<String>, ignore_case: bool) -> Vec<TextChange> {
    match (last, texts.as_slice()) {
        ("replace" | "replaceAll", [from, to, ..]) => {
            vec![TextChange::Replacement(Replacement {
                from: Pattern::Text(from.clone()),
                to: to.clone(),
                reach: Reach::Some,
                across_lines: true,
            })]
        }
        ("sub" | "subn" | "gsub", [from, to, ..]) => {
            let from = Pattern::Expression { text: from.clone(), ignore_case };
            vec![TextChange::Replacement(Replacement { from, to: to.clone(), reach: Reach::Some, across_lines: true })]
        }
        _ => texts.into_iter().filter(|text| !text.trim().is_empty()).map(TextChange::Line).collect(),
    }
}

/// Returns the text of the file that a call reads.
fn read_by(of: &Expression, arguments: &[Expression]) -> Option<Box<EditedText>> {
    let is_mode = |value: &Value| {
        value.known().is_some_and(|mode| {
            let mode = mode.rsplit('=').next().unwrap_or_default().to_ascii_lowercase();
            word_lists::TEXT_MODES.contains(&mode.as_str())
        })
    };
    let given: Vec<Value> = arguments.iter().cloned().flat_map(Expression::values).collect();
    let (path, modes) = match of.carried.split_first() {
        Some((path, modes)) => (path, modes),
        None => given.split_first()?,
    };
    let path = path.known()?.into_owned();
    modes.iter().all(is_mode).then(|| Box::new(EditedText { path, changes: Vec::new() }))
}

/// Returns the texts of an argument; `None` if it is not known. Numbers, flags and truth values have no text.
fn texts_of(argument: &Expression) -> Option<Vec<String>> {
    let is_flag = |name: &str| name.starts_with("re.") || matches!(name, "True" | "False" | "None" | "true" | "false");
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if let Some((_, value)) = &argument.setting {
        return value.known().filter(|value| is_flag(value) || is_number(value)).map(|_| Vec::new());
    }
    if let Some(text) = &argument.text {
        return Some(vec![text.known()?.to_owned()]);
    }
    if let Some(list) = &argument.list {
        return list.iter().map(|value| Some(value.known()?.into_owned())).collect();
    }
    let raw = argument.raw.as_ref().and_then(|raw| raw.known());
    let named = argument.name.as_deref().filter(|_| !argument.called && !argument.lambda);
    (raw.is_some_and(is_number) || named.is_some_and(is_flag)).then(Vec::new)
}

/// Returns the text of an expression: that of a file, with the elements of a list that also contains its lines.
pub(super) fn whole(of: &Expression) -> Option<Box<EditedText>> {
    let mut edited = of.edited.clone()?;
    for element in of.list.iter().flatten() {
        edited.changes.push(TextChange::Line(element.known()?.into_owned()));
    }
    Some(edited)
}

/// Returns the text of two parts of one file.
pub(super) fn both(mut one: Box<EditedText>, other: &EditedText) -> Option<Box<EditedText>> {
    let new = other.changes.iter().filter(|change| !one.changes.contains(change)).cloned();
    let new: Vec<TextChange> = new.collect();
    one.changes.extend(new);
    (one.path == other.path).then_some(one)
}

/// Returns the text of two concatenated expressions.
pub(super) fn joined(left: &Expression, right: &Expression) -> Option<Box<EditedText>> {
    let (edited, other) = match (&left.edited, &right.edited) {
        (Some(_), Some(_)) => return both(whole(left)?, &*whole(right)?),
        (Some(_), None) => (whole(left)?, right),
        (None, Some(_)) => (whole(right)?, left),
        (None, None) => return None,
    };
    let mut edited = edited;
    edited.changes.extend(changes("", texts_of(other)?, false));
    Some(edited)
}

/// Returns a list with these elements. Lines of a file are not among its elements.
pub(super) fn list_of(elements: Vec<Expression>) -> Expression {
    let (mut list, mut edited): (_, Option<Box<EditedText>>) = (Vec::new(), None);
    for element in elements {
        match whole(&element).filter(|_| element.text.is_none()) {
            Some(lines) => {
                edited = match edited {
                    None => Some(lines),
                    // The lines of another file are unknown.
                    Some(before) if before.path != lines.path => {
                        list.push(super::unknown());
                        Some(before)
                    }
                    Some(before) => both(before, &lines),
                };
            }
            None => list.extend(element.values()),
        }
    }
    Expression { list: Some(list), edited, ..Expression::default() }
}

/// Marks the calls that open a file whose whole new content later calls write: the content is that of these calls, and all
/// but the first of them append.
pub(super) fn mark_writes(calls: &mut [Call]) {
    // The position of the call that opened each file, and whether the file is empty since.
    let mut opened: Vec<(Value, usize, bool)> = Vec::new();
    for at in 0..calls.len() {
        let Some(call) = calls.get_mut(at) else { return };
        let Some(path) = call.args.first().cloned() else { continue };
        let held = opened.iter().rposition(|(other, ..)| *other == path);
        if call.args.len() == 1 && matches!(&*call.callee, EMPTIES | APPENDS) {
            held.map(|held| opened.swap_remove(held));
            opened.push((path, at, call.callee == EMPTIES));
            continue;
        }
        let writes = ["open.write", "open.writelines", APPENDS].iter().any(|name| call.callee.ends_with(name));
        if let Some((_, begin, is_empty)) = held.and_then(|held| opened.get_mut(held)).filter(|_| writes) {
            if !std::mem::take(is_empty) {
                APPENDS.clone_into(&mut call.callee);
            }
            let begin = *begin;
            if let Some(opening) = calls.get_mut(begin).filter(|opening| !opening.says(OPENED)) {
                opening.facts.push(Value::text(OPENED));
            }
        }
    }
}

/// The fact about a call that opens a file whose content later calls write.
const OPENED: &str = "--opened";

impl CallReader<'_> {
    /// Adds a call that appends unknown data, if a file that was opened for writing is bound to a name that is used for
    /// something other than writing known data.
    pub fn note_handle(&mut self, name: &str, file: &Expression) {
        let Some(path) = file.carried.first().filter(|_| file.called) else { return };
        let opens = |call: &Call| {
            matches!(&*call.callee, EMPTIES | APPENDS) && call.args.len() == 1 && call.args.first() == Some(path)
        };
        if !self.calls.iter().any(opens) {
            return;
        }
        let is = |at: usize, names: &[&str]| matches!(self.tokens.get(at), Some(Token::Name(name)) if names.contains(&name.as_str()));
        let mark = |at: usize, mark: char| self.tokens.get(at) == Some(&Token::Mark(mark));
        let is_other = |at: usize| {
            let binds = at > 0 && is(at - 1, &["as"]) || mark(at + 1, '=') && !mark(at + 2, '=');
            let writes = mark(at + 1, '.') && is(at + 2, &word_lists::HANDLE_MEMBERS);
            is(at, &[name]) && !binds && !writes
        };
        if (0..self.tokens.len()).any(is_other) {
            let path = path.clone();
            self.calls.push(Call::new(APPENDS.to_owned(), vec![path, super::unknown()]));
        }
    }

    /// Parses a statement that begins with a list of lines of a file, and may change it: `lines[3] = "x"`,
    /// `lines.insert(3, "x")`. Returns whether it was one.
    pub fn changes_lines(&mut self) -> bool {
        let Some(name) = self.named(0).filter(|name| self.bound.get(name).is_some_and(|held| held.edited.is_some()))
        else {
            return false;
        };
        if !self.mark(1, '[') && !self.mark(1, '.') {
            return false;
        }
        let target = self.expression(0);
        let changed = if self.mark(0, '=') && !self.mark(1, '=') {
            self.at += 1;
            let value = self.expression(0);
            let ends = matches!(self.peek(0), None | Some(Token::Line | Token::Mark(';')));
            self.bound.get(&name).filter(|_| ends).and_then(|held| joined(held, &value))
        } else {
            target.edited
        };
        if let Some(held) = self.bound.get_mut(&name) {
            held.edited = changed;
        }
        true
    }
}
