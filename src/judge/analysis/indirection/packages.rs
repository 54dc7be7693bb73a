//! Scripts and programs of a package: `npm run X`, `yarn X`, and the scripts that an installation runs.

use crate::judge::analysis::act::{Act, Flag, Taint, Value};
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::indirection::describes;
use crate::judge::analysis::marked_text::MarkedText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::word_lists;

/// Maximum number of versions of a manifest that are read.
const MAX_MANIFESTS: usize = 16;

/// Maximum number of texts beside a manifest that are read as commands.
const MAX_TEXTS: usize = 16;

/// Maximum number of members of a workspace that are read.
const MAX_MEMBERS: usize = 16;

impl Walker<'_> {
    #[inline(never)]
    pub(super) fn package_script(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, known: program, reading, .. } = ran;
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
            // `workspace NAME [run] SCRIPT`, `workspaces run SCRIPT`, `workspaces foreach run SCRIPT`
            Some(word @ ("workspace" | "workspaces")) => {
                let from = skip + usize::from(word == "workspace");
                let at = from + usize::from(operand(from).is_some_and(|word| word == "run"));
                match operand(at) {
                    Some(script) => (vec![script], at + 1),
                    None => return,
                }
            }
            Some("install" | "i" | "ci" | "clean-install") | None if name != "bun" || first.is_some() => {
                (word_lists::INSTALL_SCRIPTS.iter().map(|script| (*script).to_owned()).collect(), usize::MAX)
            }
            // npm requires `run` before the name of a script.
            Some(script) if name != "npm" && !described => (vec![script.to_owned()], skip),
            _ => return,
        };
        let Some(dir) = Self::named_directory(state, reading, &["--prefix", "--dir", "--cwd", "-C"]) else { return };
        let everywhere = first.as_deref() == Some("workspaces");
        let named = (first.as_deref() == Some("workspace")).then(|| operand(skip)).flatten();
        let is_workspace = |flag: &&Flag| {
            word_lists::WORKSPACE_OPTIONS.contains(&flag.name.as_str()) && (flag.name != "-w" || flag.value.is_some())
        };
        let mut flags = reading.flags.iter().filter(is_workspace).peekable();
        if !everywhere && named.is_none() && flags.peek().is_none() {
            self.scripts_in(state, context, ran, (&scripts, rest), &dir);
            return;
        }
        let values = flags.filter_map(|flag| flag.value.as_ref()?.known_text());
        let mut members: Vec<Place> = named.into_iter().chain(values).filter_map(|member| dir.join(&member)).collect();
        members.extend(self.members_written(&dir));
        for member in members.iter().take(MAX_MEMBERS) {
            self.scripts_in(state, context, ran, (&scripts, rest), member);
        }
    }

    /// Returns the directories below a directory in which the command or the session wrote a manifest.
    fn members_written(&self, dir: &Place) -> Vec<Place> {
        const MANIFEST: &str = "/package.json";
        let is_member =
            |below: &str| below.ends_with(MANIFEST) && below != MANIFEST && !below.contains("/node_modules/");
        let of_line =
            self.files.written.keys().filter(|place| place.below(dir).is_some_and(|below| is_member(below.rough())));
        let mut members: Vec<Place> = of_line.filter_map(|place| Some(place.split()?.0)).collect();
        if let (Some(dir), Some(ledger)) = (dir.text(), self.input.inquiry.ledger()) {
            let own = ledger.written().filter(|path| path.strip_prefix(dir).is_some_and(is_member));
            members.extend(own.filter_map(|path| path.strip_suffix(MANIFEST)).map(Place::of));
        }
        members
    }

    /// Walks these scripts in the manifest of a directory. `rest` is the index of the first operand that is passed to
    /// them.
    #[inline(never)]
    fn scripts_in(
        &mut self,
        state: &State,
        context: &Context,
        ran: ProgramRun<'_>,
        (scripts, rest): (&[String], usize),
        dir: &Place,
    ) {
        let ProgramRun { name, reading, span, .. } = ran;
        let Some(place) = dir.join("package.json") else { return };
        // The scripts of a downloaded package are judged with its installation.
        if rest == usize::MAX && self.progress().is_fetched(&place) {
            return;
        }
        let path = place.value();
        let Some(told) = self.settings_text(state, &path, span) else { return };
        let told = MarkedText::new(&told);
        // An insertion by an editor follows the existing manifest.
        let values = serde_json::Deserializer::from_str(told.text()).into_iter::<serde_json::Value>();
        let manifests: Vec<serde_json::Value> = values.map_while(Result::ok).take(MAX_MANIFESTS).collect();
        // An inserted line may belong to any script.
        if self.progress().goes_on(state, &path)
            && let Some(put_in) = self.progress().content_of(state, &path)
        {
            let inner = within(&context.perhaps(), name).elsewhere(span);
            self.read_value(&mut state.child(&[]), &inner, &put_in, span);
        }
        // What the command computed into it may be any of the texts that the command names beside it.
        if self.progress().content_of(state, &path).is_some_and(|text| text.is_dynamic()) {
            let inner = within(&context.perhaps(), name).elsewhere(span);
            for text in self.progress().texts_beside("package.json") {
                self.text(&mut state.child(&[]), &inner, &text);
            }
        }
        let words: Vec<&Value> = reading.operands.iter().map(|operand| &operand.value).collect();
        for script in scripts {
            for name_of in [format!("pre{script}"), script.clone(), format!("post{script}")] {
                // The last definition applies.
                let said =
                    |manifest: &serde_json::Value| Some(manifest.get("scripts")?.get(&name_of)?.as_str()?.to_owned());
                let put_in = manifests.is_empty() || self.progress().goes_on(state, &path);
                let set = || put_in.then(|| scripts_in(told.text(), &name_of)).flatten();
                let Some(text) = set().or_else(|| manifests.iter().rev().find_map(said)) else { continue };
                let Some(inner) = self.definition(
                    state,
                    context,
                    name,
                    (format!("{name} script {name_of} in {}", dir.shown()), &words),
                    span,
                ) else {
                    continue;
                };
                let mut child = state.child(&[]);
                if child.cwd.as_ref() != Some(dir) {
                    child.move_to(Some(dir.clone()));
                }
                let mut child = self.with_bins(&child, name, &[]);
                let mut line = told.value(&text);
                if name_of == *script {
                    for operand in reading.operands.iter().skip(rest) {
                        line.push_text(" ");
                        line.push_quoted(&operand.value);
                    }
                }
                self.read_value(&mut child, &inner, &line, span);
            }
        }
    }

    /// Stores the manifest after `npm pkg set scripts.X=COMMAND`.
    #[inline(never)]
    pub(super) fn package_set(&mut self, state: &State, context: &Context, args: &[Field], reading: &Reading) {
        let words: Vec<String> = args.iter().filter_map(|field| field.value.known_text()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        let set: Vec<(&str, &str)> = match words.as_slice() {
            ["pkg", "set", set @ ..] | ["pm", "pkg", "set", set @ ..] => {
                set.iter().filter_map(|word| word.strip_prefix("scripts.")?.split_once('=')).collect()
            }
            ["set-script", name, line] => vec![(name, line)],
            _ => return,
        };
        let Some(dir) = Self::named_directory(state, reading, &["--prefix", "--dir", "--cwd", "-C"]) else { return };
        let Some(key) = dir.join("package.json").filter(|_| !set.is_empty()) else { return };
        let sink = self.files.open(&mut self.sinks, key, true, context.conditional);
        for (name, line) in set {
            let manifest = serde_json::json!({ "scripts": { name: line } });
            if let Some(sink) = self.sinks.get_mut(sink) {
                sink.write(&Value::text(manifest.to_string()), Taint::default(), false);
            }
        }
    }

    /// Walks a program of the project (`yarn prisma migrate reset`): the word is neither a subcommand nor a script.
    #[inline(never)]
    pub(super) fn package_program(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, known: program, reading, args, span, .. } = ran;
        let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
        let word = match reading.sub.first() {
            Some(sub) if sub == "run" => operand(0),
            Some(sub) if !describes(program, sub) => Some(sub.clone()),
            Some(_) => None,
            None => operand(0),
        };
        let is_program = |word: &String| name != "npm" && !word_lists::SCRIPT_NAMES.contains(&word.as_str());
        let Some(word) = word.filter(is_program) else { return };
        let Some(at) = args.iter().position(|field| field.value.is(&word)) else { return };
        let rest = args.iter().skip(at + 1).map(Field::arg);
        self.stands_for(state, context, name, &word, &rest.collect::<Vec<_>>(), span);
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the texts in quotes in the code and the arguments of the programs that also name this file.
    fn texts_beside(&self, file: &str) -> Vec<String> {
        self.input.spend(self.acts.len() as u64 / 4);
        let texts = |act: &Act| -> Vec<String> {
            let code = act.code.iter().filter_map(|code| code.text.known_text());
            act.args.iter().filter_map(Value::known_text).chain(code).collect()
        };
        let naming = self.acts.iter().map(texts).filter(|texts| texts.iter().any(|text| text.contains(file)));
        let mut quoted: Vec<String> = Vec::new();
        for text in naming.flatten() {
            let is_command = |text: &&str| text.trim().contains([' ', '/', '.']) && !text.contains(file);
            let found = quoted_texts(&text).into_iter().filter(is_command);
            for text in found.map(str::to_owned).take(MAX_TEXTS) {
                if !quoted.contains(&text) {
                    quoted.push(text);
                }
            }
        }
        quoted.truncate(MAX_TEXTS);
        quoted
    }
}

/// Returns the texts between two equal quotes.
fn quoted_texts(code: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = code;
    while let Some((_, behind)) = rest.find(['"', '\'', '`']).and_then(|at| rest.split_at_checked(at)) {
        let Some(quote) = behind.chars().next() else { break };
        let inside = behind.get(1..).unwrap_or_default();
        match inside.split_once(quote) {
            Some((text, after)) => {
                all.push(text);
                rest = after;
            }
            None => rest = inside,
        }
    }
    all
}

/// Returns the command of a script in a part of a manifest: the last `"NAME": "COMMAND"`.
fn scripts_in(text: &str, name: &str) -> Option<String> {
    let key = serde_json::Value::from(name).to_string();
    let (_, after) = text.rsplit_once(&key)?;
    let value = after.trim_start().strip_prefix(':')?;
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<serde_json::Value>();
    values.next()?.ok()?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::judge::analysis::testing::{dump, facts_with, line, programs};

    #[test]
    fn scripts_of_a_member_of_the_workspace_are_read() {
        let root = ("/home/dev/project/package.json", r#"{"workspaces": ["packages/*"], "scripts": {"b": "rm root"}}"#);
        let member = ("/home/dev/project/packages/a/package.json", r#"{"scripts": {"b": "rm x", "clean": "rm y"}}"#);
        let found = |text: &str| {
            let facts = facts_with(&line(text), &[root, member]);
            let removed: Vec<String> =
                programs(&facts).into_iter().filter(|program| program.starts_with("rm ")).collect();
            (removed, dump(&facts))
        };
        for text in ["npm run b -w packages/a", "npm run b --workspace=packages/a", "yarn workspace packages/a run b"] {
            let (removed, facts) = found(text);
            assert_eq!(removed, ["rm x"], "{text}\n{facts}");
        }
        // A member that is named differently is found if the line wrote its manifest.
        let wrote = r#"echo '{"scripts": {"b": "rm x"}}' > packages/b/package.json; "#;
        for text in
            ["pnpm -r run b", "pnpm --filter @a/b run b", "yarn workspace b b", "yarn workspaces foreach -A run b"]
        {
            let (removed, facts) = found(&format!("{wrote}{text}"));
            assert_eq!(removed, ["rm x"], "{text}\n{facts}");
        }
        // What the line computes into the manifest may be any text that it names with it.
        for text in [
            r#"jq '.scripts.b = "rm z"' package.json > p && mv p package.json && npm run b"#,
            r#"yq -i '.scripts.b = "rm z"' package.json && npm run b"#,
            r#"python3 -c 'import json; p = json.load(open("package.json")); p["scripts"]["b"] = "rm z"; json.dump(p, open("package.json", "w"))'; npm run b"#,
        ] {
            let (removed, facts) = found(text);
            assert!(removed.contains(&"rm z".to_owned()), "{text}\n{facts}");
        }
        let reads = r#"jq '.scripts.b | test("rm z")' package.json; npm run b"#;
        assert_eq!(found(reads).0, ["rm root"], "what only reads the manifest puts nothing into it");
        assert_eq!(found("npm run b").0, ["rm root"]);
        assert!(found("npm run other -w packages/a").0.is_empty());
    }
}
