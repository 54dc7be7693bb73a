//! Collects facts about a command besides its verdict, for the person who is asked about it.

use std::path::Path;

use super::engine::Engine;
use crate::judge::Judgment;
use crate::judge::invocation::Invocation;
use crate::world::{World, evidence as world_evidence};

/// Returns facts about what the command would touch, and the problems of the configuration. They are for the card and
/// never affect the verdict.
pub fn evidence(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Vec<String> {
    let world = World::new(invocation);
    let found = world_evidence::gather(&world, &judgment.facts.acts, &judgment.risk.findings, world_evidence::MAX_TIME);
    places(invocation, judgment).into_iter().chain(found.lines).chain(engine.problems()).collect()
}

/// The largest number of script lines that are named.
const MAX_PLACES: usize = 3;

/// Returns the lines of scripts with the most severe findings.
fn places(invocation: &Invocation, judgment: &Judgment) -> Vec<String> {
    let (facts, risk) = (&judgment.facts, &judgment.risk);
    let worst = risk.findings.iter().filter(|finding| finding.tier == risk.tier);
    let mut places = Vec::new();
    for id in worst.filter_map(|finding| finding.act) {
        let program = facts.acts.get(id).map(|act| act.parent.and_then(|id| facts.acts.get(id)).unwrap_or(act));
        let (Some(program), Some((path, line))) = (program, facts.line(id)) else { continue };
        let below = Path::new(path).strip_prefix(&invocation.cwd).map_or_else(|_| path.into(), Path::to_string_lossy);
        let place = format!("line {line} of {below} runs {}", program.verb.key());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(MAX_PLACES);
    places
}
