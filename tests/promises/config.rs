//! Tests the configuration: layers, locks, problems with their positions, and failing closed.

#[path = "config/editing.rs"]
mod editing;
#[path = "config/grants.rs"]
mod grants;
#[path = "config/layers.rs"]
mod layers;
#[path = "config/problems.rs"]
mod problems;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guard::config::keys::{ConfigType, KEYS, StrictDirection};
use guard::config::{self, Layer, Loaded, Roots};
use guard::judge::approved::{GrantExpiry, GrantId, GrantPlace, GrantSubject};
use guard::judge::policy::{Mode, Policy, Preset, Record};
use guard::judge::risk::{CircumstanceFact, Tier, Weight};
use proptest::prelude::*;

use crate::harness::home::Home;
use crate::harness::pty::Terminal;

/// A machine, a home and a project in a temporary directory.
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

    /// Loads a configuration that must be valid.
    fn policy(&self) -> Policy {
        let loaded = self.load();
        assert!(loaded.problems.is_empty(), "{:?}", shown(&loaded, self.directory.path()));
        loaded.policy
    }

    /// Returns the problems of a configuration that must be invalid, with paths relative to the fixture.
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
    assert!(!policy.yolo && policy.trusted_directories.is_empty() && policy.disabled_rules.is_empty());
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
trusted_directories = ["~/play", "/srv/**/scratch/"]
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
    // The preset sets these values.
    assert_eq!((policy.thresholds.api, policy.timeouts.medium), (Weight(100), 45));
    assert_eq!(policy.weights[&CircumstanceFact::Root], Weight(75));
    assert_eq!((policy.timeouts.high, policy.timeouts.critical_finish), (15, 25));
    assert_eq!((policy.prompts_per_hour, policy.breaker_after, policy.retention_days), (7, 4, 30));
    let home = fixture.path("home");
    assert_eq!(policy.trusted_directories, [format!("{}/play", home.display()), "/srv/**/scratch".to_owned()]);
    assert!(policy.protected_branches.contains(&"next".to_owned()));
    assert!(!policy.protected_branches.contains(&"master".to_owned()));
    assert!(policy.protected_branches.contains(&"main".to_owned()));
    assert_eq!(policy.known_hosts, ["git.example.org"]);
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

/// Generates a line that sets some key, within its range or slightly beyond.
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

/// Generates a file that sets some keys, each once.
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

/// Asserts that each value of `after` is at least as strict as that of `before`.
fn assert_not_laxer(before: &Policy, after: &Policy, what: &str) {
    // The preset is only a name; the values that it sets are compared.
    for row in KEYS.iter().filter(|row| row.name != "preset") {
        if let (Some(before), Some(after)) = (row.key.get(before), row.key.get(after)) {
            assert!(!row.loosens(before, after), "{}: {before} became {after}\n{what}", row.name);
        }
        if let (Some(before), Some(after)) = (row.key.list(before), row.key.list(after)) {
            let (all, some) = if row.stricter == StrictDirection::Higher { (after, before) } else { (before, after) };
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
