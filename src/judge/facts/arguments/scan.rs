//! Telling options from operands, in the style of the program.

use super::{Arg, all_given, any_given};
use crate::judge::facts::act::{Flag, Value};
use crate::judge::rules::model::{Inner, OptionSpec, Program, Style, Sub, ValueKind, Wrap, WrapFrom};

/// The state of reading, and its result.
pub(super) struct Scan<'a> {
    pub program: &'a Program,
    pub args: &'a [Arg],
    pub sub: Option<&'a Sub>,
    /// The first operand, when the program has subcommands and it is none of them.
    pub unknown_sub: Option<String>,
    pub flags: Vec<Flag>,
    /// Operands, as indices into `args`.
    pub operands: Vec<usize>,
    /// Commands between a word like `-exec` and its `;`: the word and the arguments in between.
    pub enclosed: Vec<Enclosed<'a>>,
    /// A shell's `-s`.
    pub reads_stdin: bool,
    /// An option that names a module to run ended the options (`python -m`).
    pub runs_module: bool,
    at: usize,
    /// Words that may be the beginning of a subcommand path, as indices into `args`.
    path: Vec<usize>,
    path_open: bool,
    ended: bool,
    family: Family,
}

/// A command enclosed by `-exec` and `;`.
pub(super) struct Enclosed<'a> {
    pub word: String,
    pub args: &'a [Arg],
}

/// Interpreters whose options do not follow their style alone.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    /// `-c` and `-o` in a cluster take what follows the cluster; `+` also begins options.
    Shell,
    /// As a shell, but `-o` may have its value attached.
    Zsh,
    /// `-m` runs a module and ends the options.
    Python,
    Other,
}

impl<'a> Scan<'a> {
    pub fn new(program: &'a Program, args: &'a [Arg]) -> Self {
        let family = match program.runs.as_ref().map(|runs| runs.language.as_str()) {
            Some("shell") => Family::Shell,
            Some("zsh") => Family::Zsh,
            Some("python") => Family::Python,
            _ => Family::Other,
        };
        Self {
            program,
            args,
            sub: None,
            unknown_sub: None,
            flags: Vec::new(),
            operands: Vec::new(),
            enclosed: Vec::new(),
            reads_stdin: false,
            runs_module: false,
            at: 0,
            path: Vec::new(),
            path_open: !program.subs.is_empty(),
            ended: false,
            family,
        }
    }

    pub fn run(mut self) -> Self {
        if self.program.style == Style::Bundle
            && let Some(first) = self.args.first()
            && !first.value.leading().is_empty()
            && !first.value.leading().starts_with('-')
        {
            self.bundle(first);
        }
        while let Some(arg) = self.args.get(self.at) {
            if self.operands_are_raw() {
                self.operands.extend(self.at..self.args.len());
                break;
            }
            if self.enclosed(arg) {
                continue;
            }
            if self.after_word(arg) {
                break;
            }
            if self.ended || !self.option(arg) {
                self.operand(arg);
            }
        }
        self.close_path();
        self
    }

    /// The wraps that may apply with what is known so far.
    pub fn wraps(&self) -> impl Iterator<Item = &'a Wrap> + use<'a> {
        let program = if self.sub.is_some() { &[] } else { self.program.wraps.as_slice() };
        self.sub.map(|sub| sub.wraps.as_slice()).unwrap_or_default().iter().chain(program)
    }

    /// Whether a wrap is on, by its flags.
    pub fn is_on(&self, wrap: &Wrap) -> bool {
        all_given(&self.flags, &wrap.when) && !any_given(&self.flags, &wrap.unless)
    }

    /// The place among the operands where a wrap's command begins, when it stands there: after what is skipped and
    /// the assignments.
    pub fn command_at(&self, wrap: &Wrap) -> usize {
        let mut at = wrap.skip as usize;
        if wrap.assignments {
            // Assignments may stand in front of what is skipped or behind it.
            let is = |index: &usize| self.args.get(*index).is_some_and(|arg| assignment(&arg.value).is_some());
            let leading = self.operands.iter().take_while(|index| is(index)).count();
            at += leading;
            at += self.operands.iter().skip(at).take_while(|index| is(index)).count();
        }
        at
    }

    /// Whether everything from here on belongs to an inner command.
    fn operands_are_raw(&self) -> bool {
        if self.path_open && !self.operands.is_empty() {
            return false;
        }
        let mut wraps = self.wraps().filter(|wrap| wrap.from == WrapFrom::Operands);
        wraps.any(|wrap| self.is_on(wrap) && self.operands.len() > self.command_at(wrap))
    }

    /// The end of the options by style once an operand stands.
    fn operand_ends_options(&self) -> bool {
        let runs = self.sub.and_then(|sub| sub.runs.as_ref()).or(self.program.runs.as_ref());
        if runs.is_some_and(|runs| runs.script_operand) {
            return true;
        }
        if self.program.style != Style::Posix {
            return false;
        }
        // What a wrapper skips (`timeout 5`) may be followed by options again.
        let skip = self.wraps().filter(|wrap| wrap.from == WrapFrom::Operands).map(|wrap| self.command_at(wrap)).max();
        self.operands.len() > skip.unwrap_or(0)
    }

    fn operand(&mut self, arg: &Arg) {
        let index = self.at;
        self.at += 1;
        if self.program.style == Style::SingleDash && ["(", ")", "!", ","].iter().any(|word| arg.value.is(word)) {
            return;
        }
        if self.path_open && !self.ended_by_dashes(index) {
            if self.grow_path(index) {
                return;
            }
            self.close_path();
        }
        self.operands.push(index);
        if self.operand_ends_options() {
            self.ended = true;
        }
    }

    fn ended_by_dashes(&self, index: usize) -> bool {
        self.ended && index > 0
    }

    /// Takes the word as the next one of a subcommand path, when there is such a path.
    fn grow_path(&mut self, index: usize) -> bool {
        let program = self.program;
        let mut words: Vec<String> = self.path.iter().chain([&index]).map_while(|at| self.word(*at)).collect();
        if words.len() != self.path.len() + 1 {
            return false;
        }
        let mut grows = false;
        let mut extends = false;
        for sub in &program.subs {
            for path in &sub.paths {
                if path.len() >= words.len() && path.iter().zip(&words).all(|(one, other)| one == other) {
                    grows = true;
                    if path.len() == words.len() {
                        self.sub = Some(sub);
                    } else {
                        extends = true;
                    }
                }
            }
        }
        if grows {
            self.path.push(index);
            self.path_open = extends;
            if !extends {
                self.close_path();
            }
        } else if self.path.is_empty() {
            self.unknown_sub = words.pop();
            self.path_open = false;
            return true;
        }
        grows
    }

    fn word(&self, index: usize) -> Option<String> {
        self.args.get(index).and_then(|arg| arg.value.known()).map(|word| word.into_owned())
    }

    /// No further word belongs to the path: words beyond the longest subcommand are operands after all.
    fn close_path(&mut self) {
        self.path_open = false;
        let path = std::mem::take(&mut self.path);
        if path.is_empty() {
            return;
        }
        let words: Vec<String> = path.iter().map_while(|at| self.word(*at)).collect();
        let mut best: Option<(usize, &'a Sub)> = None;
        for sub in &self.program.subs {
            for known in &sub.paths {
                if words.starts_with(known) && best.is_none_or(|(length, _)| known.len() > length) {
                    best = Some((known.len(), sub));
                }
            }
        }
        let taken = if let Some((length, sub)) = best {
            self.sub = Some(sub);
            length
        } else {
            self.unknown_sub = words.into_iter().next();
            1
        };
        self.operands.splice(0..0, path.into_iter().skip(taken));
    }

    /// `find -exec … ;`
    fn enclosed(&mut self, arg: &Arg) -> bool {
        let args = self.args;
        let Some(word) = self.wraps().find_map(|wrap| match &wrap.from {
            WrapFrom::Until(words) => words.iter().find(|word| arg.value.is(word)),
            _ => None,
        }) else {
            return false;
        };
        if self.ended {
            return false;
        }
        let rest = args.get(self.at + 1..).unwrap_or_default();
        let end = rest.iter().enumerate().position(|(index, end)| {
            end.value.is(";")
                || (end.value.is("+") && index > 0 && rest.get(index - 1).is_some_and(|last| last.value.is("{}")))
        });
        let length = end.unwrap_or(rest.len());
        self.enclosed.push(Enclosed { word: word.clone(), args: rest.get(..length).unwrap_or_default() });
        self.flags.push(Flag { name: word.clone(), value: None, span: arg.span });
        self.at += length + 1 + usize::from(end.is_some());
        true
    }

    /// The word after which a command stands. The arguments behind it are no business of this program.
    fn after_word(&mut self, arg: &Arg) -> bool {
        let wrap = self.wraps().find(|wrap| match &wrap.from {
            WrapFrom::After(word) => self.is_on(wrap) && arg.value.is(word),
            _ => false,
        });
        let Some(wrap) = wrap else { return false };
        if let WrapFrom::After(word) = &wrap.from {
            let rest = self.args.get(self.at + 1..).unwrap_or_default();
            self.enclosed.push(Enclosed { word: word.clone(), args: rest });
        }
        self.at = self.args.len();
        true
    }

    /// Reads an option; `false` when it is none.
    fn option(&mut self, arg: &Arg) -> bool {
        let leading = arg.value.leading();
        match self.program.style {
            Style::None => false,
            Style::KeyValue => self.key_value(arg, &leading),
            _ if self.family == Family::Shell || self.family == Family::Zsh => self.shell_option(arg, &leading),
            _ if leading == "--" && arg.value.is("--") => {
                self.ended = true;
                self.at += 1;
                true
            }
            _ if leading.len() < 2 || !leading.starts_with('-') => false,
            _ if arg.value.has_glob() && !leading.contains('=') => false,
            Style::SingleDash => self.word_option(arg, &leading),
            Style::Gnu | Style::Posix | Style::Bundle => {
                if leading.starts_with("--") {
                    self.long_option(arg, &leading)
                } else {
                    self.cluster(arg, &leading)
                }
            }
        }
    }

    fn specs(&self) -> impl Iterator<Item = &'a OptionSpec> + use<'a> {
        let sub = self.sub.map(|sub| sub.options.as_slice()).unwrap_or_default();
        sub.iter().chain(&self.program.options)
    }

    fn spec(&self, name: &str) -> Option<&'a OptionSpec> {
        self.specs().find(|spec| spec.names.iter().any(|known| known == name))
    }

    /// The described long option that `name` abbreviates, when there is only one.
    fn abbreviated(&self, name: &str) -> Option<&'a OptionSpec> {
        if name.len() < 3 {
            return None;
        }
        let mut found: Option<&'a OptionSpec> = None;
        for spec in self.specs() {
            if spec.names.iter().any(|known| known.starts_with(name)) {
                match found {
                    Some(other) if other.names.first() != spec.names.first() => return None,
                    _ => found = Some(spec),
                }
            }
        }
        found
    }

    fn push(&mut self, spec: Option<&OptionSpec>, name: &str, value: Option<Value>, arg: &Arg) {
        let name = spec.and_then(|spec| spec.names.first()).map_or(name, String::as_str);
        self.flags.push(Flag { name: name.to_owned(), value, span: arg.span });
        self.at += 1;
    }

    /// Pushes a flag whose value is the next argument, when there is one.
    fn push_with_next(&mut self, spec: &OptionSpec, name: &str, arg: &Arg) {
        let next = self.args.get(self.at + 1);
        let span = next.map_or(arg.span, |next| arg.span.to(next.span));
        let value = next.map(|next| next.value.clone());
        self.at += usize::from(next.is_some());
        self.push(Some(spec), name, value, &Arg { value: Value::default(), span });
        self.ends_with(spec);
    }

    /// An option whose value is a command, or a module, ends the options: the rest are arguments of that.
    fn ends_with(&mut self, spec: &OptionSpec) {
        let is = |name: &String| spec.names.contains(name);
        let command = self.wraps().any(|wrap| {
            wrap.inner == Inner::Argv && matches!(&wrap.from, WrapFrom::Option(names) if names.iter().any(is))
        });
        let module = self.family == Family::Python && spec.names.iter().any(|name| name == "-m");
        let code = self.family == Family::Python && spec.names.iter().any(|name| name == "-c");
        self.runs_module |= module;
        self.ended |= command || module || code;
    }

    fn long_option(&mut self, arg: &Arg, leading: &str) -> bool {
        let (name, attached) = match leading.split_once('=') {
            Some((name, _)) => (name, Some(arg.value.without_leading(name.len() + 1))),
            None => (leading, None),
        };
        let spec = self.spec(name).or_else(|| self.abbreviated(name));
        match (spec, attached) {
            (Some(spec), None) if spec.value == ValueKind::Required && !arg.value.is_dynamic() => {
                self.push_with_next(spec, name, arg);
            }
            (spec, attached) => {
                self.push(spec, name, attached, arg);
                if let Some(spec) = spec {
                    self.ends_with(spec);
                }
            }
        }
        true
    }

    /// One dash and a word: `-name`, `-var=x`; two dashes are taken as one.
    fn word_option(&mut self, arg: &Arg, leading: &str) -> bool {
        let (name, attached) = match leading.split_once('=') {
            Some((name, _)) => (name, Some(arg.value.without_leading(name.len() + 1))),
            None => (leading, None),
        };
        let other = match name.strip_prefix("--") {
            Some(word) => format!("-{word}"),
            None => format!("-{name}"),
        };
        let Some(spec) = self.spec(name).or_else(|| self.spec(&other)) else {
            // `java -Xmx1g`, `-Dkey=value`: a described prefix takes the rest as its value.
            let prefix = self.specs().find(|spec| {
                spec.value != ValueKind::None
                    && spec.names.iter().any(|known| known.len() == 2 && leading.starts_with(known.as_str()))
            });
            match prefix {
                Some(spec) => self.push(Some(spec), name, Some(arg.value.without_leading(2)), arg),
                None => self.push(None, name, attached, arg),
            }
            return true;
        };
        if spec.value == ValueKind::Required && attached.is_none() {
            self.push_with_next(spec, name, arg);
        } else {
            self.push(Some(spec), name, attached, arg);
        }
        true
    }

    /// Short options in one word.
    fn cluster(&mut self, arg: &Arg, leading: &str) -> bool {
        // A described name of several letters (`-exec`, `-SIGKILL`) comes first.
        let (whole, attached) = match leading.split_once('=') {
            Some((name, _)) => (name, Some(arg.value.without_leading(name.len() + 1))),
            None => (leading, None),
        };
        if whole.len() > 2
            && let Some(spec) = self.spec(whole)
        {
            match attached {
                None if spec.value == ValueKind::Required => self.push_with_next(spec, whole, arg),
                attached => self.push(Some(spec), whole, attached, arg),
            }
            return true;
        }
        // `-20`, `-9`: a number is one option.
        let digits = leading.get(1..).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        if digits && !arg.value.is_dynamic() && leading.get(..2).is_none_or(|first| self.spec(first).is_none()) {
            self.push(None, leading, None, arg);
            return true;
        }
        for (offset, letter) in leading.char_indices().skip(1) {
            let name = format!("-{letter}");
            let end = offset + letter.len_utf8();
            let rest = arg.value.without_leading(end);
            let spec = self.spec(&name);
            match spec.map(|spec| (spec, spec.value)) {
                Some((spec, ValueKind::Required)) => {
                    if rest.is_empty() {
                        self.push_with_next(spec, &name, arg);
                    } else {
                        self.push(Some(spec), &name, Some(rest), arg);
                        self.ends_with(spec);
                    }
                    return true;
                }
                Some((spec, ValueKind::Optional)) => {
                    let value = if rest.is_empty() { None } else { Some(rest) };
                    self.push(Some(spec), &name, value, arg);
                    return true;
                }
                _ => {
                    self.push(spec, &name, None, arg);
                    self.at -= 1;
                }
            }
        }
        // What follows an unknown piece in the cluster may be any option.
        if arg.value.is_dynamic() {
            self.flags.push(Flag { name: "-".into(), value: Some(arg.value.clone()), span: arg.span });
        }
        self.at += 1;
        true
    }

    /// A shell's options: `-lc`, `+e`, `-eo pipefail`, `-O extglob`, `--norc`.
    fn shell_option(&mut self, arg: &Arg, leading: &str) -> bool {
        if arg.value.is("--") || arg.value.is("-") {
            self.ended = true;
            self.at += 1;
            return true;
        }
        if leading.len() < 2 || !(leading.starts_with('-') || leading.starts_with('+')) {
            return false;
        }
        if leading.starts_with("--") {
            return self.long_option(arg, leading);
        }
        let sign = if leading.starts_with('+') { '+' } else { '-' };
        self.at += 1;
        for (offset, letter) in leading.char_indices().skip(1) {
            let name = format!("{sign}{letter}");
            let dashed = format!("-{letter}");
            let spec = self.spec(&dashed);
            let code = self.is_code(&dashed);
            let takes =
                !code && (letter == 'o' || letter == 'O' || spec.is_some_and(|spec| spec.value == ValueKind::Required));
            let mut flag = Flag { name, value: None, span: arg.span };
            if sign == '-'
                && let Some(known) = spec.and_then(|spec| spec.names.first())
            {
                flag.name.clone_from(known);
            }
            let rest = arg.value.without_leading(offset + letter.len_utf8());
            if takes && self.family == Family::Zsh && !rest.is_empty() {
                flag.value = Some(rest);
                self.flags.push(flag);
                return true;
            }
            if takes && let Some(next) = self.args.get(self.at) {
                flag.value = Some(next.value.clone());
                self.at += 1;
            }
            self.reads_stdin |= sign == '-' && letter == 's';
            self.flags.push(flag);
        }
        true
    }

    /// Whether this is an option whose value is code.
    fn is_code(&self, name: &str) -> bool {
        let spellings = self.spec(name).map(|spec| spec.names.as_slice()).unwrap_or_default();
        let is = |code: &String| code == name || spellings.contains(code);
        self.program.runs.as_ref().is_some_and(|runs| runs.code.iter().any(is))
    }

    fn key_value(&mut self, arg: &Arg, leading: &str) -> bool {
        let Some((key, _)) = leading.split_once('=') else {
            return if leading.starts_with("--") && leading.len() > 2 { self.long_option(arg, leading) } else { false };
        };
        let value = arg.value.without_leading(key.len() + 1);
        let name = format!("{key}=");
        let spec = self.spec(&name).or_else(|| self.spec(key));
        let canonical = spec.and_then(|spec| spec.names.first()).map_or(name.clone(), |first| {
            if first.ends_with('=') || first.starts_with('-') { first.clone() } else { format!("{first}=") }
        });
        self.flags.push(Flag { name: canonical, value: Some(value), span: arg.span });
        self.at += 1;
        true
    }

    /// The first argument of `tar xzf a.tar`: a cluster without a dash whose values are the next arguments.
    fn bundle(&mut self, first: &Arg) {
        self.at = 1;
        for letter in first.value.leading().chars() {
            let name = format!("-{letter}");
            let spec = self.spec(&name);
            let canonical = spec.and_then(|spec| spec.names.first()).cloned().unwrap_or(name);
            let mut flag = Flag { name: canonical, value: None, span: first.span };
            if spec.is_some_and(|spec| spec.value == ValueKind::Required)
                && let Some(next) = self.args.get(self.at)
            {
                flag.value = Some(next.value.clone());
                flag.span = flag.span.to(next.span);
                self.at += 1;
            }
            self.flags.push(flag);
        }
    }
}

/// `NAME=value`: the name and the rest.
pub(super) fn assignment(value: &Value) -> Option<(String, Value)> {
    let leading = value.leading();
    let (name, _) = leading.split_once('=')?;
    let mut letters = name.chars();
    let first = letters.next()?;
    let fits = (first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    fits.then(|| (name.to_owned(), value.without_leading(name.len() + 1)))
}
