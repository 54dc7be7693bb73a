use super::*;
use crate::judge::analysis::act::{
    Code, Disguise, Effect, Operand, Piece, Remote, Taint, Unknown, UnknownReason, Value,
};
use crate::judge::analysis::inquiry::Answers;
use crate::judge::analysis::question::{Question, RepositoryFacts, WorldAnswer};
use crate::judge::invocation::Origin;
use crate::judge::risk::Weight;
use crate::judge::syntax::tree::Span;
use crate::judge::testing::{argv, finding};

const HERE: &str = "/home/ada/project";

fn act(verb: Verb) -> Act {
    Act::plain(verb, Some(crate::judge::analysis::place::Place::of(HERE)))
}

fn program(name: &str) -> Act {
    act(Verb::Program { name: name.to_owned(), path: None })
}

/// A program that only reads.
fn reading(name: &str) -> Act {
    Act { tier: Tier::Safe, ..program(name) }
}

fn operands(texts: &[&str]) -> Vec<Operand> {
    texts.iter().map(|text| Operand { value: Value::text(*text), span: Span::default() }).collect()
}

fn effect(effect: Effect, texts: &[&str]) -> Act {
    Act { tier: Tier::Safe, operands: operands(texts), ..act(Verb::Effect(effect)) }
}

fn elsewhere(kind: RemoteKind, name: &str) -> Option<Remote> {
    Some(Remote { kind, name: Some(name.to_owned()), fresh: false })
}

/// A subcommand of git with these operands.
fn git(sub: &str, texts: &[&str]) -> Act {
    Act { sub: vec![sub.to_owned()], operands: operands(texts), ..program("git") }
}

/// A finding of this tier that falls on the first act.
fn found(tier: Tier) -> Vec<Finding> {
    found_in(tier, 0)
}

fn found_in(tier: Tier, act: usize) -> Vec<Finding> {
    vec![Finding { act: Some(act), ..finding("a.rule", tier) }]
}

/// The circumstances of these acts for a user, in a project whose branch is `branch`.
fn within(uid: u32, acts: Vec<Act>, findings: &[Finding], policy: &Policy, branch: &str) -> Vec<Circumstance> {
    let source = |question: &Question| match question {
        Question::Repository(_) => WorldAnswer::Repository(Some(RepositoryFacts {
            root: HERE.to_owned(),
            branch: Some(branch.to_owned()),
            default_branch: None,
            remotes: Vec::new(),
            aliases: Vec::new(),
            pushed: None,
        })),
        _ => WorldAnswer::Unavailable,
    };
    let mut invocation = argv(Origin::Agent, &["x"]);
    invocation.uid = uid;
    let facts = Facts { acts, ..Facts::default() };
    let answers = Answers::of(&source);
    circumstances(&invocation, &facts, findings, &Catalog::builtin(), policy, &Inquiry::new(&answers))
}

/// The names and details of what holds, for an ordinary user on a branch that nobody protects.
fn facts_of(acts: Vec<Act>, findings: &[Finding]) -> Vec<(CircumstanceFact, Option<String>)> {
    named(within(1000, acts, findings, &Policy::default(), "topic"))
}

fn named(all: Vec<Circumstance>) -> Vec<(CircumstanceFact, Option<String>)> {
    all.into_iter().map(|one| (one.fact, one.detail)).collect()
}

fn only(fact: CircumstanceFact, detail: &str) -> Vec<(CircumstanceFact, Option<String>)> {
    vec![(fact, Some(detail.to_owned()))]
}

#[test]
fn what_only_reads_and_is_not_flagged_has_no_circumstance() {
    let act = |name| Act {
        root: true,
        disguise: Some(Disguise::Quoting),
        remote: elsewhere(RemoteKind::Ssh, "box"),
        ..reading(name)
    };
    assert_eq!(facts_of(vec![act("ls")], &[]), []);
    assert_eq!(facts_of(vec![act("ls")], &found(Tier::Low)), [], "a finding of tier 1 raises nothing");
    assert_eq!(facts_of(vec![act("ls")], &found(Tier::Medium)), [(CircumstanceFact::Disguise, None)]);
}

#[test]
fn root_counts_where_it_is_new_or_where_something_is_flagged() {
    let sudo = || vec![Act { root: true, ..program("x") }];
    let root = [(CircumstanceFact::Root, None)];
    let as_user = |uid, acts, findings: &[Finding]| named(within(uid, acts, findings, &Policy::default(), "topic"));
    assert_eq!(as_user(1000, sudo(), &[]), root);
    assert_eq!(as_user(1000, vec![program("x")], &found(Tier::Medium)), []);
    assert_eq!(as_user(1000, vec![program("x"), Act { root: true, ..reading("y") }], &[]), [], "reading as root");
    assert_eq!(as_user(0, sudo(), &[]), [], "the everyday work of a container");
    assert_eq!(as_user(0, vec![program("x")], &found(Tier::Medium)), root);
    assert_eq!(as_user(0, vec![program("x")], &found(Tier::Low)), []);
}

#[test]
fn what_acts_on_another_host_by_ssh_is_told_with_its_name() {
    let far = |kind| vec![Act { remote: elsewhere(kind, "box"), ..program("x") }];
    assert_eq!(facts_of(far(RemoteKind::Ssh), &[]), only(CircumstanceFact::Ssh, "box"));
    assert_eq!(facts_of(far(RemoteKind::Container), &[]), []);
    let reads = Act { remote: elsewhere(RemoteKind::Ssh, "box"), ..reading("x") };
    assert_eq!(facts_of(vec![program("y"), reads], &[]), [], "it only reads there");
}

#[test]
fn a_weight_that_a_policy_leaves_out_leaves_the_circumstance_out() {
    let mut policy = Policy::default();
    policy.weights.insert(CircumstanceFact::Root, Weight(70));
    let sudo = || vec![Act { root: true, ..program("x") }];
    assert_eq!(within(1000, sudo(), &[], &policy, "topic")[0].weight, Weight(70));
    policy.weights.remove(&CircumstanceFact::Root);
    assert_eq!(within(1000, sudo(), &[], &policy, "topic"), []);
}

#[test]
fn a_directory_is_trusted_with_what_lies_below_it_and_only_for_what_is_flagged() {
    for (directory, wanted) in [
        (HERE, true),
        ("/home/ada/project/", true),
        ("/home/ada", true),
        ("/home/*", true),
        ("/home/ada/proj", false),
        ("/home/ada/project/sub", false),
        ("/srv", false),
    ] {
        let policy = Policy { trusted_directories: vec![directory.to_owned()], ..Policy::default() };
        let all = within(1000, vec![program("x")], &found(Tier::Medium), &policy, "topic");
        assert_eq!(all.iter().any(|one| one.fact == CircumstanceFact::TrustedDirectory), wanted, "{directory}");
        assert_eq!(within(1000, vec![program("x")], &[], &policy, "topic"), [], "{directory}, nothing flagged");
    }
}

#[test]
fn a_word_of_a_name_stands_for_production_and_a_part_of_a_word_does_not() {
    let policy = Policy::default();
    for (name, wanted) in [
        ("prod", true),
        ("PROD", true),
        ("eu-prod-1", true),
        ("postgres://db.prod.example/x", true),
        ("products", false),
        ("reprod", false),
        ("staging", false),
        ("", false),
    ] {
        assert_eq!(names_production(name, &policy), wanted, "{name}");
    }
}

#[test]
fn what_changes_something_in_production_is_told_and_what_does_not_is_not() {
    let at = |name: &str| Act { targets: vec![Value::text(name)], ..program("x") };
    let told = only(CircumstanceFact::Production, "eu-prod");
    assert_eq!(facts_of(vec![at("eu-prod")], &[]), told);
    assert_eq!(facts_of(vec![at("staging"), at("eu-prod")], &[]), told, "the second act");
    let host = Act { remote: elsewhere(RemoteKind::Container, "eu-prod"), ..program("x") };
    assert_eq!(facts_of(vec![host], &[]), told);
    for (what, act) in [
        ("another place", at("staging")),
        ("only reads", Act { tier: Tier::Safe, ..at("eu-prod") }),
        ("a dry run", Act { dry_run: true, ..at("eu-prod") }),
        ("told by its program already", Act { parent: Some(0), ..at("eu-prod") }),
    ] {
        assert_eq!(facts_of(vec![act], &[]), [], "{what}");
    }
}

#[test]
fn a_client_that_only_asks_changes_nothing_in_production() {
    let client = |language: &str, text: Value| Act {
        targets: vec![Value::text("prod")],
        code: Some(Code { language: language.to_owned(), text }),
        ..program("x")
    };
    let query = || client("sql", Value::text("select 1"));
    let told = only(CircumstanceFact::Production, "prod");
    assert_eq!(facts_of(vec![query()], &[]), []);
    assert_eq!(facts_of(vec![query(), reading("sql:select")], &[]), []);
    assert_eq!(facts_of(vec![query(), program("sql:drop")], &[]), told);
    assert_eq!(facts_of(vec![query(), program("sqlite")], &[]), [], "another program, not a statement");
    assert_eq!(facts_of(vec![query(), program("redis:flushall")], &[]), [], "a statement of another language");
    assert_eq!(facts_of(vec![client("python", Value::text("1"))], &[]), told, "code of another kind");
    let writes = Act { tier: Tier::Low, ..effect(Effect::Write, &["x"]) };
    assert_eq!(facts_of(vec![query(), writes], &[]), told, "an effect beside it");
    assert_eq!(facts_of(vec![query(), effect(Effect::Show, &["x"])], &[]), [], "an effect of tier 0 beside it");
    let unknown = Piece::Unknown(Unknown { why: UnknownReason::Input, taint: Taint::default() });
    let dynamic = client("sql", Value::of(vec![unknown]));
    assert_eq!(facts_of(vec![dynamic], &[]), told, "a statement that is not known");
}

#[test]
fn a_protected_branch_is_the_one_that_is_named_or_the_current_one() {
    let on = |branch: &str, acts: Vec<Act>| {
        named(within(1000, acts, &found(Tier::Medium), &Policy::default(), branch))
            .into_iter()
            .find(|(fact, _)| *fact == CircumstanceFact::ProtectedBranch)
            .and_then(|(_, detail)| detail)
    };
    for (branch, act, wanted) in [
        ("topic", git("push", &["origin", "main"]), Some("main")),
        ("topic", git("push", &["origin", "+main"]), Some("main")),
        ("topic", git("push", &["origin", "topic:main"]), Some("main")),
        ("topic", git("push", &["origin", "topic:refs/heads/release/1"]), Some("release/1")),
        ("topic", git("push", &["origin", "main:topic"]), None),
        ("topic", git("branch", &["master"]), Some("master")),
        ("main", git("push", &["origin", "topic"]), None),
        ("main", git("push", &["origin"]), Some("main")),
        ("main", git("push", &[]), Some("main")),
        ("main", git("reset", &["a", "b"]), Some("main")),
        ("main", git("rebase", &[]), Some("main")),
        ("main", git("commit", &[]), Some("main")),
        ("main", git("stash", &[]), None),
        ("topic", git("reset", &[]), None),
        ("main", Act { sub: vec!["push".to_owned()], ..program("other") }, None),
    ] {
        let given = format!("{:?} {:?} on {branch}", act.sub, act.operands);
        assert_eq!(on(branch, vec![act]).as_deref(), wanted, "{given}");
    }
}

#[test]
fn a_protected_branch_counts_for_what_is_flagged_in_git_itself() {
    let of = |acts, findings: &[Finding]| named(within(1000, acts, findings, &Policy::default(), "main"));
    let told = only(CircumstanceFact::ProtectedBranch, "main");
    let push = || git("push", &["origin", "main"]);
    assert_eq!(of(vec![push()], &found(Tier::Medium)), told);
    assert_eq!(of(vec![push()], &found(Tier::Low)), []);
    assert_eq!(of(vec![program("x"), push()], &found(Tier::Medium)), [], "the finding falls on another program");
    let low_beside = [found_in(Tier::Low, 1), found_in(Tier::Medium, 0)].concat();
    assert_eq!(of(vec![program("x"), push()], &low_beside), [], "what falls on git is of tier 1");
    let below = Act { parent: Some(0), ..effect(Effect::Send, &[]) };
    assert_eq!(of(vec![push(), below], &found_in(Tier::Medium, 1)), told, "an effect of git's");
}

#[test]
fn what_changes_files_outside_the_project_is_told() {
    let told = only(CircumstanceFact::OutsideProject, "/srv/x");
    assert_eq!(facts_of(vec![effect(Effect::Write, &["/srv/x"])], &[]), told);
    assert_eq!(facts_of(vec![effect(Effect::Delete, &["a", "/srv/x"])], &[]), told, "the second operand");
    assert_eq!(facts_of(vec![effect(Effect::Show, &["a"]), effect(Effect::Delete, &["/srv/x"])], &[]), told);
    for (what, act) in [
        ("in the project", effect(Effect::Write, &["a"])),
        ("only read", effect(Effect::Show, &["/srv/x"])),
        ("it swallows what is written", effect(Effect::Write, &["/dev/null"])),
        ("a program's operand", Act { operands: operands(&["/srv/x"]), ..program("x") }),
        (
            "in a container",
            Act { remote: elsewhere(RemoteKind::Container, "box"), ..effect(Effect::Write, &["/srv/x"]) },
        ),
    ] {
        assert_eq!(facts_of(vec![act], &[]), [], "{what}");
    }
}
