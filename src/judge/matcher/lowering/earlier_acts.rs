//! Determines what earlier acts may have done to a path: created or changed it, moved something there, or put a link in
//! its way.

use super::{made_by_name, place};
use crate::judge::analysis::act::{Act, ActId, Effect, Source, Verb};
use crate::judge::analysis::paths::{Component, NormalPath, Relation, Start};
use crate::judge::analysis::question::PathKind;
use crate::judge::matcher::history::{ActHistory, History, is_entered};
use crate::judge::matcher::match_context::{MatchContext, View};
use crate::judge::risk::Tier;
use crate::judge::rules::model::{Follow, Language};

/// Returns the acts that run before this one, or may: in loops and functions these include later ones of the text. The
/// wrappers around the act and the other acts of its program are excluded.
pub(super) fn earlier<'v>(
    view: &'v View<'_>,
    of: impl Iterator<Item = ActId>,
) -> impl Iterator<Item = (ActId, &'v Act)> {
    let act = view.act;
    let own = act.parent.unwrap_or(view.id);
    let known = of.filter_map(|id| Some((id, view.context.facts.acts.get(id)?)));
    // Without fuel the iteration ends early, and nothing is lowered.
    known.take_while(|_| view.context.spend(EARLIER)).filter(move |(id, other)| {
        let may_come_first = *id < view.id || act.repeated && other.repeated;
        let same_program = *id == own || other.parent == Some(own) || *id == view.id;
        may_come_first && !same_program && !encloses(view.context, other, act)
    })
}

/// Returns the earlier acts that may create or change the path, or that have an unknown effect.
pub(super) fn near<'v>(view: &'v View<'_>, path: &NormalPath) -> impl Iterator<Item = (ActId, &'v Act)> {
    near_and(view, path, view.context.history().others())
}

/// Returns the earlier acts that may create or change the path because they name it.
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

/// The cost of examining one earlier act, in units of fuel.
const EARLIER: u64 = 12;

/// Builds the index of the acts by the paths that they change.
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

/// Reports whether an act is a program whose effect is not completely described.
fn may_do_anything(context: &MatchContext<'_>, id: ActId, act: &Act) -> bool {
    let Verb::Program { name, .. } = &act.verb else { return false };
    let harmless =
        act.tier == Tier::Safe || QUIET.contains(&name.as_str()) || act.remote.is_some() || makes(context, act);
    // The effects that are guessed for an undescribed program, and its redirections, are not its whole effect.
    let whole = context.program(act).is_some() && context.effects_of(id).next().is_some();
    !harmless && (act.code.is_some() || !whole)
}

/// Reports whether the target of a move is unknown, because the program has no effect that writes.
fn goes_nowhere(context: &MatchContext<'_>, act: &Act) -> bool {
    !act.parent.is_some_and(|parent| context.effects_of(parent).any(|(_, effect)| effect.writes()))
}

fn is_linking(context: &MatchContext<'_>, id: ActId, act: &Act) -> bool {
    act.verb == Verb::Effect(Effect::Link) || context.effects_of(id).any(|(_, effect)| effect == Effect::Link)
}

/// Reports whether `act` is written inside `other`, as `rm` in `sudo rm` and in `bash -c 'rm'`, or is a call in the
/// code of an interpreter, whose other calls are acts of their own.
fn encloses(context: &MatchContext<'_>, other: &Act, act: &Act) -> bool {
    let around = other.span.start <= act.span.start && other.span.end >= act.span.end;
    // A program that runs recipes or scripts by name has no effect other than theirs.
    if matches!(act.source, Source::Definition(_)) && other.source == Source::Command {
        let named = |follow: &Follow| matches!(follow, Follow::Makefile | Follow::Justfile | Follow::Packages);
        return around && context.program(other).is_some_and(|program| program.follows.iter().any(named));
    }
    // An interpreter has no effect other than that of its script, if the script was read. What a program makes by
    // loading code of the session is the command's own.
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

/// Reports whether a part of the command could not be analysed and may have had any effect before the act: a part in
/// front of it, or any part if the act may run more than once.
pub(super) fn is_opaque(view: &View<'_>) -> bool {
    view.context.history().is_opaque(view.act.span.start, view.act.repeated)
}

/// Reports whether no earlier act can have created or changed the path. An act is harmless only if its whole effect is
/// known.
pub(super) fn untouched(view: &View<'_>, path: &NormalPath) -> bool {
    !is_opaque(view) && !near(view, path).any(|(id, act)| may_make(view.context, id, act, path))
}

/// Reports whether an earlier program may have moved anything to the path: an undescribed one, one that runs code of
/// the command or files that could not be read, one that is described to rename files, or one of containers, which may
/// mount directories of this machine.
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

/// Reports whether a builtin touches no file.
pub(in crate::judge::matcher) fn is_quiet(name: &str) -> bool {
    QUIET.contains(&name)
}

/// The builtins that touch no file.
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

/// Reports whether a program is described to create its operands and to change nothing else.
pub(in crate::judge::matcher) fn makes(context: &MatchContext<'_>, act: &Act) -> bool {
    let Some(program) = context.program(act) else { return false };
    program.makes || program.subs.exact(&act.sub).is_some_and(|sub| sub.makes)
}

/// Reports whether an earlier act creates the path or something below it.
pub(super) fn created(view: &View<'_>, path: &NormalPath) -> bool {
    naming(view, path).any(|(_, act)| creates(view.context, act, path))
}

/// Reports whether an act creates the path or something below it.
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

/// Reports whether an earlier act, or an earlier command of any session, moved something to the path or into it, or
/// replaced it.
pub(super) fn moved_into(view: &View<'_>, path: &NormalPath) -> bool {
    moved_in_line(view, path) || brought_before(view, path)
}

/// Reports whether an act that names the path, or an earlier command of any session, moved something there.
pub(super) fn moved_by_name(view: &View<'_>, path: &NormalPath) -> bool {
    moved_by_acts(view, path) || brought_before(view, path)
}

/// Reports whether it is known that an act that names the path, or an earlier command of any session, moved something
/// there. Returns `false` if that cannot be determined, because `true` raises the tier of acts that are harmless
/// otherwise.
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

/// Reports whether an earlier command moved something there of which there is no other copy.
fn brought_before(view: &View<'_>, path: &NormalPath) -> bool {
    known_part(path).is_some_and(|path| is_brought(view.context, &path))
}

/// Returns the path up to its first unknown component. The name of a new file was unknown to earlier commands.
fn known_part(path: &NormalPath) -> Option<String> {
    if path.start != Start::Root {
        return None;
    }
    let known = path.components.iter().take_while(|component| component.is_plain()).count();
    let above = NormalPath { components: path.components.iter().take(known).cloned().collect(), ..path.clone() };
    Some(above.rough())
}

/// Reports whether an earlier command of any session moved something to the path of which there is no other copy.
pub(in crate::judge::matcher) fn is_brought(context: &MatchContext<'_>, path: &str) -> bool {
    let inquiry = context.inquiry;
    inquiry.ledger().is_none_or(|ledger| ledger.holds_what_was_brought(path, |path| inquiry.look(path)))
}

fn moved_in_line(view: &View<'_>, path: &NormalPath) -> bool {
    moved_within(view, path, MOST_MOVES, view.id)
}

/// Maximum number of moves over which what the command created is distinguished from a person's work.
const MOST_MOVES: u32 = 4;

/// Reports whether an act before `until` moved something there that may be a person's work.
fn moved_within(view: &View<'_>, path: &NormalPath, left: u32, until: ActId) -> bool {
    brought(view, path, until, |act, effect| effect == Effect::Move && !is_scratch(view, act, left))
}

/// Reports whether all operands of an act were in the temporary directory, and nothing was moved there before the act,
/// or were created by the command itself.
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

/// Reports whether the command itself created what is moved from a path: nothing existed there before, and nothing else
/// was moved there.
fn is_new(view: &View<'_>, from: &NormalPath, left: u32) -> bool {
    let missing = |text: &str| view.context.inquiry.path(text).is_some_and(|facts| facts.kind == PathKind::Missing);
    left > 0
        && place(from).is_some_and(|text| missing(&text))
        && created(view, from)
        && !linked(view, from)
        && !brought_before(view, from)
        && !moved_within(view, from, left - 1, view.id)
}

/// Reports whether a path is in the temporary directory, and an earlier act of the command created it or its name
/// contains a number of the command.
fn is_new_in_temp(view: &View<'_>, path: &NormalPath) -> bool {
    let numbered = path.components.iter().any(|component| component.is_unknown());
    view.context.placer.is_temp(path, view.context.inquiry)
        && !view.context.placer.is_temp_top(path)
        && (numbered || created(view, path))
}

/// Reports whether an earlier act copied something there that the command did not create.
pub(super) fn copied_into(view: &View<'_>, path: &NormalPath) -> bool {
    let reads = |effect: Effect| matches!(effect, Effect::Show | Effect::Load);
    brought(view, path, view.id, |act, effect| reads(effect) && !is_scratch(view, act, MOST_MOVES))
}

/// Reports whether an earlier act writes to the path and its program has an effect that `from` accepts as the source.
/// Library calls and programs that move files of a work tree may move anything there.
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
    // The act that moved it from there, and later ones, moved nothing there before that.
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
            // If effects of a call are described, they determine what it moves.
            let is_told = program.is_some_and(|program| !program.effects.is_empty());
            // A path that has just been created is in no other work tree.
            let elsewhere = path.start == Start::Temporary
                || path.components.iter().any(|component| component.is_unknown())
                || path.lies_in_made()
                || is_apart_from_tree(context, act, path);
            // `git stash list` only reads.
            let acts = !elsewhere && act.tier != Tier::Safe;
            acts && tree.is_some_and(|tree| act.sub.first().is_some_and(|sub| tree.moves.contains(sub)))
                || !is_told
                    && name.split_once(':').is_some_and(|(_, call)| {
                        ["move", "rename", "copy", "replace", "cp", "mv"].iter().any(|word| call.contains(word))
                    })
        }
        Verb::Effect(_) => false,
    })
}

/// Reports whether a path is in the temporary directory, and the work tree of an act without options is not.
fn is_apart_from_tree(context: &MatchContext<'_>, act: &Act, path: &NormalPath) -> bool {
    let is_temp = |path: &NormalPath| context.placer.is_temp(path, context.inquiry);
    let tree = act.cwd.as_ref().and_then(NormalPath::of_place);
    act.flags.is_empty() && is_temp(path) && tree.is_some_and(|tree| !is_temp(&tree))
}

/// Reports whether an earlier act created a link at the path, below it or above it.
pub(super) fn linked(view: &View<'_>, path: &NormalPath) -> bool {
    // Deleting a link by its name deletes the link, so that only a link above the path matters.
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

/// Reports whether an earlier act may have changed what git ignores or the files of the work tree.
pub(super) fn ignored_otherwise(view: &View<'_>) -> bool {
    earlier(view, view.context.history().others().iter().copied()).any(|(_, act)| changes_ignored(view.context, act))
}

/// Reports whether an act may change what git ignores or the files of the work tree.
fn changes_ignored(context: &MatchContext<'_>, act: &Act) -> bool {
    match &act.verb {
        Verb::Program { .. } => {
            let tree = context.program(act).and_then(|program| program.tree.as_ref());
            let acts = act.tier != Tier::Safe;
            acts && tree.is_some_and(|tree| act.sub.first().is_none_or(|sub| tree.changes.contains(sub)))
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

/// Reports whether an act that creates its operands may create the path. Without a subcommand (`mkdir`, not `git init`)
/// it creates nothing below an operand.
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

/// Reports whether an operand of the act may be the path, something below it, or a directory above it.
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
        // A working directory that `mktemp` created is represented by a placeholder path.
        (Start::Temporary, Start::Root) => other.lies_in_made(),
        (Start::Root, Start::Temporary) => path.lies_in_made(),
        _ => true,
    }
}
