//! Names in scripting languages: spellings of a name, names for parts of something else, and names of secrets.
//!
//! Out of scope: what a call does.

use super::expression::{Expression, bare};
use super::scan::{Token, UNKNOWN_NAME};
use super::statements::CallReader;
use super::{Call, Gap, Language, Text, globs};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::secret_names::is_secret_name;
use crate::judge::rules::word_lists;

/// Returns the canonical spelling of a name.
pub(super) fn plain_name(language: Language, mut name: String) -> String {
    let language = if language == Language::Mongo { Language::Js } else { language };
    // No described call has such a long name.
    if name.len() > 2 * TAIL {
        let from = (name.len() - TAIL..).find(|at| name.is_char_boundary(*at)).unwrap_or_default();
        name = name.split_off(from);
    }
    if language == Language::Python && name.contains(".__dict__") {
        name = name.replace(".__dict__", "");
    }
    for (_, part, plain) in word_lists::RESTARTING_PARTS.iter().filter(|(of, ..)| *of == language) {
        // Names grow at their end.
        let mut from = name.len().saturating_sub(TAIL);
        while !name.is_char_boundary(from) {
            from -= 1;
        }
        if let Some(at) = name.get(from..).and_then(|tail| tail.rfind(part)).map(|at| from + at) {
            name = format!("{plain}{}", name.get(at + part.len()..).unwrap_or_default());
        }
    }
    for (_, front, plain) in word_lists::EQUAL_PREFIXES.iter().filter(|(of, ..)| *of == language) {
        if let Some(rest) = name.strip_prefix(front) {
            name = format!("{plain}{rest}");
        }
    }
    name
}

/// The number of last bytes of a long name that are examined.
const TAIL: usize = 256;

/// Reports whether a name is that of the whole environment.
pub(super) fn is_environment(name: &str) -> bool {
    word_lists::ENVIRONMENT_NAMES.contains(&name)
}

/// Reports whether a member of a secret is secret too.
pub(super) fn stays_secret(of: &Expression, part: &str) -> bool {
    let whole = of.name.as_deref().is_some_and(is_environment);
    if whole && part.starts_with(|c: char| c.is_ascii_uppercase()) {
        return is_secret_name(part);
    }
    of.secret && word_lists::PASSING_CALLS.contains(&part)
}

/// Reports whether the result of a call is secret.
pub(super) fn gives_secret(callee: &str, of: &Expression, arguments: &[Expression]) -> bool {
    let last = callee.rsplit('.').next().unwrap_or_default();
    if matches!(last, "get" | "getenv" | "fetch") && (of.secret || last == "getenv") {
        return match arguments.first().cloned() {
            Some(key) => of_keys(key),
            None => true,
        };
    }
    // For the environment, these return only the names.
    let names = matches!(last, "sorted" | "list" | "tuple" | "join" | "map");
    let secret =
        |argument: &Expression| argument.secret && !(names && argument.name.as_deref().is_some_and(is_environment));
    word_lists::PASSING_CALLS.contains(&last) && (of.secret || arguments.iter().any(secret))
}

/// Reports whether a key may be the name of a secret.
fn of_keys(key: Expression) -> bool {
    key.values().iter().any(|value| value.known().is_none_or(|key| is_secret_name(&key)))
}

/// Reports whether a call prints its arguments.
pub(super) fn prints(callee: &str) -> bool {
    word_lists::PRINTING_CALLS.contains(&callee)
}

/// Reports whether code tests names before it prints them.
pub(super) fn asks(tokens: &[Token]) -> bool {
    tokens
        .iter()
        .any(|token| matches!(token, Token::Name(name) if word_lists::COMPARING_WORDS.contains(&name.as_str())))
}

/// Reports whether code prints only values whose names begin with a literal text that no name of a secret begins with:
/// its only printing call directly depends on that test.
pub(super) fn picks(tokens: &[Token]) -> bool {
    let named = |token: &Token, words: &[&str]| matches!(token, Token::Name(name) if words.contains(&name.as_str()));
    // Words and operators with which the other names would be printed.
    let turns = |token: &Token| {
        matches!(token, Token::Mark('!' | '?' | '|'))
            || named(token, &["not", "else", "elif", "continue", "or", "unless"])
    };
    let prints = |token: &Token| named(token, &["print", "log", "puts"]);
    let is_mark = |token: &&Token| matches!(token, Token::Mark(_) | Token::Line);
    let Some(at) = tokens.iter().position(|token| named(token, &["startswith", "startsWith", "start_with"])) else {
        return false;
    };
    let behind = tokens.get(at + 1..).unwrap_or_default();
    let [Token::Mark('('), Token::Text(prefix), Token::Mark(')'), rest @ ..] = behind else { return false };
    let next = rest.iter().find(|token| !is_mark(token));
    let printing = tokens.iter().position(prints);
    // `[print(k) for k in names if k.startswith("X")]`
    let in_brackets = || {
        let before = printing.and_then(|at| tokens.get(at.checked_sub(1)?));
        next.is_none() && matches!(before, Some(Token::Mark('[')))
    };
    let leads_there = match next {
        Some(token) => prints(token) || named(token, &["console", "forEach"]),
        None => in_brackets(),
    };
    leads_there
        && tokens.iter().filter(|token| prints(token)).count() == 1
        && !tokens.iter().any(turns)
        && prefix.known().is_some_and(begins_no_secret)
}

/// Reports whether a text is the beginning of names none of which suggests a secret.
fn begins_no_secret(prefix: &str) -> bool {
    let name = prefix.trim_end_matches('_').to_ascii_uppercase();
    let first = name.split('_').next().unwrap_or_default();
    let lists = [&word_lists::SECRET_KEY_WORDS[..], &word_lists::STORE_WORDS, &word_lists::SECRET_PREFIXES];
    prefix.len() > 1
        && !is_secret_name(&name)
        && !lists.iter().any(|list| list.iter().any(|word| word.starts_with(first)))
}

impl CallReader<'_> {
    /// Adds the act of printing a secret, if the expression ends here.
    pub fn printed(&mut self, printed: &[Expression]) {
        if printed.iter().any(|printed| printed.secret) {
            self.calls.push(Call::new("show-secret".into(), Vec::new()));
        }
    }

    /// Reports whether an expression ends here, without a condition after it.
    pub fn ends(&self) -> bool {
        match self.peek(0) {
            None | Some(Token::Line | Token::Mark(',' | ')' | ']' | '}' | ';')) => true,
            Some(Token::Mark('|')) => self.mark(1, '|'),
            Some(Token::Name(name)) => matches!(name.as_str(), "or" | "for" | "foreach"),
            _ => false,
        }
    }

    /// Evaluates `of[key]`: `os['system']`, `process.env['X']`. With an unknown key that may be a function of the
    /// system, its call is unknown.
    pub fn member(&mut self, of: Expression, key: Expression) -> Expression {
        if of.text.is_some() {
            return Expression { secret: of.secret, ..Expression::of_text(Gap::Value) };
        }
        let Some(name) = of.name else { return Expression { secret: of.secret, ..Expression::default() } };
        if self.language == Language::Ruby && name == "Dir" {
            if key.text.as_ref().is_some_and(|glob| glob.rough().starts_with("/proc/")) {
                return Expression::of_text(Gap::Each);
            }
            return Expression { list: Some(globs::found(&key.values())), ..Expression::default() };
        }
        let known = key.text.as_ref().and_then(Text::known).map(str::to_owned);
        let picked = self.picks && known.is_none();
        let secret = if is_environment(&name) { !picked && of_keys(key) } else { of.secret };
        let Some(key) = known else {
            if self.mark(0, '(') {
                self.calls.push(Call::new("computed".into(), vec![Value::text(name)]));
            }
            return Expression { secret, ..Expression::default() };
        };
        let name = plain_name(self.language, format!("{name}.{}", key.replace("::", ".")));
        match self.environment(&name) {
            Some(text) => Expression::of_text(text),
            None => {
                let of = Expression { carried: of.carried, ..Expression::of_name(name) };
                Expression { secret: secret || of.secret, ..of }
            }
        }
    }

    /// Evaluates a function of Perl that a text names: `&{"CORE::system"}(…)`.
    pub fn by_text(&mut self, of: Expression, depth: usize) -> Expression {
        let Some(text) = of.name.clone().or(of.text.map(|text| text.rough().to_owned())) else {
            return Expression::default();
        };
        let name = plain_name(self.language, text.replace("::", "."));
        if name.contains(UNKNOWN_NAME) && self.mark(0, '(') {
            self.calls.push(Call::new("computed".into(), vec![Value::text("Kernel")]));
        }
        self.members(Expression::of_name(name), depth)
    }

    /// Parses names up to a character, which is skipped.
    pub fn names_up_to(&mut self, end: char) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(token) = self.peek(0).cloned() {
            self.at += 1;
            match token {
                Token::Mark(mark) if mark == end => break,
                Token::Name(name) => names.push(name),
                Token::Mark(',' | '(' | ')' | '*' | '&') => {}
                _ => break,
            }
        }
        names
    }

    /// Binds the parameters of tests to the directories that pytest creates for them.
    pub fn fixtures(&mut self) {
        let before = self.at.checked_sub(2).and_then(|at| self.tokens.get(at..self.at)).unwrap_or_default();
        let is = |token: &Token, known: &str| matches!(token, Token::Name(name) if name.ends_with(known));
        let fixture = before.iter().any(|token| is(token, "fixture"));
        self.at += 1;
        let Some(function) = self.named(0) else { return };
        self.take_parameters();
        let once = self.tokens.iter().filter(|token| matches!(token, Token::Name(name) if *name == function)).count();
        let handed = once == 1 && (fixture || function.starts_with("test"));
        for ahead in 1..32 {
            match self.peek(ahead) {
                Some(Token::Name(name)) if matches!(name.as_str(), "tmp_path" | "tmpdir") => {
                    let name = name.clone();
                    let text = if handed { Gap::Temporary } else { Gap::Value };
                    self.bound.insert(name, Expression::of_path(text));
                }
                Some(Token::Mark(')')) | None => break,
                _ => {}
            }
        }
        self.at += 1;
    }

    /// Binds the parameters of a passed function to the values with which it is called.
    pub fn parameters(&mut self, of: &Expression) {
        if !matches!(self.language, Language::Js | Language::Mongo) {
            return;
        }
        let begin = self.at;
        if self.named(0).as_deref() == Some("async") {
            self.at += 1;
        }
        let function = self.named(0).as_deref() == Some("function");
        if function {
            self.at += 1;
        }
        let open = self.mark(0, '(');
        self.at += usize::from(open);
        let parts = self.mark(0, '{');
        self.at += usize::from(parts);
        let names = match self.named(0) {
            Some(name) if !open => {
                self.at += 1;
                vec![name]
            }
            _ => self.names_up_to(if parts { '}' } else { ')' }),
        };
        if parts {
            self.at += 1;
        }
        let arrow = function && open || self.mark(0, '=') && self.mark(1, '>');
        let module = of.name.as_deref().and_then(|name| name.strip_suffix(".then"));
        if !arrow {
            self.at = begin;
            return;
        }
        self.at += if function { 0 } else { 2 };
        match module {
            Some(module) if parts => {
                for name in names {
                    let part = Expression::of_name(format!("{module}.{name}"));
                    self.bound.insert(name, part);
                }
            }
            Some(module) => {
                // The result of a call is not the function.
                let called = (self.world.knows)(module) && !(self.world.fetches)(module);
                let carried = if called { of.carried.clone() } else { Vec::new() };
                let value =
                    Expression { called, carried, secret: called && of.secret, ..Expression::of_name(bare(module)) };
                names.into_iter().take(1).for_each(|name| _ = self.bound.insert(name, value.clone()));
            }
            None if !parts => self.stand_for(&names, of),
            None => {}
        }
    }

    /// Returns a passed function, with the arguments with which it is called.
    pub fn hands_on(&self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<(String, Vec<Value>)> {
        let is_function = |argument: &Expression| {
            let dotted =
                |name: &String| name.contains('.') || matches!(name.as_str(), "exec" | "eval" | "system" | "spawn");
            !argument.called
                && argument.text.is_none()
                && argument.list.is_none()
                && argument.name.as_ref().is_some_and(|name| dotted(name) && (self.world.knows)(name))
        };
        // `each(&:delete)`: a method of each element.
        let method = arguments.iter().find_map(|argument| argument.raw.as_ref()?.rough().strip_prefix("&:"));
        if let Some(method) = method.filter(|_| of.name.as_deref().is_some_and(|name| name.starts_with("Pathname"))) {
            return Some((format!("Pathname.{method}"), of.carried.clone()));
        }
        let at = arguments.iter().position(is_function)?;
        let name = arguments.get(at)?.name.clone()?;
        // The function gets the replaced text; a number is a delay and not an argument.
        let replaces =
            matches!(callee.rsplit('.').next()?, "replace" | "replaceAll" | "gsub" | "sub") && !of.carried.is_empty();
        let is_other = |index: usize, other: &Expression| index != at && other.raw.is_none() && !replaces;
        let others = arguments
            .iter()
            .enumerate()
            .filter(|(index, other)| is_other(*index, other))
            .map(|(_, other)| other.clone());
        let mut values: Vec<Value> = others.flat_map(Expression::values).chain(of.carried.iter().cloned()).collect();
        if values.is_empty() && word_lists::EACH_CALLS.contains(&callee.rsplit('.').next()?) {
            values.push(super::unknown());
        }
        Some((name, values))
    }

    /// Evaluates calls that return a function or a module which their arguments name.
    pub fn reflected(&mut self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Expression> {
        let last = callee.rsplit('.').next()?;
        let before = callee.strip_suffix(last).map_or("", |before| before.trim_end_matches('.'));
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.rough().to_owned());
        let name = |at: usize| arguments.get(at).filter(|argument| !argument.called)?.name.clone();
        let whole = match (self.language, last) {
            (Language::Python, "vars" | "globals" | "locals") => name(0).unwrap_or_else(|| last.to_owned()),
            (Language::Python, "getattr") | (Language::Js, "get") if last == "getattr" || before == "Reflect" => {
                let whole = name(0)?;
                let Some(part) = text(1).filter(|part| !part.contains(UNKNOWN_NAME)) else {
                    if self.mark(0, '(') {
                        self.calls.push(Call::new("computed".into(), vec![Value::text(whole)]));
                    }
                    return Some(Expression::default());
                };
                format!("{whole}.{part}")
            }
            (Language::Python, "__getattribute__" | "__getattr__") => format!("{before}.{}", text(0)?),
            // `attrgetter("f")(module)`, `methodcaller("f", x)(module)`
            (Language::Python, "attrgetter") if of.called => {
                let whole = format!("{}.{}", name(0)?, of.carried.first()?.known()?);
                return Some(Expression::of_name(plain_name(self.language, whole)));
            }
            (Language::Python, "methodcaller") if of.called => {
                let (method, given) = of.carried.split_first()?;
                let callee = plain_name(self.language, format!("{}.{}", name(0)?, method.known()?));
                self.calls.push(Call::new(callee, given.to_vec()));
                return Some(Expression::default());
            }
            (Language::Js | Language::Mongo, "eval")
                if before.is_empty() && text(0).is_some_and(|text| is_name(&text)) =>
            {
                self.calls.push(Call::new(callee.to_owned(), vec![Value::text(text(0)?)]));
                text(0)?
            }
            (Language::Python, "resolve_name" | "locate") => text(0)?.replace(':', "."),
            (Language::Ruby, "method" | "instance_method" | "const_get" | "public_method") => {
                let whole = text(0)?;
                if before.is_empty() { whole } else { format!("{before}.{whole}") }
            }
            (Language::Ruby, "unbind" | "to_proc" | "bind") => before.to_owned(),
            (Language::Js, "promisify" | "callbackify")
            | (Language::Python, "staticmethod" | "partial" | "partialmethod" | "classmethod")
                if arguments.len() == 1 =>
            {
                let name = name(0)?;
                self.taken(&name);
                name
            }
            (Language::Php, "ReflectionFunction" | "fromCallable") => text(0)?,
            (Language::Perl, "can") => format!("{before}.{}", text(0)?),
            (Language::Js | Language::Mongo, "createRequire") => "require".to_owned(),
            _ => return None,
        };
        Some(Expression { carried: of.carried.clone(), ..Expression::of_name(plain_name(self.language, whole)) })
    }
}

/// Reports whether code is only a name.
fn is_name(code: &str) -> bool {
    let code = code.trim();
    !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))
}
