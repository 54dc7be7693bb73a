//! Reads the parts that the descriptions of programs and subcommands have in common: options, effects, wrapped
//! commands, code.

use std::ops::Range;

use super::programs::spellings;
use super::shape::{EffectShape, PrintsShape, RunsShape, SubShape, WrapShape};
use super::spelling::{all_spellings, flag_test, key_option, option};
use super::{SourceFile, values};
use crate::judge::document::Located;
use crate::judge::rules::model::{
    ArgumentPlace as Where, EffectSpec, FlagTest, OptionSpec, OptionStyle, Prints, Runs, Sub, Wrap, WrapFrom,
};
use crate::judge::rules::problem::{Problem, nearest};

/// A reader for the parts that programs and subcommands have in common.
pub struct Body<'a> {
    pub place: SourceFile<'a>,
    pub owner: String,
    pub style: OptionStyle,
    pub problems: Vec<Problem>,
}

impl Body<'_> {
    fn fault(&mut self, span: &Range<usize>, key: &str, what: &str, remedy: &str) {
        self.problems.push(self.place.problem(span, &format!("{}: {key}", self.owner), what, remedy));
    }

    pub fn sub(&mut self, given: &Located<SubShape>, globals: &[OptionSpec]) -> Sub {
        let shape = given.get_ref();
        let (names, aliases) = spellings(shape.name.get_ref());
        let paths: Vec<Vec<String>> =
            names.iter().map(|name| name.split_whitespace().map(str::to_owned).collect()).collect();
        let index = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        let aliases = aliases.into_iter().map(|(spelling, name)| (index(spelling), index(name))).collect();
        if paths.is_empty() || paths.iter().any(Vec::is_empty) {
            self.fault(&shape.name.span(), "sub: name", "it is empty", "name the subcommand: \"push\", \"stash drop\"");
        }
        let outer = self.owner.clone();
        self.owner = format!("{outer} {}", names.first().map_or("", String::as_str));
        let options = self.options(&shape.options);
        let all: Vec<OptionSpec> = options.iter().chain(globals).cloned().collect();
        let scope: Vec<&OptionSpec> = all.iter().collect();
        let sub = Sub {
            paths,
            aliases,
            tier: shape.tier,
            options,
            dry_run: self.flags("dry_run", &shape.dry_run, &scope),
            effects: shape.effects.iter().filter_map(|effect| self.effect(effect, &scope)).collect(),
            wraps: shape.wraps.iter().filter_map(|wrap| self.wrap(wrap, &scope)).collect(),
            runs: shape.runs.as_ref().map(|runs| self.runs(runs.get_ref(), &scope)),
            output: shape.output.as_ref().map(|output| *output.get_ref()),
            makes: shape.makes,
            terminal: shape.terminal.as_ref().and_then(|terminal| terminal.get_ref().clone()),
            files: shape.files.as_ref().map(|files| *files.get_ref()),
            compiles: shape.compiles,
        };
        self.owner = outer;
        sub
    }

    pub fn options(&mut self, given: &[Located<String>]) -> Vec<OptionSpec> {
        let mut options: Vec<OptionSpec> = Vec::new();
        for spec in given {
            let read = if self.style == OptionStyle::KeyValue && spec.get_ref().ends_with('=') {
                Ok(key_option(spec.get_ref()))
            } else {
                option(self.place, &self.owner, spec)
            };
            match read {
                Ok(option) => {
                    let twice = option.names.iter().find(|name| options.iter().any(|other| other.names.contains(name)));
                    if let Some(name) = twice {
                        let what = format!("`{name}` is listed twice");
                        self.fault(&spec.span(), "options", &what, "keep one");
                    }
                    options.push(option);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        options
    }

    pub fn flags(&mut self, key: &str, given: &[Located<String>], scope: &[&OptionSpec]) -> Vec<FlagTest> {
        let owner = format!("{}: {key}", self.owner);
        let mut tests = Vec::new();
        for (text, span) in values(given) {
            // A word without a dash is a literal argument: `help`, `test=True`.
            if key == "dry_run" && !text.starts_with('-') {
                tests.push(FlagTest { names: text.split('|').map(str::to_owned).collect(), value: None });
                continue;
            }
            match flag_test(self.place, &owner, text, &span, scope) {
                Ok(test) => tests.push(test),
                Err(problem) => self.problems.push(problem),
            }
        }
        tests
    }

    pub fn effect(&mut self, given: &Located<EffectShape>, scope: &[&OptionSpec]) -> Option<EffectSpec> {
        let shape = given.get_ref();
        let (text, span) = (shape.to.get_ref().as_str(), shape.to.span());
        let mut places = Vec::new();
        for part in text.split(" + ") {
            places.push(self.place(part, &span, scope)?);
        }
        let to = if places.len() == 1 { places.remove(0) } else { Where::All(places) };
        let (always_recursive, flags) = &shape.recursive;
        let recursive = self.flags("effects: recursive", flags, scope);
        let when = self.flags("effects: when", &shape.when, scope);
        let unless = self.flags("effects: unless", &shape.unless, scope);
        Some(EffectSpec { does: shape.does, to, when, unless, recursive, always_recursive: *always_recursive })
    }

    fn place(&mut self, text: &str, span: &Range<usize>, scope: &[&OptionSpec]) -> Option<Where> {
        const PLACES: [(&str, Where); 8] = [
            ("operands", Where::Operands),
            ("first", Where::First),
            ("last", Where::Last),
            ("init", Where::Init),
            ("rest", Where::Rest),
            ("names", Where::Names),
            ("here", Where::Here),
            ("stdin", Where::Stdin),
        ];
        if let Some((inner, names)) = text.split_once(" in ") {
            let inner = self.place(inner, span, scope)?;
            return Some(Where::Inside(Box::new(inner), all_spellings(names.split('|'), scope)));
        }
        if let Some(names) = text.strip_prefix("flag:") {
            return Some(Where::Flag(all_spellings(names.split('|'), scope)));
        }
        if let Some(names) = text.strip_prefix("data:") {
            return Some(Where::Data(all_spellings(names.split('|'), scope)));
        }
        if let Some(names) = text.strip_prefix("below:") {
            return Some(Where::Below(all_spellings(names.split('|'), scope)));
        }
        let place = PLACES.into_iter().find(|(name, _)| *name == text).map(|(_, place)| place);
        if place.is_none() {
            let names = PLACES.map(|(name, _)| name);
            let remedy = match nearest(text, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => {
                    format!(
                        "use {}, flag:-o|--output, data:-d|--data or below:-C, joined by ` + `, or one with ` in -C`",
                        names.join(", ")
                    )
                }
            };
            self.fault(span, "effects: to", &format!("`{text}` is no place"), &remedy);
        }
        place
    }

    pub fn wrap(&mut self, given: &Located<WrapShape>, scope: &[&OptionSpec]) -> Option<Wrap> {
        let shape = given.get_ref();
        let words = |text: &str| text.split('|').map(str::to_owned).collect();
        let from = match shape.from.as_ref().map(|from| (from.get_ref().as_str(), from.span())) {
            None => WrapFrom::Operands,
            Some((text, span)) => match text.split_once(':') {
                None if text == "operands" => WrapFrom::Operands,
                None if text == "anywhere" => WrapFrom::Anywhere,
                Some(("option", names)) => WrapFrom::Option(all_spellings(names.split('|'), scope)),
                Some(("setting", rest)) if rest.contains(':') => {
                    let (names, keys) = rest.split_once(':').unwrap_or_default();
                    WrapFrom::Setting(all_spellings(names.split('|'), scope), words(keys))
                }
                Some(("until", names)) => WrapFrom::Until(words(names)),
                Some(("after", word)) => WrapFrom::After(word.to_owned()),
                _ => {
                    let what = format!("`{text}` does not specify where the command begins");
                    self.fault(
                        &span,
                        "wraps: from",
                        &what,
                        "use operands, option:-c|--command, setting:-o:KEY, until:-exec or after:--",
                    );
                    return None;
                }
            },
        };
        let when = self.flags("wraps: when", &shape.when, scope);
        let unless = self.flags("wraps: unless", &shape.unless, scope);
        Some(Wrap {
            inner: shape.inner,
            from,
            each: shape.each,
            skip: shape.skip,
            assignments: shape.assignments,
            when,
            unless,
            root: shape.root,
            remote: shape.remote,
            host: shape.host,
            adds: shape.adds,
            bare_shell: shape.bare_shell,
            scripts: shape.scripts.iter().map(|ending| ending.get_ref().clone()).collect(),
        })
    }

    pub fn prints(&mut self, shape: &PrintsShape) -> Prints {
        let (place, owner) = (self.place, format!("{}: prints: args", self.owner));
        let mut args = Vec::new();
        for (text, span) in values(&shape.args) {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let wrong = |regex: &str| place.check_regex(&span, &owner, regex);
            let problem = words.iter().filter_map(|word| word.strip_prefix('~')).find_map(wrong);
            self.problems.extend(problem);
            args.push(words);
        }
        Prints { what: shape.what, args, at: shape.at.clone() }
    }

    pub fn runs(&mut self, shape: &RunsShape, scope: &[&OptionSpec]) -> Runs {
        let unless = self.flags("runs: unless", &shape.unless, scope);
        let spell =
            |given: &[Located<String>]| all_spellings(values(given).flat_map(|(names, _)| names.split('|')), scope);
        Runs {
            language: shape.language.clone(),
            code: spell(&shape.code),
            code_operand: shape.code_operand,
            script_operand: shape.script_operand,
            script: spell(&shape.script),
            stdin: shape.stdin,
            stdin_after: spell(&shape.stdin_after),
            code_at: shape.code_at,
            unless,
        }
    }
}
