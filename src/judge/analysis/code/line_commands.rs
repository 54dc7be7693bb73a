//! Languages with one command per line, as of editors and debuggers: `:!cmd`, `shell cmd`, `w file`.
//!
//! The commands are data: see `patterns/languages/commands.toml`.

use super::scan::{Token, tokens};
use super::{Call, Language, Slice, Text, value};
use crate::judge::rules::catalog;
use crate::judge::rules::line_commands::{LineCommand, LineLanguage, Taken, next_word};

/// Maximum number of commands that contain one another.
const MAX_NESTED: usize = 16;

/// Maximum number of commands in one line that follow one another.
const MAX_JOINED: usize = 128;

/// Maximum number of tokens of the arguments of a function.
const MAX_ARGUMENT_TOKENS: usize = 12;

/// The call for saving a file without lines.
const EMPTIES: &str = "empties";

/// The call for appending to a file.
const APPENDS: &str = "append";

/// Parses all lines.
pub fn read(language: Language, text: Slice<'_>, home: &str) -> Vec<Call> {
    let Some(known) = catalog::line_commands().of(language) else { return Vec::new() };
    let mut reader = Reader { known, home, calls: Vec::new() };
    let mut emptied = false;
    for line in text.lines() {
        reader.line(line, MAX_NESTED);
        let line = line.rough().trim();
        let is_one_of = |commands: &[String], line: &str| commands.iter().any(|command| command == line);
        emptied |= is_one_of(&known.deletes_all, line);
        if emptied && is_one_of(&known.saves, line.trim_end_matches('!')) {
            reader.calls.push(Call::new(EMPTIES.to_owned(), Vec::new()));
            emptied = false;
        }
    }
    reader.calls
}

struct Reader<'a> {
    known: &'a LineLanguage,
    home: &'a str,
    calls: Vec<Call>,
}

impl Reader<'_> {
    /// Parses the commands of a line, or of a text in another command.
    fn line(&mut self, text: Slice<'_>, nested: usize) {
        let mut rest = Some(text);
        for _ in 0..MAX_JOINED {
            let Some(line) = rest.take() else { break };
            rest = self.command(line.cut(|line| without_modifiers(self.known, line)), nested);
        }
    }

    /// Parses a command. Returns the text of the commands that follow it.
    fn command<'t>(&mut self, line: Slice<'t>, nested: usize) -> Option<Slice<'t>> {
        let known = self.known;
        let after = line.find(|line| behind_bar(line, known.addresses));
        for (described, rest) in known.commands(line.rough()) {
            let rest = line.part(rest);
            let before = self.calls.len();
            match described.takes {
                Taken::Functions => self.functions(rest),
                Taken::Command => self.nested(rest, nested),
                Taken::QuotedCommands => {
                    for token in tokens(Language::Other, rest) {
                        if let Token::Text(inner) = token {
                            self.nested(inner.slice(), nested);
                        }
                    }
                }
                Taken::TypedCommand => {
                    rest.find(typed_command).into_iter().for_each(|typed| self.nested(typed, nested))
                }
                Taken::Assignment => self.calls.extend(assignment(rest).map(|pair| call(&described.described, &pair))),
                Taken::Setting => {
                    let program = value_of_setting(described, rest.rough());
                    self.calls.extend(program.map(|program| call(&described.described, &program)));
                }
                _ => self.calls.extend(self.simple(described, line, rest)),
            }
            if self.calls.len() > before {
                return after.filter(|_| !takes_bars(described.takes));
            }
        }
        after
    }

    /// Parses a text in a command, unless there are too many around it.
    fn nested(&mut self, text: Slice<'_>, nested: usize) {
        if let Some(nested) = nested.checked_sub(1) {
            self.line(text, nested);
        }
    }

    /// Returns the call of a command whose argument is a part of the line.
    fn simple(&self, described: &LineCommand, line: Slice<'_>, rest: Slice<'_>) -> Option<Call> {
        let trimmed = rest.rough().trim();
        let behind_mark = |text: &str| Some(text.strip_prefix('!')?.trim_start_matches(['!', ' ']).len());
        let mut callee = described.described.as_str();
        let argument = match described.takes {
            Taken::Line => line.rough().trim(),
            Taken::File | Taken::ForcedFile => {
                if described.takes == Taken::ForcedFile && !rest.rough().starts_with('!') {
                    return None;
                }
                let file = trimmed.trim_start_matches(['!', ' ']);
                if file.starts_with(">>") {
                    callee = APPENDS;
                }
                let file = file.trim_start_matches(['>', '!', ' ']).split('|').next().unwrap_or_default().trim();
                Some(file).filter(|file| !file.starts_with(['+', '=']))?
            }
            Taken::Shell => trimmed.get(trimmed.len() - behind_mark(trimmed)?..)?,
            Taken::ShellBehindBlank => {
                let is_apart = rest.rough().starts_with([' ', '\t']);
                trimmed.get(trimmed.len() - behind_mark(trimmed).filter(|_| is_apart)?..)?
            }
            Taken::NextWord => next_word(trimmed),
            Taken::LastWord => trimmed.split_whitespace().next_back().filter(|word| !word.starts_with('-'))?,
            Taken::Option => {
                let is_option = |word: &&str| described.names.iter().any(|name| name == word);
                trimmed.split_whitespace().skip_while(|word| !is_option(word)).nth(1)?
            }
            Taken::BehindBar => trimmed.split_once('|')?.1.trim(),
            Taken::BehindLastBar => trimmed.rsplit_once('|')?.1.trim(),
            _ => trimmed.trim_start_matches(['!', ' ']),
        };
        let fits = described.ending.as_ref().is_none_or(|ending| argument.ends_with(ending.as_str()));
        let argument = line.part(argument);
        let is_path = matches!(
            described.takes,
            Taken::File | Taken::ForcedFile | Taken::NextWord | Taken::LastWord | Taken::Option
        );
        (fits && !argument.is_empty())
            .then(|| if is_path { self.path(callee, argument) } else { call(callee, argument) })
    }

    /// Adds the calls of described functions in an expression, each with one of its arguments.
    fn functions(&mut self, text: Slice<'_>) {
        let tokens = tokens(Language::Other, text);
        for (index, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let Some(described) = self.known.functions.iter().find(|described| described.calls.contains(name)) else {
                continue;
            };
            let arguments = arguments(tokens.iter().skip(index + 1));
            let argument = if described.last { arguments.last() } else { arguments.first() };
            let found = argument.map(|argument| self.path(&described.described, argument.slice()));
            self.calls.extend(found);
        }
    }

    /// Returns a call with a path that may be below the home directory.
    fn path(&self, callee: &str, path: Slice<'_>) -> Call {
        match path.find(|path| ["~/", "$HOME/"].iter().find_map(|front| path.strip_prefix(front))) {
            Some(below) => call(callee, &Text::joined([self.home.into(), "/".into(), below])),
            None => call(callee, path),
        }
    }
}

/// Reports whether a `|` in the line of such a command belongs to its argument.
fn takes_bars(taken: Taken) -> bool {
    !matches!(taken, Taken::File | Taken::ForcedFile | Taken::Functions | Taken::QuotedCommands | Taken::Setting)
}

/// Returns the command behind a `|` outside of quotes.
fn behind_bar(line: &str, joins: bool) -> Option<&str> {
    let mut quote = None;
    let is_bar = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && c == '|'
    };
    let bar = line.find(is_bar);
    // An apostrophe in a name begins no text.
    let bar = if quote.is_some() { line.find('|') } else { bar };
    bar.filter(|_| joins).and_then(|at| line.get(at + 1..))
}

/// Returns a command without the addresses and modifiers before it.
fn without_modifiers<'l>(known: &LineLanguage, line: &'l str) -> &'l str {
    let blank = |c: char| c.is_whitespace() || known.addresses && c == ':';
    let mut line = line.trim_start_matches(blank);
    if known.addresses {
        // `%`, `1,$`, `.`, `'<,'>`
        line = line.trim_start_matches(|c: char| "%.$,;'<>+-".contains(c) || c.is_ascii_digit());
    }
    while let Some(rest) = known.modifiers.iter().find_map(|word| line.strip_prefix(word.as_str())) {
        line = rest.trim_start_matches(blank);
    }
    line
}

/// Returns the command behind a colon among keys, up to the end of its line.
fn typed_command(keys: &str) -> Option<&str> {
    let (_, typed) = keys.split_once(':')?;
    let end = [r"\<", "<cr>", "<CR>", "\r"].iter().filter_map(|key| typed.find(key)).min();
    typed.get(..end.unwrap_or(typed.len()))
}

/// Returns `NAME VALUE` or `NAME = VALUE` as `NAME=VALUE`.
fn assignment(text: Slice<'_>) -> Option<Text> {
    let (name, assigned) = text.trim().two(|text| text.split_once(|c: char| c == '=' || c.is_whitespace()))?;
    Some(Text::joined([name, "=".into(), assigned.cut(|text| text.trim_start_matches(['=', ' ']))]))
}

/// Returns the value of a described setting, with its escaped blanks.
fn value_of_setting(described: &LineCommand, rest: &str) -> Option<String> {
    let (name, assigned) = rest.trim_start().split_once(['=', ':'])?;
    let name = name.trim_end_matches(['+', '^']);
    (described.names.iter().any(|known| known == name) && !assigned.is_empty()).then(|| {
        let mut command = String::new();
        let mut letters = assigned.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => command.extend(letters.next()),
                ' ' | '|' => break,
                _ => command.push(letter),
            }
        }
        command
    })
}

/// Returns the texts and names in the brackets of a call.
fn arguments<'t>(tokens: impl Iterator<Item = &'t Token>) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut joins = false;
    for token in tokens.take_while(|token| **token != Token::Mark(')')).take(MAX_ARGUMENT_TOKENS) {
        match (token, texts.last_mut()) {
            // `$HOME."/x"`
            (Token::Text(text), Some(last)) if joins => last.push_text(text),
            (Token::Text(text), _) => texts.push(text.clone()),
            (Token::Name(text), _) => texts.push(text.as_str().into()),
            _ => {}
        }
        joins = *token == Token::Mark('.');
    }
    texts
}

fn call<'t>(callee: &str, text: impl Into<Slice<'t>>) -> Call {
    Call::new(callee.to_owned(), vec![value(text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(language: Language, text: &str) -> Vec<String> {
        let shown = |call: &Call| {
            let args: Vec<String> =
                call.args.iter().map(|value| value.known().unwrap_or_default().into_owned()).collect();
            format!("{}({})", call.callee, args.join(", "))
        };
        read(language, text.into(), "/home/dev").iter().map(shown).collect()
    }

    #[test]
    fn commands_that_follow_one_another_are_all_read() {
        for (line, calls) in [
            ("w a | !b c", &["write(a)", "exec(b c)"][..]),
            ("nohl | nohl | !b", &["exec(b)"]),
            ("call f('|') | so a.vim | so b.lua", &["source(a.vim)", "luafile(b.lua)"]),
            ("call system('a | b') | w c", &["exec(a | b)", "write(c)"]),
            ("e it's.txt | !b", &["append(it's.txt)", "exec(b)"]),
            ("r !a | b", &["exec(a | b)"]),
            ("au BufRead *.c !a | b", &["exec(a | b)"]),
            ("au BufRead *.c w a | !b", &["write(a)", "exec(b)"]),
            ("exe 'w a' | !b", &["write(a)", "exec(b)"]),
        ] {
            assert_eq!(seen(Language::Ex, line), calls, "{line}");
        }
        assert_eq!(seen(Language::Ex, &format!("{}!a", "nohl|".repeat(MAX_JOINED - 1))), ["exec(a)"]);
        assert!(seen(Language::Ex, &format!("{}!a", "au A * ".repeat(MAX_NESTED + 1))).is_empty());
        assert_eq!(seen(Language::Gdb, "info a | shell b"), [""; 0]);
    }

    #[test]
    fn marks_tell_files_and_shell_commands_apart() {
        for (line, calls) in [
            ("1,$w !a", &["exec(a)"][..]),
            ("w!a", &["write(a)"]),
            ("r!a", &["exec(a)"]),
            ("w >> a", &["append(a)"]),
            ("redir => a", &[]),
            ("mks a", &[]),
            ("mks! ~/a b", &["write(/home/dev/a b)"]),
            ("silent keepalt w a", &["write(a)"]),
            ("set mp+=a\\ b c", &["exec(a b)"]),
            ("set tabstop=4", &[]),
            ("norm x:!a<cr>b", &["exec(a)"]),
            ("norm dd", &[]),
            ("W a", &["append(a)"]),
        ] {
            assert_eq!(seen(Language::Ex, line), calls, "{line}");
        }
    }

    #[test]
    fn each_kind_of_argument_is_found() {
        for (line, calls) in [
            ("p/x system(\"a\")", &["exec(a)"][..]),
            ("memory read --outfile a b -c 2", &["write(a)"]),
            ("memory read b", &[]),
            ("breakpoint write -f", &[]),
            ("dump memory a 0 9", &["write(a)"]),
            ("pipe p x | sed s/a/b/ | c d", &["exec(c d)"]),
            ("set env A b c", &["set-variable(A=b c)"]),
            ("set environment A = b", &["set-variable(A=b)"]),
            ("platform shell a", &["exec(a)"]),
            ("source -v", &[]),
            ("gcore", &[]),
            ("gcore $HOME/a", &["write(/home/dev/a)"]),
            ("shell", &[]),
        ] {
            assert_eq!(seen(Language::Gdb, line), calls, "{line}");
        }
    }

    #[test]
    fn a_file_is_emptied_if_it_is_saved_without_lines() {
        for (text, empties) in [("1,$d\nw", 1), (",d\nwq!", 1), (",d\nw\nw", 1), (",d", 0), ("w\n,d", 0), ("1d\nw", 0)]
        {
            assert_eq!(seen(Language::Ex, text).iter().filter(|call| *call == "empties()").count(), empties, "{text}");
        }
    }
}
