//! Calls that open files: whether they empty them, append to them or read them, or run a command instead.

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Call, Language, Slice, value};
use crate::judge::rules::word_lists;

/// The call that opens a file and empties it.
pub(super) const EMPTIES: &str = "open.write";

/// The call that opens a file to write at its end, or at a position in it.
pub(super) const APPENDS: &str = "open.append";

/// The call that runs a command instead.
const RUNS: &str = "pipe";

/// Returns a call with one path or command.
fn call(callee: &str, path: Slice<'_>) -> Option<Call> {
    Some(Call::new(callee.to_owned(), vec![value(path)]))
}

/// Returns the text of the argument at this position.
fn text(arguments: &[Expression], at: usize) -> Option<Slice<'_>> {
    Some(arguments.get(at)?.text.as_ref()?.slice())
}

impl CallReader<'_> {
    /// Returns the call for opening a file for writing, or a command for reading.
    pub fn opens(&self, callee: &str, subject: Option<Slice<'_>>, arguments: &[Expression]) -> Option<Call> {
        // For the class methods of IO, a name that begins with a bar is a command.
        if self.language == Language::Ruby
            && callee.starts_with("IO.")
            && let Some(command) = text(arguments, 0).and_then(|path| path.find(|path| path.strip_prefix('|')))
        {
            return call(RUNS, command);
        }
        let last = callee.rsplit('.').next()?;
        let is_opening = |name: &str| word_lists::OPENING_CALLS.contains(&name);
        if !is_opening(last) && !is_opening(callee) {
            return self.opens_by_its_mode(callee, arguments);
        }
        if callee == "os.open" {
            return self.opens_by_number(arguments);
        }
        if let Some(opened) = self.opens_by_flags(arguments) {
            return Some(opened);
        }
        match self.language {
            Language::Perl => opens_in_perl(last, arguments),
            language => opens_by_mode(language, callee, subject, arguments),
        }
    }

    /// Returns the call for opening a file with the flags of the operating system, as names or as a number.
    fn opens_by_number(&self, arguments: &[Expression]) -> Option<Call> {
        let number = arguments.get(1).and_then(|flags| flags.raw.as_ref()?.known()?.parse::<u32>().ok()).unwrap_or(0);
        let (cuts, writes) = (number & 0o1000 != 0, number & 0o3 != 0);
        if cuts || self.has_flag(&CUTTING_FLAGS) {
            call("os.truncate", text(arguments, 0)?)
        } else if writes || self.has_flag(&WRITING_FLAGS) {
            call(APPENDS, text(arguments, 0)?)
        } else {
            None
        }
    }

    /// Returns the call for opening a file whose path is the only text: names of flags, or settings in an object, say
    /// what for.
    fn opens_by_flags(&self, arguments: &[Expression]) -> Option<Call> {
        let path = arguments.iter().find_map(|argument| argument.text.as_ref().map(|path| path.slice()))?;
        let has_mode = text(arguments, 1).is_some_and(|_| text(arguments, 0).is_some());
        // `open("x", { write: true, truncate: true })`
        let object = arguments.get(1).and_then(|argument| argument.list.as_deref()).unwrap_or_default();
        if object.iter().any(|setting| setting.is("--truncate=true")) {
            return call(EMPTIES, path);
        }
        if has_mode {
            None
        } else if self.has_flag(&CUTTING_FLAGS) {
            call(EMPTIES, path)
        } else if self.language != Language::Python && self.has_flag(&WRITING_FLAGS) {
            call(APPENDS, path)
        } else {
            None
        }
    }

    /// Reports whether the code contains one of these names of flags.
    fn has_flag(&self, flags: &[&str]) -> bool {
        let named = |token: &Token| matches!(token, Token::Name(name) if flags.contains(&name.trim_start_matches("&")));
        self.tokens.iter().any(named)
    }

    /// Returns the call for opening a file if another call has a path and a mode for writing: `ZipFile("x", "w")`,
    /// `FileHandler("x", mode="w")`, `input("x", inplace=True)`.
    fn opens_by_its_mode(&self, callee: &str, arguments: &[Expression]) -> Option<Call> {
        if self.language != Language::Python {
            return None;
        }
        let setting = |names: &[&str]| {
            let settings = arguments.iter().filter_map(|argument| argument.setting.as_ref());
            settings.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.slice()).next()
        };
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.slice());
        let path = text(0).or_else(|| setting(&["filename", "file", "name"]))?;
        if setting(&["inplace"]).is_some_and(|inplace| inplace == "True") {
            return Some(Call::new(EMPTIES.to_owned(), vec![value(path)]));
        }
        // The description of a described call determines the meaning of its arguments.
        let mode = setting(&["mode", "filemode"]).or_else(|| text(1)).filter(|_| !(self.world.knows)(callee));
        let opened = mode.and_then(|mode| written_by_mode(mode.known()?))?;
        Some(Call::new(opened.to_owned(), vec![value(path)]))
    }
}

/// Returns the call for opening a file in Perl, in which marks before the path or in an argument before it give the mode.
/// `last` is the last part of the name of the call.
fn opens_in_perl(last: &str, arguments: &[Expression]) -> Option<Call> {
    // `IO::File->new("x", "w")`, `IO::File->new(">x")`
    if last == "new" || text(arguments, 0).is_some() {
        let (marks, path) = marks_and_path(text(arguments, 0)?);
        let mode = text(arguments, 1);
        let by_letter = mode.and_then(|mode| written_by_mode(mode.known()?));
        return call(by_letter.unwrap_or_else(|| opened_by_marks(mode.map_or(marks, Slice::rough))), path);
    }
    let both = text(arguments, 1)?.trim();
    // A call for each of the files that were found.
    if let Some(Expression { list: Some(found), .. }) = arguments.get(2)
        && !both.rough().contains('|')
    {
        return Some(Call::new(opened_by_marks(both.rough()).to_owned(), found.clone()));
    }
    match (both.rough(), text(arguments, 2)) {
        ("-|" | "|-", Some(command)) if arguments.len() == 3 => call(RUNS, command),
        ("-|" | "|-", Some(_)) => {
            let args = arguments.iter().skip(2).cloned().flat_map(Expression::values).collect();
            Some(Call::new("systemx".to_owned(), args))
        }
        (marks, Some(path)) => call(opened_by_marks(marks), path.trim()),
        (_, None) => {
            if let Some(command) = both.find(|both| both.strip_suffix('|').or(both.strip_prefix('|'))) {
                return call(RUNS, command.trim());
            }
            let (marks, path) = marks_and_path(both);
            call(opened_by_marks(marks), path.trim())
        }
    }
}

/// Splits `>x` into the marks and the path.
fn marks_and_path(both: Slice<'_>) -> (&str, Slice<'_>) {
    let path = both.cut(|both| both.trim_start_matches(['>', '<', '+', ' ']));
    (both.rough().get(..both.len() - path.len()).unwrap_or_default(), path)
}

/// Returns the call for opening a file with a mode as an argument or setting. `subject` is the object of the method.
fn opens_by_mode(
    language: Language,
    callee: &str,
    subject: Option<Slice<'_>>,
    arguments: &[Expression],
) -> Option<Call> {
    let mut settings = arguments.iter().filter_map(|argument| argument.setting.as_ref());
    let named = settings.find(|(name, _)| name == "mode").map(|(_, mode)| mode.slice());
    let own = subject.is_some() && (callee.contains("Path") || text(arguments, 1).is_none());
    let mode = text(arguments, usize::from(!own)).or(named).filter(|mode| mode.len() < 6);
    let paths = match (own, arguments.first()) {
        (true, _) => vec![value(subject?)],
        // A call for each of the files that were found.
        (false, Some(Expression { list: Some(found), .. })) => found.clone(),
        (false, Some(Expression { text: Some(path), .. })) => match path.slice().find(|path| path.strip_prefix('|')) {
            Some(command) if language == Language::Ruby => return call(RUNS, command),
            _ => vec![value(path)],
        },
        _ => return None,
    };
    let opened = match mode?.rough() {
        mode if mode.contains('a') => APPENDS,
        mode if mode.contains(['w', 'x', '+']) => EMPTIES,
        _ => return None,
    };
    Some(Call::new(opened.to_owned(), paths))
}

/// Names of flags with which opening a file empties it.
const CUTTING_FLAGS: [&str; 3] = ["O_TRUNC", "TRUNC", "OVERWRITE"];

/// Names of flags with which a file is opened to be written.
const WRITING_FLAGS: [&str; 6] = ["O_WRONLY", "O_CREAT", "O_APPEND", "WRONLY", "CREAT", "APPEND"];

/// Returns the effect of a mode of Perl: `>`, `+<`, `>>:utf8`.
fn opened_by_marks(mode: &str) -> &'static str {
    if mode.contains(">>") {
        APPENDS
    } else if mode.contains(['>', '+']) {
        EMPTIES
    } else {
        "open"
    }
}

/// Returns the effect of a mode: `w`, `xb`, `w+`, `w:gz`, `a`.
fn written_by_mode(mode: &str) -> Option<&'static str> {
    let (letters, _) = mode.split_once([':', '|']).unwrap_or((mode, ""));
    let mut letters = letters.chars();
    let opened = match letters.next()? {
        'w' | 'x' => EMPTIES,
        'a' => APPENDS,
        _ => return None,
    };
    letters.all(|letter| "bt+".contains(letter)).then_some(opened)
}
