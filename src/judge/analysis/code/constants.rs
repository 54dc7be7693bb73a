//! Calls whose result can be told from their arguments, and calls that stand for another.

use super::calls::CallReader;
use super::expression::{Expression, MAX_TEXT};
use super::scan::Token;
use super::{Call, EACH, FETCHED, FOUND, HOLE, Language, NAME, TEMPORARY, denoted, globs, value};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::decode;

impl CallReader<'_> {
    /// What a call gives, where that can be told.
    pub fn known_result(&self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Expression> {
        let (subject, carried) = (of.subject.as_deref(), &of.carried);
        let text = |at: usize| arguments.get(at).and_then(|argument| argument.text.as_deref());
        let first = text(0).or(subject);
        let of_path = callee.contains("Path");
        let last = callee.rsplit('.').next()?;
        let plain = |text: String| Some(Expression::of_text(text));
        let path = |text: String| Some(if of_path { Expression::of_path(text) } else { Expression::of_text(text) });
        if subject.is_some_and(|subject| subject.contains(FETCHED)) {
            return plain(FETCHED.to_string());
        }
        match last {
            "expanduser" | "expand_path" => path(self.at_home(first?)),
            "Path" | "PurePath" | "PosixPath" if of_path && !arguments.is_empty() => {
                Some(Expression::of_path(joined(arguments)))
            }
            "Pathname" | "new" if callee.starts_with("Pathname") && !arguments.is_empty() => {
                let name = Some("Pathname".to_owned());
                Some(Expression { name, ..Expression::of_text(joined(arguments)) })
            }
            "joinpath" => Some(Expression::of_path(format!("{}/{}", subject?, joined(arguments)))),
            // What has quotes in it is as good as a line.
            "split" if callee == "shlex.split" && text(0)?.contains(['"', '\'', '\\']) => plain(text(0)?.to_owned()),
            "split"
                if subject.is_some() && matches!(self.language, Language::Js | Language::Mongo | Language::Ruby) =>
            {
                let parts: Vec<&str> = match text(0) {
                    Some(mark) if !mark.trim().is_empty() => subject?.split(mark).collect(),
                    None if !arguments.is_empty() => return None,
                    Some("") => return None,
                    _ => subject?.split_whitespace().collect(),
                };
                let list = Some(parts.into_iter().map(value).collect());
                Some(Expression { list, ..Expression::default() })
            }
            "explode" if self.language == Language::Php && text(0).is_some_and(|mark| !mark.is_empty()) => {
                let list = Some(text(1)?.split(text(0)?).map(value).collect());
                Some(Expression { list, ..Expression::default() })
            }
            "split" if self.language == Language::Python && (callee == "shlex.split" || arguments.is_empty()) => {
                let list = Some(first?.split_whitespace().map(value).collect());
                Some(Expression { list, ..Expression::default() })
            }
            "join" if matches!(callee, "join") && matches!(self.language, Language::Js | Language::Ruby) => {
                let all: Option<Vec<String>> = carried.iter().map(|value| Some(value.known()?.into_owned())).collect();
                plain(all.filter(|all| !all.is_empty())?.join(text(0).unwrap_or(if self.language == Language::Js {
                    ","
                } else {
                    ""
                })))
            }
            "join" if callee.contains("path") || callee.starts_with("File") => plain(joined(arguments)),
            "join" if subject.is_some() => {
                let list = arguments.first()?.list.as_ref()?;
                let all: Option<Vec<String>> = list.iter().map(|value| Some(value.known()?.into_owned())).collect();
                plain(all?.join(subject?))
            }
            "resolve" | "normalize" | "abspath" | "realpath" | "absolute"
                if callee.to_ascii_lowercase().contains("path") =>
            {
                let all = if arguments.is_empty() { subject?.to_owned() } else { joined(arguments) };
                path(all)
            }
            "homedir" if arguments.is_empty() => plain(self.world.home.to_owned()),
            "home" if arguments.is_empty() && (of_path || callee.starts_with("Dir")) => {
                path(self.world.home.to_owned())
            }
            "getcwd" | "cwd" if arguments.is_empty() => path(".".to_owned()),
            "gettempdir" | "tmpdir" if arguments.is_empty() => plain("/tmp".to_owned()),
            "mkdtemp" | "mkdtempSync" | "mktmpdir" | "NamedTemporaryFile" | "mkstemp" | "TemporaryDirectory"
            | "tempdir" | "tempfile" | "tmpfile" | "tempnam" | "makeTempDirSync" => plain(TEMPORARY.to_string()),
            "decode" | "encode" | "toString" | "to_s" | "strip" | "trim" | "chomp" | "as_posix" => {
                plain(subject?.to_owned())
            }
            // The same elements, in another order or form.
            "sorted" | "list" | "tuple" | "set" | "reversed" | "frozenset" | "str" | "fspath" | "array_unique"
            | "array_filter" | "array_values"
                if arguments.first().is_some_and(|first| first.list.is_some()) =>
            {
                let first = arguments.first()?;
                Some(Expression { list: first.list.clone(), name: first.name.clone(), ..Expression::default() })
            }
            // A statement as an object.
            "text" | "SQL" | "DDL" if self.language == Language::Python && arguments.len() == 1 => {
                plain(text(0)?.to_owned())
            }
            "str" | "String" | "bytes" | "bytearray" | "fspath" if arguments.len() < 3 => plain(text(0)?.to_owned()),
            "compile" if self.language == Language::Python => plain(text(0)?.to_owned()),
            "URI" | "URL" | "parse" | "new" if callee.contains("UR") => plain(text(0)?.to_owned()),
            "chr" | "fromCharCode" if !arguments.is_empty() => {
                let letter = |argument: &Expression| {
                    let letter = char::from_u32(argument.raw.as_ref()?.parse().ok()?)?;
                    Some(denoted(letter.encode_utf8(&mut [0; 4])))
                };
                plain(arguments.iter().map(|argument| letter(argument).unwrap_or_else(|| HOLE.to_string())).collect())
            }
            // What is packed here may be unpacked here.
            "dumps" if matches!(callee, "pickle.dumps" | "marshal.dumps") => plain(String::new()),
            "format" if subject.is_some() => {
                plain(filled(subject?, arguments.iter().cloned().flat_map(Expression::values).collect()))
            }
            "concat" if subject.is_some() => {
                let part = |argument: &Expression| argument.text.clone().unwrap_or_else(|| HOLE.to_string());
                plain(arguments.iter().map(part).fold(subject?.to_owned(), |all, part| all + &part))
            }
            "replace" if subject.is_some() && !of_path => {
                let long = subject?.len().saturating_mul(text(1)?.len()) > MAX_TEXT;
                plain(if long { HOLE.to_string() } else { subject?.replace(text(0)?, text(1)?) })
            }
            "b64decode" | "decode64" | "strict_decode64" | "urlsafe_b64decode" | "urlsafe_decode64"
            | "decode_base64" | "base64_decode" | "atob" => plain(base64(text(0)?)),
            "from" if callee == "Buffer.from" => match text(1) {
                Some("base64" | "base64url") => plain(base64(text(0)?)),
                Some("hex") => plain(hexadecimal(text(0)?)),
                _ => plain(text(0)?.to_owned()),
            },
            "fromhex" | "unhexlify" | "hex2bin" => plain(hexadecimal(text(0)?)),
            "getenv" | "get" | "fetch" => plain(self.environment(&format!("{}.{}", before(callee), text(0)?))?),
            _ if globs::finds(self.language, callee) => {
                let patterns: Vec<Value> = arguments.first()?.clone().values();
                let of = if callee == "Pathname.glob" { self.of_paths() } else { Expression::default() };
                Some(Expression { list: Some(globs::found(&patterns)), ..of })
            }
            "glob" | "rglob" if of_path && text(0).is_some() => {
                let below = if last == "rglob" { "**/" } else { "" };
                let pattern = format!("{}/{below}{}", subject?.trim_end_matches('/'), text(0)?);
                Some(Expression { list: Some(vec![globs::globbed(&pattern)]), ..self.of_paths() })
            }
            "rglob" | "walk" | "find" if of_path => {
                let found = globs::globbed(&format!("{}/**", subject?.trim_end_matches('/')));
                Some(Expression { list: Some(vec![found]), ..self.of_paths() })
            }
            "iterdir" | "children" | "each_child" if of_path => {
                let found = globs::globbed(&format!("{}/*", subject?.trim_end_matches('/')));
                Some(Expression { list: Some(vec![found]), ..self.of_paths() })
            }
            "listdir" | "readdirSync" | "readdir" | "scandir" | "entries" | "children" | "each_child"
                if matches!(
                    callee.split('.').next(),
                    Some("os" | "fs" | "fs/promises" | "fs-extra" | "scandir" | "Dir")
                ) && (last != "scandir" || self.language == Language::Php) =>
            {
                plain(NAME.to_string())
            }
            // Fewer of them, or in another order.
            "filter" | "sort" | "reverse" | "slice" | "select" | "reject"
                if subject.is_some_and(|subject| subject.contains(NAME) || subject.contains(EACH)) =>
            {
                plain(subject?.to_owned())
            }
            "getusersitepackages" => plain(format!("{}/.local/lib/python3/site-packages", self.world.home)),
            "walk" | "walkSync" => plain(format!("{}{FOUND}", text(0)?)),
            _ => None,
        }
    }

    /// Paths as objects with methods.
    fn of_paths(&self) -> Expression {
        let name = if self.language == Language::Ruby { "Pathname" } else { "pathlib.Path" };
        Expression::of_name(name.to_owned())
    }

    /// What a variable of the environment holds, by the name of its place in code; the home alone is known.
    pub fn environment(&self, name: &str) -> Option<String> {
        /// The program that runs the code, by language and by the name under which the language gives it.
        const OWN: [(Language, &str, &str); 5] = [
            (Language::Python, "sys.executable", "python3"),
            (Language::Js, "process.execPath", "node"),
            (Language::Js, "process.argv0", "node"),
            (Language::Ruby, "RbConfig.ruby", "ruby"),
            (Language::Ruby, "Gem.ruby", "ruby"),
        ];
        if name == "Dir.home" {
            return Some(self.world.home.to_owned());
        }
        if let Some((.., own)) = OWN.iter().find(|(language, known, _)| (*language, *known) == (self.language, name)) {
            return Some((*own).to_owned());
        }
        let (place, key) = name.rsplit_once('.')?;
        let known = super::names::is_environment(place) || matches!(place, "environ" | "os");
        (known && matches!(key, "HOME" | "USERPROFILE")).then(|| self.world.home.to_owned())
    }

    /// A member of a text that is the same text: the name of a temporary file, what a response holds.
    pub fn same_text(&self, of: &Expression, part: &str) -> Option<Expression> {
        let text = of.text.as_ref()?;
        let same = text.contains(TEMPORARY) && matches!(part, "name" | "path")
            || text.contains(FETCHED) && matches!(part, "text" | "content" | "body" | "data");
        same.then(|| Expression::of_text(text.clone()))
    }

    /// Opening a file to write it, or a command to read from it.
    pub fn opens(&self, callee: &str, subject: Option<&str>, arguments: &[Expression]) -> Option<Call> {
        let text = |at: usize| arguments.get(at).and_then(|argument| argument.text.as_deref());
        let call = |callee: &str, path: &str| Some(Call::new(callee.to_owned(), vec![value(path)]));
        let last = callee.rsplit('.').next()?;
        if !matches!(last, "open" | "fopen" | "openSync" | "FileIO") {
            return self.opens_by_its_mode(callee, arguments);
        }
        if callee == "os.open" {
            let flag = |flags: &[&str]| {
                let named = |token: &Token| matches!(token, Token::Name(name) if flags.contains(&name.as_str()));
                self.tokens.iter().any(named)
            };
            // As the system counts them.
            let number = arguments.get(1).and_then(|flags| flags.raw.as_deref()?.parse::<u32>().ok()).unwrap_or(0);
            let (cuts, writes) = (number & 0o1000 != 0, number & 0o3 != 0);
            return match (cuts || flag(&["O_TRUNC"]), writes || flag(&["O_WRONLY", "O_CREAT", "O_APPEND"])) {
                (true, _) => call("os.truncate", text(0)?),
                (_, true) => call("open.append", text(0)?),
                _ => None,
            };
        }
        if self.language == Language::Perl {
            let (mode, path) = match (text(1)?.trim(), text(2)) {
                ("-|" | "|-", Some(command)) if arguments.len() == 3 => return call("pipe", command),
                ("-|" | "|-", Some(_)) => {
                    let args = arguments.iter().skip(2).cloned().flat_map(Expression::values).collect();
                    return Some(Call::new("systemx".to_owned(), args));
                }
                (mode, Some(path)) => (mode, path),
                (both, None) => {
                    if let Some(command) = both.strip_suffix('|').or_else(|| both.strip_prefix('|')) {
                        return call("pipe", command.trim());
                    }
                    both.split_at(both.len() - both.trim_start_matches(['>', '<', '+']).len())
                }
            };
            return match mode {
                mode if mode.contains(">>") => call("open.append", path.trim()),
                mode if mode.contains('>') || mode.contains('+') => call("open.write", path.trim()),
                _ => call("open", path.trim()),
            };
        }
        let settings = || arguments.iter().filter_map(|argument| argument.setting.as_ref());
        let named = settings().find(|(name, _)| name == "mode").map(|(_, mode)| mode.as_str());
        let own = callee.contains("Path") && subject.is_some();
        let mode = text(usize::from(!own)).or(named).filter(|mode| mode.len() < 6);
        let paths = match (own, arguments.first()) {
            (true, _) => vec![value(subject?)],
            // One name for each of the files that were looked for.
            (false, Some(Expression { list: Some(found), .. })) => found.clone(),
            (false, Some(Expression { text: Some(path), .. })) => match path.strip_prefix('|') {
                Some(command) if self.language == Language::Ruby => return call("pipe", command),
                _ => vec![value(path)],
            },
            _ => return None,
        };
        let opened = match mode? {
            mode if mode.contains('a') => "open.append",
            mode if mode.contains(['w', 'x', '+']) => "open.write",
            _ => return None,
        };
        Some(Call::new(opened.to_owned(), paths))
    }

    /// A call of any other name that is given a path and, behind it or by name, the way in which a file is opened to be
    /// written: `ZipFile("x", "w")`, `FileHandler("x", mode="w")`, `input("x", inplace=True)`.
    fn opens_by_its_mode(&self, callee: &str, arguments: &[Expression]) -> Option<Call> {
        if self.language != Language::Python {
            return None;
        }
        let setting = |names: &[&str]| {
            let settings = arguments.iter().filter_map(|argument| argument.setting.as_ref());
            settings.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str()).next()
        };
        let text = |at: usize| arguments.get(at).and_then(|argument| argument.text.as_deref());
        let path = text(0).or_else(|| setting(&["filename", "file", "name"]))?;
        if setting(&["inplace"]) == Some("True") {
            return Some(Call::new("open.write".to_owned(), vec![value(path)]));
        }
        // What is described says by itself what it takes.
        let mode = setting(&["mode", "filemode"]).or_else(|| text(1)).filter(|_| !(self.world.knows)(callee));
        let opened = mode.and_then(written_by_mode)?;
        Some(Call::new(opened.to_owned(), vec![value(path)]))
    }

    /// A function that is named as an argument: the name and what it is called with.
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
        let function = function.text.as_ref().filter(|_| takes)?;
        let of = callee.strip_suffix(last).filter(|of| self.language == Language::Ruby && !of.is_empty());
        Some((super::names::plain_name(self.language, format!("{}{function}", of.unwrap_or_default())), rest))
    }

    /// What a method is called of by a name that is not known, where Ruby calls it by that: `Kernel` where nothing is named.
    pub fn sends_unknown<'c>(&self, callee: &'c str, name: Option<&str>) -> Option<&'c str> {
        let (of, last) = callee.rsplit_once('.').unwrap_or(("Kernel", callee));
        let sends = self.language == Language::Ruby && matches!(last, "send" | "public_send" | "__send__");
        (sends && name.is_none_or(|name| name.contains(HOLE))).then_some(of)
    }

    /// A path with a tilde in front made whole.
    fn at_home(&self, text: &str) -> String {
        text.strip_prefix('~').map_or_else(|| text.to_owned(), |rest| format!("{}{rest}", self.world.home))
    }
}

/// What stands in front of the last part of a name; `os` where that is nothing.
fn before(callee: &str) -> &str {
    callee.rsplit_once('.').map_or("os", |(before, _)| before)
}

/// Parts of a path put together; an absolute part begins anew.
fn joined(arguments: &[Expression]) -> String {
    let mut all = String::new();
    for argument in arguments {
        let part = argument.text.clone().unwrap_or_else(|| HOLE.to_string());
        if part.starts_with('/') {
            all.clear();
        } else if !all.is_empty() && !all.ends_with('/') {
            all.push('/');
        }
        all.push_str(&part);
    }
    all
}

/// A pattern of text with its places filled: `%s`, `{}`. What does not fit is a hole.
pub(super) fn filled(pattern: &str, values: Vec<Value>) -> String {
    let mut values = values.into_iter();
    let mut all = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next().filter(|_| all.len() <= MAX_TEXT) {
        match c {
            '%' | '{' => {
                let ends =
                    |letter: char| if c == '{' { letter == '}' } else { letter.is_ascii_alphabetic() || letter == '%' };
                let kind = rest.by_ref().find(|letter| ends(*letter));
                match values.next().filter(|_| kind != Some('%')) {
                    Some(value) => {
                        all.push_str(&value.known().map_or_else(|| HOLE.to_string(), |text| text.into_owned()))
                    }
                    None => all.push_str(HOLE),
                }
            }
            c => all.push(c),
        }
    }
    all
}

fn base64(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    decoded(decode::base64(&plain))
}

fn hexadecimal(text: &str) -> String {
    decoded(decode::hexadecimal(text))
}

fn decoded(bytes: Option<Vec<u8>>) -> String {
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(|| HOLE.to_string(), |text| denoted(&text))
}
/// What is done to a file that is opened in this way: `w`, `xb`, `w+`, `w:gz`, `a`.
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
