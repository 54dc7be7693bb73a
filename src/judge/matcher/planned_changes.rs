//! The changes of files that the acts of a command name, for the ledger.
//!
//! Out of scope: the current state of these files, which is looked up when the intent is recorded.

use super::lowering::{is_unconditional, place};
use super::match_context::MatchContext;
use crate::judge::analysis::act::{Act, ActId, Effect, Facts, Operand, Piece, UnknownReason, Value, Verb};
use crate::judge::analysis::inquiry::{Answers, Inquiry};
use crate::judge::analysis::terminals;
use crate::judge::invocation::Invocation;
use crate::judge::ledger::{MAX_CHANGES, NamedObject};
use crate::judge::path_class::PathClass;
use crate::judge::policy::Policy;
use crate::judge::risk::Tier;
use crate::judge::rules::catalog::Catalog;

/// A change that a command may make to a path. Paths are absolute and lexically normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedChange {
    /// The command creates, writes or edits the file.
    Make { path: String },
    /// The command deletes the file, or moves it to an unknown path.
    Take { path: String },
    /// The command creates a copy of another file, with the name of that file if the path is a directory.
    Put { from: String, to: String },
    /// The command moves or copies another file to the path, or into it if it is a directory.
    Bring {
        from: String,
        to: String,
        /// Whether the source is removed.
        moved: bool,
        /// Whether the target is in a directory of generated or temporary files.
        thrown_away: bool,
        /// Whether the source was in such a directory too.
        on: bool,
        /// Whether the sources are files of unknown names in that directory.
        found: bool,
        /// Whether it may replace the directory instead of being moved into it.
        replaces: bool,
    },
    /// The command creates an object with a name that is not a path, or types into it. Its `refs` are those that it
    /// creates if they do not exist.
    Name(NamedObject),
}

/// The changes that a command may make to files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedChanges {
    pub named: Vec<PlannedChange>,
    /// Whether the command runs code or programs that may create and change any file.
    pub ran: bool,
}

/// Returns the changes that the acts of an invocation may make to files of this machine.
#[must_use]
pub fn planned_changes(invocation: &Invocation, facts: &Facts, catalog: &Catalog, policy: &Policy) -> PlannedChanges {
    let answers = Answers::none();
    let inquiry = Inquiry::new(&answers);
    let context = MatchContext::new(invocation, facts, catalog, policy, &inquiry);
    let mut planned = PlannedChanges { named: Vec::new(), ran: !facts.opaque.is_empty() };
    for (id, act) in facts.acts.iter().enumerate() {
        if act.remote.is_some() || act.dry_run || planned.named.len() >= MAX_CHANGES {
            continue;
        }
        of_act(&context, id, act, &mut planned);
    }
    planned.named.truncate(MAX_CHANGES);
    planned
}

fn of_act(context: &MatchContext<'_>, id: ActId, act: &Act, planned: &mut PlannedChanges) {
    match &act.verb {
        Verb::Effect(effect) if effect.writes() => {
            let sources = act.parent.map_or_else(|| moved_by_tool(context, id), |parent| sources(context, parent));
            let replaces = act.parent.is_some_and(|parent| may_replace(context, parent));
            for target in act.operands.iter().filter_map(|operand| named(context, act, operand)) {
                planned.named.push(PlannedChange::Make { path: target.clone() });
                for WriteSource { from, moved, found } in &sources {
                    let thrown_away = is_discarded(context, &target);
                    let on = is_discarded(context, from);
                    // A copy outside of such directories is a new file like any other.
                    if !moved && !on {
                        planned.named.push(PlannedChange::Put { from: from.clone(), to: target.clone() });
                    }
                    // A file of a generated directory can be generated again.
                    if *moved || thrown_away || !on {
                        let (from, to, moved, found) = (from.clone(), target.clone(), *moved, *found);
                        planned.named.push(PlannedChange::Bring { from, to, moved, thrown_away, on, found, replaces });
                    }
                }
            }
        }
        Verb::Effect(Effect::Delete | Effect::Move) => {
            let taken = act.operands.iter().filter_map(|operand| named(context, act, operand));
            planned.named.extend(taken.map(|path| PlannedChange::Take { path }));
        }
        Verb::Effect(Effect::Execute) => planned.ran = true,
        Verb::Effect(_) => {}
        Verb::Program { name, .. } => {
            let told = context.program(act).is_some_and(|program| terminals::is_told(program, act));
            let refs = super::lowering::creates_by_name(context, act);
            if told || refs.is_some() {
                let named = terminals::named(act, name);
                let (refs, doubtful) = (refs.unwrap_or_default(), !is_unconditional(context, act, u32::MAX));
                planned.named.extend(named.map(|named| PlannedChange::Name(NamedObject { refs, doubtful, ..named })));
            }
            if act.tier == Tier::Safe || super::lowering::is_quiet(name) {
                return;
            }
            // A compiler runs for a while, and writes files that its arguments do not name.
            planned.ran |= context.program(act).is_some_and(|program| program.compiles);
            if super::lowering::makes(context, act) {
                let made = act.operands.iter().filter_map(|operand| named(context, act, operand));
                planned.named.extend(made.map(|path| PlannedChange::Make { path }));
            } else if act.code.is_some() || context.effects_of(id).next().is_none() {
                planned.ran = true;
            }
        }
    }
}

fn named(context: &MatchContext<'_>, act: &Act, operand: &Operand) -> Option<String> {
    place(&context.placer.path(&operand.value, act.cwd.as_ref())?)
}

/// The source of what a program writes.
struct WriteSource {
    from: String,
    /// Whether the source is removed.
    moved: bool,
    /// Whether the sources are files of unknown names in that directory.
    found: bool,
}

/// Returns the sources of what a program writes. For a glob or a search this is its directory; for an unknown source
/// that is moved it is the directory in which the program works.
fn sources(context: &MatchContext<'_>, parent: ActId) -> Vec<WriteSource> {
    context
        .effects_of(parent)
        .filter(|(_, effect)| matches!(effect, Effect::Move | Effect::Show | Effect::Load | Effect::Link))
        .flat_map(|(act, effect)| act.operands.iter().map(move |operand| (act, operand, effect == Effect::Move)))
        .filter_map(|(act, operand, moved)| source(context, act, operand, moved))
        .collect()
}

/// Returns the sources of what a file tool writes: the files that it moves right before.
fn moved_by_tool(context: &MatchContext<'_>, id: ActId) -> Vec<WriteSource> {
    let before = context.facts.acts.get(..id).unwrap_or_default().iter().rev();
    let moves = before.take_while(|act| act.parent.is_none() && act.verb == Verb::Effect(Effect::Move));
    let operands = moves.flat_map(|act| act.operands.iter().map(move |operand| (act, operand)));
    operands.filter_map(|(act, operand)| source(context, act, operand, true)).collect()
}

/// Returns one operand as a source of what a program writes.
fn source(context: &MatchContext<'_>, act: &Act, operand: &Operand, moved: bool) -> Option<WriteSource> {
    let path = context.placer.path(&operand.value, act.cwd.as_ref());
    // Of what is moved, the beginning of the path is enough: it is the directory from which files are taken.
    let known = path.filter(|path| !path.dynamic || path.found || moved).and_then(|mut path| {
        let first = path.components.iter().position(|component| component.glob.is_some() || component.is_unknown());
        let found = first.is_some() || path.dynamic || path.found || path.globbed || path.everything;
        path.components.truncate(first.unwrap_or(path.components.len()));
        (path.found, path.dynamic, path.globbed, path.everything) = (false, false, false, false);
        Some(WriteSource { from: place(&path)?, moved, found })
    });
    let anywhere = || {
        let from = act.cwd.as_ref().filter(|_| moved && is_named_elsewhere(&operand.value))?.text()?.to_owned();
        Some(WriteSource { from, moved, found: true })
    };
    known.or_else(anywhere)
}

/// Reports whether a file that a program moves to a directory may replace it, because no argument requires that it is
/// moved into the directory.
fn may_replace(context: &MatchContext<'_>, parent: ActId) -> bool {
    let Some(act) = context.facts.acts.get(parent) else { return true };
    !context.program(act).is_some_and(|program| program.copies) || act.flags.iter().any(|flag| flag.name == "-T")
}

/// Reports whether a value begins with an unknown name that is read, or with an unknown variable.
fn is_named_elsewhere(value: &Value) -> bool {
    use UnknownReason::{CommandOutput, Found, Input, Variable};
    let Some(Piece::Unknown(unknown)) = value.pieces().first() else { return false };
    matches!(unknown.why, Variable(_) | CommandOutput | Input | Found(_))
}

/// Reports whether a path to which the paths of an invocation lead is classified as generated or is in the temporary
/// directory.
#[must_use]
pub fn is_thrown_away(invocation: &Invocation, path: &str, catalog: &Catalog, policy: &Policy) -> bool {
    let (answers, facts) = (Answers::none(), Facts::default());
    let inquiry = Inquiry::new(&answers);
    is_discarded(&MatchContext::new(invocation, &facts, catalog, policy, &inquiry), path)
}

/// Reports whether a path is classified as generated or is in the temporary directory.
fn is_discarded(context: &MatchContext<'_>, path: &str) -> bool {
    let Some(path) = crate::judge::analysis::paths::NormalPath::absolute(path) else { return false };
    let classes = context.placer.of(&path, context.catalog, context.inquiry);
    classes.has_any(&[PathClass::Generated, PathClass::Temp])
}

#[cfg(test)]
mod tests {
    use super::planned_changes;
    use crate::judge::analysis::inquiry::{Answers, Inquiry};
    use crate::judge::analysis::work_out;
    use crate::judge::invocation::Origin;
    use crate::judge::policy::Policy;
    use crate::judge::rules::catalog::Catalog;
    use crate::judge::testing::line;

    #[test]
    fn what_runs_code_or_compiles_may_make_more_than_it_names() {
        let (catalog, answers) = (Catalog::builtin(), Answers::none());
        let ran = |command: &str| {
            let invocation = line(Origin::Agent, command);
            let facts = work_out(&invocation, &catalog, &Inquiry::new(&answers));
            planned_changes(&invocation, &facts, &catalog, &Policy::default()).ran
        };
        for command in ["gcc -c a.c -o a.o -MMD -MF a.d", "frobnicate", "python3 a.py"] {
            assert!(ran(command), "{command}");
        }
        for command in ["echo 1 > a", "cp a b", "mkdir a", "ls"] {
            assert!(!ran(command), "{command}");
        }
    }
}
