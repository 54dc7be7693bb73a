//! What a command leads to that is written elsewhere: git aliases, package scripts, targets of recipe files, variables
//! that hold commands.
//!
//! What may not enter: I/O. Definitions come as answers to questions; nothing is run to find them.

use super::act::{Operand, Source, Value};
use super::arguments::{Arg, InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command::Lookup;
use super::expand::Field;
use super::frame::Frame;
use super::question::FileFacts;
use super::recipes::{Kind, Recipes};
use super::redirect::absolute;
use super::state::{Bound, Build as _, State};
use super::walk::Walker;
use crate::judge::rules::model::{Added, Program};
use crate::judge::syntax::tree::{Dialect, Span};

/// What projects call their scripts, though programs are called so too.
const SCRIPTS: &[&str] = &[
    "build", "check", "clean", "deploy", "dev", "down", "find", "format", "info", "install", "kill", "link", "lint",
    "make", "migrate", "move", "publish", "release", "render", "reset", "run", "seed", "serve", "setup", "sort",
    "start", "stop", "task", "test", "type", "up", "watch",
];

/// Variables whose value some program runs as a command.
const COMMANDS: &[&str] = &[
    "BROWSER",
    "CVS_RSH",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SYSTEMD_PAGER",
    "VISUAL",
];

/// Variables that a shell expands, substitutions included, before it prints them.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS4"];

/// Scripts of a package that installing it runs.
const ON_INSTALL: &[&str] = &["preinstall", "install", "postinstall", "prepublish", "prepare"];

impl Walker<'_> {
    /// Walks what a program leads to, where something says so.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn leads(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        program: Option<&Program>,
        reading: &Reading,
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
    ) {
        for (variable, value) in env {
            self.command_variable(state, frame, variable, value, span);
        }
        if frame.remote.is_some() || reading.dry_run {
            return;
        }
        match name {
            "git" => self.git_alias(state, frame, program, reading, args, env, span),
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.package_script(state, frame, name, program, reading, span);
                self.package_program(state, frame, name, program, reading, args, span);
            }
            "make" | "gmake" => self.recipe(state, frame, name, Kind::Make, reading, span),
            "just" => self.recipe(state, frame, name, Kind::Just, reading, span),
            _ => {}
        }
    }

    /// A variable that is set to a command.
    #[inline(never)]
    pub fn command_variable(&mut self, state: &State, frame: &Frame, name: &str, value: &Value, span: Span) {
        if PROMPTS.contains(&name) {
            if let Some(text) = value.known_text() {
                let mut child = state.fork();
                self.embedded(&mut child, &within(&frame.perhaps(), name).elsewhere(span), &text);
            }
            return;
        }
        if !COMMANDS.contains(&name) || value.is_empty() {
            return;
        }
        let Some(text) = value.known_text() else { return };
        let text = if name.starts_with("LESS") { text.trim_start_matches(['|', '-']) } else { text.as_str() };
        let mut child = state.child(&[]);
        self.text(&mut child, &within(&frame.perhaps(), name).elsewhere(span), text);
    }

    /// The frame of a definition that a command leads to; `None` when it is being walked already.
    fn definition(&self, frame: &Frame, wrapper: &str, what: String, span: Span) -> Option<Frame> {
        if frame.calls.contains(&what) {
            return None;
        }
        let mut inner = within(frame, wrapper).elsewhere(span);
        inner.calls.push(what.clone());
        inner.source = Source::Definition(what);
        inner.dialect = Dialect::Sh;
        Some(inner)
    }

    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn git_alias(
        &mut self,
        state: &State,
        frame: &Frame,
        program: Option<&Program>,
        reading: &Reading,
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
    ) {
        let Some(alias) = reading.sub.first() else { return };
        if describes(program, alias) {
            return;
        }
        let Some(at) = args.iter().position(|field| field.value.is(alias)) else { return };
        let rest = args.get(at + 1..).unwrap_or_default();
        let mut dir = state.cwd.clone();
        for value in reading.flags.iter().filter(|flag| flag.name == "-C").filter_map(|flag| flag.value.as_ref()) {
            let from = State { cwd: dir, ..State::default() };
            dir = value.known().and_then(|path| absolute(&from, &path));
        }
        let (text, root) = match self.given_alias(state, reading, env, alias) {
            Some(text) => (text, None),
            None => {
                let Some(repository) = dir.as_deref().and_then(|dir| self.inquiry.repository(dir)) else { return };
                let key = |name: &str| name.trim_start_matches("alias.").eq_ignore_ascii_case(alias);
                let Some((_, text)) = repository.aliases.iter().find(|(name, _)| key(name)) else { return };
                (text.clone(), Some(repository.root.clone()))
            }
        };
        let Some(inner) = self.definition(frame, "git", format!("git alias {alias}"), span) else { return };
        let mut child = state.child(env);
        if dir != child.cwd {
            child.move_to(dir);
        }
        if let Some(line) = text.strip_prefix('!') {
            if let Some(root) = root {
                child.move_to(Some(root));
            }
            child.zero = Value::text(line);
            child.positional = rest.iter().map(|field| field.value.clone()).collect();
            self.text(&mut child, &inner, &format!("{line} \"$@\""));
            return;
        }
        let mut fields = vec![Field::text("git", span)];
        fields.extend(super::wrappers::quoted_words(&text).into_iter().map(|word| Field::text(word, span)));
        fields.extend(rest.iter().cloned());
        self.run(&mut child, &inner, fields, Vec::new(), span, Lookup::Programs);
    }

    /// An alias that the command itself brings: `-c alias.x=…`, `--config-env`, `GIT_CONFIG_*`.
    fn given_alias(
        &mut self,
        state: &State,
        reading: &Reading,
        env: &[(String, Value)],
        alias: &str,
    ) -> Option<String> {
        let key = format!("alias.{alias}");
        let is_key = |name: &str| name.eq_ignore_ascii_case(&key);
        let mut variable = |name: &str| match env.iter().rev().find(|(own, _)| own == name) {
            Some((_, value)) => value.known_text(),
            None => match self.lookup(state, name) {
                Bound::Scalar(value) => value.known_text(),
                _ => None,
            },
        };
        for flag in reading.flags.iter().rev() {
            let Some(text) = flag.value.as_ref().and_then(|value| value.known_text()) else { continue };
            let Some((name, value)) = text.split_once('=') else { continue };
            match flag.name.as_str() {
                "-c" if is_key(name) => return Some(value.to_owned()),
                "--config-env" if is_key(name) => return variable(value),
                _ => {}
            }
        }
        let count: usize = variable("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
        for index in 0..count.min(64) {
            if variable(&format!("GIT_CONFIG_KEY_{index}")).is_some_and(|name| is_key(&name)) {
                return variable(&format!("GIT_CONFIG_VALUE_{index}"));
            }
        }
        let parameters = variable("GIT_CONFIG_PARAMETERS")?;
        super::wrappers::quoted_words(&parameters).iter().find_map(|word| {
            let (name, value) = word.split_once('=')?;
            is_key(name).then(|| value.to_owned())
        })
    }

    #[inline(never)]
    fn package_script(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        program: Option<&Program>,
        reading: &Reading,
        span: Span,
    ) {
        let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
        let sub = reading.sub.first().cloned();
        let described = sub.as_deref().is_some_and(|sub| describes(program, sub));
        let first = sub.clone().or_else(|| operand(0));
        let skip = usize::from(sub.is_none());
        let (scripts, rest): (Vec<String>, usize) = match first.as_deref() {
            Some("run" | "run-script" | "rum" | "urn") => match operand(skip) {
                Some(script) => (vec![script], skip + 1),
                None => return,
            },
            Some("test" | "t" | "tst") => (vec!["test".to_owned()], skip),
            Some(script @ ("start" | "stop" | "restart")) => (vec![script.to_owned()], skip),
            Some("install" | "i" | "ci" | "clean-install") | None if name != "bun" || first.is_some() => {
                (ON_INSTALL.iter().map(|script| (*script).to_owned()).collect(), usize::MAX)
            }
            // npm knows no scripts without `run`.
            Some(script) if name != "npm" && !described => (vec![script.to_owned()], skip),
            _ => return,
        };
        let named = ["--prefix", "--dir", "--cwd", "-C"];
        let dir = reading.flags.iter().find(|flag| named.contains(&flag.name.as_str()));
        let dir = match dir.and_then(|flag| flag.value.as_ref()) {
            Some(value) => value.known().and_then(|path| absolute(state, &path)),
            None => state.cwd.clone(),
        };
        let Some(dir) = dir else { return };
        let Some(FileFacts::Text { bytes, .. }) =
            self.inquiry.file(&format!("{}/package.json", dir.trim_end_matches('/')))
        else {
            return;
        };
        let Ok(manifest) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
        let Some(defined) = manifest.get("scripts") else { return };
        for script in scripts {
            for name_of in [format!("pre{script}"), script.clone(), format!("post{script}")] {
                let Some(text) = defined.get(&name_of).and_then(serde_json::Value::as_str) else { continue };
                let Some(inner) = self.definition(frame, name, format!("{name} script {name_of} in {dir}"), span)
                else {
                    continue;
                };
                let mut child = state.child(&[]);
                if child.cwd.as_deref() != Some(&dir) {
                    child.move_to(Some(dir.clone()));
                }
                let mut line = Value::text(text);
                if name_of == script {
                    for operand in reading.operands.iter().skip(rest) {
                        line.push_text(" ");
                        line.push_quoted(&operand.value);
                    }
                }
                self.read_value(&mut child, &inner, &line, span);
            }
        }
    }

    /// `yarn prisma migrate reset`: what is neither a subcommand nor a script is a program of the project.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn package_program(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        program: Option<&Program>,
        reading: &Reading,
        args: &[Field],
        span: Span,
    ) {
        let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
        let word = match reading.sub.first() {
            Some(sub) if sub == "run" => operand(0),
            Some(sub) if !describes(program, sub) => Some(sub.clone()),
            Some(_) => None,
            None => operand(0),
        };
        let is_program = |word: &String| name != "npm" && !SCRIPTS.contains(&word.as_str());
        let Some(word) = word.filter(is_program) else { return };
        let Some(at) = args.iter().position(|field| field.value.is(&word)) else { return };
        let rest = args.iter().skip(at + 1).map(|field| Operand { value: field.value.clone(), span: field.span });
        self.stands_for(state, frame, name, &word, &rest.collect::<Vec<_>>(), span);
    }

    /// What a package manager or an interpreter starts by the name of a program that is described: its arguments are
    /// that program's (`yarn prisma migrate reset`, `python manage.py flush`).
    #[inline(never)]
    pub fn stands_for(
        &mut self,
        state: &State,
        frame: &Frame,
        wrapper: &str,
        program: &str,
        args: &[Operand],
        span: Span,
    ) {
        if self.catalog.program(program).is_none() {
            return;
        }
        let word = Arg { value: Value::text(program), span };
        let rest = args.iter().map(|operand| Arg { value: operand.value.clone(), span: operand.span });
        let inner = InnerCommand {
            what: InnerText::Argv(std::iter::once(word).chain(rest).collect()),
            positional: Vec::new(),
            env: Vec::new(),
            root: false,
            remote: None,
            adds: Added::Nothing,
            replace: None,
        };
        let reading = Reading { inner: vec![inner], ..Reading::default() };
        self.inner(state, frame, wrapper, &reading, &[], span);
    }

    #[inline(never)]
    fn recipe(&mut self, state: &State, frame: &Frame, name: &str, kind: Kind, reading: &Reading, span: Span) {
        let value = |names: &[&str]| {
            reading.flags.iter().find(|flag| names.contains(&flag.name.as_str())).and_then(|flag| flag.value.as_ref())
        };
        let dir = match value(&["-C", "--directory", "--working-directory", "-d"]) {
            Some(value) => value.known().and_then(|path| absolute(state, &path)),
            None => state.cwd.clone(),
        };
        let from = State { cwd: dir.clone(), ..State::default() };
        let files: Vec<String> = match value(&["-f", "--file", "--makefile", "--justfile"]) {
            Some(file) => file.known_text().into_iter().collect(),
            None if kind == Kind::Make => ["GNUmakefile", "makefile", "Makefile"].map(str::to_owned).to_vec(),
            None => ["justfile", "Justfile", ".justfile"].map(str::to_owned).to_vec(),
        };
        let mut text = None;
        for path in files.iter().filter_map(|file| absolute(&from, file)) {
            if let Some(FileFacts::Text { bytes, .. }) = self.inquiry.file(&path)
                && text.is_none()
            {
                text = Some(String::from_utf8_lossy(bytes).into_owned());
            }
        }
        let Some(text) = text else { return };
        let (mut targets, mut given) = (Vec::new(), Vec::new());
        for word in reading.sub.iter().cloned().chain(reading.operands.iter().filter_map(|o| o.value.known_text())) {
            match word.split_once('=') {
                Some((name, value)) => given.push((name.to_owned(), value.to_owned())),
                None => targets.push(word),
            }
        }
        if kind == Kind::Just {
            // What follows the first recipe may be its arguments.
            targets.truncate(1);
        }
        let called = format!("{name} {} in {}", targets.join(" "), dir.as_deref().unwrap_or("?"));
        let Some(inner) = self.definition(frame, name, called, span) else { return };
        for (_, line) in Recipes::read(kind, &text).commands(&targets, &given) {
            let mut child = state.child(&[]);
            if child.cwd != dir {
                child.move_to(dir.clone());
            }
            self.read_value(&mut child, &inner, &line, span);
        }
    }
}

/// Whether a program's description knows this subcommand.
fn describes(program: Option<&Program>, sub: &str) -> bool {
    program.is_some_and(|program| program.subs.paths().any(|(path, _)| path.split(' ').next() == Some(sub)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dump, facts_with, line, programs};

    #[track_caller]
    fn leads(command: &str, files: &[(&str, &str)], to: &str) {
        let facts = facts_with(&line(command), files);
        assert!(programs(&facts).iter().any(|program| program == to), "{command}\n{}", dump(&facts));
    }

    #[track_caller]
    fn does_not_lead(command: &str, files: &[(&str, &str)], to: &str) {
        let facts = facts_with(&line(command), files);
        assert!(!programs(&facts).iter().any(|program| program == to), "{command}\n{}", dump(&facts));
    }

    #[test]
    fn aliases_that_a_command_brings_are_followed() {
        leads("git -c alias.q='!rm x' q", &[], "rm x");
        leads("git -c alias.q='!rm' q x", &[], "rm x");
        leads("git -c alias.nuke='reset --hard' nuke HEAD", &[], "git reset --hard HEAD");
        leads("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0='!rm x' git q", &[], "rm x");
        leads("A='!rm x' git --config-env=alias.q=A q", &[], "rm x");
        leads("export GIT_CONFIG_PARAMETERS=\"'alias.q=!rm x'\"; git q", &[], "rm x");
        does_not_lead("git -c alias.status='!rm x' status", &[], "rm x");
        does_not_lead("git -c alias.q='!git q' q", &[], "rm x");
    }

    #[test]
    fn scripts_of_a_package_are_followed() {
        let manifest = r#"{"scripts": {"clean": "rm -rf dist", "preclean": "echo pre", "postinstall": "rm x", "loop": "npm run loop"}}"#;
        let files = [("/home/dev/project/package.json", manifest), ("/home/dev/project/sub/package.json", manifest)];
        leads("npm run clean", &files, "rm -rf dist");
        leads("npm run clean", &files, "echo pre");
        leads("npm run clean -- y", &files, "rm -rf dist y");
        leads("yarn clean", &files, "rm -rf dist");
        leads("npm install", &files, "rm x");
        leads("cd sub && npm run clean", &files, "rm -rf dist");
        does_not_lead("npm run loop", &files, "rm x");
        does_not_lead("npm run other", &files, "rm -rf dist");
    }

    #[test]
    fn targets_are_followed() {
        let files = [("/home/dev/project/Makefile", "all:\n\techo hi\nclean:\n\t-rm -rf $(OUT)\n")];
        leads("make clean OUT=x", &files, "rm -rf x");
        leads("make", &files, "echo hi");
        does_not_lead("make", &files, "rm -rf x");
        leads("just clean", &[("/home/dev/project/justfile", "clean:\n  rm -rf x\n")], "rm -rf x");
    }

    #[test]
    fn variables_that_hold_commands_are_followed() {
        leads("GIT_SSH_COMMAND='rm x' git fetch", &[], "rm x");
        leads("export PAGER='rm x'; git log", &[], "rm x");
        leads("PS4='$(rm x)' bash -x -c true", &[], "rm x");
        leads("LESSOPEN='|rm x' less y", &[], "rm x");
        does_not_lead("MESSAGE='rm x' git fetch", &[], "rm x");
    }

    #[test]
    fn scripts_in_the_project_are_read() {
        let script = "#!/bin/sh\nrm \"$1\"\n";
        let files = [("/home/dev/project/x.sh", script), ("/home/dev/project/bin/run", script)];
        leads("./x.sh y", &files, "rm y");
        leads("sh x.sh y", &files, "rm y");
        leads(". ./x.sh y", &files, "rm y");
        leads("bin/run y", &files, "rm y");
        leads("cp x.sh z.sh; bash z.sh y", &files, "rm y");
        leads("sh < x.sh", &files, "rm ");
        let python = [("/home/dev/project/x", "#!/usr/bin/env python3\nprint()\n")];
        let facts = facts_with(&line("./x"), &python);
        assert_eq!(facts.acts[0].code.as_ref().map(|code| code.language.as_str()), Some("python"), "{}", dump(&facts));
    }

    #[test]
    fn scripts_that_lead_to_each_other_end() {
        let files = [("/home/dev/project/a", "./b\n"), ("/home/dev/project/b", "./a; rm x\n")];
        leads("./a", &files, "rm x");
        let bomb = [("/home/dev/project/a", "./a & ./a\n")];
        leads("./a", &bomb, ":forkbomb");
    }
}
