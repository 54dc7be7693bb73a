//! Tests branches, tags, terminals and containers: a session may remove one that it created, and none that existed or
//! that contains somebody's only commits.

use std::process::Command;

use super::{Fixture, later};

/// Creates a project in which a person has a branch `pb` with a commit that no other branch contains, and a tag `v9`.
fn project() -> Fixture {
    let fixture = Fixture::new();
    fixture.git(&["branch", "-qM", "main"]);
    fixture.git(&["checkout", "-qb", "pb"]);
    fixture.write("work.txt", "a person's\n");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "work"]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.git(&["tag", "v9"]);
    later();
    fixture
}

impl Fixture {
    /// Requires that a session's command is allowed, and runs it, whether it succeeds or not.
    fn tries(&self, session: &str, command: &str) {
        assert!(self.runs(session, command), "{command}");
        let mut shell = Command::new("bash");
        shell.args(["-c", command]).current_dir(self.home.path("work"));
        let identity = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        shell.envs(identity.map(|name| (name, "a@example.com")));
        shell.output().unwrap();
    }
}

#[test]
fn what_could_not_be_created_existed_before() {
    for (create, remove) in [
        ("git branch pb", "git branch -D pb"),
        ("git switch -q -c pb", "git branch -D pb"),
        ("git checkout -b pb || git checkout pb; git checkout main", "git branch -D pb"),
        ("git worktree add -b pb ../w8", "git branch -D pb"),
        ("git tag v9", "git tag -d v9"),
    ] {
        let fixture = project();
        fixture.tries("s", create);
        assert!(!fixture.runs("s", remove), "{create}");
        assert!(!fixture.runs("s", &format!("{create}; {remove}")), "{create}");
    }
}

#[test]
fn a_branch_of_its_own_it_may_delete_with_its_own_commits() {
    let fixture = project();
    fixture.tries(
        "s",
        "git checkout -q -b own && echo 1 > n.txt && git add n.txt && git commit -qm n && git checkout -q main",
    );
    assert!(fixture.runs("s", "git branch -D own"));
    assert!(!fixture.runs("t", "git branch -D own"));
    assert!(!fixture.runs("s", "git branch -D own pb"));
    fixture.tries("s", "git tag mark");
    assert!(fixture.runs("s", "git tag -d mark"));
    assert!(fixture.runs("s", "git branch spike; git branch -D spike"));
    // A person's commit in between ends it.
    fixture.git(&["checkout", "-q", "own"]);
    // The time of a commit is in whole seconds.
    later();
    later();
    fixture.write("later.txt", "a person's\n");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "later"]);
    fixture.git(&["checkout", "-q", "main"]);
    assert!(!fixture.runs("s", "git branch -D own"));
}

#[test]
fn the_last_name_of_a_persons_commits_is_kept() {
    for (copy, remove) in [
        ("git branch backup pb", "git branch -D backup"),
        ("git tag keep pb", "git tag -d keep"),
        (
            "git branch own && git checkout -q own && git merge -q --ff-only pb && git checkout -q main",
            "git branch -D own",
        ),
    ] {
        let fixture = project();
        fixture.tries("s", copy);
        assert!(!fixture.runs("s", "git branch -D pb"), "{copy}");
        assert!(fixture.runs("s", remove), "{copy}: its commits are in the other branch");
        fixture.git(&["branch", "-qD", "pb"]);
        assert!(!fixture.runs("s", remove), "{copy}");
    }
}

#[test]
fn a_branch_is_not_moved_from_commits_that_only_it_contains() {
    let fixture = project();
    fixture.git(&["branch", "done"]);
    for line in [
        "git switch -C pb",
        "git checkout -B pb main",
        "git worktree add -B pb ../w9",
        "git symbolic-ref refs/heads/pb refs/heads/main",
    ] {
        assert!(!fixture.runs("s", line), "{line}");
    }
    for line in ["git switch -C done", "git checkout -B fresh main", "git worktree add -B fresh ../w9"] {
        assert!(fixture.runs("s", line), "{line}");
    }
}

#[test]
fn what_a_command_creates_only_if_it_is_not_there_may_be_a_persons() {
    let fixture = Fixture::new();
    for (create, remove) in [
        ("tmux has-session -t main || tmux new -d -s main", "tmux kill-session -t main"),
        ("tmux new-session -A -d -s main", "tmux kill-session -t main"),
        ("if ! tmux has-session -t two; then tmux new -d -s two; fi", "tmux kill-session -t two"),
        ("docker run -d --name pg postgres:16 || docker start pg", "docker rm -f pg"),
        ("conda env list | grep work || conda create -n work", "conda env remove -n work -y"),
    ] {
        assert!(fixture.runs("s", create), "{create}");
        assert!(!fixture.runs("s", remove), "{create}");
        assert!(!fixture.runs("s", &format!("{create}; {remove}")), "{create}");
    }
    assert!(fixture.runs("s", "cd /tmp && docker run -d --name own postgres:16 || exit 1"));
    assert!(fixture.runs("s", "docker rm -f own"));
}
