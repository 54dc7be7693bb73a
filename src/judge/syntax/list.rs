//! Parses lists, items and pipelines, and the operators that join commands.

use super::parser::{ParseResult, Parser};
use super::reserved::Reserved;
use super::tree::{
    Command, Dialect, Item, Join, Part, Pipeline, Redirect, RedirectFd, RedirectOp, RedirectTarget, Script, Span, Word,
};

impl Parser<'_> {
    /// Parses statements up to something that cannot begin one. The caller checks what that is.
    pub(super) fn list(&mut self, script: &mut Script) -> ParseResult {
        self.enter()?;
        self.newlines()?;
        let start = self.pos;
        while !self.at_list_end() {
            self.item(&mut script.items)?;
            if !self.separator(&mut script.items)? {
                break;
            }
            self.newlines()?;
        }
        script.span = self.span_from(start);
        self.leave();
        Ok(())
    }

    /// Parses a list with at least one statement.
    pub(super) fn filled_list(&mut self, script: &mut Script) -> ParseResult {
        self.list(script)?;
        if script.items.is_empty() { Err(self.unexpected()) } else { Ok(()) }
    }

    /// Reports whether no statement can begin here.
    fn at_list_end(&mut self) -> bool {
        match self.peek() {
            0 | b')' => true,
            b';' => matches!(self.peek_second().0, b';' | b'&') || self.zsh_arm_end(),
            _ => self.reserved().is_some_and(|(word, _)| word.closes()),
        }
    }

    /// Consumes a separator of statements: `;`, `&` or a newline. Returns false if there is none.
    fn separator(&mut self, items: &mut [Item]) -> ParseResult<bool> {
        self.blanks()?;
        match self.peek() {
            b';' if matches!(self.peek_second().0, b';' | b'&') || self.zsh_arm_end() => Ok(false),
            b';' => {
                self.pos += 1;
                Ok(true)
            }
            b'&' => {
                self.pos += 1;
                if self.dialect == Dialect::Zsh && matches!(self.peek(), b'|' | b'!') {
                    self.pos += 1;
                }
                if let Some(item) = items.last_mut() {
                    item.background = true;
                }
                Ok(true)
            }
            // The newline itself is left to `newlines`, which parses the here-documents.
            b'\n' => Ok(true),
            _ => Ok(false),
        }
    }

    // Nodes are inserted into the tree first and filled there, because moving them would use stack at every nesting
    // level.
    pub(super) fn item(&mut self, items: &mut Vec<Item>) -> ParseResult {
        self.spend(1)?;
        let start = self.pos;
        items.push(Item::default());
        let Some(item) = items.last_mut() else { return Err(self.unexpected()) };
        self.pipeline(&mut item.first)?;
        item.span = self.solid_span_from(start);
        while let Some(join) = self.join()? {
            item.rest.push((join, Pipeline::default()));
            if let Some((_, pipeline)) = item.rest.last_mut() {
                self.pipeline(pipeline)?;
            }
            item.span = self.solid_span_from(start);
        }
        Ok(())
    }

    /// Consumes `&&` or `||` and the newlines after it.
    fn join(&mut self) -> ParseResult<Option<Join>> {
        self.blanks()?;
        let byte = self.peek();
        let join = match byte {
            b'&' => Join::And,
            b'|' => Join::Or,
            _ => return Ok(None),
        };
        let Some(end) = self.pair(byte, byte) else { return Ok(None) };
        self.pos = end;
        self.newlines()?;
        Ok(Some(join))
    }

    fn pipeline(&mut self, pipeline: &mut Pipeline) -> ParseResult {
        let start = self.pos;
        let prefixed = self.prefixes(pipeline)?;
        if prefixed && matches!(self.peek(), 0 | b'\n' | b';') {
            pipeline.span = self.solid_span_from(start);
            return Ok(());
        }
        // `!(…)` was parsed together with its `!`.
        let mut first_is_read = !pipeline.commands.is_empty();
        // Most pipelines have one member, so no memory is reserved for more.
        pipeline.commands.reserve_exact(1);
        loop {
            if !std::mem::take(&mut first_is_read) {
                self.command(&mut pipeline.commands)?;
            }
            pipeline.span = self.solid_span_from(start);
            self.blanks()?;
            if !self.pipe(&mut pipeline.commands)? {
                return Ok(());
            }
        }
    }

    /// Consumes `|` or `|&` and the newlines after it. Returns false if there is none.
    fn pipe(&mut self, commands: &mut [Command]) -> ParseResult<bool> {
        if self.peek() != b'|' {
            return Ok(false);
        }
        let (second, at) = self.peek_second();
        match second {
            b'|' => return Ok(false),
            b'&' => {
                let operator = self.pos;
                self.pos = at + 1;
                let span = self.span_from(operator);
                if let Some(command) = commands.last_mut() {
                    join_errors(command, span);
                }
            }
            _ => self.pos += 1,
        }
        self.newlines()?;
        Ok(true)
    }

    /// Parses `!` and `time` before a pipeline. Returns true if there was one.
    fn prefixes(&mut self, pipeline: &mut Pipeline) -> ParseResult<bool> {
        let mut any = false;
        loop {
            match self.reserved() {
                Some((Reserved::Bang, end)) if self.raw(end) == b'(' => {
                    self.negated_subshell(pipeline)?;
                    return Ok(any);
                }
                Some((Reserved::Bang, end)) => {
                    self.pos = end;
                    pipeline.negated = !pipeline.negated;
                }
                // In a POSIX shell, `time -o file command` runs a program with options.
                Some((Reserved::Time, end))
                    if self.dialect == Dialect::Sh && self.raw(self.past_blanks(end)) == b'-' =>
                {
                    return Ok(any);
                }
                Some((Reserved::Time, end)) => {
                    self.pos = end;
                    pipeline.timed = true;
                    self.blanks()?;
                    if self.take_word(b"-p") {
                        self.blanks()?;
                    }
                    self.take_word(b"--");
                }
                _ => return Ok(any),
            }
            any = true;
            self.blanks()?;
            self.spend(1)?;
        }
    }
}

/// Adds the redirection of `|&`, which is equivalent to `2>&1 |`.
fn join_errors(command: &mut Command, span: Span) {
    let redirects = match command {
        Command::Simple(simple) => &mut simple.redirects,
        Command::Compound(compound) => &mut compound.redirects,
        Command::Function(function) => &mut function.body.redirects,
        Command::Coprocess(coprocess) => return join_errors(&mut coprocess.body, span),
    };
    redirects.push(Redirect {
        fd: RedirectFd::Number(2),
        op: RedirectOp::DuplicateOut,
        target: RedirectTarget::Word(Word { parts: vec![Part::Literal("1".to_owned())], span }),
        span,
    });
}
