//! Lowers findings about what belongs to this session: its work and its notes.

use super::earlier_acts::{ignored_otherwise, is_opaque};
use super::{linked, matched, moved_into, place};
use crate::judge::agents;
use crate::judge::analysis::act::{Act, Effect, Value, Verb};
use crate::judge::analysis::paths::NormalPath;
use crate::judge::analysis::question::{PathFacts, PathKind};
use crate::judge::ledger::{FileKind, FileSnapshot, Ownership, Stat};
use crate::judge::matcher::inspected_text::InspectedValue;
use crate::judge::matcher::match_context::View;
use crate::judge::path_class::PathClass;

/// Returns why files that a pattern matches do not count: this session created all of them.
fn own_matches(view: &View<'_>, path: &NormalPath) -> Option<&'static str> {
    let (found, ledger) = (matched(view, path), view.context.inquiry.ledger());
    let (found, ledger) = (found.filter(|_| !view.act.recursive)?, ledger?);
    let own = |(path, stat): &&(String, Stat)| {
        ledger.owns(path, &FileSnapshot { stat: *stat, below: None }) == Some(Ownership::Made)
    };
    let all = found.len() <= MAX_MATCHED && found.iter().all(own);
    (all && !moved_into(view, path) && !linked(view, path)).then_some("this session created all of it")
}

/// Maximum number of files of one pattern whose creators are looked up.
pub(super) const MAX_MATCHED: usize = 64;

/// The reason why an agent's notes do not count.
pub(in crate::judge::matcher) const OWN_NOTE: &str = "it is the agent's own note";

/// Reports whether the path is one of the notes of the agent whose session this is, or a directory or pattern of such
/// notes, and no link leads elsewhere.
pub(super) fn is_own_note(view: &View<'_>, path: &NormalPath) -> bool {
    let context = view.context;
    let Some(agent) = context.invocation.session.agent.as_deref() else { return false };
    let of_program = context.catalog.program(agent).into_iter().flat_map(|program| &program.notes);
    let notes: Vec<&String> =
        agents::named(agent).into_iter().flat_map(|agent| &agent.notes).chain(of_program).collect();
    if notes.is_empty() || path.everything || path.found || path.dynamic {
        return false;
    }
    let covered = |text: &str| notes.iter().any(|glob| context.placer.is_covered(glob, text));
    let Some((name, above)) = path.components.split_last() else { return false };
    if name.glob.is_some() {
        // The pattern may stand for links, which are deleted as such.
        let above = NormalPath { components: above.to_vec(), globbed: false, ..path.clone() };
        let deletes = view.act.verb == Verb::Effect(Effect::Delete) && !view.act.recursive && !path.slash;
        let (Some(dir), Some(name)) = (place(&above).filter(|_| deletes), name.sample()) else { return false };
        let is_plain =
            |facts: &PathFacts| facts.kind == PathKind::Directory && covered(&format!("{}/{name}", facts.canonical));
        return covered(&format!("{dir}/{name}"))
            && context.inquiry.path(&dir).is_some_and(is_plain)
            && !linked(view, path);
    }
    let Some(text) = place(path) else { return false };
    let Some(facts) = context.inquiry.path(&text).filter(|facts| !facts.symlink) else { return false };
    if facts.kind != PathKind::Directory && !view.act.recursive {
        return covered(&text) && (facts.canonical == text || covered(&facts.canonical)) && !linked(view, path);
    }
    // Only notes are put into the directory, or the directory is below one in which every file is a note.
    let names = if view.act.recursive { None } else { names_put(view) };
    let inside = |dir: &str| match &names {
        Some(names) => names.iter().all(|name| covered(&format!("{dir}/{name}"))),
        None => {
            covered(&format!("{dir}/x.md"))
                && dir.rsplit_once('/').is_some_and(|(above, _)| covered(&format!("{above}/x.md")))
        }
    };
    let may = names.is_some() || view.act.verb == Verb::Effect(Effect::Delete) && view.act.recursive;
    may && inside(&text) && inside(&facts.canonical) && !linked(view, path)
}

/// Returns the names under which the program of the act puts files into a directory: those of its sources. `None` if one
/// of them is unknown, or nothing is put there.
fn names_put(view: &View<'_>) -> Option<Vec<String>> {
    let context = view.context;
    let sources = context
        .effects_of(view.act.parent?)
        .filter(|(_, effect)| matches!(effect, Effect::Move | Effect::Show | Effect::Load));
    let name = |act: &Act, value: &Value| {
        let path = context.placer.path(value, act.cwd.as_ref())?;
        let text = place(&path)?;
        let is_file = context.inquiry.path(&text).is_some_and(|facts| facts.kind == PathKind::File);
        is_file.then(|| text.rsplit('/').next().map(str::to_owned))?
    };
    let names: Option<Vec<String>> =
        sources.flat_map(|(act, _)| act.operands.iter().map(move |operand| name(act, &operand.value))).collect();
    names.filter(|names| !names.is_empty())
}

/// Returns why the path is this session's own work: its commands and tools created it, or only they changed what git
/// tracks, and it is unchanged since.
pub(super) fn own_work(view: &View<'_>, seen: &InspectedValue<'_>, path: &NormalPath) -> Option<&'static str> {
    /// The classes of files that a session creates for others to run or to read. They are never its own work.
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

/// Reports whether all changes in the act's work tree were made by commands and tools of this session, and no earlier
/// act of the command brings others.
pub(super) fn has_own_edits_alone(view: &View<'_>) -> bool {
    let (act, inquiry) = (view.act, view.context.inquiry);
    let Some(here) = act.cwd.as_ref().and_then(NormalPath::of_place) else { return false };
    let Some(dir) = place(&here).filter(|_| !is_opaque(view)) else { return false };
    if moved_into(view, &here) || linked(view, &here) || ignored_otherwise(view) {
        return false;
    }
    let (Some(changed), Some(ledger)) = (inquiry.changed(&dir), inquiry.ledger()) else { return false };
    // If nothing is changed yet, the changes that the act reverts are made before it runs.
    !changed.is_empty()
        && changed.iter().all(|path| {
            // A file that a program restored from git's storage was someone's work before.
            inquiry.look(path).and_then(|look| ledger.owns(path, look)).is_some_and(|own| match own {
                Ownership::Edited => true,
                Ownership::Made => ledger.has_made(path),
            })
        })
}

/// Returns the path of a link that is deleted by its name. The link is deleted and not its target.
fn own_link(view: &View<'_>, path: &NormalPath) -> Option<String> {
    let deletes = view.act.verb == Verb::Effect(Effect::Delete) && !path.slash;
    let (name, above) = path.components.split_last().filter(|(name, _)| deletes && name.is_plain())?;
    let above = NormalPath { components: above.to_vec(), ..path.clone() };
    let facts = view.context.inquiry.path(&self::place(&above)?)?;
    (facts.kind == PathKind::Directory).then(|| format!("{}/{}", facts.canonical.trim_end_matches('/'), name.text()))
}
