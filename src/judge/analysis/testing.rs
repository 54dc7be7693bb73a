//! Helpers for the tests of the analysis: a small catalog, an invocation, and acts as text.

use std::ffi::OsString;
use std::path::PathBuf;

use super::act::{Act, Facts, Input, Verb};
use super::inquiry::{Answers, Inquiry};
use super::question::{FileFacts, PathFacts, PathKind, ProgramFacts, Question, WorldAnswer};
use super::work_out;
use crate::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use crate::judge::rules::catalog::{Catalog, Layer, PatternFile};
use crate::judge::syntax::tree::Dialect;

pub(super) mod world;

const PROGRAMS: &str = r#"
family = "tests"
about = "Programs for the tests of the walk."

[[program]]
name = ["rm"]
as_argument = "rf"
options = ["-r|-R|--recursive", "-f|--force"]
effects = [{ does = "delete", to = "operands", recursive = ["-r"] }]

[[program]]
name = ["sudo"]
style = "posix"
options = ["-u|--user=", "-s|--shell", "-i", "-E", "-n"]
wraps = [{ root = true, assignments = true, bare_shell = true }]

[[program]]
name = ["env"]
style = "posix"
options = ["-i", "-u|--unset=", "-S|--split-string=", "-C|--chdir="]
wraps = [{ assignments = true }, { inner = "line", from = "option:-S" }]

[[program]]
name = ["nice", "nohup", "setsid", "busybox", "stdbuf"]
style = "posix"
options = ["-n=", "-o="]
wraps = [{}]

[[program]]
name = ["envchain"]
wraps = [{ from = "anywhere" }]

[[program]]
name = ["timeout"]
style = "posix"
options = ["-s=", "-k="]
wraps = [{ skip = 1 }]

[[program]]
name = ["xargs"]
style = "posix"
options = ["-0", "-n=", "-I=", "-P=", "-r"]
wraps = [{ adds = "input" }]

[[program]]
name = ["find"]
style = "expression"
options = ["-name=", "-type=", "-delete"]
wraps = [{ from = "until:-exec|-execdir|-ok", adds = "found" }]

[[program]]
name = ["ssh"]
style = "posix"
options = ["-p=", "-i=", "-t"]
wraps = [{ inner = "line", skip = 1, remote = "ssh", host = 0, bare_shell = true }]

[[program]]
name = ["bash", "sh", "dash"]
as_argument = "c"
style = "posix"
options = ["-c", "-l", "-i", "-x", "-e", "-u", "-s", "-o=", "-O="]
runs = { language = "shell", code = ["-c"], script_operand = true, stdin = true }

[[program]]
name = ["zsh"]
style = "posix"
options = ["-c", "-l", "-i", "-x", "-e", "-o="]
runs = { language = "zsh", code = ["-c"], script_operand = true, stdin = true }

[[program]]
name = ["fish"]
style = "posix"
options = ["-c"]
runs = { language = "fish", code = ["-c"], script_operand = true, stdin = true }

[[program]]
name = ["python", "python3"]
style = "posix"
options = ["-c=", "-m="]
runs = { language = "python", code = ["-c"], script_operand = true, stdin = true }

[[program]]
name = ["curl", "wget"]
options = ["-o|--output=", "-O|--output-document=", "-s", "-L", "-f", "-S"]
output = "fetched"
effects = [
  { does = "fetch", to = "operands" },
  { does = "write", to = "flag:-o" },
  { does = "write", to = "flag:-O" },
]

[[program]]
name = ["base64", "xxd"]
tier = 0
options = ["-d|--decode", "-r", "-p"]
output = "decoded"

[[program]]
name = ["cat", "grep", "tr", "rev"]
tier = 0
effects = [{ does = "show", to = "operands" }]

[[program]]
name = ["echo", "printf", "true", "false", ":", "test", "[", "ls", "mktemp", "pwd", "cd"]
tier = 0
style = "none"

[[program]]
name = ["git"]
as_argument = ""
style = "gnu"
options = ["-C="]
output = "own"
effects = [{ does = "write", to = "last" }]

[[program]]
name = ["cp", "mv"]
options = ["-r", "-t="]
effects = [{ does = "load", to = "init" }, { does = "write", to = "last" }]

[[program]]
name = ["tar"]
style = "bundle"
options = ["-x", "-z", "-f=", "-C="]
effects = [
  { does = "write", to = "flag:-C", when = ["-x"], recursive = true },
  { does = "write", to = "here", when = ["-x"], unless = ["-C"], recursive = true },
]

[[program]]
name = ["gunzip", "gzip"]
options = ["-d", "-c", "-k"]

[[program]]
name = ["patch"]
options = ["-p=", "-i=", "-d="]
effects = [{ does = "write", to = "here", recursive = true }]

[[program]]
name = ["tee"]
effects = [{ does = "write", to = "operands" }]
"#;

/// Returns the catalog of the tests.
pub(super) fn catalog() -> Catalog {
    let file = PatternFile { path: "tests.toml".into(), text: PROGRAMS.into(), layer: Layer::User };
    let (catalog, problems) = Catalog::with_files([file]);
    assert_eq!(problems, [], "the test catalog reads");
    catalog
}

fn invocation(request: Request, env: &[(&str, &str)]) -> Invocation {
    let pairs = [("HOME", "/home/dev"), ("USER", "dev"), ("PATH", "/usr/bin:/bin")];
    let env: Environment =
        pairs.iter().chain(env).map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Invocation {
        request,
        cwd: PathBuf::from("/home/dev/project"),
        env,
        home: Some(PathBuf::from("/home/dev")),
        uid: 1000,
        user: "dev".into(),
        origin: Origin::Agent,
        session: Session::default(),
    }
}

/// Returns the invocation of a bash line.
pub(super) fn line(text: &str) -> Invocation {
    line_in(text, Dialect::Bash, &[])
}

/// Returns the invocation of a line for a shell, with additional variables.
pub(super) fn line_in(text: &str, dialect: Dialect, env: &[(&str, &str)]) -> Invocation {
    let request = Request::Line(Line { dialect, ..Line::of_bash(text) });
    invocation(request, env)
}

/// Analyses a line in a world that contains only these files.
pub(super) fn facts_with(invocation: &Invocation, files: &[(&str, &str)]) -> Facts {
    let catalog = catalog();
    let source = |question: &Question| match question {
        Question::File(path) => WorldAnswer::File(match files.iter().find(|(name, _)| name == path) {
            Some((_, text)) => FileFacts::Text { bytes: text.as_bytes().to_vec(), digest: [0; 32] },
            None => FileFacts::Missing,
        }),
        Question::Path(path) => WorldAnswer::Path(PathFacts {
            kind: if files.iter().any(|(name, _)| name == path) { PathKind::Directory } else { PathKind::Missing },
            canonical: path.clone(),
            symlink: false,
            bytes: 0,
        }),
        Question::Resolve { name, dirs } => {
            let paths = dirs.iter().map(|dir| format!("{dir}/{name}"));
            let found = paths.into_iter().find(|path| files.iter().any(|(name, _)| name == path));
            WorldAnswer::Resolve(found.map(|path| ProgramFacts {
                canonical: path.clone(),
                path,
                device: 0,
                inode: 0,
                bytes: 0,
                changed: 0,
                digest: None,
                since_session: false,
            }))
        }
        _ => WorldAnswer::Unavailable,
    };
    let answers = Answers::of(&source);
    work_out(invocation, &catalog, &Inquiry::new(&answers))
}

/// Analyses a line in a world without files.
pub(super) fn facts(text: &str) -> Facts {
    facts_with(&line(text), &[])
}

/// Returns the programs that run, with their arguments: `rm -rf x`. Unknown parts are shown as `?`.
pub(super) fn programs(facts: &Facts) -> Vec<String> {
    facts.acts.iter().filter_map(program).collect()
}

fn program(act: &Act) -> Option<String> {
    let Verb::Program { name, .. } = &act.verb else { return None };
    let words = act.args.iter().map(|value| value.rough().replace(super::value::HOLE, "?"));
    Some([name.clone()].into_iter().chain(words).collect::<Vec<_>>().join(" "))
}

/// Checks that a line runs a program with these arguments, in the form of [`programs`].
#[track_caller]
pub(super) fn runs(text: &str, expected: &str) {
    let facts = facts(text);
    assert!(programs(&facts).iter().any(|program| program == expected), "{text}\n{}", dump(&facts));
}

/// Returns the programs of a line except the harmless ones that tests use for scaffolding.
pub(super) fn telling(text: &str) -> Vec<String> {
    let scaffold = ["echo", "printf", "true", ":", "cat", "test", "[", "cd"];
    programs(&facts(text)).into_iter().filter(|p| !scaffold.contains(&p.split(' ').next().unwrap_or(""))).collect()
}

/// Formats all facts, one per line, for messages.
pub(super) fn dump(facts: &Facts) -> String {
    let mut all = String::new();
    for (id, act) in facts.acts.iter().enumerate() {
        let what = program(act).unwrap_or_else(|| {
            let on: Vec<String> = act.operands.iter().map(|operand| operand.value.rough().into_owned()).collect();
            format!("{} {}", act.verb.key(), on.join(" "))
        });
        let input = match &act.input {
            Input::Inherited => String::new(),
            Input::Nothing => " <nothing".into(),
            Input::Pipe(from) => format!(" <pipe{from:?}"),
            Input::File(operand) => format!(" <{}", operand.value.rough()),
            Input::Text(text) => format!(" <<{:?}", text.rough()),
        };
        let flags = [(act.root, " root"), (act.conditional, " perhaps"), (act.recursive, " recursive")];
        let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        let extra = act.disguise.map(|d| format!(" {d:?}")).unwrap_or_default();
        all.push_str(&format!(
            "{id}: {what}{input} >{:?} feeds{:?} in{:?} taint{}{flags}{extra} cwd={} {}..{}\n",
            act.output,
            act.feeds,
            act.wrappers,
            act.taint.0,
            act.cwd.as_ref().map_or("?", super::place::Place::shown),
            act.span.start,
            act.span.end
        ));
    }
    for opaque in &facts.opaque {
        all.push_str(&format!(
            "opaque {:?}: {} {}..{}\n",
            opaque.why, opaque.detail, opaque.span.start, opaque.span.end
        ));
    }
    all
}

/// Checks the acts of `rm` in a line.
#[track_caller]
pub fn removes(line: &str, expected: &[&str]) {
    let removed: Vec<String> = telling(line).into_iter().filter(|act| act.starts_with("rm ")).collect();
    assert_eq!(removed, expected, "\n{line}\n{}", dump(&facts(line)));
}
