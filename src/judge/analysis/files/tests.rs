use super::*;
use crate::judge::analysis::act::{Taint, Value};

fn place(path: &str) -> Place {
    Place::of(path)
}

/// Returns the possible texts of a file, in the order in which they were written.
fn texts(files: &FileModel, sinks: &[Sink], path: &str) -> Vec<String> {
    let contents = files.written.get(&place(path)).map(|written| written.contents.clone()).unwrap_or_default();
    contents.iter().map(|sink| sinks[*sink].text.rough().into_owned()).collect()
}

fn write(files: &mut FileModel, sinks: &mut Vec<Sink>, path: &str, text: &str, append: bool, conditional: bool) {
    let sink = files.open(sinks, place(path), append, conditional);
    sinks[sink].write(&Value::text(text), Taint::default(), false);
}

#[test]
fn a_file_that_is_written_anew_holds_nothing_of_before() {
    let (mut files, mut sinks) = (FileModel::default(), Vec::new());
    write(&mut files, &mut sinks, "/a", "one", false, false);
    write(&mut files, &mut sinks, "/a", "two", false, false);
    assert_eq!(texts(&files, &sinks, "/a"), ["two"]);
    write(&mut files, &mut sinks, "/a", "three", false, true);
    assert_eq!(texts(&files, &sinks, "/a"), ["two", "three"], "it may not be written");
    assert!(files.holds(&place("/a")) && !files.holds(&place("/b")));
}

#[test]
fn what_is_appended_stands_behind_what_was_there() {
    let (mut files, mut sinks) = (FileModel::default(), Vec::new());
    write(&mut files, &mut sinks, "/a", "one", true, false);
    assert!(sinks[0].base.is_some(), "what the world had there stands before it");
    write(&mut files, &mut sinks, "/a", "two", true, false);
    assert_eq!(texts(&files, &sinks, "/a"), ["onetwo"]);
    assert!(sinks[1].base.is_some(), "and it stays there");
}

#[test]
fn alternatives_of_one_file_are_limited() {
    let (mut files, mut sinks) = (FileModel::default(), Vec::new());
    for text in 0..2 * MAX_ALTERNATIVES {
        write(&mut files, &mut sinks, "/a", &text.to_string(), false, true);
        files.copy(place(&format!("/{text}")), place("/c"), true);
    }
    assert_eq!(texts(&files, &sinks, "/a").len(), MAX_ALTERNATIVES);
    assert_eq!(files.written[&place("/c")].copies.len(), MAX_ALTERNATIVES);
}

#[test]
fn a_copy_of_a_copy_is_one_of_the_first() {
    let mut files = FileModel::default();
    files.copy(place("/a"), place("/b"), false);
    files.copy(place("/b"), place("/c"), false);
    assert_eq!(files.written[&place("/c")].copies, [place("/a")]);
    files.copy(place("/x"), place("/c"), false);
    assert_eq!(files.written[&place("/c")].copies, [place("/x")]);
    files.copy(place("/a"), place("/c"), true);
    assert_eq!(files.written[&place("/c")].copies, [place("/x"), place("/a")]);
}

#[test]
fn an_update_writes_or_copies_as_it_says() {
    let (mut files, mut sinks) = (FileModel::default(), Vec::new());
    let data = |text: &str| WrittenData::of(place("/a"), Value::text(text), Taint::FETCHED, false);
    let mut apply = |update| files.apply(&mut sinks, update);
    apply(FileUpdate::Write(data("one")));
    apply(FileUpdate::Write(WrittenData { append: true, taint: Taint::default(), ..data("two") }));
    apply(FileUpdate::Write(WrittenData { conditional: true, ..data("three") }));
    apply(FileUpdate::Copy { source: place("/x"), target: place("/b"), conditional: false });
    apply(FileUpdate::Copy { source: place("/y"), target: place("/b"), conditional: true });
    assert_eq!(texts(&files, &sinks, "/a"), ["onetwo", "three"]);
    assert!(sinks[0].taint.has(Taint::FETCHED) && sinks.iter().all(|sink| sink.base.is_none()));
    assert_eq!(files.written[&place("/b")].copies, [place("/x"), place("/y")]);
}
