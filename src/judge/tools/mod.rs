//! Tools that are no commands: what an agent's host, an MCP server or a program of one's own offers to be called.
//!
//! A call is judged by the registry's entries for its name and input (`[[tool]]` in the pattern files); one that nothing
//! describes is guessed at by its words. What the input holds (a command, code, a path, a URL) is judged by the judge's own
//! facts, in `facts`. What may not enter: I/O, and knowledge of any one tool: that is data.

pub mod call;
pub mod entries;
pub mod guess;
pub mod lexicon;
pub mod pointer;
pub mod words;

use serde_json::Value;

pub use self::call::ToolCall;
use self::entries::Match;
use self::guess::{By, Guess};
use super::risk::Finding;
use super::rules::catalog::{Catalog, Layer};
use super::rules::model::{Held, Holding, Note, Tool};
use super::syntax::tree::Span;
use super::tier::{Reversibility, Tier, Weight};

/// The rule that a guess is found by.
pub const GUESS: &str = "tools.guess";
/// The rule of what a tool says of itself.
pub const WARNING: &str = "tools.warning";

/// What a call comes to, apart from what its input holds.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Of a plain call: 0 or 1. What is worse is a finding.
    pub base: Tier,
    pub findings: Vec<Finding>,
    /// What parts of the input are.
    pub holds: Vec<Holding>,
    /// The kind of verb in its name, for what is done to paths.
    pub kind: Option<String>,
    /// Pointers to what a person is shown first, and to what the record does not keep.
    pub show: Vec<String>,
    pub redact: Vec<String>,
    /// Nothing describes it.
    pub guessed: bool,
}

/// Judges a call by the registry and, where that is silent, by its words.
#[must_use]
pub fn verdict(call: &ToolCall, catalog: &Catalog) -> Verdict {
    let span = Span::new(0, u32::try_from(call.display().len()).unwrap_or(u32::MAX));
    let matches = entries::find(call, catalog);
    let own = || matches.iter().filter(|one| !one.foreign);
    let guess = guess::guess(call, catalog.lexicon());
    // A project only tightens: what its files say is no reason not to guess.
    let described = own().any(|one| one.layer != Layer::Project);
    let mut base = own().map(|one| one.tool.tier.min(Tier::Low)).max().unwrap_or(Tier::Safe);
    let mut findings = Vec::new();
    for one in &matches {
        // What is known of the tool itself counts more than what another server's does.
        let foreign = one.foreign && !described && one.tool.tier > guess.tier;
        let raises = one.tool.tier > Tier::Low && (!one.foreign || foreign);
        if raises {
            findings.push(of_entry(one, call, span));
        }
    }
    if !described {
        base = base.max(guess.tier.min(Tier::Low));
        if guess.tier > Tier::Low {
            findings.push(of_guess(&guess, call, span));
        }
    } else if guess::is_warning(call) && findings.is_empty() {
        findings.push(of_warning(span));
    }
    let holds = if described {
        own().flat_map(|one| one.tool.holds.iter().cloned()).collect()
    } else {
        held_by_name(call, catalog)
    };
    let all = |of: fn(&Tool) -> &[String]| own().flat_map(|one| of(one.tool).iter().cloned()).collect();
    Verdict {
        base,
        findings,
        holds,
        kind: guess.kind,
        show: all(|tool| &tool.show),
        redact: all(|tool| &tool.redact),
        guessed: !described,
    }
}

/// What the properties of a tool hold that nothing describes, by their names.
fn held_by_name(call: &ToolCall, catalog: &Catalog) -> Vec<Holding> {
    let Value::Object(members) = &call.input else { return Vec::new() };
    let mut holds = Vec::new();
    for name in members.keys() {
        let plain = words::plain(name);
        let list = catalog.lexicon().lexicon.held.iter().find(|list| list.words.contains(&plain));
        if let Some(what) = list.and_then(|list| Held::named(&list.what)) {
            holds.push(Holding { at: format!("/{}", name.replace('~', "~0").replace('/', "~1")), what });
        }
    }
    holds
}

/// A finding of an entry.
fn of_entry(one: &Match<'_>, call: &ToolCall, span: Span) -> Finding {
    let tool = one.tool;
    let shown = tool.show.iter().flat_map(|at| pointer::find(&call.input, at)).map(entries::text).collect();
    let reason = if one.foreign {
        format!("Another server's tool of this name does this: {}", tool.reason)
    } else {
        tool.reason.clone()
    };
    Finding {
        weight: tool.weight,
        reason,
        instead: tool.instead.clone(),
        touches: shown,
        deny: tool.deny,
        approvals: tool.approvals,
        notes: tool.effects.iter().filter_map(|effect| effect.note()).collect(),
        ..plain(&tool.id, tool.tier, tool.reversibility, span)
    }
}

fn of_guess(guess: &Guess, call: &ToolCall, span: Span) -> Finding {
    let says = guess.says.as_ref().map_or_else(
        || "its name has no verb that guard knows".to_owned(),
        |(word, says)| format!("by \"{word}\" in its name it {says}"),
    );
    let by = match guess.by {
        By::Name | By::Unknown => says,
        By::Whole => format!("{says}, and what it says of itself and its input is no plain read"),
        By::Hint => "it says of itself that it destroys".to_owned(),
        By::Cut => "its name was cut, and what is left out is not known".to_owned(),
    };
    let reversibility = if guess.tier >= Tier::High { Reversibility::Irreversible } else { Reversibility::Hard };
    Finding {
        reason: format!("A guess, since no rule describes this tool: {by}."),
        touches: vec![call.title()],
        ..plain(GUESS, guess.tier, reversibility, span)
    }
}

fn of_warning(span: Span) -> Finding {
    let reason = "The tool says of itself that it destroys or wants to be confirmed.".to_owned();
    Finding { reason, ..plain(WARNING, Tier::Medium, Reversibility::Hard, span) }
}

fn plain(rule: &str, tier: Tier, reversibility: Reversibility, span: Span) -> Finding {
    Finding {
        rule: rule.to_owned(),
        tier,
        weight: Weight::of_tier(tier),
        reversibility,
        reason: String::new(),
        instead: None,
        span,
        touches: Vec::new(),
        deny: false,
        yolo: false,
        approvals: 1,
        notes: Vec::new(),
        lowered: None,
        act: None,
    }
}

/// Whether money moves: no grant covers it.
#[must_use]
pub fn pays(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.notes.contains(&Note::Money))
}
