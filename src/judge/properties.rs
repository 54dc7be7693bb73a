//! Properties of the judge as a whole, tested with the rows of the corpus.
//!
//! Each row is judged with a synthetic world that answers every question. No row is executed.

mod calls;
mod code;
mod pure;

use std::path::{Path, PathBuf};

use super::analysis::act::{Operand, Value};
use super::analysis::inquiry::Answers;
use super::analysis::question::{FileFacts, GitFacts, PathFacts, PathKind, Question, RepositoryFacts, WorldAnswer};
use super::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use super::policy::Policy;
use super::risk::Tier;
use super::rules::catalog::Catalog;
use super::{Judgment, judge};

/// Returns the commands of the corpus, with the names of their rows.
fn rows() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let row = |line: &str| {
        let mut fields = line.splitn(5, '\t');
        (fields.next().unwrap().to_owned(), written(fields.nth(3).unwrap()))
    };
    files.iter().flat_map(|file| std::fs::read_to_string(file).unwrap().lines().map(row).collect::<Vec<_>>()).collect()
}

/// Returns the command of a row, with the escapes `
///  \t \r \\ \xHH` decoded.
fn written(text: &str) -> Vec<u8> {
    let mut all = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        all.push(match (byte, byte) {
            (b'\\', _) => match bytes.next().unwrap() {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'x' => {
                    let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap() as u8;
                    digit() << 4 | digit()
                }
                other => other,
            },
            (byte, _) => byte,
        });
    }
    all
}

/// Creates a line in a project, with a variable `V` in the environment.
fn invocation(line: impl Into<Vec<u8>>, value: &[u8]) -> Invocation {
    use std::os::unix::ffi::OsStringExt as _;
    let value = std::ffi::OsString::from_vec(value.to_vec());
    let fixed = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/dev")];
    let fixed = fixed.into_iter().map(|(name, value)| (name.into(), value.into()));
    Invocation {
        request: Request::Line(Line::of_bash(line)),
        cwd: PathBuf::from("/home/dev/project"),
        env: fixed.chain([("V".into(), value)]).collect::<Environment>(),
        home: Some(PathBuf::from("/home/dev")),
        uid: 1000,
        user: "dev".into(),
        origin: Origin::Agent,
        session: Session::default(),
    }
}

/// Answers for a world in which a name that contains `letter` is a link to `/usr`, and the content of `v.txt` is
/// `letter`.
fn answer(question: &Question, letter: &str) -> WorldAnswer {
    match question {
        Question::Path(path) => {
            let mut canonical = String::new();
            for name in path.split('/').filter(|name| !name.is_empty()) {
                if name.contains(letter) {
                    canonical = "/usr".to_owned();
                } else {
                    canonical.push('/');
                    canonical.push_str(name);
                }
            }
            if canonical.is_empty() {
                canonical.push('/');
            }
            let symlink = path.rsplit('/').next().is_some_and(|name| name.contains(letter));
            WorldAnswer::Path(PathFacts { kind: PathKind::Directory, canonical, symlink, bytes: 0 })
        }
        Question::Git(_) => {
            WorldAnswer::Git(GitFacts { root: Some("/home/dev/project".into()), ..GitFacts::default() })
        }
        Question::Repository(_) => WorldAnswer::Repository(Some(RepositoryFacts {
            root: "/home/dev/project".into(),
            branch: Some(format!("a{letter}")),
            aliases: vec![("x".into(), format!("!rm -rf {letter}/etc"))],
            ..RepositoryFacts::default()
        })),
        Question::File(path) if path.ends_with("/v.txt") => {
            WorldAnswer::File(FileFacts::Text { bytes: letter.as_bytes().to_vec(), digest: [0; 32] })
        }
        Question::File(path) if path.ends_with("/v.sh") => {
            let bytes = format!("rm -rf {letter}/etc\n").into_bytes();
            WorldAnswer::File(FileFacts::Text { bytes, digest: [0; 32] })
        }
        Question::File(_) => WorldAnswer::File(FileFacts::Missing),
        Question::Program(name) => WorldAnswer::Program(Some(format!("/usr/bin/{name}"))),
        Question::Resolve { .. } => WorldAnswer::Resolve(None),
        Question::FileSnapshot(_) => WorldAnswer::FileSnapshot(None),
        Question::Changed(_) | Question::Matches(_) | Question::Refs { .. } => WorldAnswer::Unavailable,
        Question::Ledger => WorldAnswer::Ledger(crate::judge::ledger::Ledger::default()),
    }
}

/// Judges an invocation in a world that answers all questions.
fn judged(
    catalog: &Catalog,
    policy: &Policy,
    invocation: &Invocation,
    world: &dyn Fn(&Question) -> WorldAnswer,
) -> Judgment {
    judge(invocation, catalog, policy, &Answers::of(world))
}

/// The letter with which all other characters are compared.
const LETTER: &str = "Q";

/// Characters that are private, control characters or noncharacters, or that the judge used internally.
const CHARACTERS: [&str; 22] = [
    "\u{fffc}",
    "\u{fffd}",
    "\u{e000}",
    "\u{e001}",
    "\u{e002}",
    "\u{e003}",
    "\u{e004}",
    "\u{e005}",
    "\u{f8ff}",
    "\u{f0000}",
    "\u{f0001}",
    "\u{fffff}",
    "\u{100002}",
    "\u{100003}",
    "\u{10fffd}",
    "\u{10ffff}",
    "\u{fdd0}",
    "\u{fffe}",
    "\u{1}",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
];

/// Returns these and more characters: all control characters except whitespace, all noncharacters, and samples of the
/// private and unassigned ranges.
fn characters() -> Vec<String> {
    let controls = (0x1..0x20).filter(|at| ![0x9, 0xa, 0xd].contains(at)).chain(0x7f..=0x9f);
    let ends = (0..=0x10).flat_map(|plane| [plane << 16 | 0xfffe, plane << 16 | 0xffff]);
    let noncharacters = (0xfdd0..=0xfdef).chain(ends);
    let private = (0xe000..=0xf8ff).step_by(101).chain((0xf_0000..=0x10_ffff).step_by(1021));
    let unassigned = (0x5_0000..=0x6_ffff).step_by(4093);
    let all = controls.chain(noncharacters).chain(private).chain(unassigned).chain([0xfff9, 0xfffa, 0xfffb, 0x10_fffc]);
    let all = all.map(|at: u32| char::from_u32(at).unwrap().to_string());
    CHARACTERS.into_iter().map(str::to_owned).chain(all).collect()
}

/// Returns the characters that represent the replacement character, and its stand-in, in the judge.
fn stand_ins() -> impl Iterator<Item = String> {
    ["\u{fdd0}", "\u{fdd1}"].into_iter().map(str::to_owned)
}

/// The ways in which a line can contain a character.
const WAYS: [fn(&str) -> String; 8] = [
    |letter| letter.to_owned(),
    |letter| format!("$'{letter}'"),
    |letter| format!("$'{}'", letter.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
    |letter| format!("$'\\U{:08x}'", letter.chars().next().unwrap() as u32),
    |letter| format!("$(printf '\\U{:08x}')", letter.chars().next().unwrap() as u32),
    |letter| {
        use base64ct::{Base64, Encoding as _};
        format!("$(echo {} | base64 -d)", Base64::encode_string(letter.as_bytes()))
    },
    |_| "$V".to_owned(),
    |_| "$(cat v.txt)".to_owned(),
];

struct Judge {
    catalog: Catalog,
    policy: Policy,
}

impl Judge {
    fn new() -> Self {
        Self { catalog: Catalog::builtin(), policy: Policy::default() }
    }

    /// Returns the tier of a line that contains `letter`.
    fn tier(&self, line: impl Into<Vec<u8>>, letter: &str) -> Tier {
        let invocation = invocation(line, letter.as_bytes());
        judged(&self.catalog, &self.policy, &invocation, &|question| answer(question, letter)).risk.tier
    }
}

/// The step between characters that are tested in succession: a prime number, so that all characters are tested.
const TURN: usize = 61;

/// Reports whether a byte is part of the name of a variable, which any other character would end.
fn is_in_a_variable(row: &[u8], at: usize) -> bool {
    let name = row[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let before = &row[..at - name];
    before.ends_with(b"$") || before.ends_with(b"${")
}

/// P1: no character in a command, however it got there, lowers the tier compared with a letter.
#[test]
fn no_character_means_anything_but_itself() {
    let (judge, rows, characters) = (Judge::new(), rows(), characters());
    let mut turns = (0..).map(|turn| &characters[turn * TURN % characters.len()]);
    let every = std::env::var("GUARD_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(60);
    let mut wrong = Vec::new();
    for (index, (name, row)) in rows.iter().enumerate().filter(|(index, _)| index % every == 0) {
        let is_letter = |at: &usize| row[*at].is_ascii_alphabetic() && !is_in_a_variable(row, *at);
        let letters: Vec<usize> = (0..row.len()).filter(is_letter).collect();
        let Some(&at) = letters.get((index / every * 7) % letters.len().max(1)) else { continue };
        let with = |text: &str| [&row[..at], text.as_bytes(), &row[at + 1..]].concat();
        for (number, way) in WAYS.iter().enumerate() {
            let plain = judge.tier(with(&way(LETTER)), LETTER);
            for letter in turns.by_ref().take(3) {
                let tier = judge.tier(with(&way(letter)), letter);
                if tier < plain {
                    wrong.push(format!("{name} by way {number} with {letter:?}: {tier:?} < {plain:?}: {}", {
                        String::from_utf8_lossy(&with(&way(LETTER))).into_owned()
                    }));
                }
            }
        }
        // Bytes that are not valid UTF-8.
        for class in [0x80, 0xa0, 0xc0, 0xe0] {
            let byte = class + (index / every % 0x20) as u8;
            let line = [&row[..at], &[byte], &row[at + 1..]].concat();
            let invocation = invocation(line, b"");
            let known = judged(&judge.catalog, &judge.policy, &invocation, &|question| answer(question, "\u{fffd}"));
            let plain = judge.tier(with(LETTER), "\u{fffd}");
            if known.risk.tier < plain {
                wrong.push(format!("{name} with {byte:02x}: {:?} < {plain:?}", known.risk.tier));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are lower:\n{}", wrong.len(), wrong.join("\n"));
}

/// Lines in which a character once represented an unknown part, or a directory that `mktemp` creates.
#[test]
fn a_private_character_is_no_place_that_mktemp_made() {
    let (judge, characters) = (Judge::new(), characters());
    let lines: [fn(&str) -> String; 12] = [
        |x| format!("D=$(mktemp -d); bash -c \"ls $D; rm -rf {x}/etc\""),
        |x| format!("D=$(mktemp -d); bash -c 'ls '$D'; rm -rf {x}/etc'"),
        |x| format!("D=$(mktemp -d); eval \"ls $D; rm -rf {x}/etc\""),
        |x| format!("D=$(mktemp -d); bash -c \"cat <<E\n$D\nE\nrm -rf {x}/etc\""),
        |x| format!("D=$(mktemp -d); bash -c \"for f in {x} $D; do rm -rf \\$f/etc; done\""),
        |x| format!("bash -c 'rm -rf \"$1\"' _ /tmp/tmp.{x}/share"),
        |x| format!("rm -rf $(dirname /tmp/tmp.{x}/x)/share"),
        |x| format!("cd /tmp/tmp.{x}; rm -rf \"$PWD/share\""),
        |x| format!("rm -rf /tmp/{x}/share"),
        |x| format!("rm -rf {x}/etc"),
        |x| format!("python3 -c 'import shutil; shutil.rmtree(\"/tmp/{x}/share\")'"),
        |x| format!("git x; rm -rf {x}/etc"),
    ];
    for (number, line) in lines.into_iter().enumerate() {
        let plain = judge.tier(line(LETTER), LETTER);
        assert!(plain >= Tier::High, "{plain:?} for {}", line(LETTER));
        let more = characters.iter().map(String::as_str).skip(number).step_by(lines.len());
        for letter in CHARACTERS.into_iter().chain(more) {
            assert!(judge.tier(line(letter), letter) >= plain, "{letter:?} in {}", line(LETTER));
        }
    }
}

/// guard cannot query a path with such a character, so a person is asked about the line.
#[test]
fn a_stand_in_that_is_written_is_judged_no_lower_than_a_letter() {
    let judge = Judge::new();
    for line in [
        |x: &str| format!("bash -c 'rm -rf \"$1\"' _ /tmp/tmp.{x}/share"),
        |x: &str| format!("sed -i s/a/b/ {x}/etc/hosts"),
        |x: &str| format!("dd if=a of=$'{x}'/etc/hosts"),
        |x: &str| format!("cp a \"$(printf '{x}')/etc/hosts\""),
        |x: &str| format!("python3 -c 'open(\"{x}/etc/hosts\", \"w\")'"),
    ] {
        let plain = judge.tier(line(LETTER), LETTER);
        assert!(plain >= Tier::High, "{}", line(LETTER));
        let lower: Vec<String> = stand_ins().filter(|letter| judge.tier(line(letter), letter) < plain).collect();
        assert!(lower.is_empty(), "{lower:?} in {}", line(LETTER));
    }
}

/// The same for a name that is not valid UTF-8: a link with that name may lead anywhere.
#[test]
fn a_name_that_is_no_text_is_asked_about() {
    let judge = Judge::new();
    for line in
        ["sed -i s/a/b/ \u{fffd}/etc/hosts", "dd if=a of=$'\\xff'/etc/hosts", "cp a \"$(printf '\\xff')/etc/hosts\""]
    {
        let bytes: Vec<u8> = line.chars().map(|letter| u8::try_from(letter).unwrap_or(0xff)).collect();
        assert!(judge.tier(bytes, LETTER) >= Tier::High, "{line}");
    }
}

/// A directory that another user created with a similar random name is not the one that the line creates.
#[test]
fn a_path_that_is_written_is_no_place_that_mktemp_made() {
    let judge = Judge::new();
    let line = |place: &str| format!("D=$(mktemp -d); echo ls > \"$D/v.sh\"; sh {place}/v.sh");
    let plain = judge.tier(line("/tmp/tmp.0123456789"), LETTER);
    assert!(plain > judge.tier(line("\"$D\""), LETTER));
    let there = |place: &str| format!("(cd $(mktemp -d); echo ls > v.sh); sh {place}/v.sh");
    assert_eq!(judge.tier(there("/tmp/tmp.0123456789"), LETTER), plain);
    for place in ["/tmp/tmp.XXXXXXXXXX", "/tmp/tmp.", "/tmp/tmp.m", "/tmp/tmp.\u{fffc}"] {
        assert_eq!(judge.tier(line(place), LETTER), plain, "{place}");
        assert_eq!(judge.tier(there(place), LETTER), plain, "{place}");
    }
}

#[test]
fn a_file_and_an_alias_hold_no_private_characters_either() {
    let judge = Judge::new();
    for line in
        ["D=$(mktemp -d); bash v.sh \"$D\"", "D=$(mktemp -d); eval \"ls $D; $(cat v.sh)\"", "D=$(mktemp -d); git x"]
    {
        let plain = judge.tier(line, LETTER);
        for letter in CHARACTERS {
            assert!(judge.tier(line, letter) >= plain, "{letter:?} in {line}");
        }
    }
}

/// A name in a statement is only a name, even if it equals a word that the parser of the code uses internally.
#[test]
fn a_name_in_a_statement_is_no_fact() {
    let judge = Judge::new();
    let plain = judge.tier("psql -c 'drop table users'", LETTER);
    assert!(plain >= Tier::High);
    for name in ["--scratch", "--where", "--line", "--made=x", "--replace", "--", "-x"] {
        assert_eq!(judge.tier(format!("psql -c 'drop table \"{name}\"'"), LETTER), plain, "{name}");
    }
    for (plain, other) in [
        ("psql -c 'delete from users'", "psql -c 'delete from \"--where\"'"),
        (
            "python3 -c 'import psycopg2; psycopg2.connect(\"h\").cursor().execute(\"drop table users\")'",
            "python3 -c 'import psycopg2; psycopg2.connect(\"h\").cursor().execute(\"drop table users\", made=\"users\")'",
        ),
        (
            "python3 -c 'import psycopg2; psycopg2.connect(\"h\").cursor().execute(\"drop table users\")'",
            "python3 -c 'import psycopg2; psycopg2.connect(\"h\").cursor().execute(\"drop table users\", \"--database=:memory:\")'",
        ),
    ] {
        let tier = judge.tier(plain, LETTER);
        assert!(tier >= Tier::High, "{plain}");
        assert!(judge.tier(other, LETTER) >= tier, "{other}");
    }
}

/// Formats a value independently of its internal representation.
fn shown(value: &Value) -> String {
    format!("{}/{}/{:?}", value.rough(), value.is_dynamic(), value.taint())
}

/// Formats all findings and facts as one text.
fn rendition(judgment: &Judgment) -> String {
    let mut all = format!("{:?} {:?} {:?}\n", judgment.risk.tier, judgment.risk.score, judgment.risk.reversibility);
    for finding in &judgment.risk.findings {
        all += &format!("{finding:?}\n");
    }
    for opaque in &judgment.facts.opaque {
        all += &format!("{opaque:?}\n");
    }
    let operands = |operands: &[Operand]| operands.iter().map(|operand| shown(&operand.value)).collect::<Vec<_>>();
    for act in &judgment.facts.acts {
        let flags: Vec<_> = act.flags.iter().map(|flag| (&flag.name, flag.value.as_ref().map(shown))).collect();
        let args: Vec<_> = act.args.iter().map(shown).collect();
        all += &format!(
            "{:?} {:?} {:?} {flags:?} {:?} {args:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}\n",
            act.verb.key(),
            act.tier,
            act.sub,
            operands(&act.operands),
            act.feeds,
            act.taint,
            act.root,
            act.wrappers,
            act.disguise,
            act.parent,
            act.conditional,
            act.span,
        );
    }
    for question in judgment.rests_on.keys() {
        all += &format!("{question:?}\n");
    }
    all
}

/// Writes a digest of each row's rendition, without answers and with those of the synthetic world, so that two versions
/// of the judge can be compared:
///
///     GUARD_PIN=/tmp/before cargo test -p guard-judge pin -- --ignored
#[test]
#[ignore = "writes a file that is compared by hand"]
fn pin() {
    use sha2::Digest as _;
    let (judge, path) = (Judge::new(), std::env::var("GUARD_PIN").unwrap());
    let one = std::env::var("GUARD_ROW").ok();
    let mut all = String::new();
    for (name, row) in rows() {
        if one.as_ref().is_some_and(|one| *one != name) {
            continue;
        }
        let invocation = invocation(row, b"src");
        let worlds: [&dyn Fn(&Question) -> WorldAnswer; 2] =
            [&|_| WorldAnswer::Unavailable, &|question| answer(question, "Ж")];
        for (number, world) in worlds.iter().enumerate() {
            let text = rendition(&judged(&judge.catalog, &judge.policy, &invocation, world));
            if one.is_some() {
                all += &text;
            }
            let digest = sha2::Sha256::digest(text.as_bytes());
            all += &format!("{name}\t{number}\t{:02x?}\n", &digest[..8]);
        }
    }
    std::fs::write(path, all).unwrap();
}
