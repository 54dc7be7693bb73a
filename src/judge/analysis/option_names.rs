//! Files whose names are options, if a glob matches them: `tar cf x.tar *` with a file named `--checkpoint-action=…`.
//!
//! Out of scope: the meaning of options, which the descriptions of programs define.

use super::act::{Act, Effect, Verb};
use super::analysis_input::AnalysisInput;
use super::expand::Field;
use super::fuel::cost;
use super::place::Place;
use super::state::State;
use crate::judge::rules::glob;
use crate::judge::rules::model::Program;

/// The files that the command created so far and whose names begin with a dash.
#[derive(Debug, Default)]
pub(super) struct DashedFiles {
    /// The number of acts that were examined.
    acts: usize,
    /// The working directory of the act, if known, and the path in the act.
    made: Vec<(Option<Place>, String)>,
}

/// Maximum number of names that are inserted for globs.
const MAX_NAMES: usize = 32;

impl DashedFiles {
    /// Inserts before each glob the names that it matches and that begin with a dash; `None` if there are none.
    pub fn with_option_names(
        &mut self,
        (input, acts): (&AnalysisInput<'_>, &[Act]),
        state: &State,
        program: Option<&Program>,
        args: &[Field],
    ) -> Option<Vec<Field>> {
        if !args.iter().any(may_be_option) {
            return None;
        }
        self.collect(input, acts);
        let names = self.option_names(input, state, program);
        if names.is_empty() {
            return None;
        }
        let mut all = Vec::with_capacity(args.len() + names.len());
        for arg in args {
            if may_be_option(arg) {
                let pattern = arg.value.rough();
                let fitting = names.iter().filter(|name| glob::text(&pattern, name));
                all.extend(fitting.map(|name| Field::text(name.as_str(), arg.span)));
            }
            all.push(arg.clone());
        }
        (all.len() > args.len()).then_some(all)
    }

    /// Returns the names with a leading dash in the working directory: files that the command created and, if options
    /// of the program run commands, existing files.
    fn option_names(&self, input: &AnalysisInput<'_>, state: &State, program: Option<&Program>) -> Vec<String> {
        let Some(dir) = state.cwd.as_ref() else { return Vec::new() };
        let here = |place: &Place| {
            let below = place.below(dir)?;
            let name = below.known()?.strip_prefix('/')?;
            (name.starts_with('-') && !name.contains('/')).then(|| name.to_owned())
        };
        input.spend(cost::LOOK_UP * self.made.len() as u64);
        let paths = self.made.iter().filter_map(|(base, path)| match base {
            Some(base) => Place::at(Some(base), path),
            None => Place::at(Some(dir), path),
        });
        let mut names: Vec<String> = paths.filter_map(|place| here(&place)).collect();
        if program.is_some_and(|program| !program.wraps.is_empty()) {
            let below = dir.text().and_then(|dir| input.inquiry.look(dir)).and_then(|look| look.below.as_ref());
            names.extend(below.into_iter().flatten().filter_map(|(path, _)| here(&Place::of(path.as_str()))));
        }
        names.sort();
        names.dedup();
        names.truncate(MAX_NAMES);
        names
    }

    /// Collects the files of new acts whose names begin with a dash.
    fn collect(&mut self, input: &AnalysisInput<'_>, acts: &[Act]) {
        let makes = |verb: &Verb| match verb {
            Verb::Effect(effect) => effect.writes() || *effect == Effect::Link,
            Verb::Program { name, .. } => input.catalog.program(name).is_some_and(|program| program.makes),
        };
        let new = acts.iter().skip(self.acts);
        for act in new.filter(|act| makes(&act.verb) && act.remote.is_none()) {
            let known = act.operands.iter().filter_map(|operand| operand.value.known());
            let dashed = known.filter(|path| path.split('/').any(|name| name.starts_with('-')));
            self.made.extend(dashed.map(|path| (act.cwd.clone(), path.into_owned())));
        }
        self.acts = acts.len();
    }
}

/// Reports whether an argument is a glob that may match a name with a leading dash.
fn may_be_option(arg: &Field) -> bool {
    !arg.operand && arg.value.has_glob() && arg.value.rough().starts_with(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use crate::judge::analysis::testing::runs;

    #[test]
    fn a_glob_stands_for_the_options_that_the_line_named_files_by() {
        runs("echo > -C; tar -x *", "tar -x -C *");
        runs("echo > ./-C; tar -x *", "tar -x -C *");
        runs("echo > -C; tar -x -?", "tar -x -?");
        runs("echo > -C; tar -x ./*", "tar -x ./*");
        runs("echo > -C; tar -x '*'", "tar -x *");
        runs("echo > sub/-C; tar -x *", "tar -x *");
        runs("echo > C; tar -x *", "tar -x *");
        runs("echo > -C; tar -x [a-z]*", "tar -x [a-z]*");
        runs("echo > -C; cd sub && tar -x *", "tar -x *");
        runs("cd sub && echo > -C && tar -x *", "tar -x -C *");
        runs("tar -x *; echo > -C; tar -x *; echo > -b; tar -x *", "tar -x -C -b *");
    }
}
