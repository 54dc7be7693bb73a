//! Checks the keys that every entry with findings has: ID, tier, weight, approvals and reason.
//!
//! Out of scope: what an entry matches.

use std::ops::Range;

use super::{LayersBelow, SourceFile};
use crate::judge::document::Located;
use crate::judge::rules::model::MAX_APPROVALS;
use crate::judge::rules::problem::Problem;
use crate::judge::tier::{Reversibility, Tier};

/// The keys that `[[rule]]` and `[[tool]]` have in common.
pub struct EntryHead<'a> {
    pub id: &'a Located<String>,
    pub tier: Tier,
    pub weight: Option<&'a Located<f64>>,
    pub approvals: Option<&'a Located<u32>>,
    pub reason: &'a Located<String>,
}

/// The keys of an entry that concern the reviewer.
pub struct ReviewItems<'a> {
    pub tier: Tier,
    pub reversibility: Reversibility,
    pub yolo: Option<&'a Located<bool>>,
    pub reversible: Option<&'a Located<bool>>,
}

/// The words for an entry in messages.
pub struct Words {
    /// The kind of entry: `rule`.
    pub kind: &'static str,
    /// The entries that may already use the ID.
    pub taken: &'static str,
}

/// The errors of an entry, collected during the check.
pub struct Check<'a> {
    pub place: SourceFile<'a>,
    words: Words,
    pub owner: String,
    pub problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    pub fn new(place: SourceFile<'a>, words: Words, id: &str) -> Self {
        let owner = format!("{} {id}", words.kind);
        Self { place, words, owner, problems: Vec::new() }
    }
}

impl Check<'_> {
    pub fn fault(&mut self, span: &Range<usize>, key: &str, what: &str, remedy: &str) {
        self.problems.push(self.place.problem(span, &format!("{}: {key}", self.owner), what, remedy));
    }

    pub fn head(&mut self, family: &str, head: &EntryHead<'_>, known: &dyn LayersBelow) {
        let (id, span, kind) = (head.id.get_ref(), head.id.span(), self.words.kind);
        let plain =
            |name: &str| !name.is_empty() && name.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if !id.strip_prefix(family).and_then(|rest| rest.strip_prefix('.')).is_some_and(plain) {
            let what = "an id is the family, a dot, and a name of a-z, 0-9 and -";
            self.fault(&span, "id", what, &format!("write `{family}.NAME`"));
        }
        if known.has_rule(id) {
            let what = format!("the id is already used by {}", self.words.taken);
            self.fault(&span, "id", &what, "give it another name");
        }
        if head.reason.get_ref().trim().is_empty() {
            self.fault(&head.reason.span(), "reason", "it is empty", "say in one sentence why it matters");
        }
        if let Some(weight) = head.weight {
            // NaN is not near anything.
            let near = (*weight.get_ref() - f64::from(head.tier.number())).abs() < 1.0;
            if !near {
                let what = format!("{} is not the weight of a tier {} {kind}", weight.get_ref(), head.tier.number());
                self.fault(&weight.span(), "weight", &what, "stay less than 1 away from the tier");
            }
        }
        if let Some(approvals) = head.approvals {
            let (count, span) = (*approvals.get_ref(), approvals.span());
            if !(1..=u32::from(MAX_APPROVALS)).contains(&count) {
                let what = format!("approvals must be from 1 to {MAX_APPROVALS}");
                self.fault(&span, "approvals", &what, "write a number in that range");
            }
            if count > 1 && head.tier < Tier::Medium {
                let remedy = format!("give the {kind} tier 2 or above");
                self.fault(&span, "approvals", "nobody is asked about tier 0 and 1", &remedy);
            }
        }
    }

    pub fn leave(&mut self, leave: &ReviewItems<'_>, known: &dyn LayersBelow) {
        let (kind, only) = (self.words.kind, "a project's pattern file may only tighten");
        if let Some(yolo) = leave.yolo.filter(|yolo| *yolo.get_ref()) {
            if leave.tier == Tier::Critical {
                let what = format!("a {kind} of tier 4 always needs a person");
                self.fault(&yolo.span(), "yolo", &what, "leave `yolo` out");
            }
            if !known.may_loosen() {
                self.fault(&yolo.span(), "yolo", only, "leave `yolo` out");
            }
        }
        if let Some(reversible) = leave.reversible.filter(|flag| *flag.get_ref()) {
            if leave.reversibility == Reversibility::Irreversible {
                let what = format!("the {kind} itself says that it cannot be undone");
                let remedy = "leave `reversible` out, or say what it is: `reversibility = \"hard\"`";
                self.fault(&reversible.span(), "reversible", &what, remedy);
            }
            if !known.may_loosen() {
                self.fault(&reversible.span(), "reversible", only, "leave `reversible` out");
            }
        }
    }
}
