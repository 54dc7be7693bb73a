//! Verdicts and refusals in one line.

use super::style::{Line, Style};
use super::{visible, why};
use crate::judge::policy::{Decision, Refusal};
use crate::judge::risk::{Finding, Risk};

/// Returns the line on standard error for a refusal. It begins with the kind of refusal, so that the requester can
/// distinguish a rule, a person, and a timeout.
#[must_use]
pub fn refusal(refusal: &Refusal) -> Line {
    Line::of(Style::Strong, "guard: refused: ").with(Style::Plain, refusal.to_string())
}

/// Returns the full refusal as one line: its kind, the most severe finding, and the alternative.
#[must_use]
pub fn refused(refusal: &Refusal, risk: &Risk) -> String {
    let mut line = format!("guard: refused: {refusal}");
    if let Some(reason) = why::circumstance(risk) {
        line.push_str(&format!(" [tier {}: {reason}]", risk.tier.number()));
    } else if let Some(finding) = worst(risk) {
        if !matches!(refusal, Refusal::Rule { .. }) {
            line.push_str(&format!(" [{}, tier {}: {}]", finding.rule, finding.tier.number(), finding.reason));
        }
        if let Some(instead) = &finding.instead {
            line.push_str(&format!(" Instead: {instead}"));
        }
    }
    visible::text(&line).into_owned()
}

/// Returns the question as one line, if another program displays the command.
#[must_use]
pub fn question(risk: &Risk) -> String {
    let mut line = format!("guard asks: {} (tier {}, score {})", named(risk), risk.tier.number(), risk.score);
    if let Some(reason) = why::circumstance(risk) {
        line.push_str(&format!(": {reason}"));
    } else if let Some(finding) = worst(risk) {
        line.push_str(&format!(": {} [{}]", finding.reason, finding.rule));
        if !finding.touches.is_empty() {
            let label = if finding.rule.starts_with("opaque.") { "Here:" } else { "Touches" };
            line.push_str(&format!(" {label} {}.", finding.touches.join(", ")));
        }
        if let Some(instead) = &finding.instead {
            line.push_str(&format!(" Safer: {instead}"));
        }
    }
    visible::text(&line).into_owned()
}

/// Returns the name of the tier, or that of a syntax error.
fn named(risk: &Risk) -> &'static str {
    if why::is_syntax_error(risk) { "syntax error" } else { risk.tier.name() }
}

fn worst(risk: &Risk) -> Option<&Finding> {
    risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight))
}

/// Returns the decision and the most severe reason, in one line.
#[must_use]
pub fn verdict(decision: &Decision, risk: &Risk) -> Line {
    let line = Line::of(Style::Strong, decision.name())
        .with(Style::Plain, "  ")
        .with(Style::Tier(risk.tier), format!("{} (tier {}, score {})", named(risk), risk.tier.number(), risk.score));
    let worst = why::groups(&risk.findings).into_iter().next();
    let circumstance = why::circumstance(risk).filter(|_| matches!(decision, Decision::Ask(_)));
    match (decision, worst) {
        _ if circumstance.is_some() => line.with(Style::Plain, format!("  {}", circumstance.unwrap_or_default())),
        (Decision::Refuse(why), _) => line.with(Style::Plain, format!("  {why}")),
        (_, Some(worst)) => line
            .with(Style::Plain, format!("  {}", worst.first.sentence()))
            .with(Style::Dim, format!("  {}", worst.first.rule)),
        (_, None) => line,
    }
}

/// Returns the line that remains after a card: the beginning of the command, marked if it is truncated.
#[must_use]
pub fn settled(what: &str, command: &[u8], columns: usize) -> Line {
    let line = Line::of(Style::Dim, format!("guard: {what}: "));
    let room = columns.saturating_sub(line.width() + 1);
    let mut text = String::new();
    let mut used = 0;
    for glyph in visible::glyphs(command, &[], false) {
        used += glyph.shown.width();
        if used > room.saturating_sub(1) {
            text.push('…');
            break;
        }
        text.push_str(&glyph.shown.to_string());
    }
    line.with(Style::Plain, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::risk::{Circumstance, CircumstanceFact, Tier, Weight};

    #[test]
    fn what_a_circumstance_alone_makes_grave_has_a_reason() {
        let fact = CircumstanceFact::Production;
        let there = Circumstance { fact, weight: Weight::of_tier(Tier::Low), detail: Some("prod".to_owned()) };
        let risk = Risk::join(Tier::Low, Vec::new(), vec![there.clone()]);
        assert!(question(&risk).contains("production (prod)"), "{}", question(&risk));
        let safe = Risk::join(Tier::Low, Vec::new(), vec![Circumstance { fact: CircumstanceFact::Root, ..there }]);
        assert!(!question(&safe).contains("production"));
    }
}
