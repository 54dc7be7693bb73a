//! What is read, and what is said of what cannot be.

use super::*;
use crate::judge::tier::Reversibility;

struct Shape {
    deep: Option<bool>,
    name: Located<String>,
    tier: Located<Tier>,
    skip: Option<u32>,
    words: Vec<String>,
    undone: Option<Located<Reversibility>>,
}

fn shape(fields: &mut Fields<'_>) -> Shape {
    Shape {
        deep: fields.table("inner", |fields| fields.flag("deep")).map(Located::into_inner),
        name: fields.need("name", Fields::text),
        tier: fields.need("tier", Fields::tier),
        skip: fields.count("skip"),
        words: fields.lines("words"),
        undone: fields.word("undone"),
    }
}

fn faults(text: &str) -> Vec<(Range<usize>, String, String, String)> {
    let table = DeTable::parse(text).unwrap();
    let faults = read(&table, shape).err().unwrap_or_default();
    faults.into_iter().map(|fault| (fault.span, fault.key, fault.what, fault.remedy)).collect()
}

#[test]
fn what_is_asked_for_is_read_with_its_place() {
    let text = "name = 'a'\ntier = 0x3\nskip = 1_0\nwords = ['x', 'y']\nundone = 'read-only'\n[inner]\ndeep = true\n";
    let table = DeTable::parse(text).unwrap();
    let read = read(&table, shape).unwrap();
    assert_eq!((read.name.span(), read.name.into_inner().as_str()), (7..10, "a"));
    assert_eq!((read.tier.into_inner(), read.skip, read.deep), (Tier::High, Some(10), Some(true)));
    assert_eq!(read.words, ["x", "y"]);
    assert_eq!(read.undone.unwrap().into_inner(), Reversibility::ReadOnly);
}

#[test]
fn every_fault_is_named_with_its_place_and_the_nearest_word() {
    let text = "name = 3\ntier = 7\nskip = -1\nwords = ['x', 4]\nundone = 'read_only'\ninner = { dep = 1 }\n";
    let found = faults(text);
    let short: Vec<(&str, &str, &str)> =
        found.iter().map(|fault| (text.get(fault.0.clone()).unwrap(), &*fault.1, &*fault.3)).collect();
    let right = [
        ("dep", "", "did you mean `deep`?"),
        ("3", "name", ""),
        ("7", "tier", ""),
        ("-1", "skip", ""),
        ("4", "words", ""),
        ("'read_only'", "undone", "did you mean `read-only`?"),
    ];
    assert_eq!(short, right);
    assert_eq!(found[2].2, "a tier is 0, 1, 2, 3 or 4, not 7");
    assert_eq!(found[3].2, "expected a whole number from 0, found -1");
    assert!(found[5].2.starts_with("`read_only` is not known, expected one of `read-only`, `soft`"), "{found:?}");
}

#[test]
fn what_is_missing_is_named_and_what_is_misspelled_is_not_missing_too() {
    let keys = |text: &str| faults(text).into_iter().map(|fault| (fault.1, fault.3)).collect::<Vec<_>>();
    let pair = |key: &str, remedy: &str| (key.to_owned(), remedy.to_owned());
    assert_eq!(keys("skip = 1\n"), [pair("name", "add it"), pair("tier", "add it")]);
    assert_eq!(keys("tier = 1\nnaem = 'a'\n"), [pair("", "did you mean `name`?")]);
}

#[test]
fn a_string_reads_back_as_it_was_written() {
    for text in ["", "a\"b\\c\u{1b}", "ä'\n\t\u{7f}"] {
        let line = format!("x = {}", quoted(text));
        let table = DeTable::parse(&line).unwrap();
        assert_eq!(read(&table, |fields| fields.line("x")).unwrap().as_deref(), Some(text));
    }
}
