//! Tools that are not commands: what an agent's host, an MCP server or an application offers to call.
//!
//! A call is judged by the registry's entries for its name and input (`[[tool]]` in the pattern files); for an
//! undescribed tool its words are the basis of a guess. The content of the input (a command, code, a path, a URL) is
//! judged by the judge's own analysis, in `analysis::tool`. Out of scope: I/O, and knowledge about particular tools,
//! which is data.

pub mod address;
pub mod call;
pub mod entries;
pub mod guess;
pub mod input_content;
pub mod instructions;
pub mod pointer;

use serde_json::Value;

pub use self::call::{ToolCall, ToolWarning};
use self::entries::Match;
use self::guess::{Guess, GuessBasis};
use self::input_content::{FoundPart, InputContent};
use super::name_words;
use super::risk::Finding;
use super::rules::catalog::{Catalog, Layer};
use super::rules::model::{SessionNote, Tool};
use super::sort;
use super::syntax::tree::Span;
use super::tier::{Reversibility, Tier};

/// The rule of a guess.
pub const GUESS: &str = "tools.guess";
/// The rule of a warning in a tool's own hints.
pub const WARNING: &str = "tools.warning";

/// The rule of an input that is not searched completely.
pub const DEPTH: &str = "tools.depth";

/// The judgment of a call, except for the content of its input.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The tier of the plain call: 0 or 1. A higher one is a finding.
    pub base: Tier,
    pub findings: Vec<Finding>,
    /// The kinds of parts of the input.
    pub parts: Vec<FoundPart>,
    /// The kind of the verb in its name, which determines what is done to paths.
    pub kind: Option<String>,
    /// Pointers to the parts that a person is shown first.
    pub show: Vec<String>,
    /// Whether no entry describes it.
    pub guessed: bool,
}

/// Marks the parts of a call's input that are neither shown nor stored: those that an entry for its name redacts, and
/// those with the name of a secret. Every call passes through here before anything else is done with it.
pub fn conceal(call: &mut ToolCall, catalog: &Catalog) {
    call.hidden = entries::hidden(call, catalog);
    secrets(&call.input, String::new(), &catalog.lexicon().lexicon.hidden, 0, &mut call.hidden);
    sort::sort(&mut call.hidden);
    call.hidden.dedup();
}

/// Maximum depth of an input that is searched for names.
const MOST_DEPTH: usize = 12;

/// Adds pointers to all members with one of these names.
fn secrets(value: &Value, at: String, names: &[String], depth: usize, found: &mut Vec<String>) {
    if depth > MOST_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = pointer::member(&at, name);
                let is_named = names.iter().any(|known| *known == name_words::plain(name).replace('_', ""));
                // A switch of that name is not a secret.
                if is_named && !matches!(member, Value::Null | Value::Bool(_)) {
                    found.push(at);
                } else {
                    secrets(member, at, names, depth + 1, found);
                }
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                secrets(element, format!("{at}/{number}"), names, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// Removes the hidden values of a call from its findings.
pub fn scrub(findings: &mut [Finding], call: &ToolCall) {
    if call.hidden.is_empty() {
        return;
    }
    for finding in findings {
        finding.reason = call.scrubbed(&finding.reason);
        finding.instead = finding.instead.as_deref().map(|text| call.scrubbed(text));
        finding.touches.iter_mut().for_each(|text| *text = call.scrubbed(text));
        for note in finding.lowered.iter_mut() {
            *note = call.scrubbed(note);
        }
    }
}

/// Maximum depth of calls within calls.
const MOST_CALLS: usize = 4;

/// Judges a call by the registry and, if that has no entry, by its words. A call of another tool in its input is judged
/// with it.
#[must_use]
pub fn verdict(call: &ToolCall, catalog: &Catalog) -> Verdict {
    verdict_within(call, catalog, 0)
}

fn verdict_within(call: &ToolCall, catalog: &Catalog, depth: usize) -> Verdict {
    let span = Span::new(0, u32::try_from(call.display().len()).unwrap_or(u32::MAX));
    let matches = entries::find(call, catalog);
    let own = || matches.iter().filter(|one| !one.foreign);
    let mut guess = guess::guess(call, catalog.lexicon());
    // A project may only tighten: an entry in its files does not replace the guess.
    let described = own().any(|one| one.layer != Layer::Project);
    let content = if described {
        let holds = own().flat_map(|one| one.tool.holds.iter());
        let parts = holds.flat_map(|holding| {
            let values = pointer::find(&call.input, &holding.at).into_iter();
            let said = holding.language.as_ref().and_then(|at| pointer::find(&call.input, at).first().copied());
            let language =
                said.and_then(Value::as_str).and_then(|word| input_content::language(&catalog.lexicon().lexicon, word));
            let what = language.unwrap_or_else(|| holding.what.clone());
            values.map(move |value| FoundPart { what: what.clone(), value: value.clone() })
        });
        InputContent { parts: parts.collect(), ..InputContent::default() }
    } else {
        input_content::of(call, runs(&guess, catalog), catalog)
    };
    let says_what = !content.calls.is_empty() || content.parts.iter().any(FoundPart::is_run);
    if !described && guess.is_open && !says_what && guess.tier < Tier::Medium {
        (guess.tier, guess.by) = (Tier::Medium, GuessBasis::Unknown);
    }
    let mut base = own().map(|one| one.tool.tier.min(Tier::Low)).max().unwrap_or(Tier::Safe);
    let mut findings = Vec::new();
    for one in &matches {
        // Entries about the tool itself take precedence over those about another server's tool.
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
    findings.extend(call.marks.iter().map(|mark| of_mark(mark, call, span)));
    if content.is_cut || depth >= MOST_CALLS && !content.calls.is_empty() {
        findings.push(of_depth(span));
    }
    let all = |of: fn(&Tool) -> &[String]| own().flat_map(|one| of(one.tool).iter().cloned()).collect();
    let (show, kind) = (all(|tool| &tool.show), guess.kind.clone());
    let mut verdict = Verdict { base, findings, parts: content.parts, kind, show, guessed: !described };
    let is_read = guess.kind.as_ref().is_some_and(|kind| catalog.lexicon().lexicon.harmless.contains(kind));
    for inner in content.calls.iter().filter(|_| depth < MOST_CALLS) {
        let inner = verdict_within(inner, catalog, depth + 1);
        // An object that is read or created has a name and parameters too, but is not a call.
        let counts = |finding: &Finding| !(is_read && matches!(finding.rule.as_str(), GUESS));
        verdict.findings.extend(inner.findings.into_iter().filter(counts).map(|one| Finding { span, ..one }));
        verdict.base = verdict.base.max(inner.base);
        verdict.parts.extend(inner.parts.into_iter().filter(|part| !verdict.parts.contains(part)).collect::<Vec<_>>());
    }
    verdict
}

/// Reports whether a tool runs its input, according to its name.
fn runs(guess: &Guess, catalog: &Catalog) -> bool {
    guess.kind.as_ref().is_some_and(|kind| catalog.lexicon().lexicon.open.contains(kind))
}

/// Returns the finding of an input that contains more than is searched.
fn of_depth(span: Span) -> Finding {
    let reason = "The input is nested too deeply to analyse.".to_owned();
    Finding { reason, ..Finding::plain(DEPTH, Tier::Medium, Reversibility::Hard, "", span) }
}

/// Returns the finding of an entry.
fn of_entry(one: &Match<'_>, call: &ToolCall, span: Span) -> Finding {
    let tool = one.tool;
    let shown = tool.show.iter().flat_map(|at| pointer::find(&call.input, at)).map(entries::text).collect();
    let reason = if one.foreign {
        format!("A tool with the same name on another server: {}", tool.reason)
    } else {
        tool.reason.clone()
    };
    Finding {
        weight: tool.weight,
        reason,
        instead: tool.instead.clone(),
        touches: shown,
        deny: tool.deny,
        // An entry about another server's tool loosens nothing for this one.
        yolo: tool.yolo && !one.foreign,
        reversible: tool.reversible && !one.foreign,
        approvals: tool.approvals,
        notes: tool.effects.iter().filter_map(|effect| effect.note()).collect(),
        ..Finding::plain(&tool.id, tool.tier, tool.reversibility, "", span)
    }
}

fn of_guess(guess: &Guess, call: &ToolCall, span: Span) -> Finding {
    let says = guess.says.as_ref().map_or_else(
        || "its name contains no known verb".to_owned(),
        |(word, says)| format!("\"{word}\" in its name means that it {says}"),
    );
    let by = match guess.by {
        GuessBasis::Name | GuessBasis::Unknown => says,
        GuessBasis::Whole => format!("{says}, but its description and input do not match a plain read"),
        GuessBasis::Hint => "its server marks it as destructive".to_owned(),
        GuessBasis::Acts => "its server says that it does not only read".to_owned(),
        GuessBasis::Cut => "its name was truncated".to_owned(),
        GuessBasis::Reveals => "its input asks for secrets to be shown".to_owned(),
    };
    let reversibility = if guess.tier >= Tier::High { Reversibility::Irreversible } else { Reversibility::Hard };
    Finding {
        reason: format!("No rule describes this tool, so guard guesses: {by}."),
        touches: vec![call.title()],
        notes: if guess.pays { vec![SessionNote::Money] } else { Vec::new() },
        ..Finding::plain(GUESS, guess.tier, reversibility, "", span)
    }
}

/// Returns the finding of a tool whose server cannot be trusted.
fn of_mark(mark: &ToolWarning, call: &ToolCall, span: Span) -> Finding {
    let (rule, tier, reason, instead) = match mark {
        ToolWarning::Changed => (
            "mcp.changed",
            Tier::High,
            "The server changed the description of this tool since it was pinned.".to_owned(),
            Some("review the change with guard mcp pins, and accept it there if it is right"),
        ),
        ToolWarning::Instructs(what) => (
            "mcp.instructions",
            Tier::High,
            format!(
                "The description of this tool contains {what}: it gives instructions to the model instead of \
                 describing the tool."
            ),
            Some("remove the server, or review the description with guard mcp pins"),
        ),
        ToolWarning::Shadows(server) => (
            "mcp.shadow",
            Tier::Low,
            format!("The server {server} has a tool with the same name, so the intended one is not known."),
            None,
        ),
    };
    let instead = instead.map(ToOwned::to_owned);
    Finding {
        reason,
        instead,
        touches: vec![call.title()],
        ..Finding::plain(rule, tier, Reversibility::Hard, "", span)
    }
}

fn of_warning(span: Span) -> Finding {
    let reason = "The server marks this tool as destructive or as needing confirmation.".to_owned();
    Finding { reason, ..Finding::plain(WARNING, Tier::Medium, Reversibility::Hard, "", span) }
}

/// Reports whether the call transfers money, so that no grant covers it.
#[must_use]
pub fn pays(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.notes.contains(&SessionNote::Money))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_runs_something_is_a_guess_unless_it_is_given_what_runs_or_says_what_it_is() {
        let catalog = Catalog::builtin();
        let of = |name: &str, input: Value| verdict(&ToolCall::new(name, input), &catalog);
        let guessed =
            |verdict: &Verdict| verdict.findings.iter().any(|one| one.rule == GUESS && one.tier >= Tier::Medium);
        for (name, input, wanted) in [
            ("run", json!({}), true),
            ("call_tool", json!({}), true),
            ("run_report", json!({"path": "notes"}), true),
            ("invoke", json!({"cli_command": "ls"}), false),
            ("list_runs", json!({}), false),
        ] {
            assert_eq!(guessed(&of(name, input)), wanted, "{name}");
        }
        for (name, input, wanted) in [
            ("invoke", json!({"language": "rust", "code": "x"}), true),
            ("call_tool", json!({"name": "list_files", "arguments": {}}), false),
        ] {
            assert_eq!(guessed(&of(name, input)), wanted, "{name}");
        }
        let description = Some("Lists the reports that were run. Read-only.".to_owned());
        let told = ToolCall { description, ..ToolCall::new("run_report", json!({})) };
        assert!(!guess::guess(&told, catalog.lexicon()).is_open);
    }

    #[test]
    fn what_nothing_describes_and_may_pay_is_a_payment_whatever_its_server_is_called() {
        let catalog = Catalog::builtin();
        let of = |name: &str, server: &str| {
            let call = ToolCall { servers: vec![server.to_owned()], ..ToolCall::new(name, json!({ "amount": 5 })) };
            pays(&verdict(&call, &catalog).findings)
        };
        for name in ["payment.send", "payment_send", "pay_invoice", "payments.transfer", "buyTicket", "withdraw"] {
            assert!(of(name, "acme"), "{name}");
        }
        assert!(of("move", "my-wallet"));
        for name in ["get_payment", "list_refunds", "delete_event", "send_message"] {
            assert!(!of(name, "acme"), "{name}");
        }
    }

    #[test]
    fn a_call_in_a_call_is_judged_as_the_call_it_is() {
        let catalog = Catalog::builtin();
        let rules = |name: &str, input: Value| -> Vec<String> {
            let verdict = verdict(&ToolCall::new(name, input), &catalog);
            verdict.findings.into_iter().map(|finding| finding.rule).collect()
        };
        let payment = json!({"tool": "payment.send", "arguments": {"amount": 1}});
        let paid = |rules: &[String]| rules.iter().any(|rule| rule == "tools.payment");
        assert!(paid(&rules("list_items", payment.clone())));
        assert!(paid(&rules("call_tool", json!({"calls": [{"tool": "list_files", "input": {}}, payment.clone()]}))));
        let deep = (0..=MOST_CALLS).fold(payment, |inner, _| json!({"tool": "call_tool", "arguments": inner}));
        assert!(rules("call_tool", deep).iter().any(|rule| rule == DEPTH));
        // An object with a name and parameters is not a call of the tool of that name.
        assert_eq!(rules("get_view", json!({"name": "deleted_items", "parameters": {}})), Vec::<String>::new());
    }
}
