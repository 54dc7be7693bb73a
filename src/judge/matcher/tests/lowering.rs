//! Tests of lowering.

use super::*;
use crate::judge::testing::asked;

const LOWERED: &str = "program = \":delete\"\noperand = { which = \"any\" }\nlower = [\"generated\", \"temp\", \"created\", \"missing\", \"tracked\"]";

fn path_answer(kind: PathKind, canonical: &str, symlink: bool) -> WorldAnswer {
    WorldAnswer::Path(PathFacts { kind, canonical: canonical.into(), symlink, bytes: 0 })
}

fn ignored() -> GitFacts {
    GitFacts { root: Some(CWD.into()), ignored: true, ..GitFacts::default() }
}

fn clean() -> GitFacts {
    GitFacts { root: Some(CWD.into()), tracked: true, clean: true, ..GitFacts::default() }
}

/// Returns answers about one path.
fn world(path: &str, kind: PathKind, git: GitFacts) -> Answers<'static> {
    let answers = Answers::none();
    answers.insert(Question::Path(path.into()), path_answer(kind, path, false));
    answers.insert(Question::Git(path.into()), WorldAnswer::Git(git));
    answers
}

/// Reports whether the last act has findings and all of them are lowered.
#[track_caller]
fn lowered(acts: Vec<Act>, answers: &Answers) -> bool {
    let last = acts.len() - 1;
    let mut findings = found_with(&catalog(&[("one", LOWERED)]), &line(acts), answers);
    findings.retain(|finding| finding.act == Some(last));
    assert!(!findings.is_empty());
    findings.iter().all(|finding| {
        assert_eq!(finding.lowered.is_some(), finding.tier == Tier::Low);
        finding.tier == Tier::Low && finding.weight == Weight(100)
    })
}

fn generated() -> Answers<'static> {
    world("/home/me/project/out-dir", PathKind::Directory, ignored())
}

#[test]
fn what_is_generated_and_ignored_is_lowered() {
    assert!(lowered(vec![removing(&["out-dir"])], &generated()));
    assert!(lowered(vec![removing(&["out-dir/*"])], &generated()));
    assert!(lowered(vec![program("unheard-of", &[]), removing(&["./out-dir/"])], &generated()));
}

#[test]
fn what_is_generated_by_name_alone_is_not_lowered() {
    let dir = "/home/me/project/out-dir";
    let not = |answers: &Answers| assert!(!lowered(vec![removing(&["out-dir"])], answers));
    not(&Answers::none());
    not(&world(dir, PathKind::Directory, GitFacts { ignored: false, ..ignored() }));
    not(&world(dir, PathKind::Directory, GitFacts { holds_repository: true, ..ignored() }));
    not(&world(dir, PathKind::Directory, GitFacts { holds_tracked: true, ..ignored() }));
    let leading_to = |canonical: &str, symlink: bool| {
        let answers = Answers::none();
        answers.insert(Question::Path(dir.into()), path_answer(PathKind::Directory, canonical, symlink));
        answers.insert(Question::Git(dir.into()), WorldAnswer::Git(ignored()));
        answers
    };
    assert!(lowered(vec![removing(&["out-dir"])], &leading_to(dir, false)));
    not(&leading_to("/home/me/other", true));
    not(&leading_to("/data/x", false));
    // It is ignored, but no pattern classifies it as generated.
    let answers = world("/home/me/project/.env", PathKind::File, ignored());
    assert!(!lowered(vec![removing(&[".env"])], &answers));
}

#[test]
fn a_generated_name_in_directories_of_any_name_is_lowered_if_git_ignores_it_there() {
    let asked = "/home/me/project/packages/x/out-dir/out-dir";
    let answers = |git: GitFacts| {
        let answers = Answers::none();
        answers.insert(Question::Git(asked.into()), WorldAnswer::Git(git));
        answers
    };
    assert!(lowered(vec![removing(&["packages/*/out-dir"])], &answers(ignored())));
    assert!(!lowered(vec![removing(&["packages/*/out-dir"])], &answers(GitFacts { ignored: false, ..ignored() })));
    assert!(!lowered(vec![removing(&["packages/*/other"])], &answers(ignored())));
    assert!(!lowered(vec![removing(&["$X/*/out-dir"])], &answers(ignored())));
    let moved = vec![effect(Effect::Move, &["notes"]), effect(Effect::Write, &["packages/a/out-dir"])];
    let moves = |at: usize, act: Act| Act { parent: (at > 0).then_some(0), ..act };
    let acts = std::iter::once(program("mv", &[])).chain(moved).chain([removing(&["packages/*/out-dir"])]);
    let acts: Vec<Act> = acts.enumerate().map(|(at, act)| if at < 3 { moves(at, act) } else { act }).collect();
    assert!(!lowered(acts, &answers(ignored())), "a person's work was moved there");
}

#[test]
fn one_operand_that_counts_keeps_the_tier() {
    assert!(!lowered(vec![removing(&["out-dir", "src"])], &generated()));
    let catalog = catalog(&[("one", LOWERED)]);
    let findings = found_with(&catalog, &line(vec![removing(&["out-dir", "src"])]), &generated());
    assert_eq!(findings[0].touches, ["src"]);
}

#[test]
fn an_answer_that_an_earlier_act_could_change_is_not_used() {
    let moved = || {
        let parent = program("mv", &["src", "out-dir"]);
        let from = Act { parent: Some(0), ..effect(Effect::Move, &["src"]) };
        let to = Act { parent: Some(0), ..effect(Effect::Write, &["out-dir"]) };
        vec![parent, from, to]
    };
    let git = |sub: &str| vec![Act { sub: vec![sub.into()], ..program("git", &[]) }];
    let link = || vec![effect(Effect::Link, &["out-dir"])];
    let ignore = || vec![effect(Effect::Append, &[".gitignore"])];
    for before in [moved(), git("checkout"), git("stash"), link(), ignore()] {
        let mut acts = before;
        acts.push(removing(&["out-dir"]));
        assert!(!lowered(acts, &generated()));
    }
    let mut unrelated = git("status");
    unrelated.push(removing(&["out-dir"]));
    assert!(lowered(unrelated, &generated()));
}

#[test]
fn in_a_loop_what_is_written_later_may_come_first() {
    let often = |act: Act| Act { conditional: true, repeated: true, ..act };
    let link = effect(Effect::Link, &["out-dir"]);
    let facts = line(vec![often(removing(&["out-dir"])), often(link)]);
    let findings = found_with(&catalog(&[("one", LOWERED)]), &facts, &generated());
    assert_eq!(findings[0].tier, Tier::High);
}

#[test]
fn in_a_condition_what_is_written_later_comes_later() {
    let perhaps = |act: Act| Act { conditional: true, ..act };
    let link = effect(Effect::Link, &["out-dir"]);
    let facts = line(vec![perhaps(removing(&["out-dir"])), perhaps(link)]);
    let findings = found_with(&catalog(&[("one", LOWERED)]), &facts, &generated());
    assert_eq!(findings[0].tier, Tier::Low);
}

#[test]
fn what_lies_in_the_temp_directory_is_lowered() {
    let temp = world("/tmp/x", PathKind::Directory, GitFacts::default());
    assert!(lowered(vec![removing(&["/tmp/x"])], &temp));
    assert!(lowered(vec![removing(&["/tmp/x/*"])], &temp));
    assert!(lowered(vec![removing(&["%"])], &Answers::none()));
    assert!(lowered(vec![removing(&["%/x"])], &Answers::none()));
    let top = world("/tmp", PathKind::Directory, GitFacts::default());
    assert!(lowered(vec![effect(Effect::Delete, &["/tmp/build-*"])], &top));
}

#[test]
fn the_temp_directory_itself_is_not_lowered() {
    let top = world("/tmp", PathKind::Directory, GitFacts::default());
    for text in ["/tmp", "/tmp/", "/tmp/*", "/tmp/.", "/tmp/x/..", "/tmp/$X"] {
        assert!(!lowered(vec![removing(&[text])], &top), "{text}");
    }
    assert!(!lowered(vec![removing(&["/tmp/x"])], &Answers::none()));
    let link = Answers::none();
    link.insert(Question::Path("/tmp/x".into()), path_answer(PathKind::Directory, "/home/me", true));
    assert!(!lowered(vec![removing(&["/tmp/x/"])], &link));
}

#[test]
fn what_was_moved_into_the_temp_directory_is_not_lowered() {
    let parent = program("mv", &["src", "/tmp/x"]);
    let from = Act { parent: Some(0), ..effect(Effect::Move, &["src"]) };
    let to = Act { parent: Some(0), ..effect(Effect::Write, &["/tmp/x"]) };
    let temp = world("/tmp/x", PathKind::Directory, GitFacts::default());
    assert!(!lowered(vec![parent, from, to, removing(&["/tmp/x"])], &temp));
}

#[test]
fn what_does_not_exist_is_lowered_unless_the_line_could_have_brought_it() {
    let missing = world("/home/me/project/x", PathKind::Missing, GitFacts::default());
    assert!(lowered(vec![removing(&["x"])], &missing));
    assert!(lowered(vec![effect(Effect::Write, &["y"]), removing(&["x"])], &missing));
    // A program with globs of its own may treat such a name as a pattern.
    for name in ["{x,y}", "x?", "[x]"] {
        let missing = world(&format!("/home/me/project/{name}"), PathKind::Missing, GitFacts::default());
        assert!(!lowered(vec![removing(&[name])], &missing), "{name}");
    }
    assert!(!lowered(vec![program("unheard-of", &[]), removing(&["x"])], &missing));
    for part in [Effect::Move, Effect::Load] {
        let from = Act { parent: Some(0), ..effect(part, &["src"]) };
        let to = Act { parent: Some(0), ..effect(Effect::Write, &["x"]) };
        assert!(!lowered(vec![program("mv", &["src", "x"]), from, to, removing(&["x"])], &missing), "{part:?}");
    }
    assert!(!lowered(vec![effect(Effect::Link, &["x"]), removing(&["x/"])], &missing));
    assert!(!lowered(vec![removing(&["x"])], &world("/home/me/project/x", PathKind::Directory, GitFacts::default())));
    assert!(!lowered(vec![removing(&["x"])], &Answers::none()));
    // A wrapper around the act has run nothing before it.
    let sudo = Act { span: Span::new(0, 20), ..program("sudo", &["rm", "x"]) };
    let inner = Act { span: Span::new(5, 20), wrappers: ["sudo".into()].into(), ..removing(&["x"]) };
    let facts = Facts { acts: vec![sudo, inner], ..Facts::default() };
    assert_eq!(found_with(&catalog(&[("one", LOWERED)]), &facts, &missing)[0].tier, Tier::Low);
}

#[test]
fn what_is_only_created_overwrites_nothing_wherever_it_is() {
    const RULE: &str = "program = [\"cp\", \":delete\"]\noperand = { which = \"last\" }\nlower = [\"new\"]";
    let copies = |text: &str| {
        let written = Act { parent: Some(0), ..effect(Effect::Write, &[text]) };
        vec![program("cp", &["a.txt", text]), written]
    };
    let lowered = |acts: Vec<Act>, kind: PathKind| {
        let answers = world("/home/me/notes.bak", kind, GitFacts::default());
        let findings = found_with(&catalog(&[("one", RULE)]), &line(acts), &answers);
        assert!(!findings.is_empty());
        findings.iter().all(|finding| finding.tier == Tier::Low)
    };
    assert!(lowered(copies("/home/me/notes.bak"), PathKind::Missing));
    assert!(!lowered(copies("/home/me/notes.bak"), PathKind::File));
    assert!(!lowered(vec![removing(&["/home/me/notes.bak"])], PathKind::Missing));
    let mut both = copies("/home/me/notes.bak");
    both.push(Act { parent: Some(0), ..removing(&["a.txt"]) });
    assert!(!lowered(both, PathKind::Missing));
    // An earlier act may have created it.
    let mut late = vec![effect(Effect::Move, &["src"]), effect(Effect::Write, &["/home/me/notes.bak"])];
    let written = Act { parent: Some(2), ..effect(Effect::Write, &["/home/me/notes.bak"]) };
    late.extend([program("cp", &["a.txt", "/home/me/notes.bak"]), written]);
    assert!(!lowered(late, PathKind::Missing));
}

#[test]
fn what_is_written_only_where_a_condition_found_nothing_is_lowered() {
    const RULE: &str = "program = [\":delete\", \":write\"]\noperand = { which = \"any\" }\nlower = [\"missing\"]";
    let absent = || [NormalPath::absolute("/home/me/project/x").unwrap()].into();
    let lowered = |acts: Vec<Act>, kind: PathKind, symlink: bool| {
        let answers = Answers::none();
        let path = "/home/me/project/x";
        answers.insert(Question::Path(path.into()), path_answer(kind, path, symlink));
        let last = acts.len() - 1;
        let findings = found_with(&catalog(&[("one", RULE)]), &line(acts), &answers);
        let own: Vec<_> = findings.iter().filter(|finding| finding.act == Some(last)).collect();
        assert!(!own.is_empty());
        own.iter().all(|finding| finding.tier == Tier::Low)
    };
    let write = |text: &str| Act { absent: absent(), ..effect(Effect::Write, &[text]) };
    assert!(lowered(vec![write("x")], PathKind::File, false));
    assert!(lowered(vec![write("./y/../x")], PathKind::File, false));
    assert!(!lowered(vec![effect(Effect::Write, &["x"])], PathKind::File, false));
    assert!(!lowered(vec![write("y")], PathKind::File, false));
    assert!(!lowered(vec![write("x"), Act { absent: absent(), ..removing(&["x"]) }], PathKind::File, false));
    // A test for a file says nothing about other kinds of files.
    for kind in [PathKind::Directory, PathKind::Device, PathKind::Other] {
        assert!(!lowered(vec![write("x")], kind, false), "{kind:?}");
    }
    assert!(!lowered(vec![write("x")], PathKind::File, true));
    // What was moved there since was not tested.
    let from = Act { parent: Some(0), ..effect(Effect::Move, &["src"]) };
    let to = Act { parent: Some(0), ..write("x") };
    assert!(!lowered(vec![program("mv", &["src", "x"]), from, to, write("x")], PathKind::File, false));
}

/// Returns the answers for the repository, with a branch in a file of its own, a packed branch, and no other branch.
fn branches() -> Answers<'static> {
    let data = format!("{CWD}/.git");
    branches_in(path_answer(PathKind::Directory, &data, false))
}

/// Returns these answers with `there` as the answer for the repository's data directory.
fn branches_in(there: WorldAnswer) -> Answers<'static> {
    let answers = Answers::none();
    let data = format!("{CWD}/.git");
    answers.insert(Question::Path(data.clone()), there);
    let kind = |below: &str, kind: PathKind| {
        let path = format!("{data}{below}");
        answers.insert(Question::Path(path.clone()), path_answer(kind, &path, false));
    };
    let repository = RepositoryFacts { root: CWD.into(), ..RepositoryFacts::default() };
    answers.insert(Question::Repository(CWD.into()), WorldAnswer::Repository(Some(repository)));
    kind("/refs/heads/own", PathKind::File);
    for missing in ["/reftable", "/refs/heads/new", "/refs/heads/packed", "/refs/heads/a/b"] {
        kind(missing, PathKind::Missing);
    }
    let packed = FileFacts::Text { bytes: b"# pack-refs\n0123 refs/heads/packed\n".to_vec(), digest: [0; 32] };
    answers.insert(Question::File(format!("{data}/packed-refs")), WorldAnswer::File(packed));
    answers
}

#[test]
fn a_name_that_the_repository_does_not_have_is_lowered() {
    const PROGRAM: &str =
        "[[program]]\nname = \"vc\"\nworks_in = { flags = [\"--at\"], env = [\"VC_DIR\"], here = true }\n";
    const RULE: &str =
        "tier = 2\nprogram = \"vc\"\nflags = [\"-D\"]\nrefs = \"refs/heads/\"\nmade_by = \"vc get refs/heads/\"";
    let flag = |name: &str| Flag { name: name.into(), value: None, span: Span::default() };
    let drop = |names: &[&str]| Act { flags: vec![flag("-D")], ..program("vc", names) };
    let lowered_in = |acts: Vec<Act>, answers: &Answers| {
        let last = acts.len() - 1;
        let findings = found_with(&catalog_with(&[("one", RULE)], Layer::User, PROGRAM), &line(acts), answers);
        let own: Vec<_> = findings.iter().filter(|finding| finding.act == Some(last)).collect();
        assert!(!own.is_empty());
        own.iter().all(|finding| finding.tier == Tier::Low)
    };
    let lowered = |acts: Vec<Act>| lowered_in(acts, &branches());
    assert!(lowered(vec![drop(&["new"])]));
    assert!(lowered(vec![drop(&["new", "a/b"])]));
    for names in [&["own"][..], &["packed"], &["Packed"], &["new", "own"], &["../heads/new"], &["$X"], &["new*"], &[]] {
        assert!(!lowered(vec![drop(names)]), "{names:?}");
    }
    // Another repository, another meaning of the names, or a name that the command may have created.
    for name in ["--at", "-r"] {
        assert!(!lowered(vec![Act { flags: vec![flag("-D"), flag(name)], ..program("vc", &["new"]) }]), "{name}");
    }
    assert!(!lowered(vec![Act { env: vec![("VC_DIR".into(), value("x"))].into(), ..drop(&["new"]) }]));
    assert!(!lowered(vec![program("vc", &["new"]), drop(&["new"])]));
    assert!(!lowered(vec![program("unheard-of", &[]), drop(&["new"])]));
    for (kind, at) in [(PathKind::Directory, "/elsewhere/.git"), (PathKind::File, "/home/me/project/.git")] {
        let elsewhere = branches_in(path_answer(kind, at, false));
        assert!(!lowered_in(vec![drop(&["new"])], &elsewhere), "{at}");
    }
    assert!(!lowered_in(vec![drop(&["new"])], &Answers::none()));
    // What the command fetches under a new name is its own.
    let get = |text: &str| Act { sub: vec!["get".into()], ..program("vc", &["origin", text]) };
    assert!(lowered(vec![get("pull/1/head:new"), drop(&["new"])]));
    for text in ["pull/1/head:own", "+pull/1/head:new", "new", "pull/1/head:a/b"] {
        let name = if text.ends_with("own") { "own" } else { "new" };
        assert!(!lowered(vec![get(text), drop(&[name])]), "{text}");
    }
}

#[test]
fn what_a_described_program_makes_since_is_lowered_unless_it_renames() {
    let missing = world("/home/me/project/x", PathKind::Missing, GitFacts::default());
    let after = |first: Act, layer: Layer, described: &str| {
        let acts = vec![first, removing(&["x"])];
        let findings = found_with(&catalog_with(&[("one", LOWERED)], layer, described), &line(acts), &missing);
        findings.iter().any(|finding| finding.act == Some(1) && finding.tier == Tier::Low)
    };
    let lowered = |layer: Layer, described: &str| after(program("brings", &[]), layer, described);
    let plain = "[[program]]\nname = \"brings\"\n";
    let code = Code { language: "python".into(), text: Value::text("import x") };
    assert!(!after(Act { code: Some(code), ..program("brings", &[]) }, Layer::User, plain));
    assert!(!lowered(Layer::User, ""));
    assert!(lowered(Layer::User, plain));
    let in_code = Act { source: Source::Code("python".into()), ..removing(&["x"]) };
    let acts = vec![program("brings", &[]), in_code];
    let findings = found_with(&catalog_with(&[("one", LOWERED)], Layer::User, plain), &line(acts), &missing);
    assert_eq!(findings[0].tier, Tier::High, "it may be what that code is for");
    assert!(!lowered(Layer::Project, plain), "a project cannot say so");
    assert!(!lowered(Layer::User, &format!("{plain}renames = true\n")));
    assert!(!lowered(Layer::User, &format!("{plain}options = [\"-v=\"]\nmounts = [\"-v\"]\n")));
}

#[test]
fn what_the_line_itself_made_is_lowered_when_nothing_was_brought_there() {
    let missing = world("/home/me/project/x", PathKind::Missing, GitFacts::default());
    assert!(lowered(vec![program("mkdir", &["x"]), removing(&["x"])], &missing));
    assert!(lowered(vec![program("mkdir", &["x/y"]), program("make", &[]), removing(&["x"])], &missing));
    let there = world("/home/me/project/x", PathKind::Directory, GitFacts::default());
    assert!(!lowered(vec![program("mkdir", &["x"]), removing(&["x"])], &there));
    let parent = program("mv", &["src", "x"]);
    let from = Act { parent: Some(1), ..effect(Effect::Move, &["src"]) };
    let to = Act { parent: Some(1), ..effect(Effect::Write, &["x"]) };
    assert!(!lowered(vec![program("mkdir", &["x"]), parent, from, to, removing(&["x"])], &missing));
    let parent = program("cp", &["src", "x"]);
    let from = Act { parent: Some(1), ..effect(Effect::Load, &["src"]) };
    let to = Act { parent: Some(1), ..effect(Effect::Write, &["x/a"]) };
    assert!(!lowered(vec![program("mkdir", &["x"]), parent, from, to, removing(&["x"])], &missing));
}

#[test]
fn what_the_line_itself_made_may_be_moved_before_it_is_deleted() {
    let moved = |from: &str, to: &str, parent: usize| {
        let part = |effect: Act| Act { parent: Some(parent), ..effect };
        [program("mv", &[from, to]), part(effect(Effect::Move, &[from])), part(effect(Effect::Write, &[to]))]
    };
    let at = |name: &str, kind: PathKind| world(&format!("/home/me/project/{name}"), kind, GitFacts::default());
    let both = |kind: PathKind| {
        let (answers, other) = (at("x", PathKind::Missing), at("made", kind));
        let path = Question::Path("/home/me/project/made".to_owned());
        answers.insert(path.clone(), other.get(&path).unwrap().clone());
        answers
    };
    let line = |first: Act| {
        let mut acts = vec![first];
        acts.extend(moved("made", "x", 1));
        acts.push(removing(&["x"]));
        acts
    };
    assert!(lowered(line(program("mkdir", &["made"])), &both(PathKind::Missing)));
    assert!(!lowered(line(program("mkdir", &["made"])), &both(PathKind::Directory)));
    assert!(!lowered(line(program("mkdir", &["other"])), &both(PathKind::Missing)));
    // A person's work that was moved there first is still the person's.
    let mut acts = Vec::from(moved("notes", "made", 0));
    acts.extend(moved("made", "x", 3));
    acts.push(removing(&["x"]));
    assert!(!lowered(acts, &both(PathKind::Missing)));
    // Moves in a circle are not followed.
    let mut acts = Vec::from(moved("x", "made", 0));
    acts.extend(moved("made", "x", 3));
    acts.push(removing(&["x"]));
    assert!(!lowered(acts, &both(PathKind::Missing)));
}

/// Returns the acts of `cp from to`, the first of which has the number `parent`.
fn copying(from: &str, to: &str, parent: usize) -> [Act; 3] {
    let part = |effect: Act| Act { parent: Some(parent), ..effect };
    [program("cp", &[from, to]), part(effect(Effect::Load, &[from])), part(effect(Effect::Write, &[to]))]
}

/// Reports whether the last act is lowered for deleting or overwriting what it names. `cp` is described to copy,
/// nothing exists at `x`, and a file exists at `there`.
fn spared(acts: Vec<Act>, there: &str) -> bool {
    let last = acts.len() - 1;
    is_spared(acts, last, there)
}

/// Reports the same about the act at `at`.
fn is_spared(acts: Vec<Act>, at: usize, there: &str) -> bool {
    const RULE: &str = "program = [\":delete\", \":write\"]\noperand = { which = \"any\" }\nlower = [\"created\"]";
    let described = "[[program]]\nname = \"cp\"\ncopies = true\n[[program]]\nname = \"jq\"\n";
    let answers = world("/home/me/project/x", PathKind::Missing, GitFacts::default());
    let path = Question::Path(format!("/home/me/project/{there}"));
    answers.insert(path, path_answer(PathKind::File, &format!("/home/me/project/{there}"), false));
    let findings = found_with(&catalog_with(&[("one", RULE)], Layer::User, described), &line(acts), &answers);
    findings.iter().any(|finding| finding.act == Some(at) && finding.tier == Tier::Low)
}

#[test]
fn a_copy_that_the_line_made_may_go_while_what_was_copied_is_there() {
    let gone = |between: Vec<Act>, last: Act| {
        let mut acts = Vec::from(copying("notes", "x", 0));
        acts.extend(between);
        acts.push(last);
        spared(acts, "notes")
    };
    let rm = || effect(Effect::Delete, &["x"]);
    assert!(gone(vec![], rm()));
    assert!(gone(vec![effect(Effect::Write, &["other"])], rm()));
    assert!(!gone(vec![], removing(&["x"])), "a directory holds more than is told");
    for changed in [Effect::Delete, Effect::Write, Effect::Edit, Effect::Move] {
        assert!(!gone(vec![effect(changed, &["notes"])], rm()), "{changed:?} of what was copied");
        assert!(!gone(vec![effect(changed, &["."])], rm()), "{changed:?} of what it lies in");
    }
    assert!(!gone(vec![effect(Effect::Write, &["x"])], rm()), "it is no copy any more");
    let unknown = effect(Effect::Delete, &["$X"]);
    assert!(!gone(vec![unknown], rm()), "it may be what was copied");
}

#[test]
fn what_the_line_derived_from_files_may_go_while_they_are_there() {
    let gone = |between: Vec<Act>, last: Act| {
        let mut acts = Vec::from(copying("notes", "x", 0));
        acts[0] = program("jq", &["notes", "x"]);
        acts.extend(between);
        acts.push(last);
        spared(acts, "notes")
    };
    let rm = || effect(Effect::Delete, &["x"]);
    assert!(gone(vec![], rm()));
    assert!(gone(vec![effect(Effect::Delete, &["other"])], rm()));
    assert!(!gone(vec![], removing(&["x"])), "a directory holds more than is told");
    for changed in [Effect::Delete, Effect::Write, Effect::Edit, Effect::Move] {
        assert!(!gone(vec![effect(changed, &["notes"])], rm()), "{changed:?} of its source");
    }
    let mut copied = Vec::from(copying("other", "x", 4));
    copied.insert(0, effect(Effect::Delete, &["other"]));
    assert!(!gone(copied, rm()), "a copy of a file that is gone");
}

#[test]
fn in_a_loop_a_copy_may_not_go_when_what_was_copied_is_moved_further_down() {
    let spared = |last: Option<Act>| {
        let acts = [effect(Effect::Delete, &["x"])].into_iter().chain(copying("notes", "x", 1)).chain(last);
        is_spared(acts.map(|act| Act { conditional: true, repeated: true, ..act }).collect(), 0, "notes")
    };
    assert!(spared(None));
    assert!(!spared(Some(effect(Effect::Move, &["notes"]))));
}

#[test]
fn what_the_line_put_aside_may_be_put_back() {
    let back = |between: Vec<Act>, to: &str| {
        let mut acts = Vec::from(copying("notes", "x", 0));
        acts.extend(between);
        let parent = acts.len();
        let part = |effect: Act| Act { parent: Some(parent), ..effect };
        acts.extend([
            program("mv", &["x", to]),
            part(effect(Effect::Move, &["x"])),
            part(effect(Effect::Write, &[to])),
        ]);
        spared(acts, to)
    };
    assert!(back(vec![], "notes"));
    assert!(back(vec![effect(Effect::Edit, &["notes"]), program("make", &[])], "notes"));
    assert!(!back(vec![], "other"), "it lay elsewhere");
    assert!(!back(vec![effect(Effect::Write, &["x"])], "notes"), "it is no copy any more");
    assert!(!back(vec![effect(Effect::Link, &["notes"])], "notes"), "another file is meant by the name");
    let mv = |from: &str, to: &str, parent: usize| {
        let part = |effect: Act| Act { parent: Some(parent), ..effect };
        [program("mv", &[from, to]), part(effect(Effect::Move, &[from])), part(effect(Effect::Write, &[to]))]
    };
    assert!(!back(mv("src", "notes", 3).into(), "notes"), "what was moved there would be lost");
    let moved = |between: Vec<Act>, to: &str| {
        let mut acts = Vec::from(mv("notes", "x", 0));
        acts.extend(between);
        acts.extend(mv("x", to, acts.len()));
        spared(acts, to)
    };
    assert!(moved(vec![program("make", &[])], "notes"));
    assert!(!moved(vec![], "other"));
    assert!(!moved(vec![effect(Effect::Write, &["x"])], "notes"));
    assert!(!moved(mv("src", "notes", 3).into(), "notes"));
}

#[test]
fn a_tracked_clean_file_is_lowered_by_name_alone() {
    let file = world("/home/me/project/a.txt", PathKind::File, clean());
    let by_name = |texts: &[&str]| effect(Effect::Delete, texts);
    assert!(lowered(vec![by_name(&["a.txt"])], &file));
    assert!(lowered(vec![removing(&["a.txt"])], &file));
    assert!(!lowered(vec![by_name(&["*.txt"])], &file));
    assert!(!lowered(vec![program("unheard-of", &[]), by_name(&["a.txt"])], &file));
    assert!(!lowered(vec![effect(Effect::Write, &["a.txt"]), by_name(&["a.txt"])], &file));
    let writing = |text: &str| effect(Effect::Write, &[text]);
    let over = |acts: Vec<Act>| {
        let rule = LOWERED.replace(":delete", ":write");
        let last = acts.len() - 1;
        let findings = found_with(&catalog(&[("one", &rule)]), &line(acts), &file);
        findings.iter().filter(|finding| finding.act == Some(last)).all(|finding| finding.tier == Tier::Low)
    };
    assert!(over(vec![writing("a.txt"), writing("a.txt")]));
    assert!(!over(vec![program("unheard-of", &[]), writing("a.txt")]));
    assert!(over(vec![program("zap", &[]), writing("a.txt")]), "a described program moves what it says");
    assert!(!over(vec![effect(Effect::Execute, &["x"]), writing("a.txt")]));
    assert!(!lowered(vec![program("zap", &[]), by_name(&["a.txt"])], &file));
    let changed = world("/home/me/project/a.txt", PathKind::File, GitFacts { clean: false, ..clean() });
    assert!(!lowered(vec![by_name(&["a.txt"])], &changed));
    let directory = world("/home/me/project/a.txt", PathKind::Directory, clean());
    assert!(!lowered(vec![by_name(&["a.txt"])], &directory));
    assert!(!lowered(vec![removing(&["a.txt"])], &directory));
}

#[test]
fn what_takes_changes_back_takes_back_those_of_the_line() {
    let back = |before: Vec<Act>, facts: &[&str], clean_now: bool| {
        let rule = format!("program = \"zap\"\noperand = {{ which = \"any\" }}\nlower = {facts:?}");
        let git = GitFacts { clean: clean_now, ..clean() };
        let answers = world("/home/me/project/a.txt", PathKind::File, git);
        let last = before.len();
        let acts = before.into_iter().chain([program("zap", &["a.txt"])]).collect();
        let findings = found_with(&catalog(&[("one", &rule)]), &line(acts), &answers);
        findings.iter().any(|finding| finding.act == Some(last) && finding.tier == Tier::Low)
    };
    let edits = || vec![effect(Effect::Edit, &["a.txt"]), program("unheard-of", &[])];
    assert!(back(edits(), &["tracked", "edits"], true));
    assert!(back(vec![effect(Effect::Delete, &["a.txt"])], &["tracked", "edits"], true));
    assert!(!back(edits(), &["tracked"], true), "it does more than to take back");
    assert!(!back(edits(), &["tracked", "edits"], false), "changes of before would go too");
    let part = |effect: Act| Act { parent: Some(0), ..effect };
    let mv = vec![
        program("mv", &["notes", "a.txt"]),
        part(effect(Effect::Move, &["notes"])),
        part(effect(Effect::Write, &["a.txt"])),
    ];
    assert!(!back(mv, &["tracked", "edits"], true), "what was moved there is nowhere else");
}

#[test]
fn nothing_is_lowered_on_another_host_or_beside_what_cannot_be_understood() {
    let remote = Some(Remote { kind: RemoteKind::Ssh, name: None, fresh: false });
    assert!(!lowered(vec![Act { remote, ..removing(&["out-dir"]) }], &generated()));
    let mut facts = line(vec![removing(&["out-dir"])]);
    facts.opaque.push(Opaque { why: OpaqueReason::Code, detail: String::new(), span: Span::default() });
    let findings = found_with(&catalog(&[("one", LOWERED)]), &facts, &generated());
    assert!(findings.iter().all(|finding| finding.tier >= Tier::High));
}

#[test]
fn a_delete_that_reaches_through_a_link_is_classed_by_where_it_leads() {
    let rule = "program = \":delete\"\noperand = { class = [\"home\"] }";
    let answers = Answers::none();
    let path = "/home/me/project/link";
    answers.insert(Question::Path(path.into()), path_answer(PathKind::Directory, "/home/me", true));
    let hits =
        |text: &str| !found_with(&catalog(&[("one", rule)]), &line(vec![removing(&[text])]), &answers).is_empty();
    assert!(hits("link/"));
    assert!(hits("link/*"));
    assert!(!hits("link"));
}

#[test]
fn listing_asks_nothing_and_reading_and_writing_where_links_lead() {
    let asked = |act: Act| {
        asked(|inquiry| {
            let _ = find(&invocation("ls"), &line(vec![act]), &Catalog::builtin(), &Policy::default(), inquiry);
        })
    };
    let path = || vec![Question::Path("/home/me/project/out.txt".into())];
    assert_eq!(asked(program("ls", &["-la"])), vec![]);
    assert_eq!(asked(effect(Effect::Load, &["src/main.rs"])), vec![]);
    assert_eq!(asked(effect(Effect::Write, &["out.txt"])), path());
    assert_eq!(asked(effect(Effect::Show, &["out.txt"])), path());
}

#[test]
fn what_is_shown_is_judged_by_where_a_link_leads() {
    let answers = Answers::none();
    let there = |canonical: &str| {
        WorldAnswer::Path(PathFacts { kind: PathKind::File, canonical: canonical.into(), symlink: true, bytes: 5 })
    };
    answers.insert(Question::Path("/home/me/project/a".into()), there("/etc/shadow"));
    answers.insert(Question::Path("/home/me/project/b".into()), there("/home/me/project/docs/b"));
    let rule = "program = \":show\"\noperand = { class = [\"secret\"] }";
    let found = |name: &str| {
        let acts = vec![effect(Effect::Show, &[name])];
        found_with(&catalog(&[("one", rule)]), &line(acts), &answers).len()
    };
    assert_eq!((found("a"), found("b")), (1, 0));
}

const OVERWRITES: &str =
    "program = \":overwrite\"\noperand = { which = \"any\", only_copy = true }\nlower = [\"temp\", \"session\"]";

/// Returns the findings for overwriting `path` with these facts and this state in git.
fn overwriting(acts: Vec<Act>, path: &str, facts: PathFacts, git: Option<GitFacts>) -> Vec<Finding> {
    let answers = Answers::none();
    let root = RepositoryFacts { root: CWD.into(), ..RepositoryFacts::default() };
    answers.insert(Question::Repository(CWD.into()), WorldAnswer::Repository(Some(root)));
    answers.insert(Question::Path(path.into()), WorldAnswer::Path(facts));
    answers.insert(Question::Git(path.into()), git.map_or(WorldAnswer::Unavailable, WorldAnswer::Git));
    found_with(&catalog(&[("one", OVERWRITES)]), &line(acts), &answers)
}

fn file(path: &str) -> PathFacts {
    PathFacts { kind: PathKind::File, canonical: path.into(), symlink: false, bytes: 5 }
}

const NOTES: &str = "/home/me/project/notes";

fn untracked() -> Option<GitFacts> {
    Some(GitFacts { root: Some(CWD.into()), ..GitFacts::default() })
}

fn writing() -> Vec<Act> {
    vec![effect(Effect::Write, &["notes"])]
}

#[test]
fn changes_that_were_not_committed_are_not_written_over_unnoticed() {
    let changed = Some(GitFacts { clean: false, ..clean() });
    assert_eq!(overwriting(writing(), NOTES, file(NOTES), changed).len(), 1);
}

#[test]
fn a_file_that_only_lies_there_is_not_written_over_unnoticed() {
    let found = overwriting(writing(), NOTES, file(NOTES), untracked());
    assert_eq!(found.iter().map(|finding| finding.lowered.is_some()).collect::<Vec<_>>(), [false]);
    let home = "/home/me/todo";
    let outside = vec![effect(Effect::Write, &[home])];
    assert_eq!(overwriting(outside, home, file(home), Some(GitFacts::default())).len(), 1);
}

#[test]
fn what_is_kept_elsewhere_or_holds_nothing_may_be_written_over() {
    let none = |facts: PathFacts, git| assert!(overwriting(writing(), NOTES, facts, git).is_empty());
    none(file(NOTES), Some(clean()));
    none(file(NOTES), Some(ignored()));
    none(PathFacts { bytes: 0, ..file(NOTES) }, untracked());
    for kind in [PathKind::Missing, PathKind::Directory, PathKind::Device, PathKind::Other] {
        none(PathFacts { kind, ..file(NOTES) }, untracked());
    }
    // Without a repository no file of the project counts as the only copy.
    none(file(NOTES), None);
    let named = |text: &str| overwriting(vec![effect(Effect::Write, &[text])], NOTES, file(NOTES), untracked());
    assert!(named("other").is_empty());
}

#[test]
fn to_edit_is_not_to_write_over() {
    assert!(overwriting(vec![effect(Effect::Edit, &["notes"])], NOTES, file(NOTES), untracked()).is_empty());
    let coded = |act: Act| Act { source: Source::Code("python".into()), ..act };
    let reads = coded(effect(Effect::Load, &["notes"]));
    let writes = coded(effect(Effect::Write, &["notes"]));
    assert!(overwriting(vec![reads, writes.clone()], NOTES, file(NOTES), untracked()).is_empty());
    assert_eq!(overwriting(vec![writes], NOTES, file(NOTES), untracked()).len(), 1);
    // A shell truncates the file before anything reads it.
    let both = vec![effect(Effect::Load, &["notes"]), effect(Effect::Write, &["notes"])];
    assert_eq!(overwriting(both, NOTES, file(NOTES), untracked()).len(), 1);
}

/// The time at which the session made a file, in milliseconds since 1970.
const NOON: i64 = 1_800_000_000_000;

fn of_session(path: &str, changed: i64) -> [(Question, WorldAnswer); 2] {
    let change = PathChange { path: path.into(), done: PathChangeKind::Made(PriorState::Nothing) };
    let entry = LedgerEntry {
        at: NOON,
        until: None,
        next: None,
        changes: CommandChanges { done: vec![change], ..CommandChanges::default() },
    };
    let look = FileSnapshot { stat: Stat { kind: FileKind::File, born: Some(NOON), changed }, below: Some(Vec::new()) };
    let ledger = Ledger { entries: vec![entry], ..Ledger::default() };
    [
        (Question::Ledger, WorldAnswer::Ledger(ledger)),
        (Question::FileSnapshot(path.into()), WorldAnswer::FileSnapshot(Some(look))),
    ]
}

#[test]
fn what_this_session_made_may_be_written_over_while_it_is_as_it_left_it() {
    let lowered = |acts, facts: PathFacts, changed| {
        let answers = Answers::none();
        let root = RepositoryFacts { root: CWD.into(), ..RepositoryFacts::default() };
        answers.insert(Question::Repository(CWD.into()), WorldAnswer::Repository(Some(root)));
        answers.insert(Question::Path(NOTES.into()), WorldAnswer::Path(facts));
        answers.insert(Question::Git(NOTES.into()), untracked().map_or(WorldAnswer::Unavailable, WorldAnswer::Git));
        of_session(NOTES, changed).into_iter().for_each(|(question, answer)| answers.insert(question, answer));
        let found = found_with(&catalog(&[("one", OVERWRITES)]), &line(acts), &answers);
        assert!(!found.is_empty());
        found.iter().all(|finding| finding.lowered.is_some())
    };
    assert!(lowered(writing(), file(NOTES), NOON + 5));
    assert!(!lowered(writing(), file(NOTES), NOON + 60_000));
    assert!(!lowered(writing(), PathFacts { symlink: true, ..file(NOTES) }, NOON + 5));
    assert!(!lowered(writing(), PathFacts { canonical: "/home/me/other".into(), ..file(NOTES) }, NOON + 5));
    let moved = vec![effect(Effect::Move, &["a"]), effect(Effect::Write, &["notes"])];
    assert!(!lowered(moved, file(NOTES), NOON + 5));
}

#[test]
fn where_a_person_s_work_was_brought_nothing_is_generated() {
    let with = |to: &str, unknown: bool| {
        let brought = BroughtContent { to: to.into(), from: "/home/me/notes".into(), moved: true };
        let ledger = Ledger { brought: vec![brought], unknown, ..Ledger::default() };
        let answers = generated();
        answers.insert(Question::Ledger, WorldAnswer::Ledger(ledger));
        lowered(vec![removing(&["out-dir"])], &answers)
    };
    assert!(!with("/home/me/project/out-dir/notes", false));
    assert!(!with("/home/me/project/out-dir", false));
    assert!(!with("/home/me/project", false));
    assert!(with("/home/me/project/out-dir-2/notes", false));
    assert!(!with("/home/me/project/out-dir-2/notes", true));
}

#[test]
fn a_rule_about_what_was_moved_into_a_directory_asks_the_line_and_the_ledger() {
    let rules = catalog(&[("one", "program = \"zap\"\nbrought = [\"out-dir\", \"other\"]")]);
    let finds = |acts: Vec<Act>, ledger: Option<Ledger>| {
        let answers = Answers::none();
        if let Some(ledger) = ledger {
            answers.insert(Question::Ledger, WorldAnswer::Ledger(ledger));
        }
        found_with(&rules, &line(acts), &answers).len()
    };
    let with = |to: &str, unknown: bool| {
        let brought = BroughtContent { to: to.into(), from: "/home/me/notes".into(), moved: true };
        finds(vec![program("zap", &[])], Some(Ledger { brought: vec![brought], unknown, ..Ledger::default() }))
    };
    assert_eq!(with("/home/me/project/out-dir/notes", false), 1);
    assert_eq!(with("/home/me/project/other", false), 1);
    assert_eq!(with("/home/me/project/out-dir-2/notes", false), 0);
    assert_eq!(with("/home/me/out-dir/notes", false), 0);
    // Without a known ledger nothing counts as moved.
    assert_eq!(with("/home/me/project/out-dir/notes", true), 0);
    assert_eq!(finds(vec![program("zap", &[])], None), 0);
}

#[test]
fn a_rule_for_writing_finds_edits_too() {
    let both = catalog(&[("one", "program = \":write\"")]);
    for kind in [Effect::Write, Effect::Edit] {
        assert_eq!(found_with(&both, &line(vec![effect(kind, &["notes"])]), &Answers::none()).len(), 1);
    }
    let edits = catalog(&[("one", "program = \":edit\"")]);
    assert!(found_with(&edits, &line(writing()), &Answers::none()).is_empty());
}

#[test]
fn a_pattern_is_the_only_copy_where_one_of_its_files_is() {
    let rule = "program = \":overwrite\"\noperand = { only_copy = true }";
    let file = |name: &str| format!("{CWD}/sub/{name}");
    let stat = |kind| Stat { kind, born: None, changed: 0 };
    let dir = format!("{CWD}/sub");
    let found = |operand: &str, git: GitFacts, kind: FileKind| {
        let answers = Answers::none();
        answers.insert(Question::Path(dir.clone()), path_answer(PathKind::Directory, &dir, false));
        let below = Some(vec![(file("a.txt"), stat(kind)), (file("b.rs"), stat(FileKind::File))]);
        answers.insert(
            Question::FileSnapshot(dir.clone()),
            WorldAnswer::FileSnapshot(Some(FileSnapshot { stat: stat(FileKind::Directory), below })),
        );
        for name in ["a.txt", "b.rs"] {
            let facts = PathFacts { kind: PathKind::File, canonical: file(name), symlink: false, bytes: 3 };
            answers.insert(Question::Path(file(name)), WorldAnswer::Path(facts));
            let git = if name == "a.txt" { git.clone() } else { clean() };
            answers.insert(Question::Git(file(name)), WorldAnswer::Git(git));
        }
        let act = effect(Effect::Write, &[operand]);
        !found_with(&catalog(&[("one", rule)]), &line(vec![act]), &answers).is_empty()
    };
    let dirty = GitFacts { clean: false, ..clean() };
    assert!(found("sub/*", dirty.clone(), FileKind::File));
    assert!(found("sub/*.txt", dirty.clone(), FileKind::File));
    assert!(!found("sub/*.rs", dirty.clone(), FileKind::File), "another of its files");
    assert!(!found("sub/*", clean(), FileKind::File), "git has them all");
    assert!(!found("sub/*", dirty, FileKind::Directory), "no file");
}

#[test]
fn what_happens_in_a_container_that_the_command_starts_is_lowered_where_a_rule_says_so() {
    let tier = |body: &str, kind, fresh| {
        let remote = Some(Remote { kind, name: None, fresh });
        let acts = vec![Act { remote, ..program("zap", &[]) }];
        found(&catalog(&[("one", body)]), &line(acts)).first().map(|finding| finding.tier)
    };
    let lowers = "program = \"zap\"\nlower = [\"container\"]";
    assert_eq!(tier(lowers, RemoteKind::Container, true), Some(Tier::Low));
    assert_eq!(tier(lowers, RemoteKind::Container, false), Some(Tier::High));
    assert_eq!(tier(lowers, RemoteKind::Ssh, true), Some(Tier::High));
    assert_eq!(tier("program = \"zap\"", RemoteKind::Container, true), Some(Tier::High));
    let here = found(&catalog(&[("one", lowers)]), &line(vec![program("zap", &[])]));
    assert_eq!(here.first().map(|finding| finding.tier), Some(Tier::High));
}

#[test]
fn what_lies_in_a_container_that_the_command_starts_is_nobodys() {
    let within = |around: &str, kind, fresh, option: &str| {
        let run = Act {
            flags: vec![Flag { name: option.into(), value: None, span: Span::default() }],
            ..program("box", &[])
        };
        let remote = Some(Remote { kind, name: None, fresh });
        let inside = Act { remote, wrappers: [around.into()].into(), ..removing(&["/srv"]) };
        let described = "[[program]]\nname = \"box\"\noptions = [\"-v\", \"-i\"]\nmounts = [\"-v\"]\n[[program]]\nname = \"phone\"\n";
        let catalog = catalog_with(&[("one", LOWERED)], Layer::User, described);
        let findings = found_with(&catalog, &line(vec![run, inside]), &Answers::none());
        findings.iter().find(|finding| finding.act == Some(1)).map(|finding| finding.tier)
    };
    let tier = |kind, fresh, option| within("box", kind, fresh, option);
    assert_eq!(tier(RemoteKind::Container, true, "-i"), Some(Tier::Low));
    assert_eq!(within("phone", RemoteKind::Container, true, "-i"), Some(Tier::High), "it leads to what was there");
    assert_eq!(tier(RemoteKind::Container, true, "-v"), Some(Tier::High), "a directory of this machine is there");
    assert_eq!(tier(RemoteKind::Container, false, "-i"), Some(Tier::High), "it was there before");
    assert_eq!(tier(RemoteKind::Ssh, true, "-i"), Some(Tier::High));
}
