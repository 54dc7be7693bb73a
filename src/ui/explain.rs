//! The output of `guard explain`: the parts of a command and their effects, the rules, the score, and who would be
//! asked.

use super::card_view::CardView;
use super::command::Command;
use super::style::{Line, Look, Style};
use super::why::{circumstance_words, groups, signed, undo_words};
use super::{visible, wrap};
use crate::judge::invocation::Origin;
use crate::judge::policy::{ApprovalReason, Decision, Refusal};
use crate::judge::review::Role;
use crate::judge::risk::{Tier, Weight};

/// The content for [`explain`].
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainView {
    /// The command and its risk.
    pub card: CardView,
    /// Its parts in the order of execution, children after their parent ([`super::parts::parts`]).
    pub parts: Vec<PartView>,
    /// Sentences about what would happen ([`outcome`]).
    pub outcome: Vec<String>,
}

/// A part of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct PartView {
    /// The depth; 0 at the top.
    pub depth: usize,
    /// The source text; empty if it is not part of the command.
    pub text: Vec<u8>,
    /// Its effects, one sentence each.
    pub does: Vec<String>,
    /// The indices of its findings.
    pub findings: Vec<usize>,
}

/// Maximum width, for legibility.
const WIDEST: usize = 100;

/// Draws the explanation, wrapped to `columns`.
#[must_use]
pub fn explain(view: &ExplainView, columns: usize, look: &Look) -> Vec<Line> {
    let columns = columns.clamp(24, WIDEST) - 1;
    let command = Command::new(&view.card, columns - 2, look);
    let mut page = Page { lines: Vec::new(), columns, ascii: look.ascii };
    page.title("What would run");
    page.lines.extend(command.all().iter().map(|line| Line::of(Style::Plain, "  ").and(line)));
    page.lines.extend(command.oddities(columns - 2).iter().map(|line| Line::of(Style::Plain, "  ").and(line)));
    if !view.parts.is_empty() {
        page.title("What each part does");
        for part in &view.parts {
            page.part(view, part);
        }
    }
    page.findings(view);
    if !view.card.evidence.is_empty() {
        page.title("What is there");
        for sentence in &view.card.evidence {
            page.sentence("  ", Style::Plain, sentence);
        }
    }
    page.title("Why this score");
    page.score(view);
    if let Some(words) = &view.card.session_grant {
        page.title("What a grant would cover");
        page.sentence("  this session: ", Style::Plain, words);
    }
    if let Some(words) = &view.card.standing_grant {
        page.sentence("  always: ", Style::Plain, words);
    }
    if !view.outcome.is_empty() {
        page.title("What happens now");
        for sentence in &view.outcome {
            page.sentence("  ", Style::Plain, sentence);
        }
    }
    page.lines
}

/// The lines drawn so far.
struct Page {
    lines: Vec<Line>,
    columns: usize,
    ascii: bool,
}

impl Page {
    /// Adds a heading after an empty line.
    fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::new());
        }
        self.lines.push(Line::of(Style::Strong, text));
    }

    /// Adds prose with a label.
    fn sentence(&mut self, label: &str, style: Style, text: &str) {
        self.lines.extend(wrap::labelled(&Line::of(Style::Dim, label), style, text, self.columns));
    }

    /// Adds a part and its rules.
    fn part(&mut self, view: &ExplainView, part: &PartView) {
        // A tree that is deeper than the width is displayed as a list.
        let lead = "  ".repeat(part.depth.min(self.columns / 8) + 1);
        let found = || part.findings.iter().filter_map(|index| view.card.risk.findings.get(*index));
        let style = found().map(|finding| finding.tier).max().map_or(Style::Plain, Style::Tier);
        let mut does = part.does.iter();
        if !part.text.is_empty() {
            self.sentence(&lead, style, &visible::line(&part.text, self.ascii));
        } else if let Some(first) = does.next() {
            self.sentence(&lead, style, first);
        }
        for does in does {
            self.sentence(&format!("{lead}  "), Style::Dim, does);
        }
        let mut rules: Vec<&str> = found().map(|finding| finding.rule.as_str()).collect();
        rules.dedup();
        if !rules.is_empty() {
            self.sentence(&format!("{lead}  "), style, &format!("found by {}", rules.join(", ")));
        }
    }

    /// Adds every finding with its details.
    fn findings(&mut self, view: &ExplainView) {
        let risk = &view.card.risk;
        if !risk.findings.is_empty() {
            self.title("What was found");
        }
        for group in groups(&risk.findings) {
            let finding = group.first;
            let mark = Line::of(Style::Tier(finding.tier), "  • ");
            self.lines.extend(wrap::labelled(&mark, Style::Plain, &finding.reason, self.columns));
            let (tier, undo) = (finding.tier, undo_words(finding.reversibility));
            let mut about = format!("{} · {} (tier {})", finding.rule, tier.name(), tier.number());
            // The fact that lowered it explains why nothing is lost.
            if finding.lowered.is_none() {
                about.push_str(&format!(" · {undo}"));
            }
            self.sentence("    ", Style::Dim, &about);
            if !group.touches.is_empty() {
                self.sentence(&format!("    {}", group.label()), Style::Plain, &group.touches(100));
            }
            if let Some(lowered) = &finding.lowered {
                self.sentence("    score lowered: ", Style::Plain, lowered);
            }
            if let Some(instead) = &finding.instead {
                self.sentence("    safer: ", Style::Safe, instead);
            }
        }
    }

    /// Adds the sum of the score.
    fn score(&mut self, view: &ExplainView) {
        let risk = &view.card.risk;
        let heaviest = risk.findings.iter().max_by_key(|finding| finding.weight);
        let base = heaviest.map_or_else(
            || format!("{} (tier {}): the programs in it by themselves", risk.tier.name(), risk.tier.number()),
            |finding| format!("the highest rule, {}", finding.rule),
        );
        let added: Weight = risk.context.iter().map(|circumstance| circumstance.weight).sum();
        let weight = heaviest.map_or(Weight(risk.score.0.saturating_sub(added.0)), |finding| finding.weight);
        self.sentence(&format!("  {:>6}  ", weight.to_string()), Style::Plain, &base);
        for circumstance in risk.context.iter().filter(|circumstance| circumstance.weight != Weight(0)) {
            let words = circumstance_words(circumstance.fact);
            let text = match &circumstance.detail {
                Some(detail) => format!("{words}: {detail}"),
                None => words.to_owned(),
            };
            self.sentence(&format!("  {:>6}  ", signed(circumstance.weight)), Style::Plain, &text);
        }
        let whose = match view.card.origin {
            Origin::Cli => "commands typed here",
            Origin::Agent => "an agent's commands",
            Origin::Api => "commands from the API",
            Origin::Discord => "commands from Discord",
            Origin::Telegram => "commands from Telegram",
        };
        let (tier, threshold) = (risk.tier, view.card.threshold);
        let asked = format!("{} (tier {}); guard asks about {whose} from {threshold}", tier.name(), tier.number());
        self.sentence(&format!("  {:>6}  ", format!("= {}", risk.score)), Style::Tier(risk.tier), &asked);
    }
}

/// Returns a sentence about the role of the reviewer; `None` if it is not consulted.
#[must_use]
pub fn reviewer(role: &Role) -> Option<String> {
    let leave = |with: &[String]| match with {
        [] => String::new(),
        rules => format!(" (allowed by {})", rules.join(", ")),
    };
    match role {
        Role::Settles { with } => Some(format!(
            "Guard asks the reviewer first{}: if it approves, the command runs this once; if it denies, only a \
             person can overrule that; otherwise a person decides.",
            leave(with)
        )),
        Role::Advises => Some("The reviewer's opinion is shown on the card and does not decide.".to_owned()),
        Role::Absent => None,
    }
}

/// The sentence about requests without a person at the terminal.
const QUEUE: &str = "Without one the request waits in the queue (guard pending).";

/// Returns sentences about what would happen and who would be asked.
#[must_use]
pub fn outcome(decision: &Decision) -> Vec<String> {
    match decision {
        Decision::Run(cleared) => vec![match cleared.basis() {
            ApprovalReason::Score => "It runs without asking: the score is below the threshold.".to_owned(),
            ApprovalReason::Grant(id) => format!("It runs without asking: grant {id} covers it."),
            ApprovalReason::Support => "It runs without asking: it is a support command.".to_owned(),
            ApprovalReason::Reviewer { by, .. } => {
                format!("It runs without asking a person: the reviewer ({by}) approved it.")
            }
            ApprovalReason::ModeOff => "It runs without asking: mode is off.".to_owned(),
            ApprovalReason::Parent(row) => {
                format!("It runs without asking: it is part of a command that a person approved (row {row}).")
            }
            ApprovalReason::YesInAdvance => "It runs: you approved it in advance.".to_owned(),
            ApprovalReason::Person => "It runs: a person approved it.".to_owned(),
            ApprovalReason::Host => "It runs: the agent's own prompt asked a person.".to_owned(),
        }],
        Decision::Ask(prompt) if prompt.approvals > 1 => vec![
            format!(
                "{} different approvers must sign: at most one here, the others through the queue.",
                prompt.approvals
            ),
            "No grant and no mode replaces them. No answer means no.".to_owned(),
        ],
        Decision::Ask(prompt) if prompt.tier == Tier::Critical => vec![
            format!(
                "Guard asks the person at the terminal to type a random word, with {} s to begin and {} s to finish. \
                 {QUEUE}",
                prompt.seconds, prompt.finish_seconds
            ),
            "No grant, mode or reviewer replaces the person. No answer means no.".to_owned(),
        ],
        Decision::Ask(prompt) => {
            vec![
                format!("Guard asks the person at the terminal and waits {} s. {QUEUE}", prompt.seconds),
                "No answer means no.".to_owned(),
            ]
        }
        Decision::Refuse(Refusal::Rule { rule, reason }) => {
            vec![format!("It is refused by rule {rule}: {reason}")]
        }
        Decision::Refuse(refusal) => vec![format!("It is refused: {refusal}.")],
    }
}
