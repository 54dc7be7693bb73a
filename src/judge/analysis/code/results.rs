//! Computes the results of calls from their arguments.
//!
//! `patterns/languages/names.toml` defines which kind of result a call returns; this module computes each kind. Out of
//! scope: names of functions.

use super::element_texts::put_together;
use super::expression::{Expression, MAX_TEXT};
use super::paths::{FILE, MAX_LEVELS, above, directory, is_whole, joined, plain_path, without_scheme};
use super::statements::CallReader;
use super::{Gap, Slice, Text, TextItem, globs, value};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::decode;
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::{CallResult, ResultKind};

/// A call with its object.
struct MethodCall<'c> {
    reader: &'c CallReader<'c>,
    callee: &'c str,
    of: &'c Expression,
    subject: Option<Slice<'c>>,
    arguments: &'c [Expression],
}

impl CallReader<'_> {
    /// Returns the result of a call, if it can be computed.
    pub fn known_result(&self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Expression> {
        let subject = of.subject.as_ref().map(Text::slice);
        if subject.is_some_and(|subject| subject.has(Gap::Fetched)) {
            return plain(Gap::Fetched);
        }
        if globs::finds(self.language, callee) {
            let patterns: Vec<Value> = arguments.first()?.clone().values();
            let of = if callee == "Pathname.glob" { self.of_paths() } else { Expression::default() };
            return Some(Expression { list: Some(globs::found(&patterns)), ..of });
        }
        let called = MethodCall { reader: self, callee, of, subject, arguments };
        languages().results(self.language, callee).find_map(|result| called.given(result))?
    }
}

fn plain(text: impl Into<Text>) -> Option<Expression> {
    Some(Expression::of_text(text.into()))
}

fn list(values: Vec<Value>) -> Option<Expression> {
    Some(Expression { list: Some(values), ..Expression::default() })
}

impl MethodCall<'_> {
    fn text(&self, at: usize) -> Option<Slice<'_>> {
        Some(self.arguments.get(at)?.text.as_ref()?.slice())
    }

    /// Reports whether it is a method of paths, or returns a path.
    fn is_of_path(&self) -> bool {
        self.callee.contains("Path")
    }

    fn path(&self, text: Text) -> Option<Expression> {
        Some(if self.is_of_path() { Expression::of_path(text) } else { Expression::of_text(text) })
    }

    /// Returns the files that match a pattern, as paths that are objects.
    fn files(&self, pattern: &Text) -> Option<Expression> {
        Some(Expression { list: Some(vec![globs::globbed(pattern)]), ..self.reader.of_paths() })
    }

    /// Joins the values of the object with a separator.
    fn strung(&self, between: &str) -> Option<Expression> {
        let carried = self.of.carried.iter();
        let all: Option<Vec<String>> = carried.map(|value| Some(value.known()?.into_owned())).collect();
        plain(strung(&all.filter(|all| !all.is_empty())?, self.text(0).unwrap_or(between.into())))
    }

    /// Computes the result of the call by an entry. The outer `None`: its arguments do not match the entry.
    fn given(&self, result: &CallResult) -> Option<Option<Expression>> {
        let fits = self.fits(result.gives)?;
        fits.then(|| self.worked_out(result))
    }

    /// Reports whether the arguments match an entry. `None` also means that they do not.
    fn fits(&self, gives: ResultKind) -> Option<bool> {
        let (subject, arguments) = (self.subject, self.arguments);
        Some(match gives {
            ResultKind::Text | ResultKind::Path | ResultKind::OwnWords => arguments.is_empty(),
            ResultKind::PathFrom => self.text(1).is_some() && !self.text(0).or(subject).is_some_and(is_whole),
            ResultKind::Directory | ResultKind::PathObject | ResultKind::Letters => !arguments.is_empty(),
            ResultKind::AddressBeside => self.text(1)?.rough().starts_with(FILE),
            ResultKind::PathBelow => subject.is_some() || self.of.list.is_some(),
            // An unknown text has no known words.
            ResultKind::QuotedLine => self.text(0).is_none_or(|text| text.rough().contains(['"', '\'', '\\'])),
            ResultKind::Parts | ResultKind::StrungElements | ResultKind::Filled | ResultKind::StrungBehind => {
                subject.is_some()
            }
            ResultKind::Replaced => subject.is_some() && !self.is_of_path(),
            ResultKind::PartsByMark => !self.text(0)?.is_empty(),
            ResultKind::SameElements => arguments.first()?.list.is_some(),
            ResultKind::Reversed => self.text(0).or(subject.filter(|_| arguments.is_empty())).is_some(),
            ResultKind::Statement => arguments.len() == 1,
            ResultKind::ArgumentInAnEncoding => arguments.len() < 3,
            ResultKind::FilesByPattern | ResultKind::FilesBelowByPattern => self.text(0).is_some(),
            ResultKind::SameNames => {
                let subject = subject?;
                subject.has(Gap::Name) || subject.has(Gap::Each)
            }
            _ => true,
        })
    }

    fn worked_out(&self, result: &CallResult) -> Option<Expression> {
        let (subject, arguments, text) = (self.subject, self.arguments, |at: usize| self.text(at));
        match result.gives {
            ResultKind::Text => plain(self.reader.world.at_home(result.text.as_deref()?.into())),
            ResultKind::Path => self.path(self.reader.world.at_home(result.text.as_deref()?.into())),
            ResultKind::Nothing => plain(Text::default()),
            ResultKind::Same | ResultKind::SameNames => plain(subject?),
            ResultKind::SameElements => {
                let first = arguments.first()?;
                Some(Expression { list: first.list.clone(), name: first.name.clone(), ..Expression::default() })
            }
            ResultKind::ArgumentAsItIs => arguments.first().cloned(),
            ResultKind::Argument
            | ResultKind::ArgumentInAnEncoding
            | ResultKind::Statement
            | ResultKind::QuotedLine => plain(text(0)?),
            ResultKind::Words | ResultKind::OwnWords => list(words(text(0).or(subject)?)),
            ResultKind::Parts => match text(0) {
                Some(mark) if !mark.trim().is_empty() => list(parted(subject?, mark)),
                None if !arguments.is_empty() => None,
                Some(mark) if mark.is_empty() => None,
                _ => list(words(subject?)),
            },
            ResultKind::PartsByMark => list(parted(text(1)?, text(0)?)),
            ResultKind::Strung => self.strung(""),
            ResultKind::StrungWithCommas => self.strung(","),
            // The elements of a text are its letters.
            ResultKind::StrungElements if subject.is_some_and(|between| between.is_empty()) && text(0).is_some() => {
                plain(text(0)?)
            }
            ResultKind::StrungElements => {
                let elements = arguments.first()?.list.as_ref()?;
                let all: Option<Vec<String>> = elements.iter().map(|value| Some(value.known()?.into_owned())).collect();
                plain(strung(&all?, subject?))
            }
            ResultKind::StrungBehind => {
                let mut all = Text::from(subject?);
                arguments.iter().for_each(|argument| all.push_text(&part(argument)));
                plain(all)
            }
            ResultKind::Arguments => list(arguments.iter().cloned().flat_map(Expression::values).collect()),
            ResultKind::StrungArguments => {
                let mut all = Text::default();
                arguments.iter().for_each(|argument| all.push_text(&part(argument)));
                plain(all)
            }
            ResultKind::Reversed => plain(text(0).or(subject)?.reversed()),
            ResultKind::Replaced => {
                let long = subject?.len().saturating_mul(text(1)?.len()) > MAX_TEXT;
                let from = text(0)?.known().filter(|from| !long && !from.is_empty());
                let (of, to) = (subject?, text(1)?);
                plain(from.map_or_else(|| Gap::Value.into(), |from| replaced(of, from, to)))
            }
            ResultKind::Filled => {
                plain(filled(subject?, arguments.iter().cloned().flat_map(Expression::values).collect()))
            }
            ResultKind::FilledArguments => {
                let values = arguments.iter().skip(1).cloned().flat_map(Expression::values).collect();
                plain(filled(text(0)?, values))
            }
            ResultKind::FillsArgument => None,
            ResultKind::FilesOfPattern => list(globs::found(&arguments.first()?.clone().values())),
            ResultKind::Letters => {
                let letter = |argument: &Expression| {
                    char::from_u32(argument.raw.as_ref()?.known()?.parse().ok()?).map(TextItem::Letter)
                };
                let letters = arguments.iter().map(|argument| letter(argument).unwrap_or(TextItem::Gap(Gap::Value)));
                plain(letters.collect::<Text>())
            }
            ResultKind::Base64 => plain(base64(text(0)?.known())),
            ResultKind::Hexadecimal => plain(hexadecimal(text(0)?.known())),
            ResultKind::DecodedAsNamed => match text(1).and_then(Slice::known) {
                Some("base64" | "base64url") => plain(base64(text(0)?.known())),
                Some("hex") => plain(hexadecimal(text(0)?.known())),
                _ => plain(text(0)?),
            },
            ResultKind::Variable => {
                let name = format!("{}.{}", before(self.callee), text(0)?.rough());
                plain(self.reader.environment(&name)?)
            }
            ResultKind::PathFrom => plain(Text::joined([above(text(1)?), "/".into(), text(0)?])),
            ResultKind::PathAtHome => self.path(self.reader.world.at_home(text(0).or(subject)?)),
            ResultKind::Directory => {
                let levels = arguments.get(1).and_then(|levels| levels.raw.as_ref()?.known()?.parse().ok());
                let levels: usize = levels.unwrap_or(1).min(MAX_LEVELS);
                plain((0..levels).fold(text(0)?.into(), |of: Text, _| directory(of.slice())))
            }
            ResultKind::PathBeside => self.path(Text::joined([directory(subject?).slice(), "/".into(), text(0)?])),
            ResultKind::PathOfAddress => plain(text(0)?.cut(without_scheme)),
            ResultKind::AddressBeside => plain(Text::joined([directory(text(1)?).slice(), "/".into(), text(0)?])),
            ResultKind::PathObject => Some(self.reader.path_of(arguments)),
            ResultKind::PathBelow => {
                let of = &self.of;
                let of = Expression { text: of.subject.clone(), list: of.list.clone(), ..Expression::default() };
                let all: Vec<Expression> = std::iter::once(of).chain(arguments.iter().cloned()).collect();
                Some(self.reader.path_of(&all))
            }
            ResultKind::JoinedPath => Some(Expression { name: None, ..self.reader.path_of(arguments) }),
            ResultKind::PlainPath if arguments.is_empty() => self.path(plain_path(subject?.into())),
            ResultKind::PlainPath => {
                let all = put_together(arguments, |texts| plain_path(joined(texts)));
                let name = self.reader.of_paths().name;
                Some(if self.is_of_path() { Expression { name, ..all } } else { all })
            }
            ResultKind::TemporaryPath => plain(Gap::Temporary),
            ResultKind::FilesByPattern => self.files(&Text::joined([above(subject?), "/".into(), text(0)?])),
            ResultKind::FilesBelowByPattern => self.files(&Text::joined([above(subject?), "/**/".into(), text(0)?])),
            ResultKind::AllBelow => self.files(&Text::joined([above(subject?), "/**".into()])),
            ResultKind::AllIn => self.files(&Text::joined([above(subject?), "/*".into()])),
            ResultKind::AllInArgument => plain(Text::joined([text(0)?, Text::from(Gap::Found).slice()])),
            ResultKind::AName => plain(Gap::Name),
        }
    }
}

/// Returns the part of a name before the last one; `os` if there is none.
fn before(callee: &str) -> &str {
    callee.rsplit_once('.').map_or("os", |(before, _)| before)
}

/// Returns the text of an argument, as far as it is known.
fn part(argument: &Expression) -> Text {
    argument.text.clone().unwrap_or_else(|| Gap::Value.into())
}

/// Splits a text into words.
fn words(text: Slice<'_>) -> Vec<Value> {
    text.rough().split_whitespace().map(|word| value(text.part(word))).collect()
}

/// Splits a text at a separator.
fn parted(text: Slice<'_>, mark: Slice<'_>) -> Vec<Value> {
    match mark.known() {
        Some(mark) => text.rough().split(mark).map(|part| value(text.part(part))).collect(),
        None => vec![super::unknown()],
    }
}

/// Joins texts with a separator.
fn strung(texts: &[String], between: Slice<'_>) -> Text {
    let mut all = Text::default();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            all.push_text(between);
        }
        all.push_text(text);
    }
    all
}

/// Replaces a text in another one. Its unknown parts are assumed not to contain it.
fn replaced(text: Slice<'_>, from: &str, to: Slice<'_>) -> Text {
    let mut all = Text::default();
    for (index, kept) in text.rough().split(from).enumerate() {
        if index > 0 {
            all.push_text(to);
        }
        all.push_text(text.part(kept));
    }
    all
}

/// Replaces the placeholders in a format (`%s`, `{}`). A missing value is a gap.
pub(super) fn filled(pattern: Slice<'_>, values: Vec<Value>) -> Text {
    let mut values = values.into_iter();
    let mut all = Text::default();
    let mut rest = pattern.signs();
    while let Some(sign) = rest.next().filter(|_| all.len() <= MAX_TEXT) {
        match sign.letter() {
            c @ ('%' | '{') => {
                let ends =
                    |letter: char| if c == '{' { letter == '}' } else { letter.is_ascii_alphabetic() || letter == '%' };
                let kind = rest.by_ref().map(TextItem::letter).find(|letter| ends(*letter));
                match values.next().filter(|_| kind != Some('%')) {
                    Some(value) => match value.known() {
                        Some(text) => all.push_text(&*text),
                        None => all.push_gap(Gap::Value),
                    },
                    None => all.push_gap(Gap::Value),
                }
            }
            _ => all.push(sign),
        }
    }
    all
}

fn base64(text: Option<&str>) -> Text {
    let Some(text) = text else { return Gap::Value.into() };
    let plain: String = text
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    decoded(decode::base64(&plain))
}

fn hexadecimal(text: Option<&str>) -> Text {
    decoded(text.and_then(decode::hexadecimal))
}

fn decoded(bytes: Option<Vec<u8>>) -> Text {
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(|| Gap::Value.into(), Text::from)
}
