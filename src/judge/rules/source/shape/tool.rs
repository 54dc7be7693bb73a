//! The shape of `[[tool]]`: the keys that describe a tool that is not a command.

use crate::judge::document::{Fields, Located};
use crate::judge::rules::model::ToolEffect;
use crate::judge::tier::{Reversibility, Tier};

/// `[[tool]]`
#[derive(Debug)]
pub struct ToolShape {
    pub id: Located<String>,
    pub name: Located<Vec<String>>,
    pub server: Option<Located<Vec<String>>>,
    pub tier: Located<Tier>,
    pub weight: Option<Located<f64>>,
    pub reversibility: Reversibility,
    pub effects: Vec<ToolEffect>,
    pub reason: Located<String>,
    pub instead: Option<String>,
    pub deny: bool,
    pub yolo: Option<Located<bool>>,
    pub reversible: Option<Located<bool>>,
    pub approvals: Option<Located<u32>>,
    pub when: Vec<Located<ValueTestShape>>,
    pub holds: Vec<Located<HoldingShape>>,
    pub show: Vec<Located<String>>,
    pub redact: Vec<Located<String>>,
    pub examples: Vec<Located<String>>,
    pub others: Vec<Located<String>>,
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
    pub at: Located<String>,
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
            equals: from.one_or_many("equals").map(Located::into_inner).unwrap_or_default(),
            glob: from.one_or_many("glob").map(Located::into_inner).unwrap_or_default(),
            not_glob: from.one_or_many("not_glob").map(Located::into_inner).unwrap_or_default(),
            above: from.number("above").map(Located::into_inner),
            below: from.number("below").map(Located::into_inner),
            present: from.choice("present"),
        }
    }
}

/// `{ at = "/command", as = "command" }`
#[derive(Debug)]
pub struct HoldingShape {
    pub language: Option<Located<String>>,
    pub at: Located<String>,
    pub what: Located<String>,
}

impl HoldingShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { language: from.text("language"), at: from.need("at", Fields::text), what: from.need("as", Fields::text) }
    }
}
