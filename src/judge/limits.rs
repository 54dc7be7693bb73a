//! Tests of the work limit, in counted steps, with lines for which a naive judge needs more than linear work.

use super::Judgment;
use super::analysis::TOO_LARGE;
use super::analysis::inquiry::Answers;
use super::analysis::question::{FileFacts, GitFacts, PathFacts, PathKind, Question, WorldAnswer};
use super::policy::Policy;
use super::risk::Tier;
use super::rules::catalog::Catalog;

/// A function that creates a line of about this number of bytes.
type Shape = fn(usize) -> String;

/// Joins parts until the next one would exceed the length.
fn parts(length: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    let mut line = String::new();
    for number in 0.. {
        let part = part(number);
        if line.len() + part.len() + between.len() > length {
            break;
        }
        if number > 0 {
            line.push_str(between);
        }
        line.push_str(&part);
    }
    line
}

/// Lines for which twice the length must cost at most about twice the steps, or reach the work limit.
const SHAPES: &[(&str, Shape)] = &[
    ("commands", |n| parts(n, ";", |i| format!("ls d{i}"))),
    ("words", |n| format!("rm {}", parts(n, " ", |i| format!("f{i}")))),
    ("globs", |n| format!("rm {}", parts(n, " ", |i| format!("*{i}?[a-z]*")))),
    ("pipes", |n| parts(n, "|", |_| "cat".to_owned())),
    ("assignments", |n| parts(n, ";", |i| format!("a{i}=v{i}"))),
    ("doubling", |n| format!("a0=x;{}", parts(n, ";", |i| format!("a{}=$a{i}$a{i}", i + 1)))),
    ("exports", |n| parts(n, ";", |i| format!("export V{i}=x"))),
    ("exports in front", |n| format!("{} make", parts(n, " ", |i| format!("V{i}=x")))),
    ("elements", |n| format!("a=();{};rm \"${{a[@]}}\"", parts(n, ";", |i| format!("a+=(x{i})")))),
    ("elements by number", |n| parts(n, ";", |i| format!("a[{i}]=x"))),
    ("ways", |n| parts(n, ";", |i| format!("if t;then x{i}=v;else x{i}=w;fi"))),
    ("ways of one", |n| format!("{};rm -rf $x", parts(n, ";", |i| format!("if t;then x=v{i};fi")))),
    ("cases", |n| format!("case $x in {} esac;rm -rf $y", parts(n, "", |i| format!("p{i})y={i};;")))),
    ("directories", |n| parts(n, "&&", |i| format!("cd d{i}"))),
    ("made and deleted", |n| parts(n, ";", |i| format!("mkdir d{i};rm -rf d{i}"))),
    ("archives", |n| parts(n, ";", |i| format!("tar xf a{i}.tar"))),
    ("copies", |n| parts(n, ";", |i| format!("cp a{i} b{i};rm b{i}"))),
    ("links", |n| parts(n, ";", |i| format!("ln -s a{i} b{i};rm -r b{i}/x"))),
    ("files", |n| format!("ls {}", parts(n, " ", |i| format!(">f{i}")))),
    ("here-documents", |n| parts(n, "\n", |i| format!("cat <<E{i} >f{i}\nx\nE{i}"))),
    ("functions", |n| format!("f0(){{ ls;}};{};f9", parts(n, ";", |i| format!("f{}(){{ f{i};f{i};}}", i + 1)))),
    ("calls", |n| format!("f(){{ rm $1;}};{}", parts(n, ";", |i| format!("f x{i}")))),
    ("loops", |n| parts(n, ";", |i| format!("for i in {i} x;do rm $i;done"))),
    ("words of a loop", |n| format!("for i in {};do rm -rf $i;done", parts(n, " ", |i| format!("w{i}")))),
    ("wrappers", |n| format!("{} rm x", parts(n, " ", |_| "sudo".to_owned()))),
    ("wrappers of input", |n| format!("{} rm", parts(n, " ", |_| "xargs".to_owned()))),
    ("shells", |n| parts(n, ";", |i| format!("bash -c 'rm f{i}'"))),
    ("traps", |n| parts(n, ";", |i| format!("trap 'rm x{i}' EXIT"))),
    ("aliases", |n| format!("alias a0='rm';{}\na9 x", parts(n, ";", |i| format!("alias a{}='a{i}'", i + 1)))),
    ("ranges", |n| format!("rm {}", parts(n, " ", |_| "{1..9}".to_owned()))),
    ("members", |n| format!("node -e '{}'", parts(n, ".", |_| "a.b".to_owned()))),
    ("containers", |n| parts(n, ";", |i| format!("docker run --name c{i} x;docker rm c{i}"))),
    ("filters", |n| format!("cat x|{}", parts(n, "|", |_| "tr a-z b-za".to_owned()))),
    ("commands of a search", |n| format!("find . {}", parts(n, " ", |i| format!("-exec rm x{i} {{}} \\;")))),
    ("letters of an option", |n| format!("rm -{} x", parts(n, "", |_| "rf".to_owned()))),
    ("operands that are written", |n| format!("touch {}", parts(n, " ", |i| format!("f{i}")))),
    ("pushes", |n| parts(n, ";", |i| format!("git push origin b{i}"))),
    ("a chain of links", |n| format!("{};rm -rf l9/x", parts(n, ";", |i| format!("ln -s l{i} l{}", i + 1)))),
    ("a text that grows", |n| format!("{};rm $x", parts(n, ";", |_| "printf -v x '%s%s' \"$x\" a".to_owned()))),
    ("secrets printed", |n| parts(n, ";", |_| "x=$(cat ~/.ssh/id_rsa);echo $x".to_owned())),
];

fn judged(line: &str) -> Judgment {
    thread_local!(static CATALOG: Catalog = Catalog::builtin());
    let invocation = super::testing::line(super::invocation::Origin::Agent, line);
    CATALOG.with(|catalog| super::judge(&invocation, catalog, &Policy::default(), &Answers::none()))
}

/// Judges a line in a world without files. Returns whether the work limit was reached, and the steps.
fn judged_to_the_end(line: &str) -> (bool, u64) {
    thread_local!(static CATALOG: Catalog = Catalog::builtin());
    let invocation = super::testing::line(super::invocation::Origin::Agent, line);
    let source = |question: &Question| match question {
        Question::Path(path) => {
            WorldAnswer::Path(PathFacts { kind: PathKind::Missing, canonical: path.clone(), symlink: false, bytes: 0 })
        }
        Question::Git(_) => WorldAnswer::Git(GitFacts::default()),
        Question::Repository(_) => WorldAnswer::Repository(None),
        Question::File(_) => WorldAnswer::File(FileFacts::Missing),
        Question::Resolve { .. } => WorldAnswer::Resolve(None),
        _ => WorldAnswer::Unavailable,
    };
    let answers = Answers::of(&source);
    let judgment = CATALOG.with(|catalog| super::judge(&invocation, catalog, &Policy::default(), &answers));
    (is_limited(&judgment), judgment.spent)
}

#[test]
fn hundreds_of_plain_commands_in_a_line_are_not_too_much() {
    type Part = fn(usize) -> String;
    let parts: [(usize, Part); 6] = [
        (520, |i| format!("cp a{i} b{i}")),
        (520, |i| format!("mv a{i} b{i}")),
        (520, |i| format!("mkdir -p d{i}/e")),
        (400, |i| format!("echo {i} > f{i}.txt")),
        (400, |i| format!("git add f{i}")),
        (200, |i| format!("[ -e f{i} ] || touch f{i}")),
    ];
    for (count, part) in parts {
        let (limited, spent) = judged_to_the_end(&(0..count).map(part).collect::<Vec<_>>().join(";"));
        assert!(!limited, "{}: {spent}", part(0));
    }
}

fn is_limited(judgment: &Judgment) -> bool {
    let limit = |finding: &super::risk::Finding| {
        finding.rule == "opaque.limit" && finding.touches.iter().any(|what| what.contains(TOO_LARGE))
    };
    judgment.risk.findings.iter().any(limit)
}

#[test]
fn what_was_found_before_the_end_is_kept() {
    for (name, shape) in SHAPES.iter().filter(|(name, _)| ["globs", "archives", "calls", "ranges"].contains(name)) {
        let line = format!("rm -rf /;{}", shape(64 * 1024));
        let judgment = judged(&line);
        assert!(is_limited(&judgment), "{name}: {}", judgment.spent);
        assert_eq!(judgment.risk.tier, Tier::Critical, "{name}");
    }
}

#[test]
fn the_same_line_takes_the_same_steps() {
    for (name, shape) in SHAPES {
        let line = shape(2 * 1024);
        assert_eq!(judged(&line).spent, judged(&line).spent, "{name}");
    }
}

#[test]
fn a_script_that_is_too_much_hides_nothing_that_stands_beside_it() {
    thread_local!(static CATALOG: Catalog = Catalog::builtin());
    let judged = |line: &str, script: &str| {
        let source = |question: &Question| match question {
            Question::File(path) if path.ends_with("/big.sh") => {
                WorldAnswer::File(FileFacts::Text { bytes: script.as_bytes().to_vec(), digest: [0; 32] })
            }
            Question::File(_) => WorldAnswer::File(FileFacts::Missing),
            _ => WorldAnswer::Unavailable,
        };
        let invocation = super::testing::line(super::invocation::Origin::Agent, line);
        let judgment =
            CATALOG.with(|catalog| super::judge(&invocation, catalog, &Policy::default(), &Answers::of(&source)));
        let file = Question::File("/home/ada/project/big.sh".to_owned());
        assert!(judgment.rests_on.contains_key(&file), "what was read is bound, whatever came of it");
        (is_limited(&judgment), judgment.risk.tier)
    };
    let too_much = "mkdir {1..9}{1..9}\n".repeat(2_000);
    assert_eq!(judged("sh big.sh; ls", "ls\n"), (false, Tier::Low));
    assert_eq!(judged("sh big.sh; ls", &too_much), (false, Tier::Medium));
    assert_eq!(judged("sudo sh big.sh; ls", &too_much).1, Tier::High);
    assert_eq!(judged("sh big.sh; rm -rf /", &too_much), (false, Tier::Critical));
    // The commands of the script before the limit count too.
    assert_eq!(judged("sh big.sh; ls", &format!("rm -rf /\n{too_much}")), (true, Tier::Critical));
    // If the line itself exceeds the limit, the finding is about the line.
    let line = format!("sh big.sh; {}", too_much.replace('\n', ";"));
    assert!(judged(&line, &too_much).0);
}

#[test]
fn nothing_is_asked_when_there_is_no_fuel_left() {
    use super::analysis::fuel::Fuel;
    use super::analysis::inquiry::Inquiry;
    let count = std::cell::Cell::new(0_u64);
    let source = |_: &Question| {
        count.set(count.get() + 1);
        WorldAnswer::Unavailable
    };
    let (answers, fuel) = (Answers::of(&source), Fuel::full());
    let inquiry = Inquiry::with(&answers, fuel);
    (0..100_000).for_each(|number| assert_eq!(inquiry.path(&format!("/a/{number}")), None));
    assert!(inquiry.fuel.is_empty() && (1_000..50_000).contains(&count.get()), "{}", count.get());
    assert_eq!(inquiry.path("/a/0"), None);
}

/// Returns a line of about this number of bytes that sets a long value or list once and then uses it repeatedly.
fn used(length: usize, set: &str, uses: &str) -> String {
    format!("{set};{}", parts(length.saturating_sub(set.len()), ";", |_| uses.to_owned()))
}

/// Lines that use a long value or list many times.
const USES: &[(&str, Shape)] = &[
    ("code of python", |n| used(n, &format!("x='{}'", "a=1;".repeat(n / 8)), "python3 -c \"$x\"")),
    ("code of node", |n| used(n, &format!("x='{}'", "a=1;".repeat(n / 8)), "node -e \"$x\"")),
    ("code of awk", |n| used(n, &format!("x='{}'", "a=1;".repeat(n / 8)), "awk \"{$x}\"")),
    ("a slice", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "echo \"${a[@]:1:3}\"")),
    ("a length", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "rm f${#a[@]}")),
    ("joined elements", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "x=\"${a[*]}\"")),
    ("copied elements", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "b=(\"${a[@]}\")")),
    ("a path", |n| used(n, &format!("x={}", "../a/".repeat(n / 10)), "rm -rf $x")),
    ("a word", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "echo $x")),
    ("a word twice", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "rm $x$x")),
    ("a file", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "cat $x >$x")),
    ("an address", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "curl h/$x")),
    ("a list of a loop", |n| {
        used(n, &format!("a=({})", parts(n / 2, " ", |i| format!("f{i}"))), "for i in \"${a[@]}\";do rm $i;done")
    }),
];

/// The work limit, with the cost of the command that reaches it.
const MOST_SPENT: u64 = 1_250_000;

#[test]
fn each_use_of_code_in_a_variable_is_paid() {
    for (name, shape) in USES.iter().filter(|(name, _)| name.starts_with("code")) {
        let (limited, spent) = judged_to_the_end(&shape(64 * 1024));
        assert!(limited && spent < MOST_SPENT, "{name}: {limited} {spent}");
    }
}

#[test]
fn a_long_value_may_be_used_a_few_times() {
    for (name, shape) in USES {
        let line = shape(8 * 1024);
        let (set, uses) = line.split_once(';').filter(|_| !name.starts_with("code")).unwrap_or(("x='a=1;b=2'", &line));
        let few = uses.split(';').take(if name.starts_with("a list") { 9 } else { 3 }).collect::<Vec<_>>().join(";");
        let (limited, spent) = judged_to_the_end(&format!("{set};{few}"));
        assert!(!limited, "{name}: {spent}");
    }
}

#[test]
fn one_command_of_many_options_is_paid_before_it_is_read() {
    let settings = |n: usize| format!("git {} push", parts(n, " ", |i| format!("-c a.b{i}=c")));
    let (limited, spent) = judged_to_the_end(&settings(127 * 1024));
    assert!(limited && spent < MOST_SPENT, "{limited} {spent}");
    assert!(!judged_to_the_end(&settings(4 * 1024)).0);
}

#[test]
fn code_that_doubles_a_text_is_followed_up_to_a_length() {
    let chain = |n: usize| parts(n, ";", |i| format!("a{}=a{i} a{i}", i + 1));
    let doubled = format!("awk 'BEGIN{{a0=\"x\";{};system(a99)}}'", chain(8 * 1024));
    assert!(judged_to_the_end(&doubled).1 < MOST_SPENT);
    let doubled =
        format!("python3 -c 'import os;x=\"a\";{};os.system(x)'", parts(32 * 1024, ";", |_| "x=x+x".to_owned()));
    assert!(judged_to_the_end(&doubled).1 < MOST_SPENT);
}
