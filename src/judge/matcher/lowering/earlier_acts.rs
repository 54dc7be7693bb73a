//! What the acts before this one may have done to a path: made it, changed it, brought something there, or put a link in
//! its way.

use super::{made_by_name, place};
use crate::judge::analysis::act::{Act, ActId, Effect, Source, Verb};
use crate::judge::analysis::paths::{Component, NormalPath, Relation, Start};
use crate::judge::analysis::question::PathKind;
use crate::judge::matcher::history::{ActHistory, History, is_entered};
use crate::judge::matcher::match_context::{MatchContext, View};
use crate::judge::risk::Tier;
use crate::judge::rules::model::{Follow, Language};

/// The acts that come before this one, or may: in loops and functions also those that are written after it. The wrappers
/// around it and what belongs to the same program are none of them.
pub(super) fn earlier<'v>(
    view: &'v View<'_>,
    of: impl Iterator<Item = ActId>,
) -> impl Iterator<Item = (ActId, &'v Act)> {
    let act = view.act;
    let own = act.parent.unwrap_or(view.id);
    let known = of.filter_map(|id| Some((id, view.context.facts.acts.get(id)?)));
    // Without fuel all are gone through no more, and nothing is lowered.
    known.take_while(|_| view.context.spend(EARLIER)).filter(move |(id, other)| {
        let may_come_first = *id < view.id || act.conditional && other.conditional;
        let same_program = *id == own || other.parent == Some(own) || *id == view.id;
        may_come_first && !same_program && !encloses(view.context, other, act)
    })
}

/// Those of them that may make or change what is at the path, or do anything.
pub(super) fn near<'v>(view: &'v View<'_>, path: &NormalPath) -> impl Iterator<Item = (ActId, &'v Act)> {
    near_and(view, path, view.context.history().others())
}

/// Those of them that make or change what is at the path, by what they name.
pub(super) fn naming<'v>(view: &'v View<'_>, path: &NormalPath) -> impl Iterator<Item = (ActId, &'v Act)> {
    near_and(view, path, &[])
}

fn near_and<'v>(view: &'v View<'_>, path: &NormalPath, others: &'v [ActId]) -> impl Iterator<Item = (ActId, &'v Act)> {
    let pay = |units: u64| {
        view.context.spend(units);
    };
    let places = view.context.history().near(path, &pay);
    earlier(view, places.into_iter().chain(others.iter().copied()))
}

/// What looking at one earlier act costs, in units of fuel.
const EARLIER: u64 = 12;

/// What the acts of a line did to which places.
pub(super) fn history(context: &MatchContext<'_>) -> History {
    let entry = |id: ActId, act: &Act| match &act.verb {
        Verb::Effect(effect) => ActHistory {
            makes: is_entered(*effect),
            moves: *effect == Effect::Move && goes_nowhere(context, act),
            other: *effect == Effect::Execute || changes_ignored(context, act),
            chooses: false,
        },
        Verb::Program { name, .. } => ActHistory {
            makes: makes(context, act) || is_linking(context, id, act),
            moves: context.program(act).is_some_and(|program| program.tree.is_some()) || name.contains(':'),
            other: may_do_anything(context, id, act) || changes_ignored(context, act),
            chooses: made_by_name::chooses(context, act),
        },
    };
    context.spend(context.facts.acts.len() as u64 * 4);
    History::new(context.facts, entry, |act, operand| {
        context.spend(EARLIER);
        act.operands.get(operand).and_then(|operand| context.placer.path(&operand.value, act.cwd.as_ref()))
    })
}

/// A program whose whole effect is not described.
fn may_do_anything(context: &MatchContext<'_>, id: ActId, act: &Act) -> bool {
    let Verb::Program { name, .. } = &act.verb else { return false };
    let harmless =
        act.tier == Tier::Safe || QUIET.contains(&name.as_str()) || act.remote.is_some() || makes(context, act);
    // What is guessed of a program that nothing describes, and where its output goes, is not all that it does.
    let whole = context.program(act).is_some() && context.effects_of(id).next().is_some();
    !harmless && (act.code.is_some() || !whole)
}

/// What is described only as a move goes where nothing says.
fn goes_nowhere(context: &MatchContext<'_>, act: &Act) -> bool {
    !act.parent.is_some_and(|parent| context.effects_of(parent).any(|(_, effect)| effect.writes()))
}

fn is_linking(context: &MatchContext<'_>, id: ActId, act: &Act) -> bool {
    act.verb == Verb::Effect(Effect::Link) || context.effects_of(id).any(|(_, effect)| effect == Effect::Link)
}

/// Whether `act` is written inside `other`, as `rm` in `sudo rm` and in `bash -c 'rm'`, and a call in the code of an
/// interpreter, whose other calls are acts of their own.
fn encloses(context: &MatchContext<'_>, other: &Act, act: &Act) -> bool {
    let around = other.span.start <= act.span.start && other.span.end >= act.span.end;
    // All that a program does that runs recipes or scripts by name is what those do.
    if matches!(act.source, Source::Definition(_)) && other.source == Source::Command {
        let named = |follow: &Follow| matches!(follow, Follow::Makefile | Follow::Justfile | Follow::Packages);
        return around && context.program(other).is_some_and(|program| program.follows.iter().any(named));
    }
    // All that a script's interpreter does is what the script does, where that was read; and what the program makes that
    // loads code of the session is the line's own.
    if matches!(&act.source, Source::Script(_) | Source::Code(_))
        && (other.read || act.staged && other.source == Source::Command)
    {
        return around;
    }
    if matches!(&act.source, Source::Code(language) if Language::of(language).is_some_and(Language::acts_by_call))
        && other.source == Source::Command
        && other.code.is_some()
    {
        return around;
    }
    if other.source != Source::Command || act.source != Source::Command {
        return false;
    }
    let wrapper =
        matches!(&other.verb, Verb::Program { name, .. } if act.wrappers.iter().any(|wrapper| **wrapper == **name));
    around && (other.span != act.span || wrapper)
}

/// Whether something that could not be understood stands in the line: it may have done anything.
pub(super) fn is_opaque(view: &View<'_>) -> bool {
    view.context.history().is_opaque(view.act.span.start, view.act.conditional)
}

/// Whether no earlier act can have made or changed what is at the path. Only acts whose whole effect is known count as
/// harmless.
pub(super) fn untouched(view: &View<'_>, path: &NormalPath) -> bool {
    !is_opaque(view) && !near(view, path).any(|(id, act)| may_make(view.context, id, act, path))
}

/// Whether a program comes before that may have brought anything to the path: one that no description tells of, one that runs
/// code of the line or files that nobody could read, one that is described to rename what it likes, or one in a container that has places of this machine.
pub(super) fn follows_unknown(view: &View<'_>, path: &NormalPath) -> bool {
    let context = view.context;
    near(view, path).any(|(id, act)| {
        if act.verb == Verb::Effect(Effect::Execute) {
            return true;
        }
        let described = context.program(act).is_some_and(|program| !program.renames && program.mounts.is_empty());
        (!described || act.code.is_some()) && may_do_anything(context, id, act)
    })
}

/// Whether a builtin touches no file.
pub(in crate::judge::matcher) fn is_quiet(name: &str) -> bool {
    QUIET.contains(&name)
}

/// Builtins that touch no file.
const QUIET: [&str; 16] = [
    "cd", "pushd", "popd", "export", "declare", "typeset", "local", "readonly", "set", "unset", "shopt", "alias",
    "unalias", "trap", "shift", "let",
];

pub(super) fn may_make(context: &MatchContext<'_>, id: ActId, act: &Act, path: &NormalPath) -> bool {
    match &act.verb {
        Verb::Effect(Effect::Write | Effect::Edit | Effect::Append | Effect::Link | Effect::Fetch) => {
            touches(context, act, path)
        }
        Verb::Effect(Effect::Execute) => true,
        Verb::Effect(_) => false,
        Verb::Program { name, .. } => {
            let quiet = act.tier == Tier::Safe || QUIET.contains(&name.as_str()) || act.remote.is_some();
            if !quiet && makes(context, act) {
                return may_name(context, act, path);
            }
            may_do_anything(context, id, act)
        }
    }
}

/// Whether a program is described to make what its operands name, and to change nothing else.
pub(in crate::judge::matcher) fn makes(context: &MatchContext<'_>, act: &Act) -> bool {
    let Some(program) = context.program(act) else { return false };
    program.makes || program.subs.exact(&act.sub).is_some_and(|sub| sub.makes)
}

/// Whether an earlier act makes the path, or something below it, anew.
pub(super) fn created(view: &View<'_>, path: &NormalPath) -> bool {
    naming(view, path).any(|(_, act)| creates(view.context, act, path))
}

/// Whether an act makes the path, or something below it, anew.
fn creates(context: &MatchContext<'_>, act: &Act, path: &NormalPath) -> bool {
    (matches!(act.verb, Verb::Effect(effect) if effect.writes()) || makes(context, act))
        && act.remote.is_none()
        && act.operands.iter().any(|operand| {
            let made = context.placer.path(&operand.value, act.cwd.as_ref());
            made.and_then(|made| place(&made)).is_some_and(|made| {
                let relation = path.relation(&made);
                !matches!(relation, Relation::Apart | Relation::Below)
            })
        })
}

/// Whether an earlier act, or an earlier command of any session, moved something to the path, into it, or put something
/// else in its place.
pub(super) fn moved_into(view: &View<'_>, path: &NormalPath) -> bool {
    moved_in_line(view, path) || brought_before(view, path)
}

/// Whether an act that names the path moved something there, or an earlier command of any session did.
pub(super) fn moved_by_name(view: &View<'_>, path: &NormalPath) -> bool {
    moved_by_acts(view, path) || brought_before(view, path)
}

/// Whether it is known that an act that names the path moved something there, or that an earlier command of any session
/// did. Where nobody can say, nothing was moved: this raises what is harmless otherwise.
pub(in crate::judge::matcher) fn is_known_to_be_moved(view: &View<'_>, path: &NormalPath) -> bool {
    let inquiry = view.context.inquiry;
    let is_recorded = |path: &str| {
        let ledger = inquiry.ledger().filter(|ledger| !ledger.unknown);
        ledger.is_some_and(|ledger| ledger.holds_what_was_brought(path, |path| inquiry.look(path)))
    };
    moved_by_acts(view, path) || known_part(path).is_some_and(|path| is_recorded(&path))
}

fn moved_by_acts(view: &View<'_>, path: &NormalPath) -> bool {
    let moves = |act: &Act, effect: Effect| effect == Effect::Move && !is_scratch(view, act, MOST_MOVES);
    brought_by_acts(view, path, view.id, moves)
}

/// Whether an earlier command brought something there that is nowhere else.
fn brought_before(view: &View<'_>, path: &NormalPath) -> bool {
    known_part(path).is_some_and(|path| is_brought(view.context, &path))
}

/// The path up to its first component that is not known. What has just been made has a name that nobody knew before.
fn known_part(path: &NormalPath) -> Option<String> {
    if path.start != Start::Root {
        return None;
    }
    let known = path.components.iter().take_while(|component| component.is_plain()).count();
    let above = NormalPath { components: path.components.iter().take(known).cloned().collect(), ..path.clone() };
    Some(above.rough())
}

/// Whether an earlier command of any session brought something to the path that is nowhere else.
pub(in crate::judge::matcher) fn is_brought(context: &MatchContext<'_>, path: &str) -> bool {
    let inquiry = context.inquiry;
    inquiry.ledger().is_none_or(|ledger| ledger.holds_what_was_brought(path, |path| inquiry.look(path)))
}

fn moved_in_line(view: &View<'_>, path: &NormalPath) -> bool {
    moved_within(view, path, MOST_MOVES, view.id)
}

/// How often what the line made may be moved on until it is no more told from a person's work.
const MOST_MOVES: u32 = 4;

/// Whether one of the acts before `until` moved something there.
fn moved_within(view: &View<'_>, path: &NormalPath, left: u32, until: ActId) -> bool {
    brought(view, path, until, |act, effect| effect == Effect::Move && !is_scratch(view, act, left))
}

/// Whether all that an act names lay in the temp directory, which is no more when it is moved within it, or was made by the
/// line itself.
fn is_scratch(view: &View<'_>, act: &Act, left: u32) -> bool {
    let mover = act.parent.unwrap_or(view.id);
    act.operands.iter().all(|operand| {
        let from = view.context.placer.path(&operand.value, act.cwd.as_ref());
        from.is_some_and(|from| {
            let in_temp = || from.start == Start::Temporary || is_new_in_temp(view, &from);
            let is_temp = || left > 0 && in_temp() && !moved_within(view, &from, left - 1, mover);
            !from.dynamic && !from.found && (is_temp() || is_new(view, &from, left))
        })
    })
}

/// Whether the line itself made what is moved from a path: nothing was there before, and nothing else was moved there.
fn is_new(view: &View<'_>, from: &NormalPath, left: u32) -> bool {
    let missing = |text: &str| view.context.inquiry.path(text).is_some_and(|facts| facts.kind == PathKind::Missing);
    left > 0
        && place(from).is_some_and(|text| missing(&text))
        && created(view, from)
        && !linked(view, from)
        && !brought_before(view, from)
        && !moved_within(view, from, left - 1, view.id)
}

/// Whether a path lies in the temp directory under a name that an earlier act of the line made, or with a number in it.
fn is_new_in_temp(view: &View<'_>, path: &NormalPath) -> bool {
    let numbered = path.components.iter().any(|component| component.is_unknown());
    view.context.placer.is_temp(path, view.context.inquiry)
        && !view.context.placer.is_temp_top(path)
        && (numbered || created(view, path))
}

/// Whether an earlier act copied something there that the line did not make.
pub(super) fn copied_into(view: &View<'_>, path: &NormalPath) -> bool {
    let reads = |effect: Effect| matches!(effect, Effect::Show | Effect::Load);
    brought(view, path, view.id, |act, effect| reads(effect) && !is_scratch(view, act, MOST_MOVES))
}

/// Whether an earlier act writes at the path and has an effect that says where from. Calls of libraries and what
/// moves things about in a work tree bring whatever they like.
fn brought(view: &View<'_>, path: &NormalPath, until: ActId, from: impl Fn(&Act, Effect) -> bool) -> bool {
    is_opaque(view) || brought_by_acts(view, path, until, from)
}

fn brought_by_acts(view: &View<'_>, path: &NormalPath, until: ActId, from: impl Fn(&Act, Effect) -> bool) -> bool {
    let context = view.context;
    let pay = |units: u64| {
        context.spend(units);
    };
    let places = context.history().near(path, &pay);
    let movers = context.history().movers().iter().copied();
    // What brought it on, and what comes behind that, brought nothing there before.
    let before = |(id, _): &(ActId, &Act)| until == view.id || *id < until;
    earlier(view, places.into_iter().chain(movers)).filter(before).any(|(_, act)| match &act.verb {
        Verb::Effect(Effect::Write | Effect::Edit | Effect::Append | Effect::Link) => {
            let brings =
                act.parent.is_some_and(|parent| context.effects_of(parent).any(|(act, effect)| from(act, effect)));
            brings && touches(context, act, path)
        }
        Verb::Effect(Effect::Move) => goes_nowhere(context, act),
        Verb::Program { name, .. } => {
            let program = context.program(act);
            let tree = program.and_then(|program| program.tree.as_ref());
            // What a call with effects brings is told by these.
            let is_told = program.is_some_and(|program| !program.effects.is_empty());
            // What has just been made there lies in no other work tree.
            let elsewhere = path.start == Start::Temporary
                || path.components.iter().any(|component| component.is_unknown())
                || path.lies_in_made();
            !elsewhere && tree.is_some_and(|tree| act.sub.first().is_some_and(|sub| tree.moves.contains(sub)))
                || !is_told
                    && name.split_once(':').is_some_and(|(_, call)| {
                        ["move", "rename", "copy", "replace", "cp", "mv"].iter().any(|word| call.contains(word))
                    })
        }
        Verb::Effect(_) => false,
    })
}

/// Whether an earlier act made a link at the path, in it, or on the way to it.
pub(super) fn linked(view: &View<'_>, path: &NormalPath) -> bool {
    // Deleting a link by its name deletes the link: only one on the way there matters.
    let plain = view.act.verb == Verb::Effect(Effect::Delete)
        && !(view.act.recursive || path.slash || path.everything || path.globbed);
    let leads = |act: &Act| {
        act.operands.iter().any(|operand| {
            let place = view.context.placer.path(&operand.value, act.cwd.as_ref());
            place.is_none_or(|place| may_touch(path, &place) && (!plain || place.components != path.components))
        })
    };
    naming(view, path).any(|(id, act)| is_linking(view.context, id, act) && act.remote.is_none() && leads(act))
}

/// Whether an earlier act may have changed what git ignores or what lies in the work tree.
pub(super) fn ignored_otherwise(view: &View<'_>) -> bool {
    earlier(view, view.context.history().others().iter().copied()).any(|(_, act)| changes_ignored(view.context, act))
}

/// Whether an act may change what git ignores or what lies in the work tree.
fn changes_ignored(context: &MatchContext<'_>, act: &Act) -> bool {
    match &act.verb {
        Verb::Program { .. } => {
            let tree = context.program(act).and_then(|program| program.tree.as_ref());
            tree.is_some_and(|tree| act.sub.first().is_none_or(|sub| tree.changes.contains(sub)))
        }
        Verb::Effect(effect) if effect.changes() && *effect != Effect::Permit => act.operands.iter().any(|operand| {
            context.spend(EARLIER);
            let path = context.placer.path(&operand.value, act.cwd.as_ref());
            path.is_none_or(|path| {
                path.dynamic && path.name().is_none()
                    || path.name().is_some_and(|name| name.may_be(".gitignore") || name.may_be("exclude"))
            })
        }),
        Verb::Effect(_) => false,
    }
}

/// Whether an act that makes what it names may make the path: what is no work of a subcommand makes nothing below that.
fn may_name(context: &MatchContext<'_>, act: &Act, path: &NormalPath) -> bool {
    let below = |other: &NormalPath| {
        (path.start, other.start) == (Start::Root, Start::Root)
            && !other.dynamic
            && act.sub.is_empty()
            && other.components.len() < path.components.len()
    };
    act.operands.iter().any(|operand| {
        let other = context.placer.path(&operand.value, act.cwd.as_ref());
        other.is_none_or(|other| may_touch(path, &other) && !below(&other))
    })
}

/// Whether an operand of the act may name the path, something in it, or a directory above it.
fn touches(context: &MatchContext<'_>, act: &Act, path: &NormalPath) -> bool {
    if act.remote.is_some() {
        return false;
    }
    act.operands.iter().any(|operand| {
        context.placer.path(&operand.value, act.cwd.as_ref()).is_none_or(|other| may_touch(path, &other))
    })
}

fn may_touch(path: &NormalPath, other: &NormalPath) -> bool {
    match (path.start, other.start) {
        (Start::Root, Start::Root) => {
            let pairs = path.components.iter().zip(&other.components);
            let agree = |(one, two): (&Component, &Component)| {
                one.is_unknown()
                    || two.is_unknown()
                    || one.may_be(two.text())
                    || two.may_be(one.text())
                    || one.glob.is_some() && two.glob.is_some()
            };
            pairs.into_iter().all(agree)
        }
        // Where a shell stands in what `mktemp` made, it is there by a name that stands for it.
        (Start::Temporary, Start::Root) => other.lies_in_made(),
        (Start::Root, Start::Temporary) => path.lies_in_made(),
        _ => true,
    }
}
