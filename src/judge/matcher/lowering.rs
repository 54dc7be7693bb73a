//! Evaluates the facts (docs/risk.md) because of which an operand does not count for a rule.
//!
//! Each fact is checked against the answers of the world and against what earlier acts of the command may have changed
//! since. Without an answer nothing is lowered.

mod copies;
mod earlier_acts;
mod made_by_name;
mod refs;
mod session_own;

use copies::{is_derived, is_own_copy, is_put_back};
use earlier_acts::{
    copied_into, created, earlier, follows_unknown, history as build, ignored_otherwise, is_opaque, linked, may_make,
    moved_by_name, moved_into, naming, near, untouched,
};
pub(super) use earlier_acts::{is_brought, is_known_to_be_moved, is_quiet, makes};
pub(super) use made_by_name::{creates_by_name, is_unconditional, made};
pub(super) use refs::unborn;
pub(super) use session_own::OWN_NOTE;
use session_own::{has_own_edits_alone, is_own_note, own_work};

use super::history::History;
use super::inspected_text::InspectedValue;
use super::match_context::{MatchContext, View};
use crate::judge::analysis::act::{Act, Effect, Flag, Remote, RemoteKind, Source, Value, Verb};
use crate::judge::analysis::arguments::GLOBAL;
use crate::judge::analysis::paths::{Component, NormalPath, Relation, Start};
use crate::judge::analysis::question::{GitFacts, PathFacts, PathKind};
use crate::judge::ledger::{FileKind, Stat};
use crate::judge::path_class::PathClass;
use crate::judge::rules::model::Lowering;
use crate::judge::rules::text::same_flag;

/// Returns why an operand does not count: the first of the rule's facts that is true for it.
pub(super) fn reason(view: &View<'_>, seen: &InspectedValue<'_>, facts: &[Lowering]) -> Option<&'static str> {
    // Files of another host are not files of this machine.
    if let Some(remote) = &view.act.remote {
        let apart = remote.kind == RemoteKind::Container && facts.contains(&Lowering::Temp) && !mounts(view.context);
        if apart && remote.fresh && starts_containers(view) {
            return Some("it is in a container that this command starts");
        }
        let below = apart && seen.path(view).is_some_and(is_temp_by_name);
        return below.then_some("it is in the temporary directory of a container");
    }
    // Without fuel the finding is not lowered.
    if !view.context.spend(8) {
        return None;
    }
    // A trap may run before its variable is set.
    let trapped = || view.act.wrappers.iter().any(|wrapper| &**wrapper == "trap");
    let deletes = view.act.verb == Verb::Effect(Effect::Delete);
    if deletes && facts.contains(&Lowering::Missing) && seen.value.is("") && trapped() {
        return Some("it matches nothing");
    }
    let path = seen.path(view)?;
    let reason = facts.iter().find_map(|fact| match fact {
        Lowering::Temp => is_temp(view, path).then_some("it is in the temporary directory"),
        Lowering::Generated => (is_generated(view, seen, path, view.act.recursive) || finds_generated(view))
            .then_some("it can be created again and git ignores it"),
        Lowering::Missing if is_missing(view, path) => Some("it does not exist"),
        Lowering::Missing => is_tested_to_be_missing(view, path).then_some("it runs only if this does not exist"),
        Lowering::New => (only_writes(view) && is_absent(view, path)).then_some("it does not exist"),
        Lowering::Created if is_created(view, path) => Some("this command itself creates it"),
        Lowering::Created => is_put_back(view, path).then_some("this command itself put the content aside"),
        Lowering::Tracked => {
            let takes_back = facts.contains(&Lowering::Edits);
            is_tracked(view, path, takes_back).then_some("it is unchanged since the last commit")
        }
        Lowering::Session => own_work(view, seen, path),
        Lowering::Notes => is_own_note(view, path).then_some(OWN_NOTE),
        Lowering::Scratch | Lowering::Edits | Lowering::Container => None,
    });
    // Without fuel the checks may be incomplete, so that nothing is lowered.
    reason.filter(|_| view.context.spend(0))
}

/// Builds the index of the acts by the paths that they change.
pub(super) fn history(context: &MatchContext<'_>) -> History {
    build(context)
}

/// Reports whether a path is in the project, or was created by the command or its session, and nothing was moved there.
pub(super) fn is_made_here(view: &View<'_>, path: &NormalPath) -> bool {
    let (Some(text), inquiry) = (place(path), view.context.inquiry) else { return path.start == Start::Temporary };
    let Some(facts) = inquiry.path(&text) else { return false };
    let in_project = view.context.placer.project(inquiry).is_some_and(|project| path.relation(&project).within());
    let by_command = || facts.kind == PathKind::Missing && created(view, path);
    let by_session = || {
        let owns = |look| inquiry.ledger().is_some_and(|ledger| ledger.owns(&facts.canonical, look).is_some());
        inquiry.look(&facts.canonical).is_some_and(owns)
    };
    (in_project || by_command() || by_session()) && !moved_into(view, path) && !linked(view, path)
}

/// Returns why a rule about the directory in which a program works does not count: one of the facts is true for that
/// directory, or the act runs in a container that the command starts.
pub(super) fn of_place(view: &View<'_>, facts: &[Lowering]) -> Option<&'static str> {
    let is_fresh = |remote: &Remote| remote.kind == RemoteKind::Container && remote.fresh;
    if facts.contains(&Lowering::Container) && view.act.remote.as_ref().is_some_and(is_fresh) {
        return Some("it happens in a container that this command starts");
    }
    let is_about = |fact| view.act.remote.is_none() && facts.contains(&fact);
    if !is_about(Lowering::Scratch) && !is_about(Lowering::Edits) {
        return None;
    }
    let act = view.act;
    let place = view.context.program(act)?.works_in.as_ref()?;
    // A directory that is set by a variable is not resolved.
    let set = |name: &String| {
        act.env.beginning(name).any(|(other, _)| other == name)
            || view.context.invocation.env.get(name.as_str()).is_some()
    };
    if place.env.iter().any(set) {
        return None;
    }
    let is_place = |flag: &&Flag| {
        let own = flag.name.strip_prefix(GLOBAL).unwrap_or(&flag.name);
        place.flags.iter().any(|name| same_flag(name, own))
    };
    let mut named = act.flags.iter().filter(is_place).peekable();
    if !place.here && named.peek().is_none() {
        return None;
    }
    if is_about(Lowering::Edits) && named.peek().is_none() && has_own_edits_alone(view) {
        return view.context.spend(0).then_some("only this session changed anything there since the last commit");
    }
    if !is_about(Lowering::Scratch) {
        return None;
    }
    let here = act.cwd.as_ref().and_then(NormalPath::of_place);
    let in_temp = |flag: &Flag| {
        let value = flag.value.as_ref()?;
        Some(is_temp(view, &view.context.placer.path(value, act.cwd.as_ref())?))
    };
    let all = (!place.here || here.is_some_and(|here| is_temp(view, &here)))
        && named.all(|flag| in_temp(flag).unwrap_or_default());
    (all && view.context.spend(0)).then_some("the working directory is in the temporary directory")
}

/// Reports whether a path is below the temporary directory of a machine that cannot be queried. The last component may
/// be a glob, because nobody else creates links there.
fn is_temp_by_name(path: &NormalPath) -> bool {
    let below = match path.relation("/tmp") {
        Relation::Below => path.components.len() - 1,
        // `/tmp/*`
        Relation::Same if path.everything => path.components.len(),
        _ => return false,
    };
    path.start == Start::Root
        && !path.dynamic
        && path.components.iter().all(|component| !component.is_unknown())
        && path.components.iter().take(below).all(|component| component.glob.is_none())
}

/// Reports whether a program that encloses the act is described to start containers, so that its options for mounts are
/// known. Other such programs lead to devices and machines that existed before.
fn starts_containers(view: &View<'_>) -> bool {
    let starts = |name: &str| view.context.catalog.program(name).is_some_and(|program| !program.mounts.is_empty());
    view.act.wrappers.iter().any(|wrapper| starts(wrapper))
}

/// Reports whether an act of the command mounts directories of this machine into a container, or gives it rights on
/// this machine.
fn mounts(context: &MatchContext<'_>) -> bool {
    context.facts.acts.iter().any(|act| {
        let options = context.program(act).map_or(&[][..], |program| &program.mounts);
        act.flags.iter().any(|flag| options.iter().any(|name| same_flag(name, &flag.name)))
    })
}

/// Returns the text of a path that is completely known, so that the world can be queried for it. A `/*` that was
/// removed from its end is not part of it.
pub(super) fn place(path: &NormalPath) -> Option<String> {
    let whole = path.start == Start::Root && !path.dynamic && !path.found && !path.components.is_empty();
    let plain = path.components.iter().all(|component| component.is_plain());
    (whole && plain).then(|| path.rough())
}

fn is_temp(view: &View<'_>, path: &NormalPath) -> bool {
    let context = view.context;
    if path.start == Start::Temporary {
        return !path.dynamic && !moved_into(view, path) && !linked(view, path);
    }
    if path.dynamic
        || path.start != Start::Root
        || !context.placer.is_temp(path, context.inquiry)
        || context.placer.is_temp_top(path)
    {
        return false;
    }
    // A glob at the end deletes the entries that it matches, and of a link only the link, so that its directory must
    // exist. A name that contains a number of the command contains only what the command created, so that the directory
    // above it must exist.
    let mut asked = path.clone();
    let globs = path.components.iter().position(|component| component.glob.is_some());
    if globs
        .is_some_and(|at| at + 1 < path.components.len() || path.slash || view.act.verb != Verb::Effect(Effect::Delete))
    {
        return false;
    }
    let numbered = path.components.iter().position(|component| component.is_unknown());
    let last = numbered.or(globs).map(|at| asked.components.split_off(at)).unwrap_or_default();
    asked.found &= numbered.is_none();
    let Some(text) = place(&asked) else { return false };
    let Some(facts) = context.inquiry.path(&text) else { return false };
    let leads_there = NormalPath::absolute(&facts.canonical).is_some_and(|mut canonical| {
        canonical.components.extend(last.iter().cloned());
        context.placer.is_temp(&canonical, context.inquiry) && !context.placer.is_temp_top(&canonical)
    });
    leads_there && !moved_into(view, path) && !linked(view, path)
}

/// Reports whether a search deletes only files that are generated.
#[inline(never)]
fn finds_generated(view: &View<'_>) -> bool {
    let is = |found: &Value| {
        let seen = InspectedValue::new(found, view.act.span);
        seen.path(view).is_some_and(|path| is_generated(view, &seen, path, true))
    };
    !view.act.found.is_empty() && view.act.found.iter().all(is)
}

/// Reports whether a path is generated. `whole`: with everything below it.
fn is_generated(view: &View<'_>, seen: &InspectedValue<'_>, path: &NormalPath, whole: bool) -> bool {
    if !seen.classes(view).has(PathClass::Generated) || seen.classes(view).has(PathClass::Repository) {
        return false;
    }
    if path.found || path.components.iter().any(|component| component.glob.is_some()) {
        return is_generated_by_name(view, path, whole);
    }
    let Some(text) = place(path) else { return false };
    // Both questions are asked in one round.
    let (facts, git) = (view.context.inquiry.path(&text), view.context.inquiry.git(&text));
    let (Some(facts), Some(git)) = (facts, git) else { return false };
    let disposable = git.ignored && !git.tracked && !git.holds_tracked && !git.holds_repository;
    disposable
        && !facts.symlink
        && stays_in_repository(&text, facts, git)
        && !moved_into(view, path)
        && !linked(view, path)
        && !ignored_otherwise(view)
}

/// Reports whether the names that a glob or a search matches are generated, by querying git for a sample of them.
fn is_generated_by_name(view: &View<'_>, path: &NormalPath, whole: bool) -> bool {
    let Some((name, above)) = path.components.split_last() else { return false };
    // A directory of any name may be above a known name: `packages/*/node_modules`.
    let is_known = |component: &Component| {
        component.is_plain() || name.is_plain() && component.glob.is_some() && !component.is_unknown()
    };
    let known = path.start == Start::Root
        && above.iter().all(is_known)
        && !name.is_unknown()
        && !path.everything
        && (path.found || !path.dynamic);
    let samples: Option<Vec<String>> = path.components.iter().filter(|_| known).map(Component::sample).collect();
    let Some((samples, sample)) = samples.zip(name.sample()).filter(|(samples, _)| !samples.is_empty()) else {
        return false;
    };
    let text = format!("/{}", samples.join("/"));
    let asked = if whole { format!("{text}/{sample}") } else { text };
    let Some(git) = view.context.inquiry.git(&asked) else { return false };
    git.ignored
        && !git.tracked
        && !git.holds_repository
        && !moved_into(view, path)
        && !linked(view, path)
        && !ignored_otherwise(view)
}

/// Reports whether the path relative to the repository's root is the same after links are resolved.
fn stays_in_repository(text: &str, facts: &PathFacts, git: &GitFacts) -> bool {
    if facts.canonical == text {
        return true;
    }
    let Some(root) = &git.root else { return false };
    let below = |path: &str| path.strip_prefix(root.as_str()).filter(|rest| rest.starts_with('/')).map(str::to_owned);
    match (below(text), below(&facts.canonical)) {
        (Some(rest), _) => facts.canonical.ends_with(&rest),
        (None, Some(rest)) => text.ends_with(&rest),
        (None, None) => false,
    }
}

/// Reports whether nothing exists at the path, or only what the command creates there: no act is known to move a
/// person's work there, no undescribed program runs before, and the command itself deletes it. Only paths in the
/// project count: elsewhere other programs create files too, and a path that does not exist now may exist when the
/// command runs.
fn is_missing(view: &View<'_>, path: &NormalPath) -> bool {
    let project = view.context.placer.project(view.context.inquiry);
    let is_near = project.is_some_and(|project| path.relation(&project).within() || is_other_way(view));
    (is_near || path.components.last().is_some_and(|last| last.glob.is_some())) && is_absent(view, path)
}

/// Reports whether nothing exists at a path, and no earlier act of the command could have created it.
fn is_absent(view: &View<'_>, path: &NormalPath) -> bool {
    if path.components.last().is_some_and(|last| last.glob.is_some()) {
        return matches_nothing(view, path);
    }
    let Some(text) = place(path) else { return false };
    // A program with globs of its own may treat such a name as a pattern.
    if text.contains(['*', '?', '{', '[']) {
        return false;
    }
    let missing = view.context.inquiry.path(&text).is_some_and(|facts| facts.kind == PathKind::Missing);
    let made_since = || {
        view.act.source == Source::Command
            && !is_opaque(view)
            && !moved_into(view, path)
            && !copied_into(view, path)
            && !linked(view, path)
            && !follows_unknown(view, path)
    };
    // A file that a recipe replaces or deletes was created by the recipes, whatever they run to create it.
    let of_recipes = || {
        matches!(view.act.source, Source::Definition(_))
            && !view.act.recursive
            && !moved_by_name(view, path)
            && !linked(view, path)
    };
    missing && (untouched(view, path) || made_since() || of_recipes())
}

/// Reports whether the act writes a file that an enclosing condition found to be missing, and nothing was moved there
/// since. A test for a file fails for a directory or a device too, so that neither may be at the path.
fn is_tested_to_be_missing(view: &View<'_>, path: &NormalPath) -> bool {
    let Some(text) = place(path).filter(|_| view.act.absent.iter().any(|absent| place(absent) == place(path))) else {
        return false;
    };
    let writes = |effect: Effect| !matches!(effect, Effect::Delete | Effect::Permit);
    let own = match view.act.verb {
        Verb::Effect(effect) => effect.writes(),
        Verb::Program { .. } => view.context.effects_of(view.id).all(|(_, effect)| writes(effect)),
    };
    let is_file = |facts: &PathFacts| matches!(facts.kind, PathKind::Missing | PathKind::File) && !facts.symlink;
    own && view.context.inquiry.path(&text).is_some_and(is_file) && !moved_into(view, path) && !linked(view, path)
}

/// Reports whether the act writes and deletes nothing, itself or by its effects.
fn only_writes(view: &View<'_>) -> bool {
    let own = match view.act.verb {
        Verb::Effect(effect) => Some(effect),
        Verb::Program { .. } => None,
    };
    let effects = || own.into_iter().chain(view.context.effects_of(view.id).map(|(_, effect)| effect));
    effects().any(Effect::writes) && effects().all(|effect| effect != Effect::Delete)
}

/// Reports whether it is a second reading of the previous act, in the directory that applies if the `cd` before both
/// fails.
fn is_other_way(view: &View<'_>) -> bool {
    let before = view.id.checked_sub(1).and_then(|id| view.context.facts.acts.get(id));
    before.is_some_and(|before| {
        let act = view.act;
        act.conditional
            && act.cwd != before.cwd
            && (act.span, &act.verb) == (before.span, &before.verb)
            && act.args == before.args
    })
}

/// Returns the files in a directory of the project that a pattern, or a loop over names, matches.
pub(super) fn files_matched<'v>(view: &'v View<'_>, path: &NormalPath) -> impl Iterator<Item = &'v str> {
    let plain = NormalPath { found: false, dynamic: path.dynamic && !path.found, ..path.clone() };
    // `dir/*` is represented as `dir` with `everything`.
    let found = if path.everything && !plain.dynamic && !path.slash {
        lying_in(view, &NormalPath { everything: false, globbed: false, ..plain }, |_| true)
    } else {
        matched(view, &plain)
    };
    let files = found.unwrap_or_default().into_iter().filter(|(_, stat)| stat.kind == FileKind::File);
    files.take(session_own::MAX_MATCHED).map(|(path, _)| path.as_str())
}

/// Returns the entries of a directory of the project that a pattern matches, with their kinds and times.
fn matched<'v>(view: &'v View<'_>, path: &NormalPath) -> Option<Vec<&'v (String, Stat)>> {
    let (last, above) = path.components.split_last()?;
    if path.dynamic || path.found || path.everything || path.slash || last.is_unknown() {
        return None;
    }
    let dir = NormalPath { components: above.to_vec(), globbed: false, ..path.clone() };
    lying_in(view, &dir, |name| last.may_be(name))
}

/// Returns the entries of a directory of the project whose names `is_meant` accepts, with their kinds and times.
fn lying_in<'v>(
    view: &'v View<'_>,
    dir: &NormalPath,
    is_meant: impl Fn(&str) -> bool,
) -> Option<Vec<&'v (String, Stat)>> {
    let context = view.context;
    let plain = dir.components.iter().all(|component| component.is_plain());
    if !plain || dir.start != Start::Root || !dir.relation(&context.placer.project(context.inquiry)?).within() {
        return None;
    }
    let text = dir.rough();
    let (facts, look) = (context.inquiry.path(&text), context.inquiry.look(&text));
    let below = look?.below.as_ref().filter(|_| facts.is_some_and(|facts| facts.canonical == text))?;
    let front = format!("{}/", text.trim_end_matches('/'));
    let is_match = |(path, _): &&(String, Stat)| {
        path.strip_prefix(&front).is_some_and(|name| !name.contains('/') && is_meant(name))
    };
    context.spend(below.len() as u64 / 4);
    Some(below.iter().filter(is_match).collect())
}

/// Reports whether no entry of its directory matches a pattern. What the command creates there later is its own.
fn matches_nothing(view: &View<'_>, path: &NormalPath) -> bool {
    matched(view, path).is_some_and(|found| found.is_empty())
        && !is_opaque(view)
        && !moved_into(view, path)
        && !linked(view, path)
}

/// Reports whether the command created a directory of exactly this name, which contains a number that only the command
/// knows.
fn is_numbered(view: &View<'_>, path: &NormalPath) -> bool {
    let places = |act: &Act, value: &Value| view.context.placer.path(value, act.cwd.as_ref());
    let same = |act: &Act| {
        act.operands.iter().filter_map(|operand| places(act, &operand.value)).any(|other| {
            (other.start, &other.components) == (path.start, &path.components) && !other.dynamic && !other.globbed
        })
    };
    let is_known = path.start == Start::Root && !path.dynamic && !path.globbed && !path.everything;
    is_known
        && naming(view, path).any(|(_, act)| act.remote.is_none() && makes(view.context, act) && same(act))
        && !moved_into(view, path)
        && !linked(view, path)
}

fn is_created(view: &View<'_>, path: &NormalPath) -> bool {
    if path.components.iter().any(|component| component.is_unknown()) {
        return is_numbered(view, path);
    }
    if !created(view, path) {
        return false;
    }
    let Some(text) = place(path) else { return false };
    let missing = view.context.inquiry.path(&text).is_some_and(|facts| facts.kind == PathKind::Missing);
    // If a copy is overwritten, its source still exists.
    let writes = matches!(view.act.verb, Verb::Effect(effect) if effect.writes());
    missing
        && !moved_into(view, path)
        && (writes || !copied_into(view, path) || is_own_copy(view, path) || is_derived(view, path))
        && !linked(view, path)
}

/// Reports whether the operand is a single file that git tracks and that has no uncommitted change; whether the act is
/// recursive makes no difference for a file. An act that reverts changes (`takes_back`) may follow any act of the
/// command that moves nothing there, and one that writes the file any described program: the file is clean now, so that
/// only changes of the command itself are lost.
fn is_tracked(view: &View<'_>, path: &NormalPath, takes_back: bool) -> bool {
    if path.globbed || path.everything || path.slash {
        return false;
    }
    let Some(text) = place(path) else { return false };
    let (facts, git) = (view.context.inquiry.path(&text), view.context.inquiry.git(&text));
    let (Some(facts), Some(git)) = (facts, git) else { return false };
    let writes = |act: &Act| matches!(act.verb, Verb::Effect(effect) if effect.writes());
    let over = writes(view.act) || view.context.effects_of(view.id).any(|(effect, _)| writes(effect));
    git.tracked
        && git.clean
        && facts.kind == PathKind::File
        && !facts.symlink
        && stays_in_repository(&text, facts, git)
        && (takes_back
            || !is_opaque(view)
                && !near(view, path).any(|(id, act)| {
                    may_make(view.context, id, act, path)
                        && !(over && (writes(act) || view.context.program(act).is_some()))
                }))
        && !moved_into(view, path)
}
