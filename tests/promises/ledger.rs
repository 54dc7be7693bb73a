//! Tests the ledger through the real hook and with real files: a session may undo its own work without a question, and
//! nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use crate::harness::home::Home;
use crate::harness::tools;
use crate::hooks::hook;

#[path = "ledger/brought.rs"]
mod brought;
#[path = "ledger/edits.rs"]
mod edits;
#[path = "ledger/fetched.rs"]
mod fetched;
#[path = "ledger/refs.rs"]
mod refs;
#[path = "ledger/slow.rs"]
mod slow;

/// A project with a repository, in which agents work.
struct Fixture {
    home: Home,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { home: Home::new() };
        fixture.write(".gitignore", "build/\n");
        fixture.write("kept.py", "kept\n");
        fixture.git(&["init", "-q"]);
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-qm", "first"]);
        fixture
    }

    fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words);
        assert!(git.current_dir(self.home.path("work")).status().unwrap().success(), "git {words:?}");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn call(&self, session: &str, tool: &str, input: &serde_json::Value) -> bool {
        let call = serde_json::json!({
            "session_id": session, "transcript_path": "/t", "cwd": self.home.path("work"),
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
        });
        let output = hook(&self.home, "claude", &call.to_string());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() || output.status.code() == Some(2));
        output.status.success() && !said.contains("\"ask\"")
    }

    /// Reports whether a session's command runs without a question.
    fn runs(&self, session: &str, command: &str) -> bool {
        self.call(session, "Bash", &serde_json::json!({ "command": command }))
    }

    /// Requires that a session's command is allowed, and runs it.
    fn does(&self, session: &str, command: &str) {
        assert!(self.runs(session, command), "{command}");
        self.really(command);
    }

    fn really(&self, command: &str) {
        let mut shell = Command::new("bash");
        shell.args(["-c", command]).current_dir(self.home.path("work"));
        assert!(shell.status().unwrap().success(), "{command}");
    }

    /// Requires that a session's file tool is allowed, and writes the file.
    fn writes(&self, session: &str, name: &str) {
        let input = serde_json::json!({ "file_path": self.home.path("work").join(name), "content": "x\n" });
        assert!(self.call(session, "Write", &input), "{name}");
        self.write(name, "x\n");
    }
}

/// Waits longer than a command without a reported end is assumed to run.
fn later() {
    std::thread::sleep(Duration::from_millis(2100));
}

#[test]
fn what_a_session_made_it_may_delete_and_write_again() {
    let fixture = Fixture::new();
    fixture.does("s", "echo 1 > a.txt");
    fixture.writes("s", "b.txt");
    fixture.does("s", "mkdir -p d/e && echo 1 > d/e/c.txt");
    fixture.does("s", "echo 2 > a.txt");
    fixture.writes("s", "a.txt");
    assert!(fixture.runs("s", "rm a.txt b.txt"));
    assert!(fixture.runs("s", "rm -rf d"));
    assert!(fixture.runs("s", "mv a.txt c.txt"));
}

#[test]
fn another_session_is_asked_about_it() {
    let fixture = Fixture::new();
    fixture.does("s", "echo 1 > a.txt");
    assert!(!fixture.runs("t", "rm a.txt"));
    assert!(!fixture.runs("t", "echo 2 > a.txt"));
}

#[test]
fn what_lay_there_before_is_a_persons() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "mine\n");
    assert!(!fixture.runs("s", "echo 2 > notes.txt"));
    fixture.really("echo 2 > notes.txt");
    assert!(!fixture.runs("s", "rm notes.txt"));
    fixture.does("s", "mkdir d");
    fixture.does("s", "mv notes.txt d/");
    assert!(!fixture.runs("s", "rm -rf d"));
    assert!(!fixture.runs("s", "rm d/notes.txt"));
}

#[test]
fn a_persons_change_in_between_ends_it() {
    let fixture = Fixture::new();
    fixture.does("s", "echo 1 > a.txt; mkdir d; echo 1 > d/a.txt");
    fixture.does("s", "echo 2 >> kept.py");
    assert!(fixture.runs("s", "rm a.txt; rm -rf d; git checkout kept.py"));
    later();
    fixture.write("a.txt", "a person's\n");
    fixture.write("d/notes.txt", "a person's\n");
    fixture.write("kept.py", "a person's\n");
    assert!(!fixture.runs("s", "rm a.txt"));
    assert!(!fixture.runs("s", "rm -rf d"));
    assert!(!fixture.runs("s", "git checkout kept.py"));
    // A later change of its own does not make the file the session's again.
    fixture.does("s", "echo 3 >> kept.py");
    assert!(!fixture.runs("s", "git checkout kept.py"));
}

#[test]
fn a_work_tree_of_its_own_it_may_remove_with_its_changes_and_no_other() {
    let fixture = Fixture::new();
    let remove = "git worktree remove --force ../tree";
    fixture.does("s", "git worktree add -q ../tree -b tree");
    fixture.does("s", "echo 1 > ../tree/a.txt");
    assert!(fixture.runs("s", remove));
    assert!(!fixture.runs("t", remove));
    later();
    fixture.write("../tree/notes.txt", "a person's\n");
    assert!(!fixture.runs("s", remove));
}

#[test]
fn another_file_in_its_place_is_another_file_whatever_time_it_bears() {
    let fixture = Fixture::new();
    fixture.does("s", "echo 1 > a.txt");
    fixture.write("b.txt", "a person's\n");
    later();
    fixture.really("touch -r a.txt b.txt && mv b.txt a.txt");
    assert!(!fixture.runs("s", "rm a.txt"));
}

#[test]
fn a_link_in_its_place_or_on_the_way_leads_to_what_is_not_its_own() {
    let fixture = Fixture::new();
    fixture.write("person/a.txt", "a person's\n");
    fixture.does("s", "mkdir d; echo 1 > d/a.txt; echo 1 > a.txt");
    let at = |name: &str| fixture.home.path("work").join(name);
    fs::rename(at("d"), at("e")).unwrap();
    symlink("person", at("d")).unwrap();
    fs::remove_file(at("a.txt")).unwrap();
    symlink("person/a.txt", at("a.txt")).unwrap();
    assert!(!fixture.runs("s", "rm d/a.txt"));
    assert!(!fixture.runs("s", "rm -rf d/"));
    assert!(!fixture.runs("s", "echo 2 > a.txt"));
}

#[test]
fn another_name_for_a_persons_file_does_not_make_it_its_own() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "a person's\n");
    later();
    fixture.does("s", "ln notes.txt mine.txt");
    assert!(!fixture.runs("s", "echo 2 > mine.txt"));
}

#[test]
fn what_its_programs_made_is_its_own() {
    if !tools::is_installed("python3") {
        return;
    }
    let fixture = Fixture::new();
    fixture.does("s", "echo 'open(\"out.txt\", \"w\").write(\"x\")' > run.py");
    later();
    fixture.does("s", "python3 run.py");
    assert!(fixture.runs("s", "rm out.txt run.py"));
    later();
    fixture.write("other.txt", "a person's\n");
    assert!(!fixture.runs("s", "rm other.txt"));
}

#[test]
fn its_secrets_and_what_others_run_stay_asked_about() {
    let fixture = Fixture::new();
    fixture.does("s", "mkdir -p d");
    for name in [".env", ".github/workflows/ci.yml", "d/AGENTS.md"] {
        fixture.write(name, "x\n");
        assert!(!fixture.runs("s", &format!("rm {name}")), "{name}");
    }
}

#[test]
fn where_a_persons_work_was_brought_nothing_is_thrown_away() {
    let fixture = Fixture::new();
    fixture.write("build/made.o", "x");
    fixture.write("notes.txt", "a person's\n");
    assert!(fixture.runs("s", "rm -rf build"));
    fixture.does("s", "mv notes.txt build/n");
    assert!(!fixture.runs("s", "rm -rf build"));
    // Another session of the account knows it too.
    assert!(!fixture.runs("t", "rm -rf build"));
    fixture.does("t", "mv build/n notes.txt");
    assert!(fixture.runs("s", "rm -rf build"));
}

#[test]
fn a_copy_that_became_the_only_one_is_kept_and_so_are_archives_and_links() {
    let keeps = ["cp notes.txt build/n", "tar czf build/n.tgz notes.txt", "ln notes.txt build/n"];
    for keep in keeps {
        let fixture = Fixture::new();
        fixture.write("build/made.o", "x");
        fixture.write("notes.txt", "a person's\n");
        fixture.does("s", keep);
        assert!(fixture.runs("s", "rm -rf build"), "{keep}");
        assert!(!fixture.runs("s", "rm notes.txt"), "{keep}");
        fixture.really("rm notes.txt");
        assert!(!fixture.runs("s", "rm -rf build"), "{keep}");
        assert!(!fixture.runs("u", "rm -rf build/*"), "{keep}");
    }
}

#[test]
fn a_record_that_was_altered_by_hand_lowers_nothing() {
    let fixture = Fixture::new();
    fixture.does("s", "echo 1 > a.txt");
    fixture.write("notes.txt", "a person's\n");
    assert!(fixture.runs("s", "rm a.txt"));
    let database = rusqlite::Connection::open(fixture.home.path("home/.local/share/guard/guard.db")).unwrap();
    let notes = fixture.home.path("work/notes.txt").canonicalize().unwrap();
    let own = fixture.home.path("work/a.txt").canonicalize().unwrap();
    let (own, notes) = (own.to_str().unwrap(), notes.to_str().unwrap());
    let changed = database.execute("UPDATE record SET made = replace(made, ?1, ?2)", [own, notes]).unwrap();
    assert!(changed > 0);
    drop(database);
    assert!(!fixture.runs("s", "rm notes.txt"));
    assert!(!fixture.runs("s", "rm a.txt"));
}

#[test]
fn an_agents_notes_are_its_own_and_its_settings_are_not() {
    let fixture = Fixture::new();
    let write = |path: &str| {
        let input = serde_json::json!({ "file_path": fixture.home.path("home").join(path), "content": "x\n" });
        fixture.call("s", "Write", &input)
    };
    let project = fixture.home.path("work").to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let memory = format!(".claude/projects/{project}/memory/MEMORY.md");
    for own in [".claude/plans/a.md", &memory, ".claude/todos/a.json"] {
        assert!(write(own), "{own}");
    }
    for other in [
        ".claude/settings.json",
        ".claude/CLAUDE.md",
        ".claude/skills/x/SKILL.md",
        ".claude/agents/x.md",
        ".claude/projects/-home-me-work/memory/../settings.json",
        ".claude/projects/-home-me-work/s.jsonl",
        ".codex/memories/a.md",
        ".codex/config.toml",
    ] {
        assert!(!write(other), "{other}");
    }
    let at = |name: &str| fixture.home.path("home/.claude/plans").join(name);
    fs::create_dir_all(at("sub")).unwrap();
    fs::write(at("a.md"), "x\n").unwrap();
    fixture.write("PLAN.md", "x\n");
    for own in ["cp PLAN.md ~/.claude/plans/", "rm ~/.claude/plans/*.md"] {
        assert!(fixture.runs("s", own), "{own}");
    }
    for other in
        ["cp PLAN.md ~/.claude/", "rm ~/.claude/*.md", "rm -rf ~/.claude/plans/sub/..", "rm -rf ~/.claude/skills"]
    {
        assert!(!fixture.runs("s", other), "{other}");
    }
    symlink("../settings.json", fixture.home.path("home/.claude/plans/b.md")).unwrap();
    assert!(!write(".claude/plans/b.md"));
}

#[test]
fn what_is_typed_into_its_own_terminal_is_read_as_a_command_line_of_it() {
    let fixture = Fixture::new();
    let types = |session: &str, words: &str| fixture.runs(session, &format!("tmux send-keys -t {words}"));
    assert!(!types("a", "w ls Enter"));
    assert!(fixture.runs("a", "tmux new-session -d -s w"));
    assert!(types("a", "w ls Enter"));
    assert!(fixture.runs("a", "tmux new-session -d -s v && tmux send-keys -t v 'python3 kept.py' Enter"));
    // A terminal of another session, of another server, with a merely similar name, and unreadable keys.
    assert!(!types("b", "w ls Enter"));
    assert!(!fixture.runs("a", "tmux -L other send-keys -t w ls Enter"));
    assert!(!types("a", "work ls Enter"));
    assert!(!types("a", "w \"$TEXT\" Enter"));
    assert!(!types("a", "w Up Enter"));
    assert!(!types("a", "w 'rm -rf .git' Enter"));
    // In pieces, until the line is discarded.
    assert!(types("a", "w 'rm -rf '"));
    assert!(!types("a", "w .git Enter"));
    assert!(types("a", "w C-c"));
    assert!(types("a", "w 'ls .git' Enter"));
    // The shell's directory in that pane counts.
    assert!(types("a", "w:0.1 'cd .git' Enter"));
    assert!(!types("a", "w:0.1 'rm -rf objects' Enter"));
    // A terminal that may have existed before, and one that no longer exists.
    assert!(fixture.runs("a", "tmux new-session -A -d -s theirs"));
    assert!(!types("a", "theirs ls Enter"));
    assert!(fixture.runs("a", "tmux kill-session -t w"));
    assert!(!types("a", "w ls Enter"));
}

#[test]
fn what_a_program_in_its_own_terminal_reads_is_read_as_that() {
    let fixture = Fixture::new();
    let types = |words: &str| fixture.runs("a", &format!("tmux send-keys -t {words}"));
    assert!(fixture.runs("a", "tmux new-session -d -s w"));
    assert!(types("w:0.0 'vim kept.py' Enter"));
    assert!(types("w:0.0 ':13' Enter"));
    assert!(types("w:0.0 'f=' 'i' '.strip()' Escape"));
    assert!(!types("w:0.0 ':!rm -rf .git' Enter"));
    assert!(types("w:0.0 ':wq' Enter"));
    // The editor may still read the keys, and the shell may read them again whatever was started.
    assert!(!types("w:0.0 ':!rm -rf .git' Enter"));
    assert!(!types("w:0.0 'rm -rf .git' Enter"));
    assert!(types("w:0.1 python3 Enter"));
    assert!(types("w:0.1 'import shutil' Enter"));
    assert!(!types("w:0.1 'shutil.rmtree(\".git\")' Enter"));
    assert!(types("w:0.1 'print(len(\"a\"))' Enter"));
}

#[test]
fn what_a_session_made_by_name_it_takes_away_unasked() {
    let fixture = Fixture::new();
    assert!(!fixture.runs("a", "docker network rm near"));
    assert!(fixture.runs("a", "docker network create near"));
    assert!(fixture.runs("a", "docker network rm near"));
    assert!(!fixture.runs("a", "docker network rm near far"));
    assert!(!fixture.runs("b", "docker network rm near"));
}

#[test]
fn a_pattern_is_its_own_where_all_that_it_stands_for_is() {
    let fixture = Fixture::new();
    assert!(fixture.runs("a", "rm -f *.tmp"));
    fixture.does("a", "echo 1 > one.tmp");
    fixture.does("a", "echo 2 > two.tmp");
    assert!(fixture.runs("a", "rm -f *.tmp"));
    assert!(!fixture.runs("b", "rm -f *.tmp"));
    fixture.write("notes.tmp", "a person's");
    assert!(!fixture.runs("a", "rm -f *.tmp"));
    assert!(fixture.runs("a", "rm -f t*.tmp"));
    assert!(fixture.runs("a", "d=out$$; mkdir $d && rm -rf $d"));
    assert!(!fixture.runs("a", "d=out$$; rm -rf $d"));
}

#[test]
fn what_it_copied_unpacked_and_moved_is_its_own_with_all_that_it_holds() {
    let fixture = Fixture::new();
    fixture.write("src/a.py", "a\n");
    fixture.does("a", "mkdir -p out/a");
    fixture.does("a", "cp kept.py out/a/");
    assert!(fixture.runs("a", "rm -rf out"));
    assert!(!fixture.runs("b", "rm -rf out"));
    fixture.does("a", "cp -r src copy");
    fixture.does("a", "sed -i s/a/b/ copy/a.py");
    fixture.does("a", "mv copy other");
    assert!(fixture.runs("a", "rm -rf other"));
    fixture.does("a", "tar czf s.tgz src");
    fixture.does("a", "mkdir ex && tar xzf s.tgz -C ex");
    assert!(fixture.runs("a", "rm -rf ex s.tgz"));
    // A file that a person added later, or that was a person's before, is the person's.
    later();
    fixture.write("other/notes.txt", "a person's\n");
    assert!(!fixture.runs("a", "rm -rf other"));
    fixture.write("ex/src/a.py", "a person's\n");
    assert!(!fixture.runs("a", "rm -rf ex"));
    fixture.does("a", "mkdir mine");
    fixture.does("a", "mv src mine/");
    assert!(!fixture.runs("a", "rm -rf mine"));
}

#[test]
fn a_link_of_its_own_is_deleted_by_its_name_alone() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "a person's\n");
    fixture.does("a", "ln -s notes.txt link");
    assert!(fixture.runs("a", "rm link"));
    assert!(!fixture.runs("b", "rm link"));
    assert!(!fixture.runs("a", "rm notes.txt"));
    symlink("notes.txt", fixture.home.path("work/theirs")).unwrap();
    later();
    assert!(!fixture.runs("a", "rm theirs"));
    fixture.write("docs/a.txt", "a person's\n");
    fixture.does("a", "ln -s docs dir");
    assert!(fixture.runs("a", "rm dir"));
    assert!(!fixture.runs("a", "rm -rf dir/"));
    assert!(!fixture.runs("a", "rm -rf dir/*"));
}

#[test]
fn what_one_line_makes_and_moves_it_may_take_away() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "a person's\n");
    for line in [
        "mkdir -p s/a && mv s/a s/c && rm -rf s",
        "mkdir -p s/a && cp -r s/a s/c && rm -rf s",
        "echo 1 > f1; mv f1 f2; rm f2",
        "rm -rf kept.py",
        "mkdir s2; cp kept.py s2/x.py && python3 s2/x.py; rm s2/x.py",
    ] {
        assert!(fixture.runs("a", line), "{line}");
    }
    for line in [
        "mkdir s && mv notes.txt s/ && rm -rf s",
        "mkdir s && cp notes.txt s/ && rm -rf s",
        "mv notes.txt f1; mv f1 f2; rm f2",
        "mkdir -p s && mv notes.txt s/n && mv s t && rm -rf t",
        "cp notes.txt f3; rm notes.txt; rm f3",
        "cp notes.txt f3; sed -i s/a/b/ notes.txt; rm f3",
        "cp notes.txt f3; mv notes.txt f4; rm f3",
        "rm -rf notes.txt",
    ] {
        assert!(!fixture.runs("a", line), "{line}");
    }
}

#[test]
fn what_was_made_with_a_password_is_still_known_by_its_name() {
    let fixture = Fixture::new();
    assert!(!fixture.runs("a", "docker rm -f near"));
    assert!(fixture.runs("a", "docker run -d --name near -e POSTGRES_PASSWORD=hunter2hunter2 postgres:16"));
    assert!(fixture.runs("a", "docker rm -f near"));
    assert!(!fixture.runs("b", "docker rm -f near"));
}

#[test]
fn settings_that_the_session_wrote_say_where_packages_come_from() {
    let fixture = Fixture::new();
    let writes = |session: &str, name: &str, text: &str| {
        let input = serde_json::json!({ "file_path": fixture.home.path("work").join(name), "content": text });
        assert!(fixture.call(session, "Write", &input), "{name}");
        fixture.write(name, text);
    };
    // A person's own settings file decides.
    fixture.write(".npmrc", "registry=https://npm.example.org\n");
    assert!(fixture.runs("s", "npm ci"));
    fs::remove_file(fixture.home.path("work").join(".npmrc")).unwrap();
    for (name, text, asked, runs) in [
        (".npmrc", "@ours:registry=https://npm.example.org\n", "npm ci", "npm test"),
        ("r.txt", "requests\n-i https://example.org/simple\n", "pip install -r r.txt", "pip list"),
        ("dev.txt", "-r more.txt\nrequests>=2\nunheard-of ; extra == 'x'\n", "pip install -r dev.txt", "pip check"),
        (".cargo/config.toml", "[source.x]\nregistry = \"https://example.org\" # x\n", "cargo test", "cargo fmt"),
        ("r.in", "requests\nunheard-of\n", "uv pip sync r.in", "uv pip list"),
        ("c.txt", "numpy=1.26\nunheard-of\n", "conda install --file c.txt", "conda list"),
    ] {
        writes("s", name, text);
        assert!(!fixture.runs("s", asked), "{asked}");
        assert!(fixture.runs("s", runs), "{runs}");
        assert!(fixture.runs("another", asked), "{asked}: by another session");
    }
    writes("s", "r.txt", "requests>=2\nflask[async]~=3.0 ; python_version < '4'  # web\n-e .\n");
    assert!(fixture.runs("s", "pip install -r r.txt"));
    assert!(fixture.runs("s", "uv pip sync r.txt"));
}

#[test]
fn manifests_that_the_session_wrote_say_which_packages_are_installed() {
    let fixture = Fixture::new();
    let writes = |name: &str, text: &str| {
        let input = serde_json::json!({ "file_path": fixture.home.path("work").join(name), "content": text });
        assert!(fixture.call("s", "Write", &input), "{name}");
        fixture.write(name, text);
    };
    // A person's own manifest is installed as it is.
    fixture.write("package.json", r#"{"dependencies": {"unheard-of": "*"}}"#);
    assert!(fixture.runs("s", "npm install"));
    let remove = |name: &str| fs::remove_file(fixture.home.path("work").join(name)).unwrap();
    remove("package.json");
    for (name, text, asked, runs) in [
        ("package.json", r#"{"devDependencies": {"unheard-of": "*"}}"#, "npm install", "npm test"),
        ("package.json", r#"{"dependencies": {"lodash": "https://example.org/x.tgz"}}"#, "yarn", "yarn test"),
        ("Cargo.toml", "[dependencies]\nx = { git = \"https://example.org/x\" }\n", "cargo build", "cargo fmt"),
        ("Cargo.toml", "[dev-dependencies]\nunheard-of = \"1\"\n", "cargo test", "cargo fmt"),
        ("pyproject.toml", "[project]\ndependencies = [\"unheard-of>=1\"]\n", "uv sync", "uv pip list"),
        ("u.py", "# /// script\n# dependencies = [\"unheard-of\"]\n# ///\nprint(1)\n", "uv run u.py", "python3 u.py"),
        (
            "environment.yml",
            "dependencies:\n  - numpy\n  - pip:\n    - unheard-of\n",
            "conda env create",
            "conda env list",
        ),
    ] {
        writes(name, text);
        assert!(!fixture.runs("s", asked), "{asked}");
        assert!(fixture.runs("s", runs), "{runs}");
        assert!(fixture.runs("another", asked), "{asked}: by another session");
        remove(name);
    }
    for (name, text, runs) in [
        ("package.json", r#"{"dependencies": {"lodash": "^4", "ours": "file:../ours"}}"#, "npm install"),
        ("Cargo.toml", "[dependencies]\nserde = { version = \"1\" }\nours = { path = \"../ours\" }\n", "cargo build"),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"httpx>=0.27\"]\n[build-system]\nrequires = [\"hatchling\"]\n",
            "uv sync",
        ),
        ("u.py", "# /// script\n# dependencies = [\n#   \"rich\",\n# ]\n# ///\nprint(1)\n", "uv run u.py"),
    ] {
        writes(name, text);
        assert!(fixture.runs("s", runs), "{runs}");
    }
    // What a lock file of others contains is installed already.
    fixture.write("package-lock.json", r#"{"packages": {"node_modules/unheard-of": {}}}"#);
    writes("package.json", r#"{"dependencies": {"unheard-of": "*"}, "scripts": {"a": "ls"}}"#);
    assert!(fixture.runs("s", "npm install"));
    remove("package-lock.json");
    writes("package-lock.json", r#"{"packages": {"node_modules/unheard-of": {}}}"#);
    assert!(!fixture.runs("s", "npm install"), "the session wrote the lock file");
}
