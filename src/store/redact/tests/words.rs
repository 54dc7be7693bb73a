//! Tests of flat words and of the ends of values.

use super::super::words::{Separator, split, value};

#[test]
fn a_value_ends_where_a_shell_would_end_its_word() {
    for (rest, wanted) in [
        ("a b", "a"),
        // Quotes around the whole value are not part of it.
        ("'a b' c", "a b"),
        ("\"a b\" c", "a b"),
        ("$'a b' c", "a b"),
        ("'a b'c d", "'a b'c"),
        ("a'b'c d", "a'b'c"),
        ("a'b c' d", "a"),
        // A backslash quotes the next byte, except within single quotes.
        (r"aa\ b c", r"aa\ b"),
        (r#""aa\"bb" c"#, r#"aa\"bb"#),
        (r"'a\' b", r"a\"),
        (r"'a'\''b' c", r"a'\''b"),
        // Expansions.
        ("a$b c", "a$b"),
        ("a$(b c)", "a"),
        ("a${x y}b c", "a${x y}b"),
        ("a'}'${x y}b c", "a'}'${x y}b"),
        ("aaaa${x}b c d}", "aaaa${x}b"),
        // The value ends at the next part of a list.
        ("a,b=c d", "a"),
        ("a,=b c", "a,=b"),
    ] {
        let text = format!("x={rest}");
        assert_eq!(text.get(value(&text, 2, None)), Some(wanted), "{rest}");
    }
}

#[test]
fn a_word_tells_what_stands_between_it_and_the_one_before() {
    let gap = |text: &str| {
        let words = split(text);
        assert_eq!(words.len(), 2, "{text}");
        words[1].gap
    };
    for (text, wanted) in [
        ("a b ", Separator::Blank),
        ("a;b", Separator::Command),
        ("a||b", Separator::Command),
        ("a\nb", Separator::Command),
        ("a|b", Separator::Pipe),
        ("a'b'", Separator::Joined),
        ("a <<< b", Separator::HereString),
        ("a > b\n", Separator::Redirection),
    ] {
        assert_eq!(gap(text), wanted, "{text}");
    }
    assert_eq!(split("a")[0].gap, Separator::Command);
}
