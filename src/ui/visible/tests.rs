use super::{GlyphForm, glyphs, line, meaning, text};

/// Returns a command as it is displayed.
fn shown(bytes: &[u8]) -> String {
    line(bytes, false)
}

#[test]
fn controls_are_named() {
    assert_eq!(shown(b"a\x1b[2Jb\x07\0\x7f\r"), "a⟨ESC⟩[2Jb⟨BEL⟩⟨NUL⟩⟨DEL⟩⟨CR⟩");
    assert_eq!(shown("\u{9b}2J".as_bytes()), "⟨U+009B⟩2J");
}

#[test]
fn tabs_and_newlines_are_shown() {
    assert_eq!(shown(b"a\tb\nc"), "a⇥ b↵c");
}

#[test]
fn what_changes_direction_or_takes_no_space_is_shown_by_its_number() {
    for c in "\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{ad}\u{e0041}\u{fe0f}\u{2028}\u{a0}\u{3164}\u{e000}".chars() {
        assert_eq!(shown(c.to_string().as_bytes()), format!("⟨U+{:04X}⟩", u32::from(c)));
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_bytes() {
    assert_eq!(shown(b"a\xff\xc3(\xe2\x82"), "a⟨0xFF⟩⟨0xC3⟩(⟨0xE2⟩⟨0x82⟩");
}

#[test]
fn a_bracket_in_the_command_cannot_pass_for_one_of_guard() {
    assert_eq!(shown("⟨ESC⟩".as_bytes()), "⟨U+27E8⟩ESC⟨U+27E9⟩");
}

#[test]
fn letters_that_look_like_others_are_marked_in_mixed_words_and_in_command_words() {
    // Cyrillic с in a Latin word.
    assert_eq!(shown("\u{441}url x".as_bytes()), "\u{441}⟨U+0441⟩url x");
    // A whole word in Cyrillic is ordinary text, but not as a command.
    assert_eq!(shown("echo привет".as_bytes()), "echo привет");
    let all: String = glyphs("рм x".as_bytes(), std::slice::from_ref(&(0..4)), false)
        .iter()
        .map(|glyph| glyph.shown.to_string())
        .collect();
    assert_eq!(all, "р⟨U+0440⟩м⟨U+043C⟩ x");
    // An en dash at the beginning of an option.
    assert_eq!(shown("rm \u{2013}rf".as_bytes()), "rm \u{2013}⟨U+2013⟩rf");
    assert_eq!(shown("1 \u{2013} 2".as_bytes()), "1 \u{2013} 2");
}

#[test]
fn ordinary_text_in_any_language_stays_as_it_is() {
    for text in ["git commit -m 'Größe ändern'", "echo 漢字 かな", "echo ελληνικά", "mv cafe\u{301}.txt x", "echo 🚀"]
    {
        assert_eq!(shown(text.as_bytes()), text);
    }
}

#[test]
fn one_accent_stands_on_its_letter_and_a_heap_of_them_does_not() {
    assert_eq!(shown("e\u{301}\u{301}".as_bytes()), "e\u{301}⟨U+0301⟩");
    assert_eq!(shown("\u{301}".as_bytes()), "⟨U+0301⟩");
    assert_eq!(shown("l\u{338}s".as_bytes()), "l⟨U+0338⟩s");
}

#[test]
fn every_glyph_is_as_wide_as_it_says() {
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        for glyph in glyphs(c.to_string().as_bytes(), &[], false) {
            let width = crate::ui::style::width(&glyph.shown.to_string());
            assert_eq!(glyph.shown.width(), width, "{:04X}", u32::from(c));
            assert!(width > 0 && !glyph.shown.to_string().contains(char::is_control));
            assert!(!glyph.shown.is_odd() || !meaning(glyph.shown).is_empty());
        }
    }
    assert_eq!(GlyphForm::LookAlike('\u{441}').width(), 9);
}

#[test]
fn prose_keeps_its_brackets_and_loses_its_controls() {
    assert_eq!(text("a ⟨ESC⟩ b\n\x1b[2J\u{202e}"), "a ⟨ESC⟩ b ⟨ESC⟩[2J⟨U+202E⟩");
    assert!(matches!(text("plain – “quoted” é e\u{301}"), std::borrow::Cow::Borrowed(_)));
}
