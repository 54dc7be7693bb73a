//! Where the lines of a script begin, so that what was found in it can be shown there.
//!
//! Out of scope: judging. A text that is put together when the script runs has no lines of its own.

use super::act::Source;
use super::command_context::Context;

/// A script whose lines are counted.
#[derive(Debug)]
pub(super) struct NumberedScript {
    path: String,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl NumberedScript {
    /// The lines of the script that the context stands in; `None` when it stands in none.
    pub fn of(context: &Context, text: &str) -> Option<Self> {
        let Source::Script(path) = &context.source else { return None };
        Some(Self { path: path.clone(), ends: text.match_indices('\n').map(|(at, _)| at).collect() })
    }

    /// The line in which a byte of the text stands, counted from 1; `None` when the context is of another text.
    pub fn line(&self, context: &Context, at: u32) -> Option<u32> {
        let own = matches!(&context.source, Source::Script(path) if *path == self.path);
        let before = self.ends.partition_point(|end| *end < at as usize);
        own.then_some(u32::try_from(before).ok()?.saturating_add(1))
    }
}

/// Where a walk stands among the lines of scripts.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The script that is walked, and the one that is about to be.
    here: Option<NumberedScript>,
    next: Option<NumberedScript>,
    /// The line of a script in which the walk stands.
    pub line: Option<u32>,
}

impl Lines {
    /// Takes the lines of a script for those of the text that is walked next.
    pub fn announce(&mut self, numbered: Option<NumberedScript>) {
        self.next = numbered;
    }

    /// Begins a text. What is returned is put back where it ends.
    pub fn begin(&mut self) -> Self {
        let here = self.next.take();
        let line = self.line;
        std::mem::replace(self, Self { here, next: None, line })
    }

    /// Goes to a byte of the text that is walked, where that is a script's.
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
