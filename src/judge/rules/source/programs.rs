//! Program descriptions: how arguments are read, what is wrapped, what it does.

use std::borrow::Cow;
use std::ops::Range;

use super::shape::{At, EffectShape, ProgramShape, Recursion, RunsShape, SubShape, WrapShape};
use super::spelling::{all_spellings, flag_test, key_option, option};
use super::{Place, Vocabulary, values};
use crate::judge::rules::glob;
use crate::judge::rules::model::{
    EffectSpec, FlagTest, OptionSpec, OutputTaint, Place as Where, Program, Runs, Style, Sub, Target, Wrap, WrapFrom,
};
use crate::judge::rules::problem::{Problem, nearest};
use crate::judge::tier::Tier;

/// Turns a `[[program]]` into its checked form. One that is described below this file is extended by it.
pub fn describe(
    place: Place<'_>,
    given: &At<ProgramShape>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Program, Vec<Problem>> {
    let shape = given.get_ref();
    let (names, aliases) = spellings(&shape.name.get_ref().0);
    let names = &names;
    let owner = format!("program {}", names.first().map_or("", String::as_str));
    let mut problems = Vec::new();
    let mut fault = |span: &Range<usize>, key: &str, what: &str, remedy: &str| {
        problems.push(place.problem(span, &format!("{owner}: {key}"), what, remedy));
    };
    if names.is_empty() || names.iter().any(|name| name.is_empty() || name.contains(' ')) {
        fault(&shape.name.span(), "name", "a name is missing or holds a blank", "name the program without a directory");
    }
    if names.first().is_some_and(|name| glob::is_glob(name)) {
        fault(&shape.name.span(), "name", "the first name is a glob", "put a plain name first");
    }
    for (index, name) in names.iter().enumerate() {
        if names.iter().take(index).any(|other| other == name) {
            fault(&shape.name.span(), "name", &format!("`{name}` is named twice"), "keep one");
        }
    }
    let mut base: Option<Cow<'_, Program>> = None;
    for name in names {
        if vocabulary.own.contains_key(name) {
            fault(&shape.name.span(), "name", &format!("`{name}` is described twice"), "keep one description");
        } else if vocabulary.known.closed(name) {
            let what = format!("`{name}` is described by this machine's own pattern files");
            fault(&shape.name.span(), "name", &what, "ask who administers it");
        } else if let Some(known) = vocabulary.known.program(name) {
            if !vocabulary.known.may_loosen() {
                let what = format!("`{name}` is described already, and a project's pattern file may only tighten");
                fault(&shape.name.span(), "name", &what, "add rules instead");
            }
            base = base.or(Some(known));
        }
    }
    if !vocabulary.known.may_loosen() {
        if shape.tier == Some(Tier::Safe) {
            fault(&given.span(), "tier", "a project's pattern file may only tighten", "leave it out");
        }
        if !shape.dry_run.is_empty() || shape.output.as_ref().is_some_and(|it| *it.get_ref() == OutputTaint::Own) {
            let what = "a project's pattern file may only tighten, and `dry_run` and `output = \"own\"` loosen";
            fault(&given.span(), "dry_run or output", what, "move the description to your own pattern files");
        }
    }
    let mut program = base.map_or_else(Program::default, Cow::into_owned);
    let number = |program: &mut Program, name: &String| {
        let known = program.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            program.names.push(name.clone());
            program.names.len() - 1
        })
    };
    for name in names {
        number(&mut program, name);
    }
    for (spelling, name) in aliases {
        let pair = [spelling, name].map(|index| names.get(index).map_or(0, |name| number(&mut program, name)));
        if let [Ok(spelling), Ok(name)] = pair.map(u16::try_from) {
            program.aliases.push((spelling, name));
        }
    }
    program.tier = shape.tier.unwrap_or(program.tier);
    program.style = shape.style.unwrap_or(program.style);
    let mut body = Body { place, owner, style: program.style, problems };
    program.options.extend(body.options(&shape.options));
    let globals = program.options.clone();
    let scope: Vec<&OptionSpec> = globals.iter().collect();
    program.dry_run.extend(body.flags("dry_run", &shape.dry_run, &scope));
    program.effects.extend(shape.effects.iter().filter_map(|effect| body.effect(effect, &scope)));
    program.wraps.extend(shape.wraps.iter().filter_map(|wrap| body.wrap(wrap, &scope)));
    program.runs = shape.runs.as_ref().map(|runs| body.runs(runs.get_ref(), &scope)).or(program.runs);
    program.output = shape.output.as_ref().map_or(program.output, |output| *output.get_ref());
    if let Some(target) = &shape.target {
        let target = target.get_ref();
        program.target = Some(Target {
            flags: all_spellings(values(&target.flags).map(|(name, _)| name), &scope),
            operands: target.operands,
            env: target.env.clone(),
        });
    }
    for sub in &shape.sub {
        let sub = body.sub(sub, &globals);
        add_sub(&mut program.subs, sub);
    }
    if body.problems.is_empty() { Ok(program) } else { Err(body.problems) }
}

/// The names of a list whose entries are `name` or `name|other spelling`, and which are other spellings of which.
fn spellings(given: &[String]) -> (Vec<String>, Vec<(usize, usize)>) {
    let (mut names, mut aliases) = (Vec::new(), Vec::new());
    for entry in given {
        let first = names.len();
        for name in entry.split('|') {
            if names.len() > first {
                aliases.push((names.len(), first));
            }
            names.push(name.to_owned());
        }
    }
    (names, aliases)
}

/// Adds a description of subcommands. Those that are described already keep what they have and get this in addition.
fn add_sub(subs: &mut Vec<Sub>, sub: Sub) {
    let mut rest = sub.clone();
    for path in &sub.paths {
        let Some(at) = subs.iter().position(|known| known.paths.contains(path)) else { continue };
        rest.paths.retain(|other| other != path);
        rest.aliases.clear();
        let Some(known) = subs.get_mut(at) else { continue };
        if known.paths.len() == 1 {
            merge(known, sub.clone());
            continue;
        }
        // Others are described together with this one: it gets a description of its own.
        let mut own = Sub { paths: vec![path.clone()], aliases: Vec::new(), ..known.clone() };
        if let Some(canonical) = known.canonical(path).filter(|canonical| *canonical != path.as_slice()) {
            own.paths = vec![canonical.to_vec(), path.clone()];
            own.aliases = vec![(1, 0)];
        }
        merge(&mut own, sub.clone());
        subs.insert(at, own);
    }
    if !rest.paths.is_empty() {
        subs.push(rest);
    }
}

/// Extends the description of a subcommand.
fn merge(known: &mut Sub, more: Sub) {
    known.tier = more.tier.or(known.tier);
    known.options.extend(more.options);
    known.dry_run.extend(more.dry_run);
    known.effects.extend(more.effects);
    known.wraps.extend(more.wraps);
    known.runs = more.runs.or(known.runs.take());
    known.output = more.output.or(known.output);
}

/// The parts that programs and subcommands have in common.
struct Body<'a> {
    place: Place<'a>,
    owner: String,
    style: Style,
    problems: Vec<Problem>,
}

impl Body<'_> {
    fn fault(&mut self, span: &Range<usize>, key: &str, what: &str, remedy: &str) {
        self.problems.push(self.place.problem(span, &format!("{}: {key}", self.owner), what, remedy));
    }

    fn sub(&mut self, given: &At<SubShape>, globals: &[OptionSpec]) -> Sub {
        let shape = given.get_ref();
        let (names, aliases) = spellings(&shape.name.get_ref().0);
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
        };
        self.owner = outer;
        sub
    }

    fn options(&mut self, given: &[At<String>]) -> Vec<OptionSpec> {
        let mut options: Vec<OptionSpec> = Vec::new();
        for spec in given {
            let read = if self.style == Style::KeyValue && spec.get_ref().ends_with('=') {
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

    fn flags(&mut self, key: &str, given: &[At<String>], scope: &[&OptionSpec]) -> Vec<FlagTest> {
        let owner = format!("{}: {key}", self.owner);
        let mut tests = Vec::new();
        for (text, span) in values(given) {
            match flag_test(self.place, &owner, text, &span, scope) {
                Ok(test) => tests.push(test),
                Err(problem) => self.problems.push(problem),
            }
        }
        tests
    }

    fn effect(&mut self, given: &At<EffectShape>, scope: &[&OptionSpec]) -> Option<EffectSpec> {
        const PLACES: [(&str, Where); 7] = [
            ("operands", Where::Operands),
            ("first", Where::First),
            ("last", Where::Last),
            ("init", Where::Init),
            ("rest", Where::Rest),
            ("here", Where::Here),
            ("stdin", Where::Stdin),
        ];
        let shape = given.get_ref();
        let text = shape.to.get_ref().as_str();
        let to = match text.strip_prefix("flag:") {
            Some(names) => Where::Flag(all_spellings(names.split('|'), scope)),
            None => match PLACES.into_iter().find(|(name, _)| *name == text) {
                Some((_, place)) => place,
                None => {
                    let names = PLACES.map(|(name, _)| name);
                    let remedy = match nearest(text, names) {
                        Some(name) => format!("did you mean `{name}`?"),
                        None => format!("use {} or flag:-o|--output", names.join(", ")),
                    };
                    self.fault(&shape.to.span(), "effects: to", &format!("`{text}` is no place"), &remedy);
                    return None;
                }
            },
        };
        let (recursive, always_recursive) = match shape.recursive.as_ref().map(|it| (it.get_ref(), it.span())) {
            None => (Vec::new(), false),
            Some((Recursion::Always(always), _)) => (Vec::new(), *always),
            Some((Recursion::With(flags), span)) => {
                let flags = flags.iter().map(|flag| toml::Spanned::new(span.clone(), flag.clone())).collect::<Vec<_>>();
                (self.flags("effects: recursive", &flags, scope), false)
            }
        };
        let when = self.flags("effects: when", &shape.when, scope);
        let unless = self.flags("effects: unless", &shape.unless, scope);
        Some(EffectSpec { does: shape.does, to, when, unless, recursive, always_recursive })
    }

    fn wrap(&mut self, given: &At<WrapShape>, scope: &[&OptionSpec]) -> Option<Wrap> {
        let shape = given.get_ref();
        let words = |text: &str| text.split('|').map(str::to_owned).collect();
        let from = match shape.from.as_ref().map(|from| (from.get_ref().as_str(), from.span())) {
            None => WrapFrom::Operands,
            Some((text, span)) => match text.split_once(':') {
                None if text == "operands" => WrapFrom::Operands,
                Some(("option", names)) => WrapFrom::Option(all_spellings(names.split('|'), scope)),
                Some(("until", names)) => WrapFrom::Until(words(names)),
                Some(("after", word)) => WrapFrom::After(word.to_owned()),
                _ => {
                    let what = format!("`{text}` says not where the command begins");
                    self.fault(
                        &span,
                        "wraps: from",
                        &what,
                        "use operands, option:-c|--command, until:-exec or after:--",
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
            skip: shape.skip,
            assignments: shape.assignments,
            when,
            unless,
            root: shape.root,
            remote: shape.remote,
            host: shape.host,
            adds: shape.adds,
            bare_shell: shape.bare_shell,
        })
    }

    fn runs(&mut self, shape: &RunsShape, scope: &[&OptionSpec]) -> Runs {
        let spell = |given: &[At<String>]| all_spellings(values(given).flat_map(|(names, _)| names.split('|')), scope);
        Runs {
            language: shape.language.clone(),
            code: spell(&shape.code),
            code_operand: shape.code_operand,
            script_operand: shape.script_operand,
            script: spell(&shape.script),
            stdin: shape.stdin,
            code_at: shape.code_at,
        }
    }
}
