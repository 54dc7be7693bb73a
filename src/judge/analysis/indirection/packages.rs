//! Scripts and programs of a package: `npm run X`, `yarn X`, and the scripts that an installation runs.

use crate::judge::analysis::act::{Act, Flag, Taint, Value};
use crate::judge::analysis::arguments::{Arg, Reading};
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::files::{FileUpdate, WrittenData};
use crate::judge::analysis::indirection::{describes, named_directory};
use crate::judge::analysis::marked_text::MarkedText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::rules::word_lists;

/// The name of a manifest.
pub(super) const MANIFEST: &str = "package.json";

/// Maximum number of versions of a manifest that are read.
const MAX_MANIFESTS: usize = 16;

/// Maximum number of texts beside a manifest that are read as commands.
const MAX_TEXTS: usize = 16;

/// Maximum number of members of a workspace that are read.
const MAX_MEMBERS: usize = 16;

/// The options that name the directory of a package.
const DIRECTORY_OPTIONS: [&str; 4] = ["--prefix", "--dir", "--cwd", "-C"];

/// Scripts of packages that a command runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackageScripts {
    pub names: Vec<String>,
    /// The index of the first operand that is passed to them.
    pub rest: usize,
    /// The directories with the manifests.
    pub dirs: Vec<Place>,
}

/// A script in a manifest.
#[derive(Debug)]
pub(super) struct ScriptLine {
    pub name: String,
    /// The command, with the operands that it gets.
    pub line: Value,
}

/// Returns the names of the scripts that a command runs, and the index of the first operand that is passed to them.
fn named_scripts(ran: ProgramRun<'_>) -> Option<(Vec<String>, usize)> {
    let ProgramRun { name, known: program, reading, .. } = ran;
    let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
    let sub = reading.sub.first().cloned();
    let described = sub.as_deref().is_some_and(|sub| describes(program, sub));
    let skip = usize::from(sub.is_none());
    let first = sub.or_else(|| operand(0));
    Some(match first.as_deref() {
        Some("run" | "run-script" | "rum" | "urn") => (vec![operand(skip)?], skip + 1),
        Some("test" | "t" | "tst") => (vec!["test".to_owned()], skip),
        Some(script @ ("start" | "stop" | "restart")) => (vec![script.to_owned()], skip),
        // `workspace NAME [run] SCRIPT`, `workspaces run SCRIPT`, `workspaces foreach run SCRIPT`
        Some(word @ ("workspace" | "workspaces")) => {
            let from = skip + usize::from(word == "workspace");
            let at = from + usize::from(operand(from).is_some_and(|word| word == "run"));
            (vec![operand(at)?], at + 1)
        }
        Some("install" | "i" | "ci" | "clean-install") | None if name != "bun" || first.is_some() => {
            (word_lists::INSTALL_SCRIPTS.iter().map(|script| (*script).to_owned()).collect(), usize::MAX)
        }
        // npm requires `run` before the name of a script.
        Some(script) if name != "npm" && !described => (vec![script.to_owned()], skip),
        _ => return None,
    })
}

/// Returns the program of the project that a command runs, and its arguments (`yarn prisma migrate reset`): the word is
/// neither a subcommand nor a script.
pub(super) fn named_program(ran: ProgramRun<'_>) -> Option<(String, Vec<Arg>)> {
    let ProgramRun { name, known: program, reading, args, .. } = ran;
    let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
    let word = match reading.sub.first() {
        Some(sub) if sub == "run" => operand(0),
        Some(sub) if !describes(program, sub) => Some(sub.clone()),
        Some(_) => None,
        None => operand(0),
    };
    let word = word.filter(|word| name != "npm" && !word_lists::SCRIPT_NAMES.contains(&word.as_str()))?;
    let at = args.iter().position(|field| field.value.is(&word))?;
    Some((word, args.iter().skip(at + 1).map(Field::arg).collect()))
}

/// Returns the manifest after `npm pkg set scripts.X=COMMAND`, as updates of the file. `conditional`: it may not run.
pub(super) fn scripts_set(state: &State, args: &[Field], reading: &Reading, conditional: bool) -> Option<FileUpdate> {
    let words: Vec<String> = args.iter().filter_map(|field| field.value.known_text()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let set: Vec<(&str, &str)> = match words.as_slice() {
        ["pkg", "set", set @ ..] | ["pm", "pkg", "set", set @ ..] => {
            set.iter().filter_map(|word| word.strip_prefix("scripts.")?.split_once('=')).collect()
        }
        ["set-script", name, line] => vec![(name, line)],
        _ => return None,
    };
    let dir = named_directory(state, reading, &DIRECTORY_OPTIONS)?;
    let place = dir.join(MANIFEST).filter(|_| !set.is_empty())?;
    let manifest = |(name, line): &(&str, &str)| serde_json::json!({ "scripts": { *name: line } }).to_string();
    let text = Value::text(set.iter().map(manifest).collect::<String>());
    Some(FileUpdate::Write(WrittenData { append: true, ..WrittenData::of(place, text, Taint::default(), conditional) }))
}

impl WalkProgress<'_, '_> {
    /// Returns the scripts that a command runs, and the packages.
    #[inline(never)]
    pub(super) fn package_scripts(&self, state: &State, ran: ProgramRun<'_>) -> Option<PackageScripts> {
        let reading = ran.reading;
        let (names, rest) = named_scripts(ran)?;
        let dir = named_directory(state, reading, &DIRECTORY_OPTIONS)?;
        let operand = |at: usize| reading.operands.get(at).and_then(|operand| operand.value.known_text());
        let first = reading.sub.first().cloned().or_else(|| operand(0));
        let skip = usize::from(reading.sub.is_empty());
        let everywhere = first.as_deref() == Some("workspaces");
        let named = (first.as_deref() == Some("workspace")).then(|| operand(skip)).flatten();
        let is_workspace = |flag: &&Flag| {
            word_lists::WORKSPACE_OPTIONS.contains(&flag.name.as_str()) && (flag.name != "-w" || flag.value.is_some())
        };
        let mut flags = reading.flags.iter().filter(is_workspace).peekable();
        if !everywhere && named.is_none() && flags.peek().is_none() {
            return Some(PackageScripts { names, rest, dirs: vec![dir] });
        }
        let values = flags.filter_map(|flag| flag.value.as_ref()?.known_text());
        let mut dirs: Vec<Place> = named.into_iter().chain(values).filter_map(|member| dir.join(&member)).collect();
        dirs.extend(self.members_written(&dir));
        dirs.truncate(MAX_MEMBERS);
        Some(PackageScripts { names, rest, dirs })
    }

    /// Returns the directories below a directory in which the command or the session wrote a manifest.
    fn members_written(&self, dir: &Place) -> Vec<Place> {
        let is_member = |below: &str| {
            let above = below.strip_suffix(MANIFEST).and_then(|above| above.strip_suffix('/'));
            above.is_some_and(|above| !above.is_empty()) && !below.contains("/node_modules/")
        };
        let of_line =
            self.files.written.keys().filter(|place| place.below(dir).is_some_and(|below| is_member(below.rough())));
        let mut members: Vec<Place> = of_line.filter_map(|place| Some(place.split()?.0)).collect();
        if let (Some(dir), Some(ledger)) = (dir.text(), self.input.inquiry.ledger()) {
            let own = ledger.written().filter(|path| path.strip_prefix(dir).is_some_and(is_member));
            members.extend(own.filter_map(|path| Some(path.rsplit_once('/')?.0)).map(Place::of));
        }
        members
    }

    /// Returns texts that may have become scripts of a manifest: what an editor inserted, and if the command computed
    /// something into it, the texts that the command names beside it.
    #[inline(never)]
    pub(super) fn possible_scripts(&self, state: &State, manifest: &Value) -> Vec<Value> {
        let Some(written) = self.added_to(state, manifest) else { return Vec::new() };
        let beside = if written.is_dynamic() { self.texts_beside(MANIFEST) } else { Vec::new() };
        let inserted = self.goes_on(state, manifest).then_some(written);
        inserted.into_iter().chain(beside.into_iter().map(Value::text)).collect()
    }

    /// Returns the commands of these scripts and of those that run before and after them, by the text of a manifest.
    #[inline(never)]
    pub(super) fn script_lines(
        &self,
        state: &State,
        reading: &Reading,
        scripts: &PackageScripts,
        (manifest, text): (&Value, &Value),
    ) -> Vec<ScriptLine> {
        let told = MarkedText::new(text);
        // An insertion by an editor follows the existing manifest.
        let values = serde_json::Deserializer::from_str(told.text()).into_iter::<serde_json::Value>();
        let manifests: Vec<serde_json::Value> = values.map_while(Result::ok).take(MAX_MANIFESTS).collect();
        let put_in = manifests.is_empty() || self.goes_on(state, manifest);
        let line = |script: &str, name: String| {
            // The last definition applies.
            let said = |manifest: &serde_json::Value| Some(manifest.get("scripts")?.get(&name)?.as_str()?.to_owned());
            let set = || put_in.then(|| scripts_in(told.text(), &name)).flatten();
            let command = set().or_else(|| manifests.iter().rev().find_map(said))?;
            let mut line = told.value(&command);
            if name == script {
                for operand in reading.operands.iter().skip(scripts.rest) {
                    line.push_text(" ");
                    line.push_quoted(&operand.value);
                }
            }
            Some(ScriptLine { name, line })
        };
        let names = |script: &String| [format!("pre{script}"), script.clone(), format!("post{script}")];
        scripts
            .names
            .iter()
            .flat_map(|script| names(script).into_iter().filter_map(|name| line(script, name)))
            .collect()
    }

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
    use super::*;
    use crate::judge::analysis::act::Operand;
    use crate::judge::analysis::testing::{dump, facts_with, line, programs};
    use crate::judge::syntax::tree::Span;

    /// Tests a run of a program with these subcommands and operands.
    fn run<R>(name: &str, sub: &[&str], operands: &[&str], test: impl FnOnce(ProgramRun<'_>) -> R) -> R {
        let span = Span::default();
        let reading = Reading {
            sub: sub.iter().map(|word| (*word).to_owned()).collect(),
            operands: operands.iter().map(|word| Operand { value: Value::text(*word), span }).collect(),
            ..Reading::default()
        };
        let args: Vec<Field> = sub.iter().chain(operands).map(|word| Field::text(*word, span)).collect();
        test(ProgramRun { args: &args, ..ProgramRun::in_place_of(name, &reading, span) })
    }

    #[test]
    fn scripts_are_named_by_their_command_or_their_name() {
        let install: &[&str] = &word_lists::INSTALL_SCRIPTS;
        for (name, sub, operands, scripts) in [
            ("npm", &["run"][..], &["b", "x"][..], Some((&["b"][..], 1))),
            ("npm", &[], &["run", "b", "x"], Some((&["b"], 2))),
            ("npm", &["run"], &[], None),
            ("npm", &["t"], &["x"], Some((&["test"], 0))),
            ("npm", &["stop"], &[], Some((&["stop"], 0))),
            ("npm", &["frob"], &[], None),
            ("yarn", &["frob"], &["x"], Some((&["frob"], 0))),
            ("yarn", &[], &["frob", "x"], Some((&["frob"], 1))),
            ("yarn", &["workspace"], &["a", "b"], Some((&["b"], 2))),
            ("yarn", &[], &["workspace", "a", "run", "b"], Some((&["b"], 4))),
            ("yarn", &["workspaces"], &["run", "b"], Some((&["b"], 2))),
            ("npm", &["ci"], &[], Some((install, usize::MAX))),
            ("npm", &[], &[], Some((install, usize::MAX))),
            ("bun", &[], &[], None),
        ] {
            let found = run(name, sub, operands, named_scripts);
            let found =
                found.as_ref().map(|(names, rest)| (names.iter().map(String::as_str).collect::<Vec<_>>(), *rest));
            assert_eq!(found, scripts.map(|(names, rest)| (names.to_vec(), rest)), "{name} {sub:?} {operands:?}");
        }
    }

    #[test]
    fn a_program_of_the_project_is_no_script_of_the_manager() {
        let found = |name: &str, sub: &[&str], operands: &[&str]| {
            let found = run(name, sub, operands, named_program);
            found.map(|(program, args)| {
                let args: Vec<String> = args.iter().map(|arg| arg.value.rough().into_owned()).collect();
                format!("{program} {}", args.join(" "))
            })
        };
        assert_eq!(found("yarn", &["run"], &["prisma", "migrate", "reset"]).as_deref(), Some("prisma migrate reset"));
        assert_eq!(found("yarn", &["prisma"], &["reset"]).as_deref(), Some("prisma reset"));
        assert_eq!(found("yarn", &[], &["prisma"]).as_deref(), Some("prisma "));
        assert_eq!(found("npm", &["prisma"], &[]), None, "npm starts programs with `exec` alone");
        assert_eq!(found("yarn", &["start"], &[]), None);
    }

    #[test]
    fn a_set_script_is_appended_to_the_manifest() {
        let state = State::at(Some(Place::of("/home/dev/project")));
        let set = |words: &[&str]| {
            let args: Vec<Field> = words.iter().map(|word| Field::text(*word, Span::default())).collect();
            match scripts_set(&state, &args, &Reading::default(), true)? {
                FileUpdate::Write(data) => Some(data),
                FileUpdate::Copy { .. } => None,
            }
        };
        let data = set(&["pkg", "set", "scripts.b=rm x", "name=y", "scripts.c=d=e", "--json"]).unwrap();
        assert_eq!(data.text.rough(), r#"{"scripts":{"b":"rm x"}}{"scripts":{"c":"d=e"}}"#);
        assert_eq!((data.place.shown(), data.append, data.conditional), ("/home/dev/project/package.json", true, true));
        assert_eq!(set(&["set-script", "b", "rm x"]).unwrap().text.rough(), r#"{"scripts":{"b":"rm x"}}"#);
        for words in [&["pkg", "set", "name=y"][..], &["pkg", "get", "scripts.b"], &["set-script", "b"]] {
            assert!(set(words).is_none(), "{words:?}");
        }
    }

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
