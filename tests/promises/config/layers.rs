//! Tests which file may set, lock and tighten which key.

use super::*;

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
    fixture.machine("thresholds.agent = 1.5\nlocked = [\"thresholds\", \"mode\", \"trusted_directories\"]");
    fixture.user("thresholds.agent = 1.0");
    assert_eq!(fixture.policy().thresholds.agent, Weight(100));
    fixture.user("# tired\nthresholds.agent = 2.0\nmode = \"off\"\ntrusted_directories = [\"~/a\"]\n");
    assert_eq!(
        fixture.problems(),
        [
            "home/.config/guard/config.toml:3: mode: off is less strict than manual, and the machine's configuration locks \
             it; remove the line, or make it stricter",
            "home/.config/guard/config.toml:2: thresholds.agent: 2.0 is less strict than 1.5, and the machine's \
             configuration locks it; remove the line, or make it stricter",
            &format!(
                "home/.config/guard/config.toml:4: trusted_directories: adds \"{}/a\", but the machine's configuration \
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
    fixture.user("trusted_directories = [\"~/play\"]\nthresholds.cli = 3.0");
    let home = fixture.path("home");
    fixture.project(&format!(
        "preset = \"paranoid\"\nprotected_branches = [\"next\"]\nproduction = [\"eu\"]\ntrusted_directories = [\"!{}/play\"]\n\
         [timeouts]\nhigh = 5\n[thresholds]\ncli = 0.5\n",
        home.display()
    ));
    let policy = fixture.policy();
    assert_eq!((policy.thresholds.cli, policy.thresholds.agent), (Weight(50), Weight(100)));
    assert_eq!((policy.timeouts.high, policy.timeouts.medium), (5, 30));
    assert!(policy.trusted_directories.is_empty());
    assert!(policy.protected_branches.contains(&"next".to_owned()));
}

#[test]
fn whatever_a_project_would_loosen_is_named_with_file_line_and_key() {
    let cases = [
        ("mode = \"off\"", "mode: off is less strict than manual"),
        ("preset = \"relaxed\"", "preset: relaxed is less strict than balanced"),
        ("thresholds.agent = 2.1", "thresholds.agent: 2.1 is less strict than 2.0"),
        ("weights.root = 0.4", "weights.root: 0.4 is less strict than 0.5"),
        ("weights.trusted_directory = -0.6", "weights.trusted_directory: -0.6 is less strict than -0.5"),
        ("timeouts.high = 31", "timeouts.high: 31 is less strict than 30"),
        ("prompts_per_hour = 11", "prompts_per_hour: 11 is less strict than 10"),
        ("breaker_after = 4", "breaker_after: 4 is less strict than 3"),
        ("trusted_directories = [\"/srv/x\"]", "trusted_directories: adds \"/srv/x\""),
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
    // Only the file that set the value can lower it, locked or not, and an invalid value leaves it unchanged.
    fixture.user("approvals.tier_3 = 1");
    assert!(
        fixture.problems()[0]
            .contains("approvals.tier_3: 1 is less strict than 2, and a user file can only tighten the policy")
    );
    assert_eq!(fixture.load().policy.approvals.high, 2);
    // An invalid value of this key, or an invalid file that mentions it, requires two approvers.
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
    // A directory with pattern files only is also an own configuration.
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
