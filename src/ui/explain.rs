//! The long answer: the tree of a command, what each part does, which rule found it, why the score is what it is, and
//! who would be asked.

use super::card::{self, CardView, Command, circumstance_words, groups};
use super::style::{Line, Look, Style};
use super::{visible, wrap};
use crate::judge::policy::{Basis, Decision, Refusal};
use crate::judge::risk::{Reversibility, Tier, Weight};

/// What [`explain`] draws.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainView {
    /// The command and its risk.
    pub card: CardView,
    /// Its parts, in the order they would run, children after their parent.
    pub parts: Vec<PartView>,
    /// What would happen, in sentences ([`outcome`]).
    pub outcome: Vec<String>,
}

/// One part of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct PartView {
    /// 0 for what stands at the top.
    pub depth: usize,
    /// The part as it is written.
    pub text: Vec<u8>,
    /// What it does, in words.
    pub does: String,
    /// Indexes of the findings that are about it.
    pub findings: Vec<usize>,
}

/// The explanation, wrapped to `columns`.
#[must_use]
pub fn explain(view: &ExplainView, columns: usize, look: &Look) -> Vec<Line> {
    let columns = columns.min(100).saturating_sub(1).max(24);
    let risk = &view.card.risk;
    let mut lines = vec![Line::of(Style::Strong, "What would run")];
    lines.extend(Command::new(&view.card, columns - 2, look).all().into_iter().map(indent));
    lines.push(Line::new());
    if !view.parts.is_empty() {
        lines.push(Line::of(Style::Strong, "What each part does"));
        for part in &view.parts {
            lines.extend(part_lines(view, part, columns));
        }
        lines.push(Line::new());
    }
    if !risk.findings.is_empty() {
        lines.push(Line::of(Style::Strong, "What was found"));
        for group in groups(&risk.findings) {
            let finding = group.first;
            let mark = Line::of(Style::Tier(finding.tier), "• ");
            lines.extend(wrap::labelled(&mark, Style::Plain, &finding.reason, columns));
            let undo = undo_words(finding.reversibility);
            let about = format!("{} · {} (tier {}) · {undo}", finding.rule, finding.tier.name(), finding.tier.number());
            lines.extend(wrap::labelled(&Line::of(Style::Dim, "  "), Style::Dim, &about, columns));
            if !group.touches.is_empty() {
                let touches = group.touches.join(", ");
                lines.extend(wrap::labelled(&Line::of(Style::Dim, "  touches "), Style::Plain, &touches, columns));
            }
            if let Some(lowered) = &finding.lowered {
                lines.extend(wrap::labelled(
                    &Line::of(Style::Dim, "  counts for less: "),
                    Style::Plain,
                    lowered,
                    columns,
                ));
            }
            if let Some(instead) = &finding.instead {
                lines.extend(wrap::labelled(&Line::of(Style::Dim, "  safer: "), Style::Safe, instead, columns));
            }
        }
        lines.push(Line::new());
    }
    lines.push(Line::of(Style::Strong, "Why this score"));
    lines.extend(score_lines(view, columns));
    for sentence in view.card.evidence.iter().chain(&view.outcome) {
        lines.extend(wrap::labelled(&Line::of(Style::Plain, "  "), Style::Plain, sentence, columns));
    }
    lines
}

fn indent(line: Line) -> Line {
    let mut indented = Line::of(Style::Plain, "  ");
    indented.extend(&line);
    indented
}

/// One part and its rules.
fn part_lines(view: &ExplainView, part: &PartView, columns: usize) -> Vec<Line> {
    // A tree deeper than the page is wide is still a list.
    let lead = "  ".repeat(part.depth.min(columns / 8) + 1);
    let worst = part.findings.iter().filter_map(|index| view.card.risk.findings.get(*index)).map(|f| f.tier).max();
    let style = worst.map_or(Style::Plain, Style::Tier);
    let text = visible::line(&part.text);
    let mut lines: Vec<Line> = wrap::labelled(&Line::of(Style::Dim, &lead), style, &text, columns);
    let label = Line::of(Style::Dim, format!("{lead}  "));
    let mut does = part.does.clone();
    for index in &part.findings {
        if let Some(finding) = view.card.risk.findings.get(*index) {
            does.push_str(&format!(" [{}]", finding.rule));
        }
    }
    if !does.is_empty() {
        lines.extend(wrap::labelled(&label, Style::Dim, &does, columns));
    }
    lines
}

/// The sum that makes the score.
fn score_lines(view: &ExplainView, columns: usize) -> Vec<Line> {
    let risk = &view.card.risk;
    let mut lines = Vec::new();
    let mut add = |weight: Weight, what: &str| {
        let sign = if weight < Weight(0) { "" } else { "+" };
        let label = Line::of(Style::Plain, format!("  {:>6}  ", format!("{sign}{weight}")));
        lines.extend(wrap::labelled(&label, Style::Plain, what, columns));
    };
    if let Some(heaviest) = risk.findings.iter().max_by_key(|finding| finding.weight) {
        add(heaviest.weight, &format!("the heaviest rule, {}", heaviest.rule));
    }
    for circumstance in &risk.context {
        let words = circumstance_words(circumstance.fact);
        match &circumstance.detail {
            Some(detail) => add(circumstance.weight, &format!("{words} ({detail})")),
            None => add(circumstance.weight, words),
        }
    }
    let total = card::risk_words(&view.card);
    lines.extend(wrap::labelled(&Line::of(Style::Plain, "  = "), Style::Tier(risk.tier), &total, columns));
    lines
}

/// Whether it can be undone, in words.
const fn undo_words(reversibility: Reversibility) -> &'static str {
    match reversibility {
        Reversibility::ReadOnly => "changes nothing",
        Reversibility::Soft => "easily undone",
        Reversibility::Hard => "hard to undo",
        Reversibility::Irreversible => "cannot be undone",
    }
}

/// What would happen and who would be asked, in sentences.
#[must_use]
pub fn outcome(decision: &Decision) -> Vec<String> {
    match decision {
        Decision::Run(cleared) => vec![match cleared.basis() {
            Basis::Score => "It would run without asking: the score is below the threshold.".to_owned(),
            Basis::Grant(id) => format!("It would run without asking: grant {id} covers it."),
            Basis::Support => "It would run at once: it is on the list of support commands.".to_owned(),
            Basis::ModeOff => "It would run without asking: mode is off.".to_owned(),
            Basis::YesInAdvance => "It would run: you said yes in advance.".to_owned(),
            Basis::Person => "It would run: a person said yes.".to_owned(),
        }],
        Decision::Ask(prompt) if prompt.tier == Tier::Critical => vec![
            format!(
                "A person at the terminal would be asked to type a random word: {} s to begin, then {} s.",
                prompt.seconds, prompt.finish_seconds
            ),
            "No grant, no mode and no reviewer can answer for them. No answer means no.".to_owned(),
        ],
        Decision::Ask(prompt) => {
            vec![format!("A person at the terminal would be asked, for {} s. No answer means no.", prompt.seconds)]
        }
        Decision::Refuse(Refusal::Rule { rule, reason }) => {
            vec![format!("It would be refused by rule {rule}: {reason}")]
        }
        Decision::Refuse(refusal) => vec![format!("It would be refused: {refusal}.")],
    }
}
