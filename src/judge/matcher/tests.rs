use std::path::PathBuf;

use super::*;
use crate::judge::analysis::act::{
    Code, Flag, Input, OpaqueReason, Operand, Output, Piece, Remote, RemoteKind, Source, Taint, Unknown, UnknownReason,
    Value,
};
use crate::judge::analysis::inquiry::Answers;
use crate::judge::analysis::paths::NormalPath;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::{
    FileFacts, GitFacts, PathFacts, PathKind, Question, RepositoryFacts, WorldAnswer,
};
use crate::judge::invocation::{Environment, Line, Origin, Session};
use crate::judge::ledger::{
    BroughtContent, CommandChanges, FileKind, FileSnapshot, Ledger, LedgerEntry, PathChange, PathChangeKind,
    PriorState, Stat,
};
use crate::judge::rules::catalog::{Layer, PatternFile};

mod lowering;
mod places;

const CWD: &str = "/home/me/project";

/// Returns a catalog with these rules beside the built-in ones. Each rule is given as the lines of its match.
fn catalog(rules: &[(&str, &str)]) -> Catalog {
    catalog_with(rules, Layer::User, "")
}

/// Returns such a catalog with a second file in a layer of its own.
fn catalog_with(rules: &[(&str, &str)], layer: Layer, more: &str) -> Catalog {
    let mut text = String::from(
        "family = \"t\"\nabout = \"For tests.\"\n\
         [[program]]\nname = \"zap|zapper\"\noptions = [\"-f|--force\", \"-o|--out=\"]\n\
         [[program.sub]]\nname = \"old new\"\n\
         [[program]]\nname = \"own\"\noutput = \"own\"\n\
         [[paths]]\nclass = \"generated\"\nglobs = [\"out-dir\", \"**/out-dir/**\"]\n",
    );
    for (id, body) in rules {
        let header = format!(
            "[[rule]]\nid = \"t.{id}\"\nreversibility = \"irreversible\"\nreason = \"Because.\"\n\
             bad = [\"zap a\"]\ngood = [\"true\"]\n"
        );
        text.push_str(&header);
        if !body.contains("tier =") {
            text.push_str("tier = 3\n");
        }
        text.push_str(body);
        text.push('\n');
    }
    let file = PatternFile { path: "t.toml".into(), text, layer: Layer::User };
    let more = format!("family = \"more\"\nabout = \"For tests.\"\n{more}");
    let more = PatternFile { path: "more.toml".into(), text: more, layer };
    let (catalog, problems) = Catalog::with_files([file, more]);
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

fn invocation(text: &str) -> Invocation {
    Invocation {
        request: Request::Line(Line::of_bash(text)),
        cwd: PathBuf::from(CWD),
        env: Environment::from_iter([("HOME".into(), "/home/me".into())]),
        home: Some("/home/me".into()),
        uid: 1000,
        user: "me".into(),
        origin: Origin::Cli,
        session: Session::default(),
    }
}

fn act(verb: Verb) -> Act {
    Act::plain(verb, Some(Place::of(CWD)))
}

/// Returns text with active `*`; `$X` is an unknown variable, `%` a name created by `mktemp`.
fn value(text: &str) -> Value {
    let mut value = Value::default();
    for (index, part) in text.split("$X").enumerate() {
        if index > 0 {
            let why = UnknownReason::Variable("X".into());
            value.push(Piece::Unknown(Unknown { why, taint: Taint::default() }));
        }
        for c in part.chars() {
            value.push(match c {
                '*' => Piece::Glob("*".into()),
                '%' => Piece::Unknown(Unknown {
                    why: UnknownReason::Temporary { variable: false },
                    taint: Taint::default(),
                }),
                c => Piece::Text(c.into()),
            });
        }
    }
    value
}

fn operands(texts: &[&str]) -> Vec<Operand> {
    texts.iter().map(|text| Operand { value: value(text), span: Span::default() }).collect()
}

fn program(name: &str, texts: &[&str]) -> Act {
    let verb = Verb::Program { name: name.into(), path: None };
    Act { operands: operands(texts), args: texts.iter().map(|text| value(text)).collect(), ..act(verb) }
}

fn effect(effect: Effect, texts: &[&str]) -> Act {
    Act { operands: operands(texts), tier: Tier::Safe, ..act(Verb::Effect(effect)) }
}

fn removing(texts: &[&str]) -> Act {
    Act { recursive: true, ..effect(Effect::Delete, texts) }
}

/// Returns these acts, each with a span of its own, one after another.
fn line(acts: Vec<Act>) -> Facts {
    let spanned = acts.into_iter().zip(0_u32..).map(|(act, at)| Act { span: Span::new(at * 10, at * 10 + 9), ..act });
    Facts { acts: spanned.collect(), ..Facts::default() }
}

fn found_with(catalog: &Catalog, facts: &Facts, answers: &Answers<'_>) -> Vec<Finding> {
    // A session without changes, unless the test inserted another ledger.
    answers.insert(Question::Ledger, WorldAnswer::Ledger(Ledger::default()));
    let inquiry = Inquiry::new(answers);
    let mut findings = find(&invocation("zap a b"), facts, catalog, &Policy::default(), &inquiry);
    findings.retain(|finding| finding.rule.starts_with("t.") || finding.rule.starts_with("opaque."));
    findings
}

fn found(catalog: &Catalog, facts: &Facts) -> Vec<Finding> {
    found_with(catalog, facts, &Answers::none())
}

/// Reports whether a rule with this body has a finding for the last of these acts.
#[track_caller]
fn matches(body: &str, acts: Vec<Act>) -> bool {
    let last = acts.len() - 1;
    found(&catalog(&[("one", body)]), &line(acts)).iter().any(|finding| finding.act == Some(last))
}

fn zap(texts: &[&str]) -> Act {
    program("zap", texts)
}

const ZAP: &str = "program = \"zap\"\n";

fn with(body: &str) -> String {
    format!("{ZAP}{body}")
}

#[test]
fn a_rule_without_conditions_finds_every_run_of_its_program() {
    assert!(matches(ZAP, vec![zap(&[])]));
    assert!(matches(ZAP, vec![program("zapper", &[])]));
    assert!(!matches(ZAP, vec![program("tap", &[])]));
}

#[test]
fn a_subcommand_path_matches_by_its_beginning() {
    let with_sub = |sub: &[&str]| Act { sub: sub.iter().map(|word| (*word).into()).collect(), ..zap(&[]) };
    let rule = with("sub = \"old\"");
    assert!(matches(&rule, vec![with_sub(&["old", "new"])]));
    assert!(!matches(&rule, vec![with_sub(&["new"])]));
    assert!(!matches(&with("sub = \"old new\""), vec![with_sub(&["old"])]));
}

#[test]
fn all_flags_must_be_given_and_none_of_the_others() {
    let flagged = |flags: &[(&str, Option<&str>)]| {
        let flag = |(name, value): &(&str, Option<&str>)| Flag {
            name: (*name).into(),
            value: value.map(Value::text),
            span: Span::default(),
        };
        Act { flags: flags.iter().map(flag).collect(), ..zap(&[]) }
    };
    assert!(matches(&with("flags = [\"--force\"]"), vec![flagged(&[("-f", None)])]));
    assert!(!matches(&with("flags = [\"--force\"]"), vec![flagged(&[])]));
    assert!(!matches(&with("flags = [\"-f\", \"-o\"]"), vec![flagged(&[("-f", None)])]));
    assert!(!matches(&with("no_flags = [\"-f\"]"), vec![flagged(&[("-f", None)])]));
    assert!(matches(&with("flags = [\"-o=/dev/*\"]"), vec![flagged(&[("-o", Some("/dev/x"))])]));
    assert!(!matches(&with("flags = [\"-o=/dev/*\"]"), vec![flagged(&[("-o", Some("x"))])]));
}

#[test]
fn quantifiers_say_which_operands_count() {
    let rule = |which: &str| with(&format!("operand = {{ which = \"{which}\", glob = [\"a*\"] }}"));
    for (which, texts, expected) in [
        ("any", &["b", "a1"][..], true),
        ("any", &["b"], false),
        ("all", &["a1", "a2"], true),
        ("all", &["a1", "b"], false),
        ("all", &[], false),
        ("no", &["b"], true),
        ("no", &["b", "a"], false),
        ("no", &[], true),
        ("1", &["b", "a"], true),
        ("1", &["a", "b"], false),
        ("1", &["a"], false),
        ("last", &["b", "a"], true),
        ("last", &["a", "b"], false),
    ] {
        assert_eq!(matches(&rule(which), vec![zap(texts)]), expected, "{which} {texts:?}");
    }
    assert!(matches(&with("count = [2, 3]"), vec![zap(&["a", "b"])]));
    assert!(!matches(&with("count = [2, 3]"), vec![zap(&["a"])]));
}

#[test]
fn every_group_of_a_test_must_hold() {
    let rule = "program = \":delete\"\noperand = { class = [\"system\"], not_class = [\"system-top\"], not_glob = [\"/var/cache/*\"] }";
    assert!(matches(rule, vec![removing(&["/etc/x"])]));
    assert!(!matches(rule, vec![removing(&["/etc"])]));
    assert!(!matches(rule, vec![removing(&["/var/cache/x"])]));
    assert!(!matches(rule, vec![removing(&["x"])]));
}

#[test]
fn a_path_is_held_against_patterns_in_its_normal_form_too() {
    let rule = "program = \":delete\"\noperand = { glob = [\"/var/log/*\"] }";
    assert!(matches(rule, vec![removing(&["/var//log/./x"])]));
    assert!(matches(rule, vec![Act { cwd: Some(Place::of("/var/log")), ..removing(&["x"]) }]));
    let excepting = "program = \":delete\"\noperand = { class = [\"system\"], not_glob = [\"/var/cache/*\"] }";
    assert!(matches(excepting, vec![removing(&["/var/cache/../lib/x"])]));
}

#[test]
fn what_is_unknown_can_be_asked_for() {
    let rule = with("operand = { dynamic = true }");
    assert!(matches(&rule, vec![zap(&["$X"])]));
    assert!(!matches(&rule, vec![zap(&["x"])]));
}

#[test]
fn hosts_have_classes() {
    let rule = "program = \":fetch\"\noperand = { host = [\"unknown\"] }";
    assert!(matches(rule, vec![effect(Effect::Fetch, &["https://evil.example/x"])]));
    assert!(matches(rule, vec![effect(Effect::Fetch, &["evil.example"])]));
    assert!(!matches(rule, vec![effect(Effect::Fetch, &["http://localhost/x"])]));
}

#[test]
fn packages_are_known_by_name_and_nearly_known_ones_are_named() {
    let rule = with("operand = { package = [\"npm\", \"pypi\"] }");
    for known in ["lodash", "lodash@^4", "@types/node", "requests[socks]>=2,<3", "Typing_Extensions", "x@npm:react"] {
        assert!(!matches(&rule, vec![zap(&[known])]), "{known}");
    }
    for new in [
        "lodahs",
        "unheard-of",
        "",
        "$X",
        "lodash,unheard-of",
        "x@npm:unheard-of",
        "./x",
        "https://x.org/y",
        "react@x/y",
    ] {
        assert!(matches(&rule, vec![zap(&["lodash", new])]), "{new}");
    }
    assert!(!matches(&with("operand = { package = [\"npm:type\"] }"), vec![zap(&["script"])]));
    let reason = |names: &[&str]| found(&catalog(&[("one", rule.as_str())]), &line(vec![zap(names)]))[0].reason.clone();
    assert_eq!(reason(&["lodahs"]), "Because. lodahs looks like lodash, another package.");
    assert_eq!(reason(&["unheard-of"]), "Because.");
    assert_eq!(reason(&["djangoo"]), "Because. djangoo looks like django, another package.", "of the second index");
    assert_eq!(reason(&["lodahs@x/y"]), "Because.", "it says where it comes from");
}

#[test]
fn who_writes_a_pattern_file_says_which_packages_are_well_known_but_no_project_does() {
    let text = "family = 'o'\nabout = 'o'\n[[packages]]\nindex = 'npm'\nmarks = ['dev:']\nnames = ['unheard-of', '@ours/*', 'Ours.*']\n";
    let file = |layer| PatternFile { path: "o.toml".into(), text: text.into(), layer };
    let (catalog, problems) = Catalog::with_files([file(Layer::User)]);
    assert!(problems.is_empty(), "{problems:?}");
    for (name, known) in [
        ("unheard-of", true),
        ("@ours/x", true),
        ("@theirs/x", false),
        ("ours", false),
        ("ours.x", true),
        ("oursx", false),
    ] {
        assert_eq!(catalog.packages().has("npm", name), known, "{name}");
    }
    assert!(!catalog.packages().has("pypi", "unheard-of"));
    let named = |requirement: &str| catalog.packages().named("npm", requirement).map(|(_, name)| name);
    assert_eq!(named("dev:unheard-of@^2"), Some("unheard-of".to_owned()));
    assert_eq!(named("dev:"), None);
    assert_eq!(named("test:unheard-of"), Some("test".to_owned()));
    assert_eq!(catalog.packages().like("npm", "unheard-off"), Some("unheard-of".to_owned()));
    assert_eq!(catalog.packages().like("npm", "devx"), None);
    let (catalog, problems) = Catalog::with_files([file(Layer::Project)]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(!catalog.packages().has("npm", "unheard-of"));
    for (mark, good) in [("dev:", true), ("d:", true), ("dev", false), (":", false), ("a:b:", false), ("a:b", false)] {
        let text = format!("family = 'o'\nabout = 'o'\n[[packages]]\nindex = 'npm'\nmarks = ['{mark}']\n");
        let (_, problems) = Catalog::with_files([PatternFile { path: "o.toml".into(), text, layer: Layer::User }]);
        assert_eq!(problems.is_empty(), good, "{mark}: {problems:?}");
    }
    for (name, good) in [("a.*", true), ("@a/*", true), (".*", false), ("/*", false), ("a*", false), ("a.*.*", false)] {
        let text = format!("family = 'o'\nabout = 'o'\n[[packages]]\nindex = 'npm'\nnames = ['{name}']\n");
        let (_, problems) = Catalog::with_files([PatternFile { path: "o.toml".into(), text, layer: Layer::User }]);
        assert_eq!(problems.is_empty(), good, "{name}: {problems:?}");
    }
}

#[test]
fn circumstances_are_conditions_too() {
    assert!(matches(&with("root = true"), vec![Act { root: true, ..zap(&[]) }]));
    assert!(!matches(&with("root = true"), vec![zap(&[])]));
    assert!(!matches(&with("root = false"), vec![Act { root: true, ..zap(&[]) }]));
    assert!(matches(&with("recursive = true"), vec![Act { recursive: true, ..zap(&[]) }]));
    let remote = Remote { kind: RemoteKind::Ssh, name: None, fresh: false };
    assert!(matches(&with("remote = true"), vec![Act { remote: Some(remote.clone()), ..zap(&[]) }]));
    assert!(!matches(&with("remote = false"), vec![Act { remote: Some(remote), ..zap(&[]) }]));
    assert!(matches(&with("wrapped = [\"xargs\"]"), vec![Act { wrappers: ["xargs".into()].into(), ..zap(&[]) }]));
    assert!(!matches(&with("wrapped = [\"xargs\"]"), vec![zap(&[])]));
    let within = |name: &str| Act { wrappers: [name.into()].into(), ..zap(&[]) };
    let rule = with("wrapped = [\"*\"]\nno_wrapped = [\"exec\"]");
    assert!(matches(&rule, vec![within("xargs")]));
    assert!(!matches(&rule, vec![within("exec")]));
    let both = Act { wrappers: ["exec".into(), "xargs".into()].into(), ..zap(&[]) };
    assert!(matches(&rule, vec![both]));
    assert!(!matches(&rule, vec![zap(&[])]));
    let outside = with("outside = [\"exec\", \"xarg*\"]");
    assert!(matches(&outside, vec![zap(&[])]));
    assert!(matches(&outside, vec![within("nice")]));
    assert!(!matches(&outside, vec![within("exec")]));
    assert!(!matches(&outside, vec![within("xargs")]));
    let one_of_two = Act { wrappers: ["nice".into(), "exec".into()].into(), ..zap(&[]) };
    assert!(!matches(&outside, vec![one_of_two]));
    assert!(matches(&with("input = [\"inherited\"]"), vec![zap(&[])]));
    let fed = Act { input: Input::Text(Value::text("x")), ..zap(&[]) };
    assert!(!matches(&with("input = [\"inherited\"]"), vec![fed]));
    let env = |name: &str, text: &str| Act { env: vec![(name.into(), Value::text(text))].into(), ..zap(&[]) };
    assert!(matches(&with("env = [{ name = \"GIT_*\" }]"), vec![env("GIT_DIR", "x")]));
    assert!(!matches(&with("env = [{ name = \"GIT_*\" }]"), vec![env("GOT_DIR", "x")]));
    assert!(!matches(&with("env = [{ name = \"A\", value = { exact = [\"1\"] } }]"), vec![env("A", "2")]));
    let spared = with(
        "no_flags = [\"-f\"]\nno_env = [{ name = \"A\", value = { exact = [\"1\"] }, unless = [\"{B,C}*\", \"HOM?\"] }]",
    );
    assert!(matches(&spared, vec![env("A", "1")]), "HOME is set outside of the line");
    let spared = spared.replace(", \"HOM?\"", "");
    assert!(!matches(&spared, vec![env("A", "1")]));
    assert!(matches(&spared, vec![env("A", "2")]));
    assert!(matches(&spared, vec![env("A_", "1")]));
    let envs = |pairs: &[(&str, &str)]| Act {
        env: pairs.iter().map(|(name, text)| ((*name).to_owned(), Value::text(*text))).collect::<Vec<_>>().into(),
        ..zap(&[])
    };
    assert!(matches(&spared, vec![envs(&[("A", "1"), ("A", "2")])]));
    assert!(!matches(&spared, vec![envs(&[("A", "2"), ("A", "1")])]));
    for other in ["BC", "C"] {
        assert!(matches(&spared, vec![envs(&[("A", "1"), (other, "")])]), "{other}");
    }
    let option = Flag { name: "-f".into(), value: None, span: Span::default() };
    assert!(!matches(&spared, vec![Act { flags: vec![option], ..env("A", "2") }]), "`no_flags` holds as before");
    let valued = with("no_flags = [\"-o=x\"]\nno_env = [{ name = \"A\", value = { exact = [\"1\"] } }]");
    let at = |value: &str| Flag { name: "-o".into(), value: Some(Value::text(value)), span: Span::default() };
    assert!(matches(&valued, vec![Act { flags: vec![at("y")], ..env("A", "1") }]), "an option outweighs the variable");
    assert!(!matches(&valued, vec![Act { flags: vec![at("x")], ..env("A", "2") }]));
    assert!(matches(&with("words = [{ regex = \"^x+$\" }]"), vec![zap(&["a", "xx"])]));
    assert!(!matches(&with("words = [{ regex = \"^x+$\" }]"), vec![zap(&["a"])]));
    let code = |text: &str| Act { code: Some(Code { language: "python".into(), text: Value::text(text) }), ..zap(&[]) };
    assert!(matches(&with("code = { language = [\"python\"], regex = \"rmtree\" }"), vec![code("shutil.rmtree('x')")]));
    assert!(!matches(&with("code = { language = [\"perl\"], regex = \"rmtree\" }"), vec![code("rmtree")]));
    assert!(matches(&with("shown = true"), vec![zap(&[])]));
    assert!(!matches(&with("shown = true"), vec![Act { output: Output::Captured, ..zap(&[]) }]));
}

#[test]
fn what_a_substitution_took_is_shown_where_it_is_printed_again() {
    let secret = Piece::Unknown(Unknown { why: UnknownReason::CommandOutput, taint: Taint::SECRET });
    let shown = |printer: &str| {
        let taken = Act { output: Output::Captured, taint: Taint::SECRET, ..zap(&[]) };
        let printed = Act { args: vec![Value::of(vec![secret.clone()])], ..program(printer, &[]) };
        let findings = found(&catalog(&[("one", &with("shown = true"))]), &line(vec![taken, printed]));
        findings.iter().any(|finding| finding.act == Some(0))
    };
    assert!(shown("echo"));
    assert!(!shown("own"));
}

#[test]
fn a_dry_run_is_found_only_by_rules_that_say_so() {
    let dry = || vec![Act { dry_run: true, ..zap(&[]) }];
    assert!(!matches(ZAP, dry()));
    assert!(matches(&with("dry_run = true"), dry()));
    let effect = Act { parent: Some(0), ..removing(&["x"]) };
    assert!(!matches("program = \":delete\"", vec![Act { dry_run: true, ..zap(&["x"]) }, effect]));
}

#[test]
fn pipes_are_followed_through_what_copies() {
    let rule = "program = \"zap\"\nfeeds = [\"zapper\"]";
    let chain = |middle: &str| {
        let facts = line(vec![
            Act { feeds: vec![1], output: Output::Pipe, ..zap(&[]) },
            Act { feeds: vec![2], output: Output::Pipe, ..program(middle, &[]) },
            program("zapper", &[]),
        ]);
        let rule = rule.replace("\"zap\"", "\"zap\"\noperand = { which = \"no\", exact = [\"!\"] }");
        found(&catalog(&[("one", &rule)]), &facts).iter().any(|finding| finding.act == Some(0))
    };
    assert!(chain("unheard-of"));
    assert!(!chain("own"));
}

#[test]
fn input_and_arguments_carry_taint() {
    let fed =
        |taint: Taint| vec![Act { taint, ..program("own", &[]) }, Act { input: Input::Pipe(vec![0]), ..zap(&[]) }];
    assert!(matches(&with("input = [\"fetched\"]"), fed(Taint::FETCHED)));
    assert!(!matches(&with("input = [\"fetched\"]"), fed(Taint::SECRET)));
    assert!(matches(&with("input = [\"pipe\"]"), fed(Taint::default())));
    let secret = Piece::Unknown(Unknown { why: UnknownReason::CommandOutput, taint: Taint::SECRET });
    let tainted = Act { args: vec![Value::of(vec![secret])], ..zap(&[]) };
    assert!(matches(&with("tainted = [\"secret\"]"), vec![tainted.clone()]));
    assert!(!matches(&with("tainted = [\"fetched\"]"), vec![tainted]));
}

#[test]
fn a_text_is_looked_for_last_and_marks_where_it_stands() {
    let rule = "program = \"*\"\ntext = { literal = \"a b\", regex = \"a\\\\s+b\" }";
    let findings = found(&catalog(&[("one", rule)]), &line(vec![program("unheard-of", &[])]));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].span, Span::new(4, 7));
}

#[test]
fn what_cannot_be_understood_is_found_and_never_below_its_rule() {
    let opaque = Opaque { why: OpaqueReason::CommandWord, detail: "no idea".into(), span: Span::new(1, 2) };
    let facts = Facts { opaque: vec![opaque], ..Facts::default() };
    let findings = found(&catalog(&[]), &facts);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, "opaque.command-word");
    assert_eq!(findings[0].tier, Tier::High);
    assert_eq!(findings[0].act, None);
}

#[test]
fn deleting_an_unknown_place_is_at_least_tier_two() {
    let tier = |texts: &[&str]| {
        let (answers, policy) = (Answers::none(), Policy::default());
        let facts = line(vec![effect(Effect::Delete, texts)]);
        let findings = find(&invocation(""), &facts, &catalog(&[]), &policy, &Inquiry::new(&answers));
        findings.iter().map(|finding| finding.tier).max().unwrap_or_default()
    };
    for texts in [&["$X"][..], &["a", "dir/$X"], &["$X/*"]] {
        assert!(tier(texts) >= Tier::Medium, "{texts:?}");
    }
    assert!(tier(&["%/x"]) <= Tier::Low);
}

#[test]
fn the_same_thing_is_found_once() {
    let mut facts = line(vec![zap(&["a"])]);
    facts.acts.push(facts.acts[0].clone());
    assert_eq!(found(&catalog(&[("one", ZAP)]), &facts).len(), 1);
}

#[test]
fn a_rule_can_be_switched_off_but_never_at_tier_four() {
    let catalog = catalog(&[("low", ZAP), ("high", "program = \"zap\"\ntier = 4")]);
    let policy = Policy { disabled_rules: vec!["t.low".into(), "t.high".into()], ..Policy::default() };
    let answers = Answers::none();
    let found = find(&invocation(""), &line(vec![zap(&[])]), &catalog, &policy, &Inquiry::new(&answers));
    assert_eq!(found.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(), ["t.high"]);
}

#[test]
fn adding_an_act_never_takes_a_finding_away() {
    let catalog = catalog(&[
        ("one", ZAP),
        ("two", "program = \":delete\"\noperand = { which = \"any\" }\nlower = [\"missing\"]"),
    ]);
    let acts = vec![zap(&["a"]), removing(&["out-dir"]), effect(Effect::Write, &["x"])];
    let before = found(&catalog, &line(acts.clone()));
    for extra in [zap(&["b"]), removing(&["/"]), effect(Effect::Move, &["out-dir"]), program("own", &[])] {
        let mut more = acts.clone();
        more.push(extra);
        let after = found(&catalog, &line(more));
        for finding in &before {
            assert!(after.iter().any(|other| other.rule == finding.rule && other.tier >= finding.tier));
        }
    }
}

// Lowering.

#[test]
fn only_the_grave_counts_of_what_the_session_wrote_and_may_not_run() {
    let rule = |tier: u8| format!("tier = {tier}\nprogram = \"zap\"");
    let finds = |tier: u8, acts: Vec<Act>| found(&catalog(&[("one", &rule(tier))]), &line(acts)).len();
    let staged = || Act { staged: true, ..zap(&["a"]) };
    assert_eq!([2, 3, 4].map(|tier| finds(tier, vec![staged()])), [0, 1, 1]);
    assert_eq!(finds(2, vec![zap(&["a"])]), 1);
    // Acts beside a staged one count as usual.
    assert_eq!(finds(2, vec![staged(), zap(&["b"])]), 1);
    assert_eq!(finds(2, vec![zap(&["b"]), staged()]), 1);
}
