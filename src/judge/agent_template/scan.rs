//! Reads the parts of a template from a text.

/// The rest of a text.
#[derive(Clone, Copy)]
pub(super) struct Remainder<'a> {
    rest: &'a [u8],
}

impl<'a> Remainder<'a> {
    pub const fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Reads exactly this text.
    pub fn text(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Reads this text if the rest begins with it, and reports whether it does.
    pub fn may(&mut self, text: &str) -> bool {
        self.text(text).is_some()
    }

    /// Reads exactly these bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes)?;
        Some(())
    }

    /// Skips this number of bytes.
    pub fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Reads whitespace, at least one byte.
    pub fn blanks(&mut self) -> Option<()> {
        let end = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.skip(end);
        (end > 0).then_some(())
    }

    /// Reads letters, digits and the characters of `more`.
    pub fn letters(&mut self, more: &str) -> &'a [u8] {
        let text = self.rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let end = text.find(|letter: char| !letter.is_alphanumeric() && !more.contains(letter)).unwrap_or(text.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Returns `None` if the text is not read to its end.
    pub fn end(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    /// Returns the rest.
    pub const fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Reads a path: plain characters, or a word in single quotes.
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

    /// Reads the name of a variable.
    pub fn name(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        name.first().is_some_and(|first| !first.is_ascii_digit()).then_some(name)
    }

    /// Reads a word in single quotes, in which a quote is written `'\''` or `'"'"'`, and returns its value.
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
