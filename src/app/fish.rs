//! Translates fish lines to bash's grammar, as far as both can express the same.
//!
//! What belongs here: words, quotes and brackets. What cannot be translated does not parse as bash, and guard asks about
//! it.

/// A block that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// `if`, whose condition has not ended yet.
    Condition,
    If,
    /// `while` and `for`, likewise.
    Head,
    Loop,
    Group,
}

/// The line as bash would be told it.
pub(super) fn as_bash(line: &[u8]) -> Vec<u8> {
    let mut reader =
        FishReader { rest: line, out: Vec::with_capacity(line.len() + 16), blocks: Vec::new(), in_set: false };
    reader.read();
    reader.out
}

struct FishReader<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    blocks: Vec<Block>,
    /// In the values of `set`: they are one text.
    in_set: bool,
}

impl FishReader<'_> {
    fn read(&mut self) {
        let mut begins = true;
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b' ' | b'\t' => {
                    self.take(1);
                    // Values stand side by side, as what a variable without quotes splits into.
                    let more = self.rest.first().is_some_and(|byte| !b" \t;\n&|#".contains(byte));
                    if !self.in_set {
                        self.out.push(byte);
                    } else if more && !self.out.ends_with(b"=") {
                        self.out.extend_from_slice(b"' '");
                    }
                }
                b'#' if self.out.last().is_none_or(|last| b" \t\n;".contains(last)) => {
                    let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
                    self.take(end);
                }
                b';' | b'\n' | b'&' | b'|' => {
                    self.separator(byte);
                    begins = true;
                }
                b'(' => {
                    let dollar = if self.out.last() == Some(&b'$') { &b"("[..] } else { b"$(" };
                    self.out.extend_from_slice(dollar);
                    self.take(1);
                    begins = true;
                }
                b'\'' => self.single(),
                b'"' => self.double(),
                b'\\' => {
                    let end = 2.min(self.rest.len());
                    self.copy(end);
                    begins = false;
                }
                b'$' if self.rest.starts_with(b"$argv") => {
                    self.arguments(true);
                    begins = false;
                }
                _ if begins => begins = self.word(),
                _ => self.copy(1),
            }
        }
    }

    /// `$argv` and `$argv[1]`.
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
            None => b"$@".to_vec(),
        };
        self.take(index.map_or(0, |index| index.len() + 2));
        let quote = if quote { &b"\""[..] } else { b"" };
        self.out.extend_from_slice(&[quote, &text, quote].concat());
    }

    fn take(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn copy(&mut self, bytes: usize) {
        self.out.extend_from_slice(self.rest.get(..bytes).unwrap_or_default());
        self.take(bytes);
    }

    /// What ends a command, and with it the head of a block.
    fn separator(&mut self, byte: u8) {
        self.in_set = false;
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

    /// A word where a command begins. True: another command begins after it.
    fn word(&mut self) -> bool {
        let end = self.rest.iter().position(|byte| b" \t\n;&|()<>'\"\\".contains(byte)).unwrap_or(self.rest.len());
        let word = self.rest.get(..end.max(1)).unwrap_or_default().to_vec();
        self.take(word.len());
        match word.as_slice() {
            // They stand between two commands, whether the second runs or not.
            b"and" | b"or" => {}
            b"not" => self.out.extend_from_slice(b"!"),
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
            b"end" => {
                let end = match self.blocks.pop() {
                    Some(Block::If | Block::Condition) => &b"fi"[..],
                    Some(Block::Loop | Block::Head) => b"done",
                    Some(Block::Group) => b"}",
                    // It closes nothing, and is no command.
                    None => b"}",
                };
                self.out.extend_from_slice(end);
            }
            b"function" => self.function(),
            b"set" => return self.set(),
            _ => {
                self.out.extend_from_slice(&word);
                return word.ends_with(b")");
            }
        }
        true
    }

    /// Nothing stands between a bracket and what follows it.
    fn skip_separator(&mut self) {
        let blanks = self.rest.iter().take_while(|byte| b" \t\n;".contains(byte)).count();
        self.take(blanks);
    }

    /// `function NAME …` up to its body.
    fn function(&mut self) {
        let head = self.rest.iter().position(|byte| b";\n".contains(byte)).unwrap_or(self.rest.len());
        let head = self.rest.get(..head).unwrap_or_default().to_vec();
        let name = head.split(|byte| b" \t".contains(byte)).find(|word| !word.is_empty() && !word.starts_with(b"-"));
        self.out.extend_from_slice(name.unwrap_or(b"-"));
        self.out.extend_from_slice(b"() { ");
        self.take(head.len());
        self.skip_separator();
        self.blocks.push(Block::Group);
    }

    /// `set [-x] NAME VALUE…`; what else `set` does changes nothing.
    fn set(&mut self) -> bool {
        let statement = self.rest.iter().position(|byte| b";\n&|".contains(byte)).unwrap_or(self.rest.len());
        let words = self.rest.get(..statement).unwrap_or_default();
        let mut at = 0;
        let mut changes = true;
        for word in words.split(|byte| b" \t".contains(byte)) {
            let is_option = word.is_empty() || word.starts_with(b"-");
            if !is_option {
                let is_name = word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                if !(changes && is_name && !word.first().is_some_and(u8::is_ascii_digit)) {
                    break;
                }
                self.out.extend_from_slice(word);
                self.out.push(b'=');
                self.take(at + word.len());
                self.in_set = true;
                return false;
            }
            changes &= word.starts_with(b"--") || !word.iter().any(|byte| b"eqnSL".contains(byte));
            at += word.len() + 1;
        }
        self.out.extend_from_slice(b"set");
        false
    }

    /// `'…'`, in which fish has two escapes and bash has none.
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

    /// `"…"`: a bracket is one there only behind a dollar, as in bash.
    fn double(&mut self) {
        self.copy(1);
        while let Some(byte) = self.rest.first().copied() {
            match byte {
                b'\\' => self.copy(2.min(self.rest.len())),
                b'$' if self.rest.starts_with(b"$argv") => self.arguments(false),
                // To fish a backtick is a letter.
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
            ("begin; ls; end > f", "{ ls; } > f"),
            ("set -gx X a b; rm $X", "X=a' 'b; rm $X"),
            ("set -e X", "set -e X"),
            ("echo 'it\\'s'", "echo 'it'\\''s'"),
            ("function f --argument-names a; rm $a; end", "f() { rm $a; }"),
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
        for line in ["switch x; case a; ls; end", "end", "if true", "echo )"] {
            assert!(syntax::parse(as_bash(line).as_bytes(), Dialect::Bash).is_err(), "{line}: {}", as_bash(line));
        }
    }
}
