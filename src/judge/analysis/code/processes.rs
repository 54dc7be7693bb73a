//! Signals that code sends to processes that it finds.

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Call, Gap, Language, Text, value};
use crate::judge::analysis::act::{Piece, UnknownReason, Value};
use crate::judge::rules::word_lists;

/// The description of a process ID that is the variable of a loop.
pub(super) const COUNTED: &str = "each of the numbers that code goes through";

/// Maximum number of names of processes.
const MAX_NAMES: usize = 8;

/// Returns the position of the argument that names the process, if a call sends a signal.
fn signalled(callee: &str, arguments: usize) -> Option<std::ops::Range<usize>> {
    match callee {
        "os.kill" | "os.killpg" | "process.kill" | "posix_kill" => Some(0..1),
        "Process.kill" | "kill" => Some(1..arguments),
        _ => None,
    }
}

/// Reports whether a value is a number that is the variable of a loop.
fn is_counted(value: &Value) -> bool {
    value
        .pieces()
        .iter()
        .any(|piece| matches!(piece, Piece::Unknown(unknown) if unknown.why == UnknownReason::Other(COUNTED)))
}

impl CallReader<'_> {
    /// Adds a signal to processes that are found in a loop over all of them, with the names by which the code selects
    /// them.
    pub(super) fn signals(&self, callee: &str, arguments: &[Expression]) -> Vec<Call> {
        let own = |name: &str| name.starts_with("psutil.process_iter") || name.starts_with("psutil.pids");
        let last = callee.rsplit('.').next().unwrap_or_default();
        let by_object = own(callee) && matches!(last, "kill" | "terminate" | "suspend" | "send_signal");
        let by_id = signalled(callee, arguments.len().max(1)).is_some_and(|range| {
            arguments.iter().skip(range.start).take(range.len()).any(|argument| {
                argument.name.as_deref().is_some_and(own) || argument.clone().values().iter().any(is_counted)
            })
        });
        if !by_object && !by_id {
            return Vec::new();
        }
        let names = self.chosen_by();
        if names.is_empty() {
            return vec![Call::new("kill-many".into(), Vec::new())];
        }
        names.into_iter().map(|name| Call::new("kill-named".into(), vec![value(&name)])).collect()
    }

    /// Returns the texts with which names of processes are compared.
    fn chosen_by(&self) -> Vec<Text> {
        let is = |token: Option<&Token>, names: &[&str]| matches!(token, Some(Token::Name(name)) if names.contains(&name.as_str()));
        if self.tokens.iter().any(|token| is(Some(token), &word_lists::PROCESS_PROPERTIES)) {
            return Vec::new();
        }
        let at = |at: Option<usize>| at.and_then(|at| self.tokens.get(at));
        let mark = |token: Option<&Token>, mark: char| token == Some(&Token::Mark(mark));
        let texts = self.tokens.iter().enumerate().filter_map(|(index, token)| match token {
            Token::Text(text) => Some((index, text)),
            _ => None,
        });
        texts
            .filter(|(index, text)| {
                let before = |back: usize| at(index.checked_sub(back));
                let compared = mark(before(1), '=') && mark(before(2), '=') && !text.is_empty();
                let within = is(at(Some(index + 1)), &["in"]);
                let looked = mark(before(1), '(') && is(before(2), &word_lists::PROCESS_COMPARING_CALLS);
                compared || within || looked
            })
            .map(|(_, text)| text.clone())
            .take(MAX_NAMES)
            .collect()
    }

    /// Reports whether a call returns processes, or a range of numbers.
    pub(super) fn counts(&self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Expression> {
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.rough());
        let last = callee.rsplit('.').next()?;
        let each = || Some(Expression::of_text(Gap::Each));
        match last {
            "range" | "xrange" if self.language == Language::Python => each(),
            "range" if self.language == Language::Php => each(),
            "listdir" | "scandir" | "readdirSync" | "readdir" | "children" | "each_child" | "entries" | "glob"
            | "iglob" | "globSync"
                if text(0).is_some_and(|path| path == "/proc" || path.starts_with("/proc/")) =>
            {
                each()
            }
            "int" | "parseInt" | "Number" | "Integer" | "basename" | "str" | "intval"
                if arguments.first().is_some_and(|first| first.clone().values().iter().any(is_counted)) =>
            {
                each()
            }
            "to_i" | "to_s" | "trim" | "strip" if of.carried.iter().any(is_counted) => each(),
            _ => None,
        }
    }
}
