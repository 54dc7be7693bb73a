//! Parses an option by the syntax of the program.

use super::Arg;
use super::scan::{ArgumentScan, Family};
use crate::judge::analysis::act::{Flag, Value};
use crate::judge::rules::model::{Inner, OptionSpec, OptionStyle, ValueKind, WrapFrom};

impl<'a> ArgumentScan<'a> {
    /// Parses an option; `false` if the argument is not one.
    pub(super) fn option(&mut self, arg: &Arg) -> bool {
        let leading = arg.value.leading();
        match self.program.style {
            // An option that the parser of code added is not an argument of the call.
            OptionStyle::None if arg.value.is_option() => {
                self.at += 1;
                true
            }
            OptionStyle::None => false,
            OptionStyle::KeyValue => self.key_value(arg, &leading),
            _ if self.family == Family::Shell || self.family == Family::Zsh => self.shell_option(arg, &leading),
            _ if leading == "--" && arg.value.is("--") => {
                self.ended = true;
                self.at += 1;
                true
            }
            _ if leading.len() > 1 && leading.starts_with('+') && self.spec("+").is_some() => {
                let value = arg.value.without_leading(1);
                self.push(self.spec("+"), "+", Some(value), arg);
                true
            }
            _ if leading.len() < 2 || !leading.starts_with('-') => false,
            _ if arg.value.has_glob() && !leading.contains('=') => false,
            OptionStyle::SingleDash | OptionStyle::Expression => self.word_option(arg, &leading),
            OptionStyle::Gnu | OptionStyle::Posix | OptionStyle::Bundle => {
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

    /// Returns the described long option that `name` abbreviates, if it is unique. Options of the subcommand take
    /// precedence.
    fn abbreviated(&self, name: &str) -> Option<&'a OptionSpec> {
        if name.len() < 3 {
            return None;
        }
        let own = self.sub.map(|sub| sub.options.as_slice()).unwrap_or_default();
        for specs in [own, self.program.options.as_slice()] {
            let mut fits = specs.iter().filter(|spec| spec.names.iter().any(|known| known.starts_with(name)));
            if let Some(first) = fits.next() {
                return fits.all(|other| other.names.first() == first.names.first()).then_some(first);
            }
        }
        None
    }

    /// Removes `--x` for `--no-x`, if only the former is described.
    fn takes_back(&mut self, name: &str) {
        let Some(word) = name.strip_prefix("--no-") else { return };
        if let Some(first) = self.spec(&format!("--{word}")).and_then(|spec| spec.names.first()) {
            self.flags.retain(|flag| flag.name != *first);
        }
    }

    fn push(&mut self, spec: Option<&OptionSpec>, name: &str, value: Option<Value>, arg: &Arg) {
        let name = spec.and_then(|spec| spec.names.first()).map_or(name, String::as_str);
        self.flags.push(Flag { name: name.to_owned(), value, span: arg.span });
        self.at += 1;
    }

    /// Adds a flag whose value is the next argument, if there is one.
    fn push_with_next(&mut self, spec: &OptionSpec, name: &str, arg: &Arg) {
        let next = self.args.get(self.at + 1);
        let span = next.map_or(arg.span, |next| arg.span.to(next.span));
        let value = next.map(|next| next.value.clone());
        self.at += usize::from(next.is_some());
        self.push(Some(spec), name, value, &Arg::word(Value::default(), span));
        self.ends_with(spec);
    }

    /// Ends the options after one whose value is a command or a module: the other arguments belong to that.
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
        let exact = self.spec(name);
        let spec = exact.or_else(|| self.abbreviated(name));
        if spec.is_none() && attached.is_none() {
            self.takes_back(name);
        }
        match (spec, attached) {
            (Some(spec), None) if spec.value == ValueKind::Required && !arg.value.is_dynamic() => {
                if exact.is_none() {
                    self.perhaps_operand = self.args.get(self.at + 1).map(|_| self.at + 1);
                }
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

    /// Parses a long option with one dash (`-name`, `-var=x`). Two dashes are equivalent.
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
        // `-p$PASSWORD`: the unknown value is in the same word.
        let goes_on = spec.value != ValueKind::None && arg.value.is_dynamic();
        let attached = attached.or_else(|| goes_on.then(|| arg.value.without_leading(name.len())));
        if spec.value == ValueKind::Required && attached.is_none() {
            self.push_with_next(spec, name, arg);
        } else {
            self.push(Some(spec), name, attached, arg);
        }
        true
    }

    /// Parses short options in one word.
    fn cluster(&mut self, arg: &Arg, leading: &str) -> bool {
        // A described name of several letters (`-exec`, `-SIGKILL`) takes precedence.
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
        // `-d:NAME`: a described name that ends in a colon takes the rest of the word as its value.
        let with_colon = self.specs().find_map(|spec| {
            let name = spec.names.iter().find(|name| name.ends_with(':') && leading.starts_with(name.as_str()))?;
            Some((spec, name))
        });
        if let Some((spec, name)) = with_colon {
            self.push(Some(spec), name, Some(arg.value.without_leading(name.len())), arg);
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
            let rest = || arg.value.without_leading(end);
            let spec = self.spec(&name);
            match spec.map(|spec| (spec, spec.value)) {
                Some((spec, ValueKind::Required)) => {
                    let rest = rest();
                    if rest.is_empty() {
                        self.push_with_next(spec, &name, arg);
                    } else {
                        self.push(Some(spec), &name, Some(rest), arg);
                        self.ends_with(spec);
                    }
                    return true;
                }
                Some((spec, ValueKind::Optional)) => {
                    self.push(Some(spec), &name, Some(rest()).filter(|rest| !rest.is_empty()), arg);
                    return true;
                }
                _ => {
                    self.push(spec, &name, None, arg);
                    self.at -= 1;
                }
            }
        }
        // After an unknown piece the word may contain any option.
        if arg.value.is_dynamic() {
            self.flags.push(Flag { name: "-".into(), value: Some(arg.value.clone()), span: arg.span });
        }
        self.at += 1;
        true
    }

    /// Parses options of a shell: `-lc`, `+e`, `-eo pipefail`, `-O extglob`, `--norc`.
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
            if takes && self.family == Family::Zsh {
                let rest = arg.value.without_leading(offset + letter.len_utf8());
                if !rest.is_empty() {
                    flag.value = Some(rest);
                    self.flags.push(flag);
                    return true;
                }
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

    /// Reports whether the value of this option is code.
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

    /// Parses the first argument of `tar xzf a.tar`: short options without a dash, whose values are the next arguments.
    pub(super) fn bundle(&mut self, first: &Arg) {
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
