//! What lowers a finding because it belongs to this session: its work and its notes.

use super::earlier_acts::{ignored_otherwise, is_opaque};
use super::{linked, matched, moved_into, place};
use crate::judge::agents;
use crate::judge::analysis::act::{Effect, Verb};
use crate::judge::analysis::paths::NormalPath;
use crate::judge::analysis::question::PathKind;
use crate::judge::ledger::{FileKind, FileSnapshot, Ownership, Stat};
use crate::judge::matcher::inspected_text::InspectedValue;
use crate::judge::matcher::match_context::View;
use crate::judge::path_class::PathClass;

/// Whether all files that a pattern stands for are this session's own work.
fn own_matches(view: &View<'_>, path: &NormalPath) -> Option<&'static str> {
    let (found, ledger) = (matched(view, path), view.context.inquiry.ledger());
    let (found, ledger) = (found.filter(|_| !view.act.recursive)?, ledger?);
    let own = |(path, stat): &&(String, Stat)| {
        ledger.owns(path, &FileSnapshot { stat: *stat, below: None }) == Some(Ownership::Made)
    };
    let all = found.len() <= MAX_MATCHED && found.iter().all(own);
    (all && !moved_into(view, path) && !linked(view, path)).then_some("this session created all of it")
}

/// The most files behind one pattern whose makers are looked up.
pub(super) const MAX_MATCHED: usize = 64;

/// Why an agent's notes do not count.
pub(in crate::judge::matcher) const OWN_NOTE: &str = "it is the agent's own note";

/// Whether the path is one of the notes of the agent whose session this is, and no link leads elsewhere.
pub(super) fn is_own_note(view: &View<'_>, path: &NormalPath) -> bool {
    let context = view.context;
    let (Some(text), Some(agent)) = (place(path), context.invocation.session.agent.as_deref()) else { return false };
    let of_program = context.catalog.program(agent).into_iter().flat_map(|program| &program.notes);
    let notes: Vec<&String> =
        agents::named(agent).into_iter().flat_map(|agent| &agent.notes).chain(of_program).collect();
    if notes.is_empty() || view.act.recursive || path.globbed || path.everything {
        return false;
    }
    let covered = |text: &str| notes.iter().any(|glob| context.placer.is_covered(glob, text));
    let Some(facts) = context.inquiry.path(&text).filter(|_| covered(&text)) else { return false };
    let leads_there = facts.canonical == text || covered(&facts.canonical);
    leads_there && !facts.symlink && facts.kind != PathKind::Directory && !linked(view, path)
}

/// Why what is at the path is this session's own work, when it is: its commands and tools made it, or they alone changed
/// what git has, and it is still as they left it.
pub(super) fn own_work(view: &View<'_>, seen: &InspectedValue<'_>, path: &NormalPath) -> Option<&'static str> {
    /// What a session makes for others than itself to run or to know.
    const NEVER: [PathClass; 9] = [
        PathClass::Root,
        PathClass::System,
        PathClass::Secret,
        PathClass::Startup,
        PathClass::Persistence,
        PathClass::Guard,
        PathClass::Agent,
        PathClass::Home,
        PathClass::Device,
    ];
    let (inquiry, recursive) = (view.context.inquiry, view.act.recursive);
    if seen.classes(view).has_any(&NEVER) {
        return None;
    }
    if path.globbed {
        return own_matches(view, path);
    }
    let facts = inquiry.path(&place(path)?)?;
    let place = if facts.symlink { own_link(view, path)? } else { facts.canonical.clone() };
    if !facts.symlink && !matches!(facts.kind, PathKind::File | PathKind::Directory) {
        return None;
    }
    let (look, ledger) = (inquiry.look(&place), inquiry.ledger());
    let look = look?;
    let own = ledger?.owns(&place, look)?;
    if moved_into(view, path) || linked(view, path) {
        return None;
    }
    match own {
        Ownership::Made => Some("this session created it"),
        Ownership::Edited if recursive && look.stat.kind != FileKind::File => None,
        Ownership::Edited => Some("only this session changed it since the last commit"),
    }
}

/// Whether all that is changed in the work tree worked in is what this session's commands and tools changed there, and no
/// earlier act of the line brings anything else.
pub(super) fn has_own_edits_alone(view: &View<'_>) -> bool {
    let (act, inquiry) = (view.act, view.context.inquiry);
    let Some(here) = act.cwd.as_ref().and_then(NormalPath::of_place) else { return false };
    let Some(dir) = place(&here).filter(|_| !is_opaque(view)) else { return false };
    if moved_into(view, &here) || linked(view, &here) || ignored_otherwise(view) {
        return false;
    }
    let (Some(changed), Some(ledger)) = (inquiry.changed(&dir), inquiry.ledger()) else { return false };
    // Where nothing is changed, what the act takes back is made until then.
    !changed.is_empty()
        && changed.iter().all(|path| {
            // What a program brought back from where git keeps it was somebody's before.
            inquiry.look(path).and_then(|look| ledger.owns(path, look)).is_some_and(|own| match own {
                Ownership::Edited => true,
                Ownership::Made => ledger.has_made(path),
            })
        })
}

/// Where a link lies that is deleted by its name: the link goes, and nothing of what it leads to.
fn own_link(view: &View<'_>, path: &NormalPath) -> Option<String> {
    let deletes = view.act.verb == Verb::Effect(Effect::Delete) && !path.slash;
    let (name, above) = path.components.split_last().filter(|(name, _)| deletes && name.is_plain())?;
    let above = NormalPath { components: above.to_vec(), ..path.clone() };
    let facts = view.context.inquiry.path(&self::place(&above)?)?;
    (facts.kind == PathKind::Directory).then(|| format!("{}/{}", facts.canonical.trim_end_matches('/'), name.text()))
}
