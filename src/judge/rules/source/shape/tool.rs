//! The shape of `[[tool]]`: which keys describe a tool that is no command.

use crate::judge::document::{At, Fields};
use crate::judge::rules::model::ToolEffect;
use crate::judge::tier::{Reversibility, Tier};

/// `[[tool]]`
#[derive(Debug)]
pub struct ToolShape {
    pub id: At<String>,
    pub name: At<Vec<String>>,
    pub server: Option<At<Vec<String>>>,
    pub tier: At<Tier>,
    pub weight: Option<At<f64>>,
    pub reversibility: Reversibility,
    pub effects: Vec<ToolEffect>,
    pub reason: At<String>,
    pub instead: Option<String>,
    pub deny: bool,
    pub yolo: Option<At<bool>>,
    pub reversible: Option<At<bool>>,
    pub approvals: Option<At<u32>>,
    pub when: Vec<At<ValueTestShape>>,
    pub holds: Vec<At<HoldingShape>>,
    pub show: Vec<At<String>>,
    pub redact: Vec<At<String>>,
    pub examples: Vec<At<String>>,
    pub others: Vec<At<String>>,
}

impl ToolShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            id: from.need("id", Fields::text),
            name: from.need("name", Fields::one_or_many),
            server: from.one_or_many("server"),
            tier: from.need("tier", Fields::tier),
            weight: from.number("weight"),
            reversibility: from.need("reversibility", Fields::word).into_inner(),
            effects: from.words("effects"),
            reason: from.need("reason", Fields::text),
            instead: from.line("instead"),
            deny: from.flag("deny"),
            yolo: from.flag_at("yolo"),
            reversible: from.flag_at("reversible"),
            approvals: from.count_at("approvals"),
            when: from.tables("when", ValueTestShape::read),
            holds: from.tables("holds", HoldingShape::read),
            show: from.texts("show"),
            redact: from.texts("redact"),
            examples: from.texts("examples"),
            others: from.texts("others"),
        }
    }
}

/// `{ at = "/amount", above = 0 }`
#[derive(Debug)]
pub struct ValueTestShape {
    pub at: At<String>,
    pub equals: Vec<String>,
    pub glob: Vec<String>,
    pub not_glob: Vec<String>,
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub present: Option<bool>,
}

impl ValueTestShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            at: from.need("at", Fields::text),
            equals: from.one_or_many("equals").map(At::into_inner).unwrap_or_default(),
            glob: from.one_or_many("glob").map(At::into_inner).unwrap_or_default(),
            not_glob: from.one_or_many("not_glob").map(At::into_inner).unwrap_or_default(),
            above: from.number("above").map(At::into_inner),
            below: from.number("below").map(At::into_inner),
            present: from.choice("present"),
        }
    }
}

/// `{ at = "/command", as = "command" }`
#[derive(Debug)]
pub struct HoldingShape {
    pub language: Option<At<String>>,
    pub at: At<String>,
    pub what: At<String>,
}

impl HoldingShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { language: from.text("language"), at: from.need("at", Fields::text), what: from.need("as", Fields::text) }
    }
}
