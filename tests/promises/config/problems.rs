//! Tests that a problem in a file is reported with its remedy, and makes guard stricter.

use super::*;

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
        ("weights.trusted_directory = 0.1", "weights.trusted_directory: expected a number from -1.0 to 0.0, found 0.1"),
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
        ("trusted_directories = [\"build\"]", "trusted_directories: \"build\": a directory must be absolute"),
        ("trusted_directories = [\"/**\"]", "trusted_directories: \"/**\": it matches every directory"),
        (
            "trusted_directories = [\"/a/../..\"]",
            "trusted_directories: \"/a/../..\": a directory must not contain `..`",
        ),
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
