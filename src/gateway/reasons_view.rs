//! The reasons for a request as the page shows them: the parts of its command that findings refer to, and each finding,
//! with invisible characters made visible.
//!
//! Out of scope: access control.

use serde_json::{Value, json};

use crate::judge::risk::Tier;
use crate::store::queue::{Pending, Reasons};

fn visible(text: &str) -> String {
    guard_ui::ui::visible::text(text).into_owned()
}

/// Splits the command into parts, each with the highest tier of the findings in it. As on the card at a terminal,
/// findings of tier 2 and above are marked, and those of the highest tier.
#[must_use]
pub fn parts(pending: &Pending) -> Vec<Value> {
    let command = pending.command.as_str();
    let findings = pending.reasons.as_ref().map_or(&[][..], |reasons| &reasons.findings);
    let worst = findings.iter().map(|one| one.tier).max().unwrap_or_default();
    let marked = findings.iter().filter(|one| one.tier >= Tier::Medium || one.tier == worst);
    let spans: Vec<(usize, usize, Tier)> = marked
        .flat_map(|one| one.spans.iter().map(|span| (span.0 as usize, span.1 as usize, one.tier)))
        .filter(|(from, until, _)| command.get(*from..*until).is_some_and(|part| !part.is_empty()))
        .collect();
    let mut cuts: Vec<usize> = spans.iter().flat_map(|(from, until, _)| [*from, *until]).collect();
    cuts.extend([0, command.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let part = |cut: &[usize]| {
        let &[from, until] = cut else { return None };
        let text = command.get(from..until)?;
        let tier = spans.iter().filter(|span| span.0 <= from && until <= span.1).map(|span| span.2).max();
        Some(json!({ "text": visible(text), "tier": tier }))
    };
    cuts.windows(2).filter_map(part).collect()
}

/// Returns the findings, the context, and the evidence of what the command would touch.
#[must_use]
pub fn shown(reasons: &Reasons) -> Value {
    let each = |all: &[String]| all.iter().map(|text| visible(text)).collect::<Vec<_>>();
    let findings: Vec<Value> = reasons
        .findings
        .iter()
        .map(|one| {
            json!({
                "rule": visible(&one.rule), "tier": one.tier, "weight": one.weight, "reason": visible(&one.reason),
                "instead": one.instead.as_deref().map(visible), "touches": each(&one.touches),
                "lowered": one.lowered.as_deref().map(visible), "spans": one.spans,
            })
        })
        .collect();
    let context = reasons.context.iter().map(|one| {
        let words = guard_ui::ui::circumstance_words(one.fact);
        json!({ "fact": one.fact, "words": words, "weight": one.weight, "detail": one.detail.as_deref().map(visible) })
    });
    json!({
        "reversibility": reasons.reversibility, "undo": guard_ui::ui::undo_words(reasons.reversibility), "findings": findings, "context": context.collect::<Vec<_>>(),
        "evidence": each(&reasons.evidence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{changed, pending};

    fn of(command: &str, findings: &Value) -> Pending {
        let reasons = json!({ "reversibility": "hard", "findings": findings, "evidence": ["x \u{202e}"] });
        let reasons = serde_json::from_value(reasons).unwrap();
        changed(pending(), |one| (one.command, one.reasons) = (command.to_owned(), Some(reasons)))
    }

    fn finding(tier: u8, spans: &[(u32, u32)]) -> Value {
        json!({ "rule": "a.b", "tier": tier, "weight": f64::from(tier), "reason": "Bad \u{1b}.", "spans": spans })
    }

    #[test]
    fn parts_are_marked_with_the_worst_that_is_in_them() {
        let one = of(
            "ls; rm \u{202e}x; git push",
            &json!([finding(3, &[(4, 12)]), finding(2, &[(7, 20)]), finding(1, &[(0, 2)])]),
        );
        let told = parts(&one);
        let texts: Vec<(&str, Option<u64>)> =
            told.iter().map(|part| (part["text"].as_str().unwrap(), part["tier"].as_u64())).collect();
        assert_eq!(
            texts,
            [("ls; ", None), ("rm ", Some(3)), ("⟨U+202E⟩x;", Some(3)), (" git pus", Some(2)), ("h", None)]
        );
        // A span outside the command marks nothing, and a command without findings is one part.
        for odd in [(3, 3), (9, 4), (5, 400), (6, 9)] {
            assert_eq!(parts(&of("rm \u{e4}\u{202e} x", &json!([finding(3, &[odd])]))).len(), 1, "{odd:?}");
        }
        assert_eq!(parts(&pending()), [json!({ "text": "npm install left-pad", "tier": null })]);
        let told = shown(one.reasons.as_ref().unwrap());
        assert_eq!(
            (&told["findings"][0]["reason"], &told["evidence"][0]),
            (&json!("Bad ⟨ESC⟩."), &json!("x ⟨U+202E⟩"))
        );
    }
}
