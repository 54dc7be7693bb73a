//! The working directory of a shell: the effect of `cd` and of the directory stack, and the directory if one of them
//! fails.

use super::operands;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::PathKind;
use crate::judge::analysis::state::{Build as _, State, VariableValue};
use crate::judge::analysis::walk::Walker;

impl Walker<'_> {
    #[inline(never)]
    pub(super) fn pushd(&mut self, state: &mut State, args: &[Field]) {
        let old = state.cwd.clone();
        if args.iter().any(|field| field.value.is("-n")) {
            // The directory is pushed, and the shell does not change to it.
            let rest: Vec<Field> = args.iter().filter(|field| !field.value.is("-n")).cloned().collect();
            let mut there = self.input.fork(state);
            self.cd(&mut there, &rest);
            state.stack.push(there.cwd);
        } else if args.is_empty() {
            if let Some(dir) = state.stack.pop() {
                state.move_to(dir);
                state.stack.push(old);
            }
        } else if rotates(args) {
            state.move_to(None);
            state.stack.push(old);
        } else {
            self.cd(state, args);
            state.stack.push(old);
        }
    }

    #[inline(never)]
    pub(super) fn cd(&mut self, state: &mut State, args: &[Field]) {
        if state.doubt.is_empty() {
            state.fails = false;
        }
        let target = operands(args).next().or_else(|| args.iter().find(|field| field.value.is("-")));
        let old = state.cwd.clone();
        let dir = match target {
            None => self.expand().home(state).and_then(|home| Place::at(state.cwd.as_ref(), &home.known()?)),
            Some(field) if field.value.is("-") => state.previous.clone(),
            Some(field) => Place::of_directory(state.cwd.as_ref(), &field.value).or_else(|| {
                let pattern = field.value.pattern().filter(|_| field.value.known().is_none())?;
                let home = self.home_text(state);
                self.input.likely_directory(state, &home, &pattern)
            }),
        };
        // `-P` resolves links, so that `..` is the parent of the link's target.
        let physical = args.iter().any(|field| field.value.is("-P"));
        let links =
            dir.as_ref().and_then(Place::text).filter(|_| physical).and_then(|dir| self.input.inquiry.path(dir));
        let dir = links.map(|facts| Place::of(facts.canonical.as_str())).or(dir);
        let relative = target.is_none_or(|field| !field.value.leading().starts_with('/'));
        let also: Vec<Option<Place>> = if relative {
            let from = std::mem::take(&mut state.also);
            let text = target.and_then(|field| field.value.known_text());
            let to = |dir: Option<Place>| Place::at(dir.as_ref(), text.as_deref()?);
            from.into_iter().map(to).collect()
        } else {
            Vec::new()
        };
        let mut doubt = std::mem::take(&mut state.doubt);
        if dir != old && !doubt.contains(&old) {
            doubt.push(old);
        }
        state.move_to(dir);
        state.doubt = doubt;
        state.also = also;
        state.fails |= cannot_change(args);
        if let Some(text) = target.and_then(|field| field.value.known_text())
            && state.sets("CDPATH")
            && !text.starts_with(['/', '.', '-'])
        {
            let searched = self.searched(state, &text);
            state.also.extend(searched);
        }
        state.forget_many_directories();
    }

    /// Returns the directories with this name in `CDPATH`.
    #[inline(never)]
    fn searched(&mut self, state: &State, name: &str) -> Vec<Option<Place>> {
        let VariableValue::Scalar(value) = self.expand().lookup(state, "CDPATH") else { return Vec::new() };
        let Some(path) = value.known() else { return vec![None] };
        let is_there = |dir: &Option<Place>| {
            let facts = dir.as_ref().and_then(Place::text).and_then(|dir| self.input.inquiry.path(dir));
            facts.is_none_or(|facts| facts.kind == PathKind::Directory)
        };
        let entries = path.split(':').filter(|entry| !entry.is_empty());
        entries.map(|entry| Place::at(state.previous.as_ref(), &format!("{entry}/{name}"))).filter(is_there).collect()
    }
}

/// Reports whether `cd` fails with these arguments.
fn cannot_change(args: &[Field]) -> bool {
    let is_option = |text: &str| text.starts_with('-') && text.len() > 1 && text != "--";
    let mut options = args.iter().map_while(|field| field.value.known()).take_while(|text| is_option(text));
    operands(args).count() > 1 || options.any(|text| text.chars().skip(1).any(|letter| !"LPe@qs".contains(letter)))
}

/// Reports whether an argument is the number of an entry in the directory stack.
fn rotates(args: &[Field]) -> bool {
    let is_number = |text: &str| {
        text.strip_prefix(['+', '-']).is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    args.iter().any(|field| field.value.known().is_some_and(|text| is_number(&text)))
}

/// Removes an entry from the directory stack, and changes to the top of the stack if the removed entry was the top.
pub(super) fn popd(state: &mut State, args: &[Field]) {
    if args.iter().any(|field| field.value.is("-n")) {
        state.stack.pop();
    } else if rotates(args) && !args.iter().any(|field| field.value.is("+0")) {
        let from = state.cwd.clone();
        let to = state.stack.pop().flatten();
        state.move_to(to);
        state.also.push(from);
    } else {
        let dir = state.stack.pop().flatten();
        state.move_to(dir);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{dump, facts};
    use super::Place;

    /// Checks the directories in which the line's `rm` may run.
    #[track_caller]
    fn stands(line: &str, expected: &[&str]) {
        let facts = facts(line);
        let mut dirs: Vec<String> = Vec::new();
        for act in &facts.acts {
            let is_rm = matches!(&act.verb, super::super::super::act::Verb::Program { name, .. } if name == "rm");
            let dir = act.cwd.as_ref().map_or("?", Place::shown).to_owned();
            if is_rm && !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        assert_eq!(dirs, expected, "\n{line}\n{}", dump(&facts));
    }

    const HERE: &str = "/home/dev/project";

    #[test]
    fn what_does_not_change_the_directory_leaves_it() {
        stands("pushd -n /x; rm y", &[HERE]);
        stands("pushd -n /x; popd; rm y", &["/x"]);
        stands("pushd /x; pushd -n /z; popd -n; popd; rm y", &[HERE]);
        stands("pushd /x; pushd; rm y", &[HERE]);
        stands("pushd +1; rm y", &["?"]);
    }

    #[test]
    fn a_change_that_fails_leaves_the_directory_in_doubt() {
        stands("cd /x extra; rm y", &["/x", HERE]);
        stands("cd -z /x; rm y", &["/x", HERE]);
        stands("cd /x >/nowhere/z; rm y", &["/x", HERE]);
        stands("cd /x extra && rm y", &["/x"]);
        stands("cd /x >/nowhere/z && rm y", &["/x"]);
    }

    #[test]
    fn a_directory_that_is_looked_for_may_be_elsewhere() {
        stands("CDPATH=$(cat f); cd x && rm y", &["/home/dev/project/x", "?"]);
        stands("CDPATH=..; cd ./x && rm y", &["/home/dev/project/x"]);
    }

    #[test]
    fn a_name_that_is_taken_from_cd_may_go_nowhere() {
        stands("alias cd=true; cd /x && rm y", &["/x", HERE]);
        stands("enable -n cd; cd /x && rm y", &["/x", HERE]);
        stands("alias ll='ls -l'; ll; cd /x && rm y", &["/x"]);
    }
}
