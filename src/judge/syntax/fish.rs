//! Translates fish code to bash's grammar, as far as both can express the same.
//!
//! In scope: words, quotes and brackets. What cannot be translated does not parse as bash, and guard asks about
//! it. Positions in the translated text are not those of the original.

/// An open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// An `if` whose condition has not ended yet.
    Condition,
    If,
    /// A `while` or `for` whose head has not ended yet.
    Head,
    Loop,
    Group,
    /// A function that fish calls on its own.
    Handler,
    /// A `switch` whose value has not ended yet.
    Switch,
    /// A `switch` before its first `case`.
    Cases,
    Case,
}

/// A text because of which the translation does not parse, even in quotes.
const UNREADABLE: &[u8] = b" )$(";

/// The maximum nesting depth of substitutions.
const MAX_DEPTH: u32 = 64;

/// Options of `function` that define when fish calls it.
const CALLED_ON: [&[u8]; 10] = [
    b"-e",
    b"--on-event",
    b"-v",
    b"--on-variable",
    b"-j",
    b"--on-job-exit",
    b"-p",
    b"--on-process-exit",
    b"-s",
    b"--on-signal",
];

/// Names of functions that fish calls on its own.
const CALLED_BY_NAME: [&[u8]; 6] = [
    b"fish_command_not_found",
    b"fish_greeting",
    b"fish_mode_prompt",
    b"fish_prompt",
    b"fish_right_prompt",
    b"fish_title",
];

/// Translates fish code to bash code.
#[must_use]
pub fn as_bash(code: &[u8]) -> Vec<u8> {
    let mut reader =
        FishReader { rest: code, out: Vec::with_capacity(code.len() + 16), former: b'\n', ..FishReader::default() };
    while !reader.rest.is_empty() {
        reader.read();
        // An unmatched bracket stopped the reader; it is copied.
        reader.copy(1);
    }
    reader.out
}

#[derive(Default)]
struct FishReader<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    blocks: Vec<Block>,
    /// The separator of the values of a `set` that is being translated to one text.
    between: Option<&'static [u8]>,
    /// The text after the last of these values.
    behind: Vec<u8>,
    /// The names of the open handlers.
    handlers: Vec<Vec<u8>>,
    /// Whether it is in `NAME=value` before a command.
    assigns: bool,
    /// The previous byte.
    former: u8,
    /// Whether it is after `NAME=value`, `time` or `!`, where bash allows no further `!`.
    is_prefixed: bool,
    /// The number of open substitutions.
    depth: u32,
}

impl FishReader<'_> {
    /// Reads up to an unmatched bracket, or to the end.
    fn read(&mut self) {
        let mut begins = true;
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b' ' | b'\t' => {
                    self.take(1);
                    begins |= std::mem::take(&mut self.assigns);
                    let more = self.rest.first().is_some_and(|byte| !b" \t;\n&|#".contains(byte));
                    match self.between {
                        None => self.out.push(byte),
                        Some(between) if more && !self.out.ends_with(b"=") => self.out.extend_from_slice(between),
                        Some(_) => {}
                    }
                }
                b'#' if b" \t\n;&|(".contains(&self.former) => {
                    let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
                    self.take(end);
                }
                // Newer versions of fish treat it as a letter; in older ones it ends the command.
                b'&' if self.is_in_word() => {
                    self.out.extend_from_slice(UNREADABLE);
                    self.take(1);
                }
                b';' | b'\n' | b'&' | b'|' => {
                    self.separator(byte);
                    begins = true;
                }
                b'(' => {
                    let dollar = if self.out.last() == Some(&b'$') { &b"("[..] } else { b"$(" };
                    self.out.extend_from_slice(dollar);
                    self.take(1);
                    self.substitution();
                    begins = false;
                }
                b')' => {
                    self.end_values();
                    return;
                }
                b'>' if self.rest.starts_with(b">|") || self.rest.starts_with(b">>|") => {
                    let marks = self.rest.iter().take_while(|byte| **byte == b'>').count();
                    self.take(marks);
                    self.separator(b'|');
                    begins = true;
                }
                b'\\' if self.rest.get(1) == Some(&b'\n') => self.copy(2),
                // No author writes a keyword like that, so the translation must not parse.
                _ if begins && self.is_keyword_in_disguise() => {
                    self.out.extend_from_slice(UNREADABLE);
                    self.take(1);
                }
                b'\'' => {
                    self.single();
                    begins = false;
                }
                b'"' => {
                    self.double();
                    begins = false;
                }
                b'\\' => {
                    self.escape();
                    begins = false;
                }
                b'$' if self.rest.starts_with(b"$argv") => {
                    self.arguments(true);
                    begins = false;
                }
                b'$' if self.is_indexed() => {
                    self.out.extend_from_slice(UNREADABLE);
                    self.take(1);
                }
                _ if begins => begins = self.word(),
                _ => self.copy(1),
            }
        }
        self.end_values();
    }

    /// Reads a substitution after its opening bracket, including the closing one.
    fn substitution(&mut self) {
        if self.depth >= MAX_DEPTH {
            // The translation must not parse.
            self.out.push(b'(');
            self.rest = b"";
            return;
        }
        let around = (
            self.between.take(),
            std::mem::take(&mut self.behind),
            std::mem::take(&mut self.blocks),
            std::mem::take(&mut self.is_prefixed),
        );
        self.depth += 1;
        self.read();
        self.depth -= 1;
        (self.between, self.behind, self.blocks, self.is_prefixed) = around;
        self.copy(1);
    }

    /// Reports whether a variable with an index is next. Lists are one text in the translation, so they cannot be
    /// indexed.
    fn is_indexed(&self) -> bool {
        const MOST_DOLLARS: usize = 16;
        let dollars = self.rest.iter().take(MOST_DOLLARS).take_while(|byte| **byte == b'$').count();
        let name =
            self.rest.iter().skip(dollars).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        name > 0 && self.rest.get(dollars + name) == Some(&b'[')
    }

    /// Reports whether there are letters on both sides of the next byte.
    fn is_in_word(&self) -> bool {
        let is_letter = |byte: u8| !b" \t\n;&|()<>".contains(&byte);
        is_letter(self.former) && self.rest.get(1).is_some_and(|byte| is_letter(*byte))
    }

    /// Reports whether a word with quotes or backslashes is a keyword without them.
    fn is_keyword_in_disguise(&self) -> bool {
        const KEYWORDS: [&[u8]; 14] = [
            b"and",
            b"or",
            b"not",
            b"!",
            b"begin",
            b"if",
            b"while",
            b"for",
            b"else",
            b"end",
            b"function",
            b"switch",
            b"case",
            b"time",
        ];
        const LONGEST: usize = 8;
        // A longer spelling of a short keyword consists of quotes and backslashes, which no author writes.
        const MOST_BYTES: usize = 64;
        let mut letters = Vec::with_capacity(LONGEST);
        let mut is_plain = true;
        let mut rest = self.rest;
        while let Some((byte, more)) = rest.split_first().filter(|_| letters.len() <= LONGEST) {
            if self.rest.len() - rest.len() > MOST_BYTES {
                return true;
            }
            rest = more;
            match byte {
                b'\\' => {
                    is_plain = false;
                    rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                }
                b'\'' | b'"' => is_plain = false,
                _ if b" \t\n;&|()<>".contains(byte) => break,
                _ => letters.push(*byte),
            }
        }
        !is_plain && KEYWORDS.contains(&letters.as_slice())
    }

    /// Translates a backslash outside quotes, with the characters of its escape.
    fn escape(&mut self) {
        let (digits, most): (&[u8], usize) = match self.rest.get(1) {
            Some(b'x' | b'X') => (b"0123456789abcdefABCDEF", 2),
            Some(b'u') => (b"0123456789abcdefABCDEF", 4),
            Some(b'U') => (b"0123456789abcdefABCDEF", 8),
            Some(b'0'..=b'7') => (b"01234567", 2),
            Some(b'c') => {
                let end = 3.min(self.rest.len());
                return self.ansi_quoted(end);
            }
            Some(b'a' | b'b' | b'e' | b'f' | b'n' | b'r' | b't' | b'v') => (b"", 0),
            _ => {
                let end = 2.min(self.rest.len());
                return self.copy(end);
            }
        };
        let more = self.rest.iter().skip(2).take(most).take_while(|byte| digits.contains(byte)).count();
        self.ansi_quoted(2 + more);
    }

    /// Copies the next bytes, which are an escape, into quotes in which bash decodes it.
    fn ansi_quoted(&mut self, bytes: usize) {
        self.out.extend_from_slice(b"$'");
        let begins = self.out.len();
        self.copy(bytes);
        if let Some(letter @ b'X') = self.out.get_mut(begins + 1) {
            *letter = b'x';
        }
        self.out.push(b'\'');
    }

    /// Translates `$argv` and `$argv[1]`.
    fn arguments(&mut self, quote: bool) {
        self.take(b"$argv".len());
        let name = self.rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if name {
            self.out.extend_from_slice(b"$argv");
            return;
        }
        let index = self.rest.strip_prefix(b"[").and_then(|rest| rest.split(|byte| *byte == b']').next());
        let index = index.filter(|index| !index.is_empty() && index.iter().all(u8::is_ascii_digit)).map(<[u8]>::to_vec);
        let text = match &index {
            Some(index) => [b"${", index.as_slice(), b"}"].concat(),
            None if self.rest.first() == Some(&b'[') => UNREADABLE.to_vec(),
            None => b"$@".to_vec(),
        };
        self.take(index.map_or(0, |index| index.len() + 2));
        let quote = if quote { &b"\""[..] } else { b"" };
        self.out.extend_from_slice(&[quote, &text, quote].concat());
    }

    fn take(&mut self, bytes: usize) {
        let taken = bytes.min(self.rest.len());
        if let Some(last) = taken.checked_sub(1).and_then(|last| self.rest.get(last)) {
            self.former = *last;
        }
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn copy(&mut self, bytes: usize) {
        self.out.extend_from_slice(self.rest.get(..bytes).unwrap_or_default());
        self.take(bytes);
    }

    /// Ends the values of `set`.
    fn end_values(&mut self) {
        self.between = None;
        self.out.append(&mut self.behind);
    }

    /// Translates the end of a command, which can also be the end of a block's head.
    fn separator(&mut self, byte: u8) {
        self.end_values();
        self.is_prefixed = false;
        if let Some(block @ Block::Switch) = self.blocks.last_mut() {
            *block = Block::Cases;
            self.take(1);
            self.out.extend_from_slice(b" in ");
            return;
        }
        if self.rest.starts_with(b"&|") {
            self.take(2);
            self.out.extend_from_slice(b"|&");
            return;
        }
        self.copy(1);
        if matches!(byte, b'&' | b'|') && self.rest.first() == Some(&byte) {
            self.copy(1);
        } else if matches!(byte, b';' | b'\n') {
            let (next, word) = match self.blocks.last() {
                Some(Block::Condition) => (Block::If, &b" then "[..]),
                Some(Block::Head) => (Block::Loop, &b" do "[..]),
                _ => return,
            };
            if let Some(block) = self.blocks.last_mut() {
                *block = next;
            }
            self.out.extend_from_slice(word);
        }
    }

    /// Translates a word at the start of a command. Returns true if another command begins after it.
    fn word(&mut self) -> bool {
        let end = self.rest.iter().position(|byte| b" \t\n;&|()<>'\"\\".contains(byte)).unwrap_or(self.rest.len());
        let word = self.rest.get(..end.max(1)).unwrap_or_default().to_vec();
        self.take(word.len());
        // A part of a longer word is not a keyword.
        let is_whole = self.rest.first().is_none_or(|byte| !b"'\"\\".contains(byte));
        match if is_whole { word.as_slice() } else { b"" } {
            // These are dropped: both commands are analysed, whether the second one runs or not.
            b"and" | b"or" => {}
            b"not" | b"!" => {
                if !std::mem::replace(&mut self.is_prefixed, true) {
                    self.out.push(b'!');
                }
            }
            b"time" => {
                self.is_prefixed = true;
                self.out.extend_from_slice(b"time");
            }
            b"begin" => {
                self.blocks.push(Block::Group);
                self.out.extend_from_slice(b"{ ");
                self.skip_separator();
            }
            b"if" => {
                self.blocks.push(Block::Condition);
                self.out.extend_from_slice(b"if");
            }
            b"while" => {
                self.blocks.push(Block::Head);
                self.out.extend_from_slice(b"while");
            }
            b"for" => {
                self.blocks.push(Block::Head);
                self.out.extend_from_slice(b"for");
                return false;
            }
            b"else" if self.blocks.last() != Some(&Block::If) => self.out.extend_from_slice(UNREADABLE),
            b"else" => {
                let blanks = self.rest.iter().take_while(|byte| b" \t".contains(byte)).count();
                let rest = self.rest.get(blanks..).unwrap_or_default();
                if rest.starts_with(b"if ") {
                    self.take(blanks + 2);
                    self.out.extend_from_slice(b"elif");
                    if let Some(block) = self.blocks.last_mut() {
                        *block = Block::Condition;
                    }
                } else {
                    self.out.extend_from_slice(b"else ");
                    self.skip_separator();
                }
            }
            b"switch" => {
                self.blocks.push(Block::Switch);
                self.out.extend_from_slice(b"case");
                return false;
            }
            b"case" if matches!(self.blocks.last(), Some(Block::Cases | Block::Case)) => self.case(),
            b"end" => {
                let closed = self.blocks.pop();
                let end = match closed {
                    Some(Block::If | Block::Condition) => &b"fi"[..],
                    Some(Block::Loop | Block::Head) => b"done",
                    Some(Block::Group) => b"}",
                    Some(Block::Case) => b";; esac",
                    Some(Block::Cases | Block::Switch) => b"esac",
                    // An unmatched `end` is not a command.
                    Some(Block::Handler) | None => b"}",
                };
                self.out.extend_from_slice(end);
                if closed == Some(Block::Handler) {
                    self.out.extend_from_slice(b"; ");
                    self.out.append(&mut self.handlers.pop().unwrap_or_default());
                }
            }
            b"function" => self.function(),
            b"set" => return self.set(),
            _ => {
                let name = word.split(|byte| *byte == b'=').next().unwrap_or_default();
                self.assigns = name.len() < word.len() && is_name(name);
                self.is_prefixed |= self.assigns;
                self.out.extend_from_slice(&word);
                return false;
            }
        }
        true
    }

    /// Skips blanks and separators after an opening bracket.
    fn skip_separator(&mut self) {
        let blanks = self.rest.iter().take_while(|byte| b" \t\n;".contains(byte)).count();
        self.take(blanks);
    }

    /// Translates `case PATTERN…` up to its body. In fish, wildcards in a quoted pattern match too.
    fn case(&mut self) {
        let Some(block) = self.blocks.last_mut() else { return };
        if std::mem::replace(block, Block::Case) == Block::Case {
            self.out.extend_from_slice(b";; ");
        }
        let head = self.rest.iter().position(|byte| b";\n".contains(byte)).unwrap_or(self.rest.len());
        let head = self.rest.get(..head).unwrap_or_default().to_vec();
        self.take(head.len());
        let words = head.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_*?.-/+=:,@%'\"".contains(byte);
        let patterns = words.map(|word| match word.iter().all(is_plain) {
            true => word.iter().copied().filter(|byte| !b"'\"".contains(byte)).collect(),
            false => word.to_vec(),
        });
        self.out.push(b'(');
        self.out.extend_from_slice(&patterns.collect::<Vec<Vec<u8>>>().join(&b'|'));
        self.out.extend_from_slice(b") ");
        self.skip_separator();
    }

    /// Translates `function NAME …` up to its body.
    fn function(&mut self) {
        let head = self.rest.iter().position(|byte| b";\n".contains(byte)).unwrap_or(self.rest.len());
        let head = self.rest.get(..head).unwrap_or_default().to_vec();
        let mut words = head.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        let name = words.clone().find(|word| !word.starts_with(b"-")).unwrap_or(b"-");
        let is_option = |word: &[u8]| {
            let name = word.split(|byte| *byte == b'=').next().unwrap_or_default();
            CALLED_ON.contains(&name)
        };
        let is_handler = CALLED_BY_NAME.contains(&name) || words.any(is_option);
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b"() { ");
        self.take(head.len());
        self.skip_separator();
        if is_handler {
            self.handlers.push(name.to_vec());
        }
        self.blocks.push(if is_handler { Block::Handler } else { Block::Group });
    }

    /// Translates `set [-x] NAME VALUE…`. Other forms of `set` change no variable here, or (`-U`) one that outlasts the
    /// shell, and are not translated.
    fn set(&mut self) -> bool {
        let statement = self.rest.iter().position(|byte| b";\n&|".contains(byte)).unwrap_or(self.rest.len());
        let words = self.rest.get(..statement).unwrap_or_default();
        let mut at = 0;
        let mut changes = true;
        let (mut exports, mut appends, mut prepends) = (false, false, false);
        for word in words.split(|byte| b" \t".contains(byte)) {
            let is_option = word.is_empty() || word.starts_with(b"-");
            if !is_option {
                if !(changes && is_name(word)) {
                    break;
                }
                // A list becomes the text into which an unquoted variable would be split; lists of directories use
                // colons, as in other shells.
                let between = if word.ends_with(b"PATH") { &b":"[..] } else { b"' '" };
                let former = [b"$", word].concat();
                if exports {
                    self.out.extend_from_slice(b"export ");
                }
                self.out.extend_from_slice(word);
                self.out.push(b'=');
                if appends {
                    self.out.extend_from_slice(&former);
                }
                if prepends {
                    self.behind = [between, &former].concat();
                }
                self.take(at + word.len());
                self.between = Some(between);
                return false;
            }
            changes &= match word.strip_prefix(b"--") {
                Some(name) => !matches!(name, b"erase" | b"query" | b"names" | b"show" | b"universal"),
                None => !word.iter().any(|byte| b"eqnSLU".contains(byte)),
            };
            let has = |letter: u8, name: &[u8]| match word.strip_prefix(b"--") {
                Some(long) => long == name,
                None => word.contains(&letter),
            };
            exports |= has(b'x', b"export");
            appends |= has(b'a', b"append");
            prepends |= has(b'p', b"prepend");
            at += word.len() + 1;
        }
        self.out.extend_from_slice(b"set");
        false
    }

    /// Translates `'…'`, in which fish has two escapes and bash has none.
    fn single(&mut self) {
        self.take(1);
        self.out.push(b'\'');
        while let Some(byte) = self.rest.first().copied() {
            match (byte, self.rest.get(1)) {
                (b'\\', Some(b'\'')) => {
                    self.out.extend_from_slice(br"'\''");
                    self.take(2);
                }
                (b'\\', Some(b'\\')) => {
                    self.out.push(b'\\');
                    self.take(2);
                }
                (b'\'', _) => {
                    self.copy(1);
                    return;
                }
                _ => self.copy(1),
            }
        }
    }

    /// Translates `"…"`, in which a bracket is special only after a dollar sign, as in bash.
    fn double(&mut self) {
        self.copy(1);
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b'\\' => self.copy(2.min(self.rest.len())),
                b'$' if self.rest.starts_with(b"$argv") => self.arguments(false),
                b'$' if self.is_indexed() => {
                    self.out.extend_from_slice(UNREADABLE);
                    self.take(1);
                }
                b'$' if self.rest.starts_with(b"$(") => {
                    self.copy(2);
                    self.substitution();
                }
                // In fish, a backtick is an ordinary character.
                b'`' => {
                    self.out.extend_from_slice(b"\\`");
                    self.take(1);
                }
                _ => self.copy(1),
            }
            if byte == b'"' {
                return;
            }
        }
    }
}

fn is_name(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && word.first().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::judge::syntax::{self, tree::Dialect};

    fn as_bash(line: &str) -> String {
        String::from_utf8(super::as_bash(line.as_bytes())).unwrap()
    }

    #[test]
    fn what_fish_says_in_other_words_is_what_bash_would_be_told() {
        for (fish, bash) in [
            ("ls -la | grep x", "ls -la | grep x"),
            ("true; and rm -rf x", "true;  rm -rf x"),
            ("not rm x; or ls", "! rm x;  ls"),
            ("echo (date) \"$(id)\" $(pwd)", "echo $(date) \"$(id)\" $(pwd)"),
            (
                "if test -f x; rm x; else if true; ls; else; pwd; end",
                "if test -f x; then  rm x; elif true; then  ls; else pwd; fi",
            ),
            ("for x in a b; rm $x; end", "for x in a b; do  rm $x; done"),
            ("while true; ls; end | cat", "while true; do  ls; done | cat"),
            (
                "switch $x; case a 'b*'; ls; case '*'; rm a; end; pwd",
                "case $x in  (a|b*) ls; ;; (*) rm a; ;; esac; pwd",
            ),
            ("switch (id -u)\n  case 0\n    ls\nend", "case $(id -u) in   (0) ls\n;; esac"),
            ("X=a not ls; X='a b' ! ls", "X=a  ls; X='a b'  ls"),
            ("! not ls; time not pwd; not ls", "!  ls; time  pwd; ! ls"),
            ("set X #a\nls", "X=\nls"),
            ("#a\\\nls", "\nls"),
            ("ls 'a&b' a & pwd", "ls 'a&b' a & pwd"),
            ("\\x6cs a\\tb\\101\\Xe9 \\u20acd", "$'\\x6c's a$'\\t'b$'\\101'$'\\xe9' $'\\u20ac'd"),
            ("echo \"$(not ls; and pwd)\"", "echo \"$(! ls;  pwd)\""),
            ("ls >| cat; ls &| cat", "ls | cat; ls |& cat"),
            ("echo a \\\nb", "echo a \\\nb"),
            ("begin; ls; end > f", "{ ls; } > f"),
            ("set -gx X a b; rm $X", "export X=a' 'b; rm $X"),
            ("set -g X a b; rm $X", "X=a' 'b; rm $X"),
            ("set -a X a b; rm $X", "X=$X' 'a' 'b; rm $X"),
            ("set -p X a b; rm $X", "X=a' 'b' '$X; rm $X"),
            ("set --prepend PATH a", "PATH=a:$PATH"),
            ("set X (date +%s -u) b; ls a b", "X=$(date +%s -u)' 'b; ls a b"),
            ("set X (set -p Y a b) c", "X=$(Y=a' 'b' '$Y)' 'c"),
            ("set -e X", "set -e X"),
            ("set --erase X", "set --erase X"),
            ("set -Ux X a", "set -Ux X a"),
            ("set --universal X a", "set --universal X a"),
            ("set --export X a", "export X=a"),
            ("set -x PATH a $PATH; ls", "export PATH=a:$PATH; ls"),
            ("echo 'it\\'s'", "echo 'it'\\''s'"),
            ("function f --argument-names a; rm $a; end", "f() { rm $a; }"),
            ("function f --on-event fish_exit; rm a; end; ls", "f() { rm a; }; f; ls"),
            ("function f --on-signal=INT; rm a; end", "f() { rm a; }; f"),
            ("function fish_prompt; if true; ls; end; end", "fish_prompt() { if true; then  ls; fi; }; fish_prompt"),
            (
                "function gp --wraps='git push'\n    git push $argv \"$argv[2]\"\nend",
                "gp() { git push \"$@\" \"${2}\"\n}",
            ),
        ] {
            assert_eq!(as_bash(fish), bash);
            assert!(syntax::parse(bash.as_bytes(), Dialect::Bash).is_ok(), "{bash}");
        }
    }

    #[test]
    fn what_bash_has_no_words_for_does_not_parse() {
        for line in [
            "switch x; ls; end",
            "case x; ls",
            "ls $x[1]",
            "ls \"a $x[2..3]\"",
            "ls $argv[2..-1]",
            "ls \"$argv[-1]\"",
            "ls $$x[1]",
            "X=a else; ls",
            "if true; begin; else; ls; end; end",
            "end",
            "if true",
            "echo )",
            "a; \\or b",
            "ls a&b",
            "'if' ls",
            "n\\\not ls",
            &format!("n{}ot ls", "\\\n".repeat(40)),
            &"(".repeat(100_000),
        ] {
            assert!(syntax::parse(as_bash(line).as_bytes(), Dialect::Bash).is_err(), "{line}: {}", as_bash(line));
        }
    }
}
