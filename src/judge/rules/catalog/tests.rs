//! Tests of the catalog: a lookup by name finds everything that exists.

use super::*;

fn file(layer: Layer, text: &str) -> PatternFile {
    PatternFile { path: "x.toml".to_owned(), text: text.to_owned(), layer }
}

#[test]
fn every_built_in_rule_and_program_is_found_by_its_name() {
    let catalog = Catalog::builtin();
    assert!(catalog.all_rules().count() > 0);
    for rule in catalog.all_rules() {
        assert_ne!(rule.id, "guard.catalog");
        assert_eq!(catalog.rule(&rule.id).map(|found| &found.id), Some(&rule.id));
    }
    for program in catalog.all_programs() {
        assert_eq!(catalog.program(&program.names[0]).map(|found| &found.names), Some(&program.names));
    }
}

#[test]
fn what_an_expression_needs_stands_in_all_that_it_is_found_in() {
    use crate::judge::rules::model::TextTest;
    use crate::judge::rules::{expression, text};
    let catalog = Catalog::builtin();
    fn tests(rule: &Rule) -> impl Iterator<Item = &TextTest> {
        let when = &rule.when;
        let flags = when.flags.iter().chain(&when.no_flags).filter_map(|flag| flag.value.as_ref());
        let env = when.env.iter().filter_map(|env| env.value.as_ref());
        when.operands.iter().map(|operand| &operand.test).chain(&when.words).chain(flags).chain(env)
    }
    let examples = catalog.examples();
    let lines = || examples.iter().flat_map(|of| of.bad.iter().chain(&of.good));
    let (mut found, mut needy) = (0, 0);
    for rule in catalog.all_rules() {
        for (test, regex) in tests(rule).filter_map(|test| Some((test, test.regex.as_deref()?))) {
            assert_eq!(test.literals, expression::literals(regex), "{}", rule.id);
            needy += usize::from(!test.literals.is_empty());
            let own = examples.iter().filter(|of| of.rule == rule.id).flat_map(|of| &of.bad);
            for text in own.chain(lines().step_by(97)).flat_map(|line| line.split([' ', '\'', '"']).chain([&**line])) {
                if text::found(regex, text) {
                    found += 1;
                    assert!(text::matches(test, text), "{}: {text}", rule.id);
                }
            }
        }
    }
    assert!(found > 1000 && needy > 100, "{found} {needy}");
}

#[test]
fn rules_that_an_act_cannot_match_are_not_among_those_for_it() {
    let catalog = Catalog::builtin();
    let ids = |have, sub| -> Vec<&str> { catalog.rules_for("git", have, sub).map(|rule| rule.id.as_str()).collect() };
    let all: Vec<&str> = catalog.rules("git").map(|rule| rule.id.as_str()).collect();
    let every = Features(u32::MAX);
    assert!(ids(Features::default(), Some("status")).len() * 4 < all.len());
    for rule in catalog.rules("git") {
        let first = rule.when.subs.first().and_then(|path| path.first()).map(String::as_str);
        assert!(ids(every, first).contains(&rule.id.as_str()), "{}", rule.id);
        let needs = Features::required(rule);
        assert!(ids(needs, first).contains(&rule.id.as_str()), "{}", rule.id);
        if needs != Features::default() {
            assert!(!ids(Features::default(), first).contains(&rule.id.as_str()), "{}", rule.id);
        }
    }
}

#[test]
fn globs_are_found_by_their_language_as_if_all_were_looked_at() {
    use crate::judge::rules::glob;
    let catalog = Catalog::builtin();
    let verbs = || catalog.all_rules().flat_map(|rule| &rule.when.verbs).filter(|verb| *verb != "*");
    let globs = catalog.all_programs().flat_map(|program| &program.names).chain(verbs());
    let stars = globs.filter(|name| name.contains('*') && !name.contains(['[', '?', '{']));
    let keys = stars.map(|pattern| pattern.replace('*', "x"));
    let mut tried = 0;
    for key in keys {
        let covers = |verb: &String| *verb == key || verb != "*" && glob::text(verb, &key);
        let mut wanted: Vec<&str> = catalog
            .all_rules()
            .filter(|rule| rule.when.verbs.iter().any(covers))
            .map(|rule| rule.id.as_str())
            .collect();
        let mut found: Vec<&str> = catalog.rules(&key).map(|rule| rule.id.as_str()).collect();
        for ids in [&mut wanted, &mut found] {
            ids.sort_unstable();
            ids.dedup();
        }
        assert_eq!(found, wanted, "{key}");
        let covered = |program: &Program| program.names.iter().any(|name| *name == key || glob::text(name, &key));
        assert_eq!(catalog.program(&key).is_some(), catalog.all_programs().any(covered), "{key}");
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn a_tool_is_found_by_every_name_and_glob_in_the_order_of_the_entries() {
    use crate::judge::rules::glob;
    let catalog = Catalog::builtin();
    let names = catalog.tools().flat_map(|(_, tool)| &tool.names);
    let samples: Vec<String> =
        names.filter(|name| !name.contains(['[', '?', '{'])).map(|name| name.replace('*', "x")).collect();
    assert!(samples.len() > 500, "{}", samples.len());
    for pair in samples.windows(2) {
        let covers = |tool: &&Tool| tool.names.iter().any(|name| pair.iter().any(|sample| glob::text(name, sample)));
        let wanted: Vec<&str> =
            catalog.tools().map(|(_, tool)| tool).filter(covers).map(|tool| tool.id.as_str()).collect();
        let found = catalog.tools_named(pair.iter().map(String::as_str));
        let found: Vec<&str> = found.map(|(_, tool)| tool.id.as_str()).collect();
        assert_eq!(found, wanted, "{pair:?}");
    }
}

#[test]
fn what_is_asked_for_twice_is_decoded_once() {
    let catalog = Catalog::builtin();
    assert!(std::ptr::eq(catalog.program("rm").unwrap(), catalog.program("rm").unwrap()));
}

#[test]
fn the_rules_of_a_user_stand_beside_the_built_in_ones() {
    let own = "family = 'mine'\nabout = 'mine'\n[[rule]]\nid = 'mine.rm'\ntier = 2\nreversibility = 'hard'\n\
               reason = 'r'\nprogram = 'rm'\nflags = ['--force']\nbad = ['rm -f x']\ngood = ['rm x']\n";
    let (catalog, problems) = Catalog::with_files([file(Layer::User, own)]);
    assert_eq!(problems, []);
    let ids: Vec<&str> = catalog.rules("rm").map(|rule| rule.id.as_str()).collect();
    assert!(ids.contains(&"mine.rm") && ids.len() > 1, "{ids:?}");
    assert_eq!(catalog.rule("mine.rm").unwrap().when.flags[0].names, ["-f", "--force"]);
    assert_eq!(catalog.origin("mine.rm"), Some((Layer::User, Some("x.toml"))));
}

#[test]
fn a_path_is_held_against_every_glob_that_covers_it() {
    let catalog = Catalog::builtin();
    let packed = catalog.read(0).unwrap();
    let mut tried = 0;
    for stored in packed.blob.all_paths() {
        let name = stored.glob.trim_start_matches("~/").trim_start_matches("/").replace(['*', '?'], "x");
        let path = if stored.glob.starts_with('~') { format!("/home/me/{name}") } else { format!("/{name}") };
        if covers(stored.glob, &path, &[]) {
            tried += 1;
            assert!(packed.blob.path_candidates(&path).any(|other| other == stored), "{path}");
        }
    }
    assert!(tried > 100, "{tried}");
}
