//! Reads and checks the entries for tools that are not commands.

use super::SourceFile;
use super::check::{Check, EntryHead, ReviewItems, Words};
use super::shape::{HoldingShape, ToolShape, ValueTestShape};
use super::spelling::expand_braces;
use crate::judge::document::Located;
use crate::judge::name_words;
use crate::judge::rules::model::{Examples, InputKind, InputPart, MAX_APPROVALS, Tool, ValueTest};
use crate::judge::rules::problem::{Problem, nearest};
use crate::judge::rules::source::LayersBelow;
use crate::judge::tier::{Tier, Weight};

/// Converts a `[[tool]]` to its checked form.
pub fn tool(
    place: SourceFile<'_>,
    family: &str,
    shape: &ToolShape,
    known: &dyn LayersBelow,
) -> Result<(Tool, Examples), Vec<Problem>> {
    let id = shape.id.get_ref().as_str();
    let tier = *shape.tier.get_ref();
    let mut check = Check::new(place, Words { kind: "tool", taken: "a rule or tool" }, id);
    let head = EntryHead {
        id: &shape.id,
        tier,
        weight: shape.weight.as_ref(),
        approvals: shape.approvals.as_ref(),
        reason: &shape.reason,
    };
    check.head(family, &head, known);
    let leave = ReviewItems {
        tier,
        reversibility: shape.reversibility,
        yolo: shape.yolo.as_ref(),
        reversible: shape.reversible.as_ref(),
    };
    check.leave(&leave, known);
    check.tool(shape, known);
    let approvals = shape.approvals.as_ref().map_or(1, |approvals| *approvals.get_ref());
    let servers = shape.server.as_ref().map(|servers| servers.get_ref().as_slice()).unwrap_or_default();
    let tool = Tool {
        id: id.to_owned(),
        names: check.names(&shape.name),
        servers: servers.iter().flat_map(|glob| expand_braces(&glob.to_ascii_lowercase())).collect(),
        tier,
        weight: shape.weight.as_ref().map_or(Weight::of_tier(tier), |weight| Weight::from_f64(*weight.get_ref())),
        reversibility: shape.reversibility,
        effects: shape.effects.clone(),
        reason: shape.reason.get_ref().clone(),
        instead: shape.instead.clone(),
        deny: shape.deny,
        yolo: shape.yolo.as_ref().is_some_and(|yolo| *yolo.get_ref()),
        reversible: shape.reversible.as_ref().is_some_and(|flag| *flag.get_ref()),
        approvals: u8::try_from(approvals).unwrap_or(MAX_APPROVALS),
        when: shape.when.iter().map(|test| check.value_test(test)).collect(),
        holds: shape.holds.iter().filter_map(|holding| check.holding(holding)).collect(),
        show: check.pointers("show", &shape.show),
        redact: check.pointers("redact", &shape.redact),
    };
    let texts = |texts: &[Located<String>]| texts.iter().map(|text| text.get_ref().clone()).collect();
    let examples = Examples {
        rule: id.to_owned(),
        calls: texts(&shape.examples),
        other_calls: texts(&shape.others),
        ..Examples::default()
    };
    if check.problems.is_empty() { Ok((tool, examples)) } else { Err(check.problems) }
}

impl Check<'_> {
    /// Checks the keys other than the common ones: the examples, and those that loosen.
    fn tool(&mut self, shape: &ToolShape, known: &dyn LayersBelow) {
        let tier = *shape.tier.get_ref();
        if shape.examples.iter().all(|example| example.get_ref().trim().is_empty()) {
            let remedy = "give a call that it speaks of: `delete_event {\"id\": \"1\"}`";
            self.fault(&shape.id.span(), "examples", "there is none", remedy);
        }
        // A tool with an entry is not guessed at, so a project could declare an unknown tool harmless.
        if !known.may_loosen() && tier < Tier::Medium {
            let what = "a project's pattern file may only tighten, and this tier loosens";
            self.fault(&shape.tier.span(), "tier", what, "move it to your own pattern files");
        }
        if !known.may_loosen() && !shape.redact.is_empty() {
            let what = "a project's pattern file may not keep anything out of the record";
            let span = shape.redact.first().map_or_else(|| shape.id.span(), Located::span);
            self.fault(&span, "redact", what, "move it to your own pattern files");
        }
    }

    /// Returns the names normalised, so that `deleteEvent` and `delete-event` are the same.
    fn names(&mut self, names: &Located<Vec<String>>) -> Vec<String> {
        let plain: Vec<String> = names
            .get_ref()
            .iter()
            .flat_map(|name| name.split('|'))
            .flat_map(expand_braces)
            .map(|name| name_words::plain_glob(&name))
            .collect();
        if plain.is_empty() || plain.iter().any(|name| name.trim_matches('*').is_empty()) {
            self.fault(&names.span(), "name", "it covers everything, or nothing", "name the tool: \"delete_event\"");
        }
        plain
    }

    fn pointer(&mut self, key: &str, at: &Located<String>) -> String {
        let text = at.get_ref();
        if !text.starts_with('/') {
            let remedy = format!("write `/{text}`; `/to/*` stands for every element");
            self.fault(&at.span(), key, &format!("`{text}` is no JSON pointer"), &remedy);
        }
        text.clone()
    }

    fn pointers(&mut self, key: &str, all: &[Located<String>]) -> Vec<String> {
        all.iter().map(|at| self.pointer(key, at)).collect()
    }

    fn value_test(&mut self, given: &Located<ValueTestShape>) -> ValueTest {
        let shape = given.get_ref();
        let test = ValueTest {
            at: self.pointer("when: at", &shape.at),
            equals: shape.equals.clone(),
            glob: shape.glob.clone(),
            not_glob: shape.not_glob.clone(),
            above: shape.above,
            below: shape.below,
            present: shape.present,
        };
        let says = !(test.equals.is_empty() && test.glob.is_empty() && test.not_glob.is_empty())
            || test.above.is_some()
            || test.below.is_some()
            || test.present.is_some();
        if !says {
            let remedy = "add equals, glob, not_glob, above, below or present";
            self.fault(&given.span(), "when", "it tests nothing", remedy);
        }
        test
    }

    fn holding(&mut self, given: &Located<HoldingShape>) -> Option<InputPart> {
        let shape = given.get_ref();
        let at = self.pointer("holds: at", &shape.at);
        let what = InputKind::named(shape.what.get_ref());
        if what.is_none() {
            let near = nearest(shape.what.get_ref(), InputKind::words());
            let all = InputKind::words().collect::<Vec<_>>().join(", ");
            let remedy = near.map_or_else(|| format!("use one of {all}"), |near| format!("did you mean `{near}`?"));
            let what = format!("unknown kind of input `{}`", shape.what.get_ref());
            self.fault(&shape.what.span(), "holds: as", &what, &remedy);
        }
        let language = shape.language.as_ref().map(|language| self.pointer("holds: language", language));
        Some(InputPart { at, what: what?, language })
    }
}
