//! Members of objects, variables of the environment, and calls that are equivalent to others.

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Call, Gap, Language, Slice, Text, value};
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::VariableMeaning;
use crate::judge::rules::word_lists;

impl CallReader<'_> {
    /// Returns the value of a variable of the environment; only the home directory is known.
    pub fn environment(&self, name: &str) -> Option<String> {
        match languages().held(self.language, name) {
            Some((VariableMeaning::Home, _)) => return Some(self.world.home.to_owned()),
            Some((VariableMeaning::Program, program)) => return program.map(str::to_owned),
            _ => {}
        }
        let (place, key) = name.rsplit_once('.')?;
        let known = super::names::is_environment(place) || matches!(place, "environ" | "os");
        (known && languages().is_home(key)).then(|| self.world.home.to_owned())
    }

    /// Reports whether a member of a text is the same text: the name of a temporary file, the content of a response.
    pub fn same_text(&self, of: &Expression, part: &str) -> Option<Expression> {
        let text = of.text.as_ref()?;
        let same = text.has(Gap::Temporary) && matches!(part, "name" | "path")
            || text.has(Gap::Fetched) && matches!(part, "text" | "content" | "body" | "data");
        same.then(|| Expression::of_text(text.clone()))
    }

    /// Returns the call for opening a file for writing, or a command for reading.
    pub fn opens(&self, callee: &str, subject: Option<Slice<'_>>, arguments: &[Expression]) -> Option<Call> {
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.slice());
        let call = |callee: &str, path: Slice<'_>| Some(Call::new(callee.to_owned(), vec![value(path)]));
        // For the class methods of IO, a name that begins with a bar is a command.
        if self.language == Language::Ruby
            && callee.starts_with("IO.")
            && let Some(command) = text(0).and_then(|path| path.find(|path| path.strip_prefix('|')))
        {
            return call("pipe", command);
        }
        let last = callee.rsplit('.').next()?;
        let is_opening = |name: &str| word_lists::OPENING_CALLS.contains(&name);
        if !is_opening(last) && !is_opening(callee) {
            return self.opens_by_its_mode(callee, arguments);
        }
        if callee == "os.open" {
            // The flags as numbers of the operating system.
            let number =
                arguments.get(1).and_then(|flags| flags.raw.as_ref()?.known()?.parse::<u32>().ok()).unwrap_or(0);
            let (cuts, writes) = (number & 0o1000 != 0, number & 0o3 != 0);
            return match (cuts || self.has_flag(&CUTTING_FLAGS), writes || self.has_flag(&WRITING_FLAGS)) {
                (true, _) => call("os.truncate", text(0)?),
                (_, true) => call("open.append", text(0)?),
                _ => None,
            };
        }
        // The path is the first text, and no text gives the mode.
        let path = arguments.iter().find_map(|argument| argument.text.as_ref().map(Text::slice));
        let has_mode = text(1).is_some_and(|_| text(0).is_some());
        // `open("x", { write: true, truncate: true })`
        let object = arguments.get(1).and_then(|argument| argument.list.as_deref()).unwrap_or_default();
        let cuts = object.iter().any(|setting| setting.is("--truncate=true"));
        if let Some(path) = path.filter(|_| cuts || !has_mode) {
            if cuts || self.has_flag(&CUTTING_FLAGS) {
                return call("open.write", path);
            }
            if self.language != Language::Python && self.has_flag(&WRITING_FLAGS) {
                return call("open.append", path);
            }
        }
        // `IO::File->new("x", "w")`, `IO::File->new(">x")`
        if self.language == Language::Perl && (last == "new" || text(0).is_some()) {
            let both = text(0)?;
            let path = both.cut(|both| both.trim_start_matches(['>', '<', '+', ' ']));
            let marks = both.rough().get(..both.len() - path.len()).unwrap_or_default();
            let by_letter = || written_by_mode(text(1)?.known()?);
            return call(
                by_letter().unwrap_or_else(|| opened_by_marks(text(1).map_or(marks, |mode| mode.rough()))),
                path,
            );
        }
        if self.language == Language::Perl {
            let both = text(1)?.trim();
            // A call for each of the files that were found.
            if let Some(Expression { list: Some(found), .. }) = arguments.get(2)
                && !both.rough().contains('|')
            {
                return Some(Call::new(opened_by_marks(both.rough()).to_owned(), found.clone()));
            }
            let (mode, path) = match (both.rough(), text(2)) {
                ("-|" | "|-", Some(command)) if arguments.len() == 3 => return call("pipe", command),
                ("-|" | "|-", Some(_)) => {
                    let args = arguments.iter().skip(2).cloned().flat_map(Expression::values).collect();
                    return Some(Call::new("systemx".to_owned(), args));
                }
                (mode, Some(path)) => (mode, path),
                (_, None) => {
                    if let Some(command) = both.find(|both| both.strip_suffix('|').or(both.strip_prefix('|'))) {
                        return call("pipe", command.trim());
                    }
                    let path = both.cut(|both| both.trim_start_matches(['>', '<', '+']));
                    (both.rough().get(..both.len() - path.len()).unwrap_or_default(), path)
                }
            };
            return call(opened_by_marks(mode), path.trim());
        }
        let settings = || arguments.iter().filter_map(|argument| argument.setting.as_ref());
        let named = settings().find(|(name, _)| name == "mode").map(|(_, mode)| mode.slice());
        let own = subject.is_some() && (callee.contains("Path") || text(1).is_none());
        let mode = text(usize::from(!own)).or(named).filter(|mode| mode.len() < 6);
        let paths = match (own, arguments.first()) {
            (true, _) => vec![value(subject?)],
            // A call for each of the files that were found.
            (false, Some(Expression { list: Some(found), .. })) => found.clone(),
            (false, Some(Expression { text: Some(path), .. })) => {
                match path.slice().find(|path| path.strip_prefix('|')) {
                    Some(command) if self.language == Language::Ruby => return call("pipe", command),
                    _ => vec![value(path)],
                }
            }
            _ => return None,
        };
        let opened = match mode?.rough() {
            mode if mode.contains('a') => "open.append",
            mode if mode.contains(['w', 'x', '+']) => "open.write",
            _ => return None,
        };
        Some(Call::new(opened.to_owned(), paths))
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
            return Some(Call::new("open.write".to_owned(), vec![value(path)]));
        }
        // The description of a described call determines the meaning of its arguments.
        let mode = setting(&["mode", "filemode"]).or_else(|| text(1)).filter(|_| !(self.world.knows)(callee));
        let opened = mode.and_then(|mode| written_by_mode(mode.known()?))?;
        Some(Call::new(opened.to_owned(), vec![value(path)]))
    }

    /// Returns a function that is passed as an argument: its name and the arguments with which it is called.
    pub fn handed_on<'e>(&self, callee: &str, arguments: &'e [Expression]) -> Option<(String, &'e [Expression])> {
        let last = callee.rsplit('.').next()?;
        let takes = match self.language {
            Language::Php => matches!(
                last,
                "array_map"
                    | "array_walk"
                    | "call_user_func"
                    | "call_user_func_array"
                    | "forward_static_call"
                    | "iterator_apply"
                    | "register_shutdown_function"
                    | "register_tick_function"
            ),
            Language::Ruby => matches!(last, "send" | "public_send" | "__send__" | "instance_exec"),
            _ => false,
        };
        let (function, rest) = match arguments {
            // `array_walk($files, 'unlink')`
            [of, function] if last == "array_walk" => (function, std::slice::from_ref(of)),
            [_, function, given @ ..] if last == "iterator_apply" => (function, given),
            _ => arguments.split_first()?,
        };
        let function = function.text.as_ref().filter(|_| takes)?.rough();
        let of = callee.strip_suffix(last).filter(|of| self.language == Language::Ruby && !of.is_empty());
        Some((super::names::plain_name(self.language, format!("{}{function}", of.unwrap_or_default())), rest))
    }

    /// Returns the object of a method that Ruby calls by an unknown name; `Kernel` if none is named.
    pub fn sends_unknown<'c>(&self, callee: &'c str, name: Option<Slice<'_>>) -> Option<&'c str> {
        let (of, last) = callee.rsplit_once('.').unwrap_or(("Kernel", callee));
        let sends = self.language == Language::Ruby && matches!(last, "send" | "public_send" | "__send__");
        (sends && name.is_none_or(Slice::has_gaps)).then_some(of)
    }
}

/// Names of flags with which opening a file empties it.
const CUTTING_FLAGS: [&str; 3] = ["O_TRUNC", "TRUNC", "OVERWRITE"];

/// Names of flags with which a file is opened to be written.
const WRITING_FLAGS: [&str; 6] = ["O_WRONLY", "O_CREAT", "O_APPEND", "WRONLY", "CREAT", "APPEND"];

/// Returns the effect of a mode of Perl: `>`, `+<`, `>>:utf8`.
fn opened_by_marks(mode: &str) -> &'static str {
    if mode.contains(">>") {
        "open.append"
    } else if mode.contains(['>', '+']) {
        "open.write"
    } else {
        "open"
    }
}

/// Returns the effect of a mode: `w`, `xb`, `w+`, `w:gz`, `a`.
fn written_by_mode(mode: &str) -> Option<&'static str> {
    let (letters, _) = mode.split_once([':', '|']).unwrap_or((mode, ""));
    let mut letters = letters.chars();
    let opened = match letters.next()? {
        'w' | 'x' => "open.write",
        'a' => "open.append",
        _ => return None,
    };
    letters.all(|letter| "bt+".contains(letter)).then_some(opened)
}
