//! Tests grants of configuration files: their command, directory and expiry, and the refused ones.

use super::*;

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
    assert_eq!(deploy.what, GrantSubject::Exact { command: "make deploy".to_owned() });
    assert_eq!(deploy.place, GrantPlace::Directory { path: "/srv/app".to_owned() });
    // date -u -d 2030-02-01 +%s
    assert_eq!(deploy.until, GrantExpiry::Date { at: 1_896_134_400 });
    assert_eq!(deploy.words, "exactly `make deploy`, in /srv/app and below, until 2030-01-31");
    assert_eq!((&push.place, &push.until), (&GrantPlace::Anywhere, &GrantExpiry::Revoked));
    // date -u -d 2030-01-31T10:00:00Z +%s
    assert_eq!(moment.until, GrantExpiry::Date { at: 1_896_084_000 });
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
