//! What the acts of a command may do to files, as far as they name them: what a ledger is to remember of it.
//!
//! Out of scope: what is at those places now, which is looked up when the command is written down.

use super::lowering::place;
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

/// What one command may do to one path. Paths are absolute and lexically normal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedChange {
    /// Made, written or edited.
    Make { path: String },
    /// Deleted, or moved to where nothing says.
    Take { path: String },
    /// Made as a copy of what lies elsewhere, under its name where the path is a directory.
    Put { from: String, to: String },
    /// Brought from elsewhere, into the path where that is a directory.
    Bring {
        from: String,
        to: String,
        /// It is taken away where it was.
        moved: bool,
        /// What lies there is made again or thrown away.
        thrown_away: bool,
        /// So is what lay where it comes from.
        on: bool,
        /// What it comes from is in that place, under names that are not known.
        found: bool,
        /// It may take the place of a directory, instead of coming to lie in it.
        replaces: bool,
    },
    /// Made, begun or typed into under a name that is no path.
    Name(NamedObject),
}

/// All that a command may do to files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedChanges {
    pub named: Vec<PlannedChange>,
    /// It runs code or programs that may make and change any file.
    pub ran: bool,
}

/// What the acts of an invocation may do to files of this machine.
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
            let sources = act.parent.map(|parent| sources(context, parent)).unwrap_or_default();
            let replaces = act.parent.is_some_and(|parent| may_replace(context, parent));
            for target in act.operands.iter().filter_map(|operand| named(context, act, operand)) {
                planned.named.push(PlannedChange::Make { path: target.clone() });
                for WriteSource { from, moved, found } in &sources {
                    let thrown_away = is_thrown_away(context, &target);
                    let on = is_thrown_away(context, from);
                    // What is copied to where it stays is a new file like any other.
                    if !moved && !on {
                        planned.named.push(PlannedChange::Put { from: from.clone(), to: target.clone() });
                    }
                    if *moved || thrown_away {
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
            if told || super::lowering::is_maker(context, act) {
                planned.named.extend(terminals::named(act, name).map(PlannedChange::Name));
            }
            if act.tier == Tier::Safe || super::lowering::is_quiet(name) {
                return;
            }
            // A compiler takes its time, and writes more than it is told to name.
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

/// What a program takes what it writes from.
struct WriteSource {
    from: String,
    /// It is taken away there.
    moved: bool,
    /// What is taken lies in that directory, under names that are not known.
    found: bool,
}

/// What a program takes what it writes from. What a glob or a search stands for lies in its directory, and what is moved from
/// where nobody knows may lie wherever the program works.
fn sources(context: &MatchContext<'_>, parent: ActId) -> Vec<WriteSource> {
    let from = |act: &Act, operand: &Operand, moved: bool| {
        let path = context.placer.path(&operand.value, act.cwd.as_ref());
        let known = path.filter(|path| !path.dynamic || path.found).and_then(|mut path| {
            let first = path.components.iter().position(|component| component.glob.is_some() || component.is_unknown());
            let found = first.is_some() || path.found || path.globbed || path.everything;
            path.components.truncate(first.unwrap_or(path.components.len()));
            (path.found, path.dynamic, path.globbed, path.everything) = (false, false, false, false);
            Some(WriteSource { from: place(&path)?, moved, found })
        });
        let anywhere = || {
            let from = act.cwd.as_ref().filter(|_| moved && is_named_elsewhere(&operand.value))?.text()?.to_owned();
            Some(WriteSource { from, moved, found: true })
        };
        known.or_else(anywhere)
    };
    context
        .effects_of(parent)
        .filter(|(_, effect)| matches!(effect, Effect::Move | Effect::Show | Effect::Load | Effect::Link))
        .flat_map(|(act, effect)| act.operands.iter().map(move |operand| (act, operand, effect == Effect::Move)))
        .filter_map(|(act, operand, moved)| from(act, operand, moved))
        .collect()
}

/// Whether what a program moves to a directory may take its place: where nothing says that it comes to lie in it.
fn may_replace(context: &MatchContext<'_>, parent: ActId) -> bool {
    let Some(act) = context.facts.acts.get(parent) else { return true };
    !context.program(act).is_some_and(|program| program.copies) || act.flags.iter().any(|flag| flag.name == "-T")
}

/// Whether a value begins with a name that is read, or kept in a variable, and that nobody knows.
fn is_named_elsewhere(value: &Value) -> bool {
    use UnknownReason::{CommandOutput, Found, Input, Variable};
    let Some(Piece::Unknown(unknown)) = value.pieces().first() else { return false };
    matches!(unknown.why, Variable(_) | CommandOutput | Input | Found(_))
}

/// Whether what lies there is made again or thrown away: named as generated, or in the temp directory.
fn is_thrown_away(context: &MatchContext<'_>, path: &str) -> bool {
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
