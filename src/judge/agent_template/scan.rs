//! Reading a template: literal text and the places in it.

/// What is left to read.
#[derive(Clone, Copy)]
pub(super) struct Remainder<'a> {
    rest: &'a [u8],
}

impl<'a> Remainder<'a> {
    pub const fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// This text, exactly.
    pub fn text(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// This text, when it is there.
    pub fn may(&mut self, text: &str) -> bool {
        self.text(text).is_some()
    }

    /// These bytes, exactly.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes)?;
        Some(())
    }

    /// So many bytes, whatever they are.
    pub fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Blanks and line ends, at least one.
    pub fn blanks(&mut self) -> Option<()> {
        let end = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.skip(end);
        (end > 0).then_some(())
    }

    /// Letters, digits and these.
    pub fn letters(&mut self, more: &str) -> &'a [u8] {
        let text = self.rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let end = text.find(|letter: char| !letter.is_alphanumeric() && !more.contains(letter)).unwrap_or(text.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Nothing is left.
    pub fn end(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    /// What is left.
    pub const fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// A path: plain characters, or all of it in single quotes.
    pub fn path(&mut self) -> Option<String> {
        let bytes = if self.rest.starts_with(b"'") {
            self.quoted()?
        } else {
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@%~".contains(byte);
            let end = self.rest.iter().position(|byte| !plain(byte)).unwrap_or(self.rest.len());
            let (path, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            path.to_vec()
        };
        let path = String::from_utf8(bytes).ok().filter(|path| !path.is_empty())?;
        let is_plain = !path.contains(|letter: char| letter.is_control());
        (is_plain && !path.split('/').any(|part| part == "..")).then_some(path)
    }

    /// A name of a variable.
    pub fn name(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        name.first().is_some_and(|first| !first.is_ascii_digit()).then_some(name)
    }

    /// A word in single quotes, in which a quote is written `'\''` or `'"'"'`: what the shell makes of it.
    pub fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        if self.rest.first() != Some(&b'\'') {
            return None;
        }
        loop {
            if self.may("\"'\"") || self.may("\\'") {
                word.push(b'\'');
            } else if self.may("'") {
                let end = self.rest.iter().position(|byte| *byte == b'\'')?;
                word.extend_from_slice(self.rest.get(..end)?);
                self.rest = self.rest.get(end + 1..)?;
            } else {
                return Some(word);
            }
        }
    }
}
