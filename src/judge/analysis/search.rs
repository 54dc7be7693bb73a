//! Determines the files that `find … -delete` deletes: the alternatives in its expression under which a file is
//! deleted.
//!
//! `find . -name '*.pyc' -o -delete` deletes files with other names. Rules examine the tests of a command; this module
//! removes the tests that do not restrict the deletion, and turns each alternative into a command.

use super::act::{Effect, Value};
use super::arguments::Arg;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::word_lists;

/// Maximum number of alternatives. With more, the deletion counts as one without tests.
const MAX_ALTERNATIVES: usize = 16;

/// Maximum nesting of brackets. With more, the deletion counts as one without tests.
const MAX_DEPTH: usize = 16;

/// The indices of the tests that must all succeed for a file to be deleted.
type RequiredTests = Vec<usize>;

/// Returns commands with one alternative each that are equivalent together; `None` if there is only one.
pub(super) fn alternatives(words: &[Arg], catalog: &Catalog) -> Option<Vec<Vec<Arg>>> {
    let rewritten = with_deletion(words, catalog);
    let words = rewritten.as_deref().unwrap_or(words);
    let text: Vec<Option<String>> =
        words.iter().map(|word| word.value.known().map(std::borrow::Cow::into_owned)).collect();
    let is =
        |at: usize, wanted: &[&str]| text.get(at).and_then(Option::as_deref).is_some_and(|word| wanted.contains(&word));
    let joins = ["-o", "-or", ",", "!", "-not", "-prune"];
    // Tests after the deletion are evaluated after the file was deleted.
    let deletion = (0..words.len()).find(|at| is(*at, &["-delete"]))?;
    if deletion + 1 == words.len() && !(0..words.len()).any(|at| is(at, &joins)) {
        return rewritten.map(|words| vec![words]);
    }
    let first = (0..words.len()).find(|at| {
        text.get(*at).and_then(Option::as_deref).is_some_and(|word| {
            word.starts_with(['-', '(', '!']) && !word_lists::LEADING_SEARCH_OPTIONS.contains(&word)
        })
    })?;
    let mut reader = SearchReader { text: &text, at: first, global: Vec::new(), deleted: Vec::new() };
    let whole = reader.list(&[Vec::new()], MAX_DEPTH).is_some() && reader.at == words.len();
    let mut ways = reader.deleted;
    if !whole || ways.is_empty() || ways.len() > MAX_ALTERNATIVES || ways.iter().any(Vec::is_empty) {
        ways = vec![Vec::new()];
    }
    let kept = |way: &RequiredTests| {
        let stays = |at: usize| at < first || reader.global.contains(&at) || way.contains(&at) || is(at, &["-delete"]);
        words.iter().enumerate().filter(|(at, _)| stays(*at)).map(|(_, word)| word.clone()).collect()
    };
    Some(ways.iter().map(kept).collect())
}

/// Replaces `-exec rm … ;` by `-delete`.
fn with_deletion(words: &[Arg], catalog: &Catalog) -> Option<Vec<Arg>> {
    let is = |arg: &Arg, wanted: &[&str]| wanted.iter().any(|word| arg.value.is(word));
    let deletes = |arg: &Arg| {
        let name = arg.value.known().unwrap_or_default();
        let program = catalog.program(name.rsplit('/').next().unwrap_or_default());
        program.is_some_and(|program| program.effects.iter().any(|effect| effect.does == Effect::Delete))
    };
    let removes = |pair: &[Arg]| is(&pair[0], &["-exec", "-execdir"]) && deletes(&pair[1]);
    let from = words.windows(2).position(removes)?;
    let end = from + words[from..].iter().position(|arg| is(arg, &[";", "+"]))?;
    words[from..end].iter().any(|arg| is(arg, &["{}"])).then_some(())?;
    let mut all = words.to_vec();
    let span = all[from].span.to(all[end].span);
    all.splice(from..=end, [Arg::word(Value::text("-delete"), span)]);
    Some(all)
}

struct SearchReader<'a> {
    text: &'a [Option<String>],
    at: usize,
    /// The indices of options of the whole search.
    global: Vec<usize>,
    /// The alternatives under which a file is deleted.
    deleted: Vec<RequiredTests>,
}

impl SearchReader<'_> {
    fn word(&self) -> Option<&str> {
        self.text.get(self.at)?.as_deref()
    }

    /// Parses alternatives up to a closing bracket or the end, each after the tests in `under`. Returns the tests that
    /// a file has passed after them. `None`: the expression could not be parsed.
    fn list(&mut self, under: &[RequiredTests], depth: usize) -> Option<Vec<RequiredTests>> {
        let mut all = Vec::new();
        loop {
            all.extend(self.terms(under, depth)?);
            match self.word() {
                Some("-o" | "-or" | ",") => self.at += 1,
                _ => break,
            }
        }
        (all.len() <= MAX_ALTERNATIVES).then_some(all)
    }

    /// Parses terms that must all succeed.
    fn terms(&mut self, under: &[RequiredTests], depth: usize) -> Option<Vec<RequiredTests>> {
        let mut held: Vec<RequiredTests> = under.to_vec();
        while self.at < self.text.len() {
            let before = self.at;
            match self.word() {
                Some("-o" | "-or" | "," | ")") => break,
                Some("-a" | "-and") => self.at += 1,
                Some("!" | "-not") => {
                    self.at += 1;
                    // A negated test does not restrict the deletion to known names.
                    let deleted = self.deleted.len();
                    self.term(&[Vec::new()], depth)?;
                    if self.deleted.len() > deleted {
                        return None;
                    }
                }
                _ => held = self.term(&held, depth)?,
            }
            if self.at == before {
                return None;
            }
        }
        Some(held)
    }

    fn term(&mut self, held: &[RequiredTests], depth: usize) -> Option<Vec<RequiredTests>> {
        let begin = self.at;
        let arity =
            |list: &[(&str, usize)], word: &str| list.iter().find(|(name, _)| *name == word).map(|(_, count)| *count);
        let word = self.word()?.to_owned();
        if matches!(word.as_str(), "!" | "-not") {
            self.at += 1;
            return self.term(held, depth);
        }
        if word == "(" {
            self.at += 1;
            let inside = self.list(held, depth.checked_sub(1)?)?;
            return (self.word() == Some(")")).then(|| {
                self.at += 1;
                inside
            });
        }
        if word == "-delete" {
            self.at += 1;
            self.deleted.extend_from_slice(held);
            return Some(held.to_vec());
        }
        if matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            while !matches!(self.word(), Some(";" | "+")) {
                self.at += 1;
                if self.at >= self.text.len() {
                    return None;
                }
            }
            self.at += 1;
            return Some(held.to_vec());
        }
        if let Some(count) = arity(&word_lists::SEARCH_OPTIONS, &word) {
            self.at += 1 + count;
            self.global.extend(begin..self.at);
            return Some(held.to_vec());
        }
        if let Some(count) = arity(&word_lists::SEARCH_ACTIONS, &word) {
            self.at += 1 + count;
            return Some(held.to_vec());
        }
        self.at += if word_lists::SEARCH_FLAGS.contains(&word.as_str()) { 1 } else { 2 };
        let test = begin..self.at;
        Some(held.iter().map(|way| way.iter().copied().chain(test.clone()).collect()).collect())
    }
}
