//! Tests that the tree shows every command that a shell runs: real shells run random texts in an empty directory where
//! `rm` is a stand-in that leaves a mark. If the mark appears, the parser must have named `rm` or refused the text.
//! `GUARD_TEST_EXECUTIONS` sets the number of texts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use guard::judge::syntax::fish::as_bash;
use guard::judge::syntax::parse;
use guard::judge::syntax::tree::{Command as Node, Dialect, Script};
use guard::judge::syntax::visit;

/// A small generator of pseudo-random numbers, with which every run tries the same texts.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Pieces of shell text. They are harmless in a separate directory: only the stand-in is on the PATH, and every path is
/// relative.
const PIECES: &[&str] = &[
    "rm x",
    "rm x",
    "rm x",
    ":",
    "echo",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "|&",
    "(",
    ")",
    "((",
    "))",
    "{ ",
    "}",
    "; }",
    "$(",
    ")",
    "`",
    "\\`",
    "${y:-",
    "${y-",
    "${y#",
    "${y%",
    "${y/",
    "${y:",
    "${y[",
    "${ ",
    "}",
    "$((",
    "))",
    "$[",
    "]",
    "[[ ",
    " ]]",
    "[",
    "]",
    "\"",
    "\"",
    "'",
    "'",
    "$'",
    "$\"",
    "\\",
    "\\\n",
    "\\'",
    "\\\"",
    "#",
    " #",
    "<(",
    ">(",
    "<",
    ">",
    ">>",
    "<<",
    "<<E",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\t",
    "E\n",
    "\nE\n",
    "E)",
    "<<<",
    ">&",
    "&>",
    "2>",
    "{fd}>",
    "if ",
    "then ",
    "else ",
    "elif ",
    "fi",
    "while ",
    "until ",
    "do ",
    "done",
    "for i in ",
    "for i ",
    "for ((",
    "case a in ",
    "a)",
    ";;",
    ";&",
    "esac",
    "in ",
    "!",
    "! ",
    "time ",
    "coproc ",
    "function f ",
    "f()",
    "f() { ",
    "f\n",
    "y=",
    "y=(",
    "y[",
    "y+=(",
    "declare ",
    "declare y=(",
    "$y",
    "@(",
    "!(",
    "*(",
    "a",
    "1",
    "=",
    "==",
    "=~",
    "~",
    "%",
    "/",
    ":",
    "-n ",
    ",",
    "?",
    "$",
    "$$",
    "$#",
    "$!",
    "select i in ",
];

/// Pieces that only zsh understands.
const ZSH_PIECES: &[&str] = &[
    "repeat 2 ",
    "(e:\"rm x\":)",
    "(+rm)",
    "=rm x",
    "=(",
    ">!",
    ">>!",
    ">&!",
    "&|",
    "&!",
    "() ",
    "(",
    "always { ",
    "foreach x (a) ",
    "for x (a) ",
    "end",
    "if [[ a ]] { ",
    "while (:) { ",
    "$y:s",
    "$y[",
    "${(f)",
    "${(",
    "${${",
    "${=",
    "<1-2>",
    "*(",
    "(.)",
    "(N)",
    "*",
    "{",
    "}",
    "; }",
    "}",
    ":t}",
    "^",
    "~",
    "a=(",
    "${y[",
    "[2]",
    "(a|b)",
    "case a { ",
    "$+y",
    "$=y",
    "$#y",
    "${+y}",
    "${#y}",
    "\"${y",
    "\"$y[",
    "typeset y=(",
    "noglob ",
    "- ",
    "|&",
    "function { ",
];

/// Pieces of fish code.
const FISH_PIECES: &[&str] = &[
    "rm x",
    "rm x",
    "rm x",
    "echo",
    " ",
    " ",
    "\n",
    ";",
    "; ",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "$(",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "\\'",
    "\\\"",
    "\\\n",
    "\\(",
    "#",
    " #",
    "<",
    ">",
    ">>",
    ">?",
    "2>",
    "&>",
    "&|",
    "^",
    "and ",
    "or ",
    "not ",
    "! ",
    "if ",
    "else",
    "else if ",
    "while ",
    "for i in ",
    "for i in a; ",
    "begin",
    "begin; ",
    "end",
    "; end",
    "switch a",
    "case a",
    "case '*'",
    "case b; ",
    "function f",
    "function f; ",
    "f",
    "f\n",
    "set ",
    "set y ",
    "set -x y ",
    "set -a y ",
    "set -p y ",
    "set -U y ",
    "y=a ",
    "$y",
    "$y[1]",
    "$argv",
    "$argv[1]",
    "\"$argv\"",
    "{",
    "}",
    ",",
    "{a,b}",
    "*",
    "?",
    "~",
    "%",
    "`",
    "$",
    "=",
    "-- ",
    "return",
    "time ",
    "in ",
    "then ",
    "do ",
    "done",
    "fi",
    "esac",
    "()",
    "(())",
    "\t",
    "\\x72m x",
    "r\\m x",
    "r'm' x",
];

/// Forms of fish code that run `rm`.
const FISH_FORMS: &[&str] = &[
    "true; and rm x",
    "false; or rm x",
    "not rm x",
    "begin; rm x; end",
    "begin\nrm x\nend",
    "if true; rm x; end",
    "if false; else; rm x; end",
    "if false; else if true; rm x; end",
    "if rm x; end",
    "while rm x; break; end",
    "for i in a; rm x; end",
    "for i in (rm x); end",
    "switch a; case b; case a; rm x; end",
    "switch a\ncase '*'\nrm x\nend",
    "switch (rm x); case a; end",
    "function f; rm x; end; f",
    "function f --argument-names a; rm $a; end; f x",
    "function f --on-event fish_exit; rm x; end",
    "set y (rm x)",
    "set -x y (rm x) b",
    "set -p y (rm x)",
    "set y rm; $y x",
    "set y a rm; $y[2] x",
    "echo (rm x)",
    "echo \"$(rm x)\"",
    "echo a(rm x)b",
    "y=(rm x) true",
    "y=a rm x",
    "rm x | cat",
    "true | rm x",
    "true && rm x",
    "false || rm x",
    "rm x &",
    "begin; rm x; end | cat",
    "echo 'it\\'s'; rm x",
    "echo \"a\\\"\"; rm x",
    "echo {a,(rm x)}",
    "echo a > (rm x)y",
    "# a\nrm x",
    "echo a #b\nrm x",
    "echo a#b; rm x",
    "if true; and true; rm x; end",
    "begin; true; end; and rm x",
    "echo \\'; rm x; echo \\'",
    "echo '\\\\'; rm x",
    "time rm x",
    "! rm x",
    "{a,rm} x; rm x",
];

/// Generates texts from pieces, and texts that run `rm` with a piece inserted, removed or doubled.
pub fn text(random: &mut Random, seeds: &[&str], zsh: bool) -> String {
    let piece = |random: &mut Random| {
        let list = if zsh && random.below(2) == 0 { ZSH_PIECES } else { PIECES };
        random.pick(list)
    };
    mixed(random, seeds, piece)
}

fn mixed<'p>(random: &mut Random, seeds: &[&str], piece: impl Fn(&mut Random) -> &'p str) -> String {
    let mut text = String::new();
    if random.below(2) == 0 || seeds.is_empty() {
        for _ in 0..2 + random.below(10) {
            text.push_str(piece(random));
        }
        return text;
    }
    let seed: Vec<char> = random.pick(seeds).chars().collect();
    let first = random.below(seed.len() + 1);
    let second = random.below(seed.len() + 1);
    let (first, second) = (first.min(second), first.max(second));
    let part = |range: &[char]| range.iter().collect::<String>();
    match random.below(4) {
        0 => part(&seed[..first]) + piece(random) + &part(&seed[first..]),
        1 => part(&seed[..first]) + &part(&seed[second..]),
        2 => {
            part(&seed[..first]) + piece(random) + &part(&seed[first..second]) + piece(random) + &part(&seed[second..])
        }
        _ => {
            let other: Vec<char> = random.pick(seeds).chars().collect();
            let cut = random.below(other.len() + 1);
            part(&seed[..first]) + &part(&other[cut..]) + &part(&seed[second..])
        }
    }
}

/// Reports whether the tree names `rm`, or has a command whose name only an expansion gives, or one that is known to
/// run its arguments.
fn shows(script: &Script) -> bool {
    let mut shown = false;
    visit::commands(script, &mut |command| {
        if let Node::Simple(simple) = command
            && let Some(word) = simple.words.first()
        {
            shown |= super::plain(word).is_none_or(|name| {
                matches!(name.as_str(), "rm" | "time" | "noglob" | "-") || name.contains(['{', '*', '?', '[', '~'])
            });
        }
    });
    shown
}

/// Runs `text` and reports whether the stand-in was called.
fn runs_rm(shell: &[&str], text: &str, root: &Path) -> bool {
    let directory = root.join("work");
    let mark = root.join("mark");
    let _ = fs::remove_dir_all(&directory);
    let _ = fs::remove_file(&mark);
    fs::create_dir(&directory).expect("a directory");
    let _ = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "2"])
        .args(shell)
        .args(["-c", text])
        .env_clear()
        .env("PATH", root.join("bin"))
        .current_dir(&directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("timeout runs");
    mark.exists()
}

fn try_shell(shell: &[&str], dialect: Dialect, seeds: &[&str], seed: u64) {
    let read = |text: &str| parse(text.as_bytes(), dialect).ok();
    try_texts(shell, read, |random| text(random, seeds, dialect == Dialect::Zsh), seed);
}

/// Runs texts of `write` with a shell if `read` parses them to trees that do not name `rm`.
fn try_texts(shell: &[&str], read: impl Fn(&str) -> Option<Script>, write: impl Fn(&mut Random) -> String, seed: u64) {
    let times: usize = std::env::var("GUARD_TEST_EXECUTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let root = tempfile::tempdir().expect("a directory");
    let bin = root.path().join("bin");
    fs::create_dir(&bin).expect("a directory");
    let stand_in = bin.join("rm");
    crate::harness::program::write(&stand_in, &format!("#!/bin/sh\n: > '{}'\n", root.path().join("mark").display()));
    assert!(runs_rm(shell, "rm x", root.path()), "the stand-in works");
    let mut random = Random::new(seed);
    let mut hidden = Vec::new();
    let mut tried = 0;
    while tried < times {
        let text = write(&mut random);
        if text.contains('\0') || !text.contains("rm") {
            continue;
        }
        // Only a text that is parsed and shows no `rm` can hide one.
        if read(&text).is_some_and(|script| !shows(&script)) {
            tried += 1;
            if runs_rm(shell, &text, root.path()) {
                hidden.push(format!("{text:?}"));
            }
        }
    }
    assert!(hidden.is_empty(), "{} of {tried}:\n{}", hidden.len(), hidden.join("\n"));
}

fn seeds() -> Vec<&'static str> {
    let unsafe_to_change = ["/dev", "/"];
    super::samples(super::EVASION)
        .into_iter()
        .filter(|text| !unsafe_to_change.iter().any(|piece| text.contains(piece)))
        .collect()
}

fn number(name: &str) -> u64 {
    std::env::var("GUARD_TEST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1) + name.len() as u64
}

#[test]
fn what_fish_runs_the_translation_shows() {
    let read = |text: &str| parse(&as_bash(text.as_bytes()), Dialect::Bash).ok();
    let write = |random: &mut Random| mixed(random, FISH_FORMS, |random| random.pick(FISH_PIECES));
    for form in FISH_FORMS {
        assert!(read(form).is_none_or(|script| shows(&script)), "{form}");
    }
    let fish = crate::harness::tools::find("fish").expect("fish, which the run looked for");
    let fish = fish.to_str().expect("a path of ASCII");
    try_texts(&[fish, "--no-config"], read, write, number("fish"));
}

#[test]
fn what_bash_runs_the_tree_shows() {
    try_shell(&["/bin/bash", "--norc"], Dialect::Bash, &seeds(), number("bash"));
}

#[test]
fn what_bash_with_extended_globs_runs_the_tree_shows() {
    try_shell(&["/bin/bash", "--norc", "-O", "extglob"], Dialect::Bash, &seeds(), number("extglob"));
}

#[test]
fn what_dash_runs_the_tree_shows() {
    try_shell(&["/bin/dash"], Dialect::Sh, &seeds(), number("dash1"));
}

#[test]
fn what_bash_as_sh_runs_the_tree_shows() {
    try_shell(&["/bin/bash", "--posix"], Dialect::Sh, &seeds(), number("posix1"));
}

/// Forms that only zsh understands, each running `rm`.
const ZSH_FORMS: &[&str] = &[
    "repeat 2 rm x",
    "repeat 2 { rm x }",
    "repeat 2; do rm x; done",
    ": > a; echo *(e:\"rm x\":)",
    ": > a; echo *(+rm)",
    ": > a; echo *(oe:'rm x':)",
    ": > a; echo a(.e{rm})",
    "f=1 >! f rm x",
    "=rm x",
    "y==rm; $y x",
    "{ rm x } always { : }",
    "{ : } always { rm x }",
    "() { rm $1 } x",
    "() rm x",
    "function { rm x }",
    "function a b { rm x }; a",
    "a b () { rm x }; b",
    "f() rm x; f",
    "for x (a b) rm x",
    "for x (a b) { rm x }",
    "for x in a b; rm x",
    "foreach x (a b); rm x; end",
    "if [[ a ]] { rm x } else { : }",
    "if [[ a ]] rm x",
    "while (true) { rm x; break }",
    "for ((i=0;i<1;i++)) rm x",
    "case a { a) rm x;; }",
    "case a in (a|b) rm x;| c) ;; esac",
    "case a in (a|c)*) rm x;; esac",
    ": =(rm x)",
    ": ${y:-=(rm x)}",
    "rm x &|",
    "rm x &!",
    ": >&! f; rm x",
    ": $y[$(rm x)]",
    ": \"$y[$(rm x)]\"",
    ": ${(e):-'$(rm x)'}",
    "y='$(rm x)'; : ${(e)y}",
    "y=ls; $y:s/ls/rm/ x",
    "y=(ls rm); $y[2] x",
    ": ${${:-$(rm x)}:t}",
    ": ${(f)\"$(rm x)\"}",
    ": <1-2>; rm x",
    ": a || { rm x }",
    "{ : }; rm x",
    "typeset -A h=(a $(rm x))",
    "y=(a (b|c)); rm x",
    "noglob rm x",
    "time rm x",
    "[[ a == (a|b)* ]] && rm x",
    "[[ a == (b|$(rm x))* ]]",
    ": $(( 1 + $(rm x; echo 1) ))",
    "y='*(e:rm:)'; : > a; : $~y",
    "y=ls; : ${y::=rm}; $y x",
];

#[test]
fn what_zsh_runs_the_tree_shows() {
    let mut all = seeds();
    all.extend(ZSH_FORMS);
    let mut hidden = Vec::new();
    for text in ZSH_FORMS {
        if parse(text.as_bytes(), Dialect::Zsh).is_ok_and(|script| !shows(&script)) {
            hidden.push(*text);
        }
    }
    assert!(hidden.is_empty(), "{hidden:?}");
    try_shell(&["/bin/zsh", "-f"], Dialect::Zsh, &all, number("zsh123"));
}
