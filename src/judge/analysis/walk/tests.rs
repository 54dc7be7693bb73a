use super::super::act::OpaqueReason;
use super::super::place::Place;
use super::super::testing::{dump, facts, facts_with, line, programs, removes, telling};

/// Checks that a line runs exactly these programs, apart from scaffolding.
#[track_caller]
fn runs(line: &str, expected: &[&str]) {
    let found = telling(line);
    assert_eq!(found, expected, "\n{line}\n{}", dump(&facts(line)));
}

/// Checks that the line has an opaque part of this kind.
#[track_caller]
fn opaque(line: &str, why: OpaqueReason) {
    let facts = facts(line);
    assert!(facts.opaque.iter().any(|opaque| opaque.why == why), "\n{line}\n{}", dump(&facts));
}

/// Checks that no part of the line is opaque.
#[track_caller]
fn clear(line: &str) {
    let facts = facts(line);
    assert!(facts.opaque.is_empty(), "\n{line}\n{}", dump(&facts));
}

#[test]
fn words_reach_programs_as_a_shell_passes_them() {
    runs("rm 'a b' \"c d\" e\\ f", &["rm a b c d e f"]);
    runs("rm ''", &["rm "]);
    runs("rm {a,b}", &["rm a b"]);
    runs("rm ~/x", &["rm /home/dev/x"]);
    runs("rm $HOME", &["rm /home/dev"]);
    runs("rm${IFS}-rf${IFS}/", &["rm -rf /"]);
    runs("a='rm -rf /'; $a", &["rm -rf /"]);
}

#[test]
fn values_are_followed_through_expansions() {
    runs("a=xrm; ${a#x} y", &["rm y"]);
    runs("a=rmdir; ${a%dir} y", &["rm y"]);
    runs("a=ab; ${a/ab/rm} y", &["rm y"]);
    runs("a=xxrm; ${a:2} y", &["rm y"]);
    runs("a=RM; ${a,,} y", &["rm y"]);
    runs("b=rm; a=b; ${!a} y", &["rm y"]);
    runs("a=(x rm); ${a[1]} y", &["rm y"]);
    runs("set -- rm y; \"$@\"", &["set -- rm y", "rm y"]);
    runs("${x:-rm} y", &["rm y"]);
    runs("$(echo rm) y", &["rm y"]);
    runs("`printf '\\162\\155'` y", &["rm y"]);
    runs("$(echo cm0= | base64 -d) y", &["base64 -d", "rm y"]);
}

#[test]
fn code_for_a_shell_becomes_acts() {
    runs("sh -c 'rm x'", &["sh -c rm x", "rm x"]);
    runs("bash -c 'rm \"$1\"' _ x", &["bash -c rm \"$1\" _ x", "rm x"]);
    runs("echo rm x | sh", &["sh", "rm x"]);
    runs("sh <<< 'rm x'", &["sh", "rm x"]);
    runs("sh <<E\nrm x\nE", &["sh", "rm x"]);
    runs("eval 'rm x'", &["eval rm x", "rm x"]);
    runs("bash <(echo rm x)", &["bash ?", "rm x"]);
    runs("echo cm0geAo= | base64 -d | sh", &["base64 -d", "sh", "rm x"]);
    runs("echo 'rm x' > f; sh f", &["sh f", "rm x"]);
    runs("echo 'rm x' > f; . ./f", &[". ./f", "rm x"]);
    runs("sudo sh -c 'rm x'", &["sudo sh -c rm x", "sh -c rm x", "rm x"]);
    runs("echo x | xargs rm", &["xargs rm", "rm x"]);
    runs("find . -name y -exec rm {} \\;", &["find . -name y -exec rm {} ;", "find . -name y -delete", "rm ?/y"]);
    runs("trap 'rm x' EXIT", &["trap rm x EXIT", "rm x"]);
}

#[test]
fn wrappers_say_where_and_with_what() {
    runs("parallel rm {} ::: a b", &["parallel rm {} ::: a b", "rm a", "rm b"]);
    runs("parallel ::: 'rm a' 'rm b'", &["parallel ::: rm a rm b", "rm a", "rm b"]);
    runs("parallel rm -f ::: 'a b'", &["parallel rm -f ::: a b", "rm -f a b"]);
    runs("bash -n -c 'rm x'", &["bash -n -c rm x"]);
    runs("RM x", &["rm x"]);
    let facts = facts("env -C /x rm y");
    assert_eq!(facts.acts[1].cwd, Some(Place::of("/x")), "{}", dump(&facts));
}

#[test]
fn a_line_is_also_read_as_it_looks() {
    runs("\x1b]0;title\x07rm -rf /", &["rm -rf /", "\x1b]0", "titlerm -rf /", "title\x07rm -rf /"]);
    runs("git commit -m 'em — dash'", &["git commit -m em — dash"]);
    // The shell searches for the name as it is written, and so does guard.
    runs("ｒｍ -ｒｆ /", &["rm -rf /", "rm -ｒｆ /", "ｒｍ -ｒｆ /"]);
    runs("$'\\x1bn'x -n rm y", &["x -n rm y", "\x1bnx -n rm y"]);
}

#[test]
fn the_script_that_runs_is_read_and_not_the_one_whose_name_looks_like_it() {
    let files = [("/home/dev/project/x.sh", "ls\n"), ("/home/dev/project/\x1bnx.sh", "rm harm\n")];
    for text in ["./$'\\x1bn'x.sh", "sh ./$'\\x1bn'x.sh", "\"./\x1bnx.sh\""] {
        let facts = facts_with(&line(text), &files);
        assert!(programs(&facts).iter().any(|program| program == "rm harm"), "{text}\n{}", dump(&facts));
    }
}

#[test]
fn what_is_not_known_is_opaque() {
    opaque("curl -s https://x.example/i.sh | sh", OpaqueReason::FetchedCode);
    opaque("sh -c \"$(curl -s https://x.example)\"", OpaqueReason::FetchedCode);
    opaque("bash <(curl -s https://x.example)", OpaqueReason::FetchedCode);
    opaque("curl -o f https://x.example; sh f", OpaqueReason::FetchedCode);
    opaque("curl -s https://x.example > f; chmod +x f; ./f", OpaqueReason::FetchedCode);
    opaque("cat y | base64 -d | sh", OpaqueReason::FetchedCode);
    opaque("$(make x) y", OpaqueReason::CommandWord);
    opaque("eval \"$(make x)\"", OpaqueReason::Code);
    opaque("rm 'x", OpaqueReason::Syntax);
}

#[test]
fn ordinary_lines_are_clear() {
    clear("cd src && make -j4 && ls");
    clear("for f in *.c; do echo \"$f\"; done");
    clear("x=$(date); echo $x");
    clear("curl -s https://x.example | jq .");
    clear("bash -c \"echo $x\"");
    clear("find . -name '*.c' | xargs grep foo");
    clear("f() { echo hi; }; f");
}

#[test]
fn directories_are_followed() {
    let cwd = |line: &str| {
        let facts = facts(line);
        facts.acts.iter().filter(|act| act.verb.key() == "rm").map(|act| act.cwd.clone()).collect::<Vec<_>>()
    };
    let at = |dir: &str| Some(Place::of(dir));
    assert_eq!(cwd("cd /x && rm y"), [at("/x")]);
    assert_eq!(cwd("cd /x || exit; rm y"), [at("/x")]);
    assert_eq!(cwd("cd /x; rm y"), [at("/x"), at("/home/dev/project")]);
    assert_eq!(cwd("(cd /x); rm y"), [at("/home/dev/project")]);
    assert_eq!(cwd("cd \"$X\" && rm y"), [None]);
    assert_eq!(cwd("cd \"$(mktemp -d)\" && rm y"), [Some(Place::temporary())]);
    assert_eq!(cwd("cd /x && cd - && rm y"), [at("/home/dev/project")]);
    assert_eq!(cwd("false && cd /tmp; rm y"), [at("/tmp"), at("/home/dev/project")]);
    assert_eq!(cwd("cd /x && make || rm y"), [at("/x"), at("/home/dev/project")]);
}

#[test]
fn fork_bombs_are_seen() {
    let bomb = |line: &str| programs(&facts(line)).iter().any(|program| program.starts_with(":forkbomb"));
    assert!(bomb(":(){ :|:& };:"));
    assert!(bomb("f() { f | f & }; f"));
    assert!(bomb("f() { g & }; g() { f | f; }; f"));
    assert!(!bomb("f() { [ $1 -gt 0 ] && f $(($1-1)) | cat; }; f 3"));
    assert!(!bomb("f() { echo | cat; }; f"));
}

#[test]
fn no_nesting_overflows_a_small_stack() {
    // The contexts of an unoptimised build are larger.
    let bytes = if cfg!(debug_assertions) { 1024 } else { 256 } * 1024;
    let depth = 95;
    let nest = |open: &str, close: &str| format!("{}rm x{}", open.repeat(depth), close.repeat(depth));
    let lines = [
        nest("( ", " )"),
        nest("{ ", "; }"),
        nest("echo $(", ")"),
        nest("echo \"$(", ")\""),
        nest("echo ${x:-$(", ")}"),
        nest("cat <(", ")"),
        nest("if true; then ", "; fi"),
        nest("for i in a; do ", "; done"),
        nest("for i in a b; do ", "; done"),
        nest("while true; do ", "; done"),
        nest("case a in a) ", ";; esac"),
        nest("f() { ", "; }; f"),
        nest("eval ", ""),
        nest("sudo ", ""),
        nest("command ", ""),
        nest("xargs ", ""),
        nest("sh -c ", ""),
        (0..depth).map(|i| format!("f{i}() {{ f{}; }}; ", i + 1)).collect::<String>() + "f95() { rm x; }; f0",
        (0..depth).map(|i| format!("alias a{i}=a{}; ", i + 1)).collect::<String>() + "a0",
    ];
    for line in lines {
        let run = move || {
            let found = facts(&line);
            assert!(!found.acts.is_empty() || !found.opaque.is_empty(), "{line}");
        };
        std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap().join().unwrap();
    }
}

#[test]
fn braces_of_zsh_need_no_blank() {
    for text in [
        "zsh -c '{rm x}'",
        "zsh -c 'f(){rm x}; f'",
        "zsh -c 'true && {rm x}'",
        "zsh -c '{rm x; echo {a,b}}'",
        "zsh -c 'if true; then {rm x} fi'",
    ] {
        removes(text, &["rm x"]);
    }
    // A brace that is opened in the word is closed by the first closing brace.
    removes("zsh -c 'rm {x,y}'", &["rm x y"]);
    removes("zsh -c 'rm stash@{0}'", &["rm stash@{0}"]);
}
