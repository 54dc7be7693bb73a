//! The configuration: layers, locks, problems with their place, and failing closed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guard::config::keys::{ConfigType, KEYS, Stricter};
use guard::config::{self, Layer, Loaded, Roots};
use guard::judge::approved::{GrantId, Place, Until, What};
use guard::judge::policy::{Mode, Policy, Preset, Record};
use guard::judge::risk::{CircumstanceFact, Tier, Weight};
use proptest::prelude::*;

use crate::harness::home::Home;
use crate::harness::pty::Terminal;

/// A machine, a home and a project in a directory of their own.
struct Fixture {
    directory: tempfile::TempDir,
    roots: Roots,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("home/project/src/.git")).unwrap();
        fs::remove_dir(path("home/project/src/.git")).unwrap();
        fs::create_dir(path("home/project/.git")).unwrap();
        let uid = nix::unistd::getuid().as_raw();
        let roots = Roots {
            machine: path("etc/guard"),
            machine_owner: uid,
            home: Some(path("home")),
            named: Some(path("home/.config/guard")),
            named_home: None,
            cwd: path("home/project/src"),
            uid,
        };
        Self { directory, roots }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        for directory in [path.as_path(), path.parent().unwrap()] {
            let mode = if directory.is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
        }
        self
    }

    fn machine(&self, text: &str) -> &Self {
        self.write("etc/guard/config.toml", text)
    }

    fn user(&self, text: &str) -> &Self {
        self.write("home/.config/guard/config.toml", text)
    }

    fn project(&self, text: &str) -> &Self {
        self.write("home/project/.guard.toml", text)
    }

    fn load(&self) -> Loaded {
        config::load(&self.roots)
    }

    /// Loads what must be in order.
    fn policy(&self) -> Policy {
        let loaded = self.load();
        assert!(loaded.problems.is_empty(), "{:?}", shown(&loaded, self.directory.path()));
        loaded.policy
    }

    /// The problems of what must not be, with paths from the fixture on.
    fn problems(&self) -> Vec<String> {
        let loaded = self.load();
        assert!(!loaded.problems.is_empty());
        assert_closed(&loaded.policy);
        assert!(loaded.grants.is_empty());
        shown(&loaded, self.directory.path())
    }
}

fn shown(loaded: &Loaded, fixture: &Path) -> Vec<String> {
    let fixture = format!("{}/", fixture.display());
    loaded.problems.iter().map(|problem| problem.to_string().replace(&fixture, "")).collect()
}

fn assert_closed(policy: &Policy) {
    let thresholds = policy.thresholds;
    for threshold in [thresholds.cli, thresholds.agent, thresholds.api, thresholds.discord, thresholds.telegram] {
        assert!(threshold <= Weight(101), "{threshold}");
    }
    assert_eq!(policy.mode, Mode::Manual);
    assert!(!policy.yolo && policy.trusted_folders.is_empty() && policy.disabled_rules.is_empty());
}

#[test]
fn without_any_file_the_policy_is_the_built_in_one() {
    assert_eq!(Fixture::new().policy(), Policy::default());
}

#[test]
fn a_user_file_sets_every_kind_of_value() {
    let fixture = Fixture::new();
    fixture.user(
        r#"
mode = "off"
preset = "strict"
prompts_per_hour = 7
breaker_after = 4
trusted_folders = ["~/play", "/srv/**/scratch/"]
protected_branches = ["next", "!master"]
production = ["eu-1"]
known_hosts = ["Git.Example.org"]
disabled_rules = ["git.push-force"]
record = "flagged"
retention_days = 30
[thresholds]
cli = 2.5
agent = 1
[weights]
root = 0.75
[timeouts]
high = 15
critical_finish = 25
"#,
    );
    let policy = fixture.policy();
    assert_eq!((policy.mode, policy.preset, policy.record), (Mode::Off, Preset::Strict, Record::Flagged));
    assert_eq!((policy.thresholds.cli, policy.thresholds.agent), (Weight(250), Weight(100)));
    // From the preset.
    assert_eq!((policy.thresholds.api, policy.timeouts.medium), (Weight(100), 45));
    assert_eq!(policy.weights[&CircumstanceFact::Root], Weight(75));
    assert_eq!((policy.timeouts.high, policy.timeouts.critical_finish), (15, 25));
    assert_eq!((policy.prompts_per_hour, policy.breaker_after, policy.retention_days), (7, 4, 30));
    let home = fixture.path("home");
    assert_eq!(policy.trusted_folders, [format!("{}/play", home.display()), "/srv/**/scratch".to_owned()]);
    assert!(policy.protected_branches.contains(&"next".to_owned()));
    assert!(!policy.protected_branches.contains(&"master".to_owned()));
    assert!(policy.protected_branches.contains(&"main".to_owned()));
    assert_eq!(policy.known_hosts, ["git.example.org"]);
}

#[test]
fn a_stronger_layer_replaces_a_value_and_adds_to_a_list() {
    let fixture = Fixture::new();
    fixture.machine("thresholds.agent = 1.5\nproduction = [\"live-eu\"]");
    fixture.user("thresholds.agent = 2.5\nproduction = [\"live-us\"]");
    let policy = fixture.policy();
    assert_eq!(policy.thresholds.agent, Weight(250));
    assert!(["live-eu", "live-us", "prod"].iter().all(|word| policy.production.contains(&(*word).to_owned())));
}

#[test]
fn what_the_machine_locks_can_only_be_tightened() {
    let fixture = Fixture::new();
    fixture.machine("thresholds.agent = 1.5\nlocked = [\"thresholds\", \"mode\", \"trusted_folders\"]");
    fixture.user("thresholds.agent = 1.0");
    assert_eq!(fixture.policy().thresholds.agent, Weight(100));
    fixture.user("# tired\nthresholds.agent = 2.0\nmode = \"off\"\ntrusted_folders = [\"~/a\"]\n");
    assert_eq!(
        fixture.problems(),
        [
            "home/.config/guard/config.toml:3: mode: off is less strict than manual, and the machine's configuration locks \
             it; remove the line, or make it stricter",
            "home/.config/guard/config.toml:2: thresholds.agent: 2.0 is less strict than 1.5, and the machine's \
             configuration locks it; remove the line, or make it stricter",
            &format!(
                "home/.config/guard/config.toml:4: trusted_folders: adds \"{}/a\", but the machine's configuration \
                 locks it; remove the entry",
                fixture.path("home").display()
            )
            .replace(&format!("{}/home", fixture.directory.path().display()), "home"),
        ]
    );
}

#[test]
fn a_locked_preset_locks_all_that_it_sets() {
    let fixture = Fixture::new();
    fixture.machine("preset = \"strict\"\nlocked = [\"preset\"]").user("prompts_per_hour = 9");
    assert_eq!(fixture.problems().len(), 1);
}

#[test]
fn a_star_locks_everything_even_the_pattern_files_of_users() {
    let fixture = Fixture::new();
    fixture.machine("locked = [\"*\"]").write("home/.config/guard/patterns/a.toml", "");
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty());
    assert!(loaded.pattern_files.iter().all(|file| file.only_tightens));
    fixture.user("[[support]]\nargv = [\"help\"]\nwhy = \"x\"");
    let loaded = fixture.load();
    assert_eq!((loaded.problems.len(), loaded.policy.support.len()), (1, 0));
}

#[test]
fn a_preset_over_a_locked_value_counts_only_where_it_is_stricter() {
    let fixture = Fixture::new();
    fixture.machine("thresholds.agent = 1.2\nlocked = [\"thresholds.agent\"]").user("preset = \"relaxed\"");
    let policy = fixture.policy();
    assert_eq!((policy.thresholds.agent, policy.thresholds.api), (Weight(120), Weight(200)));
}

#[test]
fn only_the_machine_can_lock() {
    let fixture = Fixture::new();
    fixture.user("locked = [\"mode\"]");
    assert_eq!(
        fixture.problems(),
        ["home/.config/guard/config.toml:1: locked: only the machine's file can lock keys; remove it"]
    );
}

#[test]
fn a_project_can_tighten_everything() {
    let fixture = Fixture::new();
    fixture.user("trusted_folders = [\"~/play\"]\nthresholds.cli = 3.0");
    let home = fixture.path("home");
    fixture.project(&format!(
        "preset = \"paranoid\"\nprotected_branches = [\"next\"]\nproduction = [\"eu\"]\ntrusted_folders = [\"!{}/play\"]\n\
         [timeouts]\nhigh = 5\n[thresholds]\ncli = 0.5\n",
        home.display()
    ));
    let policy = fixture.policy();
    assert_eq!((policy.thresholds.cli, policy.thresholds.agent), (Weight(50), Weight(100)));
    assert_eq!((policy.timeouts.high, policy.timeouts.medium), (5, 30));
    assert!(policy.trusted_folders.is_empty());
    assert!(policy.protected_branches.contains(&"next".to_owned()));
}

#[test]
fn whatever_a_project_would_loosen_is_named_with_file_line_and_key() {
    let cases = [
        ("mode = \"off\"", "mode: off is less strict than manual"),
        ("preset = \"relaxed\"", "preset: relaxed is less strict than balanced"),
        ("thresholds.agent = 2.1", "thresholds.agent: 2.1 is less strict than 2.0"),
        ("weights.root = 0.4", "weights.root: 0.4 is less strict than 0.5"),
        ("weights.trusted_folder = -0.6", "weights.trusted_folder: -0.6 is less strict than -0.5"),
        ("timeouts.high = 31", "timeouts.high: 31 is less strict than 30"),
        ("prompts_per_hour = 11", "prompts_per_hour: 11 is less strict than 10"),
        ("breaker_after = 4", "breaker_after: 4 is less strict than 3"),
        ("trusted_folders = [\"/srv/x\"]", "trusted_folders: adds \"/srv/x\""),
        ("known_hosts = [\"evil.example\"]", "known_hosts: adds \"evil.example\""),
        ("disabled_rules = [\"git.push-force\"]", "disabled_rules: adds \"git.push-force\""),
        ("protected_branches = [\"!main\"]", "protected_branches: removes \"main\""),
        ("production = [\"!*\"]", "production: removes \"*\""),
        ("record = \"flagged\"", "record: flagged is less strict than all"),
        ("retention_days = 1", "retention_days: 1 is less strict than 365"),
        ("yolo = true", "yolo: true is less strict than false"),
        ("[[support]]\nargv = [\"a\"]\nwhy = \"b\"", "support: a project file can only tighten the policy"),
        ("[[grant]]\nname = \"a\"", "grant: a project file can only tighten the policy"),
        ("locked = [\"mode\"]", "locked: only the machine's file can lock keys"),
    ];
    for (text, expected) in cases {
        let fixture = Fixture::new();
        fixture.project(&format!("\n{text}\n"));
        let problems = fixture.problems();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        let place = "home/project/.guard.toml:2: ";
        assert!(problems[0].starts_with(&format!("{place}{expected}")), "{text}: {}", problems[0]);
    }
}

#[test]
fn how_many_approvers_are_wanted_every_file_may_raise_and_none_may_lower() {
    let fixture = Fixture::new();
    fixture.machine("approvals.tier_3 = 2").user("[approvals]\ntier_3 = 3\ntier_4 = 2").project("approvals.tier_2 = 2");
    let found = fixture.policy().approvals;
    assert_eq!((found.medium, found.high, found.critical), (2, 3, 2));
    // Nobody but who set it takes it back, locked or not, and what is wrong leaves it as it is.
    fixture.user("approvals.tier_3 = 1");
    assert!(
        fixture.problems()[0]
            .contains("approvals.tier_3: 1 is less strict than 2, and a user file can only tighten the policy")
    );
    assert_eq!(fixture.load().policy.approvals.high, 2);
    // What cannot be read, and speaks of it, wants two.
    for wrong in ["approvals.tier_4 = \"two\"", "approvals.tier_4 = 0", "[approvals]\ntier_4 = 2\nmode = "] {
        fixture.user(wrong);
        assert_eq!((fixture.problems().len(), fixture.load().policy.approvals.critical), (1, 2), "{wrong}");
    }
}

#[test]
fn a_project_in_a_project_tightens_further_and_cannot_take_it_back() {
    let fixture = Fixture::new();
    fixture.project("prompts_per_hour = 5");
    fixture.write("home/project/src/.guard.toml", "prompts_per_hour = 4");
    assert_eq!(fixture.policy().prompts_per_hour, 4);
    fixture.write("home/project/src/.guard.toml", "prompts_per_hour = 6");
    assert!(
        fixture.problems()[0].starts_with("home/project/src/.guard.toml:1: prompts_per_hour: 6 is less strict than 5")
    );
}

#[test]
fn a_project_ends_at_its_git_top_level_and_below_the_home() {
    let fixture = Fixture::new();
    fixture.write("home/.guard.toml", "prompts_per_hour = 1").write(".guard.toml", "prompts_per_hour = 1");
    assert_eq!(fixture.policy().prompts_per_hour, 10);
    fs::remove_dir(fixture.path("home/project/.git")).unwrap();
    fixture.project("prompts_per_hour = 5");
    assert_eq!(fixture.policy().prompts_per_hour, 5);
}

#[test]
fn a_redirected_home_can_only_tighten_and_gives_no_grants() {
    let mut fixture = Fixture::new();
    fixture.user("prompts_per_hour = 5").write("else/guard/patterns/a.toml", "");
    fixture.roots.named = Some(fixture.path("else/guard"));
    let grant = "[[grant]]\nname = \"x\"\nwhat = { rule = \"a.b\" }\nwhere = \"anywhere\"\nuntil = \"revoked\"\n";
    fixture.write("else/guard/config.toml", &format!("prompts_per_hour = 4\n{grant}"));
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty());
    assert_eq!((loaded.policy.prompts_per_hour, loaded.grants.len(), loaded.warnings.len()), (4, 0, 1));
    assert_eq!(loaded.pattern_files.len(), 1);
    assert!(loaded.pattern_files[0].only_tightens && loaded.pattern_files[0].layer == Layer::Redirected);
    fixture.write("else/guard/config.toml", "prompts_per_hour = 6");
    assert!(fixture.problems()[0].contains("HOME or XDG_CONFIG_HOME does not point to"));
}

#[test]
fn without_an_own_configuration_the_home_that_is_named_is_the_users() {
    let mut fixture = Fixture::new();
    fixture.roots.named = Some(fixture.path("else/guard"));
    fixture.write("else/guard/config.toml", "prompts_per_hour = 50");
    assert_eq!(fixture.policy().prompts_per_hour, 50);
    // Pattern files alone are a configuration too.
    fixture.write("home/.config/guard/patterns/a.toml", "");
    fixture.problems();
}

#[test]
fn the_own_home_by_another_path_is_read_once() {
    let mut fixture = Fixture::new();
    fixture.user("prompts_per_hour = 50");
    std::os::unix::fs::symlink(fixture.path("home"), fixture.path("alias")).unwrap();
    fixture.roots.named = Some(fixture.path("alias/.config/guard"));
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    assert_eq!(loaded.policy.prompts_per_hour, 50);
}

#[test]
fn a_threshold_above_three_needs_yolo() {
    let fixture = Fixture::new();
    fixture.user("thresholds.agent = 3.5");
    assert!(fixture.problems()[0].contains("thresholds.agent: 3.5 is above 3.0; lower it, or set `yolo = true`"));
    fixture.user("thresholds.agent = 3.5\nyolo = true");
    assert_eq!(fixture.policy().thresholds.agent, Weight(350));
    fixture.project("yolo = false");
    assert_eq!(fixture.policy().thresholds.agent, Weight(300));
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    let fixture = Fixture::new();
    fixture.user("\n\npromts_per_hour = 3\ncolour = 1\n[threshold]\nagent = 1\n[weights]\nrot = 1\n");
    let mut problems = fixture.problems();
    problems.sort();
    assert_eq!(
        problems,
        [
            "home/.config/guard/config.toml:3: promts_per_hour: unknown key; did you mean prompts_per_hour?",
            "home/.config/guard/config.toml:4: colour: unknown key; `guard config show` lists all keys",
            "home/.config/guard/config.toml:5: threshold: unknown table; did you mean [thresholds]?",
            "home/.config/guard/config.toml:8: weights.rot: unknown key; did you mean weights.root?",
        ]
    );
}

#[test]
fn a_wrong_value_says_what_was_expected_and_what_was_found() {
    let cases = [
        ("mode = \"smart\"", "mode: \"smart\" needs a reviewer, but there is no table [reviewer]"),
        ("mode = \"clever\"", "mode: expected \"off\", \"smart\" or \"manual\", found \"clever\""),
        ("mode = 1", "mode: expected \"off\", \"smart\" or \"manual\", found 1"),
        ("thresholds = 2.0", "thresholds: expected a table headed [thresholds], found 2.0"),
        ("thresholds.cli = \"high\"", "thresholds.cli: expected a number from 0.0 to 5.0, found \"high\""),
        ("thresholds.cli = nan", "thresholds.cli: expected a number from 0.0 to 5.0, found nan"),
        ("thresholds.cli = -1", "thresholds.cli: expected a number from 0.0 to 5.0, found -1"),
        ("weights.trusted_folder = 0.1", "weights.trusted_folder: expected a number from -1.0 to 0.0, found 0.1"),
        ("timeouts.high = 0", "timeouts.high: expected a whole number of seconds from 1 to 3600, found 0"),
        ("timeouts.high = 1.5", "timeouts.high: expected a whole number of seconds from 1 to 3600, found 1.5"),
        (
            "prompts_per_hour = 99999999999999999999",
            "prompts_per_hour: expected a whole number of prompts from 0 to 1000",
        ),
        ("yolo = \"yes\"", "yolo: expected true or false, found \"yes\""),
        ("production = \"prod\"", "production: expected a list of words, found \"prod\""),
        ("production = [1]", "production: expected a string, found 1"),
        ("production = [\"\"]", "production: \"\": an entry must not be empty"),
        ("trusted_folders = [\"build\"]", "trusted_folders: \"build\": a directory must be absolute"),
        ("trusted_folders = [\"/**\"]", "trusted_folders: \"/**\": it matches every directory"),
        ("trusted_folders = [\"/a/../..\"]", "trusted_folders: \"/a/../..\": a directory must not contain `..`"),
        ("known_hosts = [\"https://a.example/\"]", "known_hosts: \"https://a.example/\": expected a host name"),
        ("known_hosts = [\"*\"]", "known_hosts: \"*\": expected a host name"),
        ("support = 1", "support: expected tables headed [[support]], found 1"),
        ("patterns = []", "patterns: unknown key"),
        ("mode = ", "not valid TOML"),
        ("mode = \"off\"\nmode = \"off\"", "not valid TOML: duplicate key"),
    ];
    for (text, expected) in cases {
        let fixture = Fixture::new();
        fixture.user(text);
        let problems = fixture.problems();
        let found = problems[0].trim_start_matches("home/.config/guard/config.toml:").trim_start_matches(['1', '2']);
        assert!(found.starts_with(&format!(": {expected}")), "{text}\n{found}");
    }
}

#[test]
fn one_problem_tightens_but_keeps_what_was_stricter() {
    let fixture = Fixture::new();
    fixture.machine("thresholds.api = 0.5\nprompts_per_hour = 3").user("mode = \"off\"\ntypo = 1");
    let loaded = fixture.load();
    assert_closed(&loaded.policy);
    assert_eq!((loaded.policy.thresholds.api, loaded.policy.prompts_per_hour), (Weight(50), 3));
}

#[test]
fn support_outlives_a_problem_elsewhere() {
    let fixture = Fixture::new();
    fixture.user("typo = 1\n[[support]]\nargv = [\"show-help\", \"988\"]\nwhy = \"A crisis line.\"\n");
    let loaded = fixture.load();
    assert!(!loaded.problems.is_empty());
    assert_eq!(loaded.policy.support[0].argv, ["show-help", "988"]);
}

#[test]
fn a_support_entry_without_its_exact_argv_is_refused() {
    for (text, expected) in [
        ("argv = []\nwhy = \"x\"", "support.argv: expected a list of strings, program first, found a list"),
        (
            "argv = \"help me\"\nwhy = \"x\"",
            "support.argv: expected a list of strings, program first, found \"help me\"",
        ),
        ("argv = [\"help\"]", "support: `why` is missing"),
        ("arg = [\"help\"]\nwhy = \"x\"", "support.arg: unknown key; did you mean argv?"),
    ] {
        let fixture = Fixture::new();
        fixture.user(&format!("[[support]]\n{text}\n"));
        let problems = fixture.problems();
        assert!(problems[0].contains(expected), "{}", problems[0]);
    }
}

#[test]
fn a_grant_says_what_where_and_until() {
    let fixture = Fixture::new();
    fixture.user(
        r#"
[[grant]]
name = "deploy"
what = { exact = "make deploy" }
where = "/srv/app/"
until = 2030-01-31
[[grant]]
name = "push"
what = { rule = "git.push-force" }
where = "anywhere"
until = "revoked"
[[grant]]
name = "moment"
what = { shape = "git push --force-with-lease" }
where = "anywhere"
until = 2030-01-31T12:00:00+02:00
"#,
    );
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let [deploy, push, moment] = &loaded.grants[..] else { panic!("{:?}", loaded.grants) };
    assert_eq!(deploy.id, GrantId::Configured("deploy".to_owned()));
    assert_eq!(deploy.what, What::Exact { command: "make deploy".to_owned() });
    assert_eq!(deploy.place, Place::Directory { path: "/srv/app".to_owned() });
    // date -u -d 2030-02-01 +%s
    assert_eq!(deploy.until, Until::Date { at: 1_896_134_400 });
    assert_eq!(deploy.words, "exactly `make deploy`, in /srv/app and below, until 2030-01-31");
    assert_eq!((&push.place, &push.until), (&Place::Anywhere, &Until::Revoked));
    // date -u -d 2030-01-31T10:00:00Z +%s
    assert_eq!(moment.until, Until::Date { at: 1_896_084_000 });
}

#[test]
fn a_grant_that_is_vague_is_refused() {
    let good = [("name", "\"a\""), ("what", "{ rule = \"a.b\" }"), ("where", "\"anywhere\""), ("until", "\"revoked\"")];
    for (field, value, expected) in [
        ("what", "\"everything\"", "grant.what: expected one of { exact"),
        ("what", "{ exact = \"a\", rule = \"b\" }", "grant.what: expected one of { exact"),
        ("what", "{ glob = \"*\" }", "grant.what: expected one of { exact"),
        ("what", "{ rule = \"git.*\" }", "grant.what: expected the complete id of a rule"),
        ("what", "{ exact = \" \" }", "grant.what: expected a string that is not empty"),
        ("where", "\"src\"", "grant.where: \"src\": a directory must be absolute"),
        ("where", "\"/\"", "grant.where: \"/\": it matches every directory"),
        ("where", "\"/srv/*\"", "grant.where: one directory, without `*`"),
        ("until", "\"never\"", "grant.until: expected a date such as 2030-12-31, or \"revoked\""),
        ("until", "2030-01-31T12:00:00", "grant.until: a time of day needs a date and an offset"),
        ("until", "12:00:00", "grant.until: a time of day needs a date and an offset"),
        ("name", "\"\"", "grant.name: expected a string that is not empty"),
    ] {
        let fields: Vec<_> =
            good.iter().map(|(name, said)| format!("{name} = {}", if *name == field { value } else { said })).collect();
        let fixture = Fixture::new();
        fixture.user(&format!("[[grant]]\n{}\n", fields.join("\n")));
        let problems = fixture.problems();
        assert!(problems[0].contains(expected), "{field} = {value}: {}", problems[0]);
    }
}

#[test]
fn a_grant_that_has_ended_is_none() {
    let fixture = Fixture::new();
    fixture.user(
        "[[grant]]\nname = \"old\"\nwhat = { rule = \"a.b\" }\nwhere = \"anywhere\"\nuntil = 2001-01-01\n\
         [[grant]]\nname = \"new\"\nwhat = { rule = \"a.b\" }\nwhere = \"anywhere\"\nuntil = 9998-01-01\n",
    );
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty());
    assert_eq!(loaded.grants.len(), 1);
    assert_eq!(loaded.grants[0].id, GrantId::Configured("new".to_owned()));
    assert!(loaded.warnings[0].message.starts_with("old has expired"));
}

#[test]
fn two_grants_of_one_name_are_refused_over_all_layers() {
    let fixture = Fixture::new();
    let grant = "[[grant]]\nname = \"a\"\nwhat = { rule = \"a.b\" }\nwhere = \"anywhere\"\nuntil = \"revoked\"\n";
    fixture.machine(grant).user(grant);
    assert_eq!(fixture.problems(), ["home/.config/guard/config.toml: grant.name: duplicate name \"a\""]);
}

#[test]
fn a_rule_of_tier_four_is_neither_switched_off_nor_granted() {
    let tier_of = |id: &str| match id {
        "disk.wipe" => Some(Tier::Critical),
        "git.push-force" => Some(Tier::High),
        _ => None,
    };
    let fixture = Fixture::new();
    fixture.user("disabled_rules = [\n \"git.push-force\",\n \"gone.rule\"]");
    let mut loaded = fixture.load();
    loaded.check_rules(tier_of);
    assert!(loaded.problems.is_empty());
    assert_eq!(loaded.warnings.len(), 1);
    fixture.user("disabled_rules = [\n \"git.push-force\",\n \"disk.wipe\"]");
    let mut loaded = fixture.load();
    loaded.check_rules(tier_of);
    assert_closed(&loaded.policy);
    assert!(loaded.problems[0].to_string().contains("config.toml:3: disabled_rules: disk.wipe is tier 4"));
    fixture
        .user("[[grant]]\nname = \"a\"\nwhat = { rule = \"disk.wipe\" }\nwhere = \"anywhere\"\nuntil = \"revoked\"\n");
    let mut loaded = fixture.load();
    loaded.check_rules(tier_of);
    assert_closed(&loaded.policy);
    assert!(loaded.grants.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_and_not_a_missing_one() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("home/.config/guard/config.toml")).unwrap();
    assert_eq!(fixture.problems(), ["home/.config/guard/config.toml: is not a regular file"]);
    fs::remove_dir(fixture.path("home/.config/guard/config.toml")).unwrap();
    fs::write(fixture.path("home/.config/guard/config.toml"), b"mode = \"off\"\n# \xff\n").unwrap();
    assert_eq!(fixture.problems(), ["home/.config/guard/config.toml:2: is not UTF-8"]);
    fs::write(fixture.path("home/.config/guard/config.toml"), "#".repeat(2 << 20)).unwrap();
    assert!(fixture.problems()[0].contains("has 2097152 bytes"));
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_make_guard_wait() {
    let fixture = Fixture::new();
    nix::unistd::mkfifo(&fixture.path("home/project/.guard.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(fixture.problems(), ["home/project/.guard.toml: is not a regular file"]);
}

#[test]
fn what_others_can_write_is_no_configuration_of_the_machine() {
    let fixture = Fixture::new();
    fixture.machine("mode = \"off\"");
    let file = fixture.path("etc/guard/config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    assert!(fixture.problems()[0].starts_with("etc/guard/config.toml: is writable by others (mode 664); chmod go-w"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(fixture.path("etc/guard"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(fixture.problems()[0].starts_with("etc/guard: is writable by others (mode 777)"));
    fs::set_permissions(fixture.path("etc/guard"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut fixture = fixture;
    fixture.roots.machine_owner = fixture.roots.uid + 1;
    assert!(fixture.problems()[0].contains("not by root"));
}

#[test]
fn a_pattern_file_of_the_machine_that_others_can_write_is_left_out() {
    let fixture = Fixture::new();
    fixture.write("etc/guard/patterns/a.toml", "").write("etc/guard/patterns/b.toml", "");
    fs::set_permissions(fixture.path("etc/guard/patterns/a.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    let loaded = fixture.load();
    assert_eq!(loaded.problems.len(), 1);
    assert_eq!(loaded.pattern_files.len(), 1);
    assert!(loaded.pattern_files[0].path.ends_with("b.toml"));
}

#[test]
fn a_user_file_that_everyone_can_write_is_worth_a_warning() {
    let fixture = Fixture::new();
    fixture.user("prompts_per_hour = 5");
    let file = fixture.path("home/.config/guard/config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let loaded = fixture.load();
    assert!(loaded.problems.is_empty());
    assert!(loaded.warnings[0].message.contains("is writable by everyone"));
}

#[test]
fn pattern_files_come_by_layer_and_then_by_name() {
    let fixture = Fixture::new();
    for name in [
        "etc/guard/patterns/z.toml",
        "home/.config/guard/patterns/b.toml",
        "home/.config/guard/patterns/a.toml",
        "home/.config/guard/patterns/.hidden.toml",
        "home/.config/guard/patterns/notes.md",
        "home/project/.guard/patterns/p.toml",
    ] {
        fixture.write(name, "");
    }
    let loaded = fixture.load();
    let files: Vec<_> = loaded
        .pattern_files
        .iter()
        .map(|file| (file.layer, file.path.file_name().unwrap().to_str().unwrap(), file.only_tightens))
        .collect();
    assert_eq!(
        files,
        [
            (Layer::Machine, "z.toml", false),
            (Layer::User, "a.toml", false),
            (Layer::User, "b.toml", false),
            (Layer::Project, "p.toml", true),
        ]
    );
}

#[test]
fn a_project_that_says_manual_takes_nothing_from_the_reviewer_but_its_say() {
    let fixture = Fixture::new();
    let reviewer = "[reviewer]\nprovider = \"program\"\nprogram = [\"/bin/true\"]\nreview = [\"git.*\"]\n";
    fixture.user(&format!("mode = \"smart\"\n{reviewer}")).project("mode = \"manual\"");
    let loaded = fixture.load();
    assert_eq!(loaded.problems, []);
    assert_eq!((loaded.policy.mode, loaded.policy.review.as_slice()), (Mode::Manual, &["git.*".to_owned()][..]));
    fixture.user(&format!("mode = \"manual\"\n{reviewer}"));
    assert!(fixture.load().policy.review.is_empty());
    fixture.user("mode = \"smart\"");
    assert_eq!(fixture.load().problems.len(), 1, "that there is none stays a problem");
}

#[test]
fn each_value_says_where_it_comes_from() {
    let fixture = Fixture::new();
    fixture
        .machine("preset = \"strict\"\nlocked = [\"mode\"]")
        .user("\nproduction = [\"eu\"]")
        .project("breaker_after = 1");
    let loaded = fixture.load();
    let prefix = format!("{}/", fixture.directory.path().display());
    let source = |name: &str, value: &str| {
        let rows = loaded.sources();
        let row = rows.iter().find(|row| row.key.entry().name == name && row.value == value);
        let row = row.unwrap_or_else(|| panic!("{name} = {value}: {rows:?}"));
        (row.source.to_string().replace(&prefix, ""), row.locked)
    };
    assert_eq!(
        source("thresholds.agent", "1.5"),
        ("machine, etc/guard/config.toml:1, preset strict".to_owned(), false)
    );
    assert_eq!(source("production", "eu").0, "user, home/.config/guard/config.toml:2");
    assert_eq!(source("production", "prod").0, "built in");
    assert_eq!(source("breaker_after", "1").0, "project, home/project/.guard.toml:1");
    assert_eq!(source("mode", "manual"), ("built in".to_owned(), true));
}

#[test]
fn the_machines_directory_is_no_setting_and_under_sudo_the_environment_names_no_home() {
    let environment = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let home = Path::new("/home/a");
    let of = |pairs: &[(&str, &str)], uid| Roots::of(&environment(pairs), Some(home), uid, Path::new("/w"));
    let roots = of(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h"), ("GUARD_CONFIG", "/e"), ("GUARD_ETC", "/e")], 1000);
    assert_eq!((roots.machine, roots.machine_owner), (PathBuf::from("/etc/guard"), 0));
    assert_eq!(roots.named, Some(PathBuf::from("/x/guard")));
    assert_eq!(of(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")], 1000).named, Some(PathBuf::from("/h/.config/guard")));
    assert_eq!(of(&[("HOME", "/h"), ("SUDO_UID", "1000")], 0).named, None);
}

/// A line that sets some key, within its range or a little beyond.
fn setting() -> impl Strategy<Value = String> {
    let entry =
        prop::sample::select(vec!["main", "prod", "/srv/a", "/srv/b", "a.b", "!main", "!prod", "!/srv/a", "!*"]);
    let settable: Vec<_> = KEYS
        .iter()
        .filter(|row| !matches!(row.kind, ConfigType::Tables(_) | ConfigType::Names | ConfigType::LockOnly))
        .collect();
    let key = prop::sample::select(settable);
    (key, 0..1000_i64, prop::collection::vec(entry, 0..3)).prop_map(|(row, place, words)| {
        let value = match row.kind {
            ConfigType::Word(known) => format!("\"{}\"", known[usize::try_from(place).unwrap() % known.len()]),
            ConfigType::Weight(low, high) => {
                let span = i64::from(high - low + 20);
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let value = (i64::from(low) - 10 + place % span) as f64 / 100.0;
                format!("{value:.2}")
            }
            ConfigType::Whole(..) => (place % 70).to_string(),
            ConfigType::Flag => (place % 2 == 0).to_string(),
            _ => format!("{words:?}"),
        };
        format!("{} = {value}", row.name)
    })
}

/// A file that sets some keys, each once.
fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(setting(), 0..8).prop_map(|lines| {
        let mut seen = std::collections::BTreeSet::new();
        lines
            .into_iter()
            .filter(|line| seen.insert(line.split(' ').next().unwrap().to_owned()))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// Each value of `after` is at least as strict as that of `before`.
fn assert_not_laxer(before: &Policy, after: &Policy, what: &str) {
    // The preset is a name; what it set is compared.
    for row in KEYS.iter().filter(|row| row.name != "preset") {
        if let (Some(before), Some(after)) = (row.key.get(before), row.key.get(after)) {
            assert!(!row.loosens(before, after), "{}: {before} became {after}\n{what}", row.name);
        }
        if let (Some(before), Some(after)) = (row.key.list(before), row.key.list(after)) {
            let (all, some) = if row.stricter == Stricter::Higher { (after, before) } else { (before, after) };
            assert!(some.iter().all(|word| all.contains(word)), "{}: {before:?} became {after:?}\n{what}", row.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_project_file_ever_loosens_anything(user in file(), project in file()) {
        let fixture = Fixture::new();
        fixture.user(&user);
        let without = fixture.load();
        fixture.project(&project);
        let with = fixture.load();
        assert_not_laxer(&without.policy, &with.policy, &format!("user:\n{user}\nproject:\n{project}"));
        prop_assert!(with.problems.len() >= without.problems.len());
    }

    #[test]
    fn no_user_file_ever_loosens_what_the_machine_locks(machine in file(), user in file()) {
        let fixture = Fixture::new();
        fixture.machine(&format!("locked = [\"*\"]\n{machine}"));
        let without = fixture.load();
        fixture.user(&user);
        let with = fixture.load();
        assert_not_laxer(&without.policy, &with.policy, &format!("machine:\n{machine}\nuser:\n{user}"));
    }

    #[test]
    fn whatever_the_bytes_loading_ends_and_never_in_a_laxer_policy(text in ".{0,200}", key in "[a-z_.]{1,12}") {
        let fixture = Fixture::new();
        fixture.project(&format!("{key} = {text}\n"));
        let loaded = fixture.load();
        assert_not_laxer(&Policy::default(), &loaded.policy, &text);
    }
}

#[test]
fn a_change_is_checked_shown_and_written_after_a_yes_alone() {
    let home = Home::new();
    let file = home.path("home/.config/guard/config.toml");
    let typed = |arguments: &[&str], key: &str| {
        let mut terminal = Terminal::spawn(home.guard(arguments));
        if !key.is_empty() {
            terminal.wait_for("Save this change? [y/N]");
            terminal.send(&format!("{key}\r"));
        }
        let status = terminal.wait_exit();
        (status.code(), terminal.screen())
    };
    let text = || fs::read_to_string(&file).unwrap();
    assert_eq!(typed(&["config", "init"], "n").0, Some(126));
    assert!(!file.exists());
    assert_eq!(typed(&["config", "init"], "y").0, Some(0));
    let first = text();
    let (code, screen) = typed(&["config", "set", "thresholds.agent", "1.5"], "y");
    assert_eq!(code, Some(0));
    assert!(screen.contains("+ agent = 1.5"), "{screen}");
    assert!(home.prints(&["config", "show", "thresholds.agent"], 0).starts_with("thresholds.agent = 1.5  # user, "));
    let (code, screen) = typed(&["config", "set", "mode", "sometimes"], "");
    assert_eq!(code, Some(125));
    assert!(screen.contains("not changed") && screen.contains("expected \"off\""), "{screen}");
    assert_eq!(typed(&["config", "unset", "thresholds.agent"], "y").0, Some(0));
    assert_eq!(text().replace("\n[thresholds]\n", ""), first);
    // Without a terminal of its own nobody says yes.
    let before = text();
    let output = home.guard(&["config", "set", "mode", "off"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert_eq!(text(), before);
}

#[test]
fn an_editor_changes_a_copy_and_what_is_wrong_is_never_kept() {
    let home = Home::new();
    let file = home.path("home/.config/guard/config.toml");
    let edited = |script: &str| {
        home.stand_in("editor", script);
        let mut command = home.guard(&["config", "edit"]);
        command.env("VISUAL", "editor --wait").env("EDITOR", "false");
        Terminal::spawn(command)
    };
    let ended = |mut terminal: Terminal| (terminal.wait_exit().code(), terminal.screen());

    // Left as it was found: the template is no file yet.
    let (code, screen) = ended(edited("test \"$1\" = --wait && grep -q preset \"$2\" && : > \"$2\""));
    assert!(code == Some(0) && screen.contains("Not changed.") && !file.exists(), "{screen}");

    let mut terminal = edited("echo 'prompts_per_hour = 7' >> \"$2\"");
    terminal.wait_for("Save this change? [y/N]");
    assert!(terminal.screen().contains("+ prompts_per_hour = 7"), "{}", terminal.screen());
    terminal.send("y\r");
    assert_eq!(ended(terminal).0, Some(0));
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.ends_with("prompts_per_hour = 7\n"), "{kept}");
    let (code, screen) = ended(edited("true"));
    assert!(code == Some(0) && screen.contains("Not changed."), "{screen}");

    // What is wrong is told with its line, and can be mended or left.
    let wrong = "grep -q sometimes \"$2\" && sed -i s/sometimes/off/ \"$2\" || echo 'mode = \"sometimes\"' >> \"$2\"";
    for (again, code) in [("n", 126), ("y", 126), ("y", 0)] {
        let mut terminal = edited(wrong);
        terminal.wait_for("Edit it again?");
        let line = format!("config.toml:{}: mode", kept.lines().count() + 1);
        assert!(terminal.screen().replace('\n', "").contains(&line), "{}", terminal.screen());
        terminal.send(&format!("{again}\r"));
        if again == "y" {
            terminal.wait_for("Save this change? [y/N]");
            terminal.send(if code == 0 { "y\r" } else { "n\r" });
        }
        assert_eq!(ended(terminal).0, Some(code));
        assert_eq!(fs::read_to_string(&file).unwrap() == kept, code != 0, "{again}");
    }
    let (code, screen) = ended(edited("exit 3"));
    assert!(code == Some(125) && screen.contains("not changed: editor --wait failed"), "{screen}");
    // Without a terminal of its own nobody edits.
    home.stand_in("editor", &format!("echo ran >> '{}'", home.path("ran").display()));
    let output = home.guard(&["config", "edit"]).env("VISUAL", "editor").output().unwrap();
    assert_eq!((output.status.code(), home.ran()), (Some(126), 0), "{output:?}");
}

#[test]
fn a_tilde_is_the_home_that_leads_to_the_file() {
    let mut fixture = Fixture::new();
    let text = "mode = \"smart\"\n[reviewer]\nprovider = \"openai\"\nmodel = \"m\"\nkey = { file = \"~/key\" }\n";
    let key = |fixture: &Fixture| {
        let (reviewer, _) = fixture.load().reviewer.unwrap();
        match reviewer.voices[0].key.clone() {
            Some(guard::config::reviewer::KeyFrom::File(path)) => path,
            other => panic!("{other:?}"),
        }
    };
    fixture.roots.named = Some(fixture.path("elsewhere/.config/guard"));
    fixture.roots.named_home = Some(fixture.path("elsewhere"));
    fixture.write("elsewhere/.config/guard/config.toml", text);
    assert_eq!(key(&fixture), fixture.path("elsewhere/key"));
    assert_eq!(fixture.load().own_file(), Some(&*fixture.path("elsewhere/.config/guard/config.toml")));
    // The account's own file speaks of the account's home, wherever HOME leads.
    fixture.user(text);
    fs::remove_file(fixture.path("elsewhere/.config/guard/config.toml")).unwrap();
    assert_eq!(key(&fixture), fixture.path("home/key"));
    assert_eq!(fixture.load().own_file(), Some(&*fixture.path("home/.config/guard/config.toml")));
}
