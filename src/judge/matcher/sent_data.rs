//! Distinguishes the data that is sent from the host that it is sent to.
//!
//! Out of scope: which options contain data. That is part of the descriptions of programs.

use super::inspected_text::InspectedValue;
use super::match_context::View;
use crate::judge::analysis::act::{Effect, Flag, Verb};
use crate::judge::rules::model::ArgumentPlace;
use crate::judge::rules::text::same_flag;

impl View<'_> {
    /// Reports whether an operand of an act that sends something is the data, and not the host.
    pub fn is_data(&self, seen: &InspectedValue<'_>) -> bool {
        let Verb::Effect(effect @ (Effect::Send | Effect::Fetch)) = self.act.verb else { return false };
        let program = self.program();
        self.context.spend((program.operands.len() + program.flags.len()) as u64 / 4);
        if program.operands.iter().any(|other| other.span == seen.span && other.value == *seen.value) {
            return false;
        }
        let described = self.context.program(program);
        let sub = described.and_then(|described| described.subs.exact(&program.sub));
        let all = described.into_iter().flat_map(|all| &all.effects);
        let of_sub = sub.into_iter().flat_map(|sub| &sub.effects);
        all.chain(of_sub).filter(|spec| spec.does == effect).flat_map(|spec| data(&spec.to)).any(|name| {
            let is_value = |flag: &Flag| flag.value.as_ref() == Some(seen.value) && flag.span == seen.span;
            program.flags.iter().any(|flag| same_flag(name, &flag.name) && is_value(flag))
        })
    }
}

/// Returns the options whose values are data.
fn data(place: &ArgumentPlace) -> Vec<&String> {
    match place {
        ArgumentPlace::Data(names) => names.iter().collect(),
        ArgumentPlace::All(places) => places.iter().flat_map(data).collect(),
        _ => Vec::new(),
    }
}
