//! Draws the reasons for a prompt: the directory, the findings, what they touch, and the score.

use super::card_view::CardView;
use super::command::Command;
use super::style::{Line, Look, Style};
use super::{visible, wrap};
use crate::judge::risk::{CircumstanceFact, Finding, Reversibility, Risk, Weight};
use crate::judge::sort;

/// Findings with the same rule and reason.
pub(super) struct Group<'a> {
    pub(super) first: &'a Finding,
    pub(super) touches: Vec<&'a str>,
}

impl Group<'_> {
    /// Returns the label of the operands; for a part that could not be analysed, that of the reason.
    pub(super) fn label(&self) -> &'static str {
        if self.first.rule.starts_with("opaque.") { "here: " } else { "touches " }
    }

    /// Returns its operands, the first `most` by name.
    pub(super) fn touches(&self, most: usize) -> String {
        let mut all = self.touches.iter().take(most).copied().collect::<Vec<_>>().join(", ");
        if self.touches.len() > most {
            all.push_str(&format!(" and {} more", self.touches.len() - most));
        }
        all
    }
}

/// Returns the findings, the most severe first, each reason once.
pub(super) fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sort::sort_by_key(&mut sorted, |finding| (std::cmp::Reverse((finding.tier, finding.weight)), finding.span.start));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in sorted {
        let touches = finding.touches.iter().map(String::as_str);
        match groups.iter_mut().find(|group| group.first.rule == finding.rule && group.first.reason == finding.reason) {
            Some(group) => {
                for touched in touches {
                    if !group.touches.contains(&touched) {
                        group.touches.push(touched);
                    }
                }
            }
            None => groups.push(Group { first: finding, touches: touches.collect() }),
        }
    }
    groups
}

/// Returns the reason for a prompt without a sufficient finding, which is a circumstance.
pub(super) fn circumstance(risk: &Risk) -> Option<String> {
    if risk.findings.iter().any(|finding| finding.tier >= risk.tier) {
        return None;
    }
    let production = risk.context.iter().find(|circumstance| circumstance.fact == CircumstanceFact::Production)?;
    let name = production.detail.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    Some(format!("It acts on production{name}, where guard asks about every change."))
}

/// Draws the part of a card between the command and the keys, the most important first.
pub(super) fn lines(view: &CardView, command: &Command, grants: bool, columns: usize, look: &Look) -> Vec<Line> {
    let label = |text: &str| Line::of(Style::Dim, text);
    let mut lines = command.oddities(columns);
    lines.extend(place(view, columns, look));
    if let Some(reason) = circumstance(&view.risk) {
        lines.extend(wrap::labelled(&Line::of(Style::Tier(view.risk.tier), "• "), Style::Plain, &reason, columns));
    }
    for group in groups(&view.risk.findings) {
        let first = group.first;
        let mark = Line::of(Style::Tier(first.tier), "• ");
        lines.extend(wrap::labelled(&mark, Style::Plain, &first.reason, columns));
        let mut under = first.rule.clone();
        // Less severe findings are only named; the explanation contains their details.
        if first.tier < view.risk.tier {
            lines.extend(wrap::labelled(&label("  "), Style::Dim, &under, columns));
            continue;
        }
        if !group.touches.is_empty() {
            under.push_str(" · ");
            under.push_str(group.label());
            under.push_str(&group.touches(6));
        }
        lines.extend(wrap::labelled(&label("  "), Style::Dim, &under, columns));
        if let Some(instead) = &first.instead {
            lines.extend(wrap::labelled(&label("  safer: "), Style::Safe, instead, columns));
        }
    }
    for sentence in &view.evidence {
        lines.extend(wrap::labelled(&label("› "), Style::Plain, sentence, columns));
    }
    lines.extend(wrap::labelled(&label("score "), Style::Plain, &score(&view.risk, view.threshold), columns));
    // The opinion follows the facts.
    if let Some(said) = &view.opinion {
        lines.extend(wrap::labelled(&label("~ "), Style::Dim, &visible::text(&said.line), columns));
    }
    if let Some(words) = view.session_grant.as_deref().filter(|_| grants) {
        lines.extend(wrap::labelled(&label("s covers "), Style::Dim, words, columns));
    }
    if view.first {
        lines.extend(wrap::labelled(&label("new? "), Style::Dim, FIRST, columns));
    }
    lines
}

/// The explanation on the first card.
const FIRST: &str = "Nothing has run yet. y runs it once; n denies it, with an optional reason for the requester to \
                     read; ? explains each part. See guard help approvals. This is shown once.";

/// Draws the directory, the account and the machine.
fn place(view: &CardView, columns: usize, look: &Look) -> Vec<Line> {
    let mut text = visible::line(&shorten(&view.cwd, view.home.as_deref()), look.ascii);
    if let Some(host) = &view.host {
        text.push_str(&format!(" on {host}"));
    }
    let style = if view.root { Style::Strong } else { Style::Plain };
    if view.root {
        text.push_str(", as root");
    }
    wrap::labelled(&Line::of(Style::Dim, "in    "), style, &text, columns)
}

/// Returns a path with `~` for the home directory.
fn shorten(path: &[u8], home: Option<&[u8]>) -> Vec<u8> {
    match home.and_then(|home| path.strip_prefix(home)) {
        Some(rest) if home != Some(b"/") && (rest.is_empty() || rest.starts_with(b"/")) => [b"~", rest].concat(),
        _ => path.to_vec(),
    }
}

/// Reports whether the most severe finding is a syntax error, which is more often a typing error than a danger.
pub(super) fn is_syntax_error(risk: &Risk) -> bool {
    let mut worst = risk.findings.iter().filter(|finding| finding.tier == risk.tier).peekable();
    worst.peek().is_some() && worst.all(|finding| finding.rule == SYNTAX)
}

/// The rule for a syntax error.
const SYNTAX: &str = "opaque.syntax";

/// Draws the score, its parts, and the threshold.
pub(super) fn score(risk: &Risk, threshold: Weight) -> String {
    let mut text = format!("{} (tier {}", risk.score, risk.tier.number());
    for circumstance in risk.context.iter().filter(|circumstance| circumstance.weight != Weight(0)) {
        text.push_str(&format!(", {} {}", circumstance_words(circumstance.fact), signed(circumstance.weight)));
    }
    text.push_str(&format!("); threshold {threshold}"));
    text
}

/// Formats a weight with its sign.
pub(super) fn signed(weight: Weight) -> String {
    if weight < Weight(0) { weight.to_string() } else { format!("+{weight}") }
}

/// Describes the reversibility.
#[must_use]
pub const fn undo_words(reversibility: Reversibility) -> &'static str {
    match reversibility {
        Reversibility::ReadOnly => "changes nothing",
        Reversibility::Soft => "easily undone",
        Reversibility::Hard => "hard to undo",
        Reversibility::Irreversible => "cannot be undone",
    }
}

/// Describes a circumstance.
#[must_use]
pub const fn circumstance_words(fact: CircumstanceFact) -> &'static str {
    match fact {
        CircumstanceFact::Production => "production",
        CircumstanceFact::Root => "as root",
        CircumstanceFact::Ssh => "over ssh",
        CircumstanceFact::OutsideProject => "outside the project",
        CircumstanceFact::ProtectedBranch => "protected branch",
        CircumstanceFact::Disguise => "disguised",
        CircumstanceFact::TrustedDirectory => "trusted directory",
        CircumstanceFact::SecretsRead => "secrets were read",
        CircumstanceFact::EgressAfterSecrets => "sends data after reading secrets",
        CircumstanceFact::OtherAgent => "another agent's files",
        CircumstanceFact::OwnInstructions => "its own instructions",
        CircumstanceFact::OtherPeople => "reaches other people",
        CircumstanceFact::AskedAgain => "the same was denied before",
    }
}
