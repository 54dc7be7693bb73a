//! Tests terminals: selecting one, and typing into it.

use super::*;

fn typed(flags: &[(&str, Option<&str>)], words: &[&str]) -> NamedObject {
    NamedObject {
        flags: flags.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect(),
        operands: words.iter().map(|word| (*word).to_owned()).collect(),
        ..NamedObject::default()
    }
}

fn text(text: &str) -> TypedText {
    TypedText::Text(text.to_owned())
}

#[test]
fn keys_are_known_by_name_and_everything_else_is_text() {
    let keys = |words: &[&str]| keys(&typed(&[], words)).unwrap();
    assert_eq!(keys(&["ls", "Space", "-l", "enter"]), [text("ls"), text(" "), text("-l"), TypedText::Enter]);
    assert_eq!(keys(&["C-m", "C-c", "Escape"]), [TypedText::Enter, TypedText::Clear, TypedText::Escape]);
    assert_eq!(keys(&["Up", "C-r", "M-x", "F5", "BSpace", "^A"]), vec![TypedText::Edit; 6]);
    assert_eq!(keys(&["Fine", "C- x", "Upper"]), [text("Fine"), text("C- x"), text("Upper")]);
    // A line break in a text is Enter.
    assert_eq!(keys(&["a\nb\r"]), [text("a"), TypedText::Enter, text("b"), TypedText::Enter]);
}

#[test]
fn typed_as_it_is_a_name_is_text_and_other_ways_of_typing_are_not_read() {
    assert_eq!(keys(&typed(&[("-l", None)], &["Enter"])), Some(vec![text("Enter")]));
    for other in ["-H", "-X", "-N", "-R"] {
        assert_eq!(keys(&typed(&[(other, None)], &["41"])), None, "{other}");
    }
}

#[test]
fn parts_of_a_session_are_told_apart_by_numbers_and_by_names_alone() {
    for (one, other) in [("0.1", "0.1"), ("", "0.2"), ("0", "0.2"), ("main", "0"), ("0.1", "main")] {
        let parts = |text: &'static str| text.split('.').filter(|part| !part.is_empty()).collect::<Vec<_>>();
        assert!(may_be_same(&parts(one), &parts(other)), "{one} {other}");
    }
    for (one, other) in [(["0", "1"], ["0", "2"]), (["0", "1"], ["1", "1"]), (["a", "0"], ["b", "0"])] {
        assert!(!may_be_same(&one, &other), "{one:?} {other:?}");
    }
}

#[test]
fn what_ends_a_program_is_told_from_what_it_reads() {
    for line in [":q", ":wq", ":q!", "exit()", "quit", "\\q", ".quit", "exit;"] {
        assert!(leaves(line), "{line}");
    }
    for line in [":w", ":!q", "print(1)", "quite", ""] {
        assert!(!leaves(line), "{line}");
    }
}
