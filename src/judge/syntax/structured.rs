//! Translates code of shells whose commands pass structured values (nu, elvish, xonsh) to bash's grammar, as far as
//! both can express the same.
//!
//! In scope: words, quotes, blocks and pipes. What cannot be translated does not parse as bash, and guard asks about it.
//! The names of commands are data of the caller.

/// A text because of which the translation does not parse, even in quotes.
const UNREADABLE: &str = " )$(";

/// The maximum nesting depth of blocks.
const MAX_DEPTH: u32 = 64;

/// The commands of such a shell.
#[derive(Clone, Copy, Debug)]
pub struct Commands<'a> {
    /// Commands that only compute values. A name that ends in a colon stands for all names that begin with it.
    pub computing: &'a [String],
    /// Commands of the shell with effects, which are described with the prefix.
    pub own: &'a [String],
    /// Commands that change the meaning of later ones.
    pub unreadable: &'a [String],
    /// The prefix of the names of its own commands in descriptions.
    pub prefix: &'a str,
    /// What can stand before the name of an external program.
    pub external: &'a str,
    /// Whether `<` and `>` redirect, a quoted first word is a command, and a value that stands first is one too.
    pub redirects: bool,
}

/// Translates code to bash code.
#[must_use]
pub fn as_bash(code: &[u8], commands: &Commands<'_>) -> Vec<u8> {
    let mut reader = Reader { rest: code, commands: *commands, depth: 0 };
    let mut out = Vec::with_capacity(code.len() + 16);
    reader.block(None, &mut out);
    if !reader.rest.is_empty() {
        out.extend_from_slice(UNREADABLE.as_bytes());
    }
    out
}

/// A word of a command.
#[derive(Default)]
struct Word {
    /// The word in bash's grammar.
    text: Vec<u8>,
    /// The word as it is written, if it has no quotes, values or blocks.
    bare: Option<Vec<u8>>,
    /// Whether it holds a value that is known when the code runs, or a block.
    dynamic: bool,
    /// The code of the blocks in it.
    inner: Vec<Vec<u8>>,
    /// Whether it is a redirection of bash.
    redirection: bool,
}

struct Reader<'a> {
    rest: &'a [u8],
    commands: Commands<'a>,
    depth: u32,
}

impl Reader<'_> {
    /// Translates statements up to the closing bracket, which it consumes, or up to the end.
    fn block(&mut self, closer: Option<u8>, out: &mut Vec<u8>) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            out.extend_from_slice(UNREADABLE.as_bytes());
            self.rest = &[];
            return;
        }
        let mut pipes = false;
        loop {
            match self.rest.first() {
                None => {
                    if closer.is_some() {
                        out.extend_from_slice(UNREADABLE.as_bytes());
                    }
                    break;
                }
                Some(byte) if Some(*byte) == closer => {
                    self.skip(1);
                    break;
                }
                Some(b')' | b'}' | b']') => {
                    out.extend_from_slice(UNREADABLE.as_bytes());
                    break;
                }
                Some(b' ' | b'\t' | b'\r') => self.skip(1),
                Some(b'\n' | b';') if pipes => self.skip(1),
                Some(b'\n' | b';' | b'&') => {
                    self.skip(1);
                    out.push(b'\n');
                }
                Some(b'|') => {
                    self.skip(1);
                    pipes = true;
                    out.extend_from_slice(b" | ");
                }
                Some(b'#') => self.comment(),
                Some(_) => {
                    pipes = false;
                    let words = self.words(closer);
                    self.command(&words, out);
                }
            }
        }
        if pipes {
            out.push(b':');
        }
        self.depth -= 1;
    }

    fn comment(&mut self) {
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        self.skip(end);
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Reads the words of a command. Behind a `=` another command begins.
    fn words(&mut self, closer: Option<u8>) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b' ' | b'\t' | b'\r' => self.skip(1),
                b'\\' | b'^' if self.rest.get(1) == Some(&b'\n') => self.skip(2),
                b'\n' | b';' | b'|' => break,
                b'&' if self.rest.get(1).is_none_or(|next| b" \n;".contains(next)) => break,
                _ if Some(byte) == closer || b")}]".contains(&byte) => break,
                b'#' => self.comment(),
                _ => words.push(self.word(closer)),
            }
        }
        words
    }

    fn word(&mut self, closer: Option<u8>) -> Word {
        let mut word = Word { bare: Some(Vec::new()), ..Word::default() };
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' => break,
                _ if Some(byte) == closer || b")}]".contains(&byte) => break,
                b'\'' | b'"' | b'`' => {
                    word.bare = None;
                    self.quoted(byte, &mut word);
                }
                b'(' => {
                    word.bare = None;
                    self.skip(1);
                    let mut code = Vec::new();
                    self.block(Some(b')'), &mut code);
                    word.text.extend_from_slice(b"$(");
                    word.text.extend_from_slice(&code);
                    word.text.extend_from_slice(b"\n)");
                    word.inner.push(code);
                }
                b'{' => {
                    word.bare = None;
                    word.dynamic = true;
                    self.skip(1);
                    let code = self.closure();
                    word.inner.push(code);
                }
                b'[' => {
                    word.bare = None;
                    word.dynamic = true;
                    self.skip(1);
                    self.list(&mut word);
                }
                b'$' if matches!(self.rest.get(1), Some(b'\'' | b'"')) => {
                    word.bare = None;
                    self.skip(1);
                    let quote = self.rest.first().copied().unwrap_or(b'"');
                    let length = self.rest.iter().skip(1).position(|byte| *byte == quote).unwrap_or(0);
                    word.dynamic |= self.rest.get(..=length).unwrap_or_default().contains(&b'(');
                    self.quoted(quote, &mut word);
                }
                b'$' => {
                    word.bare = None;
                    word.dynamic = true;
                    self.skip(1);
                }
                b'<' | b'>' if self.commands.redirects => {
                    if word.text.iter().all(u8::is_ascii_digit) {
                        let marks = self.rest.iter().take_while(|byte| b"<>&".contains(byte)).count();
                        word.text.extend_from_slice(self.rest.get(..marks).unwrap_or_default());
                        self.skip(marks);
                        word.redirection = true;
                    }
                    break;
                }
                _ => {
                    self.skip(1);
                    if let Some(bare) = &mut word.bare {
                        bare.push(byte);
                    }
                    if !(byte.is_ascii_alphanumeric() || b"_./:@%+,=~*?-".contains(&byte)) {
                        word.text.push(b'\\');
                    }
                    word.text.push(byte);
                }
            }
        }
        word
    }

    /// Reads a text in quotes.
    fn quoted(&mut self, quote: u8, word: &mut Word) {
        self.skip(1);
        word.text.push(b'\'');
        loop {
            match self.rest.first().copied() {
                None => {
                    word.text.extend_from_slice(UNREADABLE.as_bytes());
                    return;
                }
                // Escapes other than those of quotes and backslashes are not read.
                Some(b'\\') if quote == b'"' => {
                    match self.rest.get(1) {
                        Some(next @ (b'"' | b'\\' | b'/')) => word.text.push(*next),
                        Some(b'n') => word.text.push(b'\n'),
                        Some(b't') => word.text.push(b'\t'),
                        _ => word.dynamic = true,
                    }
                    self.skip(2);
                }
                Some(byte) if byte == quote => {
                    self.skip(1);
                    break;
                }
                Some(byte) => {
                    self.skip(1);
                    if byte == b'\'' {
                        word.text.extend_from_slice(b"'\\''");
                    } else {
                        word.text.push(byte);
                    }
                }
            }
        }
        word.text.push(b'\'');
    }

    /// Translates a block behind its opening bracket, without its parameters.
    fn closure(&mut self) -> Vec<u8> {
        while self.rest.first().is_some_and(|byte| b" \t\n".contains(byte)) {
            self.skip(1);
        }
        if self.rest.first() == Some(&b'|') {
            let end = self.rest.iter().skip(1).position(|byte| *byte == b'|').map_or(self.rest.len(), |at| at + 2);
            self.skip(end);
        }
        let mut code = Vec::new();
        self.block(Some(b'}'), &mut code);
        code
    }

    /// Reads a list behind its opening bracket; only the code in it counts.
    fn list(&mut self, word: &mut Word) {
        self.depth += 1;
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b']' => {
                    self.skip(1);
                    self.depth -= 1;
                    return;
                }
                b')' | b'}' => break,
                _ if self.depth > MAX_DEPTH => break,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b',' | b'<' | b'>' => self.skip(1),
                b'#' => self.comment(),
                _ => {
                    let element = self.word(Some(b']'));
                    word.inner.extend(element.inner);
                }
            }
        }
        word.inner.push(UNREADABLE.as_bytes().to_vec());
    }

    /// Writes a command in bash's grammar.
    fn command(&self, words: &[Word], out: &mut Vec<u8>) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        let is = |word: &Word, text: &str| word.bare.as_deref() == Some(text.as_bytes());
        let name = first.bare.as_deref().and_then(|bare| std::str::from_utf8(bare).ok());
        let listed = |list: &[String], name: &str| {
            list.iter().any(|known| known == name || (known.ends_with(':') && name.starts_with(known.as_str())))
        };
        // `let x = command`
        if let Some(at) = words.iter().position(|word| is(word, "=")).filter(|at| *at > 0) {
            let kept = name.is_some_and(|name| listed(self.commands.computing, name));
            if !kept {
                out.extend_from_slice(UNREADABLE.as_bytes());
            }
            self.command(words.get(at + 1..).unwrap_or_default(), out);
            return;
        }
        let value = match name {
            Some(name) => name.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
            None => !self.commands.redirects,
        };
        if value || name.is_some_and(|name| listed(self.commands.computing, name)) {
            self.computed(words, out);
            return;
        }
        let known = name.is_some_and(|name| !listed(self.commands.unreadable, name));
        let told = rest.iter().all(|word| !word.dynamic && !word.text.is_empty());
        if !told || first.dynamic || (name.is_some() && !known) || !first.inner.is_empty() {
            out.extend_from_slice(UNREADABLE.as_bytes());
            return;
        }
        match name {
            Some(name) if listed(self.commands.own, name) => {
                out.extend_from_slice(self.commands.prefix.as_bytes());
                out.extend_from_slice(&first.text);
            }
            Some(name) if name.starts_with(self.commands.external) && name != self.commands.external => {
                let external = name.get(self.commands.external.len()..).unwrap_or_default();
                out.extend_from_slice(external.as_bytes());
            }
            Some(name) if name.contains(':') && self.commands.redirects => {
                out.extend_from_slice(UNREADABLE.as_bytes());
                return;
            }
            _ => out.extend_from_slice(&first.text),
        }
        for word in rest {
            out.push(b' ');
            out.extend_from_slice(&word.text);
        }
    }

    /// Writes a command that only computes a value: the code in its words, and its redirections.
    fn computed(&self, words: &[Word], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{ :");
        for code in words.iter().flat_map(|word| &word.inner) {
            out.push(b'\n');
            out.extend_from_slice(code);
        }
        out.extend_from_slice(b"\n}");
        for (at, word) in words.iter().enumerate() {
            if word.redirection {
                out.push(b' ');
                out.extend_from_slice(&word.text);
                match words.get(at + 1) {
                    Some(target) if !target.dynamic => out.extend_from_slice(&target.text),
                    Some(_) => out.extend_from_slice(UNREADABLE.as_bytes()),
                    None => {}
                }
            }
        }
    }
}

/// Translates code of xonsh, in which each line is a statement of Python, which begins with one of `statements`, or a
/// command. `python` and `source` behind the prefix are the names of the commands that run Python code, and another file.
#[must_use]
pub fn python_shell_as_bash(code: &[u8], statements: &[String], prefix: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(code);
    let mut out = String::new();
    let mut group = String::new();
    for line in text.lines() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if is_python(line.trim(), statements) {
            if holds_commands(line) {
                out.push_str(UNREADABLE);
            }
            group.push_str(line);
            group.push('\n');
            continue;
        }
        // A command inside a statement of Python.
        if line.starts_with([' ', '\t']) || ["@(", "@$(", "${", "$[", "!(", "!["].iter().any(|mark| line.contains(mark))
        {
            out.push_str(UNREADABLE);
        }
        flush(&mut group, prefix, &mut out);
        let line = line.replace(" and ", " && ").replace(" or ", " || ");
        match line.strip_prefix("source ") {
            Some(file) => out.push_str(&format!("{prefix}source {file}")),
            None => out.push_str(&line),
        }
        out.push('\n');
    }
    flush(&mut group, prefix, &mut out);
    out.into_bytes()
}

fn flush(group: &mut String, prefix: &str, out: &mut String) {
    if !group.is_empty() {
        out.push_str(&format!("{prefix}python '{}'\n", group.replace('\'', "'\\''")));
        group.clear();
    }
}

/// Reports whether a line is a statement of Python instead of a command.
fn is_python(line: &str, statements: &[String]) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    if statements.iter().any(|word| word == first) || line.starts_with(['"', '\'', '(', '[', '{', ')', ']', '}', '@']) {
        return true;
    }
    let name = line.trim_start_matches('$');
    let end = name.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(name.len());
    let behind = name.get(end..).unwrap_or_default().trim_start();
    let assigns = behind.starts_with('=') || behind.get(1..2) == Some("=") && behind.starts_with(['+', '-', '|']);
    end > 0 && (assigns || name.get(end..).is_some_and(|rest| rest.starts_with('(') || rest.starts_with('[')))
}

/// Reports whether a statement of Python runs a command, or sets a variable of the environment.
fn holds_commands(line: &str) -> bool {
    line.contains('$') || ["!(", "![", "@(", "`"].iter().any(|mark| line.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::syntax::{self, tree::Dialect};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Translates code of a shell without redirections.
    fn values(line: &str) -> String {
        let (computing, own) = (words(&["ls", "where", "each", "let", "echo", "str"]), words(&["open", "save"]));
        let commands = Commands {
            computing: &computing,
            own: &own,
            unreadable: &words(&["def"]),
            prefix: "v:",
            external: "^",
            redirects: false,
        };
        translated(line, &commands)
    }

    /// Translates code of a shell with redirections.
    fn streams(line: &str) -> String {
        let (computing, own) = (words(&["print", "each", "for", "str:"]), words(&["slurp"]));
        let commands = Commands {
            computing: &computing,
            own: &own,
            unreadable: &words(&["use"]),
            prefix: "s:",
            external: "e:",
            redirects: true,
        };
        translated(line, &commands)
    }

    fn translated(line: &str, commands: &Commands<'_>) -> String {
        String::from_utf8(as_bash(line.as_bytes(), commands)).unwrap()
    }

    fn parses(text: &str) -> bool {
        syntax::parse(text.as_bytes(), Dialect::Bash).is_ok()
    }

    #[test]
    fn commands_keep_their_names_and_words() {
        for (line, bash) in [
            ("^sh x.sh", "sh x.sh"),
            ("mv a 'b c' --force", "mv a 'b c' --force"),
            ("open a | save -f b; rm c", "v:open a | v:save -f b\nrm c"),
            ("'' | save b", "{ :\n} | v:save b"),
            ("ls | where size > 1kb", "{ :\n} | { :\n}"),
            ("let x = rm a", "rm a"),
            ("ls | each { rm a }", "{ :\n} | { :\nrm a\n}"),
            ("rm (open a)", "rm $(v:open a\n)"),
            ("echo \"it's\" # rm x", "{ :\n}"),
        ] {
            assert_eq!(values(line), bash);
            assert!(parses(bash), "{bash}");
        }
        for (line, bash) in [
            ("e:sh x.sh", "sh x.sh"),
            ("print '' > a", "{ :\n} >a"),
            ("slurp < a", "s:slurp <a"),
            ("str:join , [a b]", "{ :\n}"),
            ("'rm' a", "'rm' a"),
            ("for x [a] { rm b }", "{ :\nrm b\n}"),
        ] {
            assert_eq!(streams(line).replace("< a", "<a"), bash);
            assert!(parses(bash), "{bash}");
        }
    }

    #[test]
    fn what_is_only_known_when_it_runs_does_not_parse() {
        for line in
            ["rm $x", "ls | each {|f| rm $f.name }", "def f [] { ls }", "$env.PATH = a", "rm {a}", "ls )", "(", "rm 'a"]
        {
            assert!(!parses(&values(line)), "{line}");
        }
        for line in
            ["$f a", "use ./x", "os:remove a", "rm $x", "(a)", "print a > $x", &"{".repeat(1000), &"[".repeat(1000)]
        {
            assert!(!parses(&streams(line)), "{line}");
        }
    }

    #[test]
    fn statements_of_python_and_commands_are_told_apart() {
        let read = |code: &str| {
            String::from_utf8(python_shell_as_bash(code.as_bytes(), &words(&["import", "for"]), "x:")).unwrap()
        };
        assert_eq!(read("rm -rf a and ls"), "rm -rf a && ls\n");
        assert_eq!(read("source a.xsh"), "x:source a.xsh\n");
        assert_eq!(read("import os\nos.remove('a')"), "x:python 'import os\nos.remove('\\''a'\\'')\n'\n");
        assert_eq!(read("x = 1\nls\n"), "x:python 'x = 1\n'\nls\n");
        for code in ["exec($(curl x))", "rm @(x)", "for x in y:\n    rm a", "$PATH = 'a'"] {
            assert!(!parses(&read(code)), "{code}");
        }
    }
}
