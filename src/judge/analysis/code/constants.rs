//! Calls whose result can be told from their arguments, and calls that stand for another.

use super::calls::CallReader;
use super::each::put_together;
use super::expression::{Expression, MAX_TEXT};
use super::scan::Token;
use super::{Call, Gap, Language, Sign, Slice, Text, globs, value};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::decode;

impl CallReader<'_> {
    /// What a call gives, where that can be told.
    pub fn known_result(&self, callee: &str, of: &Expression, arguments: &[Expression]) -> Option<Expression> {
        let (subject, carried) = (of.subject.as_ref().map(Text::slice), &of.carried);
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.slice());
        let first = text(0).or(subject);
        let of_path = callee.contains("Path");
        let last = callee.rsplit('.').next()?;
        let plain = |text: Text| Some(Expression::of_text(text));
        let path = |text: Text| Some(if of_path { Expression::of_path(text) } else { Expression::of_text(text) });
        let same = |text: Slice<'_>| Some(Expression::of_text(text));
        if subject.is_some_and(|subject| subject.has(Gap::Fetched)) {
            return plain(Gap::Fetched.into());
        }
        match last {
            // `File.expand_path("..", __dir__)`
            "expand_path" | "absolute_path" if text(1).is_some_and(|_| !first.is_some_and(is_whole)) => {
                plain(Text::joined([above(text(1)?), "/".into(), text(0)?]))
            }
            "expanduser" | "expand_path" => path(self.at_home(first?)),
            "dirname" if !arguments.is_empty() => {
                let levels = arguments.get(1).and_then(|levels| levels.raw.as_ref()?.known()?.parse().ok());
                plain(
                    (0..levels.unwrap_or(1).min(MAX_LEVELS)).fold(text(0)?.into(), |of: Text, _| directory(of.slice())),
                )
            }
            "with_name" if of_path => path(Text::joined([directory(subject?).slice(), "/".into(), text(0)?])),
            "fileURLToPath" => plain(text(0)?.cut(without_scheme).into()),
            "URL" if text(1).is_some_and(|of| of.rough().starts_with(FILE)) => {
                plain(Text::joined([directory(text(1)?).slice(), "/".into(), text(0)?]))
            }
            "Path" | "PurePath" | "PosixPath" if of_path && !arguments.is_empty() => Some(self.path_of(arguments)),
            "Pathname" | "new" if callee.starts_with("Pathname") && !arguments.is_empty() => {
                Some(self.path_of(arguments))
            }
            "joinpath" | "join" if of_path && (subject.is_some() || of.list.is_some()) => {
                let of = Expression { text: of.subject.clone(), list: of.list.clone(), ..Expression::default() };
                let all: Vec<Expression> = std::iter::once(of).chain(arguments.iter().cloned()).collect();
                Some(self.path_of(&all))
            }
            // What has quotes in it is as good as a line.
            "split" if callee == "shlex.split" && text(0)?.rough().contains(['"', '\'', '\\']) => same(text(0)?),
            "split"
                if subject.is_some() && matches!(self.language, Language::Js | Language::Mongo | Language::Ruby) =>
            {
                let list = match text(0) {
                    Some(mark) if !mark.trim().is_empty() => parted(subject?, mark),
                    None if !arguments.is_empty() => return None,
                    Some(mark) if mark.is_empty() => return None,
                    _ => words(subject?),
                };
                Some(Expression { list: Some(list), ..Expression::default() })
            }
            "explode" if self.language == Language::Php && text(0).is_some_and(|mark| !mark.is_empty()) => {
                let list = Some(parted(text(1)?, text(0)?));
                Some(Expression { list, ..Expression::default() })
            }
            "split" if self.language == Language::Python && (callee == "shlex.split" || arguments.is_empty()) => {
                let list = Some(words(first?));
                Some(Expression { list, ..Expression::default() })
            }
            "join" if matches!(callee, "join") && matches!(self.language, Language::Js | Language::Ruby) => {
                let all: Option<Vec<String>> = carried.iter().map(|value| Some(value.known()?.into_owned())).collect();
                let between = if self.language == Language::Js { "," } else { "" };
                plain(strung(&all.filter(|all| !all.is_empty())?, text(0).unwrap_or(between.into())))
            }
            "join" if callee.contains("path") || callee.starts_with("File") => {
                Some(Expression { name: None, ..self.path_of(arguments) })
            }
            "join" if subject.is_some() => {
                let list = arguments.first()?.list.as_ref()?;
                let all: Option<Vec<String>> = list.iter().map(|value| Some(value.known()?.into_owned())).collect();
                plain(strung(&all?, subject?))
            }
            "resolve" | "normalize" | "abspath" | "realpath" | "absolute"
                if callee.to_ascii_lowercase().contains("path") =>
            {
                if arguments.is_empty() {
                    return path(plain_path(subject?.into()));
                }
                let all = put_together(arguments, |texts| plain_path(joined(texts)));
                Some(if of_path { Expression { name: self.of_paths().name, ..all } } else { all })
            }
            "homedir" if arguments.is_empty() => plain(self.world.home.into()),
            "home" if arguments.is_empty() && (of_path || callee.starts_with("Dir")) => path(self.world.home.into()),
            "getcwd" | "cwd" if arguments.is_empty() => path(".".into()),
            "gettempdir" | "tmpdir" if arguments.is_empty() => plain("/tmp".into()),
            "mkdtemp" | "mkdtempSync" | "mktmpdir" | "NamedTemporaryFile" | "mkstemp" | "TemporaryDirectory"
            | "tempdir" | "tempfile" | "tmpfile" | "tempnam" | "makeTempDirSync" => plain(Gap::Temporary.into()),
            "decode" | "encode" | "toString" | "to_s" | "strip" | "trim" | "chomp" | "as_posix" => same(subject?),
            // The same elements, in another order or form.
            "sorted" | "list" | "tuple" | "set" | "reversed" | "frozenset" | "str" | "fspath" | "array_unique"
            | "array_filter" | "array_values"
                if arguments.first().is_some_and(|first| first.list.is_some()) =>
            {
                let first = arguments.first()?;
                Some(Expression { list: first.list.clone(), name: first.name.clone(), ..Expression::default() })
            }
            // A statement as an object.
            "text" | "SQL" | "DDL" if self.language == Language::Python && arguments.len() == 1 => same(text(0)?),
            "str" | "String" | "bytes" | "bytearray" | "fspath" if arguments.len() < 3 => same(text(0)?),
            "compile" if self.language == Language::Python => same(text(0)?),
            "URI" | "URL" | "parse" | "new" if callee.contains("UR") => same(text(0)?),
            "chr" | "fromCharCode" if !arguments.is_empty() => {
                let letter = |argument: &Expression| {
                    char::from_u32(argument.raw.as_ref()?.known()?.parse().ok()?).map(Sign::Letter)
                };
                plain(arguments.iter().map(|argument| letter(argument).unwrap_or(Sign::Gap(Gap::Value))).collect())
            }
            // What is packed here may be unpacked here.
            "dumps" if matches!(callee, "pickle.dumps" | "marshal.dumps") => plain(Text::default()),
            "format" if subject.is_some() => {
                plain(filled(subject?, arguments.iter().cloned().flat_map(Expression::values).collect()))
            }
            "concat" if subject.is_some() => {
                let mut all = Text::from(subject?);
                arguments.iter().for_each(|argument| all.push_text(&part(argument)));
                plain(all)
            }
            "replace" if subject.is_some() && !of_path => {
                let long = subject?.len().saturating_mul(text(1)?.len()) > MAX_TEXT;
                let from = text(0)?.known().filter(|from| !long && !from.is_empty());
                let (of, to) = (subject?, text(1)?);
                plain(from.map_or_else(|| Gap::Value.into(), |from| replaced(of, from, to)))
            }
            "b64decode" | "decode64" | "strict_decode64" | "urlsafe_b64decode" | "urlsafe_decode64"
            | "decode_base64" | "base64_decode" | "atob" => plain(base64(text(0)?.known())),
            "from" if callee == "Buffer.from" => match text(1).and_then(Slice::known) {
                Some("base64" | "base64url") => plain(base64(text(0)?.known())),
                Some("hex") => plain(hexadecimal(text(0)?.known())),
                _ => same(text(0)?),
            },
            "fromhex" | "unhexlify" | "hex2bin" => plain(hexadecimal(text(0)?.known())),
            "getenv" | "get" | "fetch" => {
                plain(self.environment(&format!("{}.{}", before(callee), text(0)?.rough()))?.into())
            }
            _ if globs::finds(self.language, callee) => {
                let patterns: Vec<Value> = arguments.first()?.clone().values();
                let of = if callee == "Pathname.glob" { self.of_paths() } else { Expression::default() };
                Some(Expression { list: Some(globs::found(&patterns)), ..of })
            }
            "glob" | "rglob" if of_path && text(0).is_some() => {
                let below = if last == "rglob" { "**/" } else { "" };
                let pattern = Text::joined([above(subject?), "/".into(), below.into(), text(0)?]);
                Some(Expression { list: Some(vec![globs::globbed(&pattern)]), ..self.of_paths() })
            }
            "rglob" | "walk" | "find" if of_path => {
                let found = globs::globbed(&Text::joined([above(subject?), "/**".into()]));
                Some(Expression { list: Some(vec![found]), ..self.of_paths() })
            }
            "iterdir" | "children" | "each_child" if of_path => {
                let found = globs::globbed(&Text::joined([above(subject?), "/*".into()]));
                Some(Expression { list: Some(vec![found]), ..self.of_paths() })
            }
            "listdir" | "readdirSync" | "readdir" | "scandir" | "entries" | "children" | "each_child"
                if matches!(
                    callee.split('.').next(),
                    Some("os" | "fs" | "fs/promises" | "fs-extra" | "scandir" | "Dir")
                ) && (last != "scandir" || self.language == Language::Php) =>
            {
                plain(Gap::Name.into())
            }
            // Fewer of them, or in another order.
            "filter" | "sort" | "reverse" | "slice" | "select" | "reject"
                if subject.is_some_and(|subject| subject.has(Gap::Name) || subject.has(Gap::Each)) =>
            {
                same(subject?)
            }
            "getusersitepackages" => plain(format!("{}/.local/lib/python3/site-packages", self.world.home).into()),
            "walk" | "walkSync" => plain(Text::joined([text(0)?, Text::from(Gap::Found).slice()])),
            _ => None,
        }
    }

    /// A path as an object, or each of several, of parts that are put together.
    pub fn path_of(&self, parts: &[Expression]) -> Expression {
        Expression { name: self.of_paths().name, ..put_together(parts, joined) }
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
        if self.language.home().contains(&name) {
            return Some(self.world.home.to_owned());
        }
        if let Some((.., own)) = OWN.iter().find(|(language, known, _)| (*language, *known) == (self.language, name)) {
            return Some((*own).to_owned());
        }
        let (place, key) = name.rsplit_once('.')?;
        let known = super::names::is_environment(place) || matches!(place, "environ" | "os");
        (known && matches!(key, "HOME" | "USERPROFILE")).then(|| self.world.home.to_owned())
    }

    /// The place of the file that the code stands in, where a name stands for it or for its directory.
    pub fn own_place(&self, name: &str) -> Option<Text> {
        let [files, dirs, addresses] = self.language.own_place();
        let file = self.world.file;
        let place: Text = if files.contains(&name) {
            file.into()
        } else if addresses.contains(&name) {
            format!("{FILE}{file}").into()
        } else if dirs.contains(&name) {
            directory(file.into())
        } else {
            return None;
        };
        Some(if file.is_empty() { Gap::Value.into() } else { place })
    }

    /// A directory above a path that is an object: `.parent`, `.parents[1]`.
    pub fn above_path(&mut self, of: &Expression, part: &str) -> Option<Expression> {
        let path = of.text.as_ref()?.slice();
        if path.rough().starts_with(FILE) && matches!(part, "pathname" | "href") {
            return Some(Expression::of_text(path.cut(without_scheme)));
        }
        let name = of.name.as_deref().filter(|name| name.contains("Path"))?;
        let levels = match part {
            "parent" => 1,
            "parents" if self.mark(0, '[') && self.mark(2, ']') => {
                let Some(Token::Number(level)) = self.peek(1) else { return None };
                let level: usize = level.parse().ok()?;
                self.at += 3;
                level.saturating_add(1)
            }
            _ => return None,
        };
        let text = (0..levels.min(MAX_LEVELS)).fold(Text::from(path), |of, _| directory(of.slice()));
        Some(Expression { name: Some(name.to_owned()), ..Expression::of_text(text) })
    }

    /// A member of a text that is the same text: the name of a temporary file, what a response holds.
    pub fn same_text(&self, of: &Expression, part: &str) -> Option<Expression> {
        let text = of.text.as_ref()?;
        let same = text.has(Gap::Temporary) && matches!(part, "name" | "path")
            || text.has(Gap::Fetched) && matches!(part, "text" | "content" | "body" | "data");
        same.then(|| Expression::of_text(text.clone()))
    }

    /// Opening a file to write it, or a command to read from it.
    pub fn opens(&self, callee: &str, subject: Option<Slice<'_>>, arguments: &[Expression]) -> Option<Call> {
        let text = |at: usize| Some(arguments.get(at)?.text.as_ref()?.slice());
        let call = |callee: &str, path: Slice<'_>| Some(Call::new(callee.to_owned(), vec![value(path)]));
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
            let number =
                arguments.get(1).and_then(|flags| flags.raw.as_ref()?.known()?.parse::<u32>().ok()).unwrap_or(0);
            let (cuts, writes) = (number & 0o1000 != 0, number & 0o3 != 0);
            return match (cuts || flag(&["O_TRUNC"]), writes || flag(&["O_WRONLY", "O_CREAT", "O_APPEND"])) {
                (true, _) => call("os.truncate", text(0)?),
                (_, true) => call("open.append", text(0)?),
                _ => None,
            };
        }
        if self.language == Language::Perl {
            let both = text(1)?.trim();
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
            return match mode {
                mode if mode.contains(">>") => call("open.append", path.trim()),
                mode if mode.contains('>') || mode.contains('+') => call("open.write", path.trim()),
                _ => call("open", path.trim()),
            };
        }
        let settings = || arguments.iter().filter_map(|argument| argument.setting.as_ref());
        let named = settings().find(|(name, _)| name == "mode").map(|(_, mode)| mode.slice());
        let own = callee.contains("Path") && subject.is_some();
        let mode = text(usize::from(!own)).or(named).filter(|mode| mode.len() < 6);
        let paths = match (own, arguments.first()) {
            (true, _) => vec![value(subject?)],
            // One name for each of the files that were looked for.
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

    /// A call of any other name that is given a path and, behind it or by name, the way in which a file is opened to be
    /// written: `ZipFile("x", "w")`, `FileHandler("x", mode="w")`, `input("x", inplace=True)`.
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
        // What is described says by itself what it takes.
        let mode = setting(&["mode", "filemode"]).or_else(|| text(1)).filter(|_| !(self.world.knows)(callee));
        let opened = mode.and_then(|mode| written_by_mode(mode.known()?))?;
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
        let function = function.text.as_ref().filter(|_| takes)?.rough();
        let of = callee.strip_suffix(last).filter(|of| self.language == Language::Ruby && !of.is_empty());
        Some((super::names::plain_name(self.language, format!("{}{function}", of.unwrap_or_default())), rest))
    }

    /// What a method is called of by a name that is not known, where Ruby calls it by that: `Kernel` where nothing is named.
    pub fn sends_unknown<'c>(&self, callee: &'c str, name: Option<Slice<'_>>) -> Option<&'c str> {
        let (of, last) = callee.rsplit_once('.').unwrap_or(("Kernel", callee));
        let sends = self.language == Language::Ruby && matches!(last, "send" | "public_send" | "__send__");
        (sends && name.is_none_or(Slice::has_gaps)).then_some(of)
    }

    /// A path with a tilde in front made whole.
    fn at_home(&self, text: Slice<'_>) -> Text {
        let rest = text.find(|text| text.strip_prefix('~'));
        rest.map_or_else(|| text.into(), |rest| Text::joined([self.world.home.into(), rest]))
    }
}

/// What stands in front of the last part of a name; `os` where that is nothing.
fn before(callee: &str) -> &str {
    callee.rsplit_once('.').map_or("os", |(before, _)| before)
}

/// How an address of a file begins.
const FILE: &str = "file://";

/// The most directories that are gone up at once.
const MAX_LEVELS: usize = 32;

fn without_scheme(address: &str) -> &str {
    address.strip_prefix(FILE).unwrap_or(address)
}

/// Whether a path does not hang on another one.
fn is_whole(path: Slice<'_>) -> bool {
    path.rough().starts_with(['/', '~'])
}

/// The directory of a path, as its text says it. Of one that says nothing of where it lies it is not known.
fn directory(path: Slice<'_>) -> Text {
    let path = above(path);
    match path.find(|path| path.rsplit_once('/').map(|(dir, _)| dir)) {
        Some(dir) if dir.is_empty() => "/".into(),
        Some(dir) => dir.into(),
        None if path.has_gaps() => Gap::Value.into(),
        None => ".".into(),
    }
}

/// A path without `.` and `..` in it, where all of it is known.
fn plain_path(path: Text) -> Text {
    let Some(known) = path.known().filter(|known| known.contains("/.")) else { return path };
    let mut parts: Vec<&str> = Vec::new();
    for part in known.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/").into()
}

/// Parts of a path put together; an absolute part begins anew.
fn joined(parts: &[Text]) -> Text {
    let mut all = Text::default();
    for part in parts {
        if part.rough().starts_with('/') {
            all = Text::default();
        } else if !all.is_empty() && !all.rough().ends_with('/') {
            all.push(Sign::Letter('/'));
        }
        all.push_text(part);
    }
    all
}

/// The text of an argument, as far as it is known.
fn part(argument: &Expression) -> Text {
    argument.text.clone().unwrap_or_else(|| Gap::Value.into())
}

/// A directory without the slash behind it.
fn above(dir: Slice<'_>) -> Slice<'_> {
    dir.cut(|dir| dir.trim_end_matches('/'))
}

/// The words of a text.
fn words(text: Slice<'_>) -> Vec<Value> {
    text.rough().split_whitespace().map(|word| value(text.part(word))).collect()
}

/// The parts of a text between marks of this kind.
fn parted(text: Slice<'_>, mark: Slice<'_>) -> Vec<Value> {
    match mark.known() {
        Some(mark) => text.rough().split(mark).map(|part| value(text.part(part))).collect(),
        None => vec![super::unknown()],
    }
}

/// Texts with another one between them.
fn strung(texts: &[String], between: Slice<'_>) -> Text {
    let mut all = Text::default();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            all.push_text(between);
        }
        all.push_text(text);
    }
    all
}

/// A text with another one in the place of each of these. What is not known of it has none of them in it.
fn replaced(text: Slice<'_>, from: &str, to: Slice<'_>) -> Text {
    let mut all = Text::default();
    for (index, kept) in text.rough().split(from).enumerate() {
        if index > 0 {
            all.push_text(to);
        }
        all.push_text(text.part(kept));
    }
    all
}

/// A pattern of text with its places filled: `%s`, `{}`. What does not fit is a hole.
pub(super) fn filled(pattern: Slice<'_>, values: Vec<Value>) -> Text {
    let mut values = values.into_iter();
    let mut all = Text::default();
    let mut rest = pattern.signs();
    while let Some(sign) = rest.next().filter(|_| all.len() <= MAX_TEXT) {
        match sign.letter() {
            c @ ('%' | '{') => {
                let ends =
                    |letter: char| if c == '{' { letter == '}' } else { letter.is_ascii_alphabetic() || letter == '%' };
                let kind = rest.by_ref().map(Sign::letter).find(|letter| ends(*letter));
                match values.next().filter(|_| kind != Some('%')) {
                    Some(value) => match value.known() {
                        Some(text) => all.push_text(&*text),
                        None => all.push_gap(Gap::Value),
                    },
                    None => all.push_gap(Gap::Value),
                }
            }
            _ => all.push(sign),
        }
    }
    all
}

fn base64(text: Option<&str>) -> Text {
    let Some(text) = text else { return Gap::Value.into() };
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

fn hexadecimal(text: Option<&str>) -> Text {
    decoded(text.and_then(decode::hexadecimal))
}

fn decoded(bytes: Option<Vec<u8>>) -> Text {
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(|| Gap::Value.into(), Text::from)
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
