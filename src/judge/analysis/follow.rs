//! Chooses the steps of the analysis that follow the act of a program, and their order.
//!
//! Out of scope: performing the steps, which the walk does, and knowledge about programs.

use super::arguments::{Arg, Reading};
use super::builtins::Builtin;
use super::program::is_shell;
use crate::judge::risk::Tier;
use crate::judge::rules::model::{Follow, Program};
use crate::judge::rules::word_lists;

/// The facts on which the steps after an act depend.
pub(super) struct StepFacts<'r> {
    pub name: &'r str,
    pub words: &'r [Arg],
    pub reading: &'r Reading,
    pub builtin: Option<Builtin>,
    /// Whether there is a description, even if it only contains single facts.
    pub is_known: bool,
    pub is_described: bool,
    pub is_path: bool,
    /// Whether it is a file at a path, to which descriptions by name do not apply.
    pub elsewhere: bool,
    /// Whether it is a builtin that handled its output itself.
    pub wrote: bool,
    /// Whether the program executes nothing, as with `--help`.
    pub idle: bool,
    pub root: bool,
    pub is_remote: bool,
}

/// A step of the analysis after an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Walks the commands that the program runs.
    Inner,
    /// Walks the keys that the program types into a terminal.
    Typed,
    /// Walks the code with this index in the parsed arguments.
    Code(usize),
    /// Walks the arguments of an undescribed program that may be a command.
    PerhapsWraps,
    /// Walks arguments with which programs are known to start a shell with the rights of root.
    EscapesAsRoot,
    /// Walks the files, settings and definitions that the program uses.
    Leads,
    /// Judges an unknown program that runs as root.
    Raised,
    /// Adds effects on files that no described effect mentions.
    Touches,
    /// Walks the file at its path as a script; `if_brought`: only if the command or the project created it.
    Executable { if_brought: bool },
    /// Passes the output on to its readers.
    Prints,
}

/// Returns the steps after the act of a program, in order.
pub(super) fn steps(ran: &StepFacts<'_>) -> Vec<Step> {
    let StepFacts { name, words, reading, builtin, .. } = ran;
    let mut steps = Vec::new();
    if ran.wrote {
        return steps;
    }
    if ran.idle {
        if !ran.elsewhere {
            steps.push(Step::Leads);
        }
        return steps;
    }
    if ran.is_known && !ran.elsewhere {
        steps.push(Step::Typed);
    }
    steps.extend((0..reading.code.len()).map(Step::Code));
    // It is a call in code.
    let is_call = name.contains(':');
    let runs_more = builtin.is_some_and(Builtin::runs) || !reading.inner.is_empty() || !reading.code.is_empty();
    let may_run = !ran.is_described || reading.tier > Tier::Safe && launches(words);
    if may_run && !runs_more && !words.is_empty() && !is_call {
        steps.push(Step::PerhapsWraps);
    } else if ran.root && !is_call {
        steps.push(Step::EscapesAsRoot);
    }
    steps.push(Step::Leads);
    // A wrapper reads its own files before it starts the command.
    if !reading.inner.is_empty() {
        steps.push(Step::Inner);
    }
    if ran.root && builtin.is_none() && !ran.is_remote && !is_call {
        steps.push(Step::Raised);
    }
    if builtin.is_none() && !ran.is_remote {
        steps.push(Step::Touches);
    }
    if ran.is_path && (ran.is_described || reading.code.is_empty()) {
        steps.push(Step::Executable { if_brought: ran.is_described && !ran.elsewhere });
    }
    if reading.inner.is_empty() && !reading.code.iter().any(|source| is_shell(&source.language)) {
        steps.push(Step::Prints);
    }
    steps
}

/// Something that the analysis reads because a program uses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lead<'p> {
    /// Variables that contain commands.
    CommandVariables,
    /// Code that the session wrote.
    SessionCode,
    /// Scripts among the arguments, if the description does not say how the program uses them.
    UnknownScripts,
    /// The code that the program builds in a directory into which an archive was unpacked.
    Built,
    /// Sources that the program compiles.
    Sources,
    /// A lead that only a description gives.
    Described(&'p Program, DescribedLead),
}

/// A lead that the description of a program gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DescribedLead {
    /// The code of the project.
    ProjectCode,
    /// Files of code, modules and settings that the program loads.
    Loads,
    /// Files that it downloads.
    Downloads,
    /// Files that it unpacks from archives, or creates by a patch.
    Archives,
    /// Files that contain its operands.
    OperandLists,
    /// The files that programs of its kind read.
    Kind(Follow),
}

/// Returns the leads of a program, in order: loaded files come before fetched ones.
pub(super) fn leads<'p>(program: Option<&'p Program>, reading: &Reading, is_remote: bool) -> Vec<Lead<'p>> {
    use DescribedLead::{Archives, Downloads, Kind, Loads, OperandLists, ProjectCode};
    let described = |lead| program.map(|program| Lead::Described(program, lead));
    let loads = program.filter(|program| !is_remote && !program.loads.is_empty()).and_then(|_| described(Loads));
    if reading.dry_run {
        // A program loads the named files before it lists or checks anything.
        return loads.into_iter().collect();
    }
    let mut leads = vec![Lead::CommandVariables];
    if is_remote {
        return leads;
    }
    leads.extend(described(ProjectCode));
    leads.push(Lead::SessionCode);
    leads.extend(loads);
    leads.push(Lead::UnknownScripts);
    leads.extend([Downloads, Archives].into_iter().filter_map(described));
    leads.extend(program.filter(|program| program.lists.is_some()).and_then(|_| described(OperandLists)));
    if reading.compiles || program.is_some_and(Program::builds_projects) {
        leads.push(Lead::Built);
    }
    let kinds = program.iter().flat_map(|program| &program.follows);
    leads.extend(kinds.filter_map(|kind| described(Kind(*kind))));
    leads.extend(reading.compiles.then_some(Lead::Sources));
    leads
}

/// Reports whether an argument is a word such as `run` or `exec`.
fn launches(words: &[Arg]) -> bool {
    words.iter().any(|arg| arg.value.known().is_some_and(|word| word_lists::LAUNCHING_WORDS.contains(&&*word)))
}

#[cfg(test)]
mod tests;
