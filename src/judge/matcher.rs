//! Matches rules with acts: the findings, their positions, and the facts that lower them.
//!
//! Only rules whose key is the verb of an act are tried. The classes of an operand are computed when a rule first needs
//! them, and are cached for the act. Out of scope: knowledge about programs, which is data, and I/O.

mod conditions;
mod history;
mod inspected_text;
mod lowering;
mod match_context;
mod planned_changes;
mod printed_acts;
mod sent_data;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::rules::catalog::Catalog;
use super::rules::model::{Explanation, Rule, SessionNote};
use crate::judge::analysis::TOO_LARGE;
use crate::judge::analysis::act::{Act, ActId, Effect, Facts, Opaque, OpaqueReason, Verb};
use crate::judge::analysis::fuel::cost;
use crate::judge::analysis::inquiry::Inquiry;
use crate::judge::invocation::{Invocation, Request};
use crate::judge::path_class::PathClass;
use crate::judge::policy::Policy;
use crate::judge::reserved::UnaskableReason;
use crate::judge::risk::{Finding, Reversibility, Tier, Weight};
use crate::judge::syntax::tree::Span;
use inspected_text::InspectedValue;
pub use inspected_text::shown;
use match_context::{MatchContext, View};
pub use planned_changes::{PlannedChange, PlannedChanges, is_thrown_away, planned_changes};

/// Reports whether a shell glob matches the whole text; `*` matches slashes too.
#[must_use]
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    super::rules::glob::text(pattern, text)
}

/// Returns all findings of an invocation, in the order of the acts. Parts that could not be analysed have findings too.
/// If a question has no answer, the strictest one is assumed. More acts never remove a finding.
#[must_use]
pub fn find(
    invocation: &Invocation,
    facts: &Facts,
    catalog: &Catalog,
    policy: &Policy,
    inquiry: &Inquiry<'_>,
) -> Vec<Finding> {
    let context = MatchContext::new(invocation, facts, catalog, policy, inquiry);
    let mut findings =
        Findings { all: Vec::new(), places: HashMap::new(), disabled: &policy.disabled_rules, least: Tier::Safe };
    for opaque in &facts.opaque {
        findings.add(of_opaque(opaque, catalog));
    }
    for (id, act) in facts.acts.iter().enumerate() {
        if !context.spend(4) {
            break;
        }
        findings.least = if act.staged { Tier::High } else { Tier::Safe };
        of_act(&context, id, act, &mut findings);
    }
    findings.least = Tier::Safe;
    of_text(&context, &mut findings);
    let whole = |why: OpaqueReason, detail: &str| {
        let span = Span::new(0, u32::try_from(context.text().len()).unwrap_or(u32::MAX));
        of_opaque(&Opaque { why, detail: detail.to_owned(), span }, catalog)
    };
    if inquiry.fuel.is_empty() && !facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Limit) {
        findings.add(whole(OpaqueReason::Limit, TOO_LARGE));
    }
    match inquiry.unaskable() {
        Some(UnaskableReason::NoText) => findings.add(whole(OpaqueReason::FileName, "")),
        Some(UnaskableReason::Lost) => findings.add(whole(OpaqueReason::ReservedCharacter, "")),
        None => {}
    }
    findings.all
}

/// The findings, without duplicates.
struct Findings<'a> {
    all: Vec<Finding>,
    /// The indices of the findings at each position in the text.
    places: HashMap<Span, Vec<usize>>,
    disabled: &'a [String],
    /// Findings below this tier are dropped.
    least: Tier,
}

impl Findings<'_> {
    /// Adds a finding, unless it is a duplicate or the policy disables its rule. Rules of tier 4, rules that require
    /// several approvers, and decisions that a person has to take cannot be disabled.
    fn add(&mut self, finding: Finding) {
        let stays = finding.tier == Tier::Critical || finding.approvals > 1 || finding.is_decision();
        let off = !stays && self.disabled.contains(&finding.rule);
        let here = self.places.entry(finding.span).or_default();
        let same = |other: &Finding| {
            other.rule == finding.rule
                && other.touches == finding.touches
                && other.lowered == finding.lowered
                && other.tier == finding.tier
        };
        if !off && finding.tier >= self.least && !here.iter().filter_map(|number| self.all.get(*number)).any(same) {
            here.push(self.all.len());
            self.all.push(finding);
        }
    }
}

fn of_act(context: &MatchContext<'_>, id: ActId, act: &Act, findings: &mut Findings<'_>) {
    let view = View::new(context, id, act);
    let before = findings.all.len();
    let features = conditions::features(&view);
    let sub = act.sub.first().map(String::as_str);
    let of_any = context.any_rules(act, features);
    let rules = context.catalog.rules_for(act.verb.key(), features, sub).chain(of_any);
    for rule in rules {
        if !context.spend(7) {
            break;
        }
        if let Some(finding) = try_rule(&view, rule) {
            findings.add(finding);
        }
    }
    let found = findings.all.get(before..).unwrap_or_default();
    if matches!(act.verb, Verb::Effect(Effect::Delete))
        && !act.dry_run
        && !found.iter().any(|finding| finding.tier >= Tier::Medium)
        && let Some(finding) = unknown_target(&view)
    {
        findings.add(finding);
    }
}

/// Matches a rule with an act.
fn try_rule(view: &View<'_>, rule: &Rule) -> Option<Finding> {
    let touched = conditions::holds(view, &rule.when)?;
    let reasons: Option<Vec<&'static str>> = if rule.tier > Tier::Low && !touched.is_empty() && !rule.lower.is_empty() {
        touched.iter().map(|operand| lowering::reason(view, operand, &rule.lower)).collect()
    } else {
        None
    };
    let here = || {
        let made = lowering::made(view, rule);
        let made = made.or_else(|| lowering::unborn(view, rule.refs.as_deref(), &rule.when.flags));
        made.or_else(|| lowering::of_place(view, &rule.lower)).map(|reason| vec![reason])
    };
    let reasons = if rule.tier > Tier::Low { reasons.or_else(here) } else { None };
    let mut finding = from_rule(rule, view.context.catalog, view.act.span);
    finding.act = Some(view.id);
    finding.reason.push_str(&look_alike(view, rule, &touched).unwrap_or_default());
    match reasons {
        Some(mut reasons) => {
            reasons.dedup();
            finding.tier = Tier::Low;
            finding.weight = Weight::of_tier(Tier::Low);
            finding.approvals = 1;
            // Writing its own notes does not change an agent's instructions.
            if reasons == [lowering::OWN_NOTE] {
                finding.notes.retain(|note| !matches!(note, SessionNote::OwnInstructions | SessionNote::OtherAgent));
            }
            // The second half of the reason explains the tier, which was lowered.
            if let Some((plain, _)) = finding.reason.split_once(", and ") {
                finding.reason = format!("{plain}.");
            }
            finding.instead = None;
            finding.lowered = Some(reasons.join("; "));
            finding.touches = touched.iter().map(|operand| shown(operand.value)).collect();
        }
        None => {
            let counts = |operand: &&&InspectedValue<'_>| {
                rule.tier <= Tier::Low
                    || rule.lower.is_empty()
                    || lowering::reason(view, operand, &rule.lower).is_none()
            };
            finding.touches = touched.iter().filter(counts).map(|operand| shown(operand.value)).collect();
        }
    }
    if let Some(changed) = changed_instead(view, &touched) {
        finding.touches = changed;
    }
    Some(finding)
}

/// Returns what a finding touches if the tested operands are not paths (`777` in `chmod 777 x`): the other operands, or
/// the paths that the program changes.
fn changed_instead(view: &View<'_>, touched: &[&InspectedValue<'_>]) -> Option<Vec<String>> {
    let spans_of = |changes_only: bool| -> HashSet<Span> {
        let effects = view.context.effects_of(view.id).filter(|(_, effect)| !changes_only || effect.changes());
        effects.flat_map(|(act, _)| &act.operands).map(|operand| operand.span).collect()
    };
    let changed = spans_of(true);
    if touched.is_empty() || changed.is_empty() {
        return None;
    }
    if !touched.iter().any(|seen| changed.contains(&seen.span)) {
        let effects = view.context.effects_of(view.id).filter(|(_, effect)| effect.changes());
        return Some(effects.flat_map(|(act, _)| &act.operands).map(|operand| shown(&operand.value)).collect());
    }
    let used = spans_of(false);
    let on: Vec<&&InspectedValue<'_>> = touched.iter().filter(|seen| used.contains(&seen.span)).collect();
    (on.len() < touched.len()).then(|| on.iter().map(|seen| shown(seen.value)).collect())
}

/// Returns the hint that a package name is similar to that of a well-known package.
fn look_alike(view: &View<'_>, rule: &Rule, touched: &[&InspectedValue<'_>]) -> Option<String> {
    /// Maximum number of names that are compared; each is compared with all well-known names.
    const MOST: usize = 3;
    let indexes = || rule.when.operands.iter().flat_map(|operand| &operand.test.package);
    let packages = view.context.catalog.packages();
    let looks = |seen: &&InspectedValue<'_>| {
        let requirement = seen.value.known()?;
        let like = indexes().find_map(|index| {
            let (index, name) = packages.named(index, &requirement)?;
            let left = view.context.compared.get().checked_sub(1)?;
            view.context.compared.set(left);
            view.context.spend(cost::LIKE);
            packages.like(index, &name)
        })?;
        Some(format!(" {} looks like {like}, another package.", shown(seen.value)))
    };
    indexes().next()?;
    let said: String = touched.iter().take(MOST).filter_map(looks).collect();
    (!said.is_empty()).then_some(said)
}

/// Creates the finding of a rule before any fact lowers it.
fn from_rule(rule: &Rule, catalog: &Catalog, span: Span) -> Finding {
    let Explanation { reason, instead } = catalog.explanation(rule);
    Finding {
        rule: rule.id.clone(),
        tier: rule.tier,
        weight: rule.weight,
        reversibility: rule.reversibility,
        reason,
        instead,
        span,
        touches: Vec::new(),
        deny: rule.deny,
        yolo: rule.yolo,
        reversible: rule.reversible,
        approvals: rule.approvals,
        notes: rule.notes.clone(),
        lowered: None,
        act: None,
    }
}

/// Creates a finding for which the catalog has no rule, with the strictest tier of docs/risk.md.
fn built_in(id: &str, tier: Tier, reason: &str, span: Span) -> Finding {
    Finding::plain(id, tier, Reversibility::Irreversible, reason, span)
}

/// Creates the finding of a part that could not be analysed: that of the rule for the reason, or one of tier 3.
fn of_opaque(opaque: &Opaque, catalog: &Catalog) -> Finding {
    let id = format!("opaque.{}", opaque.why.name());
    let mut finding = match catalog.rule(&id) {
        Some(rule) => from_rule(rule, catalog, opaque.span),
        None => built_in(&id, Tier::High, "Guard cannot work out what this part would do.", opaque.span),
    };
    if !opaque.detail.is_empty() {
        finding.touches.push(opaque.detail.clone());
    }
    finding
}

/// Returns the finding of an act that deletes an unknown path, which has at least tier 2.
fn unknown_target(view: &View<'_>) -> Option<Finding> {
    const ID: &str = "opaque.operand";
    let unknown = |seen: &&InspectedValue<'_>| {
        let found_in_project = seen.path(view).is_some_and(|path| path.found)
            && seen.classes(view).has_any(&[PathClass::Project, PathClass::Temp]);
        seen.classes(view).has(PathClass::Dynamic) && !found_in_project
    };
    let unknown: Vec<&InspectedValue<'_>> = view.operands().iter().filter(unknown).collect();
    if unknown.is_empty() {
        return None;
    }
    let mut finding = match view.context.catalog.rule(ID) {
        Some(rule) => from_rule(rule, view.context.catalog, view.act.span),
        None => built_in(ID, Tier::Medium, "The files to delete are not known before the command runs.", view.act.span),
    };
    finding.touches = unknown.iter().map(|seen| shown(seen.value)).collect();
    finding.act = Some(view.id);
    Some(finding)
}

/// Adds the findings of rules that test the text of the command.
fn of_text(context: &MatchContext<'_>, findings: &mut Findings<'_>) {
    let text = context.text();
    for rule in context.catalog.text_rules(text) {
        let Some(span) = conditions::text_span(&rule.when, text) else { continue };
        let alone = conditions::is_text_alone(&rule.when);
        let act = context
            .facts
            .acts
            .iter()
            .enumerate()
            .find_map(|(id, act)| conditions::holds(&View::new(context, id, act), &rule.when).map(|_| id));
        if alone || act.is_some() {
            let mut finding = from_rule(rule, context.catalog, span);
            finding.act = act.filter(|_| !alone);
            findings.add(finding);
        }
    }
}

/// Returns the text of an invocation for rules that test it.
fn original(invocation: &Invocation) -> String {
    match &invocation.request {
        Request::Line(line) => String::from_utf8_lossy(&line.text).into_owned(),
        Request::Argv(_) | Request::Files(_) => invocation.display(),
        // The texts in a tool call are judged by their meaning.
        Request::Tool(_) => String::new(),
    }
}
