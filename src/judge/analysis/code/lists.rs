//! Lists and objects in code.

use super::expression::{Expression, MAX_DEPTH, MAX_LIST, option, raw};
use super::scan::Token;
use super::statements::CallReader;
use super::{Language, file_text};
use crate::judge::rules::word_lists;

impl CallReader<'_> {
    pub fn list(&mut self, depth: usize) -> Expression {
        self.at += 1;
        let elements = self.arguments(depth + 1, ']');
        file_text::list_of(elements)
    }

    /// Parses `{…}`: an object or a block. Its calls are collected, and its text is kept if it is short.
    pub fn object(&mut self, depth: usize) -> Expression {
        let begin = self.at;
        if let (true, Some(elements)) = (self.language == Language::Python, self.set()) {
            return elements;
        }
        self.at += 1;
        let mut level = 1;
        let mut more = Vec::new();
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark('}') => {
                    level -= 1;
                    self.at += 1;
                    if level == 0 {
                        break;
                    }
                }
                Token::Mark('{') => {
                    level += 1;
                    self.at += 1;
                }
                // `new Deno.Command("rm", {args: ["-r"]})`
                Token::Name(name)
                    if matches!(name.as_str(), "args" | "cmd") && self.mark(1, ':') && self.mark(2, '[') =>
                {
                    self.at += 2;
                    more.extend(self.list(depth + 1).list.unwrap_or_default());
                }
                Token::Name(_) | Token::Shell(_) if depth < MAX_DEPTH => {
                    let here = self.at;
                    self.statement();
                    if self.at == here {
                        self.at += 1;
                    }
                }
                _ => self.at += 1,
            }
        }
        let tokens = self.tokens.get(begin..self.at).unwrap_or_default();
        if self.language == Language::Mongo {
            return Expression { raw: Some(raw(tokens)), ..Expression::default() };
        }
        let environment = |token: &Token| matches!(token, Token::Name(name) if name == "environ");
        let secret = self.language == Language::Python && tokens.iter().any(environment) && !self.asks;
        let settings = tokens.windows(3).filter_map(|part| match part {
            // `{"--force": null}`: an argument for a library that passes its arguments to a program.
            [Token::Text(key), Token::Mark(':'), Token::Name(word)] if key.rough().starts_with('-') => {
                let off = matches!(word.as_str(), "false" | "undefined");
                (!off).then(|| super::value(key))
            }
            [Token::Name(key), Token::Mark(':'), Token::Name(text) | Token::Number(text)] => Some(option(key, text)),
            [Token::Name(key), Token::Mark(':'), Token::Text(text)] => Some(option(key, text)),
            _ => None,
        });
        Expression { list: Some(settings.chain(more).collect()), secret, ..Expression::default() }
    }

    /// Parses `{"a", "b"}` of Python, a set of texts.
    pub fn set(&mut self) -> Option<Expression> {
        let rest = self.tokens.get(self.at + 1..)?;
        let end = rest.iter().position(|token| !matches!(token, Token::Text(_) | Token::Line | Token::Mark(',')))?;
        let all = rest.get(..end).filter(|all| !all.is_empty() && rest.get(end) == Some(&Token::Mark('}')))?;
        let texts = all.iter().filter_map(|token| match token {
            Token::Text(text) => Some(super::value(text)),
            _ => None,
        });
        let list = Some(texts.collect());
        self.at += end + 2;
        Some(Expression { list, ..Expression::default() })
    }

    /// Reports whether `list.append(…)` or a similar call begins here.
    pub fn grows(&self, name: &str) -> bool {
        let is_list = self.bound.get(name).is_some_and(|bound| bound.list.is_some());
        is_list
            && self.mark(1, '.')
            && self.named(2).is_some_and(|part| word_lists::LIST_GROWING_METHODS.contains(&&*part))
            && self.mark(3, '(')
    }

    pub fn grown(&mut self, name: &str) {
        self.at += 4;
        let more = file_text::list_of(self.arguments(1, ')'));
        let Some(held) = self.bound.get_mut(name) else { return };
        if let Some(edited) = more.edited {
            held.edited = Some(match held.edited.take() {
                Some(before) => file_text::both(before, &edited).unwrap_or(edited),
                None => edited,
            });
        }
        if let Some(list) = &mut held.list {
            list.extend(more.list.unwrap_or_default());
            list.truncate(MAX_LIST);
        }
    }
}
