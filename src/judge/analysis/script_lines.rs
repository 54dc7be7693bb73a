//! Line numbers of scripts, for the display of findings.
//!
//! A text that is composed while a script runs has no lines of its own.

use super::act::Source;
use super::command_context::Context;

/// A script with line numbers.
#[derive(Debug)]
pub(super) struct NumberedScript {
    path: String,
    /// The end of each line.
    ends: Vec<usize>,
}

impl NumberedScript {
    /// Creates it for the script of a context; `None` if the context is not in a script.
    pub fn of(context: &Context, text: &str) -> Option<Self> {
        let Source::Script(path) = &context.source else { return None };
        Some(Self { path: path.clone(), ends: text.match_indices('\n').map(|(at, _)| at).collect() })
    }

    /// Returns the number of the line of a byte, counted from 1; `None` if the context belongs to another text.
    pub fn line(&self, context: &Context, at: u32) -> Option<u32> {
        let own = matches!(&context.source, Source::Script(path) if *path == self.path);
        let before = self.ends.partition_point(|end| *end < at as usize);
        own.then_some(u32::try_from(before).ok()?.saturating_add(1))
    }
}

/// The current line of a walk through scripts.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The script that is being walked, and the next one.
    here: Option<NumberedScript>,
    next: Option<NumberedScript>,
    /// The current line of the script.
    pub line: Option<u32>,
}

impl Lines {
    /// Sets the line numbers of the text that is walked next.
    pub fn announce(&mut self, numbered: Option<NumberedScript>) {
        self.next = numbered;
    }

    /// Begins a text. The caller restores the returned value at its end.
    pub fn begin(&mut self) -> Self {
        let here = self.next.take();
        let line = self.line;
        std::mem::replace(self, Self { here, next: None, line })
    }

    /// Sets the current line by a byte of the text, if that is a script.
    pub fn stand_at(&mut self, context: &Context, at: u32) {
        if let Some(line) = self.here.as_ref().and_then(|text| text.line(context, at)) {
            self.line = Some(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_and_only_in_their_own_script() {
        let context = |path: &str| Context { source: Source::Script(path.to_owned()), ..Context::default() };
        let numbered = NumberedScript::of(&context("/a"), "ab\n\ncd\n").unwrap();
        let line = |at: u32| numbered.line(&context("/a"), at);
        assert_eq!([0, 1, 3, 4, 5].map(line), [Some(1), Some(1), Some(2), Some(3), Some(3)]);
        assert_eq!(numbered.line(&context("/b"), 0), None);
        assert_eq!(numbered.line(&Context::default(), 0), None);
        assert!(NumberedScript::of(&Context::default(), "ab").is_none());
    }

    #[test]
    fn a_text_in_a_script_has_no_lines_and_leaves_those_around_it() {
        let context = Context { source: Source::Script("/a".to_owned()), ..Context::default() };
        let mut lines = Lines::default();
        lines.announce(NumberedScript::of(&context, "a\nb\nc\n"));
        let outermost = lines.begin();
        lines.stand_at(&context, 2);
        assert_eq!(lines.line, Some(2));
        let outer = lines.begin();
        lines.stand_at(&context, 4);
        assert_eq!(lines.line, Some(2), "its bytes are not the script's");
        lines = outer;
        lines.stand_at(&context, 4);
        assert_eq!(lines.line, Some(3));
        assert_eq!(outermost.line, None);
    }
}
