//! Reads rules: their conditions, their severity, their texts, and their examples.

use std::borrow::Cow;
use std::ops::Range;

use super::check::{Check, EntryHead, ReviewItems, Words};
use super::shape::{ExceptionShape, File, OperandShape, RuleShape, TestShape};
use super::spelling::{all_spellings, expand_braces, flag_test};
use super::{SourceFile, Vocabulary, values};
use crate::judge::document::Located;
use crate::judge::effect::Effect;
use crate::judge::rules::model::{
    CodeTest, EnvTest, Examples, Explanation, FlagTest, MAX_APPROVALS, Match, NO_SUB, NoEnvTest, OperandQuantifier,
    OperandTest, OptionSpec, Program, RawTest, Rule, TextTest,
};
use crate::judge::rules::problem::{Problem, nearest};
use crate::judge::rules::{expression, glob};
use crate::judge::sort;
use crate::judge::tier::{Tier, Weight};

/// Verb keys that are neither programs nor effects: parts that could not be parsed, and fork bombs.
const SPECIAL: [&str; 2] = [":opaque", ":forkbomb"];

/// A key that matches two effects, and these effects.
pub const WRITE: &str = ":write";
pub const WRITE_STANDS_FOR: [&str; 2] = [Effect::Write.key(), Effect::Edit.key()];

/// The effects that can be keys of rules.
const EFFECTS: [&str; 13] = [
    ":load",
    ":show",
    ":write",
    ":overwrite",
    ":edit",
    ":append",
    ":delete",
    ":move",
    ":permit",
    ":link",
    ":send",
    ":fetch",
    ":execute",
];

/// Converts a `[[rule]]` of a file to its checked form.
pub fn rule(
    place: SourceFile<'_>,
    file: &File,
    shape: &RuleShape,
    own: &[Program],
    vocabulary: &Vocabulary<'_>,
) -> Result<(Rule, Explanation, Examples), Vec<Problem>> {
    let id = shape.id.get_ref().as_str();
    let mut check = Check::new(place, Words { kind: "rule", taken: "a rule" }, id);
    let head = EntryHead {
        id: &shape.id,
        tier: *shape.tier.get_ref(),
        weight: shape.weight.as_ref(),
        approvals: shape.approvals.as_ref(),
        reason: &shape.reason,
    };
    check.head(file.family.get_ref(), &head, vocabulary.known);
    check.rule(shape, vocabulary);
    let programs: Vec<Cow<'_, Program>> =
        shape.program.get_ref().iter().filter_map(|verb| vocabulary.program(verb, own)).collect();
    let exceptions = check.exceptions(shape, &file.exception);
    let when = check.matching(shape, &exceptions, &programs);
    let tier = *shape.tier.get_ref();
    let approvals = shape.approvals.as_ref().map_or(1, |approvals| *approvals.get_ref());
    let rule = Rule {
        id: id.to_owned(),
        tier,
        weight: shape.weight.as_ref().map_or(Weight::of_tier(tier), |weight| Weight::from_f64(*weight.get_ref())),
        reversibility: shape.reversibility,
        deny: shape.deny,
        yolo: shape.yolo.as_ref().is_some_and(|yolo| *yolo.get_ref()),
        reversible: shape.reversible.as_ref().is_some_and(|flag| *flag.get_ref()),
        approvals: u8::try_from(approvals).unwrap_or(MAX_APPROVALS),
        notes: shape.notes.clone(),
        when,
        lower: shape.lower.as_ref().map(|lower| lower.get_ref().clone()).unwrap_or_default(),
        made_by: makers(shape),
        refs: shape.refs.clone(),
    };
    let explanation = Explanation { reason: shape.reason.get_ref().clone(), instead: shape.instead.clone() };
    let examples = Examples {
        rule: id.to_owned(),
        bad: shape.bad.clone(),
        good: shape.good.clone(),
        other: shape.other.clone(),
        ..Examples::default()
    };
    if check.problems.is_empty() { Ok((rule, explanation, examples)) } else { Err(check.problems) }
}

/// Returns the faults of the exceptions of a file: names given twice, conditions missing, and exceptions that no rule
/// names.
pub fn faulty_exceptions(place: SourceFile<'_>, file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, exception) in file.exception.iter().enumerate() {
        let exception = exception.get_ref();
        let (name, span) = (exception.name.get_ref(), exception.name.span());
        let mut fault = |what: &str, remedy: &str| {
            problems.push(place.problem(&span, &format!("exception {name}: name"), what, remedy));
        };
        if file.exception.iter().take(number).any(|other| other.get_ref().name.get_ref() == name) {
            fault("the file has another exception of this name", "give it another name");
        }
        if exception.no_flags.is_empty() && exception.no_env.is_empty() {
            fault("it has no condition", "add no_flags or no_env");
        }
        let names_it = |rule: &Located<RuleShape>| values(&rule.get_ref().exceptions).any(|(other, _)| other == name);
        if !file.rule.iter().any(names_it) {
            fault("no rule of the file names it", &format!("add exceptions = [\"{name}\"] to a rule, or remove it"));
        }
    }
    problems
}

/// Parses `made_by`: the programs and subcommands that create what the acts of the rule remove.
fn makers(shape: &RuleShape) -> Vec<Vec<String>> {
    let lines = shape.made_by.as_ref().map(|lines| lines.get_ref().as_slice()).unwrap_or_default();
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

impl Check<'_> {
    /// Checks the keys other than the common ones and the conditions: those that loosen, and the examples.
    fn rule(&mut self, shape: &RuleShape, vocabulary: &Vocabulary<'_>) {
        let tier = *shape.tier.get_ref();
        let (yolo, reversible) = (shape.yolo.as_ref(), shape.reversible.as_ref());
        self.leave(&ReviewItems { tier, reversibility: shape.reversibility, yolo, reversible }, vocabulary.known);
        if let Some(lower) = shape.lower.as_ref().filter(|lower| !lower.get_ref().is_empty()) {
            if tier == Tier::Critical {
                self.fault(&lower.span(), "lower", "nothing lowers a rule of tier 4", "leave `lower` out");
            }
            let of_operands = lower.get_ref().iter().any(|fact| !fact.is_of_act());
            if of_operands && shape.operand.is_none() && shape.operands.is_empty() {
                let what = "`lower` needs an operand test, and the rule has none";
                self.fault(&lower.span(), "lower", what, "add `operand = { which = \"any\" }` with a test");
            }
        }
        for (key, examples) in [("bad", &shape.bad), ("good", &shape.good)] {
            if examples.iter().all(|example| example.trim().is_empty()) {
                let remedy = match key {
                    "bad" => "give a command that the rule must find",
                    _ => "give a command like it that the rule must leave alone",
                };
                self.fault(&shape.id.span(), key, "a rule has examples of both kinds, and this one has none", remedy);
            }
        }
    }

    /// Returns the exceptions that the rule names.
    fn exceptions<'f>(&mut self, shape: &RuleShape, all: &'f [Located<ExceptionShape>]) -> Vec<&'f ExceptionShape> {
        let names = || all.iter().map(|exception| exception.get_ref().name.get_ref().as_str());
        let mut found = Vec::new();
        for (name, span) in values(&shape.exceptions) {
            match all.iter().find(|exception| exception.get_ref().name.get_ref() == name) {
                Some(exception) => found.push(exception.get_ref()),
                None => {
                    let remedy = match nearest(name, names()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("describe it in this file: [[exception]] with name = \"{name}\""),
                    };
                    self.fault(&span, "exceptions", &format!("the file has no exception `{name}`"), &remedy);
                }
            }
        }
        found
    }

    fn matching(&mut self, shape: &RuleShape, exceptions: &[&ExceptionShape], programs: &[Cow<'_, Program>]) -> Match {
        let verbs = self.verbs(shape, programs);
        let subs = self.subs(shape, programs);
        let scope: Vec<&OptionSpec> = programs
            .iter()
            .flat_map(|program| {
                let wanted = |paths: &[Vec<String>]| subs.is_empty() || paths.iter().any(|path| related(path, &subs));
                let of_subs = program.subs.iter().filter(move |sub| wanted(&sub.paths)).flat_map(|sub| &sub.options);
                program.options.iter().chain(of_subs)
            })
            .collect();
        let operands = shape.operand.iter().chain(&shape.operands).map(|operand| self.operand(operand)).collect();
        if let Some(count) = &shape.count {
            let [min, max] = *count.get_ref();
            if min > max {
                self.fault(
                    &count.span(),
                    "count",
                    "the minimum is greater than the maximum",
                    "write [minimum, maximum]",
                );
            }
        }
        let words = shape.words.iter().map(|word| self.test("words", &word.span(), word.get_ref().clone())).collect();
        let env = shape
            .env
            .iter()
            .flat_map(|env| {
                let value = env.get_ref().value.as_ref();
                let value = value.map(|value| self.test("env: value", &value.span(), value.get_ref().clone()));
                expand_braces(&env.get_ref().name).into_iter().map(move |name| EnvTest { name, value: value.clone() })
            })
            .collect();
        let no_env = shape
            .no_env
            .iter()
            .chain(exceptions.iter().flat_map(|exception| &exception.no_env))
            .map(|env| {
                let env = env.get_ref();
                let value = self.test("no_env: value", &env.value.span(), env.value.get_ref().clone());
                let unless = env.unless.iter().flat_map(|name| expand_braces(name)).collect();
                NoEnvTest { name: env.name.clone(), value, unless }
            })
            .collect();
        let code = shape.code.as_ref().map(|code| {
            let code = code.get_ref();
            self.regex("code: regex", &code.regex.span(), code.regex.get_ref());
            CodeTest {
                languages: code.language.clone(),
                literals: code.literal.clone(),
                regex: code.regex.get_ref().clone(),
            }
        });
        let text = shape.text.as_ref().map(|text| {
            let (text, span) = (text.get_ref(), text.span());
            if text.literal.len() < 3 {
                let what = "a `text` rule needs a `literal` of at least three bytes";
                self.fault(&span, "text: literal", what, "name a part that every match holds");
            }
            if let Some(regex) = &text.regex {
                self.regex("text: regex", &regex.span(), regex.get_ref());
            }
            RawTest { literal: text.literal.clone(), regex: text.regex.as_ref().map(|it| it.get_ref().clone()) }
        });
        let mut no_flags = self.flags("no_flags", &shape.no_flags, &scope);
        for exception in exceptions {
            no_flags.extend(self.flags("no_flags", &exception.no_flags, &scope));
        }
        let when = Match {
            verbs,
            flags: self.flags("flags", &shape.flags, &scope),
            no_flags,
            subs,
            operands,
            count: shape.count.as_ref().map(|count| (count.get_ref()[0], count.get_ref()[1])),
            words,
            env,
            no_env,
            input: shape.input.clone(),
            tainted: shape.tainted.clone(),
            feeds: shape.feeds.clone(),
            no_feeds: shape.no_feeds.clone(),
            no_taken_by: shape.no_taken_by.clone(),
            no_reduced: shape.no_reduced.clone(),
            brought: shape.brought.clone(),
            wrapped: shape.wrapped.clone(),
            no_wrapped: shape.no_wrapped.clone(),
            outside: shape.outside.clone(),
            root: shape.root,
            recursive: shape.recursive,
            remote: shape.remote,
            dry_run: shape.dry_run,
            guarded: shape.guarded,
            code,
            shown: shape.shown,
            stored: shape.stored,
            text,
        };
        let broad = when.env.is_empty()
            && when.input.is_empty()
            && when.tainted.is_empty()
            && when.feeds.is_empty()
            && when.wrapped.is_empty()
            && when.root != Some(true)
            && when.remote != Some(true)
            && when.code.is_none()
            && when.text.is_none();
        if when.verbs.iter().any(|verb| verb == "*") && broad {
            self.fault(
                &shape.program.span(),
                "program",
                "a rule for every program would be tried on every command",
                "add one of env, input, tainted, feeds, wrapped, root, remote, code or text, or name programs",
            );
        }
        when
    }

    /// Returns the keys by which the rule is indexed: all spellings of its programs.
    fn verbs(&mut self, shape: &RuleShape, programs: &[Cow<'_, Program>]) -> Vec<String> {
        let given = shape.program.get_ref();
        let span = shape.program.span();
        if given.is_empty() {
            self.fault(&span, "program", "it is empty", "name programs, an effect such as :delete, or *");
        }
        for verb in given.iter().filter(|verb| verb.starts_with(':')) {
            let known = || EFFECTS.into_iter().chain(SPECIAL);
            if !known().any(|name| name == verb) {
                let remedy = match nearest(verb, known()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("use one of {}", known().collect::<Vec<_>>().join(" ")),
                };
                self.fault(&span, "program", &format!("`{verb}` is no effect"), &remedy);
            }
        }
        let mut verbs = given.clone();
        if let Some(at) = verbs.iter().position(|verb| verb == WRITE) {
            verbs.splice(at..=at, WRITE_STANDS_FOR.map(str::to_owned));
        }
        for program in programs {
            let meant = |name: &&String| given.iter().any(|verb| program.is_same(verb, name));
            for name in program.names.iter().filter(meant) {
                if !verbs.contains(name) {
                    verbs.push(name.clone());
                }
            }
        }
        verbs
    }

    /// Returns the subcommand paths in canonical spelling.
    fn subs(&mut self, shape: &RuleShape, programs: &[Cow<'_, Program>]) -> Vec<Vec<String>> {
        let Some(given) = &shape.sub else { return Vec::new() };
        let mut subs = Vec::new();
        for name in given.get_ref() {
            let path: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
            if name == NO_SUB {
                subs.push(path);
                continue;
            }
            let described = programs.iter().flat_map(|program| program.subs.iter());
            // Each program has its own canonical spelling (`npm install|add`, `pnpm add`).
            let canonical: Vec<&[String]> = described.clone().filter_map(|sub| sub.canonical(&path)).collect();
            let begins = described.clone().any(|sub| sub.paths.iter().any(|known| known.starts_with(&path)));
            let verbs = &shape.program.get_ref();
            let described_elsewhere = verbs.iter().any(|verb| verb.contains(':')) && !path.is_empty();
            match canonical.as_slice() {
                [_, ..] => subs.extend(canonical.into_iter().map(<[String]>::to_vec)),
                [] if begins || described_elsewhere => subs.push(path),
                [] => {
                    let known: Vec<String> =
                        described.flat_map(|sub| sub.paths.iter().map(|path| path.join(" "))).collect();
                    let remedy = match nearest(name, known.iter().map(String::as_str)) {
                        Some(near) => format!("did you mean `{near}`? Else describe it in a [[program.sub]]"),
                        None => "describe it in a [[program.sub]] of the program".to_owned(),
                    };
                    self.fault(&given.span(), "sub", &format!("no subcommand `{name}` is described"), &remedy);
                }
            }
        }
        sort::sort(&mut subs);
        subs.dedup();
        subs
    }

    fn flags(&mut self, key: &str, given: &[Located<String>], scope: &[&OptionSpec]) -> Vec<FlagTest> {
        let owner = format!("{}: {key}", self.owner);
        let mut tests = Vec::new();
        for (text, span) in values(given) {
            match flag_test(self.place, &owner, text, &span, scope) {
                Ok(mut test) => {
                    test.names = all_spellings(test.names.iter().map(String::as_str), scope);
                    tests.push(test);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        tests
    }

    fn operand(&mut self, given: &Located<OperandShape>) -> OperandTest {
        const NAMES: [(&str, OperandQuantifier); 4] = [
            ("any", OperandQuantifier::Any),
            ("all", OperandQuantifier::All),
            ("no", OperandQuantifier::No),
            ("last", OperandQuantifier::Last),
        ];
        let which = match given.get_ref().which.as_deref() {
            None => OperandQuantifier::Any,
            Some(name) => match NAMES.into_iter().find(|(known, _)| *known == name) {
                Some((_, which)) => which,
                None => name.parse().map_or_else(
                    |_| {
                        let what = format!("`{name}` is no place");
                        self.fault(&given.span(), "operand: which", &what, "use any, all, no, last or a number from 0");
                        OperandQuantifier::Any
                    },
                    OperandQuantifier::At,
                ),
            },
        };
        OperandTest { which, test: self.test("operand", &given.span(), given.get_ref().test.clone()) }
    }

    fn test(&mut self, key: &str, span: &Range<usize>, shape: TestShape) -> TextTest {
        for regex in shape.regex.iter().chain(&shape.not_regex).chain(&shape.content) {
            self.regex(&format!("{key}: regex"), span, regex);
        }
        for pattern in shape.glob.iter().chain(&shape.not_glob) {
            if pattern.contains('[') && !pattern.contains(']') {
                let what = format!("`{pattern}` opens a bracket that it does not close");
                self.fault(span, &format!("{key}: glob"), &what, r"close it, or write `\[`");
            }
        }
        for exact in &shape.exact {
            if glob::is_glob(exact) && exact.contains('*') && exact.len() > 1 {
                let what = format!("`exact` compares literally, but `{exact}` contains glob characters");
                self.fault(span, &format!("{key}: exact"), &what, "use `glob` for patterns");
            }
        }
        TextTest {
            exact: shape.exact,
            glob: shape.glob,
            literals: shape.regex.as_deref().map(expression::literals).unwrap_or_default(),
            regex: shape.regex,
            class: shape.class,
            not_class: shape.not_class,
            host: shape.host,
            dynamic: shape.dynamic,
            computed: shape.computed,
            not_glob: shape.not_glob,
            not_regex: shape.not_regex,
            matching: shape.matching,
            content: shape.content,
            only_copy: shape.only_copy,
            not_made: shape.not_made,
            package: shape.package,
        }
    }

    fn regex(&mut self, key: &str, span: &Range<usize>, regex: &str) {
        let place = format!("{}: {key}", self.owner);
        self.problems.extend(self.place.check_regex(span, &place, regex));
    }
}

/// Reports whether one of the paths begins with the other.
fn related(path: &[String], wanted: &[Vec<String>]) -> bool {
    wanted.iter().any(|other| path.starts_with(other) || other.starts_with(path))
}
