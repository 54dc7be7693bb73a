use std::cell::RefCell;

use super::*;
use crate::judge::analysis::act::NumberId;

/// Returns text in which each `#` is a number of the command.
fn numbered(text: &str) -> Value {
    let mut value = Value::default();
    for (index, part) in text.split('#').enumerate() {
        if index > 0 {
            let why = UnknownReason::Number(NumberId { id: 1, plain: true });
            value.push(Piece::Unknown(Unknown { why, taint: Taint::default() }));
        }
        value.push(Piece::Text(part.into()));
    }
    value
}

fn writing(value: Value) -> Act {
    Act {
        operands: vec![Operand { value, span: Span::default() }],
        tier: Tier::Low,
        ..act(Verb::Effect(Effect::Write))
    }
}

/// Returns the highest tier of the findings of an act, and the questions asked for it. `/home/me/project/link` leads to
/// `/etc`.
fn found(act: Act) -> (Option<Tier>, Vec<String>) {
    let asked = RefCell::new(Vec::new());
    let source = |question: &Question| {
        asked.borrow_mut().push(format!("{question:?}"));
        match question {
            Question::Path(path) => {
                let canonical = path.replacen("/home/me/project/link", "/etc", 1);
                let (kind, symlink) = (PathKind::Directory, path.ends_with("/link"));
                WorldAnswer::Path(PathFacts { kind, canonical, symlink, bytes: 0 })
            }
            _ => WorldAnswer::Unavailable,
        }
    };
    let (catalog, answers) = (Catalog::builtin(), Answers::of(&source));
    let facts = Facts { acts: vec![act], ..Facts::default() };
    let findings = find(&invocation("x"), &facts, &catalog, &Policy::default(), &Inquiry::new(&answers));
    (findings.iter().map(|finding| finding.tier).max(), asked.into_inner())
}

#[test]
fn what_is_known_in_part_is_looked_for_where_the_known_part_leads() {
    let tier = |text: &str| found(writing(numbered(text))).0;
    assert_eq!(tier("link/x#"), tier("/etc/x#"));
    assert!(tier("link/x#") > tier("src/x#"), "{:?} {:?}", tier("link/x#"), tier("src/x#"));
}

#[test]
fn the_world_is_never_asked_about_a_place_that_is_known_in_part() {
    for text in ["link/x#", "x#/y", "/tmp/x#/y", "/etc/x#", "#", "~/x#.env"] {
        for effect in [Effect::Write, Effect::Delete, Effect::Load, Effect::Show, Effect::Move] {
            let act = Act { verb: Verb::Effect(effect), recursive: true, ..writing(numbered(text)) };
            let (_, asked) = found(act);
            assert!(!asked.iter().any(|question| question.contains('\u{fffc}')), "{text} {effect:?} {asked:?}");
        }
    }
    let made = writing(value("%/x"));
    assert!(!found(made).1.iter().any(|question| question.contains('\u{fffc}')));
}
