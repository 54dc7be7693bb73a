//! Tests texts with unknown parts.

use super::*;

fn mixed() -> Text {
    Text::joined([Slice::from("a "), Text::from(Gap::Name).slice(), "b\u{fffc} ".into(), Text::from(Gap::Each).slice()])
}

#[test]
fn a_part_keeps_what_is_not_known_of_it() {
    let text = mixed();
    let words: Vec<Text> = text.rough().split(' ').map(|word| text.slice().part(word).into()).collect();
    assert_eq!(words[0], "a");
    assert_eq!(words[1], Text::joined([Text::from(Gap::Name).slice(), "b\u{fffc}".into()]));
    assert_eq!(words[2], Text::from(Gap::Each));
    let (one, other) = text.slice().two(|text| text.split_once('b')).unwrap();
    let mut joined = Text::from(one);
    joined.push_text("b");
    joined.push_text(other);
    assert_eq!(joined, text);
    assert_eq!(text.slice().signs().collect::<Text>(), text);
    assert_eq!(text.slice().cut(|_| "elsewhere").known(), Some("elsewhere"));
    assert!(text.slice().cut(str::trim_end).has(Gap::Each) && !text.slice().cut(|text| &text[..3]).has(Gap::Each));
}

#[test]
fn no_text_is_a_part_that_is_not_known() {
    for written in ["\u{fffc}", "\u{e001}", "\u{fffd}", "\u{1}"] {
        assert_eq!(Text::from(written).known(), Some(written));
        assert_eq!(Slice::from(written).value(), Value::text(written));
    }
    // A text with a NUL is unknown, and has no gap of any other kind.
    for written in ["\0", "a\0\u{e002}", "\0\u{fffc}"] {
        assert!(Text::from(written).has_gaps() && Text::from(written).known().is_none());
        assert!(Slice::from(written).known().is_none() && Slice::from(written).value().is_dynamic());
        assert!(![Gap::Temporary, Gap::Name, Gap::Each, Gap::Found].iter().any(|gap| Text::from(written).has(*gap)));
    }
    // The rough text of a gap becomes an unknown value when it is parsed again.
    assert_eq!(Text::from(Text::from(Gap::Temporary).rough()), Text::from(Gap::Value));
}

#[test]
fn a_value_tells_what_stands_for_each_part() {
    let found =
        Text::joined([Slice::from("/a/"), Text::from(Gap::Found).slice(), "/".into(), Text::from(Gap::Name).slice()]);
    let why = UnknownReason::Found(Some("/a/".into()));
    assert_eq!(found.slice().value(), Value::of(vec![unknown_for(why, Taint::default())]));
    assert_eq!(Text::from(Gap::Name).slice().value(), Value::of(vec![Piece::Glob("*".into())]));
    assert_eq!(mixed().slice().value().pieces().len(), 4);
    assert_eq!(Text::default().slice().value(), Value::default());
}
