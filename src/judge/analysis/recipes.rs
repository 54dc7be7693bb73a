//! Recipe files: what a Makefile or a justfile says is run for a target.
//!
//! What belongs here: reading their text. What may not enter: I/O, and running anything: what a recipe takes from a
//! function or a command is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::act::{Taint, UnknownReason, Value};
use super::state::{Build as _, unknown};

/// The most rules that one target leads to.
const MAX_RULES: usize = 128;

/// The most files that are read into a Makefile.
const MAX_INCLUDED: usize = 8;

/// The deepest chain of variables in variables that is followed.
const MAX_NESTING: u32 = 8;

/// Words that read another file in.
const INCLUDES: [&str; 3] = ["include", "-include", "sinclude"];

/// Whether a variable, a recipe or a function of a shell may have this name; no call and no automatic variable has.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// The programs that read recipe files.
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

impl Recipes {
    /// Reads the text of a recipe file. Every branch of a conditional is read.
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

    /// Gives a variable a value that nothing in the file sets.
    pub fn give(&mut self, name: &str, value: &str) {
        if !self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    /// The variables that are used and that nothing in the file sets.
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
            // A justfile's recipe has one name, then parameters.
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
                // Anything but one string is an expression.
                quoted('"').or_else(|| quoted('\''))?.to_owned()
            }
        };
        valid.then(|| (name.to_owned(), value))
    }

    /// The commands that are run for these targets, in order, each with the target that it belongs to. Without targets,
    /// for the first one. `given` are variables that the command line sets. Of a rehearsal, those that are run all the same.
    pub fn commands(&self, targets: &[String], given: &[(String, String)], rehearsed: bool) -> Vec<(String, Value)> {
        let mut wanted: Vec<String> = targets.to_vec();
        if wanted.is_empty() {
            let first =
                self.rules.iter().flat_map(|rule| &rule.targets).find(|target| !target.starts_with(['.', '_', '%']));
            wanted.extend(first.cloned());
        }
        let mut order: Vec<(String, &Rule)> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        // What is still to be visited, the next one last.
        let mut stack: Vec<String> = wanted.into_iter().rev().collect();
        while let Some(target) = stack.pop() {
            if seen.contains(&target) || order.len() >= MAX_RULES {
                continue;
            }
            seen.push(target.clone());
            for rule in self.rules_for(&target) {
                order.push((target.clone(), rule));
                stack.extend(rule.prerequisites.iter().rev().flat_map(|word| self.names(word, given)));
            }
        }
        order
            .into_iter()
            .flat_map(|(target, rule)| {
                let lines = self.whole(rule).into_iter().filter(|line| !rehearsed || self.is_always_run(line));
                lines.map(move |line| (target.clone(), rule, line)).collect::<Vec<_>>()
            })
            .map(|(target, rule, line)| {
                let line = match self.kind {
                    RecipeKind::Make => self.make_line(&line, &target, rule, given),
                    RecipeKind::Just => self.just_line(&line, given),
                };
                (target, line)
            })
            .collect()
    }

    /// The rules for a target: of its name, else of a pattern that it fits, else those for what has none.
    fn rules_for(&self, target: &str) -> Vec<&Rule> {
        let fits = |name: &String| {
            let ends = name.split_once('%').filter(|_| self.kind == RecipeKind::Make);
            ends.is_some_and(|(start, end)| {
                target.len() > start.len() + end.len() && target.starts_with(start) && target.ends_with(end)
            })
        };
        let of = |is: &dyn Fn(&String) -> bool| {
            self.rules.iter().filter(|rule| rule.targets.iter().any(is)).collect::<Vec<_>>()
        };
        let named = of(&|name| name == target);
        if named.iter().any(|rule| !rule.lines.is_empty()) {
            return named;
        }
        let matched = of(&fits);
        let rest = if matched.is_empty() && named.is_empty() && self.kind == RecipeKind::Make {
            of(&|name| name == ".DEFAULT")
        } else {
            matched
        };
        named.into_iter().chain(rest).collect()
    }

    /// The files that a Makefile includes.
    pub fn included(text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('\t'));
        let files = lines.filter_map(|line| {
            let (word, files) = line.trim().split_once(char::is_whitespace)?;
            INCLUDES.contains(&word).then_some(files)
        });
        let plain = |file: &&str| !file.contains(['$', '*', '?', '%']);
        files.flat_map(str::split_whitespace).filter(plain).take(MAX_INCLUDED).map(str::to_owned).collect()
    }

    /// Whether other files are read into a file of rules.
    pub fn includes(text: &str) -> bool {
        let begins = |line: &str| INCLUDES.iter().any(|word| line.trim_start().starts_with(word));
        text.lines().filter(|line| !line.starts_with('\t')).any(begins)
    }

    /// The lines of a recipe as they are run: one by one, or all at once where they are a script.
    fn whole(&self, rule: &Rule) -> Vec<String> {
        let script = self.kind == RecipeKind::Just && rule.lines.first().is_some_and(|line| line.starts_with("#!"));
        if script { vec![rule.lines.join("\n")] } else { rule.lines.clone() }
    }

    /// Whether a line of a recipe runs where the others are only printed: what begins with `+`, and make itself.
    fn is_always_run(&self, line: &str) -> bool {
        let mut marks = line.chars().take_while(|c| "@-+ \t".contains(*c));
        self.kind == RecipeKind::Make
            && (marks.any(|mark| mark == '+') || line.contains("$(MAKE)") || line.contains("${MAKE}"))
    }

    /// The targets that a prerequisite stands for.
    fn names(&self, word: &str, given: &[(String, String)]) -> Vec<String> {
        if self.kind == RecipeKind::Just || !word.contains('$') {
            return vec![word.to_owned()];
        }
        let mut value = Value::default();
        self.expand(word, "", &[], given, 0, &mut value);
        value.known_text().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    fn make_line(&self, line: &str, target: &str, rule: &Rule, given: &[(String, String)]) -> Value {
        let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
        let needed: Vec<String> = rule.prerequisites.iter().flat_map(|word| self.names(word, given)).collect();
        let mut value = Value::default();
        self.expand(line, target, &needed, given, 0, &mut value);
        value
    }

    fn expand(
        &self,
        text: &str,
        target: &str,
        prerequisites: &[String],
        given: &[(String, String)],
        nesting: u32,
        out: &mut Value,
    ) {
        let other =
            |out: &mut Value| out.push_value(&unknown(UnknownReason::Other("a make function"), Taint::default()));
        if nesting > MAX_NESTING {
            other(out);
            return;
        }
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_text(before);
            let Some(c) = after.chars().next() else { return };
            let tail = after.get(c.len_utf8()..).unwrap_or("");
            match c {
                '$' => out.push_text("$"),
                '@' => out.push_text(target),
                '<' => out.push_text(prerequisites.first().map_or("", String::as_str)),
                '^' | '+' | '?' => out.push_text(&prerequisites.join(" ")),
                '(' | '{' => {
                    let close = closing(tail, c);
                    let (name, after) = match close {
                        Some(close) => (tail.get(..close).unwrap_or(""), tail.get(close + 1..).unwrap_or("")),
                        None => (tail, ""),
                    };
                    rest = after;
                    let set = given.iter().find(|(own, _)| own == name).map(|(_, value)| value);
                    match set.or_else(|| self.variables.get(name)) {
                        Some(value) => self.expand(value, target, prerequisites, given, nesting + 1, out),
                        None if name == "CURDIR" || name == "PWD" => out.push_text("."),
                        None => other(out),
                    }
                    continue;
                }
                _ => other(out),
            }
            rest = tail;
        }
        out.push_text(rest);
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

/// Where the bracket that was opened closes.
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
        let found = Recipes::read(kind, text).commands(&targets, &[], false);
        found.into_iter().map(|(_, value)| value.rough().replace(super::super::value::HOLE, "?")).collect()
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
    fn what_a_variable_names_is_what_a_target_needs() {
        let text = "OBJS = a.o b.o\nprog: $(OBJS)\n\tcc -o $@ $^\n";
        assert_eq!(commands(RecipeKind::Make, text, &["prog"]), ["cc -o prog a.o b.o"]);
    }

    #[test]
    fn a_rehearsal_runs_what_is_marked_for_it_and_make_itself() {
        let text = "a:\n\trm -rf x\n\t@+rm -rf y\n\t$(MAKE) -C z\n\techo +\n";
        let run = |kind| Recipes::read(kind, text).commands(&["a".to_owned()], &[], true);
        let lines: Vec<String> = run(RecipeKind::Make).iter().map(|(_, line)| line.rough().into_owned()).collect();
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
