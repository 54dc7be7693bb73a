//! Recipe files: the commands that a makefile or a justfile defines for a target.
//!
//! This module parses their text. Out of scope: I/O, and evaluating functions or commands, whose results are unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::act::{Taint, UnknownReason, Value};
use super::fuel::{cost, of_bytes};
use super::state::{Build as _, unknown};

/// Maximum number of files that a makefile includes.
const MAX_INCLUDED: usize = 8;

/// Maximum nesting of variables in variables.
const MAX_NESTING: u32 = 8;

/// Directives that include another file.
const INCLUDES: [&str; 3] = ["include", "-include", "sinclude"];

/// Reports whether a variable, a recipe or a function of a shell may have this name, and not a call or an automatic
/// variable.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// The kinds of recipe files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecipeKind {
    Make,
    Just,
}

/// A file of rules.
#[derive(Debug)]
pub(super) struct Recipes {
    kind: RecipeKind,
    variables: BTreeMap<String, String>,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    targets: Vec<String>,
    prerequisites: Vec<String>,
    lines: Vec<String>,
}

/// An index of the rules of a file by target.
struct Index<'r> {
    names: HashMap<&'r str, Vec<usize>>,
    /// The rules with a pattern as their target.
    patterns: Vec<usize>,
}

impl<'r> Index<'r> {
    fn of(rules: &'r [Rule]) -> Self {
        let mut index = Self { names: HashMap::new(), patterns: Vec::new() };
        for (at, rule) in rules.iter().enumerate() {
            for target in &rule.targets {
                let named = index.names.entry(target).or_default();
                if named.last() != Some(&at) {
                    named.push(at);
                }
            }
            if rule.targets.iter().any(|target| target.contains('%')) {
                index.patterns.push(at);
            }
        }
        index
    }

    fn named(&self, target: &str) -> &[usize] {
        self.names.get(target).map_or(&[], Vec::as_slice)
    }
}

/// The context of an expansion: the automatic variables, those of the command line, and the charge for work.
#[derive(Clone, Copy)]
struct Expansion<'e> {
    target: &'e str,
    /// The first prerequisite, and all prerequisites.
    first: &'e str,
    all: &'e str,
    given: &'e [(String, String)],
    pay: &'e dyn Fn(u64) -> bool,
}

impl Recipes {
    /// Parses a recipe file. All branches of conditionals are parsed.
    pub fn read(kind: RecipeKind, text: &str) -> Self {
        let mut recipes = Self { kind, variables: BTreeMap::new(), rules: Vec::new() };
        let mut lines = text.lines();
        let mut in_define = false;
        while let Some(line) = lines.next() {
            let mut line = line.to_owned();
            // In a recipe the shell joins the lines.
            while line.ends_with('\\') {
                line.pop();
                let recipe = line.starts_with('\t');
                let Some(next) = lines.next() else { break };
                if recipe {
                    line.push_str("\\\n");
                    line.push_str(next.trim_start_matches('\t'));
                } else {
                    line.push(' ');
                    line.push_str(next.trim_start());
                }
            }
            let word = line.split_whitespace().next().unwrap_or("");
            match word {
                "define" if kind == RecipeKind::Make => in_define = true,
                "endef" if kind == RecipeKind::Make => in_define = false,
                _ if in_define => {}
                _ => recipes.line(&line),
            }
        }
        recipes
    }

    /// Sets a variable that the file does not set.
    pub fn give(&mut self, name: &str, value: &str) {
        if !self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Returns the variables that the file uses and does not set.
    pub fn unset(&self) -> BTreeSet<String> {
        let lines = self.rules.iter().flat_map(|rule| &rule.lines);
        let words = self.rules.iter().flat_map(|rule| rule.targets.iter().chain(&rule.prerequisites));
        let mut unset = BTreeSet::new();
        for text in self.variables.values().chain(lines).chain(words) {
            for (open, close) in [("$(", ')'), ("${", '}')] {
                let names = text.split(open).skip(1).filter_map(|rest| rest.split_once(close));
                unset.extend(names.map(|(name, _)| name).filter(|name| is_name(name)).map(str::to_owned));
            }
        }
        unset.retain(|name| !self.variables.contains_key(name));
        unset
    }

    fn line(&mut self, line: &str) {
        let indented = match self.kind {
            RecipeKind::Make => line.starts_with('\t'),
            RecipeKind::Just => line.starts_with([' ', '\t']),
        };
        if indented {
            if let Some(rule) = self.rules.last_mut() {
                rule.lines.push(line.trim_start().to_owned());
            }
            return;
        }
        if line.starts_with('#') || line.trim().is_empty() {
            return;
        }
        if let Some((name, value)) = self.assignment(line) {
            self.variables.entry(name).or_insert(value);
            return;
        }
        let Some((targets, rest)) = line.split_once(':') else { return };
        let rest = rest.trim_start_matches(':');
        let (prerequisites, inline) = match rest.split_once(';').filter(|_| self.kind == RecipeKind::Make) {
            Some((prerequisites, inline)) => (prerequisites, Some(inline.trim().to_owned())),
            None => (rest, None),
        };
        let targets: Vec<String> = match self.kind {
            // A recipe of a justfile has one name, followed by parameters.
            RecipeKind::Just => targets.trim_start_matches('@').split_whitespace().take(1).map(str::to_owned).collect(),
            RecipeKind::Make => targets.split_whitespace().map(str::to_owned).collect(),
        };
        let plain = |word: &&str| !word.starts_with(['#', '|', '(', '&']) && !word.contains('=');
        let prerequisites = prerequisites.split_whitespace().take_while(|word| !word.starts_with('#')).filter(plain);
        // `(recipe argument)` of a justfile.
        let bracket = if self.kind == RecipeKind::Just { ")" } else { "" };
        let prerequisites = prerequisites.map(|word| word.strip_suffix(bracket).unwrap_or(word).to_owned()).collect();
        self.rules.push(Rule { targets, prerequisites, lines: inline.into_iter().collect() });
    }

    fn assignment(&self, line: &str) -> Option<(String, String)> {
        let at = line.find('=')?;
        let (name, value) = line.split_at(at);
        let value = value.get(1..)?.trim();
        let name = match self.kind {
            RecipeKind::Make => {
                let name = name.trim_end().trim_end_matches([':', '?', '+', '!']);
                name.trim_start_matches("export ").trim_start_matches("override ").trim()
            }
            RecipeKind::Just => name.trim_end().strip_suffix(':')?.trim().trim_start_matches("export ").trim(),
        };
        let valid = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let value = match self.kind {
            RecipeKind::Make => value.split(" #").next().unwrap_or("").trim_end().to_owned(),
            RecipeKind::Just => {
                let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
                // A value that is not one string is an expression.
                quoted('"').or_else(|| quoted('\''))?.to_owned()
            }
        };
        valid.then(|| (name.to_owned(), value))
    }

    /// Returns the commands for these targets, or for the first target if there are none, in order. `given` are the
    /// variables of the command line. For a dry run, only commands that run nevertheless are returned. Each step is
    /// charged to `pay`; without fuel the rest is omitted.
    pub fn commands(
        &self,
        targets: &[String],
        given: &[(String, String)],
        rehearsed: bool,
        pay: &dyn Fn(u64) -> bool,
    ) -> Vec<Value> {
        let mut wanted: Vec<String> = targets.to_vec();
        if wanted.is_empty() {
            let first =
                self.rules.iter().flat_map(|rule| &rule.targets).find(|target| !target.starts_with(['.', '_', '%']));
            wanted.extend(first.cloned());
        }
        let index = Index::of(&self.rules);
        let place = Expansion { target: "", first: "", all: "", given, pay };
        let mut order: Vec<(String, &Rule)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        // The targets to visit; the next one is last.
        let mut stack: Vec<String> = wanted.into_iter().rev().collect();
        while let Some(target) = stack.pop().filter(|_| pay(cost::LOOK_UP + index.patterns.len() as u64)) {
            if !seen.insert(target.clone()) {
                continue;
            }
            for rule in self.rules_for(&index, &target) {
                order.push((target.clone(), rule));
                stack.extend(rule.prerequisites.iter().rev().flat_map(|word| self.names(word, &place)));
            }
        }
        let mut commands = Vec::new();
        for (target, rule) in order {
            let needed: Vec<String> = rule.prerequisites.iter().flat_map(|word| self.names(word, &place)).collect();
            let all = needed.join(" ");
            let place =
                Expansion { target: &target, first: needed.first().map_or("", String::as_str), all: &all, ..place };
            for line in self.whole(rule).into_iter().filter(|line| !rehearsed || self.is_always_run(line)) {
                if !pay(cost::LOOK_UP) {
                    return commands;
                }
                commands.push(match self.kind {
                    RecipeKind::Make => self.make_line(&line, &place),
                    RecipeKind::Just => self.just_line(&line, given),
                });
            }
        }
        commands
    }

    /// Returns the rules for a target: those with its name, those with a matching pattern, or the default rules.
    fn rules_for(&self, index: &Index<'_>, target: &str) -> Vec<&Rule> {
        let of = |found: &[usize]| found.iter().filter_map(|at| self.rules.get(*at)).collect::<Vec<_>>();
        let fits = |name: &String| {
            let ends = name.split_once('%').filter(|_| self.kind == RecipeKind::Make);
            ends.is_some_and(|(start, end)| {
                target.len() > start.len() + end.len() && target.starts_with(start) && target.ends_with(end)
            })
        };
        let named = of(index.named(target));
        if named.iter().any(|rule| !rule.lines.is_empty()) {
            return named;
        }
        let mut matched = of(&index.patterns);
        matched.retain(|rule| rule.targets.iter().any(fits));
        let rest = if matched.is_empty() && named.is_empty() && self.kind == RecipeKind::Make {
            of(index.named(".DEFAULT"))
        } else {
            matched
        };
        named.into_iter().chain(rest).collect()
    }

    /// Returns the files that a makefile includes.
    pub fn included(text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('\t'));
        let files = lines.filter_map(|line| {
            let (word, files) = line.trim().split_once(char::is_whitespace)?;
            INCLUDES.contains(&word).then_some(files)
        });
        let plain = |file: &&str| !file.contains(['$', '*', '?', '%']);
        files.flat_map(str::split_whitespace).filter(plain).take(MAX_INCLUDED).map(str::to_owned).collect()
    }

    /// Returns the files that a justfile imports and, for each of its modules, the name and the possible paths.
    /// Source: the manual of just, on imports and modules.
    pub fn imported(text: &str) -> Vec<(Option<String>, Vec<String>)> {
        let line = |line: &str| {
            let (word, rest) = line.split_once(char::is_whitespace)?;
            let quoted = |rest: &str| {
                let rest = rest.trim();
                let inside = rest.strip_prefix(['"', '\''])?;
                Some(inside.split(['"', '\'']).next()?.to_owned())
            };
            match word.trim_end_matches('?') {
                "import" => Some((None, vec![quoted(rest)?])),
                "mod" => {
                    let rest = rest.trim();
                    let (name, path) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                    if name.is_empty() {
                        return None;
                    }
                    let beside =
                        || vec![format!("{name}.just"), format!("{name}/mod.just"), format!("{name}/justfile")];
                    Some((Some(name.to_owned()), quoted(path).map_or_else(beside, |path| vec![path])))
                }
                _ => None,
            }
        };
        text.lines().filter_map(line).take(MAX_INCLUDED).collect()
    }

    /// Reports whether a file of rules includes other files.
    pub fn includes(text: &str) -> bool {
        let begins = |line: &str| INCLUDES.iter().any(|word| line.trim_start().starts_with(word));
        text.lines().filter(|line| !line.starts_with('\t')).any(begins)
    }

    /// Returns the lines of a recipe as they run: one by one, or as one script.
    fn whole(&self, rule: &Rule) -> Vec<String> {
        let script = self.kind == RecipeKind::Just && rule.lines.first().is_some_and(|line| line.starts_with("#!"));
        if script { vec![rule.lines.join("\n")] } else { rule.lines.clone() }
    }

    /// Reports whether a line of a recipe runs even in a dry run: it begins with `+`, or runs make.
    fn is_always_run(&self, line: &str) -> bool {
        let mut marks = line.chars().take_while(|c| "@-+ \t".contains(*c));
        self.kind == RecipeKind::Make
            && (marks.any(|mark| mark == '+') || line.contains("$(MAKE)") || line.contains("${MAKE}"))
    }

    /// Returns the targets of a prerequisite.
    fn names(&self, word: &str, place: &Expansion<'_>) -> Vec<String> {
        if self.kind == RecipeKind::Just || !word.contains('$') {
            return vec![word.to_owned()];
        }
        let mut value = Value::default();
        self.expand(word, place, 0, &mut value);
        value.known_text().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    fn make_line(&self, line: &str, place: &Expansion<'_>) -> Value {
        let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
        let mut value = Value::default();
        self.expand(line, place, 0, &mut value);
        value
    }

    fn expand(&self, text: &str, place: &Expansion<'_>, nesting: u32, out: &mut Value) {
        let other =
            |out: &mut Value| out.push_value(&unknown(UnknownReason::Other("a make function"), Taint::default()));
        let push = |out: &mut Value, text: &str| {
            if (place.pay)(of_bytes(text.len())) {
                out.push_text(text);
            } else {
                other(out);
            }
        };
        if nesting > MAX_NESTING || !(place.pay)(1) {
            other(out);
            return;
        }
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            push(out, before);
            let Some(c) = after.chars().next() else { return };
            let tail = after.get(c.len_utf8()..).unwrap_or("");
            match c {
                '$' => push(out, "$"),
                '@' => push(out, place.target),
                '<' => push(out, place.first),
                '^' | '+' | '?' => push(out, place.all),
                '(' | '{' => {
                    let close = closing(tail, c);
                    let (name, after) = match close {
                        Some(close) => (tail.get(..close).unwrap_or(""), tail.get(close + 1..).unwrap_or("")),
                        None => (tail, ""),
                    };
                    rest = after;
                    let set = place.given.iter().find(|(own, _)| own == name).map(|(_, value)| value);
                    match set.or_else(|| self.variables.get(name)) {
                        Some(value) => self.expand(value, place, nesting + 1, out),
                        None if name == "CURDIR" || name == "PWD" => push(out, "."),
                        None => other(out),
                    }
                    continue;
                }
                _ => other(out),
            }
            rest = tail;
        }
        push(out, rest);
    }

    fn just_line(&self, line: &str, given: &[(String, String)]) -> Value {
        let line = line.trim_start_matches(['@', '-']);
        let mut value = Value::default();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            value.push_text(before);
            let Some((name, after)) = after.split_once("}}") else { break };
            let name = name.trim();
            let set = given.iter().find(|(own, _)| own == name).map(|(_, value)| value);
            match set.or_else(|| self.variables.get(name)) {
                Some(text) => value.push_text(text),
                None => value.push_value(&unknown(UnknownReason::Other("a justfile expression"), Taint::default())),
            }
            rest = after;
        }
        value.push_text(rest);
        value
    }
}

/// Returns the position of the closing bracket.
fn closing(text: &str, open: char) -> Option<usize> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(kind: RecipeKind, text: &str, targets: &[&str]) -> Vec<String> {
        let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
        let found = Recipes::read(kind, text).commands(&targets, &[], false, &|_| true);
        found.into_iter().map(|value| value.rough().replace(super::super::value::HOLE, "?")).collect()
    }

    const MAKEFILE: &str = "BUILD = out\nCLEAN := rm -rf $(BUILD)\nall: prepare\n\t@echo $@ $$HOME\nprepare:\n\tmkdir -p ${BUILD}\n\
        clean: ; $(CLEAN)\ndist: all\n\ttar cf $(shell date).tar \\\n\t  src\n";

    #[test]
    fn a_target_leads_to_its_recipe_and_those_it_needs() {
        assert_eq!(commands(RecipeKind::Make, MAKEFILE, &["clean"]), ["rm -rf out"]);
        assert_eq!(commands(RecipeKind::Make, MAKEFILE, &[]), ["echo all $HOME", "mkdir -p out"]);
        assert_eq!(commands(RecipeKind::Make, MAKEFILE, &["dist"])[0], "tar cf ?.tar \\\n  src");
        assert_eq!(commands(RecipeKind::Make, MAKEFILE, &["nothing"]), Vec::<String>::new());
    }

    #[test]
    fn the_last_of_many_prerequisites_is_read_as_the_first_is() {
        let names: Vec<String> = (0..2000).map(|number| format!("t{number}")).collect();
        let rules: String = names.iter().map(|name| format!("{name}:\n\techo $@\n")).collect();
        let text = format!("all: {}\n\techo $< $^\n{rules}", names.join(" "));
        let found = commands(RecipeKind::Make, &text, &[]);
        assert_eq!((found.len(), found.last().map(String::as_str)), (2001, Some("echo t1999")));
        assert_eq!(found[0], format!("echo t0 {}", names.join(" ")));
    }

    #[test]
    fn a_rule_that_names_a_target_twice_is_one_rule() {
        assert_eq!(commands(RecipeKind::Make, "a a:\n\techo $@\n", &["a"]), ["echo a"]);
    }

    /// Checks the cost of expanding variables, which can make a text exponentially longer.
    #[test]
    fn what_is_expanded_is_paid_for() {
        let doubled: String = (1..8).map(|n| format!("V{n} = {}\n", format!("$(V{})", n - 1).repeat(20))).collect();
        let text = format!("V0 = xxxxxxxxxxxxxxxx\n{doubled}a:\n\techo $(V7)\n\trm harm\n");
        let recipes = Recipes::read(RecipeKind::Make, &text);
        let left = std::cell::Cell::new(100_000u64);
        let pay = |units: u64| {
            left.set(left.get().saturating_sub(units));
            left.get() > 0
        };
        let found = recipes.commands(&["a".to_owned()], &[], false, &pay);
        let size: usize = found.iter().map(|value| value.rough().len()).sum();
        assert!(size < 4_000_000 && left.get() == 0, "{size}");
    }

    #[test]
    fn what_a_variable_names_is_what_a_target_needs() {
        let text = "OBJS = a.o b.o\nprog: $(OBJS)\n\tcc -o $@ $^\n";
        assert_eq!(commands(RecipeKind::Make, text, &["prog"]), ["cc -o prog a.o b.o"]);
    }

    #[test]
    fn a_rehearsal_runs_what_is_marked_for_it_and_make_itself() {
        let text = "a:\n\trm -rf x\n\t@+rm -rf y\n\t$(MAKE) -C z\n\techo +\n";
        let run = |kind| Recipes::read(kind, text).commands(&["a".to_owned()], &[], true, &|_| true);
        let lines: Vec<String> = run(RecipeKind::Make).iter().map(|line| line.rough().into_owned()).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "rm -rf y");
        assert!(run(RecipeKind::Just).is_empty());
    }

    #[test]
    fn targets_that_need_each_other_end() {
        assert_eq!(commands(RecipeKind::Make, "a: b\n\techo a\nb: a\n\techo b\n", &["a"]), ["echo a", "echo b"]);
        assert_eq!(commands(RecipeKind::Make, "A = $(A)x\na:\n\techo $(A)\n", &["a"]).len(), 1);
    }

    #[test]
    fn a_pattern_and_a_default_are_rules_for_what_has_none() {
        let text = "%.o:\n\techo o $@\nx.o: x.c\nz.o:\n\techo z\n.DEFAULT:\n\techo other\n";
        assert_eq!(commands(RecipeKind::Make, text, &["y.o"]), ["echo o y.o"]);
        assert_eq!(commands(RecipeKind::Make, text, &["x.o"]), ["echo o x.o", "echo other"]);
        assert_eq!(commands(RecipeKind::Make, text, &["z.o"]), ["echo z"]);
        assert_eq!(commands(RecipeKind::Make, text, &["y"]), ["echo other"]);
    }

    #[test]
    fn what_is_included_is_named() {
        let text = "include a.mk b.mk\n-include c.mk $(D)/d.mk\nall:\n\tinclude e.mk\n";
        assert_eq!(Recipes::included(text), ["a.mk", "b.mk", "c.mk"]);
    }

    #[test]
    fn a_justfile_is_read() {
        let text = "out := \"build\"\nbuild mode=\"x\": lint\n    @rm -rf {{out}} {{mode}}\nlint:\n    echo lint\n\
            script:\n    #!/bin/bash\n    rm -rf x\n";
        assert_eq!(commands(RecipeKind::Just, text, &["build"]), ["rm -rf build ?", "echo lint"]);
        assert_eq!(commands(RecipeKind::Just, text, &["script"]), ["#!/bin/bash\nrm -rf x"]);
    }
}
