//! Tests that guard predicts the effects of a line as bash would produce them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guard::judge::analysis::act::{Act, Facts, Verb};
use guard::judge::analysis::inquiry::{Answers, Inquiry};
use guard::judge::analysis::question::{FileFacts, Question, WorldAnswer};
use guard::judge::analysis::work_out;
use guard::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use guard::judge::rules::catalog::Catalog;
use proptest::prelude::*;

const SNIPPETS: &str = include_str!("../samples/evasion.txt");

fn invocation(text: &str) -> Invocation {
    let env: Environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/dev")]
        .into_iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect();
    Invocation {
        request: Request::Line(Line::of_bash(text)),
        cwd: PathBuf::from("/home/dev/project"),
        env,
        home: Some(PathBuf::from("/home/dev")),
        uid: 1000,
        user: "dev".into(),
        origin: Origin::Agent,
        session: Session::default(),
    }
}

/// Returns the facts of a line in a world without files.
fn facts(text: &str) -> Facts {
    facts_with(text, &[])
}

/// Returns the facts of a line in a world with only these files of the project.
fn facts_with(text: &str, files: &[(&str, &str)]) -> Facts {
    let lies = |path: &str| {
        let name = path.strip_prefix("/home/dev/project/")?;
        files.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_bytes().to_vec())
    };
    let (invocation, catalog) = (invocation(text), Catalog::builtin());
    let source = |question: &Question| match question {
        Question::File(path) => WorldAnswer::File(match lies(path) {
            Some(bytes) => FileFacts::Text { bytes, digest: [0; 32] },
            None => FileFacts::Missing,
        }),
        _ => WorldAnswer::Unavailable,
    };
    work_out(&invocation, &catalog, &Inquiry::new(&Answers::of(&source)))
}

/// Returns the arguments of every act of this program, with unknown parts as `?`.
fn acts_of(facts: &Facts, program: &str) -> Vec<Vec<String>> {
    facts
        .acts
        .iter()
        .filter(|act| matches!(&act.verb, Verb::Program { name, .. } if name == program))
        .map(|act| {
            act.args.iter().map(|value| value.known().map_or("?".to_owned(), |text| text.into_owned())).collect()
        })
        .collect()
}

/// A directory whose `rm` only records its arguments.
struct StandIn {
    directory: tempfile::TempDir,
}

impl StandIn {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temp directory");
        let rm = directory.path().join("rm");
        crate::harness::program::write(&rm, "#!/bin/sh\nprintf '%s\\n' \"$*\" >> \"$STAND_IN_LOG\"\n");
        fs::create_dir(directory.path().join("work")).expect("a work directory");
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the argument lists that bash passed to the stand-in.
    fn run(&self, snippet: &str) -> Vec<String> {
        let log = self.path().join("log");
        let _ = fs::remove_file(&log);
        // The pipes close when the last started process ends, including background processes.
        Command::new("timeout")
            .args(["10", "bash", "-c", snippet])
            .current_dir(self.path().join("work"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path().display()))
            .env("STAND_IN_LOG", &log)
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

/// Snippets for which guard only reports that the command is unknown.
const HONESTLY_UNKNOWN: &[&str] = &["a=$(if true; then echo rm; else echo ls; fi); $a x"];

/// Checks that guard finds every argument list that bash passes to the stand-in, and that at least `least` snippets
/// call it.
fn check_all(snippets: &str, least: usize) {
    let mut missed = Vec::new();
    let mut ran = 0;
    for snippet in snippets.trim_end().split("\n%%\n") {
        let really = StandIn::new().run(snippet);
        if really.is_empty() {
            continue;
        }
        ran += 1;
        let facts = facts(snippet);
        let seen: Vec<String> = acts_of(&facts, "rm").iter().map(|args| args.join(" ")).collect();
        // An unknown argument matches any.
        let covers = |seen: &String, args: &String| {
            let (seen, args): (Vec<&str>, Vec<&str>) = (seen.split(' ').collect(), args.split(' ').collect());
            seen.len() == args.len() && seen.iter().zip(&args).all(|(seen, arg)| *seen == "?" || seen == arg)
        };
        let honest = HONESTLY_UNKNOWN.contains(&snippet) && !facts.opaque.is_empty();
        for args in &really {
            if !honest && !seen.iter().any(|seen| covers(seen, args)) {
                missed.push(format!("{snippet:?}: bash ran rm {args:?}; seen {seen:?}, opaque {:?}", facts.opaque));
            }
        }
    }
    assert!(ran >= least, "only {ran} snippets ran the stand-in: the oracle is broken");
    assert!(missed.is_empty(), "{} of {ran} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_snippet_that_runs_rm_in_bash_is_seen_to_run_it() {
    check_all(SNIPPETS, 150);
}

#[test]
fn commands_that_are_assembled_on_the_way_are_seen() {
    check_all(include_str!("../samples/assembly.txt"), 180);
}

#[test]
fn code_in_a_file_is_judged_by_what_it_says_however_it_is_handed_over() {
    let files = [
        ("tool.py", "import os\nos.system('rm x')\n"),
        ("tool.js", "require('child_process').execSync('rm x')\n"),
        ("tool.rb", "system 'rm x'\n"),
        ("tool.lua", "os.execute('rm x')\n"),
        ("tool.awk", "BEGIN { system(\"rm x\") }\n"),
        ("tool.vim", ":!rm x\n"),
        ("tool.sql", "\\! rm x\n"),
        ("tool.conf", "# nothing\nrun-shell 'rm x'\n"),
        ("screenrc", "screen -t a rm x\n"),
        ("tool.sh", "rm x\n"),
        ("plain.py", "print('rm x')\n"),
        ("plain.sh", "echo rm x\n"),
        ("plain.conf", "set -g mouse on\n"),
    ];
    for line in [
        "python3 < tool.py",
        "python3 -m tool",
        "python3 -mtool",
        "python3 -m cProfile -o o.prof tool.py",
        "python3 -m coverage run tool.py",
        "python3 -m code < tool.py",
        "ipython tool.py",
        "cp tool.py q.py && python3 q.py",
        "node < tool.js",
        "node -r ./tool.js -e 1",
        "node --require ./tool app.js",
        "node --import ./tool.js app.js",
        "bun --require ./tool.js app.ts",
        "ruby -r ./tool -e 1",
        "nvim -l tool.lua",
        "awk -f tool.awk data",
        "gawk -i ./tool.awk 1",
        "vim -u tool.vim x",
        "vim -es < tool.vim",
        "psql -f tool.sql",
        "psql < tool.sql",
        "mongosh tool.js",
        "tmux -f tool.conf new -d",
        "tmux source-file tool.conf",
        "screen -c screenrc",
        "parallel < tool.sh",
        "cat tool.sh | sh",
        "cat plain.sh tool.sh | bash -s",
        "cat tool.sh | ssh host bash",
        "cat tool.py | python3",
        "cat tool.sh > y; sh y",
        "cat tool.py > y.py; python3 y.py",
        "cat tool.sql | docker exec -i db psql",
        "cp tool.sh d/ && sh d/tool.sh",
        "python3 -m pytest tool.py",
    ] {
        let seen = facts_with(line, &files);
        assert!(acts_of(&seen, "rm").contains(&vec!["x".to_owned()]), "{line}: {:?}", essence(&seen));
    }
    for line in [
        "python3 < plain.py",
        "python3 -m plain",
        "python3 -m code",
        "python3 -m json.tool tool.js",
        "cat tool.py",
        "node -r dotenv/config app.js",
        "vim tool.vim",
        "vim -u NONE tool.vim",
        "vim -es x < /dev/null",
        "git log | vim -",
        "tmux -f plain.conf new -d",
        "tmux new -d -s tool.conf",
        "parallel wc -l < tool.sh",
        "mongosh db",
        "cat plain.sh | sh",
        "cat plain.py | python3 -",
        "cat schema.sql | psql",
        "cat tool.sh | grep x",
    ] {
        let seen = facts_with(line, &files);
        assert_eq!(acts_of(&seen, "rm"), Vec::<Vec<String>>::new(), "{line}");
        assert_eq!(seen.opaque, [], "{line}");
    }
}

/// Returns the acts without their positions and their spelling.
fn essence(facts: &Facts) -> Vec<String> {
    let act = |act: &Act| {
        let flags: Vec<_> = act.flags.iter().map(|flag| (&flag.name, &flag.value)).collect();
        format!("{:?} {:?} {flags:?} {} {:?} {:?}", act.verb, act.args, act.recursive, act.cwd, act.code)
    };
    facts.acts.iter().map(act).collect()
}

/// Quotes each character of a word in one of several ways.
fn requoted(word: &str, ways: &[u8]) -> String {
    let mut text = String::new();
    for (index, c) in word.chars().enumerate() {
        match ways.get(index).copied().unwrap_or(0) % 5 {
            1 => text.push_str(&format!("'{c}'")),
            2 => text.push_str(&format!("\"{c}\"")),
            3 => text.push_str(&format!("\\{c}")),
            4 => text.push_str(&format!("$'\\x{:02x}'", c as u32)),
            _ => text.push(c),
        }
    }
    text
}

fn words() -> impl Strategy<Value = Vec<String>> {
    let command = prop::sample::select(vec!["rm", "git", "cat", "mv", "unheard-of", "/bin/rm", "./x"]);
    let word = "[a-z0-9./-]{1,8}";
    (command, prop::collection::vec(word, 0..5))
        .prop_map(|(command, rest)| [command.to_owned()].into_iter().chain(rest).collect())
}

/// Generates pieces of shell text in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm",
        "x",
        " ",
        " ",
        ";",
        "|",
        "&",
        "&&",
        "||",
        "$(",
        ")",
        "`",
        "\"",
        "'",
        "${",
        "}",
        "{",
        "a=",
        "$a",
        "$1",
        "\n",
        "if ",
        "then ",
        "fi",
        "for ",
        " in ",
        "do ",
        "done",
        "case ",
        "esac",
        "<<E\n",
        "E\n",
        ">",
        "<",
        ">>",
        "<(",
        "f()",
        "eval ",
        "sh -c ",
        "((",
        "))",
        "[[",
        "]]",
        "*",
        "?",
        "[",
        "~",
        "\\",
        "#",
        "!",
        "-eq",
        "a[",
        "]=",
        "=(",
        "$((",
        "@",
        ":-",
        "%%",
        "//",
        "^^",
        ":1:",
        "xargs ",
        "sudo ",
        "find . -exec ",
        "\\;",
        "{}",
        "read a",
        "trap ",
        "alias q=",
        "cd ",
        "printf ",
        "%s",
        "\\x",
        "base64 -d",
        "while ",
        "set -- ",
        "\"$@\"",
        "local ",
        "declare -n ",
        "{1..3}",
        ",",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn requoting_changes_nothing_but_the_disguise(
        words in words(),
        ways in prop::collection::vec(prop::collection::vec(any::<u8>(), 8), 6),
    ) {
        let plain = words.join(" ");
        let quoted: Vec<String> =
            words.iter().zip(ways.iter().chain(std::iter::repeat(&Vec::new()))).map(|(word, ways)| requoted(word, ways)).collect();
        prop_assert_eq!(essence(&facts(&plain)), essence(&facts(&quoted.join(" "))));
    }

    #[test]
    fn a_shell_around_a_command_does_not_change_what_runs(words in words()) {
        let plain = words.join(" ");
        let wrapped = format!("sh -c '{plain}'");
        let inner: Vec<String> = essence(&facts(&wrapped)).into_iter().skip(1).collect();
        prop_assert_eq!(essence(&facts(&plain)), inner);
    }

    #[test]
    fn no_text_makes_the_walk_panic(text in soup()) {
        facts(&text);
    }

    #[test]
    fn no_bytes_make_the_walk_panic(text in ".{0,60}") {
        facts(&text);
    }
}

/// Returns the names of the variables that a shell sets to a text itself, if the shell is installed.
fn set_by(shell: &str, code: &str) -> Vec<String> {
    let Ok(output) = Command::new(shell).env_clear().args(["-c", code]).output() else { return Vec::new() };
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    String::from_utf8_lossy(&output.stdout).lines().filter(is_name).map(str::to_owned).collect()
}

#[test]
fn variables_that_real_shells_set_are_not_empty() {
    let listed = [
        ("bash", "for v in $(compgen -v); do [ -n \"${!v}\" ] && echo \"$v\"; done"),
        ("dash", "set | while IFS= read -r l; do v=${l%%=*}; case $l in *=\\'?*) echo \"$v\";; esac; done"),
        ("zsh", "for v in ${(k)parameters}; do [[ $v == [A-Z]* && -n ${(P)v} ]] && echo $v; done"),
    ];
    for (shell, code) in listed {
        for name in set_by(shell, code) {
            let runs = |act: &Act| matches!(&act.verb, Verb::Program { name, .. } if name == "rm");
            assert!(facts(&format!("${{{name}:+rm}} x")).acts.iter().any(runs), "{shell} sets {name}");
        }
    }
}
